//! Follows the catalogs of another catalogql: a list of them with their digests, and a subscription
//! that announces each change. Where a server or a proxy has no subscriptions, the list is polled.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Response, StatusCode, Url};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::fetch::unreachable;
use crate::metrics::remote_requests;
use crate::validators::without_query;
use crate::{HttpClient, RemoteError, RemoteKind, RemoteReference, RequestResult};

/// Maximum length in bytes of the list of a server's catalogs.
pub const MAX_LIST_BYTES: usize = 4 << 20;

/// Maximum length in bytes of one announcement.
pub const MAX_ANNOUNCEMENT_BYTES: usize = 256 << 10;

/// Maximum number of catalogs of a followed server. Those after it, by name, are not served.
pub const MAX_FOLLOWED_CATALOGS: usize = 1000;

/// Time for which a catalog must be missing from the list before it counts as removed: a server that
/// has just started has not loaded its catalogs yet.
pub const REMOVED_AFTER: Duration = Duration::from_mins(1);

/// First delay before a broken subscription is opened again; it doubles with each further failure.
const FIRST_DELAY: Duration = Duration::from_millis(500);

/// Maximum delay before a subscription is opened again.
pub const MAX_RECONNECT: Duration = Duration::from_mins(5);

/// Delay before a server that has no GraphQL is asked again.
const NO_GRAPHQL_DELAY: Duration = Duration::from_hours(1);

const SUBSCRIPTION: &str = "subscription { catalogChanged { name catalog { digest priority displayName publisher labels { key value } } } }";

const LIST: &str = "{ catalogs { name digest priority displayName publisher labels { key value } } catalogStatuses { name } }";

/// A catalog that another server serves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedCatalog {
    /// Digest of its content.
    pub digest: String,
    /// Its priority.
    #[serde(default)]
    pub priority: i32,
    /// Its name for people.
    #[serde(default)]
    pub display_name: Option<String>,
    /// Its publisher.
    #[serde(default)]
    pub publisher: Option<String>,
    /// Its labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// The catalogs of a server, by name.
pub type ListedCatalogs = BTreeMap<String, ListedCatalog>;

/// What is known of a followed server.
#[derive(Clone, Debug, Default)]
pub struct FollowedState {
    /// Its catalogs; `None` until it has listed them.
    pub catalogs: Option<Arc<ListedCatalogs>>,
    /// It was asked at least once, with or without success.
    pub was_asked: bool,
}

/// A server that is followed until the last clone of this is dropped.
#[derive(Clone, Debug)]
pub struct FollowedServer(Arc<Following>);

#[derive(Debug)]
pub(crate) struct Following {
    state: watch::Receiver<FollowedState>,
    task: AbortHandle,
}

/// The task that follows one server.
struct Follower {
    client: HttpClient,
    url: Url,
    /// Interval between two lists; `None` lists the catalogs with each subscription only.
    interval: Option<Duration>,
    /// It is a catalogql, as its reference says, also where it has no GraphQL for a while.
    is_catalogql: bool,
    state: watch::Sender<FollowedState>,
    /// It has listed its catalogs since the last subscription began.
    has_listed: bool,
    catalogs: ListedCatalogs,
    /// Times at which catalogs were first missing from the list.
    missing: BTreeMap<String, Instant>,
}

/// Events of one response.
struct EventStream {
    response: Response,
    buffer: Vec<u8>,
}

