//! The server of a cluster, on a real API server: found by its Service, and reached through the API
//! server's proxy or a forwarded port.

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use serving::CatalogMetadata;
use testing::{ControlPlane, Kubelet, eventually};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::support::{EXAMPLE, Output, Server, custom_resource, example, wait_for_definitions};

/// Set where the test runs in a network of its own.
const INSIDE: &str = "CATALOGQL_TEST_NETWORK";

/// The only address of that network that the API server takes for one of a pod: it refuses
/// 127.0.0.0/8.
const POD: &str = "192.0.2.1";

/// Name of the node of all pods.
const NODE: &str = "node";

fn pod() -> IpAddr {
    POD.parse().expect("it is an address")
}

/// Runs the calling test again in a network namespace with nothing but a loopback device that has
/// the address of a pod; returns whether this is that run.
fn is_inside(name: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("a test is a program");
    let setup = format!(
        "ip link set lo up && ip address add {POD}/32 dev lo && exec \"$0\" --exact cluster::{name} --nocapture"
    );
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--net", "sh", "-c", &setup])
        .arg(program)
        .env(INSIDE, "1");
    let output = command
        .output()
        .expect("there is unshare(1), of util-linux");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    print!("{text}");
    false
}

/// The server as a cluster knows it: a Service with one port, and what the API server wants to know
/// of the pod behind it. No controller makes the Endpoints of the labels.
fn deploy(plane: &ControlPlane, namespace: &str, scheme: &str, port: u16) {
    let labels = json!({ "app.kubernetes.io/name": "catalogql" });
    let target = json!({ "kind": "Pod", "namespace": namespace, "name": "catalogql-0" });
    let metadata = json!({ "name": "catalogql", "namespace": namespace, "labels": labels });
    plane.kubectl(&["create", "namespace", namespace]);
    plane.kubectl(&[
        "create",
        "serviceaccount",
        "default",
        "--namespace",
        namespace,
    ]);
    let container = json!({
        "name": "catalogql", "image": "catalogql", "ports": [{ "name": "api", "containerPort": port }],
    });
    let spec = json!({ "nodeName": NODE, "containers": [container], "automountServiceAccountToken": false });
    plane.apply(&[
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": metadata,
            "spec": { "selector": labels, "ports": [{ "name": scheme, "port": 443, "targetPort": "api" }] },
        }),
        json!({
            "apiVersion": "v1", "kind": "Endpoints", "metadata": { "name": "catalogql", "namespace": namespace },
            "subsets": [{
                "addresses": [{ "ip": POD, "targetRef": target }], "ports": [{ "name": scheme, "port": port }],
            }],
        }),
        json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {
                "name": "catalogql", "namespace": namespace, "labels": { "kubernetes.io/service-name": "catalogql" },
            },
            "endpoints": [{ "addresses": [POD], "targetRef": target, "conditions": { "ready": true } }],
            "ports": [{ "name": scheme, "port": port, "protocol": "TCP" }],
        }),
        json!({
            "apiVersion": "v1", "kind": "Pod", "spec": spec,
            "metadata": { "name": "catalogql-0", "namespace": namespace, "labels": labels },
        }),
    ]);
    let conditions = json!([{ "type": "Ready", "status": "True" }]);
    let status = json!({ "phase": "Running", "podIP": POD, "podIPs": [{ "ip": POD }], "conditions": conditions });
    let patch = json!({ "status": status }).to_string();
    let arguments = [
        "patch",
        "pod",
        "catalogql-0",
        "--subresource=status",
        "--namespace",
        namespace,
        "--patch",
        &patch,
    ];
    plane.kubectl(&arguments);
}

/// A service account of this name with a role in the namespace of the server, if one is named.
fn grant(plane: &ControlPlane, name: &str, role: Option<&str>) {
    plane.kubectl(&["create", "serviceaccount", name, "--namespace=default"]);
    if let Some(role) = role {
        let role = format!("--role={role}");
        let account = format!("--serviceaccount=default:{name}");
        plane.kubectl(&[
            "create",
            "rolebinding",
            name,
            "--namespace=catalogql",
            &role,
            &account,
        ]);
    }
}

