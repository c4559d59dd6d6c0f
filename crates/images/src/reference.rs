//! How an image is named: by a reference to a registry, or by the path of an OCI layout.
//!
//! It looks at the disk only to tell the path of a layout from the name that may follow it.

use std::fmt;
use std::path::{Path, PathBuf};

use fbc::Digest;
use fbc::image::ImageReference;

use super::{ImageError, io_error};

/// The tag of an image that is given without tag and digest.
const DEFAULT_TAG: &str = "latest";

/// Where an image is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ImageSource {
    /// In a registry.
    Registry(RegistryReference),
    /// In an OCI layout on disk.
    Layout(LayoutReference),
}

/// An image in a registry, in the normal form of its reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegistryReference {
    domain: String,
    path: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// An image in an OCI layout on disk: a directory, or a tar of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LayoutReference {
    /// Absolute.
    path: PathBuf,
    chosen: LayoutSelector,
}

/// Which image of a layout is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LayoutSelector {
    /// The only one.
    Only,
    /// The one with this name, the value of `org.opencontainers.image.ref.name`.
    Name(String),
    /// The one with this digest.
    Digest(Digest),
}

impl ImageSource {
    /// What tells this source from every other.
    pub fn key(&self) -> String {
        match self {
            Self::Registry(image) => format!("docker://{image}"),
            Self::Layout(layout) => layout.to_string(),
        }
    }

    /// The last part of its path: what the catalog is called when nobody named it.
    pub fn last_path_segment(&self) -> Option<String> {
        match self {
            Self::Registry(image) => image.path().rsplit('/').next().map(str::to_owned),
            Self::Layout(layout) => {
                let name = layout.path().file_name()?.to_string_lossy().into_owned();
                Some(name.strip_suffix(".tar").map_or(name.clone(), str::to_owned))
            }
        }
    }

    /// Whether it names one content for ever, by its digest.
    pub fn is_pinned(&self) -> bool {
        match self {
            Self::Registry(image) => image.digest().is_some(),
            Self::Layout(layout) => matches!(layout.selector(), LayoutSelector::Digest(_)),
        }
    }
}

impl RegistryReference {
    /// Reads a reference to an image; docker.io is meant where it names no registry.
    pub fn parse(text: &str) -> Result<Self, ImageError> {
        let error = |source| ImageError::Reference { text: text.to_owned(), source };
        let reference = ImageReference::parse(text).map_err(error)?;
        let digest = match reference.digest() {
            None => None,
            Some(digest) => {
                Some(Digest::parse(digest).ok_or_else(|| ImageError::DigestUnsupported(digest.to_owned()))?)
            }
        };
        let tag = reference.tag().or(digest.is_none().then_some(DEFAULT_TAG)).map(str::to_owned);
        Ok(Self { domain: reference.domain().to_owned(), path: reference.path().into_owned(), tag, digest })
    }

    /// The host of the registry with its port, such as `quay.io`.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The repository, such as `operatorhubio/catalog`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The tag, unless only a digest was given.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// The digest, when one was given: it counts then, and the tag is only told.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Registry and repository without tag and digest.
    pub fn repository(&self) -> String {
        format!("{}/{}", self.domain, self.path)
    }
}

impl fmt::Display for RegistryReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.domain, self.path)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

impl LayoutReference {
    /// Reads `PATH[:NAME|@DIGEST]`. What exists as a whole is the path, whatever it contains.
    pub fn parse(text: &str, base: &Path) -> Result<Self, ImageError> {
        let whole = base.join(text).exists();
        let (path, chosen) = match (text.rsplit_once("@sha256:"), text.rsplit_once(':')) {
            _ if whole => (text, LayoutSelector::Only),
            (Some((path, hex)), _) => {
                let digest = format!("sha256:{hex}");
                let digest = Digest::parse(&digest).ok_or(ImageError::DigestUnsupported(digest))?;
                (path, LayoutSelector::Digest(digest))
            }
            (None, Some((path, name))) if !name.is_empty() && !name.contains('/') => {
                (path, LayoutSelector::Name(name.to_owned()))
            }
            _ => (text, LayoutSelector::Only),
        };
        Ok(Self { path: absolute(&base.join(path))?, chosen })
    }

    /// Where it is; absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which of its images is meant.
    pub fn selector(&self) -> &LayoutSelector {
        &self.chosen
    }
}

impl fmt::Display for LayoutReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci:{}", self.path.display())?;
        match &self.chosen {
            LayoutSelector::Only => Ok(()),
            LayoutSelector::Name(name) => write!(f, ":{name}"),
            LayoutSelector::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, ImageError> {
    std::path::absolute(path).map_err(|source| io_error("find", path, source))
}
