//! Bundles in images, at the crate that fetches them: hostile images, failures, and how often a
//! registry is asked.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::bundle_images::{BundleImageError, BundleImages, pull_named};
use admission::Peer;
use images::{Registries, RegistrySettings};
use install_preview::{BundleDirectory, RegistryBundle};
use store::ScratchFolder;

use crate::support::{
    Archive, Folders, MediaTypes, Proxy, ProxyAction, Registry, RegistryImage, respond, tar_archive,
};

const LABELS: [(&str, &str); 2] = [
    (
        "operators.operatorframework.io.bundle.manifests.v1",
        "manifests/",
    ),
    (
        "operators.operatorframework.io.bundle.metadata.v1",
        "metadata/",
    ),
];

const ANNOTATIONS: &str =
    "annotations: {operators.operatorframework.io.bundle.package.v1: lantern}";

const CSV: &str = "kind: ClusterServiceVersion
metadata: {name: lantern.v1}
spec: {installModes: [{type: AllNamespaces, supported: true}]}";

fn peer() -> Peer {
    Peer::new(Ipv4Addr::LOCALHOST.into())
}

fn bundle() -> Archive {
    Archive::default()
        .file("metadata/annotations.yaml", ANNOTATIONS)
        .file("manifests/csv.yaml", CSV)
}

fn image(archive: Archive) -> RegistryImage {
    RegistryImage::image(MediaTypes::Oci, &[archive.plain()], &LABELS)
}

fn registries(address: SocketAddr) -> Registries {
    let settings = RegistrySettings {
        insecure: vec![address.to_string()],
        ..RegistrySettings::default()
    };
    Registries::new(settings).expect("nothing is wrong with the settings")
}

/// Pulls an image that a registry has.
async fn pulled(registry: &Registry, image: &RegistryImage) -> Result<BundleDirectory, String> {
    let digest = registry.push("ns/lantern", "latest", image);
    let folders = Folders::new();
    let scratch = ScratchFolder::create_in(&folders.path("")).expect("the folder is there");
    let reference = format!("{}/ns/lantern@{digest}", registry.address);
    let registries = registries(registry.address);
    pull_named(&registries, &reference, scratch)
        .await
        .map_err(|error| chain(&error).replace(&reference, "IMAGE"))
}

fn chain(error: &BundleImageError) -> String {
    format!("{:#}", anyhow::Error::new(error.clone()))
}

#[tokio::test]
async fn the_labels_of_an_image_name_the_directories_of_its_bundle() {
    let registry = Registry::start();
    let other = [
        (LABELS[0].0, "/bundle/objects"),
        (LABELS[1].0, "/bundle/about/"),
    ];
    let archive = Archive::default()
        .file("bundle/about/annotations.yaml", ANNOTATIONS)
        .file("bundle/about/properties.yaml", "properties: []")
        .file("bundle/objects/b.yaml", "kind: ConfigMap")
        .file("bundle/objects/a.yaml", CSV)
        .file("manifests/none.yaml", "kind: Secret");
    let image = RegistryImage::image(MediaTypes::Docker, &[archive.plain()], &other);
    let index = RegistryImage::index(&[
        ("unknown/unknown", &self::image(bundle())),
        ("linux/amd64", &image),
    ]);
    let directory = pulled(&registry, &index).await.unwrap();
    let names = |files: &[install_preview::BundleManifestFile<'_>]| -> Vec<String> {
        files.iter().map(|file| file.name.to_string()).collect()
    };
    assert_eq!(names(&directory.manifests), ["a.yaml", "b.yaml"]);
    assert_eq!(
        names(&directory.metadata),
        ["annotations.yaml", "properties.yaml"]
    );
    assert!(RegistryBundle::read_directory(&directory).is_ok());
}

#[tokio::test]
async fn hostile_images_are_refused_with_their_cause() {
    let registry = Registry::start();
    let large = "x".repeat((4 << 20) + 1);
    let mut many = bundle();
    for number in 0..2_001 {
        many = many.file(&format!("manifests/{number}.yaml"), "kind: ConfigMap");
    }
    let long = "n".repeat(1 << 20);
    for (archive, cause) in [
        (
            bundle().link("manifests/passwd.yaml", "/etc/passwd"),
            "there are more than 0 links under `/manifests`",
        ),
        (
            bundle().entry(b'3', b"manifests/device", b"", b""),
            "manifests/device",
        ),
        (
            bundle().file("manifests/large.yaml", &large),
            "has 4194305 bytes and the limit is 4194304",
        ),
        (many, "there are more than 2000 files, folders and links"),
        (
            bundle()
                .pax(&[("path", &format!("manifests/{long}"))])
                .file("manifests/x", ""),
            "an entry of layer 1 has an extended header of more than 1048576 bytes",
        ),
    ] {
        let error = pulled(&registry, &image(archive)).await.unwrap_err();
        assert!(
            error.starts_with("cannot read the bundle in the image `IMAGE`: ")
                && error.contains(cause),
            "{cause}: {error}"
        );
    }
    let nested = pulled(
        &registry,
        &image(bundle().file("manifests/more/x.yaml", CSV)),
    )
    .await;
    let error = RegistryBundle::read_directory(&nested.unwrap()).unwrap_err();
    assert_eq!(
        error.message,
        "subdirectories are not allowed within the bundle manifests directory of bundle image filesystem: found \"more\""
    );
    let other = RegistryImage::image(MediaTypes::Oci, &[tar_archive(&[])], &[]);
    assert_eq!(
        pulled(&registry, &other).await.unwrap_err(),
        "the image `IMAGE` is not a bundle: it has no label `operators.operatorframework.io.bundle.manifests.v1`"
    );
}

