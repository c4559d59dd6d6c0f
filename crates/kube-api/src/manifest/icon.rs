//! Icons of bundles.

use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, Engine as _};
use fbc::Bundle;
use fbc_read::json::JsonValue;
use fbc_read::manifest::Manifests;

/// Decodes base64 that may lack its padding.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Returns the bytes of the icon of a bundle; `None` if it has none.
pub(super) fn icon(bundle: Bundle<'_>, manifests: &mut Manifests) -> Option<Vec<u8>> {
    encoded_icon(bundle, manifests).map(|encoded| decode(&encoded))
}

/// Returns the base64 of the first icon of the `ClusterServiceVersion` of a bundle. If the bundle
/// has none inline, its package has the icon.
fn encoded_icon(head: Bundle<'_>, manifests: &mut Manifests) -> Option<String> {
    let manifest = head.csv_manifest(manifests);
    let icon = match &manifest {
        Some(text) => {
            let [spec] = JsonValue::new(text).fields(["spec"]).ok()?;
            let [icons] = spec?.fields(["icon"]).ok()?;
            icons?.elements().ok()?.first().copied()
        }
        None => head.package().meta().blob().fields(["icon"]).ok()?[0],
    };
    let [data] = icon?.fields(["base64data"]).ok()?;
    data.map_or(Ok(String::new()), |data| {
        data.text().map(|text| text.decode().into_owned())
    })
    .ok()
}

/// Decodes base64 up to the first invalid character; line breaks are skipped.
fn decode(encoded: &str) -> Vec<u8> {
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let digits = encoded
        .bytes()
        .filter(|byte| !matches!(byte, b'\r' | b'\n'))
        .take_while(is_digit);
    let mut digits: Vec<u8> = digits.collect();
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    LENIENT.decode(digits).unwrap_or_default()
}
