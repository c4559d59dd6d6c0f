//! Which codings a client accepts: RFC 9110 §12.5.3, as the library that catalogd uses reads it.
//!
//! That library looks at the first header only, and neither at `*` nor at the weight of `identity`. Whoever names no
//! coding gets what is not compressed, which is always acceptable: so every view reads the header in this one way. It
//! does not know what is there in which coding.

use http::HeaderMap;
use http::header::ACCEPT_ENCODING;

use super::Coding;

/// The codings a client accepts, the best first; of equal weights the one that we prefer.
pub fn parse_accept_encoding(headers: &HeaderMap) -> Vec<Coding> {
    let Some(text) = headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()) else { return Vec::new() };
    let weight = |coding: Coding| {
        let elements = text.split(',').map(|element| element.split_once(';').unwrap_or((element, "")));
        let mut weights = elements.filter(|(name, _)| name.trim().eq_ignore_ascii_case(coding.name()));
        weights.next_back().map_or(0, |(_, parameters)| weight(parameters))
    };
    let mut codings: Vec<_> = Coding::ALL.into_iter().filter(|coding| weight(*coding) > 0).collect();
    codings.sort_by_key(|coding| std::cmp::Reverse(weight(*coding)));
    codings
}

/// The `q` of some parameters, in thousandths; a weight that cannot be read is none.
fn weight(parameters: &str) -> u16 {
    let parameter = |parameter: &str| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("q").then(|| value.trim().to_owned())
    };
    let Some(text) = parameters.split(';').find_map(parameter) else { return 1000 };
    let Ok(weight) = text.parse::<f32>() else { return 0 };
    // In range after the clamp; what is no number becomes 0.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 1000")]
    let thousandths = (weight.clamp(0.0, 1.0) * 1000.0) as u16;
    thousandths
}

#[cfg(test)]
mod tests {
    use Coding::{Gzip, Zstd};

    use super::*;

    #[test]
    fn the_best_coding_comes_first() {
        let cases: [(&str, &[Coding]); 14] = [
            ("", &[]),
            ("identity", &[]),
            ("br, deflate", &[]),
            ("gzip", &[Gzip]),
            ("GZIP", &[Gzip]),
            ("zstd", &[Zstd]),
            ("gzip, zstd", &[Zstd, Gzip]),
            ("gzip,zstd;q=0.9", &[Gzip, Zstd]),
            ("gzip;q=0.5, zstd;q=1.0", &[Zstd, Gzip]),
            ("gzip ; q=0.001", &[Gzip]),
            ("gzip;q=0, zstd;q=0", &[]),
            ("gzip;q=5", &[Gzip]),
            ("gzip;q=abc, gzip;q=NaN", &[]),
            ("*, identity;q=0", &[]),
        ];
        for (text, expected) in cases {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, text.parse().unwrap())]);
            assert_eq!(parse_accept_encoding(&headers), expected, "{text}");
        }
        assert_eq!(parse_accept_encoding(&HeaderMap::new()), []);
    }
}
