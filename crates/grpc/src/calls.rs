//! One call: its catalog, its turn, and its response.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use admission::{FairPermit, Peer};
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use futures_util::{Stream, StreamExt as _, stream};
use serving::Catalogs;
use tonic::codec::CompressionEncoding;
use tonic::server::Grpc as Server;
use tonic::{Code, Status, Streaming};

use crate::body::BodyInTurns;
use crate::choice::Choice;
use crate::codec::Codec;
use crate::health;
use crate::message::Message;
use crate::metrics::Call;
use crate::reflection::{Reflection, SERVICES};
use crate::registry::{Messages, Registry};
use crate::wire::Request;
use crate::{Grpc, MAX_REQUEST_BYTES, STREAM_TIME};

/// Metadata without which the experimental service answers nothing.
const EXPERIMENTAL: &str = "x-acknowledge-experimental";

/// Why a caller gets no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It has no valid credentials, and not everybody may see something.
    Unauthenticated,
    /// It may not do this.
    Denied(String),
    /// It cannot be found out what it may do.
    Undecided(String),
}

impl Refusal {
    /// Responds to the call.
    pub fn respond(self) -> Response {
        let status = match self {
            Self::Unauthenticated => Status::unauthenticated("Unauthorized"),
            Self::Denied(text) => Status::permission_denied(text),
            Self::Undecided(text) => Status::unavailable(text),
        };
        status.into_http::<Body>()
    }
}

type Answers = Pin<Box<dyn Stream<Item = Result<Message, Status>> + Send>>;

/// What a call needs beside its request.
struct Context {
    grpc: Grpc,
    catalogs: Catalogs,
    choice: Choice,
    call: Call,
    peer: Peer,
    is_experimental: bool,
}

/// Responds to a request of a listener.
pub(crate) async fn respond(State(grpc): State<Grpc>, request: HttpRequest) -> Response {
    let call = match Call::of_path(request.uri().path()) {
        Ok(call) => call,
        Err(status) => {
            grpc.metrics.count(Call::Unknown, status.code());
            return status.into_http::<Body>();
        }
    };
    let catalogs = request.extensions().get().unwrap_or(&grpc.catalogs).clone();
    let peer = Peer::from_extensions(request.extensions());
    let choice = Choice::new(grpc.catalog.as_deref(), request.headers(), request.uri());
    let is_experimental = request
        .headers()
        .get(EXPERIMENTAL)
        .is_some_and(|value| value == "true");
    let context = Arc::new(Context {
        grpc,
        catalogs,
        choice,
        call,
        peer,
        is_experimental,
    });
    let mut server = Server::new(Codec)
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(MAX_REQUEST_BYTES);
    let response = if call == Call::Reflect {
        server.streaming(Reflecting, request).await
    } else if call.is_streamed() {
        server
            .streaming(Calling(Arc::clone(&context)), request)
            .await
    } else {
        server
            .server_streaming(Calling(Arc::clone(&context)), request)
            .await
    };
    let (mut head, body) = response.into_parts();
    let code = head
        .headers
        .get(Status::GRPC_STATUS)
        .map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()));
    // What Go's servers say of a message that is too large.
    if code == Code::OutOfRange {
        head.headers
            .insert(Status::GRPC_STATUS, (Code::ResourceExhausted as i32).into());
    }
    context.grpc.metrics.count(call, code);
    // An error is whole, and reflection waits for requests.
    if call == Call::Reflect || head.headers.contains_key(Status::GRPC_STATUS) {
        return Response::from_parts(head, Body::new(body));
    }
    let body = BodyInTurns::new(body, &context.grpc.work, context.peer);
    Response::from_parts(head, Body::new(body))
}

struct Calling(Arc<Context>);

/// For calls with one message as their response, whose further requests Go's library ignores, as
/// tonic does.
impl tonic::server::ServerStreamingService<Request> for Calling {
    type Response = Message;
    type ResponseStream = Answers;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<Answers>, Status>> + Send>>;

    fn call(&mut self, request: tonic::Request<Request>) -> Self::Future {
        let context = Arc::clone(&self.0);
        Box::pin(async move {
            context
                .answer(request.into_inner())
                .await
                .map(tonic::Response::new)
        })
    }
}

/// For calls with a stream of messages as their response, whose further requests are an error.
impl tonic::server::StreamingService<Request> for Calling {
    type Response = Message;
    type ResponseStream = Answers;
    type Future = Pin<Box<dyn Future<Output = Result<tonic::Response<Answers>, Status>> + Send>>;

    fn call(&mut self, requests: tonic::Request<Streaming<Request>>) -> Self::Future {
        let context = Arc::clone(&self.0);
        Box::pin(async move {
            let request = only_request(requests.into_inner()).await?;
            context.answer(request).await.map(tonic::Response::new)
        })
    }
}

