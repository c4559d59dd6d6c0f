//! The walk of one installed bundle over the states (step, bundle, channel).
//!
//! A state goes on by the platform, which costs nothing and needs a bundle that runs on the next
//! version and that the catalogs of its own step lead on from; by the upgrade within the channel that
//! OLM makes; or by a switch to another channel. The cheapest way has the fewest switches, then the
//! fewest approvals, then the fewest upgrades. Of equal ways, it is the one to the highest version,
//! and then the one with the earliest upgrades.
//!
//! States are expanded by levels of cost: the upgrades of a level are not looked at when one of its
//! states already reached the last step.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fbc::work::{Step, WorkStopped};
use hashbrown::{HashMap, HashSet};

use crate::limits::BlockCause;
use crate::request::Approval;
use crate::route::{ChannelChoice, Route, StepBundle, WalkNode};

/// Maximum number of states of the walk of one installed bundle.
pub const MAX_STATES: usize = 100_000;

/// Number of bundles that a state is charged as.
const STATE_PRICE: usize = 20;

/// A state: a step, what is installed, and the channel that it follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State<'a> {
    pub(crate) step: usize,
    /// Index of the bundle among the nodes.
    pub(crate) node: usize,
    pub(crate) choice: ChannelChoice<'a>,
}

/// Cost of a way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WayCost {
    pub(crate) switches: u32,
    pub(crate) approvals: u32,
    pub(crate) upgrades: u32,
}

/// Move by which a state was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// It is the present state.
    Start,
    /// The platform went a step further.
    Platform,
    /// The bundle was upgraded.
    Upgrade,
    /// The channel was switched.
    Switch,
}

/// A way to a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visit<'a> {
    pub(crate) state: State<'a>,
    pub(crate) cost: WayCost,
    /// Sum of the steps of upgrades and switches.
    lateness: usize,
    /// Index of the visit before it.
    pub(crate) parent: Option<usize>,
    pub(crate) arrival: Arrival,
}

/// End of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WalkEnd {
    /// The last step is reached at this visit.
    Reached(usize),
    /// No state reaches the last step.
    Blocked,
    /// There are more than [`MAX_STATES`].
    TooMany,
}

/// A walk, with what it found.
pub(crate) struct Walk<'w, 'r, 'a> {
    pub(crate) route: &'w Route<'r, 'a>,
    pub(crate) nodes: Vec<WalkNode<'a>>,
    /// Index of the node of a bundle, by the address of its catalog and its place in it.
    node_ids: HashMap<(usize, usize), usize>,
    pub(crate) visits: Vec<Visit<'a>>,
    /// Visits whose states were settled, in that order.
    pub(crate) settled: Vec<usize>,
    /// Their states.
    settled_states: HashSet<State<'a>>,
    queue: BinaryHeap<Reverse<(WayCost, usize, usize)>>,
    max_states: usize,
}

impl<'w, 'r, 'a> Walk<'w, 'r, 'a> {
    /// Begins at what is installed.
    pub(crate) fn new(route: &'w Route<'r, 'a>, start: WalkNode<'a>, max_states: usize) -> Self {
        let mut walk = Self {
            route,
            nodes: vec![start],
            node_ids: HashMap::new(),
            visits: Vec::new(),
            settled: Vec::new(),
            settled_states: HashSet::new(),
            queue: BinaryHeap::new(),
            max_states,
        };
        walk.push(Visit {
            state: State {
                step: 0,
                node: 0,
                choice: ChannelChoice::Given,
            },
            cost: WayCost::default(),
            lateness: 0,
            parent: None,
            arrival: Arrival::Start,
        });
        walk
    }

    /// Walks to the end.
    pub(crate) fn run(&mut self) -> Result<WalkEnd, WorkStopped> {
        let last = self.route.places.len() - 1;
        let mut level_cost = WayCost::default();
        let mut level = Vec::new();
        let mut goals = Vec::new();
        loop {
            if self.visits.len() > self.max_states {
                return Ok(WalkEnd::TooMany);
            }
            match self.queue.peek() {
                Some(Reverse((cost, ..))) if *cost == level_cost => {}
                _ => {
                    if let Some(best) = self.best(&goals) {
                        return Ok(WalkEnd::Reached(best));
                    }
                    for visit in level.drain(..) {
                        self.expand(visit)?;
                        if self.visits.len() > self.max_states {
                            return Ok(WalkEnd::TooMany);
                        }
                    }
                    match self.queue.peek() {
                        Some(Reverse((cost, ..))) => level_cost = *cost,
                        None => return Ok(WalkEnd::Blocked),
                    }
                }
            }
            let Some(Reverse((_, _, at))) = self.queue.pop() else {
                continue;
            };
            let state = self.visits[at].state;
            if !self.settled_states.insert(state) {
                continue;
            }
            self.route.work.draw(Step::Bundle, STATE_PRICE)?;
            self.settled.push(at);
            level.push(at);
            if self.detachment(state)?.is_some() {
                continue;
            }
            if state.step == last {
                goals.push(at);
            } else if self.barrier(state)?.is_none() {
                self.push(Visit {
                    state: State {
                        step: state.step + 1,
                        ..state
                    },
                    parent: Some(at),
                    arrival: Arrival::Platform,
                    ..self.visits[at]
                });
            }
        }
    }

