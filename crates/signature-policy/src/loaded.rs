//! A policy with its keys, and its decisions.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use content_digest::DigestHasher;
use fbc_grammar::Digest;
use jiff::Timestamp;

use crate::certificate::{Certificate, parse_pem};
use crate::document::{
    DataSource, PolicyError, Requirement, ScopeTable, SigstoreSigned, SigstoreTrust,
};
use crate::evidence::{Evidence, MAX_SIGNATURES, SignedManifest};
use crate::key::{KeyError, MAX_KEYRING_BYTES, MAX_KEYS, PublicKey};
use crate::openpgp::KeyRing;
use crate::sigstore::{LoadedTrust, SigstoreRequirement};
use crate::simple::SimpleRequirement;
use crate::subject::SignatureSubject;
use crate::{
    ImagePolicies, Policy, PolicyReference, Refusal, RefusalCode, Verdict, VerdictState,
    VerifiedManifest,
};

/// Settings beside the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JudgeOptions {
    /// Refuse images in registries whose requirements verify nothing.
    pub require_signatures: bool,
    /// Do not accept a manifest because its index is signed.
    pub instances_only: bool,
    /// Accept bundles, which name no image, also where the policy asks for a name.
    pub accept_bundles_without_identity: bool,
}

/// Kinds of signatures on which a decision depends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NeededSignatures {
    /// Sigstore signatures.
    pub sigstore: bool,
    /// Signatures of simple signing.
    pub simple: bool,
}

/// A policy with its keys.
#[derive(Clone, Debug)]
pub struct LoadedPolicy {
    table: ScopeTable<LoadedRequirement>,
    options: JudgeOptions,
    digest: Digest,
}

#[derive(Clone, Debug)]
pub(crate) enum LoadedRequirement {
    InsecureAcceptAnything,
    Reject,
    SigstoreSigned(Box<SigstoreRequirement>),
    SignedBy(Box<SimpleRequirement>),
    /// The object that has the requirement cannot be read.
    Unreadable(String),
}

/// An image that is judged.
#[derive(Clone, Copy)]
struct JudgedImage<'a> {
    image: &'a PolicyReference,
    scope: &'a str,
    now: Timestamp,
    /// Bundles are accepted although they name no image.
    any_bundle_name: bool,
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
            u8::from(options.accept_bundles_without_identity),
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

