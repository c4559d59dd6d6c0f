//! The published set as objects of the API: which there are, and the resource version at which each
//! last changed.
//!
//! One task follows what is served ([`follow`]) and alone makes revisions. Each change of a catalog
//! has a range of them, in which each object that changed has one of its own, and so has each that
//! was deleted: a watch goes on behind any event. Where a range begins depends on no other catalog,
//! and what others have is no part of it. Requests take a state, which never changes. The objects
//! of a kind are listed when somebody first asks for them, and compared at each change from then
//! on.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use serving::{Catalogs, Served, Snapshot};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::chunks::CHUNK_BYTES;
use crate::history::{CatalogState, History};
use crate::kind::Kind;
use crate::manifest::CatalogSource;
use crate::remembered::Remembered;
use crate::texts::{TextRoom, Texts};
use crate::version::{revision_before, spread};
use crate::watching::MAX_WATCH_TIME;

/// How objects are made of contents: other builds may make others.
pub(crate) const FORMAT: &str = env!("CARGO_PKG_VERSION");

/// All objects at one moment.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// Revision of the state; those of the changes that led to it are lower.
    pub(crate) revision: u64,
    /// Number of changes of the published set that it has.
    pub(crate) changes: u64,
    /// By name.
    pub(crate) catalogs: Vec<PublishedCatalog>,
    pub(crate) history: History,
    remembered: Arc<Remembered>,
}

/// A catalog that changes, and the revisions of that, as [`CatalogState`] has them.
struct Change<'s> {
    catalog: &'s str,
    first: u64,
    deletions: u64,
    end: u64,
}

/// A catalog with its objects.
#[derive(Clone, Debug)]
pub(crate) struct PublishedCatalog {
    pub(crate) served: Arc<Served>,
    pub(crate) objects: Arc<CatalogObjects>,
    /// Texts of its manifests, shared by catalogs of equal content. Former states do not hold them.
    pub(crate) texts: Arc<Texts>,
}

/// The objects of a catalog, by kind.
#[derive(Debug)]
pub(crate) struct CatalogObjects {
    pub(crate) source: CatalogSource,
    pub(crate) priority: i32,
    /// Name under which the catalog is served.
    pub(crate) catalog: String,
    /// Of everything that its objects show.
    pub(crate) fingerprint: [u8; 16],
    /// Revision at which the first of its objects changed, if it did not keep its own; each has the
    /// next one.
    first: u64,
    kinds: [OnceLock<Vec<Listed>>; Kind::ALL.len()],
    /// Revisions that its objects may have kept from before the start: only in the first state,
    /// because a watch that knows it would take later objects with former revisions for known.
    remembered: Option<Arc<Remembered>>,
}

/// An object in the list of its kind, which is sorted by name.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// Index of what the object is about among the packages, bundles or blobs of its catalog.
    pub(crate) place: usize,
    pub(crate) object: Arc<Object>,
}

/// What is known of an object beside its text.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    /// Values by which it is selected or shown in tables, by field.
    pub(crate) fields: Vec<(&'static str, String)>,
    /// The first bytes of the SHA-256 of everything that the object shows.
    pub(crate) hash: u64,
    /// Revision at which it last changed.
    pub(crate) revision: u64,
}

