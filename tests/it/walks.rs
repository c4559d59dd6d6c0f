//! Walks over every connection of a real catalog: one order, whatever the size of the pages and the
//! direction, and also while the catalog is replaced between two pages.

use std::collections::HashSet;

use bytes::Bytes;
use fbc::{Catalog, Meta};
use fbc_grammar::Digest;
use fbc_read::origin::{FileOrigin, Origins};
use graphql::limits::Limits;
use graphql::{Engine, Request};
use serde_json::{Value, json};
use serving::{CatalogMetadata, CatalogsWriter, Content, Served, catalogs};

use crate::corpus;

/// Connections by their field and arguments, with what tells items apart.
const CONNECTIONS: &[(&str, &str, &str)] = &[
    ("packages", "", "name"),
    (
        "packages",
        "orderBy: {field: NAME, direction: DESC}",
        "name",
    ),
    ("packages", "orderBy: {field: CREATED_AT}", "name"),
    (
        "packages",
        "orderBy: {field: CREATED_AT, direction: DESC}",
        "name",
    ),
    ("packages", r#"filter: {search: "database"}"#, "name"),
    (
        "packages",
        r#"filter: {search: "kuberntes cluster"}, orderBy: {field: RELEVANCE, direction: DESC}"#,
        "name",
    ),
    ("bundles", "", "name package { name }"),
    (
        "bundles",
        "orderBy: {field: VERSION}",
        "name package { name }",
    ),
    (
        "bundles",
        "orderBy: {field: VERSION, direction: ASC}, filter: {channelHead: true}",
        "name package { name }",
    ),
    ("bundles", "orderBy: {field: NAME}", "name package { name }"),
    (
        "bundles",
        r#"filter: {versionRange: ">=1.0.0 <2.0.0"}"#,
        "name package { name }",
    ),
    ("metas", "", "schema name packageName"),
    (
        "metas",
        r#"filter: {schema: "olm.channel"}"#,
        "name packageName",
    ),
];

/// A published set with one catalog that can be replaced, and an engine over it that gives pages of
/// any size.
struct Server {
    writer: CatalogsWriter,
    engine: Engine,
}

impl Server {
    fn new(served: Served) -> Self {
        let (mut writer, readers) = catalogs();
        writer.publish(served);
        let unbounded = Limits {
            page_size: usize::MAX,
            cost: u64::MAX,
            work: u64::MAX,
            time: testing::TEST_TIMEOUT,
            ..Limits::default()
        };
        Self {
            writer,
            engine: Engine::new(readers, "test", unbounded),
        }
    }

    /// The edges of a page.
    fn page(
        &self,
        (field, given, item): (&str, &str, &str),
        window: &str,
        cursor: &Value,
    ) -> Vec<Value> {
        let query = format!(
            "query($cursor: String) {{ catalog(name: \"c\") {{ {field}({given} {window}) {{ edges {{ cursor node {{ {item} }} }} }} }} }}"
        );
        let variables = json!({ "cursor": cursor }).as_object().cloned();
        let answer = self.engine.execute(&Request {
            query: Some(query.into()),
            variables,
            ..Request::default()
        });
        let mut body: Value = serde_json::from_slice(&answer.body).expect("an answer is JSON");
        assert_eq!(body.get("errors"), None, "{field} {given} {window}");
        let Value::Array(edges) = body["data"]["catalog"][field]["edges"].take() else {
            panic!("no edges: {body}")
        };
        edges
    }
}

/// The whole catalog or a part of it, by the files that are kept.
fn part(whole: &Catalog, digest: u8, is_kept: impl Fn(usize) -> bool) -> Served {
    let mut paths: Vec<_> = metas(whole).map(|meta| meta.file().to_string()).collect();
    paths.dedup();
    let kept: HashSet<_> = paths
        .iter()
        .enumerate()
        .filter(|(at, _)| is_kept(*at))
        .map(|(_, path)| path.as_str())
        .collect();
    let mut content = Vec::new();
    let mut files = Vec::<FileOrigin>::new();
    for meta in metas(whole).filter(|meta| kept.contains(&**meta.file())) {
        content.extend_from_slice(meta.blob().raw());
        content.push(b'\n');
        match files.last_mut() {
            Some(last) if last.path == **meta.file() => last.lines.push(meta.line()),
            _ => {
                files.push(FileOrigin {
                    path: meta.file().to_string(),
                    lines: vec![meta.line()],
                    ..FileOrigin::default()
                });
            }
        }
    }
    let catalog = Catalog::build(
        Bytes::from(content),
        &Origins {
            files,
            ..Origins::default()
        },
    )
    .expect("the lines are canonical");
    Served::new(
        "c",
        Content::new(catalog, Digest::new([digest; 32])),
        CatalogMetadata::default(),
    )
}

fn metas(catalog: &Catalog) -> impl Iterator<Item = Meta<'_>> {
    (0..catalog.meta_count()).map(|at| catalog.meta_at(at))
}

