//! What upstream answered, of the schemas that it made and of requests. `testdata/golden/README.md`
//! says what is recorded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use fbc_grammar::Digest;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use testing::golden::unpacked;

use crate::server::Server;

/// Requests that are answered differently on purpose, each with the reason.
const DIFFERENT: [(&str, &str); 13] = [
    (
        "pages/operation-name-sent",
        "the name of an operation is used, and so are variables",
    ),
    ("pages/args/(limit: null)", NULL),
    ("pages/language/null-literal", NULL),
    (
        "pages/language/description",
        "descriptions of operations are of the specification of September 2025",
    ),
    (
        "pages/language/inline-fragment",
        "a fragment without a type is one of the type around it",
    ),
    ("pages/language/standard-introspection", INTROSPECTED),
    ("pages/language/depth-11", INTROSPECTED),
    ("pages/language/introspection-type", INTROSPECTED),
    ("pages/language/introspection-directives", INTROSPECTED),
    (
        "pages/language/introspection-schema-description",
        INTROSPECTED,
    ),
    ("pages/language/introspection-specified-by", INTROSPECTED),
    ("pages/language/introspection-repeatable", INTROSPECTED),
    ("types/comexamplethings/all-fields", "numbers are never cut"),
];

const NULL: &str = "`null` is a value";
const INTROSPECTED: &str =
    "introspection has a depth of its own, and is that of the specification of September 2025";

const INTROSPECTION: &str = "{ __schema { types { kind name fields { name args { name description defaultValue type \
     { ...T } } type { ...T } } } } } fragment T on __Type { kind name ofType { kind name ofType { name } } }";

fn golden(name: &str) -> String {
    unpacked(Path::new(env!("CARGO_MANIFEST_DIR")).join(name))
}

fn lines(name: &str) -> Vec<Value> {
    golden(&format!("tests/testdata/golden/{name}"))
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The recorded catalogs that can be read, by name; those of folders are among what the tests of
/// grpc have.
fn recorded() -> (Server, Vec<Value>) {
    let mut server = Server::new();
    let folders: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_str(&golden("../grpc/tests/testdata/golden/catalogs.json.gz")).unwrap();
    let mut cases = Vec::new();
    for case in lines("schemas.jsonl.gz") {
        let name = case["catalog"].as_str().unwrap();
        let files: BTreeMap<_, _> = match case["files"].as_array() {
            Some(files) => files
                .iter()
                .map(|file| (text(&file["path"]), text(&file["text"]).into_bytes()))
                .collect(),
            None => match folders.get(name) {
                Some(files) => files
                    .iter()
                    .map(|(path, text)| (path.clone(), text.clone().into_bytes()))
                    .collect(),
                None => continue,
            },
        };
        // Upstream refuses two of them because they are no catalogs.
        if !matches!(name, "refused-broken" | "refused-not-an-object") {
            server.publish(name, &files);
            cases.push(case);
        }
    }
    // The files of two were not recorded; the answers say what is in them.
    let page =
        |number: usize| json!({ "schema": "page", "name": format!("p{number:03}"), "n": number });
    let pages = (0..250)
        .map(page)
        .chain([json!({ "schema": "other", "name": "o" })]);
    server.publish_text(
        "pages",
        &pages
            .map(|blob| blob.to_string() + "\n")
            .collect::<String>(),
    );
    server.publish_text(
        "accepted-float",
        &json!({ "schema": "float", "name": "float" }).to_string(),
    );
    (server, cases)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Sorts lists that upstream has in random order.
fn ordered(value: &Value, key: &str) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), ordered(value, key)))
            .collect(),
        Value::Array(items) => {
            let mut items: Vec<_> = items.iter().map(|item| ordered(item, "")).collect();
            if [
                "schemas",
                "types",
                "fields",
                "args",
                "directives",
                "locations",
                "errors",
            ]
            .contains(&key)
            {
                items.sort_by_key(Value::to_string);
            }
            items.into()
        }
        // Numbers are doubles upstream.
        Value::Number(number) => json!(number.as_f64()),
        other => other.clone(),
    }
}

