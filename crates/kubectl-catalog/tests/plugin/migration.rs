//! Moves to OLM v1: on a real API server with OLM's definitions each check both ways, without some
//! rights, with many operators, and the manifests; on files what the page shows.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use serving::CatalogMetadata;
use testing::{ControlPlane, eventually};

use crate::support::{Output, Server, custom_resource, wait_for_definitions};
use crate::upgrade_plan::{MadeCluster, account, requests_of};

/// Page with the command and the rights that it needs.
const PAGE: &str = include_str!("../../../../docs/how-to/move-to-olm-v1.md");

/// Definitions of OLM's kinds, one a line.
const DEFINITIONS: &str = include_str!("../testdata/olm/definitions.jsonl");

/// Definition of `ClusterExtension` with the configuration of bundles.
const EXPERIMENTAL: &str = include_str!("../testdata/olm/cluster-extension-experimental.json");

/// Definition of `ClusterExtension` without it.
const STANDARD: &str = include_str!("../testdata/olm/cluster-extension-standard.json");

/// Group and version of OLM v0.
const V0: &str = "operators.coreos.com/v1alpha1";

/// Group and version of OLM v1.
const V1: &str = "olm.operatorframework.io/v1";

/// Image of the catalog, in OLM v0 and in OLM v1.
const IMAGE: &str = "registry.example.com/index:v1";

/// Time of conditions, which definitions want.
const TIME: &str = "2026-11-27T00:00:00Z";

/// Number of operators that are judged in one go.
const MANY: usize = 500;

/// Resources that the command lists.
const RESOURCES: [&str; 8] = [
    "catalogsources",
    "clustercatalogs",
    "clusterextensions",
    "clusterserviceversions",
    "installplans",
    "operatorconditions",
    "operatorgroups",
    "subscriptions",
];

/// Objects of an operator in a namespace of its own.
struct MadeOperator {
    subscription: Value,
    csv: Value,
    group: Value,
    others: Vec<Value>,
}

/// A row: the name of the operator, what is expected of it, and what sets it apart.
struct CheckRow {
    name: &'static str,
    /// `STATUS` with the checks that did not pass: `CODE!` if it failed for good, `CODE+` if an
    /// acknowledgement overrides it.
    expected: &'static str,
    change: fn(&mut MadeOperator),
}

impl MadeOperator {
    /// Returns an operator that can be moved. Its package, namespace and Subscription have one name.
    fn new(name: &str) -> Self {
        let csv = format!("{name}.v1.0.0");
        let properties = json!([{ "type": "olm.package", "value": { "packageName": name, "version": "1.0.0" } }]);
        Self {
            subscription: json!({
                "apiVersion": V0, "kind": "Subscription",
                "metadata": { "name": name, "namespace": name },
                "spec": { "name": name, "channel": "stable", "source": "index", "sourceNamespace": "olm" },
                "status": { "installedCSV": csv, "currentCSV": csv, "state": "AtLatestKnown", "lastUpdated": TIME },
            }),
            csv: json!({
                "apiVersion": V0, "kind": "ClusterServiceVersion",
                "metadata": {
                    "name": csv, "namespace": name,
                    "annotations": { "operatorframework.io/properties": properties.to_string() },
                },
                "spec": {
                    "displayName": name, "version": "1.0.0",
                    "installModes": [{ "type": "AllNamespaces", "supported": true }],
                    "install": { "strategy": "deployment", "spec": { "deployments": [] } },
                },
                "status": { "phase": "Succeeded", "reason": "InstallSucceeded" },
            }),
            group: json!({
                "apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup",
                "metadata": { "name": "group", "namespace": name }, "spec": {},
                "status": { "namespaces": [""], "lastUpdated": TIME },
            }),
            others: Vec::new(),
        }
    }

    fn name(&self) -> String {
        let name = self.subscription["metadata"]["name"].as_str();
        name.expect("it has a name").to_owned()
    }

    fn objects(self) -> Vec<Value> {
        let own = [self.group, self.csv, self.subscription];
        let own = own.into_iter().filter(|object| !object.is_null());
        own.chain(self.others).collect()
    }

    /// Adds an `InstallPlan` that has unpacked the bundle from a `CatalogSource`.
    fn plan(&mut self, source: &str) {
        let name = self.name();
        let csv = format!("{name}.v1.0.0");
        let lookup = json!({
            "identifier": csv, "path": "registry.example.com/bundle:1", "replaces": "",
            "catalogSourceRef": { "namespace": "olm", "name": source },
        });
        self.others.push(json!({
            "apiVersion": V0, "kind": "InstallPlan",
            "metadata": { "name": "plan", "namespace": name },
            "spec": { "approval": "Automatic", "approved": true, "clusterServiceVersionNames": [csv] },
            "status": { "phase": "Complete", "catalogSources": [source], "bundleLookups": [lookup] },
        }));
        self.subscription["status"]["installPlanRef"] =
            json!({ "namespace": name, "name": "plan" });
    }

