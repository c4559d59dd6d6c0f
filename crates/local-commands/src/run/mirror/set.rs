//! The images and catalogs of a mirror set, with their places at a target.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use commands::mirror::{print_problems, without_scheme};
use fbc::work::Work;
use fbc_grammar::image::ImageReference;
use images::copy::{CopyTarget, ImageToCopy};
use images::{LayoutReference, LayoutSelector, PackedImage, RegistryReference};
use mirror::output::{MirrorTarget, image_targets};
use mirror::{CatalogSelection, MirrorRules, PlannedImage, plan};
use tempfile::TempDir;

use super::catalog::{begins_with_registry, pack, scratch, select_of, selected_files};
use super::{LoadedSource, Selection, as_values};
use crate::args::{MirrorDestinationArgs, MirrorSelectionArgs};

/// Registry of catalogs that have no reference.
const LOCAL: &str = "localhost";

/// Number of digits of a digest in the tag of a catalog.
const TAG_DIGITS: usize = 12;

/// Target of a set.
pub(super) enum Destination {
    Registry(MirrorTarget),
    Layout(PathBuf),
}

/// The images and catalogs of a selection.
pub(super) struct MirroredSet {
    /// Images of bundles.
    pub(super) images: Vec<ImageToCopy>,
    pub(super) catalogs: Vec<MirroredCatalog>,
}

/// A catalog that has only what is selected.
pub(super) struct MirroredCatalog {
    pub(super) packed: PackedImage,
    pub(super) image: ImageToCopy,
    /// Folder of the packed layer.
    pub(super) folder: TempDir,
}

impl Destination {
    pub(super) fn parse(args: &MirrorDestinationArgs) -> anyhow::Result<Self> {
        let Some(layout) = args.to.strip_prefix("oci:") else {
            return Ok(Self::Registry(MirrorTarget::parse(
                &args.to,
                args.max_nested_paths,
            )?));
        };
        let layout = LayoutReference::parse(layout, Path::new(""))?;
        if *layout.selector() != LayoutSelector::Only {
            bail!(
                "cannot copy to `{}`: write oci:DIR, because images keep their names",
                args.to
            );
        }
        Ok(Self::Layout(layout.path().to_owned()))
    }

    pub(super) fn target(&self) -> CopyTarget {
        match self {
            Self::Registry(_) => CopyTarget::Registry,
            Self::Layout(root) => CopyTarget::Layout(root.clone()),
        }
    }

    /// Returns the registry and the path before those of images; empty for a layout.
    pub(super) fn prefix(&self) -> &str {
        match self {
            Self::Registry(target) => target.prefix(),
            Self::Layout(_) => "",
        }
    }

    /// Returns the places of images.
    pub(super) fn places(&self, images: &[PlannedImage]) -> anyhow::Result<Vec<ImageToCopy>> {
        let Self::Registry(target) = self else {
            let references: BTreeSet<_> = images.iter().map(|image| &image.reference).collect();
            let places = references.into_iter().map(|reference| {
                let source = RegistryReference::parse(reference)?;
                let target = source.clone();
                Ok(ImageToCopy { source, target })
            });
            return places.collect();
        };
        let places = image_targets(images, target)?.into_iter().map(|place| {
            Ok(ImageToCopy {
                source: RegistryReference::parse(&place.source)?,
                target: RegistryReference::parse(&place.target)?,
            })
        });
        places.collect()
    }

    /// Returns the place of a catalog.
    fn catalog(
        &self,
        item: &CatalogSelection,
        source: RegistryReference,
    ) -> anyhow::Result<ImageToCopy> {
        let Self::Registry(registry) = self else {
            let target = source.clone();
            return Ok(ImageToCopy { source, target });
        };
        let path = item.target_catalog.as_deref().unwrap_or(source.path());
        let tag = source.tag().unwrap_or_default();
        let tag = item.target_tag.as_deref().unwrap_or(tag);
        let repository = registry.repository(path);
        let target = RegistryReference::parse(&format!("{repository}:{tag}"))?;
        Ok(ImageToCopy { source, target })
    }
}

impl MirroredSet {
    /// Reads what is selected, and packs the catalogs. Prints the problems, and returns `None` if it
    /// is refused.
    pub(super) fn load(
        args: &MirrorSelectionArgs,
        destination: &Destination,
    ) -> anyhow::Result<Option<Self>> {
        let selection = match Selection::load(args)? {
            Ok(selection) => selection,
            Err(problems) => {
                print_problems(&as_values(problems));
                return Ok(None);
            }
        };
        let items = &selection.configuration.operators;
        let sources = selection.by_item.iter().map(|at| &selection.sources[*at]);
        let sources: Vec<&LoadedSource> = sources.collect();
        let catalogs: Vec<_> = sources
            .iter()
            .map(|source| &*source.content.catalog)
            .collect();
        let work = Work::unlimited();
        let plan = plan(
            &selection.configuration,
            &catalogs,
            MirrorRules::Catalogql,
            &work,
        )
        .expect("an account without limit stops nothing");
        let problems = plan.problems.iter().map(serde_json::to_value);
        print_problems(&problems.collect::<Result<Vec<_>, _>>()?);
        if plan.is_refused() {
            return Ok(None);
        }

        let images = destination.places(&plan.images)?;
        let mut catalogs = Vec::new();
        for (item, source) in items.iter().zip(sources) {
            let folder = scratch()?;
            let files = selected_files(source, &select_of(source, item))?;
            let packed = pack(&files, folder.path())?;
            let image = destination.catalog(item, catalog_reference(item, source)?)?;
            catalogs.push(MirroredCatalog {
                packed,
                image,
                folder,
            });
        }
        let mut targets: BTreeSet<_> = images.iter().map(|one| one.target.to_string()).collect();
        for catalog in &catalogs {
            let target = catalog.image.target.to_string();
            if !targets.insert(target.clone()) {
                bail!(
                    "cannot copy two images to `{target}`: name another place of the catalog with `targetCatalog` or `targetTag`"
                );
            }
        }
        Ok(Some(Self { images, catalogs }))
    }
}

/// Returns the reference of a catalog with a tag: as the configuration names it, or made of the name
/// of its source. In place of a digest, which a part of the catalog does not have, the tag has its
/// first digits.
fn catalog_reference(
    item: &CatalogSelection,
    source: &LoadedSource,
) -> anyhow::Result<RegistryReference> {
    let named = [Some(&*item.catalog), source.content.image.as_deref()];
    let mut references = named.into_iter().flatten().filter_map(|text| {
        let text = without_scheme(text);
        // Otherwise it is a path, or the name of a source.
        let reference = ImageReference::parse(text).ok()?;
        begins_with_registry(text).then_some(reference)
    });
    let Some(reference) = references.next() else {
        return Ok(RegistryReference::parse(&format!(
            "{LOCAL}/{}:latest",
            source.name
        ))?);
    };
    let digest = reference
        .digest()
        .and_then(|digest| digest.split_once(':'))
        .map(|(_, hex)| hex.chars().take(TAG_DIGITS).collect::<String>());
    let tag = reference.tag().map(str::to_owned).or(digest);
    let tag = tag.unwrap_or_else(|| "latest".to_owned());
    let text = format!("{}/{}:{tag}", reference.domain(), reference.path());
    RegistryReference::parse(&text).map_err(|error| anyhow!(error))
}
