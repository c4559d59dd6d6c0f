//! Drawings of update graphs: as Mermaid and DOT sources, and as pictures.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

use drawing::{Drawing, DrawnChannel, DrawnEntry};
use fbc::Catalog;
use fbc::work::Work;
use fbc_graph::graph::UpdateGraph;
use serde_json::json;
use testing::drawing::draw;
use testing::fixture;

const ALL: &[&str] = &[];

/// Bundles with each mark, and both kinds of edges.
const MARKED: &str = "
    package p default=a
    channel a: v1.0.0 replaces=v0.9.0 <- v1.1.0 skips=v1.0.5,v0.1.0 <- v2.0.0 range=\">=1.0.0 <2.0.0\" , v1.0.5
    channel b: v1.1.0 replaces=v1.1.0 , v1.0.0 replaces=v1.1.0 , v1.0.5 range=<1.0.5
    deprecated channel b \"use a\"
    deprecated bundle v1.0.0 \"old\"";

fn drawing(catalog: &Catalog) -> Drawing<'_> {
    let package = catalog.package("p").unwrap();
    let graph = UpdateGraph::new(package, ALL, &Work::unlimited()).unwrap();
    draw(package, &graph)
}

#[test]
fn a_graph_is_drawn_with_its_marks_and_ranges_as_text() {
    let expected = "\
flowchart LR
  subgraph c0[\"a (default)\"]
    direction LR
    c0n0[\"p.v1.0.0 (deprecated)\"]:::deprecated
    c0n1[\"p.v1.0.5\"]
    c0n2[\"p.v1.1.0\"]
    c0n3[\"p.v2.0.0 (head)<br/>from #62;=1.0.0 #60;2.0.0\"]:::head
    c0n4[\"p.v0.9.0 (absent)\"]:::absent
    c0n4 --> c0n0
    c0n0 --> c0n2
    c0n1 -. skip .-> c0n2
    c0n2 --> c0n3
  end
  subgraph c1[\"b (deprecated)\"]
    direction LR
    c1n0[\"p.v1.0.0 (head, deprecated)\"]:::deprecated
    c1n1[\"p.v1.0.5 (head)<br/>from #60;1.0.5\"]:::head
    c1n2[\"p.v1.1.0\"]
    c1n2 --> c1n0
  end
  classDef head stroke-width:3px
  classDef deprecated stroke-dasharray:4 3,opacity:0.6
  classDef stranded stroke:#c62828,stroke-width:3px
  classDef absent stroke-dasharray:2 2,fill:none
";
    let catalog = fixture::catalog(MARKED);
    let drawing = drawing(&catalog).mermaid();
    assert_eq!(
        (drawing.to_string().as_str(), drawing.refusal()),
        (expected, None)
    );
}

#[test]
fn a_graph_is_drawn_in_dot() {
    let expected = r#"digraph "p" {
  rankdir=LR
  node [shape=box, style=rounded, fontname="sans-serif"]
  subgraph cluster_0 {
    label="a (default)"
    c0n0 [label="p.v1.0.0 (deprecated)", style="rounded,dashed", fontcolor=gray40]
    c0n1 [label="p.v1.0.5"]
    c0n2 [label="p.v1.1.0"]
    c0n3 [label="p.v2.0.0 (head)\nfrom >=1.0.0 <2.0.0", penwidth=3]
    c0n4 [label="p.v0.9.0 (absent)", style="rounded,dotted"]
    c0n4 -> c0n0
    c0n0 -> c0n2
    c0n1 -> c0n2 [style=dashed, label=skip]
    c0n2 -> c0n3
  }
  subgraph cluster_1 {
    label="b (deprecated)"
    c1n0 [label="p.v1.0.0 (head, deprecated)", style="rounded,dashed", fontcolor=gray40]
    c1n1 [label="p.v1.0.5 (head)\nfrom <1.0.5", penwidth=3]
    c1n2 [label="p.v1.1.0"]
    c1n2 -> c1n0
  }
}
"#;
    assert_eq!(
        drawing(&fixture::catalog(MARKED)).dot().to_string(),
        expected
    );
}

#[test]
fn a_picture_has_a_row_for_each_bundle_and_a_lane_for_each_channel() {
    let drawn = drawing(&fixture::catalog(MARKED)).svg().to_string();
    let texts = |class: &str| -> Vec<String> {
        let start = format!("<text class=\"{class}\"");
        drawn
            .split(&start)
            .skip(1)
            .map(|rest| {
                let (_, text) = rest.split_once('>').unwrap();
                text.split_once("</text>").unwrap().0.to_owned()
            })
            .collect()
    };
    assert_eq!(texts("f0"), ["a (default)"]);
    assert_eq!(texts("f1"), ["b (deprecated)"]);
    let heads = [
        "2.0.0", "p.v2.0.0", "1.0.5", "p.v1.0.5", "1.0.0", "p.v1.0.0",
    ];
    assert_eq!(
        (texts("head"), texts("row")),
        (
            heads.map(str::to_owned).to_vec(),
            ["1.1.0", "p.v1.1.0", "", "p.v0.9.0"]
                .map(str::to_owned)
                .to_vec()
        )
    );
    let notes = [
        "head of a · from &gt;=1.0.0 &lt;2.0.0",
        "",
        "head of b · from &lt;1.0.5",
        "head of b · deprecated",
        "absent",
    ];
    assert_eq!(texts("dim"), notes);
    let count = |part: &str| drawn.matches(part).count();
    // Seven entries; three lines along `replaces` of `a` and one of `b`, and an arc for the skip.
    assert_eq!(
        (count("<circle "), count("<path "), count("skip\" d=")),
        (7, 5, 1)
    );
}

#[test]
fn a_terminal_has_a_row_for_each_bundle_and_a_lane_for_each_channel() {
    let expected = "\
a (default)
│ b (deprecated)
● │  2.0.0  p.v2.0.0  head of a · from >=1.0.0 <2.0.0
○ ○  1.1.0  p.v1.1.0
○ ●  1.0.5  p.v1.0.5  head of b · from <1.0.5
○ ●  1.0.0  p.v1.0.0  head of b · deprecated
            p.v0.9.0  absent
";
    let drawn = drawing(&fixture::catalog(MARKED)).lanes().to_string();
    assert_eq!(drawn, expected);
}

#[test]
fn an_entry_without_a_bundle_has_a_mark_of_its_own_in_its_lane() {
    let expected = "\
a (default)
●  1.1.0  p.v1.1.0  head of a
×         p.v1.0.0  absent
";
    let catalog = fixture::catalog("package p default=a\nchannel a: v1.0.0? <- v1.1.0");
    assert_eq!(drawing(&catalog).lanes().to_string(), expected);
}

#[test]
fn the_heads_of_entries_are_those_that_no_entry_replaces_or_skips() {
    let entry = |name, replaces, skips: &[&'static str]| DrawnEntry {
        name,
        replaces,
        skips: skips.to_vec(),
        skip_range: None,
    };
    let entries = [
        entry("a", None, &[]),
        entry("b", Some("a"), &[]),
        entry("c", Some("x"), &["b"]),
        entry("d", None, &[]),
    ];
    assert_eq!(DrawnChannel::heads_of(&entries), ["c", "d"]);
    assert_eq!(DrawnChannel::heads_of(&[]), [""; 0]);
}

#[test]
fn names_from_strangers_are_text_in_every_drawing() {
    let text = "</title><script>alert(1)</script>\"\\\u{202e}\u{7}\n]];";
    let entry = json!({"name": "p.v1", "replaces": text, "skipRange": text});
    let version = json!({"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}});
    let catalog = fixture::catalog_of(&format!(
        "{}\n{}\n{}\n",
        json!({"schema": "olm.package", "name": "p", "defaultChannel": text}),
        json!({"schema": "olm.channel", "package": "p", "name": text, "entries": [entry]}),
        json!({"schema": "olm.bundle", "package": "p", "name": "p.v1", "image": "a/b:1", "properties": [version]}),
    ));
    let drawing = drawing(&catalog);
    let mermaid = drawing.mermaid().to_string();
    let dot = drawing.dot().to_string();
    let svg = drawing.svg().to_string();
    assert_eq!(
        [&mermaid, &svg].map(|drawn| drawn.contains("<script")),
        [false, false]
    );
    let lanes = drawing.lanes().to_string();
    assert!(
        !lanes.contains('\u{202e}') && lanes.lines().count() == 3,
        "{lanes}"
    );
    assert!(
        svg.contains("&lt;/title&gt;&lt;script&gt;") && !svg.contains('\u{202e}'),
        "{svg}"
    );
    // Of DOT, a text ends at a quote that no backslash is before.
    assert!(
        dot.contains(r#"</script>\"\\"#) && !dot.contains('\u{7}'),
        "{dot}"
    );
    assert_eq!(
        mermaid.lines().count(),
        "flowchart, subgraph, direction, 2 nodes, edge, end, 4 classes"
            .split(", ")
            .count()
            + 4
    );
}

#[test]
fn a_drawing_that_mermaid_would_refuse_says_so() {
    let entries = |count: usize| {
        (0..=count)
            .map(|at| format!("v1.0.{at}"))
            .collect::<Vec<_>>()
            .join(" <- ")
    };
    let refusal = |count| {
        let catalog = fixture::catalog(&format!(
            "package p default=a\nchannel a: {}",
            entries(count)
        ));
        drawing(&catalog).mermaid().refusal()
    };
    assert_eq!(refusal(500), None);
    assert_eq!(
        refusal(501).as_deref(),
        Some("it has 501 edges, and Mermaid draws at most 500")
    );
}
