//! Webhooks against a receiver that accepts, fails, hangs, redirects or answers without an end.

use std::collections::VecDeque;
use std::sync::Mutex;

use aws_lc_rs::hmac;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use fbc::Outline;
use fbc::work::Work;
use fbc_grammar::Digest;
use jiff::Timestamp;
use serde_json::{Value, json};
use serving::{CatalogMetadata, CatalogsWriter, ChangeLog, Content, Served, catalogs};
use tempfile::TempDir;
use testing::eventually;
use testing::fixture::catalog;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::*;

const SECRET: &str = "a secret of thirty-two bytes ...";

const FAST: DeliveryPolicy = DeliveryPolicy {
    attempt_timeout: Duration::from_millis(500),
    first_backoff: Duration::from_millis(1),
    max_backoff: Duration::from_millis(5),
};

/// Behaviour of a receiver at a request.
#[derive(Clone, Debug)]
enum Behaviour {
    Accept,
    Status(u16),
    /// Answers nothing.
    Hang,
    /// Closes the connection.
    Close,
    /// Sends a body without an end.
    Endless,
    Redirect(String),
}

/// A request that arrived.
#[derive(Clone, Debug)]
struct Received {
    head: String,
    body: Vec<u8>,
}

impl Received {
    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value.trim())
    }

    fn event(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn is_signed(&self) -> bool {
        let [id, time] = ["webhook-id", "webhook-timestamp"].map(|name| self.header(name));
        let signed = [format!("{id}.{time}.").as_bytes(), &self.body].concat();
        let signature = self
            .header("webhook-signature")
            .strip_prefix("v1,")
            .unwrap();
        let tag = BASE64_STANDARD.decode(signature).unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
        hmac::verify(&key, &signed, &tag).is_ok()
    }
}

/// A server that takes a behaviour for each request, and then accepts.
struct Receiver {
    url: String,
    received: Arc<Mutex<Vec<Received>>>,
    task: JoinHandle<()>,
}

impl Receiver {
    async fn start(behaviours: impl IntoIterator<Item = Behaviour>) -> Self {
        let behaviours: VecDeque<_> = behaviours.into_iter().collect();
        let behaviours = Arc::new(Mutex::new(behaviours));
        let received = Arc::new(Mutex::new(Vec::new()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!(
            "http://{}/hook?token=secret",
            listener.local_addr().unwrap()
        );
        let all = Arc::clone(&received);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let behaviours = Arc::clone(&behaviours);
                let all = Arc::clone(&all);
                tokio::spawn(async move {
                    // A client that goes away ends an endless answer.
                    let _ = answer(stream, &behaviours, &all).await;
                });
            }
        });
        Self {
            url,
            received,
            task,
        }
    }

    fn all(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(
    mut stream: TcpStream,
    behaviours: &Mutex<VecDeque<Behaviour>>,
    all: &Mutex<Vec<Received>>,
) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    let request = loop {
        stream.read_buf(&mut bytes).await?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, _)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let received = Received {
            head: head.to_owned(),
            body: bytes[head.len() + 4..].to_vec(),
        };
        let length: usize = received.header("content-length").parse().unwrap();
        if received.body.len() == length {
            break received;
        }
    };
    let behaviour = behaviours.lock().unwrap().pop_front();
    let behaviour = behaviour.unwrap_or(Behaviour::Accept);
    all.lock().unwrap().push(request);
    match behaviour {
        Behaviour::Accept => stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await,
        Behaviour::Status(status) => {
            let head = format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(head.as_bytes()).await
        }
        Behaviour::Redirect(to) => {
            let head = format!("HTTP/1.1 307 No\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
            stream.write_all(head.as_bytes()).await
        }
        Behaviour::Close => Ok(()),
        Behaviour::Hang => {
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.map(drop)
        }
        Behaviour::Endless => {
            stream
                .write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
                .await?;
            loop {
                stream.write_all(b"4\r\nmore\r\n").await?;
            }
        }
    }
}

/// A published catalog whose package gets a version with each change.
struct Published {
    writer: CatalogsWriter,
    catalogs: Catalogs,
    log: ChangeLog,
    versions: u8,
    folder: TempDir,
}

