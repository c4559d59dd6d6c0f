//! Which catalogs an operation asks for, so that what becomes of the others changes no tag of its answers.
//!
//! It is worked out once, from the checked document, and kept with it: names stand there, or in variables. What is in
//! doubt asks for all. A catalog too many makes a tag change too often; one too few would make it lie.

use std::collections::HashSet;

use apollo_compiler::ast;
use apollo_compiler::executable::{Field, Operation, Selection, SelectionSet};
use apollo_compiler::{ExecutableDocument, Node};
use serde_json::{Map, Value};
use serving::Snapshot;

use super::fields::{FieldId, FieldScope, QueryField, facts};

/// What the answers to an operation depend on besides its document and its variables.
#[derive(Debug, PartialEq)]
pub(super) struct Dependencies {
    reach: CacheScope,
    /// The digests that pin each field at the root, when nothing but what they tell is selected.
    pins: Option<Vec<Texts>>,
}

#[derive(Debug, PartialEq)]
enum CacheScope {
    /// Also what is no longer served: no two answers need be the same.
    History,
    /// Every catalog, and which ones there are.
    All,
    /// These catalogs, be they served or not.
    Named(Vec<Texts>),
}

/// Where texts stand.
#[derive(Debug, PartialEq)]
enum Texts {
    /// In the document.
    Written(Box<str>),
    /// At a place in the value of a variable, which is one text or a list of them.
    Given { variable: Box<str>, path: Path, default: Value },
}

/// The members of input objects that lead to a value.
type Path = &'static [&'static str];

/// The catalogs that one request asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ScopedCatalogs<'a> {
    /// Every one.
    Every,
    /// Those of these names.
    Named(Vec<&'a str>),
}

impl Dependencies {
    /// What an operation of a checked document asks for.
    pub(super) fn new(document: &ExecutableDocument, operation: &Operation) -> Self {
        let mut walk = Walk {
            document,
            operation,
            seen: HashSet::new(),
            reach: CacheScope::Named(Vec::new()),
            pins: Some(Vec::new()),
            lists_packages: false,
            counts_catalogs: false,
        };
        if !operation.is_query() {
            walk.reach = CacheScope::History;
        }
        walk.selections(&operation.selection_set);
        // How many packages each catalog has is told of those that are not asked for too.
        if walk.lists_packages && walk.counts_catalogs {
            walk.all();
        }
        Self { reach: walk.reach, pins: walk.pins.filter(|pins| !pins.is_empty()) }
    }

    /// The catalogs that are asked for with these variables; nothing when answers depend on more than them.
    pub(super) fn catalogs<'a>(&'a self, variables: &'a Map<String, Value>) -> Option<ScopedCatalogs<'a>> {
        match &self.reach {
            CacheScope::History => None,
            CacheScope::All => Some(ScopedCatalogs::Every),
            CacheScope::Named(texts) => {
                Some(read_all(texts, variables).map_or(ScopedCatalogs::Every, ScopedCatalogs::Named))
            }
        }
    }

    /// Whether a complete answer stays what it is, whatever is served later: it is all about contents that are named by
    /// their digests.
    pub(super) fn is_immutable(&self, variables: &Map<String, Value>, snapshot: &Snapshot) -> bool {
        let Some(pins) = &self.pins else { return false };
        let Some(ScopedCatalogs::Named(names)) = self.catalogs(variables) else { return false };
        // A catalog that is not there is `null`, digest or not.
        read_all(pins, variables).is_some() && names.iter().all(|name| snapshot.get(name).is_some())
    }
}

impl Texts {
    /// The texts of a literal at a place in it; nothing when that is not known from it and variables.
    fn of(literal: &ast::Value, path: Path, operation: &Operation) -> Option<Vec<Self>> {
        match (literal, path) {
            (ast::Value::Variable(name), _) => {
                let definition = operation.variables.iter().find(|definition| definition.name == *name);
                let default = definition.and_then(|definition| definition.default_value.as_ref());
                let default = default.map_or(Value::Null, |default| constant(default));
                Some(vec![Self::Given { variable: name.as_str().into(), path, default }])
            }
            (ast::Value::Object(members), [first, rest @ ..]) => {
                let (_, value) = members.iter().find(|(name, _)| name == first)?;
                Self::of(value, rest, operation)
            }
            (ast::Value::String(text), []) => Some(vec![Self::Written(text.as_str().into())]),
            (ast::Value::List(items), []) if !items.is_empty() => {
                let texts = items.iter().map(|item| Self::of(item, path, operation));
                texts.collect::<Option<Vec<_>>>().map(|texts| texts.into_iter().flatten().collect())
            }
            _ => None,
        }
    }

