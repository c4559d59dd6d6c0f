//! Patterns of images that are not mirrored, in the syntax of Go's regular expressions.

use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled pattern, in bytes.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Syntax that one of Go and this program reads in another way than the other, with its name.
const FOREIGN: [(&str, &str); 9] = [
    (r"\Q", "quoted text"),
    (r"\E", "the end of quoted text"),
    (r"\C", "a single byte"),
    (r"\b{", "a word boundary of a kind"),
    (r"\<", "the start of a word"),
    (r"\>", "the end of a word"),
    ("&&", "an intersection of classes"),
    ("--", "a difference of classes"),
    ("~~", "a symmetric difference of classes"),
];

/// A pattern of images that are not mirrored; it may match anywhere in a reference.
#[derive(Clone, Debug)]
pub(crate) struct BlockedPattern(Regex);

impl BlockedPattern {
    /// Parses a pattern; the error says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if let Some((syntax, name)) = FOREIGN.iter().find(|(syntax, _)| text.contains(syntax)) {
            return Err(format!(
                "`{text}` has `{syntax}` ({name}), which is not supported: escape the letters one by one"
            ));
        }
        RegexBuilder::new(text)
            .size_limit(MAX_PATTERN_BYTES)
            .build()
            .map(Self)
            .map_err(|error| match error {
                regex::Error::CompiledTooBig(_) => {
                    format!(
                        "`{text}` is too large: compiled it has more than {MAX_PATTERN_BYTES} bytes"
                    )
                }
                error => {
                    // The last line says what is wrong; those before it draw the place.
                    let text = error.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    let why = last.trim_start_matches("error: ");
                    format!("not a regular expression: {why}")
                }
            })
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub(crate) fn matches(&self, reference: &str) -> bool {
        self.0.is_match(reference)
    }
}
