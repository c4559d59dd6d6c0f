//! A real control plane of Kubernetes on loopback: etcd and kube-apiserver, with RBAC and an audit
//! log. No controllers run beside it: nothing deletes what was in a deleted namespace, and nobody
//! creates service accounts by themselves.

mod certificates;
mod process_guard;

use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::tools::control_plane_tools;
use crate::{Folders, eventually, exchange, fixed_port};
use certificates::{write_administrator, write_certificates, write_front_proxy};
use process_guard::ProcessGuard;

/// Audit policy of the API server: one line when a streamed response begins, and one when a response
/// is complete. Its own requests and the administrator's are not logged.
const AUDIT_POLICY: &str = r#"{
    "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{ "level": "None", "users": ["system:apiserver", "admin"] }, { "level": "Metadata" }]
}"#;

/// Authentication configuration of the API server: it accepts its own tokens alone. It reads the file
/// again when it changes.
const AUTHENTICATION: &str = r#"{ "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthenticationConfiguration", "jwt": [] }"#;

/// An API server over its own etcd, each a process on a port of its own. They end when this is
/// dropped, and at the latest when the process of the tests ends.
pub struct ControlPlane {
    /// Certificates, kubeconfig files, logs and the data of etcd.
    folders: Folders,
    /// Folder of etcd, kube-apiserver and kubectl.
    programs: PathBuf,
    etcd: SocketAddr,
    /// Address where the API server listens, with TLS.
    pub address: SocketAddr,
    api_server: Option<ProcessGuard>,
    _etcd: ProcessGuard,
}

/// Exit status and output of kubectl.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubectlOutput {
    /// The exit status is zero.
    pub success: bool,
    pub stdout: String,
    pub stderr: String,
}

impl ControlPlane {
    /// Starts a control plane for the calling test, and waits until it is ready, which takes three
    /// seconds; it takes 0.3 GiB of memory. `None` where its programs are neither in
    /// `KUBEBUILDER_ASSETS` nor built: the test then has nothing to look at and returns, and is
    /// reported as skipped. Where `CI` is set and not empty, this panics instead.
    #[track_caller]
    pub fn start() -> Option<Self> {
        let programs = control_plane_tools()?;
        let folders = Folders::new();
        write_certificates(&folders);
        write_administrator(&folders);
        write_front_proxy(&folders);
        folders.write("audit-policy.json", AUDIT_POLICY);
        folders.write("authentication.json", AUTHENTICATION);
        let (process, etcd) = eventually(|| start_etcd(&programs, &folders));
        let address = SocketAddr::from(([127, 0, 0, 1], fixed_port()));
        let mut started = Self {
            folders,
            programs,
            etcd,
            address,
            api_server: None,
            _etcd: process,
        };
        // The API server ends by itself when the port is taken.
        while !started.try_start_api_server() {
            started.address.set_port(fixed_port());
        }
        Some(started)
    }

