//! Applies an item of a configuration to a catalog.

mod dependencies;
mod upgrade;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fbc::similar::similar_names;
use fbc::work::{Step, Work, WorkStopped};
use fbc::{Bundle, Catalog, Channel, ChannelEntry, MetaFilter, Package};
use hashbrown::{HashMap, HashSet};

use crate::channel::{ChannelGraph, shown, version_of};
use crate::configuration::{CatalogSelection, PackageSelection};
use crate::mirror_set::{
    MirrorReason, MirrorSet, MirroredBundle, MirroredChannel, MirroredDeprecation, MirroredPackage,
    ReasonKind,
};
use crate::need::PackageNeed;
use crate::problem::{MAX_PROBLEMS, MirrorProblem, MirrorProblemCode};
use crate::range::MirrorRange;
use crate::validity;
use fbc_grammar::version::Version;
use fbc_read::json::JsonText;

pub use dependencies::{MAX_DEPENDENCY_WORK, MAX_SOLVED_BUNDLES};

/// Schema of the blobs with deprecations.
const DEPRECATIONS: &str = "olm.deprecations";

/// Steps that a package of a selection of all packages is charged as.
const PACKAGE_PRICE: usize = 30;

/// Steps that a bundle of a selected package is charged as: a microsecond for all that is done with
/// it.
const BUNDLE_PRICE: usize = 20;

/// Steps that an entry or a skip of a selected channel is charged as, for the checks of the result.
const CHECKED_EDGE_PRICE: usize = 3;

/// The rules that a selection follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MirrorRules {
    /// Those of catalogql: the result is a valid catalog, or there is none.
    #[default]
    Catalogql,
    /// Those of oc-mirror, to the letter.
    OcMirror,
}

/// Selects the part of a catalog that an item of a configuration names.
///
/// # Errors
/// If the work was stopped.
pub fn select<'a>(
    catalog: &'a Catalog,
    selection: &CatalogSelection,
    rules: MirrorRules,
    work: &Work<'_>,
) -> Result<MirrorSet<'a>, WorkStopped> {
    let mut selector = Selector {
        catalog,
        selection,
        rules,
        work,
        problems: Vec::new(),
    };
    selector.check_rules();
    let packages = if selector.has_error() {
        None
    } else {
        selector.packages()?
    };
    let packages = match packages {
        Some(mut packages) => {
            if rules == MirrorRules::Catalogql {
                charge_checks(&packages, work)?;
                validity::check(catalog, selection, &mut packages, &mut selector.problems);
            }
            packages
        }
        None => Vec::new(),
    };
    let mut set = MirrorSet {
        packages,
        problems: selector.problems,
    };
    if set.is_refused() {
        set.packages.clear();
    }
    Ok(set)
}

/// Charges the checks of selected channels, which visit each entry and each skip.
fn charge_checks(packages: &[MirroredPackage<'_>], work: &Work<'_>) -> Result<(), WorkStopped> {
    let channels = packages.iter().flat_map(|package| &package.channels);
    for entry in channels.flat_map(|channel| &channel.entries) {
        work.draw(Step::Edge, CHECKED_EDGE_PRICE * (1 + entry.skips().len()))?;
    }
    Ok(())
}

struct Selector<'a, 's, 'w> {
    catalog: &'a Catalog,
    selection: &'s CatalogSelection,
    rules: MirrorRules,
    work: &'s Work<'w>,
    problems: Vec<MirrorProblem>,
}

/// A package while its channels are selected.
struct Candidate<'a, 's> {
    package: Package<'a>,
    selection: Option<(usize, &'s PackageSelection)>,
    channels: Vec<CandidateChannel<'a, 's>>,
    default_channel: String,
    /// Names of the bundles that run on the platform; `None` if there is none.
    compatible: Option<HashSet<&'a str>>,
    /// Selected names of bundles, with the reasons; `None` if no channel selected any.
    names: Option<BTreeMap<&'a str, Vec<MirrorReason<'a>>>>,
}

/// A channel that may be selected.
struct CandidateChannel<'a, 's> {
    channel: Channel<'a>,
    selection: Option<usize>,
    line: Option<u64>,
    range: Option<&'s MirrorRange>,
    /// Selected entries; `None` if the channel is left out.
    entries: Option<Vec<ChannelEntry<'a>>>,
}

/// Selection that a channel makes.
struct ChannelNames<'a> {
    names: Vec<(&'a str, ReasonKind)>,
    /// oc-mirror keeps the channel also if none of its entries is selected.
    is_kept_empty: bool,
}

impl<'a, 's> Selector<'a, 's, '_> {
    fn is_ours(&self) -> bool {
        self.rules == MirrorRules::Catalogql
    }