    /// Grants rights on resources of API groups.
    fn grant(&mut self, groups: &[&str], resources: &[&str]) {
        let rule = json!({ "apiGroups": groups, "resources": resources, "verbs": ["get"] });
        let accounts = &mut self.csv["spec"]["install"]["spec"]["clusterPermissions"];
        if accounts.is_null() {
            *accounts = json!([{ "serviceAccountName": "a", "rules": [] }]);
        }
        let rules = accounts[0]["rules"].as_array_mut();
        rules.expect("it is a list").push(rule);
    }

    fn set_properties(&mut self, properties: &str) {
        self.csv["metadata"]["annotations"] =
            json!({ "operatorframework.io/properties": properties });
    }
}

/// The rows of the checks, each with operators that fail and, where the border is not plain, one that
/// passes; the operator `healthy` passes all.
const ROWS: [CheckRow; 31] = [
    CheckRow {
        name: "healthy",
        expected: "ELIGIBLE",
        change: |_| {},
    },
    CheckRow {
        name: "c1-targets",
        expected: "INELIGIBLE C1+",
        change: |operator| operator.group["spec"]["targetNamespaces"] = json!(["olm", "default"]),
    },
    CheckRow {
        name: "c1-selector",
        expected: "INELIGIBLE C1+",
        change: |operator| {
            operator.group["spec"]["selector"] = json!({ "matchLabels": { "a": "b" } });
        },
    },
    CheckRow {
        name: "c1-empty-selector",
        expected: "ELIGIBLE",
        change: |operator| operator.group["spec"]["selector"] = json!({}),
    },
    CheckRow {
        name: "c1-status",
        expected: "INELIGIBLE C1+",
        change: |operator| operator.group["status"]["namespaces"] = json!(["olm"]),
    },
    CheckRow {
        name: "c1-none",
        expected: "INELIGIBLE C1!",
        change: |operator| operator.group = Value::Null,
    },
    CheckRow {
        name: "c1a",
        expected: "INELIGIBLE C1a!",
        change: |operator| {
            operator.csv["spec"]["installModes"] =
                json!([{ "type": "OwnNamespace", "supported": true }]);
        },
    },
    CheckRow {
        name: "c1-c1a-own",
        expected: "INELIGIBLE C1+ C1a!",
        change: |operator| {
            operator.csv["spec"]["installModes"] =
                json!([{ "type": "OwnNamespace", "supported": true }]);
            operator.group["spec"]["targetNamespaces"] = json!(["c1-c1a-own"]);
        },
    },
    CheckRow {
        name: "c2-package",
        expected: "INELIGIBLE C2!",
        change: |operator| {
            operator.set_properties(r#"[{"type":"olm.package.required","value":{"packageName":"a","versionRange":">=1"}}]"#);
        },
    },
    CheckRow {
        name: "c2-api",
        expected: "INELIGIBLE C2!",
        change: |operator| {
            operator.set_properties(r#"{"properties":[{"type":"olm.gvk.required","value":{"group":"a","version":"v1","kind":"A"}}]}"#);
        },
    },
    CheckRow {
        name: "c2-malformed",
        expected: "INELIGIBLE C2!",
        change: |operator| operator.set_properties("no JSON"),
    },
    CheckRow {
        name: "c2-none",
        expected: "ELIGIBLE",
        change: |operator| operator.csv["metadata"]["annotations"] = json!({}),
    },
    CheckRow {
        name: "c3",
        expected: "INELIGIBLE C3!",
        change: |operator| {
            let owned =
                json!([{ "name": "v1.a.io", "group": "a.io", "version": "v1", "kind": "A" }]);
            operator.csv["spec"]["apiservicedefinitions"] = json!({ "owned": owned });
        },
    },
    CheckRow {
        name: "c3-required",
        expected: "ELIGIBLE",
        change: |operator| {
            let required =
                json!([{ "name": "v1.a.io", "group": "a.io", "version": "v1", "kind": "A" }]);
            operator.csv["spec"]["apiservicedefinitions"] = json!({ "required": required });
        },
    },
    CheckRow {
        name: "c4",
        expected: "INELIGIBLE C4+",
        change: |operator| {
            let condition = json!({
                "type": "Upgradeable", "status": "True", "reason": "a", "message": "b", "lastTransitionTime": TIME,
            });
            operator.others.push(json!({
                "apiVersion": "operators.coreos.com/v2", "kind": "OperatorCondition",
                "metadata": { "name": "c4.v1.0.0", "namespace": "c4" }, "spec": {},
                "status": { "conditions": [condition] },
            }));
        },
    },
    CheckRow {
        name: "c4-unused",
        expected: "ELIGIBLE",
        change: |operator| {
            operator.others.push(json!({
                "apiVersion": "operators.coreos.com/v2", "kind": "OperatorCondition",
                "metadata": { "name": "c4-unused.v1.0.0", "namespace": "c4-unused" }, "spec": {},
            }));
        },
    },
    CheckRow {
        name: "c5",
        expected: "INELIGIBLE C5+",
        change: |operator| operator.grant(&["operators.coreos.com"], &["subscriptions"]),
    },
    CheckRow {
        name: "c5-conditions",
        expected: "ELIGIBLE",
        change: |operator| operator.grant(&["operators.coreos.com"], &["operatorconditions"]),
    },
    CheckRow {
        name: "c5-both",
        expected: "ELIGIBLE",
        change: |operator| {
            operator.grant(&["operators.coreos.com"], &["*"]);
            operator.grant(&["olm.operatorframework.io"], &["clusterextensions"]);
        },
    },
    CheckRow {
        name: "c6",
        expected: "INELIGIBLE C6+",
        change: |operator| operator.group["spec"]["serviceAccountName"] = json!("scoped"),
    },
    CheckRow {
        name: "c7-version",
        expected: "INELIGIBLE C7!",
        change: |operator| {
            operator.set_properties("");
            operator.csv["spec"]["version"] = json!("1.0.5");
        },
    },
    CheckRow {
        name: "c7-channel",
        expected: "INELIGIBLE C7!",
        change: |operator| operator.subscription["spec"]["channel"] = json!("gone"),
    },
    CheckRow {
        name: "c7-any-channel",
        expected: "ELIGIBLE",
        change: |operator| operator.subscription["spec"]["channel"] = json!(""),
    },
    CheckRow {
        name: "c8-state",
        expected: "INELIGIBLE C8+",
        change: |operator| operator.subscription["status"]["state"] = json!("UpgradeFailed"),
    },
    CheckRow {
        name: "c8-phase",
        expected: "INELIGIBLE C8+",
        change: |operator| operator.csv["status"]["phase"] = json!("Failed"),
    },
    CheckRow {
        name: "c8-pending",
        expected: "ELIGIBLE",
        change: |operator| {
            operator.subscription["status"]["state"] = json!("UpgradePending");
            operator.subscription["spec"]["installPlanApproval"] = json!("Manual");
            operator.subscription["spec"]["config"] = json!({ "env": [{ "name": "A", "value": "b" }], "selector": { "matchLabels": { "a": "b" } } });
        },
    },
    CheckRow {
        name: "c9",
        expected: "INELIGIBLE C9!",
        change: |operator| {
            operator.subscription["metadata"]["annotations"] =
                json!({ "olm.generated-by": "install-a" });
        },
    },
    CheckRow {
        name: "c10-gone",
        expected: "INELIGIBLE C10!",
        change: |operator| operator.subscription["spec"]["source"] = json!("gone"),
    },
    CheckRow {
        name: "c10-address",
        expected: "INELIGIBLE C10!",
        change: |operator| operator.subscription["spec"]["source"] = json!("address"),
    },
    CheckRow {
        name: "c10-plan",
        expected: "INELIGIBLE C10!",
        change: |operator| operator.plan("address"),
    },
    CheckRow {
        name: "c10-plan-of-image",
        expected: "ELIGIBLE",
        change: |operator| operator.plan("index"),
    },
];

/// Returns the catalogs of the cluster: one that both OLMs have, one of OLM v0 alone, and one without
/// an image.
fn catalogs() -> Vec<Value> {
    let serving = json!([{
        "type": "Serving", "status": "True", "reason": "Available", "message": "", "lastTransitionTime": TIME,
    }]);
    let source = |name: &str, spec: Value| {
        json!({
            "apiVersion": V0, "kind": "CatalogSource",
            "metadata": { "name": name, "namespace": "olm" }, "spec": spec,
        })
    };
    vec![
        json!({
            "apiVersion": V1, "kind": "ClusterCatalog", "metadata": { "name": "index" },
            "spec": { "source": { "type": "Image", "image": { "ref": IMAGE } } },
            "status": { "conditions": serving },
        }),
        source("index", json!({ "sourceType": "grpc", "image": IMAGE })),
        source(
            "extra",
            json!({
                "sourceType": "grpc", "image": "registry.example.com/extra:v1", "priority": -5, "displayName": "Extra",
                "updateStrategy": { "registryPoll": { "interval": "10m" } },
            }),
        ),
        source(
            "address",
            json!({ "sourceType": "grpc", "address": "a.example.com:50051" }),
        ),
    ]
}

/// Returns the catalog with these packages.
fn fixture<'a>(packages: impl Iterator<Item = &'a str>) -> String {
    let packages = packages.map(|name| {
        format!(
            "package {name} default=stable\nchannel stable: v1.0.0 <- v1.1.0\nbundle v1.0.0 modes=AllNamespaces\n\
             bundle v1.1.0 modes=AllNamespaces\n"
        )
    });
    packages.collect()
}

fn serve(server: &Server, fixture: &str) {
    server.folders.catalog("index", fixture);
    let metadata = CatalogMetadata {
        image_reference: Some(IMAGE.to_owned()),
        ..CatalogMetadata::default()
    };
    server.serve("index", &server.folders.path("index"), metadata);
}

/// Creates objects with their status, which OLM's kinds have as a subresource.
fn apply(plane: &ControlPlane, objects: &[Value]) {
    plane.apply(objects);
    let with_status = objects
        .iter()
        .filter(|object| object.get("status").is_some());
    let list =
        json!({ "apiVersion": "v1", "kind": "List", "items": with_status.collect::<Vec<_>>() });
    let arguments = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--subresource=status",
        "-f",
        "-",
    ];
    let output = plane.try_kubectl(&arguments, &list.to_string());
    assert!(output.success, "{}", output.stderr);
}

