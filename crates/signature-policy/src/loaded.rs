//! A policy with its keys, and its decisions.

use std::io;
use std::path::Path;

use content_digest::DigestHasher;
use fbc_grammar::Digest;
use jiff::Timestamp;

use crate::certificate::{Certificate, parse_pem};
use crate::document::{
    DataSource, PolicyError, Requirement, ScopeTable, SignedBy, SigstoreSigned, SigstoreTrust,
};
use crate::evidence::{Evidence, ImageSignatures, MAX_SIGNATURES, SignedManifest};
use crate::key::{KeyError, MAX_KEYRING_BYTES, MAX_KEYS, PublicKey};
use crate::sigstore::{LoadedTrust, SignatureSubject, SigstoreRequirement};
use crate::{
    Policy, PolicyReference, Refusal, RefusalCode, Verdict, VerdictState, VerifiedManifest,
};

/// Settings beside the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JudgeOptions {
    /// Refuse images in registries whose requirements verify nothing.
    pub require_signatures: bool,
    /// Do not accept a manifest because its index is signed.
    pub instances_only: bool,
}

/// A policy with its keys.
#[derive(Clone, Debug)]
pub struct LoadedPolicy {
    table: ScopeTable<LoadedRequirement>,
    options: JudgeOptions,
    digest: Digest,
}

#[derive(Clone, Debug)]
enum LoadedRequirement {
    InsecureAcceptAnything,
    Reject,
    SigstoreSigned(Box<SigstoreRequirement>),
    /// The keys of the requirement are not read: it never holds.
    SignedBy(SignedBy),
}

/// An image that is judged.
#[derive(Clone, Copy)]
struct JudgedImage<'a> {
    image: &'a PolicyReference,
    scope: &'a str,
    now: Timestamp,
}

/// The requirements that hold for one manifest.
#[derive(Default)]
struct FulfilledRequirements {
    signers: Vec<String>,
    refusals: Vec<Refusal>,
}

/// Reads the files of a policy and hashes them.
struct SourceReader<R> {
    read: R,
    hasher: DigestHasher,
}

impl Policy {
    /// Reads the keys that the policy names. The digest of the result covers the policy, its keys,
    /// and the options.
    pub fn load(
        &self,
        options: JudgeOptions,
        read: impl FnMut(&Path) -> io::Result<Vec<u8>>,
    ) -> Result<LoadedPolicy, PolicyError> {
        let mut hasher = DigestHasher::new();
        hasher.update(self.digest.as_bytes());
        hasher.update(&[
            u8::from(options.require_signatures),
            u8::from(options.instances_only),
        ]);
        let mut reader = SourceReader { read, hasher };
        let table = self.map(|requirement| reader.requirement(requirement))?;
        Ok(LoadedPolicy {
            table,
            options,
            digest: reader.hasher.finish(),
        })
    }
}

impl<R: FnMut(&Path) -> io::Result<Vec<u8>>> SourceReader<R> {
    fn requirement(&mut self, requirement: &Requirement) -> Result<LoadedRequirement, PolicyError> {
        match requirement {
            Requirement::InsecureAcceptAnything => Ok(LoadedRequirement::InsecureAcceptAnything),
            Requirement::Reject => Ok(LoadedRequirement::Reject),
            Requirement::SigstoreSigned(signed) => {
                let loaded = self.sigstore(signed)?;
                Ok(LoadedRequirement::SigstoreSigned(Box::new(loaded)))
            }
            // Policies of whole systems name OpenPGP keys for some registries. Images of other
            // registries must not be refused for that.
            Requirement::SignedBy(signed) => Ok(LoadedRequirement::SignedBy(signed.clone())),
            Requirement::SignedBaseLayer => Err(PolicyError::new(
                "`signedBaseLayer` is not supported, as in other tools",
            )),
        }
    }

    fn sigstore(&mut self, signed: &SigstoreSigned) -> Result<SigstoreRequirement, PolicyError> {
        let trust = match &signed.trust {
            SigstoreTrust::Keys(sources) => LoadedTrust::Keys(self.keys(sources)?),
            SigstoreTrust::Fulcio {
                authorities,
                issuer,
                email,
            } => LoadedTrust::Fulcio {
                roots: self.certificates(authorities)?,
                issuer: issuer.clone(),
                email: email.clone(),
            },
            SigstoreTrust::Pki {
                roots,
                intermediates,
                email,
                host,
            } => LoadedTrust::Pki {
                roots: self.certificates(roots)?,
                intermediates: match intermediates {
                    Some(source) => self.certificates(source)?,
                    None => Vec::new(),
                },
                email: email.clone(),
                host: host.clone(),
            },
        };
        let mut rekor = None;
        if let Some(sources) = &signed.rekor {
            let keys = self.keys(sources)?;
            if !keys.iter().all(PublicKey::is_ecdsa) {
                return Err(PolicyError::new(format!(
                    "cannot use a public key of Rekor: {}",
                    KeyError::NotEcdsa
                )));
            }
            rekor = Some(keys);
        }
        Ok(SigstoreRequirement {
            trust,
            rekor,
            identity: signed.identity.clone(),
        })
    }

