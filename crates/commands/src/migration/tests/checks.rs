//! Each check both ways, and what is unknown.

use super::*;

const CSV: MigrationKind = MigrationKind::ClusterServiceVersion;

#[test]
fn an_operator_that_passes_every_check_is_eligible() {
    let world = World::healthy();
    let passed = |code: &str| json!({ "code": code, "result": "PASSED", "message": null, "acknowledgement": null });
    let codes = [
        "CONFLICT",
        "NAME",
        "INSTALLED",
        "UNIQUE",
        "C1",
        "C1a",
        "C2",
        "C3",
        "C4",
        "C5",
        "C6",
        "C7",
        "C8",
        "C9",
        "C10",
        "OLM_V1",
    ];
    assert_eq!(
        world.operator(),
        json!({
            "namespace": "ns", "name": "sub", "packageName": "widgets", "channel": "stable",
            "installed": { "name": "widgets.v1.0.0", "version": "1.0.0" },
            "status": "ELIGIBLE",
            "checks": codes.map(passed),
            "acknowledgements": [],
            "clusterCatalog": "index",
            "sameContent": true,
            "manifestChannel": "stable",
            "next": { "state": "NEWEST", "message": "it would stay, as the newest" },
            "nextWithoutChannel": null,
            "upgradeFirst": null,
            "warnings": [],
            "commands": [
                "migrate-operators-v0-to-v1 check sub -n ns",
                "migrate-operators-v0-to-v1 convert sub -n ns --dry-run",
                "migrate-operators-v0-to-v1 convert sub -n ns",
            ],
        })
    );
    let report = world.json();
    assert_eq!(report["verdict"], "ELIGIBLE");
    assert_eq!(
        report["comparedWith"]["repository"],
        "operator-framework/library-olm"
    );
    let listed = report["checks"].as_array().expect("it is a list");
    let listed: Vec<_> = listed.iter().map(|check| text(check, "/code")).collect();
    assert_eq!(listed, codes);
}

/// `TestCheckReadiness`.
#[test]
fn an_operator_in_a_hurry_a_dependency_and_a_duplicate_are_not_ready() {
    let busy = World::healthy()
        .subscription("/status/state", json!("UpgradeAvailable"))
        .csv("/status/phase", json!("Failed"));
    assert_eq!(busy.status(), "INELIGIBLE C8+");
    assert_eq!(
        busy.message("C8"),
        "the state of the Subscription is `UpgradeAvailable`, neither `AtLatestKnown` nor `UpgradePending`; \
         the phase of the ClusterServiceVersion is `Failed`, not `Succeeded`"
    );
    assert_eq!(
        busy.operator()["acknowledgements"],
        json!(["--acknowledge-not-steady-state"])
    );
    let pending = World::healthy().subscription("/status/state", json!("UpgradePending"));
    assert_eq!(pending.status(), "ELIGIBLE");
    let reason = World::healthy().csv("/status/reason", json!("InstallWaiting"));
    assert_eq!(reason.status(), "INELIGIBLE C8+");

    let other = object(
        "Subscription",
        "other/other",
        &[("/spec/name", json!("widgets"))],
    );
    let world = World::healthy()
        .subscription(
            "/metadata/annotations",
            json!({ "olm.generated-by": "parent" }),
        )
        .with(&[other]);
    let report = world.json();
    let operators = report["operators"].as_array().expect("it is a list");
    let own = operators.iter().find(|operator| operator["name"] == "sub");
    let own = own.expect("it is there");
    assert_eq!(status_of(own), "INELIGIBLE UNIQUE! C9!");
    assert_eq!(own["commands"], json!([]));
}

#[test]
fn nothing_is_judged_of_an_operator_that_is_not_there() {
    let waiting = World::healthy().subscription("/status/installedCSV", json!(""));
    let codes = "C1a? C2? C3? C4? C5? C7? OLM_V1?";
    assert_eq!(
        waiting.status(),
        format!(
            "INELIGIBLE INSTALLED! {}",
            codes.replace("OLM_V1?", "C8? OLM_V1?")
        )
    );
    assert_eq!(
        waiting.message("INSTALLED"),
        "the Subscription has installed nothing yet"
    );
    let gone = World::healthy().subscription("/status/installedCSV", json!("widgets.v9"));
    assert_eq!(
        gone.message("INSTALLED"),
        "the ClusterServiceVersion `widgets.v9` is gone"
    );
    assert_eq!(gone.message("C2"), "no ClusterServiceVersion is there");
}