fn define(plane: &ControlPlane, definitions: &[&str]) {
    let lines = definitions.iter().flat_map(|file| file.lines());
    let definitions: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).expect("a definition is JSON"))
        .collect();
    plane.apply(&definitions);
    wait_for_definitions(plane);
}

fn run(server: &Server, kubeconfig: &Path, arguments: &[&str]) -> Output {
    let file = kubeconfig.to_str().expect("temporary paths are UTF-8");
    server.run(&[&["migration", "--kubeconfig", file], arguments].concat())
}

/// Returns the status of each operator by its name, as rows expect it.
fn statuses(output: &Output) -> BTreeMap<String, String> {
    let report: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| {
        panic!("it prints JSON: {error}: {output:?}");
    });
    let operators = report["operators"].as_array().expect("it is a list");
    let status = |operator: &Value| {
        let status = operator["status"].as_str().unwrap_or_default();
        let checks = operator["checks"].as_array().expect("it is a list");
        let open = checks.iter().filter_map(|check| {
            let mark = match (check["result"].as_str(), &check["acknowledgement"]) {
                (Some("PASSED"), _) => return None,
                (Some("UNKNOWN"), _) => "?",
                (_, Value::Null) => "!",
                (_, _) => "+",
            };
            let code = check["code"].as_str().expect("it has a code");
            Some(format!("{code}{mark}"))
        });
        let words: Vec<_> = [status.to_owned()].into_iter().chain(open).collect();
        words.join(" ")
    };
    let operators = operators.iter().map(|operator| {
        let name = operator["name"].as_str().expect("it has a name");
        (name.to_owned(), status(operator))
    });
    operators.collect()
}

