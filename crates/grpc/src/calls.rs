//! One call: its catalog, its permits, and its response.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use admission::{ConnectionDrain, FairPermit, Peer};
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use futures_util::{Stream, StreamExt as _, stream};
use serving::{Catalogs, Served};
use tonic::codec::CompressionEncoding;
use tonic::server::{Grpc as TonicServer, ServerStreamingService, StreamingService};
use tonic::{Code, Status, Streaming};

use crate::body::OffloadedBody;
use crate::codec::Codec;
use crate::health;
use crate::message::ResponseMessage;
use crate::metrics::Call;
use crate::reflection::{ReflectionStream, SERVICES};
use crate::registry::{Messages, Registry};
use crate::request::CallRequest;
use crate::requested_catalog::RequestedCatalog;
use crate::{Grpc, MAX_REQUEST_BYTES, STREAM_TIME};

/// Name of the metadata without which the experimental service returns no messages, as upstream's.
const EXPERIMENTAL: &str = "x-acknowledge-experimental";

/// Error of authentication or authorization of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallAuthError {
    /// `UNAUTHENTICATED`: the call has no valid credentials.
    Unauthenticated,
    /// `PERMISSION_DENIED`: the caller may not make this call.
    Denied(String),
    /// `UNAVAILABLE`: the authorizer does not answer.
    Undecided(String),
}

impl CallAuthError {
    /// Returns the response to the call.
    pub fn respond(self) -> Response {
        let status = match self {
            Self::Unauthenticated => Status::unauthenticated("Unauthorized"),
            Self::Denied(text) => Status::permission_denied(text),
            Self::Undecided(text) => Status::unavailable(text),
        };
        status.into_http::<Body>()
    }
}

type ResponseStream = Pin<Box<dyn Stream<Item = Result<ResponseMessage, Status>> + Send>>;

/// State of a call besides its request.
struct CallContext {
    grpc: Grpc,
    catalogs: Catalogs,
    requested: RequestedCatalog,
    call: Call,
    peer: Peer,
    /// The end of the connection; `None` if the listener does not say.
    drain: Option<ConnectionDrain>,
    is_experimental: bool,
}

/// Responds to a request of a listener.
pub(crate) async fn respond(State(grpc): State<Grpc>, request: HttpRequest) -> Response {
    let call = match Call::from_path(request.uri().path()) {
        Ok(call) => call,
        Err(status) => {
            grpc.metrics.count(Call::Unknown, status.code());
            return status.into_http::<Body>();
        }
    };
    let catalogs = request.extensions().get().unwrap_or(&grpc.catalogs).clone();
    let peer = Peer::from_extensions(request.extensions());
    let drain = request.extensions().get().cloned();
    let requested =
        RequestedCatalog::new(grpc.catalog.as_deref(), request.headers(), request.uri());
    let is_experimental = request
        .headers()
        .get(EXPERIMENTAL)
        .is_some_and(|value| value == "true");
    let context = Arc::new(CallContext {
        grpc,
        catalogs,
        requested,
        call,
        peer,
        drain,
        is_experimental,
    });
    let mut server = TonicServer::new(Codec(call))
        .accept_compressed(CompressionEncoding::Gzip)
        .send_compressed(CompressionEncoding::Gzip)
        .max_decoding_message_size(MAX_REQUEST_BYTES);
    // tonic's own server would dispatch by generated code and answer unknown paths with other
    // texts.
    let response = if call == Call::Reflect {
        server.streaming(ReflectionService, request).await
    } else if call.is_streamed() {
        server
            .streaming(RegistryService(Arc::clone(&context)), request)
            .await
    } else {
        server
            .server_streaming(RegistryService(Arc::clone(&context)), request)
            .await
    };
    let (mut head, body) = response.into_parts();
    let code = head
        .headers
        .get(Status::GRPC_STATUS)
        .map_or(Code::Ok, |code| Code::from_bytes(code.as_bytes()));
    // Go's servers return this code for a message that is too large.
    if code == Code::OutOfRange {
        head.headers
            .insert(Status::GRPC_STATUS, (Code::ResourceExhausted as i32).into());
    }
    context.grpc.metrics.count(call, code);
    // An error has no messages to encode, and a stream of reflection waits for its client.
    if call == Call::Reflect || head.headers.contains_key(Status::GRPC_STATUS) {
        return Response::from_parts(head, Body::new(body));
    }
    let body = OffloadedBody::new(body, &context.grpc.work, context.peer);
    Response::from_parts(head, Body::new(body))
}

type ResponseFuture =
    Pin<Box<dyn Future<Output = Result<tonic::Response<ResponseStream>, Status>> + Send>>;

/// All calls but reflection.
struct RegistryService(Arc<CallContext>);

/// Calls whose response is one message. Go's library ignores further requests, as tonic does.
impl ServerStreamingService<CallRequest> for RegistryService {
    type Response = ResponseMessage;
    type ResponseStream = ResponseStream;
    type Future = ResponseFuture;

    fn call(&mut self, request: tonic::Request<CallRequest>) -> Self::Future {
        let context = Arc::clone(&self.0);
        Box::pin(async move {
            context
                .answer(request.into_inner())
                .await
                .map(tonic::Response::new)
        })
    }
}

/// Calls whose response is a stream of messages. Further requests are an error.
impl StreamingService<CallRequest> for RegistryService {
    type Response = ResponseMessage;
    type ResponseStream = ResponseStream;
    type Future = ResponseFuture;

