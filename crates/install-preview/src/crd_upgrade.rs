//! CRD upgrade safety: the changes of a custom resource definition that OLM v1 refuses.
//!
//! The rules are those of crdify with the configuration of the OLM v1 controller: descriptions and
//! added values of an `enum` are no matter, every change that no check knows is refused, and served
//! versions are compared with each other unless a webhook converts them. Two schemas are walked side
//! by side. Upstream compares fields by their paths, as texts; where two fields of one schema have
//! the same text, the results may differ.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::validate::strings;

/// Maximum size of a definition that is compared, in bytes of JSON. etcd takes objects of 1.5 MiB.
pub const MAX_COMPARED_DEFINITION_BYTES: usize = 2 << 20;

/// Maximum number of fields that are compared for the difference of two bundles.
pub const MAX_COMPARED_FIELDS: usize = 1_000_000;

/// Maximum number of changes of custom resource definitions that a difference has.
pub const MAX_DEFINITION_CHANGES: usize = 10_000;

/// Maximum size of the paths and values in these changes together, in bytes.
pub const MAX_DEFINITION_CHANGE_BYTES: usize = 4 << 20;

/// Maximum length of a value in a message, in bytes.
const MAX_SHOWN_BYTES: usize = 100;

/// Maximum number of values in a message.
const MAX_SHOWN_VALUES: usize = 10;

/// The only API version that upstream checks.
const CHECKED_API_VERSION: &str = "apiextensions.k8s.io/v1";

/// Path of the whole schema.
const ROOT: &str = "^";

/// Checks that OLM v1 does not make.
pub(crate) const SERVED_VERSION_REMOVAL: &str = "servedVersionRemoval";
pub(crate) const TOO_LARGE: &str = "tooLarge";

/// Bounds of a minimum or maximum: name of the check, and whether a smaller value is stricter.
const BOUNDS: [(&str, bool); 8] = [
    ("maximum", true),
    ("maxItems", true),
    ("maxLength", true),
    ("maxProperties", true),
    ("minimum", false),
    ("minItems", false),
    ("minLength", false),
    ("minProperties", false),
];

/// Fields that are handled apart from "unhandled" ones. Children are fields of their own.
const HANDLED: [&str; 10] = [
    "default",
    "description",
    "enum",
    "items",
    "nullable",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "type",
];

/// Fields of an alternative of `oneOf` that are no matter.
const DOCUMENTATION: [&str; 4] = ["description", "example", "externalDocs", "title"];

/// A change of a definition.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FoundChange {
    /// Version, or `OLD -> NEW` for two served versions.
    pub(crate) version: Option<String>,
    /// Path of the field, which begins with `^`.
    pub(crate) field: Option<String>,
    pub(crate) check: &'static str,
    pub(crate) message: String,
}

/// Work that is left for a difference.
pub(crate) struct ComparisonBudget {
    fields: usize,
    changes: usize,
    bytes: usize,
}

/// The work exceeds a limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ExhaustedError;

/// A change of a field, whatever its place.
#[derive(Debug, PartialEq)]
struct FieldChange<'a> {
    check: &'static str,
    /// Description, without the values.
    what: &'static str,
    /// Names of the fields of a schema that changed, for changes that no check knows.
    names: Vec<&'a str>,
    old: Vec<&'a Value>,
    new: Vec<&'a Value>,
}

/// Changes of the fields of a version.
struct SchemaWalk<'a, 'b> {
    budget: &'b mut ComparisonBudget,
    /// Path of the current field.
    path: String,
    /// Length of the name of the version, which each change has.
    version_bytes: usize,
    /// A removed field is one change, whatever is below it.
    folds_removed: bool,
    found: Vec<(String, FieldChange<'a>)>,
}

impl FoundChange {
    /// Says that the comparison ended early.
    pub(crate) fn too_large() -> Self {
        Self {
            version: None,
            field: None,
            check: TOO_LARGE,
            message: "the definitions are too large, or differ too much, to be compared further"
                .to_owned(),
        }
    }
}

impl Default for ComparisonBudget {
    fn default() -> Self {
        Self {
            fields: MAX_COMPARED_FIELDS,
            changes: MAX_DEFINITION_CHANGES,
            bytes: MAX_DEFINITION_CHANGE_BYTES,
        }
    }
}

impl ComparisonBudget {
    fn spend_field(&mut self) -> Result<(), ExhaustedError> {
        self.fields = self.fields.checked_sub(1).ok_or(ExhaustedError)?;
        Ok(())
    }

