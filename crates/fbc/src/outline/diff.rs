//! What differs between two outlines.

use std::cmp::Ordering;
use std::iter::Peekable;

use super::Outline;
use super::layout::{BundleLine, ChannelLine, PackageLine, Reader};

/// What differs between two contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff<'a> {
    /// The packages that differ, by name. What belongs to no package is not compared.
    pub packages: Vec<PackageDiff<'a>>,
}

/// What differs in one package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageDiff<'a> {
    /// Name of the package.
    pub name: &'a str,
    /// What became of it.
    pub change: Change,
    /// The channels that differ, by name.
    pub channels: Vec<ChannelDiff<'a>>,
    /// The bundles that differ, by name.
    pub bundles: Vec<BundleDiff<'a>>,
}

/// What differs in one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelDiff<'a> {
    /// Name of the channel.
    pub name: &'a str,
    /// What became of it.
    pub change: Change,
    /// Name of its head before, if it had one.
    pub from_head: Option<&'a str>,
    /// Name of its head after, if it has one.
    pub to_head: Option<&'a str>,
}

/// What differs in one bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleDiff<'a> {
    /// Name of the bundle.
    pub name: &'a str,
    /// What became of it.
    pub change: Change,
}

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is not as it was.
    Changed,
}

impl Change {
    /// Its name, as an enum of a schema has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Removed => "REMOVED",
            Self::Changed => "CHANGED",
        }
    }

    /// What became of something that was here before and there after, if it is known of either; nothing when both are
    /// equal.
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
    /// What differs between this content and a later one.
    pub fn diff<'a>(&'a self, to: &'a Outline) -> Diff<'a> {
        let (from, to) = (self.reader(), to.reader());
        let pairs = Pairs::new(from.packages(), to.packages(), |package| package.name);
        Diff {
            packages: pairs.filter_map(|(before, after)| package(from, to, before.as_ref(), after.as_ref())).collect(),
        }
    }
}

fn package<'a>(
    from: Reader<'a>,
    to: Reader<'a>,
    before: Option<&PackageLine<'a>>,
    after: Option<&PackageLine<'a>>,
) -> Option<PackageDiff<'a>> {
    let change = Change::between(before.map(|package| package.hash), after.map(|package| package.hash))?;
    let channels = Pairs::new(
        before.into_iter().flat_map(|package| from.channels(package)),
        after.into_iter().flat_map(|package| to.channels(package)),
        |channel| channel.name,
    );
    let bundles = Pairs::new(
        before.into_iter().flat_map(|package| from.bundles(package)),
        after.into_iter().flat_map(|package| to.bundles(package)),
        |bundle| bundle.name,
    );
    Some(PackageDiff {
        name: before.or(after)?.name,
        change,
        channels: channels.filter_map(|(before, after)| channel(before, after)).collect(),
        bundles: bundles.filter_map(|(before, after)| bundle(before, after)).collect(),
    })
}

fn channel<'a>(before: Option<ChannelLine<'a>>, after: Option<ChannelLine<'a>>) -> Option<ChannelDiff<'a>> {
    let change = Change::between(before.map(|channel| channel.hash), after.map(|channel| channel.hash))?;
    Some(ChannelDiff {
        name: before.or(after)?.name,
        change,
        from_head: before.and_then(|channel| channel.head),
        to_head: after.and_then(|channel| channel.head),
    })
}

fn bundle<'a>(before: Option<BundleLine<'a>>, after: Option<BundleLine<'a>>) -> Option<BundleDiff<'a>> {
    let change = Change::between(before.map(|bundle| bundle.hash), after.map(|bundle| bundle.hash))?;
    Some(BundleDiff { name: before.or(after)?.name, change })
}

/// Two lists that are sorted by name, side by side.
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
        Self { from: from.peekable(), to: to.peekable(), name }
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
