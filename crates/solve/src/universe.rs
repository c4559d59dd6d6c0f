//! The universe of a request: all entries of catalogs and installed operators that it can choose
//! from, in order of preference. Catalogs are read as far as a request reaches them.

mod candidates;
mod extensions;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use fbc::work::Step;
use fbc::{Channel, ChannelEntry, Package};
use fbc_graph::channel_order::{ChainEntry, ChannelOrderError, sort_channel};

use crate::budget::SolveBudget;
use crate::entry_properties::EntryProperties;
use crate::error::{ParseRequirementError, RequirementError, SolveError};
use crate::property::RawProperty;
use crate::request::{InstalledOperator, SolveRequest, SourceCatalog};
use crate::requirement::ParsedRequirement;

pub(crate) use candidates::{CandidateSearch, CandidateSet};

/// Index of an entry in [`Universe::entries`].
pub(crate) type EntryId = usize;

/// A bundle in one channel of one catalog, or an installed operator.
pub(crate) struct CandidateEntry<'a> {
    pub(crate) source: EntryOrigin<'a>,
    pub(crate) name: &'a str,
    pub(crate) properties: Rc<EntryProperties<'a>>,
}

/// Origin of an entry: a channel of a catalog, or the cluster.
#[derive(Clone, Copy)]
pub(crate) enum EntryOrigin<'a> {
    Catalog {
        at: usize,
        entry: ChannelEntry<'a>,
    },
    Installed {
        operator: &'a InstalledOperator,
        subscription: Option<usize>,
    },
}

/// Name that upstream gives the virtual catalog of installed operators.
const INSTALLED: &str = "@existing";

/// The strategy that allows upgrades from failed operators.
const FAIL_FORWARD: &str = "TechPreviewUnsafeFailForward";

/// Entries, best first.
pub(crate) type SortedEntries = Result<Rc<[EntryId]>, ChannelOrderError>;

/// A channel of one of the catalogs of a request.
#[derive(Clone, Copy)]
struct CatalogChannel<'a> {
    /// Index of the catalog.
    catalog: usize,
    channel: Channel<'a>,
}

/// The entries of a channel that have a bundle.
#[derive(Clone)]
struct ChannelEntrySet {
    /// All of them, in catalog order.
    all: Rc<[EntryId]>,
    /// Those on the channel's chain of replacements.
    sorted: SortedEntries,
}

/// The entries that a request can choose from.
pub(crate) struct Universe<'a> {
    pub(crate) request: &'a SolveRequest,
    pub(crate) catalogs: &'a [SourceCatalog<'a>],
    pub(crate) entries: Vec<CandidateEntry<'a>>,
    /// Installed operators, by name.
    pub(crate) installed: Vec<EntryId>,
    pub(crate) requirements: Vec<ParsedRequirement>,
    /// Indexes of the catalogs in the request's namespaces.
    visible_catalogs: Vec<usize>,
    properties: HashMap<(usize, usize), Rc<EntryProperties<'a>>>,
    /// The entries of the channels that have been reached.
    channels: HashMap<ChannelKey<'a>, ChannelEntrySet>,
    /// Entries by name, of the channels that a search by the rules of OLM v1 has reached.
    named: HashMap<ChannelKey<'a>, HashMap<&'a str, EntryId>>,
    requirement_ids: HashMap<RequirementKey<'a>, Result<usize, RequirementError>>,
    candidates: HashMap<(usize, Option<usize>), SortedEntries>,
    search: CandidateSearch,
    /// Indexes of the requirements whose search for candidates ended at the limit.
    pub(crate) truncated: HashSet<usize>,
    /// Bundles that do not meet a requirement: index of the requirement, catalog, and place.
    unmet: HashSet<(usize, usize, usize)>,
}

/// Index of the catalog, place of the package, and name of a channel.
type ChannelKey<'a> = (usize, usize, &'a str);

/// Type and value of the property that states a requirement.
type RequirementKey<'a> = (Cow<'a, str>, Cow<'a, [u8]>);

