//! One function for each command; those that belong together are in one file.

mod compare;
mod describe;
mod graph;
mod installed_operators;
mod lists;
mod manifest;
mod open;
mod outdated;
mod query;
mod solve;
mod upgrades;
mod watch;

use std::process::ExitCode;

use crate::args::{Args, Command, DescribeKind};
use crate::context::{CommandContext, ServerRoute};
use crate::error::CommandError;
use crate::{documents, output};

/// Runs the command that the arguments name.
pub(crate) async fn run(args: &Args) -> Result<ExitCode, CommandError> {
    // Who has no server has a version.
    if matches!(args.command, Command::Version) {
        query::client_version(&args.common.output)?;
    }
    match &args.command {
        Command::Open { package, browser } => {
            return open::open(&args.common, package.as_deref(), *browser).await;
        }
        Command::Documents => {
            output::print(&documents::trusted())?;
            return Ok(ExitCode::SUCCESS);
        }
        _ => {}
    }
    let mut first = None;
    for route in ServerRoute::of(&args.common) {
        match attempt(args, *route).await {
            // Nothing was printed: the server did not answer.
            Err(failure) if failure.is_route => first = first.or(Some(failure)),
            ended => return ended,
        }
    }
    Err(first.expect("there is a route"))
}

async fn attempt(args: &Args, route: ServerRoute) -> Result<ExitCode, CommandError> {
    let context = CommandContext::begin(&args.common, route).await?;
    let ended = execute(&context, args).await;
    context.print_age();
    let ended = ended?;
    context.end().await?;
    Ok(ended)
}

async fn execute(context: &CommandContext, args: &Args) -> Result<ExitCode, CommandError> {
    match &args.command {
        Command::Search(args) => lists::search(context, args).await?,
        Command::Get(args) => lists::get(context, args).await?,
        Command::Heads { packages } => lists::heads(context, packages).await?,
        Command::Versions(args) => lists::versions(context, args).await?,
        Command::Images(args) => lists::images(context, args).await?,
        Command::Providers { api } => lists::providers(context, api).await?,
        Command::Describe {
            kind: DescribeKind::Package,
            name,
            ..
        } => describe::package(context, name).await?,
        Command::Describe {
            kind: DescribeKind::Bundle,
            name,
            package,
        } => {
            describe::bundle(context, name, package.as_deref()).await?;
        }
        Command::Path(args) => return upgrades::path(context, args).await,
        Command::Successors {
            package,
            installed,
            channel,
        } => {
            upgrades::successors(context, package, installed, channel).await?;
        }
        Command::Resolve(args) => return upgrades::resolve(context, args).await,
        Command::Solve(args) => return solve::solve(context, args).await,
        Command::Diff(args) => return compare::diff(context, args).await,
        Command::Compare { package, a, b } => compare::compare(context, package, a, b).await?,
        Command::Graph { package, channel } => graph::graph(context, package, channel).await?,
        Command::Manifest {
            package,
            kind,
            channel,
            range,
        } => {
            manifest::manifest(
                context,
                package,
                *kind,
                channel.as_deref(),
                range.as_deref(),
            )
            .await?;
        }
        Command::Outdated { exit_code } => {
            return outdated::outdated(context, &args.common, *exit_code).await;
        }
        Command::Query(args) => query::query(context, args).await?,
        Command::Watch => watch::watch(context).await?,
        Command::Version => query::version(context).await?,
        Command::Completion { .. } | Command::Open { .. } | Command::Documents => {}
    }
    Ok(ExitCode::SUCCESS)
}
