//! Settings for registries: reads the files that flags name, or else the configuration of Podman,
//! Skopeo and Docker.
//!
//! No file is opened for a command that needs no image from a registry.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use images::{ImageSource, Registries, RegistriesConf, RegistryCredentials, RegistrySettings};
use loading::{HttpClient, HttpSettings, Source};
use remote_sources::AuthEntry;

use super::signature_policy::{UnreadablePolicy, read_verification};
use crate::args::{ImageArgs, RegistryArgs};

/// `registries.conf` of the system.
const SYSTEM_CONF: &str = "/etc/containers/registries.conf";

/// Returns the value of an environment variable.
pub(super) type Env<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// A file with its text.
pub(super) type TextFile = (PathBuf, String);

/// The client for registries, created anew when its settings have changed.
#[derive(Debug, Default)]
pub struct RegistryAccess(Option<(RegistrySettings, Registries)>);

impl RegistryAccess {
    /// Reads the flags and the environment. A client whose settings are unchanged keeps its
    /// connections.
    pub fn update(
        &mut self,
        args: &RegistryArgs,
        needs_registry: bool,
    ) -> anyhow::Result<Registries> {
        let unreadable = match &self.0 {
            None => UnreadablePolicy::RefusesImages,
            Some(_) => UnreadablePolicy::IsAnError,
        };
        let env: Env<'_> = &|name| std::env::var_os(name);
        let settings = if needs_registry {
            settings(args, unreadable, env)?
        } else {
            // Images in layouts are judged, too.
            RegistrySettings {
                signatures: read_verification(&args.signatures, unreadable, env)?,
                ..RegistrySettings::default()
            }
        };
        if let Some((_, registries)) = self.0.as_ref().filter(|(former, _)| *former == settings) {
            return Ok(registries.clone());
        }
        let registries = Registries::new(settings.clone())?;
        self.0 = Some((settings, registries.clone()));
        Ok(registries)
    }
}

/// The clients for all sources.
#[derive(Clone, Debug)]
pub struct SourceClients {
    /// Client for registries.
    pub registries: Registries,
    /// Client for HTTP servers.
    pub http: HttpClient,
}

/// The client for HTTP servers, created anew when its settings have changed.
#[derive(Debug, Default)]
pub struct HttpAccess(Option<HttpClient>);

impl HttpAccess {
    /// Reads the flags and their files. A client whose settings are unchanged keeps its connections.
    pub fn update(&mut self, args: &ImageArgs, needs_http: bool) -> anyhow::Result<HttpClient> {
        let settings = if needs_http {
            http_settings(args)?
        } else {
            HttpSettings::default()
        };
        if let Some(client) = self
            .0
            .as_ref()
            .filter(|client| *client.settings() == settings)
        {
            return Ok(client.clone());
        }
        let client = HttpClient::new(settings)?;
        self.0 = Some(client.clone());
        Ok(client)
    }
}

/// Returns whether one of these sources is on an HTTP server.
pub fn needs_http<'a>(sources: impl IntoIterator<Item = &'a Source>) -> bool {
    let mut sources = sources.into_iter();
    sources.any(|source| matches!(source, Source::Remote(_)))
}

fn http_settings(args: &ImageArgs) -> anyhow::Result<HttpSettings> {
    let auth = match &args.http.http_auth {
        Some(path) => read_http_auth(path)?,
        None => Vec::new(),
    };
    Ok(HttpSettings {
        auth,
        authorities: authorities(&args.registries)?,
        insecure: args.registries.insecure_registry.clone(),
        allow_private: args.http.allow_private.clone(),
        accept_shrink: args.http.accept_shrink,
        ..HttpSettings::default()
    })
}

/// Reads the entries of `--http-auth`. Paths in them start at the folder of the file.
pub(super) fn read_http_auth(path: &Path) -> anyhow::Result<Vec<AuthEntry>> {
    let (_, text) = read(path)?;
    // Its own text would quote a part of the file.
    let entries: Vec<AuthEntry> = serde_saphyr::from_str(&text).map_err(|error| {
        anyhow!(
            "cannot use `{}`: {}",
            path.display(),
            error.without_snippet()
        )
    })?;
    let folder = path.parent().unwrap_or(path);
    Ok(entries
        .into_iter()
        .map(|entry| entry.relative_to(folder))
        .collect())
}

