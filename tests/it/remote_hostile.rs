//! Servers that lie, and files that no honest server has, as a user meets them: each is refused with
//! its cause.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};

use crate::support::{
    Archive, ETCD, Folders, HttpResponse, Proxy, ProxyAction, catalogql, lines, respond, run,
};

/// Runs `validate` over a source, and returns its status and everything that it printed.
fn validate(source: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = catalogql();
    command.args(["validate", source]);
    let output = run(command.args(arguments));
    (output.status, output.stdout + &output.stderr)
}

/// A server that sends these bytes to everybody and closes the connection.
fn raw(response: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    thread::spawn(move || {
        for mut client in listener.incoming().filter_map(Result::ok) {
            // The client may give up early.
            let _request = client.read(&mut [0; 4096]);
            let _ = client.write_all(&response);
        }
    });
    address
}

/// A response whose header says another length than the body has.
fn with_length(length: usize, body: &str) -> SocketAddr {
    raw(format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes())
}

/// A server without anything behind it that sends this to everybody.
fn sending(body: Vec<u8>) -> Proxy {
    Proxy::start(SocketAddr::from(([127, 0, 0, 1], 1)), move |_| {
        ProxyAction::Respond(HttpResponse {
            status: 200,
            headers: Vec::new(),
            body: body.clone(),
        })
    })
}

#[test]
fn archives_from_servers_are_judged_like_layers_of_images() {
    let etcd = lines(ETCD);
    let base = || Archive::default().file("catalog.json", &etcd);
    let mut many = base();
    for number in 0..=200_000 {
        many = many.header(b'0', format!("x{number}").as_bytes(), b"", 0);
    }
    for (archive, expected) in [
        (base().entry(b'3', b"null", b"", b""), "device"),
        (base().entry(b'S', b"x", b"", b""), "sparse file"),
        (
            base().pax(&[("size", "1")]).file("x", ""),
            "different lengths",
        ),
        (base().pax(&[("path", "a\0b")]).file("x", ""), "NUL"),
        (base().file("/etc/../../x", ""), "`..`"),
        (base().hard_link("x.json", "../../etc/passwd"), "`..`"),
        (many, "more than 200000 files"),
    ] {
        let proxy = sending(archive.gzip());
        let host = proxy.address.to_string();
        let source = format!("http://{host}/c.tar.gz");
        let (status, said) = validate(&source, &["--insecure-registry", &host]);
        assert_eq!(status, Some(2), "{expected}: {said}");
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn a_length_that_is_not_kept_and_bytes_that_are_no_text_are_refused() {
    let etcd = lines(ETCD);
    let nul = etcd.replacen("stable", "sta\0ble", 1);
    for (address, expected) in [
        (with_length(etcd.len() + 10, &etcd), "the connection ended"),
        (with_length(etcd.len() - 10, &etcd), "it is cut off"),
        (with_length(nul.len(), &nul), "catalog"),
        (raw(b"\0\0\0\0".to_vec()), "cannot reach"),
    ] {
        let host = address.to_string();
        let source = format!("catalogd+http://{host}/catalogs/etcd");
        let (status, said) = validate(&source, &["--insecure-registry", &host]);
        assert_eq!(status, Some(2), "{expected}: {said}");
        assert!(said.contains(expected), "{expected}: {said}");
    }
}

#[test]
fn a_line_that_is_longer_than_a_blob_may_be_is_refused() {
    let limit = fbc_read::ReadLimits::default().blob_bytes;
    let line = format!("{{\"schema\":\"x\",\"a\":\"{}\"}}\n", "a".repeat(limit));
    let proxy = sending(line.into_bytes());
    let host = proxy.address.to_string();
    let source = format!("catalogd+http://{host}/catalogs/etcd");
    let (status, said) = validate(&source, &["--insecure-registry", &host]);
    assert_eq!(status, Some(1), "{said}");
    let expected = format!("all:1: a blob is larger than {limit} bytes");
    assert!(said.contains(&expected), "{said}");
}

/// An authority with a server and a client, each with a certificate of it.
struct Authority {
    pem: String,
    server: ServerConfig,
    client_certificate: String,
    client_key: String,
}

/// Makes an authority and a server with this name, which asks for client certificates if it insists.
fn authority(name: &str, insists: bool) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let signed = |name: &str, key: &KeyPair| {
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        params.signed_by(key, &authority).unwrap()
    };
    let key = KeyPair::generate().unwrap();
    let certificate = signed(name, &key);
    let client_key = KeyPair::generate().unwrap();
    let client_certificate = signed("client", &client_key).pem();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let config = if insists {
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        config.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        config.with_no_client_auth()
    };
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let server = config
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    Authority {
        pem: authority.pem(),
        server,
        client_certificate,
        client_key: client_key.serialize_pem(),
    }
}

#[test]
fn certificates_are_verified_by_name_and_shown_to_the_servers_that_they_are_for() {
    let etcd = lines(ETCD);
    for (name, insists) in [("localhost", false), ("localhost", true), ("other", false)] {
        let folders = Folders::new();
        let authority = authority(name, insists);
        folders.write("ca.crt", &authority.pem);
        folders.write("tls.crt", &authority.client_certificate);
        folders.write("tls.key", &authority.client_key);
        let body = etcd.clone();
        let unused = SocketAddr::from(([127, 0, 0, 1], 1));
        let proxy = Proxy::start_tls(unused, authority.server, move |request| {
            if request.target == "/moved" {
                respond(302, &[("location", "http://localhost:1/c")], "")
            } else {
                respond(200, &[], &body)
            }
        });
        let base = format!("https://localhost:{}/", proxy.address.port());
        let source = format!("{base}c.json");
        let identity = "clientCertificate: {certFile: tls.crt, keyFile: tls.key}";
        folders.write("ca.yaml", format!("- {{prefix: '{base}', ca: ca.crt}}\n"));
        folders.write(
            "all.yaml",
            format!("- {{prefix: '{base}', ca: ca.crt, {identity}}}\n"),
        );
        let without = folders.text("ca.yaml");
        let all = folders.text("all.yaml");

        let unknown = validate(&source, &[]);
        assert_eq!(unknown.0, Some(2));
        assert!(
            unknown.1.contains("cannot verify the certificate"),
            "{unknown:?}"
        );
        let trusted = validate(&source, &["--http-auth", &without]);
        let identified = validate(&source, &["--http-auth", &all]);
        if name == "other" {
            assert!(
                trusted.1.contains("cannot verify the certificate"),
                "{trusted:?}"
            );
            assert!(
                identified.1.contains("cannot verify the certificate"),
                "{identified:?}"
            );
            continue;
        }
        assert_eq!(trusted.0, Some(if insists { 2 } else { 0 }), "{trusted:?}");
        assert_eq!(identified.0, Some(0), "{identified:?}");

        // No redirect gives up TLS.
        let moved = validate(&format!("{base}moved"), &["--http-auth", &all]);
        assert_eq!(moved.0, Some(2));
        assert!(moved.1.contains("has no TLS"), "{moved:?}");
    }
}
