//! Watches of the API server: one for each kind of objects, or for each named object. They resume
//! with backoff after any failure.

use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::{FutureExt, Stream, StreamExt};
use kube::Resource;
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::reflector::{self, Lookup, Store};
use kube::runtime::watcher::{self, Event, watch_object, watcher};
use kube::{Error, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use crate::api_error::describe_watch;
use crate::changes::ClusterChange;

/// A kind of objects that can be watched.
pub(crate) trait Watched:
    Resource<DynamicType = ()>
    + Lookup<DynamicType = ()>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Watched for K where
    K: Resource<DynamicType = ()>
        + Lookup<DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// A task that is aborted when this value is dropped.
#[derive(Debug)]
pub(crate) struct WatchTask(JoinHandle<()>);

/// A state of the list of all objects of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ListState<'a> {
    /// All objects are listed, or one has changed.
    Listed,
    /// The API server does not serve the kind, so that it has no objects.
    NotServed,
    /// The watch fails. Objects that were listed before stay known.
    Failed(&'a watcher::Error),
}

/// Watches all objects of a kind and caches them.
pub(crate) struct Informer<K: Watched> {
    store: Store<K>,
    _task: WatchTask,
}

impl WatchTask {
    /// Spawns a watch, and sends [`ClusterChange::WatchPanicked`] if it panics.
    pub(crate) fn spawn(
        work: impl Future<Output = ()> + Send + 'static,
        changes: UnboundedSender<ClusterChange>,
    ) -> Self {
        // Unwind safe: state that it shares is behind locks, which are poisoned, and channels.
        let work = FutureExt::catch_unwind(AssertUnwindSafe(work));
        Self(tokio::spawn(async move {
            if work.await.is_err() {
                // The receiver is gone only when the process ends.
                let _ = changes.send(ClusterChange::WatchPanicked);
            }
        }))
    }
}

impl Drop for WatchTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<K: Watched> Informer<K> {
    /// Starts the watch. It sends `change` once all objects are listed and after each change.
    pub(crate) fn start(
        api: Api<K>,
        change: ClusterChange,
        changes: UnboundedSender<ClusterChange>,
    ) -> Self {
        let change_of = move |state: ListState<'_>| match state {
            ListState::Listed => Some(change.clone()),
            ListState::NotServed | ListState::Failed(_) => None,
        };
        Self::start_with(api, change_of, changes)
    }

    /// Starts the watch. It sends the changes that states of the list are.
    pub(crate) fn start_with(
        api: Api<K>,
        change_of: impl Fn(ListState<'_>) -> Option<ClusterChange> + Send + Sync + 'static,
        changes: UnboundedSender<ClusterChange>,
    ) -> Self {
        let (store, writer) = reflector::store();
        let sender = changes.clone();
        let send = move |state: ListState<'_>| match change_of(state) {
            Some(change) => sender.send(change).is_ok(),
            None => true,
        };
        Self {
            store,
            _task: WatchTask::spawn(inform(api, writer, send), changes),
        }
    }

    /// Returns all objects; none before the initial list is complete.
    pub(crate) fn objects(&self) -> Vec<Arc<K>> {
        self.store.state()
    }
}

/// Watches until `send` returns that the receiver is gone.
async fn inform<K: Watched>(
    api: Api<K>,
    mut writer: reflector::store::Writer<K>,
    send: impl Fn(ListState<'_>) -> bool,
) {
    let kind = <K as Resource>::kind(&()).into_owned();
    let mut has_streaming_lists = true;
    // An API server without streaming lists rejects their parameters.
    loop {
        let config = watcher::Config::default();
        let config = if has_streaming_lists {
            config.streaming_lists()
        } else {
            config
        };
        let stream = watcher(api.clone(), config)
            .default_backoff()
            // Managed fields are not used: dropping them saves memory.
            .modify(|object| object.managed_fields_mut().clear());
        let mut stream = std::pin::pin!(stream);
        let mut is_failing = false;
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => {
                    is_failing = false;
                    writer.apply_watcher_event(&event);
                    let is_partial = matches!(event, Event::Init | Event::InitApply(_));
                    if !is_partial && !send(ListState::Listed) {
                        return;
                    }
                }
                Err(error) if has_streaming_lists && is_unknown_parameter(&error) => {
                    tracing::info!(
                        kind,
                        "the API server has no streaming lists, listing instead"
                    );
                    has_streaming_lists = false;
                    break;
                }
                Err(error) => {
                    let state = if status_code(&error) == Some(404) {
                        log_absent(&kind, &mut is_failing);
                        ListState::NotServed
                    } else {
                        log(&kind, &error, &mut is_failing);
                        ListState::Failed(&error)
                    };
                    if !send(state) {
                        return;
                    }
                }
            }
        }
    }
}

/// Watches one object. The stream yields its initial state and then each change; `None` if it does
/// not exist, may not be read, or the first attempt to read it fails.
pub(crate) fn watch_one<K: Watched>(
    api: Api<K>,
    name: &str,
) -> impl Stream<Item = Option<K>> + Send + use<K> {
    let kind = <K as Resource>::kind(&()).into_owned();
    let mut is_failing = false;
    let mut is_known = false;
    watch_object(api, name)
        .default_backoff()
        .filter_map(move |event| {
            let object = match event {
                Ok(object) => {
                    is_failing = false;
                    Some(object)
                }
                Err(error) => {
                    log(&kind, &error, &mut is_failing);
                    (is_refused(&error) || !is_known).then_some(None)
                }
            };
            is_known = true;
            std::future::ready(object)
        })
}

/// Logs a failure of a watch once, until it works again.
fn log(kind: &str, error: &watcher::Error, is_failing: &mut bool) {
    // 410 Gone is normal: the resource version is too old, and the watch begins with a new list.
    let is_expired = status_code(error) == Some(410);
    let error = describe_watch(error);
    if is_expired || std::mem::replace(is_failing, true) {
        tracing::debug!(kind, error, "the watch failed again");
    } else {
        tracing::warn!(kind, error, "the watch failed, watching again with backoff");
    }
}

/// Logs that the API server does not serve a kind, once until it does.
fn log_absent(kind: &str, is_failing: &mut bool) {
    if !std::mem::replace(is_failing, true) {
        tracing::info!(
            kind,
            "the API server does not serve the kind, watching it once it does"
        );
    }
}

fn status_code(error: &watcher::Error) -> Option<u16> {
    match error {
        watcher::Error::InitialListFailed(Error::Api(status))
        | watcher::Error::WatchStartFailed(Error::Api(status))
        | watcher::Error::WatchFailed(Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status.code),
        _ => None,
    }
}

fn is_unknown_parameter(error: &watcher::Error) -> bool {
    matches!(status_code(error), Some(400 | 422))
}

fn is_refused(error: &watcher::Error) -> bool {
    matches!(status_code(error), Some(403 | 404))
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_watch_that_panics_is_reported_and_one_that_ends_is_not() {
        let (sender, mut changes) = mpsc::unbounded_channel();
        let _ended = WatchTask::spawn(async {}, sender.clone());
        let _panicking = WatchTask::spawn(async { panic!("on purpose") }, sender);
        let change = changes.recv().await;
        assert!(
            matches!(change, Some(ClusterChange::WatchPanicked)),
            "{change:?}"
        );
        let change = changes.recv().await;
        assert!(change.is_none(), "{change:?}");
    }
}
