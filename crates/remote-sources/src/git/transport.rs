//! Requests of git's smart HTTP protocol, version 2, with the client of all remote sources: its
//! credentials, redirects, connections and limits.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode, Url};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use super::object::ObjectId;
use super::packet::{Packet, PacketReader, write_line};
use super::tree::shown;
use crate::error::RedirectReason;
use crate::fetch::{MAX_RETRY_AFTER, io_error, unreachable};
use crate::redirect::{self, CheckedTarget};
use crate::validators::without_query;
use crate::{
    GitReason, HttpClient, MAX_PACK_BYTES, MAX_REDIRECTS, MAX_REFS_BYTES, RemoteError,
    RemoteReference,
};

/// Header with the version of the protocol.
const GIT_PROTOCOL: HeaderName = HeaderName::from_static("git-protocol");

/// Ending of the URL of the first request, and of the others.
const INFO_REFS: &str = "/info/refs";
const UPLOAD_PACK: &str = "/git-upload-pack";

/// Media type of the response to the first request.
const ADVERTISEMENT: &str = "application/x-git-upload-pack-advertisement";

/// A conversation with the server of a repository.
pub(super) struct Remote<'a> {
    pub(super) client: &'a HttpClient,
    pub(super) reference: &'a RemoteReference,
    /// Time at which the whole conversation must have ended.
    pub(super) deadline: Instant,
    /// What the server has said of itself; `None` before the first request for it.
    pub(super) server: Option<Server>,
}

/// A server, after redirects.
#[derive(Clone, Debug)]
pub(super) struct Server {
    /// URL of the repository.
    base: Url,
    /// The only addresses to connect to, if a redirect led to another host.
    checked: Option<CheckedTarget>,
    /// Commits can be fetched without their history.
    is_shallow: bool,
    /// Objects can be fetched without their blobs.
    pub(super) has_filter: bool,
}

/// A ref of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedRef {
    pub(super) name: String,
    /// The object, behind tags if the server says it.
    pub(super) id: ObjectId,
}

/// What to fetch.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'w> {
    pub(super) objects: &'w [ObjectId],
    /// Without history.
    pub(super) is_shallow: bool,
    /// Without the contents of files.
    pub(super) is_filtered: bool,
}

/// A response with the connection that it arrives on.
struct Answer<'a> {
    packets: PacketReader<'a>,
    media_type: Option<HeaderValue>,
    url: Url,
    _connection: Option<OwnedSemaphorePermit>,
}

/// A request.
struct GitRequest<'r> {
    method: Method,
    url: Url,
    checked: Option<&'r CheckedTarget>,
    body: Vec<u8>,
}

impl<'a> Remote<'a> {
    /// Lists the refs that begin with one of these texts. The first attempt does not ask what the
    /// server supports: a poll is one request.
    pub(super) async fn list_refs(
        &mut self,
        prefixes: &[String],
    ) -> Result<Vec<ListedRef>, RemoteError> {
        if self.server.is_none() {
            match self.list_refs_once(prefixes).await {
                // It may be elsewhere, or of another version, which the first request of a
                // conversation tells.
                Err(
                    RemoteError::Redirect { .. }
                    | RemoteError::Git { .. }
                    | RemoteError::Status {
                        is_transient: false,
                        ..
                    },
                ) => {
                    self.connect().await?;
                }
                listed => return listed,
            }
        }
        self.list_refs_once(prefixes).await
    }

    async fn list_refs_once(&self, prefixes: &[String]) -> Result<Vec<ListedRef>, RemoteError> {
        let mut body = Vec::new();
        write_line(&mut body, "command=ls-refs");
        body.extend(b"0001");
        write_line(&mut body, "peel");
        for prefix in prefixes {
            write_line(&mut body, &format!("ref-prefix {prefix}"));
        }
        body.extend(b"0000");
        let answer = self.post(body).await?;
        let mut packets = answer
            .packets
            .at_most(MAX_REFS_BYTES, GitReason::TooManyRefs);
        let mut refs = Vec::new();
        loop {
            match packets.expect().await? {
                Packet::Flush => return Ok(refs),
                Packet::Delimiter => return Err(packets.protocol("refs have sections")),
                Packet::Data(line) => {
                    let listed = ListedRef::parse(&line);
                    refs.push(listed.ok_or_else(|| packets.protocol("a ref cannot be parsed"))?);
                }
            }
        }
    }

    /// Asks the server what it supports, once.
    pub(super) async fn connect(&mut self) -> Result<&Server, RemoteError> {
        let server = match self.server.take() {
            Some(server) => server,
            None => self.ask_server().await?,
        };
        Ok(self.server.insert(server))
    }

