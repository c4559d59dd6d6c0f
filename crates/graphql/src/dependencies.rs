//! The cache scope of an operation: which catalogs its responses depend on, so that changes of
//! other catalogs do not change its validators.
//!
//! It is computed once per document, from `@cacheScope` and the arguments: names are literals or in
//! variables. In doubt the scope is every catalog. A catalog too many makes a validator change too
//! often; one too few would make it wrong.

use std::collections::{BTreeMap, HashSet};

use apollo_compiler::ast;
use apollo_compiler::executable::{Field, Operation, Selection, SelectionSet};
use apollo_compiler::{ExecutableDocument, Node};
use serde_json::{Map, Value};
use serving::Snapshot;

use super::fields::{FieldId, FieldScope, QueryField, facts};

/// Dependencies of the responses to an operation, besides its document.
#[derive(Debug, PartialEq)]
pub(super) struct Dependencies {
    /// Names of the variables that the operation declares; it ignores others.
    variables: Box<[Box<str>]>,
    scope: CacheScope,
    /// True if responses depend on the build and the flags of the server.
    reads_server: bool,
    /// Digests that pin each field at the root, if nothing else than the content is selected.
    pins: Option<Vec<CatalogNames>>,
    /// Values that must be absent for the response to depend on the content alone.
    conditions: Vec<CatalogNames>,
}

#[derive(Debug, PartialEq)]
enum CacheScope {
    /// More than the catalogs served now, such as former contents: no two responses need to be the
    /// same.
    Volatile,
    /// Every catalog, and which catalogs there are.
    EveryCatalog,
    /// The catalogs of these names, whether they are served or not.
    Named(Vec<CatalogNames>),
}

/// A place where an operation names catalogs or digests.
#[derive(Debug, PartialEq)]
enum CatalogNames {
    /// A literal of the document.
    Literal(Box<str>),
    /// A member of the value of a variable, which is a string or a list of strings.
    Variable {
        variable: Box<str>,
        path: Path,
        default: Value,
    },
}

/// Path of the one member of a filter that depends on more than the content: `METADATA` of
/// `@cacheScope`.
const METADATA_CONDITION: Path = &["problemSeverity"];

/// Path of members of input objects.
type Path = &'static [&'static str];

/// The catalogs in the cache scope of one request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScopedCatalogs<'a> {
    /// Every catalog.
    Every,
    /// The catalogs of these names.
    Named(Vec<&'a str>),
}

impl Dependencies {
    /// Computes the dependencies of an operation of a valid document.
    pub(super) fn new(document: &ExecutableDocument, operation: &Operation) -> Self {
        let mut walk = DependencyWalk {
            document,
            operation,
            seen: HashSet::new(),
            scope: CacheScope::Named(Vec::new()),
            reads_server: false,
            pins: Some(Vec::new()),
            conditions: Vec::new(),
            lists_packages: false,
            counts_catalogs: false,
        };
        // The response to a subscription also depends on the catalogs that were reported before.
        if !operation.is_query() {
            walk.scope = CacheScope::Volatile;
        }
        walk.selections(&operation.selection_set);
        // The facet counts the packages of catalogs that the field does not select, too.
        if walk.lists_packages && walk.counts_catalogs {
            walk.widen();
        }
        let pins = walk.pins.filter(|pins| !pins.is_empty());
        let variables = operation
            .variables
            .iter()
            .map(|definition| definition.name.as_str().into())
            .collect();
        let reads_server = walk.reads_server;
        let conditions = walk.conditions;
        Self {
            variables,
            scope: walk.scope,
            reads_server,
            pins,
            conditions,
        }
    }

    /// Returns whether responses depend on the build and the flags of the server.
    pub(super) fn reads_server(&self) -> bool {
        self.reads_server
    }

