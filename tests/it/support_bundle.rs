//! `catalogql support-bundle`: what is in the archive of a real server, and that no secret is.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;

use flate2::read::GzDecoder;
use serde_json::{Value, json};

use crate::metrics::serve;
use crate::support::{Folders, catalogql, graphql, run};

/// A package with one bundle.
const ETCD: &str = "
    package etcd default=stable
    channel stable: v1.0.0
";

/// Secrets that are put wherever an archive takes something from.
const SECRETS: [&str; 7] = [
    "seed-userinfo-1f6a",
    "seed-bearer-2c9d",
    "seed-password-37be",
    "seed-variable-40aa",
    "seed-flag-5d21",
    "seed-signature-6e07",
    "seed-config-7b93",
];

/// Returns the files of an archive by their names in its folder.
fn files(archive: &Path) -> BTreeMap<String, String> {
    let bytes = std::fs::read(archive).expect("there is an archive");
    let mut archive = tar::Archive::new(GzDecoder::new(&bytes[..]));
    let mut files = BTreeMap::new();
    for entry in archive.entries().expect("it is an archive") {
        let mut entry = entry.expect("an entry");
        let path = entry.path().expect("a path").into_owned();
        let name = path
            .file_name()
            .expect("a file")
            .to_string_lossy()
            .into_owned();
        let mut text = String::new();
        entry.read_to_string(&mut text).expect("a text");
        files.insert(name, text);
    }
    files
}

#[test]
fn the_archive_of_a_server_has_its_state_metrics_log_and_flags_and_no_secret() {
    let [
        userinfo,
        bearer,
        password,
        variable,
        flag,
        signature,
        config,
    ] = SECRETS;
    let folders = Folders::new();
    let (server, metrics) = serve(
        &folders,
        &[("example", ETCD)],
        &[
            "--max-depth=4",
            "--otlp-endpoint",
            &format!("http://me:{flag}@127.0.0.1:9"),
        ],
    );
    graphql(
        server.address,
        "{catalogs{packages{nodes{channels{head{name}}}}}}",
    );
    folders.write(
        "server.log",
        format!(
            "{{\"message\":\"cannot pull https://me:{userinfo}@quay.io/x\"}}\nauthorization: Bearer {bearer}\n\
             {{\"env\":\"PGPASSWORD={password}\",\"url\":\"https://b/x?X-Amz-Signature={signature}&a=1\"}}\nlast line\n"
        ),
    );
    folders.write("config.yaml", format!("poll: 5m\nclientSecret: {config}\n"));
    let archive = folders.path("support.tar.gz");

    let output = run(catalogql()
        .env("DATABASE_PASSWORD", variable)
        .args(["support-bundle", &format!("http://{}", server.address)])
        .arg(format!("--metrics=http://{metrics}"))
        .args(["--pid", &server.id().to_string()])
        .arg("--log")
        .arg(folders.path("server.log"))
        .arg("--server-config")
        .arg(folders.path("config.yaml"))
        .arg("--to")
        .arg(&archive));

    assert_eq!((output.status, output.stderr.as_str()), (Some(0), ""));
    let files = files(&archive);
    assert_eq!(
        files.keys().map(String::as_str).collect::<Vec<_>>(),
        [
            "README.txt",
            "client.txt",
            "config.yaml",
            "flags.txt",
            "limits-reached.txt",
            "log.txt",
            "metrics.txt",
            "ready.txt",
            "status.json",
            "version.json",
        ]
    );
    for (name, text) in &files {
        for secret in SECRETS {
            assert!(!text.contains(secret), "{name} has {secret}: {text}");
        }
    }

    let status: Value = serde_json::from_str(&files["status.json"]).expect("JSON");
    assert_eq!(status["errors"], Value::Null, "{status}");
    assert_eq!(
        status["data"]["catalogStatuses"][0]["name"],
        json!("example")
    );
    assert_eq!(
        status["data"]["catalogs"][0]["packages"],
        json!({"totalCount": 1})
    );
    assert_eq!(
        files["limits-reached.txt"],
        "catalogql_graphql_refused_total{code=\"MAX_DEPTH_LIMIT\"} 1\n"
    );
    assert!(files["log.txt"].ends_with("last line\n"));
    assert!(files["flags.txt"].contains("\n--max-depth=4\n"));
    assert!(files["flags.txt"].contains("\n--otlp-endpoint=http://REDACTED@127.0.0.1:9\n"));
    assert_eq!(files["config.yaml"], "poll: 5m\nclientSecret: REDACTED\n");
}

#[test]
fn what_cannot_be_collected_is_named_and_the_rest_is_written() {
    let folders = Folders::new();
    let archive = folders.path("support.tar.gz");
    let mut child = catalogql()
        .args(["support-bundle", "http://127.0.0.1:9", "--log=-", "--pid=1"])
        .arg("--to")
        .arg(&archive)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program can be started");
    let mut input = child.stdin.take().expect("it is a pipe");
    input.write_all(b"a log\n").expect("it reads its input");
    drop(input);
    let output = child.wait_with_output().expect("it ends");

    assert_eq!(output.status.code(), Some(1));
    let files = files(&archive);
    assert_eq!(files["log.txt"], "a log\n");
    let missing: Vec<_> = files["missing.txt"]
        .lines()
        .map(|line| line.split(": ").next().unwrap_or_default())
        .collect();
    assert_eq!(
        missing,
        [
            "version.json",
            "ready.txt",
            "status.json",
            "metrics.txt",
            "flags.txt"
        ]
    );
    let warnings = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(warnings.lines().count(), missing.len(), "{warnings}");
}

#[test]
fn an_archive_that_exists_is_not_overwritten() {
    let folders = Folders::new();
    folders.write("support.tar.gz", "precious");
    let archive = folders.path("support.tar.gz");
    let output = run(catalogql()
        .args(["support-bundle", "http://127.0.0.1:9", "--to"])
        .arg(&archive));
    assert_eq!(output.status, Some(2));
    assert!(output.stderr.contains("cannot write"), "{}", output.stderr);
    assert_eq!(
        std::fs::read_to_string(&archive).expect("it is there"),
        "precious"
    );
}
