//! `graph`: which bundles of a package can be upgraded to which, as tables and as drawings for
//! other programs.

use std::fmt::Write as _;

use drawing::{Drawing, DrawnBundle, DrawnChannel, DrawnEntry};
use printing::{table, text};
use serde_json::{Value, json};

use crate::checks::no_channel;
use crate::context::CommandContext;
use crate::documents::GRAPH;
use crate::error::{CommandError, ExitStatus};
use crate::output::{OutputFormat, hint, is_structured, print, print_object};

/// Prints the update graph of a package.
pub(super) async fn graph(
    context: &CommandContext,
    package: &str,
    channels: &[String],
) -> Result<(), CommandError> {
    let chosen = context.choose(package).await?;
    let variables =
        json!({ "catalog": chosen.catalog, "package": chosen.package, "channels": channels });
    let data = context.data(GRAPH, &variables).await?;
    let package = &data["package"];
    let known: Vec<_> = package["channels"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|channel| text(channel, "/name"))
        .collect();
    if let Some(channel) = channels.iter().find(|channel| !known.contains(channel)) {
        return Err(no_channel(&chosen.package, channel, &known));
    }
    match &context.output {
        output if is_structured(output) => print_object("UpdateGraph", package, output),
        OutputFormat::Mermaid => {
            let drawn = drawing(package, channels).mermaid();
            if let Some(refusal) = drawn.refusal() {
                hint(&format!(
                    "Mermaid refuses this drawing: {refusal}; select channels, or draw it with -o svg"
                ));
            }
            print(&drawn.to_string())
        }
        OutputFormat::Dot => print(&drawing(package, channels).dot().to_string()),
        OutputFormat::Svg => print(&drawing(package, channels).svg().to_string()),
        OutputFormat::Lanes => print(&drawing(package, channels).lanes().to_string()),
        OutputFormat::Table | OutputFormat::Wide => print(&tables(
            package,
            if channels.is_empty() {
                &known
            } else {
                channels
            },
            context.has_headers,
        )),
        _ => {
            let failure = CommandError::new(
                ExitStatus::Usage,
                "`graph` prints table, lanes, mermaid, dot, svg, json, yaml or jsonpath=TEMPLATE",
            );
            Err(failure)
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
        let default = if channel["isDefault"] == true {
            " (default)"
        } else {
            ""
        };
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
            let marks = [
                ("head", bundle == head),
                ("deprecated", !node["deprecation"].is_null()),
            ];
            let marks: Vec<_> = marks
                .iter()
                .filter(|(_, holds)| *holds)
                .map(|(mark, _)| *mark)
                .collect();
            let to = |list: &str, field: &str| {
                let edges = edges(graph, list, &name).filter(|edge| edge["toName"] == *bundle);
                edges
                    .map(|edge| text(edge, field))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let lists = [
                to("replaces", "/fromName"),
                to("skipRanges", "/range"),
                to("skips", "/fromName"),
            ];
            [text(node, "/version"), bundle.clone(), marks.join(", ")]
                .into_iter()
                .chain(lists)
                .map(or_none)
        });
        let header = [
            "VERSION",
            "BUNDLE",
            "MARKS",
            "REPLACES",
            "SKIP-RANGE",
            "SKIPS",
        ];
        out += &table(header.into_iter().filter(|_| has_headers), rows);
    }
    out
}

fn or_none(cell: String) -> String {
    if cell.is_empty() {
        "<none>".to_owned()
    } else {
        cell
    }
}

/// The statements of a list that a channel makes.
fn edges<'v>(graph: &'v Value, list: &str, channel: &str) -> impl Iterator<Item = &'v Value> {
    let channel = channel.to_owned();
    let edges = graph[list].as_array().into_iter().flatten();
    edges.filter(move |edge| names(&edge["channelNames"]).contains(&&*channel))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// What is drawn: the channels that are meant, without marks for bundles that are stranded.
fn drawing<'v>(package: &'v Value, channels: &[String]) -> Drawing<'v> {
    let is_meant = |channel: &&Value| {
        channels.is_empty() || channels.iter().any(|name| channel["name"] == **name)
    };
    let bundle = |node: &'v Value| DrawnBundle {
        name: str_of(node, "name"),
        version: str_of(node, "version"),
        is_deprecated: !node["deprecation"].is_null(),
    };
    Drawing {
        package: str_of(package, "name"),
        channels: list(&package["channels"])
            .filter(is_meant)
            .map(drawn_channel)
            .collect(),
        bundles: list(&package["updateGraph"]["nodes"]).map(bundle).collect(),
    }
}

fn drawn_channel(channel: &Value) -> DrawnChannel<'_> {
    let entries: Vec<_> = list(&channel["entries"]).map(drawn_entry).collect();
    DrawnChannel {
        name: str_of(channel, "name"),
        is_default: channel["isDefault"] == true,
        is_deprecated: !channel["deprecation"].is_null(),
        heads: DrawnChannel::heads_of(&entries),
        stranded: Vec::new(),
        entries,
    }
}

fn drawn_entry(entry: &Value) -> DrawnEntry<'_> {
    DrawnEntry {
        name: str_of(entry, "name"),
        replaces: entry["replaces"].as_str(),
        skips: names(&entry["skips"]),
        skip_range: entry["skipRange"].as_str(),
    }
}

fn str_of<'v>(item: &'v Value, name: &str) -> &'v str {
    item[name].as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