impl Published {
    fn new() -> Self {
        let (writer, catalogs) = catalogs();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), SECRET).unwrap();
        let mut published = Self {
            writer,
            catalogs,
            log: ChangeLog::default(),
            versions: 0,
            folder,
        };
        published.change();
        published
    }

    fn change(&mut self) {
        let text = |versions: u8| {
            let versions: Vec<_> = (1..=versions).map(|it| format!("v{it}.0.0")).collect();
            format!(
                "package etcd default=stable\nchannel stable: {}",
                versions.join(" <- ")
            )
        };
        let before = self.versions;
        self.versions += 1;
        let digest = Digest::new([self.versions; 32]);
        let content = Content::new(catalog(&text(self.versions)), digest);
        let next = Outline::from_catalog(&catalog(&text(self.versions)));
        let work = Work::unlimited();
        let former = (before > 0).then(|| Outline::from_catalog(&catalog(&text(before))));
        let diff = former
            .as_ref()
            .map(|former| former.diff(&next, &work).unwrap());
        self.log = self.log.append(digest, diff.as_ref(), Timestamp::now());
        let served = Served::new("main", content, CatalogMetadata::default());
        self.writer.publish(served);
        self.writer
            .history()
            .set_change_log("main", self.log.clone());
    }

    fn webhooks(&self, receiver: &Receiver) -> Webhooks {
        let secret = self.folder.path().join("secret");
        let url = parse_webhook_url(&receiver.url).unwrap();
        Webhooks::with_policy(&[url], secret, self.folder.path(), FAST).unwrap()
    }

    /// Starts webhooks as a process does.
    fn start(&self, receiver: &Receiver) -> (JoinHandle<()>, Arc<WebhookMetrics>) {
        let webhooks = self.webhooks(receiver);
        let metrics = webhooks.metrics();
        (tokio::spawn(webhooks.run(self.catalogs.clone())), metrics)
    }
}

fn ids(received: &[Received]) -> Vec<String> {
    let mut ids: Vec<_> = received
        .iter()
        .map(|it| it.header("webhook-id").to_owned())
        .collect();
    ids.dedup();
    ids
}

