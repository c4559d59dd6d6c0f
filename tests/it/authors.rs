//! `init`, `migrate`, lists and graphs say what `opm` said of the same catalogs, which is recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

use crate::support::{Folders, catalogql, run};

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/crates/edit/tests/testdata");

/// A recorded command of `opm`.
#[derive(Deserialize)]
struct Command {
    name: String,
    args: Vec<String>,
    stdout: String,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// Commands whose results differ on purpose, with the reason.
const DIFFERENT: [(&str, &str); 4] = [
    ("init/png", "the recording has no bytes of the picture"),
    ("migrate/tour", "numbers keep their digits"),
    ("migrate/tour/yaml", "an empty list stays"),
    ("migrate/graph/yaml", "an empty list stays"),
];

fn text(name: &str) -> String {
    let mut text = String::new();
    let file = fs::File::open(format!("{RECORDED}/{name}")).expect("it is recorded");
    GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("it is text");
    text
}

/// A folder with the inputs of the commands.
fn inputs() -> Folders {
    let folders = Folders::new();
    let inputs: BTreeMap<String, Option<String>> =
        serde_json::from_str(&text("inputs.json.gz")).unwrap();
    for (path, text) in inputs {
        folders.write(&path, text.unwrap_or_default());
    }
    folders
}

fn commands(kind: &[&str]) -> Vec<Command> {
    let all = text("authors.jsonl.gz");
    let all = all
        .lines()
        .map(|line| serde_json::from_str::<Command>(line).unwrap());
    let found: Vec<_> = all
        .filter(|command| command.args.iter().zip(kind).all(|(arg, kind)| arg == kind))
        .collect();
    assert!(found.len() > 1, "{kind:?}");
    found
}

/// Runs the program in the folder of the inputs.
fn stdout(folders: &Folders, args: &[&str]) -> String {
    let output = run(catalogql().args(args).current_dir(folders.path("")));
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (Some(0), ""),
        "{args:?}"
    );
    output.stdout
}

fn is_different(name: &str) -> bool {
    DIFFERENT.iter().any(|(other, _)| *other == name)
}

#[test]
fn packages_begin_as_opm_begins_them() {
    let folders = inputs();
    for command in commands(&["init"]) {
        let args: Vec<_> = command.args.iter().map(String::as_str).collect();
        if !is_different(&command.name) {
            assert_eq!(stdout(&folders, &args), command.stdout, "{}", command.name);
        }
    }
}

#[test]
fn catalogs_are_migrated_to_the_files_that_opm_writes() {
    let folders = inputs();
    for (number, command) in commands(&["migrate"]).into_iter().enumerate() {
        let out = format!("out-{number}");
        let args: Vec<_> = command
            .args
            .iter()
            .map(|arg| {
                if arg == "{{OUT}}" {
                    &*out
                } else {
                    arg.as_str()
                }
            })
            .collect();
        assert_eq!(stdout(&folders, &args), "");
        let mut written = BTreeMap::new();
        for path in command.files.keys() {
            let text = fs::read_to_string(folders.path(&out).join(path));
            written.insert(
                path.clone(),
                text.unwrap_or_else(|error| panic!("{}: {path}: {error}", command.name)),
            );
        }
        let count = fs::read_dir(folders.path(&out)).unwrap().count();
        assert_eq!(
            count,
            command.files.len(),
            "{}: each file is in a folder of its own, or beside them",
            command.name
        );
        let is_equal = written
            .iter()
            .zip(&command.files)
            .all(|((path, own), (_, theirs))| {
                if path.ends_with("json") {
                    values(own) == values(theirs)
                } else {
                    own == theirs
                }
            });
        assert_eq!(is_equal, !is_different(&command.name), "{}", command.name);
    }
}

/// Parses a stream of objects; opm leaves out empty fields that it knows.
fn values(text: &str) -> Vec<Value> {
    let values = serde_json::Deserializer::from_str(text)
        .into_iter()
        .map(Result::unwrap);
    values.map(without_empty).collect()
}

fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members
                .into_iter()
                .map(|(key, value)| (key, without_empty(value)));
            let is_empty = |value: &Value| {
                value.is_null() || *value == "" || value.as_array().is_some_and(Vec::is_empty)
            };
            Value::Object(kept.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => items.into_iter().map(without_empty).collect(),
        plain => plain,
    }
}

/// What `list` and `query` are asked for the rows of opm's tables.
const ROWS: &str =
    "{ packages { nodes { name defaultChannel { name } channels { name head { name } entries {
    name replaces skips skipRange bundle { image } } } } } }";

#[test]
fn lists_have_the_rows_of_opm() {
    let folders = inputs();
    for command in commands(&["alpha", "list"]) {
        let [_, _, kind, catalog, rest @ ..] = &command.args[..] else {
            panic!("{:?}", command.args)
        };
        let package = rest.first().map(String::as_str).unwrap_or_default();
        // A catalog without packages is not one that is served.
        let answer = if command.stdout.lines().count() == 1 {
            Value::Null
        } else {
            serde_json::from_str(&stdout(&folders, &["query", catalog, ROWS])).unwrap()
        };
        let nodes = answer["data"]["packages"]["nodes"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let mut rows = BTreeSet::new();
        for node in nodes
            .iter()
            .filter(|node| package.is_empty() || node["name"] == package)
        {
            rows.extend(rows_of(kind, node));
        }
        assert_eq!(rows, table(&command.stdout), "{}", command.name);
    }
}

/// The rows of a package in a list of packages, channels or bundles.
fn rows_of(kind: &str, package: &Value) -> Vec<Vec<String>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let name = text(&package["name"]);
    if kind == "packages" {
        return vec![vec![
            name,
            String::new(),
            text(&package["defaultChannel"]["name"]),
        ]];
    }
    let mut rows = Vec::new();
    for channel in package["channels"].as_array().unwrap() {
        let of_channel = [name.clone(), text(&channel["name"])];
        if kind == "channels" {
            rows.push([&of_channel[..], &[text(&channel["head"]["name"])]].concat());
            continue;
        }
        for entry in channel["entries"].as_array().unwrap() {
            let skips: Vec<_> = entry["skips"]
                .as_array()
                .unwrap()
                .iter()
                .map(text)
                .collect();
            let [bundle, replaces, range] =
                ["name", "replaces", "skipRange"].map(|field| text(&entry[field]));
            let image = text(&entry["bundle"]["image"]);
            rows.push(
                [
                    &of_channel[..],
                    &[bundle, replaces, skips.join(","), range, image],
                ]
                .concat(),
            );
        }
    }
    rows
}