impl<'a> Universe<'a> {
    /// Creates a universe of the installed operators. Catalogs are read when they are reached.
    pub(crate) fn new(
        request: &'a SolveRequest,
        catalogs: &'a [SourceCatalog<'a>],
        search: CandidateSearch,
    ) -> Self {
        let is_visible = |at: &usize| {
            request
                .namespaces
                .iter()
                .any(|name| name == catalogs[*at].namespace)
        };
        let mut universe = Self {
            request,
            catalogs,
            entries: Vec::new(),
            installed: Vec::new(),
            requirements: Vec::new(),
            visible_catalogs: (0..catalogs.len()).filter(is_visible).collect(),
            properties: HashMap::new(),
            channels: HashMap::new(),
            named: HashMap::new(),
            requirement_ids: HashMap::new(),
            candidates: HashMap::new(),
            search,
            truncated: HashSet::new(),
            unmet: HashSet::new(),
        };
        let mut operators: Vec<_> = request.installed.iter().collect();
        operators.sort_by(|one, other| one.name.cmp(&other.name));
        let omitted = replaced_by_failed(request);
        for operator in operators
            .into_iter()
            .filter(|operator| !omitted.contains(&&*operator.name))
        {
            universe.add_installed(operator);
        }
        universe
    }

    fn add_installed(&mut self, operator: &'a InstalledOperator) {
        let subscriptions = &self.request.subscriptions;
        let is_own = |at: &usize| subscriptions[*at].installed_csv == operator.name;
        let own: Vec<usize> = (0..subscriptions.len()).filter(is_own).collect();
        let packages: HashSet<&str> = own.iter().map(|&at| &*subscriptions[at].package).collect();
        // The package is known only if all subscriptions of the operator name the same one.
        let agreed = packages
            .iter()
            .next()
            .copied()
            .filter(|_| packages.len() == 1);
        let properties = Rc::new(EntryProperties::from_operator(operator, agreed));
        let source = EntryOrigin::Installed {
            operator,
            subscription: own.first().copied(),
        };
        self.installed.push(self.entries.len());
        self.entries.push(CandidateEntry {
            source,
            name: &operator.name,
            properties,
        });
    }

    /// Returns the identifier of an entry in the format of upstream.
    pub(crate) fn identifier(&self, id: EntryId) -> String {
        let entry = &self.entries[id];
        match entry.source {
            EntryOrigin::Catalog { at, entry: place } => {
                let SourceCatalog {
                    name, namespace, ..
                } = self.catalogs[at];
                format!(
                    "{name}/{namespace}/{}/{}",
                    place.channel().name(),
                    entry.name
                )
            }
            EntryOrigin::Installed { .. } => format!(
                "{INSTALLED}/{}//{}",
                self.request.own_namespace(),
                entry.name
            ),
        }
    }

    /// Returns the installed operator with this name.
    pub(crate) fn installed_named(&self, name: &str) -> Option<EntryId> {
        self.installed
            .iter()
            .copied()
            .find(|&id| self.entries[id].name == name)
    }

    /// Parses a requirement and returns its index. Equal requirements are parsed once.
    pub(crate) fn requirement(
        &mut self,
        property: &RawProperty<'a>,
        budget: &SolveBudget<'_>,
    ) -> Result<Result<usize, RequirementError>, SolveError<'static>> {
        let key = (property.type_name.clone(), property.value.clone());
        if let Some(known) = self.requirement_ids.get(&key) {
            return Ok(known.clone());
        }
        let read = match ParsedRequirement::read(&property.type_name, &property.value, budget) {
            Ok(requirement) => {
                self.requirements.push(requirement);
                Ok(self.requirements.len() - 1)
            }
            Err(ParseRequirementError::Invalid(error)) => Err(error),
            Err(ParseRequirementError::Stopped(error)) => return Err(error),
        };
        self.requirement_ids.insert(key, read.clone());
        Ok(read)
    }

    /// Reads the entries of a channel.
    fn channel_entries(
        &mut self,
        channel: CatalogChannel<'a>,
        budget: &SolveBudget<'_>,
    ) -> Result<ChannelEntrySet, SolveError<'static>> {
        if let Some(entries) = self.channels.get(&channel.key()) {
            return Ok(entries.clone());
        }
        let mut all = Vec::new();
        for entry in channel.channel.entries() {
            let Some(bundle) = entry.bundle() else {
                continue;
            };
            let properties = self.read_properties(channel.catalog, bundle, budget)?;
            all.push(self.entries.len());
            self.entries.push(CandidateEntry {
                source: EntryOrigin::Catalog {
                    at: channel.catalog,
                    entry,
                },
                name: entry.name(),
                properties,
            });
        }
        // An error is stored too: the channel may be reached again for another requirement.
        let sorted = self.sort(&all, channel.channel, budget)?;
        let entries = ChannelEntrySet {
            all: all.into(),
            sorted: sorted.map(Rc::from),
        };
        self.channels.insert(channel.key(), entries.clone());
        Ok(entries)
    }

    /// Returns the properties of a bundle. Each bundle is read once.
    fn read_properties(
        &mut self,
        at: usize,
        bundle: fbc::Bundle<'a>,
        budget: &SolveBudget<'_>,
    ) -> Result<Rc<EntryProperties<'a>>, SolveError<'static>> {
        budget.draw(Step::Bundle, 1)?;
        let key = (at, bundle.place());
        if let Some(known) = self.properties.get(&key) {
            return Ok(Rc::clone(known));
        }
        budget.draw(Step::Comparison, bundle.properties().len())?;
        let properties = Rc::new(EntryProperties::from_bundle(bundle));
        self.properties.insert(key, Rc::clone(&properties));
        Ok(properties)
    }

    /// Sorts entries of a channel along its chain of replacements, best first.
    fn sort(
        &self,
        ids: &[EntryId],
        channel: Channel<'a>,
        budget: &SolveBudget<'_>,
    ) -> Result<Result<Vec<EntryId>, ChannelOrderError>, SolveError<'static>> {
        let mut links = Vec::new();
        for &id in ids {
            let EntryOrigin::Catalog { entry, .. } = self.entries[id].source else {
                continue;
            };
            budget.draw(Step::Edge, entry.skips().len() + 1)?;
            links.push(ChainEntry {
                name: entry.name(),
                replaces: entry.replaces(),
                skips: entry.skips().collect(),
            });
        }
        let sorted = sort_channel(&links, channel.name(), channel.package().name());
        Ok(sorted.map(|places| places.into_iter().map(|at| ids[at]).collect()))
    }

    /// Returns the channels of a package in order of preference: the default one first, then by name.
    fn sorted_channels(package: Package<'a>) -> Vec<Channel<'a>> {
        let mut channels: Vec<_> = package.channels().collect();
        channels.sort_by_key(|channel| !channel.is_default());
        channels
    }
}

impl<'a> CatalogChannel<'a> {
    fn key(self) -> ChannelKey<'a> {
        let package = self.channel.package().place();
        (self.catalog, package, self.channel.name())
    }
}

/// Returns the operators that are being replaced by a failed one, if the upgrade strategy allows
/// upgrades from there. Upstream leaves them out.
fn replaced_by_failed(request: &SolveRequest) -> HashSet<&str> {
    let mut omitted = HashSet::new();
    if request.upgrade_strategy.as_deref() != Some(FAIL_FORWARD) {
        return omitted;
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
            omitted.insert(&*operator.name);
        }
    }
    omitted
}
