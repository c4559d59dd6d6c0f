//! Summary of rendered objects: rights, workloads, webhooks and custom resource definitions, and how
//! they differ from those of another bundle.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::crd_upgrade::{
    self, ComparisonBudget, FoundChange, MAX_COMPARED_DEFINITION_BYTES, SERVED_VERSION_REMOVAL,
    TOO_LARGE,
};
use crate::csv::RbacRule;
use crate::error::{PreviewError, PreviewErrorCode};
use crate::render::{RenderedObject, Rendering};
use crate::rights::{
    MAX_RIGHT_ATOMS, MAX_RIGHT_BYTES, MAX_RIGHT_PATHS, RightAtom, Rights, RightsFlag, RightsScope,
    flags,
};

/// Role that every cluster has, and that may do everything.
const CLUSTER_ADMIN: &str = "cluster-admin";

/// Maximum number of subjects of all bindings of a bundle.
pub const MAX_BUNDLE_SUBJECTS: usize = 5_000;

/// Maximum size of the rules of all these subjects, in bytes of JSON.
pub const MAX_SUBJECT_RULE_BYTES: usize = 16 << 20;

/// Summary of an install.
#[derive(Clone, Debug, Default, Serialize)]
pub struct InstallSummary {
    /// Flags of all permissions.
    pub flags: BTreeSet<RightsFlag>,
    /// Rights of each service account.
    pub permissions: Vec<AccountPermission>,
    /// Deployments.
    pub workloads: Vec<WorkloadSummary>,
    /// Webhooks that see requests of other clients.
    pub webhooks: Vec<WebhookSummary>,
    /// Custom resource definitions.
    pub crds: Vec<DefinitionSummary>,
    #[serde(skip)]
    rights: Rights,
    /// JSON of each custom resource definition, by name.
    #[serde(skip)]
    definitions: BTreeMap<String, String>,
}

/// Rights that a binding gives to a service account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountPermission {
    /// Service account, as NAMESPACE/NAME; of another subject, its name.
    pub service_account: String,
    /// Scope in which the rights hold.
    pub scope: RightsScope,
    /// Namespaces of that scope.
    pub namespaces: Vec<String>,
    /// Role that the bundle does not contain, so that its rules are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub foreign_role: Option<String>,
    /// Rules of the role.
    pub rules: Vec<RbacRule>,
    /// Risks of the rules.
    pub flags: BTreeSet<RightsFlag>,
}

/// A deployment, and what it may do on its node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadSummary {
    /// Name.
    pub name: String,
    /// Service account of its pods.
    pub service_account: String,
    /// Images of its containers, sorted.
    pub images: BTreeSet<String>,
    /// `true` if a container is privileged.
    pub privileged: bool,
    /// `true` if its pods use the network of their node.
    pub host_network: bool,
    /// `true` if its pods see the processes of their node.
    #[serde(rename = "hostPID")]
    pub host_pid: bool,
    /// Paths of its node that it mounts, sorted.
    pub host_paths: BTreeSet<String>,
}

/// A webhook.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookSummary {
    /// `VALIDATING`, `MUTATING` or `CONVERSION`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Name; of a conversion, that of the custom resource definition.
    pub name: String,
    /// Requests that it sees, as `OPERATION RESOURCE.GROUP`, sorted.
    pub rules: BTreeSet<String>,
    /// Failure policy: `Fail` or `Ignore`.
    pub failure_policy: Option<String>,
    /// Namespaces whose objects it sees; empty stands for all.
    pub namespaces: Vec<String>,
}

/// A custom resource definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionSummary {
    /// Name.
    pub name: String,
    /// `Namespaced` or `Cluster`.
    pub scope: String,
    /// Versions that are served, in their order.
    pub versions: Vec<String>,
    /// Version in which objects are stored.
    pub storage_version: Option<String>,
    /// Conversion strategy of its versions.
    pub conversion: String,
}

