//! What metadata says, in either of its forms, and what it says where it is odd.

use base64::prelude::{BASE64_STANDARD, Engine};
use fbc::{
    ApiServiceDescription, CapabilityLevel, Catalog, CrdDescription, CsvMetadata, FieldDescriptor,
    InstallMode, Link, ServiceAccountPermissions, WebhookDescription, WebhookType,
};
use fbc_read::ProblemCode;
use fbc_read::json::JsonText;
use serde_json::{Value, json};
use testing::fixture;

/// Metadata with something in every member.
fn full() -> Value {
    json!({
        "annotations": {
            "alm-examples": "[ {\"b\": 1.50, \"a\": \"é\"} ]",
            "capabilities": " deep insights ",
            "categories": "Networking, Security,,Networking",
            "certified": "False",
            "containerImage": " quay.io/a/b:1 ",
            "createdAt": "2020-11-02T22:40:00Z",
            "features.operators.openshift.io/disconnected": "\u{201c}true\u{201d}",
            "operators.openshift.io/infrastructure-features": "[\"Proxy\"]",
            "repository": "https://a.io",
            "support": "A, Inc.",
        },
        "crdDescriptions": {
            "owned": [{
                "description": "d", "displayName": "A", "kind": "A", "name": "as.a.io", "version": "v1",
                "resources": [{"kind": "Pod", "name": "a-pod", "version": "v1"}],
                "specDescriptors": [{
                    "description": "how many", "displayName": "Size", "path": "size",
                    "x-descriptors": ["urn:alm:descriptor:com.tectonic.ui:podCount", "urn:x"],
                }],
                "statusDescriptors": [{"path": "phase"}],
            }],
            "required": [{"kind": "B", "name": "bs.b.io", "version": "v2"}],
        },
        "apiServiceDefinitions": {
            "owned": [{
                "deploymentName": "server", "description": "m", "displayName": "Metric", "group": "metrics.a.io",
                "kind": "Metric", "name": "v1.metrics.a.io", "version": "v1",
            }],
            "required": [{"group": "b.io", "kind": "B", "name": "v1.b.io", "version": "v1"}],
        },
        "description": "# A \"b\"",
        "displayName": "An operator",
        "installModes": [
            {"supported": true, "type": "AllNamespaces"},
            {"supported": true, "type": "OwnNamespace"},
            {"supported": false, "type": "MultiNamespace"},
        ],
        "keywords": ["one", "two"],
        "labels": {"x": "y"},
        "links": [{"name": "docs", "url": "https://a.io/docs"}],
        "maintainers": [{"email": "a@a.io", "name": "A"}],
        "maturity": "stable",
        "minKubeVersion": "1.20.0",
        "nativeAPIs": [{"group": "apps", "kind": "Deployment", "version": "v1"}],
        "provider": {"name": "A", "url": "https://a.io"},
    })
}

/// The `ClusterServiceVersion` that upstream makes this metadata of.
fn cluster_service_version(metadata: &Value) -> Value {
    let mut meta = json!({"name": "a.v1.0.0"});
    let mut spec = json!({"install": {}});
    for (key, value) in metadata.as_object().unwrap() {
        match key.as_str() {
            "annotations" | "labels" => meta[key] = value.clone(),
            "crdDescriptions" => spec["customresourcedefinitions"] = value.clone(),
            "apiServiceDefinitions" => spec["apiservicedefinitions"] = value.clone(),
            _ => spec[key] = value.clone(),
        }
    }
    json!({"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": meta, "spec": spec})
}

fn property(metadata: &Value) -> Value {
    json!({"type": "olm.csv.metadata", "value": metadata})
}

fn manifest(text: &str) -> Value {
    json!({"type": "olm.bundle.object", "value": {"data": BASE64_STANDARD.encode(text)}})
}