    fn keys(&mut self, sources: &[DataSource]) -> Result<Vec<PublicKey>, PolicyError> {
        if sources.len() > MAX_KEYS {
            return Err(PolicyError::new(format!(
                "{} keys exceed the limit of {MAX_KEYS}",
                sources.len()
            )));
        }
        let mut keys = Vec::new();
        for source in sources {
            let bytes = self.bytes(source)?;
            let key = PublicKey::from_pem(&bytes).map_err(|error| {
                PolicyError::new(format!("cannot use the key {}: {error}", source.label()))
            })?;
            keys.push(key);
        }
        Ok(keys)
    }

    fn certificates(&mut self, source: &DataSource) -> Result<Vec<Certificate>, PolicyError> {
        let bytes = self.bytes(source)?;
        parse_pem(&bytes).map_err(|error| {
            PolicyError::new(format!(
                "cannot use the certificates {}: {error}",
                source.label()
            ))
        })
    }

    fn bytes(&mut self, source: &DataSource) -> Result<Vec<u8>, PolicyError> {
        let bytes = match source {
            DataSource::Inline(bytes) => bytes.clone(),
            DataSource::File(path) => (self.read)(path).map_err(|error| {
                PolicyError::new(format!("cannot read `{}`: {error}", path.display()))
            })?,
        };
        if bytes.len() > MAX_KEYRING_BYTES {
            return Err(PolicyError::new(format!(
                "cannot use {}: it has more than {MAX_KEYRING_BYTES} bytes",
                source.label()
            )));
        }
        self.hasher
            .update(content_digest::digest(&bytes).as_bytes());
        Ok(bytes)
    }
}

impl LoadedPolicy {
    /// Returns the policy without a document: it accepts every image.
    pub fn accept_anything(options: JudgeOptions) -> Self {
        Self {
            table: ScopeTable::uniform(vec![LoadedRequirement::InsecureAcceptAnything]),
            options,
            digest: content_digest::digest(&[u8::from(options.require_signatures)]),
        }
    }

    /// SHA-256 of the policy, its keys and the options.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns whether the decision about an image depends on its signatures.
    pub fn needs_signatures(&self, image: &PolicyReference) -> bool {
        let list = self.table.find(image).requirements;
        let is_signed = |requirement: &LoadedRequirement| {
            matches!(requirement, LoadedRequirement::SigstoreSigned(_))
        };
        let is_rejected =
            |requirement: &LoadedRequirement| matches!(requirement, LoadedRequirement::Reject);
        list.iter().any(is_signed) && !list.iter().any(is_rejected)
    }

    /// Returns whether the signatures of indexes count.
    pub fn accepts_indexes(&self) -> bool {
        !self.options.instances_only
    }

    /// Decides about an image.
    pub fn judge(&self, image: &PolicyReference, evidence: &Evidence, now: Timestamp) -> Verdict {
        let applicable = self.table.find(image);
        let scope = applicable.name();
        let requirements = applicable.requirements;
        let judged = JudgedImage {
            image,
            scope: &scope,
            now,
        };
        let names = requirements
            .iter()
            .map(|requirement| requirement.name().to_owned());
        let mut verdict = Verdict {
            state: VerdictState::Refused,
            scope: scope.clone(),
            requirements: names.collect(),
            signers: Vec::new(),
            verified: None,
            refusals: Vec::new(),
        };
        if requirements
            .iter()
            .all(|requirement| matches!(requirement, LoadedRequirement::InsecureAcceptAnything))
        {
            if self.options.require_signatures && image.transport() == crate::reference::DOCKER {
                verdict.refusals.push(Refusal {
                    code: RefusalCode::SignatureNotRequiredByPolicy,
                    message: format!(
                        "`{}` needs a signature by --require-signatures, and the scope `{scope}` requires none",
                        image.identity()
                    ),
                });
            } else {
                verdict.state = VerdictState::Accepted;
            }
            return verdict;
        }
        let index = evidence.index.as_ref().filter(|_| self.accepts_indexes());
        let candidates = [
            (VerifiedManifest::Manifest, Some(&evidence.manifest)),
            (VerifiedManifest::Index, index),
        ];
        for (kind, manifest) in candidates {
            let Some(manifest) = manifest else { continue };
            let fulfilled = judged.fulfil(requirements, manifest);
            if fulfilled.refusals.is_empty() {
                verdict.state = VerdictState::Verified;
                verdict.signers = fulfilled.signers;
                verdict.verified = Some(kind);
                verdict.refusals = Vec::new();
                return verdict;
            }
            for refusal in fulfilled.refusals {
                if !verdict.refusals.contains(&refusal) {
                    verdict.refusals.push(refusal);
                }
            }
        }
        verdict
    }
}

