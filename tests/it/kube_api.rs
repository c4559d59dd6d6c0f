//! The listener of the Kubernetes API. What it answers is tested in its crate, and behind a real
//! API server in `tests/cluster`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::Value;
use testing::{Folders, TEST_TIMEOUT, fixed_port};

use crate::support::{Server, catalogql, get, run};

/// Path of the packages of all namespaces.
const PACKAGES: &str = "/apis/packages.operators.coreos.com/v1/packagemanifests";

/// A folder with a catalog of one package.
fn folders() -> Folders {
    let folders = Folders::new();
    let fixture = "package etcd default=stable\nchannel stable: v1.0.0\nbundle v1.0.0 display=etcd";
    folders.write("a/catalog.json", testing::fixture::lines(fixture));
    folders
}

#[test]
fn the_kubernetes_api_is_served_on_its_own_address_and_its_watches_end_with_the_server() {
    let folders = folders();
    let address = SocketAddr::from(([127, 0, 0, 1], fixed_port()));
    let config = format!(
        "sources: [{{name: community, source: {}, namespace: team}}]",
        folders.text("a")
    );
    folders.write("catalogs.yaml", config);
    let listen = format!("--kube-api-listen={address}");
    let server = Server::start(
        &folders,
        &["--config", &folders.text("catalogs.yaml"), &listen],
    );
    let (status, body) = get(address, PACKAGES);
    let list: Value = body.parse().unwrap();
    assert_eq!(
        (status, &list["items"][0]["metadata"]["namespace"]),
        (200, &"team".into()),
        "{list}"
    );
    assert_eq!(list["items"][0]["status"]["catalogSource"], "community");
    assert_eq!(
        get(server.address, PACKAGES).0,
        404,
        "it is on no other address"
    );
    let (status, body) = get(address, "/version");
    assert_eq!(
        (status, body.contains(env!("CARGO_PKG_VERSION"))),
        (200, true),
        "{body}"
    );

    let mut watch = TcpStream::connect(address).unwrap();
    watch.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    write!(
        watch,
        "GET {PACKAGES}?watch=true HTTP/1.1\r\nhost: localhost\r\n\r\n"
    )
    .unwrap();
    let mut lines = BufReader::new(watch).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("\"type\":\"ADDED\"")));
    server.signal("TERM");
    // The last chunk is empty: the response is whole.
    assert_eq!(lines.find(|line| line == "0").as_deref(), Some("0"));
    assert!(server.ended().0.success());
}

#[test]
fn the_kubernetes_api_is_not_served_to_other_machines_unless_that_is_meant() {
    let folders = folders();
    let start = |arguments: &[&str]| {
        let serve = [
            "serve",
            "--listen=127.0.0.1:0",
            "--kube-api-listen=0.0.0.0:0",
            "--store",
            &folders.text("store"),
        ];
        run(catalogql()
            .args(serve)
            .arg(folders.text("a"))
            .args(arguments))
    };
    let refused = start(&[]);
    assert_eq!(refused.status, Some(1));
    assert!(
        refused
            .stderr
            .contains("pass --kube-api-auth=none if everybody may read all packages"),
        "{}",
        refused.stderr
    );
    let refused = start(&["--kube-api-auth=none"]);
    assert!(
        refused
            .stderr
            .contains("cannot serve plain HTTP on `0.0.0.0:"),
        "{}",
        refused.stderr
    );
}
