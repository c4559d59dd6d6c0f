//! Manifests of bundles from their images.
//!
//! An execution is synchronous. It notes the images that it would need, which are fetched after it
//! for another execution of the same request.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use admission::Peer;
use futures_util::future::join_all;
use install_preview::BundleDirectory;

/// Maximum number of images that are fetched for one request.
pub const MAX_BUNDLE_IMAGES: usize = 8;

/// Maximum number of times that images are fetched for one request. The image of a bundle that
/// another one is compared with is asked for when the first one is there.
pub const MAX_FETCH_ROUNDS: usize = 2;

/// Fetches the manifests of bundles from their images.
pub trait BundleManifestSource: Send + Sync {
    /// Fetches the files of the bundle in an image, for a request of a peer.
    fn fetch(&self, image: String, peer: Peer) -> ManifestFetch;
}

/// A fetch of the files of a bundle.
pub type ManifestFetch =
    Pin<Box<dyn Future<Output = Result<Arc<BundleDirectory>, ManifestFetchError>> + Send>>;

/// The files of a bundle cannot be fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestFetchError {
    /// The image cannot be fetched now.
    #[error("{0}")]
    Unreachable(String),
    /// The image has no bundle that can be read.
    #[error("{0}")]
    Refused(String),
}

/// Images that were fetched for one request, by their references.
#[derive(Default)]
pub(super) struct RequestImages(BTreeMap<String, Result<Arc<BundleDirectory>, ManifestFetchError>>);

impl RequestImages {
    /// Returns what was fetched of an image; `None` if it was not fetched.
    pub(super) fn get(
        &self,
        image: &str,
    ) -> Option<&Result<Arc<BundleDirectory>, ManifestFetchError>> {
        self.0.get(image)
    }

    /// Returns the number of images.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Fetches more images, and returns them with those that are there.
    pub(super) async fn with_fetched(
        &self,
        source: &dyn BundleManifestSource,
        images: Vec<String>,
        peer: Peer,
    ) -> Self {
        let fetch = async |image: String| {
            let fetched = source.fetch(image.clone(), peer).await;
            (image, fetched)
        };
        let mut all = self.0.clone();
        all.extend(join_all(images.into_iter().map(fetch)).await);
        Self(all)
    }
}
