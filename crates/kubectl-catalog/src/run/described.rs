//! `describe`: the object that the command line names in one of several ways.

use clap::ValueEnum as _;
use commands::args::{ListKind, SupportArgs};
use commands::{CommandError, ExitStatus, describe as operations};

use crate::context::ServerSession;

/// Describes an object: `KIND NAME`, `KIND/NAME` as `-o name` prints it, or the name of a package,
/// or else of a bundle, alone.
pub(super) async fn describe(
    session: &ServerSession,
    object: &[String],
    package: Option<&str>,
    support: &SupportArgs,
) -> Result<(), CommandError> {
    match object {
        [word] => match word.split_once('/') {
            Some((kind, name)) if kind_of(kind).is_some() => {
                of_kind(session, kind, name, package, support).await
            }
            None if kind_of(word).is_some() => {
                let message = format!("`{word}` is a kind: name the object too");
                Err(CommandError::new(ExitStatus::Usage, message)
                    .hint(format!("`kubectl catalog describe {word} NAME`")))
            }
            _ => of_any_kind(session, word, package, support).await,
        },
        [kind, name] => of_kind(session, kind, name, package, support).await,
        _ => unreachable!("the command line has one or two words"),
    }
}

async fn of_kind(
    session: &ServerSession,
    kind: &str,
    name: &str,
    package: Option<&str>,
    support: &SupportArgs,
) -> Result<(), CommandError> {
    match kind_of(kind) {
        Some(ListKind::Packages) => operations::package(session, name, support).await,
        Some(ListKind::Bundles) => bundle(session, name, package, support).await,
        other => {
            let message = format!("cannot describe `{kind}`: write package or bundle");
            let error = CommandError::new(ExitStatus::Usage, message);
            let list =
                other.map(|_| format!("`kubectl catalog get {kind} -o yaml` prints all of them"));
            Err(error.hint_if(list))
        }
    }
}

/// Describes a package, or else a bundle of this name.
async fn of_any_kind(
    session: &ServerSession,
    name: &str,
    package: Option<&str>,
    support: &SupportArgs,
) -> Result<(), CommandError> {
    if package.is_some() {
        return bundle(session, name, package, support).await;
    }
    let no_package = match operations::package(session, name, support).await {
        Err(error) if error.status == ExitStatus::NotFound => error,
        described => return described,
    };
    match bundle(session, name, None, support).await {
        Err(error) if error.status == ExitStatus::NotFound => Err(no_package),
        described => described,
    }
}

/// Describes a bundle, as NAME, PACKAGE/NAME or CATALOG/PACKAGE/NAME.
async fn bundle(
    session: &ServerSession,
    name: &str,
    package: Option<&str>,
    support: &SupportArgs,
) -> Result<(), CommandError> {
    match name.rsplit_once('/') {
        Some((package, name)) => operations::bundle(session, name, Some(package), support).await,
        None => operations::bundle(session, name, package, support).await,
    }
}

fn kind_of(word: &str) -> Option<ListKind> {
    ListKind::from_str(word, true).ok()
}
