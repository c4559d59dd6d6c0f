//! Bundles of cosign 3, made and signed here.

use std::io;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, SanType, date_time_ymd,
};
use serde_json::{Value, json};
use signature_policy::{
    Evidence, EvidenceBytes, JudgeOptions, MAX_LOG_ENTRIES, Policy, PolicyReference, RefusalCode,
    SIGN_PREDICATE, SIGSTORE_BUNDLE, SignedManifest, Verdict, VerdictState,
};

const MANIFEST: &[u8] = br#"{"schemaVersion":2}"#;
const STATEMENT_PAYLOAD: &str = "application/vnd.in-toto+json";
const ISSUER: &str = "https://accounts.example.com";

/// Within the validity of all certificates made here.
const SIGNED_AT: &str = "2026-03-01T00:00:00Z";

/// Start of a `SubjectPublicKeyInfo` of P-256, before the point.
const P256_HEADER: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

struct TestKey(EcdsaKeyPair);

impl TestKey {
    fn new() -> Self {
        Self(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).expect("keys can be made"))
    }

    fn sign(&self, message: &[u8]) -> String {
        let signature = self.0.sign(&SystemRandom::new(), message);
        BASE64_STANDARD.encode(signature.expect("it can sign"))
    }

    fn pem(&self) -> String {
        let der = [&P256_HEADER, self.0.public_key().as_ref()].concat();
        pem("PUBLIC KEY", &der)
    }

    /// The key as a policy has it.
    fn data(&self) -> String {
        BASE64_STANDARD.encode(self.pem())
    }
}

fn pem(kind: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    format!("-----BEGIN {kind}-----\n{text}\n-----END {kind}-----\n")
}

fn statement(manifest: &[u8], predicate: &str) -> Vec<u8> {
    let digest = content_digest::digest(manifest).hex();
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"digest": {"sha256": digest}}],
        "predicateType": predicate,
        "predicate": {},
    })
    .to_string()
    .into_bytes()
}

fn signed_bytes(payload: &[u8]) -> Vec<u8> {
    let head = format!(
        "DSSEv1 {} {STATEMENT_PAYLOAD} {} ",
        STATEMENT_PAYLOAD.len(),
        payload.len()
    );
    [head.as_bytes(), payload].concat()
}

/// A bundle with a statement, without the entry of a log.
fn bundle(key: &TestKey, payload: &[u8]) -> Value {
    json!({
        "mediaType": SIGSTORE_BUNDLE,
        "verificationMaterial": {"publicKey": {"hint": "x"}},
        "dsseEnvelope": {
            "payload": BASE64_STANDARD.encode(payload),
            "payloadType": STATEMENT_PAYLOAD,
            "signatures": [{"sig": key.sign(&signed_bytes(payload))}],
        },
    })
}

/// The body of the entry that a log makes for a bundle.
fn body(bundle: &Value, verifier: &str) -> String {
    let envelope = &bundle["dsseEnvelope"];
    let payload = BASE64_STANDARD.decode(envelope["payload"].as_str().expect("it is a text"));
    let payload = payload.expect("it is base64");
    let body = json!({
        "apiVersion": "0.0.1",
        "kind": "dsse",
        "spec": {
            "envelopeHash": {"algorithm": "sha256", "value": "0"},
            "payloadHash": {
                "algorithm": "sha256",
                "value": content_digest::digest(&payload).hex(),
            },
            "signatures": [{
                "signature": envelope["signatures"][0]["sig"],
                "verifier": BASE64_STANDARD.encode(verifier),
            }],
        },
    });
    BASE64_STANDARD.encode(body.to_string())
}

