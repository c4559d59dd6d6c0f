//! Liveness and readiness on a listener of their own.

use std::net::{SocketAddr, TcpListener, TcpStream};

use testing::fixed_port;

use crate::support::{Folders, get};
use crate::tls::Authority;

#[test]
fn probes_are_plain_on_their_own_address_and_name_the_catalogs_that_are_late() {
    let folders = Folders::new();
    folders.catalog("quick", "package p default=stable\nchannel stable: v1.0.0");
    // A registry that never answers.
    let registry = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = registry.local_addr().unwrap().to_string();
    let image = format!("slow={host}/ns/slow:v1");
    let probes = SocketAddr::from(([127, 0, 0, 1], fixed_port()));
    let flags = ["--insecure-registry", &host, "--ready-after", "100ms"];
    let own = ["--health-probe-bind-address", &probes.to_string()];
    let server = Authority::new().start(
        &folders,
        &[&[folders.text("quick").as_str(), &image], &flags[..], &own].concat(),
    );
    assert_eq!(get(probes, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get(probes, "/readyz"), (200, "ok\n".to_owned()));
    let late =
        "[+]ping ok\n[-]catalog/slow failed: loading for the first time\nreadyz check passed\n";
    assert_eq!(get(probes, "/readyz?verbose"), (200, late.to_owned()));
    assert_eq!(get(probes, "/graphql").0, 404);
    server.signal("TERM");
    assert!(server.ended().0.success());
    assert!(
        TcpStream::connect(probes).is_err(),
        "nobody listens any more"
    );
}
