//! Two small catalogs that have something of every kind, and how to ask them.

use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use fbc::work::Work;
use fbc::{Catalog, Outline};
use fbc_grammar::Digest;
use fbc_read::origin::{FileOrigin, Origins};
use serde_json::{Map, Value, json};
use serving::{
    CatalogMetadata, CatalogSourceKind, Catalogs, CatalogsWriter, ChangeLog, Content,
    FailureReason, LoadFailure, LoadStatus, RememberedContent, Served, SignedPart,
    SourceDescription, Verification, VerificationReason, VerificationState, catalogs,
};

use crate::errors::Outcome;
use crate::limits::Limits;
use crate::{Engine, Request};

/// Package `etcd` with everything, and a blob of a custom schema.
pub(crate) const ALPHA: &[&str] = &[
    r#"{"defaultChannel":"stable","description":"A \"store\"","icon":{"base64data":"iVBORw0KGgo=","mediatype":"image/png"},"name":"etcd","properties":[{"type":"custom","value":{"a":[1]}}],"schema":"olm.package"}"#,
    r#"{"entries":[{"name":"etcd.v1.0.0"},{"name":"etcd.v1.1.0","replaces":"etcd.v1.0.0","skipRange":"<1.1.0","skips":["etcd.v0.9.0"]}],"name":"stable","package":"etcd","properties":[{"type":"custom","value":1}],"schema":"olm.channel"}"#,
    r#"{"entries":[{"name":"etcd.v1.0.0"},{"name":"etcd.v1.1.0"}],"name":"beta","package":"etcd","schema":"olm.channel"}"#,
    concat!(
        r#"{"image":"quay.io/etcd@sha256:1","name":"etcd.v1.0.0","package":"etcd","properties":["#,
        r#"{"type":"olm.package","value":{"packageName":"etcd","version":"1.0.0"}},"#,
        r#"{"type":"olm.gvk","value":{"group":"etcd.io","kind":"Etcd","version":"v1"}},"#,
        r#"{"type":"olm.gvk.required","value":{"group":"cert.io","kind":"Issuer","version":"v2"}},"#,
        r#"{"type":"olm.package.required","value":{"packageName":"cert","versionRange":">=1.0.0"}},"#,
        r#"{"type":"olm.constraint","value":{"any":{"constraints":[{"cel":{"rule":"true"}},{"package":{"packageName":"cert","versionRange":"<2.0.0"}},{"gvk":{"group":"g","kind":"K","version":"v"}},{"all":{"constraints":[]}},{"not":{"constraints":[]}}]},"failureMessage":"need cert"}},"#,
        r#"{"type":"olm.constraint","value":{"unknown":{}}},"#,
        r#"{"type":"olm.bundle.object","value":{"data":"eyAia2luZCI6ICJTZXJ2aWNlIiB9"}},"#,
        r#"{"type":"olm.maxOpenShiftVersion","value":"4.18"},"#,
        r#"{"type":"olm.csv.metadata","value":{"annotations":{"alm-examples":"[ {\"kind\": \"Etcd\"} ]","capabilities":"full lifecycle","#,
        r#""categories":"Database, Storage","certified":"False","containerImage":"quay.io/etcd","createdAt":"2026-01-02 03:04:05","#,
        r#""features.operators.openshift.io/disconnected":"true","repository":"https://etcd.io/code","support":"Us \u0026 you"},"#,
        r#""crdDescriptions":{"owned":[{"displayName":"Etcd","kind":"Etcd","name":"etcds.etcd.io","version":"v1"}],"#,
        r#""required":[{"description":"who signs","kind":"Issuer","name":"issuers.cert.io","version":"v2"}]},"#,
        r#""description":"Keeps *keys*","displayName":"Étcd","installModes":[{"supported":true,"type":"AllNamespaces"},"#,
        r#"{"supported":false,"type":"MultiNamespace"},{"supported":true,"type":"OwnNamespace"}],"keywords":["keys","values"],"#,
        r#""labels":{"a":"b"},"links":[{"name":"Home","url":"https://etcd.io"}],"maintainers":[{"email":"us@etcd.io","name":"Us"}],"#,
        r#""maturity":"stable","minKubeVersion":"1.30.0","nativeAPIs":[{"group":"apps","kind":"Deployment","version":"v1"}],"#,
        r#""provider":{"name":"Etcd makers","url":"https://etcd.io"}}},"#,
        r#"{"type":"custom","value":"x"}"#,
        r#"],"relatedImages":[{"image":"quay.io/etcd@sha256:1","name":"etcd"}],"schema":"olm.bundle"}"#,
    ),
    concat!(
        r#"{"image":"quay.io/etcd@sha256:2","name":"etcd.v1.1.0","package":"etcd","properties":["#,
        r#"{"type":"olm.package","value":{"packageName":"etcd","release":"2","version":"1.1.0"}}],"schema":"olm.bundle"}"#,
    ),
    r#"{"entries":[{"message":"old","reference":{"schema":"olm.package"}},{"message":"beta \"old\"","reference":{"name":"beta","schema":"olm.channel"}},{"message":"older","reference":{"name":"etcd.v1.0.0","schema":"olm.bundle"}}],"package":"etcd","schema":"olm.deprecations"}"#,
    r#"{"name":"x","package":"etcd","schema":"example.com/custom","z":[1.50,{}]}"#,
    r#"{"defaultChannel":"stable","name":"zoo","schema":"olm.package"}"#,
    r#"{"entries":[{"name":"zoo.v1"}],"name":"stable","package":"zoo","schema":"olm.channel"}"#,
    r#"{"image":"quay.io/zoo@sha256:3","name":"zoo.v1","package":"zoo","properties":[{"type":"olm.package","value":{"packageName":"zoo","version":"1.0.0"}}],"schema":"olm.bundle"}"#,
];

