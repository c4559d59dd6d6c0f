//! `Bundle.installation` of a server, and previews: manifests of catalogs, and of images.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::support::{
    Folders, MediaTypes, Registry, RegistryImage, Server, catalogql, graphql, run, tar_archive,
};

/// A catalog with inline manifests of two versions.
const CATALOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/preview");

/// The package of that catalog, and its bundles.
const PACKAGE: &str = "beacon";
const BUNDLES: [&str; 2] = ["beacon.v1.0.0", "beacon.v1.1.0"];

/// Labels of the image of a bundle.
const LABELS: [(&str, &str); 3] = [
    (
        "operators.operatorframework.io.bundle.mediatype.v1",
        "registry+v1",
    ),
    (
        "operators.operatorframework.io.bundle.manifests.v1",
        "manifests/",
    ),
    (
        "operators.operatorframework.io.bundle.metadata.v1",
        "metadata/",
    ),
];

/// What a preview prints, as GraphQL names it.
const SELECTION: &str = "manifestsFrom targetNamespaces flags
    objects { namespace name manifest digest }
    crds { name scope versions storageVersion conversion }
    webhooks { type name rules failurePolicy namespaces }
    workloads { name serviceAccount images privileged hostNetwork hostPid hostPaths }
    permissions { serviceAccount scope namespaces foreignRole flags
        rules { verbs apiGroups resources resourceNames nonResourceUrls } }
    errors { code message }
    olmV1 { installable judgedFrom }
    difference(from: \"beacon.v1.0.0\") { from flagsGained imagesAdded
        rightsGained { scope namespace apiGroup resource resourceName verbs }
        crdChanges { name check message } }";

/// A registry with the bundles of the catalog, and a catalog that names their images.
struct BundleRegistry {
    registry: Registry,
    folders: Folders,
}

impl BundleRegistry {
    fn start() -> Self {
        let registry = Registry::start();
        let folders = Folders::new();
        let rendered = run(catalogql().args(["render", CATALOG]));
        let blobs = serde_json::Deserializer::from_str(&rendered.stdout).into_iter::<Value>();
        let blobs = blobs.map(|blob| {
            let mut blob = blob.expect("render prints JSON");
            if blob["schema"] == "olm.bundle" {
                let image = bundle_image(&mut blob);
                let digest = registry.push("ns/beacon", "latest", &image);
                blob["image"] = json!(format!("{}/ns/beacon@{digest}", registry.address));
            }
            blob.to_string()
        });
        let blobs: Vec<_> = blobs.collect();
        folders.write("catalog/catalog.json", blobs.join("\n"));
        Self { registry, folders }
    }

    /// Adds blobs to the catalog.
    fn add(&self, blobs: &[Value]) {
        let path = self.folders.text("catalog/catalog.json");
        let former = std::fs::read_to_string(&path).unwrap();
        let added = blobs.iter().map(Value::to_string);
        let all: Vec<_> = [former].into_iter().chain(added).collect();
        self.folders.write("catalog/catalog.json", all.join("\n"));
    }

    fn serve(&self, flags: &[&str]) -> Server {
        let catalog = format!("test={}", self.folders.text("catalog"));
        let address = self.registry.address.to_string();
        let arguments = [&[&*catalog, "--insecure-registry", &*address], flags].concat();
        Server::start(&self.folders, &arguments)
    }
}

/// Moves the inline manifests of a bundle to an image.
fn bundle_image(blob: &mut Value) -> RegistryImage {
    let properties = blob["properties"].as_array_mut().unwrap();
    let mut files = vec![(
        "metadata/annotations.yaml".to_owned(),
        b"annotations: {operators.operatorframework.io.bundle.package.v1: beacon}".to_vec(),
    )];
    properties.retain(|property| {
        if property["type"] != "olm.bundle.object" {
            return true;
        }
        let data = property["value"]["data"].as_str().unwrap();
        let manifest = BASE64_STANDARD.decode(data).unwrap();
        files.push((format!("manifests/{}.yaml", files.len()), manifest));
        false
    });
    let files: Vec<_> = files
        .iter()
        .map(|(name, bytes)| (&**name, &**bytes))
        .collect();
    RegistryImage::image(MediaTypes::Oci, &[tar_archive(&files)], &LABELS)
}

