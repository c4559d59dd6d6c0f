//! `upgrade-plan`: what happens to installed packages when the platform is upgraded, step by step.

mod installed;
mod report;

use serde_json::{Value, json};

pub use self::installed::InstalledObjects;
use self::report::PlanReport;
use crate::args::UpgradePlanArgs;
use crate::documents::PLATFORM_UPGRADE;
use crate::output::{OutputFormat, hint, is_structured, lines, print, print_object};
use crate::similar::question;
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport, no_channel};

/// A version of the platform with the names of its catalogs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedStep {
    /// The version, such as `4.18`; one that begins with `1.` is of Kubernetes.
    pub version: String,
    /// Names of its catalogs.
    pub catalogs: Vec<String>,
}

/// Prints a plan for the steps, of which the first is where the cluster is.
///
/// The status is a success if everything stays or follows by itself, negative if something must be
/// switched or is blocked, and that of a wrong command line if something is unknown.
pub async fn upgrade_plan<T: GraphqlTransport>(
    session: &CommandSession<T>,
    steps: &[PlannedStep],
    mut objects: InstalledObjects,
    args: &UpgradePlanArgs,
) -> Result<ExitStatus, CommandError> {
    objects.add_arguments(args)?;
    for (at, installed) in args.installed.iter().enumerate() {
        let package = &installed.package;
        if args.installed[..at]
            .iter()
            .any(|one| one.package == *package)
        {
            let message = format!("cannot plan the upgrade: --installed names `{package}` twice");
            return Err(CommandError::new(ExitStatus::Usage, message));
        }
        let Some(channel) = &installed.channel else {
            continue;
        };
        let known = session.channels(&installed.package).await?;
        // The plan itself says that no catalog has a package.
        if !known.is_empty() && !known.contains(channel) {
            return Err(no_channel(&installed.package, channel, &known));
        }
    }
    let catalogs = steps.first().map_or(&[][..], |step| &step.catalogs);
    let (installed, hints) = objects.into_input(catalogs);
    if installed.is_empty() {
        let message = "cannot plan the upgrade: nothing is installed: name it with --installed PACKAGE@VERSION or --file FILE";
        return Err(CommandError::new(ExitStatus::Usage, message));
    }
    let inputs: Vec<_> = steps
        .iter()
        .map(|step| step_input(step, args.architecture.as_deref()))
        .collect();
    let mut variables = json!({ "input": { "steps": inputs, "installed": installed } });
    args.support.add_to(&mut variables);
    let data = session.data(PLATFORM_UPGRADE, &variables).await;
    // A request that is refused is a wrong command line or a wrong file.
    let mut data = data.map_err(|error| match error.status {
        ExitStatus::Refused => CommandError {
            status: ExitStatus::Usage,
            message: format!(
                "cannot plan the upgrade: {}",
                in_words(&error.message, steps, &installed)
            ),
            ..error
        },
        _ => error,
    })?;
    let plan = data["platformUpgrade"].take();
    let report = PlanReport {
        plan: &plan,
        installed: &installed,
        has_support: args.support.is_shown(),
    };
    match &session.output {
        output if is_structured(output) => print_object("PlatformUpgrade", &plan, output)?,
        OutputFormat::Table => print(&report.table(session.has_headers, false))?,
        OutputFormat::Wide => print(&report.table(session.has_headers, true))?,
        OutputFormat::Markdown => print(&report.markdown())?,
        OutputFormat::Html => print(&report.html())?,
        OutputFormat::Lines => print(&lines(report.images()))?,
        _ => {
            let message = "`upgrade-plan` prints table, wide, markdown, html, lines, json, yaml or jsonpath=TEMPLATE";
            return Err(CommandError::new(ExitStatus::Usage, message));
        }
    }
    for text in hints {
        hint(&format!("hint: {text}"));
    }
    hint_at_similar(session, &plan).await;
    Ok(status(&plan))
}

/// Returns a message of the API with versions and packages in place of the members of its input.
fn in_words(message: &str, steps: &[PlannedStep], installed: &[Value]) -> String {
    let mut text = message.replace("`steps`", "the plan");
    for (at, PlannedStep { version, .. }) in steps.iter().enumerate() {
        text = text
            .replace(
                &format!("`steps[{at}].platform`"),
                &format!("the version `{version}`"),
            )
            .replace(
                &format!("`steps[{at}]`"),
                &format!("the step to `{version}`"),
            );
    }
    for (at, bundle) in installed.iter().enumerate() {
        let package = printing::text(bundle, "/packageName");
        text = text
            .replace(
                &format!("`installed[{at}]`"),
                &format!("the package `{package}`"),
            )
            .replace(
                &format!("`installed[{at}].channels`"),
                &format!("the list of channels of `{package}`"),
            );
    }
    text
}

/// Prints a hint for each package that is unknown, if a package has a similar name.
async fn hint_at_similar<T: GraphqlTransport>(session: &CommandSession<T>, plan: &Value) {
    let packages = plan["packages"].as_array().into_iter().flatten();
    for package in packages.filter(|package| package["verdict"] == "UNKNOWN") {
        let name = printing::text(package, "/packageName");
        let similar = session.similar_packages(&[], &name).await;
        if let Some(question) = question(&similar) {
            hint(&format!("hint: package `{name}`: {question}"));
        }
    }
}

/// Returns the input `PlatformStepInput`.
fn step_input(step: &PlannedStep, architecture: Option<&str>) -> Value {
    let platform = if step.version.trim_start_matches('v').starts_with("1.") {
        "kubernetes"
    } else {
        "openshift"
    };
    json!({
        "platform": { platform: step.version, "architecture": architecture },
        "catalogs": step.catalogs,
    })
}

fn status(plan: &Value) -> ExitStatus {
    match plan["verdict"].as_str() {
        Some("STAYS" | "FOLLOWS") => ExitStatus::Success,
        Some("SWITCHES" | "BLOCKED") => ExitStatus::Negative,
        _ => ExitStatus::Usage,
    }
}

#[cfg(test)]
mod tests;
