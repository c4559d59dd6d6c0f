//! Objects of a cluster that decide what can be moved to OLM v1: as its API server lists them, or as
//! kubectl prints them into files.

use std::collections::BTreeMap;
use std::path::Path;

use printing::text;
use serde_json::Value;

use crate::file_argument::read_bytes;
use crate::{CommandError, ExitStatus};

/// Label of a copied operator.
const COPIED_FROM: &str = "olm.copiedFrom";

/// Kind of the objects that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MigrationKind {
    /// Operators that OLM v0 is asked to install.
    Subscription,
    /// Operators that it has installed.
    ClusterServiceVersion,
    /// Namespaces that operators watch.
    OperatorGroup,
    /// Conditions that operators report to OLM v0.
    OperatorCondition,
    /// Catalogs of OLM v0.
    CatalogSource,
    /// Steps of installs.
    InstallPlan,
    /// Packages that OLM v1 is asked to install.
    ClusterExtension,
    /// Catalogs of OLM v1.
    ClusterCatalog,
}

/// Objects by namespace and name.
pub(super) type NamedObjects = BTreeMap<(String, String), Value>;

/// Objects of a cluster, with the kinds that could not be read.
#[derive(Clone, Debug, Default)]
pub struct MigrationObjects {
    objects: BTreeMap<MigrationKind, NamedObjects>,
    /// Reasons in English.
    unread: BTreeMap<MigrationKind, String>,
}

impl MigrationKind {
    /// All kinds, in the order of messages.
    pub const ALL: [Self; 8] = [
        Self::Subscription,
        Self::ClusterServiceVersion,
        Self::OperatorGroup,
        Self::OperatorCondition,
        Self::CatalogSource,
        Self::InstallPlan,
        Self::ClusterExtension,
        Self::ClusterCatalog,
    ];

    /// Returns the kind as Kubernetes writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Subscription => "Subscription",
            Self::ClusterServiceVersion => "ClusterServiceVersion",
            Self::OperatorGroup => "OperatorGroup",
            Self::OperatorCondition => "OperatorCondition",
            Self::CatalogSource => "CatalogSource",
            Self::InstallPlan => "InstallPlan",
            Self::ClusterExtension => "ClusterExtension",
            Self::ClusterCatalog => "ClusterCatalog",
        }
    }

    /// Returns the kind of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl MigrationObjects {
    /// Adds an object, or those of a list; returns whether any of them is of a kind that counts.
    /// Copied operators are skipped.
    pub fn add(&mut self, mut object: Value) -> bool {
        if let Some(kind) = object["kind"].as_str().and_then(MigrationKind::by_name) {
            if !is_copied(&object) {
                let [namespace, name] =
                    ["/metadata/namespace", "/metadata/name"].map(|pointer| text(&object, pointer));
                let objects = self.objects.entry(kind).or_default();
                objects.insert((namespace, name), object);
            }
            return true;
        }
        let Some(Value::Array(items)) = object.get_mut("items").map(Value::take) else {
            return false;
        };
        let mut is_any = items.is_empty();
        for item in items {
            is_any |= self.add(item);
        }
        is_any
    }

    /// Records that a kind could not be read. What was read of it does not count.
    pub fn set_unread(&mut self, kind: MigrationKind, reason: String) {
        self.objects.remove(&kind);
        self.unread.insert(kind, reason);
    }

    /// Adds the objects of files. A kind that must be there and of which no file has an object was not
    /// saved; `ClusterExtensions` and `InstallPlans` need not be there.
    pub(super) fn add_files(&mut self, files: &[String]) -> Result<(), CommandError> {
        for file in files {
            let failed = |reason: String| {
                let message =
                    format!("cannot read the objects of the cluster in `{file}`: {reason}");
                CommandError::new(ExitStatus::Usage, message)
            };
            let bytes = read_bytes(Path::new(file)).map_err(|error| failed(error.to_string()))?;
            let value =
                serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()))?;
            if !self.add(value) {
                let kinds: Vec<_> = MigrationKind::ALL.iter().map(|kind| kind.name()).collect();
                return Err(failed(format!(
                    "expected objects as `kubectl get -A -o json` prints them, of the kinds {}",
                    kinds.join(", ")
                )));
            }
        }
        if files.is_empty() {
            return Ok(());
        }
        for kind in MigrationKind::ALL {
            let is_optional = matches!(
                kind,
                MigrationKind::ClusterExtension | MigrationKind::InstallPlan
            );
            if !is_optional && !self.objects.contains_key(&kind) {
                self.set_unread(kind, "no file has one".to_owned());
            }
        }
        Ok(())
    }

    /// Returns the objects of a kind.
    ///
    /// # Errors
    /// The reason why they could not be read.
    pub(super) fn read(&self, kind: MigrationKind) -> Result<&NamedObjects, &str> {
        static NONE: NamedObjects = BTreeMap::new();
        match self.unread.get(&kind) {
            Some(reason) => Err(reason),
            None => Ok(self.objects.get(&kind).unwrap_or(&NONE)),
        }
    }

    /// Returns the objects of a kind; none if they could not be read.
    pub(super) fn known(&self, kind: MigrationKind) -> impl Iterator<Item = &Value> {
        self.read(kind).into_iter().flat_map(BTreeMap::values)
    }

    /// Returns an object; `None` if it is not there or could not be read.
    pub(super) fn object(
        &self,
        kind: MigrationKind,
        namespace: &str,
        name: &str,
    ) -> Option<&Value> {
        let objects = self.read(kind).ok()?;
        objects.get(&(namespace.to_owned(), name.to_owned()))
    }

    /// Returns the kinds that could not be read, with the reasons.
    pub(super) fn unread(&self) -> impl Iterator<Item = (MigrationKind, &str)> {
        let unread = self.unread.iter();
        unread.map(|(kind, reason)| (*kind, reason.as_str()))
    }
}

/// Returns whether OLM has copied an operator to a namespace that it watches.
fn is_copied(object: &Value) -> bool {
    object["kind"] == MigrationKind::ClusterServiceVersion.name()
        && (object["metadata"]["labels"].get(COPIED_FROM).is_some()
            || object["status"]["reason"] == "Copied")
}
