//! Catalogs as an aggregated API of Kubernetes: what kube-apiserver proxies to, and what `kubectl` shows.
//!
//! `packages.operators.coreos.com/v1` is that of OLM v0's packageserver, so that its clients need no change; where this
//! one differs, `docs/reference/kube-api.md` says why. It is read-only: nothing here creates, changes or deletes.
//!
//! This crate knows neither where catalogs come from nor who callers are: [`Authorize`] decides what they may do.

mod access;
mod age;
mod chunks;
mod collection;
mod continuation;
mod difference;
mod documents;
mod fields;
mod history;
mod icon;
mod item;
mod json;
mod kind;
mod manifest;
mod negotiation;
mod openapi;
mod options;
mod published;
mod remembered;
mod request;
mod response;
mod status;
mod texts;
mod version;
mod watching;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use http_facts::peer::Peer;
use serde_json::Value;
use serving::{Catalogs, Turns};
use tokio::sync::watch;
use tokio::time::timeout;

pub use access::{Attributes, Authorize, Decision, ResourceAttributes};
pub use chunks::{CHUNK_BYTES, LIST_TIME, MAX_STREAMED_LISTS};
pub use difference::MAX_EVENTS;
pub use history::FORMER_STATES;
pub use options::MAX_REQUIREMENTS;
pub use remembered::VersionFile;
pub use texts::{CreateTextFile, KEPT_TEXT_BYTES, TextFile};
pub use watching::{
    BOOKMARK_INTERVAL, MAX_WATCH_LAG, MAX_WATCH_TIME, MAX_WATCHES, RENEWAL_INTERVAL, RENEWAL_TIMEOUT, WATCH_STALL,
};

use access::Question;
use collection::{Collection, Place};
use negotiation::{Format, Shape, Target};
use options::Options;
use published::Published;
use remembered::Remembered;
use request::{Object, Route};
use status::Status;
use texts::TextRoom;
use version::ResourceVersion;

/// How long a request waits for a resource version that is not there yet.
pub const RESOURCE_VERSION_WAIT: Duration = Duration::from_secs(3);

/// Number of objects that a list may look at, once for itself and once for each requirement, before it takes a turn.
pub const SHORT_LIST: usize = 20_000;

/// Maximum number of lists that look at more objects at a time; further ones wait.
pub const MAX_LONG_LISTS: usize = 2;

/// How long a request waits for the first state after the start.
const FIRST_STATE_WAIT: Duration = Duration::from_secs(10);

/// What the API needs to know beside the catalogs.
#[derive(Clone)]
pub struct KubeApiOptions {
    /// Namespace whose packages are seen in all namespaces, and of catalogs that have no namespace of their own.
    pub global_namespace: String,
    /// The answer at `/version`, a JSON object.
    pub version: Value,
    /// Decides what callers may do; `None` allows everything.
    pub authorize: Option<Authorize>,
    /// Interval of bookmarks, usually [`BOOKMARK_INTERVAL`].
    pub bookmark_interval: Duration,
    /// Creates the files in which texts of manifests are kept, up to [`KEPT_TEXT_BYTES`]; without it they are made again for each
    /// response.
    pub create_text_file: Option<CreateTextFile>,
    /// Where resource versions of objects are remembered for the next start; without it, all objects have new ones then.
    pub version_file: Option<Arc<dyn VersionFile>>,
}

/// Whose requests are counted together. All users come through the addresses of kube-apiserver, so that an address counts only
/// where nobody says which user it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Requester {
    User(String),
    Peer(Peer),
}

/// Who sends a request.
struct Caller {
    /// What it may see.
    reader: Catalogs,
    requester: Requester,
    /// What is asked again while a watch lasts; `None` where nobody's rights are evaluated.
    question: Option<Question>,
}

/// The API over the published set. Clones are cheap and see the same.
#[derive(Clone)]
pub struct KubeApi(Arc<Shared>);

struct Shared {
    catalogs: Catalogs,
    global_namespace: Arc<str>,
    version: Value,
    authorize: Option<Authorize>,
    bookmark_interval: Duration,
    states: watch::Receiver<Arc<Published>>,
    /// Bounds the lists that are sent in several chunks.
    lists: Turns<Requester>,
    watches: Turns<Requester>,
    /// Bounds the lists that take long to put together.
    long_lists: Turns<Requester>,
}

