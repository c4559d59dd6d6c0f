//! Names of refs in references to git repositories.

use crate::MAX_REF_BYTES;

/// Numbers of digits of a commit, with SHA-1 and with SHA-256.
const COMMIT_DIGITS: [usize; 2] = [40, 64];

/// The ref that a reference names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitRef {
    /// The branch that the repository names.
    Head,
    /// A branch or a tag.
    Name(String),
    /// A ref by its full name, `refs/…`.
    Full(String),
    /// A commit, which never changes.
    Commit(String),
}

impl GitRef {
    /// Parses a ref by the rules of `git check-ref-format`. `None` if no ref has such a name.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex && COMMIT_DIGITS.contains(&text.len()) {
            return Some(Self::Commit(text.to_lowercase()));
        }
        let is_part = |part: &str| {
            !part.is_empty() && !part.starts_with('.') && !part.to_lowercase().ends_with(".lock")
        };
        let is_letter = |letter: char| {
            !letter.is_control() && !letter.is_whitespace() && !"~^:?*[\\#".contains(letter)
        };
        let is_valid = text.len() <= MAX_REF_BYTES
            && text.split('/').all(is_part)
            && text.chars().all(is_letter)
            && !text.contains("..")
            && !text.contains("@{")
            && !text.ends_with('.')
            && !text.starts_with('-')
            && text != "@";
        if !is_valid {
            return None;
        }
        Some(match text {
            "HEAD" => Self::Head,
            full if full.starts_with("refs/") => Self::Full(full.to_owned()),
            name => Self::Name(name.to_owned()),
        })
    }

    /// Returns what the reference has behind `@`; empty for the branch that the repository names.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Head => "",
            Self::Name(text) | Self::Full(text) | Self::Commit(text) => text,
        }
    }
}

#[cfg(feature = "source-git")]
impl GitRef {
    /// Returns the full names of the refs that may be meant.
    pub(crate) fn prefixes(&self) -> Vec<String> {
        match self {
            Self::Head => vec!["HEAD".to_owned()],
            Self::Name(name) => vec![format!("refs/heads/{name}"), format!("refs/tags/{name}")],
            Self::Full(name) => vec![name.clone()],
            Self::Commit(_) => Vec::new(),
        }
    }

    /// Returns the ref for errors.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Head => "HEAD".to_owned(),
            Self::Name(name) => format!("branch or tag `{name}`"),
            Self::Full(name) => format!("ref `{name}`"),
            Self::Commit(hex) => format!("commit `{hex}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_is_a_commit_a_full_name_or_a_branch_or_tag() {
        let hex = "0F".repeat(20);
        for (text, expected) in [
            ("HEAD", GitRef::Head),
            ("main", GitRef::Name("main".to_owned())),
            ("feature/x@2", GitRef::Name("feature/x@2".to_owned())),
            ("refs/tags/v1", GitRef::Full("refs/tags/v1".to_owned())),
            (&hex, GitRef::Commit(hex.to_lowercase())),
            (&hex[1..], GitRef::Name(hex[1..].to_owned())),
        ] {
            assert_eq!(GitRef::parse(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_git_refuses_as_the_name_of_a_ref_is_refused() {
        for text in [
            "", "@", "a..b", "a@{1}", "/a", "a/", "a//b", ".a", "a/.b", "a.lock", "a.lock/b", "a.",
            "a b", "a\tb", "a~1", "a^", "a:b", "a?", "a*", "a[b", "a\\b", "-a", "a\u{7f}",
        ] {
            assert_eq!(GitRef::parse(text), None, "{text:?}");
        }
        assert!(GitRef::parse(&"a".repeat(MAX_REF_BYTES)).is_some());
        assert!(GitRef::parse(&"a".repeat(MAX_REF_BYTES + 1)).is_none());
    }
}
