//! Renders a bundle to the objects that an install creates, as the OLM v1 controller does.
//!
//! Objects come in the order in which upstream's generators make them. Where upstream writes fields
//! without a value (`status: {}`), they are written too.

mod certificates;
mod deployments;
mod installer;
mod overrides;
mod permissions;
mod webhooks;

use std::borrow::Cow;
use std::collections::BTreeMap;

use fbc_read::json::JsonValue;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use crate::bundle::{DefinitionManifest, OtherManifest, RegistryBundle};
use crate::csv::CsvWebhook;
use crate::error::{PreviewError, PreviewErrorCode};
use crate::go_json;
use crate::names::WebhookNames;
use crate::targets::SupportedModes;
use crate::validate::{is_namespaced, validate};

pub use certificates::CertificateProvider;
pub use installer::{InstallerAccount, installer_rbac};
pub use overrides::DeploymentConfig;

/// Maximum size of what an install repeats, in bytes: the permissions for each watched namespace, and
/// the annotations of the CSV in each deployment.
pub const MAX_REPEATED_BYTES: usize = 32 << 20;

/// Settings of an install: namespaces, certificates and the deployment configuration.
#[derive(Debug, Default)]
pub struct RenderOptions {
    /// Namespace of the operator.
    pub install_namespace: String,
    /// Namespaces that it watches; empty stands for the default of the bundle, and one empty name
    /// for all namespaces.
    pub watch_namespaces: Vec<String>,
    /// Provider of certificates for webhooks.
    pub certificates: Option<CertificateProvider>,
    /// Changes to the deployments.
    pub deployment_config: Option<DeploymentConfig>,
}

/// Rendered objects with the namespaces that the operator watches.
#[derive(Debug)]
pub struct Rendering<'a> {
    /// Watched namespaces; one empty name stands for all.
    pub target_namespaces: Vec<String>,
    /// Objects in the order of upstream.
    pub objects: Vec<RenderedObject<'a>>,
}

/// An object that an install creates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedObject<'a> {
    /// API version, with the group.
    pub api_version: Cow<'a, str>,
    /// Kind.
    pub kind: Cow<'a, str>,
    /// Namespace; `None` where the object has none.
    pub namespace: Option<String>,
    /// Name.
    pub name: Cow<'a, str>,
    /// The object as JSON.
    pub json: Cow<'a, str>,
}

/// Input of the generators.
struct RenderInput<'a, 'o> {
    bundle: &'a RegistryBundle,
    namespace: &'o str,
    targets: &'o [String],
    certificates: Option<CertificateProvider>,
    deployment_config: Option<&'o DeploymentConfig>,
}

/// Renders a bundle.
///
/// # Errors
/// Returns every reason against the bundle, or else the one against the options.
pub fn render<'a>(
    bundle: &'a RegistryBundle,
    options: &RenderOptions,
) -> Result<Rendering<'a>, Vec<PreviewError>> {
    let errors = validate(bundle);
    if !errors.is_empty() {
        return Err(errors);
    }
    let modes = SupportedModes::of(bundle);
    let targets = modes
        .targets(&options.install_namespace, &options.watch_namespaces)
        .map_err(|error| vec![error])?;
    let input = RenderInput {
        bundle,
        namespace: &options.install_namespace,
        targets: &targets,
        certificates: options.certificates,
        deployment_config: options.deployment_config.as_ref(),
    };

    if let Some(error) = input.too_large() {
        return Err(vec![error]);
    }
    let mut objects = permissions::service_accounts(&input);
    objects.extend(permissions::roles(&input));
    objects.extend(permissions::cluster_roles(&input));
    for definition in &bundle.definitions {
        objects.push(render_definition(&input, definition).map_err(|error| vec![error])?);
    }
    objects.extend(others(&input));
    objects.extend(deployments::deployments(&input));
    objects.extend(webhooks::configurations(&input));
    objects.extend(webhooks::services(&input));
    objects.extend(certificates::objects(&input));
    Ok(Rendering {
        target_namespaces: targets,
        objects,
    })
}

/// Returns every reason for which the OLM v1 controller refuses to install the bundle, whatever
/// namespaces it is installed for.
pub fn refusals(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let mut errors = validate(bundle);
    let converted = bundle.definitions.iter().filter(|definition| {
        let mut webhooks = bundle.csv.webhooks_of(CsvWebhook::CONVERSION);
        webhooks.any(|webhook| webhook.conversion_crds.contains(&definition.name))
    });
    errors.extend(converted.filter_map(preserved_fields));
    errors
}