/// `TestCompatibilityOperatorGroupAndConditionOverrides`.
#[test]
fn watched_namespaces_accounts_and_conditions_are_acknowledged() {
    let condition = object(
        "OperatorCondition",
        "ns/widgets.v1.0.0",
        &[(
            "/status/conditions",
            json!([{ "type": "Ready", "status": "True" }]),
        )],
    );
    let world = World::healthy()
        .group("/spec/targetNamespaces", json!(["target"]))
        .group("/spec/serviceAccountName", json!("restricted"))
        .with(&[condition]);
    assert_eq!(world.status(), "INELIGIBLE C1+ C4+ C6+");
    assert_eq!(
        world.operator()["acknowledgements"],
        json!([
            "--acknowledge-watch-scope-change",
            "--acknowledge-operator-condition",
            "--acknowledge-scoped-serviceaccount",
        ])
    );
    assert_eq!(
        world.operator()["commands"][2],
        "migrate-operators-v0-to-v1 convert sub -n ns --acknowledge-watch-scope-change \
         --acknowledge-operator-condition --acknowledge-scoped-serviceaccount"
    );
    let unused = object(
        "OperatorCondition",
        "ns/widgets.v1.0.0",
        &[("/status", json!({}))],
    );
    assert_eq!(World::healthy().with(&[unused]).status(), "ELIGIBLE");
}

#[test]
fn one_operator_group_must_watch_all_namespaces() {
    for (pointer, value, expected) in [
        ("/spec/targetNamespaces", json!([]), "ELIGIBLE"),
        (
            "/spec/targetNamespaces",
            json!(["a", "b"]),
            "INELIGIBLE C1+",
        ),
        ("/spec/selector", json!({}), "ELIGIBLE"),
        ("/spec/selector", json!({ "matchLabels": {} }), "ELIGIBLE"),
        (
            "/spec/selector",
            json!({ "matchLabels": { "a": "b" } }),
            "INELIGIBLE C1+",
        ),
        (
            "/spec/selector",
            json!({ "matchExpressions": [{ "key": "a", "operator": "Exists" }] }),
            "INELIGIBLE C1+",
        ),
        ("/status/namespaces", json!([""]), "ELIGIBLE"),
        ("/status/namespaces", json!(["a"]), "INELIGIBLE C1+"),
        ("/status/namespaces", json!(["a", "b"]), "ELIGIBLE"),
    ] {
        let world = World::healthy().group(pointer, value.clone());
        assert_eq!(world.status(), expected, "{pointer}: {value}");
    }
    let two = World::healthy().with(&[object("OperatorGroup", "ns/second", &[])]);
    assert_eq!(two.status(), "INELIGIBLE C1!");
    let elsewhere = World::healthy().with(&[object("OperatorGroup", "nsx/second", &[])]);
    assert_eq!(elsewhere.status(), "ELIGIBLE");
    let mut none = World::healthy();
    none.objects
        .set_unread(MigrationKind::OperatorGroup, String::new());
    let mut without = MigrationObjects::default();
    for kind in MigrationKind::ALL {
        for object in none.objects.known(kind) {
            without.add(object.clone());
        }
    }
    none.objects = without;
    assert_eq!(none.status(), "INELIGIBLE C1!");
    assert_eq!(none.message("C1"), "namespace `ns` has no OperatorGroup");
}

#[test]
fn an_operator_must_support_all_namespaces() {
    for (modes, expected) in [
        (
            json!([{ "type": "AllNamespaces", "supported": true }]),
            "ELIGIBLE",
        ),
        (
            json!([{ "type": "AllNamespaces", "supported": false }]),
            "INELIGIBLE C1a!",
        ),
        (
            json!([{ "type": "OwnNamespace", "supported": true }]),
            "INELIGIBLE C1a!",
        ),
        (Value::Null, "INELIGIBLE C1a!"),
    ] {
        let world = World::healthy().csv("/spec/installModes", modes.clone());
        assert_eq!(world.status(), expected, "{modes}");
    }
    let none = World::healthy().csv("/spec/installModes", Value::Null);
    assert_eq!(
        none.message("C1a"),
        "the ClusterServiceVersion supports no install mode and not AllNamespaces"
    );
}

