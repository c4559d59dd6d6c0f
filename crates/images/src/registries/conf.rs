//! `registries.conf`, version 2: mirrors, other locations of repositories, and blocked ones.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::transport::Trust;
use crate::{ImageError, RegistryReference};

/// Name of Docker Hub in references, and host of its registry.
const DOCKER_HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// The contents of a `registries.conf` and its drop-in files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistriesConf {
    registries: Vec<RegistryConf>,
    /// Hosts that are insecure according to other settings.
    insecure: Vec<String>,
}

/// The location of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepositoryLocation {
    /// Name of the registry in references.
    pub(crate) registry: String,
    /// Host that requests are sent to, with its port.
    pub(crate) host: String,
    pub(crate) repository: String,
    pub(super) trust: Trust,
}

/// The fields of one file that are used.
#[derive(Deserialize)]
struct ConfFile {
    #[serde(default)]
    registry: Vec<RegistryConf>,
    /// Present in the first version of the format, which is not supported.
    registries: Option<toml::Value>,
}

/// The settings for all images that match a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct RegistryConf {
    prefix: String,
    location: String,
    insecure: bool,
    blocked: bool,
    mirror_by_digest_only: bool,
    mirror: Vec<Mirror>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Mirror {
    location: String,
    #[serde(default)]
    insecure: bool,
    #[serde(default, rename = "pull-from-mirror")]
    applies_to: MirrorScope,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum MirrorScope {
    #[default]
    All,
    DigestOnly,
    TagOnly,
}

impl RegistriesConf {
    /// Parses the main file and its drop-in files, in this order, each with its path for errors. A
    /// later file replaces the settings of an earlier one for the same prefix.
    pub fn parse(files: impl IntoIterator<Item = (PathBuf, String)>) -> Result<Self, ImageError> {
        let mut registries: Vec<RegistryConf> = Vec::new();
        for (path, text) in files {
            for registry in parse_file(&path, &text)? {
                registries.retain(|earlier| earlier.prefix != registry.prefix);
                registries.push(registry);
            }
        }
        Ok(Self {
            registries,
            insecure: Vec::new(),
        })
    }

    /// Marks further hosts as insecure.
    pub(super) fn with_insecure(self, insecure: &[String]) -> Self {
        Self {
            insecure: insecure.to_owned(),
            ..self
        }
    }

    /// Returns the mirrors of an image in the order of trying them, and its own location, which is
    /// tried last.
    pub(crate) fn locations(
        &self,
        image: &RegistryReference,
    ) -> Result<(Vec<RepositoryLocation>, RepositoryLocation), ImageError> {
        let name = image.repository();
        let Some((registry, matched)) = self.matching(image)? else {
            return Ok((Vec::new(), self.location(&name, false)?));
        };
        // A prefix may include a tag or a digest. Then nothing of the name remains after it.
        let rest = name.get(matched..).unwrap_or_default();
        let relocate = |location: &str| {
            if location.is_empty() {
                name.clone()
            } else {
                format!("{location}{rest}")
            }
        };
        let is_digest = image.digest().is_some();
        let mirrors = registry
            .mirror
            .iter()
            .filter(|mirror| match mirror.applies_to {
                _ if registry.mirror_by_digest_only => is_digest,
                MirrorScope::All => true,
                MirrorScope::DigestOnly => is_digest,
                MirrorScope::TagOnly => !is_digest,
            });
        let mirrors =
            mirrors.map(|mirror| self.location(&relocate(&mirror.location), mirror.insecure));
        Ok((
            mirrors.collect::<Result<_, _>>()?,
            self.location(&relocate(&registry.location), registry.insecure)?,
        ))
    }

    /// Returns where an image is pushed to: its own name, whatever locations and mirrors it is
    /// pulled from.
    pub(crate) fn push_location(
        &self,
        image: &RegistryReference,
    ) -> Result<RepositoryLocation, ImageError> {
        let name = image.repository();
        let insecure = self
            .matching(image)?
            .is_some_and(|(registry, _)| registry.insecure);
        self.location(&name, insecure)
    }

    /// Returns the settings with the longest prefix of an image, and the length of that. Blocked
    /// images are refused.
    fn matching(
        &self,
        image: &RegistryReference,
    ) -> Result<Option<(&RegistryConf, usize)>, ImageError> {
        let text = image.to_string();
        let matching = self
            .registries
            .iter()
            .filter_map(|one| Some((one, match_prefix(&one.prefix, &text)?)));
        match matching.max_by_key(|(_, matched)| *matched) {
            Some((registry, _)) if registry.blocked => Err(ImageError::Blocked {
                image: text,
                prefix: registry.prefix.clone(),
            }),
            matching => Ok(matching),
        }
    }

    /// Returns the location of a repository, given as `HOST/PATH`.
    fn location(&self, name: &str, insecure: bool) -> Result<RepositoryLocation, ImageError> {
        let (registry, repository) = name
            .split_once('/')
            .ok_or_else(|| ImageError::InvalidLocation(name.to_owned()))?;
        let host = if registry == DOCKER_HUB.0 {
            DOCKER_HUB.1
        } else {
            registry
        };
        let trust = if insecure || self.insecure.iter().any(|one| one == registry) {
            Trust::InsecureSkipVerify
        } else {
            Trust::Verified
        };
        Ok(RepositoryLocation {
            registry: registry.to_owned(),
            host: host.to_owned(),
            repository: repository.to_owned(),
            trust,
        })
    }
}

impl RepositoryLocation {
    /// Returns the error for a 401 response, given the credentials that were sent, if any.
    pub(super) fn unauthorized(&self, credentials: Option<&str>) -> ImageError {
        let location = self.to_string();
        match credentials {
            Some(credentials) => ImageError::CredentialsRejected {
                location,
                credentials: credentials.to_owned(),
            },
            None => ImageError::NoCredentials {
                location,
                registry: self.registry.clone(),
            },
        }
    }
}

impl fmt::Display for RepositoryLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)
    }
}

