//! A stand-in for a kubelet: what the API server asks to forward a port of a pod. There are no containers behind it; every
//! pod is one host.

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::ControlPlane;
use crate::skipped::report_skipped;

/// Script that builds the program, and says where.
const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/control-plane/kubelet.sh");

/// A running stand-in, as a node of a control plane; ends when it is dropped.
pub struct Kubelet(Child);

impl Kubelet {
    /// Starts it as the node of this name, and takes this host for each pod of that. `None` where its program is not built: the
    /// calling test then has nothing to look at, and is reported as skipped.
    #[track_caller]
    pub fn start(plane: &ControlPlane, node: &str, host: IpAddr) -> Option<Self> {
        let output = Command::new(BUILD).arg("--where").output().expect("there is a shell");
        let program = String::from_utf8(output.stdout).expect("the path is UTF-8");
        let program = Path::new(program.trim_end());
        if !program.is_file() {
            let missing = format!("there is no {}", program.display());
            report_skipped("a stand-in for a kubelet", &missing, "run tests/setup.sh with Go installed");
            return None;
        }
        let mut command = Command::new(program);
        command.arg(host.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it can be started");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("it prints text");
        let address: SocketAddr = line.trim_end().parse().expect("it prints its address");
        plane.apply(&[json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } })]);
        let status = json!({ "status": {
            "addresses": [{ "type": "InternalIP", "address": address.ip() }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": address.port() } },
        } });
        plane.kubectl(&["patch", "node", node, "--subresource=status", "--patch", &status.to_string()]);
        Some(Self(child))
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        // It ends with its standard input.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
