//! What is asked about callers, and what they get, with an API server of which only the answers are
//! real.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::future::pending;
use std::net::Ipv4Addr;
use std::sync::Mutex;

use admission::Peer;
use fbc::Catalog;
use fbc_grammar::Digest;
use fbc_read::Origins;
use futures_util::future::join_all;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use serving::{CatalogMetadata, CatalogsWriter, Content, Served, catalogs};
use tower::service_fn;

use super::*;
use crate::authenticator::tests::{Authority, authenticator, authority, certificate, published};
use crate::jwt::tests::signed;
use crate::{ANONYMOUS, Authenticator, Authorities, MASTERS};

/// What tokens begin with that the API server never judges.
const UNANSWERED: &str = "unanswered";

/// The API server. Tokens are names of users; clones are the same.
#[derive(Clone, Default)]
struct ApiServer(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    users: BTreeSet<&'static str>,
    /// Users with the catalogs that they may read; `*` is a right without a name.
    rights: BTreeSet<(&'static str, &'static str)>,
    is_down: bool,
    /// What was asked: the user of a token, or user and catalog.
    questions: Vec<String>,
}

impl ApiServer {
    fn answer(&self, question: &Value) -> Result<Value, u16> {
        let mut state = self.0.lock().unwrap();
        if state.is_down {
            return Err(500);
        }
        let text = |path: &str| {
            question
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let mut answer = question.clone();
        if let Some(token) = question.pointer("/spec/token").and_then(Value::as_str) {
            state.questions.push(format!("who is {token}"));
            let groups: &[&str] = if token == "master" { &[MASTERS] } else { &[] };
            let user = json!({ "username": token, "groups": groups });
            answer["status"] =
                json!({ "authenticated": state.users.contains(token), "user": user });
        } else {
            let attributes = "/spec/resourceAttributes";
            let user = text("/spec/user");
            let name = text(&format!("{attributes}/name"));
            let what = ["verb", "group", "resource", "subresource"]
                .map(|part| text(&format!("{attributes}/{part}")));
            assert_eq!(
                what,
                [
                    "get",
                    "olm.operatorframework.io",
                    "clustercatalogs",
                    "content"
                ]
            );
            let is_of =
                |right: &&(&str, &str)| right.0 == user && (right.1 == "*" || right.1 == name);
            let allowed = state.rights.iter().any(|right| is_of(&right));
            state.questions.push(format!(
                "{user} {}",
                if name.is_empty() { "*" } else { &name }
            ));
            answer["status"] = json!({ "allowed": allowed, "reason": format!("of {name}") });
        }
        Ok(answer)
    }

    /// What was asked since the last call, sorted.
    fn questions(&self) -> Vec<String> {
        let mut questions = std::mem::take(&mut self.0.lock().unwrap().questions);
        questions.sort();
        questions
    }

    fn client(&self) -> Client {
        let server = self.clone();
        let answer = move |request: Request<Body>| {
            let server = server.clone();
            async move {
                let body = request
                    .into_body()
                    .collect_bytes()
                    .await
                    .expect("a question is in memory");
                let question: Value = serde_json::from_slice(&body).expect("questions are JSON");
                let token = question
                    .pointer("/spec/token")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                let answer = server.answer(&question);
                if token.starts_with(UNANSWERED) {
                    pending::<()>().await;
                }
                let (status, answer) =
                    answer.map_or_else(|status| (status, json!({})), |it| (201, it));
                let response = Response::builder()
                    .status(status)
                    .header("content-type", "application/json");
                Ok::<_, Infallible>(
                    response
                        .body(Body::from(answer.to_string().into_bytes()))
                        .unwrap(),
                )
            }
        };
        Client::new(service_fn(answer), "default")
    }
}

struct Fixture {
    server: ApiServer,
    callers: Callers,
    writer: CatalogsWriter,
}

fn start() -> Fixture {
    let (mut writer, reader) = catalogs();
    for name in ["a", "b"] {
        writer.publish(served(name));
    }
    let server = ApiServer::default();
    let mut state = server.0.lock().unwrap();
    state.users = BTreeSet::from(["all", "some", "none", "master"]);
    state.rights = BTreeSet::from([("all", "*"), ("some", "a"), ("some", "never")]);
    drop(state);
    Fixture {
        callers: Callers::new(server.client(), Vec::new(), reader),
        server,
        writer,
    }
}

fn token(text: &str) -> RequestCredentials<'_> {
    sent_by(1, text)
}

/// A token that a peer of this number sends.
fn sent_by(peer: u8, text: &str) -> RequestCredentials<'_> {
    RequestCredentials::Token(
        text.as_bytes().into(),
        Peer::new(Ipv4Addr::new(192, 0, 2, peer).into()),
    )
}

