//! `graph`: which bundles of a package can be upgraded to which, as tables and as drawings for other programs.

use std::fmt::Write as _;

use printing::{table, text};
use serde_json::{Value, json};

use crate::context::CommandContext;
use crate::documents::GRAPH;
use crate::error::{CommandError, ExitStatus};
use crate::output::{OutputFormat, is_structured, print, print_object};

/// Prints the update graph of a package.
pub(super) async fn graph(context: &CommandContext, package: &str, channels: &[String]) -> Result<(), CommandError> {
    let chosen = context.choose(package).await?;
    let variables = json!({ "catalog": chosen.catalog, "package": chosen.package, "channels": channels });
    let data = context.data(GRAPH, &variables).await?;
    let package = &data["package"];
    let known: Vec<_> =
        package["channels"].as_array().into_iter().flatten().map(|channel| text(channel, "/name")).collect();
    if let Some(channel) = channels.iter().find(|channel| !known.contains(channel)) {
        let message = format!("package `{}` has no channel `{channel}`", chosen.package);
        return Err(
            CommandError::new(ExitStatus::NotFound, message).hint(format!("its channels are {}", known.join(", ")))
        );
    }
    match &context.output {
        output if is_structured(output) => print_object("UpdateGraph", package, output),
        OutputFormat::Mermaid => print(&mermaid(&package["updateGraph"])),
        OutputFormat::Dot => print(&dot(&package["updateGraph"])),
        OutputFormat::Table | OutputFormat::Wide => {
            print(&tables(package, if channels.is_empty() { &known } else { channels }, context.has_headers))
        }
        _ => {
            let failure = CommandError::new(
                ExitStatus::Usage,
                "`graph` prints table, mermaid, dot, json, yaml or jsonpath=TEMPLATE",
            );
            Err(failure.hint("`-o dot | dot -Tsvg` draws a picture"))
        }
    }
}

/// A table for each channel, highest version first.
fn tables(package: &Value, channels: &[String], has_headers: bool) -> String {
    let mut out = String::new();
    let graph = &package["updateGraph"];
    for channel in package["channels"].as_array().into_iter().flatten() {
        let name = text(channel, "/name");
        if !channels.contains(&name) {
            continue;
        }
        let default = if channel["isDefault"] == true { " (default)" } else { "" };
        let space = if out.is_empty() { "" } else { "\n" };
        let _ = writeln!(out, "{space}channel {name}{default}");
        let head = text(channel, "/head/name");
        let nodes = graph["nodes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|node| names(&node["channelNames"]).contains(&&*name));
        let rows = nodes.map(|node| {
            let bundle = text(node, "/name");
            let marks = [("head", bundle == head), ("deprecated", !node["deprecation"].is_null())];
            let marks: Vec<_> = marks.iter().filter(|(_, holds)| *holds).map(|(mark, _)| *mark).collect();
            let to = |list: &str, field: &str| {
                let edges = edges(graph, list, &name).filter(|edge| edge["toName"] == *bundle);
                edges.map(|edge| text(edge, field)).collect::<Vec<_>>().join(", ")
            };
            let lists = [to("replaces", "/fromName"), to("skipRanges", "/range"), to("skips", "/fromName")];
            [text(node, "/version"), bundle.clone(), marks.join(", ")].into_iter().chain(lists).map(or_none)
        });
        let header = ["VERSION", "BUNDLE", "MARKS", "REPLACES", "SKIP-RANGE", "SKIPS"];
        out += &table(header.into_iter().filter(|_| has_headers), rows);
    }
    out
}

fn or_none(cell: String) -> String {
    if cell.is_empty() { "<none>".to_owned() } else { cell }
}

/// The statements of a list that a channel makes.
fn edges<'v>(graph: &'v Value, list: &str, channel: &str) -> impl Iterator<Item = &'v Value> {
    let channel = channel.to_owned();
    let edges = graph[list].as_array().into_iter().flatten();
    edges.filter(move |edge| names(&edge["channelNames"]).contains(&&*channel))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A drawing in Mermaid: bundles, and an arrow for each upgrade by name; ranges are notes on their bundles.
fn mermaid(graph: &Value) -> String {
    let mut out = "graph LR\n".to_owned();
    let nodes: Vec<_> = graph["nodes"].as_array().into_iter().flatten().collect();
    let id = |name: &str| nodes.iter().position(|node| node["name"] == *name);
    for (at, node) in nodes.iter().enumerate() {
        let ranges = ranges(graph, node, "<br/>");
        let ranges = escaped(&ranges).replace("#lt;br/#gt;", "<br/>");
        let _ = writeln!(out, "  b{at}[\"{}{ranges}\"]", escaped(&text(node, "/name")));
    }
    for (list, arrow) in [("replaces", "-->"), ("skips", "-.->")] {
        for edge in graph[list].as_array().into_iter().flatten() {
            if let (Some(from), Some(to)) = (id(&text(edge, "/fromName")), id(&text(edge, "/toName"))) {
                let _ = writeln!(out, "  b{from} {arrow} b{to}");
            }
        }
    }
    out
}

/// A drawing in the language of Graphviz, likewise.
fn dot(graph: &Value) -> String {
    let mut out = "digraph {\n  rankdir=LR\n  node [shape=box]\n".to_owned();
    for node in graph["nodes"].as_array().into_iter().flatten() {
        let name = text(node, "/name");
        let ranges = ranges(graph, node, "\n");
        let _ = writeln!(out, "  {} [label={}]", json!(name), json!(format!("{name}{ranges}")));
    }
    for (list, style) in [("replaces", "solid"), ("skips", "dashed")] {
        for edge in graph[list].as_array().into_iter().flatten() {
            let _ = writeln!(out, "  {} -> {} [style={style}]", edge["fromName"], edge["toName"]);
        }
    }
    out + "}\n"
}

/// The skip ranges that lead to a bundle, each once and after this separator.
fn ranges(graph: &Value, node: &Value, separator: &str) -> String {
    let ranges = graph["skipRanges"].as_array().into_iter().flatten();
    let ranges = ranges.filter(|range| range["toName"] == node["name"]).map(|range| text(range, "/range"));
    let ranges: std::collections::BTreeSet<_> = ranges.collect();
    ranges.into_iter().fold(String::new(), |all, range| all + separator + "from " + &range)
}

/// Text within quotes of Mermaid.
fn escaped(text: &str) -> String {
    text.replace('"', "#quot;").replace('<', "#lt;").replace('>', "#gt;")
}
