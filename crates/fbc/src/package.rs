//! Packages, channels, channel entries and deprecations: handles that read the index.

use std::ops::Range;

use fbc_read::json::JsonText;

use crate::bundle::Bundle;
use crate::catalog::{Catalog, Meta, PackageProblems};
use crate::deprecation::Deprecation;
use crate::ids::{IdRange, NONE, id, ids};
use crate::property::{Property, properties};
use crate::record::{ChannelRecord, EntryRecord, HeadRecord, PackageRecord};
use crate::tables::icons::Icon;
use crate::work::{Step, Work, WorkStopped};

/// A package, which can be installed and upgraded: an `olm.package` with its channels and bundles.
#[derive(Clone, Copy)]
pub struct Package<'a> {
    catalog: &'a Catalog,
    id: u32,
}

/// A channel, a stream of upgrades: an `olm.channel`.
#[derive(Clone, Copy)]
pub struct Channel<'a> {
    catalog: &'a Catalog,
    id: u32,
}

/// An entry of a channel, which names a bundle and its upgrade edges.
#[derive(Clone, Copy)]
pub struct ChannelEntry<'a> {
    catalog: &'a Catalog,
    id: u32,
}

/// The head of a channel: its entry that no entry of the channel replaces or skips.
#[derive(Clone, Copy)]
pub enum Head<'a> {
    /// The channel has no such entry.
    None,
    /// The channel has exactly one such entry, as it should.
    One(ChannelEntry<'a>),
    /// The channel has several such entries.
    Several,
}

impl Catalog {
    /// Iterates over all packages, sorted by name.
    pub fn packages(&self) -> impl DoubleEndedIterator<Item = Package<'_>> + ExactSizeIterator {
        (0..self.index.packages.len()).map(|at| self.package_at(at))
    }

    /// Returns the package at an index in the order of [`Catalog::packages`].
    ///
    /// # Panics
    /// Panics when the index is out of range.
    pub fn package_at(&self, at: usize) -> Package<'_> {
        assert!(
            at < self.index.packages.len(),
            "package {at} of {}",
            self.index.packages.len()
        );
        Package::new(self, id(at))
    }

    /// Finds a package by name, in logarithmic time.
    pub fn package(&self, name: &str) -> Option<Package<'_>> {
        self.package_position(name)
            .ok()
            .map(|at| self.package_at(at))
    }

    /// Returns the entry at an index in the order of the packages, their channels and the entries
    /// of these.
    ///
    /// # Panics
    /// Panics when the index is out of range.
    pub fn entry_at(&self, at: usize) -> ChannelEntry<'_> {
        assert!(
            at < self.index.entries.len(),
            "entry {at} of {}",
            self.index.entries.len()
        );
        ChannelEntry::new(self, id(at))
    }
}

impl<'a> Bundle<'a> {
    /// Returns the package that the bundle belongs to.
    pub fn package(self) -> Package<'a> {
        Package::new(self.catalog(), self.record().package)
    }

    /// Iterates over its entries in the channels of its package, by channel, then in catalog order.
    pub fn channel_entries(self) -> impl ExactSizeIterator<Item = ChannelEntry<'a>> {
        ids(self.record().placements).map(move |at| {
            ChannelEntry::new(self.catalog(), self.catalog().index.placements[at as usize])
        })
    }
}

