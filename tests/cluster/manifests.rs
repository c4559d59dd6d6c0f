//! What `deploy/` applies to a cluster: accepted by a real API server, and by the linters of
//! others.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testing::{ControlPlane, Folders, KubectlOutput, deploy_tools, eventually};

use crate::support::{DEPLOY, NAMESPACE, SERVICE_ACCOUNT};

/// What kube-score would have otherwise, with the reason.
const ACCEPTED: [&str; 3] = [
    // Two replicas prefer two nodes and two zones by topologySpreadConstraints, which the pods
    // have.
    " does not have a host podAntiAffinity set",
    // The tag of a release never changes, and a node that has the image needs no registry to start
    // it.
    "ImagePullPolicy is not set to Always",
    // Loading a catalog is a burst of a second; a limit would stretch it and slow down requests
    // meanwhile.
    "CPU limit is not set",
];

/// As above, for one overlay each.
const ACCEPTED_IN: [(&str, &str); 4] = [
    // Nobody asks for one replica by its name.
    (
        "persistent",
        "StatefulSet does not have a valid serviceName",
    ),
    // OpenShift chooses both from the range of the namespace.
    ("openshift", "The container is running with a low user ID"),
    ("openshift", "The container running with a low group ID"),
    // One replica on one node.
    ("single", "Deployment few replicas"),
];

/// The names of the folders in `deploy/overlays`.
pub(crate) fn overlays() -> Vec<String> {
    let entries = fs::read_dir(Path::new(DEPLOY).join("overlays")).expect("the folder can be read");
    let name =
        |entry: std::io::Result<fs::DirEntry>| entry.expect("the folder can be read").file_name();
    let mut names: Vec<_> = entries
        .map(|entry| name(entry).into_string().expect("a name is UTF-8"))
        .collect();
    names.sort();
    assert!(names.len() > 5, "{names:?}");
    names
}

/// The manifests of an overlay, as kubectl builds them. `None` as for [`ControlPlane::start`].
#[track_caller]
pub(crate) fn build(overlay: &str) -> Option<String> {
    ControlPlane::kustomize(&Path::new(DEPLOY).join("overlays").join(overlay))
}

/// The objects of a text in YAML.
pub(crate) fn objects(text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).expect("manifests are YAML")
}

/// Kind, namespace and name of an object.
pub(crate) fn key(object: &Value) -> String {
    let text = |path: &str| {
        object
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    format!(
        "{} {}/{}",
        text("/kind"),
        text("/metadata/namespace"),
        text("/metadata/name")
    )
}

/// A control plane that knows the objects of others that manifests name, and the namespaces of the
/// overlays with what pods need there.
pub(crate) fn cluster_of_others(tools: &Path) -> Option<ControlPlane> {
    let plane = ControlPlane::start()?;
    plane.kubectl(&[
        "apply",
        "--server-side",
        "-f",
        &tools.join("definitions").to_string_lossy(),
    ]);
    plane.kubectl(&[
        "apply",
        "--server-side",
        "-f",
        &format!("{DEPLOY}/base/crds.yaml"),
    ]);
    plane.kubectl(&[
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd",
        "--all",
    ]);
    let namespace = fs::read_to_string(Path::new(DEPLOY).join("base/namespace.yaml"))
        .expect("the file can be read");
    for name in [NAMESPACE, "olmv1-system"] {
        let mut object = objects(&namespace).remove(0);
        object["metadata"]["name"] = json!(name);
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": SERVICE_ACCOUNT, "namespace": name },
        });
        plane.apply(&[object, account]);
    }
    // The API server learns of both by watches.
    eventually(|| dry_run(&plane, &[pod_of(NAMESPACE)]).success.then_some(()));
    Some(plane)
}

/// A pod that Pod Security allows.
fn pod_of(namespace: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "probe", "namespace": namespace },
        "spec": {
            "serviceAccountName": SERVICE_ACCOUNT,
            "securityContext": { "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } },
            "containers": [{
                "name": "probe", "image": "probe",
                "securityContext": { "allowPrivilegeEscalation": false, "capabilities": { "drop": ["ALL"] } },
            }],
        },
    })
}

/// What the API server says of these objects, without keeping them.
pub(crate) fn dry_run(plane: &ControlPlane, objects: &[Value]) -> KubectlOutput {
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects }).to_string();
    plane.try_kubectl(
        &[
            "apply",
            "--server-side",
            "--force-conflicts",
            "--dry-run=server",
            "-f",
            "-",
        ],
        &list,
    )
}

