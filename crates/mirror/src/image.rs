//! Images of the selected bundles, each once, with the bundles that use it.

use std::collections::BTreeMap;

use fbc::Bundle;
use fbc::work::{Step, Work, WorkStopped};
use fbc_grammar::image::ImageReference;

use crate::channel::shown;
use crate::configuration::{CatalogSelection, MirrorConfiguration};
use crate::mirror_set::MirrorSet;
use crate::problem::{MAX_PROBLEMS, MirrorProblem, MirrorProblemCode};
use crate::select::MirrorRules;

/// Beginning of a reference to a layout on the disk of whoever made the catalog.
const LAYOUT_PREFIX: &str = "oci:";

/// An image to mirror.
#[derive(Clone)]
pub struct MirroredImage<'a> {
    /// Reference, as bundles name it.
    pub reference: String,
    /// Relation of the image to its bundles.
    pub kind: MirroredImageKind,
    /// Bundles that use it, in the order of the packages and their bundles.
    pub used_by: Vec<Bundle<'a>>,
}

/// Relation of an image to the bundles that use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MirroredImageKind {
    /// The image of a bundle.
    Bundle,
    /// An image that a bundle runs.
    Related,
}

impl MirroredImageKind {
    /// Returns the name as programs see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bundle => "BUNDLE",
            Self::Related => "RELATED",
        }
    }
}

impl MirroredImage<'_> {
    /// Returns the digest that the reference names, if any.
    pub fn digest(&self) -> Option<&str> {
        ImageReference::parse(&self.reference).ok()?.digest()
    }
}

/// Returns the images of a set, sorted by reference, without those that the configuration blocks.
/// Adds the problems of images to the set.
///
/// # Errors
/// If the work was stopped.
pub fn images<'a>(
    set: &mut MirrorSet<'a>,
    selection: &CatalogSelection,
    configuration: &MirrorConfiguration,
    rules: MirrorRules,
    work: &Work<'_>,
) -> Result<Vec<MirroredImage<'a>>, WorkStopped> {
    let mut images: BTreeMap<String, MirroredImage<'a>> = BTreeMap::new();
    let mut problems = Vec::new();
    for package in &set.packages {
        let (path, line) = match package.selection {
            Some(at) => (selection.package_path(at), selection.packages[at].line),
            None => (selection.path.clone(), selection.line),
        };
        let mut unnamed = Vec::new();
        for mirrored in &package.bundles {
            let bundle = mirrored.bundle;
            work.draw(Step::JsonByte, bundle.meta().blob().raw().len())?;
            let own = bundle.image().decode();
            let related = bundle.related_images();
            let mut references: Vec<_> = related.iter().map(|one| one.image.decode()).collect();
            references.retain(|reference| !reference.is_empty());
            if let Some(layout) = references.iter().find(|one| one.starts_with(LAYOUT_PREFIX)) {
                let message = format!(
                    "related image `{layout}` of bundle `{}` is a layout on a disk, which cannot be mirrored",
                    bundle.name()
                );
                let problem = MirrorProblem::new(MirrorProblemCode::InvalidImage, &*path, message);
                problems.push(problem.on_line(line));
                continue;
            }
            if !own.is_empty() && !references.contains(&own) && rules == MirrorRules::Catalogql {
                unnamed.push(bundle.name());
                references.push(own.clone());
            }
            for reference in references {
                let patterns = configuration.blocked_count();
                work.draw(Step::ParsedByte, reference.len().saturating_mul(patterns))?;
                if configuration.blocks(&reference) {
                    continue;
                }
                let is_own = reference == own;
                let image = images
                    .entry(reference.clone().into_owned())
                    .or_insert_with(|| MirroredImage {
                        reference: reference.into_owned(),
                        kind: MirroredImageKind::Related,
                        used_by: Vec::new(),
                    });
                if is_own {
                    image.kind = MirroredImageKind::Bundle;
                }
                let is_known = image
                    .used_by
                    .last()
                    .is_some_and(|last| last.place() == bundle.place());
                if !is_known {
                    image.used_by.push(bundle);
                }
            }
        }
        if !unnamed.is_empty() {
            let message = format!(
                "images of bundles are mirrored although the related images of these do not name them: {}",
                shown(&unnamed)
            );
            let problem = MirrorProblem::new(MirrorProblemCode::BundleImageAdded, path, message);
            problems.push(
                problem
                    .on_line(line)
                    .but_oc_mirror("does not mirror these images"),
            );
        }
    }
    let room = MAX_PROBLEMS.saturating_sub(set.problems.len());
    problems.truncate(room.max(1));
    set.problems.append(&mut problems);
    if set.is_refused() {
        set.packages.clear();
        return Ok(Vec::new());
    }
    Ok(images.into_values().collect())
}
