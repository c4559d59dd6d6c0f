//! Conditions on packages, bundles and blobs.

use fbc_grammar::range::MastermindsRange;
use fbc_read::problem::Severity;
use install_preview::PermissionQuery;

use crate::csv_enums::{CapabilityLevel, InstallMode};
use crate::gvk::ApiFilter;
use crate::install_verdict::OlmV1Installability;
use crate::platform::Platform;
use crate::tables::search::query::SearchQuery;

/// Conditions on packages; the default matches every package.
///
/// Display metadata is that of [`Package::summary`](crate::Package::summary).
///
/// ```
/// # use fbc::Catalog;
/// # use fbc_read::Origins;
/// # use fbc_read::origin::FileOrigin;
/// use fbc::PackageFilter;
/// use fbc::work::Work;
///
/// # let lines = b"{\"name\":\"argo-cd\",\"schema\":\"olm.package\"}\n{\"name\":\"etcd\",\"schema\":\"olm.package\"}\n";
/// # let file = FileOrigin { path: "catalog.json".to_owned(), lines: vec![1, 2], ..FileOrigin::default() };
/// # let catalog = Catalog::build(lines[..].into(), &Origins { files: vec![file], ..Origins::default() })?;
/// // The catalog has the packages `argo-cd` and `etcd`.
/// let filter = PackageFilter { search: Some("argo".into()), ..PackageFilter::default() };
/// let found = catalog.find_packages(&filter, &Work::unlimited())?;
/// let names: Vec<_> = found.matches().map(|(index, _match)| catalog.package_at(index as usize).name()).collect();
/// assert_eq!(names, ["argo-cd"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct PackageFilter<'f> {
    /// Full-text query, as described at [`Catalog::find_packages`](crate::Catalog::find_packages);
    /// a query without letters and digits always matches.
    pub search: Option<SearchQuery>,
    /// Matches packages of one of these names.
    pub names: Vec<&'f str>,
    /// Matches packages in one of these categories.
    pub categories: Vec<&'f str>,
    /// Matches packages from one of these providers, by name as written or by short name.
    pub providers: Vec<&'f str>,
    /// Matches packages with one of these keywords.
    pub keywords: Vec<&'f str>,
    /// Matches packages at one of these capability levels.
    pub capability_levels: Vec<CapabilityLevel>,
    /// Matches packages that support one of these install modes.
    pub install_modes: Vec<InstallMode>,
    /// Matches packages with all of these platform features.
    pub infrastructure_features: Vec<&'f str>,
    /// Matches packages that support one of these CPU architectures.
    pub architectures: Vec<&'f str>,
    /// Matches packages that support one of these operating systems.
    pub operating_systems: Vec<&'f str>,
    /// Matches packages that one of these subscriptions covers.
    pub valid_subscriptions: Vec<&'f str>,
    /// Matches packages whose author says that they are (`true`) or are not (`false`) certified.
    pub certified: Option<bool>,
    /// Matches packages with a listed problem of at least this severity.
    pub problem_severity: Option<Severity>,
    /// Matches packages whose default channel has exactly one head, and its bundle provides this
    /// API.
    pub provides: Option<ApiFilter<'f>>,
    /// Matches packages with a bundle that runs on this platform, as
    /// [`Bundle::runs_on`](crate::Bundle::runs_on) says.
    pub platform: Option<Platform<'f>>,
    /// Matches packages whose default channel has exactly one head, and OLM v1 can install it in
    /// one of these senses; a package without such a head is
    /// [`OlmV1Installability::Unknown`].
    pub olm_v1: Vec<OlmV1Installability>,
    /// Matches packages that are (`true`) or are not (`false`) deprecated themselves; deprecations
    /// of channels and bundles do not count.
    pub deprecated: Option<bool>,
}

impl PackageFilter<'_> {
    /// Returns the query, if it is the only condition.
    pub fn only_search(&self) -> Option<&SearchQuery> {
        let Self {
            search,
            names,
            categories,
            providers,
            keywords,
            capability_levels,
            install_modes,
            infrastructure_features,
            architectures,
            operating_systems,
            valid_subscriptions,
            certified: None,
            problem_severity: None,
            provides: None,
            platform: None,
            olm_v1,
            deprecated: None,
        } = self
        else {
            return None;
        };
        let lists = [
            names,
            categories,
            providers,
            keywords,
            infrastructure_features,
            architectures,
            operating_systems,
            valid_subscriptions,
        ];
        let is_only = lists.iter().all(|list| list.is_empty())
            && capability_levels.is_empty()
            && install_modes.is_empty()
            && olm_v1.is_empty();
        search.as_ref().filter(|_| is_only)
    }
}

/// Conditions on bundles; the default matches every bundle.
#[derive(Clone, Debug, Default)]
pub struct BundleFilter<'f> {
    /// Matches bundles in one of these packages.
    pub packages: Vec<&'f str>,
    /// Matches bundles of one of these names.
    pub names: Vec<&'f str>,
    /// Matches bundles with one of these image references, as written in the catalog.
    pub images: Vec<&'f str>,
    /// Matches bundles with a property of one of these types.
    pub property_types: Vec<&'f str>,
    /// Matches bundles in one of these channels, by name.
    pub channels: Vec<&'f str>,
    /// Matches bundles with a version in this range; never a bundle without a version.
    pub version_range: Option<MastermindsRange>,
    /// Matches bundles that provide this API, by a property `olm.gvk`.
    pub provides: Option<ApiFilter<'f>>,
    /// Matches bundles that require this API, by a property `olm.gvk.required`; an `olm.constraint`
    /// does not count.
    pub requires: Option<ApiFilter<'f>>,
    /// Matches bundles that require this package, by a property `olm.package.required`; an
    /// `olm.constraint` does not count.
    pub requires_package: Option<&'f str>,
    /// Matches bundles that run on this platform, as [`Bundle::runs_on`](crate::Bundle::runs_on)
    /// says.
    pub platform: Option<Platform<'f>>,
    /// Matches bundles that OLM v1 can install in one of these senses, as
    /// [`Bundle::olm_v1_installability`](crate::Bundle::olm_v1_installability) says.
    pub olm_v1: Vec<OlmV1Installability>,
    /// Matches bundles with such rights, as [`Bundle::grants`](crate::Bundle::grants) says.
    pub permission: Option<PermissionQuery<'f>>,
    /// Matches bundles that are (`true`) or are not (`false`) the only head of a channel.
    pub channel_head: Option<bool>,
    /// Matches bundles that are (`true`) or are not (`false`) deprecated themselves; deprecations
    /// of packages and channels do not count.
    pub deprecated: Option<bool>,
}

/// Conditions on blobs, as in catalogd's `/metas`; the default matches every blob.
///
/// A blob without a schema matches no condition, and an empty field counts as absent. The
/// `olm.package` of a package has no field `package`: [`MetaFilter::package`] does not find it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetaFilter<'f> {
    /// Matches blobs of this schema.
    pub schema: Option<&'f str>,
    /// Matches blobs of this package.
    pub package: Option<&'f str>,
    /// Matches blobs of this name.
    pub name: Option<&'f str>,
}
