//! Which kinds of objects the API server has listed since the start. It knows no objects, only
//! whether they came.

use tokio::time::Instant;

use crate::FIRST_ANSWER;

/// The lists that a new replica waits for: until they are there, nobody knows which catalogs are
/// wanted.
#[derive(Debug)]
pub(crate) struct FirstLists {
    has_cluster_catalogs: bool,
    /// Whether `CatalogSource` objects are served and not listed yet.
    awaits_catalog_sources: bool,
    /// When the `CatalogSource` objects are not waited for any more.
    deadline: Option<Instant>,
}

impl FirstLists {
    pub(crate) fn new(catalog_sources: bool) -> Self {
        Self {
            has_cluster_catalogs: false,
            awaits_catalog_sources: catalog_sources,
            deadline: None,
        }
    }

    /// Notes that the `ClusterCatalog` objects are known. The API server answers then: it has
    /// [`FIRST_ANSWER`] to list the `CatalogSource` objects, which a cluster without OLM v0 does
    /// not define.
    pub(crate) fn add_cluster_catalogs(&mut self, now: Instant) {
        if !self.has_cluster_catalogs {
            self.has_cluster_catalogs = true;
            self.deadline = self.awaits_catalog_sources.then(|| now + FIRST_ANSWER);
        }
    }

    /// Notes that the `CatalogSource` objects are known.
    pub(crate) fn add_catalog_sources(&mut self) {
        (self.awaits_catalog_sources, self.deadline) = (false, None);
    }

    /// Whether the `ClusterCatalog` objects are known.
    pub(crate) fn has_cluster_catalogs(&self) -> bool {
        self.has_cluster_catalogs
    }

    /// Whether nothing is waited for any more.
    pub(crate) fn is_complete(&self) -> bool {
        self.has_cluster_catalogs && !self.awaits_catalog_sources
    }

    /// When [`Self::pass_deadline`] has something to do; `None` if it never has.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Waits for the `CatalogSource` objects no longer once their time is over. Returns whether it
    /// has just ended.
    pub(crate) fn pass_deadline(&mut self, now: Instant) -> bool {
        let is_over = self.deadline.is_some_and(|deadline| deadline <= now);
        if is_over {
            self.add_catalog_sources();
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the `ClusterCatalog` objects are known, whether all are, and the deadline.
    fn state(lists: &FirstLists) -> (bool, bool, Option<Instant>) {
        (
            lists.has_cluster_catalogs(),
            lists.is_complete(),
            lists.deadline(),
        )
    }

    #[test]
    fn without_catalog_sources_only_cluster_catalogs_are_waited_for() {
        let mut lists = FirstLists::new(false);
        assert_eq!(state(&lists), (false, false, None));
        lists.add_cluster_catalogs(Instant::now());
        assert_eq!(state(&lists), (true, true, None));
    }

    #[test]
    fn lists_are_complete_once_both_kinds_are_known_in_any_order() {
        let now = Instant::now();
        let mut lists = FirstLists::new(true);
        lists.add_catalog_sources();
        assert_eq!(state(&lists), (false, false, None));
        lists.add_cluster_catalogs(now);
        assert_eq!(state(&lists), (true, true, None));

        let mut lists = FirstLists::new(true);
        lists.add_cluster_catalogs(now);
        assert_eq!(state(&lists), (true, false, Some(now + FIRST_ANSWER)));
        lists.add_catalog_sources();
        assert_eq!(state(&lists), (true, true, None));
    }

    #[test]
    fn catalog_sources_are_waited_for_no_longer_than_their_time() {
        let now = Instant::now();
        let mut lists = FirstLists::new(true);
        assert!(!lists.pass_deadline(now + FIRST_ANSWER));
        lists.add_cluster_catalogs(now);
        // A later change of a ClusterCatalog gives no more time.
        lists.add_cluster_catalogs(now + FIRST_ANSWER / 2);
        assert!(!lists.pass_deadline(now + FIRST_ANSWER / 2));
        assert_eq!(state(&lists), (true, false, Some(now + FIRST_ANSWER)));
        assert!(lists.pass_deadline(now + FIRST_ANSWER));
        assert_eq!(state(&lists), (true, true, None));
        assert!(!lists.pass_deadline(now + FIRST_ANSWER));
    }
}
