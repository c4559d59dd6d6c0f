//! What is served besides what specs of `ClusterCatalog` objects ask for, and with which
//! credentials images are pulled.

use std::sync::Arc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use testing::{Proxy, ProxyAction, RecordedRequest, respond};

use crate::metrics::{METRICS, metrics_address, scrape};
use crate::support::{
    Cluster, NAMESPACE, PACKAGES, Replica, SERVICE_ACCOUNT, catalog, graphql, image, package,
    packages, with,
};

/// Asks for what objects say of catalogs.
const METADATA: &str = "{ catalogs { name displayName publisher priority labels { key value } } }";

/// Writes a status as catalogd does: this image is served.
fn serve_as_catalogd(cluster: &Cluster, name: &str, reference: &str, is_served: bool) {
    let condition = json!({
        "type": "Serving", "status": if is_served { "True" } else { "False" }, "message": "",
        "reason": if is_served { "Available" } else { "Unavailable" }, "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    let resolved = json!({ "type": "Image", "image": { "ref": reference } });
    let status =
        json!({ "status": { "conditions": [condition], "resolvedSource": resolved } }).to_string();
    let patch = [
        "patch",
        "clustercatalog",
        name,
        "--subresource=status",
        "--type=merge",
        "-p",
        &status,
    ];
    cluster.plane.kubectl(&patch);
}

#[test]
fn beside_catalogd_its_status_is_followed_and_nothing_is_written() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let by_tag = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.push("ns/etcd", "v2", &package("argo"));
    let pinned = ["etcd", "argo"].map(|name| {
        format!(
            "{}/ns/etcd@{}",
            cluster.registry.address,
            image(&package(name)).digest()
        )
    });
    cluster
        .plane
        .apply(&[catalog("followed", &by_tag), catalog("unknown", &by_tag)]);
    serve_as_catalogd(&cluster, "followed", &pinned[1], true);
    let before = cluster.plane.get(&["clustercatalogs"])["items"].clone();
    let replica = Replica::start(&cluster, "one", &["--manage=false"]).ready();
    replica.answers(PACKAGES, &packages(&[("followed", "argo")]));
    assert_eq!(cluster.plane.get(&["clustercatalogs"])["items"], before);
    serve_as_catalogd(&cluster, "followed", &pinned[0], true);
    replica.answers(PACKAGES, &packages(&[("followed", "etcd")]));
    serve_as_catalogd(&cluster, "followed", &pinned[0], false);
    replica.answers(PACKAGES, &packages(&[]));

    let user = format!("system:serviceaccount:{NAMESPACE}:{SERVICE_ACCOUNT}");
    let log = cluster.plane.audit_log();
    let own: Vec<_> = log
        .iter()
        .filter(|event| event["user"]["username"] == user)
        .collect();
    assert!(!own.is_empty());
    for event in own {
        assert!(
            ["list", "watch"].contains(&event["verb"].as_str().expect("a string")),
            "{event}"
        );
    }
}

/// A `CatalogSource` with this spec.
fn catalog_source(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
        "metadata": { "name": name, "namespace": NAMESPACE }, "spec": spec,
    })
}

#[test]
fn the_image_of_a_catalog_source_is_served_under_its_namespace_and_name() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    cluster.add_catalog_sources();
    let image = cluster.push("ns/etcd", "v1", &package("etcd"));
    let spec = json!({ "sourceType": "grpc", "image": image, "displayName": "The etcd", "publisher": "Us", "priority": -3 });
    let address = json!({ "sourceType": "grpc", "address": "registry.example.com:50051" });
    cluster.plane.apply(&[
        catalog_source("etcd", &spec),
        catalog_source("address", &address),
        catalog("own", &image),
    ]);
    let replica = Replica::start(&cluster, "one", &["--catalog-sources"]).ready();
    let name = format!("{NAMESPACE}.etcd");
    replica.answers(PACKAGES, &packages(&[("own", "etcd"), (&name, "etcd")]));
    let own = json!([{ "key": "olm.operatorframework.io/metadata.name", "value": "own" }]);
    let labels = json!([
        { "key": "catalogql.io/catalogsource-name", "value": "etcd" },
        { "key": "catalogql.io/catalogsource-namespace", "value": NAMESPACE },
    ]);
    let expected = json!({ "catalogs": [
        { "name": "own", "displayName": "own", "publisher": null, "priority": 0, "labels": own },
        { "name": name, "displayName": "The etcd", "publisher": "Us", "priority": -3, "labels": labels },
    ] });
    replica.answers(METADATA, &expected);
    cluster
        .plane
        .kubectl(&["delete", "catalogsource", "etcd", "--namespace", NAMESPACE]);
    replica.answers(PACKAGES, &packages(&[("own", "etcd")]));
}

