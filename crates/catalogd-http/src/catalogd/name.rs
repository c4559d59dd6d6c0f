//! The name of a catalog in a path, checked as Kubernetes checks names and refused in its words.

use axum::http::Uri;
use serving::CatalogName;

use super::parameters::decode;
use super::texts::Refusal;

const TOO_LONG: &str = "must be no more than 253 characters";

const NOT_A_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// The name in `/catalogs/NAME/…`, or why it can be none.
pub(super) fn of(uri: &Uri) -> Result<String, Refusal> {
    let segment = uri.path().split('/').nth(2).unwrap_or_default().as_bytes();
    // A segment that cannot be decoded has a percent sign, so it is no name either way.
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
        _ => Err(Refusal::Name(faults.join("; "))),
    }
}

#[cfg(test)]
mod tests;