impl Requirement {
    /// Loads a requirement that names no files.
    pub(crate) fn load_inline(&self) -> Result<LoadedRequirement, PolicyError> {
        let mut reader = SourceReader {
            read: |_: &Path| Err(io::ErrorKind::Unsupported.into()),
            hasher: DigestHasher::new(),
        };
        reader.requirement(self)
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
            Requirement::SignedBy(signed) => {
                let loaded = SimpleRequirement::new(signed, || self.key_ring(&signed.keys));
                Ok(LoadedRequirement::SignedBy(Box::new(loaded)))
            }
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

    fn key_ring(&mut self, sources: &[DataSource]) -> Result<KeyRing, PolicyError> {
        check_number(sources)?;
        let files: Result<Vec<_>, _> = sources.iter().map(|source| self.bytes(source)).collect();
        KeyRing::parse(&files?)
    }

    fn keys(&mut self, sources: &[DataSource]) -> Result<Vec<PublicKey>, PolicyError> {
        check_number(sources)?;
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

fn check_number(sources: &[DataSource]) -> Result<(), PolicyError> {
    if sources.len() > MAX_KEYS {
        return Err(PolicyError::new(format!(
            "{} keys exceed the limit of {MAX_KEYS}",
            sources.len()
        )));
    }
    Ok(())
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

    /// Adds the requirements of objects.
    #[must_use]
    pub fn with_image_policies(mut self, policies: &ImagePolicies) -> Self {
        policies.scopes.add_to(&mut self.table, |requirement| {
            matches!(requirement, LoadedRequirement::InsecureAcceptAnything)
        });
        let mut hasher = DigestHasher::new();
        hasher.update(self.digest.as_bytes());
        hasher.update(policies.digest().as_bytes());
        self.digest = hasher.finish();
        self
    }

    /// Returns why the policy decides nothing about an image, although it does about others: an
    /// object with requirements for it cannot be read.
    pub fn unreadable_for(&self, image: &PolicyReference) -> Option<&str> {
        let requirements = self.table.find(image).requirements;
        requirements.iter().find_map(|requirement| {
            if let LoadedRequirement::Unreadable(reason) = requirement {
                Some(reason.as_str())
            } else {
                None
            }
        })
    }

    /// SHA-256 of the policy, its keys and the options.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the kinds of signatures on which the decision about an image depends.
    pub fn needed_signatures(&self, image: &PolicyReference) -> NeededSignatures {
        let mut needed = NeededSignatures::default();
        for requirement in self.table.find(image).requirements {
            match requirement {
                LoadedRequirement::Reject | LoadedRequirement::Unreadable(_) => {
                    return NeededSignatures::default();
                }
                LoadedRequirement::InsecureAcceptAnything => {}
                LoadedRequirement::SigstoreSigned(_) => needed.sigstore = true,
                LoadedRequirement::SignedBy(requirement) => needed.simple |= requirement.can_hold(),
            }
        }
        needed
    }

    /// Returns whether the signatures of indexes count.
    pub fn accepts_indexes(&self) -> bool {
        !self.options.instances_only
    }

    /// Decides about an image.
    pub fn judge(&self, image: &PolicyReference, evidence: &Evidence, now: Timestamp) -> Verdict {
        let applicable = self.table.find(image);
        let scope = applicable.name();
        if let Some(reason) = self.unreadable_for(image) {
            return Verdict {
                scope,
                ..Verdict::unreadable(reason.to_owned())
            };
        }
        let requirements = applicable.requirements;
        let judged = JudgedImage {
            image,
            scope: &scope,
            now,
            any_bundle_name: self.options.accept_bundles_without_identity,
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
            Self::Unreadable(_) => "unreadable",
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
                LoadedRequirement::SignedBy(requirement) => {
                    fulfilled.add(self.verify_simple(requirement, manifest));
                }
                LoadedRequirement::Unreadable(reason) => fulfilled.refusals.push(Refusal {
                    code: RefusalCode::PolicyUnreadable,
                    message: reason.clone(),
                }),
                LoadedRequirement::SigstoreSigned(requirement) => {
                    fulfilled.add(self.verify_sigstore(requirement, manifest));
                }
            }
        }
        fulfilled
    }

    /// Finds a sigstore signature that meets a requirement, and returns who signed.
    fn verify_sigstore(
        &self,
        requirement: &SigstoreRequirement,
        manifest: &SignedManifest,
    ) -> Result<String, Vec<Refusal>> {
        let subject = self.subject(manifest);
        let signatures = &manifest.signatures;
        let attached = signatures.attached.iter().take(MAX_SIGNATURES);
        let attached = attached.map(|signature| requirement.verify(subject, signature));
        let bundles = signatures.bundles.iter().take(MAX_SIGNATURES);
        let bundles = bundles.map(|bundle| {
            let bytes = &manifest.bytes;
            requirement.verify_bundle(subject, bytes, &bundle.0, self.any_bundle_name)
        });
        self.first_valid(attached.chain(bundles), &signatures.unreachable)
            .map_err(|refusals| {
                let mut hints = String::new();
                if signatures.other_layers > 0 {
                    let layers = signatures.other_layers;
                    let _ = write!(hints, "; {layers} layers there are not signatures");
                }
                if signatures.attachments_off {
                    hints.push_str("; registries.d has `use-sigstore-attachments: false` for it");
                }
                self.or_missing(refusals, subject, &signatures.places, &hints)
            })
    }

    /// Finds a signature of simple signing that meets a requirement, and returns who signed.
    fn verify_simple(
        &self,
        requirement: &SimpleRequirement,
        manifest: &SignedManifest,
    ) -> Result<String, Vec<Refusal>> {
        requirement
            .check_keys(self.scope)
            .map_err(|refusal| vec![refusal])?;
        let subject = self.subject(manifest);
        let signatures = &manifest.signatures;
        let simple = signatures.simple.iter().take(MAX_SIGNATURES);
        let verified = simple.map(|message| requirement.verify(subject, &message.0));
        self.first_valid(verified, &signatures.lookaside_unreachable)
            .map_err(|refusals| {
                self.or_missing(refusals, subject, &signatures.lookaside_places, "")
            })
    }

    fn subject(&self, manifest: &SignedManifest) -> SignatureSubject<'_> {
        SignatureSubject {
            image: self.image,
            manifest: content_digest::digest(&manifest.bytes),
            now: self.now,
        }
    }

    /// Returns who made the first signature that is accepted. One bad signature never hides a good
    /// one.
    fn first_valid(
        &self,
        verified: impl Iterator<Item = Result<String, Refusal>>,
        unreachable: &[String],
    ) -> Result<String, Vec<Refusal>> {
        let mut refusals = Vec::new();
        for result in verified {
            match result {
                Ok(signer) => return Ok(signer),
                Err(refusal) => refusals.push(refusal),
            }
        }
        for cause in unreachable {
            refusals.push(Refusal {
                code: RefusalCode::SignatureUnreachable,
                message: format!(
                    "cannot fetch the signatures of `{}`: {cause}",
                    self.image.identity()
                ),
            });
        }
        Err(refusals)
    }

    /// Adds the refusal of an image without signatures if none was refused.
    fn or_missing(
        &self,
        mut refusals: Vec<Refusal>,
        subject: SignatureSubject<'_>,
        places: &[String],
        hints: &str,
    ) -> Vec<Refusal> {
        if refusals.is_empty() {
            let mut message = format!(
                "`{}` ({}) has no signature that the scope `{}` asks for",
                self.image.identity(),
                subject.manifest,
                self.scope
            );
            if !places.is_empty() {
                message.push_str("; looked at ");
                message.push_str(&places.join(", "));
            }
            message.push_str(hints);
            refusals.push(Refusal {
                code: RefusalCode::SignatureMissing,
                message,
            });
        }
        refusals
    }
}

impl FulfilledRequirements {
    fn add(&mut self, verified: Result<String, Vec<Refusal>>) {
        match verified {
            Ok(signer) if self.signers.contains(&signer) => {}
            Ok(signer) => self.signers.push(signer),
            Err(refusals) => self.refusals.extend(refusals),
        }
    }
}