    fn spend_change(&mut self, bytes: usize) -> Result<(), ExhaustedError> {
        self.changes = self.changes.checked_sub(1).ok_or(ExhaustedError)?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or(ExhaustedError)?;
        Ok(())
    }
}

/// Compares two definitions of one name, as they are rendered. What was found before a limit is in
/// `found` also then.
pub(crate) fn compare(
    old: &Value,
    new: &Value,
    budget: &mut ComparisonBudget,
    found: &mut Vec<FoundChange>,
) -> Result<(), ExhaustedError> {
    let is_checked = new["apiVersion"] == CHECKED_API_VERSION;
    if is_checked {
        whole_definition(old, new, budget, found)?;
    }
    served_versions(old, new, budget, found)?;
    if is_checked {
        same_versions(old, new, budget, found)?;
        pairs_of_versions(old, new, budget, found)?;
    }
    Ok(())
}

fn whole_definition(
    old: &Value,
    new: &Value,
    budget: &mut ComparisonBudget,
    found: &mut Vec<FoundChange>,
) -> Result<(), ExhaustedError> {
    let mut add = |check, message: String| {
        budget.spend_change(message.len())?;
        found.push(FoundChange {
            version: None,
            field: None,
            check,
            message,
        });
        Ok(())
    };
    let [old_scope, new_scope] =
        [old, new].map(|definition| definition["spec"]["scope"].as_str().unwrap_or_default());
    if old_scope != new_scope {
        let message = format!(
            "scope changes from {} to {}",
            shown_text(old_scope),
            shown_text(new_scope)
        );
        add("scope", message)?;
    }
    // A cluster stores objects in this version, and perhaps still in others.
    let stored = versions(old).find(|version| version["storage"] == true);
    if let Some(stored) = stored
        .map(name)
        .filter(|stored| version_of(new, stored).is_none())
    {
        let stored = shown_text(stored);
        let message = format!("version {stored}, in which objects are stored, is removed");
        add("storedVersionRemoval", message)?;
    }
    Ok(())
}

fn served_versions(
    old: &Value,
    new: &Value,
    budget: &mut ComparisonBudget,
    found: &mut Vec<FoundChange>,
) -> Result<(), ExhaustedError> {
    for version in versions(old).filter(|version| version["served"] == true) {
        budget.spend_field()?;
        let is_served = version_of(new, name(version)).is_some_and(|new| new["served"] == true);
        if !is_served {
            let message = format!("version {} is no longer served", shown_text(name(version)));
            budget.spend_change(message.len())?;
            found.push(FoundChange {
                version: None,
                field: None,
                check: SERVED_VERSION_REMOVAL,
                message,
            });
        }
    }
    Ok(())
}

fn same_versions(
    old: &Value,
    new: &Value,
    budget: &mut ComparisonBudget,
    found: &mut Vec<FoundChange>,
) -> Result<(), ExhaustedError> {
    for version in versions(old) {
        budget.spend_field()?;
        if let Some(other) = version_of(new, name(version)) {
            let shown = name(version).to_owned();
            let changes = schema_changes([version, other], &shown, true, budget)?;
            found.extend(changes.into_iter().map(|change| change_of(&shown, change)));
        }
    }
    Ok(())
}

/// Compares each two versions that are served, which clients take for the same API, and leaves out
/// what the old definition had as well.
fn pairs_of_versions(
    old: &Value,
    new: &Value,
    budget: &mut ComparisonBudget,
    found: &mut Vec<FoundChange>,
) -> Result<(), ExhaustedError> {
    if new["spec"]["conversion"]["strategy"] == "Webhook" {
        return Ok(());
    }
    let [old_versions, new_versions] = [old, new].map(sorted_served_versions);
    for (at, from) in new_versions.iter().enumerate() {
        for to in &new_versions[at + 1..] {
            budget.spend_field()?;
            let pair = format!("{} -> {}", name(from), name(to));
            let changes = schema_changes([from, to], &pair, false, budget)?;
            let same = |version: &Value| {
                let mut known = old_versions.iter();
                known.find(|known| name(known) == name(version)).copied()
            };
            let known = match (same(from), same(to)) {
                // Only pairs in this order exist.
                (Some(from), Some(to)) => schema_changes([from, to], &pair, false, budget)?,
                _ => Vec::new(),
            };
            let mut known_by_path: BTreeMap<&str, Vec<&FieldChange<'_>>> = BTreeMap::new();
            for (path, change) in &known {
                known_by_path.entry(path).or_default().push(change);
            }
            let is_known = |path: &str, change: &FieldChange<'_>| {
                let mut same = known_by_path.get(path).into_iter().flatten();
                same.any(|known| *known == change)
            };
            let others = changes
                .into_iter()
                .filter(|(path, change)| !is_known(path, change));
            found.extend(others.map(|change| change_of(&pair, change)));
        }
    }
    Ok(())
}

