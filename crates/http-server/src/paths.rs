//! Normalization of paths: letters may be percent-encoded, and routes compare texts.

use http::Uri;
use http::uri::{InvalidUri, PathAndQuery};

/// Decodes the letters and digits, `-`, `_` and `~` that are percent-encoded in the path of a URI:
/// they stand for the same there (RFC 3986 §6.2.2.2), and Go's `ServeMux` finds the same routes.
///
/// A full stop stays encoded, so that no segment becomes `.` or `..`.
pub(crate) fn normalize(uri: &mut Uri) {
    if !uri.path().contains('%') {
        return;
    }
    // Decoding unreserved characters keeps a URI valid; if it did not, the request would find no
    // route.
    if let Ok(normalized) = normalized(uri) {
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(normalized);
        *uri = Uri::from_parts(parts).unwrap_or_else(|_| uri.clone());
    }
}

fn normalized(uri: &Uri) -> Result<PathAndQuery, InvalidUri> {
    let mut segments = uri.path().split('%');
    let mut text = segments.next().unwrap_or_default().to_owned();
    for segment in segments {
        let octet = segment
            .as_bytes()
            .first_chunk()
            .and_then(|digits| octet(*digits));
        if let Some(octet) = octet.filter(|octet| is_decoded(*octet)) {
            text.push(octet.into());
            text.push_str(&segment[2..]);
        } else {
            text.push('%');
            text.push_str(segment);
        }
    }
    if let Some(query) = uri.query() {
        text.push('?');
        text.push_str(query);
    }
    PathAndQuery::try_from(text)
}

/// Returns the octet of two hexadecimal digits.
fn octet(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    u8::try_from(high? << 4 | low?).ok()
}

fn is_decoded(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"-_~".contains(&octet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_digits_of_paths_are_decoded_and_nothing_else() {
        for (text, expected) in [
            ("/catalogs/x/api/v1/%61ll", "/catalogs/x/api/v1/all"),
            ("/%63%61talogs/%7e%2D%5f%39?a=%61", "/catalogs/~-_9?a=%61"),
            ("http://a.io:80/%61?", "http://a.io:80/a?"),
            (
                "/%2e%2e/%2E/%2f/%25/%20/%C3%B6/%00",
                "/%2e%2e/%2E/%2f/%25/%20/%C3%B6/%00",
            ),
            ("/%2561", "/%2561"),
            ("/%/%6/%6g/%+1/%zz%", "/%/%6/%6g/%+1/%zz%"),
            ("/%6%31", "/%61"),
            ("/a?b=%61", "/a?b=%61"),
            ("*", "*"),
            ("a.io:443", "a.io:443"),
        ] {
            let mut uri: Uri = text.parse().unwrap();
            normalize(&mut uri);
            assert_eq!(uri.to_string(), expected, "{text}");
        }
    }
}
