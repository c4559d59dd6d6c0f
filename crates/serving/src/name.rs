//! Names of catalogs.

use std::fmt;

/// The name of a catalog: a DNS-1123 subdomain, as Kubernetes names its objects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CatalogName(String);

/// An error of parsing the name of a catalog.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` cannot name a catalog: a name has up to 253 lower-case letters, digits, `-` and `.`, and each part between \
     dots begins and ends with a letter or a digit"
)]
pub struct CatalogNameError(String);

impl CatalogName {
    /// Maximum length of a name in bytes.
    pub const LENGTH: usize = 253;

    /// Creates a name, if the text is one.
    pub fn new(text: &str) -> Result<Self, CatalogNameError> {
        let valid = text.len() <= Self::LENGTH && Self::is_subdomain(text.as_bytes());
        if valid {
            Ok(Self(text.to_owned()))
        } else {
            Err(CatalogNameError(text.to_owned()))
        }
    }

    /// Returns whether a text is a name, apart from its length.
    pub fn is_subdomain(text: &[u8]) -> bool {
        let is_alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_label = |label: &[u8]| {
            label.first().is_some_and(is_alphanumeric)
                && label.last().is_some_and(is_alphanumeric)
                && label
                    .iter()
                    .all(|byte| is_alphanumeric(byte) || *byte == b'-')
        };
        text.split(|byte| *byte == b'.').all(is_label)
    }

    /// Returns the text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CatalogName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_dns_1123_subdomain() {
        let longest = "a".repeat(CatalogName::LENGTH);
        for name in [
            "a",
            "0",
            "community",
            "community-v4.18-yaml",
            "a.b-c.d",
            &longest,
        ] {
            assert_eq!(CatalogName::new(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn anything_else_is_no_name() {
        let too_long = "a".repeat(CatalogName::LENGTH + 1);
        for name in [
            "", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b", "A", "a_b", "a b", "é", "a/b",
            &too_long,
        ] {
            assert_eq!(
                CatalogName::new(name),
                Err(CatalogNameError(name.to_owned())),
                "{name}"
            );
        }
    }
}
