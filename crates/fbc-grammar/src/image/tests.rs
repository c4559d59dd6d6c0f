//! Tables of image references.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

const SHA256: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The normal form, or the error.
fn normal(text: &str) -> Result<String, String> {
    ImageReference::parse(text)
        .map(|reference| reference.to_string())
        .map_err(|error| error.to_string())
}

#[test]
fn a_reference_is_read_into_its_normal_form() {
    let table = [
        ("etcd", "docker.io/library/etcd"),
        ("etcd:v3", "docker.io/library/etcd:v3"),
        ("coreos/etcd", "docker.io/coreos/etcd"),
        ("docker.io/etcd", "docker.io/library/etcd"),
        ("index.docker.io/etcd", "docker.io/library/etcd"),
        ("index.docker.io/a/b", "docker.io/a/b"),
        ("localhost/etcd", "localhost/etcd"),
        ("localhost", "docker.io/library/localhost"),
        ("localhost:5000/etcd", "localhost:5000/etcd"),
        ("example:5000", "docker.io/library/example:5000"),
        ("QUAY.io/foo/foo", "QUAY.io/foo/foo"),
        ("a.b-c.d:1/e", "a.b-c.d:1/e"),
        (
            "quay.io/a__b/c--d/e.f_g:T.a-g_1",
            "quay.io/a__b/c--d/e.f_g:T.a-g_1",
        ),
        ("a_b.c/d:1", "a_b.c/d:1"),
        ("quay.io/foo:_", "quay.io/foo:_"),
    ];
    for (text, expected) in table {
        assert_eq!(normal(text), Ok(expected.to_owned()), "{text}");
    }
    for text in [
        format!("quay.io/a/b@{SHA256}"),
        format!("quay.io/a/b:1@{SHA256}"),
    ] {
        assert_eq!(normal(&text), Ok(text));
    }
}

#[test]
fn a_reference_shows_its_parts() {
    let text = format!("etcd:v3@{SHA256}");
    let reference = ImageReference::parse(&text).unwrap();
    assert_eq!(
        (
            reference.domain(),
            &*reference.path(),
            reference.tag(),
            reference.digest()
        ),
        ("docker.io", "library/etcd", Some("v3"), Some(SHA256)),
    );
    let reference = ImageReference::parse("a_b.c/d").unwrap();
    assert_eq!(
        (
            reference.domain(),
            &*reference.path(),
            reference.tag(),
            reference.digest()
        ),
        ("", "a_b.c/d", None, None),
    );
}

#[test]
fn what_is_no_reference_is_refused_in_the_words_of_upstream() {
    let invalid = "invalid reference format";
    let lowercase = "invalid reference format: repository name must be lowercase";
    let table = [
        ("", invalid),
        ("/foo/foo", invalid),
        ("quay.io/foo/", invalid),
        ("quay.io//foo", invalid),
        ("quay.io/foo/foo:", invalid),
        ("quay.io/foo/foo:-1", invalid),
        ("quay.io/foo/foo@", invalid),
        ("quay.io/foo/foo@sha256:abc", invalid),
        ("https://quay.io/foo/foo:v1", invalid),
        ("quay.io:/foo", invalid),
        ("[::1]:5000/foo", invalid),
        ("-a.io/foo", invalid),
        ("a-.io/foo", invalid),
        ("quay.io/a___b", invalid),
        ("quay.io/a..b", invalid),
        ("quay.io/-a", invalid),
        ("quay.io/a-", invalid),
        ("foo bar", invalid),
        ("é", invalid),
        ("quay.io/Foo/foo:v1", lowercase),
        ("Foo/bar", lowercase),
        ("Foo Bar", lowercase),
        ("É", lowercase),
        ("foo@MD5:d41d8cd98f00b204e9800998ecf8427e", lowercase),
        ("A_b.c/d", "repository name must be lowercase"),
        ("quay.io/foo:\u{212a}", "repository name must be lowercase"),
        (
            "foo@md5:d41d8cd98f00b204e9800998ecf8427e",
            "unsupported digest algorithm",
        ),
        (
            "foo:1@MD5:d41d8cd98f00b204e9800998ecf8427e",
            "invalid checksum digest format",
        ),
        (
            "foo@sha256:d41d8cd98f00b204e9800998ecf8427e",
            "invalid checksum digest length",
        ),
        (
            "foo@sha512:d41d8cd98f00b204e9800998ecf8427e",
            "invalid checksum digest length",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(normal(text), Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn a_digest_is_of_small_digits_and_needs_its_algorithm() {
    let hex = &SHA256[7..];
    assert_eq!(
        normal(hex),
        Err(format!(
            "invalid repository name ({hex}), cannot specify 64-byte hexadecimal strings"
        )),
    );
    let capital = format!("foo@sha256:{}", hex.to_uppercase());
    assert_eq!(
        normal(&capital),
        Err("invalid checksum digest format".to_owned())
    );
    for algorithm in [("sha384", 96), ("sha512", 128)] {
        let digest = format!("{}:{}", algorithm.0, "0".repeat(algorithm.1));
        assert_eq!(
            normal(&format!("q.io/a@{digest}")),
            Ok(format!("q.io/a@{digest}"))
        );
    }
}

#[test]
fn a_name_and_a_tag_may_be_so_long_and_no_longer() {
    // `docker.io/library/` counts too.
    let longest = "a".repeat(MAX_IMAGE_NAME_BYTES - 18);
    assert_eq!(normal(&longest), Ok(format!("docker.io/library/{longest}")));
    let too_long = "repository name must not be more than 255 characters".to_owned();
    assert_eq!(normal(&format!("{longest}a")), Err(too_long));
    let longest = format!("quay.io/a:{}", "t".repeat(128));
    assert_eq!(normal(&longest), Ok(longest.clone()));
    assert_eq!(
        normal(&format!("{longest}t")),
        Err("invalid reference format".to_owned())
    );
}

proptest! {
    #![proptest_config(seeded())]

    #[test]
    fn no_text_makes_reading_panic(text in any::<String>()) {
        let _ = ImageReference::parse(&text);
    }

    #[test]
    fn a_normal_form_is_its_own(text in "([a-b]{1,2}\\.io(:[0-9])?/)?[a-b_./-]{1,8}(:[A-Ca-c.-]{1,3})?") {
        if let Ok(normal) = normal(&text) {
            prop_assert_eq!(super::tests::normal(&normal), Ok(normal.clone()));
        }
    }
}

/// The same cases in every run.
fn seeded() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(0),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
