//! Platforms, times of creation and verdicts of OLM v1 of bundles, which the metadata of all bundles is
//! decoded for once.

use std::sync::Arc;

use hashbrown::HashMap;

use fbc_read::manifest::Manifests;

use crate::bundle::Bundle;
use crate::catalog::Catalog;
use crate::lifecycle::VersionLifecycle;
use crate::metadata::CsvMetadata;
use crate::platform::{Platform, PlatformVersion};
use crate::property::PropertyKind;
use crate::tables::properties::{
    BundleProperties, BundlePropertiesBuilder, DecodedBundle, PlatformStatement,
};
use crate::work::{Step, Work, WorkStopped};

/// Maximum number of versions of `OpenShift` that a life cycle lists; further ones are ignored.
const MAX_OPENSHIFT_VERSIONS: usize = 1_000;

/// Versions of `OpenShift` that the life cycles of a package list, by the minor versions of its
/// bundles.
struct OpenshiftVersions(HashMap<String, Arc<[PlatformVersion]>>);

impl<'a> Bundle<'a> {
    /// Returns the last version of `OpenShift` that it supports, such as `4.18`, from its first
    /// `olm.maxOpenShiftVersion`; `None` when it does not say.
    pub fn max_openshift_version(self) -> Option<&'a str> {
        self.properties()
            .find_map(|property| match property.kind() {
                PropertyKind::MaxOpenShiftVersion(version) => Some(version),
                _ => None,
            })
    }

    /// Returns the platforms that the catalog allows the bundle on.
    ///
    /// The first call on a catalog decodes the metadata of all bundles.
    pub fn platforms(self) -> &'a PlatformStatement {
        self.catalog().bundle_properties().platforms(self.place())
    }

    /// Returns whether the catalog allows the bundle on a platform: Kubernetes within
    /// `minKubeVersion` and the maximum of its metadata, `OpenShift` up to
    /// [`Bundle::max_openshift_version`] and among the versions that [`Bundle::lifecycle`] lists,
    /// and one of the architectures of its metadata. What is missing or malformed is no limit;
    /// without labels, the architecture is `amd64`.
    ///
    /// The first call on a catalog decodes the metadata of all bundles.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn runs_on(self, platform: &Platform<'_>, work: &Work<'_>) -> Result<bool, WorkStopped> {
        let statement = self.platforms();
        work.draw(
            Step::Comparison,
            1 + statement.architectures.len() + statement.openshift.len(),
        )?;
        Ok(statement.allows(platform))
    }
}

impl Catalog {
    /// Returns when the bundle at an index in the order of [`Catalog::bundles`] was created, in
    /// microseconds since 1970; `None` when its metadata does not say. The first call on a catalog
    /// decodes the metadata of all bundles.
    pub fn bundle_created_at(&self, at: usize) -> Option<i64> {
        self.bundle_properties().created_at(at)
    }

    pub(crate) fn bundle_properties(&self) -> &BundleProperties {
        self.tables
            .properties
            .get_or_init(|| decode_bundle_properties(self))
    }
}

/// Decodes the metadata of every bundle.
fn decode_bundle_properties(catalog: &Catalog) -> BundleProperties {
    let mut manifests = Manifests::default();
    let mut builder = BundlePropertiesBuilder::default();
    for package in catalog.packages() {
        let openshift =
            OpenshiftVersions::new(&package.lifecycle(&Work::unlimited()).unwrap_or_default());
        for bundle in package.bundles() {
            let metadata = bundle.metadata_by(&mut manifests);
            builder.add(DecodedBundle {
                platforms: platform_statement(bundle, metadata.as_ref(), &openshift),
                verdict: bundle.first_verdict(metadata.as_ref(), &mut manifests),
                created_at: metadata.and_then(|metadata| metadata.created_at()),
            });
        }
    }
    builder.finish()
}

fn platform_statement(
    bundle: Bundle<'_>,
    metadata: Option<&CsvMetadata<'_>>,
    openshift: &OpenshiftVersions,
) -> PlatformStatement {
    let architectures =
        metadata.map_or_else(|| vec!["amd64".to_owned()], CsvMetadata::architectures);
    let parse = |text: &str| text.parse::<PlatformVersion>().ok();
    PlatformStatement {
        openshift: openshift.for_bundle(bundle),
        min_kubernetes: metadata.and_then(|metadata| parse(&metadata.min_kube_version()?.decode())),
        max_kubernetes: metadata.and_then(|metadata| parse(&metadata.max_kube_version()?)),
        max_openshift: bundle.max_openshift_version().and_then(parse),
        architectures: architectures
            .into_iter()
            .map(String::into_boxed_str)
            .collect(),
    }
}

impl VersionLifecycle<'_> {
    /// Returns the versions of `OpenShift` that it lists, at most 1,000; empty when it lists none.
    pub fn openshift_versions(&self) -> Arc<[PlatformVersion]> {
        listed_openshift_versions(self)
    }
}

impl OpenshiftVersions {
    /// Reads the life cycles of a package. Of several for one version, the first counts.
    fn new(lifecycles: &[VersionLifecycle<'_>]) -> Self {
        let mut versions = HashMap::new();
        for lifecycle in lifecycles {
            let name = lifecycle.version.decode().into_owned();
            versions
                .entry(name)
                .or_insert_with(|| listed_openshift_versions(lifecycle));
        }
        Self(versions)
    }

    /// Returns the versions for a bundle; none when its life cycle lists none.
    fn for_bundle(&self, bundle: Bundle<'_>) -> Arc<[PlatformVersion]> {
        if self.0.is_empty() {
            return Arc::default();
        }
        bundle
            .minor_version()
            .and_then(|version| self.0.get(&version))
            .cloned()
            .unwrap_or_default()
    }
}

fn listed_openshift_versions(lifecycle: &VersionLifecycle<'_>) -> Arc<[PlatformVersion]> {
    let platforms = lifecycle
        .platforms
        .iter()
        .filter(|platform| platform.name.decode() == "openshift");
    let texts = platforms.flat_map(|platform| &platform.versions);
    let versions = texts
        .filter_map(|text| text.decode().parse().ok())
        .map(PlatformVersion::of_openshift);
    versions.take(MAX_OPENSHIFT_VERSIONS).collect()
}