/// Makes the states of an API; watches end when it is dropped.
pub struct KubeApiTask {
    api: KubeApi,
    states: watch::Sender<Arc<Published>>,
    room: TextRoom,
}

impl KubeApi {
    /// Creates an API, and the task without which it has no objects. Requests that are allowed without a reader of their own
    /// see what this one sees.
    pub fn new(catalogs: Catalogs, options: KubeApiOptions) -> (Self, KubeApiTask) {
        let KubeApiOptions { global_namespace, version, authorize, bookmark_interval, create_text_file, version_file } =
            options;
        let (sender, states) = watch::channel(Arc::new(Published::new(Remembered::open(version_file))));
        let room = TextRoom::new(create_text_file, KEPT_TEXT_BYTES);
        let api = Self(Arc::new(Shared {
            catalogs,
            global_namespace: global_namespace.into(),
            version,
            authorize,
            bookmark_interval,
            states,
            lists: Turns::new(MAX_STREAMED_LISTS),
            watches: Turns::new(MAX_WATCHES),
            long_lists: Turns::new(MAX_LONG_LISTS),
        }));
        (api.clone(), KubeApiTask { api, states: sender, room })
    }

    /// Returns the routes: all paths, so that unknown ones get the answers of an API server.
    pub fn router(&self) -> Router {
        Router::new().fallback(respond).with_state(self.clone())
    }

    async fn respond(&self, request: Request) -> Response {
        let head = Arc::new(request.into_parts().0);
        let format = Format::of_errors(&head.headers);
        let route = Route::parse(head.uri.path());
        let options = Options::parse(head.uri.query().unwrap_or_default());
        let caller = match self.authorize(&head, &route, &options).await {
            Ok(caller) => caller,
            Err(refusal) => return refusal.respond(format),
        };
        let response = match route {
            Route::Object(object) => self.object(&head, object, &options, caller).await,
            route => documents::respond(&head, &route, &self.0),
        };
        response.unwrap_or_else(|error| error.respond(format))
    }

    /// Responds to a request for objects.
    async fn object(
        &self,
        head: &Parts,
        object: Object,
        options: &Options,
        caller: Caller,
    ) -> Result<Response, Status> {
        let (kind, object) = object.resolve()?;
        if head.method != Method::GET {
            return Err(Status::method_not_allowed());
        }
        let collection =
            Collection::new(kind, object.namespace.as_deref(), &self.0.global_namespace, caller.reader.clone());
        let state = self.state_since(&collection, ResourceVersion::Any).await?;
        if let Some(name) = &object.name {
            if object.subresource.is_some() {
                return Ok(icon::respond(head, &collection, &state, name));
            }
            let (format, shape) = negotiation::negotiate(&head.headers, Target::Object)?;
            return collection.get(&state, name, options.format(format), shape, options);
        }
        let target = if options.is_watch() { Target::Object } else { Target::List };
        let (format, shape) = match negotiation::negotiate(&head.headers, target) {
            // A watch shows single objects, and clients name the kind of either.
            Err(_) if options.is_watch() => negotiation::negotiate(&head.headers, Target::List)?,
            negotiated => negotiated?,
        };
        self.list(head, (collection, caller), options, (options.format(format), shape)).await
    }

    /// Responds to a list or a watch.
    async fn list(
        &self,
        head: &Parts,
        (collection, Caller { requester, question, .. }): (Collection, Caller),
        options: &Options,
        (format, shape): (Format, Shape),
    ) -> Result<Response, Status> {
        let kind = collection.kind;
        let selection = options.selection(kind)?;
        options.validate()?;
        let collection = collection.select(selection);
        let state = self.state_since(&collection, options.resource_version()?).await?;
        if options.is_watch() {
            let turn = self.0.watches.try_take(&requester).ok_or_else(chunks::overloaded)?;
            return watching::respond(
                (collection, question),
                (self.0.states.clone(), state),
                options,
                (shape, self.0.bookmark_interval),
                turn,
            );
        }
        if (format, shape) == (Format::Json, Shape::Whole) && response::accepts_gzip(&head.headers) {
            deflate(state.not_deflated(|objects| collection.sees(objects))).await;
        }
        let (collection, places) = self.places(collection, &state, &requester).await?;
        let turn = || self.0.lists.try_take(&requester);
        collection.list((&state, places), options, (format, shape), &head.headers, turn)
    }

