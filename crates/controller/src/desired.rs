//! The desired catalogs: a pure function of the objects of the cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use images::{Registries, RegistryReference};
use jiff::SignedDuration;
use loading::{CatalogSpec, HttpClient, PollPolicy, RefreshPolicy, Source, SourceSpec};
use olm_api::{
    AvailabilityMode, CatalogSource, ClusterCatalog, DISPLAY_NAME_ANNOTATION, NAME_LABEL,
    PUBLISHER_ANNOTATION, PULL_SECRET_ANNOTATION, ResolvedSource, SourceType, conditions,
};
use olm_api::{CATALOG_SOURCE_NAME_LABEL, CATALOG_SOURCE_NAMESPACE_LABEL};
use serving::{CatalogMetadata, CatalogName};

use crate::ControllerMode;

/// Minimum poll interval of a `CatalogSource`. It is the minimum that the CRD of `ClusterCatalog`
/// allows.
pub const MIN_POLL: Duration = Duration::from_mins(1);

/// The objects from which the desired catalogs are derived.
pub(crate) struct CatalogObjectSet<'a> {
    pub(crate) mode: ControllerMode,
    /// Withdraw catalogs whose images the signature policy refuses.
    pub(crate) policy_withdraws: bool,
    pub(crate) catalogs: &'a [Arc<ClusterCatalog>],
    pub(crate) catalog_sources: &'a [Arc<CatalogSource>],
}

/// The catalogs that the loader should serve, and those whose source is invalid.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DesiredCatalogs {
    pub(crate) specs: BTreeMap<CatalogName, CatalogSpec>,
    /// Reason why the source of a catalog is invalid, by name.
    pub(crate) invalid: BTreeMap<CatalogName, String>,
}

impl DesiredCatalogs {
    /// Derives the desired catalogs. `registries` returns the client for the pull secret that a
    /// catalog names. A catalog whose source is invalid keeps the one that it has in `former`, so
    /// that its content stays served.
    pub(crate) fn new(
        objects: &CatalogObjectSet<'_>,
        former: &DesiredCatalogs,
        registries: impl Fn(Option<&str>) -> Registries,
    ) -> Self {
        let mut desired = Self::default();
        for source in objects.catalog_sources {
            desired.add_catalog_source(source, registries(None));
        }
        // They come second: a ClusterCatalog takes precedence over a CatalogSource of its name.
        for object in objects.catalogs {
            desired.add(object, objects.mode, former, &registries);
        }
        for spec in desired.specs.values_mut() {
            spec.policy_withdraws = objects.policy_withdraws;
        }
        desired
    }

    /// Returns the catalogs that cannot be loaded: their source is invalid, and there is no former one.
    pub(crate) fn without_source(&self) -> BTreeSet<CatalogName> {
        self.invalid
            .keys()
            .filter(|name| !self.specs.contains_key(name))
            .cloned()
            .collect()
    }

    /// Adds the catalog of a `CatalogSource` with an image, under the name `NAMESPACE.NAME`.
    fn add_catalog_source(&mut self, object: &CatalogSource, registries: Registries) {
        let metadata = &object.metadata;
        let spec = &object.spec;
        let Some((namespace, id)) = metadata.namespace.as_deref().zip(metadata.name.as_deref())
        else {
            return;
        };
        // The name is unique, because a namespace has no dot.
        let Ok(name) = CatalogName::new(&format!("{namespace}.{id}")) else {
            return;
        };
        let image = spec
            .image
            .as_deref()
            .filter(|image| !image.is_empty() && metadata.deletion_timestamp.is_none());
        let Some(image) = image else { return };
        let source = match RegistryReference::parse(image) {
            Ok(reference) => reference.into(),
            Err(error) => {
                self.invalid.insert(name, error.to_string());
                return;
            }
        };
        let poll = spec
            .update_strategy
            .as_ref()
            .and_then(|strategy| strategy.registry_poll.as_ref());
        let interval = poll.and_then(|poll| parse_interval(&poll.interval));
        let images = Some(PollPolicy {
            interval,
            ..PollPolicy::default()
        });
        let refresh = RefreshPolicy {
            directories: None,
            images,
        };
        let source = SourceSpec {
            source,
            configs_dir: None,
            refresh,
            registries,
            http: HttpClient::default(),
        };
        let metadata = catalog_source_metadata(object, namespace, id);
        self.specs.insert(
            name.clone(),
            CatalogSpec {
                name,
                source,
                metadata,
                policy_withdraws: false,
            },
        );
    }

