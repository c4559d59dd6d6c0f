//! `catalogql query`, `list`, `search` and `diff`: each is one GraphQL request over catalogs that
//! are loaded for it.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use graphql::errors::Outcome;
use graphql::limits::Limits;
use graphql::{Engine, Request};
pub(super) use printing::text;
use serde_json::{Map, Value, json};
use serving::{Served, catalogs};

use super::output::{ignore_closed_pipe, indented, stdout, table};
use super::server::ANSWERS_BUILD;
use super::similar::similar_names;
use super::sources::{self, SourceReference};
use super::{diff, once, output};
use crate::args::{
    DiffArgs, DiffOutput, ImageArgs, ListArgs, ListKind, OutputFormat, QueryArgs, SearchArgs,
};

/// The largest page: every item.
pub(super) const EVERYTHING: i32 = i32::MAX;

/// The argument that stands for standard input.
const STDIN: &str = "-";

const CATALOGS: &str =
    "{ catalogs { name displayName priority digest image packageCount bundleCount } }";

const PACKAGES: &str = "query($first: Int, $names: [String!], $search: String, $provides: GroupVersionKindInput) {
    packages(first: $first, filter: {names: $names, search: $search, provides: $provides}) {
        nodes { name displayName summary catalog { name } defaultChannel { name } latest { version } deprecation { message } }
    } }";

const CHANNELS: &str = "query($first: Int, $names: [String!]) {
    packages(first: $first, filter: {names: $names}) {
        nodes { name catalog { name }
            channels { name isDefault entryCount head { name bundle { version } } deprecation { message } } }
    } }";

const BUNDLES: &str = "query($first: Int, $names: [String!], $provides: GroupVersionKindInput) {
    bundles(first: $first, packages: $names, filter: {provides: $provides}) {
        nodes { name version package { name } catalog { name } channelNames image deprecation { message } }
    } }";

const DIFF: &str = "{ diff(from: {name: \"from\"}, to: {name: \"to\"}) {
        packages { name change fields fromDefaultChannel toDefaultChannel
            channels { name change fromHead toHead entriesAdded entriesRemoved entriesChanged }
            bundles { name change fields } } } }";

