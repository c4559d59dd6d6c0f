//! Preconditions of a request: RFC 9110 §13, in the order of §13.2.2 and as Go's `net/http` answers them.
//!
//! Every view asks here, so that a list of tags is read in one way. It knows validators and headers, not what they
//! belong to.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, InvalidHeaderValue};
use http::{HeaderMap, HeaderName, HeaderValue};
use http_body::{Body, Frame};

/// What tells one state of a representation from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validators {
    /// A strong entity tag, with its quotes.
    pub tag: String,
    /// When the content last changed, in whole seconds since 1970; absent when that is unknown.
    pub modified: Option<u64>,
}

/// What the preconditions of a request come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They hold, or there are none.
    Proceed,
    /// The client has this state already: 304.
    NotModified,
    /// The client wants another state: 412.
    Failed,
}

/// How two tags are compared: RFC 9110 §8.8.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Strong,
    Weak,
}

/// Nothing, of a length that is not told: the headers say of it just what they are told to say.
#[derive(Debug)]
pub struct EmptyBody;

impl Validators {
    /// The tag of a representation whose text needs no escapes.
    pub fn new(tag: &str, modified: Option<u64>) -> Self {
        Self { tag: format!("\"{tag}\""), modified }
    }

    /// The tag as the value of `ETag`.
    pub fn tag_value(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        HeaderValue::try_from(&self.tag)
    }

    /// The value of `Last-Modified`.
    pub fn modified_value(&self) -> Option<HeaderValue> {
        let at = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(self.modified?))?;
        HeaderValue::try_from(httpdate::fmt_http_date(at)).ok()
    }

    /// What the preconditions of a `GET` or `HEAD` come to.
    pub fn judge(&self, headers: &HeaderMap) -> Verdict {
        let holds = self.matches(headers).or_else(|| self.is_unmodified(headers));
        if holds == Some(false) {
            return Verdict::Failed;
        }
        match self.is_known(headers).or_else(|| self.is_unmodified_since(headers, &IF_MODIFIED_SINCE)) {
            Some(true) => Verdict::NotModified,
            _ => Verdict::Proceed,
        }
    }

    /// Whether a part of the representation is of use to the client of a `GET` or `HEAD`: `If-Range`.
    pub fn allows_range(&self, headers: &HeaderMap) -> bool {
        let Some(condition) = first(headers, &IF_RANGE) else { return true };
        if let Some((tag, _)) = next_tag(condition) {
            return is_same(tag, &self.tag, Comparison::Strong);
        }
        seconds(condition).is_some_and(|at| self.modified == Some(at))
    }

    /// Whether one of the tags of `If-None-Match` is this one; nothing when there is no such header.
    pub fn is_known(&self, headers: &HeaderMap) -> Option<bool> {
        is_known(headers, &self.tag)
    }

    fn matches(&self, headers: &HeaderMap) -> Option<bool> {
        is_among(headers, &IF_MATCH, &self.tag, Comparison::Strong)
    }

    fn is_unmodified(&self, headers: &HeaderMap) -> Option<bool> {
        self.is_unmodified_since(headers, &IF_UNMODIFIED_SINCE)
    }

    fn is_unmodified_since(&self, headers: &HeaderMap, name: &HeaderName) -> Option<bool> {
        let since = seconds(first(headers, name)?)?;
        Some(self.modified? <= since)
    }
}

impl Body for EmptyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }
}

/// Whether one of the tags of `If-None-Match` is this one, which has its quotes; nothing when there is no such header.
pub fn is_known(headers: &HeaderMap, tag: &str) -> Option<bool> {
    is_among(headers, &IF_NONE_MATCH, tag, Comparison::Weak)
}

/// The value of a header that has one, which is the first when it is repeated, as Go reads it.
pub fn first<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h [u8]> {
    headers.get(name).map(HeaderValue::as_bytes).filter(|value| !value.is_empty())
}

/// Whether a tag is in a list of tags. What follows something that is no tag is not looked at.
fn is_among(headers: &HeaderMap, name: &HeaderName, tag: &str, comparison: Comparison) -> Option<bool> {
    let mut lists = headers.get_all(name).iter().map(HeaderValue::as_bytes).filter(|list| !list.is_empty()).peekable();
    lists.peek()?;
    Some(lists.any(|mut list| {
        loop {
            list = list.trim_ascii_start();
            match list.first() {
                Some(b',') => list = &list[1..],
                Some(b'*') => return true,
                _ => {
                    let Some((listed, rest)) = next_tag(list) else { return false };
                    if is_same(listed, tag, comparison) {
                        return true;
                    }
                    list = rest;
                }
            }
        }
    }))
}

fn is_same(listed: &[u8], tag: &str, comparison: Comparison) -> bool {
    let listed = if comparison == Comparison::Weak { listed.strip_prefix(b"W/").unwrap_or(listed) } else { listed };
    listed == tag.as_bytes()
}

/// The tag that a text begins with, and the rest.
fn next_tag(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let quoted = text.strip_prefix(b"W/").unwrap_or(text).strip_prefix(b"\"")?;
    let is_tag_byte = |byte: u8| byte == 0x21 || (0x23..=0x7e).contains(&byte) || byte >= 0x80;
    let length = quoted.iter().position(|&byte| !is_tag_byte(byte)).filter(|&at| quoted[at] == b'"')?;
    Some(text.split_at(text.len() - quoted.len() + length + 1))
}

/// A date in one of the three forms of HTTP, in seconds since 1970. What is none counts as no header: §13.1.3.
fn seconds(text: &[u8]) -> Option<u64> {
    let at = httpdate::parse_http_date(std::str::from_utf8(text).ok()?).ok()?;
    at.duration_since(SystemTime::UNIX_EPOCH).ok().map(|since| since.as_secs())
}

#[cfg(test)]
mod tests;
