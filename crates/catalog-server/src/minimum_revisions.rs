//! Minimum revisions: a client that moves to another replica sends the contents that it has seen, and
//! gets no response from earlier ones.
//!
//! A replica that does not know a content from its change log is presumed to be behind. It checks the
//! source of the catalog, and the request waits. A load that began after the request, and succeeded,
//! proves that the served content is current, whatever its digest. After [`REVISION_WAIT`], the
//! response is an error, never an earlier content.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use admission::{Peer, Permits};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use http_server::{ErrorFormat, HttpError};
use loading::Refresher;
use serving::{CatalogName, Catalogs, MinimumRevision, ReadBarrier, Snapshot};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::access::RequestedCatalogs;

/// Time for which a request waits until all its minimum revisions are reached.
pub const REVISION_WAIT: Duration = Duration::from_secs(2);

/// Maximum number of requests that wait at a time. One peer has at most half of them.
pub const WAITING_REQUESTS: usize = 256;

/// Shortest interval between two checks of the source of a catalog that requests cause.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Time after which a check is not awaited any more, and a further one may begin. The load itself goes
/// on.
pub const CHECK_TIMEOUT: Duration = Duration::from_mins(1);

/// Maximum number of contents that requests have named and no change log has, of one catalog. A
/// further one replaces the earliest.
pub const NAMED_CONTENTS: usize = 64;

/// Request header with the contents that a client has seen.
const MINIMUM_REVISION: HeaderName = HeaderName::from_static("catalogql-minimum-revision");

/// Response header with contents that the response is not newer than. Only requests with
/// [`MINIMUM_REVISION`] get it: the headers of others are those of catalogd alone.
const REVISION: HeaderName = HeaderName::from_static("catalogql-revision");

/// Lets requests wait for their minimum revisions. Clones share everything.
#[derive(Clone)]
pub(super) struct MinimumRevisions(Arc<Revisions>);

struct Revisions {
    /// The catalogs of requests without rights of their own.
    reader: Catalogs,
    refresher: Refresher,
    /// Lets a check learn what the status of a catalog says in the cluster.
    read_barrier: Option<ReadBarrier>,
    waiting: Permits,
    /// By the name of the catalog; only of catalogs that are served.
    checks: Mutex<BTreeMap<String, SourceChecks>>,
    /// Notified after each check.
    checked: watch::Sender<()>,
}

/// The checks of the source of one catalog.
#[derive(Default)]
struct SourceChecks {
    /// Beginning of the last check.
    begun: Option<Instant>,
    is_running: bool,
    /// Contents that requests have named, the latest last.
    named: VecDeque<NamedContent>,
}

/// A content that a request has named and no change log has.
struct NamedContent {
    minimum: MinimumRevision,
    since: Instant,
    /// A check that began later has succeeded, so that the served content is not an earlier one.
    is_settled: bool,
}

/// Adds the layer to routes that read catalogs.
pub(super) fn layer(routes: Router, revisions: MinimumRevisions) -> Router {
    routes.layer(from_fn_with_state(revisions, await_revisions))
}

async fn await_revisions(
    State(revisions): State<MinimumRevisions>,
    request: Request,
    next: Next,
) -> Response {
    if !request.headers().contains_key(MINIMUM_REVISION) {
        return next.run(request).await;
    }
    let minimums = match requested(request.headers(), request.uri()) {
        Ok(minimums) => minimums,
        Err(error) => return error.respond(&ErrorFormat::from_request(&request)),
    };
    let catalogs: Option<&Catalogs> = request.extensions().get();
    let catalogs = catalogs.unwrap_or(&revisions.0.reader).clone();
    let peer = Peer::from_extensions(request.extensions());
    if let Err(error) = revisions.0.wait(&catalogs, &minimums, peer).await {
        return error.respond(&ErrorFormat::from_request(&request));
    }

    let names = names(&minimums, request.uri());
    let mut response = next.run(request).await;
    // Read after the response has its content: what a client names is never older than what it saw.
    let names = names.iter().map(CatalogName::as_str);
    let reached = catalogs.snapshot().revisions(names);
    let header = HeaderValue::try_from(reached)
        .ok()
        .filter(|reached| !reached.is_empty());
    response
        .headers_mut()
        .extend(header.map(|reached| (REVISION, reached)));
    response
}

/// Returns the minimum revisions of a request. A path of one catalog needs only those of this one.
fn requested(headers: &HeaderMap, uri: &Uri) -> Result<Vec<MinimumRevision>, HttpError> {
    let lists = headers.get_all(MINIMUM_REVISION).iter();
    // No valid list has other bytes than ASCII.
    let lists = lists.map(|list| list.to_str().unwrap_or("?"));
    let minimums = MinimumRevision::parse_lists(lists);
    let mut minimums = minimums.map_err(|error| HttpError::MinimumRevision(error.to_string()))?;
    if let Some(catalog) = RequestedCatalogs::from_uri(uri).into_catalog() {
        minimums.retain(|minimum| minimum.catalog.as_str() == catalog);
    }
    Ok(minimums)
}

