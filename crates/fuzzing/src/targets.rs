//! The fuzz targets of everything but layers: each takes any bytes, and panics where a property
//! does not hold.

use std::sync::{Arc, LazyLock};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use bytes::Bytes;
use fbc::Catalog;
use fbc::work::Work;
use fbc_grammar::Digest;
use fbc_grammar::range::{BlangRange, MastermindsRange};
use fbc_grammar::selector::Selector;
use fbc_grammar::version::Version;
use fbc_read::origin::FileOrigin;
use fbc_read::{FileReader, Origins, ReadEvent, ReadLimits};
use graphql::limits::Limits;
use graphql::{Engine, Request};
use serving::{CatalogMetadata, Content, Served, catalogs};
use testing::drawing::draw;

/// Versions that are looked for in every range, highest first.
const VERSIONS: [&str; 9] = [
    "18446744073709551615.0.0",
    "3.0.0",
    "2.0.0",
    "2.0.0-rc.1",
    "1.2.3",
    "1.2.0+5",
    "1.0.0",
    "0.1.0",
    "0.0.0-0",
];

/// Canonical lines of the catalog whose objects ids and cursors may name.
const CATALOG: &str = r#"{"defaultChannel":"a","name":"p","schema":"olm.package"}
{"entries":[{"name":"p.v1"},{"name":"p.v2","replaces":"p.v1"}],"name":"a","package":"p","schema":"olm.channel"}
{"image":"a.io/p:1","name":"p.v1","package":"p","properties":[{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}}],"schema":"olm.bundle"}
{"image":"a.io/p:2","name":"p.v2","package":"p","properties":[{"type":"olm.package","value":{"packageName":"p","version":"2.0.0"}}],"schema":"olm.bundle"}
{"name":"q","schema":"olm.package"}
"#;

/// An operation with every field that takes an id or a cursor.
const DOCUMENT: &str = "query ($text: String!, $id: ID!) {
  node(id: $id) { __typename id ... on Bundle { version } }
  nodes(ids: [$id, $id]) { id }
  packages(first: 2, after: $text) { nodes { id } pageInfo { endCursor } }
  bundles(last: 2, before: $text) { nodes { id } pageInfo { startCursor } }
  metas(first: 2, after: $text) { nodes { schema } }
}";

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let (mut writer, readers) = catalogs();
    let catalog = Arc::new(catalog(CATALOG.as_bytes()).expect("the catalog is well-formed"));
    for name in ["one", "two"] {
        writer.publish(Served::new(
            name,
            Content::new(Arc::clone(&catalog), Digest::new([0; 32])),
            CatalogMetadata::default(),
        ));
    }
    // The writer may go: what it published stays.
    Engine::new(readers, "test", Limits::default())
});

/// Compiles and evaluates CEL rules of constraints: neither panics, and the same rule gives the
/// same result again.
pub fn rules(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let properties = serde_json::json!([
        {"type": "olm.package", "value": {"packageName": "p", "version": "1.0.0"}},
        {"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K"}},
        {"type": "list", "value": [1, "x", null, {"a": {"b": true}}]},
    ]);
    let properties: Vec<solve::OperatorProperty> =
        serde_json::from_value(properties).expect("they are properties");
    let evaluate = || solve::evaluate_rule(&text, &properties);
    assert_eq!(evaluate(), evaluate());
}

/// Reads values of `olm.constraint`: neither reading nor displaying them panics, and what is
/// refused is JSON or not for the same reason again.
pub fn constraints(data: &[u8]) {
    let read = solve::display_constraint(data);
    assert_eq!(read, solve::display_constraint(data));
    if read.is_ok() {
        assert!(
            serde_json::from_slice::<serde_json::Value>(data).is_ok(),
            "what is not JSON was read"
        );
    }
}

/// Parses ranges of `skipRange`: neither parsing nor evaluating panics, and `places` agrees with
/// `contains`.
pub fn blang(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(range) = BlangRange::parse(&text) else {
        return;
    };
    let versions = VERSIONS.map(|version| Version::parse(version).expect("they are versions"));
    let places: Vec<_> = range.places(&versions).into_iter().flatten().collect();
    let expected: Vec<_> = (0..versions.len())
        .filter(|&at| range.contains(&versions[at]))
        .collect();
    assert_eq!(places, expected, "{text:?}");
}

