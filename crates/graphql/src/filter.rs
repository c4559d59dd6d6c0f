//! Filters: the arguments of a field as conditions on the objects of a catalog.

use fbc::{
    ApiFilter, BundleFilter, CapabilityLevel, InstallMode, MetaFilter, PackageFilter, Platform,
    PlatformVersionError,
};
use fbc_grammar::range::{MastermindsRange, VersionRangeError};
use fbc_read::Severity;
use serde_json::{Map, Value};

use super::coercion::Arguments;

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

/// Install modes with the texts that people are shown.
pub(super) const INSTALL_MODE_NAMES: [(InstallMode, &str); 4] = [
    (InstallMode::OwnNamespace, "Own namespace"),
    (InstallMode::SingleNamespace, "Single namespace"),
    (InstallMode::MultiNamespace, "Multiple namespaces"),
    (InstallMode::AllNamespaces, "All namespaces"),
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
    let filter = arguments.get("filter");
    if filter.as_object().is_none_or(Map::is_empty) {
        return Ok(None);
    }
    Ok(Some(PackageFilter {
        search: filter["search"].as_str(),
        names: texts(&filter["names"]),
        categories: texts(&filter["categories"]),
        providers: texts(&filter["providers"]),
        keywords: texts(&filter["keywords"]),
        capability_levels: values(&CAPABILITY_LEVELS, &filter["capabilityLevels"]),
        install_modes: values(&INSTALL_MODES, &filter["installModes"]),
        infrastructure_features: texts(&filter["infrastructureFeatures"]),
        architectures: texts(&filter["architectures"]),
        operating_systems: texts(&filter["operatingSystems"]),
        valid_subscriptions: texts(&filter["validSubscriptions"]),
        certified: filter["certified"].as_bool(),
        problem_severity: filter["problemSeverity"]
            .as_str()
            .and_then(|word| value(&SEVERITIES, word)),
        provides: api(&filter["provides"]),
        platform: platform(&filter["compatibleWith"])?,
        deprecated: filter["deprecated"].as_bool(),
    }))
}

/// Returns the conditions of the argument `filter` on bundles, except on their packages; `None` if
/// there are none.
///
/// # Errors
/// The version range or the version of a platform is malformed.
pub(super) fn bundles(arguments: &Arguments) -> Result<Option<BundleFilter<'_>>, FilterError> {
    let filter = arguments.get("filter");
    if filter.as_object().is_none_or(Map::is_empty) {
        return Ok(None);
    }
    Ok(Some(BundleFilter {
        packages: Vec::new(),
        names: texts(&filter["names"]),
        images: texts(&filter["images"]),
        property_types: texts(&filter["propertyTypes"]),
        channels: texts(&filter["channels"]),
        version_range: filter["versionRange"]
            .as_str()
            .map(MastermindsRange::parse)
            .transpose()?,
        provides: api(&filter["provides"]),
        requires: api(&filter["requires"]),
        requires_package: filter["requiresPackage"].as_str(),
        platform: platform(&filter["compatibleWith"])?,
        channel_head: filter["channelHead"].as_bool(),
        deprecated: filter["deprecated"].as_bool(),
    }))
}

/// Returns the conditions of the argument `filter` on blobs; `None` if there are none.
pub(super) fn metas(arguments: &Arguments) -> Option<MetaFilter<'_>> {
    let filter = arguments.get("filter");
    filter.as_object().filter(|members| !members.is_empty())?;
    let [schema, package, name] =
        ["schema", "package", "name"].map(|member| filter[member].as_str());
    Some(MetaFilter {
        schema,
        package,
        name,
    })
}

/// Returns the platform of a `PlatformInput`; `None` if it has no condition.
///
/// # Errors
/// A version is malformed.
pub(super) fn platform(value: &Value) -> Result<Option<Platform<'_>>, PlatformVersionError> {
    let version = |member: &str| value[member].as_str().map(str::parse).transpose();
    let platform = Platform {
        kubernetes: version("kubernetes")?,
        openshift: version("openshift")?,
        architecture: value["architecture"].as_str(),
    };
    Ok((!platform.is_any()).then_some(platform))
}

/// Returns the texts of a list; none where there is no list.
pub(super) fn texts(value: &Value) -> Vec<&str> {
    items(value).filter_map(Value::as_str).collect()
}

fn values<T: Copy>(words: &[(T, &str)], value: &Value) -> Vec<T> {
    items(value)
        .filter_map(|item| self::value(words, item.as_str()?))
        .collect()
}

/// Returns the Rust value of an enum value of the schema.
fn value<T: Copy>(words: &[(T, &str)], text: &str) -> Option<T> {
    words
        .iter()
        .find(|(_, word)| *word == text)
        .map(|(value, _)| *value)
}

/// Returns the items of a list; none where there is no list.
pub(super) fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().map_or(&[][..], Vec::as_slice).iter()
}

fn api(value: &Value) -> Option<ApiFilter<'_>> {
    let [group, kind] = ["group", "kind"].map(|member| value[member].as_str());
    Some(ApiFilter {
        group: group?,
        version: value["version"].as_str(),
        kind: kind?,
    })
}
