//! Verification: the decision of the signature policy about the image of a catalog.

use jiff::Timestamp;

/// The decision of the signature policy about the image that a catalog was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verification {
    /// Outcome of the decision.
    pub state: VerificationState,
    /// The scope of the policy that counted; `None` if the policy cannot be read.
    pub scope: Option<String>,
    /// Types of the requirements of that scope.
    pub requirements: Vec<String>,
    /// Keys or names that signed the image.
    pub signers: Vec<String>,
    /// The part that was accepted as signed, if one had to be.
    pub signed: Option<SignedPart>,
    /// Digest of the policy.
    pub policy: String,
    /// Time of the first decision by this policy with this outcome.
    pub verified_at: Timestamp,
    /// Reason of a refusal.
    pub reason: Option<VerificationReason>,
}

/// Outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerificationState {
    /// The policy accepts the image without a signature.
    Accepted,
    /// The image is signed as the policy requires.
    Verified,
    /// The policy refuses the image.
    Refused,
}

/// A part of an image that is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedPart {
    /// The manifest of the platform.
    Manifest,
    /// The index, which names the manifest by digest.
    Index,
}

/// The reason of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerificationReason {
    /// The kind of reason that says best why.
    pub code: &'static str,
    /// All reasons, in one line.
    pub message: String,
    /// The policy cannot be read, so that it decides nothing.
    pub is_unreadable: bool,
}

impl Verification {
    /// Returns whether both are the same decision by the same policy, whenever they were made.
    pub fn is_same(&self, other: &Self) -> bool {
        Self {
            verified_at: other.verified_at,
            ..self.clone()
        } == *other
    }

    /// Returns everything but the policy and the time as a text, which is the same in another process.
    pub(crate) fn decision(&self) -> String {
        let Self {
            state,
            scope,
            requirements,
            signers,
            signed,
            policy: _,
            verified_at: _,
            reason,
        } = self;
        // `Debug` quotes texts, so that no two decisions are the same text.
        format!("{state:?}{scope:?}{requirements:?}{signers:?}{signed:?}{reason:?}")
    }

    /// Returns whether the image is signed as the policy requires.
    pub fn is_verified(&self) -> bool {
        self.state == VerificationState::Verified
    }

    /// Returns whether the policy refuses the image.
    pub fn is_refused(&self) -> bool {
        self.state == VerificationState::Refused
    }

    /// Returns whether a refused catalog is withdrawn, where that is asked for. A policy that cannot
    /// be read withdraws nothing: a typo must not empty every console.
    pub fn withdraws(&self) -> bool {
        let is_unreadable = self
            .reason
            .as_ref()
            .is_some_and(|reason| reason.is_unreadable);
        self.is_refused() && !is_unreadable
    }
}

impl VerificationState {
    /// Returns the state as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "ACCEPTED",
            Self::Verified => "VERIFIED",
            Self::Refused => "REFUSED",
        }
    }
}
