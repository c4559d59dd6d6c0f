//! A plan as files of other tools: the mapping and the mirror sets of oc-mirror, and commands of
//! skopeo.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use fbc_grammar::image::ImageReference;

use crate::plan::PlannedImage;

/// Registry, and path in it, that images are copied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorTarget {
    /// Host of the registry, with its port, and the path before those of the images.
    prefix: String,
    /// Maximum number of parts of a path; the rest is joined with `-`.
    max_nested_paths: Option<usize>,
}

/// A text is not a target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a registry to copy to: expected HOST[:PORT][/PATH]{without}, such as `mirror.example.com/olm`",
    without = scheme_advice(.0)
)]
pub struct MirrorTargetError(String);

fn scheme_advice(text: &str) -> &'static str {
    if text.starts_with("https://") {
        " without https://"
    } else if text.starts_with("http://") {
        " without http://"
    } else {
        ""
    }
}

/// An image cannot be copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MirrorOutputError {
    /// A text is not a reference.
    #[error("`{reference}` is not a valid image reference: {why}")]
    Invalid {
        /// The text.
        reference: String,
        /// The cause.
        why: String,
    },
    /// Images of different registries have the same path and tag.
    #[error(
        "cannot copy both `{first}` and `{second}` to `{target}`: copy them to different paths, with two configurations"
    )]
    SameTarget {
        /// An image.
        first: String,
        /// Another image.
        second: String,
        /// The place of both.
        target: String,
    },
}

/// An image and its place at a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageTarget {
    /// Reference to pull: by digest, if the image has one.
    pub source: String,
    /// Reference to push, with a tag.
    pub target: String,
}

/// Source and destination of the copy of an image.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ImageCopy {
    /// Reference to pull.
    source: String,
    /// Repository of the source.
    repository: String,
    /// Repository to push to.
    target: String,
    /// Tag to push.
    tag: String,
    is_by_digest: bool,
}

impl MirrorTarget {
    /// Parses a target such as `mirror.example.com:5000/olm`, with or without `docker://`.
    ///
    /// # Errors
    /// If it is not the beginning of an image reference.
    pub fn parse(text: &str, max_nested_paths: Option<usize>) -> Result<Self, MirrorTargetError> {
        let prefix = text
            .strip_prefix("docker://")
            .unwrap_or(text)
            .trim_end_matches('/');
        let probe = format!("{prefix}/image:tag");
        let is_valid = ImageReference::parse(&probe).is_ok_and(|probe| {
            // A first part without a port or a dot is a path on docker.io.
            prefix.split('/').next() == Some(probe.domain())
        });
        if !is_valid {
            return Err(MirrorTargetError(text.to_owned()));
        }
        Ok(Self {
            prefix: prefix.to_owned(),
            max_nested_paths,
        })
    }

    /// Returns the registry, and the path before those of the images.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the repository for a path of a source.
    pub fn repository(&self, path: &str) -> String {
        let (host, before) = self.prefix.split_once('/').unwrap_or((&self.prefix, ""));
        let parts: Vec<&str> = before
            .split('/')
            .chain(path.split('/'))
            .filter(|part| !part.is_empty())
            .collect();
        let nested = self
            .max_nested_paths
            .unwrap_or(parts.len())
            .clamp(1, parts.len().max(1));
        let (folders, rest) = parts.split_at(nested - 1);
        let mut repository = host.to_owned();
        for folder in folders {
            let _ = write!(repository, "/{folder}");
        }
        let _ = write!(repository, "/{}", rest.join("-"));
        repository
    }
}

/// Returns the lines of oc-mirror's `mapping.txt`, sorted: `docker://SOURCE=docker://TARGET:TAG`.
///
/// # Errors
/// If an image has no valid reference.
pub fn mapping(
    images: &[PlannedImage],
    target: &MirrorTarget,
) -> Result<String, MirrorOutputError> {
    let mut text = String::new();
    for copy in copies(images, target)? {
        let _ = writeln!(text, "{}={}", copy.source_url(), copy.target_url());
    }
    Ok(text)
}

/// Returns a command of skopeo for each image, sorted by reference.
///
/// # Errors
/// If an image has no valid reference.
pub fn skopeo(images: &[PlannedImage], target: &MirrorTarget) -> Result<String, MirrorOutputError> {
    let mut text = String::new();
    for copy in copies(images, target)? {
        let keeps = if copy.is_by_digest {
            " --preserve-digests"
        } else {
            ""
        };
        let _ = writeln!(
            text,
            "skopeo copy --all{keeps} {} {}",
            copy.source_url(),
            copy.target_url()
        );
    }
    Ok(text)
}

