//! Signatures of events, as [Standard Webhooks](https://www.standardwebhooks.com) has them:
//! HMAC-SHA-256 over the id, the time of the attempt and the body.

use std::fs;
use std::path::Path;

use aws_lc_rs::hmac::{HMAC_SHA256, Key, sign};
use base64::prelude::{BASE64_STANDARD, Engine as _};

use crate::WebhookError;

/// Minimum length of a secret in bytes.
pub const MIN_SECRET_BYTES: usize = 24;

/// Maximum length of a secret in bytes.
pub const MAX_SECRET_BYTES: usize = 512;

/// Prefix of secrets in base64.
const ENCODED_PREFIX: &str = "whsec_";

/// Reads the secret from a file. White space around it does not count.
pub(crate) fn read_secret(path: &Path) -> Result<Key, WebhookError> {
    let text = fs::read_to_string(path).map_err(|source| WebhookError::SecretFile {
        path: path.to_owned(),
        source,
    })?;
    let text = text.trim();
    let secret = match text.strip_prefix(ENCODED_PREFIX) {
        Some(encoded) => BASE64_STANDARD.decode(encoded).unwrap_or_default(),
        None => text.as_bytes().to_owned(),
    };
    if !(MIN_SECRET_BYTES..=MAX_SECRET_BYTES).contains(&secret.len()) {
        return Err(WebhookError::Secret {
            path: path.to_owned(),
        });
    }
    Ok(Key::new(HMAC_SHA256, &secret))
}

/// Returns the value of the header `webhook-signature`.
pub(crate) fn signature(key: &Key, id: &str, seconds: i64, body: &[u8]) -> String {
    let signed = [format!("{id}.{seconds}.").as_bytes(), body].concat();
    let tag = sign(key, &signed);
    format!("v1,{}", BASE64_STANDARD.encode(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_the_specification() {
        // The example of the specification's libraries.
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        fs::write(&file, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
        let key = read_secret(&file).unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let signed = signature(&key, id, 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_secret_has_as_many_bytes_as_the_limits_say() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        let read = |text: &str| {
            fs::write(&file, text).unwrap();
            read_secret(&file).is_ok()
        };
        assert!(!read(&"s".repeat(MIN_SECRET_BYTES - 1)));
        assert!(read(&"s".repeat(MIN_SECRET_BYTES)));
        assert!(read(&"s".repeat(MAX_SECRET_BYTES)));
        assert!(!read(&"s".repeat(MAX_SECRET_BYTES + 1)));
        assert!(!read("whsec_not base64, which it says that it is"));
        let missing = read_secret(&folder.path().join("none"));
        assert!(matches!(missing, Err(WebhookError::SecretFile { .. })));
    }
}
