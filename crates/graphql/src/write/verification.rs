//! `CatalogVerification` and `VerificationReason`.

use serving::{Served, SignedPart, Verification, VerificationReason};

use super::{Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::{CatalogVerificationField, VerificationReasonField};

/// The state of catalogs without a decision.
const NONE: &str = "NONE";

/// The type `CatalogVerification`.
#[derive(Clone, Copy)]
struct VerificationObject<'s>(Option<&'s Verification>);

impl<'a> ResponseWriter<'a> {
    /// `Catalog.verification` and `CatalogStatus.verification`.
    pub(super) fn verification(
        &mut self,
        verification: Option<&Verification>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.object(VerificationObject(verification), field)
    }
}

impl<'a> Object<'a> for VerificationObject<'_> {
    type Field = CatalogVerificationField;

    fn write(
        self,
        name: CatalogVerificationField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self(verification) = self;
        match name {
            CatalogVerificationField::State => writer.static_string(state(verification)),
            CatalogVerificationField::Scope => {
                let scope = verification.and_then(|verification| verification.scope.as_deref());
                writer.optional_string(scope);
            }
            CatalogVerificationField::Requirement => {
                let joined = verification.and_then(|it| joined(&it.requirements));
                writer.optional_string(joined.as_deref());
            }
            CatalogVerificationField::Signer => {
                let joined = verification.and_then(|it| joined(&it.signers));
                writer.optional_string(joined.as_deref());
            }
            CatalogVerificationField::Signed => {
                let signed = verification.and_then(|verification| verification.signed);
                writer.optional_string(signed.map(signed_part));
            }
            CatalogVerificationField::VerifiedAt => {
                writer.optional_time(verification.map(|verification| verification.verified_at));
            }
            CatalogVerificationField::Reason => {
                let reason = verification.and_then(|verification| verification.reason.as_ref());
                return writer.optional_object(reason, field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for &VerificationReason {
    type Field = VerificationReasonField;

    fn write(
        self,
        name: VerificationReasonField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            VerificationReasonField::Code => writer.static_string(self.code),
            VerificationReasonField::Message => writer.string(&self.message),
        }
        Ok(())
    }
}

/// Returns the state of a catalog, as the schema spells it.
pub(super) fn verification_state(served: &Served) -> &'static str {
    state(served.verification.as_deref())
}

fn state(verification: Option<&Verification>) -> &'static str {
    verification.map_or(NONE, |verification| verification.state.as_str())
}

fn signed_part(part: SignedPart) -> &'static str {
    match part {
        SignedPart::Manifest => "MANIFEST",
        SignedPart::Index => "INDEX",
    }
}

fn joined(texts: &[String]) -> Option<String> {
    (!texts.is_empty()).then(|| texts.join(", "))
}
