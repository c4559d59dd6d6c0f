//! Inline manifests: the bytes that an `olm.bundle.object` holds, as upstream's decoder takes them.

use std::borrow::Cow;

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::prelude::Engine;

use crate::json::{Cursor, Fault, Kind, Text, is_field};

/// As Go reads base64: padding must be there, and the bits left over may be anything.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true),
);

/// What the member `data` of an `olm.bundle.object` may be.
pub(super) enum Data<'a> {
    /// Base64, with or without line breaks.
    Base64(Text<'a>),
    /// A list of bytes.
    Bytes(Vec<u8>),
}

/// Adds the manifest of the value of an `olm.bundle.object`, which is JSON or YAML, to `into`; `None`, with nothing
/// added that means anything, when the value is no object with base64 or a list of bytes.
pub fn read_manifest(value: &[u8], into: &mut Vec<u8>) -> Option<()> {
    match data(value).ok()?? {
        Data::Bytes(bytes) => into.extend(bytes),
        Data::Base64(text) => {
            let mut base64 = text.decode().ok()?;
            if base64.contains(['\r', '\n']) {
                base64 = Cow::Owned(base64.replace(['\r', '\n'], ""));
            }
            BASE64.decode_vec(base64.as_bytes(), into).ok()?;
        }
    }
    Some(())
}

/// The member `data`, when there is one.
pub(super) fn data(value: &[u8]) -> Result<Option<Data<'_>>, Fault> {
    let mut data = None;
    Cursor::new(value).object(|cursor, key| {
        match cursor.kind()? {
            Kind::String if is_field(key, "data") => data = Some(Data::Base64(cursor.text()?)),
            Kind::Array if is_field(key, "data") => data = Some(Data::Bytes(bytes(cursor)?)),
            _ => drop(cursor.value()?),
        }
        Ok::<_, Fault>(())
    })?;
    Ok(data)
}

fn bytes(cursor: &mut Cursor<'_>) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    cursor.array(|cursor| {
        let number = std::str::from_utf8(cursor.value()?.0).map_err(|_| Fault::Broken)?;
        bytes.push(number.parse().map_err(|_| Fault::Mismatch)?);
        Ok::<_, Fault>(())
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(value: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        read_manifest(value.as_bytes(), &mut bytes).map(|()| bytes)
    }

    #[test]
    fn a_manifest_is_read_as_go_reads_bytes() {
        for value in [
            r#"{"data":"YTog"}"#,
            r#"{"Data":"YT\nog\r\n"}"#,
            r#"{"data":[97,58,32]}"#,
            r#"{"data":null,"data":"YTog","other":1}"#,
        ] {
            assert_eq!(manifest(value).as_deref(), Some(b"a: ".as_slice()), "{value}");
        }
        assert_eq!(manifest(r#"{"data":"YR=="}"#).as_deref(), Some(b"a".as_slice()), "leftover bits");
    }

    #[test]
    fn what_is_neither_base64_nor_bytes_is_no_manifest() {
        for value in [r#"{"data":"YQ"}"#, r#"{"data":"-_-_"}"#, r#"{"data":[256]}"#, r#"{"data":1}"#, "{}", "[]", "1"] {
            assert_eq!(manifest(value), None, "{value}");
        }
    }
}
