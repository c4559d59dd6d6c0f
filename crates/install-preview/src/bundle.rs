//! Reads the manifests of a registry+v1 bundle, as OLM v1 reads them: by kinds alone.

use std::borrow::Cow;

use fbc_read::json::{JsonText, JsonValue, WrongType};
use fbc_read::manifest::MAX_MANIFEST_DEPTH;
use fbc_read::{FileReader, ReadEvent, ReadLimits};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::csv::BundleCsv;
use crate::error::{PreviewError, PreviewErrorCode};
use crate::go_json;
use crate::go_struct::{CRD, CSV, GoStructs, GoTypeError};

/// Maximum size of one manifest, in bytes: of its text and of its JSON, in which aliases of YAML are
/// resolved. etcd takes objects of 1.5 MiB.
pub const MAX_BUNDLE_FILE_BYTES: usize = 4 << 20;

/// Maximum size of all manifests of a bundle together, in bytes of their JSON.
pub const MAX_BUNDLE_BYTES: usize = 32 << 20;

/// Maximum number of files of a bundle.
pub const MAX_BUNDLE_FILES: usize = 2_000;

/// Maximum number of objects in the manifests of a bundle.
pub const MAX_BUNDLE_OBJECTS: usize = 5_000;

/// Maximum number of rules of a bundle: in its permissions and its webhooks.
pub const MAX_BUNDLE_RULES: usize = 10_000;

/// Maximum number of deployments of a bundle.
pub const MAX_BUNDLE_DEPLOYMENTS: usize = 1_000;

/// Annotation with the properties of a CSV.
const PROPERTIES: &str = "olm.properties";

/// Files of the directory `metadata`.
const ANNOTATIONS_FILE: &str = "annotations.yaml";
const PROPERTIES_FILE: &str = "properties.yaml";

/// A file in the folder `manifests` of a bundle, or one that a catalog has inline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleManifestFile<'a> {
    /// Name, for messages.
    pub name: Cow<'a, str>,
    /// JSON or YAML, with one or several documents.
    pub bytes: Cow<'a, [u8]>,
}

/// The files of a bundle in its image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleDirectory {
    /// Files of `manifests`, by name.
    pub manifests: Vec<BundleManifestFile<'static>>,
    /// The first directory in `manifests`, where OLM v1 accepts none.
    pub manifest_folder: Option<String>,
    /// Files of `metadata`, by name.
    pub metadata: Vec<BundleManifestFile<'static>>,
}

/// Objects of a bundle, and what its metadata says.
#[derive(Debug, Default)]
pub struct RegistryBundle {
    pub(crate) package: String,
    pub(crate) csv: BundleCsv,
    csv_json: String,
    pub(crate) definitions: Vec<DefinitionManifest>,
    pub(crate) others: Vec<OtherManifest>,
}

/// A custom resource definition, as Go writes it.
#[derive(Debug)]
pub(crate) struct DefinitionManifest {
    pub(crate) api_version: String,
    pub(crate) name: String,
    pub(crate) preserves_unknown_fields: bool,
    pub(crate) json: String,
}

/// Any other object, as it is.
#[derive(Debug)]
pub(crate) struct OtherManifest {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) json: String,
}

/// Identity of a custom resource definition.
#[derive(Deserialize)]
struct DefinitionHead {
    #[serde(rename = "apiVersion", default)]
    api_version: String,
    metadata: DefinitionMetadata,
    spec: DefinitionSpec,
}

