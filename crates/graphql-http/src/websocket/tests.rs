//! What is said on a WebSocket. `tests/js/streams.test.mjs` does so over real ones, with the client
//! of the protocol.

use futures_util::FutureExt as _;
use serde_json::{Value, json};
use serving::{Caller, CatalogsWriter, Renewal, RenewalError, catalogs};

use super::*;
use graphql::limits::Limits;
use graphql::{Engine, StreamLimits};

use crate::GraphqlHttpSettings;
use crate::tests::fixture::{BETA, served};

const INIT: &str = r#"{"type":"connection_init","payload":{"token":"x"}}"#;
const CHANGES: &str = "subscription { catalogChanged { name } }";

fn server(streams: StreamLimits) -> (CatalogsWriter, Arc<GraphqlService>) {
    let (writer, reader) = catalogs();
    let engine = Engine::new(
        reader,
        "test",
        Limits {
            streams,
            ..Limits::default()
        },
    );
    (
        writer,
        Arc::new(GraphqlService::new(
            Arc::new(engine),
            GraphqlHttpSettings::default(),
        )),
    )
}

fn connect(server: &Arc<GraphqlService>) -> WebSocketConnection<'_> {
    let client = SocketClient {
        catalogs: server.engine.catalogs().clone(),
        authorizer: None,
        peer: Peer::default(),
    };
    WebSocketConnection {
        server,
        client,
        operations: Operations::new(),
        is_ready: false,
    }
}

impl WebSocketConnection<'_> {
    /// Handles a message of a client that everybody knows.
    fn hear(&mut self, text: &str) -> Result<Option<String>, Close> {
        self.on_message(Incoming::read(text))
            .now_or_never()
            .expect("a short document is parsed at once")
    }
}

fn subscribe(id: &str, query: &str) -> String {
    json!({"id": id, "type": "subscribe", "payload": {"query": query}}).to_string()
}

async fn said(connection: &mut WebSocketConnection<'_>) -> Value {
    let (id, outgoing) = connection.next().await;
    serde_json::from_slice(&outgoing.into_parts(&id).concat()).unwrap()
}

/// The code with which the last of some messages closes a socket; none when all of them are taken.
fn code(messages: &[&str]) -> Option<u16> {
    let (_writer, server) = server(StreamLimits::default());
    let mut connection = connect(&server);
    messages
        .iter()
        .find_map(|message| match connection.hear(message) {
            Err(Some((code, _))) => Some(code),
            _ => None,
        })
}