/// Executes a GraphQL request and prints its response.
pub(super) fn query(args: &QueryArgs) -> anyhow::Result<ExitCode> {
    let document = match args.document.as_str() {
        STDIN => read_stdin()?,
        file if Path::new(file).is_file() => {
            bail!(
                "cannot execute `{file}`: it is a file, not a document: write `- < {file}` to read the document from it"
            )
        }
        document => document.to_owned(),
    };
    let variables = args.variables.as_deref().map(parse_variables).transpose()?;
    let engine = engine(&args.catalogs.sources, &args.images)?;
    let query = Some(document.into());
    let operation_name = args.operation.as_deref().map(Into::into);
    let response = engine.execute(&Request {
        query,
        operation_name,
        variables,
        ..Request::default()
    });
    print(&indented(&response.body))?;
    Ok(if response.outcome == Outcome::Complete {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Lists objects of one kind.
pub(super) fn list(args: &ListArgs) -> anyhow::Result<ExitCode> {
    let engine = engine(&args.catalogs.sources, &args.images)?;
    if !args.package.is_empty() {
        let packages = package_names(&engine)?;
        if let Some(name) = args.package.iter().find(|name| !packages.contains(name)) {
            bail!(
                "package {name:?} not found{}",
                similar_names(name, packages.iter().map(String::as_str))
            );
        }
    }
    if args.provides.is_some() && !matches!(args.kind, ListKind::Packages | ListKind::Bundles) {
        bail!("--provides selects packages or bundles: list one of these");
    }
    let variables = json!({"first": EVERYTHING, "names": args.package, "provides": args.provides});
    match args.kind {
        ListKind::Catalogs => print_items(
            &items(&engine, CATALOGS, &json!({}), "/catalogs")?,
            args.output,
            catalogs_table,
        ),
        ListKind::Packages => print_items(
            &items(&engine, PACKAGES, &variables, "/packages/nodes")?,
            args.output,
            packages_table,
        ),
        ListKind::Channels => print_items(
            &items(&engine, CHANNELS, &variables, "/packages/nodes")?,
            args.output,
            channels_table,
        ),
        ListKind::Bundles => print_items(
            &items(&engine, BUNDLES, &variables, "/bundles/nodes")?,
            args.output,
            bundles_table,
        ),
    }
}

/// Finds packages by words.
pub(super) fn search(args: &SearchArgs) -> anyhow::Result<ExitCode> {
    let engine = engine(&args.catalogs.sources, &args.images)?;
    let variables = json!({"first": EVERYTHING, "search": args.text});
    print_items(
        &items(&engine, PACKAGES, &variables, "/packages/nodes")?,
        args.output,
        packages_table,
    )
}

/// Shows what differs between two catalogs.
pub(super) fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let sides = [("from", &args.from), ("to", &args.to)];
    let sides = sides.map(|(name, source)| format!("{name}={source}"));
    let engine = engine(&sides, &args.images)?;
    let packages = items(&engine, DIFF, &json!({}), "/diff/packages")?;
    match args.output {
        DiffOutput::Json => ignore_closed_pipe(output::json(&mut io::stdout().lock(), &packages))?,
        DiffOutput::Markdown => print(diff::markdown(&packages).as_bytes())?,
        DiffOutput::Table if packages.is_empty() => print(b"no differences\n")?,
        DiffOutput::Table => print(diff::table(&packages).as_bytes())?,
    }
    let is_told = args.exit_code && !packages.is_empty();
    Ok(if is_told {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Loads catalogs into an engine. Nobody else waits for it, so that its limits are those of the
/// machine.
pub(super) fn engine(sources: &[String], images: &ImageArgs) -> anyhow::Result<Engine> {
    let wanted = sources::catalogs(sources, None, images.configs_dir.as_deref())?;
    let references: Vec<(&str, &SourceReference)> = wanted
        .iter()
        .map(|entry| (entry.name.as_str(), &entry.reference))
        .collect();
    let contents = once::load(references, images)?;
    let (mut writer, reader) = catalogs();
    for ((entry, content), source) in wanted.iter().zip(contents).zip(sources) {
        let name = entry.name.as_str();
        // `diff` gives names that the user did not write.
        let place = source
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('='))
            .unwrap_or(source);
        let content = content.map_err(|error| {
            anyhow!("cannot load catalog {name} (`{place}`): {}", error.chain())
        })?;
        writer.publish(Served::new(name, content, entry.metadata.clone()));
    }
    let limits = Limits {
        cost: u64::MAX,
        work: u64::MAX,
        page_size: usize::MAX,
        response_bytes: usize::MAX,
        time: Duration::from_hours(1),
        ..Limits::default()
    };
    Ok(Engine::new(reader, ANSWERS_BUILD, limits))
}

/// Executes a document of this module and returns the list at a pointer of its data.
pub(super) fn items(
    engine: &Engine,
    document: &str,
    variables: &Value,
    pointer: &str,
) -> anyhow::Result<Vec<Value>> {
    let query = Some(document.into());
    let variables = variables.as_object().cloned();
    let response = engine.execute(&Request {
        query,
        variables,
        ..Request::default()
    });
    let mut response: Value = serde_json::from_slice(&response.body)?;
    if let Some(message) = response
        .pointer("/errors/0/message")
        .and_then(Value::as_str)
    {
        bail!("{message}");
    }
    match response["data"].pointer_mut(pointer).map(Value::take) {
        Some(Value::Array(items)) => Ok(items),
        _ => bail!("the response has no `{pointer}`"),
    }
}

/// The names of the packages of all catalogs.
pub(super) fn package_names(engine: &Engine) -> anyhow::Result<Vec<String>> {
    let document = "query($first: Int) { packages(first: $first) { nodes { name } } }";
    let packages = items(
        engine,
        document,
        &json!({"first": EVERYTHING}),
        "/packages/nodes",
    )?;
    Ok(packages
        .iter()
        .map(|package| text(package, "/name"))
        .collect())
}

/// Prints items as a table or as JSON.
pub(super) fn print_items(
    items: &[Value],
    output: OutputFormat,
    tabulate: impl Fn(&[Value]) -> String,
) -> anyhow::Result<ExitCode> {
    match output {
        OutputFormat::Json => ignore_closed_pipe(output::json(&mut io::stdout().lock(), &items))?,
        OutputFormat::Table => {
            print(tabulate(items).as_bytes())?;
            if items.is_empty() {
                // A hint, not data; and nothing is left to do when it cannot be printed.
                let _ = writeln!(io::stderr(), "nothing found");
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn catalogs_table(items: &[Value]) -> String {
    let row = |item: &Value| {
        [
            "/name",
            "/packageCount",
            "/bundleCount",
            "/priority",
            "/image",
        ]
        .map(|at| text(item, at))
    };
    lines(
        ["NAME", "PACKAGES", "BUNDLES", "PRIORITY", "IMAGE"],
        items.iter().map(row),
    )
}

fn packages_table(items: &[Value]) -> String {
    let row = |item: &Value| {
        let columns = [
            "/name",
            "/latest/version",
            "/defaultChannel/name",
            "/catalog/name",
            "/displayName",
        ];
        columns.map(|at| text(item, at))
    };
    lines(
        ["NAME", "HEAD", "CHANNEL", "CATALOG", "DISPLAY NAME"],
        items.iter().map(row),
    )
}

fn channels_table(packages: &[Value]) -> String {
    let rows = packages.iter().flat_map(|package| {
        let channels = package["channels"].as_array().into_iter().flatten();
        channels.map(|channel| {
            let is_default = if channel["isDefault"] == true {
                "yes"
            } else {
                ""
            };
            [
                text(package, "/name"),
                text(channel, "/name"),
                text(channel, "/head/bundle/version"),
                text(channel, "/entryCount"),
                is_default.to_owned(),
                text(package, "/catalog/name"),
            ]
        })
    });
    lines(
        [
            "PACKAGE", "CHANNEL", "HEAD", "ENTRIES", "DEFAULT", "CATALOG",
        ],
        rows,
    )
}

fn bundles_table(items: &[Value]) -> String {
    let row = |item: &Value| {
        let columns = [
            "/name",
            "/version",
            "/package/name",
            "/catalog/name",
            "/channelNames",
        ];
        columns.map(|at| text(item, at))
    };
    lines(
        ["NAME", "VERSION", "PACKAGE", "CATALOG", "CHANNELS"],
        items.iter().map(row),
    )
}

fn lines<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    table(header, rows)
}

fn parse_variables(text: &str) -> anyhow::Result<Map<String, Value>> {
    serde_json::from_str(text)
        .context("cannot use --variables: write a JSON object, such as {\"name\": \"etcd\"}")
}

fn read_stdin() -> anyhow::Result<String> {
    let mut text = String::new();
    io::stdin()
        .read_to_string(&mut text)
        .context("cannot read the document from standard input")?;
    Ok(text)
}

fn print(bytes: &[u8]) -> io::Result<()> {
    ignore_closed_pipe(stdout().write_all(bytes))
}
