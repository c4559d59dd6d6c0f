//! The update graph of a package: which bundles can be upgraded to which in one step, and paths
//! over several steps.
//!
//! An entry of a channel allows upgrades to it from three kinds of bundles: the one that it
//! replaces, those that it skips, and those whose version is in its skip range. Edges refer to
//! names and versions only: the upgraded bundle need not be in the channel or in the catalog. The
//! rules are those of the OLM v1 controller. Costs depend on the size of the package, not on that
//! of the catalog.

mod search;
mod successors;
mod upgrade;

use std::ops::Range;
use std::rc::Rc;

use hashbrown::{HashMap, HashSet};

pub use search::{heads, stranded};
pub use successors::{Installed, Releases, successors};
pub(crate) use successors::{allowed_upgrades, identity};
pub use upgrade::{BundleSpan, SkipRange, Upgrade, upgrades_from};

use fbc::work::{Step, Work, WorkStopped, sort_steps};
use fbc::{Bundle, Channel, ChannelEntry, Package};
use fbc_grammar::range::BlangRange;
use fbc_grammar::version::Version;

/// Update graph of a package, by the entries of some or all of its channels.
///
/// Memory is linear in the number of bundles, entries and skips. Edges by skip ranges, of which
/// there can be as many as pairs of bundles, are only enumerated by [`UpdateGraph::edges`].
///
/// ```
/// # use fbc::Catalog;
/// # use fbc_read::{Origins, origin::FileOrigin};
/// use fbc_graph::graph::UpdateGraph;
/// use fbc::work::Work;
///
/// # let lines = br#"{"name":"etcd","schema":"olm.package"}
/// # {"entries":[{"name":"etcd.v1"},{"name":"etcd.v2","replaces":"etcd.v1"}],"name":"stable","package":"etcd","schema":"olm.channel"}
/// # {"image":"a.io/etcd:1","name":"etcd.v1","package":"etcd","properties":[{"type":"olm.package","value":{"packageName":"etcd","version":"1.0.0"}}],"schema":"olm.bundle"}
/// # {"image":"a.io/etcd:2","name":"etcd.v2","package":"etcd","properties":[{"type":"olm.package","value":{"packageName":"etcd","version":"2.0.0"}}],"schema":"olm.bundle"}
/// # "#;
/// # let lines: Vec<u8> = lines.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).flat_map(|line| [line, b"\n"].concat()).collect();
/// # let file = FileOrigin { path: "catalog.json".to_owned(), lines: vec![1, 2, 3, 4], ..FileOrigin::default() };
/// # let catalog = Catalog::build(lines.into(), &Origins { files: vec![file], ..Origins::default() })?;
/// // The channel `stable` of the package has the entry `etcd.v2`, which replaces `etcd.v1`.
/// let package = catalog.package("etcd").ok_or("no such package")?;
/// let graph = UpdateGraph::new(package, &["stable"], &Work::unlimited())?;
/// let edge = graph.edges().next().ok_or("no edge")?;
/// assert_eq!((edge.from, edge.to.name(), edge.reason.as_str()), ("etcd.v1", "etcd.v2", "REPLACES"));
///
/// let [from, to] = ["etcd.v1", "etcd.v2"].map(|name| package.bundle(name).expect("the bundle is in the package"));
/// assert_eq!(graph.path(from, to, &Work::unlimited())?.map(|path| path.len()), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct UpdateGraph<'a> {
    package: Package<'a>,
    channels: Vec<Channel<'a>>,
    /// All bundles of the package, highest version first.
    bundles: Vec<Bundle<'a>>,
    /// Entries of the channels, by channel, then in catalog order.
    targets: Vec<UpgradeTarget<'a>>,
    /// Indexes in `targets` of the entries of each bundle.
    targets_by_bundle: Vec<Vec<usize>>,
}

