//! `Channel` and `ChannelEntry`.

use fbc::catalog::{Channel, ChannelEntry, Head};

use super::property::PropertyOwner;
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::{ChannelEntryField, ChannelField};
use crate::opaque_key::KeyTag;

impl<'a> Object<'a> for InCatalog<'a, Channel<'a>> {
    type Field = ChannelField;

    fn write(self, name: ChannelField, field: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
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
            ChannelField::Entries => return writer.object_list(channel.entries().map(|entry| self.with(entry)), field),
            ChannelField::EntryCount => writer.count(channel.entries().len()),
            ChannelField::Deprecation => return writer.optional_object(channel.deprecation(), field),
            ChannelField::Properties => return writer.properties(self.with(PropertyOwner::Channel(channel)), field),
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
                let parts =
                    [&self.served.name, channel.package().name(), channel.name(), entry.name(), occurrence.as_str()];
                writer.opaque_key(KeyTag::ENTRY, parts.map(Some));
            }
            ChannelEntryField::Channel => return writer.object(self.with(entry.channel()), field),
            ChannelEntryField::Name => writer.string(entry.name()),
            ChannelEntryField::Bundle => {
                return writer.optional_object(entry.bundle().map(|bundle| self.with(bundle)), field);
            }
            ChannelEntryField::Replaces => writer.optional_string(entry.replaces()),
            ChannelEntryField::Skips => writer.strings(entry.skips()),
            ChannelEntryField::SkipRange => writer.optional_string(entry.skip_range()),
        }
        Ok(())
    }
}
