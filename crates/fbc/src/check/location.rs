//! The blob and the objects that a problem concerns.

use fbc_read::problem::{Problem, ProblemCode, optional_name};

use crate::catalog::Meta;
use crate::package::{Channel, Package};

/// Location of a problem: the blob, and the objects concerned.
#[derive(Clone, Copy)]
pub(super) struct ProblemLocation<'a> {
    pub(super) meta: Meta<'a>,
    pub(super) package: &'a str,
    /// Name of the channel; empty when no channel is concerned.
    pub(super) channel: &'a str,
    /// Name of the bundle; empty when no bundle is concerned, or it has no name.
    pub(super) bundle: &'a str,
}

impl<'a> ProblemLocation<'a> {
    pub(super) fn new_in_package(package: Package<'a>) -> Self {
        Self {
            meta: package.meta(),
            package: package.name(),
            channel: "",
            bundle: "",
        }
    }

    pub(super) fn new_in_channel(channel: Channel<'a>) -> Self {
        let channel_name = channel.name();
        Self {
            meta: channel.meta(),
            channel: channel_name,
            ..Self::new_in_package(channel.package())
        }
    }

    pub(super) fn problem(self, code: ProblemCode, message: impl Into<String>) -> Problem {
        Problem {
            package: optional_name(self.package),
            channel: optional_name(self.channel),
            bundle: optional_name(self.bundle),
            ..Problem::new(code, message.into()).at(self.meta.file(), self.meta.line())
        }
    }
}
