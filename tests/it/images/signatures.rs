//! Signed images: which ones are accepted. OpenSSL makes the keys and signatures. Where no signature
//! is verified, skopeo decides the same; Debian's skopeo verifies none of sigstore, which the
//! recorded decisions in `crates/signature-policy/tests` cover.

use std::net::SocketAddr;
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::support::{
    Folders, MediaTypes, Output, Registry, RegistryImage, catalogql, run, tar_archive, tool_command,
};

/// A registry with one image, a key, and files of policies.
pub(super) struct SignedFixture {
    pub(super) registry: Registry,
    pub(super) folders: Folders,
    image: RegistryImage,
}

/// A payload with its signature in base64.
struct SignedPayload {
    payload: Vec<u8>,
    signature: String,
}

/// The decisions of both programs.
#[derive(Debug, PartialEq, Eq)]
struct Decisions {
    ours: Option<i32>,
    skopeo: bool,
}

/// Media type of bundles.
const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// Both accept.
const ACCEPTED: Decisions = Decisions {
    ours: Some(0),
    skopeo: true,
};

/// Both refuse.
const REFUSED: Decisions = Decisions {
    ours: Some(1),
    skopeo: false,
};

impl SignedFixture {
    fn new() -> Self {
        Self::with_image(super::image())
    }

    /// A fixture with this image at `ns/catalog:v1`.
    pub(super) fn with_image(image: RegistryImage) -> Self {
        let folders = Folders::new();
        for name in ["release", "other"] {
            let private = folders.text(&format!("{name}.key"));
            let public = folders.text(&format!("{name}.pub"));
            openssl(&[
                "ecparam",
                "-genkey",
                "-name",
                "prime256v1",
                "-noout",
                "-out",
                &private,
            ]);
            openssl(&["ec", "-in", &private, "-pubout", "-out", &public]);
        }
        let lookup = "default-docker:\n  use-sigstore-attachments: true\n";
        folders.write("registries.d/default.yaml", lookup);
        let registry = Registry::start();
        registry.push("ns/catalog", "v1", &image);
        Self {
            registry,
            folders,
            image,
        }
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.registry.address
    }

    pub(super) fn name(&self) -> String {
        super::at(self.address())
    }

    /// Attaches a signature to a manifest, as cosign 2 does.
    pub(super) fn sign(&self, manifest: &RegistryImage, key: &str, identity: &str, digest: &str) {
        let signed = self.sign_payload(key, identity, digest);
        self.attach(manifest, vec![signed.payload], &signed.signature);
    }

    /// Attaches payloads to a manifest, with the signature of the last.
    fn attach(&self, manifest: &RegistryImage, payloads: Vec<Vec<u8>>, signature: &str) {
        let annotation = ("dev.cosignproject.cosign/signature", signature);
        let attachment = RegistryImage::signatures(payloads, &[annotation]);
        let tag = format!("{}.sig", manifest.digest().replace(':', "-"));
        self.registry.push("ns/catalog", &tag, &attachment);
    }

    fn sign_payload(&self, key: &str, identity: &str, digest: &str) -> SignedPayload {
        let payload = json!({
            "critical": {
                "identity": { "docker-reference": identity },
                "image": { "docker-manifest-digest": digest },
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let payload = payload.to_string().into_bytes();
        SignedPayload {
            signature: self.sign_bytes(key, &payload),
            payload,
        }
    }

    /// Signs bytes, and returns the signature in base64.
    fn sign_bytes(&self, key: &str, bytes: &[u8]) -> String {
        self.folders.write("payload", bytes);
        let [payload, signature] = ["payload", "signature"].map(|file| self.folders.text(file));
        let key = self.folders.text(&format!("{key}.key"));
        openssl(&[
            "dgst", "-sha256", "-sign", &key, "-out", &signature, &payload,
        ]);
        BASE64_STANDARD.encode(std::fs::read(&signature).expect("it was written"))
    }

    /// Makes a bundle for a digest, as cosign 3 does.
    fn bundle(&self, key: &str, digest: &str) -> Vec<u8> {
        let kind = "application/vnd.in-toto+json";
        let hex = digest.trim_start_matches("sha256:");
        let statement = json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{ "digest": { "sha256": hex } }],
            "predicateType": "https://sigstore.dev/cosign/sign/v1",
            "predicate": {},
        })
        .to_string();
        let signed = format!(
            "DSSEv1 {} {kind} {} {statement}",
            kind.len(),
            statement.len()
        );
        json!({
            "mediaType": BUNDLE,
            "verificationMaterial": { "publicKey": { "hint": "" } },
            "dsseEnvelope": {
                "payload": BASE64_STANDARD.encode(&statement),
                "payloadType": kind,
                "signatures": [{ "sig": self.sign_bytes(key, signed.as_bytes()) }],
            },
        })
        .to_string()
        .into_bytes()
    }

