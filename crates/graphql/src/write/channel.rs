//! `Channel` and `ChannelEntry`.

use fbc::catalog::{Channel, ChannelEntry, Head};

use super::{Field, In, Object, Outcome, Writer};
use crate::fields::{ChannelEntryField, ChannelField};
use crate::key::Tag;

impl<'a> Object<'a> for In<'a, Channel<'a>> {
    type Field = ChannelField;

    fn write(self, name: ChannelField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let channel = self.it;
        match name {
            ChannelField::Id => {
                let parts = [&self.served.name, channel.package().name(), channel.name()];
                to.key(Tag::CHANNEL, parts.map(Some));
            }
            ChannelField::Package => return to.one(self.with(channel.package()), field),
            ChannelField::Name => to.text(channel.name()),
            ChannelField::IsDefault => to.boolean(channel.is_default()),
            ChannelField::Head => {
                let head = match channel.head() {
                    Head::One(entry) => Some(self.with(entry)),
                    Head::None | Head::Several => None,
                };
                return to.maybe(head, field);
            }
            ChannelField::Entries => return to.many(channel.entries().map(|entry| self.with(entry)), field),
            ChannelField::Deprecation => return to.maybe(channel.deprecation(), field),
            ChannelField::Properties => return to.properties(channel.properties(), field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for In<'a, ChannelEntry<'a>> {
    type Field = ChannelEntryField;

    fn write(self, name: ChannelEntryField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let entry = self.it;
        match name {
            ChannelEntryField::Channel => return to.one(self.with(entry.channel()), field),
            ChannelEntryField::Name => to.text(entry.name()),
            ChannelEntryField::Bundle => return to.maybe(entry.bundle().map(|bundle| self.with(bundle)), field),
            ChannelEntryField::Replaces => to.maybe_text(entry.replaces()),
            ChannelEntryField::Skips => to.texts(entry.skips()),
            ChannelEntryField::SkipRange => to.maybe_text(entry.skip_range()),
        }
        Ok(())
    }
}