/// An entry of a channel with the bundles that can be upgraded to it.
struct UpgradeTarget<'a> {
    entry: ChannelEntry<'a>,
    /// Index of its bundle in the graph.
    bundle: Option<usize>,
    /// Index ranges of the bundles of the graph whose version is in its skip range.
    in_range: Rc<[Range<usize>]>,
    /// `true` when its skip range is well-formed.
    is_range_valid: bool,
}

/// Bundles in a skip range.
#[derive(Clone, Default)]
struct RangeRuns {
    /// Index ranges of the bundles.
    runs: Rc<[Range<usize>]>,
    is_valid: bool,
}

/// An edge of the update graph: an upgrade step that a channel entry allows.
#[derive(Clone, Copy)]
pub struct UpdateEdge<'a> {
    /// Name of the bundle before the upgrade.
    pub from: &'a str,
    /// That bundle; `None` when the catalog has no bundle of that name.
    pub from_bundle: Option<Bundle<'a>>,
    /// The entry after the upgrade, with its channel and bundle.
    pub to: ChannelEntry<'a>,
    /// Field of the entry that allows the upgrade.
    pub reason: Reason,
}

/// Field of a channel entry that allows an upgrade to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The entry replaces the bundle.
    Replaces,
    /// The entry skips the bundle by name.
    Skips,
    /// The skip range of the entry contains the version of the bundle.
    SkipRange,
}

/// Fields of entries that allow an upgrade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reasons {
    replaces: bool,
    skips: bool,
    skip_range: bool,
}

impl Reason {
    /// Returns the canonical spelling, such as `SKIP_RANGE`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replaces => "REPLACES",
            Self::Skips => "SKIPS",
            Self::SkipRange => "SKIP_RANGE",
        }
    }
}

impl Reasons {
    /// Iterates over the fields, in the order of [`Reason`].
    pub fn iter(self) -> impl Iterator<Item = Reason> {
        let all = [
            (Reason::Replaces, self.replaces),
            (Reason::Skips, self.skips),
            (Reason::SkipRange, self.skip_range),
        ];
        all.into_iter()
            .filter(|(_, is_given)| *is_given)
            .map(|(reason, _)| reason)
    }

    fn any(self) -> bool {
        self.replaces || self.skips || self.skip_range
    }

    fn add(&mut self, other: Self) {
        self.replaces |= other.replaces;
        self.skips |= other.skips;
        self.skip_range |= other.skip_range;
    }
}

