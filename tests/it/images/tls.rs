//! Registries with TLS, a private authority, and those who should have it.

use images::RegistrySettings;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;

use super::{Fixture, pull, settings};
use crate::support::{Proxy, ProxyAction, respond};

/// An authority, and a server with a certificate of it for this name.
fn authority(name: &str) -> (String, ServerConfig) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()])
        .unwrap()
        .signed_by(&key, &authority)
        .unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = config
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    (authority.pem(), config)
}

fn trusting(pem: &str) -> RegistrySettings {
    RegistrySettings {
        authorities: vec![pem.to_owned()],
        ..settings(&[])
    }
}

fn at(proxy: &Proxy) -> String {
    format!("localhost:{}/ns/catalog:v1", proxy.address.port())
}

#[tokio::test]
async fn a_private_authority_is_trusted_when_it_is_named_and_only_then() {
    let Fixture { registry, image } = Fixture::new();
    let (pem, config) = authority("localhost");
    let proxy = Proxy::start_tls(registry.address, config, |_| ProxyAction::Forward);
    assert_eq!(
        pull(trusting(&pem), &at(&proxy)).await.unwrap().layers,
        image.layers()
    );

    let host = format!("localhost:{}", proxy.address.port());
    let untrusted = format!(
        "cannot verify the certificate of `{host}`: its issuer is unknown; name the issuer's certificate with --registry-ca"
    );
    let (other, _) = authority("localhost");
    assert_eq!(
        pull(settings(&[]), &at(&proxy)).await.unwrap_err(),
        untrusted
    );
    assert_eq!(
        pull(trusting(&other), &at(&proxy)).await.unwrap_err(),
        untrusted
    );

    let insecure = RegistrySettings {
        insecure: vec![host],
        ..settings(&[])
    };
    assert_eq!(
        pull(insecure, &at(&proxy)).await.unwrap().layers,
        image.layers()
    );
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_accepted() {
    let Fixture { registry, image: _ } = Fixture::new();
    let (pem, config) = authority("example.com");
    let proxy = Proxy::start_tls(registry.address, config, |_| ProxyAction::Forward);
    let error = pull(trusting(&pem), &at(&proxy)).await.unwrap_err();
    let host = format!("localhost:{}", proxy.address.port());
    assert!(
        error.starts_with(&format!("cannot verify the certificate of `{host}`: ")),
        "{error}"
    );
}

#[tokio::test]
async fn a_registry_without_tls_is_refused_unless_it_is_named() {
    let Fixture { registry, image } = Fixture::new();
    let host = registry.address.to_string();
    let error = pull(settings(&[]), &format!("{host}/ns/catalog:v1"))
        .await
        .unwrap_err();
    assert_eq!(
        error,
        format!(
            "cannot connect to `{host}` with TLS: it does not support it; write --insecure-registry {host} to connect without"
        )
    );
    let pulled = pull(
        settings(&[registry.address]),
        &format!("{host}/ns/catalog:v1"),
    )
    .await
    .unwrap();
    assert_eq!(pulled.layers, image.layers());
}

#[tokio::test]
async fn no_redirect_leads_out_of_tls() {
    let Fixture { registry, image: _ } = Fixture::new();
    let (pem, config) = authority("localhost");
    let plain = Proxy::start(registry.address, |_| ProxyAction::Forward);
    let to = plain.address;
    let proxy = Proxy::start_tls(registry.address, config, move |request| {
        respond(
            307,
            &[("location", &format!("http://{to}{}", request.target))],
            "",
        )
    });
    let error = pull(trusting(&pem), &at(&proxy)).await.unwrap_err();
    assert!(
        error.ends_with("the registry redirects to `127.0.0.1` without TLS"),
        "{error}"
    );
    assert_eq!(plain.requests(), []);
}

#[test]
fn what_is_no_certificate_is_refused() {
    for pem in [
        "",
        "no PEM",
        "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
    ] {
        let settings = RegistrySettings {
            authorities: vec![pem.to_owned()],
            ..RegistrySettings::default()
        };
        let registries = images::Registries::new(settings);
        assert!(registries.is_err(), "{pem}");
    }
}
