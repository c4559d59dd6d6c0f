//! An installed operator with what the cluster says of it: the view that checks have.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use printing::text;
use serde_json::Value;

use super::objects::{MigrationKind, MigrationObjects};
use super::offers::CatalogSearch;

/// Annotation with the properties of an operator's bundle.
const PROPERTIES: &str = "operatorframework.io/properties";

/// Annotation of a `ClusterExtension` that upstream's tool made.
const MIGRATED_FROM: &str = "olm.operatorframework.io/migrated-from-subscription";

/// Properties of an installed operator, by its annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CsvProperties {
    /// Objects with `type` and `value`; none without the annotation.
    Read(Vec<Value>),
    /// The reason why they cannot be read.
    Malformed(String),
}

/// Group, version and kind of an API.
type Api = [String; 3];

/// Objects of a cluster with indexes over them.
pub(super) struct ClusterIndex<'a> {
    pub(super) objects: &'a MigrationObjects,
    /// NAMESPACE/NAME of Subscriptions by package.
    by_package: HashMap<String, Vec<String>>,
    /// Name of the `ClusterExtension` that was made from a Subscription, by NAMESPACE/NAME of that.
    migrated: BTreeMap<String, String>,
    /// NAMESPACE/NAME of the Subscriptions whose operators require a package.
    by_required_package: HashMap<String, BTreeSet<String>>,
    /// NAMESPACE/NAME of the Subscriptions whose operators require an API.
    by_required_api: HashMap<Api, BTreeSet<String>>,
}

/// A Subscription with its operator.
pub(super) struct InstalledOperator<'a> {
    index: &'a ClusterIndex<'a>,
    subscription: &'a Value,
    csv: Option<&'a Value>,
    properties: CsvProperties,
    namespace: String,
    name: String,
    package: String,
    installed_name: String,
    search: CatalogSearch,
}

impl CsvProperties {
    /// Reads the annotation of an operator: a list of properties, or an object that has it.
    pub(super) fn of(csv: &Value) -> Self {
        let annotation = csv["metadata"]["annotations"][PROPERTIES].as_str();
        let annotation = annotation.unwrap_or_default();
        if annotation.is_empty() {
            return Self::Read(Vec::new());
        }
        let value: Value = match serde_json::from_str(annotation) {
            Ok(value) => value,
            Err(error) => return Self::Malformed(format!("it is not JSON: {error}")),
        };
        let list = match value {
            Value::Object(mut members) => members.remove("properties").unwrap_or_default(),
            list => list,
        };
        let properties = match list {
            Value::Null => Vec::new(),
            Value::Array(properties) => properties,
            _ => return Self::Malformed("it is no list of properties".to_owned()),
        };
        let is_property = |property: &Value| {
            let is_text = property.get("type").is_none_or(Value::is_string);
            property.is_null() || (property.is_object() && is_text)
        };
        if properties.iter().all(is_property) {
            Self::Read(properties)
        } else {
            Self::Malformed("it has an item that is no property".to_owned())
        }
    }

    /// Returns the values of the properties of a type.
    fn values(&self, wanted: &'static str) -> impl Iterator<Item = &Value> {
        let properties = match self {
            Self::Read(properties) => &properties[..],
            Self::Malformed(_) => &[],
        };
        let properties = properties.iter();
        properties
            .filter(move |property| property["type"] == wanted)
            .map(|property| &property["value"])
    }
}

impl<'a> ClusterIndex<'a> {
    /// Indexes the objects of a cluster.
    pub(super) fn new(objects: &'a MigrationObjects) -> Self {
        let mut index = Self {
            objects,
            by_package: HashMap::new(),
            migrated: BTreeMap::new(),
            by_required_package: HashMap::new(),
            by_required_api: HashMap::new(),
        };
        for extension in objects.known(MigrationKind::ClusterExtension) {
            let origin = extension["metadata"]["annotations"][MIGRATED_FROM].as_str();
            if let Some(origin) = origin {
                let name = text(extension, "/metadata/name");
                index.migrated.insert(origin.to_owned(), name);
            }
        }
        for subscription in objects.known(MigrationKind::Subscription) {
            index.add_subscription(subscription);
        }
        index
    }

