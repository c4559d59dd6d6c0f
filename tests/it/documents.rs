//! Documents that the program is given, and what it executes then.

use serde_json::json;

use crate::support::{ETCD, Folders, Server, catalogql, get, graphql, run};

/// As relay-compiler writes it: ids are md5 digests.
const ID: &str = "1bc29b36f623ba82aaf6724fd3b16718";

/// A catalog `etcd`, and a file of documents.
fn folders(documents: &str) -> Folders {
    let folders = Folders::new();
    folders.catalog("etcd", ETCD);
    folders.write("documents.json", documents);
    folders
}

#[test]
fn a_server_that_trusts_some_documents_executes_these_by_their_ids_and_no_others() {
    let folders =
        folders(&json!({ ID: "query Names { packages { nodes { name } } }" }).to_string());
    let documents = folders.text("documents.json");
    let server = Server::start(
        &folders,
        &[
            &folders.text("etcd"),
            "--documents",
            &documents,
            "--trusted-only",
        ],
    );
    let named = get(server.address, &format!("/graphql?documentId={ID}"));
    assert_eq!(
        named,
        (
            200,
            r#"{"data":{"packages":{"nodes":[{"name":"etcd"}]}}}"#.to_owned()
        )
    );
    for query in [
        "{ packages { nodes { name } } }",
        "{ __schema { types { name } } }",
        "{",
    ] {
        let refused = graphql(server.address, query);
        assert!(
            refused.contains(r#""code":"QUERY_NOT_IN_SAFELIST""#) && !refused.contains("\"data\""),
            "{refused}"
        );
    }
    let (_, page) = get(server.address, "/playground/");
    assert!(page.contains("--trusted-only"), "{page}");
}

#[test]
fn documents_that_cannot_be_trusted_end_the_start_with_their_place() {
    let refusal = |documents: &str, flags: &[&str]| {
        let folders = folders(documents);
        let mut command = catalogql();
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--store",
            &folders.text("store"),
            &folders.text("etcd"),
        ]);
        let output = run(command.args(
            flags
                .iter()
                .map(|flag| flag.replace("@/", &folders.text(""))),
        ));
        assert_ne!(output.status, Some(0));
        folders.shown(&output.stderr)
    };
    let file = ["--documents", "@/documents.json"];
    let refused = refusal(r#"{"tiles": "{ packages { nam } }"}"#, &file);
    for part in [
        "@/documents.json",
        "the document \"tiles\" is refused at 1:14",
        "`nam`",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    assert!(refusal("[]", &file).contains("expected a JSON object of documents"));
    assert!(refusal("{}", &["--documents", "@/none.json"]).contains("cannot read `@/none.json`"));
    assert!(refusal("{}", &["--trusted-only"]).contains("--documents"));
}
