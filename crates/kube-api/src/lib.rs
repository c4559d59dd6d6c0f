//! Catalogs as an aggregated API of Kubernetes: what kube-apiserver proxies to, and what `kubectl`
//! shows.
//!
//! `packages.operators.coreos.com/v1` is that of OLM v0's packageserver, so that its clients need
//! no change; where this one differs, `docs/reference/kube-api.md` says why. It is read-only:
//! nothing here creates, changes or deletes.
//!
//! This crate knows neither where catalogs come from nor who callers are: [`Authorize`] decides
//! what they may do.

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
mod work;

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
use tokio::sync::watch;
use tokio::time::timeout;

pub use access::{Attributes, Authorize, Decision, ResourceAttributes};
pub use chunks::{CHUNK_BYTES, LIST_TIME, MAX_COMPRESSED_BYTES, MAX_STREAMED_LISTS};
pub use difference::MAX_EVENTS;
pub use history::FORMER_STATES;
pub use options::MAX_REQUIREMENTS;
pub use remembered::VersionFile;
pub use response::MAX_CONVERTED_BYTES;
pub use texts::{CreateTextFile, KEPT_TEXT_BYTES, TextFile};
pub use watching::{
    BOOKMARK_INTERVAL, MAX_WATCH_LAG, MAX_WATCH_TIME, MAX_WATCHES, RENEWAL_INTERVAL,
    RENEWAL_TIMEOUT, WATCH_STALL,
};

use access::Question;
use collection::Collection;
use negotiation::{Format, Shape, Target};
use options::Options;
use published::Published;
use remembered::Remembered;
use request::{Object, Route};
use status::Status;
use texts::TextRoom;
use version::ResourceVersion;
use work::{Requester, Work};

/// How long a request waits for a resource version that is not there yet.
pub const RESOURCE_VERSION_WAIT: Duration = Duration::from_secs(3);

/// How long a request waits for the first state after the start.
const FIRST_STATE_WAIT: Duration = Duration::from_secs(10);

/// What the API needs to know beside the catalogs.
#[derive(Clone)]
pub struct KubeApiOptions {
    /// Namespace whose packages are seen in all namespaces, and of catalogs that have no namespace
    /// of their own.
    pub global_namespace: String,
    /// The answer at `/version`, a JSON object.
    pub version: Value,
    /// Decides what callers may do; `None` allows everything.
    pub authorize: Option<Authorize>,
    /// Interval of bookmarks, usually [`BOOKMARK_INTERVAL`].
    pub bookmark_interval: Duration,
    /// Creates the files in which texts of manifests are kept, up to [`KEPT_TEXT_BYTES`]; without
    /// it they are made again for each response.
    pub create_text_file: Option<CreateTextFile>,
    /// Where resource versions of objects are remembered for the next start; without it, all
    /// objects have new ones then.
    pub version_file: Option<Arc<dyn VersionFile>>,
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
    lists: FairSemaphore<Requester>,
    watches: FairSemaphore<Requester>,
    /// Bounds what is put together at a time.
    work: FairSemaphore<Requester>,
}

/// Makes the states of an API; watches end when it is dropped.
pub struct KubeApiTask {
    api: KubeApi,
    states: watch::Sender<Arc<Published>>,
    room: TextRoom,
}

impl KubeApi {
    /// Creates an API, and the task without which it has no objects. Requests that are allowed
    /// without a reader of their own see what this one sees.
    pub fn new(catalogs: Catalogs, options: KubeApiOptions) -> (Self, KubeApiTask) {
        let KubeApiOptions {
            global_namespace,
            version,
            authorize,
            bookmark_interval,
            create_text_file,
            version_file,
        } = options;
        let (sender, states) =
            watch::channel(Arc::new(Published::new(Remembered::open(version_file))));
        let room = TextRoom::new(create_text_file, KEPT_TEXT_BYTES);
        let api = Self(Arc::new(Shared {
            catalogs,
            global_namespace: global_namespace.into(),
            version,
            authorize,
            bookmark_interval,
            states,
            lists: FairSemaphore::new(MAX_STREAMED_LISTS),
            watches: FairSemaphore::new(MAX_WATCHES),
            work: FairSemaphore::per_processor(),
        }));
        (
            api.clone(),
            KubeApiTask {
                api,
                states: sender,
                room,
            },
        )
    }

