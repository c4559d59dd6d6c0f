//! `graph`: the upgrades between the bundles of a package, as tables, as drawings, or as the object
//! of the API.

use std::collections::HashMap;
use std::fmt::Write as _;

use console::style;
use drawing::{Drawing, DrawnBundle, DrawnChannel, DrawnEntry};
use printing::table;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use crate::args::GraphArgs;
use crate::documents::GRAPH;
use crate::output::{OutputFormat, hint, is_structured, print, print_object};
use crate::transport::ChannelName;
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport, no_channel};

/// Maximum number of skipped bundles that a table names.
const NAMED_SKIPS: usize = 2;

/// Package with its update graph, as the API has it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GraphPackage {
    name: String,
    deprecation: Option<IgnoredAny>,
    channels: Vec<GraphChannel>,
    update_graph: GraphNodes,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GraphChannel {
    name: String,
    is_default: bool,
    deprecation: Option<IgnoredAny>,
    entries: Vec<GraphEntry>,
    /// Names of the stranded bundles, which are no part of the response.
    #[serde(skip)]
    stranded: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GraphEntry {
    name: String,
    replaces: Option<String>,
    skips: Vec<String>,
    skip_range: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GraphNodes {
    /// Bundles of the selected channels, highest version first.
    nodes: Vec<GraphBundle>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GraphBundle {
    name: String,
    version: Option<String>,
    deprecation: Option<IgnoredAny>,
}

/// Prints the update graph of a package.
pub async fn graph<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &GraphArgs,
) -> Result<(), CommandError> {
    let chosen = session.choose(&args.package).await?;
    let variables =
        json!({ "catalog": chosen.catalog, "package": chosen.package, "channels": args.channel });
    let data = session.data(GRAPH, &variables).await?;
    let mut package = GraphPackage::deserialize(&data["package"]).map_err(|error| {
        let message = format!("cannot read the response of the server: {error}");
        CommandError::new(ExitStatus::Refused, message)
    })?;
    let known: Vec<_> = package
        .channels
        .iter()
        .map(|channel| channel.name.clone())
        .collect();
    if let Some(channel) = args.channel.iter().find(|channel| !known.contains(channel)) {
        return Err(no_channel(&chosen.package, channel, &known));
    }
    // Skip ranges stay ranges: single upgrades can be as many as pairs of bundles.
    if is_structured(&session.output) {
        return print_object("UpdateGraph", &data["package"], &session.output);
    }

    package
        .channels
        .retain(|channel| args.channel.is_empty() || args.channel.contains(&channel.name));
    // The API does not have stranded bundles, and the ranges that decide on them are not evaluated
    // here: only a transport with the catalogs at hand knows them.
    for channel in &mut package.channels {
        channel.stranded = session.transport.stranded(ChannelName {
            catalog: &chosen.catalog,
            package: &chosen.package,
            channel: &channel.name,
        });
    }
    let drawing = package.drawing();
    match &session.output {
        OutputFormat::Mermaid => {
            let drawn = drawing.mermaid();
            if let Some(refusal) = drawn.refusal() {
                hint(&format!(
                    "{} Mermaid refuses this drawing: {refusal}; select channels with --channel, or draw it with -o svg",
                    printing::warning()
                ));
            }
            print(&drawn.to_string())
        }
        OutputFormat::Dot => print(&drawing.dot().to_string()),
        OutputFormat::Svg => print(&drawing.svg().to_string()),
        OutputFormat::Lanes => print(&drawing.lanes().to_string()),
        OutputFormat::Table | OutputFormat::Wide => print(&tables(
            &drawing,
            package.deprecation.is_some(),
            session.has_headers,
        )),
        _ => Err(CommandError::new(
            ExitStatus::Usage,
            "`graph` prints table, lanes, mermaid, dot, svg, json, yaml or jsonpath=TEMPLATE",
        )),
    }
}

impl GraphPackage {
    fn drawing(&self) -> Drawing<'_> {
        let bundles = self.update_graph.nodes.iter();
        Drawing {
            package: &self.name,
            channels: self.channels.iter().map(GraphChannel::drawn).collect(),
            bundles: bundles.map(GraphBundle::drawn).collect(),
        }
    }
}

impl GraphChannel {
    fn drawn(&self) -> DrawnChannel<'_> {
        let entries: Vec<_> = self.entries.iter().map(GraphEntry::drawn).collect();
        DrawnChannel {
            name: &self.name,
            is_default: self.is_default,
            is_deprecated: self.deprecation.is_some(),
            heads: DrawnChannel::heads_of(&entries),
            stranded: self.stranded.iter().map(String::as_str).collect(),
            entries,
        }
    }
}