/// Parses and validates one file.
fn parse_file(path: &Path, text: &str) -> Result<Vec<RegistryConf>, ImageError> {
    let file: ConfFile = toml::from_str(text).map_err(|source| ImageError::ConfSyntax {
        path: path.to_owned(),
        source,
    })?;
    let wrong = |reason| ImageError::InvalidConf {
        path: path.to_owned(),
        reason,
    };
    if file.registries.is_some() {
        return Err(wrong(
            "`[registries]` is the first version of the format: write `[[registry]]`".to_owned(),
        ));
    }
    let mut registries = file.registry;
    for registry in &mut registries {
        registry.location = trim_slashes(&registry.location);
        registry.prefix = trim_slashes(&registry.prefix);
        if registry.prefix.is_empty() {
            registry.prefix.clone_from(&registry.location);
        }
        let RegistryConf { prefix, mirror, .. } = registry;
        if prefix.is_empty() {
            return Err(wrong(
                "a `[[registry]]` has neither prefix nor location".to_owned(),
            ));
        }
        if prefix.strip_prefix("*.").unwrap_or(prefix).contains('*') {
            return Err(wrong(format!(
                "the prefix `{prefix}` has a `*` elsewhere than in front, as in `*.example.com`"
            )));
        }
        for mirror in mirror {
            mirror.location = trim_slashes(&mirror.location);
            if mirror.location.is_empty() {
                return Err(wrong(format!("a mirror of `{prefix}` has no location")));
            }
            if registry.mirror_by_digest_only && mirror.applies_to != MirrorScope::All {
                return Err(wrong(format!(
                    "`{prefix}` has mirror-by-digest-only and a mirror with pull-from-mirror: write one of them"
                )));
            }
        }
    }
    Ok(registries)
}

fn trim_slashes(location: &str) -> String {
    location.trim_end_matches('/').to_owned()
}

/// Returns the length of the part of a reference that a prefix matches; `None` if it does not match
/// whole path segments.
fn match_prefix(prefix: &str, reference: &str) -> Option<usize> {
    let end = match prefix.strip_prefix('*') {
        None => reference.starts_with(prefix).then_some(prefix.len())?,
        // `*.example.com` matches every subdomain of the host, but not the domain itself.
        Some(suffix) => {
            let host = reference.find('/').unwrap_or(reference.len());
            let domain = suffix.find('/').unwrap_or(suffix.len());
            let before = reference[..host].strip_suffix(&suffix[..domain])?.len();
            let fits = before > 0 && reference[before..].starts_with(suffix);
            fits.then_some(before + suffix.len())?
        }
    };
    // After a prefix that is a host only, a colon begins a port: that is another registry.
    let is_host = !prefix.contains('/');
    let is_whole = match reference.as_bytes().get(end) {
        None | Some(b'/') => true,
        Some(b':' | b'@') => !is_host,
        Some(_) => false,
    };
    is_whole.then_some(end)
}

#[cfg(test)]
mod tests;
