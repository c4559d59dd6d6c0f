//! Selects the bundles that selected ones require, as OLM v0 would choose them.

use fbc::work::{Step, UNIT, WorkStopped};
use fbc::{Bundle, Package, REQUIREMENT_TYPES};
use hashbrown::{HashMap, HashSet};
use solve::{
    ChannelBundle, PackageSubscription, SolveOutcome, SolvePolicy, SolveRequest, SourceCatalog,
};

use super::{Candidate, CandidateChannel, MirrorReason, ReasonKind, Selector, default_of};
use crate::channel::ChannelGraph;
use crate::problem::{MirrorProblem, MirrorProblemCode};

/// Maximum number of different requirements that are solved for one set.
pub const MAX_SOLVED_BUNDLES: usize = 500;

/// Maximum work of solving the requirements of one bundle, in nanoseconds of [`fbc::work`].
pub const MAX_DEPENDENCY_WORK: u64 = 50_000 * UNIT;

/// Name and namespace of the catalog while its requirements are solved.
const CATALOG: &str = "catalog";

/// A bundle that another one requires.
#[derive(Clone, Copy)]
struct Dependency<'a> {
    package: Package<'a>,
    channel: &'a str,
    name: &'a str,
    /// Name of the bundle that requires it; `None` for the bundle that is solved for.
    required_by: Option<&'a str>,
}

/// A bundle whose requirements are solved, in its channel.
struct RequiringBundle<'a> {
    bundle: Bundle<'a>,
    channel: &'a str,
}

/// Dependencies of a bundle, or why they are not in the catalog.
type Solved<'a> = Result<Vec<Dependency<'a>>, String>;

