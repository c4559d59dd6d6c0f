//! Revisions of objects, remembered for the next start: objects that are as they were keep theirs,
//! so that clients that list again see which have changed.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::kind::Kind;
use crate::published::{FORMAT, Listed, Published};

/// Where revisions are kept between one start and the next.
pub trait VersionFile: Send + Sync {
    /// Returns what was written last; `None` if there is nothing.
    fn read(&self) -> Option<Vec<u8>>;

    /// Replaces it as a whole. What fails is for the file to report: the API works without.
    fn write(&self, bytes: &[u8]);
}

/// What was remembered at the start, and where it is remembered.
#[derive(Default)]
pub(crate) struct Remembered {
    revisions: Revisions,
    file: Option<Arc<dyn VersionFile>>,
    /// Revision of the state that was written last.
    written: Mutex<u64>,
}

/// The objects of a catalog by kind: name, hash and revision, sorted by name.
type Kinds = BTreeMap<String, Vec<(String, u64, u64)>>;

/// The content of the file, as JSON.
#[derive(Default, Deserialize, Serialize)]
struct Revisions {
    /// The build that wrote it. Others may make other objects of the same contents.
    format: String,
    /// The last revision.
    last: u64,
    catalogs: BTreeMap<String, Kinds>,
}

impl Remembered {
    /// Reads a file. Of one that is damaged, or was written by another build, only the last
    /// revision counts.
    pub(crate) fn open(file: Option<Arc<dyn VersionFile>>) -> Self {
        let read = file.as_ref().and_then(|file| file.read());
        let mut revisions: Revisions = read
            .and_then(|json| serde_json::from_slice(&json).ok())
            .unwrap_or_default();
        if revisions.format != FORMAT {
            revisions.catalogs.clear();
        }
        Self {
            revisions,
            file,
            written: Mutex::default(),
        }
    }

    /// Returns the last revision before the start.
    pub(crate) fn last(&self) -> u64 {
        self.revisions.last
    }

    /// Whether the objects of a kind were listed before the start.
    pub(crate) fn has(&self, catalog: &str, kind: Kind) -> bool {
        self.revisions.of(catalog, kind).is_some()
    }

    /// Gives objects that are as they were the revisions that they had.
    pub(crate) fn restore(&self, catalog: &str, kind: Kind, listed: &mut [Listed]) {
        let Some(known) = self.revisions.of(catalog, kind) else {
            return;
        };
        for object in listed
            .iter_mut()
            .filter_map(|listed| Arc::get_mut(&mut listed.object))
        {
            if let Ok(at) = known.binary_search_by(|(name, ..)| name.as_str().cmp(&object.name)) {
                let (_, hash, revision) = known[at];
                object.revision = if hash == object.hash {
                    revision
                } else {
                    object.revision
                };
            }
        }
    }

    /// Writes the revisions of a state, unless those of a later one are written.
    pub(crate) fn write(&self, state: &Published) {
        let Some(file) = &self.file else { return };
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if state.revision < *written {
            return;
        }
        *written = state.revision;
        let objects = state.objects();
        let catalogs = objects.iter().map(|objects| {
            let kinds = Kind::ALL.into_iter().filter_map(|kind| {
                let listed = objects.known(kind).map(|listed| {
                    let object = |Listed { object, .. }: &Listed| {
                        (object.name.clone(), object.hash, object.revision)
                    };
                    listed.iter().map(object).collect::<Vec<_>>()
                });
                // What nobody has asked for yet may be asked for after the next start.
                let known = || {
                    objects
                        .remembers()
                        .then(|| self.revisions.of(&objects.catalog, kind).cloned())
                        .flatten()
                };
                Some((kind.name().to_owned(), listed.or_else(known)?))
            });
            (objects.catalog.clone(), kinds.collect())
        });
        let revisions = Revisions {
            format: FORMAT.to_owned(),
            last: state.revision,
            catalogs: catalogs.collect(),
        };
        if let Ok(json) = serde_json::to_vec(&revisions) {
            file.write(&json);
        }
    }
}

impl Revisions {
    fn of(&self, catalog: &str, kind: Kind) -> Option<&Vec<(String, u64, u64)>> {
        self.catalogs.get(catalog)?.get(kind.name())
    }
}

impl fmt::Debug for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remembered")
            .field("last", &self.revisions.last)
            .finish_non_exhaustive()
    }
}
