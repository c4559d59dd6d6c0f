//! The update graph of a package: which bundles can be upgraded to which in one step, and what follows from that.
//!
//! An entry of a channel lets three kinds of bundles be upgraded to it: the one it replaces, those it skips, those whose
//! version its skip range holds. All are meant by name or version alone: a bundle that is upgraded from need not be in
//! the channel, nor in the catalog. The rules are those of the OLM v1 controller; semantics of single fields are the
//! catalog's. What is asked of one package costs what the package is worth, whatever else is in the catalog. Nothing
//! here knows who asks or what is installed where.

mod mermaid;
mod search;
mod successors;

use std::ops::Range;
use std::rc::Rc;

use hashbrown::{HashMap, HashSet};

pub use search::heads;
pub use successors::{Installed, Releases, successors};
pub(crate) use successors::{allowed, identity};

use crate::catalog::{Bundle, Channel, ChannelEntry, Package};
use crate::range::BlangRange;
use crate::version::Version;

/// Which bundles of a package can be upgraded to which, by the entries of some of its channels.
///
/// It takes memory in the number of bundles, entries and skips: the upgrades that skip ranges allow, of which there can
/// be as many as pairs of bundles, are never listed but by [`UpdateGraph::edges`].
pub struct UpdateGraph<'a> {
    package: Package<'a>,
    channels: Vec<Channel<'a>>,
    /// Every bundle of the package, highest version first.
    bundles: Vec<Bundle<'a>>,
    /// By channel, then in catalog order.
    targets: Vec<Target<'a>>,
    /// Of each bundle its own entries, among `targets`.
    targets_of: Vec<Vec<usize>>,
}

/// An entry of a channel with what it can be upgraded to from.
struct Target<'a> {
    entry: ChannelEntry<'a>,
    /// Its bundle, among those of the graph.
    bundle: Option<usize>,
    /// The bundles whose version its skip range holds, among those of the graph.
    in_range: Rc<[Range<usize>]>,
}

/// A single upgrade step that an entry of a channel allows.
#[derive(Clone, Copy)]
pub struct Edge<'a> {
    /// Name of the bundle that is upgraded.
    pub from: &'a str,
    /// That bundle; `None` when the catalog has no bundle of that name.
    pub from_bundle: Option<Bundle<'a>>,
    /// The entry that it is upgraded to, which says the channel and the bundle.
    pub to: ChannelEntry<'a>,
    /// What in the entry allows it.
    pub reason: Reason,
}

/// What in a channel entry allows an upgrade to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The entry replaces the bundle.
    Replaces,
    /// The entry skips the bundle by name.
    Skips,
    /// The entry's skip range holds the bundle's version.
    SkipRange,
}

impl Reason {
    /// Its name, such as `SKIP_RANGE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replaces => "REPLACES",
            Self::Skips => "SKIPS",
            Self::SkipRange => "SKIP_RANGE",
        }
    }
}

impl<'a> UpdateGraph<'a> {
    /// The graph by the channels of these names, or by every channel when none is named. Names of no channel are
    /// passed over. A skip range that is malformed holds nothing.
    pub fn new(package: Package<'a>, channels: &[impl AsRef<str>]) -> Self {
        let channels = in_scope(package, channels);
        let bundles: Vec<_> = package.bundles().collect();
        let first = package.bundle_places().start;
        // Those without a version come last, and no range holds them.
        let versions: Vec<_> = bundles.iter().map_while(|bundle| Version::parse(bundle.version()?).ok()).collect();
        // Entries of one range share what it holds.
        let mut ranges: HashMap<&str, Rc<[Range<usize>]>> = HashMap::new();
        let nothing: Rc<[Range<usize>]> = Rc::default();
        let mut places = |range: &'a str| {
            let read = || BlangRange::parse(range).map(|range| range.places(&versions)).unwrap_or_default().into();
            Rc::clone(ranges.entry(range).or_insert_with(read))
        };
        let target = |entry: ChannelEntry<'a>| Target {
            entry,
            bundle: entry.bundle().map(|bundle| bundle.place() - first),
            in_range: entry.skip_range().map_or_else(|| Rc::clone(&nothing), &mut places),
        };
        let targets: Vec<_> = channels.iter().flat_map(|channel| channel.entries()).map(target).collect();
        let mut targets_of = vec![Vec::new(); bundles.len()];
        for (at, target) in targets.iter().enumerate() {
            if let Some(bundle) = target.bundle {
                targets_of[bundle].push(at);
            }
        }
        Self { package, channels, bundles, targets, targets_of }
    }

    /// The channels it is by, by name.
    pub fn channels(&self) -> impl ExactSizeIterator<Item = Channel<'a>> {
        self.channels.iter().copied()
    }

    /// Every bundle that is in one of the channels, highest version first.
    pub fn nodes(&self) -> impl Iterator<Item = Bundle<'a>> {
        self.bundles.iter().zip(&self.targets_of).filter(|(_, entries)| !entries.is_empty()).map(|(bundle, _)| *bundle)
    }

    /// Whether a bundle of the package is in one of the channels.
    pub fn has(&self, bundle: Bundle<'_>) -> bool {
        self.place(bundle).is_some_and(|at| !self.targets_of[at].is_empty())
    }

    /// Every step that an entry allows, with those from bundles that no channel and no catalog has: by channel, then in
    /// catalog order, then by reason. A bundle is not upgraded to itself, and by one reason only once.
    pub fn edges(&self) -> impl Iterator<Item = Edge<'a>> {
        self.targets.iter().flat_map(move |target| {
            let to = target.entry;
            let named = move |from, reason| Edge { from, from_bundle: self.package.bundle(from), to, reason };
            let mut seen = HashSet::with_capacity(to.skips().len());
            let skips = to.skips().filter(move |name| seen.insert(*name));
            let in_range = target.in_range.iter().cloned().flatten().map(move |at| {
                let bundle = self.bundles[at];
                Edge { from: bundle.name(), from_bundle: Some(bundle), to, reason: Reason::SkipRange }
            });
            let replaces = to.replaces().map(move |name| named(name, Reason::Replaces));
            let skips = skips.map(move |name| named(name, Reason::Skips));
            replaces.into_iter().chain(skips).chain(in_range).filter(move |edge| edge.from != to.name())
        })
    }

    /// The place of a bundle among those of the graph; `None` for one of another package.
    fn place(&self, bundle: Bundle<'_>) -> Option<usize> {
        let at = bundle.place().checked_sub(self.package.bundle_places().start)?;
        (at < self.bundles.len()).then_some(at)
    }

    /// The place of the bundle of this name.
    fn place_of(&self, name: &str) -> Option<usize> {
        self.place(self.package.bundle(name)?)
    }
}

/// The channels of these names, or every channel when none is named; by name.
fn in_scope<'a>(package: Package<'a>, names: &[impl AsRef<str>]) -> Vec<Channel<'a>> {
    let is_in_scope =
        |channel: &Channel<'_>| names.is_empty() || names.iter().any(|name| name.as_ref() == channel.name());
    package.channels().filter(is_in_scope).collect()
}
