//! What was found out about a content: where its lines came from and what is odd in them.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use fbc::{Origins, Problem, ProblemCode};
use serde::{Deserialize, Serialize};

/// Changes when what is written here changes its meaning; notes of another format are as if they were not there.
const FORMAT: u32 = 1;

/// What was found out about a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// Where each line came from.
    pub origins: Origins,
    /// What is odd in it; absent when another build looked, which may have judged otherwise.
    pub problems: Option<Vec<Problem>>,
}

/// The file, field by field.
#[derive(Serialize, Deserialize)]
struct Stored<O, P> {
    format: u32,
    build: String,
    origins: O,
    problems: P,
}

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
    /// The notes in a file, if they can be used.
    pub(super) fn read(path: &Path, build: &str) -> Option<Self> {
        let text = std::fs::read(path).ok()?;
        let stored: Stored<Origins, serde_json::Value> = serde_json::from_slice(&text).ok()?;
        if stored.format != FORMAT {
            return None;
        }
        // Codes of another build may be unknown here, which must not cost the origins.
        let same_build = stored.build == build;
        let problems = if same_build { serde_json::from_value(stored.problems).ok().map(read_problems) } else { None };
        Some(Self { origins: stored.origins, problems })
    }

    pub(super) fn to_json(&self, build: &str) -> Vec<u8> {
        let problems: Option<Vec<_>> = self.problems.as_ref().map(|all| all.iter().map(stored_problem).collect());
        let stored = Stored { format: FORMAT, build: build.to_owned(), origins: &self.origins, problems };
        serde_json::to_vec(&stored).expect("numbers and texts are JSON")
    }
}

fn stored_problem(problem: &Problem) -> StoredProblem {
    let Problem { code, message, package, channel, bundle, file, line } = problem.clone();
    StoredProblem { code, message, package, channel, bundle, file, line }
}

/// Problems again, with each name held once, as they were before they were written.
fn read_problems(stored: Vec<StoredProblem>) -> Vec<Problem> {
    let mut names: HashSet<Arc<str>> = HashSet::new();
    let mut once = |name: Option<Arc<str>>| {
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
        package: once(stored.package),
        channel: once(stored.channel),
        bundle: once(stored.bundle),
        file: once(stored.file),
        line: stored.line,
    };
    stored.into_iter().map(problem).collect()
}
