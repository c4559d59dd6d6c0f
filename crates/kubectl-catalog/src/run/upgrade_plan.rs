//! `upgrade-plan`: what happens to what is installed in a cluster when its platform is upgraded.

mod catalogs;
mod steps;

use catalogql_client::{ClusterPlatform, ClusterReader};
use commands::output::hint;
use commands::upgrade_plan::{InstalledObjects, upgrade_plan as plan};
use commands::{CommandError, ExitStatus};

use self::catalogs::planned_steps;
pub(crate) use self::steps::ReleaseVersion;
use crate::args::{ClusterUpgradeArgs, CommonArgs};
use crate::context::{ServerSession, cluster_options, served_catalogs};
use crate::error::cluster_error;

/// Page with the rights that the command needs.
const PAGE: &str = "docs/how-to/upgrade-the-platform.md";

/// Prints a plan for the way from the version of the cluster to the one of the arguments.
pub(super) async fn upgrade_plan(
    session: &ServerSession,
    common: &CommonArgs,
    args: &ClusterUpgradeArgs,
) -> Result<ExitStatus, CommandError> {
    let mut cluster = None;
    let from = match args.from {
        Some(from) => from,
        None => present_version(reader(&mut cluster, common).await?).await?,
    };
    // Before the objects are read: a wrong version needs none of them.
    let versions = steps::versions(from, args.to).map_err(|message| refused(&message))?;
    let served = served_catalogs(session).await?;
    let steps = planned_steps(&versions, &args.catalogs, &served);
    let steps = steps.map_err(|message| {
        refused(&message).hint(
            "--catalogs VERSION=NAME names the catalogs of a version; `kubectl catalog get catalogs` lists those that are served",
        )
    })?;

    let mut objects = InstalledObjects::default();
    let mut is_complete = true;
    // What the command line names is in place of what the cluster has.
    if args.plan.installed.is_empty() && args.plan.file.is_empty() {
        let found = reader(&mut cluster, common)
            .await?
            .installed_objects()
            .await;
        let found = found.map_err(|error| cluster_error(error, PAGE))?;
        is_complete = found.forbidden.is_empty();
        for forbidden in &found.forbidden {
            hint(&format!(
                "cannot list {}s, which are left out: {}",
                forbidden.kind, forbidden.message
            ));
        }
        if found.objects.is_empty() && !is_complete {
            return Err(refused("nothing that is installed can be read"));
        }
        for object in found.objects {
            objects.add(object);
        }
    }
    let status = plan(session, &steps, objects, &args.plan).await?;
    Ok(if is_complete {
        status
    } else {
        ExitStatus::Usage
    })
}

/// Returns the reader of the cluster, which is made when it is needed first.
async fn reader<'c>(
    cluster: &'c mut Option<ClusterReader>,
    common: &CommonArgs,
) -> Result<&'c ClusterReader, CommandError> {
    let made = match cluster.take() {
        Some(made) => made,
        None => ClusterReader::new(&cluster_options(common))
            .await
            .map_err(|error| cluster_error(error, PAGE))?,
    };
    Ok(cluster.insert(made))
}

/// Returns the version that the cluster has.
async fn present_version(cluster: &ClusterReader) -> Result<ReleaseVersion, CommandError> {
    let platform = cluster.platform().await.map_err(|error| {
        let failure = cluster_error(error, PAGE);
        if failure.status == ExitStatus::Usage {
            failure.hint("--from VERSION names the present version")
        } else {
            failure
        }
    })?;
    let version = match platform {
        ClusterPlatform::Openshift(Some(version)) | ClusterPlatform::Kubernetes(version) => version,
        ClusterPlatform::Openshift(None) => {
            return Err(refused("the ClusterVersion has completed no version yet"));
        }
    };
    version
        .parse()
        .map_err(|error| refused(&format!("the version of the cluster is malformed: {error}")))
}

fn refused(message: &str) -> CommandError {
    CommandError::new(
        ExitStatus::Usage,
        format!("cannot plan the upgrade: {message}"),
    )
}
