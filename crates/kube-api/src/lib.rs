//! Catalogs as an aggregated API of Kubernetes: kube-apiserver proxies requests to it, and `kubectl`
//! shows its objects.
//!
//! `packages.operators.coreos.com/v1` is the API of OLM v0's packageserver, so that its clients need
//! no change; `docs/reference/kube-api.md` lists the differences. The API is read-only.
//!
//! This crate knows neither where catalogs come from nor who callers are: [`Authorize`] decides
//! what they may do.
//!
//! # Modules
//! In the order in which to read them. A module uses only modules above it.
//!
//! | part | modules |
//! |---|---|
//! | vocabulary | `kind` (resources), `status` (errors), `version` (resource versions) |
//! | requests | `request` (paths), `fields`, `continue_token`, `negotiation`, `options`, `access` |
//! | objects | `manifest_cache`, `json`, `manifest`, `object`, `reader` (lists and writes objects) |
//! | published state | `catalog`, `history`, `published` |
//! | responses | `response`, `age`, `item`, `collection`, `list_body`, `list`, `difference`, `watch`, `icon` |
//! | documents | `openapi`, `documents` |
//!
//! `executor` runs the work of requests on threads that serve no connections.

mod access;
mod age;
mod catalog;
mod collection;
mod continue_token;
mod difference;
mod documents;
mod executor;
mod fields;
mod history;
mod icon;
mod item;
mod json;
mod kind;
mod list;
mod list_body;
mod manifest;
mod manifest_cache;
mod negotiation;
mod object;
mod openapi;
mod options;
mod published;
mod reader;
mod request;
mod response;
mod status;
mod version;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use admission::{FairSemaphore, Peer};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde_json::Value;
use serving::Catalogs;
use tokio::sync::watch as watch_channel;
use tokio::time::timeout;

pub use access::{Attributes, Authorize, Decision, ResourceAttributes};
pub use difference::MAX_EVENTS;
pub use history::FORMER_STATES;
pub use list_body::{LIST_TIME, MAX_COMPRESSED_BYTES, MAX_STREAMED_LISTS};
pub use manifest_cache::{CreateManifestFile, MANIFEST_CACHE_BYTES, ManifestFile};
pub use options::{MAX_REQUIREMENTS, MAX_WATCH_TIME};
pub use response::{CHUNK_BYTES, MAX_CONVERTED_BYTES};
pub use watch::{
    BOOKMARK_INTERVAL, MAX_WATCH_LAG, MAX_WATCHES, RENEWAL_INTERVAL, RENEWAL_TIMEOUT, WATCH_STALL,
};

use access::AccessCheck;
use collection::Collection;
use documents::ProcessFacts;
use executor::{RequestExecutor, Requester};
use list::ListQuery;
use list_body::ListPermits;
use manifest_cache::{ManifestCache, ManifestCacheBudget};
use negotiation::{NegotiationTarget, ObjectRepresentation, Projection, Serialization};
use options::{ListOptions, Selection};
use published::{ObjectSettings, PublishedState};
use request::{ObjectPath, Route};
use status::Status;
use version::{ResourceVersion, VersionTags};
use watch::WatchRequest;

/// Maximum time that a request waits for a resource version that this replica has not reached.
pub const RESOURCE_VERSION_WAIT: Duration = Duration::from_secs(3);

/// Maximum time that a request waits for the first state after the start.
const FIRST_STATE_WAIT: Duration = Duration::from_secs(10);

/// The parameters of the API.
#[derive(Clone)]
pub struct KubeApiOptions {
    /// Namespace whose packages are seen in all namespaces; also that of catalogs without a
    /// namespace.
    pub global_namespace: String,
    /// The response at `/version`, a JSON object.
    pub version: Value,
    /// Decides what callers may do; `None` allows everything.
    pub authorize: Option<Authorize>,
    /// Interval of bookmarks, usually [`BOOKMARK_INTERVAL`].
    pub bookmark_interval: Duration,
    /// Creates the files of cached manifests, up to [`MANIFEST_CACHE_BYTES`]. Without it, manifests
    /// are made for each response.
    pub create_manifest_file: Option<CreateManifestFile>,
}

