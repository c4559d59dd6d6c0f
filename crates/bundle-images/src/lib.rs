//! The manifests of bundles from their images, fetched when somebody asks for them.
//!
//! Most catalogs have no manifests of their bundles: these are in the images that they name.
//! [`BundleImages::fetch`] pulls such an image and reads its manifests and metadata, within limits.
//! The files of an image by digest are kept in a folder; an image by tag is pulled each time. A
//! failure is remembered for a while, so that a registry that is gone is not asked for each
//! request.
//!
//! | module | duty |
//! |---|---|
//! | `pull` | an image into the files of its bundle |
//! | `fetcher` | one pull at a time for each image, few at a time in all, failures |
//! | `kept` | the folder with files of images |

mod error;
mod fetcher;
mod kept;
mod metrics;
mod pull;

pub use error::BundleImageError;
pub use fetcher::{
    BundleImages, FAILURE_TTL, FETCH_TIMEOUT, MAX_CONCURRENT_FETCHES, MAX_REMEMBERED_FAILURES,
    MAX_WAITING_FETCHES,
};
pub use kept::MAX_KEPT_BYTES;
pub use metrics::{FetchResult, bundle_image_metrics};
pub use pull::{MAX_BUNDLE_LAYER_BYTES, pull, pull_named};
