//! Checks of an installed operator: upstream's, under its letters, as a table. They read objects and
//! what served catalogs offer, and neither a cluster nor a server.

use fbc_grammar::olm::{OLM_V0_GROUP, OLM_V0_RESOURCES, OLM_V1_GROUP, UNRESOLVED_TYPES};
use printing::text;
use serde_json::{Value, json};

use super::listed;
use super::objects::MigrationKind;
use super::operator::{CsvProperties, InstalledOperator, supported_modes};

/// Repository of upstream's tool.
pub(super) const UPSTREAM: &str = "operator-framework/library-olm";

/// Commits of upstream's files that the checks were compared with, the newest that could be read.
pub(super) const COMPARED_WITH: [(&str, &str); 5] = [
    (
        "specs/20260821-migration-v0-to-v1/requirements.md",
        "11060c9ad73c",
    ),
    ("migration/pkg/migration/compatibility.go", "4bfca30fc509"),
    ("migration/pkg/migration/readiness.go", "4b0aff3bb852"),
    ("migration/pkg/migration/scan.go", "17bc42acc285"),
    (
        "migration/pkg/catalogmigration/catalogmigration.go",
        "2b9cf63f8c80",
    ),
];

/// Code of the check whose failure is a status of its own.
pub(super) const CONFLICT: &str = "CONFLICT";

/// Code of the check of the operator itself.
const INSTALLED: &str = "INSTALLED";

/// A check as a row of the table.
pub(super) struct MigrationCheck {
    /// Upstream's letters; a word for a check that has none there.
    pub(super) code: &'static str,
    /// Condition that passes the check.
    pub(super) title: &'static str,
    /// Flag of upstream's tool that overrides it.
    pub(super) acknowledgement: Option<&'static str>,
    /// Kinds without which the result is unknown.
    pub(super) needs: &'static [MigrationKind],
    find: fn(&InstalledOperator<'_>) -> Vec<CheckFault>,
}

/// Result of a check, in the order of severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CheckResult {
    Passed,
    Unknown,
    Failed,
}

/// A check of one operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CheckFinding {
    pub(super) code: &'static str,
    pub(super) result: CheckResult,
    /// Reasons in English; empty if it passed.
    pub(super) message: String,
    /// Flag of upstream's tool that overrides the failure.
    pub(super) acknowledgement: Option<&'static str>,
}

/// A reason against moving an operator.
enum CheckFault {
    /// Overridden by the flag of the check.
    Soft(String),
    /// Not overridden by any flag.
    Hard(String),
    Unknown(String),
}

