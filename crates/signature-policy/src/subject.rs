//! The image that a signature is to be for, and the comparison with what is signed.

use fbc_grammar::Digest;
use jiff::Timestamp;

use crate::identity::SignedIdentity;
use crate::payload::SignedPayload;
use crate::{PolicyReference, Refusal, RefusalCode};

/// The image that a signature is to be for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SignatureSubject<'a> {
    pub(crate) image: &'a PolicyReference,
    pub(crate) manifest: Digest,
    /// The time at which keys, and certificates without a log, must be valid.
    pub(crate) now: Timestamp,
}

pub(crate) fn refusal(code: RefusalCode, message: impl Into<String>) -> Refusal {
    Refusal {
        code,
        message: message.into(),
    }
}

impl SignatureSubject<'_> {
    /// Compares a payload whose signature was verified. `kind` is the type that it must have.
    pub(crate) fn verify_payload(
        &self,
        identity: &SignedIdentity,
        payload: &[u8],
        kind: &str,
    ) -> Result<(), Refusal> {
        let payload = SignedPayload::parse(payload, kind).map_err(|error| {
            refusal(
                RefusalCode::SignatureMalformed,
                format!("cannot read the signed payload: {error}"),
            )
        })?;
        if !payload.is_for(self.manifest) {
            return Err(self.other_digest(&payload.digest));
        }
        if identity.accepts(self.image, &payload.reference) {
            return Ok(());
        }
        let hint = if SignedIdentity::MatchRepository.accepts(self.image, &payload.reference) {
            "; a signedIdentity of the type matchRepository accepts it"
        } else {
            ""
        };
        Err(refusal(
            RefusalCode::SignatureOfAnotherName,
            format!(
                "the signature is for `{}`, which {} does not accept for `{}`{hint}",
                payload.reference,
                identity.name(),
                self.image.identity()
            ),
        ))
    }

    /// Returns the refusal of a signature for another digest.
    pub(crate) fn other_digest(&self, signed: &str) -> Refusal {
        refusal(
            RefusalCode::SignatureOfAnotherDigest,
            format!(
                "the signature is for the digest `{signed}`, not for {}",
                self.manifest
            ),
        )
    }
}