    /// Returns the manifests that a folder with a `kustomization.yaml` builds, without a control
    /// plane. `None` as for [`Self::start`]. Panics where it cannot be built, or not without a
    /// warning.
    #[track_caller]
    pub fn kustomize(folder: &Path) -> Option<String> {
        let output = Command::new(control_plane_tools()?.join("kubectl"))
            .arg("kustomize")
            .arg(folder)
            .output();
        let output = output.expect("kubectl can be started");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && stderr.is_empty(),
            "{}: {stderr}",
            folder.display()
        );
        Some(String::from_utf8(output.stdout).expect("kubectl prints UTF-8"))
    }

    /// Returns the path of a kubeconfig file for an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folders.path("admin.kubeconfig")
    }

    /// Returns the kubeconfig of a service account, which exists already, with a new token of it.
    /// `address` is the API server's, or that of a proxy in front of it.
    pub fn service_account_kubeconfig(
        &self,
        namespace: &str,
        name: &str,
        address: SocketAddr,
    ) -> PathBuf {
        let token = self.kubectl(&[
            "create",
            "token",
            name,
            "--namespace",
            namespace,
            "--duration",
            "24h",
        ]);
        let user = json!({ "token": token.trim() });
        let file = format!("{namespace}.{name}.{}.kubeconfig", address.port());
        self.folders
            .write(&file, self.kubeconfig_text(address, namespace, &user));
        self.folders.path(&file)
    }

    /// Runs kubectl as administrator and returns what it printed. Panics when it fails.
    pub fn kubectl(&self, arguments: &[&str]) -> String {
        let output = self.try_kubectl(arguments, "");
        assert!(output.success, "kubectl {arguments:?}: {}", output.stderr);
        output.stdout
    }

    /// Runs kubectl as administrator with this standard input.
    pub fn try_kubectl(&self, arguments: &[&str], input: &str) -> KubectlOutput {
        let mut command = Command::new(self.programs.join("kubectl"));
        command
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(arguments);
        // Its cache of what the API server offers is in the home folder.
        command
            .env("HOME", self.folders.path("home"))
            .env_remove("KUBECONFIG");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("kubectl can be started");
        // It may end before it has read everything.
        let _ = child
            .stdin
            .take()
            .expect("it is a pipe")
            .write_all(input.as_bytes());
        let output = child.wait_with_output().expect("it is a child");
        let text = |bytes| String::from_utf8(bytes).expect("kubectl prints UTF-8");
        KubectlOutput {
            success: output.status.success(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Creates or changes objects, on the server's side as administrator. Panics where the API
    /// server refuses one.
    pub fn apply(&self, objects: &[Value]) {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        let output = self.try_kubectl(
            &["apply", "--server-side", "--force-conflicts", "-f", "-"],
            &list.to_string(),
        );
        assert!(
            output.success,
            "cannot apply {objects:?}: {}",
            output.stderr
        );
    }

    /// Returns an object or a list of objects, as `kubectl get` names them. `Null` where there is
    /// none.
    pub fn get(&self, arguments: &[&str]) -> Value {
        let text =
            self.kubectl(&[&["get", "--ignore-not-found", "-o", "json"], arguments].concat());
        if text.is_empty() {
            Value::Null
        } else {
            serde_json::from_str(&text).expect("kubectl prints JSON")
        }
    }

    /// Returns the path of a file: `authentication.json`, whose tokens the API server accepts;
    /// `ca.pem`, its authority; `client-ca.pem`, the authority of users, with `admin.pem` and
    /// `admin.key`, the administrator's; `front-proxy-ca.pem` with `front-proxy.pem` and
    /// `front-proxy.key`, with which the API server asks aggregated ones.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folders.path(name)
    }

    /// Replaces the authority of front proxies, and the API server's certificate of it, which it
    /// reads while it runs.
    pub fn rotate_front_proxy(&self) {
        write_front_proxy(&self.folders);
    }

    /// Replaces the authority of users, which the API server reads while it runs, and the
    /// administrator's certificate of it.
    pub fn rotate_users(&self) {
        write_administrator(&self.folders);
    }

    /// Kills the API server, so that connections to its address are refused until
    /// [`Self::start_api_server`].
    pub fn stop_api_server(&mut self) {
        self.api_server = None;
    }

    /// Starts the API server again at the same address, and waits until it is ready.
    pub fn start_api_server(&mut self) {
        eventually(|| self.try_start_api_server().then_some(()));
    }

    /// Removes from etcd what objects were before, so that the API server, once restarted, cannot
    /// tell what changed since then: it answers such a watch with 410 (Gone).
    pub fn compact(&self) {
        let revision =
            ask_etcd(self.etcd, "range", &json!({ "key": "AA==" }))["header"]["revision"].clone();
        ask_etcd(
            self.etcd,
            "compaction",
            &json!({ "revision": revision, "physical": true }),
        );
    }

    /// Returns the audit log: an event for each request, oldest first.
    pub fn audit_log(&self) -> Vec<Value> {
        let text =
            fs::read_to_string(self.folders.path("audit.log")).expect("the API server writes it");
        // The last line may be half written.
        text.split_inclusive('\n')
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    /// Returns the id of the API server's process. Panics when it is stopped.
    pub fn api_server_id(&self) -> u32 {
        self.api_server.as_ref().expect("it was started").id()
    }

    fn try_start_api_server(&mut self) -> bool {
        let admin = json!({
            "client-certificate": self.folders.text("admin.pem"), "client-key": self.folders.text("admin.key"),
        });
        self.folders.write(
            "admin.kubeconfig",
            self.kubeconfig_text(self.address, "default", &admin),
        );
        let mut process = start_api_server(&self.programs, &self.folders, self.etcd, self.address);
        let is_up = eventually(|| {
            if process.has_ended() {
                return Some(false);
            }
            self.try_kubectl(&["get", "--raw", "/readyz"], "")
                .success
                .then_some(true)
        });
        self.api_server = is_up.then_some(process);
        is_up
    }

    /// The text of a kubeconfig file. JSON is YAML.
    fn kubeconfig_text(&self, address: SocketAddr, namespace: &str, user: &Value) -> String {
        let server = format!("https://{address}");
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{
                "name": "test",
                "cluster": { "server": server, "certificate-authority": self.folders.text("ca.pem") },
            }],
            "users": [{ "name": "test", "user": user }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test", "namespace": namespace } }],
        })
        .to_string()
    }
}

