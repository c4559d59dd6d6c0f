//! What the status of a catalog says of what is served.

use serde_json::{Value, json};
use testing::{CONFIGS_LABEL, MediaTypes, RegistryImage, eventually};

use crate::support::{
    Cluster, Replica, catalog, condition, graphql, image, image_of, package, with,
};

pub(crate) const UNPACKED: &str = "Successfully unpacked and stored content from resolved source";

pub(crate) const SERVING: &str = "Serving desired content from resolved source";

/// The condition `Serving` of what was never loaded.
const NOT_SERVED: Option<[&str; 3]> = Some(["False", "Unavailable", ""]);

const OFF: &str = "Catalog availability mode is set to Unavailable";

/// A catalog, and what its conditions say at last: of `Progressing`, `Serving` and `Valid` the
/// status, reason and message each, with `@` for the registry.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) object: Value,
    conditions: [Option<[&'static str; 3]>; 3],
}

fn case(name: &'static str, reference: &str, conditions: [Option<[&'static str; 3]>; 3]) -> Case {
    Case {
        name,
        object: catalog(name, reference),
        conditions,
    }
}

/// Nothing is served, until somebody intervenes.
fn blocked(message: &'static str) -> [Option<[&'static str; 3]>; 3] {
    [Some(["False", "Blocked", message]), NOT_SERVED, None]
}

/// Nothing is served yet.
fn retrying(message: &'static str) -> [Option<[&'static str; 3]>; 3] {
    [Some(["True", "Retrying", message]), NOT_SERVED, None]
}

/// Catalogs that are served, and one that is not by the will of its owner.
fn served(cluster: &Cluster) -> Vec<Case> {
    let good = cluster.push("ns/good", "v1", &package("etcd"));
    let digest = cluster
        .registry
        .push("ns/good", "v2", &image(&package("argo")));
    let pinned = format!("{}/ns/good@{digest}", cluster.registry.address);
    let faulty = cluster.push(
        "ns/faulty",
        "v1",
        "package etcd default=none\nchannel stable: v1.0.0",
    );
    let valid = |condition| {
        [
            Some(["True", "Succeeded", UNPACKED]),
            Some(["True", "Available", SERVING]),
            Some(condition),
        ]
    };
    let errors = "1 error and 0 warnings, the first: channel must contain at least one bundle; \
        `catalogql validate @/ns/faulty:v1` lists all";
    vec![
        case(
            "tag",
            &good,
            valid(["True", "NoErrors", "0 errors and 0 warnings"]),
        ),
        case(
            "digest",
            &pinned,
            valid(["True", "NoErrors", "0 errors and 0 warnings"]),
        ),
        case("faulty", &faulty, valid(["False", "ErrorsFound", errors])),
        Case {
            name: "off",
            object: with(
                catalog("off", &good),
                &["spec", "availabilityMode"],
                json!("Unavailable"),
            ),
            conditions: [
                Some(["True", "Succeeded", OFF]),
                Some(["False", "UserSpecifiedUnavailable", OFF]),
                None,
            ],
        },
    ]
}

/// Catalogs that cannot be served as they are.
fn refused(cluster: &Cluster) -> Vec<Case> {
    let host = cluster.registry.address;
    let configs = [(CONFIGS_LABEL, "/configs")];
    let sqlite = [(
        "operators.operatorframework.io.index.database.v1",
        "/database/index.db",
    )];
    let no_label = cluster.push_image("ns/label", "v1", &image_of("{}", &[]));
    let sqlite = cluster.push_image("ns/sqlite", "v1", &image_of("{}", &sqlite));
    let zeros = |count| format!("{host}/ns/good@sha256:{}", "0".repeat(count));
    let broken = cluster.push_image("ns/broken", "v1", &image_of("{\"schema\":", &configs));
    let artifact = cluster.push_image(
        "ns/artifact",
        "v1",
        &RegistryImage::artifact_of("application/vnd.example", &[]),
    );
    let no_folder = RegistryImage::image(MediaTypes::Oci, &[], &configs);
    let no_folder = cluster.push_image("ns/empty", "v1", &no_folder);
    let [progressing, serving, _] = retrying("error storing fbc: catalog.json:1: unexpected EOF");
    let unreadable = Some([
        "False",
        "Unreadable",
        "error storing fbc: catalog.json:1: unexpected EOF",
    ]);
    vec![
        // catalogd retries these two where the reference has a tag.
        case("no-label", &no_label, blocked(NO_LABEL)),
        case("sqlite", &sqlite, blocked(SQLITE)),
        // catalogd retries this one.
        case("no-digest", &zeros(64), blocked(NO_DIGEST)),
        case("short-digest", &zeros(32), blocked(SHORT_DIGEST)),
        case("no-tag", &format!("{host}/ns/good:none"), retrying(NO_TAG)),
        case("artifact", &artifact, retrying(ARTIFACT)),
        case("no-folder", &no_folder, retrying(NO_FOLDER)),
        case("nobody", "127.0.0.1:1/ns/good:v1", retrying(NOBODY)),
        case("broken", &broken, [progressing, serving, unreadable]),
    ]
}

