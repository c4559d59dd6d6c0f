//! The Helm chart: what it renders is what the overlays are, and each of its values does something.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use testing::{ControlPlane, deploy_tools};

use crate::manifests::{assert_accepted, build, build_with, cluster_of_others, key, objects};
use crate::support::{DEPLOY, NAMESPACE};

/// Each value with what it is set to; before it, what it needs to mean anything.
const VALUES: [(&str, &str, &[&str]); 63] = [
    ("image.repository", "quay.io/team/catalogql", &[]),
    ("image.tag", "1.2.3", &[]),
    (
        "image.digest",
        "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        &[],
    ),
    ("image.pullPolicy", "Always", &[]),
    ("imagePullSecrets", "[{\"name\": \"team\"}]", &[]),
    ("replicas", "1", &[]),
    ("replicas", "3", &[]),
    ("autoscaling.enabled", "true", &[]),
    ("autoscaling.enabled", "true", &["store.persistent=true"]),
    (
        "autoscaling.maxReplicas",
        "9",
        &["autoscaling.enabled=true"],
    ),
    ("autoscaling.cpu", "\"1\"", &["autoscaling.enabled=true"]),
    ("resources.requests.cpu", "\"1\"", &[]),
    (
        "resources.requests.memory",
        "1Gi",
        &["resources.limits.memory=2Gi"],
    ),
    ("resources.requests.ephemeral-storage", "2Gi", &[]),
    ("resources.limits.memory", "1Gi", &[]),
    ("resources.limits.ephemeral-storage", "20Gi", &[]),
    ("manage", "false", &[]),
    ("crds.install", "false", &[]),
    ("catalogSources", "true", &[]),
    ("imagePolicies", "true", &[]),
    ("tls.mode", "secret", &[]),
    ("tls.mode", "serviceCA", &[]),
    ("tls.secretName", "own", &[]),
    (
        "tls.issuerRef",
        "{\"kind\": \"ClusterIssuer\", \"name\": \"company\"}",
        &[],
    ),
    ("tls.dnsNames", "[\"catalogs.example.com\"]", &[]),
    ("pull.globalSecret", "openshift-config/pull-secret", &[]),
    ("pull.registriesConf", "mirrors", &[]),
    ("pull.caConfigMap", "authorities", &[]),
    ("store.sizeGi", "20", &[]),
    ("store.sizeGi", "20", &["store.persistent=true"]),
    ("store.persistent", "true", &[]),
    ("store.storageClassName", "fast", &["store.persistent=true"]),
    ("auth.mode", "delegated", &[]),
    ("auth.mode", "delegated", &["ingress.enabled=true"]),
    ("kubeApi.enabled", "true", &[]),
    ("kubeApi.enabled", "true", &["tls.mode=serviceCA"]),
    (
        "kubeApi.caBundle",
        "\"YQ==\"",
        &["tls.mode=secret", "kubeApi.enabled=true"],
    ),
    ("grpc.enabled", "true", &[]),
    ("anonymous", "true", &["ingress.enabled=true"]),
    ("ingress.enabled", "true", &["anonymous=true"]),
    (
        "ingress.className",
        "nginx",
        &["anonymous=true", "ingress.enabled=true"],
    ),
    (
        "ingress.host",
        "catalogs.example.org",
        &["anonymous=true", "ingress.enabled=true"],
    ),
    (
        "ingress.tlsSecretName",
        "own",
        &["anonymous=true", "ingress.enabled=true"],
    ),
    (
        "ingress.annotations.a",
        "b",
        &["anonymous=true", "ingress.enabled=true"],
    ),
    (
        "httpRoute.enabled",
        "true",
        &[
            "anonymous=true",
            "httpRoute.parentRefs=[{\"name\": \"gateway\"}]",
        ],
    ),
    (
        "httpRoute.parentRefs",
        "[{\"name\": \"gateway\"}]",
        &["anonymous=true", "httpRoute.enabled=true"],
    ),
    (
        "httpRoute.hostnames",
        "[\"catalogs.example.com\"]",
        &HTTP_ROUTE,
    ),
    ("httpRoute.caConfigMap", "own", &HTTP_ROUTE),
    (
        "route.enabled",
        "true",
        &["anonymous=true", "tls.mode=serviceCA"],
    ),
    (
        "route.host",
        "catalogs.example.com",
        &["anonymous=true", "tls.mode=serviceCA", "route.enabled=true"],
    ),
    ("sharedStore.url", "s3://bucket/prefix", &[]),
    ("sharedStore.secret", "shared-store", &[]),
    ("serviceAccountAnnotations", "{\"a\": \"b\"}", &[]),
    ("networkPolicy.enabled", "false", &[]),
    ("networkPolicy.egressPorts", "[5000]", &[]),
    ("networkPolicy.from", "[{\"namespaceSelector\": {}}]", &[]),
    ("monitoring.serviceMonitor", "false", &[]),
    ("monitoring.rules", "false", &[]),
    ("monitoring.dashboard", "false", &[]),
    ("extraArgs", "[\"--no-introspection\"]", &[]),
    ("priorityClassName", "system-cluster-critical", &[]),
    ("podAnnotations", "{\"a\": \"b\"}", &[]),
    ("nodeSelector", "{\"kubernetes.io/arch\": \"arm64\"}", &[]),
];