/// The checks, in the order of the output.
pub(super) const CHECKS: [MigrationCheck; 16] = [
    MigrationCheck {
        code: CONFLICT,
        title: "no ClusterExtension was made from the Subscription",
        acknowledgement: None,
        needs: &[MigrationKind::ClusterExtension],
        find: conflict,
    },
    MigrationCheck {
        code: "NAME",
        title: "no ClusterExtension has the name",
        acknowledgement: None,
        needs: &[MigrationKind::ClusterExtension],
        find: taken_name,
    },
    MigrationCheck {
        code: INSTALLED,
        title: "an operator is installed",
        acknowledgement: None,
        needs: &[MigrationKind::ClusterServiceVersion],
        find: installed,
    },
    MigrationCheck {
        code: "UNIQUE",
        title: "no other Subscription has the package",
        acknowledgement: None,
        needs: &[],
        find: unique,
    },
    MigrationCheck {
        code: "C1",
        title: "it watches all namespaces",
        acknowledgement: Some("--acknowledge-watch-scope-change"),
        needs: &[MigrationKind::OperatorGroup],
        find: watch_scope,
    },
    MigrationCheck {
        code: "C1a",
        title: "it supports all namespaces",
        acknowledgement: None,
        needs: &[MigrationKind::ClusterServiceVersion],
        find: all_namespaces,
    },
    MigrationCheck {
        code: "C2",
        title: "it has no dependencies",
        acknowledgement: None,
        needs: &[MigrationKind::ClusterServiceVersion],
        find: dependencies,
    },
    MigrationCheck {
        code: "C3",
        title: "it provides no aggregated API",
        acknowledgement: None,
        needs: &[MigrationKind::ClusterServiceVersion],
        find: api_services,
    },
    MigrationCheck {
        code: "C4",
        title: "it sets no OperatorCondition",
        acknowledgement: Some("--acknowledge-operator-condition"),
        needs: &[
            MigrationKind::ClusterServiceVersion,
            MigrationKind::OperatorCondition,
        ],
        find: operator_condition,
    },
    MigrationCheck {
        code: "C5",
        title: "it has no rights on OLM v0 alone",
        acknowledgement: Some("--acknowledge-olmv0-api-access"),
        needs: &[MigrationKind::ClusterServiceVersion],
        find: olm_v0_rights,
    },
    MigrationCheck {
        code: "C6",
        title: "it is installed without a scoped ServiceAccount",
        acknowledgement: Some("--acknowledge-scoped-serviceaccount"),
        needs: &[MigrationKind::OperatorGroup],
        find: scoped_account,
    },
    MigrationCheck {
        code: "C7",
        title: "a ClusterCatalog serves package, version and channel",
        acknowledgement: None,
        needs: &[
            MigrationKind::ClusterServiceVersion,
            MigrationKind::ClusterCatalog,
        ],
        find: catalog,
    },
    MigrationCheck {
        code: "C8",
        title: "it is at a steady state",
        acknowledgement: Some("--acknowledge-not-steady-state"),
        needs: &[MigrationKind::ClusterServiceVersion],
        find: steady_state,
    },
    MigrationCheck {
        code: "C9",
        title: "OLM has not installed it as a dependency",
        acknowledgement: None,
        needs: &[],
        find: generated,
    },
    MigrationCheck {
        code: "C10",
        title: "its CatalogSource has an image",
        acknowledgement: None,
        needs: &[MigrationKind::CatalogSource],
        find: catalog_source,
    },
    MigrationCheck {
        code: "OLM_V1",
        title: "OLM v1 can install the bundle, as the catalog has it",
        acknowledgement: None,
        needs: &[
            MigrationKind::ClusterServiceVersion,
            MigrationKind::ClusterCatalog,
        ],
        find: installable,
    },
];

impl CheckResult {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Unknown => "UNKNOWN",
            Self::Failed => "FAILED",
        }
    }
}

impl CheckFault {
    fn result(&self) -> CheckResult {
        match self {
            Self::Soft(_) | Self::Hard(_) => CheckResult::Failed,
            Self::Unknown(_) => CheckResult::Unknown,
        }
    }
}

/// Returns the results of all checks for an operator, in the order of the table.
pub(super) fn check(operator: &InstalledOperator<'_>) -> Vec<CheckFinding> {
    CHECKS.iter().map(|row| row.check(operator)).collect()
}

impl MigrationCheck {
    fn check(&self, operator: &InstalledOperator<'_>) -> CheckFinding {
        let unread = self.needs.iter().find_map(|kind| {
            let reason = operator.objects().read(*kind).err()?;
            Some(CheckFault::Unknown(format!(
                "{}s could not be read: {reason}",
                kind.name()
            )))
        });
        let needs_csv = self.needs.contains(&MigrationKind::ClusterServiceVersion);
        let lacks_csv = needs_csv && operator.csv().is_none() && self.code != INSTALLED;
        let unread = unread.or_else(|| {
            lacks_csv.then(|| CheckFault::Unknown("no ClusterServiceVersion is there".to_owned()))
        });
        let faults = match unread {
            Some(fault) => vec![fault],
            None => (self.find)(operator),
        };
        let results = faults.iter().map(CheckFault::result);
        let result = results.max().unwrap_or(CheckResult::Passed);
        let counts: Vec<_> = faults
            .iter()
            .filter(|fault| fault.result() == result)
            .collect();
        let is_soft = counts
            .iter()
            .all(|fault| matches!(fault, CheckFault::Soft(_)));
        let messages: Vec<_> = counts
            .iter()
            .map(|fault| match fault {
                CheckFault::Soft(message)
                | CheckFault::Hard(message)
                | CheckFault::Unknown(message) => message.as_str(),
            })
            .collect();
        CheckFinding {
            code: self.code,
            result,
            message: messages.join("; "),
            acknowledgement: self
                .acknowledgement
                .filter(|_| result == CheckResult::Failed && is_soft),
        }
    }
}