#[test]
fn a_replica_is_ready_once_it_serves_catalog_sources_or_has_waited_for_them() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    // Nothing defines them yet.
    let started = Instant::now();
    let replica = Replica::start(&cluster, "one", &["--catalog-sources"]).ready();
    let elapsed = started.elapsed();
    assert!(
        elapsed >= controller::FIRST_RESPONSE_TIMEOUT,
        "ready after {elapsed:?}: {}",
        replica.log()
    );
    drop(replica);
    cluster.add_catalog_sources();
    let image = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.plane.apply(&[catalog_source(
        "etcd",
        &json!({ "sourceType": "grpc", "image": image }),
    )]);
    let replica = Replica::start(&cluster, "two", &["--catalog-sources"]).ready();
    let name = format!("{NAMESPACE}.etcd");
    assert_eq!(
        graphql(replica.address, PACKAGES),
        packages(&[(name.as_str(), "etcd")]),
        "{}",
        replica.log()
    );
}

#[test]
fn a_catalog_whose_reference_cannot_be_used_counts_as_not_served() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    cluster.add_catalog_sources();
    let source = catalog_source(
        "refused",
        &json!({ "sourceType": "grpc", "image": "quay.io/A" }),
    );
    cluster
        .plane
        .apply(&[catalog("refused", "myteam/catalog:latest"), source]);
    let replica = Replica::start(
        &cluster,
        "one",
        &["--catalog-sources", METRICS, "--metrics-auth=none"],
    )
    .ready();
    cluster.wait_for("refused", "Progressing", "Blocked");
    let page = scrape(metrics_address(&replica), None);
    let page = String::from_utf8_lossy(&page.body);
    let serving: Vec<_> = page
        .lines()
        .filter(|line| line.starts_with("catalogql_catalog_serving{"))
        .collect();
    let names = [format!("{NAMESPACE}.refused"), "refused".to_owned()];
    assert_eq!(
        serving,
        names.map(|name| format!("catalogql_catalog_serving{{catalog=\"{name}\"}} 0"))
    );
}

/// Forwards the requests for a repository `USER/…` of those who say that they are this user with
/// this password.
fn guard(request: &RecordedRequest, password: &str) -> ProxyAction {
    let user = request
        .target
        .strip_prefix("/v2/")
        .and_then(|path| path.split('/').next())
        .unwrap_or_default();
    let expected = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    if !user.is_empty() && request.authorization.as_deref() == Some(&expected) {
        return ProxyAction::Forward;
    }
    respond(401, &[("www-authenticate", "Basic realm=\"cluster\"")], "")
}

/// A pull secret for the images of one user.
fn pull_secret(host: &str, user: &str, password: &str) -> Value {
    let auth = STANDARD.encode(format!("{user}:{password}"));
    let text = json!({ "auths": { format!("{host}/{user}"): { "auth": auth } } }).to_string();
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
        "metadata": { "name": user, "namespace": NAMESPACE },
        "data": { ".dockerconfigjson": STANDARD.encode(text) },
    })
}

