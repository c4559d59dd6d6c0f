//! What several modules need: a cluster with a registry, replicas of the controller as processes,
//! and clients of them.

mod aggregated;
mod load;
mod replica;
mod turns;

use serde_json::{Value, json};
use testing::fixture::lines;
use testing::{
    CONFIGS_LABEL, ControlPlane, Folders, MediaTypes, Registry, RegistryImage, eventually,
    tar_archive,
};

pub(crate) use aggregated::{Aggregated, GROUP};
pub(crate) use load::Load;
pub(crate) use replica::{LEASE_DURATION, Replica, graphql};
pub(crate) use turns::Turns;

/// What is applied to a cluster.
pub(crate) const DEPLOY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy");

/// Namespace of the controller, as in `deploy/base`.
pub(crate) const NAMESPACE: &str = "catalogql";

/// Name of the controller's service account, as in `deploy/base`.
pub(crate) const SERVICE_ACCOUNT: &str = "catalogql";

/// Asks which packages each catalog has.
pub(crate) const PACKAGES: &str = "{ catalogs { name packages { nodes { name } } } }";

/// A control plane that knows catalogs and the controller's service account with its rights, and a
/// registry.
pub(crate) struct Cluster {
    pub(crate) plane: ControlPlane,
    pub(crate) registry: Registry,
    /// Stores and logs of the replicas.
    pub(crate) folders: Folders,
}

impl Cluster {
    /// Starts a cluster without catalogs. `None` as for [`ControlPlane::start`].
    #[track_caller]
    pub(crate) fn start() -> Option<Self> {
        let plane = ControlPlane::start()?;
        define_catalogs(&plane);
        plane.kubectl(&["create", "namespace", NAMESPACE]);
        plane.kubectl(&[
            "apply",
            "--server-side",
            "-f",
            &format!("{DEPLOY}/base/rbac.yaml"),
        ]);
        may(
            &plane,
            &["create", "events.events.k8s.io", "--namespace=default"],
        );
        Some(Self {
            plane,
            registry: Registry::start(),
            folders: Folders::new(),
        })
    }

    /// Defines the objects of OLM v0 that describe catalogs, and lets the controller read them.
    pub(crate) fn add_catalog_sources(&self) {
        let version = json!({
            "name": "v1alpha1", "served": true, "storage": true,
            "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
        });
        let names = json!({ "kind": "CatalogSource", "plural": "catalogsources", "singular": "catalogsource" });
        self.plane.apply(&[json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": "catalogsources.operators.coreos.com" },
            "spec": { "group": "operators.coreos.com", "scope": "Namespaced", "names": names, "versions": [version] },
        })]);
        self.plane.kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            "--all",
        ]);
        self.plane.kubectl(&[
            "apply",
            "--server-side",
            "-f",
            &format!("{DEPLOY}/components/catalog-sources/rbac.yaml"),
        ]);
        may(
            &self.plane,
            &[
                "watch",
                "catalogsources.operators.coreos.com",
                "--all-namespaces",
            ],
        );
    }

    /// Lets the controller read the objects with requirements for images.
    pub(crate) fn allow_image_policies(&self) {
        self.plane.kubectl(&[
            "apply",
            "--server-side",
            "-f",
            &format!("{DEPLOY}/components/image-policies/rbac.yaml"),
        ]);
        // `auth can-i` needs the definitions, which come later in some tests.
        let path = format!("/apis/config.openshift.io/v1/namespaces/{NAMESPACE}/imagepolicies");
        let user = format!("--as=system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}");
        eventually(|| {
            let output = self.plane.try_kubectl(&["get", "--raw", &path, &user], "");
            let is_denied = output.stderr.contains("orbidden");
            (!is_denied).then_some(())
        });
    }

    /// Defines `OpenShift`'s objects with requirements for images.
    pub(crate) fn define_image_policies(&self) {
        for (kind, plural, scope) in [
            ("ClusterImagePolicy", "clusterimagepolicies", "Cluster"),
            ("ImagePolicy", "imagepolicies", "Namespaced"),
        ] {
            let version = json!({
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object", "required": ["spec"],
                    "properties": { "spec": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
                } },
            });
            let names = json!({ "kind": kind, "plural": plural, "singular": kind.to_lowercase() });
            self.plane.apply(&[json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": { "name": format!("{plural}.config.openshift.io") },
                "spec": { "group": "config.openshift.io", "scope": scope, "names": names, "versions": [version] },
            })]);
        }
        self.plane.kubectl(&[
            "wait",
            "--for=condition=Established",
            "--timeout=60s",
            "crd",
            "--all",
        ]);
    }

    /// Adds the roles of who reads metrics, and lets the controller ask about them.
    pub(crate) fn add_access(&self) {
        self.plane.kubectl(&[
            "apply",
            "--server-side",
            "-f",
            &format!("{DEPLOY}/base/access.yaml"),
        ]);
        may(
            &self.plane,
            &[
                "create",
                "subjectaccessreviews.authorization.k8s.io",
                "--all-namespaces",
            ],
        );
    }

    /// Pushes an image with this catalog, and returns the reference that names it.
    pub(crate) fn push(&self, repository: &str, tag: &str, fixture: &str) -> String {
        self.push_image(repository, tag, &image(fixture))
    }

    /// As [`Self::push`], with an image.
    pub(crate) fn push_image(&self, repository: &str, tag: &str, image: &RegistryImage) -> String {
        self.registry.push(repository, tag, image);
        format!("{}/{repository}:{tag}", self.registry.address)
    }

    /// Waits until a condition of a catalog has this reason, and returns the status.
    pub(crate) fn wait_for(&self, name: &str, condition: &str, reason: &str) -> Value {
        let path = format!(
            "--for=jsonpath={{.status.conditions[?(@.type==\"{condition}\")].reason}}={reason}"
        );
        let output = self.plane.try_kubectl(
            &[
                "wait",
                &path,
                "--timeout=120s",
                &format!("clustercatalog/{name}"),
            ],
            "",
        );
        let status = self.status(name);
        assert!(output.success, "{name}: {} {status:#}", output.stderr);
        status
    }

    /// The status of a catalog.
    pub(crate) fn status(&self, name: &str) -> Value {
        self.plane.get(&["clustercatalog", name])["status"].clone()
    }
}

