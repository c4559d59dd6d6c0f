//! A server of the aggregated API, registered with a real kube-apiserver.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::{Value, json};
use testing::{ControlPlane, Folders, eventually, fixed_port};

use super::Turns;

/// The group of the `PackageManifests`.
pub(crate) const GROUP: &str = "packages.operators.coreos.com";

/// The API behind an API server.
pub(crate) struct Aggregated {
    pub(crate) plane: ControlPlane,
    pub(crate) folders: Folders,
    pub(crate) address: SocketAddr,
    arguments: Vec<String>,
    server: Server,
    /// The server that is not reached until it is its turn.
    second: Option<Server>,
}

/// A process; killed when it is dropped.
struct Server {
    child: Child,
    address: SocketAddr,
    /// Name of the folder of its store.
    store: &'static str,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail when it ended already.
        let _ = (self.child.kill(), self.child.wait());
    }
}

impl Aggregated {
    /// Starts a control plane and a server with these arguments, and waits until its packages can
    /// be listed. `folders` keep its store. `None` as for [`ControlPlane::start`].
    #[track_caller]
    pub(crate) fn start(folders: Folders, arguments: Vec<String>) -> Option<Self> {
        let plane = plane()?;
        let address = SocketAddr::from(([127, 0, 0, 1], fixed_port()));
        let authority = certificate(&folders);
        let server = serve(&plane, &folders, address, "store", &arguments);
        register(&plane, address.port(), &authority);
        Some(Self {
            plane,
            folders,
            address,
            arguments,
            server,
            second: None,
        })
    }

    /// As [`Self::start`] with two servers, each with a store of its own, which the API server
    /// reaches in turn.
    #[track_caller]
    pub(crate) fn start_two(folders: Folders, arguments: Vec<String>) -> Option<(Self, Turns)> {
        let plane = plane()?;
        let addresses =
            [fixed_port(), fixed_port()].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let authority = certificate(&folders);
        let server = serve(&plane, &folders, addresses[0], "store", &arguments);
        let second = serve(&plane, &folders, addresses[1], "second-store", &arguments);
        let turns = Turns::start(addresses);
        register(&plane, turns.address.port(), &authority);
        let api = Self {
            plane,
            folders,
            address: addresses[0],
            arguments,
            server,
            second: Some(second),
        };
        Some((api, turns))
    }

    /// Kills the server and starts it again, after `meanwhile`, and waits until its packages can be
    /// listed.
    pub(crate) fn restart(&mut self, meanwhile: impl FnOnce()) {
        let _ = (self.server.child.kill(), self.server.child.wait());
        meanwhile();
        self.server = serve(
            &self.plane,
            &self.folders,
            self.address,
            "store",
            &self.arguments,
        );
        wait_until_listed(&self.plane);
    }

    /// The addresses of both servers.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        [Some(&self.server), self.second.as_ref()]
            .into_iter()
            .flatten()
            .map(|server| server.address)
            .collect()
    }

    /// Asks the server at this address itself, with a certificate of these files if there is a
    /// name, and returns the status and the body; `None` where no connection comes about.
    pub(crate) fn ask(
        &self,
        address: SocketAddr,
        certificate: Option<&str>,
        headers: &str,
        path: &str,
    ) -> Option<(u16, String)> {
        let mut command = Command::new("openssl");
        command.args([
            "s_client",
            "-quiet",
            "-verify_quiet",
            "-connect",
            &address.to_string(),
        ]);
        command.args([
            "-servername",
            "catalogql.olm.svc",
            "-CAfile",
            &self.folders.text("ca.crt"),
        ]);
        if let Some(name) = certificate {
            command
                .arg("-cert")
                .arg(self.plane.file(&format!("{name}.pem")));
            command
                .arg("-key")
                .arg(self.plane.file(&format!("{name}.key")));
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl is there");
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
        let mut stdin = child.stdin.take().expect("it is a pipe");
        // It may end before it has read everything. It ends with the connection, not with its
        // input.
        let _ = stdin.write_all(request.as_bytes());
        let output = child.wait_with_output().expect("it is a child");
        drop(stdin);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }

    /// Ends the server that is reached, as an upgrade does, while new connections go to the other
    /// one; then it starts again.
    pub(crate) fn replace(&mut self, turns: &Turns) {
        turns.next();
        let ended = &mut self.server;
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -TERM {}", ended.child.id())])
            .status();
        assert!(sent.expect("there is a shell").success());
        let status = eventually(|| ended.child.try_wait().expect("it is a child"));
        assert!(status.success(), "{status}");
        let address = ended.address;
        let store = ended.store;
        let started = serve(&self.plane, &self.folders, address, store, &self.arguments);
        self.server = self.second.replace(started).expect("there are two");
    }
}