    /// Returns the routes: all paths, so that unknown ones get the answers of an API server.
    pub fn router(&self) -> Router {
        Router::new().fallback(respond).with_state(self.clone())
    }

    async fn respond(&self, request: Request) -> Response {
        let head = Arc::new(request.into_parts().0);
        let format = Format::of_errors(&head.headers);
        let route = Route::parse(head.uri.path());
        let options = Arc::new(Options::parse(head.uri.query().unwrap_or_default()));
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
        head: &Arc<Parts>,
        object: Object,
        options: &Arc<Options>,
        caller: Caller,
    ) -> Result<Response, Status> {
        let (kind, object) = object.resolve()?;
        if head.method != Method::GET {
            return Err(Status::method_not_allowed());
        }
        let collection = Collection::new(
            kind,
            object.namespace.as_deref(),
            &self.0.global_namespace,
            caller.reader.clone(),
        );
        if let Some(name) = object.name {
            let part = object.subresource;
            return self
                .get(head, (collection, caller), (name, part), options)
                .await;
        }
        let target = if options.is_watch() {
            Target::Object
        } else {
            Target::List
        };
        let (format, shape) = match negotiation::negotiate(&head.headers, target) {
            // A watch shows single objects, and clients name the kind of either.
            Err(_) if options.is_watch() => negotiation::negotiate(&head.headers, Target::List)?,
            negotiated => negotiated?,
        };
        self.list(
            head,
            (collection, caller),
            options,
            (options.format(format), shape),
        )
        .await
    }

    /// Responds with an object, or with a part of it.
    async fn get(
        &self,
        head: &Arc<Parts>,
        (collection, caller): (Collection, Caller),
        (name, part): (String, Option<String>),
        options: &Arc<Options>,
    ) -> Result<Response, Status> {
        let work = Work::new(&self.0.work, &caller.requester);
        let state = self
            .state_since(&collection, ResourceVersion::Any, &work)
            .await?;
        let head = Arc::clone(head);
        let options = Arc::clone(options);
        if part.is_some() {
            return work
                .run(move || icon::respond(&head, &collection, &state, &name))
                .await;
        }
        let (format, shape) = negotiation::negotiate(&head.headers, Target::Object)?;
        let format = options.format(format);
        if format == Format::Json && collection.is_short(&state, &name) {
            return collection.get(&state, &name, format, shape, &options);
        }
        work.run(move || collection.get(&state, &name, format, shape, &options))
            .await?
    }

    /// Responds to a list or a watch.
    async fn list(
        &self,
        head: &Arc<Parts>,
        (
            collection,
            Caller {
                requester,
                question,
                ..
            },
        ): (Collection, Caller),
        options: &Arc<Options>,
        (format, shape): (Format, Shape),
    ) -> Result<Response, Status> {
        let kind = collection.kind;
        let selection = options.selection(kind)?;
        options.validate()?;
        let collection = collection.select(selection);
        let work = Work::new(&self.0.work, &requester);
        let state = self
            .state_since(&collection, options.resource_version()?, &work)
            .await?;
        if options.is_watch() {
            let turn = self
                .0
                .watches
                .try_acquire(&requester)
                .ok_or_else(chunks::overloaded)?;
            return watching::respond(
                (collection, question),
                (self.0.states.clone(), state),
                options,
                (shape, self.0.bookmark_interval),
                (turn, work),
            );
        }
        if (format, shape) == (Format::Json, Shape::Whole) && response::accepts_gzip(&head.headers)
        {
            let texts = state.not_deflated(|objects| collection.sees(objects));
            deflate(texts, &work).await?;
        }
        let lists = self.0.lists.clone();
        let head = Arc::clone(head);
        let options = Arc::clone(options);
        let sending = work.clone();
        let listed = move || {
            let turn = || lists.try_acquire(&requester);
            collection.list(
                &state,
                &options,
                (format, shape),
                &head.headers,
                (turn, &sending),
            )
        };
        work.run(listed).await?
    }

