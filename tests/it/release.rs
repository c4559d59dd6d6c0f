//! What a release holds besides the program: the list of its crates, their licences, and the folder
//! that is published.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use tar::Archive as TarArchive;

use crate::support::{Folders, Output, catalogql, digest, report_skipped, run, tool_command};

/// Version of the release.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where a test says that its release will be published.
const URL: &str = "https://downloads.example.com/catalogql";

/// Runs a program in the folder of the project and returns what it printed.
fn printed(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("SOURCE_DATE_EPOCH", "0");
    let output = run(&mut command);
    assert_eq!(
        output.status,
        Some(0),
        "{program} {arguments:?}: {}",
        output.stderr
    );
    output.stdout
}

fn sbom(machine: &str) -> Value {
    serde_json::from_str(&printed(
        "python3",
        &["release/third_party.py", "sbom", machine],
    ))
    .expect("it is JSON")
}

fn components(sbom: &Value) -> impl Iterator<Item = &Value> {
    let parts = sbom["components"].as_array().expect("a list").iter();
    parts.chain([&sbom["metadata"]["component"]])
}

fn name(component: &Value) -> String {
    let text = |field: &str| component[field].as_str().expect("a string").to_owned();
    text("name") + "@" + &text("version")
}

/// The crates that cargo names in what a build of the tests' program is made of, by the folders of
/// their sources. Those of build scripts and macros are not among them.
fn sources() -> BTreeSet<String> {
    let tree = [
        "tree",
        "--features=export-parquet,mcp,shared-store,signatures-gpg,source-git",
        "--edges=normal,no-proc-macro",
        "--prefix=none",
        "--locked",
        "--format={p}",
    ];
    let lines = printed(env!("CARGO"), &tree);
    let mut crates = BTreeSet::new();
    for line in lines.lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        crates.insert(format!("{}@{}", words[0], words[1].trim_start_matches('v')));
    }
    crates
}

#[test]
fn the_sbom_names_every_crate_that_is_linked_with_its_licence_and_checksum() {
    let machine = std::env::consts::ARCH;
    let sbom = sbom(machine);
    assert_eq!(
        (&sbom["bomFormat"], &sbom["specVersion"]),
        (&json!("CycloneDX"), &json!("1.6"))
    );
    let is_crate = |component: &&Value| {
        !component["purl"]
            .as_str()
            .expect("a string")
            .starts_with("pkg:npm/")
    };
    let mut named: BTreeSet<_> = components(&sbom).filter(is_crate).map(name).collect();
    assert!(
        named.iter().any(|name| name.starts_with("glibc@")),
        "{named:?}"
    );
    named.retain(|name| !name.starts_with("glibc@"));
    assert_eq!(named, sources());
    for component in components(&sbom).filter(is_crate) {
        let licence = component["licenses"][0]["expression"]
            .as_str()
            .expect("a string");
        assert!(
            !licence.contains(['/', ' '])
                || licence.contains(" OR ")
                || licence.contains(" AND ")
                || licence.contains(" WITH "),
            "{component}"
        );
        let is_published = component["purl"]
            .as_str()
            .expect("a string")
            .starts_with("pkg:cargo/")
            && component.get("hashes").is_some();
        let is_ours = component["version"] == json!(env!("CARGO_PKG_VERSION")) && !is_published;
        assert!(
            is_published || is_ours || component["name"] == "glibc",
            "{component}"
        );
    }
    let dependencies = sbom["dependencies"].as_array().expect("a list");
    assert_eq!(dependencies.len(), named.len());
}

#[test]
fn the_same_lock_file_gives_the_same_sbom() {
    let machine = "aarch64";
    assert_eq!(sbom(machine), sbom(machine));
    assert!(
        sbom(machine)["serialNumber"]
            .as_str()
            .is_some_and(|serial| serial.starts_with("urn:uuid:"))
    );
}