/// Returns the `ImageDigestMirrorSet` and the `ImageTagMirrorSet` that let a cluster pull the images
/// from the target; one without images is left out.
///
/// # Errors
/// If an image has no valid reference.
pub fn mirror_sets(
    images: &[PlannedImage],
    target: &MirrorTarget,
) -> Result<String, MirrorOutputError> {
    let mut by_digest: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut by_tag = by_digest.clone();
    for copy in copies(images, target)? {
        let (source, mirror) = copy.namespaces();
        let sets = if copy.is_by_digest {
            &mut by_digest
        } else {
            &mut by_tag
        };
        sets.entry(source).or_default().insert(mirror);
    }
    let kinds = [
        (
            "ImageDigestMirrorSet",
            "idms-operator-0",
            "imageDigestMirrors",
            by_digest,
        ),
        (
            "ImageTagMirrorSet",
            "itms-operator-0",
            "imageTagMirrors",
            by_tag,
        ),
    ];
    let mut text = String::new();
    for (kind, name, list, sources) in kinds {
        if sources.is_empty() {
            continue;
        }
        let _ = write!(
            text,
            "---\napiVersion: config.openshift.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\nspec:\n  {list}:\n"
        );
        for (source, mirrors) in sources {
            text.push_str("  - mirrors:\n");
            for mirror in mirrors {
                let _ = writeln!(text, "    - {mirror}");
            }
            let _ = writeln!(text, "    source: {source}");
        }
    }
    Ok(text)
}

/// Returns the place of each image at a registry, sorted by source. Images by digest whose tags are
/// the same get tags of their digests.
///
/// # Errors
/// If an image has no valid reference, or two images by tag have one place.
pub fn image_targets(
    images: &[PlannedImage],
    target: &MirrorTarget,
) -> Result<Vec<ImageTarget>, MirrorOutputError> {
    let copies = copies(images, target)?;
    let mut by_target: BTreeMap<String, BTreeSet<&ImageCopy>> = BTreeMap::new();
    for copy in &copies {
        let sources = by_target.entry(copy.target_url()).or_default();
        sources.insert(copy);
    }
    let mut targets = Vec::new();
    for copy in &copies {
        let same = &by_target[&copy.target_url()];
        let other = same.iter().find(|other| other.source != copy.source);
        let digest = copy.source.split_once('@').map(|(_, digest)| digest);
        let tag = match (other, digest) {
            (None, _) => copy.tag.clone(),
            (Some(_), Some(digest)) => digest.replace(':', "-"),
            (Some(other), None) if other.is_by_digest => copy.tag.clone(),
            (Some(other), None) => {
                return Err(MirrorOutputError::SameTarget {
                    first: copy.source.clone(),
                    second: other.source.clone(),
                    target: copy.target_url(),
                });
            }
        };
        targets.push(ImageTarget {
            source: copy.source.clone(),
            target: format!("{}:{tag}", copy.target),
        });
    }
    Ok(targets)
}

/// Returns the copies of images, sorted by source.
fn copies(
    images: &[PlannedImage],
    target: &MirrorTarget,
) -> Result<BTreeSet<ImageCopy>, MirrorOutputError> {
    images
        .iter()
        .map(|image| ImageCopy::new(&image.reference, target))
        .collect()
}

impl ImageCopy {
    fn new(reference: &str, target: &MirrorTarget) -> Result<Self, MirrorOutputError> {
        let parsed =
            ImageReference::parse(reference).map_err(|error| MirrorOutputError::Invalid {
                reference: reference.to_owned(),
                why: error.to_string(),
            })?;
        let path = parsed.path();
        let repository = format!("{}/{path}", parsed.domain());
        let (source, tag) = match (parsed.digest(), parsed.tag()) {
            // By digest, also if there is a tag, so that the copy is what the bundle names.
            (Some(digest), tag) => (
                format!("{repository}@{digest}"),
                tag.map_or_else(|| digest.replace(':', "-"), str::to_owned),
            ),
            (None, tag) => {
                let tag = tag.unwrap_or("latest");
                (format!("{repository}:{tag}"), tag.to_owned())
            }
        };
        Ok(Self {
            source,
            target: target.repository(&path),
            repository,
            tag,
            is_by_digest: parsed.digest().is_some(),
        })
    }

    /// Returns the reference to pull, as tools of containers write it.
    fn source_url(&self) -> String {
        format!("docker://{}", self.source)
    }

    /// Returns the reference to push, as tools of containers write it.
    fn target_url(&self) -> String {
        format!("docker://{}:{}", self.target, self.tag)
    }

    /// Returns the source and the mirror of a mirror set: their namespaces, if the target has the
    /// path of the source, or else their repositories.
    fn namespaces(&self) -> (String, String) {
        let whole = (self.repository.clone(), self.target.clone());
        let path = self.repository.split_once('/').map_or("", |(_, path)| path);
        if !self.target.ends_with(&format!("/{path}")) {
            return whole;
        }
        match (
            self.repository.rsplit_once('/'),
            self.target.rsplit_once('/'),
        ) {
            (Some((source, _)), Some((mirror, _))) => (source.to_owned(), mirror.to_owned()),
            _ => whole,
        }
    }
}