#[test]
fn each_check_is_decided_both_ways_on_a_real_api_server_and_the_manifests_are_accepted() {
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    let server = Server::start();
    serve(
        &server,
        &fixture(ROWS.iter().map(|row| row.name).chain(["moved"])),
    );
    let admin = plane.kubeconfig();
    for namespace in ["default", "olm"] {
        plane.try_kubectl(&["create", "namespace", namespace], "");
    }

    // Without OLM, nothing can be said.
    let nothing = run(&server, &admin, &[]);
    let message = "error: cannot judge the move to OLM v1: Subscriptions could not be read: the cluster has no such kind\n";
    assert_eq!(
        (nothing.status, nothing.stderr.as_str()),
        (Some(2), message)
    );

    define(&plane, &[DEFINITIONS, EXPERIMENTAL]);
    let mut objects = catalogs();
    let namespaces = ROWS.iter().map(
        |row| json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": row.name } }),
    );
    plane.apply(&namespaces.collect::<Vec<_>>());
    for row in &ROWS {
        let mut operator = MadeOperator::new(row.name);
        (row.change)(&mut operator);
        objects.extend(operator.objects());
    }
    apply(&plane, &objects);

    let judged = run(&server, &admin, &["-o", "json"]);
    assert_eq!((judged.status, judged.stderr.as_str()), (Some(1), ""));
    let expected = ROWS.iter();
    let expected = expected.map(|row| (row.name.to_owned(), row.expected.to_owned()));
    assert_eq!(statuses(&judged), expected.collect());

    manifests_are_accepted(&plane, &server);
    extensions_are_conflicts(&plane, &server);
    let only = run(
        &server,
        &admin,
        &["--subscription", "healthy", "-o", "json"],
    );
    assert_eq!(only.status, Some(0), "{only:?}");
    let unknown = run(&server, &admin, &["--subscription", "none/healthy"]);
    assert_eq!(
        (unknown.status, unknown.stderr.as_str()),
        (
            Some(4),
            "error: the cluster has no Subscription `none/healthy`\nhint: write its name, or NAMESPACE/NAME\n"
        )
    );
    forbidden_kinds_are_unknown(&plane, &server);
}

