//! `catalogql edit`: changes the files of a catalog by operations, all or none.

mod input;

use std::io::{self, Write};
use std::process::ExitCode;

use commands::output::hint;
use commands::{CommandError, ExitStatus};
use edit::file::FileChange;
use edit::summary::ChangedBlob;
use edit::{BatchError, EditLimits, refusal};
use edit_directory::{CatalogDirectory, DirectoryEditError, EditPlan, FolderError, LockedFolder};
use similar::{DiffTag, TextDiff};

use super::output::{self, ignore_closed_pipe, table};
use crate::args::{EditArgs, SummaryFormat};

/// Number of unchanged lines around a change in a patch.
const CONTEXT_LINES: usize = 3;

/// Maximum length in bytes of an unchanged line in a patch. A patch of a file with a longer one
/// has no unchanged lines: in a catalog of one line per blob, a line is a whole bundle.
const MAX_CONTEXT_BYTES: usize = 1_000;

/// An edit of the command line was not done.
#[derive(Debug, thiserror::Error)]
enum EditCommandError {
    /// The operations cannot be read, or a bundle of them cannot be rendered.
    #[error(transparent)]
    Input(#[from] anyhow::Error),
    /// The operations are refused, for these reasons.
    #[error("{0}")]
    Refused(String),
    /// The directory was not edited.
    #[error(transparent)]
    Directory(#[from] DirectoryEditError),
}

/// Edits a directory. The exit status is 1 if the edit is refused, and 2 if the catalog or the
/// operations cannot be read.
pub(super) fn edit(args: &EditArgs) -> anyhow::Result<ExitCode> {
    match plan_and_write(args) {
        Ok(plan) => {
            ignore_closed_pipe(print(args, &plan))?;
            print_warnings(&plan);
            // A patch that is printed looks like one that waits to be applied.
            if args.patch && !args.dry_run {
                print_written(args, &plan);
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(error @ EditCommandError::Directory(DirectoryEditError::Read(_))) => {
            let directory = args.directory.display();
            Err(anyhow::Error::from(error)
                .context(format!("cannot read the catalog `{directory}`")))
        }
        Err(error) if error.is_unreadable() => Err(error.into()),
        Err(error) => {
            let message = format!("{:#}", anyhow::Error::from(error));
            Err(CommandError::new(ExitStatus::Negative, message).into())
        }
    }
}

fn plan_and_write(args: &EditArgs) -> Result<EditPlan, EditCommandError> {
    let directory = &args.directory;
    if !directory.exists() {
        let message = format!(
            "cannot edit the catalog `{0}`: there is no such directory; `mkdir {0}` creates an empty catalog",
            directory.display()
        );
        return Err(anyhow::Error::msg(message).into());
    }
    let batch = input::operations(args)?;
    // A dry run writes nothing, so that it does not finish an interrupted change.
    let lock = if args.dry_run {
        LockedFolder::lock_to_read
    } else {
        LockedFolder::lock
    };
    let folder = lock(&args.directory).map_err(DirectoryEditError::Lock)?;
    let directory = CatalogDirectory::read(folder).map_err(DirectoryEditError::from)?;
    let plan = directory.plan(&batch, EditLimits::NONE);
    let plan = plan.map_err(|error| match error {
        DirectoryEditError::Batch(BatchError(errors)) => {
            EditCommandError::Refused(refusal::message(&errors, &directory.package_names()))
        }
        other => other.into(),
    })?;
    if !args.dry_run && !plan.changes.is_empty() {
        directory.write(&plan.changes)?;
    }
    Ok(plan)
}

impl EditCommandError {
    fn is_unreadable(&self) -> bool {
        matches!(
            self,
            Self::Input(_)
                | Self::Directory(
                    DirectoryEditError::Read(_) | DirectoryEditError::Lock(FolderError::Io { .. })
                )
        )
    }
}

fn print_warnings(plan: &EditPlan) {
    let problems = plan.summary.problems.iter().map(ToString::to_string);
    let notices = plan.summary.notices.iter().map(ToString::to_string);
    for warning in problems.chain(notices) {
        hint(&format!("{} {warning}", output::warning()));
    }
    if plan.changes.is_empty() {
        hint("unchanged");
    }
}

/// Names the files that were written.
fn print_written(args: &EditArgs, plan: &EditPlan) {
    for change in &plan.changes {
        let path = args.directory.join(&change.path);
        hint(&format!("wrote {}", path.display()));
    }
}

fn print(args: &EditArgs, plan: &EditPlan) -> io::Result<()> {
    let summary = &plan.summary.changes;
    let mut out = output::stdout();
    if args.patch {
        return plan
            .changes
            .iter()
            .try_for_each(|change| write!(out, "{}", patch(change)));
    }
    match args.output {
        SummaryFormat::Json => output::json(&mut out, summary),
        SummaryFormat::Table if summary.is_empty() => Ok(()),
        SummaryFormat::Table => {
            write!(
                out,
                "{}",
                table(
                    ["CHANGE", "SCHEMA", "NAME", "PACKAGE", "HEADS"],
                    summary.iter().map(row)
                )
            )
        }
    }
}

fn row(blob: &ChangedBlob) -> [String; 5] {
    let heads = blob
        .graph
        .as_ref()
        .filter(|graph| graph.from_heads != graph.to_heads);
    let heads = heads.map(|graph| {
        format!(
            "{} -> {}",
            graph.from_heads.join(", "),
            graph.to_heads.join(", ")
        )
    });
    let ChangedBlob {
        change,
        schema,
        package,
        name,
        ..
    } = blob;
    [
        change.as_str().to_owned(),
        schema.clone(),
        name.clone(),
        package.clone(),
        heads.unwrap_or_default(),
    ]
}

/// Returns the changed lines of a file as a unified patch.
fn patch(change: &FileChange) -> String {
    let text = |bytes: &Option<Vec<u8>>| {
        String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned()
    };
    let before = text(&change.before);
    let after = text(&change.after);
    let name = |bytes: &Option<Vec<u8>>, side: &str| match bytes {
        Some(_) => format!("{side}/{}", change.path),
        None => "/dev/null".to_owned(),
    };
    let diff = TextDiff::from_lines(&before, &after);
    let has_long_context = diff
        .grouped_ops(CONTEXT_LINES)
        .iter()
        .flatten()
        .filter(|operation| operation.tag() == DiffTag::Equal)
        .flat_map(|operation| &diff.old_slices()[operation.old_range()])
        .any(|line| line.len() > MAX_CONTEXT_BYTES);
    // A shortened line would not apply, and hunks with context on one side apply only at the start
    // or the end of a file.
    let context_lines = if has_long_context { 0 } else { CONTEXT_LINES };
    diff.unified_diff()
        .context_radius(context_lines)
        .header(&name(&change.before, "a"), &name(&change.after, "b"))
        .to_string()
}
