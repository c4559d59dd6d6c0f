//! The operations of `examples/operations.graphql` over the real catalog `community`, or the part of
//! it that lies in this repository, field by field: everything that is answered is compared with
//! what a second, plain reading of the same files makes of it.

mod bundles;
mod console;
mod diffs;
mod display;
mod filters;
mod model;
mod names;
mod orders;
mod packages;
mod requirements;
mod search;

use std::sync::OnceLock;

use graphql::{Engine, Request};
use serde_json::{Value, json};

use crate::served;
use crate::support::SeededRandom;
use model::Model;

const OPERATIONS: &str = include_str!("../../examples/operations.graphql");

/// The catalog behind an engine, and a second reading of it; both are made once for all tests.
struct Community {
    engine: Engine,
    model: Model,
}

/// The catalog, read once for all tests.
fn community() -> &'static Community {
    static COMMUNITY: OnceLock<Community> = OnceLock::new();
    COMMUNITY.get_or_init(|| {
        let folder = testing::corpus::community();
        let catalog = served::directory("community", folder.to_str().expect("the path is UTF-8"));
        Community {
            engine: served::engine([catalog]),
            model: Model::read(&folder),
        }
    })
}

impl Community {
    /// What is expected of the catalog: of the whole `community`, or of its part.
    fn whole_or_part<T>(&self, whole: T, part: T) -> T {
        if self.model.packages.len() > 100 {
            whole
        } else {
            part
        }
    }

    /// The answer to one of the operations, with its errors.
    fn answer(&self, operation: &str, variables: Value) -> Value {
        let Value::Object(variables) = variables else {
            panic!("variables are an object")
        };
        let answer = self.engine.execute(&Request {
            query: Some(OPERATIONS.into()),
            document_id: None,
            operation_name: Some(operation.into()),
            variables: Some(variables),
            extensions: None,
        });
        std::str::from_utf8(&answer.body)
            .expect("an answer is UTF-8")
            .parse()
            .expect("an answer is JSON")
    }

    /// The data of the answer to one of the operations, which has no errors.
    #[track_caller]
    fn ask(&self, operation: &str, variables: &Value) -> Value {
        let mut answer = self.answer(operation, variables.clone());
        assert_eq!(answer.get("errors"), None, "{operation} {variables}");
        answer["data"].take()
    }

    /// Every page of a connection: where the connection is in the data, and the first page without
    /// a variable `after`.
    #[track_caller]
    fn pages(&self, operation: &str, variables: &Value, connection: &str) -> Vec<Value> {
        let mut variables = variables.clone();
        let mut pages = Vec::new();
        loop {
            let mut data = self.ask(operation, &variables);
            let mut page = data
                .pointer_mut(connection)
                .expect("the connection is there")
                .take();
            let info = page["pageInfo"].take();
            pages.push(page);
            if info["hasNextPage"] == false {
                return pages;
            }
            variables["after"] = info["endCursor"].clone();
        }
    }

    /// The nodes of every page of a connection.
    #[track_caller]
    fn nodes(&self, operation: &str, variables: &Value, connection: &str) -> Vec<Value> {
        self.pages(operation, variables, connection)
            .iter_mut()
            .flat_map(take_nodes)
            .collect()
    }
}

/// The nodes of a page.
fn take_nodes(page: &mut Value) -> Vec<Value> {
    match page["nodes"].take() {
        Value::Array(nodes) => nodes,
        other => panic!("{other} is no list"),
    }
}

/// Asserts that two lists are equal, and says where they are not.
#[track_caller]
fn assert_all_equal(actual: &[Value], expected: &[Value], what: &str) {
    let differs = actual
        .iter()
        .zip(expected)
        .position(|(actual, expected)| actual != expected);
    if let Some(at) = differs {
        assert_eq!(actual[at], expected[at], "{what}: at {at}");
    }
    assert_eq!(actual.len(), expected.len(), "{what}");
}

/// Some of a list, the same in every run and from all over it.
fn some<T: Clone>(all: &[T], count: usize) -> Vec<T> {
    let mut random = SeededRandom::new(2);
    (0..count).map(|_| random.choose(all).clone()).collect()
}

#[test]
fn an_object_is_found_again_by_its_id() {
    let community = community();
    let query = "query($package: String!) {
        catalog(name: \"community\") { id digest }
        package(catalog: \"community\", name: $package) {
            id channels { id name } bundles(first: 500) { nodes { id name } }
        }
    }";
    let mut ids = std::collections::BTreeSet::new();
    for package in some(&community.model.packages.values().collect::<Vec<_>>(), 40) {
        let mut data = served::data(
            &community.engine,
            query,
            &json!({ "package": package.name }),
        );
        let catalog = data["catalog"].take();
        let expected =
            json!({ "__typename": "Catalog", "name": "community", "digest": catalog["digest"] });
        community.assert_refetched(&catalog["id"], expected);
        let display_name = package
            .metadata()
            .and_then(|metadata| model::text(metadata, "displayName"));
        let metadata = json!({ "displayName": display_name });
        let mut data = data["package"].take();
        let expected =
            json!({ "__typename": "Package", "name": package.name, "metadata": metadata });
        community.assert_refetched(&data["id"], expected);
        for (kind, objects) in [
            ("Channel", data["channels"].take()),
            ("Bundle", data["bundles"]["nodes"].take()),
        ] {
            for object in objects.as_array().expect("a list") {
                let of = json!({ "name": package.name });
                let expected = json!({ "__typename": kind, "name": object["name"], "package": of });
                community.assert_refetched(&object["id"], expected);
                ids.insert(object["id"].to_string());
            }
        }
    }
    let least = community.whole_or_part(500, 100);
    assert!(ids.len() > least, "only {} objects", ids.len());
    let none = community.ask("Refetch", &json!({ "id": "bm90aGluZw" }));
    assert_eq!(none, json!({ "node": null }));
}

impl Community {
    /// Asserts that an id leads to an object.
    #[track_caller]
    fn assert_refetched(&self, id: &Value, mut expected: Value) {
        expected["id"] = id.clone();
        assert_eq!(
            self.ask("Refetch", &json!({ "id": id })),
            json!({ "node": expected })
        );
    }
}