#[test]
fn the_licences_of_what_is_linked_come_with_it() {
    let text = printed(
        "python3",
        &["release/third_party.py", "licenses", std::env::consts::ARCH],
    );
    for part in [
        "tokio ",
        "aws-lc-sys ",
        "zstd-sys ",
        "tikv-jemalloc-sys ",
        "glibc ",
        "Apache License",
        "MIT",
    ] {
        assert!(text.contains(part), "{part}");
    }
    let components: BTreeSet<_> = components(&sbom(std::env::consts::ARCH))
        .map(name)
        .collect();
    for page in ["explorer", "playground"] {
        let path = format!("{}/{page}/dist/licenses.json", env!("CARGO_MANIFEST_DIR"));
        let Ok(licenses) = fs::read_to_string(path) else {
            return report_skipped(
                "npm licences",
                &format!("the {page} was not built"),
                "make pages builds it",
            );
        };
        for package in serde_json::from_str::<Vec<Value>>(&licenses).expect("it is JSON") {
            let [name, version] =
                ["name", "version"].map(|field| package[field].as_str().expect("a string"));
            assert!(
                text.contains(&format!("\n{name} {version} (")),
                "{name} {version}"
            );
            assert!(
                components.contains(&format!("{name}@{version}")),
                "{name} {version}"
            );
        }
    }
}

#[test]
fn the_program_prints_the_licences_that_were_collected_for_it() {
    let printed = run(catalogql().arg("licenses"));
    let collected = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/release/dist/third-party.txt.gz"
    );
    if let Ok(file) = File::open(collected) {
        let mut text = String::new();
        GzDecoder::new(file)
            .read_to_string(&mut text)
            .expect("it was written by gzip");
        assert_eq!(
            (printed.status, printed.stdout == text),
            (Some(0), true),
            "{}",
            printed.stderr
        );
    } else {
        let message = "error: cannot print licences: this program was built without them; `make licenses` collects \
                       them for a build\n";
        assert_eq!(
            (printed.status, printed.stderr.as_str()),
            (Some(1), message)
        );
    }
}

#[test]
fn the_program_brings_the_settings_of_its_allocator() {
    let output = run(catalogql()
        .arg("version")
        .env("MALLOC_CONF", "stats_print:true"));
    for line in [
        "Global variable malloc_conf: \"dirty_decay_ms:1000,thp:never\"",
        "(background_thread: true)",
        "opt.dirty_decay_ms: 1000",
        "opt.thp: \"never\"",
    ] {
        assert!(output.stderr.contains(line), "{line}: {}", output.stderr);
    }
}

/// Packs files of these names as programs of a release, into the folder `release`.
fn pack(folders: &Folders, names: &[String]) -> Output {
    let mut command = Command::new("release/pack.py");
    command
        .args([URL, &folders.text("release")])
        .args(names.iter().map(|name| folders.path(name)))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("SOURCE_DATE_EPOCH", "1000000000");
    run(&mut command)
}

/// Stand-ins for the programs for Linux: packing does not look into them.
const SERVERS: [&str; 4] = [
    "catalogql-V-x86_64",
    "catalogql-V-aarch64",
    "catalogql-V-ppc64le",
    "catalogql-V-s390x",
];

/// Stand-ins for the plugins.
const PLUGINS: [&str; 2] = [
    "kubectl-catalog-V-x86_64",
    "kubectl-catalog-V-x86_64-windows.exe",
];

/// Packs a release of these programs, whose names have a V for the version.
fn release(folders: &Folders, programs: &[&str]) {
    let names: Vec<_> = programs
        .iter()
        .map(|name| name.replace('V', VERSION))
        .collect();
    for name in &names {
        folders.write(name, name);
        folders.write(&format!("{name}.debug"), "line tables");
    }
    let output = pack(folders, &names);
    assert_eq!(output.status, Some(0), "{}", output.stderr);
}

fn packed(folders: &Folders, name: &str) -> Vec<u8> {
    fs::read(folders.path("release").join(name)).expect("the release has the file")
}

/// The files of an archive by their paths.
fn unpacked(archive: impl Read) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in TarArchive::new(archive)
        .entries()
        .expect("it is an archive")
    {
        let mut entry = entry.expect("the archive is whole");
        let path = entry.path().expect("it has a path").display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("it can be read");
        if entry.header().entry_type().is_file() {
            files.insert(path, content);
        }
    }
    files
}

/// The files below a folder by their paths, which begin with `name`.
fn files_below(folder: &Path, name: &str) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        let file = path.file_name().expect("it has a name").display();
        let name = format!("{name}/{file}");
        if path.is_dir() {
            files.append(&mut files_below(&path, &name));
        } else {
            files.insert(name, fs::read(&path).expect("it can be read"));
        }
    }
    files
}

