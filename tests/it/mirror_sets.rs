//! `Catalog.mirrorSet`: its answers are those of the crate `mirror`, within the limits of a server.

use bytes::Bytes;
use fbc::Catalog;
use fbc::work::Work;
use fbc_grammar::Digest;
use fbc_read::Origins;
use graphql::Engine;
use mirror::{MirrorConfiguration, MirrorPlan, MirrorRules, plan};
use serde_json::{Value, json};
use serving::{CatalogMetadata, Content, Served};

use crate::corpus::{of_whole_or_part, serve_community};
use crate::served;

/// Recorded selections of oc-mirror.
const CASES: &str = "crates/mirror/tests/testdata/golden/made.jsonl.gz";

/// Number of recorded selections that are compared, of which some are refused.
const COMPARED: usize = 150;

const DOCUMENT: &str =
    "query($input: MirrorSetInput!) { catalog(name: \"made\") { mirrorSet(input: $input) {
    isRefused
    packages { package { name } defaultChannelName channels { name entryNames } deprecations }
    bundles { bundle { name version image package { name } } reasons { kind channelName } }
    images { reference kind digest byTag usedBy { name } }
    problems { code severity path line message likeOcMirror }
    counts { packages channels bundles images } } } }";

/// The catalog of a recorded case.
fn catalog(case: &Value) -> Catalog {
    let blobs = case["blobs"].as_array().expect("a case has blobs");
    let blobs: Vec<_> = blobs.iter().map(Value::to_string).collect();
    let text = blobs.join("\n");
    let mut lines = Vec::new();
    let origin = testing::fixture::read_file("catalog.json", text.as_bytes(), &mut lines);
    let origins = Origins {
        files: vec![origin],
        ..Origins::default()
    };
    Catalog::build(Bytes::from(lines), &origins).expect("the blobs are a catalog")
}

fn engine(catalog: Catalog) -> Engine {
    let content = Content::new(catalog, Digest::new([1; 32]));
    served::engine([Served::new("made", content, CatalogMetadata::default())])
}

/// The answer in the form of a plan.
fn answer(engine: &Engine, input: &Value) -> Value {
    let mut data = served::data(engine, DOCUMENT, &json!({ "input": input }));
    let set = data["catalog"]["mirrorSet"].take();
    let list = |value: &Value, item: fn(&Value) -> Value| -> Vec<Value> {
        let items = value.as_array().expect("it is a list");
        items.iter().map(item).collect()
    };
    let packages = list(&set["packages"], |package| {
        let channels = package["channels"].as_array().expect("it is a list");
        let channels = channels
            .iter()
            .map(|channel| json!({ "name": channel["name"], "entries": channel["entryNames"] }));
        json!({
            "name": package["package"]["name"],
            "defaultChannel": package["defaultChannelName"],
            "channels": channels.collect::<Vec<_>>(),
            "deprecations": package["deprecations"],
        })
    });
    let bundles = list(&set["bundles"], |one| {
        let reasons = one["reasons"].as_array().expect("it is a list");
        let reasons = reasons
            .iter()
            .map(|reason| json!({ "kind": reason["kind"], "channel": reason["channelName"] }));
        json!({
            "package": one["bundle"]["package"]["name"],
            "name": one["bundle"]["name"],
            "version": one["bundle"]["version"],
            "image": one["bundle"]["image"],
            "reasons": reasons.collect::<Vec<_>>(),
        })
    });
    let images = list(&set["images"], |image| {
        let users = image["usedBy"].as_array().expect("it is a list");
        let mut image = image.clone();
        image["usedBy"] = users.iter().map(|bundle| bundle["name"].clone()).collect();
        image
    });
    let problems = list(&set["problems"], |problem| {
        let mut problem = problem.clone();
        let members = problem.as_object_mut().expect("it is an object");
        members.retain(|_, value| !value.is_null());
        problem
    });
    assert_eq!(set["counts"]["packages"], packages.len());
    assert_eq!(set["counts"]["bundles"], bundles.len());
    assert_eq!(set["counts"]["images"], images.len());
    assert_eq!(
        set["isRefused"],
        problems
            .iter()
            .any(|problem| problem["severity"] == "ERROR")
    );
    json!({ "packages": packages, "bundles": bundles, "images": images, "problems": problems })
}

