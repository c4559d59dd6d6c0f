//! What `opm serve` answered, of the crafted catalogs and of real ones. `testdata/golden/README.md`
//! says what is recorded.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use axum::Router;
use bytes::Bytes;
use fbc::Catalog;
use fbc_grammar::Digest;
use fbc_read::Origins;
use grpc::Grpc;
use prost::Message as _;
use prost_reflect::DescriptorPool;
use prost_types::{FileDescriptorProto, MethodDescriptorProto, ServiceDescriptorProto};
use serde_json::{Value, json};
use serving::{CatalogMetadata, CatalogsWriter, Content, Served, catalogs};
use sha2::{Digest as _, Sha256};
use testing::golden;

use crate::client::{self, Answer, Call};

/// Calls that are answered differently on purpose, each with the reason.
const DIFFERENT: [(&str, &str); 4] = [
    (
        "tour/protocol/just-not-too-large",
        "a request has up to 64 KiB: names are shorter",
    ),
    ("values/GetBundle/values/main/values.v1.0.3-rc.1", NUMBERS),
    (
        "values/GetBundleThatReplaces/values/main/values.v1.0.2",
        NUMBERS,
    ),
    ("values/ListBundles", NUMBERS),
];

const NUMBERS: &str = "numbers stay as they are written: upstream reads them as doubles";

/// Folder of the recordings.
const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/golden");

fn lines(name: &str) -> Vec<Value> {
    golden::cases(format!("{GOLDEN}/{name}"))
}

/// Reads a catalog of files.
fn read(files: &BTreeMap<String, Vec<u8>>) -> Catalog {
    let mut lines = Vec::new();
    let files = files
        .iter()
        .filter(|(path, _)| !path.ends_with(".indexignore"));
    let origins = files
        .map(|(path, file)| testing::fixture::read_file(path, file, &mut lines))
        .collect();
    Catalog::build(
        Bytes::from(lines),
        &Origins {
            files: origins,
            ..Origins::default()
        },
    )
    .unwrap()
}

fn publish(writer: &mut CatalogsWriter, name: &str, catalog: Catalog) {
    let digest = Digest::new(Sha256::digest(catalog.content()).into());
    writer.publish(Served::new(
        name,
        Content::new(catalog, digest),
        CatalogMetadata::default(),
    ));
}

/// Serves the recorded catalogs on one port.
fn recorded() -> (CatalogsWriter, Router) {
    let (mut writer, reader) = catalogs();
    let all: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_str(&golden::unpacked(format!("{GOLDEN}/catalogs.json.gz"))).unwrap();
    for (name, files) in all {
        let files = files
            .into_iter()
            .map(|(path, text)| (path, text.into_bytes()))
            .collect();
        publish(&mut writer, &name, read(&files));
    }
    (writer, Grpc::new(reader).router())
}

/// Sends a recorded call about a catalog.
async fn send(router: &Router, pool: &DescriptorPool, case: &Value) -> Answer {
    let path = case["method"].as_str().unwrap();
    let method = client::method(pool, path);
    let empty = json!({});
    let requests = match (&case["raw_zero_bytes"], &case["raw_request"], &method) {
        (Value::Number(count), ..) => {
            vec![vec![0; usize::try_from(count.as_u64().unwrap()).unwrap()]]
        }
        (_, Value::String(text), _) => vec![base64(text)],
        (.., Some(method)) => match case["requests"].as_array() {
            Some(requests) => requests
                .iter()
                .map(|request| client::encode(method, request))
                .collect(),
            None => vec![client::encode(
                method,
                case.get("request").unwrap_or(&empty),
            )],
        },
        _ => vec![Vec::new()],
    };
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let mut metadata = vec![("catalog".to_owned(), text(&case["catalog"]))];
    let more = case["metadata"].as_object().into_iter().flatten();
    metadata.extend(more.map(|(name, value)| (name.clone(), text(value))));
    client::send(
        router,
        Call {
            method: path,
            metadata,
            requests,
            is_gzip: case["gzip"] == true,
            authority: None,
        },
    )
    .await
}

fn base64(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.decode(text).unwrap()
}

/// Returns an answer as it is recorded.
fn shown(pool: &DescriptorPool, case: &Value, answer: &Answer) -> Value {
    let method = client::method(pool, case["method"].as_str().unwrap());
    let decode = |message: &Bytes| {
        method
            .as_ref()
            .map(|method| client::decode(method, message))
    };
    let messages: Vec<_> = answer.messages.iter().filter_map(decode).collect();
    let mut shown = json!({ "messages": messages, "code": client::code_name(answer.code) });
    if !answer.text.is_empty() {
        shown["message"] = json!(answer.text);
    }
    shown
}