/// Whether an answer has all of a recorded one; where that is `null`, anything is right.
fn covers(recorded: &Value, answer: &Value) -> bool {
    match (recorded, answer) {
        (Value::Null, _) => true,
        (Value::Object(own), Value::Object(other)) => {
            own.len() == other.len()
                && own
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| covers(value, other)))
        }
        (Value::Array(own), Value::Array(other)) => {
            own.len() == other.len() && own.iter().zip(other).all(|(one, other)| covers(one, other))
        }
        _ => ordered(recorded, "") == ordered(answer, ""),
    }
}

fn agrees(case: &Value, recorded: &Value, status: u16, answer: &Value) -> bool {
    let body = &recorded["body"];
    let has_errors = |answer: &Value| {
        answer["errors"]
            .as_array()
            .is_some_and(|errors| !errors.is_empty())
    };
    if recorded["status"] != status {
        return false;
    }
    if let Some(digest) = recorded["data_sha256"].as_str() {
        let data = Digest::new(Sha256::digest(answer["data"].to_string()).into()).hex();
        return data == digest && !has_errors(answer);
    }
    if case.get("fault").is_some() {
        return covers(&body["data"], &answer["data"]) && !has_errors(answer);
    }
    if body["data"].is_null() {
        // Where and why is the engine's affair, but limits have upstream's words.
        let messages = |answer: &Value| -> Vec<String> {
            let all = answer["errors"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|error| text(&error["message"]));
            all.filter(|message| message.starts_with("query exceeds"))
                .collect()
        };
        return answer["data"].is_null()
            && has_errors(answer)
            && messages(body) == messages(answer);
    }
    ordered(&body["data"], "") == ordered(&answer["data"], "")
        && has_errors(body) == has_errors(answer)
}

/// Sends the recorded requests about these catalogs, and returns their number and those that are
/// answered differently.
async fn replay(server: &Server, is_served: impl Fn(&str) -> bool) -> (usize, Vec<String>) {
    let mut count = 0;
    let mut different = Vec::new();
    for case in lines("queries.jsonl.gz")
        .iter()
        .filter(|case| is_served(case["catalog"].as_str().unwrap()))
    {
        let body = case["body"].as_str().map_or_else(
            || json!({ "query": case["query"] }).to_string(),
            str::to_owned,
        );
        let answer = server.post(case["catalog"].as_str().unwrap(), &body).await;
        let json = if answer.status == 200 {
            answer.json()
        } else {
            Value::Null
        };
        let recorded = case["any_of"]
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![case["response"].clone()]);
        count += 1;
        if !recorded
            .iter()
            .any(|recorded| agrees(case, recorded, answer.status, &json))
        {
            println!(
                "{} {body:.300}\n  {recorded:?}\n  {} {:.1500}",
                case["name"], answer.status, answer.text
            );
            different.push(text(&case["name"]));
        }
    }
    (count, different)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_request_is_answered_as_upstream_answers_it() {
    let (server, cases) = recorded();
    let mut names: Vec<_> = cases.iter().map(|case| text(&case["catalog"])).collect();
    names.extend(["pages", "accepted-float"].map(str::to_owned));
    let (count, different) =
        replay(&server, |name| names.iter().any(|served| served == name)).await;
    let unexpected: Vec<_> = different
        .iter()
        .filter(|name| !DIFFERENT.iter().any(|(pattern, _)| *name == *pattern))
        .collect();
    assert_eq!(unexpected, Vec::<&String>::new());
    for (pattern, reason) in DIFFERENT {
        assert!(
            different.iter().any(|name| *name == *pattern),
            "{pattern} is answered as upstream does: {reason}"
        );
    }
    assert_eq!(count, 211);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_request_about_a_real_catalog_is_answered_as_upstream_answers_it() {
    let Some(folder) = testing::corpus::find_catalog("community-v4.18-yaml") else {
        return;
    };
    let mut server = Server::new();
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.clone()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(
                    path.strip_prefix(&folder)
                        .unwrap()
                        .to_str()
                        .unwrap()
                        .to_owned(),
                    fs::read(&path).unwrap(),
                );
            }
        }
    }
    server.publish("v4.18", &files);
    let (count, different) = replay(&server, |name| name == "v4.18").await;
    assert_eq!((count > 0, different), (true, Vec::new()));
    let case = lines("schemas.jsonl.gz")
        .into_iter()
        .find(|case| case["catalog"] == "v4.18")
        .unwrap();
    assert_eq!(
        sdl(&server.ask("v4.18", INTROSPECTION).await),
        words(&text(&case["sdl"]))
    );
}

