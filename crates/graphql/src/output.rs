//! JSON text of single values, appended to a buffer.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Appends a string with its quotes.
pub(super) fn string(out: &mut Vec<u8>, text: &str) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    if needs_escape(bytes) {
        escaped(out, bytes);
    } else {
        out.extend_from_slice(bytes);
    }
    out.push(b'"');
}

/// Appends an integer.
pub(super) fn integer(out: &mut Vec<u8>, value: i64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).expect("a digit is less than 10");
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends bytes as base64url without padding, without quotes.
pub(super) fn base64url(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = out.len();
    out.resize(start + (bytes.len() * 4).div_ceil(3), 0);
    let written = URL_SAFE_NO_PAD.encode_slice(bytes, &mut out[start..]);
    debug_assert_eq!(written, Ok(out.len() - start));
}

/// Returns whether a byte must be escaped. It looks at every byte, because a loop without an early
/// end is vectorised.
fn needs_escape(bytes: &[u8]) -> bool {
    let is_special =
        |byte| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    bytes
        .iter()
        .fold(0, |found, &byte| found | is_special(byte))
        != 0
}

fn escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    for &byte in bytes {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0..0x20 => {
                let high = HEX[usize::from(byte >> 4)];
                let low = HEX[usize::from(byte & 15)];
                out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
            }
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_string_reads_back_as_it_was() {
        let every_escape: String = (0..0x80)
            .map(char::from)
            .chain("é😀\u{2028}".chars())
            .collect();
        for text in ["", "plain", "\"", "a\\b", &every_escape] {
            let mut out = Vec::new();
            string(&mut out, text);
            assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
        }
    }

    #[test]
    fn an_integer_is_written_in_decimal() {
        for value in [0, 7, -1, 42, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            integer(&mut out, value);
            assert_eq!(out, value.to_string().as_bytes());
        }
    }

    #[test]
    fn base64url_is_appended_without_padding() {
        for bytes in [&b""[..], b"a", b"ab", b"abc", &[0xff, 0xfe, 0xfd]] {
            let mut out = b"x".to_vec();
            base64url(&mut out, bytes);
            assert_eq!(out[1..], *URL_SAFE_NO_PAD.encode(bytes).as_bytes());
        }
    }
}
