//! Where a catalog comes from, and how that is written: a directory, an image in a registry, or an
//! OCI layout.
//!
//! It looks at the disk only to tell a path from the name of an image.

use std::io;
use std::path::{Path, PathBuf};

use images::{ImageError, ImageSource, LayoutReference, RegistryReference};

/// Name of the file that every OCI layout has.
const LAYOUT: &str = "oci-layout";

/// A reference to a catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Every file below this directory; the path is absolute.
    Directory(PathBuf),
    /// An image in a registry or in an OCI layout.
    Image(ImageSource),
}

/// A text that names no source.
#[derive(Debug, thiserror::Error)]
pub enum InvalidSource {
    /// It is neither a path nor a reference.
    #[error(
        "`{0}` is not a source: write the path of a directory that exists, dir:PATH, oci:PATH, or an image with its registry such as quay.io/operatorhubio/catalog:latest"
    )]
    Unknown(String),
    /// It is the folder of an OCI layout, and not of a catalog.
    #[error("`{0}` is an OCI layout, not a directory with a catalog: write oci:{0}")]
    Layout(String),
    /// It should name an image and does not.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The operating system refused to look for it.
    #[error("cannot look for `{}`", path.display())]
    Io {
        /// What was looked for.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl Source {
    /// Reads `dir:PATH`, `oci:PATH[:TAG|@DIGEST]`, `docker://REFERENCE`, the path of something that
    /// exists, or a reference that begins with the name of a registry. A relative path starts at
    /// `base`.
    pub fn parse(text: &str, base: &Path) -> Result<Self, InvalidSource> {
        let unknown = || InvalidSource::Unknown(text.to_owned());
        if let Some(path) = text.strip_prefix("dir:") {
            return if path.is_empty() {
                Err(unknown())
            } else {
                directory(&base.join(path))
            };
        }
        if let Some(layout) = text.strip_prefix("oci:") {
            return if layout.is_empty() {
                Err(unknown())
            } else {
                Ok(LayoutReference::parse(layout, base)?.into())
            };
        }
        if let Some(image) = text.strip_prefix("docker://") {
            return Ok(RegistryReference::parse(image)?.into());
        }
        let path = base.join(text);
        let exists = path.try_exists().map_err(|source| InvalidSource::Io {
            path: path.clone(),
            source,
        })?;
        if exists && !text.is_empty() {
            let is_layout = path.join(LAYOUT).exists();
            return if is_layout {
                Err(InvalidSource::Layout(text.to_owned()))
            } else {
                directory(&path)
            };
        }
        if names_registry(text) {
            Ok(RegistryReference::parse(text)?.into())
        } else {
            Err(unknown())
        }
    }

    /// What tells this source from every other.
    pub fn key(&self) -> String {
        match self {
            Self::Directory(path) => format!("dir:{}", path.display()),
            Self::Image(image) => image.key(),
        }
    }

    /// The last part of its path: what the catalog is called when nobody named it.
    pub fn last_path_segment(&self) -> Option<String> {
        match self {
            Self::Directory(path) => {
                let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                Some(path.file_name()?.to_string_lossy().into_owned())
            }
            Self::Image(image) => image.last_path_segment(),
        }
    }

    /// Whether it names one content for ever, by its digest.
    pub fn is_pinned(&self) -> bool {
        match self {
            Self::Directory(_) => false,
            Self::Image(image) => image.is_pinned(),
        }
    }
}

impl From<RegistryReference> for Source {
    fn from(reference: RegistryReference) -> Self {
        Self::Image(ImageSource::Registry(reference))
    }
}

impl From<LayoutReference> for Source {
    fn from(reference: LayoutReference) -> Self {
        Self::Image(ImageSource::Layout(reference))
    }
}

/// Whether the first part of a reference can only be a registry.
fn names_registry(text: &str) -> bool {
    text.split_once('/').is_some_and(|(first, _)| {
        first == "localhost" || first.contains(['.', ':']) && !first.starts_with('.')
    })
}

fn directory(path: &Path) -> Result<Source, InvalidSource> {
    let absolute = std::path::absolute(path).map_err(|source| InvalidSource::Io {
        path: path.to_owned(),
        source,
    })?;
    Ok(Source::Directory(absolute))
}

#[cfg(test)]
mod tests;
