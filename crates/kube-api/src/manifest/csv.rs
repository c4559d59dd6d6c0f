//! The `ClusterServiceVersion` of a bundle, and the parts of it that manifests show.

use std::collections::BTreeSet;

use fbc::Bundle;
use fbc_grammar::version::strict_version;
use fbc_read::json::{JsonText, JsonValue, WrongType};
use fbc_read::manifest::Manifests;

use crate::json::JsonWriter;

/// The parts of a `ClusterServiceVersion` that manifests show.
pub(super) struct Csv {
    /// JSON text of its name.
    pub(super) name: Vec<u8>,
    /// JSON text of its provider.
    pub(super) provider: Vec<u8>,
    /// Name and URL of its provider.
    pub(super) provider_texts: [String; 2],
    pub(super) labels: Vec<(String, String)>,
    pub(super) version: String,
    /// JSON text of its description in a manifest.
    pub(super) description: Vec<u8>,
}

/// The fields that both forms have, in the order of [`SPEC_FIELDS`].
type SpecFields<'t> = [Option<JsonValue<'t>>; SPEC_FIELDS.len()];

const SPEC_FIELDS: [&str; 10] = [
    "displayName",
    "description",
    "maturity",
    "minKubeVersion",
    "keywords",
    "installModes",
    "links",
    "maintainers",
    "nativeAPIs",
    "provider",
];

/// Fields of a `ClusterServiceVersion`, or of the metadata from which upstream's registry makes one.
struct CsvFields<'t> {
    /// JSON text.
    name: Vec<u8>,
    annotations: Option<JsonValue<'t>>,
    labels: Option<JsonValue<'t>>,
    spec: SpecFields<'t>,
    crds: Option<JsonValue<'t>>,
    api_services: Option<JsonValue<'t>>,
    version: String,
    /// JSON texts, sorted.
    related_images: BTreeSet<&'t [u8]>,
}

impl Csv {
    /// Reads the `ClusterServiceVersion` of a bundle: the first of its inline manifests, or else
    /// one made of its `olm.csv.metadata`, if it has exactly one. `None` if there is none or a
    /// field has the wrong type.
    pub(super) fn read(bundle: Bundle<'_>, manifests: &mut Manifests) -> Option<Self> {
        if let Some(text) = bundle.csv_manifest(manifests) {
            return Self::new(&CsvFields::from_manifest(JsonValue::new(&text)).ok()?).ok();
        }
        let mut metadata = bundle
            .properties()
            .filter(|property| property.type_name() == "olm.csv.metadata");
        // Upstream's registry refuses to choose between several.
        let only = metadata.next()?;
        let further = metadata.next();
        if further.is_some() {
            return None;
        }
        let images = bundle.related_images();
        let mut fields = CsvFields::from_metadata(bundle, only.value()?).ok()?;
        fields.related_images = images.iter().map(|related| related.image.raw()).collect();
        Self::new(&fields).ok()
    }

    fn new(fields: &CsvFields<'_>) -> Result<Self, WrongType> {
        let [.., provider] = fields.spec;
        let mut out = JsonWriter::default();
        let provider_texts = write_texts(provider, &["name", "url"], &mut out)?;
        let labels = match fields.labels {
            Some(labels) => {
                let members = labels.members()?.into_iter();
                let decoded = |text: JsonText<'_>| text.decode().into_owned();
                members
                    .map(|(key, value)| Ok((decoded(key), decoded(value.text()?))))
                    .collect::<Result<_, WrongType>>()?
            }
            None => Vec::new(),
        };
        let mut description = JsonWriter::default();
        fields.write(&mut description)?;
        let [name, url] = provider_texts.try_into().unwrap_or_default();
        Ok(Self {
            name: fields.name.clone(),
            provider: out.into_bytes(),
            provider_texts: [name, url],
            labels,
            version: fields.version.clone(),
            description: description.into_bytes(),
        })
    }
}

impl<'t> CsvFields<'t> {
    fn from_manifest(csv: JsonValue<'t>) -> Result<Self, WrongType> {
        let nothing = JsonValue::new(b"null");
        let [metadata, spec] = csv
            .fields(["metadata", "spec"])?
            .map(|value| value.unwrap_or(nothing));
        let [name, annotations, labels] = metadata.fields(["name", "annotations", "labels"])?;
        let [crds, api_services, version, images, install] = spec.fields([
            "customresourcedefinitions",
            "apiservicedefinitions",
            "version",
            "relatedImages",
            "install",
        ])?;
        let version = match version {
            Some(version) => strict_version(&version.text()?.decode()).ok_or(WrongType)?,
            None => "0.0.0".to_owned(),
        };
        let mut related_images = BTreeSet::new();
        add_images(images, &mut related_images)?;
        add_deployed_images(install, &mut related_images)?;
        let name = name.unwrap_or(nothing).text()?.raw().to_vec();
        let spec = spec.fields(SPEC_FIELDS)?;
        Ok(Self {
            name,
            annotations,
            labels,
            spec,
            crds,
            api_services,
            version,
            related_images,
        })
    }