/// Returns what has to agree of a recorded answer and ours.
fn comparable(case: &Value, answer: &Value) -> Value {
    let mut messages = answer["messages"].as_array().unwrap().clone();
    if case["method"]
        .as_str()
        .unwrap()
        .contains("ServerReflection")
    {
        messages = messages.iter().map(reflected).collect();
    }
    if case["method"].as_str().unwrap().ends_with("CustomSchemas") {
        messages.iter_mut().for_each(doubles);
    }
    if case["order"] == "any" {
        messages.sort_by_key(ToString::to_string);
    }
    json!([messages, answer["code"], answer["message"]])
}

/// Of an answer of reflection: what the first file defines, and of errors their code.
fn reflected(message: &Value) -> Value {
    let mut kept = message.clone();
    if let Some(error) = kept.get_mut("errorResponse").and_then(Value::as_object_mut) {
        error.remove("errorMessage");
    }
    if let Some(files) = kept
        .pointer("/fileDescriptorResponse/fileDescriptorProto")
        .and_then(Value::as_array)
    {
        let file =
            FileDescriptorProto::decode(base64(files[0].as_str().unwrap()).as_slice()).unwrap();
        let mut names: Vec<_> = file
            .message_type
            .iter()
            .map(|message| message.name().to_owned())
            .collect();
        names.sort();
        let methods = |service: &ServiceDescriptorProto| {
            let shown = |method: &MethodDescriptorProto| {
                let types = [method.name(), method.input_type(), method.output_type()].join(" ");
                json!([types, method.client_streaming(), method.server_streaming()])
            };
            json!([
                service.name(),
                service.method.iter().map(shown).collect::<Vec<_>>()
            ])
        };
        let mut services: Vec<_> = file.service.iter().map(methods).collect();
        services.sort_by_key(ToString::to_string);
        return json!([files.len(), names, services]);
    }
    kept
}

fn doubles(value: &mut Value) {
    match value {
        Value::Number(number) => *value = json!(number.as_f64()),
        Value::Array(elements) => elements.iter_mut().for_each(doubles),
        Value::Object(members) => members.values_mut().for_each(doubles),
        _ => {}
    }
}

#[tokio::test]
async fn every_recorded_call_is_answered_as_opm_answers_it() {
    let ((_writer, router), pool) = (recorded(), client::pool());
    let mut different = Vec::new();
    let cases = lines("calls.jsonl.gz");
    for case in &cases {
        let answer = shown(&pool, case, &send(&router, &pool, case).await);
        let ours = comparable(case, &answer);
        let recorded = match case["any_of"].as_array() {
            Some(several) => several.clone(),
            None => vec![case.clone()],
        };
        if !recorded
            .iter()
            .any(|recorded| comparable(case, recorded) == ours)
        {
            let name = case["name"].as_str().unwrap();
            if DIFFERENT.iter().all(|(other, _)| *other != name) {
                println!(
                    "{name}\n  theirs {}\n  ours   {ours}",
                    comparable(case, &recorded[0])
                );
            }
            different.push(name);
        }
    }
    different.sort_unstable();
    let mut named = DIFFERENT.map(|(name, _)| name);
    named.sort_unstable();
    assert_eq!(different, named);
    assert_eq!(cases.len(), 636);
}

/// Serves a catalog of the corpus.
fn real(directory: &Path, name: &str) -> (CatalogsWriter, Router) {
    let (mut writer, reader) = catalogs();
    let mut files = BTreeMap::new();
    add_files(directory, "", &mut files);
    publish(&mut writer, name, read(&files));
    (writer, Grpc::new(reader).router())
}

fn add_files(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = format!("{prefix}{}", entry.file_name().into_string().unwrap());
        if entry.file_type().unwrap().is_dir() {
            add_files(&entry.path(), &format!("{path}/"), files);
        } else if entry.file_type().unwrap().is_file() {
            files.insert(path, fs::read(entry.path()).unwrap());
        }
    }
}

/// Returns the digest of messages as it is recorded.
fn digest<'m>(messages: impl Iterator<Item = &'m Value>) -> String {
    let lines: Vec<_> = messages.map(|message| message.to_string() + "\n").collect();
    Digest::new(Sha256::digest(lines.concat()).into())
        .to_string()
        .replace("sha256:", "")
}

