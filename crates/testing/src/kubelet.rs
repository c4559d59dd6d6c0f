//! A stand-in for a kubelet: what the API server asks to forward a port of a pod. There are no
//! containers behind it; every pod is one host.

use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, SocketAddr};
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::{ControlPlane, tools};

/// A running stand-in, as a node of a control plane; ends when it is dropped.
pub struct Kubelet(Child);

impl Kubelet {
    /// Starts it as the node of this name, and takes this host for each pod of that. `None` where
    /// its program is not built: the calling test then has nothing to look at, and is reported as
    /// skipped.
    #[track_caller]
    pub fn start(plane: &ControlPlane, node: &str, host: IpAddr) -> Option<Self> {
        let program = tools::kubelet()?;
        let mut command = Command::new(program);
        command
            .arg(host.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().expect("it can be started");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("it is a pipe");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("it prints text");
        let address: SocketAddr = line.trim_end().parse().expect("it prints its address");
        plane.apply(&[json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } })]);
        let status = json!({ "status": {
            "addresses": [{ "type": "InternalIP", "address": address.ip() }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": address.port() } },
        } });
        plane.kubectl(&[
            "patch",
            "node",
            node,
            "--subresource=status",
            "--patch",
            &status.to_string(),
        ]);
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
