//! What an install means, and how two installs differ.

use install_preview::summary::InstallSummary;
use install_preview::{BundleManifestFile, RegistryBundle, RenderOptions, render};
use serde_json::{Value, json};

fn summary(files: &[&str], watched: &[&str]) -> InstallSummary {
    let files: Vec<_> = files
        .iter()
        .map(|text| BundleManifestFile {
            name: "file.yaml".into(),
            bytes: text.as_bytes().into(),
        })
        .collect();
    let bundle = RegistryBundle::read("etcd", &files).unwrap();
    let options = RenderOptions {
        install_namespace: "own".to_owned(),
        watch_namespaces: watched.iter().map(|&name| name.to_owned()).collect(),
        ..RenderOptions::default()
    };
    let rendering = render(&bundle, &options).unwrap();
    InstallSummary::of(&rendering, "own").unwrap()
}

fn value(summary: &InstallSummary) -> Value {
    serde_json::to_value(summary).unwrap()
}

const CSV: &str = "
kind: ClusterServiceVersion
metadata: {name: etcd.v1}
spec:
  installModes: [{type: AllNamespaces, supported: true}, {type: MultiNamespace, supported: true}, {type: OwnNamespace, supported: true}]
  install:
    spec:
      permissions:
      - serviceAccountName: etcd
        rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]
      deployments:
      - name: etcd
        spec:
          template:
            spec:
              serviceAccountName: etcd
              hostNetwork: true
              initContainers: [{name: init, image: example.com/init:1}]
              containers: [{name: main, image: example.com/main:1, securityContext: {privileged: true}}]
              volumes: [{name: host, hostPath: {path: /etc}}]
  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: check.example.com
    deploymentName: etcd
    failurePolicy: Fail
    sideEffects: None
    admissionReviewVersions: [v1]
    rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [as]}]
";

const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.example.com}
spec:
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true}, {name: v1beta1, served: true}]
";

#[test]
fn an_install_is_summarized_with_its_rights_workloads_webhooks_and_definitions() {
    let summary = value(&summary(&[CSV, DEFINITION], &["own", "other"]));
    assert_eq!(
        summary,
        json!({
            "flags": ["READS_SECRETS"],
            "permissions": [{
                "serviceAccount": "own/etcd",
                "scope": "NAMESPACE",
                "namespaces": ["own", "other"],
                "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
                "flags": ["READS_SECRETS"],
            }],
            "workloads": [{
                "name": "etcd",
                "serviceAccount": "etcd",
                "images": ["example.com/init:1", "example.com/main:1"],
                "privileged": true,
                "hostNetwork": true,
                "hostPID": false,
                "hostPaths": ["/etc"],
            }],
            "webhooks": [{
                "type": "VALIDATING",
                "name": "check.example.com",
                "rules": ["CREATE as.example.com"],
                "failurePolicy": "Fail",
                "namespaces": ["own", "other"],
            }],
            "crds": [{
                "name": "as.example.com",
                "scope": "Namespaced",
                "versions": ["v1", "v1beta1"],
                "storageVersion": "v1",
                "conversion": "None",
            }],
        })
    );
}

#[test]
fn secrets_of_the_own_namespace_are_no_risk_and_those_of_all_are() {
    assert_eq!(value(&summary(&[CSV], &["own"]))["flags"], json!([]));
    let everywhere = value(&summary(&[CSV], &[""]));
    assert_eq!(everywhere["flags"], json!(["READS_SECRETS"]));
    assert_eq!(everywhere["permissions"][0]["scope"], "CLUSTER");
}

#[test]
fn a_role_that_is_not_in_the_bundle_is_named_and_cluster_admin_is_known() {
    let binding = |role: &str| {
        format!(
            "kind: ClusterRoleBinding\nmetadata: {{name: a}}\nroleRef: {{kind: ClusterRole, name: {role}}}\nsubjects: [{{kind: ServiceAccount, name: etcd, namespace: own}}]\n"
        )
    };
    let summary = |role| value(&summary(&[CSV, &binding(role)], &["own"]));
    assert_eq!(summary("view")["permissions"][1]["foreignRole"], "view");
    assert_eq!(summary("view")["flags"], json!([]));
    assert_eq!(summary("cluster-admin")["flags"][0], "CLUSTER_ADMIN");
}

#[test]
fn two_installs_differ_by_rights_images_webhooks_and_broken_definitions() {
    let new = CSV
        .replace("verbs: [get]", "verbs: [list, watch]")
        .replace("main:1", "main:2")
        .replace("operations: [CREATE]", "operations: ['*']");
    let definition = DEFINITION
        .replace("scope: Namespaced", "scope: Cluster")
        .replace("v1,", "v2,")
        .replace("v1beta1,", "v1beta2,");
    let old = summary(&[CSV, DEFINITION], &["own"]);
    let new = summary(&[&new, &definition], &[""]);
    let difference = serde_json::to_value(new.difference_from(&old)).unwrap();
    let webhook = |operations: &str, namespaces: &[&str]| {
        json!({
            "type": "VALIDATING",
            "name": "check.example.com",
            "rules": [format!("{operations} as.example.com")],
            "failurePolicy": "Fail",
            "namespaces": namespaces,
        })
    };
    let change = |check: &str, message: &str| json!({"name": "as.example.com", "check": check, "message": message});
    assert_eq!(
        difference,
        json!({
            "rightsGained": [
                {"scope": "CLUSTER", "apiGroup": "", "resource": "namespaces", "verbs": ["get", "list", "watch"]},
                {"scope": "CLUSTER", "apiGroup": "", "resource": "secrets", "verbs": ["list", "watch"]},
            ],
            "rightsLost": [
                {"scope": "NAMESPACE", "namespace": "own", "apiGroup": "", "resource": "secrets", "verbs": ["get"]},
            ],
            "flagsGained": ["READS_SECRETS"],
            "flagsLost": [],
            "imagesAdded": ["example.com/main:2"],
            "imagesRemoved": ["example.com/main:1"],
            "webhooksAdded": [webhook("*", &[])],
            "webhooksRemoved": [webhook("CREATE", &["own"])],
            "crdChanges": [
                change("scope", "scope changes from Namespaced to Cluster"),
                change("storedVersionRemoval", "version v1, in which objects are stored, is removed"),
                change("servedVersionRemoval", "version v1 is no longer served"),
                change("servedVersionRemoval", "version v1beta1 is no longer served"),
            ],
        })
    );
}

#[test]
fn an_install_does_not_differ_from_itself() {
    let one = summary(&[CSV, DEFINITION], &["own"]);
    assert_eq!(
        one.difference_from(&one),
        install_preview::summary::InstallDifference::default()
    );
}
