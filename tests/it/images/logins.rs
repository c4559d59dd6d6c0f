//! Registries that want to know who asks.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use images::{RegistryCredentials, RegistrySettings};

use super::{Fixture, at, pull, settings};
use crate::support::{Proxy, ProxyAction, RecordedRequest, respond};

/// Settings with an `auth.json` of this text.
fn with(address: SocketAddr, text: &str) -> RegistrySettings {
    let credentials =
        RegistryCredentials::parse([(PathBuf::from("/auth.json"), text.to_owned())]).unwrap();
    RegistrySettings {
        credentials,
        ..settings(&[address])
    }
}

/// An `auth.json` with one entry.
fn auth(key: &str, user: &str, password: &str) -> String {
    format!(
        r#"{{"auths":{{"{key}":{{"auth":"{}"}}}}}}"#,
        STANDARD.encode(format!("{user}:{password}"))
    )
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
}

/// Lets in whoever says this.
fn guarded(asked: &RecordedRequest, said: &str) -> ProxyAction {
    if asked.authorization.as_deref() == Some(said) {
        return ProxyAction::Forward;
    }
    respond(401, &[("www-authenticate", "Basic realm=\"it\"")], "")
}

/// Lets in who has one of the tokens `token-0`, `token-1`, …, which are given out at `/token`; the
/// newest only, for so many requests.
fn tokens(good_for: usize) -> impl Fn(&RecordedRequest) -> ProxyAction + Send + Sync + 'static {
    let given = AtomicUsize::new(0);
    let used = AtomicUsize::new(0);
    move |asked| {
        if asked.target.starts_with("/token") {
            used.store(0, Ordering::SeqCst);
            return respond(
                200,
                &[],
                &format!(
                    r#"{{"token":"token-{}"}}"#,
                    given.fetch_add(1, Ordering::SeqCst)
                ),
            );
        }
        let newest = given
            .load(Ordering::SeqCst)
            .checked_sub(1)
            .map(|newest| format!("Bearer token-{newest}"));
        if newest.is_some()
            && asked.authorization == newest
            && used.fetch_add(1, Ordering::SeqCst) < good_for
        {
            return ProxyAction::Forward;
        }
        let challenge = format!(
            "Bearer realm=\"http://{}/token\",service=\"it\"",
            asked.host()
        );
        respond(401, &[("www-authenticate", &challenge)], "")
    }
}

#[tokio::test]
async fn a_password_is_sent_where_it_is_asked_for_and_by_the_longest_key() {
    let Fixture { registry, image } = Fixture::new();
    let proxy = Proxy::start(registry.address, |asked| {
        guarded(asked, &basic("me", "it's"))
    });
    let host = proxy.address;
    for key in [
        format!("{host}"),
        format!("{host}/ns"),
        format!("{host}/ns/catalog"),
        format!("https://{host}/v1/"),
    ] {
        let pulled = pull(with(host, &auth(&key, "me", "it's")), &at(host))
            .await
            .unwrap();
        assert_eq!(pulled.layers, image.layers(), "{key}");
    }
    let place = format!("{host}/ns/catalog");
    let or = "(a repository that does not exist may look the same)";
    for key in [
        format!("{host}/other"),
        format!("{host}/n"),
        "quay.io".to_owned(),
    ] {
        let error = pull(with(host, &auth(&key, "me", "it's")), &at(host))
            .await
            .unwrap_err();
        let to_do =
            format!("run `podman login {host}`, or name a file that has them with --authfile {or}");
        assert_eq!(
            error,
            format!(
                "cannot access `{place}`: it requires credentials and none were found; {to_do}"
            )
        );
    }
    let error = pull(
        with(host, &auth(&host.to_string(), "me", "wrong")),
        &at(host),
    )
    .await
    .unwrap_err();
    let of = format!("`me` from `/auth.json` (entry `{host}`)");
    assert_eq!(
        error,
        format!("cannot access `{place}`: it rejects the credentials of {of}; log in again {or}")
    );
}