impl<'a> Package<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Self {
        Self { catalog, id }
    }

    /// Returns the name, unique in its catalog.
    pub fn name(self) -> &'a str {
        self.catalog.index.names.get(self.record().name)
    }

    /// Returns the short description by the catalog's author, if any.
    pub fn description(self) -> Option<JsonText<'a>> {
        let span = self.record().description;
        (!span.is_none()).then(|| JsonText::new(self.catalog.index.slice(self.record().meta, span)))
    }

    /// Returns the `defaultChannel` of the blob, which may name no channel; empty when the blob has
    /// none.
    pub fn default_channel_name(self) -> &'a str {
        self.catalog
            .index
            .names
            .get(self.record().default_channel_name)
    }

    /// Returns the default channel; `None` when the package has no channel of that name.
    pub fn default_channel(self) -> Option<Channel<'a>> {
        let id = self.record().default_channel;
        (id != NONE).then(|| Channel::new(self.catalog, id))
    }

    /// Iterates over its channels, sorted by name.
    pub fn channels(self) -> impl DoubleEndedIterator<Item = Channel<'a>> + ExactSizeIterator {
        ids(self.record().channels).map(move |id| Channel::new(self.catalog, id))
    }

    /// Iterates over its channels, sorted by name with runs of digits compared as numbers: `1.9`
    /// comes before `1.10`. Names that differ in nothing else come in the order of their bytes.
    pub fn channels_in_order(
        self,
    ) -> impl DoubleEndedIterator<Item = Channel<'a>> + ExactSizeIterator {
        let catalog = self.catalog();
        let order = &catalog.channel_order()[self.channel_places()];
        order.iter().map(move |&id| Channel::new(catalog, id))
    }

    /// Returns the indexes of its channels among all channels of the catalog.
    pub(super) fn channel_places(self) -> Range<usize> {
        self.record().channels.places()
    }

    /// Returns the numbers of its listed problems.
    pub fn problem_counts(self) -> PackageProblems {
        self.catalog.problem_counts(self.place())
    }

    /// Finds a channel by name.
    pub fn channel(self, name: &str) -> Option<Channel<'a>> {
        let range = self.record().channels;
        let channels = &self.catalog.index.channels[range.places()];
        let at = channels
            .binary_search_by(|channel| self.catalog.index.names.get(channel.name).cmp(name))
            .ok()?;
        Some(Channel::new(self.catalog, range.start + id(at)))
    }

    /// Iterates over its bundles: highest version first, then by name; bundles without a version
    /// come last.
    pub fn bundles(self) -> impl DoubleEndedIterator<Item = Bundle<'a>> + ExactSizeIterator {
        ids(self.record().bundles).map(move |id| Bundle::new(self.catalog, id))
    }

    /// Returns the indexes of its bundles in the order of [`Catalog::bundles`].
    pub fn bundle_places(self) -> Range<usize> {
        self.record().bundles.places()
    }

    /// Finds a bundle by name.
    pub fn bundle(self, name: &str) -> Option<Bundle<'a>> {
        let by_name = &self.catalog.index.bundles_by_name[self.bundle_places()];
        let at = by_name
            .binary_search_by(|&id| Bundle::new(self.catalog, id).name().cmp(name))
            .ok()?;
        Some(Bundle::new(self.catalog, by_name[at]))
    }

    /// Returns its icon: an SVG, PNG, JPEG, GIF, WebP, AVIF or ICO by its bytes; `None` when it has
    /// none, or one of another type, empty, or not base64.
    pub fn icon(self) -> Option<Icon<'a>> {
        self.catalog.icons().of_package(self.place())
    }

    /// Returns its deprecation; `None` when the object itself is not deprecated.
    pub fn deprecation(self) -> Option<Deprecation<'a>> {
        Deprecation::new(self.catalog, self.record().deprecation)
    }

    /// Iterates over the properties of the package itself, in catalog order.
    pub fn properties(self) -> impl ExactSizeIterator<Item = Property<'a>> {
        properties(self.catalog, self.record().meta, self.record().properties)
    }

    /// Returns its blob.
    pub fn meta(self) -> Meta<'a> {
        Meta::new(self.catalog, self.record().meta)
    }

    /// Returns its index in the order of [`Catalog::packages`].
    pub fn place(self) -> usize {
        self.id as usize
    }

    pub(super) fn catalog(self) -> &'a Catalog {
        self.catalog
    }

    fn record(self) -> &'a PackageRecord {
        &self.catalog.index.packages[self.id as usize]
    }
}

