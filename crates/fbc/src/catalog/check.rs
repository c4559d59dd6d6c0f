//! The rules of `opm validate` over a finished index: identity, update graph, images, versions and deprecations.
//!
//! Upstream stops at its first plain error; where there is none it answers with a tree of all faults. Here every fault
//! is a problem of its own, with upstream's text and, for a leaf of the tree, upstream's place. One fault is told
//! differently: a bundle that some channel names and that is not there is always told of that channel, where upstream
//! does so for the last channel of a package only and finds an empty bundle in the others.
//!
//! What keeps a blob out of the index (no name, a duplicate, an unknown package) is told where the index is made.

mod bundle;
mod channel;
mod deprecations;
mod graph;
mod manifest;
mod package;

use super::{Catalog, Channel, Meta, Package};
use crate::problem::{Code, Problem};

/// Adds every fault that can be seen in the index.
pub(super) fn check(catalog: &Catalog, problems: &mut Vec<Problem>) {
    for package in catalog.packages() {
        package::check(package, problems);
        for channel in package.channels() {
            channel::check(channel, problems);
        }
        for bundle in package.bundles() {
            bundle::check(bundle, problems);
        }
    }
    deprecations::check(catalog, problems);
}

/// Where a fault is: the blob, and what it concerns.
#[derive(Clone, Copy)]
struct Place<'a> {
    meta: Meta<'a>,
    package: &'a str,
    /// Empty when it is in no channel.
    channel: &'a str,
    /// Empty when it is in no bundle, or in one without a name.
    bundle: &'a str,
}

impl<'a> Place<'a> {
    fn of_package(package: Package<'a>) -> Self {
        Self { meta: package.meta(), package: package.name(), channel: "", bundle: "" }
    }

    fn of_channel(channel: Channel<'a>) -> Self {
        let channel_name = channel.name();
        Self { meta: channel.meta(), channel: channel_name, ..Self::of_package(channel.package()) }
    }

    fn problem(self, code: Code, message: impl Into<String>) -> Problem {
        let optional = |name: &str| (!name.is_empty()).then(|| name.into());
        Problem {
            package: optional(self.package),
            channel: optional(self.channel),
            bundle: optional(self.bundle),
            ..Problem::new(code, message.into()).at(self.meta)
        }
    }
}
