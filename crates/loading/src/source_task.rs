//! The task that keeps one source current: an attempt, then a wait until another one is due.

use std::any::Any;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use images::ImageSource;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::refresh::{RefreshPolicy, WatchInterval, jittered};
use super::stages::{Content, Stages};
use super::{CatalogSpec, Event, LoadError, SourceSpec, Step, SyncStatus};
use crate::Source;
use crate::directory::{self, Revision};

/// Keeps one source current, for all the catalogs that name it.
pub(super) struct SourceTask {
    place: SourceSpec,
    wanted: Arc<[CatalogSpec]>,
    stages: Arc<Stages>,
    upkeep: RefreshPolicy,
}

/// What is worth telling of a source.
pub(super) struct Update {
    /// The catalogs of the source.
    pub(super) wanted: Arc<[CatalogSpec]>,
    /// What is to be served now.
    pub(super) content: Option<Content>,
    /// Whether that is another content than before.
    pub(super) is_new: bool,
    pub(super) standing: SyncStatus,
    pub(super) took: Duration,
    /// Whether it is the first that is told of this source.
    pub(super) is_first: bool,
}

/// Tells what is news.
struct UpdateNotifier {
    wanted: Arc<[CatalogSpec]>,
    updates: mpsc::Sender<Update>,
    served: Option<Content>,
    /// How the last update stood; none before the first.
    said: Option<String>,
}

/// Nobody wants to be told any more.
struct Unheard;

/// What a directory looked like, without reading its files.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Look {
    Settled(Revision),
    /// Something changed a moment ago.
    Moving,
    /// Why it could not be looked at.
    Unreadable(String),
}

impl SourceTask {
    /// One for each source.
    pub(super) fn each(wanted: Vec<CatalogSpec>, stages: &Arc<Stages>, upkeep: RefreshPolicy) -> Vec<Self> {
        let mut places = Vec::new();
        let mut by_place: HashMap<SourceSpec, Vec<CatalogSpec>> = HashMap::new();
        for one in wanted {
            if !by_place.contains_key(&one.place) {
                places.push(one.place.clone());
            }
            by_place.entry(one.place.clone()).or_default().push(one);
        }
        let keeper = |place: SourceSpec| {
            let wanted = by_place.remove(&place).unwrap_or_default().into();
            Self { place, wanted, stages: Arc::clone(stages), upkeep }
        };
        places.into_iter().map(keeper).collect()
    }

    /// Works until nobody receives its updates, or nothing can change any more.
    pub(super) async fn run(
        self,
        updates: mpsc::Sender<Update>,
        observe: impl Fn(Event) + Clone + Send + Sync + 'static,
    ) {
        let teller = UpdateNotifier { wanted: Arc::clone(&self.wanted), updates, served: None, said: None };
        // It ends early when nobody listens, which is no failure.
        let _ = match self.place.source.clone() {
            Source::Directory(root) => self.keep_directory(&root, teller, observe).await,
            Source::Image(image) => self.keep_image(&image, teller, observe).await,
        };
    }

    async fn keep_directory(
        &self,
        root: &Path,
        mut teller: UpdateNotifier,
        observe: impl Fn(Event) + Clone + Send + Sync + 'static,
    ) -> Result<(), Unheard> {
        loop {
            let before = look(root).await;
            let result = self.read(root, &observe).await;
            let failed = result.0.is_err();
            self.tell(&mut teller, result).await?;
            let Some(pace) = self.upkeep.directories else { return Ok(()) };
            change(root, pace, &before, failed).await;
        }
    }

    async fn keep_image(
        &self,
        image: &ImageSource,
        mut teller: UpdateNotifier,
        observe: impl Fn(Event) + Clone + Send + Sync + 'static,
    ) -> Result<(), Unheard> {
        let is_pinned = self.place.source.is_pinned();
        // A registry may be slow or away: what is kept of the image can be served meanwhile.
        let begun = Instant::now();
        if let Some((content, is_known)) = self.kept().await {
            let is_current = is_pinned && is_known;
            let standing = if is_current { SyncStatus::Current } else { SyncStatus::Unasked };
            teller.tell(Some(content), standing, begun.elapsed()).await?;
            if is_current {
                return Ok(());
            }
        }
        let mut failures = 0_u32;
        loop {
            let result = self.pull(image, &observe).await;
            failures = if result.0.is_ok() { 0 } else { failures.saturating_add(1) };
            self.tell(&mut teller, result).await?;
            let pause = self.upkeep.images.and_then(|polling| polling.pause(failures, is_pinned));
            let Some(pause) = pause else { return Ok(()) };
            sleep(jittered(pause, fastrand::f64())).await;
        }
    }