impl<'a> Channel<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Self {
        Self { catalog, id }
    }

    /// Returns the package that the channel belongs to.
    pub fn package(self) -> Package<'a> {
        Package::new(self.catalog, self.record().package)
    }

    /// Returns the name, unique in its package.
    pub fn name(self) -> &'a str {
        self.catalog.index.names.get(self.record().name)
    }

    /// Tells whether it is the default channel of its package.
    pub fn is_default(self) -> bool {
        self.package().record().default_channel == self.id
    }

    /// Returns the head: the entry that no entry replaces or skips, if there is exactly one.
    pub fn head(self) -> Head<'a> {
        match self.record().head.get() {
            HeadRecord::None => Head::None,
            HeadRecord::One(id) => Head::One(ChannelEntry::new(self.catalog, id)),
            HeadRecord::Several => Head::Several,
        }
    }

    /// Iterates over its entries, in catalog order.
    pub fn entries(self) -> impl DoubleEndedIterator<Item = ChannelEntry<'a>> + ExactSizeIterator {
        ids(self.record().entries).map(move |id| ChannelEntry::new(self.catalog, id))
    }

    /// Finds the entry for a name by [`ChannelEntry::occurrence`].
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn entry(
        self,
        name: &str,
        occurrence: usize,
        work: &Work<'_>,
    ) -> Result<Option<ChannelEntry<'a>>, WorkStopped> {
        work.draw(Step::Edge, self.entries().len())?;
        Ok(self
            .entries()
            .filter(|entry| entry.name() == name)
            .nth(occurrence))
    }

    /// Returns its deprecation; `None` when the object itself is not deprecated.
    pub fn deprecation(self) -> Option<Deprecation<'a>> {
        Deprecation::new(self.catalog, self.record().deprecation)
    }

    /// Iterates over the properties of the channel itself, in catalog order.
    pub fn properties(self) -> impl ExactSizeIterator<Item = Property<'a>> {
        properties(self.catalog, self.record().meta, self.record().properties)
    }

    /// Returns its blob.
    pub fn meta(self) -> Meta<'a> {
        Meta::new(self.catalog, self.record().meta)
    }

    fn record(self) -> &'a ChannelRecord {
        &self.catalog.index.channels[self.id as usize]
    }
}

impl<'a> ChannelEntry<'a> {
    pub(super) fn new(catalog: &'a Catalog, id: u32) -> Self {
        Self { catalog, id }
    }

    /// Returns its index in the order of the packages, their channels and the entries of these.
    pub fn place(self) -> usize {
        self.id as usize
    }

    /// Returns the channel of the entry.
    pub fn channel(self) -> Channel<'a> {
        Channel::new(self.catalog, self.record().channel)
    }

    /// Returns the name of the bundle.
    pub fn name(self) -> &'a str {
        self.catalog.index.names.get(self.record().name)
    }

    /// Returns the bundle; `None` when the package has no bundle of that name.
    pub fn bundle(self) -> Option<Bundle<'a>> {
        let id = self.record().bundle;
        (id != NONE).then(|| Bundle::new(self.catalog, id))
    }

    /// Returns the number of entries for the same name that come before it in the channel: 0 in a
    /// valid catalog.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn occurrence(self, work: &Work<'_>) -> Result<usize, WorkStopped> {
        let is_before = |entry: &ChannelEntry<'_>| {
            entry.record().channel == self.record().channel && entry.id < self.id
        };
        if let Some(bundle) = self.bundle() {
            work.draw(Step::Edge, bundle.channel_entries().len())?;
            return Ok(bundle.channel_entries().filter(is_before).count());
        }
        let entries = self.channel().record().entries;
        let before = IdRange {
            end: self.id,
            ..entries
        };
        work.draw(Step::Edge, before.len())?;
        let name = self.record().name;
        Ok(ids(before)
            .filter(|&id| Self::new(self.catalog, id).record().name == name)
            .count())
    }

    /// Returns the name of the replaced bundle, which need not be in the catalog; `None` when
    /// absent or empty.
    pub fn replaces(self) -> Option<&'a str> {
        self.catalog
            .index
            .names
            .get_optional(self.record().replaces)
            .filter(|name| !name.is_empty())
    }

    /// Iterates over the names of the skipped bundles, in catalog order.
    pub fn skips(self) -> impl ExactSizeIterator<Item = &'a str> {
        ids(self.record().skips).map(move |at| {
            self.catalog
                .index
                .names
                .get(self.catalog.index.skips[at as usize])
        })
    }

    /// Returns the range of versions that can be upgraded to it; `None` when absent or empty.
    pub fn skip_range(self) -> Option<&'a str> {
        self.catalog
            .index
            .names
            .get_optional(self.record().skip_range)
            .filter(|range| !range.is_empty())
    }

    fn record(self) -> &'a EntryRecord {
        &self.catalog.index.entries[self.id as usize]
    }
}
