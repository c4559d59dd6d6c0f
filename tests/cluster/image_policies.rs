//! `OpenShift`'s requirements for the signatures of images: objects that change while catalogs are
//! served. OpenSSL makes the keys and signatures.

use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use testing::{RegistryImage, eventually};

use crate::metrics::{METRICS, metrics_address, scrape};
use crate::support::{Cluster, NAMESPACE, Replica, catalog, condition, image, package};

/// A scope of an object that cannot be read.
const ELSEWHERE: &str = "elsewhere.example.com";

/// A cluster with keys.
struct SignedCluster {
    cluster: Cluster,
}

impl SignedCluster {
    /// `None` as for [`Cluster::start`].
    #[track_caller]
    fn start() -> Option<Self> {
        let cluster = Cluster::start()?;
        for name in ["release", "other"] {
            let private = cluster.folders.text(&format!("{name}.key"));
            let public = cluster.folders.text(&format!("{name}.pub"));
            let curve = "prime256v1";
            openssl(&[
                "ecparam", "-genkey", "-name", curve, "-noout", "-out", &private,
            ]);
            openssl(&["ec", "-in", &private, "-pubout", "-out", &public]);
        }
        Some(Self { cluster })
    }

    /// Pushes the image of a catalog with a signature of the key `release`, and returns its
    /// reference.
    fn push_signed(&self, package_name: &str) -> String {
        let repository = format!("ns/{package_name}");
        let image = image(&package(package_name));
        let reference = self.cluster.push_image(&repository, "v1", &image);
        let payload = json!({
            "critical": {
                "identity": { "docker-reference": reference },
                "image": { "docker-manifest-digest": image.digest() },
                "type": "cosign container image signature",
            },
            "optional": null,
        });
        let payload = payload.to_string().into_bytes();
        let folders = &self.cluster.folders;
        folders.write("payload", &payload);
        let [file, signature, key] =
            ["payload", "signature", "release.key"].map(|name| folders.text(name));
        openssl(&["dgst", "-sha256", "-sign", &key, "-out", &signature, &file]);
        let signature = std::fs::read(&signature).expect("it was written");
        let signature = BASE64_STANDARD.encode(signature);
        let annotation = ("dev.cosignproject.cosign/signature", signature.as_str());
        let attachment = RegistryImage::signatures(vec![payload], &[annotation]);
        let tag = format!("{}.sig", image.digest().replace(':', "-"));
        self.cluster.registry.push(&repository, &tag, &attachment);
        reference
    }

    /// The host of the registry.
    fn host(&self) -> String {
        self.cluster.registry.address.to_string()
    }

    /// A key in base64 of PEM, as objects have it.
    fn key(&self, name: &str) -> String {
        let path = self.cluster.folders.path(&format!("{name}.pub"));
        BASE64_STANDARD.encode(std::fs::read(path).expect("it was written"))
    }

    fn delete(&self, kind: &str, name: &str) {
        self.cluster
            .plane
            .kubectl(&["delete", kind, name, "--timeout=60s"]);
    }

    /// Waits until a catalog is served without a decision about its image.
    fn wait_unverified(&self, name: &str) {
        eventually(|| {
            let status = self.cluster.status(name);
            let is_served =
                condition(&status, "Serving").is_some_and(|[status, ..]| status == "True");
            (is_served && condition(&status, "Verified").is_none()).then_some(())
        });
    }

    /// Waits until a catalog is not loaded for a reason, and returns its message.
    fn wait_refused(&self, name: &str, text: &str) -> String {
        eventually(|| {
            let status = self.cluster.status(name);
            let [.., message] = condition(&status, "Progressing")?;
            message.contains(text).then(|| {
                assert_eq!(
                    condition(&status, "Serving").map(|[is_true, ..]| is_true),
                    Some("False")
                );
                message.to_owned()
            })
        })
    }
}

fn in_namespace(mut object: Value, namespace: &str) -> Value {
    object["kind"] = json!("ImagePolicy");
    object["metadata"]["namespace"] = json!(namespace);
    object
}

fn openssl(arguments: &[&str]) {
    let output = Command::new("openssl").args(arguments).output();
    let output = output.expect("openssl can be started");
    assert!(output.status.success(), "{output:?}");
}

/// A `ClusterImagePolicy` that requires a signature of this key, given in base64.
fn cluster_image_policy(name: &str, scope: &str, key: &str) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterImagePolicy", "metadata": { "name": name },
        "spec": {
            "scopes": [scope],
            "policy": { "rootOfTrust": { "policyType": "PublicKey", "publicKey": { "keyData": key } } },
        },
    })
}