#[test]
fn what_the_protocol_forbids_closes_the_socket_with_its_code() {
    let one = subscribe("1", CHANGES);
    for (messages, expected) in [
        (&[INIT][..], None),
        (&[r#"{"type":"connection_init"}"#], None),
        (&[INIT, INIT], Some(4429)),
        (&[&one], Some(4401)),
        (&[INIT, &one], None),
        (&[INIT, &one, &one], Some(4409)),
        (&[INIT, &one, r#"{"type":"complete","id":"1"}"#, &one], None),
        (&[r#"{"type":"complete","id":"1"}"#], None),
        (
            &[r#"{"type":"ping"}"#, r#"{"type":"pong","payload":{}}"#],
            None,
        ),
        (&["hello"], Some(4400)),
        (&["[]"], Some(4400)),
        (&["{}"], Some(4400)),
        (&[r#"{"type":"start","id":"1"}"#], Some(4400)),
        (&[r#"{"type":"connection_init","payload":"x"}"#], Some(4400)),
        (&[r#"{"type":"ping","payload":[]}"#], Some(4400)),
        (&[r#"{"type":"complete"}"#], Some(4400)),
        (
            &[
                INIT,
                r#"{"type":"subscribe","id":"","payload":{"query":"{ a }"}}"#,
            ],
            Some(4400),
        ),
        (&[INIT, r#"{"type":"subscribe","id":"1"}"#], Some(4400)),
        (
            &[INIT, r#"{"type":"subscribe","id":"1","payload":{}}"#],
            Some(4400),
        ),
        (
            &[
                INIT,
                r#"{"type":"subscribe","id":"1","payload":{"query":1}}"#,
            ],
            Some(4400),
        ),
    ] {
        assert_eq!(code(messages), expected, "{messages:?}");
    }
}

#[test]
fn the_reason_of_a_close_frame_is_as_long_as_it_may_be() {
    let (_writer, server) = server(StreamLimits::default());
    let mut connection = connect(&server);
    let long = subscribe(&"é".repeat(100), CHANGES);
    connection.hear(INIT).ok().unwrap();
    connection.hear(&long).ok().unwrap();
    let reason = connection
        .hear(&long)
        .err()
        .flatten()
        .expect("it is closed")
        .1;
    assert_eq!(reason, format!("Subscriber for {}", "é".repeat(54)));
}

#[test]
fn what_cannot_be_read_closes_the_socket_with_the_code_of_its_fault() {
    use tungstenite::Error;
    use tungstenite::error::{CapacityError, ProtocolError};

    let too_long = CapacityError::MessageTooLong {
        size: 2,
        max_size: 1,
    };
    for (error, expected) in [
        (Error::Capacity(too_long), Some(1009)),
        (Error::Utf8(String::new()), Some(1007)),
        (
            Error::Protocol(ProtocolError::NonZeroReservedBits),
            Some(1002),
        ),
        (Error::ConnectionClosed, None),
    ] {
        let code = close_for_error::<()>(&error)
            .unwrap_err()
            .map(|(code, _)| code);
        assert_eq!(code, expected, "{error}");
    }
}

#[test]
fn a_ping_is_answered_with_what_it_says() {
    let (_writer, server) = server(StreamLimits::default());
    let mut connection = connect(&server);
    let mut heard = |message| connection.hear(message).ok().flatten();
    assert_eq!(heard(INIT).as_deref(), Some(r#"{"type":"connection_ack"}"#));
    assert_eq!(
        heard(r#"{"type":"ping"}"#).as_deref(),
        Some(r#"{"type":"pong"}"#)
    );
    let pong = heard(r#"{"type":"ping","payload":{"a": 1}}"#);
    assert_eq!(
        pong.as_deref(),
        Some(r#"{"type":"pong","payload":{"a": 1}}"#)
    );
}

#[tokio::test]
async fn operations_of_every_kind_are_told_of_by_their_ids() {
    let (mut writer, server) = server(StreamLimits::default());
    let mut connection = connect(&server);
    connection.hear(INIT).ok().unwrap();
    connection
        .hear(&subscribe("a \"query\"", "{ __typename }"))
        .ok()
        .unwrap();
    let data = json!({"data": {"__typename": "Query"}});
    assert_eq!(
        said(&mut connection).await,
        json!({"id": "a \"query\"", "type": "next", "payload": data})
    );
    assert_eq!(
        said(&mut connection).await,
        json!({"id": "a \"query\"", "type": "complete"})
    );
    connection.hear(&subscribe("bad", "{ none }")).ok().unwrap();
    let error = said(&mut connection).await;
    assert_eq!([&error["id"], &error["type"]], ["bad", "error"]);
    assert_eq!(
        error["payload"][0]["extensions"]["code"],
        "GRAPHQL_VALIDATION_FAILED"
    );
    connection
        .hear(&subscribe("bad too", "subscription { none }"))
        .ok()
        .unwrap();
    assert_eq!(said(&mut connection).await["type"], "error");
    connection
        .hear(&subscribe("changes", CHANGES))
        .ok()
        .unwrap();
    writer.publish(served("c", BETA, 1));
    let data = json!({"data": {"catalogChanged": {"name": "c"}}});
    assert_eq!(
        said(&mut connection).await,
        json!({"id": "changes", "type": "next", "payload": data})
    );
    server.engine.end_streams();
    assert_eq!(
        said(&mut connection).await,
        json!({"id": "changes", "type": "complete"})
    );
    assert!(connection.operations.is_empty());
}

/// Someone who may see nothing any more, for this reason.
#[derive(Debug)]
struct Refused(RenewalError);

impl Caller for Refused {
    fn renew(&self) -> Renewal<'_> {
        Box::pin(async { Err(self.0) })
    }
}

#[tokio::test]
async fn a_client_that_may_not_read_any_more_is_refused_at_its_next_message() {
    let (_writer, server) = server(StreamLimits::default());
    let mut connection = connect(&server);
    assert!(connection.renew().await.is_ok(), "nobody asks who it is");
    for (error, code, reason) in [
        (RenewalError::Refused, 4403, "Forbidden"),
        (RenewalError::Undecided, 1013, "Try again later"),
    ] {
        connection.client.catalogs = server
            .engine
            .catalogs()
            .clone()
            .with_caller(Arc::new(Refused(error)));
        assert_eq!(
            connection.receive(r#"{"type":"ping"}"#).await,
            Err(Some((code, reason.to_owned())))
        );
    }
}

#[tokio::test]
async fn a_client_says_who_it_is_in_its_first_message() {
    let (_writer, server) = server(StreamLimits::default());
    let authorizer = ConnectionAuthorizer::new(|authorization| {
        let verdict = match authorization.as_ref().and_then(|value| value.to_str().ok()) {
            Some("Bearer good") => Ok(catalogs()
                .1
                .with_caller(Arc::new(Refused(RenewalError::Refused)))),
            Some("Bearer later") => Err(ConnectionInitError::Undecided),
            Some(_) => Err(ConnectionInitError::Forbidden),
            None => Err(ConnectionInitError::Unauthenticated),
        };
        Box::pin(async move { verdict })
    });
    let acknowledged = Ok(Some(message::ACKNOWLEDGED.to_owned()));
    let closed = |code, reason: &str| Err(Some((code, reason.to_owned())));
    for (payload, expected) in [
        (
            json!({"Authorization": "Bearer good", "other": {}}),
            acknowledged.clone(),
        ),
        (json!({"authorization": "Bearer good"}), acknowledged),
        (
            json!({"Authorization": "Bearer bad"}),
            closed(4403, "Forbidden"),
        ),
        (
            json!({"Authorization": "Bearer later"}),
            closed(1013, "Try again later"),
        ),
        (json!({"token": "good"}), closed(4401, "Unauthorized")),
        (
            json!({"Authorization": 1}),
            closed(4400, "Invalid message received"),
        ),
        (
            json!({"Authorization": "a\nb"}),
            closed(4400, "Invalid message received"),
        ),
    ] {
        let mut connection = connect(&server);
        connection.client.authorizer = Some(authorizer.clone());
        assert!(
            connection.receive(r#"{"type":"ping"}"#).await.is_ok(),
            "it may wait"
        );
        let init = json!({"type": "connection_init", "payload": payload}).to_string();
        assert_eq!(connection.receive(&init).await, expected, "{init}");
        assert_eq!(connection.client.catalogs.has_caller(), expected.is_ok());
        // From then on the client is asked about, and does not say it again.
        let last = if expected.is_ok() {
            closed(4403, "Forbidden")
        } else {
            continue;
        };
        assert_eq!(connection.receive(&init).await, last);
    }
    let mut connection = connect(&server);
    connection.client.authorizer = Some(authorizer);
    assert_eq!(
        connection.receive(r#"{"type":"connection_init"}"#).await,
        closed(4401, "Unauthorized")
    );
    assert_eq!(
        connection.receive(&subscribe("1", CHANGES)).await,
        closed(4401, "Unauthorized")
    );
}

#[tokio::test]
async fn as_many_operations_run_as_the_limits_say() {
    for limits in [
        StreamLimits {
            operations: 2,
            ..StreamLimits::default()
        },
        // One peer has half of them.
        StreamLimits {
            streams: 4,
            ..StreamLimits::default()
        },
    ] {
        let (_writer, server) = server(limits);
        let mut connection = connect(&server);
        connection.hear(INIT).ok().unwrap();
        for id in ["1", "2", "3"] {
            connection.hear(&subscribe(id, CHANGES)).ok().unwrap();
        }
        let error = said(&mut connection).await;
        assert_eq!([&error["id"], &error["type"]], ["3", "error"]);
        assert_eq!(
            error["payload"][0]["extensions"]["code"],
            "MAX_STREAMS_LIMIT"
        );
        connection
            .hear(r#"{"type":"complete","id":"1"}"#)
            .ok()
            .unwrap();
        connection
            .hear(&subscribe("4", "{ __typename }"))
            .ok()
            .unwrap();
        assert_eq!(said(&mut connection).await["type"], "next");
    }
}

#[tokio::test]
async fn a_response_without_room_is_refused_and_the_next_one_is_sent() {
    let limits = Limits {
        in_flight_bytes: crate::budget::BUDGET_UNIT,
        ..Limits::default()
    };
    let (_writer, reader) = catalogs();
    let server = Arc::new(GraphqlService::new(
        Arc::new(Engine::new(reader, "test", limits)),
        GraphqlHttpSettings::default(),
    ));
    let mut connection = connect(&server);
    connection.hear(INIT).ok().unwrap();
    connection
        .hear(&subscribe("1", "{ __typename }"))
        .ok()
        .unwrap();
    let (_, unread) = connection.next().await;
    assert_eq!(said(&mut connection).await["type"], "complete");
    connection
        .hear(&subscribe("2", "{ __typename }"))
        .ok()
        .unwrap();
    let error = said(&mut connection).await;
    assert_eq!([&error["id"], &error["type"]], ["2", "error"]);
    assert_eq!(
        error["payload"][0]["extensions"]["code"],
        "SERVER_OVERLOADED"
    );
    drop(unread);
    connection
        .hear(&subscribe("3", "{ __typename }"))
        .ok()
        .unwrap();
    assert_eq!(said(&mut connection).await["type"], "next");
}

#[tokio::test]
async fn operations_of_a_connection_that_is_not_polled_hold_nothing_that_others_wait_for() {
    // An event that is not read holds its room, so that there is room for one of each connection.
    let in_flight_bytes = 40 * crate::budget::BUDGET_UNIT;
    let limits = Limits {
        in_flight_bytes,
        ..Limits::default()
    };
    let (mut writer, reader) = catalogs();
    let server = Arc::new(GraphqlService::new(
        Arc::new(Engine::new(reader, "test", limits)),
        GraphqlHttpSettings::default(),
    ));
    let mut connections: Vec<_> = (0..20).map(|_| connect(&server)).collect();
    for connection in &mut connections {
        connection.hear(INIT).ok().unwrap();
        connection.hear(&subscribe("1", CHANGES)).ok().unwrap();
        assert!(timeout(Duration::ZERO, connection.next()).await.is_err());
    }
    let unread = server
        .in_flight
        .try_acquire(Peer::new([192, 0, 2, 1].into()), in_flight_bytes)
        .unwrap();
    writer.publish(served("c", BETA, 1));
    let mut last = connections.pop().unwrap();
    for connection in &mut connections {
        assert!(
            timeout(Duration::ZERO, connection.next()).await.is_err(),
            "there is no room for any event"
        );
    }
    let told = timeout(Duration::from_mins(1), said(&mut last)).await;
    let told = told.expect("the others hold what it waits for");
    assert_eq!(
        told["payload"]["errors"][0]["extensions"]["code"], "SERVER_OVERLOADED",
        "{told}"
    );
    drop((connections, unread));
    writer.publish(served("d", BETA, 1));
    let told = timeout(Duration::from_mins(1), said(&mut last))
        .await
        .unwrap();
    assert_eq!(
        told["payload"],
        json!({"data": {"catalogChanged": {"name": "d"}}})
    );
}

#[test]
fn pages_of_the_own_origin_and_of_named_ones_may_connect() {
    let named = [HeaderValue::from_static("https://console.example.com")];
    let any = [HeaderValue::from_static("*")];
    let allowed = |origin: Option<&'static str>, origins: &[HeaderValue]| {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("catalogs.example.com:8080"));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
        }
        is_allowed(&headers, origins)
    };
    assert!(allowed(None, &[]) && allowed(Some("http://catalogs.example.com:8080"), &[]));
    assert!(
        allowed(Some("https://console.example.com"), &named)
            && allowed(Some("https://x.example.com"), &any)
    );
    for origin in [
        "https://x.example.com",
        "http://catalogs.example.com",
        "null",
        "",
    ] {
        assert!(!allowed(Some(origin), &named), "{origin}");
    }
}
