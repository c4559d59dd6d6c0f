//! Who may edit a catalog that is served: callers with and without the right, on a real API server.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use testing::{ControlPlane, Folders, HttpResponse, eventually, exchange};

/// A server with catalogs that can be edited; killed when it is dropped.
struct Editable {
    child: Child,
    address: SocketAddr,
}

impl Drop for Editable {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// Serves the directories `mine` and `theirs`, for callers that the API server lets edit.
fn serve(plane: &ControlPlane, folders: &Folders) -> Editable {
    let mut command = Command::new(env!("CARGO_BIN_EXE_catalogql"));
    command.args([
        "serve",
        "--listen=127.0.0.1:0",
        "--auth=delegated",
        "--store",
        &folders.text("store"),
    ]);
    for name in ["mine", "theirs"] {
        fs::create_dir(folders.path(name)).expect("folders can be made");
        command.args(["--editable", &format!("{name}={}", folders.text(name))]);
    }
    command
        .env("KUBECONFIG", plane.kubeconfig())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("it can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe"))
        .lines()
        .map_while(Result::ok);
    let line = lines
        .find(|line| line.starts_with("Listening on "))
        .expect("it listens");
    let address = line
        .trim_start_matches("Listening on http://")
        .trim_end_matches("/graphql");
    Editable {
        child,
        address: address.parse().expect("an address"),
    }
}

fn edit(server: &Editable, catalog: &str, token: Option<&str>) -> HttpResponse {
    let blob = json!({
        "schema": "olm.bundle", "package": "etcd", "name": "etcd.v1.0.0", "image": "quay.io/ns/etcd:v1.0.0",
        "properties": [{ "type": "olm.package", "value": { "packageName": "etcd", "version": "1.0.0" } }],
    });
    let bundle = json!({ "blob": blob, "channels": ["stable"], "defaultChannel": "stable" });
    let batch = json!([{ "op": "add", "bundles": [bundle] }]).to_string();
    let authorization = token
        .map(|token| format!("authorization: Bearer {token}\r\n"))
        .unwrap_or_default();
    let head = format!(
        "POST /catalogs/{catalog}/edits HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{authorization}content-type: \
         application/json\r\ncontent-length: {}\r\n\r\n{batch}",
        batch.len()
    );
    exchange(server.address, head.as_bytes(), false)
}

#[test]
fn who_may_update_the_content_of_a_catalog_edits_it_and_nobody_else() {
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    let folders = Folders::new();
    let token = |name: &str, verb: &str| {
        plane.kubectl(&["create", "serviceaccount", name]);
        let rule = json!({
            "apiGroups": ["olm.operatorframework.io"], "resources": ["clustercatalogs/content"],
            "resourceNames": ["mine"], "verbs": [verb],
        });
        let version = "rbac.authorization.k8s.io/v1";
        let metadata = json!({ "name": name });
        plane.apply(&[json!({ "apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": [rule] })]);
        let account = format!("--serviceaccount=default:{name}");
        plane.kubectl(&[
            "create",
            "clusterrolebinding",
            name,
            &format!("--clusterrole={name}"),
            &account,
        ]);
        plane.kubectl(&["create", "token", name]).trim().to_owned()
    };
    let editor = token("editor", "update");
    let reader = token("reader", "get");
    let server = serve(&plane, &folders);
    // The API server learns of roles by a watch.
    let first = eventually(|| {
        Some(edit(&server, "mine", Some(&editor))).filter(|response| response.status != 403)
    });
    assert_eq!(
        first.status,
        200,
        "{}",
        String::from_utf8_lossy(&first.body)
    );
    let status = |catalog: &str, token: Option<&str>| edit(&server, catalog, token).status;
    assert_eq!(
        [status("mine", None), status("mine", Some("invalid"))],
        [401, 401]
    );
    assert_eq!(
        [
            status("mine", Some(&reader)),
            status("theirs", Some(&editor))
        ],
        [403, 403]
    );
    // What is there is told to those alone who may edit it.
    assert_eq!(
        [status("absent", None), status("absent", Some(&editor))],
        [401, 403]
    );
    assert_eq!(
        fs::read_dir(folders.path("theirs"))
            .expect("it is there")
            .count(),
        0
    );
    assert_eq!(
        status("mine", Some(&editor)),
        409,
        "the bundle is there now"
    );
}
