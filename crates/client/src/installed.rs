//! Operators that are installed in a cluster and the version of its platform, as the API server knows
//! it. Each kind is listed once for all namespaces, in a bounded number of pages.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::cluster::{Cluster, ClusterOptions};
use crate::{ClientError, Result};

/// Number of objects that one response of the API server has at most.
pub const MAX_PAGE_OBJECTS: usize = 500;

/// Maximum number of requests for the objects of one kind.
pub const MAX_OBJECT_PAGES: usize = 3;

/// Package that an object of a cluster installs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledObject {
    /// `ClusterExtension` (OLM v1) or `Subscription` (OLM v0).
    pub kind: String,
    /// Name of the object.
    pub name: String,
    /// Namespace that the package is installed in.
    pub namespace: String,
    /// Name of the package.
    pub package: String,
    /// Name of the installed bundle.
    pub bundle: String,
    /// Its version; empty for a `Subscription` whose `ClusterServiceVersion` is gone.
    pub version: String,
    /// The channels that the object names; every channel when empty.
    pub channels: Vec<String>,
}

/// Objects that tell what is installed.
#[derive(Clone, Debug, Default)]
pub struct ClusterObjects {
    /// `ClusterExtensions`, `Subscriptions` and `ClusterServiceVersions`, each with its `kind`.
    /// Copied `ClusterServiceVersions` are left out.
    pub objects: Vec<Value>,
    /// Kinds that the user may not list.
    pub forbidden: Vec<ForbiddenKind>,
}

/// A kind that the user may not list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForbiddenKind {
    /// The kind, such as `Subscription`.
    pub kind: &'static str,
    /// The reason in English.
    pub message: String,
    /// URL of the API server.
    endpoint: String,
}

/// Version of the platform of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClusterPlatform {
    /// The last version of `OpenShift` to which an upgrade was completed; `None` if there is none
    /// yet.
    Openshift(Option<String>),
    /// Version of Kubernetes, for a cluster that is not `OpenShift`.
    Kubernetes(String),
}

/// A cluster whose objects are read.
pub struct ClusterReader {
    cluster: Cluster,
}

/// A kind of objects.
#[derive(Clone, Copy)]
struct ClusterObjectKind {
    name: &'static str,
    path: &'static str,
    /// Selector of labels; empty for all objects.
    selector: &'static str,
}

const CLUSTER_EXTENSION: ClusterObjectKind = ClusterObjectKind {
    name: "ClusterExtension",
    path: "/apis/olm.operatorframework.io/v1/clusterextensions",
    selector: "",
};

const SUBSCRIPTION: ClusterObjectKind = ClusterObjectKind {
    name: "Subscription",
    path: "/apis/operators.coreos.com/v1alpha1/subscriptions",
    selector: "",
};

/// OLM labels the copies that it makes in the namespaces that an operator watches.
const CLUSTER_SERVICE_VERSION: ClusterObjectKind = ClusterObjectKind {
    name: "ClusterServiceVersion",
    path: "/apis/operators.coreos.com/v1alpha1/clusterserviceversions",
    selector: "!olm.copiedFrom",
};

/// Path of the object with the history of versions of `OpenShift`.
const CLUSTER_VERSION: &str = "/apis/config.openshift.io/v1/clusterversions/version";

/// Path of the version of Kubernetes.
const KUBERNETES_VERSION: &str = "/version";

impl ClusterReader {
    /// Reads the kubeconfig file; sends no request.
    pub async fn new(options: &ClusterOptions) -> Result<Self> {
        let cluster = Cluster::new(options).await?;
        Ok(Self { cluster })
    }

    /// Reads the objects that tell what is installed, of all namespaces. A kind that the cluster
    /// does not have is skipped. `ClusterServiceVersions` are read if a `Subscription` has one.
    pub async fn installed_objects(&self) -> Result<ClusterObjects> {
        let mut found = ClusterObjects::default();
        self.list(CLUSTER_EXTENSION, &mut found).await?;
        let extensions = found.objects.len();
        self.list(SUBSCRIPTION, &mut found).await?;
        let mut subscriptions = found.objects[extensions..].iter();
        if subscriptions.any(|object| !text(object, "/status/installedCSV").is_empty()) {
            self.list(CLUSTER_SERVICE_VERSION, &mut found).await?;
        }
        Ok(found)
    }

    /// Reads the version of `OpenShift`, or else of Kubernetes.
    pub async fn platform(&self) -> Result<ClusterPlatform> {
        if let Some(object) = self.cluster.get(CLUSTER_VERSION).await? {
            let history = object.pointer("/status/history").and_then(Value::as_array);
            let mut updates = history.into_iter().flatten();
            let completed = updates.find(|update| update["state"] == "Completed");
            let version = completed.map(|update| text(update, "/version"));
            return Ok(ClusterPlatform::Openshift(version));
        }
        let version = self.cluster.get(KUBERNETES_VERSION).await?;
        let version = version.map(|version| text(&version, "/gitVersion"));
        Ok(ClusterPlatform::Kubernetes(version.unwrap_or_default()))
    }