    /// Adds the texts; nothing when there are none, which stands for all where a list is asked for.
    fn read<'a>(&'a self, variables: &'a Map<String, Value>, into: &mut Vec<&'a str>) -> Option<()> {
        match self {
            Self::Written(text) => into.push(text),
            Self::Given { variable, path, default } => {
                let value = variables.get(&**variable).unwrap_or(default);
                match path.iter().fold(value, |value, member| &value[member]) {
                    Value::String(text) => into.push(text),
                    Value::Array(items) if !items.is_empty() => {
                        items.iter().try_for_each(|item| item.as_str().map(|text| into.push(text)))?;
                    }
                    _ => return None,
                }
            }
        }
        Some(())
    }
}

fn read_all<'a>(texts: &'a [Texts], variables: &'a Map<String, Value>) -> Option<Vec<&'a str>> {
    let mut read = Vec::with_capacity(texts.len());
    texts.iter().try_for_each(|texts| texts.read(variables, &mut read))?;
    Some(read)
}

/// The texts of a literal without variables, and what they are in; everything else is as good as absent.
fn constant(literal: &ast::Value) -> Value {
    match literal {
        ast::Value::String(text) => text.as_str().into(),
        ast::Value::List(items) => items.iter().map(|item| constant(item)).collect(),
        ast::Value::Object(members) => {
            members.iter().map(|(name, value)| (name.to_string(), constant(value))).collect::<Map<_, _>>().into()
        }
        _ => Value::Null,
    }
}

/// A walk over everything that an operation may select; `@skip` and `@include` count for nothing.
struct Walk<'d> {
    document: &'d ExecutableDocument,
    operation: &'d Operation,
    seen: HashSet<&'d str>,
    reach: CacheScope,
    pins: Option<Vec<Texts>>,
    lists_packages: bool,
    counts_catalogs: bool,
}

impl<'d> Walk<'d> {
    fn selections(&mut self, set: &'d SelectionSet) {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => {
                    let id = FieldId::from_names(&set.ty, &field.name);
                    match (id, facts(id).scope) {
                        (FieldId::Query(name), _) => self.root(name, field),
                        (FieldId::Other, _) if field.name == "__schema" || field.name == "__type" => self.pins = None,
                        (_, FieldScope::Metadata) => self.pins = None,
                        (_, FieldScope::EveryCatalog) => self.counts_catalogs = true,
                        _ => {}
                    }
                    field.selection_set.iter().for_each(|set| self.selections(set));
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
                self.reach = CacheScope::History;
                return;
            }
            FieldScope::EveryCatalog | FieldScope::Parent | FieldScope::Metadata => return self.all(),
        };
        self.lists_packages |= name == QueryField::Packages;
        let texts = |argument: &str, path| {
            let written = field.specified_argument_by_name(argument);
            written.and_then(|literal| Texts::of(literal, path, self.operation))
        };
        let digest = (name == QueryField::Catalog).then(|| texts("digest", &[])).flatten();
        match (&mut self.pins, digest) {
            (Some(pins), Some(digest)) => pins.extend(digest),
            (pins, _) => *pins = None,
        }
        match (texts(argument, path), &mut self.reach) {
            (Some(texts), CacheScope::Named(all)) => all.extend(texts),
            (None, _) => self.all(),
            (Some(_), CacheScope::All | CacheScope::History) => {}
        }
    }

    /// Every catalog is asked for, or even more.
    fn all(&mut self) {
        if self.reach != CacheScope::History {
            self.reach = CacheScope::All;
        }
    }
}

#[cfg(test)]
mod tests;
