//! A search for bad requests: requirements whose solving costs more time than its price says.
//!
//! Seeded requirements of every kind, with ranges and CEL rules, are solved over bundles that are
//! made to be slow, and so are problems that are hard for every SAT solver. CPU time of this thread
//! is divided by the units of work drawn.

use std::fmt::Write as _;
use std::ops::Range;
use std::time::Duration;

use fbc::Catalog;
use fbc::work::Work;
use serde_json::{Value, json};
use solve::{MAX_PASSED_OVER, SolveOutcome, SolveRequest, SourceCatalog, solve};
use testing::fixture::catalog_of;

use crate::bounds::{cpu, wanted};
use crate::hard_searches::Family;

/// Number of requests with requirements of every kind.
const REQUESTS: u64 = 120;

/// Number of problems that are hard to solve.
const PUZZLES: u64 = 40;

/// Budget of each, in nanoseconds.
const BUDGET: u64 = 50_000_000;

/// Shorter solvings are not compared: what is constant in each weighs too much.
const COMPARED: Duration = Duration::from_millis(2);

/// Less work than this counts as this much, in units.
const LEAST_UNITS: u64 = 1_000;

/// A unit may cost so many times its price of a microsecond; without optimization, this crate takes
/// ten times as long.
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
            2 => {
                json!({"type": "olm.label.required", "value": {"label": self.one(&["sweet", "sour"])}})
            }
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
        (0..count)
            .map(|at| format!("!=1.{at}.0"))
            .collect::<Vec<_>>()
            .join(&separator)
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
        if text.len() > solve::MAX_RULE_BYTES {
            "false".to_owned()
        } else {
            text
        }
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
                format!(
                    "{{{}}} == {{}}",
                    (0..count)
                        .map(|at| format!("{at}:properties"))
                        .collect::<Vec<_>>()
                        .join(",")
                )
            }
            5 => format!("properties.map(p, p.value) == [{}]", values("'x'")),
            6 => format!(
                "semver_compare('1.0.0', '{}') == 0",
                "1.0.0-".to_owned() + &"a".repeat(count)
            ),
            _ => format!("properties.exists(p, {})", self.item("p")),
        }
    }

    /// A condition on a property.
    fn item(&mut self, name: &str) -> String {
        let pattern = self.one(&[
            "^large",
            "(x+x+)+y",
            "[a-z]{1,90}",
            "(?i)[^k]",
            "(?i)[!-z]+$",
            ".*x",
        ]);
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
        let requirements: Vec<Value> = (0..self.some(&[1, 3, 20]))
            .map(|_| self.requirement())
            .collect();
        let large = match self.0.usize(..4) {
            0 => json!(vec![json!({"a": 0}); self.some(&[1, 100, 3_000])]),
            1 => json!(vec![1; self.some(&[1, 100, 8_000])]),
            2 => json!("x".repeat(self.some(&[1, 1_000, 20_000]))),
            _ => json!(vec!["x".repeat(200); self.some(&[1, 100])]),
        };
        let mut slow = vec![
            json!({"type": "large", "value": large}),
            json!({"type": "olm.label", "value": {"label": "sweet"}}),
        ];
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
            writeln!(
                lines,
                "{}",
                json!({"schema": "olm.package", "name": package, "defaultChannel": "c0"})
            )
            .unwrap();
            for channel in 0..3 {
                let channel = format!("c{channel}");
                let blob = json!({"schema": "olm.channel", "package": package, "name": channel, "entries": entries});
                writeln!(lines, "{blob}").unwrap();
            }
            for at in 0..count {
                let own = json!({"type": "olm.package", "value": {"packageName": package, "version": format!("1.{at}.0")}});
                let properties: Vec<&Value> = std::iter::once(&own).chain(properties).collect();
                let blob = json!({"schema": "olm.bundle", "package": package, "name": name(at), "image": "i",
                    "properties": properties});
                writeln!(lines, "{blob}").unwrap();
            }
        }
        catalog_of(&lines)
    }
}

