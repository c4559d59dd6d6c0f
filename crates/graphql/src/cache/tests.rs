//! What is kept, from which request on, and how much of it.

use std::time::Duration;

use http_facts::coding::Coding::{Gzip, Zstd};
use serving::catalogs;
use tokio::task::yield_now;
use tokio::time::timeout;

use super::*;
use crate::tests::fixture::{ALPHA, BETA, served};
use crate::{Engine, Request};

/// A key for a test.
fn key(number: u8) -> Key {
    Key::of([number; 16])
}

fn answers(kept_bytes: usize, kept_answer_bytes: usize) -> ResponseCache {
    ResponseCache::new(&Limits { kept_bytes, kept_answer_bytes, ..Limits::default() })
}

/// Offers an answer twice, as the first two requests do; whether it is kept then.
fn is_kept_at_last(answers: &ResponseCache, number: u8, answer: &[u8]) -> bool {
    let _ = answers.offer(key(number), answer);
    let _ = answers.offer(key(number), answer);
    answers.get(&key(number)).is_some()
}

#[test]
fn an_answer_is_kept_from_the_second_request_on() {
    let answers = answers(1 << 20, 1 << 10);
    assert!(answers.offer(key(1), b"one").is_none());
    assert!(answers.get(&key(1)).is_none());
    assert_eq!(answers.offer(key(1), b"one").map(|kept| kept.plain.clone()), Some(Bytes::from_static(b"one")));
    assert_eq!(answers.get(&key(1)).map(|kept| kept.plain.clone()), Some(Bytes::from_static(b"one")));
}

#[test]
fn an_answer_that_is_kept_may_have_as_many_bytes_as_the_limit_says() {
    let answers = answers(1 << 20, 10);
    assert!(is_kept_at_last(&answers, 1, &[b'x'; 10]));
    assert!(!is_kept_at_last(&answers, 2, &[b'x'; 11]));
}

#[test]
fn all_answers_together_may_have_as_many_bytes_as_the_limit_says() {
    let each = BYTES_PER_ANSWER + 1000;
    for (bytes, both) in [(2 * each, true), (2 * each - 1, false)] {
        let answers = answers(bytes, 1000);
        assert!(is_kept_at_last(&answers, 1, &[b'x'; 1000]));
        assert!(is_kept_at_last(&answers, 2, &[b'x'; 1000]));
        // To look would count as a use.
        assert_eq!(answers.get(&key(1)).is_some(), both, "{bytes}");
    }
}

#[test]
fn nothing_is_kept_where_there_is_no_room_for_it() {
    let answers = answers(0, 1000);
    assert!(!answers.is_on());
    assert!(!is_kept_at_last(&answers, 1, b""));
}

#[test]
fn a_compressed_form_is_made_once_and_counted() {
    let text = [b'x'; 5000];
    let room = BYTES_PER_ANSWER + text.len() + Zstd.compress_to_vec(&text, CompressionLevel::Compact).len();
    let answers = answers(room, 5000);
    assert!(is_kept_at_last(&answers, 1, &text));
    let kept = answers.get(&key(1)).unwrap();
    assert!(!kept.has(Zstd));
    let first = answers.encoded(&key(1), &kept, Zstd);
    assert!(kept.has(Zstd));
    assert_eq!(answers.encoded(&key(1), &kept, Zstd).as_ptr(), first.as_ptr());
    assert_eq!(zstd::decode_all(&*first).unwrap(), text);
    assert!(answers.get(&key(1)).is_some());
    // There is no room for another form, so that the answer has to go.
    answers.encoded(&key(1), &kept, Gzip);
    assert!(answers.get(&key(1)).is_none());
}

#[tokio::test]
async fn answers_about_what_is_not_served_any_more_are_let_go_of_and_no_others() {
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
        let known = engine.known(&request).unwrap_or_else(|error| panic!("{query}: {error:?}"));
        engine.validators.of(&engine.catalogs.snapshot(), &known).unwrap().key
    });
    for key in [keys, keys].as_flattened() {
        let _ = engine.answers.offer(*key, b"an answer");
    }
    let kept = || keys.map(|key| engine.answers.get(&key).is_some());
    engine.answers.forget_former(&engine.catalogs.snapshot());
    assert_eq!(kept(), [true; 4]);
    let forgetting = Arc::clone(&engine);
    let forgetting = tokio::spawn(async move { forgetting.forget_former_answers().await });
    writer.publish(served("alpha", BETA, 2));
    let forgotten = async {
        while kept() != [false, true, false, false] {
            yield_now().await;
        }
    };
    timeout(Duration::from_secs(10), forgotten).await.expect("what is served has changed");
    drop(writer);
    forgetting.await.expect("it ends when nothing changes any more");
}