/// Reads the request of a call that has one. The errors are those of Go's library.
async fn only_request(mut requests: Streaming<Request>) -> Result<Request, Status> {
    let violation = |received| {
        Status::internal(format!(
            "cardinality violation: received {received} non-client-streaming RPC"
        ))
    };
    let request = requests
        .message()
        .await?
        .ok_or_else(|| violation("no request message from"))?;
    match requests.message().await? {
        None => Ok(request),
        Some(_) => Err(violation("multiple request messages for")),
    }
}

struct Reflecting;

impl tonic::server::StreamingService<Request> for Reflecting {
    type Response = Message;
    type ResponseStream = Answers;
    type Future = std::future::Ready<Result<tonic::Response<Answers>, Status>>;

    fn call(&mut self, requests: tonic::Request<Streaming<Request>>) -> Self::Future {
        let answers = requests
            .into_inner()
            .scan(Reflection::default(), |reflection, request| {
                std::future::ready(Some(
                    request.and_then(|request| reflection.answer(&request)),
                ))
            });
        std::future::ready(Ok(tonic::Response::new(Box::pin(answers))))
    }
}

impl Context {
    async fn answer(&self, request: Request) -> Result<Answers, Status> {
        if !request.is_utf8(&[1, 2, 3, 4]) {
            let text = "grpc: error unmarshalling request: string field contains invalid UTF-8";
            return Err(Status::internal(text));
        }
        let snapshot = self.catalogs.snapshot();
        if self.call == Call::Check {
            let answer = health::check(&request, &self.choice, &snapshot);
            return Ok(stream::iter([Ok(answer)]).boxed());
        }
        if self.call == Call::ListCustomSchemas && !self.is_experimental {
            return Ok(stream::empty().boxed());
        }
        let served = self.choice.find(&snapshot)?;
        let bundles = Arc::clone(&self.grpc.bundles);
        let registry = Registry { served, bundles };
        drop(snapshot);
        let is_held = self.call.is_large() || self.call.is_search();
        let turn = if is_held {
            Some(self.grpc.large.acquire(&self.peer).await)
        } else {
            None
        };
        let messages = if self.call.is_search() || self.call.reads_first() {
            let work = self.grpc.work.acquire(&self.peer).await;
            let call = self.call;
            let found = work.run(move || find(call, &registry, &request)).await;
            found.map_err(|error| Status::internal(error.to_string()))?
        } else {
            find(self.call, &registry, &request)
        };
        Ok(in_time(messages?, turn))
    }
}

/// Finds what a call answers.
fn find(call: Call, registry: &Registry, request: &Request) -> Result<Messages, Status> {
    match call {
        Call::ListPackages => Ok(registry.list_packages()),
        Call::GetPackage => registry.get_package(request),
        Call::GetBundle => registry.get_bundle(request),
        Call::GetBundleForChannel => registry.get_bundle_for_channel(request),
        Call::GetChannelEntriesThatReplace => registry.get_channel_entries_that_replace(request),
        Call::GetBundleThatReplaces => registry.get_bundle_that_replaces(request),
        Call::GetChannelEntriesThatProvide => registry.get_channel_entries_that_provide(request),
        Call::GetLatestChannelEntriesThatProvide => {
            registry.get_latest_channel_entries_that_provide(request)
        }
        Call::GetDefaultBundleThatProvides => registry.get_default_bundle_that_provides(request),
        Call::ListBundles => Ok(registry.list_bundles()),
        Call::ListCustomSchemas => registry.list_custom_schemas(request),
        Call::Check | Call::Reflect | Call::Unknown => {
            Err(Status::unimplemented("not a call about a catalog"))
        }
    }
}

/// Makes a stream of messages, which ends with an error where a client takes too long for it. It
/// keeps its turn until then.
fn in_time(messages: Messages, turn: Option<FairPermit>) -> Answers {
    let begun = Instant::now();
    stream::iter(messages)
        .map(move |message| {
            let _held = &turn;
            if begun.elapsed() < STREAM_TIME {
                return Ok(message);
            }
            Err(Status::deadline_exceeded(format!(
                "the response took longer than {} s",
                STREAM_TIME.as_secs()
            )))
        })
        .boxed()
}

impl Call {
    /// Returns the call of a path, or the error that Go's servers answer.
    fn of_path(path: &str) -> Result<Self, Status> {
        let parts = path
            .strip_prefix('/')
            .and_then(|path| path.rsplit_once('/'));
        let Some((service, method)) = parts else {
            return Err(Status::unimplemented(format!(
                "malformed method name: {path:?}"
            )));
        };
        if !SERVICES.contains(&service) {
            return Err(Status::unimplemented(format!("unknown service {service}")));
        }
        match (service, method) {
            ("grpc.health.v1.Health", "Watch" | "List") => Err(Status::unimplemented(format!(
                "method {method} not implemented"
            ))),
            _ => Self::named(service, method).ok_or_else(|| {
                Status::unimplemented(format!("unknown method {method} for service {service}"))
            }),
        }
    }
}