/// Publishes a state for each change of what is served, until the program ends.
pub(crate) async fn follow(
    catalogs: Catalogs,
    (global_namespace, room): (Arc<str>, TextRoom),
    states: watch::Sender<Arc<Published>>,
) {
    let mut changes = catalogs.changes();
    loop {
        let count = *changes.borrow_and_update();
        let snapshot = catalogs.published();
        let before = states.borrow().clone();
        let namespace = Arc::clone(&global_namespace);
        let room = room.clone();
        // Objects of a large catalog take a while to compare.
        let next = tokio::task::spawn_blocking(move || {
            let next = before.next(&snapshot, count, &namespace, &room);
            next.remembered.write(&next);
            next
        });
        let next = next.await;
        if let Ok(next) = next {
            states.send_replace(Arc::new(next));
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}

impl Published {
    /// Returns what there is before the first state.
    pub(crate) fn new(remembered: Remembered) -> Self {
        Self {
            remembered: Arc::new(remembered),
            ..Self::default()
        }
    }

    /// Returns the state of a snapshot. Its revision is that of `self` if no catalog changed.
    fn next(
        &self,
        snapshot: &Snapshot,
        count: u64,
        global_namespace: &str,
        room: &TextRoom,
    ) -> Self {
        let (changes, revision) = self.changes(snapshot);
        let remembered = (self.revision == 0).then(|| Arc::clone(&self.remembered));
        let mut catalogs = Vec::<PublishedCatalog>::new();
        for served in snapshot.by_name() {
            let before = self.find(&served.name);
            let digest = served.content.digest;
            let equal = self
                .catalogs
                .iter()
                .chain(&catalogs)
                .find(|other| other.served.content.digest == digest);
            let texts = equal.map_or_else(|| Texts::new(room), |equal| Arc::clone(&equal.texts));
            let change = changes.iter().find(|change| change.catalog == served.name);
            let objects = match (change, before) {
                (None, Some(same)) => Arc::clone(&same.objects),
                (change, before) => {
                    let first = change.map_or(revision, |change| change.first);
                    let objects =
                        CatalogObjects::new(served, global_namespace, (first, &texts), before);
                    Arc::new(CatalogObjects {
                        remembered: remembered.clone(),
                        ..objects
                    })
                }
            };
            let catalog = PublishedCatalog {
                served: Arc::clone(served),
                objects,
                texts,
            };
            catalog.list_remembered();
            catalogs.push(catalog);
        }
        let mut history = if self.revision == 0 {
            History::new(revision)
        } else {
            self.history.clone()
        };
        for Change {
            catalog,
            first,
            deletions,
            end,
        } in changes
        {
            let objects = catalogs
                .iter()
                .find(|published| published.served.name == catalog);
            let objects = objects.map(|published| Arc::clone(&published.objects));
            history.push(
                catalog,
                CatalogState {
                    first,
                    deletions,
                    end,
                    revision,
                    objects,
                },
            );
        }
        history.forget_gone(revision_before(revision, MAX_WATCH_TIME));
        Self {
            revision,
            changes: count,
            catalogs,
            history,
            remembered: Arc::clone(&self.remembered),
        }
    }

    /// Returns the changes that lead to a snapshot, and the revision of its state.
    fn changes<'s>(&'s self, snapshot: &'s Snapshot) -> (Vec<Change<'s>>, u64) {
        let size = |catalog: &PublishedCatalog| max_objects(&catalog.served);
        let is_same = |served: &Served| {
            self.find(&served.name)
                .is_some_and(|before| before.served.revision() == served.revision())
        };
        let new = snapshot.by_name().filter(|served| !is_same(served));
        let new = new.map(|served| (&*served.name, max_objects(served)));
        let names = self.catalogs.iter().map(|catalog| &*catalog.served.name);
        let gone = names
            .filter(|name| snapshot.get(name).is_none())
            .map(|name| (name, 0));
        let all: Vec<_> = new
            .chain(gone)
            .map(|(name, now)| (name, now, self.find(name).map_or(0, size)))
            .collect();
        if all.is_empty() && self.revision > 0 {
            return (Vec::new(), self.revision);
        }
        let sizes: Vec<_> = all.iter().map(|(_, now, before)| now + before).collect();
        let (ranges, revision) = spread(
            Timestamp::now(),
            self.revision.max(self.remembered.last()),
            &sizes,
        );
        let changes = all
            .into_iter()
            .zip(ranges)
            .map(|((catalog, now, before), first)| {
                let deletions = first + now;
                Change {
                    catalog,
                    first,
                    deletions,
                    end: deletions + before,
                }
            });
        (changes.collect(), revision)
    }

    fn find(&self, catalog: &str) -> Option<&PublishedCatalog> {
        self.catalogs
            .iter()
            .find(|known| known.served.name == catalog)
    }

    /// Returns the objects of its catalogs.
    pub(crate) fn objects(&self) -> Vec<Arc<CatalogObjects>> {
        self.catalogs
            .iter()
            .map(|catalog| Arc::clone(&catalog.objects))
            .collect()
    }

    /// Returns the texts that are long enough to be compressed, and are not, of the catalogs that a
    /// request sees.
    pub(crate) fn not_deflated(&self, sees: impl Fn(&CatalogObjects) -> bool) -> Vec<Arc<Texts>> {
        let texts = self
            .catalogs
            .iter()
            .filter(|catalog| sees(&catalog.objects))
            .map(|catalog| &catalog.texts);
        texts
            .filter(|texts| !texts.is_deflated(CHUNK_BYTES))
            .cloned()
            .collect()
    }

    /// Lists the objects of a kind, where that has not been done.
    pub(crate) fn prepare(&self, kind: Kind) {
        for catalog in &self.catalogs {
            catalog.listed(kind);
        }
        self.remembered.write(self);
    }

    /// Returns whether the objects of a kind are listed.
    pub(crate) fn is_prepared(&self, kind: Kind) -> bool {
        self.catalogs
            .iter()
            .all(|catalog| catalog.objects.known(kind).is_some())
    }
}

impl PublishedCatalog {
    /// Returns the objects of a kind, sorted by name; lists them if that has not been done.
    pub(crate) fn listed(&self, kind: Kind) -> &[Listed] {
        let CatalogObjects {
            kinds,
            source,
            first,
            catalog,
            remembered,
            ..
        } = &*self.objects;
        kinds[kind as usize].get_or_init(|| {
            let mut listed = list(kind, &self.served, source, &self.texts, *first);
            if let Some(remembered) = remembered {
                remembered.restore(catalog, kind, &mut listed);
            }
            listed
        })
    }

    /// Lists the kinds that clients asked for before the start: they go on from this state, also if
    /// the next one is there when they come back.
    fn list_remembered(&self) {
        let Some(remembered) = &self.objects.remembered else {
            return;
        };
        for kind in Kind::ALL
            .into_iter()
            .filter(|kind| remembered.has(&self.objects.catalog, *kind))
        {
            self.listed(kind);
        }
    }
}

impl CatalogObjects {
    /// Lists the kinds that are listed in the former state of the catalog. Objects that did not
    /// change keep their revisions; the others have theirs from `first` on.
    fn new(
        served: &Served,
        global_namespace: &str,
        (first, texts): (u64, &Texts),
        before: Option<&PublishedCatalog>,
    ) -> Self {
        let source = catalog_source(served, global_namespace);
        let kinds = Kind::ALL.map(|kind| {
            let cell = OnceLock::new();
            if let Some((before, known)) =
                before.and_then(|before| Some((before, before.objects.known(kind)?)))
            {
                let listed = list(kind, served, &source, texts, first);
                let is_same = before.objects.source == source;
                let _ = cell.set(if is_same {
                    keep_unchanged(listed, known)
                } else {
                    listed
                });
            }
            cell
        });
        let priority = served.metadata.priority;
        let catalog = served.name.clone();
        let facts = format!(
            "{FORMAT}{catalog:?}{:?}{source:?}{priority}",
            served.content.digest
        );
        let fingerprint = hash_parts([facts.as_bytes()]);
        Self {
            source,
            priority,
            catalog,
            fingerprint,
            first,
            kinds,
            remembered: None,
        }
    }

    /// Returns whether its objects may have revisions from before the start.
    pub(crate) fn remembers(&self) -> bool {
        self.remembered.is_some()
    }

    /// Finds an object of a kind, if they are listed.
    pub(crate) fn find(&self, kind: Kind, name: &str) -> Option<&Listed> {
        let known = self.known(kind)?;
        let at = known
            .binary_search_by(|listed| listed.object.name.as_str().cmp(name))
            .ok()?;
        Some(&known[at])
    }

    /// Returns the objects of a kind, if they are listed.
    pub(crate) fn known(&self, kind: Kind) -> Option<&[Listed]> {
        self.kinds[kind as usize].get().map(Vec::as_slice)
    }
}

impl Object {
    /// Returns the value of a field; empty if there is none.
    pub(crate) fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(field, _)| *field == name);
        found.map_or("", |(_, value)| value)
    }
}