/// The rows of a table of opm, by the columns where the words of its header begin. Names of
/// displays come from manifests that bundles of today do not have.
fn table(text: &str) -> BTreeSet<Vec<String>> {
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let starts: Vec<_> = (0..header.len())
        .filter(|at| !header[*at..].starts_with(' ') && (*at == 0 || header[..*at].ends_with("  ")))
        .collect();
    let cell = |line: &str, at: usize| {
        let end = starts
            .get(at + 1)
            .map_or(line.len(), |end| (*end).min(line.len()));
        line.get(starts[at].min(line.len())..end)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    lines
        .map(|line| (0..starts.len()).map(|at| cell(line, at)).collect())
        .collect()
}

#[test]
fn graphs_have_the_edges_of_opm() {
    let folders = inputs();
    let mut edges = 0;
    for command in commands(&["alpha", "render-graph"]) {
        let theirs = drawn(&command.stdout);
        edges += theirs.len();
        let package = command
            .args
            .iter()
            .position(|arg| arg == "-p")
            .map(|at| command.args[at + 1].clone());
        let mut ours = BTreeSet::new();
        for catalog in command.args[2..]
            .iter()
            .filter(|arg| arg.starts_with("catalogs/"))
        {
            if command.stdout.matches("subgraph").count() == 0 {
                continue;
            }
            let json = |arguments: &[&str]| -> Value {
                serde_json::from_str(&stdout(&folders, &[arguments, &["-o", "json"]].concat()))
                    .unwrap()
            };
            let names = texts(&json(&["list", "packages", catalog])["items"], "name");
            for name in names {
                if package.as_deref().is_none_or(|package| package == name) {
                    let bundles = json(&["list", "bundles", catalog, "--package", &name]);
                    let bundles = texts(&bundles["items"], "name");
                    let graph = json(&["graph", catalog, &name]);
                    ours.extend(edges_of(&name, &graph["updateGraph"], &bundles));
                }
            }
        }
        // opm escapes no quotes, so that its drawing of such a channel is broken, and draws that a
        // bundle upgrades to itself.
        ours.retain(|[_, channel, ..]| !channel.contains('"'));
        assert_eq!(ours, theirs, "{}", command.name);
    }
    assert!(edges > 100, "{edges}");
}

/// An edge: package, channel, the two bundles, and why.
type Edge = [String; 5];

/// The edges of an update graph. `bundles` are the bundles of the package, highest version first,
/// which the spans of skip ranges are runs of.
fn edges_of(package: &str, graph: &Value, bundles: &[String]) -> Vec<Edge> {
    let mut edges = Vec::new();
    let mut add = |edge: &Value, from: &str, reason: &str| {
        let to = edge["toName"].as_str().unwrap();
        for channel in edge["channelNames"].as_array().unwrap() {
            let channel = channel.as_str().unwrap();
            if from != to {
                edges.push([package, channel, from, to, reason].map(str::to_owned));
            }
        }
    };
    for (list, reason) in [("replaces", "REPLACES"), ("skips", "SKIPS")] {
        for edge in graph[list].as_array().unwrap() {
            add(edge, edge["fromName"].as_str().unwrap(), reason);
        }
    }
    for range in graph["skipRanges"].as_array().unwrap() {
        for span in range["spans"].as_array().unwrap() {
            let position = |end: &str| {
                let mut bundles = bundles.iter();
                let end = span[end]["name"].as_str().unwrap();
                bundles.position(|bundle| bundle == end).unwrap()
            };
            for from in &bundles[position("highest")..=position("lowest")] {
                add(range, from, "SKIP_RANGE");
            }
        }
    }
    edges
}

/// The texts of a field of each item.
fn texts(items: &Value, field: &str) -> Vec<String> {
    let items = items.as_array().unwrap().iter();
    items
        .map(|item| item[field].as_str().unwrap().to_owned())
        .collect()
}

/// The edges of a drawing by opm.
fn drawn(text: &str) -> BTreeSet<Edge> {
    let mut package = String::new();
    let mut channel = String::new();
    let mut edges = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        let quoted = |line: &str| line.split('"').nth(1).unwrap_or_default().to_owned();
        if line.starts_with("%% package ") {
            package = quoted(line);
        } else if line.starts_with("%% channel ") {
            channel = quoted(line);
        } else if let Some((from, rest)) = line.split_once("-- ") {
            let (label, to) = rest.split_once(" --> ").expect("an edge leads somewhere");
            let reason = match label {
                "replace" => "REPLACES",
                "skip" => "SKIPS",
                _ => "SKIP_RANGE",
            };
            let from = quoted(from);
            let to = quoted(to);
            if from != to && !channel.ends_with('\\') {
                edges.insert([
                    package.clone(),
                    channel.clone(),
                    from,
                    to,
                    reason.to_owned(),
                ]);
            }
        }
    }
    edges
}