/// What is sent with a certificate of this authority and name, which may be that of a proxy.
fn certified(
    authenticator: &Authenticator,
    authority: &Authority,
    name: &str,
) -> RequestCredentials<'static> {
    let headers = HeaderMap::from_iter([(
        HeaderName::from_static("x-remote-user"),
        HeaderValue::from_static("some"),
    )]);
    let certificate = certificate(authority, name);
    let credentials = authenticator.credentials(&headers, Some(&certificate), Peer::default());
    credentials.expect("its authority counts").into_owned()
}

fn served(name: &str) -> Served {
    let catalog =
        Catalog::build(bytes::Bytes::new(), &Origins::default()).expect("nothing is a content");
    Served::new(
        name,
        Content::new(catalog, Digest::new([0; 32])),
        CatalogMetadata::default(),
    )
}

fn seen(reader: Result<Catalogs, AuthError>) -> Result<Vec<String>, AuthError> {
    reader.map(|reader| {
        reader
            .snapshot()
            .by_name()
            .map(|served| served.name.clone())
            .collect()
    })
}

async fn seen_renewed(reader: &Catalogs) -> Result<Vec<String>, RenewalError> {
    reader.renew().await.map(|reader| seen(Ok(reader)).unwrap())
}

impl Fixture {
    async fn sees(&self, token: &str) -> Result<Vec<String>, AuthError> {
        seen(self.callers.reader(&self::token(token)).await)
    }
}

#[tokio::test]
async fn who_may_see_each_catalog_is_asked_about_once_and_others_for_each() {
    let mut fixture = start();
    for (token, expected, questions) in [
        ("all", &["a", "b"][..], &["all *", "who is all"][..]),
        (
            "some",
            &["a"],
            &["some *", "some a", "some b", "who is some"],
        ),
        ("none", &[], &["none *", "none a", "none b", "who is none"]),
        ("master", &["a", "b"], &["who is master"]),
    ] {
        for questions in [questions, &[]] {
            assert_eq!(fixture.sees(token).await.unwrap(), expected);
            assert_eq!(fixture.server.questions(), questions);
        }
    }
    fixture.writer.publish(served("c"));
    assert_eq!(fixture.sees("all").await.unwrap(), ["a", "b", "c"]);
    assert_eq!(fixture.server.questions(), Vec::<String>::new());
    assert_eq!(fixture.sees("some").await.unwrap(), ["a"]);
    assert_eq!(fixture.server.questions(), ["some c"]);
}

#[tokio::test]
async fn who_has_no_token_sees_what_everybody_may_see_or_is_no_caller() {
    let fixture = start();
    assert_eq!(
        seen(fixture.callers.reader(&RequestCredentials::None).await),
        Err(AuthError::Unauthenticated)
    );
    assert_eq!(
        seen(
            fixture
                .callers
                .reader_of(&RequestCredentials::None, "a")
                .await
        ),
        Err(AuthError::Unauthenticated)
    );
    assert_eq!(
        seen(fixture.callers.reader(&token("invented")).await),
        Err(AuthError::Unauthenticated)
    );
    assert_eq!(fixture.server.questions().len(), 4);
    for name in ["a", "b", "absent"] {
        assert_eq!(
            seen(
                fixture
                    .callers
                    .reader_of(&RequestCredentials::None, name)
                    .await
            ),
            Err(AuthError::Unauthenticated)
        );
    }
    assert_eq!(
        fixture.server.questions(),
        Vec::<String>::new(),
        "it is remembered"
    );
    let fixture = start();
    fixture
        .server
        .0
        .lock()
        .unwrap()
        .rights
        .insert((ANONYMOUS, "b"));
    assert_eq!(
        seen(fixture.callers.reader(&RequestCredentials::None).await).unwrap(),
        ["b"]
    );
    assert_eq!(
        seen(
            fixture
                .callers
                .reader_of(&RequestCredentials::None, "b")
                .await
        )
        .unwrap(),
        ["b"]
    );
    assert_eq!(
        seen(
            fixture
                .callers
                .reader_of(&RequestCredentials::None, "a")
                .await
        ),
        Err(AuthError::Unauthenticated)
    );
}

