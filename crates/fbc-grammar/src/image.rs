//! Parses and normalizes image references.
//!
//! They are parsed as in go.podman.io/image/v5/docker/reference, which `opm validate` uses: a name
//! without a domain is on docker.io, tags and digests are optional, and error texts equal
//! upstream's. A valid reference is parsed in one pass without allocation.

mod grammar;

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

use grammar::{ReferenceParts, match_reference};

/// Maximum length of the name, domain and path together, in bytes: upstream's limit.
pub const MAX_IMAGE_NAME_BYTES: usize = 255;

const DEFAULT_DOMAIN: &str = "docker.io";
const LEGACY_DEFAULT_DOMAIN: &str = "index.docker.io";
const OFFICIAL_PREFIX: &str = "library/";

/// An image reference, borrowed from its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageReference<'a> {
    domain: &'a str,
    /// `true` when the path omits [`OFFICIAL_PREFIX`].
    is_official: bool,
    path: &'a str,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

/// An error for a text that is not an image reference, with upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImageReferenceError {
    /// The text is a digest without its algorithm.
    #[error("invalid repository name ({0}), cannot specify 64-byte hexadecimal strings")]
    Identifier(String),
    /// The path has a capital letter.
    #[error("invalid reference format: repository name must be lowercase")]
    PathNotLowercase,
    /// Another part has a capital letter where only small ones are allowed.
    #[error("repository name must be lowercase")]
    NotLowercase,
    /// The text does not have the form of a reference.
    #[error("invalid reference format")]
    InvalidFormat,
    /// The name has more than [`MAX_IMAGE_NAME_BYTES`].
    #[error("repository name must not be more than {MAX_IMAGE_NAME_BYTES} characters")]
    NameTooLong,
    /// The digest has capital letters.
    #[error("invalid checksum digest format")]
    DigestInvalid,
    /// The digest is too short or too long for its algorithm.
    #[error("invalid checksum digest length")]
    DigestLength,
    /// The digest's algorithm is none of sha256, sha384 and sha512.
    #[error("unsupported digest algorithm")]
    DigestUnsupported,
}

impl<'a> ImageReference<'a> {
    /// Parses a reference.
    ///
    /// ```
    /// use fbc_grammar::image::ImageReference;
    ///
    /// let reference = ImageReference::parse("etcd:3.5")?;
    /// assert_eq!((reference.domain(), reference.tag()), ("docker.io", Some("3.5")));
    /// assert_eq!(reference.to_string(), "docker.io/library/etcd:3.5");
    /// # Ok::<(), fbc_grammar::image::ImageReferenceError>(())
    /// ```
    pub fn parse(text: &'a str) -> Result<Self, ImageReferenceError> {
        let parts = match_reference(text).ok_or_else(|| diagnose(text))?;
        if is_identifier(text) {
            return Err(ImageReferenceError::Identifier(text.to_owned()));
        }
        let algorithm = parts
            .digest
            .and_then(|digest| digest.split(':').next())
            .unwrap_or("");
        // Without a tag before it, upstream takes the algorithm of a digest for a piece of the
        // path.
        if parts.tag.is_none() && has_capitals(algorithm) {
            return Err(ImageReferenceError::PathNotLowercase);
        }
        let reference = Self::normalize(parts);
        if reference.name_len() > MAX_IMAGE_NAME_BYTES {
            return Err(ImageReferenceError::NameTooLong);
        }
        if let Some(digest) = parts.digest {
            check_digest(digest)?;
        }
        Ok(reference)
    }

    /// Returns the host and port of the registry, such as `quay.io`.
    ///
    /// `docker.io` where the text has none; empty in the odd case of a name such as `a_b.c/d`,
    /// whose first part looks like a host and cannot be one.
    pub fn domain(&self) -> &'a str {
        self.domain
    }

    /// Returns the name within the registry, such as `library/etcd`.
    pub fn path(&self) -> Cow<'a, str> {
        if self.is_official {
            format!("{OFFICIAL_PREFIX}{}", self.path).into()
        } else {
            self.path.into()
        }
    }

    /// Returns registry and name, such as `docker.io/library/etcd`; the name alone without a
    /// registry.
    pub fn repository(&self) -> String {
        match self.domain() {
            "" => self.path().into_owned(),
            domain => format!("{domain}/{}", self.path()),
        }
    }

    /// Returns the tag, if the text has one.
    pub fn tag(&self) -> Option<&'a str> {
        self.tag
    }

    /// Returns the digest with its algorithm, such as `sha256:…`.
    pub fn digest(&self) -> Option<&'a str> {
        self.digest
    }

    fn normalize(parts: ReferenceParts<'a>) -> Self {
        let domain = match parts.domain {
            None | Some(LEGACY_DEFAULT_DOMAIN) => DEFAULT_DOMAIN,
            Some(domain) => domain,
        };
        let is_official = domain == DEFAULT_DOMAIN && !parts.path.contains('/');
        Self {
            domain,
            is_official,
            path: parts.path,
            tag: parts.tag,
            digest: parts.digest,
        }
    }

    fn name_len(&self) -> usize {
        let slash = usize::from(!self.domain.is_empty());
        let prefix = if self.is_official {
            OFFICIAL_PREFIX.len()
        } else {
            0
        };
        self.domain.len() + slash + prefix + self.path.len()
    }
}

/// Formats the normal form: domain, path, tag and digest.
impl fmt::Display for ImageReference<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slash = if self.domain.is_empty() { "" } else { "/" };
        let prefix = if self.is_official {
            OFFICIAL_PREFIX
        } else {
            ""
        };
        write!(f, "{}{slash}{prefix}{}", self.domain, self.path)?;
        if let Some(tag) = self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// Returns the error for a text that does not have the form of a reference.
fn diagnose(text: &str) -> ImageReferenceError {
    let (_, remainder) = grammar::split_domain(text);
    let path = remainder.split(':').next().unwrap_or("");
    if path.chars().any(|c| to_lowercase(c) != c) {
        return ImageReferenceError::PathNotLowercase;
    }
    let lowercase: String = text.chars().map(to_lowercase).collect();
    match match_reference(&lowercase) {
        Some(_) => ImageReferenceError::NotLowercase,
        None => ImageReferenceError::InvalidFormat,
    }
}

/// Converts to lower case as Go does: always to one character.
fn to_lowercase(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn is_identifier(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn check_digest(digest: &str) -> Result<(), ImageReferenceError> {
    let (algorithm, encoded) = digest
        .split_once(':')
        .ok_or(ImageReferenceError::DigestInvalid)?;
    let len = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ if has_capitals(algorithm) => return Err(ImageReferenceError::DigestInvalid),
        _ => return Err(ImageReferenceError::DigestUnsupported),
    };
    if encoded.len() != len {
        Err(ImageReferenceError::DigestLength)
    } else if has_capitals(encoded) {
        Err(ImageReferenceError::DigestInvalid)
    } else {
        Ok(())
    }
}

fn has_capitals(text: &str) -> bool {
    !grammar::all(text.as_bytes(), |byte| !byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests;
