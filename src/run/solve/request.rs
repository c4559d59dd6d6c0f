//! The request of `catalogql solve`: of its flags, or of a file with a whole world.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use fbc::Catalog;
use fbc_read::origin::FileOrigin;
use fbc_read::{FileReader, Origins, ReadEvent, ReadLimits};
use loading::LoadError;
use serde::Deserialize;
use serde_json::value::RawValue;
use serving::Content;
use solve::{
    InstalledOperator, OperatorProperty, SolvePolicy, SolveRequest, SourceCatalog, Subscription,
};

use super::cluster::ClusterObjects;
use crate::args::{PolicyArg, SolveArgs, WantedArg, parse_installed};
use crate::run::once;
use crate::run::sources::{self, SourceReference};

/// The namespace of everything that the command line names.
const NAMESPACE: &str = "olm";

/// A request with the catalogs that it is about.
pub(super) struct Input {
    pub(super) request: SolveRequest,
    catalogs: Vec<LoadedCatalog>,
}

struct LoadedCatalog {
    name: String,
    namespace: String,
    priority: i32,
    labels: BTreeMap<String, String>,
    content: LoadedContent,
}

enum LoadedContent {
    Source(Content),
    Blobs(Box<Catalog>),
}

/// A file with a whole world.
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

impl Input {
    /// Reads the catalogs and what is wanted and installed.
    pub(super) fn read(args: &SolveArgs) -> anyhow::Result<Self> {
        match &args.request {
            Some(path) => Self::read_file(path, args)
                .with_context(|| format!("cannot read the request `{}`", path.display())),
            None => Self::read_flags(args),
        }
    }

