//! `catalogql graph`: prints which bundles of a package can be upgraded to which.

use std::collections::HashSet;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use anyhow::{anyhow, bail};
use console::style;
use drawing::{Drawing, DrawnBundle, DrawnChannel, DrawnEntry};
use fbc::work::Work;
use fbc::{Bundle, Catalog, Channel, ChannelEntry, Package};
use fbc_graph::graph::{UpdateEdge, UpdateGraph, heads, stranded};
use serde::{Serialize, Serializer};

use super::once;
use super::output::{ignore_closed_pipe, json, stdout, table, warning};
use super::similar::similar_names;
use super::sources::SourceReference;
use crate::args::{GraphArgs, GraphOutput};

/// Maximum number of skipped bundles that a table names.
const NAMED_SKIPS: usize = 2;

/// The output for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonGraph<'a> {
    package: &'a str,
    deprecated: bool,
    channels: Vec<JsonChannel<'a>>,
    /// The bundles of these channels, highest version first.
    bundles: Vec<JsonBundle<'a>>,
    /// Single upgrades, also from bundles that the catalog does not have.
    edges: Edges<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonChannel<'a> {
    name: &'a str,
    is_default: bool,
    deprecated: bool,
    /// Entries that no other replaces or skips; exactly one in a valid channel.
    heads: Vec<&'a str>,
    /// Bundles from which no sequence of upgrades leads to a head.
    stranded: Vec<&'a str>,
}

#[derive(Serialize)]
struct JsonBundle<'a> {
    name: &'a str,
    version: Option<&'a str>,
    deprecated: bool,
}

#[derive(Serialize)]
struct JsonEdge<'a> {
    from: &'a str,
    to: &'a str,
    channel: &'a str,
    reason: &'a str,
}

/// The edges, which are written one by one: there can be as many as pairs of bundles.
struct Edges<'a>(UpdateGraph<'a>);

/// Prints the update graph of a package.
pub(super) fn graph(args: &GraphArgs) -> anyhow::Result<ExitCode> {
    let source = SourceReference::parse(&args.source, args.images.configs_dir.as_deref())?;
    let content = once::load_one(&source, &args.images)?.map_err(|error| anyhow!(error.chain()))?;
    let package = package(&content.catalog, args)?;
    let mut out = BufWriter::new(stdout());
    let graph = UpdateGraph::new(package, &args.channel, &Work::unlimited())
        .expect("an account without limit stops nothing");
    let printed = match args.output {
        GraphOutput::Mermaid => mermaid(&mut out, &drawing(package, &graph)),
        GraphOutput::Dot => write!(out, "{}", drawing(package, &graph).dot()),
        GraphOutput::Lanes => write!(out, "{}", drawing(package, &graph).lanes()),
        GraphOutput::Svg => write!(out, "{}", drawing(package, &graph).svg()),
        GraphOutput::Json => json(&mut out, &json_graph(package, graph)),
        GraphOutput::Table => tables(&mut out, package, &graph),
    };
    ignore_closed_pipe(printed.and_then(|()| out.flush()))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a Mermaid drawing, and a warning if Mermaid would refuse it.
fn mermaid(out: &mut impl Write, drawing: &Drawing<'_>) -> io::Result<()> {
    let drawing = drawing.mermaid();
    if let Some(refusal) = drawing.refusal() {
        let hint = "select channels with --channel, or draw it with -o svg";
        writeln!(
            io::stderr(),
            "{} Mermaid refuses this drawing: {refusal}; {hint}",
            warning()
        )?;
    }
    write!(out, "{drawing}")
}

/// Returns the drawing of a graph: every entry of its channels with what it replaces and skips, and
/// the skip ranges as texts.
fn drawing<'a>(package: Package<'a>, graph: &UpdateGraph<'a>) -> Drawing<'a> {
    Drawing {
        package: package.name(),
        channels: graph.channels().map(drawn_channel).collect(),
        bundles: graph.nodes().map(drawn_bundle).collect(),
    }
}

fn drawn_bundle(bundle: Bundle<'_>) -> DrawnBundle<'_> {
    DrawnBundle {
        name: bundle.name(),
        version: bundle.version().unwrap_or_default(),
        is_deprecated: bundle.deprecation().is_some(),
    }
}

fn drawn_channel(channel: Channel<'_>) -> DrawnChannel<'_> {
    DrawnChannel {
        name: channel.name(),
        is_default: channel.is_default(),
        is_deprecated: channel.deprecation().is_some(),
        heads: heads(channel).collect(),
        stranded: stranded(channel),
        entries: channel.entries().map(drawn_entry).collect(),
    }
}

fn drawn_entry(entry: ChannelEntry<'_>) -> DrawnEntry<'_> {
    DrawnEntry {
        name: entry.name(),
        replaces: entry.replaces(),
        skips: entry.skips().collect(),
        skip_range: entry.skip_range(),
    }
}

/// Finds the package, and checks that it has the channels named by the arguments.
fn package<'a>(catalog: &'a Catalog, args: &GraphArgs) -> anyhow::Result<Package<'a>> {
    let Some(package) = catalog.package(&args.package) else {
        let similar = similar_names(&args.package, catalog.packages().map(Package::name));
        bail!("package {:?} not found{similar}", args.package);
    };
    if let Some(channel) = args
        .channel
        .iter()
        .find(|name| package.channel(name).is_none())
    {
        let similar = similar_names(channel, package.channels().map(Channel::name));
        bail!(
            "package {:?}, channel {channel:?} not found{similar}",
            args.package
        );
    }
    Ok(package)
}

fn json_graph<'a>(package: Package<'a>, graph: UpdateGraph<'a>) -> JsonGraph<'a> {
    let channel = |channel: Channel<'a>| JsonChannel {
        name: channel.name(),
        is_default: channel.is_default(),
        deprecated: channel.deprecation().is_some(),
        heads: heads(channel).collect(),
        stranded: stranded(channel),
    };
    let bundle = |bundle: Bundle<'a>| JsonBundle {
        name: bundle.name(),
        version: bundle.version(),
        deprecated: bundle.deprecation().is_some(),
    };
    JsonGraph {
        package: package.name(),
        deprecated: package.deprecation().is_some(),
        channels: graph.channels().map(channel).collect(),
        bundles: graph.nodes().map(bundle).collect(),
        edges: Edges(graph),
    }
}