/// The roles that the manifests have.
fn apply_roles(plane: &ControlPlane) {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/base/access.yaml");
    plane.kubectl(&["apply", "--filename", file]);
}

/// What a service account has asked of the API server: verb, resource and subresource, each once
/// and sorted.
fn requests_of(plane: &ControlPlane, name: &str) -> Vec<String> {
    let user = format!("system:serviceaccount:default:{name}");
    let words = |event: &Value| {
        let object = &event["objectRef"];
        let words = [&event["verb"], &object["resource"], &object["subresource"]].into_iter();
        words
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let log = plane.audit_log();
    let asked = log
        .iter()
        .filter(|event| event["user"]["username"] == *user)
        .map(words);
    let mut asked: Vec<_> = asked.collect();
    asked.sort_unstable();
    asked.dedup();
    asked
}

fn run(server: &Server, kubeconfig: &Path, arguments: &[&str]) -> Output {
    let mut command = server.plugin(arguments);
    command
        .env_remove("CATALOGQL_SERVER")
        .arg("--kubeconfig")
        .arg(kubeconfig);
    let output = command.output().expect("the plugin can be started");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Output {
        status: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

#[test]
fn the_server_of_a_cluster_is_found_and_asked_through_the_api_server_with_the_rights_of_viewers() {
    if !is_inside(
        "the_server_of_a_cluster_is_found_and_asked_through_the_api_server_with_the_rights_of_viewers",
    ) {
        return;
    }
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    // The API server's proxy takes any certificate.
    let (acceptor, _) = certificate("catalogql.catalogql.svc");
    let server = Server::start_with(
        SocketAddr::new(pod(), testing::fixed_port()),
        Some(acceptor),
    );
    server.serve("example", Path::new(EXAMPLE), CatalogMetadata::default());
    // It exists in a moment.
    plane.try_kubectl(&["create", "namespace", "default"], "");
    deploy(&plane, "catalogql", "https", server.address.port());
    apply_roles(&plane);
    grant(&plane, "viewer", Some("catalogql-viewer"));
    plane.kubectl(&[
        "create",
        "role",
        "lister",
        "--verb=list",
        "--resource=services",
        "--namespace=catalogql",
    ]);
    grant(&plane, "lister", Some("lister"));
    grant(&plane, "nobody", None);
    let kubeconfig = |name: &str| plane.service_account_kubeconfig("default", name, plane.address);

    let viewer = kubeconfig("viewer");
    let direct = example().run(&["heads", "quillstore"]);
    assert_eq!(direct.status, Some(0), "{direct:?}");
    // The API server learns of roles by a watch.
    let through = eventually(|| {
        Some(run(&server, &viewer, &["heads", "quillstore"]))
            .filter(|output| output.status == Some(0))
    });
    assert_eq!(through, direct);
    // Compression and validators pass the proxy.
    run(&server, &viewer, &["heads", "quillstore"]);
    assert_eq!(server.statuses().last(), Some(&304));
    let asked = requests_of(&plane, "viewer");
    let rights: Vec<_> = asked
        .iter()
        .filter(|asked| !asked.contains("pods"))
        .map(String::as_str)
        .collect();
    assert_eq!(rights, ["get services proxy", "list services"]);

    let refused = run(&server, &kubeconfig("lister"), &["heads", "quillstore"]);
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("cannot get resource \"services/proxy\""),
        "{refused:?}"
    );
    let refused = run(&server, &kubeconfig("nobody"), &["heads", "quillstore"]);
    assert_eq!(refused.status, Some(3), "{refused:?}");
    assert!(
        refused.stderr.contains("cannot list resource \"services\""),
        "{refused:?}"
    );

    // The Service is remembered, and looked for again where it has gone.
    let count = |verb: &str| {
        plane
            .audit_log()
            .iter()
            .filter(|event| event["verb"] == verb)
            .count()
    };
    let offline = run(&server, &viewer, &["heads", "quillstore", "--offline"]);
    assert_eq!((offline.status, &offline.stdout), (Some(0), &direct.stdout));
    let listed = count("list");
    let proxied = count("get");
    run(&server, &viewer, &["heads", "quillstore"]);
    eventually(|| (count("get") > proxied).then_some(()));
    assert_eq!(count("list"), listed);
    // The proxy follows the endpoints, which a controller would delete.
    plane.kubectl(&[
        "delete",
        "service,endpoints,endpointslice",
        "catalogql",
        "--namespace=catalogql",
    ]);
    // The API server learns of it by a watch.
    let gone = eventually(|| {
        Some(run(&server, &viewer, &["heads", "quillstore"]))
            .filter(|output| output.status == Some(3))
    });
    assert!(
        gone.stderr.contains("no endpoints available for service"),
        "{gone:?}"
    );

    let ports = json!([{ "name": "http", "port": 80 }]);
    for name in ["one", "two"] {
        let labels = json!({ "app.kubernetes.io/name": "catalogql" });
        let metadata = json!({ "name": name, "namespace": "catalogql", "labels": labels });
        plane.apply(&[
            json!({ "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": { "ports": ports } }),
        ]);
    }
    let output = run(&server, &kubeconfig("lister"), &["heads", "quillstore"]);
    assert_eq!(output.status, Some(4), "{output:?}");
    assert!(
        output.stderr.contains("catalogql/one, catalogql/two"),
        "{output:?}"
    );
}

#[test]
fn a_server_that_is_not_reached_through_the_proxy_is_through_a_forwarded_port_of_its_pod() {
    if !is_inside(
        "a_server_that_is_not_reached_through_the_proxy_is_through_a_forwarded_port_of_its_pod",
    ) {
        return;
    }
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    let Some(_kubelet) = Kubelet::start(&plane, NODE, pod()) else {
        return;
    };
    let server = Server::start_at(SocketAddr::new(pod(), testing::fixed_port()));
    server.serve("example", Path::new(EXAMPLE), CatalogMetadata::default());
    plane.try_kubectl(&["create", "namespace", "default"], "");
    deploy(&plane, "catalogql", "http", server.address.port());
    apply_roles(&plane);
    grant(&plane, "forwarder", Some("catalogql-port-forward"));
    let forwarder = plane.service_account_kubeconfig("default", "forwarder", plane.address);
    let direct = server.run(&["heads", "quillstore"]);
    let heads = |arguments: &[&str]| {
        run(
            &server,
            &forwarder,
            &[&["heads", "quillstore"], arguments].concat(),
        )
    };
    let through = eventually(|| {
        Some(heads(&["--via", "port-forward"]))
            .filter(|output| !output.stderr.contains("cannot list"))
    });
    assert_eq!(through, direct);
    heads(&["--via", "port-forward"]);
    assert_eq!(server.statuses().last(), Some(&304));
    let rights = ["get pods portforward", "list pods", "list services"];
    assert_eq!(requests_of(&plane, "forwarder"), rights);
    // The proxy is tried first, unless there is a token, which does not pass it.
    let refused = heads(&["--via", "service"]);
    assert!(
        refused.status == Some(3) && refused.stderr.contains("services/proxy"),
        "{refused:?}"
    );
    assert_eq!(heads(&[]), direct);
    assert_eq!(heads(&["--token", "a-token"]), direct);
    assert_eq!(
        server.last_credentials().expect("it was sent"),
        "Bearer a-token"
    );
    opens(&server, &forwarder);

    // A certificate of an authority that the cluster names.
    let (acceptor, authority) = certificate("catalogql.catalogql-system.svc");
    let secured = Server::start_with(
        SocketAddr::new(pod(), testing::fixed_port()),
        Some(acceptor),
    );
    secured.serve("example", Path::new(EXAMPLE), CatalogMetadata::default());
    deploy(&plane, "catalogql-system", "https", secured.address.port());
    let admin = plane.kubeconfig();
    let arguments = [
        "heads",
        "quillstore",
        "--via",
        "port-forward",
        "--namespace",
        "catalogql-system",
    ];
    let refused = run(&server, &admin, &arguments);
    assert!(
        refused.status == Some(3) && refused.stderr.contains("hint: --certificate-authority"),
        "{refused:?}"
    );
    let metadata = json!({ "name": "catalogql-ca", "namespace": "catalogql-system" });
    let data = json!({ "ca.crt": authority });
    plane.apply(&[
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data }),
    ]);
    assert_eq!(run(&server, &admin, &arguments), direct);
    assert_eq!(secured.last_credentials(), None);
}

