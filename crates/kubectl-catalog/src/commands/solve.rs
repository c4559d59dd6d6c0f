//! `solve`: what would have to be installed together, or why nothing fits, in the words of
//! `catalogql solve`.

use std::process::ExitCode;

use printing::ignore_closed_pipe;
use printing::solution::{
    ReasonSource, ShownBundle, ShownConflict, ShownConstraint, ShownOutcome, ShownReason, ShownStep,
};
use printing::text;
use serde_json::{Value, json};

use super::installed_operators::{InstalledOperators, has_package};
use crate::args::{SolveArgs, SolvePolicy, WantedArg};
use crate::context::CommandContext;
use crate::documents::SOLVE;
use crate::error::{CommandError, ExitStatus};
use crate::output::{OutputFormat, is_structured, print_object};

/// Number of candidates of a constraint that the document asks for.
const MAX_CANDIDATES: usize = 10;

/// Prints the solution of a request, or why there is none.
pub(super) async fn solve(
    context: &CommandContext,
    args: &SolveArgs,
) -> Result<ExitCode, CommandError> {
    let installed = InstalledOperators::read(context, &args.installed).await?;
    let is_v1 = args.policy == SolvePolicy::OlmV1;
    let mut wanted: Vec<_> = args
        .want
        .iter()
        .map(|wanted| wanted_package(wanted, is_v1, &installed))
        .collect();
    // What a file says of a package gives way to the command line.
    for package in &installed.wanted {
        if !wanted
            .iter()
            .any(|wanted| wanted["packageName"] == package["packageName"])
        {
            wanted.push(package.clone());
        }
    }
    let request = json!({
        "wanted": wanted,
        "installed": installed.operators,
        "catalogs": context.catalogs,
        "policy": if is_v1 { "OLM_V1" } else { "OLM_V0" },
    });
    let data = context
        .data(
            SOLVE,
            &json!({ "request": request, "explain": args.explain }),
        )
        .await?;
    let result = &data["solve"];
    let kind = text(result, "/__typename");
    let ended = if kind == "Solution" {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(ExitStatus::Negative as u8)
    };
    if is_structured(&context.output) {
        let mut object = result.clone();
        object
            .as_object_mut()
            .map(|members| members.remove("__typename"));
        print_object(&kind, &object, &context.output)?;
    } else {
        print_outcome(context, &shown(result)?, args.explain)?;
    }
    Ok(if kind == "SolveRefusal" {
        ExitCode::from(ExitStatus::Refused as u8)
    } else {
        ended
    })
}

fn print_outcome(
    context: &CommandContext,
    outcome: &ShownOutcome,
    explain: bool,
) -> Result<(), CommandError> {
    let mut out = printing::stdout();
    let printed = match &context.output {
        OutputFormat::Table | OutputFormat::Wide => {
            outcome.print(&mut out, context.has_headers, explain)
        }
        OutputFormat::Mermaid => outcome.draw(&mut out),
        _ => {
            let message = "`solve` prints table, mermaid, json, yaml or jsonpath=TEMPLATE";
            return Err(CommandError::new(ExitStatus::Usage, message));
        }
    };
    Ok(ignore_closed_pipe(printed)?)
}

/// The object of the API for a wanted package. It owns what is installed of that package.
fn wanted_package(wanted: &WantedArg, is_v1: bool, installed: &InstalledOperators) -> Value {
    let (catalog, package) = match wanted.package.split_once('/') {
        Some((catalog, package)) => (Some(catalog), package),
        None => (None, wanted.package.as_str()),
    };
    let owned = installed
        .operators
        .iter()
        .find(|operator| has_package(operator, package));
    let version = wanted.version.as_deref();
    let mut object = json!({ "packageName": package });
    for (name, value) in [
        ("catalog", catalog.map(Value::from)),
        ("installed", owned.map(|operator| operator["name"].clone())),
        (
            "channels",
            wanted.channel.as_ref().map(|channel| json!([channel])),
        ),
        ("version", version.filter(|_| is_v1).map(Value::from)),
        (
            "startingBundle",
            version.filter(|_| !is_v1).map(Value::from),
        ),
    ] {
        if let Some(value) = value {
            object[name] = value;
        }
    }
    object
}

