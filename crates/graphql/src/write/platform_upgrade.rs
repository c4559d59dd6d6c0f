//! `Query.platformUpgrade`: plans across versions of the platform.

use std::collections::BTreeMap;

use fbc::Bundle;
use fbc::work::Step;
use fbc_graph::graph::Reason;
use platform_upgrade::{
    Approval, Block, ClusterBundle, MAX_OPENSHIFT_PROPERTY, MoveKind, MoveTime, OlmRules,
    PackagePlan, PlanAction, PlanMove, PlatformPlan, PlatformStep, PlatformUpgradeRequest,
    StepBundle, StepCatalog, plan,
};
use serving::{Served, Snapshot};

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{
    PackageUpgradeField, PlatformUpgradeActionField, PlatformUpgradeField,
    PlatformUpgradeStepField, UpgradeBlockField, UpgradeMoveField,
};
use crate::filter;
use crate::input::{
    self, ClusterBundleInput, OlmRulesInput, PlatformStepInput, PlatformUpgradeInput,
    UpgradeApprovalInput,
};

/// Labels of a catalog that is not served.
static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

/// A plan with its request, and the catalogs that are served for it.
#[derive(Clone, Copy)]
struct InPlan<'r, 'a, 'p, T> {
    served: &'r [Vec<Option<&'a Served>>],
    request: &'r PlatformUpgradeRequest<'p>,
    plan: &'r PlatformPlan<'p>,
    item: T,
}

/// The type `PlatformUpgradeStep`, by its index.
#[derive(Clone, Copy)]
struct StepIndex(usize);

/// The type `PackageUpgrade`, by its index.
#[derive(Clone, Copy)]
struct PackageIndex(usize);

impl<'a> ResponseWriter<'a> {
    /// `Query.platformUpgrade`.
    pub(super) fn platform_upgrade(
        &mut self,
        snapshot: &'a Snapshot,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let input: PlatformUpgradeInput<'_> =
            input::read(arguments(field).get("input")).expect("the argument is required");
        let served: Vec<Vec<Option<&'a Served>>> = input
            .steps
            .iter()
            .map(|step| {
                let names = step.catalogs.iter();
                names
                    .map(|name| snapshot.get(name).map(|served| &**served))
                    .collect()
            })
            .collect();
        let catalogs: usize = input.steps.iter().map(|step| step.catalogs.len()).sum();
        self.work.draw(Step::Comparison, catalogs)?;
        let values = max_openshift_values(&input.installed);
        let steps: Result<Vec<_>, _> = input
            .steps
            .iter()
            .zip(&served)
            .enumerate()
            .map(|(at, (step, served))| {
                platform_step(step, served)
                    .map_err(|error| format!("`steps[{at}].platform` is malformed: {error}"))
            })
            .collect();
        let steps = match steps {
            Ok(steps) => steps,
            Err(message) => return self.bad_user_input(field, message),
        };
        let installed = input.installed.iter().zip(&values);
        let request = PlatformUpgradeRequest {
            steps,
            installed: installed
                .map(|(installed, values)| cluster_bundle(installed, values.as_deref()))
                .collect(),
        };
        match plan(&request, self.work)? {
            Ok(plan) => self.object(
                InPlan {
                    served: &served,
                    request: &request,
                    plan: &plan,
                    item: &plan,
                },
                field,
            ),
            Err(error) => self.bad_user_input(field, error.to_string()),
        }
    }
}

