//! The SAT problem of a request: variables for entries and subscriptions, and constraints on them.

use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use fbc::work::Step;

use crate::budget::SolveBudget;
use crate::channel_bundle::ChannelBundle;
use crate::error::{SolveError, SolveRefusal, SolveRefusalCode};
use crate::property::Gvk;
use crate::request::{SolvePolicy, SolveRequest, SourceCatalog};
use crate::universe::{CandidateSearch, CandidateSet, EntryId, EntryOrigin, Universe};

/// A variable of the SAT problem: an entry or a subscription, which is chosen or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variable {
    Entry(EntryId),
    Subscription(usize),
}

/// A constraint; variables are indexes in [`SolverProblem::variables`].
pub(crate) enum SolverConstraint<'a> {
    /// A subscription, or an installed operator without one, must be chosen.
    Mandatory(u32),
    /// No entry serves a subscription, with upstream's message.
    Nothing(u32, String),
    /// If the variable is chosen, one of the candidates must be, best first. The requirement is
    /// `None` for a subscription.
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
    OneOfApi { api: Gvk<'a>, members: Vec<u32> },
}

/// Variables and constraints, in the order of upstream.
pub(crate) struct SolverProblem<'a> {
    pub(crate) universe: Universe<'a>,
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
    /// Entries whose requirements are not added yet.
    queue: VecDeque<EntryId>,
    errors: Vec<SolveRefusal<'a>>,
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
        budget: &SolveBudget<'_>,
    ) -> Result<Self, SolveError<'a>> {
        let mut problem = Self {
            universe: Universe::new(request, catalogs, search),
            variables: Vec::new(),
            constraints: Vec::new(),
            mandatory: Vec::new(),
            dependencies: Vec::new(),
            upgrades: HashMap::new(),
            literals: 0,
            variable_of: HashMap::new(),
            queue: VecDeque::new(),
            errors: Vec::new(),
        };
        problem.add_installed(budget)?;
        problem.add_subscriptions(budget)?;
        while let Some(entry) = problem.queue.pop_front() {
            problem.add_requirements(entry, budget)?;
        }
        problem.add_unique(budget)?;
        problem.literals = budget.counted_literals();
        match combine(&mut problem.errors) {
            Some(refusal) => Err(SolveError::Refused(Box::new(refusal))),
            None => Ok(problem),
        }
    }

    fn add_installed(&mut self, budget: &SolveBudget<'_>) -> Result<(), SolveError<'static>> {
        for id in self.universe.installed.clone() {
            let variable = self.entry(id, budget)?;
            if matches!(
                self.universe.entries[id].source,
                EntryOrigin::Installed {
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

    fn add_subscriptions(&mut self, budget: &SolveBudget<'_>) -> Result<(), SolveError<'static>> {
        let request = self.universe.request;
        let mut order: Vec<usize> = (0..request.subscriptions.len()).collect();
        order.sort_by_key(|&at| &request.subscriptions[at].name);
        for at in order {
            let variable = self.variable(Variable::Subscription(at), budget)?;
            self.require(variable);
            let subscription = &request.subscriptions[at];
            let installed = Some(&*subscription.installed_csv).filter(|name| !name.is_empty());
            let installed = installed.and_then(|name| self.universe.installed_named(name));
            let candidates =
                self.universe
                    .subscription_candidates(subscription, installed, budget)?;
            match candidates {
                CandidateSet::Entries(entries) => {
                    self.add_choice(variable, &entries, installed, budget)?;
                }
                CandidateSet::Nothing(message) => self
                    .constraints
                    .push(SolverConstraint::Nothing(variable, message)),
                CandidateSet::Unordered(message) => {
                    self.add_error(SolveRefusalCode::BadChannel, message, None);
                }
                CandidateSet::Invalid(message) => {
                    self.add_error(SolveRefusalCode::InvalidRequest, message, None);
                }
            }
        }
        Ok(())
    }

    /// Adds the choice of a subscription: one of the entries, or else the installed operator.
    fn add_choice(
        &mut self,
        variable: u32,
        entries: &[EntryId],
        installed: Option<EntryId>,
        budget: &SolveBudget<'_>,
    ) -> Result<(), SolveError<'static>> {
        let mut candidates = entries
            .iter()
            .map(|&id| self.entry(id, budget))
            .collect::<Result<Vec<_>, _>>()?;
        if let Some(id) = installed {
            let installed = self.entry(id, budget)?;
            for (&upgrade, &variable) in entries.iter().zip(&candidates) {
                self.upgrades.insert(upgrade, id);
                self.constraints.push(SolverConstraint::Replaces {
                    variable,
                    installed,
                });
            }
            // OLM v1 upgrades without looking at dependencies: keeping the installed bundle is no
            // alternative.
            if self.universe.request.policy == SolvePolicy::OlmV0 || entries.is_empty() {
                candidates.push(installed);
            }
        }
        self.add_dependency(variable, None, candidates.into(), budget)
    }

    fn add_dependency(
        &mut self,
        variable: u32,
        requirement: Option<usize>,
        candidates: Rc<[u32]>,
        budget: &SolveBudget<'_>,
    ) -> Result<(), SolveError<'static>> {
        budget.literals(candidates.len() + 1)?;
        self.dependencies[variable as usize].push(self.constraints.len());
        self.constraints.push(SolverConstraint::Dependency {
            variable,
            requirement,
            candidates,
        });
        Ok(())
    }

    /// Adds the requirements of an entry.
    fn add_requirements(
        &mut self,
        id: EntryId,
        budget: &SolveBudget<'_>,
    ) -> Result<(), SolveError<'static>> {
        let variable = self.variable_of[&id];
        let properties = Rc::clone(&self.universe.entries[id].properties);
        if properties.is_deprecated && self.universe.request.policy == SolvePolicy::OlmV0 {
            self.constraints
                .push(SolverConstraint::Deprecated(variable));
        }
        // OLM v0 prefers dependencies from the catalog of the bundle. OLM v1 knows no such preference.
        let own = match self.universe.entries[id].source {
            EntryOrigin::Catalog { at, .. }
                if self.universe.request.policy == SolvePolicy::OlmV0 =>
            {
                Some(at)
            }
            _ => None,
        };
        for property in properties.requirements(budget)? {
            budget.draw(Step::JsonByte, property.value.len())?;
            let requirement = match self.universe.requirement(property, budget)? {
                Ok(requirement) => requirement,
                Err(error) => {
                    let code = if error.is_limit {
                        SolveRefusalCode::Limit
                    } else {
                        SolveRefusalCode::BadRequirement
                    };
                    self.add_error(code, error.message, Some(id));
                    return Ok(());
                }
            };
            match self
                .universe
                .requirement_candidates(requirement, own, budget)?
            {
                Ok(candidates) => {
                    let candidates = candidates.iter().map(|&id| self.entry(id, budget));
                    let candidates = candidates.collect::<Result<Rc<[u32]>, _>>()?;
                    self.add_dependency(variable, Some(requirement), candidates, budget)?;
                }
                Err(error) => {
                    self.add_error(SolveRefusalCode::BadChannel, error.to_string(), Some(id));
                }
            }
        }
        Ok(())
    }

    /// Adds the constraints that at most one bundle of a package and one provider of an API is chosen.
    fn add_unique(&mut self, budget: &SolveBudget<'_>) -> Result<(), SolveError<'static>> {
        let mut packages = Groups::default();
        let mut apis = Groups::default();
        for (variable, at) in (0u32..).zip(&self.variables) {
            let Variable::Entry(id) = *at else { continue };
            let properties = &self.universe.entries[id].properties;
            budget.literals(properties.stated_packages().len() + properties.apis.len())?;
            for package in properties.stated_packages() {
                packages.add(package.clone(), variable);
            }
            for api in &properties.apis {
                apis.add(api.clone(), variable);
            }
        }
        // Each member was counted once before.
        for (package, members) in packages.shared() {
            budget.literals(members.len() * 2)?;
            self.constraints.push(SolverConstraint::OneOfPackage {
                package: package.into_owned(),
                members,
            });
        }
        for (api, members) in apis.shared() {
            budget.literals(members.len() * 2)?;
            self.constraints
                .push(SolverConstraint::OneOfApi { api, members });
        }
        Ok(())
    }

    /// Returns the variable of an entry, and queues its requirements if it is new.
    fn entry(&mut self, id: EntryId, budget: &SolveBudget<'_>) -> Result<u32, SolveError<'static>> {
        if let Some(&known) = self.variable_of.get(&id) {
            return Ok(known);
        }
        let variable = self.variable(Variable::Entry(id), budget)?;
        self.variable_of.insert(id, variable);
        self.queue.push_back(id);
        Ok(variable)
    }

    fn variable(
        &mut self,
        variable: Variable,
        budget: &SolveBudget<'_>,
    ) -> Result<u32, SolveError<'static>> {
        budget.variable()?;
        let at = u32::try_from(self.variables.len()).expect("variables are limited");
        self.variables.push(variable);
        self.dependencies.push(Vec::new());
        Ok(at)
    }

    fn add_error(&mut self, code: SolveRefusalCode, message: String, entry: Option<EntryId>) {
        let bundle = entry.and_then(|id| self.bundle(id));
        self.errors.push(SolveRefusal {
            code,
            message,
            bundle,
        });
    }

    /// Returns the bundle of an entry; `None` for an installed operator.
    pub(crate) fn bundle(&self, id: EntryId) -> Option<ChannelBundle<'a>> {
        match self.universe.entries[id].source {
            EntryOrigin::Catalog { at, entry } => Some(ChannelBundle { catalog: at, entry }),
            EntryOrigin::Installed { .. } => None,
        }
    }

    /// Returns the bundle of a variable; `None` for an installed operator and a subscription.
    pub(crate) fn variable_bundle(&self, variable: u32) -> Option<ChannelBundle<'a>> {
        self.entry_of(variable).and_then(|id| self.bundle(id))
    }

    /// Returns the candidates of a dependency, best first.
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

/// Groups of variables with a common key, in the order in which the keys were added.
struct Groups<K> {
    positions: HashMap<K, usize>,
    groups: Vec<(K, Vec<u32>)>,
}

impl<K> Default for Groups<K> {
    fn default() -> Self {
        Self {
            positions: HashMap::new(),
            groups: Vec::new(),
        }
    }
}

impl<K: Clone + Eq + std::hash::Hash> Groups<K> {
    /// Adds a variable. They must be added in ascending order, so that duplicates are noticed.
    fn add(&mut self, key: K, variable: u32) {
        let at = *self
            .positions
            .entry(key.clone())
            .or_insert(self.groups.len());
        if at == self.groups.len() {
            self.groups.push((key, Vec::new()));
        }
        let members = &mut self.groups[at].1;
        if members.last() != Some(&variable) {
            members.push(variable);
        }
    }

    /// Returns the groups with several members.
    fn shared(self) -> impl Iterator<Item = (K, Vec<u32>)> {
        self.groups
            .into_iter()
            .filter(|(_, members)| members.len() > 1)
    }
}

/// Combines errors like upstream: several in brackets, without duplicates.
fn combine<'a>(errors: &mut Vec<SolveRefusal<'a>>) -> Option<SolveRefusal<'a>> {
    let mut seen = HashSet::new();
    let messages: Vec<String> = errors
        .iter()
        .map(|error| error.message.clone())
        .filter(|message| seen.insert(message.clone()))
        .collect();
    let first = errors.drain(..).next()?;
    let message = match &messages[..] {
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Some(SolveRefusal { message, ..first })
}