/// The API over the published set. Clones share their state.
#[derive(Clone)]
pub struct KubeApi(Arc<ApiContext>);

/// State shared by all requests.
struct ApiContext {
    catalogs: Catalogs,
    global_namespace: Arc<str>,
    version: Value,
    authorize: Option<Authorize>,
    bookmark_interval: Duration,
    states: watch_channel::Receiver<Arc<PublishedState>>,
    tags: VersionTags,
    /// Bounds the lists that are sent in several chunks.
    lists: FairSemaphore<Requester>,
    watches: FairSemaphore<Requester>,
    /// Bounds the work of requests.
    work: FairSemaphore<Requester>,
}

/// Publishes the states of an API. Watches end when it is dropped.
pub struct KubeApiTask {
    catalogs: Catalogs,
    settings: ObjectSettings,
    states: watch_channel::Sender<Arc<PublishedState>>,
}

/// The sender of a request that is authorized.
struct AuthorizedCaller {
    /// Reader of the catalogs that the caller may see.
    reader: Catalogs,
    requester: Requester,
    /// The authorization, which a watch evaluates again; `None` if every caller may do everything.
    access: Option<AccessCheck>,
}

/// An authorized request for objects.
struct ObjectRequest {
    head: Arc<Parts>,
    options: Arc<ListOptions>,
    collection: Collection,
    requester: Requester,
    access: Option<AccessCheck>,
    executor: RequestExecutor,
}

impl KubeApi {
    /// Creates an API, and the task without which it has no objects. Requests that are allowed
    /// without a reader of their own see what `catalogs` sees.
    pub fn new(catalogs: Catalogs, options: KubeApiOptions) -> (Self, KubeApiTask) {
        let global_namespace: Arc<str> = options.global_namespace.into();
        let (sender, states) = watch_channel::channel(Arc::default());
        let settings = ObjectSettings {
            global_namespace: Arc::clone(&global_namespace),
            cache_budget: ManifestCacheBudget::new(
                options.create_manifest_file,
                MANIFEST_CACHE_BYTES,
            ),
        };
        let task = KubeApiTask {
            catalogs: catalogs.clone(),
            settings,
            states: sender,
        };
        let api = Self(Arc::new(ApiContext {
            catalogs,
            global_namespace,
            version: options.version,
            authorize: options.authorize,
            bookmark_interval: options.bookmark_interval,
            states,
            tags: VersionTags::default(),
            lists: FairSemaphore::new(MAX_STREAMED_LISTS),
            watches: FairSemaphore::new(MAX_WATCHES),
            work: FairSemaphore::per_processor(),
        }));
        (api, task)
    }

    /// Returns the routes: all paths, so that unknown ones get the errors of an API server.
    pub fn router(&self) -> Router {
        Router::new().fallback(respond).with_state(self.clone())
    }

    async fn respond(&self, request: Request) -> Response {
        let head = Arc::new(request.into_parts().0);
        let route = Route::parse(head.uri.path());
        let options = Arc::new(ListOptions::parse(head.uri.query().unwrap_or_default()));
        let serialization = Serialization::for_errors(&head.headers);
        let response = match self.authorize(&head, &route, &options).await {
            Err(denied) => Err(denied),
            Ok(caller) => match route {
                Route::Object(path) => self.respond_to_objects(head, path, options, caller).await,
                route => {
                    let facts = ProcessFacts {
                        version: &self.0.version,
                        is_ready: self.0.states.borrow().revision > 0,
                    };
                    documents::respond(&head, &route, &facts)
                }
            },
        };
        response.unwrap_or_else(|error| response::error(&error, serialization, None))
    }

    async fn respond_to_objects(
        &self,
        head: Arc<Parts>,
        path: ObjectPath,
        options: Arc<ListOptions>,
        caller: AuthorizedCaller,
    ) -> Result<Response, Status> {
        let kind = path.kind()?;
        // After the path: as upstream does, an unknown resource is 404 whatever the method.
        if head.method != Method::GET {
            return Err(Status::method_not_allowed());
        }
        let collection = Collection {
            kind,
            namespace: path.namespace,
            global_namespace: Arc::clone(&self.0.global_namespace),
            tag: self.0.tags.tag(caller.reader.visibility()),
            reader: caller.reader,
            selection: Selection::default(),
        };
        let request = ObjectRequest {
            head,
            options,
            collection,
            executor: RequestExecutor::new(&self.0.work, &caller.requester),
            requester: caller.requester,
            access: caller.access,
        };
        match (path.name, path.subresource) {
            (None, _) => self.list_or_watch(request).await,
            (Some(name), None) => self.get(request, name).await,
            // Icons are the only subresource.
            (Some(name), Some(_)) => self.icon(request, name).await,
        }
    }

