//! The engine answers as graphql-js does: every document of `tests/js/cases` was executed by
//! graphql-js over a second, independent reading of the same two catalogs, and is executed here by
//! the engine. Data is compared whole, down to the order of keys and the digits of numbers; errors
//! by their path, code and place; refusals by their phase and place.
//!
//! `tests/js/differential.mjs` asks a running server the same, and changes of it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use graphql::{Engine, Request};
use serde::Deserialize;
use serde_json::value::RawValue;
use serving::{CatalogMetadata, Content, Served};

use crate::json::Json;
use crate::served;

const GOLDEN: &str = include_str!("../testdata/golden/graphql-js.jsonl");

/// What the recording says of the catalogs besides their content.
const CATALOGS: &str = include_str!("../testdata/golden/graphql-js-catalogs.json");

/// Cases that are answered otherwise on purpose: what the engine says instead of graphql-js, and
/// why.
const DIFFERENCES: [(&str, &str, &str); 4] = [
    (
        "catalogs: inline manifests that are none",
        r#"{"data": {"bundle": {"properties": [{"__typename": "BundleObjectProperty", "object": null}, {"__typename": "BundleObjectProperty", "object": null}, {"__typename": "OpaqueProperty"}, {"__typename": "OpaqueProperty"}]}}, "errors": []}"#,
        "a manifest is decoded when it is asked for, so the index takes any object for one",
    ),
    (
        "variables: one of two with a variable that may be null",
        r#"{"refused": "GRAPHQL_VALIDATION_FAILED"}"#,
        "the specification refuses it (IsNonNullPosition), and graphql-js 17.1 overlooks it below an argument that must \
         not be null",
    ),
    (
        "conflicts: one text as a string and as a block string",
        r#"{"data": {"catalog": {"name": "example", "__typename": "Catalog"}}, "errors": []}"#,
        "a string and a block string of the same text are the same argument; graphql-js compares how they are written",
    ),
    (
        "directives: a condition that is null within introspection",
        r#"{"data": {"__type": null, "__typename": "Query"}, "errors": [{"path": ["__type"], "code": "BAD_USER_INPUT", "place": [1, 82]}]}"#,
        "introspection is one value, which is there or not, so the path ends where it begins",
    ),
];

/// Refusals that are shown at another place, by how their messages begin; `tests/js/gaps.mjs` says
/// why.
const PLACED_OTHERWISE: [&str; 8] = [
    "syntax error",
    "fragment `",
    "inline fragment must have a composite type",
    "`",
    "the required argument",
    "the required field",
    "expected value of type",
    "anonymous subscription",
];

/// Lists of introspection whose order says nothing.
const UNORDERED: [&str; 3] = ["types", "directives", "possibleTypes"];

/// A place for directives that graphql-js alone knows.
const EXPERIMENT: &str = "FRAGMENT_VARIABLE_DEFINITION";

/// Scalars and directives that every server has.
const BUILT_IN: [&str; 10] = [
    "Boolean",
    "Float",
    "ID",
    "Int",
    "String",
    "deprecated",
    "include",
    "oneOf",
    "skip",
    "specifiedBy",
];

/// One line of the recording.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case<'a> {
    name: String,
    query: String,
    #[serde(borrow)]
    variables: Option<&'a RawValue>,
    operation_name: Option<String>,
    /// The phase in which the request is refused, if it is.
    refused: Option<String>,
    /// Every place that graphql-js shows for a refusal: line and column.
    places: Option<Vec<[usize; 2]>>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(borrow)]
    errors: Option<Vec<FieldError<'a>>>,
}

/// A catalog that the recording was made over.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CatalogCase {
    name: String,
    directory: String,
    priority: i32,
    display_name: Option<String>,
    publisher: Option<String>,
    labels: BTreeMap<String, String>,
    image: Option<String>,
    last_unpacked: Option<String>,
}

#[derive(Deserialize)]
struct FieldError<'a> {
    /// There is none at the root.
    #[serde(borrow)]
    path: Option<&'a RawValue>,
    code: String,
    places: Vec<[usize; 2]>,
}

/// Ids and cursors: the placeholders of the recording, and what the engine gave in their places.
#[derive(Default)]
struct Opaque {
    by_placeholder: HashMap<String, String>,
    by_text: HashMap<String, String>,
}

