//! `ClusterCatalogs` for the `CatalogSources` of a cluster, by the rules of upstream's tool.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use printing::text;
use serde_json::{Value, json};

use super::objects::{MigrationKind, MigrationObjects};

/// Annotation of a `ClusterCatalog` with NAMESPACE/NAME of its `CatalogSource`.
const MIGRATED_FROM: &str = "olm.operatorframework.io/migrated-from-catalogsource";

/// Fields of a `CatalogSource` without a like in OLM v1.
const DROPPED: [&str; 6] = [
    "secrets",
    "grpcPodConfig",
    "displayName",
    "publisher",
    "icon",
    "description",
];

/// Outcome of the move of a `CatalogSource`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CatalogOutcome {
    /// A `ClusterCatalog` is to be made.
    Create,
    /// A `ClusterCatalog` has its image.
    Exists,
    /// Another `CatalogSource` of the image has it made.
    Shared,
    /// OLM v1 has nothing like it.
    NotMigratable,
    /// The `ClusterCatalog` cannot be made.
    Failed,
    /// The `ClusterCatalogs` of the cluster are unknown.
    Unknown,
}

/// A `CatalogSource` with its `ClusterCatalog`.
#[derive(Clone, Debug)]
pub(super) struct CatalogMove {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) outcome: CatalogOutcome,
    /// Name of the `ClusterCatalog`; empty if there is none.
    pub(super) cluster_catalog: String,
    pub(super) image: String,
    /// Reason of the outcome.
    pub(super) reason: String,
    /// Fields that are left out or changed.
    pub(super) notes: Vec<String>,
    /// The object to make.
    pub(super) manifest: Option<Value>,
}

impl CatalogOutcome {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Exists => "EXISTS",
            Self::Shared => "SHARED",
            Self::NotMigratable => "NOT_MIGRATABLE",
            Self::Failed => "FAILED",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// The names of `ClusterCatalogs` by image, and their images by name.
#[derive(Default)]
struct KnownCatalogs {
    by_image: BTreeMap<String, Vec<String>>,
    images: BTreeMap<String, String>,
}

impl KnownCatalogs {
    fn add(&mut self, name: &str, image: &str) {
        self.images.insert(name.to_owned(), image.to_owned());
        if !image.is_empty() {
            let names = self.by_image.entry(image.to_owned()).or_default();
            names.push(name.to_owned());
            names.sort_unstable();
        }
    }

    /// Returns the catalog with an image: that of the wanted name, or else the lowest name.
    fn with_image(&self, image: &str, wanted: &str) -> Option<&str> {
        let names = self.by_image.get(image)?;
        let found = names.iter().find(|name| *name == wanted);
        found.or_else(|| names.first()).map(String::as_str)
    }
}

/// Returns the moves of all `CatalogSources`, by namespace and name.
pub(super) fn catalog_moves(objects: &MigrationObjects) -> Vec<CatalogMove> {
    let mut known = KnownCatalogs::default();
    for catalog in objects.known(MigrationKind::ClusterCatalog) {
        let [name, image] =
            ["/metadata/name", "/spec/source/image/ref"].map(|pointer| text(catalog, pointer));
        known.add(&name, &image);
    }
    let sources = || objects.known(MigrationKind::CatalogSource);
    let mut images_by_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources().filter(|source| image_of(source).is_some()) {
        let images = images_by_name.entry(text(source, "/metadata/name"));
        images.or_default().push(text(source, "/spec/image"));
    }
    let is_ambiguous = |name: &str| {
        let images = images_by_name.get(name).map_or(&[][..], Vec::as_slice);
        images.iter().any(|image| *image != images[0])
    };
    let unread = objects.read(MigrationKind::ClusterCatalog).err();
    let mut made = Vec::new();
    sources()
        .map(|source| {
            let mut moved = CatalogMove::new(source);
            let Some(image) = image_of(source) else {
                return moved;
            };
            moved.image = image;
            moved.cluster_catalog = if is_ambiguous(&moved.name) {
                format!("{}-{}", moved.name, moved.namespace)
            } else {
                moved.name.clone()
            };
            if let Some(reason) = unread {
                moved.outcome = CatalogOutcome::Unknown;
                moved.reason = format!("ClusterCatalogs could not be read: {reason}");
                return moved;
            }
            moved.decide(source, &mut known, &mut made);
            moved
        })
        .collect()
}

/// Returns the image of a `CatalogSource` that OLM v1 could serve.
fn image_of(source: &Value) -> Option<String> {
    let image = text(source, "/spec/image");
    (source["spec"]["sourceType"] == "grpc" && !image.is_empty()).then_some(image)
}

impl CatalogMove {
    fn new(source: &Value) -> Self {
        let kind = text(source, "/spec/sourceType");
        let reason = if kind == "grpc" {
            "it has an address and no image".to_owned()
        } else {
            format!("OLM v1 has no catalogs of type `{kind}`")
        };
        let [namespace, name] =
            ["/metadata/namespace", "/metadata/name"].map(|pointer| text(source, pointer));
        Self {
            namespace,
            name,
            outcome: CatalogOutcome::NotMigratable,
            cluster_catalog: String::new(),
            image: String::new(),
            reason,
            notes: Vec::new(),
            manifest: None,
        }
    }

