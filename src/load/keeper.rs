//! The task that keeps one source current: an attempt, then looks whether another one is due.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval};

use super::stages::{Content, Stages};
use super::{Event, LoadError, Pace, Wanted, Watch};
use crate::source::{Revision, Source};

/// Keeps one source current, for all the catalogs that name it.
pub(super) struct Keeper {
    source: Source,
    wanted: Arc<[Wanted]>,
    stages: Arc<Stages>,
    watch: Watch,
}

/// How an attempt ended that is worth telling.
pub(super) struct Update {
    /// The catalogs of the source.
    pub(super) wanted: Arc<[Wanted]>,
    /// What is to be served now.
    pub(super) content: Option<Content>,
    /// Whether that is another content than before.
    pub(super) is_new: bool,
    /// Why it is not what the source has now.
    pub(super) error: Option<Arc<LoadError>>,
    pub(super) took: Duration,
    /// Whether it was the first attempt.
    pub(super) is_first: bool,
}

/// What a source looked like, without reading its files.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Look {
    Settled(Revision),
    /// Something changed a moment ago.
    Moving,
    /// Why it could not be looked at.
    Unreadable(String),
}

impl Keeper {
    /// One for each source.
    pub(super) fn each(wanted: Vec<Wanted>, stages: &Arc<Stages>, watch: Watch) -> Vec<Self> {
        let mut sources = Vec::new();
        let mut by_source: HashMap<Source, Vec<Wanted>> = HashMap::new();
        for one in wanted {
            if !by_source.contains_key(&one.source) {
                sources.push(one.source.clone());
            }
            by_source.entry(one.source.clone()).or_default().push(one);
        }
        let keeper = |source: Source| {
            let wanted = by_source.remove(&source).unwrap_or_default().into();
            Self { source, wanted, stages: Arc::clone(stages), watch }
        };
        sources.into_iter().map(keeper).collect()
    }

    /// Works until nobody receives its updates, or after one attempt when it does not watch.
    pub(super) async fn run(self, updates: mpsc::Sender<Update>, observe: impl Fn(Event) + Clone + Send + 'static) {
        let mut served: Option<Content> = None;
        let mut failed: Option<String> = None;
        let mut is_first = true;
        loop {
            let before = self.look().await;
            let (result, took) = self.attempt(&observe).await;
            let error = result.as_ref().err().map(LoadError::chain);
            let content = match result.as_ref() {
                Ok(content) => Some(content.clone()),
                Err(_) if served.is_some() => served.clone(),
                Err(_) => self.former().await,
            };
            let is_new = content.as_ref().is_some_and(|new| !served.as_ref().is_some_and(|old| old.is_same(new)));
            let is_news = is_first || is_new || error != failed;
            served.clone_from(&content);
            if is_news {
                let error = result.err().map(Arc::new);
                let wanted = Arc::clone(&self.wanted);
                let update = Update { wanted, content, is_new, error, took, is_first };
                if updates.send(update).await.is_err() {
                    return;
                }
            }
            let Watch::Changes(pace) = self.watch else { return };
            is_first = false;
            self.change(pace, &before, error.is_some()).await;
            failed = error;
        }
    }

    /// Loads the source once its turn has come, and says how long that took.
    async fn attempt(
        &self,
        observe: &(impl Fn(Event) + Clone + Send + 'static),
    ) -> (Result<Content, LoadError>, Duration) {
        let permit = self.stages.heavy.clone().acquire_owned().await;
        let (stages, source, observe) = (Arc::clone(&self.stages), self.source.clone(), observe.clone());
        let name = self.wanted[0].name.clone();
        let begun = Instant::now();
        let attempt = spawn_blocking(move || {
            let _permit = permit;
            stages.current(&source, |read, total| observe(Event::Progress { name: name.clone(), read, total }))
        });
        let result = attempt.await.unwrap_or_else(|error| Err(LoadError::Panicked(error.to_string())));
        (result, begun.elapsed())
    }

    async fn former(&self) -> Option<Content> {
        let permit = self.stages.heavy.clone().acquire_owned().await;
        let (stages, source) = (Arc::clone(&self.stages), self.source.clone());
        let former = spawn_blocking(move || {
            let _permit = permit;
            stages.former(&source)
        });
        former.await.ok().flatten()
    }

    /// Waits until the source looks otherwise than before the last attempt, twice in a row alike and not just now
    /// written to; or until a failed attempt is worth repeating.
    async fn change(&self, pace: Pace, before: &Look, failed: bool) {
        let mut polls = interval(pace.poll);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        polls.tick().await;
        let since = Instant::now();
        let mut last = Look::Moving;
        loop {
            polls.tick().await;
            let look = self.look().await;
            let stands = look == last && look != Look::Moving;
            if stands && (look != *before || failed && since.elapsed() >= pace.retry) {
                return;
            }
            last = look;
        }
    }

    async fn look(&self) -> Look {
        let source = self.source.clone();
        let look = spawn_blocking(move || match source.list() {
            Ok(listing) if listing.is_settled() => Look::Settled(listing.revision().clone()),
            Ok(_) => Look::Moving,
            Err(error) => Look::Unreadable(LoadError::from(error).chain()),
        });
        look.await.unwrap_or_else(|error| Look::Unreadable(error.to_string()))
    }
}
