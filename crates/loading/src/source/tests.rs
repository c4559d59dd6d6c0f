//! Parsing of references to sources.

use super::*;

/// A folder with the directories `catalog` and `quay.io/there`, and the file `a:b.tar`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["catalog", "quay.io/there"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("a:b.tar"), "").unwrap();
    folder
}

fn digest() -> String {
    format!("sha256:{}", "0f".repeat(32))
}

/// The key of a source, with `@/` for the folder, its name and whether it is pinned; or the error
/// with its cause.
fn parsed(text: &str) -> Result<(String, String, bool), String> {
    let folder = folder();
    let source =
        Source::parse(text, folder.path()).map_err(|error| {
            match std::error::Error::source(&error) {
                Some(cause) => format!("{error}: {cause}"),
                None => error.to_string(),
            }
        })?;
    let key = source.key().replace(folder.path().to_str().unwrap(), "@");
    Ok((
        key,
        source.last_path_segment().unwrap_or_default(),
        source.is_pinned(),
    ))
}

#[test]
fn an_image_in_a_registry_has_a_reference_with_its_tag() {
    let folder = folder();
    let reference = |text: &str| {
        let source = Source::parse(text, folder.path()).expect("it is a source");
        source.image_reference()
    };
    let with_digest = format!("quay.io/ns/name:v1@{}", digest());
    for (text, expected) in [
        ("quay.io/ns/name", Some("quay.io/ns/name:latest")),
        (
            "docker://host:5000/name:v4.16",
            Some("host:5000/name:v4.16"),
        ),
        (&*with_digest, Some(&*with_digest)),
        ("oci:layout:tag", None),
        ("catalog", None),
    ] {
        assert_eq!(reference(text).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_source_is_a_directory_an_image_or_a_layout() {
    let digest = digest();
    for (text, key, name, is_pinned) in [
        ("catalog", "dir:@/catalog", "catalog", false),
        ("dir:later", "dir:@/later", "later", false),
        ("quay.io/there", "dir:@/quay.io/there", "there", false),
        (
            "quay.io/ns/name",
            "docker://quay.io/ns/name:latest",
            "name",
            false,
        ),
        (
            "quay.io/ns/name:v1",
            "docker://quay.io/ns/name:v1",
            "name",
            false,
        ),
        (
            "localhost/name",
            "docker://localhost/name:latest",
            "name",
            false,
        ),
        (
            "localhost:5000/name:v1",
            "docker://localhost:5000/name:v1",
            "name",
            false,
        ),
        (
            "host:5000/name",
            "docker://host:5000/name:latest",
            "name",
            false,
        ),
        (
            &format!("quay.io/ns/name@{digest}"),
            &format!("docker://quay.io/ns/name@{digest}"),
            "name",
            true,
        ),
        (
            &format!("quay.io/name:v1@{digest}"),
            &format!("docker://quay.io/name:v1@{digest}"),
            "name",
            true,
        ),
        (
            "docker://etcd",
            "docker://docker.io/library/etcd:latest",
            "etcd",
            false,
        ),
        (
            "docker://ns/name:v1",
            "docker://docker.io/ns/name:v1",
            "name",
            false,
        ),
        ("oci:layout", "oci:@/layout", "layout", false),
        (
            "oci:some/layout.tar",
            "oci:@/some/layout.tar",
            "layout",
            false,
        ),
        ("oci:layout:v1", "oci:@/layout:v1", "layout", false),
        ("oci:a:b.tar", "oci:@/a:b.tar", "a:b", false),
        ("oci:a:b.tar:v1", "oci:@/a:b.tar:v1", "a:b", false),
        (
            &format!("oci:layout@{digest}"),
            &format!("oci:@/layout@{digest}"),
            "layout",
            true,
        ),
    ] {
        assert_eq!(
            parsed(text),
            Ok((key.to_owned(), name.to_owned(), is_pinned)),
            "{text}"
        );
    }
}

#[test]
fn what_is_neither_there_nor_names_a_registry_is_refused_with_what_to_write() {
    for text in [
        "",
        "operators",
        "ns/name",
        "./nowhere",
        "../a.b/c",
        "dir:",
        "oci:",
        "docker.io",
        "name:v1",
    ] {
        let error = parsed(text).unwrap_err();
        assert!(
            error.starts_with(&format!("`{text}` is not a source: write ")),
            "{error}"
        );
    }
    let error = |text: &str, cause: &str| {
        let example = "quay.io/operatorhubio/catalog:latest";
        Err(format!(
            "`{text}` is not an image such as {example}: {cause}"
        ))
    };
    assert_eq!(
        parsed("quay.io/A"),
        error(
            "quay.io/A",
            "invalid reference format: repository name must be lowercase"
        )
    );
    assert_eq!(parsed("docker://"), error("", "invalid reference format"));
    let sha512 = format!("sha512:{}", "0".repeat(128));
    for text in [
        format!("quay.io/a@{sha512}"),
        "oci:layout@sha256:0".to_owned(),
    ] {
        assert!(
            parsed(&text)
                .unwrap_err()
                .starts_with("cannot verify the digest `sha"),
            "{text}"
        );
    }
}