fn conflict(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let extension = operator.migrated_extension();
    let fault = extension.map(|extension| {
        CheckFault::Hard(format!(
            "the Subscription and the ClusterExtension `{extension}`, which was made from it, are both there: upstream's tool has `cleanup` and `rollback` for this"
        ))
    });
    fault.into_iter().collect()
}

fn taken_name(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    // One that was made from the Subscription is a conflict.
    if operator.migrated_extension().is_some() {
        return Vec::new();
    }
    let objects = operator.objects();
    let taken = objects.object(MigrationKind::ClusterExtension, "", operator.name());
    let fault = taken.map(|_| {
        CheckFault::Hard(format!(
            "the ClusterExtension `{}` exists already: `--ce-name` of upstream's tool chooses another name",
            operator.name()
        ))
    });
    fault.into_iter().collect()
}

fn installed(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let name = operator.installed_name();
    if name.is_empty() {
        let message = "the Subscription has installed nothing yet";
        return vec![CheckFault::Hard(message.to_owned())];
    }
    if operator.csv().is_none() {
        let message = format!("the ClusterServiceVersion `{name}` is gone");
        return vec![CheckFault::Hard(message)];
    }
    Vec::new()
}

fn unique(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let others = operator.others_of_package();
    if others.is_empty() {
        return Vec::new();
    }
    vec![CheckFault::Hard(format!(
        "other Subscriptions have the package `{}`: {}",
        operator.package(),
        listed(others)
    ))]
}

fn watch_scope(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let groups = operator.groups();
    let group = match groups[..] {
        [group] => group,
        [] => {
            let message = format!("namespace `{}` has no OperatorGroup", operator.namespace());
            return vec![CheckFault::Hard(message)];
        }
        _ => {
            let names: Vec<_> = groups
                .iter()
                .map(|group| text(group, "/metadata/name"))
                .collect();
            return vec![CheckFault::Hard(format!(
                "namespace `{}` has several OperatorGroups, with which OLM v0 installs nothing: {}",
                operator.namespace(),
                listed(names)
            ))];
        }
    };
    let name = text(group, "/metadata/name");
    let mut faults = Vec::new();
    let targets = group["spec"]["targetNamespaces"].as_array();
    let targets = targets.into_iter().flatten().filter_map(Value::as_str);
    let targets = listed(targets);
    if !targets.is_empty() {
        faults.push(CheckFault::Soft(format!(
            "the OperatorGroup `{name}` targets namespaces: {targets}"
        )));
    }
    let selector = &group["spec"]["selector"];
    let has_terms = |member: &str| match &selector[member] {
        Value::Object(terms) => !terms.is_empty(),
        Value::Array(terms) => !terms.is_empty(),
        _ => false,
    };
    if has_terms("matchLabels") || has_terms("matchExpressions") {
        faults.push(CheckFault::Soft(format!(
            "the OperatorGroup `{name}` selects namespaces"
        )));
    }
    let watched = group["status"]["namespaces"].as_array();
    if let Some([Value::String(watched)]) = watched.map(Vec::as_slice)
        && !watched.is_empty()
        && faults.is_empty()
    {
        faults.push(CheckFault::Soft(format!(
            "the OperatorGroup `{name}` has one namespace: {watched}"
        )));
    }
    faults
}

fn all_namespaces(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let Some(csv) = operator.csv() else {
        return Vec::new();
    };
    let modes = supported_modes(csv);
    if modes.iter().any(|mode| mode == "AllNamespaces") {
        return Vec::new();
    }
    let supported = if modes.is_empty() {
        "no install mode".to_owned()
    } else {
        listed(modes)
    };
    vec![CheckFault::Hard(format!(
        "the ClusterServiceVersion supports {supported} and not AllNamespaces"
    ))]
}

