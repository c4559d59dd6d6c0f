//! Files with a whole world: a request of the solver and its catalogs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{anyhow, bail};
use fbc::Catalog;
use fbc_read::origin::FileOrigin;
use fbc_read::{FileReader, Origins, ReadEvent, ReadLimits};
use serde::Deserialize;
use serde_json::value::RawValue;
use serving::Content;
use solve::{SolveRequest, SourceCatalog};

use crate::args::ImageArgs;
use crate::run::once;
use crate::run::sources::SourceReference;

/// Request with its catalogs.
pub(super) struct LoadedRequest {
    pub(super) request: SolveRequest,
    catalogs: Vec<LoadedCatalog>,
}

struct LoadedCatalog {
    catalog: RequestCatalog,
    content: LoadedContent,
}

enum LoadedContent {
    Source(Content),
    Blobs(Box<Catalog>),
}

/// File with a whole world.
#[derive(Deserialize)]
struct RequestFile {
    catalogs: Vec<RequestCatalog>,
    request: SolveRequest,
}

#[derive(Deserialize)]
struct RequestCatalog {
    name: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    priority: i32,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    /// The blobs of the catalog.
    metas: Option<Box<RawValue>>,
    /// A directory with the catalog, from where the command is run.
    path: Option<String>,
}

impl LoadedRequest {
    /// Reads a file and loads its catalogs.
    pub(super) fn read(path: &Path, images: &ImageArgs) -> anyhow::Result<Self> {
        let file: RequestFile = serde_json::from_slice(&fs::read(path)?)?;
        let mut catalogs = Vec::new();
        for catalog in file.catalogs {
            let content = match (&catalog.metas, &catalog.path) {
                (Some(metas), None) => LoadedContent::Blobs(Box::new(index(metas)?)),
                (None, Some(path)) => load(&catalog.name, path, images)?,
                _ => bail!(
                    "the catalog `{}` must have either `metas` or a `path`",
                    catalog.name
                ),
            };
            catalogs.push(LoadedCatalog { catalog, content });
        }
        Ok(Self {
            request: file.request,
            catalogs,
        })
    }

    /// Returns the catalogs as values.
    pub(super) fn catalogs(&self) -> Vec<SourceCatalog<'_>> {
        self.catalogs.iter().map(LoadedCatalog::source).collect()
    }
}

impl LoadedCatalog {
    fn source(&self) -> SourceCatalog<'_> {
        let catalog = match &self.content {
            LoadedContent::Source(content) => &*content.catalog,
            LoadedContent::Blobs(catalog) => catalog,
        };
        SourceCatalog {
            name: &self.catalog.name,
            namespace: &self.catalog.namespace,
            priority: self.catalog.priority,
            labels: Some(&self.catalog.labels),
            catalog,
        }
    }
}

fn load(name: &str, path: &str, images: &ImageArgs) -> anyhow::Result<LoadedContent> {
    let reference = SourceReference::parse(path, images.configs_dir.as_deref())?;
    let content = once::load(&[(name, &reference)], images)?.remove(0);
    let content =
        content.map_err(|error| anyhow!("cannot load the catalog `{name}`: {}", error.chain()))?;
    Ok(LoadedContent::Source(content.content))
}

/// Indexes a list of blobs.
fn index(metas: &RawValue) -> anyhow::Result<Catalog> {
    let blobs: Vec<&RawValue> = serde_json::from_str(metas.get())?;
    let mut lines = Vec::new();
    let mut origin = FileOrigin::default();
    let mut reader = FileReader::new(ReadLimits::default());
    for blob in blobs {
        reader.push(blob.get().as_bytes());
        reader.push(b"\n");
    }
    reader.finish();
    loop {
        match reader.next()? {
            ReadEvent::Blob(blob) => {
                lines.extend_from_slice(blob.line);
                origin.lines.push(blob.at);
            }
            ReadEvent::Notice(notice) => origin.notices.push(notice),
            ReadEvent::NeedInput | ReadEvent::End => break,
        }
    }
    Ok(Catalog::build(
        lines.into(),
        &Origins {
            files: vec![origin],
            ..Origins::default()
        },
    )?)
}
