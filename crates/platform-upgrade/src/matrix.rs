//! Packages and channels of several catalogs side by side.

use fbc::work::{Step, Work, WorkStopped};
use fbc::{Bundle, Catalog, Channel, Head, Package};

/// A package in several catalogs.
#[derive(Clone)]
pub struct PackageMatrix<'a> {
    /// Name of the package.
    pub name: &'a str,
    /// Names of the channels that every catalog with the package has, sorted.
    pub common_channels: Vec<&'a str>,
    /// What each catalog has of it, in the order of the catalogs; `None` for one without it.
    pub catalogs: Vec<Option<CatalogChannels<'a>>>,
}

/// A package in one of the catalogs.
#[derive(Clone)]
pub struct CatalogChannels<'a> {
    /// The package.
    pub package: Package<'a>,
    /// Its channels, sorted by name with numbers.
    pub channels: Vec<ChannelHead<'a>>,
    /// Names of the channels that not every catalog with the package has, sorted.
    pub other_channels: Vec<&'a str>,
    /// `true` when the catalog before it that has the package has another default channel.
    pub is_default_channel_changed: bool,
}

/// A channel with its head.
#[derive(Clone, Copy)]
pub struct ChannelHead<'a> {
    /// Name of the channel.
    pub name: &'a str,
    /// Bundle of its only head; `None` when it has none or several.
    pub head: Option<Bundle<'a>>,
}

/// Compares the packages of these names, or all packages when there are none, sorted by name. A
/// name that no catalog has is left out.
///
/// # Errors
/// If the work was stopped.
pub fn package_matrix<'a>(
    catalogs: &[&'a Catalog],
    names: &[&str],
    work: &Work<'_>,
) -> Result<Vec<PackageMatrix<'a>>, WorkStopped> {
    let mut found: Vec<&'a str> = Vec::new();
    for catalog in catalogs {
        if names.is_empty() {
            work.draw(Step::Package, 2 * catalog.packages().len())?;
            found.extend(catalog.packages().map(Package::name));
        } else {
            work.draw(Step::Comparison, 20 * names.len())?;
            let packages = names.iter().filter_map(|name| catalog.package(name));
            found.extend(packages.map(Package::name));
        }
    }
    work.draw(Step::SortStep, fbc::work::sort_steps(found.len()))?;
    found.sort_unstable();
    found.dedup();
    found
        .into_iter()
        .map(|name| compare(catalogs, name, work))
        .collect()
}

fn compare<'a>(
    catalogs: &[&'a Catalog],
    name: &'a str,
    work: &Work<'_>,
) -> Result<PackageMatrix<'a>, WorkStopped> {
    work.draw(Step::Comparison, 20 * catalogs.len())?;
    let packages: Vec<_> = catalogs
        .iter()
        .map(|catalog| catalog.package(name))
        .collect();
    let present: Vec<_> = packages.iter().flatten().copied().collect();
    let first = present
        .first()
        .into_iter()
        .flat_map(|package| package.channels());
    let mut common_channels = Vec::new();
    for channel in first {
        work.draw(Step::Edge, 4 * present.len())?;
        if present
            .iter()
            .all(|package| package.channel(channel.name()).is_some())
        {
            common_channels.push(channel.name());
        }
    }
    let mut former: Option<Package<'a>> = None;
    let mut of_catalogs = Vec::with_capacity(packages.len());
    for package in packages {
        let Some(package) = package else {
            of_catalogs.push(None);
            continue;
        };
        work.draw(Step::Edge, 10 * package.channels().len())?;
        let channels = package.channels_in_order().map(|channel| ChannelHead {
            name: channel.name(),
            head: match channel.head() {
                Head::One(entry) => entry.bundle(),
                Head::None | Head::Several => None,
            },
        });
        let names = package.channels().map(Channel::name);
        of_catalogs.push(Some(CatalogChannels {
            package,
            channels: channels.collect(),
            other_channels: names
                .filter(|name| common_channels.binary_search(name).is_err())
                .collect(),
            is_default_channel_changed: former.is_some_and(|former| {
                former.default_channel_name() != package.default_channel_name()
            }),
        }));
        former = Some(package);
    }
    Ok(PackageMatrix {
        name,
        common_channels,
        catalogs: of_catalogs,
    })
}
