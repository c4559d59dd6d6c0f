//! Policies for signed images, as the tools of github.com/containers read them: `policy.json` and
//! registries.d.
//!
//! The crate is pure: callers pass the bytes of files, the evidence that they fetched (manifests and
//! signatures) and the time. [`Policy::parse`] reads a document, [`Policy::load`] the keys that it
//! names, and [`LoadedPolicy::judge`] decides about one image.
//!
//! | module | duty |
//! |---|---|
//! | `json` | objects without unknown or repeated members |
//! | `reference` | what a policy knows of an image: its identity and the scopes that may name it |
//! | `document` | `policy.json` |
//! | `image_policy` | objects of `OpenShift` that add requirements |
//! | `lookup` | registries.d: where signatures are |
//! | `identity` | which names in signatures are accepted |
//! | `payload` | the signed text |
//! | `key`, `certificate` | public keys; certificates and their chains |
//! | `rekor`, `log_proof` | entries of a transparency log |
//! | `subject` | the image that a signature is to be for |
//! | `sigstore`, `bundle` | the verification of one sigstore signature: an attachment, or a bundle |
//! | `simple`, `openpgp` | simple signing, with the feature `signatures-gpg` |
//! | `evidence` | manifests and signatures, as they are fetched and stored |
//! | `loaded`, `verdict` | the policy with its keys, and its decisions |
//! | `judgement` | decisions with their evidence, as they are kept |

mod bundle;
mod certificate;
mod document;
mod evidence;
mod identity;
mod image_policy;
mod json;
mod judgement;
mod key;
mod loaded;
mod log_proof;
mod lookup;
#[cfg_attr(not(feature = "signatures-gpg"), path = "no_openpgp.rs")]
mod openpgp;
mod payload;
mod reference;
mod rekor;
mod sigstore;
mod simple;
mod subject;
mod verdict;

pub use bundle::{MAX_BUNDLE_BYTES, MAX_LOG_ENTRIES, SIGN_PREDICATE, SIGSTORE_BUNDLE};
pub use certificate::MAX_CHAIN_CERTIFICATES;
pub use document::{Policy, PolicyError};
pub use evidence::{
    AttachedSignature, CERTIFICATE_ANNOTATION, CHAIN_ANNOTATION, Evidence, EvidenceBytes,
    ImageSignatures, MAX_ANNOTATION_BYTES, MAX_PAYLOAD_BYTES, MAX_SIGNATURES, REKOR_ANNOTATION,
    SIGNATURE_ANNOTATION, SIMPLE_SIGNING, SignedManifest,
};
pub use image_policy::{ImagePolicies, ImagePolicyKind, UnreadableImagePolicy};
pub use judgement::{Judgement, MAX_JUDGEMENT_BYTES};
pub use key::{MAX_KEYRING_BYTES, MAX_KEYS, MAX_OPENPGP_BYTES, OPENPGP_RSA_BITS};
pub use loaded::{JudgeOptions, LoadedPolicy, NeededSignatures};
pub use lookup::{LookupConfig, LookupError};
pub use reference::{PolicyReference, ReferenceError};
pub use verdict::{
    MAX_REFUSAL_BYTES, MAX_REFUSALS, Refusal, RefusalCode, Verdict, VerdictState, VerifiedManifest,
};