impl Serialize for Edges<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.edges().map(
            |UpdateEdge {
                 from, to, reason, ..
             }| JsonEdge {
                from,
                to: to.name(),
                channel: to.channel().name(),
                reason: reason.as_str(),
            },
        ))
    }
}

/// Prints a table for each channel, highest version first.
fn tables(out: &mut impl Write, package: Package<'_>, graph: &UpdateGraph<'_>) -> io::Result<()> {
    let deprecated = if package.deprecation().is_some() {
        " (deprecated)"
    } else {
        ""
    };
    writeln!(
        out,
        "package {}{}",
        style(package.name()).bold(),
        style(deprecated).yellow()
    )?;
    for channel in graph.channels() {
        let default = if channel.is_default() {
            " (default)"
        } else {
            ""
        };
        let deprecated = if channel.deprecation().is_some() {
            " (deprecated)"
        } else {
            ""
        };
        writeln!(
            out,
            "\nchannel {}{default}{}",
            style(channel.name()).bold(),
            style(deprecated).yellow()
        )?;
        let heads: HashSet<_> = heads(channel).collect();
        let stranded: HashSet<_> = stranded(channel).into_iter().collect();
        let mut entries: Vec<_> = channel.entries().collect();
        // What the catalog has no bundle of comes last.
        entries.sort_by_key(|entry| entry.bundle().map_or(usize::MAX, Bundle::place));
        let marks = |entry: ChannelEntry<'_>| marks(entry, &heads, &stranded);
        let rows = entries.into_iter().map(|entry| {
            let version = entry.bundle().and_then(Bundle::version).unwrap_or_default();
            let replaces = entry.replaces().unwrap_or_default();
            let range = entry.skip_range().unwrap_or_default();
            [
                entry.name(),
                version,
                &marks(entry),
                replaces,
                range,
                &skips(entry),
            ]
            .map(str::to_owned)
        });
        write!(
            out,
            "{}",
            table(
                [
                    "BUNDLE",
                    "VERSION",
                    "MARKS",
                    "REPLACES",
                    "SKIP RANGE",
                    "SKIPS"
                ],
                rows
            )
        )?;
    }
    Ok(())
}

fn skips(entry: ChannelEntry<'_>) -> String {
    let named: Vec<_> = entry.skips().take(NAMED_SKIPS).collect();
    match entry.skips().len() - named.len() {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn marks(entry: ChannelEntry<'_>, heads: &HashSet<&str>, stranded: &HashSet<&str>) -> String {
    let is_deprecated = entry
        .bundle()
        .is_some_and(|bundle| bundle.deprecation().is_some());
    let marks = [
        ("head", heads.contains(entry.name())),
        ("deprecated", is_deprecated),
        ("stranded", stranded.contains(entry.name())),
        ("no bundle", entry.bundle().is_none()),
    ];
    let marks: Vec<_> = marks
        .into_iter()
        .filter_map(|(mark, holds)| holds.then_some(mark))
        .collect();
    marks.join(", ")
}
