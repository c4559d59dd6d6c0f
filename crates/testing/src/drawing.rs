//! Drawings of update graphs, as the program makes them.

use drawing::{Drawing, DrawnBundle, DrawnChannel, DrawnEntry};
use fbc::{Bundle, Channel, ChannelEntry, Package};
use fbc_graph::graph::{UpdateGraph, heads, stranded};

/// Returns the drawing of an update graph: every entry of its channels with what it replaces and
/// skips, and the skip ranges as texts. Heads, deprecated and stranded bundles are marked.
pub fn draw<'a>(package: Package<'a>, graph: &UpdateGraph<'a>) -> Drawing<'a> {
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
