//! `watch`: a line for each change of a catalog, until it is interrupted; and `get --watch`: the
//! objects that change with it.

use std::collections::BTreeMap;
use std::pin::pin;

use catalogql_client::{ChangeEvent, ContentChange};
use commands::documents::SERVED;
use commands::output::{
    ObjectList, OutputFormat, hint, is_structured, lines, print_object, print_while_read,
};
use commands::{CommandError, ExitStatus, list};
use futures_util::TryStreamExt as _;
use jiff::Timestamp;
use printing::text;
use serde_json::{Value, json};

use crate::args::GetArgs;
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

/// Prints objects, and then each that is new or has changed. Objects that are gone are named on the
/// standard error output.
pub(super) async fn objects(session: &ServerSession, args: &GetArgs) -> Result<(), CommandError> {
    // Read before the objects: what changes between the two is reported.
    let served = session.data(SERVED, &Value::Null).await?;
    let known = served["catalogs"].as_array().into_iter().flatten();
    let known = known.map(|catalog| (text(catalog, "/name"), text(catalog, "/digest")));
    let client = &session.transport.client;
    let mut changes = pin!(client.changes_since(&session.catalogs, known.collect()));

    let first = list::objects(session, &args.list, &args.names).await?;
    let mut before = by_name(&first);
    session.print_list(first)?;
    while changes.try_next().await.map_err(server_error)?.is_some() {
        // A named object that is gone may come back.
        let now = match list::objects(session, &args.list, &args.names).await {
            Err(error) if error.status == ExitStatus::Negative => None,
            listed => Some(listed?),
        };
        let after = now.as_ref().map(by_name).unwrap_or_default();
        for name in before.keys().filter(|name| !after.contains_key(*name)) {
            hint(&format!("{name} is gone"));
        }
        let is_changed = |name: &str, item: &Value| before.get(name) != Some(item);
        if let Some(list) = now
            && !print_changed(session, &list, is_changed)?
        {
            break;
        }
        before = after;
    }
    Ok(())
}

/// Returns the objects of a list by their names.
fn by_name(list: &ObjectList) -> BTreeMap<String, Value> {
    let items = list.items.iter();
    items
        .map(|item| ((list.name)(item), item.clone()))
        .collect()
}

/// Prints the objects of a list that have changed; returns `false` if nobody reads them.
fn print_changed(
    session: &ServerSession,
    list: &ObjectList,
    is_changed: impl Fn(&str, &Value) -> bool,
) -> Result<bool, CommandError> {
    let is_printed = |item: &Value| is_changed(&(list.name)(item), item);
    match &session.output {
        OutputFormat::Table | OutputFormat::Wide => {
            print_while_read(&list.rows_of(&session.output, is_printed))
        }
        OutputFormat::Name => {
            let names = list.items.iter().filter(|item| is_printed(item));
            print_while_read(&lines(names.map(list.name)))
        }
        output => {
            for item in list.items.iter().filter(|item| is_printed(item)) {
                print_object(list.kind, item, output)?;
            }
            Ok(true)
        }
    }
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
