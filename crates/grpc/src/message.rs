//! Messages of responses, made from the catalog when the client takes them.

use std::sync::Arc;

use bytes::BufMut;
use serving::Served;

use crate::bundle::{BundleForm, bundle_message};
use crate::package::{EntryMatch, entry_message, package_message};
use crate::proto::PackageNameMessage;

/// A message of a response.
///
/// A message about an item of the catalog is made in [`ResponseMessage::encode`]: until then, a
/// response with thousands of bundles takes no more memory than their indices.
pub(crate) enum ResponseMessage {
    /// An encoded message.
    Encoded(Vec<u8>),
    /// An encoded message from the cache of bundles.
    Cached(Arc<Vec<u8>>),
    /// `PackageName` of the package with this index.
    PackageName(Arc<Served>, usize),
    /// `Package` of the package with this index.
    Package(Arc<Served>, usize),
    /// `Bundle` of the channel entry with this index, as lists show it.
    Bundle(Arc<Served>, usize),
    /// `ChannelEntry` of a channel entry.
    Entry(Arc<Served>, EntryMatch),
}

impl ResponseMessage {
    /// Encodes a message.
    pub(crate) fn new(message: &impl prost::Message) -> Self {
        Self::Encoded(message.encode_to_vec())
    }

    /// Appends the encoded message to a buffer that grows.
    pub(crate) fn encode(&self, out: &mut impl BufMut) {
        match self {
            Self::Encoded(bytes) => out.put_slice(bytes),
            Self::Cached(bytes) => out.put_slice(bytes),
            Self::PackageName(served, index) => {
                let package = served.content.catalog.package_at(*index);
                let name = package.name().to_owned();
                append(&PackageNameMessage { name }, out);
            }
            Self::Package(served, index) => {
                let package = served.content.catalog.package_at(*index);
                append(&package_message(package), out);
            }
            Self::Bundle(served, index) => {
                let catalog = &served.content.catalog;
                let entry = catalog.entry_at(*index);
                append(&bundle_message(catalog, entry, BundleForm::Listed), out);
            }
            Self::Entry(served, found) => append(&entry_message(served, *found), out),
        }
    }
}

fn append(message: &impl prost::Message, out: &mut impl BufMut) {
    message.encode(out).expect("the buffer grows");
}
