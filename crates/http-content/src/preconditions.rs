//! Preconditions of requests (RFC 9110 §13), evaluated in the order of §13.2.2 and as Go's
//! `net/http` does.
//!
//! Every view uses this module, so that lists of entity tags are parsed in one way. It knows
//! validators and headers, and not the representation that they belong to.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{
    IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, InvalidHeaderValue,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame};

/// Prefix of weak entity tags.
pub const WEAK: &str = "W/";

/// The validators of a representation (RFC 9110 §8.8): an entity tag, and perhaps a modification
/// time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    /// An entity tag, including its quotes and, if it is weak, its prefix.
    pub etag: String,
    /// Modification time of the representation in whole seconds since 1970, if it is known.
    pub last_modified: Option<u64>,
}

/// The result of evaluating the preconditions of a request (RFC 9110 §13.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreconditionResult {
    /// Every precondition is true, or the request has none: the method is performed.
    Satisfied,
    /// The client's stored response is still valid: respond with 304.
    NotModified,
    /// `If-Match` or `If-Unmodified-Since` is false: respond with 412.
    Failed,
}

/// The comparison of entity tags that a header asks for (RFC 9110 §8.8.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

/// An empty body whose length is unknown, so that the server adds no `Content-Length: 0` of its
/// own: in a response to `HEAD`, or with status 304, that would be taken for the length of the
/// representation.
#[derive(Debug)]
pub struct EmptyBody;

impl Validators {
    /// Creates validators from the opaque part of an entity tag, which must consist of visible
    /// ASCII characters other than quotes, and a modification time in seconds since 1970.
    pub fn new(opaque_tag: &str, last_modified: Option<u64>) -> Self {
        Self {
            etag: format!("\"{opaque_tag}\""),
            last_modified,
        }
    }

    /// Makes the entity tag a weak one: the bytes of the representation may differ between equal
    /// requests, such as those of compressed forms of several levels.
    #[must_use]
    pub fn weak(mut self) -> Self {
        self.etag.insert_str(0, WEAK);
        self
    }

    /// Returns the value of the `ETag` header.
    pub fn etag_header(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        HeaderValue::try_from(&self.etag)
    }

    /// Returns the value of the `Last-Modified` header; `None` without a modification time, or for
    /// one that no HTTP date can express.
    pub fn last_modified_header(&self) -> Option<HeaderValue> {
        let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.last_modified?))?;
        HeaderValue::try_from(httpdate::fmt_http_date(at)).ok()
    }

    /// Evaluates the preconditions of a `GET` or `HEAD` request in the order of RFC 9110 §13.2.2.
    pub fn evaluate(&self, headers: &HeaderMap) -> PreconditionResult {
        let is_current = self
            .matches_if_match(headers)
            .or_else(|| self.is_unmodified_since(headers, &IF_UNMODIFIED_SINCE));
        if is_current == Some(false) {
            return PreconditionResult::Failed;
        }
        let is_stored = self
            .matches_if_none_match(headers)
            .or_else(|| self.is_unmodified_since(headers, &IF_MODIFIED_SINCE));
        if is_stored == Some(true) {
            PreconditionResult::NotModified
        } else {
            PreconditionResult::Satisfied
        }
    }

    /// Evaluates `If-Range`: returns whether the `Range` header of a `GET` request applies. Without
    /// `If-Range` it does.
    pub fn allows_partial_response(&self, headers: &HeaderMap) -> bool {
        let Some(validator) = first_value(headers, &IF_RANGE) else {
            return true;
        };
        if let Some((tag, _)) = split_first_tag(validator) {
            return tags_match(tag, &self.etag, Comparison::Strong);
        }
        parse_date(validator).is_some_and(|date| self.last_modified == Some(date))
    }

    /// Returns whether `If-None-Match` lists this entity tag; `None` without that header.
    pub fn matches_if_none_match(&self, headers: &HeaderMap) -> Option<bool> {
        if_none_match_contains(headers, &self.etag)
    }

    /// Returns whether `If-Match` lists this entity tag; `None` without that header.
    fn matches_if_match(&self, headers: &HeaderMap) -> Option<bool> {
        list_contains(headers, &IF_MATCH, &self.etag, Comparison::Strong)
    }

    /// Compares the modification time with the date in a header. `None` without the header, with an
    /// invalid date, or without a modification time.
    fn is_unmodified_since(&self, headers: &HeaderMap, name: &HeaderName) -> Option<bool> {
        let date = parse_date(first_value(headers, name)?)?;
        Some(self.last_modified? <= date)
    }
}

