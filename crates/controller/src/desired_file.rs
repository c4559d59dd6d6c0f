//! The objects behind the desired catalogs, in a file in the store.
//!
//! After a restart the controller derives the desired catalogs from this file and serves their
//! stored content before the API server responds.

use std::path::PathBuf;
use std::sync::Arc;

use kube::api::ObjectMeta;
use loading::StateFile;
use olm_api::{CONTENT_DIGEST_ANNOTATION, CatalogSource, ClusterCatalog, ClusterCatalogStatus};
use serde::{Deserialize, Serialize};

/// Prefix of the annotations that describe a catalog.
const ANNOTATIONS: &str = "catalogql.io/";

/// The content of the file: objects, reduced to the fields from which desired catalogs are derived.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SavedObjects {
    pub(crate) cluster_catalogs: Vec<ClusterCatalog>,
    pub(crate) catalog_sources: Vec<CatalogSource>,
}

/// The file.
pub(crate) struct DesiredCatalogsFile(StateFile<SavedObjects>);

impl DesiredCatalogsFile {
    /// Reads the file. The API server has all objects, so that only the time until it responds is
    /// lost without it.
    pub(crate) fn open(path: PathBuf) -> Self {
        Self(StateFile::open(path))
    }

    /// Returns the objects in the file.
    pub(crate) fn objects(&self) -> SavedObjects {
        self.0.saved().clone()
    }

    /// Writes these objects to the file, if they differ from its content.
    pub(crate) fn save<'a>(
        &mut self,
        catalogs: impl Iterator<Item = &'a Arc<ClusterCatalog>>,
        sources: &[Arc<CatalogSource>],
    ) {
        let mut objects = SavedObjects {
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
        self.0.save(objects);
    }
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
    // Annotations of other programs may be long: `kubectl apply` keeps the whole object in one.
    if let Some(annotations) = &mut annotations {
        // The digest of the content is written by this program, and changes with each content.
        annotations
            .retain(|name, _| name.starts_with(ANNOTATIONS) && name != CONTENT_DIGEST_ANNOTATION);
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
    fn the_file_has_the_fields_that_desired_catalogs_depend_on_and_no_others() {
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
        let mut desired_file = DesiredCatalogsFile::open(path.clone());
        assert_eq!(desired_file.objects(), SavedObjects::default());
        desired_file.save(
            [Arc::new(object.clone())].iter(),
            &[Arc::new(source.clone())],
        );

        let saved = DesiredCatalogsFile::open(path.clone()).objects();
        assert_eq!(saved.catalog_sources, [source]);
        let [read] = &saved.cluster_catalogs[..] else {
            panic!("{saved:?}")
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
    fn a_damaged_file_counts_as_empty_and_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("controller.json");
        std::fs::write(&path, "{\"clusterCatalogs\": [{").unwrap();
        let mut desired_file = DesiredCatalogsFile::open(path.clone());
        assert_eq!(desired_file.objects(), SavedObjects::default());
        desired_file.save([Arc::new(catalog(json!({})))].iter(), &[]);
        let saved = DesiredCatalogsFile::open(path.clone()).objects();
        assert_eq!(saved.cluster_catalogs.len(), 1);
    }
}