/// Returns how many recorded requests about a catalog are compared, and which are answered
/// otherwise. About a part of the catalog are those for one of its packages.
async fn real_catalogs_are_answered_alike(directory: &Path, name: &str) -> (usize, Vec<String>) {
    let ((_writer, router), pool) = (real(directory, name), client::pool());
    let is_part = testing::corpus::whole_or_part(directory, false, true);
    let is_about = |case: &Value| {
        let of = [
            &case["package"],
            &case["request"]["name"],
            &case["request"]["pkgName"],
        ];
        let mut packages = of.into_iter().filter_map(Value::as_str);
        packages.any(|package| directory.join(package).is_dir())
    };
    let cases: Vec<_> = lines("corpus.jsonl.gz")
        .into_iter()
        .filter(|case| case["catalog"] == name && (!is_part || is_about(case)))
        .collect();
    let list = json!({ "catalog": name, "method": "api.Registry/ListBundles" });
    let listed = shown(&pool, &list, &send(&router, &pool, &list).await);
    let mut different = Vec::new();
    for case in &cases {
        let mut answer = json!({});
        let is_list = case["method"] == list["method"];
        if !is_list {
            answer = shown(&pool, case, &send(&router, &pool, case).await);
            if case["method"] == "api.Registry/ListPackages" {
                answer["messages"]
                    .as_array_mut()
                    .unwrap()
                    .sort_by_key(ToString::to_string);
            }
        }
        let all = if is_list { &listed } else { &answer }["messages"]
            .as_array()
            .unwrap();
        let at = case["at"].as_u64().map(|at| usize::try_from(at).unwrap());
        let is_wanted = |(place, message): &(usize, &Value)| {
            at.is_none_or(|at| at == *place)
                && case
                    .get("package")
                    .is_none_or(|name| message["packageName"] == *name)
        };
        let ours = digest(
            all.iter()
                .enumerate()
                .filter(is_wanted)
                .map(|(_, message)| message),
        );
        if case["sha256"] != *ours {
            different.push(case.to_string());
        }
    }
    (cases.len(), different)
}

#[tokio::test]
async fn real_catalogs_in_json_are_answered_as_opm_answers_for_the_packages_that_it_accepts() {
    let directory = testing::corpus::community();
    let (count, different) = real_catalogs_are_answered_alike(&directory, "community").await;
    let expected = testing::corpus::whole_or_part(&directory, 961, 77);
    assert_eq!((count, different), (expected, Vec::new()));
}

#[tokio::test]
async fn real_catalogs_in_yaml_are_answered_as_opm_answers() {
    let name = "community-v4.18-yaml";
    let Some(directory) = testing::corpus::find_catalog(name) else {
        return;
    };
    let (count, different) = real_catalogs_are_answered_alike(&directory, name).await;
    assert_eq!((count, different), (717, Vec::new()));
}

/// Catalogs that cannot be read at all: they keep what they served before.
const UNREADABLE: [&str; 2] = ["not YAML", "directory is missing"];

#[tokio::test]
async fn the_package_for_which_opm_refuses_a_catalog_is_absent_and_the_others_are_served() {
    let pool = client::pool();
    let cases = lines("refused.jsonl.gz");
    let list = json!({ "catalog": "c", "method": "api.Registry/ListPackages" });
    for case in cases
        .iter()
        .filter(|case| UNREADABLE.iter().all(|name| case["name"] != **name))
    {
        let files = case["files"].as_object().unwrap().iter();
        let files =
            files.map(|(path, text)| (path.clone(), text.as_str().unwrap().as_bytes().to_vec()));
        let catalog = read(&files.collect());
        // `catalogql validate` says of each catalog that opm does not serve what is wrong in it.
        assert!(
            case["served"] == json!(true) || !catalog.problems().is_empty(),
            "{}",
            case["name"]
        );
        let refused = case["error"]
            .as_str()
            .and_then(|error| error.split_once("process package \""));
        let refused = refused.and_then(|(_, rest)| Some(rest.split_once('"')?.0));
        let packages = catalog.packages().map(|package| package.name().to_owned());
        let expected: Vec<_> = packages
            .filter(|name| Some(name.as_str()) != refused)
            .collect();
        let (mut writer, reader) = catalogs();
        publish(&mut writer, "c", catalog);
        let answer = shown(
            &pool,
            &list,
            &send(&Grpc::new(reader).router(), &pool, &list).await,
        );
        let served = answer["messages"].as_array().unwrap().iter();
        let served: Vec<_> = served
            .map(|message| message["name"].as_str().unwrap())
            .collect();
        assert_eq!(served, expected, "{}", case["name"]);
    }
    assert_eq!(cases.len(), 28);
}