#[test]
fn requirements_of_the_cluster_are_followed_as_objects_come_change_and_go() {
    let Some(signed) = SignedCluster::start() else {
        return;
    };
    let cluster = &signed.cluster;
    cluster.allow_image_policies();
    let etcd = signed.push_signed("etcd");
    cluster.plane.apply(&[catalog("etcd", &etcd)]);
    let replica = Replica::start(cluster, "one", &["--image-policies"]);
    // The API server does not serve the objects yet.
    signed.wait_unverified("etcd");
    let absent = "does not serve the kind";
    eventually(|| (replica.log().matches(absent).count() == 2).then_some(()));

    cluster.define_image_policies();
    let release = signed.key("release");
    let object = |key: &str| cluster_image_policy("signed", &signed.host(), key);
    cluster.plane.apply(&[object(&release)]);
    let status = cluster.wait_for("etcd", "Verified", "SignaturesAccepted");
    let [is_verified, _, message] = condition(&status, "Verified").expect("it was waited for");
    assert_eq!(is_verified, "True");
    assert!(
        message.contains(&format!("docker:{}", signed.host())),
        "{message}"
    );

    cluster.plane.apply(&[object(&signed.key("other"))]);
    let status = cluster.wait_for("etcd", "Verified", "Refused");
    let [is_verified, _, message] = condition(&status, "Verified").expect("it was waited for");
    assert_eq!(is_verified, "False");
    assert!(message.contains("SIGNATURE_NOT_VERIFIED"), "{message}");
    assert_eq!(
        condition(&status, "Serving").map(|[is_true, ..]| is_true),
        Some("True")
    );
    let argo = signed.push_signed("argo");
    cluster.plane.apply(&[catalog("argo", &argo)]);
    let message = signed.wait_refused("argo", "SIGNATURE_NOT_VERIFIED");
    assert!(message.contains("/ns/argo@"), "{message}");

    cluster.plane.apply(&[object(&release)]);
    cluster.wait_for("etcd", "Verified", "SignaturesAccepted");
    cluster.wait_for("argo", "Verified", "SignaturesAccepted");

    signed.delete("clusterimagepolicy", "signed");
    signed.wait_unverified("etcd");
    signed.wait_unverified("argo");
    assert_eq!(replica.log().matches(absent).count(), 2);
}

#[test]
fn an_object_of_the_namespace_counts_there_and_not_where_the_cluster_has_one() {
    let Some(signed) = SignedCluster::start() else {
        return;
    };
    let cluster = &signed.cluster;
    cluster.define_image_policies();
    cluster.allow_image_policies();
    cluster.plane.kubectl(&["create", "namespace", "elsewhere"]);
    let etcd = signed.push_signed("etcd");
    let scope = format!("{}/ns/etcd", signed.host());
    let [release, other] = ["release", "other"].map(|key| signed.key(key));
    let object = cluster_image_policy("signed", &scope, &other);
    cluster.plane.apply(&[
        catalog("etcd", &etcd),
        in_namespace(object.clone(), "elsewhere"),
    ]);
    let _replica = Replica::start(cluster, "one", &["--image-policies"]);
    signed.wait_unverified("etcd");

    cluster.plane.apply(&[in_namespace(object, NAMESPACE)]);
    cluster.wait_for("etcd", "Verified", "Refused");
    cluster
        .plane
        .apply(&[cluster_image_policy("wider", &signed.host(), &release)]);
    let status = cluster.wait_for("etcd", "Verified", "SignaturesAccepted");
    let [.., message] = condition(&status, "Verified").expect("it was waited for");
    assert!(
        message.contains(&format!("docker:{} requires", signed.host())),
        "{message}"
    );
}

#[test]
fn an_object_that_cannot_be_read_accepts_nothing_new_of_its_scopes_and_withdraws_nothing() {
    let Some(signed) = SignedCluster::start() else {
        return;
    };
    let cluster = &signed.cluster;
    cluster.define_image_policies();
    cluster.allow_image_policies();
    let [etcd, argo, knative] = ["etcd", "argo", "knative"].map(|name| signed.push_signed(name));
    let release = signed.key("release");
    let object =
        |key: &str| cluster_image_policy("signed", &format!("{}/ns/etcd", signed.host()), key);
    cluster.plane.apply(&[
        object(&release),
        cluster_image_policy("unreadable", ELSEWHERE, "YQ=="),
        catalog("etcd", &etcd),
    ]);
    let flags = [
        "--image-policies",
        "--policy-withdraws",
        METRICS,
        "--metrics-auth=none",
    ];
    let replica = Replica::start(cluster, "one", &flags);
    cluster.wait_for("etcd", "Verified", "SignaturesAccepted");
    let page = scrape(metrics_address(&replica), None);
    let page = String::from_utf8_lossy(&page.body);
    let failures = "catalogql_image_policy_reads_total{result=\"failure\"} ";
    let failures = page.lines().find_map(|line| line.strip_prefix(failures));
    assert!(
        failures.is_some_and(|failures| failures != "0"),
        "{failures:?}"
    );
    let error = "cannot use the ClusterImagePolicy `unreadable`: policy.rootOfTrust: cannot use the key the inline data";
    assert!(replica.log().contains(error), "{}", replica.log());

    let scope = format!("{}/ns", signed.host());
    let unreadable = cluster_image_policy("unreadable", &scope, "YQ==");
    cluster
        .plane
        .apply(&[object("YQ=="), unreadable, catalog("argo", &argo)]);
    signed.wait_refused("argo", error);
    let status = cluster.status("etcd");
    let accepted = condition(&status, "Verified").map(|[is_true, ..]| is_true);
    assert_eq!(accepted, Some("True"), "{status}");
    replica.end();

    // After a restart, too, and without the right to read the objects at all.
    cluster
        .plane
        .kubectl(&["delete", "clusterrole", "catalogql-image-policies"]);
    cluster.plane.apply(&[catalog("knative", &knative)]);
    let replica = Replica::start(cluster, "one", &flags);
    let denied = "cannot list the objects ClusterImagePolicy: ";
    signed.wait_refused("knative", denied);
    let status = cluster.wait_for("etcd", "Serving", "Available");
    let accepted = condition(&status, "Verified").map(|[is_true, ..]| is_true);
    assert_eq!(accepted, Some("True"), "{status}\n{}", replica.log());

    cluster.allow_image_policies();
    cluster.plane.apply(&[object(&release)]);
    signed.delete("clusterimagepolicy", "unreadable");
    signed.wait_unverified("argo");
    signed.wait_unverified("knative");
}
