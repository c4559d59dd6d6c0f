//! The properties of a bundle or an installed operator, decoded as far as solving needs them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;

use fbc::work::Step;
use fbc::{Bundle, PropertyKind, REQUIREMENT_TYPES};
use fbc_grammar::range::BlangRange;
use fbc_grammar::version::Version;
use serde_json::Value;

use crate::budget::SolveBudget;
use crate::error::{SolveError, limit_exceeded};
use crate::property::{Gvk, RawProperty, read_gvk, read_label};
use crate::request::{InstalledOperator, OperatorApi};
use crate::rule::{MAX_RULE_VALUES, Rule, RuleInput};

/// The properties of a bundle or an installed operator.
#[derive(Debug, Default)]
pub(crate) struct EntryProperties<'a> {
    /// Names of its package without duplicates: those of its `olm.package`, and that of its blob.
    pub(crate) packages: Vec<Cow<'a, str>>,
    /// Number of `packages` that come from an `olm.package`.
    stated_packages: usize,
    /// Index of the package that its last `olm.package` states.
    package: usize,
    /// Its versions, by its `olm.package`.
    versions: Vec<Cow<'a, str>>,
    /// The well-formed ones of its versions, parsed when they are first needed.
    parsed_versions: OnceCell<Box<[Version<'a>]>>,
    pub(crate) apis: Vec<Gvk<'a>>,
    pub(crate) labels: Vec<String>,
    /// It has an `olm.deprecated`.
    pub(crate) is_deprecated: bool,
    /// Every property but manifests and display metadata.
    raw: Vec<RawProperty<'a>>,
    /// The input of CEL rules, computed when it is first needed, and kept if the budget allows.
    values: OnceCell<RuleInput>,
}

/// Types of properties that are ignored, because they can be large.
const IGNORED: [&str; 2] = ["olm.bundle.object", "olm.csv.metadata"];

impl<'a> EntryProperties<'a> {
    /// Reads the properties of a bundle.
    pub(crate) fn from_bundle(bundle: Bundle<'a>) -> Self {
        // Exact capacities: a catalog has many thousands of bundles, most of which have one package.
        let mut properties = Self {
            packages: Vec::with_capacity(1),
            versions: Vec::with_capacity(1),
            raw: Vec::with_capacity(bundle.properties().len()),
            ..Self::default()
        };
        for property in bundle.properties() {
            let value = property.value().map_or(&b"null"[..], |value| value.raw());
            match property.kind() {
                PropertyKind::Gvk(api) => properties.apis.push(api.into()),
                PropertyKind::Package {
                    package, version, ..
                } => {
                    properties.packages.push(package.into());
                    properties.versions.push(version.into());
                }
                PropertyKind::Opaque => properties.read(property.type_name(), value),
                _ => {}
            }
            properties.keep(property.type_name().into(), value.into());
        }
        properties.close_stated();
        let name = bundle.package().name();
        if !properties.packages.iter().any(|package| package == name) {
            properties.packages.push(name.into());
        }
        let is_new = |version: &&str| {
            properties
                .versions
                .last()
                .is_none_or(|last| last != version)
        };
        properties
            .versions
            .extend(bundle.version().filter(is_new).map(Cow::from));
        properties
    }

    /// Reads the properties of an installed operator, of the package of its subscriptions if they
    /// agree on one.
    pub(crate) fn from_operator(
        operator: &'a InstalledOperator,
        subscribed: Option<&'a str>,
    ) -> Self {
        let mut properties = Self::default();
        if let Some(annotated) = &operator.properties {
            for property in annotated {
                let value = property.value.get().as_bytes();
                properties.read(&property.type_name, value);
                properties.keep((&*property.type_name).into(), value.into());
            }
        } else {
            properties.derive(operator, subscribed);
        }
        properties.close_stated();
        if !operator.version.is_empty() {
            properties.versions.push((&*operator.version).into());
        }
        properties
    }

    /// Derives the properties of an operator without properties, as OLM v0 does.
    fn derive(&mut self, operator: &'a InstalledOperator, subscribed: Option<&'a str>) {
        let json = |api: &OperatorApi| {
            let group = api.name.split_once('.').map_or("", |(_, group)| group);
            serde_json::json!({"group": group, "kind": api.kind, "version": api.version})
        };
        let owned = operator.owned.iter().map(|api| ("olm.gvk", json(api)));
        let required = operator
            .required
            .iter()
            .map(|api| ("olm.gvk.required", json(api)));
        let package = subscribed.map(|name| {
            (
                "olm.package",
                serde_json::json!({"packageName": name, "version": operator.version}),
            )
        });
        for (type_name, value) in owned.chain(required).chain(package) {
            let value = value.to_string().into_bytes();
            self.read(type_name, &value);
            self.keep(type_name.into(), value.into());
        }
    }

