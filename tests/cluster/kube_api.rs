//! The aggregated Kubernetes API behind a real kube-apiserver, as kubectl shows it.

use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use testing::{ControlPlane, Folders, eventually, fixed_port, fixture};

/// The groups of the API with their versions.
const GROUPS: [(&str, &str); 2] = [
    ("packages.operators.coreos.com", "v1"),
    ("catalogd.operatorframework.io", "v1beta1"),
];

/// A server of the API; killed when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail when it ended already.
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// A catalog with these packages; a name may be followed by a colon and a default channel.
fn catalog(packages: &[&str]) -> String {
    let package = |text: &&str| {
        let (name, channel) = text.split_once(':').unwrap_or((text, "stable"));
        format!(
            "package {name} default={channel}\nchannel {channel}: v1.0.0\nbundle v1.0.0 display={name} provider=P\n"
        )
    };
    fixture::lines(&packages.iter().map(package).collect::<String>())
}

/// The certificate that the program makes for its Service: the files of the server, and the
/// authority in base64.
fn certificate(folders: &Folders) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_catalogql"))
        .args(["certificate", "--for=catalogql.olm"])
        .output();
    let secret: Value = serde_saphyr::from_slice(&output.expect("it can be started").stdout)
        .expect("it prints YAML");
    let data = |name: &str| {
        secret["data"][name]
            .as_str()
            .unwrap_or_else(|| panic!("{name}: {secret}"))
    };
    for name in ["tls.crt", "tls.key"] {
        folders.write(
            name,
            BASE64_STANDARD.decode(data(name)).expect("it is base64"),
        );
    }
    data("ca.crt").to_owned()
}

fn start(folders: &Folders, port: u16) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_catalogql"));
    command.args([
        "serve",
        "--listen=127.0.0.1:0",
        "--watch",
        "--allowed-host=*",
        "--config",
    ]);
    command
        .arg(folders.path("catalogs.yaml"))
        .arg("--store")
        .arg(folders.path("store"));
    command.arg("--tls-cert-file").arg(folders.path("tls.crt"));
    command
        .arg("--tls-private-key-file")
        .arg(folders.path("tls.key"));
    command.arg(format!("--kube-api-listen=127.0.0.1:{port}"));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let server = Server(command.spawn().expect("it can be started"));
    eventually(|| TcpStream::connect(("127.0.0.1", port)).ok());
    server
}

/// Registers the API. Without a proxy for Services, an external name is reached at the port of the
/// registration.
fn register(plane: &ControlPlane, port: u16, authority: &str) {
    plane.kubectl(&["create", "namespace", "olm"]);
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "catalogql", "namespace": "olm" },
        "spec": { "type": "ExternalName", "externalName": "localhost" },
    });
    plane.apply(&[service]);
    for (group, version) in GROUPS {
        plane.apply(&[json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
            "metadata": { "name": format!("{version}.{group}") },
            "spec": {
                "group": group, "version": version,
                "groupPriorityMinimum": 2000, "versionPriority": 15, "caBundle": authority,
                "service": { "name": "catalogql", "namespace": "olm", "port": port },
            },
        })]);
        let name = format!("{version}.{group}");
        plane.kubectl(&[
            "wait",
            "--for=condition=Available",
            "--timeout=60s",
            "apiservice",
            &name,
        ]);
    }
}