#[test]
fn every_recorded_document_is_answered_as_graphql_js_answers_it() {
    let engine = engine();
    let mut opaque = Opaque::default();
    let mut faults = String::new();
    let mut count = 0;
    for line in GOLDEN.lines() {
        let case: Case<'_> = serde_json::from_str(line).expect("the recording is JSON");
        let mut expected = case.expected();
        let answer = case.execute(&engine, &opaque);
        let mut actual = normalised(&answer);
        if case.name.starts_with("introspection: ") {
            [&mut expected, &mut actual]
                .into_iter()
                .for_each(normalise_introspection);
        }
        let difference = opaque.compare(&expected, &actual, "");
        match (
            difference,
            DIFFERENCES.iter().find(|(name, ..)| *name == case.name),
        ) {
            (Some(_), Some((_, ours, _))) if actual.to_string() == *ours => {}
            (None, Some((name, ..))) => {
                writeln!(faults, "{name}\n  is no difference any more").unwrap();
            }
            (None, None) if case.is_placed_otherwise(&answer) => {
                writeln!(
                    faults,
                    "{}\n  {answer} is not at {:?}",
                    case.name, case.places
                )
                .unwrap();
            }
            (None, None) => {}
            (Some(difference), _) => writeln!(
                faults,
                "{}\n  {difference}\n  got {}",
                case.name,
                cut(&actual)
            )
            .unwrap(),
        }
        count += 1;
    }
    assert!(count >= 150, "only {count} cases");
    assert!(
        faults.is_empty(),
        "differs from graphql-js (to record anew after a change of schema.graphql or the catalogs: \
         make regenerate-graphql-js):\n{faults}"
    );
}

#[test]
fn every_known_difference_is_a_recorded_case() {
    let names: Vec<String> = GOLDEN
        .lines()
        .map(|line| {
            serde_json::from_str::<Case<'_>>(line)
                .expect("the recording is JSON")
                .name
        })
        .collect();
    for (name, _, reason) in DIFFERENCES {
        assert!(names.iter().any(|other| other == name), "{name}");
        assert!(!reason.is_empty(), "{name}");
    }
}

fn engine() -> Engine {
    let cases: Vec<CatalogCase> =
        serde_json::from_str(CATALOGS).expect("the description of the catalogs is JSON");
    served::engine(cases.into_iter().map(|case| {
        let metadata = CatalogMetadata {
            priority: case.priority,
            display_name: case.display_name,
            publisher: case.publisher,
            labels: case.labels,
            ..CatalogMetadata::default()
        };
        let last_unpacked = case.last_unpacked.map(|text| text.parse().expect("a time"));
        let read = served::directory(&case.name, &case.directory).content;
        let content = Content {
            image: case.image.map(Into::into),
            last_unpacked,
            ..read
        };
        Served::new(case.name, content, metadata)
    }))
}

impl Case<'_> {
    fn execute(&self, engine: &Engine, opaque: &Opaque) -> Json {
        let variables = self.variables.map(|variables| opaque.fill(variables.get()));
        let request = Request {
            query: Some(self.query.as_str().into()),
            document_id: None,
            operation_name: self.operation_name.as_deref().map(Into::into),
            variables: variables
                .map(|text| serde_json::from_str(&text).expect("variables are an object")),
            extensions: None,
        };
        let answer = engine.execute(&request);
        Json::read(std::str::from_utf8(&answer.body).expect("an answer is UTF-8"))
    }

    /// Whether a refusal shows a place that graphql-js does not, for no known reason. A library may
    /// stop at another fault than the other one, but at one that is there.
    fn is_placed_otherwise(&self, answer: &Json) -> bool {
        let (Some(places), Some(error)) = (
            &self.places,
            answer
                .get("errors")
                .and_then(|errors| errors.items().first()),
        ) else {
            return false;
        };
        let is_known = match error.get("message") {
            Some(Json::Text(message)) => PLACED_OTHERWISE
                .iter()
                .any(|start| message.starts_with(start)),
            _ => false,
        };
        !is_known
            && !places.is_empty()
            && place_of(error).is_none_or(|place| !places.contains(&place))
    }

    /// What the engine's answer must be, in the form of [`normalised`].
    fn expected(&self) -> Json {
        let code = match self.refused.as_deref() {
            None => {
                let data = self
                    .data
                    .map_or(Json::null(), |data| Json::read(data.get()));
                let errors = self.errors.iter().flatten().map(|error| {
                    let path = error
                        .path
                        .map_or(Json::null(), |path| Json::read(path.get()));
                    field_error(
                        path,
                        Json::Text(error.code.clone()),
                        error.places.first().copied(),
                    )
                });
                return Json::Object(vec![
                    ("data".into(), data),
                    ("errors".into(), Json::List(errors.collect())),
                ]);
            }
            Some("parse") => "GRAPHQL_PARSE_FAILED",
            Some("validation") => "GRAPHQL_VALIDATION_FAILED",
            Some("operation") => "OPERATION_RESOLUTION_FAILURE",
            Some("variables") => "BAD_USER_INPUT",
            Some(phase) => panic!("unknown phase {phase}"),
        };
        Json::Object(vec![("refused".into(), Json::Text(code.into()))])
    }
}

/// What counts of an error of a field. graphql-js shows every field that is merged, the engine the
/// first.
fn field_error(path: Json, code: Json, place: Option<[usize; 2]>) -> Json {
    let place = place.map_or(Json::null(), |place| Json::read(&format!("{place:?}")));
    Json::Object(vec![
        ("path".into(), path),
        ("code".into(), code),
        ("place".into(), place),
    ])
}

