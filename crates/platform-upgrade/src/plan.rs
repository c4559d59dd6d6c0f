//! Plans: a verdict for each installed bundle, what must be done, in which order, and what OLM says
//! of it at each step.

use std::fmt::Write as _;

use fbc::work::{Step, Work, WorkStopped};
use fbc::{Bundle, Package};
use fbc_grammar::version::VersionRelease;
use fbc_graph::graph::{Installed, Reason, upgrades_from};

use crate::limits::{BlockCause, SupportLimits};
use crate::max_openshift::{ConditionSubject, upgrade_condition};
use crate::request::{
    Approval, ClusterBundle, OlmRules, PlatformUpgradeError, PlatformUpgradeRequest,
};
use crate::route::{Route, StepBundle, WalkNode};
use crate::walk::{Arrival, MAX_STATES, State, Visit, Walk, WalkEnd};

/// Plan for a cluster.
#[derive(Clone)]
pub struct PlatformPlan<'a> {
    /// A plan for each installed bundle, in the order of the request.
    pub packages: Vec<PackagePlan<'a>>,
    /// For each step but the last, the message with which OLM blocks the step after it while what
    /// is installed is as it arrived; `None` when it allows it.
    pub conditions: Vec<Option<String>>,
    /// Moves and platform steps in their order, as far as no package blocks.
    pub order: Vec<PlanAction>,
    /// Index of the last step that every package with a known way reaches.
    pub reachable_step: usize,
}

/// Plan for an installed bundle.
#[derive(Clone)]
pub struct PackagePlan<'a> {
    /// Verdict on the installed bundle.
    pub verdict: UpgradeVerdict,
    /// Reasons for the verdict `UNKNOWN` or `BLOCKED`; empty otherwise.
    pub message: String,
    /// Block at which the way ends; `None` unless the verdict is `BLOCKED`.
    pub block: Option<Block<'a>>,
    /// Moves in their order; for a blocked bundle, those to the last step that it can reach.
    pub moves: Vec<PlanMove<'a>>,
    /// Name of the bundle at the end of the way.
    pub final_name: String,
    /// Version of that bundle; `None` if it is unknown.
    pub final_version: Option<&'a str>,
    /// That bundle; `None` when no catalog has it.
    pub final_bundle: Option<StepBundle<'a>>,
    /// Channel that the way ends in; `None` for every channel, or several.
    pub final_channel: Option<&'a str>,
    /// Steps that the bundle takes although no catalog says whether it runs on their platform.
    pub unconfirmed_steps: Vec<usize>,
    /// Indexes of the installed bundles that require this one, if it is a dependency.
    pub required_by: Vec<usize>,
}

/// Verdict on an installed bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UpgradeVerdict {
    /// It needs no upgrade.
    Stays,
    /// Upgrades in its channel suffice.
    Follows,
    /// At least one channel must be switched by hand.
    Switches,
    /// There is no way.
    Blocked,
    /// The catalogs do not tell.
    Unknown,
}

/// End of a way before the last step.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// Cause of the block.
    pub cause: BlockCause,
    /// Index of the step that cannot be taken.
    pub step: usize,
    /// Name of the bundle with the highest version that gets there.
    pub bundle: String,
    /// Its version; `None` if it is unknown.
    pub version: Option<&'a str>,
}

/// Something to do, or to wait for.
#[derive(Clone)]
pub struct PlanMove<'a> {
    /// Kind of the move.
    pub kind: MoveKind,
    /// When it is done.
    pub time: MoveTime,
    /// Index of the step whose catalogs have what it takes.
    pub step: usize,
    /// Name of the installed bundle.
    pub from: String,
    /// Version of the installed bundle; `None` if it is unknown.
    pub from_version: Option<&'a str>,
    /// Bundle to upgrade to; `None` for a switch.
    pub to: Option<StepBundle<'a>>,
    /// Channel that the package follows afterwards; `None` for every channel, or several.
    pub channel: Option<&'a str>,
    /// Approval of the upgrade.
    pub approval: Approval,
    /// Fields of the entry that allow the upgrade.
    pub reasons: Vec<Reason>,
    /// Block that the move avoids, with the step that the installed bundle would be barred from.
    pub forced_by: Option<(BlockCause, usize)>,
    /// The same for people.
    pub message: String,
}

/// Kind of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveKind {
    /// An upgrade of the bundle.
    Upgrade,
    /// A switch to another channel.
    Switch,
}

