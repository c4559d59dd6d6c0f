//! Packages of a real catalog that upstream's list of what OLM v1 can install also names.

use fbc::work::Work;
use fbc::{Bundle, Head, OlmV1Installability};

/// Packages of upstream's list (`ocp-5.0-operator-compatibility.csv` of operator-framework/library-olm
/// at e465b271f30d) that `community` has, with the versions there. The list has them from other
/// catalogs, all in the class `compatible_reported`.
const LISTED: [(&str, &str); 15] = [
    ("apicurio-registry-3", "3.3.3-r1"),
    ("authorino-operator", "1.2.2"),
    ("coherence-operator", "3.5.9"),
    ("dynatrace-operator", "1.11.0"),
    ("eginnovations-operator", "0.0.11"),
    ("fence-agents-remediation", "0.8.1"),
    ("ibm-security-verify-access-operator", "26.5.0"),
    ("machine-deletion-remediation", "0.7.1"),
    ("mongodb-atlas-kubernetes", "2.8.0"),
    ("node-healthcheck-operator", "0.12.1"),
    ("node-maintenance-operator", "5.7.1"),
    ("pubsubplus-eventbroker-operator", "1.4.2"),
    ("self-node-remediation", "0.13.1"),
    ("skupper-operator", "2.2.2-rh-1"),
    ("storage-based-remediation", "0.3.1"),
];

#[test]
fn what_upstreams_list_calls_compatible_can_be_installed_where_community_has_it() {
    let Some(served) = super::serve("community") else {
        return;
    };
    let catalog = &served.content.catalog;
    let mut in_one_version = Vec::new();
    for (name, version) in LISTED {
        let package = catalog.package(name).expect("the catalog has it");
        let is_listed = |bundle: &Bundle<'_>| bundle.version() == Some(version);
        let listed = package.bundles().find(is_listed);
        in_one_version.extend(listed.map(|_| name));
        let channel = package.default_channel().expect("it has one");
        let Head::One(head) = channel.head() else {
            panic!("the channel of {name} has one head");
        };
        let head = head.bundle().expect("the catalog has it");
        for bundle in [head].into_iter().chain(listed) {
            let verdict = bundle.olm_v1_installability(&Work::unlimited());
            assert_eq!(verdict, Ok(OlmV1Installability::Yes), "{}", bundle.name());
        }
    }
    assert_eq!(
        in_one_version,
        [
            "eginnovations-operator",
            "mongodb-atlas-kubernetes",
            "pubsubplus-eventbroker-operator"
        ]
    );
}
