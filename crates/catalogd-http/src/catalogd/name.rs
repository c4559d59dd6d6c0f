//! The catalog name in a path, validated like a Kubernetes object name and with the same error
//! texts.

use axum::http::Uri;
use serving::CatalogName;

use super::parameters::decode;
use super::responses::CatalogdError;

const TOO_LONG: &str = "must be no more than 253 characters";

const NOT_A_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Parses the catalog name of `/catalogs/NAME/…`.
pub(super) fn parse_name(uri: &Uri) -> Result<String, CatalogdError> {
    let segment = uri.path().split('/').nth(2).unwrap_or_default().as_bytes();
    // A segment with an invalid escape contains a percent sign, so it is invalid as a name too.
    let name = decode(segment, false).unwrap_or_else(|| segment.to_vec());
    let mut faults = Vec::new();
    if name.len() > CatalogName::LENGTH {
        faults.push(TOO_LONG);
    }
    if !CatalogName::is_subdomain(&name) {
        faults.push(NOT_A_SUBDOMAIN);
    }
    match String::from_utf8(name) {
        Ok(name) if faults.is_empty() => Ok(name),
        _ => Err(CatalogdError::Name(faults.join("; "))),
    }
}

#[cfg(test)]
mod tests;
