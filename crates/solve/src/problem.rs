//! The problem as constraints on variables: what must be chosen, what needs what, and what excludes
//! what.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use fbc::work::Step;

use crate::answer::{PlacedBundle, RefusalCode, SolveRefusal};
use crate::facts::Api;
use crate::meter::{Halt, Meter};
use crate::request::{SolvePolicy, SolveRequest, SourceCatalog};
use crate::world::{CandidateSearch, EntryId, Pool, Source, World};

/// What can be chosen or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Entry(EntryId),
    Subscription(usize),
}

/// A constraint; variables are indexes in [`SolverProblem::variables`].
pub(crate) enum SolverConstraint<'a> {
    /// A subscription, or an installed operator without one, must be chosen.
    Mandatory(u32),
    /// Nothing serves a subscription: upstream's message.
    Nothing(u32, String),
    /// One of the candidates must be chosen, best first; of a subscription, or by a requirement.
    Dependency {
        variable: u32,
        requirement: Option<usize>,
        candidates: Rc<[u32]>,
    },
    /// A bundle must not be chosen.
    Deprecated(u32),
    /// An upgrade and the installed operator exclude one another.
    Replaces { variable: u32, installed: u32 },
    /// At most one bundle of a package.
    OneOfPackage { package: String, members: Vec<u32> },
    /// At most one provider of an API.
    OneOfApi { api: Api<'a>, members: Vec<u32> },
}

/// Variables and constraints, in the order of upstream.
pub(crate) struct SolverProblem<'a> {
    pub(crate) world: World<'a>,
    pub(crate) variables: Vec<Variable>,
    pub(crate) constraints: Vec<SolverConstraint<'a>>,
    /// The variables that must be chosen: installed operators, then subscriptions, by name.
    pub(crate) mandatory: Vec<u32>,
    /// Indexes of the dependencies of each variable, in order.
    pub(crate) dependencies: Vec<Vec<usize>>,
    /// For each entry that is an upgrade, the installed operator that it replaces.
    pub(crate) upgrades: HashMap<EntryId, EntryId>,
    /// Number of bundles named in all constraints.
    pub(crate) literals: usize,
    variable_of: HashMap<EntryId, u32>,
    waiting: VecDeque<EntryId>,
    faults: Vec<SolveRefusal<'a>>,
}