/// A control plane with the namespace and the rights of the server.
#[track_caller]
fn plane() -> Option<ControlPlane> {
    let plane = ControlPlane::start()?;
    plane.kubectl(&["create", "namespace", "olm"]);
    plane.kubectl(&["create", "serviceaccount", "catalogql", "--namespace=olm"]);
    let subject = "--serviceaccount=olm:catalogql";
    plane.kubectl(&[
        "create",
        "clusterrolebinding",
        "catalogql",
        "--clusterrole=system:auth-delegator",
        subject,
    ]);
    let role = "--role=extension-apiserver-authentication-reader";
    plane.kubectl(&[
        "create",
        "rolebinding",
        "catalogql",
        "--namespace=kube-system",
        role,
        subject,
    ]);
    Some(plane)
}

/// The certificate that the program makes for its Service; its authority in base64.
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
    for name in ["ca.crt", "tls.crt", "tls.key"] {
        folders.write(
            name,
            BASE64_STANDARD.decode(data(name)).expect("it is base64"),
        );
    }
    data("ca.crt").to_owned()
}

/// Starts a server at an address, with a folder for its store.
fn serve(
    plane: &ControlPlane,
    folders: &Folders,
    address: SocketAddr,
    store: &'static str,
    arguments: &[String],
) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_catalogql"));
    command.args(["serve", "--listen=127.0.0.1:0", "--kube-api-auth=delegated"]);
    command
        .arg(format!("--kube-api-listen={address}"))
        .arg("--store")
        .arg(folders.path(store));
    command.arg("--tls-cert-file").arg(folders.path("tls.crt"));
    command
        .arg("--tls-private-key-file")
        .arg(folders.path("tls.key"));
    command.args(arguments);
    command.env(
        "KUBECONFIG",
        plane.service_account_kubeconfig("olm", "catalogql", plane.address),
    );
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let server = Server {
        child: command.spawn().expect("it can be started"),
        address,
        store,
    };
    eventually(|| TcpStream::connect(address).ok());
    server
}

/// Registers the API, whose Service has an external name: there is no proxy for Services.
fn register(plane: &ControlPlane, port: u16, authority: &str) {
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "catalogql", "namespace": "olm" },
        "spec": { "type": "ExternalName", "externalName": "localhost" },
    });
    let name = format!("v1.{GROUP}");
    let api_service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": { "name": name },
        "spec": {
            "group": GROUP, "version": "v1", "groupPriorityMinimum": 2000, "versionPriority": 15, "caBundle": authority,
            "service": { "name": "catalogql", "namespace": "olm", "port": port },
        },
    });
    plane.apply(&[service, api_service]);
    plane.kubectl(&[
        "wait",
        "--for=condition=Available",
        "--timeout=60s",
        "apiservice",
        &name,
    ]);
    // The API server learns of the group once a minute, or when its registration changes.
    wait_until_listed(plane);
}

fn wait_until_listed(plane: &ControlPlane) {
    eventually(|| {
        plane
            .try_kubectl(&["get", "packagemanifests", "-n", "olm"], "")
            .success
            .then_some(())
    });
}
