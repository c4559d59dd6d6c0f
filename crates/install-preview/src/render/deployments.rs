//! Deployments.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::overrides::{self, NamedList};
use super::{ObjectName, RenderInput, RenderedObject, member, to_value};
use crate::csv::CsvDeployment;
use crate::names::WebhookNames;

/// A volume with a certificate, and where OLM mounts it.
struct CertificateVolume {
    name: &'static str,
    path: &'static str,
    certificate: &'static str,
    key: &'static str,
}

/// Volumes of deployments that serve webhooks.
const CERTIFICATE_VOLUMES: [CertificateVolume; 2] = [
    CertificateVolume {
        name: "webhook-cert",
        path: "/tmp/k8s-webhook-server/serving-certs",
        certificate: "tls.crt",
        key: "tls.key",
    },
    CertificateVolume {
        name: "apiservice-cert",
        path: "/apiserver.local.config/certificates",
        certificate: "apiserver.crt",
        key: "apiserver.key",
    },
];

/// Renders each deployment of the install strategy.
pub(super) fn deployments<'a>(input: &RenderInput<'_, '_>) -> Vec<RenderedObject<'a>> {
    let deployments = input.bundle.csv.deployments().iter();
    deployments
        .map(|deployment| render_deployment(input, deployment))
        .collect()
}

fn render_deployment<'a>(
    input: &RenderInput<'_, '_>,
    deployment: &CsvDeployment,
) -> RenderedObject<'a> {
    let mut spec = deployment.spec();
    annotate_template(input, &mut spec);
    spec["revisionHistoryLimit"] = 1.into();

    let mut webhooks = input.bundle.csv.spec.webhookdefinitions.iter();
    let serves_webhooks = webhooks.any(|webhook| webhook.deployment_name == deployment.name);
    if serves_webhooks && input.certificates.is_some() {
        let names = WebhookNames::new(&deployment.name);
        mount_certificates(&mut spec["template"]["spec"], &names.certificate);
    }

    let mut annotations = Map::new();
    if let Some(config) = input.deployment_config {
        overrides::apply(config, &mut spec, &mut annotations);
    }
    let labels = match to_value(&deployment.label) {
        Value::Object(labels) => labels,
        _ => Map::new(),
    };
    let metadata = ObjectName {
        name: &deployment.name,
        namespace: Some(input.namespace),
        labels,
        annotations,
    };
    let content = json!({"spec": spec, "status": {}});
    RenderedObject::new(("apps/v1", "Deployment"), metadata, content)
}

/// Adds the annotations of the CSV to those of the pods, and where OLM installs the operator.
fn annotate_template(input: &RenderInput<'_, '_>, spec: &mut Value) {
    let mut annotations = match to_value(&input.bundle.csv.metadata.annotations) {
        Value::Object(annotations) => annotations,
        _ => Map::new(),
    };
    let template = member(&mut spec["template"]["metadata"], "annotations");
    annotations.append(template);
    annotations.insert(
        "olm.targetNamespaces".to_owned(),
        input.targets.join(",").into(),
    );
    annotations.insert("olm.operatorNamespace".to_owned(), input.namespace.into());
    *template = annotations;
}

/// Mounts the certificate in all containers. It replaces the volumes of its names, and those that
/// are mounted where it is.
fn mount_certificates(pod: &mut Value, secret: &str) {
    let mut replaced: BTreeSet<String> = CERTIFICATE_VOLUMES
        .iter()
        .map(|volume| volume.name.to_owned())
        .collect();
    for container in pod["containers"].as_array().into_iter().flatten() {
        for mount in container["volumeMounts"].as_array().into_iter().flatten() {
            let path = mount["mountPath"].as_str();
            if CERTIFICATE_VOLUMES.iter().any(|one| Some(one.path) == path) {
                replaced.insert(mount["name"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    let is_replaced = |item: &Value| replaced.contains(item["name"].as_str().unwrap_or_default());

    let volumes = CERTIFICATE_VOLUMES.iter().map(|volume| {
        json!({
            "name": volume.name,
            "secret": {
                "secretName": secret,
                "items": [
                    {"key": "tls.crt", "path": volume.certificate},
                    {"key": "tls.key", "path": volume.key},
                ],
            },
        })
    });
    let list = NamedList::of(pod, "volumes").0;
    list.retain(|volume| !is_replaced(volume));
    list.extend(volumes);

    for container in pod["containers"].as_array_mut().into_iter().flatten() {
        let mounts = CERTIFICATE_VOLUMES
            .iter()
            .map(|volume| json!({"name": volume.name, "mountPath": volume.path}));
        let list = NamedList::of(container, "volumeMounts").0;
        list.retain(|mount| !is_replaced(mount));
        list.extend(mounts);
    }
}
