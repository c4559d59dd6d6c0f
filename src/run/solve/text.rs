//! Solutions, conflicts and refusals for people: tables, sentences and a Mermaid picture.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use console::style;
use fbc::graph::MermaidText;
use fbc::work::Work;
use solve::{
    Conflict, ConflictReason, MAX_PASSED_OVER, PlacedBundle, ReasonKind, Solution, SolutionStep, SolveOutcome,
    SolveRefusal, SourceCatalog, StepReason,
};

use crate::run::output::{error, table};

/// Number of candidates that a sentence names.
const NAMED_CANDIDATES: usize = 5;

/// Prints an outcome.
pub(super) fn print(
    out: &mut impl Write,
    outcome: &SolveOutcome<'_>,
    catalogs: &[SourceCatalog<'_>],
    explain: bool,
) -> io::Result<()> {
    match outcome {
        SolveOutcome::Solution(solution) => print_solution(out, solution, catalogs, explain),
        SolveOutcome::Conflict(conflict) => print_conflict(out, conflict, catalogs),
        SolveOutcome::Refusal(refusal) => print_refusal(out, refusal, catalogs),
    }
}

fn print_solution(
    out: &mut impl Write,
    solution: &Solution<'_>,
    catalogs: &[SourceCatalog<'_>],
    explain: bool,
) -> io::Result<()> {
    if solution.steps.is_empty() {
        return writeln!(out, "Nothing has to be installed or upgraded.");
    }
    let rows = solution.steps.iter().map(|step| {
        let action = if step.is_upgrade { "upgrade" } else { "install" };
        [
            action.to_owned(),
            step.placed.bundle().name().to_owned(),
            step.placed.channel().name().to_owned(),
            catalogs[step.placed.catalog].name.to_owned(),
            // A new installation replaces nothing, whatever its entry says.
            step.replaces.filter(|_| step.is_upgrade).unwrap_or_default().to_owned(),
            step.reasons.first().map(because).unwrap_or_default(),
        ]
    });
    write!(out, "{}", table(["ACTION", "BUNDLE", "CHANNEL", "CATALOG", "REPLACES", "BECAUSE"], rows))?;
    if explain {
        for step in &solution.steps {
            explain_step(out, solution, step, catalogs)?;
        }
    }
    Ok(())
}

/// Why a bundle is installed.
fn because(reason: &StepReason<'_>) -> String {
    let requirement = reason.requirement.as_deref().unwrap_or_default();
    match (reason.wanted, reason.required_by, reason.required_by_installed) {
        (Some(wanted), ..) => format!("{wanted} is wanted"),
        (_, Some(bundle), _) => format!("{} requires an operator {requirement}", bundle.entry.name()),
        (_, _, Some(installed)) => format!("{installed}, which is installed, requires an operator {requirement}"),
        (None, None, None) => String::new(),
    }
}

/// Says what else needs a bundle, and why better ones are impossible.
fn explain_step(
    out: &mut impl Write,
    solution: &Solution<'_>,
    step: &SolutionStep<'_>,
    catalogs: &[SourceCatalog<'_>],
) -> io::Result<()> {
    let passed_over = solution.passed_over(step, MAX_PASSED_OVER, &Work::unlimited());
    let passed_over = passed_over.expect("an account without limit stops nothing");
    if step.reasons.len() < 2 && passed_over.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}", style(step.placed.bundle().name()).bold())?;
    for reason in step.reasons.iter().skip(1) {
        writeln!(out, "  also because {}", because(reason))?;
    }
    for better in &passed_over {
        writeln!(out, "  {} would be preferred, but cannot be installed:", located(better.placed, catalogs))?;
        for reason in &better.reasons {
            writeln!(out, "    - {}", sentence(reason, catalogs))?;
        }
    }
    if step.passed_over > passed_over.len() {
        writeln!(out, "  and {} more", step.passed_over - passed_over.len())?;
    }
    Ok(())
}

fn print_conflict(out: &mut impl Write, conflict: &Conflict<'_>, catalogs: &[SourceCatalog<'_>]) -> io::Result<()> {
    writeln!(out, "{} There is no solution. These contradict one another:", error())?;
    for reason in &conflict.reasons {
        writeln!(out, "  - {}", sentence(reason, catalogs))?;
    }
    let solvable = conflict.relaxations.iter().filter(|one| one.is_solvable).map(|one| one.wanted);
    let solvable: Vec<_> = solvable.collect();
    if conflict.relaxations.len() > 1 && !solvable.is_empty() {
        writeln!(out, "There is a solution without {}.", solvable.join(", or without "))?;
    }
    Ok(())
}

fn print_refusal(out: &mut impl Write, refusal: &SolveRefusal<'_>, catalogs: &[SourceCatalog<'_>]) -> io::Result<()> {
    write!(out, "{} {}", error(), refusal.message)?;
    match refusal.bundle {
        Some(bundle) => writeln!(out, " (in {})", located(bundle, catalogs)),
        None => writeln!(out),
    }
}