    async fn ask_server(&self) -> Result<Server, RemoteError> {
        let source = self.reference.url();
        let mut url = below(source, INFO_REFS);
        url.set_query(Some("service=git-upload-pack"));
        let mut checked = None;
        let mut answer = None;
        for _ in 0..=MAX_REDIRECTS {
            let request = GitRequest {
                method: Method::GET,
                url: url.clone(),
                checked: checked.as_ref(),
                body: Vec::new(),
            };
            match self.send(request).await? {
                Ok(found) => {
                    answer = Some(found);
                    break;
                }
                Err(headers) => {
                    let allowed = &self.client.settings().allow_private;
                    url = redirect::target(&url, &headers)?;
                    checked = redirect::check_target(source, &url, allowed).await?;
                }
            }
        }
        let too_many = || self.redirect(RedirectReason::TooMany);
        let answer = answer.ok_or_else(too_many)?;
        let base = answer.url.path().strip_suffix(INFO_REFS);
        let base = base.ok_or_else(|| self.redirect(RedirectReason::NoTarget))?;
        let mut base_url = answer.url.clone();
        base_url.set_path(base);
        base_url.set_query(None);
        let media_type = answer.media_type.as_ref().map(HeaderValue::as_bytes);
        if media_type != Some(ADVERTISEMENT.as_bytes()) {
            return Err(self.refused(GitReason::DumbServer));
        }
        let mut server = Server {
            base: base_url,
            checked,
            is_shallow: false,
            has_filter: false,
        };
        self.read_capabilities(answer, &mut server).await?;
        Ok(server)
    }

    async fn read_capabilities(
        &self,
        answer: Answer<'_>,
        server: &mut Server,
    ) -> Result<(), RemoteError> {
        let mut packets = answer
            .packets
            .at_most(MAX_REFS_BYTES, GitReason::TooManyRefs);
        // Servers may announce their service before.
        let mut first = packets.expect().await?;
        if matches!(&first, Packet::Data(line) if line.starts_with(b"# service=")) {
            if packets.expect().await? != Packet::Flush {
                return Err(packets.protocol("its service is not followed by a flush"));
            }
            first = packets.expect().await?;
        }
        match first {
            Packet::Data(line) if line.trim_ascii_end() == b"version 2" => {}
            Packet::Data(line) if line.trim_ascii_end() == b"version 1" => {
                return Err(self.refused(GitReason::ProtocolVersion(1)));
            }
            _ => return Err(self.refused(GitReason::ProtocolVersion(0))),
        }
        let mut can_fetch = false;
        while let Packet::Data(line) = packets.expect().await? {
            let line = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
            let (name, value) = line.split_once('=').unwrap_or((&line, ""));
            match name {
                "fetch" => {
                    can_fetch = true;
                    server.is_shallow = value.split(' ').any(|feature| feature == "shallow");
                    server.has_filter = value.split(' ').any(|feature| feature == "filter");
                }
                "object-format" if value != "sha1" => {
                    let format = shown(value.as_bytes());
                    return Err(self.refused(GitReason::ObjectFormat(format)));
                }
                _ => {}
            }
        }
        if can_fetch {
            Ok(())
        } else {
            Err(packets.protocol("it cannot fetch"))
        }
    }

