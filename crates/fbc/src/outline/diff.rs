//! Differences between two outlines.

use std::cmp::Ordering;
use std::iter::Peekable;

use super::layout::{OutlineBundle, OutlineChannel, OutlineEntry, OutlinePackage, OutlineReader};
use super::parts::{BundlePart, PART_HASH_BYTES, PackagePart};
use crate::outline::layout::Outline;
use crate::work::{Step, Work, WorkStopped};

/// Differences between two contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff<'a> {
    /// Packages that differ, sorted by name. Blobs without a package are not compared.
    pub packages: Vec<PackageDiff<'a>>,
}

/// Differences of one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageDiff<'a> {
    /// Name of the package.
    pub name: &'a str,
    /// Kind of the change.
    pub change: Change,
    /// Parts of the package itself that differ; empty if it was added or removed, or if only its
    /// channels or bundles differ.
    pub parts: Vec<PackagePart>,
    /// Name of its default channel in the earlier content, which there need not be.
    pub from_default_channel: Option<&'a str>,
    /// Name of its default channel in the later content, which there need not be.
    pub to_default_channel: Option<&'a str>,
    /// Channels that differ, sorted by name.
    pub channels: Vec<ChannelDiff<'a>>,
    /// Bundles that differ, sorted by name.
    pub bundles: Vec<BundleDiff<'a>>,
}

/// Difference of one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelDiff<'a> {
    /// Name of the channel.
    pub name: &'a str,
    /// Kind of the change.
    pub change: Change,
    /// Name of its head in the earlier content, if it has exactly one.
    pub from_head: Option<&'a str>,
    /// Name of its head in the later content, if it has exactly one.
    pub to_head: Option<&'a str>,
    /// Entries that differ, sorted by name.
    pub entries: Vec<EntryDiff<'a>>,
}

/// Difference of the entries of one name in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryDiff<'a> {
    /// Name of the entry.
    pub name: &'a str,
    /// Kind of the change.
    pub change: Change,
}

/// Difference of one bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleDiff<'a> {
    /// Name of the bundle.
    pub name: &'a str,
    /// Kind of the change.
    pub change: Change,
    /// Parts that differ; empty if the bundle was added or removed.
    pub parts: Vec<BundlePart>,
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the later content has it.
    Added,
    /// Only the earlier content has it.
    Removed,
    /// Both contents have it, with different hashes.
    Changed,
}

impl Change {
    /// Returns the canonical spelling, such as `ADDED`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Removed => "REMOVED",
            Self::Changed => "CHANGED",
        }
    }

    /// Compares the values of an object in two contents; `None` when they are equal, or both
    /// absent.
    pub fn between<T: PartialEq>(before: Option<T>, after: Option<T>) -> Option<Self> {
        match (before, after) {
            (None, None) => None,
            (None, Some(_)) => Some(Self::Added),
            (Some(_), None) => Some(Self::Removed),
            (Some(before), Some(after)) => (before != after).then_some(Self::Changed),
        }
    }
}

impl Outline {
    /// Computes the differences from this content to a later one.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn diff<'a>(&'a self, to: &'a Outline, work: &Work<'_>) -> Result<Diff<'a>, WorkStopped> {
        let from = self.reader();
        let to = to.reader();
        let pairs = Pairs::new(from.packages(), to.packages(), |package| package.name);
        let mut packages = Vec::new();
        for (before, after) in pairs {
            work.draw(Step::Package, 1)?;
            let changed = before.as_ref().map(|package| package.hash)
                != after.as_ref().map(|package| package.hash);
            if changed {
                let count = |package: &OutlinePackage<'_>| package.objects();
                work.draw(
                    Step::Bundle,
                    before.as_ref().map_or(0, count) + after.as_ref().map_or(0, count),
                )?;
                packages.extend(package(from, to, before.as_ref(), after.as_ref()));
            }
        }
        Ok(Diff { packages })
    }
}