    fn add(
        &mut self,
        object: &ClusterCatalog,
        mode: ControllerMode,
        former: &Self,
        registries: &impl Fn(Option<&str>) -> Registries,
    ) {
        let Some(name) = name_of(object).filter(|_| is_desired(object, mode)) else {
            return;
        };
        let source = match desired_source(object, mode) {
            Ok(source) => {
                self.invalid.remove(&name);
                source
            }
            Err(reason) => {
                let resolved = || resolved_source(object).and_then(|source| parse(source).ok());
                let kept = former
                    .specs
                    .get(&name)
                    .map(|spec| spec.source.source.clone())
                    .or_else(resolved);
                self.invalid.insert(name.clone(), reason);
                let Some(source) = kept else { return };
                source
            }
        };
        let refresh = RefreshPolicy {
            directories: None,
            images: Some(poll_policy(object)),
        };
        let registries = registries(pull_secret(object));
        let source = SourceSpec {
            source,
            configs_dir: None,
            refresh,
            registries,
            http: HttpClient::default(),
        };
        self.specs.insert(
            name.clone(),
            CatalogSpec {
                name,
                source,
                metadata: metadata(object),
                policy_withdraws: false,
            },
        );
    }
}

/// Returns the name under which the catalog of an object is served.
pub(crate) fn name_of(object: &ClusterCatalog) -> Option<CatalogName> {
    CatalogName::new(object.metadata.name.as_deref()?).ok()
}

/// Returns whether the content of an object should be served.
pub(crate) fn is_desired(object: &ClusterCatalog, mode: ControllerMode) -> bool {
    let is_available = match mode {
        ControllerMode::Manage => true,
        ControllerMode::Follow => {
            resolved_source(object).is_some() && serving_status(object) != Some("False")
        }
    };
    is_available
        && object.metadata.deletion_timestamp.is_none()
        && object.spec.availability_mode != AvailabilityMode::Unavailable
}

/// Returns the status of the condition `Serving` of an object, if it has one.
pub(crate) fn serving_status(object: &ClusterCatalog) -> Option<&str> {
    let mut conditions = object.status.iter().flat_map(|status| &status.conditions);
    conditions
        .find(|condition| condition.type_ == conditions::SERVING)
        .map(|condition| condition.status.as_str())
}

/// Returns the source that an object asks for, or the reason why it is invalid.
pub(crate) fn desired_source(
    object: &ClusterCatalog,
    mode: ControllerMode,
) -> Result<Source, String> {
    let union = &object.spec.source;
    let reference = match (mode, union.source_type, &union.image) {
        (ControllerMode::Follow, ..) => resolved_source(object).unwrap_or_default(),
        (ControllerMode::Manage, SourceType::Image, Some(image)) => &image.reference,
        (ControllerMode::Manage, SourceType::Image, None) => {
            let name = object.metadata.name.as_deref().unwrap_or_default();
            return Err(format!(
                "error parsing ClusterCatalog {name:?}, image source is nil"
            ));
        }
        (ControllerMode::Manage, SourceType::Unknown, _) => {
            return Err("unknown source type: only Image is supported".to_owned());
        }
    };
    parse(reference)
}

/// Returns the name of the pull secret that an object names for its registry.
pub(crate) fn pull_secret(object: &ClusterCatalog) -> Option<&str> {
    annotation(object, PULL_SECRET_ANNOTATION)
}

