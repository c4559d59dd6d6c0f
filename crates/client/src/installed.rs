//! Operators that are installed in a cluster and the version of its platform, as the API server knows
//! it. Each kind is listed once for all namespaces, in a bounded number of pages.

use std::collections::HashMap;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::cluster::{Cluster, ClusterOptions};
use crate::error::chain;
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

/// Objects of OLM v0 and of OLM v1, and the kinds that could not be read.
#[derive(Clone, Debug, Default)]
pub struct OlmObjects {
    /// The objects, each with its `kind`. Copied `ClusterServiceVersions` are left out.
    pub objects: Vec<Value>,
    /// Kinds of which nothing is known.
    pub unread: Vec<UnreadKind>,
}

/// A kind that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadKind {
    /// The kind, such as `InstallPlan`.
    pub kind: &'static str,
    /// The reason in English.
    pub reason: String,
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

const OPERATOR_GROUP: ClusterObjectKind = ClusterObjectKind {
    name: "OperatorGroup",
    path: "/apis/operators.coreos.com/v1/operatorgroups",
    selector: "",
};

const OPERATOR_CONDITION: ClusterObjectKind = ClusterObjectKind {
    name: "OperatorCondition",
    path: "/apis/operators.coreos.com/v2/operatorconditions",
    selector: "",
};

/// `OperatorConditions` of a cluster whose OLM does not serve the newer version yet.
const OLD_OPERATOR_CONDITION: ClusterObjectKind = ClusterObjectKind {
    path: "/apis/operators.coreos.com/v1/operatorconditions",
    ..OPERATOR_CONDITION
};

const CATALOG_SOURCE: ClusterObjectKind = ClusterObjectKind {
    name: "CatalogSource",
    path: "/apis/operators.coreos.com/v1alpha1/catalogsources",
    selector: "",
};

const INSTALL_PLAN: ClusterObjectKind = ClusterObjectKind {
    name: "InstallPlan",
    path: "/apis/operators.coreos.com/v1alpha1/installplans",
    selector: "",
};

const CLUSTER_CATALOG: ClusterObjectKind = ClusterObjectKind {
    name: "ClusterCatalog",
    path: "/apis/olm.operatorframework.io/v1/clustercatalogs",
    selector: "",
};

/// Kinds that decide what can be moved from OLM v0 to OLM v1.
const OLM_KINDS: [ClusterObjectKind; 8] = [
    SUBSCRIPTION,
    CLUSTER_SERVICE_VERSION,
    OPERATOR_GROUP,
    OPERATOR_CONDITION,
    CATALOG_SOURCE,
    INSTALL_PLAN,
    CLUSTER_EXTENSION,
    CLUSTER_CATALOG,
];

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

    /// Reads the objects of OLM v0 and v1 of all namespaces, all kinds at once. A kind that the
    /// cluster does not have, that the user may not list, or that is too large is unread.
    ///
    /// # Errors
    /// If `Subscriptions` cannot be read for another reason: then nothing can.
    pub async fn olm_objects(&self) -> Result<OlmObjects> {
        let reads = OLM_KINDS.map(|kind| self.read_kind(kind));
        let mut found = OlmObjects::default();
        for (kind, read) in OLM_KINDS.into_iter().zip(join_all(reads).await) {
            let reason = match read {
                Ok(Some(objects)) => {
                    found.objects.extend(objects);
                    continue;
                }
                Ok(None) => "the cluster has no such kind".to_owned(),
                Err(ClientError::NotAllowed {
                    status: 403,
                    message,
                    ..
                }) => message,
                Err(error) if kind.name == SUBSCRIPTION.name => return Err(error),
                Err(error) => chain(&error),
            };
            found.unread.push(UnreadKind {
                kind: kind.name,
                reason,
            });
        }
        Ok(found)
    }

    /// Returns the objects of a kind; `None` if the cluster does not have it.
    async fn read_kind(&self, kind: ClusterObjectKind) -> Result<Option<Vec<Value>>> {
        let read = self.pages(kind, MAX_OBJECT_PAGES).await?;
        if read.is_some() || kind.path != OPERATOR_CONDITION.path {
            return Ok(read);
        }
        self.pages(OLD_OPERATOR_CONDITION, MAX_OBJECT_PAGES - 1)
            .await
    }

    /// Adds the objects of a kind.
    async fn list(&self, kind: ClusterObjectKind, found: &mut ClusterObjects) -> Result<()> {
        match self.pages(kind, MAX_OBJECT_PAGES).await {
            Ok(objects) => found.objects.extend(objects.into_iter().flatten()),
            Err(ClientError::NotAllowed {
                endpoint,
                status: 403,
                message,
            }) => found.forbidden.push(ForbiddenKind {
                kind: kind.name,
                message,
                endpoint,
            }),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Returns the objects of a kind, each with its kind, in at most so many requests; `None` if the
    /// cluster does not have the kind.
    async fn pages(&self, kind: ClusterObjectKind, most: usize) -> Result<Option<Vec<Value>>> {
        let mut objects = Vec::new();
        let mut page = String::new();
        for at in 0..most {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("limit", &MAX_PAGE_OBJECTS.to_string());
            if !kind.selector.is_empty() {
                query.append_pair("labelSelector", kind.selector);
            }
            if !page.is_empty() {
                query.append_pair("continue", &page);
            }
            let path = format!("{}?{}", kind.path, query.finish());
            let Some(list) = self.cluster.get(&path).await? else {
                return Ok((at > 0).then_some(objects));
            };
            page = text(&list, "/metadata/continue");
            objects.extend(items(kind, list));
            if page.is_empty() {
                return Ok(Some(objects));
            }
        }
        Err(ClientError::TooManyObjects {
            kind: kind.name,
            limit: most * MAX_PAGE_OBJECTS,
        })
    }
}

/// Returns the items of a list. Those of some kinds do not name their kind.
fn items(kind: ClusterObjectKind, mut list: Value) -> impl Iterator<Item = Value> {
    let items = match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    items.into_iter().filter_map(move |mut item| {
        let members = item.as_object_mut()?;
        members.insert("kind".to_owned(), json!(kind.name));
        Some(item)
    })
}

impl ClusterObjects {
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