/// Asks for the installation of a bundle.
fn installation(server: &Server, bundle: &str, selection: &str) -> Value {
    let query = format!(
        r#"{{ package(catalog: "test", name: "{PACKAGE}") {{ bundle(name: "{bundle}") {{
            installation(input: {{namespace: "beacon"}}) {{ {selection} }} }} }} }}"#
    );
    serde_json::from_str(&graphql(server.address, &query)).expect("the answer is JSON")
}

/// The installation in an answer without errors.
fn data(answer: &Value) -> Value {
    assert_eq!(answer["errors"], Value::Null, "{answer}");
    answer["data"]["package"]["bundle"]["installation"].clone()
}

/// The code and the message of the only error of an answer.
fn error(answer: &Value) -> (String, String) {
    let errors = answer["errors"].as_array().expect("it has errors");
    assert_eq!(errors.len(), 1, "{answer}");
    let code = errors[0]["extensions"]["code"].as_str().unwrap();
    let message = errors[0]["message"].as_str().unwrap();
    (code.to_owned(), message.to_owned())
}

/// Removes members that are `null` or empty lists, which a preview leaves out, and digests.
fn without_absent(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let is_absent = |value: &Value| value.is_null() || *value == json!([]);
            let kept = members
                .into_iter()
                .filter(|(name, value)| !is_absent(value) && name != "digest")
                .map(|(name, value)| (name, without_absent(value)));
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.into_iter().map(without_absent).collect(),
        other => other,
    }
}

#[test]
fn a_server_says_of_an_install_what_the_preview_prints() {
    let folders = Folders::new();
    let server = Server::start(&folders, &[&format!("test={CATALOG}")]);
    let answer = data(&installation(&server, BUNDLES[1], SELECTION));
    assert_eq!(
        [&answer["manifestsFrom"], &answer["olmV1"]],
        [
            &json!("CATALOG"),
            &json!({"installable": "YES", "judgedFrom": "MANIFESTS"})
        ]
    );
    let printed = run(catalogql().args([
        "preview", CATALOG, PACKAGE, "-n", "beacon", "--from", "1.0.0", "-o", "json",
    ]));
    let printed: Value = serde_json::from_str(&printed.stdout).unwrap();
    let manifests: Vec<_> = answer["objects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|object| object["manifest"].clone())
        .collect();
    assert_eq!(Value::from(manifests), printed["objects"]);
    for (member, same) in [
        ("targetNamespaces", &printed["targetNamespaces"]),
        ("flags", &printed["flags"]),
        ("crds", &printed["crds"]),
        ("webhooks", &printed["webhooks"]),
        ("permissions", &printed["permissions"]),
    ] {
        let spelled = answer[member].to_string().replace("Urls", "URLs");
        let spelled: Value = serde_json::from_str(&spelled).unwrap();
        assert_eq!(
            without_absent(spelled),
            without_absent(same.clone()),
            "{member}"
        );
    }
    assert_eq!(
        answer["difference"],
        json!({
            "from": "beacon.v1.0.0",
            "flagsGained": ["READS_SECRETS"],
            "imagesAdded": ["quay.io/example/beacon:v1.1.0"],
            "rightsGained": [{
                "scope": "CLUSTER", "namespace": null, "apiGroup": "", "resource": "secrets",
                "resourceName": null, "verbs": ["get", "list", "watch"],
            }],
            "crdChanges": printed["difference"]["crdChanges"],
        })
    );
}

#[test]
fn refused_installs_have_their_reasons_and_nothing_else() {
    let folders = Folders::new();
    let server = Server::start(&folders, &[&format!("test={CATALOG}")]);
    let query = r#"{ package(catalog: "test", name: "beacon") { bundle(name: "beacon.v1.1.0") {
        installation(input: {namespace: "beacon", watchNamespaces: ["one", "two"]}) {
            targetNamespaces objects { name } flags errors { code message }
            difference(from: "beacon.v1.0.0") { from } } } } }"#;
    let answer: Value = serde_json::from_str(&graphql(server.address, query)).unwrap();
    let message = "invalid option(s): invalid target namespaces [one two]: supported install modes [AllNamespaces OwnNamespace SingleNamespace] do not support target namespaces [one two]";
    assert_eq!(
        data(&answer),
        json!({
            "targetNamespaces": [], "objects": [], "flags": [],
            "errors": [{"code": "INVALID_TARGET_NAMESPACES", "message": message}],
            "difference": null,
        })
    );
}

