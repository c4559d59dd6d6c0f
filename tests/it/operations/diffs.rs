//! Differences of real packages: each is changed in one known way, and exactly that is told.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::community;
use super::model::Model;
use crate::served;

const DIFF: &str = r#"{ diff(from: {name: "from"}, to: {name: "to"}) {
    bundlesAdded bundlesRemoved bundlesChanged
    packages {
        name change fields fromDefaultChannel toDefaultChannel
        channels { name change entriesAdded entriesRemoved entriesChanged }
        bundles { name change fields }
    }
} }"#;

/// The blobs of one package, with what they are changed to.
struct Changed {
    name: &'static str,
    blobs: Vec<Value>,
    /// What differs then.
    expected: Value,
}

/// The field that tells of a change of a blob, and the change.
type BlobChange = (&'static str, fn(&mut Value));

/// Changes of a bundle.
const OF_BUNDLES: [BlobChange; 6] = [
    ("IMAGE", |blob| blob["image"] = json!("example.com/changed")),
    ("VERSION", |blob| {
        property(blob, "olm.package")["value"]["version"] = json!("99.99.99");
    }),
    ("RELATED_IMAGES", |blob| {
        list(blob, "relatedImages").push(json!({"name": "n", "image": "i"}));
    }),
    ("PROPERTIES", |blob| {
        list(blob, "properties").push(json!({"type": "example.com.x", "value": 1}));
    }),
    ("METADATA", |blob| {
        list(blob, "properties").retain(|property| property["type"] != "olm.csv.metadata");
    }),
    ("OTHER", |blob| blob["x"] = json!(1)),
];

/// Changes of the blob of a package.
const OF_PACKAGES: [BlobChange; 5] = [
    ("DESCRIPTION", |blob| blob["description"] = json!("changed")),
    ("ICON", |blob| {
        blob["icon"] = json!({"base64data": "aQ==", "mediatype": "image/png"});
    }),
    ("DEFAULT_CHANNEL", |blob| {
        blob["defaultChannel"] = json!("changed");
    }),
    ("PROPERTIES", |blob| {
        list(blob, "properties").push(json!({"type": "example.com.x", "value": 1}));
    }),
    ("OTHER", |blob| blob["x"] = json!(1)),
];

fn list<'v>(blob: &'v mut Value, member: &str) -> &'v mut Vec<Value> {
    let members = blob.as_object_mut().expect("a blob is an object");
    members
        .entry(member)
        .or_insert_with(|| json!([]))
        .as_array_mut()
        .expect("it is a list")
}

fn property<'v>(blob: &'v mut Value, type_name: &str) -> &'v mut Value {
    list(blob, "properties")
        .iter_mut()
        .find(|property| property["type"] == type_name)
        .expect("it has one")
}

impl Changed {
    fn new(name: &'static str, blobs: &[Value]) -> Self {
        let own = |blob: &&Value| {
            blob["package"] == name || (blob["schema"] == "olm.package" && blob["name"] == name)
        };
        let blobs: Vec<_> = blobs.iter().filter(own).cloned().collect();
        let default = blobs
            .iter()
            .find(|blob| blob["schema"] == "olm.package")
            .expect("it has its blob");
        let default = &default["defaultChannel"];
        let expected = json!({
            "name": name, "change": "CHANGED", "fields": [], "fromDefaultChannel": default, "toDefaultChannel": default,
            "channels": [], "bundles": [],
        });
        Self {
            name,
            blobs,
            expected,
        }
    }

    fn first(&mut self, schema: &str) -> &mut Value {
        self.blobs
            .iter_mut()
            .find(|blob| blob["schema"] == schema)
            .expect("it has one")
    }

    /// Changes the package in one of the ways that there are.
    fn change(&mut self, way: usize) {
        let others = way.checked_sub(OF_BUNDLES.len() + OF_PACKAGES.len());
        match (
            OF_BUNDLES.get(way),
            way.checked_sub(OF_BUNDLES.len())
                .and_then(|way| OF_PACKAGES.get(way)),
            others,
        ) {
            (Some((field, change)), ..) => {
                let bundle = self.first("olm.bundle");
                change(bundle);
                let bundle =
                    json!({"name": bundle["name"], "change": "CHANGED", "fields": [field]});
                self.expected["bundles"] = json!([bundle]);
            }
            (_, Some((field, change)), _) => {
                change(self.first("olm.package"));
                self.expected["fields"] = json!([field]);
                if *field == "DEFAULT_CHANNEL" {
                    self.expected["toDefaultChannel"] = json!("changed");
                }
            }
            (.., Some(0)) => self.deprecate_bundle(),
            (.., Some(1)) => self.change_channel(),
            _ => self.remove_bundle(),
        }
    }

