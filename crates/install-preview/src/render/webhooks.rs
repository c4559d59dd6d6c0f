//! Configurations of webhooks, and the Services in front of them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{ObjectName, RenderInput, RenderedObject};
use crate::csv::{CsvDeployment, CsvWebhook};
use crate::names::WebhookNames;

/// Label of a namespace with its name.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Port of a Service whose webhook names none.
const DEFAULT_PORT: i32 = 443;

/// Types of webhooks that a configuration registers, each with its kind.
const CONFIGURATIONS: [(&str, &str); 2] = [
    (CsvWebhook::VALIDATING, "ValidatingWebhookConfiguration"),
    (CsvWebhook::MUTATING, "MutatingWebhookConfiguration"),
];

/// Port of a Service and where it leads to.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct WebhookPort {
    port: i32,
    /// The number of the target, by which upstream sorts; 0 for most names.
    target_number: i64,
    /// JSON of the target.
    target: String,
}

/// Renders the configuration of each validating and each mutating webhook.
pub(super) fn configurations<'a>(input: &RenderInput<'_, '_>) -> Vec<RenderedObject<'a>> {
    let webhooks = CONFIGURATIONS.iter().flat_map(|(kind, object_kind)| {
        let webhooks = input.bundle.csv.webhooks_of(kind);
        webhooks.map(|webhook| (*object_kind, webhook))
    });
    webhooks
        .map(|(kind, webhook)| configuration(input, kind, webhook))
        .collect()
}

fn configuration<'a>(
    input: &RenderInput<'_, '_>,
    kind: &'static str,
    webhook: &CsvWebhook,
) -> RenderedObject<'a> {
    let names = WebhookNames::new(&webhook.deployment_name);
    let name = &*webhook.generate_name;
    let name = name.strip_suffix('-').unwrap_or(name);
    let service = json!({
        "namespace": input.namespace,
        "name": names.service,
        "path": webhook.webhook_path,
        // As written: 0 where the webhook names none.
        "port": webhook.container_port,
    });
    let mut registration = Map::new();
    let mut set = |key: &str, value: Value| {
        if !value.is_null() {
            registration.insert(key.to_owned(), value);
        }
    };
    set("name", name.into());
    set("clientConfig", json!({"service": without_nulls(service)}));
    if !webhook.rules.is_empty() {
        set("rules", webhook.rules().collect());
    }
    set("failurePolicy", webhook.failure_policy.clone().into());
    set("matchPolicy", webhook.match_policy.clone().into());
    set("objectSelector", webhook.object_selector.clone().into());
    set("timeoutSeconds", webhook.timeout_seconds.into());
    if webhook.kind == CsvWebhook::MUTATING {
        set(
            "reinvocationPolicy",
            webhook.reinvocation_policy.clone().into(),
        );
    }
    set("namespaceSelector", namespace_selector(input));
    // Fields that Go writes also where they have no value.
    registration.insert(
        "sideEffects".to_owned(),
        webhook.side_effects.clone().into(),
    );
    registration.insert(
        "admissionReviewVersions".to_owned(),
        webhook.admission_review_versions.clone().into(),
    );

    let mut annotations = Map::new();
    if let Some(provider) = input.certificates {
        let (key, value) = provider.injection(input.namespace, &names);
        annotations.insert(key.to_owned(), value.into());
    }
    let metadata = ObjectName {
        name,
        // Upstream sets it, although the kinds have no namespace.
        namespace: Some(input.namespace),
        annotations,
        ..ObjectName::default()
    };
    RenderedObject::new(
        ("admissionregistration.k8s.io/v1", kind),
        metadata,
        json!({"webhooks": [registration]}),
    )
}

/// Selects the watched namespaces; `null` when all are.
fn namespace_selector(input: &RenderInput<'_, '_>) -> Value {
    if input.targets.iter().any(String::is_empty) || input.targets.is_empty() {
        return Value::Null;
    }
    json!({"matchExpressions": [{
        "key": NAMESPACE_NAME,
        "operator": "In",
        "values": input.targets,
    }]})
}

/// Renders a Service for each deployment with webhooks.
pub(super) fn services<'a>(input: &RenderInput<'_, '_>) -> Vec<RenderedObject<'a>> {
    let mut ports: BTreeMap<&str, Vec<WebhookPort>> = BTreeMap::new();
    for webhook in &input.bundle.csv.spec.webhookdefinitions {
        let of_deployment = ports.entry(&webhook.deployment_name).or_default();
        of_deployment.push(WebhookPort::of(webhook));
    }
    let mut objects = Vec::new();
    for deployment in input.bundle.csv.deployments() {
        if let Some(ports) = ports.get_mut(&*deployment.name) {
            ports.sort_unstable();
            ports.dedup();
            objects.push(service(input, deployment, ports));
        }
    }
    objects
}

fn service<'a>(
    input: &RenderInput<'_, '_>,
    deployment: &CsvDeployment,
    ports: &[WebhookPort],
) -> RenderedObject<'a> {
    let names = WebhookNames::new(&deployment.name);
    let mut annotations = Map::new();
    let annotation = input
        .certificates
        .and_then(|provider| provider.service_annotation(&names));
    if let Some((key, value)) = annotation {
        annotations.insert(key.to_owned(), value.into());
    }
    let metadata = ObjectName {
        name: &names.service,
        namespace: Some(input.namespace),
        annotations,
        ..ObjectName::default()
    };
    let ports: Vec<_> = ports.iter().map(WebhookPort::value).collect();
    let selector = deployment.spec()["selector"]["matchLabels"].take();
    let spec = without_nulls(json!({"ports": ports, "selector": selector}));
    let content = json!({"spec": spec, "status": {"loadBalancer": {}}});
    RenderedObject::new(("v1", "Service"), metadata, content)
}

impl WebhookPort {
    fn of(webhook: &CsvWebhook) -> Self {
        let port = match webhook.container_port {
            port if port > 0 => port,
            _ => DEFAULT_PORT,
        };
        let target = webhook.target_port.clone().unwrap_or_else(|| port.into());
        let written = target.as_str().and_then(|name| name.parse().ok());
        Self {
            port,
            target_number: target.as_i64().or(written).unwrap_or_default(),
            target: target.to_string(),
        }
    }

    fn value(&self) -> Value {
        let target: Value = serde_json::from_str(&self.target).expect("it was written as JSON");
        json!({"name": self.port.to_string(), "port": self.port, "targetPort": target})
    }
}

/// Removes the members of an object that are `null`.
fn without_nulls(mut object: Value) -> Value {
    if let Value::Object(members) = &mut object {
        members.retain(|_, value| !value.is_null());
    }
    object
}
