//! Clients for registries, configured by files and by the pull secrets of the cluster.
//!
//! Secrets are watched one by one, by name: the controller then holds no others in memory, and a
//! Role can list those that it may read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use futures_util::StreamExt;
use images::{
    ImagePolicies, Registries, RegistryCredentials, RegistrySettings, SignaturePolicy,
    SignatureVerification,
};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::Client;
use kube::api::Api;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::ControllerError;
use crate::changes::ClusterChange;
use crate::secret_name::SecretName;
use crate::watches::{WatchTask, Watched, watch_one};

/// Timeout of the first response about a pull secret, or of the initial list of `CatalogSource`
/// objects. They count as absent afterwards.
pub const FIRST_RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The clients for registries, one for each pull secret that catalogs name.
pub(crate) struct PullConfiguration {
    client: Client,
    changes: UnboundedSender<ClusterChange>,
    /// Namespace of the controller, and of the secrets that catalogs name.
    namespace: String,
    global: Option<SecretName>,
    settings: RegistrySettings,
    /// Requirements of objects, or why they are unknown; `None` if they are not used.
    image_policies: Option<Result<ImagePolicies, String>>,
    /// Pull secrets of the controller's `ServiceAccount`; `None` until they are known.
    own: Option<Vec<SecretName>>,
    secrets: BTreeMap<SecretName, WatchedSecret>,
    /// Clients by the pull secret that catalogs name; `None` is the one without.
    clients: BTreeMap<Option<String>, (RegistrySettings, Registries)>,
    /// The client for images that no catalog names a pull secret for.
    common: watch::Sender<Registries>,
    _service_account: Option<WatchTask>,
}

struct WatchedSecret {
    _task: WatchTask,
    /// The content of the secret is known, or that it does not exist.
    is_known: bool,
    credentials: RegistryCredentials,
}

