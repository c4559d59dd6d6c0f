//! Input types of the schema as Rust types.
//!
//! Coerced values are JSON. Reading them by member name would turn a misspelt name into an absent
//! value; here it is an error, and a test compares the fields of each type with the schema.

use serde::Deserialize;
use serde_json::Value;

use super::connection::Direction;

/// Reads a coerced value of an input type; `None` if it is absent or `null`.
pub(super) fn read<'a, T: Deserialize<'a>>(value: &'a Value) -> Option<T> {
    // A panic, because coercion lets only values of the schema's types pass.
    Option::deserialize(value).expect("the Rust type has the fields of the input type")
}

/// `PackageFilter`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PackageFilterInput<'a> {
    pub(super) search: Option<&'a str>,
    #[serde(borrow)]
    pub(super) names: Option<Vec<&'a str>>,
    pub(super) categories: Option<Vec<&'a str>>,
    pub(super) providers: Option<Vec<&'a str>>,
    pub(super) keywords: Option<Vec<&'a str>>,
    pub(super) capability_levels: Option<Vec<&'a str>>,
    pub(super) install_modes: Option<Vec<&'a str>>,
    pub(super) infrastructure_features: Option<Vec<&'a str>>,
    pub(super) architectures: Option<Vec<&'a str>>,
    pub(super) operating_systems: Option<Vec<&'a str>>,
    pub(super) valid_subscriptions: Option<Vec<&'a str>>,
    pub(super) certified: Option<bool>,
    pub(super) provides: Option<ApiInput<'a>>,
    pub(super) compatible_with: Option<PlatformInput<'a>>,
    #[serde(rename = "olmV1")]
    pub(super) olm_v1: Option<Vec<&'a str>>,
    pub(super) deprecated: Option<bool>,
    pub(super) problem_severity: Option<&'a str>,
}

/// `BundleFilter`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BundleFilterInput<'a> {
    #[serde(borrow)]
    pub(super) names: Option<Vec<&'a str>>,
    pub(super) images: Option<Vec<&'a str>>,
    pub(super) property_types: Option<Vec<&'a str>>,
    pub(super) channels: Option<Vec<&'a str>>,
    pub(super) version_range: Option<&'a str>,
    pub(super) provides: Option<ApiInput<'a>>,
    pub(super) requires: Option<ApiInput<'a>>,
    pub(super) requires_package: Option<&'a str>,
    pub(super) compatible_with: Option<PlatformInput<'a>>,
    #[serde(rename = "olmV1")]
    pub(super) olm_v1: Option<Vec<&'a str>>,
    pub(super) permission: Option<PermissionFilterInput<'a>>,
    pub(super) channel_head: Option<bool>,
    pub(super) deprecated: Option<bool>,
}

/// `PermissionFilter`
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PermissionFilterInput<'a> {
    pub(super) flag: Option<&'a str>,
    pub(super) group: Option<&'a str>,
    pub(super) resource: Option<&'a str>,
    pub(super) verb: Option<&'a str>,
    pub(super) scope: Option<PermissionScopeInput>,
}

/// `PermissionScope`
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum PermissionScopeInput {
    Cluster,
    Namespace,
}

/// `InstallationInput`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct InstallationInput<'a> {
    pub(super) namespace: &'a str,
    #[serde(borrow)]
    pub(super) watch_namespaces: Option<Vec<&'a str>>,
    pub(super) certificates: Option<CertificateProviderInput>,
}

/// `CertificateProvider`
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum CertificateProviderInput {
    CertManager,
    ServiceCa,
}

/// `MetaFilter`
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MetaFilterInput<'a> {
    pub(super) schema: Option<&'a str>,
    pub(super) package: Option<&'a str>,
    pub(super) name: Option<&'a str>,
}

/// `PlatformInput`
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PlatformInput<'a> {
    pub(super) kubernetes: Option<&'a str>,
    pub(super) openshift: Option<&'a str>,
    pub(super) architecture: Option<&'a str>,
}

/// `GroupVersionKindInput`
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ApiInput<'a> {
    pub(super) group: &'a str,
    pub(super) version: Option<&'a str>,
    pub(super) kind: &'a str,
}

/// `CatalogRef`
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CatalogRefInput<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) digest: Option<&'a str>,
}

/// `PackageOrder`, `ChannelOrder` and `BundleOrder`, by the enum of their field.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OrderInput<F> {
    pub(super) field: F,
    pub(super) direction: Direction,
}

/// `PackageOrderField`
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum PackageOrderField {
    Name,
    Relevance,
    DisplayName,
    CreatedAt,
    CapabilityLevel,
}

/// `ChannelOrderField`
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum ChannelOrderField {
    Name,
    HeadVersion,
}

/// `BundleOrderField`
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum BundleOrderField {
    Version,
    Name,
    CreatedAt,
}

