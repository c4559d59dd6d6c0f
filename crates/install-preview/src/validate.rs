//! Rules for bundles that OLM v1 checks before it renders one. All are checked, and each violation
//! is told.

use std::collections::{BTreeMap, BTreeSet};

use fbc_grammar::quote::go_quote;

use crate::bundle::RegistryBundle;
use crate::csv::CsvWebhook;
use crate::error::{PreviewError, PreviewErrorCode as Code};
use crate::targets::SupportedModes;

/// Kinds of objects that a bundle may have besides its CSV and definitions, and whether they are
/// namespaced.
const SUPPORTED_KINDS: [(&str, bool); 20] = [
    ("Service", true),
    ("ServiceAccount", true),
    ("Role", true),
    ("RoleBinding", true),
    ("PrometheusRule", true),
    ("ServiceMonitor", true),
    ("PodMonitor", true),
    ("Secret", true),
    ("ConfigMap", true),
    ("PodDisruptionBudget", true),
    ("NetworkPolicy", true),
    ("ClusterRole", false),
    ("ClusterRoleBinding", false),
    ("PriorityClass", false),
    // Upstream's list has it so, although it is namespaced.
    ("VerticalPodAutoscaler", false),
    ("ConsoleYAMLSample", false),
    ("ConsoleQuickStart", false),
    ("ConsoleCLIDownload", false),
    ("ConsoleLink", false),
    ("ConsolePlugin", false),
];

/// API groups that no rule of a webhook may name.
const FORBIDDEN_GROUPS: [&str; 2] = ["*", "olm.operatorframework.io"];

/// Group of the objects that configure webhooks, and its resources that no rule may name.
const ADMISSION_GROUP: &str = "admissionregistration.k8s.io";
const FORBIDDEN_RESOURCES: [&str; 5] = [
    "*",
    "mutatingwebhookconfiguration",
    "mutatingwebhookconfigurations",
    "validatingwebhookconfiguration",
    "validatingwebhookconfigurations",
];

/// Maximum length of a DNS subdomain.
const MAX_SUBDOMAIN_BYTES: usize = 253;

/// Maximum number of violations of one kind that are told, and of names in one.
pub(crate) const MAX_VIOLATIONS: usize = 1_000;

/// Maximum length of a name in a message that may occur for each of many other names, in bytes.
const MAX_SHOWN_NAME: usize = 2 * MAX_SUBDOMAIN_BYTES;

/// Tells whether objects of a supported kind are namespaced; `None` for other kinds.
pub(crate) fn is_namespaced(kind: &str) -> Option<bool> {
    let mut known = SUPPORTED_KINDS.iter();
    known
        .find(|(name, _)| *name == kind)
        .map(|(_, is_namespaced)| *is_namespaced)
}

/// Returns all violations.
pub(crate) fn validate(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let checks: [fn(&RegistryBundle) -> Vec<PreviewError>; 13] = [
        duplicate_deployments,
        deployment_names,
        duplicate_definitions,
        missing_definitions,
        package_name,
        conversion_install_modes,
        webhook_deployments,
        duplicate_webhooks,
        webhook_names,
        shared_conversions,
        foreign_conversions,
        webhook_rules,
        other_kinds,
    ];
    checks.iter().flat_map(|check| check(bundle)).collect()
}

fn duplicate_deployments(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let names = bundle.csv.deployments().iter().map(|one| &*one.name);
    let error = |name| {
        PreviewError::new(
            Code::DuplicateDeployment,
            format!("cluster service version contains duplicate strategy deployment spec '{name}'"),
        )
    };
    duplicates(names).into_iter().map(error).collect()
}

fn deployment_names(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let names: BTreeSet<_> = bundle
        .csv
        .deployments()
        .iter()
        .map(|one| &one.name)
        .collect();
    let errors = names.into_iter().filter_map(|name| {
        let faults = subdomain_faults(name);
        (!faults.is_empty()).then(|| {
            PreviewError::new(
                Code::InvalidDeploymentName,
                format!(
                    "invalid cluster service version strategy deployment name '{name}': {}",
                    faults.join(", ")
                ),
            )
        })
    });
    errors.collect()
}

