//! How much memory the preview of a bundle takes at most: ordinary and hostile manifests.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use install_preview::summary::InstallSummary;
use install_preview::{BundleManifestFile, RegistryBundle, RenderOptions, render};
use testing::Folders;

use crate::{HEAP, LOAD, MIB, run};

/// The test that a process with a bundle runs.
const NAME: &str = "previews::a_preview_takes_at_most_eight_times_the_memory_of_its_manifests";

/// Most bytes of memory for each byte of the manifests of an ordinary bundle.
const PER_BYTE: usize = 8;

/// Most bytes of memory for hostile manifests.
const MOST: usize = 128 * MIB;

/// A hostile bundle: its manifests, and what the outcome says.
type HostileBundle = (&'static str, fn() -> Vec<String>, &'static str);

const HOSTILE: [HostileBundle; 10] = [
    (
        "100,000 rules",
        || vec![permissions(&list("{\"verbs\":[\"get\"]}", 100_000))],
        "TOO_LARGE",
    ),
    (
        "as many rules as are read",
        || {
            vec![permissions(&list(
                "{\"apiGroups\":[\"\"],\"resources\":[\"a\"],\"verbs\":[\"get\"]}",
                10_000,
            ))]
        },
        "rendered",
    ),
    ("a CSV of 20 MiB", || vec![annotated(20 * MIB)], "TOO_LARGE"),
    (
        "names of 1 MiB in each right",
        || {
            let verbs: Vec<_> = (0..1_000).map(|at| format!("\"{at}\"")).collect();
            let verbs = format!("[{}]", verbs.join(","));
            let long = "x".repeat(MIB);
            vec![permissions(&format!(
                "[{{\"apiGroups\":[\"\"],\"resources\":[\"a\"],\"resourceNames\":[\"{long}\"],\"verbs\":{verbs}}}]"
            ))]
        },
        "TOO_LARGE",
    ),
    (
        "a path of 1 MiB",
        || {
            let long = "x".repeat(MIB);
            vec![permissions(&format!(
                "[{{\"nonResourceURLs\":[\"/{long}\"],\"verbs\":[\"get\"]}},{{\"nonResourceURLs\":[\"/*\"],\"verbs\":[\"get\"]}}]"
            ))]
        },
        "rendered",
    ),
    (
        "aliases of aliases",
        || vec![csv("{}", "{}"), aliases()],
        "UNREADABLE_MANIFEST",
    ),
    (
        "empty deployments",
        || {
            vec![csv(
                "{}",
                &format!("{{\"deployments\":{}}}", list("{}", MIB)),
            )]
        },
        "TOO_LARGE",
    ),
    (
        "deployments with the annotations of the CSV",
        || {
            let annotation = format!("{{\"a\":\"{}\"}}", "x".repeat(2 * MIB));
            vec![csv(
                &annotation,
                &format!("{{\"deployments\":{}}}", list("{\"name\":\"a\"}", 1_000)),
            )]
        },
        "DUPLICATE_DEPLOYMENT",
    ),
    (
        "an object of many small ones",
        || {
            let list = list("{\"a\":0}", 500_000);
            vec![
                csv("{}", "{}"),
                format!("{{\"kind\":\"ConfigMap\",\"a\":{list}}}"),
            ]
        },
        "rendered",
    ),
    (
        "a role with many subjects",
        || {
            let rules = list(
                "{\"apiGroups\":[\"\"],\"resources\":[\"a\"],\"verbs\":[\"get\"]}",
                10_000,
            );
            let subjects = list("{\"kind\":\"ServiceAccount\",\"name\":\"a\"}", 50_000);
            vec![
                csv("{}", "{}"),
                format!(
                    "{{\"kind\":\"ClusterRole\",\"metadata\":{{\"name\":\"r\"}},\"rules\":{rules}}}"
                ),
                format!(
                    "{{\"kind\":\"ClusterRoleBinding\",\"metadata\":{{\"name\":\"b\"}},\"roleRef\":{{\"kind\":\"ClusterRole\",\"name\":\"r\"}},\"subjects\":{subjects}}}"
                ),
            ]
        },
        "TOO_LARGE",
    ),
];

fn list(item: &str, count: usize) -> String {
    format!("[{}]", vec![item; count].join(","))
}

/// A CSV with these annotations and this install strategy.
fn csv(annotations: &str, strategy: &str) -> String {
    format!(
        "{{\"kind\":\"ClusterServiceVersion\",\"metadata\":{{\"name\":\"a.v1\",\"annotations\":{annotations}}},\"spec\":{{\"installModes\":[{{\"type\":\"AllNamespaces\",\"supported\":true}}],\"install\":{{\"spec\":{strategy}}}}}}}"
    )
}

fn permissions(rules: &str) -> String {
    csv(
        "{}",
        &format!("{{\"clusterPermissions\":[{{\"serviceAccountName\":\"a\",\"rules\":{rules}}}]}}"),
    )
}

