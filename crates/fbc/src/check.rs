//! Applies the rules of `opm validate` to a finished index: identity, update graph, images,
//! versions and deprecations.
//!
//! Upstream stops at its first plain error; without one it returns a tree of all errors. Here every
//! error is a problem of its own, with upstream's text and, for a leaf of the tree, upstream's
//! location. One error differs: a missing bundle is reported for every channel that names it, while
//! upstream does so for the last channel of a package only and finds an empty bundle in the others.
//!
//! The linker reports what keeps a blob out of the index: no name, a duplicate, an unknown package.

mod bundle;
mod channel;
mod deprecations;
mod graph;
mod manifest;
mod package;

use super::{Catalog, Channel, Meta, Package};
use crate::problem::{Problem, ProblemCode, ProblemCollector, optional_name};

/// Adds every problem that can be found in the index.
pub(super) fn check(catalog: &Catalog, problems: &mut ProblemCollector) {
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

/// Location of a problem: the blob, and the objects concerned.
#[derive(Clone, Copy)]
struct ProblemLocation<'a> {
    meta: Meta<'a>,
    package: &'a str,
    /// Name of the channel; empty when no channel is concerned.
    channel: &'a str,
    /// Name of the bundle; empty when no bundle is concerned, or it has no name.
    bundle: &'a str,
}

impl<'a> ProblemLocation<'a> {
    fn new_in_package(package: Package<'a>) -> Self {
        Self {
            meta: package.meta(),
            package: package.name(),
            channel: "",
            bundle: "",
        }
    }

    fn new_in_channel(channel: Channel<'a>) -> Self {
        let channel_name = channel.name();
        Self {
            meta: channel.meta(),
            channel: channel_name,
            ..Self::new_in_package(channel.package())
        }
    }

    fn problem(self, code: ProblemCode, message: impl Into<String>) -> Problem {
        Problem {
            package: optional_name(self.package),
            channel: optional_name(self.channel),
            bundle: optional_name(self.bundle),
            ..Problem::new(code, message.into()).at(self.meta)
        }
    }
}