    /// Returns those of the variables of a request that the operation declares.
    pub(super) fn declared<'v>(
        &self,
        variables: &'v Map<String, Value>,
    ) -> BTreeMap<&'v str, &'v Value> {
        // Others in the key would let clients fill the cache with copies of one response.
        let is_declared = |name: &str| self.variables.iter().any(|declared| **declared == *name);
        let pairs = variables.iter().map(|(name, value)| (name.as_str(), value));
        pairs.filter(|(name, _)| is_declared(name)).collect()
    }

    /// Returns the cache scope with these variables; `None` if responses depend on more than what
    /// is served now.
    pub(super) fn catalogs<'a>(
        &'a self,
        variables: &'a Map<String, Value>,
    ) -> Option<ScopedCatalogs<'a>> {
        match &self.scope {
            CacheScope::Volatile => None,
            CacheScope::EveryCatalog => Some(ScopedCatalogs::Every),
            CacheScope::Named(texts) => Some(
                read_all(texts, variables).map_or(ScopedCatalogs::Every, ScopedCatalogs::Named),
            ),
        }
    }

    /// Returns whether a complete response stays the same whatever is published later, because it
    /// only reads contents that are named by digest.
    pub(super) fn is_immutable(&self, variables: &Map<String, Value>, snapshot: &Snapshot) -> bool {
        let Some(pins) = &self.pins else { return false };
        let Some(ScopedCatalogs::Named(names)) = self.catalogs(variables) else {
            return false;
        };
        if self
            .conditions
            .iter()
            .any(|condition| condition.is_given(variables))
        {
            return false;
        }
        // A catalog that is not served is `null`, whatever digest the request names.
        read_all(pins, variables).is_some() && names.iter().all(|name| snapshot.get(name).is_some())
    }
}

impl CatalogNames {
    /// Returns the strings of a literal at a path; `None` if they depend on more than the literal
    /// and variables.
    fn from_literal(literal: &ast::Value, path: Path, operation: &Operation) -> Option<Vec<Self>> {
        match (literal, path) {
            (ast::Value::Variable(name), _) => {
                let definition = operation
                    .variables
                    .iter()
                    .find(|definition| definition.name == *name);
                let default = definition.and_then(|definition| definition.default_value.as_ref());
                let default = default.map_or(Value::Null, |default| constant(default));
                Some(vec![Self::Variable {
                    variable: name.as_str().into(),
                    path,
                    default,
                }])
            }
            (ast::Value::Object(members), [first, rest @ ..]) => {
                let (_, value) = members.iter().find(|(name, _)| name == first)?;
                Self::from_literal(value, rest, operation)
            }
            (ast::Value::Enum(name), []) => Some(vec![Self::Literal(name.as_str().into())]),
            (ast::Value::String(text), []) => Some(vec![Self::Literal(text.as_str().into())]),
            (ast::Value::List(items), []) if !items.is_empty() => {
                let texts = items
                    .iter()
                    .map(|item| Self::from_literal(item, path, operation));
                texts
                    .collect::<Option<Vec<_>>>()
                    .map(|texts| texts.into_iter().flatten().collect())
            }
            _ => None,
        }
    }

    /// Returns whether there is a value other than `null`.
    fn is_given(&self, variables: &Map<String, Value>) -> bool {
        match self {
            Self::Literal(_) => true,
            Self::Variable {
                variable,
                path,
                default,
            } => {
                let value = variables.get(&**variable).unwrap_or(default);
                !path
                    .iter()
                    .fold(value, |value, member| &value[member])
                    .is_null()
            }
        }
    }

    /// Appends the strings to `into`; `None` if there are none, which selects every catalog.
    fn read<'a>(
        &'a self,
        variables: &'a Map<String, Value>,
        into: &mut Vec<&'a str>,
    ) -> Option<()> {
        match self {
            Self::Literal(text) => into.push(text),
            Self::Variable {
                variable,
                path,
                default,
            } => {
                let value = variables.get(&**variable).unwrap_or(default);
                match path.iter().fold(value, |value, member| &value[member]) {
                    Value::String(text) => into.push(text),
                    Value::Array(items) if !items.is_empty() => {
                        items
                            .iter()
                            .try_for_each(|item| item.as_str().map(|text| into.push(text)))?;
                    }
                    _ => return None,
                }
            }
        }
        Some(())
    }
}

