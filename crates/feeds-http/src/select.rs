//! Selects the entries of a feed from the change logs of its catalogs.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use fbc::work::{Step, Work, WorkStopped};
use fbc::{Catalog, PackageFilter};
use jiff::Timestamp;
use serving::{ChangeLog, ChangeSet, PackageChanges, Served};

use crate::MAX_ENTRIES;
use crate::error::FeedError;
use crate::request::FeedRequest;

/// A catalog of a feed.
#[derive(Clone)]
pub(crate) struct FeedSource {
    pub(crate) served: Arc<Served>,
    pub(crate) log: ChangeLog,
}

/// The changes of one package with one content.
#[derive(Debug)]
pub(crate) struct FeedEntry {
    /// Name of the catalog.
    pub(crate) catalog: String,
    pub(crate) at: Timestamp,
    /// Digest of the content before.
    pub(crate) from: String,
    /// Digest of the content after.
    pub(crate) to: String,
    /// Number of this change among those between the same contents.
    pub(crate) repeat: u32,
    /// Number of changes of the content that are in no entry.
    pub(crate) unlisted: usize,
    pub(crate) changes: PackageChanges,
}

/// Returns the latest entries of a feed, latest first, at most [`MAX_ENTRIES`].
pub(crate) fn select(
    sources: &[FeedSource],
    request: &FeedRequest,
    work: &Work<'_>,
) -> Result<Vec<FeedEntry>, FeedError> {
    let too_large = |WorkStopped| FeedError::TooLarge;
    let mut all = Vec::new();
    for source in sources {
        let name = &source.served.name;
        let catalog = &source.served.content.catalog;
        if let Some(package) = &request.package {
            let sets = source.log.sets_of_package(package, work);
            let sets = sets.map_err(too_large)?;
            if sets.is_empty() && catalog.package(package).is_none() {
                return Err(FeedError::Package {
                    catalog: name.clone(),
                    package: package.clone(),
                });
            }
            let sets = sets.into_iter().take(MAX_ENTRIES);
            all.extend(sets.flat_map(|set| entries(name, set)));
            continue;
        }
        let found = request.search.as_ref();
        let found = found.map(|words| search(catalog, words, work)).transpose();
        let found = found.map_err(too_large)?;
        let mut taken = 0;
        for set in source.log.latest_sets(work) {
            let mut set = set.map_err(too_large)?;
            if let Some(found) = &found {
                set.packages.retain(|it| found.contains(it.name.as_str()));
            }
            taken += set.packages.len();
            all.extend(entries(name, set));
            if taken >= MAX_ENTRIES {
                break;
            }
        }
    }

    work.draw(Step::SortStep, all.len()).map_err(too_large)?;
    all.sort_by(|a, b| {
        let key = |entry: &FeedEntry| Reverse(entry.at);
        key(a)
            .cmp(&key(b))
            .then_with(|| a.catalog.cmp(&b.catalog))
            .then_with(|| a.changes.name.cmp(&b.changes.name))
    });
    all.truncate(MAX_ENTRIES);
    Ok(all)
}

/// Returns the entries of a change set; none for the first content of a log.
fn entries(catalog: &str, set: ChangeSet) -> impl Iterator<Item = FeedEntry> {
    let ChangeSet {
        from,
        to,
        repeat,
        at,
        unlisted,
        packages,
    } = set;
    let from = from.unwrap_or_default();
    packages.into_iter().map(move |changes| FeedEntry {
        catalog: catalog.to_owned(),
        at,
        from: from.clone(),
        to: to.clone(),
        repeat,
        unlisted,
        changes,
    })
}

/// Returns the names of the packages that a search finds.
fn search<'c>(
    catalog: &'c Catalog,
    words: &str,
    work: &Work<'_>,
) -> Result<BTreeSet<&'c str>, WorkStopped> {
    let filter = PackageFilter {
        search: Some(words.into()),
        ..PackageFilter::default()
    };
    let found = catalog.find_packages(&filter, work)?;
    let names = found
        .matches()
        .map(|(place, _)| catalog.package_at(place as usize).name());
    Ok(names.collect())
}
