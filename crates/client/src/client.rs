//! The client: sends a document to its server and returns the response, through the cache and with
//! retries.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use http::header::{ACCEPT, AUTHORIZATION, IF_NONE_MATCH};
use http::{HeaderName, HeaderValue};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};

use crate::adapt::{MAX_LEFT_OUT, adapted};
use crate::cache::{self, CachedEntry, ClientCache};
use crate::error::is_retryable_status;
use crate::retry::{MAX_RETRIES, MAX_RETRY_WAIT, retry_after, retry_delay};
use crate::transport::{BoxError, ClientTransport, OutgoingRequest, ReceivedResponse};
use crate::{ClientError, Result};

/// Time for one attempt of a request, unless the builder says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Size of a request up to which it is a GET; longer ones are POSTs, which no cache knows.
pub const MAX_GET_BYTES: usize = 8_000;

/// Time to connect to a server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Media type of responses.
const MEDIA_TYPE: &str = "application/graphql-response+json";

/// A client of one server. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Client {
    shared: Arc<ClientState>,
}

#[derive(Debug)]
struct ClientState {
    transport: ClientTransport,
    /// Name of the server in messages.
    endpoint: String,
    /// Caller and server; part of the cache key, so that no caller gets the response of another.
    identity: String,
    token: Option<Token>,
    cache: Option<ClientCache>,
    timeout: Duration,
    is_offline: bool,
    /// Fields that the server lacks; `None` if an unknown field is an error.
    left_out: Option<Mutex<UnsupportedFields>>,
    /// Greatest age of a cached response that was used without a request.
    cached_age: Mutex<Option<Duration>>,
    _kept_alive: Option<KeptAlive>,
}

/// Fields that a server lacks, and the documents without them.
#[derive(Clone, Debug, Default)]
struct UnsupportedFields {
    /// Documents without the fields, by their texts.
    documents: BTreeMap<String, String>,
    fields: Vec<String>,
}

/// Settings of a client.
#[derive(Clone, Debug)]
pub struct Builder {
    target: ClientTarget,
    token: Option<Token>,
    cache: Option<ClientCache>,
    authorities: Vec<u8>,
    is_insecure: bool,
    address: Option<SocketAddr>,
    timeout: Duration,
    is_offline: bool,
    leaves_out: bool,
    identity: Option<String>,
    kept_alive: Option<KeptAlive>,
}

/// Resource of a client, such as a forwarded port; dropped with the last clone of the client.
type KeptAlive = Arc<dyn std::fmt::Debug + Send + Sync>;

/// Address of the server.
#[derive(Clone, Debug)]
pub(crate) enum ClientTarget {
    Url(String),
    #[cfg(feature = "kube")]
    Proxy(crate::cluster::ServiceProxy),
}

/// Source of a bearer token.
#[derive(Clone, Debug)]
enum Token {
    Text(String),
    /// Read for each request, because tokens of service accounts are replaced.
    File(PathBuf),
}

/// A response with data and without errors.
#[derive(Clone, Debug)]
pub struct ClientResponse {
    /// The value of each root field.
    pub data: Value,
    /// Extensions of the response, such as `suggestions` for unknown names; `null` if there are
    /// none.
    pub extensions: Value,
    /// Origin of the response.
    pub origin: ResponseOrigin,
}

/// Origin of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseOrigin {
    /// The server sent it.
    Server,
    /// The server confirmed that the cached one is current.
    Revalidated,
    /// The cache, without asking; with the time since the server last sent or confirmed it.
    Cache(Duration),
}

impl Builder {
    pub(crate) fn new(target: ClientTarget) -> Self {
        Self {
            target,
            token: None,
            cache: None,
            authorities: Vec::new(),
            is_insecure: false,
            address: None,
            timeout: DEFAULT_TIMEOUT,
            is_offline: false,
            leaves_out: false,
            identity: None,
            kept_alive: None,
        }
    }

    /// Sets the caller and the server for the cache key, where the URL alone does not tell.
    #[cfg(feature = "kube")]
    pub(crate) fn identity(mut self, identity: String) -> Self {
        self.identity = Some(identity);
        self
    }