#[tokio::test]
async fn whom_a_certificate_names_sees_what_it_may_and_no_token_is_taken_for_it() {
    let fixture = start();
    let users = authority();
    let (_sender, authenticator) = authenticator(&published(&users, &users));
    let certified = certified(&authenticator, &users, "some");
    let text = format!(
        "{:?}",
        fixture
            .callers
            .0
            .authorizer
            .user_of(&certified)
            .await
            .unwrap()
            .value
    );
    assert_eq!(
        seen(fixture.callers.reader(&certified).await).unwrap(),
        ["a"]
    );
    assert_eq!(fixture.server.questions(), ["some *", "some a", "some b"]);
    assert_eq!(
        seen(fixture.callers.reader_of(&certified, "a").await).unwrap(),
        ["a"]
    );
    let denied = AuthError::Forbidden {
        user: "some".to_owned(),
        reason: None,
    };
    assert_eq!(
        seen(fixture.callers.reader_of(&certified, "b").await),
        Err(denied)
    );
    // A token whose text is what the user is remembered by is another caller's.
    assert_eq!(
        seen(fixture.callers.reader(&token(&text)).await),
        Err(AuthError::Unauthenticated)
    );
}

#[tokio::test]
async fn a_catalog_in_a_path_takes_the_same_questions_whether_it_is_hidden_or_not_there() {
    let fixture = start();
    // What is known of all catalogs makes no difference.
    fixture.sees("some").await.unwrap();
    fixture.server.questions();
    for name in ["b", "absent"] {
        for questions in [vec![format!("some {name}")], vec![]] {
            let denied = AuthError::Forbidden {
                user: "some".to_owned(),
                reason: None,
            };
            assert_eq!(
                seen(fixture.callers.reader_of(&token("some"), name).await),
                Err(denied)
            );
            assert_eq!(fixture.server.questions(), questions);
        }
    }
    assert_eq!(
        seen(fixture.callers.reader_of(&token("some"), "a").await).unwrap(),
        ["a"]
    );
    assert_eq!(
        seen(fixture.callers.reader_of(&token("some"), "never").await).unwrap(),
        Vec::<String>::new()
    );
    assert_eq!(
        seen(fixture.callers.reader_of(&token("all"), "b").await).unwrap(),
        ["b"]
    );
}

#[tokio::test]
async fn without_an_answer_nobody_is_let_in_and_that_is_not_remembered() {
    let fixture = start();
    fixture.sees("some").await.unwrap();
    fixture.server.0.lock().unwrap().is_down = true;
    assert_eq!(
        fixture.sees("some").await.unwrap(),
        ["a"],
        "it is still believed"
    );
    assert_eq!(fixture.sees("all").await, Err(AuthError::Unavailable));
    assert_eq!(
        seen(fixture.callers.reader(&RequestCredentials::None).await),
        Err(AuthError::Unavailable)
    );
    assert_eq!(
        seen(fixture.callers.reader_of(&token("some"), "a").await),
        Err(AuthError::Unavailable)
    );
    fixture.server.0.lock().unwrap().is_down = false;
    assert_eq!(fixture.sees("all").await.unwrap(), ["a", "b"]);
}

#[tokio::test]
async fn a_reader_is_renewed_with_what_its_caller_may_see_then() {
    let mut fixture = start();
    let reader = fixture.callers.reader(&token("some")).await.unwrap();
    fixture
        .server
        .0
        .lock()
        .unwrap()
        .rights
        .insert(("some", "c"));
    fixture.writer.publish(served("c"));
    assert_eq!(seen(Ok(reader.clone())).unwrap(), ["a"]);
    let renewed = reader.renew().await.unwrap();
    assert_eq!(seen(Ok(renewed.clone())).unwrap(), ["a", "c"]);
    assert!(
        !format!("{renewed:?}").contains("some"),
        "a token is a secret"
    );
    drop(fixture.callers);
    assert_eq!(
        seen_renewed(&renewed).await,
        Err(RenewalError::Undecided),
        "nobody can say what it may see"
    );
}

#[tokio::test]
async fn a_reader_is_not_renewed_where_its_token_is_revoked_or_nobody_answers() {
    let mut fixture = start();
    let reader = fixture.callers.reader(&token("some")).await.unwrap();
    // What is published is asked about, and what is known of the user is still believed.
    fixture.writer.publish(served("c"));
    fixture.server.0.lock().unwrap().is_down = true;
    assert_eq!(seen_renewed(&reader).await, Err(RenewalError::Undecided));
    fixture.server.0.lock().unwrap().is_down = false;
    let callers = Arc::downgrade(&fixture.callers.0);
    let credentials = token("revoked").into_owned();
    let reader = reader.with_caller(Arc::new(RenewableCaller {
        callers,
        credentials,
    }));
    assert_eq!(seen_renewed(&reader).await, Err(RenewalError::Refused));
}

