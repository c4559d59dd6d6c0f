//! Readiness of a replica, which `/readyz` reports: it is ready once each desired catalog is loaded,
//! or its first load has failed or timed out.

use std::collections::BTreeMap;
use std::time::Duration;

use serving::CatalogName;
use tokio::time::Instant;

/// Progress of loading a desired catalog, as far as readiness depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadState {
    /// The replica has content to serve.
    pub(crate) has_content: bool,
    /// An attempt to load the catalog has ended.
    pub(crate) has_failed: bool,
    /// The object has the condition `Serving=True`, which another replica has written.
    pub(crate) is_served_elsewhere: bool,
}

/// The readiness of a replica. Once ready, it stays ready.
#[derive(Debug)]
pub(crate) struct Readiness {
    ready_after: Duration,
    is_ready: bool,
    /// First time at which each catalog that is not loaded was desired.
    since: BTreeMap<CatalogName, Instant>,
}

impl Readiness {
    pub(crate) fn new(ready_after: Duration) -> Self {
        Self {
            ready_after,
            is_ready: false,
            since: BTreeMap::new(),
        }
    }

    /// Updates the state of all desired catalogs. Returns whether the replica has just become ready.
    pub(crate) fn update(
        &mut self,
        catalogs: impl Iterator<Item = (CatalogName, LoadState)>,
        now: Instant,
    ) -> bool {
        // If another replica serves the catalog, one failure here is no reason to become ready
        // without it: clients would get it from one replica and not from the other.
        let late = catalogs.filter(|(_, attempted)| {
            !attempted.has_content && (!attempted.has_failed || attempted.is_served_elsewhere)
        });
        self.since = late
            .map(|(name, _)| (name.clone(), self.since.get(&name).copied().unwrap_or(now)))
            .collect();
        if self.is_ready {
            return false;
        }
        self.is_ready = self
            .since
            .values()
            .all(|since| now.duration_since(*since) >= self.ready_after);
        for catalog in self.since.keys().filter(|_| self.is_ready) {
            let waited_seconds = self.ready_after.as_secs();
            tracing::warn!(%catalog, waited_seconds, "first load takes long, serving the other catalogs meanwhile");
        }
        self.is_ready
    }

    /// Returns the catalogs that are not loaded yet.
    pub(crate) fn late(&self) -> Vec<CatalogName> {
        self.since.keys().cloned().collect()
    }

    /// Returns the time at which the replica becomes ready without further events; `None` if it is
    /// ready, or all catalogs are loaded.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let last = self.since.values().max()?;
        (!self.is_ready).then(|| *last + self.ready_after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_mins(2);

    fn attempted(has_content: bool, has_failed: bool, is_served_elsewhere: bool) -> LoadState {
        LoadState {
            has_content,
            has_failed,
            is_served_elsewhere,
        }
    }

    #[test]
    fn a_replica_is_ready_when_each_catalog_is_loaded_or_failed_or_out_of_time() {
        // Content, failed, served elsewhere → ready at once.
        let cases = [
            (attempted(true, false, false), true),
            (attempted(true, true, true), true),
            (attempted(false, true, false), true),
            (attempted(false, false, false), false),
            (attempted(false, false, true), false),
            // Another replica has it: one failure is no reason to take requests without it.
            (attempted(false, true, true), false),
        ];
        for (state, expected) in cases {
            let now = Instant::now();
            let mut readiness = Readiness::new(LIMIT);
            let all = || [(CatalogName::new("a").unwrap(), state)].into_iter();
            assert_eq!(readiness.update(all(), now), expected, "{state:?}");
            assert_eq!(
                readiness.deadline(),
                (!expected).then(|| now + LIMIT),
                "{state:?}"
            );
            assert!(!readiness.update(all(), now + LIMIT / 2), "{state:?}");
            assert_eq!(readiness.update(all(), now + LIMIT), !expected, "{state:?}");
        }
    }

    #[test]
    fn a_replica_without_catalogs_is_ready_and_stays_so() {
        let now = Instant::now();
        let mut readiness = Readiness::new(LIMIT);
        assert!(readiness.update([].into_iter(), now));
        let late = [(
            CatalogName::new("a").unwrap(),
            attempted(false, false, false),
        )];
        assert!(!readiness.update(late.into_iter(), now));
        assert_eq!(readiness.deadline(), None);
    }
}
