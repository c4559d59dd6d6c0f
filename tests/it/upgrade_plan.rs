//! `catalogql upgrade-plan` together with `mirror` and `solve`: what a disconnected site mirrors for a
//! plan carries the plan out.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Folders, catalogql, run};

/// The installed packages: version and channel.
const INSTALLED: [(&str, &str, &str); 3] = [
    ("inkwell", "2.0.0", "stable"),
    ("papermill", "4.16.1", "4.16"),
    ("quillstore", "1.0.0", "stable"),
];

/// Minor versions of `OpenShift` 4 on the way.
const MINORS: [u32; 3] = [16, 17, 18];

/// Runs the program, and returns the JSON that it prints.
fn printed(arguments: &[String]) -> Value {
    let output = run(catalogql().args(arguments).args(["-o", "json"]));
    serde_json::from_str(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", output.stderr))
}

/// Plans the way over the catalogs in these folders, one for each minor version.
fn plan(folder: &dyn Fn(u32) -> String) -> Value {
    let mut arguments = vec!["upgrade-plan".to_owned()];
    for minor in MINORS {
        arguments.extend(["--step".to_owned(), format!("4.{minor}={}", folder(minor))]);
    }
    for (package, version, channel) in INSTALLED {
        let installed = format!("{package}@{version}:{channel}");
        arguments.extend(["--installed".to_owned(), installed]);
    }
    printed(&arguments)
}

/// Versions of packages that are installed at a step one after the other, with the channels that
/// they follow.
type Stations = BTreeMap<String, (Vec<String>, String)>;

/// Returns for each step the versions that the cluster goes through.
fn stations(plan: &Value) -> Vec<Stations> {
    let mut now: BTreeMap<String, (String, String)> = INSTALLED
        .into_iter()
        .map(|(package, version, channel)| {
            (package.to_owned(), (version.to_owned(), channel.to_owned()))
        })
        .collect();
    let mut steps = Vec::new();
    for step in 0..MINORS.len() {
        let mut stations = Stations::new();
        for package in plan["packages"].as_array().expect("a plan has packages") {
            let name = package["packageName"].as_str().expect("it has a name");
            let (version, channel) = now.get_mut(name).expect("it is installed");
            let mut versions = vec![version.clone()];
            let moves = package["moves"].as_array().expect("it has moves");
            for one in moves.iter().filter(|one| one["step"] == step) {
                one["channel"]
                    .as_str()
                    .expect("a Subscription follows one channel")
                    .clone_into(channel);
                if let Some(to) = one["to"]["version"].as_str() {
                    to.clone_into(version);
                    versions.push(version.clone());
                }
            }
            stations.insert(name.to_owned(), (versions, channel.clone()));
        }
        steps.push(stations);
    }
    steps
}

#[test]
fn the_mirror_set_of_a_plan_carries_the_plan_out() {
    let folders = Folders::new();
    let example = |minor: u32| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = root.join(format!("examples/platform/4.{minor}"));
        folder.display().to_string()
    };
    let promised = plan(&example);
    assert_eq!(promised["verdict"], "SWITCHES");

    // The set of a step has the versions that the cluster goes through there.
    for (minor, stations) in MINORS.into_iter().zip(stations(&promised)) {
        let listed = printed(&["list".to_owned(), "bundles".to_owned(), example(minor)]);
        let listed = listed["items"].as_array().expect("it is a list");
        let has = |package: &str, version: &str| {
            listed
                .iter()
                .any(|bundle| bundle["package"]["name"] == package && bundle["version"] == version)
        };
        let packages: Vec<_> = stations
            .iter()
            .map(|(package, (versions, channel))| {
                let mut there = versions.iter().filter(|version| has(package, version));
                let mut selected = json!({ "name": channel });
                // Without a version, the head is selected, which replaces what is installed.
                if let Some(first) = there.next() {
                    selected["minVersion"] = json!(first);
                    selected["maxVersion"] = json!(there.next_back().unwrap_or(first));
                }
                json!({ "name": package, "defaultChannel": channel, "channels": [selected] })
            })
            .collect();
        let reference = format!("registry.example.com/index:v4.{minor}");
        let configuration = json!({
            "kind": "ImageSetConfiguration", "apiVersion": "mirror.openshift.io/v2alpha1",
            "mirror": { "operators": [{ "catalog": reference, "packages": packages }] },
        });
        folders.write("config.json", configuration.to_string());
        let written = run(catalogql()
            .args(["mirror", "catalog", &format!("index={}", example(minor))])
            .args(["--config", &folders.text("config.json")])
            .arg(format!("--catalog=index={reference}"))
            .args(["-o", &folders.text(&format!("4.{minor}"))]));
        assert_eq!(written.status, Some(0), "{written:?}");
    }
    let mirrored = |minor: u32| folders.text(&format!("4.{minor}"));
    assert_eq!(plan(&mirrored), promised);

    // The solver of OLM v0 chooses each upgrade from what was mirrored.
    let mut upgrades = 0;
    for package in promised["packages"]
        .as_array()
        .expect("a plan has packages")
    {
        let name = package["packageName"].as_str().expect("it has a name");
        for one in package["moves"].as_array().expect("it has moves") {
            let Some(to) = one["to"]["name"].as_str() else {
                continue;
            };
            let text = |member: &str| one[member].as_str().expect("it has a text").to_owned();
            let step = one["step"].as_u64().expect("it has a step");
            let minor = MINORS[usize::try_from(step).expect("it is an index")];
            let solved = printed(&[
                "solve".to_owned(),
                mirrored(minor),
                "--want".to_owned(),
                format!("{name}:{}", text("channel")),
                "--installed".to_owned(),
                format!("{}@{}", text("fromName"), text("fromVersion")),
            ]);
            assert_eq!(solved["steps"][0]["bundle"]["name"], to, "{solved}");
            upgrades += 1;
        }
    }
    assert_eq!(upgrades, 3);
}