/// An entry with the promise of a log.
fn promised(log: &TestKey, body: &str) -> Value {
    let time: Timestamp = SIGNED_AT.parse().expect("it is a time");
    let time = time.as_second();
    let canonical =
        format!(r#"{{"body":"{body}","integratedTime":{time},"logID":"00ff","logIndex":7}}"#);
    json!({
        "logIndex": "7",
        "logId": {"keyId": BASE64_STANDARD.encode([0, 0xff])},
        "kindVersion": {"kind": "dsse", "version": "0.0.1"},
        "integratedTime": time.to_string(),
        "inclusionPromise": {"signedEntryTimestamp": log.sign(canonical.as_bytes())},
        "canonicalizedBody": body,
    })
}

/// An entry with the proof that it is the only one of a log.
fn proved(log: &TestKey, body: &str) -> Value {
    let entry = BASE64_STANDARD.decode(body).expect("it is base64");
    let root = content_digest::digest(&[&[0], entry.as_slice()].concat());
    let root = BASE64_STANDARD.encode(root.as_bytes());
    let text = format!("log.example.com - 1\n1\n{root}\n");
    let signature = BASE64_STANDARD.decode(log.sign(text.as_bytes()));
    let named = [&[0; 4], signature.expect("it is base64").as_slice()].concat();
    let named = BASE64_STANDARD.encode(named);
    json!({
        "logIndex": "0",
        "inclusionProof": {
            "logIndex": "0",
            "rootHash": root,
            "treeSize": "1",
            "hashes": [],
            "checkpoint": {"envelope": format!("{text}\n— log.example.com {named}\n")},
        },
        "canonicalizedBody": body,
    })
}

fn with_entries(mut bundle: Value, entries: &[Value]) -> Value {
    bundle["verificationMaterial"]["tlogEntries"] = entries.into();
    bundle
}

/// Judges an image with one bundle by one requirement.
struct BundleCase<'a> {
    requirement: Value,
    bundle: &'a Value,
    image: &'a str,
    any_name: bool,
}

impl BundleCase<'_> {
    fn judge(&self) -> Verdict {
        judge_bytes(self, self.bundle.to_string().into_bytes())
    }

    /// Returns the kind of the refusal; `None` if the image is accepted.
    fn code(&self) -> Option<RefusalCode> {
        let verdict = self.judge();
        assert_eq!(verdict.code().is_some(), verdict.is_refused());
        verdict.code()
    }
}

fn judge_bytes(case: &BundleCase<'_>, bundle: Vec<u8>) -> Verdict {
    let policy = json!({"default": [case.requirement]}).to_string();
    let options = JudgeOptions {
        accept_bundles_without_identity: case.any_name,
        ..JudgeOptions::default()
    };
    let absent = |_: &std::path::Path| Err(io::Error::from(io::ErrorKind::NotFound));
    let policy = Policy::parse(&policy).and_then(|policy| policy.load(options, absent));
    let policy = policy.expect("the policy is valid");
    let mut manifest = SignedManifest {
        bytes: MANIFEST.to_vec(),
        ..SignedManifest::default()
    };
    manifest.signatures.bundles.push(EvidenceBytes(bundle));
    let evidence = Evidence {
        manifest,
        index: None,
    };
    let image = PolicyReference::docker(case.image).expect("it is a reference");
    policy.judge(&image, &evidence, SIGNED_AT.parse().expect("it is a time"))
}

fn by_key(key: &TestKey, identity: &str) -> Value {
    json!({
        "type": "sigstoreSigned",
        "keyData": key.data(),
        "signedIdentity": {"type": identity},
    })
}

#[test]
fn a_bundle_names_no_image_and_holds_where_the_repository_is_asked_for() {
    let key = TestKey::new();
    let bundle = bundle(&key, &statement(MANIFEST, SIGN_PREDICATE));
    let code = |identity: &str, image, any_name| {
        BundleCase {
            requirement: by_key(&key, identity),
            bundle: &bundle,
            image,
            any_name,
        }
        .code()
    };
    let tag = "quay.io/example/catalog:v1";
    let digest = format!(
        "quay.io/example/catalog@{}",
        content_digest::digest(MANIFEST)
    );
    let refused = Some(RefusalCode::SignatureOfAnotherName);

    assert_eq!(code("matchRepository", tag, false), None);
    assert_eq!(code("matchRepoDigestOrExact", tag, false), refused);
    assert_eq!(code("matchRepoDigestOrExact", &digest, false), None);
    assert_eq!(code("matchExact", tag, false), refused);
    assert_eq!(code("matchExact", &digest, false), refused);
    for identity in ["matchRepoDigestOrExact", "matchExact"] {
        assert_eq!(code(identity, tag, true), None, "{identity}");
    }
}

