//! `Query.solve`, `Solution`, `SolveConflict` and `SolveRefusal`.

use fbc::work::UNIT;
use fbc::{Bundle, Channel, Requirement};
use serde_json::Value;
use serving::{Served, Snapshot};
use solve::{
    ChannelBundle, Conflict, ConflictReason, InstalledOperator, OperatorProperty,
    PackageSubscription, PassedOverBundle, Relaxation, Solution, SolutionStep, SolveOutcome,
    SolvePolicy, SolveRefusal, SolveRequest, SourceCatalog, StepReason,
};

use super::resolve::selected;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{
    PassedOverBundleField, SolutionField, SolveConflictField, SolveConstraintField,
    SolveReasonField, SolveRefusalField, SolveRelaxationField, SolveStepField,
};
use crate::input::{
    self, InstalledOperatorInput, SolvePolicyInput, SolveRequestInput, WantedPackageInput,
};

/// Maximum work of one `solve`, in nanoseconds: the weight of the field.
const BUDGET: u64 = 50_000 * UNIT;

/// The same where the work of a request is not limited: about a minute.
const UNLIMITED_BUDGET: u64 = 60_000_000 * UNIT;

/// The namespace of all catalogs and operators: a request has one.
const NAMESPACE: &str = "olm";

/// A part of the outcome, with the catalogs of the request.
#[derive(Clone, Copy)]
struct InOutcome<'r, 'a, T> {
    served: &'r [&'a Served],
    item: T,
}

/// A step with its solution.
#[derive(Clone, Copy)]
struct StepInSolution<'r, 's> {
    solution: &'r Solution<'s>,
    step: &'r SolutionStep<'s>,
}

/// The type `SolveRefusal`.
struct SolveRefusalObject<'r> {
    code: &'static str,
    message: &'r str,
    bundle: Option<ChannelBundle<'r>>,
}

impl<'a> ResponseWriter<'a> {
    /// `Query.solve`.
    pub(super) fn solve(
        &mut self,
        snapshot: &'a Snapshot,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let request: SolveRequestInput<'_> =
            input::read(arguments(field).get("request")).expect("the argument is required");
        let names = request.catalogs.as_deref().unwrap_or_default();
        let served = selected(snapshot, names);
        // Only catalogs of the request count, so that the response depends on no other.
        let is_known = |name: &&str| served.iter().any(|served| served.name.as_str() == *name);
        let wanted = names
            .iter()
            .copied()
            .chain(request.wanted.iter().filter_map(|wanted| wanted.catalog));
        let mut refused = wanted.into_iter().find(|name| !is_known(name)).map(|name| {
            (
                "UNKNOWN_CATALOG",
                format!("cannot solve the request: it has no catalog `{name}`; see `catalogs`"),
            )
        });
        let read = solve_request(&request);
        if let (None, Err(message)) = (&refused, &read) {
            refused = Some(("INVALID_REQUEST", message.clone()));
        }
        if let Some((code, message)) = refused {
            let item = SolveRefusalObject {
                code,
                message: &message,
                bundle: None,
            };
            return self.object(
                InOutcome {
                    served: &served,
                    item: &item,
                },
                field,
            );
        }
        let catalogs: Vec<_> = served.iter().map(|served| source(served)).collect();
        let request = read.unwrap_or_default();
        // A command that executes one request on the user's machine sets no limit.
        let budget = if self.context.limits.work == u64::MAX {
            UNLIMITED_BUDGET
        } else {
            BUDGET
        };
        let outcome = solve::solve(&request, &catalogs, budget, self.work)?;
        let served = &*served;
        match &outcome {
            SolveOutcome::Solution(solution) => self.object(
                InOutcome {
                    served,
                    item: &**solution,
                },
                field,
            ),
            SolveOutcome::Conflict(conflict) => self.object(
                InOutcome {
                    served,
                    item: conflict,
                },
                field,
            ),
            SolveOutcome::Refusal(SolveRefusal {
                code,
                message,
                bundle,
            }) => {
                let item = SolveRefusalObject {
                    code: code.as_str(),
                    message,
                    bundle: *bundle,
                };
                self.object(
                    InOutcome {
                        served,
                        item: &item,
                    },
                    field,
                )
            }
        }
    }
}

fn source(served: &Served) -> SourceCatalog<'_> {
    let Served {
        name,
        metadata,
        content,
        ..
    } = served;
    SourceCatalog {
        name,
        namespace: NAMESPACE,
        priority: metadata.priority,
        labels: Some(&metadata.labels),
        catalog: &content.catalog,
    }
}