/// A catalog of one package with one bundle that has these properties.
fn catalog(properties: &[Value]) -> Catalog {
    let identity =
        json!({"type": "olm.package", "value": {"packageName": "a", "version": "1.0.0"}});
    let properties: Vec<_> = std::iter::once(&identity).chain(properties).collect();
    let bundle = json!({
        "image": "a.io/a:1", "name": "a.v1.0.0", "package": "a", "properties": properties, "schema": "olm.bundle",
    });
    fixture::catalog(&format!(
        "package a default=stable\nchannel stable: v1.0.0?\n{bundle}"
    ))
}

/// Everything that the metadata of such a catalog's bundle says.
fn told(properties: &[Value]) -> Option<Value> {
    let catalog = catalog(properties);
    catalog.bundle_at(0).metadata().as_ref().map(everything)
}

fn text(text: JsonText<'_>) -> Value {
    serde_json::from_slice(text.raw()).unwrap()
}

fn link(link: &Link<'_>) -> Value {
    json!([link.name.map(text), link.url.map(text)])
}

fn crd(crd: &CrdDescription<'_>) -> Value {
    let CrdDescription {
        name,
        version,
        kind,
        display_name,
        description,
        ..
    } = *crd;
    let resources = crd
        .resources()
        .into_iter()
        .map(|it| json!([text(it.name), text(it.version), text(it.kind)]));
    let descriptors = [crd.spec_descriptors(), crd.status_descriptors()]
        .map(|list| list.iter().map(descriptor).collect::<Vec<_>>());
    let plain = json!([
        text(name),
        text(version),
        text(kind),
        display_name.map(text),
        description.map(text)
    ]);
    json!([
        plain,
        resources.collect::<Vec<_>>(),
        descriptors[0],
        descriptors[1]
    ])
}

fn descriptor(descriptor: &FieldDescriptor<'_>) -> Value {
    let FieldDescriptor {
        path,
        display_name,
        description,
        x_descriptors,
    } = descriptor;
    let hints: Vec<_> = x_descriptors.iter().copied().map(text).collect();
    json!([
        text(*path),
        display_name.map(text),
        description.map(text),
        hints
    ])
}

fn api_service(api: &ApiServiceDescription<'_>) -> Value {
    let required = [api.name, api.group, api.version, api.kind].map(text);
    json!([
        required,
        api.display_name.map(text),
        api.description.map(text),
        api.deployment_name.map(text)
    ])
}

fn everything(metadata: &CsvMetadata<'_>) -> Value {
    let pairs = |pairs: Vec<(JsonText<'_>, JsonText<'_>)>| -> Value {
        pairs
            .into_iter()
            .map(|(key, value)| json!([text(key), text(value)]))
            .collect()
    };
    let examples = metadata
        .examples()
        .map(|examples| String::from_utf8(examples).unwrap());
    let native = metadata.native_apis().into_iter();
    let maintainers = metadata.maintainers().into_iter();
    json!({
        "displayName": metadata.display_name().map(text),
        "description": metadata.description().map(text),
        "provider": metadata.provider().as_ref().map(link),
        "maintainers": maintainers.map(|it| json!([it.name.map(text), it.email.map(text)])).collect::<Vec<_>>(),
        "links": metadata.links().iter().map(link).collect::<Vec<_>>(),
        "keywords": metadata.keywords().into_iter().map(text).collect::<Vec<_>>(),
        "categories": metadata.categories(),
        "capabilityLevel": metadata.capability_level().map(CapabilityLevel::as_str),
        "maturity": metadata.maturity().map(text),
        "minKubeVersion": metadata.min_kube_version().map(text),
        "installModes": metadata.install_modes().iter().map(InstallMode::as_str).collect::<Vec<_>>(),
        "infrastructureFeatures": metadata.infrastructure_features(),
        "certified": metadata.certified(),
        "createdAt": metadata.created_at().map(|at| at.to_string()),
        "containerImage": metadata.container_image(),
        "repository": metadata.repository(),
        "support": metadata.support(),
        "ownedCrds": metadata.owned_crds().iter().map(crd).collect::<Vec<_>>(),
        "requiredCrds": metadata.required_crds().iter().map(crd).collect::<Vec<_>>(),
        "ownedApiServices": metadata.owned_api_services().iter().map(api_service).collect::<Vec<_>>(),
        "requiredApiServices": metadata.required_api_services().iter().map(api_service).collect::<Vec<_>>(),
        "nativeApis": native.map(|it| json!([text(it.group), text(it.version), text(it.kind)])).collect::<Vec<_>>(),
        "examples": examples,
        "labels": pairs(metadata.labels()),
        "annotations": pairs(metadata.annotations()).as_array().unwrap().len(),
    })
}