fn annotated(bytes: usize) -> String {
    csv(&format!("{{\"a\":\"{}\"}}", "x".repeat(bytes)), "{}")
}

fn aliases() -> String {
    let mut text = String::from("kind: Secret\na0: &a0 [xxxxxxxxxxxxxxxx]\n");
    for at in 1..40 {
        let before = at - 1;
        let _ = writeln!(text, "a{at}: &a{at} [*a{before}, *a{before}, *a{before}]");
    }
    text
}

/// A bundle as operators have them: a CSV of 300 KiB with examples and rules, and 20 definitions of
/// 100 KiB each, with described fields.
fn ordinary() -> Vec<String> {
    let rule = "{\"apiGroups\":[\"example.com\"],\"resources\":[\"as\",\"as/status\"],\"verbs\":[\"get\",\"list\",\"watch\"]}";
    let pod = "{\"spec\":{\"serviceAccountName\":\"a\",\"containers\":[{\"name\":\"a\",\"image\":\"example.com/a:1\",\"env\":[{\"name\":\"A\",\"value\":\"b\"}]}]}}";
    let strategy = format!(
        "{{\"clusterPermissions\":[{{\"serviceAccountName\":\"a\",\"rules\":{}}}],\"deployments\":[{{\"name\":\"a\",\"spec\":{{\"template\":{pod}}}}}]}}",
        list(rule, 200)
    );
    let annotations = format!("{{\"alm-examples\":\"{}\"}}", "x".repeat(250 * 1024));
    let mut files = vec![csv(&annotations, &strategy)];
    for at in 0..20 {
        let field = format!(
            "{{\"type\":\"string\",\"description\":\"{}\"}}",
            "A field. ".repeat(20)
        );
        let fields: Vec<_> = (0..450).map(|at| format!("\"f{at}\":{field}")).collect();
        files.push(format!(
            "{{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{{\"name\":\"a{at}s.example.com\"}},\"spec\":{{\"group\":\"example.com\",\"scope\":\"Namespaced\",\"names\":{{\"kind\":\"A{at}\",\"plural\":\"a{at}s\"}},\"versions\":[{{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{{\"openAPIV3Schema\":{{\"type\":\"object\",\"properties\":{{{}}}}}}}}}]}}}}",
            fields.join(",")
        ));
    }
    files
}

/// Previews the bundle of a folder, and prints what was on the heap at most and what became of it.
fn preview(folder: &Path) {
    let mut names: Vec<_> = fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("the folder can be read").path())
        .collect();
    names.sort();
    let files: Vec<_> = names
        .iter()
        .map(|path| BundleManifestFile {
            name: "file.yaml".into(),
            bytes: fs::read(path).expect("the file can be read").into(),
        })
        .collect();
    let outcome = outcome(&files)
        .err()
        .map_or("rendered".to_owned(), |errors| {
            errors
                .iter()
                .map(|error| error.code.to_string())
                .collect::<Vec<_>>()
                .join(" ")
        });
    println!("\npeak {} {outcome}", HEAP.max_allocated());
}

fn outcome(files: &[BundleManifestFile<'_>]) -> Result<(), Vec<install_preview::PreviewError>> {
    let bundle = RegistryBundle::read("a", files).map_err(|error| vec![error])?;
    let rendering = render(&bundle, &RenderOptions::default())?;
    let summary = InstallSummary::of(&rendering, "own").map_err(|error| vec![error])?;
    // As a preview with another version does.
    drop(summary.difference_from(&summary));
    Ok(())
}

fn write(folders: &Folders, files: &[String]) -> usize {
    for (at, text) in files.iter().enumerate() {
        folders.write(&format!("bundle/{at:04}.yaml"), text);
    }
    files.iter().map(String::len).sum()
}

#[test]
fn a_preview_takes_at_most_eight_times_the_memory_of_its_manifests() {
    if let Some(folder) = env::var_os(LOAD) {
        return preview(Path::new(&folder));
    }
    let folders = Folders::new();
    let bytes = write(&folders, &ordinary());
    let (peak, outcome) = run(NAME, &folders.path("bundle"));
    println!(
        "{} KiB of manifests, {} KiB of memory",
        bytes / 1024,
        peak / 1024
    );
    assert_eq!(outcome, "rendered");
    assert!(peak <= PER_BYTE * bytes, "{peak} for {bytes}");

    for (name, files, expected) in HOSTILE {
        let folders = Folders::new();
        let bytes = write(&folders, &files());
        let (peak, outcome) = run(NAME, &folders.path("bundle"));
        println!(
            "{name}: {} KiB, {} KiB of memory: {outcome}",
            bytes / 1024,
            peak / 1024
        );
        assert!(outcome.contains(expected), "{name}: {outcome}");
        assert!(peak <= MOST, "{name}: {peak}");
    }
}
