//! Copies whole images: indexes with the images of all platforms, and what refers to them.
//!
//! First the manifests are read (`graph`), so that all sizes are known before anything is copied
//! (`plan`). Then what the target (`target`) does not have is copied (`copier`): blobs, manifests,
//! and the tag last, so that a tag means that everything is there. A copy that was killed is
//! resumed. `verify` compares what is at the target.

mod copier;
mod graph;
mod limits;
mod plan;
mod source;
mod target;
mod verify;

pub use copier::{CopiedBlobs, CopyOutcome};
pub use graph::{MAX_COPIED_BLOB_BYTES, MAX_IMAGE_MANIFESTS, MAX_REFERRER_DEPTH};
pub use limits::{
    MAX_CONCURRENT_COPIES, MAX_COPIED_IMAGES, MAX_COPIES_PER_REGISTRY, MAX_PLANNED_MANIFEST_BYTES,
};
pub use plan::{CopyFailure, CopyOrigin, CopyPlan, ImageToCopy, PlannedSize, layout_images};
pub use target::{CopyTarget, MAX_MOUNT_CANDIDATES};
pub use verify::{ExpectedImage, MirrorCheck, MirrorFinding, MirrorState};

#[cfg(test)]
mod tests;