/// The schema that introspection tells, as it is recorded: its words, with types, fields and
/// arguments by name.
fn sdl(answer: &Value) -> Vec<Vec<String>> {
    let mut types: Vec<_> = answer["data"]["__schema"]["types"]
        .as_array()
        .unwrap_or_else(|| panic!("{answer}"))
        .clone();
    types.retain(|ty| ty["kind"] == "OBJECT" && !text(&ty["name"]).starts_with("__"));
    types.sort_by_key(|ty| text(&ty["name"]));
    let mut sdl = String::new();
    let sorted = |list: &Value| {
        let mut list = list.as_array().unwrap().clone();
        list.sort_by_key(|item| text(&item["name"]));
        list
    };
    for ty in types {
        write!(sdl, "type {} {{ ", text(&ty["name"])).unwrap();
        for field in sorted(&ty["fields"]) {
            let arguments: Vec<_> = sorted(&field["args"])
                .iter()
                .map(|argument| {
                    let name = text(&argument["name"]);
                    let default = text(&argument["defaultValue"]);
                    let description = text(&argument["description"]);
                    format!(
                        "\"\"\"{description}\"\"\" {name}: {} = {default} ",
                        type_text(&argument["type"])
                    )
                })
                .collect();
            let arguments = if arguments.is_empty() {
                String::new()
            } else {
                format!("( {})", arguments.concat())
            };
            write!(
                sdl,
                "{}{arguments}: {} ",
                text(&field["name"]),
                type_text(&field["type"])
            )
            .unwrap();
        }
        sdl.push_str("} ");
    }
    words(&sdl)
}

fn type_text(ty: &Value) -> String {
    match ty["kind"].as_str().unwrap() {
        "LIST" => format!(
            "[{}]",
            type_text(&json!({ "kind": "NAMED", "name": ty["ofType"]["name"] }))
        ),
        _ => text(&ty["name"]),
    }
}

/// The words of each type, sorted: the recorded ones are in an order of their own.
fn words(sdl: &str) -> Vec<Vec<String>> {
    let sdl = sdl
        .strip_prefix("schema {\n  query: Query\n}")
        .unwrap_or(sdl);
    let types = sdl.split('}').map(|text| {
        let mut words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    });
    let mut types: Vec<_> = types.collect();
    types.sort();
    types
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recorded_schema_is_the_one_that_upstream_makes() {
    let (server, cases) = recorded();
    let mut different = Vec::new();
    let mut equal = 0;
    for case in &cases {
        let name = case["catalog"].as_str().unwrap();
        let answer = server.ask(name, INTROSPECTION).await;
        let own = sdl(&answer);
        let Some(recorded) = case["sdl"].as_str() else {
            continue;
        };
        if own == words(recorded) {
            equal += 1;
        } else {
            println!("{name}\n  {:?}\n  {own:?}", words(recorded));
            different.push(name);
        }
        let summary = server
            .ask(
                name,
                "{ summary { schemas { name totalObjects totalFields } } }",
            )
            .await;
        let schemas = summary["data"]["summary"]["schemas"].as_array().unwrap();
        assert_eq!(
            schemas.len(),
            case["summary"].as_object().unwrap().len(),
            "{name}"
        );
        for schema in schemas {
            let recorded = &case["summary"][schema["name"].as_str().unwrap()];
            let own = [&schema["totalObjects"], &schema["totalFields"]];
            assert_eq!(
                own,
                [&recorded["totalObjects"], &recorded["totalFields"]],
                "{name}"
            );
        }
    }
    assert_eq!(different, Vec::<&str>::new());
    assert_eq!(equal, 33);
}
