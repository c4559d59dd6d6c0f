//! The analysis of a content: the origins of its lines and the problems in them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use fbc_read::problem::ProblemCounts;
use fbc_read::{Origins, Problem, ProblemCode, Problems};
use serde::{Deserialize, Serialize};

/// Version of the file format of analyses. Those of another version are ignored; change it with the meaning
/// of any field.
pub const ANALYSIS_FORMAT: u32 = 2;

/// The analysis of a content: everything that reading it finds out beside the lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// File and line that each canonical line was read from.
    pub origins: Origins,
    /// Problems in the content; `None` if another build checked it, whose rules may differ.
    pub problems: Option<Problems>,
}

/// The file format of an analysis.
#[derive(Serialize, Deserialize)]
struct AnalysisFile<O, P> {
    format: u32,
    build: String,
    origins: O,
    problems: P,
}

/// The problems of a content in the file format.
#[derive(Serialize, Deserialize)]
struct StoredProblems {
    listed: Vec<StoredProblem>,
    counts: ProblemCounts,
}

/// A problem in the file format.
#[derive(Serialize, Deserialize)]
struct StoredProblem {
    code: ProblemCode,
    message: String,
    package: Option<Arc<str>>,
    channel: Option<Arc<str>>,
    bundle: Option<Arc<str>>,
    file: Option<Arc<str>>,
    line: Option<u32>,
}

impl Analysis {
    /// Reads an analysis; `None` if the file is missing, damaged or of another format.
    pub(super) fn read(path: &Path, build: &str) -> Option<Self> {
        Self::parse(&std::fs::read(path).ok()?, build)
    }

    /// Parses the file format of an analysis; `None` if it is damaged or of another format.
    pub(super) fn parse(text: &[u8], build: &str) -> Option<Self> {
        let file: AnalysisFile<Origins, serde_json::Value> = serde_json::from_slice(text).ok()?;
        if file.format != ANALYSIS_FORMAT {
            return None;
        }
        // Another build may have codes that this one does not know. Its origins are valid
        // nevertheless.
        let same_build = file.build == build;
        let problems = if same_build {
            serde_json::from_value(file.problems)
                .ok()
                .map(read_problems)
        } else {
            None
        };
        Some(Self {
            origins: file.origins,
            problems,
        })
    }

    /// Serializes the analysis to its file format.
    pub(super) fn to_json(&self, build: &str) -> Vec<u8> {
        let problems = self.problems.as_ref().map(|problems| StoredProblems {
            listed: problems.listed.iter().map(to_stored_problem).collect(),
            counts: problems.counts.clone(),
        });
        let file = AnalysisFile {
            format: ANALYSIS_FORMAT,
            build: build.to_owned(),
            origins: &self.origins,
            problems,
        };
        serde_json::to_vec(&file).expect("numbers and strings serialize to JSON")
    }
}

fn to_stored_problem(problem: &Problem) -> StoredProblem {
    let Problem {
        code,
        message,
        package,
        channel,
        bundle,
        file,
        line,
    } = problem.clone();
    StoredProblem {
        code,
        message,
        package,
        channel,
        bundle,
        file,
        line,
    }
}

/// Converts problems from the file format. Equal names share one allocation, as they do when a
/// catalog is built.
fn read_problems(stored: StoredProblems) -> Problems {
    let mut names: HashSet<Arc<str>> = HashSet::new();
    let mut intern = |name: Option<Arc<str>>| {
        let name = name?;
        if let Some(same) = names.get(&name) {
            return Some(Arc::clone(same));
        }
        names.insert(Arc::clone(&name));
        Some(name)
    };
    let problem = |stored: StoredProblem| Problem {
        code: stored.code,
        message: stored.message,
        package: intern(stored.package),
        channel: intern(stored.channel),
        bundle: intern(stored.bundle),
        file: intern(stored.file),
        line: stored.line,
    };
    Problems {
        listed: stored.listed.into_iter().map(problem).collect(),
        counts: stored.counts,
    }
}