#[test]
fn pull_secrets_are_used_and_read_again_without_a_restart() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let proxy = Proxy::start(cluster.registry.address, |request| guard(request, "secret"));
    let host = proxy.address.to_string();
    let users = ["global", "account", "annotated"];
    let objects = users.map(|user| {
        cluster.push(&format!("{user}/etcd"), "v1", &package("etcd"));
        let object = catalog(user, &format!("{host}/{user}/etcd:v1"));
        let annotations = json!({ "catalogql.io/pull-secret": "annotated" });
        if user == "annotated" {
            with(object, &["metadata", "annotations"], annotations)
        } else {
            object
        }
    });
    let wrong = users.map(|user| pull_secret(&host, user, "wrong"));
    cluster.plane.apply(&[&objects[..], &wrong[..]].concat());
    let arguments = [
        "--insecure-registry",
        &host,
        "--global-pull-secret",
        &format!("{NAMESPACE}/global"),
    ];
    let replica = Replica::start(&cluster, "one", &arguments).ready();
    for user in users {
        cluster.wait_for(user, "Progressing", "Retrying");
    }
    cluster
        .plane
        .apply(&users.map(|user| pull_secret(&host, user, "secret")));
    replica.answers(
        PACKAGES,
        &packages(&[("annotated", "etcd"), ("global", "etcd")]),
    );
    let patch = r#"{"imagePullSecrets":[{"name":"account"}]}"#;
    cluster.plane.kubectl(&[
        "patch",
        "serviceaccount",
        SERVICE_ACCOUNT,
        "--namespace",
        NAMESPACE,
        "--type=merge",
        "-p",
        patch,
    ]);
    replica.answers(
        PACKAGES,
        &packages(&[
            ("account", "etcd"),
            ("annotated", "etcd"),
            ("global", "etcd"),
        ]),
    );
    assert!(!replica.log().contains("secret\""), "{}", replica.log());
}

/// An authority, and a server on the loopback address with a certificate of it.
fn authority() -> (String, ServerConfig) {
    let mut params = CertificateParams::new(Vec::new()).expect("no name is wrong");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let new_key = || KeyPair::generate().expect("keys can be made");
    let authority =
        CertifiedIssuer::self_signed(params, new_key()).expect("the authority can sign");
    let params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address is a name");
    let key = new_key();
    let certificate = params
        .signed_by(&key, &authority)
        .expect("the authority can sign");
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("it is a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config
        .expect("the versions are known")
        .with_no_client_auth();
    let config = config
        .with_single_cert(vec![certificate.der().clone()], key)
        .expect("the key is the certificate's");
    (authority.pem(), config)
}

#[test]
fn authorities_and_mirrors_are_read_again_without_a_restart() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    cluster.push("ns/etcd", "v1", &package("etcd"));
    let (pem, config) = authority();
    let proxy = Proxy::start_tls(cluster.registry.address, config, |_| ProxyAction::Forward);
    cluster.plane.apply(&[
        catalog("private", &format!("{}/ns/etcd:v1", proxy.address)),
        // Nothing listens there.
        catalog("mirrored", "127.0.0.1:1/ns/etcd:v1"),
    ]);
    cluster.folders.write("registries.conf", "");
    cluster.folders.write("authorities/readme.txt", "");
    let authorities = cluster.folders.text("authorities");
    let conf = cluster.folders.text("registries.conf");
    let arguments = ["--pull-cas-dir", &authorities, "--registries-conf", &conf];
    let replica = Replica::start(&cluster, "one", &arguments).ready();
    for name in ["private", "mirrored"] {
        cluster.wait_for(name, "Progressing", "Retrying");
    }
    cluster.folders.write("authorities/ours.crt", pem);
    let mirror = format!(
        "[[registry]]\nlocation = \"127.0.0.1:1\"\n[[registry.mirror]]\nlocation = \"{}\"\ninsecure = true\n",
        cluster.registry.address
    );
    cluster.folders.write("registries.conf", mirror);
    replica.answers(
        PACKAGES,
        &packages(&[("mirrored", "etcd"), ("private", "etcd")]),
    );
}