/// Another `etcd`, and a package between those of the other catalog.
pub(crate) const BETA: &[&str] = &[
    r#"{"defaultChannel":"stable","name":"etcd","schema":"olm.package"}"#,
    r#"{"entries":[{"name":"etcd.v1.1.0"}],"name":"stable","package":"etcd","schema":"olm.channel"}"#,
    r#"{"image":"quay.io/etcd@sha256:2","name":"etcd.v1.1.0","package":"etcd","properties":[{"type":"olm.package","value":{"packageName":"etcd","version":"1.0.5"}}],"schema":"olm.bundle"}"#,
    r#"{"defaultChannel":"stable","name":"minio","schema":"olm.package"}"#,
    r#"{"entries":[{"name":"minio.v1"}],"name":"stable","package":"minio","schema":"olm.channel"}"#,
    r#"{"image":"quay.io/minio@sha256:4","name":"minio.v1","package":"minio","properties":[{"type":"olm.package","value":{"packageName":"minio","version":"1.0.0"}}],"schema":"olm.bundle"}"#,
];

/// A package with a life cycle, whose bundle brings its `ClusterServiceVersion`.
pub(crate) fn delta() -> Served {
    let manifest = r#"{"kind":"ClusterServiceVersion","metadata":{"annotations":{"operators.operatorframework.io/internal-objects":"[\"parts.lens.io\"]"}},"spec":{
        "customresourcedefinitions":{"owned":[{"kind":"Lens","name":"lenses.lens.io","version":"v1",
            "resources":[{"kind":"Pod","name":"","version":"v1"}],
            "specDescriptors":[{"displayName":"Size","path":"size","x-descriptors":["urn:alm:descriptor:com.tectonic.ui:podCount"]}],
            "statusDescriptors":[{"description":"State","path":"phase"}]},
            {"kind":"Part","name":"parts.lens.io","version":"v1"}]},
        "apiservicedefinitions":{"owned":[{"deploymentName":"lens","group":"focus.io","kind":"Focus","name":"v1.focus.io","version":"v1"}]},
        "install":{"spec":{
            "permissions":[{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get","list"]}],"serviceAccountName":"lens"}],
            "clusterPermissions":[{"rules":[{"nonResourceURLs":["/metrics"],"verbs":["get"]}],"serviceAccountName":"lens"}]}},
        "webhookdefinitions":[{"conversionCRDs":[],"deploymentName":"lens","failurePolicy":"Fail","generateName":"vlens.io",
            "rules":[{"apiGroups":["lens.io"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["lenses"]}],
            "type":"ValidatingAdmissionWebhook","webhookPath":"/validate"}]}}"#;
    let bundle = json!({
        "image": "quay.io/lens@sha256:5", "name": "lens.v1.2.3", "package": "lens", "schema": "olm.bundle",
        "properties": [
            {"type": "olm.package", "value": {"packageName": "lens", "version": "1.2.3"}},
            {"type": "olm.bundle.object", "value": {"data": BASE64_STANDARD.encode(manifest)}},
        ],
    });
    let lines = [
        r#"{"defaultChannel":"stable","name":"lens","schema":"olm.package"}"#.to_owned(),
        r#"{"entries":[{"name":"lens.v1.2.3"}],"name":"stable","package":"lens","schema":"olm.channel"}"#.to_owned(),
        bundle.to_string(),
        concat!(
            r#"{"package":"lens","schema":"io.openshift.operators.lifecycles.v1alpha1","versions":[{"name":"1.2","#,
            r#""phases":[{"endDate":"2026-05-25","name":"Full support","startDate":"2025-10-01"},"#,
            r#"{"endDate":"2027-04-01","name":"Maintenance support","startDate":"2026-05-26"}],"#,
            r#""platformCompatibility":[{"name":"openshift","versions":["4.19","4.20"]}]},{"name":"1.3","phases":[]}]}"#,
        )
        .to_owned(),
    ];
    served("delta", &lines, 3)
}

/// Digest of the content of the first catalog.
pub(crate) const ALPHA_DIGEST: &str =
    "sha256:0101010101010101010101010101010101010101010101010101010101010101";

/// An engine over the first two catalogs; the second one has the higher priority.
pub(crate) fn engine(limits: Limits) -> Engine {
    engine_with(None, limits)
}

/// An engine over the first two catalogs and perhaps another.
pub(crate) fn engine_with(other: Option<Served>, limits: Limits) -> Engine {
    let metadata = CatalogMetadata {
        display_name: Some("The first".into()),
        publisher: Some("Us".into()),
        labels: [("tier".to_owned(), "one".to_owned())].into(),
        image_reference: Some("quay.io/alpha:v1".into()),
        ..CatalogMetadata::default()
    };
    let alpha = Content {
        image: Some("quay.io/alpha@sha256:1".into()),
        last_unpacked: Some("2026-11-21T02:20:00Z".parse().unwrap()),
        ..served("alpha", ALPHA, 1).content
    };
    let priority = CatalogMetadata {
        priority: 5,
        ..CatalogMetadata::default()
    };
    let beta = Served::new("beta", served("beta", BETA, 2).content, priority);
    let (writer, reader) = publish(
        [
            Served::new("alpha", alpha, metadata).with_verification(Some(refused())),
            beta.with_verification(Some(verified())),
        ]
        .into_iter()
        .chain(other),
    );
    let former = Digest::new([9; 32]);
    let outline = beta_outline();
    let former = RememberedContent {
        digest: former,
        image: None,
        last_unpacked: None,
        outline,
    };
    writer.history().remember("alpha", vec![former]);
    writer.history().set_change_log("alpha", alpha_log());
    writer
        .statuses()
        .set("alpha", status(None, Some("2026-11-21T02:20:00Z")));
    writer.statuses().set(
        "beta",
        status(
            Some(FailureReason::RegistryUnavailable),
            Some("2026-11-21T02:20:00Z"),
        ),
    );
    writer
        .statuses()
        .set("gamma", status(Some(FailureReason::InvalidCatalog), None));
    Engine::new(reader, "test", limits)
}

/// A decision of a policy that requires signatures.
pub(crate) fn verified() -> Arc<Verification> {
    Arc::new(Verification {
        state: VerificationState::Verified,
        scope: Some("docker:quay.io".to_owned()),
        requirements: vec!["sigstoreSigned".to_owned(), "sigstoreSigned".to_owned()],
        signers: vec!["key sha256:1".to_owned(), "us@example.com".to_owned()],
        signed: Some(SignedPart::Index),
        policy: "p".to_owned(),
        verified_at: "2026-11-21T02:30:00Z".parse().unwrap(),
        reason: None,
    })
}

/// A decision against an image.
pub(crate) fn refused() -> Arc<Verification> {
    Arc::new(Verification {
        state: VerificationState::Refused,
        signers: Vec::new(),
        signed: None,
        reason: Some(VerificationReason {
            code: "SIGNATURE_MISSING",
            message: "no \"signature\"".to_owned(),
            is_unreadable: false,
        }),
        ..(*verified()).clone()
    })
}

/// A log in which all of the first catalog came with its content.
fn alpha_log() -> ChangeLog {
    let [before, after] = [&[], ALPHA].map(|lines| served("alpha", lines, 1));
    let [before, after] = [&before, &after].map(|served| served.content.catalog.outline());
    let work = Work::unlimited();
    let diff = before.diff(after, &work).unwrap();
    let at = "2026-11-21T02:20:00Z".parse().unwrap();
    let log = ChangeLog::default().append(Digest::new([9; 32]), None, at);
    log.append(Digest::new([1; 32]), Some(&diff), at)
}

fn beta_outline() -> Outline {
    served("beta", BETA, 2).content.catalog.outline().clone()
}

/// The load status of a source that is polled again an hour after it was loaded.
fn status(failure: Option<FailureReason>, success: Option<&str>) -> LoadStatus {
    let last_success = success.map(|at| at.parse().unwrap());
    let failed = |reason| LoadFailure {
        at: "2026-11-21T02:50:00Z".parse().unwrap(),
        reason,
        message: "it \"failed\"".to_owned(),
        attempts: 2,
    };
    let next_check = Some("2026-11-21T03:20:00Z".parse().unwrap());
    LoadStatus {
        via: std::sync::Arc::default(),
        source: Some(SourceDescription {
            kind: CatalogSourceKind::Http,
            reference: Some("https://example.com/catalog.json".to_owned()),
            revision: Some("bytes sha256:0".to_owned()),
        }),
        last_success,
        last_failure: failure.map(failed),
        next_check,
        verification: None,
    }
}

/// An engine over some catalogs.
pub(crate) fn engine_of(all: impl IntoIterator<Item = Served>, limits: Limits) -> Engine {
    Engine::new(publish(all).1, "test", limits)
}

/// Publishes some catalogs.
pub(crate) fn publish(all: impl IntoIterator<Item = Served>) -> (CatalogsWriter, Catalogs) {
    let (mut writer, reader) = catalogs();
    for served in all {
        writer.publish(served);
    }
    (writer, reader)
}

/// A catalog of some lines, which stand in one file.
pub(crate) fn served<T: AsRef<str>>(name: &str, lines: &[T], digest: u8) -> Served {
    let content: String = lines
        .iter()
        .flat_map(|line| [line.as_ref(), "\n"])
        .collect();
    let numbers = (1..).take(lines.len()).collect();
    let file = FileOrigin {
        path: "catalog.json".into(),
        lines: numbers,
        ..FileOrigin::default()
    };
    let catalog = Catalog::build(
        content.into(),
        &Origins {
            files: vec![file],
            ..Origins::default()
        },
    )
    .expect("the lines are canonical");
    Served::new(
        name,
        Content::new(catalog, Digest::new([digest; 32])),
        CatalogMetadata::default(),
    )
}

/// The answer to a document.
pub(crate) fn ask(engine: &Engine, query: &str) -> Value {
    ask_with(engine, query, &Value::Null)
}

/// The answer to a document with variables.
pub(crate) fn ask_with(engine: &Engine, query: &str, variables: &Value) -> Value {
    let variables: Option<Map<String, Value>> = variables.as_object().cloned();
    let answer = engine.execute(&Request {
        query: Some(query.into()),
        variables,
        ..Request::default()
    });
    let body: Value = serde_json::from_slice(&answer.body).expect("an answer is JSON");
    let has_errors = body.get("errors").is_some();
    assert_eq!(has_errors, answer.outcome != Outcome::Complete, "{body}");
    body
}

/// The data of the answer to a document that has no errors.
pub(crate) fn data(engine: &Engine, query: &str) -> Value {
    let mut body = ask(engine, query);
    assert_eq!(body.get("errors"), None, "{query}");
    body["data"].take()
}

/// The code of the first error of an answer.
pub(crate) fn code(body: &Value) -> &str {
    body["errors"][0]["extensions"]["code"]
        .as_str()
        .unwrap_or("none")
}
