//! What registries and networks do on bad days: each ends in the right content, or in an error that
//! says what to do.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use images::{RegistrySettings, RetryPolicy};

use super::{Fixture, at, pull, settings};
use crate::support::{HttpResponse, Proxy, ProxyAction, RecordedRequest, respond};

/// Gives up a request after this time, and tries it twice.
fn impatient(address: SocketAddr) -> RegistrySettings {
    let settings = settings(&[address]);
    let connect_timeout = Duration::from_secs(1);
    let read_timeout = Duration::from_millis(300);
    let retry = RetryPolicy {
        connect_timeout,
        read_timeout,
        max_attempts: 2,
        ..settings.retry
    };
    RegistrySettings { retry, ..settings }
}

/// What the large blob of the image is asked for.
fn is_large(asked: &RecordedRequest) -> bool {
    asked.is_blob() && asked.forward().body.len() > 50_000
}

fn change(asked: &RecordedRequest, change: impl FnOnce(&mut HttpResponse)) -> HttpResponse {
    let mut answer = asked.forward();
    change(&mut answer);
    answer
}

#[tokio::test]
async fn a_blob_that_breaks_off_is_continued_where_it_broke() {
    let Fixture { registry, image } = Fixture::new();
    let proxy = Proxy::start(registry.address, |asked| match asked.earlier {
        0 if is_large(asked) => ProxyAction::Truncate(40_000),
        1 if is_large(asked) => ProxyAction::Truncate(20_000),
        _ => ProxyAction::Forward,
    });
    let pulled = pull(settings(&[proxy.address]), &at(proxy.address))
        .await
        .unwrap();
    assert_eq!(pulled.layers, image.layers());
    let asked = proxy.requests();
    let ranges: Vec<_> = asked
        .iter()
        .filter_map(|asked| asked.range.as_deref())
        .collect();
    assert_eq!(ranges, ["bytes=40000-", "bytes=60000-"]);
}

#[tokio::test]
async fn a_registry_without_ranges_sends_a_broken_blob_again() {
    let Fixture { registry, image } = Fixture::new();
    let proxy = Proxy::start(registry.address, |asked| match asked.earlier {
        0 if is_large(asked) => ProxyAction::Truncate(40_000),
        1 if asked.range.is_some() => {
            // The whole blob, as if no range were wanted.
            let whole = crate::support::send_request(asked.upstream, "GET", &asked.target, &[]);
            ProxyAction::Respond(whole)
        }
        _ => ProxyAction::Forward,
    });
    let pulled = pull(settings(&[proxy.address]), &at(proxy.address))
        .await
        .unwrap();
    assert_eq!(pulled.layers, image.layers());
}

#[tokio::test]
async fn parts_that_do_not_fit_together_are_fetched_anew_once() {
    let Fixture { registry, image } = Fixture::new();
    let proxy = Proxy::start(registry.address, |asked| match asked.earlier {
        0 if is_large(asked) => ProxyAction::Truncate(40_000),
        1 if asked.range.is_some() => {
            ProxyAction::Respond(change(asked, |answer| answer.body[7] ^= 1))
        }
        _ => ProxyAction::Forward,
    });
    let pulled = pull(settings(&[proxy.address]), &at(proxy.address))
        .await
        .unwrap();
    assert_eq!(pulled.layers, image.layers());
}

#[tokio::test]
async fn what_passes_is_tried_again() {
    let Fixture { registry, image } = Fixture::new();
    for status in [429, 500, 502, 503, 504] {
        let proxy = Proxy::start(registry.address, move |asked| match asked.earlier {
            0 => respond(status, &[], ""),
            _ => ProxyAction::Forward,
        });
        let pulled = pull(settings(&[proxy.address]), &at(proxy.address))
            .await
            .unwrap();
        assert_eq!(pulled.layers, image.layers(), "{status}");
        assert_eq!(
            proxy.requests().len(),
            8,
            "manifest, config and two layers, each twice"
        );
    }
}

