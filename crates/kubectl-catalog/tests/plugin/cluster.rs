//! The server of a cluster, on a real API server: found by its Service, and reached through the API server's proxy.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use serving::CatalogMetadata;
use testing::{ControlPlane, eventually};

use crate::support::{EXAMPLE, Output, Server};

/// Set where the test runs in a network of its own.
const INSIDE: &str = "CATALOGQL_TEST_NETWORK";

/// The only address of that network that the API server takes for one of a pod: it refuses 127.0.0.0/8.
const POD: &str = "192.0.2.1";

/// Name of the test below.
const TEST: &str =
    "cluster::the_server_of_a_cluster_is_found_and_asked_through_the_api_server_with_the_rights_of_viewers";

/// Runs the calling test again in a network namespace with nothing but a loopback device that has the address of a pod;
/// returns whether this is that run.
fn is_inside() -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("a test is a program");
    let setup =
        format!("ip link set lo up && ip address add {POD}/32 dev lo && exec \"$0\" --exact {TEST} --nocapture");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "sh", "-c", &setup]).arg(program).env(INSIDE, "1");
    let output = command.output().expect("there is unshare(1), of util-linux");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    print!("{text}");
    false
}

/// A Service without a selector, and what the API server wants to know of the pod behind it.
fn service(name: &str, port: u16) -> Value {
    let labels = json!({ "app.kubernetes.io/name": "catalogql" });
    let target = json!({ "kind": "Pod", "namespace": "catalogql", "name": "catalogql-0" });
    let list = [
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": name, "namespace": "catalogql", "labels": labels },
            "spec": { "ports": [{ "name": "http", "port": 80, "targetPort": port }] },
        }),
        json!({
            "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": name, "namespace": "catalogql" },
            "subsets": [{
                "addresses": [{ "ip": POD, "targetRef": target }], "ports": [{ "name": "http", "port": port }],
            }],
        }),
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": { "name": name, "namespace": "catalogql", "labels": { "kubernetes.io/service-name": name } },
            "endpoints": [{ "addresses": [POD], "targetRef": target, "conditions": { "ready": true } }],
            "ports": [{ "name": "http", "port": port, "protocol": "TCP" }],
        }),
        json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "catalogql-0", "namespace": "catalogql" },
            "spec": { "containers": [{ "name": "catalogql", "image": "catalogql" }], "automountServiceAccountToken": false },
        }),
    ];
    json!({ "apiVersion": "v1", "kind": "List", "items": list })
}

/// A role with these rules in the namespace of the server, for a service account of this name.
fn grant(plane: &ControlPlane, name: &str, rules: &Value) {
    plane.kubectl(&["create", "serviceaccount", name, "--namespace=default"]);
    let (version, metadata) = ("rbac.authorization.k8s.io/v1", json!({ "name": name, "namespace": "catalogql" }));
    plane.apply(&[
        json!({ "apiVersion": version, "kind": "Role", "metadata": metadata, "rules": rules }),
        json!({
            "apiVersion": version, "kind": "RoleBinding", "metadata": metadata,
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": "default" }],
        }),
    ]);
}

fn run(server: &Server, kubeconfig: &Path, arguments: &[&str]) -> Output {
    let mut command = server.plugin(arguments);
    command.env_remove("CATALOGQL_SERVER").arg("--kubeconfig").arg(kubeconfig);
    let output = command.output().expect("the plugin can be started");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Output { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn the_server_of_a_cluster_is_found_and_asked_through_the_api_server_with_the_rights_of_viewers() {
    if !is_inside() {
        return;
    }
    let Some(plane) = ControlPlane::start() else { return };
    let server = Server::start_at(SocketAddr::new(POD.parse().expect("an address"), testing::fixed_port()));
    server.serve("example", Path::new(EXAMPLE), CatalogMetadata::default());
    for namespace in ["catalogql", "default"] {
        // The second one exists.
        plane.try_kubectl(&["create", "namespace", namespace], "");
    }
    plane.kubectl(&["create", "serviceaccount", "default", "--namespace=catalogql"]);
    let objects = service("catalogql", server.address.port());
    plane.apply(objects["items"].as_array().expect("it is a list"));
    let status = json!({ "status": { "phase": "Running", "podIP": POD, "podIPs": [{ "ip": POD }] } }).to_string();
    plane.kubectl(&[
        "patch",
        "pod",
        "catalogql-0",
        "--namespace=catalogql",
        "--subresource=status",
        "--patch",
        &status,
    ]);
    let list = json!({ "apiGroups": [""], "resources": ["services"], "verbs": ["list"] });
    let proxy = json!({
        "apiGroups": [""], "resources": ["services/proxy"], "resourceNames": ["http:catalogql:http"],
        "verbs": ["get", "create"],
    });
    grant(&plane, "viewer", &json!([list, proxy]));
    grant(&plane, "lister", &json!([list]));
    grant(&plane, "nobody", &json!([]));
    let kubeconfig = |name: &str| plane.service_account_kubeconfig("default", name, plane.address);

    let viewer = kubeconfig("viewer");
    let direct = server.run(&["heads", "quillstore"]);
    assert_eq!(direct.status, Some(0), "{direct:?}");
    // The API server learns of roles by a watch.
    let through =
        eventually(|| Some(run(&server, &viewer, &["heads", "quillstore"])).filter(|output| output.status == Some(0)));
    assert_eq!(through, direct);
    // Compression and validators pass the proxy.
    run(&server, &viewer, &["heads", "quillstore"]);
    assert_eq!(server.statuses().last(), Some(&304));
    let asked: Vec<_> = plane
        .audit_log()
        .iter()
        .filter(|event| event["user"]["username"] == "system:serviceaccount:default:viewer")
        .map(|event| {
            ["verb", "resource", "subresource"]
                .map(|field| {
                    let within = if field == "verb" { event } else { &event["objectRef"] };
                    let within = if field == "resource" { &within["resource"] } else { &within[field] };
                    within.as_str().unwrap_or_default().to_owned()
                })
                .join(" ")
                .trim()
                .to_owned()
        })
        .collect();
    let mut asked = asked;
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked, ["get services proxy", "list services"]);

    let refused = run(&server, &kubeconfig("lister"), &["heads", "quillstore"]);
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("cannot get resource \"services/proxy\""), "{refused:?}");
    let refused = run(&server, &kubeconfig("nobody"), &["heads", "quillstore"]);
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("cannot list resource \"services\""), "{refused:?}");

    let other = service("another", server.address.port());
    plane.apply(&other["items"].as_array().expect("it is a list")[..1]);
    let output = run(&server, &viewer, &["heads", "quillstore"]);
    assert_eq!(output.status, Some(4), "{output:?}");
    assert!(output.stderr.contains("catalogql/another, catalogql/catalogql"), "{output:?}");
}

