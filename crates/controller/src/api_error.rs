//! Errors of the API server as texts for logs: kube's own repeat whole objects and leave causes
//! out.

use std::error::Error;
use std::iter;

use kube::runtime::watcher;

/// Formats the error of a request with its causes.
pub(crate) fn describe(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        error => chain(error),
    }
}

/// Formats the error of a watch with its causes.
pub(crate) fn describe_watch(error: &watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => describe(error),
        watcher::Error::WatchError(status) => status.message.clone(),
        error @ watcher::Error::NoResourceVersion => chain(error),
    }
}

/// Formats an error and its causes, each once.
fn chain(error: &dyn Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    for cause in iter::successors(Some(error), |&error| error.source()) {
        let text = cause.to_string();
        // Some of kube's errors repeat their cause in their own text.
        if !texts.last().is_some_and(|last| last.ends_with(&text)) {
            texts.push(text);
        }
    }
    texts.join(": ")
}
