//! References to images: in a registry, or in an OCI layout on disk.
//!
//! The file system is consulted only to separate the path of a layout from the name of an image
//! that may follow it.

use std::fmt;
use std::path::{Path, PathBuf};

use fbc_grammar::Digest;
use fbc_grammar::image::ImageReference;

use super::{ImageError, io_error};

/// Tag of a reference with neither tag nor digest.
const DEFAULT_TAG: &str = "latest";

/// The location of an image.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ImageSource {
    /// An image in a registry.
    Registry(RegistryReference),
    /// An image in an OCI layout on disk.
    Layout(LayoutReference),
}

/// A normalized reference to an image in a registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RegistryReference {
    domain: String,
    path: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// A reference to an image in an OCI layout: a directory, or a tar archive of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LayoutReference {
    /// Absolute path.
    path: PathBuf,
    selector: LayoutSelector,
}

/// Selects an image of an OCI layout.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LayoutSelector {
    /// The only image.
    Only,
    /// The image with this name, the value of `org.opencontainers.image.ref.name`.
    Name(String),
    /// The image with this digest.
    Digest(Digest),
}

impl ImageSource {
    /// Returns a key that no other source has.
    pub fn key(&self) -> String {
        match self {
            Self::Registry(image) => format!("docker://{image}"),
            Self::Layout(layout) => layout.to_string(),
        }
    }

    /// Returns the last segment of the path, the default name of a catalog. `None` for a layout at
    /// the root directory.
    pub fn last_path_segment(&self) -> Option<String> {
        match self {
            Self::Registry(image) => image.path().rsplit('/').next().map(str::to_owned),
            Self::Layout(layout) => {
                let name = layout.path().file_name()?.to_string_lossy().into_owned();
                Some(
                    name.strip_suffix(".tar")
                        .map_or(name.clone(), str::to_owned),
                )
            }
        }
    }

    /// Returns whether the reference has a digest and therefore always names the same image.
    pub fn is_pinned(&self) -> bool {
        match self {
            Self::Registry(image) => image.digest().is_some(),
            Self::Layout(layout) => matches!(layout.selector(), LayoutSelector::Digest(_)),
        }
    }
}

impl RegistryReference {
    /// Parses a reference. Without a registry it means docker.io, without tag and digest the tag
    /// `latest`.
    pub fn parse(text: &str) -> Result<Self, ImageError> {
        let error = |source| ImageError::InvalidReference {
            text: text.to_owned(),
            source,
        };
        let reference = ImageReference::parse(text).map_err(error)?;
        let digest = match reference.digest() {
            None => None,
            Some(digest) => Some(
                Digest::parse(digest)
                    .ok_or_else(|| ImageError::UnsupportedDigest(digest.to_owned()))?,
            ),
        };
        let tag = reference
            .tag()
            .or(digest.is_none().then_some(DEFAULT_TAG))
            .map(str::to_owned);
        Ok(Self {
            domain: reference.domain().to_owned(),
            path: reference.path().into_owned(),
            tag,
            digest,
        })
    }

    /// Host of the registry, with its port if it has one, such as `quay.io`.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Path of the repository, such as `operatorhubio/catalog`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Tag; `None` if the reference has a digest only.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Digest, if the reference has one. It takes precedence over the tag.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Returns the registry and the path, without tag and digest.
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
    /// Parses `PATH[:NAME|@DIGEST]`, relative to `base`. If the whole text is the path of an
    /// existing file, it is the path, whatever it contains.
    pub fn parse(text: &str, base: &Path) -> Result<Self, ImageError> {
        let whole = base.join(text).exists();
        let (path, selector) = match (text.rsplit_once("@sha256:"), text.rsplit_once(':')) {
            _ if whole => (text, LayoutSelector::Only),
            (Some((path, hex)), _) => {
                let digest = format!("sha256:{hex}");
                let digest = Digest::parse(&digest).ok_or(ImageError::UnsupportedDigest(digest))?;
                (path, LayoutSelector::Digest(digest))
            }
            (None, Some((path, name))) if !name.is_empty() && !name.contains('/') => {
                (path, LayoutSelector::Name(name.to_owned()))
            }
            _ => (text, LayoutSelector::Only),
        };
        Ok(Self {
            path: absolute(&base.join(path))?,
            selector,
        })
    }

    /// Absolute path of the layout.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Selects the image of the layout.
    pub fn selector(&self) -> &LayoutSelector {
        &self.selector
    }
}

impl fmt::Display for LayoutReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci:{}", self.path.display())?;
        match &self.selector {
            LayoutSelector::Only => Ok(()),
            LayoutSelector::Name(name) => write!(f, ":{name}"),
            LayoutSelector::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

fn absolute(path: &Path) -> Result<PathBuf, ImageError> {
    std::path::absolute(path).map_err(|source| io_error("make an absolute path of", path, source))
}