/// Asserts that the API server accepts these objects without a warning, and the pods of their
/// templates, which Pod Security judges.
#[track_caller]
pub(crate) fn assert_accepted(plane: &ControlPlane, name: &str, objects: &[Value]) {
    let mut all = objects.to_vec();
    for workload in objects
        .iter()
        .filter(|object| object.pointer("/spec/template/spec").is_some())
    {
        let mut pod = workload["spec"]["template"].clone();
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["name"] = json!("of-template");
        pod["metadata"]["namespace"] = workload["metadata"]["namespace"].clone();
        let mut claims = Vec::new();
        for claim in workload
            .pointer("/spec/volumeClaimTemplates")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let name = &claim["metadata"]["name"];
            claims.push(json!({ "name": name, "persistentVolumeClaim": { "claimName": name } }));
        }
        pod["spec"]["volumes"]
            .as_array_mut()
            .expect("it has volumes")
            .extend(claims);
        all.push(pod);
    }
    let output = dry_run(plane, &all);
    assert!(output.success, "{name}: {}", output.stderr);
    assert_eq!(output.stderr, "", "{name}");
}

#[test]
fn every_overlay_is_accepted_with_its_pods_by_a_cluster_that_restricts_pods() {
    let Some(tools) = deploy_tools() else { return };
    let Some(plane) = cluster_of_others(&tools) else {
        return;
    };
    for overlay in overlays() {
        let Some(manifests) = build(&overlay) else {
            return;
        };
        assert_accepted(&plane, &overlay, &objects(&manifests));
    }
    // Pods are judged at all.
    let mut pod = pod_of(NAMESPACE);
    pod["spec"]["containers"][0]["securityContext"] = json!({});
    let refused = dry_run(&plane, &[pod]);
    assert!(
        refused
            .stderr
            .contains("violates PodSecurity \"restricted:latest\""),
        "{refused:?}"
    );
}

#[test]
fn components_that_publish_and_samples_are_accepted() {
    let Some(tools) = deploy_tools() else { return };
    let Some(plane) = cluster_of_others(&tools) else {
        return;
    };
    for component in ["ingress", "httproute", "route"] {
        let file = fs::read_to_string(
            Path::new(DEPLOY).join(format!("components/{component}/{component}.yaml")),
        );
        let output = dry_run(&plane, &objects(&file.expect("the file can be read")));
        assert_eq!(
            (output.success, output.stderr.as_str()),
            (true, ""),
            "{component}"
        );
    }
    let output = plane.try_kubectl(
        &[
            "apply",
            "--server-side",
            "--dry-run=server",
            "-f",
            &format!("{DEPLOY}/samples"),
        ],
        "",
    );
    assert_eq!((output.success, output.stderr.as_str()), (true, ""));
}

/// operator-controller trusts for catalogs only what `--catalogd-cas-dir` has, which OLM v1 fills
/// from this issuer.
#[test]
fn the_certificate_of_drop_in_is_issued_by_the_authority_that_operator_controller_trusts() {
    let Some(manifests) = build("drop-in") else {
        return;
    };
    let cert_manager = objects(&manifests)
        .into_iter()
        .filter(|object| object["apiVersion"] == "cert-manager.io/v1");
    let issued: Vec<_> = cert_manager
        .map(|object| {
            json!({
                "kind": object["kind"],
                "name": object["metadata"]["name"],
                "namespace": object["metadata"]["namespace"],
                "issuerRef": object["spec"]["issuerRef"],
            })
        })
        .collect();
    let expected = json!([{
        "kind": "Certificate",
        "name": "catalogql-tls",
        "namespace": "olmv1-system",
        "issuerRef": {
            "group": "cert-manager.io",
            "kind": "ClusterIssuer",
            "name": "olmv1-ca",
        },
    }]);
    assert_eq!(json!(issued), expected);
}

#[test]
fn components_on_top_of_drop_in_move_to_its_namespace() {
    let all = [
        "auth",
        "autoscaling",
        "catalog-sources",
        "httproute",
        "image-policies",
        "ingress",
        "kube-api",
        "route",
        "after-drop-in",
    ];
    let Some(left) = misplaced(&all[..8]) else {
        return;
    };
    assert!(left.len() > 8, "else nothing would be tested: {left:?}");
    assert_eq!(misplaced(&all), Some(Vec::new()));
}

