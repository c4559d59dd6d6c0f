//! Requirements of bundles on other bundles, and the bundles of the catalog that meet them.

use std::fmt;

use fbc_grammar::range::BlangRange;
use fbc_grammar::version::Version;
use fbc_read::json::{JsonCursor, JsonError, JsonText, is_field};

use crate::bundle::Bundle;
use crate::catalog::Catalog;
use crate::constraint::{Constraint, ConstraintRule};
use crate::find::filter::BundleFilter;
use crate::gvk::{ApiFilter, GroupVersionKind, RawGroupVersionKind};
use crate::ids::id;
use crate::package::Package;
use crate::property::{PackageRequirement, Property, PropertyKind};
use crate::work::{Step, Work, WorkStopped};

/// Something that must be met when a bundle is installed.
#[derive(Clone, Debug)]
pub struct Requirement<'a> {
    /// Type of the property that states it.
    pub property_type: &'a str,
    /// Condition that must be met.
    pub rule: RequirementRule<'a>,
}

/// Condition of a requirement.
#[derive(Clone, Debug)]
pub enum RequirementRule<'a> {
    /// An `olm.package.required`.
    Package(PackageRequirement<'a>),
    /// An `olm.gvk.required`.
    Api(GroupVersionKind<'a>),
    /// An `olm.label.required`.
    Label(String),
    /// An `olm.constraint`.
    Constraint(Constraint<'a>),
    /// A property of one of these types with a malformed value, which nothing meets.
    Malformed,
}

/// Types of properties that state a requirement.
pub const REQUIREMENT_TYPES: [&str; 4] = [
    "olm.package.required",
    "olm.gvk.required",
    "olm.label.required",
    "olm.constraint",
];

impl<'a> Bundle<'a> {
    /// Reads its requirements, in catalog order.
    pub fn requirements(self) -> Vec<Requirement<'a>> {
        self.properties().filter_map(Requirement::new).collect()
    }

    /// Returns the bundles of other packages that require its package in its version, or an API
    /// that it provides: by `olm.package.required` and `olm.gvk.required`. They are indexes in the
    /// order of [`Catalog::bundles`], ascending.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn required_by(self, work: &Work<'_>) -> Result<Vec<u32>, WorkStopped> {
        let catalog = self.catalog();
        let name = self.package().name();
        let version = self.version().and_then(|text| Version::parse(text).ok());
        let mut found = Vec::new();
        for place in requiring_package(catalog, name, work)? {
            let needs = Bundle::new(catalog, place)
                .required_packages()
                .filter(|required| required.package == name);
            for needed in needs {
                work.draw(Step::ParsedByte, needed.version_range.len())?;
                let range = BlangRange::parse(needed.version_range);
                if range.is_ok_and(|range| {
                    version
                        .as_ref()
                        .is_some_and(|version| range.contains(version))
                }) {
                    found.push(place);
                }
            }
        }
        for api in self.provided_apis() {
            found.extend(requiring_api(catalog, api, work)?);
        }
        Ok(of_other_packages(found, self.package()))
    }
}

impl Package<'_> {
    /// Returns the bundles of other packages that require this package in any version, or an API
    /// that one of its bundles provides, as [`Bundle::required_by`] does.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn required_by(self, work: &Work<'_>) -> Result<Vec<u32>, WorkStopped> {
        let catalog = self.catalog();
        let mut found = requiring_package(catalog, self.name(), work)?;
        let mut apis = Vec::new();
        for bundle in self.bundles() {
            work.draw(Step::Comparison, bundle.properties().len())?;
            apis.extend(bundle.provided_apis());
        }
        apis.sort_unstable_by_key(|api| (api.group, api.kind, api.version));
        apis.dedup();
        for api in apis {
            found.extend(requiring_api(catalog, api, work)?);
        }
        Ok(of_other_packages(found, self))
    }
}

/// Returns the bundles that require a package.
fn requiring_package(
    catalog: &Catalog,
    name: &str,
    work: &Work<'_>,
) -> Result<Vec<u32>, WorkStopped> {
    catalog.find_bundles(
        &BundleFilter {
            requires_package: Some(name),
            ..BundleFilter::default()
        },
        work,
    )
}

/// Returns the bundles that require an API in its version.
fn requiring_api(
    catalog: &Catalog,
    api: GroupVersionKind<'_>,
    work: &Work<'_>,
) -> Result<Vec<u32>, WorkStopped> {
    catalog.find_bundles(
        &BundleFilter {
            requires: Some(api.into()),
            ..BundleFilter::default()
        },
        work,
    )
}