/// Parses ranges of a `ClusterExtension`: neither parsing nor evaluating panics, and build metadata
/// never counts.
pub fn masterminds(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let Ok(range) = MastermindsRange::parse(&text) else {
        return;
    };
    for version in VERSIONS {
        let bare = version.split('+').next().expect("a text has a beginning");
        let [with, without] =
            [version, bare].map(|text| range.contains(&Version::parse(text).expect("a version")));
        assert_eq!(with, without, "{text:?} {version}");
    }
}

/// Parses label selectors: neither parsing nor matching panics.
pub fn selectors(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let labels = [("a", "b"), ("a.io/b", "1"), ("c", "")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()));
    let _ = Selector::parse(&text).map(|selector| selector.matches(&labels.into()));
}

/// Reads the bytes as a file of a catalog, JSON or YAML: the lines of what can be read are read as
/// themselves, a catalog can be built from them, and they do not depend on the pieces in which the
/// file comes.
pub fn files(data: &[u8]) {
    let lines = read(data, data.len());
    assert_eq!(read(data, 7), lines);
    let Some(lines) = lines else { return };
    assert_eq!(
        read(&lines, lines.len()).as_ref(),
        Some(&lines),
        "{}",
        String::from_utf8_lossy(&lines)
    );
    catalog(&lines).expect("what was read can be indexed");
}

/// Indexes the bytes as lines of a store: damaged ones are refused, and everything that is indexed
/// can be read.
pub fn lines(data: &[u8]) {
    let Ok(catalog) = catalog(data) else { return };
    for bundle in catalog.bundles() {
        let _ = (
            bundle.image().decode(),
            bundle.related_images(),
            bundle.deprecation().is_some(),
        );
        bundle
            .properties()
            .for_each(|property| drop((property.constraint(), property.value())));
    }
    for package in catalog.packages() {
        let graph = fbc_graph::graph::UpdateGraph::new(package, &[""; 0], &Work::unlimited())
            .expect("an account without limit stops nothing");
        let _ = (
            graph.edges().take(100).count(),
            graph.stranded(),
            draw(package, &graph).mermaid().to_string(),
        );
    }
}

/// Executes operations with the bytes as ids and cursors, both as they are and encoded: a request
/// fails with a client's error or not at all.
pub fn ids(data: &[u8]) {
    execute(DOCUMENT, &String::from_utf8_lossy(data));
    execute(DOCUMENT, &BASE64_URL_SAFE_NO_PAD.encode(data));
}

/// Executes an operation over two small catalogs, with `text` for its variables `text` and `id`,
/// and returns the response. Panics when that has an internal error.
pub fn execute(document: &str, text: &str) -> serde_json::Value {
    let variables = ["text", "id"].map(|name| (name.to_owned(), text.into()));
    let request = Request {
        query: Some(document.into()),
        variables: Some(variables.into_iter().collect()),
        ..Request::default()
    };
    let body = String::from_utf8(ENGINE.execute(&request).body).expect("an answer is UTF-8");
    assert!(!body.contains("INTERNAL_SERVER_ERROR"), "{body}");
    serde_json::from_str(&body).expect("an answer is JSON")
}

/// Reads a file that comes in pieces of `piece` bytes, and returns its canonical lines; `None` when
/// it is refused.
fn read(data: &[u8], piece: usize) -> Option<Vec<u8>> {
    let limits = ReadLimits {
        blob_bytes: 1 << 20,
        depth: 200,
        ..ReadLimits::default()
    };
    let mut reader = FileReader::new(limits);
    let mut pieces = data.chunks(piece.max(1));
    let mut lines = Vec::new();
    loop {
        match reader.next().ok()? {
            ReadEvent::NeedInput => match pieces.next() {
                Some(piece) => reader.push(piece),
                None => reader.finish(),
            },
            ReadEvent::Blob(blob) => lines.extend_from_slice(blob.line),
            ReadEvent::Notice(_) => {}
            ReadEvent::End => return Some(lines),
        }
    }
}

/// Builds the catalog of lines that all come from one file.
fn catalog(lines: &[u8]) -> Result<Catalog, fbc::IndexError> {
    let count = lines.split_inclusive(|&byte| byte == b'\n').count();
    let file = FileOrigin {
        path: "catalog.json".to_owned(),
        lines: (1..=count)
            .filter_map(|line| u32::try_from(line).ok())
            .collect(),
        ..FileOrigin::default()
    };
    let files = if count == 0 { Vec::new() } else { vec![file] };
    Catalog::build(
        Bytes::copy_from_slice(lines),
        &Origins {
            files,
            ..Origins::default()
        },
    )
}
