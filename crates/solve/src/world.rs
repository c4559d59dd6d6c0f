//! The entries that a request can choose from: read from catalogs and installed operators, ordered
//! by preference.

mod candidates;
mod extensions;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use fbc::work::Step;
use fbc::{Channel, ChannelEntry, Package};

use crate::channel_order::{ChainEntry, sort_channel};
use crate::facts::{BundleFacts, RawProperty};
use crate::meter::{Halt, Meter};
use crate::request::{InstalledOperator, SolveRequest, SourceCatalog};
use crate::requirement::{Fault, ParsedRequirement, Unreadable};

pub(crate) use candidates::{CandidateSearch, Pool};

/// Index of an entry in [`World::entries`].
pub(crate) type EntryId = usize;

/// A bundle in one channel of one catalog, or an installed operator.
pub(crate) struct Entry<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) name: &'a str,
    pub(crate) facts: Rc<BundleFacts<'a>>,
}

/// Where an entry comes from.
#[derive(Clone, Copy)]
pub(crate) enum Source<'a> {
    Catalog {
        at: usize,
        entry: ChannelEntry<'a>,
    },
    Installed {
        operator: &'a InstalledOperator,
        subscription: Option<usize>,
    },
}

/// Name of the catalog of installed operators.
const INSTALLED: &str = "@existing";

/// The strategy that allows upgrades from failed operators.
const FAIL_FORWARD: &str = "TechPreviewUnsafeFailForward";

/// The entries of a channel, best first, or upstream's message if they cannot be ordered.
pub(crate) type Ordered = Result<Rc<[EntryId]>, String>;

/// The entries of a channel that have a bundle, in catalog order, and those that are in the order
/// of the channel.
type ChannelEntries = (Rc<[EntryId]>, Ordered);

/// Everything that can be chosen from, read as far as it is needed.
pub(crate) struct World<'a> {
    pub(crate) request: &'a SolveRequest,
    pub(crate) catalogs: &'a [SourceCatalog<'a>],
    pub(crate) entries: Vec<Entry<'a>>,
    /// Installed operators, by name.
    pub(crate) installed: Vec<EntryId>,
    pub(crate) requirements: Vec<ParsedRequirement>,
    /// Indexes of the catalogs in the namespaces of the request.
    looked_at: Vec<usize>,
    facts: HashMap<(usize, usize), Rc<BundleFacts<'a>>>,
    /// The entries of each channel, and those that are in its order.
    channels: HashMap<ChannelKey<'a>, ChannelEntries>,
    /// For each channel that OLM v1 looked at, its entries by name.
    named: HashMap<ChannelKey<'a>, HashMap<&'a str, EntryId>>,
    requirement_ids: HashMap<RequirementKey<'a>, Result<usize, Fault>>,
    candidates: HashMap<(usize, Option<usize>), Ordered>,
    search: CandidateSearch,
    /// Requirements whose search for candidates ended before all were found.
    pub(crate) cut_off: HashSet<usize>,
    /// Bundles that do not meet a requirement: its index, catalog and place.
    unmet: HashSet<(usize, usize, usize)>,
}

/// Catalog, place of the package, and name of a channel.
type ChannelKey<'a> = (usize, usize, &'a str);

/// Type and value of the property that states a requirement.
type RequirementKey<'a> = (Cow<'a, str>, Cow<'a, [u8]>);