#[test]
fn kubectl_shows_the_packages_of_catalogs_through_the_api_server() {
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    let folders = Folders::new();
    let port = fixed_port();
    folders.write("a/catalog.json", catalog(&["one", "two", "three"]));
    folders.write("b/catalog.json", catalog(&["four", "five"]));
    let source = |name: &str, more: &str| {
        format!("- {{name: {name}, source: {}{more}}}\n", folders.text(name))
    };
    let sources = source("a", ", displayName: The first") + &source("b", ", namespace: team");
    folders.write("catalogs.yaml", format!("sources:\n{sources}"));
    let authority = certificate(&folders);
    let _server = start(&folders, port);
    register(&plane, port, &authority);
    let kubectl = |arguments: &str| plane.kubectl(&arguments.split(' ').collect::<Vec<_>>());
    // The API server learns of the group once a minute, or when its registration changes.
    eventually(|| {
        plane
            .try_kubectl(&["get", "packagemanifests", "-A"], "")
            .success
            .then_some(())
    });

    let rows = |text: &str| {
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let all = [
        "NAMESPACE NAME CATALOG AGE",
        "olm one The first <unknown>",
        "olm three The first <unknown>",
        "olm two The first <unknown>",
        "team five <unknown>",
        "team four <unknown>",
    ];
    assert_eq!(rows(&kubectl("get packagemanifests -A")), all);
    assert_eq!(
        rows(&kubectl("get packagemanifests -A --chunk-size=2")),
        all,
        "pages"
    );
    assert_eq!(
        rows(&kubectl(
            "get packagemanifests -n team -l catalog=b --no-headers"
        )),
        ["five <unknown>", "four <unknown>"]
    );
    assert_eq!(
        rows(&kubectl(
            "get packagemanifests -n team -o name --field-selector metadata.name!=four"
        ))
        .len(),
        4
    );
    assert_eq!(
        kubectl("get packagemanifest one -o jsonpath={.status.channels[*].currentCSV}"),
        "one.v1.0.0"
    );
    let described = kubectl("describe packagemanifest two -n olm");
    assert!(
        described.contains("Default Channel:  stable"),
        "{described}"
    );
    // The API server reads documents a moment after the registration.
    let explain = || plane.try_kubectl(&["explain", "packagemanifest.status.defaultChannel"], "");
    let explained = eventually(|| Some(explain()).filter(|output| output.success)).stdout;
    assert!(
        explained.contains("Channel of Subscriptions that do not name a channel."),
        "{explained}"
    );
    let icon = kubectl(
        "get --raw /apis/packages.operators.coreos.com/v1/namespaces/olm/packagemanifests/one/icon",
    );
    assert!(icon.starts_with("<svg"), "{icon}");
    let missing = plane.try_kubectl(&["get", "packagemanifest", "none"], "");
    let expected = "Error from server (NotFound): packagemanifests.packages.operators.coreos.com \"none\" not found\n";
    assert_eq!(
        (missing.success, missing.stderr.as_str()),
        (false, expected)
    );
    contents(&plane);
    watch(&plane, &folders);
}

/// Shows what catalogs hold.
fn contents(plane: &ControlPlane) {
    eventually(|| {
        plane
            .try_kubectl(&["get", "bundlemetadata"], "")
            .success
            .then_some(())
    });
    let rows = |arguments: &str| {
        let text = plane.kubectl(&arguments.split(' ').collect::<Vec<_>>());
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let five = "b:five.v1.0.0 five 1.0.0 <unknown>";
    assert_eq!(
        rows("get bundlemetadata -l catalog=b,package=five --no-headers"),
        [five]
    );
    assert_eq!(
        rows("get packages.catalogd.operatorframework.io b:five --no-headers"),
        ["b:five b five stable stable <unknown>"]
    );
    let names =
        rows("get catalogmetadata --field-selector spec.catalog=b,spec.schema=olm.channel -o name");
    let expected = ["five", "four"].map(|package| {
        format!("catalogmetadata.catalogd.operatorframework.io/b:olm.channel:{package}:stable")
    });
    assert_eq!(names, expected);
    let explain = ["explain", "catalogmetadata.spec.content"];
    let explained =
        eventually(|| Some(plane.try_kubectl(&explain, "")).filter(|output| output.success)).stdout;
    assert!(
        explained.contains("The blob, unchanged from the catalog."),
        "{explained}"
    );
}

/// Waits with kubectl for a change of a package, and for its end.
fn watch(plane: &ControlPlane, folders: &Folders) {
    std::thread::scope(|scope| {
        let wait = |condition: &'static str| {
            scope.spawn(move || {
                plane.kubectl(&[
                    "wait",
                    condition,
                    "--timeout=60s",
                    "-n",
                    "olm",
                    "packagemanifest/one",
                ])
            })
        };
        let changed = wait("--for=jsonpath={.status.defaultChannel}=beta");
        folders.write("a/catalog.json", catalog(&["one:beta", "two"]));
        let met = "packagemanifest.packages.operators.coreos.com/one condition met\n";
        assert_eq!(changed.join().expect("kubectl ends"), met);
        let deleted = wait("--for=delete");
        folders.write("a/catalog.json", catalog(&["two"]));
        assert_eq!(deleted.join().expect("kubectl ends"), met);
    });
    let left = plane.kubectl(&["get", "packagemanifests", "-n", "olm", "-o", "name"]);
    assert_eq!(left, "packagemanifest.packages.operators.coreos.com/two\n");
}