#[test]
fn manifests_in_images_give_the_digests_of_inline_ones() {
    let bundles = BundleRegistry::start();
    let inline = Folders::new();
    let inline = Server::start(&inline, &[&format!("test={CATALOG}")]);
    let server = bundles.serve(&["--bundle-images"]);
    for bundle in BUNDLES {
        let mut expected = data(&installation(&inline, bundle, SELECTION));
        assert!(!expected["objects"].as_array().unwrap().is_empty());
        expected["manifestsFrom"] = json!("IMAGE");
        assert_eq!(
            data(&installation(&server, bundle, SELECTION)),
            expected,
            "{bundle}"
        );
    }

    let preview = |source: &str| {
        let address = bundles.registry.address.to_string();
        let flags = ["--insecure-registry", &address, "--from", "1.0.0"];
        let flags = [&flags[..], &["-n", "beacon", "-o", "json"]].concat();
        let output = run(catalogql().args(["preview", source, PACKAGE]).args(flags));
        assert_eq!(output.status, Some(0), "{}", output.stderr);
        output.stdout
    };
    assert_eq!(preview(&bundles.folders.text("catalog")), preview(CATALOG));
}

#[test]
fn manifests_that_were_fetched_are_kept_without_the_registry() {
    let mut bundles = BundleRegistry::start();
    let server = bundles.serve(&["--bundle-images"]);
    let selection = "objects { digest }";
    let first = data(&installation(&server, BUNDLES[0], selection));
    drop(server);
    bundles.registry.stop();
    let server = bundles.serve(&["--bundle-images"]);
    assert_eq!(
        data(&installation(&server, BUNDLES[0], selection)),
        first,
        "they outlive the process"
    );
    let (code, message) = error(&installation(&server, BUNDLES[1], selection));
    assert_eq!(code, "MANIFESTS_UNREACHABLE");
    assert!(message.starts_with("cannot pull the image `"), "{message}");
    let address = bundles.registry.address.to_string();
    let catalog = bundles.folders.text("catalog");
    let preview = run(catalogql()
        .args(["preview", &catalog, PACKAGE, "-n", "beacon"])
        .args(["--insecure-registry", &address]));
    let expected = format!(
        "error: cannot read the manifests of bundle `{}`: ",
        BUNDLES[1]
    );
    assert_eq!(preview.status, Some(2));
    assert!(preview.stderr.starts_with(&expected), "{}", preview.stderr);
    bundles.registry.resume();
    let (code, _) = error(&installation(&server, BUNDLES[1], selection));
    assert_eq!(code, "MANIFESTS_UNREACHABLE", "the failure is remembered");
}

#[test]
fn images_are_fetched_only_by_digest_and_where_the_flag_allows_it() {
    let bundles = BundleRegistry::start();
    let (code, message) = error(&installation(
        &bundles.serve(&[]),
        BUNDLES[0],
        "objects { name }",
    ));
    assert_eq!(code, "MANIFESTS_NOT_FETCHED");
    assert!(
        message.ends_with(
            "which a server fetches only with --bundle-images; `catalogql preview` reads it, too"
        ),
        "{message}"
    );

    let registry = &bundles.registry;
    let empty = RegistryImage::image(MediaTypes::Oci, &[tar_archive(&[])], &[]);
    let digest = registry.push("ns/empty", "latest", &empty);
    let entry = |name: &str, image: &str| {
        json!({
            "schema": "olm.bundle", "package": PACKAGE, "name": name, "image": image,
            "properties": [{"type": "olm.package", "value": {"packageName": PACKAGE, "version": "9.0.0"}}],
        })
    };
    let address = registry.address;
    bundles.add(&[
        entry("tagged", &format!("{address}/ns/beacon:latest")),
        entry("no-bundle", &format!("{address}/ns/empty@{digest}")),
        entry("no-image", ""),
    ]);
    let server = bundles.serve(&["--bundle-images"]);
    let ask = |bundle| error(&installation(&server, bundle, "objects { name }"));
    let message = format!(
        "the catalog has no manifests of bundle `tagged`: its image `{address}/ns/beacon:latest` is not named by digest, so that the server does not fetch it; `catalogql preview` does"
    );
    assert_eq!(ask("tagged"), ("MANIFESTS_NOT_FETCHED".to_owned(), message));
    let message = format!(
        "the image `{address}/ns/empty@{digest}` is not a bundle: it has no label `operators.operatorframework.io.bundle.manifests.v1`"
    );
    assert_eq!(ask("no-bundle"), ("MANIFESTS_REFUSED".to_owned(), message));
    let message =
        "the catalog has no manifests of bundle `no-image`: it has no image either".to_owned();
    assert_eq!(
        ask("no-image"),
        ("MANIFESTS_NOT_FETCHED".to_owned(), message)
    );
}