#[test]
fn a_release_is_one_folder_whose_checksums_are_right_and_the_same_each_time() {
    let folders = Folders::new();
    release(&folders, &[&SERVERS[..], &PLUGINS[..]].concat());
    let files = files_below(&folders.path("release"), "release");
    let names: Vec<_> = files
        .keys()
        .map(|path| path.replace("release/", "").replace(VERSION, "V"))
        .collect();
    assert_eq!(
        names,
        [
            "LICENSE",
            "RELEASE-NOTES.md",
            "SHA256SUMS",
            "catalogql-V-aarch64",
            "catalogql-V-aarch64.cdx.json",
            "catalogql-V-aarch64.debug",
            "catalogql-V-aarch64.licenses.txt",
            "catalogql-V-ppc64le",
            "catalogql-V-ppc64le.cdx.json",
            "catalogql-V-ppc64le.debug",
            "catalogql-V-ppc64le.licenses.txt",
            "catalogql-V-s390x",
            "catalogql-V-s390x.cdx.json",
            "catalogql-V-s390x.debug",
            "catalogql-V-s390x.licenses.txt",
            "catalogql-V-x86_64",
            "catalogql-V-x86_64.cdx.json",
            "catalogql-V-x86_64.debug",
            "catalogql-V-x86_64.licenses.txt",
            "catalogql-V.digest",
            "catalogql-V.oci.tar",
            "catalogql-V.tgz",
            "kubectl-catalog-V-linux-amd64.tar.gz",
            "kubectl-catalog-V-windows-amd64.tar.gz",
            "kubectl-catalog-V-x86_64-windows.cdx.json",
            "kubectl-catalog-V-x86_64-windows.licenses.txt",
            "kubectl-catalog-V-x86_64.cdx.json",
            "kubectl-catalog-V-x86_64.licenses.txt",
            "kubectl-catalog-V.krew.yaml",
        ]
    );

    let mut check = Command::new("sha256sum");
    check
        .args(["--check", "--strict", "--quiet", "SHA256SUMS"])
        .current_dir(folders.path("release"));
    let checked = run(&mut check);
    assert_eq!((checked.status, &*checked.stderr), (Some(0), ""));
    let sums = String::from_utf8(packed(&folders, "SHA256SUMS")).expect("it is text");
    assert_eq!(sums.lines().count(), files.len() - 1);
    for (path, content) in &files {
        let machine = env!("CARGO_MANIFEST_DIR").as_bytes();
        let is_named = content.windows(machine.len()).any(|part| part == machine);
        assert!(!is_named, "{path} names the folder of this project");
    }

    release(&folders, &[&SERVERS[..], &PLUGINS[..]].concat());
    assert_eq!(packed(&folders, "SHA256SUMS"), sums.into_bytes());
}