/// A reason in the words of catalogs.
fn sentence(reason: &ConflictReason<'_>, catalogs: &[SourceCatalog<'_>]) -> String {
    let candidates = candidates(&reason.candidates, catalogs);
    let subject = reason.bundle.map(|bundle| located(bundle, catalogs));
    let subject = subject.or(reason.installed.map(|name| format!("{name}, which is installed,"))).unwrap_or_default();
    let mut text = match reason.kind {
        ReasonKind::Wanted if reason.candidates.is_empty() => reason.text.clone(),
        ReasonKind::Wanted => format!("{} can be {candidates}", reason.wanted.unwrap_or_default()),
        ReasonKind::Installed => {
            format!("{} is installed and not kept up to date", reason.installed.unwrap_or_default())
        }
        ReasonKind::Requires => {
            let (_, requirement) = reason.text.split_once(" requires ").unwrap_or_default();
            let met = if reason.candidates.is_empty() { "no bundle meets that" } else { "only these meet that:" };
            format!("{subject} requires {requirement}; {met} {candidates}").trim_end().to_owned()
        }
        ReasonKind::Prohibited => format!("{subject} is deprecated by its property olm.deprecated"),
        ReasonKind::Replaces => reason.text.clone(),
        ReasonKind::OneOfPackage => format!("only one bundle of a package can be installed: {candidates}"),
        ReasonKind::OneOfApi => format!("only one provider of an API can be installed: {}", reason.text),
    };
    if let Some(message) = &reason.failure_message {
        let _infallible = write!(text, " (its author says: {message})");
    }
    text
}

fn candidates(bundles: &[PlacedBundle<'_>], catalogs: &[SourceCatalog<'_>]) -> String {
    let named: Vec<_> = bundles.iter().take(NAMED_CANDIDATES).map(|&bundle| located(bundle, catalogs)).collect();
    match bundles.len().saturating_sub(NAMED_CANDIDATES) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// A bundle with its channel and catalog.
fn located(bundle: PlacedBundle<'_>, catalogs: &[SourceCatalog<'_>]) -> String {
    format!("{} ({}, {})", bundle.entry.name(), bundle.channel().name(), catalogs[bundle.catalog].name)
}

/// Draws who requires whom, or else what contradicts.
pub(super) fn draw(out: &mut impl Write, outcome: &SolveOutcome<'_>, catalogs: &[SourceCatalog<'_>]) -> io::Result<()> {
    writeln!(out, "flowchart LR")?;
    match outcome {
        SolveOutcome::Solution(solution) => draw_solution(out, solution),
        SolveOutcome::Conflict(conflict) => {
            for (at, reason) in conflict.reasons.iter().enumerate() {
                writeln!(out, "  r{at}[\"{}\"]", MermaidText(&sentence(reason, catalogs)))?;
            }
            Ok(())
        }
        SolveOutcome::Refusal(refusal) => writeln!(out, "  refusal[\"{}\"]", MermaidText(&refusal.message)),
    }
}

fn draw_solution(out: &mut impl Write, solution: &Solution<'_>) -> io::Result<()> {
    let mut nodes: HashMap<&str, String> = HashMap::new();
    for (at, step) in solution.steps.iter().enumerate() {
        let name = step.placed.entry.name();
        writeln!(out, "  s{at}[\"{}\"]", MermaidText(name))?;
        nodes.insert(name, format!("s{at}"));
    }
    for (at, step) in solution.steps.iter().enumerate() {
        for (number, reason) in step.reasons.iter().enumerate() {
            let requirement = reason.requirement.as_deref().unwrap_or("is wanted");
            let by =
                reason.wanted.or(reason.required_by.map(|bundle| bundle.entry.name())).or(reason.required_by_installed);
            let Some(by) = by else { continue };
            let from = match nodes.get(by).filter(|_| reason.wanted.is_none()) {
                Some(node) => node.clone(),
                None => format!("o{at}_{number}([\"{}\"])", MermaidText(by)),
            };
            writeln!(out, "  {from} -->|\"{}\"| s{at}", MermaidText(requirement))?;
        }
    }
    Ok(())
}
