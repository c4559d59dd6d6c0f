//! Conditions on the rights of service accounts.

use crate::bundle::RegistryBundle;
use crate::csv::RbacRule;
use crate::error::PreviewError;
use crate::render::{RenderOptions, render};
use crate::rights::{RightsFlag, RightsScope, covers, covers_resource};
use crate::summary::{AccountPermission, InstallSummary};
use crate::targets::SupportedModes;

/// Namespace of the operator in a usual install.
const USUAL_NAMESPACE: &str = "operator";

/// Other namespaces, for bundles that support no other install.
const OTHER_NAMESPACES: [&str; 2] = ["operand-1", "operand-2"];

/// Conditions on the rights that one binding gives to a service account; the default matches any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PermissionQuery<'q> {
    /// Matches rights with this flag.
    pub flag: Option<RightsFlag>,
    /// Matches rights on this API group; the core group is empty.
    pub group: Option<&'q str>,
    /// Matches rights on this resource, with subresource as `pods/exec`.
    pub resource: Option<&'q str>,
    /// Matches rights with this verb.
    pub verb: Option<&'q str>,
    /// Matches rights in this scope.
    pub scope: Option<RightsScope>,
}

impl PermissionQuery<'_> {
    fn is_met_by(&self, permission: &AccountPermission) -> bool {
        let has_flag = self
            .flag
            .is_none_or(|flag| permission.flags.contains(&flag));
        let has_scope = self.scope.is_none_or(|scope| permission.scope == scope);
        let names_right = self.group.is_some() || self.resource.is_some() || self.verb.is_some();
        let has_right = || permission.rules.iter().any(|rule| self.is_granted_by(rule));
        has_flag && has_scope && (!names_right || has_right())
    }

    /// Returns whether a rule grants the right for some object. Wildcards of the rule cover.
    fn is_granted_by(&self, rule: &RbacRule) -> bool {
        let verbs = rule.verbs.as_deref().unwrap_or(&[]);
        let has_group = self
            .group
            .is_none_or(|group| covers(&rule.api_groups, group));
        let has_resource = self
            .resource
            .is_none_or(|resource| covers_resource(&rule.resources, resource));
        let has_verb = self.verb.is_none_or(|verb| covers(verbs, verb));
        has_group && has_resource && has_verb && !verbs.is_empty()
    }
}

impl InstallSummary {
    /// Summarizes a usual install of a bundle: for all namespaces, or if it does not support that,
    /// for the namespace of the operator, or else for others.
    ///
    /// # Errors
    /// Returns the reasons for which the install is refused.
    pub fn of_usual_install(bundle: &RegistryBundle) -> Result<Self, Vec<PreviewError>> {
        let modes = SupportedModes::of(bundle);
        let options = RenderOptions {
            install_namespace: USUAL_NAMESPACE.to_owned(),
            watch_namespaces: modes.usual_targets(USUAL_NAMESPACE, OTHER_NAMESPACES),
            ..RenderOptions::default()
        };
        let rendering = render(bundle, &options)?;
        Self::of(&rendering, USUAL_NAMESPACE).map_err(|error| vec![error])
    }

    /// Returns whether a binding gives rights that meet conditions.
    pub fn grants(&self, query: &PermissionQuery<'_>) -> bool {
        let mut permissions = self.permissions.iter();
        permissions.any(|permission| query.is_met_by(permission))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::BundleManifestFile;

    /// A bundle whose account may read Secrets of the cluster, and create anything in the core
    /// group of the namespaces that it watches.
    fn summary(modes: &str) -> InstallSummary {
        let csv = format!(
            "kind: ClusterServiceVersion
metadata: {{name: lamp.v1}}
spec:
  installModes: [{modes}]
  install:
    spec:
      permissions:
      - serviceAccountName: lamp
        rules: [{{apiGroups: [''], resources: ['*'], verbs: [create]}}]
      clusterPermissions:
      - serviceAccountName: lamp
        rules: [{{apiGroups: [''], resources: [secrets], verbs: [get]}}]
"
        );
        let file = BundleManifestFile {
            name: "csv.yaml".into(),
            bytes: csv.into_bytes().into(),
        };
        let bundle = RegistryBundle::read("lamp", &[file]).unwrap();
        InstallSummary::of_usual_install(&bundle).unwrap()
    }

    #[test]
    fn rights_meet_conditions_that_one_binding_meets_together() {
        let summary = summary("{type: OwnNamespace, supported: true}");
        let query = PermissionQuery::default();
        let cluster = Some(RightsScope::Cluster);
        for (query, is_met) in [
            (query, true),
            (
                PermissionQuery {
                    flag: Some(RightsFlag::ReadsSecrets),
                    ..query
                },
                true,
            ),
            (
                PermissionQuery {
                    flag: Some(RightsFlag::Nodes),
                    ..query
                },
                false,
            ),
            (
                PermissionQuery {
                    resource: Some("secrets"),
                    verb: Some("get"),
                    ..query
                },
                true,
            ),
            (
                PermissionQuery {
                    resource: Some("secrets"),
                    verb: Some("list"),
                    ..query
                },
                false,
            ),
            (
                PermissionQuery {
                    resource: Some("pods"),
                    verb: Some("create"),
                    ..query
                },
                true,
            ),
            (
                PermissionQuery {
                    resource: Some("pods"),
                    verb: Some("create"),
                    scope: cluster,
                    ..query
                },
                false,
            ),
            (
                PermissionQuery {
                    group: Some("apps"),
                    ..query
                },
                false,
            ),
            (
                PermissionQuery {
                    group: Some(""),
                    scope: cluster,
                    ..query
                },
                true,
            ),
            (
                PermissionQuery {
                    flag: Some(RightsFlag::ReadsSecrets),
                    verb: Some("create"),
                    ..query
                },
                false,
            ),
        ] {
            assert_eq!(summary.grants(&query), is_met, "{query:?}");
        }
    }

    #[test]
    fn a_usual_install_is_for_all_namespaces_where_a_bundle_supports_that() {
        let pods = PermissionQuery {
            resource: Some("pods"),
            scope: Some(RightsScope::Cluster),
            ..PermissionQuery::default()
        };
        let own = "{type: OwnNamespace, supported: true}";
        let all = "{type: AllNamespaces, supported: true}";
        for (modes, is_met) in [
            (all.to_owned(), true),
            (format!("{own}, {all}"), true),
            (own.to_owned(), false),
            ("{type: SingleNamespace, supported: true}".to_owned(), false),
            ("{type: MultiNamespace, supported: true}".to_owned(), false),
        ] {
            assert_eq!(summary(&modes).grants(&pods), is_met, "{modes}");
        }
    }
}