fn versions(definition: &Value) -> impl Iterator<Item = &Value> {
    definition["spec"]["versions"]
        .as_array()
        .into_iter()
        .flatten()
}

fn name(version: &Value) -> &str {
    version["name"].as_str().unwrap_or_default()
}

fn version_of<'a>(definition: &'a Value, wanted: &str) -> Option<&'a Value> {
    versions(definition).find(|version| name(version) == wanted)
}

fn sorted_served_versions(definition: &Value) -> Vec<&Value> {
    let mut served: Vec<_> = versions(definition)
        .filter(|version| version["served"] == true)
        .collect();
    served.sort_by(|one, other| compare_versions(name(one), name(other)));
    served
}

/// Orders versions as Kubernetes does: `v1alpha1`, `v1beta1`, `v1`, and before them other texts,
/// the last of the alphabet first.
fn compare_versions(one: &str, other: &str) -> Ordering {
    match (kube_version(one), kube_version(other)) {
        (Some(one), Some(other)) => one.cmp(&other),
        (None, Some(_)) => Ordering::Less,
        (Some(_), None) => Ordering::Greater,
        (None, None) => other.cmp(one),
    }
}

/// Parses `vMAJOR`, `vMAJORalphaMINOR` or `vMAJORbetaMINOR` to stability, major and minor.
fn kube_version(text: &str) -> Option<(u8, u64, u64)> {
    let number = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        text.parse::<u64>().ok().filter(|_| is_number)
    };
    let rest = text.strip_prefix('v')?;
    for (word, stability) in [("alpha", 0), ("beta", 1)] {
        if let Some((major, minor)) = rest.split_once(word) {
            return Some((stability, number(major)?, number(minor)?));
        }
    }
    Some((2, number(rest)?, 0))
}

