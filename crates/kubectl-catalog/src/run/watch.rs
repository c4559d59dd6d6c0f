//! `watch`: a line for each change of a catalog, until it is interrupted.

use std::pin::pin;

use catalogql_client::{ChangeEvent, ContentChange};
use commands::CommandError;
use commands::output::{is_structured, print_while_read};
use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::context::ServerSession;
use crate::documents::COUNTS;
use crate::error::server_error;

/// Columns of the output, which is printed line by line.
const HEADER: [&str; 6] = [
    "TIME", "CATALOG", "CHANGE", "PACKAGES", "+BUNDLES", "-BUNDLES",
];

/// Prints each change.
pub(super) async fn watch(session: &ServerSession) -> Result<(), CommandError> {
    session.check_catalogs(&session.catalogs).await?;
    let mut changes = pin!(session.transport.client.changes(&session.catalogs));
    let mut has_header = session.has_headers;
    while let Some(event) = changes.try_next().await.map_err(server_error)? {
        let counts = counts(session, &event).await?;
        let change = match &event.change {
            ContentChange::Added => "added",
            ContentChange::Removed => "removed",
            ContentChange::Changed => "changed",
            ContentChange::Other(name) => name,
        };
        // Whole seconds.
        let time = Timestamp::from_second(Timestamp::now().as_second())
            .expect("it is now")
            .to_string();
        let shown = if is_structured(&session.output) {
            let line = json!({
                "time": time, "catalog": event.catalog, "change": change, "fromDigest": event.from_digest,
                "toDigest": event.to_digest, "packages": counts[0], "bundlesAdded": counts[1], "bundlesRemoved": counts[2],
            });
            format!("{line}\n")
        } else {
            let count = |count: &Value| {
                if count.is_null() {
                    "<none>".to_owned()
                } else {
                    count.to_string()
                }
            };
            let [packages, added, removed] = &counts;
            let header = if std::mem::take(&mut has_header) {
                line(&HEADER.map(str::to_owned))
            } else {
                String::new()
            };
            header
                + &line(&[
                    time,
                    event.catalog,
                    change.to_owned(),
                    count(packages),
                    count(added),
                    count(removed),
                ])
        };
        if !print_while_read(&shown)? {
            break;
        }
    }
    Ok(())
}

fn line(cells: &[String; 6]) -> String {
    let [time, catalog, change, packages, added, removed] = cells;
    format!("{time:20}  {catalog:24}  {change:7}  {packages:8}  {added:8}  {removed}\n")
}

/// Numbers of packages that differ, of added bundles, and of removed ones; `null` unless the
/// content changed.
async fn counts(session: &ServerSession, event: &ChangeEvent) -> Result<[Value; 3], CommandError> {
    let (Some(from), Some(to)) = (&event.from_digest, &event.to_digest) else {
        return Ok([const { Value::Null }; 3]);
    };
    let data = session
        .data(
            COUNTS,
            &json!({ "from": { "digest": from }, "to": { "digest": to } }),
        )
        .await?;
    let diff = &data["diff"];
    let packages = diff["packages"]
        .as_array()
        .map_or(Value::Null, |packages| packages.len().into());
    Ok([
        packages,
        diff["bundlesAdded"].clone(),
        diff["bundlesRemoved"].clone(),
    ])
}
