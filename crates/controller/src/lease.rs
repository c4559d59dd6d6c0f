//! The Lease that says which replica writes status.
//!
//! A candidate judges by its own clock how long the Lease was not renewed, so that clocks of nodes
//! may differ, and takes it by an update of the version that it saw, so that of two candidates one
//! succeeds.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Error};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use crate::api_error::describe;

/// Name of the Lease.
pub const LEASE: &str = "catalogql";

/// How replicas take turns in holding the Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseDurations {
    /// Time since the last renewal after which another replica takes the Lease.
    pub lease: Duration,
    /// Time since the last renewal after which the holder stops writing; shorter than the first.
    pub renew: Duration,
    /// Time between two attempts to take or to renew the Lease.
    pub retry: Duration,
}

impl Default for LeaseDurations {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(30),
            renew: Duration::from_secs(20),
            retry: Duration::from_secs(5),
        }
    }
}

/// A candidate for the Lease.
pub(crate) struct Candidate {
    api: Api<Lease>,
    state: LeaseState,
}

/// What one replica knows of the Lease.
struct LeaseState {
    /// Identifies this replica.
    identity: String,
    durations: LeaseDurations,
    /// The state that was seen last, and when this replica saw it first.
    observed: Option<(LeaseSpec, Instant)>,
    /// When this replica renewed the Lease last.
    renewed: Option<Instant>,
}

impl Candidate {
    pub(crate) fn new(
        client: Client,
        namespace: &str,
        identity: String,
        durations: LeaseDurations,
    ) -> Self {
        let state = LeaseState {
            identity,
            durations,
            observed: None,
            renewed: None,
        };
        Self {
            api: Api::namespaced(client, namespace),
            state,
        }
    }

