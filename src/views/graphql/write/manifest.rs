//! The manifest of an `olm.bundle.object`, decoded.

use fbc::catalog::read_manifest;
use fbc::read::{FileReader, ReadLimits, Step};

/// Bytes of a manifest: etcd takes objects of 1.5 MiB.
const MANIFEST_BYTES: usize = 4 << 20;

/// How deep a manifest may be nested, so that every client can read it.
const MANIFEST_DEPTH: usize = 100;

/// Decodes manifests, one after the other in the same memory.
#[derive(Default)]
pub(super) struct Manifests {
    text: Vec<u8>,
    reader: Option<FileReader>,
}

impl Manifests {
    /// The manifest of the value of an `olm.bundle.object`, be it JSON or YAML, as canonical JSON; nothing when it is
    /// malformed.
    pub(super) fn decode(&mut self, value: &[u8]) -> Option<Vec<u8>> {
        self.text.clear();
        read_manifest(value, &mut self.text)?;
        let limits = ReadLimits { blob_bytes: MANIFEST_BYTES, depth: MANIFEST_DEPTH, ..ReadLimits::default() };
        let reader = self.reader.get_or_insert_with(|| FileReader::new(limits));
        reader.restart();
        reader.push(&self.text);
        reader.finish();
        loop {
            match reader.next().ok()? {
                Step::Blob(blob) => return Some(blob.line.trim_ascii_end().to_vec()),
                Step::Notice(_) => {}
                Step::More | Step::End => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    fn manifest(value: &[u8]) -> Option<Vec<u8>> {
        Manifests::default().decode(value)
    }

    fn decoded(text: &str) -> Option<String> {
        let value = format!(r#"{{"data":"{}"}}"#, STANDARD.encode(text));
        manifest(value.as_bytes()).map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn a_manifest_is_canonical_json_whether_it_was_json_or_yaml() {
        let json = "{\n  \"kind\": \"A \\\" b\\\\\",\n\t\"big\": [ 1.5, 12345678901234567890 ]\r\n}";
        assert_eq!(decoded(json).unwrap(), r#"{"big":[1.5,12345678901234567890],"kind":"A \" b\\"}"#);
        let yaml = "kind: A\nspec:\n  ports: [80, \"x\"]\n  enabled: yes\n";
        assert_eq!(decoded(yaml).unwrap(), r#"{"kind":"A","spec":{"enabled":true,"ports":[80,"x"]}}"#);
    }

    #[test]
    fn a_manifest_is_the_same_after_another_one_that_was_broken() {
        let mut manifests = Manifests::default();
        let value = |text: &str| format!(r#"{{"data":"{}"}}"#, STANDARD.encode(text));
        assert_eq!(manifests.decode(value("{\"a\": ").as_bytes()), None);
        for text in ["{\"b\": 1} {\"c\": 2}", "b: 1\n---\nc: 2\n"] {
            assert_eq!(manifests.decode(value(text).as_bytes()).as_deref(), Some(&b"{\"b\":1}"[..]));
        }
    }

    #[test]
    fn what_is_no_manifest_is_nothing() {
        assert_eq!(decoded("{"), None);
        assert_eq!(decoded(""), None);
        assert_eq!(manifest(br#"{"data":"!"}"#), None);
        assert_eq!(manifest(br#"{"data":1}"#), None);
        assert_eq!(manifest(b"[]"), None);
    }

    #[test]
    fn a_manifest_is_bounded_in_depth_and_size() {
        let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
        assert!(decoded(&nested(MANIFEST_DEPTH)).is_some());
        assert_eq!(decoded(&nested(MANIFEST_DEPTH + 1)), None);
        let large = |length: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(length));
        assert!(decoded(&large(MANIFEST_BYTES - 100)).is_some());
        assert_eq!(decoded(&large(MANIFEST_BYTES)), None);
    }
}