/// Asserts that `open` forwards a port, and prints its address, until it is ended.
fn opens(server: &Server, kubeconfig: &Path) {
    let mut command = server.plugin(&["open", "example/quillstore", "--kubeconfig"]);
    let command = command
        .arg(kubeconfig)
        .env_remove("CATALOGQL_SERVER")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the plugin can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
    let url = lines.next().expect("it prints a line").expect("it is text");
    let base = url
        .strip_suffix("/?catalog=example&package=quillstore")
        .expect("it is that of the package");
    let found = server.run(&["get", "catalogs", "-o", "name", "--server", base]);
    child.kill().expect("it can be ended");
    let stderr = child.wait_with_output().expect("it ends").stderr;
    assert_eq!(
        (found.stdout.as_str(), found.stderr.as_str()),
        ("catalog/example\n", "")
    );
    let expected = "the port is forwarded until this program ends: Ctrl-C\n";
    assert_eq!(String::from_utf8_lossy(&stderr), expected);
}

/// A certificate for this name that signs itself, and its text.
fn certificate(name: &str) -> (TlsAcceptor, String) {
    let made =
        rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate can be made");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("it is a key");
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("it has versions").with_no_client_auth();
    let config = config
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("they fit");
    (TlsAcceptor::from(Arc::new(config)), made.cert.pem())
}