    /// Takes and renews the Lease, and says whether this replica holds it, until `stop` is set.
    /// Then it is released.
    pub(crate) async fn run(
        mut self,
        is_holder: watch::Sender<bool>,
        mut stop: watch::Receiver<bool>,
    ) {
        loop {
            // Without an answer the Lease may expire meanwhile.
            let deadline =
                self.state.renewed.unwrap_or_else(Instant::now) + self.state.durations.renew;
            match timeout_at(
                deadline.max(Instant::now() + self.state.durations.retry),
                self.attempt(),
            )
            .await
            {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(
                        error = describe(&error),
                        lease = LEASE,
                        "cannot take or renew the Lease"
                    );
                }
                Err(_) => tracing::warn!(lease = LEASE, "the Lease was not answered for in time"),
            }
            let holds = self.state.is_holder(Instant::now());
            if is_holder.send_if_modified(|before| std::mem::replace(before, holds) != holds) {
                tracing::info!(lease = LEASE, holds, "the holder of the Lease changed");
            }
            tokio::select! {
                () = sleep(self.state.durations.retry) => {}
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        is_holder.send_replace(false);
        if self.state.renewed.is_some() {
            match self.release().await {
                Ok(()) => tracing::info!(lease = LEASE, "released the Lease"),
                Err(error) => {
                    let error = describe(&error);
                    tracing::warn!(
                        error,
                        lease = LEASE,
                        "cannot release the Lease, it will expire"
                    );
                }
            }
        }
    }

    /// Takes the Lease if it is free, and renews it if this replica holds it.
    async fn attempt(&mut self) -> Result<(), Error> {
        let sent = Instant::now();
        let Some(mut lease) = self.api.get_opt(LEASE).await? else {
            let metadata = ObjectMeta {
                name: Some(LEASE.to_owned()),
                ..ObjectMeta::default()
            };
            let lease = Lease {
                metadata,
                spec: Some(self.state.claim(LeaseSpec::default(), Timestamp::now())),
            };
            return self.done(sent, self.api.create(&PostParams::default(), &lease).await);
        };
        let spec = lease.spec.take().unwrap_or_default();
        if !self.state.may_take(&spec, Instant::now()) {
            self.state.renewed = None;
            return Ok(());
        }
        lease.spec = Some(self.state.claim(spec, Timestamp::now()));
        self.done(
            sent,
            self.api
                .replace(LEASE, &PostParams::default(), &lease)
                .await,
        )
    }

    /// Notes the outcome of an attempt that was sent then. That another candidate was faster is no
    /// failure.
    fn done(&mut self, sent: Instant, written: Result<Lease, Error>) -> Result<(), Error> {
        match written {
            Ok(lease) => {
                self.state.hold(lease.spec, sent);
                Ok(())
            }
            Err(Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                self.state.renewed = None;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Gives the Lease up, so that another replica need not wait until it expires.
    async fn release(&mut self) -> Result<(), Error> {
        let Some(mut lease) = self.api.get_opt(LEASE).await? else {
            return Ok(());
        };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_ref() == Some(&self.state.identity) {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            self.api
                .replace(LEASE, &PostParams::default(), &lease)
                .await?;
        }
        Ok(())
    }
}

impl LeaseState {
    /// Whether this replica renewed the Lease recently enough.
    fn is_holder(&self, now: Instant) -> bool {
        self.renewed
            .is_some_and(|renewed| now.duration_since(renewed) < self.durations.renew)
    }

    /// Notes a renewal. It counts from when it was sent: others count from when it was written,
    /// which may be long before the response to it comes.
    fn hold(&mut self, written: Option<LeaseSpec>, sent: Instant) {
        self.observed = written.map(|spec| (spec, sent));
        self.renewed = Some(sent);
    }

    /// Whether this replica holds the Lease, or nobody has renewed it for as long as it lasts.
    fn may_take(&mut self, spec: &LeaseSpec, now: Instant) -> bool {
        let since = match &self.observed {
            Some((observed, since)) if observed == spec => *since,
            _ => now,
        };
        self.observed = Some((spec.clone(), since));
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let seconds = spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = seconds.map_or(self.durations.lease, Duration::from_secs);
        holder.is_empty() || holder == self.identity || now.duration_since(since) >= lasts
    }

    /// The Lease as this replica holds it from now on.
    fn claim(&self, former: LeaseSpec, now: Timestamp) -> LeaseSpec {
        let now = MicroTime(now);
        let is_mine = former.holder_identity.as_ref() == Some(&self.identity);
        let transitions = former.lease_transitions.unwrap_or(0);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.durations.lease.as_secs()).ok(),
            acquire_time: former
                .acquire_time
                .filter(|_| is_mine)
                .or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(if is_mine {
                transitions
            } else {
                transitions.saturating_add(1)
            }),
            ..LeaseSpec::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-05-06T07:08:09Z";

    fn state(identity: &str) -> LeaseState {
        let durations = LeaseDurations::default();
        LeaseState {
            identity: identity.to_owned(),
            durations,
            observed: None,
            renewed: None,
        }
    }

    fn claimed_by(identity: &str, at: &str) -> LeaseSpec {
        state(identity).claim(LeaseSpec::default(), at.parse().unwrap())
    }

    #[test]
    fn a_lease_is_free_when_nobody_has_renewed_it_for_as_long_as_it_lasts_by_the_own_clock() {
        let lasts = LeaseDurations::default().lease;
        // Clocks of other nodes may be ahead or behind by years.
        for renewed_at in ["1999-01-01T00:00:00Z", NOW, "2099-01-01T00:00:00Z"] {
            let mut other = state("b");
            let start = Instant::now();
            let held = claimed_by("a", renewed_at);
            assert!(!other.may_take(&held, start), "{renewed_at}");
            assert!(!other.may_take(&held, start + lasts / 2), "{renewed_at}");
            // Renewed: the time begins anew.
            let renewed = state("a").claim(held, "2026-05-06T07:09:00Z".parse().unwrap());
            assert!(!other.may_take(&renewed, start + lasts), "{renewed_at}");
            assert!(
                !other.may_take(&renewed, start + lasts + lasts / 2),
                "{renewed_at}"
            );
            assert!(other.may_take(&renewed, start + lasts * 2), "{renewed_at}");
        }
    }

    #[test]
    fn a_lease_that_is_released_or_held_by_the_replica_itself_is_free() {
        let now = Instant::now();
        assert!(state("a").may_take(&claimed_by("a", NOW), now));
        assert!(state("b").may_take(&LeaseSpec::default(), now));
        let released = LeaseSpec {
            holder_identity: Some(String::new()),
            ..claimed_by("a", NOW)
        };
        assert!(state("b").may_take(&released, now));
    }

    #[test]
    fn a_holder_stops_before_another_replica_may_begin() {
        let LeaseDurations { lease, renew, .. } = LeaseDurations::default();
        let start = Instant::now();
        let mut holder = state("a");
        // The response came later.
        holder.hold(Some(claimed_by("a", NOW)), start);
        assert!(holder.is_holder(start + renew / 2));
        assert!(!holder.is_holder(start + renew));
        assert!(renew < lease);
        assert!(!state("a").is_holder(start));
    }

    #[test]
    fn a_renewal_keeps_the_time_of_the_acquisition_and_a_takeover_counts() {
        let first = claimed_by("a", NOW);
        let later = "2026-05-06T07:09:00Z".parse().unwrap();
        let renewed = state("a").claim(first.clone(), later);
        assert_eq!(
            (&renewed.acquire_time, renewed.lease_transitions),
            (&first.acquire_time, first.lease_transitions)
        );
        assert_eq!(renewed.renew_time, Some(MicroTime(later)));
        let taken = state("b").claim(first.clone(), later);
        assert_eq!(
            (taken.acquire_time, taken.lease_transitions),
            (Some(MicroTime(later)), Some(2))
        );
        assert_eq!(taken.holder_identity.as_deref(), Some("b"));
    }
}
