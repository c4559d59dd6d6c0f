//! A search for bad requests: requirements whose solving costs more time than its price says.
//!
//! Seeded requirements of every kind, with ranges and CEL rules, are solved over bundles that are made to be slow. CPU
//! time of this thread is divided by the units of work drawn.

use std::fmt::Write as _;
use std::time::Duration;

use fbc::Catalog;
use fbc::work::Work;
use serde_json::{Value, json};
use solve::{SolveOutcome, SourceCatalog, solve};
use testing::fixture::catalog_of;

use crate::bounds::{cpu, wanted};

/// Number of requests.
const REQUESTS: usize = 120;

/// Budget of each, in nanoseconds.
const BUDGET: u64 = 50_000_000;

/// Shorter solvings are not compared: what is constant in each weighs too much.
const COMPARED: Duration = Duration::from_millis(2);

/// Less work than this counts as this much, in units.
const LEAST_UNITS: u64 = 1_000;

/// A unit may cost so many times its price of a microsecond; without optimization, this crate takes ten times as long.
const TOLERANCE: u128 = if cfg!(debug_assertions) { 30 } else { 10 };

/// Bundles of the package `slow`, each with a large property.
const BUNDLES: usize = 60;

struct Generator(fastrand::Rng);

impl Generator {
    fn one(&mut self, of: &[&str]) -> String {
        (*self.0.choice(of).unwrap()).to_owned()
    }

    fn some(&mut self, of: &[usize]) -> usize {
        *self.0.choice(of).unwrap()
    }

    /// A property that states a requirement.
    fn requirement(&mut self) -> Value {
        match self.0.usize(..6) {
            0 => {
                let value = json!({"packageName": self.package(), "versionRange": self.range()});
                json!({"type": "olm.package.required", "value": value})
            }
            1 => json!({"type": "olm.gvk.required", "value": self.api()}),
            2 => json!({"type": "olm.label.required", "value": {"label": self.one(&["sweet", "sour"])}}),
            _ => json!({"type": "olm.constraint", "value": self.constraint(3)}),
        }
    }

    fn package(&mut self) -> String {
        self.one(&["slow", "slow", "pear", "none"])
    }

    fn api(&mut self) -> Value {
        json!({"group": "g", "version": "v1", "kind": format!("K{}", self.0.usize(..70))})
    }

    fn range(&mut self) -> String {
        let count = self.some(&[1, 10, 300, 2_000]);
        let separator = self.one(&[" ", " || "]);
        (0..count).map(|at| format!("!=1.{at}.0")).collect::<Vec<_>>().join(&separator)
    }

    fn constraint(&mut self, depth: usize) -> Value {
        match self.0.usize(..if depth == 0 { 4 } else { 8 }) {
            0 => json!({"gvk": self.api()}),
            1 => json!({"package": {"packageName": self.package(), "versionRange": self.range()}}),
            2 | 3 => json!({"failureMessage": "no", "cel": {"rule": self.rule()}}),
            _ => {
                let count = self.some(&[0, 1, 5, 30]);
                let inner: Vec<Value> = (0..count).map(|_| self.constraint(depth - 1)).collect();
                json!({self.one(&["all", "any", "not"]): {"constraints": inner}})
            }
        }
    }

    /// A rule that results in a bool.
    fn rule(&mut self) -> String {
        let text = self.condition(2, "properties");
        if text.len() > solve::MAX_RULE_BYTES { "false".to_owned() } else { text }
    }

    fn condition(&mut self, depth: usize, list: &str) -> String {
        if depth > 0 && self.0.bool() {
            let name = format!("v{depth}");
            let body = self.condition(depth - 1, list);
            let item = self.item(&name);
            let quantifier = self.one(&["all", "exists", "exists_one"]);
            return format!("{list}.{quantifier}({name}, {body} || {item})");
        }
        let count = self.some(&[1, 20, 300]);
        let values = |text: &str| vec![text; count].join(",");
        match self.0.usize(..8) {
            0 => format!("[{}] == []", values("properties")),
            1 => format!("[{}].map(x, properties) == []", values("1")),
            2 => format!("[{}].filter(x, x > 1).size() == 0", values("1")),
            3 => format!("({}) == 1", vec!["1"; count.min(190)].join("+")),
            4 => {
                format!("{{{}}} == {{}}", (0..count).map(|at| format!("{at}:properties")).collect::<Vec<_>>().join(","))
            }
            5 => format!("properties.map(p, p.value) == [{}]", values("'x'")),
            6 => format!("semver_compare('1.0.0', '{}') == 0", "1.0.0-".to_owned() + &"a".repeat(count)),
            _ => format!("properties.exists(p, {})", self.item("p")),
        }
    }

