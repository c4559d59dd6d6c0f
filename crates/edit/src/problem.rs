//! Problems that an edit makes.

use std::fmt;
use std::sync::Arc;

use fbc_read::problem::{Problem, ProblemCode};
use serde::Serialize;

/// A problem that the catalog did not have before the edit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct NewProblem {
    /// Code, which `docs/reference/problems.md` explains.
    pub code: ProblemCode,
    /// Package that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<Arc<str>>,
    /// Channel that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<Arc<str>>,
    /// Bundle that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bundle: Option<Arc<str>>,
    /// The rule that is broken, and how.
    pub message: String,
}

impl From<Problem> for NewProblem {
    fn from(problem: Problem) -> Self {
        Self {
            code: problem.code,
            package: problem.package,
            channel: problem.channel,
            bundle: problem.bundle,
            message: problem.message,
        }
    }
}

impl fmt::Display for NewProblem {
    /// Writes the problem with its object in front, as in `package etcd: channel alpha: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let objects = [
            ("package", &self.package),
            ("channel", &self.channel),
            ("bundle", &self.bundle),
        ];
        for (kind, name) in objects {
            if let Some(name) = name {
                write!(f, "{kind} {name}: ")?;
            }
        }
        f.write_str(&self.message)
    }
}