/// Time of a move: before or after the platform is upgraded to the step of this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveTime {
    /// Before it.
    Before(usize),
    /// After it.
    After(usize),
}

/// Item of the order of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanAction {
    /// A move of an installed bundle.
    Move {
        /// Index of the installed bundle.
        package: usize,
        /// Index of its move.
        index: usize,
    },
    /// The platform is upgraded to the step of this index.
    Platform(usize),
}

impl UpgradeVerdict {
    /// Returns the canonical spelling, such as `FOLLOWS`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stays => "STAYS",
            Self::Follows => "FOLLOWS",
            Self::Switches => "SWITCHES",
            Self::Blocked => "BLOCKED",
            Self::Unknown => "UNKNOWN",
        }
    }
}

impl PlatformPlan<'_> {
    /// Returns the verdict for the whole: the worst one, `STAYS` when nothing is installed.
    pub fn verdict(&self) -> UpgradeVerdict {
        let verdicts = self.packages.iter().map(|package| package.verdict);
        verdicts.max().unwrap_or(UpgradeVerdict::Stays)
    }
}

/// A plan with what is installed when each step is reached.
struct PlannedWay<'a> {
    plan: PackagePlan<'a>,
    /// Name and limits of what is installed on arrival at each step that is reached.
    arrivals: Vec<(String, SupportLimits)>,
    /// Index of the last step that is reached; `None` if it is unknown.
    reached: Option<usize>,
}

/// Makes a plan.
///
/// The inner result fails when the request is malformed or exceeds a limit.
///
/// # Errors
/// If the work was stopped.
pub fn plan<'a>(
    request: &PlatformUpgradeRequest<'a>,
    work: &Work<'_>,
) -> Result<Result<PlatformPlan<'a>, PlatformUpgradeError>, WorkStopped> {
    plan_within(request, MAX_STATES, work)
}

fn plan_within<'a>(
    request: &PlatformUpgradeRequest<'a>,
    max_states: usize,
    work: &Work<'_>,
) -> Result<Result<PlatformPlan<'a>, PlatformUpgradeError>, WorkStopped> {
    if let Err(error) = request.check() {
        return Ok(Err(error));
    }
    let mut ways = Vec::with_capacity(request.installed.len());
    for installed in &request.installed {
        let route = Route::new(request, installed, work)?;
        ways.push(planned_way(request, &route, max_states)?);
    }
    for (at, way) in ways.iter_mut().enumerate() {
        way.plan.required_by = required_by(request, at, work)?;
    }
    let last = request.steps.len() - 1;
    let reached = ways.iter().filter_map(|way| way.reached);
    let reachable_step = reached.min().unwrap_or(last);
    let conditions = (0..last)
        .map(|step| condition(request, &ways, step))
        .collect();
    let packages: Vec<_> = ways.into_iter().map(|way| way.plan).collect();
    Ok(Ok(PlatformPlan {
        order: order(&packages, reachable_step),
        packages,
        conditions,
        reachable_step,
    }))
}

