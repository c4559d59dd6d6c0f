//! How images are reached: the settings of files, and the pull secrets of the cluster.
//!
//! Secrets are watched one by one, by name, so that the controller may read those and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use futures_util::StreamExt;
use images::{Credentials, Registries, RegistrySettings};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::Client;
use kube::api::Api;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;

use crate::ControllerError;
use crate::controller::Change;
use crate::watches::{Task, Watched, watch_one};

/// Time until a pull secret, or a list of `CatalogSource` objects, that the API server does not
/// answer for is taken to be absent.
pub const FIRST_ANSWER: Duration = Duration::from_secs(10);

/// The name of a Secret with its namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretName {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// The clients for registries, kept as files and the cluster say.
pub(crate) struct PullConfiguration {
    client: Client,
    changes: UnboundedSender<Change>,
    /// Namespace of the controller and of the secrets that catalogs name.
    namespace: String,
    global: Option<SecretName>,
    settings: RegistrySettings,
    /// The secrets of the controller's `ServiceAccount`; `None` until they are known.
    own: Option<Vec<SecretName>>,
    secrets: BTreeMap<SecretName, WatchedSecret>,
    /// By the secret that catalogs name.
    clients: BTreeMap<Option<String>, (RegistrySettings, Registries)>,
    _service_account: Option<Task>,
}

struct WatchedSecret {
    _task: Task,
    /// Whether it is known what the secret holds, if there is one.
    is_known: bool,
    credentials: Credentials,
}

impl PullConfiguration {
    pub(crate) fn new(
        client: Client,
        changes: UnboundedSender<Change>,
        names: PullNames,
        settings: RegistrySettings,
    ) -> Result<Self, ControllerError> {
        let PullNames {
            namespace,
            service_account,
            global,
        } = names;
        let watched = service_account.map(|name| {
            let api = Api::namespaced(client.clone(), &namespace);
            Task::spawn(
                follow(api, name, changes.clone(), Change::ServiceAccount),
                changes.clone(),
            )
        });
        let registries = Registries::new(settings.clone()).map_err(ControllerError::Registries)?;
        Ok(Self {
            client,
            changes,
            namespace,
            global,
            own: watched.is_none().then(Vec::new),
            secrets: BTreeMap::new(),
            clients: BTreeMap::from([(None, (settings.clone(), registries))]),
            settings,
            _service_account: watched,
        })
    }

    pub(crate) fn set_settings(&mut self, settings: RegistrySettings) {
        self.settings = settings;
    }

    pub(crate) fn set_service_account(&mut self, account: Option<ServiceAccount>) {
        let secrets = account
            .and_then(|account| account.image_pull_secrets)
            .unwrap_or_default();
        let named = |name: String| SecretName {
            namespace: self.namespace.clone(),
            name,
        };
        self.own = Some(
            secrets
                .into_iter()
                .map(|secret| named(secret.name))
                .collect(),
        );
    }

    /// Takes a secret as it is now. Secrets that are not needed any more are ignored.
    pub(crate) fn set_secret(&mut self, name: &SecretName, secret: Option<&Secret>) {
        if let Some(watched) = self.secrets.get_mut(name) {
            watched.is_known = true;
            watched.credentials = secret
                .map(|secret| credentials(name, secret))
                .unwrap_or_default();
        }
    }

    /// Watches the secrets that are needed, and creates the clients anew whose settings changed.
    /// Returns whether all secrets are known.
    pub(crate) fn update<'a>(&mut self, named: impl Iterator<Item = &'a str>) -> bool {
        let named: BTreeSet<_> = named.map(str::to_owned).collect();
        let in_own = |name: &String| SecretName {
            namespace: self.namespace.clone(),
            name: name.clone(),
        };
        let of_catalogs: BTreeMap<_, _> = named
            .iter()
            .map(|name| (name.clone(), in_own(name)))
            .collect();
        let common: Vec<_> = self
            .global
            .iter()
            .chain(self.own.iter().flatten())
            .cloned()
            .collect();
        let needed: BTreeSet<_> = common.iter().chain(of_catalogs.values()).cloned().collect();
        self.secrets.retain(|name, _| needed.contains(name));
        for name in needed {
            if !self.secrets.contains_key(&name) {
                let task = self.watch(name.clone());
                self.secrets.insert(
                    name,
                    WatchedSecret {
                        _task: task,
                        is_known: false,
                        credentials: Credentials::default(),
                    },
                );
            }
        }
        self.clients
            .retain(|name, _| name.as_ref().is_none_or(|name| named.contains(name)));
        for own in [None].into_iter().chain(named.into_iter().map(Some)) {
            let first = own.as_ref().and_then(|own| of_catalogs.get(own));
            self.renew(own.clone(), first.into_iter().chain(&common));
        }
        self.own.is_some() && self.secrets.values().all(|secret| secret.is_known)
    }

    /// The client for catalogs that name this secret.
    pub(crate) fn registries(&self, secret: Option<&str>) -> Registries {
        let own = self.clients.get(&secret.map(str::to_owned));
        // The client without a secret of its own is always there.
        own.unwrap_or_else(|| &self.clients[&None]).1.clone()
    }

    /// Creates a client anew if its settings changed, so that others keep their connections.
    fn renew<'a>(&mut self, key: Option<String>, secrets: impl Iterator<Item = &'a SecretName>) {
        let found = secrets.filter_map(|name| Some(self.secrets.get(name)?.credentials.clone()));
        let credentials = found
            .fold(Credentials::default(), Credentials::or)
            .or(self.settings.credentials.clone());
        let settings = RegistrySettings {
            credentials,
            ..self.settings.clone()
        };
        if self
            .clients
            .get(&key)
            .is_some_and(|(former, _)| *former == settings)
        {
            return;
        }
        match Registries::new(settings.clone()) {
            Ok(registries) => drop(self.clients.insert(key, (settings, registries))),
            Err(error) => {
                tracing::error!(%error, "cannot use the settings for registries, keeping the last ones");
            }
        }
    }

    fn watch(&self, name: SecretName) -> Task {
        let api = Api::namespaced(self.client.clone(), &name.namespace);
        let change = {
            let name = name.clone();
            move |secret| Change::Secret(name.clone(), secret)
        };
        Task::spawn(
            follow(api, name.name, self.changes.clone(), change),
            self.changes.clone(),
        )
    }
}

