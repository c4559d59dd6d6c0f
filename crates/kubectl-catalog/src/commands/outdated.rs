//! `outdated`: what is installed in a cluster, and what it can be upgraded to.

use std::process::ExitCode;

use catalogql_client::{InstalledObject, installed};
use printing::text;
use serde_json::{Value, json};

use crate::args::CommonArgs;
use crate::context::{CommandContext, cluster_options};
use crate::documents::UPGRADES;
use crate::error::{CommandError, ExitStatus};
use crate::output::{ObjectList, TableColumn, column, name, wide};

/// Number of installed packages that the server takes in one request.
const MAX_INSTALLED: usize = 200;

const COLUMNS: [TableColumn; 10] = [
    column("NAME", |item| text(item, "/name")),
    column("NAMESPACE", |item| text(item, "/namespace")),
    column("PACKAGE", |item| text(item, "/packageName")),
    column("INSTALLED", |item| text(item, "/version")),
    column("CAN-GO-TO", |item| text(item, "/successor/to/version")),
    column("NEWEST", |item| text(item, "/package/latest/version")),
    column("DEPRECATED", |item| {
        let is_deprecated = item["deprecations"].as_array().is_some_and(|list| !list.is_empty());
        is_deprecated.to_string()
    }),
    column("REASON", |item| text(item, "/reason")),
    wide("CATALOG", |item| text(item, "/package/catalog/name")),
    wide("KIND", |item| text(item, "/kind")),
];

/// Lists what is installed, with what it can be upgraded to.
pub(super) async fn outdated(
    context: &CommandContext,
    common: &CommonArgs,
    exit_code: bool,
) -> Result<ExitCode, CommandError> {
    let found = installed(&cluster_options(&common.cluster)).await?;
    let mut items = Vec::new();
    for part in found.chunks(MAX_INSTALLED) {
        let variables = json!({
            "catalogs": context.catalogs, "installed": part.iter().map(variable).collect::<Vec<_>>(),
        });
        let data = context.data(UPGRADES, &variables).await?;
        items.extend(
            data["availableUpgrades"].as_array().into_iter().flatten().filter_map(|upgrade| item(part, upgrade)),
        );
    }
    let is_outdated = items.iter().any(|item| !item["successor"].is_null());
    let shown = |item: &Value| name("installed", item, &["/kind", "/name"]);
    ObjectList { kind: "InstalledPackage", columns: &COLUMNS, name: shown, items }
        .print(&context.output, context.has_headers)?;
    let is_negative = exit_code && is_outdated;
    Ok(if is_negative { ExitCode::from(ExitStatus::Negative as u8) } else { ExitCode::SUCCESS })
}

fn variable(object: &InstalledObject) -> Value {
    let bundle = json!({ "name": object.bundle, "version": object.version });
    json!({ "packageName": object.package, "bundle": bundle, "channels": object.channels })
}

/// What is shown of an installed object; its first successor has the highest version.
fn item(part: &[InstalledObject], upgrade: &Value) -> Option<Value> {
    let object = part.get(usize::try_from(upgrade["index"].as_u64()?).ok()?)?;
    let successor = &upgrade["successors"][0];
    let reason = match (&upgrade["package"], successor) {
        (Value::Null, _) => "no catalog has the package",
        (_, Value::Null) => "no upgrade",
        _ => "an upgrade is available",
    };
    Some(json!({
        "kind": object.kind, "name": object.name, "namespace": object.namespace, "packageName": object.package,
        "bundle": object.bundle, "version": object.version, "package": upgrade["package"], "successor": successor,
        "successors": upgrade["successors"], "deprecations": upgrade["deprecations"], "reason": reason,
    }))
}
