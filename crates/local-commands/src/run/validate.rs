//! `catalogql validate`: prints the problems of one catalog.

mod github;
pub(super) mod sarif;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use commands::ExitStatus;
use commands::output::hint;
use commands::similar::{question, similar_names};
use console::{Style, StyledObject, style};
use fbc::{Catalog, Channel};
use fbc_read::{Problem, ProblemCode, Severity};
use loading::{LoadError, Source};
use serde::Serialize;
use serving::FailureReason;

use super::once;
use super::output::{self, count, ignore_closed_pipe};
use super::render::is_bundle;
use super::sources::{SourceReference, check_configs_dir};
use crate::args::{ValidateArgs, ValidateOutput};

/// The output for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonValidation<'a> {
    /// `true` if `opm validate` accepts the catalog.
    valid: bool,
    /// The error where the catalog cannot be read at all.
    error: Option<JsonReadError>,
    packages: usize,
    bundles: usize,
    problems: Vec<JsonProblem<'a>>,
    /// Numbers of further problems, by code.
    unlisted_problems: BTreeMap<&'a str, u64>,
}

#[derive(Serialize)]
struct JsonReadError {
    message: String,
    file: Option<String>,
    line: Option<u32>,
}

#[derive(Serialize)]
struct JsonProblem<'a> {
    code: &'a str,
    severity: &'a str,
    message: &'a str,
    package: Option<&'a str>,
    channel: Option<&'a str>,
    bundle: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
}

/// A problem as tools for pull requests show it, with the path of its file from the working
/// directory.
pub(super) struct Finding<'a> {
    pub(super) code: &'a str,
    pub(super) severity: Severity,
    pub(super) message: String,
    pub(super) package: Option<&'a str>,
    pub(super) channel: Option<&'a str>,
    pub(super) bundle: Option<&'a str>,
    pub(super) file: Option<String>,
    pub(super) line: Option<u32>,
}

impl<'a> Finding<'a> {
    /// Makes a finding without a place.
    pub(super) fn new(code: &'a str, severity: Severity, message: String) -> Self {
        Self {
            code,
            severity,
            message,
            package: None,
            channel: None,
            bundle: None,
            file: None,
            line: None,
        }
    }
}

/// Code of the only problem of a catalog that cannot be read.
const UNREADABLE: &str = "UNREADABLE";

/// Prints the problems of a catalog. The exit status says whether `opm validate` rejects it, even if
/// the reader closes the output early; a source that cannot be read is neither valid nor invalid.
pub(super) fn validate(args: &ValidateArgs) -> anyhow::Result<ExitCode> {
    check_configs_dir(
        std::slice::from_ref(&args.source),
        args.images.configs_dir.as_deref(),
    )?;
    let source = SourceReference::parse(&args.source, args.images.configs_dir.as_deref())?;
    let content = once::load_one(&source, &args.images)?;
    let catalog = content.as_ref().map(|content| &*content.catalog);
    let mut out = output::stdout();
    let printed = match args.output {
        ValidateOutput::Table => text(&mut out, catalog),
        ValidateOutput::Json => json(&mut out, catalog),
        ValidateOutput::Sarif => sarif::print(&mut out, &findings(catalog, &files_prefix(&source))),
        ValidateOutput::Github => {
            github::print(&mut out, &findings(catalog, &files_prefix(&source)))
        }
    };
    ignore_closed_pipe(printed.and_then(|()| out.flush()))?;
    let bundle = Path::new(&args.source);
    if is_bundle(bundle) {
        hint(&format!(
            "hint: `{0}` looks like a bundle: `catalogql render {0}` prints its blob, `catalogql edit CATALOG add IMAGE={0}` adds it to a catalog",
            bundle.display()
        ));
    } else if let (ValidateOutput::Table, Some(path)) = (args.output, other_file(catalog)) {
        hint(&format!(
            "hint: every file of the directory is read: write {path} to .indexignore if it is no part of the catalog"
        ));
    }
    let status = match catalog {
        Ok(catalog) => ExitStatus::negative_if(count(catalog, Severity::Error) > 0),
        Err(error) if error.reason() == FailureReason::InvalidCatalog => ExitStatus::Negative,
        Err(_) => ExitStatus::Usage,
    };
    Ok(status.into())
}