#[test]
fn a_bundle_is_accepted_only_for_the_digest_that_it_signs_with_the_key() {
    let key = TestKey::new();
    let other = TestKey::new();
    let code = |bundle: &Value| {
        BundleCase {
            requirement: by_key(&key, "matchRepository"),
            bundle,
            image: "quay.io/example/catalog:v1",
            any_name: false,
        }
        .code()
    };
    let payload = statement(MANIFEST, SIGN_PREDICATE);
    let good = bundle(&key, &payload);
    assert_eq!(code(&good), None);
    assert_eq!(
        code(&bundle(&other, &payload)),
        Some(RefusalCode::SignatureNotVerified)
    );
    assert_eq!(
        code(&bundle(&key, &statement(b"{}", SIGN_PREDICATE))),
        Some(RefusalCode::SignatureOfAnotherDigest)
    );
    let attestation = statement(MANIFEST, "https://slsa.dev/provenance/v1");
    assert_eq!(
        code(&bundle(&key, &attestation)),
        Some(RefusalCode::SignatureMalformed)
    );
    // A member that is repeated could be read differently by another reader.
    let text = String::from_utf8(payload).expect("it is text");
    let repeated = text.replace(r#""subject":"#, r#""subject":[],"subject":"#);
    assert_ne!(repeated, text);
    assert_eq!(
        code(&bundle(&key, repeated.as_bytes())),
        Some(RefusalCode::SignatureMalformed)
    );

    let mut signed_manifest = good.clone();
    signed_manifest["dsseEnvelope"] = Value::Null;
    signed_manifest["messageSignature"] = json!({"signature": key.sign(MANIFEST)});
    assert_eq!(code(&signed_manifest), None);
    signed_manifest["messageSignature"] = json!({"signature": key.sign(b"{}")});
    assert_eq!(
        code(&signed_manifest),
        Some(RefusalCode::SignatureNotVerified)
    );

    let malformed = Some(RefusalCode::SignatureMalformed);
    let edits: [fn(&mut Value); 5] = [
        |bundle| bundle["mediaType"] = "application/json".into(),
        |bundle| bundle["dsseEnvelope"]["payloadType"] = "text/plain".into(),
        |bundle| bundle["dsseEnvelope"]["signatures"] = json!([]),
        |bundle| bundle["dsseEnvelope"]["payload"] = "&".into(),
        |bundle| bundle["messageSignature"] = json!({"signature": ""}),
    ];
    for edit in edits {
        let mut changed = good.clone();
        edit(&mut changed);
        assert_eq!(code(&changed), malformed, "{changed}");
    }
}

#[test]
fn a_log_has_the_signature_by_its_promise_or_by_a_proof() {
    let key = TestKey::new();
    let log = TestKey::new();
    let other = TestKey::new();
    let mut requirement = by_key(&key, "matchRepository");
    requirement["rekorPublicKeyData"] = log.data().into();
    let code = |bundle: &Value| {
        BundleCase {
            requirement: requirement.clone(),
            bundle,
            image: "quay.io/example/catalog:v1",
            any_name: false,
        }
        .code()
    };
    let payload = statement(MANIFEST, SIGN_PREDICATE);
    let unlogged = bundle(&key, &payload);
    let body_of = |bundle: &Value| body(bundle, &key.pem());
    let body = body_of(&unlogged);
    let with = |entries: &[Value]| with_entries(unlogged.clone(), entries);
    let refused = Some(RefusalCode::SignatureCertificate);

    assert_eq!(code(&with(&[promised(&log, &body)])), None);
    assert_eq!(code(&with(&[proved(&log, &body)])), None);
    assert_eq!(code(&unlogged), refused);
    assert_eq!(code(&with(&[promised(&other, &body)])), refused);
    assert_eq!(code(&with(&[proved(&other, &body)])), refused);
    // One bad entry hides no good one.
    let entries = [promised(&other, &body), promised(&log, &body)];
    assert_eq!(code(&with(&entries)), None);

    let another = body_of(&bundle(&key, &payload));
    assert_ne!(another, body);
    assert_eq!(code(&with(&[promised(&log, &another)])), refused);

    let most = vec![promised(&log, &body); MAX_LOG_ENTRIES];
    assert_eq!(code(&with(&most)), None);
    let more = vec![promised(&log, &body); MAX_LOG_ENTRIES + 1];
    assert_eq!(code(&with(&more)), Some(RefusalCode::SignatureMalformed));
}

#[test]
fn a_certificate_of_a_bundle_must_be_valid_when_the_log_promised_its_entry() {
    let log = TestKey::new();
    let root_key = KeyPair::generate().expect("keys can be made");
    let mut root = CertificateParams::default();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    root.distinguished_name.push(DnType::CommonName, "root");
    let root_pem = root.self_signed(&root_key).expect("it is valid").pem();
    let issuer = Issuer::new(root, root_key);

    let leaf_key = KeyPair::generate().expect("keys can be made");
    let signer = TestKey(
        EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &leaf_key.serialize_der())
            .expect("it is a key of P-256"),
    );
    let certificate = |valid_from: i32| {
        let mut leaf = CertificateParams::default();
        let email = "release@example.com".try_into().expect("it is ASCII");
        leaf.subject_alt_names = vec![SanType::Rfc822Name(email)];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
        leaf.not_before = date_time_ymd(valid_from, 1, 1);
        leaf.not_after = date_time_ymd(valid_from + 1, 1, 1);
        let oid = [1, 3, 6, 1, 4, 1, 57264, 1, 1];
        leaf.custom_extensions = vec![CustomExtension::from_oid_content(
            &oid,
            ISSUER.as_bytes().to_vec(),
        )];
        let made = leaf.signed_by(&leaf_key, &issuer);
        made.expect("it is valid").der().to_vec()
    };
    let requirement = |email: &str| {
        json!({
            "type": "sigstoreSigned",
            "fulcio": {
                "caData": BASE64_STANDARD.encode(&root_pem),
                "oidcIssuer": ISSUER,
                "subjectEmail": email,
            },
            "rekorPublicKeyData": log.data(),
            "signedIdentity": {"type": "matchRepository"},
        })
    };
    let code = |bundle: &Value, email: &str| {
        BundleCase {
            requirement: requirement(email),
            bundle,
            image: "quay.io/example/catalog:v1",
            any_name: false,
        }
        .code()
    };
    let attach = |der: &[u8], entry: fn(&TestKey, &str) -> Value| {
        let mut bundle = bundle(&signer, &statement(MANIFEST, SIGN_PREDICATE));
        bundle["verificationMaterial"] =
            json!({"certificate": {"rawBytes": BASE64_STANDARD.encode(der)}});
        let body = body(&bundle, &pem("CERTIFICATE", der));
        with_entries(bundle, &[entry(&log, &body)])
    };
    let refused = Some(RefusalCode::SignatureCertificate);
    let valid = certificate(2026);
    assert_eq!(code(&attach(&valid, promised), "release@example.com"), None);
    assert_eq!(
        code(&attach(&valid, promised), "other@example.com"),
        refused
    );
    let expired = certificate(2024);
    assert_eq!(
        code(&attach(&expired, promised), "release@example.com"),
        refused
    );
    // A proof tells no time at which the certificate must have been valid.
    assert_eq!(
        code(&attach(&valid, proved), "release@example.com"),
        refused
    );
}

#[test]
fn what_is_no_bundle_is_refused_as_malformed() {
    let key = TestKey::new();
    let case = BundleCase {
        requirement: by_key(&key, "matchRepository"),
        bundle: &Value::Null,
        image: "quay.io/example/catalog:v1",
        any_name: false,
    };
    for bytes in ["", "{}", "[]", "\u{0}", "{\"mediaType\":\"\"}"] {
        let verdict = judge_bytes(&case, bytes.into());
        assert_eq!(verdict.state, VerdictState::Refused);
        assert_eq!(verdict.code(), Some(RefusalCode::SignatureMalformed));
    }
}