#[test]
fn a_request_causes_few_pulls() {
    let bundles = BundleRegistry::start();
    let registry = &bundles.registry;
    let blobs = (0..9).map(|number| {
        let csv = format!(
            r#"{{"kind":"ClusterServiceVersion","metadata":{{"name":"many.v{number}"}},"spec":{{"installModes":[{{"type":"AllNamespaces","supported":true}}]}}}}"#
        );
        let files = [
            ("manifests/csv.json", csv.as_bytes()),
            (
                "metadata/annotations.yaml",
                b"annotations: {operators.operatorframework.io.bundle.package.v1: beacon}",
            ),
        ];
        let image = RegistryImage::image(MediaTypes::Oci, &[tar_archive(&files)], &LABELS);
        let digest = registry.push("ns/many", &number.to_string(), &image);
        json!({
            "schema": "olm.bundle", "package": PACKAGE, "name": format!("many.v{number}"),
            "image": format!("{}/ns/many@{digest}", registry.address),
            "properties": [{"type": "olm.package", "value": {"packageName": PACKAGE, "version": format!("{number}.9.9")}}],
        })
    });
    let blobs: Vec<_> = blobs.collect();
    bundles.add(&blobs);
    let server = bundles.serve(&["--bundle-images"]);
    let fields = (0..9).map(|number| {
        format!(
            r#"b{number}: bundle(name: "many.v{number}") {{ installation(input: {{namespace: "n"}}) {{ manifestsFrom }} }}"#
        )
    });
    let fields: Vec<_> = fields.collect();
    let query = format!(
        r#"{{ package(catalog: "test", name: "beacon") {{ {} }} }}"#,
        fields.join(" ")
    );
    let answer: Value = serde_json::from_str(&graphql(server.address, &query)).unwrap();
    let package = answer["data"]["package"].as_object().unwrap();
    let fetched = package
        .values()
        .filter(|bundle| bundle["installation"] == json!({"manifestsFrom": "IMAGE"}));
    assert_eq!(fetched.count(), 8);
    let (code, message) = error(&answer);
    assert_eq!(code, "MANIFESTS_NOT_FETCHED");
    assert!(
        message.ends_with("at most 8 images are fetched for a request"),
        "{message}"
    );
}

#[test]
fn bundles_are_found_by_the_rights_that_their_accounts_get() {
    let folders = Folders::new();
    let server = Server::start(&folders, &[&format!("test={CATALOG}")]);
    let found = |permission: &str| {
        let query = format!(
            r#"{{ package(catalog: "test", name: "beacon") {{
                bundles(filter: {{permission: {{{permission}}}}}) {{ nodes {{ name }} }} }} }}"#
        );
        let answer: Value = serde_json::from_str(&graphql(server.address, &query)).unwrap();
        assert_eq!(answer["errors"], Value::Null, "{answer}");
        let nodes = answer["data"]["package"]["bundles"]["nodes"].clone();
        let mut names: Vec<_> = nodes
            .as_array()
            .unwrap()
            .iter()
            .map(|node| node["name"].as_str().unwrap().to_owned())
            .collect();
        names.sort();
        names
    };
    for (permission, expected) in [
        ("flag: READS_SECRETS", &BUNDLES[1..]),
        ("flag: EXEC", &[]),
        (
            r#"group: "", resource: "secrets", verb: "list""#,
            &BUNDLES[1..],
        ),
        (
            r#"group: "apps", resource: "deployments", verb: "get""#,
            &BUNDLES,
        ),
        (
            r#"group: "apps", resource: "deployments", verb: "delete""#,
            &[],
        ),
        (r#"resource: "deployments", scope: CLUSTER"#, &BUNDLES),
        (r#"resource: "deployments", scope: NAMESPACE"#, &[]),
    ] {
        assert_eq!(found(permission), expected, "{permission}");
    }
}