/// Returns the path of a file with an error whose name is not that of JSON or YAML.
fn other_file<'a>(catalog: Result<&'a Catalog, &'a LoadError>) -> Option<&'a str> {
    let is_other = |path: &&str| {
        let extension = Path::new(path).extension().unwrap_or_default();
        !["json", "yaml", "yml"]
            .iter()
            .any(|known| extension == *known)
    };
    match catalog {
        Ok(catalog) => {
            let errors = catalog
                .problems()
                .iter()
                .filter(|problem| problem.severity() == Severity::Error);
            let mut files = errors.filter_map(|problem| problem.file.as_deref());
            files.find(is_other)
        }
        Err(LoadError::Read(failure)) => Some(&*failure.path).filter(is_other),
        Err(_) => None,
    }
}

impl Finding<'_> {
    /// The level of both formats.
    fn level(&self) -> &'static str {
        match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        }
    }

    /// Objects that have the problem: kinds with names.
    fn owners(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let owners = [
            ("package", self.package),
            ("channel", self.channel),
            ("bundle", self.bundle),
        ];
        owners
            .into_iter()
            .filter_map(|(kind, name)| Some((kind, name?)))
    }

    /// The message, after what it is about.
    fn text(&self) -> String {
        let mut text = String::new();
        for (kind, name) in self.owners() {
            text.extend([kind, " ", name, ": "]);
        }
        text + &self.message
    }
}

/// Returns what the paths of files of a source begin with: its directory, from the working
/// directory where it is below that, because pull requests have paths from there.
fn files_prefix(reference: &SourceReference) -> String {
    let Source::Directory(directory) = &reference.source else {
        return String::new();
    };
    let working = std::env::current_dir().unwrap_or_default();
    let directory = directory.strip_prefix(&working).unwrap_or(directory);
    let prefix = directory
        .components()
        .filter(|part| *part != Component::CurDir)
        .collect::<PathBuf>();
    if prefix.as_os_str().is_empty() {
        String::new()
    } else {
        format!("{}/", prefix.display())
    }
}

fn findings<'a>(catalog: Result<&'a Catalog, &LoadError>, prefix: &str) -> Vec<Finding<'a>> {
    let place = |file: &str| Some(format!("{prefix}{file}"));
    let catalog = match catalog {
        Ok(catalog) => catalog,
        Err(error) => {
            let JsonReadError {
                message,
                file,
                line,
            } = json_error(error);
            let file = file.as_deref().and_then(place);
            return vec![Finding {
                file,
                line,
                ..Finding::new(UNREADABLE, Severity::Error, message)
            }];
        }
    };
    let listed = catalog.problems().iter().map(|problem| Finding {
        code: problem.code.as_str(),
        severity: problem.severity(),
        message: problem.message.clone(),
        package: problem.package.as_deref(),
        channel: problem.channel.as_deref(),
        bundle: problem.bundle.as_deref(),
        file: problem.file.as_deref().and_then(place),
        line: problem.line,
    });
    let unlisted = catalog.all_problems().unlisted();
    let unlisted = unlisted.iter().map(|(code, count)| {
        Finding::new(
            code.as_str(),
            code.severity(),
            format!("{count} more problems of this kind"),
        )
    });
    listed.chain(unlisted).collect()
}

fn text(out: &mut impl Write, catalog: Result<&Catalog, &LoadError>) -> io::Result<()> {
    let catalog = match catalog {
        Ok(catalog) => catalog,
        Err(error) => return writeln!(out, "{} {}", severity_word(Severity::Error), error.chain()),
    };
    let mut by_package: BTreeMap<&str, Vec<&Problem>> = BTreeMap::new();
    for problem in catalog.problems() {
        by_package
            .entry(problem.package.as_deref().unwrap_or_default())
            .or_default()
            .push(problem);
    }
    for (package, problems) in &by_package {
        let package = if package.is_empty() {
            "(no package)"
        } else {
            package
        };
        writeln!(out, "{}", style(package).bold())?;
        for problem in problems {
            print_problem(out, catalog, problem)?;
        }
        writeln!(out)?;
    }
    print_unlisted(out, catalog)?;
    let all = catalog.packages().len() as u64;
    let errors = count(catalog, Severity::Error);
    let warnings = count(catalog, Severity::Warning);
    writeln!(
        out,
        "{} and {} in {}",
        number(errors, "error"),
        number(warnings, "warning"),
        number(all, "package")
    )
}

