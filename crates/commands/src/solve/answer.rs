//! Response of `solve` and its text for people: a table, sentences, and a Mermaid drawing.

use std::collections::HashMap;
use std::fmt::{self, Display, Write as _};
use std::io::{self, Write};

use console::style;
use drawing::MermaidText;
use printing::{error, table};
use serde::Deserialize;

/// Number of candidates that a sentence names.
const NAMED_CANDIDATES: usize = 5;

/// Number of candidates of a constraint that the document requests.
const REQUESTED_CANDIDATES: usize = 10;

/// Response of the API.
// Every field has a default: an older server lacks some, which the client then leaves out of the
// document, and a newer one may have types that are not known here.
#[derive(Debug, Deserialize)]
#[serde(tag = "__typename")]
pub(super) enum SolveAnswer {
    /// Set of bundles that meets every requirement.
    Solution {
        /// Bundles to install or to upgrade to.
        #[serde(default)]
        steps: Vec<AnswerStep>,
    },
    /// No set of bundles meets every requirement.
    SolveConflict(AnswerConflict),
    /// The request cannot be solved as it stands.
    SolveRefusal {
        #[serde(default)]
        message: String,
        /// Bundle with the fault.
        bundle: Option<AnswerBundle>,
    },
    /// Type that a newer server has.
    #[serde(other)]
    Unknown,
}

/// Bundle of a catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct AnswerBundle {
    name: String,
    catalog: NamedObject,
}

/// Object of which only the name is requested.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct NamedObject {
    name: String,
}

/// Bundle to install or to upgrade to.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AnswerStep {
    bundle: AnswerBundle,
    /// Channel that the bundle is taken from.
    channel: NamedObject,
    action: String,
    /// Installed operator that is upgraded or, for an installation, the bundle that the entry
    /// replaces.
    replaces: Option<String>,
    reasons: Vec<AnswerReason>,
    /// Bundles that would have been preferred; requested for explanations only.
    passed_over: Option<Vec<RejectedBundle>>,
}

/// Bundle that a solution cannot have, with the constraints against it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RejectedBundle {
    bundle: AnswerBundle,
    constraints: Vec<AnswerConstraint>,
}

/// Need for a bundle: of a wanted package, of another bundle, or of an installed operator.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AnswerReason {
    wanted: Option<String>,
    required_by: Option<NamedObject>,
    required_by_installed: Option<String>,
    /// Requirement in words; `None` for a wanted package.
    requirement: Option<String>,
}

/// Proof that a request has no solution.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AnswerConflict {
    /// Minimal set of constraints that contradict one another.
    constraints: Vec<AnswerConstraint>,
    relaxations: Vec<AnswerRelaxation>,
}

/// Effect of leaving out one wanted package.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AnswerRelaxation {
    wanted: String,
    is_solvable: bool,
}

/// Constraint that takes part in a conflict.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AnswerConstraint {
    /// Name of its kind in the API, such as `ONE_OF_PACKAGE`. A kind that is not known here is
    /// printed by its text.
    kind: String,
    /// The constraint in the words of OLM v0.
    text: String,
    bundle: Option<AnswerBundle>,
    installed: Option<String>,
    wanted: Option<String>,
    constraint: Option<RequirementText>,
    candidates: Option<Vec<AnswerBundle>>,
}

/// Texts of the author of a requirement.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RequirementText {
    failure_message: Option<String>,
}

impl Display for AnswerBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.catalog.name)
    }
}

impl AnswerReason {
    /// Returns the name of the requirer.
    fn requirer(&self) -> &str {
        let required_by = self.required_by.as_ref().map(|bundle| &bundle.name);
        let requirer = self.wanted.as_ref().or(required_by);
        requirer
            .or(self.required_by_installed.as_ref())
            .map(String::as_str)
            .unwrap_or_default()
    }
}

impl Display for AnswerReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirer = self.requirer();
        let requirement = self.requirement.as_deref().unwrap_or_default();
        if self.wanted.is_some() {
            write!(f, "{requirer} is wanted")
        } else if self.required_by.is_some() {
            write!(f, "{requirer} requires an operator {requirement}")
        } else {
            write!(
                f,
                "{requirer}, which is installed, requires an operator {requirement}"
            )
        }
    }
}

