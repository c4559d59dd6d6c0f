//! A replica of the controller as a process, and a client for it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testing::{eventually, exchange, send_request};

use super::{Cluster, NAMESPACE, SERVICE_ACCOUNT};

/// What the address line begins and ends with.
const ADDRESS: (&str, &str) = ("Listening on ", "/graphql");

/// Time after which another replica takes the Lease that is not renewed.
pub(crate) const LEASE_DURATION: Duration = Duration::from_secs(4);

/// Short turns, so that tests need not wait long for the next holder of the Lease.
const LEASE: [&str; 3] = [
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
];

/// A process that serves the catalogs of a cluster; killed when it is dropped.
pub(crate) struct Replica {
    child: Child,
    pub(crate) address: SocketAddr,
    log: PathBuf,
}

impl Replica {
    /// Starts a replica with these arguments besides, with the rights of the controller, and waits
    /// until it listens. It keeps its store where an earlier one of the same name has left it.
    pub(crate) fn start(cluster: &Cluster, name: &str, arguments: &[&str]) -> Self {
        let kubeconfig = cluster.plane.service_account_kubeconfig(
            NAMESPACE,
            SERVICE_ACCOUNT,
            cluster.plane.address,
        );
        Self::start_at(cluster, name, &kubeconfig, arguments)
    }

    /// As [`Self::start`], with this kubeconfig.
    pub(crate) fn start_at(
        cluster: &Cluster,
        name: &str,
        kubeconfig: &Path,
        arguments: &[&str],
    ) -> Self {
        let folder = cluster.folders.path(name);
        let log = cluster.folders.path(&format!("{name}.log"));
        let stdout = cluster.folders.path(&format!("{name}.stdout"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_catalogql"));
        command.args([
            "controller",
            "--listen=127.0.0.1:0",
            "--namespace",
            NAMESPACE,
        ]);
        let flag = |argument: &str| argument.split('=').next().map(str::to_owned);
        command.args(
            LEASE
                .iter()
                .filter(|lease| arguments.iter().all(|other| flag(other) != flag(lease))),
        );
        command
            .args(["--service-account", SERVICE_ACCOUNT])
            .arg("--kubeconfig")
            .arg(kubeconfig);
        command
            .arg("--store")
            .arg(folder)
            .args(["--insecure-registry", &cluster.registry.address.to_string()]);
        command.args(arguments).env("POD_NAME", name);
        for variable in [
            "CATALOGQL_LOG",
            "RUST_LOG",
            "XDG_CACHE_HOME",
            "HOME",
            "KUBECONFIG",
        ] {
            command.env_remove(variable);
        }
        let log_file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .expect("the log can be written");
        let printed = fs::File::create(&stdout).expect("files can be written");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(printed)
            .stderr(log_file)
            .spawn()
            .expect("it can be started");
        let address = eventually(|| {
            let text = fs::read_to_string(&stdout).expect("it is a file");
            let found = text
                .lines()
                .find_map(|line| line.strip_prefix(ADDRESS.0)?.strip_suffix(ADDRESS.1));
            let ended = child.try_wait().expect("it is a child");
            assert!(
                ended.is_none(),
                "{name} ended: {}",
                fs::read_to_string(&log).unwrap_or_default()
            );
            let url = found?;
            let (_scheme, address) = url.split_once("://").expect("a URL");
            Some(address.parse().expect("an address"))
        });
        Self {
            child,
            address,
            log,
        }
    }

    /// Waits until the replica says that it is ready.
    pub(crate) fn ready(self) -> Self {
        eventually(|| {
            (send_request(self.address, "GET", "/readyz", &[]).status == 200).then_some(())
        });
        self
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The memory of the replica that is not of files, in KiB.
    pub(crate) fn memory_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.id());
        let status = fs::read_to_string(path).expect("the process runs");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"))
            .expect("Linux says so");
        line.trim()
            .trim_end_matches(" kB")
            .parse()
            .expect("a number")
    }

    /// Asks the replica to end, and waits until it has.
    pub(crate) fn end(mut self) {
        let sent = Command::new("sh")
            .args(["-c", &format!("kill -TERM {}", self.id())])
            .status();
        assert!(sent.expect("there is a shell").success());
        let status = eventually(|| self.child.try_wait().expect("it is a child"));
        assert!(status.success(), "{status}: {}", self.log());
    }

    /// What the replica has logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("it is a file")
    }

    /// Asks a query until the answer is this one.
    pub(crate) fn answers(&self, query: &str, expected: &Value) {
        let mut answer = Value::Null;
        let started = std::time::Instant::now();
        while answer != *expected {
            assert!(
                started.elapsed() < testing::TEST_TIMEOUT,
                "{answer} is not {expected}: {}",
                self.log()
            );
            answer = graphql(self.address, query);
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        // Both fail when it ended already.
        let _ = (self.child.kill(), self.child.wait());
    }
}

/// Asks a GraphQL query and returns the data of the answer.
pub(crate) fn graphql(address: SocketAddr, query: &str) -> Value {
    let (status, body) = try_graphql(address, query);
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).expect("answers are JSON");
    assert_eq!(answer["errors"], Value::Null, "{answer}");
    answer["data"].clone()
}

/// Asks a GraphQL query and returns the status and the body of the answer.
pub(crate) fn try_graphql(address: SocketAddr, query: &str) -> (u16, String) {
    let body = json!({ "query": query }).to_string();
    let head = "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json";
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let answer = exchange(address, request.as_bytes(), false);
    (
        answer.status,
        String::from_utf8_lossy(&answer.body).into_owned(),
    )
}
