//! Plans for a cluster: on a real API server with every verdict and without some rights, and on a
//! made one with many objects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use serving::CatalogMetadata;
use testing::{ControlPlane, Folders, eventually};

use crate::support::{Output, Server, custom_resource, wait_for_definitions};

/// Page with the commands and the rights that they need.
const PAGE: &str = include_str!("../../../../docs/how-to/upgrade-the-platform.md");

/// Verdicts with their numbers of operators.
const VERDICTS: [&str; 5] = ["stays", "follows", "switches", "blocked", "unknown"];

/// Number of operators of each verdict.
const OPERATORS: usize = 12;

/// Group and version of OLM v0.
const V0: &str = "operators.coreos.com/v1alpha1";

/// Returns the metadata of a catalog whose image has a tag.
fn tagged(tag: &str) -> CatalogMetadata {
    CatalogMetadata {
        image_reference: Some(format!("registry.example.com/index:{tag}")),
        ..CatalogMetadata::default()
    }
}

/// Returns the line of a bundle with a limit.
fn bundle(package: &str, version: &str, max_openshift: &str) -> String {
    let mut properties = vec![
        json!({ "type": "olm.package", "value": { "packageName": package, "version": version } }),
    ];
    if !max_openshift.is_empty() {
        properties.push(json!({ "type": "olm.maxOpenShiftVersion", "value": max_openshift }));
    }
    let bundle = json!({
        "schema": "olm.bundle", "package": package, "name": format!("{package}.v{version}"),
        "image": format!("registry.example.com/{package}:{version}"), "properties": properties,
    });
    bundle.to_string()
}

/// Returns the fixtures of two versions of a catalog, with packages for every verdict that a
/// package of the catalog may have.
fn two_versions() -> [String; 2] {
    let mut fixtures = [String::new(), String::new()];
    for at in 0..OPERATORS {
        let package = |verdict: &str| format!("{verdict}-{at:02}");
        let mut add = |version: usize, verdict: &str, channel: &str, max: [&str; 2]| {
            let package = package(verdict);
            let default = channel.split(':').next().unwrap_or_default();
            let head = format!("package {package} default={default}\nchannel {channel}\n");
            fixtures[version].push_str(&head);
            for (bundle_version, max) in ["1.0.0", "1.1.0"].into_iter().zip(max) {
                if channel.contains(&format!(" v{bundle_version}?")) {
                    fixtures[version] += &(bundle(&package, bundle_version, max) + "\n");
                }
            }
        };
        add(0, "stays", "stable: v1.0.0?", ["4.17", ""]);
        add(1, "stays", "stable: v1.0.0?", ["4.17", ""]);
        add(0, "follows", "stable: v1.0.0? <- v1.1.0?", ["4.16", "4.17"]);
        add(1, "follows", "stable: v1.1.0?", ["", "4.17"]);
        add(0, "switches", "4.16: v1.0.0?", ["4.17", ""]);
        add(1, "switches", "4.17: v1.1.0? replaces=v1.0.0", ["", "4.17"]);
        add(0, "blocked", "stable: v1.0.0?", ["4.16", ""]);
        add(
            1,
            "blocked",
            "stable: v1.1.0? replaces=v1.0.0",
            ["", "4.17"],
        );
    }
    fixtures
}