fn change_of(version: &str, (path, change): (String, FieldChange<'_>)) -> FoundChange {
    let message = format!(
        "version {} field {}: {}",
        shown_text(version),
        shown_text(&path),
        change.describe()
    );
    FoundChange {
        version: Some(version.to_owned()),
        field: Some(path),
        check: change.check,
        message,
    }
}

/// Returns the changes between the schemas of two versions, each with its path. `label` names both.
fn schema_changes<'a>(
    versions: [&'a Value; 2],
    label: &str,
    folds_removed: bool,
    budget: &mut ComparisonBudget,
) -> Result<Vec<(String, FieldChange<'a>)>, ExhaustedError> {
    let [old, new] = versions.map(|version| &version["schema"]["openAPIV3Schema"]);
    let mut walk = SchemaWalk {
        budget,
        path: ROOT.to_owned(),
        version_bytes: label.len(),
        folds_removed,
        found: Vec::new(),
    };
    // A definition of v1 has schemas.
    if old.is_object() && new.is_object() {
        walk.field(old, Some(new))?;
    }
    Ok(walk.found)
}

impl<'a> SchemaWalk<'a, '_> {
    /// Compares a field with that of the other schema, and all fields below.
    fn field(&mut self, old: &'a Value, new: Option<&'a Value>) -> Result<(), ExhaustedError> {
        self.budget.spend_field()?;
        if new == Some(old) {
            return Ok(());
        }
        if new.is_none() && self.folds_removed {
            return self.add(FieldChange {
                check: "existingFieldRemoval",
                what: "is removed",
                names: Vec::new(),
                old: Vec::new(),
                new: Vec::new(),
            });
        }
        for change in field_changes(old, new.unwrap_or(&Value::Null)) {
            self.add(change)?;
        }
        self.children(old, new.unwrap_or(&Value::Null))
    }

    fn add(&mut self, change: FieldChange<'a>) -> Result<(), ExhaustedError> {
        self.budget
            .spend_change(self.path.len() + self.version_bytes)?;
        self.found.push((self.path.clone(), change));
        Ok(())
    }

    fn children(&mut self, old: &'a Value, new: &'a Value) -> Result<(), ExhaustedError> {
        self.child(".items", &old["items"], &new["items"])?;
        self.list(".items", &old["items"], &new["items"])?;
        for (name, step) in [
            ("allOf", ".allOf"),
            ("anyOf", ".anyOf"),
            ("oneOf", ".oneOf"),
        ] {
            self.list(step, &old[name], &new[name])?;
        }
        self.child(".not", &old["not"], &new["not"])?;
        for (name, step) in [
            ("additionalProperties", ".additionalProperties"),
            ("additionalItems", ".additionalItems"),
        ] {
            self.child(step, &old[name], &new[name])?;
        }
        self.map(&old["properties"], &new["properties"], |path, name| {
            path.push('.');
            path.push_str(name);
        })?;
        for field in ["patternProperties", "definitions", "dependencies"] {
            self.map(&old[field], &new[field], |path, name| {
                // Formatting to a string does not fail.
                let _ = write!(path, ".{field}[{name}]");
            })?;
        }
        Ok(())
    }

    /// Compares a schema at a step below the current one, if there is one: it may be a boolean, or a
    /// list.
    fn child(&mut self, step: &str, old: &'a Value, new: &'a Value) -> Result<(), ExhaustedError> {
        if !old.is_object() {
            return Ok(());
        }
        let length = self.path.len();
        self.path.push_str(step);
        self.field(old, Some(new).filter(|new| new.is_object()))?;
        self.path.truncate(length);
        Ok(())
    }

    fn list(&mut self, step: &str, old: &'a Value, new: &'a Value) -> Result<(), ExhaustedError> {
        let length = self.path.len();
        for (at, schema) in old.as_array().into_iter().flatten().enumerate() {
            let _ = write!(self.path, "{step}[{at}]");
            self.field(schema, new.get(at))?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn map(
        &mut self,
        old: &'a Value,
        new: &'a Value,
        step: impl Fn(&mut String, &str),
    ) -> Result<(), ExhaustedError> {
        let length = self.path.len();
        for (name, schema) in old.as_object().into_iter().flatten() {
            // A dependency may be a list of names.
            if schema.is_object() {
                step(&mut self.path, name);
                self.field(schema, new.get(name).filter(|new| new.is_object()))?;
                self.path.truncate(length);
            }
        }
        Ok(())
    }
}

/// Returns the changes of a field itself.
fn field_changes<'a>(old: &'a Value, new: &'a Value) -> Vec<FieldChange<'a>> {
    let mut changes = Vec::new();
    changes.extend(value_change("default", old, new));
    changes.extend(enum_change(old, new));
    for (name, is_maximum) in BOUNDS {
        changes.extend(bound_change(name, is_maximum, old, new));
    }
    changes.extend(value_change("nullable", old, new));
    changes.extend(one_of_change(old, new));
    changes.extend(value_change("pattern", old, new));
    changes.extend(required_change(old, new));
    if old.get("type") != new.get("type") {
        changes.push(FieldChange {
            check: "type",
            what: "type changes",
            names: Vec::new(),
            old: old.get("type").into_iter().collect(),
            new: new.get("type").into_iter().collect(),
        });
    }
    changes.extend(unhandled_change(old, new));
    changes
}

/// Change of a value whose addition, removal and change are all refused.
fn value_change<'a>(
    check: &'static str,
    old: &'a Value,
    new: &'a Value,
) -> Option<FieldChange<'a>> {
    let [old, new] = [old, new].map(|schema| schema.get(check));
    let what = match (check, old, new) {
        _ if old == new => return None,
        ("default", None, _) => "default is added",
        ("default", _, None) => "default is removed",
        ("default", ..) => "default changes",
        ("nullable", None, _) => "null is allowed",
        ("nullable", ..) => "null is no longer allowed",
        (_, None, _) => "pattern is added",
        (_, _, None) => "pattern is removed",
        _ => "pattern changes",
    };
    Some(FieldChange {
        check,
        what,
        names: Vec::new(),
        old: old.into_iter().filter(|_| check != "nullable").collect(),
        new: new.into_iter().filter(|_| check != "nullable").collect(),
    })
}

