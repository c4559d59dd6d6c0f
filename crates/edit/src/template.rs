//! Templates of catalogs as `opm` has them: `olm.template.basic`, `olm.semver` and
//! `olm.template.substitutes`.
//!
//! A template names bundles by their images; the caller renders these.

mod semver;
mod substitutes;

use crate::blob::{CatalogBlob, sort};
use crate::format::with_usual_keys;
use crate::value::{BlobValue, Members};

/// A kind of template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateKind {
    /// A catalog whose bundles have nothing but an image.
    Basic,
    /// Bundles whose channels and edges follow from their versions.
    Semver,
    /// A catalog with substitutes for some of its bundles.
    Substitutes,
}

/// A template cannot be rendered. The messages are those of operator-registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template has no `schema`.
    #[error("auto-detecting template type: template input missing required 'schema' field")]
    NoSchema,
    /// No kind of template has this schema.
    #[error("auto-detecting template type: unknown template schema: {0}")]
    UnknownSchema(String),
    /// The text cannot be read.
    #[error("rendering template: {0}")]
    Unreadable(String),
    /// A bundle of a basic template has more than an image.
    #[error("rendering template: unexpected fields present in basic template bundle")]
    UnexpectedFields,
    /// An entry of a basic template is not a blob: it has no schema.
    #[error("rendering template: {0}")]
    Entry(#[from] MissingSchemaError),
    /// An image cannot be rendered.
    #[error("rendering template: {0}")]
    Image(String),
    /// A semver template cannot be read.
    #[error("rendering template: render: unable to read file: {0}")]
    SemverFile(String),
    /// Bundles of a semver template cannot be placed.
    #[error("rendering template: render: unable to post-process bundle info: {0}")]
    SemverBundles(String),
    /// A semver template names no bundle.
    #[error("rendering template: render: no bundles specified or no bundles could be rendered")]
    NoBundles,
    /// An entry of a substitutes template is not a blob: it has no schema.
    #[error("rendering template: render: unable to create declarative config from entries: {0}")]
    SubstitutesEntry(MissingSchemaError),
    /// The entries of a substitutes template are not a valid catalog.
    #[error("rendering template: render: entries are not valid FBC: {0}")]
    InvalidEntries(String),
    /// Two substitutes have the same base.
    #[error("rendering template: render: cannot reuse the same substitution base {0:?}")]
    BaseReused(String),
    /// A substitute has two bases.
    #[error(
        "rendering template: render: cannot reuse the same substitution {name:?} for different bases ({first:?} and {second:?})"
    )]
    SubstituteReused {
        /// The substitute.
        name: String,
        /// The first base.
        first: String,
        /// The second base.
        second: String,
    },
    /// A substitution is not possible.
    #[error(
        "rendering template: render: error processing substitution {base:?} -> {name:?}: {reason}"
    )]
    Substitution {
        /// The bundle that is replaced.
        base: String,
        /// The image of its substitute.
        name: String,
        /// Reason for which it is not possible.
        reason: String,
    },
}

/// An entry of a template without a schema, as JSON with the line feed that `opm` prints behind it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("object '{0}\n' is missing root schema field")]
pub struct MissingSchemaError(String);

/// Renders the bundle of an image; the error is a message.
pub type RenderImage<'r> = &'r mut dyn FnMut(&str) -> Result<BlobValue, String>;

impl TemplateKind {
    /// Finds the kind of a template by its schema.
    pub fn detect(template: &BlobValue) -> Result<Self, TemplateError> {
        match schema(template).as_str() {
            "" => Err(TemplateError::NoSchema),
            "olm.template.basic" => Ok(Self::Basic),
            "olm.semver" => Ok(Self::Semver),
            "olm.template.substitutes" => Ok(Self::Substitutes),
            other => Err(TemplateError::UnknownSchema(other.to_owned())),
        }
    }