/// Returns how many objects of one kind a catalog may have, at least one.
fn max_objects(served: &Served) -> u64 {
    let catalog = &served.content.catalog;
    let objects = catalog.meta_count() + catalog.packages().len() + catalog.bundles().len();
    u64::try_from(objects).unwrap_or(u64::MAX / 4).max(1)
}

/// Lists the objects of a kind, each at a revision of its own from `first` on.
fn list(
    kind: Kind,
    served: &Served,
    source: &CatalogSource,
    texts: &Texts,
    first: u64,
) -> Vec<Listed> {
    let mut listed = kind.list(served, source, texts, first);
    for (revision, Listed { object, .. }) in (first..).zip(&mut listed) {
        if let Some(object) = Arc::get_mut(object) {
            object.revision = revision;
        }
    }
    listed
}

/// Replaces objects by those of before of the same name and hash.
fn keep_unchanged(mut listed: Vec<Listed>, before: &[Listed]) -> Vec<Listed> {
    let mut before = before.iter().peekable();
    for Listed { object, .. } in &mut listed {
        while before
            .next_if(|former| former.object.name < object.name)
            .is_some()
        {}
        let same = before.peek().filter(|former| {
            former.object.name == object.name && former.object.hash == object.hash
        });
        if let Some(former) = same {
            *object = Arc::clone(&former.object);
        }
    }
    listed
}

/// Returns what stands for the `CatalogSource` of a catalog: the object itself, or values of its
/// `ClusterCatalog` or of the configuration.
fn catalog_source(served: &Served, global_namespace: &str) -> CatalogSource {
    let metadata = &served.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or(global_namespace);
    // Catalogs of `CatalogSources` are served as NAMESPACE.NAME.
    let own = metadata
        .namespace
        .as_deref()
        .and_then(|own| served.name.strip_prefix(own)?.strip_prefix('.'));
    let name = own.unwrap_or(&served.name);
    let is_shown = |key: &str| {
        let prefix = key.split_once('/').map_or("", |(prefix, _)| prefix);
        !["kubernetes.io", "catalogql.io"]
            .iter()
            .any(|domain| prefix.ends_with(domain))
            && key != "olm.operatorframework.io/metadata.name"
    };
    CatalogSource {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        display_name: metadata.display_name.clone().unwrap_or_default(),
        publisher: metadata.publisher.clone().unwrap_or_default(),
        labels: metadata
            .labels
            .iter()
            .filter(|(key, _)| is_shown(key))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect(),
        created: metadata.created,
    }
}

/// Returns the first bytes of the SHA-256 of these parts.
pub(crate) fn hash_parts<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> [u8; 16] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..16]
        .try_into()
        .expect("a digest has 32 bytes")
}
