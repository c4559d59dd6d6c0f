//! `path` and `successors`: the upgrades from a bundle.

use commands::args::begins_like_version;
use commands::output::{ObjectList, TableColumn, column, hint, is_set, is_structured, name};
use commands::{CommandError, ExitStatus};
use printing::text;
use serde_json::{Value, json};

use crate::args::PathArgs;
use crate::context::{ServerSession, bundle_name};
use crate::documents::{PATH, SUCCESSORS};

const STEP_COLUMNS: [TableColumn; 5] = [
    column("STEP", |item| text(item, "/step")),
    column("VERSION", |item| text(item, "/to/version")),
    column("BUNDLE", |item| text(item, "/toName")),
    column("CHANNEL", |item| text(item, "/channelNames")),
    column("REASON", |item| text(item, "/reasons")),
];

const SUCCESSOR_COLUMNS: [TableColumn; 5] = [
    column("VERSION", |item| text(item, "/to/version")),
    column("BUNDLE", |item| text(item, "/toName")),
    column("CHANNELS", |item| text(item, "/channelNames")),
    column("REASON", |item| text(item, "/reasons")),
    column("DEPRECATED", |item| is_set(item, "/to/deprecation")),
];

/// Shows a shortest sequence of upgrades.
pub(super) async fn path(session: &ServerSession, args: &PathArgs) -> Result<(), CommandError> {
    let chosen = session.choose(&args.package).await;
    let chosen = chosen.map_err(|error| order_hint(error, &args.package))?;
    let from = bundle_name(session, &chosen, &args.from).await?;
    let to = match &args.to {
        Some(to) => Some(bundle_name(session, &chosen, to).await?),
        None => None,
    };
    let variables = json!({
        "catalog": chosen.catalog, "package": chosen.package, "from": from, "to": to, "channels": args.channel,
    });
    let mut data = session.data(PATH, &variables).await?;
    let bundle = &mut data["bundle"];
    let Value::Array(mut items) = bundle["upgradePath"].take() else {
        session
            .check_channels(&chosen.full_name(), &args.channel, &[])
            .await?;
        return Err(no_path(&from, to.as_deref(), &args.channel, bundle));
    };
    session
        .check_channels(&chosen.full_name(), &args.channel, &items)
        .await?;
    for (at, item) in items.iter_mut().enumerate() {
        item["step"] = (at + 1).into();
    }
    if items.is_empty() && !is_structured(&session.output) {
        hint("nothing to do: both are the same bundle");
        return Ok(());
    }
    steps(session, &STEP_COLUMNS, items)
}

/// Adds the order of the arguments to the error for a package that is named like a version.
fn order_hint(error: CommandError, package: &str) -> CommandError {
    if error.status == ExitStatus::NotFound && begins_like_version(package) {
        error.hint("the order is PACKAGE FROM [TO]")
    } else {
        error
    }
}

/// The failure of a bundle from which no upgrades lead to the other one.
fn no_path(from: &str, to: Option<&str>, channels: &[String], bundle: &Value) -> CommandError {
    let to = to.unwrap_or("the head of the default channel");
    let through = match channels {
        [] => String::new(),
        [channel] => format!(" by entries of channel {channel} alone"),
        channels => format!(" by entries of channels {} alone", channels.join(", ")),
    };
    let message = format!("no path: no sequence of upgrades leads from {from} to {to}{through}");
    let next = bundle["successors"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|edge| text(edge, "/toName"));
    let next = next.collect::<Vec<_>>().join(", ");
    let reach = if next.is_empty() {
        "nothing".to_owned()
    } else {
        next
    };
    CommandError::new(ExitStatus::Negative, message)
        .hint(format!("{from} can be upgraded to {reach} in one step"))
}

/// Lists what an installed bundle can be upgraded to.
pub(super) async fn successors(
    session: &ServerSession,
    package: &str,
    installed: &str,
    channels: &[String],
) -> Result<(), CommandError> {
    let chosen = session.choose(package).await?;
    let installed = session.installed(&chosen.full_name(), installed).await?;
    let variables = json!({
        "catalog": chosen.catalog, "package": chosen.package, "installed": installed, "channels": channels,
    });
    let mut data = session.data(SUCCESSORS, &variables).await?;
    let items = data["package"]["successors"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    session
        .check_channels(&chosen.full_name(), channels, &items)
        .await?;
    steps(session, &SUCCESSOR_COLUMNS, items)
}

fn steps(
    session: &ServerSession,
    columns: &'static [TableColumn],
    items: Vec<Value>,
) -> Result<(), CommandError> {
    let shown = |item: &Value| name("bundle", item, &["/toName"]);
    session.print_list(ObjectList {
        kind: "UpdateEdge",
        columns: columns.to_vec(),
        name: shown,
        items,
    })
}