/// Parses a reference, which must name its registry.
fn parse(reference: &str) -> Result<Source, String> {
    let cannot = |why: String| {
        format!("source catalog content: error parsing image reference {reference:?}: {why}")
    };
    let parsed = RegistryReference::parse(reference).map_err(|error| {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        cannot(cause.unwrap_or_else(|| error.to_string()))
    })?;
    // catalogd rejects a reference without a registry, too.
    let is_qualified = reference
        .split_once('/')
        .is_some_and(|(domain, _)| domain == parsed.domain());
    let without = || {
        cannot(format!(
            "it does not name its registry: write {parsed} if you mean that"
        ))
    };
    if is_qualified {
        Ok(parsed.into())
    } else {
        Err(without())
    }
}

/// Returns the image by digest in the status of an object.
pub(crate) fn resolved_source(object: &ClusterCatalog) -> Option<&str> {
    let ResolvedSource { image, .. } = object.status.as_ref()?.resolved_source.as_ref()?;
    Some(&image.as_ref()?.reference)
}

fn poll_policy(object: &ClusterCatalog) -> PollPolicy {
    let minutes = object
        .spec
        .source
        .image
        .as_ref()
        .and_then(|image| image.poll_interval_minutes);
    let minutes = minutes
        .and_then(|minutes| u64::try_from(minutes).ok())
        .filter(|minutes| *minutes > 0);
    let interval = minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60)));
    PollPolicy {
        interval,
        ..PollPolicy::default()
    }
}

fn metadata(object: &ClusterCatalog) -> CatalogMetadata {
    let mut labels = object.metadata.labels.clone().unwrap_or_default();
    // The label may not be set on the object yet. Without it here, setting it would publish the
    // content once more.
    labels.extend(
        object
            .metadata
            .name
            .iter()
            .map(|name| (NAME_LABEL.to_owned(), name.clone())),
    );
    CatalogMetadata {
        priority: object.spec.priority,
        display_name: annotation(object, DISPLAY_NAME_ANNOTATION).map(str::to_owned),
        publisher: annotation(object, PUBLISHER_ANNOTATION).map(str::to_owned),
        labels,
        image_reference: object
            .spec
            .source
            .image
            .as_ref()
            .map(|image| image.reference.clone()),
        namespace: None,
        created: object
            .metadata
            .creation_timestamp
            .as_ref()
            .map(|time| time.0),
    }
}

fn annotation<'a>(object: &'a ClusterCatalog, name: &str) -> Option<&'a str> {
    let text = object.metadata.annotations.as_ref()?.get(name)?;
    Some(text.as_str()).filter(|text| !text.is_empty())
}

/// Returns the metadata that a `CatalogSource` gives its catalog.
fn catalog_source_metadata(object: &CatalogSource, namespace: &str, name: &str) -> CatalogMetadata {
    let mut labels = object.metadata.labels.clone().unwrap_or_default();
    labels.insert(CATALOG_SOURCE_NAME_LABEL.to_owned(), name.to_owned());
    labels.insert(
        CATALOG_SOURCE_NAMESPACE_LABEL.to_owned(),
        namespace.to_owned(),
    );
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let display_name = given(&object.spec.display_name);
    let publisher = given(&object.spec.publisher);
    let created = object
        .metadata
        .creation_timestamp
        .as_ref()
        .map(|time| time.0);
    let namespace = Some(namespace.to_owned());
    CatalogMetadata {
        priority: object.spec.priority,
        display_name,
        publisher,
        labels,
        image_reference: object.spec.image.clone(),
        namespace,
        created,
    }
}

/// Parses a Go duration and raises it to [`MIN_POLL`].
fn parse_interval(text: &str) -> Option<Duration> {
    let parsed: SignedDuration = text.parse().ok()?;
    Some(Duration::try_from(parsed).ok()?.max(MIN_POLL))
}

#[cfg(test)]
mod tests;