/// Converts a `SolveRequest` of the schema.
///
/// # Errors
/// The message of the refusal.
fn solve_request(request: &SolveRequestInput<'_>) -> Result<SolveRequest, String> {
    let policy = match request.policy {
        SolvePolicyInput::OlmV0 => SolvePolicy::OlmV0,
        SolvePolicyInput::OlmV1 => SolvePolicy::OlmV1,
    };
    let wanted = request
        .wanted
        .iter()
        .map(|wanted| subscription(wanted, policy));
    let installed = request.installed.iter().flatten().map(installed_operator);
    Ok(SolveRequest {
        namespaces: vec![NAMESPACE.to_owned()],
        subscriptions: wanted.collect::<Result<_, _>>()?,
        installed: installed.collect::<Result<_, _>>()?,
        policy,
        upgrade_strategy: None,
    })
}

fn subscription(
    wanted: &WantedPackageInput<'_>,
    policy: SolvePolicy,
) -> Result<PackageSubscription, String> {
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    let package = wanted.package_name.to_owned();
    let mut channels = wanted.channels.clone().unwrap_or_default();
    let is_v0 = policy == SolvePolicy::OlmV0;
    if is_v0 && channels.len() > 1 {
        return Err(format!(
            "cannot solve for several channels of `{package}`: OLM v0 follows one, or any"
        ));
    }
    let foreign: &[_] = if is_v0 {
        &[("version", wanted.version), ("selector", wanted.selector)]
    } else {
        &[("startingBundle", wanted.starting_bundle)]
    };
    if let Some((key, _)) = foreign.iter().find(|(_, value)| value.is_some()) {
        let other = if is_v0 { "OLM_V1" } else { "OLM_V0" };
        return Err(format!(
            "cannot solve for `{package}`: `{key}` is for the policy {other}"
        ));
    }
    let catalog = text(wanted.catalog);
    Ok(PackageSubscription {
        name: wanted.name.map_or_else(|| package.clone(), str::to_owned),
        package,
        channel: if is_v0 {
            channels.pop().unwrap_or_default().to_owned()
        } else {
            String::new()
        },
        channels: channels.into_iter().map(str::to_owned).collect(),
        version: text(wanted.version),
        selector: text(wanted.selector),
        catalog_namespace: if catalog.is_empty() {
            String::new()
        } else {
            NAMESPACE.to_owned()
        },
        catalog,
        starting_csv: text(wanted.starting_bundle),
        installed_csv: text(wanted.installed),
    })
}