fn package<'a>(
    from: OutlineReader<'a>,
    to: OutlineReader<'a>,
    before: Option<&OutlinePackage<'a>>,
    after: Option<&OutlinePackage<'a>>,
) -> Option<PackageDiff<'a>> {
    let change = Change::between(
        before.map(|package| package.hash),
        after.map(|package| package.hash),
    )?;
    let channels = Pairs::new(
        before
            .into_iter()
            .flat_map(|package| from.channels(package)),
        after.into_iter().flat_map(|package| to.channels(package)),
        |channel| channel.name,
    );
    let bundles = Pairs::new(
        before.into_iter().flat_map(|package| from.bundles(package)),
        after.into_iter().flat_map(|package| to.bundles(package)),
        |bundle| bundle.name,
    );
    let channels: Vec<_> = channels
        .filter_map(|(before, after)| {
            channel(
                &Side {
                    outline: from,
                    channel: before,
                },
                &Side {
                    outline: to,
                    channel: after,
                },
            )
        })
        .collect();
    let bundles: Vec<_> = bundles
        .filter_map(|(before, after)| bundle(before, after))
        .collect();
    let mut parts = changed_parts(
        &PackagePart::ALL,
        before.map(|package| package.parts),
        after.map(|package| package.parts),
    );
    if change == Change::Changed && parts.is_empty() && channels.is_empty() && bundles.is_empty() {
        parts.push(PackagePart::Other);
    }
    Some(PackageDiff {
        name: before.or(after)?.name,
        change,
        parts,
        from_default_channel: before.and_then(|package| package.default_channel),
        to_default_channel: after.and_then(|package| package.default_channel),
        channels,
        bundles,
    })
}

/// A channel in one of the compared contents.
struct Side<'a> {
    outline: OutlineReader<'a>,
    channel: Option<OutlineChannel<'a>>,
}

fn channel<'a>(from: &Side<'a>, to: &Side<'a>) -> Option<ChannelDiff<'a>> {
    let before = from.channel.as_ref();
    let after = to.channel.as_ref();
    let change = Change::between(
        before.map(|channel| channel.hash),
        after.map(|channel| channel.hash),
    )?;
    let entries = Pairs::new(
        before
            .into_iter()
            .flat_map(|channel| from.outline.entries(channel)),
        after
            .into_iter()
            .flat_map(|channel| to.outline.entries(channel)),
        |entry| entry.name,
    );
    Some(ChannelDiff {
        name: before.or(after)?.name,
        change,
        from_head: before.and_then(|channel| channel.head),
        to_head: after.and_then(|channel| channel.head),
        entries: entries
            .filter_map(|(before, after)| entry(before, after))
            .collect(),
    })
}

fn entry<'a>(
    before: Option<OutlineEntry<'a>>,
    after: Option<OutlineEntry<'a>>,
) -> Option<EntryDiff<'a>> {
    let change = Change::between(
        before.map(|entry| entry.hash),
        after.map(|entry| entry.hash),
    )?;
    Some(EntryDiff {
        name: before.or(after)?.name,
        change,
    })
}

fn bundle<'a>(
    before: Option<OutlineBundle<'a>>,
    after: Option<OutlineBundle<'a>>,
) -> Option<BundleDiff<'a>> {
    let change = Change::between(
        before.map(|bundle| bundle.hash),
        after.map(|bundle| bundle.hash),
    )?;
    let mut parts = changed_parts(
        &BundlePart::ALL,
        before.map(|bundle| bundle.parts),
        after.map(|bundle| bundle.parts),
    );
    if change == Change::Changed && parts.is_empty() {
        // Such as the order of properties of several parts.
        parts.push(BundlePart::Other);
    }
    Some(BundleDiff {
        name: before.or(after)?.name,
        change,
        parts,
    })
}

/// Returns the parts whose hashes differ; none unless both sides are there.
fn changed_parts<P: Copy>(all: &[P], before: Option<&[u8]>, after: Option<&[u8]>) -> Vec<P> {
    let Some((before, after)) = before.zip(after) else {
        return Vec::new();
    };
    let hashes = before
        .chunks_exact(PART_HASH_BYTES)
        .zip(after.chunks_exact(PART_HASH_BYTES));
    let changed = all
        .iter()
        .zip(hashes)
        .filter(|(_, (before, after))| before != after);
    changed.map(|(part, _)| *part).collect()
}

/// Merges two lists that are sorted by name, pairing elements of equal names.
struct Pairs<F: Iterator, T: Iterator, N> {
    from: Peekable<F>,
    to: Peekable<T>,
    name: N,
}

impl<'a, I, F, T, N> Pairs<F, T, N>
where
    F: Iterator<Item = I>,
    T: Iterator<Item = I>,
    N: Fn(&I) -> &'a str,
{
    fn new(from: F, to: T, name: N) -> Self {
        Self {
            from: from.peekable(),
            to: to.peekable(),
            name,
        }
    }
}

impl<'a, I, F, T, N> Iterator for Pairs<F, T, N>
where
    F: Iterator<Item = I>,
    T: Iterator<Item = I>,
    N: Fn(&I) -> &'a str,
{
    type Item = (Option<I>, Option<I>);

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.from.peek(), self.to.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(from), Some(to)) => (self.name)(from).cmp((self.name)(to)),
        };
        let from = self.from.next_if(|_| order.is_le());
        let to = self.to.next_if(|_| order.is_ge());
        Some((from, to))
    }
}
