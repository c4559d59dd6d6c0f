//! Renders a registry+v1 bundle, a directory with `manifests` and `metadata`, to its `olm.bundle`.

mod apis;
mod csv;
mod files;
mod properties;

use std::collections::BTreeSet;
use std::fmt;

use fbc_read::manifest::Manifests;

use crate::value::BlobValue;

use apis::BundleApi;
use csv::csv_metadata;
use files::{ParsedManifests, manifests, metadata};

pub use files::RenderBudget;
pub(crate) use files::{first_document, rendered_blob};

/// Maximum size of a manifest or a metadata file of a bundle, in bytes. etcd accepts objects of up
/// to 1.5 MiB.
pub const MAX_FILE_BYTES: usize = 4 << 20;

/// A file of a bundle.
#[derive(Clone, Debug)]
pub struct BundleFile {
    /// Name, without its directory.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// The files of a bundle directory, without those of directories in it.
#[derive(Clone, Debug, Default)]
pub struct BundleFiles {
    /// Files of `manifests`.
    pub manifests: Vec<BundleFile>,
    /// Files of `metadata`.
    pub metadata: Vec<BundleFile>,
}

/// Representation of the manifests of a bundle in its blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Migration {
    /// Each manifest is an `olm.bundle.object`.
    #[default]
    None,
    /// The CSV becomes one `olm.csv.metadata` if the bundle has an image, from which the manifests
    /// can be read.
    CsvMetadata,
}

/// Channels and upgrade edges that a bundle asks for. They are not part of its blob, and only
/// [adding](crate::operation::Add) a bundle reads them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Channels that list the bundle.
    pub channels: Vec<String>,
    /// The default channel of the package; empty if the bundle names none.
    pub default_channel: String,
    /// The bundle that it replaces; empty for none.
    pub replaces: String,
    /// Bundles that it skips.
    pub skips: Vec<String>,
    /// Range of versions that it skips; empty for none.
    pub skip_range: String,
    /// The bundle that it substitutes (`olm.substitutesFor`); empty for none.
    pub substitutes_for: String,
    /// Description of the package, for its first bundle.
    pub description: String,
    /// Icon of the package (`base64data`, `mediatype`), for its first bundle.
    pub icon: Option<BlobValue>,
}

/// A rendered bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedBundle {
    /// The `olm.bundle`.
    pub blob: BlobValue,
    /// Channels and upgrade edges.
    pub placement: Placement,
    /// Files that were not read, with the reasons.
    pub warnings: Vec<String>,
}

/// A bundle cannot be rendered. The messages are those of operator-registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// No manifest can be read.
    #[error("no bundle objects found{0}")]
    NoObjects(UnreadFiles),
    /// No manifest is a `ClusterServiceVersion`.
    #[error("no csv in bundle{0}")]
    NoCsv(UnreadFiles),
    /// An owned API is malformed or has no manifest.
    #[error("error checking provided apis in bundle {bundle}: {reason}")]
    Apis {
        /// Name of the bundle.
        bundle: String,
        /// The API, and what it lacks.
        reason: String,
    },
    /// No metadata file has annotations.
    #[error("Could not find annotations file{0}")]
    NoAnnotations(UnreadFiles),
    /// The files have more bytes than the budget.
    #[error("its files are too large once the aliases in them are resolved")]
    TooLarge,
}

/// Files of a bundle that were not read, with the reasons: what is missing may be in one of them.
/// The text begins with a colon, and is empty where every file was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnreadFiles(Vec<String>);

/// Maximum number of unread files that an error names.
const NAMED_FILES: usize = 3;

impl fmt::Display for UnreadFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, file) in self.0.iter().take(NAMED_FILES).enumerate() {
            write!(f, "{}{file}", if at == 0 { ": " } else { "; " })?;
        }
        match self.0.len().saturating_sub(NAMED_FILES) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// The parsed files of a bundle.
struct ParsedBundle {
    defined: BTreeSet<BundleApi>,
    csv: BlobValue,
    annotations: BlobValue,
    dependencies: Vec<BlobValue>,
    properties: Vec<BlobValue>,
}

/// Renders a bundle as `opm render` does. `image` is the reference of its image; empty for none.
pub fn render(
    files: &BundleFiles,
    image: &str,
    migration: Migration,
) -> Result<RenderedBundle, BundleError> {
    render_within(files, image, migration, &mut RenderBudget::unlimited())
}