/// What [`full`] says.
fn told_in_full() -> Value {
    json!({
        "displayName": "An operator",
        "description": "# A \"b\"",
        "provider": ["A", "https://a.io"],
        "maintainers": [["A", "a@a.io"]],
        "links": [["docs", "https://a.io/docs"]],
        "keywords": ["one", "two"],
        "categories": ["Networking", "Security"],
        "capabilityLevel": "Deep Insights",
        "maturity": "stable",
        "minKubeVersion": "1.20.0",
        "installModes": ["OwnNamespace", "AllNamespaces"],
        "infrastructureFeatures": ["disconnected", "proxy-aware"],
        "certified": false,
        "createdAt": "2020-11-02T22:40:00Z",
        "containerImage": "quay.io/a/b:1",
        "repository": "https://a.io",
        "support": "A, Inc.",
        "ownedCrds": [[
            ["as.a.io", "v1", "A", "A", "d"],
            [["a-pod", "v1", "Pod"]],
            [["size", "Size", "how many", ["urn:alm:descriptor:com.tectonic.ui:podCount", "urn:x"]]],
            [["phase", null, null, []]],
        ]],
        "requiredCrds": [[["bs.b.io", "v2", "B", null, null], [], [], []]],
        "ownedApiServices": [[["v1.metrics.a.io", "metrics.a.io", "v1", "Metric"], "Metric", "m", "server"]],
        "requiredApiServices": [[["v1.b.io", "b.io", "v1", "B"], null, null, null]],
        "nativeApis": [["apps", "v1", "Deployment"]],
        "examples": "[{\"a\":\"é\",\"b\":1.50}]",
        "labels": [["x", "y"]],
        "annotations": 10,
    })
}

/// What metadata without anything in it says.
fn told_of_nothing() -> Value {
    told(&[property(&json!({}))]).unwrap()
}

#[test]
fn both_forms_of_metadata_say_the_same() {
    let csv = cluster_service_version(&full());
    let yaml =
        "kind: ClusterServiceVersion\nspec:\n  displayName: An operator\n  keywords: [one, two]\n";
    assert_eq!(told(&[property(&full())]).unwrap(), told_in_full());
    assert_eq!(told(&[manifest(&csv.to_string())]).unwrap(), told_in_full());
    assert_eq!(
        told(&[manifest(&format!("{csv:#}"))]).unwrap(),
        told_in_full()
    );
    let expected = json!({"displayName": "An operator", "keywords": ["one", "two"]});
    assert_eq!(
        told(&[manifest(yaml)]).unwrap(),
        told(&[property(&expected)]).unwrap()
    );
}

