//! Rights: what a service account may do by its rules, and what is risky about them.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::csv::RbacRule;

/// Maximum number of atoms of all rights of a bundle.
pub const MAX_RIGHT_ATOMS: usize = 200_000;

/// Maximum number of paths, which are no resources, in these atoms.
pub const MAX_RIGHT_PATHS: usize = 1_000;

/// Maximum size of the texts of these atoms, in bytes.
pub const MAX_RIGHT_BYTES: usize = 32 << 20;

/// Risk of a rule, after the good practices for RBAC of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RightsFlag {
    /// Everything in the cluster.
    ClusterAdmin,
    /// Rights beyond its own: `escalate`, `bind` and `impersonate`.
    Escalate,
    /// Binds roles to accounts.
    GrantsRights,
    /// Reads Secrets of the cluster, or of other namespaces.
    ReadsSecrets,
    /// Creates pods, or objects that create pods.
    WritesWorkloads,
    /// Runs commands in pods.
    Exec,
    /// Changes nodes, or reaches their kubelets.
    Nodes,
    /// Creates tokens of service accounts.
    Tokens,
    /// Approves or signs certificates.
    Certificates,
    /// Changes webhooks and policies that see all requests.
    Admission,
    /// Changes custom resource definitions.
    Crds,
    /// Creates persistent volumes, which may be paths of nodes.
    Volumes,
    /// Changes the labels of namespaces, which select policies.
    Namespaces,
    /// Uses security context constraints that allow more than the restricted ones.
    Scc,
    /// Any other `*`.
    Wildcard,
}

/// Scope of rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RightsScope {
    /// In the whole cluster.
    Cluster,
    /// In the namespaces that are named with it.
    Namespace,
}

/// One right: a verb on a resource. `*` stands for all, and so does an absent name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RightAtom {
    /// Namespace; `None` for the whole cluster.
    pub namespace: Option<String>,
    /// API group; `None` for a path that is no resource.
    pub group: Option<String>,
    /// Resource with subresource, or a path.
    pub resource: String,
    /// Name of the only object.
    pub name: Option<String>,
    /// Verb.
    pub verb: String,
}

/// Rights as a set of atoms, in which `*` covers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    resources: BTreeSet<RightAtom>,
    /// Atoms with a path.
    paths: BTreeSet<RightAtom>,
    /// Size of the texts of all atoms.
    bytes: usize,
}

/// Rights that a flag looks for.
struct RiskyRight {
    flag: RightsFlag,
    groups: &'static [&'static str],
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    /// `true` if the resources have no namespace, so that a Role does not grant them.
    is_of_cluster: bool,
}

const WRITE: &[&str] = &["create", "update", "patch", "delete"];
const RBAC: &str = "rbac.authorization.k8s.io";