/// Returns the objects of an operator that is installed in version 1.0.0: a `ClusterExtension`, or a
/// `Subscription`, its `ClusterServiceVersion` and a copy of that.
fn operator(verdict: &str, at: usize) -> Vec<Value> {
    let package = format!("{verdict}-{at:02}");
    let channel = if verdict == "switches" {
        "4.16"
    } else {
        "stable"
    };
    let csv = format!("{package}.v1.0.0");
    let labels = json!({ "verdict": verdict });
    if at % 4 == 3 {
        let catalog = json!({ "packageName": package, "channels": [channel] });
        return vec![json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
            "metadata": { "name": package, "labels": labels },
            "spec": { "namespace": "operators", "source": { "sourceType": "Catalog", "catalog": catalog } },
            "status": { "install": { "bundle": { "name": csv, "version": "1.0.0" } } },
        })];
    }
    let max = match verdict {
        "follows" | "blocked" => "4.16",
        _ => "4.17",
    };
    let properties = json!({ "properties": [{ "type": "olm.maxOpenShiftVersion", "value": max }] });
    let service_version = |namespace: &str, labels: Value, status: Value| {
        json!({
            "apiVersion": V0, "kind": "ClusterServiceVersion",
            "metadata": {
                "name": csv, "namespace": namespace, "labels": labels,
                "annotations": { "operatorframework.io/properties": properties.to_string() },
            },
            "spec": { "version": "1.0.0" }, "status": status,
        })
    };
    vec![
        json!({
            "apiVersion": V0, "kind": "Subscription",
            "metadata": { "name": package, "namespace": "operators", "labels": labels },
            "spec": { "name": package, "channel": channel, "source": "index" },
            "status": { "installedCSV": csv, "currentCSV": csv },
        }),
        service_version("operators", labels.clone(), json!({ "phase": "Succeeded" })),
        service_version(
            "watched",
            json!({ "verdict": verdict, "olm.copiedFrom": "operators" }),
            json!({ "reason": "Copied" }),
        ),
    ]
}

/// Returns the `ClusterRole` of a page without some resources, under another name.
fn cluster_role(page: &str, name: &str, left_out: &[&str]) -> Value {
    let block = page
        .split("```yaml\n")
        .filter_map(|block| block.split_once("```"))
        .map(|(block, _)| block)
        .find(|block| block.contains("kind: ClusterRole\n"));
    let mut role: Value = serde_saphyr::from_str(block.expect("the page has the ClusterRole"))
        .expect("the role is YAML");
    role["metadata"]["name"] = json!(name);
    for rule in role["rules"].as_array_mut().expect("a role has rules") {
        let resources = rule["resources"]
            .as_array_mut()
            .expect("a rule has resources");
        resources.retain(|resource| left_out.iter().all(|left_out| resource != left_out));
    }
    let rules = role["rules"].as_array_mut().expect("a role has rules");
    rules.retain(|rule| rule["resources"] != json!([]));
    role
}

/// Creates a service account with the role of a page without some resources, and returns the kubeconfig
/// of it.
pub(crate) fn account(plane: &ControlPlane, page: &str, name: &str, left_out: &[&str]) -> PathBuf {
    plane.kubectl(&["create", "serviceaccount", name, "--namespace=default"]);
    plane.apply(&[
        cluster_role(page, name, left_out),
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": { "name": name },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": "default" }],
        }),
    ]);
    plane.service_account_kubeconfig("default", name, plane.address)
}

/// Number of requests of a service account for each kind, subresources and pages included.
pub(crate) fn requests_of(plane: &ControlPlane, name: &str) -> BTreeMap<String, usize> {
    let user = format!("system:serviceaccount:default:{name}");
    let mut counts = BTreeMap::new();
    for event in plane.audit_log() {
        if event["user"]["username"] == user {
            let resource = event["objectRef"]["resource"].as_str();
            let uri = || event["requestURI"].as_str().unwrap_or_default();
            *counts
                .entry(resource.map_or_else(|| uri().to_owned(), str::to_owned))
                .or_insert(0) += 1;
        }
    }
    counts
}

fn plan(server: &Server, kubeconfig: &Path, arguments: &[&str]) -> Output {
    let file = kubeconfig.to_str().expect("temporary paths are UTF-8");
    server.run(&[&["upgrade-plan", "--kubeconfig", file], arguments].concat())
}