    #[cfg(feature = "kube")]
    pub(crate) fn keep_alive(mut self, kept: KeptAlive) -> Self {
        self.kept_alive = Some(kept);
        self
    }

    /// Sends this token with each request.
    #[must_use]
    pub fn bearer_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(Token::Text(token.into()));
        self
    }

    /// Sends the token that is in this file at the time of each request.
    #[must_use]
    pub fn bearer_token_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.token = Some(Token::File(path.into()));
        self
    }

    /// Keeps responses in this cache.
    #[must_use]
    pub fn cache(mut self, cache: ClientCache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// Trusts these certificate authorities (PEM) and no others.
    #[must_use]
    pub fn certificate_authorities(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.authorities = pem.into();
        self
    }

    /// Accepts any certificate.
    #[must_use]
    pub fn insecure_skip_tls_verify(mut self, skip: bool) -> Self {
        self.is_insecure = skip;
        self
    }

    /// Connects to this address, whatever the host of the URL resolves to; its certificate must be
    /// valid for the host. The port of the address counts if the URL has none.
    #[must_use]
    pub fn connect_to(mut self, address: SocketAddr) -> Self {
        self.address = Some(address);
        self
    }

    /// Limits the time of one attempt.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Answers from the cache alone.
    #[must_use]
    pub fn offline(mut self, offline: bool) -> Self {
        self.is_offline = offline;
        self
    }

    /// Leaves fields out of documents that the server does not know, because it is older or newer
    /// than the caller; [`Client::left_out`] names them.
    #[must_use]
    pub fn leave_out_unknown_fields(mut self, leave_out: bool) -> Self {
        self.leaves_out = leave_out;
        self
    }

    /// Makes the client. Fails on an invalid URL or certificate; connects to nothing.
    pub fn build(self) -> Result<Client> {
        let (transport, endpoint, identity) = match &self.target {
            ClientTarget::Url(url) => {
                let url = endpoint_url(url)?;
                let client = self.http_client(&url)?;
                let identity = self.identity.clone().unwrap_or_else(|| url.to_string());
                (
                    ClientTransport::Http {
                        client,
                        url: url.clone(),
                    },
                    url.to_string(),
                    identity,
                )
            }
            #[cfg(feature = "kube")]
            ClientTarget::Proxy(proxy) => (
                ClientTransport::Proxy(proxy.clone()),
                proxy.endpoint.clone(),
                proxy.identity.clone(),
            ),
        };
        let token = match &self.token {
            None => String::new(),
            Some(Token::Text(text)) => text.clone(),
            Some(Token::File(path)) => path.display().to_string(),
        };
        let shared = ClientState {
            transport,
            endpoint,
            identity: format!("{identity}\n{token}"),
            token: self.token,
            cache: self.cache,
            timeout: self.timeout,
            is_offline: self.is_offline,
            left_out: self.leaves_out.then(Mutex::default),
            cached_age: Mutex::default(),
            _kept_alive: self.kept_alive,
        };
        Ok(Client {
            shared: Arc::new(shared),
        })
    }

    fn http_client(&self, url: &reqwest::Url) -> Result<reqwest::Client> {
        // Fails if another part of the program has installed a provider, which is fine.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("catalogql-client/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .tls_danger_accept_invalid_certs(self.is_insecure);
        if url.scheme() == "http" || self.is_insecure {
            // Reading the system's certificates takes longer than a request.
            builder = builder.tls_certs_only([]);
        } else if !self.authorities.is_empty() {
            let certificates = reqwest::Certificate::from_pem_bundle(&self.authorities);
            builder = builder.tls_certs_only(
                certificates.map_err(|error| setup("certificate authorities", &error))?,
            );
        }
        if let (Some(address), Some(host)) = (self.address, url.host_str()) {
            builder = builder.resolve(host, address).no_proxy();
        }
        builder
            .build()
            .map_err(|error| setup("HTTP client", &error))
    }
}

