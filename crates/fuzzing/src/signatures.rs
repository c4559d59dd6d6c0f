//! The fuzz target of signatures: what a stranger can attach to an image.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};
use signature_policy::{
    AttachedSignature, CERTIFICATE_ANNOTATION, CHAIN_ANNOTATION, Evidence, EvidenceBytes,
    ImageSignatures, JudgeOptions, LoadedPolicy, Policy, PolicyReference, REKOR_ANNOTATION,
    SIGNATURE_ANNOTATION, SIGSTORE_BUNDLE, SignedManifest,
};

/// The manifest that is judged.
pub const MANIFEST: &[u8] = b"{\"schemaVersion\":2}";

/// Type of the payload of envelopes.
const STATEMENT: &str = "application/vnd.in-toto+json";

/// Start of a `SubjectPublicKeyInfo` of P-256, before the point.
const P256_HEADER: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A ring with one `OpenPGP` key, of which no private key exists.
const OPENPGP_KEY: &str = include_str!("openpgp-key.txt");

/// A certificate of an authority, of which no private key exists.
const AUTHORITY: &str = include_str!("authority.pem");

static KEY: LazyLock<EcdsaKeyPair> = LazyLock::new(|| {
    EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("keys can be made")
});

/// One policy for each kind of requirement; the first one has the key of the target.
static POLICIES: LazyLock<Vec<LoadedPolicy>> = LazyLock::new(|| {
    let der = [&P256_HEADER, KEY.public_key().as_ref()].concat();
    let key = BASE64_STANDARD.encode(&der);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{key}\n-----END PUBLIC KEY-----\n");
    let key = BASE64_STANDARD.encode(pem);
    let authority = BASE64_STANDARD.encode(AUTHORITY);
    let identity = json!({"type": "matchRepository"});
    let fulcio = json!({
        "caData": authority, "oidcIssuer": "https://example.com", "subjectEmail": "a@example.com",
    });
    let pki = json!({"caRootsData": authority, "subjectEmail": "a@example.com"});
    let requirements = [
        json!({"type": "sigstoreSigned", "keyData": key, "signedIdentity": identity}),
        json!({"type": "sigstoreSigned", "keyData": key, "rekorPublicKeyData": key}),
        json!({"type": "sigstoreSigned", "fulcio": fulcio, "rekorPublicKeyData": key}),
        json!({"type": "sigstoreSigned", "pki": pki}),
        json!({"type": "signedBy", "keyType": "GPGKeys", "keyData": OPENPGP_KEY.trim()}),
    ];
    requirements.iter().map(load).collect()
});

fn load(requirement: &Value) -> LoadedPolicy {
    let absent = |_: &Path| Err(io::Error::from(io::ErrorKind::NotFound));
    let policy = json!({"default": [requirement]}).to_string();
    Policy::parse(&policy)
        .and_then(|policy| policy.load(JudgeOptions::default(), absent))
        .expect("the policy is valid")
}

fn sign(message: &[u8]) -> String {
    let signature = KEY.sign(&SystemRandom::new(), message);
    BASE64_STANDARD.encode(signature.expect("it can sign"))
}

/// Judges an image with the bytes as each kind of signature and as the parts of one. Nothing that is
/// not signed is accepted, and what the key of the target signs is accepted only if it names the
/// digest of the manifest.
pub fn signatures(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let parts = [
        SIGNATURE_ANNOTATION,
        REKOR_ANNOTATION,
        CERTIFICATE_ANNOTATION,
        CHAIN_ANNOTATION,
    ];
    let payload = b"{}".to_vec();
    let signature = sign(&payload);
    let attached = parts.map(|part| {
        let named = parts.map(|other| (other.to_owned(), signature.clone()));
        let mut annotations = BTreeMap::from(named);
        annotations.insert(CERTIFICATE_ANNOTATION.to_owned(), AUTHORITY.to_owned());
        annotations.insert(part.to_owned(), text.clone().into_owned());
        AttachedSignature {
            payload: payload.clone(),
            annotations,
        }
    });
    let unsigned = ImageSignatures {
        attached: attached.into(),
        bundles: vec![EvidenceBytes(data.to_vec())],
        simple: vec![EvidenceBytes(data.to_vec())],
        ..ImageSignatures::default()
    };
    assert!(!is_accepted(unsigned), "{text:?} is accepted unsigned");

    if is_signed(data) {
        let value: Value = serde_json::from_slice(data).expect("what is accepted is JSON");
        let digest = content_digest::digest(MANIFEST).hex();
        assert!(
            value.to_string().contains(&digest),
            "{text:?} is accepted for another manifest"
        );
    }
}

/// Returns whether the bytes are accepted as a payload or as a statement that the key of the target
/// signs.
pub fn is_signed(data: &[u8]) -> bool {
    let head = format!("DSSEv1 {} {STATEMENT} {} ", STATEMENT.len(), data.len());
    let bundle = json!({
        "mediaType": SIGSTORE_BUNDLE,
        "verificationMaterial": {},
        "dsseEnvelope": {
            "payload": BASE64_STANDARD.encode(data),
            "payloadType": STATEMENT,
            "signatures": [{"sig": sign(&[head.as_bytes(), data].concat())}],
        },
    });
    is_accepted(ImageSignatures {
        attached: vec![AttachedSignature {
            payload: data.to_vec(),
            annotations: [(SIGNATURE_ANNOTATION.to_owned(), sign(data))].into(),
        }],
        bundles: vec![EvidenceBytes(bundle.to_string().into_bytes())],
        ..ImageSignatures::default()
    })
}

/// Returns whether a policy accepts the manifest, and that it does so again.
fn is_accepted(signatures: ImageSignatures) -> bool {
    let evidence = Evidence {
        manifest: SignedManifest {
            bytes: MANIFEST.to_vec(),
            signatures,
        },
        index: None,
    };
    let image = PolicyReference::docker("quay.io/example/catalog:v1");
    let image = image.expect("it is a reference");
    let mut is_accepted = false;
    for policy in POLICIES.iter() {
        let verdict = policy.judge(&image, &evidence, Timestamp::UNIX_EPOCH);
        assert_eq!(
            verdict,
            policy.judge(&image, &evidence, Timestamp::UNIX_EPOCH)
        );
        is_accepted |= !verdict.is_refused();
    }
    is_accepted
}
