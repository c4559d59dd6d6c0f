//! Limits of requests: every limit as a named value, and the check of those that depend on the
//! document alone.
//!
//! The check walks the parsed document once, before it is validated: a fragment is measured once
//! and counted wherever it is spread, so fragments that multiply or form cycles cost nothing to
//! measure. It does not know the schema.

mod list;

use std::collections::HashMap;
use std::time::Duration;

use apollo_compiler::ast::{self, Definition, Selection};

use super::errors::{Code, Cost, Error};

pub use list::{LimitUnit, ListedLimit};

/// Limits of requests and of the memory for responses.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum size of a request's body, in bytes.
    pub body_bytes: usize,
    /// Maximum size of the parameters of a URL, in bytes.
    pub url_bytes: usize,
    /// Maximum number of tokens of a document; white space, commas and comments between others
    /// count too.
    pub tokens: usize,
    /// Maximum nesting of selections, values and types in the text, fragments apart: it bounds the
    /// stack.
    pub nesting: usize,
    /// Maximum depth of fields within one another, fragments resolved, introspection apart.
    pub depth: u64,
    /// Maximum number of fields with an alias, fragments resolved.
    pub aliases: u64,
    /// Maximum number of fields at the root, fragments resolved.
    pub root_fields: u64,
    /// Maximum number of directives, fragments resolved.
    pub directives: u64,
    /// Maximum number of fields of any kind, fragments resolved: it bounds the plan.
    pub fields: u64,
    /// Maximum nesting of lists of introspection, as `MaxIntrospectionDepthRule` of graphql-js
    /// counts it.
    pub introspection_lists: u64,
    /// Maximum cost of a request, in objects, estimated from page sizes and assumed sizes.
    pub cost: u64,
    /// Maximum number of items of a page.
    pub page_size: usize,
    /// Number of items of a page if the request has neither `first` nor `last`.
    pub default_page_size: usize,
    /// Maximum number of items of a list in a variable; the tokens of a document bound those in its
    /// text.
    pub list_items: usize,
    /// Maximum number of ids in one `nodes`.
    pub node_ids: usize,
    /// Maximum number of installed bundles in one `availableUpgrades`.
    pub installed_packages: usize,
    /// Maximum work of a request, in units of [`fbc::work`]: each object is one, and scans,
    /// searches, sorting and decoding count too.
    pub work: u64,
    /// Maximum size of a response, in bytes.
    pub response_bytes: usize,
    /// Budget for the bytes of all responses that clients have not read yet.
    pub in_flight_bytes: usize,
    /// Maximum time for writing a response.
    pub time: Duration,
    /// Maximum number of cached documents.
    pub documents: usize,
    /// Memory for cached documents, in bytes (approximate).
    pub document_bytes: usize,
    /// Memory for cached responses, in bytes; 0 disables the cache.
    pub cache_bytes: usize,
    /// Maximum size of a cached response, in bytes.
    pub cached_response_bytes: usize,
    /// Maximum size of a response that is compressed, in bytes: compressing a larger one would take
    /// longer than writing it did.
    pub compressed_bytes: usize,
    /// Policy for reading the schema.
    pub introspection: IntrospectionPolicy,
    /// Limits of streams.
    pub streams: StreamLimits,
}

/// Limits of streams.
#[derive(Clone, Debug)]
pub struct StreamLimits {
    /// Maximum number of open subscriptions, at most half of them for one client: streams of
    /// server-sent events, and operations of WebSocket connections. As many WebSocket connections
    /// may be open.
    pub streams: usize,
    /// Maximum number of operations per WebSocket.
    pub operations: usize,
    /// Interval of keep-alive messages on a stream that has no events.
    pub ping: Duration,
    /// Time for a WebSocket to send `connection_init`.
    pub init: Duration,
    /// Interval at which the catalogs that the caller of a stream may see are renewed.
    pub renewal: Duration,
}

/// Policy for reading the schema, by introspection or as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntrospectionPolicy {
    /// Every client may read the schema.
    Enabled,
    /// No client may read the schema.
    Disabled,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 100_000,
            url_bytes: 16_000,
            tokens: 2_000,
            nesting: 64,
            depth: 15,
            aliases: 30,
            root_fields: 20,
            directives: 50,
            fields: 10_000,
            introspection_lists: 2,
            cost: 100_000,
            page_size: 500,
            default_page_size: 50,
            list_items: 1_000,
            node_ids: 100,
            installed_packages: 200,
            work: 100_000,
            response_bytes: 32 << 20,
            in_flight_bytes: 192 << 20,
            time: Duration::from_secs(5),
            documents: 1_000,
            document_bytes: 4 << 20,
            cache_bytes: 16 << 20,
            cached_response_bytes: 1 << 20,
            compressed_bytes: 8 << 20,
            introspection: IntrospectionPolicy::Enabled,
            streams: StreamLimits::default(),
        }
    }
}

impl Default for StreamLimits {
    fn default() -> Self {
        let ping = Duration::from_secs(12);
        let init = Duration::from_secs(3);
        Self {
            streams: 1_000,
            operations: 20,
            ping,
            init,
            renewal: Duration::from_mins(1),
        }
    }
}