impl<'a> SolverProblem<'a> {
    /// Builds the problem of a request.
    ///
    /// # Errors
    /// If a limit is exceeded, or what must be considered is malformed.
    pub(crate) fn build(
        request: &'a SolveRequest,
        catalogs: &'a [SourceCatalog<'a>],
        search: CandidateSearch,
        meter: &Meter<'_>,
    ) -> Result<Self, Halt<'a>> {
        let mut problem = Self {
            world: World::new(request, catalogs, search),
            variables: Vec::new(),
            constraints: Vec::new(),
            mandatory: Vec::new(),
            dependencies: Vec::new(),
            upgrades: HashMap::new(),
            literals: 0,
            variable_of: HashMap::new(),
            waiting: VecDeque::new(),
            faults: Vec::new(),
        };
        problem.add_installed(meter)?;
        problem.add_subscriptions(meter)?;
        while let Some(entry) = problem.waiting.pop_front() {
            problem.add_requirements(entry, meter)?;
        }
        problem.add_unique(meter)?;
        problem.literals = meter.counted_literals();
        match combine(&mut problem.faults) {
            Some(refusal) => Err(Halt::Refused(Box::new(refusal))),
            None => Ok(problem),
        }
    }

    fn add_installed(&mut self, meter: &Meter<'_>) -> Result<(), Halt<'static>> {
        for id in self.world.installed.clone() {
            let variable = self.entry(id, meter)?;
            if matches!(
                self.world.entries[id].source,
                Source::Installed {
                    subscription: None,
                    ..
                }
            ) {
                self.require(variable);
            }
        }
        Ok(())
    }

    fn require(&mut self, variable: u32) {
        self.mandatory.push(variable);
        self.constraints.push(SolverConstraint::Mandatory(variable));
    }

    fn add_subscriptions(&mut self, meter: &Meter<'_>) -> Result<(), Halt<'static>> {
        let request = self.world.request;
        let mut order: Vec<usize> = (0..request.subscriptions.len()).collect();
        order.sort_by_key(|&at| &request.subscriptions[at].name);
        for at in order {
            let variable = self.variable(Variable::Subscription(at), meter)?;
            self.require(variable);
            let subscription = &request.subscriptions[at];
            let installed = Some(&*subscription.installed_csv).filter(|name| !name.is_empty());
            let installed = installed.and_then(|name| self.world.installed_named(name));
            match self.world.pool(subscription, installed, meter)? {
                Pool::Entries(pool) => self.add_choice(variable, &pool, installed, meter)?,
                Pool::Nothing(message) => self
                    .constraints
                    .push(SolverConstraint::Nothing(variable, message)),
                Pool::Unordered(message) => self.fault(RefusalCode::BadChannel, message, None),
                Pool::Invalid(message) => self.fault(RefusalCode::InvalidRequest, message, None),
            }
        }
        Ok(())
    }

    /// Lets a subscription choose one of a pool, or else what is installed.
    fn add_choice(
        &mut self,
        variable: u32,
        pool: &[EntryId],
        installed: Option<EntryId>,
        meter: &Meter<'_>,
    ) -> Result<(), Halt<'static>> {
        let mut candidates = pool
            .iter()
            .map(|&id| self.entry(id, meter))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(id) = installed {
            let installed = self.entry(id, meter)?;
            for (&upgrade, &variable) in pool.iter().zip(&candidates) {
                self.upgrades.insert(upgrade, id);
                self.constraints.push(SolverConstraint::Replaces {
                    variable,
                    installed,
                });
            }
            // OLM v1 follows the catalog whatever comes of it.
            if self.world.request.policy == SolvePolicy::OlmV0 || pool.is_empty() {
                candidates.push(installed);
            }
        }
        self.add_dependency(variable, None, candidates.into(), meter)
    }

    fn add_dependency(
        &mut self,
        variable: u32,
        requirement: Option<usize>,
        candidates: Rc<[u32]>,
        meter: &Meter<'_>,
    ) -> Result<(), Halt<'static>> {
        meter.literals(candidates.len() + 1)?;
        self.dependencies[variable as usize].push(self.constraints.len());
        self.constraints.push(SolverConstraint::Dependency {
            variable,
            requirement,
            candidates,
        });
        Ok(())
    }

    /// Adds what an entry requires.
    fn add_requirements(&mut self, id: EntryId, meter: &Meter<'_>) -> Result<(), Halt<'static>> {
        let variable = self.variable_of[&id];
        let facts = Rc::clone(&self.world.entries[id].facts);
        if facts.is_deprecated && self.world.request.policy == SolvePolicy::OlmV0 {
            self.constraints
                .push(SolverConstraint::Deprecated(variable));
        }
        let own = match self.world.entries[id].source {
            Source::Catalog { at, .. } if self.world.request.policy == SolvePolicy::OlmV0 => {
                Some(at)
            }
            _ => None,
        };
        for property in facts.requirements(meter)? {
            meter.draw(Step::JsonByte, property.value.len())?;
            let requirement = match self.world.requirement(property, meter)? {
                Ok(requirement) => requirement,
                Err(fault) => {
                    let code = if fault.is_limit {
                        RefusalCode::Limit
                    } else {
                        RefusalCode::BadRequirement
                    };
                    self.fault(code, fault.message, Some(id));
                    return Ok(());
                }
            };
            match self.world.candidates(requirement, own, meter)? {
                Ok(candidates) => {
                    let candidates = candidates.iter().map(|&id| self.entry(id, meter));
                    let candidates = candidates.collect::<Result<Rc<[u32]>, _>>()?;
                    self.add_dependency(variable, Some(requirement), candidates, meter)?;
                }
                Err(message) => self.fault(RefusalCode::BadChannel, message, Some(id)),
            }
        }
        Ok(())
    }

    /// Adds what can be chosen once: packages and providers of APIs.
    fn add_unique(&mut self, meter: &Meter<'_>) -> Result<(), Halt<'static>> {
        let mut packages = Groups::default();
        let mut apis = Groups::default();
        for (variable, at) in (0u32..).zip(&self.variables) {
            let Variable::Entry(id) = *at else { continue };
            let facts = &self.world.entries[id].facts;
            meter.literals(facts.stated_packages().len() + facts.apis.len())?;
            for package in facts.stated_packages() {
                packages.add(package.clone(), variable);
            }
            for api in &facts.apis {
                apis.add(api.clone(), variable);
            }
        }
        // Each member was counted once before.
        for (package, members) in packages.of_several() {
            meter.literals(members.len() * 2)?;
            self.constraints.push(SolverConstraint::OneOfPackage {
                package: package.into_owned(),
                members,
            });
        }
        for (api, members) in apis.of_several() {
            meter.literals(members.len() * 2)?;
            self.constraints
                .push(SolverConstraint::OneOfApi { api, members });
        }
        Ok(())
    }

    /// Returns the variable of an entry, whose requirements are added later.
    fn entry(&mut self, id: EntryId, meter: &Meter<'_>) -> Result<u32, Halt<'static>> {
        if let Some(&known) = self.variable_of.get(&id) {
            return Ok(known);
        }
        let variable = self.variable(Variable::Entry(id), meter)?;
        self.variable_of.insert(id, variable);
        self.waiting.push_back(id);
        Ok(variable)
    }

    fn variable(&mut self, variable: Variable, meter: &Meter<'_>) -> Result<u32, Halt<'static>> {
        meter.variable()?;
        let at = u32::try_from(self.variables.len()).expect("variables are limited");
        self.variables.push(variable);
        self.dependencies.push(Vec::new());
        Ok(at)
    }

    fn fault(&mut self, code: RefusalCode, message: String, entry: Option<EntryId>) {
        let bundle = entry.and_then(|id| self.placed(id));
        self.faults.push(SolveRefusal {
            code,
            message,
            bundle,
        });
    }

    /// Returns the bundle of an entry; `None` for an installed operator.
    pub(crate) fn placed(&self, id: EntryId) -> Option<PlacedBundle<'a>> {
        match self.world.entries[id].source {
            Source::Catalog { at, entry } => Some(PlacedBundle { catalog: at, entry }),
            Source::Installed { .. } => None,
        }
    }

    /// Returns the bundle of a variable; `None` for an installed operator and a subscription.
    pub(crate) fn placed_of(&self, variable: u32) -> Option<PlacedBundle<'a>> {
        self.entry_of(variable).and_then(|id| self.placed(id))
    }

    /// Returns what a dependency lets choose from, best first.
    pub(crate) fn candidates(&self, dependency: usize) -> &[u32] {
        match &self.constraints[dependency] {
            SolverConstraint::Dependency { candidates, .. } => candidates,
            _ => &[],
        }
    }

    /// Returns the requirement of a dependency; `None` for that of a subscription.
    pub(crate) fn requirement(&self, dependency: usize) -> Option<usize> {
        match &self.constraints[dependency] {
            SolverConstraint::Dependency { requirement, .. } => *requirement,
            _ => None,
        }
    }

    /// Returns the entry of a variable; `None` for a subscription.
    pub(crate) fn entry_of(&self, variable: u32) -> Option<EntryId> {
        match self.variables[variable as usize] {
            Variable::Entry(id) => Some(id),
            Variable::Subscription(_) => None,
        }
    }
}

/// Variables by what they have in common, in the order in which it was first seen.
struct Groups<K> {
    places: HashMap<K, usize>,
    groups: Vec<(K, Vec<u32>)>,
}

impl<K> Default for Groups<K> {
    fn default() -> Self {
        Self {
            places: HashMap::new(),
            groups: Vec::new(),
        }
    }
}

impl<K: Clone + Eq + std::hash::Hash> Groups<K> {
    /// Adds a variable; ascending, so that one that is added twice is found.
    fn add(&mut self, key: K, variable: u32) {
        let at = *self.places.entry(key.clone()).or_insert(self.groups.len());
        if at == self.groups.len() {
            self.groups.push((key, Vec::new()));
        }
        let members = &mut self.groups[at].1;
        if members.last() != Some(&variable) {
            members.push(variable);
        }
    }

    fn of_several(self) -> impl Iterator<Item = (K, Vec<u32>)> {
        self.groups
            .into_iter()
            .filter(|(_, members)| members.len() > 1)
    }
}

/// Combines faults as upstream does: one as it is, several in brackets, equal ones once.
fn combine<'a>(faults: &mut Vec<SolveRefusal<'a>>) -> Option<SolveRefusal<'a>> {
    let mut seen = HashSet::new();
    let messages: Vec<String> = faults
        .iter()
        .map(|fault| fault.message.clone())
        .filter(|message| seen.insert(message.clone()))
        .collect();
    let first = faults.drain(..).next()?;
    let message = match &messages[..] {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Some(SolveRefusal { message, ..first })
}
