//! The position of a webhook in the change logs, and the events after it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serving::{Catalogs, ChangeSet};

use crate::MAX_PENDING_EVENTS;

/// Maximum number of catalogs with a position of their own. Those that changed longest ago are
/// forgotten.
const MAX_CATALOGS: usize = 1_000;

/// Times up to which changes were delivered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogPosition {
    /// Time from which on changes of catalogs without a position of their own are delivered.
    since: Option<Timestamp>,
    /// Time of the last change of each catalog that was delivered or dropped.
    catalogs: BTreeMap<String, Timestamp>,
}

/// The events after a position.
pub(crate) struct PendingEvents {
    /// The earliest one.
    pub(crate) first: Option<PendingEvent>,
    /// Number of all, including the first.
    pub(crate) count: usize,
    /// Number of earlier ones that were dropped.
    pub(crate) dropped: usize,
    /// The position, after those that were dropped.
    pub(crate) position: LogPosition,
}

/// A change set that is not delivered.
pub(crate) struct PendingEvent {
    pub(crate) catalog: String,
    pub(crate) set: ChangeSet,
}

impl LogPosition {
    /// Begins now: what a new webhook was not there for is not sent to it.
    pub(crate) fn begin(&mut self) {
        self.since.get_or_insert_with(Timestamp::now);
    }

    /// Advances beyond a change of a catalog.
    pub(crate) fn advance(&mut self, catalog: &str, at: Timestamp) {
        self.catalogs.insert(catalog.to_owned(), at);
        if self.catalogs.len() > MAX_CATALOGS {
            let oldest = self.catalogs.iter().min_by_key(|(_, at)| **at);
            if let Some(name) = oldest.map(|(name, _)| name.clone()) {
                let at = self.catalogs.remove(&name);
                self.since = self.since.max(at);
            }
        }
    }

    /// Finds the events after the position. It reads the change logs of all catalogs.
    pub(crate) fn pending(mut self, catalogs: &Catalogs) -> PendingEvents {
        let snapshot = catalogs.snapshot();
        let mut all = Vec::new();
        for served in snapshot.by_name() {
            let after = self.catalogs.get(&served.name).copied().or(self.since);
            let log = snapshot.change_log(served);
            let sets = log.sets().take_while(|set| Some(set.at) > after);
            let changes = sets.filter(|set| set.from.is_some());
            all.extend(changes.map(|set| (set.at, served)));
        }
        all.sort_by(|(a, first), (b, second)| a.cmp(b).then_with(|| first.name.cmp(&second.name)));
        let dropped = all.len().saturating_sub(MAX_PENDING_EVENTS);
        for (at, served) in &all[..dropped] {
            self.advance(&served.name, *at);
        }
        let first = all.get(dropped).and_then(|(at, served)| {
            let log = snapshot.change_log(served);
            let set = log.sets().find(|set| set.at == *at)?;
            let catalog = served.name.clone();
            Some(PendingEvent { catalog, set })
        });
        PendingEvents {
            first,
            count: all.len() - dropped,
            dropped,
            position: self,
        }
    }
}