fn dependencies(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let properties = match operator.properties() {
        CsvProperties::Read(properties) => properties,
        CsvProperties::Malformed(reason) => {
            return vec![CheckFault::Hard(format!(
                "the annotation `operatorframework.io/properties` cannot be read: {reason}"
            ))];
        }
    };
    let required = properties.iter().filter_map(|property| {
        let kind = property["type"].as_str()?;
        UNRESOLVED_TYPES.contains(&kind).then(|| {
            let value = &property["value"];
            CheckFault::Hard(match kind {
                "olm.package.required" => format!(
                    "requires package `{}` in version `{}`",
                    text(value, "/packageName"),
                    text(value, "/versionRange")
                ),
                "olm.gvk.required" => format!(
                    "requires the API `{}/{}`, kind `{}`",
                    text(value, "/group"),
                    text(value, "/version"),
                    text(value, "/kind")
                ),
                // Upstream's tool does not know this type.
                _ => format!(
                    "has a property `{kind}`, which OLM v1 refuses and upstream's tool does not look for"
                ),
            })
        })
    });
    required.collect()
}

fn api_services(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let Some(csv) = operator.csv() else {
        return Vec::new();
    };
    let owned = csv["spec"]["apiservicedefinitions"]["owned"].as_array();
    let faults = owned.into_iter().flatten().map(|service| {
        CheckFault::Hard(format!(
            "provides the aggregated API `{}/{}`, kind `{}`",
            text(service, "/group"),
            text(service, "/version"),
            text(service, "/kind")
        ))
    });
    faults.collect()
}

fn operator_condition(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let condition = operator.objects().object(
        MigrationKind::OperatorCondition,
        operator.namespace(),
        operator.installed_name(),
    );
    let conditions = condition.and_then(|condition| condition["status"]["conditions"].as_array());
    let types: Vec<_> = conditions
        .into_iter()
        .flatten()
        .map(|condition| text(condition, "/type"))
        .collect();
    if types.is_empty() {
        return Vec::new();
    }
    vec![CheckFault::Soft(format!(
        "the OperatorCondition has conditions, to which OLM v1 does not listen: {}",
        listed(types)
    ))]
}

fn olm_v0_rights(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let Some(csv) = operator.csv() else {
        return Vec::new();
    };
    let accounts = csv["spec"]["install"]["spec"]["clusterPermissions"].as_array();
    let accounts = accounts.into_iter().flatten();
    let rules = accounts.flat_map(|account| account["rules"].as_array().into_iter().flatten());
    let mut used = Vec::new();
    for rule in rules {
        let has = |member: &str, wanted: &str| {
            let values = rule[member].as_array().into_iter().flatten();
            values.into_iter().any(|value| value == wanted)
        };
        if has("apiGroups", OLM_V1_GROUP) {
            return Vec::new();
        }
        if has("apiGroups", OLM_V0_GROUP) {
            let resources = OLM_V0_RESOURCES.into_iter();
            used.extend(resources.filter(|resource| has("resources", resource)));
        }
    }
    used.sort_unstable();
    used.dedup();
    if used.is_empty() {
        return Vec::new();
    }
    vec![CheckFault::Soft(format!(
        "has rights on {} of `{OLM_V0_GROUP}` and none on `{OLM_V1_GROUP}`",
        used.join(", ")
    ))]
}

fn scoped_account(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let groups = operator.groups();
    let Some(group) = groups.first() else {
        return Vec::new();
    };
    let account = text(group, "/spec/serviceAccountName");
    if account.is_empty() {
        return Vec::new();
    }
    vec![CheckFault::Soft(format!(
        "the OperatorGroup `{}` has the ServiceAccount `{account}`; OLM v1 installs with its own rights",
        text(group, "/metadata/name")
    ))]
}