/// The kind of an answer.
struct Execution {
    seed: u64,
    cpu: Duration,
    units: u64,
    outcome: &'static str,
}

impl Execution {
    /// Solves a request over one catalog, with everything that an answer explains.
    fn new(seed: u64, catalog: &Catalog, request: &SolveRequest) -> Self {
        let catalogs = [SourceCatalog {
            name: "main",
            namespace: "olm",
            priority: 0,
            labels: None,
            catalog,
        }];
        let work = Work::unlimited();
        let before = cpu();
        let outcome = match solve(request, &catalogs, BUDGET, &work).unwrap() {
            SolveOutcome::Solution(solution) => {
                for step in &solution.steps {
                    solution.passed_over(step, MAX_PASSED_OVER).unwrap();
                }
                "solved"
            }
            SolveOutcome::Conflict(_) => "conflicts",
            SolveOutcome::Refusal(_) => "refused",
        };
        Self {
            seed,
            cpu: cpu().saturating_sub(before),
            units: work.units(),
            outcome,
        }
    }

    fn of_requirements(seed: u64) -> Self {
        let catalog = Generator(fastrand::Rng::with_seed(seed)).catalog();
        Self::new(seed, &catalog, &wanted(&["pear"]))
    }

    fn of_puzzle(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let family = *random.choice(&Family::ALL).unwrap();
        let size = *random.choice(family.sizes()).unwrap();
        let puzzle = family.puzzle(size, &mut random);
        Self::new(seed, &catalog_of(puzzle.lines()), &puzzle.request())
    }

    fn is_bad(&self) -> bool {
        self.cpu > COMPARED
            && self.cpu.as_micros() > TOLERANCE * u128::from(self.units.max(LEAST_UNITS))
    }
}

/// Seeds to try, so many: `CATALOGQL_BAD_REQUESTS=SEED:COUNT` searches elsewhere or longer.
fn seeds(count: u64) -> Range<u64> {
    let Ok(searched) = std::env::var("CATALOGQL_BAD_REQUESTS") else {
        return 0..count;
    };
    let (seed, count) = searched.split_once(':').expect("SEED:COUNT");
    let seed: u64 = seed.parse().expect("a seed");
    let count: u64 = count.parse().expect("a count");
    seed..seed + count
}

/// Checks that each request costs about the time that its work is worth, and that they end in every
/// way.
fn check(count: u64, execute: fn(u64) -> Execution) {
    let executions: Vec<Execution> = seeds(count).map(execute).collect();
    for outcome in ["solved", "conflicts", "refused"] {
        let count = executions
            .iter()
            .filter(|execution| execution.outcome == outcome)
            .count();
        assert!(
            count > executions.len() / 20,
            "only {count} of {} are {outcome}: they show little",
            executions.len()
        );
    }
    let dearest = executions
        .iter()
        .max_by_key(|execution| execution.cpu)
        .unwrap();
    println!(
        "{} tried; seed {} took {:?} for {} units",
        executions.len(),
        dearest.seed,
        dearest.cpu,
        dearest.units
    );

    // Once may be the machine; three times is the request.
    let bad = executions
        .iter()
        .filter(|one| one.is_bad() && (0..2).all(|_| execute(one.seed).is_bad()));
    let bad: Vec<_> = bad
        .map(|one| (one.seed, one.cpu, one.units, one.outcome))
        .collect();
    assert!(
        bad.is_empty(),
        "a unit takes more than {TOLERANCE} microseconds for these seeds: {bad:?}"
    );
}

#[test]
fn no_requirement_costs_many_times_the_time_that_its_work_is_worth() {
    check(REQUESTS, Execution::of_requirements);
}

#[test]
fn no_problem_that_is_hard_to_solve_costs_many_times_the_time_that_its_work_is_worth() {
    check(PUZZLES, Execution::of_puzzle);
}
