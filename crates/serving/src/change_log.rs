//! Change logs: the bundles and channel heads of a catalog that came, went or changed, from content
//! to content.
//!
//! A log is a byte string that is read in place, from memory or from a mapped file: a line with a
//! checksum, and a line of JSON for each change of the content, oldest first. Each change set begins
//! with the content that the one before ended with, so that a set that is appended twice, or after
//! a kill, is in the log once.

use std::fmt;

use bytes::Bytes;
use fbc::outline::{Change, Diff, PackageDiff};
use fbc::work::{Step, Work, WorkStopped};
use fbc_grammar::Digest;
use jiff::{SignedDuration, Timestamp};
use memchr::memmem;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Maximum length of the log of a catalog in bytes. The oldest change sets are dropped.
pub const MAX_CHANGE_LOG_BYTES: usize = 1 << 20;

/// Maximum number of change sets in the log of a catalog. The oldest ones are dropped.
pub const MAX_CHANGE_SETS: usize = 5_000;

/// Maximum length of the names in one change set in bytes, as JSON. Further changes are counted and
/// not listed.
pub const MAX_CHANGE_SET_BYTES: usize = 256 << 10;

/// Bytes of the member names of [`PackageChanges`].
const PACKAGE_OVERHEAD: usize = 64;

/// Bytes of the member names of a [`HeadChange`], and more than those of a bundle.
const CHANGE_OVERHEAD: usize = 48;

/// Beginning of a log, before its checksum. The number is the version of the format.
const MAGIC: &[u8] = b"catalogql changes 1 ";

/// The changes of the contents of a catalog, in a bounded number of bytes.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ChangeLog(Bytes);

/// Differences between two contents that a catalog had one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// Digest of the earlier content; `None` for the first content of the log, and after a content
    /// whose outline was lost. Such a set lists no changes.
    pub from: Option<String>,
    /// Digest of the later content.
    pub to: String,
    /// 1, or the number of times that the log has this pair of contents up to here.
    pub repeat: u32,
    /// Time at which the later content was served first. It grows from set to set.
    pub at: Timestamp,
    /// Number of changes that are not listed.
    pub unlisted: usize,
    /// The changes, by the name of their package.
    pub packages: Vec<PackageChanges>,
}

/// Changes of one package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackageChanges {
    /// Name of the package.
    pub name: String,
    /// Names of bundles that only the later content has.
    pub added: Vec<String>,
    /// Names of bundles that only the earlier content has.
    pub removed: Vec<String>,
    /// Names of bundles that both contents have, with differences.
    pub changed: Vec<String>,
    /// Channels whose head differs.
    pub heads: Vec<HeadChange>,
}

/// Change of the head of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadChange {
    /// Name of the channel.
    pub channel: String,
    /// The head before, if the channel had exactly one.
    pub from: Option<String>,
    /// The head after, if the channel has exactly one.
    pub to: Option<String>,
}

impl ChangeLog {
    /// Reads a log; `None` if the bytes are damaged or of another version of the format.
    pub fn from_bytes(bytes: Bytes) -> Option<Self> {
        let (head, body) = split_head(&bytes)?;
        (head == head_of(body)).then_some(Self(bytes))
    }

    /// Returns the bytes of the log, for [`Self::from_bytes`].
    pub fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// Returns the content that the last change set leads to; `None` if the log is empty.
    pub fn last_content(&self) -> Option<Digest> {
        Digest::parse(&self.sets().next()?.to)
    }

    /// Returns whether a change set leads to a content.
    pub fn has_content(&self, content: &Digest) -> bool {
        // Quotes within names are escaped, so that no name has this text.
        let member = format!("\"to\":\"{content}\"");
        memmem::find(&self.0, member.as_bytes()).is_some()
    }

    /// Returns the change sets, latest first.
    pub fn sets(&self) -> impl Iterator<Item = ChangeSet> {
        self.lines().rev().filter_map(parse)
    }