/// Returns what OLM says at a step of what is installed on arrival there.
fn condition(
    request: &PlatformUpgradeRequest<'_>,
    ways: &[PlannedWay<'_>],
    step: usize,
) -> Option<String> {
    let current = request.steps[step].openshift()?;
    if request.steps[step + 1].openshift()? == current {
        return None;
    }
    let installed = request.installed.iter().zip(ways);
    let mut subjects: Vec<_> = installed
        .filter(|(installed, _)| installed.rules == OlmRules::V0)
        .filter_map(|(installed, way)| {
            let (name, limits) = way.arrivals.get(step).or(way.arrivals.last())?;
            Some(ConditionSubject {
                namespace: installed.namespace,
                name,
                max_openshift: limits.max_openshift.clone(),
            })
        })
        .collect();
    // The API server lists them in this order.
    subjects.sort_by_key(|subject| (subject.namespace, subject.name));
    upgrade_condition(current, &subjects)
}

/// Returns the order of all moves and steps up to the last step that is reachable.
fn order(packages: &[PackagePlan<'_>], reachable_step: usize) -> Vec<PlanAction> {
    let mut order = Vec::new();
    for step in 0..=reachable_step {
        if step > 0 {
            order.push(PlanAction::Platform(step));
        }
        for time in [MoveTime::After(step), MoveTime::Before(step + 1)] {
            for (package, plan) in packages.iter().enumerate() {
                let moves = plan.moves.iter().enumerate();
                let at_time = moves.filter(|(_, one)| one.time == time);
                order.extend(at_time.map(|(index, _)| PlanAction::Move { package, index }));
            }
        }
    }
    order
}

/// Plans the way of one installed bundle.
fn planned_way<'a>(
    request: &PlatformUpgradeRequest<'a>,
    route: &Route<'_, 'a>,
    max_states: usize,
) -> Result<PlannedWay<'a>, WorkStopped> {
    let installed = route.installed;
    let start = start_node(route)?;
    let arrivals = vec![(start.name.to_owned(), start.limits.clone())];
    let mut plan = PackagePlan {
        verdict: UpgradeVerdict::Unknown,
        message: String::new(),
        block: None,
        moves: Vec::new(),
        final_name: start.name.to_owned(),
        final_version: start.version_text,
        final_bundle: start.bundle,
        final_channel: single(&installed.channels),
        unconfirmed_steps: Vec::new(),
        required_by: Vec::new(),
    };
    if let Some(message) = unknown(request, route) {
        plan.message = message;
        return Ok(PlannedWay {
            plan,
            arrivals,
            reached: None,
        });
    }
    let mut walk = Walk::new(route, start, max_states);
    let end = match walk.run()? {
        WalkEnd::Reached(end) => end,
        WalkEnd::Blocked => {
            let (end, block) = block(&walk)?;
            plan.verdict = UpgradeVerdict::Blocked;
            plan.message = block_message(&walk, &block);
            plan.block = Some(Block {
                cause: block.cause,
                step: block.step,
                bundle: walk.nodes[block.state.node].name.to_owned(),
                version: walk.nodes[block.state.node].version_text,
            });
            end
        }
        WalkEnd::TooMany => {
            plan.message = format!(
                "cannot plan `{}`: there are more than {max_states} ways to upgrade it",
                installed.package
            );
            return Ok(PlannedWay {
                plan,
                arrivals,
                reached: None,
            });
        }
    };
    let way = way_to(&walk, end);
    plan.moves = moves(&walk, &way)?;
    if plan.block.is_none() {
        plan.verdict = verdict(&plan.moves);
    }
    let last = walk.visits[end].state;
    let node = &walk.nodes[last.node];
    node.name.clone_into(&mut plan.final_name);
    plan.final_version = node.version_text;
    plan.final_bundle = node.bundle;
    plan.final_channel = single(&route.channel_names(last.step, last.choice));
    let mut arrivals = arrivals;
    for &at in &way {
        let Visit { state, arrival, .. } = walk.visits[at];
        if arrival != Arrival::Platform {
            continue;
        }
        let node = &walk.nodes[state.node];
        arrivals.push((node.name.to_owned(), node.limits.clone()));
        let listed = route.listed(state.step, node)?;
        if !node
            .limits
            .says_something(route.places[state.step].step, listed)
        {
            plan.unconfirmed_steps.push(state.step);
        }
    }
    let reached = plan
        .block
        .as_ref()
        .map_or(last.step, |block| block.step - 1);
    Ok(PlannedWay {
        plan,
        arrivals,
        reached: Some(reached),
    })
}

fn verdict(moves: &[PlanMove<'_>]) -> UpgradeVerdict {
    if moves.is_empty() {
        UpgradeVerdict::Stays
    } else if moves.iter().any(|one| one.kind == MoveKind::Switch) {
        UpgradeVerdict::Switches
    } else {
        UpgradeVerdict::Follows
    }
}

/// Returns why nothing is known of an installed bundle.
fn unknown(request: &PlatformUpgradeRequest<'_>, route: &Route<'_, '_>) -> Option<String> {
    let package = route.installed.package;
    for step in &request.steps {
        let missing = step
            .catalogs
            .iter()
            .find(|catalog| catalog.content.is_none());
        if let Some(catalog) = missing {
            return Some(format!(
                "cannot plan `{package}`: catalog `{}` of {} is not served",
                catalog.name,
                step.platform_text()
            ));
        }
    }
    route.places[0].packages.is_empty().then(|| {
        format!(
            "cannot plan `{package}`: no catalog of {} has it",
            request.steps[0].platform_text()
        )
    })
}

/// Returns the only channel of several.
fn single<'a>(names: &[&'a str]) -> Option<&'a str> {
    match names {
        [name] => Some(name),
        _ => None,
    }
}

