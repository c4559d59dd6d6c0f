//! Filters: the arguments of a field as conditions on the objects of a catalog.

use fbc::{
    ApiFilter, BundleFilter, CapabilityLevel, InstallMode, MetaFilter, OlmV1Installability,
    PackageFilter, Platform, PlatformVersionError, SearchQuery,
};
use fbc_grammar::range::{MastermindsRange, VersionRangeError};
use fbc_read::Severity;
use install_preview::{PermissionQuery, RightsFlag, RightsScope};
use serde::Deserialize;
use serde_json::Map;

use super::coercion::Arguments;
use super::input::{
    self, ApiInput, BundleFilterInput, MetaFilterInput, PackageFilterInput, PermissionFilterInput,
    PermissionScopeInput, PlatformInput,
};

/// An error of a condition in an argument. The message begins with the name of the malformed
/// member.
#[derive(Debug, thiserror::Error)]
pub(super) enum FilterError {
    /// A range of versions.
    #[error("`versionRange` is malformed: {0}")]
    Range(#[from] VersionRangeError),
    /// A version of a platform.
    #[error("`compatibleWith` is malformed: {0}")]
    Platform(#[from] PlatformVersionError),
}

/// Capability levels with their enum values in the schema.
pub(super) const CAPABILITY_LEVELS: [(CapabilityLevel, &str); 5] = [
    (CapabilityLevel::BasicInstall, "BASIC_INSTALL"),
    (CapabilityLevel::SeamlessUpgrades, "SEAMLESS_UPGRADES"),
    (CapabilityLevel::FullLifecycle, "FULL_LIFECYCLE"),
    (CapabilityLevel::DeepInsights, "DEEP_INSIGHTS"),
    (CapabilityLevel::AutoPilot, "AUTO_PILOT"),
];

/// Install modes with their enum values in the schema.
pub(super) const INSTALL_MODES: [(InstallMode, &str); 4] = [
    (InstallMode::OwnNamespace, "OWN_NAMESPACE"),
    (InstallMode::SingleNamespace, "SINGLE_NAMESPACE"),
    (InstallMode::MultiNamespace, "MULTI_NAMESPACE"),
    (InstallMode::AllNamespaces, "ALL_NAMESPACES"),
];

/// Install modes with their display names.
pub(super) const INSTALL_MODE_NAMES: [(InstallMode, &str); 4] = [
    (InstallMode::OwnNamespace, "Own namespace"),
    (InstallMode::SingleNamespace, "Single namespace"),
    (InstallMode::MultiNamespace, "Multiple namespaces"),
    (InstallMode::AllNamespaces, "All namespaces"),
];

/// Installability by OLM v1, with the enum values in the schema.
pub(super) const OLM_V1_VALUES: [(OlmV1Installability, &str); 4] = [
    (OlmV1Installability::Yes, "YES"),
    (OlmV1Installability::TechPreview, "TECH_PREVIEW"),
    (OlmV1Installability::No, "NO"),
    (OlmV1Installability::Unknown, "UNKNOWN"),
];

/// Installability by OLM v1, with display names.
pub(super) const OLM_V1_NAMES: [(OlmV1Installability, &str); 4] = [
    (OlmV1Installability::Yes, "Installable"),
    (OlmV1Installability::TechPreview, "Technology preview"),
    (OlmV1Installability::No, "Not installable"),
    (OlmV1Installability::Unknown, "Unknown"),
];

/// Severities with their enum values in the schema, most severe first.
pub(super) const SEVERITIES: [(Severity, &str); 2] =
    [(Severity::Error, "ERROR"), (Severity::Warning, "WARNING")];

/// Returns the enum value in the schema for a Rust value.
pub(super) fn word<T: PartialEq>(words: &[(T, &'static str)], value: &T) -> &'static str {
    words
        .iter()
        .find(|(known, _)| known == value)
        .map_or("", |(_, word)| word)
}

/// Returns the conditions of the argument `filter` on packages; `None` if there are none.
///
/// # Errors
/// The version of a platform is malformed.
pub(super) fn packages(arguments: &Arguments) -> Result<Option<PackageFilter<'_>>, FilterError> {
    let Some(filter) = read_filter::<PackageFilterInput<'_>>(arguments) else {
        return Ok(None);
    };
    Ok(Some(PackageFilter {
        search: filter.search.map(SearchQuery::new),
        names: filter.names.unwrap_or_default(),
        categories: filter.categories.unwrap_or_default(),
        providers: filter.providers.unwrap_or_default(),
        keywords: filter.keywords.unwrap_or_default(),
        capability_levels: values(&CAPABILITY_LEVELS, filter.capability_levels),
        install_modes: values(&INSTALL_MODES, filter.install_modes),
        infrastructure_features: filter.infrastructure_features.unwrap_or_default(),
        architectures: filter.architectures.unwrap_or_default(),
        operating_systems: filter.operating_systems.unwrap_or_default(),
        valid_subscriptions: filter.valid_subscriptions.unwrap_or_default(),
        certified: filter.certified,
        problem_severity: filter
            .problem_severity
            .and_then(|word| value(&SEVERITIES, word)),
        provides: filter.provides.map(api),
        platform: platform(filter.compatible_with)?,
        olm_v1: values(&OLM_V1_VALUES, filter.olm_v1),
        deprecated: filter.deprecated,
    }))
}

/// Returns the conditions of the argument `filter` on bundles, except on their packages; `None` if
/// there are none.
///
/// # Errors
/// The version range or the version of a platform is malformed.
pub(super) fn bundles(arguments: &Arguments) -> Result<Option<BundleFilter<'_>>, FilterError> {
    let Some(filter) = read_filter::<BundleFilterInput<'_>>(arguments) else {
        return Ok(None);
    };
    Ok(Some(BundleFilter {
        packages: Vec::new(),
        names: filter.names.unwrap_or_default(),
        images: filter.images.unwrap_or_default(),
        property_types: filter.property_types.unwrap_or_default(),
        channels: filter.channels.unwrap_or_default(),
        version_range: filter
            .version_range
            .map(MastermindsRange::parse)
            .transpose()?,
        provides: filter.provides.map(api),
        requires: filter.requires.map(api),
        requires_package: filter.requires_package,
        platform: platform(filter.compatible_with)?,
        olm_v1: values(&OLM_V1_VALUES, filter.olm_v1),
        permission: filter.permission.map(permission),
        channel_head: filter.channel_head,
        deprecated: filter.deprecated,
    }))
}

/// Returns the conditions of the argument `filter` on blobs; `None` if there are none.
pub(super) fn metas(arguments: &Arguments) -> Option<MetaFilter<'_>> {
    let filter = read_filter::<MetaFilterInput<'_>>(arguments)?;
    Some(MetaFilter {
        schema: filter.schema,
        package: filter.package,
        name: filter.name,
    })
}

