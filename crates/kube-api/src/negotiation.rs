//! Content negotiation: the serialization and the projection that a request accepts.
//!
//! A media type may have the parameters `as`, `v` and `g`, which name a kind that the object is
//! converted to: a `Table` for people, or metadata alone. Of what `Accept` lists, the entry with
//! the highest weight that can be served is used.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

use crate::status::Status;

/// A serialization of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Serialization {
    #[default]
    Json,
    /// JSON with line breaks, for people.
    PrettyJson,
    Yaml,
}

/// The part of an object that a response shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Projection {
    Whole,
    /// Rows of columns, in this version of `meta.k8s.io`.
    Table(&'static str),
    /// `PartialObjectMetadata`, or a list of them, in this version of `meta.k8s.io`.
    Metadata(&'static str),
}

/// The subject of a response, which decides which projections exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NegotiationTarget {
    /// A document of discovery, or an error.
    Document,
    Object,
    List,
}

/// The representation of the objects in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ObjectRepresentation {
    pub(crate) serialization: Serialization,
    pub(crate) projection: Projection,
}

/// A media range of `Accept`.
struct MediaRange<'h> {
    media_type: &'h str,
    parameters: Vec<(&'h str, &'h str)>,
}

/// Message for media types that are known, but not in this projection.
const ACCEPTED: &str =
    "only the following media types are accepted: application/json, application/yaml";

impl Serialization {
    /// Returns the media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json | Self::PrettyJson => "application/json",
            Self::Yaml => "application/yaml",
        }
    }

    /// Returns the serialization of errors: the one that the request prefers, or JSON.
    pub(crate) fn for_errors(headers: &HeaderMap) -> Self {
        ranges(headers)
            .iter()
            .find_map(MediaRange::serialization)
            .unwrap_or_default()
    }
}

/// Returns the representation of the response to a request.
pub(crate) fn negotiate(
    headers: &HeaderMap,
    target: NegotiationTarget,
) -> Result<ObjectRepresentation, Status> {
    let ranges = ranges(headers);
    if ranges.is_empty() {
        return Ok(ObjectRepresentation {
            serialization: Serialization::Json,
            projection: Projection::Whole,
        });
    }
    let acceptable = ranges.iter().find_map(|range| {
        Some(ObjectRepresentation {
            serialization: range.serialization()?,
            projection: range.projection(target)?,
        })
    });
    acceptable.ok_or_else(|| {
        let is_list =
            |range: &MediaRange<'_>| range.parameter("as") == Some("PartialObjectMetadataList");
        if target == NegotiationTarget::Object && ranges.iter().any(is_list) {
            return Status::not_acceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list",
            );
        }
        let is_known = |range: &MediaRange<'_>| {
            range.serialization().is_some()
                || range.media_type == "application/vnd.kubernetes.protobuf"
        };
        if ranges.iter().any(is_known) {
            Status::not_acceptable(ACCEPTED)
        } else {
            Status::unknown_media_types()
        }
    })
}

/// Returns whether a request prefers the aggregated form of discovery to the older documents.
pub(crate) fn prefers_aggregated_discovery(headers: &HeaderMap) -> Result<bool, Status> {
    for range in ranges(headers) {
        let is_json = range.serialization() == Some(Serialization::Json);
        let parameters = ["as", "v", "g"].map(|name| range.parameter(name));
        if is_json
            && parameters
                == [
                    Some("APIGroupDiscoveryList"),
                    Some("v2"),
                    Some("apidiscovery.k8s.io"),
                ]
        {
            return Ok(true);
        }
        // The client prefers the older documents to the aggregated form.
        if range.serialization().is_some() && parameters == [None; 3] {
            return Ok(false);
        }
    }
    if ranges(headers).is_empty() {
        Ok(false)
    } else {
        Err(Status::not_acceptable(ACCEPTED))
    }
}

impl<'h> MediaRange<'h> {
    fn parse(text: &'h str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        Self {
            media_type,
            parameters: parts.filter_map(|part| part.split_once('=')).collect(),
        }
    }

    fn parameter(&self, name: &str) -> Option<&'h str> {
        self.parameters
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| *value)
    }

    /// Returns the weight in thousandths; an invalid one is 0.
    fn weight(&self) -> u16 {
        let Some(text) = self.parameter("q") else {
            return 1000;
        };
        let weight: f32 = text.parse().unwrap_or_default();
        // `NaN as u16` is 0.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 1000 after the clamp"
        )]
        let thousandths = (weight.clamp(0.0, 1.0) * 1000.0) as u16;
        thousandths
    }

    fn serialization(&self) -> Option<Serialization> {
        match self.media_type {
            "application/json" | "application/*" | "*/*" => Some(Serialization::Json),
            "application/yaml" => Some(Serialization::Yaml),
            _ => None,
        }
    }

    /// Returns the projection that the parameters name; `None` if the target has no such projection.
    fn projection(&self, target: NegotiationTarget) -> Option<Projection> {
        let Some(kind) = self.parameter("as") else {
            return Some(Projection::Whole);
        };
        let version = match (self.parameter("g"), self.parameter("v")) {
            (Some("meta.k8s.io"), Some("v1")) => "v1",
            (Some("meta.k8s.io"), Some("v1beta1")) => "v1beta1",
            _ => return None,
        };
        match (kind, target) {
            ("Table", NegotiationTarget::Object | NegotiationTarget::List) => {
                Some(Projection::Table(version))
            }
            ("PartialObjectMetadata", NegotiationTarget::Object)
            | ("PartialObjectMetadataList", NegotiationTarget::List) => {
                Some(Projection::Metadata(version))
            }
            _ => None,
        }
    }
}

/// Returns the media ranges of `Accept` with a weight above zero, highest weight first.
fn ranges(headers: &HeaderMap) -> Vec<MediaRange<'_>> {
    let lists = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let entries = lists
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .filter(|entry| !entry.is_empty());
    let mut ranges: Vec<_> = entries
        .map(MediaRange::parse)
        .filter(|range| range.weight() > 0)
        .collect();
    ranges.sort_by_key(|range| std::cmp::Reverse(range.weight()));
    ranges
}