/// Checks every operation of a document against the limits that depend on the document alone.
///
/// # Errors
/// The first limit that an operation exceeds.
pub(super) fn check(document: &ast::Document, limits: &Limits) -> Result<(), Error> {
    let mut walk = MeasureWalk::default();
    for definition in &document.definitions {
        if let Definition::FragmentDefinition(fragment) = definition {
            walk.definitions.insert(fragment.name.as_str(), fragment);
        }
    }
    for definition in &document.definitions {
        if let Definition::OperationDefinition(operation) = definition {
            let mut measure = walk.selections(&operation.selection_set);
            measure.add_directives(&operation.directives);
            for variable in &operation.variables {
                measure.add_directives(&variable.directives);
            }
            measure.check(limits)?;
        }
    }
    Ok(())
}

/// Counts of a selection set, fragments resolved. Sums saturate.
#[derive(Clone, Copy, Default)]
struct Measure {
    depth: u64,
    aliases: u64,
    directives: u64,
    fields: u64,
    /// Number of fields of the set itself, without nested ones.
    own_fields: u64,
    /// Nesting of lists of introspection, counted wherever the set is.
    lists: u64,
    /// Nesting of lists of introspection within `__schema` or `__type`.
    introspection_lists: u64,
    /// True if `__schema` or `__type` is selected.
    introspects: bool,
}

/// A walk over the fragments and operations of one document.
#[derive(Default)]
struct MeasureWalk<'d> {
    definitions: HashMap<&'d str, &'d ast::FragmentDefinition>,
    /// Fragments that were measured; `None` while one is being measured, so that a cycle ends.
    /// Validation rejects cycles.
    measured: HashMap<&'d str, Option<Measure>>,
}

impl<'d> MeasureWalk<'d> {
    fn selections(&mut self, selections: &'d [Selection]) -> Measure {
        selections
            .iter()
            .fold(Measure::default(), |sum, selection| {
                let (mut measure, directives) = match selection {
                    Selection::Field(field) => (self.field(field), &field.directives),
                    Selection::FragmentSpread(spread) => {
                        (self.fragment(&spread.fragment_name), &spread.directives)
                    }
                    Selection::InlineFragment(inline) => {
                        (self.selections(&inline.selection_set), &inline.directives)
                    }
                };
                measure.add_directives(directives);
                sum.plus(measure)
            })
    }

    fn field(&mut self, field: &'d ast::Field) -> Measure {
        let mut measure = field
            .selection_set
            .as_ref()
            .map_or_else(Measure::default, |set| self.selections(set));
        measure.fields = measure.fields.saturating_add(1);
        measure.aliases = measure
            .aliases
            .saturating_add(u64::from(field.alias.is_some()));
        measure.own_fields = 1;
        measure.depth += 1;
        match field.name.as_str() {
            "__schema" | "__type" => {
                measure.introspection_lists = measure.lists;
                measure.introspects = true;
                measure.depth = 0;
            }
            "fields" | "interfaces" | "possibleTypes" | "inputFields" => measure.lists += 1,
            _ => {}
        }
        measure
    }

    fn fragment(&mut self, name: &'d str) -> Measure {
        if let Some(measured) = self.measured.get(name) {
            return measured.unwrap_or_default();
        }
        let Some(&fragment) = self.definitions.get(name) else {
            return Measure::default();
        };
        self.measured.insert(name, None);
        let mut measure = self.selections(&fragment.selection_set);
        measure.add_directives(&fragment.directives);
        self.measured.insert(name, Some(measure));
        measure
    }
}

impl Measure {
    fn plus(self, other: Self) -> Self {
        Self {
            depth: self.depth.max(other.depth),
            aliases: self.aliases.saturating_add(other.aliases),
            directives: self.directives.saturating_add(other.directives),
            fields: self.fields.saturating_add(other.fields),
            own_fields: self.own_fields.saturating_add(other.own_fields),
            lists: self.lists.max(other.lists),
            introspection_lists: self.introspection_lists.max(other.introspection_lists),
            introspects: self.introspects || other.introspects,
        }
    }

    fn add_directives(&mut self, directives: &ast::DirectiveList) {
        self.directives = self.directives.saturating_add(directives.len() as u64);
    }

    fn check(self, limits: &Limits) -> Result<(), Error> {
        if self.introspects && limits.introspection == IntrospectionPolicy::Disabled {
            let message = "introspection is off: the document selects `__schema` or `__type`";
            return Err(Error::request(Code::ValidationFailed, message));
        }
        for (code, what, count, maximum) in [
            (
                Code::MaxDepth,
                "levels of nested fields",
                self.depth,
                limits.depth,
            ),
            (
                Code::MaxDepth,
                "levels of nested introspection lists",
                self.introspection_lists,
                limits.introspection_lists,
            ),
            (Code::MaxAliases, "aliases", self.aliases, limits.aliases),
            (
                Code::MaxRootFields,
                "root fields",
                self.own_fields,
                limits.root_fields,
            ),
            (
                Code::MaxDirectives,
                "directives",
                self.directives,
                limits.directives,
            ),
        ] {
            if count > maximum {
                let message =
                    format!("the operation has {count} {what}; at most {maximum} are allowed");
                return Err(Error::request(code, message));
            }
        }
        if self.fields > limits.fields {
            let cost = Cost {
                cost: self.fields,
                maximum: limits.fields,
            };
            let message = format!(
                "the operation selects {} fields; at most {} are allowed",
                cost.cost, cost.maximum
            );
            return Err(Error {
                cost: Some(cost),
                ..Error::request(Code::CostEstimated, message)
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