/// Returns the platform of a `PlatformInput`; `None` if it has no condition.
///
/// # Errors
/// A version is malformed.
pub(super) fn platform(
    input: Option<PlatformInput<'_>>,
) -> Result<Option<Platform<'_>>, PlatformVersionError> {
    let Some(input) = input else { return Ok(None) };
    let platform = Platform {
        kubernetes: input.kubernetes.map(str::parse).transpose()?,
        openshift: input.openshift.map(str::parse).transpose()?,
        architecture: input.architecture,
    };
    Ok((!platform.is_any()).then_some(platform))
}

/// Reads the argument `filter`; `None` if it has no members.
fn read_filter<'a, T: Deserialize<'a>>(arguments: &'a Arguments) -> Option<T> {
    let filter = arguments.get("filter");
    // An empty filter must be no filter, for which lists are not scanned.
    if filter.as_object().is_none_or(Map::is_empty) {
        return None;
    }
    input::read(filter)
}

fn values<T: Copy>(words: &[(T, &str)], texts: Option<Vec<&str>>) -> Vec<T> {
    texts
        .into_iter()
        .flatten()
        .filter_map(|text| value(words, text))
        .collect()
}

/// Returns the Rust value of an enum value of the schema.
fn value<T: Copy>(words: &[(T, &str)], text: &str) -> Option<T> {
    words
        .iter()
        .find(|(_, word)| *word == text)
        .map(|(value, _)| *value)
}

fn permission(input: PermissionFilterInput<'_>) -> PermissionQuery<'_> {
    PermissionQuery {
        flag: input.flag.and_then(RightsFlag::parse),
        group: input.group,
        resource: input.resource,
        verb: input.verb,
        scope: input.scope.map(|scope| match scope {
            PermissionScopeInput::Cluster => RightsScope::Cluster,
            PermissionScopeInput::Namespace => RightsScope::Namespace,
        }),
    }
}

fn api(input: ApiInput<'_>) -> ApiFilter<'_> {
    ApiFilter {
        group: input.group,
        version: input.version,
        kind: input.kind,
    }
}