/// The URL of the endpoint: a server's own URL, or its path `/graphql`.
fn endpoint_url(text: &str) -> Result<reqwest::Url> {
    let invalid = || {
        ClientError::Setup(format!(
            "`{text}` is not a URL: write it as https://HOST[:PORT][/PREFIX]"
        ))
    };
    let mut url = reqwest::Url::parse(text).map_err(|_| invalid())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(invalid());
    }
    url.set_query(None);
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with("/graphql") {
        url.set_path(&format!("{path}/graphql"));
    }
    Ok(url)
}

fn setup(what: &str, error: &dyn std::error::Error) -> ClientError {
    let cause = error
        .source()
        .map(|source| format!(": {source}"))
        .unwrap_or_default();
    ClientError::Setup(format!("{what}: {error}{cause}"))
}

impl Client {
    /// Begins a client for the server at this URL, such as `https://catalogql.example.com`.
    pub fn builder(endpoint: impl Into<String>) -> Builder {
        Builder::new(ClientTarget::Url(endpoint.into()))
    }

    /// Returns the name of the server in messages.
    pub fn endpoint(&self) -> &str {
        &self.shared.endpoint
    }

    /// Executes a document of one operation and decodes its data. An error of any field is an error
    /// of the whole.
    pub async fn query<T: DeserializeOwned>(&self, document: &str, variables: &Value) -> Result<T> {
        let response = self.execute(document, variables).await?;
        serde_json::from_value(response.data).map_err(|source| self.undecodable(source))
    }

    /// Executes a document of one operation. Variables that are `null` are not sent.
    pub async fn execute(&self, document: &str, variables: &Value) -> Result<ClientResponse> {
        let Some(left_out) = &self.shared.left_out else {
            return self.execute_operation(document, None, variables).await;
        };
        let mut text = compact(document);
        for _ in 0..MAX_LEFT_OUT {
            let known = left_out
                .lock()
                .expect("no thread panics with it")
                .documents
                .get(&text)
                .cloned();
            text = known.unwrap_or(text);
            let ended = self.execute_operation(&text, None, variables).await;
            let Some(adapted) = ended.as_ref().err().and_then(|error| adapted(&text, error)) else {
                return ended;
            };
            let mut left_out = left_out.lock().expect("no thread panics with it");
            if let Some(field) = adapted
                .field
                .filter(|field| !left_out.fields.contains(field))
            {
                left_out.fields.push(field);
            }
            left_out.documents.insert(text, adapted.document.clone());
            text = adapted.document;
        }
        self.execute_operation(&text, None, variables).await
    }

    /// Returns the names of fields that documents ask for and the server does not know, in the
    /// order in which they were met.
    pub fn left_out(&self) -> Vec<String> {
        let left_out = self.shared.left_out.as_ref();
        left_out
            .map(|left_out| {
                left_out
                    .lock()
                    .expect("no thread panics with it")
                    .fields
                    .clone()
            })
            .unwrap_or_default()
    }

    /// Returns the age of the oldest response that came from the cache without a request; `None` if
    /// none did.
    pub fn cached_age(&self) -> Option<Duration> {
        *self
            .shared
            .cached_age
            .lock()
            .expect("no thread panics with it")
    }