#[tokio::test]
async fn a_token_is_fetched_for_the_password_and_again_when_it_expires() {
    let Fixture { registry, image } = Fixture::new();
    for (good_for, fetched) in [(1, 4), (2, 2), (100, 1)] {
        let proxy = Proxy::start(registry.address, tokens(good_for));
        let key = proxy.address.to_string();
        let pulled = pull(
            with(proxy.address, &auth(&key, "me", "it's")),
            &at(proxy.address),
        )
        .await
        .unwrap();
        assert_eq!(pulled.layers, image.layers());
        let asked = proxy.requests();
        let at_service: Vec<_> = asked
            .iter()
            .filter(|asked| asked.target.starts_with("/token"))
            .collect();
        assert_eq!(at_service.len(), fetched, "each is good for {good_for}");
        for asked in at_service {
            assert_eq!(
                asked.target,
                "/token?service=it&scope=repository%3Ans%2Fcatalog%3Apull"
            );
            assert_eq!(asked.authorization, Some(basic("me", "it's")));
        }
    }
    // Without credentials a token is asked for all the same: public images want that.
    let proxy = Proxy::start(registry.address, tokens(100));
    assert_eq!(
        pull(settings(&[proxy.address]), &at(proxy.address))
            .await
            .unwrap()
            .layers,
        image.layers()
    );
}

#[tokio::test]
async fn an_identity_token_is_exchanged() {
    let Fixture { registry, image } = Fixture::new();
    let proxy = Proxy::start(registry.address, tokens(100));
    let text = format!(
        r#"{{"auths":{{"{}":{{"identitytoken":"secret"}}}}}}"#,
        proxy.address
    );
    assert_eq!(
        pull(with(proxy.address, &text), &at(proxy.address))
            .await
            .unwrap()
            .layers,
        image.layers()
    );
    let asked = proxy.requests();
    let exchange = asked
        .iter()
        .find(|asked| asked.target == "/token")
        .expect("it is asked for");
    assert_eq!(
        (&*exchange.method, &exchange.authorization),
        ("POST", &None)
    );
}