/// A configuration with one item.
fn configuration(operator: &Value) -> String {
    let mut operator = operator.clone();
    operator["catalog"] = "made".into();
    json!({
        "kind": "ImageSetConfiguration",
        "apiVersion": "mirror.openshift.io/v2alpha1",
        "mirror": { "operators": [operator] },
    })
    .to_string()
}

/// What the crate selects, in the same form.
fn planned(catalog: &Catalog, configuration: &str, rules: MirrorRules) -> Value {
    let plan = match MirrorConfiguration::parse(configuration) {
        Ok(configuration) => plan(&configuration, &[catalog], rules, &Work::unlimited())
            .expect("an account without limit stops nothing"),
        Err(problems) => MirrorPlan::refused(problems),
    };
    let mut value = serde_json::to_value(plan).expect("a plan is JSON");
    let packages = value["packages"].as_array_mut().expect("it is a list");
    for package in packages {
        let members = package.as_object_mut().expect("it is an object");
        members.remove("bundles");
    }
    value
}

#[test]
fn answers_for_recorded_configurations_are_those_of_the_crate() {
    let mut refused = 0;
    for case in &testing::golden::cases(CASES)[..COMPARED] {
        let text = configuration(&case["operator"]);
        let engine = engine(catalog(case));
        for (name, rules) in [
            ("CATALOGQL", MirrorRules::Catalogql),
            ("OC_MIRROR", MirrorRules::OcMirror),
        ] {
            let want = planned(&catalog(case), &text, rules);
            let input = json!({ "configuration": text, "rules": name });
            assert_eq!(answer(&engine, &input), want, "{text}");

            // Packages of the argument select the same; only the places of problems differ.
            let mut input = case["operator"].clone();
            input["rules"] = name.into();
            let mut got = answer(&engine, &input);
            for member in ["packages", "bundles", "images"] {
                assert_eq!(got[member].take(), want[member], "{text}");
            }
            let codes = |value: &Value| -> Vec<Value> {
                let problems = value["problems"].as_array().expect("it is a list");
                let codes = problems
                    .iter()
                    .map(|problem| json!([problem["code"], problem["message"]]));
                codes.collect()
            };
            assert_eq!(codes(&got), codes(&want), "{text}");
            refused += usize::from(want["bundles"] == json!([]));
        }
    }
    assert!((1..2 * COMPARED).contains(&refused), "{refused}");
}

/// Answer for packages, with everything that tools read of it.
const HEADS: &str =
    "query($input: MirrorSetInput!) { catalog(name: \"community\") { mirrorSet(input: $input) {
    isRefused counts { packages bundles images }
    bundles { bundle { name version } reasons { kind channelName } }
    images { reference kind digest byTag usedBy { name } }
    problems { code severity path message likeOcMirror } } } }";

/// The index of the package that a problem is about.
fn package_of(problem: &Value) -> Option<usize> {
    let path = problem["path"].as_str()?;
    let (_, rest) = path.split_once("packages[")?;
    rest.split_once(']')?.0.parse().ok()
}

#[test]
fn the_heads_of_the_whole_of_community_are_answered_within_the_default_limits() {
    let community = serve_community();
    let least_images = of_whole_or_part(&community.content.catalog, 500, 30);
    let mut names: Vec<String> = community
        .content
        .catalog
        .packages()
        .map(|package| package.name().to_owned())
        .collect();
    let all = names.len();
    let engine = served::engine([community]);
    let ask = |names: &[String]| {
        let packages: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
        let variables = json!({ "input": { "packages": packages } });
        let mut data = served::data(&engine, HEADS, &variables);
        data["catalog"]["mirrorSet"].take()
    };
    let mut set = ask(&names);
    // Packages whose heads are no valid catalog are refused by name.
    while set["isRefused"] == true {
        let problems = set["problems"].as_array().expect("it is a list");
        let errors = problems.iter().filter(|one| one["severity"] == "ERROR");
        let refused: Vec<_> = errors.filter_map(package_of).collect();
        assert!(!refused.is_empty(), "{problems:?}");
        let mut at = 0;
        names.retain(|_| {
            at += 1;
            !refused.contains(&(at - 1))
        });
        set = ask(&names);
    }
    assert!(names.len() * 10 > all * 9, "{} of {all}", names.len());
    assert_eq!(set["counts"]["packages"], names.len());
    let images = set["images"].as_array().map_or(0, Vec::len);
    assert!(images > least_images, "{}", set["counts"]);
}
