//! Simple signing: requirements of `OpenPGP` signatures.

use crate::document::{PolicyError, SignedBy};
use crate::identity::SignedIdentity;
use crate::openpgp::{self, KeyRing};
use crate::payload::SIMPLE_TYPE;
use crate::subject::{SignatureSubject, refusal};
use crate::{Refusal, RefusalCode};

/// Type of the keys that are supported.
const OPENPGP_KEYS: &str = "GPGKeys";

/// A requirement of simple signing with its keys.
#[derive(Clone, Debug)]
pub(crate) struct SimpleRequirement {
    /// Number and type of the keys, for messages.
    keys: String,
    identity: SignedIdentity,
    ring: Result<KeyRing, UnusableKeys>,
}

/// The reason why a requirement never holds.
#[derive(Clone, Debug)]
struct UnusableKeys {
    code: RefusalCode,
    reason: String,
}

impl SimpleRequirement {
    /// Creates the requirement; `read` reads its keys. Policies of whole systems name keys for some
    /// registries, and images of other registries must not be refused because of these. Keys that
    /// cannot be used therefore make a requirement that never holds, as they do in podman.
    pub(crate) fn new(
        signed: &SignedBy,
        read: impl FnOnce() -> Result<KeyRing, PolicyError>,
    ) -> Self {
        let unsupported = |reason: &str| UnusableKeys {
            code: RefusalCode::RequirementUnsupported,
            reason: reason.to_owned(),
        };
        let unreadable = |error: PolicyError| UnusableKeys {
            code: RefusalCode::PolicyUnreadable,
            reason: error.to_string(),
        };
        let ring = if signed.key_type != OPENPGP_KEYS {
            Err(unsupported(
                "keys of this type are not supported, as in other tools",
            ))
        } else if openpgp::IS_SUPPORTED {
            read().map_err(unreadable)
        } else {
            Err(unsupported(
                "OpenPGP signatures are not supported: use `sigstoreSigned`, or --no-signature-policy to accept every image",
            ))
        };
        Self {
            keys: format!("{} {}", signed.keys.len(), signed.key_type),
            identity: signed.identity.clone(),
            ring,
        }
    }

    /// Returns whether a signature can meet the requirement.
    pub(crate) fn can_hold(&self) -> bool {
        self.ring.is_ok()
    }

    /// Returns the refusal of every image if no signature can meet the requirement.
    pub(crate) fn check_keys(&self, scope: &str) -> Result<(), Refusal> {
        let refused = |unusable: &UnusableKeys| {
            let message = format!(
                "the scope `{scope}` requires `signedBy` with {} for {}, and {}",
                self.keys,
                self.identity.name(),
                unusable.reason
            );
            refusal(unusable.code, message)
        };
        self.ring.as_ref().map(|_| ()).map_err(refused)
    }

    /// Verifies a signature, and returns who signed.
    pub(crate) fn verify(
        &self,
        subject: SignatureSubject<'_>,
        message: &[u8],
    ) -> Result<String, Refusal> {
        let ring = self
            .ring
            .as_ref()
            .map_err(|unusable| refusal(unusable.code, unusable.reason.as_str()))?;
        let verified = ring.verify(message, subject.now)?;
        subject.verify_payload(&self.identity, &verified.payload, SIMPLE_TYPE)?;
        Ok(format!("OpenPGP key {}", verified.fingerprint))
    }
}
