//! Limits of what is copied, and faults of manifests, by layouts on disk.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{
    CopyOrigin, CopyPlan, ImageToCopy, MAX_COPIED_BLOB_BYTES, MAX_COPIED_IMAGES,
    MAX_IMAGE_MANIFESTS, MAX_REFERRER_DEPTH,
};
use crate::{ImageError, LayoutReference, Registries, RegistryReference, RegistrySettings};

const REPOSITORY: &str = "example.com/ns/image";

/// A layout whose manifests the test decides.
struct Fixture {
    folder: TempDir,
    entries: Vec<Value>,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("blobs/sha256")).unwrap();
        Self {
            folder,
            entries: Vec::new(),
        }
    }

    /// Writes a document, and returns its descriptor.
    fn put(&self, document: &Value) -> Value {
        let bytes = document.to_string().into_bytes();
        let digest = content_digest::digest(&bytes);
        let path = self.folder.path().join("blobs/sha256").join(digest.hex());
        fs::write(path, &bytes).unwrap();
        json!({
            "mediaType": document["mediaType"], "digest": digest.to_string(), "size": bytes.len(),
        })
    }

    fn tag(&mut self, tag: &str, descriptor: &Value) {
        let mut entry = descriptor.clone();
        entry["annotations"] =
            json!({ "org.opencontainers.image.ref.name": format!("{REPOSITORY}:{tag}") });
        self.entries.push(entry);
    }

    async fn plan(&self) -> Result<CopyPlan, ImageError> {
        let index = json!({ "schemaVersion": 2, "manifests": self.entries });
        fs::write(self.folder.path().join("index.json"), index.to_string()).unwrap();
        plan(self.folder.path(), 1).await
    }
}

async fn plan(layout: &Path, images: usize) -> Result<CopyPlan, ImageError> {
    let registries = Registries::new(RegistrySettings::default()).unwrap();
    let source = RegistryReference::parse(&format!("{REPOSITORY}:v1")).unwrap();
    let image = ImageToCopy {
        target: source.clone(),
        source,
    };
    let layout = LayoutReference::parse(&layout.to_string_lossy(), Path::new("")).unwrap();
    let origin = CopyOrigin::Layout(layout);
    let (plan, mut failures) = registries.plan_copies(vec![image; images], &origin).await?;
    match failures.pop() {
        None => Ok(plan),
        Some(failure) => Err(failure.error),
    }
}

/// A manifest with a blob of this length, which the number makes different from others.
fn manifest(number: usize, bytes: u64) -> Value {
    let blob = content_digest::digest(number.to_string().as_bytes()).to_string();
    let config = json!({
        "mediaType": "application/vnd.oci.image.config.v1+json", "digest": blob, "size": bytes,
    });
    json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": [],
    })
}

fn index(manifests: &[Value]) -> Value {
    json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    })
}

#[tokio::test]
async fn an_image_has_a_bounded_number_of_manifests() {
    for (children, fits) in [
        (MAX_IMAGE_MANIFESTS - 1, true),
        (MAX_IMAGE_MANIFESTS, false),
    ] {
        let mut fixture = Fixture::new();
        let all: Vec<_> = (0..children)
            .map(|number| fixture.put(&manifest(number, 1)))
            .collect();
        let root = fixture.put(&index(&all));
        fixture.tag("v1", &root);
        match fixture.plan().await {
            Ok(plan) => assert_eq!((plan.total().manifests, fits), (children + 1, true)),
            Err(error) => {
                assert!(!fits, "{error}");
                assert!(
                    error.to_string().contains("more than 1000 manifests"),
                    "{error}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_blob_has_a_bounded_length() {
    for (bytes, fits) in [
        (MAX_COPIED_BLOB_BYTES, true),
        (MAX_COPIED_BLOB_BYTES + 1, false),
    ] {
        let mut fixture = Fixture::new();
        let root = fixture.put(&manifest(0, bytes));
        fixture.tag("v1", &root);
        assert_eq!(fixture.plan().await.is_ok(), fits, "{bytes}");
    }
}

#[tokio::test]
async fn a_command_copies_a_bounded_number_of_images() {
    let folder = tempfile::tempdir().unwrap();
    let error = plan(folder.path(), MAX_COPIED_IMAGES + 1)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot copy 50001 images at a time: the limit is 50000"
    );
}

#[tokio::test]
async fn artifacts_are_copied_up_to_a_number_of_steps_from_the_image() {
    let mut fixture = Fixture::new();
    let mut subject = fixture.put(&manifest(0, 1));
    fixture.tag("v1", &subject);
    for number in 1..=MAX_REFERRER_DEPTH + 1 {
        let mut artifact = manifest(number, 1);
        artifact["subject"] = subject.clone();
        let artifact = fixture.put(&artifact);
        let list = fixture.put(&index(std::slice::from_ref(&artifact)));
        let tag = subject["digest"].as_str().unwrap().replace(':', "-");
        fixture.tag(&tag, &list);
        subject = artifact;
    }
    let plan = fixture.plan().await.unwrap();
    assert_eq!(plan.total().artifacts, MAX_REFERRER_DEPTH);
}

#[tokio::test]
async fn what_is_listed_as_a_referrer_of_another_image_is_not_copied() {
    let mut fixture = Fixture::new();
    let image = fixture.put(&manifest(0, 1));
    fixture.tag("v1", &image);
    let stranger = fixture.put(&manifest(1, 1));
    let list = fixture.put(&index(&[stranger]));
    let tag = image["digest"].as_str().unwrap().replace(':', "-");
    fixture.tag(&tag, &list);
    let total = fixture.plan().await.unwrap().total();
    assert_eq!((total.manifests, total.artifacts), (1, 0));
}

#[tokio::test]
async fn a_manifest_of_another_length_than_its_index_says_is_refused() {
    let mut fixture = Fixture::new();
    let mut child = fixture.put(&manifest(0, 1));
    child["size"] = 1.into();
    let root = fixture.put(&index(&[child]));
    fixture.tag("v1", &root);
    let error = fixture.plan().await.unwrap_err().to_string();
    assert!(error.ends_with("bytes instead of 1"), "{error}");
}

#[tokio::test]
async fn a_blob_that_has_two_lengths_is_refused() {
    let mut fixture = Fixture::new();
    let manifests = [manifest(0, 1), manifest(0, 2)].map(|one| fixture.put(&one));
    let root = fixture.put(&index(&manifests));
    fixture.tag("v1", &root);
    let error = fixture.plan().await.unwrap_err().to_string();
    assert!(error.starts_with("cannot verify the blob"), "{error}");
}
