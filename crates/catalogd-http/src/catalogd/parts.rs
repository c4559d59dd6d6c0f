//! Several parts of a content in one body: `multipart/byteranges`, RFC 9110 §14.6, in Go's spelling.

use std::ops::Range;

use axum::body::Bytes;
use axum::http::HeaderValue;
use fbc::Digest;
use sha2::{Digest as _, Sha256};

use super::super::body::Slices;

/// The value of `Content-Range` for a part of a content of `size` bytes.
pub(super) fn content_range(part: &Range<usize>, size: usize) -> HeaderValue {
    header(&format!("bytes {}-{}/{size}", part.start, part.end - 1))
}

/// The value of `Content-Range` where no part can be had of a content of `size` bytes.
pub(super) fn no_range(size: usize) -> HeaderValue {
    header(&format!("bytes */{size}"))
}

/// What stands between parts: made from the tag, so that equal requests have equal answers. A content in which it
/// stands would have to contain what is made from its own digest.
pub(super) fn boundary(tag: &str) -> String {
    let mut boundary = Digest::new(Sha256::digest(tag).into()).hex();
    // Go has 60 digits.
    boundary.truncate(60);
    boundary
}

pub(super) fn content_type(boundary: &str) -> HeaderValue {
    header(&format!("multipart/byteranges; boundary={boundary}"))
}

/// The parts with what stands around them.
pub(super) fn body(content: Bytes, parts: &[Range<usize>], boundary: &str, media_type: &str) -> Slices {
    let size = content.len();
    let mut slices = Slices::of(content);
    let mut before = "";
    for part in parts {
        let range = format!("Content-Range: bytes {}-{}/{size}", part.start, part.end - 1);
        let head = format!("{before}--{boundary}\r\n{range}\r\nContent-Type: {media_type}\r\n\r\n");
        slices.push_own(head.into());
        slices.push(part.clone());
        before = "\r\n";
    }
    slices.push_own(format!("\r\n--{boundary}--\r\n").into());
    slices
}

fn header(text: &str) -> HeaderValue {
    HeaderValue::try_from(text).expect("it has visible characters only")
}
