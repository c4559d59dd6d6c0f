//! Dependencies between crates. A manifest is a wall that the compiler holds; these tests hold the
//! manifests.

use std::collections::BTreeSet;

use toml::Table;

use crate::{Faults, Tree, catches, holds};

/// The crates, each with the crates of this project that it may depend on. Dependencies of tests do
/// not count.
const ALLOWED: [(&str, &[&str]); 51] = [
    ("build-info", &[]),
    ("drawing", &[]),
    ("fbc-grammar", &[]),
    ("content-digest", &["fbc-grammar"]),
    ("fbc-read", &["fbc-grammar"]),
    // It judges bundles by the rules of the renderer.
    ("fbc", &["fbc-grammar", "fbc-read", "install-preview"]),
    ("fbc-graph", &["fbc", "fbc-grammar"]),
    ("install-preview", &["fbc-grammar", "fbc-read"]),
    ("http-content", &[]),
    ("metrics", &[]),
    ("olm-api", &[]),
    ("signature-policy", &["content-digest", "fbc-grammar"]),
    ("admission", &[]),
    (
        "edit",
        &["content-digest", "fbc", "fbc-grammar", "fbc-read"],
    ),
    ("export", &["fbc", "fbc-grammar", "fbc-read"]),
    ("solve", &["fbc", "fbc-grammar", "fbc-graph"]),
    ("platform-upgrade", &["fbc", "fbc-grammar", "fbc-graph"]),
    (
        "mirror",
        &["fbc", "fbc-grammar", "fbc-graph", "fbc-read", "solve"],
    ),
    (
        "images",
        &[
            "content-digest",
            "fbc-grammar",
            "metrics",
            "signature-policy",
        ],
    ),
    // It trusts certificates as registries do.
    (
        "remote-sources",
        &["content-digest", "fbc-grammar", "images", "metrics"],
    ),
    (
        "store",
        &[
            "content-digest",
            "fbc",
            "fbc-grammar",
            "fbc-read",
            "http-content",
        ],
    ),
    ("serving", &["fbc", "fbc-grammar", "http-content"]),
    // It knows objects, and neither catalogs nor the store on disk.
    (
        "shared-store",
        &["content-digest", "fbc-grammar", "metrics"],
    ),
    // It knows no catalogs: neither the views that it serves nor what they show.
    ("http-server", &["admission", "metrics"]),
    (
        "loading",
        &[
            "fbc",
            "fbc-grammar",
            "fbc-read",
            "http-content",
            "images",
            "metrics",
            "remote-sources",
            "serving",
            "shared-store",
            "store",
        ],
    ),
    (
        "bundle-images",
        &[
            "admission",
            "content-digest",
            "fbc-grammar",
            "images",
            "install-preview",
            "metrics",
            "store",
        ],
    ),
    // Files are read as the loader reads them.
    ("edit-directory", &["edit", "fbc-grammar", "loading"]),
    ("auth", &["admission", "serving"]),
    (
        "controller",
        &[
            "fbc-grammar",
            "fbc-read",
            "images",
            "loading",
            "metrics",
            "olm-api",
            "serving",
        ],
    ),
    (
        "graphql",
        &[
            "admission",
            "fbc",
            "fbc-grammar",
            "fbc-graph",
            "fbc-read",
            "http-content",
            "install-preview",
            "metrics",
            "mirror",
            "platform-upgrade",
            "serving",
            "solve",
        ],
    ),
    (
        "graphql-http",
        &[
            "admission",
            "fbc-grammar",
            "graphql",
            "http-content",
            "metrics",
            "serving",
        ],
    ),
    (
        "alpha-graphql",
        &[
            "admission",
            "fbc",
            "fbc-grammar",
            "fbc-read",
            "graphql",
            "http-content",
            "metrics",
            "serving",
        ],
    ),
    // Its tools are documents.
    (
        "mcp",
        &[
            "admission",
            "build-info",
            "graphql",
            "http-content",
            "serving",
        ],
    ),
    (
        "catalogd-http",
        &["admission", "fbc", "fbc-grammar", "http-content", "serving"],
    ),
    (
        "renovate-http",
        &[
            "admission",
            "fbc",
            "fbc-grammar",
            "fbc-graph",
            "http-content",
            "serving",
        ],
    ),
    (
        "feeds-http",
        &["admission", "fbc", "fbc-grammar", "http-content", "serving"],
    ),
    (
        "kube-api",
        &[
            "admission",
            "fbc",
            "fbc-grammar",
            "fbc-read",
            "http-content",
            "serving",
        ],
    ),
    (
        "grpc",
        &[
            "admission",
            "fbc",
            "fbc-grammar",
            "fbc-read",
            "metrics",
            "serving",
        ],
    ),
    // An edit is served by a load of its directory.
    (
        "edit-http",
        &[
            "admission",
            "edit",
            "edit-directory",
            "fbc-grammar",
            "http-content",
            "loading",
            "serving",
        ],
    ),
    ("pages", &["admission", "http-content"]),
    // It keeps its position as the loader keeps its state.
    (
        "webhooks",
        &["fbc-grammar", "loading", "metrics", "serving"],
    ),
    // It names what other crates count.
    (
        "server-metrics",
        &[
            "alpha-graphql",
            "build-info",
            "bundle-images",
            "controller",
            "fbc-read",
            "graphql",
            "graphql-http",
            "grpc",
            "http-server",
            "images",
            "loading",
            "metrics",
            "remote-sources",
            "serving",
            "webhooks",
        ],
    ),
    ("printing", &[]),
    // It compares versions as catalogs do.
    ("commands", &["drawing", "fbc-grammar", "printing"]),
    // It executes the operations of `commands` on an engine over catalogs that it loads.
    (
        "local-commands",
        &[
            "build-info",
            "bundle-images",
            "commands",
            "content-digest",
            "edit",
            "edit-directory",
            "export",
            "fbc",
            "fbc-grammar",
            "fbc-graph",
            "fbc-read",
            "graphql",
            "images",
            "install-preview",
            "loading",
            "mcp",
            "mirror",
            "printing",
            "remote-sources",
            "serving",
            "signature-policy",
            "solve",
            "store",
        ],
    ),
    // It reads neither catalogs nor the sources that a user names.
    (
        "catalog-server",
        &[
            "admission",
            "alpha-graphql",
            "auth",
            "build-info",
            "bundle-images",
            "catalogd-http",
            "commands",
            "controller",
            "edit-http",
            "feeds-http",
            "graphql",
            "graphql-http",
            "grpc",
            "http-content",
            "http-server",
            "kube-api",
            "loading",
            "mcp",
            "metrics",
            "pages",
            "renovate-http",
            "server-metrics",
            "serving",
            "store",
            "webhooks",
        ],
    ),
    ("catalogql-client", &[]),
    (
        "kubectl-catalog",
        &["catalogql-client", "commands", "printing"],
    ),
    (
        "testing",
        &["drawing", "fbc", "fbc-grammar", "fbc-graph", "fbc-read"],
    ),
    (
        "fuzzing",
        &[
            "content-digest",
            "fbc",
            "fbc-grammar",
            "fbc-graph",
            "fbc-read",
            "graphql",
            "images",
            "remote-sources",
            "serving",
            "signature-policy",
            "solve",
            "testing",
        ],
    ),
    ("workspace-hack", &[]),
];