/// `TestCompatibilityPureChecks`, and what OLM v1 refuses besides.
#[test]
fn dependencies_apis_and_rights_are_found() {
    let package =
        r#"[{"type":"olm.package.required","value":{"packageName":"dep","versionRange":">=1"}}]"#;
    let api = r#"{"properties":[{"type":"olm.gvk.required","value":{"group":"x","version":"v1","kind":"X"}}]}"#;
    let constraint = r#"[{"type":"olm.constraint","value":{}}]"#;
    for (properties, expected) in [
        (package, "requires package `dep` in version `>=1`"),
        (api, "requires the API `x/v1`, kind `X`"),
        (
            constraint,
            "has a property `olm.constraint`, which OLM v1 refuses and upstream's tool does not look for",
        ),
        (
            "not json",
            "the annotation `operatorframework.io/properties` cannot be read: it is not JSON: expected ident at line 1 column 2",
        ),
        (
            "1",
            "the annotation `operatorframework.io/properties` cannot be read: it is no list of properties",
        ),
        (
            "[1]",
            "the annotation `operatorframework.io/properties` cannot be read: it has an item that is no property",
        ),
    ] {
        let world = World::healthy().properties(properties);
        assert_eq!(world.status(), "INELIGIBLE C2!", "{properties}");
        assert_eq!(world.message("C2"), expected);
    }
    for properties in [
        "",
        "null",
        "[]",
        "{}",
        r#"[{"type":"olm.package","value":{}}]"#,
        r#"[{"type":"olm.label.required","value":{}}]"#,
    ] {
        let world = World::healthy().properties(properties);
        assert_eq!(world.status(), "ELIGIBLE", "{properties}");
    }

    let services =
        json!([{ "name": "v1.widgets", "group": "widgets", "version": "v1", "kind": "W" }]);
    let world = World::healthy().csv("/spec/apiservicedefinitions/owned", services.clone());
    assert_eq!(world.status(), "INELIGIBLE C3!");
    let world = World::healthy().csv("/spec/apiservicedefinitions/required", services);
    assert_eq!(world.status(), "ELIGIBLE");
}

#[test]
fn rights_on_olm_v0_count_unless_there_are_some_on_olm_v1() {
    let v0 = "operators.coreos.com";
    let rule = |groups: &[&str], resources: &[&str]| json!({ "apiGroups": groups, "resources": resources });
    let other = rule(&["olm.operatorframework.io"], &["clusterextensions"]);
    for (rules, expected) in [
        (vec![rule(&[v0], &["subscriptions"])], "INELIGIBLE C5+"),
        (vec![rule(&[v0], &["installplans"])], "INELIGIBLE C5+"),
        (
            vec![rule(&[v0], &["clusterserviceversions"])],
            "INELIGIBLE C5+",
        ),
        (vec![rule(&[v0], &["catalogsources"])], "INELIGIBLE C5+"),
        (vec![rule(&[v0], &["*"])], "INELIGIBLE C5+"),
        (vec![rule(&[v0], &["operatorconditions"])], "ELIGIBLE"),
        (vec![rule(&["*"], &["subscriptions"])], "ELIGIBLE"),
        (
            vec![rule(&[v0], &["subscriptions"]), other.clone()],
            "ELIGIBLE",
        ),
        (vec![other], "ELIGIBLE"),
    ] {
        let accounts = json!([{ "serviceAccountName": "a", "rules": rules }]);
        let world = World::healthy().csv("/spec/install/spec/clusterPermissions", accounts.clone());
        assert_eq!(world.status(), expected, "{rules:?}");
        // Rights in namespaces do not count.
        let world = World::healthy().csv("/spec/install/spec/permissions", accounts);
        assert_eq!(world.status(), "ELIGIBLE", "{rules:?}");
    }
}