    /// As [`Self::execute`], with the name of the operation if the document has several, and the
    /// document as it is.
    pub async fn execute_operation(
        &self,
        document: &str,
        operation: Option<&str>,
        variables: &Value,
    ) -> Result<ClientResponse> {
        let request = DocumentRequest::new(document, operation, variables);
        let Some(cache) = self
            .shared
            .cache
            .as_ref()
            .filter(|_| request.body.is_none())
        else {
            if self.shared.is_offline {
                return Err(ClientError::NotCached);
            }
            return self.decode(&self.send(&request, None).await?, ResponseOrigin::Server);
        };
        let key = cache::key(&self.shared.identity, &request.query);
        let mut cached = cache.get(&key);
        if let Some(entry) = cached
            .as_ref()
            .filter(|entry| self.shared.is_offline || entry.is_fresh())
        {
            let age = entry.age();
            let oldest = self.cached_age().max(Some(age));
            *self
                .shared
                .cached_age
                .lock()
                .expect("no thread panics with it") = oldest;
            return self.decode_body(&entry.body, ResponseOrigin::Cache(age));
        }
        if self.shared.is_offline {
            return Err(ClientError::NotCached);
        }
        let received = self
            .send(
                &request,
                cached.as_ref().map(|entry| entry.head.etag.as_str()),
            )
            .await?;
        if let (304, Some(entry)) = (received.status, cached.as_mut()) {
            entry.validated(&received.headers);
            cache.put(&key, entry);
            return self.decode_body(&entry.body, ResponseOrigin::Revalidated);
        }
        if let Some(entry) = CachedEntry::from_response(&received.headers, &received.body)
            .filter(|_| received.status == 200)
        {
            cache.put(&key, &entry);
        }
        self.decode(&received, ResponseOrigin::Server)
    }

    /// Sends a request, again while the server is busy or away.
    async fn send(
        &self,
        request: &DocumentRequest,
        etag: Option<&str>,
    ) -> Result<ReceivedResponse> {
        let mut attempt = 0;
        loop {
            let outcome = self.try_send(request, etag).await;
            let wait = match &outcome {
                Ok(received) if is_retryable_status(received.status) => {
                    let asked = retry_after(&received.headers, SystemTime::now());
                    asked.unwrap_or_default().max(retry_delay(attempt))
                }
                Err(ClientError::Unreachable { .. }) => retry_delay(attempt),
                _ => return outcome,
            };
            if attempt == MAX_RETRIES || wait > MAX_RETRY_WAIT {
                return outcome;
            }
            sleep(wait).await;
            attempt += 1;
        }
    }

    async fn try_send(
        &self,
        request: &DocumentRequest,
        etag: Option<&str>,
    ) -> Result<ReceivedResponse> {
        let mut headers = self.headers(MEDIA_TYPE)?;
        if let Some(etag) = etag.and_then(|etag| HeaderValue::from_str(etag).ok()) {
            headers.push((IF_NONE_MATCH, etag));
        }
        let outgoing = OutgoingRequest {
            query: request.query.clone(),
            body: request.body.clone(),
            headers,
        };
        self.in_time(
            timeout(
                self.shared.timeout,
                self.shared.transport.exchange(outgoing),
            )
            .await,
        )
    }

    /// The result of an attempt that had [`Self::timeout`].
    pub(crate) fn in_time<T>(
        &self,
        sent: std::result::Result<std::result::Result<T, BoxError>, Elapsed>,
    ) -> Result<T> {
        sent.map_err(|_| late(self.shared.timeout))
            .flatten()
            .map_err(|source| self.unreachable(source))
    }

    /// Returns the time for one attempt of a request.
    pub(crate) fn timeout(&self) -> Duration {
        self.shared.timeout
    }

    /// The headers of each request.
    pub(crate) fn headers(&self, accept: &'static str) -> Result<Vec<(HeaderName, HeaderValue)>> {
        let mut headers = vec![(ACCEPT, HeaderValue::from_static(accept))];
        // The API server takes the header for its own, and passes none on.
        let is_direct = matches!(self.shared.transport, ClientTransport::Http { .. });
        let token = match self.shared.token.as_ref().filter(|_| is_direct) {
            None => return Ok(headers),
            Some(Token::Text(text)) => text.clone(),
            Some(Token::File(path)) => std::fs::read_to_string(path).map_err(|error| {
                ClientError::Setup(format!(
                    "cannot read the token in {}: {error}",
                    path.display()
                ))
            })?,
        };
        let value = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
        let mut value = value.map_err(|_| {
            ClientError::Setup("the bearer token has characters that no header has".to_owned())
        })?;
        value.set_sensitive(true);
        headers.push((AUTHORIZATION, value));
        Ok(headers)
    }

    pub(crate) fn transport(&self) -> &ClientTransport {
        &self.shared.transport
    }

    pub(crate) fn unreachable(&self, source: BoxError) -> ClientError {
        ClientError::Unreachable {
            endpoint: self.shared.endpoint.clone(),
            source,
        }
    }