    /// Asks whether the caller may do what it asks for, and what it may see.
    async fn authorize(
        &self,
        head: &Arc<Parts>,
        route: &Route,
        options: &Options,
    ) -> Result<Caller, Status> {
        let own = self.0.catalogs.clone();
        let peer = Requester::Peer(Peer::from_extensions(&head.extensions));
        let Some(authorize) = &self.0.authorize else {
            return Ok(Caller {
                reader: own,
                requester: peer,
                question: None,
            });
        };
        let attributes = Attributes::new(&head.method, head.uri.path(), route, options);
        let question = Question::new(authorize, (head, own.clone()), attributes);
        let answer = question.ask().await;
        if route.is_public() {
            // As upstream: whoever has no credentials or no rights may probe, and whoever has
            // invalid ones may nothing.
            let refusal = answer
                .err()
                .filter(|status| status.code == StatusCode::UNAUTHORIZED);
            return refusal.map_or(
                Ok(Caller {
                    reader: own,
                    requester: peer,
                    question: None,
                }),
                Err,
            );
        }
        let (reader, user) = answer?;
        Ok(Caller {
            reader,
            requester: user.map_or(peer, Requester::User),
            question: Some(question),
        })
    }

    /// Waits for a state of at least this resource version that has all changes of the published
    /// set so far, and lists the objects of the kind in it.
    async fn state_since(
        &self,
        collection: &Collection,
        wanted: ResourceVersion,
        work: &Work,
    ) -> Result<Arc<Published>, Status> {
        let mut states = self.0.states.clone();
        let changes = *self.0.catalogs.changes().borrow();
        let is_first = states.borrow().revision == 0;
        let wait = if is_first {
            FIRST_STATE_WAIT
        } else {
            RESOURCE_VERSION_WAIT
        };
        let has_reached =
            |state: &Published| state.revision > 0 && collection.has_reached(state, wanted);
        let is_wanted = |state: &Arc<Published>| state.changes >= changes && has_reached(state);
        let _ = timeout(wait, states.wait_for(is_wanted)).await;
        let state = Arc::clone(&states.borrow());
        // While the objects of a large catalog are still compared, the state before is shown.
        if state.revision == 0 {
            return Err(Status::unavailable(
                "the catalogs are being loaded: try again later",
            ));
        }
        if !has_reached(&state) {
            return Err(Status::too_large_version(
                wanted.number(),
                collection.state_version(&state, 0),
            ));
        }
        prepared(state, collection.kind, work).await
    }
}

async fn respond(State(api): State<KubeApi>, request: Request) -> Response {
    api.respond(request).await
}

/// Lists the objects of a kind, where that has not been done: it takes long for a large catalog.
async fn prepared(
    state: Arc<Published>,
    kind: kind::Kind,
    work: &Work,
) -> Result<Arc<Published>, Status> {
    if !state.is_prepared(kind) {
        let listed = Arc::clone(&state);
        work.run(move || listed.prepare(kind)).await?;
    }
    Ok(state)
}

/// Compresses texts, which takes a while.
async fn deflate(texts: Vec<Arc<texts::Texts>>, work: &Work) -> Result<(), Status> {
    if texts.is_empty() {
        Ok(())
    } else {
        work.run(move || texts.iter().for_each(|texts| texts.deflate()))
            .await
    }
}

impl KubeApiTask {
    /// Publishes a state for each change of what is served, until the published set has no writer
    /// any more.
    pub async fn run(self) {
        let shared = &self.api.0;
        let made = (Arc::clone(&shared.global_namespace), self.room);
        published::follow(shared.catalogs.clone(), made, self.states).await;
    }
}

impl fmt::Debug for KubeApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubeApi")
            .field("global_namespace", &self.0.global_namespace)
            .finish_non_exhaustive()
    }
}
