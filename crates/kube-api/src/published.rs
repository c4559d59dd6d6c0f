//! The published set as objects of the API: which there are, and the resource version at which each last changed.
//!
//! One task follows what is served ([`follow`]) and alone makes revisions. Each state has a range of them, in which each object
//! that changed has one of its own, and so has each that was deleted: a watch goes on behind any event. Requests take a
//! state, which never changes. The objects of a kind are listed when somebody first asks for them, and compared at each change
//! from then on.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use serving::{Catalogs, Served, Snapshot};
use sha2::{Digest as _, Sha256};
use tokio::sync::watch;

use crate::chunks::CHUNK_BYTES;
use crate::kind::Kind;
use crate::manifest::CatalogSource;
use crate::remembered::Remembered;
use crate::texts::{TextRoom, Texts};
use crate::version::first_revision;

/// Number of former states that a watch can begin at. An older one is answered with 410, and the client lists again.
pub const FORMER_STATES: usize = 16;

/// How objects are made of contents: other builds may make others.
pub(crate) const FORMAT: &str = env!("CARGO_PKG_VERSION");

/// All objects at one moment.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// First revision of its range.
    first: u64,
    /// Revision of the state: the last one of its range.
    pub(crate) revision: u64,
    /// Number of changes of the published set that it has.
    pub(crate) changes: u64,
    /// By name.
    pub(crate) catalogs: Vec<PublishedCatalog>,
    deletions: Vec<Deletion>,
    /// States before this one, latest first.
    former: Vec<FormerState>,
    remembered: Arc<Remembered>,
}

/// What a catalog had before a state: objects that the state has not were deleted then.
#[derive(Clone, Debug)]
pub(crate) struct Deletion {
    pub(crate) objects: Arc<CatalogObjects>,
    /// Revision at which the first of the objects was deleted, if it was; each has the next one.
    pub(crate) first: u64,
}

/// A catalog with its objects.
#[derive(Clone, Debug)]
pub(crate) struct PublishedCatalog {
    pub(crate) served: Arc<Served>,
    pub(crate) objects: Arc<CatalogObjects>,
    /// Texts of its manifests, shared by catalogs of equal content. Former states do not hold them.
    pub(crate) texts: Arc<Texts>,
}

