//! The place of `OpenPGP` in builds without the feature `signatures-gpg`: no ring can be parsed.

use jiff::Timestamp;

use crate::Refusal;
use crate::document::PolicyError;

/// True in builds that verify `OpenPGP` signatures.
pub(crate) const IS_SUPPORTED: bool = false;

/// The keys of a requirement. No value exists.
#[derive(Clone, Debug)]
pub(crate) enum KeyRing {}

/// A message whose signature was verified.
pub(crate) struct VerifiedMessage {
    pub(crate) payload: Vec<u8>,
    pub(crate) fingerprint: String,
}

impl KeyRing {
    pub(crate) fn parse(_files: &[Vec<u8>]) -> Result<Self, PolicyError> {
        Err(PolicyError::new("OpenPGP keys are not supported"))
    }

    pub(crate) fn verify(
        &self,
        _message: &[u8],
        _now: Timestamp,
    ) -> Result<VerifiedMessage, Refusal> {
        match *self {}
    }
}