impl Body for EmptyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}

/// Returns whether `If-None-Match` lists an entity tag, which is given with its quotes; `None`
/// without that header.
pub fn if_none_match_contains(headers: &HeaderMap, etag: &str) -> Option<bool> {
    list_contains(headers, &IF_NONE_MATCH, etag, Comparison::Weak)
}

/// Returns the value of a header; of a repeated one the first, as Go does. `None` when it is absent
/// or empty.
pub fn first_value<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h [u8]> {
    headers
        .get(name)
        .map(HeaderValue::as_bytes)
        .filter(|value| !value.is_empty())
}

/// Returns whether the lists of entity tags in a header contain `etag` or `*`; `None` without a
/// list. A list is read up to the first element that is not an entity tag.
fn list_contains(
    headers: &HeaderMap,
    name: &HeaderName,
    etag: &str,
    comparison: Comparison,
) -> Option<bool> {
    let mut lists = headers
        .get_all(name)
        .iter()
        .map(HeaderValue::as_bytes)
        .filter(|list| !list.is_empty())
        .peekable();
    lists.peek()?;
    // As Go's `net/http` reads them, so that a malformed list has the effect that it has in
    // catalogd.
    Some(lists.any(|mut list| {
        loop {
            list = list.trim_ascii_start();
            match list.first() {
                Some(b',') => list = &list[1..],
                Some(b'*') => return true,
                _ => {
                    let Some((listed, rest)) = split_first_tag(list) else {
                        return false;
                    };
                    if tags_match(listed, etag, comparison) {
                        return true;
                    }
                    list = rest;
                }
            }
        }
    }))
}

/// Compares an entity tag from a request with the representation's own, which is strong.
fn tags_match(listed: &[u8], etag: &str, comparison: Comparison) -> bool {
    // Weak comparison ignores the prefix of weak tags (RFC 9110 §8.8.3.2); in a strong one, a weak
    // tag equals none.
    let etag = etag.as_bytes();
    match comparison {
        Comparison::Strong => listed == etag && !etag.starts_with(WEAK.as_bytes()),
        Comparison::Weak => without_weak(listed) == without_weak(etag),
    }
}

fn without_weak(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(WEAK.as_bytes()).unwrap_or(tag)
}

/// Splits a text into the entity tag that it begins with and the rest; `None` when it does not
/// begin with one.
fn split_first_tag(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let quoted = text
        .strip_prefix(b"W/")
        .unwrap_or(text)
        .strip_prefix(b"\"")?;
    let is_tag_byte = |byte: u8| byte == 0x21 || (0x23..=0x7e).contains(&byte) || byte >= 0x80;
    let length = quoted
        .iter()
        .position(|&byte| !is_tag_byte(byte))
        .filter(|&at| quoted[at] == b'"')?;
    Some(text.split_at(text.len() - quoted.len() + length + 1))
}

/// Parses an HTTP date in any of its three formats to seconds since 1970. `None` for an invalid
/// date, with which a recipient must ignore the header (RFC 9110 §13.1.3).
fn parse_date(text: &[u8]) -> Option<u64> {
    let date = httpdate::parse_http_date(std::str::from_utf8(text).ok()?).ok()?;
    date.duration_since(SystemTime::UNIX_EPOCH)
        .ok()
        .map(|since| since.as_secs())
}

#[cfg(test)]
mod tests;
