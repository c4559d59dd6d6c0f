//! What the properties of a bundle say of it, as far as solving looks at them.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashSet;

use fbc::work::Step;
use fbc::{Bundle, GroupVersionKind, PropertyKind, REQUIREMENT_TYPES};
use fbc_grammar::range::BlangRange;
use fbc_grammar::version::Version;
use serde_json::Value;

use crate::meter::{Halt, Meter, limit};
use crate::request::{InstalledOperator, OperatorApi};
use crate::requirement::{read_api, read_label};
use crate::rule::{MAX_RULE_VALUES, Rule, RuleInput};

/// A Kubernetes API.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Api<'a> {
    pub(crate) group: Cow<'a, str>,
    pub(crate) version: Cow<'a, str>,
    pub(crate) kind: Cow<'a, str>,
}

/// A property with the text of its value.
#[derive(Clone, Debug)]
pub(crate) struct RawProperty<'a> {
    pub(crate) type_name: Cow<'a, str>,
    pub(crate) value: Cow<'a, [u8]>,
}

/// The properties of a bundle or an installed operator.
#[derive(Debug, Default)]
pub(crate) struct BundleFacts<'a> {
    /// Names of its package, each once: by its `olm.package`, and where its blob puts it.
    pub(crate) packages: Vec<Cow<'a, str>>,
    /// Number of `packages` that come from an `olm.package`.
    stated_packages: usize,
    /// Index of the package that its last `olm.package` states.
    package: usize,
    /// Its versions, by its `olm.package`.
    versions: Vec<Cow<'a, str>>,
    /// Those of its versions that are well-formed, once they were needed.
    parsed_versions: OnceCell<Box<[Version<'a>]>>,
    pub(crate) apis: Vec<Api<'a>>,
    pub(crate) labels: Vec<String>,
    /// Whether it has an `olm.deprecated`.
    pub(crate) is_deprecated: bool,
    /// Every property but manifests and display metadata.
    properties: Vec<RawProperty<'a>>,
    /// The properties as CEL rules look at them, once they were needed and if they may be kept.
    values: OnceCell<RuleInput>,
}

/// Types of properties that are not looked at: they can be large.
const IGNORED: [&str; 2] = ["olm.bundle.object", "olm.csv.metadata"];

impl<'a> BundleFacts<'a> {
    /// Reads the properties of a bundle.
    pub(crate) fn of_bundle(bundle: Bundle<'a>) -> Self {
        // There can be many bundles, most of which state one package.
        let mut facts = Self {
            packages: Vec::with_capacity(1),
            versions: Vec::with_capacity(1),
            properties: Vec::with_capacity(bundle.properties().len()),
            ..Self::default()
        };
        for property in bundle.properties() {
            let value = property.value().map_or(&b"null"[..], |value| value.raw());
            match property.kind() {
                PropertyKind::Gvk(api) => facts.apis.push(api.into()),
                PropertyKind::Package {
                    package, version, ..
                } => {
                    facts.packages.push(package.into());
                    facts.versions.push(version.into());
                }
                PropertyKind::Opaque => facts.read(property.type_name(), value),
                _ => {}
            }
            facts.keep(property.type_name().into(), value.into());
        }
        facts.close_stated();
        let name = bundle.package().name();
        if !facts.packages.iter().any(|package| package == name) {
            facts.packages.push(name.into());
        }
        let is_new = |version: &&str| facts.versions.last().is_none_or(|last| last != version);
        facts
            .versions
            .extend(bundle.version().filter(is_new).map(Cow::from));
        facts
    }

    /// Reads the properties of an installed operator, of the package of its subscriptions if they
    /// agree on one.
    pub(crate) fn of_operator(
        operator: &'a InstalledOperator,
        subscribed: Option<&'a str>,
    ) -> Self {
        let mut facts = Self::default();
        if let Some(properties) = &operator.properties {
            for property in properties {
                let value = property.value.get().as_bytes();
                facts.read(&property.type_name, value);
                facts.keep((&*property.type_name).into(), value.into());
            }
        } else {
            facts.derive(operator, subscribed);
        }
        facts.close_stated();
        if !operator.version.is_empty() {
            facts.versions.push((&*operator.version).into());
        }
        facts
    }

    /// Derives properties of an operator that states none.
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

    /// Reads a property that is not decoded yet. A malformed value says nothing.
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
            "olm.gvk" => self.apis.extend(read_api(&value)),
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

    /// Ends the packages that an `olm.package` states.
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
            self.properties.push(RawProperty { type_name, value });
        }
    }

    /// Its package, by its last `olm.package`.
    pub(crate) fn package(&self) -> Option<&Cow<'a, str>> {
        self.stated_packages().get(self.package)
    }

    /// The names of the packages that its `olm.package` states, each once.
    pub(crate) fn stated_packages(&self) -> &[Cow<'a, str>] {
        &self.packages[..self.stated_packages]
    }

    /// Returns whether one of its versions is in a range of so many comparators.
    pub(crate) fn has_version_in(
        &self,
        range: &BlangRange,
        comparators: usize,
        meter: &Meter<'_>,
    ) -> Result<bool, Halt<'static>> {
        meter.draw(
            Step::Comparison,
            self.versions.len().saturating_mul(comparators),
        )?;
        if self.parsed_versions.get().is_none() {
            meter.draw(
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
        // What installed operators state is read again each time: few state a version as a
        // property.
        for text in self
            .versions
            .iter()
            .filter(|text| matches!(text, Cow::Owned(_)))
        {
            meter.draw(Step::ParsedByte, text.len())?;
            if Version::parse(text).is_ok_and(|version| range.contains(&version)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Properties that state requirements, in order.
    pub(crate) fn requirements(
        &self,
        meter: &Meter<'_>,
    ) -> Result<Vec<&RawProperty<'a>>, Halt<'static>> {
        meter.draw(Step::Comparison, self.properties.len())?;
        let is_requirement =
            |property: &&RawProperty<'_>| REQUIREMENT_TYPES.contains(&&*property.type_name);
        Ok(self.properties.iter().filter(is_requirement).collect())
    }

    /// Evaluates a CEL rule over the properties.
    pub(crate) fn meet(&self, rule: &Rule, meter: &Meter<'_>) -> Result<bool, Halt<'static>> {
        if let Some(is_met) = rule.sketch(&self.properties, meter)? {
            return Ok(is_met);
        }
        if let Some(known) = self.values.get() {
            return rule.holds(known, meter);
        }
        meter.draw(
            Step::ParsedByte,
            self.properties
                .iter()
                .map(|property| property.value.len())
                .sum(),
        )?;
        let Some(input) = RuleInput::read(&self.properties) else {
            let what = "values in the properties of one bundle, which CEL rules look at";
            return Err(limit(&format!("more than {MAX_RULE_VALUES} {what}")));
        };
        let is_met = rule.holds(&input, meter)?;
        if meter.keeps_rule_values(input.weight()) {
            self.values.get_or_init(|| input);
        }
        Ok(is_met)
    }
}

impl<'a> From<GroupVersionKind<'a>> for Api<'a> {
    fn from(
        GroupVersionKind {
            group,
            version,
            kind,
        }: GroupVersionKind<'a>,
    ) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    }
}