    /// Attaches bundles to the image, as cosign 3 does in a registry that lists no referrers.
    fn attach_bundles(&self, bundles: &[Vec<u8>]) {
        let artifacts: Vec<_> = bundles
            .iter()
            .map(|bundle| RegistryImage::referrer(&self.image, BUNDLE, bundle))
            .collect();
        let index = RegistryImage::referrers(&artifacts.iter().collect::<Vec<_>>());
        let tag = self.image.digest().replace(':', "-");
        self.registry.push("ns/catalog", &tag, &index);
    }

    pub(super) fn write_policy(&self, requirements: &Value) {
        let policy = json!({
            "default": [{ "type": "reject" }],
            "transports": { "docker": { format!("{}/ns", self.address()): requirements } },
        });
        self.folders.write("policy.json", policy.to_string());
    }

    pub(super) fn signed(&self, rule: &str) -> Value {
        json!([{
            "type": "sigstoreSigned",
            "keyPath": self.folders.text("release.pub"),
            "signedIdentity": { "type": rule },
        }])
    }

    fn verify(&self, more: &[&str]) -> Output {
        run(catalogql()
            .args(["verify", &self.name(), "--signature-policy"])
            .arg(self.folders.path("policy.json"))
            .arg("--registries-d")
            .arg(self.folders.path("registries.d"))
            .args(["--insecure-registry", &self.address().to_string()])
            .args(more))
    }

    fn decide(&self) -> Decisions {
        let mut copy = tool_command("skopeo");
        copy.arg("--policy")
            .arg(self.folders.path("policy.json"))
            .arg("--registries.d")
            .arg(self.folders.path("registries.d"))
            .args(["copy", "--quiet", "--src-tls-verify=false"])
            .args([
                "--remove-signatures",
                "--override-os=linux",
                "--override-arch=amd64",
            ])
            .arg(format!("docker://{}", self.name()))
            .arg(format!("dir:{}", self.folders.text("copy")));
        Decisions {
            ours: self.verify(&[]).status,
            skopeo: run(&mut copy).status == Some(0),
        }
    }
}

fn openssl(arguments: &[&str]) {
    let output = run(Command::new("openssl").args(arguments));
    assert_eq!(output.status, Some(0), "{}", output.stderr);
}

#[test]
fn an_image_is_accepted_if_it_is_signed_as_its_policy_requires() {
    let fixture = SignedFixture::new();
    let digest = fixture.image.digest();
    let name = fixture.name();
    let repository = name.trim_end_matches(":v1").to_owned();

    fixture.write_policy(&json!([{ "type": "insecureAcceptAnything" }]));
    assert_eq!(fixture.decide(), ACCEPTED, "anything");
    fixture.write_policy(&json!([{ "type": "reject" }]));
    assert_eq!(fixture.decide(), REFUSED, "reject");
    fixture.write_policy(&fixture.signed("matchRepoDigestOrExact"));
    assert_eq!(fixture.decide(), REFUSED, "not signed");

    let cases = [
        ("release", name.as_str(), digest.as_str(), 0),
        ("other", &name, &digest, 1),
        ("release", &repository, &digest, 1),
        ("release", &name.replace("v1", "v2"), &digest, 1),
        ("release", &name, &format!("sha256:{:064}", 0), 1),
    ];
    for (key, identity, digest, expected) in cases {
        fixture.sign(&fixture.image, key, identity, digest);
        let status = fixture.verify(&[]).status;
        assert_eq!(status, Some(expected), "{key} {identity} {digest}");
    }

    fixture.sign(&fixture.image, "release", &repository, &digest);
    fixture.write_policy(&fixture.signed("matchRepository"));
    assert_eq!(fixture.verify(&[]).status, Some(0), "repository");
}