fn duplicate_definitions(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let names = bundle.definitions.iter().map(|one| &*one.name);
    let error = |name| {
        PreviewError::new(
            Code::DuplicateDefinition,
            format!("bundle contains duplicate custom resource definition '{name}'"),
        )
    };
    duplicates(names).into_iter().map(error).collect()
}

fn missing_definitions(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let present: BTreeSet<_> = bundle.definitions.iter().map(|one| &*one.name).collect();
    let error = |name| {
        PreviewError::new(
            Code::MissingDefinition,
            format!(
                "cluster service definition references owned custom resource definition '{name}' not found in bundle"
            ),
        )
    };
    owned(bundle).difference(&present).map(error).collect()
}

fn package_name(bundle: &RegistryBundle) -> Vec<PreviewError> {
    if bundle.package.is_empty() {
        vec![PreviewError::new(
            Code::NoPackageName,
            "package name is empty",
        )]
    } else {
        Vec::new()
    }
}

fn conversion_install_modes(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let modes = SupportedModes::of(bundle);
    if modes.supports_only_all_namespaces() {
        return Vec::new();
    }
    let modes = modes.to_string();
    let modes = shown(&modes);
    let error = |webhook: &CsvWebhook| {
        PreviewError::new(
            Code::ConversionInstallModes,
            format!(
                "bundle contains conversion webhook {} and supports install modes {modes} - conversion webhooks are only supported for bundles that only support AllNamespaces install mode",
                go_quote(&webhook.generate_name)
            ),
        )
    };
    let webhooks = bundle.csv.webhooks_of(CsvWebhook::CONVERSION);
    webhooks.map(error).collect()
}

fn webhook_deployments(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let present: BTreeSet<_> = bundle
        .csv
        .deployments()
        .iter()
        .map(|one| &one.name)
        .collect();
    let mut missing: Vec<_> = bundle
        .csv
        .spec
        .webhookdefinitions
        .iter()
        .filter(|webhook| !present.contains(&webhook.deployment_name))
        .collect();
    missing.sort_by_key(|webhook| {
        (
            &webhook.deployment_name,
            &webhook.kind,
            &webhook.generate_name,
        )
    });
    let error = |webhook: &CsvWebhook| {
        PreviewError::new(
            Code::MissingWebhookDeployment,
            format!(
                "webhook of type '{}' with name '{}' references non-existent deployment '{}'",
                webhook.kind, webhook.generate_name, webhook.deployment_name
            ),
        )
    };
    missing.into_iter().map(error).collect()
}

fn duplicate_webhooks(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let webhooks = bundle.csv.spec.webhookdefinitions.iter();
    let keys = webhooks.map(|webhook| (&*webhook.kind, &*webhook.generate_name));
    let error = |(kind, name)| {
        PreviewError::new(
            Code::DuplicateWebhook,
            format!("duplicate webhook '{name}' of type '{kind}'"),
        )
    };
    duplicates(keys).into_iter().map(error).collect()
}

fn webhook_names(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let webhooks = bundle.csv.spec.webhookdefinitions.iter();
    let keys: BTreeSet<_> = webhooks
        .map(|webhook| (&*webhook.kind, &*webhook.generate_name))
        .collect();
    let errors = keys.into_iter().filter_map(|(kind, name)| {
        let faults = subdomain_faults(name);
        (!faults.is_empty()).then(|| {
            PreviewError::new(
                Code::InvalidWebhookName,
                format!(
                    "webhook of type '{kind}' has invalid name '{name}': {}",
                    faults.join(",")
                ),
            )
        })
    });
    errors.collect()
}

fn shared_conversions(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let mut by_definition: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for webhook in bundle.csv.webhooks_of(CsvWebhook::CONVERSION) {
        for definition in &webhook.conversion_crds {
            let names = by_definition.entry(definition).or_default();
            names.push(shown(&webhook.generate_name));
        }
    }
    let errors = by_definition.into_iter().filter_map(|(definition, mut names)| {
        names.sort_unstable();
        (names.len() > 1).then(|| {
            PreviewError::new(
                Code::SharedConversion,
                format!(
                    "conversion webhooks [{}] reference same custom resource definition '{definition}'",
                    names[..names.len().min(MAX_VIOLATIONS)].join(",")
                ),
            )
        })
    });
    errors.collect()
}

