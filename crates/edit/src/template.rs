//! Templates of catalogs as `opm` has them: `olm.template.basic`, `olm.semver` and
//! `olm.template.substitutes`.
//!
//! A template names bundles by their images; who calls renders them.

mod semver;
mod substitutes;

use crate::format::with_usual_keys;
use crate::meta::{Meta, sort};
use crate::value::{Members, Value};

/// A kind of template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateKind {
    /// A catalog whose bundles have nothing but an image.
    Basic,
    /// Bundles in channels by their versions.
    Semver,
    /// A catalog with bundles that stand in for others.
    Substitutes,
}

/// Why a template is refused. The texts are those of operator-registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// There is no `schema`.
    #[error("auto-detecting template type: template input missing required 'schema' field")]
    NoSchema,
    /// There is no such template.
    #[error("auto-detecting template type: unknown template schema: {0}")]
    UnknownSchema(String),
    /// The text cannot be read.
    #[error("rendering template: {0}")]
    Unreadable(String),
    /// A bundle of a basic template has more than an image.
    #[error("rendering template: unexpected fields present in basic template bundle")]
    UnexpectedFields,
    /// An entry of a basic template is no blob: it has no schema.
    #[error("rendering template: {0}")]
    Entry(#[from] EntryWithoutSchema),
    /// An image cannot be rendered.
    #[error("rendering template: {0}")]
    Image(String),
    /// A template of versions cannot be read.
    #[error("rendering template: render: unable to read file: {0}")]
    SemverFile(String),
    /// Bundles of a template of versions cannot be placed.
    #[error("rendering template: render: unable to post-process bundle info: {0}")]
    SemverBundles(String),
    /// A template of versions names no bundle.
    #[error("rendering template: render: no bundles specified or no bundles could be rendered")]
    NoBundles,
    /// An entry of a template of substitutes is no blob: it has no schema.
    #[error("rendering template: render: unable to create declarative config from entries: {0}")]
    SubstitutesEntry(EntryWithoutSchema),
    /// The entries of a template of substitutes are no valid catalog.
    #[error("rendering template: render: entries are not valid FBC: {0}")]
    InvalidEntries(String),
    /// Two substitutes stand in for one bundle.
    #[error("rendering template: render: cannot reuse the same substitution base {0:?}")]
    BaseReused(String),
    /// A substitute stands in for two bundles.
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
        "rendering template: render: error processing substitution {base:?} -> {name:?}: {fault}"
    )]
    Substitution {
        /// The bundle that is replaced.
        base: String,
        /// The image of its substitute.
        name: String,
        /// Why.
        fault: String,
    },
}

/// An entry of a template without a schema, as JSON with the line feed that `opm` prints behind it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("object '{0}\n' is missing root schema field")]
pub struct EntryWithoutSchema(String);

/// Renders the bundle of an image; the error says why it cannot be had.
pub type RenderImage<'r> = &'r mut dyn FnMut(&str) -> Result<Value, String>;

impl TemplateKind {
    /// Finds the kind of a template by its schema.
    pub fn detect(template: &Value) -> Result<Self, TemplateError> {
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
        template: &Value,
        image: RenderImage<'_>,
    ) -> Result<Vec<Value>, TemplateError> {
        let blobs = match self {
            Self::Basic => basic(template, image)?,
            Self::Semver => semver::render(template, image)?,
            Self::Substitutes => substitutes::render(template, image)?,
        };
        let mut metas: Vec<_> = blobs
            .iter()
            .enumerate()
            .map(|(id, blob)| Meta::of(id, blob))
            .collect();
        sort(&mut metas);
        Ok(metas
            .into_iter()
            .map(|meta| blobs[meta.id].clone())
            .collect())
    }

    /// Makes a template of the blobs of a catalog; `None` for one of versions, which has none.
    pub fn convert(self, mut blobs: Vec<Value>) -> Option<Value> {
        let rank = |blob: &Value| match blob.str("schema") {
            "olm.package" => 0,
            "olm.channel" => 1,
            "olm.bundle" => 2,
            "olm.deprecations" => 4,
            _ => 3,
        };
        let package = |blob: &Value| {
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
        let image_only = |blob: Value| match blob.get("image") {
            Some(image) if self == Self::Basic && blob.str("schema") == "olm.bundle" => {
                Value::object([
                    ("schema", Value::text("olm.bundle")),
                    ("image", image.clone()),
                ])
            }
            _ => blob,
        };
        let entries = Value::Array(blobs.into_iter().map(image_only).collect());
        let mut members: Members = [("schema", Value::text(schema)), ("entries", entries)]
            .map(|(key, value)| (key.to_owned(), value))
            .into();
        if self == Self::Substitutes {
            members.insert("substitutions".to_owned(), Value::Array(Vec::new()));
        }
        Some(Value::Object(members))
    }
}

/// Parses the first document of a template, JSON or YAML.
pub fn parse(text: &[u8]) -> Result<Value, TemplateError> {
    crate::bundle::first_document(text).map_err(TemplateError::Unreadable)
}

fn schema(template: &Value) -> String {
    field(template, "schema")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// Returns a member of an object, whatever the case of its key.
fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let members = value.as_object()?;
    members.get(name).or_else(|| {
        members
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    })
}

fn list<'v>(value: &'v Value, name: &str) -> &'v [Value] {
    if let Some(Value::Array(items)) = field(value, name) {
        items
    } else {
        &[]
    }
}

/// Returns the entries of a template, known fields with keys of their usual case. Each is a blob,
/// which has a schema.
fn entries(template: &Value) -> Result<Vec<Value>, EntryWithoutSchema> {
    let blob = |entry: &Value| match &*schema(entry) {
        "" => Err(EntryWithoutSchema(entry.to_json())),
        _ => Ok(with_usual_keys(entry)),
    };
    list(template, "entries").iter().map(blob).collect()
}

fn basic(template: &Value, image: RenderImage<'_>) -> Result<Vec<Value>, TemplateError> {
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
            .any(|key| !matches!(key.as_str(), "schema" | "image" | "name"))
        {
            return Err(TemplateError::UnexpectedFields);
        }
        blobs.push(image(entry.str("image")).map_err(TemplateError::Image)?);
    }
    Ok(blobs)
}
