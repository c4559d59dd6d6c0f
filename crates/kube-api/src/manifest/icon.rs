//! The icon of a package: that of its default channel.

use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use base64::engine::{DecodePaddingMode, Engine as _};
use fbc::{Bundle, Package};
use fbc_read::json::JsonValue;
use fbc_read::manifest::Manifests;

/// Base64 of which only a part may be valid.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Returns the bytes of the icon; `None` if the package has none.
pub(crate) fn icon(package: Package<'_>, manifests: &mut Manifests) -> Option<Vec<u8>> {
    let channels = super::shown_channels(package, manifests);
    let head = channels[super::default_channel(package, &channels)?].head;
    encoded_icon(head, manifests).map(|encoded| decode(&encoded))
}

/// Returns the base64 of the first icon of a bundle's `ClusterServiceVersion`, or of its package
/// where there is none among its manifests.
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

/// Decodes base64 up to the first character that is none; line breaks do not count.
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
