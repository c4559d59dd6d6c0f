//! What the controller asks of the API server, by its audit log, against what its roles name.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};
use testing::{Proxy, ProxyAction, RecordedRequest, digest, eventually};

use crate::metrics::{METRICS, grant, metrics_address, scrape, token};
use crate::support::{Cluster, NAMESPACE, Replica, SERVICE_ACCOUNT, catalog, image, package, with};

/// The rights that are named and not used here, with the reason.
const UNUSED: [&str; 4] = [
    // An API server without streaming lists is asked to list.
    "list config.openshift.io/clusterimagepolicies",
    "list config.openshift.io/imagepolicies",
    "list olm.operatorframework.io/clustercatalogs",
    "list operators.coreos.com/catalogsources",
];

/// A right that a role names, or a request that needs one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    verb: String,
    /// Group and resource with its subresource, such as `coordination.k8s.io/leases`.
    resource: String,
    /// Empty where the right is for all namespaces.
    namespace: String,
    /// Empty where the right is for all names.
    name: String,
}

impl Right {
    fn allows(&self, request: &Self) -> bool {
        let covers = |right: &str, asked: &str| right.is_empty() || right == asked;
        (&self.verb, &self.resource) == (&request.verb, &request.resource)
            && covers(&self.namespace, &request.namespace)
            && covers(&self.name, &request.name)
    }
}

fn texts(list: &Value) -> impl Iterator<Item = String> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(|text| text.as_str().expect("a string").to_owned())
}

/// The rights of the controller.
fn named(cluster: &Cluster) -> BTreeSet<Right> {
    let bindings = cluster
        .plane
        .get(&["clusterrolebindings,rolebindings", "--all-namespaces"]);
    let is_own =
        |subject: &Value| subject["name"] == SERVICE_ACCOUNT && subject["namespace"] == NAMESPACE;
    let mut rights = BTreeSet::new();
    for binding in bindings["items"].as_array().expect("a list") {
        if !binding["subjects"]
            .as_array()
            .into_iter()
            .flatten()
            .any(is_own)
        {
            continue;
        }
        let [kind, name] =
            ["kind", "name"].map(|field| binding["roleRef"][field].as_str().expect("a string"));
        let namespace = binding["metadata"]["namespace"]
            .as_str()
            .unwrap_or_default();
        let mut arguments = vec![kind, name];
        if !namespace.is_empty() {
            arguments.extend(["--namespace", namespace]);
        }
        for rule in cluster.plane.get(&arguments)["rules"]
            .as_array()
            .expect("a role has rules")
        {
            rights.extend(of_rule(rule, namespace));
        }
    }
    rights
}

fn of_rule(rule: &Value, namespace: &str) -> Vec<Right> {
    let names: Vec<_> = texts(&rule["resourceNames"]).collect();
    let names = if names.is_empty() {
        vec![String::new()]
    } else {
        names
    };
    let mut rights = Vec::new();
    for group in texts(&rule["apiGroups"]) {
        for resource in texts(&rule["resources"]) {
            for verb in texts(&rule["verbs"]) {
                let resource = format!("{group}/{resource}");
                let namespace = namespace.to_owned();
                let right = |name: &String| Right {
                    verb: verb.clone(),
                    resource: resource.clone(),
                    namespace: namespace.clone(),
                    name: name.clone(),
                };
                rights.extend(names.iter().map(right));
            }
        }
    }
    rights
}

/// What the controller asked, and what of it was denied.
fn asked(cluster: &Cluster) -> (BTreeSet<Right>, Vec<Value>) {
    let user = format!("system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}");
    let mut rights = BTreeSet::new();
    let mut denied = Vec::new();
    for event in cluster
        .plane
        .audit_log()
        .into_iter()
        .filter(|event| event["user"]["username"] == user)
    {
        let object = &event["objectRef"];
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let subresource = object["subresource"]
            .as_str()
            .map(|name| format!("/{name}"))
            .unwrap_or_default();
        rights.insert(Right {
            verb: event["verb"].as_str().expect("a string").to_owned(),
            resource: format!("{}/{}{subresource}", text("apiGroup"), text("resource")),
            namespace: text("namespace"),
            name: text("name"),
        });
        if event["responseStatus"]["code"] == 403 {
            denied.push(event);
        }
    }
    (rights, denied)
}