    /// Returns NAMESPACE/NAME of the `CatalogSource`.
    pub(super) fn place(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// Finds the `ClusterCatalog` of the image, or makes one; `made` has those of this run.
    fn decide(&mut self, source: &Value, known: &mut KnownCatalogs, made: &mut Vec<String>) {
        if let Some(name) = known.with_image(&self.image, &self.cluster_catalog) {
            self.outcome = if made.iter().any(|made| made == name) {
                CatalogOutcome::Shared
            } else {
                CatalogOutcome::Exists
            };
            self.reason = format!("ClusterCatalog `{name}` has its image");
            name.clone_into(&mut self.cluster_catalog);
            return;
        }
        if let Some(image) = known.images.get(&self.cluster_catalog) {
            self.outcome = CatalogOutcome::Failed;
            self.reason = format!(
                "ClusterCatalog `{}` has another image: `{image}`",
                self.cluster_catalog
            );
            return;
        }
        match self.manifest_of(source) {
            Ok(manifest) => {
                self.outcome = CatalogOutcome::Create;
                "no ClusterCatalog has its image".clone_into(&mut self.reason);
                self.manifest = Some(manifest);
                known.add(&self.cluster_catalog, &self.image);
                made.push(self.cluster_catalog.clone());
            }
            Err(reason) => {
                self.outcome = CatalogOutcome::Failed;
                self.reason = reason;
            }
        }
    }

    /// Returns the `ClusterCatalog`, and notes what it leaves out.
    fn manifest_of(&mut self, source: &Value) -> Result<Value, String> {
        let spec = &source["spec"];
        let priority = &spec["priority"];
        let fitting = priority
            .as_i64()
            .and_then(|value| i32::try_from(value).ok());
        if !priority.is_null() && fitting.is_none() {
            return Err(format!(
                "its priority {priority} does not fit a ClusterCatalog (32 bits): change it, or cap it with `--acknowledge-priority-overflow` of upstream's tool"
            ));
        }
        let last = self.image.rsplit('/').next().unwrap_or_default();
        if !last.contains(':') && !self.image.contains('@') {
            return Err(format!(
                "a ClusterCatalog needs an image with a tag or a digest: `{}`",
                self.image
            ));
        }
        let mut image = json!({ "ref": self.image });
        if let Some(minutes) = self.poll_minutes(spec) {
            image["pollIntervalMinutes"] = json!(minutes);
        }
        let dropped: Vec<_> = DROPPED
            .into_iter()
            .filter(|field| !is_empty(&spec[*field]))
            .map(|field| format!("spec.{field}"))
            .collect();
        if !dropped.is_empty() {
            self.notes.push(format!(
                "left out, without a like in OLM v1: {}",
                dropped.join(", ")
            ));
        }
        let mut catalog = json!({
            "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
            "metadata": { "name": self.cluster_catalog, "annotations": { MIGRATED_FROM: self.place() } },
            "spec": { "source": { "type": "Image", "image": image }, "availabilityMode": "Available" },
        });
        if let Some(priority) = fitting {
            catalog["spec"]["priority"] = json!(priority);
        }
        Ok(catalog)
    }

    /// Returns the poll interval in whole minutes. Without one that is written, OLM v1's own applies:
    /// nobody has chosen that of OLM v0.
    fn poll_minutes(&mut self, spec: &Value) -> Option<i64> {
        let written = text(spec, "/updateStrategy/registryPoll/interval");
        if written.is_empty() {
            return None;
        }
        if self.image.contains('@') {
            self.notes.push(format!(
                "left out: the poll interval {written}, because a digest does not change"
            ));
            return None;
        }
        let interval: Option<SignedDuration> = written.parse().ok();
        let Some(interval) = interval.filter(SignedDuration::is_positive) else {
            self.notes.push(format!(
                "left out: the poll interval `{written}`, which is none"
            ));
            return None;
        };
        let minutes = interval.as_mins().max(1);
        if SignedDuration::from_mins(minutes) != interval {
            self.notes
                .push(format!("poll interval: {written} as {minutes} min"));
        }
        Some(minutes)
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