/// `ResolveRequest`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ResolveRequestInput<'a> {
    pub(super) package_name: &'a str,
    pub(super) version: Option<&'a str>,
    #[serde(borrow)]
    pub(super) channels: Option<Vec<&'a str>>,
    pub(super) catalogs: Option<Vec<&'a str>>,
    pub(super) selector: Option<&'a str>,
    pub(super) installed: Option<InstalledBundleInput<'a>>,
    pub(super) compatible_with: Option<PlatformInput<'a>>,
    pub(super) upgrade_constraint_policy: UpgradeConstraintPolicyInput,
    pub(super) require_verified: bool,
}

/// `UpgradeConstraintPolicy`
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum UpgradeConstraintPolicyInput {
    CatalogProvided,
    SelfCertified,
}

/// `InstalledBundle`
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct InstalledBundleInput<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    pub(super) release: Option<&'a str>,
}

/// `InstalledPackage`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct InstalledPackageInput<'a> {
    pub(super) package_name: &'a str,
    #[serde(borrow)]
    pub(super) bundle: InstalledBundleInput<'a>,
    pub(super) catalog: Option<&'a str>,
    pub(super) channels: Option<Vec<&'a str>>,
}

/// `SolveRequest`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SolveRequestInput<'a> {
    #[serde(borrow)]
    pub(super) wanted: Vec<WantedPackageInput<'a>>,
    pub(super) installed: Option<Vec<InstalledOperatorInput<'a>>>,
    pub(super) catalogs: Option<Vec<&'a str>>,
    pub(super) policy: SolvePolicyInput,
}

/// `SolvePolicy`
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(super) enum SolvePolicyInput {
    #[serde(rename = "OLM_V0")]
    OlmV0,
    #[serde(rename = "OLM_V1")]
    OlmV1,
}

/// `WantedPackage`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WantedPackageInput<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) package_name: &'a str,
    #[serde(borrow)]
    pub(super) channels: Option<Vec<&'a str>>,
    pub(super) catalog: Option<&'a str>,
    pub(super) selector: Option<&'a str>,
    pub(super) version: Option<&'a str>,
    pub(super) starting_bundle: Option<&'a str>,
    pub(super) installed: Option<&'a str>,
}

/// `InstalledOperator`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct InstalledOperatorInput<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    pub(super) package_name: Option<&'a str>,
    #[serde(borrow)]
    pub(super) properties: Option<Vec<PropertyInput<'a>>>,
}

/// `PropertyInput`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PropertyInput<'a> {
    pub(super) r#type: &'a str,
    /// Owned, because serde has no borrowed JSON value.
    pub(super) value: Value,
}

/// `PlatformUpgradeInput`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PlatformUpgradeInput<'a> {
    #[serde(borrow)]
    pub(super) steps: Vec<PlatformStepInput<'a>>,
    pub(super) installed: Vec<ClusterBundleInput<'a>>,
}

/// `PlatformStepInput`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PlatformStepInput<'a> {
    #[serde(borrow)]
    pub(super) platform: PlatformInput<'a>,
    pub(super) catalogs: Vec<&'a str>,
}

/// `ClusterBundleInput`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ClusterBundleInput<'a> {
    pub(super) package_name: &'a str,
    pub(super) name: Option<&'a str>,
    pub(super) version: Option<&'a str>,
    pub(super) namespace: Option<&'a str>,
    #[serde(borrow)]
    pub(super) channels: Option<Vec<&'a str>>,
    pub(super) catalog: Option<&'a str>,
    pub(super) version_range: Option<&'a str>,
    pub(super) approval: UpgradeApprovalInput,
    pub(super) olm: OlmRulesInput,
    pub(super) properties: Option<Vec<PropertyInput<'a>>>,
    pub(super) dependency: bool,
}

/// `UpgradeApproval`
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum UpgradeApprovalInput {
    Automatic,
    Manual,
}

/// `OlmRules`
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub(super) enum OlmRulesInput {
    V0,
    V1,
}

/// `MirrorSetInput`
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct MirrorSetInput<'a> {
    pub(super) configuration: Option<&'a str>,
    pub(super) operator: i64,
    #[serde(borrow)]
    pub(super) packages: Option<Vec<MirrorPackageInput<'a>>>,
    pub(super) full: bool,
    pub(super) blocked_images: Option<Vec<&'a str>>,
    pub(super) rules: MirrorRulesInput,
}

/// `MirrorPackageInput`, which [`mirror::MirrorConfiguration::from_request`] reads.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "the fields are compared with the schema")]
pub(super) struct MirrorPackageInput<'a> {
    name: &'a str,
    default_channel: Option<&'a str>,
    min_version: Option<&'a str>,
    max_version: Option<&'a str>,
    #[serde(borrow)]
    channels: Option<Vec<MirrorChannelInput<'a>>>,
    from: Option<Vec<&'a str>>,
    to: Option<&'a str>,
    dependencies: bool,
    platform: Option<PlatformInput<'a>>,
}

/// `MirrorChannelInput`, likewise.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "the fields are compared with the schema")]
pub(super) struct MirrorChannelInput<'a> {
    name: &'a str,
    min_version: Option<&'a str>,
    max_version: Option<&'a str>,
}

