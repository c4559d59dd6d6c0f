//! Applies the rules of `opm validate` to a finished index: identity, update graph, images,
//! versions and deprecations.
//!
//! Upstream stops at its first plain error; without one it returns a tree of all errors. Here every
//! error is a problem of its own, with upstream's text and, for a leaf of the tree, upstream's
//! location. One error differs: a missing bundle is reported for every channel that names it, while
//! upstream does so for the last channel of a package only and finds an empty bundle in the others.
//!
//! The linker reports what keeps a blob out of the index: no name, a duplicate, an unknown package.

mod blob;
mod bundle;
mod channel;
mod deprecations;
pub(crate) mod graph;
mod location;
mod manifest;
mod package;

use fbc_read::problem::ProblemCollector;

use crate::blobs::Findings;
use crate::catalog::Catalog;

/// Adds every problem that can be found in the index.
pub(crate) fn check(catalog: &Catalog, findings: &Findings, problems: &mut ProblemCollector) {
    blob::check(catalog, findings, problems);
    for package in catalog.packages() {
        package::check(package, problems);
        for channel in package.channels() {
            channel::check(channel, problems);
        }
        for bundle in package.bundles() {
            bundle::check(bundle, problems);
        }
    }
    deprecations::check(catalog, problems);
}
