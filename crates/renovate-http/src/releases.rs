//! The versions of a package, in the JSON of Renovate's custom datasources.

use std::borrow::Cow;

use fbc::work::{Step, Work};
use fbc::{Bundle, CsvMetadata, Package};
use fbc_graph::graph::{Installed, UpdateGraph, successors};
use serde::Serialize;
use serving::Served;

use crate::error::DatasourceError;
use crate::parameters::Parameters;

/// The response to a request. The fields are Renovate's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Datasource<'a> {
    releases: Vec<Release<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source_url: Option<Cow<'a, str>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Release<'a> {
    version: &'a str,
    /// Renovate proposes a deprecated version only to those who have it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_deprecated: bool,
}

/// Writes the versions of a package: highest first, each once.
pub(crate) fn write(
    served: &Served,
    name: &str,
    parameters: &Parameters,
    work: &Work<'_>,
) -> Result<String, DatasourceError> {
    let catalog = &served.content.catalog;
    let package = catalog
        .package(name)
        .ok_or_else(|| DatasourceError::Package {
            catalog: served.name.clone(),
            package: name.to_owned(),
        })?;
    let channels: Vec<_> = parameters.channel.iter().collect();
    if let Some(channel) = &parameters.channel
        && package.channel(channel).is_none()
    {
        return Err(DatasourceError::Channel {
            package: name.to_owned(),
            channel: channel.clone(),
        });
    }

    let too_large = |_| DatasourceError::TooLarge {
        package: name.to_owned(),
    };
    let bundles = match &parameters.from {
        None => {
            let graph = UpdateGraph::new(package, &channels, work).map_err(too_large)?;
            graph.nodes().collect()
        }
        Some(from) => upgrades(package, from, &channels, work)?,
    };
    work.draw(Step::Object, bundles.len()).map_err(too_large)?;

    let latest = bundles.first().and_then(|bundle| bundle.metadata());
    let datasource = Datasource {
        releases: releases(&bundles),
        source_url: latest.as_ref().and_then(CsvMetadata::repository),
    };
    Ok(serde_json::to_string(&datasource).expect("texts are JSON"))
}

/// Returns the bundles to which an installed version can be upgraded in one step, and those that
/// have this version.
fn upgrades<'a>(
    package: Package<'a>,
    from: &str,
    channels: &[&String],
    work: &Work<'_>,
) -> Result<Vec<Bundle<'a>>, DatasourceError> {
    // Most packages name their bundles so; the name counts if the bundle is not in the catalog.
    let usual_name = format!("{}.v{from}", package.name());
    let unknown = Installed::parse(&usual_name, from, None)?;
    let too_large = |_| DatasourceError::TooLarge {
        package: package.name().to_owned(),
    };
    work.draw(Step::Bundle, package.bundles().len())
        .map_err(too_large)?;
    let installed: Vec<_> = package
        .bundles()
        .filter(|bundle| bundle.version() == Some(from))
        .collect();

    let mut found = Vec::new();
    for bundle in &installed {
        let upgrade = Installed::from_bundle(*bundle);
        found.extend(successors(package, &upgrade, channels, work).map_err(too_large)?);
    }
    if installed.is_empty() {
        found = successors(package, &unknown, channels, work).map_err(too_large)?;
    }
    found.extend(installed);
    // In the order of the package: highest version first.
    work.draw(Step::SortStep, found.len()).map_err(too_large)?;
    found.sort_unstable_by_key(|bundle| bundle.place());
    Ok(found)
}

/// Returns each version once. It is deprecated if all its bundles are.
fn releases<'a>(bundles: &[Bundle<'a>]) -> Vec<Release<'a>> {
    let mut releases: Vec<Release<'a>> = Vec::new();
    for bundle in bundles {
        let Some(version) = bundle.version() else {
            continue;
        };
        let is_deprecated = bundle.deprecation().is_some();
        match releases.last_mut().filter(|last| last.version == version) {
            Some(last) => last.is_deprecated &= is_deprecated,
            None => releases.push(Release {
                version,
                is_deprecated,
            }),
        }
    }
    releases
}