/// Removal of values from an `enum`, or its addition; values may be added.
fn enum_change<'a>(old: &'a Value, new: &'a Value) -> Option<FieldChange<'a>> {
    let values = |schema: &'a Value| -> BTreeMap<String, &'a Value> {
        let values = schema["enum"].as_array().into_iter().flatten();
        values.map(|value| (value.to_string(), value)).collect()
    };
    let [old, new] = [old, new].map(values);
    let removed: Vec<_> = old
        .iter()
        .filter(|(text, _)| !new.contains_key(*text))
        .map(|(_, value)| *value)
        .collect();
    let change = |what, old, new| FieldChange {
        check: "enum",
        what,
        names: Vec::new(),
        old,
        new,
    };
    if old.is_empty() && !new.is_empty() {
        let all = new.into_values().collect();
        Some(change("only some values are allowed", Vec::new(), all))
    } else if removed.is_empty() {
        None
    } else {
        Some(change("allowed values are removed", removed, Vec::new()))
    }
}

/// Addition of a bound, or one that is stricter.
fn bound_change<'a>(
    check: &'static str,
    is_maximum: bool,
    old: &'a Value,
    new: &'a Value,
) -> Option<FieldChange<'a>> {
    let [old, new] = [old, new].map(|schema| schema.get(check));
    let what = match (old.and_then(Value::as_f64), new.and_then(Value::as_f64)) {
        (None, Some(_)) if is_maximum => "maximum is added",
        (None, Some(_)) => "minimum is added",
        (Some(old), Some(new)) if is_maximum && new < old => "maximum decreases",
        (Some(old), Some(new)) if !is_maximum && new > old => "minimum increases",
        _ => return None,
    };
    Some(FieldChange {
        check,
        what,
        names: Vec::new(),
        old: old.into_iter().collect(),
        new: new.into_iter().collect(),
    })
}

