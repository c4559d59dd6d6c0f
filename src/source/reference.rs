//! How a source is written: a directory, an image in a registry, or an OCI layout.
//!
//! It looks at the disk only to tell a path from the name of an image.

use std::fmt;
use std::path::{Path, PathBuf};

use fbc::Digest;
use fbc::image::ImageReference;

use super::{Source, SourceError, io_error};

/// The tag of an image that is given without tag and digest.
const DEFAULT_TAG: &str = "latest";

/// An image in a registry, in the normal form of its reference.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Image {
    domain: String,
    path: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// An image in an OCI layout on disk: a directory, or a tar of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    /// Absolute.
    path: PathBuf,
    chosen: Chosen,
}

/// Which image of a layout is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Chosen {
    /// The only one.
    Only,
    /// The one with this name, the value of `org.opencontainers.image.ref.name`.
    Name(String),
    /// The one with this digest.
    Digest(Digest),
}

/// Reads the text of a source; a relative path starts at `base`.
pub(super) fn parse(text: &str, base: &Path) -> Result<Source, SourceError> {
    let unknown = || SourceError::Unknown(text.to_owned());
    if let Some(path) = text.strip_prefix("dir:") {
        return if path.is_empty() { Err(unknown()) } else { directory(&base.join(path)) };
    }
    if let Some(layout) = text.strip_prefix("oci:") {
        return if layout.is_empty() { Err(unknown()) } else { Ok(Source::Layout(Layout::parse(layout, base)?)) };
    }
    if let Some(image) = text.strip_prefix("docker://") {
        return Ok(Source::Image(Image::parse(image)?));
    }
    let path = base.join(text);
    let there = path.try_exists().map_err(|source| io_error("look for", &path, source))?;
    if there && !text.is_empty() {
        return directory(&path);
    }
    if names_registry(text) { Ok(Source::Image(Image::parse(text)?)) } else { Err(unknown()) }
}

impl Image {
    /// Reads a reference to an image; docker.io is meant where it names no registry.
    pub fn parse(text: &str) -> Result<Self, SourceError> {
        let error = |source| SourceError::Reference { text: text.to_owned(), source };
        let reference = ImageReference::parse(text).map_err(error)?;
        let digest = match reference.digest() {
            None => None,
            Some(digest) => {
                Some(Digest::parse(digest).ok_or_else(|| SourceError::DigestUnsupported(digest.to_owned()))?)
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

impl fmt::Display for Image {
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

impl Layout {
    /// Reads `PATH[:NAME|@DIGEST]`. What exists as a whole is the path, whatever it contains.
    fn parse(text: &str, base: &Path) -> Result<Self, SourceError> {
        let whole = base.join(text).exists();
        let (path, chosen) = match (text.rsplit_once("@sha256:"), text.rsplit_once(':')) {
            _ if whole => (text, Chosen::Only),
            (Some((path, hex)), _) => {
                let digest = format!("sha256:{hex}");
                let digest = Digest::parse(&digest).ok_or(SourceError::DigestUnsupported(digest))?;
                (path, Chosen::Digest(digest))
            }
            (None, Some((path, name))) if !name.is_empty() && !name.contains('/') => {
                (path, Chosen::Name(name.to_owned()))
            }
            _ => (text, Chosen::Only),
        };
        Ok(Self { path: absolute(&base.join(path))?, chosen })
    }

    /// Where it is; absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which of its images is meant.
    pub fn chosen(&self) -> &Chosen {
        &self.chosen
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "oci:{}", self.path.display())?;
        match &self.chosen {
            Chosen::Only => Ok(()),
            Chosen::Name(name) => write!(f, ":{name}"),
            Chosen::Digest(digest) => write!(f, "@{digest}"),
        }
    }
}

/// Whether the first part of a reference can only be a registry.
fn names_registry(text: &str) -> bool {
    text.split_once('/')
        .is_some_and(|(first, _)| first == "localhost" || first.contains(['.', ':']) && !first.starts_with('.'))
}

fn directory(path: &Path) -> Result<Source, SourceError> {
    absolute(path).map(Source::Directory)
}

fn absolute(path: &Path) -> Result<PathBuf, SourceError> {
    std::path::absolute(path).map_err(|source| io_error("find", path, source))
}

#[cfg(test)]
mod tests;