#[derive(Deserialize)]
struct ListResponse {
    data: Option<ListData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListData {
    catalogs: Vec<NamedCatalog>,
    catalog_statuses: Vec<NamedStatus>,
}

#[derive(Deserialize)]
struct NamedStatus {
    name: String,
}

#[derive(Deserialize)]
struct NamedCatalog {
    name: String,
    #[serde(flatten)]
    fields: CatalogFields,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CatalogFields {
    digest: String,
    priority: i32,
    display_name: String,
    publisher: Option<String>,
    labels: Vec<ListedLabel>,
}

#[derive(Deserialize)]
struct ListedLabel {
    key: String,
    value: String,
}

#[derive(Deserialize)]
struct EventResponse {
    data: Option<EventData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventData {
    catalog_changed: Announcement,
}

#[derive(Deserialize)]
struct Announcement {
    name: String,
    catalog: Option<CatalogFields>,
}

impl HttpClient {
    /// Follows the server of a source. Sources of one server share the task and its connection; the
    /// interval between two lists is that of the first one.
    pub fn follow(&self, source: &RemoteReference, interval: Option<Duration>) -> FollowedServer {
        let url = source.graphql_url();
        let mut servers = self.followed();
        servers.retain(|_, following| following.strong_count() > 0);
        if let Some(following) = servers.get(url.as_str()).and_then(Weak::upgrade) {
            return FollowedServer(following);
        }
        let (sender, state) = watch::channel(FollowedState::default());
        let follower = Follower {
            client: self.clone(),
            url: url.clone(),
            interval,
            is_catalogql: source.kind() == RemoteKind::Catalogql,
            state: sender,
            has_listed: false,
            catalogs: BTreeMap::new(),
            missing: BTreeMap::new(),
        };
        let task = tokio::spawn(follower.run()).abort_handle();
        let following = Arc::new(Following { state, task });
        servers.insert(url.to_string(), Arc::downgrade(&following));
        FollowedServer(following)
    }
}

impl FollowedServer {
    /// Returns a receiver of what is known of the server.
    pub fn state(&self) -> watch::Receiver<FollowedState> {
        self.0.state.clone()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Follower {
    async fn run(mut self) {
        let mut failures = 0_u32;
        loop {
            let error = match self.subscribe().await {
                Ok(events) => {
                    self.has_listed = false;
                    let error = self.receive(events).await;
                    if self.has_listed {
                        failures = 0;
                    }
                    error
                }
                // Without a subscription the list is polled.
                Err(error) if !self.has_no_graphql(&error) => {
                    self.list().await.err().unwrap_or(error)
                }
                Err(error) => error,
            };
            tracing::debug!(server = %without_query(&self.url), %error, "not following the server");
            self.state.send_if_modified(|state| {
                let is_first = !state.was_asked;
                state.was_asked = true;
                is_first
            });
            let delay = if self.has_no_graphql(&error) {
                NO_GRAPHQL_DELAY
            } else {
                let doubled = FIRST_DELAY.saturating_mul(2_u32.saturating_pow(failures));
                let longest = self
                    .interval
                    .map_or(MAX_RECONNECT, |interval| interval.min(MAX_RECONNECT));
                doubled.min(longest.max(FIRST_DELAY))
            };
            // Followers that lost the server together do not come back together.
            sleep(delay.mul_f64(0.5 + fastrand::f64())).await;
            failures = failures.saturating_add(1);
        }
    }

    /// Lists the catalogs and applies announcements until the subscription ends.
    async fn receive(&mut self, mut events: EventStream) -> RemoteError {
        // The subscription is open, so that nothing happens between it and the list.
        if let Err(error) = self.list().await {
            return error;
        }
        let next_list =
            |interval: Option<Duration>| interval.map(|interval| Instant::now() + interval);
        let mut list_at = next_list(self.interval);
        loop {
            let far = Instant::now() + NO_GRAPHQL_DELAY;
            let removal = self
                .missing
                .values()
                .min()
                .map(|since| *since + REMOVED_AFTER);
            tokio::select! {
                event = events.next(&self.url) => match event {
                    Ok(text) => if let Err(error) = self.announce(&text) {
                        return error;
                    },
                    Err(error) => return error,
                },
                () = sleep_until(list_at.unwrap_or(far)), if list_at.is_some() => {
                    if let Err(error) = self.list().await {
                        return error;
                    }
                    list_at = next_list(self.interval);
                }
                () = sleep_until(removal.unwrap_or(far)), if removal.is_some() => self.publish(),
            }
        }
    }

    /// Asks for the list of catalogs.
    async fn list(&mut self) -> Result<(), RemoteError> {
        let counts = &remote_requests()[RemoteKind::Catalogql];
        let listed = self.request_list().await;
        let result = match &listed {
            Ok(_) => RequestResult::Downloaded,
            Err(_) => RequestResult::Failed,
        };
        counts[result].inc();
        let ListData {
            catalogs,
            catalog_statuses,
        } = listed?;
        let mut found = BTreeMap::new();
        for NamedCatalog { name, fields } in catalogs {
            let listed = fields.listed(&name);
            found.insert(name, listed);
        }
        // A catalog that the server has yet to load is not gone.
        let is_configured =
            |name: &String| catalog_statuses.iter().any(|status| status.name == *name);
        for (name, former) in std::mem::take(&mut self.catalogs) {
            if found.contains_key(&name) || is_configured(&name) {
                self.missing.remove(&name);
            } else {
                self.missing
                    .entry(name.clone())
                    .or_insert_with(Instant::now);
            }
            found.entry(name).or_insert(former);
        }
        if found.len() > MAX_FOLLOWED_CATALOGS {
            tracing::warn!(server = %without_query(&self.url), catalogs = found.len(), limit = MAX_FOLLOWED_CATALOGS, "the server has too many catalogs, following the first ones");
        }
        self.catalogs = found.into_iter().take(MAX_FOLLOWED_CATALOGS).collect();
        self.has_listed = true;
        self.publish();
        Ok(())
    }

    async fn request_list(&self) -> Result<ListData, RemoteError> {
        let _connection = self.client.connect(&self.url).await;
        let mut response = self.post(LIST, "application/json").await?;
        let mut body = Vec::new();
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| unreachable(&self.url, error))?
        {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_LIST_BYTES {
                return Err(self.too_large("the list of its catalogs", MAX_LIST_BYTES));
            }
        }
        let parsed: Option<ListResponse> = serde_json::from_slice(&body).ok();
        parsed
            .and_then(|response| response.data)
            .ok_or_else(|| self.malformed("its list of catalogs is not one of a catalogql"))
    }

    async fn subscribe(&self) -> Result<EventStream, RemoteError> {
        let response = self.post(SUBSCRIPTION, "text/event-stream").await?;
        let content_type = response.headers().get(CONTENT_TYPE);
        let is_stream =
            content_type.is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
        if !is_stream {
            return Err(self.malformed("it does not respond to a subscription with events"));
        }
        Ok(EventStream {
            response,
            buffer: Vec::new(),
        })
    }

    async fn post(&self, document: &str, accept: &str) -> Result<Response, RemoteError> {
        let authorized = self.client.authorize(&self.url, true, None)?;
        let body = serde_json::json!({ "query": document }).to_string();
        let request = authorized
            .client
            .post(self.url.clone())
            .headers(authorized.headers)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, accept)
            .body(body);
        let silence = self.client.settings().limits.silence;
        let response = match timeout(silence, request.send()).await {
            Ok(sent) => sent.map_err(|error| unreachable(&self.url, error))?,
            Err(_) => return Err(self.malformed("it does not respond in time")),
        };
        let status = response.status();
        match status {
            StatusCode::OK => Ok(response),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(RemoteError::Unauthorized {
                url: without_query(&self.url),
                status: status.as_u16(),
                has_credentials: authorized.has_credentials,
            }),
            _ => Err(RemoteError::Status {
                url: without_query(&self.url),
                status: status.as_u16(),
                retry_after: None,
                is_transient: true,
            }),
        }
    }

