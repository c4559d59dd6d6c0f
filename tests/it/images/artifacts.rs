//! Catalogs that are OCI artifacts: as `oras push` makes them of files and directories, and as Flux
//! does.

use std::collections::BTreeMap;
use std::fs;

use images::ImageKind;
use images::unpack::{CatalogRoot, UnpackLimits, UnpackedEntry, unpack};
use testing::ArtifactLayer;

use super::{pull, settings};
use crate::support::{Folders, MediaTypes, Registry, RegistryImage, digest, tar_archive};

/// The type that oras gives an artifact for which it is told none.
const UNKNOWN: &str = "application/vnd.unknown.artifact.v1";

const TAR: &str = "application/vnd.oci.image.layer.v1.tar";

/// Pulls an artifact, and returns the files in it with their texts; an error is its text.
async fn files(registry: &Registry, artifact: &RegistryImage) -> Result<Files, String> {
    registry.push("ns/artifact", "v1", artifact);
    let source = format!("{}/ns/artifact:v1", registry.address);
    let pulled = pull(settings(&[registry.address]), &source).await;
    let pulled = pulled.map_err(|error| error.replace(&source, "IMAGE"))?;
    assert_eq!(pulled.resolved.kind, ImageKind::Artifact);

    let folders = Folders::new();
    let described = pulled.resolved.layers.iter().zip(&pulled.layers);
    let layers: Vec<_> = (0..)
        .zip(described)
        .map(|(number, (described, bytes))| {
            let blob = folders.path(&format!("{number}"));
            fs::write(&blob, bytes).unwrap();
            described.downloaded(blob)
        })
        .collect();
    let root = CatalogRoot::for_artifact(None).unwrap();
    let limits = UnpackLimits::default();
    let unpacked = unpack(&layers, &root, &folders.path(""), &limits, drop)
        .map_err(|error| error.to_string())?;
    let files = unpacked.entries().iter().filter_map(|(path, entry)| {
        let UnpackedEntry::File(content) = entry else {
            return None;
        };
        let mut text = vec![0; usize::try_from(content.bytes).unwrap()];
        unpacked.read(*content, 0, &mut text).unwrap();
        Some((path.clone(), String::from_utf8(text).unwrap()))
    });
    Ok(Files(files.collect()))
}

#[derive(Debug, PartialEq)]
struct Files(BTreeMap<String, String>);

impl Files {
    fn of(files: &[(&str, &str)]) -> Self {
        let files = files.iter();
        Self(
            files
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect(),
        )
    }
}

#[tokio::test]
async fn files_and_directories_that_oras_pushes_are_those_of_the_catalog() {
    let registry = Registry::start();
    let directory = tar_archive(&[("prod/a.json", b"{}"), ("prod/sub/b.yaml", b"b: 1")]);
    let file = ArtifactLayer::file("x.yaml", "x: 1");
    let empty = ArtifactLayer::new("application/vnd.oci.empty.v1+json", "{}");
    let flux = ArtifactLayer::new(
        "application/vnd.cncf.flux.content.v1.tar+gzip",
        tar_archive(&[("catalog.json", b"{}")]),
    );
    let prod = [("prod/a.json", "{}"), ("prod/sub/b.yaml", "b: 1")];

    for (artifact_type, layers, expected) in [
        (UNKNOWN, vec![file.clone()], &[("x.yaml", "x: 1")][..]),
        (
            "application/vnd.example.catalog",
            vec![ArtifactLayer::directory("prod", &directory)],
            &prod,
        ),
        (
            UNKNOWN,
            vec![
                empty,
                file,
                ArtifactLayer::directory("prod", &directory),
                ArtifactLayer::file("./prod//C.json", "[]"),
                ArtifactLayer::file("prod/c.json", ""),
            ],
            &[
                ("prod/C.json", "[]"),
                ("prod/a.json", "{}"),
                ("prod/c.json", ""),
                ("prod/sub/b.yaml", "b: 1"),
                ("x.yaml", "x: 1"),
            ],
        ),
        // The only layer is a tar: without a title, or as a file of this name.
        (
            UNKNOWN,
            vec![ArtifactLayer::new(TAR, directory.clone())],
            &prod,
        ),
        (
            UNKNOWN,
            vec![ArtifactLayer::file("prod.tar", directory.clone())],
            &prod,
        ),
        (
            "application/vnd.cncf.flux.config.v1+json",
            vec![flux],
            &[("catalog.json", "{}")],
        ),
    ] {
        let artifact = RegistryImage::artifact_of(artifact_type, &layers);
        let found = files(&registry, &artifact).await;
        assert_eq!(found, Ok(Files::of(expected)), "{artifact_type}");
    }
}