/// Returns what is installed now, as the catalogs of the first step know it.
fn start_node<'a>(route: &Route<'_, 'a>) -> Result<WalkNode<'a>, WorkStopped> {
    let ClusterBundle { name, version, .. } = *route.installed;
    let work = route.work;
    let found = route.places[0]
        .packages
        .iter()
        .find_map(|(catalog, package)| {
            let bundle = match (name, version) {
                (Some(name), _) => package.bundle(name),
                (None, version) => bundle_of_version(*package, version?, &route.installed.channels),
            };
            Some(StepBundle {
                step: 0,
                catalog: *catalog,
                bundle: bundle?,
            })
        });
    for (_, package) in &route.places[0].packages {
        work.draw(Step::Bundle, package.bundle_places().len())?;
    }
    let mut limits = match found {
        Some(found) => SupportLimits::of_bundle(found.bundle, work)?,
        None => SupportLimits::of_values(&[], work)?,
    };
    if let Some(values) = &route.installed.max_openshift {
        limits.max_openshift = SupportLimits::of_values(values, work)?.max_openshift;
    }
    let version_text = version.or_else(|| found?.bundle.version());
    let parsed = match (found, version) {
        (Some(found), None) => Installed::from_bundle(found.bundle).version,
        (_, Some(version)) => VersionRelease::parse(version, None).ok(),
        (None, None) => None,
    };
    Ok(WalkNode {
        name: name
            .or_else(|| Some(found?.bundle.name()))
            .or(version)
            .unwrap_or_default(),
        version_text,
        version: parsed,
        bundle: found,
        limits,
    })
}

/// Finds the bundle of a version, in one of these channels if it is there.
fn bundle_of_version<'a>(
    package: Package<'a>,
    version: &str,
    channels: &[&str],
) -> Option<Bundle<'a>> {
    let of_version = || {
        package
            .bundles()
            .filter(|bundle| bundle.version() == Some(version))
    };
    let is_in_channel = |bundle: &Bundle<'_>| {
        bundle
            .channel_entries()
            .any(|entry| channels.contains(&entry.channel().name()))
    };
    of_version()
        .find(is_in_channel)
        .or_else(|| of_version().next())
}

/// Returns the visits of a way, from its start.
fn way_to(walk: &Walk<'_, '_, '_>, end: usize) -> Vec<usize> {
    let mut way: Vec<_> = std::iter::successors(Some(end), |at| walk.visits[*at].parent).collect();
    way.reverse();
    way
}

/// A block that bars a state from a step.
struct StateBlock<'a> {
    cause: BlockCause,
    /// Index of the step that cannot be taken.
    step: usize,
    state: State<'a>,
}

/// Returns what bars a state when nothing is done any more; `None` if it reaches the last step.
fn block_ahead<'a>(
    walk: &Walk<'_, '_, 'a>,
    mut state: State<'a>,
) -> Result<Option<StateBlock<'a>>, WorkStopped> {
    let last = walk.route.places.len() - 1;
    loop {
        let step = state.step;
        if let Some(cause) = walk.detachment(state)? {
            return Ok(Some(StateBlock { cause, step, state }));
        }
        if step == last {
            return Ok(None);
        }
        if let Some(cause) = walk.barrier(state)? {
            let step = step + 1;
            return Ok(Some(StateBlock { cause, step, state }));
        }
        state.step += 1;
    }
}

/// Returns the cheapest visit to the step where a blocked walk ends, and what bars the highest
/// version there.
fn block<'a>(walk: &Walk<'_, '_, 'a>) -> Result<(usize, StateBlock<'a>), WorkStopped> {
    let mut end: Option<(usize, usize)> = None;
    let mut highest = 0;
    for &at in &walk.settled {
        let state = walk.visits[at].state;
        let Some(block) = block_ahead(walk, state)? else {
            continue;
        };
        // The step that bars it: one on which it is only detached counts as not reached.
        let rank = block.step;
        match end {
            Some((best, _)) if rank < best => {}
            Some((best, _)) if rank == best => {
                let is_nearer = state.step >= walk.visits[highest].state.step;
                if is_nearer && walk.is_higher(at, highest) {
                    highest = at;
                }
            }
            _ => {
                end = Some((rank, at));
                highest = at;
            }
        }
    }
    let (_, end) = end.unwrap_or_default();
    let state = walk.visits[highest].state;
    let block = block_ahead(walk, state)?.unwrap_or(StateBlock {
        cause: BlockCause::NoEdge,
        step: 1,
        state,
    });
    Ok((end, block))
}

