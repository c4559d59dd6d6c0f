//! `Problem` and its connection.

use std::cmp::Ordering;

use fbc_grammar::ignore::compare_paths;
use fbc_read::{Problem, Severity};
use serving::Served;

use super::connection::ConnectionNode;
use super::{Object, PlannedField, ResponseWriter, WriteResult};
use crate::connection::{ConnectionItem, FixedOrder, RankedPlace};
use crate::fields::{ProblemConnectionField, ProblemCountField, ProblemEdgeField, ProblemField};
use crate::filter::{self, SEVERITIES};
use crate::opaque_key::{KeyTag, OpaqueKey};

/// A problem as an item of a connection.
#[derive(Clone, Copy)]
pub(super) struct ProblemItem<'a> {
    served: &'a Served,
    /// Index among the problems of the catalog.
    index: usize,
}

impl<'a> ProblemItem<'a> {
    fn problem(self) -> &'a Problem {
        &self.served.content.catalog.problems()[self.index]
    }

    /// Returns the index of the first problem of the same file and line.
    fn first_of_line(self) -> usize {
        let own = FilePosition::new(self.problem());
        self.served
            .content
            .catalog
            .problems()
            .partition_point(|problem| FilePosition::new(problem).compare(own).is_lt())
    }
}

impl<'a> Object<'a> for ProblemItem<'a> {
    type Field = ProblemField;

    fn write(
        self,
        name: ProblemField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let problem = self.problem();
        match name {
            ProblemField::Severity => {
                writer.static_string(filter::word(&SEVERITIES, &problem.severity()));
            }
            ProblemField::Code => writer.static_string(problem.code.as_str()),
            ProblemField::Message => writer.string(&problem.message),
            ProblemField::PackageName => writer.optional_string(problem.package.as_deref()),
            ProblemField::ChannelName => writer.optional_string(problem.channel.as_deref()),
            ProblemField::BundleName => writer.optional_string(problem.bundle.as_deref()),
            ProblemField::File => writer.optional_string(problem.file.as_deref()),
            ProblemField::Line => match problem.line {
                Some(line) => writer.count(line as usize),
                None => writer.null(),
            },
        }
        Ok(())
    }
}

/// The type `ProblemCount`.
#[derive(Clone, Copy)]
struct ProblemCount(Severity, u64);

impl<'a> ResponseWriter<'a> {
    /// Writes the number of problems of each severity.
    pub(super) fn problem_counts(
        &mut self,
        count: impl Fn(Severity) -> u64,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.object_list(
            SEVERITIES.map(|(severity, _)| ProblemCount(severity, count(severity))),
            field,
        )
    }
}

impl<'a> Object<'a> for ProblemCount {
    type Field = ProblemCountField;

    fn write(
        self,
        name: ProblemCountField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self(severity, count) = self;
        match name {
            ProblemCountField::Severity => {
                writer.static_string(filter::word(&SEVERITIES, &severity));
            }
            ProblemCountField::Count => writer.count(usize::try_from(count).unwrap_or(usize::MAX)),
        }
        Ok(())
    }
}

/// Sort key of a problem: its file, its line, and the number of problems of that line before it.
pub(super) struct ProblemKey<'k> {
    position: FilePosition<'k>,
    nth: usize,
}

/// File and line of a problem.
#[derive(Clone, Copy)]
struct FilePosition<'k> {
    file: Option<&'k str>,
    line: Option<u32>,
}

impl<'a> ConnectionItem<'a> for ProblemItem<'a> {
    type Order = FixedOrder;
    type Key<'k> = ProblemKey<'k>;

    fn from_place(served: &'a Served, ranked: RankedPlace, _: FixedOrder) -> Self {
        Self {
            served,
            index: ranked.place as usize,
        }
    }

    fn key(self) -> ProblemKey<'a> {
        ProblemKey {
            position: FilePosition::new(self.problem()),
            nth: self.index - self.first_of_line(),
        }
    }

    fn key_from_cursor(_: FixedOrder, cursor: &OpaqueKey) -> Option<ProblemKey<'_>> {
        let [file, line, nth] = cursor.parts(KeyTag::PROBLEMS)?;
        let line = line.map(str::parse).transpose().ok()?;
        Some(ProblemKey {
            position: FilePosition { file, line },
            nth: nth?.parse().ok()?,
        })
    }

    fn compare(_: FixedOrder, a: &ProblemKey<'_>, b: &ProblemKey<'_>) -> Ordering {
        a.position.compare(b.position).then(a.nth.cmp(&b.nth))
    }
}

impl<'a> ConnectionNode<'a> for ProblemItem<'a> {
    type ConnectionField = ProblemConnectionField;
    type EdgeField = ProblemEdgeField;

    fn cursor(self, writer: &mut ResponseWriter<'a>) {
        let ProblemKey { position, nth } = self.key();
        let line = position.line.map(|line| line.to_string());
        writer.opaque_key(
            KeyTag::PROBLEMS,
            [position.file, line.as_deref(), Some(&nth.to_string())],
        );
    }
}

impl<'k> FilePosition<'k> {
    fn new(problem: &'k Problem) -> Self {
        Self {
            file: problem.file.as_deref(),
            line: problem.line,
        }
    }

    /// Compares files and lines; problems without a file come first.
    fn compare(self, other: FilePosition<'_>) -> Ordering {
        let by_file = match (self.file, other.file) {
            (Some(file), Some(other)) => compare_paths(file, other),
            (file, other) => file.is_some().cmp(&other.is_some()),
        };
        by_file.then_with(|| self.line.cmp(&other.line))
    }
}
