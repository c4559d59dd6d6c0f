//! A server of the aggregated API, registered with a real kube-apiserver.

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
    _second: Option<Server>,
}

/// A process; killed when it is dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail when it ended already.
        let _ = (self.0.kill(), self.0.wait());
    }
}

impl Aggregated {
    /// Starts a control plane and a server with these arguments, and waits until its packages can be listed. `folders` keep its
    /// store. `None` as for [`ControlPlane::start`].
    #[track_caller]
    pub(crate) fn start(folders: Folders, arguments: Vec<String>) -> Option<Self> {
        let plane = plane()?;
        let address = SocketAddr::from(([127, 0, 0, 1], fixed_port()));
        let authority = certificate(&folders);
        let server = serve(&plane, &folders, (address, "store"), &arguments);
        register(&plane, address.port(), &authority);
        Some(Self { plane, folders, address, arguments, server, _second: None })
    }

    /// As [`Self::start`] with two servers, each with a store of its own, which the API server reaches in turn.
    #[track_caller]
    pub(crate) fn start_two(folders: Folders, arguments: Vec<String>) -> Option<(Self, Turns)> {
        let plane = plane()?;
        let addresses = [fixed_port(), fixed_port()].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
        let authority = certificate(&folders);
        let [server, second] = [(addresses[0], "store"), (addresses[1], "second-store")]
            .map(|place| serve(&plane, &folders, place, &arguments));
        let turns = Turns::start(addresses);
        register(&plane, turns.address.port(), &authority);
        let api = Self { plane, folders, address: addresses[0], arguments, server, _second: Some(second) };
        Some((api, turns))
    }

    /// Kills the server and starts it again, after `meanwhile`, and waits until its packages can be listed.
    pub(crate) fn restart(&mut self, meanwhile: impl FnOnce()) {
        let _ = (self.server.0.kill(), self.server.0.wait());
        meanwhile();
        self.server = serve(&self.plane, &self.folders, (self.address, "store"), &self.arguments);
        wait_until_listed(&self.plane);
    }
}

/// A control plane with the namespace and the rights of the server.
#[track_caller]
fn plane() -> Option<ControlPlane> {
    let plane = ControlPlane::start()?;
    plane.kubectl(&["create", "namespace", "olm"]);
    plane.kubectl(&["create", "serviceaccount", "catalogql", "--namespace=olm"]);
    let subject = "--serviceaccount=olm:catalogql";
    plane.kubectl(&["create", "clusterrolebinding", "catalogql", "--clusterrole=system:auth-delegator", subject]);
    let role = "--role=extension-apiserver-authentication-reader";
    plane.kubectl(&["create", "rolebinding", "catalogql", "--namespace=kube-system", role, subject]);
    Some(plane)
}

/// The certificate that the program makes for its Service; its authority in base64.
fn certificate(folders: &Folders) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_catalogql")).args(["certificate", "--for=catalogql.olm"]).output();
    let secret: Value = serde_saphyr::from_slice(&output.expect("it can be started").stdout).expect("it prints YAML");
    let data = |name: &str| secret["data"][name].as_str().unwrap_or_else(|| panic!("{name}: {secret}"));
    for name in ["ca.crt", "tls.crt", "tls.key"] {
        folders.write(name, BASE64_STANDARD.decode(data(name)).expect("it is base64"));
    }
    data("ca.crt").to_owned()
}

/// Starts a server at an address, with a folder for its store.
fn serve(
    plane: &ControlPlane,
    folders: &Folders,
    (address, store): (SocketAddr, &str),
    arguments: &[String],
) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_catalogql"));
    command.args(["serve", "--listen=127.0.0.1:0", "--kube-api-auth=delegated"]);
    command.arg(format!("--kube-api-listen={address}")).arg("--store").arg(folders.path(store));
    command.arg("--tls-cert-file").arg(folders.path("tls.crt"));
    command.arg("--tls-private-key-file").arg(folders.path("tls.key"));
    command.args(arguments);
    command.env("KUBECONFIG", plane.service_account_kubeconfig("olm", "catalogql", plane.address));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Server(command.spawn().expect("it can be started"));
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
    plane.kubectl(&["wait", "--for=condition=Available", "--timeout=60s", "apiservice", &name]);
    // The API server learns of the group once a minute, or when its registration changes.
    wait_until_listed(plane);
}

fn wait_until_listed(plane: &ControlPlane) {
    eventually(|| plane.try_kubectl(&["get", "packagemanifests", "-n", "olm"], "").success.then_some(()));
}
