//! Paths of requests.

use percent_encoding::percent_decode_str;

use crate::kind::ResourceKind;
use crate::status::Status;

/// The subject of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// All groups.
    Groups,
    Group(String),
    /// The resources of a version of a group.
    GroupVersion(String, String),
    Object(ObjectPath),
    /// The index of the `OpenAPI` documents.
    OpenapiIndex,
    /// The `OpenAPI` document of this path without its slash.
    Openapi(String),
    Version,
    /// A probe: its name, and one of its checks.
    Probe(String, Option<String>),
    Root,
    Unknown,
}

/// An object, or all of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectPath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: Option<String>,
    pub(crate) resource: String,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

/// Names of the probes.
const PROBES: [&str; 3] = ["healthz", "livez", "readyz"];

impl Route {
    pub(crate) fn parse(path: &str) -> Self {
        let decode = |segment: &str| percent_decode_str(segment).decode_utf8_lossy().into_owned();
        let mut segments: Vec<String> = path.split('/').skip(1).map(decode).collect();
        // A slash at the end changes nothing, as upstream.
        if segments.last().is_some_and(String::is_empty) {
            segments.pop();
        }
        let texts: Vec<&str> = segments.iter().map(String::as_str).collect();
        match texts[..] {
            [] => Self::Root,
            ["version"] => Self::Version,
            ["apis"] => Self::Groups,
            ["apis", group] => Self::Group(group.to_owned()),
            ["apis", group, version] => Self::GroupVersion(group.to_owned(), version.to_owned()),
            ["apis", group, version, ref rest @ ..] => {
                ObjectPath::parse(group, version, rest).map_or(Self::Unknown, Self::Object)
            }
            ["openapi", "v3"] => Self::OpenapiIndex,
            ["openapi", "v3", ref rest @ ..] => Self::Openapi(rest.join("/")),
            [probe] if PROBES.contains(&probe) => Self::Probe(probe.to_owned(), None),
            [probe, check] if PROBES.contains(&probe) => {
                Self::Probe(probe.to_owned(), Some(check.to_owned()))
            }
            _ => Self::Unknown,
        }
    }

    /// Returns whether callers without credentials may read it. Probes usually send none.
    pub(crate) fn is_public(&self) -> bool {
        matches!(self, Self::Probe(_, None))
    }
}

impl ObjectPath {
    fn parse(group: &str, version: &str, rest: &[&str]) -> Option<Self> {
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => {
                (Some((*namespace).to_owned()), rest)
            }
            rest => (None, rest),
        };
        let (resource, rest) = rest.split_first()?;
        let name = rest.first().map(|name| (*name).to_owned());
        let subresource = (rest.len() > 1).then(|| rest[1..].join("/"));
        let [group, version, resource] = [group, version, resource].map(|text| (*text).to_owned());
        Some(Self {
            group,
            version,
            namespace,
            resource,
            name,
            subresource,
        })
    }

    /// Returns the kind of the resource.
    ///
    /// # Errors
    /// The resource or subresource does not exist, or does not exist in this scope.
    pub(crate) fn kind(&self) -> Result<ResourceKind, Status> {
        let kind = ResourceKind::find(&self.group, &self.version, &self.resource)
            .ok_or_else(Status::no_resource)?;
        let is_there = self
            .subresource
            .as_deref()
            .is_none_or(|part| kind.subresources().contains(&part));
        // As upstream does: the objects of all namespaces can be listed, but none is got without its
        // namespace.
        let fits_scope = match (kind.is_namespaced(), &self.namespace) {
            (true, None) => self.name.is_none(),
            (is_namespaced, namespace) => is_namespaced == namespace.is_some(),
        };
        if is_there && fits_scope {
            Ok(kind)
        } else {
            Err(Status::no_resource())
        }
    }
}
