//! The grammar of image references: `[domain/]path[:tag][@digest]`, without defaults and digest
//! algorithms.

/// Maximum length of a tag, in bytes.
const MAX_TAG_BYTES: usize = 128;

/// Minimum length of an encoded digest, in hexadecimal digits.
const MIN_DIGEST_DIGITS: usize = 32;

/// Parts of a text in the form of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReferenceParts<'a> {
    /// `None` when the text has no domain; empty when its first part looks like a domain but is not
    /// one.
    pub(super) domain: Option<&'a str>,
    pub(super) path: &'a str,
    pub(super) tag: Option<&'a str>,
    pub(super) digest: Option<&'a str>,
}

/// Splits a reference into its parts; `None` when the text does not have the form of one.
pub(super) fn match_reference(text: &str) -> Option<ReferenceParts<'_>> {
    let (domain, remainder) = split_domain(text);
    let (domain, remainder) = match domain {
        Some(domain) if !is_domain(domain.as_bytes()) => (Some(""), text),
        domain => (domain, remainder),
    };
    let (path, rest) = split_path(remainder)?;
    let (tag, digest) = match rest.split_once('@') {
        Some((tag, digest)) => (tag, Some(digest)),
        None => (rest, None),
    };
    let tag = match tag.strip_prefix(':') {
        Some(tag) if is_tag(tag.as_bytes()) => Some(tag),
        None if tag.is_empty() => None,
        _ => return None,
    };
    digest
        .is_none_or(|digest| is_digest(digest.as_bytes()))
        .then_some(ReferenceParts {
            domain,
            path,
            tag,
            digest,
        })
}

/// Splits off the text before the first slash, if it looks like a domain.
pub(super) fn split_domain(text: &str) -> (Option<&str>, &str) {
    match text.split_once('/') {
        Some((domain, rest))
            if domain == "localhost" || domain.bytes().any(|byte| matches!(byte, b'.' | b':')) =>
        {
            (Some(domain), rest)
        }
        _ => (None, text),
    }
}

/// Tells whether a text is a domain: dot-separated labels of letters, digits and inner hyphens, and
/// an optional port.
fn is_domain(text: &[u8]) -> bool {
    let mut previous = b'.';
    for (at, &byte) in text.iter().enumerate() {
        let fits = match byte {
            b':' => {
                let port = &text[at + 1..];
                return previous.is_ascii_alphanumeric()
                    && !port.is_empty()
                    && port.iter().all(u8::is_ascii_digit);
            }
            b'.' => previous.is_ascii_alphanumeric(),
            b'-' => previous != b'.',
            _ => byte.is_ascii_alphanumeric(),
        };
        if !fits {
            return false;
        }
        previous = byte;
    }
    previous.is_ascii_alphanumeric()
}

/// Splits off the path, up to a `:` or `@`.
///
/// It has slash-separated components of small letters and digits, with `.`, `_`, `__` or any number
/// of `-` between them.
fn split_path(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let is_alphanumeric = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
    let mut at = 0;
    loop {
        let run = bytes[at..]
            .iter()
            .take_while(|byte| is_alphanumeric(byte))
            .count();
        if run == 0 {
            return None;
        }
        at += run;
        at += match &bytes[at..] {
            [] | [b':' | b'@', ..] => return Some(text.split_at(at)),
            [b'_', b'_', ..] => 2,
            [b'/' | b'.' | b'_', ..] => 1,
            hyphens => hyphens.iter().take_while(|&&byte| byte == b'-').count(),
        };
    }
}

fn is_tag(text: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.len() <= MAX_TAG_BYTES
        && text.first().is_some_and(is_word)
        && text
            .iter()
            .all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

/// Tells whether a text is a digest: words that begin with a letter, separated by one of `-_+.`,
/// then `:` and hexadecimal digits.
fn is_digest(text: &[u8]) -> bool {
    let mut before_letter = true;
    for (at, &byte) in text.iter().enumerate() {
        before_letter = match byte {
            b'A'..=b'Z' | b'a'..=b'z' => false,
            b'0'..=b'9' if !before_letter => false,
            b'-' | b'_' | b'+' | b'.' if !before_letter => true,
            b':' if !before_letter => {
                let encoded = &text[at + 1..];
                return encoded.len() >= MIN_DIGEST_DIGITS
                    && all(encoded, |byte| byte.is_ascii_hexdigit());
            }
            _ => return false,
        };
    }
    false
}

/// Tests all bytes without stopping early, which is faster when they usually pass.
pub(super) fn all(bytes: &[u8], accepts: impl Fn(u8) -> bool) -> bool {
    bytes.iter().fold(true, |all, &byte| all & accepts(byte))
}