/// What the values of an `HTTPRoute` need.
const HTTP_ROUTE: [&str; 3] = [
    "anonymous=true",
    "httpRoute.enabled=true",
    "httpRoute.parentRefs=[{\"name\": \"gateway\"}]",
];

/// Values that are lists or objects of Kubernetes.
const VALUES_OF_KUBERNETES: [(&str, &str); 2] = [
    ("tolerations", "[{\"operator\": \"Exists\"}]"),
    (
        "affinity",
        "{\"podAntiAffinity\": {\"preferredDuringSchedulingIgnoredDuringExecution\": []}}",
    ),
];

/// Values that the schema refuses, with what the message names.
const REFUSED: [(&str, &str); 10] = [
    ("replicas=0", "replicas"),
    ("autoscaling.maxReplicas=0", "maxReplicas"),
    ("nothing=1", "nothing"),
    ("image.nothing=1", "nothing"),
    ("image.digest=\"latest\"", "digest"),
    ("tls.mode=\"none\"", "mode"),
    ("auth.mode=\"all\"", "mode"),
    ("networkPolicy.egressPorts=[70000]", "egressPorts"),
    ("store.sizeGi=\"11Gi\"", "sizeGi"),
    ("pull.globalSecret=\"name\"", "globalSecret"),
];

fn chart() -> String {
    format!("{DEPLOY}/helm/catalogql")
}

/// What the chart renders with these values, or why it does not.
fn render(tools: &Path, values: &[String]) -> Result<String, String> {
    let mut command = Command::new(tools.join("helm"));
    // `--api-versions` would matter to nothing: no template asks for capabilities.
    command.args(["template", "catalogql", &chart(), "--namespace", NAMESPACE]);
    for value in values {
        command.args(["--set-json", value]);
    }
    let output = command.output().expect("helm can be started");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("helm prints UTF-8");
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    }
}

/// A value as `--set-json` takes it: JSON as it is, all else as a string.
fn set(path: &str, value: &str) -> String {
    match serde_json::from_str::<Value>(value) {
        Ok(value) => format!("{path}={value}"),
        Err(_) => format!("{path}={}", json!(value)),
    }
}

fn set_text(text: &str) -> String {
    let (path, value) = text.split_once('=').expect("a value is NAME=VALUE");
    set(path, value)
}

/// Objects by kind, namespace and name. Whole numbers are equal however they are written.
fn by_key(text: &str) -> BTreeMap<String, Value> {
    let objects = objects(text).into_iter().filter(|object| !object.is_null());
    objects
        .map(|mut object| {
            (key(&object), {
                make_whole(&mut object);
                object
            })
        })
        .collect()
}

fn make_whole(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(members) => members.values_mut().for_each(make_whole),
        Value::Number(number) => {
            let whole = number
                .as_f64()
                .filter(|number| number.fract() == 0.0)
                .map(|number| format!("{number:.0}"));
            if let Some(whole) = whole.and_then(|text| text.parse::<i64>().ok()) {
                *value = json!(whole);
            }
        }
        _ => {}
    }
}

/// Asserts that a render is what an overlay is. The chart leaves the namespace to Helm, and keeps
/// the definition when it is removed.
#[track_caller]
fn assert_same(rendered: &str, overlay: &str) {
    let mut rendered = by_key(rendered);
    let mut built = by_key(overlay);
    assert!(built.remove(&format!("Namespace /{NAMESPACE}")).is_some());
    if let Some(definition) =
        rendered.get_mut("CustomResourceDefinition /clustercatalogs.olm.operatorframework.io")
    {
        let annotations = definition["metadata"]
            .as_object_mut()
            .expect("it has")
            .remove("annotations");
        assert_eq!(
            annotations,
            Some(json!({ "helm.sh/resource-policy": "keep" }))
        );
    }
    let [ours, theirs] = [&rendered, &built].map(|objects| objects.keys().collect::<Vec<_>>());
    assert_eq!(ours, theirs);
    for (key, object) in &rendered {
        assert_eq!(object, &built[key], "{key}");
    }
}

#[test]
fn the_chart_renders_what_the_overlays_are() {
    let Some(tools) = deploy_tools() else { return };
    let overlays: [(&str, &[&str]); 7] = [
        ("default", &[]),
        ("companion", &["manage=false"]),
        ("catalog-sources", &["catalogSources=true"]),
        ("persistent", &["store.persistent=true"]),
        ("authorized", &["auth.mode=delegated"]),
        (
            "packageserver",
            &["catalogSources=true", "kubeApi.enabled=true"],
        ),
        ("olm-v0", &["grpc.enabled=true"]),
    ];
    for (overlay, values) in overlays {
        let Some(built) = build(overlay) else { return };
        let values: Vec<_> = values.iter().map(|value| set_text(value)).collect();
        assert_same(&render(&tools, &values).unwrap(), &built);
    }
    let components: [(&str, &[&str]); 2] = [
        ("image-policies", &["imagePolicies=true"]),
        (
            "autoscaling",
            &["autoscaling.enabled=true", "resources.requests.cpu=500m"],
        ),
    ];
    for (component, values) in components {
        let built = build_with("default", &[component]);
        let Some(built) = built else { return };
        let values: Vec<_> = values.iter().map(|value| set_text(value)).collect();
        assert_same(&render(&tools, &values).unwrap(), &built);
    }
}