fn installed_operator(installed: &InstalledOperatorInput<'_>) -> Result<InstalledOperator, String> {
    let property = |type_name: &str, value: &Value| {
        let value = serde_json::value::to_raw_value(value).map_err(|error| error.to_string())?;
        Ok::<_, String>(OperatorProperty {
            type_name: type_name.to_owned(),
            value,
        })
    };
    let stated = installed.properties.iter().flatten();
    let mut properties = stated
        .map(|stated| property(stated.r#type, &stated.value))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(package) = installed.package_name {
        let value = serde_json::json!({"packageName": package, "version": installed.version});
        properties.push(property("olm.package", &value)?);
    }
    Ok(InstalledOperator {
        name: installed.name.to_owned(),
        version: installed.version.to_owned(),
        properties: Some(properties),
        ..InstalledOperator::default()
    })
}

impl<'r, 'a, T> InOutcome<'r, 'a, T> {
    fn with<U>(&self, item: U) -> InOutcome<'r, 'a, U> {
        InOutcome {
            served: self.served,
            item,
        }
    }

    /// Returns a bundle with its catalog, which outlives the outcome.
    fn bundle(&self, placed: ChannelBundle<'_>) -> InCatalog<'a, Bundle<'a>> {
        let served = self.served[placed.catalog];
        InCatalog {
            served,
            item: served.content.catalog.bundle_at(placed.bundle().place()),
        }
    }

    fn channel(&self, placed: ChannelBundle<'_>) -> Option<InCatalog<'a, Channel<'a>>> {
        let bundle = self.bundle(placed);
        bundle
            .item
            .package()
            .channel(placed.channel().name())
            .map(|channel| bundle.with(channel))
    }
}

impl<'a> Object<'a> for InOutcome<'_, 'a, &Solution<'_>> {
    type Field = SolutionField;

    fn write(
        self,
        name: SolutionField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let solution = self.item;
        match name {
            SolutionField::Steps => {
                let steps = solution
                    .steps
                    .iter()
                    .map(|step| self.with(StepInSolution { solution, step }));
                return writer.object_list(steps, field);
            }
            SolutionField::Unchanged => writer.strings(solution.unchanged.iter().copied()),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InOutcome<'_, 'a, StepInSolution<'_, '_>> {
    type Field = SolveStepField;

    fn write(
        self,
        name: SolveStepField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let StepInSolution { solution, step } = self.item;
        match name {
            SolveStepField::Bundle => return writer.object(self.bundle(step.placed), field),
            SolveStepField::Channel => {
                return writer.optional_object(self.channel(step.placed), field);
            }
            SolveStepField::Action => writer.static_string(if step.is_upgrade {
                "UPGRADE"
            } else {
                "INSTALL"
            }),
            SolveStepField::Replaces => writer.optional_string(step.replaces),
            SolveStepField::Reasons => {
                return writer
                    .object_list(step.reasons.iter().map(|reason| self.with(reason)), field);
            }
            SolveStepField::PassedOver => {
                let Some(first) = writer.read_first(field, solve::MAX_PASSED_OVER)? else {
                    return Ok(());
                };
                let passed_over = solution.passed_over(step, first)?;
                return writer.object_list(passed_over.iter().map(|one| self.with(one)), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InOutcome<'_, 'a, &StepReason<'_>> {
    type Field = SolveReasonField;

    fn write(
        self,
        name: SolveReasonField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            SolveReasonField::Wanted => writer.optional_string(self.item.wanted),
            SolveReasonField::RequiredBy => {
                return writer.optional_object(
                    self.item.required_by.map(|bundle| self.bundle(bundle)),
                    field,
                );
            }
            SolveReasonField::RequiredByInstalled => {
                writer.optional_string(self.item.required_by_installed);
            }
            SolveReasonField::Requirement => {
                writer.optional_string(self.item.requirement.as_deref());
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InOutcome<'_, 'a, &PassedOverBundle<'_>> {
    type Field = PassedOverBundleField;

    fn write(
        self,
        name: PassedOverBundleField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PassedOverBundleField::Bundle => writer.object(self.bundle(self.item.placed), field),
            PassedOverBundleField::Constraints => writer.object_list(
                self.item.reasons.iter().map(|reason| self.with(reason)),
                field,
            ),
        }
    }
}

impl<'a> Object<'a> for InOutcome<'_, 'a, &Conflict<'_>> {
    type Field = SolveConflictField;

    fn write(
        self,
        name: SolveConflictField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            SolveConflictField::Message => writer.string(&self.item.message),
            SolveConflictField::Constraints => {
                return writer.object_list(
                    self.item.reasons.iter().map(|reason| self.with(reason)),
                    field,
                );
            }
            SolveConflictField::Relaxations => {
                return writer.object_list(
                    self.item.relaxations.iter().map(|one| self.with(one)),
                    field,
                );
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InOutcome<'_, 'a, &ConflictReason<'_>> {
    type Field = SolveConstraintField;

    fn write(
        self,
        name: SolveConstraintField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let reason = self.item;
        let bundle = reason.bundle.map(|bundle| self.bundle(bundle));
        match name {
            SolveConstraintField::Kind => writer.static_string(reason.kind.as_str()),
            SolveConstraintField::Text => writer.string(&reason.text(writer.work)?),
            SolveConstraintField::Bundle => return writer.optional_object(bundle, field),
            SolveConstraintField::Installed => writer.optional_string(reason.installed),
            SolveConstraintField::Wanted => writer.optional_string(reason.wanted),
            SolveConstraintField::Constraint => {
                let Some((bundle, number)) = bundle.zip(reason.requirement) else {
                    writer.null();
                    return Ok(());
                };
                let requirements: Vec<Requirement<'a>> = bundle.item.requirements();
                let Some(requirement) = requirements.get(number) else {
                    writer.null();
                    return Ok(());
                };
                return writer.constraint_of(bundle.with(requirement), field);
            }
            SolveConstraintField::Candidates => {
                let Some(first) = writer.read_first(field, solve::MAX_CANDIDATES)? else {
                    return Ok(());
                };
                let candidates = reason.candidates().take(first);
                return writer.object_list(candidates.map(|bundle| self.bundle(bundle)), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InOutcome<'_, 'a, &Relaxation<'_>> {
    type Field = SolveRelaxationField;

    fn write(
        self,
        name: SolveRelaxationField,
        _field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            SolveRelaxationField::Wanted => writer.string(self.item.wanted),
            SolveRelaxationField::IsSolvable => writer.boolean(self.item.is_solvable),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InOutcome<'_, 'a, &SolveRefusalObject<'_>> {
    type Field = SolveRefusalField;

    fn write(
        self,
        name: SolveRefusalField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            SolveRefusalField::Code => writer.static_string(self.item.code),
            SolveRefusalField::Message => writer.string(self.item.message),
            SolveRefusalField::Bundle => {
                return writer
                    .optional_object(self.item.bundle.map(|bundle| self.bundle(bundle)), field);
            }
        }
        Ok(())
    }
}
