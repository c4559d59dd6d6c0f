//! Bodies with several ranges of a content: `multipart/byteranges` (RFC 9110 §14.6), spelled as Go
//! writes them.

use std::ops::Range;

use axum::body::Bytes;
use axum::http::HeaderValue;
use fbc_grammar::Digest;
use sha2::{Digest as _, Sha256};

use super::super::body::Slices;

/// Returns the value of `Content-Range` for one range of a content of `size` bytes.
pub(super) fn content_range(part: &Range<usize>, size: usize) -> HeaderValue {
    header(&format!("bytes {}-{}/{size}", part.start, part.end - 1))
}

/// Returns the value of `Content-Range` for an unsatisfiable range of a content of `size` bytes.
pub(super) fn unsatisfied_range(size: usize) -> HeaderValue {
    header(&format!("bytes */{size}"))
}

/// Derives the boundary between parts from the entity tag, so that equal requests get equal
/// responses. A content that contains it would have to contain a hash of its own digest.
pub(super) fn boundary(tag: &str) -> String {
    let mut boundary = Digest::new(Sha256::digest(tag).into()).hex();
    // Go's boundaries have 60 digits.
    boundary.truncate(60);
    boundary
}

/// Returns the value of `Content-Type` for parts with this boundary.
pub(super) fn content_type(boundary: &str) -> HeaderValue {
    header(&format!("multipart/byteranges; boundary={boundary}"))
}

/// Assembles the body: the ranges, each with its boundary and headers before it.
pub(super) fn body(
    content: Bytes,
    parts: &[Range<usize>],
    boundary: &str,
    media_type: &str,
) -> Slices {
    let size = content.len();
    let mut slices = Slices::new(content);
    let mut line_break = "";
    for part in parts {
        let range = format!(
            "Content-Range: bytes {}-{}/{size}",
            part.start,
            part.end - 1
        );
        let head =
            format!("{line_break}--{boundary}\r\n{range}\r\nContent-Type: {media_type}\r\n\r\n");
        slices.push_inserted(head.into());
        slices.push(part.clone());
        line_break = "\r\n";
    }
    slices.push_inserted(format!("\r\n--{boundary}--\r\n").into());
    slices
}

fn header(text: &str) -> HeaderValue {
    HeaderValue::try_from(text).expect("the text has visible ASCII characters only")
}
