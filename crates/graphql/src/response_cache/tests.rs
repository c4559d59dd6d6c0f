//! Admission to the response cache, its size, and eviction.

use std::time::Duration;

use admission::Peer;
use http_content::coding::Coding::{Gzip, Zstd};
use serving::catalogs;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::*;
use crate::tests::fixture::{ALPHA, BETA, served};
use crate::{Engine, Request};

/// A key for a test.
fn key(number: u8) -> ResponseKey {
    ResponseKey::from_hash([number; 16])
}

fn cache(cache_bytes: usize, cached_response_bytes: usize) -> ResponseCache {
    ResponseCache::new(&Limits {
        cache_bytes,
        cached_response_bytes,
        ..Limits::default()
    })
}

/// Offers a response twice, as its first two requests do. Returns whether it is cached then.
fn is_admitted(cache: &ResponseCache, number: u8, response: &[u8]) -> bool {
    let _ = cache.offer(key(number), response);
    let _ = cache.offer(key(number), response);
    cache.get(&key(number)).is_some()
}

#[test]
fn a_response_is_cached_from_its_second_request_on() {
    let cache = cache(1 << 20, 1 << 10);
    assert!(cache.offer(key(1), b"one").is_none());
    assert!(cache.get(&key(1)).is_none());
    assert_eq!(
        cache
            .offer(key(1), b"one")
            .map(|cached| cached.plain.clone()),
        Some(Bytes::from_static(b"one"))
    );
    assert_eq!(
        cache.get(&key(1)).map(|cached| cached.plain.clone()),
        Some(Bytes::from_static(b"one"))
    );
}

#[test]
fn a_cached_response_may_have_as_many_bytes_as_the_limit_says() {
    let cache = cache(1 << 20, 10);
    assert!(is_admitted(&cache, 1, &[b'x'; 10]));
    assert!(!is_admitted(&cache, 2, &[b'x'; 11]));
}

#[test]
fn all_cached_responses_may_have_as_many_bytes_as_the_limit_says() {
    let each = BYTES_PER_RESPONSE + 1000;
    for (bytes, both) in [(2 * each, true), (2 * each - 1, false)] {
        let cache = cache(bytes, 1000);
        assert!(is_admitted(&cache, 1, &[b'x'; 1000]));
        assert!(is_admitted(&cache, 2, &[b'x'; 1000]));
        // To look would count as a use.
        assert_eq!(cache.get(&key(1)).is_some(), both, "{bytes}");
    }
}

#[test]
fn a_cache_without_room_caches_nothing() {
    let cache = cache(0, 1000);
    assert!(!is_admitted(&cache, 1, b""));
}

#[test]
fn a_compressed_form_is_made_once_and_counted() {
    let text = [b'x'; 5000];
    let room = BYTES_PER_RESPONSE
        + text.len()
        + Zstd.compress_to_vec(&text, CompressionLevel::Compact).len();
    let cache = cache(room, 5000);
    assert!(is_admitted(&cache, 1, &text));
    let cached = cache.get(&key(1)).unwrap();
    assert!(!cached.has(Zstd));
    let first = cache.encoded(&key(1), &cached, Zstd);
    assert!(cached.has(Zstd));
    assert_eq!(
        cache.encoded(&key(1), &cached, Zstd).as_ptr(),
        first.as_ptr()
    );
    assert_eq!(zstd::decode_all(&*first).unwrap(), text);
    assert!(cache.get(&key(1)).is_some());
    // There is no room for another form, so that the response is evicted.
    cache.encoded(&key(1), &cached, Gzip);
    assert!(cache.get(&key(1)).is_none());
}

#[tokio::test]
async fn responses_about_catalogs_that_have_changed_are_evicted_and_no_others() {
    let (mut writer, reader) = catalogs();
    let engine = Arc::new(Engine::new(reader, "test", Limits::default()));
    writer.publish(served("alpha", ALPHA, 1));
    writer.publish(served("beta", BETA, 2));
    let keys = [
        "{ catalog(name: \"alpha\") { name } }",
        "{ package(catalog: \"beta\", name: \"a\") { name } again: catalog(name: \"beta\") { name } }",
        "{ packages(catalogs: [\"alpha\", \"beta\"]) { totalCount } }",
        "{ packages { totalCount } }",
    ]
    .map(|query| {
        let request = Request { query: Some(query.into()), ..Request::default() };
        let prepared = engine
            .prepare(&request, &engine.catalogs, Peer::default())
            .unwrap_or_else(|error| panic!("{query}: {error:?}"));
        prepared.validator().unwrap().key
    });
    for key in [keys, keys].as_flattened() {
        let _ = engine.response_cache.offer(*key, b"a response");
    }
    let cached = || keys.map(|key| engine.response_cache.get(&key).is_some());
    engine
        .response_cache
        .evict_stale(&engine.catalogs.snapshot());
    assert_eq!(cached(), [true; 4]);
    let evicting = Arc::clone(&engine);
    let evicting = tokio::spawn(async move { evicting.evict_stale_responses().await });
    writer.publish(served("alpha", BETA, 2));
    let evicted = async {
        while cached() != [false, true, false, false] {
            yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), evicted)
        .await
        .expect("what is served has changed");
    drop(writer);
    evicting
        .await
        .expect("it ends when nothing changes any more");
}