    /// Returns the catalogs as values.
    pub(super) fn catalogs(&self) -> Vec<SourceCatalog<'_>> {
        self.catalogs.iter().map(LoadedCatalog::source).collect()
    }

    fn read_file(path: &Path, args: &SolveArgs) -> anyhow::Result<Self> {
        let file: RequestFile = serde_json::from_slice(&fs::read(path)?)?;
        let mut catalogs = Vec::new();
        for RequestCatalog {
            name,
            namespace,
            priority,
            labels,
            metas,
            path,
        } in file.catalogs
        {
            let content = match (metas, path) {
                (Some(metas), None) => LoadedContent::Blobs(Box::new(index(&metas)?)),
                (None, Some(path)) => load(&name, &path, args)?,
                _ => bail!("the catalog `{name}` must have either `metas` or a `path`"),
            };
            catalogs.push(LoadedCatalog {
                name,
                namespace,
                priority,
                labels,
                content,
            });
        }
        Ok(Self {
            request: file.request,
            catalogs,
        })
    }

    fn read_flags(args: &SolveArgs) -> anyhow::Result<Self> {
        let wanted = sources::catalogs(&args.sources, None, args.images.configs_dir.as_deref())?;
        let named = wanted
            .iter()
            .map(|entry| (entry.name.as_str(), &entry.reference));
        let mut catalogs = Vec::new();
        for (entry, content) in wanted.iter().zip(once::load(named, &args.images)?) {
            let content = content.map_err(|error| cannot_load(entry.name.as_str(), &error))?;
            catalogs.push(LoadedCatalog {
                name: entry.name.to_string(),
                namespace: NAMESPACE.to_owned(),
                priority: entry.metadata.priority,
                labels: entry.metadata.labels.clone(),
                content: LoadedContent::Source(content),
            });
        }
        let mut input = Self {
            request: SolveRequest::default(),
            catalogs,
        };
        input.request.namespaces = vec![NAMESPACE.to_owned()];
        input.request.policy = match args.policy {
            PolicyArg::OlmV0 => SolvePolicy::OlmV0,
            PolicyArg::OlmV1 => SolvePolicy::OlmV1,
        };
        for installed in &args.installed {
            input.add_installed(installed)?;
        }
        input.add_wanted(&args.want);
        Ok(input)
    }

    /// Adds a bundle of the catalogs as installed, or the objects of a file.
    fn add_installed(&mut self, text: &str) -> anyhow::Result<()> {
        if Path::new(text).is_file() {
            let objects = fs::read(text)
                .map_err(anyhow::Error::from)
                .and_then(|json| ClusterObjects::read(&json));
            let objects = objects
                .with_context(|| format!("cannot read the installed operators in `{text}`"))?;
            self.request.installed.extend(objects.installed);
            let own = |subscription| Subscription {
                catalog_namespace: NAMESPACE.to_owned(),
                ..subscription
            };
            self.request
                .subscriptions
                .extend(objects.subscriptions.into_iter().map(own));
            return Ok(());
        }
        let installed = parse_installed(text).map_err(|reason| {
            anyhow!("`{text}` is neither a file nor an installed bundle: {reason}")
        })?;
        let properties = self.properties_of(&installed.name);
        self.request.installed.push(InstalledOperator {
            name: installed.name,
            version: installed.version,
            properties,
            ..InstalledOperator::default()
        });
        Ok(())
    }

    /// The properties that OLM writes to the operator of a bundle: those of the bundle but its
    /// manifests.
    fn properties_of(&self, bundle: &str) -> Option<Vec<OperatorProperty>> {
        let catalogs = self.catalogs();
        let found = catalogs
            .iter()
            .flat_map(|catalog| catalog.catalog.bundles())
            .find(|one| one.name() == bundle)?;
        let properties = found.properties().filter_map(|property| {
            let type_name = property.type_name().to_owned();
            let is_shown = !matches!(&*type_name, "olm.bundle.object" | "olm.csv.metadata");
            let value = serde_json::from_slice(property.value()?.raw()).ok();
            value
                .filter(|_| is_shown)
                .map(|value| OperatorProperty { type_name, value })
        });
        Some(properties.collect())
    }

    /// Adds a subscription for each wanted package. It owns what is installed of that package.
    fn add_wanted(&mut self, wanted: &[WantedArg]) {
        let is_v1 = self.request.policy == SolvePolicy::OlmV1;
        for WantedArg {
            package,
            channel,
            version,
        } in wanted
        {
            let owned = self
                .request
                .installed
                .iter()
                .find(|operator| states_package(operator, package));
            let subscription = Subscription {
                name: package.clone(),
                package: package.clone(),
                channel: channel.clone(),
                starting_csv: if is_v1 {
                    String::new()
                } else {
                    version.clone()
                },
                version: if is_v1 {
                    version.clone()
                } else {
                    String::new()
                },
                installed_csv: owned
                    .map(|operator| operator.name.clone())
                    .unwrap_or_default(),
                ..Subscription::default()
            };
            // What a file says of the package gives way to the command line.
            self.request
                .subscriptions
                .retain(|one| one.package != *package);
            self.request.subscriptions.push(subscription);
        }
    }
}

impl LoadedCatalog {
    fn source(&self) -> SourceCatalog<'_> {
        let catalog = match &self.content {
            LoadedContent::Source(content) => &*content.catalog,
            LoadedContent::Blobs(catalog) => catalog,
        };
        SourceCatalog {
            name: &self.name,
            namespace: &self.namespace,
            priority: self.priority,
            labels: Some(&self.labels),
            catalog,
        }
    }
}

/// Whether an operator says that it is of a package.
fn states_package(operator: &InstalledOperator, package: &str) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct PackageValue {
        package_name: String,
    }
    let mut properties = operator
        .properties
        .iter()
        .flatten()
        .filter(|property| property.type_name == "olm.package");
    properties.any(|property| {
        serde_json::from_str::<PackageValue>(property.value.get())
            .is_ok_and(|value| value.package_name == package)
    })
}

fn load(name: &str, path: &str, args: &SolveArgs) -> anyhow::Result<LoadedContent> {
    let reference = SourceReference::parse(path, args.images.configs_dir.as_deref())?;
    let content = once::load([(name, &reference)], &args.images)?.remove(0);
    let content = content.map_err(|error| cannot_load(name, &error))?;
    Ok(LoadedContent::Source(content))
}

fn cannot_load(name: &str, error: &LoadError) -> anyhow::Error {
    anyhow!("cannot load the catalog `{name}`: {}", error.chain())
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