/// catalogql accepts a manifest that a signed index names by its digest; skopeo does not.
#[test]
fn a_signed_index_covers_its_manifests_unless_instances_must_be_signed() {
    let fixture = SignedFixture::new();
    let image = &fixture.image;
    let other = RegistryImage::image(MediaTypes::Oci, &[tar_archive(&[("x", b"y")])], &[]);
    let index = RegistryImage::index(&[("linux/amd64", image), ("linux/arm64", &other)]);
    fixture.registry.push("ns/catalog", "v1", &index);
    fixture.write_policy(&fixture.signed("matchExact"));
    fixture.sign(&index, "release", &fixture.name(), &index.digest());
    let only_ours = Decisions {
        ours: Some(0),
        skopeo: false,
    };
    assert_eq!(fixture.decide(), only_ours);
    let verified = fixture.verify(&["-o", "json"]);
    let report: Value = serde_json::from_str(&verified.stdout).unwrap();
    assert_eq!(report["verified"], "INDEX");
    assert_eq!(fixture.verify(&["--verify-instances-only"]).status, Some(1));

    fixture.sign(image, "release", &fixture.name(), &image.digest());
    assert_eq!(fixture.verify(&["--verify-instances-only"]).status, Some(0));
}

/// catalogql reads bundles; skopeo does not.
#[test]
fn a_bundle_of_cosign_3_counts_by_the_repository_that_has_it() {
    let fixture = SignedFixture::new();
    let digest = fixture.image.digest();
    let others = vec![
        fixture.bundle("other", &digest),
        fixture.bundle("release", &format!("sha256:{:064}", 0)),
        b"{}".to_vec(),
    ];
    let only_ours = Decisions {
        ours: Some(0),
        skopeo: false,
    };

    fixture.write_policy(&fixture.signed("matchRepository"));
    fixture.attach_bundles(&others);
    assert_eq!(fixture.decide(), REFUSED, "no good one");
    // One bad bundle hides no good one.
    let mut bundles = others;
    bundles.push(fixture.bundle("release", &digest));
    fixture.attach_bundles(&bundles);
    assert_eq!(fixture.decide(), only_ours);

    fixture.write_policy(&fixture.signed("matchRepoDigestOrExact"));
    let refused = fixture.verify(&[]);
    assert_eq!(refused.status, Some(1));
    assert!(
        refused.stdout.contains("--accept-bundles-without-identity"),
        "{}",
        refused.stdout
    );
    let accepted = fixture.verify(&["--accept-bundles-without-identity"]);
    assert_eq!(accepted.status, Some(0), "{}", accepted.stdout);
}

#[test]
fn a_bundle_that_is_too_large_does_not_hide_a_good_one() {
    let fixture = SignedFixture::new();
    fixture.write_policy(&fixture.signed("matchRepository"));
    let digest = fixture.image.digest();
    let padded = |mut bundle: Vec<u8>, bytes: usize| {
        bundle.resize(bytes, b' ');
        bundle
    };
    let largest = padded(fixture.bundle("release", &digest), 1 << 20);
    let too_large = padded(fixture.bundle("release", &digest), (1 << 20) + 1);

    fixture.attach_bundles(std::slice::from_ref(&too_large));
    let output = fixture.verify(&[]);
    assert_eq!(output.status, Some(2), "{}", output.stdout);
    assert!(
        output.stdout.contains("more than 1048576 bytes"),
        "{}",
        output.stdout
    );
    fixture.attach_bundles(&[too_large, largest]);
    assert_eq!(fixture.verify(&[]).status, Some(0));
}

