//! The status that an object should have: a pure function of the object and of the last attempt to
//! load its catalog.

use ::serving::{Content, VerificationState};
use std::time::Duration;

use fbc_read::Severity;
use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use loading::{FailureReason, Report, SyncStatus};
use olm_api::conditions::{self, progressing, serving, valid, verified};
use olm_api::{
    AvailabilityMode, CatalogUrls, ClusterCatalog, ClusterCatalogStatus, ResolvedImageSource,
    ResolvedSource, SourceType,
};

use crate::desired::{desired_source, serving_status};
use crate::failure::{is_same_message, is_terminal, message};
use crate::{CATALOGS_PATH, ControllerMode};

/// Time after which a catalog that the replica still loads, but whose status is `Serving=True`, is
/// reported as not served.
pub const FIRST_REPORT: Duration = Duration::from_secs(10);

/// Maximum length in bytes of the problem that the condition `Valid` quotes. The condition is printed
/// by `kubectl describe` and repeated in an event, where a list of problems would be unreadable.
pub const MAX_QUOTED_PROBLEM_BYTES: usize = 200;

/// Maximum length in bytes of the message of a condition. Kubernetes allows 32768.
pub const MAX_MESSAGE_BYTES: usize = 4096;

/// A catalog's object with the state of its load: the input of its status.
pub(crate) struct Observed<'a> {
    pub(crate) object: &'a ClusterCatalog,
    /// Reason why its source is invalid.
    pub(crate) invalid: Option<&'a str>,
    /// Report of the last attempt to load it; `None` before the first, and once it is withdrawn.
    pub(crate) report: Option<&'a Report>,
    /// The first attempt has taken longer than [`FIRST_REPORT`].
    pub(crate) is_late: bool,
    /// Base of the URL of its content, such as `http://catalogd-service.olmv1-system.svc`.
    pub(crate) base_url: &'a str,
}

/// A condition without its times.
struct ConditionState {
    kind: &'static str,
    is_true: bool,
    reason: &'static str,
    message: String,
}

