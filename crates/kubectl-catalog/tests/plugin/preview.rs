//! `preview`: what a served bundle would put into a cluster.

use std::path::Path;

use serde_json::{Value, json};
use serving::CatalogMetadata;

use crate::support::{EXAMPLE, Output, Server};

/// The catalog whose bundles have their manifests.
const PREVIEW: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/preview");

fn server() -> Server {
    let server = Server::start();
    server.serve("preview", Path::new(PREVIEW), CatalogMetadata::default());
    server
}

fn preview(server: &Server, arguments: &[&str]) -> Output {
    server.run(&[&["preview", "beacon"], arguments].concat())
}

#[test]
fn an_install_is_shown_with_its_rights_and_what_an_upgrade_changes() {
    let output = preview(&server(), &["--from", "1.0.0"]);
    assert_eq!((output.status, &*output.stderr), (Some(0), ""));
    assert_eq!(
        output.stdout,
        "\
KIND                      NAMESPACE  NAME
ServiceAccount            beacon     beacon
ClusterRole                          beacon.v1.1.0-beac-1mwbjg9mq62w8mh5nk7nprnyl3rrsfamafy9ikkubbel
ClusterRoleBinding                   beacon.v1.1.0-beac-1mwbjg9mq62w8mh5nk7nprnyl3rrsfamafy9ikkubbel
CustomResourceDefinition             signals.beacon.example.com
Deployment                beacon     beacon

SERVICE ACCOUNT  NAMESPACES  RULES  FLAGS
beacon/beacon    all         3      READS_SECRETS

from beacon.v1.0.0:
CHANGE   WHAT        VALUE
added    flag        READS_SECRETS
added    right       get,list,watch secrets
added    image       quay.io/example/beacon:v1.1.0
removed  image       quay.io/example/beacon:v1.0.0
changed  definition  signals.beacon.example.com: version v1beta1 is no longer served
"
    );
}

#[test]
fn programs_get_the_objects_whole_and_kubectl_gets_them_alone() {
    let server = server();
    let output = preview(&server, &["--install-namespace", "lights", "-o", "json"]);
    let install: Value = serde_json::from_str(&output.stdout).expect("it is JSON");
    assert_eq!(
        [
            &install["bundle"],
            &install["namespace"],
            &install["targetNamespaces"]
        ],
        [&json!("beacon.v1.1.0"), &json!("lights"), &json!([""])]
    );
    let account = &install["objects"][0];
    assert_eq!(
        [&account["kind"], &account["metadata"]["namespace"]],
        [&json!("ServiceAccount"), &json!("lights")]
    );
    let yaml = preview(&server, &["-o", "yaml"]).stdout;
    assert_eq!(yaml.matches("---\n").count(), 5, "{yaml}");
    assert!(
        yaml.starts_with("---\napiVersion: v1\nkind: ServiceAccount\n"),
        "{yaml}"
    );
}

#[test]
fn refusals_and_risks_decide_on_the_status() {
    let server = server();
    for (arguments, status) in [
        (&["--fail-on", "READS_SECRETS"][..], 1),
        (&["--fail-on", "EXEC"], 0),
        (&["--from", "1.0.0", "--fail-on", "EXEC,READS_SECRETS"], 1),
        (&["--from", "1.1.0", "--fail-on", "READS_SECRETS"], 0),
        (&["--fail-on", "READ_SECRETS"], 2),
        (&["--watch-namespaces", "one,two"], 1),
        (&["--from", "9.9.9"], 4),
    ] {
        let output = preview(&server, arguments);
        assert_eq!(output.status, Some(status), "{arguments:?}: {output:?}");
    }
    let refused = preview(&server, &["--watch-namespaces", "one,two", "-o", "json"]);
    let errors: Value = serde_json::from_str(&refused.stdout).expect("it is JSON");
    assert_eq!(errors["errors"][0]["code"], "INVALID_TARGET_NAMESPACES");
    let missing = server.run(&["preview", "beacon@9.9.9"]);
    assert_eq!(missing.status, Some(4), "{missing:?}");
}

#[test]
fn a_bundle_whose_manifests_the_server_has_not_says_how_to_get_them() {
    let server = Server::start();
    server.serve("example", Path::new(EXAMPLE), CatalogMetadata::default());
    let output = server.run(&["preview", "quillstore"]);
    assert_eq!(output.status, Some(6), "{output:?}");
    assert!(
        output
            .stderr
            .contains("which a server fetches only with --bundle-images"),
        "{output:?}"
    );
}
