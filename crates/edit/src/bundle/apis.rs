//! The APIs that a bundle provides and requires.

use std::collections::BTreeSet;
use std::fmt;

use crate::value::BlobValue;

/// An API: a group, a version and a kind, with the plural name of its resources.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct BundleApi {
    /// Group.
    pub(super) group: String,
    /// Version.
    pub(super) version: String,
    /// Kind.
    pub(super) kind: String,
    /// Plural name of its resources.
    pub(super) plural: String,
}

impl fmt::Display for BundleApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}/{} ({})",
            self.group, self.version, self.kind, self.plural
        )
    }
}

/// Checks that each custom resource definition that the CSV owns has a manifest; the error is the
/// message of `opm`.
pub(super) fn check(csv: &BlobValue, defined: &BTreeSet<BundleApi>) -> Result<(), String> {
    let provided = provided(csv, defined);
    for owned in csv.list(&["spec", "customresourcedefinitions", "owned"]) {
        let name = owned.str("name");
        let Some((plural, group)) = name.split_once('.') else {
            return Err(format!("couldn't parse plural.group from crd name: {name}"));
        };
        let api = api(group, owned.str("version"), owned.str("kind"), plural);
        if !provided.contains(&api) {
            // The text of a Go map whose values are empty structs.
            let found: Vec<_> = provided.iter().map(|api| format!("{api}:{{}}")).collect();
            return Err(format!(
                "couldn't find {api} in bundle. found: map[{}]",
                found.join(" ")
            ));
        }
    }
    Ok(())
}

/// Finds the APIs that a manifest defines, if it is a custom resource definition.
pub(super) fn defined(manifest: &BlobValue) -> Vec<BundleApi> {
    let is_definition = manifest.str("kind") == "CustomResourceDefinition";
    let Some(spec) = manifest.get("spec").filter(|_| is_definition) else {
        return Vec::new();
    };
    let name = |key: &str| {
        spec.at(&["names", key])
            .and_then(BlobValue::as_str)
            .unwrap_or_default()
    };
    let versions = spec
        .list(&["versions"])
        .iter()
        .map(|version| version.str("name"));
    // Only definitions of v1beta1 have one version.
    let versions = versions
        .chain([spec.str("version")])
        .filter(|version| !version.is_empty());
    versions
        .map(|version| api(spec.str("group"), version, name("kind"), name("plural")))
        .collect()
}

/// Adds the APIs of the API services that the CSV owns to those that manifests define.
pub(super) fn provided(csv: &BlobValue, defined: &BTreeSet<BundleApi>) -> BTreeSet<BundleApi> {
    defined
        .iter()
        .cloned()
        .chain(services(csv, "owned"))
        .collect()
}

/// Finds the APIs that the CSV requires.
pub(super) fn required(csv: &BlobValue) -> BTreeSet<BundleApi> {
    let definitions = csv
        .list(&["spec", "customresourcedefinitions", "required"])
        .iter()
        .filter_map(|required| {
            let (plural, group) = required.str("name").split_once('.')?;
            Some(api(
                group,
                required.str("version"),
                required.str("kind"),
                plural,
            ))
        });
    definitions.chain(services(csv, "required")).collect()
}

fn services<'v>(csv: &'v BlobValue, which: &str) -> impl Iterator<Item = BundleApi> + use<'v> {
    let services = csv.list(&["spec", "apiservicedefinitions", which]).iter();
    services.map(|service| {
        api(
            service.str("group"),
            service.str("version"),
            service.str("kind"),
            service.str("name"),
        )
    })
}

fn api(group: &str, version: &str, kind: &str, plural: &str) -> BundleApi {
    let [group, version, kind, plural] = [group, version, kind, plural].map(str::to_owned);
    BundleApi {
        group,
        version,
        kind,
        plural,
    }
}