/// Returns the verdicts of packages, each with the number of packages.
fn verdicts(output: &Output) -> BTreeMap<String, usize> {
    let plan: Value = serde_json::from_str(&output.stdout).expect("it prints JSON");
    let mut counts = BTreeMap::new();
    for package in plan["packages"].as_array().expect("a plan has packages") {
        let name = package["packageName"]
            .as_str()
            .expect("a package has a name");
        let verdict = package["verdict"].as_str().expect("it has a verdict");
        let (expected, _) = name.split_once('-').expect("it is named after its verdict");
        assert_eq!(expected.to_uppercase(), verdict, "{package}");
        *counts.entry(verdict.to_owned()).or_insert(0) += 1;
    }
    counts
}

#[test]
fn sixty_operators_of_a_cluster_get_their_verdicts_with_one_request_a_kind() {
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    let server = Server::start();
    for (name, fixture) in ["index-16", "index-17"].into_iter().zip(two_versions()) {
        server.folders.catalog(name, &fixture);
        let tag = format!("v4.{}", &name[name.len() - 2..]);
        server.serve(name, &server.folders.path(name), tagged(&tag));
    }
    let admin = plane.kubeconfig();
    plane.try_kubectl(&["create", "namespace", "default"], "");

    // A cluster that is not OpenShift has a version of Kubernetes.
    let kubernetes = plan(&server, &admin, &["--to", "1.2"]);
    let message = "error: cannot plan the upgrade: it goes backwards from 1.";
    assert!(kubernetes.stderr.starts_with(message), "{kubernetes:?}");
    assert_eq!(kubernetes.status, Some(2));
    let other = plan(&server, &admin, &["--to", "4.17"]);
    assert!(
        other.stderr.contains("and 4.17 is a version of OpenShift"),
        "{other:?}"
    );

    plane.apply(&[
        custom_resource("config.openshift.io/v1", "ClusterVersion", "Cluster"),
        custom_resource("olm.operatorframework.io/v1", "ClusterExtension", "Cluster"),
        custom_resource(V0, "Subscription", "Namespaced"),
        custom_resource(V0, "ClusterServiceVersion", "Namespaced"),
    ]);
    wait_for_definitions(&plane);
    for namespace in ["operators", "watched"] {
        plane.kubectl(&["create", "namespace", namespace]);
    }
    plane.apply(&[json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": { "name": "version" },
        "status": { "history": [
            { "state": "Partial", "version": "4.17.2" }, { "state": "Completed", "version": "4.16.23" },
            { "state": "Completed", "version": "4.15.9" },
        ] },
    })]);
    let objects = VERDICTS
        .into_iter()
        .flat_map(|verdict| (0..OPERATORS).flat_map(move |at| operator(verdict, at)));
    plane.apply(&objects.collect::<Vec<_>>());

    let planner = account(&plane, PAGE, "planner", &[]);
    let arguments = ["--to", "4.17", "-o", "json"];
    // The API server learns of roles by a watch.
    eventually(|| {
        let output = plan(&server, &planner, &arguments);
        (!output.stderr.contains("forbidden")).then_some(())
    });
    let before = requests_of(&plane, "planner");
    let all = plan(&server, &planner, &arguments);
    assert_eq!((all.status, all.stderr.as_str()), (Some(2), ""));
    let expected = VERDICTS.map(|verdict| (verdict.to_uppercase(), OPERATORS));
    assert_eq!(verdicts(&all), BTreeMap::from(expected));
    let steps: Value = serde_json::from_str(&all.stdout).expect("it prints JSON");
    assert_eq!(steps["steps"][0]["platform"], "OpenShift 4.16.23");
    assert_eq!(steps["steps"][1]["catalogs"], json!(["index-17"]));
    let kinds = [
        "clusterextensions",
        "clusterserviceversions",
        "clusterversions",
        "subscriptions",
    ];
    let counts = eventually(|| {
        let after = requests_of(&plane, "planner");
        let counts = kinds.map(|kind| (kind, after[kind] - before[kind]));
        counts.iter().all(|(_, count)| *count > 0).then_some(counts)
    });
    assert_eq!(counts, kinds.map(|kind| (kind, 1)));

    // The verdicts that remain have their exit status.
    for (removed, status) in [("unknown", 1), ("blocked", 1)] {
        remove(&plane, removed);
        let output = plan(&server, &planner, &arguments);
        assert_eq!(output.status, Some(status), "without {removed}: {output:?}");
        assert!(!verdicts(&output).contains_key(&removed.to_uppercase()));
    }

    let output = plan(&server, &planner, &arguments);
    let moves = carry_out(&plane, &server, &output);
    let expected = ["SWITCH", "UPGRADE"].map(|kind| (kind.to_owned(), OPERATORS));
    assert_eq!(moves, BTreeMap::from(expected));
    let done = plan(
        &server,
        &planner,
        &["--from", "4.16", "--to", "4.17", "-o", "json"],
    );
    assert_eq!(done.status, Some(0), "{done:?}");
    let done: Value = serde_json::from_str(&done.stdout).expect("it prints JSON");
    assert_eq!(
        done["order"],
        json!([{ "move": null, "package": null, "platformStep": 1 }])
    );

    for removed in ["switches", "follows"] {
        remove(&plane, removed);
    }
    forbidden_kinds_are_named(&plane, &server);
}