/// Does everything that needs a right.
fn do_everything(cluster: &Cluster) {
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    let annotations = json!({ "catalogql.io/pull-secret": "of-catalog" });
    let object = with(
        catalog("etcd", &reference),
        &["metadata", "annotations"],
        annotations,
    );
    let source = json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
        "metadata": { "name": "argo", "namespace": NAMESPACE },
        "spec": { "sourceType": "grpc", "image": cluster.push("ns/argo", "v1", &package("argo")) },
    });
    cluster.plane.apply(&[object, source]);
    let flags = ["--catalog-sources", "--image-policies", METRICS];
    let replica = Replica::start(cluster, "one", &flags).ready();
    cluster.wait_for("etcd", "Serving", "Available");
    let address = metrics_address(&replica);
    let reader = token(cluster, "reader", &[]);
    eventually(|| (scrape(address, Some(&reader)).status == 200).then_some(()));
    let patch = r#"{"metadata":{"finalizers":["olm.operatorframework.io/delete-server-cache"]}}"#;
    cluster.plane.kubectl(&[
        "patch",
        "clustercatalog",
        "etcd",
        "--type=merge",
        "-p",
        patch,
    ]);
    cluster
        .plane
        .kubectl(&["delete", "clustercatalog", "etcd", "--timeout=60s"]);
    replica.end();
}

#[test]
fn the_controller_asks_for_what_its_roles_name_and_for_nothing_else() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    cluster.add_catalog_sources();
    cluster.define_image_policies();
    cluster.allow_image_policies();
    grant(&cluster);
    do_everything(&cluster);
    let ((asked, denied), named) = (asked(&cluster), named(&cluster));
    assert_eq!(denied, Vec::<Value>::new());
    assert!(
        !asked.is_empty() && !named.is_empty(),
        "{asked:?} {named:?}"
    );
    let beyond: Vec<_> = asked
        .iter()
        .filter(|request| !named.iter().any(|right| right.allows(request)))
        .collect();
    assert!(beyond.is_empty(), "no role names {beyond:?}");
    let unused = named
        .iter()
        .filter(|right| !asked.iter().any(|request| right.allows(request)));
    let unused: Vec<_> = unused
        .map(|right| format!("{} {}", right.verb, right.resource))
        .collect();
    assert_eq!(unused, UNUSED);
}

#[test]
fn catalogs_of_one_digest_are_pulled_stored_and_mapped_once() {
    const CATALOGS: usize = 20;
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let proxy = Proxy::start(cluster.registry.address, |_| ProxyAction::Forward);
    cluster.push("ns/etcd", "v1", &package("etcd"));
    let references = [
        format!("{}/ns/etcd:v1", proxy.address),
        format!(
            "{}/ns/etcd@{}",
            proxy.address,
            image(&package("etcd")).digest()
        ),
    ];
    let names: Vec<_> = (0..CATALOGS).map(|number| format!("c{number}")).collect();
    let objects: Vec<_> = names
        .iter()
        .zip(references.iter().cycle())
        .map(|(name, of)| catalog(name, of))
        .collect();
    cluster.plane.apply(&objects);
    let replica = Replica::start(
        &cluster,
        "one",
        &["--insecure-registry", &proxy.address.to_string()],
    )
    .ready();
    for name in &names {
        cluster.wait_for(name, "Serving", "Available");
    }
    let layer = digest(&image(&package("etcd")).layers()[0]);
    let blobs: Vec<_> = proxy
        .requests()
        .into_iter()
        .filter(RecordedRequest::is_blob)
        .collect();
    let layers = blobs
        .iter()
        .filter(|request| request.target.ends_with(&layer))
        .count();
    assert_eq!(layers, 1, "{blobs:?}");

    let store = cluster.folders.text("one");
    // The lines with their index, and an outline, which is mapped for a moment by each catalog that
    // finds it. Each catalog has a change log of its own.
    let mut expected = vec!["changes"; CATALOGS];
    expected.extend(["content", "content", "outlines"]);
    eventually(|| {
        let maps =
            fs::read_to_string(format!("/proc/{}/maps", replica.id())).expect("the process runs");
        let mapped = maps.lines().filter_map(|line| line.split(&store).nth(1));
        let mut kinds: Vec<_> = mapped.filter_map(|path| path.split('/').nth(1)).collect();
        kinds.sort_unstable();
        (kinds == expected).then_some(())
    });
}

#[test]
fn the_rights_of_this_test_are_read_as_the_api_server_reads_them() {
    let right = |verb: &str, namespace: &str, name: &str| Right {
        verb: verb.to_owned(),
        resource: "/secrets".to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let rule = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"], "resourceNames": ["a"] });
    let rights = of_rule(&rule, "ns");
    assert_eq!(rights, [right("get", "ns", "a"), right("list", "ns", "a")]);
    assert!(rights[0].allows(&right("get", "ns", "a")));
    for other in [
        right("get", "ns", "b"),
        right("get", "other", "a"),
        right("watch", "ns", "a"),
        right("get", "ns", ""),
    ] {
        assert!(!rights[0].allows(&other), "{other:?}");
    }
    assert!(right("get", "", "").allows(&right("get", "ns", "a")));
}
