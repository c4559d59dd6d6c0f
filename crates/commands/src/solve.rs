//! `solve`: the bundles that would have to be installed together, or the reasons why nothing fits.

mod answer;
mod installed;
mod request;

use std::io::Write as _;

use printing::ignore_closed_pipe;
use serde::Deserialize;
use serde_json::json;

use self::answer::SolveAnswer;
use self::request::SolveRequestInput;
use crate::args::{SolveArgs, SolvePolicyArg};
use crate::documents::SOLVE;
use crate::output::{OutputFormat, hint, is_structured, print_object};
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport, no_channel};

/// Member `__typename` of a response.
const TYPE_NAME: &str = "__typename";

/// Prints the solution of a request, or the conflict. The status is negative for a conflict.
pub async fn solve<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &SolveArgs,
) -> Result<ExitStatus, CommandError> {
    if args.want.is_empty() && args.installed.is_empty() {
        let message =
            "cannot solve: nothing is wanted and nothing is installed: name a package with --want";
        return Err(CommandError::new(ExitStatus::Usage, message));
    }
    let mut request = SolveRequestInput {
        catalogs: session.catalogs.clone(),
        policy: args.policy.into(),
        ..SolveRequestInput::default()
    };
    installed::add_installed(session, &mut request, &args.installed).await?;
    for wanted in &args.want {
        request.add_wanted(wanted);
    }

    let variables = json!({ "request": request, "explain": args.explain });
    let mut data = session.data(SOLVE, &variables).await?;
    let mut result = data["solve"].take();
    let answer = SolveAnswer::deserialize(&result).map_err(|error| {
        let message = format!("cannot read the response of the server: {error}");
        CommandError::new(ExitStatus::Refused, message)
    })?;
    if is_structured(&session.output) {
        let kind = result[TYPE_NAME].as_str().unwrap_or_default().to_owned();
        if let Some(members) = result.as_object_mut() {
            members.remove(TYPE_NAME);
        }
        print_object(&kind, &result, &session.output)?;
    } else {
        print_text(session, &answer, args.explain)?;
    }

    match answer {
        SolveAnswer::Solution { .. } => Ok(ExitStatus::Success),
        SolveAnswer::SolveConflict(_) => {
            // OLM's conflict about an unknown package does not say that no catalog has it.
            hint_at_similar(session, args).await;
            Ok(ExitStatus::Negative)
        }
        SolveAnswer::SolveRefusal { .. } | SolveAnswer::Unknown => Ok(ExitStatus::Refused),
    }
}

/// Prints an answer for people. Fails on one that is no solution and no conflict.
fn print_text<T>(
    session: &CommandSession<T>,
    answer: &SolveAnswer,
    explain: bool,
) -> Result<(), CommandError> {
    match answer {
        SolveAnswer::SolveRefusal { message, bundle } => {
            let error = CommandError::new(ExitStatus::Refused, message.clone());
            return Err(match bundle {
                Some(bundle) => error.hint(format!("the fault is in {bundle}")),
                None => error,
            });
        }
        SolveAnswer::Unknown => {
            let message = "the server answers in a way that this version does not know";
            return Err(CommandError::new(ExitStatus::Refused, message));
        }
        SolveAnswer::Solution { .. } | SolveAnswer::SolveConflict(_) => {}
    }
    let mut out = printing::stdout();
    let printed = match &session.output {
        OutputFormat::Table | OutputFormat::Wide => {
            answer.print(&mut out, session.has_headers, explain)
        }
        OutputFormat::Mermaid => answer.draw(&mut out),
        _ => {
            let message = "`solve` prints table, mermaid, json, yaml or jsonpath=TEMPLATE";
            return Err(CommandError::new(ExitStatus::Usage, message));
        }
    };
    Ok(ignore_closed_pipe(printed.and_then(|()| out.flush()))?)
}

/// Prints hints for wanted packages, channels and bundles that no catalog has. A request that fails
/// prints none: the hints come after the answer.
async fn hint_at_similar<T: GraphqlTransport>(session: &CommandSession<T>, args: &SolveArgs) {
    for wanted in &args.want {
        let (catalogs, package) = session.split(&wanted.package);
        let similar = session.similar_packages(&catalogs, package).await;
        if !similar.is_empty() {
            hint(&format!(
                "hint: package `{package}` not found: did you mean {}?",
                similar.join(" or ")
            ));
            continue;
        }
        if let Some(channel) = &wanted.channel {
            let known = session.channels(&wanted.package).await.unwrap_or_default();
            if !known.is_empty() && !known.contains(channel) {
                let error = no_channel(package, channel, &known);
                let channels = error.hint.unwrap_or_default();
                hint(&format!("hint: {}: {channels}", error.message));
            }
        }
        if args.policy == SolvePolicyArg::OlmV0
            && let Some(version) = &wanted.version
            && !version.starts_with(char::is_alphabetic)
        {
            let bundle = session.installed(&wanted.package, version).await;
            let name = bundle.map_or_else(|_| "NAME".to_owned(), |bundle| bundle.name);
            hint(&format!(
                "hint: `@{version}` names a bundle: write @{name}, or a range of versions with --policy olm-v1"
            ));
        }
    }
}