    /// Fetches objects into a file, as a pack. `progress` is called with the number of bytes that
    /// have arrived.
    pub(super) async fn fetch(
        &mut self,
        wanted: Wanted<'_>,
        path: &Path,
        progress: &(impl Fn(u64, u64) + Send + Sync),
    ) -> Result<(), RemoteError> {
        let is_shallow = self.connect().await?.is_shallow && wanted.is_shallow;
        let mut body = Vec::new();
        write_line(&mut body, "command=fetch");
        body.extend(b"0001");
        write_line(&mut body, "no-progress");
        write_line(&mut body, "ofs-delta");
        if is_shallow {
            write_line(&mut body, "deepen 1");
        }
        if wanted.is_filtered {
            write_line(&mut body, "filter blob:none");
        }
        for id in wanted.objects {
            write_line(&mut body, &format!("want {id}"));
        }
        write_line(&mut body, "done");
        body.extend(b"0000");
        let answer = self.post(body).await?;
        // Packets have heads of their own: of 4 in at least 1,000 bytes.
        let mut packets = answer
            .packets
            .at_most(MAX_PACK_BYTES + MAX_PACK_BYTES / 64, |_| {
                GitReason::PackTooLarge(MAX_PACK_BYTES)
            });
        while packets.expect().await? != Packet::Data(b"packfile\n".to_vec()) {}
        let mut file = File::create(path).map_err(|source| io_error("create", path, source))?;
        loop {
            let Packet::Data(data) = packets.expect().await? else {
                return Ok(());
            };
            match data.split_first() {
                Some((1, data)) => {
                    // Blocking, but short: the page cache takes a packet.
                    let written = file.write_all(data);
                    written.map_err(|source| io_error("write", path, source))?;
                    progress(packets.received(), 0);
                }
                Some((2, _)) => {}
                Some((3, message)) => {
                    let message = shown(message.trim_ascii());
                    return Err(packets.refused(GitReason::Server(message)));
                }
                _ => return Err(packets.protocol("a packet of the pack has no channel")),
            }
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<Answer<'a>, RemoteError> {
        let server = self.server.as_ref();
        let base = server.map_or(self.reference.url(), |server| &server.base);
        let request = GitRequest {
            method: Method::POST,
            url: below(base, UPLOAD_PACK),
            checked: server.and_then(|server| server.checked.as_ref()),
            body,
        };
        let answer = self.send(request).await?;
        // The first request of a conversation is redirected, and no other.
        answer.map_err(|_| self.redirect(RedirectReason::NoTarget))
    }

    /// Sends a request once. Returns the headers of a redirect as the inner error.
    async fn send(
        &self,
        request: GitRequest<'_>,
    ) -> Result<Result<Answer<'a>, HeaderMap>, RemoteError> {
        let limits = self.client.settings().limits;
        let GitRequest {
            method,
            url,
            checked,
            body,
        } = request;
        let is_post = method == Method::POST;
        // Credentials are for the origin that the user has named.
        let is_source = url.origin() == self.reference.url().origin();
        let authorized = self.client.authorize(&url, is_source, checked)?;
        let connection = self.client.connect(&url).await;
        let mut sent = authorized
            .client
            .request(method, url.clone())
            .headers(authorized.headers)
            .header(GIT_PROTOCOL, "version=2");
        if is_post {
            sent = sent
                .header(CONTENT_TYPE, "application/x-git-upload-pack-request")
                .header(ACCEPT, "application/x-git-upload-pack-result")
                .body(body);
        }
        let response = match timeout_at(self.deadline, sent.send()).await {
            Ok(response) => response.map_err(|error| unreachable(&url, error))?,
            Err(_) => {
                return Err(RemoteError::TooSlow {
                    url: without_query(&url),
                    downloaded: 0,
                    seconds: limits.total.as_secs(),
                });
            }
        };
        self.check_head(&response)?;
        if matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(Err(response.headers().clone()));
        }
        if response.status() != StatusCode::OK {
            return Err(self.status_error(&response, authorized.has_credentials));
        }
        let media_type = response.headers().get(CONTENT_TYPE).cloned();
        Ok(Ok(Answer {
            packets: PacketReader::new(self.reference, response, limits, self.deadline),
            media_type,
            url,
            _connection: connection,
        }))
    }

    fn check_head(&self, response: &Response) -> Result<(), RemoteError> {
        let headers = response.headers().iter();
        let bytes: usize = headers
            .map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum();
        let limit = self.client.settings().limits.head_bytes;
        if bytes > limit {
            return Err(RemoteError::TooLarge {
                url: without_query(self.reference.url()),
                part: "the head of the response",
                limit: limit as u64,
            });
        }
        Ok(())
    }

    fn status_error(&self, response: &Response, has_credentials: bool) -> RemoteError {
        let url = without_query(self.reference.url());
        let status = response.status();
        match status.as_u16() {
            401 | 403 => RemoteError::Unauthorized {
                url,
                status: status.as_u16(),
                has_credentials,
            },
            code => RemoteError::Status {
                url,
                status: code,
                retry_after: images::retry_after(response.headers())
                    .map(|delay| delay.min(MAX_RETRY_AFTER)),
                is_transient: status.is_server_error() || matches!(code, 408 | 425 | 429),
            },
        }
    }

    fn redirect(&self, reason: RedirectReason) -> RemoteError {
        RemoteError::Redirect {
            url: without_query(self.reference.url()),
            reason,
        }
    }

    pub(super) fn refused(&self, reason: GitReason) -> RemoteError {
        RemoteError::Git {
            reference: self.reference.to_string(),
            reason,
        }
    }
}

impl ListedRef {
    /// Parses `ID NAME`, with attributes behind.
    fn parse(line: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(line).ok()?.trim_end_matches('\n');
        let mut words = line.split(' ');
        let id = ObjectId::parse(words.next()?.as_bytes())?;
        let name = words.next()?.to_owned();
        let peeled = words.find_map(|word| word.strip_prefix("peeled:"));
        let peeled = peeled.map(|hex| ObjectId::parse(hex.as_bytes()));
        Some(Self {
            name,
            id: peeled.unwrap_or(Some(id))?,
        })
    }
}

/// Returns a URL below that of a repository.
fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
    url
}