#[test]
fn the_first_metadata_counts_and_a_manifest_only_without_it() {
    let named = |name: &str| json!({"displayName": name});
    let csv = |name: &str| manifest(&cluster_service_version(&named(name)).to_string());
    let name = |properties: &[Value]| {
        let catalog = catalog(properties);
        catalog
            .bundle_at(0)
            .metadata()
            .map(|metadata| metadata.display_name().unwrap().decode().into_owned())
    };
    assert_eq!(
        name(&[
            csv("x"),
            property(&json!([])),
            property(&named("a")),
            property(&named("b"))
        ])
        .unwrap(),
        "a"
    );
    let config_map = manifest(r#"{"data":{"a":"ClusterServiceVersion"},"kind":"ConfigMap"}"#);
    let broken = manifest("{\"kind\": \"ClusterServiceVersion\"");
    assert_eq!(
        name(&[
            config_map.clone(),
            broken,
            property(&json!(1)),
            csv("b"),
            csv("c")
        ])
        .unwrap(),
        "b"
    );
    assert_eq!(name(&[config_map, property(&json!(null))]), None);
    let catalog = catalog(&[csv("x"), property(&named("a"))]);
    let of_each: Vec<_> = catalog
        .bundle_at(0)
        .properties()
        .map(|property| property.metadata().is_some())
        .collect();
    assert_eq!(of_each, [false, false, true]);
}

#[test]
fn an_annotation_that_is_no_list_of_names_gives_no_names_and_one_of_subscriptions_gives_its_text() {
    let lists = |text: &str| {
        let annotations = json!({
            "console.openshift.io/plugins": text,
            "operators.openshift.io/valid-subscription": text,
            "operators.operatorframework.io/internal-objects": text,
        });
        let catalog = catalog(&[property(&json!({"annotations": annotations}))]);
        let metadata = catalog.bundle_at(0).metadata().unwrap();
        [
            metadata.internal_objects(),
            metadata.console_plugins(),
            metadata.valid_subscriptions(),
        ]
    };
    let none: &[&str] = &[];
    for (text, names, subscriptions) in [
        (
            r#" ["a.b", "c.d"] "#,
            &["a.b", "c.d"][..],
            &["a.b", "c.d"][..],
        ),
        ("[]", none, none),
        ("", none, none),
        (" ", none, none),
        ("[a.b]", none, &["[a.b]"]),
        (r#"["a.b", c.d]"#, none, &[r#"["a.b", c.d]"#]),
        (r#"["a.b", 1]"#, none, &[r#"["a.b", 1]"#]),
        (r#"["a.b"],["c.d"]"#, none, &[r#"["a.b"],["c.d"]"#]),
        (r#"{"a.b": "c.d"}"#, none, &[r#"{"a.b": "c.d"}"#]),
        (r#""a.b""#, none, &[r#""a.b""#]),
        (" none ", none, &["none"]),
    ] {
        assert_eq!(lists(text), [names, names, subscriptions], "{text:?}");
    }
}

/// What a `ClusterServiceVersion` says of permissions and webhooks.
fn installed(properties: &[Value]) -> Value {
    let catalog = catalog(properties);
    let metadata = catalog.bundle_at(0).metadata().unwrap();
    let texts = |list: Vec<JsonText<'_>>| list.into_iter().map(text).collect::<Vec<_>>();
    let accounts = [metadata.permissions(), metadata.cluster_permissions()].map(|accounts| {
        let account = |account: ServiceAccountPermissions<'_>| {
            let rules = account.rules().into_iter().map(|rule| {
                let urls = rule.non_resource_urls();
                json!(
                    [
                        rule.api_groups(),
                        rule.resources(),
                        rule.resource_names(),
                        rule.verbs(),
                        urls
                    ]
                    .map(texts)
                )
            });
            json!([
                text(account.service_account_name),
                rules.collect::<Vec<_>>()
            ])
        };
        accounts.map(|accounts| accounts.into_iter().map(account).collect::<Vec<_>>())
    });
    let webhooks = metadata.webhooks().map(|webhooks| {
        let webhook = |webhook: WebhookDescription<'_>| {
            let rules = webhook.rules().into_iter().map(|rule| {
                json!(
                    [
                        rule.api_groups(),
                        rule.api_versions(),
                        rule.resources(),
                        rule.operations()
                    ]
                    .map(texts)
                )
            });
            let optional = [
                webhook.deployment_name,
                webhook.path,
                webhook.failure_policy,
            ]
            .map(|it| it.map(text));
            let kind = webhook.kind.map(WebhookType::as_str);
            json!([
                text(webhook.generate_name),
                kind,
                optional,
                rules.collect::<Vec<_>>(),
                texts(webhook.conversion_crds())
            ])
        };
        webhooks.into_iter().map(webhook).collect::<Vec<_>>()
    });
    json!({"permissions": accounts[0], "clusterPermissions": accounts[1], "webhooks": webhooks})
}

#[test]
fn permissions_and_webhooks_are_those_of_a_manifest_and_nothing_else_says_so() {
    let csv = |install: Value, webhooks: Value| {
        let spec = json!({"install": {"spec": install}, "webhookdefinitions": webhooks});
        manifest(&json!({"kind": "ClusterServiceVersion", "spec": spec}).to_string())
    };
    let rule = json!({"apiGroups": ["", "apps"], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["get", "*"]});
    let other = json!({"nonResourceURLs": ["/metrics"], "verbs": ["get"]});
    let install = json!({
        "permissions": [{"rules": [rule], "serviceAccountName": "a"}, {"serviceAccountName": "b"}],
        "clusterPermissions": [{"rules": [other, 1], "serviceAccountName": "a"}],
        "deployments": [{"name": "server"}],
    });
    let webhooks = json!([
        {
            "admissionReviewVersions": ["v1"], "deploymentName": "server", "failurePolicy": "Fail", "generateName": "v.a.io",
            "rules": [{"apiGroups": ["a.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["as"]}],
            "type": "ValidatingAdmissionWebhook", "webhookPath": "/validate",
        },
        {"type": "MutatingAdmissionWebhook"},
        {"conversionCRDs": ["as.a.io"], "type": "ConversionWebhook"},
        {"type": "Webhook"},
    ]);
    let none = [Value::Null, Value::Null, Value::Null];
    let expected = json!({
        "permissions": [["a", [[["", "apps"], ["pods"], ["a"], ["get", "*"], []]]], ["b", []]],
        "clusterPermissions": [["a", [[[], [], [], ["get"], ["/metrics"]]]]],
        "webhooks": [
            ["v.a.io", "VALIDATING", ["server", "/validate", "Fail"], [[["a.io"], ["v1"], ["as"], ["CREATE"]]], []],
            ["", "MUTATING", none, [], []],
            ["", "CONVERSION", none, [], ["as.a.io"]],
            ["", null, none, [], []],
        ],
    });
    assert_eq!(installed(&[csv(install, webhooks)]), expected);
    let empty = json!({"permissions": [], "clusterPermissions": [], "webhooks": []});
    assert_eq!(installed(&[csv(json!({}), json!(null))]), empty);
    assert_eq!(
        installed(&[csv(
            json!({"permissions": {}, "clusterPermissions": "all"}),
            json!({})
        )]),
        empty
    );
    let null = json!({"permissions": null, "clusterPermissions": null, "webhooks": null});
    assert_eq!(installed(&[property(&full())]), null);
    let disguised = json!({"install": {"spec": {"permissions": []}}, "webhookdefinitions": []});
    assert_eq!(installed(&[property(&disguised)]), null);
}

#[test]
fn a_member_of_the_wrong_type_is_as_good_as_absent() {
    let values = [
        json!(null),
        json!(true),
        json!(1.5),
        json!("x"),
        json!([]),
        json!({}),
    ];
    let kind = |value: &Value| std::mem::discriminant(value);
    let mut tried = 0;
    for pointer in pointers(&full(), "") {
        let right = kind(full().pointer(&pointer).unwrap());
        let mut without = full();
        remove(&mut without, &pointer);
        for wrong in values.iter().filter(|value| kind(value) != right) {
            let mut odd = full();
            *odd.pointer_mut(&pointer).unwrap() = wrong.clone();
            let expected = told(&[property(&without)]).unwrap();
            assert_eq!(
                told(&[property(&odd)]).unwrap(),
                expected,
                "{wrong} at {pointer}"
            );
            let csv = cluster_service_version(&odd).to_string();
            assert_eq!(
                told(&[manifest(&csv)]).unwrap(),
                expected,
                "{wrong} at {pointer} of a manifest"
            );
            let is_refused = !wrong.is_null();
            let problems = catalog(&[property(&odd)])
                .problems()
                .iter()
                .map(|problem| problem.code)
                .collect::<Vec<_>>();
            let refused: &[ProblemCode] = if is_refused {
                &[ProblemCode::BundlePropertyMalformed]
            } else {
                &[]
            };
            assert_eq!(problems, refused, "{wrong} at {pointer}");
            tried += 1;
        }
    }
    assert_eq!(tried, 5 * 91);
}

/// Where every value below this one is.
fn pointers(value: &Value, at: &str) -> Vec<String> {
    let escape = |key: &str| key.replace('~', "~0").replace('/', "~1");
    let below: Vec<(String, &Value)> = match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (escape(key), value))
            .collect(),
        Value::Array(elements) => elements
            .iter()
            .enumerate()
            .map(|(at, value)| (at.to_string(), value))
            .collect(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    for (key, value) in below {
        let at = format!("{at}/{key}");
        found.extend(pointers(value, &at));
        found.push(at);
    }
    found
}

fn remove(value: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let key = key.replace("~1", "/");
    match value.pointer_mut(parent).unwrap() {
        Value::Object(members) => drop(members.remove(&key)),
        Value::Array(elements) => drop(elements.remove(key.parse().unwrap())),
        other => panic!("{other} has no parts"),
    }
}

#[test]
fn an_empty_text_is_as_good_as_absent() {
    let empty = json!({
        "annotations": {
            "alm-examples": " ", "capabilities": "", "categories": " , ", "certified": "", "containerImage": " ",
            "createdAt": "", "repository": "", "support": "\n",
        },
        "displayName": "", "description": "", "links": [{"name": "", "url": ""}, {}], "maintainers": [{}],
        "maturity": "", "minKubeVersion": "", "provider": {"name": "", "url": ""},
    });
    let mut expected = told_of_nothing();
    expected["annotations"] = json!(8);
    assert_eq!(told(&[property(&empty)]).unwrap(), expected);
    let parts = json!({
        "crdDescriptions": {"owned": [{}]}, "links": [{"url": "u"}], "maintainers": [{"name": "n"}],
        "nativeAPIs": [{"kind": "Pod"}], "provider": {"url": "u"},
    });
    let mut expected = told_of_nothing();
    expected["ownedCrds"] = json!([[["", "", "", null, null], [], [], []]]);
    expected["links"] = json!([[null, "u"]]);
    expected["maintainers"] = json!([["n", null]]);
    expected["nativeApis"] = json!([["", "", "Pod"]]);
    expected["provider"] = json!([null, "u"]);
    assert_eq!(told(&[property(&parts)]).unwrap(), expected);
}

#[test]
fn the_letter_case_of_keys_does_not_count_but_in_annotations() {
    let odd = json!({
        "Annotations": {"Certified": "true", "createdAt": "2020-11-02"}, "DISPLAYNAME": "A",
        "CRDDescriptions": {"Owned": [{"KIND": "A"}]}, "InstallModes": [{"Supported": true, "Type": "OwnNamespace"}],
    });
    let mut expected = told_of_nothing();
    expected["annotations"] = json!(2);
    expected["createdAt"] = json!("2020-11-02T00:00:00Z");
    expected["displayName"] = json!("A");
    expected["ownedCrds"] = json!([[["", "", "A", null, null], [], [], []]]);
    expected["installModes"] = json!(["OwnNamespace"]);
    assert_eq!(told(&[property(&odd)]).unwrap(), expected);
}

#[test]
fn an_unknown_install_mode_is_left_out_and_told() {
    let modes = json!({"installModes": [
        {"supported": true, "type": "OwnNamespacejl"}, {"supported": true, "type": "allnamespaces"},
        {"supported": true, "type": "SingleNamespace"}, {"type": "OwnNamespace"}, {"supported": true},
        {"supported": true, "type": "SingleNamespace"},
    ]});
    let catalog = catalog(&[
        property(&modes),
        manifest(&cluster_service_version(&modes).to_string()),
    ]);
    let metadata = catalog.bundle_at(0).metadata().unwrap();
    assert_eq!(
        metadata.install_modes().iter().collect::<Vec<_>>(),
        [InstallMode::SingleNamespace]
    );
    let problems: Vec<_> = catalog
        .problems()
        .iter()
        .map(|it| (it.code, it.message.as_str(), it.bundle.as_deref()))
        .collect();
    let message = "bundle \"a.v1.0.0\" has the unknown install mode \"OwnNamespacejl\"";
    assert_eq!(
        problems,
        [(ProblemCode::InstallModeUnknown, message, Some("a.v1.0.0"))]
    );
}

#[test]
fn a_bundle_with_more_than_one_metadata_is_told() {
    let metadata = |text: &str| property(&json!({ "displayName": text }));
    let catalog = catalog(&[metadata("first"), metadata("second")]);
    assert_eq!(
        catalog
            .bundle_at(0)
            .metadata()
            .unwrap()
            .display_name()
            .map(text),
        Some(json!("first"))
    );
    let problems: Vec<_> = catalog
        .problems()
        .iter()
        .map(|it| (it.code, it.package.as_deref(), &*it.message))
        .collect();
    let message = "bundle \"a.v1.0.0\" has several properties of type \"olm.csv.metadata\", and OLM v0 expects one: its package is \
                   not served over gRPC";
    assert_eq!(
        problems,
        [(ProblemCode::BundleMetadataDuplicate, Some("a"), message)]
    );
}

#[test]
fn examples_are_one_json_value_or_nothing() {
    let examples = |text: &str| {
        let catalog = catalog(&[property(&json!({"annotations": {"alm-examples": text}}))]);
        let examples = catalog.bundle_at(0).metadata().unwrap().examples();
        examples.map(|json| String::from_utf8(json).unwrap())
    };
    for (text, json) in [
        ("[]", "[]"),
        ("\n {\"b\" : 1, \"a\": [null]}\t", "{\"a\":[null],\"b\":1}"),
        ("{\"name\": 1, \"Name\": 2}", "{\"Name\":2,\"name\":1}"),
        ("1", "1"),
        ("\"]\"", "\"]\""),
        ("12345678901234567890.50", "12345678901234567890.50"),
    ] {
        assert_eq!(examples(text).as_deref(), Some(json), "{text}");
    }
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(examples(&deep(100)), Some(deep(100)));
    let rest = [
        "",
        "[",
        "a: b",
        "[] []",
        "1, 2",
        "1], [2",
        "[{a: b}]",
        "{\"a\": 1,}",
        "nul",
        "]",
    ];
    for text in rest.into_iter().chain([deep(101).as_str()]) {
        assert_eq!(examples(text), None, "{text}");
    }
}

#[test]
fn a_long_description_stays_where_it_is_and_many_keywords_are_all_there() {
    let description = "x\\n".repeat(10 << 20);
    let keywords: Vec<String> = (0..911).map(|at| format!("word {at}")).collect();
    let line = format!(
        r#"{{"name":"a.v1.0.0","package":"a","properties":[{{"type":"olm.package","value":{{"packageName":"a","version":"1.0.0"}}}},{{"type":"olm.csv.metadata","value":{{"annotations":{{"createdAt":"2021-05-19"}},"description":"{description}","keywords":{}}}}}],"schema":"olm.bundle"}}"#,
        json!(keywords)
    );
    let catalog = fixture::catalog(&format!(
        "package a default=stable\nchannel stable: v1.0.0?\n{line}"
    ));
    let metadata = catalog.bundle_at(0).metadata().unwrap();
    let raw = metadata.description().unwrap().raw();
    assert_eq!(raw.len(), description.len() + 2);
    assert!(
        catalog.content().as_ptr_range().contains(&raw.as_ptr()),
        "it is cut from the content"
    );
    assert_eq!(
        metadata
            .keywords()
            .into_iter()
            .map(JsonText::decode)
            .collect::<Vec<_>>(),
        keywords
    );
    assert_eq!(
        catalog
            .package("a")
            .unwrap()
            .summary()
            .keywords()
            .collect::<Vec<_>>(),
        keywords
    );
}