    fn call(&mut self, requests: tonic::Request<Streaming<CallRequest>>) -> Self::Future {
        let context = Arc::clone(&self.0);
        Box::pin(async move {
            let request = only_request(requests.into_inner()).await?;
            context.answer(request).await.map(tonic::Response::new)
        })
    }
}

/// Reads the request of a call that has exactly one. The errors are those of Go's library.
async fn only_request(mut requests: Streaming<CallRequest>) -> Result<CallRequest, Status> {
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

/// The stream of server reflection.
struct ReflectionService;

impl StreamingService<CallRequest> for ReflectionService {
    type Response = ResponseMessage;
    type ResponseStream = ResponseStream;
    type Future = std::future::Ready<Result<tonic::Response<ResponseStream>, Status>>;

    fn call(&mut self, requests: tonic::Request<Streaming<CallRequest>>) -> Self::Future {
        let responses =
            requests
                .into_inner()
                .scan(ReflectionStream::default(), |stream, request| {
                    let response = match request {
                        Ok(CallRequest::Reflect(request)) => stream.answer(request),
                        Ok(_) => Err(not_about_a_catalog()),
                        Err(status) => Err(status),
                    };
                    std::future::ready(Some(response))
                });
        std::future::ready(Ok(tonic::Response::new(Box::pin(responses))))
    }
}

impl CallContext {
    /// Drains the connection after this content of its catalog.
    //
    // OLM v0 reads a catalog when a connection begins, and then not for 30 minutes: for new content
    // it replaces the pod of `opm serve`, which ends the connection.
    fn drain_after(&self, served: &Served) {
        let Some(drain) = self.drain.clone().filter(ConnectionDrain::try_observe) else {
            return;
        };
        let catalogs = self.catalogs.clone();
        let requested = self.requested.clone();
        let content = served.content.digest;
        tokio::spawn(async move {
            let mut changes = catalogs.changes();
            let is_current = || {
                let now = requested.find(&catalogs.snapshot());
                now.is_ok_and(|now| now.content.digest == content)
            };
            while is_current() {
                tokio::select! {
                    observed = changes.changed() => if observed.is_err() {
                        return;
                    },
                    () = drain.ended() => return,
                }
            }
            drain.request();
        });
    }

    async fn answer(&self, request: CallRequest) -> Result<ResponseStream, Status> {
        let snapshot = self.catalogs.snapshot();
        if let CallRequest::Check(request) = &request {
            let response = health::check(request, &self.requested, &snapshot);
            return Ok(stream::iter([Ok(response)]).boxed());
        }
        if self.call == Call::ListCustomSchemas && !self.is_experimental {
            return Ok(stream::empty().boxed());
        }
        let served = self.requested.find(&snapshot)?;
        self.drain_after(&served);
        let bundles = Arc::clone(&self.grpc.bundles);
        let registry = Registry { served, bundles };
        // A call may wait long for its permits, and must not keep other catalogs in memory.
        drop(snapshot);

        // Held until the response is sent: clients that do not read must not hold a bundle each.
        let needs_permit = self.call.is_large() || self.call.is_search();
        let permit = if needs_permit {
            Some(self.grpc.large.acquire(&self.peer).await)
        } else {
            None
        };
        // Milliseconds of work, during which the thread of the connection would answer no probe.
        let messages = if self.call.is_search() || self.call.reads_first() {
            let work = self.grpc.work.acquire(&self.peer).await;
            work.run(move || find(&registry, request))
                .await
                .map_err(|error| Status::internal(error.to_string()))?
        } else {
            find(&registry, request)
        };
        Ok(with_deadline(messages?, permit))
    }
}

/// Finds the messages of a call.
fn find(registry: &Registry, request: CallRequest) -> Result<Messages, Status> {
    match request {
        CallRequest::ListPackages => Ok(registry.list_packages()),
        CallRequest::GetPackage(request) => registry.get_package(&request),
        CallRequest::GetBundle(request) => registry.get_bundle(&request),
        CallRequest::GetBundleForChannel(request) => registry.get_bundle_for_channel(&request),
        CallRequest::GetChannelEntriesThatReplace(request) => {
            registry.get_channel_entries_that_replace(&request)
        }
        CallRequest::GetBundleThatReplaces(request) => registry.get_bundle_that_replaces(&request),
        CallRequest::GetChannelEntriesThatProvide(request) => {
            registry.get_channel_entries_that_provide(&request)
        }
        CallRequest::GetLatestChannelEntriesThatProvide(request) => {
            registry.get_latest_channel_entries_that_provide(&request)
        }
        CallRequest::GetDefaultBundleThatProvides(request) => {
            registry.get_default_bundle_that_provides(&request)
        }
        CallRequest::ListBundles => Ok(registry.list_bundles()),
        CallRequest::ListCustomSchemas(request) => registry.list_custom_schemas(request),
        CallRequest::Check(_) | CallRequest::Reflect(_) => Err(not_about_a_catalog()),
    }
}

fn not_about_a_catalog() -> Status {
    Status::unimplemented("not a call about a catalog")
}

/// Returns a stream of messages that ends with an error after [`STREAM_TIME`], and holds the permit
/// until it ends.
fn with_deadline(messages: Messages, permit: Option<FairPermit>) -> ResponseStream {
    let begun = Instant::now();
    stream::iter(messages)
        .map(move |message| {
            let _permit = &permit;
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
    /// Returns the call of a path, or the error that Go's servers return.
    fn from_path(path: &str) -> Result<Self, Status> {
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
            _ => Self::from_method(service, method).ok_or_else(|| {
                Status::unimplemented(format!("unknown method {method} for service {service}"))
            }),
        }
    }
}