/// Deletes the operators of a verdict.
fn remove(plane: &ControlPlane, verdict: &str) {
    let selector = format!("--selector=verdict={verdict}");
    let kinds = "subscriptions,clusterserviceversions,clusterextensions";
    plane.kubectl(&["delete", kinds, "--all-namespaces", &selector]);
}

/// Carries out a plan on the cluster, move by move as it is printed, and returns the number of the
/// moves of each kind. Each upgrade must be what `resolve` (OLM v1) or `solve` (OLM v0) chooses at that moment for
/// what the cluster has installed.
fn carry_out(plane: &ControlPlane, server: &Server, printed: &Output) -> BTreeMap<String, usize> {
    let plan: Value = serde_json::from_str(&printed.stdout).expect("it prints JSON");
    let mut moves = BTreeMap::new();
    for item in plan["order"].as_array().expect("a plan has an order") {
        let Some(package) = item["package"].as_u64() else {
            continue;
        };
        let package = usize::try_from(package).expect("it is an index");
        let package = plan["packages"][package]["packageName"]
            .as_str()
            .expect("a package has a name");
        let is_v1 = !plane.get(&["clusterextension", package]).is_null();
        let channel = item["move"]["channel"].as_str().expect("it has a channel");
        let kind = item["move"]["kind"].as_str().expect("it has a kind");
        *moves.entry(kind.to_owned()).or_insert(0) += 1;
        if kind == "SWITCH" {
            switch(plane, package, channel, is_v1);
            continue;
        }

        let target = &item["move"]["to"];
        let installed = installed_bundle(plane, package, is_v1);
        assert_eq!(item["move"]["fromName"], installed, "{package}");
        let catalog = target["catalog"]["name"]
            .as_str()
            .expect("it has a catalog");
        let installed = format!("{installed}@1.0.0");
        let chosen = if is_v1 {
            let name = format!("{catalog}/{package}");
            let question = ["resolve", &name, "--installed", &installed];
            let answer =
                server.run(&[&question[..], &["--channel", channel, "-o", "json"]].concat());
            let answer: Value = serde_json::from_str(&answer.stdout).expect("it prints JSON");
            answer["bundle"]["name"].clone()
        } else {
            let wanted = format!("{catalog}/{package}:{channel}");
            let arguments = ["solve", &wanted, "--installed", &installed, "-o", "json"];
            let answer = server.run(&arguments);
            let answer: Value = serde_json::from_str(&answer.stdout).expect("it prints JSON");
            assert_eq!(
                answer["steps"].as_array().map(Vec::len),
                Some(1),
                "{answer}"
            );
            answer["steps"][0]["bundle"]["name"].clone()
        };
        assert_eq!(chosen, target["name"], "{package}");
        upgrade(
            plane,
            package,
            chosen.as_str().expect("it has a name"),
            is_v1,
        );
    }
    moves
}