    fn add_subscription(&mut self, subscription: &Value) {
        let place = place(subscription);
        let package = text(subscription, "/spec/name");
        let same = self.by_package.entry(package.clone()).or_default();
        same.push(place.clone());
        let Some(csv) = csv_of(self.objects, subscription) else {
            return;
        };
        let properties = CsvProperties::of(csv);
        for required in properties.values("olm.package.required") {
            let required = text(required, "/packageName");
            // A package is no dependent of itself.
            if required != package {
                let dependents = self.by_required_package.entry(required).or_default();
                dependents.insert(place.clone());
            }
        }
        let apis = properties.values("olm.gvk.required").map(api);
        for api in apis.chain(defined_apis(csv, "required")) {
            let dependents = self.by_required_api.entry(api).or_default();
            dependents.insert(place.clone());
        }
    }

    /// Returns the `ClusterExtensions` that were made from Subscriptions, each with NAMESPACE/NAME of
    /// that.
    pub(super) fn migrated(&self) -> impl Iterator<Item = (&str, &str)> {
        let migrated = self.migrated.iter();
        migrated.map(|(origin, extension)| (origin.as_str(), extension.as_str()))
    }

    /// Returns the operator of a Subscription. Its catalog is to be searched for yet.
    pub(super) fn operator(&'a self, subscription: &'a Value) -> InstalledOperator<'a> {
        let csv = csv_of(self.objects, subscription);
        InstalledOperator {
            index: self,
            subscription,
            csv,
            properties: csv.map_or_else(|| CsvProperties::Read(Vec::new()), CsvProperties::of),
            namespace: text(subscription, "/metadata/namespace"),
            name: text(subscription, "/metadata/name"),
            package: text(subscription, "/spec/name"),
            installed_name: text(subscription, "/status/installedCSV"),
            search: CatalogSearch::default(),
        }
    }
}