#[test]
fn the_guide_shows_what_verify_prints() {
    let fixture = SignedFixture::new();
    let guide = std::fs::read_to_string("docs/how-to/signatures.md").unwrap();
    let here = |text: &str| {
        text.replace("quay.io/example", &format!("{}/ns", fixture.address()))
            .replace(
                "/etc/catalogql/release.pub",
                &fixture.folders.text("release.pub"),
            )
    };
    fixture
        .folders
        .write("policy.json", here(block(&guide, "json")));
    let (refused, accepted) = (block(&guide, "text"), block(&guide, "txt"));

    let digest = fixture.image.digest();
    let shown = |output: &Output| {
        let mut shown = output
            .stdout
            .replace(&format!("{}/ns", fixture.address()), "quay.io/example")
            .replace(&digest, "sha256:7ac2…")
            .replace(&digest.replace(':', "-"), "sha256-7ac2…");
        if let Some(at) = shown.find("key sha256:") {
            shown.replace_range(at.., "key sha256:52d1…\n");
        }
        shown
    };
    let output = fixture.verify(&[]);
    assert_eq!((output.status, shown(&output).as_str()), (Some(1), refused));

    let repository = fixture.name().replace(":v1", "");
    fixture.sign(&fixture.image, "release", &repository, &digest);
    let output = fixture.verify(&[]);
    assert_eq!(
        (output.status, shown(&output).as_str()),
        (Some(0), accepted)
    );
}

#[test]
fn no_command_reads_an_image_that_the_policy_refuses() {
    let fixture = SignedFixture::new();
    let list = |flags: &[&str]| {
        run(catalogql()
            .args(["list", "catalogs", &fixture.name()])
            .args(["--insecure-registry", &fixture.address().to_string()])
            .args(flags))
    };
    let policy = fixture.folders.text("policy.json");
    fixture.write_policy(&fixture.signed("matchExact"));
    let refused = list(&["--signature-policy", &policy]);
    assert_eq!(refused.status, Some(2));
    assert!(
        refused.stderr.contains("(SIGNATURE_MISSING)"),
        "{}",
        refused.stderr
    );

    fixture.folders.write("policy.json", "{\"default\": []}");
    let unreadable = list(&["--signature-policy", &policy]);
    assert!(
        unreadable.stderr.contains("(POLICY_UNREADABLE)")
            && unreadable
                .stderr
                .contains("the list of requirements is empty"),
        "{}",
        unreadable.stderr
    );

    let required = list(&["--no-signature-policy", "--require-signatures"]);
    assert!(
        required
            .stderr
            .contains("(SIGNATURE_NOT_REQUIRED_BY_POLICY)"),
        "{}",
        required.stderr
    );
}

#[test]
fn signatures_that_cannot_be_fetched_are_not_missing() {
    let fixture = SignedFixture::new();
    fixture.write_policy(&fixture.signed("matchExact"));
    // A tag of the form of attachments that names something else than a manifest of signatures.
    let tag = format!("{}.sig", fixture.image.digest().replace(':', "-"));
    let index = RegistryImage::index(&[("linux/amd64", &fixture.image)]);
    fixture.registry.push("ns/catalog", &tag, &index);
    let output = fixture.verify(&[]);
    assert_eq!(output.status, Some(2), "{}", output.stdout);
    assert!(
        output.stdout.contains("SIGNATURE_UNREACHABLE"),
        "{}",
        output.stdout
    );
}

#[test]
fn a_signature_that_is_too_large_does_not_hide_a_good_one() {
    let fixture = SignedFixture::new();
    fixture.write_policy(&fixture.signed("matchExact"));
    let digest = fixture.image.digest();
    let too_large = vec![b' '; (4 << 20) + 1];

    let good = fixture.sign_payload("release", &fixture.name(), &digest);
    let payloads = vec![too_large.clone(), good.payload];
    fixture.attach(&fixture.image, payloads, &good.signature);
    let output = fixture.verify(&[]);
    assert_eq!(output.status, Some(0), "{}", output.stdout);

    let bad = fixture.sign_payload("other", &fixture.name(), &digest);
    let payloads = vec![too_large, bad.payload];
    fixture.attach(&fixture.image, payloads, &bad.signature);
    let output = fixture.verify(&[]);
    assert_eq!(output.status, Some(2), "{}", output.stdout);
    for text in [
        "SIGNATURE_UNREACHABLE",
        "key sha256:",
        "more than 4194304 bytes",
    ] {
        assert!(output.stdout.contains(text), "{text}: {}", output.stdout);
    }
}

/// Returns the first block of code in a language.
fn block<'a>(text: &'a str, language: &str) -> &'a str {
    let (_, rest) = text
        .split_once(&format!("```{language}\n"))
        .expect("the page has it");
    rest.split_once("```").expect("the page has it").0
}