    /// Makes the fields that upstream's registry makes of the metadata of a bundle, its package,
    /// and its images.
    fn from_metadata(bundle: Bundle<'t>, metadata: JsonValue<'t>) -> Result<Self, WrongType> {
        let [annotations, labels, crds, api_services] = metadata.fields([
            "annotations",
            "labels",
            "crdDescriptions",
            "apiServiceDefinitions",
        ])?;
        let mut spec = metadata.fields(SPEC_FIELDS)?;
        let [_, description, ..] = &mut spec;
        if description.map_or(Ok(true), |text| text.text().map(JsonText::is_empty))? {
            *description = bundle
                .package()
                .description()
                .map(|text| JsonValue::new(text.raw()));
        }
        let mut name = JsonWriter::default();
        name.text(bundle.name());
        let version = bundle.version().unwrap_or("0.0.0").to_owned();
        let related_images = BTreeSet::new();
        Ok(Self {
            name: name.into_bytes(),
            annotations,
            labels,
            spec,
            crds,
            api_services,
            version,
            related_images,
        })
    }

    fn write(&self, out: &mut JsonWriter) -> Result<(), WrongType> {
        let [
            display_name,
            description,
            maturity,
            min_kube_version,
            keywords,
            modes,
            links,
            maintainers,
            native,
            provider,
        ] = self.spec;
        out.open(b'{');
        write_text("displayName", display_name, out)?;
        out.text_member("version", &self.version);
        out.key("provider");
        write_texts(provider, &["name", "url"], out)?;
        write_map("annotations", self.annotations, out)?;
        write_list("keywords", keywords, out, |keyword, out| {
            keyword.text().map(|text| out.raw(text.raw()))
        })?;
        let names = ["name", "url"];
        write_list("links", links, out, |link, out| {
            write_texts(Some(link), &names, out).map(drop)
        })?;
        let names = ["name", "email"];
        write_list("maintainers", maintainers, out, |person, out| {
            write_texts(Some(person), &names, out).map(drop)
        })?;
        write_text("maturity", maturity, out)?;
        write_text("description", description, out)?;
        write_list("installModes", modes, out, write_install_mode)?;
        write_definitions(
            "customresourcedefinitions",
            self.crds,
            &["name", "version", "kind"],
            out,
        )?;
        write_definitions(
            "apiservicedefinitions",
            self.api_services,
            &["name", "group", "version", "kind"],
            out,
        )?;
        let names = ["group", "version", "kind"];
        write_list("nativeApis", native, out, |api, out| {
            write_object(api, &names, &[], out)
        })?;
        write_text("minKubeVersion", min_kube_version, out)?;
        if !self.related_images.is_empty() {
            out.key("relatedImages");
            out.open(b'[');
            self.related_images.iter().for_each(|image| out.raw(image));
            out.close(b']');
        }
        out.close(b'}');
        Ok(())
    }
}

/// Adds the `image` of each object of a list.
fn add_images<'t>(
    list: Option<JsonValue<'t>>,
    images: &mut BTreeSet<&'t [u8]>,
) -> Result<(), WrongType> {
    for item in list
        .map(JsonValue::elements)
        .transpose()?
        .unwrap_or_default()
    {
        let [image] = item.fields(["image"])?;
        images.insert(image.unwrap_or(JsonValue::new(b"null")).text()?.raw());
    }
    Ok(())
}

/// Reads a field of an object that may be missing.
fn field<'t>(value: Option<JsonValue<'t>>, name: &str) -> Result<Option<JsonValue<'t>>, WrongType> {
    let Some(value) = value else { return Ok(None) };
    let [field] = value.fields([name])?;
    Ok(field)
}

