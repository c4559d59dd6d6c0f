//! `Channel` and `ChannelEntry`.

use fbc::catalog::{Channel, ChannelEntry, Head};

use super::{Field, In, Object, Outcome, Writer};
use crate::key::Tag;

impl<'a> Object<'a> for In<'a, Channel<'a>> {
    fn type_name(self) -> &'static str {
        "Channel"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let channel = self.it;
        match field.name {
            "id" => {
                let parts = [&self.served.name, channel.package().name(), channel.name()];
                to.key(Tag::CHANNEL, parts.map(Some));
            }
            "package" => return to.one(self.with(channel.package()), field),
            "name" => to.text(channel.name()),
            "isDefault" => to.boolean(channel.is_default()),
            "head" => {
                let head = match channel.head() {
                    Head::One(entry) => Some(self.with(entry)),
                    Head::None | Head::Several => None,
                };
                return to.maybe(head, field);
            }
            "entries" => return to.many(channel.entries().map(|entry| self.with(entry)), field),
            "deprecation" => return to.maybe(channel.deprecation(), field),
            "properties" => return to.properties(channel.properties(), field),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for In<'a, ChannelEntry<'a>> {
    fn type_name(self) -> &'static str {
        "ChannelEntry"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let entry = self.it;
        match field.name {
            "channel" => return to.one(self.with(entry.channel()), field),
            "name" => to.text(entry.name()),
            "bundle" => return to.maybe(entry.bundle().map(|bundle| self.with(bundle)), field),
            "replaces" => to.maybe_text(entry.replaces()),
            "skips" => to.texts(entry.skips()),
            "skipRange" => to.maybe_text(entry.skip_range()),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}