#[test]
fn each_value_changes_something_that_a_cluster_accepts() {
    let Some(tools) = deploy_tools() else { return };
    let Some(plane) = cluster_of_others(&tools) else {
        return;
    };
    plane.kubectl(&["create", "namespace", "openshift-config"]);
    let default = render(&tools, &[]);
    let of_kubernetes = VALUES_OF_KUBERNETES
        .iter()
        .map(|(path, value)| (*path, *value, [].as_slice()));
    for (path, value, needed) in VALUES.into_iter().chain(of_kubernetes) {
        let mut values: Vec<_> = needed.iter().map(|value| set_text(value)).collect();
        let before = if values.is_empty() {
            default.clone()
        } else {
            render(&tools, &values)
        };
        values.push(set(path, value));
        let after = render(&tools, &values).unwrap_or_else(|error| panic!("{values:?}: {error}"));
        assert_ne!(before.as_ref(), Ok(&after), "{values:?} changes nothing");
        assert_changes_accepted(&plane, &values, &before.unwrap_or_default(), &after);
    }
}

/// Asserts that the API server accepts what is not in `before`.
fn assert_changes_accepted(plane: &ControlPlane, values: &[String], before: &str, after: &str) {
    let before = if before.is_empty() {
        BTreeMap::new()
    } else {
        by_key(before)
    };
    let changed = by_key(after)
        .into_iter()
        .filter(|(key, object)| before.get(key) != Some(object));
    let changed: Vec<_> = changed.map(|(_, object)| object).collect();
    if !changed.is_empty() {
        assert_accepted(plane, &format!("{values:?}"), &changed);
    }
}

#[test]
fn every_value_is_described_tested_and_in_the_schema() {
    let read = |file: &str| {
        fs::read_to_string(Path::new(&chart()).join(file)).expect("the file can be read")
    };
    let values = objects(&read("values.yaml")).remove(0);
    let schema: Value = serde_json::from_str(&read("values.schema.json")).expect("it is JSON");
    let mut paths = BTreeSet::new();
    collect(&values, &schema, "", &mut paths);
    let tested: Vec<_> = VALUES
        .iter()
        .map(|(path, ..)| *path)
        .chain(VALUES_OF_KUBERNETES.map(|(path, _)| path))
        .collect();
    let is_tested = |path: &&String| {
        tested
            .iter()
            .any(|tested| tested == path || path.starts_with("ingress.annotations"))
    };
    let missing: Vec<_> = paths.iter().filter(|path| !is_tested(path)).collect();
    assert!(
        missing.is_empty() && paths.len() > 40,
        "no test sets {missing:?}"
    );
}

/// Adds the paths of all values, each of which the schema must describe. An object of the chart's
/// own is closed.
fn collect(values: &Value, schema: &Value, prefix: &str, paths: &mut BTreeSet<String>) {
    for (name, value) in values.as_object().expect("values are an object") {
        let path = if prefix.is_empty() {
            name.clone()
        } else {
            format!("{prefix}.{name}")
        };
        let described = &schema["properties"][name];
        if described.get("$ref").is_none()
            && described["type"] == "object"
            && described.get("properties").is_some()
        {
            assert_eq!(described["additionalProperties"], json!(false), "{path}");
        }
        let is_open = schema.get("$ref").is_some();
        assert!(
            is_open || !described.is_null(),
            "values.schema.json does not describe {path}"
        );
        match value.as_object() {
            Some(members) if !members.is_empty() => collect(value, described, &path, paths),
            _ => {
                paths.insert(path);
            }
        }
    }
}

#[test]
fn a_value_that_means_nothing_is_refused_by_its_name() {
    let Some(tools) = deploy_tools() else { return };
    for (value, named) in REFUSED {
        let refused = render(&tools, &[value.to_owned()]).expect_err(value);
        assert!(refused.contains(named), "{value}: {refused}");
    }
    let refused =
        render(&tools, &["ingress.enabled=true".to_owned()]).expect_err("anonymous is not set");
    assert!(refused.contains("set anonymous=true"), "{refused}");
}

#[test]
fn what_the_chart_renders_depends_on_its_values_alone() {
    let folder = Path::new(&chart()).join("templates");
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        let text = fs::read_to_string(&path).expect("the file can be read");
        let words: BTreeSet<_> = text
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .collect();
        for name in [
            "lookup",
            "tpl",
            "now",
            "uuidv4",
            "genCA",
            "genSelfSignedCert",
            "randAlphaNum",
            "Capabilities",
        ] {
            assert!(!words.contains(name), "{} uses {name}", path.display());
        }
    }
}
