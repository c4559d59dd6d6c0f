//! Applies batches of operations to a catalog, as a whole or not at all.

use std::collections::{BTreeSet, HashSet};

use fbc_read::problem::{ProblemCode, Severity};

use crate::bundle::RenderedBundle;
use crate::catalog::CatalogBlobs;
use crate::draft::{CatalogDraft, EditLimits};
use crate::error::{BatchError, EditError};
use crate::notice::EditNotice;
use crate::operation::Operation;
use crate::problem::NewProblem;
use crate::summary::{EditSummary, summarize};
use crate::{add, deprecate, package, remove};

/// Result of a batch.
#[derive(Clone, Debug)]
pub struct EditedCatalog {
    /// The new catalog.
    pub catalog: CatalogBlobs,
    /// Its differences to the former one.
    pub summary: EditSummary,
}

/// Applies a batch without limits and returns the new catalog, as [`apply_within`] does.
pub fn apply(
    catalog: &CatalogBlobs,
    batch: &[Operation<RenderedBundle>],
) -> Result<CatalogBlobs, BatchError> {
    apply_within(catalog, batch, EditLimits::NONE).map(|edited| edited.catalog)
}

/// Applies a batch. The new catalog has no error that the former one did not have.
///
/// # Errors
/// Every reason against the first operation that cannot be applied, or against the result.
pub fn apply_within(
    catalog: &CatalogBlobs,
    batch: &[Operation<RenderedBundle>],
    limits: EditLimits,
) -> Result<EditedCatalog, BatchError> {
    let mut draft = CatalogDraft::new(catalog, limits);
    let mut notices = Vec::new();
    for operation in batch {
        apply_operation(&mut draft, operation, &mut notices)?;
    }

    let edited = draft.finish();
    let problems = check(catalog, &edited)?;
    let summary = EditSummary {
        changes: summarize(catalog, &edited),
        problems,
        notices,
    };
    Ok(EditedCatalog {
        catalog: edited,
        summary,
    })
}

/// Finds the warnings of a catalog that the former one did not have.
///
/// # Errors
/// If it has errors that the former one did not have.
fn check(former: &CatalogBlobs, edited: &CatalogBlobs) -> Result<Vec<NewProblem>, EditError> {
    let changed = changed_packages(former, edited);
    let problems = edited
        .problems(&changed)
        .map_err(|error| EditError::WouldInvalidate(vec![error.to_string()]))?;
    if problems.is_empty() {
        return Ok(Vec::new());
    }

    // A catalog that is invalid already can still be edited: only new problems count.
    let known: HashSet<_> = former
        .problems(&changed)
        .unwrap_or_default()
        .into_iter()
        .map(|(_, problem)| problem)
        .collect();
    let new = problems
        .into_iter()
        .filter(|(_, problem)| !known.contains(problem));
    let (errors, warnings): (Vec<_>, Vec<_>) =
        new.partition(|(severity, _)| *severity == Severity::Error);
    if errors.is_empty() {
        return Ok(warnings.into_iter().map(|(_, problem)| problem).collect());
    }

    let messages = errors
        .into_iter()
        .map(|(_, problem)| error_message(&problem, former))
        .collect();
    Err(EditError::WouldInvalidate(messages))
}

/// Lists the packages with blobs that differ, without those that are gone: they have no problems.
fn changed_packages(former: &CatalogBlobs, edited: &CatalogBlobs) -> BTreeSet<String> {
    let existing = edited.packages();
    former
        .changes(edited)
        .iter()
        .filter_map(|change| change.after.as_ref().or(change.before.as_ref()))
        .map(|blob| &blob.package)
        .filter(|package| package.is_empty() || existing.contains(*package))
        .map(ToString::to_string)
        .collect()
}

/// Returns the message of an error that an edit would make.
fn error_message(problem: &NewProblem, former: &CatalogBlobs) -> String {
    // `opm` says of a missing default channel neither what happened nor what to do.
    let (ProblemCode::PackageDefaultChannelUnknown, Some(package), Some(channel)) =
        (problem.code, &problem.package, &problem.channel)
    else {
        return problem.to_string();
    };
    let existed = former.blobs().iter().any(|blob| {
        &*blob.schema == "olm.channel" && blob.package == *package && blob.name == *channel
    });
    if existed {
        format!(
            "package {package}: cannot remove channel {channel}: it is the default channel: choose another one with \
             `set-package --default-channel` (`defaultChannel` in JSON), or remove the package with `rm`"
        )
    } else {
        format!(
            "package {package}: cannot make {channel} the default channel: there is no such channel"
        )
    }
}

fn apply_operation(
    draft: &mut CatalogDraft<'_>,
    operation: &Operation<RenderedBundle>,
    notices: &mut Vec<EditNotice>,
) -> Result<(), BatchError> {
    match operation {
        Operation::Add(add) => add::add(draft, add, notices),
        Operation::Rm(packages) => remove::remove_packages(draft, packages),
        Operation::Prune(packages) => remove::prune(draft, packages, notices),
        Operation::PruneStranded {} => remove::prune_stranded(draft),
        Operation::RemoveChannel {
            package,
            channel,
            prune_stranded,
        } => remove::remove_channel(draft, package, channel, *prune_stranded),
        Operation::DeleteLatest {
            package,
            drop_empty_channels,
        } => remove::delete_latest(draft, package, *drop_empty_channels),
        Operation::DeleteBundle {
            package,
            bundle,
            policy,
        } => remove::delete_bundle(draft, package, bundle, *policy),
        Operation::DeprecateTruncate(request) => deprecate::truncate(draft, request),
        Operation::Deprecate(request) => deprecate::deprecate(draft, request),
        Operation::Undeprecate(request) => deprecate::undeprecate(draft, request),
        Operation::CreatePackage(fields) => package::create_package(draft, fields),
        Operation::SetPackage(fields) => package::set_package(draft, fields),
        Operation::AddChannel(entries) => package::add_channel(draft, entries),
        Operation::SetEntry(entries) => package::set_entry(draft, entries),
        Operation::Promote {
            package,
            bundle,
            channel,
        } => package::promote(draft, package, bundle, channel),
    }
}