    /// Adds the objects of a kind.
    async fn list(&self, kind: ClusterObjectKind, found: &mut ClusterObjects) -> Result<()> {
        let mut page = String::new();
        for _ in 0..MAX_OBJECT_PAGES {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("limit", &MAX_PAGE_OBJECTS.to_string());
            if !kind.selector.is_empty() {
                query.append_pair("labelSelector", kind.selector);
            }
            if !page.is_empty() {
                query.append_pair("continue", &page);
            }
            let list = self
                .cluster
                .get(&format!("{}?{}", kind.path, query.finish()))
                .await;
            let list = match list {
                Ok(list) => list.unwrap_or_default(),
                Err(ClientError::NotAllowed {
                    endpoint,
                    status: 403,
                    message,
                }) => {
                    found.forbidden.push(ForbiddenKind {
                        kind: kind.name,
                        message,
                        endpoint,
                    });
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            page = text(&list, "/metadata/continue");
            found.add(kind.name, list);
            if page.is_empty() {
                return Ok(());
            }
        }
        Err(ClientError::TooManyObjects {
            kind: kind.name,
            limit: MAX_OBJECT_PAGES * MAX_PAGE_OBJECTS,
        })
    }
}

impl ClusterObjects {
    /// Adds the items of a list. Those of some kinds do not name their kind.
    fn add(&mut self, kind: &str, list: Value) {
        let Value::Object(mut list) = list else {
            return;
        };
        let Some(Value::Array(items)) = list.remove("items") else {
            return;
        };
        for mut item in items {
            if let Some(object) = item.as_object_mut() {
                object.insert("kind".to_owned(), json!(kind));
                self.objects.push(item);
            }
        }
    }

    fn of_kind(&self, kind: ClusterObjectKind) -> impl Iterator<Item = &Value> {
        self.objects
            .iter()
            .filter(move |object| object["kind"] == kind.name)
    }
}

/// Returns what is installed in a cluster, by `ClusterExtensions` and `Subscriptions` of all
/// namespaces; empty where neither is known. Objects that have installed nothing yet are left out.
pub async fn installed(options: &ClusterOptions) -> Result<Vec<InstalledObject>> {
    let mut found = ClusterReader::new(options)
        .await?
        .installed_objects()
        .await?;
    if !found.forbidden.is_empty() {
        let forbidden = found.forbidden.swap_remove(0);
        return Err(ClientError::NotAllowed {
            endpoint: forbidden.endpoint,
            status: 403,
            message: forbidden.message,
        });
    }
    let versions: HashMap<_, _> = found
        .of_kind(CLUSTER_SERVICE_VERSION)
        .map(|object| {
            let name = [
                text(object, "/metadata/namespace"),
                text(object, "/metadata/name"),
            ];
            (name, text(object, "/spec/version"))
        })
        .collect();
    let extensions = found.of_kind(CLUSTER_EXTENSION);
    let mut installed: Vec<_> = extensions.filter_map(extension_object).collect();
    for object in found.of_kind(SUBSCRIPTION) {
        let namespace = text(object, "/metadata/namespace");
        let bundle = text(object, "/status/installedCSV");
        if bundle.is_empty() {
            continue;
        }
        let operator = [namespace, bundle];
        let version = versions.get(&operator).cloned().unwrap_or_default();
        let [namespace, bundle] = operator;
        installed.push(InstalledObject {
            kind: SUBSCRIPTION.name.to_owned(),
            name: text(object, "/metadata/name"),
            namespace,
            package: text(object, "/spec/name"),
            bundle,
            version,
            channels: Some(text(object, "/spec/channel"))
                .filter(|channel| !channel.is_empty())
                .into_iter()
                .collect(),
        });
    }
    Ok(installed)
}

fn extension_object(object: &Value) -> Option<InstalledObject> {
    let bundle = object.pointer("/status/install/bundle")?;
    let channels = object
        .pointer("/spec/source/catalog/channels")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    Some(InstalledObject {
        kind: CLUSTER_EXTENSION.name.to_owned(),
        name: text(object, "/metadata/name"),
        namespace: text(object, "/spec/namespace"),
        package: text(object, "/spec/source/catalog/packageName"),
        bundle: text(bundle, "/name"),
        version: text(bundle, "/version"),
        channels: channels
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    })
}

fn text(object: &Value, pointer: &str) -> String {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
