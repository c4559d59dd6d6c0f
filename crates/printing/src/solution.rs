//! Solutions of dependencies, conflicts and refusals for people: tables, sentences and a Mermaid
//! picture. Who prints fills the values in: the solver's, or those of the API.

use std::collections::HashMap;
use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use console::style;
use drawing::MermaidText;

use crate::{error, table};

/// Number of candidates that a sentence names.
const NAMED_CANDIDATES: usize = 5;

/// The answer to a request.
pub enum ShownOutcome {
    /// A set of bundles that meets every requirement.
    Solution(Vec<ShownStep>),
    /// There is none.
    Conflict(ShownConflict),
    /// The request cannot be solved as it stands.
    Refusal {
        /// Why.
        message: String,
        /// The bundle with the fault.
        bundle: Option<ShownBundle>,
    },
}

/// A bundle of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownBundle {
    /// Its name.
    pub name: String,
    /// The channel that it is taken from, where that is known.
    pub channel: Option<String>,
    /// Name of its catalog.
    pub catalog: String,
}

/// A bundle to install or to upgrade to.
pub struct ShownStep {
    /// The bundle.
    pub bundle: ShownBundle,
    /// Whether it upgrades an installed operator.
    pub is_upgrade: bool,
    /// Name of the installed operator that is upgraded.
    pub replaces: String,
    /// Why it is needed, the first reason first.
    pub reasons: Vec<ShownReason>,
    /// Bundles that would have been preferred, with what makes each impossible.
    pub passed_over: Vec<(ShownBundle, Vec<ShownConstraint>)>,
    /// Number of such bundles that are not shown.
    pub more_passed_over: usize,
}

/// Why a bundle is needed.
pub struct ShownReason {
    /// Who needs it.
    pub by: ReasonSource,
    /// The requirement that it meets, in words; empty for a wanted package.
    pub requirement: String,
}

/// Who needs a bundle, by name.
pub enum ReasonSource {
    /// A wanted package.
    Wanted(String),
    /// Another bundle of the solution.
    Bundle(String),
    /// An installed operator.
    Installed(String),
}

/// Why there is no solution.
pub struct ShownConflict {
    /// A minimal set of constraints that contradict one another.
    pub constraints: Vec<ShownConstraint>,
    /// For each wanted package, whether the others can be solved without it.
    pub relaxations: Vec<(String, bool)>,
}

/// A constraint that takes part in a conflict.
pub struct ShownConstraint {
    /// Name of its kind in the API, such as `ONE_OF_PACKAGE`; one that is not known here is shown
    /// by its text.
    pub kind: String,
    /// The constraint in words.
    pub text: String,
    /// The bundle that it is about.
    pub bundle: Option<ShownBundle>,
    /// Name of the installed operator that it is about.
    pub installed: Option<String>,
    /// Name of the wanted package that it is about.
    pub wanted: Option<String>,
    /// What its author says to people for whom it is not met.
    pub failure_message: Option<String>,
    /// Bundles that could meet it, or that exclude one another.
    pub candidates: Vec<ShownBundle>,
    /// Whether there are more of them than are known here.
    pub has_more_candidates: bool,
}

impl Display for ShownBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.channel {
            Some(channel) => write!(f, "{} ({channel}, {})", self.name, self.catalog),
            None => write!(f, "{} ({})", self.name, self.catalog),
        }
    }
}

impl Display for ShownReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirement = &self.requirement;
        match &self.by {
            ReasonSource::Wanted(name) => write!(f, "{name} is wanted"),
            ReasonSource::Bundle(name) => write!(f, "{name} requires an operator {requirement}"),
            ReasonSource::Installed(name) => {
                write!(
                    f,
                    "{name}, which is installed, requires an operator {requirement}"
                )
            }
        }
    }
}

/// The constraint in the words of catalogs.
impl Display for ShownConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let candidates = self.named_candidates();
        let wanted = self.wanted.as_deref();
        let installed = self.installed.as_deref();
        match &*self.kind {
            "WANTED" if !self.candidates.is_empty() => {
                write!(f, "{} can be {candidates}", wanted.unwrap_or_default())?;
            }
            "INSTALLED" => write!(
                f,
                "{} is installed and not kept up to date",
                installed.unwrap_or_default()
            )?,
            "REQUIRES" => {
                let (_, requirement) = self.text.split_once(" requires ").unwrap_or_default();
                write!(f, "{} requires {requirement}; ", self.subject())?;
                if self.candidates.is_empty() {
                    f.write_str("no bundle meets that")?;
                } else {
                    write!(f, "only these meet that: {candidates}")?;
                }
            }
            "PROHIBITED" => write!(
                f,
                "{} is deprecated by its property olm.deprecated",
                self.subject()
            )?,
            "ONE_OF_PACKAGE" => write!(
                f,
                "only one bundle of a package can be installed: {candidates}"
            )?,
            "ONE_OF_API" => write!(
                f,
                "only one provider of an API can be installed: {}",
                self.text
            )?,
            _ => f.write_str(&self.text)?,
        }
        match &self.failure_message {
            Some(message) => write!(f, " (its author says: {message})"),
            None => Ok(()),
        }
    }
}

impl ShownConstraint {
    /// What it is about.
    fn subject(&self) -> String {
        let bundle = self.bundle.as_ref().map(ToString::to_string);
        bundle
            .or_else(|| {
                self.installed
                    .as_ref()
                    .map(|name| format!("{name}, which is installed,"))
            })
            .unwrap_or_default()
    }

