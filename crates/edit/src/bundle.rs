//! Renders a registry+v1 bundle, a directory with `manifests` and `metadata`, to its `olm.bundle`.

mod apis;
mod csv;
mod files;
mod properties;

use std::collections::BTreeSet;
use std::fmt;

use fbc_read::manifest::Manifests;

use crate::value::Value;

use apis::Api;
use csv::csv_metadata;
use files::{ParsedManifests, manifests, metadata};

pub use files::RenderBudget;
pub(crate) use files::{first_document, rendered_blob};
pub(crate) use properties::is_large as is_large_property;

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

/// How the manifests of a bundle get into its blob.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Migration {
    /// Each manifest is an `olm.bundle.object`.
    #[default]
    None,
    /// The CSV becomes one `olm.csv.metadata` if the bundle has an image, from which the manifests
    /// can be read.
    CsvMetadata,
}

/// What a bundle says of itself beside its blob. Only [adding](crate::operation) a bundle reads it.
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
    /// The bundle that it stands in for; empty for none.
    pub substitutes_for: String,
    /// Description of the package, for its first bundle.
    pub description: String,
    /// Icon of the package (`base64data`, `mediatype`), for its first bundle.
    pub icon: Option<Value>,
}

/// A rendered bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedBundle {
    /// The `olm.bundle`.
    pub blob: Value,
    /// Channels and upgrade edges.
    pub placement: Placement,
    /// Files that were not read, and why.
    pub warnings: Vec<String>,
}

/// Why a bundle cannot be rendered. The texts are those of operator-registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// No manifest can be read.
    #[error("no bundle objects found{0}")]
    NoObjects(UnreadFiles),
    /// No manifest is a `ClusterServiceVersion`.
    #[error("no csv in bundle{0}")]
    NoCsv(UnreadFiles),
    /// An owned API is malformed or has no manifest.
    #[error("error checking provided apis in bundle {bundle}: {fault}")]
    Apis {
        /// Name of the bundle.
        bundle: String,
        /// What is wrong.
        fault: String,
    },
    /// No metadata file has annotations.
    #[error("Could not find annotations file{0}")]
    NoAnnotations(UnreadFiles),
    /// The files have more bytes than may be read.
    #[error("its files are too large once the aliases in them are resolved")]
    TooLarge,
}

/// Why files of a bundle were not read, for an error about what is missing: it may be in one of
/// them. Its text begins with a colon, and is empty where every file was read.
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
struct Parsed {
    defined: BTreeSet<Api>,
    csv: Value,
    annotations: Value,
    dependencies: Vec<Value>,
    properties: Vec<Value>,
}

/// Renders a bundle as `opm render` does. `image` is the reference of its image; empty for none.
pub fn render(
    files: &BundleFiles,
    image: &str,
    migration: Migration,
) -> Result<RenderedBundle, BundleError> {
    render_within(files, image, migration, &mut RenderBudget::unlimited())
}

/// Renders a bundle as [`render`] does, and reads no more than the budget allows.
pub fn render_within(
    files: &BundleFiles,
    image: &str,
    migration: Migration,
    budget: &mut RenderBudget,
) -> Result<RenderedBundle, BundleError> {
    let mut warnings = Vec::new();
    let has_metadata = migration == Migration::CsvMetadata && !image.is_empty();
    let ParsedManifests {
        csv,
        defined,
        objects,
    } = manifests(&files.manifests, !has_metadata, budget, &mut warnings)?;
    let name = csv
        .at(&["metadata", "name"])
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    apis::check(&csv, &defined).map_err(|fault| BundleError::Apis {
        bundle: name.clone(),
        fault,
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
    let parsed = Parsed {
        annotations: annotations
            .cloned()
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
    let mut blob = Value::object([
        ("schema", Value::text("olm.bundle")),
        ("name", Value::text(name)),
        ("package", Value::text(package)),
        ("image", Value::text(image)),
        ("properties", Value::Array(properties)),
    ]);
    let images = csv::related_images(&parsed.csv, image);
    if let (Value::Object(members), false) = (&mut blob, images.is_empty()) {
        members.insert("relatedImages".to_owned(), Value::Array(images));
    }
    Ok(RenderedBundle {
        blob,
        placement: placement(&parsed),
        warnings,
    })
}

/// Arranges an `olm.bundle` as `opm render` does: manifests behind other properties, related images
/// by image. Other blobs stay as they are.
pub fn arranged(blob: Value) -> Value {
    let is_bundle = blob.str("schema") == "olm.bundle";
    let Value::Object(mut members) = blob else {
        return blob;
    };
    if let Some(Value::Array(properties)) = members.get_mut("properties").filter(|_| is_bundle) {
        properties.sort_by_key(|property| properties::is_large(property.str("type")));
    }
    if let Some(Value::Array(images)) = members.get_mut("relatedImages").filter(|_| is_bundle) {
        images.sort_by(|a, b| a.str("image").cmp(b.str("image")));
    }
    Value::Object(members)
}

/// Replaces the manifests of an `olm.bundle` by the metadata of its CSV, if it has an image and its
/// manifests a CSV.
pub fn migrate(blob: &Value) -> Value {
    let (Value::Object(members), properties) = (blob, blob.list(&["properties"])) else {
        return blob.clone();
    };
    let is_manifest = |property: &&Value| property.str("type") == "olm.bundle.object";
    let mut manifests = Manifests::default();
    let decoded = properties
        .iter()
        .filter(is_manifest)
        .filter_map(|property| {
            let json = manifests.decode(property.get("value")?.to_json().as_bytes())?;
            Value::parse(std::str::from_utf8(&json).ok()?).ok()
        });
    let csv = decoded.into_iter().find(is_csv);
    let has_metadata = properties
        .iter()
        .any(|property| property.str("type") == "olm.csv.metadata");
    let Some(csv) = csv.filter(|_| !has_metadata && !blob.str("image").is_empty()) else {
        return blob.clone();
    };
    let mut kept: Vec<Value> = properties
        .iter()
        .filter(|property| !is_manifest(property))
        .cloned()
        .collect();
    kept.push(property("olm.csv.metadata", csv_metadata(&csv)));
    let mut members = members.clone();
    members.insert("properties".to_owned(), Value::Array(kept));
    Value::Object(members)
}

/// Creates a property.
pub(crate) fn property(kind: &str, value: Value) -> Value {
    Value::object([("type", Value::text(kind)), ("value", value)])
}

fn is_csv(object: &Value) -> bool {
    object.str("kind") == "ClusterServiceVersion"
}

fn has_any(value: &Value) -> bool {
    value.as_object().is_some_and(|members| !members.is_empty())
}

/// Returns an annotation of the bundle by the end of its key.
fn annotation<'v>(annotations: &'v Value, end: &str) -> &'v str {
    annotations.str(&format!("operators.operatorframework.io.bundle.{end}"))
}

/// Reads what the bundle says of channels and edges.
fn placement(parsed: &Parsed) -> Placement {
    let text = |path: &[&str]| {
        parsed
            .csv
            .at(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let csv_annotation = |key: &str| text(&["metadata", "annotations", key]);
    let skips = parsed
        .csv
        .list(&["spec", "skips"])
        .iter()
        .filter_map(Value::as_str);
    let icon = parsed.csv.list(&["spec", "icon"]).first();
    Placement {
        channels: annotation(&parsed.annotations, "channels.v1")
            .split(',')
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