/// The first place that an error shows: line and column.
fn place_of(error: &Json) -> Option<[usize; 2]> {
    let place = error.get("locations")?.items().first()?;
    let number = |name| {
        place
            .get(name)
            .and_then(|number: &Json| number.to_string().parse().ok())
    };
    Some([number("line")?, number("column")?])
}

/// What counts of an answer: data and, of each error, path, code and place; of a refusal only its
/// code.
fn normalised(answer: &Json) -> Json {
    let errors = answer.get("errors").map_or(&[][..], Json::items);
    let code = |error: &Json| {
        error
            .get("extensions")
            .and_then(|more| more.get("code"))
            .cloned()
            .unwrap_or(Json::null())
    };
    let Some(data) = answer.get("data") else {
        return Json::Object(vec![(
            "refused".into(),
            errors.first().map_or(Json::null(), code),
        )]);
    };
    let errors = errors.iter().map(|error| {
        let path = error.get("path").cloned().unwrap_or(Json::null());
        field_error(path, code(error), place_of(error))
    });
    Json::Object(vec![
        ("data".into(), data.clone()),
        ("errors".into(), Json::List(errors.collect())),
    ])
}

/// Takes away what introspection leaves to the server: the order of types and directives, and the
/// descriptions and the order of what is built in.
fn normalise_introspection(json: &mut Json) {
    let is_built_in = json.get("name").is_some_and(|name| match name {
        Json::Text(name) => name.starts_with("__") || BUILT_IN.contains(&name.as_str()),
        _ => false,
    });
    match json {
        Json::List(items) => {
            items.retain(|item| item.get("name") != Some(&Json::Text(EXPERIMENT.into())));
            items.iter_mut().for_each(normalise_introspection);
        }
        Json::Object(members) => {
            for (key, member) in members {
                normalise_introspection(member);
                if is_built_in {
                    normalise_built_in(member);
                }
                match member {
                    Json::List(items) if is_built_in || UNORDERED.contains(&key.as_str()) => {
                        sort_by_name(items);
                    }
                    Json::Text(_) if is_built_in && key == "description" => *member = Json::null(),
                    _ => {}
                }
            }
        }
        Json::Plain(_) | Json::Text(_) => {}
    }
}

/// The same below what is built in, whatever it is called.
fn normalise_built_in(json: &mut Json) {
    match json {
        Json::List(items) => {
            items.iter_mut().for_each(normalise_built_in);
            sort_by_name(items);
        }
        Json::Object(members) => {
            for (key, member) in members {
                normalise_built_in(member);
                if key == "description" {
                    *member = Json::null();
                }
            }
        }
        Json::Plain(_) | Json::Text(_) => {}
    }
}

fn sort_by_name(items: &mut [Json]) {
    items.sort_by_key(|item| item.get("name").unwrap_or(item).to_string());
}

impl Opaque {
    /// A text of the recording with what the engine gave in the places of its placeholders.
    fn fill(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('«') {
            let (placeholder, after) = after.split_once('»').expect("a placeholder ends");
            // Within JSON text a placeholder is escaped as any other text.
            let plain: String = serde_json::from_str(&format!("\"«{placeholder}»\""))
                .expect("a placeholder is a string");
            let given = self
                .by_placeholder
                .get(&plain)
                .unwrap_or_else(|| panic!("no answer had {plain} before"));
            filled.push_str(before);
            filled.push_str(given);
            rest = after;
        }
        filled + rest
    }

    /// The first difference, if there is one.
    fn compare(&mut self, expected: &Json, actual: &Json, path: &str) -> Option<String> {
        match (expected, actual) {
            (Json::Text(placeholder), Json::Text(text)) if placeholder.starts_with('«') => {
                let before = self
                    .by_placeholder
                    .entry(placeholder.clone())
                    .or_insert_with(|| text.clone());
                let meaning = self
                    .by_text
                    .entry(text.clone())
                    .or_insert_with(|| placeholder.clone());
                let same = before == text && meaning == placeholder;
                (!same).then(|| {
                    format!("at {path}: {placeholder} was {before}, and {text} was {meaning}")
                })
            }
            (Json::List(expected), Json::List(actual)) if expected.len() == actual.len() => {
                let mut pairs = expected.iter().zip(actual).enumerate();
                pairs.find_map(|(at, (expected, actual))| {
                    self.compare(expected, actual, &format!("{path}/{at}"))
                })
            }
            (Json::Object(expected), Json::Object(actual)) if keys(expected) == keys(actual) => {
                let mut pairs = expected.iter().zip(actual);
                pairs.find_map(|((key, expected), (_, actual))| {
                    self.compare(expected, actual, &format!("{path}/{key}"))
                })
            }
            _ if expected == actual => None,
            _ => Some(format!(
                "at {path}: expected {}\n  got {}",
                cut(expected),
                cut(actual)
            )),
        }
    }
}

fn keys(members: &[(String, Json)]) -> Vec<&str> {
    members.iter().map(|(key, _)| key.as_str()).collect()
}

/// As much of a value as a message can hold.
fn cut(value: &Json) -> String {
    value.to_string().chars().take(600).collect()
}