#[test]
fn the_default_overlay_applied_again_changes_nothing() {
    let Some(tools) = deploy_tools() else { return };
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    plane.kubectl(&[
        "apply",
        "--server-side",
        "-f",
        &tools.join("definitions").to_string_lossy(),
    ]);
    plane.kubectl(&[
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd",
        "--all",
    ]);
    let overlay = format!("{DEPLOY}/overlays/default");
    let apply = || {
        let output = plane.try_kubectl(&["apply", "--server-side", "-k", &overlay], "");
        assert_eq!((output.success, output.stderr.as_str()), (true, ""));
        // The API server itself writes the status of definitions.
        plane.kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            "--all",
        ]);
        let output = plane.kubectl(&["get", "-k", &overlay, "-o", "json"]);
        let list: Value = serde_json::from_str(&output).expect("kubectl prints JSON");
        let items = list["items"].as_array().expect("it is a list").iter();
        items
            .map(|object| (key(object), object["metadata"]["resourceVersion"].clone()))
            .collect()
    };
    let first: BTreeMap<String, Value> = apply();
    assert_eq!(first, apply());
    assert!(first.len() > 20, "{first:?}");
}

#[test]
fn applying_the_manifests_again_keeps_the_replicas_that_the_autoscaler_has_set() {
    let Some(tools) = deploy_tools() else { return };
    let Some(plane) = cluster_of_others(&tools) else {
        return;
    };
    let Some(manifests) = build_with("default", &["autoscaling"]) else {
        return;
    };
    let all = objects(&manifests);
    assert_accepted(&plane, "autoscaling", &all);
    let is_scaled = |object: &&Value| {
        ["Deployment", "HorizontalPodAutoscaler"]
            .iter()
            .any(|kind| object["kind"] == *kind)
    };
    let scaled: Vec<_> = all.iter().filter(is_scaled).cloned().collect();
    let [deployment, autoscaler] = &scaled[..] else {
        panic!("one of each: {scaled:?}");
    };
    assert_eq!(deployment["spec"]["replicas"], Value::Null);
    let target = &autoscaler["spec"]["scaleTargetRef"];
    for member in ["apiVersion", "kind"] {
        assert_eq!(target[member], deployment[member]);
    }
    assert_eq!(target["name"], deployment["metadata"]["name"]);

    let apply = || {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": scaled }).to_string();
        let output = plane.try_kubectl(&["apply", "--server-side", "-f", "-"], &list);
        assert_eq!((output.success, output.stderr.as_str()), (true, ""));
    };
    apply();
    // No controller runs here: the autoscaler writes the same subresource.
    let scale = ["scale", "deployment/catalogql", "--replicas=4"];
    plane.kubectl(&[&scale[..], &["--namespace", NAMESPACE]].concat());
    apply();
    let deployment = plane.get(&["deployment", "catalogql", "--namespace", NAMESPACE]);
    assert_eq!(deployment["spec"]["replicas"], 4);
}

#[test]
fn kube_score_finds_nothing_but_what_is_accepted_with_a_reason() {
    let Some(tools) = deploy_tools() else { return };
    for overlay in overlays() {
        let Some(manifests) = build(&overlay) else {
            return;
        };
        let mut command = Command::new(tools.join("kube-score"));
        command.args(["score", "--kubernetes-version=v1.33", "--output-format=ci"]);
        command.args(["--enable-optional-test=container-seccomp-profile", "-"]);
        let printed = run(&mut command, &manifests).1;
        let is_fault =
            |line: &&str| line.starts_with("[CRITICAL]") || line.starts_with("[WARNING]");
        let here = ACCEPTED_IN
            .iter()
            .filter(|(name, _)| *name == overlay)
            .map(|(_, text)| text);
        let accepted: Vec<_> = ACCEPTED.iter().chain(here).collect();
        let faults = printed.lines().filter(is_fault);
        let faults: Vec<_> = faults
            .filter(|line| !accepted.iter().any(|known| line.contains(**known)))
            .collect();
        assert_eq!(faults, Vec::<&str>::new(), "{overlay}");
        assert!(printed.contains("[OK]"), "{overlay}: {printed}");
    }
}

