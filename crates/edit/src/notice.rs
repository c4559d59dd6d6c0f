//! What the author of an edit may not have meant, although the catalog is valid afterwards.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::bundle::RenderedBundle;

/// Something that the author of an edit may not have meant. The edit is done all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A part of a bundle was not read, or not used.
    Unused {
        /// Name of the bundle.
        bundle: String,
        /// What of it, and why.
        text: String,
    },
    /// A package that is to be kept is not there, so that another one may be gone instead.
    NothingToKeep(String),
    /// A bundle was replaced by one of the same name.
    Overwritten(String),
}

impl Notice {
    /// Returns what was noticed when a bundle was rendered.
    pub(crate) fn of_bundle(bundle: &RenderedBundle) -> impl Iterator<Item = Self> {
        let unused = |text: &String| Self::Unused {
            bundle: bundle.blob.str("name").to_owned(),
            text: text.clone(),
        };
        bundle.warnings.iter().map(unused)
    }
}

impl fmt::Display for Notice {
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

impl Serialize for Notice {
    /// Writes the text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
