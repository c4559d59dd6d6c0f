//! `migration`: what of OLM v0 in a cluster can be moved to OLM v1.

use catalogql_client::ClusterReader;
use commands::args::MigrationArgs;
use commands::migration::{MigrationKind, MigrationObjects, migration as judge};
use commands::{CommandError, ExitStatus};

use crate::args::CommonArgs;
use crate::context::{ServerSession, cluster_options};
use crate::error::cluster_error;

/// Page with the rights that the command needs.
const PAGE: &str = "docs/how-to/move-to-olm-v1.md";

/// Prints what can be moved, of the cluster or of files.
pub(super) async fn migration(
    session: &ServerSession,
    common: &CommonArgs,
    args: &MigrationArgs,
) -> Result<ExitStatus, CommandError> {
    let mut objects = MigrationObjects::default();
    // Files are in place of the cluster.
    if args.file.is_empty() {
        let reader = ClusterReader::new(&cluster_options(common)).await;
        let failed = |error| cluster_error(error, PAGE);
        let found = reader.map_err(failed)?.olm_objects().await;
        let found = found.map_err(failed)?;
        for object in found.objects {
            objects.add(object);
        }
        for unread in found.unread {
            let kind = MigrationKind::by_name(unread.kind);
            objects.set_unread(kind.expect("both have the kinds"), unread.reason);
        }
    }
    judge(session, objects, args).await
}