    /// Renders a template to the blobs of a catalog, in the order in which they are written.
    pub fn render(
        self,
        template: &BlobValue,
        render_image: RenderImage<'_>,
    ) -> Result<Vec<BlobValue>, TemplateError> {
        let blobs = match self {
            Self::Basic => basic(template, render_image)?,
            Self::Semver => semver::render(template, render_image)?,
            Self::Substitutes => substitutes::render(template, render_image)?,
        };
        let mut sorted: Vec<_> = blobs
            .iter()
            .enumerate()
            .map(|(id, blob)| CatalogBlob::from_value(id, blob))
            .collect();
        sort(&mut sorted);
        Ok(sorted.iter().map(|blob| blobs[blob.id].clone()).collect())
    }

    /// Converts the blobs of a catalog to a template; `None` for a semver template, which no
    /// catalog can be converted to.
    pub fn convert(self, mut blobs: Vec<BlobValue>) -> Option<BlobValue> {
        let rank = |blob: &BlobValue| match blob.str("schema") {
            "olm.package" => 0,
            "olm.channel" => 1,
            "olm.bundle" => 2,
            "olm.deprecations" => 4,
            _ => 3,
        };
        let package = |blob: &BlobValue| {
            blob.str(if blob.str("schema") == "olm.package" {
                "name"
            } else {
                "package"
            })
            .to_owned()
        };
        blobs.sort_by_cached_key(|blob| (package(blob), rank(blob)));
        let schema = match self {
            Self::Basic => "olm.template.basic",
            Self::Substitutes => "olm.template.substitutes",
            Self::Semver => return None,
        };
        let image_only = |blob: BlobValue| match blob.get("image") {
            Some(image) if self == Self::Basic && blob.str("schema") == "olm.bundle" => {
                BlobValue::object([
                    ("schema", BlobValue::text("olm.bundle")),
                    ("image", image.clone()),
                ])
            }
            _ => blob,
        };
        let entries = BlobValue::Array(blobs.into_iter().map(image_only).collect());
        let mut members: Members = [("schema", BlobValue::text(schema)), ("entries", entries)]
            .map(|(key, value)| (key.to_owned(), value))
            .into();
        if self == Self::Substitutes {
            members.insert("substitutions".to_owned(), BlobValue::Array(Vec::new()));
        }
        Some(BlobValue::Object(members))
    }
}

/// Parses the first document of a template, JSON or YAML.
pub fn parse(text: &[u8]) -> Result<BlobValue, TemplateError> {
    crate::bundle::first_document(text).map_err(TemplateError::Unreadable)
}

fn schema(template: &BlobValue) -> String {
    field(template, "schema")
        .and_then(BlobValue::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Returns a member of an object, whatever the case of its key.
fn field<'v>(value: &'v BlobValue, name: &str) -> Option<&'v BlobValue> {
    let members = value.as_object()?;
    members.get(name).or_else(|| {
        members
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    })
}

fn list<'v>(value: &'v BlobValue, name: &str) -> &'v [BlobValue] {
    if let Some(BlobValue::Array(items)) = field(value, name) {
        items
    } else {
        &[]
    }
}

/// Returns the entries of a template, known fields with keys of their usual case. Each is a blob,
/// which has a schema.
fn entries(template: &BlobValue) -> Result<Vec<BlobValue>, MissingSchemaError> {
    let blob = |entry: &BlobValue| match &*schema(entry) {
        "" => Err(MissingSchemaError(entry.to_json())),
        _ => Ok(with_usual_keys(entry.clone())),
    };
    list(template, "entries").iter().map(blob).collect()
}

fn basic(
    template: &BlobValue,
    render_image: RenderImage<'_>,
) -> Result<Vec<BlobValue>, TemplateError> {
    let mut blobs = Vec::new();
    for entry in entries(template)? {
        if entry.str("schema") != "olm.bundle" {
            blobs.push(entry);
            continue;
        }
        let none = Members::new();
        let members = entry.as_object().unwrap_or(&none);
        if members
            .keys()
            // Other fields would be lost: the bundle is rendered from its image.
            .any(|key| !matches!(key.as_str(), "schema" | "image" | "name"))
        {
            return Err(TemplateError::UnexpectedFields);
        }
        blobs.push(render_image(entry.str("image")).map_err(TemplateError::Image)?);
    }
    Ok(blobs)
}
