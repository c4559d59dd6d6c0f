//! Tools for assistants: `catalogql mcp` on its standard streams, and `/mcp` of a server.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use testing::exchange;

use crate::support::{ETCD, Folders, Output, Server, catalogql, run};

const LIST: &str =
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_catalogs"}}"#;

/// Runs `catalogql mcp` over a catalog `a` with these lines as its input, to its end.
fn mcp(lines: &[&str]) -> Output {
    let folders = Folders::new();
    folders.catalog("a", ETCD);
    let mut program = catalogql()
        .args(["mcp", &folders.text("a")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is built");
    let mut input = program.stdin.take().expect("it is a pipe");
    for line in lines {
        writeln!(input, "{line}").expect("the program reads");
    }
    drop(input);
    let output = program.wait_with_output().expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Output {
        status: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn initialize(version: &str) -> String {
    let params = json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string()
}

#[test]
fn a_command_answers_on_its_standard_streams_until_the_input_ends() {
    let initialize = initialize("2025-06-18");
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let Output {
        status,
        stdout,
        stderr,
    } = mcp(&[&initialize, initialized, "not JSON", LIST]);
    assert_eq!((status, stderr.as_str()), (Some(0), ""));
    let answers: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let [first, second] = &answers[..] else {
        panic!("two answers: {stdout}");
    };
    assert_eq!(first["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(first["result"]["serverInfo"]["name"], "catalogql");
    assert_eq!(
        second["result"]["structuredContent"]["data"]["catalogs"][0]["name"],
        "a"
    );
}

#[test]
fn a_message_of_the_maximum_length_is_answered_and_a_longer_one_skipped() {
    let padded = |id: &str, length: usize| {
        let call = LIST.replace("\"id\":2", &format!("\"id\":{id}"));
        // The end of the line counts.
        let padding = " ".repeat(length - call.len() - 1);
        format!("{call}{padding}")
    };
    let initialize = initialize("2025-11-25");
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let output = mcp(&[
        &initialize,
        initialized,
        &padded("3", mcp::MAX_LINE_BYTES + 1),
        &padded("4", mcp::MAX_LINE_BYTES),
    ]);
    let answers = output.stdout.lines().skip(1);
    let ids: Vec<_> = answers
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["id"].clone())
        .collect();
    assert_eq!((ids, output.stderr.as_str()), (vec![json!(4)], ""));
}

#[test]
fn a_client_that_leaves_is_no_failure_and_one_that_does_not_begin_is() {
    let left = mcp(&[]);
    assert_eq!(
        (left.status, left.stdout.as_str(), left.stderr.as_str()),
        (Some(0), "", "")
    );
    let stray = mcp(&[r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#]);
    assert_eq!(stray.status, Some(2));
    assert_eq!(
        stray.stderr,
        "error: cannot serve on the standard streams: the client sent no valid request for initialization\n"
    );
}

#[test]
fn a_command_refuses_a_source_that_it_cannot_read() {
    let output = run(catalogql().args(["mcp", "dir:nowhere"]));
    assert_eq!((output.status, output.stdout.as_str()), (Some(2), ""));
}

#[test]
fn the_configuration_for_the_apollo_mcp_server_names_files_that_exist() {
    let read = |path: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let config: Value =
        serde_saphyr::from_str(&read("clients/apollo-mcp/config.yaml")).expect("YAML");
    read(config["schema"]["path"].as_str().expect("a path"));
    let folder = config["operations"]["paths"][0].as_str().expect("a path");
    read(&format!("{folder}/search_packages.graphql"));
}

/// Status and body of the answer to a call of a tool.
fn call(server: &Server, host: &str, header: &str) -> (u16, String) {
    let length = LIST.len();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         content-length: {length}\r\nconnection: close\r\n{header}\r\n{LIST}"
    );
    let response = exchange(server.address, request.as_bytes(), false);
    (
        response.status,
        String::from_utf8(response.body).expect("text"),
    )
}

#[test]
fn a_server_has_the_tools_only_if_a_flag_says_so() {
    let folders = Folders::new();
    folders.catalog("a", ETCD);
    let catalog = folders.text("a");
    let plain = Server::start(&folders, &[&catalog]);
    assert_eq!(call(&plain, "localhost", "").0, 404);
    drop(plain);

    // The documents of the tools are trusted, and no other one.
    folders.write("documents.json", "{}");
    let documents = folders.text("documents.json");
    let flags = ["--mcp", "--trusted-only", "--documents", &documents];
    let server = Server::start(&folders, &[&[&*catalog], &flags[..]].concat());
    let (status, body) = call(&server, "localhost", "");
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!(
        answer["result"]["content"][0]["text"],
        "Served catalogs: 1."
    );
}

#[test]
fn pages_cannot_ask_a_server_on_this_machine_by_another_name_or_origin() {
    let folders = Folders::new();
    folders.catalog("a", ETCD);
    let server = Server::start(&folders, &[&folders.text("a"), "--mcp"]);
    assert_eq!(call(&server, "rebound.example", "").0, 421);
    assert_eq!(
        call(&server, "localhost", "origin: http://localhost\r\n").0,
        403
    );
    assert_eq!(call(&server, "localhost", "").0, 200);
}
