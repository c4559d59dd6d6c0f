//! Validates inline manifests: the data of an `olm.bundle.object` must be JSON or YAML.

use fbc_grammar::go_quote;
use fbc_read::json::{JsonText, JsonValue};
use fbc_read::manifest::{EncodedBytes, read_data, read_manifest};
use fbc_read::problem::{ProblemCode, ProblemCollector};
use fbc_read::{FileReader, ReadErrorKind, ReadLimits};

use super::location::ProblemLocation;
use crate::bundle::Bundle;

/// Reports each manifest that is not YAML. Invalid base64 is reported when the value is decoded.
pub(super) fn check(
    bundle: Bundle<'_>,
    location: ProblemLocation<'_>,
    problems: &mut ProblemCollector,
) {
    for (at, property) in bundle.properties().enumerate() {
        if property.type_name() != "olm.bundle.object" {
            continue;
        }
        let Some(error) = property.value().and_then(yaml_error) else {
            continue;
        };
        problems.add(ProblemCode::BundlePropertyMalformed, || {
            let package = go_quote(location.package);
            let name = go_quote(location.bundle);
            let message = format!(
                "read bundle objects: package {package}, bundle {name}: \
                 convert bundle object property at index {at} to JSON: {error}"
            );
            location.problem(ProblemCode::BundlePropertyMalformed, message)
        });
    }
}

/// Returns why a manifest is not YAML. Upstream takes one that begins with a brace for JSON and
/// does not parse it.
fn yaml_error(value: JsonValue<'_>) -> Option<String> {
    if let EncodedBytes::Base64(text) = read_data(value.raw()).ok()??
        && begins_with_brace(text)
    {
        return None;
    }
    let mut manifest = Vec::new();
    read_manifest(value.raw(), &mut manifest)?;
    let begins_with = |byte| manifest.trim_ascii_start().first() == Some(&byte);
    // Upstream's YAML parser accepts directives; the reader of catalogs does not.
    if begins_with(b'{') || begins_with(b'%') {
        return None;
    }
    let mut reader = FileReader::new(ReadLimits::default());
    reader.push(&manifest);
    reader.finish();
    // Only the first document counts.
    let kind = reader.next().err()?.kind;
    let is_blob_rule = matches!(
        kind,
        ReadErrorKind::NotAMapping(_)
            | ReadErrorKind::DuplicateKeys(_)
            | ReadErrorKind::KeyType { .. }
            | ReadErrorKind::Separator(_)
            | ReadErrorKind::TooLarge(_)
            | ReadErrorKind::TooManyIndicators(_)
            | ReadErrorKind::TooManyMembers(_)
    );
    if is_blob_rule {
        return None;
    }
    let error = kind.to_string();
    let error = error
        .strip_prefix("error converting YAML to JSON: ")
        .unwrap_or(&error);
    Some(error.to_owned())
}

/// Tells whether the first encoded byte is a brace, in which case nothing needs to be decoded.
fn begins_with_brace(data: JsonText<'_>) -> bool {
    matches!(
        data.raw(),
        [b'"', b'e', b'w'..=b'z' | b'0'..=b'9' | b'+' | b'/', ..]
    )
}