/// Asserts that the API server accepts the manifests, those with a configuration by the experimental
/// definition alone.
fn manifests_are_accepted(plane: &ControlPlane, server: &Server) {
    let admin = plane.kubeconfig();
    let printed = run(server, &admin, &["--manifests"]);
    assert_eq!((printed.status, printed.stderr.as_str()), (Some(1), ""));
    let dry_run = |manifests: &str| {
        let arguments = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
        plane.try_kubectl(&arguments, manifests)
    };
    let accepted = dry_run(&printed.stdout);
    assert!(accepted.success, "{}\n{}", accepted.stderr, printed.stdout);
    let mut names: Vec<_> = accepted.stdout.lines().collect();
    names.sort_unstable();
    let extensions = ROWS.iter().filter(|row| {
        // One that supports its own namespace alone keeps it, with a feature gate.
        !row.expected.contains('!') || row.name == "c1-c1a-own"
    });
    let mut expected: Vec<_> = extensions
        .map(|row| {
            let kind = "clusterextension.olm.operatorframework.io";
            format!("{kind}/{} serverside-applied (server dry run)", row.name)
        })
        .collect();
    expected.push(
        "clustercatalog.olm.operatorframework.io/extra serverside-applied (server dry run)"
            .to_owned(),
    );
    expected.sort_unstable();
    assert_eq!(names, expected);

    define(plane, &[STANDARD]);
    let only = ["--manifests", "--subscription", "healthy"];
    let plain = run(server, &admin, &only);
    eventually(|| {
        let refused = dry_run(&printed.stdout).stderr;
        refused
            .contains(".spec.config: field not declared in schema")
            .then_some(())
    });
    let plain = dry_run(&plain.stdout);
    assert!(plain.success, "{}", plain.stderr);
    define(plane, &[EXPERIMENTAL]);
    eventually(|| dry_run(&printed.stdout).success.then_some(()));
}

/// Asserts what `ClusterExtensions` of upstream's tool, and those of other people, mean.
fn extensions_are_conflicts(plane: &ControlPlane, server: &Server) {
    let extension = |name: &str, origin: &str| {
        let annotations = if origin.is_empty() {
            json!({})
        } else {
            json!({ "olm.operatorframework.io/migrated-from-subscription": origin })
        };
        let catalog = json!({ "packageName": "healthy" });
        json!({
            "apiVersion": V1, "kind": "ClusterExtension", "metadata": { "name": name, "annotations": annotations },
            "spec": { "namespace": "healthy", "source": { "sourceType": "Catalog", "catalog": catalog } },
        })
    };
    plane.apply(&[
        extension("healthy", "healthy/healthy"),
        extension("c2-none", ""),
        extension("moved", "moved/moved"),
    ]);
    let judged = run(server, &plane.kubeconfig(), &["-o", "json"]);
    let statuses = statuses(&judged);
    assert_eq!(statuses["healthy"], "CONFLICT CONFLICT!");
    assert_eq!(statuses["c2-none"], "INELIGIBLE NAME!");
    let report: Value = serde_json::from_str(&judged.stdout).expect("it prints JSON");
    assert_eq!(
        report["alreadyMigrated"],
        json!([{ "clusterExtension": "moved", "subscription": "moved/moved" }])
    );
    plane.kubectl(&["delete", "clusterextensions", "--all"]);
}

