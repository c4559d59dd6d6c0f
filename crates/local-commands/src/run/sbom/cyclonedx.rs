//! A `CycloneDX` 1.6 document about the images of bundles. The same content and selection become the
//! same text.

use std::collections::{BTreeMap, BTreeSet};

use build_info::BuildInfo;
use fbc::Bundle;
use fbc_grammar::image::ImageReference;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serving::Content;

/// Characters that are encoded in a part of a package URL (ECMA-427).
const URL_PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'/');

/// The document, as far as this program writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CycloneDx {
    bom_format: &'static str,
    spec_version: &'static str,
    serial_number: String,
    version: u32,
    metadata: Metadata,
    components: Vec<Component>,
    dependencies: Vec<Dependency>,
}

#[derive(Serialize)]
struct Metadata {
    tools: Tools,
    component: Component,
}

#[derive(Serialize)]
struct Tools {
    components: [Component; 1],
}

#[derive(Default, Serialize)]
struct Component {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(rename = "bom-ref", skip_serializing_if = "Option::is_none")]
    bom_ref: Option<String>,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hashes: Vec<Hash>,
    #[serde(skip_serializing_if = "Option::is_none")]
    purl: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    properties: Vec<Property>,
}

#[derive(Serialize)]
struct Hash {
    alg: &'static str,
    content: String,
}

#[derive(Serialize)]
struct Property {
    name: &'static str,
    value: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Dependency {
    #[serde(rename = "ref")]
    reference: String,
    depends_on: BTreeSet<String>,
}

/// The images of bundles, each once.
struct BundleImages {
    /// Reference of the catalog within the document. It has the digest of the content, so that no
    /// text in the content is equal.
    catalog: String,
    /// Bundles that name an image, as `PACKAGE/BUNDLE`, by the reference of the image.
    used_by: BTreeMap<String, BTreeSet<String>>,
    /// Images that an image or the catalog needs, by its reference.
    needs: BTreeMap<String, BTreeSet<String>>,
}

impl BundleImages {
    fn add(&mut self, bundle: Bundle<'_>) {
        let name = format!("{}/{}", bundle.package().name(), bundle.name());
        let own = bundle.image().decode().into_owned();
        // The manifests of a bundle may be in the catalog itself.
        let owner = if own.is_empty() {
            self.catalog.clone()
        } else {
            self.add_image(&self.catalog.clone(), &own, &name);
            own
        };
        for related in bundle.related_images() {
            let image = related.image.decode();
            // Most bundles list their own image, too.
            if !image.is_empty() && image != owner {
                self.add_image(&owner, &image, &name);
            }
        }
    }

