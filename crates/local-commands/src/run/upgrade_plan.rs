//! `catalogql upgrade-plan`: the operation over the catalogs of several versions of the platform.

use std::process::ExitCode;

use commands::upgrade_plan::{InstalledObjects, PlannedStep, upgrade_plan as plan};

use super::local;
use crate::args::{LocalUpgradePlanArgs, StepArg};

/// Prints what happens to what is installed when the platform is upgraded.
pub(super) fn upgrade_plan(args: &LocalUpgradePlanArgs) -> anyhow::Result<ExitCode> {
    let (steps, sources) = named_sources(&args.steps);
    let session = local::session(&sources, &args.output, &args.images);
    local::end(session, async |session| {
        plan(&session, &steps, InstalledObjects::default(), &args.plan).await
    })
}

/// Returns the steps with the names of their catalogs, and the sources under these names. A source
/// without a name is named after the version of its step.
fn named_sources(steps: &[StepArg]) -> (Vec<PlannedStep>, Vec<String>) {
    let mut planned = Vec::new();
    let mut sources: Vec<String> = Vec::new();
    for step in steps {
        let mut catalogs = Vec::new();
        for (at, source) in step.sources.iter().enumerate() {
            let name = match &source.name {
                Some(name) => name.clone(),
                None if at == 0 => step.version.to_lowercase(),
                None => format!("{}-{}", step.version.to_lowercase(), at + 1),
            };
            let named = format!("{name}={}", source.source);
            // The same catalog may serve several steps.
            if !sources.contains(&named) {
                sources.push(named);
            }
            catalogs.push(name);
        }
        planned.push(PlannedStep {
            version: step.version.clone(),
            catalogs,
        });
    }
    (planned, sources)
}