/// Crates that only tests, benches and fuzzing may depend on.
const FOR_TESTS: [&str; 2] = ["fuzzing", "testing"];

/// Libraries that only some crates may depend on, each with those crates (`catalogql` is the
/// program).
const RESERVED: [(&str, &[&str]); 43] = [
    // Pure crates wait for nothing and reach nothing.
    (
        "tokio",
        &[
            "images",
            "remote-sources",
            "shared-store",
            "admission",
            "serving",
            "http-server",
            "loading",
            "bundle-images",
            "webhooks",
            "auth",
            "controller",
            "graphql",
            "graphql-http",
            "mcp",
            "edit-http",
            "alpha-graphql",
            "kube-api",
            "grpc",
            "local-commands",
            "catalog-server",
            "catalogql",
            "catalogql-client",
            "kubectl-catalog",
        ],
    ),
    (
        "reqwest",
        &[
            "images",
            "remote-sources",
            // It turns on the TLS of the others for the library of object stores.
            "shared-store",
            "http-server",
            "webhooks",
            "catalogql-client",
        ],
    ),
    ("object_store", &["shared-store"]),
    ("oci-client", &["images"]),
    (
        "rustls",
        &[
            "images",
            "http-server",
            "auth",
            "webhooks",
            "testing",
            "catalog-server",
            "catalogql-client",
        ],
    ),
    ("tokio-rustls", &["http-server"]),
    ("rcgen", &["testing", "catalogql", "signature-policy"]),
    ("yasna", &["auth", "http-server", "signature-policy"]),
    // Who signed an image is decided in one place.
    ("rustls-webpki", &["signature-policy"]),
    ("pgp", &["signature-policy"]),
    ("tar", &["images", "local-commands", "testing"]),
    ("memmap2", &["store"]),
    ("parquet", &["export"]),
    ("rmcp", &["mcp"]),
    // Bytes become records in one place.
    ("yoke", &["fbc"]),
    ("zerocopy", &["fbc"]),
    ("rustix", &["loading", "http-server", "catalog-server"]),
    (
        "axum",
        &[
            "http-server",
            "graphql-http",
            "alpha-graphql",
            "mcp",
            "catalogd-http",
            "edit-http",
            "feeds-http",
            "kube-api",
            "grpc",
            "pages",
            "renovate-http",
            "catalog-server",
        ],
    ),
    ("quick-xml", &["feeds-http"]),
    // A WebSocket is an upgraded connection of hyper.
    ("hyper", &["graphql-http", "http-server"]),
    ("h2", &["http-server"]),
    ("tonic", &["grpc"]),
    ("prost", &["grpc", "catalogql"]),
    ("tokio-tungstenite", &["graphql-http"]),
    ("apollo-compiler", &["graphql", "alpha-graphql"]),
    ("batsat", &["solve"]),
    ("quick_cache", &["auth", "serving"]),
    ("cel", &["solve"]),
    ("stacker", &["solve"]),
    ("strsim", &["commands", "fbc", "graphql"]),
    (
        "clap",
        &[
            "catalog-server",
            "catalogql",
            "commands",
            "kubectl-catalog",
            "local-commands",
            "testing",
        ],
    ),
    ("anyhow", &["catalog-server", "catalogql", "local-commands"]),
    ("tracing-subscriber", &["catalogql", "local-commands"]),
    // Commands print; rooms return what they found.
    ("comfy-table", &["printing"]),
    ("graphql_client", &["catalogql-client"]),
    // Crates count; the server writes the text, with names that the program gives.
    ("prometheus-client", &["http-server", "metrics"]),
    // Loads and requests to registries take part in a trace; the server exports traces.
    ("opentelemetry", &["images", "loading", "http-server"]),
    ("opentelemetry_sdk", &["http-server"]),
    ("opentelemetry-otlp", &["http-server"]),
    ("saphyr-parser", &["fbc-read"]),
    (
        "kube",
        &["auth", "olm-api", "controller", "catalogql-client"],
    ),
    (
        "k8s-openapi",
        &["auth", "olm-api", "controller", "catalogql-client"],
    ),
    ("schemars", &["mcp", "olm-api"]),
];