const NO_LABEL: &str = "source catalog content: cannot unpack the image: the image has no label \
    `operators.operatorframework.io.index.configs.v1`";
const SQLITE: &str = "source catalog content: cannot unpack the image: the image is an SQLite index \
    (`/database/index.db`), not a file-based catalog: convert it with `opm migrate`, or name an image that was";
const NO_DIGEST: &str = "source catalog content: cannot read the source: cannot find the manifest \
    sha256:0000000000000000000000000000000000000000000000000000000000000000 in `@/ns/good`: check the name, or \
    whether it was removed";
const SHORT_DIGEST: &str = "source catalog content: error parsing image reference \
    \"@/ns/good@sha256:00000000000000000000000000000000\": invalid checksum digest length";
const NO_TAG: &str = "source catalog content: cannot read the source: cannot find the tag `none` in `@/ns/good`: \
    check the name, or whether it was removed";
const ARTIFACT: &str = "source catalog content: cannot read the source: cannot use `@/ns/artifact:v1` as a catalog: \
    it is an artifact of another kind of the type `application/vnd.example`; a catalog is an image, or an artifact \
    whose only layer is a tar or whose layers have file names as titles, as `oras push` makes it";
const NO_FOLDER: &str =
    "source catalog content: cannot unpack the image: the image has no directory `/configs`";
const NOBODY: &str = "source catalog content: cannot read the source: cannot reach `127.0.0.1:1`: error sending \
    request: client error (Connect): tcp connect error: Connection refused (os error 111)";

/// Catalogs of each kind.
pub(crate) fn cases(cluster: &Cluster) -> Vec<Case> {
    served(cluster)
        .into_iter()
        .chain(refused(cluster))
        .collect()
}

#[test]
fn each_condition_says_what_is_so() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let cases = cases(&cluster);
    cluster.plane.apply(
        &cases
            .iter()
            .map(|case| case.object.clone())
            .collect::<Vec<_>>(),
    );
    let replica = Replica::start(&cluster, "one", &["--insecure-registry=127.0.0.1:1"]);
    let host = cluster.registry.address.to_string();
    let mut faults = Vec::new();
    for Case {
        name, conditions, ..
    } in &cases
    {
        let [_, reason, _] = conditions[0].expect("each case says whether it progresses");
        let status = cluster.wait_for(name, "Progressing", reason);
        let found = ["Progressing", "Serving", "Valid"].map(|kind| condition(&status, kind));
        let text = |of: &[Option<[&str; 3]>; 3]| format!("{of:?}").replace(&host, "@");
        if text(&found) != text(conditions) {
            faults.push(format!(
                "{name}: {}\n    expected: {}",
                text(&found),
                text(conditions)
            ));
        }
        let generations = status["conditions"]
            .as_array()
            .expect("it has conditions")
            .iter();
        assert!(
            generations
                .clone()
                .all(|condition| condition["observedGeneration"] == 1),
            "{status}"
        );
        let is_served = conditions[1].is_some_and(|[status, ..]| status == "True");
        let has = |field: &str| !status[field].is_null();
        assert_eq!(
            [has("resolvedSource"), has("urls"), has("lastUnpacked")],
            [is_served; 3],
            "{name}: {status}"
        );
    }
    assert!(
        faults.is_empty(),
        "{}\n{}",
        faults.join("\n"),
        replica.log()
    );
}