#[derive(Deserialize)]
struct DefinitionMetadata {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DefinitionSpec {
    #[serde(default)]
    preserve_unknown_fields: bool,
}

/// A property of a bundle, with its value as it is written.
#[derive(Deserialize)]
struct TypedProperty {
    #[serde(rename = "type")]
    name: String,
    value: Box<RawValue>,
}

#[derive(Deserialize)]
struct PropertiesFile {
    #[serde(default)]
    properties: Option<Vec<TypedProperty>>,
}

/// Reads the files of one bundle.
struct BundleReading {
    bundle: RegistryBundle,
    has_csv: bool,
    bytes: usize,
    objects: usize,
}

impl RegistryBundle {
    /// Reads manifests in their order. Of several CSVs the last one counts.
    ///
    /// # Errors
    /// Fails at the first manifest that cannot be read, and when there is no CSV.
    pub fn read(package: &str, files: &[BundleManifestFile<'_>]) -> Result<Self, PreviewError> {
        if files.len() > MAX_BUNDLE_FILES {
            return Err(too_large(format!(
                "the bundle has {} files: at most {MAX_BUNDLE_FILES} are read",
                files.len()
            )));
        }
        let mut reading = BundleReading {
            bundle: Self {
                package: package.to_owned(),
                ..Self::default()
            },
            has_csv: false,
            bytes: 0,
            objects: 0,
        };
        for file in files {
            reading.file(file)?;
        }
        if !reading.has_csv {
            return Err(PreviewError::new(
                PreviewErrorCode::NoClusterServiceVersion,
                "no ClusterServiceVersion found in \"manifests\"",
            ));
        }
        reading.bundle.check_rules()?;
        reading.bundle.read_properties(None)?;
        Ok(reading.bundle)
    }

    /// Returns its `ClusterServiceVersion`, as Go writes it.
    pub fn csv_json(&self) -> &str {
        &self.csv_json
    }

    /// Reads the files of an image. Its annotations name the package, and its properties are added
    /// to those of the CSV.
    ///
    /// # Errors
    /// Fails as [`RegistryBundle::read`] does, and when there is a directory among the manifests or
    /// the metadata cannot be read.
    pub fn read_directory(directory: &BundleDirectory) -> Result<Self, PreviewError> {
        if let Some(folder) = &directory.manifest_folder {
            let message = format!(
                "subdirectories are not allowed within the bundle manifests directory of bundle image filesystem: found {folder:?}"
            );
            return Err(PreviewError::new(
                PreviewErrorCode::UnreadableManifest,
                message,
            ));
        }
        let package = package_name(file_named(&directory.metadata, ANNOTATIONS_FILE))?;
        let mut bundle = Self::read(&package, &directory.manifests)?;
        bundle.add_properties(file_named(&directory.metadata, PROPERTIES_FILE))?;
        Ok(bundle)
    }

    /// Appends the properties of the file `metadata/properties.yaml` to those of the CSV.
    ///
    /// # Errors
    /// Fails when the file is malformed.
    pub fn add_properties(&mut self, file: &[u8]) -> Result<(), PreviewError> {
        let unreadable = |error: &dyn ToString| {
            let message = format!(
                "failed to unmarshal metadata/properties.yaml: {}",
                error.to_string()
            );
            PreviewError::new(PreviewErrorCode::UnreadableMetadata, message)
        };
        if file.is_empty() {
            return Ok(());
        }
        let line = first_document(file).map_err(|error| unreadable(&error))?;
        let Some(line) = line else { return Ok(()) };
        let parsed: PropertiesFile =
            serde_json::from_str(&line).map_err(|error| unreadable(&error))?;
        self.read_properties(Some(parsed.properties.unwrap_or_default()))
    }

    /// Reads the properties of the CSV, and appends others.
    fn read_properties(&mut self, added: Option<Vec<TypedProperty>>) -> Result<(), PreviewError> {
        let annotations = &mut self.csv.metadata.annotations;
        let mut all: Vec<TypedProperty> = match annotations.get(PROPERTIES) {
            None => Vec::new(),
            Some(text) => serde_json::from_str::<Option<_>>(text)
                .map_err(|error| {
                    let message = format!(
                        "failed to unmarshal csv.metadata.annotations['olm.properties']: {error}"
                    );
                    PreviewError::new(PreviewErrorCode::UnreadableMetadata, message)
                })?
                .unwrap_or_default(),
        };
        let Some(added) = added else { return Ok(()) };
        all.extend(added);
        let properties = all.iter().map(|property| {
            let name = go_json::string(&property.name);
            format!(
                "{{\"type\":{name},\"value\":{}}}",
                go_json::compact(property.value.get())
            )
        });
        let list: Vec<_> = properties.collect();
        annotations.insert(PROPERTIES.to_owned(), format!("[{}]", list.join(",")));
        Ok(())
    }

    fn check_rules(&self) -> Result<(), PreviewError> {
        let strategy = &self.csv.spec.install.spec;
        let permissions = strategy.permissions.iter();
        let rules: usize = permissions
            .chain(&strategy.cluster_permissions)
            .map(|permission| permission.rules.as_ref().map_or(0, Vec::len))
            .sum();
        let webhooks = self.csv.spec.webhookdefinitions.iter();
        let all = rules + webhooks.map(|webhook| webhook.rules.len()).sum::<usize>();
        if all > MAX_BUNDLE_RULES {
            return Err(too_large(format!(
                "the permissions and webhooks have {all} rules: at most {MAX_BUNDLE_RULES} are read"
            )));
        }
        let deployments = self.csv.deployments().len();
        if deployments > MAX_BUNDLE_DEPLOYMENTS {
            return Err(too_large(format!(
                "the bundle has {deployments} deployments: at most {MAX_BUNDLE_DEPLOYMENTS} are read"
            )));
        }
        Ok(())
    }
}

/// Returns the file of a name; empty if there is none.
fn file_named<'f>(files: &'f [BundleManifestFile<'_>], name: &str) -> &'f [u8] {
    let mut named = files.iter().filter(|file| file.name == name);
    named.next().map_or(&[], |file| &file.bytes)
}

/// Reads the name of the package from the file `metadata/annotations.yaml` of a bundle.
///
/// # Errors
/// Fails when the file is malformed.
pub fn package_name(annotations: &[u8]) -> Result<String, PreviewError> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct AnnotationsFile {
        annotations: Option<Annotations>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Annotations {
        #[serde(rename = "operators.operatorframework.io.bundle.package.v1")]
        package: Option<String>,
    }
    let unreadable = |error: &dyn ToString| {
        let message = format!(
            "cannot read metadata/annotations.yaml: {}",
            error.to_string()
        );
        PreviewError::new(PreviewErrorCode::UnreadableMetadata, message)
    };
    let Some(line) = first_document(annotations).map_err(|error| unreadable(&error))? else {
        return Ok(String::new());
    };
    let file: AnnotationsFile = serde_json::from_str(&line).map_err(|error| unreadable(&error))?;
    let package = file.annotations.unwrap_or_default().package;
    Ok(package.unwrap_or_default())
}

impl BundleReading {
    fn file(&mut self, file: &BundleManifestFile<'_>) -> Result<(), PreviewError> {
        if file.bytes.len() > MAX_BUNDLE_FILE_BYTES {
            return Err(too_large(format!(
                "manifest {:?} has {} bytes: at most {MAX_BUNDLE_FILE_BYTES} are read",
                file.name,
                file.bytes.len()
            )));
        }
        let mut reader = FileReader::new(limits());
        reader.push(&file.bytes);
        reader.finish();
        loop {
            let event = reader
                .next()
                .map_err(|error| unreadable(&file.name, &error.to_string()))?;
            match event {
                ReadEvent::Blob(blob) => {
                    let line = std::str::from_utf8(blob.line.trim_ascii_end())
                        .map_err(|error| unreadable(&file.name, &error.to_string()))?;
                    self.document(&file.name, line)?;
                }
                ReadEvent::Notice(_) => {}
                ReadEvent::NeedInput | ReadEvent::End => return Ok(()),
            }
        }
    }

    /// Reads an object, or a list of objects.
    fn document(&mut self, file: &str, line: &str) -> Result<(), PreviewError> {
        self.bytes += line.len();
        if self.bytes > MAX_BUNDLE_BYTES {
            return Err(too_large(format!(
                "the manifests have more than {MAX_BUNDLE_BYTES} bytes up to {file:?}: no more are read"
            )));
        }
        let broken = |_: WrongType| unreadable(file, "it has a value of the wrong type");
        let value = JsonValue::new(line.as_bytes());
        let items = value
            .members()
            .map_err(|_| unreadable(file, "it is not an object"))?
            .into_iter()
            .find(|(key, _)| key.is("items"));
        let Some((_, items)) = items else {
            return self.object(file, line, "");
        };
        let [kind] = value.fields(["kind"]).map_err(broken)?;
        let kind = text_of(kind);
        if kind.is_empty() {
            return Err(no_kind(file));
        }
        // Items without a kind have that of their list.
        let item_kind = kind.strip_suffix("List").unwrap_or_default();
        for item in items.elements().map_err(broken)? {
            let item = std::str::from_utf8(item.raw())
                .map_err(|error| unreadable(file, &error.to_string()))?;
            self.object(file, item, item_kind)?;
        }
        Ok(())
    }

    fn object(&mut self, file: &str, line: &str, kind_of_list: &str) -> Result<(), PreviewError> {
        self.objects += 1;
        if self.objects > MAX_BUNDLE_OBJECTS {
            return Err(too_large(format!(
                "the manifests have more than {MAX_BUNDLE_OBJECTS} objects up to {file:?}: no more are read"
            )));
        }
        let value = JsonValue::new(line.as_bytes());
        let [kind, api_version, metadata] = value
            .fields(["kind", "apiVersion", "metadata"])
            .map_err(|_| unreadable(file, "it is not an object"))?;
        let mut kind = text_of(kind);
        if kind.is_empty() {
            kind = Cow::Borrowed(kind_of_list);
        }
        match &*kind {
            "" => Err(no_kind(file)),
            "ClusterServiceVersion" => self.csv(file, line),
            "CustomResourceDefinition" => self.definition(file, line),
            _ => {
                let name = metadata.and_then(|metadata| metadata.fields(["name"]).ok());
                self.bundle.others.push(OtherManifest {
                    api_version: text_of(api_version).into_owned(),
                    kind: kind.clone().into_owned(),
                    name: text_of(name.and_then(|[name]| name)).into_owned(),
                    json: line.to_owned(),
                });
                Ok(())
            }
        }
    }

    fn csv(&mut self, file: &str, line: &str) -> Result<(), PreviewError> {
        let json = convert(file, CSV, line)?;
        self.bundle.csv =
            serde_json::from_str(&json).map_err(|error| unreadable(file, &error.to_string()))?;
        self.bundle.csv_json = json;
        self.has_csv = true;
        Ok(())
    }

    fn definition(&mut self, file: &str, line: &str) -> Result<(), PreviewError> {
        let json = convert(file, CRD, line)?;
        let head: DefinitionHead =
            serde_json::from_str(&json).map_err(|error| unreadable(file, &error.to_string()))?;
        self.bundle.definitions.push(DefinitionManifest {
            api_version: head.api_version,
            name: head.metadata.name,
            preserves_unknown_fields: head.spec.preserve_unknown_fields,
            json,
        });
        Ok(())
    }
}

fn limits() -> ReadLimits {
    ReadLimits {
        blob_bytes: MAX_BUNDLE_FILE_BYTES,
        depth: MAX_MANIFEST_DEPTH,
        ..ReadLimits::default()
    }
}

/// Reads the first document of a file as canonical JSON; `None` when there is none.
pub(crate) fn first_document(bytes: &[u8]) -> Result<Option<String>, String> {
    let mut reader = FileReader::new(limits());
    reader.push(bytes);
    reader.finish();
    loop {
        match reader.next().map_err(|error| error.to_string())? {
            ReadEvent::Blob(blob) => {
                let line = blob.line.trim_ascii_end().to_vec();
                return String::from_utf8(line)
                    .map(Some)
                    .map_err(|error| error.to_string());
            }
            ReadEvent::Notice(_) => {}
            ReadEvent::NeedInput | ReadEvent::End => return Ok(None),
        }
    }
}

fn convert(file: &str, name: &str, line: &str) -> Result<String, PreviewError> {
    GoStructs::get()
        .convert(name, line.as_bytes())
        .map_err(|error| match error {
            GoTypeError::TooLarge => too_large(format!("cannot read manifest {file:?}: {error}")),
            _ => unreadable(file, &error.to_string()),
        })
}

/// Decodes a string; empty where there is none.
fn text_of(value: Option<JsonValue<'_>>) -> Cow<'_, str> {
    value
        .and_then(|value| value.text().ok())
        .map(JsonText::decode)
        .unwrap_or_default()
}

fn too_large(message: String) -> PreviewError {
    PreviewError::new(PreviewErrorCode::TooLarge, message)
}

fn unreadable(file: &str, reason: &str) -> PreviewError {
    let message = format!("cannot read manifest {file:?}: {reason}");
    PreviewError::new(PreviewErrorCode::UnreadableManifest, message)
}

fn no_kind(file: &str) -> PreviewError {
    unreadable(file, "an object has no kind")
}