    fn add_image(&mut self, owner: &str, image: &str, bundle: &str) {
        let bundles = self.used_by.entry(image.to_owned()).or_default();
        bundles.insert(bundle.to_owned());
        let needed = self.needs.entry(owner.to_owned()).or_default();
        needed.insert(image.to_owned());
    }
}

/// Returns the document about the images of these bundles of a catalog.
pub(super) fn document(name: &str, content: &Content, bundles: &[Bundle<'_>]) -> CycloneDx {
    let mut images = BundleImages {
        catalog: format!("catalog@{}", content.digest),
        used_by: BTreeMap::new(),
        needs: BTreeMap::new(),
    };
    for bundle in bundles {
        images.add(*bundle);
    }
    let components = images.used_by.iter();
    let components = components.map(|(image, used_by)| image_component(image, used_by));
    let components = components.collect();
    let dependencies = images.needs.into_iter();
    let dependencies = dependencies.map(|(reference, depends_on)| Dependency {
        reference,
        depends_on,
    });
    let origin = content.image.as_deref();
    let catalog = Component {
        kind: "data",
        bom_ref: Some(images.catalog),
        name: name.to_owned(),
        version: Some(content.digest.to_string()),
        properties: origin
            .map(|image| property("catalogql:image", image))
            .into_iter()
            .collect(),
        ..Component::default()
    };
    let tool = Component {
        kind: "application",
        name: "catalogql".to_owned(),
        version: Some(BuildInfo::of_this_program().version.to_owned()),
        ..Component::default()
    };

    let mut document = CycloneDx {
        bom_format: "CycloneDX",
        spec_version: "1.6",
        serial_number: String::new(),
        version: 1,
        metadata: Metadata {
            tools: Tools { components: [tool] },
            component: catalog,
        },
        components,
        dependencies: dependencies.collect(),
    };
    document.serial_number = serial_number(&document);
    document
}

fn image_component(reference: &str, used_by: &BTreeSet<String>) -> Component {
    let bundles = used_by
        .iter()
        .map(|bundle| property("catalogql:bundle", bundle));
    let component = Component {
        kind: "container",
        bom_ref: Some(reference.to_owned()),
        name: reference.to_owned(),
        properties: bundles.collect(),
        ..Component::default()
    };
    // A malformed reference has no parts to show.
    let Ok(image) = ImageReference::parse(reference) else {
        return component;
    };
    let digest = image.digest();
    let sha256 = digest.and_then(|digest| digest.strip_prefix("sha256:"));
    let hash = sha256.map(|content| Hash {
        alg: "SHA-256",
        content: content.to_owned(),
    });
    Component {
        name: image.repository(),
        version: digest.or(image.tag()).map(str::to_owned),
        hashes: hash.into_iter().collect(),
        purl: Some(package_url(image)),
        ..component
    }
}

/// Returns the package URL of an image: `pkg:oci/NAME@sha256:…?repository_url=…&tag=…`.
fn package_url(image: ImageReference<'_>) -> String {
    let path = image.path();
    let name = path.rsplit('/').next().unwrap_or(&path);
    let version = image.digest();
    let version = version.map(|digest| format!("@{}", percent_encoded(digest)));
    let tag = image.tag();
    let tag = tag.map(|tag| format!("&tag={}", percent_encoded(tag)));
    format!(
        "pkg:oci/{}{}?repository_url={}{}",
        percent_encoded(name),
        version.unwrap_or_default(),
        percent_encoded(&image.repository()),
        tag.unwrap_or_default()
    )
}

fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, URL_PART).to_string()
}

fn property(name: &'static str, value: &str) -> Property {
    Property {
        name,
        value: value.to_owned(),
    }
}

/// Returns a UUID (RFC 9562, version 8) that is derived from the rest of the document.
fn serial_number(document: &CycloneDx) -> String {
    let json = serde_json::to_vec(document).expect("names and numbers are JSON");
    let mut hash = content_digest::digest(&json).hex();
    hash.replace_range(12..13, "8");
    hash.replace_range(16..17, "8");
    let parts = [
        &hash[..8],
        &hash[8..12],
        &hash[12..16],
        &hash[16..20],
        &hash[20..32],
    ];
    format!("urn:uuid:{}", parts.join("-"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_package_url_of_an_image_names_its_repository_its_digest_and_its_tag() {
        let url = |reference: &str| package_url(ImageReference::parse(reference).unwrap());
        let digest = "0123456789abcdef".repeat(4);
        assert_eq!(
            url(&format!("quay.io:443/ns/etcd_x:v1@sha256:{digest}")),
            format!("pkg:oci/etcd_x@sha256:{digest}?repository_url=quay.io:443/ns/etcd_x&tag=v1")
        );
        assert_eq!(
            url("etcd:1.0"),
            "pkg:oci/etcd?repository_url=docker.io/library/etcd&tag=1.0"
        );
        assert_eq!(
            url("quay.io/ns/etcd"),
            "pkg:oci/etcd?repository_url=quay.io/ns/etcd"
        );
    }

    #[test]
    fn a_malformed_reference_is_a_component_with_its_text_alone() {
        let used_by = BTreeSet::from(["p/b".to_owned()]);
        assert_eq!(
            serde_json::to_value(image_component("not an image", &used_by)).unwrap(),
            json!({
                "type": "container",
                "bom-ref": "not an image",
                "name": "not an image",
                "properties": [{"name": "catalogql:bundle", "value": "p/b"}],
            })
        );
    }
}