fn catalog(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let search = operator.catalog_search();
    if search.target.is_some() {
        return Vec::new();
    }
    if search.unserved.is_empty() {
        return vec![CheckFault::Hard(search.failure.clone())];
    }
    vec![CheckFault::Unknown(format!(
        "{}, and catalogql does not serve these ClusterCatalogs: {}",
        search.failure,
        listed(&search.unserved)
    ))]
}

fn steady_state(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let mut faults = Vec::new();
    let state = text(operator.subscription(), "/status/state");
    if !matches!(&state[..], "AtLatestKnown" | "UpgradePending") {
        faults.push(CheckFault::Soft(format!(
            "the state of the Subscription is `{state}`, neither `AtLatestKnown` nor `UpgradePending`"
        )));
    }
    if let Some(csv) = operator.csv() {
        let [phase, reason] = ["/status/phase", "/status/reason"].map(|pointer| text(csv, pointer));
        if phase != "Succeeded" {
            faults.push(CheckFault::Soft(format!(
                "the phase of the ClusterServiceVersion is `{phase}`, not `Succeeded`"
            )));
        } else if reason != "InstallSucceeded" {
            faults.push(CheckFault::Soft(format!(
                "the reason of the ClusterServiceVersion is `{reason}`, not `InstallSucceeded`"
            )));
        }
    }
    faults
}

fn generated(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let annotations = &operator.subscription()["metadata"]["annotations"];
    let fault = annotations.get("olm.generated-by").map(|by| {
        CheckFault::Hard(format!(
            "OLM v0 has installed it as a dependency (`olm.generated-by: {}`), and would install it again",
            by.as_str().unwrap_or_default()
        ))
    });
    fault.into_iter().collect()
}

fn catalog_source(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let mut references = vec![operator.source()];
    let mut faults = Vec::new();
    match operator.effective_source() {
        Ok(Some(effective)) if !references.contains(&effective) => references.push(effective),
        Ok(_) => {}
        Err(reason) => faults.push(CheckFault::Unknown(reason)),
    }
    let objects = operator.objects();
    let found = references.into_iter().filter_map(|[namespace, name]| {
        let place = format!("{namespace}/{name}");
        let Some(source) = objects.object(MigrationKind::CatalogSource, &namespace, &name) else {
            return Some(format!("the CatalogSource `{place}` is gone"));
        };
        let kind = text(source, "/spec/sourceType");
        if kind != "grpc" {
            return Some(format!(
                "the CatalogSource `{place}` is of type `{kind}`, and only `grpc` with an image has a like in OLM v1"
            ));
        }
        let image = text(source, "/spec/image");
        image
            .is_empty()
            .then(|| format!("the CatalogSource `{place}` has an address and no image"))
    });
    faults.extend(found.map(CheckFault::Hard));
    faults
}

/// Finds what no letter of upstream covers: the tool moves such an operator, and then OLM v1 refuses
/// its bundle.
fn installable(operator: &InstalledOperator<'_>) -> Vec<CheckFault> {
    let blockers = operator.catalog_search().blockers.iter();
    let is_covered = |code: &str| match code {
        "DEPENDENCY" => !dependencies(operator).is_empty(),
        "API_SERVICE" => !api_services(operator).is_empty(),
        "NO_ALL_NAMESPACES" => !all_namespaces(operator).is_empty(),
        _ => false,
    };
    let others = blockers.filter(|(code, _)| !is_covered(code));
    others
        .map(|(code, detail)| CheckFault::Hard(format!("{code}: {detail}")))
        .collect()
}

/// Returns the table of the checks as JSON.
pub(super) fn table() -> Value {
    let rows = CHECKS.iter().map(|row| {
        json!({ "code": row.code, "title": row.title, "acknowledgement": row.acknowledgement })
    });
    rows.collect()
}

/// Returns the commits that were compared with as JSON.
pub(super) fn compared_with() -> Value {
    let files = COMPARED_WITH.iter();
    let files = files.map(|(file, commit)| json!({ "file": file, "commit": commit }));
    json!({ "repository": UPSTREAM, "files": files.collect::<Vec<_>>() })
}
