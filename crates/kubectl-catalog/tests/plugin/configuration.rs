//! Which server is meant by the configuration file, and what needs no server.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use graphql::Engine;
use graphql::documents::DocumentPolicy;
use graphql::limits::Limits;
use serde_json::Value;
use serving::catalogs;
use testing::{digest, eventually};

use crate::support::{Output, Server, example};

/// Runs the plugin without the variable that names the server, with a configuration and a
/// kubeconfig file.
fn run(server: &Server, configuration: &str, arguments: &[&str]) -> Output {
    server.folders.write(
        "config/catalogql/config.yaml",
        configuration.replace("SERVER", &server.url()),
    );
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: near\nclusters: []\ncontexts: []\nusers: []\n";
    server.folders.write("kubeconfig", kubeconfig);
    let mut command = server.plugin(arguments);
    command
        .env_remove("CATALOGQL_SERVER")
        .env("XDG_CONFIG_HOME", server.folders.path("config"));
    let output = command
        .env("KUBECONFIG", server.folders.path("kubeconfig"))
        .output()
        .expect("it can be started");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    Output {
        status: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

#[test]
fn the_configuration_file_names_servers_by_context() {
    let server = example();
    let names = ["get", "catalogs", "-o", "name"];
    let found = Output {
        status: Some(0),
        stdout: "catalog/example\n".to_owned(),
        stderr: String::new(),
    };
    assert_eq!(run(&server, "server: SERVER\n", &names), found);
    let contexts = "server: http://127.0.0.1:1\ncontexts:\n  near: {server: SERVER}\n  far: {}\n";
    assert_eq!(run(&server, contexts, &names), found);
    let other = [&names[..], &["--context", "another"]].concat();
    assert!(
        run(&server, contexts, &other)
            .stderr
            .contains("http://127.0.0.1:1/graphql")
    );
    // In this context, the server of the cluster is looked for.
    let far = run(
        &server,
        contexts,
        &[&names[..], &["--context", "far"]].concat(),
    );
    assert!(
        far.status == Some(3) && !far.stderr.contains("127.0.0.1"),
        "{far:?}"
    );
    // What the command line says counts more.
    let closed = "server: http://127.0.0.1:1\n";
    assert_eq!(
        run(
            &server,
            closed,
            &[&names[..], &["--server", &server.url()]].concat()
        ),
        found
    );
    let unknown = run(&server, "sever: x\n", &names);
    assert!(
        unknown.status == Some(2) && unknown.stderr.contains("config.yaml: "),
        "{unknown:?}"
    );
    assert!(
        unknown.stderr.contains("hint: its keys are `server`"),
        "{unknown:?}"
    );
}

#[test]
fn the_address_of_the_explorer_is_printed_and_shown_in_a_browser() {
    let server = example();
    let url = server.url();
    server.ends(&["open"], 0, &format!("{url}/\n"), "");
    server.ends(
        &["open", "example/quillstore"],
        0,
        &format!("{url}/?catalog=example&package=quillstore\n"),
        "",
    );
    // What a desktop would start.
    let program = server.folders.path("bin/xdg-open");
    server.folders.write(
        "bin/xdg-open",
        "#!/bin/sh\nprintf %s \"$1\" > \"$0.tmp\" && mv \"$0.tmp\" \"$0.url\"\n",
    );
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = format!(
        "{}:{}",
        server.folders.text("bin"),
        std::env::var("PATH").unwrap_or_default()
    );
    let output = server
        .plugin(&["open", "quillstore", "--browser"])
        .env("PATH", path)
        .output()
        .expect("it can be started");
    assert!(output.status.success(), "{output:?}");
    let shown = eventually(|| std::fs::read_to_string(program.with_extension("url")).ok());
    assert_eq!(shown, format!("{url}/?package=quillstore"));
    // A server that cannot be asked may have the package.
    server.ends(
        &["open", "a b", "--server", "http://127.0.0.1:1"],
        0,
        "http://127.0.0.1:1/?package=a+b\n",
        "",
    );
    let none = server
        .plugin(&["open", "--browser"])
        .env("PATH", "/nowhere")
        .output()
        .expect("it can be started");
    assert_eq!(none.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&none.stderr).starts_with("error: cannot run `xdg-open`: "),
        "{none:?}"
    );
}

#[test]
fn a_server_that_trusts_the_printed_documents_needs_no_others() {
    let server = example();
    let printed = server
        .run(&["documents", "--server", "http://127.0.0.1:1"])
        .stdout;
    let documents: Value = serde_json::from_str(&printed).expect("it is JSON");
    for (id, text) in documents.as_object().expect("it is an object") {
        assert_eq!(
            format!("sha256:{id}"),
            digest(text.as_str().expect("it is text").as_bytes())
        );
    }
    let mut engine = Engine::new(catalogs().1, "test", Limits::default());
    let count = engine.trust(&printed).expect("every document is valid");
    let files = |folder: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        std::fs::read_dir(folder)
            .expect("there are documents")
            .count()
    };
    let folders = ["documents", "../commands/documents", "../client/documents"];
    assert_eq!(count, folders.into_iter().map(files).sum::<usize>());
    engine.set_policy(DocumentPolicy::TrustedOnly);
    let trusting = Server::start_of(engine);
    trusting.ends(&["get", "packages"], 0, "", "nothing found\n");
    let refused = trusting.run(&["query", "{ catalogs { name } }"]);
    assert!(
        refused.status == Some(6) && refused.stderr.contains("QUERY_NOT_IN_SAFELIST"),
        "{refused:?}"
    );
}