#[test]
fn a_catalog_source_must_be_there_with_an_image() {
    let gone = World::healthy().subscription("/spec/source", json!("other"));
    assert_eq!(gone.status(), "INELIGIBLE C10!");
    assert_eq!(gone.message("C10"), "the CatalogSource `olm/other` is gone");
    let map = World::healthy().source("/spec/sourceType", json!("configmap"));
    assert_eq!(map.status(), "INELIGIBLE C10!");
    let address = World::healthy().source("/spec/image", json!(""));
    assert_eq!(
        address.message("C10"),
        "the CatalogSource `olm/index` has an address and no image"
    );

    // The InstallPlan may have unpacked the bundle from another one.
    let plan = |identifier: &str, source: &str| {
        let reference = json!({ "namespace": "olm", "name": source });
        let lookup =
            json!({ "identifier": identifier, "path": "i", "catalogSourceRef": reference });
        object(
            "InstallPlan",
            "ns/plan",
            &[("/status/bundleLookups", json!([lookup]))],
        )
    };
    let planned = |plan: Value| {
        let world = World::healthy().with(&[plan]);
        world.subscription(
            "/status/installPlanRef",
            json!({ "namespace": "ns", "name": "plan" }),
        )
    };
    assert_eq!(
        planned(plan("widgets.v1.0.0", "index")).status(),
        "ELIGIBLE"
    );
    assert_eq!(planned(plan("other.v1.0.0", "gone")).status(), "ELIGIBLE");
    let elsewhere = planned(plan("widgets.v1.0.0", "gone"));
    assert_eq!(elsewhere.status(), "INELIGIBLE C10!");
    assert_eq!(
        elsewhere.message("C10"),
        "the CatalogSource `olm/gone` is gone"
    );
    let deprecated = World::healthy()
        .with(&[plan("widgets.v1.0.0", "gone")])
        .subscription("/status/installplan", json!({ "name": "plan" }));
    assert_eq!(deprecated.status(), "INELIGIBLE C10!");
}

#[test]
fn an_extension_that_was_made_from_the_subscription_is_a_conflict_and_one_of_its_name_is_in_the_way()
 {
    let origin = "/metadata/annotations/olm.operatorframework.io~1migrated-from-subscription";
    let made = |name: &str, from: &str| object("ClusterExtension", name, &[(origin, json!(from))]);
    let conflict = World::healthy().with(&[made("other", "ns/sub")]);
    assert_eq!(conflict.status(), "CONFLICT CONFLICT!");
    let same = World::healthy().with(&[made("sub", "ns/sub")]);
    assert_eq!(same.status(), "CONFLICT CONFLICT!");
    let name = World::healthy().with(&[object("ClusterExtension", "sub", &[])]);
    assert_eq!(name.status(), "INELIGIBLE NAME!");
    let gone = World::healthy().with(&[made("moved", "ns/moved")]);
    assert_eq!(gone.status(), "ELIGIBLE");
    assert_eq!(
        gone.json()["alreadyMigrated"],
        json!([{ "clusterExtension": "moved", "subscription": "ns/moved" }])
    );
    let expected = "\
STATUS            NAMESPACE  NAME   PACKAGE  INSTALLED  CHECKS  CATALOG  THEN
ALREADY_MIGRATED  ns         moved  <none>   <none>     <none>  <none>   <none>
ELIGIBLE          ns         sub    widgets  1.0.0      <none>  index    NEWEST

ns/sub:
- after the move it would stay, as the newest

CATALOGSOURCE  RESULT  CLUSTERCATALOG  REASON
olm/index      EXISTS  index           ClusterCatalog `index` has its image
";
    assert_eq!(gone.judged(|report| report.table(true, true)), expected);
}

#[test]
fn checks_of_kinds_that_were_not_read_are_unknown() {
    for (kind, expected) in [
        (
            CSV,
            "UNKNOWN INSTALLED? C1a? C2? C3? C4? C5? C7? C8? OLM_V1?",
        ),
        (MigrationKind::OperatorGroup, "UNKNOWN C1? C6?"),
        (MigrationKind::OperatorCondition, "UNKNOWN C4?"),
        (MigrationKind::CatalogSource, "UNKNOWN C10?"),
        (MigrationKind::InstallPlan, "UNKNOWN C10?"),
        (MigrationKind::ClusterExtension, "UNKNOWN CONFLICT? NAME?"),
        (MigrationKind::ClusterCatalog, "UNKNOWN C7? OLM_V1?"),
    ] {
        let plan = object("InstallPlan", "ns/plan", &[]);
        let mut world = World::healthy()
            .with(&[plan])
            .subscription("/status/installPlanRef", json!({ "name": "plan" }));
        world.objects.set_unread(kind, "forbidden".to_owned());
        assert_eq!(world.status(), expected, "{kind:?}");
        let report = world.json();
        assert_eq!(report["verdict"], "UNKNOWN");
        assert_eq!(
            report["unreadKinds"],
            json!([{ "kind": kind.name(), "reason": "forbidden" }])
        );
        // What fails is known to fail.
        let failing =
            world.subscription("/metadata/annotations", json!({ "olm.generated-by": "x" }));
        assert!(failing.status().starts_with("INELIGIBLE "), "{kind:?}");
        assert_eq!(failing.json()["verdict"], "UNKNOWN");
    }
}