#[tokio::test]
async fn a_registry_that_asks_to_be_left_alone_is_left_alone() {
    let Fixture { registry, image } = Fixture::new();
    let proxy = Proxy::start(registry.address, |asked| match asked.earlier {
        0 if asked.is_blob() => ProxyAction::Forward,
        0 => respond(429, &[("retry-after", "1")], ""),
        _ => ProxyAction::Forward,
    });
    let since = Instant::now();
    let pulled = pull(settings(&[proxy.address]), &at(proxy.address))
        .await
        .unwrap();
    assert!(since.elapsed() >= Duration::from_secs(1));
    assert_eq!(pulled.layers, image.layers());

    let proxy = Proxy::start(registry.address, |_| {
        respond(429, &[("retry-after", "3600")], "")
    });
    let error = pull(settings(&[proxy.address]), &at(proxy.address))
        .await
        .unwrap_err();
    let place = format!("{}/ns/catalog", proxy.address);
    assert_eq!(
        error,
        format!("cannot access `{place}`: too many requests; it asks to retry after 3600 seconds")
    );
    assert_eq!(proxy.requests().len(), 1);
}

/// What the registry does, and what the error says; `@` is the repository, `LAYER` the large layer.
type Case = (
    &'static str,
    fn(&RecordedRequest) -> ProxyAction,
    &'static str,
);

