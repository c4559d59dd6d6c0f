//! One function for each command of the plugin alone; the others are operations of `commands`.

mod compare;
mod described;
mod lists;
mod manifest;
mod migration;
mod mirror;
mod open;
mod outdated;
mod policy;
mod preview;
mod query;
mod upgrade_plan;
mod upgrades;
mod watch;

use commands::diff::{DiffSides, diff};
use commands::graph::graph;
use commands::list::{list, search};
use commands::output::print;
use commands::resolve::resolve;
use commands::solve::solve;
use commands::{CommandError, ExitStatus};

use self::manifest::WantedManifest;
pub(crate) use self::upgrade_plan::ReleaseVersion;
use crate::args::{GetArgs, PluginArgs, PluginCommand};
use crate::context::{ServerCommand, ServerRoute, ServerSession};
use crate::documents;

/// Runs the command that the arguments name.
pub(crate) async fn run(args: &PluginArgs) -> Result<ExitStatus, CommandError> {
    // Before any request: the version of the client is known without a server.
    if matches!(args.command, PluginCommand::Version) {
        query::client_version(&args.common.output.output)?;
    }
    match &args.command {
        PluginCommand::Open { package, browser } => {
            return open::open(&args.common, package.as_deref(), *browser).await;
        }
        PluginCommand::Documents => {
            print(&documents::trusted())?;
            return Ok(ExitStatus::Success);
        }
        _ => {}
    }
    let mut first = None;
    for route in ServerRoute::from_args(&args.common) {
        match attempt(args, *route).await {
            // Nothing was printed: the server did not answer.
            Err(failure) if failure.is_route => first = first.or(Some(failure)),
            ended => return ended,
        }
    }
    Err(first.expect("there is a route"))
}

async fn attempt(args: &PluginArgs, route: ServerRoute) -> Result<ExitStatus, CommandError> {
    let mut command = ServerCommand::begin(&args.common, route).await?;
    command.session.sort_by = args.command.sort_by().cloned();
    let ended = execute(&command.session, args).await;
    command.print_age();
    let ended = ended?;
    command.end().await?;
    Ok(ended)
}

async fn execute(session: &ServerSession, args: &PluginArgs) -> Result<ExitStatus, CommandError> {
    match &args.command {
        PluginCommand::Search { text, filter, .. } => {
            search(session, &text.join(" "), filter).await?;
        }
        PluginCommand::Get(args @ GetArgs { watch: true, .. }) => {
            watch::objects(session, args).await?;
        }
        PluginCommand::Get(args) => list(session, &args.list, &args.names).await?,
        PluginCommand::Heads { packages, .. } => lists::heads(session, packages).await?,
        PluginCommand::Versions(args) => lists::versions(session, args).await?,
        PluginCommand::Images(args) => lists::images(session, args).await?,
        PluginCommand::Providers { api, .. } => lists::providers(session, api).await?,
        PluginCommand::Describe {
            object,
            package,
            support,
            ..
        } => described::describe(session, object, package.as_deref(), support).await?,
        PluginCommand::Path(args) => upgrades::path(session, args).await?,
        PluginCommand::Successors {
            package,
            installed,
            channel,
            ..
        } => upgrades::successors(session, package, installed, channel).await?,
        PluginCommand::Resolve(args) => return resolve(session, args).await,
        PluginCommand::Solve {
            packages,
            solve: args,
        } => {
            let mut args = args.clone();
            args.want.extend(packages.iter().cloned());
            return solve(session, &args).await;
        }
        PluginCommand::Diff {
            from,
            to,
            diff: args,
        } => return diff(session, DiffSides { from, to }, args).await,
        PluginCommand::Compare { package, a, b } => {
            compare::compare(session, package, a, b).await?;
        }
        PluginCommand::Graph(args) => graph(session, args).await?,
        PluginCommand::Manifest {
            package,
            kind,
            channel,
            range,
            olm_v1_release,
            policy,
        } => {
            if *policy {
                return policy::policy(session, package)
                    .await
                    .map(|()| ExitStatus::Success);
            }
            let [package] = &package[..] else {
                let message = "`manifest` installs one package: only `--policy` takes several";
                return Err(CommandError::new(ExitStatus::Usage, message));
            };
            let wanted = WantedManifest {
                kind: *kind,
                channel: channel.as_deref(),
                range: range.as_deref(),
                release: *olm_v1_release,
            };
            manifest::manifest(session, package, wanted).await?;
        }
        PluginCommand::Outdated(outdated_args) => {
            return outdated::outdated(session, &args.common, outdated_args).await;
        }
        PluginCommand::UpgradePlan(plan_args) => {
            return upgrade_plan::upgrade_plan(session, &args.common, plan_args).await;
        }
        PluginCommand::Migration(migration_args) => {
            return migration::migration(session, &args.common, migration_args).await;
        }
        PluginCommand::Preview(preview_args) => {
            return preview::preview(session, preview_args).await;
        }
        PluginCommand::Mirror(mirror_args) => {
            return mirror::mirror(session, &args.common, mirror_args).await;
        }
        PluginCommand::Query {
            document,
            file,
            operation,
        } => {
            let document = query::read_document(document.as_deref(), file.as_deref())?;
            query::query(session, &document, operation).await?;
        }
        PluginCommand::Watch => watch::watch(session).await?,
        PluginCommand::Version => query::version(session).await?,
        PluginCommand::Completion { .. }
        | PluginCommand::Man { .. }
        | PluginCommand::Open { .. }
        | PluginCommand::Documents => {}
    }
    Ok(ExitStatus::Success)
}