#[test]
fn copies_of_operators_are_no_operators() {
    let copy = |pointer: &str, value: &str| {
        let members = [(pointer, json!(value)), ("/status/phase", json!("Failed"))];
        object("ClusterServiceVersion", "ns/widgets.v1.0.0", &members)
    };
    let world = World::healthy().with(&[
        copy("/metadata/labels/olm.copiedFrom", "elsewhere"),
        copy("/status/reason", "Copied"),
    ]);
    assert_eq!(world.status(), "ELIGIBLE");
}

/// `TestFindDependentsOnlyReportsInstalledOperatorsRequiringPackage`, and those that require an API.
#[test]
fn operators_that_require_the_package_or_an_api_of_it_are_named() {
    let requires = |package: &str| {
        format!(r#"[{{"type":"olm.package.required","value":{{"packageName":"{package}"}}}}]"#)
    };
    let api = r#"[{"type":"olm.gvk.required","value":{"group":"w.io","version":"v1","kind":"W"}}]"#;
    let mut objects = Vec::new();
    for (place, package, csv, properties) in [
        (
            "first/consumer",
            "consumer",
            "consumer.v1",
            requires("widgets"),
        ),
        (
            "second/wrapped",
            "another",
            "another.v1",
            format!(r#"{{"properties":{}}}"#, requires("widgets")),
        ),
        ("third/uninstalled", "pending", "", requires("widgets")),
        (
            "fourth/unrelated",
            "other",
            "other.v1",
            requires("different"),
        ),
        (
            "fifth/malformed",
            "broken",
            "broken.v1",
            "not JSON".to_owned(),
        ),
        ("sixth/api", "user", "user.v1", api.to_owned()),
    ] {
        let (namespace, _) = place.split_once('/').expect("it has a namespace");
        objects.push(object(
            "Subscription",
            place,
            &[
                ("/spec/name", json!(package)),
                ("/status/installedCSV", json!(csv)),
            ],
        ));
        if !csv.is_empty() {
            let annotation = "/metadata/annotations/operatorframework.io~1properties";
            let place = format!("{namespace}/{csv}");
            objects.push(object(
                "ClusterServiceVersion",
                &place,
                &[(annotation, json!(properties))],
            ));
        }
    }
    let definition = json!([{ "name": "ws.w.io", "version": "v1", "kind": "W" }]);
    let world = World::healthy()
        .csv("/spec/customresourcedefinitions/owned", definition)
        .properties(&requires("widgets"))
        .with(&objects);
    let report = world.json();
    let operators = report["operators"].as_array().expect("it is a list");
    let own = operators.iter().find(|operator| operator["name"] == "sub");
    assert_eq!(
        own.expect("it is there")["warnings"],
        json!([
            "other operators require the package or an API of it: first/consumer, second/wrapped, sixth/api"
        ])
    );
}

#[test]
fn what_changes_with_the_move_is_a_warning() {
    let webhook = json!([{ "type": "ValidatingAdmissionWebhook", "generateName": "w" }]);
    let world = World::healthy()
        .group(
            "/spec/upgradeStrategy",
            json!("TechPreviewUnsafeFailForward"),
        )
        .csv("/spec/webhookdefinitions", webhook)
        .subscription(
            "/spec/config/selector",
            json!({ "matchLabels": { "a": "b" } }),
        );
    assert_eq!(world.status(), "ELIGIBLE");
    assert_eq!(
        world.warnings(),
        [
            "the OperatorGroup `group` has the upgrade strategy `TechPreviewUnsafeFailForward`, which OLM v1 does not have",
            "its pods restart when cert-manager, or service-ca of OpenShift, takes its certificates over",
            "`spec.config.selector` is left out: OLM v0 has never heeded it",
        ]
    );
    let default = World::healthy().group("/spec/upgradeStrategy", json!("Default"));
    assert_eq!(default.warnings(), [] as [String; 0]);
}

#[test]
fn operators_are_listed_by_status_then_by_namespace_and_name() {
    let mut world = World::healthy();
    let origin = "/metadata/annotations/olm.operatorframework.io~1migrated-from-subscription";
    for (place, generated) in [("a/twice", true), ("z/twice", true), ("zz/ours", false)] {
        let (namespace, _) = place.split_once('/').expect("it has a namespace");
        let package = place.replace('/', "-");
        let mut members = vec![("/spec/name", json!(package))];
        if generated {
            members.push(("/metadata/annotations", json!({ "olm.generated-by": "x" })));
        }
        world = world.with(&[
            object("Subscription", place, &members),
            object("OperatorGroup", &format!("{namespace}/g"), &[]),
        ]);
    }
    let made = object("ClusterExtension", "x", &[(origin, json!("zz/ours"))]);
    let report = world.with(&[made]).json();
    let operators = report["operators"].as_array().expect("it is a list");
    let listed: Vec<_> = operators
        .iter()
        .map(|operator| {
            format!(
                "{} {}/{}",
                text(operator, "/status"),
                text(operator, "/namespace"),
                text(operator, "/name")
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            "CONFLICT zz/ours",
            "INELIGIBLE a/twice",
            "INELIGIBLE z/twice",
            "ELIGIBLE ns/sub"
        ]
    );
    assert_eq!(
        operators[1]["warnings"],
        json!([
            "other Subscriptions have its name, and a ClusterExtension has no namespace: `--ce-name` of upstream's tool chooses another one than z/twice"
        ])
    );
}

/// A snapshot of a cluster of upstream's tests (`ecr-secret-operator`), with the members that checks
/// read.
#[test]
fn an_operator_of_a_real_cluster_is_eligible() {
    let properties = r#"{"properties":[{"type":"olm.gvk","value":{"group":"ecr.mobb.redhat.com","kind":"Secret","version":"v1alpha1"}},{"type":"olm.package","value":{"packageName":"ecr-secret-operator","version":"1.0.0"}}]}"#;
    let definitions = json!([
        { "kind": "ArgoHelmRepoSecret", "name": "argohelmreposecrets.ecr.mobb.redhat.com", "version": "v1alpha1" },
        { "kind": "Secret", "name": "secrets.ecr.mobb.redhat.com", "version": "v1alpha1" },
    ]);
    let accounts = json!([{
        "serviceAccountName": "ecr-secret-operator-controller-manager",
        "rules": [
            { "apiGroups": [""], "resources": ["secrets"], "verbs": ["get"] },
            { "apiGroups": ["ecr.mobb.redhat.com"], "resources": ["secrets/status"], "verbs": ["get"] },
            { "apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"] },
        ],
    }]);
    let reference = json!({ "kind": "InstallPlan", "name": "install-7kk5m", "namespace": "ns" });
    let world = World::healthy()
        .properties(properties)
        .csv("/spec/apiservicedefinitions", json!({}))
        .csv("/spec/customresourcedefinitions/owned", definitions)
        .csv("/spec/install/spec/clusterPermissions", accounts)
        .group("/spec/upgradeStrategy", json!("Default"))
        .group("/status/namespaces", json!([""]))
        .subscription("/status/installPlanRef", reference.clone())
        .subscription("/status/installplan", reference)
        .subscription("/status/currentCSV", json!("widgets.v1.0.0"));
    assert_eq!(world.status(), "ELIGIBLE");
    assert_eq!(world.warnings(), [] as [String; 0]);
}

#[test]
fn a_sentence_names_ten_objects_and_counts_the_others() {
    let with = |count: usize| {
        let others = (0..count).map(|at| {
            let place = format!("n/other-{at:02}");
            object("Subscription", &place, &[("/spec/name", json!("widgets"))])
        });
        let report = World::healthy().with(&others.collect::<Vec<_>>()).json();
        let operators = report["operators"].as_array().expect("it is a list");
        let own = operators.iter().find(|operator| operator["name"] == "sub");
        let checks = own.expect("it is there")["checks"].as_array();
        let mut checks = checks.expect("it is a list").iter();
        let unique = checks.find(|check| check["code"] == "UNIQUE");
        text(unique.expect("there is the check"), "/message")
    };
    assert!(with(MAX_NAMED_OBJECTS).ends_with("n/other-08, n/other-09"));
    assert!(with(MAX_NAMED_OBJECTS + 2).ends_with("n/other-08, n/other-09 and 2 more"));
}
