//! Judgements of made clusters over made answers. The tables of upstream's tests are among them, each
//! under the name of the test there.

mod catalogs;
mod checks;
mod manifests;
mod upgrades;

use serde_json::{Value, json};

use super::manifests::{CommentedManifest, extension_manifest};
use super::*;
use crate::ListRequest;
use crate::documents::{
    MIGRATION_BUNDLES, MIGRATION_CATALOGS, MIGRATION_INSTALLATION, MIGRATION_PACKAGES,
    MIGRATION_UPGRADES,
};
use crate::fixture::{self, ready};

/// Answers of a server.
#[derive(Clone, Debug, Default)]
struct MadeAnswers {
    /// Name, digest and image reference of each catalog.
    catalogs: Vec<(&'static str, &'static str, &'static str)>,
    packages: Vec<Value>,
    bundles: Vec<Value>,
    /// Names of the bundles that another can be upgraded to, by its name and the channels of the
    /// question, which are separated by commas.
    successors: Vec<(&'static str, &'static str, Vec<&'static str>)>,
    /// Judgements from the image of a bundle, by its name; there is no other image.
    image_judgements: Vec<(&'static str, Value)>,
}

impl GraphqlTransport for MadeAnswers {
    async fn execute(&self, document: &str, variables: &Value) -> Result<Value, CommandError> {
        if document == MIGRATION_CATALOGS {
            let catalogs = self.catalogs.iter().map(|(name, digest, reference)| {
                json!({ "name": name, "digest": digest, "imageReference": reference })
            });
            return Ok(json!({ "catalogs": catalogs.collect::<Vec<_>>() }));
        }
        if document == MIGRATION_INSTALLATION {
            let mut judgements = self.image_judgements.iter();
            let found = judgements.find(|(name, _)| variables["bundle"] == **name);
            let message = || "the registry is gone".to_owned();
            let (_, judgement) =
                found.ok_or_else(|| CommandError::new(ExitStatus::Negative, message()))?;
            return Ok(json!({ "bundle": { "installation": { "olmV1": judgement } } }));
        }
        assert_eq!(document, MIGRATION_UPGRADES);
        let installed = variables["installed"].as_array().expect("it is a list");
        let upgrades = installed.iter().enumerate().map(|(index, item)| {
            let channels = text(item, "/channels");
            let found = self
                .successors
                .iter()
                .find(|(name, wanted, _)| item["bundle"]["name"] == **name && channels == *wanted);
            let names = found.map_or(&[][..], |(_, _, names)| names);
            let edges: Vec<_> = names.iter().map(|name| json!({ "toName": name })).collect();
            json!({ "index": index, "successors": edges })
        });
        Ok(json!({ "availableUpgrades": upgrades.collect::<Vec<_>>() }))
    }

    async fn list(&self, request: ListRequest) -> Result<Vec<Value>, CommandError> {
        let all = match request.document {
            MIGRATION_PACKAGES => &self.packages,
            MIGRATION_BUNDLES => &self.bundles,
            other => panic!("{other} is not a list of the operation"),
        };
        Ok(all.clone())
    }
}

/// A cluster, and what catalogs offer.
#[derive(Clone, Debug, Default)]
struct World {
    objects: MigrationObjects,
    answers: MadeAnswers,
    /// Judges from images, too.
    bundle_images: bool,
}

/// Sets a value at a JSON pointer, and makes the objects above it.
fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for member in pointer.trim_start_matches('/').split('/') {
        place = &mut place[member.replace("~1", "/")];
    }
    *place = value;
}

/// Returns an object of a kind.
fn object(kind: &str, place: &str, members: &[(&str, Value)]) -> Value {
    let (namespace, name) = place.rsplit_once('/').unwrap_or(("", place));
    let mut object = json!({ "kind": kind, "metadata": { "namespace": namespace, "name": name } });
    for (pointer, value) in members {
        set(&mut object, pointer, value.clone());
    }
    object
}

fn all_namespaces() -> Value {
    json!([{ "type": "OwnNamespace", "supported": true }, { "type": "AllNamespaces", "supported": true }])
}

/// Returns a bundle of the package `widgets`, which OLM v1 can install unless it has blockers.
fn bundle(catalog: &str, version: &str, channels: &[&str], blockers: &[(&str, bool)]) -> Value {
    let installable = if blockers.iter().any(|(_, hard)| *hard) {
        "NO"
    } else if blockers
        .iter()
        .any(|(code, _)| *code == "NO_ALL_NAMESPACES")
    {
        "TECH_PREVIEW"
    } else {
        "YES"
    };
    let blockers: Vec<_> = blockers
        .iter()
        .map(|(code, hard)| json!({ "code": code, "detail": "why", "hard": hard }))
        .collect();
    json!({
        "name": format!("widgets.v{version}"), "version": version, "channelNames": channels,
        "catalog": { "name": catalog }, "package": { "name": "widgets" }, "deprecation": null,
        "olmV1": { "installable": installable, "blockers": blockers },
    })
}

fn package(catalog: &str, default_channel: &str, channels: &[&str]) -> Value {
    let channels: Vec<_> = channels
        .iter()
        .map(|name| json!({ "name": name }))
        .collect();
    json!({
        "name": "widgets", "catalog": { "name": catalog }, "defaultChannel": { "name": default_channel },
        "channels": channels,
    })
}

impl World {
    /// Returns a cluster with one operator, which can be moved, and a catalog that has it.
    fn healthy() -> Self {
        let serving = json!([{ "type": "Serving", "status": "True" }]);
        let objects = [
            object(
                "Subscription",
                "ns/sub",
                &[
                    ("/spec/name", json!("widgets")),
                    ("/spec/channel", json!("stable")),
                    ("/spec/source", json!("index")),
                    ("/spec/sourceNamespace", json!("olm")),
                    ("/status/installedCSV", json!("widgets.v1.0.0")),
                    ("/status/state", json!("AtLatestKnown")),
                ],
            ),
            object(
                "ClusterServiceVersion",
                "ns/widgets.v1.0.0",
                &[
                    ("/spec/version", json!("1.0.0")),
                    ("/spec/installModes", all_namespaces()),
                    ("/status/phase", json!("Succeeded")),
                    ("/status/reason", json!("InstallSucceeded")),
                ],
            ),
            object("OperatorGroup", "ns/group", &[]),
            object(
                "CatalogSource",
                "olm/index",
                &[
                    ("/spec/sourceType", json!("grpc")),
                    ("/spec/image", json!("quay.io/index:v1")),
                ],
            ),
            object(
                "ClusterCatalog",
                "index",
                &[
                    ("/spec/source/image/ref", json!("quay.io/index:v1")),
                    ("/status/conditions", serving),
                ],
            ),
        ];
        let answers = MadeAnswers {
            catalogs: vec![("index", "sha256:a", "quay.io/index:v1")],
            packages: vec![package("index", "stable", &["stable"])],
            bundles: vec![bundle("index", "1.0.0", &["stable"], &[])],
            successors: Vec::new(),
            image_judgements: Vec::new(),
        };
        let mut world = Self {
            objects: MigrationObjects::default(),
            answers,
            bundle_images: false,
        };
        for object in objects {
            assert!(world.objects.add(object));
        }
        world
    }

    fn with(mut self, objects: &[Value]) -> Self {
        for object in objects {
            assert!(self.objects.add(object.clone()), "{object}");
        }
        self
    }

    /// Sets a member of an object that is there.
    fn set(mut self, kind: MigrationKind, place: &str, pointer: &str, value: Value) -> Self {
        let (namespace, name) = place.rsplit_once('/').unwrap_or(("", place));
        let object = self.objects.object(kind, namespace, name);
        let mut object = object.expect("the object is there").clone();
        set(&mut object, pointer, value);
        self.objects.add(object);
        self
    }

    fn subscription(self, pointer: &str, value: Value) -> Self {
        self.set(MigrationKind::Subscription, "ns/sub", pointer, value)
    }

    fn csv(self, pointer: &str, value: Value) -> Self {
        let kind = MigrationKind::ClusterServiceVersion;
        self.set(kind, "ns/widgets.v1.0.0", pointer, value)
    }

    fn group(self, pointer: &str, value: Value) -> Self {
        self.set(MigrationKind::OperatorGroup, "ns/group", pointer, value)
    }

    fn source(self, pointer: &str, value: Value) -> Self {
        self.set(MigrationKind::CatalogSource, "olm/index", pointer, value)
    }

    fn cluster_catalog(self, pointer: &str, value: Value) -> Self {
        self.set(MigrationKind::ClusterCatalog, "index", pointer, value)
    }

    fn properties(self, properties: &str) -> Self {
        let pointer = "/metadata/annotations/operatorframework.io~1properties";
        self.csv(pointer, json!(properties))
    }

    /// Calls a function with the report.
    fn judged<T>(&self, of: impl FnOnce(&MigrationReport<'_>) -> T) -> T {
        let session = fixture::session(self.answers.clone(), OutputFormat::Json);
        let packages = BTreeSet::from(["widgets".to_owned()]);
        let mut offers = ready(CatalogOffers::fetch(&session, &packages)).expect("it is answered");
        let index = ClusterIndex::new(&self.objects);
        if self.bundle_images {
            ready(judge_from_images(&session, &mut offers, &index));
        }
        let mut judgements = judge(&index, &self.objects, &offers);
        ready(ask_for_upgrades(&session, &offers, &mut judgements)).expect("it is answered");
        let migrated = index.migrated();
        let migrated =
            migrated.map(|(origin, extension)| (extension.to_owned(), origin.to_owned()));
        let moves = catalog_moves(&self.objects);
        of(&MigrationReport {
            objects: &self.objects,
            judgements: &judgements,
            migrated: migrated.collect(),
            moves: &moves,
        })
    }

    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method is of one lifetime, and the function is called with any"
    )]
    fn json(&self) -> Value {
        self.judged(|report| report.json())
    }

    /// Returns the only operator as JSON.
    fn operator(&self) -> Value {
        let mut report = self.json();
        let operators = report["operators"].as_array_mut().expect("it is a list");
        assert_eq!(operators.len(), 1);
        operators.remove(0)
    }

    /// Returns the status with the checks that did not pass, as `STATUS: CODE! CODE+ CODE?`: failed for
    /// good, failed with an acknowledgement, and unknown.
    fn status(&self) -> String {
        status_of(&self.operator())
    }

    /// Returns the message of a check of the only operator.
    fn message(&self, code: &str) -> String {
        let operator = self.operator();
        let checks = operator["checks"].as_array().expect("it is a list");
        let mut checks = checks.iter();
        let check = checks.find(|check| check["code"] == code);
        text(check.expect("there is the check"), "/message")
    }

    fn warnings(&self) -> Vec<String> {
        let operator = self.operator();
        let warnings = operator["warnings"].as_array().expect("it is a list");
        warnings.iter().map(|warning| text(warning, "")).collect()
    }

    /// Returns the manifest of the only operator.
    fn manifest(&self, name: Option<&str>) -> CommentedManifest {
        self.judged(|report| extension_manifest(&report.judgements[0], report.moves, name))
    }
}

fn status_of(operator: &Value) -> String {
    let checks = operator["checks"].as_array().expect("it is a list");
    let open = checks.iter().filter_map(|check| {
        let mark = match (check["result"].as_str(), &check["acknowledgement"]) {
            (Some("PASSED"), _) => return None,
            (Some("UNKNOWN"), _) => "?",
            (_, Value::Null) => "!",
            (_, _) => "+",
        };
        Some(format!("{}{mark}", text(check, "/code")))
    });
    let words: Vec<_> = [text(operator, "/status")]
        .into_iter()
        .chain(open)
        .collect();
    words.join(" ")
}
