//! References to catalogs: a directory, an image in a registry or in an OCI layout, a file on an HTTP
//! server, a catalog of another server, or a folder of a git repository.
//!
//! Parsing accesses the disk to tell a path from the name of an image.

use std::io;
use std::path::{Path, PathBuf};

use images::{ImageError, ImageSource, LayoutReference, RegistryReference};
use remote_sources::{ReferenceError, RemoteReference};

/// Name of the file that marks an OCI layout.
const LAYOUT: &str = "oci-layout";

/// A reference to a catalog.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A directory, by its absolute path.
    Directory(PathBuf),
    /// An image in a registry or in an OCI layout.
    Image(ImageSource),
    /// A file on an HTTP server, a catalog of another server, or a folder of a git repository.
    Remote(RemoteReference),
}

/// An error of [`Source::parse`].
#[derive(Debug, thiserror::Error)]
pub enum SourceParseError {
    /// The text is neither a path nor a reference.
    #[error(
        "`{0}` is not a source: write the path of a directory that exists, dir:PATH, oci:PATH, or an image with its registry such as quay.io/operatorhubio/catalog:latest"
    )]
    Unknown(String),
    /// The URL of a remote source is invalid.
    #[error(transparent)]
    Remote(#[from] ReferenceError),
    /// The text is the path of an OCI layout, without `oci:`.
    #[error("`{0}` is an OCI layout, not a directory with a catalog: write oci:{0}")]
    Layout(String),
    /// The reference to an image is invalid.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The path cannot be accessed.
    #[error("cannot access `{}`", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

impl Source {
    /// Parses `dir:PATH`, `oci:PATH[:TAG|@DIGEST]`, `docker://REFERENCE`, `https://HOST/PATH`,
    /// `catalogd+https://HOST/catalogs/NAME`, `git+https://HOST/PATH.git`, an existing path, or a reference that begins with the name of a registry. Relative paths are resolved against `base`.
    pub fn parse(text: &str, base: &Path) -> Result<Self, SourceParseError> {
        let unknown = || SourceParseError::Unknown(text.to_owned());
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
        if let Some(remote) = RemoteReference::parse(text) {
            return Ok(Self::Remote(remote?));
        }
        let path = base.join(text);
        let exists = path.try_exists().map_err(|source| SourceParseError::Io {
            path: path.clone(),
            source,
        })?;
        if exists && !text.is_empty() {
            let is_layout = path.join(LAYOUT).exists();
            return if is_layout {
                Err(SourceParseError::Layout(text.to_owned()))
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

    /// Returns a text that identifies the source.
    pub fn key(&self) -> String {
        match self {
            Self::Directory(path) => format!("dir:{}", path.display()),
            Self::Image(image) => image.key(),
            Self::Remote(remote) => remote.key(),
        }
    }

    /// Returns the last segment of its path: the default name of the catalog.
    pub fn last_path_segment(&self) -> Option<String> {
        match self {
            Self::Directory(path) => {
                let path = path.canonicalize().unwrap_or_else(|_| path.clone());
                Some(path.file_name()?.to_string_lossy().into_owned())
            }
            Self::Image(image) => image.last_path_segment(),
            Self::Remote(remote) => remote.name(),
        }
    }

    /// Returns the reference of an image in a registry, with its tag.
    pub fn image_reference(&self) -> Option<String> {
        match self {
            Self::Image(ImageSource::Registry(image)) => Some(image.to_string()),
            Self::Directory(_) | Self::Image(ImageSource::Layout(_)) | Self::Remote(_) => None,
        }
    }

    /// Returns the reference as people see it, without secrets; `None` for a directory, whose path
    /// concerns only its server.
    pub fn shown_reference(&self) -> Option<String> {
        match self {
            Self::Directory(_) => None,
            Self::Image(ImageSource::Registry(image)) => Some(image.to_string()),
            Self::Image(image @ ImageSource::Layout(_)) => Some(image.key()),
            Self::Remote(remote) => Some(remote.to_string()),
        }
    }

    /// Returns whether it names a server with all its catalogs, and not one catalog.
    pub fn is_server(&self) -> bool {
        matches!(self, Self::Remote(remote) if remote.is_server())
    }

    /// Returns whether it names an image or a file by digest, or a commit, whose content never changes.
    pub fn is_pinned(&self) -> bool {
        match self {
            Self::Directory(_) => false,
            Self::Image(image) => image.is_pinned(),
            Self::Remote(remote) => remote.is_pinned(),
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

/// Returns whether the first segment of a reference can only be a registry.
fn names_registry(text: &str) -> bool {
    text.split_once('/').is_some_and(|(first, _)| {
        first == "localhost" || first.contains(['.', ':']) && !first.starts_with('.')
    })
}

fn directory(path: &Path) -> Result<Source, SourceParseError> {
    let absolute = std::path::absolute(path).map_err(|source| SourceParseError::Io {
        path: path.to_owned(),
        source,
    })?;
    Ok(Source::Directory(absolute))
}

#[cfg(test)]
mod tests;
