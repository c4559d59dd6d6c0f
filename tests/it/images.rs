//! Images from registries and layouts: a real registry, and what can go wrong on the way from it.

mod artifacts;
mod community;
mod faults;
mod full_disk;
mod logins;
mod mirrors;
mod proxies;
mod pulls;
mod servers;
mod signatures;
mod tls;
mod verdicts;

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use images::{ImageError, Registries, RegistrySettings, ResolvedImage, RetryPolicy};
use loading::Source;

use crate::support::{CONFIGS_LABEL, Folders, MediaTypes, Registry, RegistryImage, tar_archive};

/// What was fetched: what it is, and its layers.
#[derive(Debug)]
struct Pulled {
    resolved: ResolvedImage,
    layers: Vec<Vec<u8>>,
}

/// A registry with one image in it, `ns/catalog:v1`.
struct Fixture {
    registry: Registry,
    image: RegistryImage,
}

impl Fixture {
    fn new() -> Self {
        let registry = Registry::start();
        let image = image();
        registry.push("ns/catalog", "v1", &image);
        Self { registry, image }
    }
}

/// Two layers, the upper one large enough to break off.
fn image() -> RegistryImage {
    let mut random = fastrand::Rng::with_seed(5);
    let large: Vec<u8> = (0..100_000).map(|_| random.u8(..)).collect();
    let layers = [
        tar_archive(&[("etc/os-release", b"x")]),
        tar_archive(&[("configs/catalog.json", &large)]),
    ];
    RegistryImage::image(MediaTypes::Oci, &layers, &[(CONFIGS_LABEL, "/configs")])
}

/// Quick to try again, and without TLS for these.
fn settings(insecure: &[SocketAddr]) -> RegistrySettings {
    let retry = RetryPolicy {
        initial_backoff: Duration::from_millis(1),
        ..RetryPolicy::default()
    };
    let insecure = insecure.iter().map(SocketAddr::to_string).collect();
    RegistrySettings {
        insecure,
        retry,
        ..RegistrySettings::default()
    }
}

/// Resolves and fetches; an error is its text with its causes.
async fn pull(settings: RegistrySettings, source: &str) -> Result<Pulled, String> {
    let folders = Folders::new();
    let fetched = fetch(settings, source, &folders.path("")).await;
    fetched.map_err(|error| {
        let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |error| {
            error.source()
        });
        causes
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(": ")
    })
}

async fn fetch(
    settings: RegistrySettings,
    source: &str,
    folder: &Path,
) -> Result<Pulled, ImageError> {
    let Ok(Source::Image(source)) = Source::parse(source, Path::new("/")) else {
        panic!("{source} is an image")
    };
    let registries = Registries::new(settings)?;
    let resolved = registries.resolve(&source).await?;
    let last = std::sync::Mutex::new((0, 0));
    let paths = registries
        .fetch(&resolved, folder, |got, total| {
            *last.lock().unwrap() = (got, total);
        })
        .await?;
    let layers: Vec<_> = paths
        .iter()
        .map(|path| fs::read(path).expect("it was fetched"))
        .collect();
    let (got, total) = last.into_inner().expect("nobody panicked");
    assert_eq!(got, total, "all of it is told");
    Ok(Pulled { resolved, layers })
}

/// The image of the fixture at this address.
fn at(address: SocketAddr) -> String {
    format!("{address}/ns/catalog:v1")
}