/// Differences of an install from the one of another bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InstallDifference {
    /// Rights that only the new bundle has.
    pub rights_gained: Vec<RightGroup>,
    /// Rights that only the old bundle has.
    pub rights_lost: Vec<RightGroup>,
    /// Flags that only the new bundle has.
    pub flags_gained: BTreeSet<RightsFlag>,
    /// Flags that only the old bundle has.
    pub flags_lost: BTreeSet<RightsFlag>,
    /// Images that only the new bundle has.
    pub images_added: BTreeSet<String>,
    /// Images that only the old bundle has.
    pub images_removed: BTreeSet<String>,
    /// Webhooks that only the new bundle has.
    pub webhooks_added: BTreeSet<WebhookSummary>,
    /// Webhooks that only the old bundle has.
    pub webhooks_removed: BTreeSet<WebhookSummary>,
    /// Changes of custom resource definitions that an upgrade may refuse.
    pub crd_changes: Vec<DefinitionChange>,
}

/// Verbs on a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RightGroup {
    /// Scope in which the right holds.
    pub scope: RightsScope,
    /// Namespace of that scope.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// API group; absent for a path that is no resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// Resource, or a path.
    pub resource: String,
    /// Name of the only object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// Verbs, sorted.
    pub verbs: BTreeSet<String>,
}

/// A change of a custom resource definition that breaks objects or clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionChange {
    /// Name of the definition.
    pub name: String,
    /// Version, or `OLD -> NEW` for two served versions; absent for the whole definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Path of the field in the schema, which begins with `^`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Check of OLM v1 that refuses it; `servedVersionRemoval` and `tooLarge` are none.
    pub check: &'static str,
    /// Description of the change.
    pub message: String,
}

impl DefinitionChange {
    fn new(name: &str, change: FoundChange) -> Self {
        Self {
            name: name.to_owned(),
            version: change.version,
            field: change.field,
            check: change.check,
            message: change.message,
        }
    }

    /// Tells whether OLM v1 refuses an upgrade with this change.
    pub fn is_refused(&self) -> bool {
        ![SERVED_VERSION_REMOVAL, TOO_LARGE].contains(&self.check)
    }
}