fn again(served: &Served) -> Served {
    Served::new(
        served.name.clone(),
        served.content.clone(),
        served.metadata.clone(),
    )
}

#[test]
fn every_connection_of_community_has_one_order_in_pages_both_ways_and_in_one() {
    let catalog = corpus::serve_community().content.catalog;
    let server = Server::new(part(&catalog, 1, |_| true));
    for &connection in CONNECTIONS {
        let whole = server.page(connection, "first: 1000000, after: $cursor", &Value::Null);
        assert!(!whole.is_empty(), "{connection:?}");
        let mut forwards = Vec::new();
        let mut cursor = Value::Null;
        while forwards.len() < whole.len() {
            let edges = server.page(connection, "first: 97, after: $cursor", &cursor);
            cursor = edges
                .last()
                .unwrap_or_else(|| panic!("{connection:?} ends early"))["cursor"]
                .clone();
            forwards.extend(edges);
        }
        assert!(forwards == whole, "{connection:?} forwards");
        let mut backwards = Vec::new();
        let mut cursor = Value::Null;
        while backwards.len() < whole.len() {
            let edges = server.page(connection, "last: 101, before: $cursor", &cursor);
            cursor = edges
                .first()
                .unwrap_or_else(|| panic!("{connection:?} ends early"))["cursor"]
                .clone();
            backwards.splice(..0, edges);
        }
        assert!(backwards == whole, "{connection:?} backwards");
    }
}

#[test]
fn a_walk_over_community_neither_repeats_nor_skips_what_stays_while_it_is_replaced_between_pages() {
    let catalog = corpus::serve_community().content.catalog;
    let parts = [
        part(&catalog, 1, |at| at % 5 != 0),
        part(&catalog, 2, |at| at % 7 != 0),
    ];
    let stays = part(&catalog, 3, |at| at % 5 != 0 && at % 7 != 0);
    for &connection in CONNECTIONS {
        let nodes = |edges: Vec<Value>| {
            edges
                .into_iter()
                .map(|mut edge| edge["node"].take().to_string())
        };
        let expected: Vec<_> = nodes(Server::new(again(&stays)).page(
            connection,
            "first: 1000000, after: $cursor",
            &Value::Null,
        ))
        .collect();
        let kept: HashSet<_> = expected.iter().cloned().collect();
        for (size, cursor_of) in [
            (
                "first: 83, after: $cursor",
                <[Value]>::last as fn(&[Value]) -> Option<&Value>,
            ),
            ("last: 89, before: $cursor", <[Value]>::first),
        ] {
            let mut server = Server::new(again(&parts[0]));
            let mut seen = Vec::new();
            let mut cursor = Value::Null;
            for turn in 1.. {
                let edges = server.page(connection, size, &cursor);
                let Some(edge) = cursor_of(&edges) else { break };
                cursor = edge["cursor"].clone();
                let page: Vec<_> = nodes(edges).collect();
                let at = if size.starts_with("first") {
                    seen.len()
                } else {
                    0
                };
                seen.splice(at..at, page);
                server.writer.publish(again(&parts[turn % 2]));
            }
            assert_eq!(
                seen.iter().collect::<HashSet<_>>().len(),
                seen.len(),
                "{connection:?} {size} repeats"
            );
            let found: Vec<_> = seen
                .into_iter()
                .filter(|node| kept.contains(node))
                .collect();
            assert!(
                found == expected,
                "{connection:?} {size}: {} of {}",
                found.len(),
                expected.len()
            );
        }
    }
}
