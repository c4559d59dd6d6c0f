//! Leader election by a Lease: its holder writes status.
//!
//! The rules are client-go's. A candidate measures with its own clock for how long the Lease has not
//! been renewed, because clocks of nodes may differ. It takes the Lease by an update with the
//! resource version that it has read, so that one of two candidates succeeds.

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

/// Timing of leader election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseDurations {
    /// Time since the last renewal after which another replica takes the Lease.
    pub lease: Duration,
    /// Time since the last renewal after which the holder stops writing. It is shorter than `lease`,
    /// so that there are never two writers.
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

/// A replica that takes part in leader election.
pub(crate) struct LeaseCandidate {
    api: Api<Lease>,
    state: LeaseState,
}

/// State of the Lease as one replica observes it.
struct LeaseState {
    /// Identity of this replica.
    identity: String,
    durations: LeaseDurations,
    /// The spec that was read last, and the time at which this replica read it first.
    observed: Option<(LeaseSpec, Instant)>,
    /// Time of this replica's last renewal; `None` if it does not hold the Lease.
    renewed: Option<Instant>,
}

impl LeaseCandidate {
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

    /// Acquires and renews the Lease until `stop` is set, and then releases it. `is_holder` is
    /// updated with whether this replica holds it.
    pub(crate) async fn run(
        mut self,
        is_holder: watch::Sender<bool>,
        mut stop: watch::Receiver<bool>,
    ) {
        loop {
            // A request that hangs must not keep this replica a writer: the Lease may expire
            // meanwhile and pass to another one.
            let deadline =
                self.state.renewed.unwrap_or_else(Instant::now) + self.state.durations.renew;
            match timeout_at(
                deadline.max(Instant::now() + self.state.durations.retry),
                self.acquire_or_renew(),
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
                Err(_) => tracing::warn!(lease = LEASE, "Lease renewal timed out"),
            }
            let holds = self.state.is_holder(Instant::now());
            if is_holder.send_if_modified(|before| std::mem::replace(before, holds) != holds) {
                tracing::info!(lease = LEASE, holds, "leadership changed");
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

    /// Acquires the Lease if it is free, or renews it if this replica holds it.
    async fn acquire_or_renew(&mut self) -> Result<(), Error> {
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

    /// Records the result of an attempt that was sent at this time. Losing the race against another
    /// candidate is not an error.
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

    /// Releases the Lease, so that another replica need not wait until it expires.
    async fn release(&mut self) -> Result<(), Error> {
        let Some(mut lease) = self.api.get_opt(LEASE).await? else {
            return Ok(());
        };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_ref() == Some(&self.state.identity) {
            // client-go releases a Lease with these values.
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
    /// Returns whether this replica renewed the Lease less than [`LeaseDurations::renew`] ago.
    fn is_holder(&self, now: Instant) -> bool {
        self.renewed
            .is_some_and(|renewed| now.duration_since(renewed) < self.durations.renew)
    }

    /// Records a renewal.
    fn hold(&mut self, written: Option<LeaseSpec>, sent: Instant) {
        // The renewal counts from when it was sent: other replicas count from when it was written,
        // which may be long before the response arrives here.
        self.observed = written.map(|spec| (spec, sent));
        self.renewed = Some(sent);
    }

    /// Returns whether the Lease is this replica's, free, or expired.
    fn may_take(&mut self, spec: &LeaseSpec, now: Instant) -> bool {
        // `renewTime` is not compared with the own clock: a skew of clocks would make two holders,
        // or none. kube-lease-manager 0.13.1 does so.
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

    /// Returns the spec with which this replica acquires or renews the Lease.
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