    /// Tells how an attempt ended. What was kept is served where it failed.
    async fn tell(
        &self,
        teller: &mut UpdateNotifier,
        (result, took): (Result<Content, LoadError>, Duration),
    ) -> Result<(), Unheard> {
        let (content, standing) = match result {
            Ok(content) => (Some(content), SyncStatus::Current),
            Err(error) => {
                let content = match &teller.served {
                    Some(served) => Some(served.clone()),
                    None => self.kept().await.map(|(content, _)| content),
                };
                (content, SyncStatus::Failed(Arc::new(error)))
            }
        };
        teller.tell(content, standing, took).await
    }

    /// Reads a directory once its turn has come, and says how long that took.
    async fn read(
        &self,
        root: &Path,
        observe: &(impl Fn(Event) + Clone + Send + Sync + 'static),
    ) -> (Result<Content, LoadError>, Duration) {
        let (root, key, progress) = (root.to_owned(), self.place.key(), self.progress(observe));
        let read = self.stages.run_exclusive(move |stages| {
            let begun = Instant::now();
            let read = stages.current(&root, &key, |read, total| progress(Step::Read, read, total));
            Ok((read, begun.elapsed()))
        });
        read.await.unwrap_or_else(|error| (Err(error), Duration::ZERO))
    }

    /// Pulls an image, and says how long that took.
    async fn pull(
        &self,
        image: &ImageSource,
        observe: &(impl Fn(Event) + Clone + Send + Sync + 'static),
    ) -> (Result<Content, LoadError>, Duration) {
        let begun = Instant::now();
        let pull = AssertUnwindSafe(self.stages.pull(&self.place, image, self.progress(observe))).catch_unwind();
        let result = pull.await.unwrap_or_else(|panic| Err(LoadError::Panicked(said_by(&*panic))));
        (result, begun.elapsed())
    }

    fn progress(
        &self,
        observe: &(impl Fn(Event) + Clone + Send + Sync + 'static),
    ) -> impl Fn(Step, u64, u64) + Clone + Send + Sync + 'static {
        let (name, observe) = (self.wanted[0].name.clone(), observe.clone());
        move |step, done, total| observe(Event::Progress { name: name.clone(), step, done, total })
    }

    /// What the store has of the source, and whether this build has looked at it.
    async fn kept(&self) -> Option<(Content, bool)> {
        let key = self.place.key();
        self.stages.run_exclusive(move |stages| Ok(stages.former(&key))).await.ok().flatten()
    }
}

impl UpdateNotifier {
    async fn tell(&mut self, content: Option<Content>, standing: SyncStatus, took: Duration) -> Result<(), Unheard> {
        let is_new = content.as_ref().is_some_and(|new| !self.served.as_ref().is_some_and(|old| old.is_same(new)));
        let is_first = self.said.is_none();
        let said = Some(standing.to_string());
        if !is_first && !is_new && said == self.said {
            return Ok(());
        }
        self.served.clone_from(&content);
        self.said = said;
        let update = Update { wanted: Arc::clone(&self.wanted), content, is_new, standing, took, is_first };
        self.updates.send(update).await.map_err(|_| Unheard)
    }
}

/// Waits until a directory looks otherwise than before the last attempt, twice in a row alike and not just now written
/// to; or until a failed attempt is worth repeating.
async fn change(root: &Path, pace: WatchInterval, before: &Look, failed: bool) {
    let mut polls = interval(pace.poll);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    polls.tick().await;
    let since = Instant::now();
    let mut last = Look::Moving;
    loop {
        polls.tick().await;
        let look = look(root).await;
        let stands = look == last && look != Look::Moving;
        if stands && (look != *before || failed && since.elapsed() >= pace.retry) {
            return;
        }
        last = look;
    }
}

async fn look(root: &Path) -> Look {
    let root = root.to_owned();
    let look = spawn_blocking(move || match directory::list(&root) {
        Ok(listing) if listing.is_settled() => Look::Settled(listing.revision().clone()),
        Ok(_) => Look::Moving,
        Err(error) => Look::Unreadable(LoadError::from(error).chain()),
    });
    look.await.unwrap_or_else(|error| Look::Unreadable(error.to_string()))
}

/// What a panic said.
fn said_by(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}
