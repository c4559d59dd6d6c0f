//! The proxies that the environment names. They are read once in the life of a process, so that the
//! program is asked.

use std::net::SocketAddr;

use crate::support::{
    CONFIGS_LABEL, ETCD, MediaTypes, Output, Proxy, ProxyAction, Registry, RegistryImage,
    catalogql, lines, respond, run, tar_archive,
};

/// The exit status and output of checking an image, in an environment with these proxies.
fn validate(host: &str, proxy: SocketAddr, without: &str) -> Output {
    let mut command = catalogql();
    for name in [
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "all_proxy",
        "ALL_PROXY",
    ] {
        command.env_remove(name);
    }
    let proxy = format!("http://{proxy}");
    command
        .env("HTTP_PROXY", &proxy)
        .env("HTTPS_PROXY", &proxy)
        .env("NO_PROXY", without);
    run(command.args([
        "validate",
        &format!("docker://{host}/ns/catalog:v1"),
        "--insecure-registry",
        host,
    ]))
}

#[test]
fn proxies_of_the_environment_are_used_and_left_out_where_it_says_so() {
    let registry = Registry::start();
    let layer = tar_archive(&[("configs/catalog.json", lines(ETCD).as_bytes())]);
    registry.push(
        "ns/catalog",
        "v1",
        &RegistryImage::image(MediaTypes::Oci, &[layer], &[(CONFIGS_LABEL, "/configs")]),
    );
    let proxy = Proxy::start(registry.address, |request| match &*request.method {
        "CONNECT" => respond(502, &[], ""),
        _ => ProxyAction::Forward,
    });
    // Nobody but the proxy knows this host.
    let checked = validate("registry.invalid:5000", proxy.address, "");
    assert_eq!(
        checked.status,
        Some(0),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
    let requests = proxy.requests();
    assert_eq!(
        (&*requests[0].method, &*requests[0].target),
        ("CONNECT", "registry.invalid:5000")
    );
    assert_eq!(
        requests[1].target,
        "http://registry.invalid:5000/v2/ns/catalog/manifests/v1"
    );

    let before = requests.len();
    let checked = validate(&registry.address.to_string(), proxy.address, "127.0.0.1");
    assert_eq!(
        checked.status,
        Some(0),
        "{}{}",
        checked.stdout,
        checked.stderr
    );
    assert_eq!(proxy.requests().len(), before);
}
