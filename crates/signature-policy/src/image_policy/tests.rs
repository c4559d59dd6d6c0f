//! Policies that objects make: each kind and identity, beside what machine-config-operator's own
//! functions make of the same objects.

use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::*;
use crate::evidence::{Evidence, ImageSignatures, SignedManifest};
use crate::{JudgeOptions, LoadedPolicy, Policy, PolicyReference, RefusalCode, VerdictState};

/// Policies that the code of `OpenShift`'s machine-config-operator makes of objects.
const RECORDED: &str = include_str!("../../tests/testdata/image_policies.jsonl");

/// Objects that are accepted there and not here, because their definition forbids them there.
const REFUSED_HERE: [&str; 1] = ["bad: no key"];

#[derive(Deserialize)]
struct Recorded<'a> {
    name: &'a str,
    #[serde(borrow)]
    policy: &'a RawValue,
    #[serde(borrow)]
    objects: Option<Vec<RecordedObject<'a>>>,
    #[serde(borrow)]
    expected: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RecordedObject<'a> {
    kind: &'a str,
    #[serde(borrow)]
    spec: &'a RawValue,
}

/// The policy with the requirements of objects.
fn merged(recorded: &Recorded<'_>) -> Result<ScopeTable<Requirement>, PolicyError> {
    let mut added = AddedScopes::default();
    for object in recorded.objects.iter().flatten() {
        let kind = if object.kind == ImagePolicyKind::Cluster.as_str() {
            ImagePolicyKind::Cluster
        } else {
            ImagePolicyKind::Namespace
        };
        let spec = ParsedSpec::new(object.spec.get())?;
        added.add(kind, &spec.scopes, &spec.requirement?);
    }
    let mut table = Policy::parse(recorded.policy.get())?.table;
    added.add_to(&mut table, |requirement| {
        *requirement == Requirement::InsecureAcceptAnything
    });
    Ok(table)
}

#[test]
fn objects_become_the_policy_that_nodes_of_openshift_have() {
    let mut faults = String::new();
    let mut refused = 0;
    for line in RECORDED.lines() {
        let recorded: Recorded<'_> = serde_json::from_str(line).unwrap();
        let expected = recorded.expected;
        let expected = expected.filter(|_| !REFUSED_HERE.contains(&recorded.name));
        let expected = expected.map(|text| {
            let mut table = Policy::parse(text.get()).unwrap().table;
            // There it is empty where nothing is for it.
            table.transports.retain(|_, scopes| !scopes.is_empty());
            table
        });
        refused += u32::from(expected.is_none());
        let found = merged(&recorded);
        if found.as_ref().ok() != expected.as_ref() {
            writeln!(faults, "{}: {found:?}\n  {expected:?}", recorded.name).unwrap();
        }
    }
    assert_eq!(faults, "");
    assert_eq!((RECORDED.lines().count(), refused), (27, 7));
}

fn key() -> String {
    let pair = rcgen::KeyPair::generate().unwrap();
    pair.public_key_pem()
}

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::prelude::BASE64_STANDARD.encode(text)
}

/// A spec with this root of trust.
fn spec(scopes: &Value, root: &Value) -> Value {
    json!({ "scopes": scopes, "policy": { "rootOfTrust": root } })
}

fn public_key_of(data: &str) -> Value {
    json!({ "policyType": "PublicKey", "publicKey": { "keyData": data } })
}

fn image(text: &str) -> PolicyReference {
    PolicyReference::docker(text).unwrap()
}

fn unsigned() -> Evidence {
    Evidence {
        manifest: SignedManifest {
            bytes: b"{}".to_vec(),
            signatures: ImageSignatures::default(),
        },
        index: None,
    }
}

/// The state for an unsigned image, and the kind of the reason.
fn judge(policy: &LoadedPolicy, name: &str) -> (VerdictState, Option<RefusalCode>) {
    let now = jiff::Timestamp::UNIX_EPOCH;
    let verdict = policy.judge(&image(name), &unsigned(), now);
    (verdict.state, verdict.code())
}