    /// Decodes a property. A malformed value is ignored.
    fn read(&mut self, type_name: &str, value: &[u8]) {
        if type_name == "olm.deprecated" {
            self.is_deprecated = true;
        }
        if !["olm.gvk", "olm.label", "olm.package"].contains(&type_name) {
            return;
        }
        let Ok(value) = serde_json::from_slice::<Value>(value) else {
            return;
        };
        match type_name {
            "olm.gvk" => self.apis.extend(read_gvk(&value)),
            "olm.label" => self.labels.extend(read_label(&value)),
            _ => {
                let text = |key| {
                    value
                        .get(key)
                        .and_then(Value::as_str)
                        .map(|text| Cow::from(text.to_owned()))
                };
                self.packages.extend(text("packageName"));
                self.versions.extend(text("version"));
            }
        }
    }

    /// Removes duplicates of the packages so far: those that an `olm.package` states.
    fn close_stated(&mut self) {
        if let Some(last) = self
            .packages
            .last()
            .filter(|_| self.packages.len() > 1)
            .cloned()
        {
            let mut seen = HashSet::new();
            self.packages.retain(|package| seen.insert(package.clone()));
            self.package = self
                .packages
                .iter()
                .position(|package| *package == last)
                .unwrap_or_default();
        }
        self.stated_packages = self.packages.len();
    }

    fn keep(&mut self, type_name: Cow<'a, str>, value: Cow<'a, [u8]>) {
        if !IGNORED.contains(&&*type_name) {
            self.raw.push(RawProperty { type_name, value });
        }
    }

    /// Returns its package, by its last `olm.package`.
    pub(crate) fn package(&self) -> Option<&Cow<'a, str>> {
        self.stated_packages().get(self.package)
    }

    /// Returns the names of the packages that its `olm.package` states, without duplicates.
    pub(crate) fn stated_packages(&self) -> &[Cow<'a, str>] {
        &self.packages[..self.stated_packages]
    }

    /// Returns whether one of its versions is in a range with this number of comparators.
    pub(crate) fn has_version_in(
        &self,
        range: &BlangRange,
        comparators: usize,
        budget: &SolveBudget<'_>,
    ) -> Result<bool, SolveError<'static>> {
        budget.draw(
            Step::Comparison,
            self.versions.len().saturating_mul(comparators),
        )?;
        if self.parsed_versions.get().is_none() {
            budget.draw(
                Step::ParsedByte,
                self.versions.iter().map(|text| text.len()).sum(),
            )?;
        }
        let parsed = self.parsed_versions.get_or_init(|| {
            let borrowed = self.versions.iter().filter_map(|text| match text {
                Cow::Borrowed(text) => Version::parse(text).ok(),
                Cow::Owned(_) => None,
            });
            borrowed.collect()
        });
        if parsed.iter().any(|version| range.contains(version)) {
            return Ok(true);
        }
        // Versions of installed operators are parsed again each time: few of them have any.
        for text in self
            .versions
            .iter()
            .filter(|text| matches!(text, Cow::Owned(_)))
        {
            budget.draw(Step::ParsedByte, text.len())?;
            if Version::parse(text).is_ok_and(|version| range.contains(&version)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the properties that state requirements, in order.
    pub(crate) fn requirements(
        &self,
        budget: &SolveBudget<'_>,
    ) -> Result<Vec<&RawProperty<'a>>, SolveError<'static>> {
        budget.draw(Step::Comparison, self.raw.len())?;
        let is_requirement =
            |property: &&RawProperty<'_>| REQUIREMENT_TYPES.contains(&&*property.type_name);
        Ok(self.raw.iter().filter(is_requirement).collect())
    }

    /// Evaluates a CEL rule over the properties.
    pub(crate) fn meet(
        &self,
        rule: &Rule,
        budget: &SolveBudget<'_>,
    ) -> Result<bool, SolveError<'static>> {
        // The sketch decides most rules without decoding the properties, which is the slow part.
        if let Some(is_met) = rule.sketch(&self.raw, budget)? {
            return Ok(is_met);
        }
        if let Some(known) = self.values.get() {
            return rule.holds(known, budget);
        }
        budget.draw(
            Step::ParsedByte,
            self.raw.iter().map(|property| property.value.len()).sum(),
        )?;
        let Some(input) = RuleInput::read(&self.raw) else {
            let what = "values in the properties of one bundle, which CEL rules look at";
            return Err(limit_exceeded(&format!(
                "more than {MAX_RULE_VALUES} {what}"
            )));
        };
        let is_met = rule.holds(&input, budget)?;
        if budget.keeps_rule_values(input.weight()) {
            self.values.get_or_init(|| input);
        }
        Ok(is_met)
    }
}
