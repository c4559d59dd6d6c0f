//! `catalogql solve`: the operation over sources, or over a whole world in a file.
//!
//! The file is no request of the API: it has namespaces, Subscriptions and inline catalogs, as the
//! vectors of OLM's resolver have them, and its answer has their form.

mod request;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use commands::ExitStatus;
use commands::args::parse_wanted;
use fbc::work::Work;
use serde::Serialize;
use solve::{Solution, SolveOutcome, SourceCatalog, solve as solve_request};

use self::request::LoadedRequest;
use super::local;
use super::output::{ignore_closed_pipe, json, stdout};
use crate::args::{ImageArgs, LocalSolveArgs};

/// Maximum work of a request, in nanoseconds as the account prices it: about a minute.
const WORK: u64 = 60_000_000_000;

/// Answer to a request in a file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum RequestFileAnswer<'a> {
    /// Operators to install or to upgrade, by package.
    Operators(Vec<SolvedOperator<'a>>),
    /// Reasons against every solution.
    Unsatisfiable(Vec<&'a str>),
    /// Fault of the request.
    Error(&'a str),
}

/// Operator of an answer.
#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct SolvedOperator<'a> {
    package: &'a str,
    name: &'a str,
    catalog: &'a str,
    channel: &'a str,
    namespace: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    image: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaces: Option<&'a str>,
    #[serde(rename = "startingCSV", skip_serializing_if = "Option::is_none")]
    starting_csv: Option<&'a str>,
}

/// Prints the solution of a request, or the reasons why there is none.
pub(super) fn solve(args: &LocalSolveArgs) -> anyhow::Result<ExitCode> {
    if let Some(path) = &args.request {
        return solve_file(path, &args.images);
    }
    let (sources, packages) = local::split_packages(&args.sources);
    let wanted = packages.iter().map(|package| parse_wanted(package));
    let wanted: Result<Vec<_>, _> = wanted.collect();
    let mut solve = args.solve.clone();
    solve.want.extend(wanted.map_err(anyhow::Error::msg)?);
    let session = local::session(sources, &args.output, &args.images);
    local::end(session, async |session| {
        commands::solve::solve(&session, &solve).await
    })
}

/// Solves a request in a file and prints the answer as JSON.
fn solve_file(path: &Path, images: &ImageArgs) -> anyhow::Result<ExitCode> {
    let loaded = LoadedRequest::read(path, images)
        .with_context(|| format!("cannot read the request `{}`", path.display()))?;
    let catalogs = loaded.catalogs();
    let work = Work::unlimited();
    let outcome = solve_request(&loaded.request, &catalogs, WORK, &work)
        .expect("an account without limit stops nothing");
    let (answer, status) = match &outcome {
        SolveOutcome::Solution(solution) => {
            let operators = operators(solution, &catalogs);
            (RequestFileAnswer::Operators(operators), ExitStatus::Success)
        }
        SolveOutcome::Conflict(conflict) => {
            let messages = vec![&*conflict.message];
            (
                RequestFileAnswer::Unsatisfiable(messages),
                ExitStatus::Negative,
            )
        }
        SolveOutcome::Refusal(refusal) => (
            RequestFileAnswer::Error(&refusal.message),
            ExitStatus::Refused,
        ),
    };
    ignore_closed_pipe(json(&mut stdout(), &answer))?;
    Ok(status.into())
}

fn operators<'a>(
    solution: &'a Solution<'_>,
    catalogs: &[SourceCatalog<'a>],
) -> Vec<SolvedOperator<'a>> {
    let steps = solution.steps.iter().map(|step| {
        let bundle = step.placed.bundle();
        let catalog = catalogs[step.placed.catalog];
        SolvedOperator {
            package: bundle.package().name(),
            name: bundle.name(),
            catalog: catalog.name,
            channel: step.placed.channel().name(),
            namespace: catalog.namespace,
            image: bundle.image().decode().into_owned(),
            replaces: step.replaces,
            starting_csv: step.starting_csv,
        }
    });
    let mut operators: Vec<_> = steps.collect();
    operators.sort_unstable();
    operators
}