#[test]
fn kubeconform_finds_every_object_as_the_api_server_describes_it() {
    let Some(tools) = deploy_tools() else { return };
    let Some(plane) = cluster_of_others(&tools) else {
        return;
    };
    let schemas = Folders::new();
    write_schemas(&plane, &schemas);
    let check = |manifest: &str| {
        let mut command = Command::new(tools.join("kubeconform"));
        let location = schemas.text("{{.ResourceKind}}.{{.Group}}.{{.ResourceAPIVersion}}.json");
        command.args(["-strict", "-verbose", "-schema-location", &location, "-"]);
        run(&mut command, manifest)
    };
    for overlay in overlays() {
        let Some(manifests) = build(&overlay) else {
            return;
        };
        let (success, printed) = check(&manifests);
        assert!(success, "{overlay}: {printed}");
    }
    let (success, printed) =
        check("{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {selectors: {a: b}}}");
    assert!(!success && printed.contains("selectors"), "{printed}");
}

/// The manifests of an overlay with these components. `None` as for [`ControlPlane::start`].
#[track_caller]
pub(crate) fn build_with(overlay: &str, components: &[&str]) -> Option<String> {
    let folder = Folders::new();
    let root = fs::canonicalize(folder.path("")).expect("the folder is there");
    // kustomize accepts no absolute paths.
    let deploy = "../".repeat(root.components().skip(1).count()) + DEPLOY.trim_start_matches('/');
    let components: Vec<_> = components
        .iter()
        .map(|name| format!("{deploy}/components/{name}"))
        .collect();
    let kustomization = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
        "resources": [format!("{deploy}/overlays/{overlay}")], "components": components,
    });
    // JSON is YAML.
    folder.write("kustomization.yaml", kustomization.to_string());
    ControlPlane::kustomize(&root)
}

/// Lines of the overlay `drop-in` with these components that name the namespace of the other
/// overlays. `None` as for [`ControlPlane::start`].
#[track_caller]
fn misplaced(components: &[&str]) -> Option<Vec<String>> {
    let manifests = build_with("drop-in", components)?;
    let names = [
        "namespace: catalogql",
        "catalogql.catalogql.",
        "catalogql/catalogql",
    ];
    let is_misplaced = |line: &&str| names.iter().any(|name| line.contains(*name));
    Some(
        manifests
            .lines()
            .filter(is_misplaced)
            .map(str::to_owned)
            .collect(),
    )
}

/// Runs a program on this standard input, and returns whether it succeeded and what it printed.
pub(crate) fn run(command: &mut Command, input: &str) -> (bool, String) {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    child
        .stdin
        .take()
        .expect("it is a pipe")
        .write_all(input.as_bytes())
        .expect("it reads its input");
    let output = child.wait_with_output().expect("it is a child");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.success(),
        text(&output.stdout) + &text(&output.stderr),
    )
}

/// Writes the schema of each kind that the API server serves, with all that it refers to. Fields
/// that a schema does not name are faults.
fn write_schemas(plane: &ControlPlane, folder: &Folders) {
    let document: Value =
        serde_json::from_str(&plane.kubectl(&["get", "--raw", "/openapi/v2"])).expect("it is JSON");
    let mut definitions = document["definitions"].clone();
    for definition in definitions.as_object_mut().expect("an object").values_mut() {
        make_strict(definition);
    }
    folder.write(
        "definitions.json",
        json!({ "definitions": definitions }).to_string(),
    );
    for (name, definition) in definitions.as_object().expect("an object") {
        for kind in definition["x-kubernetes-group-version-kind"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let [kind, group, version] =
                ["kind", "group", "version"].map(|field| kind[field].as_str().expect("a string"));
            // kubeconform calls the group without a name by the version.
            let group = if group.is_empty() { version } else { group };
            let file = format!("{}.{group}.{version}.json", kind.to_lowercase());
            folder.write(
                &file,
                json!({ "$ref": format!("definitions.json#/definitions/{name}") }).to_string(),
            );
        }
    }
}

/// Makes a schema of the API server one of JSON Schema: no field that it does not name, and numbers
/// where they may stand for names.
fn make_strict(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    if object.get("format") == Some(&json!("int-or-string"))
        || object.contains_key("x-kubernetes-int-or-string")
    {
        object.retain(|name, _| name == "description");
    }
    if object.contains_key("properties")
        && !object.contains_key("x-kubernetes-preserve-unknown-fields")
    {
        object.insert("additionalProperties".to_owned(), json!(false));
    }
    if let Some(properties) = object.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(make_strict);
    }
    for name in ["items", "additionalProperties"] {
        object.get_mut(name).into_iter().for_each(make_strict);
    }
}