#[tokio::test]
async fn an_identity_token_goes_along_with_no_redirect() {
    let Fixture { registry, image: _ } = Fixture::new();
    let elsewhere = Proxy::start(registry.address, |_| respond(200, &[], r#"{"token":"x"}"#));
    let to = elsewhere.address;
    let give = tokens(100);
    let proxy = Proxy::start(registry.address, move |asked| match &*asked.method {
        "POST" => respond(307, &[("location", &format!("http://{to}/token"))], ""),
        _ => give(asked),
    });
    let text = format!(
        r#"{{"auths":{{"{}":{{"identitytoken":"secret"}}}}}}"#,
        proxy.address
    );
    let error = pull(with(proxy.address, &text), &at(proxy.address))
        .await
        .unwrap_err();
    assert!(
        error.contains("rejects the credentials of the identity token from `/auth.json`"),
        "{error}"
    );
    assert_eq!(elsewhere.requests(), []);
}

#[tokio::test]
async fn a_token_service_that_fails_is_named() {
    let Fixture { registry, image: _ } = Fixture::new();
    let or = "(a repository that does not exist may look the same)";
    for (status, body, expected) in [
        (
            401,
            "",
            format!(
                "cannot access `@/ns/catalog`: it rejects the credentials of `me` from `/auth.json` (entry `@`); log in again {or}"
            ),
        ),
        (
            500,
            "",
            "cannot get a token from `HOST`: HTTP status 500".to_owned(),
        ),
        (
            200,
            "{}",
            "cannot log in: the token service `HOST` sent no token".to_owned(),
        ),
        (
            200,
            "<html>",
            "cannot log in: the token service `HOST` sent no token".to_owned(),
        ),
    ] {
        let give = tokens(100);
        let proxy = Proxy::start(registry.address, move |asked| match &*asked.target {
            target if target.starts_with("/token") => respond(status, &[], body),
            _ => give(asked),
        });
        let host = proxy.address.to_string();
        let error = pull(
            with(proxy.address, &auth(&host, "me", "it's")),
            &at(proxy.address),
        )
        .await
        .unwrap_err();
        assert_eq!(error, expected.replace('@', &host).replace("HOST", &host));
    }
}

#[tokio::test]
async fn the_answer_with_a_token_is_read_up_to_its_limit() {
    let Fixture { registry, image } = Fixture::new();
    for (bytes, expected) in [(1 << 20, Ok(())), ((1 << 20) + 1, Err("sent no token"))] {
        let give = tokens(100);
        let proxy = Proxy::start(registry.address, move |asked| match give(asked) {
            ProxyAction::Respond(mut answer) if answer.status == 200 => {
                answer.body.resize(bytes, b' ');
                ProxyAction::Respond(answer)
            }
            act => act,
        });
        let pulled = pull(settings(&[proxy.address]), &at(proxy.address)).await;
        match expected {
            Ok(()) => assert_eq!(pulled.unwrap().layers, image.layers()),
            Err(text) => {
                assert_eq!(
                    pulled.unwrap_err(),
                    format!(
                        "cannot log in: the token service `{}` {text}",
                        proxy.address
                    )
                );
            }
        }
    }
}

#[tokio::test]
async fn no_password_goes_to_a_token_service_without_tls() {
    let Fixture { registry, image: _ } = Fixture::new();
    let service = Proxy::start(registry.address, |_| respond(200, &[], "{}"));
    let realm = format!("http://localhost:{}/token", service.address.port());
    let challenge = format!("Bearer realm=\"{realm}\"");
    let proxy = Proxy::start(registry.address, move |_| {
        respond(401, &[("www-authenticate", &challenge)], "")
    });
    let key = proxy.address.to_string();
    let error = pull(
        with(proxy.address, &auth(&key, "me", "it's")),
        &at(proxy.address),
    )
    .await
    .unwrap_err();
    let to_do = "write --insecure-registry with the host of the service to allow it";
    assert_eq!(
        error,
        format!(
            "cannot log in to `{key}`: its token service `{realm}` does not have an https URL; {to_do}"
        )
    );
    assert_eq!(service.requests(), []);
}

#[tokio::test]
async fn a_redirect_to_another_host_carries_no_password() {
    let Fixture { registry, image } = Fixture::new();
    let elsewhere = Proxy::start(registry.address, |_| ProxyAction::Forward);
    let to = elsewhere.address;
    let proxy = Proxy::start(registry.address, move |asked| {
        match guarded(asked, &basic("me", "it's")) {
            ProxyAction::Forward if asked.is_blob() => respond(
                307,
                &[("location", &format!("http://{to}{}", asked.target))],
                "",
            ),
            act => act,
        }
    });
    let settings = with(
        proxy.address,
        &auth(&proxy.address.to_string(), "me", "it's"),
    );
    assert_eq!(
        pull(settings, &at(proxy.address)).await.unwrap().layers,
        image.layers()
    );
    let authorizations: Vec<_> = elsewhere
        .requests()
        .into_iter()
        .map(|asked| asked.authorization)
        .collect();
    assert_eq!(
        authorizations,
        [None, None, None],
        "the config and two layers"
    );
}

#[tokio::test]
async fn who_we_are_redirected_to_cannot_ask_who_we_are() {
    let Fixture { registry, image: _ } = Fixture::new();
    let elsewhere = Proxy::start(registry.address, |asked| {
        let challenge = format!("Bearer realm=\"http://{}/token\"", asked.host());
        respond(401, &[("www-authenticate", &challenge)], "")
    });
    let to = elsewhere.address;
    let proxy = Proxy::start(registry.address, move |asked| {
        match guarded(asked, &basic("me", "it's")) {
            ProxyAction::Forward => respond(
                307,
                &[("location", &format!("http://{to}{}", asked.target))],
                "",
            ),
            act => act,
        }
    });
    let mut settings = with(
        proxy.address,
        &auth(&proxy.address.to_string(), "me", "it's"),
    );
    settings.insecure.push(to.to_string());
    let error = pull(settings, &at(proxy.address)).await.unwrap_err();
    assert!(error.contains("rejects the credentials of `me`"), "{error}");
    let asked: Vec<_> = elsewhere
        .requests()
        .into_iter()
        .map(|asked| (asked.target, asked.authorization))
        .collect();
    assert_eq!(asked, [("/v2/ns/catalog/manifests/v1".to_owned(), None)]);
}

#[tokio::test]
async fn a_credential_helper_that_is_missing_is_named() {
    let Fixture { registry, image: _ } = Fixture::new();
    let proxy = Proxy::start(registry.address, |asked| {
        guarded(asked, &basic("me", "it's"))
    });
    let host = proxy.address;
    for text in [
        r#"{"credHelpers":{"HOST":"missing-in-tests"}}"#,
        r#"{"credsStore":"missing-in-tests"}"#,
    ] {
        let error = pull(
            with(host, &text.replace("HOST", &host.to_string())),
            &at(host),
        )
        .await
        .unwrap_err();
        let begins = "the credential helper `docker-credential-missing-in-tests` failed: No such file or directory";
        assert!(error.starts_with(begins), "{error}");
    }
}