    async fn icon(&self, request: ObjectRequest, name: String) -> Result<Response, Status> {
        let state = self.state_since(&request, None).await?;
        let ObjectRequest {
            head,
            collection,
            executor,
            ..
        } = request;
        executor
            .run(move || icon::respond(&head, &collection, &state, &name))
            .await
    }

    async fn get(&self, request: ObjectRequest, name: String) -> Result<Response, Status> {
        let state = self.state_since(&request, None).await?;
        let ObjectRequest {
            head,
            options,
            collection,
            executor,
            ..
        } = request;
        let accepted = negotiation::negotiate(&head.headers, NegotiationTarget::Object)?;
        let representation = ObjectRepresentation {
            serialization: options.pretty(accepted.serialization),
            ..accepted
        };
        options.resource_version()?;
        let index = collection
            .find(&state, &name)
            .ok_or_else(|| Status::not_found(collection.kind, &name))?;
        let is_short = collection.item(&state, index).is_short();
        let respond = move || {
            let item = collection.item(&state, index);
            list::respond_with_object(&item, &collection, representation, &options)
        };
        // Copying a short object takes less time than handing it to another thread.
        if representation.serialization == Serialization::Json && is_short {
            return respond();
        }
        executor.run(respond).await?
    }

    async fn list_or_watch(&self, request: ObjectRequest) -> Result<Response, Status> {
        let representation = list_representation(&request.head, &request.options)?;
        let selection = request.options.selection(request.collection.kind)?;
        request.options.validate()?;
        let request = ObjectRequest {
            collection: Collection {
                selection,
                ..request.collection
            },
            ..request
        };
        if request.options.is_watch() {
            self.watch(request, representation.projection).await
        } else {
            self.list(request, representation).await
        }
    }

    async fn watch(
        &self,
        request: ObjectRequest,
        projection: Projection,
    ) -> Result<Response, Status> {
        let state = self.state_since(&request, None).await?;
        let permit = self
            .0
            .watches
            .try_acquire(&request.requester)
            .ok_or_else(Status::too_many_requests)?;
        let watch = WatchRequest {
            collection: request.collection,
            access: request.access,
            states: self.0.states.clone(),
            state,
            projection,
            bookmark_interval: self.0.bookmark_interval,
            permit,
            executor: request.executor,
        };
        watch::respond(watch, &request.options)
    }

    async fn list(
        &self,
        request: ObjectRequest,
        representation: ObjectRepresentation,
    ) -> Result<Response, Status> {
        let version = request.options.resource_version()?;
        let state = self.state_since(&request, version).await?;
        let ObjectRequest {
            head,
            options,
            collection,
            requester,
            executor,
            ..
        } = request;
        let is_plain = representation.serialization == Serialization::Json
            && representation.projection == Projection::Whole;
        if is_plain && response::accepts_gzip(&head.headers) {
            // Compressed once here, or again for each list.
            let manifests =
                state.uncompressed_manifests(CHUNK_BYTES, |objects| collection.sees(objects));
            deflate(manifests, &executor).await?;
        }

        let lists = self.0.lists.clone();
        let list_executor = executor.clone();
        let respond = move || {
            let list = ListQuery {
                collection,
                state,
                options: &options,
                representation,
                headers: &head.headers,
            };
            list.respond(ListPermits {
                lists: &lists,
                requester: &requester,
                executor: &list_executor,
            })
        };
        executor.run(respond).await?
    }