#[test]
fn a_crate_depends_only_on_the_crates_that_it_may_know() {
    holds(edges);
    let manifest = |name: &str, dependencies: &str| {
        format!("[package]\nname = \"{name}\"\n[dependencies]\n{dependencies}")
    };
    let (fbc, store, view) = (
        manifest("fbc", "serde.workspace = true\n"),
        manifest("store", "fbc.workspace = true\n"),
        manifest(
            "graphql",
            "fbc.workspace = true\nserving = { workspace = true }\n",
        ),
    );
    catches(
        edges,
        &[
            ("crates/fbc/Cargo.toml", &manifest("fbc", "tokio = \"1\"")),
            (
                "crates/fbc/Cargo.toml",
                &manifest("fbc", "runtime = { package = \"tokio\", version = \"1\" }"),
            ),
            (
                "crates/fbc/Cargo.toml",
                &manifest("fbc", "store.workspace = true"),
            ),
            (
                "crates/fbc/Cargo.toml",
                &manifest("fbc", "shelf = { path = \"../store\" }"),
            ),
            (
                "crates/fbc/Cargo.toml",
                "[package]\nname = \"fbc\"\n[target.'cfg(unix)'.dependencies]\ntokio = \"1\"",
            ),
            (
                "crates/graphql/Cargo.toml",
                &manifest("graphql", "loading.workspace = true"),
            ),
            (
                "crates/graphql/Cargo.toml",
                &manifest("graphql", "catalogd-http.workspace = true"),
            ),
            (
                "crates/store/Cargo.toml",
                &manifest("store", "testing.workspace = true"),
            ),
            ("crates/new/Cargo.toml", &manifest("new", "")),
        ],
        &[
            ("crates/fbc/Cargo.toml", &fbc),
            ("crates/store/Cargo.toml", &store),
            ("crates/graphql/Cargo.toml", &view),
            (
                "Cargo.toml",
                &manifest(
                    "catalogql",
                    "store.workspace = true\n[dev-dependencies]\ntesting.workspace = true",
                ),
            ),
        ],
    );
}