    /// Applies an announcement.
    fn announce(&mut self, text: &str) -> Result<(), RemoteError> {
        let parsed: Option<EventResponse> = serde_json::from_str(text).ok();
        let Some(EventData { catalog_changed }) = parsed.and_then(|event| event.data) else {
            return Err(self.malformed("an announcement is not one of a catalogql"));
        };
        let Announcement { name, catalog } = catalog_changed;
        self.missing.remove(&name);
        match catalog {
            Some(fields) => {
                let has_room = self.catalogs.len() < MAX_FOLLOWED_CATALOGS
                    || self.catalogs.contains_key(&name);
                if has_room {
                    let listed = fields.listed(&name);
                    self.catalogs.insert(name, listed);
                }
            }
            None => drop(self.catalogs.remove(&name)),
        }
        self.publish();
        Ok(())
    }

    /// Publishes the catalogs, without those that have been missing for long.
    fn publish(&mut self) {
        let catalogs = &mut self.catalogs;
        self.missing.retain(|name, since| {
            let is_gone = since.elapsed() >= REMOVED_AFTER;
            if is_gone {
                catalogs.remove(name);
            }
            !is_gone
        });
        self.state.send_if_modified(|state| {
            state.was_asked = true;
            let is_same = state.catalogs.as_deref() == Some(&self.catalogs);
            if !is_same {
                state.catalogs = Some(Arc::new(self.catalogs.clone()));
            }
            !is_same
        });
    }

