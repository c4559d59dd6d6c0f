//! The real catalog `community`, or its part, in an image of a real registry: however it is
//! compressed and named, it is answered from as its directory is.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{
    CONFIGS_LABEL, Folders, Registry, Server, exchange, graphql, run, tool_command,
};

const OPERATIONS: &str = include_str!("../../../examples/operations.graphql");

/// So many packages, spread over the catalog, are asked about in detail.
const DETAILED: usize = 27;

/// What a server answered: each request with the text of its answer, in order. What is asked later
/// depends on what was answered before, so that equal answers mean equal requests.
struct Answers {
    address: SocketAddr,
    given: Vec<(String, String)>,
}

/// Every sample query, over all pages of tiles and names and over some packages, their heads and
/// the APIs of those.
fn answers(address: SocketAddr) -> Vec<(String, String)> {
    let mut answers = Answers {
        address,
        given: Vec::new(),
    };
    let tiles = answers.pages("Tiles", &json!({}), "/packages");
    answers.pages(
        "Tiles",
        &json!({ "filter": { "search": "database" } }),
        "/packages",
    );
    answers.pages(
        "ListPackages",
        &json!({ "catalog": "community" }),
        "/catalog/packages",
    );
    let images = answers.ask("Images", &json!({ "catalog": "community" }));
    let digest = &images["catalog"]["digest"];
    answers.ask(
        "ListBundles",
        &json!({ "catalog": "community", "digest": digest }),
    );
    answers.ask(
        "Compare",
        &json!({ "from": { "digest": digest }, "to": { "name": "community" } }),
    );
    for tile in tiles.iter().step_by((tiles.len() / DETAILED).max(1)) {
        let package = &tile["name"];
        let of_catalog = json!({ "catalog": "community", "package": package });
        answers.ask("Refetch", &json!({ "id": tile["id"] }));
        answers.ask("Details", &of_catalog);
        answers.ask("Graph", &of_catalog);
        answers.ask(
            "Images",
            &json!({ "catalog": "community", "packages": [package] }),
        );
        answers.ask("Resolve", &json!({ "request": { "packageName": package } }));
        answers.ask(
            "CustomSchemas",
            &json!({ "schema": "olm.channel", "package": package }),
        );
        let found = answers.ask(
            "GetPackage",
            &json!({ "catalog": "community", "name": package }),
        );
        for channel in found["package"]["channels"]
            .as_array()
            .expect("a package has channels")
        {
            answers.bundle(package, &channel["head"]["name"]);
        }
    }
    answers.given
}

impl Answers {
    fn bundle(&mut self, package: &Value, name: &Value) {
        let by = json!({ "catalog": "community", "package": package, "bundle": name });
        let found = self.ask("GetBundle", &by);
        self.ask("Properties", &by);
        self.ask("Successors", &by);
        if let Some(Value::Object(api)) = found.pointer("/bundle/providedApis/0") {
            self.ask("Providers", &json!({ "gvk": api, "latest": true }));
        }
    }

    /// The data of an answer, which has no errors.
    fn ask(&mut self, operation: &str, variables: &Value) -> Value {
        let title = format!("{operation} {variables}");
        let body =
            json!({ "query": OPERATIONS, "operationName": operation, "variables": variables })
                .to_string();
        let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json";
        let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        let answer = exchange(self.address, request.as_bytes(), false);
        let text = String::from_utf8(answer.body).expect("an answer is UTF-8");
        let mut data: Value = text
            .parse()
            .unwrap_or_else(|error| panic!("{title}: {error}: {text}"));
        assert_eq!(data.get("errors"), None, "{title}");
        self.given.push((title, text));
        data["data"].take()
    }

    /// The nodes of every page of a connection.
    fn pages(&mut self, operation: &str, variables: &Value, connection: &str) -> Vec<Value> {
        let mut variables = variables.clone();
        let mut nodes = Vec::new();
        loop {
            let data = self.ask(operation, &variables);
            let page = data.pointer(connection).expect("the connection is there");
            nodes.extend(
                page["nodes"]
                    .as_array()
                    .expect("a page has nodes")
                    .iter()
                    .cloned(),
            );
            if page["pageInfo"]["hasNextPage"] == false {
                return nodes;
            }
            variables["after"] = page["pageInfo"]["endCursor"].clone();
        }
    }
}