    /// Returns the change sets, latest first, each for the work of reading it.
    pub fn latest_sets<'s>(
        &'s self,
        work: &'s Work<'_>,
    ) -> impl Iterator<Item = Result<ChangeSet, WorkStopped>> {
        self.lines().rev().filter_map(move |line| {
            let drawn = work.draw(Step::ParsedByte, line.len());
            drawn.map(|()| parse(line)).transpose()
        })
    }

    /// Returns the text that tells this log from others; empty if the log is.
    pub fn checksum(&self) -> &[u8] {
        split_head(&self.0).map_or(&[], |(head, _)| head)
    }

    /// Returns the change sets that list changes of a package, latest first, with only these.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn sets_of_package(
        &self,
        name: &str,
        work: &Work<'_>,
    ) -> Result<Vec<ChangeSet>, WorkStopped> {
        work.draw(Step::JsonByte, self.0.len())?;
        let member = format!("{{\"name\":{}", json_string(name));
        let finder = memmem::Finder::new(&member);
        let mut found = Vec::new();
        for line in self.lines().rev() {
            if finder.find(line).is_none() {
                continue;
            }
            work.draw(Step::ParsedByte, line.len())?;
            if let Some(mut set) = parse(line) {
                set.packages.retain(|package| package.name == name);
                found.push(set);
            }
        }
        found.retain(|set| !set.packages.is_empty());
        Ok(found)
    }

    /// Returns the log with a change set: the differences from [`Self::last_content`] to a content.
    /// Without differences, the content begins a new sequence. A log that ends with the content stays
    /// as it is.
    #[must_use]
    pub fn append(&self, content: Digest, diff: Option<&Diff<'_>>, now: Timestamp) -> Self {
        if self.last_content() == Some(content) {
            return self.clone();
        }
        let last = self.sets().next();
        let later = last.as_ref().map(|last| last.at);
        let later = later.and_then(|at| at.checked_add(SignedDuration::from_nanos(1)).ok());
        let mut set = ChangeSet {
            from: last.filter(|_| diff.is_some()).map(|last| last.to),
            to: content.to_string(),
            repeat: 1,
            at: later.map_or(now, |later| later.max(now)),
            unlisted: 0,
            packages: Vec::new(),
        };
        set.repeat += self.repeats(&set);
        set.list(diff.map_or(&[], |diff| &diff.packages));
        let line = serde_json::to_vec(&set).expect("texts and numbers are JSON");

        let mut lines: Vec<&[u8]> = self.lines().collect();
        lines.push(&line);
        let mut left = MAX_CHANGE_LOG_BYTES - head_of(&[]).len();
        let fitting = lines.iter().rev().take(MAX_CHANGE_SETS).take_while(|line| {
            let rest = left.checked_sub(line.len() + 1);
            left = rest.unwrap_or_default();
            rest.is_some()
        });
        let dropped = lines.len() - fitting.count();
        let mut body = Vec::new();
        for line in &lines[dropped..] {
            body.extend_from_slice(line);
            body.push(b'\n');
        }
        let mut bytes = head_of(&body);
        bytes.append(&mut body);
        Self(bytes.into())
    }

    /// Number of times that the log has the pair of contents of a set.
    fn repeats(&self, set: &ChangeSet) -> u32 {
        let mut same = self.lines().rev().filter(|line| {
            let is_to = memmem::find(line, set.to.as_bytes()).is_some();
            is_to && parse(line).is_some_and(|other| other.from == set.from && other.to == set.to)
        });
        same.next().and_then(parse).map_or(0, |other| other.repeat)
    }

    fn lines(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        let body = split_head(&self.0).map_or(&[][..], |(_, body)| body);
        body.split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
    }
}

impl ChangeSet {
    /// Lists the bundles and heads that differ, until their names are [`MAX_CHANGE_SET_BYTES`].
    fn list(&mut self, packages: &[PackageDiff<'_>]) {
        let mut left = MAX_CHANGE_SET_BYTES;
        for package in packages {
            let mut changes = PackageChanges {
                name: package.name.to_owned(),
                added: Vec::new(),
                removed: Vec::new(),
                changed: Vec::new(),
                heads: Vec::new(),
            };
            left = left.saturating_sub(PACKAGE_OVERHEAD + json_string(package.name).len());
            for bundle in &package.bundles {
                if !take(&mut left, [Some(bundle.name)]) {
                    self.unlisted += 1;
                    continue;
                }
                let names = match bundle.change {
                    Change::Added => &mut changes.added,
                    Change::Removed => &mut changes.removed,
                    Change::Changed => &mut changes.changed,
                };
                names.push(bundle.name.to_owned());
            }
            let heads = package.channels.iter();
            for channel in heads.filter(|channel| channel.from_head != channel.to_head) {
                let names = [Some(channel.name), channel.from_head, channel.to_head];
                if !take(&mut left, names) {
                    self.unlisted += 1;
                    continue;
                }
                changes.heads.push(HeadChange {
                    channel: channel.name.to_owned(),
                    from: channel.from_head.map(str::to_owned),
                    to: channel.to_head.map(str::to_owned),
                });
            }
            if !changes.is_empty() {
                self.packages.push(changes);
            }
        }
    }
}

impl PackageChanges {
    fn is_empty(&self) -> bool {
        let bundles = [&self.added, &self.removed, &self.changed];
        bundles.iter().all(|names| names.is_empty()) && self.heads.is_empty()
    }
}

impl HeadChange {
    /// Returns the kind of change.
    pub fn change(&self) -> Change {
        // A change between two equal heads is not listed.
        Change::between(self.from.as_ref(), self.to.as_ref()).unwrap_or(Change::Changed)
    }
}

/// Takes the bytes of names and of what surrounds them. Returns `false` if they are not left.
fn take<const N: usize>(left: &mut usize, names: [Option<&str>; N]) -> bool {
    let names = names.into_iter().flatten();
    let bytes = CHANGE_OVERHEAD + names.map(|name| json_string(name).len()).sum::<usize>();
    let rest = left.checked_sub(bytes);
    // Whatever comes later is not listed either, so that a list has no gaps.
    *left = rest.unwrap_or_default();
    rest.is_some()
}

fn json_string(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
}

fn parse(line: &[u8]) -> Option<ChangeSet> {
    serde_json::from_slice(line).ok()
}

/// Splits a log after its first line.
fn split_head(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(b'\n', bytes)? + 1;
    Some(bytes.split_at(end))
}

/// Returns the first line of a log: its format, and the checksum of the other lines.
fn head_of(body: &[u8]) -> Vec<u8> {
    let checksum = Digest::new(Sha256::digest(body).into());
    [MAGIC, checksum.hex().as_bytes(), b"\n"].concat()
}

impl fmt::Debug for ChangeLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeLog")
            .field("bytes", &self.0.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