    /// Returns whether the server has no GraphQL, as a catalogd.
    fn has_no_graphql(&self, error: &RemoteError) -> bool {
        let is_unknown = matches!(
            error,
            RemoteError::Status {
                status: 400 | 404..=406 | 410 | 415 | 501,
                ..
            }
        );
        is_unknown && !self.is_catalogql
    }

    fn malformed(&self, reason: &'static str) -> RemoteError {
        RemoteError::Malformed {
            url: without_query(&self.url),
            reason,
        }
    }

    fn too_large(&self, part: &'static str, limit: usize) -> RemoteError {
        RemoteError::TooLarge {
            url: without_query(&self.url),
            part,
            limit: limit as u64,
        }
    }
}

impl CatalogFields {
    fn listed(self, name: &str) -> ListedCatalog {
        ListedCatalog {
            digest: self.digest,
            priority: self.priority,
            display_name: Some(self.display_name).filter(|shown| shown != name),
            publisher: self.publisher,
            labels: self
                .labels
                .into_iter()
                .map(|label| (label.key, label.value))
                .collect(),
        }
    }
}

impl EventStream {
    /// Waits for the data of the next event. It is cancel-safe. The client's time-out for silence
    /// ends a stream without bytes; the comments that keep a stream open are bytes.
    async fn next(&mut self, url: &Url) -> Result<String, RemoteError> {
        loop {
            match take_event(&mut self.buffer) {
                Some(StreamEvent::Next(data)) => return Ok(data),
                Some(StreamEvent::Other) => continue,
                None => {}
            }
            if self.buffer.len() > MAX_ANNOUNCEMENT_BYTES {
                return Err(RemoteError::TooLarge {
                    url: without_query(url),
                    part: "an announcement",
                    limit: MAX_ANNOUNCEMENT_BYTES as u64,
                });
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.buffer.extend_from_slice(&chunk),
                ended => {
                    return Err(RemoteError::Interrupted {
                        url: without_query(url),
                        downloaded: 0,
                        expected: None,
                        source: ended.err().map(reqwest::Error::without_url),
                    });
                }
            }
        }
    }
}

/// An event as GraphQL over SSE names it.
#[derive(Debug, PartialEq, Eq)]
enum StreamEvent {
    /// A response of the subscription.
    Next(String),
    /// The end, a comment, or what a newer server sends.
    Other,
}

/// Takes the first whole event from a buffer.
fn take_event(buffer: &mut Vec<u8>) -> Option<StreamEvent> {
    let end = buffer.windows(2).position(|window| window == b"\n\n")?;
    let text: Vec<u8> = buffer.drain(..end + 2).collect();
    let text = String::from_utf8_lossy(&text);
    let field = |name: &str| {
        let mut lines = text.lines();
        lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim_start()))
    };
    let is_next = field("event") == Some("next");
    let data = field("data").filter(|_| is_next);
    Some(data.map_or(StreamEvent::Other, |data| {
        StreamEvent::Next(data.to_owned())
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_taken_whole_and_comments_are_passed_over() {
        let mut buffer =
            b":\n\nevent: next\ndata: {\"a\": 1}\n\nevent: complete\ndata: \n\nevent: ne".to_vec();
        let taken: Vec<_> = std::iter::from_fn(|| take_event(&mut buffer)).collect();
        let next = StreamEvent::Next("{\"a\": 1}".to_owned());
        assert_eq!(taken, [StreamEvent::Other, next, StreamEvent::Other]);
        assert_eq!(buffer, b"event: ne");
    }

    fn follower(names: &[&str]) -> (Follower, watch::Receiver<FollowedState>) {
        let (sender, state) = watch::channel(FollowedState::default());
        let listed = |name: &&str| ((*name).to_owned(), fields("sha256:1").listed(name));
        let follower = Follower {
            client: HttpClient::default(),
            url: Url::parse("https://h/graphql").unwrap(),
            interval: None,
            is_catalogql: true,
            state: sender,
            has_listed: false,
            catalogs: names.iter().map(listed).collect(),
            missing: BTreeMap::new(),
        };
        (follower, state)
    }

    fn fields(digest: &str) -> CatalogFields {
        CatalogFields {
            digest: digest.to_owned(),
            priority: 0,
            display_name: "a".to_owned(),
            publisher: None,
            labels: Vec::new(),
        }
    }

    fn names(state: &watch::Receiver<FollowedState>) -> Vec<String> {
        let catalogs = state.borrow().catalogs.clone().unwrap_or_default();
        catalogs.keys().cloned().collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_catalog_that_is_missing_from_the_list_is_gone_after_a_minute_and_a_removed_one_at_once()
     {
        let (mut follower, state) = follower(&["a", "b"]);
        follower.missing.insert("a".to_owned(), Instant::now());
        sleep(REMOVED_AFTER.mul_f64(0.99)).await;
        follower.publish();
        assert_eq!(names(&state), ["a", "b"]);
        sleep(REMOVED_AFTER.mul_f64(0.02)).await;
        follower.publish();
        assert_eq!(names(&state), ["b"]);
        follower
            .announce(r#"{"data":{"catalogChanged":{"name":"b","catalog":null}}}"#)
            .unwrap();
        assert_eq!(names(&state), Vec::<String>::new());
    }

    #[tokio::test]
    async fn no_more_catalogs_are_followed_than_the_limit() {
        let all: Vec<_> = (0..MAX_FOLLOWED_CATALOGS)
            .map(|number| format!("c{number}"))
            .collect();
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        let (mut follower, state) = follower(&all[1..]);
        let announce = |name: &str| {
            format!(
                r#"{{"data":{{"catalogChanged":{{"name":"{name}","catalog":{{"digest":"d","priority":1,"displayName":"D","publisher":null,"labels":[{{"key":"k","value":"v"}}]}}}}}}}}"#
            )
        };
        follower.announce(&announce("last")).unwrap();
        follower.announce(&announce("more")).unwrap();
        let listed = state.borrow().catalogs.clone().unwrap();
        assert_eq!(
            (listed.len(), listed.contains_key("more")),
            (MAX_FOLLOWED_CATALOGS, false)
        );
        let expected = ListedCatalog {
            digest: "d".to_owned(),
            priority: 1,
            display_name: Some("D".to_owned()),
            publisher: None,
            labels: BTreeMap::from([("k".to_owned(), "v".to_owned())]),
        };
        assert_eq!(listed["last"], expected);
    }
}
