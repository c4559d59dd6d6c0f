//! Decisions of the signature policy about images whose contents are stored. They are made anew from
//! the evidence that is kept with each content, without a registry.

use std::sync::Arc;

use images::{Judgement, RefusalCode, VerdictState, VerifiedManifest};
use serving::{SignedPart, Verification, VerificationReason, VerificationState};
use tokio::task::spawn_blocking;

use crate::pipeline::LoadPipeline;
use crate::{LoadError, Source, SourceSpec};

/// Maximum length in bytes of the reasons of a refusal that are shown.
pub const MAX_SHOWN_REASON_BYTES: usize = 4 << 10;

impl LoadPipeline {
    /// Decides about the stored content of a source, and keeps a decision that differs from the last
    /// one; `None` without a policy, and for sources that are not images.
    pub(crate) async fn verify(self: &Arc<Self>, spec: &SourceSpec) -> Option<Arc<Verification>> {
        if !is_judged(spec) {
            return None;
        }
        let pipeline = Arc::clone(self);
        let spec = spec.clone();
        let verified = spawn_blocking(move || pipeline.verify_blocking(&spec));
        match verified.await {
            Ok(verification) => verification,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        }
    }

    /// Decides as [`Self::verify`] does, on this thread.
    pub(crate) fn verify_blocking(&self, spec: &SourceSpec) -> Option<Arc<Verification>> {
        let Source::Image(image) = &spec.source else {
            return None;
        };
        let key = spec.key();
        let kept = self.kept_judgement(&key);
        let has_evidence = kept.is_some();
        let judgement = spec.registries.judge_again(image, kept.clone())?;
        if has_evidence && kept.as_ref() != Some(&judgement) {
            self.write_judgement(&key, &judgement);
        }
        Some(Arc::new(verification(judgement)))
    }

    /// Keeps the judgement of an image that a poll has found, if the stored content is of this
    /// image.
    pub(crate) async fn keep_judgement(
        self: &Arc<Self>,
        spec: &SourceSpec,
        revision: &str,
        judgement: Judgement,
    ) {
        let pipeline = Arc::clone(self);
        let spec = spec.clone();
        let revision = revision.to_owned();
        let kept =
            spawn_blocking(move || pipeline.keep_judgement_blocking(&spec, &revision, judgement));
        if let Err(failed) = kept.await {
            std::panic::resume_unwind(failed.into_panic());
        }
    }

    fn keep_judgement_blocking(&self, spec: &SourceSpec, revision: &str, mut found: Judgement) {
        let key = spec.key();
        let Source::Image(image) = &spec.source else {
            return;
        };
        // A policy that cannot be read decides nothing: the former decision stays.
        if found.verdict.code() == Some(RefusalCode::PolicyUnreadable)
            || !self.contents.store.has_revision(&key, Some(revision))
        {
            return;
        }
        let kept = self.kept_judgement(&key);
        if let Some(kept) = &kept {
            found.evidence = found.evidence.or_known(kept.evidence.clone());
        }
        let Some(mut judgement) = spec.registries.judge_again(image, Some(found)) else {
            return;
        };
        if let Some(kept) = &kept
            && kept.policy == judgement.policy
            && kept.verdict == judgement.verdict
        {
            judgement.judged_at = kept.judged_at;
        }
        if kept.as_ref() != Some(&judgement) {
            self.write_judgement(&key, &judgement);
        }
    }

    fn kept_judgement(&self, key: &str) -> Option<Judgement> {
        Judgement::from_json(&self.contents.store.evidence(key)?)
    }

    /// Writes a judgement. Without room for it, it is made again at the next start.
    fn write_judgement(&self, key: &str, judgement: &Judgement) {
        let store = &self.contents.store;
        if let Err(error) = store.set_evidence(key, &judgement.to_json()) {
            let error = LoadError::Store(error);
            tracing::warn!(
                source = key,
                error = error.chain(),
                "cannot keep the decision of the signature policy"
            );
        }
    }
}

/// Returns whether the signature policy decides about a source.
fn is_judged(spec: &SourceSpec) -> bool {
    matches!(spec.source, Source::Image(_)) && spec.registries.has_signature_policy()
}

/// Converts a judgement to what is shown of it.
fn verification(judgement: Judgement) -> Verification {
    let Judgement {
        policy,
        judged_at,
        verdict,
        ..
    } = judgement;
    let reason = verdict.code().map(|code| VerificationReason {
        code: code.as_str(),
        message: shorten(verdict.reason().unwrap_or_default()),
        is_unreadable: code == RefusalCode::PolicyUnreadable,
    });
    let state = match verdict.state {
        VerdictState::Accepted => VerificationState::Accepted,
        VerdictState::Verified => VerificationState::Verified,
        VerdictState::Refused => VerificationState::Refused,
    };
    Verification {
        state,
        reason: reason.filter(|_| state == VerificationState::Refused),
        scope: Some(verdict.scope).filter(|scope| !scope.is_empty()),
        requirements: verdict.requirements,
        signers: verdict.signers,
        signed: verdict.verified.map(|verified| match verified {
            VerifiedManifest::Manifest => SignedPart::Manifest,
            VerifiedManifest::Index => SignedPart::Index,
        }),
        policy,
        verified_at: judged_at,
    }
}

fn shorten(mut text: String) -> String {
    if text.len() > MAX_SHOWN_REASON_BYTES {
        text.truncate(text.floor_char_boundary(MAX_SHOWN_REASON_BYTES));
        text.push('…');
    }
    text
}