/// Creates the definitions of the objects that describe catalogs, and waits until the API server
/// serves them.
pub(crate) fn define_catalogs(plane: &ControlPlane) {
    plane.kubectl(&[
        "apply",
        "--server-side",
        "-f",
        &format!("{DEPLOY}/base/crds.yaml"),
    ]);
    plane.kubectl(&[
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd",
        "--all",
    ]);
}

/// Waits until the API server, which learns of roles by a watch, lets the controller do this.
fn may(plane: &ControlPlane, action: &[&str]) {
    let user = format!("--as=system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}");
    eventually(|| {
        plane
            .try_kubectl(&[&["auth", "can-i", &user], action].concat(), "")
            .success
            .then_some(())
    });
}

/// An image with this catalog, where its label says.
pub(crate) fn image(fixture: &str) -> RegistryImage {
    image_of(&lines(fixture), &[(CONFIGS_LABEL, "/configs")])
}

/// An image with a file of this text, and these labels.
pub(crate) fn image_of(text: &str, labels: &[(&str, &str)]) -> RegistryImage {
    let layer = tar_archive(&[("configs/catalog.json", text.as_bytes())]);
    RegistryImage::image(MediaTypes::Oci, &[layer], labels)
}

/// A catalog of one package with one bundle.
pub(crate) fn package(name: &str) -> String {
    format!("package {name} default=stable\nchannel stable: v1.0.0")
}

/// The answer to [`PACKAGES`] where each catalog has one: names of catalogs, each with that of its
/// package.
pub(crate) fn packages(catalogs: &[(&str, &str)]) -> Value {
    let one = |(name, package): &(&str, &str)| json!({ "name": name, "packages": { "nodes": [{ "name": package }] } });
    json!({ "catalogs": catalogs.iter().map(one).collect::<Vec<_>>() })
}

/// A `ClusterCatalog` with an image as its source.
pub(crate) fn catalog(name: &str, reference: &str) -> Value {
    json!({
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog", "metadata": { "name": name },
        "spec": { "source": { "type": "Image", "image": { "ref": reference } } },
    })
}

/// The same with the value at this path replaced.
pub(crate) fn with(mut object: Value, path: &[&str], value: Value) -> Value {
    let place = path
        .iter()
        .fold(&mut object, |place, name| &mut place[*name]);
    *place = value;
    object
}

/// A condition of a status, as status, reason and message.
pub(crate) fn condition<'a>(status: &'a Value, kind: &str) -> Option<[&'a str; 3]> {
    let found = status["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)?;
    Some(["status", "reason", "message"].map(|field| found[field].as_str().expect("a string")))
}
