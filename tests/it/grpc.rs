//! The gRPC listeners, asked by grpcurl and the health probe of the gRPC ecosystem. What calls answer is tested in the crate.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use testing::{Folders, fixed_port, grpc_tools};

use crate::support::{ARGO, ETCD, Server, catalogql, run};
use crate::tls::Authority;

fn folders() -> Folders {
    let folders = Folders::new();
    folders.catalog("a", ETCD);
    folders.catalog("b", ARGO);
    folders
}

/// Runs grpcurl, and returns the lines that it printed, or what it says of an error.
fn grpcurl(tools: &Path, arguments: &[&str]) -> Result<Vec<String>, String> {
    let output = run(Command::new(tools.join("grpcurl")).args(arguments));
    let lines = |text: String| text.lines().map(str::trim).map(ToOwned::to_owned).collect();
    if output.status == Some(0) { Ok(lines(output.stdout)) } else { Err(output.stderr) }
}

fn packages(tools: &Path, arguments: &[&str]) -> Vec<String> {
    let lines = grpcurl(tools, &[arguments, &["api.Registry/ListPackages"]].concat()).unwrap();
    lines.into_iter().filter(|line| line.starts_with("\"name\"")).collect()
}

fn probe(tools: &Path, arguments: &[&str]) -> Option<i32> {
    run(Command::new(tools.join("grpc-health-probe")).args(arguments)).status
}

/// An address on which nothing listens.
fn free() -> String {
    SocketAddr::from(([127, 0, 0, 1], fixed_port())).to_string()
}

#[test]
fn grpcurl_lists_describes_and_calls_and_the_probe_is_content() {
    let Some(tools) = grpc_tools() else { return };
    let (folders, shared, own) = (folders(), free(), free());
    let grpc = ["--grpc", &shared, "--grpc", &format!("b={own}"), &folders.text("a"), &folders.text("b")];
    let _server = Server::start(&folders, &grpc);
    let services = grpcurl(&tools, &["-plaintext", &shared, "list"]).unwrap();
    assert_eq!(
        services,
        [
            "api.ExperimentalRegistry",
            "api.Registry",
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        ]
    );
    for symbol in services.iter().map(String::as_str).chain(["api.Bundle", "google.protobuf.Struct"]) {
        let lines = grpcurl(&tools, &["-plaintext", &shared, "describe", symbol]).unwrap();
        assert!(lines[0].starts_with(&format!("{symbol} is a ")), "{lines:?}");
    }
    let (etcd, argo) = (["\"name\": \"etcd\""], ["\"name\": \"argo\""]);
    assert_eq!(packages(&tools, &["-plaintext", "-rpc-header", "catalog:a", &shared]), etcd);
    assert_eq!(packages(&tools, &["-plaintext", "-authority", "b.olm.svc:50051", &shared]), argo);
    assert_eq!(packages(&tools, &["-plaintext", &own]), argo);
    let error = grpcurl(&tools, &["-plaintext", &shared, "api.Registry/ListPackages"]).unwrap_err();
    assert!(error.contains("FailedPrecondition") && error.contains("(a, b)"), "{error}");
    let request = r#"{"pkgName":"etcd","channelName":"stable"}"#;
    let bundle = ["-plaintext", "-rpc-header", "catalog:a", "-d", request, &shared, "api.Registry/GetBundleForChannel"];
    let lines = grpcurl(&tools, &bundle).unwrap();
    assert!(lines.contains(&"\"csvName\": \"etcd.v0.9.4\",".to_owned()), "{lines:?}");
    for service in ["", "a", "b", "api.Registry"] {
        assert_eq!(probe(&tools, &["-addr", &shared, "-service", service]), Some(0), "{service}");
    }
}

#[test]
fn grpc_is_served_over_tls_with_the_certificate_of_the_server() {
    let Some(tools) = grpc_tools() else { return };
    let (folders, authority, secure, plain) = (folders(), Authority::new(), free(), free());
    folders.write("ca.crt", authority.pem());
    let _server = authority.start(&folders, &["--grpc", &secure, &folders.text("a")]);
    // The name in the certificate.
    let secure = secure.replace("127.0.0.1", "localhost");
    let _other = authority.start(&self::folders(), &["--grpc", &plain, "--grpc-plaintext", &folders.text("a")]);
    let ca = folders.text("ca.crt");
    assert_eq!(packages(&tools, &["-cacert", &ca, &secure]), ["\"name\": \"etcd\""]);
    assert_eq!(packages(&tools, &["-plaintext", &plain]), ["\"name\": \"etcd\""]);
    assert_eq!(probe(&tools, &["-addr", &secure, "-tls", "-tls-ca-cert", &ca]), Some(0));
    assert_ne!(probe(&tools, &["-addr", &secure]), Some(0), "without TLS");
}

#[test]
fn grpc_is_not_served_in_plain_text_to_other_machines_unless_that_is_meant() {
    let folders = folders();
    let serve = ["serve", "--listen=127.0.0.1:0", "--grpc=0.0.0.0:0", "--store", &folders.text("store")];
    let refused = run(catalogql().args(serve).arg(folders.text("a")));
    assert_eq!(refused.status, Some(1));
    assert!(refused.stderr.contains("cannot serve gRPC without TLS on `0.0.0.0:"), "{}", refused.stderr);
    assert!(refused.stderr.contains("--grpc-plaintext"), "{}", refused.stderr);
}
