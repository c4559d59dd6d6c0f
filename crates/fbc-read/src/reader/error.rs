//! Errors that reject a file, with upstream's text where it has one.

use fbc_grammar::quote::go_quote;

/// An error that rejects a file, and with it the whole content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct ReadError {
    /// Line of the file, counted from 1.
    pub line: u32,
    /// Cause.
    pub kind: ReadErrorKind,
}

/// Cause of a [`ReadError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadErrorKind {
    /// The text is not JSON, and not YAML either if that was tried.
    #[error("{0}")]
    Json(String),
    /// The text is not YAML.
    #[error("error converting YAML to JSON: yaml: {0}")]
    Yaml(String),
    /// The bytes are not UTF-8, which only YAML requires.
    #[error("error converting YAML to JSON: yaml: invalid leading UTF-8 octet")]
    Utf8,
    /// A character that YAML forbids.
    #[error("error converting YAML to JSON: yaml: control characters are not allowed (U+{0:04X})")]
    ControlCharacter(u32),
    /// A line that begins with `---` and has more text.
    #[error("invalid Yaml document separator: {0}")]
    Separator(String),
    /// An alias of an unknown anchor or of an enclosing node, or excessive aliasing.
    #[error("error converting YAML to JSON: yaml: {0}")]
    Alias(String),
    /// `<<` with a value that is neither a mapping nor a list of mappings.
    #[error(
        "error converting YAML to JSON: yaml: map merge requires map or sequence of maps as the value"
    )]
    Merge,
    /// A scalar that does not match its tag.
    #[error("error converting YAML to JSON: yaml: {0}")]
    Tag(String),
    /// A mapping key that cannot be converted to text: null, a collection, or an integer above
    /// 2^63.
    #[error("error converting YAML to JSON: unsupported map key: {0}")]
    Key(String),
    /// An infinite number, or not a number.
    #[error("error converting YAML to JSON: json: unsupported value: {0}")]
    NonFinite(String),
    /// A number beyond the range of a double.
    #[error("json: cannot unmarshal number {0} into Go value of type float64")]
    NumberRange(String),
    /// A document that is not a mapping.
    #[error("cannot unmarshal {0} into a mapping")]
    NotAMapping(&'static str),
    /// Keys of a blob that differ only in letter case.
    #[error("{}", duplicates(.0))]
    DuplicateKeys(Vec<AlikeKeys>),
    /// A `schema`, `package` or `name` that is not a string.
    #[error("expected value for key {key:?} to be a string, got {got}")]
    KeyType {
        /// The key.
        key: &'static str,
        /// The beginning of the value, as JSON.
        got: String,
    },
    /// Collections nested deeper than the limit.
    #[error("exceeded max depth of {0}")]
    Depth(usize),
    /// Open objects with more members than the limit.
    #[error("the objects around one place have more than {0} members")]
    TooManyMembers(usize),
    /// A blob whose text or canonical line is larger than the limit, in bytes.
    #[error("a blob is larger than {0} bytes")]
    TooLarge(usize),
    /// A large YAML document with more indicator characters than the limit.
    #[error("a YAML document has more than {0} indicator characters")]
    TooManyIndicators(usize),
}

/// Keys of one mapping that differ only in letter case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlikeKeys {
    /// The keys after case folding.
    pub folded: String,
    /// The distinct keys, sorted.
    pub keys: Vec<String>,
}

/// An error in a piece of text, with its line in the text, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextError {
    pub(super) line: usize,
    pub(super) kind: ReadErrorKind,
}

fn duplicates(all: &[AlikeKeys]) -> String {
    let each = all.iter().map(|alike| {
        let folded = go_quote(&alike.folded);
        let keys = alike.keys.join(" ");
        format!("duplicate keys for key {folded}: [{keys}]")
    });
    each.collect::<Vec<_>>().join("; ")
}