/// Returns the moves of a way.
fn moves<'a>(walk: &Walk<'_, '_, 'a>, way: &[usize]) -> Result<Vec<PlanMove<'a>>, WorkStopped> {
    let route = walk.route;
    let mut moves = Vec::new();
    for pair in way.windows(2) {
        let [before, after] = [pair[0], pair[1]].map(|at| walk.visits[at]);
        let kind = match after.arrival {
            Arrival::Upgrade => MoveKind::Upgrade,
            Arrival::Switch => MoveKind::Switch,
            Arrival::Start | Arrival::Platform => continue,
        };
        let step = before.state.step;
        let time = match walk.detachment(before.state)? {
            None if step + 1 < route.places.len() => MoveTime::Before(step + 1),
            _ => MoveTime::After(step),
        };
        let from = &walk.nodes[before.state.node];
        let to = walk.nodes[after.state.node].bundle;
        let to = to.filter(|_| kind == MoveKind::Upgrade);
        let block = block_ahead(walk, before.state)?;
        let names = route.channel_names(step, after.state.choice);
        moves.push(PlanMove {
            kind,
            time,
            step,
            from: from.name.to_owned(),
            from_version: from.version_text,
            to,
            channel: single(&names),
            approval: route.installed.effective_approval(),
            reasons: match to {
                Some(to) => reasons(route, from, to, &names)?,
                None => Vec::new(),
            },
            forced_by: block.as_ref().map(|block| (block.cause, block.step)),
            message: block.map_or_else(String::new, |block| cause_text(walk, &block)),
        });
    }
    Ok(moves)
}

/// Returns the fields of the entries that allow an upgrade.
fn reasons(
    route: &Route<'_, '_>,
    from: &WalkNode<'_>,
    to: StepBundle<'_>,
    names: &[&str],
) -> Result<Vec<Reason>, WorkStopped> {
    let upgrades = upgrades_from(to.bundle.package(), &from.installed(), names, route.work)?;
    let upgrade = upgrades
        .iter()
        .find(|upgrade| upgrade.to == to.bundle.name());
    Ok(upgrade.map_or_else(Vec::new, |upgrade| upgrade.reasons.iter().collect()))
}

/// Describes what bars a bundle from a step, as part of a sentence.
fn cause_text<'a>(walk: &Walk<'_, '_, 'a>, block: &StateBlock<'a>) -> String {
    let route = walk.route;
    let node = &walk.nodes[block.state.node];
    let to = route.places[block.step].step;
    let name = node.name;
    let platform = to.platform_text();
    let package = route.installed.package;
    let catalogs = || {
        let names: Vec<_> = to.catalogs.iter().map(|catalog| catalog.name).collect();
        names.join(", ")
    };
    let channel = || {
        let names = route.channel_names(block.step, block.state.choice);
        names.join(", ")
    };
    let mut text = String::new();
    let written = match block.cause {
        BlockCause::InvalidMaxOpenshift => {
            let error = node.limits.max_openshift.as_ref().err();
            let error = error.map(ToString::to_string).unwrap_or_default();
            write!(
                text,
                "{name} has an invalid olm.maxOpenShiftVersion: {error}"
            )
        }
        BlockCause::MaxOpenshift => {
            let max = node.limits.max_openshift.as_ref().ok().copied().flatten();
            let max = max.map(|max| max.to_string()).unwrap_or_default();
            write!(
                text,
                "{name} supports OpenShift up to {max}, not {platform}"
            )
        }
        BlockCause::LifeCycle => {
            write!(text, "the life cycle of {name} does not list {platform}")
        }
        BlockCause::MinKubernetes | BlockCause::MaxKubernetes => {
            let (word, version) = if block.cause == BlockCause::MinKubernetes {
                ("needs at least", node.limits.min_kubernetes)
            } else {
                ("supports at most", node.limits.max_kubernetes)
            };
            let [version, has] = [version, to.kubernetes()].map(|version| {
                version
                    .map(|version| version.to_string())
                    .unwrap_or_default()
            });
            write!(
                text,
                "{name} {word} Kubernetes {version}, and {platform} has {has}"
            )
        }
        BlockCause::PackageGone => write!(
            text,
            "no catalog of {platform} ({}) has the package {package}",
            catalogs()
        ),
        BlockCause::ChannelGone => write!(
            text,
            "{package} has no channel {} in the catalogs of {platform} ({})",
            channel(),
            catalogs()
        ),
        BlockCause::NoEdge => write!(
            text,
            "channel {} in the catalogs of {platform} ({}) neither has {name} nor an upgrade from it",
            channel(),
            catalogs()
        ),
    };
    written.expect("a string takes all text");
    text
}