    fn add(&mut self, problem: MirrorProblem) {
        if self.problems.len() < MAX_PROBLEMS || problem.is_error() && !self.has_error() {
            self.problems.push(problem);
        }
    }

    fn has_error(&self) -> bool {
        self.problems.iter().any(MirrorProblem::is_error)
    }

    /// Tells whether the selection ends: oc-mirror stops at the first fault.
    fn is_over(&self) -> bool {
        !self.is_ours() && self.has_error()
    }

    /// Refuses needs that oc-mirror does not know, with its rules.
    fn check_rules(&mut self) {
        if self.is_ours() {
            return;
        }
        let needs = |package: &PackageSelection| package.need.is_any();
        if let Some(at) = self.selection.packages.iter().position(needs) {
            let message = "oc-mirror knows neither `from`, `to`, `dependencies` nor `platform`: remove them, or follow the rules of catalogql";
            let path = self.selection.package_path(at);
            self.add(MirrorProblem::new(MirrorProblemCode::Config, path, message));
        }
    }

    /// Returns the selected packages; `None` if the configuration is refused.
    fn packages(&mut self) -> Result<Option<Vec<MirroredPackage<'a>>>, WorkStopped> {
        let mut candidates = self.candidates()?;
        if !self.is_ours() {
            self.check_versions(&candidates)?;
        }
        // Faults are found in the order of the catalog, because oc-mirror names the first one.
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        order.sort_by_key(|&at| candidates[at].package.meta().line_span().start);
        for &at in &order {
            if self.is_over() {
                break;
            }
            self.check_default(&candidates[at]);
        }
        let mut order: Vec<(usize, usize)> = candidates
            .iter()
            .enumerate()
            .flat_map(|(at, candidate)| {
                (0..candidate.channels.len()).map(move |channel| (at, channel))
            })
            .collect();
        order.sort_by_key(|&(at, channel)| {
            candidates[at].channels[channel]
                .channel
                .meta()
                .line_span()
                .start
        });
        for (at, channel) in order {
            if self.is_over() {
                break;
            }
            self.select_channel(&mut candidates[at], channel)?;
        }
        if self.has_error() {
            return Ok(None);
        }
        if self.is_ours() {
            self.add_dependencies(&mut candidates)?;
        }
        let deprecations = self.deprecations(&candidates)?;
        Ok(Some(self.finish(candidates, deprecations)))
    }

    /// Returns the packages and channels that the selection names, sorted by name.
    fn candidates(&mut self) -> Result<Vec<Candidate<'a, 's>>, WorkStopped> {
        let selection = self.selection;
        if selection.packages.is_empty() {
            self.work
                .draw(Step::Package, PACKAGE_PRICE * self.catalog.packages().len())?;
            let packages: Vec<_> = self.catalog.packages().collect();
            return packages
                .into_iter()
                .map(|package| self.candidate(package, None))
                .collect();
        }
        let mut candidates = Vec::new();
        for (at, named) in selection.packages.iter().enumerate() {
            self.work.draw(Step::Word, 1)?;
            match self.catalog.package(&named.name) {
                Some(package) => candidates.push(self.candidate(package, Some((at, named)))?),
                None if self.is_ours() => self.unknown_package(at, named)?,
                None => {}
            }
        }
        candidates.sort_by_key(|candidate| candidate.package.place());
        candidates.dedup_by_key(|candidate| candidate.package.place());
        Ok(candidates)
    }

    fn candidate(
        &mut self,
        package: Package<'a>,
        selection: Option<(usize, &'s PackageSelection)>,
    ) -> Result<Candidate<'a, 's>, WorkStopped> {
        self.work.draw(Step::Edge, package.channels().len())?;
        let range = selection.and_then(|(_, named)| named.range.as_ref());
        let named = selection
            .map(|(_, named)| &*named.channels)
            .unwrap_or_default();
        let need = selection.map(|(_, named)| &named.need);
        let is_upgrade = need.is_some_and(PackageNeed::is_upgrade);
        let mut channels = Vec::new();
        if named.is_empty() {
            // Upgrades are those of one channel.
            let chosen = package
                .channels()
                .filter(|channel| !is_upgrade || channel.is_default());
            channels.extend(chosen.map(|channel| CandidateChannel {
                channel,
                selection: None,
                line: selection.and_then(|(_, named)| named.line),
                range,
                entries: None,
            }));
        }
        for (at, named) in named.iter().enumerate() {
            match package.channel(&named.name) {
                Some(channel) => channels.push(CandidateChannel {
                    channel,
                    selection: Some(at),
                    line: named.line,
                    range: named.range.as_ref().or(range),
                    entries: None,
                }),
                None if self.is_ours() => {
                    let known = package.channels().map(Channel::name);
                    let similar = similar_names(&named.name, known, self.work)?;
                    let package_at = selection.map_or(0, |(package_at, _)| package_at);
                    let path = self.selection.channel_path(package_at, at);
                    let message = format!(
                        "package `{}` has no channel `{}`{}",
                        package.name(),
                        named.name,
                        meant(&similar)
                    );
                    let problem =
                        MirrorProblem::new(MirrorProblemCode::UnknownChannel, path, message);
                    self.add(
                        problem
                            .on_line(named.line)
                            .but_oc_mirror("mirrors nothing of it and says nothing"),
                    );
                }
                None => {}
            }
        }
        channels.sort_by_key(|candidate| candidate.channel.name());
        channels.dedup_by_key(|candidate| candidate.channel.name());
        let configured = selection.and_then(|(_, named)| named.default_channel.as_deref());
        let own_default = if is_upgrade {
            default_of(package, &channels)
        } else {
            package.default_channel_name()
        };
        let platform = need.and_then(|need| need.platform.as_ref()?.platform());
        let mut compatible = None;
        if let Some(platform) = platform {
            let mut running = HashSet::new();
            for bundle in package.bundles() {
                if bundle.runs_on(&platform, self.work)? {
                    running.insert(bundle.name());
                }
            }
            compatible = Some(running);
        }
        Ok(Candidate {
            package,
            selection,
            channels,
            default_channel: configured.unwrap_or(own_default).to_owned(),
            compatible,
            names: None,
        })
    }

    fn unknown_package(&mut self, at: usize, named: &PackageSelection) -> Result<(), WorkStopped> {
        if self.problems.len() >= MAX_PROBLEMS {
            return Ok(());
        }
        let known = self.catalog.packages().map(Package::name);
        let similar = similar_names(&named.name, known, self.work)?;
        let message = format!(
            "the catalog has no package `{}`{}",
            named.name,
            meant(&similar)
        );
        let path = self.selection.package_path(at);
        let problem = MirrorProblem::new(MirrorProblemCode::UnknownPackage, path, message);
        self.add(
            problem
                .on_line(named.line)
                .but_oc_mirror("mirrors nothing of it and says nothing"),
        );
        Ok(())
    }

    /// Checks that all bundles of the selected packages have a version.
    fn check_versions(&mut self, candidates: &[Candidate<'a, 's>]) -> Result<(), WorkStopped> {
        for candidate in candidates {
            self.work.draw(
                Step::Bundle,
                BUNDLE_PRICE * candidate.package.bundles().len(),
            )?;
            // Bundles without a version come last.
            let last = candidate.package.bundles().next_back();
            if let Some(bundle) = last.filter(|bundle| bundle.version().is_none()) {
                let message = format!("bundle `{}` has no semantic version", bundle.name());
                let problem = MirrorProblem::new(
                    MirrorProblemCode::InvalidVersion,
                    self.path(candidate, None),
                    message,
                );
                self.add(problem.on_line(candidate.line()));
                return Ok(());
            }
        }
        Ok(())
    }

    /// Checks the default channel of a package that the selection names.
    fn check_default(&mut self, candidate: &Candidate<'a, 's>) {
        let Some((at, named)) = candidate.selection else {
            return;
        };
        let has = |name: &str| {
            candidate
                .channels
                .iter()
                .any(|one| one.channel.name() == name)
        };
        let package = candidate.package.name();
        let channels: Vec<_> = candidate
            .channels
            .iter()
            .map(|one| one.channel.name())
            .collect();
        let selected = if channels.is_empty() {
            "none".to_owned()
        } else {
            shown(&channels)
        };
        let path = self.selection.package_path(at);
        let problem = match &named.default_channel {
            Some(name) if !has(name) => MirrorProblem::new(
                MirrorProblemCode::DefaultUnknown,
                format!("{path}.defaultChannel"),
                format!(
                    "the default channel `{name}` of package `{package}` is not among its selected channels: {selected}"
                ),
            ),
            None if !candidate.default_channel.is_empty() && !has(&candidate.default_channel) => {
                let name = &candidate.default_channel;
                let other = if channels.is_empty() {
                    String::new()
                } else {
                    format!(", or set `defaultChannel` to one of {selected}")
                };
                MirrorProblem::new(
                    MirrorProblemCode::DefaultFiltered,
                    path,
                    format!(
                        "the default channel `{name}` of package `{package}` is not selected: add it to `channels`{other}"
                    ),
                )
            }
            _ => return,
        };
        self.add(problem.on_line(named.line));
    }

    /// Selects the entries of one channel.
    fn select_channel(
        &mut self,
        candidate: &mut Candidate<'a, 's>,
        at: usize,
    ) -> Result<(), WorkStopped> {
        let Some(selected) = self.channel_names(candidate, at)? else {
            return Ok(());
        };
        let one = &candidate.channels[at];
        let channel = one.channel;
        self.work.draw(Step::Edge, channel.entries().len())?;
        let names: HashSet<&str> = selected.names.iter().map(|(name, _)| *name).collect();
        let entries: Vec<_> = channel
            .entries()
            .filter(|entry| names.contains(entry.name()))
            .collect();
        let is_left_out = if self.is_ours() {
            entries.is_empty()
        } else {
            names.is_empty() && !selected.is_kept_empty
        };
        if is_left_out {
            self.leave_out(candidate, at, selected.is_kept_empty || !names.is_empty());
            return Ok(());
        }

        if self.is_ours() {
            self.note_same_versions(candidate, at, &entries);
        }
        let reasons = candidate.names.get_or_insert_default();
        for (name, kind) in selected.names {
            reasons.entry(name).or_default().push(MirrorReason {
                kind,
                channel: Some(channel.name()),
                required_by: None,
            });
        }
        candidate.channels[at].entries = Some(entries);
        Ok(())
    }

    /// Returns the update graph of a channel; `None` for a fault.
    fn channel_graph(
        &mut self,
        candidate: &Candidate<'a, 's>,
        at: usize,
    ) -> Result<Option<ChannelGraph<'a>>, WorkStopped> {
        let channel = candidate.channels[at].channel;
        match ChannelGraph::new(channel, self.work)? {
            Ok(graph) => Ok(Some(graph)),
            Err(fault) => {
                let message = format!(
                    "channel `{}` of package `{}` cannot be mirrored: {}",
                    channel.name(),
                    candidate.package.name(),
                    fault.message
                );
                self.refuse(fault.code, candidate, at, message);
                Ok(None)
            }
        }
    }

    /// Returns the names that a channel selects; `None` for a fault.
    fn channel_names(
        &mut self,
        candidate: &mut Candidate<'a, 's>,
        at: usize,
    ) -> Result<Option<ChannelNames<'a>>, WorkStopped> {
        let CandidateChannel { channel, range, .. } = candidate.channels[at];
        if let Some(need) = candidate.need().filter(|need| need.is_upgrade()) {
            return self.upgrade_names(candidate, at, need);
        }
        let is_full = self.selection.is_full;
        if let (true, Some(_)) = (is_full, range) {
            let message = format!(
                "`full` selects all versions of package `{}`, and there is a range of versions: remove one of them",
                candidate.package.name()
            );
            self.refuse(MirrorProblemCode::FullRange, candidate, at, message);
            return Ok(None);
        }
        let names = if is_full {
            channel
                .entries()
                .map(|entry| (entry.name(), ReasonKind::Full))
                .collect()
        } else if let Some(version) = range.and_then(MirrorRange::single) {
            return self.single_version(candidate, at, version);
        } else {
            let Some(graph) = self.channel_graph(candidate, at)? else {
                return Ok(None);
            };
            match range {
                None => {
                    let head = graph.highest(|name| candidate.allows(name));
                    let head = head.map(|head| (head.name(), ReasonKind::Head));
                    head.into_iter().collect()
                }
                Some(range) => {
                    let package = candidate.package;
                    let matches = |name: &str| {
                        range.contains(version_of(package, name)) && candidate.allows(name)
                    };
                    let selected = graph.within(matches, self.work)?;
                    let named = selected.into_iter().map(|entry| {
                        let kind = if entry.is_in_range {
                            ReasonKind::InRange
                        } else {
                            ReasonKind::OutsideRange
                        };
                        (entry.name, kind)
                    });
                    named.collect()
                }
            }
        };
        Ok(Some(ChannelNames {
            names,
            is_kept_empty: is_full,
        }))
    }

    /// Returns the bundles with exactly one version. oc-mirror takes one of the package, whether or
    /// not the channel has it.
    fn single_version(
        &mut self,
        candidate: &Candidate<'a, 's>,
        at: usize,
        version: Version<'_>,
    ) -> Result<Option<ChannelNames<'a>>, WorkStopped> {
        let package = candidate.package;
        let channel = candidate.channels[at].channel;
        self.work.draw(Step::Comparison, package.bundles().len())?;
        let is_wanted = |bundle: &Bundle<'_>| {
            let own = bundle.version().and_then(|text| Version::parse(text).ok());
            own.is_some_and(|own| own.precedence(&version).is_eq())
        };
        let mut names: Vec<_> = package
            .bundles()
            .filter(is_wanted)
            .map(Bundle::name)
            .collect();
        if names.is_empty() {
            let message = format!(
                "package `{}` has no bundle of version {version}",
                package.name()
            );
            self.refuse(MirrorProblemCode::VersionNotFound, candidate, at, message);
            return Ok(None);
        }
        if self.is_ours() {
            self.work.draw(Step::Edge, channel.entries().len())?;
            let wanted: HashSet<&str> = names.into_iter().collect();
            names = channel
                .entries()
                .map(ChannelEntry::name)
                .filter(|name| wanted.contains(name) && candidate.allows(name))
                .collect();
        } else {
            // Of several that differ in build metadata, oc-mirror takes whichever its map returns.
            names.sort_unstable();
            names.truncate(1);
        }
        Ok(Some(ChannelNames {
            names: names
                .into_iter()
                .map(|name| (name, ReasonKind::InRange))
                .collect(),
            is_kept_empty: true,
        }))
    }

    /// Leaves out a channel of which nothing is selected.
    fn leave_out(&mut self, candidate: &mut Candidate<'a, 's>, at: usize, is_invalid_there: bool) {
        let CandidateChannel { channel, range, .. } = candidate.channels[at];
        let name = channel.name();
        let own_default = candidate.package.default_channel_name();
        let is_own_default = own_default == name;
        // oc-mirror looks at the default channel of the catalog, also if another one is configured.
        let is_default = if self.is_ours() {
            candidate.default_channel == name
        } else {
            is_own_default
        };
        // An empty selection of a channel counts as one for oc-mirror.
        candidate.names.get_or_insert_default();
        let mut lacks = "it has no bundle".to_owned();
        if let Some(range) = range {
            let _ = write!(lacks, " of version {}", range.describe());
        }
        if candidate.compatible.is_some() {
            lacks.push_str(" that runs on the platform");
        }
        let package = candidate.package.name();
        if is_default {
            let message = format!(
                "nothing of the default channel `{name}` of package `{package}` is selected: {lacks}"
            );
            self.refuse(MirrorProblemCode::EmptyDefault, candidate, at, message);
            return;
        }
        if !self.is_ours() {
            return;
        }
        let difference = if is_invalid_there {
            Some("keeps the channel without entries: `opm` and OLM refuse the catalog")
        } else if is_own_default {
            Some(
                "refuses the configuration: it looks at the default channel of the catalog, not at `defaultChannel`",
            )
        } else {
            None
        };
        let is_named = candidate.channels[at].selection.is_some();
        if difference.is_some() || is_named || candidate.compatible.is_some() {
            let message = format!("channel `{name}` of package `{package}` is left out: {lacks}");
            let mut problem = MirrorProblem::new(
                MirrorProblemCode::ChannelLeftOut,
                self.path(candidate, Some(at)),
                message,
            );
            problem.like_oc_mirror = difference;
            self.add(problem.on_line(candidate.channels[at].line));
        }
    }

    /// Notes that a single version selects several entries of a channel.
    fn note_same_versions(
        &mut self,
        candidate: &Candidate<'a, 's>,
        at: usize,
        entries: &[ChannelEntry<'a>],
    ) {
        let is_single = candidate.channels[at]
            .range
            .and_then(MirrorRange::single)
            .is_some();
        if !is_single || entries.len() < 2 {
            return;
        }
        let names: Vec<_> = entries.iter().map(|entry| entry.name()).collect();
        let message = format!(
            "several bundles of channel `{}` have this version with different build metadata: {}",
            candidate.channels[at].channel.name(),
            shown(&names)
        );
        let path = self.path(candidate, Some(at));
        let problem = MirrorProblem::new(MirrorProblemCode::SameVersion, path, message);
        self.add(
            problem
                .on_line(candidate.channels[at].line)
                .but_oc_mirror("mirrors one of them, which differs from run to run"),
        );
    }

    fn refuse(
        &mut self,
        code: MirrorProblemCode,
        candidate: &Candidate<'a, 's>,
        at: usize,
        message: String,
    ) {
        let problem = MirrorProblem::new(code, self.path(candidate, Some(at)), message)
            .on_line(candidate.channels[at].line);
        // A fault of a package is found in each of its channels.
        if self.problems.last() != Some(&problem) {
            self.add(problem);
        }
    }

    /// Returns the place of the item that selects a channel, or else of that of its package.
    fn path(&self, candidate: &Candidate<'a, 's>, channel: Option<usize>) -> String {
        let channel = channel.and_then(|at| candidate.channels[at].selection);
        match (candidate.selection, channel) {
            (Some((package, _)), Some(channel)) => self.selection.channel_path(package, channel),
            (Some((package, _)), None) => self.selection.package_path(package),
            (None, _) => self.selection.path.clone(),
        }
    }

    /// Returns the deprecations of the selected packages, by package, in catalog order.
    fn deprecations(
        &self,
        candidates: &[Candidate<'a, 's>],
    ) -> Result<HashMap<&'a str, Vec<MirroredDeprecation<'a>>>, WorkStopped> {
        let packages: HashSet<&str> = candidates.iter().map(|one| one.package.name()).collect();
        let filter = MetaFilter {
            schema: Some(DEPRECATIONS),
            ..MetaFilter::default()
        };
        let mut all: HashMap<&str, Vec<_>> = HashMap::new();
        for place in self.catalog.find_metas(&filter, self.work)? {
            let place = place as usize;
            let meta = self.catalog.meta_at(place);
            let Some(package) = meta.package_name().filter(|name| packages.contains(name)) else {
                continue;
            };
            self.work.draw(Step::JsonByte, meta.blob().raw().len())?;
            let [entries] = meta.blob().fields(["entries"]).unwrap_or_default();
            let entries = entries
                .and_then(|entries| entries.elements().ok())
                .unwrap_or_default();
            let list = all.entry(package).or_default();
            for (index, entry) in entries.into_iter().enumerate() {
                let [reference] = entry.fields(["reference"]).unwrap_or_default();
                let fields =
                    reference.and_then(|reference| reference.fields(["schema", "name"]).ok());
                let [schema, name] = fields.unwrap_or_default().map(|text| {
                    text.and_then(|text| text.text().ok())
                        .map(JsonText::decode)
                        .unwrap_or_default()
                });
                list.push(MirroredDeprecation {
                    meta: place,
                    index,
                    schema,
                    name,
                });
            }
        }
        Ok(all)
    }

    /// Makes the selected packages of the candidates.
    fn finish(
        &mut self,
        candidates: Vec<Candidate<'a, 's>>,
        mut deprecations: HashMap<&'a str, Vec<MirroredDeprecation<'a>>>,
    ) -> Vec<MirroredPackage<'a>> {
        // oc-mirror filters bundles only if some channel selected any.
        let is_filtered = self.is_ours() || candidates.iter().any(|one| one.names.is_some());
        let mut packages = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let package = candidate.package;
            let mut own = deprecations.remove(package.name()).unwrap_or_default();
            if is_filtered {
                self.filter_deprecations(&candidate, &mut own);
            }
            let mut bundles: Vec<_> = match candidate.names {
                Some(names) => names
                    .into_iter()
                    .filter_map(|(name, reasons)| {
                        let bundle = package.bundle(name)?;
                        Some(MirroredBundle {
                            bundle,
                            reasons,
                            is_listed: true,
                        })
                    })
                    .collect(),
                None if is_filtered => Vec::new(),
                None => package
                    .bundles()
                    .map(|bundle| MirroredBundle {
                        bundle,
                        reasons: vec![MirrorReason {
                            kind: ReasonKind::Full,
                            channel: None,
                            required_by: None,
                        }],
                        is_listed: true,
                    })
                    .collect(),
            };
            bundles.sort_by_key(|mirrored| mirrored.bundle.name());
            let channels = candidate.channels.into_iter().filter_map(|one| {
                Some(MirroredChannel {
                    channel: one.channel,
                    selection: one.selection,
                    entries: one.entries?,
                })
            });
            packages.push(MirroredPackage {
                package,
                selection: candidate.selection.map(|(at, _)| at),
                default_channel: candidate.default_channel,
                channels: channels.collect(),
                bundles,
                deprecations: own,
            });
        }
        packages
    }

    /// Removes the deprecations of bundles and channels that are not selected.
    fn filter_deprecations(
        &mut self,
        candidate: &Candidate<'a, 's>,
        own: &mut Vec<MirroredDeprecation<'a>>,
    ) {
        let is_ours = self.is_ours();
        let mut left_out = Vec::new();
        own.retain(|deprecation| match &*deprecation.schema {
            // A package of which no channel was looked at keeps all.
            "olm.bundle" => match &candidate.names {
                Some(names) => names.contains_key(&*deprecation.name),
                None => !is_ours,
            },
            "olm.channel" => {
                let mut channels = candidate.channels.iter();
                let Some(found) = channels.find(|one| one.channel.name() == deprecation.name)
                else {
                    return !is_ours && candidate.channels.is_empty();
                };
                let stays = !is_ours || found.entries.is_some();
                if !stays {
                    left_out.push(deprecation.name.clone().into_owned());
                }
                stays
            }
            _ => true,
        });
        for name in left_out {
            let message = format!(
                "the deprecation of channel `{name}` of package `{}` is left out, because the channel is",
                candidate.package.name()
            );
            let path = self.path(candidate, None);
            let problem = MirrorProblem::new(MirrorProblemCode::DeprecationLeftOut, path, message);
            self.add(
                problem
                    .on_line(candidate.line())
                    .but_oc_mirror("keeps it: `opm` and OLM refuse the catalog"),
            );
        }
    }
}

impl<'s> Candidate<'_, 's> {
    fn line(&self) -> Option<u64> {
        self.selection.and_then(|(_, named)| named.line)
    }

    fn need(&self) -> Option<&'s PackageNeed> {
        self.selection.map(|(_, named)| &named.need)
    }

    /// Tells whether a bundle runs on the platform.
    fn allows(&self, name: &str) -> bool {
        let compatible = self.compatible.as_ref();
        compatible.is_none_or(|names| names.contains(name))
    }
}

/// Returns the default channel of a package if it is among some channels, or else the first one.
fn default_of<'a>(package: Package<'a>, channels: &[CandidateChannel<'a, '_>]) -> &'a str {
    let own = package.default_channel_name();
    let mut names = channels.iter().map(|one| one.channel.name());
    let first = names.clone().next().unwrap_or(own);
    names.find(|name| *name == own).unwrap_or(first)
}

/// Says which names may have been meant.
fn meant(similar: &[&str]) -> String {
    if similar.is_empty() {
        String::new()
    } else {
        format!(": did you mean `{}`?", similar.join("` or `"))
    }
}
