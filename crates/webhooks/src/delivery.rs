//! Delivers events to one webhook, one after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use loading::StateFile;
use reqwest::header::CONTENT_TYPE;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use serving::Catalogs;
use sha2::{Digest as _, Sha256};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::event::{Event, MEDIA_TYPE};
use crate::metrics::{WebhookMetrics, WebhookResult};
use crate::position::{LogPosition, PendingEvents};
use crate::signature::{read_secret, signature};
use crate::{CONNECT_TIMEOUT, DeliveryPolicy, MAX_ATTEMPTS, WebhookError};

/// A webhook with its position.
#[derive(Debug)]
pub(crate) struct Delivery {
    url: Url,
    client: Client,
    secret_file: Arc<Path>,
    position: LogPosition,
    /// The position for the next start.
    saved: StateFile<LogPosition>,
    policy: DeliveryPolicy,
    metrics: Arc<WebhookMetrics>,
}

impl Delivery {
    pub(crate) fn new(
        url: Url,
        secret_file: Arc<Path>,
        folder: &Path,
        policy: DeliveryPolicy,
        metrics: Arc<WebhookMetrics>,
    ) -> Result<Self, WebhookError> {
        // It fails if another part of the program has installed a provider, which serves as well.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("catalogql/", env!("CARGO_PKG_VERSION")))
            .http1_only()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(policy.attempt_timeout)
            // A receiver that is taken over sends nobody to addresses within the network.
            .redirect(Policy::none())
            // Bodies of responses are not read, so that connections are not used again.
            .pool_max_idle_per_host(0);
        // reqwest fails on a system without root certificates, which plain HTTP does not need.
        let client = match url.scheme() {
            "https" => client.build(),
            _ => client.tls_certs_only([]).build(),
        };
        let client = client.map_err(WebhookError::Client)?;
        // The address may have a secret in it, and two addresses have two positions.
        let name = fbc_grammar::Digest::new(Sha256::digest(url.as_str()).into()).hex();
        let path = folder.join(format!("webhook-{name}.json"));
        let mut saved = StateFile::<LogPosition>::open(path);
        let mut position = saved.saved().clone();
        position.begin();
        saved.save(position.clone());
        Ok(Self {
            url,
            client,
            secret_file,
            position,
            saved,
            policy,
            metrics,
        })
    }

    /// Sends each change of the catalogs. It never ends.
    pub(crate) async fn run(mut self, catalogs: Catalogs) {
        let mut recorded = catalogs.recorded_changes();
        let mut known = 0;
        let mut failures = 0;
        loop {
            recorded.mark_unchanged();
            let pending = self.pending(&catalogs, &mut known).await;
            let Some(first) = pending.first else {
                failures = 0;
                if recorded.changed().await.is_err() {
                    // The server ends.
                    return;
                }
                continue;
            };
            let event = Event::new(&first.catalog, &first.set);
            let is_done = match self.send(&event).await {
                Ok(()) => {
                    self.count(WebhookResult::Delivered);
                    tracing::info!(
                        host = self.host(),
                        id = event.id,
                        catalog = first.catalog,
                        "event delivered"
                    );
                    true
                }
                Err(error) => {
                    failures += 1;
                    self.report(&error, &event, failures);
                    failures >= MAX_ATTEMPTS
                }
            };
            if is_done {
                failures = 0;
                self.position.advance(&first.catalog, first.set.at);
                self.saved.save(self.position.clone());
            } else {
                sleep(self.backoff(failures)).await;
            }
        }
    }

    /// Finds the events after the position, and counts them. `known` is the number of those that the
    /// gauge has.
    async fn pending(&mut self, catalogs: &Catalogs, known: &mut u64) -> PendingEvents {
        let position = self.position.clone();
        let catalogs = catalogs.clone();
        let pending = spawn_blocking(move || position.pending(&catalogs)).await;
        let pending = match pending {
            Ok(pending) => pending,
            Err(failed) => std::panic::resume_unwind(failed.into_panic()),
        };
        if pending.dropped > 0 {
            let dropped = self.metrics.results[WebhookResult::Dropped].clone();
            dropped.inc_by(pending.dropped as u64);
            let host = self.host();
            tracing::warn!(
                host,
                events = pending.dropped,
                "too many events wait for the webhook, dropping the oldest"
            );
            self.position = pending.position.clone();
            self.saved.save(self.position.clone());
        }
        let count = pending.count as u64;
        self.metrics.pending.inc_by(count);
        self.metrics.pending.dec_by(*known);
        *known = count;
        pending
    }

    async fn send(&self, event: &Event) -> Result<(), WebhookError> {
        let key = read_secret(&self.secret_file)?;
        let seconds = Timestamp::now().as_second();
        let request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, MEDIA_TYPE)
            .header("webhook-id", &event.id)
            .header("webhook-timestamp", seconds)
            .header(
                "webhook-signature",
                signature(&key, &event.id, seconds, &event.body),
            )
            .body(event.body.clone());
        // Without its address, which may have a secret in it. The body of the response is not read.
        let sent = request.send().await;
        let response = sent.map_err(|error| WebhookError::Send(error.without_url()))?;
        let status = response.status();
        match status.as_u16() {
            200..=299 => Ok(()),
            status @ 300..=399 => Err(WebhookError::Redirect { status }),
            status => Err(WebhookError::Status { status }),
        }
    }

    fn report(&self, error: &WebhookError, event: &Event, failures: u32) {
        self.count(WebhookResult::Failed);
        let error = chain(error);
        let host = self.host();
        let id = &event.id;
        if failures < MAX_ATTEMPTS {
            tracing::warn!(
                host,
                id,
                attempts = failures,
                error,
                "cannot deliver the event, trying again"
            );
        } else {
            self.count(WebhookResult::Abandoned);
            tracing::error!(
                host,
                id,
                attempts = failures,
                error,
                "cannot deliver the event, giving it up"
            );
        }
    }

    fn count(&self, result: WebhookResult) {
        self.metrics.results[result].inc();
    }

    /// Returns the host for logs: the rest of the address may be secret.
    fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    /// Returns the delay after a number of failures: between half of it and all of it, so that
    /// replicas do not come at the same time.
    fn backoff(&self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures - 1).unwrap_or(u32::MAX);
        let delay = self.policy.first_backoff.saturating_mul(factor);
        let delay = delay.min(self.policy.max_backoff);
        delay.mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

/// Returns an error with its causes.
fn chain(error: &WebhookError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