/// Sets the channel of a package, as an administrator does.
fn switch(plane: &ControlPlane, package: &str, channel: &str, is_v1: bool) {
    let patch = if is_v1 {
        json!({ "spec": { "source": { "catalog": { "channels": [channel] } } } })
    } else {
        json!({ "spec": { "channel": channel } })
    };
    patch_operator(plane, package, &patch, is_v1);
}

/// Returns the bundle that the cluster has of a package.
fn installed_bundle(plane: &ControlPlane, package: &str, is_v1: bool) -> String {
    let (kind, path) = if is_v1 {
        ("clusterextension", "/status/install/bundle/name")
    } else {
        ("subscription", "/status/installedCSV")
    };
    let object = plane.get(&[kind, package, "--namespace=operators"]);
    let name = object.pointer(path).and_then(Value::as_str);
    name.expect("it is installed").to_owned()
}

/// Replaces the bundle of a package, as OLM does.
fn upgrade(plane: &ControlPlane, package: &str, bundle: &str, is_v1: bool) {
    if is_v1 {
        let bundle = json!({ "name": bundle, "version": "1.1.0" });
        let patch = json!({ "status": { "install": { "bundle": bundle } } });
        return patch_operator(plane, package, &patch, is_v1);
    }
    let patch = json!({ "status": { "installedCSV": bundle, "currentCSV": bundle } });
    patch_operator(plane, package, &patch, is_v1);
    let object = plane.get(&["subscription", package, "--namespace=operators"]);
    let former = format!("{package}.v1.0.0");
    plane.kubectl(&[
        "delete",
        "clusterserviceversion",
        &former,
        "--namespace=operators",
    ]);
    let properties =
        json!({ "properties": [{ "type": "olm.maxOpenShiftVersion", "value": "4.17" }] });
    plane.apply(&[json!({
        "apiVersion": V0, "kind": "ClusterServiceVersion",
        "metadata": {
            "name": bundle, "namespace": "operators", "labels": object["metadata"]["labels"],
            "annotations": { "operatorframework.io/properties": properties.to_string() },
        },
        "spec": { "version": "1.1.0", "replaces": former }, "status": { "phase": "Succeeded" },
    })]);
}

fn patch_operator(plane: &ControlPlane, package: &str, patch: &Value, is_v1: bool) {
    let kind = if is_v1 {
        "clusterextension"
    } else {
        "subscription"
    };
    let patch = patch.to_string();
    plane.kubectl(&[
        "patch",
        kind,
        package,
        "--namespace=operators",
        "--type=merge",
        "--patch",
        &patch,
    ]);
}

/// Asserts that kinds that may not be read are said, and that nothing is made up for them.
fn forbidden_kinds_are_named(plane: &ControlPlane, server: &Server) {
    let arguments = ["--to", "4.17", "-o", "json"];
    let forbidden = |account: &str, resource: &str, group: &str, verb: &str| {
        format!(
            "{resource}.{group} is forbidden: User \"system:serviceaccount:default:{account}\" cannot {verb} \
             resource \"{resource}\" in API group \"{group}\" at the cluster scope\n"
        )
    };
    let kubeconfig = account(plane, PAGE, "half", &["subscriptions"]);
    let message = forbidden("half", "subscriptions", "operators.coreos.com", "list");
    let expected = format!("cannot list Subscriptions, which are left out: {message}");
    let output = eventually(|| {
        let output = plan(server, &kubeconfig, &arguments);
        (output.stderr == expected).then_some(output)
    });
    assert_eq!(output.status, Some(2), "{output:?}");
    let extensions = BTreeMap::from([("STAYS".to_owned(), OPERATORS / 4)]);
    assert_eq!(verdicts(&output), extensions);

    let kubeconfig = account(plane, PAGE, "versionless", &["clusterversions"]);
    let refused = eventually(|| {
        let output = plan(server, &kubeconfig, &arguments);
        output
            .stderr
            .contains("cannot get resource \"clusterversions\"")
            .then_some(output)
    });
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(
        refused
            .stderr
            .ends_with("\nhint: --from VERSION names the present version\n"),
        "{refused:?}"
    );
    let output = eventually(|| {
        let output = plan(
            server,
            &kubeconfig,
            &[&arguments[..], &["--from", "4.16"]].concat(),
        );
        (output.status == Some(0)).then_some(output)
    });
    assert_eq!(
        verdicts(&output),
        BTreeMap::from([("STAYS".to_owned(), OPERATORS)])
    );

    let kubeconfig = account(
        plane,
        PAGE,
        "nothing",
        &["subscriptions", "clusterextensions", "clusterversions"],
    );
    let refused = plan(
        server,
        &kubeconfig,
        &[&arguments[..], &["--from", "4.16"]].concat(),
    );
    assert_eq!(refused.status, Some(2));
    assert!(
        refused
            .stderr
            .ends_with("error: cannot plan the upgrade: nothing that is installed can be read\n"),
        "{refused:?}"
    );
}