impl<'a> InstalledOperator<'a> {
    pub(super) fn objects(&self) -> &'a MigrationObjects {
        self.index.objects
    }

    pub(super) fn subscription(&self) -> &'a Value {
        self.subscription
    }

    pub(super) fn csv(&self) -> Option<&'a Value> {
        self.csv
    }

    pub(super) fn properties(&self) -> &CsvProperties {
        &self.properties
    }

    pub(super) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn package(&self) -> &str {
        &self.package
    }

    /// Returns NAMESPACE/NAME of the Subscription.
    pub(super) fn place(&self) -> String {
        place(self.subscription)
    }

    /// Returns the name of the installed bundle; empty if none is.
    pub(super) fn installed_name(&self) -> &str {
        &self.installed_name
    }

    /// Returns the channel that the Subscription names; it may be empty.
    pub(super) fn channel(&self) -> String {
        text(self.subscription, "/spec/channel")
    }

    /// Returns the version of the installed bundle: that of its property, or else that of the
    /// operator. Empty if none is installed.
    pub(super) fn version(&self) -> String {
        let mut versions = self.properties.values("olm.package");
        let version = versions.next().map(|value| text(value, "/version"));
        let version = version.filter(|version| !version.is_empty());
        let csv = || self.csv.map(|csv| text(csv, "/spec/version"));
        version.or_else(csv).unwrap_or_default()
    }

    /// Returns the `OperatorGroups` of its namespace.
    pub(super) fn groups(&self) -> Vec<&'a Value> {
        let Ok(groups) = self.objects().read(MigrationKind::OperatorGroup) else {
            return Vec::new();
        };
        let first = (self.namespace.clone(), String::new());
        let groups = groups.range(first..);
        let own = groups.take_while(|((namespace, _), _)| *namespace == self.namespace);
        own.map(|(_, group)| group).collect()
    }

    /// Returns the name of the `ClusterExtension` that was made from the Subscription.
    pub(super) fn migrated_extension(&self) -> Option<&str> {
        let extension = self.index.migrated.get(&self.place());
        extension.map(String::as_str)
    }

    /// Returns NAMESPACE/NAME of the other Subscriptions of the package.
    pub(super) fn others_of_package(&self) -> Vec<String> {
        let all = self.index.by_package.get(&self.package);
        let own = self.place();
        let others = all.into_iter().flatten().filter(|place| **place != own);
        others.cloned().collect()
    }

    /// Returns NAMESPACE/NAME of the Subscriptions whose operators require the package or one of its
    /// APIs.
    pub(super) fn dependents(&self) -> BTreeSet<String> {
        let by_package = self.index.by_required_package.get(&self.package);
        let mut dependents = by_package.cloned().unwrap_or_default();
        let owned = self.csv.map(|csv| defined_apis(csv, "owned"));
        let owned = owned.into_iter().flatten();
        let apis = owned.chain(self.properties.values("olm.gvk").map(api));
        for api in apis {
            let by_api = self.index.by_required_api.get(&api);
            dependents.extend(by_api.into_iter().flatten().cloned());
        }
        dependents.remove(&self.place());
        dependents
    }

    /// Returns namespace and name of the `CatalogSource` that the Subscription names.
    pub(super) fn source(&self) -> [String; 2] {
        ["/spec/sourceNamespace", "/spec/source"].map(|pointer| text(self.subscription, pointer))
    }

    /// Returns the `CatalogSource` from which OLM v0 unpacked the installed bundle, as its `InstallPlan`
    /// says.
    ///
    /// # Errors
    /// The reason why it is unknown.
    pub(super) fn effective_source(&self) -> Result<Option<[String; 2]>, String> {
        let status = &self.subscription["status"];
        let reference = if status["installPlanRef"].is_object() {
            &status["installPlanRef"]
        } else {
            &status["installplan"]
        };
        let name = text(reference, "/name");
        if name.is_empty() {
            return Ok(None);
        }
        let namespace = text(reference, "/namespace");
        let namespace = if namespace.is_empty() {
            &self.namespace
        } else {
            &namespace
        };
        let objects = self.objects();
        if let Err(reason) = objects.read(MigrationKind::InstallPlan) {
            return Err(format!("InstallPlans could not be read: {reason}"));
        }
        let plan = objects.object(MigrationKind::InstallPlan, namespace, &name);
        let lookups = plan.and_then(|plan| plan["status"]["bundleLookups"].as_array());
        let mut lookups = lookups.into_iter().flatten();
        let own = lookups.find(|lookup| lookup["identifier"] == self.installed_name);
        let source = own.map(|lookup| &lookup["catalogSourceRef"]);
        let source = source.filter(|source| source.is_object());
        Ok(source.map(|source| ["/namespace", "/name"].map(|pointer| text(source, pointer))))
    }

    pub(super) fn catalog_search(&self) -> &CatalogSearch {
        &self.search
    }

    pub(super) fn set_catalog_search(&mut self, search: CatalogSearch) {
        self.search = search;
    }
}

/// Returns the operator that a Subscription has installed.
fn csv_of<'a>(objects: &'a MigrationObjects, subscription: &Value) -> Option<&'a Value> {
    let [namespace, name] =
        ["/metadata/namespace", "/status/installedCSV"].map(|pointer| text(subscription, pointer));
    objects.object(MigrationKind::ClusterServiceVersion, &namespace, &name)
}

/// Returns NAMESPACE/NAME of an object.
pub(super) fn place(object: &Value) -> String {
    let [namespace, name] =
        ["/metadata/namespace", "/metadata/name"].map(|pointer| text(object, pointer));
    format!("{namespace}/{name}")
}

/// Returns the install modes that an operator supports.
pub(super) fn supported_modes(csv: &Value) -> Vec<String> {
    let modes = csv["spec"]["installModes"].as_array();
    let modes = modes.into_iter().flatten();
    let supported = modes.filter(|mode| mode["supported"] == true);
    supported.map(|mode| text(mode, "/type")).collect()
}

fn api(value: &Value) -> Api {
    ["/group", "/version", "/kind"].map(|pointer| text(value, pointer))
}

/// Returns the APIs of the custom resources that an operator owns or requires.
fn defined_apis(csv: &Value, member: &'static str) -> impl Iterator<Item = Api> {
    let defined = csv["spec"]["customresourcedefinitions"][member].as_array();
    let defined = defined.into_iter().flatten();
    defined.filter_map(|definition| {
        let name = text(definition, "/name");
        let (_, group) = name.split_once('.')?;
        let [version, kind] = ["/version", "/kind"].map(|pointer| text(definition, pointer));
        Some([group.to_owned(), version, kind])
    })
}