/// Starts etcd and waits until it listens; `None` when it ended, because a port is taken.
fn start_etcd(programs: &Path, folders: &Folders) -> Option<(ProcessGuard, SocketAddr)> {
    let [clients, peers] =
        [fixed_port(), fixed_port()].map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let [clients_url, peers_url] = [clients, peers].map(|address| format!("http://{address}"));
    let mut command = Command::new(programs.join("etcd"));
    command.args(["--data-dir", &folders.text("etcd")]);
    command.args([
        "--listen-client-urls",
        &clients_url,
        "--advertise-client-urls",
        &clients_url,
    ]);
    command.args([
        "--listen-peer-urls",
        &peers_url,
        "--initial-advertise-peer-urls",
        &peers_url,
    ]);
    command.args(["--initial-cluster", &format!("default={peers_url}")]);
    // The data need not outlive the machine.
    command.args(["--unsafe-no-fsync", "--log-level", "error"]);
    let mut process =
        ProcessGuard::start(&command, &folders.path("etcd.log"), Some(&folders.path("")));
    let is_up = eventually(|| {
        if process.has_ended() {
            return Some(false);
        }
        TcpStream::connect(clients).ok().map(|_| true)
    });
    is_up.then_some((process, clients))
}

fn start_api_server(
    programs: &Path,
    folders: &Folders,
    etcd: SocketAddr,
    address: SocketAddr,
) -> ProcessGuard {
    let file = |name: &str| folders.text(name);
    let mut command = Command::new(programs.join("kube-apiserver"));
    command.args([
        "--etcd-servers",
        &format!("http://{etcd}"),
        "--etcd-compaction-interval",
        "0",
    ]);
    command.args([
        "--bind-address",
        "127.0.0.1",
        "--advertise-address",
        "127.0.0.1",
    ]);
    command.args([
        "--secure-port",
        &address.port().to_string(),
        "--endpoint-reconciler-type",
        "none",
    ]);
    command.args([
        "--tls-cert-file",
        &file("server.pem"),
        "--tls-private-key-file",
        &file("server.key"),
    ]);
    command.args(["--client-ca-file", &file("client-ca.pem")]);
    command.args(["--service-account-issuer", "https://kubernetes.default.svc"]);
    command.args(["--service-account-signing-key-file", &file("tokens.key")]);
    command.args(["--service-account-key-file", &file("tokens.pub")]);
    command.args(["--authentication-config", &file("authentication.json")]);
    command.args([
        "--requestheader-client-ca-file",
        &file("front-proxy-ca.pem"),
    ]);
    command.args([
        "--requestheader-allowed-names",
        "front-proxy",
        "--requestheader-username-headers",
        "X-Remote-User",
    ]);
    command.args(["--requestheader-group-headers", "X-Remote-Group"]);
    command.args(["--requestheader-extra-headers-prefix", "X-Remote-Extra-"]);
    command.args(["--proxy-client-cert-file", &file("front-proxy.pem")]);
    command.args(["--proxy-client-key-file", &file("front-proxy.key")]);
    command.args([
        "--authorization-mode",
        "RBAC",
        "--service-cluster-ip-range",
        "10.0.0.0/24",
    ]);
    command.args([
        "--audit-policy-file",
        &file("audit-policy.json"),
        "--audit-log-path",
        &file("audit.log"),
    ]);
    ProcessGuard::start(&command, &folders.path("kube-apiserver.log"), None)
}

/// Calls a method of etcd's key-value service by its gateway for JSON, and returns the response.
fn ask_etcd(etcd: SocketAddr, method: &str, request: &Value) -> Value {
    let body = request.to_string();
    let head = format!("POST /v3/kv/{method} HTTP/1.1\r\nhost: {etcd}\r\nconnection: close\r\n");
    let response = exchange(
        etcd,
        format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes(),
        false,
    );
    let text = String::from_utf8_lossy(&response.body);
    assert_eq!(response.status, 200, "{method}: {text}");
    serde_json::from_str(&text).expect("etcd answers in JSON")
}
