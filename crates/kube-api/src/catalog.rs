//! A published catalog with its objects, which are listed by kind when a client first asks for the
//! kind.

use std::sync::{Arc, OnceLock};

use serving::Served;

use crate::kind::ResourceKind;
use crate::manifest::CatalogSource;
use crate::manifest_cache::ManifestCache;
use crate::object::ObjectEntry;
use crate::reader::ObjectReader;

/// A catalog with its content and its objects.
#[derive(Clone, Debug)]
pub(crate) struct PublishedCatalog {
    pub(crate) served: Arc<Served>,
    pub(crate) objects: Arc<CatalogObjects>,
    /// The rendered manifests, shared by catalogs of equal content.
    pub(crate) manifests: Arc<ManifestCache>,
}

/// The objects of a catalog, by kind, without the content that their text is made from: watches
/// compare former objects, whose content may be gone.
#[derive(Debug)]
pub(crate) struct CatalogObjects {
    pub(crate) source: CatalogSource,
    pub(crate) priority: i32,
    /// Name under which the catalog is served.
    pub(crate) catalog: String,
    /// Revision at which the catalog last changed; that of objects that changed with it.
    revision: u64,
    kinds: [OnceLock<Vec<ObjectEntry>>; ResourceKind::ALL.len()],
}

impl PublishedCatalog {
    /// Builds the objects of a catalog that has changed from `former`, if it was published before.
    /// The kinds that were listed there are listed here too; objects that did not change keep their
    /// revisions.
    pub(crate) fn build(
        served: &Arc<Served>,
        manifests: Arc<ManifestCache>,
        global_namespace: &str,
        revision: u64,
        former: Option<&CatalogObjects>,
    ) -> Self {
        let objects = CatalogObjects {
            source: catalog_source(served, global_namespace),
            priority: served.metadata.priority,
            catalog: served.name.clone(),
            revision,
            kinds: ResourceKind::ALL.map(|_| OnceLock::new()),
        };
        let catalog = Self {
            served: Arc::clone(served),
            objects: Arc::new(objects),
            manifests,
        };

        // A watch compares the lists of both states: a kind that is listed stays listed.
        let listed = ResourceKind::ALL
            .into_iter()
            .filter_map(|kind| Some((kind, former?.listed(kind)?)));
        for (kind, former_entries) in listed {
            let mut entries = catalog.reader().list(kind, revision);
            // Every object shows the source, which its hash need not include.
            if former.is_some_and(|former| former.source == catalog.objects.source) {
                keep_unchanged(&mut entries, former_entries);
            }
            let _ = catalog.objects.kinds[kind as usize].set(entries);
        }
        catalog
    }

    /// Returns the objects of a kind, sorted by name. Lists them if that has not been done, which
    /// takes long for a large catalog.
    pub(crate) fn entries(&self, kind: ResourceKind) -> &[ObjectEntry] {
        let objects = &self.objects;
        objects.kinds[kind as usize].get_or_init(|| self.reader().list(kind, objects.revision))
    }

    /// Returns a reader of the objects.
    pub(crate) fn reader(&self) -> ObjectReader<'_> {
        ObjectReader {
            served: &self.served,
            source: &self.objects.source,
            manifests: &self.manifests,
        }
    }
}

impl CatalogObjects {
    /// Returns the objects of a kind, if they are listed.
    pub(crate) fn listed(&self, kind: ResourceKind) -> Option<&[ObjectEntry]> {
        self.kinds[kind as usize].get().map(Vec::as_slice)
    }
}

/// Replaces entries by former ones of the same name and hash.
fn keep_unchanged(entries: &mut [ObjectEntry], former: &[ObjectEntry]) {
    let mut former = former.iter().peekable();
    for entry in entries {
        while former
            .next_if(|former| former.meta.name < entry.meta.name)
            .is_some()
        {}
        let same = former.peek().filter(|former| {
            former.meta.name == entry.meta.name && former.meta.hash == entry.meta.hash
        });
        if let Some(former) = same {
            entry.meta = Arc::clone(&former.meta);
        }
    }
}

/// Returns the equivalent of the `CatalogSource` of a catalog: the object itself, or values of its
/// `ClusterCatalog` or of the configuration.
fn catalog_source(served: &Served, global_namespace: &str) -> CatalogSource {
    let metadata = &served.metadata;
    let namespace = metadata.namespace.as_deref().unwrap_or(global_namespace);
    // Catalogs of `CatalogSources` are served as NAMESPACE.NAME.
    let own_name = metadata
        .namespace
        .as_deref()
        .and_then(|own| served.name.strip_prefix(own)?.strip_prefix('.'));
    // The bookkeeping labels of other programs say nothing about packages.
    let is_shown = |key: &str| {
        let prefix = key.split_once('/').map_or("", |(prefix, _)| prefix);
        !["kubernetes.io", "catalogql.io"]
            .iter()
            .any(|domain| prefix.ends_with(domain))
            && key != "olm.operatorframework.io/metadata.name"
    };
    let labels = metadata.labels.iter().filter(|(key, _)| is_shown(key));
    CatalogSource {
        name: own_name.unwrap_or(&served.name).to_owned(),
        namespace: namespace.to_owned(),
        display_name: metadata.display_name.clone().unwrap_or_default(),
        publisher: metadata.publisher.clone().unwrap_or_default(),
        labels: labels
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
        created: metadata.created,
    }
}
