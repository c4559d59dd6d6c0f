//! Manifests of bundles for GraphQL requests, from the images of the bundles.

use std::sync::Arc;

use admission::Peer;
use bundle_images::BundleImages;
use graphql::{BundleManifestSource, ManifestFetch, ManifestFetchError};

/// Manifests from the images of bundles.
pub(super) struct ImageManifests(pub(super) BundleImages);

impl BundleManifestSource for ImageManifests {
    fn fetch(&self, image: String, peer: Peer) -> ManifestFetch {
        let images = self.0.clone();
        Box::pin(async move {
            let fetched = images.fetch(&image, peer).await;
            fetched.map(Arc::new).map_err(|error| {
                let is_refusal = error.is_refusal();
                let message = format!("{:#}", anyhow::Error::new(error));
                if is_refusal {
                    ManifestFetchError::Refused(message)
                } else {
                    ManifestFetchError::Unreachable(message)
                }
            })
        })
    }
}