impl GraphEntry {
    fn drawn(&self) -> DrawnEntry<'_> {
        DrawnEntry {
            name: &self.name,
            replaces: self.replaces.as_deref(),
            skips: self.skips.iter().map(String::as_str).collect(),
            skip_range: self.skip_range.as_deref(),
        }
    }
}

impl GraphBundle {
    fn drawn(&self) -> DrawnBundle<'_> {
        DrawnBundle {
            name: &self.name,
            version: self.version.as_deref().unwrap_or_default(),
            is_deprecated: self.deprecation.is_some(),
        }
    }
}

/// Returns a table for each channel, highest version first.
fn tables(drawing: &Drawing<'_>, is_deprecated: bool, has_headers: bool) -> String {
    let deprecated = |is_deprecated| {
        let mark = if is_deprecated { " (deprecated)" } else { "" };
        style(mark).yellow()
    };
    let package = style(drawing.package).bold();
    let mut out = format!("package {package}{}\n", deprecated(is_deprecated));
    // A search for each entry would take quadratic time: channels can have thousands of entries.
    let positions: HashMap<_, _> = drawing
        .bundles
        .iter()
        .enumerate()
        .map(|(position, bundle)| (bundle.name, position))
        .collect();
    for channel in &drawing.channels {
        let default = if channel.is_default { " (default)" } else { "" };
        let name = style(channel.name).bold();
        let mark = deprecated(channel.is_deprecated);
        let _infallible = writeln!(out, "\nchannel {name}{default}{mark}");

        let mut entries: Vec<_> = channel
            .entries
            .iter()
            .map(|entry| (positions.get(entry.name).copied(), entry))
            .collect();
        // Entries without a bundle come last.
        entries.sort_by_key(|(position, _)| position.unwrap_or(usize::MAX));
        let rows = entries.into_iter().map(|(position, entry)| {
            let bundle = position.map(|position| &drawing.bundles[position]);
            [
                entry.name.to_owned(),
                bundle.map_or("", |bundle| bundle.version).to_owned(),
                marks(channel, entry.name, bundle),
                entry.replaces.unwrap_or_default().to_owned(),
                entry.skip_range.unwrap_or_default().to_owned(),
                skips(entry),
            ]
        });
        let header = [
            "BUNDLE",
            "VERSION",
            "MARKS",
            "REPLACES",
            "SKIP-RANGE",
            "SKIPS",
        ];
        out += &table(header.into_iter().filter(|_| has_headers), rows);
    }
    out
}

fn skips(entry: &DrawnEntry<'_>) -> String {
    let shown = entry.skips.len().min(NAMED_SKIPS);
    let names = entry.skips[..shown].join(", ");
    match entry.skips.len() - shown {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

fn marks(channel: &DrawnChannel<'_>, name: &str, bundle: Option<&DrawnBundle<'_>>) -> String {
    let marks = [
        ("head", channel.heads.contains(&name)),
        (
            "deprecated",
            bundle.is_some_and(|bundle| bundle.is_deprecated),
        ),
        ("stranded", channel.stranded.contains(&name)),
        ("no bundle", bundle.is_none()),
    ];
    let marks: Vec<_> = marks
        .into_iter()
        .filter_map(|(mark, holds)| holds.then_some(mark))
        .collect();
    marks.join(", ")
}
