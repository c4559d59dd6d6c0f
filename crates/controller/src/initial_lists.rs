//! Tracks the initial lists of the informers: the replica reconciles once they are complete.

use tokio::time::Instant;

use crate::FIRST_RESPONSE_TIMEOUT;

/// The initial lists that a new replica waits for before it changes the desired catalogs.
#[derive(Clone, Debug)]
pub(crate) struct InitialLists {
    has_cluster_catalogs: bool,
    /// `CatalogSource` objects are enabled and not listed yet.
    awaits_catalog_sources: bool,
    /// Requirements for images are enabled and not known yet.
    awaits_image_policies: bool,
    /// Time at which the replica stops waiting for other objects than `ClusterCatalog`.
    deadline: Option<Instant>,
}

impl InitialLists {
    pub(crate) fn new(catalog_sources: bool, image_policies: bool) -> Self {
        Self {
            has_cluster_catalogs: false,
            awaits_catalog_sources: catalog_sources,
            awaits_image_policies: image_policies,
            deadline: None,
        }
    }

    /// Records that the `ClusterCatalog` objects are listed. The other objects must follow within
    /// [`FIRST_RESPONSE_TIMEOUT`].
    pub(crate) fn add_cluster_catalogs(&mut self, now: Instant) {
        if !self.has_cluster_catalogs {
            self.has_cluster_catalogs = true;
            // The timeout begins here and not at the start, because the API server is known to
            // respond now. A cluster without OLM v0 does not define the kind and never lists it.
            self.deadline = self.awaits_others().then(|| now + FIRST_RESPONSE_TIMEOUT);
        }
    }

    /// Records that the `CatalogSource` objects are listed.
    pub(crate) fn add_catalog_sources(&mut self) {
        self.awaits_catalog_sources = false;
        self.deadline = self.deadline.filter(|_| self.awaits_others());
    }

    /// Records that the requirements for images are known.
    pub(crate) fn add_image_policies(&mut self) {
        self.awaits_image_policies = false;
        self.deadline = self.deadline.filter(|_| self.awaits_others());
    }

    fn awaits_others(&self) -> bool {
        self.awaits_catalog_sources || self.awaits_image_policies
    }

    /// Returns whether the `ClusterCatalog` objects are listed.
    pub(crate) fn has_cluster_catalogs(&self) -> bool {
        self.has_cluster_catalogs
    }

    /// Returns whether all enabled kinds are listed, or have timed out.
    pub(crate) fn is_complete(&self) -> bool {
        self.has_cluster_catalogs && !self.awaits_others()
    }

    /// Returns the time at which to call [`Self::pass_deadline`]; `None` if there is no timeout.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Stops waiting if the deadline has passed. Returns the kinds that are not known by then, if it
    /// has just passed.
    pub(crate) fn pass_deadline(&mut self, now: Instant) -> Option<Vec<&'static str>> {
        self.deadline.filter(|deadline| *deadline <= now)?;
        let sources = self.awaits_catalog_sources.then_some("CatalogSource");
        let policies = self.awaits_image_policies;
        let policies = policies.then_some("ClusterImagePolicy or ImagePolicy");
        self.add_catalog_sources();
        self.add_image_policies();
        Some(sources.into_iter().chain(policies).collect())
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
        let mut initial_lists = InitialLists::new(false, false);
        assert_eq!(state(&initial_lists), (false, false, None));
        initial_lists.add_cluster_catalogs(Instant::now());
        assert_eq!(state(&initial_lists), (true, true, None));
    }

    #[test]
    fn lists_are_complete_once_both_kinds_are_known_in_any_order() {
        let now = Instant::now();
        let mut initial_lists = InitialLists::new(true, false);
        initial_lists.add_catalog_sources();
        assert_eq!(state(&initial_lists), (false, false, None));
        initial_lists.add_cluster_catalogs(now);
        assert_eq!(state(&initial_lists), (true, true, None));

        let mut initial_lists = InitialLists::new(true, false);
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
        let mut initial_lists = InitialLists::new(true, false);
        let passed = initial_lists.pass_deadline(now + FIRST_RESPONSE_TIMEOUT);
        assert_eq!(passed, None);
        initial_lists.add_cluster_catalogs(now);
        // A later change of a ClusterCatalog gives no more time.
        initial_lists.add_cluster_catalogs(now + FIRST_RESPONSE_TIMEOUT / 2);
        let passed = initial_lists.pass_deadline(now + FIRST_RESPONSE_TIMEOUT / 2);
        assert_eq!(passed, None);
        assert_eq!(
            state(&initial_lists),
            (true, false, Some(now + FIRST_RESPONSE_TIMEOUT))
        );
        let passed = initial_lists.pass_deadline(now + FIRST_RESPONSE_TIMEOUT);
        assert_eq!(passed, Some(vec!["CatalogSource"]));
        assert_eq!(state(&initial_lists), (true, true, None));
        let passed = initial_lists.pass_deadline(now + FIRST_RESPONSE_TIMEOUT);
        assert_eq!(passed, None);
    }

    #[test]
    fn requirements_for_images_are_waited_for_as_long() {
        let now = Instant::now();
        let mut initial_lists = InitialLists::new(true, true);
        initial_lists.add_cluster_catalogs(now);
        initial_lists.add_catalog_sources();
        let deadline = now + FIRST_RESPONSE_TIMEOUT;
        assert_eq!(state(&initial_lists), (true, false, Some(deadline)));
        let passed = initial_lists.clone().pass_deadline(deadline);
        assert_eq!(passed, Some(vec!["ClusterImagePolicy or ImagePolicy"]));
        initial_lists.add_image_policies();
        assert_eq!(state(&initial_lists), (true, true, None));
    }
}