/// Returns the JSON values of the properties `olm.maxOpenShiftVersion` of each bundle; `None` where
/// no properties are given.
fn max_openshift_values(installed: &[ClusterBundleInput<'_>]) -> Vec<Option<Vec<String>>> {
    let values = installed.iter().map(|installed| {
        let properties = installed.properties.as_ref()?.iter();
        let limits = properties.filter(|property| property.r#type == MAX_OPENSHIFT_PROPERTY);
        Some(limits.map(|property| property.value.to_string()).collect())
    });
    values.collect()
}

fn platform_step<'p>(
    step: &PlatformStepInput<'p>,
    served: &[Option<&'p Served>],
) -> Result<PlatformStep<'p>, fbc::PlatformVersionError> {
    let catalogs = step.catalogs.iter().zip(served).map(|(name, served)| {
        let (priority, labels, content) = match served {
            Some(served) => (
                served.metadata.priority,
                &served.metadata.labels,
                Some(&served.content.catalog),
            ),
            None => (0, &NO_LABELS, None),
        };
        StepCatalog {
            name,
            priority,
            labels,
            content: content.map(|content| &**content),
        }
    });
    Ok(PlatformStep {
        platform: filter::platform(Some(step.platform))?.unwrap_or_default(),
        catalogs: catalogs.collect(),
    })
}

fn cluster_bundle<'p>(
    installed: &ClusterBundleInput<'p>,
    max_openshift: Option<&'p [String]>,
) -> ClusterBundle<'p> {
    let given = |text: Option<&'p str>| text.filter(|text| !text.is_empty());
    ClusterBundle {
        package: installed.package_name,
        name: given(installed.name),
        version: given(installed.version),
        namespace: installed.namespace.unwrap_or_default(),
        channels: installed.channels.clone().unwrap_or_default(),
        catalog: given(installed.catalog),
        version_range: installed.version_range.unwrap_or_default(),
        approval: match installed.approval {
            UpgradeApprovalInput::Automatic => Approval::Automatic,
            UpgradeApprovalInput::Manual => Approval::Manual,
        },
        rules: match installed.olm {
            OlmRulesInput::V0 => OlmRules::V0,
            OlmRulesInput::V1 => OlmRules::V1,
        },
        max_openshift: max_openshift.map(|values| values.iter().map(String::as_str).collect()),
        is_dependency: installed.dependency,
    }
}

impl<'r, 'a, 'p, T> InPlan<'r, 'a, 'p, T> {
    fn with<U>(&self, item: U) -> InPlan<'r, 'a, 'p, U> {
        InPlan {
            served: self.served,
            request: self.request,
            plan: self.plan,
            item,
        }
    }

    /// Returns a bundle with its catalog, which outlives the plan.
    fn bundle(&self, placed: StepBundle<'_>) -> Option<InCatalog<'a, Bundle<'a>>> {
        let served = self.served[placed.step][placed.catalog]?;
        Some(InCatalog {
            served,
            item: served.content.catalog.bundle_at(placed.bundle.place()),
        })
    }
}

impl<'a> Object<'a> for InPlan<'_, 'a, '_, &PlatformPlan<'_>> {
    type Field = PlatformUpgradeField;

    fn write(
        self,
        name: PlatformUpgradeField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PlatformUpgradeField::Verdict => {
                writer.static_string(self.plan.verdict().as_str());
                Ok(())
            }
            PlatformUpgradeField::Steps => {
                let steps = 0..self.request.steps.len();
                writer.object_list(steps.map(|step| self.with(StepIndex(step))), field)
            }
            PlatformUpgradeField::Packages => {
                let packages = 0..self.plan.packages.len();
                writer.object_list(packages.map(|at| self.with(PackageIndex(at))), field)
            }
            PlatformUpgradeField::ReachableStep => {
                writer.count(self.plan.reachable_step);
                Ok(())
            }
            PlatformUpgradeField::Order => {
                let order = self.plan.order.iter();
                writer.object_list(order.map(|action| self.with(*action)), field)
            }
        }
    }
}

