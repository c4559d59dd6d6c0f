//! What is fetched of an image is the same, however it is named and wherever it lies.

use std::collections::BTreeMap;

use images::{ImageKind, PullLimits};

use super::{Fixture, at, pull, settings};
use crate::support::{
    CONFIGS_LABEL, Folders, MediaTypes, Registry, RegistryImage, run, tar_archive, tool_command,
};

#[tokio::test]
async fn an_image_is_the_same_by_tag_by_digest_and_from_a_layout() {
    let Fixture { registry, image } = Fixture::new();
    let address = registry.address;
    let folders = Folders::new();
    for to in ["oci:@layout:v1", "oci-archive:@archive.tar:v1"] {
        let to = to.replace('@', &folders.text(""));
        let mut copy = tool_command("skopeo");
        copy.args(["--insecure-policy", "copy", "--src-tls-verify=false"])
            .arg(format!("docker://{}", at(address)))
            .arg(to);
        let copied = run(&mut copy);
        assert_eq!(copied.status, Some(0), "{}", copied.stderr);
    }
    let digest = image.digest();
    let layout = folders.text("layout");
    let archive = folders.text("archive.tar");
    let in_registry = format!("{address}/ns/catalog");
    let in_layout = format!("oci:{layout}");
    let in_archive = format!("oci:{archive}");
    for (source, by_digest) in [
        (at(address), &in_registry),
        (format!("docker://{}", at(address)), &in_registry),
        (format!("{address}/ns/catalog@{digest}"), &in_registry),
        (format!("{address}/ns/catalog:other@{digest}"), &in_registry),
        (format!("oci:{layout}"), &in_layout),
        (format!("oci:{layout}:v1"), &in_layout),
        (format!("oci:{layout}@{digest}"), &in_layout),
        (format!("oci:{archive}"), &in_archive),
        (format!("oci:{archive}:v1"), &in_archive),
        (format!("oci:{archive}@{digest}"), &in_archive),
    ] {
        let pulled = pull(settings(&[address]), &source)
            .await
            .unwrap_or_else(|error| panic!("{source}: {error}"));
        assert_eq!(pulled.layers, image.layers(), "{source}");
        let resolved = pulled.resolved;
        assert_eq!(resolved.digest.to_string(), digest, "{source}");
        assert_eq!(
            resolved.pinned_reference,
            format!("{by_digest}@{digest}"),
            "{source}"
        );
        assert_eq!(resolved.platform, None, "{source}");
        let labels = BTreeMap::from([(CONFIGS_LABEL.to_owned(), "/configs".to_owned())]);
        assert_eq!(resolved.kind, ImageKind::Container { labels }, "{source}");
        assert!(
            resolved.layers.iter().all(|layer| layer.diff_id.is_some()),
            "{source}"
        );
    }
}

#[tokio::test]
async fn a_platform_is_chosen_from_an_index_and_attestations_are_none() {
    let registry = Registry::start();
    let of = |name: &str| {
        RegistryImage::image(
            MediaTypes::Oci,
            &[tar_archive(&[("configs/a", name.as_bytes())])],
            &[],
        )
    };
    let amd = of("amd");
    let arm = of("arm");
    let windows = of("windows");
    let attestation = of("attestation");
    let unknown = ("unknown/unknown", &attestation);
    for (tag, images, chosen) in [
        (
            "all",
            &[unknown, ("linux/arm64", &arm), ("linux/amd64", &amd)][..],
            Some(("linux/amd64", &amd)),
        ),
        (
            "linux",
            &[unknown, ("windows/amd64", &windows), ("linux/arm64", &arm)],
            Some(("linux/arm64", &arm)),
        ),
        (
            "windows",
            &[unknown, ("windows/amd64", &windows)],
            Some(("windows/amd64", &windows)),
        ),
        ("none", &[unknown], None),
    ] {
        let digest = registry.push("ns/catalog", tag, &RegistryImage::index(images));
        let source = format!("{}/ns/catalog:{tag}", registry.address);
        let pulled = pull(settings(&[registry.address]), &source).await;
        let Some((platform, image)) = chosen else {
            assert_eq!(
                pulled.unwrap_err(),
                format!("cannot use the index `{source}`: it lists no image")
            );
            continue;
        };
        let pulled = pulled.unwrap();
        assert_eq!(pulled.layers, image.layers());
        assert_eq!(pulled.resolved.platform.as_deref(), Some(platform));
        assert_eq!(
            pulled.resolved.digest.to_string(),
            digest,
            "the digest is that of the index"
        );
    }
}

#[tokio::test]
async fn indexes_may_lie_in_each_other_up_to_their_limit() {
    let registry = Registry::start();
    let image = RegistryImage::image(MediaTypes::Oci, &[tar_archive(&[("configs/a", b"a")])], &[]);
    let mut nested = image.clone();
    for depth in 1..=3 {
        nested = RegistryImage::index(&[("linux/amd64", &nested)]);
        registry.push("ns/catalog", &format!("v{depth}"), &nested);
    }
    let of = |depth| format!("{}/ns/catalog:v{depth}", registry.address);
    assert_eq!(
        pull(settings(&[registry.address]), &of(2))
            .await
            .unwrap()
            .layers,
        image.layers()
    );
    let error = pull(settings(&[registry.address]), &of(3))
        .await
        .unwrap_err();
    assert_eq!(
        error,
        format!(
            "cannot use `{}`: its indexes are nested too deeply; name one of its images by digest",
            of(3)
        )
    );
}