/// Dependencies that a manifest may not have.
fn edges(tree: &Tree) -> Faults {
    let mut faults = Faults::new();
    for (path, text) in manifests(tree) {
        let manifest: Table = text
            .parse()
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        let Some(name) = manifest
            .get("package")
            .and_then(|package| package["name"].as_str())
        else {
            continue;
        };
        let own = ALLOWED
            .iter()
            .find(|(other, _)| *other == name)
            .map(|(_, allowed)| *allowed);
        if own.is_none() && name != "catalogql" {
            faults.push(format!(
                "{path}: the crate `{name}` is not in ALLOWED of tests/tidy/crates.rs: add it"
            ));
            continue;
        }
        for dependency in dependencies(&manifest, &["dependencies", "build-dependencies"]) {
            let is_ours = ALLOWED.iter().any(|(other, _)| *other == dependency);
            let is_allowed = match own {
                Some(allowed) => allowed.contains(&dependency.as_str()),
                None => !FOR_TESTS.contains(&dependency.as_str()),
            };
            if is_ours && !is_allowed {
                faults.push(format!(
                    "{path}: `{name}` may not depend on `{dependency}`: move what both need further down"
                ));
            }
            let reserved = RESERVED.iter().find(|(library, _)| *library == dependency);
            if let Some((_, users)) = reserved.filter(|(_, users)| !users.contains(&name)) {
                faults.push(format!(
                    "{path}: `{name}` may not depend on `{dependency}`, only {users:?} may"
                ));
            }
        }
    }
    faults
}

#[test]
fn every_dependency_has_its_reason() {
    holds(reasons);
    let manifest = "[package]\nname = \"fbc\"\n[dependencies]\nserde = \"1\"\n[dev-dependencies]\nstore.workspace = true";
    let good = [
        (
            REASONS,
            "| dependency | for |\n|---|---|\n| serde | JSON |\n",
        ),
        ("crates/fbc/Cargo.toml", manifest),
    ];
    let more = format!("{manifest}\nproptest = \"1\"");
    let fewer = manifest.replace("serde = \"1\"", "");
    catches(
        reasons,
        &[
            ("crates/fbc/Cargo.toml", &more),
            ("crates/fbc/Cargo.toml", &fewer),
        ],
        &good,
    );
}

/// Where each dependency is argued for.
const REASONS: &str = "docs/decisions/dependencies.md";

/// Dependencies without a reason, and reasons without a dependency.
fn reasons(tree: &Tree) -> Faults {
    let rows = tree
        .text(REASONS)
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let named: BTreeSet<_> = rows
        .flat_map(|cell| cell.split(", "))
        .filter(|name| *name != "dependency")
        .collect();
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let used = manifests(tree).flat_map(|(path, text)| {
        dependencies(
            &text
                .parse()
                .unwrap_or_else(|error| panic!("{path}: {error}")),
            &kinds,
        )
    });
    let used: BTreeSet<_> = used
        .filter(|name| !ALLOWED.iter().any(|(ours, _)| ours == name))
        .collect();
    let missing = used.iter().filter(|name| !named.contains(name.as_str()));
    let missing =
        missing.map(|name| format!("{REASONS}: `{name}` is used and not argued for: add its row"));
    let unused = named.iter().filter(|name| !used.contains(**name));
    missing
        .chain(unused.map(|name| format!("{REASONS}: `{name}` is not used: remove its row")))
        .collect()
}

/// The manifests with dependencies that code uses.
fn manifests(tree: &Tree) -> impl Iterator<Item = (&str, &str)> {
    // The one of `workspace-hack` only turns on features of what others depend on.
    tree.ending("Cargo.toml").filter(|(path, _)| {
        !path.starts_with("fuzz/") && *path != "crates/workspace-hack/Cargo.toml"
    })
}

/// The packages that a crate depends on in these ways, whatever its manifest calls them.
fn dependencies(manifest: &Table, kinds: &[&str]) -> BTreeSet<String> {
    let mut tables = vec![manifest];
    tables.extend(
        manifest
            .get("target")
            .and_then(|all| all.as_table())
            .into_iter()
            .flat_map(|all| all.values().filter_map(|target| target.as_table())),
    );
    let lists = tables
        .into_iter()
        .flat_map(|table| kinds.iter().map(|kind| table.get(*kind)?.as_table()));
    let package = |(name, what): (&String, &toml::Value)| {
        let named = what.get("package").and_then(|package| package.as_str());
        let path = what
            .get("path")
            .and_then(|path| path.as_str())
            .and_then(|path| path.rsplit('/').next());
        named.or(path).unwrap_or(name).to_owned()
    };
    lists
        .flatten()
        .flat_map(|list| list.iter().map(package))
        .collect()
}
