//! Credentials of registries, as `config.json` and `auth.json` hold them.
//!
//! It knows which of them fits which repository, and nothing of how a registry is told.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::helper;
use crate::ImageError;

/// What Docker Hub is called in references, and how Docker writes it into files and asks helpers for it.
const DOCKER_HUB: &str = "docker.io";
const DOCKER_HUB_KEY: &str = "https://index.docker.io/v1/";

/// Who we are to which registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Credentials {
    files: Vec<CredentialsFile>,
}

/// Something to prove who we are, and where it is from.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) secret: Secret,
    origin: String,
}

#[derive(Clone, PartialEq, Eq)]
pub(super) enum Secret {
    Password {
        user: String,
        password: String,
    },
    /// For which a token service gives tokens that a registry understands.
    Token(String),
}

#[derive(Clone, PartialEq, Eq)]
struct CredentialsFile {
    path: PathBuf,
    /// By `host/namespace/repository` or the beginning of it.
    secrets: BTreeMap<String, Secret>,
    /// The name of a program, by host.
    helpers: BTreeMap<String, String>,
    store: Option<String>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Written {
    auths: BTreeMap<String, WrittenAuth>,
    cred_helpers: BTreeMap<String, String>,
    creds_store: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenAuth {
    auth: String,
    username: String,
    password: String,
    identitytoken: String,
}

impl Credentials {
    /// Reads the texts of `config.json` or `auth.json` files, each with its path, which errors name. The first file
    /// with an entry for an image counts.
    pub fn parse(files: impl IntoIterator<Item = (PathBuf, String)>) -> Result<Self, ImageError> {
        let files = files.into_iter().map(|(path, text)| CredentialsFile::parse(path, &text));
        Ok(Self { files: files.collect::<Result<_, _>>()? })
    }

    /// What fits a repository best: what is said of `host/namespace/repository` before what is said of the host.
    pub(super) async fn find(&self, registry: &str, repository: &str) -> Result<Option<Found>, ImageError> {
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
        let written: Result<Written, _> = serde_json::from_str(text);
        // The cause would quote the file, and with it a secret.
        let wrong = |what: String| ImageError::Credentials { path: path.clone(), what };
        let written =
            written.map_err(|error| wrong(format!("line {} is not as JSON or the format wants it", error.line())))?;
        let mut secrets = BTreeMap::new();
        for (key, auth) in written.auths {
            let secret =
                auth.secret().map_err(|()| wrong(format!("the entry `{key}` has no `auth` of user and password")))?;
            if let Some(secret) = secret {
                secrets.insert(normal_key(&key), secret);
            }
        }
        let helpers: BTreeMap<_, _> =
            written.cred_helpers.into_iter().map(|(key, name)| (normal_key(&key), name)).collect();
        let store = written.creds_store.filter(|name| !name.is_empty());
        if let Some(name) = helpers.values().chain(&store).find(|name| !helper::is_name(name)) {
            return Err(wrong(format!("`{name}` cannot name a credential helper")));
        }
        Ok(Self { path, secrets, helpers, store })
    }

    async fn find(&self, registry: &str, repository: &str) -> Result<Option<Found>, ImageError> {
        let whole = format!("{registry}/{repository}");
        let mut scope = &*whole;
        loop {
            if let Some(name) = self.helpers.get(scope)
                && let Some(found) = self.ask(name, scope).await?
            {
                return Ok(Some(found));
            }
            if let Some(secret) = self.secrets.get(scope) {
                let origin = format!("`{}` (entry `{scope}`)", self.path.display());
                return Ok(Some(Found { secret: secret.clone(), origin }));
            }
            match scope.rsplit_once('/') {
                Some((shorter, _)) => scope = shorter,
                None => break,
            }
        }
        match &self.store {
            Some(name) => self.ask(name, registry).await,
            None => Ok(None),
        }
    }

    async fn ask(&self, name: &str, scope: &str) -> Result<Option<Found>, ImageError> {
        let server = if scope == DOCKER_HUB { DOCKER_HUB_KEY } else { scope };
        let secret = helper::ask(name, server).await?;
        let origin = format!("the credential helper `{name}` of `{}`", self.path.display());
        Ok(secret.map(|secret| Found { secret, origin }))
    }
}

impl WrittenAuth {
    /// An entry without any is one that a helper knows.
    fn secret(self) -> Result<Option<Secret>, ()> {
        if !self.identitytoken.is_empty() {
            return Ok(Some(Secret::Token(self.identitytoken)));
        }
        if self.auth.is_empty() {
            let Self { username: user, password, .. } = self;
            return Ok((!user.is_empty()).then_some(Secret::Password { user, password }));
        }
        let text = STANDARD.decode(self.auth.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let (user, password) = text.as_deref().and_then(|text| text.split_once(':')).ok_or(())?;
        // Docker for Windows pads passwords with NULs.
        let password = password.trim_end_matches('\0');
        Ok(Some(Secret::Password { user: user.to_owned(), password: password.to_owned() }))
    }
}

/// The key of an entry as references have it: Docker writes some as the address of an interface.
fn normal_key(key: &str) -> String {
    let address = key.strip_prefix("https://").or_else(|| key.strip_prefix("http://"));
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

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.secret {
            Secret::Password { user, .. } => write!(f, "`{user}` from {}", self.origin),
            Secret::Token(_) => write!(f, "the identity token from {}", self.origin),
        }
    }
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Shows the place and never the secrets.
impl fmt::Debug for CredentialsFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CredentialsFile").field(&self.path).finish()
    }
}

#[cfg(test)]
mod tests;
