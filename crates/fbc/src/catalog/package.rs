//! Packages, channels, their entries and deprecations: handles that read the index.

use std::ops::Range;

use super::property::properties;
use super::record::{ChannelRecord, DeprecationRecord, EntryRecord, HeadRecord, NONE, PackageRecord};
use super::{Bundle, Catalog, JsonText, Meta, Property};

/// Something that can be installed and upgraded: an `olm.package` and what belongs to it.
#[derive(Clone, Copy)]
pub struct Package<'a> {
    catalog: &'a Catalog,
    id: u32,
}

/// A stream of upgrades: an `olm.channel`.
#[derive(Clone, Copy)]
pub struct Channel<'a> {
    catalog: &'a Catalog,
    id: u32,
}

/// A bundle's place in a channel.
#[derive(Clone, Copy)]
pub struct ChannelEntry<'a> {
    catalog: &'a Catalog,
    id: u32,
}

/// Why not to use something any more: an entry of an `olm.deprecations`.
#[derive(Clone, Copy)]
pub struct Deprecation<'a> {
    catalog: &'a Catalog,
    id: u32,
}

/// The entries of a channel that nothing replaces or skips.
#[derive(Clone, Copy)]
pub enum Head<'a> {
    /// There is none.
    None,
    /// There is one, as there should be.
    One(ChannelEntry<'a>),
    /// There are several.
    Several,
}

impl<'a> Package<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Self {
        Self { catalog, id }
    }

    /// Its name, unique in its catalog.
    pub fn name(self) -> &'a str {
        self.catalog.names.get(self.record().name)
    }

    /// Short description by the catalog's author, when there is one.
    pub fn description(self) -> Option<JsonText<'a>> {
        let span = self.record().description;
        (!span.is_none()).then(|| JsonText(self.catalog.slice(self.record().meta, span)))
    }

    /// The name of the channel to install from when none is named, as the blob says; empty when it says none.
    pub fn default_channel_name(self) -> &'a str {
        self.catalog.names.get(self.record().default_channel_name)
    }

    /// The channel to install from when none is named; `None` when the package has no channel of that name.
    pub fn default_channel(self) -> Option<Channel<'a>> {
        let id = self.record().default_channel;
        (id != NONE).then(|| Channel::new(self.catalog, id))
    }

    /// Every channel, by name.
    pub fn channels(self) -> impl DoubleEndedIterator<Item = Channel<'a>> + ExactSizeIterator {
        ids(&self.record().channels).map(move |id| Channel::new(self.catalog, id))
    }

    /// One channel, by name.
    pub fn channel(self, name: &str) -> Option<Channel<'a>> {
        let range = &self.record().channels;
        let channels = &self.catalog.channels[range.start as usize..range.end as usize];
        let at = channels.binary_search_by(|channel| self.catalog.names.get(channel.name).cmp(name)).ok()?;
        Some(Channel::new(self.catalog, range.start + super::id(at)))
    }

    /// Every bundle: highest version first, then by name; those without a version come last.
    pub fn bundles(self) -> impl DoubleEndedIterator<Item = Bundle<'a>> + ExactSizeIterator {
        ids(&self.record().bundles).map(move |id| Bundle::new(self.catalog, id))
    }

    /// The places of its bundles in the order of [`Catalog::bundles`].
    pub fn bundle_places(self) -> Range<usize> {
        let range = &self.record().bundles;
        range.start as usize..range.end as usize
    }

    /// One bundle, by name.
    pub fn bundle(self, name: &str) -> Option<Bundle<'a>> {
        let by_name = &self.catalog.bundles_by_name[self.bundle_places()];
        let at = by_name.binary_search_by(|&id| Bundle::new(self.catalog, id).name().cmp(name)).ok()?;
        Some(Bundle::new(self.catalog, by_name[at]))
    }

    /// Why not to use it any more; `None` when it is not deprecated.
    pub fn deprecation(self) -> Option<Deprecation<'a>> {
        Deprecation::new(self.catalog, self.record().deprecation)
    }

    /// Properties of the package itself, in catalog order.
    pub fn properties(self) -> impl ExactSizeIterator<Item = Property<'a>> {
        properties(self.catalog, self.record().meta, &self.record().properties)
    }

    /// Its blob.
    pub fn meta(self) -> Meta<'a> {
        Meta { catalog: self.catalog, id: self.record().meta }
    }

    /// Its place in the order of [`Catalog::packages`].
    pub fn place(self) -> usize {
        self.id as usize
    }

    pub(super) fn catalog(self) -> &'a Catalog {
        self.catalog
    }

    fn record(self) -> &'a PackageRecord {
        &self.catalog.packages[self.id as usize]
    }
}