#[test]
fn a_release_has_the_chart_the_plugin_and_the_notes_of_its_version() {
    let folders = Folders::new();
    release(&folders, &PLUGINS);

    let chart = packed(&folders, &format!("catalogql-{VERSION}.tgz"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/helm/catalogql");
    assert_eq!(
        unpacked(GzDecoder::new(&*chart)),
        files_below(&source, "catalogql")
    );

    let manifest = packed(&folders, &format!("kubectl-catalog-{VERSION}.krew.yaml"));
    let manifest: Value = serde_json::from_slice(&manifest).expect("it is JSON");
    for platform in manifest["spec"]["platforms"].as_array().expect("a list") {
        let uri = platform["uri"].as_str().expect("a string");
        let name = uri
            .strip_prefix(&format!("{URL}/"))
            .expect("it is below the URL");
        let archive = packed(&folders, name);
        assert_eq!(
            platform["sha256"],
            digest(&archive).trim_start_matches("sha256:")
        );
        let files = unpacked(GzDecoder::new(&*archive));
        let plugin = platform["bin"].as_str().expect("a string");
        let names: BTreeSet<_> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            BTreeSet::from(["LICENSE", plugin, "third-party.txt"])
        );
    }

    let notes = String::from_utf8(packed(&folders, "RELEASE-NOTES.md")).expect("it is text");
    let title = format!("# catalogql {VERSION}");
    assert!(
        notes.starts_with(&title) && !notes.contains("\n## "),
        "{notes}"
    );
}

/// skopeo copies the image of a release for all machines, with this digest.
fn copies_to(folders: &Folders, told: &str) {
    let archive = folders
        .path("release")
        .join(format!("catalogql-{VERSION}.oci.tar"));
    let copied = run(tool_command("skopeo")
        .args(["copy", "--all", "--preserve-digests", "--quiet"])
        .arg(format!("oci-archive:{}", archive.display()))
        .arg(format!("dir:{}", folders.text("copy"))));
    assert_eq!(copied.status, Some(0), "{}", copied.stderr);
    let index = fs::read(folders.path("copy").join("manifest.json")).expect("it was copied");
    assert_eq!(digest(&index), told);
}

#[test]
fn a_release_has_one_image_for_all_machines_with_the_digest_that_it_names() {
    let folders = Folders::new();
    release(&folders, &SERVERS);
    let archive = packed(&folders, &format!("catalogql-{VERSION}.oci.tar"));
    let layout = unpacked(&*archive);
    let blob = |descriptor: &Value| {
        let named = descriptor["digest"].as_str().expect("a string");
        let content = &layout[&format!("blobs/{}", named.replace(':', "/"))];
        assert_eq!(
            (named, &descriptor["size"]),
            (&*digest(content), &json!(content.len()))
        );
        content
    };
    let json = |descriptor: &Value| -> Value {
        serde_json::from_slice(blob(descriptor)).expect("it is JSON")
    };

    let top: Value = serde_json::from_slice(&layout["index.json"]).expect("it is JSON");
    let index = &top["manifests"][0];
    let told = packed(&folders, &format!("catalogql-{VERSION}.digest"));
    let told = String::from_utf8(told).expect("it is text");
    assert_eq!(index["digest"], told.trim());
    copies_to(&folders, told.trim());

    let index = json(index);
    let images = index["manifests"].as_array().expect("a list");
    let platforms: Vec<_> = images.iter().map(|image| &image["platform"]).collect();
    assert_eq!(
        platforms,
        [
            &json!({"architecture": "amd64", "os": "linux"}),
            &json!({"architecture": "arm64", "os": "linux"}),
            &json!({"architecture": "ppc64le", "os": "linux"}),
            &json!({"architecture": "s390x", "os": "linux"}),
        ]
    );
    for (image, machine) in images.iter().zip(["x86_64", "aarch64", "ppc64le", "s390x"]) {
        let manifest = json(image);
        let config = json(&manifest["config"]);
        assert_eq!(config["created"], "2001-09-09T01:46:40+00:00");
        assert_eq!(
            (&config["architecture"], &config["config"]["User"]),
            (&image["platform"]["architecture"], &json!("65532:65532"))
        );

        let layer = zstd::decode_all(&**blob(&manifest["layers"][0])).expect("it is compressed");
        assert_eq!(config["rootfs"]["diff_ids"], json!([digest(&layer)]));
        let files = unpacked(&*layer);
        let names: Vec<_> = files.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            [
                "catalogql",
                "etc/group",
                "etc/passwd",
                "etc/ssl/certs/ca-certificates.crt",
                "licenses/LICENSE",
                "licenses/third-party.txt.gz",
                "sbom.cdx.json",
            ]
        );
        assert_eq!(
            files["catalogql"],
            format!("catalogql-{VERSION}-{machine}").as_bytes()
        );
        assert_eq!(
            files["sbom.cdx.json"],
            packed(&folders, &format!("catalogql-{VERSION}-{machine}.cdx.json"))
        );
    }
}

#[test]
fn a_program_that_names_folders_of_its_machine_is_not_packed() {
    let folders = Folders::new();
    let name = format!("catalogql-{VERSION}-x86_64");
    folders.write(
        &name,
        concat!("panicked at ", env!("CARGO_MANIFEST_DIR"), "/src/main.rs"),
    );
    let refused = pack(&folders, std::slice::from_ref(&name));
    let message = format!(
        "cannot pack `{}`: it names the folder `{}` of this machine; build it with release/build.sh\n",
        folders.text(&name),
        env!("CARGO_MANIFEST_DIR")
    );
    assert_eq!((refused.status, refused.stderr), (Some(1), message));
    assert!(!folders.path("release").exists());
}

#[test]
fn a_release_replaces_no_folder_but_a_release() {
    let folders = Folders::new();
    let name = format!("kubectl-catalog-{VERSION}-x86_64");
    folders.write(&name, "program");
    folders.write("release/notes.txt", "mine");
    let refused = pack(&folders, &[name]);
    let message = format!(
        "cannot write the release to `{}`: it exists, and has no SHA256SUMS; remove it or name another folder\n",
        folders.text("release")
    );
    assert_eq!((refused.status, refused.stderr), (Some(1), message));
    assert_eq!(packed(&folders, "notes.txt"), b"mine");
}