/// Describes why a way ends.
fn block_message<'a>(walk: &Walk<'_, '_, 'a>, block: &StateBlock<'a>) -> String {
    let text = cause_text(walk, block);
    match block.cause {
        BlockCause::MaxOpenshift | BlockCause::InvalidMaxOpenshift | BlockCause::LifeCycle => {
            let from = walk.route.places[block.step - 1].step;
            // Bundles for other architectures are left out.
            let architecture = from.platform.architecture;
            let only = architecture.map_or(String::new(), |name| format!(" for {name}"));
            format!(
                "{text}; no version{only} that can be reached on {} does: the vendor must publish one in a catalog of that version",
                from.platform_text()
            )
        }
        BlockCause::ChannelGone | BlockCause::NoEdge => {
            format!("{text}; no other channel leads on")
        }
        BlockCause::MinKubernetes | BlockCause::MaxKubernetes | BlockCause::PackageGone => text,
    }
}

/// Returns the installed bundles that require a dependency: its package, or an API that it provides.
fn required_by(
    request: &PlatformUpgradeRequest<'_>,
    at: usize,
    work: &Work<'_>,
) -> Result<Vec<usize>, WorkStopped> {
    let dependency = &request.installed[at];
    if !dependency.is_dependency {
        return Ok(Vec::new());
    }
    let bundle_of = |installed: &ClusterBundle<'_>| {
        let catalogs = request.steps[0].catalogs.iter();
        let mut packages =
            catalogs.filter_map(|catalog| catalog.content?.package(installed.package));
        packages.find_map(|package| match (installed.name, installed.version) {
            (Some(name), _) => package.bundle(name),
            (None, version) => bundle_of_version(package, version?, &installed.channels),
        })
    };
    let provided: Vec<_> = bundle_of(dependency)
        .into_iter()
        .flat_map(Bundle::provided_apis)
        .collect();
    let mut requiring = Vec::new();
    for (other, installed) in request.installed.iter().enumerate() {
        work.draw(Step::Comparison, 10)?;
        let Some(bundle) = bundle_of(installed).filter(|_| other != at) else {
            continue;
        };
        work.draw(Step::Comparison, bundle.properties().len())?;
        let needs_package = bundle
            .required_packages()
            .any(|required| required.package == dependency.package);
        if needs_package || bundle.required_apis().any(|api| provided.contains(&api)) {
            requiring.push(other);
        }
    }
    Ok(requiring)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fbc::Platform;
    use testing::fixture::catalog;

    use super::*;
    use crate::request::{PlatformStep, StepCatalog};

    #[test]
    fn a_walk_with_more_states_than_the_limit_is_unknown() {
        let content = catalog("package p default=a\nchannel a: v1.0.0 <- v1.1.0 <- v1.2.0");
        let labels = BTreeMap::new();
        let step = |version: &str| PlatformStep {
            platform: Platform {
                openshift: version.parse().ok(),
                ..Platform::default()
            },
            catalogs: vec![StepCatalog {
                name: "c",
                priority: 0,
                labels: &labels,
                content: Some(&content),
            }],
        };
        let request = PlatformUpgradeRequest {
            steps: vec![step("4.16"), step("4.17")],
            installed: vec![ClusterBundle {
                package: "p",
                name: Some("p.v1.0.0"),
                max_openshift: Some(vec!["4.16"]),
                ..ClusterBundle::default()
            }],
        };
        let planned = |max_states| {
            let plan = plan_within(&request, max_states, &Work::unlimited());
            let mut plan = plan.expect("the work is not limited").expect("it is valid");
            let plan = plan.packages.remove(0);
            (plan.verdict, plan.message)
        };
        assert_eq!(planned(3), (UpgradeVerdict::Follows, String::new()));
        assert_eq!(
            planned(2),
            (
                UpgradeVerdict::Unknown,
                "cannot plan `p`: there are more than 2 ways to upgrade it".to_owned()
            )
        );
    }
}
