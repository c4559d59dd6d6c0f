//! Why a file was refused: a place and a cause, with upstream's text where it has one worth keeping.

use crate::quote::go_quote;

/// A fault that refuses the file, and with it the content it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct ReadError {
    /// The line of the file, from 1.
    pub line: u32,
    /// What is wrong there.
    pub kind: ReadErrorKind,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadErrorKind {
    /// The text is no JSON (and, where that is tried, no YAML either).
    #[error("{0}")]
    Json(String),
    /// The text is no YAML.
    #[error("error converting YAML to JSON: yaml: {0}")]
    Yaml(String),
    /// The bytes are no UTF-8; only YAML must be.
    #[error("error converting YAML to JSON: yaml: invalid leading UTF-8 octet")]
    Utf8,
    /// A character that YAML does not allow in a file.
    #[error("error converting YAML to JSON: yaml: control characters are not allowed (U+{0:04X})")]
    ControlCharacter(u32),
    /// A line that begins with `---` and goes on.
    #[error("invalid Yaml document separator: {0}")]
    Separator(String),
    /// An alias of an unknown anchor or of a node around it, or too much text by aliases.
    #[error("error converting YAML to JSON: yaml: {0}")]
    Alias(String),
    /// `<<` with a value that is no mapping and no list of mappings.
    #[error("error converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value")]
    Merge,
    /// A scalar that is not what its tag says.
    #[error("error converting YAML to JSON: yaml: {0}")]
    Tag(String),
    /// A mapping key that cannot be text: null, a collection, or an integer above 2^63.
    #[error("error converting YAML to JSON: unsupported map key: {0}")]
    Key(String),
    /// Infinity, or not a number.
    #[error("error converting YAML to JSON: json: unsupported value: {0}")]
    NonFinite(String),
    /// A number that no double can hold.
    #[error("json: cannot unmarshal number {0} into Go value of type float64")]
    NumberRange(String),
    /// A value that is no mapping where a blob must be.
    #[error("cannot unmarshal {0} into a mapping")]
    NotAMapping(&'static str),
    /// Keys of a blob that are alike but for their case.
    #[error("{}", duplicates(.0))]
    DuplicateKeys(Vec<AlikeKeys>),
    /// `schema`, `package` or `name` with a value that is no string.
    #[error("expected value for key {key:?} to be a string, got {got}")]
    KeyType {
        /// Which of the three.
        key: &'static str,
        /// The beginning of the value, as JSON.
        got: String,
    },
    /// Collections within collections, deeper than the limit.
    #[error("exceeded max depth of {0}")]
    Depth(usize),
    /// Objects with more members than the limit.
    #[error("the objects around one place have more than {0} members")]
    TooManyMembers(usize),
    /// One blob, as text or as canonical line, larger than the limit in bytes.
    #[error("a blob is larger than {0} bytes")]
    TooLarge(usize),
    /// A large YAML document with more indicator characters than the limit.
    #[error("a YAML document has more than {0} indicator characters")]
    TooManyIndicators(usize),
}

/// Keys of one mapping that are alike but for their case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlikeKeys {
    /// What they are without regard to case.
    pub folded: String,
    /// The keys, in their order.
    pub keys: Vec<String>,
}

/// What is wrong, and on which line of the text that was given, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) line: usize,
    pub(super) kind: ReadErrorKind,
}

fn duplicates(all: &[AlikeKeys]) -> String {
    let each = all.iter().map(|alike| {
        let (folded, keys) = (go_quote(&alike.folded), alike.keys.join(" "));
        format!("duplicate keys for key {folded}: [{keys}]")
    });
    each.collect::<Vec<_>>().join("; ")
}