fn read_all<'a>(
    texts: &'a [CatalogNames],
    variables: &'a Map<String, Value>,
) -> Option<Vec<&'a str>> {
    let mut read = Vec::with_capacity(texts.len());
    texts
        .iter()
        .try_for_each(|texts| texts.read(variables, &mut read))?;
    Some(read)
}

/// Returns the value of a literal without variables, reduced to strings, enum values and the lists
/// and objects around them.
fn constant(literal: &ast::Value) -> Value {
    match literal {
        ast::Value::String(text) => text.as_str().into(),
        ast::Value::Enum(name) => name.as_str().into(),
        ast::Value::List(items) => items.iter().map(|item| constant(item)).collect(),
        ast::Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.to_string(), constant(value)))
            .collect::<Map<_, _>>()
            .into(),
        _ => Value::Null,
    }
}

/// Walk over everything that an operation may select; `@skip` and `@include` are ignored.
struct DependencyWalk<'d> {
    document: &'d ExecutableDocument,
    operation: &'d Operation,
    seen: HashSet<&'d str>,
    scope: CacheScope,
    reads_server: bool,
    pins: Option<Vec<CatalogNames>>,
    conditions: Vec<CatalogNames>,
    lists_packages: bool,
    counts_catalogs: bool,
}

impl<'d> DependencyWalk<'d> {
    fn selections(&mut self, set: &'d SelectionSet) {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    let id = FieldId::from_names(&set.ty, &field.name);
                    match (id, facts(id).scope) {
                        (FieldId::Query(name), _) => self.root(name, field),
                        (FieldId::Other, _)
                            if field.name == "__schema" || field.name == "__type" =>
                        {
                            self.pins = None;
                        }
                        (_, FieldScope::Metadata) => self.pins = None,
                        (_, FieldScope::Volatile) => self.scope = CacheScope::Volatile,
                        (_, FieldScope::EveryCatalog) => self.counts_catalogs = true,
                        _ => {}
                    }
                    if let Some(filter) = field.specified_argument_by_name("filter") {
                        let conditions =
                            CatalogNames::from_literal(filter, METADATA_CONDITION, self.operation);
                        self.conditions.extend(conditions.into_iter().flatten());
                    }
                    field
                        .selection_set
                        .iter()
                        .for_each(|set| self.selections(set));
                }
                Selection::InlineFragment(inline) => self.selections(&inline.selection_set),
                Selection::FragmentSpread(spread) => {
                    if self.seen.insert(&spread.fragment_name)
                        && let Some(fragment) = self.document.fragments.get(&spread.fragment_name)
                    {
                        self.selections(&fragment.selection_set);
                    }
                }
            }
        }
    }

    fn root(&mut self, name: QueryField, field: &'d Node<Field>) {
        let (argument, path) = match facts(FieldId::Query(name)).scope {
            FieldScope::Argument(argument, path) => (argument, path),
            FieldScope::Volatile => {
                self.scope = CacheScope::Volatile;
                return;
            }
            FieldScope::Server => {
                (self.reads_server, self.pins) = (true, None);
                return;
            }
            FieldScope::EveryCatalog | FieldScope::Parent | FieldScope::Metadata => {
                return self.widen();
            }
        };
        self.lists_packages |= name == QueryField::Packages;
        let texts = |argument: &str, path| {
            let written = field.specified_argument_by_name(argument);
            written.and_then(|literal| CatalogNames::from_literal(literal, path, self.operation))
        };
        let digest = (name == QueryField::Catalog)
            .then(|| texts("digest", &[]))
            .flatten();
        match (&mut self.pins, digest) {
            (Some(pins), Some(digest)) => pins.extend(digest),
            (pins, _) => *pins = None,
        }
        match (texts(argument, path), &mut self.scope) {
            (Some(texts), CacheScope::Named(all)) => all.extend(texts),
            (None, _) => self.widen(),
            (Some(_), CacheScope::EveryCatalog | CacheScope::Volatile) => {}
        }
    }

    /// Widens the scope to every catalog.
    fn widen(&mut self) {
        if self.scope != CacheScope::Volatile {
            self.scope = CacheScope::EveryCatalog;
        }
    }
}

#[cfg(test)]
mod tests;