/// Adds the images of the containers that an install strategy deploys.
fn add_deployed_images<'t>(
    install: Option<JsonValue<'t>>,
    images: &mut BTreeSet<&'t [u8]>,
) -> Result<(), WrongType> {
    let deployments = field(field(install, "spec")?, "deployments")?;
    for deployment in deployments
        .map(JsonValue::elements)
        .transpose()?
        .unwrap_or_default()
    {
        let pod = field(field(field(Some(deployment), "spec")?, "template")?, "spec")?;
        add_images(field(pod, "initContainers")?, images)?;
        add_images(field(pod, "containers")?, images)?;
    }
    Ok(())
}

/// Writes a member unless it is missing or empty.
fn write_text(
    key: &str,
    value: Option<JsonValue<'_>>,
    out: &mut JsonWriter,
) -> Result<(), WrongType> {
    let text = value
        .map(JsonValue::text)
        .transpose()?
        .filter(|text| !text.is_empty());
    if let Some(text) = text {
        out.key(key);
        out.raw(text.raw());
    }
    Ok(())
}

/// Writes a member with the elements of a list, unless that is missing or empty.
fn write_list<'t>(
    key: &str,
    value: Option<JsonValue<'t>>,
    out: &mut JsonWriter,
    write: impl Fn(JsonValue<'t>, &mut JsonWriter) -> Result<(), WrongType>,
) -> Result<(), WrongType> {
    let elements = value
        .map(JsonValue::elements)
        .transpose()?
        .unwrap_or_default();
    if elements.is_empty() {
        return Ok(());
    }
    out.key(key);
    out.open(b'[');
    elements
        .into_iter()
        .try_for_each(|element| write(element, out))?;
    out.close(b']');
    Ok(())
}

/// Writes a member with strings by key, unless it is missing or empty.
fn write_map(
    key: &str,
    value: Option<JsonValue<'_>>,
    out: &mut JsonWriter,
) -> Result<(), WrongType> {
    let members = value
        .map(JsonValue::members)
        .transpose()?
        .unwrap_or_default();
    if members.is_empty() {
        return Ok(());
    }
    out.key(key);
    out.open(b'{');
    for (key, value) in members {
        out.raw_key(key.raw());
        out.raw(value.text()?.raw());
    }
    out.close(b'}');
    Ok(())
}

/// Writes an object with the string fields that are not empty, and returns all of them.
fn write_texts(
    value: Option<JsonValue<'_>>,
    names: &[&str; 2],
    out: &mut JsonWriter,
) -> Result<Vec<String>, WrongType> {
    let fields = value.unwrap_or(JsonValue::new(b"null")).fields(*names)?;
    out.open(b'{');
    names
        .iter()
        .zip(fields)
        .try_for_each(|(name, value)| write_text(name, value, out))?;
    out.close(b'}');
    let text = |value: Option<JsonValue<'_>>| {
        value.map_or(Ok(String::new()), |value| {
            Ok(value.text()?.decode().into_owned())
        })
    };
    fields.into_iter().map(text).collect()
}

/// Writes an object with string fields that are always there, and with further ones unless they are
/// empty.
fn write_object(
    value: JsonValue<'_>,
    names: &[&str],
    optional: &[&str],
    out: &mut JsonWriter,
) -> Result<(), WrongType> {
    out.open(b'{');
    for name in names {
        let [text] = value.fields([name])?;
        out.key(name);
        out.raw(text.unwrap_or(JsonValue::new(b"null")).text()?.raw());
    }
    for name in optional {
        let [text] = value.fields([name])?;
        write_text(name, text, out)?;
    }
    out.close(b'}');
    Ok(())
}

fn write_install_mode(mode: JsonValue<'_>, out: &mut JsonWriter) -> Result<(), WrongType> {
    let [mode, is_supported] = mode
        .fields(["type", "supported"])?
        .map(|value| value.unwrap_or(JsonValue::new(b"null")));
    out.open(b'{');
    out.key("type");
    out.raw(mode.text()?.raw());
    out.key("supported");
    out.raw(if is_supported.boolean()? {
        b"true"
    } else {
        b"false"
    });
    out.close(b'}');
    Ok(())
}

/// Writes a member with the APIs that are owned and required; it is always there.
fn write_definitions(
    key: &str,
    value: Option<JsonValue<'_>>,
    names: &[&str],
    out: &mut JsonWriter,
) -> Result<(), WrongType> {
    let lists = value
        .unwrap_or(JsonValue::new(b"null"))
        .fields(["owned", "required"])?;
    out.key(key);
    out.open(b'{');
    for (key, list) in ["owned", "required"].into_iter().zip(lists) {
        let optional = ["displayName", "description"];
        write_list(key, list, out, |api, out| {
            write_object(api, names, &optional, out)
        })?;
    }
    out.close(b'}');
    Ok(())
}
