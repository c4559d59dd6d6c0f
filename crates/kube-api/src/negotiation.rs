//! Which representation a request accepts: JSON or YAML, of an object or of its other shapes.
//!
//! A media type may have the parameters `as`, `v` and `g`, which name a kind that the object is
//! converted to: a `Table` for people, or metadata alone. Of what `Accept` lists, the entry with
//! the highest weight that can be served is used.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

use crate::status::Status;

/// A format of responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Format {
    #[default]
    Json,
    /// JSON with line breaks, for people.
    PrettyJson,
    Yaml,
}

/// What a response shows of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Whole,
    /// Rows of columns, in this version of `meta.k8s.io`.
    Table(&'static str),
    /// `PartialObjectMetadata`, or a list of them, in this version of `meta.k8s.io`.
    Metadata(&'static str),
}

/// What a request asks for, which decides which shapes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A document of discovery, or an error.
    Document,
    Object,
    List,
}

/// A media range of `Accept`.
struct MediaRange<'h> {
    media_type: &'h str,
    parameters: Vec<(&'h str, &'h str)>,
}

/// Message for media types that are known, but not in the shape that is asked for.
const ACCEPTED: &str =
    "only the following media types are accepted: application/json, application/yaml";

impl Format {
    /// Returns the media type.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            Self::Json | Self::PrettyJson => "application/json",
            Self::Yaml => "application/yaml",
        }
    }

    /// Returns the format for an error: that which the request prefers, or JSON.
    pub(crate) fn of_errors(headers: &HeaderMap) -> Self {
        ranges(headers)
            .iter()
            .find_map(MediaRange::format)
            .unwrap_or_default()
    }
}

/// Returns the format and shape of the response to a request.
pub(crate) fn negotiate(headers: &HeaderMap, target: Target) -> Result<(Format, Shape), Status> {
    let ranges = ranges(headers);
    if ranges.is_empty() {
        return Ok((Format::Json, Shape::Whole));
    }
    let found = ranges
        .iter()
        .find_map(|range| Some((range.format()?, range.shape(target)?)));
    found.ok_or_else(|| {
        let is_list =
            |range: &MediaRange<'_>| range.parameter("as") == Some("PartialObjectMetadataList");
        if target == Target::Object && ranges.iter().any(is_list) {
            return Status::not_acceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list",
            );
        }
        let is_known = |range: &MediaRange<'_>| {
            range.format().is_some() || range.media_type == "application/vnd.kubernetes.protobuf"
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
        let is_json = range.format() == Some(Format::Json);
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
        if range.format().is_some() && parameters == [None; 3] {
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

    /// Returns its weight in thousandths; an invalid one is 0.
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

    fn format(&self) -> Option<Format> {
        match self.media_type {
            "application/json" | "application/*" | "*/*" => Some(Format::Json),
            "application/yaml" => Some(Format::Yaml),
            _ => None,
        }
    }

    /// Returns the shape that its parameters name; `None` if the target has no such shape.
    fn shape(&self, target: Target) -> Option<Shape> {
        let Some(kind) = self.parameter("as") else {
            return Some(Shape::Whole);
        };
        let version = match (self.parameter("g"), self.parameter("v")) {
            (Some("meta.k8s.io"), Some("v1")) => "v1",
            (Some("meta.k8s.io"), Some("v1beta1")) => "v1beta1",
            _ => return None,
        };
        match (kind, target) {
            ("Table", Target::Object | Target::List) => Some(Shape::Table(version)),
            ("PartialObjectMetadata", Target::Object)
            | ("PartialObjectMetadataList", Target::List) => Some(Shape::Metadata(version)),
            _ => None,
        }
    }
}

/// Returns what `Accept` lists with a weight above zero, highest weight first.
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
