//! Proactive negotiation of the content coding of a response (RFC 9110 §12.5.3).
//!
//! `Accept-Encoding` is parsed like the library that catalogd uses does: only the first header
//! counts, and neither `*` nor a weight of `identity` does. The identity coding is therefore always
//! acceptable, and a client that names no supported coding receives an uncompressed response.

use http::HeaderMap;
use http::header::{ACCEPT_ENCODING, IF_NONE_MATCH};

use crate::coding::{Coding, MIN_ENCODED_BYTES};
use crate::preconditions::if_none_match_contains;

/// The codings that a response may use, in the client's order of preference; identity, which is
/// always acceptable, is not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptableCodings(Vec<Coding>);

/// A representation that the client has stored, according to its `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRepresentation {
    /// Coding of the representation; `None` for identity.
    pub coding: Option<Coding>,
    /// Entity tag of the representation, with its quotes.
    pub etag: String,
}

impl AcceptableCodings {
    /// Parses `Accept-Encoding`. The default value accepts identity alone.
    pub fn from_headers(headers: &HeaderMap) -> Self {
        Self(parse_accept_encoding(headers))
    }

    /// Keeps the codings in which the response is available.
    #[must_use]
    pub fn available_in(mut self, is_available: impl Fn(Coding) -> bool) -> Self {
        self.0.retain(|coding| is_available(*coding));
        self
    }

    /// Returns the coding that the client prefers; `None` for identity.
    pub fn preferred(&self) -> Option<Coding> {
        self.0.first().copied()
    }

    /// Returns whether the client accepts a coding.
    pub fn contains(&self, coding: Coding) -> bool {
        self.0.contains(&coding)
    }

    /// Returns the representation that `If-None-Match` says the client has stored, in one of these
    /// codings or in none. `etag` gives the entity tag of each representation, with its quotes. A
    /// response in that coding is a 304 and costs nothing, whichever coding the client prefers.
    pub fn stored_by_client(
        &self,
        headers: &HeaderMap,
        etag: impl Fn(Option<Coding>) -> String,
    ) -> Option<StoredRepresentation> {
        // Most requests have none, and entity tags would be formatted for nothing.
        headers.contains_key(IF_NONE_MATCH).then_some(())?;
        let codings = self.0.iter().copied().map(Some).chain([None]);
        let mut representations = codings.map(|coding| StoredRepresentation {
            coding,
            etag: etag(coding),
        });
        representations.find(|stored| if_none_match_contains(headers, &stored.etag) == Some(true))
    }
}

/// Returns the supported codings that `Accept-Encoding` lists with a weight above zero, in the
/// client's order of preference. Of equal weights the server's preference decides.
fn parse_accept_encoding(headers: &HeaderMap) -> Vec<Coding> {
    let Some(list) = headers
        .get(ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok())
    else {
        return Vec::new();
    };
    let weight = |coding: Coding| {
        let elements = list
            .split(',')
            .map(|element| element.split_once(';').unwrap_or((element, "")));
        let mut named =
            elements.filter(|(name, _)| name.trim().eq_ignore_ascii_case(coding.name()));
        named
            .next_back()
            .map_or(0, |(_, parameters)| parse_weight(parameters))
    };
    let mut codings: Vec<_> = Coding::ALL
        .into_iter()
        .filter(|coding| weight(*coding) > 0)
        .collect();
    codings.sort_by_key(|coding| std::cmp::Reverse(weight(*coding)));
    codings
}

/// Returns whether a response of this length is worth compressing while the client waits for it: it
/// is not so short that little is gained, and not longer than `max_bytes`.
pub fn is_worth_compressing(bytes: usize, max_bytes: usize) -> bool {
    (MIN_ENCODED_BYTES..=max_bytes).contains(&bytes)
}

/// Returns the suffix that distinguishes the entity tags of the codings of one resource: `-gzip`,
/// `-zstd`, or nothing for identity.
pub fn etag_suffix(coding: Option<Coding>) -> &'static str {
    match coding {
        Some(Coding::Zstd) => "-zstd",
        Some(Coding::Gzip) => "-gzip",
        None => "",
    }
}

/// Parses the `q` of the parameters of a coding to thousandths. Without one it is 1000; an invalid
/// one is 0.
fn parse_weight(parameters: &str) -> u16 {
    let weight = |parameter: &str| {
        let (name, value) = parameter.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("q")
            .then(|| value.trim().to_owned())
    };
    let Some(text) = parameters.split(';').find_map(weight) else {
        return 1000;
    };
    let Ok(weight) = text.parse::<f32>() else {
        return 0;
    };
    // `NaN as u16` is 0.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 1000 after the clamp"
    )]
    let thousandths = (weight.clamp(0.0, 1.0) * 1000.0) as u16;
    thousandths
}

#[cfg(test)]
mod tests {
    use Coding::{Gzip, Zstd};

    use super::*;

    fn accept(list: &str) -> AcceptableCodings {
        AcceptableCodings::from_headers(&HeaderMap::from_iter([(
            ACCEPT_ENCODING,
            list.parse().unwrap(),
        )]))
    }

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
        for (list, expected) in cases {
            assert_eq!(accept(list).0, expected, "{list}");
        }
        assert_eq!(AcceptableCodings::from_headers(&HeaderMap::new()).0, []);
    }

    #[test]
    fn of_the_accepted_codings_the_best_available_one_is_preferred() {
        let both = accept("gzip, zstd");
        assert_eq!(both.preferred(), Some(Zstd));
        assert_eq!(
            both.clone()
                .available_in(|coding| coding == Gzip)
                .preferred(),
            Some(Gzip)
        );
        assert_eq!(both.available_in(|_| false).preferred(), None);
    }

    #[test]
    fn what_the_client_has_stored_counts_only_in_a_coding_that_it_still_accepts() {
        let etag = |coding| format!("\"a{}\"", etag_suffix(coding));
        let stored = |list: &str, listed: &str| {
            let headers = HeaderMap::from_iter([(IF_NONE_MATCH, listed.parse().unwrap())]);
            accept(list)
                .stored_by_client(&headers, etag)
                .map(|stored| (stored.coding, stored.etag))
        };
        assert_eq!(
            stored("gzip, zstd", "\"a-gzip\""),
            Some((Some(Gzip), "\"a-gzip\"".to_owned()))
        );
        assert_eq!(
            stored("gzip, zstd", "\"a\""),
            Some((None, "\"a\"".to_owned()))
        );
        assert_eq!(stored("gzip", "\"a-zstd\""), None);
        assert_eq!(
            stored("gzip, zstd", "*"),
            Some((Some(Zstd), "\"a-zstd\"".to_owned()))
        );
        assert_eq!(
            accept("gzip").stored_by_client(&HeaderMap::new(), etag),
            None
        );
    }

    #[test]
    fn a_response_is_worth_compressing_between_its_two_bounds() {
        let lengths = [MIN_ENCODED_BYTES - 1, MIN_ENCODED_BYTES, 5000, 5001];
        assert_eq!(
            lengths.map(|bytes| is_worth_compressing(bytes, 5000)),
            [false, true, true, false]
        );
    }
}