fn authorities(args: &RegistryArgs) -> anyhow::Result<Vec<String>> {
    let authorities = args.registry_ca.iter();
    authorities.map(|path| Ok(read(path)?.1)).collect()
}

/// Returns whether one of these sources is an image in a registry.
pub fn needs_registry<'a>(sources: impl IntoIterator<Item = &'a Source>) -> bool {
    sources
        .into_iter()
        .any(|source| matches!(source, Source::Image(ImageSource::Registry(_))))
}

/// Reads the files that flags name, with the authorities in a folder (`*.crt` and `*.pem`), and
/// returns the settings.
pub fn settings_with_authorities(
    args: &RegistryArgs,
    folder: Option<&Path>,
    unreadable: UnreadablePolicy,
) -> anyhow::Result<RegistrySettings> {
    let mut settings = settings(args, unreadable, &|name| std::env::var_os(name))?;
    if let Some(folder) = folder {
        for path in list_files(folder, &["crt", "pem"])? {
            settings.authorities.push(read(&path)?.1);
        }
    }
    Ok(settings)
}

fn settings(
    args: &RegistryArgs,
    unreadable: UnreadablePolicy,
    env: Env<'_>,
) -> anyhow::Result<RegistrySettings> {
    Ok(RegistrySettings {
        credentials: RegistryCredentials::parse(read_credentials(args.authfile.as_deref(), env)?)?,
        authorities: authorities(args)?,
        insecure: args.insecure_registry.clone(),
        conf: RegistriesConf::parse(read_conf(args.registries_conf.as_deref(), env)?)?,
        signatures: read_verification(&args.signatures, unreadable, env)?,
        ..RegistrySettings::default()
    })
}

/// Reads the files with credentials, in the order of their precedence.
fn read_credentials(given: Option<&Path>, env: Env<'_>) -> anyhow::Result<Vec<TextFile>> {
    let named = given
        .map(Path::to_owned)
        .or_else(|| path_variable(env, "REGISTRY_AUTH_FILE"));
    // A file that is named must exist; those in usual places may.
    if let Some(path) = named {
        return Ok(vec![read(&path)?]);
    }
    let runtime =
        path_variable(env, "XDG_RUNTIME_DIR").map(|folder| folder.join("containers/auth.json"));
    let config = config_folder(env).map(|folder| folder.join("containers/auth.json"));
    let docker = path_variable(env, "DOCKER_CONFIG")
        .or_else(|| Some(path_variable(env, "HOME")?.join(".docker")));
    let docker = docker.map(|folder| folder.join("config.json"));
    let found = [runtime, config, docker]
        .into_iter()
        .flatten()
        .map(|path| read_if_exists(&path));
    Ok(found
        .collect::<anyhow::Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}

/// Reads the first `registries.conf` that exists, and its drop-in files in the order of their
/// names.
fn read_conf(given: Option<&Path>, env: Env<'_>) -> anyhow::Result<Vec<TextFile>> {
    let named = given
        .map(Path::to_owned)
        .or_else(|| path_variable(env, "CONTAINERS_REGISTRIES_CONF"));
    if let Some(path) = named {
        return Ok(vec![read(&path)?]);
    }
    let users = config_folder(env).map(|folder| folder.join("containers/registries.conf"));
    for path in users.into_iter().chain([PathBuf::from(SYSTEM_CONF)]) {
        let drop_ins = path.with_extension("conf.d");
        let mut texts: Vec<_> = read_if_exists(&path)?.into_iter().collect();
        for path in list_files(&drop_ins, &["conf"])? {
            texts.push(read(&path)?);
        }
        if !texts.is_empty() {
            return Ok(texts);
        }
    }
    Ok(Vec::new())
}

/// Lists the files of a folder whose names end with one of these extensions, in the order of their
/// names.
pub(super) fn list_files(folder: &Path, extensions: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        entries => entries.and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect()),
    };
    let mut paths: Vec<PathBuf> =
        entries.with_context(|| format!("cannot read the folder `{}`", folder.display()))?;
    paths.retain(|path| {
        extensions
            .iter()
            .any(|extension| path.extension().is_some_and(|end| end == *extension))
    });
    paths.sort();
    Ok(paths)
}