    fn named_candidates(&self) -> String {
        let named: Vec<_> = self
            .candidates
            .iter()
            .take(NAMED_CANDIDATES)
            .map(ToString::to_string)
            .collect();
        let named = named.join(", ");
        match self.candidates.len().saturating_sub(NAMED_CANDIDATES) {
            _ if self.has_more_candidates => format!("{named} and more"),
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }
}

impl ShownOutcome {
    /// Prints it as a table or in sentences; a solution with all its reasons, if that is asked for.
    pub fn print(&self, out: &mut impl Write, has_headers: bool, explain: bool) -> io::Result<()> {
        match self {
            Self::Solution(steps) => print_solution(out, steps, has_headers, explain),
            Self::Conflict(conflict) => print_conflict(out, conflict),
            Self::Refusal { message, bundle } => {
                let place = bundle
                    .as_ref()
                    .map(|bundle| format!(" (in {bundle})"))
                    .unwrap_or_default();
                writeln!(out, "{} {message}{place}", error())
            }
        }
    }

    /// Draws who requires whom, or else what contradicts, for Mermaid.
    pub fn draw(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "flowchart LR")?;
        match self {
            Self::Solution(steps) => draw_solution(out, steps),
            Self::Conflict(conflict) => {
                for (at, constraint) in conflict.constraints.iter().enumerate() {
                    writeln!(out, "  r{at}[\"{}\"]", MermaidText(&constraint.to_string()))?;
                }
                Ok(())
            }
            Self::Refusal { message, .. } => {
                writeln!(out, "  refusal[\"{}\"]", MermaidText(message))
            }
        }
    }
}

fn print_solution(
    out: &mut impl Write,
    steps: &[ShownStep],
    has_headers: bool,
    explain: bool,
) -> io::Result<()> {
    if steps.is_empty() {
        return writeln!(out, "Nothing has to be installed or upgraded.");
    }
    let rows = steps.iter().map(|step| {
        let action = if step.is_upgrade {
            "upgrade"
        } else {
            "install"
        };
        let channel = step.bundle.channel.clone().unwrap_or_default();
        let because = step
            .reasons
            .first()
            .map(ToString::to_string)
            .unwrap_or_default();
        let ShownBundle { name, catalog, .. } = step.bundle.clone();
        [
            action.to_owned(),
            name,
            channel,
            catalog,
            step.replaces.clone(),
            because,
        ]
    });
    let header = [
        "ACTION", "BUNDLE", "CHANNEL", "CATALOG", "REPLACES", "BECAUSE",
    ];
    write!(
        out,
        "{}",
        table(header.into_iter().filter(|_| has_headers), rows)
    )?;
    let explained = steps
        .iter()
        .filter(|step| explain && (step.reasons.len() > 1 || !step.passed_over.is_empty()));
    for step in explained {
        out.write_all(explanation(step).as_bytes())?;
    }
    Ok(())
}

/// Says what else needs a bundle, and why better ones are impossible.
fn explanation(step: &ShownStep) -> String {
    let mut text = format!("\n{}\n", style(&step.bundle.name).bold());
    for reason in step.reasons.iter().skip(1) {
        let _infallible = writeln!(text, "  also because {reason}");
    }
    for (better, constraints) in &step.passed_over {
        let _infallible = writeln!(
            text,
            "  {better} would be preferred, but cannot be installed:"
        );
        for constraint in constraints {
            let _infallible = writeln!(text, "    - {constraint}");
        }
    }
    if step.more_passed_over > 0 {
        let _infallible = writeln!(text, "  and {} more", step.more_passed_over);
    }
    text
}

fn print_conflict(out: &mut impl Write, conflict: &ShownConflict) -> io::Result<()> {
    writeln!(
        out,
        "{} There is no solution. These contradict one another:",
        error()
    )?;
    for constraint in &conflict.constraints {
        writeln!(out, "  - {constraint}")?;
    }
    let solvable = conflict
        .relaxations
        .iter()
        .filter(|(_, is_solvable)| *is_solvable);
    let solvable: Vec<_> = solvable.map(|(wanted, _)| wanted.as_str()).collect();
    if conflict.relaxations.len() > 1 && !solvable.is_empty() {
        writeln!(
            out,
            "There is a solution without {}.",
            solvable.join(", or without ")
        )?;
    }
    Ok(())
}

fn draw_solution(out: &mut impl Write, steps: &[ShownStep]) -> io::Result<()> {
    let mut nodes: HashMap<&str, usize> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        writeln!(out, "  s{at}[\"{}\"]", MermaidText(&step.bundle.name))?;
        nodes.insert(&step.bundle.name, at);
    }
    for (at, step) in steps.iter().enumerate() {
        for (number, reason) in step.reasons.iter().enumerate() {
            let requirement = if reason.requirement.is_empty() {
                "is wanted"
            } else {
                &reason.requirement
            };
            let (ReasonSource::Wanted(by) | ReasonSource::Bundle(by) | ReasonSource::Installed(by)) =
                &reason.by;
            let node = nodes
                .get(by.as_str())
                .filter(|_| !matches!(reason.by, ReasonSource::Wanted(_)));
            let from = match node {
                Some(node) => format!("s{node}"),
                None => format!("o{at}_{number}([\"{}\"])", MermaidText(by)),
            };
            writeln!(out, "  {from} -->|\"{}\"| s{at}", MermaidText(requirement))?;
        }
    }
    Ok(())
}
