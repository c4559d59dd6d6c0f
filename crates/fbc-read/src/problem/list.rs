//! Lists of problems and their numbers: a hostile catalog may have a problem in every few bytes, so
//! only the first of each code are listed.

use std::collections::BTreeMap;

use fbc_grammar::ignore::compare_paths;
use serde::{Deserialize, Serialize};

use super::{Problem, ProblemCode, Severity};

/// Maximum number of problems of one code that a catalog lists, in the order in which they are
/// found; further ones are only counted: a reader needs no more of one kind, and each takes a
/// hundred bytes or more.
pub const MAX_PROBLEMS_PER_CODE: u64 = 1_000;

/// Maximum size, in bytes, of the texts of all listed problems of one code. Problems that are found
/// when it is reached are only counted: names and messages are quoted from the content, which
/// decides how long they are.
pub const MAX_PROBLEM_BYTES_PER_CODE: usize = 256 * 1024;

/// Maximum size of a message in bytes. A longer one, such as that of a channel with thousands of
/// heads, is cut.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024;

/// Numbers of problems by code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemCounts(BTreeMap<ProblemCode, u64>);

/// The problems of a catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems {
    /// The first problems of each code, up to [`MAX_PROBLEMS_PER_CODE`], in catalog order.
    pub listed: Vec<Problem>,
    /// Numbers of all problems, listed or not.
    pub counts: ProblemCounts,
}

/// Collects the problems of a catalog while it is checked.
#[derive(Debug, Default)]
pub struct ProblemCollector {
    problems: Problems,
    /// Bytes of the texts of the listed problems of each code.
    bytes: BTreeMap<ProblemCode, usize>,
}

impl ProblemCounts {
    /// Counts `count` more problems of a code.
    pub fn add(&mut self, code: ProblemCode, count: u64) {
        if count > 0 {
            *self.0.entry(code).or_default() += count;
        }
    }

    /// Counts the problems of other counts too.
    pub fn add_all(&mut self, other: &Self) {
        other
            .0
            .iter()
            .for_each(|(&code, &count)| self.add(code, count));
    }

    /// Returns the number of problems of a code.
    pub fn of_code(&self, code: ProblemCode) -> u64 {
        self.0.get(&code).copied().unwrap_or_default()
    }

    /// Returns the number of problems of a severity.
    pub fn of_severity(&self, severity: Severity) -> u64 {
        self.0
            .iter()
            .filter(|(code, _)| code.severity() == severity)
            .map(|(_, count)| count)
            .sum()
    }

    /// Returns the number of problems.
    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Iterates over the codes of which there are problems, and their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (ProblemCode, u64)> {
        self.0.iter().map(|(&code, &count)| (code, count))
    }
}

impl FromIterator<(ProblemCode, u64)> for ProblemCounts {
    fn from_iter<I: IntoIterator<Item = (ProblemCode, u64)>>(counts: I) -> Self {
        let mut all = Self::default();
        counts
            .into_iter()
            .for_each(|(code, count)| all.add(code, count));
        all
    }
}

impl Problems {
    /// Returns the number of problems of each code that are counted and not listed.
    pub fn unlisted(&self) -> ProblemCounts {
        let mut listed: BTreeMap<ProblemCode, u64> = BTreeMap::new();
        self.listed
            .iter()
            .for_each(|problem| *listed.entry(problem.code).or_default() += 1);
        let rest = |(code, count): (ProblemCode, u64)| {
            (
                code,
                count.saturating_sub(listed.get(&code).copied().unwrap_or_default()),
            )
        };
        self.counts.iter().map(rest).collect()
    }
}

impl ProblemCollector {
    /// Counts a problem, and lists it if there is room for its code; `make` is not called
    /// otherwise.
    pub fn add(&mut self, code: ProblemCode, make: impl FnOnce() -> Problem) {
        // A YAML file of `---` lines has a problem every four bytes: the text of one that is not
        // listed must not even be made.
        let is_listed = self.has_room(code);
        self.problems.counts.add(code, 1);
        if is_listed {
            let mut problem = make();
            cut(&mut problem.message);
            *self.bytes.entry(code).or_default() += problem.text_bytes();
            self.problems.listed.push(problem);
        }
    }

    /// Counts problems that cannot be listed.
    pub fn count(&mut self, counts: &ProblemCounts) {
        self.problems.counts.add_all(counts);
    }

    fn has_room(&self, code: ProblemCode) -> bool {
        let bytes = self.bytes.get(&code).copied().unwrap_or_default();
        self.problems.counts.of_code(code) < MAX_PROBLEMS_PER_CODE
            && bytes < MAX_PROBLEM_BYTES_PER_CODE
    }

    /// Returns the problems, in catalog order.
    pub fn finish(mut self) -> Problems {
        // Checks run by object, readers of the list go by file. The sort is stable: problems of one
        // line stay in the order of the rules.
        self.problems.listed.sort_by(|a, b| {
            let by_file = match (&a.file, &b.file) {
                (Some(a), Some(b)) => compare_paths(a, b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            };
            by_file.then_with(|| a.line.cmp(&b.line))
        });
        self.problems.listed.shrink_to_fit();
        self.problems
    }
}

/// Cuts a message that is longer than [`MAX_MESSAGE_BYTES`].
fn cut(message: &mut String) {
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    message.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: ProblemCode = ProblemCode::DocumentEmpty;

    /// Collects as many problems with a message of so many bytes, after one of another code.
    fn collect(count: u64, bytes: usize) -> Problems {
        let mut collector = ProblemCollector::default();
        collector.add(ProblemCode::SchemaReserved, || {
            Problem::new(ProblemCode::SchemaReserved, String::new())
        });
        for _ in 0..count {
            collector.add(CODE, || Problem::new(CODE, "é".repeat(bytes / 2)));
        }
        collector.finish()
    }

    #[test]
    fn of_each_code_the_first_problems_are_listed_and_all_are_counted() {
        for (count, listed) in [
            (1, 1),
            (MAX_PROBLEMS_PER_CODE, 1_000),
            (MAX_PROBLEMS_PER_CODE + 1, 1_000),
        ] {
            let problems = collect(count, 10);
            assert_eq!(problems.listed.len(), 1 + listed);
            assert_eq!(
                problems.counts,
                [(CODE, count), (ProblemCode::SchemaReserved, 1)]
                    .into_iter()
                    .collect()
            );
            assert_eq!(
                problems.unlisted(),
                [(CODE, count - listed as u64)].into_iter().collect()
            );
        }
    }

    #[test]
    fn long_messages_are_cut_and_fewer_of_them_are_listed() {
        assert_eq!(
            collect(1, MAX_MESSAGE_BYTES).listed[1].message.len(),
            MAX_MESSAGE_BYTES
        );
        let cut = collect(10, 2 * MAX_MESSAGE_BYTES);
        assert_eq!(
            cut.listed[1].message,
            "é".repeat(MAX_MESSAGE_BYTES / 2) + "…"
        );
        assert_eq!((cut.listed.len(), cut.counts.total()), (1 + 4, 11));
    }

    #[test]
    fn severities_are_counted_from_the_codes() {
        let problems = collect(3, 0);
        assert_eq!(problems.counts.of_severity(Severity::Error), 3);
        assert_eq!(problems.counts.of_severity(Severity::Warning), 1);
    }
}