/// Sends what an object is, each time that it changes. One that is not answered for is taken to be
/// absent after a while, so that it does not hold up every catalog.
async fn follow<K: Watched>(
    api: Api<K>,
    name: String,
    changes: UnboundedSender<Change>,
    change: impl Fn(Option<K>) -> Change,
) {
    let mut objects = std::pin::pin!(watch_one(api, &name));
    let first = timeout(FIRST_ANSWER, objects.next()).await;
    let mut next = first.unwrap_or(Some(None));
    while let Some(object) = next {
        // Nobody receives changes any more when the process ends.
        let _ = changes.send(change(object));
        next = objects.next().await;
    }
}

/// Where pull secrets are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PullNames {
    pub(crate) namespace: String,
    pub(crate) service_account: Option<String>,
    pub(crate) global: Option<SecretName>,
}

/// The credentials in a pull secret. Other settings, such as credential helpers, which would start
/// programs, are ignored.
fn credentials(name: &SecretName, secret: &Secret) -> Credentials {
    let parsed = auths(secret).and_then(|auths| {
        let text = json!({ "auths": auths }).to_string();
        Credentials::parse([(PathBuf::from(format!("Secret {name}")), text)])
            .map_err(|error| error.to_string())
    });
    parsed
        .inspect_err(|reason| tracing::error!(secret = %name, reason, "cannot use a pull secret"))
        .unwrap_or_default()
}

fn auths(secret: &Secret) -> Result<Value, String> {
    let data = |key: &str| secret.data.as_ref()?.get(key);
    let parse = |bytes: &[u8]| {
        serde_json::from_slice::<Value>(bytes).map_err(|_| "it is not valid JSON".to_owned())
    };
    if let Some(config) = data(".dockerconfigjson") {
        return Ok(parse(&config.0)?
            .get_mut("auths")
            .map_or_else(|| json!({}), Value::take));
    }
    let config = data(".dockercfg").ok_or("it has neither `.dockerconfigjson` nor `.dockercfg`")?;
    parse(&config.0)
}

impl FromStr for SecretName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((namespace, name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
            {
                Ok(Self {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                })
            }
            _ => Err(
                "write the namespace and the name, such as openshift-config/pull-secret".to_owned(),
            ),
        }
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::ByteString;

    use super::*;

    fn secret(key: &str, text: &str) -> Secret {
        let data = BTreeMap::from([(key.to_owned(), ByteString(text.as_bytes().to_vec()))]);
        Secret {
            data: Some(data),
            ..Secret::default()
        }
    }

    #[test]
    fn both_forms_of_pull_secrets_are_read_without_their_helpers() {
        let auths_of = |key, text| auths(&secret(key, text)).map(|value| value.to_string());
        let entry = r#"{"a":{"auth":"dTpw"}}"#;
        let config = format!(r#"{{"auths":{entry},"credHelpers":{{"b":"x"}},"credsStore":"y"}}"#);
        assert_eq!(auths_of(".dockerconfigjson", &config), Ok(entry.to_owned()));
        assert_eq!(auths_of(".dockercfg", entry), Ok(entry.to_owned()));
        assert_eq!(auths_of(".dockerconfigjson", "{}"), Ok("{}".to_owned()));
        assert_eq!(
            auths_of(".dockercfg", "auth: x"),
            Err("it is not valid JSON".to_owned())
        );
        let other = "it has neither `.dockerconfigjson` nor `.dockercfg`";
        assert_eq!(auths_of("password", "x"), Err(other.to_owned()));
    }

    #[test]
    fn a_secret_is_named_with_its_namespace() {
        let name: SecretName = "a/b".parse().unwrap();
        assert_eq!(
            (name.to_string().as_str(), name.name.as_str()),
            ("a/b", "b")
        );
        for wrong in ["", "a", "/b", "a/", "a/b/c"] {
            assert!(wrong.parse::<SecretName>().is_err(), "{wrong}");
        }
    }
}