impl<'a> World<'a> {
    /// Reads the installed operators; catalogs are read later, where they are reached.
    pub(crate) fn new(
        request: &'a SolveRequest,
        catalogs: &'a [SourceCatalog<'a>],
        search: CandidateSearch,
    ) -> Self {
        let is_looked_at = |at: &usize| {
            request
                .namespaces
                .iter()
                .any(|name| name == catalogs[*at].namespace)
        };
        let mut world = Self {
            request,
            catalogs,
            entries: Vec::new(),
            installed: Vec::new(),
            requirements: Vec::new(),
            looked_at: (0..catalogs.len()).filter(is_looked_at).collect(),
            facts: HashMap::new(),
            channels: HashMap::new(),
            named: HashMap::new(),
            requirement_ids: HashMap::new(),
            candidates: HashMap::new(),
            search,
            cut_off: HashSet::new(),
            unmet: HashSet::new(),
        };
        let mut operators: Vec<_> = request.installed.iter().collect();
        operators.sort_by(|one, other| one.name.cmp(&other.name));
        let left_out = replaced_by_failed(request);
        for operator in operators
            .into_iter()
            .filter(|operator| !left_out.contains(&&*operator.name))
        {
            world.install(operator);
        }
        world
    }

    fn install(&mut self, operator: &'a InstalledOperator) {
        let subscriptions = &self.request.subscriptions;
        let is_own = |at: &usize| subscriptions[*at].installed_csv == operator.name;
        let own: Vec<usize> = (0..subscriptions.len()).filter(is_own).collect();
        let packages: HashSet<&str> = own.iter().map(|&at| &*subscriptions[at].package).collect();
        let agreed = packages
            .iter()
            .next()
            .copied()
            .filter(|_| packages.len() == 1);
        let facts = Rc::new(BundleFacts::of_operator(operator, agreed));
        let source = Source::Installed {
            operator,
            subscription: own.first().copied(),
        };
        self.installed.push(self.entries.len());
        self.entries.push(Entry {
            source,
            name: &operator.name,
            facts,
        });
    }

    /// Returns the identifier of an entry, as upstream writes it.
    pub(crate) fn identifier(&self, id: EntryId) -> String {
        let entry = &self.entries[id];
        match entry.source {
            Source::Catalog { at, entry: place } => {
                let SourceCatalog {
                    name, namespace, ..
                } = self.catalogs[at];
                format!(
                    "{name}/{namespace}/{}/{}",
                    place.channel().name(),
                    entry.name
                )
            }
            Source::Installed { .. } => format!(
                "{INSTALLED}/{}//{}",
                self.request.own_namespace(),
                entry.name
            ),
        }
    }

    /// Returns the installed operator of a name.
    pub(crate) fn installed_named(&self, name: &str) -> Option<EntryId> {
        self.installed
            .iter()
            .copied()
            .find(|&id| self.entries[id].name == name)
    }

    /// Reads a requirement, once for each value.
    pub(crate) fn requirement(
        &mut self,
        property: &RawProperty<'a>,
        meter: &Meter<'_>,
    ) -> Result<Result<usize, Fault>, Halt<'static>> {
        let key = (property.type_name.clone(), property.value.clone());
        if let Some(known) = self.requirement_ids.get(&key) {
            return Ok(known.clone());
        }
        let read = match ParsedRequirement::read(&property.type_name, &property.value, meter) {
            Ok(requirement) => {
                self.requirements.push(requirement);
                Ok(self.requirements.len() - 1)
            }
            Err(Unreadable::Fault(fault)) => Err(fault),
            Err(Unreadable::Halted(halt)) => return Err(halt),
        };
        self.requirement_ids.insert(key, read.clone());
        Ok(read)
    }

    /// Returns the entries of a channel that have a bundle, in catalog order, and those that are in
    /// its order.
    fn channel(
        &mut self,
        at: usize,
        channel: Channel<'a>,
        meter: &Meter<'_>,
    ) -> Result<ChannelEntries, Halt<'static>> {
        let key = (at, channel.package().place(), channel.name());
        if let Some((entries, ordered)) = self.channels.get(&key) {
            return Ok((Rc::clone(entries), ordered.clone()));
        }
        let mut ids = Vec::new();
        for entry in channel.entries() {
            let Some(bundle) = entry.bundle() else {
                continue;
            };
            let facts = self.facts_of(at, bundle, meter)?;
            ids.push(self.entries.len());
            self.entries.push(Entry {
                source: Source::Catalog { at, entry },
                name: entry.name(),
                facts,
            });
        }
        let ordered = self.sort(&ids, channel, meter)?.map(Rc::from);
        let ids: Rc<[EntryId]> = ids.into();
        self.channels
            .insert(key, (Rc::clone(&ids), ordered.clone()));
        Ok((ids, ordered))
    }

    /// Reads the properties of a bundle, once.
    fn facts_of(
        &mut self,
        at: usize,
        bundle: fbc::Bundle<'a>,
        meter: &Meter<'_>,
    ) -> Result<Rc<BundleFacts<'a>>, Halt<'static>> {
        meter.draw(Step::Bundle, 1)?;
        let key = (at, bundle.place());
        if let Some(known) = self.facts.get(&key) {
            return Ok(Rc::clone(known));
        }
        meter.draw(Step::Comparison, bundle.properties().len())?;
        let facts = Rc::new(BundleFacts::of_bundle(bundle));
        self.facts.insert(key, Rc::clone(&facts));
        Ok(facts)
    }

    /// Orders entries of a channel.
    fn sort(
        &self,
        ids: &[EntryId],
        channel: Channel<'a>,
        meter: &Meter<'_>,
    ) -> Result<Result<Vec<EntryId>, String>, Halt<'static>> {
        let mut links = Vec::new();
        for &id in ids {
            let Source::Catalog { entry, .. } = self.entries[id].source else {
                continue;
            };
            meter.draw(Step::Edge, entry.skips().len() + 1)?;
            links.push(ChainEntry {
                name: entry.name(),
                replaces: entry.replaces(),
                skips: entry.skips().collect(),
            });
        }
        let sorted = sort_channel(&links, channel.name(), channel.package().name());
        Ok(sorted.map(|places| places.into_iter().map(|at| ids[at]).collect()))
    }

    /// Returns the channels of a package in the order of preference: the default one first, then by
    /// name.
    fn channels_of(package: Package<'a>) -> Vec<Channel<'a>> {
        let mut channels: Vec<_> = package.channels().collect();
        channels.sort_by_key(|channel| !channel.is_default());
        channels
    }
}

/// Returns operators that are being replaced by one that failed, if upgrades may go on from there.
fn replaced_by_failed(request: &SolveRequest) -> HashSet<&str> {
    let mut left_out = HashSet::new();
    if request.upgrade_strategy.as_deref() != Some(FAIL_FORWARD) {
        return left_out;
    }
    for operator in request
        .installed
        .iter()
        .filter(|operator| operator.phase == "Replacing")
    {
        let replacer = |name: &str| {
            request
                .installed
                .iter()
                .find(|other| other.replaces == name)
        };
        let mut seen = HashSet::new();
        let mut last = operator;
        while let Some(next) = replacer(&last.name).filter(|next| seen.insert(&*next.name)) {
            last = next;
        }
        if last.phase == "Failed" {
            left_out.insert(&*operator.name);
        }
    }
    left_out
}