/// Returns the folder for the user's configuration files.
pub(super) fn config_folder(env: Env<'_>) -> Option<PathBuf> {
    path_variable(env, "XDG_CONFIG_HOME")
        .or_else(|| Some(path_variable(env, "HOME")?.join(".config")))
}

/// Returns the path in an environment variable; `None` if it is unset or empty.
pub(super) fn path_variable(env: Env<'_>, name: &str) -> Option<PathBuf> {
    env(name)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

/// Reads a file; `None` if it does not exist.
pub(super) fn read_if_exists(path: &Path) -> anyhow::Result<Option<TextFile>> {
    match fs::read_to_string(path) {
        Err(error) if is_absent(&error) => Ok(None),
        text => Ok(Some((
            path.to_owned(),
            text.with_context(|| cannot_read(path))?,
        ))),
    }
}

pub(super) fn read(path: &Path) -> anyhow::Result<TextFile> {
    let text = fs::read_to_string(path).with_context(|| cannot_read(path))?;
    Ok((path.to_owned(), text))
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read `{}`", path.display())
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// A folder with these files, each of which says its own name.
    fn files(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, name).unwrap();
        }
        folder
    }

    /// The environment of a user whose home this is, with more variables that name files or folders
    /// in it.
    fn env(home: &Path, more: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> + use<> {
        let more = more
            .iter()
            .map(|(name, value)| ((*name).to_owned(), home.join(value).into_os_string()));
        let all: HashMap<_, _> = more
            .chain([("HOME".to_owned(), home.as_os_str().to_owned())])
            .collect();
        move |name| all.get(name).cloned()
    }

    fn names_of(texts: Vec<TextFile>) -> Vec<String> {
        texts.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn credentials_are_those_that_podman_and_docker_keep_for_the_user() {
        let all = [
            "run/containers/auth.json",
            ".config/containers/auth.json",
            ".docker/config.json",
            "auth.json",
        ];
        let home = files(&all);
        let found = |more: &[(&str, &str)]| {
            names_of(read_credentials(None, &env(home.path(), more)).unwrap())
        };
        assert_eq!(found(&[]), all[1..3]);
        assert_eq!(found(&[("XDG_RUNTIME_DIR", "run")]), all[..3]);
        assert_eq!(
            found(&[("XDG_CONFIG_HOME", "none"), ("DOCKER_CONFIG", "none")]),
            Vec::<String>::new()
        );
        assert_eq!(
            found(&[
                ("XDG_RUNTIME_DIR", "run"),
                ("REGISTRY_AUTH_FILE", "auth.json")
            ]),
            all[3..]
        );
        let given = read_credentials(
            Some(&home.path().join(all[0])),
            &env(home.path(), &[("REGISTRY_AUTH_FILE", "auth.json")]),
        );
        assert_eq!(names_of(given.unwrap()), all[..1]);
    }

    #[test]
    fn a_file_that_is_named_must_be_there() {
        let home = files(&[]);
        let missing = home.path().join("missing");
        let env = env(home.path(), &[]);
        let expected = format!("cannot read `{}`", missing.display());
        assert_eq!(
            read_credentials(Some(&missing), &env)
                .unwrap_err()
                .to_string(),
            expected
        );
        assert_eq!(
            read_conf(Some(&missing), &env).unwrap_err().to_string(),
            expected
        );
    }

    #[test]
    fn the_registries_of_the_user_come_with_their_drop_ins_by_name() {
        let all = [
            ".config/containers/registries.conf",
            ".config/containers/registries.conf.d/10-a.conf",
            ".config/containers/registries.conf.d/20-b.conf",
            ".config/containers/registries.conf.d/30-c.conf.bak",
            "other.conf",
        ];
        let home = files(&all);
        assert_eq!(
            names_of(read_conf(None, &env(home.path(), &[])).unwrap()),
            all[..3]
        );
        let named = read_conf(
            None,
            &env(home.path(), &[("CONTAINERS_REGISTRIES_CONF", "other.conf")]),
        );
        assert_eq!(names_of(named.unwrap()), all[4..]);
    }
}