/// The objects of a former state: their names, labels and hashes, without the content.
#[derive(Clone, Debug)]
pub(crate) struct FormerState {
    first: u64,
    pub(crate) revision: u64,
    pub(crate) catalogs: Vec<Arc<CatalogObjects>>,
    deletions: Vec<Deletion>,
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
    /// Revision at which the first of its objects changed, if it did not keep its own; each has the next one.
    first: u64,
    kinds: [OnceLock<Vec<Listed>>; Kind::ALL.len()],
    /// Revisions that its objects may have kept from before the start: only in the first state, because a watch that knows it would
    /// take later objects with former revisions for known.
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
        let (snapshot, before) = (catalogs.published(), states.borrow().clone());
        let (namespace, room) = (Arc::clone(&global_namespace), room.clone());
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
        Self { remembered: Arc::new(remembered), ..Self::default() }
    }

    /// Returns the state of a snapshot. Its revision is that of `self` if no object changed.
    fn next(&self, snapshot: &Snapshot, changes: u64, global_namespace: &str, room: &TextRoom) -> Self {
        let first = first_revision(Timestamp::now(), self.revision.max(self.remembered.last()));
        let remembered = &self.remembered;
        let (mut revision, mut deletions, mut catalogs) = (first, Vec::new(), Vec::<PublishedCatalog>::new());
        for served in snapshot.by_name() {
            let before = self.catalogs.iter().find(|catalog| catalog.served.name == served.name);
            let same = before.filter(|before| before.served.revision() == served.revision());
            let digest = served.content.digest;
            let equal = self.catalogs.iter().chain(&catalogs).find(|other| other.served.content.digest == digest);
            let texts = equal.map_or_else(|| Texts::new(room), |equal| Arc::clone(&equal.texts));
            let new = || {
                let remembered = (self.revision == 0).then(|| Arc::clone(remembered));
                let objects = CatalogObjects::new(served, global_namespace, (revision, &texts), before);
                Arc::new(CatalogObjects { remembered, ..objects })
            };
            let objects = same.map_or_else(new, |same| Arc::clone(&same.objects));
            let catalog = PublishedCatalog { served: Arc::clone(served), objects, texts };
            catalog.list_remembered();
            if same.is_none() {
                revision += catalog.max_objects();
                revision += before.map_or(0, |before| before.delete(revision, &mut deletions));
            }
            catalogs.push(catalog);
        }
        for before in self.catalogs.iter().filter(|before| snapshot.get(&before.served.name).is_none()) {
            revision += before.delete(revision, &mut deletions);
        }
        if revision == first && self.revision > 0 {
            let (deletions, former) = (self.deletions.clone(), self.former.clone());
            let (first, revision, remembered) = (self.first, self.revision, Arc::clone(remembered));
            return Self { first, revision, changes, catalogs, deletions, former, remembered };
        }
        let mut former = self.former.clone();
        if self.revision > 0 {
            let Self { first, revision, deletions, .. } = self;
            let (first, revision, deletions) = (*first, *revision, deletions.clone());
            former.insert(0, FormerState { first, revision, catalogs: self.objects(), deletions });
            former.truncate(FORMER_STATES);
        }
        Self { first, revision, changes, catalogs, deletions, former, remembered: Arc::clone(remembered) }
    }

    /// Returns whether it or a former state has this revision in its range: clients know no others of this process. Other processes
    /// have ranges of their own.
    pub(crate) fn has_issued(&self, revision: u64) -> bool {
        let own = [(self.first, self.revision)];
        let former = self.former.iter().map(|former| (former.first, former.revision));
        own.into_iter().chain(former).any(|(first, last)| (first..=last).contains(&revision))
    }

    /// Returns what was deleted after a revision, each with the catalogs of the state in which it was.
    pub(crate) fn deletions_after(
        &self,
        revision: u64,
    ) -> impl Iterator<Item = (&Deletion, Vec<&Arc<CatalogObjects>>)> {
        let own = self.catalogs.iter().map(|catalog| &catalog.objects);
        let own = (self.revision, &self.deletions, own.collect::<Vec<_>>());
        let former = self
            .former
            .iter()
            .map(|former| (former.revision, &former.deletions, former.catalogs.iter().collect::<Vec<_>>()));
        let later = [own].into_iter().chain(former).filter(move |(last, ..)| *last > revision);
        later.flat_map(|(_, deletions, catalogs)| deletions.iter().map(move |deletion| (deletion, catalogs.clone())))
    }

    /// Returns the revision and the objects of the latest state that is like this, of itself and the former ones.
    pub(crate) fn find_state(
        &self,
        is_it: impl Fn(&[Arc<CatalogObjects>]) -> bool,
    ) -> Option<(u64, Vec<Arc<CatalogObjects>>)> {
        let own = std::iter::once_with(|| (self.revision, self.objects()));
        let former = self.former.iter().map(|former| (former.revision, former.catalogs.clone()));
        own.chain(former).find(|(_, catalogs)| is_it(catalogs))
    }

    /// Returns the former state in effect at a revision; `None` if it is too old.
    pub(crate) fn former_at(&self, revision: u64) -> Option<&FormerState> {
        self.former.iter().find(|former| former.revision <= revision)
    }

    /// Returns the oldest revision at which a watch can begin.
    pub(crate) fn oldest(&self) -> u64 {
        self.former.last().map_or(self.revision, |former| former.revision)
    }

    /// Returns the objects of its catalogs.
    pub(crate) fn objects(&self) -> Vec<Arc<CatalogObjects>> {
        self.catalogs.iter().map(|catalog| Arc::clone(&catalog.objects)).collect()
    }

    /// Returns the texts that are long enough to be compressed, and are not, of the catalogs that a request sees.
    pub(crate) fn not_deflated(&self, sees: impl Fn(&CatalogObjects) -> bool) -> Vec<Arc<Texts>> {
        let texts = self.catalogs.iter().filter(|catalog| sees(&catalog.objects)).map(|catalog| &catalog.texts);
        texts.filter(|texts| !texts.is_deflated(CHUNK_BYTES)).cloned().collect()
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
        self.catalogs.iter().all(|catalog| catalog.objects.known(kind).is_some())
    }
}

impl PublishedCatalog {
    /// Returns the objects of a kind, sorted by name; lists them if that has not been done.
    pub(crate) fn listed(&self, kind: Kind) -> &[Listed] {
        let CatalogObjects { kinds, source, first, catalog, remembered, .. } = &*self.objects;
        kinds[kind as usize].get_or_init(|| {
            let mut listed = list(kind, &self.served, source, &self.texts, *first);
            if let Some(remembered) = remembered {
                remembered.restore(catalog, kind, &mut listed);
            }
            listed
        })
    }