/// Asserts that kinds that may not be listed are said, and that their checks are unknown.
fn forbidden_kinds_are_unknown(plane: &ControlPlane, server: &Server) {
    for (resource, expected) in [
        ("catalogsources", "UNKNOWN C10?"),
        ("clustercatalogs", "UNKNOWN C7? OLM_V1?"),
        ("clusterextensions", "UNKNOWN CONFLICT? NAME?"),
        (
            "clusterserviceversions",
            "UNKNOWN INSTALLED? C1a? C2? C3? C4? C5? C7? C8? OLM_V1?",
        ),
        ("installplans", "ELIGIBLE"),
        ("operatorconditions", "UNKNOWN C4?"),
        ("operatorgroups", "UNKNOWN C1? C6?"),
    ] {
        let name = format!("without-{resource}");
        let kubeconfig = account(plane, PAGE, &name, &[resource]);
        // The API server learns of roles by a watch.
        let output = eventually(|| {
            let output = run(server, &kubeconfig, &["-o", "json"]);
            (output.stderr.lines().count() == 1).then_some(output)
        });
        assert_eq!(output.status, Some(2), "{output:?}");
        assert!(output.stderr.starts_with("cannot read "), "{output:?}");
        let said = format!("{resource}.");
        assert!(output.stderr.contains(&said), "{output:?}");
        assert_eq!(statuses(&output)["healthy"], expected, "{resource}");
        if resource == "installplans" {
            assert_eq!(statuses(&output)["c10-plan-of-image"], "UNKNOWN C10?");
        }
    }
    let kubeconfig = account(plane, PAGE, "without-subscriptions", &["subscriptions"]);
    let output = run(server, &kubeconfig, &[]);
    assert_eq!(output.status, Some(2));
    assert!(
        output
            .stderr
            .starts_with("error: cannot judge the move to OLM v1: Subscriptions could not be read: subscriptions."),
        "{output:?}"
    );
}

#[test]
fn five_hundred_operators_are_judged_with_at_most_three_requests_a_kind() {
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    let server = Server::start();
    let names: Vec<_> = (0..MANY).map(|at| format!("operator-{at:03}")).collect();
    serve(&server, &fixture(names.iter().map(String::as_str)));
    for namespace in ["default", "many"] {
        plane.try_kubectl(&["create", "namespace", namespace], "");
    }
    // Without subresources, an object and its status are one write.
    plane.apply(&[
        custom_resource(V1, "ClusterExtension", "Cluster"),
        custom_resource(V1, "ClusterCatalog", "Cluster"),
        custom_resource(V0, "Subscription", "Namespaced"),
        custom_resource(V0, "ClusterServiceVersion", "Namespaced"),
        custom_resource(V0, "InstallPlan", "Namespaced"),
        custom_resource(V0, "CatalogSource", "Namespaced"),
        custom_resource("operators.coreos.com/v1", "OperatorGroup", "Namespaced"),
        // Of an OLM that does not serve the second version yet.
        custom_resource("operators.coreos.com/v1", "OperatorCondition", "Namespaced"),
    ]);
    wait_for_definitions(&plane);
    let mut objects = catalogs();
    for name in &names {
        let mut operator = MadeOperator::new(name);
        operator.plan("index");
        for object in operator.objects() {
            if object["kind"] != "OperatorGroup" {
                objects.push(object);
            }
        }
    }
    objects.push(MadeOperator::new("many").group);
    for object in &mut objects {
        if !object["metadata"]["namespace"].is_null() && object["kind"] != "CatalogSource" {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            // The plans of all are in one namespace.
            if object["kind"] == "InstallPlan" {
                let csv = object["spec"]["clusterServiceVersionNames"][0].as_str();
                object["metadata"]["name"] = json!(csv.expect("it has one"));
            } else if object["kind"] == "Subscription" {
                object["status"]["installPlanRef"]["name"] = json!(format!("{name}.v1.0.0"));
                object["status"]["installPlanRef"]["namespace"] = json!("many");
            }
            object["metadata"]["namespace"] = json!("many");
        }
        if object["kind"] == "CatalogSource" {
            object["metadata"]["namespace"] = json!("olm");
        }
    }
    plane.try_kubectl(&["create", "namespace", "olm"], "");
    plane.apply(&objects);

    let kubeconfig = account(&plane, PAGE, "mover", &[]);
    eventually(|| {
        let output = run(&server, &kubeconfig, &["-o", "json"]);
        (!output.stderr.contains("forbidden")).then_some(())
    });
    let before = requests_of(&plane, "mover");
    let asked = server.statuses().len();
    let begin = std::time::Instant::now();
    let judged = run(&server, &kubeconfig, &["-o", "json"]);
    println!("{MANY} operators are judged in {:?}", begin.elapsed());
    assert_eq!((judged.status, judged.stderr.as_str()), (Some(0), ""));
    let statuses = statuses(&judged);
    assert_eq!(statuses.len(), MANY);
    assert!(
        statuses.values().all(|status| status == "ELIGIBLE"),
        "{statuses:?}"
    );
    let counts = eventually(|| {
        let after = requests_of(&plane, "mover");
        let counts = RESOURCES.map(|resource| (resource, after[resource] - before[resource]));
        counts.iter().all(|(_, count)| *count > 0).then_some(counts)
    });
    // The conditions are asked for in both versions.
    let expected = RESOURCES.map(|resource| {
        (
            resource,
            if resource == "operatorconditions" {
                2
            } else {
                1
            },
        )
    });
    assert_eq!(counts, expected);
    // Catalogs once; packages and bundles for each 100 packages; upgrades for each 200 operators.
    let requests = server.statuses().len() - asked;
    assert!(requests <= 1 + 5 * 2 + 3, "{requests}");
}

