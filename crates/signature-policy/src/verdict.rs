//! Decisions about images.

use serde::{Deserialize, Serialize};

/// Maximum number of reasons that a bounded verdict has.
pub const MAX_REFUSALS: usize = 32;

/// Maximum length of each reason in bytes, in a bounded verdict. Reasons quote signatures, which
/// strangers write.
pub const MAX_REFUSAL_BYTES: usize = 2 << 10;

/// The decision of a policy about an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Outcome of the decision.
    pub state: VerdictState,
    /// The scope that counted: `TRANSPORT:SCOPE`, or `default`.
    pub scope: String,
    /// Types of the requirements that hold, or of those that do not.
    pub requirements: Vec<String>,
    /// Keys or names that signed the image.
    pub signers: Vec<String>,
    /// The manifest whose signatures were accepted, if any had to be.
    pub verified: Option<VerifiedManifest>,
    /// Reasons of a refusal.
    pub refusals: Vec<Refusal>,
}

/// Outcome of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VerdictState {
    /// The policy accepts the image without a signature.
    Accepted,
    /// The image is signed as the policy requires.
    Verified,
    /// The policy refuses the image.
    Refused,
}

/// A manifest whose signatures were accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VerifiedManifest {
    /// The manifest of the platform.
    Manifest,
    /// The index, which names the manifest by digest.
    Index,
}

/// A reason why an image is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Kind of the reason.
    pub code: RefusalCode,
    /// Explanation.
    pub message: String,
}

/// Kinds of reasons. The order is that of significance: with several refused signatures, the last
/// kind says best what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RefusalCode {
    /// No signature exists.
    SignatureMissing,
    /// A signature, or what belongs to it, cannot be read.
    SignatureMalformed,
    /// No key verifies the signature.
    SignatureNotVerified,
    /// A certificate, or the entry of a log, is not accepted.
    SignatureCertificate,
    /// The signature is for another manifest.
    SignatureOfAnotherDigest,
    /// The signature is for another name.
    SignatureOfAnotherName,
    /// Signatures cannot be fetched.
    SignatureUnreachable,
    /// The policy verifies nothing, and the settings require a signature.
    SignatureNotRequiredByPolicy,
    /// The policy requires a signature of a kind that is not supported.
    RequirementUnsupported,
    /// The policy rejects the image.
    PolicyRejects,
    /// The policy, or a key of it, cannot be read.
    PolicyUnreadable,
}

impl RefusalCode {
    /// Returns the code as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SignatureMissing => "SIGNATURE_MISSING",
            Self::SignatureMalformed => "SIGNATURE_MALFORMED",
            Self::SignatureNotVerified => "SIGNATURE_NOT_VERIFIED",
            Self::SignatureCertificate => "SIGNATURE_CERTIFICATE",
            Self::SignatureOfAnotherDigest => "SIGNATURE_OF_ANOTHER_DIGEST",
            Self::SignatureOfAnotherName => "SIGNATURE_OF_ANOTHER_NAME",
            Self::SignatureUnreachable => "SIGNATURE_UNREACHABLE",
            Self::SignatureNotRequiredByPolicy => "SIGNATURE_NOT_REQUIRED_BY_POLICY",
            Self::RequirementUnsupported => "REQUIREMENT_UNSUPPORTED",
            Self::PolicyRejects => "POLICY_REJECTS",
            Self::PolicyUnreadable => "POLICY_UNREADABLE",
        }
    }

    /// Returns whether a later attempt may succeed without a change of the image or the policy.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::SignatureMissing | Self::SignatureUnreachable)
    }
}

impl Verdict {
    /// Creates the refusal of an image because its policy cannot be read.
    pub fn unreadable(message: String) -> Self {
        Self {
            state: VerdictState::Refused,
            scope: String::new(),
            requirements: Vec::new(),
            signers: Vec::new(),
            verified: None,
            refusals: vec![Refusal {
                code: RefusalCode::PolicyUnreadable,
                message,
            }],
        }
    }

    /// Bounds the reasons, so that they can be kept and shown: the most significant ones stay.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        if self.refusals.len() > MAX_REFUSALS {
            self.refusals
                .sort_by_key(|refusal| std::cmp::Reverse(refusal.code));
            self.refusals.truncate(MAX_REFUSALS);
        }
        for refusal in &mut self.refusals {
            if refusal.message.len() > MAX_REFUSAL_BYTES {
                let end = refusal.message.floor_char_boundary(MAX_REFUSAL_BYTES);
                refusal.message.truncate(end);
                refusal.message.push('…');
            }
        }
        self
    }

    /// Returns whether the image is refused.
    pub fn is_refused(&self) -> bool {
        self.state == VerdictState::Refused
    }

    /// Returns the kind of reason that says best why the image is refused.
    pub fn code(&self) -> Option<RefusalCode> {
        self.refusals.iter().map(|refusal| refusal.code).max()
    }

    /// Returns all reasons of a refusal in one line.
    pub fn reason(&self) -> Option<String> {
        let texts: Vec<_> = self
            .refusals
            .iter()
            .map(|refusal| refusal.message.as_str())
            .collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(messages: Vec<(RefusalCode, String)>) -> Verdict {
        let refusals = messages
            .into_iter()
            .map(|(code, message)| Refusal { code, message });
        Verdict {
            refusals: refusals.collect(),
            ..Verdict::unreadable(String::new())
        }
    }

    #[test]
    fn reasons_are_bounded_in_number_and_length_and_the_significant_ones_stay() {
        let missing = (RefusalCode::SignatureMissing, "a".repeat(MAX_REFUSAL_BYTES));
        let fits = refused(vec![missing.clone(); MAX_REFUSALS]);
        assert_eq!(fits.clone().bounded(), fits);

        let mut many = vec![missing.clone(); MAX_REFUSALS];
        many.push((
            RefusalCode::SignatureOfAnotherName,
            "ä".repeat(MAX_REFUSAL_BYTES),
        ));
        let bounded = refused(many).bounded();
        let mut expected = vec![missing; MAX_REFUSALS - 1];
        let shortened = "ä".repeat(MAX_REFUSAL_BYTES / 2) + "…";
        expected.insert(0, (RefusalCode::SignatureOfAnotherName, shortened));
        assert_eq!(bounded, refused(expected));
    }
}