    fn deprecate_bundle(&mut self) {
        let name = self.first("olm.bundle")["name"].clone();
        let entry = json!({"message": "m", "reference": {"schema": "olm.bundle", "name": name}});
        self.blobs
            .retain(|blob| blob["schema"] != "olm.deprecations");
        self.blobs
            .push(json!({"schema": "olm.deprecations", "package": self.name, "entries": [entry]}));
        self.expected["bundles"] =
            json!([{"name": name, "change": "CHANGED", "fields": ["DEPRECATION"]}]);
    }

    fn change_channel(&mut self) {
        let channel = self.first("olm.channel");
        let name = channel["name"].clone();
        let entries = list(channel, "entries");
        let changed = entries[0]["name"].clone();
        entries[0]["skipRange"] = json!("<99.0.0-changed");
        entries.push(json!({"name": "changed"}));
        self.expected["channels"] = json!([{
            "name": name, "change": "CHANGED",
            "entriesAdded": ["changed"], "entriesRemoved": [], "entriesChanged": [changed],
        }]);
    }

    fn remove_bundle(&mut self) {
        let name = self.first("olm.bundle")["name"].clone();
        self.blobs
            .retain(|blob| blob["schema"] != "olm.bundle" || blob["name"] != name);
        self.expected["bundles"] = json!([{"name": name, "change": "REMOVED", "fields": []}]);
    }
}

/// Writes the blobs of some packages as a catalog.
fn write<'v>(folder: &Path, blobs: impl Iterator<Item = &'v Value>) {
    let lines = blobs.map(Value::to_string).collect::<Vec<_>>().join("\n");
    fs::create_dir(folder).expect("a folder can be made");
    fs::write(folder.join("catalog.json"), lines).expect("a file can be written");
}

/// Packages with bundles, which no deprecation and no second blob of a name make special.
fn plain_packages(model: &'static Model) -> impl Iterator<Item = &'static str> {
    let deprecated = |name: &str| {
        model
            .blobs
            .iter()
            .any(|blob| blob["schema"] == "olm.deprecations" && blob["package"] == name)
    };
    let plain = model
        .packages
        .values()
        .filter(move |package| !package.bundles.is_empty() && !deprecated(package.name));
    plain.map(|package| package.name)
}

#[test]
fn what_was_changed_in_real_packages_is_told_and_nothing_else() {
    let community = community();
    let folder = tempfile::tempdir().expect("a folder can be made");
    let [from, to] = ["from", "to"].map(|side| folder.path().join(side));
    let ways = OF_BUNDLES.len() + OF_PACKAGES.len() + 3;
    // How many packages are changed in each way.
    let each = community.whole_or_part(3, 1);
    let names: Vec<_> = plain_packages(&community.model).take(each * ways).collect();
    assert_eq!(names.len(), each * ways);
    let before: Vec<_> = names
        .iter()
        .map(|name| Changed::new(name, community.model.blobs))
        .collect();
    let mut after: Vec<_> = names
        .iter()
        .map(|name| Changed::new(name, community.model.blobs))
        .collect();
    for (at, package) in after.iter_mut().enumerate() {
        package.change(at % ways);
    }
    write(&from, before.iter().flat_map(|package| &package.blobs));
    // The order of blobs is no difference.
    write(&to, after.iter().rev().flat_map(|package| &package.blobs));
    let [from, to] = [("from", from), ("to", to)]
        .map(|(name, folder)| served::directory(name, folder.to_str().expect("the path is UTF-8")));
    let diff = served::data(&served::engine([from, to]), DIFF, &json!({}))["diff"].take();
    for (told, package) in diff["packages"]
        .as_array()
        .expect("a list")
        .iter()
        .zip(&after)
    {
        assert_eq!(told, &package.expected);
    }
    assert_eq!(diff["packages"].as_array().map(Vec::len), Some(after.len()));
    let counts = ["bundlesAdded", "bundlesRemoved", "bundlesChanged"]
        .map(|count| diff[count].as_u64().unwrap());
    assert_eq!(
        counts,
        [0, each, each * (OF_BUNDLES.len() + 1)].map(|count| count as u64)
    );
}
