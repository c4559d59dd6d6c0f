//! The Lease that says which replica writes status.
//!
//! A candidate judges by its own clock how long the Lease was not renewed, so that clocks of nodes may differ, and takes
//! it by an update of the version that it saw, so that of two candidates one succeeds.

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

/// How replicas take turns.
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
        Self { lease: Duration::from_secs(30), renew: Duration::from_secs(20), retry: Duration::from_secs(5) }
    }
}

/// A candidate for the Lease.
pub(crate) struct Candidate {
    api: Api<Lease>,
    /// Identifies this replica.
    identity: String,
    durations: LeaseDurations,
    observed: Option<Observation>,
    /// When this replica renewed the Lease last.
    renewed: Option<Instant>,
}

/// A state of the Lease, and when this replica saw it first.
struct Observation {
    spec: LeaseSpec,
    since: Instant,
}

impl Candidate {
    pub(crate) fn new(client: Client, namespace: &str, identity: String, durations: LeaseDurations) -> Self {
        Self { api: Api::namespaced(client, namespace), identity, durations, observed: None, renewed: None }
    }

    /// Takes and renews the Lease, and says whether this replica holds it, until `stop` is set. Then it is released.
    pub(crate) async fn run(mut self, is_holder: watch::Sender<bool>, mut stop: watch::Receiver<bool>) {
        loop {
            // Without an answer the Lease may expire meanwhile.
            let deadline = self.renewed.unwrap_or_else(Instant::now) + self.durations.renew;
            match timeout_at(deadline.max(Instant::now() + self.durations.retry), self.attempt()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::warn!(error = describe(&error), lease = LEASE, "cannot take or renew the Lease");
                }
                Err(_) => tracing::warn!(lease = LEASE, "the Lease was not answered for in time"),
            }
            let holds = self.renewed.is_some_and(|renewed| renewed.elapsed() < self.durations.renew);
            if is_holder.send_if_modified(|before| std::mem::replace(before, holds) != holds) {
                tracing::info!(lease = LEASE, holds, "the holder of the Lease changed");
            }
            tokio::select! {
                () = sleep(self.durations.retry) => {}
                _ = stop.wait_for(|stop| *stop) => break,
            }
        }
        is_holder.send_replace(false);
        if self.renewed.is_some() {
            match self.release().await {
                Ok(()) => tracing::info!(lease = LEASE, "released the Lease"),
                Err(error) => {
                    let error = describe(&error);
                    tracing::warn!(error, lease = LEASE, "cannot release the Lease, it will expire");
                }
            }
        }
    }

    /// Takes the Lease if it is free, and renews it if this replica holds it.
    async fn attempt(&mut self) -> Result<(), Error> {
        let Some(mut lease) = self.api.get_opt(LEASE).await? else {
            let metadata = ObjectMeta { name: Some(LEASE.to_owned()), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(self.claim(None)) };
            return self.done(self.api.create(&PostParams::default(), &lease).await);
        };
        let spec = lease.spec.take().unwrap_or_default();
        if !self.may_take(&spec) {
            self.renewed = None;
            return Ok(());
        }
        lease.spec = Some(self.claim(Some(spec)));
        self.done(self.api.replace(LEASE, &PostParams::default(), &lease).await)
    }

    /// Whether this replica holds the Lease, or nobody has renewed it for as long as it lasts.
    fn may_take(&mut self, spec: &LeaseSpec) -> bool {
        let now = Instant::now();
        let since = match &self.observed {
            Some(observed) if observed.spec == *spec => observed.since,
            _ => now,
        };
        self.observed = Some(Observation { spec: spec.clone(), since });
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = seconds.map_or(self.durations.lease, Duration::from_secs);
        holder.is_empty() || holder == self.identity || now.duration_since(since) >= lasts
    }

    /// The Lease as this replica holds it from now on.
    fn claim(&self, former: Option<LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(Timestamp::now());
        let former = former.unwrap_or_default();
        let is_mine = former.holder_identity.as_ref() == Some(&self.identity);
        let transitions = former.lease_transitions.unwrap_or(0);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(self.durations.lease.as_secs()).ok(),
            acquire_time: former.acquire_time.filter(|_| is_mine).or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(if is_mine { transitions } else { transitions.saturating_add(1) }),
            ..LeaseSpec::default()
        }
    }

    /// Notes the outcome of an attempt. That another candidate was faster is no failure.
    fn done(&mut self, written: Result<Lease, Error>) -> Result<(), Error> {
        match written {
            Ok(lease) => {
                let since = Instant::now();
                self.observed = lease.spec.map(|spec| Observation { spec, since });
                self.renewed = Some(since);
                Ok(())
            }
            Err(Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
                self.renewed = None;
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Gives the Lease up, so that another replica need not wait until it expires.
    async fn release(&mut self) -> Result<(), Error> {
        let Some(mut lease) = self.api.get_opt(LEASE).await? else { return Ok(()) };
        let spec = lease.spec.get_or_insert_default();
        if spec.holder_identity.as_ref() == Some(&self.identity) {
            spec.holder_identity = Some(String::new());
            spec.lease_duration_seconds = Some(1);
            self.api.replace(LEASE, &PostParams::default(), &lease).await?;
        }
        Ok(())
    }
}