#[test]
fn a_kind_with_more_objects_than_are_read_is_said_and_unknown() {
    let server = crate::support::example();
    let judged = |extensions: usize| {
        let (cluster, _runtime, kubeconfig) = MadeCluster::start(extensions, &server.folders);
        let output = run(&server, &kubeconfig, &["-o", "json"]);
        let requests = cluster.requests.lock().expect("no test panics with it");
        let mut of_extensions = requests.clone();
        of_extensions.retain(|request| request.contains("clusterextensions"));
        let said = output.stderr.lines();
        let said = said.filter(|line| line.contains("ClusterExtension"));
        let said = said.map(str::to_owned).collect::<Vec<_>>();
        (output.status, said, of_extensions.len())
    };
    // Other kinds are not there.
    assert_eq!(judged(1_500), (Some(2), Vec::new(), 3));
    let too_many = "cannot read ClusterExtensions, without which checks are unknown: cannot read what is installed: the \
                    cluster has more than 1500 ClusterExtension objects";
    assert_eq!(judged(1_501), (Some(2), vec![too_many.to_owned()], 3));
}

/// Image of the catalog of the page.
pub(crate) const COMMUNITY_IMAGE: &str = "quay.io/operatorhubio/catalog:latest";

/// Returns the objects of a cluster with operators of the catalog of the page.
pub(crate) fn community_cluster() -> Value {
    let metadata = |place: &str| {
        let (namespace, name) = place.rsplit_once('/').unwrap_or(("", place));
        json!({ "namespace": namespace, "name": name })
    };
    let installed = |place: &str, channel: &str, csv: [&str; 2], properties: Value| {
        let (namespace, package) = place.split_once('/').expect("it has a namespace");
        let [csv, version] = csv;
        let mut operator = json!({
            "kind": "ClusterServiceVersion", "metadata": metadata(&format!("{namespace}/{csv}")),
            "spec": { "version": version, "installModes": [{ "type": "AllNamespaces", "supported": true }] },
            "status": { "phase": "Succeeded", "reason": "InstallSucceeded" },
        });
        operator["metadata"]["annotations"] =
            json!({ "operatorframework.io/properties": properties.to_string() });
        [
            json!({
                "kind": "Subscription", "metadata": metadata(place),
                "spec": { "name": package, "channel": channel, "source": "operatorhubio", "sourceNamespace": "olm" },
                "status": { "installedCSV": csv, "state": "AtLatestKnown" },
            }),
            operator,
            json!({ "kind": "OperatorCondition", "metadata": metadata(&format!("{namespace}/{csv}")) }),
        ]
    };
    let required = json!([{
        "type": "olm.gvk.required",
        "value": { "group": "self-node-remediation.medik8s.io", "version": "v1alpha1", "kind": "SelfNodeRemediation" },
    }]);
    let mut items = [
        installed(
            "grafana/grafana-operator",
            "v5",
            ["grafana-operator.v5.22.0", "5.22.0"],
            json!([]),
        ),
        installed(
            "operators/node-healthcheck-operator",
            "stable",
            ["node-healthcheck-operator.v0.8.0", "0.8.0"],
            required,
        ),
        installed(
            "operators/prometheus",
            "",
            ["prometheusoperator.0.37.0", "0.37.0"],
            json!([]),
        ),
    ]
    .concat();
    let serving = json!([{ "type": "Serving", "status": "True" }]);
    items.extend([
        json!({ "kind": "OperatorGroup", "metadata": metadata("operators/all") }),
        json!({
            "kind": "OperatorGroup", "metadata": metadata("grafana/grafana"), "spec": { "targetNamespaces": ["grafana"] },
        }),
        json!({
            "kind": "CatalogSource", "metadata": metadata("olm/operatorhubio"),
            "spec": { "sourceType": "grpc", "image": COMMUNITY_IMAGE },
        }),
        json!({
            "kind": "ClusterCatalog", "metadata": metadata("community"),
            "spec": { "source": { "image": { "ref": COMMUNITY_IMAGE } } }, "status": { "conditions": serving },
        }),
    ]);
    json!({ "kind": "List", "items": items })
}