#[tokio::test]
async fn a_reader_is_not_renewed_where_the_authority_of_its_certificate_was_replaced() {
    let fixture = start();
    let old = authority();
    let new = authority();
    let mut both = published(&old, &old);
    both.insert(
        "requestheader-client-ca-file".to_owned(),
        old.pem() + &new.pem(),
    );
    let (sender, authenticator) = authenticator(&both);
    let mut readers = Vec::new();
    for credentials in [(&old, "some"), (&old, "proxy"), (&new, "proxy")] {
        let credentials = certified(&authenticator, credentials.0, credentials.1);
        readers.push(fixture.callers.reader(&credentials).await.unwrap());
    }
    for reader in &readers {
        assert_eq!(seen_renewed(reader).await.unwrap(), ["a"]);
    }
    sender.send_replace(Some(Arc::new(
        Authorities::read(&published(&new, &new)).unwrap(),
    )));
    for (reader, expected) in readers.iter().zip([
        Err(RenewalError::Refused),
        Err(RenewalError::Refused),
        Ok(vec!["a".to_owned()]),
    ]) {
        assert_eq!(seen_renewed(reader).await, expected);
    }
}

#[tokio::test]
async fn simultaneous_first_requests_ask_once() {
    let fixture = start();
    let all = join_all((0..16).map(|_| fixture.sees("some"))).await;
    assert_eq!(all, vec![Ok(vec!["a".to_owned()]); 16]);
    assert_eq!(
        fixture.server.questions(),
        ["some *", "some a", "some b", "who is some"]
    );
}

#[tokio::test]
async fn tokens_that_one_peer_invents_keep_nobody_else_waiting() {
    let fixture = start();
    let invented: Vec<_> = (0..100)
        .map(|number| format!("{UNANSWERED}{number}"))
        .collect();
    let credentials: Vec<_> = invented.iter().map(|text| sent_by(2, text)).collect();
    let waiting = join_all(credentials.iter().map(|own| fixture.callers.reader(own)));
    let other = sent_by(3, "some");
    tokio::select! {
        biased;
        _ = waiting => panic!("the API server does not answer"),
        other = fixture.callers.reader(&other) => assert_eq!(seen(other).unwrap(), ["a"]),
    }
    let questions = fixture.server.questions();
    let asked = questions
        .iter()
        .filter(|question| question.contains(UNANSWERED))
        .count();
    assert_eq!(
        (asked, questions.len() - asked),
        (MAX_CONCURRENT_REVIEWS / 2, 4)
    );
}

#[tokio::test]
async fn a_caller_whose_token_was_good_waits_behind_no_tokens_that_its_address_invents() {
    let fixture = start();
    let authorizer = &fixture.callers.0.authorizer;
    let known = sent_by(2, "some");
    authorizer.user_of(&known).await.unwrap();
    authorizer.users.expire();
    fixture.server.questions();
    let invented =
        |peer: u8| (0..100).map(move |number| (peer, format!("{UNANSWERED} {number} of {peer}")));
    let invented: Vec<_> = invented(2).chain(invented(3)).collect();
    let credentials: Vec<_> = invented
        .iter()
        .map(|(peer, text)| sent_by(*peer, text))
        .collect();
    let waiting = join_all(credentials.iter().map(|own| authorizer.user_of(own)));
    tokio::select! {
        biased;
        _ = waiting => panic!("the API server does not answer"),
        user = authorizer.user_of(&known) => assert_eq!(user.unwrap().value.name(), "some"),
    }
    let questions = fixture.server.questions();
    assert_eq!(
        questions
            .iter()
            .filter(|question| *question == "who is some")
            .count(),
        1,
        "its answer was over"
    );
    assert_eq!(
        questions.len(),
        1 + MAX_CONCURRENT_REVIEWS,
        "invented tokens have all other turns"
    );
}

#[tokio::test]
async fn a_token_that_is_malformed_or_expired_asks_nothing_and_others_are_asked_about() {
    let fixture = start();
    let expired = signed(r#"{"sub":"all","exp":1}"#);
    let cut = signed("{");
    for void in [&expired, &cut] {
        assert_eq!(fixture.sees(void).await, Err(AuthError::Unauthenticated));
        assert_eq!(
            seen(fixture.callers.reader_of(&token(void), "a").await),
            Err(AuthError::Unauthenticated)
        );
    }
    assert_eq!(fixture.server.questions(), Vec::<String>::new());
    let later = signed(r#"{"sub":"all","exp":99999999999}"#);
    for asked in ["sha256~opaque", &later] {
        assert_eq!(fixture.sees(asked).await, Err(AuthError::Unauthenticated));
        assert_eq!(fixture.server.questions(), [format!("who is {asked}")]);
    }
}
