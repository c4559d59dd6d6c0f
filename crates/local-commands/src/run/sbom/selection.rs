//! The bundles whose images a document lists.

use commands::{CommandError, ExitStatus};
use fbc::{Bundle, Catalog, Channel, Head, Package};

use super::super::packages::find_package;

/// Selects bundles of a catalog.
pub(super) struct BundleSelection<'a> {
    /// Names of packages; empty for all.
    pub(super) packages: &'a [String],
    /// Name of the channels; `None` for all.
    pub(super) channel: Option<&'a str>,
    /// Only the heads of the channels.
    pub(super) only_heads: bool,
}

impl BundleSelection<'_> {
    /// Returns the selected bundles, each once, in the order of packages and versions.
    ///
    /// # Errors
    /// If a package does not exist, or no package has the channel.
    pub(super) fn bundles<'c>(
        &self,
        catalog: &'c Catalog,
    ) -> Result<Vec<Bundle<'c>>, CommandError> {
        let mut packages = Vec::new();
        for name in self.packages {
            packages.push(find_package(catalog, name)?);
        }
        if self.packages.is_empty() {
            packages.extend(catalog.packages());
        }
        packages.sort_by_key(|package| package.name());
        packages.dedup_by_key(|package| package.name());

        let mut channels = packages.iter().copied().flat_map(Package::channels);
        if let Some(channel) = self.channel
            && !channels.any(|it| self.is_selected(it))
        {
            let message = format!("no selected package has a channel `{channel}`");
            return Err(CommandError::new(ExitStatus::NotFound, message));
        }
        let bundles = packages.into_iter().flat_map(Package::bundles);
        Ok(bundles.filter(|bundle| self.has(*bundle)).collect())
    }

    fn has(&self, bundle: Bundle<'_>) -> bool {
        if self.channel.is_none() && !self.only_heads {
            return true;
        }
        let mut channels = bundle.package().channels();
        channels.any(|channel| self.is_selected(channel) && self.takes(channel, bundle.name()))
    }

    fn is_selected(&self, channel: Channel<'_>) -> bool {
        self.channel.is_none_or(|name| channel.name() == name)
    }

    /// Returns whether a bundle of this name is taken from a channel.
    fn takes(&self, channel: Channel<'_>, bundle: &str) -> bool {
        if self.only_heads {
            matches!(channel.head(), Head::One(head) if head.name() == bundle)
        } else {
            channel.entries().any(|entry| entry.name() == bundle)
        }
    }
}
