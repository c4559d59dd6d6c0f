//! Decisions with the evidence for them, as they are kept beside the content of an image.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Evidence, ImageSignatures, SignedManifest, Verdict};

/// Version of the format of kept judgements. Judgements of another version are ignored; change it
/// with the meaning of any member. A member that is new needs a default and no new version.
const FORMAT: u32 = 1;

/// Maximum length of a kept judgement in bytes. The signatures of a longer one are not kept.
pub const MAX_JUDGEMENT_BYTES: usize = 16 << 20;

/// A decision about an image, with everything that is needed to decide again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// Digest of the policy, its keys and options, and of the files that say where signatures are.
    pub policy: String,
    /// Time of the first decision by this policy with this outcome.
    pub judged_at: Timestamp,
    /// The decision.
    pub verdict: Verdict,
    /// Manifests and signatures that it was made from.
    pub evidence: Evidence,
}

/// The file format of a judgement.
#[derive(Serialize, Deserialize)]
struct JudgementFile<V, E> {
    format: u32,
    policy: String,
    #[serde(rename = "at")]
    judged_at: String,
    verdict: V,
    evidence: E,
}

impl Judgement {
    /// Serializes the judgement, to at most [`MAX_JUDGEMENT_BYTES`]. Signatures that do not fit are
    /// left out, and are noted as not known.
    pub fn to_json(&self) -> Vec<u8> {
        let text = self.serialize(&self.evidence);
        if text.len() <= MAX_JUDGEMENT_BYTES {
            return text;
        }
        let note = format!(
            "the signatures were not kept, because they have more than {MAX_JUDGEMENT_BYTES} bytes"
        );
        let without_signatures = |manifest: &SignedManifest| SignedManifest {
            bytes: manifest.bytes.clone(),
            signatures: ImageSignatures {
                unreachable: vec![note.clone()],
                lookaside_unreachable: vec![note.clone()],
                ..ImageSignatures::default()
            },
        };
        self.serialize(&Evidence {
            manifest: without_signatures(&self.evidence.manifest),
            index: self.evidence.index.as_ref().map(without_signatures),
        })
    }

    fn serialize(&self, evidence: &Evidence) -> Vec<u8> {
        let file = JudgementFile {
            format: FORMAT,
            policy: self.policy.clone(),
            judged_at: self.judged_at.to_string(),
            verdict: &self.verdict,
            evidence,
        };
        serde_json::to_vec(&file).expect("numbers and strings serialize to JSON")
    }

    /// Reads a judgement; `None` if it is damaged or of another format.
    pub fn from_json(text: &[u8]) -> Option<Self> {
        let file: JudgementFile<Verdict, Evidence> = serde_json::from_slice(text).ok()?;
        if file.format != FORMAT {
            return None;
        }
        Some(Self {
            policy: file.policy,
            judged_at: file.judged_at.parse().ok()?,
            verdict: file.verdict,
            evidence: file.evidence,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AttachedSignature;

    fn judgement(payload: usize) -> Judgement {
        let signature = AttachedSignature {
            payload: vec![b'x'; payload],
            annotations: [("a".to_owned(), "b".to_owned())].into(),
        };
        let signatures = ImageSignatures {
            attached: vec![signature],
            places: vec!["quay.io/a/b:sha256-1.sig".to_owned()],
            ..ImageSignatures::default()
        };
        Judgement {
            policy: "sha256:1".to_owned(),
            judged_at: Timestamp::UNIX_EPOCH,
            verdict: Verdict::unreadable("why".to_owned()),
            evidence: Evidence {
                manifest: SignedManifest {
                    bytes: b"{}".to_vec(),
                    signatures,
                },
                index: None,
            },
        }
    }

    #[test]
    fn a_kept_judgement_is_read_as_it_was_and_one_of_another_format_is_ignored() {
        let kept = judgement(100);
        let text = kept.to_json();
        assert_eq!(Judgement::from_json(&text), Some(kept));

        let text = String::from_utf8(text).unwrap();
        let other = text.replacen("\"format\":1", "\"format\":2", 1);
        assert_eq!(Judgement::from_json(other.as_bytes()), None);
        assert_eq!(Judgement::from_json(&text.as_bytes()[1..]), None);
    }

    #[test]
    fn members_that_are_missing_have_defaults_and_unknown_ones_are_ignored() {
        let text = r#"{"format":1,"policy":"p","at":"1970-01-01T00:00:00Z","new":1,
            "verdict":{"state":"Accepted","scope":"default","requirements":[],"signers":[],"verified":null,"refusals":[]},
            "evidence":{"manifest":{"bytes":"e30=","signatures":{"new":[]}}}}"#;
        let read = Judgement::from_json(text.as_bytes()).unwrap();
        assert_eq!(
            read.evidence,
            Evidence {
                manifest: SignedManifest {
                    bytes: b"{}".to_vec(),
                    signatures: ImageSignatures::default(),
                },
                index: None,
            }
        );
    }

    #[test]
    fn signatures_are_kept_up_to_the_limit_and_noted_as_unknown_above_it() {
        let empty = judgement(0).to_json().len();
        // Base64 has four bytes for three.
        let most = (MAX_JUDGEMENT_BYTES - empty) / 4 * 3;
        let fits = judgement(most);
        assert_eq!(Judgement::from_json(&fits.to_json()), Some(fits));

        let text = judgement(most + 4).to_json();
        assert!(text.len() < MAX_JUDGEMENT_BYTES);
        let manifest = Judgement::from_json(&text).unwrap().evidence.manifest;
        assert_eq!(manifest.bytes, b"{}");
        assert_eq!(manifest.signatures.attached, []);
        assert_eq!(
            manifest.signatures.unreachable,
            ["the signatures were not kept, because they have more than 16777216 bytes"]
        );
    }
}
