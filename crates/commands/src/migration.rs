//! `migration`: which operators of OLM v0 can be moved to OLM v1, what blocks the others, and the
//! manifests of a move. Nothing is changed.
//!
//! The checks are those of upstream's tool (`operator-framework/library-olm`), under its letters. What
//! they need of catalogs comes from GraphQL, everything else from objects of a cluster that callers
//! pass.

mod catalog_moves;
mod checks;
mod judgement;
mod manifests;
mod objects;
mod offers;
mod operator;
mod report;

use std::collections::BTreeSet;

use printing::text;

use self::catalog_moves::{CatalogMove, catalog_moves};
use self::judgement::{MigrationStatus, OperatorJudgement, judge};
use self::manifests::{catalog_manifest, extension_manifest, follows};
pub use self::objects::{MigrationKind, MigrationObjects};
use self::offers::{CatalogOffers, successors};
use self::operator::ClusterIndex;
use self::report::MigrationReport;
use crate::args::MigrationArgs;
use crate::output::{OutputFormat, hint, is_structured, print, print_object, print_value};
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport};

/// Number of names that a sentence has at most; the others are counted. Each operator of a cluster may
/// have to do with all others.
pub const MAX_NAMED_OBJECTS: usize = 10;

/// Prints which operators can be moved, or the manifests of the move.
///
/// The status is a success if all can be moved as they are, negative if one cannot or only with an
/// acknowledgement, and that of a wrong command line if something could not be read.
pub async fn migration<T: GraphqlTransport>(
    session: &CommandSession<T>,
    mut objects: MigrationObjects,
    args: &MigrationArgs,
) -> Result<ExitStatus, CommandError> {
    objects.add_files(&args.file)?;
    if let Err(reason) = objects.read(MigrationKind::Subscription) {
        return Err(refused(&format!(
            "Subscriptions could not be read: {reason}"
        )));
    }
    for (kind, reason) in objects.unread() {
        hint(&format!(
            "cannot read {}s, without which checks are unknown: {reason}",
            kind.name()
        ));
    }
    let subscriptions = objects.known(MigrationKind::Subscription);
    let packages: BTreeSet<_> = subscriptions
        .map(|subscription| text(subscription, "/spec/name"))
        .filter(|package| !package.is_empty())
        .collect();
    let mut offers = CatalogOffers::fetch(session, &packages).await?;
    let index = ClusterIndex::new(&objects);
    if args.bundle_images {
        judge_from_images(session, &mut offers, &index).await;
    }
    let mut judgements = judge(&index, &objects, &offers);
    let moves = catalog_moves(&objects);
    select(&mut judgements, &args.operators)?;
    ask_for_upgrades(session, &offers, &mut judgements).await?;

    let is_gone = |origin: &str| {
        let (namespace, name) = origin.split_once('/').unwrap_or_default();
        let subscription = objects.object(MigrationKind::Subscription, namespace, name);
        subscription.is_none()
    };
    let migrated = index.migrated();
    let migrated = migrated.filter(|(origin, _)| args.operators.is_empty() && is_gone(origin));
    let migrated = migrated.map(|(origin, extension)| (extension.to_owned(), origin.to_owned()));
    let is_shown = |moved: &CatalogMove| {
        args.operators.is_empty() || judgements.iter().any(|judgement| follows(judgement, moved))
    };
    let moves: Vec<_> = moves.into_iter().filter(is_shown).collect();
    let report = MigrationReport {
        objects: &objects,
        judgements: &judgements,
        migrated: migrated.collect(),
        moves: &moves,
    };
    if args.manifests {
        print_manifests(session, &report, args)?;
    } else {
        print_report(session, &report)?;
    }
    Ok(match report.verdict() {
        MigrationStatus::Eligible | MigrationStatus::AlreadyMigrated => ExitStatus::Success,
        MigrationStatus::Conflict | MigrationStatus::Ineligible => ExitStatus::Negative,
        MigrationStatus::Unknown => ExitStatus::Usage,
    })
}