/// Returns the names of the catalogs whose contents a response tells.
fn names(minimums: &[MinimumRevision], uri: &Uri) -> Vec<CatalogName> {
    let of_path = RequestedCatalogs::from_uri(uri).into_catalog();
    let of_path = of_path.and_then(|name| CatalogName::new(&name).ok());
    let of_request = minimums.iter().map(|minimum| minimum.catalog.clone());
    let mut names: Vec<_> = of_path.into_iter().chain(of_request).collect();
    names.sort();
    names.dedup();
    names
}

impl MinimumRevisions {
    /// Creates the state of the layer. Requests without a reader in their extensions read `reader`.
    pub(super) fn new(
        reader: Catalogs,
        refresher: Refresher,
        read_barrier: Option<ReadBarrier>,
    ) -> Self {
        Self(Arc::new(Revisions {
            reader,
            refresher,
            read_barrier,
            waiting: Permits::new(WAITING_REQUESTS),
            checks: Mutex::default(),
            checked: watch::Sender::default(),
        }))
    }
}

impl Revisions {
    /// Waits until all minimum revisions are reached.
    async fn wait(
        self: &Arc<Self>,
        catalogs: &Catalogs,
        minimums: &[MinimumRevision],
        peer: Peer,
    ) -> Result<(), HttpError> {
        let Some(first) = self.unreached(&catalogs.snapshot(), minimums).next() else {
            return Ok(());
        };
        let permit = self.waiting.try_acquire(peer, 1);
        let _permit = permit.ok_or(HttpError::RevisionQueueFull)?;
        let name = first.catalog.to_string();
        timeout(REVISION_WAIT, self.reached(catalogs, minimums))
            .await
            .map_err(|_| HttpError::RevisionNotReached(name))
    }

    /// Checks the sources of catalogs whose minimum revision is not reached, until all are.
    async fn reached(self: &Arc<Self>, catalogs: &Catalogs, minimums: &[MinimumRevision]) {
        let mut published = catalogs.changes();
        let mut recorded = catalogs.recorded_changes();
        let mut checked = self.checked.subscribe();
        loop {
            published.mark_unchanged();
            recorded.mark_unchanged();
            checked.mark_unchanged();
            let snapshot = catalogs.snapshot();
            let mut is_reached = true;
            for minimum in self.unreached(&snapshot, minimums) {
                is_reached = false;
                if snapshot.has_checkable_source(minimum.catalog.as_str()) {
                    self.check(minimum);
                }
            }
            if is_reached {
                return;
            }
            tokio::select! {
                Ok(()) = published.changed() => {}
                Ok(()) = recorded.changed() => {}
                // Its sender is `self`, so that one branch is always there.
                Ok(()) = checked.changed() => {}
            }
        }
    }

