//! Locations of images, according to `registries.conf`.

use super::*;

fn conf(texts: &[&str]) -> RegistriesConf {
    let files = texts
        .iter()
        .enumerate()
        .map(|(at, text)| (format!("/{at}.conf").into(), (*text).to_owned()));
    RegistriesConf::parse(files).unwrap()
}

/// The places of an image; those that need no TLS with `!`.
fn places(conf: &RegistriesConf, image: &str) -> Result<Vec<String>, String> {
    let (mirrors, own) = conf
        .locations(&RegistryReference::parse(image).unwrap())
        .map_err(|error| error.to_string())?;
    let shown = |location: &RepositoryLocation| {
        format!(
            "{location}{}",
            if location.trust == Trust::InsecureSkipVerify {
                "!"
            } else {
                ""
            }
        )
    };
    Ok(mirrors.iter().chain([&own]).map(shown).collect())
}

#[track_caller]
fn assert_places(conf: &RegistriesConf, image: &str, expected: &[&str]) {
    assert_eq!(
        places(conf, image),
        Ok(expected.iter().map(|text| (*text).to_owned()).collect()),
        "{image}"
    );
}

fn digest() -> String {
    format!("sha256:{}", "0".repeat(64))
}

#[test]
fn without_a_word_an_image_is_where_its_name_says() {
    assert_places(&conf(&[]), "quay.io/a/b:c", &["quay.io/a/b"]);
    assert_places(
        &conf(&["unqualified-search-registries = ['x.io']\n[aliases]\na = 'b'"]),
        "etcd",
        &["docker.io/library/etcd"],
    );
    let (_, hub) = conf(&[])
        .locations(&RegistryReference::parse("etcd").unwrap())
        .unwrap();
    assert_eq!(hub.host, "registry-1.docker.io");
    let insecure = RegistriesConf::default().with_insecure(&["localhost:5000".to_owned()]);
    assert_places(&insecure, "localhost:5000/a", &["localhost:5000/a!"]);
    assert_places(&insecure, "localhost:5001/a", &["localhost:5001/a"]);
}

#[test]
fn the_longest_prefix_of_whole_parts_counts() {
    let conf = conf(&["
        [[registry]]
        location = 'quay.io'
        insecure = true
        [[registry]]
        prefix = 'quay.io/team'
        location = 'mine.io/moved/'
        [[registry]]
        prefix = 'quay.io/team/one:v1'
        location = 'other.io/one'
        [[registry]]
        prefix = '*.example.com'
        location = 'all.io/of'
        [[registry]]
        prefix = '*.b.example.com/x'
        insecure = true
    "]);
    for (image, expected) in [
        ("quay.io/teams/one", "quay.io/teams/one!"),
        ("quay.io/team/one:v2", "mine.io/moved/one"),
        ("quay.io/team/one:v1", "other.io/one"),
        ("quay.io:8443/team/one", "quay.io:8443/team/one"),
        ("a.example.com/x/y", "all.io/of/x/y"),
        ("example.com/x/y", "example.com/x/y"),
        ("a.b.example.com/x/y", "a.b.example.com/x/y!"),
        ("a.b.example.com/xx/y", "all.io/of/xx/y"),
        ("a.example.com.evil.io/x", "a.example.com.evil.io/x"),
    ] {
        assert_places(&conf, image, &[expected]);
    }
}

#[test]
fn mirrors_come_first_in_order_as_far_as_they_may() {
    let text = "
        [[registry]]
        prefix = 'quay.io/ns'
        [[registry.mirror]]
        location = 'one.io/a'
        insecure = true
        [[registry.mirror]]
        location = 'digests.io/a'
        pull-from-mirror = 'digest-only'
        [[registry.mirror]]
        location = 'tags.io/a'
        pull-from-mirror = 'tag-only'
    ";
    let all = conf(&[text]);
    assert_places(
        &all,
        "quay.io/ns/x:v1",
        &["one.io/a/x!", "tags.io/a/x", "quay.io/ns/x"],
    );
    let by_digest = ["one.io/a/x!", "digests.io/a/x", "quay.io/ns/x"];
    assert_places(&all, &format!("quay.io/ns/x@{}", digest()), &by_digest);
    assert_places(&all, &format!("quay.io/ns/x:v1@{}", digest()), &by_digest);

    let only = conf(&[
        "[[registry]]\nlocation='quay.io'\nmirror-by-digest-only=true\nmirror=[{location='m.io'}]",
    ]);
    assert_places(&only, "quay.io/x", &["quay.io/x"]);
    assert_places(
        &only,
        &format!("quay.io/x@{}", digest()),
        &["m.io/x", "quay.io/x"],
    );
}

#[test]
fn a_later_file_replaces_what_an_earlier_one_says_of_the_same_prefix() {
    let main = "[[registry]]\nlocation='quay.io'\nmirror=[{location='m.io'}]\n[[registry]]\nlocation='a.io'\ninsecure=true";
    let conf = conf(&[main, "[[registry]]\nprefix='quay.io'\nlocation='new.io'"]);
    assert_places(&conf, "quay.io/x", &["new.io/x"]);
    assert_places(&conf, "a.io/x", &["a.io/x!"]);
}

#[test]
fn what_is_blocked_is_nowhere() {
    let conf = conf(&["[[registry]]\nprefix='quay.io/bad'\nblocked=true"]);
    let error =
        "cannot pull `quay.io/bad/x:latest`: registries.conf blocks the prefix `quay.io/bad`";
    assert_eq!(places(&conf, "quay.io/bad/x"), Err(error.to_owned()));
    assert_places(&conf, "quay.io/badly/x", &["quay.io/badly/x"]);
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    let refused =
        |text: &str| RegistriesConf::parse([("/r.conf".into(), text.to_owned())]).unwrap_err();
    for (text, reason) in [
        (
            "[registries.search]\nregistries = []",
            "`[registries]` is the first version of the format: write `[[registry]]`",
        ),
        (
            "[[registry]]\nblocked = true",
            "a `[[registry]]` has neither prefix nor location",
        ),
        (
            "[[registry]]\nprefix = 'a.*.io'",
            "the prefix `a.*.io` has a `*` elsewhere than in front, as in `*.example.com`",
        ),
        (
            "[[registry]]\nprefix = 'a.io'\nmirror = [{location = ''}]",
            "a mirror of `a.io` has no location",
        ),
        (
            "[[registry]]\nprefix='a.io'\nmirror-by-digest-only=true\nmirror=[{location='m',pull-from-mirror='tag-only'}]",
            "`a.io` has mirror-by-digest-only and a mirror with pull-from-mirror: write one of them",
        ),
    ] {
        assert_eq!(
            refused(text).to_string(),
            format!("cannot use `/r.conf`: {reason}")
        );
    }
    for text in [
        "[[registry",
        "[[registry]]\nmirror = [{}]",
        "[[registry]]\nmirror=[{location='a',pull-from-mirror='x'}]",
    ] {
        assert_eq!(refused(text).to_string(), "cannot use `/r.conf`", "{text}");
    }
    let conf = conf(&["[[registry]]\nprefix='a.io/x'\nlocation='b.io'"]);
    let error = "cannot use `b.io` from registries.conf: it names a registry without a repository";
    assert_eq!(places(&conf, "a.io/x"), Err(error.to_owned()));
}
