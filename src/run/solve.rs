//! `catalogql solve`: prints what would have to be installed together, and why, or why nothing
//! fits.

mod cluster;
mod request;
mod text;

use std::io::Write;
use std::process::ExitCode;

use fbc::Package;
use fbc::work::Work;
use serde::Serialize;
use solve::{Solution, SolveOutcome, SourceCatalog, solve as solve_request};

use self::request::Input;
use super::output::{self, ignore_closed_pipe, json, stdout};
use super::similar::similar_names;
use crate::args::{SolveArgs, SolveOutput, WantedArg};

/// Exit status when the request cannot be solved as it stands.
const REFUSED: u8 = 2;

/// Maximum work of a request, in nanoseconds as the account prices it: about a minute.
const WORK: u64 = 60_000_000_000;

/// The output for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum JsonAnswer<'a> {
    /// What is newly installed or upgraded, by package.
    Operators(Vec<JsonOperator<'a>>),
    /// Why there is no solution.
    Unsatisfiable(Vec<&'a str>),
    /// Why the request cannot be solved.
    Error(&'a str),
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct JsonOperator<'a> {
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

/// Prints the solution of a request. The exit status is 0 if there is one, 1 if there is none, and
/// 2 if the request cannot be solved as it stands.
pub(super) fn solve(args: &SolveArgs) -> anyhow::Result<ExitCode> {
    if args.request.is_none() && args.want.is_empty() && args.installed.is_empty() {
        let message =
            "cannot solve: nothing is wanted and nothing is installed: name a package with --want";
        // Nothing is left to do when it cannot be printed.
        let _ = writeln!(output::stderr(), "{} {message}", output::error());
        return Ok(ExitCode::from(REFUSED));
    }
    let input = Input::read(args)?;
    let catalogs = input.catalogs();
    let work = Work::unlimited();
    let outcome = solve_request(&input.request, &catalogs, WORK, &work)
        .expect("an account without limit stops nothing");
    let mut out = stdout();
    let printed = match args.output {
        SolveOutput::Json => json(&mut out, &json_answer(&outcome, &catalogs)),
        SolveOutput::Table => {
            text::shown(&outcome, &catalogs, args.explain).print(&mut out, true, args.explain)
        }
        SolveOutput::Mermaid => text::shown(&outcome, &catalogs, false).draw(&mut out),
    };
    ignore_closed_pipe(printed.and_then(|()| out.flush()))?;
    hint_at_similar(&args.want, &catalogs);
    Ok(match outcome {
        SolveOutcome::Solution(_) => ExitCode::SUCCESS,
        SolveOutcome::Conflict(_) => ExitCode::FAILURE,
        SolveOutcome::Refusal(_) => ExitCode::from(REFUSED),
    })
}

/// Prints a hint for each wanted package that no catalog has, if some package has a similar name.
fn hint_at_similar(wanted: &[WantedArg], catalogs: &[SourceCatalog<'_>]) {
    for WantedArg { package, .. } in wanted {
        let similar = similar_names(
            package,
            catalogs
                .iter()
                .flat_map(|one| one.catalog.packages().map(Package::name)),
        );
        if !similar.is_empty()
            && catalogs
                .iter()
                .all(|one| one.catalog.package(package).is_none())
        {
            // A hint, not data; and nothing is left to do when it cannot be printed.
            let _ = writeln!(
                output::stderr(),
                "{} package {package:?} not found{similar}",
                output::warning()
            );
        }
    }
}

fn json_answer<'a>(
    outcome: &'a SolveOutcome<'_>,
    catalogs: &[SourceCatalog<'a>],
) -> JsonAnswer<'a> {
    match outcome {
        SolveOutcome::Solution(solution) => JsonAnswer::Operators(operators(solution, catalogs)),
        SolveOutcome::Conflict(conflict) => JsonAnswer::Unsatisfiable(vec![&conflict.message]),
        SolveOutcome::Refusal(refusal) => JsonAnswer::Error(&refusal.message),
    }
}

fn operators<'a>(
    solution: &'a Solution<'_>,
    catalogs: &[SourceCatalog<'a>],
) -> Vec<JsonOperator<'a>> {
    let steps = solution.steps.iter().map(|step| {
        let bundle = step.placed.bundle();
        let catalog = catalogs[step.placed.catalog];
        JsonOperator {
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