#[tokio::test]
async fn what_holds_no_catalog_is_refused_by_its_type() {
    let registry = Registry::start();
    let file = || ArtifactLayer::file("x.yaml", "x: 1");
    let tar = || ArtifactLayer::new(TAR, tar_archive(&[("a.json", b"{}")]));

    for (artifact_type, layers, kind) in [
        (
            "application/vnd.cncf.helm.config.v1+json",
            vec![file()],
            "a Helm chart",
        ),
        (
            "application/vnd.dev.sigstore.bundle.v0.3+json",
            vec![file()],
            "a signature",
        ),
        (
            "application/vnd.operatorframework.olm.catalog.v1+json",
            vec![file()],
            "an experimental catalog artifact",
        ),
        ("application/spdx+json", vec![file()], "an SBOM"),
        (UNKNOWN, Vec::new(), "an artifact of another kind"),
        (UNKNOWN, vec![tar(), tar()], "an artifact of another kind"),
        (UNKNOWN, vec![file(), tar()], "an artifact of another kind"),
        (
            UNKNOWN,
            vec![ArtifactLayer::new("text/plain", "x: 1")],
            "an artifact of another kind",
        ),
    ] {
        let artifact = RegistryImage::artifact_of(artifact_type, &layers);
        let expected = format!(
            "cannot use `IMAGE` as a catalog: it is {kind} of the type `{artifact_type}`; a catalog is an image, or \
             an artifact whose only layer is a tar or whose layers have file names as titles, as `oras push` makes it"
        );
        assert_eq!(files(&registry, &artifact).await, Err(expected));
    }
}

#[tokio::test]
async fn titles_that_are_no_paths_of_files_are_refused() {
    let registry = Registry::start();
    let not_relative = "is not a relative path";
    let long = "x".repeat(5000);
    for (titles, shown, problem) in [
        (&["../x"][..], "../x", not_relative),
        (&["a/../../x"], "a/../../x", not_relative),
        (&["/etc/passwd"], "/etc/passwd", not_relative),
        (&["."], ".", not_relative),
        (&[""], "", not_relative),
        (&["a\0b"], "a\\0b", not_relative),
        (&["a/b", "a/./b"], "a/./b", "is the name of two layers"),
    ] {
        let layers: Vec<_> = titles
            .iter()
            .map(|title| ArtifactLayer::file(title, "{}"))
            .collect();
        let artifact = RegistryImage::artifact_of(UNKNOWN, &layers);
        let expected =
            format!("cannot use `IMAGE` as a catalog: the title `{shown}` of a layer {problem}");
        assert_eq!(files(&registry, &artifact).await, Err(expected));
    }

    let artifact = RegistryImage::artifact_of(UNKNOWN, &[ArtifactLayer::file(&long, "{}")]);
    let error = files(&registry, &artifact).await.unwrap_err();
    assert!(
        error.ends_with("a path may have 1024 bytes and each name in it 255"),
        "{error}"
    );
}

#[tokio::test]
async fn layers_are_what_their_annotations_say_or_are_refused() {
    let registry = Registry::start();
    let archive = tar_archive(&[("prod/a.json", b"{}")]);
    let unpack = "io.deis.oras.content.unpack";
    let other = format!("sha256:{}", "0".repeat(64));
    let found = digest(&archive);
    for (layer, expected) in [
        (
            ArtifactLayer::file("x.yaml", "x: 1").annotated(unpack, "true"),
            "layer 1 is damaged or not a tar archive".to_owned(),
        ),
        (
            ArtifactLayer::directory("prod", &archive)
                .annotated("io.deis.oras.content.digest", &other),
            format!(
                "layer 1 has the digest {found} instead of {other}, which the image config or the artifact names"
            ),
        ),
        (
            ArtifactLayer::file("x.yaml", "<html>"),
            "the file is an HTML or XML page, such as that of a login, not an archive or a file of a catalog"
                .to_owned(),
        ),
    ] {
        let artifact = RegistryImage::artifact_of(UNKNOWN, &[layer]);
        assert_eq!(files(&registry, &artifact).await, Err(expected));
    }

    let many = |layers| {
        let layers = (0..layers).map(|layer| ArtifactLayer::file(&format!("{layer}"), "x: 1"));
        RegistryImage::artifact_of(UNKNOWN, &layers.collect::<Vec<_>>())
    };
    let Files(found) = files(&registry, &many(127)).await.unwrap();
    assert_eq!(found.len(), 127);
    let expected = "cannot pull `IMAGE`: 128 layers exceed the limit of 127";
    assert_eq!(files(&registry, &many(128)).await, Err(expected.to_owned()));
}

#[tokio::test]
async fn an_index_gives_its_image_or_else_its_only_artifact() {
    let registry = Registry::start();
    let catalog = |text: &str| {
        let layer = ArtifactLayer::file("catalog.yaml", text);
        RegistryImage::artifact_of("application/vnd.example.catalog", &[layer])
    };
    let signature = RegistryImage::artifact_of(
        "application/vnd.dev.sigstore.bundle.v0.3+json",
        &[ArtifactLayer::file("x", "x")],
    );

    let index = RegistryImage::referrers(&[&signature, &catalog("a: 1")]);
    let found = files(&registry, &index).await;
    assert_eq!(found, Ok(Files::of(&[("catalog.yaml", "a: 1")])));

    let index = RegistryImage::referrers(&[&catalog("a: 1"), &catalog("a: 2")]);
    let ambiguous = "cannot select a catalog in `IMAGE`: it has 2 artifacts and no image; name one of them by digest";
    assert_eq!(files(&registry, &index).await, Err(ambiguous.to_owned()));

    let layers = [tar_archive(&[("configs/catalog.json", b"{}")])];
    let image = RegistryImage::image(MediaTypes::Oci, &layers, &[]);
    let index = RegistryImage::referrers(&[&catalog("a: 1"), &image]);
    registry.push("ns/index", "v1", &index);
    let source = format!("{}/ns/index:v1", registry.address);
    let pulled = pull(settings(&[registry.address]), &source).await.unwrap();
    assert_eq!(pulled.layers, image.layers());
}
