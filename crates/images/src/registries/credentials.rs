//! Credentials for registries from `config.json` and `auth.json` files.
//!
//! This module selects the credentials for a repository. It does not know how they are sent.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::helper;
use super::secret::RegistrySecret;
use crate::ImageError;

/// Name of Docker Hub in references, and the key that Docker uses for it in files and with
/// credential helpers.
const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";

/// Credentials for registries, from several files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegistryCredentials {
    files: Vec<CredentialsFile>,
}

/// Credentials for a repository, with their origin.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct FoundCredentials {
    pub(super) secret: RegistrySecret,
    origin: String,
}

#[derive(Clone, PartialEq, Eq)]
struct CredentialsFile {
    path: PathBuf,
    /// Secrets by `HOST/NAMESPACE/REPOSITORY` or a prefix of it.
    secrets: BTreeMap<String, RegistrySecret>,
    /// Names of credential helpers by host.
    helpers: BTreeMap<String, String>,
    store: Option<String>,
}

/// The file format.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct AuthFile {
    auths: BTreeMap<String, AuthEntry>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AuthEntry {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
}

impl RegistryCredentials {
    /// Parses `config.json` or `auth.json` files, each with its path for errors. The first file
    /// with an entry for an image is used.
    pub fn parse(files: impl IntoIterator<Item = (PathBuf, String)>) -> Result<Self, ImageError> {
        let files = files
            .into_iter()
            .map(|(path, text)| CredentialsFile::parse(path, &text));
        Ok(Self {
            files: files.collect::<Result<_, _>>()?,
        })
    }

    /// Adds credentials that are used for images without an entry in these.
    #[must_use]
    pub fn or(mut self, others: Self) -> Self {
        self.files.extend(others.files);
        self
    }

    /// Finds the credentials for a repository. Within a file, an entry for
    /// `HOST/NAMESPACE/REPOSITORY` takes precedence over one for a prefix of it.
    pub(super) async fn find(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Option<FoundCredentials>, ImageError> {
        for file in &self.files {
            if let Some(found) = file.find(registry, repository).await? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}

impl CredentialsFile {
    fn parse(path: PathBuf, text: &str) -> Result<Self, ImageError> {
        let written: Result<AuthFile, _> = serde_json::from_str(text);
        // The error of the parser would quote the file and could reveal a secret.
        let wrong = |reason: String| ImageError::InvalidCredentials {
            path: path.clone(),
            reason,
        };
        let written = written.map_err(|error| {
            wrong(format!(
                "line {} is not valid JSON or not of the expected format",
                error.line()
            ))
        })?;
        let mut secrets = BTreeMap::new();
        for (key, auth) in written.auths {
            let secret = auth.secret().map_err(|()| {
                wrong(format!(
                    "the entry `{key}` has no `auth` of user and password"
                ))
            })?;
            if let Some(secret) = secret {
                secrets.insert(normalize_key(&key), secret);
            }
        }
        let helpers: BTreeMap<_, _> = written
            .cred_helpers
            .into_iter()
            .map(|(key, name)| (normalize_key(&key), name))
            .collect();
        let store = written.creds_store.filter(|name| !name.is_empty());
        if let Some(name) = helpers
            .values()
            .chain(&store)
            .find(|name| !helper::is_name(name))
        {
            return Err(wrong(format!("`{name}` cannot name a credential helper")));
        }
        Ok(Self {
            path,
            secrets,
            helpers,
            store,
        })
    }

    async fn find(
        &self,
        registry: &str,
        repository: &str,
    ) -> Result<Option<FoundCredentials>, ImageError> {
        let whole = format!("{registry}/{repository}");
        let mut scope = &*whole;
        loop {
            if let Some(name) = self.helpers.get(scope)
                && let Some(found) = self.query_helper(name, scope).await?
            {
                return Ok(Some(found));
            }
            if let Some(secret) = self.secrets.get(scope) {
                let origin = format!("`{}` (entry `{scope}`)", self.path.display());
                return Ok(Some(FoundCredentials {
                    secret: secret.clone(),
                    origin,
                }));
            }
            match scope.rsplit_once('/') {
                Some((shorter, _)) => scope = shorter,
                None => break,
            }
        }
        match &self.store {
            Some(name) => self.query_helper(name, registry).await,
            None => Ok(None),
        }
    }

    /// Queries a credential helper.
    async fn query_helper(
        &self,
        name: &str,
        scope: &str,
    ) -> Result<Option<FoundCredentials>, ImageError> {
        let server = if scope == DOCKER_HUB {
            DOCKER_HUB_KEY
        } else {
            scope
        };
        let secret = helper::query(name, server).await?;
        let origin = format!(
            "the credential helper `{name}` of `{}`",
            self.path.display()
        );
        Ok(secret.map(|secret| FoundCredentials { secret, origin }))
    }
}

impl AuthEntry {
    /// Returns the secret of an entry; `None` for an entry without one, whose secret a helper has.
    fn secret(self) -> Result<Option<RegistrySecret>, ()> {
        if !self.identitytoken.is_empty() {
            return Ok(Some(RegistrySecret::IdentityToken(self.identitytoken)));
        }
        if self.auth.is_empty() {
            let Self {
                username: user,
                password,
                ..
            } = self;
            return Ok((!user.is_empty()).then_some(RegistrySecret::Password { user, password }));
        }
        let text = STANDARD
            .decode(self.auth.trim())
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let (user, password) = text
            .as_deref()
            .and_then(|text| text.split_once(':'))
            .ok_or(())?;
        // Docker for Windows pads passwords with NULs.
        let password = password.trim_end_matches('\0');
        Ok(Some(RegistrySecret::Password {
            user: user.to_owned(),
            password: password.to_owned(),
        }))
    }
}

/// Normalizes the key of an entry to the form of references: Docker writes some keys as URLs.
fn normalize_key(key: &str) -> String {
    let address = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"));
    let scope = match address {
        Some(address) => address.split('/').next().unwrap_or_default(),
        None => key.trim_end_matches('/'),
    };
    match scope.split_once('/').map_or(scope, |(host, _)| host) {
        "index.docker.io" | "registry-1.docker.io" => {
            scope.replacen(scope.split('/').next().unwrap_or_default(), DOCKER_HUB, 1)
        }
        _ => scope.to_owned(),
    }
}

impl fmt::Display for FoundCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.secret {
            RegistrySecret::Password { user, .. } => write!(f, "`{user}` from {}", self.origin),
            RegistrySecret::IdentityToken(_) => {
                write!(f, "the identity token from {}", self.origin)
            }
        }
    }
}

impl fmt::Debug for FoundCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Shows the path and never a secret.
impl fmt::Debug for CredentialsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CredentialsFile").field(&self.path).finish()
    }
}

#[cfg(test)]
mod tests;
