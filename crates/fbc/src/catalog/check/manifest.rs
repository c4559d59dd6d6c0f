//! Inline manifests: what an `olm.bundle.object` holds is JSON or YAML.

use super::Place;
use crate::catalog::{Bundle, JsonValue};
use crate::json::Text;
use crate::manifest::{Data, data, read_manifest};
use crate::problem::{Code, Problem};
use crate::quote::go_quote;
use crate::read::{FileReader, ReadErrorKind, ReadLimits};

/// Tells each manifest that is no YAML. What is no base64 was told already.
pub(super) fn check(bundle: Bundle<'_>, place: Place<'_>, problems: &mut Vec<Problem>) {
    for (at, property) in bundle.properties().enumerate() {
        if property.type_name() != "olm.bundle.object" {
            continue;
        }
        let Some(fault) = property.value().and_then(yaml_fault) else {
            continue;
        };
        let (package, name) = (go_quote(place.package), go_quote(place.bundle));
        let message = format!(
            "read bundle objects: package {package}, bundle {name}: \
             convert bundle object property at index {at} to JSON: {fault}"
        );
        problems.push(place.problem(Code::BundlePropertyMalformed, message));
    }
}

/// Why a manifest is no YAML. Upstream takes one that begins with a brace for JSON and does not look at it.
fn yaml_fault(value: JsonValue<'_>) -> Option<String> {
    if let Data::Base64(text) = data(value.raw()).ok()??
        && begins_with_brace(text)
    {
        return None;
    }
    let mut manifest = Vec::new();
    read_manifest(value.raw(), &mut manifest)?;
    let begins_with = |byte| manifest.trim_ascii_start().first() == Some(&byte);
    // What a directive says is for YAML's own parser; the reader of catalogs refuses it.
    if begins_with(b'{') || begins_with(b'%') {
        return None;
    }
    let mut reader = FileReader::new(ReadLimits::default());
    reader.push(&manifest);
    reader.finish();
    // Only the first document counts.
    let kind = reader.next().err()?.kind;
    let is_fault_of_blobs = matches!(
        kind,
        ReadErrorKind::NotAMapping(_)
            | ReadErrorKind::DuplicateKeys(_)
            | ReadErrorKind::KeyType { .. }
            | ReadErrorKind::Separator(_)
            | ReadErrorKind::TooLarge(_)
            | ReadErrorKind::TooManyIndicators(_)
            | ReadErrorKind::TooManyMembers(_)
    );
    if is_fault_of_blobs {
        return None;
    }
    let fault = kind.to_string();
    let fault = fault.strip_prefix("error converting YAML to JSON: ").unwrap_or(&fault);
    Some(fault.to_owned())
}

/// Whether the first byte that is encoded is a brace: then nothing needs to be decoded.
fn begins_with_brace(data: Text<'_>) -> bool {
    matches!(data.0, [b'"', b'e', b'w'..=b'z' | b'0'..=b'9' | b'+' | b'/', ..])
}
