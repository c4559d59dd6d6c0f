//! What one request may ask for: every limit as a named value, and the check of those that a document alone decides.
//!
//! The check walks the parsed document once, before it is validated: a fragment is measured once and counted wherever
//! it is spread, so fragments that double or lie in circles cost nothing. It does not know the schema.

use std::collections::HashMap;
use std::time::Duration;

use apollo_compiler::ast::{self, Definition, Selection};

use super::errors::{Code, Cost, Error};
use super::subscription::StreamLimits;

/// What one request may ask for.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of the parameters of a URL.
    pub url_bytes: usize,
    /// Tokens of a document; white space, commas and comments between others count too.
    pub tokens: usize,
    /// How deep selections, values and types may be nested in the text, fragments apart: it bounds the stack.
    pub nesting: usize,
    /// How deep fields may lie within one another, fragments resolved, introspection apart.
    pub depth: u64,
    /// Fields with an alias, fragments resolved.
    pub aliases: u64,
    /// Fields at the root, fragments resolved.
    pub root_fields: u64,
    /// Directives, fragments resolved.
    pub directives: u64,
    /// Fields of any kind, fragments resolved: it bounds the plan.
    pub fields: u64,
    /// Lists of the schema within one another in introspection, as `MaxIntrospectionDepthRule` of graphql-js has it.
    pub introspection_lists: u64,
    /// Objects that a request may produce, estimated from page sizes and assumed sizes.
    pub cost: u64,
    /// Items of a page.
    pub page_size: usize,
    /// Items of a page when the request does not say.
    pub default_page_size: usize,
    /// Items of a list in a variable; the tokens of a document bound those in its text.
    pub list_items: usize,
    /// Ids in one `nodes`.
    pub node_ids: usize,
    /// Objects that a request really produces.
    pub objects: u64,
    /// Bytes of an answer.
    pub answer_bytes: usize,
    /// Bytes of answers that clients have not taken yet, all together.
    pub in_flight_bytes: usize,
    /// Time for writing an answer.
    pub time: Duration,
    /// Documents that are kept parsed.
    pub documents: usize,
    /// Bytes of memory, roughly, for documents that are kept parsed.
    pub document_bytes: usize,
    /// Bytes of memory for answers that are kept.
    pub kept_bytes: usize,
    /// Bytes of an answer that is kept.
    pub kept_answer_bytes: usize,
    /// Bytes of an answer that is compressed: beyond them it would hold a processor for longer than making it did.
    pub compressed_bytes: usize,
    /// Whether the schema tells what it is.
    pub introspection: Introspection,
    /// What is streamed.
    pub streams: StreamLimits,
}

/// Whether the schema tells what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Introspection {
    /// To whoever asks.
    Told,
    /// To nobody.
    Refused,
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
            objects: 100_000,
            answer_bytes: 32 << 20,
            in_flight_bytes: 256 << 20,
            time: Duration::from_secs(5),
            documents: 1_000,
            document_bytes: 4 << 20,
            kept_bytes: 16 << 20,
            kept_answer_bytes: 1 << 20,
            compressed_bytes: 8 << 20,
            introspection: Introspection::Told,
            streams: StreamLimits::default(),
        }
    }
}

/// Checks every operation of a document against the limits that the document alone decides.
pub(super) fn check(document: &ast::Document, limits: &Limits) -> Result<(), Error> {
    let mut walk = Walk::default();
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

/// Sizes of a selection set, its fragments resolved. Sums saturate.
#[derive(Clone, Copy, Default)]
struct Measure {
    depth: u64,
    aliases: u64,
    directives: u64,
    fields: u64,
    /// Fields of the set itself.
    own_fields: u64,
    /// Lists of introspection within one another, wherever the set is.
    lists: u64,
    /// The same, within `__schema` or `__type`.
    introspection_lists: u64,
    /// Whether there is a `__schema` or a `__type`.
    introspects: bool,
}

/// A walk over the fragments and operations of one document.
#[derive(Default)]
struct Walk<'d> {
    definitions: HashMap<&'d str, &'d ast::FragmentDefinition>,
    /// What was measured; nothing while it is being measured, so that a circle ends. Validation refuses circles.
    measured: HashMap<&'d str, Option<Measure>>,
}

impl<'d> Walk<'d> {
    fn selections(&mut self, selections: &'d [Selection]) -> Measure {
        selections.iter().fold(Measure::default(), |sum, selection| {
            let (mut measure, directives) = match selection {
                Selection::Field(field) => (self.field(field), &field.directives),
                Selection::FragmentSpread(spread) => (self.fragment(&spread.fragment_name), &spread.directives),
                Selection::InlineFragment(inline) => (self.selections(&inline.selection_set), &inline.directives),
            };
            measure.add_directives(directives);
            sum.plus(measure)
        })
    }

    fn field(&mut self, field: &'d ast::Field) -> Measure {
        let mut measure = field.selection_set.as_ref().map_or_else(Measure::default, |set| self.selections(set));
        measure.fields = measure.fields.saturating_add(1);
        measure.aliases = measure.aliases.saturating_add(u64::from(field.alias.is_some()));
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
        let Some(&fragment) = self.definitions.get(name) else { return Measure::default() };
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
        if self.introspects && limits.introspection == Introspection::Refused {
            let message = "introspection is off: the document selects `__schema` or `__type`";
            return Err(Error::request(Code::ValidationFailed, message));
        }
        for (code, what, count, maximum) in [
            (Code::MaxDepth, "fields within one another", self.depth, limits.depth),
            (
                Code::MaxDepth,
                "lists of the schema within one another",
                self.introspection_lists,
                limits.introspection_lists,
            ),
            (Code::MaxAliases, "aliases", self.aliases, limits.aliases),
            (Code::MaxRootFields, "fields at its root", self.own_fields, limits.root_fields),
            (Code::MaxDirectives, "directives", self.directives, limits.directives),
        ] {
            if count > maximum {
                let message = format!("the operation has {count} {what}; at most {maximum} are allowed");
                return Err(Error::request(code, message));
            }
        }
        if self.fields > limits.fields {
            let cost = Cost { cost: self.fields, maximum: limits.fields };
            let message = format!("the operation selects {} fields; at most {} are allowed", cost.cost, cost.maximum);
            return Err(Error { cost: Some(cost), ..Error::request(Code::CostEstimated, message) });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