#[test]
fn an_object_that_cannot_be_read_refuses_its_scopes_and_says_why() {
    let root = |member: Value| json!({ "policyType": "PublicKey", "publicKey": member });
    let pki = json!({ "policyType": "PKI", "pki": { "caRootsData": base64("x"), "pkiCertificateSubject": { "email": "a" } } });
    let fulcio = json!({
        "policyType": "FulcioCAWithRekor",
        "fulcioCAWithRekor": {
            "fulcioCAData": base64("x"), "rekorKeyData": base64(&key()),
            "fulcioSubject": { "oidcIssuer": "https://a", "signedEmail": "a" },
        },
    });
    let rekor = json!({ "keyData": base64(&key()), "rekorKeyData": base64("x") });
    let cases = [
        (
            public_key_of("?"),
            "policy.rootOfTrust.publicKey.keyData: cannot decode base64: Invalid symbol 63, offset 0.",
        ),
        (
            public_key_of(""),
            "policy.rootOfTrust.publicKey: `keyData` is empty",
        ),
        (
            root(json!({})),
            "policy.rootOfTrust.publicKey: the member `keyData` is missing",
        ),
        (
            public_key_of("YQ=="),
            "policy.rootOfTrust: cannot use the key the inline data: it has no `PUBLIC KEY` in PEM",
        ),
        (
            root(rekor),
            "policy.rootOfTrust: cannot use the key the inline data: it has no `PUBLIC KEY` in PEM",
        ),
        (
            pki,
            "policy.rootOfTrust: cannot use the certificates the inline data: ",
        ),
        (
            fulcio,
            "policy.rootOfTrust: cannot use the certificates the inline data: ",
        ),
        (
            json!({ "policyType": "Notary" }),
            "policy.rootOfTrust: `Notary` is no policyType",
        ),
        (
            json!({ "policyType": "PublicKey" }),
            "policy.rootOfTrust: the member `publicKey` is missing",
        ),
        (
            json!({ "policyType": "PublicKey", "publicKey": { "keyData": "YQ==", "new": 1 } }),
            "policy.rootOfTrust.publicKey: the member `new` is unknown",
        ),
    ];
    for (root, expected) in cases {
        let mut policies = ImagePolicies::default();
        let spec = spec(&json!(["quay.io/a"]), &root).to_string();
        policies.add(ImagePolicyKind::Cluster, "a", &spec).unwrap();
        let [unreadable] = policies.unreadable() else {
            panic!("{root}");
        };
        let unreadable = unreadable.to_string();
        let start = format!("cannot use the ClusterImagePolicy `a`: {expected}");
        assert!(unreadable.starts_with(&start), "{unreadable}");

        let policy = LoadedPolicy::accept_anything(JudgeOptions::default());
        let policy = policy.with_image_policies(&policies);
        let refused = (VerdictState::Refused, Some(RefusalCode::PolicyUnreadable));
        assert_eq!(judge(&policy, "quay.io/a/b:v1"), refused, "{root}");
        let accepted = (VerdictState::Accepted, None);
        assert_eq!(judge(&policy, "quay.io/b:v1"), accepted, "{root}");
        let reason = policy.unreadable_for(&image("quay.io/a:v1"));
        assert_eq!(reason, Some(unreadable.as_str()));
    }
}

#[test]
fn an_object_without_readable_scopes_is_an_error() {
    let root = public_key_of(&base64(&key()));
    let cases = [
        (json!({ "policy": {} }), "the member `scopes` is missing"),
        (
            spec(&json!(["quay.io", ""]), &root),
            "scopes: a scope is empty",
        ),
        (json!([]), "invalid type: sequence, expected an object"),
    ];
    for (spec, expected) in cases {
        let mut policies = ImagePolicies::default();
        let error = policies.add(ImagePolicyKind::Namespace, "a", &spec.to_string());
        let error = error.unwrap_err().to_string();
        let start = format!("cannot use the ImagePolicy `a`: {expected}");
        assert!(error.starts_with(&start), "{error}");
    }
}

#[test]
fn requirements_are_added_to_those_of_the_policy_and_the_narrowest_scope_counts() {
    let text = r#"{
        "default": [{"type": "reject"}],
        "transports": {"docker": {
            "quay.io/open": [{"type": "insecureAcceptAnything"}],
            "quay.io/closed": [{"type": "reject"}],
            "quay.io/a/open": [{"type": "insecureAcceptAnything"}]
        }}
    }"#;
    let options = JudgeOptions::default();
    let file = Policy::parse(text).unwrap();
    let file = file.load(options, |_| unreachable!("it names no files"));
    let file = file.unwrap();
    let mut policies = ImagePolicies::default();
    let scopes = json!(["quay.io/a", "quay.io/open", "quay.io/closed"]);
    let spec = spec(&scopes, &public_key_of(&base64(&key()))).to_string();
    policies.add(ImagePolicyKind::Cluster, "a", &spec).unwrap();
    let scopes: Vec<_> = policies.scopes().collect();
    assert_eq!(scopes, ["quay.io/a", "quay.io/closed", "quay.io/open"]);
    let policy = file.clone().with_image_policies(&policies);
    let missing = (VerdictState::Refused, Some(RefusalCode::SignatureMissing));
    let rejected = (VerdictState::Refused, Some(RefusalCode::PolicyRejects));
    let accepted = (VerdictState::Accepted, None);
    let cases = [
        ("quay.io/other:v1", rejected),
        ("quay.io/closed:v1", rejected),
        ("quay.io/open:v1", missing),
        ("quay.io/a:v1", missing),
        ("quay.io/a/open:v1", accepted),
    ];
    for (name, expected) in cases {
        assert_eq!(judge(&policy, name), expected, "{name}");
    }

    // The digest tells sets apart, also when only the name of an object differs.
    let mut renamed = ImagePolicies::default();
    renamed.add(ImagePolicyKind::Cluster, "b", &spec).unwrap();
    let renamed = file.clone().with_image_policies(&renamed);
    let again = file.clone().with_image_policies(&policies);
    assert_eq!(policy.digest(), again.digest());
    assert_ne!(policy.digest(), renamed.digest());
    assert_ne!(policy.digest(), file.digest());
}
