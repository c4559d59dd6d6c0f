//! What `deploy/monitoring` tells Prometheus and Grafana: promtool accepts it, and every alert has
//! a test and a page.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testing::report_skipped;

use crate::support::{Folders, run};

/// Sections of the page of an alert.
const SECTIONS: [&str; 4] = ["## Meaning", "## Impact", "## Look here", "## Do this"];

fn monitoring() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/monitoring")
}

fn read(name: &str) -> String {
    fs::read_to_string(monitoring().join(name)).expect("the file can be read")
}

fn yaml(name: &str) -> Value {
    serde_saphyr::from_str(&read(name)).expect("it is YAML")
}

fn dashboard() -> Value {
    serde_json::from_str(&read("dashboard.json")).expect("it is JSON")
}

/// Runs promtool, which comes with Prometheus. `None` where it is missing: the calling test is
/// reported as skipped.
#[track_caller]
fn promtool(arguments: &[&str], folder: &Path) -> Option<String> {
    let found = Command::new("promtool")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_err() {
        let remedy = "run tests/setup.sh, or install it (Debian: apt-get install prometheus)";
        report_skipped("promtool", "promtool is not installed", remedy);
        return None;
    }
    let output = run(Command::new("promtool").args(arguments).current_dir(folder));
    assert_eq!(output.status, Some(0), "{}{}", output.stdout, output.stderr);
    Some(output.stdout)
}

/// The rules that are alerts.
fn alerts() -> Vec<Value> {
    let rules = yaml("rules.yaml");
    let groups = rules["groups"]
        .as_array()
        .expect("rules are in groups")
        .iter();
    let rules = groups.flat_map(|group| {
        group["rules"]
            .as_array()
            .expect("a group has rules")
            .clone()
    });
    let alerts: Vec<_> = rules.filter(|rule| rule.get("alert").is_some()).collect();
    assert_eq!(alerts.len(), 13);
    alerts
}

#[test]
fn promtool_accepts_the_rules_and_their_tests_pass() {
    let Some(checked) = promtool(&["check", "rules", "rules.yaml"], &monitoring()) else {
        return;
    };
    assert!(checked.contains("SUCCESS: 14 rules found"), "{checked}");
    promtool(&["test", "rules", "rules_test.yaml"], &monitoring());
}

#[test]
fn each_alert_is_tested_while_it_fires_and_while_it_does_not() {
    let tests = yaml("rules_test.yaml");
    let tests = tests["tests"].as_array().expect("a list").iter();
    let checks: Vec<_> = tests
        .flat_map(|test| test["alert_rule_test"].as_array().expect("a list"))
        .collect();
    for alert in alerts() {
        let fires = |expected: bool| {
            checks.iter().any(|check| {
                check["alertname"] == alert["alert"]
                    && check.get("exp_alerts").is_some() == expected
            })
        };
        assert!(
            fires(true) && fires(false),
            "rules_test.yaml does not make {} fire and resolve",
            alert["alert"]
        );
    }
}

#[test]
fn each_alert_has_a_severity_texts_and_a_page() {
    let mut pages = BTreeSet::new();
    for alert in alerts() {
        let name = alert["alert"].as_str().expect("a string");
        assert!(
            ["critical", "warning", "info"]
                .map(Value::from)
                .contains(&alert["labels"]["severity"]),
            "{name}"
        );
        for text in ["summary", "description"] {
            assert!(
                alert["annotations"][text]
                    .as_str()
                    .is_some_and(|text| text.ends_with('.')),
                "{name} {text}"
            );
        }
        assert_eq!(
            alert["annotations"]["runbook_url"],
            json!(format!("https://catalogql.io/runbooks/{name}"))
        );
        let file = format!("docs/runbooks/{name}.md");
        let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file));
        let page = page.unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(page.starts_with(&format!("# {name}\n")), "{file}");
        let places: Vec<_> = SECTIONS
            .iter()
            .map(|section| page.find(&format!("\n{section}\n")))
            .collect();
        assert!(
            places.iter().all(Option::is_some) && places.is_sorted(),
            "{file}: sections are {SECTIONS:?}"
        );
        pages.insert(format!("{name}.md"));
    }
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/runbooks"))
        .expect("it can be read");
    let names = entries.map(|entry| {
        entry
            .expect("it can be read")
            .file_name()
            .into_string()
            .expect("UTF-8")
    });
    assert_eq!(
        names.collect::<BTreeSet<_>>(),
        pages,
        "pages without an alert"
    );
}