impl PullConfiguration {
    pub(crate) fn new(
        client: Client,
        changes: UnboundedSender<ClusterChange>,
        names: PullSecretNames,
        settings: RegistrySettings,
    ) -> Result<Self, ControllerError> {
        let PullSecretNames {
            namespace,
            service_account,
            global,
        } = names;
        let watched = service_account.map(|name| {
            let api = Api::namespaced(client.clone(), &namespace);
            WatchTask::spawn(
                send_changes(api, name, changes.clone(), ClusterChange::ServiceAccount),
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
            common: watch::Sender::new(registries.clone()),
            image_policies: None,
            clients: BTreeMap::from([(None, (settings.clone(), registries))]),
            settings,
            _service_account: watched,
        })
    }

    pub(crate) fn set_settings(&mut self, settings: RegistrySettings) {
        self.settings = settings;
    }

    /// Adds requirements of objects to the signature policy. Where they are unknown, no image is
    /// accepted.
    pub(crate) fn set_image_policies(&mut self, policies: Result<ImagePolicies, String>) {
        self.image_policies = Some(policies);
    }

    /// Returns the signature policy of the files with the requirements of objects.
    fn signatures(&self) -> SignatureVerification {
        let files = &self.settings.signatures;
        match &self.image_policies {
            None => files.clone(),
            Some(Ok(policies)) => files.with_image_policies(policies),
            Some(Err(reason)) => SignatureVerification {
                policy: SignaturePolicy::Unreadable(reason.clone()),
                ..files.clone()
            },
        }
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

    /// Updates a secret. Secrets that are not watched any more are ignored.
    pub(crate) fn set_secret(&mut self, name: &SecretName, secret: Option<&Secret>) {
        if let Some(watched) = self.secrets.get_mut(name) {
            watched.is_known = true;
            watched.credentials = secret
                .map(|secret| credentials(name, secret))
                .unwrap_or_default();
        }
    }

    /// Watches the secrets that are needed, and replaces the clients whose settings changed. Returns
    /// whether all secrets are known.
    pub(crate) fn update<'a>(&mut self, named: impl Iterator<Item = &'a str>) -> bool {
        let named: BTreeSet<_> = named.map(str::to_owned).collect();
        let in_own = |name: &String| SecretName {
            namespace: self.namespace.clone(),
            name: name.clone(),
        };
        let catalog_secrets: BTreeMap<_, _> = named
            .iter()
            .map(|name| (name.clone(), in_own(name)))
            .collect();
        let common: Vec<_> = self
            .global
            .iter()
            .chain(self.own.iter().flatten())
            .cloned()
            .collect();
        let needed: BTreeSet<_> = common
            .iter()
            .chain(catalog_secrets.values())
            .cloned()
            .collect();
        self.secrets.retain(|name, _| needed.contains(name));
        for name in needed {
            if !self.secrets.contains_key(&name) {
                let task = self.watch(name.clone());
                self.secrets.insert(
                    name,
                    WatchedSecret {
                        _task: task,
                        is_known: false,
                        credentials: RegistryCredentials::default(),
                    },
                );
            }
        }
        self.clients
            .retain(|name, _| name.as_ref().is_none_or(|name| named.contains(name)));
        let settings = RegistrySettings {
            signatures: self.signatures(),
            ..self.settings.clone()
        };
        for own in [None].into_iter().chain(named.into_iter().map(Some)) {
            let first = own.as_ref().and_then(|own| catalog_secrets.get(own));
            self.renew(own.clone(), &settings, first.into_iter().chain(&common));
        }
        let common = self.registries(None);
        self.common.send_if_modified(|former| {
            let is_new = *former != common;
            *former = common;
            is_new
        });
        self.own.is_some() && self.secrets.values().all(|secret| secret.is_known)
    }

    /// Returns a channel with the client for images that no catalog names a pull secret for.
    pub(crate) fn common_registries(&self) -> watch::Receiver<Registries> {
        self.common.subscribe()
    }

    /// Returns the client for catalogs that name this secret.
    pub(crate) fn registries(&self, secret: Option<&str>) -> Registries {
        let own = self.clients.get(&secret.map(str::to_owned));
        // The client for `None` is created by `new` and never removed.
        own.unwrap_or_else(|| &self.clients[&None]).1.clone()
    }

    /// Replaces a client if its settings changed. The others keep their connections.
    fn renew<'a>(
        &mut self,
        key: Option<String>,
        settings: &RegistrySettings,
        secrets: impl Iterator<Item = &'a SecretName>,
    ) {
        let found = secrets.filter_map(|name| Some(self.secrets.get(name)?.credentials.clone()));
        let credentials = found
            .fold(RegistryCredentials::default(), RegistryCredentials::or)
            .or(settings.credentials.clone());
        let settings = RegistrySettings {
            credentials,
            ..settings.clone()
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

    fn watch(&self, name: SecretName) -> WatchTask {
        let api = Api::namespaced(self.client.clone(), &name.namespace);
        let change = {
            let name = name.clone();
            move |secret| ClusterChange::Secret(name.clone(), secret)
        };
        WatchTask::spawn(
            send_changes(api, name.name, self.changes.clone(), change),
            self.changes.clone(),
        )
    }
}

/// Watches an object and sends each of its states.
async fn send_changes<K: Watched>(
    api: Api<K>,
    name: String,
    changes: UnboundedSender<ClusterChange>,
    change: impl Fn(Option<K>) -> ClusterChange,
) {
    let mut objects = std::pin::pin!(watch_one(api, &name));
    // All catalogs wait until the secrets are known. One that the API server does not respond about
    // must not delay them for ever.
    let first = timeout(FIRST_RESPONSE_TIMEOUT, objects.next()).await;
    let mut next = first.unwrap_or(Some(None));
    while let Some(object) = next {
        // The receiver is gone only when the process ends.
        let _ = changes.send(change(object));
        next = objects.next().await;
    }
}

/// Names of the objects from which pull secrets are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PullSecretNames {
    pub(crate) namespace: String,
    pub(crate) service_account: Option<String>,
    pub(crate) global: Option<SecretName>,
}

/// Returns the credentials in a pull secret; none if it cannot be parsed, which is logged.
fn credentials(name: &SecretName, secret: &Secret) -> RegistryCredentials {
    // Only `auths` is used: a credential helper in a secret would start a program in this pod.
    let parsed = auths(secret).and_then(|auths| {
        let text = json!({ "auths": auths }).to_string();
        RegistryCredentials::parse([(PathBuf::from(format!("Secret {name}")), text)])
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
}
