//! Policies and signatures are judged as the containers libraries judge them. The vectors are
//! described in `testdata/README.md`.

use std::collections::BTreeMap;
use std::io;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Value, json};
use signature_policy::{
    AttachedSignature, Evidence, EvidenceBytes, JudgeOptions, Policy, PolicyReference, RefusalCode,
    SIMPLE_SIGNING, SignedManifest, Verdict, VerdictState,
};

const PARSE: &str = include_str!("testdata/parse.jsonl");
const SCOPE: &str = include_str!("testdata/scope.jsonl");
const EVALUATE: &str = include_str!("testdata/evaluate.jsonl");

fn cases(text: &str) -> Vec<Value> {
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("it has the recorded form"));
    lines.collect()
}

#[test]
fn every_recorded_policy_is_accepted_or_refused_as_upstream_does() {
    let cases = cases(PARSE);
    assert_eq!(cases.len(), 66);
    for case in cases {
        let parsed = Policy::parse(
            case["policyText"]
                .as_str()
                .expect("it has the recorded form"),
        );
        assert_eq!(
            parsed.is_ok(),
            case["result"]["ok"]
                .as_bool()
                .expect("it has the recorded form"),
            "{}: {parsed:?}",
            case["name"]
        );
    }
}

#[test]
fn scopes_are_looked_up_in_the_order_of_upstream() {
    for case in cases(SCOPE) {
        let reference = case["ref"].as_str().expect("it has the recorded form");
        let parsed = if let Some(image) = reference.strip_prefix("docker://") {
            PolicyReference::docker(image).ok()
        } else {
            let path = reference.strip_prefix("oci:");
            let path = path.expect("it has the recorded form");
            Some(PolicyReference::layout(path.as_ref(), None, false))
        };
        let found = parsed.map(|image| {
            serde_json::json!({
                "transport": image.transport(),
                "identity": image.identity(),
                "namespaces": image.namespaces(),
            })
        });
        let expected = Some(&case["result"]).filter(|result| result["error"].is_null());
        assert_eq!(found.as_ref(), expected, "{reference}");
    }
}

#[test]
fn every_recorded_image_is_judged_as_upstream_judges_it() {
    let cases = cases(EVALUATE);
    assert_eq!(cases.len(), 80);
    for case in cases {
        let name = case["name"].as_str().expect("it has the recorded form");
        let verdict = judge(&case);
        let allowed = verdict.state != VerdictState::Refused;
        let upstream = case["result"]["allowed"]
            .as_bool()
            .expect("it has the recorded form");
        let uses_openpgp = case["policy"].to_string().contains("signedBy\"");
        if uses_openpgp && !cfg!(feature = "signatures-gpg") {
            let refused = Some(RefusalCode::RequirementUnsupported);
            assert_eq!((allowed, verdict.code()), (false, refused), "{name}");
            continue;
        }
        assert_eq!(allowed, upstream, "{name}: {:?}", verdict.reason());
        if let Some(error) = case["result"]["error"].as_str() {
            let code = verdict.code().expect("it has the recorded form");
            let kinds = kinds(error);
            assert!(
                kinds.contains(&code),
                "{name}: {code:?} ({:?}) instead of {kinds:?} ({error})",
                verdict.reason()
            );
        }
    }
}

#[test]
#[cfg(not(feature = "signatures-gpg"))]
fn a_requirement_of_openpgp_refuses_the_images_of_its_scope_alone() {
    let key = json!({"type": "signedBy", "keyType": "GPGKeys", "keyPath": "/etc/pki/release"});
    let policy = json!({
        "default": [{"type": "insecureAcceptAnything"}],
        "transports": {"docker": {"registry.example.com": [key]}},
    });
    let judge_image = |image: &str| judge(&json!({"policy": policy, "ref": image, "manifest": ""}));

    let accepted = judge_image("docker://quay.io/example/catalog:v1");
    assert_eq!(accepted.state, VerdictState::Accepted);

    let refused = judge_image("docker://registry.example.com/catalog:v1");
    assert_eq!(refused.state, VerdictState::Refused);
    assert_eq!(refused.code(), Some(RefusalCode::RequirementUnsupported));
    assert_eq!(
        refused.reason().as_deref(),
        Some(
            "the scope `docker:registry.example.com` requires `signedBy` with 1 GPGKeys for \
             matchRepoDigestOrExact, and OpenPGP signatures are not supported: use \
             `sigstoreSigned`, or --no-signature-policy to accept every image"
        )
    );
}

