//! Selection of the credentials for a repository.

use super::*;

/// The user whose credentials are found in these files, with where they are from.
async fn found(files: &[&str], registry: &str, repository: &str) -> Option<String> {
    let files = files
        .iter()
        .enumerate()
        .map(|(at, text)| (format!("/{at}").into(), (*text).to_owned()));
    let found = RegistryCredentials::parse(files)
        .unwrap()
        .find(registry, repository)
        .await
        .unwrap();
    found.map(|found| found.to_string())
}

fn refused(text: &str) -> String {
    RegistryCredentials::parse([("/auth.json".into(), text.to_owned())])
        .unwrap_err()
        .to_string()
}

/// Entries of `auths`, each with a user called `u-KEY`, without the colons that a name cannot have.
fn auths(keys: &[&str]) -> String {
    let entry = |key: &&str| {
        format!(
            r#""{key}":{{"auth":"{}"}}"#,
            STANDARD.encode(format!("u-{}:p", key.replace(':', "")))
        )
    };
    format!(
        r#"{{"auths":{{{}}}}}"#,
        keys.iter().map(entry).collect::<Vec<_>>().join(",")
    )
}

#[tokio::test]
async fn the_longest_key_that_fits_counts() {
    let text = auths(&["quay.io", "quay.io/ns", "quay.io/ns/repo", "quay.io/n"]);
    for (repository, key) in [
        ("ns/repo", "quay.io/ns/repo"),
        ("ns/repo/deeper", "quay.io/ns/repo"),
        ("ns/other", "quay.io/ns"),
        ("nsx/repo", "quay.io"),
        ("n", "quay.io/n"),
    ] {
        let expected = format!("`u-{key}` from `/0` (entry `{key}`)");
        assert_eq!(
            found(&[&text], "quay.io", repository).await,
            Some(expected),
            "{repository}"
        );
    }
    for registry in ["quay.io:443", "x.quay.io", "docker.io"] {
        assert_eq!(
            found(&[&text], registry, "ns/repo").await,
            None,
            "{registry}"
        );
    }
}

#[tokio::test]
async fn keys_that_are_addresses_mean_their_host_and_docker_hub_has_several_names() {
    for key in [
        "https://index.docker.io/v1/",
        "index.docker.io",
        "registry-1.docker.io",
        "docker.io",
    ] {
        let found = found(&[&auths(&[key])], "docker.io", "library/x").await;
        let user = key.replace(':', "");
        assert_eq!(
            found,
            Some(format!("`u-{user}` from `/0` (entry `docker.io`)"))
        );
    }
    for key in ["https://quay.io", "http://quay.io/v2/", "quay.io/"] {
        assert!(
            found(&[&auths(&[key])], "quay.io", "a/b").await.is_some(),
            "{key}"
        );
    }
    assert!(
        found(&[&auths(&["docker.io/ns"])], "docker.io", "ns/x")
            .await
            .is_some()
    );
}

#[tokio::test]
async fn the_first_file_with_an_entry_counts() {
    let first = auths(&["quay.io"]);
    let second = auths(&["quay.io/ns", "ghcr.io"]);
    let files = [&*first, &second];
    let at = |registry| found(&files, registry, "ns/repo");
    assert_eq!(
        at("quay.io").await.unwrap(),
        "`u-quay.io` from `/0` (entry `quay.io`)"
    );
    assert_eq!(
        at("ghcr.io").await.unwrap(),
        "`u-ghcr.io` from `/1` (entry `ghcr.io`)"
    );
}

#[tokio::test]
async fn an_entry_may_have_its_parts_and_an_empty_one_is_none() {
    let text = r#"{"auths":{"a.io":{"username":"me","password":"it"},"b.io":{},"c.io":{"identitytoken":"t"}}}"#;
    assert_eq!(
        found(&[text], "a.io", "x").await.unwrap(),
        "`me` from `/0` (entry `a.io`)"
    );
    assert_eq!(found(&[text], "b.io", "x").await, None);
    assert_eq!(
        found(&[text], "c.io", "x").await.unwrap(),
        "the identity token from `/0` (entry `c.io`)"
    );
}

#[tokio::test]
async fn a_password_may_have_colons_and_the_padding_of_windows() {
    let text = format!(
        r#"{{"auths":{{"a.io":{{"auth":"{}"}}}}}}"#,
        STANDARD.encode("me:p:q\0\0")
    );
    let credentials = RegistryCredentials::parse([("/auth.json".into(), text)]).unwrap();
    let found = credentials.find("a.io", "x").await.unwrap().unwrap();
    assert!(
        found.secret
            == RegistrySecret::Password {
                user: "me".to_owned(),
                password: "p:q".to_owned()
            }
    );
}

#[test]
fn a_file_that_cannot_be_used_is_named_without_its_secrets() {
    let of = |resource: &str| format!("cannot use the credentials in `/auth.json`: {resource}");
    assert_eq!(
        refused("{\n\"auths\": secret}"),
        of("line 2 is not valid JSON or not of the expected format")
    );
    let entry = of("the entry `a.io` has no `auth` of user and password");
    for auth in ["no base64", "c2VjcmV0", "/w=="] {
        assert_eq!(
            refused(&format!(r#"{{"auths":{{"a.io":{{"auth":"{auth}"}}}}}}"#)),
            entry,
            "{auth}"
        );
    }
    let helper = of("`../evil` cannot name a credential helper");
    assert_eq!(refused(r#"{"credHelpers":{"a.io":"../evil"}}"#), helper);
    assert_eq!(refused(r#"{"credsStore":"../evil"}"#), helper);
}

#[test]
fn secrets_are_not_shown() {
    let credentials =
        RegistryCredentials::parse([("/auth.json".into(), auths(&["quay.io"]))]).unwrap();
    assert_eq!(
        format!("{credentials:?}"),
        r#"RegistryCredentials { files: [CredentialsFile("/auth.json")] }"#
    );
}