    /// Returns the minimum revisions that are not reached.
    fn unreached<'m>(
        &self,
        snapshot: &Snapshot,
        minimums: &'m [MinimumRevision],
    ) -> impl Iterator<Item = &'m MinimumRevision> {
        minimums
            .iter()
            .filter(|minimum| !snapshot.has_reached(minimum) && !self.is_settled(minimum))
    }

    fn is_settled(&self, minimum: &MinimumRevision) -> bool {
        let checks = self.lock();
        let of_catalog = checks.get(minimum.catalog.as_str());
        of_catalog.is_some_and(|of_catalog| {
            let mut named = of_catalog.named.iter();
            named.any(|named| named.is_settled && named.minimum == *minimum)
        })
    }

    /// Begins a check of the source of a served catalog, unless one is running or has just begun. The
    /// content is settled by the next one then.
    fn check(self: &Arc<Self>, minimum: &MinimumRevision) {
        let published = self.reader.published();
        let mut checks = self.lock();
        checks.retain(|name, _| published.get(name).is_some());
        let name = minimum.catalog.to_string();
        let of_catalog = checks.entry(name).or_default();
        of_catalog.name(minimum);
        let is_recent = |begun: Instant| begun.elapsed() < CHECK_INTERVAL;
        if of_catalog.is_running || of_catalog.begun.is_some_and(is_recent) {
            return;
        }
        of_catalog.is_running = true;
        let begun = Instant::now();
        of_catalog.begun = Some(begun);
        drop(checks);

        let revisions = Arc::clone(self);
        let catalog = minimum.catalog.clone();
        tokio::spawn(async move {
            let is_current = timeout(CHECK_TIMEOUT, revisions.is_current(&catalog)).await;
            if let Some(of_catalog) = revisions.lock().get_mut(catalog.as_str()) {
                of_catalog.end(begun, is_current == Ok(true));
            }
            revisions.checked.send_replace(());
        });
    }

    /// Loads the source of a catalog, and returns whether the served content is then current.
    async fn is_current(&self, catalog: &CatalogName) -> bool {
        // The source may be another one by now.
        if let Some(barrier) = &self.read_barrier {
            barrier.wait(catalog.as_str()).await;
        }
        let is_loaded = self.refresher.refresh(catalog).await.is_ok();
        let snapshot = self.reader.published();
        let served = snapshot.get(catalog.as_str());
        is_loaded && served.is_some_and(|served| !snapshot.is_behind(served))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, SourceChecks>> {
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SourceChecks {
    /// Adds a content that a request names.
    fn name(&mut self, minimum: &MinimumRevision) {
        if self.named.iter().any(|named| named.minimum == *minimum) {
            return;
        }
        if self.named.len() == NAMED_CONTENTS {
            self.named.pop_front();
        }
        self.named.push_back(NamedContent {
            minimum: minimum.clone(),
            since: Instant::now(),
            is_settled: false,
        });
    }

    /// Ends a check that began at this time.
    fn end(&mut self, begun: Instant, is_current: bool) {
        self.is_running = false;
        if is_current {
            let earlier = self.named.iter_mut().filter(|named| named.since <= begun);
            earlier.for_each(|named| named.is_settled = true);
        }
    }
}

#[cfg(test)]
mod tests {
    use fbc_grammar::Digest;
    use loading::Loader;
    use serving::{CatalogMetadata, Content, Served};
    use store::Store;

    use super::*;

    fn minimum(number: usize) -> MinimumRevision {
        let text = format!("a=sha256:{number:064x}");
        let [minimum] = &MinimumRevision::parse_lists([&*text]).unwrap()[..] else {
            panic!("one is named");
        };
        minimum.clone()
    }

    fn settled(checks: &SourceChecks) -> Vec<bool> {
        checks.named.iter().map(|named| named.is_settled).collect()
    }

    #[test]
    fn a_check_settles_the_contents_that_were_named_before_it_and_only_if_it_succeeds() {
        let mut checks = SourceChecks::default();
        checks.name(&minimum(1));
        checks.name(&minimum(1));
        let begun = Instant::now();
        checks.end(begun, false);
        assert_eq!(settled(&checks), [false]);
        // A clock may have one reading for both.
        while Instant::now() == begun {}
        checks.name(&minimum(2));
        checks.end(begun, true);
        assert_eq!(settled(&checks), [true, false]);
    }

    #[test]
    fn a_content_beyond_the_maximum_replaces_the_earliest() {
        let mut checks = SourceChecks::default();
        (0..=NAMED_CONTENTS).for_each(|number| checks.name(&minimum(number)));
        assert_eq!(checks.named.len(), NAMED_CONTENTS);
        assert_eq!(checks.named[0].minimum, minimum(1));
    }

    #[tokio::test]
    async fn requests_beyond_the_maximum_do_not_wait_and_others_not_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let (mut writer, catalogs) = serving::catalogs();
        let content = Content::new(testing::fixture::catalog(""), Digest::new([1; 32]));
        writer.publish(Served::new("a", content, CatalogMetadata::default()));
        let (loader, _task) = Loader::new(Store::ephemeral(folder.path()).unwrap(), writer);
        let mut revisions = MinimumRevisions::new(catalogs.clone(), loader.refresher(), None);
        Arc::get_mut(&mut revisions.0).unwrap().waiting = Permits::new(1);

        let peer = Peer::new([192, 0, 2, 1].into());
        let minimums = [minimum(2)];
        let wait = async || {
            let waited = revisions.0.wait(&catalogs, &minimums, peer).await;
            waited.unwrap_err().to_string()
        };
        let permit = revisions.0.waiting.try_acquire(peer, 1);
        assert_eq!(wait().await, HttpError::RevisionQueueFull.to_string());
        drop(permit);
        let begun = Instant::now();
        let unreached = HttpError::RevisionNotReached("a".to_owned());
        assert_eq!(wait().await, unreached.to_string());
        assert!(begun.elapsed() >= REVISION_WAIT);
        assert_eq!(revisions.0.waiting.used(), 0);
    }

    #[test]
    fn a_path_of_one_catalog_needs_its_own_minimum_and_tells_its_content() {
        let digest = format!("sha256:{:064x}", 1);
        let list = format!("a={digest}, b={digest}");
        let headers =
            HeaderMap::from_iter([(MINIMUM_REVISION, HeaderValue::try_from(list).unwrap())]);
        let read = |path: &'static str| {
            let uri = Uri::from_static(path);
            let minimums = requested(&headers, &uri).unwrap();
            let names = names(&minimums, &uri);
            let names: Vec<_> = names.iter().map(ToString::to_string).collect();
            (minimums.len(), names.concat())
        };
        assert_eq!(read("/graphql"), (2, "ab".to_owned()));
        assert_eq!(read("/catalogs/b/api/v1/metas"), (1, "b".to_owned()));
        assert_eq!(read("/renovate/c/etcd"), (0, "c".to_owned()));
    }
}
