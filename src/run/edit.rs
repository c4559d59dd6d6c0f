//! `catalogql edit`: changes the files of a catalog by operations, all or none.

mod input;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use edit::bundle::RenderedBundle;
use edit::file::{self, ChangeError, FileChange, SourceFile};
use edit::folder::{FolderError, LockedFolder};
use edit::summary::{ChangedBlob, EditSummary};
use edit::{Content, Operation, apply_and_check};
use loading::directory::{self, DirectoryError, ListedFile, Listing};
use similar::TextDiff;

use super::lines;
use super::output::{self, ignore_closed_pipe, table};
use crate::args::{EditArgs, SummaryFormat};

/// Exit status when the catalog or the operations cannot be read.
const UNREADABLE: u8 = 2;

/// Why nothing was written.
enum Failure {
    /// The operations are not allowed, or somebody else edits.
    Refused(anyhow::Error),
    /// Something cannot be read.
    Unreadable(anyhow::Error),
}

/// Edits a directory. The exit status is 1 if the edit is refused, and 2 if the catalog or the
/// operations cannot be read.
pub(super) fn edit(args: &EditArgs) -> anyhow::Result<ExitCode> {
    match changed(args) {
        Ok((edit, changes)) => {
            ignore_closed_pipe(print(args, &edit.changes, &changes))?;
            let problems = edit.problems.iter().map(ToString::to_string);
            for warning in problems.chain(edit.notices.iter().map(ToString::to_string)) {
                // A hint, not data; and nothing is left to do when it cannot be printed.
                let _ = writeln!(output::stderr(), "{} {warning}", output::warning());
            }
            if changes.is_empty() {
                // A hint, not data; and nothing is left to do when it cannot be printed.
                let _ = writeln!(io::stderr(), "unchanged");
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(Failure::Refused(error)) => Err(error),
        Err(Failure::Unreadable(error)) => {
            let _ = writeln!(output::stderr(), "{} {error:#}", output::error());
            Ok(ExitCode::from(UNREADABLE))
        }
    }
}

fn changed(args: &EditArgs) -> Result<(EditSummary, Vec<FileChange>), Failure> {
    let batch: Vec<Operation<RenderedBundle>> =
        input::operations(args).map_err(Failure::Unreadable)?;
    // Only what may write finishes a change that was interrupted.
    let lock = if args.dry_run {
        LockedFolder::lock_to_read
    } else {
        LockedFolder::lock
    };
    let folder = lock(&args.directory).map_err(|error| match error {
        FolderError::Io { .. } => Failure::Unreadable(error.into()),
        _ => Failure::Refused(error.into()),
    })?;
    let (listing, files) = read(&folder).map_err(Failure::Unreadable)?;
    let content = file::content(&files);
    let (edited, summary) =
        apply_and_check(&content, &batch).map_err(|refusal| Failure::Refused(refusal.into()))?;
    let changes = changes(&listing, &files, &content, &edited)
        .map_err(|error| Failure::Refused(error.into()))?;
    if !args.dry_run && !changes.is_empty() {
        write(&folder, &listing, &changes).map_err(Failure::Refused)?;
    }
    Ok((summary, changes))
}

/// Reads the files of the catalog, those that `.indexignore` leaves in.
pub(super) fn read(folder: &LockedFolder) -> anyhow::Result<(Listing, Vec<SourceFile>)> {
    let listing = directory::list_with_rules(folder.root())?;
    let add = |lines: &mut Vec<Arc<str>>, line: &str| lines.push(line.into());
    let lines = lines::read_files(&listing, |_| Vec::new(), add)?;
    let files = listing
        .files()
        .iter()
        .zip(lines)
        .map(|(file, lines)| SourceFile::new(&file.path, lines))
        .collect();
    Ok((listing, files))
}

/// Finds how files change with a content that was read from them.
pub(super) fn changes(
    listing: &Listing,
    files: &[SourceFile],
    from: &Content,
    to: &Content,
) -> Result<Vec<FileChange>, ChangeError> {
    let changes = file::changes(files, from, to, |path| {
        let listed = listing
            .files()
            .iter()
            .find(|file| file.path == path)
            .ok_or(io::ErrorKind::NotFound)?;
        read_file(listing, listed).map_err(io::Error::other)
    })?;
    match changes
        .iter()
        .find(|change| !listing.includes(&change.path))
    {
        Some(ignored) => Err(ChangeError::Ignored(ignored.path.clone())),
        None => Ok(changes),
    }
}

/// Reads the bytes of a file.
fn read_file(listing: &Listing, listed: &ListedFile) -> Result<Vec<u8>, DirectoryError> {
    let mut open = listing.open(listed)?;
    let mut bytes = vec![0; usize::try_from(listed.bytes).unwrap_or_default() + 1];
    let mut length = 0;
    loop {
        match open.read(&mut bytes[length..])? {
            0 => break,
            read => length += read,
        }
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
    }
    bytes.truncate(length);
    Ok(bytes)
}

/// Replaces files, unless one of the directory changed since it was listed.
pub(super) fn write(
    folder: &LockedFolder,
    listing: &Listing,
    changes: &[FileChange],
) -> anyhow::Result<()> {
    // Files that do not change decided too what the edit does.
    if directory::list_with_rules(folder.root())?.revision() != listing.revision() {
        return Err(FolderError::Conflict(folder.root().to_owned()).into());
    }
    folder
        .write(changes)
        .with_context(|| format!("cannot change the catalog in `{}`", folder.root().display()))
}

fn print(args: &EditArgs, summary: &[ChangedBlob], changes: &[FileChange]) -> io::Result<()> {
    let mut out = output::stdout();
    if args.patch {
        return changes
            .iter()
            .try_for_each(|change| write!(out, "{}", patch(change)));
    }
    match args.output {
        SummaryFormat::Json => output::json(&mut out, &summary),
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
    diff.unified_diff()
        .header(&name(&change.before, "a"), &name(&change.after, "b"))
        .to_string()
}