impl<'a> Object<'a> for InPlan<'_, 'a, '_, StepIndex> {
    type Field = PlatformUpgradeStepField;

    fn write(
        self,
        name: PlatformUpgradeStepField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let StepIndex(at) = self.item;
        let step = &self.request.steps[at];
        match name {
            PlatformUpgradeStepField::Platform => writer.string(&step.platform_text()),
            PlatformUpgradeStepField::Catalogs => {
                writer.strings(step.catalogs.iter().map(|catalog| catalog.name));
            }
            PlatformUpgradeStepField::Condition => {
                let condition = self.plan.conditions.get(at);
                writer.optional_string(condition.and_then(|condition| condition.as_deref()));
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InPlan<'_, 'a, '_, PackageIndex> {
    type Field = PackageUpgradeField;

    fn write(
        self,
        name: PackageUpgradeField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let PackageIndex(at) = self.item;
        let plan: &PackagePlan<'_> = &self.plan.packages[at];
        let installed = &self.request.installed[at];
        match name {
            PackageUpgradeField::Index => writer.count(at),
            PackageUpgradeField::PackageName => writer.string(installed.package),
            PackageUpgradeField::Namespace => {
                writer.optional_string(Some(installed.namespace).filter(|name| !name.is_empty()));
            }
            PackageUpgradeField::Verdict => writer.static_string(plan.verdict.as_str()),
            PackageUpgradeField::Message => {
                writer.optional_string(Some(&*plan.message).filter(|text| !text.is_empty()));
            }
            PackageUpgradeField::Block => {
                return writer
                    .optional_object(plan.block.as_ref().map(|block| self.with(block)), field);
            }
            PackageUpgradeField::Moves => {
                return writer.object_list(plan.moves.iter().map(|one| self.with(one)), field);
            }
            PackageUpgradeField::FinalName => writer.string(&plan.final_name),
            PackageUpgradeField::FinalVersion => writer.optional_string(plan.final_version),
            PackageUpgradeField::FinalBundle => {
                let bundle = plan.final_bundle.and_then(|placed| self.bundle(placed));
                return writer.optional_object(bundle, field);
            }
            PackageUpgradeField::FinalChannel => writer.optional_string(plan.final_channel),
            PackageUpgradeField::UnconfirmedSteps => {
                return writer.counts(&plan.unconfirmed_steps, field);
            }
            PackageUpgradeField::RequiredBy => return writer.counts(&plan.required_by, field),
        }
        Ok(())
    }
}

impl<'a> ResponseWriter<'a> {
    /// Writes a list of numbers.
    fn counts(&mut self, counts: &[usize], field: &'a PlannedField<'a>) -> WriteResult {
        self.list(counts, field, |writer, count| {
            writer.count(*count);
            Ok(())
        })
    }
}

impl<'a> Object<'a> for InPlan<'_, 'a, '_, &Block<'_>> {
    type Field = UpgradeBlockField;

    fn write(
        self,
        name: UpgradeBlockField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            UpgradeBlockField::Cause => writer.static_string(self.item.cause.as_str()),
            UpgradeBlockField::Step => writer.count(self.item.step),
            UpgradeBlockField::BundleName => writer.string(&self.item.bundle),
            UpgradeBlockField::Version => writer.optional_string(self.item.version),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InPlan<'_, 'a, '_, &PlanMove<'_>> {
    type Field = UpgradeMoveField;

    fn write(
        self,
        name: UpgradeMoveField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let one: &PlanMove<'_> = self.item;
        let (time, platform_step) = match one.time {
            MoveTime::Before(step) => ("BEFORE", step),
            MoveTime::After(step) => ("AFTER", step),
        };
        match name {
            UpgradeMoveField::Kind => writer.static_string(match one.kind {
                MoveKind::Upgrade => "UPGRADE",
                MoveKind::Switch => "SWITCH",
            }),
            UpgradeMoveField::Time => writer.static_string(time),
            UpgradeMoveField::PlatformStep => writer.count(platform_step),
            UpgradeMoveField::Step => writer.count(one.step),
            UpgradeMoveField::FromName => writer.string(&one.from),
            UpgradeMoveField::FromVersion => writer.optional_string(one.from_version),
            UpgradeMoveField::To => {
                let to = one.to.and_then(|placed| self.bundle(placed));
                return writer.optional_object(to, field);
            }
            UpgradeMoveField::Channel => writer.optional_string(one.channel),
            UpgradeMoveField::Approval => writer.static_string(match one.approval {
                Approval::Automatic => "AUTOMATIC",
                Approval::Manual => "MANUAL",
            }),
            UpgradeMoveField::Reasons => {
                writer.strings(one.reasons.iter().copied().map(Reason::as_str));
            }
            UpgradeMoveField::Cause => match one.forced_by {
                Some((cause, _)) => writer.static_string(cause.as_str()),
                None => writer.null(),
            },
            UpgradeMoveField::Message => {
                writer.optional_string(Some(&*one.message).filter(|text| !text.is_empty()));
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InPlan<'_, 'a, '_, PlanAction> {
    type Field = PlatformUpgradeActionField;

    fn write(
        self,
        name: PlatformUpgradeActionField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let (platform_step, moved) = match self.item {
            PlanAction::Platform(step) => (Some(step), None),
            PlanAction::Move { package, index } => (None, Some((package, index))),
        };
        let count = match name {
            PlatformUpgradeActionField::PlatformStep => platform_step,
            PlatformUpgradeActionField::Package => moved.map(|(package, _)| package),
            PlatformUpgradeActionField::Move => {
                let one = moved
                    .map(|(package, index)| self.with(&self.plan.packages[package].moves[index]));
                return writer.optional_object(one, field);
            }
        };
        match count {
            Some(count) => writer.count(count),
            None => writer.null(),
        }
        Ok(())
    }
}
