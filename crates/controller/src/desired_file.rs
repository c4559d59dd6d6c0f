//! The objects that were wanted last, in a file beside the contents: a restart serves them before
//! the API server answers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kube::api::ObjectMeta;
use olm_api::{CatalogSource, ClusterCatalog, ClusterCatalogStatus};
use serde::{Deserialize, Serialize};

/// What the names of the annotations begin with that say something of a catalog.
const ANNOTATIONS: &str = "catalogql.io/";

/// Objects as far as they say what is wanted.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Objects {
    pub(crate) cluster_catalogs: Vec<ClusterCatalog>,
    pub(crate) catalog_sources: Vec<CatalogSource>,
}

/// The file.
pub(crate) struct Remembered {
    path: PathBuf,
    /// What the file holds.
    objects: Objects,
}

impl Remembered {
    /// Reads the file. One that is missing or unreadable remembers nothing.
    pub(crate) fn open(path: &Path) -> Self {
        let objects = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_else(|error| {
                tracing::warn!(path = %path.display(), %error, "cannot read the remembered catalogs");
                Objects::default()
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Objects::default(),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read the remembered catalogs");
                Objects::default()
            }
        };
        Self {
            path: path.to_owned(),
            objects,
        }
    }

    /// The objects in the file.
    pub(crate) fn objects(&self) -> (Vec<Arc<ClusterCatalog>>, Vec<Arc<CatalogSource>>) {
        let Objects {
            cluster_catalogs,
            catalog_sources,
        } = self.objects.clone();
        (
            cluster_catalogs.into_iter().map(Arc::new).collect(),
            catalog_sources.into_iter().map(Arc::new).collect(),
        )
    }

    /// Remembers these objects, if they differ from those in the file.
    pub(crate) fn remember<'a>(
        &mut self,
        catalogs: impl Iterator<Item = &'a Arc<ClusterCatalog>>,
        sources: &[Arc<CatalogSource>],
    ) {
        let mut objects = Objects {
            cluster_catalogs: catalogs.map(|object| trim_catalog(object)).collect(),
            catalog_sources: sources.iter().map(|object| trim_source(object)).collect(),
        };
        let key = |object: &CatalogSource| {
            (
                object.metadata.namespace.clone(),
                object.metadata.name.clone(),
            )
        };
        objects.catalog_sources.sort_by_key(key);
        if objects == self.objects {
            return;
        }
        match write(&self.path, &objects) {
            Ok(()) => self.objects = objects,
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "cannot remember the wanted catalogs");
            }
        }
    }
}

/// Replaces the file as a whole.
fn write(path: &Path, objects: &Objects) -> io::Result<()> {
    let new = path.with_extension("json.new");
    fs::write(&new, serde_json::to_vec(objects)?)?;
    fs::rename(&new, path)
}

fn trim_catalog(object: &ClusterCatalog) -> ClusterCatalog {
    let resolved_source = object
        .status
        .as_ref()
        .and_then(|status| status.resolved_source.clone());
    let status = resolved_source.is_some().then(|| ClusterCatalogStatus {
        resolved_source,
        ..Default::default()
    });
    ClusterCatalog {
        metadata: trim(&object.metadata),
        spec: object.spec.clone(),
        status,
    }
}

fn trim_source(object: &CatalogSource) -> CatalogSource {
    CatalogSource {
        metadata: trim(&object.metadata),
        spec: object.spec.clone(),
    }
}

fn trim(metadata: &ObjectMeta) -> ObjectMeta {
    let ObjectMeta {
        name,
        namespace,
        labels,
        mut annotations,
        deletion_timestamp,
        ..
    } = metadata.clone();
    // Those of other programs may be long.
    if let Some(annotations) = &mut annotations {
        annotations.retain(|name, _| name.starts_with(ANNOTATIONS));
    }
    ObjectMeta {
        name,
        namespace,
        labels,
        annotations,
        deletion_timestamp,
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::{catalog, pinned};

    #[test]
    fn what_is_wanted_is_remembered_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("controller.json");
        let object = catalog(json!({
            "metadata": { "uid": "u", "annotations": { "catalogql.io/publisher": "P", "other": "x".repeat(1000) } },
            "status": { "resolvedSource": { "type": "Image", "image": { "ref": pinned() } }, "lastUnpacked": "2026-01-01T00:00:00Z" },
        }));
        let source: CatalogSource = serde_json::from_value(json!({
            "apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
            "metadata": { "name": "b", "namespace": "n" }, "spec": { "image": "quay.io/a/b" },
        }))
        .unwrap();
        let mut remembered = Remembered::open(&path);
        assert_eq!(remembered.objects(), (Vec::new(), Vec::new()));
        remembered.remember(
            [Arc::new(object.clone())].iter(),
            &[Arc::new(source.clone())],
        );

        let (catalogs, sources) = Remembered::open(&path).objects();
        assert_eq!(sources, [Arc::new(source)]);
        let [read] = &catalogs[..] else {
            panic!("{catalogs:?}")
        };
        assert_eq!(
            (
                &read.metadata.uid,
                read.metadata
                    .annotations
                    .as_ref()
                    .map(std::collections::BTreeMap::len)
            ),
            (&None, Some(1))
        );
        assert_eq!(read.spec, object.spec);
        let status = read.status.as_ref().unwrap();
        assert_eq!(
            (&status.resolved_source, &status.last_unpacked),
            (&object.status.unwrap().resolved_source, &None)
        );
    }

    #[test]
    fn a_file_that_is_damaged_remembers_nothing_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("controller.json");
        fs::write(&path, "{\"clusterCatalogs\": [{").unwrap();
        let mut remembered = Remembered::open(&path);
        assert_eq!(remembered.objects(), (Vec::new(), Vec::new()));
        remembered.remember([Arc::new(catalog(json!({})))].iter(), &[]);
        assert_eq!(Remembered::open(&path).objects().0.len(), 1);
    }
}
