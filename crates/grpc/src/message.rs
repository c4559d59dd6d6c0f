//! The messages of responses, written into the buffer of the connection when it is their turn.

use std::sync::Arc;

use bytes::BufMut;
use fbc::{Channel, Deprecation, Head, Package};
use fbc_read::json::JsonText;
use serving::Served;

use crate::bundle::{BundleForm, write_bundle};
use crate::wire::{write_head, write_text, write_texts};

/// A message of a response. It keeps its catalog until it is written.
pub(crate) enum Message {
    /// A message that is written already.
    Encoded(Vec<u8>),
    /// `PackageName` of the package at a place.
    PackageName(Arc<Served>, usize),
    /// `Package` of the package at a place.
    Package(Arc<Served>, usize),
    /// A message that is written already and cached.
    Shared(Arc<Vec<u8>>),
    /// `Bundle` of the entry at a place, as lists show it.
    Bundle(Arc<Served>, usize),
    /// `ChannelEntry` of the entry at a place.
    Entry(Arc<Served>, EntryMatch),
}

/// An entry that was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryMatch {
    /// Its place.
    pub(crate) entry: usize,
    /// The index among its skips of the one to show as `replaces`; `None` shows what it replaces.
    pub(crate) skip: Option<usize>,
}

impl Message {
    pub(crate) fn write(&self, out: &mut impl BufMut) {
        match self {
            Self::Encoded(bytes) => out.put_slice(bytes),
            Self::PackageName(served, at) => {
                write_text(1, served.content.catalog.package_at(*at).name(), out);
            }
            Self::Package(served, at) => write_package(served.content.catalog.package_at(*at), out),
            Self::Shared(bytes) => out.put_slice(bytes),
            Self::Bundle(served, at) => {
                write_bundle(
                    served.content.catalog.entry_at(*at),
                    BundleForm::Listed,
                    out,
                );
            }
            Self::Entry(served, found) => write_entry(served, *found, out),
        }
    }
}

fn write_package(package: Package<'_>, out: &mut impl BufMut) {
    write_text(1, package.name(), out);
    package
        .channels()
        .for_each(|channel| write_channel(channel, out));
    write_text(3, package.default_channel_name(), out);
    write_deprecation(4, package.deprecation(), out);
}

fn write_channel(channel: Channel<'_>, out: &mut impl BufMut) {
    let head = match channel.head() {
        Head::One(entry) => entry.name(),
        Head::None | Head::Several => "",
    };
    let mut message = Vec::new();
    write_text(1, channel.name(), &mut message);
    write_text(2, head, &mut message);
    write_deprecation(3, channel.deprecation(), &mut message);
    write_head(2, message.len(), out);
    out.put_slice(&message);
}

/// Writes a deprecation that has a message.
pub(crate) fn write_deprecation(
    tag: u32,
    deprecation: Option<Deprecation<'_>>,
    out: &mut impl BufMut,
) {
    let message = deprecation
        .and_then(Deprecation::message)
        .map(JsonText::decode);
    if let Some(message) = message.filter(|message| !message.is_empty()) {
        write_texts(tag, &[message.as_bytes()], out);
    }
}

fn write_entry(served: &Served, EntryMatch { entry, skip }: EntryMatch, out: &mut impl BufMut) {
    let entry = served.content.catalog.entry_at(entry);
    let replaces = match skip {
        Some(at) => entry.skips().nth(at),
        None => entry.replaces(),
    };
    let channel = entry.channel();
    let texts = [
        channel.package().name(),
        channel.name(),
        entry.name(),
        replaces.unwrap_or_default(),
    ];
    (1..)
        .zip(texts)
        .for_each(|(tag, text)| write_text(tag, text, out));
}