#[test]
#[cfg(feature = "signatures-gpg")]
fn openpgp_keys_that_do_not_exist_refuse_the_images_of_their_scope_alone() {
    let key = json!({"type": "signedBy", "keyType": "GPGKeys", "keyPath": "/etc/pki/release"});
    let policy = json!({
        "default": [{"type": "insecureAcceptAnything"}],
        "transports": {"docker": {"registry.example.com": [key]}},
    });
    let judge_image = |image: &str| judge(&json!({"policy": policy, "ref": image, "manifest": ""}));

    let accepted = judge_image("docker://quay.io/example/catalog:v1");
    assert_eq!(accepted.state, VerdictState::Accepted);

    let refused = judge_image("docker://registry.example.com/catalog:v1");
    assert_eq!(refused.code(), Some(RefusalCode::PolicyUnreadable));
    assert_eq!(
        refused.reason().as_deref(),
        Some(
            "the scope `docker:registry.example.com` requires `signedBy` with 1 GPGKeys for \
             matchRepoDigestOrExact, and cannot read `/etc/pki/release`: entity not found"
        )
    );
}

/// Judges a recorded case.
fn judge(case: &Value) -> Verdict {
    let options = JudgeOptions {
        require_signatures: case["requireSigned"].as_bool().unwrap_or_default(),
        ..JudgeOptions::default()
    };
    let loaded = Policy::parse(&case["policy"].to_string())
        .and_then(|policy| policy.load(options, |_| Err(io::Error::from(io::ErrorKind::NotFound))));
    let policy = match loaded {
        Ok(policy) => policy,
        Err(error) => return Verdict::unreadable(error.to_string()),
    };
    let reference = case["ref"].as_str().expect("it has the recorded form");
    let image = PolicyReference::docker(
        reference
            .strip_prefix("docker://")
            .expect("it has the recorded form"),
    )
    .expect("it has the recorded form");
    let mut manifest = SignedManifest {
        bytes: decode(&case["manifest"]),
        ..SignedManifest::default()
    };
    for layer in case["sigstore"].as_array().into_iter().flatten() {
        if layer["mediaType"]
            .as_str()
            .is_some_and(|kind| kind != SIMPLE_SIGNING)
        {
            manifest.signatures.other_layers += 1;
            continue;
        }
        let annotations: BTreeMap<String, String> =
            serde_json::from_value(layer["annotations"].clone()).unwrap_or_default();
        manifest.signatures.attached.push(AttachedSignature {
            payload: decode(&layer["payload"]),
            annotations,
        });
    }
    for message in case["simple"].as_array().into_iter().flatten() {
        let message = EvidenceBytes(decode(message));
        manifest.signatures.simple.push(message);
    }
    let evidence = Evidence {
        manifest,
        index: None,
    };
    // Evidence is stored, and judged again after that.
    let stored = serde_json::to_string(&evidence).expect("it has the recorded form");
    assert_eq!(
        serde_json::from_str::<Evidence>(&stored).expect("it has the recorded form"),
        evidence
    );
    let now: Timestamp = "2026-11-27T00:00:00Z"
        .parse()
        .expect("it has the recorded form");
    policy.judge(&image, &evidence, now)
}

fn decode(value: &Value) -> Vec<u8> {
    BASE64_STANDARD
        .decode(value.as_str().unwrap_or_default())
        .expect("it has the recorded form")
}

/// Returns the kinds of reasons that a text of upstream tells.
fn kinds(error: &str) -> Vec<RefusalCode> {
    let table = [
        ("no signature exists", RefusalCode::SignatureMissing),
        (
            "signature verification failed: invalid",
            RefusalCode::SignatureNotVerified,
        ),
        (
            "Signature for identity",
            RefusalCode::SignatureOfAnotherName,
        ),
        (
            "Signature for digest",
            RefusalCode::SignatureOfAnotherDigest,
        ),
        ("rejected by policy", RefusalCode::PolicyRejects),
        ("Key not found", RefusalCode::SignatureNotVerified),
        (
            "Unrecognized signature type",
            RefusalCode::SignatureMalformed,
        ),
        (
            "unrecognized signature format",
            RefusalCode::SignatureMalformed,
        ),
        (
            "Unimplemented \"keyType\"",
            RefusalCode::RequirementUnsupported,
        ),
        ("Unknown key", RefusalCode::SignatureMalformed),
        ("Duplicate key", RefusalCode::SignatureMalformed),
        ("invalid character", RefusalCode::SignatureMalformed),
        ("base64 decoding", RefusalCode::SignatureMalformed),
        ("missing dev.", RefusalCode::SignatureMalformed),
        ("PEM decoding failed", RefusalCode::PolicyUnreadable),
        ("no such file", RefusalCode::PolicyUnreadable),
        ("not using ECDSA", RefusalCode::PolicyUnreadable),
        ("not implemented", RefusalCode::PolicyUnreadable),
        ("SET failed", RefusalCode::SignatureCertificate),
        (
            "in Rekor SET does not match",
            RefusalCode::SignatureCertificate,
        ),
        ("hashedrekord version", RefusalCode::SignatureCertificate),
        ("leaf certificate failed", RefusalCode::SignatureCertificate),
        ("Required email", RefusalCode::SignatureCertificate),
        ("OIDC issuer", RefusalCode::SignatureCertificate),
        ("missing the issuer", RefusalCode::SignatureCertificate),
        ("subject hostname", RefusalCode::SignatureCertificate),
    ];
    let found = table.iter().filter(|(text, _)| error.contains(text));
    found.map(|(_, code)| *code).collect()
}
