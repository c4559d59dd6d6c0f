//! `Problem`: what is odd in a catalog.

use std::cmp::Ordering;

use fbc::ignore::compare_paths;
use fbc::{Problem, Severity};

use super::connection::Node;
use super::{Field, Object, Outcome, Writer};
use crate::catalogs::Served;
use crate::views::graphql::connection::{Found, Item};
use crate::views::graphql::key::{Key, Tag};

/// A problem and its place among those of its catalog.
#[derive(Clone, Copy)]
pub(super) struct ProblemAt<'a> {
    served: &'a Served,
    place: usize,
}

impl<'a> ProblemAt<'a> {
    fn problem(self) -> &'a Problem {
        &self.served.catalog.problems()[self.place]
    }

    /// Where the problems of its file and line begin.
    fn first_of_line(self) -> usize {
        let Problem { file, line, .. } = self.problem();
        position(self.served, file.as_deref(), *line)
    }
}

impl<'a> Object<'a> for ProblemAt<'a> {
    fn type_name(self) -> &'static str {
        "Problem"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let problem = self.problem();
        match field.name {
            "severity" => to.word(match problem.code.severity() {
                Severity::Error => "ERROR",
                Severity::Warning => "WARNING",
            }),
            "code" => to.word(problem.code.as_str()),
            "message" => to.text(&problem.message),
            "packageName" => to.maybe_text(problem.package.as_deref()),
            "channelName" => to.maybe_text(problem.channel.as_deref()),
            "bundleName" => to.maybe_text(problem.bundle.as_deref()),
            "file" => to.maybe_text(problem.file.as_deref()),
            "line" => match problem.line {
                Some(line) => to.count(line as usize),
                None => to.null(),
            },
            _ => return to.unknown(field),
        }
        Ok(())
    }
}

impl<'a> Item<'a> for ProblemAt<'a> {
    fn at(served: &'a Served, place: usize) -> Self {
        Self { served, place }
    }

    fn order(self, other: Self) -> Ordering {
        self.place.cmp(&other.place)
    }

    /// A cursor is the file, the line, and how many problems of that line come before.
    fn find(served: &'a Served, cursor: &Key) -> Option<Found> {
        let [file, line, nth] = cursor.parts(Tag::ProblemsInOrder)?;
        let line = line.map(str::parse).transpose().ok()?;
        let nth: usize = nth?.parse().ok()?;
        let first = position(served, file, line);
        let of_line = &served.catalog.problems()[first..];
        let count = of_line.iter().take_while(|problem| compare(problem, file, line).is_eq()).count();
        Some(if nth < count { Found::At(first + nth) } else { Found::Before(first + count) })
    }
}

impl<'a> Node<'a> for ProblemAt<'a> {
    const CONNECTION: &'static str = "ProblemConnection";
    const EDGE: &'static str = "ProblemEdge";

    fn cursor(self, to: &mut Writer<'a>) {
        let Problem { file, line, .. } = self.problem();
        let line = line.map(|line| line.to_string());
        let nth = (self.place - self.first_of_line()).to_string();
        to.key(Tag::ProblemsInOrder, [file.as_deref(), line.as_deref(), Some(&nth)]);
    }
}

/// The first problem at this file and line, or else where it would be.
fn position(served: &Served, file: Option<&str>, line: Option<u32>) -> usize {
    served.catalog.problems().partition_point(|problem| compare(problem, file, line).is_lt())
}

/// The order of a catalog's problems; what is known of no file comes first.
fn compare(problem: &Problem, file: Option<&str>, line: Option<u32>) -> Ordering {
    let by_file = match (&problem.file, file) {
        (Some(a), Some(b)) => compare_paths(a, b),
        (a, b) => a.is_some().cmp(&b.is_some()),
    };
    by_file.then_with(|| problem.line.cmp(&line))
}