/// What is shown of the result of the API.
fn shown(result: &Value) -> Result<ShownOutcome, CommandError> {
    match result["__typename"].as_str() {
        Some("Solution") => Ok(ShownOutcome::Solution(
            list(&result["steps"]).map(step).collect(),
        )),
        Some("SolveConflict") => Ok(ShownOutcome::Conflict(ShownConflict {
            constraints: list(&result["constraints"]).map(constraint).collect(),
            relaxations: list(&result["relaxations"])
                .map(|one| (text(one, "/wanted"), one["isSolvable"] == true))
                .collect(),
        })),
        Some("SolveRefusal") => {
            let failure = CommandError::new(ExitStatus::Refused, text(result, "/message"));
            Err(match bundle(&result["bundle"]) {
                Some(bundle) => failure.hint(format!("the fault is in {bundle}")),
                None => failure,
            })
        }
        _ => Err(CommandError::new(
            ExitStatus::Refused,
            "the server answers in a way that this version does not know",
        )),
    }
}

fn step(step: &Value) -> ShownStep {
    let is_upgrade = step["action"] == "UPGRADE";
    let placed = bundle(&step["bundle"]).map(|bundle| ShownBundle {
        channel: optional(step, "/channel/name"),
        ..bundle
    });
    let passed_over = list(&step["passedOver"]).filter_map(|better| {
        Some((
            bundle(&better["bundle"])?,
            list(&better["constraints"]).map(constraint).collect(),
        ))
    });
    ShownStep {
        bundle: placed.unwrap_or_else(|| ShownBundle {
            name: String::new(),
            channel: None,
            catalog: String::new(),
        }),
        is_upgrade,
        replaces: optional(step, "/replaces")
            .filter(|_| is_upgrade)
            .unwrap_or_default(),
        reasons: list(&step["reasons"]).filter_map(reason).collect(),
        passed_over: passed_over.collect(),
        more_passed_over: 0,
    }
}

fn reason(reason: &Value) -> Option<ShownReason> {
    let wanted = optional(reason, "/wanted").map(ReasonSource::Wanted);
    let by = wanted
        .or_else(|| optional(reason, "/requiredBy/name").map(ReasonSource::Bundle))
        .or_else(|| optional(reason, "/requiredByInstalled").map(ReasonSource::Installed))?;
    Some(ShownReason {
        by,
        requirement: text(reason, "/requirement"),
    })
}

fn constraint(constraint: &Value) -> ShownConstraint {
    let listed = list(&constraint["candidates"]);
    let has_more_candidates = listed.clone().count() == MAX_CANDIDATES;
    // One that several channels have is listed for each of them.
    let mut candidates = Vec::new();
    for candidate in listed.filter_map(bundle) {
        if !candidates.contains(&candidate) {
            candidates.push(candidate);
        }
    }
    ShownConstraint {
        kind: text(constraint, "/kind"),
        text: text(constraint, "/text"),
        bundle: bundle(&constraint["bundle"]),
        installed: optional(constraint, "/installed"),
        wanted: optional(constraint, "/wanted"),
        failure_message: optional(constraint, "/constraint/failureMessage"),
        candidates,
        has_more_candidates,
    }
}

fn bundle(bundle: &Value) -> Option<ShownBundle> {
    Some(ShownBundle {
        name: optional(bundle, "/name")?,
        channel: None,
        catalog: text(bundle, "/catalog/name"),
    })
}

fn optional(item: &Value, pointer: &str) -> Option<String> {
    item.pointer(pointer)
        .and_then(Value::as_str)
        .map(str::to_owned)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> + Clone {
    value
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
}