#[test]
fn what_is_installed_is_listed_with_what_it_can_be_upgraded_to() {
    let Some(plane) = ControlPlane::start() else { return };
    let server = Server::start();
    server.serve("example", Path::new(EXAMPLE), CatalogMetadata::default());
    let outdated = |arguments: &[&str]| {
        let file = plane.kubeconfig();
        let file = file.to_str().expect("temporary paths are UTF-8");
        server.run(&[&["outdated", "--kubeconfig", file], arguments].concat())
    };
    // Without the kinds, nothing is installed.
    let none = Output { status: Some(0), stdout: String::new(), stderr: "nothing found\n".to_owned() };
    assert_eq!(outdated(&["--exit-code"]), none);

    let kind = |group: &str, version: &str, kind: &str, scope: &str| {
        let plural = kind.to_lowercase() + "s";
        let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{plural}.{group}"),
                "annotations": { "api-approved.kubernetes.io": "unapproved, for a test" },
            },
            "spec": {
                "group": group, "scope": scope,
                "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
                "versions": [{
                    "name": version, "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
                }],
            },
        })
    };
    plane.apply(&[
        kind("olm.operatorframework.io", "v1", "ClusterExtension", "Cluster"),
        kind("operators.coreos.com", "v1alpha1", "Subscription", "Namespaced"),
        kind("operators.coreos.com", "v1alpha1", "ClusterServiceVersion", "Namespaced"),
    ]);
    plane.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"]);
    let v0 = "operators.coreos.com/v1alpha1";
    let source = json!({ "sourceType": "Catalog", "catalog": { "packageName": "quillstore", "channels": ["stable"] } });
    plane.apply(&[
        json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension", "metadata": { "name": "quill" },
            "spec": { "namespace": "store", "source": source },
            "status": { "install": { "bundle": { "name": "quillstore.v1.1.0", "version": "1.1.0" } } },
        }),
        json!({
            "apiVersion": v0, "kind": "Subscription", "metadata": { "name": "lamp", "namespace": "default" },
            "spec": { "name": "no-such-package", "channel": "a" }, "status": { "installedCSV": "lamp.v1.0.0" },
        }),
        json!({
            "apiVersion": v0, "kind": "Subscription", "metadata": { "name": "pending", "namespace": "default" },
            "spec": { "name": "quillstore" },
        }),
        json!({
            "apiVersion": v0, "kind": "ClusterServiceVersion",
            "metadata": { "name": "lamp.v1.0.0", "namespace": "default" }, "spec": { "version": "1.0.0" },
        }),
    ]);
    let expected = "\
NAME   NAMESPACE  PACKAGE          INSTALLED  CAN-GO-TO  NEWEST  DEPRECATED  REASON
quill  store      quillstore       1.1.0      1.4.0      1.4.0   false       an upgrade is available
lamp   default    no-such-package  1.0.0      <none>     <none>  false       no catalog has the package
";
    let output = Output { status: Some(1), stdout: expected.to_owned(), stderr: String::new() };
    assert_eq!(outdated(&["--exit-code"]), output);
    assert_eq!(outdated(&[]), Output { status: Some(0), ..output });
}
