//! Pages and cursors: every page size, both directions, cursors of things that are gone.

use serde_json::json;

use crate::limits::Limits;
use crate::tests::fixture::{ask_with, data, engine_of, served};

/// A sequence that is the same in every run.
struct Sequence(u64);

impl Sequence {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

#[test]
fn pages_of_many_catalogs_are_those_of_the_sorted_whole() {
    let mut sequence = Sequence(7);
    let mut expected = Vec::new();
    let catalogs: Vec<_> = (0..7)
        .map(|at| {
            let catalog = format!("c{at}");
            let mut names: Vec<u64> = (0..sequence.next(12)).map(|_| sequence.next(30)).collect();
            names.sort_unstable();
            names.dedup();
            expected.extend(
                names
                    .iter()
                    .map(|name| (format!("p{name:02}"), catalog.clone())),
            );
            let line = |name: &u64| {
                format!(r#"{{"defaultChannel":"c","name":"p{name:02}","schema":"olm.package"}}"#)
            };
            served(&catalog, &names.iter().map(line).collect::<Vec<_>>(), 1)
        })
        .collect();
    expected.sort();
    let engine = engine_of(catalogs, Limits::default());
    let query = "query($first: Int, $after: String, $last: Int, $before: String) { packages(first: $first, after: $after, \
                 last: $last, before: $before) { nodes { name catalog { name } } pageInfo { hasNextPage hasPreviousPage } } }";
    let whole = data(&engine, "{ packages(first: 500) { edges { cursor } } }");
    let cursors = whole["packages"]["edges"].as_array().unwrap();
    assert_eq!(cursors.len(), expected.len());
    for _ in 0..300 {
        let total = expected.len() as u64;
        let [from, to, size] = [
            sequence.next(total + 1),
            sequence.next(total + 1),
            sequence.next(9),
        ]
        .map(|value| usize::try_from(value).unwrap());
        let (from, to) = (from.min(to), from.max(to));
        let backwards = sequence.next(2) == 0;
        let cursor = |at: Option<usize>| {
            at.and_then(|at| cursors.get(at))
                .map(|edge| edge["cursor"].clone())
        };
        let variables = json!({
            "after": cursor(from.checked_sub(1)), "before": cursor(Some(to)),
            if backwards { "last" } else { "first" }: size,
        });
        let taken = if backwards {
            from.max(to.saturating_sub(size))..to
        } else {
            from..to.min(from + size)
        };
        let nodes: Vec<_> = expected[taken.clone()]
            .iter()
            .map(|(name, catalog)| json!({"name": name, "catalog": {"name": catalog}}))
            .collect();
        let page = ask_with(&engine, query, &variables)["data"]["packages"].take();
        let info =
            json!({"hasNextPage": taken.end < expected.len(), "hasPreviousPage": taken.start > 0});
        assert_eq!(
            page,
            json!({"nodes": nodes, "pageInfo": info}),
            "{variables}"
        );
    }
}