    pub(crate) fn undecodable(&self, source: serde_json::Error) -> ClientError {
        ClientError::Decode {
            endpoint: self.shared.endpoint.clone(),
            source,
        }
    }

    fn decode(
        &self,
        received: &ReceivedResponse,
        origin: ResponseOrigin,
    ) -> Result<ClientResponse> {
        if received.status == 200 {
            return self.decode_body(&received.body, origin);
        }
        Err(self.refusal(received.status, &received.body))
    }

    /// The error of a response that has another status than 200.
    pub(crate) fn refusal(&self, status: u16, body: &[u8]) -> ClientError {
        let endpoint = self.shared.endpoint.clone();
        let value: Value = serde_json::from_slice(body).unwrap_or_default();
        if let Some(error) = first_error(&value, status).filter(|_| !matches!(status, 401 | 403)) {
            return error;
        }
        let first_line = String::from_utf8_lossy(body)
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned();
        // An API server says `message` in its object `Status`.
        let message = ["/errors/0/message", "/message"]
            .iter()
            .find_map(|at| value.pointer(at)?.as_str());
        let message = message.map_or(first_line, str::to_owned);
        let message = if message.is_empty() {
            format!("HTTP status {status}")
        } else {
            message
        };
        match status {
            401 | 403 => ClientError::NotAllowed {
                endpoint,
                status,
                message,
            },
            404 | 405 | 301..=308 => ClientError::NotFound { endpoint, message },
            _ => ClientError::Refused {
                status,
                code: None,
                message,
                path: String::new(),
                location: None,
            },
        }
    }

    pub(crate) fn decode_body(
        &self,
        body: &[u8],
        origin: ResponseOrigin,
    ) -> Result<ClientResponse> {
        let mut value: Value =
            serde_json::from_slice(body).map_err(|source| self.undecodable(source))?;
        if let Some(error) = first_error(&value, 200) {
            return Err(error);
        }
        let data = value["data"].take();
        let extensions = value["extensions"].take();
        if !data.is_object() {
            let message = "what answers is JSON without `data`".to_owned();
            return Err(ClientError::NotFound {
                endpoint: self.shared.endpoint.clone(),
                message,
            });
        }
        Ok(ClientResponse {
            data,
            extensions,
            origin,
        })
    }
}

/// The first error of a GraphQL response.
fn first_error(response: &Value, status: u16) -> Option<ClientError> {
    let error = response.get("errors")?.get(0)?;
    let code = error
        .pointer("/extensions/code")
        .and_then(Value::as_str)
        .map(str::to_owned);
    if code.as_deref() == Some("CATALOG_CHANGED") {
        return Some(ClientError::Changed);
    }
    let segment = |segment: &Value| {
        segment
            .as_str()
            .map_or_else(|| segment.to_string(), str::to_owned)
    };
    let path = error["path"]
        .as_array()
        .into_iter()
        .flatten()
        .map(segment)
        .collect::<Vec<_>>()
        .join("/");
    let number = |name: &str| usize::try_from(error["locations"][0][name].as_u64()?).ok();
    let location = number("line").zip(number("column"));
    Some(ClientError::Refused {
        status,
        code,
        message: error["message"].as_str()?.to_owned(),
        path,
        location,
    })
}

/// A document with its variables, as it is sent.
pub(crate) struct DocumentRequest {
    pub(crate) query: String,
    pub(crate) body: Option<Vec<u8>>,
}

impl DocumentRequest {
    pub(crate) fn new(document: &str, operation: Option<&str>, variables: &Value) -> Self {
        let document = compact(document);
        let mut variables = variables.as_object().cloned().unwrap_or_default();
        variables.retain(|_, value| !value.is_null());
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("query", &document);
        if let Some(name) = operation {
            query.append_pair("operationName", name);
        }
        if !variables.is_empty() {
            query.append_pair("variables", &Value::Object(variables.clone()).to_string());
        }
        let query = query.finish();
        if query.len() <= MAX_GET_BYTES {
            return Self { query, body: None };
        }
        let body = json!({ "query": document, "operationName": operation, "variables": variables })
            .to_string()
            .into_bytes();
        Self {
            query: String::new(),
            body: Some(body),
        }
    }
}

