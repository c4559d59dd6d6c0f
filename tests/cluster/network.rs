//! Which ports the program opens, against what the manifests let in and out.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Command, Stdio};

use catalogql::args::Args;
use clap::Parser as _;
use serde_json::{Value, json};
use testing::{Folders, eventually, report_skipped};

use crate::manifests::{build, objects, overlays};
use crate::support::{Cluster, Replica, catalog, package};

/// States of sockets in `/proc/PID/net/tcp`.
const ESTABLISHED: &str = "01";
const LISTEN: &str = "0A";

/// A socket of TCP.
struct Socket {
    state: String,
    local_port: u16,
    remote_port: u16,
    inode: String,
}

/// The sockets of the network namespace of a process.
fn sockets(process: u32) -> Vec<Socket> {
    let read =
        |name: &str| fs::read_to_string(format!("/proc/{process}/net/{name}")).unwrap_or_default();
    let text = read("tcp") + &read("tcp6");
    let lines = text.lines().filter(|line| !line.contains("local_address"));
    let port = |address: &str| {
        let port = address.rsplit(':').next().expect("an address has a port");
        u16::from_str_radix(port, 16).expect("a port is hexadecimal")
    };
    let socket = |line: &str| {
        let words: Vec<_> = line.split_whitespace().collect();
        Socket {
            state: words[3].to_owned(),
            local_port: port(words[1]),
            remote_port: port(words[2]),
            inode: words[9].to_owned(),
        }
    };
    lines.map(socket).collect()
}

/// The ports that a process is connected to, other than those of its own clients.
fn connected(process: u32) -> BTreeSet<u16> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).expect("the process runs");
    let links = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    let own: BTreeSet<_> = links
        .filter_map(|link| {
            Some(
                link.to_str()?
                    .strip_prefix("socket:[")?
                    .strip_suffix(']')?
                    .to_owned(),
            )
        })
        .collect();
    let sockets = sockets(process);
    let served: BTreeSet<_> = sockets
        .iter()
        .filter(|socket| socket.state == LISTEN)
        .map(|socket| socket.local_port)
        .collect();
    let is_own = |socket: &&Socket| socket.state == ESTABLISHED && own.contains(&socket.inode);
    let outgoing = sockets
        .iter()
        .filter(is_own)
        .filter(|socket| !served.contains(&socket.local_port));
    outgoing.map(|socket| socket.remote_port).collect()
}

fn find<'a>(objects: &'a [Value], kinds: &[&str]) -> &'a Value {
    objects
        .iter()
        .find(|object| kinds.iter().any(|kind| object["kind"] == *kind))
        .expect("the overlay has one")
}

/// The arguments of the controller in an overlay.
fn arguments(objects: &[Value]) -> Vec<String> {
    let workload = find(objects, &["Deployment", "StatefulSet"]);
    let arguments = workload
        .pointer("/spec/template/spec/containers/0/args")
        .and_then(Value::as_array);
    let arguments = arguments.expect("it has arguments").iter();
    arguments
        .map(|argument| argument.as_str().expect("a string").to_owned())
        .collect()
}

/// The ports that an overlay lets in.
fn let_in(objects: &[Value]) -> BTreeSet<u16> {
    let ports = find(objects, &["NetworkPolicy"])
        .pointer("/spec/ingress/0/ports")
        .and_then(Value::as_array);
    let port =
        |port: &Value| u16::try_from(port["port"].as_u64().expect("a number")).expect("a port");
    ports.expect("it has ports").iter().map(port).collect()
}

#[test]
fn every_argument_in_the_manifests_is_one_of_the_program() {
    for overlay in overlays() {
        let Some(manifests) = build(&overlay) else {
            return;
        };
        let arguments = arguments(&objects(&manifests));
        let parsed = Args::try_parse_from(["catalogql".to_owned()].into_iter().chain(arguments));
        assert!(parsed.is_ok(), "{overlay}: {}", parsed.unwrap_err());
    }
}

#[test]
fn the_ports_of_containers_services_and_policies_are_those_that_the_program_listens_on() {
    for overlay in overlays() {
        let Some(manifests) = build(&overlay) else {
            return;
        };
        let objects = objects(&manifests);
        let Some(listening) = listened(&arguments(&objects)) else {
            return;
        };
        assert_eq!(listening, let_in(&objects), "{overlay}");
        let container = find(&objects, &["Deployment", "StatefulSet"])
            .pointer("/spec/template/spec/containers/0/ports");
        let container = container.and_then(Value::as_array).expect("it has ports");
        let numbers: Vec<_> = container
            .iter()
            .map(|port| port["containerPort"].clone())
            .collect();
        let numbers: BTreeSet<_> = numbers.iter().filter_map(Value::as_u64).collect();
        assert_eq!(
            numbers,
            listening.iter().map(|port| u64::from(*port)).collect(),
            "{overlay}"
        );
        let names: Vec<_> = container.iter().map(|port| &port["name"]).collect();
        for service in objects.iter().filter(|object| object["kind"] == "Service") {
            let ports = service["spec"]["ports"].as_array().expect("it has ports");
            assert!(
                ports
                    .iter()
                    .all(|port| names.contains(&&port["targetPort"])),
                "{overlay}: {service}"
            );
        }
    }
}

