//! Local check of JSON Web Tokens (RFC 7519): a malformed or expired one is refused without a
//! review. The API server verifies signatures, and all tokens of other kinds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::GeneralPurposeConfig;
use base64::engine::{DecodePaddingMode, GeneralPurpose};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::EXPIRED_TIME;

/// Accepts padding, and bits after the last byte: some decoders do, so that only the API server can
/// refuse such a token.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// The header of a signed token (RFC 7515 §4). Members of other types make it something else.
#[derive(Deserialize)]
struct Header {
    /// Present in every signed token.
    #[serde(rename = "alg")]
    _algorithm: String,
    /// Present in encrypted tokens, of which nothing can be read.
    #[serde(rename = "enc")]
    encryption: Option<String>,
}

/// The claims of a token, as far as they matter here.
#[derive(Deserialize)]
struct Claims {
    /// Seconds since 1970, possibly with a fraction.
    #[serde(rename = "exp")]
    expiry: Option<f64>,
}

/// Returns whether a token is a JSON Web Token that no API server accepts.
pub(crate) fn is_malformed_or_expired(token: &str) -> bool {
    is_malformed_or_expired_at(SystemTime::now(), token)
}

fn is_malformed_or_expired_at(now: SystemTime, token: &str) -> bool {
    let mut parts = token.split('.');
    match parts.next().and_then(object::<Header>) {
        Some(Header {
            encryption: None, ..
        }) => {}
        _ => return false,
    }
    let (Some(claims), Some(signature), None) = (parts.next(), parts.next(), parts.next()) else {
        return true;
    };
    let Some(Claims { expiry }) = object(claims) else {
        return true;
    };
    decode(signature).is_none() || expiry.is_some_and(|expiry| is_expired(now, expiry))
}

/// Returns whether a time is further in the past than the clocks of this machine and of the API
/// server may differ.
fn is_expired(now: SystemTime, expiry: f64) -> bool {
    // The API server judges numbers that are not a time.
    let expiry = Duration::try_from_secs_f64(expiry.max(0.0)).ok();
    let end = expiry.and_then(|expiry| UNIX_EPOCH.checked_add(expiry)?.checked_add(EXPIRED_TIME));
    end.is_some_and(|end| end <= now)
}

/// Parses a part of a token that is a JSON object.
fn object<T: DeserializeOwned>(part: &str) -> Option<T> {
    let text = decode(part)?;
    // A list would be taken for a structure, too.
    if text.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    serde_json::from_slice(&text).ok()
}

/// Decodes base64 in the alphabet for URLs (RFC 7515 §2).
fn decode(part: &str) -> Option<Vec<u8>> {
    LENIENT.decode(part).ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    /// A time at which tokens are judged.
    const NOW: u64 = 1_700_000_000;

    /// A signed token with these claims.
    pub(crate) fn signed(claims: &str) -> String {
        format!(
            "{}.{}.c2lnbmF0dXJl",
            URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256","kid":"x"}"#),
            URL_SAFE_NO_PAD.encode(claims)
        )
    }

    fn is_malformed_or_expired(token: &str) -> bool {
        is_malformed_or_expired_at(UNIX_EPOCH + Duration::from_secs(NOW), token)
    }

    #[test]
    fn a_token_that_expired_or_is_cut_off_is_malformed_or_expired() {
        let expiring = |seconds: u64| signed(&format!(r#"{{"sub":"ann","exp":{seconds}}}"#));
        let last = NOW - EXPIRED_TIME.as_secs();
        assert_eq!(
            [0, last, last + 1, NOW, NOW + 60].map(|time| is_malformed_or_expired(&expiring(time))),
            [true, true, false, false, false]
        );
        assert!(
            is_malformed_or_expired(&signed(r#"{"exp":1.5}"#))
                && is_malformed_or_expired(&signed(r#"{"exp":-5}"#))
        );
        let whole = expiring(NOW + 60);
        for malformed in [
            whole.rsplit_once('.').unwrap().0,
            whole.split_once('.').unwrap().0,
            &format!("{whole}.x"),
            &format!("{whole}!"),
            &format!("{whole}é"),
            &whole.replacen('.', ".!", 1),
            &signed("[]"),
            &signed("{"),
            &signed(r#"{"exp":"soon"}"#),
        ] {
            assert!(is_malformed_or_expired(malformed), "{malformed}");
        }
    }

    #[test]
    fn what_only_the_api_server_can_judge_is_not_void() {
        let encrypted = format!(
            "{}.a.b.c.d",
            URL_SAFE_NO_PAD.encode(r#"{"alg":"RSA-OAEP","enc":"A256GCM"}"#)
        );
        let own_header = format!("{}.e30", URL_SAFE_NO_PAD.encode(r#"{"kind":"opaque"}"#));
        for token in [
            "sha256~Zm9v",
            "abcdef.0123456789abcdef",
            "a.b.c",
            "..",
            "31ada4fd-adec-460c-809a-9e56ceb75269",
            &encrypted,
            &own_header,
            &signed("{}"),
            &signed(r#"{"exp":1e300}"#),
            &signed(r#"{"exp":null}"#),
        ] {
            assert!(!is_malformed_or_expired(token), "{token}");
        }
    }
}