fn count(metrics: &WebhookMetrics, result: WebhookResult) -> u64 {
    metrics.results[result].get()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_a_signed_cloud_event() {
    let receiver = Receiver::start([]).await;
    let mut published = Published::new();
    let (task, metrics) = published.start(&receiver);
    published.change();
    eventually(|| (count(&metrics, WebhookResult::Delivered) == 1).then_some(()));
    let [request] = &receiver.all()[..] else {
        panic!("one request")
    };
    assert!(
        request
            .head
            .starts_with("POST /hook?token=secret HTTP/1.1\r\n")
    );
    assert_eq!(
        request.header("content-type"),
        "application/cloudevents+json; charset=utf-8"
    );
    assert!(request.is_signed());
    let event = request.event();
    let digest = |number: u8| Digest::new([number; 32]).to_string();
    let expected = json!({
        "specversion": "1.0",
        "id": request.header("webhook-id"),
        "source": "/catalogs/main",
        "type": "io.catalogql.catalog.changed",
        "subject": "main",
        "time": event["time"],
        "datacontenttype": "application/json",
        "data": {
            "catalog": "main", "fromDigest": digest(1), "toDigest": digest(2), "unlisted": 0,
            "packages": [{
                "name": "etcd", "added": ["etcd.v2.0.0"], "removed": [], "changed": [],
                "heads": [{"channel": "stable", "from": "etcd.v1.0.0", "to": "etcd.v2.0.0"}],
            }],
        },
    });
    assert_eq!(event, expected);
    task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_sent_until_it_is_accepted_whatever_the_receiver_does() {
    let elsewhere = Receiver::start([]).await;
    let receiver = Receiver::start([
        Behaviour::Status(500),
        Behaviour::Close,
        Behaviour::Hang,
        Behaviour::Redirect(elsewhere.url.clone()),
        Behaviour::Status(429),
        Behaviour::Endless,
    ])
    .await;
    let mut published = Published::new();
    let (task, metrics) = published.start(&receiver);
    published.change();
    published.change();
    eventually(|| (count(&metrics, WebhookResult::Delivered) == 2).then_some(()));
    let all = receiver.all();
    assert_eq!(all.len(), 7, "an answer without an end is one of success");
    assert_eq!(ids(&all).len(), 2, "each attempt has the id of its event");
    assert!(all.iter().all(Received::is_signed));
    assert_eq!(elsewhere.all().len(), 0, "no redirect is followed");
    assert_eq!(count(&metrics, WebhookResult::Failed), 5);
    eventually(|| (metrics.pending.get() == 0).then_some(()));
    task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_goes_on_where_the_last_run_was_and_ids_stay() {
    let receiver = Receiver::start(std::iter::repeat_n(Behaviour::Status(503), 3)).await;
    let mut published = Published::new();
    let (task, _) = published.start(&receiver);
    published.change();
    eventually(|| (!receiver.all().is_empty()).then_some(()));
    task.abort();
    let _ = task.await;
    published.change();
    let (task, metrics) = published.start(&receiver);
    eventually(|| (count(&metrics, WebhookResult::Delivered) == 2).then_some(()));
    let all = receiver.all();
    assert_eq!(ids(&all).len(), 2);
    task.abort();
    let _ = task.await;
    let (task, metrics) = published.start(&receiver);
    published.change();
    eventually(|| (count(&metrics, WebhookResult::Delivered) == 1).then_some(()));
    assert_eq!(ids(&receiver.all()).len(), 3);
    assert_eq!(
        receiver.all().len(),
        all.len() + 1,
        "what was accepted is not sent again"
    );
    task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_before_a_webhook_was_configured_is_not_sent() {
    let receiver = Receiver::start([]).await;
    let mut published = Published::new();
    published.change();
    let (task, metrics) = published.start(&receiver);
    published.change();
    eventually(|| (count(&metrics, WebhookResult::Delivered) == 1).then_some(()));
    let event = receiver.all()[0].event();
    assert_eq!(event["data"]["toDigest"], Digest::new([3; 32]).to_string());
    task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_is_never_accepted_does_not_hold_up_the_next_one() {
    let refusals = std::iter::repeat_n(Behaviour::Status(400), MAX_ATTEMPTS as usize);
    let receiver = Receiver::start(refusals).await;
    let mut published = Published::new();
    let (task, metrics) = published.start(&receiver);
    published.change();
    published.change();
    eventually(|| (count(&metrics, WebhookResult::Delivered) == 1).then_some(()));
    assert_eq!(count(&metrics, WebhookResult::Abandoned), 1);
    assert_eq!(receiver.all().len(), MAX_ATTEMPTS as usize + 1);
    task.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_replaced_signs_the_next_attempt() {
    let receiver = Receiver::start([]).await;
    let mut published = Published::new();
    let file = published.folder.path().join("secret");
    std::fs::write(&file, "another secret, which is as long").unwrap();
    let (task, metrics) = published.start(&receiver);
    published.change();
    eventually(|| (count(&metrics, WebhookResult::Delivered) == 1).then_some(()));
    std::fs::write(&file, SECRET).unwrap();
    published.change();
    eventually(|| (count(&metrics, WebhookResult::Delivered) == 2).then_some(()));
    let signed: Vec<_> = receiver.all().iter().map(Received::is_signed).collect();
    assert_eq!(signed, [false, true]);
    task.abort();
}

#[test]
fn as_many_events_wait_as_the_limit_says_and_the_latest_of_them() {
    use crate::position::LogPosition;

    let mut published = Published::new();
    let mut log = published.log.clone();
    let mut position = LogPosition::default();
    position.begin();
    let start = Timestamp::now();
    let outline = Outline::from_catalog(&catalog(""));
    let diff = outline.diff(&outline, &Work::unlimited()).unwrap();
    for number in 0..MAX_PENDING_EVENTS + 3 {
        let mut digest = [0xff; 32];
        digest[..8].copy_from_slice(&(number as u64).to_le_bytes());
        log = log.append(Digest::new(digest), Some(&diff), start);
    }
    published.log = log;
    let history = published.writer.history();
    history.set_change_log("main", published.log.clone());
    let pending = position.pending(&published.catalogs);
    assert_eq!((pending.count, pending.dropped), (MAX_PENDING_EVENTS, 3));
    let again = pending.position.pending(&published.catalogs);
    assert_eq!((again.count, again.dropped), (MAX_PENDING_EVENTS, 0));
    assert_eq!(again.first.unwrap().set, pending.first.unwrap().set);
}

#[test]
fn an_address_is_one_of_http_without_credentials() {
    for text in [
        "ftp://example.com",
        "https://user@example.com/",
        "https://:password@example.com/",
        "https://example.com/#part",
        "example.com/hook",
    ] {
        assert!(parse_webhook_url(text).is_err(), "{text}");
    }
    let url = parse_webhook_url("http://10.0.0.1/hook?token=secret").unwrap();
    assert_eq!(format!("{url:?}"), "WebhookUrl(\"10.0.0.1\")");
}