/// Sorts the places of bundles, without duplicates and those of a package.
fn of_other_packages(mut places: Vec<u32>, package: Package<'_>) -> Vec<u32> {
    let own = package.bundle_places();
    places.retain(|&place| !own.contains(&(place as usize)));
    places.sort_unstable();
    places.dedup();
    places
}

impl<'f> From<GroupVersionKind<'f>> for ApiFilter<'f> {
    fn from(
        GroupVersionKind {
            group,
            version,
            kind,
        }: GroupVersionKind<'f>,
    ) -> Self {
        Self {
            group,
            version: Some(version),
            kind,
        }
    }
}

impl Catalog {
    /// Returns the bundles of a package with a version in a range, as indexes in the order of
    /// [`Catalog::bundles`], ascending; none if the range is malformed.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn bundles_in_range(
        &self,
        package: &str,
        range: &str,
        work: &Work<'_>,
    ) -> Result<Vec<u32>, WorkStopped> {
        work.draw(Step::ParsedByte, range.len())?;
        let (Some(package), Ok(range)) = (self.package(package), BlangRange::parse(range)) else {
            return Ok(Vec::new());
        };
        work.draw(Step::Comparison, package.bundles().len() * 2)?;
        let is_in = |bundle: &Bundle<'_>| {
            bundle
                .version()
                .and_then(|text| Version::parse(text).ok())
                .is_some_and(|version| range.contains(&version))
        };
        Ok(package
            .bundles()
            .filter(is_in)
            .map(|bundle| id(bundle.place()))
            .collect())
    }

    /// Returns the bundles that meet a requirement on their own, as indexes in the order of
    /// [`Catalog::bundles`], ascending; `None` if it has a CEL expression, which is not evaluated
    /// here.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn bundles_meeting(
        &self,
        rule: &RequirementRule<'_>,
        work: &Work<'_>,
    ) -> Result<Option<Vec<u32>>, WorkStopped> {
        match rule {
            RequirementRule::Package(required) => self
                .bundles_in_range(required.package, required.version_range, work)
                .map(Some),
            RequirementRule::Api(api) => self.bundles_providing((*api).into(), work).map(Some),
            RequirementRule::Label(label) => self.bundles_with_label(label, work).map(Some),
            RequirementRule::Constraint(constraint) => {
                self.bundles_meeting_constraint(constraint, work)
            }
            RequirementRule::Malformed => Ok(Some(Vec::new())),
        }
    }

    fn bundles_meeting_constraint(
        &self,
        constraint: &Constraint<'_>,
        work: &Work<'_>,
    ) -> Result<Option<Vec<u32>>, WorkStopped> {
        let each = |list: &[Constraint<'_>]| {
            let each = list
                .iter()
                .map(|constraint| self.bundles_meeting_constraint(constraint, work));
            each.collect::<Result<Option<Vec<_>>, _>>()
        };
        let every = || {
            work.draw(Step::Bundle, self.bundles().len())?;
            Ok((0..id(self.bundles().len())).collect::<Vec<_>>())
        };
        Ok(match &constraint.rule {
            ConstraintRule::Cel(_) => None,
            ConstraintRule::Package {
                package,
                version_range,
            } => Some(self.bundles_in_range(&package.decode(), &version_range.decode(), work)?),
            ConstraintRule::Gvk(RawGroupVersionKind {
                group,
                version,
                kind,
            }) => {
                let [group, version, kind] = [group, version, kind].map(|text| text.decode());
                let api = ApiFilter {
                    group: &group,
                    version: Some(&version),
                    kind: &kind,
                };
                Some(self.bundles_providing(api, work)?)
            }
            ConstraintRule::All(list) => match each(list)? {
                Some(lists) => {
                    let all = every()?;
                    Some(lists.iter().fold(all, |all, list| {
                        all.into_iter()
                            .filter(|place| list.binary_search(place).is_ok())
                            .collect()
                    }))
                }
                None => None,
            },
            ConstraintRule::Any(list) => each(list)?.map(|lists| {
                let mut any = lists.concat();
                any.sort_unstable();
                any.dedup();
                any
            }),
            ConstraintRule::Not(list) => match each(list)? {
                Some(lists) => {
                    let is_in_one =
                        |place: &u32| lists.iter().any(|list| list.binary_search(place).is_ok());
                    Some(
                        every()?
                            .into_iter()
                            .filter(|place| !is_in_one(place))
                            .collect(),
                    )
                }
                None => None,
            },
        })
    }

    fn bundles_providing(
        &self,
        api: ApiFilter<'_>,
        work: &Work<'_>,
    ) -> Result<Vec<u32>, WorkStopped> {
        self.find_bundles(
            &BundleFilter {
                provides: Some(api),
                ..BundleFilter::default()
            },
            work,
        )
    }

    /// Returns the bundles with a label: there is no index, because catalogs have hardly any.
    fn bundles_with_label(&self, label: &str, work: &Work<'_>) -> Result<Vec<u32>, WorkStopped> {
        let filter = BundleFilter {
            property_types: vec!["olm.label"],
            ..BundleFilter::default()
        };
        let mut found = self.find_bundles(&filter, work)?;
        found.retain(|&place| {
            let own = Bundle::new(self, place)
                .properties()
                .filter(|property| property.type_name() == "olm.label");
            own.into_iter()
                .any(|property| read_label(property).is_some_and(|own| own == label))
        });
        Ok(found)
    }
}