impl RenderInput<'_, '_> {
    /// Returns the reason against an install that repeats too much.
    fn too_large(&self) -> Option<PreviewError> {
        let csv = &self.bundle.csv;
        let permissions = csv.spec.install.spec.permissions.iter();
        let permission_bytes: usize = permissions.map(|one| go_json::to_string(one).len()).sum();
        let annotations = csv.metadata.annotations.iter();
        let annotation_bytes: usize = annotations.map(|(key, text)| key.len() + text.len()).sum();
        let target_bytes: usize = self.targets.iter().map(String::len).sum();
        let repeated = permission_bytes
            .saturating_mul(self.targets.len())
            .saturating_add(
                (annotation_bytes + target_bytes).saturating_mul(csv.deployments().len()),
            );
        (repeated > MAX_REPEATED_BYTES).then(|| {
            let message = format!(
                "an install would repeat permissions and annotations of {repeated} bytes: at most {MAX_REPEATED_BYTES} are rendered"
            );
            PreviewError::new(PreviewErrorCode::TooLarge, message)
        })
    }

    /// Tells whether the operator watches all namespaces.
    fn is_for_all_namespaces(&self) -> bool {
        self.targets == [""]
    }
}

impl RenderedObject<'_> {
    /// Creates an object; its metadata is completed by its name and namespace.
    fn new(kind: (&'static str, &'static str), metadata: ObjectName<'_>, content: Value) -> Self {
        let (api_version, kind) = kind;
        let mut object = match content {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        let mut fields = Map::new();
        for (field, map) in [
            ("annotations", metadata.annotations),
            ("labels", metadata.labels),
        ] {
            if !map.is_empty() {
                fields.insert(field.to_owned(), Value::Object(map));
            }
        }
        fields.insert("name".to_owned(), metadata.name.into());
        if let Some(namespace) = metadata.namespace {
            fields.insert("namespace".to_owned(), namespace.into());
        }
        object.insert("apiVersion".to_owned(), api_version.into());
        object.insert("kind".to_owned(), kind.into());
        object.insert("metadata".to_owned(), Value::Object(fields));
        Self {
            api_version: api_version.into(),
            kind: kind.into(),
            namespace: metadata.namespace.map(str::to_owned),
            name: metadata.name.to_owned().into(),
            json: Value::Object(object).to_string().into(),
        }
    }

    /// Copies what the object borrows of its bundle.
    pub fn into_owned(self) -> RenderedObject<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        RenderedObject {
            api_version: owned(self.api_version),
            kind: owned(self.kind),
            namespace: self.namespace,
            name: owned(self.name),
            json: owned(self.json),
        }
    }

    /// Parses the object.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.json).expect("an object is rendered as JSON")
    }
}

/// Metadata of a rendered object.
#[derive(Default)]
struct ObjectName<'a> {
    name: &'a str,
    namespace: Option<&'a str>,
    labels: Map<String, Value>,
    annotations: Map<String, Value>,
}

/// Renders a custom resource definition, with its conversion webhook, if it has one.
fn render_definition<'a>(
    input: &RenderInput<'a, '_>,
    definition: &'a DefinitionManifest,
) -> Result<RenderedObject<'a>, PreviewError> {
    let mut webhooks = input.bundle.csv.webhooks_of(CsvWebhook::CONVERSION);
    let webhook = webhooks.find(|webhook| webhook.conversion_crds.contains(&definition.name));
    let Some(webhook) = webhook else {
        return Ok(RenderedObject {
            api_version: Cow::Borrowed(&definition.api_version),
            kind: Cow::Borrowed("CustomResourceDefinition"),
            namespace: None,
            name: Cow::Borrowed(&definition.name),
            json: Cow::Borrowed(&definition.json),
        });
    };
    if let Some(error) = preserved_fields(definition) {
        return Err(error);
    }

    let names = WebhookNames::new(&webhook.deployment_name);
    let conversion = json!({
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": {"service": {
                "namespace": input.namespace,
                "name": names.service,
                "path": webhook.webhook_path.as_deref().unwrap_or("/"),
                "port": webhook.container_port,
            }},
            "conversionReviewVersions": webhook.admission_review_versions,
        },
    });
    // The schemas, which are nearly all of a definition, stay text: parsing them took most of the
    // time of a rendering.
    let mut members = members_of(&definition.json);
    let conversion = raw(&conversion);
    let mut spec = members_of(members["spec"].get());
    spec.insert("conversion", &conversion);
    let spec = raw(&spec);
    members.insert("spec", &spec);
    let mut head = json!({ "metadata": metadata_of(&definition.json) });
    if let Some(provider) = input.certificates {
        let (key, value) = provider.injection(input.namespace, &names);
        set_annotation(&mut head, key, value);
    }
    let metadata = raw(&head["metadata"]);
    members.insert("metadata", &metadata);
    Ok(RenderedObject {
        api_version: Cow::Borrowed(&definition.api_version),
        kind: Cow::Borrowed("CustomResourceDefinition"),
        namespace: None,
        name: Cow::Borrowed(&definition.name),
        json: raw(&members).get().to_owned().into(),
    })
}

