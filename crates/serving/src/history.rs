//! Outlines of contents that are or were served, so that a content can be compared with one that is gone.
//!
//! They come and go beside the snapshots: what can be compared does not change what is served.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fbc::outline::REMEMBERED;
use fbc::{Digest, Outline};

/// The outlines of each catalog; clones see the same.
#[derive(Clone, Debug, Default)]
pub struct History(Arc<Mutex<BTreeMap<String, Outlines>>>);

/// Contents with their outlines, the latest first.
type Outlines = Vec<(Digest, Outline)>;

impl History {
    /// Remembers contents of a catalog, the latest first, before those that are known already.
    pub fn remember(&self, name: &str, mut outlines: Outlines) {
        let mut all = self.lock();
        for (digest, outline) in &mut outlines {
            // Mapped once, however many catalogs have had the content.
            if let Some((_, shared)) = all.values().flatten().find(|(other, _)| other == digest) {
                *outline = shared.clone();
            }
        }
        let known = all.entry(name.to_owned()).or_default();
        known.retain(|(digest, _)| outlines.iter().all(|(other, _)| other != digest));
        outlines.append(known);
        // The content that is served may be among them.
        outlines.truncate(REMEMBERED + 1);
        *known = outlines;
    }

    /// The outline of a content of a catalog whose name is visible.
    pub(super) fn find(&self, digest: &Digest, is_visible: impl Fn(&str) -> bool) -> Option<Outline> {
        let known = self.lock();
        let visible = known.iter().filter(|(name, _)| is_visible(name)).flat_map(|(_, outlines)| outlines);
        visible.into_iter().find(|(other, _)| other == digest).map(|(_, outline)| outline.clone())
    }

    /// Forgets what a catalog was.
    pub(super) fn forget(&self, name: &str) {
        self.lock().remove(name);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Outlines>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testing::fixture::catalog;

    #[test]
    fn an_outline_is_held_once_however_many_catalogs_have_had_its_content() {
        let history = History::default();
        let digest = Digest::new([7; 32]);
        for name in ["one", "two"] {
            history.remember(name, vec![(digest, Outline::from_catalog(&catalog("package etcd default=stable")))]);
        }
        let of = |wanted: &str| history.find(&digest, |name| name == wanted).unwrap().as_bytes().as_ptr();
        assert_eq!(of("one"), of("two"));
    }
}
