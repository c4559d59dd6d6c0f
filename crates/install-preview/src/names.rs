//! Names of the objects that an install creates.

use sha2::{Digest as _, Sha224};

use crate::csv::CsvPermission;
use crate::go_json;

/// Length up to which upstream cuts names; with the dash between both parts, a name may be one
/// longer.
const MAX_NAME_BYTES: usize = 63;

/// Names for the webhooks of one deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebhookNames {
    /// Service in front of the webhooks.
    pub(crate) service: String,
    /// Certificate, and the secret that it is kept in.
    pub(crate) certificate: String,
}

impl WebhookNames {
    pub(crate) fn new(deployment: &str) -> Self {
        let service = join(&deployment.replace('.', "-"), "service");
        let certificate = join(&service, "cert");
        Self {
            service,
            certificate,
        }
    }
}

/// Joins two parts of a name. The first one is cut where both are too long.
pub(crate) fn join(base: &str, suffix: &str) -> String {
    let mut base = base.as_bytes();
    if base.len() + suffix.len() > MAX_NAME_BYTES {
        base = &base[..MAX_NAME_BYTES.saturating_sub(suffix.len() + 1)];
    }
    // A cut within a character leaves half of it, which JSON replaces.
    format!("{}-{suffix}", String::from_utf8_lossy(base))
}

/// Returns the name of the role and binding for a permission: unique by its content.
pub(crate) fn unique(base: &str, permission: &CsvPermission) -> String {
    let mut json = go_json::to_string(permission);
    json.push('\n');
    join(base, &base36(&Sha224::digest(json)))
}

/// Writes a number, whose bytes begin with the most significant, in base 36.
fn base36(bytes: &[u8]) -> String {
    let mut number = bytes.to_vec();
    let mut digits = Vec::new();
    while number.iter().any(|byte| *byte != 0) {
        let mut rest = 0_u32;
        for byte in &mut number {
            let value = rest * 256 + u32::from(*byte);
            *byte = u8::try_from(value / 36).expect("a quotient is below the base");
            rest = value % 36;
        }
        digits.push(char::from_digit(rest, 36).expect("a rest is below 36"));
    }
    digits.iter().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::RbacRule;

    #[test]
    fn the_first_part_is_cut_to_one_character_more_than_fits() {
        assert_eq!(join("a", "b"), "a-b");
        let base = "x".repeat(60);
        assert_eq!(join(&base[..56], "service").len(), 64);
        assert_eq!(join(&base, "service"), format!("{}-service", &base[..55]));
    }

    #[test]
    fn a_number_is_written_without_leading_zeros() {
        for (bytes, text) in [
            (&[0, 0, 35][..], "z"),
            (&[0, 36], "10"),
            (&[1, 0, 0], "1ekg"),
            (&[0], ""),
        ] {
            assert_eq!(base36(bytes), text);
        }
    }

    #[test]
    fn the_json_of_a_permission_is_that_of_go() {
        let permission = CsvPermission {
            service_account: "a<b".to_owned(),
            rules: Some(vec![RbacRule {
                resources: vec!["pods".to_owned()],
                non_resource_urls: vec!["/x&y".to_owned()],
                ..RbacRule::default()
            }]),
        };
        assert_eq!(
            go_json::to_string(&permission),
            r#"{"serviceAccountName":"a\u003cb","rules":[{"verbs":null,"resources":["pods"],"nonResourceURLs":["/x\u0026y"]}]}"#
        );
    }
}