/// A role or binding, as it is rendered.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct RoleObject {
    metadata: RoleMetadata,
    pub(crate) rules: Option<Vec<RbacRule>>,
    #[serde(rename = "aggregationRule")]
    pub(crate) aggregation_rule: Option<Value>,
    #[serde(rename = "roleRef")]
    pub(crate) role_ref: RoleReference,
    subjects: Option<Vec<RoleSubject>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RoleMetadata {
    name: String,
    namespace: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct RoleReference {
    pub(crate) kind: String,
    pub(crate) name: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct RoleSubject {
    kind: String,
    name: String,
    namespace: Option<String>,
}

/// Fields that are read of a custom resource definition.
#[derive(Deserialize)]
struct DefinitionObject {
    spec: DefinitionSpecObject,
}

#[derive(Deserialize)]
struct DefinitionSpecObject {
    #[serde(default)]
    scope: String,
    versions: Option<Vec<DefinitionVersion>>,
    conversion: Option<DefinitionConversion>,
}

#[derive(Deserialize)]
struct DefinitionVersion {
    name: String,
    #[serde(default)]
    served: bool,
    #[serde(default)]
    storage: bool,
}

#[derive(Deserialize)]
struct DefinitionConversion {
    strategy: String,
}

impl InstallSummary {
    /// Summarizes rendered objects. `install_namespace` is the one of the operator.
    ///
    /// # Errors
    /// Fails when a role has rules of another type, or when there are too many rights.
    pub fn of(rendering: &Rendering<'_>, install_namespace: &str) -> Result<Self, PreviewError> {
        let mut summary = Self::default();
        summary.add_permissions(&rendering.objects, install_namespace)?;
        for object in &rendering.objects {
            match &*object.kind {
                "Deployment" => summary.workloads.push(workload(&object.value())),
                "ValidatingWebhookConfiguration" => {
                    summary
                        .webhooks
                        .extend(webhooks("VALIDATING", &object.value()));
                }
                "MutatingWebhookConfiguration" => {
                    summary
                        .webhooks
                        .extend(webhooks("MUTATING", &object.value()));
                }
                "CustomResourceDefinition" => summary.add_definition(object)?,
                _ => {}
            }
        }
        Ok(summary)
    }

    /// Reads bindings with their roles.
    fn add_permissions(
        &mut self,
        objects: &[RenderedObject<'_>],
        install_namespace: &str,
    ) -> Result<(), PreviewError> {
        let mut roles = BTreeMap::new();
        let mut bindings = Vec::new();
        let mut subjects = 0;
        let mut rule_bytes = 0;
        for object in objects {
            let is_of_cluster = match &*object.kind {
                "Role" | "RoleBinding" => false,
                "ClusterRole" | "ClusterRoleBinding" => true,
                _ => continue,
            };
            let read = RoleObject::read(object)?;
            if object.kind.ends_with("Binding") {
                bindings.push((is_of_cluster, read));
            } else {
                let namespace = read.metadata.namespace.clone().filter(|_| !is_of_cluster);
                let key = (namespace, read.metadata.name.clone());
                roles.insert(key, (read.rules.unwrap_or_default(), object.json.len()));
            }
        }
        for (is_of_cluster, binding) in &bindings {
            let namespace = binding
                .metadata
                .namespace
                .clone()
                .filter(|_| !is_of_cluster);
            let role = &binding.role_ref;
            let home = namespace.clone().filter(|_| role.kind == "Role");
            let found = roles.get(&(home, role.name.clone()));
            let size = found.map_or(0, |(_, bytes)| *bytes);
            let (allowed, foreign_role) = match found {
                Some((known, _)) => (known.clone(), None),
                None if role.kind == "ClusterRole" && role.name == CLUSTER_ADMIN => {
                    (vec![everything()], Some(role.name.clone()))
                }
                None => (Vec::new(), Some(role.name.clone())),
            };
            for subject in binding.subjects.iter().flatten() {
                subjects += 1;
                rule_bytes += size;
                if subjects > MAX_BUNDLE_SUBJECTS || rule_bytes > MAX_SUBJECT_RULE_BYTES {
                    let message = format!(
                        "the bindings have more than {MAX_BUNDLE_SUBJECTS} subjects, or give them rules of more than {MAX_SUBJECT_RULE_BYTES} bytes"
                    );
                    return Err(PreviewError::new(PreviewErrorCode::TooLarge, message));
                }
                let permission = AccountPermission {
                    service_account: subject.display(),
                    scope: match namespace {
                        None => RightsScope::Cluster,
                        Some(_) => RightsScope::Namespace,
                    },
                    namespaces: namespace.iter().cloned().collect(),
                    foreign_role: foreign_role.clone(),
                    rules: allowed.clone(),
                    flags: BTreeSet::new(),
                };
                self.add_permission(permission, install_namespace)?;
            }
        }
        Ok(())
    }

    fn add_permission(
        &mut self,
        mut permission: AccountPermission,
        install_namespace: &str,
    ) -> Result<(), PreviewError> {
        let namespace = permission.namespaces.first().map(String::as_str);
        permission.flags = flags(
            &permission.rules,
            permission.scope,
            namespace == Some(install_namespace),
        );
        self.flags.extend(&permission.flags);
        if !self.rights.add(&permission.rules, namespace) {
            let message = format!(
                "the bundle has more than {MAX_RIGHT_ATOMS} rights, {MAX_RIGHT_PATHS} paths or {MAX_RIGHT_BYTES} bytes of both"
            );
            return Err(PreviewError::new(PreviewErrorCode::TooLarge, message));
        }
        // The same role is bound in each watched namespace.
        let same = self.permissions.iter_mut().find(|other| {
            other.scope == RightsScope::Namespace
                && permission.scope == RightsScope::Namespace
                && other.service_account == permission.service_account
                && other.rules == permission.rules
                && other.foreign_role == permission.foreign_role
        });
        match same {
            Some(same) => {
                same.namespaces.extend(permission.namespaces);
                same.flags.extend(permission.flags);
            }
            None => self.permissions.push(permission),
        }
        Ok(())
    }

    fn add_definition(&mut self, object: &RenderedObject<'_>) -> Result<(), PreviewError> {
        let read: DefinitionObject = serde_json::from_str(&object.json).map_err(|error| {
            let message = format!("cannot read definition {:?}: {error}", object.name);
            PreviewError::new(PreviewErrorCode::UnreadableManifest, message)
        })?;
        self.definitions
            .insert(object.name.to_string(), object.json.to_string());
        let versions = read.spec.versions.unwrap_or_default();
        let conversion = read.spec.conversion.map(|conversion| conversion.strategy);
        let stored = versions.iter().find(|version| version.storage);
        let summary = DefinitionSummary {
            name: object.name.clone().into_owned(),
            scope: read.spec.scope,
            storage_version: stored.map(|version| version.name.clone()),
            versions: versions
                .into_iter()
                .filter(|version| version.served)
                .map(|version| version.name)
                .collect(),
            conversion: conversion.unwrap_or_else(|| "None".to_owned()),
        };
        if summary.conversion == "Webhook" {
            self.webhooks.push(WebhookSummary {
                kind: "CONVERSION",
                name: summary.name.clone(),
                rules: BTreeSet::new(),
                failure_policy: None,
                namespaces: Vec::new(),
            });
        }
        self.crds.push(summary);
        Ok(())
    }

    /// Returns how this install differs from an older one.
    pub fn difference_from(&self, old: &Self) -> InstallDifference {
        let images = |summary: &Self| -> BTreeSet<String> {
            let workloads = summary.workloads.iter();
            workloads.flat_map(|one| one.images.clone()).collect()
        };
        let webhooks = |summary: &Self| -> BTreeSet<WebhookSummary> {
            summary.webhooks.iter().cloned().collect()
        };
        InstallDifference {
            rights_gained: grouped(&self.rights.beyond(&old.rights)),
            rights_lost: grouped(&old.rights.beyond(&self.rights)),
            flags_gained: &self.flags - &old.flags,
            flags_lost: &old.flags - &self.flags,
            images_added: &images(self) - &images(old),
            images_removed: &images(old) - &images(self),
            webhooks_added: &webhooks(self) - &webhooks(old),
            webhooks_removed: &webhooks(old) - &webhooks(self),
            crd_changes: self.definition_changes(old),
        }
    }

    fn definition_changes(&self, old: &Self) -> Vec<DefinitionChange> {
        let mut changes = Vec::new();
        let mut budget = ComparisonBudget::default();
        for (name, after) in &self.definitions {
            let Some(before) = old.definitions.get(name).filter(|before| *before != after) else {
                continue;
            };
            if before.len().max(after.len()) > MAX_COMPARED_DEFINITION_BYTES {
                changes.push(DefinitionChange::new(name, FoundChange::too_large()));
                continue;
            }
            let parsed = |json: &String| -> Value {
                serde_json::from_str(json).expect("a definition is rendered as JSON")
            };
            let mut found = Vec::new();
            let compared =
                crd_upgrade::compare(&parsed(before), &parsed(after), &mut budget, &mut found);
            if compared.is_err() {
                found.push(FoundChange::too_large());
            }
            let found = found.into_iter();
            changes.extend(found.map(|change| DefinitionChange::new(name, change)));
            if compared.is_err() {
                break;
            }
        }
        changes
    }
}

impl RoleObject {
    pub(crate) fn read(object: &RenderedObject<'_>) -> Result<Self, PreviewError> {
        serde_json::from_str(&object.json).map_err(|error| {
            let message = format!("cannot read {} {:?}: {error}", object.kind, object.name);
            PreviewError::new(PreviewErrorCode::UnreadableManifest, message)
        })
    }
}

impl RoleSubject {
    /// Account, as NAMESPACE/NAME; other subjects by their names.
    fn display(&self) -> String {
        match &self.namespace {
            Some(namespace) if self.kind == "ServiceAccount" => {
                format!("{namespace}/{}", self.name)
            }
            _ => self.name.clone(),
        }
    }
}

fn everything() -> RbacRule {
    let all = || vec!["*".to_owned()];
    RbacRule {
        verbs: Some(all()),
        api_groups: all(),
        resources: all(),
        ..RbacRule::default()
    }
}

fn workload(object: &Value) -> WorkloadSummary {
    let pod = &object["spec"]["template"]["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let is_set = |value: &Value| value.as_bool().unwrap_or_default();
    let mut summary = WorkloadSummary {
        name: text(&object["metadata"]["name"]),
        service_account: match text(&pod["serviceAccountName"]) {
            name if name.is_empty() => "default".to_owned(),
            name => name,
        },
        host_network: is_set(&pod["hostNetwork"]),
        host_pid: is_set(&pod["hostPID"]),
        ..WorkloadSummary::default()
    };
    let lists = ["initContainers", "containers"].map(|name| pod[name].as_array());
    for container in lists.into_iter().flatten().flatten() {
        summary.images.insert(text(&container["image"]));
        summary.privileged |= is_set(&container["securityContext"]["privileged"]);
    }
    for volume in pod["volumes"].as_array().into_iter().flatten() {
        if let Some(path) = volume["hostPath"]["path"].as_str() {
            summary.host_paths.insert(path.to_owned());
        }
    }
    summary
}

fn webhooks(kind: &'static str, object: &Value) -> Vec<WebhookSummary> {
    let webhooks = object["webhooks"].as_array().into_iter().flatten();
    let summaries = webhooks.map(|webhook| WebhookSummary {
        kind,
        name: webhook["name"].as_str().unwrap_or_default().to_owned(),
        rules: webhook_rules(&webhook["rules"]),
        failure_policy: webhook["failurePolicy"].as_str().map(str::to_owned),
        namespaces: strings(&webhook["namespaceSelector"]["matchExpressions"][0]["values"]),
    });
    summaries.collect()
}

fn webhook_rules(rules: &Value) -> BTreeSet<String> {
    let mut texts = BTreeSet::new();
    for rule in rules.as_array().into_iter().flatten() {
        let groups = strings(&rule["apiGroups"]).join(",");
        let resources = strings(&rule["resources"]).join(",");
        let operations = strings(&rule["operations"]).join(",");
        texts.insert(format!("{operations} {resources}.{groups}"));
    }
    texts
}

fn strings(value: &Value) -> Vec<String> {
    crate::validate::strings(value).map(str::to_owned).collect()
}

/// Joins the verbs of rights on the same resource.
fn grouped(atoms: &[&RightAtom]) -> Vec<RightGroup> {
    let mut groups: Vec<RightGroup> = Vec::new();
    // Sorted atoms of one resource follow each other.
    for atom in atoms {
        let same = groups.last_mut().filter(|group| {
            group.namespace == atom.namespace
                && group.api_group == atom.group
                && group.resource == atom.resource
                && group.resource_name == atom.name
        });
        if let Some(group) = same {
            group.verbs.insert(atom.verb.clone());
            continue;
        }
        groups.push(RightGroup {
            scope: match atom.namespace {
                None => RightsScope::Cluster,
                Some(_) => RightsScope::Namespace,
            },
            namespace: atom.namespace.clone(),
            api_group: atom.group.clone(),
            resource: atom.resource.clone(),
            resource_name: atom.name.clone(),
            verbs: BTreeSet::from([atom.verb.clone()]),
        });
    }
    groups
}
