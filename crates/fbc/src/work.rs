//! The cost account of loops over content: a loop draws the price of its steps before it does them,
//! and stops when the account refuses.
//!
//! The caller decides how much work is allowed: a server counts against the budget of a request and
//! looks at the clock, a command has no limit. The prices are nanoseconds, as measured and rounded
//! up, so that equal amounts of work of any kind take about equal time.

use std::cell::Cell;
use std::fmt;

/// Nanoseconds of one unit of work: about what it takes to write a small object.
pub const UNIT: u64 = 1_000;

/// Number of items that a loop over many cheap items draws for at once.
pub(crate) const CHUNK: usize = 64;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An object of a response.
    Object,
    /// A bundle that is tested against the conditions of a filter, or once for each list that it
    /// must be in.
    Bundle,
    /// A version that is compared with a constraint of a range, a property with the wanted types,
    /// or a wanted name with that of a bundle.
    Comparison,
    /// A package that is tested against a condition of a filter.
    Package,
    /// A blob that is tested against the conditions of a filter.
    Blob,
    /// An occurrence of a word in a package, for a search.
    Posting,
    /// A look-up of a word, or of one with a typo, in the vocabulary of a catalog.
    Word,
    /// A value of a package that is counted in a facet.
    FacetValue,
    /// A comparison of two items that are sorted.
    SortStep,
    /// A place in the order of a catalog that a page of several catalogs is compared at.
    Seek,
    /// An entry of a channel, a bundle that it skips, or an edge of the update graph.
    Edge,
    /// A byte of a version, a range, or a property for CEL rules that is parsed, or of a JSON
    /// pointer.
    ParsedByte,
    /// A byte of JSON that is read to find a part of it.
    JsonByte,
    /// A byte of a manifest that is decoded.
    DecodedByte,
    /// A byte of a response beyond those that an object usually has.
    WrittenByte,
    /// A value that a CEL rule may look at.
    Rule,
    /// A literal of a clause that a SAT solver visits.
    Literal,
}

impl Step {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 17] = [
        Self::Object,
        Self::Bundle,
        Self::Comparison,
        Self::Package,
        Self::Blob,
        Self::Posting,
        Self::Word,
        Self::FacetValue,
        Self::SortStep,
        Self::Seek,
        Self::Edge,
        Self::ParsedByte,
        Self::JsonByte,
        Self::DecodedByte,
        Self::WrittenByte,
        Self::Rule,
        Self::Literal,
    ];

    /// Price of one step, in nanoseconds; [`UNIT`] of them are a unit of work.
    pub const fn price(self) -> u64 {
        match self {
            Self::Object => UNIT,
            Self::Bundle => 50,
            Self::Comparison | Self::Edge => 60,
            Self::Package => 30,
            Self::Blob => 20,
            Self::Posting => 5,
            Self::Seek | Self::Word => 500,
            Self::Rule => 300,
            Self::FacetValue => 100,
            Self::SortStep => 25,
            Self::ParsedByte => 15,
            Self::Literal => 6,
            Self::JsonByte | Self::WrittenByte => 1,
            Self::DecodedByte => 2,
        }
    }

    /// Price of so many steps, in nanoseconds.
    pub const fn price_of(self, count: usize) -> u64 {
        self.price().saturating_mul(count as u64)
    }
}

/// An account of work.
///
/// ```
/// use fbc::work::{Step, Work};
///
/// // At most ten objects; after a refusal, `check` is called at each draw.
/// let check = |drawn: u64| (drawn <= 10 * Step::Object.price()).then_some(0);
/// let work = Work::new(&check);
/// assert!(work.draw(Step::Object, 10).is_ok());
/// assert!(work.draw(Step::Object, 1).is_err());
/// ```
pub struct Work<'w> {
    /// Nanoseconds drawn so far.
    drawn: Cell<u64>,
    /// Sum at which `check` is called next.
    next_check: Cell<u64>,
    check: &'w (dyn Fn(u64) -> Option<u64> + 'w),
}

/// Error of [`Work::draw`]: the limit of the account is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the work was stopped")]
pub struct WorkStopped;

impl<'w> Work<'w> {
    /// Creates an account. `check` is called with the sum of the prices drawn so far, in
    /// nanoseconds. It returns the sum at which it is to be called next, or `None` to stop the
    /// work; then it is called again at each draw.
    pub fn new(check: &'w (dyn Fn(u64) -> Option<u64> + 'w)) -> Self {
        Self {
            drawn: Cell::new(0),
            next_check: Cell::new(0),
            check,
        }
    }

    /// Creates an account without limit.
    pub fn unlimited() -> Work<'static> {
        Work::new(&|_| Some(u64::MAX))
    }

    /// Draws the price of so many steps, before they are done.
    ///
    /// # Errors
    /// If the account refuses. Its owner knows why.
    #[inline]
    pub fn draw(&self, step: Step, count: usize) -> Result<(), WorkStopped> {
        // Saturating, because a hostile catalog chooses the counts: an overflow must not make work
        // cheap.
        let drawn = self.drawn.get().saturating_add(step.price_of(count));
        self.drawn.set(drawn);
        if drawn < self.next_check.get() {
            Ok(())
        } else {
            self.check()
        }
    }

    #[cold]
    fn check(&self) -> Result<(), WorkStopped> {
        let next = (self.check)(self.drawn.get());
        self.next_check.set(next.unwrap_or(0));
        next.map(|_| ()).ok_or(WorkStopped)
    }

    /// Units of work drawn so far, rounded up.
    pub fn units(&self) -> u64 {
        self.drawn.get().div_ceil(UNIT)
    }
}

impl fmt::Debug for Work<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Work")
            .field("units", &self.units())
            .finish_non_exhaustive()
    }
}

/// Number of comparisons that sorting so many items takes at most, roughly: `n` times the logarithm
/// of `n`.
pub fn sort_steps(count: usize) -> usize {
    count.saturating_mul(count.checked_ilog2().unwrap_or(0) as usize + 1)
}
