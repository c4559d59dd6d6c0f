//! `registries.conf`, version 2: where images really are, and what is not to be fetched.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::transport::Trust;
use crate::{ImageError, RegistryReference};

/// What Docker Hub is called in references, and where its registry is.
const DOCKER_HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// What the files of a `registries.conf` say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistriesConf {
    registries: Vec<Registry>,
    /// Hosts that the user named as insecure beside the files.
    insecure: Vec<String>,
}

/// Where an image is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The registry as it is called.
    pub(super) registry: String,
    /// The host that is asked, with its port.
    pub(super) host: String,
    pub(super) repository: String,
    pub(super) trust: Trust,
}

/// What one file says, as far as it matters here.
#[derive(Deserialize)]
struct ConfFile {
    #[serde(default)]
    registry: Vec<Registry>,
    /// The first version of the format.
    registries: Option<toml::Value>,
}

/// What is said of all images whose names begin alike.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct Registry {
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
    used_for: UsedFor,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum UsedFor {
    #[default]
    All,
    DigestOnly,
    TagOnly,
}

impl RegistriesConf {
    /// Reads the main file and then its drop-ins, each with its path, which errors name. A later one replaces what an
    /// earlier one says of the same prefix.
    pub fn parse(files: impl IntoIterator<Item = (PathBuf, String)>) -> Result<Self, ImageError> {
        let mut registries: Vec<Registry> = Vec::new();
        for (path, text) in files {
            for registry in read(&path, &text)? {
                registries.retain(|earlier| earlier.prefix != registry.prefix);
                registries.push(registry);
            }
        }
        Ok(Self { registries, insecure: Vec::new() })
    }

    /// The same, where these hosts need not prove who they are.
    pub(super) fn with_insecure(self, insecure: &[String]) -> Self {
        Self { insecure: insecure.to_owned(), ..self }
    }

    /// Where an image is looked for: at its mirrors, one after the other, and then where its own name says.
    pub(super) fn places(&self, image: &RegistryReference) -> Result<(Vec<Place>, Place), ImageError> {
        let name = image.repository();
        let matching = self.registries.iter().filter_map(|one| Some((one, matched(&one.prefix, &image.to_string())?)));
        let Some((registry, matched)) = matching.max_by_key(|(_, matched)| *matched) else {
            return Ok((Vec::new(), self.place(&name, false)?));
        };
        if registry.blocked {
            return Err(ImageError::Blocked { image: image.to_string(), prefix: registry.prefix.clone() });
        }
        // A prefix may go on after the name, with a tag or a digest; what follows the match belongs to the name then.
        let rest = name.get(matched..).unwrap_or_default();
        let moved = |location: &str| if location.is_empty() { name.clone() } else { format!("{location}{rest}") };
        let is_digest = image.digest().is_some();
        let mirrors = registry.mirror.iter().filter(|mirror| match mirror.used_for {
            _ if registry.mirror_by_digest_only => is_digest,
            UsedFor::All => true,
            UsedFor::DigestOnly => is_digest,
            UsedFor::TagOnly => !is_digest,
        });
        let mirrors = mirrors.map(|mirror| self.place(&moved(&mirror.location), mirror.insecure));
        Ok((mirrors.collect::<Result<_, _>>()?, self.place(&moved(&registry.location), registry.insecure)?))
    }

    fn place(&self, name: &str, insecure: bool) -> Result<Place, ImageError> {
        let (registry, repository) = name.split_once('/').ok_or_else(|| ImageError::Location(name.to_owned()))?;
        let host = if registry == DOCKER_HUB.0 { DOCKER_HUB.1 } else { registry };
        let trust = if insecure || self.insecure.iter().any(|one| one == registry) {
            Trust::InsecureSkipVerify
        } else {
            Trust::Verified
        };
        Ok(Place { registry: registry.to_owned(), host: host.to_owned(), repository: repository.to_owned(), trust })
    }
}

impl Place {
    /// What to say when this place wants other credentials than these, or any.
    pub(super) fn unauthorized(&self, tried: Option<&str>) -> ImageError {
        let place = self.to_string();
        match tried {
            Some(tried) => ImageError::Refused { place, tried: tried.to_owned() },
            None => ImageError::NoCredentials { place, registry: self.registry.clone() },
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)
    }
}

fn read(path: &Path, text: &str) -> Result<Vec<Registry>, ImageError> {
    let file: ConfFile = toml::from_str(text).map_err(|source| ImageError::Conf { path: path.to_owned(), source })?;
    let wrong = |why| ImageError::ConfWrong { path: path.to_owned(), why };
    if file.registries.is_some() {
        return Err(wrong("`[registries]` is the first version of the format: write `[[registry]]`".to_owned()));
    }
    let mut registries = file.registry;
    for registry in &mut registries {
        registry.location = trimmed(&registry.location);
        registry.prefix = trimmed(&registry.prefix);
        if registry.prefix.is_empty() {
            registry.prefix.clone_from(&registry.location);
        }
        let Registry { prefix, mirror, .. } = registry;
        if prefix.is_empty() {
            return Err(wrong("a `[[registry]]` has neither prefix nor location".to_owned()));
        }
        if prefix.strip_prefix("*.").unwrap_or(prefix).contains('*') {
            return Err(wrong(format!(
                "the prefix `{prefix}` has a `*` elsewhere than in front, as in `*.example.com`"
            )));
        }
        for mirror in mirror {
            mirror.location = trimmed(&mirror.location);
            if mirror.location.is_empty() {
                return Err(wrong(format!("a mirror of `{prefix}` has no location")));
            }
            if registry.mirror_by_digest_only && mirror.used_for != UsedFor::All {
                return Err(wrong(format!(
                    "`{prefix}` has mirror-by-digest-only and a mirror with pull-from-mirror: write one of them"
                )));
            }
        }
    }
    Ok(registries)
}

fn trimmed(location: &str) -> String {
    location.trim_end_matches('/').to_owned()
}

/// How many bytes of a reference a prefix matches: whole parts only.
fn matched(prefix: &str, reference: &str) -> Option<usize> {
    let end = match prefix.strip_prefix('*') {
        None => reference.starts_with(prefix).then_some(prefix.len())?,
        // The host ends with what follows the star, and something stands before it.
        Some(suffix) => {
            let host = reference.find('/').unwrap_or(reference.len());
            let domain = suffix.find('/').unwrap_or(suffix.len());
            let before = reference[..host].strip_suffix(&suffix[..domain])?.len();
            let fits = before > 0 && reference[before..].starts_with(suffix);
            fits.then_some(before + suffix.len())?
        }
    };
    // After the name of a host alone, a colon begins its port: that is another registry.
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