impl<'a, 's> Selector<'a, 's, '_> {
    /// Adds the dependencies of the packages that ask for them.
    pub(super) fn add_dependencies(
        &mut self,
        candidates: &mut Vec<Candidate<'a, 's>>,
    ) -> Result<(), WorkStopped> {
        let mut required = Vec::new();
        // Bundles of a package often have the same requirements.
        let mut solved: HashMap<Vec<u8>, Solved<'a>> = HashMap::new();
        for candidate in &*candidates {
            if !candidate.need().is_some_and(|need| need.dependencies) {
                continue;
            }
            for requiring in requiring_bundles(candidate) {
                let requirements = requirements(requiring.bundle);
                self.work.draw(Step::JsonByte, requirements.len())?;
                if requirements.is_empty() {
                    continue;
                }
                if !solved.contains_key(&requirements) {
                    if solved.len() >= MAX_SOLVED_BUNDLES {
                        self.refuse_many(candidate);
                        return Ok(());
                    }
                    let found = self.solve(&requiring)?;
                    if let Err(why) = &found {
                        self.note_unmet(candidate, requiring.bundle, why);
                    }
                    solved.insert(requirements.clone(), found);
                }
                let name = requiring.bundle.name();
                let dependencies = solved.get(&requirements).and_then(|one| one.as_ref().ok());
                required.extend(dependencies.into_iter().flatten().map(|one| Dependency {
                    required_by: Some(one.required_by.unwrap_or(name)),
                    ..*one
                }));
            }
        }
        if required.is_empty() {
            return Ok(());
        }
        self.select_dependencies(candidates, &required)
    }

    fn refuse_many(&mut self, candidate: &Candidate<'a, 's>) {
        let message = format!(
            "the selected bundles have more than {MAX_SOLVED_BUNDLES} different requirements: select fewer packages, or leave out `dependencies`"
        );
        let path = self.path(candidate, None);
        self.add(MirrorProblem::new(MirrorProblemCode::Config, path, message));
    }

    fn note_unmet(&mut self, candidate: &Candidate<'a, 's>, bundle: Bundle<'a>, why: &str) {
        let message = format!(
            "dependencies of bundle `{}` are not selected: {why}",
            bundle.name()
        );
        let path = self.path(candidate, None);
        let problem = MirrorProblem::new(MirrorProblemCode::UnmetDependency, path, message);
        self.add(problem.on_line(candidate.line()));
    }

    /// Returns what a bundle requires, directly or not.
    fn solve(&self, requiring: &RequiringBundle<'a>) -> Result<Solved<'a>, WorkStopped> {
        let own = requiring.bundle.package();
        let request = SolveRequest {
            namespaces: vec![CATALOG.to_owned()],
            subscriptions: vec![PackageSubscription {
                name: own.name().to_owned(),
                package: own.name().to_owned(),
                channel: requiring.channel.to_owned(),
                starting_csv: requiring.bundle.name().to_owned(),
                catalog: CATALOG.to_owned(),
                catalog_namespace: CATALOG.to_owned(),
                ..PackageSubscription::default()
            }],
            policy: SolvePolicy::OlmV0,
            ..SolveRequest::default()
        };
        let catalogs = [SourceCatalog {
            name: CATALOG,
            namespace: CATALOG,
            priority: 0,
            labels: None,
            catalog: self.catalog,
        }];
        let outcome = solve::solve(&request, &catalogs, MAX_DEPENDENCY_WORK, self.work)?;
        let solution = match outcome {
            SolveOutcome::Solution(solution) => solution,
            SolveOutcome::Conflict(conflict) => return Ok(Err(conflict.message)),
            SolveOutcome::Refusal(refusal) => return Ok(Err(refusal.message)),
        };
        let mut dependencies = Vec::new();
        for step in &solution.steps {
            let channel = step.placed.channel();
            let Some(package) = self.catalog.package(channel.package().name()) else {
                continue;
            };
            if package.place() == own.place() {
                continue;
            }
            let found = package.channel(channel.name());
            let bundle = package.bundle(step.placed.entry.name());
            let (Some(found), Some(bundle)) = (found, bundle) else {
                continue;
            };
            let by = step.reasons.iter().find_map(|reason| reason.required_by);
            let by = by
                .map(ChannelBundle::bundle)
                .filter(|by| by.package().place() != own.place());
            let required_by = by.and_then(|by| {
                let package = self.catalog.package(by.package().name())?;
                Some(package.bundle(by.name())?.name())
            });
            dependencies.push(Dependency {
                package,
                channel: found.name(),
                name: bundle.name(),
                required_by,
            });
        }
        Ok(Ok(dependencies))
    }

    /// Adds dependencies to the selected packages.
    fn select_dependencies(
        &mut self,
        candidates: &mut Vec<Candidate<'a, 's>>,
        required: &[Dependency<'a>],
    ) -> Result<(), WorkStopped> {
        let mut by_channel: HashMap<(usize, &str), Vec<Dependency<'a>>> = HashMap::new();
        for dependency in required {
            let key = (dependency.package.place(), dependency.channel);
            by_channel.entry(key).or_default().push(*dependency);
        }
        let mut groups: Vec<_> = by_channel.into_values().collect();
        groups.sort_unstable_by_key(|group| (group[0].package.place(), group[0].channel));
        for group in groups {
            let package = group[0].package;
            let known =
                |candidate: &Candidate<'_, '_>| candidate.package.place() == package.place();
            let at = candidates.iter().position(known).unwrap_or_else(|| {
                candidates.push(Candidate {
                    package,
                    selection: None,
                    channels: Vec::new(),
                    default_channel: String::new(),
                    compatible: None,
                    names: None,
                });
                candidates.len() - 1
            });
            self.select_in_channel(&mut candidates[at], &group)?;
        }
        candidates.sort_by_key(|candidate| candidate.package.place());
        Ok(())
    }

    /// Adds dependencies of one channel to a package.
    fn select_in_channel(
        &self,
        candidate: &mut Candidate<'a, 's>,
        group: &[Dependency<'a>],
    ) -> Result<(), WorkStopped> {
        let package = candidate.package;
        let Some(channel) = package.channel(group[0].channel) else {
            return Ok(());
        };
        let is_same = |one: &CandidateChannel<'_, '_>| one.channel.name() == channel.name();
        let known = candidate.channels.iter().position(is_same);
        let at = known.unwrap_or_else(|| {
            let line = candidate.line();
            candidate.channels.push(CandidateChannel {
                channel,
                selection: None,
                line,
                range: None,
                entries: None,
            });
            candidate.channels.len() - 1
        });

        let before = candidate.channels[at].entries.take().unwrap_or_default();
        let mut names: HashSet<&str> = before.iter().map(|entry| entry.name()).collect();
        let mut reasons = Vec::new();
        for dependency in group {
            names.insert(dependency.name);
            let reason = MirrorReason {
                kind: ReasonKind::RequiredBy,
                channel: Some(channel.name()),
                required_by: dependency.required_by,
            };
            reasons.push((dependency.name, reason));
        }
        // A channel that is no graph is judged as part of the catalog.
        if let Ok(graph) = ChannelGraph::new(channel, self.work)? {
            let connecting = graph.connecting(&names, self.work)?;
            for name in connecting.into_iter().flatten() {
                names.insert(name);
                let reason = MirrorReason {
                    kind: ReasonKind::OnTheWay,
                    channel: Some(channel.name()),
                    required_by: None,
                };
                reasons.push((name, reason));
            }
        }
        self.work.draw(Step::Edge, channel.entries().len())?;
        let entries = channel
            .entries()
            .filter(|entry| names.contains(entry.name()));
        candidate.channels[at].entries = Some(entries.collect());
        let all = candidate.names.get_or_insert_default();
        for (name, reason) in reasons {
            let own = all.entry(name).or_default();
            if !own.contains(&reason) {
                own.push(reason);
            }
        }
        candidate.channels.sort_by_key(|one| one.channel.name());
        if candidate.selection.is_none() && !self.selection.packages.is_empty() {
            candidate.default_channel = default_of(package, &candidate.channels).to_owned();
        }
        Ok(())
    }
}

/// Returns the selected bundles of a package, each in the first channel that selects it.
fn requiring_bundles<'a>(candidate: &Candidate<'a, '_>) -> Vec<RequiringBundle<'a>> {
    let mut seen = HashSet::new();
    let mut bundles = Vec::new();
    for one in &candidate.channels {
        for entry in one.entries.iter().flatten() {
            if let Some(bundle) = entry.bundle().filter(|_| seen.insert(entry.name())) {
                bundles.push(RequiringBundle {
                    bundle,
                    channel: one.channel.name(),
                });
            }
        }
    }
    bundles
}

/// Returns the properties with requirements of a bundle, as they are written; empty if it has none.
fn requirements(bundle: Bundle<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    for property in bundle.properties() {
        if !REQUIREMENT_TYPES.contains(&property.type_name()) {
            continue;
        }
        text.extend_from_slice(property.type_name().as_bytes());
        text.extend_from_slice(property.value().map_or(&[][..], |value| value.raw()));
        text.push(b'\n');
    }
    text
}