impl Observed<'_> {
    /// Returns the status that the object should have; `None` while no attempt to load its current
    /// source has ended. Conditions that did not change keep their transition time, and those that
    /// changed have `now`.
    pub(crate) fn status(&self, now: Timestamp) -> Option<ClusterCatalogStatus> {
        let former = self.object.status.clone().unwrap_or_default();
        let states = self.states()?;
        let generation = self.object.metadata.generation;
        let mut conditions: Vec<_> = states
            .into_iter()
            .map(|state| state.condition(&former.conditions, generation, now))
            .collect();
        if !self.is_known() {
            // The state of the source is unknown: the last known condition is kept.
            let is_kept = |condition: &&Condition| condition.type_ == conditions::PROGRESSING;
            conditions.extend(former.conditions.iter().find(is_kept).cloned());
        }
        conditions.sort_by(|one, other| one.type_.cmp(&other.type_));
        let content = self.content();
        let resolved_source = content.and_then(resolved_source);
        let is_same_source = resolved_source == former.resolved_source;
        // Each replica unpacks by itself. The first time is kept, so that a fail-over changes nothing.
        let last_unpacked = former
            .last_unpacked
            .filter(|_| is_same_source)
            .or_else(|| last_unpacked(content?));
        Some(ClusterCatalogStatus {
            conditions,
            urls: content.map(|_| CatalogUrls { base: self.url() }),
            last_unpacked: last_unpacked.filter(|_| content.is_some()),
            resolved_source,
        })
    }

    fn states(&self) -> Option<Vec<ConditionState>> {
        if self.object.metadata.deletion_timestamp.is_some() {
            return None;
        }
        if self.object.spec.availability_mode == AvailabilityMode::Unavailable {
            // The status changes once the content is withdrawn, and not before.
            return self.report.is_none().then(unavailable);
        }
        if let Some(reason) = self.invalid {
            let blocked =
                ConditionState::new(conditions::PROGRESSING, false, progressing::BLOCKED, reason);
            return Some([blocked].into_iter().chain(self.served()).collect());
        }
        let Some(report) = self.report else {
            let is_wrong = self.is_late && serving_status(self.object) == Some("True");
            return is_wrong.then(|| self.served());
        };
        // The report may be about the source of an older generation of the object.
        let is_current = desired_source(self.object, ControllerMode::Manage)
            .is_ok_and(|source| source == *report.source);
        is_current.then(|| progress(report).into_iter().chain(self.served()).collect())
    }

    /// Returns the conditions about the served content, whether or not it is the desired one.
    fn served(&self) -> Vec<ConditionState> {
        let serving = match self.content() {
            Some(_) => ConditionState::new(
                conditions::SERVING,
                true,
                serving::AVAILABLE,
                serving::SERVING_DESIRED,
            ),
            None => ConditionState::new(conditions::SERVING, false, serving::UNAVAILABLE, ""),
        };
        [serving]
            .into_iter()
            .chain(self.validity())
            .chain(self.verification())
            .collect()
    }

    /// Returns the condition about the signatures of the image; `None` if no policy requires some.
    fn verification(&self) -> Option<ConditionState> {
        let report = self.report?;
        let verification = report.verification.as_deref()?;
        let scope = verification.scope.as_deref().unwrap_or_default();
        match verification.state {
            VerificationState::Accepted => None,
            VerificationState::Verified => {
                let signers = verification.signers.join(", ");
                Some(ConditionState::new(
                    conditions::VERIFIED,
                    true,
                    verified::ACCEPTED,
                    &format!("Signed as the scope {scope} requires: {signers}"),
                ))
            }
            VerificationState::Refused => {
                let reason = verification.reason.as_ref();
                let code = reason.map_or("", |reason| reason.code);
                let text = reason.map_or("", |reason| reason.message.as_str());
                let state = match report.content {
                    Some(_) => "it is still served",
                    None => "it is not served",
                };
                Some(ConditionState::new(
                    conditions::VERIFIED,
                    false,
                    verified::REFUSED,
                    &format!(
                        "The signature policy refuses the content, and {state}: {code}: {text}"
                    ),
                ))
            }
        }
    }

    fn validity(&self) -> Option<ConditionState> {
        if let Some(error) = self.report.and_then(Report::error)
            && error.reason() == FailureReason::InvalidCatalog
        {
            return Some(ConditionState::new(
                conditions::VALID,
                false,
                valid::UNREADABLE,
                &message(error),
            ));
        }
        let content = self.content()?;
        let problems = content.catalog.all_problems();
        let [errors, warnings] = [Severity::Error, Severity::Warning]
            .map(|severity| problems.counts.of_severity(severity));
        let counts = format!(
            "{} and {}",
            counted(errors, "error"),
            counted(warnings, "warning")
        );
        // The minimum by severity is the first of the most severe, in catalog order.
        let first = problems.listed.iter().min_by_key(|p| p.severity());
        let message = match first {
            Some(problem) => format!(
                "{counts}, the first: {}; `catalogql validate {}` lists all",
                shorten(&problem.message, MAX_QUOTED_PROBLEM_BYTES),
                self.reference(),
            ),
            None => counts,
        };
        let reason = if errors == 0 {
            valid::NO_ERRORS
        } else {
            valid::ERRORS_FOUND
        };
        Some(ConditionState::new(
            conditions::VALID,
            errors == 0,
            reason,
            &message,
        ))
    }

    /// Returns the reference of the image, as `catalogql validate` accepts it.
    fn reference(&self) -> &str {
        let image = self.object.spec.source.image.as_ref();
        image.map_or("IMAGE", |image| image.reference.as_str())
    }

    pub(crate) fn content(&self) -> Option<&Content> {
        self.report?.content.as_ref()
    }

    /// Returns whether the condition `Progressing` can be determined.
    fn is_known(&self) -> bool {
        let is_known = |report: &Report| !matches!(report.status, SyncStatus::Pending);
        let is_unavailable = self.object.spec.availability_mode == AvailabilityMode::Unavailable;
        is_unavailable || self.invalid.is_some() || self.report.is_some_and(is_known)
    }

    fn url(&self) -> String {
        let name = self.object.metadata.name.as_deref().unwrap_or_default();
        format!("{}{CATALOGS_PATH}{name}", self.base_url)
    }
}