/// The constraint in the words of catalogs.
impl Display for AnswerConstraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let candidates = self.named_candidates();
        let has_candidates = !candidates.is_empty();
        let wanted = self.wanted.as_deref().unwrap_or_default();
        let installed = self.installed.as_deref().unwrap_or_default();
        match &*self.kind {
            "WANTED" if has_candidates => write!(f, "{wanted} can be {candidates}")?,
            "INSTALLED" => write!(f, "{installed} is installed and not kept up to date")?,
            "REQUIRES" => {
                let (_, requirement) = self.text.split_once(" requires ").unwrap_or_default();
                write!(f, "{} requires {requirement}; ", self.subject())?;
                if has_candidates {
                    write!(f, "only these meet that: {candidates}")?;
                } else {
                    f.write_str("no bundle meets that")?;
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
        let requirement = self.constraint.as_ref();
        match requirement.and_then(|requirement| requirement.failure_message.as_ref()) {
            Some(message) => write!(f, " (its author says: {message})"),
            None => Ok(()),
        }
    }
}

impl AnswerConstraint {
    /// Returns the bundle or the installed operator that the constraint is about.
    fn subject(&self) -> String {
        if let Some(bundle) = &self.bundle {
            return bundle.to_string();
        }
        let installed = self.installed.as_ref();
        installed
            .map(|name| format!("{name}, which is installed,"))
            .unwrap_or_default()
    }

    /// Returns the first candidates; empty if there are none.
    fn named_candidates(&self) -> String {
        let listed = self.candidates.as_deref().unwrap_or_default();
        // The API lists a bundle once for each of its channels.
        let mut candidates: Vec<&AnswerBundle> = Vec::new();
        for candidate in listed {
            if !candidates.contains(&candidate) {
                candidates.push(candidate);
            }
        }
        let named: Vec<_> = candidates
            .iter()
            .take(NAMED_CANDIDATES)
            .map(ToString::to_string)
            .collect();
        let named = named.join(", ");
        match candidates.len().saturating_sub(NAMED_CANDIDATES) {
            // A full page may have been cut.
            _ if listed.len() == REQUESTED_CANDIDATES => format!("{named} and more"),
            0 => named,
            more => format!("{named} and {more} more"),
        }
    }
}

impl SolveAnswer {
    /// Prints a solution as a table, with all reasons if `explain` is set, and a conflict in
    /// sentences.
    pub(super) fn print(
        &self,
        out: &mut impl Write,
        has_headers: bool,
        explain: bool,
    ) -> io::Result<()> {
        match self {
            Self::Solution { steps } => print_solution(out, steps, has_headers, explain),
            Self::SolveConflict(conflict) => print_conflict(out, conflict),
            Self::SolveRefusal { .. } | Self::Unknown => Ok(()),
        }
    }

    /// Draws the requirements of a solution, or the constraints of a conflict, for Mermaid.
    pub(super) fn draw(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Solution { steps } => {
                writeln!(out, "flowchart LR")?;
                draw_solution(out, steps)
            }
            Self::SolveConflict(conflict) => {
                writeln!(out, "flowchart LR")?;
                for (at, constraint) in conflict.constraints.iter().enumerate() {
                    writeln!(out, "  r{at}[\"{}\"]", MermaidText(&constraint.to_string()))?;
                }
                Ok(())
            }
            Self::SolveRefusal { .. } | Self::Unknown => Ok(()),
        }
    }
}

fn print_solution(
    out: &mut impl Write,
    steps: &[AnswerStep],
    has_headers: bool,
    explain: bool,
) -> io::Result<()> {
    if steps.is_empty() {
        return writeln!(out, "Nothing has to be installed or upgraded.");
    }
    let rows = steps.iter().map(|step| {
        let is_upgrade = step.action == "UPGRADE";
        let action = if is_upgrade { "upgrade" } else { "install" };
        // A new installation replaces nothing, whatever its entry says.
        let replaces = step.replaces.clone().filter(|_| is_upgrade);
        let because = step.reasons.first().map(ToString::to_string);
        [
            action.to_owned(),
            step.bundle.name.clone(),
            step.channel.name.clone(),
            step.bundle.catalog.name.clone(),
            replaces.unwrap_or_default(),
            because.unwrap_or_default(),
        ]
    });
    let header = [
        "ACTION", "BUNDLE", "CHANNEL", "CATALOG", "REPLACES", "BECAUSE",
    ];
    let header = header.into_iter().filter(|_| has_headers);
    write!(out, "{}", table(header, rows))?;
    if !explain {
        return Ok(());
    }
    for step in steps {
        out.write_all(explanation(step).as_bytes())?;
    }
    Ok(())
}

/// Returns the further reasons for a bundle, and those against better ones; empty if there are
/// none.
fn explanation(step: &AnswerStep) -> String {
    let passed_over = step.passed_over.as_deref().unwrap_or_default();
    if step.reasons.len() < 2 && passed_over.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", style(&step.bundle.name).bold());
    for reason in step.reasons.iter().skip(1) {
        let _infallible = writeln!(text, "  also because {reason}");
    }
    for better in passed_over {
        let _infallible = writeln!(
            text,
            "  {} would be preferred, but cannot be installed:",
            better.bundle
        );
        for constraint in &better.constraints {
            let _infallible = writeln!(text, "    - {constraint}");
        }
    }
    text
}

fn print_conflict(out: &mut impl Write, conflict: &AnswerConflict) -> io::Result<()> {
    writeln!(
        out,
        "{} There is no solution. These contradict one another:",
        error()
    )?;
    for constraint in &conflict.constraints {
        writeln!(out, "  - {constraint}")?;
    }
    let solvable = conflict.relaxations.iter().filter(|one| one.is_solvable);
    let solvable: Vec<_> = solvable.map(|one| one.wanted.as_str()).collect();
    if conflict.relaxations.len() > 1 && !solvable.is_empty() {
        writeln!(
            out,
            "There is a solution without {}.",
            solvable.join(", or without ")
        )?;
    }
    Ok(())
}

fn draw_solution(out: &mut impl Write, steps: &[AnswerStep]) -> io::Result<()> {
    let mut nodes: HashMap<&str, usize> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        writeln!(out, "  s{at}[\"{}\"]", MermaidText(&step.bundle.name))?;
        nodes.insert(&step.bundle.name, at);
    }
    for (at, step) in steps.iter().enumerate() {
        for (number, reason) in step.reasons.iter().enumerate() {
            let requirement = reason.requirement.as_deref().unwrap_or("is wanted");
            let requirer = reason.requirer();
            let node = nodes.get(requirer).filter(|_| reason.wanted.is_none());
            let from = match node {
                Some(node) => format!("s{node}"),
                None => format!("o{at}_{number}([\"{}\"])", MermaidText(requirer)),
            };
            writeln!(out, "  {from} -->|\"{}\"| s{at}", MermaidText(requirement))?;
        }
    }
    Ok(())
}
