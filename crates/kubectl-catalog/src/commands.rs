//! One function for each command; those that belong together are in one file.

mod compare;
mod describe;
mod graph;
mod lists;
mod manifest;
mod outdated;
mod query;
mod upgrades;
mod watch;

use std::process::ExitCode;

use crate::args::{Args, Command, DescribeKind};
use crate::failure::Failure;
use crate::session::{Route, Session};

/// Runs the command that the arguments name.
pub(crate) async fn run(args: &Args) -> Result<ExitCode, Failure> {
    // Who has no server has a version.
    if matches!(args.command, Command::Version) {
        query::client_version(&args.common.output)?;
    }
    let mut first = None;
    for route in Route::of(&args.common) {
        match attempt(args, *route).await {
            // Nothing was printed: the server did not answer.
            Err(failure) if failure.is_route => first = first.or(Some(failure)),
            ended => return ended,
        }
    }
    Err(first.expect("there is a route"))
}

async fn attempt(args: &Args, route: Route) -> Result<ExitCode, Failure> {
    let session = Session::begin(&args.common, route).await?;
    let ended = execute(&session, args).await?;
    session.end().await?;
    Ok(ended)
}

async fn execute(session: &Session, args: &Args) -> Result<ExitCode, Failure> {
    match &args.command {
        Command::Search(args) => lists::search(session, args).await?,
        Command::Get(args) => lists::get(session, args).await?,
        Command::Heads { packages } => lists::heads(session, packages).await?,
        Command::Versions(args) => lists::versions(session, args).await?,
        Command::Images(args) => lists::images(session, args).await?,
        Command::Providers { api } => lists::providers(session, api).await?,
        Command::Describe { kind: DescribeKind::Package, name, .. } => describe::package(session, name).await?,
        Command::Describe { kind: DescribeKind::Bundle, name, package } => {
            describe::bundle(session, name, package.as_deref()).await?;
        }
        Command::Path(args) => return upgrades::path(session, args).await,
        Command::Successors { package, installed, channel } => {
            upgrades::successors(session, package, installed, channel).await?;
        }
        Command::Resolve(args) => return upgrades::resolve(session, args).await,
        Command::Diff(args) => return compare::diff(session, args).await,
        Command::Compare { package, a, b } => compare::compare(session, package, a, b).await?,
        Command::Graph { package, channel } => graph::graph(session, package, channel).await?,
        Command::Manifest { package, kind, channel, range } => {
            manifest::manifest(session, package, *kind, channel.as_deref(), range.as_deref()).await?;
        }
        Command::Outdated { exit_code } => return outdated::outdated(session, &args.common, *exit_code).await,
        Command::Query(args) => query::query(session, args).await?,
        Command::Watch => watch::watch(session).await?,
        Command::Version => query::version(session).await?,
        Command::Completion { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}