    /// Authorizes a request.
    ///
    /// # Errors
    /// The caller is denied, or nothing was decided.
    async fn authorize(
        &self,
        head: &Arc<Parts>,
        route: &Route,
        options: &ListOptions,
    ) -> Result<AuthorizedCaller, Status> {
        let peer = Requester::Peer(Peer::from_extensions(&head.extensions));
        let anonymous = |requester| AuthorizedCaller {
            reader: self.0.catalogs.clone(),
            requester,
            access: None,
        };
        let Some(authorize) = &self.0.authorize else {
            return Ok(anonymous(peer));
        };
        let access = AccessCheck {
            authorize: Arc::clone(authorize),
            head: Arc::clone(head),
            default_reader: self.0.catalogs.clone(),
            attributes: Attributes::new(&head.method, head.uri.path(), route, options),
        };
        let granted = match access.evaluate().await {
            // As upstream does: callers without credentials or rights may probe, those with invalid
            // credentials may not.
            Err(status) if route.is_public() && status.code != StatusCode::UNAUTHORIZED => {
                return Ok(anonymous(peer));
            }
            granted => granted?,
        };
        if route.is_public() {
            return Ok(anonymous(peer));
        }
        Ok(AuthorizedCaller {
            reader: granted.reader,
            requester: granted.user.map_or(peer, Requester::User),
            access: Some(access),
        })
    }

    /// Waits for a state that has the revision of a resource version and all changes of the
    /// published set so far, and lists the objects of the kind in it.
    ///
    /// # Errors
    /// There is no state yet, or this replica does not reach the revision in time.
    async fn state_since(
        &self,
        request: &ObjectRequest,
        version: Option<ResourceVersion>,
    ) -> Result<Arc<PublishedState>, Status> {
        let collection = &request.collection;
        let revision = version.map_or(0, |version| version.revision);
        let mut states = self.0.states.clone();
        let changes = *self.0.catalogs.changes().borrow();
        let is_first = states.borrow().revision == 0;
        let wait = if is_first {
            FIRST_STATE_WAIT
        } else {
            RESOURCE_VERSION_WAIT
        };
        // States are made a moment after the published set has changed. A request that follows the
        // change sees it nevertheless.
        let has_reached =
            |state: &PublishedState| state.revision > 0 && collection.revision(state) >= revision;
        let is_current =
            |state: &Arc<PublishedState>| state.changes >= changes && has_reached(state);
        let _ = timeout(wait, states.wait_for(is_current)).await;

        let state = Arc::clone(&states.borrow());
        // While the objects of a large catalog are being listed, the former state is shown.
        if state.revision == 0 {
            return Err(Status::unavailable(
                "the catalogs are being loaded: try again later",
            ));
        }
        if let Some(version) = version
            && !has_reached(&state)
        {
            let current = collection.list_version(&state);
            return Err(Status::too_large_version(
                version.number(),
                current.number(),
            ));
        }
        state.list_kind(collection.kind, &request.executor).await
    }
}

async fn respond(State(api): State<KubeApi>, request: Request) -> Response {
    api.respond(request).await
}

/// Returns the representation of a list or a watch.
fn list_representation(
    head: &Parts,
    options: &ListOptions,
) -> Result<ObjectRepresentation, Status> {
    let accepted = if options.is_watch() {
        // A watch sends single objects, but some clients accept the kind of the list.
        negotiation::negotiate(&head.headers, NegotiationTarget::Object)
            .or_else(|_| negotiation::negotiate(&head.headers, NegotiationTarget::List))?
    } else {
        negotiation::negotiate(&head.headers, NegotiationTarget::List)?
    };
    Ok(ObjectRepresentation {
        serialization: options.pretty(accepted.serialization),
        ..accepted
    })
}

/// Compresses cached manifests.
async fn deflate(
    manifests: Vec<Arc<ManifestCache>>,
    executor: &RequestExecutor,
) -> Result<(), Status> {
    if manifests.is_empty() {
        return Ok(());
    }
    executor
        .run(move || manifests.iter().for_each(|manifests| manifests.deflate()))
        .await
}

impl KubeApiTask {
    /// Publishes a state for each change of the published set, until that has no writer any more.
    pub async fn run(self) {
        published::follow(self.catalogs, self.settings, self.states).await;
    }
}

impl fmt::Debug for KubeApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeApi")
            .field("global_namespace", &self.0.global_namespace)
            .finish_non_exhaustive()
    }
}
