//! Fetches the bundles in images, each once at a time, and remembers failures.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use admission::{FairSemaphore, Peer, Permits};
use fbc_grammar::Digest;
use images::{ImageSource, Registries};
use install_preview::BundleDirectory;
use store::ScratchFolder;
use tokio::sync::OwnedMutexGuard;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use crate::BundleImageError;
use crate::kept::{KeptBundles, MAX_KEPT_BYTES};
use crate::metrics::{FetchResult, bundle_image_metrics};
use crate::pull::{parse_reference, pull};

/// Maximum number of concurrent pulls of bundles.
pub const MAX_CONCURRENT_FETCHES: usize = 4;

/// Maximum number of fetches that wait for a pull.
pub const MAX_WAITING_FETCHES: usize = 32;

/// Time-out of a pull.
pub const FETCH_TIMEOUT: Duration = Duration::from_secs(30);

/// Time for which a failure is remembered.
pub const FAILURE_TTL: Duration = Duration::from_mins(10);

/// Maximum number of images whose failures are remembered.
pub const MAX_REMEMBERED_FAILURES: usize = 1_000;

/// Folder with the files of images, in the folder of a store.
const KEPT_FOLDER: &str = "bundles";

/// Fetches the bundles in images. Clones share what is kept.
#[derive(Clone, Debug)]
pub struct BundleImages(Arc<FetcherState>);

#[derive(Debug)]
struct FetcherState {
    registries: Mutex<Registries>,
    /// Folder of the store, which has layers while they are read.
    folder: PathBuf,
    kept: KeptBundles,
    /// One lock for each image that is being fetched.
    locks: Mutex<HashMap<String, Weak<tokio::sync::Mutex<()>>>>,
    /// [`MAX_CONCURRENT_FETCHES`], of which a peer has half.
    fetches: FairSemaphore<Peer>,
    /// [`MAX_WAITING_FETCHES`], of which a peer has half.
    waiting: Permits,
    failures: Mutex<HashMap<String, RememberedFailure>>,
}

#[derive(Debug)]
struct RememberedFailure {
    error: BundleImageError,
    until: Instant,
}

impl BundleImages {
    /// Creates a fetcher that keeps files beside the contents of a store, in its folder.
    pub fn new(registries: Registries, store_folder: &Path) -> Self {
        Self(Arc::new(FetcherState {
            registries: Mutex::new(registries),
            folder: store_folder.to_owned(),
            kept: KeptBundles::new(store_folder.join(KEPT_FOLDER), MAX_KEPT_BYTES),
            locks: Mutex::default(),
            fetches: FairSemaphore::new(MAX_CONCURRENT_FETCHES),
            waiting: Permits::new(MAX_WAITING_FETCHES),
            failures: Mutex::default(),
        }))
    }

    /// Replaces the client for registries. If it is another one, former failures are forgotten.
    pub fn set_registries(&self, registries: Registries) {
        let mut former = lock(&self.0.registries);
        if *former != registries {
            *former = registries;
            lock(&self.0.failures).clear();
        }
    }

    /// Returns the files of the bundle in an image of a registry, for a request of a peer.
    ///
    /// # Errors
    /// Fails when the image cannot be pulled, is not a bundle, or exceeds a limit. The failure is
    /// remembered for [`FAILURE_TTL`].
    pub async fn fetch(
        &self,
        image: &str,
        peer: Peer,
    ) -> Result<BundleDirectory, BundleImageError> {
        let fetched = self.fetch_registry_image(image, peer).await;
        let result = match &fetched {
            Ok((_, result)) => *result,
            Err(error) if error.is_refusal() => FetchResult::Refused,
            Err(_) => FetchResult::Unavailable,
        };
        bundle_image_metrics()[result].inc();
        fetched.map(|(directory, _)| directory)
    }

    async fn fetch_registry_image(
        &self,
        image: &str,
        peer: Peer,
    ) -> Result<(BundleDirectory, FetchResult), BundleImageError> {
        let reference = parse_reference(image)?;
        let digest = reference.digest();
        if let Some(directory) = self.kept(digest).await {
            return Ok((directory, FetchResult::Kept));
        }

        let _single = self.lock(image).await;
        if let Some(directory) = self.kept(digest).await {
            return Ok((directory, FetchResult::Kept));
        }
        if let Some(error) = self.remembered_failure(image) {
            return Err(error);
        }
        let pulled = self
            .pull(image, ImageSource::Registry(reference), peer)
            .await;
        match &pulled {
            Ok(directory) => self.keep(digest, directory).await,
            Err(BundleImageError::Busy(_)) => {}
            Err(error) => self.remember_failure(image, error),
        }
        pulled.map(|directory| (directory, FetchResult::Pulled))
    }

    /// Pulls an image with a permit.
    async fn pull(
        &self,
        image: &str,
        source: ImageSource,
        peer: Peer,
    ) -> Result<BundleDirectory, BundleImageError> {
        let state = &*self.0;
        let waiting = state.waiting.try_acquire(peer, 1);
        let Some(waiting) = waiting else {
            return Err(BundleImageError::Busy(image.to_owned()));
        };
        let _permit = state.fetches.acquire(&peer).await;
        drop(waiting);
        let registries = lock(&state.registries).clone();
        let scratch = ScratchFolder::create_in_store(&state.folder).map_err(|source| {
            BundleImageError::Scratch {
                image: image.to_owned(),
                source: Arc::new(source),
            }
        })?;
        let pulling = pull(&registries, &source, scratch);
        timeout(FETCH_TIMEOUT, pulling)
            .await
            .map_err(|_| BundleImageError::Timeout {
                image: image.to_owned(),
                seconds: FETCH_TIMEOUT.as_secs(),
            })?
    }

    /// Reads the files of an image by digest, if they are kept.
    async fn kept(&self, digest: Option<Digest>) -> Option<BundleDirectory> {
        let digest = digest?;
        let state = Arc::clone(&self.0);
        let read = spawn_blocking(move || state.kept.read(&digest));
        read.await.ok().flatten()
    }

    /// Keeps the files of an image by digest.
    async fn keep(&self, digest: Option<Digest>, directory: &BundleDirectory) {
        let Some(digest) = digest else { return };
        let state = Arc::clone(&self.0);
        let directory = directory.clone();
        let written = spawn_blocking(move || state.kept.write(&digest, &directory)).await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%digest, %error, "cannot keep the files of a bundle image");
        }
    }

    /// Acquires the lock of an image.
    async fn lock(&self, image: &str) -> OwnedMutexGuard<()> {
        let own = {
            let mut locks = lock(&self.0.locks);
            locks.retain(|_, lock| lock.strong_count() > 0);
            let known = locks.get(image).and_then(Weak::upgrade);
            let own = known.unwrap_or_default();
            locks.insert(image.to_owned(), Arc::downgrade(&own));
            own
        };
        own.lock_owned().await
    }

    fn remembered_failure(&self, image: &str) -> Option<BundleImageError> {
        let failures = lock(&self.0.failures);
        let failure = failures.get(image)?;
        (failure.until > Instant::now()).then(|| failure.error.clone())
    }

    fn remember_failure(&self, image: &str, error: &BundleImageError) {
        let mut failures = lock(&self.0.failures);
        let now = Instant::now();
        if failures.len() >= MAX_REMEMBERED_FAILURES {
            failures.retain(|_, failure| failure.until > now);
        }
        if failures.len() < MAX_REMEMBERED_FAILURES {
            let failure = RememberedFailure {
                error: error.clone(),
                until: now + FAILURE_TTL,
            };
            failures.insert(image.to_owned(), failure);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