impl<'a> Requirement<'a> {
    fn new(property: Property<'a>) -> Option<Self> {
        let property_type = property.type_name();
        let rule = match property.kind() {
            PropertyKind::PackageRequired(required) => RequirementRule::Package(required),
            PropertyKind::GvkRequired(api) => RequirementRule::Api(api),
            PropertyKind::Constraint => property
                .constraint()
                .map_or(RequirementRule::Malformed, RequirementRule::Constraint),
            _ if property_type == "olm.label.required" => {
                read_label(property).map_or(RequirementRule::Malformed, RequirementRule::Label)
            }
            _ if REQUIREMENT_TYPES.contains(&property_type) => RequirementRule::Malformed,
            _ => return None,
        };
        Some(Self {
            property_type,
            rule,
        })
    }
}

/// Reads the value of an `olm.label` or `olm.label.required`.
fn read_label(property: Property<'_>) -> Option<String> {
    let mut label = None;
    let read = JsonCursor::new(property.value()?.raw()).object(|cursor, key| {
        if is_field(key, "label") {
            label = cursor
                .optional_text()?
                .map(|text| text.decode().into_owned());
            return Ok::<(), JsonError>(());
        }
        cursor.value().map(drop)
    });
    read.ok().and(label)
}

impl fmt::Display for RequirementRule<'_> {
    /// Writes the requirement in the words of OLM v0's messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Package(PackageRequirement {
                package,
                version_range,
            }) => {
                write!(
                    f,
                    "with package: {package} and with version in range: {version_range}"
                )
            }
            Self::Api(GroupVersionKind {
                group,
                version,
                kind,
            }) => {
                write!(
                    f,
                    "providing an API with group: {group}, version: {version}, kind: {kind}"
                )
            }
            Self::Label(label) => write!(f, "with label: {label}"),
            Self::Constraint(constraint) => write_constraint(f, constraint),
            Self::Malformed => f.write_str("malformed"),
        }
    }
}

fn write_constraint(f: &mut fmt::Formatter<'_>, constraint: &Constraint<'_>) -> fmt::Result {
    let mut joined = |list: &[Constraint<'_>], separator: &str| {
        list.iter().enumerate().try_for_each(|(at, constraint)| {
            if at > 0 {
                f.write_str(separator)?;
            }
            write_constraint(f, constraint)
        })
    };
    match &constraint.rule {
        ConstraintRule::All(list) => joined(list, " and "),
        ConstraintRule::Any(list) => joined(list, " or "),
        ConstraintRule::Not(list) => joined(list, " and not "),
        ConstraintRule::Package {
            package,
            version_range,
        } => {
            let [package, version_range] = [package, version_range].map(|text| text.decode());
            let required = PackageRequirement {
                package: &package,
                version_range: &version_range,
            };
            write!(f, "{}", RequirementRule::Package(required))
        }
        ConstraintRule::Gvk(RawGroupVersionKind {
            group,
            version,
            kind,
        }) => {
            let [group, version, kind] = [group, version, kind].map(|text| text.decode());
            let api = GroupVersionKind {
                group: &group,
                version: &version,
                kind: &kind,
            };
            write!(f, "{}", RequirementRule::Api(api))
        }
        ConstraintRule::Cel(rule) => {
            let message = constraint
                .failure_message
                .map(JsonText::decode)
                .unwrap_or_default();
            write!(
                f,
                "with constraint: \"{}\" and message: \"{message}\"",
                rule.decode()
            )
        }
    }
}
