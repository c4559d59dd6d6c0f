//! What a policy knows of an image: its identity, and the scopes that may name it.

use std::path::Path;

use fbc_grammar::image::{ImageReference, ImageReferenceError};

/// Transport of images in registries.
pub(crate) const DOCKER: &str = "docker";

/// A reference that policies do not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The text is not a reference to an image.
    #[error("`{text}` is not a valid image reference")]
    Invalid {
        /// The text.
        text: String,
        /// The cause.
        source: ImageReferenceError,
    },
}

/// An image as a policy sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyReference {
    pub(crate) transport: &'static str,
    /// Looked up first.
    identity: String,
    /// Looked up in this order after the identity.
    namespaces: Vec<String>,
    /// The name in a registry; layouts have none.
    pub(crate) named: Option<NamedImage>,
}

/// A normalized name of an image with a tag or a digest, as the docker transport has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamedImage {
    /// Registry and path.
    pub(crate) name: String,
    pub(crate) tag: Option<String>,
    pub(crate) digest: Option<String>,
}

impl PolicyReference {
    /// Parses a reference to an image in a registry, without a scheme. A reference with a tag and a
    /// digest counts as one by digest.
    pub fn docker(text: &str) -> Result<Self, ReferenceError> {
        let mut named = NamedImage::parse(text)?;
        match (&named.tag, &named.digest) {
            (_, Some(_)) => named.tag = None,
            (None, None) => named.tag = Some("latest".to_owned()),
            _ => {}
        }
        Ok(Self {
            transport: DOCKER,
            identity: named.to_string(),
            namespaces: docker_namespaces(&named.name),
            named: Some(named),
        })
    }

    /// Describes an image in an OCI layout by its resolved absolute path.
    pub fn layout(path: &Path, name: Option<&str>, is_archive: bool) -> Self {
        let path = path.to_string_lossy().into_owned();
        let identity = match name {
            Some(name) => format!("{path}:{name}"),
            None => path.clone(),
        };
        let mut namespaces = Vec::new();
        let mut rest = path.as_str();
        while !rest.is_empty() {
            namespaces.push(rest.to_owned());
            rest = rest.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
        Self {
            transport: if is_archive { "oci-archive" } else { "oci" },
            identity,
            namespaces,
            named: None,
        }
    }

    /// Name of the transport in policies.
    pub fn transport(&self) -> &str {
        self.transport
    }

    /// The scope that names only this image.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// The wider scopes of the image, in the order in which they are looked up.
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }
}

impl NamedImage {
    pub(crate) fn parse(text: &str) -> Result<Self, ReferenceError> {
        let reference = ImageReference::parse(text).map_err(|source| ReferenceError::Invalid {
            text: text.to_owned(),
            source,
        })?;
        let path = reference.path();
        let name = match reference.domain() {
            "" => path.into_owned(),
            domain => format!("{domain}/{path}"),
        };
        Ok(Self {
            name,
            tag: reference.tag().map(str::to_owned),
            digest: reference.digest().map(str::to_owned),
        })
    }

    /// Returns whether it has neither tag nor digest.
    pub(crate) fn is_name_only(&self) -> bool {
        self.tag.is_none() && self.digest.is_none()
    }
}

impl std::fmt::Display for NamedImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// Returns the repository, its parents, the host, and the wildcards of the host without its port.
fn docker_namespaces(name: &str) -> Vec<String> {
    let mut namespaces = vec![name.to_owned()];
    let mut rest = name;
    while let Some((parent, _)) = rest.rsplit_once('/') {
        namespaces.push(parent.to_owned());
        rest = parent;
    }
    let mut host = rest.split_once(':').map_or(rest, |(host, _)| host);
    while let Some((_, parent)) = host.split_once('.') {
        namespaces.push(format!("*.{parent}"));
        host = parent;
    }
    namespaces
}