#[test]
fn what_is_installed_is_listed_with_what_it_can_be_upgraded_to() {
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    let server = Server::start();
    server.serve("example", Path::new(EXAMPLE), CatalogMetadata::default());
    let outdated = |arguments: &[&str]| {
        let file = plane.kubeconfig();
        let file = file.to_str().expect("temporary paths are UTF-8");
        server.run(&[&["outdated", "--kubeconfig", file], arguments].concat())
    };
    // Without the kinds, nothing is installed.
    let none = Output {
        status: Some(0),
        stdout: String::new(),
        stderr: "nothing found\n".to_owned(),
    };
    assert_eq!(outdated(&["--exit-code"]), none);

    plane.apply(&[
        custom_resource("olm.operatorframework.io/v1", "ClusterExtension", "Cluster"),
        custom_resource(
            "operators.coreos.com/v1alpha1",
            "Subscription",
            "Namespaced",
        ),
        custom_resource(
            "operators.coreos.com/v1alpha1",
            "ClusterServiceVersion",
            "Namespaced",
        ),
    ]);
    wait_for_definitions(&plane);
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
            "apiVersion": v0, "kind": "Subscription", "metadata": { "name": "lost", "namespace": "default" },
            "spec": { "name": "quillstore" }, "status": { "installedCSV": "quillstore.v1.0.0" },
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
lost   default    quillstore       <none>     <none>     <none>  false       its ClusterServiceVersion is gone
";
    let output = Output {
        status: Some(1),
        stdout: expected.to_owned(),
        stderr: String::new(),
    };
    let page = include_str!("../../../../docs/how-to/outdated-operators.md");
    assert!(
        page.contains(&format!(
            "$ kubectl catalog outdated --exit-code\n{expected}```\n"
        )),
        "{expected}"
    );
    assert_eq!(outdated(&["--exit-code"]), output);
    assert_eq!(
        outdated(&[]),
        Output {
            status: Some(0),
            ..output
        }
    );
    check_mirror_from_cluster(&plane, &server);

    let lifecycle = json!({
        "schema": "io.openshift.operators.lifecycles.v1alpha1", "package": "oil",
        "versions": [{ "name": "1.0", "phases": [
            { "name": "Full support", "startDate": "2026-01-01", "endDate": "2026-12-31" },
        ] }],
    });
    let fixture = format!("package oil default=a\nchannel a: v1.0.0\n{lifecycle}");
    server.serve_fixture("oils", &fixture, 0);
    let operator = |name: &str| {
        [
            json!({
                "apiVersion": v0, "kind": "Subscription", "metadata": { "name": "oil", "namespace": name },
                "spec": { "name": "oil" }, "status": { "installedCSV": "oil.v1.0.0" },
            }),
            json!({
                "apiVersion": v0, "kind": "ClusterServiceVersion",
                "metadata": { "name": "oil.v1.0.0", "namespace": name }, "spec": { "version": "1.0.0" },
            }),
        ]
    };
    plane.kubectl(&["delete", "subscriptions", "--all", "--namespace=default"]);
    plane.apply(&operator("default"));
    for (day, phase) in [
        ("2026-11-26", "Full support until 2026-12-31"),
        ("2027-01-01", "none"),
    ] {
        let printed = outdated(&["--support-on", day]).stdout;
        let cells: Vec<_> = printed
            .lines()
            .map(|line| {
                let cells = line.split("  ").map(str::trim);
                cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(
            cells,
            [
                vec![
                    "NAME",
                    "NAMESPACE",
                    "PACKAGE",
                    "INSTALLED",
                    "CAN-GO-TO",
                    "NEWEST",
                    "DEPRECATED",
                    "SUPPORT",
                    "REASON",
                    "CATALOG"
                ],
                vec![
                    "quill",
                    "store",
                    "quillstore",
                    "1.1.0",
                    "1.4.0",
                    "1.4.0",
                    "false",
                    "<none>",
                    "an upgrade is available",
                    "example"
                ],
                vec![
                    "oil",
                    "default",
                    "oil",
                    "1.0.0",
                    "<none>",
                    "1.0.0",
                    "false",
                    phase,
                    "no upgrade",
                    "oils"
                ],
            ]
        );
    }
}

/// What is installed is mirrored with its upgrades: from a version, and from a bundle by name.
fn check_mirror_from_cluster(plane: &ControlPlane, server: &Server) {
    let file = plane.kubeconfig();
    let file = file.to_str().expect("temporary paths are UTF-8");
    let output = server.run(&["mirror", "--from-cluster", "--kubeconfig", file]);
    let expected = "\
PACKAGE     BUNDLE             VERSION  REASONS
quillstore  quillstore.v1.0.0  1.0.0    INSTALLED of stable
quillstore  quillstore.v1.1.0  1.1.0    ON_THE_WAY of stable, INSTALLED of stable
quillstore  quillstore.v1.2.1  1.2.1    ON_THE_WAY of stable
quillstore  quillstore.v1.4.0  1.4.0    HEAD of stable
1 package, 4 bundles, 13 images
";
    let page = include_str!("../../../../docs/how-to/mirror-a-catalog.md");
    assert!(
        page.contains(&format!(
            "$ kubectl catalog mirror --from-cluster\n{expected}left out: package `no-such-package` not found\n"
        )),
        "{expected}"
    );
    assert_eq!((output.status, &*output.stdout), (Some(0), expected));
    assert!(
        output
            .stderr
            .starts_with("left out: package `no-such-package` not found\n"),
        "{}",
        output.stderr
    );
}