/// Judges what is installed from the manifests in images. Bundles without them stay as they are
/// judged from catalogs.
async fn judge_from_images<T: GraphqlTransport>(
    session: &CommandSession<T>,
    offers: &mut CatalogOffers,
    index: &ClusterIndex<'_>,
) {
    let subscriptions = index.objects.known(MigrationKind::Subscription);
    let installed = subscriptions.map(|subscription| {
        let operator = index.operator(subscription);
        (operator.package().to_owned(), operator.version())
    });
    let installed: BTreeSet<_> = installed.collect();
    let unjudged = offers.judge_from_images(session, &installed).await;
    if let Some(reason) = unjudged.reason {
        hint(&format!(
            "{} bundles are judged without the manifests in their images: {reason}",
            unjudged.count
        ));
    }
}

/// Keeps the operators that the command line names; all if it names none.
fn select(
    judgements: &mut Vec<OperatorJudgement<'_>>,
    wanted: &[String],
) -> Result<(), CommandError> {
    let is_meant = |judgement: &OperatorJudgement<'_>, wanted: &str| {
        judgement.operator.place() == wanted || judgement.operator.name() == wanted
    };
    for name in wanted {
        if !judgements.iter().any(|judgement| is_meant(judgement, name)) {
            let message = format!("the cluster has no Subscription `{name}`");
            return Err(CommandError::new(ExitStatus::NotFound, message)
                .hint("write its name, or NAMESPACE/NAME"));
        }
    }
    if !wanted.is_empty() {
        judgements.retain(|judgement| wanted.iter().any(|name| is_meant(judgement, name)));
    }
    Ok(())
}

/// Asks for what OLM v1 does next with each operator.
async fn ask_for_upgrades<T: GraphqlTransport>(
    session: &CommandSession<T>,
    offers: &CatalogOffers,
    judgements: &mut [OperatorJudgement<'_>],
) -> Result<(), CommandError> {
    let questions: Vec<_> = judgements
        .iter()
        .map(OperatorJudgement::questions)
        .collect();
    let all: Vec<_> = questions.iter().flatten().cloned().collect();
    let mut answers = successors(session, &all).await?.into_iter();
    for (judgement, questions) in judgements.iter_mut().zip(&questions) {
        let next = questions.iter().zip(&mut answers);
        let next = next.map(|(question, successors)| offers.next(question, &successors));
        judgement.set_next(next.collect());
    }
    Ok(())
}

fn print_report<T>(
    session: &CommandSession<T>,
    report: &MigrationReport<'_>,
) -> Result<(), CommandError> {
    match &session.output {
        output if is_structured(output) => print_object("Migration", &report.json(), output),
        OutputFormat::Table => print(&report.table(session.has_headers, false)),
        OutputFormat::Wide => print(&report.table(session.has_headers, true)),
        _ => Err(CommandError::new(
            ExitStatus::Usage,
            "`migration` prints table, wide, json, yaml, jsonpath=TEMPLATE or custom-columns=HEADER:PATH,…",
        )),
    }
}

fn print_manifests<T>(
    session: &CommandSession<T>,
    report: &MigrationReport<'_>,
    args: &MigrationArgs,
) -> Result<(), CommandError> {
    let name = args.name.as_deref();
    if name.is_some() && report.judgements.len() != 1 {
        return Err(refused(&format!(
            "--name is for one operator, and there are {}",
            report.judgements.len()
        )));
    }
    let catalogs = report.moves.iter().map(catalog_manifest);
    let extensions = report
        .judgements
        .iter()
        .map(|judgement| extension_manifest(judgement, report.moves, name));
    let manifests: Vec<_> = catalogs.chain(extensions).collect();
    match &session.output {
        OutputFormat::Json => print_value(&manifests::list(&manifests), &session.output),
        OutputFormat::Table | OutputFormat::Yaml => print(&manifests::stream(&manifests)),
        _ => Err(refused("--manifests prints yaml or json")),
    }
}

/// Returns names for a sentence, the last of many as a number.
fn listed<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> String {
    let mut names = names.into_iter();
    let first = names.by_ref().take(MAX_NAMED_OBJECTS);
    let first: Vec<_> = first.map(|name| name.as_ref().to_owned()).collect();
    let list = first.join(", ");
    match names.count() {
        0 => list,
        others => format!("{list} and {others} more"),
    }
}

fn refused(message: &str) -> CommandError {
    CommandError::new(
        ExitStatus::Usage,
        format!("cannot judge the move to OLM v1: {message}"),
    )
}

#[cfg(test)]
mod tests;