#[tokio::test]
async fn a_registry_that_lies_about_a_digest_is_refused() {
    let registry = Registry::start();
    let digest = registry.push("ns/lantern", "latest", &image(bundle()));
    let liar = Proxy::start(registry.address, |request| {
        if request.target.contains("/manifests/") {
            let media_type = "application/vnd.oci.image.manifest.v1+json";
            let manifest = format!(r#"{{"schemaVersion":2,"mediaType":"{media_type}"}}"#);
            respond(200, &[("content-type", media_type)], &manifest)
        } else {
            ProxyAction::Forward
        }
    });
    let folders = Folders::new();
    let images = BundleImages::new(registries(liar.address), &folders.path(""));
    let error = images
        .fetch(&format!("{}/ns/lantern@{digest}", liar.address), peer())
        .await
        .unwrap_err();
    assert!(error.is_refusal(), "{}", chain(&error));
    assert!(!folders.path("bundles").exists(), "nothing of it is kept");
}

#[tokio::test]
async fn an_image_is_pulled_once_however_many_ask_for_it() {
    let registry = Registry::start();
    let digest = registry.push("ns/lantern", "latest", &image(bundle()));
    let proxy = Proxy::start(registry.address, |_| ProxyAction::Forward);
    let folders = Folders::new();
    let images = BundleImages::new(registries(proxy.address), &folders.path(""));
    let reference = format!("{}/ns/lantern@{digest}", proxy.address);
    let tasks = (0..20).map(|_| {
        let images = images.clone();
        let reference = reference.clone();
        tokio::spawn(async move { images.fetch(&reference, peer()).await.expect("it is there") })
    });
    let mut fetched = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        fetched.push(task.await.unwrap());
    }
    assert!(fetched.windows(2).all(|pair| pair[0] == pair[1]));
    let manifests = proxy
        .requests()
        .into_iter()
        .filter(|request| request.target.contains("/manifests/"));
    assert_eq!(manifests.count(), 1);

    // By tag, it may be another image each time.
    let tagged = format!("{}/ns/lantern:latest", proxy.address);
    let before = proxy.requests().len();
    images.fetch(&tagged, peer()).await.unwrap();
    let once = proxy.requests().len() - before;
    images.fetch(&tagged, peer()).await.unwrap();
    assert_eq!(proxy.requests().len() - before, 2 * once);
}

#[tokio::test]
async fn a_failure_is_remembered_until_the_settings_change() {
    let registry = Registry::start();
    let digest = registry.push("ns/lantern", "latest", &image(bundle()));
    let is_broken = Arc::new(AtomicBool::new(true));
    let switch = Arc::clone(&is_broken);
    let proxy = Proxy::start(registry.address, move |_| {
        if switch.load(Ordering::SeqCst) {
            respond(404, &[], "")
        } else {
            ProxyAction::Forward
        }
    });
    let folders = Folders::new();
    let images = BundleImages::new(registries(proxy.address), &folders.path(""));
    let reference = format!("{}/ns/lantern@{digest}", proxy.address);
    let error = images.fetch(&reference, peer()).await.unwrap_err();
    assert!(!error.is_refusal(), "{}", chain(&error));

    is_broken.store(false, Ordering::SeqCst);
    let asked = proxy.requests().len();
    let again = images.fetch(&reference, peer()).await.unwrap_err();
    assert_eq!(chain(&again), chain(&error));
    assert_eq!(
        proxy.requests().len(),
        asked,
        "the registry is not asked again"
    );
    images.set_registries(registries(proxy.address));
    assert!(images.fetch(&reference, peer()).await.is_ok());
}

#[tokio::test]
async fn a_peer_that_waits_for_many_images_leaves_others_their_share() {
    let registry = Registry::start();
    let digest = registry.push("ns/lantern", "latest", &image(bundle()));
    let proxy = Proxy::start(registry.address, |request| {
        if request.target.contains("/ns/hanging/") {
            ProxyAction::Hang
        } else {
            ProxyAction::Forward
        }
    });
    let folders = Folders::new();
    let images = BundleImages::new(registries(proxy.address), &folders.path(""));
    let waiting = (0..20).map(|number| {
        let images = images.clone();
        let reference = format!("{}/ns/hanging:{number}", proxy.address);
        tokio::spawn(async move { images.fetch(&reference, peer()).await })
    });
    let waiting: Vec<_> = waiting.collect();
    // Two are pulled, and sixteen wait: the others are refused.
    while waiting.iter().filter(|task| task.is_finished()).count() < 2 {
        tokio::task::yield_now().await;
    }
    let other = Peer::new(Ipv4Addr::new(192, 0, 2, 1).into());
    let reference = format!("{}/ns/lantern@{digest}", proxy.address);
    assert!(images.fetch(&reference, other).await.is_ok());
    let finished = waiting.iter().filter(|task| task.is_finished());
    assert_eq!(finished.count(), 2);
    for task in waiting {
        task.abort();
    }
}
