//! Changes of catalogs as signed `CloudEvents` to webhooks.
//!
//! The change logs are the queue: each receiver has a position in the log of each catalog, which is
//! kept in the folder of the store. An event is sent until the receiver accepts it, so that none is
//! lost by a kill; one that was accepted just before a kill is sent again with the same id.

mod delivery;
mod error;
mod event;
mod metrics;
mod position;
mod signature;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use serving::Catalogs;
use tokio::task::JoinSet;

pub use error::WebhookError;
pub use metrics::{WebhookMetrics, WebhookResult};
pub use signature::{MAX_SECRET_BYTES, MIN_SECRET_BYTES};

use delivery::Delivery;

/// Maximum number of webhooks.
pub const MAX_WEBHOOKS: usize = 16;

/// Maximum number of events that wait for one webhook. The oldest are dropped.
pub const MAX_PENDING_EVENTS: usize = 1_000;

/// Maximum number of attempts to deliver one event.
pub const MAX_ATTEMPTS: u32 = 12;

/// Time for a connection to a webhook.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for one attempt, from the connection to the status.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Delay after the first failure of an event; doubled with each further one.
pub const FIRST_BACKOFF: Duration = Duration::from_secs(1);

/// Maximum delay after a failure.
pub const MAX_BACKOFF: Duration = Duration::from_mins(5);

/// Time-outs and delays of deliveries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeliveryPolicy {
    pub(crate) attempt_timeout: Duration,
    pub(crate) first_backoff: Duration,
    pub(crate) max_backoff: Duration,
}

impl Default for DeliveryPolicy {
    fn default() -> Self {
        Self {
            attempt_timeout: ATTEMPT_TIMEOUT,
            first_backoff: FIRST_BACKOFF,
            max_backoff: MAX_BACKOFF,
        }
    }
}

/// Address of a webhook. It is not shown: it may have a secret in its path.
#[derive(Clone)]
pub struct WebhookUrl(Url);

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.0.host_str().unwrap_or_default();
        f.debug_tuple("WebhookUrl").field(&host).finish()
    }
}

/// Webhooks that do not run yet.
#[derive(Debug)]
pub struct Webhooks {
    deliveries: Vec<Delivery>,
    metrics: Arc<WebhookMetrics>,
}

/// Parses the address of a webhook.
///
/// # Errors
/// The scheme is not HTTP, or the address has a user, a password or a fragment.
pub fn parse_webhook_url(text: &str) -> Result<WebhookUrl, WebhookError> {
    let url = Url::parse(text).map_err(|source| WebhookError::Url {
        reason: source.to_string(),
    })?;
    let reason = if !matches!(url.scheme(), "http" | "https") {
        "expected https://HOST/PATH or http://HOST/PATH"
    } else if !url.username().is_empty() || url.password().is_some() {
        "users and passwords are not supported: receivers verify signatures"
    } else if url.fragment().is_some() {
        "fragments are not sent"
    } else {
        return Ok(WebhookUrl(url));
    };
    Err(WebhookError::Url {
        reason: reason.to_owned(),
    })
}

impl Webhooks {
    /// Creates webhooks. The secret is read once to check it, and again for each attempt, so that it
    /// can be replaced. Positions are kept in the folder.
    pub fn new(
        urls: &[WebhookUrl],
        secret_file: PathBuf,
        folder: &Path,
    ) -> Result<Self, WebhookError> {
        Self::with_policy(urls, secret_file, folder, DeliveryPolicy::default())
    }

    pub(crate) fn with_policy(
        urls: &[WebhookUrl],
        secret_file: PathBuf,
        folder: &Path,
        policy: DeliveryPolicy,
    ) -> Result<Self, WebhookError> {
        if urls.len() > MAX_WEBHOOKS {
            return Err(WebhookError::TooMany);
        }
        signature::read_secret(&secret_file)?;
        let metrics = Arc::<WebhookMetrics>::default();
        let secret_file = Arc::<Path>::from(secret_file);
        let mut deliveries = Vec::new();
        for WebhookUrl(url) in urls {
            let metrics = Arc::clone(&metrics);
            let secret_file = Arc::clone(&secret_file);
            deliveries.push(Delivery::new(
                url.clone(),
                secret_file,
                folder,
                policy,
                metrics,
            )?);
        }
        Ok(Self {
            deliveries,
            metrics,
        })
    }

    /// Returns the counters.
    pub fn metrics(&self) -> Arc<WebhookMetrics> {
        Arc::clone(&self.metrics)
    }

    /// Sends the changes of these catalogs. It never ends.
    pub async fn run(self, catalogs: Catalogs) {
        let mut tasks = JoinSet::new();
        for delivery in self.deliveries {
            tasks.spawn(delivery.run(catalogs.clone()));
        }
        while let Some(ended) = tasks.join_next().await {
            if let Err(failed) = ended
                && let Ok(panic) = failed.try_into_panic()
            {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[cfg(test)]
mod tests;
