//! Rights of the service account by which OLM v1 up to 1.10 installs a bundle.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::permissions::RBAC;
use super::{ObjectName, RenderedObject, to_value};
use crate::csv::RbacRule;
use crate::error::PreviewError;
use crate::summary::RoleObject;
use crate::validate::is_namespaced;

/// API group of roles and bindings.
const RBAC_GROUP: &str = "rbac.authorization.k8s.io";

/// Verbs that names of objects do not narrow.
const ANY_NAME: [&str; 3] = ["create", "list", "watch"];

/// Verbs on the objects of the bundle alone.
const BY_NAME: [&str; 4] = ["get", "update", "patch", "delete"];

/// A service account that installs a bundle.
#[derive(Clone, Copy, Debug)]
pub struct InstallerAccount<'a> {
    /// Namespace of the operator, in which the account is.
    pub namespace: &'a str,
    /// Name of the account.
    pub name: &'a str,
    /// Name of the `ClusterExtension`.
    pub extension: &'a str,
}

/// Rules in one scope.
#[derive(Default)]
struct InstallerRules {
    /// Names of the objects of each resource, by group and resource.
    managed: BTreeMap<(String, String), BTreeSet<String>>,
    /// Other rules, each once.
    rules: Vec<RbacRule>,
}

/// Renders the roles of an installer's account with their bindings: it may create and manage each of
/// these objects, as `render` returns them, and has the rights that these grant, without which the API
/// server lets it create no role. A role that aggregates others needs the right to escalate any.
///
/// The roles have the name of the account, in the cluster after that of its namespace.
///
/// # Errors
/// Fails when a role or binding among the objects has a value of the wrong type.
pub fn installer_rbac(
    objects: &[RenderedObject<'_>],
    account: InstallerAccount<'_>,
) -> Result<Vec<RenderedObject<'static>>, PreviewError> {
    let mut scopes: BTreeMap<Option<String>, InstallerRules> = BTreeMap::new();
    let cluster = scopes.entry(None).or_default();
    // Clusters whose API server checks owner references need this.
    cluster.rules.push(rule(
        "olm.operatorframework.io",
        "clusterextensions/finalizers",
        &["update"],
        &[account.extension],
    ));
    for object in objects {
        let scope = scopes.entry(scope_of(object)).or_default();
        let (group, _) = object.api_version.split_once('/').unwrap_or_default();
        let key = (group.to_owned(), resource_of(&object.kind));
        let names = scope.managed.entry(key).or_default();
        names.insert(object.name.clone().into_owned());
    }
    let mut known = BTreeSet::new();
    for object in objects.iter().filter(|object| is_role(object)) {
        let role = RoleObject::read(object)?;
        known.insert((object.kind.clone(), scope_of(object), object.name.clone()));
        let scope = scopes.entry(scope_of(object)).or_default();
        for granted in role.rules.into_iter().flatten() {
            scope.add(granted);
        }
        if role.aggregation_rule.is_some() {
            scope.add(rule(RBAC_GROUP, "clusterroles", &["escalate"], &[]));
        }
    }
    for object in objects
        .iter()
        .filter(|object| object.kind.ends_with("RoleBinding"))
    {
        let role = RoleObject::read(object)?.role_ref;
        let namespace = scope_of(object).filter(|_| role.kind == "Role");
        let resource = resource_of(&role.kind);
        if !known.contains(&(role.kind.into(), namespace, role.name.clone().into())) {
            let scope = scopes.entry(scope_of(object)).or_default();
            scope.add(rule(RBAC_GROUP, &resource, &["bind"], &[&role.name]));
        }
    }
    let roles = scopes.into_iter();
    let rendered = roles
        .flat_map(|(namespace, rules)| role_with_binding(account, namespace.as_deref(), rules));
    Ok(rendered.collect())
}

impl InstallerRules {
    fn add(&mut self, rule: RbacRule) {
        if !self.rules.contains(&rule) {
            self.rules.push(rule);
        }
    }

    fn into_rules(self) -> Vec<RbacRule> {
        let mut rules = Vec::new();
        for ((group, resource), names) in self.managed {
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            rules.push(rule(&group, &resource, &ANY_NAME, &[]));
            rules.push(rule(&group, &resource, &BY_NAME, &names));
        }
        rules.extend(self.rules);
        rules
    }
}

/// Returns the namespace in which an object is created; `None` for one of the cluster, also where it
/// names a namespace.
fn scope_of(object: &RenderedObject<'_>) -> Option<String> {
    let is_of_cluster = match &*object.kind {
        "CustomResourceDefinition"
        | "MutatingWebhookConfiguration"
        | "ValidatingWebhookConfiguration" => true,
        // Upstream takes it for one of the cluster.
        "VerticalPodAutoscaler" => false,
        kind => is_namespaced(kind) == Some(false),
    };
    object.namespace.clone().filter(|_| !is_of_cluster)
}

fn is_role(object: &RenderedObject<'_>) -> bool {
    object.kind == "Role" || object.kind == "ClusterRole"
}

/// Returns the resource of a kind that a bundle may have: its plural.
fn resource_of(kind: &str) -> String {
    let singular = kind.to_ascii_lowercase();
    match singular.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if singular.ends_with('s') => format!("{singular}es"),
        None => format!("{singular}s"),
    }
}

fn rule(group: &str, resource: &str, verbs: &[&str], names: &[&str]) -> RbacRule {
    let owned = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    RbacRule {
        verbs: Some(owned(verbs)),
        api_groups: owned(&[group]),
        resources: owned(&[resource]),
        resource_names: owned(names),
        ..RbacRule::default()
    }
}

fn role_with_binding(
    account: InstallerAccount<'_>,
    namespace: Option<&str>,
    rules: InstallerRules,
) -> [RenderedObject<'static>; 2] {
    let (role_kind, binding_kind, name) = match namespace {
        Some(_) => ("Role", "RoleBinding", account.name.to_owned()),
        None => (
            "ClusterRole",
            "ClusterRoleBinding",
            format!("{}-{}", account.namespace, account.name),
        ),
    };
    let metadata = || ObjectName {
        name: &name,
        namespace,
        ..ObjectName::default()
    };
    let role: Value = json!({"rules": to_value(&rules.into_rules())});
    let binding = json!({
        "roleRef": {"apiGroup": RBAC_GROUP, "kind": role_kind, "name": name},
        "subjects": [{
            "kind": "ServiceAccount",
            "name": account.name,
            "namespace": account.namespace,
        }],
    });
    [
        RenderedObject::new((RBAC, role_kind), metadata(), role),
        RenderedObject::new((RBAC, binding_kind), metadata(), binding),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_the_plurals_of_the_kinds() {
        for (kind, resource) in [
            ("ServiceAccount", "serviceaccounts"),
            ("NetworkPolicy", "networkpolicies"),
            ("PriorityClass", "priorityclasses"),
            ("ConsoleQuickStart", "consolequickstarts"),
            (
                "MutatingWebhookConfiguration",
                "mutatingwebhookconfigurations",
            ),
        ] {
            assert_eq!(resource_of(kind), resource);
        }
    }
}