    /// Lists the kinds that clients asked for before the start: they go on from this state, also if the next one is there when
    /// they come back.
    fn list_remembered(&self) {
        let Some(remembered) = &self.objects.remembered else { return };
        for kind in Kind::ALL.into_iter().filter(|kind| remembered.has(&self.objects.catalog, *kind)) {
            self.listed(kind);
        }
    }

    /// Returns how many objects of one kind there may be, at least one.
    fn max_objects(&self) -> u64 {
        let catalog = &self.served.content.catalog;
        let objects = catalog.meta_count() + catalog.packages().len() + catalog.bundles().len();
        u64::try_from(objects).unwrap_or(u64::MAX / 2).max(1)
    }

    /// Adds its objects to those that may have been deleted from this revision on. Returns how many there may be.
    fn delete(&self, first: u64, deletions: &mut Vec<Deletion>) -> u64 {
        deletions.push(Deletion { objects: Arc::clone(&self.objects), first });
        self.max_objects()
    }
}

impl CatalogObjects {
    /// Lists the kinds that are listed in the former state of the catalog. Objects that did not change keep their
    /// revisions; the others have theirs from `first` on.
    fn new(
        served: &Served,
        global_namespace: &str,
        (first, texts): (u64, &Texts),
        before: Option<&PublishedCatalog>,
    ) -> Self {
        let source = catalog_source(served, global_namespace);
        let kinds = Kind::ALL.map(|kind| {
            let cell = OnceLock::new();
            if let Some((before, known)) = before.and_then(|before| Some((before, before.objects.known(kind)?))) {
                let listed = list(kind, served, &source, texts, first);
                let is_same = before.objects.source == source;
                let _ = cell.set(if is_same { keep_unchanged(listed, known) } else { listed });
            }
            cell
        });
        let (priority, catalog) = (served.metadata.priority, served.name.clone());
        let facts = format!("{FORMAT}{catalog:?}{:?}{source:?}{priority}", served.content.digest);
        let fingerprint = hash_parts([facts.as_bytes()]);
        Self { source, priority, catalog, fingerprint, first, kinds, remembered: None }
    }

    /// Returns whether its objects may have revisions from before the start.
    pub(crate) fn remembers(&self) -> bool {
        self.remembered.is_some()
    }

    /// Finds an object of a kind, if they are listed.
    pub(crate) fn find(&self, kind: Kind, name: &str) -> Option<&Listed> {
        let known = self.known(kind)?;
        let at = known.binary_search_by(|listed| listed.object.name.as_str().cmp(name)).ok()?;
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

/// Lists the objects of a kind, each at a revision of its own from `first` on.
fn list(kind: Kind, served: &Served, source: &CatalogSource, texts: &Texts, first: u64) -> Vec<Listed> {
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
        while before.next_if(|former| former.object.name < object.name).is_some() {}
        let same =
            before.peek().filter(|former| former.object.name == object.name && former.object.hash == object.hash);
        if let Some(former) = same {
            *object = Arc::clone(&former.object);
        }
    }
    listed
}

/// Returns what stands for the `CatalogSource` of a catalog: the object itself, or values of its `ClusterCatalog` or of
/// the configuration.
fn catalog_source(served: &Served, global_namespace: &str) -> CatalogSource {
    let metadata = &served.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or(global_namespace);
    // Catalogs of `CatalogSources` are served as NAMESPACE.NAME.
    let own = metadata.namespace.as_deref().and_then(|own| served.name.strip_prefix(own)?.strip_prefix('.'));
    let name = own.unwrap_or(&served.name);
    let is_shown = |key: &str| {
        let prefix = key.split_once('/').map_or("", |(prefix, _)| prefix);
        !["kubernetes.io", "catalogql.io"].iter().any(|domain| prefix.ends_with(domain))
            && key != "olm.operatorframework.io/metadata.name"
    };
    CatalogSource {
        name: name.to_owned(),
        namespace: namespace.to_owned(),
        display_name: metadata.display_name.clone().unwrap_or_default(),
        publisher: metadata.publisher.clone().unwrap_or_default(),
        labels: metadata.labels.iter().filter(|(key, _)| is_shown(key)).map(|(k, v)| (k.clone(), v.clone())).collect(),
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
    hash.finalize()[..16].try_into().expect("a digest has 32 bytes")
}
