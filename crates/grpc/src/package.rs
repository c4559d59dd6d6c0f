//! Messages of packages, channels and channel entries.

use fbc::{Channel, Deprecation, Head, Package};
use fbc_read::json::JsonText;
use serving::Served;

use crate::proto::{ChannelEntryMessage, ChannelMessage, DeprecationMessage, PackageMessage};

/// A channel entry of a response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryMatch {
    /// Index of the entry.
    pub(crate) entry: usize,
    /// Index among the entry's skips of the one to show as `replaces`; `None` shows what the entry
    /// replaces.
    pub(crate) skip: Option<usize>,
}

/// Returns the message for a package with its channels.
pub(crate) fn package_message(package: Package<'_>) -> PackageMessage {
    PackageMessage {
        name: package.name().to_owned(),
        channels: package.channels().map(channel_message).collect(),
        default_channel_name: package.default_channel_name().to_owned(),
        deprecation: deprecation_message(package.deprecation()),
    }
}

fn channel_message(channel: Channel<'_>) -> ChannelMessage {
    let head = match channel.head() {
        Head::One(entry) => entry.name(),
        Head::None | Head::Several => "",
    };
    ChannelMessage {
        name: channel.name().to_owned(),
        csv_name: head.to_owned(),
        deprecation: deprecation_message(channel.deprecation()),
    }
}

/// Returns a deprecation that has a text.
pub(crate) fn deprecation_message(
    deprecation: Option<Deprecation<'_>>,
) -> Option<DeprecationMessage> {
    let text = deprecation?.message().map(JsonText::decode)?;
    (!text.is_empty()).then(|| DeprecationMessage {
        message: text.into_owned(),
    })
}

/// Returns the message for a channel entry.
pub(crate) fn entry_message(served: &Served, found: EntryMatch) -> ChannelEntryMessage {
    let entry = served.content.catalog.entry_at(found.entry);
    let replaces = match found.skip {
        Some(index) => entry.skips().nth(index),
        None => entry.replaces(),
    };
    let channel = entry.channel();
    ChannelEntryMessage {
        package_name: channel.package().name().to_owned(),
        channel_name: channel.name().to_owned(),
        bundle_name: entry.name().to_owned(),
        replaces: replaces.unwrap_or_default().to_owned(),
    }
}