    /// Finds the objects that a list shows: beside other requests, where that takes long.
    async fn places(
        &self,
        collection: Collection,
        state: &Arc<Published>,
        requester: &Requester,
    ) -> Result<(Collection, Vec<Place>), Status> {
        if collection.work(state) <= SHORT_LIST {
            let places = collection.places(state);
            return Ok((collection, places));
        }
        let (turn, state) = (self.0.long_lists.take(requester).await, Arc::clone(state));
        let found = turn.run(move || {
            let places = collection.places(&state);
            (collection, places)
        });
        found.await.map_err(|_| Status::internal("the list could not be put together"))
    }

    /// Asks whether the caller may do what it asks for, and what it may see.
    async fn authorize(&self, head: &Arc<Parts>, route: &Route, options: &Options) -> Result<Caller, Status> {
        let own = self.0.catalogs.clone();
        let peer = Requester::Peer(Peer::of(&head.extensions));
        let Some(authorize) = self.0.authorize.as_ref().filter(|_| !route.is_public()) else {
            return Ok(Caller { reader: own, requester: peer, question: None });
        };
        let attributes = Attributes::new(&head.method, head.uri.path(), route, options);
        let question = Question::new(authorize, (head, own), attributes);
        let (reader, user) = question.ask().await?;
        Ok(Caller { reader, requester: user.map_or(peer, Requester::User), question: Some(question) })
    }

    /// Waits for a state of at least this resource version that has all changes of the published set so far, and lists the objects
    /// of the kind in it.
    async fn state_since(&self, collection: &Collection, wanted: ResourceVersion) -> Result<Arc<Published>, Status> {
        let mut states = self.0.states.clone();
        let changes = *self.0.catalogs.changes().borrow();
        let is_first = states.borrow().revision == 0;
        let wait = if is_first { FIRST_STATE_WAIT } else { RESOURCE_VERSION_WAIT };
        let has_reached = |state: &Published| state.revision > 0 && collection.has_reached(state, wanted);
        let is_wanted = |state: &Arc<Published>| state.changes >= changes && has_reached(state);
        let _ = timeout(wait, states.wait_for(is_wanted)).await;
        let state = Arc::clone(&states.borrow());
        // While the objects of a large catalog are still compared, the state before is shown.
        if state.revision == 0 {
            return Err(Status::unavailable("the catalogs are being loaded: try again later"));
        }
        if !has_reached(&state) {
            return Err(Status::too_large_version(wanted.number(), collection.state_version(&state, 0)));
        }
        Ok(prepared(state, collection.kind).await)
    }
}

async fn respond(State(api): State<KubeApi>, request: Request) -> Response {
    api.respond(request).await
}

/// Lists the objects of a kind, where that has not been done: it takes long for a large catalog.
async fn prepared(state: Arc<Published>, kind: kind::Kind) -> Arc<Published> {
    if state.is_prepared(kind) {
        return state;
    }
    let listed = Arc::clone(&state);
    let _ = tokio::task::spawn_blocking(move || listed.prepare(kind)).await;
    state
}

/// Compresses texts, which takes a while.
async fn deflate(texts: Vec<Arc<texts::Texts>>) {
    if !texts.is_empty() {
        let _ = tokio::task::spawn_blocking(move || texts.iter().for_each(|texts| texts.deflate())).await;
    }
}

impl KubeApiTask {
    /// Publishes a state for each change of what is served, until the published set has no writer any more.
    pub async fn run(self) {
        let shared = &self.api.0;
        let made = (Arc::clone(&shared.global_namespace), self.room);
        published::follow(shared.catalogs.clone(), made, self.states).await;
    }
}

impl fmt::Debug for KubeApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeApi").field("global_namespace", &self.0.global_namespace).finish_non_exhaustive()
    }
}
