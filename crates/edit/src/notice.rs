//! Notices: effects of an edit that its author may not have intended. The catalog is valid all the
//! same.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::bundle::RenderedBundle;

/// An effect that the author of an edit may not have intended. It does not stop the edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditNotice {
    /// A part of a bundle was not read, or not used.
    Unused {
        /// Name of the bundle.
        bundle: String,
        /// The part, and the reason for which it was not used.
        text: String,
    },
    /// A package to keep does not exist: its name may be misspelled, so that `prune` has removed
    /// it.
    NothingToKeep(String),
    /// A bundle was replaced by one of the same name.
    Overwritten(String),
}

impl EditNotice {
    /// Returns the warnings of a rendered bundle.
    pub(crate) fn from_bundle(bundle: &RenderedBundle) -> impl Iterator<Item = Self> {
        let unused = |text: &String| Self::Unused {
            bundle: bundle.blob.str("name").to_owned(),
            text: text.clone(),
        };
        bundle.warnings.iter().map(unused)
    }
}

impl fmt::Display for EditNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unused { bundle, text } => write!(f, "bundle {bundle}: {text}"),
            Self::NothingToKeep(package) => write!(
                f,
                "package {package}: cannot be kept: it is not in the catalog"
            ),
            Self::Overwritten(bundle) => write!(
                f,
                "bundle {bundle}: overwritten: clusters that installed the former one keep it, because name and version are \
                 the same"
            ),
        }
    }
}

impl Serialize for EditNotice {
    /// Writes the text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
