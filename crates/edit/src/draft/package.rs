//! A package of a draft: its blobs, with the fields that operations read and change.

use std::collections::{BTreeSet, HashSet};

use super::blob::DraftBlob;
use super::bundle::{BundleBlob, DraftBundle};
use super::channel::DraftChannel;
use crate::blob::CatalogBlob;
use crate::error::EditError;
use crate::value::{BlobValue, Members};

/// A package of a draft.
#[derive(Clone, Debug, Default)]
pub(crate) struct DraftPackage {
    pub(crate) name: String,
    /// The `olm.package`; `None` if the package has none.
    pub(crate) blob: Option<DraftBlob>,
    pub(crate) channels: Vec<DraftChannel>,
    pub(crate) bundles: Vec<DraftBundle>,
    pub(crate) deprecations: Option<DraftBlob>,
}

/// A blob of a package.
#[derive(PartialEq, Eq)]
pub(crate) enum PackageBlob<'p> {
    /// The `olm.package` or the `olm.deprecations`.
    Blob(&'p DraftBlob),
    Channel(&'p DraftChannel),
    Bundle(&'p BundleBlob),
}

impl DraftPackage {
    /// Collects a package from its blobs. Of several with one schema and name the first counts.
    pub(crate) fn read<'m>(
        name: &str,
        blobs: impl Iterator<Item = &'m CatalogBlob>,
    ) -> Result<Self, EditError> {
        let mut package = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        let mut channels = HashSet::new();
        let mut bundles = HashSet::new();
        for blob in blobs {
            let parse = || Ok(DraftBlob::with_id(blob.id, blob.members()?));
            match &*blob.schema {
                "olm.package" if package.blob.is_none() => package.blob = Some(parse()?),
                "olm.channel" if channels.insert(&blob.name) => {
                    package.channels.push(DraftChannel::from_blob(parse()?));
                }
                "olm.bundle" if bundles.insert(&blob.name) => {
                    package.bundles.push(DraftBundle::from_blob(blob)?);
                }
                "olm.deprecations" if package.deprecations.is_none() => {
                    package.deprecations = Some(parse()?);
                }
                _ => {}
            }
        }
        Ok(package)
    }

    pub(crate) fn channel(&self, name: &str) -> Option<&DraftChannel> {
        self.channels.iter().find(|channel| channel.name == name)
    }

    /// Returns the channel of a name, creating it if there is none.
    pub(crate) fn channel_mut(&mut self, name: &str) -> &mut DraftChannel {
        let at = self
            .channels
            .iter()
            .position(|channel| channel.name == name)
            .unwrap_or_else(|| {
                self.channels.push(DraftChannel::new(&self.name, name));
                self.channels.len() - 1
            });
        &mut self.channels[at]
    }

    pub(crate) fn bundle(&self, name: &str) -> Option<&DraftBundle> {
        self.bundles.iter().find(|bundle| bundle.name == name)
    }

    pub(crate) fn channel_names(&self) -> Vec<&str> {
        self.channels.iter().map(|channel| &*channel.name).collect()
    }

    pub(crate) fn bundle_names(&self) -> Vec<&str> {
        self.bundles.iter().map(|bundle| &*bundle.name).collect()
    }

    pub(crate) fn default_channel(&self) -> &str {
        let found = self
            .blob
            .as_ref()
            .and_then(|blob| blob.members.get("defaultChannel"));
        found.and_then(BlobValue::as_str).unwrap_or_default()
    }

    /// Sets the default channel, creating the `olm.package` if there is none.
    pub(crate) fn set_default_channel(&mut self, channel: &str) {
        self.members()
            .insert("defaultChannel".to_owned(), BlobValue::text(channel));
    }

    /// Returns the members of the `olm.package`, which is created if there is none.
    pub(crate) fn members(&mut self) -> &mut Members {
        let name = &self.name;
        let new = || {
            let members = [
                ("schema", BlobValue::text("olm.package")),
                ("name", BlobValue::text(name)),
            ];
            DraftBlob::new(members.map(|(key, value)| (key.to_owned(), value)).into())
        };
        self.blob.get_or_insert_with(new).members_mut()
    }

    /// Removes bundles that no channel lists, and channels without an entry.
    pub(crate) fn prune_stranded(&mut self) {
        self.channels.retain(|channel| !channel.entries.is_empty());
        let placed: HashSet<&str> = entry_names(&self.channels).collect();
        self.bundles.retain(|bundle| placed.contains(&*bundle.name));
    }

    /// Finds the bundles that are stranded: no channel lists them.
    pub(crate) fn stranded(&self) -> BTreeSet<&str> {
        let placed: HashSet<&str> = entry_names(&self.channels).collect();
        self.bundles
            .iter()
            .map(|bundle| &*bundle.name)
            .filter(|name| !placed.contains(name))
            .collect()
    }

    /// Returns the blobs of the package.
    pub(crate) fn blobs(&self) -> impl Iterator<Item = PackageBlob<'_>> {
        let channels = self.channels.iter().map(PackageBlob::Channel);
        let bundles = self
            .bundles
            .iter()
            .map(|bundle| PackageBlob::Bundle(&bundle.blob));
        self.blob
            .iter()
            .map(PackageBlob::Blob)
            .chain(channels)
            .chain(bundles)
            .chain(self.deprecations.iter().map(PackageBlob::Blob))
    }

    /// Counts the entries of its channels and what these skip.
    pub(crate) fn edges(&self) -> usize {
        self.channels.iter().map(DraftChannel::edges).sum()
    }

    /// Ends an operation: new blobs get numbers, and new bundles become like all others.
    pub(crate) fn end_operation(&mut self, next: &mut usize) {
        let mut number = |id: &mut Option<usize>| {
            id.get_or_insert_with(|| {
                *next += 1;
                *next - 1
            });
        };
        self.blob.iter_mut().for_each(|blob| number(&mut blob.id));
        self.channels
            .iter_mut()
            .for_each(|channel| number(&mut channel.blob.id));
        for bundle in &mut self.bundles {
            if let BundleBlob::Parsed(blob) = &mut bundle.blob {
                number(&mut blob.id);
            }
            // A placement says what the operation should do, and counts once.
            bundle.placement = None;
        }
        self.deprecations
            .iter_mut()
            .for_each(|blob| number(&mut blob.id));
    }
}

impl PackageBlob<'_> {
    /// Returns the number in the catalog.
    pub(crate) fn id(&self) -> Option<usize> {
        match *self {
            Self::Blob(blob) | Self::Bundle(BundleBlob::Parsed(blob)) => blob.id,
            Self::Channel(channel) => channel.blob.id,
            // An unparsed blob is one of the catalog.
            Self::Bundle(BundleBlob::Unparsed(blob)) => Some(blob.id),
        }
    }

    pub(crate) fn value(&self) -> BlobValue {
        match *self {
            Self::Blob(blob) | Self::Bundle(BundleBlob::Parsed(blob)) => blob.value(),
            Self::Channel(channel) => channel.value(),
            // It was not parsed, so that it did not change.
            Self::Bundle(BundleBlob::Unparsed(blob)) => blob.value().unwrap_or(BlobValue::Null),
        }
    }
}

/// Returns the names of the entries of channels.
fn entry_names(channels: &[DraftChannel]) -> impl Iterator<Item = &str> {
    channels
        .iter()
        .flat_map(|channel| &channel.entries)
        .map(|entry| &*entry.name)
}