    /// A condition on a property.
    fn item(&mut self, name: &str) -> String {
        let pattern = self.one(&["^large", "(x+x+)+y", "[a-z]{1,90}", "(?i)[^k]", "(?i)[!-z]+$", ".*x"]);
        match self.0.usize(..6) {
            0 => format!("{name}.type == 'certified'"),
            1 => format!("{name}.value == properties[0].value"),
            2 => format!("{name}.type.matches('{pattern}')"),
            3 => format!("'x' in {name}.value"),
            4 => format!("{name}.value.contains('{}')", "x".repeat(50)),
            _ => format!("string({name}.value) + {name}.type == ''"),
        }
    }

    /// A catalog whose package `pear` has requirements, and large bundles.
    fn catalog(&mut self) -> Catalog {
        let mut lines = String::new();
        let requirements: Vec<Value> = (0..self.some(&[1, 3, 20])).map(|_| self.requirement()).collect();
        let large = match self.0.usize(..4) {
            0 => json!(vec![json!({"a": 0}); self.some(&[1, 100, 3_000])]),
            1 => json!(vec![1; self.some(&[1, 100, 8_000])]),
            2 => json!("x".repeat(self.some(&[1, 1_000, 20_000]))),
            _ => json!(vec!["x".repeat(200); self.some(&[1, 100])]),
        };
        let mut slow =
            vec![json!({"type": "large", "value": large}), json!({"type": "olm.label", "value": {"label": "sweet"}})];
        slow.extend(
            (0..self.some(&[1, 60])).map(
                |at| json!({"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": format!("K{at}")}}),
            ),
        );
        for (package, count, properties) in [("pear", 1, &requirements), ("slow", BUNDLES, &slow)] {
            let name = |at: usize| format!("{package}.v1.{at}.0");
            let entry = |at: usize| match at.checked_sub(1) {
                Some(former) => json!({"name": name(at), "replaces": name(former)}),
                None => json!({"name": name(at)}),
            };
            let entries: Vec<Value> = (0..count).map(entry).collect();
            writeln!(lines, "{}", json!({"schema": "olm.package", "name": package, "defaultChannel": "c0"})).unwrap();
            for channel in 0..3 {
                let channel = format!("c{channel}");
                let blob = json!({"schema": "olm.channel", "package": package, "name": channel, "entries": entries});
                writeln!(lines, "{blob}").unwrap();
            }
            for at in 0..count {
                let own =
                    json!({"type": "olm.package", "value": {"packageName": package, "version": format!("1.{at}.0")}});
                let properties: Vec<&Value> = std::iter::once(&own).chain(properties).collect();
                let blob = json!({"schema": "olm.bundle", "package": package, "name": name(at), "image": "i",
                    "properties": properties});
                writeln!(lines, "{blob}").unwrap();
            }
        }
        catalog_of(&lines)
    }
}

/// Solves for the package `pear` of a seed; returns the CPU time, the units of work, and how it ended.
fn execute(seed: u64) -> (Duration, u64, &'static str) {
    let catalog = Generator(fastrand::Rng::with_seed(seed)).catalog();
    let catalogs = [SourceCatalog { name: "main", namespace: "olm", priority: 0, labels: None, catalog: &catalog }];
    let (request, work, before) = (wanted(&["pear"]), Work::unlimited(), cpu());
    let outcome = match solve(&request, &catalogs, BUDGET, &work).unwrap() {
        SolveOutcome::Solution(_) => "solved",
        SolveOutcome::Conflict(_) => "conflicts",
        SolveOutcome::Refusal(_) => "refused",
    };
    (cpu().saturating_sub(before), work.units(), outcome)
}

#[test]
fn no_requirement_costs_many_times_the_time_that_its_work_is_worth() {
    let executions: Vec<_> = (0..REQUESTS as u64).map(|seed| (seed, execute(seed))).collect();
    for outcome in ["solved", "conflicts", "refused"] {
        let count = executions.iter().filter(|(_, execution)| execution.2 == outcome).count();
        assert!(count > REQUESTS / 20, "only {count} of {REQUESTS} are {outcome}: they show little");
    }
    let is_bad = |(cpu, units, _): (Duration, u64, &str)| {
        cpu > COMPARED && cpu.as_micros() > TOLERANCE * u128::from(units.max(LEAST_UNITS))
    };
    // Once may be the machine; three times is the request.
    let bad: Vec<_> = executions
        .iter()
        .filter(|(seed, execution)| is_bad(*execution) && (0..2).all(|_| is_bad(execute(*seed))))
        .collect();
    assert!(bad.is_empty(), "a unit takes more than {TOLERANCE} microseconds for these seeds: {bad:?}");
}