#[tokio::test]
async fn media_types_of_docker_are_understood() {
    let registry = Registry::start();
    let layer = tar_archive(&[("catalog.json", b"{}")]);
    let docker = RegistryImage::image(MediaTypes::Docker, std::slice::from_ref(&layer), &[]);
    registry.push("ns/docker", "v1", &docker);
    let source = format!("{}/ns/docker:v1", registry.address);

    let pulled = pull(settings(&[registry.address]), &source).await.unwrap();
    assert_eq!(
        (pulled.layers.as_slice(), pulled.resolved.kind),
        (
            docker.layers(),
            ImageKind::Container {
                labels: BTreeMap::new()
            }
        )
    );
}

#[tokio::test]
async fn an_image_has_as_much_as_its_limits_and_no_more() {
    let Fixture { registry, image } = Fixture::new();
    let address = registry.address;
    let bytes: u64 = image.layers().iter().map(|layer| layer.len() as u64).sum();
    let config =
        serde_json::from_slice::<serde_json::Value>(&image.manifest).unwrap()["config"]["size"]
            .as_u64()
            .unwrap();
    let manifest = image.manifest.len() as u64;
    let exact = PullLimits {
        manifest_bytes: manifest,
        config_bytes: config,
        layers: 2,
        layer_bytes: bytes,
    };
    let with = |limits| images::RegistrySettings {
        limits,
        ..settings(&[address])
    };
    assert_eq!(
        pull(with(exact), &at(address)).await.unwrap().layers,
        image.layers()
    );
    for (limits, error) in [
        (
            PullLimits {
                manifest_bytes: manifest - 1,
                ..exact
            },
            format!(
                "cannot read the tag `v1` of `{address}/ns/catalog`: it has more than {} bytes",
                manifest - 1
            ),
        ),
        (
            PullLimits {
                config_bytes: config - 1,
                ..exact
            },
            format!(
                "cannot pull the config of `{}`: {config} bytes exceed the limit of {}",
                at(address),
                config - 1
            ),
        ),
        (
            PullLimits { layers: 1, ..exact },
            format!(
                "cannot pull `{}`: 2 layers exceed the limit of 1",
                at(address)
            ),
        ),
        (
            PullLimits {
                layer_bytes: bytes - 1,
                ..exact
            },
            format!(
                "cannot pull the layers of `{}`: {bytes} bytes exceed the limit of {}",
                at(address),
                bytes - 1
            ),
        ),
    ] {
        assert_eq!(pull(with(limits), &at(address)).await.unwrap_err(), error);
    }
}

#[tokio::test]
async fn a_layout_is_verified_and_says_what_it_has() {
    let Fixture { registry, image: _ } = Fixture::new();
    let folders = Folders::new();
    for tag in ["v1", "v2"] {
        let mut copy = tool_command("skopeo");
        let from = format!("docker://{}", at(registry.address));
        copy.args(["--insecure-policy", "copy", "--src-tls-verify=false", &from]);
        assert_eq!(
            run(copy.arg(format!("oci:{}:{tag}", folders.text("layout")))).status,
            Some(0)
        );
    }
    let layout = folders.text("layout");
    let pulled = async |source: String| pull(settings(&[]), &source).await;
    let error = pulled(format!("oci:{layout}")).await.unwrap_err();
    assert_eq!(
        error,
        format!(
            "cannot select an image: `oci:{layout}` matches 2 images; append one of these to its path: :v1 :v2"
        )
    );
    let error = pulled(format!("oci:{layout}:v3")).await.unwrap_err();
    assert_eq!(
        error,
        format!(
            "cannot select an image: `oci:{layout}:v3` matches 0 images; append one of these to its path: :v1 :v2"
        )
    );
    let layers = pulled(format!("oci:{layout}:v2"))
        .await
        .unwrap()
        .resolved
        .layers;
    let error = pulled(format!("oci:{}", folders.text("")))
        .await
        .unwrap_err();
    assert!(
        error.ends_with("as an OCI layout: it has no index.json"),
        "{error}"
    );

    let blob = format!("layout/blobs/sha256/{}", layers[0].digest.hex());
    let mut bytes = std::fs::read(folders.path(&blob)).unwrap();
    bytes[20] ^= 1;
    folders.write(&blob, &bytes);
    let error = pulled(format!("oci:{layout}:v2")).await.unwrap_err();
    let expected = format!(
        "cannot verify the blob {} of `{layout}`: its digest is sha256:",
        layers[0].digest
    );
    assert!(error.starts_with(&expected), "{error}");
    bytes.push(0);
    folders.write(&blob, &bytes);
    let error = pulled(format!("oci:{layout}:v2")).await.unwrap_err();
    let expected = format!(
        "cannot verify the blob {} of `{layout}`: it has more bytes instead of {}",
        layers[0].digest, layers[0].bytes
    );
    assert!(
        error == expected || error.contains(&format!("it has {} bytes", bytes.len())),
        "{error}"
    );
}

#[tokio::test]
async fn layouts_of_umoci_are_understood() {
    let folders = Folders::new();
    folders.write("files/catalog.json", "{}");
    let layout = folders.text("layout");
    let image = folders.text("layout:v1");
    for arguments in [
        &["init", "--layout", &layout][..],
        &["new", "--image", &image],
        &[
            "insert",
            "--rootless",
            "--image",
            &image,
            &folders.text("files"),
            "/configs",
        ],
        &[
            "config",
            "--image",
            &image,
            "--config.label",
            &format!("{CONFIGS_LABEL}=/configs"),
        ],
    ] {
        let done = run(tool_command("umoci").args(arguments));
        assert_eq!(done.status, Some(0), "{arguments:?}: {}", done.stderr);
    }
    let pulled = pull(settings(&[]), &format!("oci:{image}")).await.unwrap();
    let labels = BTreeMap::from([(CONFIGS_LABEL.to_owned(), "/configs".to_owned())]);
    assert_eq!(pulled.resolved.kind, ImageKind::Container { labels });
    assert_eq!(pulled.layers.len(), 1);
}