/// `MirrorRules`
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum MirrorRulesInput {
    Catalogql,
    OcMirror,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::SDL;

    /// Returns the names in the body of a definition of the schema: of fields, or of enum values.
    fn names_in_schema(definition: &str) -> BTreeSet<String> {
        let mut is_description = false;
        SDL.lines()
            .skip_while(|line| !line.starts_with(definition))
            .skip(1)
            .take_while(|line| !line.starts_with('}'))
            .filter(|line| {
                let line = line.trim();
                let quotes = line.matches("\"\"\"").count();
                let is_code = !is_description && !line.starts_with('"');
                is_description ^= quotes == 1;
                is_code && !line.is_empty()
            })
            .map(|line| line.trim().split([':', ' ']).next().unwrap().to_owned())
            .collect()
    }

    /// Returns the names that serde expects where another one is given.
    fn expected_names(error: &str) -> BTreeSet<String> {
        let (_, expected) = error.split_once("expected ").unwrap();
        expected
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    }

    fn check<T: for<'a> Deserialize<'a>>(input_type: &str) {
        let names = names_in_schema(&format!("input {input_type} "));
        let error = serde_json::from_value::<T>(json!({ "?": 1 }))
            .map(drop)
            .unwrap_err();
        assert_eq!(expected_names(&error.to_string()), names, "{input_type}");
    }

    fn check_enum<T: for<'a> Deserialize<'a>>(name: &str) {
        let values = names_in_schema(&format!("enum {name} "));
        let error = serde_json::from_value::<T>(json!("?"))
            .map(drop)
            .unwrap_err();
        assert_eq!(expected_names(&error.to_string()), values, "{name}");
    }

    /// As [`check`], for types that borrow from the value.
    macro_rules! check_borrowed {
        ($type:ident, $name:literal) => {
            let names = names_in_schema(concat!("input ", $name, " "));
            let error = $type::deserialize(&json!({ "?": 1 })).map(drop).unwrap_err();
            assert_eq!(expected_names(&error.to_string()), names, $name);
        };
    }

    #[test]
    fn input_types_have_the_fields_of_the_schema() {
        check_borrowed!(PackageFilterInput, "PackageFilter");
        check_borrowed!(BundleFilterInput, "BundleFilter");
        check_borrowed!(MetaFilterInput, "MetaFilter");
        check_borrowed!(PlatformInput, "PlatformInput");
        check_borrowed!(ApiInput, "GroupVersionKindInput");
        check_borrowed!(CatalogRefInput, "CatalogRef");
        check_borrowed!(ResolveRequestInput, "ResolveRequest");
        check_borrowed!(InstalledBundleInput, "InstalledBundle");
        check_borrowed!(InstalledPackageInput, "InstalledPackage");
        check_borrowed!(SolveRequestInput, "SolveRequest");
        check_borrowed!(WantedPackageInput, "WantedPackage");
        check_borrowed!(InstalledOperatorInput, "InstalledOperator");
        check_borrowed!(PropertyInput, "PropertyInput");
        check_borrowed!(PlatformUpgradeInput, "PlatformUpgradeInput");
        check_borrowed!(PlatformStepInput, "PlatformStepInput");
        check_borrowed!(ClusterBundleInput, "ClusterBundleInput");
        check_borrowed!(MirrorSetInput, "MirrorSetInput");
        check_borrowed!(MirrorPackageInput, "MirrorPackageInput");
        check_borrowed!(MirrorChannelInput, "MirrorChannelInput");
        check::<OrderInput<PackageOrderField>>("PackageOrder");
        check::<OrderInput<ChannelOrderField>>("ChannelOrder");
        check::<OrderInput<BundleOrderField>>("BundleOrder");
    }

    #[test]
    fn enums_have_the_values_of_the_schema() {
        check_enum::<PackageOrderField>("PackageOrderField");
        check_enum::<ChannelOrderField>("ChannelOrderField");
        check_enum::<BundleOrderField>("BundleOrderField");
        check_enum::<UpgradeConstraintPolicyInput>("UpgradeConstraintPolicy");
        check_enum::<SolvePolicyInput>("SolvePolicy");
        check_enum::<UpgradeApprovalInput>("UpgradeApproval");
        check_enum::<OlmRulesInput>("OlmRules");
        check_enum::<MirrorRulesInput>("MirrorRules");
        check_enum::<Direction>("OrderDirection");
    }

    #[test]
    fn absent_and_null_members_are_none() {
        let value = json!({ "field": "NAME", "direction": "DESC" });
        let order: OrderInput<PackageOrderField> = read(&value).unwrap();
        assert_eq!(order.field, PackageOrderField::Name);
        assert_eq!(order.direction, Direction::Descending);
        let value = json!({ "names": null, "search": "a" });
        let filter: PackageFilterInput<'_> = read(&value).unwrap();
        assert!(filter.names.is_none() && filter.keywords.is_none());
        assert_eq!(filter.search, Some("a"));
        assert!(read::<PlatformInput<'_>>(&Value::Null).is_none());
    }
}