/// Runs a command that ends well.
#[track_caller]
fn done(command: &mut Command) -> String {
    let output = run(command);
    assert_eq!(output.status, Some(0), "{command:?}: {}", output.stderr);
    output.stdout
}

fn umoci(arguments: &[&str]) {
    done(tool_command("umoci").args(arguments));
}

/// Copies an image without TLS, and gives the digest of the copy.
fn copy(from: &str, to: &str, how: &str) -> String {
    let mut copy = tool_command("skopeo");
    copy.args([
        "--insecure-policy",
        "copy",
        "--src-tls-verify=false",
        "--dest-tls-verify=false",
        how,
    ]);
    done(copy.args([from, to]));
    let mut inspect = tool_command("skopeo");
    inspect.args(["inspect", "--tls-verify=false", "--format={{.Digest}}", to]);
    done(&mut inspect).trim().to_owned()
}

#[test]
fn community_in_a_registry_is_answered_from_as_its_directory_is() {
    let folder = testing::corpus::community();
    let folder = folder.to_str().expect("the path is UTF-8");
    let folders = Folders::new();
    let registry = Registry::start();
    let gzip = folders.text("gzip");
    let zstd = folders.text("zstd");
    let image = format!("{gzip}:v1");
    umoci(&["init", "--layout", &gzip]);
    umoci(&["new", "--image", &image]);
    umoci(&[
        "insert",
        "--rootless",
        "--image",
        &image,
        folder,
        "/configs",
    ]);
    umoci(&[
        "config",
        "--image",
        &image,
        &format!("--config.label={CONFIGS_LABEL}=/configs"),
    ]);
    let repository = format!("{}/operatorhubio/catalog", registry.address);
    let by_tag = |tag: &str| format!("docker://{repository}:{tag}");
    let gzip_digest = copy(
        &format!("oci:{image}"),
        &by_tag("gzip"),
        "--preserve-digests",
    );
    copy(
        &format!("oci:{image}"),
        &format!("oci:{zstd}:v1"),
        "--dest-compress-format=zstd",
    );
    let zstd_digest = copy(
        &format!("oci:{zstd}:v1"),
        &by_tag("zstd"),
        "--preserve-digests",
    );
    assert_ne!(gzip_digest, zstd_digest, "both compressions are there");

    let directory = Server::start(&folders, &[&format!("community={folder}")]);
    let (content, image) = content(&directory);
    assert_eq!(image, Value::Null);
    let expected = answers(directory.address);
    assert!(expected.len() > 400, "only {} answers", expected.len());
    let operations: BTreeSet<_> = expected
        .iter()
        .filter_map(|(request, _)| request.split(' ').next())
        .collect();
    let samples = OPERATIONS
        .lines()
        .filter_map(|line| line.strip_prefix("query ")?.split('(').next());
    assert_eq!(operations, samples.collect(), "every sample query is asked");
    drop(directory);
    for (source, image) in [
        (
            format!("{repository}:gzip"),
            format!("{repository}@{gzip_digest}"),
        ),
        (
            format!("{repository}@{gzip_digest}"),
            format!("{repository}@{gzip_digest}"),
        ),
        (
            format!("oci:{gzip}:v1"),
            format!("oci:{gzip}@{gzip_digest}"),
        ),
        (
            format!("{repository}:zstd"),
            format!("{repository}@{zstd_digest}"),
        ),
        (
            format!("{repository}@{zstd_digest}"),
            format!("{repository}@{zstd_digest}"),
        ),
        (
            format!("oci:{zstd}:v1"),
            format!("oci:{zstd}@{zstd_digest}"),
        ),
    ] {
        // A store of its own, so that nothing is taken from that of another.
        let folders = Folders::new();
        let host = registry.address.to_string();
        let server = Server::start(
            &folders,
            &["--insecure-registry", &host, &format!("community={source}")],
        );
        assert_eq!(
            self::content(&server),
            (content.clone(), json!(image)),
            "{source}"
        );
        for (expected, found) in expected.iter().zip(answers(server.address)) {
            assert!(
                *expected == found,
                "{source}: {}\n{}\n{}",
                found.0,
                found.1,
                expected.1
            );
        }
    }
}

/// The digest and the image of the only catalog that is served.
fn content(server: &Server) -> (Value, Value) {
    let answer: Value = graphql(server.address, "{ catalogs { digest image } }")
        .parse()
        .expect("an answer is JSON");
    let mut catalog = answer["data"]["catalogs"][0].clone();
    (catalog["digest"].take(), catalog["image"].take())
}