fn foreign_conversions(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let owned = owned(bundle);
    let mut foreign = Vec::new();
    for webhook in bundle.csv.webhooks_of(CsvWebhook::CONVERSION) {
        let definitions = webhook.conversion_crds.iter();
        foreign.extend(
            definitions
                .filter(|definition| !owned.contains(&***definition))
                .map(|definition| (shown(&webhook.generate_name), &**definition)),
        );
    }
    foreign.sort_unstable();
    let error = |(webhook, definition)| {
        PreviewError::new(
            Code::ForeignConversion,
            format!(
                "conversion webhook '{webhook}' references custom resource definition '{definition}' not owned bundle"
            ),
        )
    };
    foreign
        .into_iter()
        .take(MAX_VIOLATIONS)
        .map(error)
        .collect()
}

fn webhook_rules(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let mut errors = Vec::new();
    for webhook in &bundle.csv.spec.webhookdefinitions {
        if webhook.kind == CsvWebhook::CONVERSION {
            continue;
        }
        let name = go_quote(shown(&webhook.generate_name));
        let mut forbid = |what: String| {
            let message = format!(
                "webhook {name} contains forbidden rule: admission webhook rules cannot reference {what}"
            );
            if errors.len() < MAX_VIOLATIONS {
                errors.push(PreviewError::new(Code::ForbiddenWebhookRule, message));
            }
        };
        for rule in webhook.rules() {
            for group in strings(&rule["apiGroups"]) {
                if FORBIDDEN_GROUPS.contains(&group) {
                    forbid(format!("API group {}", go_quote(group)));
                }
                if group != ADMISSION_GROUP {
                    continue;
                }
                for resource in strings(&rule["resources"]) {
                    if FORBIDDEN_RESOURCES.contains(&&*resource.to_lowercase()) {
                        forbid(format!(
                            "resource {} for API group {}",
                            go_quote(resource),
                            go_quote(group)
                        ));
                    }
                }
            }
        }
    }
    errors
}

fn other_kinds(bundle: &RegistryBundle) -> Vec<PreviewError> {
    let others = bundle.others.iter();
    let unsupported = others.filter(|object| is_namespaced(&object.kind).is_none());
    let errors = unsupported.map(|object| {
        PreviewError::new(
            Code::UnsupportedKind,
            format!(
                "unsupported resource {} with kind {}",
                go_quote(&object.name),
                go_quote(&object.kind)
            ),
        )
    });
    errors.collect()
}

/// Names of the definitions that the CSV owns.
fn owned(bundle: &RegistryBundle) -> BTreeSet<&str> {
    let definitions = &bundle.csv.spec.customresourcedefinitions;
    definitions.owned.iter().map(|one| &*one.name).collect()
}

/// Cuts a name that is longer than any valid one.
fn shown(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_SHOWN_NAME)]
}

/// Returns what occurs more than once, sorted.
fn duplicates<K: Ord + Copy>(keys: impl Iterator<Item = K>) -> BTreeSet<K> {
    let mut seen = BTreeSet::new();
    keys.filter(|key| !seen.insert(*key)).collect()
}

/// The strings of a JSON array; none where there is no array.
pub(crate) fn strings(value: &serde_json::Value) -> impl Iterator<Item = &str> {
    let elements = value.as_array().into_iter().flatten();
    elements.filter_map(|element| element.as_str())
}

/// Returns why a name is no DNS subdomain, sorted.
fn subdomain_faults(name: &str) -> Vec<&'static str> {
    let mut faults = Vec::new();
    if !name.split('.').all(is_label) {
        faults.push(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        );
    }
    if name.len() > MAX_SUBDOMAIN_BYTES {
        faults.push("must be no more than 253 characters");
    }
    faults
}

/// Tells whether a part of a DNS name is well-formed; its length does not count.
fn is_label(label: &str) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = label.as_bytes();
    bytes.first().is_some_and(is_letter)
        && bytes.last().is_some_and(is_letter)
        && bytes.iter().all(|byte| is_letter(byte) || *byte == b'-')
}
