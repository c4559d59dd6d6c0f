//! The requests of clients, typed: each is a document, and a function from its generated types to
//! those of this crate.

use graphql_client::GraphQLQuery;
use serde::Serialize;
use serde_json::Value;

use crate::client::Client;
use crate::documents::{self, bundles, diff, heads, packages, resolve, upgrade_path};
use crate::types::{
    BundleQuery, BundleResolution, BundleResolutionFailure, ChannelHead, ContentChange,
    ContentDiff, ContentRef, ListedBundle, ListedPackage, ObjectChange, PackageQuery,
    ResolveRequest, ResolveResult, UpgradeStep,
};
use crate::walk::PageWalk;
use crate::{ClientError, Result};

impl Client {
    /// Returns the packages that match, by relevance if they are searched for and by name
    /// otherwise.
    pub fn packages(&self, filter: &PackageQuery) -> PageWalk<ListedPackage> {
        let variables = packages::Variables {
            catalogs: Some(filter.catalogs.clone()),
            filter: Some(packages::PackageFilter {
                search: filter.search.clone(),
                names: list(&filter.names),
                categories: list(&filter.categories),
                providers: list(&filter.providers),
                deprecated: filter.deprecated,
                ..packages::PackageFilter::default()
            }),
            ..packages::Variables::default()
        };
        let body = documents::Packages::build_query(variables);
        PageWalk::new(
            self,
            body.query,
            encoded(&body.variables),
            "/packages",
            |page| {
                let page: packages::PackagesPackages = serde_json::from_value(page)?;
                Ok(page.nodes.into_iter().map(package).collect())
            },
        )
    }

    /// Returns the channels of a package with their heads, of each of these catalogs, or of every
    /// catalog if none is given; in each package the highest version comes first. Empty if no
    /// catalog has the package.
    pub async fn heads(&self, package: &str, catalogs: &[String]) -> Result<Vec<ChannelHead>> {
        let variables = heads::Variables {
            catalogs: Some(catalogs.to_vec()),
            package_name: package.to_owned(),
        };
        let data = self.typed::<documents::Heads>(variables).await?;
        let packages = data
            .packages
            .map(|packages| packages.nodes)
            .unwrap_or_default();
        Ok(packages.into_iter().flat_map(heads_of).collect())
    }

    /// Returns the bundles that match, by package, then highest version first.
    pub fn bundles(&self, filter: &BundleQuery) -> PageWalk<ListedBundle> {
        let provides = filter.provides.clone();
        let variables = bundles::Variables {
            catalogs: Some(filter.catalogs.clone()),
            packages: Some(filter.packages.clone()),
            filter: Some(bundles::BundleFilter {
                channels: list(&filter.channels),
                version_range: filter.version_range.clone(),
                provides: provides.map(|(group, kind)| bundles::GroupVersionKindInput {
                    group,
                    kind,
                    version: None,
                }),
                channel_head: filter.only_heads.then_some(true),
                ..bundles::BundleFilter::default()
            }),
            ..bundles::Variables::default()
        };
        let body = documents::Bundles::build_query(variables);
        PageWalk::new(
            self,
            body.query,
            encoded(&body.variables),
            "/bundles",
            |page| {
                let page: bundles::BundlesBundles = serde_json::from_value(page)?;
                Ok(page.nodes.into_iter().map(bundle).collect())
            },
        )
    }

    /// Returns the heads of channels that provide an API in any version.
    pub fn providers(&self, group: &str, kind: &str) -> PageWalk<ListedBundle> {
        let provides = Some((group.to_owned(), kind.to_owned()));
        self.bundles(&BundleQuery {
            provides,
            only_heads: true,
            ..BundleQuery::default()
        })
    }

    /// Returns the references of all images of the bundles that match, sorted, each once: what to
    /// mirror.
    pub async fn images(&self, filter: &BundleQuery) -> Result<Vec<String>> {
        let bundles = self.bundles(filter).all().await?;
        let images = bundles
            .into_iter()
            .flat_map(|bundle| bundle.related_images.into_iter().chain([bundle.image]));
        let mut images: Vec<_> = images.filter(|image| !image.is_empty()).collect();
        images.sort_unstable();
        images.dedup();
        Ok(images)
    }

    /// Returns what the OLM v1 controller would install.
    pub async fn resolve(&self, request: &ResolveRequest) -> Result<ResolveResult> {
        let request = request.clone();
        let policy = if request.self_certified {
            "SELF_CERTIFIED"
        } else {
            "CATALOG_PROVIDED"
        };
        let installed = request.installed.map(|installed| resolve::InstalledBundle {
            name: installed.name,
            version: installed.version,
            release: None,
        });
        let request = resolve::ResolveRequest {
            package_name: request.package,
            version: request.version,
            channels: list(&request.channels),
            catalogs: list(&request.catalogs),
            selector: request.selector,
            installed,
            compatible_with: None,
            upgrade_constraint_policy: resolve::UpgradeConstraintPolicy::Other(policy.to_owned()),
            require_verified: request.require_verified,
        };
        match self
            .typed::<documents::Resolve>(resolve::Variables { request })
            .await?
            .resolve
        {
            Some(resolve::ResolveResolve::Resolution(found)) => {
                Ok(ResolveResult::Resolution(resolution(found)))
            }
            Some(resolve::ResolveResolve::ResolutionFailure(failure)) => {
                let code = encoded(&failure.code)
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
                let message = failure.message;
                let similar_names = failure.similar_names;
                Ok(ResolveResult::ResolutionFailure(BundleResolutionFailure {
                    code,
                    message,
                    similar_names,
                }))
            }
            _ => Err(ClientError::NotFound {
                endpoint: self.endpoint().to_owned(),
                message: "the server gives a result of a kind that this client does not know"
                    .to_owned(),
            }),
        }
    }