/// Returns the members of an object, each as its text.
fn members_of(json: &str) -> BTreeMap<&str, &RawValue> {
    serde_json::from_str(json).expect("a definition was written as JSON, without escapes in names")
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("it is JSON")
}

/// Renders the other objects of the bundle; namespaced ones go to the namespace of the operator.
fn others<'a>(input: &RenderInput<'a, '_>) -> Vec<RenderedObject<'a>> {
    let others = input.bundle.others.iter();
    let rendered = others.map(|other| {
        let mut metadata = metadata_of(&other.json);
        let mut rendered = RenderedObject {
            api_version: Cow::Borrowed(&other.api_version),
            kind: Cow::Borrowed(&other.kind),
            namespace: None,
            name: Cow::Borrowed(&other.name),
            json: Cow::Borrowed(&other.json),
        };
        if is_namespaced(&other.kind) == Some(true) {
            metadata.insert("namespace".to_owned(), input.namespace.into());
            rendered.namespace = Some(input.namespace.to_owned());
            rendered.json = with_metadata(other, metadata).into();
        } else {
            let namespace = metadata.get("namespace").and_then(Value::as_str);
            rendered.namespace = namespace.filter(|name| !name.is_empty()).map(str::to_owned);
        }
        rendered
    });
    rendered.collect()
}

/// Parses the metadata of an object; empty where it has none.
fn metadata_of(json: &str) -> Map<String, Value> {
    let fields = JsonValue::new(json.as_bytes()).fields(["metadata"]);
    let metadata = fields.ok().and_then(|[metadata]| metadata);
    let parsed = metadata.and_then(|metadata| serde_json::from_slice(metadata.raw()).ok());
    parsed.unwrap_or_default()
}

/// Replaces the metadata and the kind of an object, whose other members are not parsed: they may be
/// large.
fn with_metadata(other: &OtherManifest, metadata: Map<String, Value>) -> String {
    let members = JsonValue::new(other.json.as_bytes()).members();
    let members = members.expect("an object was read");
    let mut text = format!(
        "{{\"kind\":{},\"metadata\":{}",
        Value::from(&*other.kind),
        Value::Object(metadata)
    );
    for (key, value) in members {
        if !key.is("kind") && !key.is("metadata") {
            for part in [&b","[..], key.raw(), b":", value.raw()] {
                text.push_str(std::str::from_utf8(part).expect("a manifest is UTF-8"));
            }
        }
    }
    text.push('}');
    text
}

/// Returns a member of an object that is an object, which is created where it is none.
fn member<'v>(object: &'v mut Value, name: &str) -> &'v mut Map<String, Value> {
    let value = &mut object[name];
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was made an object")
}

fn set_annotation(object: &mut Value, key: &str, value: String) {
    let annotations = member(&mut object["metadata"], "annotations");
    annotations.insert(key.to_owned(), value.into());
}

/// Converts a value, all of whose maps have strings as keys, to JSON.
fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("maps have strings as keys")
}

/// Returns the reason against a converted definition that preserves unknown fields.
fn preserved_fields(definition: &DefinitionManifest) -> Option<PreviewError> {
    definition.preserves_unknown_fields.then(|| {
        let message = format!(
            "custom resource definition '{}' must have .spec.preserveUnknownFields set to false to let API Server call webhook to do the conversion",
            definition.name
        );
        PreviewError::new(PreviewErrorCode::PreservesUnknownFields, message)
    })
}
