//! The parameters of lists and watches (`ListOptions` of meta.k8s.io).

use std::collections::BTreeMap;
use std::time::Duration;

use fbc_grammar::selector::Selector;

use crate::continue_token::ContinueToken;
use crate::fields::FieldSelector;
use crate::kind::ResourceKind;
use crate::negotiation::Serialization;
use crate::status::Status;
use crate::version::ResourceVersion;

/// Maximum duration of a watch, whatever `timeoutSeconds` says. Clients start another one.
pub const MAX_WATCH_TIME: Duration = Duration::from_hours(1);

/// Maximum number of requirements of a `labelSelector`, and of a `fieldSelector`: each object is
/// tested against all.
pub const MAX_REQUIREMENTS: usize = 64;

/// The parameters of a request. Unknown ones are ignored.
#[derive(Debug)]
pub(crate) struct ListOptions(BTreeMap<String, String>);

/// The selectors of a request.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    pub(crate) labels: Selector,
    pub(crate) fields: FieldSelector,
    /// A request without selectors selects all objects.
    pub(crate) has_selectors: bool,
}

/// The form of the object in a row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    Metadata,
    Object,
}

impl ListOptions {
    /// Parses the query of a URL; of a parameter with several values, the first counts.
    pub(crate) fn parse(query: &str) -> Self {
        let mut parameters = BTreeMap::new();
        for (key, value) in form_urlencoded::parse(query.as_bytes()) {
            // As Go's `url.Values.Get` does.
            parameters
                .entry(key.into_owned())
                .or_insert(value.into_owned());
        }
        Self(parameters)
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns a parameter that is present and not empty.
    fn given(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// Returns whether a parameter is present and neither `false` nor `0`.
    pub(crate) fn is_set(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| !value.eq_ignore_ascii_case("false") && value != "0")
    }

    pub(crate) fn is_watch(&self) -> bool {
        self.is_set("watch")
    }

    /// Returns the serialization with line breaks, if it is JSON and `pretty` is set.
    pub(crate) fn pretty(&self, serialization: Serialization) -> Serialization {
        if serialization == Serialization::Json && self.is_set("pretty") {
            Serialization::PrettyJson
        } else {
            serialization
        }
    }

    /// Returns the name that the field selector requires, which authorization treats as the name of
    /// the object.
    pub(crate) fn selected_name(&self) -> Option<String> {
        FieldSelector::parse(self.get("fieldSelector")?)
            .ok()?
            .exact("metadata.name")
            .map(str::to_owned)
    }

    /// Returns the selectors for objects of a kind.
    ///
    /// # Errors
    /// A selector, `limit` or `timeoutSeconds` is invalid.
    pub(crate) fn selection(&self, kind: ResourceKind) -> Result<Selection, Status> {
        self.limit()?;
        self.timeout()?;
        let labels = Selector::parse(self.get("labelSelector").unwrap_or_default());
        let labels = labels.map_err(|error| Status::bad_request(error.to_string()))?;
        let fields = FieldSelector::parse(self.get("fieldSelector").unwrap_or_default())?;
        // Each object is tested against each requirement: unbounded, one request could keep a
        // processor busy for minutes.
        for (name, count) in [
            ("labelSelector", labels.len()),
            ("fieldSelector", fields.len()),
        ] {
            if count > MAX_REQUIREMENTS {
                let message = format!(
                    "the {name} has {count} requirements: at most {MAX_REQUIREMENTS} are allowed"
                );
                return Err(Status::bad_request(message));
            }
        }
        fields.validate(kind)?;
        let has_selectors = ["labelSelector", "fieldSelector"]
            .iter()
            .any(|name| self.given(name).is_some());
        Ok(Selection {
            labels,
            fields,
            has_selectors,
        })
    }

    /// Checks that the parameters can be combined.
    ///
    /// # Errors
    /// A combination is forbidden, as upstream forbids it.
    pub(crate) fn validate(&self) -> Result<(), Status> {
        let version = self.given("resourceVersion");
        let rule = self.given("resourceVersionMatch");
        let forbidden = |field: &str, message: &str| {
            Err(Status::invalid_parameter(
                field,
                "FieldValueForbidden",
                &format!("Forbidden: {message}"),
            ))
        };
        // Clients take this error for an older API server, and fall back to a list and a watch.
        if self.get("sendInitialEvents").is_some() {
            let verb = if self.is_watch() {
                "not supported for watch"
            } else {
                "forbidden for list"
            };
            return forbidden("sendInitialEvents", &format!("sendInitialEvents is {verb}"));
        }
        if rule.is_some() && self.is_watch() {
            return forbidden(
                "resourceVersionMatch",
                "resourceVersionMatch is forbidden for watch",
            );
        }
        if rule.is_some() && version.is_none() {
            let message = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            return forbidden("resourceVersionMatch", message);
        }
        if let Some(rule) = rule.filter(|rule| !["Exact", "NotOlderThan"].contains(rule)) {
            let message = format!(
                "Unsupported value: \"{rule}\": supported values: \"Exact\", \"NotOlderThan\", \"\""
            );
            return Err(Status::invalid_parameter(
                "resourceVersionMatch",
                "FieldValueNotSupported",
                &message,
            ));
        }
        // A token has the version of its first page.
        if self.given("continue").is_some() && version.is_some_and(|version| version != "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        Ok(())
    }

    /// Returns the resource version of the request; `None` for any.
    pub(crate) fn resource_version(&self) -> Result<Option<ResourceVersion>, Status> {
        ResourceVersion::parse(self.get("resourceVersion").unwrap_or_default())
    }

    /// Returns whether the state must have exactly the resource version.
    pub(crate) fn is_exact(&self) -> bool {
        self.get("resourceVersionMatch") == Some("Exact")
    }

    /// Returns the maximum number of objects; `None` for all.
    pub(crate) fn limit(&self) -> Result<Option<usize>, Status> {
        Ok(usize::try_from(self.integer("limit")?)
            .ok()
            .filter(|limit| *limit > 0))
    }

    /// Returns the duration of a watch, at most [`MAX_WATCH_TIME`]; `None` if the request has none.
    pub(crate) fn timeout(&self) -> Result<Option<Duration>, Status> {
        let seconds = u64::try_from(self.integer("timeoutSeconds")?)
            .ok()
            .filter(|seconds| *seconds > 0);
        Ok(seconds.map(|seconds| Duration::from_secs(seconds).min(MAX_WATCH_TIME)))
    }

    /// Returns the continue token.
    pub(crate) fn continue_token(&self) -> Result<Option<ContinueToken>, Status> {
        self.given("continue").map(ContinueToken::parse).transpose()
    }

    pub(crate) fn include_object(&self) -> Result<IncludeObject, Status> {
        match self.get("includeObject").unwrap_or_default() {
            "" | "Metadata" => Ok(IncludeObject::Metadata),
            "Object" => Ok(IncludeObject::Object),
            "None" => Ok(IncludeObject::None),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: \"{other}\": must be 'Metadata', \
                 'Object', 'None', or empty"
            ))),
        }
    }

    fn integer(&self, name: &str) -> Result<i64, Status> {
        let Some(text) = self.given(name) else {
            return Ok(0);
        };
        text.parse().map_err(|_| {
            Status::bad_request(format!(
                "strconv.ParseInt: parsing \"{text}\": invalid syntax"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_have_a_limited_number_of_requirements() {
        for (name, requirement) in [
            ("labelSelector", "!a"),
            ("fieldSelector", "metadata.name!=a"),
        ] {
            let select = |count: usize| {
                let requirements = vec![requirement; count].join(",").replace('=', "%3D");
                let selection = ListOptions::parse(&format!("{name}={requirements}"))
                    .selection(ResourceKind::PackageManifest);
                selection
                    .map(|selection| selection.labels.len() + selection.fields.len())
                    .map_err(|error| error.message)
            };
            assert_eq!(select(64), Ok(64));
            assert_eq!(
                select(65),
                Err(format!(
                    "the {name} has 65 requirements: at most 64 are allowed"
                ))
            );
        }
    }

    #[test]
    fn a_watch_lasts_as_long_as_the_client_says_but_no_longer_than_an_hour() {
        for (query, expected) in [
            ("", None),
            ("timeoutSeconds=0", None),
            ("timeoutSeconds=-1", None),
            ("timeoutSeconds=300", Some(300)),
            ("timeoutSeconds=3600", Some(3_600)),
            ("timeoutSeconds=3601", Some(3_600)),
            ("timeoutSeconds=9223372036854775807", Some(3_600)),
        ] {
            assert_eq!(
                ListOptions::parse(query).timeout(),
                Ok(expected.map(Duration::from_secs)),
                "{query}"
            );
        }
    }
}