const CASES: [Case; 13] = [
    (
        "403",
        |_| {
            respond(
                403,
                &[],
                r#"{"errors":[{"code":"DENIED","message":"pay first\n"}]}"#,
            )
        },
        "cannot get the tag `v1` from `@`: access denied for an anonymous client: pay first",
    ),
    (
        "404",
        |_| respond(404, &[], ""),
        "cannot find the tag `v1` in `@`: check the name, or whether it was removed",
    ),
    (
        "500",
        |_| respond(500, &[], "<html>"),
        "cannot get the tag `v1` from `@`: HTTP status 500",
    ),
    (
        "418",
        |_| respond(418, &[], "{}"),
        "cannot get the tag `v1` from `@`: HTTP status 418",
    ),
    (
        "401 without a challenge",
        |_| respond(401, &[], ""),
        "cannot access `@`: it requires credentials and none were found; run `podman login HOST`, or name a file that has them with --authfile (a repository that does not exist may look the same)",
    ),
    (
        "a page",
        |_| respond(200, &[], "<html>"),
        "cannot read `HOST/ns/catalog:v1`: expected value at line 1 column 1",
    ),
    (
        "an old manifest",
        |_| respond(200, &[], r#"{"schemaVersion":1,"fsLayers":[]}"#),
        "cannot use `HOST/ns/catalog:v1`: it is neither an image manifest nor an image index: it has schemaVersion 1",
    ),
    (
        "two in one",
        |_| {
            respond(
                200,
                &[],
                r#"{"schemaVersion":2,"manifests":[],"config":{},"layers":[]}"#,
            )
        },
        "cannot use `HOST/ns/catalog:v1`: it is neither an image manifest nor an image index: it has manifests and a config",
    ),
    (
        "endless manifest",
        |asked| {
            if asked.is_blob() {
                ProxyAction::Forward
            } else {
                ProxyAction::Endless
            }
        },
        "cannot read the tag `v1` of `@`: it has more than 4194304 bytes",
    ),
    (
        "endless refusal",
        |_| {
            ProxyAction::RespondUnsized(HttpResponse {
                status: 403,
                body: vec![b' '; 1 << 20],
                ..HttpResponse::default()
            })
        },
        "cannot get the tag `v1` from `@`: access denied for an anonymous client",
    ),
    (
        "wrong size",
        |asked| {
            if is_large(asked) {
                ProxyAction::Respond(change(asked, |answer| {
                    answer.body.pop();
                }))
            } else {
                ProxyAction::Forward
            }
        },
        "cannot verify LAYER of `@`: it has LESS bytes instead of SIZE",
    ),
    (
        "truncated",
        |asked| {
            if is_large(asked) && asked.range.is_none() {
                ProxyAction::RespondUnsized(change(asked, |answer| answer.body.truncate(1000)))
            } else if asked.range.is_some() {
                respond(416, &[], "")
            } else {
                ProxyAction::Forward
            }
        },
        "cannot get LAYER from `@`: HTTP status 416",
    ),
    (
        "a wrong claim",
        |asked| ProxyAction::Respond(change(asked, |answer| answer.body.push(b' '))),
        "cannot verify the tag `v1` of `@`: its digest is ACTUAL instead of MANIFEST",
    ),
];

#[tokio::test]
async fn what_lasts_is_an_error_that_says_what_to_do() {
    let Fixture { registry, image } = Fixture::new();
    let large = &image.layers()[1];
    for (name, script, expected) in CASES {
        let proxy = Proxy::start(registry.address, script);
        let host = proxy.address.to_string();
        let error = pull(settings(&[proxy.address]), &at(proxy.address))
            .await
            .unwrap_err();
        let padded = [&image.manifest[..], b" "].concat();
        let expected = expected
            .replace('@', &format!("{host}/ns/catalog"))
            .replace("HOST", &host)
            .replace(
                "LAYER",
                &format!("the blob {}", crate::support::digest(large)),
            )
            .replace("LESS", &(large.len() - 1).to_string())
            .replace("SIZE", &large.len().to_string())
            .replace("ACTUAL", &crate::support::digest(&padded))
            .replace("MANIFEST", &image.digest());
        assert_eq!(error, expected, "{name}");
    }
}

#[tokio::test]
async fn what_a_registry_says_is_shown_in_short_and_read_up_to_its_limit() {
    let Fixture { registry, image: _ } = Fixture::new();
    let limit = 16 * 1024;
    for (length, said) in [
        (limit, format!(": {}", "a".repeat(200))),
        (limit + 1, String::new()),
    ] {
        let frame = r#"{"errors":[{"message":""}]}"#.len();
        let message = "\\u0007".to_owned() + &"a".repeat(length - frame - 6);
        let body = format!(r#"{{"errors":[{{"message":"{message}"}}]}}"#);
        assert_eq!(body.len(), length);
        let proxy = Proxy::start(registry.address, move |_| respond(403, &[], &body));
        let error = pull(settings(&[proxy.address]), &at(proxy.address))
            .await
            .unwrap_err();
        let begins = format!(
            "cannot get the tag `v1` from `{}/ns/catalog`: access denied for an anonymous client",
            proxy.address
        );
        assert_eq!(error, begins + &said);
    }
}

#[tokio::test]
async fn a_damaged_blob_is_refused_also_where_no_digest_is_claimed() {
    let Fixture { registry, image } = Fixture::new();
    let strip = |answer: &mut HttpResponse| {
        answer
            .headers
            .retain(|(name, _)| name != "docker-content-digest");
    };
    let proxy = Proxy::start(registry.address, move |asked| {
        ProxyAction::Respond(change(asked, strip))
    });
    let pulled = pull(settings(&[proxy.address]), &at(proxy.address))
        .await
        .unwrap();
    assert_eq!(
        (pulled.resolved.digest.to_string(), pulled.layers.as_slice()),
        (image.digest(), image.layers())
    );

    for is_damaged in [
        is_large as fn(&RecordedRequest) -> bool,
        |asked: &RecordedRequest| asked.is_blob() && !is_large(asked),
    ] {
        let proxy = Proxy::start(registry.address, move |asked| {
            ProxyAction::Respond(change(asked, |answer| {
                strip(answer);
                if is_damaged(asked) {
                    answer.body[30] ^= 1;
                }
            }))
        });
        let error = pull(settings(&[proxy.address]), &at(proxy.address))
            .await
            .unwrap_err();
        assert!(error.contains(": its digest is sha256:"), "{error}");
    }

    let proxy = Proxy::start(registry.address, move |asked| {
        ProxyAction::Respond(change(asked, |answer| {
            strip(answer);
            answer.body.push(b' ');
        }))
    });
    let by_digest = format!("{}/ns/catalog@{}", proxy.address, image.digest());
    let error = pull(settings(&[proxy.address]), &by_digest)
        .await
        .unwrap_err();
    assert!(
        error.starts_with(&format!(
            "cannot verify the manifest {} of ",
            image.digest()
        )),
        "{error}"
    );
}

#[tokio::test]
async fn a_blob_ends_at_its_size_whatever_comes_after() {
    let Fixture { registry, image } = Fixture::new();
    for script in [
        (|asked| {
            if is_large(asked) {
                ProxyAction::Endless
            } else {
                ProxyAction::Forward
            }
        }) as fn(&RecordedRequest) -> ProxyAction,
        |asked| {
            if is_large(asked) {
                ProxyAction::RespondUnsized(change(asked, |answer| answer.body.push(0)))
            } else {
                ProxyAction::Forward
            }
        },
    ] {
        let proxy = Proxy::start(registry.address, script);
        assert_eq!(
            pull(settings(&[proxy.address]), &at(proxy.address))
                .await
                .unwrap()
                .layers,
            image.layers()
        );
    }
}

#[tokio::test]
async fn silence_and_slowness_come_to_an_end() {
    let Fixture { registry, image } = Fixture::new();
    for (name, script) in [
        (
            "silent from the beginning",
            (|_| ProxyAction::Stall(0)) as fn(&RecordedRequest) -> ProxyAction,
        ),
        ("silent in a blob", |asked| {
            if is_large(asked) {
                ProxyAction::Stall(1000)
            } else {
                ProxyAction::Forward
            }
        }),
    ] {
        let proxy = Proxy::start(registry.address, script);
        let error = pull(impatient(proxy.address), &at(proxy.address))
            .await
            .unwrap_err();
        let is_told = error.starts_with("cannot reach")
            || error.contains("the connection ended or was too slow");
        assert!(
            is_told && error.contains(&proxy.address.to_string()),
            "{name}: {error}"
        );
    }

    let proxy = Proxy::start(registry.address, |asked| {
        if is_large(asked) {
            ProxyAction::Trickle
        } else {
            ProxyAction::Forward
        }
    });
    let mut settings = impatient(proxy.address);
    settings.retry.min_bytes_per_second = 1 << 30;
    let error = pull(settings, &at(proxy.address)).await.unwrap_err();
    assert!(
        error.contains("the connection ended or was too slow"),
        "{error}"
    );

    let silences = AtomicUsize::new(0);
    let proxy = Proxy::start(registry.address, move |asked| {
        let is_first = is_large(asked) && silences.fetch_add(1, Ordering::SeqCst) == 0;
        if is_first {
            ProxyAction::Stall(1000)
        } else {
            ProxyAction::Forward
        }
    });
    assert_eq!(
        pull(impatient(proxy.address), &at(proxy.address))
            .await
            .unwrap()
            .layers,
        image.layers()
    );
}

#[tokio::test]
async fn a_registry_that_is_down_or_dumb_is_named() {
    let dumb = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = dumb.local_addr().unwrap();
    let error = pull(impatient(address), &at(address)).await.unwrap_err();
    assert!(
        error.starts_with(&format!("cannot reach `{address}`: ")),
        "{error}"
    );

    let address = Fixture::new().registry.address;
    let error = pull(impatient(address), &at(address)).await.unwrap_err();
    assert!(
        error.starts_with(&format!("cannot reach `{address}`: "))
            && error.contains("Connection refused"),
        "{error}"
    );
}

#[tokio::test]
async fn redirects_are_followed_up_to_their_limit() {
    let Fixture { registry, image } = Fixture::new();
    for (limit, is_followed) in [(10, true), (11, false)] {
        let proxy = Proxy::start(registry.address, move |asked| {
            let (target, hop) = asked.target.split_once('?').unwrap_or((&asked.target, "0"));
            let hop: usize = hop.parse().unwrap();
            if hop < limit {
                respond(302, &[("location", &format!("{target}?{}", hop + 1))], "")
            } else {
                ProxyAction::Forward
            }
        });
        match pull(settings(&[proxy.address]), &at(proxy.address)).await {
            Ok(pulled) => assert!(is_followed && pulled.layers == image.layers()),
            Err(error) => assert!(
                !is_followed && error.contains("too many redirects"),
                "{error}"
            ),
        }
    }
}