impl ConditionState {
    fn new(kind: &'static str, is_true: bool, reason: &'static str, message: &str) -> Self {
        Self {
            kind,
            is_true,
            reason,
            message: shorten(message, MAX_MESSAGE_BYTES),
        }
    }

    fn condition(self, former: &[Condition], generation: Option<i64>, now: Timestamp) -> Condition {
        let former = former.iter().find(|former| former.type_ == self.kind);
        let status = if self.is_true { "True" } else { "False" };
        let same = former.filter(|former| former.status == status);
        let same_message = same.filter(|former| {
            former.reason == self.reason
                && is_same_message(&former.message, &self.message)
                && self.is_failure()
        });
        Condition {
            type_: self.kind.to_owned(),
            status: status.to_owned(),
            reason: self.reason.to_owned(),
            message: same_message.map_or(self.message, |former| former.message.clone()),
            observed_generation: generation,
            last_transition_time: same.map_or_else(
                || Time(seconds(now)),
                |same| same.last_transition_time.clone(),
            ),
        }
    }

    /// Returns whether the message describes a failed attempt, and not the served content.
    fn is_failure(&self) -> bool {
        matches!(
            self.reason,
            progressing::RETRYING | progressing::BLOCKED | valid::UNREADABLE | verified::REFUSED
        )
    }
}

/// Returns the conditions of a catalog that its owner has made unavailable.
fn unavailable() -> Vec<ConditionState> {
    let message = serving::SET_UNAVAILABLE;
    vec![
        ConditionState::new(
            conditions::PROGRESSING,
            true,
            progressing::SUCCEEDED,
            message,
        ),
        ConditionState::new(
            conditions::SERVING,
            false,
            serving::USER_SPECIFIED_UNAVAILABLE,
            message,
        ),
    ]
}

/// Returns the condition `Progressing` after an attempt; `None` while it is under way.
fn progress(report: &Report) -> Option<ConditionState> {
    match &report.status {
        SyncStatus::Pending => None,
        SyncStatus::Synced => Some(ConditionState::new(
            conditions::PROGRESSING,
            true,
            progressing::SUCCEEDED,
            progressing::UNPACKED,
        )),
        SyncStatus::Failed(error) if is_terminal(error, &report.source) => {
            Some(ConditionState::new(
                conditions::PROGRESSING,
                false,
                progressing::BLOCKED,
                &message(error),
            ))
        }
        SyncStatus::Failed(error) => Some(ConditionState::new(
            conditions::PROGRESSING,
            true,
            progressing::RETRYING,
            &message(error),
        )),
    }
}

fn resolved_source(content: &Content) -> Option<ResolvedSource> {
    let reference = content.image.as_deref()?.to_owned();
    Some(ResolvedSource {
        source_type: SourceType::Image,
        image: Some(ResolvedImageSource { reference }),
    })
}

fn last_unpacked(content: &Content) -> Option<Time> {
    content.last_unpacked.map(seconds).map(Time)
}

/// Truncates a time to seconds, as the API server stores it.
fn seconds(time: Timestamp) -> Timestamp {
    time.round(
        TimestampRound::new()
            .smallest(Unit::Second)
            .mode(RoundMode::Trunc),
    )
    .unwrap_or(time)
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Cuts a message to [`MAX_MESSAGE_BYTES`].
fn shorten(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }

    let end = (0..=max_bytes - "…".len())
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests;