#[test]
fn the_plugin_finds_one_service_in_each_overlay_and_its_role_lets_it_in() {
    for overlay in overlays() {
        let Some(manifests) = build(&overlay) else {
            return;
        };
        let objects = objects(&manifests);
        let labelled = |object: &&Value| {
            object["kind"] == "Service"
                && object["metadata"]["labels"]["app.kubernetes.io/name"] == "catalogql"
        };
        let names = objects.iter().filter(labelled).flat_map(|service| {
            let ports = service["spec"]["ports"].as_array().into_iter().flatten();
            let schemes = ports
                .filter_map(|port| port["name"].as_str())
                .filter(|name| ["https", "http"].contains(name));
            let name = service["metadata"]["name"].as_str().expect("it has a name");
            schemes.map(move |scheme| format!("{scheme}:{name}:{scheme}"))
        });
        let roles = objects.iter().filter(|object| {
            object["kind"] == "Role" && object["metadata"]["name"] == "catalogql-viewer"
        });
        let allowed = roles.flat_map(|role| role["rules"].as_array().into_iter().flatten());
        let allowed = allowed
            .filter_map(|rule| rule["resourceNames"].as_array())
            .flatten();
        let allowed: Vec<_> = allowed.filter_map(Value::as_str).collect();
        assert_eq!(names.collect::<Vec<_>>(), allowed, "{overlay}");
        assert_eq!(allowed.len(), 1, "{overlay}");
    }
}

/// The ports on which the program listens with these arguments, in a network namespace of its own.
/// `None` where a user may not make one: the calling test is reported as skipped.
#[track_caller]
fn listened(arguments: &[String]) -> Option<BTreeSet<u16>> {
    let folders = Folders::new();
    write_certificate(&folders);
    let arguments = arguments.iter().map(|argument| {
        let argument = argument.replace("/var/run/catalogql/tls", &folders.text(""));
        argument.replace("/var/lib/catalogql", &folders.text("store"))
    });
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "--net",
        env!("CARGO_BIN_EXE_catalogql"),
    ]);
    command
        .args(arguments)
        .args(["--namespace=catalogql", "--kubeconfig"])
        .arg(folders.path("kubeconfig"));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .env("POD_NAME", "one");
    let expected = command
        .get_args()
        .filter(|argument| argument.to_string_lossy().contains("=:"))
        .count();
    let mut child = command.spawn().expect("unshare can be started");
    let ports = eventually(|| {
        if child.try_wait().expect("it is a child").is_some() {
            return Some(None);
        }
        // Before it has a network namespace of its own, it has that of all.
        if !is_apart(&child) {
            return None;
        }
        let sockets = sockets(child.id());
        let listening = sockets
            .iter()
            .filter(|socket| socket.state == LISTEN)
            .map(|socket| socket.local_port);
        let listening: BTreeSet<_> = listening.collect();
        (listening.len() >= expected).then_some(Some(listening))
    });
    let _ = child.kill();
    let output = child.wait_with_output().expect("it is a child");
    if ports.is_none() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.starts_with("unshare:"), "{stderr}");
        report_skipped(
            "network namespaces",
            stderr.trim_end(),
            "run as root, or allow user namespaces",
        );
    }
    ports
}

/// Whether a process has another network namespace than this one.
fn is_apart(child: &Child) -> bool {
    let namespace = |process: &str| fs::read_link(format!("/proc/{process}/ns/net")).ok();
    namespace(&child.id().to_string()).is_some_and(|other| Some(other) != namespace("self"))
}

/// Writes a certificate, and a kubeconfig of an API server that is away.
fn write_certificate(folders: &Folders) {
    let certified =
        rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("it can be made");
    folders.write("tls.crt", certified.cert.pem());
    folders.write("tls.key", certified.signing_key.serialize_pem());
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "away",
        "clusters": [{ "name": "away", "cluster": { "server": "https://127.0.0.1:6443" } }],
        "users": [{ "name": "away", "user": { "token": "none" } }],
        "contexts": [{ "name": "away", "context": { "cluster": "away", "user": "away" } }],
    });
    folders.write("kubeconfig", kubeconfig.to_string());
}

#[test]
fn the_controller_connects_to_the_api_server_and_to_registries_and_to_nothing_else() {
    // Policies let it out to these alone, and to servers of names.
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.plane.apply(&[catalog("etcd", &reference)]);
    let replica = Replica::start(&cluster, "one", &[]);
    let expected: BTreeSet<_> = [
        cluster.plane.address.port(),
        cluster.registry.address.port(),
    ]
    .into();
    let mut seen = BTreeSet::new();
    eventually(|| {
        seen.extend(connected(replica.id()));
        (seen.is_superset(&expected)).then_some(())
    });
    cluster.wait_for("etcd", "Serving", "Available");
    seen.extend(connected(replica.id()));
    assert_eq!(seen, expected);
}
