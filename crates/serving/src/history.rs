//! Outlines of contents that are or were served, so that a content can be compared with one that is
//! gone, and logs of their changes.
//!
//! They are no part of snapshots: a remembered content changes no revision.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fbc::Outline;
use fbc::outline::REMEMBERED;
use fbc_grammar::Digest;
use jiff::Timestamp;
use tokio::sync::watch;

use super::change_log::ChangeLog;

/// Outlines of the contents of each catalog, and its change log. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct History {
    contents: Arc<Mutex<BTreeMap<String, Vec<RememberedContent>>>>,
    change_logs: Arc<Mutex<BTreeMap<String, ChangeLog>>>,
    /// Number of times that a change log was set.
    recorded: watch::Sender<u64>,
}

/// A content that a catalog has or had, without its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedContent {
    /// SHA-256 of its canonical lines.
    pub digest: Digest,
    /// The image that it was unpacked from, by digest; `None` for a directory, or if that is no
    /// longer known.
    pub image: Option<Arc<str>>,
    /// Time at which it was first read from its source; `None` if that is unknown.
    pub last_unpacked: Option<Timestamp>,
    /// Names and hashes of its objects.
    pub outline: Outline,
}

impl History {
    /// Adds contents of a catalog, the latest first, before those that it has already.
    pub fn remember(&self, name: &str, mut contents: Vec<RememberedContent>) {
        let mut all = self.lock();
        for content in &mut contents {
            // One outline is mapped into memory once, however many catalogs have had the content.
            if let Some(shared) = all
                .values()
                .flatten()
                .find(|other| other.digest == content.digest)
            {
                content.outline = shared.outline.clone();
            }
        }
        let known = all.entry(name.to_owned()).or_default();
        for content in &mut contents {
            if let Some(former) = known.iter().find(|former| former.digest == content.digest) {
                content.image = content.image.take().or_else(|| former.image.clone());
                content.last_unpacked = content.last_unpacked.or(former.last_unpacked);
            }
        }
        known.retain(|former| {
            contents
                .iter()
                .all(|content| content.digest != former.digest)
        });
        contents.append(known);
        // The content that is served may be among them.
        contents.truncate(REMEMBERED + 1);
        *known = contents;
    }

    /// Sets the change log of a catalog.
    pub fn set_change_log(&self, name: &str, log: ChangeLog) {
        self.lock_change_logs().insert(name.to_owned(), log);
        self.recorded.send_modify(|count| *count += 1);
    }

    /// Returns a receiver that is notified when a change log is set.
    pub(super) fn recorded(&self) -> watch::Receiver<u64> {
        self.recorded.subscribe()
    }

    /// Returns the change log of a catalog; `None` if it was not set.
    pub fn change_log(&self, name: &str) -> Option<ChangeLog> {
        self.lock_change_logs().get(name).cloned()
    }

    /// Returns the outline of a content of a catalog whose name is visible.
    pub fn find(&self, digest: &Digest, is_visible: impl Fn(&str) -> bool) -> Option<Outline> {
        let known = self.lock();
        let visible = known
            .iter()
            .filter(|(name, _)| is_visible(name))
            .flat_map(|(_, contents)| contents);
        visible
            .into_iter()
            .find(|content| content.digest == *digest)
            .map(|content| content.outline.clone())
    }

    /// Returns the contents of a catalog, the latest first.
    pub(super) fn contents(&self, name: &str) -> Vec<RememberedContent> {
        self.lock().get(name).cloned().unwrap_or_default()
    }

    /// Removes the contents of a catalog, and its change log.
    pub(super) fn forget(&self, name: &str) {
        self.lock().remove(name);
        self.lock_change_logs().remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Vec<RememberedContent>>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_change_logs(&self) -> MutexGuard<'_, BTreeMap<String, ChangeLog>> {
        self.change_logs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::fixture::catalog;

    fn content(digest: u8) -> RememberedContent {
        let outline = Outline::from_catalog(&catalog("package etcd default=stable"));
        RememberedContent {
            digest: Digest::new([digest; 32]),
            image: None,
            last_unpacked: None,
            outline,
        }
    }

    #[test]
    fn an_outline_is_held_once_however_many_catalogs_have_had_its_content() {
        let history = History::default();
        for name in ["one", "two"] {
            history.remember(name, vec![content(7)]);
        }
        let of = |wanted: &str| {
            history
                .find(&content(7).digest, |name| name == wanted)
                .unwrap()
                .as_bytes()
                .as_ptr()
        };
        assert_eq!(of("one"), of("two"));
    }

    #[test]
    fn what_was_known_of_a_content_is_not_forgotten_when_less_is_reported() {
        let history = History::default();
        let known = RememberedContent {
            image: Some("i".into()),
            last_unpacked: Some(Timestamp::UNIX_EPOCH),
            ..content(7)
        };
        history.remember("a", vec![known.clone()]);
        history.remember("a", vec![content(8), content(7)]);
        assert_eq!(history.contents("a"), [content(8), known]);
        assert_eq!(history.contents("b"), []);
    }
}
