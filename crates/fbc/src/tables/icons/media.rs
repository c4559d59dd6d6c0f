//! Detects the media type of an image by its signature.

use memchr::memmem;

/// Signatures of images, with their media types.
const SIGNATURES: [(&[u8], &str); 5] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    // The type that browsers give it; the registered one is image/vnd.microsoft.icon.
    (b"\0\0\x01\0", "image/x-icon"),
];

/// The media types of images that browsers show.
pub(super) const MEDIA_TYPES: [&str; 7] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/x-icon",
    "image/webp",
    "image/avif",
    "image/svg+xml",
];

/// Detects the media type of an image that browsers show; `None` for anything else.
pub fn detect_media_type(bytes: &[u8]) -> Option<&'static str> {
    let signature = SIGNATURES
        .iter()
        .find(|(signature, _)| bytes.starts_with(signature));
    match signature {
        Some((_, name)) => Some(name),
        _ if bytes.starts_with(b"RIFF") && part(bytes, 8) == Some(b"WEBP") => Some("image/webp"),
        _ if part(bytes, 4) == Some(b"ftyp")
            && matches!(part(bytes, 8), Some(b"avif" | b"avis")) =>
        {
            Some("image/avif")
        }
        _ => is_svg(bytes).then_some("image/svg+xml"),
    }
}

/// Returns the four bytes at an offset.
fn part(bytes: &[u8], at: usize) -> Option<&[u8; 4]> {
    bytes.get(at..)?.first_chunk()
}

/// Tells whether the bytes are XML whose root element is `svg`, with any prefix. Nothing after the
/// name is checked.
fn is_svg(bytes: &[u8]) -> bool {
    let Some(tag) = root(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)) else {
        return false;
    };
    let len = tag
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'));
    len.is_some_and(|len| &tag[..len] == b"svg" || tag[..len].ends_with(b":svg"))
}

/// Returns the text after the `<` of the root element.
fn root(xml: &[u8]) -> Option<&[u8]> {
    let mut rest = xml.trim_ascii_start();
    loop {
        rest = if let Some(comment) = rest.strip_prefix(b"<!--") {
            after(comment, b"-->")?
        } else if let Some(instruction) = rest.strip_prefix(b"<?") {
            after(instruction, b"?>")?
        } else if let Some(doctype) = rest.strip_prefix(b"<!DOCTYPE") {
            after_doctype(doctype)?
        } else {
            return rest.strip_prefix(b"<");
        };
        rest = rest.trim_ascii_start();
    }
}

fn after<'t>(text: &'t [u8], end: &[u8]) -> Option<&'t [u8]> {
    memmem::find(text, end).map(|at| &text[at + end.len()..])
}

/// Returns the text after a document type, which may have declarations in brackets.
fn after_doctype(mut rest: &[u8]) -> Option<&[u8]> {
    let mut is_inside = false;
    loop {
        let at = rest
            .iter()
            .position(|byte| matches!(byte, b'"' | b'\'' | b'[' | b']' | b'<' | b'>'))?;
        let byte = rest[at];
        let behind = &rest[at + 1..];
        rest = match byte {
            b'"' | b'\'' => after(behind, &[byte])?,
            b'<' if behind.starts_with(b"!--") => after(behind, b"-->")?,
            b'>' if !is_inside => return Some(behind),
            _ => {
                is_inside = if byte == b'[' {
                    true
                } else {
                    is_inside && byte != b']'
                };
                behind
            }
        };
    }
}