#[test]
fn what_happens_after_the_move_is_what_resolve_says() {
    let server = Server::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/testdata/community");
    let metadata = CatalogMetadata {
        image_reference: Some(COMMUNITY_IMAGE.to_owned()),
        ..CatalogMetadata::default()
    };
    server.serve("community", &folder, metadata);
    let fixture = "package stuck default=stable\nchannel stable: v1.0.0 , v2.0.0";
    server.serve_fixture("made", fixture, 0);
    let listed = server.run(&["get", "bundles", "-o", "json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("it prints JSON");
    let bundles = listed["items"].as_array().expect("it is a list");
    let word = |value: &Value| value.as_str().expect("it is a text").to_owned();
    let mut chosen: Vec<_> = bundles
        .iter()
        .step_by(5)
        .filter(|bundle| bundle["channelNames"][0].is_string())
        .map(|bundle| {
            [
                word(&bundle["package"]["name"]),
                word(&bundle["name"]),
                word(&bundle["version"]),
                word(&bundle["channelNames"][0]),
            ]
        })
        .collect();
    chosen.push(["stuck", "stuck.v1.0.0", "1.0.0", "stable"].map(str::to_owned));
    let cluster = community_cluster();
    let others = cluster["items"].as_array().expect("it is a list").iter();
    let others = others.filter(|object| object["metadata"]["namespace"] != "operators");
    let mut objects: Vec<_> = others.cloned().collect();
    objects.push(json!({
        "kind": "ClusterCatalog", "metadata": { "name": "made" },
        "status": { "conditions": [{ "type": "Serving", "status": "True" }] },
    }));
    for [package, name, version, channel] in &chosen {
        let metadata = json!({ "namespace": "all", "name": name });
        objects.push(json!({
            "kind": "Subscription", "metadata": metadata,
            "spec": { "name": package, "channel": channel, "source": "operatorhubio", "sourceNamespace": "olm" },
            "status": { "installedCSV": name },
        }));
        objects.push(json!({
            "kind": "ClusterServiceVersion", "metadata": metadata, "spec": { "version": version },
        }));
    }
    let objects = json!({ "kind": "List", "items": objects });
    server.folders.write("objects.json", objects.to_string());
    let file = server.folders.path("objects.json");
    let file = file.to_str().expect("temporary paths are UTF-8");
    let judged = server.run(&["migration", "-f", file, "-o", "json"]);
    let report: Value = serde_json::from_str(&judged.stdout).expect("it prints JSON");
    let operators = report["operators"].as_array().expect("it is a list");

    let mut states = BTreeMap::new();
    for [package, name, version, channel] in &chosen {
        let operator = operators.iter().find(|operator| operator["name"] == **name);
        let next = &operator.expect("each is judged")["next"];
        let installed = format!("{name}@{version}");
        let question = [
            "resolve",
            package,
            "--installed",
            &installed,
            "--channel",
            channel,
        ];
        let resolved = server.run(&[&question[..], &["-o", "json"]].concat());
        let resolved: Value = serde_json::from_str(&resolved.stdout).expect("it prints JSON");
        let state = word(&next["state"]);
        let message = word(&next["message"]);
        let to = resolved["bundle"]["version"].as_str();
        let is_same = match &state[..] {
            "UPGRADE" => to.is_some_and(|to| message.ends_with(&format!(" to {to}"))),
            "BLOCKED" => match to {
                Some(to) => message.contains(&format!(" before {to},")),
                None => resolved["code"] == "HAS_DEPENDENCIES",
            },
            _ => to == Some(version.as_str()) || resolved["code"] == "HAS_DEPENDENCIES",
        };
        assert!(is_same, "{name}: {next} {resolved}");
        *states.entry(state).or_insert(0) += 1;
    }
    let seen: Vec<_> = states.keys().map(String::as_str).collect();
    assert_eq!(
        seen,
        ["BLOCKED", "NEWEST", "STUCK", "UPGRADE"],
        "{states:?}"
    );
}
