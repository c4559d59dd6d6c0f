//! `outdated`: what is installed in a cluster, and what it can be upgraded to.

use catalogql_client::{InstalledObject, installed};
use commands::list::BUNDLE_SUPPORT;
use commands::output::{ObjectList, TableColumn, column, name, wide};
use commands::{CommandError, ExitStatus};
use printing::text;
use serde_json::{Value, json};

use crate::args::{CommonArgs, OutdatedArgs};
use crate::context::{ServerSession, cluster_options};
use crate::documents::UPGRADES;
use crate::error::api_server_error;

/// Number of installed packages that the server takes in one request.
const MAX_INSTALLED: usize = 200;

/// Reason for an object whose installed version is unknown.
const NO_VERSION: &str = "its ClusterServiceVersion is gone";

const NAME: TableColumn = column("NAME", |item| text(item, "/name"));
const NAMESPACE: TableColumn = column("NAMESPACE", |item| text(item, "/namespace"));
const PACKAGE: TableColumn = column("PACKAGE", |item| text(item, "/packageName"));
const INSTALLED: TableColumn = column("INSTALLED", |item| text(item, "/version"));
const CAN_GO_TO: TableColumn = column("CAN-GO-TO", |item| text(item, "/successor/to/version"));
const NEWEST: TableColumn = column("NEWEST", |item| text(item, "/package/latest/version"));
const DEPRECATED: TableColumn = column("DEPRECATED", |item| {
    let is_deprecated = item["deprecations"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    is_deprecated.to_string()
});
const REASON: TableColumn = column("REASON", |item| text(item, "/reason"));
const CATALOG: TableColumn = wide("CATALOG", |item| text(item, "/package/catalog/name"));
const KIND: TableColumn = wide("KIND", |item| text(item, "/kind"));

/// Columns before the phase of support.
const COLUMNS: [TableColumn; 7] = [
    NAME, NAMESPACE, PACKAGE, INSTALLED, CAN_GO_TO, NEWEST, DEPRECATED,
];

/// Columns behind it.
const LAST_COLUMNS: [TableColumn; 3] = [REASON, CATALOG, KIND];

/// Lists what is installed, with what it can be upgraded to.
pub(super) async fn outdated(
    session: &ServerSession,
    common: &CommonArgs,
    args: &OutdatedArgs,
) -> Result<ExitStatus, CommandError> {
    let all = installed(&cluster_options(common))
        .await
        .map_err(api_server_error)?;
    // One without a version would be refused, and all others with it.
    let (found, unknown): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|object| !object.version.is_empty());
    let mut items = Vec::new();
    for part in found.chunks(MAX_INSTALLED) {
        let installed: Vec<_> = part.iter().map(variable).collect();
        let mut variables = json!({ "catalogs": session.catalogs, "installed": installed });
        args.support.add_to(&mut variables);
        let data = session.data(UPGRADES, &variables).await?;
        for upgrade in data["availableUpgrades"].as_array().into_iter().flatten() {
            let object = upgrade["index"]
                .as_u64()
                .and_then(|index| part.get(usize::try_from(index).ok()?));
            items.extend(object.map(|object| item(object, upgrade, reason(upgrade))));
        }
    }
    if !items.is_empty() && items.iter().all(|item| item["package"].is_null()) {
        session.check_catalogs(&session.catalogs).await?;
    }
    let nothing = json!({ "deprecations": [], "successors": [] });
    items.extend(
        unknown
            .iter()
            .map(|object| item(object, &nothing, NO_VERSION)),
    );
    let is_outdated = items.iter().any(|item| !item["successor"].is_null());
    let mut columns = args.support.columns(&COLUMNS, BUNDLE_SUPPORT);
    columns.extend(LAST_COLUMNS);
    let shown = |item: &Value| name("installed", item, &["/kind", "/name"]);
    session.print_list(ObjectList {
        kind: "InstalledPackage",
        columns,
        name: shown,
        items,
    })?;
    Ok(ExitStatus::negative_if(args.exit_code && is_outdated))
}

fn variable(object: &InstalledObject) -> Value {
    let bundle = json!({ "name": object.bundle, "version": object.version });
    json!({ "packageName": object.package, "bundle": bundle, "channels": object.channels })
}

fn reason(upgrade: &Value) -> &'static str {
    match (&upgrade["package"], &upgrade["successors"][0]) {
        (Value::Null, _) => "no catalog has the package",
        (_, Value::Null) => "no upgrade",
        _ => "an upgrade is available",
    }
}

/// Returns the row of an installed object; its first successor has the highest version.
fn item(object: &InstalledObject, upgrade: &Value, reason: &str) -> Value {
    json!({
        "kind": object.kind, "name": object.name, "namespace": object.namespace, "packageName": object.package,
        "bundle": object.bundle, "version": object.version, "package": upgrade["package"],
        "lifecycle": upgrade["bundle"]["lifecycle"], "successor": upgrade["successors"][0],
        "successors": upgrade["successors"], "deprecations": upgrade["deprecations"], "reason": reason,
    })
}
