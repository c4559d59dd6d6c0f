//! Resource versions: opaque decimal numbers that grow with each change of the published objects.
//!
//! This process gives each state that it publishes a *revision*: the time in milliseconds since
//! 1970, or the next number if that one is taken. All objects that change with a state get its
//! revision. A resource version is a revision with a tag:
//!
//! | bits | in an object | in a list or bookmark |
//! |---|---|---|
//! | 42 | revision at which the object last changed | revision of the last change that the caller sees |
//! | 21 | 0 | tag of this process and of the catalogs that the caller sees |
//!
//! A watch resumes only at the version of a list or bookmark with the caller's tag. Every other
//! version gets 410 `Expired`, and the client lists again, as the API
//! machinery of Kubernetes makes every client do:
//!
//! - A version of another replica, or from before a restart, has another tag. Replicas publish the
//!   same content at different times, so that only the replica that sent a list knows which
//!   changes came after it: one that guessed could lose a change, or send it twice.
//! - The same holds for a caller whose rights have changed. It has not seen the objects of the
//!   catalogs that it may see now.
//! - The version of an object has no tag. Other objects may have changed with the same revision,
//!   and a watch that ended between their events has not sent all of them. Clients that ask for
//!   bookmarks get one after the last event of each change, at which they resume.
//!
//! Versions stay below 2^63, so that clients may parse them as signed integers.

use std::fmt;
use std::hash::{BuildHasher as _, RandomState};

use jiff::Timestamp;
use serving::Visibility;

use crate::status::Status;

/// Number of bits of a tag: a version of another process has the same tag once in two million
/// times, and even then resumes a watch only if its millisecond is that of a change here.
const TAG_BITS: u32 = 21;

/// A resource version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ResourceVersion {
    pub(crate) revision: u64,
    tag: VersionTag,
}

/// The tag of the versions of lists and bookmarks, between 1 and 2^21 - 1; 0 in versions of
/// objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VersionTag(u64);

/// Makes the tags of this process. Its keys are random, and differ from those of other processes.
#[derive(Clone, Debug, Default)]
pub(crate) struct VersionTags(RandomState);

impl VersionTags {
    /// Returns the tag for callers that see these catalogs.
    pub(crate) fn tag(&self, visibility: &Visibility) -> VersionTag {
        let names = match visibility {
            Visibility::All => None,
            Visibility::Only(names) => Some(names),
        };
        let max = (1 << TAG_BITS) - 1;
        VersionTag(1 + self.0.hash_one(names) % max)
    }
}

impl ResourceVersion {
    /// Returns the version of an object that last changed at a revision.
    pub(crate) fn of_object(revision: u64) -> Self {
        Self {
            revision,
            tag: VersionTag(0),
        }
    }

    /// Returns the version of a list or bookmark of a state with this revision.
    pub(crate) fn of_list(revision: u64, tag: VersionTag) -> Self {
        Self { revision, tag }
    }

    /// Parses the parameter `resourceVersion`. `None` stands for any state: the parameter is empty
    /// or 0.
    pub(crate) fn parse(text: &str) -> Result<Option<Self>, Status> {
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse::<u64>().map_err(|_| {
            Status::bad_request(format!(
                "resourceVersion: Invalid value: \"{text}\": must be a decimal number"
            ))
        })?;
        Ok((number != 0).then(|| Self::from_number(number)))
    }

    pub(crate) fn from_number(number: u64) -> Self {
        Self {
            revision: number >> TAG_BITS,
            tag: VersionTag(number % (1 << TAG_BITS)),
        }
    }

    pub(crate) fn number(self) -> u64 {
        self.revision << TAG_BITS | self.tag.0
    }

    /// Returns whether it is the version of a list or bookmark that a caller with this tag got from
    /// this process.
    pub(crate) fn has_tag(self, tag: VersionTag) -> bool {
        self.tag == tag
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

/// Returns the revision of a state that is published now, after one with the revision `last`.
pub(crate) fn next_revision(now: Timestamp, last: u64) -> u64 {
    // A clock that was set back must not make revisions fall.
    u64::try_from(now.as_millisecond())
        .unwrap_or_default()
        .max(last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_version_is_a_revision_with_a_tag() {
        let tags = VersionTags::default();
        for visibility in [
            Visibility::All,
            Visibility::none(),
            Visibility::only(["a".to_owned()]),
        ] {
            let tag = tags.tag(&visibility);
            assert_eq!(tag, tags.tag(&visibility));
            let version = ResourceVersion::of_list((1 << 42) - 1, tag);
            assert_eq!(ResourceVersion::from_number(version.number()), version);
            assert!(version.number() < 1 << 63 && version.has_tag(tag));
            let object = ResourceVersion::of_object(version.revision);
            assert!(object.number() < version.number() && !object.has_tag(tag));
        }
    }

    #[test]
    fn tags_differ_between_processes_and_between_sets_of_visible_catalogs() {
        let only = |name: &str| Visibility::only([name.to_owned()]);
        let [here, elsewhere] = [(); 2].map(|()| VersionTags::default());
        let all = [Visibility::All, Visibility::none(), only("a"), only("b")];
        let tags = [&here, &elsewhere]
            .into_iter()
            .flat_map(|tags| all.iter().map(|visibility| tags.tag(visibility).0));
        let mut tags: Vec<_> = tags.collect();
        tags.sort_unstable();
        tags.dedup();
        // Equal tags are rare, but may happen.
        assert!(tags.len() >= 7, "{tags:?}");
    }

    #[test]
    fn revisions_grow_with_the_clock_and_also_when_it_is_set_back() {
        let now: Timestamp = "2030-01-01T00:00:00.5Z".parse().unwrap();
        let first = next_revision(now, 0);
        assert_eq!(first, 1_893_456_000_500);
        assert_eq!(next_revision(now, first), first + 1);
        assert_eq!(next_revision(now, first + 10_000), first + 10_001);
    }
}