/// Change of the alternatives of `oneOf`, whatever their order.
fn one_of_change<'a>(old: &'a Value, new: &'a Value) -> Option<FieldChange<'a>> {
    let alternatives = |schema: &'a Value| -> BTreeMap<String, &'a Value> {
        let schemas = schema["oneOf"].as_array().into_iter().flatten();
        schemas
            .map(|schema| (undocumented(schema).to_string(), schema))
            .collect()
    };
    let [old, new] = [old, new].map(alternatives);
    let beyond = |ones: &BTreeMap<String, &'a Value>, others: &BTreeMap<String, &'a Value>| {
        let missing = ones.iter().filter(|(text, _)| !others.contains_key(*text));
        missing.map(|(_, schema)| *schema).collect::<Vec<_>>()
    };
    let [removed, added] = [beyond(&old, &new), beyond(&new, &old)];
    let change = |what, old, new| {
        Some(FieldChange {
            check: "oneOf",
            what,
            names: Vec::new(),
            old,
            new,
        })
    };
    if old.is_empty() && !added.is_empty() {
        change("alternatives (oneOf) are prescribed", Vec::new(), added)
    } else if !removed.is_empty() {
        change("alternatives (oneOf) are removed", removed, Vec::new())
    } else if !added.is_empty() {
        change("alternatives (oneOf) are added", Vec::new(), added)
    } else {
        None
    }
}

fn undocumented(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.retain(|name, _| !DOCUMENTATION.contains(&name.as_str()));
    }
    schema
}

/// Addition of required fields.
fn required_change<'a>(old: &'a Value, new: &'a Value) -> Option<FieldChange<'a>> {
    let old: BTreeSet<_> = strings(&old["required"]).collect();
    let added = new["required"].as_array().into_iter().flatten();
    let added: BTreeMap<_, _> = added
        .filter_map(|name| name.as_str().map(|text| (text, name)))
        .filter(|(text, _)| !old.contains(text))
        .collect();
    (!added.is_empty()).then(|| FieldChange {
        check: "required",
        what: "fields are required",
        names: Vec::new(),
        old: Vec::new(),
        new: added.into_values().collect(),
    })
}

/// Changes that no other check knows.
fn unhandled_change<'a>(old: &'a Value, new: &'a Value) -> Option<FieldChange<'a>> {
    let fields = |schema: &'a Value| schema.as_object().into_iter().flatten();
    let [old, new] = [old, new].map(fields);
    let is_unhandled =
        |name: &str| !HANDLED.contains(&name) && !BOUNDS.iter().any(|(bound, _)| *bound == name);
    let mut pairs: BTreeMap<&'a str, [Option<&'a Value>; 2]> = BTreeMap::new();
    for (name, value) in old.filter(|(name, _)| is_unhandled(name)) {
        pairs.entry(name).or_default()[0] = Some(value);
    }
    for (name, value) in new.filter(|(name, _)| is_unhandled(name)) {
        pairs.entry(name).or_default()[1] = Some(value);
    }
    pairs.retain(|_, [old, new]| old != new);
    (!pairs.is_empty()).then(|| FieldChange {
        check: "unhandled",
        what: "changes in a way that no check knows",
        names: pairs.keys().copied().collect(),
        old: pairs.values().filter_map(|[old, _]| *old).collect(),
        new: pairs.values().filter_map(|[_, new]| *new).collect(),
    })
}

impl FieldChange<'_> {
    fn describe(&self) -> String {
        if !self.names.is_empty() {
            let names = self.names.iter().take(MAX_SHOWN_VALUES);
            let names: Vec<_> = names.copied().collect();
            return format!("{}: {}", self.what, names.join(", "));
        }
        match (&self.old[..], &self.new[..]) {
            ([], []) => self.what.to_owned(),
            (values, []) | ([], values) => format!("{}: {}", self.what, shown(values)),
            (old, new) => format!("{} from {} to {}", self.what, shown(old), shown(new)),
        }
    }
}

fn shown(values: &[&Value]) -> String {
    let mut texts: Vec<_> = values
        .iter()
        .take(MAX_SHOWN_VALUES)
        .map(|value| shown_text(&value.to_string()).into_owned())
        .collect();
    if values.len() > MAX_SHOWN_VALUES {
        texts.push(format!("… ({} in all)", values.len()));
    }
    texts.join(", ")
}

/// Cuts a text to what a message shows of it.
fn shown_text(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_SHOWN_BYTES {
        text.into()
    } else {
        let end = text.floor_char_boundary(MAX_SHOWN_BYTES);
        format!("{}…", &text[..end]).into()
    }
}
