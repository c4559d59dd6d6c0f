//! Service accounts, roles and their bindings.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{ObjectName, RenderInput, RenderedObject, to_value};
use crate::csv::{CsvPermission, RbacRule};
use crate::names;

/// Service account of pods that name none; every namespace has it.
const DEFAULT_ACCOUNT: &str = "default";

/// API version of roles and bindings.
pub(super) const RBAC: &str = "rbac.authorization.k8s.io/v1";

/// Kinds of a role and its binding.
#[derive(Clone, Copy)]
struct RoleKinds {
    role: &'static str,
    binding: &'static str,
}

const NAMESPACED: RoleKinds = RoleKinds {
    role: "Role",
    binding: "RoleBinding",
};

const CLUSTER: RoleKinds = RoleKinds {
    role: "ClusterRole",
    binding: "ClusterRoleBinding",
};

/// Renders each service account that permissions name, once.
pub(super) fn service_accounts<'a>(input: &RenderInput<'_, '_>) -> Vec<RenderedObject<'a>> {
    let strategy = &input.bundle.csv.spec.install.spec;
    let permissions = strategy.permissions.iter();
    let accounts: BTreeSet<_> = permissions
        .chain(&strategy.cluster_permissions)
        .map(account)
        .filter(|account| *account != DEFAULT_ACCOUNT)
        .collect();
    let objects = accounts.into_iter().map(|name| {
        let metadata = ObjectName {
            name,
            namespace: Some(input.namespace),
            ..ObjectName::default()
        };
        RenderedObject::new(("v1", "ServiceAccount"), metadata, Value::Null)
    });
    objects.collect()
}

/// Renders the roles in each watched namespace; none when all namespaces are watched.
pub(super) fn roles<'a>(input: &RenderInput<'_, '_>) -> Vec<RenderedObject<'a>> {
    if input.is_for_all_namespaces() {
        return Vec::new();
    }
    let permissions = &input.bundle.csv.spec.install.spec.permissions;
    let pairs = input
        .targets
        .iter()
        .flat_map(|namespace| permissions.iter().map(move |one| (namespace, one)));
    pairs
        .flat_map(|(namespace, permission)| role(input, NAMESPACED, Some(namespace), permission))
        .collect()
}

/// Renders the roles of the cluster. Those of namespaces become roles of the cluster when all
/// namespaces are watched, and may then read namespaces.
pub(super) fn cluster_roles<'a>(input: &RenderInput<'_, '_>) -> Vec<RenderedObject<'a>> {
    let strategy = &input.bundle.csv.spec.install.spec;
    let mut permissions = strategy.cluster_permissions.clone();
    if input.is_for_all_namespaces() {
        let lifted = strategy.permissions.iter().map(|permission| {
            let mut permission = permission.clone();
            permission
                .rules
                .get_or_insert_default()
                .push(reads_namespaces());
            permission
        });
        permissions.extend(lifted);
    }
    permissions
        .iter()
        .flat_map(|permission| role(input, CLUSTER, None, permission))
        .collect()
}

fn reads_namespaces() -> RbacRule {
    RbacRule {
        verbs: Some(["get", "list", "watch"].map(str::to_owned).to_vec()),
        api_groups: vec![String::new()],
        resources: vec!["namespaces".to_owned()],
        ..RbacRule::default()
    }
}

/// Renders a role with its binding.
fn role<'a>(
    input: &RenderInput<'_, '_>,
    kinds: RoleKinds,
    namespace: Option<&String>,
    permission: &CsvPermission,
) -> [RenderedObject<'a>; 2] {
    let account = account(permission);
    let base = format!("{}-{account}", input.bundle.csv.metadata.name);
    let name = names::unique(&base, permission);
    let metadata = || ObjectName {
        name: &name,
        namespace: namespace.map(|namespace| &**namespace),
        ..ObjectName::default()
    };
    let rules = json!({"rules": to_value(&permission.rules)});
    let binding = json!({
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": kinds.role,
            "name": name,
        },
        "subjects": [{
            "kind": "ServiceAccount",
            "name": account,
            "namespace": input.namespace,
        }],
    });
    [
        RenderedObject::new((RBAC, kinds.role), metadata(), rules),
        RenderedObject::new((RBAC, kinds.binding), metadata(), binding),
    ]
}

fn account(permission: &CsvPermission) -> &str {
    match &*permission.service_account {
        "" => DEFAULT_ACCOUNT,
        name => name,
    }
}