/// Renders a bundle as [`render`] does, and reads no more bytes than the budget has.
pub fn render_within(
    files: &BundleFiles,
    image: &str,
    migration: Migration,
    budget: &mut RenderBudget,
) -> Result<RenderedBundle, BundleError> {
    let mut warnings = Vec::new();
    // Without an image there is nowhere else to read the manifests from.
    let has_metadata = migration == Migration::CsvMetadata && !image.is_empty();
    let ParsedManifests {
        csv,
        defined,
        objects,
    } = manifests(&files.manifests, !has_metadata, budget, &mut warnings)?;
    let name = csv
        .at(&["metadata", "name"])
        .and_then(BlobValue::as_str)
        .unwrap_or_default()
        .to_owned();
    apis::check(&csv, &defined).map_err(|reason| BundleError::Apis {
        bundle: name.clone(),
        reason,
    })?;

    let mut unread = Vec::new();
    let metadata = metadata(&files.metadata, budget, &mut unread)?;
    let annotations = metadata
        .iter()
        .find_map(|value| value.get("annotations").filter(|found| has_any(found)));
    let list = |key: &str| {
        metadata
            .iter()
            .map(|value| value.list(&[key]).to_vec())
            .find(|found| !found.is_empty())
    };
    let parsed = ParsedBundle {
        annotations: annotations
            .cloned()
            // `opm` says `open .: no such file or directory` here.
            .ok_or(BundleError::NoAnnotations(UnreadFiles(unread)))?,
        dependencies: list("dependencies").unwrap_or_default(),
        properties: list("properties").unwrap_or_default(),
        defined,
        csv,
    };

    let package = annotation(&parsed.annotations, "package.v1").to_owned();
    let mut properties = properties::properties(&parsed, &package, &mut warnings);
    if has_metadata {
        properties.push(property("olm.csv.metadata", csv_metadata(&parsed.csv)));
    }
    properties.extend(objects);
    let mut blob = BlobValue::object([
        ("schema", BlobValue::text("olm.bundle")),
        ("name", BlobValue::text(name)),
        ("package", BlobValue::text(package)),
        ("image", BlobValue::text(image)),
        ("properties", BlobValue::Array(properties)),
    ]);
    let images = csv::related_images(&parsed.csv, image);
    if let BlobValue::Object(members) = &mut blob
        && !images.is_empty()
    {
        members.insert("relatedImages".to_owned(), BlobValue::Array(images));
    }
    Ok(RenderedBundle {
        blob,
        placement: placement(&parsed),
        warnings,
    })
}

/// Sorts the lists of an `olm.bundle` as `opm render` does: properties with manifests come last,
/// related images are sorted by image. Other blobs stay as they are.
pub fn arrange(blob: BlobValue) -> BlobValue {
    let is_bundle = blob.str("schema") == "olm.bundle";
    let BlobValue::Object(mut members) = blob else {
        return blob;
    };
    if let Some(BlobValue::Array(properties)) = members.get_mut("properties").filter(|_| is_bundle)
    {
        properties.sort_by_key(|property| properties::has_manifests(property.str("type")));
    }
    if let Some(BlobValue::Array(images)) = members.get_mut("relatedImages").filter(|_| is_bundle) {
        images.sort_by(|a, b| a.str("image").cmp(b.str("image")));
    }
    BlobValue::Object(members)
}

/// Replaces the manifests of an `olm.bundle` by the metadata of its CSV, if it has an image and its
/// manifests a CSV.
pub fn migrate(blob: &BlobValue) -> BlobValue {
    let BlobValue::Object(members) = blob else {
        return blob.clone();
    };
    let properties = blob.list(&["properties"]);
    let is_manifest = |property: &&BlobValue| property.str("type") == "olm.bundle.object";
    let mut manifests = Manifests::default();
    let decoded = properties
        .iter()
        .filter(is_manifest)
        .filter_map(|property| {
            let json = manifests.decode(property.get("value")?.to_json().as_bytes())?;
            BlobValue::parse(std::str::from_utf8(&json).ok()?).ok()
        });
    let csv = decoded.into_iter().find(is_csv);
    let has_metadata = properties
        .iter()
        .any(|property| property.str("type") == "olm.csv.metadata");
    // Without an image the manifests could not be read anywhere else.
    let Some(csv) = csv.filter(|_| !has_metadata && !blob.str("image").is_empty()) else {
        return blob.clone();
    };
    let mut kept: Vec<BlobValue> = properties
        .iter()
        .filter(|property| !is_manifest(property))
        .cloned()
        .collect();
    kept.push(property("olm.csv.metadata", csv_metadata(&csv)));
    let mut members = members.clone();
    members.insert("properties".to_owned(), BlobValue::Array(kept));
    BlobValue::Object(members)
}

/// Creates a property.
pub(crate) fn property(kind: &str, value: BlobValue) -> BlobValue {
    BlobValue::object([("type", BlobValue::text(kind)), ("value", value)])
}

fn is_csv(object: &BlobValue) -> bool {
    object.str("kind") == "ClusterServiceVersion"
}

fn has_any(value: &BlobValue) -> bool {
    value.as_object().is_some_and(|members| !members.is_empty())
}

/// Returns an annotation of the bundle by the end of its key.
fn annotation<'v>(annotations: &'v BlobValue, end: &str) -> &'v str {
    annotations.str(&format!("operators.operatorframework.io.bundle.{end}"))
}

/// Reads the channels and edges of a bundle.
fn placement(parsed: &ParsedBundle) -> Placement {
    let text = |path: &[&str]| {
        parsed
            .csv
            .at(path)
            .and_then(BlobValue::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let csv_annotation = |key: &str| text(&["metadata", "annotations", key]);
    let skips = parsed
        .csv
        .list(&["spec", "skips"])
        .iter()
        .filter_map(BlobValue::as_str);
    let icon = parsed.csv.list(&["spec", "icon"]).first();
    Placement {
        channels: annotation(&parsed.annotations, "channels.v1")
            .split(',')
            // `opm` makes a channel ` two` of `one, two`.
            .map(|name| name.trim().to_owned())
            .collect(),
        default_channel: annotation(&parsed.annotations, "channel.default.v1")
            .trim()
            .to_owned(),
        replaces: text(&["spec", "replaces"]),
        skips: skips.map(str::to_owned).collect(),
        skip_range: csv_annotation("olm.skipRange"),
        substitutes_for: csv_annotation("olm.substitutesFor"),
        description: text(&["spec", "description"]),
        icon: icon.and_then(csv::icon),
    }
}