impl<'a> UpdateGraph<'a> {
    /// Builds the graph of the named channels, or of all channels when `channels` is empty. Unknown
    /// names are ignored. A malformed skip range is empty.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn new(
        package: Package<'a>,
        channels: &[impl AsRef<str>],
        work: &Work<'_>,
    ) -> Result<Self, WorkStopped> {
        let channels = selected_channels(package, channels, work)?;
        work.draw(Step::Bundle, package.bundle_places().len())?;
        let bundles: Vec<_> = package.bundles().collect();
        let first = package.bundle_places().start;
        // Bundles without a version come last; no range contains them.
        let versions: Vec<_> = bundles
            .iter()
            .map_while(|bundle| Version::parse(bundle.version()?).ok())
            .collect();
        // Entries with equal ranges share the result: channels repeat the entries of each other.
        let mut ranges: HashMap<&str, RangeRuns> = HashMap::new();
        let mut places = |range: &'a str| {
            if let Some(places) = ranges.get(range) {
                return Ok(places.clone());
            }
            draw_range(range, work)?;
            let parsed = BlangRange::parse(range).map(|range| range.places(&versions));
            let found = RangeRuns {
                is_valid: parsed.is_ok(),
                runs: parsed.unwrap_or_default().into(),
            };
            ranges.insert(range, found.clone());
            Ok(found)
        };
        let target = |entry: ChannelEntry<'a>| {
            work.draw(Step::Edge, 1)?;
            let in_range = entry
                .skip_range()
                .map_or_else(|| Ok(RangeRuns::default()), &mut places)?;
            let bundle = entry.bundle().map(|bundle| bundle.place() - first);
            Ok(UpgradeTarget {
                entry,
                bundle,
                in_range: in_range.runs,
                is_range_valid: in_range.is_valid,
            })
        };
        let targets: Vec<_> = channels
            .iter()
            .flat_map(|channel| channel.entries())
            .map(target)
            .collect::<Result<_, _>>()?;
        let mut targets_by_bundle = vec![Vec::new(); bundles.len()];
        for (at, target) in targets.iter().enumerate() {
            if let Some(bundle) = target.bundle {
                targets_by_bundle[bundle].push(at);
            }
        }
        Ok(Self {
            package,
            channels,
            bundles,
            targets,
            targets_by_bundle,
        })
    }

    /// Iterates over the channels of the graph, sorted by name.
    pub fn channels(&self) -> impl ExactSizeIterator<Item = Channel<'a>> {
        self.channels.iter().copied()
    }

    /// Iterates over the bundles in the channels, highest version first.
    pub fn nodes(&self) -> impl Iterator<Item = Bundle<'a>> {
        self.bundles
            .iter()
            .zip(&self.targets_by_bundle)
            .filter(|(_, entries)| !entries.is_empty())
            .map(|(bundle, _)| *bundle)
    }

    /// Tells whether a bundle of the package is in one of the channels.
    pub fn has(&self, bundle: Bundle<'_>) -> bool {
        self.index_of(bundle)
            .is_some_and(|at| !self.targets_by_bundle[at].is_empty())
    }

    /// Iterates over all edges, by channel, then in catalog order, then by reason, including those
    /// from bundles that are not in the catalog. There are no edges from a bundle to itself, and at
    /// most one per pair and reason.
    pub fn edges(&self) -> impl Iterator<Item = UpdateEdge<'a>> {
        self.targets.iter().flat_map(move |target| {
            let to = target.entry;
            let named = move |from, reason| UpdateEdge {
                from,
                from_bundle: self.package.bundle(from),
                to,
                reason,
            };
            let mut seen = HashSet::with_capacity(to.skips().len());
            let skips = to.skips().filter(move |name| seen.insert(*name));
            let in_range = target.in_range.iter().cloned().flatten().map(move |at| {
                let bundle = self.bundles[at];
                UpdateEdge {
                    from: bundle.name(),
                    from_bundle: Some(bundle),
                    to,
                    reason: Reason::SkipRange,
                }
            });
            let replaces = to.replaces().map(move |name| named(name, Reason::Replaces));
            let skips = skips.map(move |name| named(name, Reason::Skips));
            replaces
                .into_iter()
                .chain(skips)
                .chain(in_range)
                .filter(move |edge| edge.from != to.name())
        })
    }

    /// Returns the index of a bundle in the graph; `None` for a bundle of another package.
    fn index_of(&self, bundle: Bundle<'_>) -> Option<usize> {
        let at = bundle
            .place()
            .checked_sub(self.package.bundle_places().start)?;
        (at < self.bundles.len()).then_some(at)
    }

    /// Returns the index of the bundle of a name.
    fn index_of_name(&self, name: &str) -> Option<usize> {
        self.index_of(self.package.bundle(name)?)
    }
}

/// Returns the channels of the names, or all channels when there are none, sorted by name.
fn selected_channels<'a>(
    package: Package<'a>,
    names: &[impl AsRef<str>],
    work: &Work<'_>,
) -> Result<Vec<Channel<'a>>, WorkStopped> {
    work.draw(Step::SortStep, sort_steps(names.len()))?;
    let mut sorted: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    sorted.sort_unstable();
    work.draw(Step::Edge, package.channels().len())?;
    let is_selected =
        |channel: &Channel<'_>| names.is_empty() || sorted.binary_search(&channel.name()).is_ok();
    Ok(package.channels().filter(is_selected).collect())
}

/// Draws what it takes to parse a range and to find the versions in it, which are found by halving
/// for each comparator of six bytes or more.
fn draw_range(range: &str, work: &Work<'_>) -> Result<(), WorkStopped> {
    work.draw(Step::ParsedByte, range.len())?;
    work.draw(Step::Comparison, 10 * (1 + range.len() / 6))
}