impl LoadedRequirement {
    fn name(&self) -> &'static str {
        match self {
            Self::InsecureAcceptAnything => "insecureAcceptAnything",
            Self::Reject => "reject",
            Self::SigstoreSigned(_) => "sigstoreSigned",
            Self::SignedBy(_) => "signedBy",
        }
    }
}

impl JudgedImage<'_> {
    fn fulfil(
        &self,
        requirements: &[LoadedRequirement],
        manifest: &SignedManifest,
    ) -> FulfilledRequirements {
        let mut fulfilled = FulfilledRequirements::default();
        for requirement in requirements {
            match requirement {
                LoadedRequirement::InsecureAcceptAnything => {}
                LoadedRequirement::Reject => fulfilled.refusals.push(Refusal {
                    code: RefusalCode::PolicyRejects,
                    message: format!(
                        "policy rejects `{}` by the scope `{}`",
                        self.image.identity(),
                        self.scope
                    ),
                }),
                LoadedRequirement::SignedBy(signed) => fulfilled.refusals.push(Refusal {
                    code: RefusalCode::RequirementUnsupported,
                    message: format!(
                        "the scope `{}` requires `signedBy` with {} {} for {}, and OpenPGP signatures are not supported: use `sigstoreSigned`, or --no-signature-policy to accept every image",
                        self.scope,
                        signed.keys.len(),
                        signed.key_type,
                        signed.identity.name(),
                    ),
                }),
                LoadedRequirement::SigstoreSigned(requirement) => {
                    match self.verify_any(requirement, manifest) {
                        Ok(signer) if fulfilled.signers.contains(&signer) => {}
                        Ok(signer) => fulfilled.signers.push(signer),
                        Err(refusals) => fulfilled.refusals.extend(refusals),
                    }
                }
            }
        }
        fulfilled
    }

    /// Finds a signature that meets a requirement, and returns who signed. One bad signature never
    /// hides a good one.
    fn verify_any(
        &self,
        requirement: &SigstoreRequirement,
        manifest: &SignedManifest,
    ) -> Result<String, Vec<Refusal>> {
        let digest = content_digest::digest(&manifest.bytes);
        let subject = SignatureSubject {
            image: self.image,
            manifest: digest,
            now: self.now,
        };
        let signatures = &manifest.signatures;
        let mut refusals = Vec::new();
        for signature in signatures.attached.iter().take(MAX_SIGNATURES) {
            match requirement.verify(subject, signature) {
                Ok(signer) => return Ok(signer),
                Err(refusal) => refusals.push(refusal),
            }
        }
        for cause in &signatures.unreachable {
            refusals.push(Refusal {
                code: RefusalCode::SignatureUnreachable,
                message: format!(
                    "cannot fetch the signatures of `{}`: {cause}",
                    self.image.identity()
                ),
            });
        }
        if refusals.is_empty() {
            refusals.push(Refusal {
                code: RefusalCode::SignatureMissing,
                message: self.missing(digest, signatures),
            });
        }
        Err(refusals)
    }

    fn missing(&self, digest: Digest, signatures: &ImageSignatures) -> String {
        let mut message = format!(
            "`{}` ({digest}) has no signature that the scope `{}` asks for",
            self.image.identity(),
            self.scope
        );
        if !signatures.places.is_empty() {
            message.push_str("; looked at ");
            message.push_str(&signatures.places.join(", "));
        }
        if signatures.other_layers > 0 {
            let layers = format!(
                "; {} layers there are not signatures",
                signatures.other_layers
            );
            message.push_str(&layers);
        }
        if signatures.attachments_off {
            message.push_str("; registries.d has `use-sigstore-attachments: false` for it");
        }
        message
    }
}
