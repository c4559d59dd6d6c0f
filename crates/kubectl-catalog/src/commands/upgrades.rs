//! `path`, `successors` and `resolve`: what bundles can be upgraded to, and what would be
//! installed.

use std::fmt::Write as _;
use std::process::ExitCode;

use printing::{table, text};
use serde_json::{Value, json};

use crate::args::{InstalledArg, PathArgs, ResolveArgs};
use crate::context::CommandContext;
use crate::documents::{PATH, RESOLVE, SUCCESSORS};
use crate::error::{CommandError, ExitStatus};
use crate::output::{
    ObjectList, TableColumn, column, is_set, is_structured, name, print, print_object,
};

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
pub(super) async fn path(
    context: &CommandContext,
    args: &PathArgs,
) -> Result<ExitCode, CommandError> {
    let chosen = context.choose(&args.package).await?;
    let from = context.bundle_name(&chosen, &args.from).await?;
    let to = match &args.to {
        Some(to) => Some(context.bundle_name(&chosen, to).await?),
        None => None,
    };
    let variables = json!({
        "catalog": chosen.catalog, "package": chosen.package, "from": from, "to": to, "channels": args.channel,
    });
    let mut data = context.data(PATH, &variables).await?;
    let bundle = &mut data["bundle"];
    let Value::Array(mut items) = bundle["upgradePath"].take() else {
        context
            .check_channels(&chosen.full_name(), &args.channel, &[])
            .await?;
        return Err(no_path(&from, to.as_deref(), &args.channel, bundle));
    };
    context
        .check_channels(&chosen.full_name(), &args.channel, &items)
        .await?;
    for (at, item) in items.iter_mut().enumerate() {
        item["step"] = (at + 1).into();
    }
    if items.is_empty() && !is_structured(&context.output) {
        crate::output::hint("nothing to do: both are the same bundle");
        return Ok(ExitCode::SUCCESS);
    }
    steps(context, &STEP_COLUMNS, items)?;
    Ok(ExitCode::SUCCESS)
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
    context: &CommandContext,
    package: &str,
    installed: &InstalledArg,
    channels: &[String],
) -> Result<(), CommandError> {
    let chosen = context.choose(package).await?;
    let installed = json!({ "name": installed.name, "version": installed.version });
    let variables = json!({
        "catalog": chosen.catalog, "package": chosen.package, "installed": installed, "channels": channels,
    });
    let mut data = context.data(SUCCESSORS, &variables).await?;
    let items = data["package"]["successors"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    context
        .check_channels(&chosen.full_name(), channels, &items)
        .await?;
    steps(context, &SUCCESSOR_COLUMNS, items)
}

fn steps(
    context: &CommandContext,
    columns: &'static [TableColumn],
    items: Vec<Value>,
) -> Result<(), CommandError> {
    let shown = |item: &Value| name("bundle", item, &["/toName"]);
    ObjectList {
        kind: "UpdateEdge",
        columns,
        name: shown,
        items,
    }
    .print(&context.output, context.has_headers)
}

/// Shows which bundle would be installed, and why not the others.
pub(super) async fn resolve(
    context: &CommandContext,
    args: &ResolveArgs,
) -> Result<ExitCode, CommandError> {
    let (catalogs, package) = context.split(&args.package);
    let installed = args.installed.as_ref();
    let policy = if args.self_certified {
        "SELF_CERTIFIED"
    } else {
        "CATALOG_PROVIDED"
    };
    let request = json!({
        "packageName": package,
        "version": args.version,
        "channels": args.channel,
        "catalogs": catalogs,
        "installed": installed.map(|installed| json!({ "name": installed.name, "version": installed.version })),
        "upgradeConstraintPolicy": policy,
    });
    let data = context
        .data(RESOLVE, &json!({ "request": request }))
        .await?;
    let result = &data["resolve"];
    let is_found = result["__typename"] == "Resolution";
    let ended = if is_found {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(ExitStatus::Negative as u8)
    };
    if !is_found {
        context.check_catalogs(&catalogs).await?;
    }
    if is_structured(&context.output) {
        let mut object = result.clone();
        let kind = object["__typename"].take();
        object
            .as_object_mut()
            .map(|members| members.remove("__typename"));
        print_object(
            kind.as_str().unwrap_or("Resolution"),
            &object,
            &context.output,
        )?;
        return Ok(ended);
    }
    if is_found {
        print(&chosen(result, installed))?;
    }
    if result["considered"]
        .as_array()
        .is_some_and(|bundles| !bundles.is_empty())
    {
        print(&considered(result, context.has_headers))?;
    }
    if is_found {
        return Ok(ended);
    }
    let similar = text(result, "/similarNames");
    let failure = CommandError::new(ExitStatus::Negative, text(result, "/message"));
    Err(if similar.is_empty() {
        failure
    } else {
        failure.hint(format!("did you mean {similar}?"))
    })
}

/// The bundle that would be installed.
fn chosen(result: &Value, installed: Option<&InstalledArg>) -> String {
    let bundle = &result["bundle"];
    let mut out = format!(
        "{} of catalog {}\n{}\n",
        text(bundle, "/name"),
        text(bundle, "/catalog/name"),
        text(bundle, "/image")
    );
    if installed.is_some_and(|installed| bundle["name"] == *installed.name) {
        out.insert_str(
            0,
            "no upgrade: the installed bundle is the one that would be chosen\n",
        );
    }
    for item in result["deprecations"].as_array().into_iter().flatten() {
        let parts = ["/schema", "/name", "/message"].map(|at| text(item, at));
        let [schema, name, message] = &parts;
        let _ = writeln!(out, "deprecated: {schema} {name}: {message}");
    }
    out + "\n"
}

fn considered(result: &Value, has_headers: bool) -> String {
    let rows = result["considered"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| {
            let rejection = text(item, "/rejection");
            let rejection = if rejection.is_empty() {
                "<none>".to_owned()
            } else {
                rejection
            };
            let cells = ["/bundle/catalog/name", "/bundle/name", "/bundle/version"]
                .map(|at| text(item, at));
            cells.into_iter().chain([rejection])
        });
    let header = ["CATALOG", "BUNDLE", "VERSION", "REJECTION"];
    table(header.into_iter().filter(|_| has_headers), rows)
}