impl<'a> Channel<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Self {
        Self { catalog, id }
    }

    /// The package it belongs to.
    pub fn package(self) -> Package<'a> {
        Package::new(self.catalog, self.record().package)
    }

    /// Its name, unique in its package.
    pub fn name(self) -> &'a str {
        self.catalog.names.get(self.record().name)
    }

    /// Whether it is the default channel of its package.
    pub fn is_default(self) -> bool {
        self.package().record().default_channel == self.id
    }

    /// The entry that nothing replaces or skips, if there is exactly one.
    pub fn head(self) -> Head<'a> {
        match self.record().head {
            HeadRecord::None => Head::None,
            HeadRecord::One(id) => Head::One(ChannelEntry::new(self.catalog, id)),
            HeadRecord::Several => Head::Several,
        }
    }

    /// Every entry, in catalog order.
    pub fn entries(self) -> impl DoubleEndedIterator<Item = ChannelEntry<'a>> + ExactSizeIterator {
        ids(&self.record().entries).map(move |id| ChannelEntry::new(self.catalog, id))
    }

    /// Why not to use it any more; `None` when it is not deprecated.
    pub fn deprecation(self) -> Option<Deprecation<'a>> {
        Deprecation::new(self.catalog, self.record().deprecation)
    }

    /// Properties of the channel, in catalog order.
    pub fn properties(self) -> impl ExactSizeIterator<Item = Property<'a>> {
        properties(self.catalog, self.record().meta, &self.record().properties)
    }

    /// Its blob.
    pub fn meta(self) -> Meta<'a> {
        Meta { catalog: self.catalog, id: self.record().meta }
    }

    fn record(self) -> &'a ChannelRecord {
        &self.catalog.channels[self.id as usize]
    }
}

impl<'a> ChannelEntry<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Self {
        Self { catalog, id }
    }

    /// The channel it is in.
    pub fn channel(self) -> Channel<'a> {
        Channel::new(self.catalog, self.record().channel)
    }

    /// Name of the bundle.
    pub fn name(self) -> &'a str {
        self.catalog.names.get(self.record().name)
    }

    /// The bundle; `None` when the catalog has no bundle of that name.
    pub fn bundle(self) -> Option<Bundle<'a>> {
        let id = self.record().bundle;
        (id != NONE).then(|| Bundle::new(self.catalog, id))
    }

    /// Name of the bundle it replaces, which need not be in the catalog; `None` when that is absent or empty.
    pub fn replaces(self) -> Option<&'a str> {
        self.catalog.names.get_optional(self.record().replaces).filter(|name| !name.is_empty())
    }

    /// Names of the bundles it lets an upgrade skip, in catalog order.
    pub fn skips(self) -> impl ExactSizeIterator<Item = &'a str> {
        ids(&self.record().skips).map(move |at| self.catalog.names.get(self.catalog.skips[at as usize]))
    }

    /// Range of the versions it can replace; `None` when that is absent or empty.
    pub fn skip_range(self) -> Option<&'a str> {
        self.catalog.names.get_optional(self.record().skip_range).filter(|range| !range.is_empty())
    }

    fn record(self) -> &'a EntryRecord {
        &self.catalog.entries[self.id as usize]
    }
}

impl<'a> Deprecation<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Option<Self> {
        (id != NONE).then_some(Self { catalog, id })
    }

    /// What is deprecated: `olm.package`, `olm.channel` or `olm.bundle`.
    pub fn schema(self) -> &'a str {
        self.catalog.names.get(self.record().schema)
    }

    /// Name of what is deprecated; for a package the package's own, although the blob leaves that out.
    pub fn name(self) -> &'a str {
        self.catalog.names.get(self.record().name)
    }

    /// Message to the user; `None` when it is missing.
    pub fn message(self) -> Option<JsonText<'a>> {
        let span = self.record().message;
        (!span.is_none()).then(|| JsonText(self.catalog.slice(self.record().meta, span)))
    }

    fn record(self) -> &'a DeprecationRecord {
        &self.catalog.deprecations[self.id as usize]
    }
}

/// A range of ids that knows its length, as a range of `u32` does not.
pub(super) fn ids(range: &Range<u32>) -> impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + use<> {
    (range.start as usize..range.end as usize).map(super::id)
}