/// An API server that has many objects of each kind, and counts what it is asked for.
#[derive(Clone)]
pub(crate) struct MadeCluster {
    extensions: usize,
    /// Paths with queries.
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
}

impl MadeCluster {
    /// Starts it for the length of the test; returns its kubeconfig.
    pub(crate) fn start(
        extensions: usize,
        folders: &Folders,
    ) -> (Self, tokio::runtime::Runtime, PathBuf) {
        let cluster = Self {
            extensions,
            requests: Arc::default(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime starts");
        let routes = axum::Router::new()
            .fallback(answer)
            .with_state(cluster.clone());
        let listener = runtime
            .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
            .expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        runtime.spawn(async move { axum::serve(listener, routes).await });
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "made",
            "clusters": [{ "name": "made", "cluster": { "server": format!("http://{address}") } }],
            "users": [{ "name": "made", "user": {} }],
            "contexts": [{ "name": "made", "context": { "cluster": "made", "user": "made" } }],
        });
        folders.write("made.kubeconfig", kubeconfig.to_string());
        (cluster, runtime, folders.path("made.kubeconfig"))
    }
}

async fn answer(State(cluster): State<MadeCluster>, request: Request) -> Response {
    let uri = request.uri().clone();
    let mut requests = cluster.requests.lock().expect("no test panics with it");
    requests.push(uri.to_string());
    let query: BTreeMap<String, String> =
        form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes())
            .into_owned()
            .collect();
    match uri.path() {
        "/version" => found(&json!({ "gitVersion": "v1.29.4+k3s1" })),
        "/apis/olm.operatorframework.io/v1/clusterextensions" => {
            let begin: usize = query.get("continue").map_or(0, |text| {
                text.parse().expect("it is the token of the page before")
            });
            let limit: usize = query["limit"].parse().expect("it is a number");
            let end = (begin + limit).min(cluster.extensions);
            let items: Vec<_> = (begin..end)
                .map(|at| {
                    json!({
                        "metadata": { "name": format!("e{at}") },
                        "spec": { "namespace": "n", "source": { "catalog": { "packageName": "quillstore" } } },
                        "status": { "install": { "bundle": { "name": "quillstore.v1.0.0", "version": "1.0.0" } } },
                    })
                })
                .collect();
            let next = if end < cluster.extensions {
                end.to_string()
            } else {
                String::new()
            };
            found(&json!({ "metadata": { "continue": next }, "items": items }))
        }
        "/apis/operators.coreos.com/v1alpha1/subscriptions" => found(&json!({ "items": [] })),
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn found(object: &Value) -> Response {
    Response::new(Body::from(object.to_string()))
}

#[test]
fn more_objects_than_a_plan_takes_are_refused_by_name_after_three_requests() {
    let server = crate::support::example();
    let planned = |extensions: usize, arguments: &[&str]| {
        let (cluster, _runtime, kubeconfig) = MadeCluster::start(extensions, &server.folders);
        let output = plan(&server, &kubeconfig, arguments);
        let requests = cluster.requests.lock().expect("no test panics with it");
        let mut of_extensions = requests.clone();
        of_extensions.retain(|request| request.contains("clusterextensions"));
        (output.status, output.stderr, of_extensions.len())
    };
    assert_eq!(planned(500, &["--to", "1.30"]), (Some(0), String::new(), 1));
    let too_many = "error: cannot plan the upgrade: the server refused the request: `installed` has 501 items; at most \
                    500 are allowed (BAD_USER_INPUT)\n";
    assert_eq!(
        planned(501, &["--to", "1.30"]),
        (Some(2), too_many.to_owned(), 2)
    );
    let unread = "error: cannot read what is installed: the cluster has more than 1500 ClusterExtension objects\n";
    assert_eq!(
        planned(1_501, &["--to", "1.30"]),
        (Some(2), unread.to_owned(), 3)
    );
    let far = "error: cannot plan the upgrade: more than 10 versions are on the way from 1.29.4 to 1.39: plan it in \
               parts, with --from\n";
    assert_eq!(planned(1, &["--to", "1.39"]), (Some(2), far.to_owned(), 0));
}

#[test]
fn the_plan_of_the_page_is_what_is_printed() {
    let server = Server::start();
    for minor in 16..19 {
        let name = format!("redhat-v4.{minor}");
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../../examples/platform/4.{minor}"));
        server.serve(&name, &folder, tagged(&format!("v4.{minor}")));
    }
    let installed = [
        subscribed("inkwell", "2.0.0", "stable"),
        subscribed("quillstore", "1.0.0", "stable"),
        subscribed("papermill", "4.16.1", "4.16"),
    ];
    let input = json!({ "items": installed.concat() });
    server.folders.write("objects.json", input.to_string());
    let file = server.folders.path("objects.json");
    let file = file.to_str().expect("temporary paths are UTF-8");
    let output = server.run(&["upgrade-plan", "--from", "4.16", "--to", "4.18", "-f", file]);
    assert_eq!((output.status, output.stderr.as_str()), (Some(1), ""));
    let shown = format!(
        "$ kubectl catalog upgrade-plan --to 4.18\n{}```\n",
        output.stdout
    );
    assert!(PAGE.contains(&shown), "{shown}");
    let unserved = server.run(&["upgrade-plan", "--from", "4.16", "--to", "4.19", "-f", file]);
    let expected = "error: cannot plan the upgrade: no catalog that is served has the image registry.example.com/index:v4.19\n\
                    hint: --catalogs VERSION=NAME names the catalogs of a version; `kubectl catalog get catalogs` lists \
                    those that are served\n";
    assert_eq!(
        (unserved.status, unserved.stderr.as_str()),
        (Some(2), expected)
    );
    let named = ["--catalogs", "4.19=redhat-v4.19"];
    let unserved = ["upgrade-plan", "--from", "4.16", "--to", "4.19", "-f", file];
    let unknown = server.run(&[&unserved[..], &named].concat());
    assert_eq!(unknown.status, Some(2));
    assert!(
        unknown
            .stdout
            .contains("catalog `redhat-v4.19` of OpenShift 4.19 is not served"),
        "{unknown:?}"
    );
}

/// Returns the objects of a package that is installed in a version in the namespace `stationery`.
fn subscribed(package: &str, version: &str, channel: &str) -> [Value; 2] {
    let csv = format!("{package}.v{version}");
    [
        json!({
            "kind": "Subscription", "metadata": { "name": package, "namespace": "stationery" },
            "spec": { "name": package, "channel": channel, "source": "redhat-operators" },
            "status": { "installedCSV": csv },
        }),
        json!({
            "kind": "ClusterServiceVersion", "metadata": { "name": csv, "namespace": "stationery" },
            "spec": { "version": version },
        }),
    ]
}
