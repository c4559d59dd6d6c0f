//! Made clusters: a fixture for each version of the platform, and what is installed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fbc::work::Work;
use fbc::{Catalog, Platform};
use platform_upgrade::{
    Approval, ClusterBundle, MoveKind, MoveTime, PackagePlan, PlatformPlan, PlatformStep,
    PlatformUpgradeRequest, StepCatalog, plan,
};
use testing::fixture::catalog;

/// Labels of every catalog.
static NO_LABELS: BTreeMap<String, String> = BTreeMap::new();

/// Catalogs of the versions of `OpenShift` from 4.16 on.
pub(crate) struct World {
    pub(crate) catalogs: Vec<Catalog>,
    versions: Vec<String>,
}

impl World {
    /// Makes one catalog for each version of `OpenShift`, from 4.16 on.
    pub(crate) fn openshift(fixtures: &[&str]) -> Self {
        let versions = (16..16 + fixtures.len()).map(|minor| format!("4.{minor}"));
        Self::new(versions.collect(), fixtures)
    }

    /// Makes one catalog for each of these versions.
    pub(crate) fn new(versions: Vec<String>, fixtures: &[&str]) -> Self {
        Self {
            catalogs: fixtures.iter().map(|text| catalog(text)).collect(),
            versions,
        }
    }

    pub(crate) fn of_catalogs(catalogs: Vec<Catalog>) -> Self {
        let versions = (16..16 + catalogs.len()).map(|minor| format!("4.{minor}"));
        Self {
            versions: versions.collect(),
            catalogs,
        }
    }

    pub(crate) fn request<'a>(
        &'a self,
        installed: Vec<ClusterBundle<'a>>,
    ) -> PlatformUpgradeRequest<'a> {
        let steps = self.versions.iter().zip(&self.catalogs);
        let steps = steps.map(|(version, catalog)| PlatformStep {
            platform: Platform {
                openshift: Some(version.parse().expect("it is a version")),
                ..Platform::default()
            },
            catalogs: vec![step_catalog("catalog", catalog)],
        });
        PlatformUpgradeRequest {
            steps: steps.collect(),
            installed,
        }
    }

    /// Plans one installed bundle, and returns what the plan says in one line.
    pub(crate) fn said(&self, installed: ClusterBundle<'_>) -> String {
        said(&planned(&self.request(vec![installed])).packages[0])
    }
}

/// Makes a catalog of a step that is served.
pub(crate) fn step_catalog<'a>(name: &'a str, content: &'a Catalog) -> StepCatalog<'a> {
    StepCatalog {
        name,
        priority: 0,
        labels: &NO_LABELS,
        content: Some(content),
    }
}

/// Makes a catalog of a step that is not served.
pub(crate) fn unserved(name: &str) -> StepCatalog<'_> {
    StepCatalog {
        name,
        priority: 0,
        labels: &NO_LABELS,
        content: None,
    }
}

/// Makes an installed bundle of the package `p` that follows a channel.
pub(crate) fn installed<'a>(name: &'a str, channel: &'a str) -> ClusterBundle<'a> {
    ClusterBundle {
        package: "p",
        name: Some(name),
        version: name.strip_prefix("p.v"),
        namespace: "ns",
        channels: if channel.is_empty() {
            Vec::new()
        } else {
            vec![channel]
        },
        ..ClusterBundle::default()
    }
}

pub(crate) fn planned<'a>(request: &PlatformUpgradeRequest<'a>) -> PlatformPlan<'a> {
    plan(request, &Work::unlimited())
        .expect("the work is not limited")
        .expect("the request is well-formed")
}

/// Writes a plan in one line: the verdict, the cause with the step, and the moves.
pub(crate) fn said(plan: &PackagePlan<'_>) -> String {
    let mut text = plan.verdict.as_str().to_owned();
    if let Some(block) = &plan.block {
        let _infallible = write!(
            text,
            " {} {} {}",
            block.cause.as_str(),
            block.step,
            block.bundle
        );
    }
    for one in &plan.moves {
        let time = match one.time {
            MoveTime::Before(step) => format!("before {step}"),
            MoveTime::After(step) => format!("after {step}"),
        };
        let what = match (one.kind, one.to) {
            (MoveKind::Upgrade, Some(to)) => format!("{} -> {}", one.from, to.bundle.name()),
            _ => format!("switch to {}", one.channel.unwrap_or("*")),
        };
        let approval = match one.approval {
            Approval::Manual if one.kind == MoveKind::Upgrade => " approved",
            _ => "",
        };
        let _infallible = write!(text, "; {time}: {what}{approval}");
    }
    text
}
