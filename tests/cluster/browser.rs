//! The explorer in Chromium at a server whose callers the API server authenticates and authorizes.

use std::process::Command;

use serde_json::json;
use testing::{control_plane_tools, report_skipped};

use crate::access::{Fixture, content, token};

/// What a reader does, as a test for Node.
const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/explorer/tests/cluster/delegated.test.mjs"
);

/// Variable that tells the script where everything is.
const FACTS: &str = "CATALOGQL_CLUSTER";

#[test]
fn the_explorer_shows_what_a_token_may_read_and_asks_for_another_when_it_is_revoked() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    let media_type = fixture.get(None, "/").header("content-type");
    if !media_type.is_some_and(|value| value.starts_with("text/html")) {
        report_skipped(
            "the explorer",
            "the program was built without pages",
            "run `make pages`",
        );
        return;
    }
    let plane = &fixture.cluster.plane;
    // A token that dies with an object is one that can be revoked.
    plane.kubectl(&[
        "create",
        "secret",
        "generic",
        "lives",
        "--namespace=default",
    ]);
    let bound = ["--bound-object-kind=Secret", "--bound-object-name=lives"];
    let facts = json!({
        "address": format!("http://{}/", fixture.replica.address),
        "kubectl": control_plane_tools().expect("the control plane runs").join("kubectl"),
        "kubeconfig": plane.kubeconfig(),
        "tokens": {
            "stranger": fixture.token("stranger"),
            "one": fixture.token("one"),
            "both": fixture.token("both"),
            "revocable": token(&fixture.cluster, "both", &bound),
        },
        "nextContent": fixture.cluster.push("ns/openly", "v2", &content("openly", 2)),
    });

    let output = Command::new("node")
        .args(["--test", SCRIPT])
        .env(FACTS, facts.to_string())
        .output()
        .expect("node can be started");

    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
