//! Opaque keys: the encoding of ids and cursors.
//!
//! A key is a tag followed by length-prefixed parts, encoded as base64url. An absent part differs
//! from an empty one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::output;

/// First byte of a key: the type of object, or the connection and its order, so that a cursor of
/// another order is detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyTag(u8);

/// A decoded key.
pub(super) struct OpaqueKey {
    bytes: Vec<u8>,
}

/// Tags of ids.
impl KeyTag {
    pub(super) const CATALOG: Self = Self(b'C');
    pub(super) const PACKAGE: Self = Self(b'P');
    pub(super) const CHANNEL: Self = Self(b'H');
    pub(super) const BUNDLE: Self = Self(b'B');
    pub(super) const ENTRY: Self = Self(b'E');
    pub(super) const ICON: Self = Self(b'I');
    pub(super) const METADATA: Self = Self(b'M');
}

/// Tags of cursors; of two tags the first is for the ascending order and the second for the
/// descending order.
impl KeyTag {
    pub(super) const PACKAGES_BY_NAME: [Self; 2] = [Self(b'p'), Self(b'q')];
    pub(super) const PACKAGES_BY_RELEVANCE: [Self; 2] = [Self(b's'), Self(b't')];
    pub(super) const PACKAGES_BY_CREATION: [Self; 2] = [Self(b'u'), Self(b'v')];
    pub(super) const PACKAGES_BY_DISPLAY_NAME: [Self; 2] = [Self(b'w'), Self(b'x')];
    pub(super) const PACKAGES_BY_CAPABILITY_LEVEL: [Self; 2] = [Self(b'y'), Self(b'z')];
    /// By package, then highest version first.
    pub(super) const BUNDLES: Self = Self(b'b');
    pub(super) const BUNDLES_BY_VERSION: [Self; 2] = [Self(b'c'), Self(b'd')];
    pub(super) const BUNDLES_BY_NAME: [Self; 2] = [Self(b'e'), Self(b'f')];
    pub(super) const BUNDLES_BY_CREATION: [Self; 2] = [Self(b'g'), Self(b'h')];
    /// In catalog order.
    pub(super) const METAS: Self = Self(b'm');
    /// In catalog order.
    pub(super) const PROBLEMS: Self = Self(b'r');
    /// Latest first.
    pub(super) const PACKAGE_CHANGES: Self = Self(b'h');
}

/// Appends the text of a key, without quotes. `scratch` is a buffer to reuse; its content is
/// overwritten.
pub(super) fn encode<'p>(
    out: &mut Vec<u8>,
    scratch: &mut Vec<u8>,
    tag: KeyTag,
    parts: impl IntoIterator<Item = Option<&'p str>>,
) {
    scratch.clear();
    scratch.push(tag.0);
    for part in parts {
        write_length(scratch, part.map_or(0, |part| part.len() + 1));
        scratch.extend_from_slice(part.unwrap_or_default().as_bytes());
    }
    output::base64url(out, scratch);
}

impl OpaqueKey {
    /// Decodes the text of a key; `None` if it is not base64url or is empty.
    pub(super) fn decode(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        (!bytes.is_empty()).then_some(Self { bytes })
    }

    /// Returns the parts of the key; `None` if it has another tag or not exactly `N` parts.
    pub(super) fn parts<const N: usize>(&self, tag: KeyTag) -> Option<[Option<&str>; N]> {
        let (&first, mut rest) = self.bytes.split_first()?;
        if first != tag.0 {
            return None;
        }
        let mut parts = [None; N];
        for part in &mut parts {
            let length = read_length(&mut rest)?;
            if let Some(length) = length.checked_sub(1) {
                *part = Some(std::str::from_utf8(rest.split_off(..length)?).ok()?);
            }
        }
        rest.is_empty().then_some(parts)
    }
}

/// Appends a length in groups of seven bits, lowest first (LEB128).
fn write_length(out: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        out.push(u8::try_from(length & 0x7f).expect("seven bits fit in a byte") | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).expect("seven bits fit in a byte"));
}

fn read_length(rest: &mut &[u8]) -> Option<usize> {
    let mut length = 0;
    for shift in [0, 7, 14, 21] {
        let byte = *rest.split_off_first()?;
        length |= usize::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(length);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(tag: KeyTag, parts: &[Option<&str>]) -> String {
        let mut out = Vec::new();
        encode(&mut out, &mut Vec::new(), tag, parts.iter().copied());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_key_reads_back_as_it_was_written() {
        let long = "x".repeat(200);
        let parts = [Some("etcd"), None, Some(""), Some(long.as_str())];
        let key = OpaqueKey::decode(&text(KeyTag::BUNDLE, &parts)).unwrap();
        assert_eq!(key.parts::<4>(KeyTag::BUNDLE), Some(parts));
    }

    #[test]
    fn a_key_of_another_tag_or_with_other_parts_is_none() {
        let key = OpaqueKey::decode(&text(KeyTag::PACKAGE, &[Some("a"), Some("b")])).unwrap();
        assert_eq!(key.parts::<2>(KeyTag::BUNDLE), None);
        assert_eq!(key.parts::<1>(KeyTag::PACKAGE), None);
        assert_eq!(key.parts::<3>(KeyTag::PACKAGE), None);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        for text in ["", "!", "UA==", "UP__", "UAX_", "UP______"] {
            let parts =
                OpaqueKey::decode(text).and_then(|key| key.parts::<1>(KeyTag::PACKAGE).map(|_| ()));
            assert_eq!(parts, None, "{text}");
        }
    }
}