/// Prints how many more problems there are of each code than are listed.
fn print_unlisted(out: &mut impl Write, catalog: &Catalog) -> io::Result<()> {
    let unlisted = catalog.all_problems().unlisted();
    for (code, count) in unlisted.iter() {
        writeln!(
            out,
            "{} {count} more {code}",
            severity_word(code.severity()),
            code = code.as_str()
        )?;
    }
    if unlisted.total() > 0 {
        writeln!(out)
    } else {
        Ok(())
    }
}

/// Prints one problem, with the further lines of its message indented below the first.
fn print_problem(out: &mut impl Write, catalog: &Catalog, problem: &Problem) -> io::Result<()> {
    let place = match (&problem.file, problem.line) {
        (Some(file), Some(line)) => format!("{file}:{line}: "),
        (Some(file), None) => format!("{file}: "),
        _ => String::new(),
    };
    // A line may be one blob with all entries of a channel.
    let owner = [("channel", &problem.channel), ("bundle", &problem.bundle)];
    let owner = owner
        .map(|(kind, name)| {
            name.as_ref()
                .map_or(String::new(), |name| format!("{kind} {name}: "))
        })
        .concat();
    let message = problem.message.replace('\n', "\n    ");
    let code = Style::new().dim().apply_to(problem.code.as_str());
    let question = similar_channels(catalog, problem);
    writeln!(
        out,
        "  {} {place}{owner}{message} {code}{question}",
        severity_word(problem.severity())
    )
}

/// Returns the channels that an unknown default channel may stand for, as a question.
fn similar_channels(catalog: &Catalog, problem: &Problem) -> String {
    let package = problem.package.as_deref();
    let package = package.and_then(|package| catalog.package(package));
    let (ProblemCode::PackageDefaultChannelUnknown, Some(package), Some(channel)) =
        (problem.code, package, problem.channel.as_deref())
    else {
        return String::new();
    };
    let similar = similar_names(channel, package.channels().map(Channel::name));
    question(&similar).map_or(String::new(), |question| format!(" ({question})"))
}

fn severity_word(severity: Severity) -> StyledObject<&'static str> {
    match severity {
        Severity::Error => style("error:").red().bold(),
        Severity::Warning => style("warning:").yellow().bold(),
    }
}

fn number(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn json(out: &mut impl Write, catalog: Result<&Catalog, &LoadError>) -> io::Result<()> {
    let validation = match catalog {
        Ok(catalog) => JsonValidation {
            valid: count(catalog, Severity::Error) == 0,
            error: None,
            packages: catalog.packages().len(),
            bundles: catalog.bundles().len(),
            problems: catalog.problems().iter().map(json_problem).collect(),
            unlisted_problems: catalog
                .all_problems()
                .unlisted()
                .iter()
                .map(|(code, count)| (code.as_str(), count))
                .collect(),
        },
        Err(error) => JsonValidation {
            valid: false,
            error: Some(json_error(error)),
            packages: 0,
            bundles: 0,
            problems: Vec::new(),
            unlisted_problems: BTreeMap::new(),
        },
    };
    output::json(out, &validation)
}

fn json_error(error: &LoadError) -> JsonReadError {
    let (file, line) = match error {
        LoadError::Read(failure) => (Some(failure.path.clone()), Some(failure.error.line)),
        _ => (None, None),
    };
    JsonReadError {
        message: error.chain(),
        file,
        line,
    }
}

fn json_problem(problem: &Problem) -> JsonProblem<'_> {
    JsonProblem {
        code: problem.code.as_str(),
        severity: match problem.severity() {
            Severity::Error => "ERROR",
            Severity::Warning => "WARNING",
        },
        message: &problem.message,
        package: problem.package.as_deref(),
        channel: problem.channel.as_deref(),
        bundle: problem.bundle.as_deref(),
        file: problem.file.as_deref(),
        line: problem.line,
    }
}
