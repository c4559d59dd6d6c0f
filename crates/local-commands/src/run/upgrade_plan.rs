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
/// without a name is named after the version of its step. Neighbours of one version are one step.
fn named_sources(steps: &[StepArg]) -> (Vec<PlannedStep>, Vec<String>) {
    let mut planned: Vec<PlannedStep> = Vec::new();
    let mut sources: Vec<String> = Vec::new();
    for step in steps {
        if planned
            .last()
            .is_none_or(|last| last.version != step.version)
        {
            planned.push(PlannedStep {
                version: step.version.clone(),
                catalogs: Vec::new(),
            });
        }
        let catalogs = &mut planned.last_mut().expect("one was pushed").catalogs;
        for source in &step.sources {
            let version = step.version.to_lowercase();
            let name = match &source.name {
                Some(name) => name.clone(),
                None if catalogs.is_empty() => version,
                None => format!("{version}-{}", catalogs.len() + 1),
            };
            let named = format!("{name}={}", source.source);
            // The same catalog may serve several steps.
            if !sources.contains(&named) {
                sources.push(named);
            }
            catalogs.push(name);
        }
    }
    (planned, sources)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::StepSourceArg;

    #[test]
    fn catalogs_of_one_version_are_of_one_step_and_have_names_of_their_own() {
        let step = |version: &str, source: &str| StepArg {
            version: version.to_owned(),
            sources: vec![StepSourceArg {
                name: None,
                source: source.to_owned(),
            }],
        };
        let (steps, sources) =
            named_sources(&[step("4.16", "a"), step("4.16", "b"), step("4.17", "a")]);
        let planned = |version: &str, catalogs: &[&str]| PlannedStep {
            version: version.to_owned(),
            catalogs: catalogs.iter().map(|&name| name.to_owned()).collect(),
        };
        assert_eq!(
            steps,
            [
                planned("4.16", &["4.16", "4.16-2"]),
                planned("4.17", &["4.17"])
            ]
        );
        assert_eq!(sources, ["4.16=a", "4.16-2=b", "4.17=a"]);
    }
}
