//! Who may see which catalogs over gRPC: callers, catalogs and calls on a real API server, each
//! cell of the table tried.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use testing::{fixed_port, grpc_tools};

use crate::access::{ABSENT, Caller, Fixture, SERVED};

/// Each call about a catalog, with a request that finds something where `NAME` is the catalog.
const CALLS: [(&str, &str); 11] = [
    ("api.Registry/ListPackages", "{}"),
    ("api.Registry/GetPackage", r#"{"name":"NAME"}"#),
    (
        "api.Registry/GetBundle",
        r#"{"pkgName":"NAME","channelName":"stable","csvName":"NAME.v1.1.0"}"#,
    ),
    (
        "api.Registry/GetBundleForChannel",
        r#"{"pkgName":"NAME","channelName":"stable"}"#,
    ),
    (
        "api.Registry/GetChannelEntriesThatReplace",
        r#"{"csvName":"NAME.v1.0.0"}"#,
    ),
    (
        "api.Registry/GetBundleThatReplaces",
        r#"{"csvName":"NAME.v1.0.0","pkgName":"NAME","channelName":"stable"}"#,
    ),
    (
        "api.Registry/GetChannelEntriesThatProvide",
        r#"{"group":"NAME.io","version":"v1","kind":"K"}"#,
    ),
    (
        "api.Registry/GetLatestChannelEntriesThatProvide",
        r#"{"group":"NAME.io","version":"v1","kind":"K"}"#,
    ),
    (
        "api.Registry/GetDefaultBundleThatProvides",
        r#"{"group":"NAME.io","version":"v1","kind":"K"}"#,
    ),
    ("api.Registry/ListBundles", "{}"),
    (
        "api.ExperimentalRegistry/ExperimentalListPackageCustomSchemas",
        r#"{"schema":"example.com.extra","packageName":"NAME"}"#,
    ),
];

/// Asks whether a catalog is served.
const HEALTH: (&str, &str) = ("grpc.health.v1.Health/Check", r#"{"service":"NAME"}"#);

/// A catalog in which each call finds something.
fn content(name: &str, _version: u32) -> String {
    format!(
        "package {name} default=stable\nchannel stable: v1.0.0 <- v1.1.0\nbundle v1.1.0 provides={name}.io/v1/K\n\
         {{\"schema\":\"example.com.extra\",\"package\":\"{name}\",\"name\":\"{name}-extra\"}}"
    )
}

/// A listener, and the client for it.
struct Client {
    tools: PathBuf,
    address: SocketAddr,
}

impl Client {
    fn new(tools: &Path) -> Self {
        Self {
            tools: tools.to_owned(),
            address: SocketAddr::from(([127, 0, 0, 1], fixed_port())),
        }
    }

    /// Calls with these further arguments. Returns whether it succeeded, and everything that came:
    /// headers, messages, trailers and the error.
    fn call(
        &self,
        token: Option<&str>,
        (method, request): (&str, &str),
        more: &[&str],
    ) -> (bool, String) {
        let mut command = Command::new(self.tools.join("grpcurl"));
        command.args([
            "-plaintext",
            "-v",
            "-rpc-header",
            "x-acknowledge-experimental: true",
            "-d",
            request,
        ]);
        if let Some(token) = token {
            command.args(["-rpc-header", &format!("authorization: bearer {token}")]);
        }
        let output = command
            .args(more)
            .arg(self.address.to_string())
            .arg(method)
            .output()
            .expect("it can be started");
        let text = [output.stdout, output.stderr]
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .concat();
        let kept = text
            .lines()
            .filter(|line| !line.starts_with("date:") && !line.starts_with("authorization:"));
        (output.status.success(), kept.collect::<Vec<_>>().join("\n"))
    }

    /// Whether a caller sees a catalog by a call.
    fn sees(&self, token: Option<&str>, name: &str, (method, request): (&str, &str)) -> bool {
        let request = request.replace("NAME", name);
        let (is_answered, text) = self.call(
            token,
            (method, &request),
            &["-rpc-header", &format!("catalog: {name}")],
        );
        let answer = text.split("Response contents:").nth(1).unwrap_or_default();
        is_answered && answer.contains(name)
    }
}

#[test]
fn each_caller_sees_its_catalogs_by_each_call_and_no_other() {
    let Some(tools) = grpc_tools() else { return };
    let [all, of_hidden, of_absent, open] = std::array::from_fn(|_| Client::new(&tools));
    let listeners = [
        format!("--grpc={}", all.address),
        format!("--grpc=secret={}", of_hidden.address),
        format!("--grpc={ABSENT}={}", of_absent.address),
        format!("--grpc={}/auth=none", open.address),
    ];
    let Some(fixture) = Fixture::start_with(content, &listeners) else {
        return;
    };
    for Caller {
        name: caller,
        token,
        sees,
    } in &fixture.callers
    {
        for (name, call) in SERVED
            .into_iter()
            .flat_map(|name| CALLS.map(|call| (name, call)))
        {
            assert_eq!(
                all.sees(Some(token), name, call),
                sees.contains(&name),
                "{caller} {name} {}",
                call.0
            );
        }
    }
    for token in [None, Some("invented")] {
        for call in CALLS.into_iter().chain([HEALTH]) {
            let (is_answered, text) = all.call(token, call, &["-rpc-header", "catalog: openly"]);
            assert!(
                !is_answered && text.contains("Code: Unauthenticated"),
                "{}: {text}",
                call.0
            );
        }
    }
    for token in [
        fixture.token("one"),
        fixture.token("none"),
        fixture.token("stranger"),
    ] {
        nothing_tells_hidden_from_absent(&all, [&of_hidden, &of_absent], token);
    }
    // What the services are is the same for everybody.
    let described = Command::new(tools.join("grpcurl"))
        .args(["-plaintext", &all.address.to_string(), "list"])
        .output();
    assert!(described.expect("it can be started").status.success());

    // OLM v0 sends no token: its listener may be open where the others of the same process are not.
    for token in [None, Some("invented"), Some(fixture.token("none"))] {
        assert!(open.sees(token, "secret", CALLS[0]));
    }
    let (is_answered, text) = all.call(None, CALLS[0], &["-rpc-header", "catalog: secret"]);
    assert!(
        !is_answered && text.contains("Code: Unauthenticated"),
        "{text}"
    );
    let path = "/catalogs/secret/api/v1/all";
    assert_eq!(fixture.get(None, path).status, 401);
}

/// Compares, byte by byte, what comes for a catalog that the caller may not see with what comes for
/// one that is not there.
fn nothing_tells_hidden_from_absent(all: &Client, own: [&Client; 2], token: &str) {
    let names = ["secret", ABSENT];
    for (method, request) in CALLS.into_iter().chain([HEALTH]) {
        for named_by in ["-rpc-header", "-authority"] {
            let [hidden, absent] = names.map(|name| {
                let value = if named_by == "-authority" {
                    format!("{name}.olm.svc:50051")
                } else {
                    format!("catalog: {name}")
                };
                let (is_answered, text) = all.call(
                    Some(token),
                    (method, &request.replace("NAME", name)),
                    &[named_by, &value],
                );
                (is_answered, text.replace(name, "NAME"))
            });
            assert_eq!(hidden, absent, "{method} {named_by}");
        }
        let [hidden, absent] = [0, 1].map(|at| {
            let (is_answered, text) = own[at].call(
                Some(token),
                (method, &request.replace("NAME", names[at])),
                &[],
            );
            (is_answered, text.replace(names[at], "NAME"))
        });
        assert_eq!(hidden, absent, "{method}, a listener of its own");
    }
}
