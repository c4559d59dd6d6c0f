//! Validators of a representation, by which a later request asks only for changes (RFC 9110 §8.8).

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Url;
use reqwest::header::{CACHE_CONTROL, ETAG, HeaderMap, HeaderName, LAST_MODIFIED};
use serde::{Deserialize, Serialize};

use crate::via;

/// Maximum length in bytes of a validator. Longer ones are ignored.
pub const MAX_VALIDATOR_BYTES: usize = 1024;

/// Maximum time for which `Cache-Control` delays the next request.
pub const MAX_FRESH: Duration = Duration::from_hours(1);

/// Age of a download after which the next request is unconditional, in seconds: a server may repeat
/// an entity tag for other bytes.
const MAX_AGE_SECONDS: i64 = 24 * 60 * 60;

/// Validators of a downloaded representation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Validators {
    /// URL that sent the representation, after redirects, without its query.
    pub(crate) url: String,
    /// Entity tag, weak or strong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) etag: Option<String>,
    /// Modification time as the server wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last_modified: Option<String>,
    /// Ids of the servers that it came through, nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) via: Vec<String>,
    /// Time of the download in seconds since 1970.
    at: i64,
}

impl Validators {
    /// Returns those of a response with a representation.
    pub(crate) fn from_response(url: &Url, headers: &HeaderMap) -> Self {
        Self {
            url: without_query(url),
            etag: text(headers, &ETAG),
            last_modified: text(headers, &LAST_MODIFIED),
            via: via::parse(headers),
            at: Timestamp::now().as_second(),
        }
    }

    /// Parses what [`Self::to_text`] returned.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns the validators as one line of text.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns whether they may still be used: a representation is downloaded once a day even if the
    /// server says that it is unchanged.
    pub fn is_usable(&self) -> bool {
        (Timestamp::now().as_second() - self.at).abs() < MAX_AGE_SECONDS
    }

    /// Returns the same validators of a representation that came through other servers.
    pub(crate) fn with_via(&self, via: Vec<String>) -> Self {
        Self {
            via,
            ..self.clone()
        }
    }

    /// Returns the ids of the servers that the representation came through, nearest first.
    pub fn via(&self) -> &[String] {
        &self.via
    }

    /// Returns the entity tag if it is strong: equal tags prove equal bytes.
    pub fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| etag.starts_with('"'))
    }
}

/// Returns the time for which a response is fresh: `max-age` of `Cache-Control`, bounded by
/// [`MAX_FRESH`].
pub(crate) fn fresh_for(headers: &HeaderMap) -> Option<Duration> {
    let directives = headers.get_all(CACHE_CONTROL).iter();
    let directives = directives.filter_map(|value| value.to_str().ok());
    let mut directives = directives.flat_map(|value| value.split(','));
    let seconds = directives.find_map(|directive| {
        let (name, value) = directive.trim().split_once('=')?;
        let is_max_age = name.eq_ignore_ascii_case("max-age");
        value.trim_matches('"').parse().ok().filter(|_| is_max_age)
    })?;
    Some(Duration::from_secs(seconds).min(MAX_FRESH))
}

/// Returns a URL without its query, which may be a secret or change with each redirect.
pub(crate) fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    (value.len() <= MAX_VALIDATOR_BYTES).then(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn headers(fields: &[(HeaderName, &str)]) -> HeaderMap {
        let fields = fields.iter();
        let fields =
            fields.map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
        fields.collect()
    }

    #[test]
    fn validators_are_kept_as_text_unless_they_are_too_long() {
        let url = Url::parse("https://h/a?b").unwrap();
        let longest = format!("\"{}\"", "a".repeat(MAX_VALIDATOR_BYTES - 2));
        let found = Validators::from_response(&url, &headers(&[(ETAG, &longest)]));
        assert_eq!(
            (&*found.url, found.etag.as_deref()),
            ("https://h/a", Some(&*longest))
        );
        assert_eq!(Validators::parse(&found.to_text()), Some(found));
        let longer = headers(&[(ETAG, &format!("{longest} "))]);
        let longer = Validators::from_response(&url, &longer);
        assert_eq!(longer.etag, None);
    }

    #[test]
    fn a_weak_entity_tag_proves_nothing_and_a_day_is_the_longest_trust() {
        let url = Url::parse("https://h/a").unwrap();
        let of = |etag| Validators::from_response(&url, &headers(&[(ETAG, etag)]));
        assert_eq!(of("\"a\"").strong_etag(), Some("\"a\""));
        assert_eq!(of("W/\"a\"").strong_etag(), None);
        let mut old = of("\"a\"");
        assert!(old.is_usable());
        old.at -= MAX_AGE_SECONDS;
        assert!(!old.is_usable());
    }

    #[test]
    fn a_response_is_fresh_for_an_hour_at_most() {
        let of = |value| fresh_for(&headers(&[(CACHE_CONTROL, value)]));
        assert_eq!(of("public, max-age=600"), Some(Duration::from_mins(10)));
        assert_eq!(of("max-age=86400"), Some(MAX_FRESH));
        assert_eq!(of("s-maxage=600"), None);
        assert_eq!(of("max-age=soon"), None);
    }
}
