//! OCI artifacts with a catalog: the layers that are files or archives of it.
//!
//! What `oras push` makes is understood: each file is a layer with its name as the title, and each
//! directory is a layer with an archive. An artifact of another kind, such as a chart or a
//! signature, is refused by its type.

use std::collections::BTreeSet;

use oci_client::manifest::{
    IMAGE_DOCKER_LAYER_GZIP_MEDIA_TYPE, IMAGE_LAYER_GZIP_MEDIA_TYPE, IMAGE_LAYER_MEDIA_TYPE,
    OciDescriptor, OciImageManifest,
};

use super::ImageError;
use super::manifest::{LayerDescriptor, parse_digest};
use super::unpack::{LayerContent, shown};

/// Annotation of a layer with the path of its file.
const TITLE: &str = "org.opencontainers.image.title";

/// Annotation of a layer that is the archive of a directory, by oras.
const UNPACK: &str = "io.deis.oras.content.unpack";

/// Annotation with the digest of the uncompressed archive of a directory, by oras.
const UNCOMPRESSED_DIGEST: &str = "io.deis.oras.content.digest";

/// Media type of the descriptor that stands for nothing.
const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// Media type of layers that are archives, compressed with zstd.
const LAYER_ZSTD: &str = "application/vnd.oci.image.layer.v1.tar+zstd";

/// Media type of the only layer of an artifact of Flux.
const FLUX_CONTENT: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";

/// Beginnings of the types of artifacts that hold no catalog, whatever their layers are.
const REFUSED: [(&str, &str); 8] = [
    // An experiment that is not stable: the packages and channels of a catalog are artifacts.
    (
        "application/vnd.operatorframework.olm.",
        "an experimental catalog artifact",
    ),
    ("application/vnd.cncf.helm.", "a Helm chart"),
    ("application/vnd.dev.cosign.", "a signature"),
    ("application/vnd.dev.sigstore.", "a signature"),
    ("application/vnd.cncf.notary.", "a signature"),
    ("application/vnd.in-toto", "an attestation"),
    ("application/spdx", "an SBOM"),
    ("application/vnd.cyclonedx", "an SBOM"),
];

/// Returns the kind of artifact that holds no catalog, by its type.
pub(super) fn refused_kind(artifact_type: &str) -> Option<&'static str> {
    REFUSED
        .iter()
        .find(|(start, _)| artifact_type.starts_with(start))
        .map(|(_, kind)| *kind)
}

/// Returns the layers of an artifact. `resource` names it in errors.
pub(super) fn layers(
    manifest: &OciImageManifest,
    resource: &str,
) -> Result<Vec<LayerDescriptor>, ImageError> {
    // Before OCI 1.1, the media type of the config was the type of an artifact.
    let artifact_type = manifest
        .artifact_type
        .as_deref()
        .unwrap_or(&manifest.config.media_type);
    let unsupported = |kind: Option<&'static str>| ImageError::UnsupportedArtifact {
        resource: resource.to_owned(),
        artifact_type: shown(artifact_type.as_bytes()),
        kind: kind.unwrap_or("an artifact of another kind"),
    };
    if let Some(kind) = refused_kind(artifact_type) {
        return Err(unsupported(Some(kind)));
    }

    let layers: Vec<_> = manifest
        .layers
        .iter()
        .filter(|layer| layer.media_type != EMPTY)
        .collect();
    if let [only] = layers[..]
        && title(only).is_none()
        && is_archive(only)
    {
        return Ok(vec![LayerDescriptor::archive(only)?]);
    }
    if layers.is_empty() || layers.iter().any(|layer| title(layer).is_none()) {
        return Err(unsupported(None));
    }

    let mut paths = BTreeSet::new();
    layers
        .into_iter()
        .map(|descriptor| {
            let title = title(descriptor).unwrap_or_default();
            let bad_title = |problem| ImageError::BadTitle {
                resource: resource.to_owned(),
                title: shown(title.as_bytes()),
                problem,
            };
            let path = clean_path(title).ok_or_else(|| bad_title("is not a relative path"))?;
            if !paths.insert(path.clone()) {
                return Err(bad_title("is the name of two layers"));
            }
            let archive = LayerDescriptor::archive(descriptor)?;
            if annotation(descriptor, UNPACK) == Some("true") {
                let digest = annotation(descriptor, UNCOMPRESSED_DIGEST);
                return Ok(LayerDescriptor {
                    diff_id: digest.map(parse_digest).transpose()?,
                    ..archive
                });
            }
            // oras gives files the media type of archives.
            Ok(LayerDescriptor {
                content: LayerContent::FileOrArchive(path),
                ..archive
            })
        })
        .collect()
}

fn is_archive(layer: &OciDescriptor) -> bool {
    [
        IMAGE_LAYER_MEDIA_TYPE,
        IMAGE_LAYER_GZIP_MEDIA_TYPE,
        IMAGE_DOCKER_LAYER_GZIP_MEDIA_TYPE,
        LAYER_ZSTD,
        FLUX_CONTENT,
    ]
    .contains(&&*layer.media_type)
}

fn title(layer: &OciDescriptor) -> Option<&str> {
    annotation(layer, TITLE)
}

fn annotation<'d>(layer: &'d OciDescriptor, name: &str) -> Option<&'d str> {
    layer.annotations.as_ref()?.get(name).map(String::as_str)
}

/// Returns a relative path without empty names and `.`; `None` for a path that leaves its folder.
fn clean_path(path: &str) -> Option<String> {
    if path.starts_with('/') || path.contains('\0') {
        return None;
    }
    let names: Vec<_> = path
        .split('/')
        .filter(|name| !matches!(*name, "" | "."))
        .collect();
    if names.is_empty() || names.contains(&"..") {
        return None;
    }
    Some(names.join("/"))
}