#[test]
fn the_status_of_a_served_catalog_says_where_it_comes_from_and_where_it_is() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.plane.apply(&[catalog("etcd", &reference)]);
    let _replica = Replica::start(
        &cluster,
        "one",
        &["--external-address=https://catalogs.example.com:8443"],
    );
    let status = cluster.wait_for("etcd", "Serving", "Available");
    let digest = image(&package("etcd")).digest();
    let resolved = format!("{}/ns/etcd@{digest}", cluster.registry.address);
    assert_eq!(
        status["resolvedSource"],
        json!({ "type": "Image", "image": { "ref": resolved } })
    );
    assert_eq!(
        status["urls"],
        json!({ "base": "https://catalogs.example.com:8443/catalogs/etcd" })
    );
    // Upstream's webhook sets it.
    let labels = &cluster.plane.get(&["clustercatalog", "etcd"])["metadata"]["labels"];
    assert_eq!(
        *labels,
        json!({ "olm.operatorframework.io/metadata.name": "etcd" })
    );
}

#[test]
fn the_digest_of_the_served_content_is_an_annotation_that_is_written_when_it_changes() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    let object = with(
        catalog("etcd", &reference),
        &["metadata", "annotations"],
        json!({ "example.com/other": "x" }),
    );
    cluster.plane.apply(std::slice::from_ref(&object));
    let replica = Replica::start(&cluster, "one", &[]);
    let metadata = || cluster.plane.get(&["clustercatalog", "etcd"])["metadata"].clone();
    let digest = |metadata: &Value| {
        let annotations = &metadata["annotations"];
        assert_eq!(annotations["example.com/other"], "x");
        annotations["catalogql.io/content-digest"]
            .as_str()
            .map(str::to_owned)
    };
    let served = || {
        let answer = graphql(replica.address, "{ catalogs { digest } }");
        answer["catalogs"][0]["digest"].as_str().map(str::to_owned)
    };
    let first = eventually(|| digest(&metadata()));
    assert_eq!(Some(&first), served().as_ref());

    let other = cluster.push("ns/etcd", "v2", &package("argo"));
    cluster.plane.apply(&[with(
        object,
        &["spec", "source", "image", "ref"],
        json!(other),
    )]);
    let second = eventually(|| digest(&metadata()).filter(|digest| *digest != first));
    assert_eq!(Some(second), served());
    let unavailable = r#"{"spec":{"availabilityMode":"Unavailable"}}"#;
    cluster.plane.kubectl(&[
        "patch",
        "clustercatalog",
        "etcd",
        "--type=merge",
        "--patch",
        unavailable,
    ]);
    eventually(|| digest(&metadata()).is_none().then_some(()));
}

#[test]
fn a_policy_that_refuses_what_is_served_is_a_condition_and_withdraws_only_if_asked() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let reference = cluster.push("ns/etcd", "v1", &package("etcd"));
    cluster.plane.apply(&[catalog("etcd", &reference)]);
    let policy = cluster.folders.text("policy.json");
    let write = |requirement: &str| {
        let text = json!({ "default": [{ "type": requirement }] });
        cluster.folders.write("policy.json", text.to_string());
    };
    for (name, withdraws) in [("one", false), ("two", true)] {
        write("insecureAcceptAnything");
        let mut flags = vec!["--signature-policy", &policy];
        flags.extend(withdraws.then_some("--policy-withdraws"));
        let replica = Replica::start(&cluster, name, &flags);
        let status = cluster.wait_for("etcd", "Serving", "Available");
        assert_eq!(condition(&status, "Verified"), None, "{}", replica.log());

        write("reject");
        let status = cluster.wait_for("etcd", "Verified", "Refused");
        let serving = if withdraws {
            "Unavailable"
        } else {
            "Available"
        };
        cluster.wait_for("etcd", "Serving", serving);
        let [is_verified, _, message] = condition(&status, "Verified").expect("it was waited for");
        assert_eq!(is_verified, "False");
        assert!(message.contains("POLICY_REJECTS"), "{message}");

        write("insecureAcceptAnything");
        eventually(|| {
            let status = cluster.status("etcd");
            let is_served =
                condition(&status, "Serving").is_some_and(|[status, ..]| status == "True");
            (is_served && condition(&status, "Verified").is_none()).then_some(())
        });
    }
}
