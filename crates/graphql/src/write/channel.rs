//! `Channel` and `ChannelEntry`.

use fbc::work::{Step, sort_steps};
use fbc::{Channel, ChannelEntry, Head, Package};

use super::property::PropertyOwner;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::connection::Direction;
use crate::fields::{ChannelEntryField, ChannelField};
use crate::input::{self, ChannelOrderField, OrderInput};
use crate::opaque_key::KeyTag;

impl<'a> ResponseWriter<'a> {
    /// `Package.channels`.
    pub(super) fn channels(
        &mut self,
        package: InCatalog<'a, Package<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let order = input::read(arguments(field).get("orderBy")).unwrap_or(OrderInput {
            field: ChannelOrderField::Name,
            direction: Direction::Ascending,
        });
        let direction = order.direction;
        let in_catalog = |channel| package.with(channel);
        let channels = package.item.channels_in_order();
        match order.field {
            ChannelOrderField::HeadVersion => {
                self.work.draw(Step::SortStep, sort_steps(channels.len()))?;
                let ranks = package.served.content.catalog.version_ranks();
                let rank = |channel: Channel<'a>| match channel.head() {
                    Head::One(entry) => ranks[entry.bundle()?.place()],
                    Head::None | Head::Several => None,
                };
                let mut channels: Vec<_> =
                    channels.map(|channel| (rank(channel), channel)).collect();
                channels.sort_by(|(a, one), (b, other)| {
                    let by_version = direction.present_first(a.as_ref(), b.as_ref(), u32::cmp);
                    by_version.then_with(|| one.name().cmp(other.name()))
                });
                self.object_list(
                    channels.into_iter().map(|(_, channel)| in_catalog(channel)),
                    field,
                )
            }
            ChannelOrderField::Name if direction == Direction::Descending => {
                self.object_list(channels.rev().map(in_catalog), field)
            }
            ChannelOrderField::Name => self.object_list(channels.map(in_catalog), field),
        }
    }
}

impl<'a> Object<'a> for InCatalog<'a, Channel<'a>> {
    type Field = ChannelField;

    fn write(
        self,
        name: ChannelField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let channel = self.item;
        match name {
            ChannelField::Id => {
                let parts = [&self.served.name, channel.package().name(), channel.name()];
                writer.opaque_key(KeyTag::CHANNEL, parts.map(Some));
            }
            ChannelField::Package => return writer.object(self.with(channel.package()), field),
            ChannelField::Name => writer.string(channel.name()),
            ChannelField::IsDefault => writer.boolean(channel.is_default()),
            ChannelField::Head => {
                let head = match channel.head() {
                    Head::One(entry) => Some(self.with(entry)),
                    Head::None | Head::Several => None,
                };
                return writer.optional_object(head, field);
            }
            ChannelField::Entries => {
                return writer.object_list(channel.entries().map(|entry| self.with(entry)), field);
            }
            ChannelField::EntryCount => writer.count(channel.entries().len()),
            ChannelField::Deprecation => {
                return writer.optional_object(channel.deprecation(), field);
            }
            ChannelField::Properties => {
                return writer.properties(self.with(PropertyOwner::Channel(channel)), field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for InCatalog<'a, ChannelEntry<'a>> {
    type Field = ChannelEntryField;

    fn write(
        self,
        name: ChannelEntryField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let entry = self.item;
        match name {
            ChannelEntryField::Id => {
                let channel = entry.channel();
                let occurrence = entry.occurrence(writer.work)?.to_string();
                let parts = [
                    &self.served.name,
                    channel.package().name(),
                    channel.name(),
                    entry.name(),
                    occurrence.as_str(),
                ];
                writer.opaque_key(KeyTag::ENTRY, parts.map(Some));
            }
            ChannelEntryField::Channel => return writer.object(self.with(entry.channel()), field),
            ChannelEntryField::Name => writer.string(entry.name()),
            ChannelEntryField::Bundle => {
                return writer
                    .optional_object(entry.bundle().map(|bundle| self.with(bundle)), field);
            }
            ChannelEntryField::Replaces => writer.optional_string(entry.replaces()),
            ChannelEntryField::Skips => writer.strings(entry.skips()),
            ChannelEntryField::SkipRange => writer.optional_string(entry.skip_range()),
        }
        Ok(())
    }
}