/// Returns the error of an attempt that took too long.
pub(crate) fn late(timeout: Duration) -> BoxError {
    format!("no response within {} s", timeout.as_secs()).into()
}

/// The document with one space where it has several, and without comments: shorter in a URL, and
/// the same text for everybody.
pub(crate) fn compact(document: &str) -> String {
    // In a text, white space and `#` count.
    if document.contains('"') {
        return document.to_owned();
    }
    let lines = document
        .split(['\n', '\r'])
        .map(|line| line.split_once('#').map_or(line, |(before, _)| before));
    lines
        .flat_map(str::split_whitespace)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_server_is_completed() {
        let url = |text| endpoint_url(text).map(|url| url.to_string()).ok();
        assert_eq!(
            url("http://localhost:8080").as_deref(),
            Some("http://localhost:8080/graphql")
        );
        assert_eq!(
            url("https://a.example/graphql").as_deref(),
            Some("https://a.example/graphql")
        );
        assert_eq!(
            url("https://a.example/prefix/").as_deref(),
            Some("https://a.example/prefix/graphql")
        );
        assert_eq!(
            (url("a.example"), url("ftp://a.example"), url("")),
            (None, None, None)
        );
    }

    #[test]
    fn a_long_request_is_a_post() {
        let request = DocumentRequest::new(
            "# A comment.\n{\n  a # Another. }\r\n}",
            None,
            &json!({ "b": 1, "c": null }),
        );
        assert_eq!(
            (request.query.as_str(), request.body),
            ("query=%7B+a+%7D&variables=%7B%22b%22%3A1%7D", None)
        );
        let names: Vec<_> = (0..2_000)
            .map(|number| format!("package-{number}"))
            .collect();
        let request = DocumentRequest::new("{ a }", None, &json!({ "names": names }));
        assert_eq!(request.query, "");
        assert!(request.body.is_some_and(|body| body.len() > MAX_GET_BYTES));
    }

    #[test]
    fn an_error_says_what_is_wrong_and_where() {
        let client = Client::builder("http://localhost:1")
            .build()
            .expect("the URL is valid");
        let shown = |status, body: &str| client.refusal(status, body.as_bytes()).to_string();
        let error = r#"{"errors": [{"message": "too much", "path": ["a", 0], "extensions": {"code": "TOO_MUCH"}}]}"#;
        let ClientError::Refused {
            status,
            code,
            message,
            path,
            ..
        } = client.refusal(400, error.as_bytes())
        else {
            panic!()
        };
        assert_eq!(
            (status, code.as_deref(), &*message, &*path),
            (400, Some("TOO_MUCH"), "too much", "a/0")
        );
        let changed =
            r#"{"errors": [{"message": "m", "extensions": {"code": "CATALOG_CHANGED"}}]}"#;
        assert!(matches!(
            client.decode_body(changed.as_bytes(), ResponseOrigin::Server),
            Err(ClientError::Changed)
        ));
        let forbidden = r#"{"kind": "Status", "message": "services is forbidden"}"#;
        assert_eq!(
            shown(403, forbidden),
            "cannot query http://localhost:1/graphql: services is forbidden"
        );
        assert_eq!(
            shown(404, "404 page\nb"),
            "cannot find catalogql at http://localhost:1/graphql: 404 page"
        );
        assert_eq!(
            shown(500, ""),
            "the server refused the request: HTTP status 500"
        );
        assert!(
            client.refusal(503, b"").is_retryable() && !client.refusal(500, b"").is_retryable()
        );
        assert!(matches!(
            client.decode_body(b"{}", ResponseOrigin::Server),
            Err(ClientError::NotFound { .. })
        ));
        assert!(matches!(
            client.decode_body(b"<html>", ResponseOrigin::Server),
            Err(ClientError::Decode { .. })
        ));
    }
}
