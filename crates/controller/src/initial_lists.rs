//! Tracks the initial lists of the informers: the replica reconciles once they are complete.

use tokio::time::Instant;

use crate::FIRST_RESPONSE_TIMEOUT;

/// The initial lists that a new replica waits for before it changes the desired catalogs.
#[derive(Debug)]
pub(crate) struct InitialLists {
    has_cluster_catalogs: bool,
    /// `CatalogSource` objects are enabled and not listed yet.
    awaits_catalog_sources: bool,
    /// Time at which the replica stops waiting for `CatalogSource` objects.
    deadline: Option<Instant>,
}

impl InitialLists {
    pub(crate) fn new(catalog_sources: bool) -> Self {
        Self {
            has_cluster_catalogs: false,
            awaits_catalog_sources: catalog_sources,
            deadline: None,
        }
    }

    /// Records that the `ClusterCatalog` objects are listed. The `CatalogSource` objects must follow
    /// within [`FIRST_RESPONSE_TIMEOUT`].
    pub(crate) fn add_cluster_catalogs(&mut self, now: Instant) {
        if !self.has_cluster_catalogs {
            self.has_cluster_catalogs = true;
            // The timeout begins here and not at the start, because the API server is known to
            // respond now. A cluster without OLM v0 does not define the kind and never lists it.
            self.deadline = self
                .awaits_catalog_sources
                .then(|| now + FIRST_RESPONSE_TIMEOUT);
        }
    }

    /// Records that the `CatalogSource` objects are listed.
    pub(crate) fn add_catalog_sources(&mut self) {
        self.awaits_catalog_sources = false;
        self.deadline = None;
    }

    /// Returns whether the `ClusterCatalog` objects are listed.
    pub(crate) fn has_cluster_catalogs(&self) -> bool {
        self.has_cluster_catalogs
    }

    /// Returns whether all enabled kinds are listed, or have timed out.
    pub(crate) fn is_complete(&self) -> bool {
        self.has_cluster_catalogs && !self.awaits_catalog_sources
    }

    /// Returns the time at which to call [`Self::pass_deadline`]; `None` if there is no timeout.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Stops waiting for the `CatalogSource` objects if their deadline has passed. Returns whether it
    /// has just passed.
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

    /// Returns whether the `ClusterCatalog` objects are listed, whether all are, and the deadline.
    fn state(initial_lists: &InitialLists) -> (bool, bool, Option<Instant>) {
        (
            initial_lists.has_cluster_catalogs(),
            initial_lists.is_complete(),
            initial_lists.deadline(),
        )
    }

    #[test]
    fn without_catalog_sources_only_cluster_catalogs_are_waited_for() {
        let mut initial_lists = InitialLists::new(false);
        assert_eq!(state(&initial_lists), (false, false, None));
        initial_lists.add_cluster_catalogs(Instant::now());
        assert_eq!(state(&initial_lists), (true, true, None));
    }

    #[test]
    fn lists_are_complete_once_both_kinds_are_known_in_any_order() {
        let now = Instant::now();
        let mut initial_lists = InitialLists::new(true);
        initial_lists.add_catalog_sources();
        assert_eq!(state(&initial_lists), (false, false, None));
        initial_lists.add_cluster_catalogs(now);
        assert_eq!(state(&initial_lists), (true, true, None));

        let mut initial_lists = InitialLists::new(true);
        initial_lists.add_cluster_catalogs(now);
        assert_eq!(
            state(&initial_lists),
            (true, false, Some(now + FIRST_RESPONSE_TIMEOUT))
        );
        initial_lists.add_catalog_sources();
        assert_eq!(state(&initial_lists), (true, true, None));
    }

    #[test]
    fn catalog_sources_are_waited_for_no_longer_than_their_time() {
        let now = Instant::now();
        let mut initial_lists = InitialLists::new(true);
        assert!(!initial_lists.pass_deadline(now + FIRST_RESPONSE_TIMEOUT));
        initial_lists.add_cluster_catalogs(now);
        // A later change of a ClusterCatalog gives no more time.
        initial_lists.add_cluster_catalogs(now + FIRST_RESPONSE_TIMEOUT / 2);
        assert!(!initial_lists.pass_deadline(now + FIRST_RESPONSE_TIMEOUT / 2));
        assert_eq!(
            state(&initial_lists),
            (true, false, Some(now + FIRST_RESPONSE_TIMEOUT))
        );
        assert!(initial_lists.pass_deadline(now + FIRST_RESPONSE_TIMEOUT));
        assert_eq!(state(&initial_lists), (true, true, None));
        assert!(!initial_lists.pass_deadline(now + FIRST_RESPONSE_TIMEOUT));
    }
}