    /// Returns a shortest sequence of upgrades from a bundle to another, or to the head of the
    /// default channel if none is given; empty when they are the same, `None` when there is none or
    /// a name is unknown.
    pub async fn upgrade_path(
        &self,
        catalog: &str,
        package: &str,
        from: &str,
        to: Option<&str>,
    ) -> Result<Option<Vec<UpgradeStep>>> {
        let variables = upgrade_path::Variables {
            catalog: catalog.to_owned(),
            package_name: package.to_owned(),
            from: from.to_owned(),
            to: to.map(str::to_owned),
            channels: None,
        };
        let bundle = self
            .typed::<documents::UpgradePath>(variables)
            .await?
            .bundle;
        let steps = bundle.and_then(|bundle| bundle.upgrade_path);
        Ok(steps.map(|steps| steps.into_iter().map(step).collect()))
    }

    /// Returns what differs between two contents; `None` if a digest is neither served nor
    /// remembered.
    pub async fn diff(&self, from: &ContentRef, to: &ContentRef) -> Result<Option<ContentDiff>> {
        let side = |content: &ContentRef| match content {
            ContentRef::Name(name) => diff::CatalogRef::Name(name.clone()),
            ContentRef::Digest(digest) => diff::CatalogRef::Digest(digest.clone()),
        };
        let variables = diff::Variables {
            from: side(from),
            to: side(to),
        };
        let found = self.typed::<documents::Diff>(variables).await?.diff;
        Ok(found.map(|found| ContentDiff {
            from_digest: found.from_digest,
            to_digest: found.to_digest,
            packages: found.packages.into_iter().map(package_diff).collect(),
        }))
    }

    /// Executes a document of this crate.
    pub(crate) async fn typed<Q: GraphQLQuery>(
        &self,
        variables: Q::Variables,
    ) -> Result<Q::ResponseData> {
        let body = Q::build_query(variables);
        let data = self
            .execute(body.query, &encoded(&body.variables))
            .await?
            .data;
        serde_json::from_value(data).map_err(|source| self.undecodable(source))
    }
}

fn encoded(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("generated types are JSON")
}

/// An empty list is no condition.
fn list(items: &[String]) -> Option<Vec<String>> {
    Some(items.to_vec()).filter(|items| !items.is_empty())
}

fn package(node: packages::PackagesPackagesNodes) -> ListedPackage {
    ListedPackage {
        catalog: node.catalog.name,
        name: node.name,
        display_name: node.display_name,
        summary: node.summary,
        provider: node
            .metadata
            .and_then(|metadata| metadata.provider?.short_name),
        default_channel: node.default_channel.map(|channel| channel.name),
        version: node.latest.and_then(|bundle| bundle.version),
        deprecation: node.deprecation.map(|deprecation| deprecation.message),
    }
}

fn heads_of(node: heads::HeadsPackagesNodes) -> impl Iterator<Item = ChannelHead> {
    let catalog = node.catalog.name;
    let package = node.name;
    node.channels.into_iter().map(move |channel| {
        let (bundle, version) = match channel.head {
            Some(head) => (
                Some(head.name),
                head.bundle.and_then(|bundle| bundle.version),
            ),
            None => (None, None),
        };
        ChannelHead {
            catalog: catalog.clone(),
            package: package.clone(),
            channel: channel.name,
            is_default: channel.is_default,
            bundle,
            version,
            deprecation: channel.deprecation.map(|deprecation| deprecation.message),
        }
    })
}

fn bundle(node: bundles::BundlesBundlesNodes) -> ListedBundle {
    ListedBundle {
        catalog: node.catalog.name,
        package: node.package.name,
        name: node.name,
        version: node.version,
        image: node.image,
        channels: node.channel_names,
        related_images: node
            .related_images
            .into_iter()
            .map(|related| related.image)
            .collect(),
        deprecation: node.deprecation.map(|deprecation| deprecation.message),
    }
}

fn resolution(found: resolve::ResolveResolveOnResolution) -> BundleResolution {
    let bundle = found.bundle;
    BundleResolution {
        catalog: bundle.catalog.name,
        package: bundle.package.name,
        bundle: bundle.name,
        version: bundle.version,
        image: bundle.image,
        deprecations: found
            .deprecations
            .into_iter()
            .map(|deprecation| deprecation.message)
            .collect(),
    }
}

fn step(edge: upgrade_path::UpgradePathBundleUpgradePath) -> UpgradeStep {
    let reason = |reason| encoded(&reason).as_str().unwrap_or_default().to_owned();
    UpgradeStep {
        from: edge.from_name,
        to: edge.to_name,
        version: edge.to.and_then(|bundle| bundle.version),
        reasons: edge.reasons.into_iter().map(reason).collect(),
        channels: edge.channel_names,
    }
}

fn package_diff(package: diff::DiffDiffPackages) -> (ObjectChange, Vec<ObjectChange>) {
    let bundles = package.bundles.into_iter();
    let bundles = bundles.map(|bundle| ObjectChange {
        name: bundle.name,
        change: change(bundle.change),
    });
    (
        ObjectChange {
            name: package.name,
            change: change(package.change),
        },
        bundles.collect(),
    )
}

fn change(change: diff::Change) -> ContentChange {
    match change {
        diff::Change::ADDED => ContentChange::Added,
        diff::Change::REMOVED => ContentChange::Removed,
        diff::Change::CHANGED => ContentChange::Changed,
        diff::Change::Other(name) => ContentChange::Other(name),
    }
}