const RISKY_RIGHTS: [RiskyRight; 20] = [
    RiskyRight {
        flag: RightsFlag::Escalate,
        groups: &[RBAC],
        resources: &["roles", "clusterroles"],
        verbs: &["escalate", "bind"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::Escalate,
        groups: &[""],
        resources: &["users", "groups", "serviceaccounts"],
        verbs: &["impersonate"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::Escalate,
        groups: &["authentication.k8s.io"],
        resources: &["users", "groups", "serviceaccounts", "uids", "userextras"],
        verbs: &["impersonate"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::GrantsRights,
        groups: &[RBAC],
        resources: &["rolebindings", "clusterrolebindings"],
        verbs: &["create", "update", "patch"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::ReadsSecrets,
        groups: &[""],
        resources: &["secrets"],
        verbs: &["get", "list", "watch"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::WritesWorkloads,
        groups: &[""],
        resources: &["pods", "replicationcontrollers", "podtemplates"],
        verbs: &["create"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::WritesWorkloads,
        groups: &["apps"],
        resources: &["deployments", "daemonsets", "statefulsets", "replicasets"],
        verbs: &["create"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::WritesWorkloads,
        groups: &["batch"],
        resources: &["jobs", "cronjobs"],
        verbs: &["create"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::Exec,
        groups: &[""],
        resources: &["pods/exec", "pods/attach", "pods/ephemeralcontainers"],
        verbs: &["create", "get", "update", "patch"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::Nodes,
        groups: &[""],
        resources: &["nodes"],
        verbs: WRITE,
        is_of_cluster: true,
    },
    RiskyRight {
        flag: RightsFlag::Nodes,
        groups: &[""],
        resources: &["nodes/proxy"],
        verbs: &["get", "create", "update", "patch", "delete"],
        is_of_cluster: true,
    },
    RiskyRight {
        flag: RightsFlag::Tokens,
        groups: &[""],
        resources: &["serviceaccounts/token"],
        verbs: &["create"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::Certificates,
        groups: &["certificates.k8s.io"],
        resources: &[
            "certificatesigningrequests/approval",
            "certificatesigningrequests/status",
        ],
        verbs: &["update", "patch"],
        is_of_cluster: true,
    },
    RiskyRight {
        flag: RightsFlag::Certificates,
        groups: &["certificates.k8s.io"],
        resources: &["signers"],
        verbs: &["approve", "sign"],
        is_of_cluster: true,
    },
    RiskyRight {
        flag: RightsFlag::Admission,
        groups: &["admissionregistration.k8s.io"],
        resources: &[
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
        ],
        verbs: WRITE,
        is_of_cluster: true,
    },
    RiskyRight {
        flag: RightsFlag::Crds,
        groups: &["apiextensions.k8s.io"],
        resources: &["customresourcedefinitions"],
        verbs: WRITE,
        is_of_cluster: true,
    },
    RiskyRight {
        flag: RightsFlag::Volumes,
        groups: &[""],
        resources: &["persistentvolumes"],
        verbs: &["create"],
        is_of_cluster: true,
    },
    RiskyRight {
        flag: RightsFlag::Namespaces,
        groups: &[""],
        resources: &["namespaces"],
        verbs: &["patch", "update"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::Scc,
        groups: &["security.openshift.io"],
        resources: &["securitycontextconstraints"],
        verbs: &["use"],
        is_of_cluster: false,
    },
    RiskyRight {
        flag: RightsFlag::Crds,
        groups: &["apiextensions.k8s.io"],
        resources: &["customresourcedefinitions/status"],
        verbs: &["update", "patch"],
        is_of_cluster: true,
    },
];

/// Verbs that a list of names does not narrow.
const NOT_NARROWED: [&str; 2] = ["create", "list"];

/// Security context constraints that allow less than any other.
const HARMLESS_CONSTRAINTS: [&str; 2] = ["restricted", "nonroot"];

impl RightsFlag {
    /// All flags.
    pub const ALL: [Self; 15] = [
        Self::ClusterAdmin,
        Self::Escalate,
        Self::GrantsRights,
        Self::ReadsSecrets,
        Self::WritesWorkloads,
        Self::Exec,
        Self::Nodes,
        Self::Tokens,
        Self::Certificates,
        Self::Admission,
        Self::Crds,
        Self::Volumes,
        Self::Namespaces,
        Self::Scc,
        Self::Wildcard,
    ];

    /// Returns the name in output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterAdmin => "CLUSTER_ADMIN",
            Self::Escalate => "ESCALATE",
            Self::GrantsRights => "GRANTS_RIGHTS",
            Self::ReadsSecrets => "READS_SECRETS",
            Self::WritesWorkloads => "WRITES_WORKLOADS",
            Self::Exec => "EXEC",
            Self::Nodes => "NODES",
            Self::Tokens => "TOKENS",
            Self::Certificates => "CERTIFICATES",
            Self::Admission => "ADMISSION",
            Self::Crds => "CRDS",
            Self::Volumes => "VOLUMES",
            Self::Namespaces => "NAMESPACES",
            Self::Scc => "SCC",
            Self::Wildcard => "WILDCARD",
        }
    }

    /// Finds a flag by its name.
    pub fn parse(name: &str) -> Option<Self> {
        let mut flags = Self::ALL.into_iter();
        flags.find(|flag| flag.as_str() == name)
    }

    /// Returns the rights that the flag looks for, each in the whole cluster. There are none for
    /// [`Self::Wildcard`], which is about how a rule is written.
    pub fn risky_rights(self) -> Vec<RightAtom> {
        let everything = (self == Self::ClusterAdmin).then(|| RightAtom {
            namespace: None,
            group: Some("*".to_owned()),
            resource: "*".to_owned(),
            name: None,
            verb: "*".to_owned(),
        });
        let mut atoms = Vec::from_iter(everything);
        for risk in RISKY_RIGHTS.iter().filter(|risk| risk.flag == self) {
            for group in risk.groups {
                for resource in risk.resources {
                    atoms.extend(risk.verbs.iter().map(|&verb| RightAtom {
                        namespace: None,
                        group: Some((*group).to_owned()),
                        resource: (*resource).to_owned(),
                        name: None,
                        verb: verb.to_owned(),
                    }));
                }
            }
        }
        atoms
    }

    /// Says what an account with this right may do.
    pub fn describe(self) -> &'static str {
        match self {
            Self::ClusterAdmin => "may do everything in the cluster",
            Self::Escalate => "may get rights that it does not have",
            Self::GrantsRights => "may bind roles to accounts",
            Self::ReadsSecrets => "may read Secrets outside of its own namespace",
            Self::WritesWorkloads => "may create workloads",
            Self::Exec => "may run commands in pods",
            Self::Nodes => "may change nodes or reach their kubelets",
            Self::Tokens => "may create tokens of service accounts",
            Self::Certificates => "may approve or sign certificates",
            Self::Admission => "may change admission webhooks and policies",
            Self::Crds => "may change custom resource definitions",
            Self::Volumes => "may create persistent volumes",
            Self::Namespaces => "may change the labels of namespaces",
            Self::Scc => "may use security context constraints that are not restricted",
            Self::Wildcard => "has rights with a wildcard",
        }
    }
}

/// Returns the flags of rules in a scope. `is_own` tells that they hold in the namespace of the
/// operator alone.
pub fn flags(rules: &[RbacRule], scope: RightsScope, is_own: bool) -> BTreeSet<RightsFlag> {
    let mut flags = BTreeSet::new();
    for rule in rules {
        for risk in &RISKY_RIGHTS {
            let is_harmless = risk.flag == RightsFlag::ReadsSecrets && is_own
                || risk.is_of_cluster && scope == RightsScope::Namespace;
            if !is_harmless && risk.is_granted_by(rule) {
                flags.insert(risk.flag);
            }
        }
        if is_everything(rule) && scope == RightsScope::Cluster {
            flags.insert(RightsFlag::ClusterAdmin);
        } else if has_wildcard(rule) {
            flags.insert(RightsFlag::Wildcard);
        }
    }
    flags
}

impl RiskyRight {
    fn is_granted_by(&self, rule: &RbacRule) -> bool {
        let verbs = rule.verbs.as_deref().unwrap_or(&[]);
        let has_group = self
            .groups
            .iter()
            .any(|group| covers(&rule.api_groups, group));
        let has_resource = self
            .resources
            .iter()
            .any(|resource| covers_resource(&rule.resources, resource));
        let is_open = |verb: &str| match self.flag {
            // A name does not make these harmless.
            RightsFlag::Escalate => true,
            RightsFlag::Scc => {
                rule.resource_names.is_empty()
                    || rule
                        .resource_names
                        .iter()
                        .any(|name| !is_harmless_scc(name))
            }
            _ => rule.resource_names.is_empty() || NOT_NARROWED.contains(&verb),
        };
        let mut risky = self.verbs.iter();
        has_group && has_resource && risky.any(|verb| covers(verbs, verb) && is_open(verb))
    }
}

fn is_harmless_scc(name: &str) -> bool {
    HARMLESS_CONSTRAINTS
        .iter()
        .any(|harmless| name.starts_with(harmless))
}

pub(crate) fn covers(values: &[String], value: &str) -> bool {
    values.iter().any(|one| one == "*" || one == value)
}

/// Tells whether a list of resources has one: `*` is all, and `*/exec` a subresource of all.
pub(crate) fn covers_resource(resources: &[String], resource: &str) -> bool {
    covers(resources, resource)
        || resource.split_once('/').is_some_and(|(_, subresource)| {
            resources
                .iter()
                .any(|one| one.strip_prefix("*/") == Some(subresource))
        })
}

fn is_everything(rule: &RbacRule) -> bool {
    let all = |values: &[String]| values.iter().any(|value| value == "*");
    let verbs = rule.verbs.as_deref().unwrap_or(&[]);
    all(verbs) && all(&rule.api_groups) && all(&rule.resources) && rule.resource_names.is_empty()
}

fn has_wildcard(rule: &RbacRule) -> bool {
    let verbs = rule.verbs.as_deref().unwrap_or(&[]);
    let paths = &rule.non_resource_urls;
    let mut values = verbs
        .iter()
        .chain(&rule.api_groups)
        .chain(&rule.resources)
        .chain(paths);
    values.any(|value| value.contains('*'))
}

impl Rights {
    /// Adds the rights of rules in a namespace, or in the whole cluster. Returns `false` when there
    /// are more than [`MAX_RIGHT_ATOMS`], [`MAX_RIGHT_PATHS`] or [`MAX_RIGHT_BYTES`].
    #[must_use]
    pub fn add(&mut self, rules: &[RbacRule], namespace: Option<&str>) -> bool {
        for rule in rules {
            let verbs = rule.verbs.as_deref().unwrap_or(&[]);
            let names = rule.resource_names.len().max(1);
            let resources = [
                rule.api_groups.len(),
                rule.resources.len(),
                names,
                verbs.len(),
            ];
            let resources = resources.into_iter().fold(1, usize::saturating_mul);
            let paths = rule.non_resource_urls.len().saturating_mul(verbs.len());
            let known = self.resources.len() + self.paths.len();
            if self.paths.len().saturating_add(paths) > MAX_RIGHT_PATHS
                || known.saturating_add(resources).saturating_add(paths) > MAX_RIGHT_ATOMS
            {
                return false;
            }
            for verb in verbs {
                if !self.add_verb(rule, verb, namespace) {
                    return false;
                }
            }
        }
        true
    }

    fn add_verb(&mut self, rule: &RbacRule, verb: &str, namespace: Option<&str>) -> bool {
        let names: Vec<Option<&String>> = if rule.resource_names.is_empty() {
            vec![None]
        } else {
            rule.resource_names.iter().map(Some).collect()
        };
        let atom = |group: Option<&String>, resource: &str, name: Option<&String>| RightAtom {
            namespace: namespace.map(str::to_owned),
            group: group.cloned(),
            resource: resource.to_owned(),
            name: name.cloned(),
            verb: verb.to_owned(),
        };
        for group in &rule.api_groups {
            for resource in &rule.resources {
                for name in &names {
                    let length = |text: Option<&str>| text.map_or(0, str::len);
                    self.bytes += group.len() + resource.len() + verb.len();
                    self.bytes += length(namespace) + length(name.map(String::as_str));
                    if self.bytes > MAX_RIGHT_BYTES {
                        return false;
                    }
                    self.resources.insert(atom(Some(group), resource, *name));
                }
            }
        }
        for path in &rule.non_resource_urls {
            self.bytes += path.len() + verb.len();
            if self.bytes > MAX_RIGHT_BYTES {
                return false;
            }
            self.paths.insert(atom(None, path, None));
        }
        true
    }

    /// Tells whether a right is among these, or covered by one of them.
    pub fn allow(&self, atom: &RightAtom) -> bool {
        let Some(group) = &atom.group else {
            return self.allow_path(atom);
        };
        let star = || "*".to_owned();
        let mut resources = vec![atom.resource.clone(), star()];
        if let Some((_, subresource)) = atom.resource.split_once('/') {
            resources.push(format!("*/{subresource}"));
        }
        for namespace in distinct(atom.namespace.as_ref()) {
            for group in [group.clone(), star()] {
                for resource in &resources {
                    for name in distinct(atom.name.as_ref()) {
                        for verb in [&*atom.verb, "*"] {
                            let candidate = RightAtom {
                                namespace: namespace.clone(),
                                group: Some(group.clone()),
                                resource: resource.clone(),
                                name: name.clone(),
                                verb: verb.to_owned(),
                            };
                            if self.resources.contains(&candidate) {
                                return true;
                            }
                        }
                    }
                }
            }
        }
        false
    }

    /// Paths are few: each is looked at. One that ends in `*` covers those that begin like it.
    fn allow_path(&self, atom: &RightAtom) -> bool {
        self.paths.iter().any(|known| {
            let covers_path = match known.resource.strip_suffix('*') {
                Some(prefix) => atom.resource.starts_with(prefix.trim_end_matches('*')),
                None => atom.resource == known.resource,
            };
            covers_path
                && (known.verb == "*" || known.verb == atom.verb)
                && (known.namespace.is_none() || known.namespace == atom.namespace)
        })
    }

    /// Returns the rights that others do not cover.
    pub fn beyond(&self, other: &Self) -> Vec<&RightAtom> {
        let mut atoms: Vec<_> = self.paths.iter().chain(&self.resources).collect();
        // Those of one scope, group and resource follow each other.
        atoms.sort_unstable();
        atoms.retain(|atom| !other.allow(atom));
        atoms
    }
}

/// An optional value, and `None`, which covers it.
fn distinct(value: Option<&String>) -> Vec<Option<String>> {
    match value {
        None => vec![None],
        Some(value) => vec![Some(value.clone()), None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn rule(groups: &str, resources: &str, verbs: &str) -> RbacRule {
        RbacRule {
            verbs: Some(list(verbs)),
            api_groups: list(groups),
            resources: list(resources),
            ..RbacRule::default()
        }
    }

    fn named(rule: RbacRule, names: &str) -> RbacRule {
        RbacRule {
            resource_names: list(names),
            ..rule
        }
    }

    fn names(rule: RbacRule, scope: RightsScope, is_own: bool) -> String {
        let flags = flags(&[rule], scope, is_own);
        let names: Vec<_> = flags.into_iter().map(RightsFlag::as_str).collect();
        names.join(" ")
    }

    #[test]
    fn a_rule_of_the_cluster_has_the_flags_of_what_it_allows() {
        for (rule, expected) in [
            (rule("", "pods", "get list watch"), ""),
            (
                rule("*", "*", "*"),
                "CLUSTER_ADMIN ESCALATE GRANTS_RIGHTS READS_SECRETS WRITES_WORKLOADS EXEC NODES TOKENS CERTIFICATES ADMISSION CRDS VOLUMES NAMESPACES SCC",
            ),
            (rule(RBAC, "clusterroles", "bind"), "ESCALATE"),
            (rule(RBAC, "roles", "*"), "ESCALATE WILDCARD"),
            (rule(RBAC, "roles", "create get"), ""),
            (rule("", "serviceaccounts", "impersonate"), "ESCALATE"),
            (rule(RBAC, "rolebindings", "patch"), "GRANTS_RIGHTS"),
            (rule("", "secrets", "list"), "READS_SECRETS"),
            (rule("", "secrets", "create"), ""),
            (rule("", "pods", "create"), "WRITES_WORKLOADS"),
            (rule("apps", "statefulsets", "create"), "WRITES_WORKLOADS"),
            (rule("batch", "cronjobs", "create"), "WRITES_WORKLOADS"),
            (rule("apps", "deployments/finalizers", "update"), ""),
            (rule("", "pods/exec", "create"), "EXEC"),
            (rule("", "*/attach", "get"), "EXEC WILDCARD"),
            (rule("", "nodes/proxy", "get"), "NODES"),
            (rule("", "nodes", "patch"), "NODES"),
            (rule("", "nodes", "get list"), ""),
            (rule("", "serviceaccounts/token", "create"), "TOKENS"),
            (
                rule(
                    "certificates.k8s.io",
                    "certificatesigningrequests/approval",
                    "update",
                ),
                "CERTIFICATES",
            ),
            (
                rule("certificates.k8s.io", "signers", "sign"),
                "CERTIFICATES",
            ),
            (
                rule(
                    "admissionregistration.k8s.io",
                    "validatingadmissionpolicies",
                    "delete",
                ),
                "ADMISSION",
            ),
            (
                rule(
                    "apiextensions.k8s.io",
                    "customresourcedefinitions",
                    "create",
                ),
                "CRDS",
            ),
            (rule("", "persistentvolumes", "create"), "VOLUMES"),
            (rule("", "namespaces", "patch"), "NAMESPACES"),
            (
                rule("security.openshift.io", "securitycontextconstraints", "use"),
                "SCC",
            ),
            (rule("example.com", "*", "get"), "WILDCARD"),
        ] {
            let shown = format!("{rule:?}");
            assert_eq!(
                names(rule, RightsScope::Cluster, false),
                expected,
                "{shown}"
            );
        }
    }

    #[test]
    fn names_of_objects_narrow_all_verbs_but_create_and_list() {
        let scc = || rule("security.openshift.io", "securitycontextconstraints", "use");
        for (rule, expected) in [
            (named(rule("", "secrets", "get"), "own"), ""),
            (named(rule("", "secrets", "list"), "own"), "READS_SECRETS"),
            (named(rule("", "nodes", "patch"), "one"), ""),
            (named(rule(RBAC, "roles", "bind"), "admin"), "ESCALATE"),
            (named(scc(), "restricted-v2 nonroot"), ""),
            (named(scc(), "restricted privileged"), "SCC"),
        ] {
            let shown = format!("{rule:?}");
            assert_eq!(
                names(rule, RightsScope::Cluster, false),
                expected,
                "{shown}"
            );
        }
    }

    #[test]
    fn a_role_in_a_namespace_does_not_reach_what_is_of_the_cluster() {
        let everything = || rule("*", "*", "*");
        let common = "ESCALATE GRANTS_RIGHTS";
        let rest = "WRITES_WORKLOADS EXEC TOKENS NAMESPACES SCC WILDCARD";
        assert_eq!(
            names(everything(), RightsScope::Namespace, false),
            format!("{common} READS_SECRETS {rest}")
        );
        assert_eq!(
            names(everything(), RightsScope::Namespace, true),
            format!("{common} {rest}")
        );
    }

    #[test]
    fn every_flag_has_a_name_by_which_it_is_found() {
        for flag in RightsFlag::ALL {
            assert_eq!(RightsFlag::parse(flag.as_str()), Some(flag));
            assert_eq!(serde_json::to_value(flag).unwrap(), flag.as_str());
        }
        assert_eq!(RightsFlag::parse("NONE"), None);
    }

    fn rights(rules: &[RbacRule], namespace: Option<&str>) -> Rights {
        let mut rights = Rights::default();
        assert!(rights.add(rules, namespace));
        rights
    }

    #[test]
    fn wildcards_names_and_the_cluster_cover_what_is_narrower() {
        let narrow = rights(
            &[named(rule("apps", "deployments/scale", "get"), "a")],
            Some("one"),
        );
        for wide in [
            rule("*", "deployments/scale", "get"),
            rule("apps", "*", "get"),
            rule("apps", "*/scale", "*"),
            named(rule("apps", "deployments/scale", "get"), "a"),
        ] {
            for namespace in [None, Some("one")] {
                let wide = rights(std::slice::from_ref(&wide), namespace);
                assert_eq!(narrow.beyond(&wide), Vec::<&RightAtom>::new(), "{wide:?}");
            }
            let elsewhere = rights(&[wide], Some("two"));
            assert_eq!(narrow.beyond(&elsewhere).len(), 1);
        }
        for other in [
            rule("batch", "deployments/scale", "get"),
            rule("apps", "deployments", "get"),
            rule("apps", "*/status", "get"),
            rule("apps", "deployments/scale", "list"),
            named(rule("apps", "deployments/scale", "get"), "b"),
        ] {
            assert_eq!(narrow.beyond(&rights(&[other], None)).len(), 1);
        }
    }

    #[test]
    fn paths_are_covered_by_their_prefixes() {
        let paths = |paths: &str| RbacRule {
            verbs: Some(list("get")),
            non_resource_urls: list(paths),
            ..RbacRule::default()
        };
        let narrow = rights(&[paths("/metrics/a")], None);
        for (wide, beyond) in [
            ("/metrics/*", 0),
            ("/metrics/a*", 0),
            ("*", 0),
            ("/metrics", 1),
            ("/metrics/a/*", 1),
        ] {
            let wide = rights(&[paths(wide)], None);
            assert_eq!(narrow.beyond(&wide).len(), beyond);
        }
    }

    #[test]
    fn rights_are_counted_up_to_their_limit() {
        let many = |count: usize| {
            let names: Vec<_> = (0..count).map(|at| at.to_string()).collect();
            named(rule("", "secrets", "get update"), &names.join(" "))
        };
        assert!(Rights::default().add(&[many(MAX_RIGHT_ATOMS / 2)], None));
        assert!(!Rights::default().add(&[many(MAX_RIGHT_ATOMS / 2 + 1)], None));

        let paths = |count: usize| RbacRule {
            verbs: Some(list("get")),
            non_resource_urls: (0..count).map(|at| format!("/{at}")).collect(),
            ..RbacRule::default()
        };
        assert!(Rights::default().add(&[paths(MAX_RIGHT_PATHS)], None));
        assert!(!Rights::default().add(&[paths(MAX_RIGHT_PATHS + 1)], None));

        // A long name is in the right of each verb.
        let long = |verbs: usize| RbacRule {
            verbs: Some((0..verbs).map(|at| at.to_string()).collect()),
            ..named(rule("", "secrets", ""), &"x".repeat(1 << 20))
        };
        assert!(Rights::default().add(&[long(MAX_RIGHT_BYTES / (1 << 20) - 1)], None));
        assert!(!Rights::default().add(&[long(MAX_RIGHT_BYTES / (1 << 20))], None));
    }
}