/// Every query of the dashboard, with its variables replaced.
fn queries(dashboard: &Value) -> Vec<String> {
    let lists = [&dashboard["annotations"]["list"]]
        .into_iter()
        .chain(panels(dashboard).map(|panel| &panel["targets"]));
    let targets = lists.flat_map(|list| list.as_array().into_iter().flatten());
    let texts = targets.map(|target| target["expr"].as_str().expect("a target has a query"));
    texts
        .map(|text| {
            text.replace("$__rate_interval", "5m")
                .replace("$__interval", "5m")
                .replace("$namespace", ".*")
        })
        .collect()
}

fn panels(dashboard: &Value) -> impl Iterator<Item = &Value> {
    dashboard["panels"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|panel| panel["type"] != "row")
}

#[test]
fn promtool_accepts_every_query_of_the_dashboard() {
    let queries = queries(&dashboard());
    assert!(
        queries.len() > 30 && queries.iter().all(|query| !query.contains('$')),
        "{queries:?}"
    );
    let rule = |(number, query): (usize, &String)| json!({ "record": format!("query:{number}"), "expr": query });
    let rules: Vec<_> = queries.iter().enumerate().map(rule).collect();
    let folder = Folders::new();
    // JSON is YAML.
    folder.write(
        "rules.yaml",
        json!({ "groups": [{ "name": "dashboard", "rules": rules }] }).to_string(),
    );
    promtool(&["check", "rules", "rules.yaml"], &folder.path(""));
}

#[test]
fn panels_of_the_dashboard_are_described_have_units_and_do_not_overlap() {
    let dashboard = dashboard();
    let mut taken = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for panel in dashboard["panels"].as_array().expect("a list") {
        let title = &panel["title"];
        assert!(
            ids.insert(panel["id"].as_u64().expect("a number")),
            "{title}: another panel has its id"
        );
        let place =
            ["x", "y", "w", "h"].map(|name| panel["gridPos"][name].as_u64().expect("a number"));
        let [x, y, width, height] = place;
        assert!(x + width <= 24, "{title} is wider than the dashboard");
        let cells = (x..x + width).flat_map(|x| (y..y + height).map(move |y| (x, y)));
        for cell in cells {
            assert!(taken.insert(cell), "{title} lies over another panel");
        }
    }
    for panel in panels(&dashboard) {
        let title = &panel["title"];
        assert!(
            panel["description"]
                .as_str()
                .is_some_and(|text| text.ends_with('.')),
            "{title}"
        );
        assert!(
            panel["fieldConfig"]["defaults"]["unit"].is_string(),
            "{title}"
        );
    }
    assert_eq!(
        (&dashboard["uid"], &dashboard["schemaVersion"]),
        (&json!("catalogql"), &json!(39))
    );
}

#[test]
fn every_metric_of_the_rules_and_the_dashboard_is_one_of_the_program() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/metrics.md"));
    let page = page.expect("the reference can be read");
    let rules = yaml("rules.yaml");
    let rules = rules["groups"]
        .as_array()
        .expect("rules are in groups")
        .iter();
    let rules = rules.flat_map(|group| group["rules"].as_array().expect("a group has rules"));
    let rules = rules.map(|rule| {
        rule["expr"]
            .as_str()
            .expect("a rule has a query")
            .to_owned()
    });
    let mut metrics = BTreeSet::new();
    for query in rules.chain(queries(&dashboard())) {
        let words =
            query.split(|letter: char| !letter.is_ascii_alphanumeric() && !"_:".contains(letter));
        let prefixes = [
            "catalogql_",
            "controller_runtime_",
            "leader_election_",
            "process_",
            "rest_client_",
        ];
        let named = words.filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix)));
        metrics.extend(named.map(|word| {
            let suffixes = ["_bucket", "_sum", "_count"];
            suffixes
                .iter()
                .find_map(|suffix| word.strip_suffix(suffix))
                .unwrap_or(word)
                .to_owned()
        }));
    }
    assert!(metrics.len() > 25, "{metrics:?}");
    let missing: Vec<_> = metrics
        .iter()
        .filter(|metric| !page.contains(&format!("| `{metric}` |")))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/reference/metrics.md does not name {missing:?}"
    );
}