    /// Returns the goal with the highest version, then the one with the earliest upgrades.
    fn best(&self, goals: &[usize]) -> Option<usize> {
        let mut best: Option<usize> = None;
        for &goal in goals {
            // Goals come earliest upgrades first, so that only a higher version is better.
            if best.is_none_or(|best| self.is_higher(goal, best)) {
                best = Some(goal);
            }
        }
        best
    }

    /// Returns whether the bundle of a visit has a higher version than that of another.
    pub(crate) fn is_higher(&self, one: usize, other: usize) -> bool {
        let version = |visit: usize| self.nodes[self.visits[visit].state.node].version;
        match (version(one), version(other)) {
            (Some(one), Some(other)) => one.precedence(&other).is_gt(),
            (one, other) => one.is_some() && other.is_none(),
        }
    }

    /// Returns what is wrong with the catalogs of the state's step. The first step is as it is.
    pub(crate) fn detachment(&self, state: State<'a>) -> Result<Option<BlockCause>, WorkStopped> {
        if state.step == 0 {
            return Ok(None);
        }
        self.route
            .detachment(state.step, state.choice, &self.nodes[state.node])
    }

    /// Returns what bars the bundle of a state from the next version of the platform.
    pub(crate) fn barrier(&self, state: State<'a>) -> Result<Option<BlockCause>, WorkStopped> {
        let node = &self.nodes[state.node];
        let listed = self.route.listed(state.step + 1, node)?;
        let [from, to] = [state.step, state.step + 1].map(|at| self.route.places[at].step);
        Ok(node.limits.barrier(from, to, listed))
    }

    /// Queues the upgrades and switches of a state.
    fn expand(&mut self, at: usize) -> Result<(), WorkStopped> {
        let Visit {
            state,
            cost,
            lateness,
            ..
        } = self.visits[at];
        let route = self.route;
        let node = &self.nodes[state.node];
        let target = route.upgrade(state.step, state.choice, node)?;
        let switches = route.switches(state.step, state.choice, node)?;
        let is_manual = route.installed.effective_approval() == Approval::Manual;
        let moved = |state, cost, arrival| Visit {
            state,
            cost,
            lateness: lateness + state.step,
            parent: Some(at),
            arrival,
        };
        if let Some(target) = target {
            let node = self.node(target)?;
            let cost = WayCost {
                approvals: cost.approvals + u32::from(is_manual),
                upgrades: cost.upgrades + 1,
                ..cost
            };
            self.push(moved(State { node, ..state }, cost, Arrival::Upgrade));
        }
        for name in switches {
            let choice = ChannelChoice::Switched(name);
            let cost = WayCost {
                switches: cost.switches + 1,
                ..cost
            };
            self.push(moved(State { choice, ..state }, cost, Arrival::Switch));
        }
        Ok(())
    }

    fn push(&mut self, visit: Visit<'a>) {
        if self.settled_states.contains(&visit.state) {
            return;
        }
        self.queue
            .push(Reverse((visit.cost, visit.lateness, self.visits.len())));
        self.visits.push(visit);
    }

    /// Returns the node of a bundle of a step.
    fn node(&mut self, target: StepBundle<'a>) -> Result<usize, WorkStopped> {
        let content = self.route.places[target.step].step.catalogs[target.catalog].content;
        let address = content.map_or(0, |content| std::ptr::from_ref(content).addr());
        let key = (address, target.bundle.place());
        if let Some(&node) = self.node_ids.get(&key) {
            return Ok(node);
        }
        self.nodes
            .push(WalkNode::of_target(target, self.route.work)?);
        let node = self.nodes.len() - 1;
        self.node_ids.insert(key, node);
        Ok(node)
    }
}
