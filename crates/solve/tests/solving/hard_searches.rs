//! Problems that are hard for every SAT solver, written as packages and installed operators.
//!
//! A choice of a value is a package with a version for each of them, since at most one version of a
//! package can be installed. A clause is an installed operator that requires one of several
//! bundles.

use std::fmt::Write as _;

use serde_json::{Value, json};
use solve::{SolveOutcome, SolveRefusalCode, SolveRequest};
use testing::fixture::catalog_of;

use crate::bounds::{in_little_time, refusal, with_outcome};

/// A problem in the making: packages whose versions exclude one another, and operators that require
/// some of them.
#[derive(Default)]
pub(crate) struct Puzzle {
    /// Blobs of the catalog, one a line.
    lines: String,
    clauses: Vec<Value>,
}

/// A family of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// One pigeon more than holes.
    Pigeonhole,
    /// Sums modulo two of the edges at each vertex of a graph, whose total is odd.
    Parity,
    /// Random clauses of three literals, as many as make half of such problems unsolvable.
    Satisfiability,
    /// Vertices of a random graph that take one of three colours.
    Colouring,
    /// Chains of packages of which each excludes others, and requirements that start several of
    /// them.
    Chains,
    /// Packages that all provide one API, of which many are required.
    Providers,
}

impl Family {
    pub(crate) const ALL: [Self; 6] = [
        Self::Pigeonhole,
        Self::Parity,
        Self::Satisfiability,
        Self::Colouring,
        Self::Chains,
        Self::Providers,
    ];

    /// Sizes from easy to hopeless.
    pub(crate) fn sizes(self) -> &'static [usize] {
        match self {
            Self::Pigeonhole => &[4, 5, 6, 8, 10, 15, 20],
            Self::Parity => &[6, 10, 15, 20, 25, 30, 40, 60],
            Self::Satisfiability => &[10, 30, 50, 70, 90, 110],
            Self::Colouring => &[10, 30, 60, 120, 250],
            Self::Chains => &[10, 60, 120, 250, 500],
            Self::Providers => &[10, 30, 60, 90, 120],
        }
    }

    /// Makes a problem of some size; equal seeds make equal problems.
    pub(crate) fn puzzle(self, size: usize, random: &mut fastrand::Rng) -> Puzzle {
        let mut puzzle = Puzzle::default();
        match self {
            Self::Pigeonhole => puzzle.pigeonhole(size),
            Self::Parity => puzzle.parity(size, random),
            Self::Satisfiability => puzzle.satisfiability(size, random),
            Self::Colouring => puzzle.colouring(size, random),
            Self::Chains => puzzle.chains(size, random),
            Self::Providers => puzzle.providers(size),
        }
        puzzle
    }
}

impl Puzzle {
    /// The catalog, one blob a line.
    pub(crate) fn lines(&self) -> &str {
        &self.lines
    }

    /// A request with an installed operator for each clause.
    pub(crate) fn request(&self) -> SolveRequest {
        let operator = |(at, clause): (usize, &Value)| {
            let constraint = json!({"failureMessage": "no", "any": {"constraints": clause}});
            let properties = json!([{"type": "olm.constraint", "value": constraint}]);
            json!({"name": format!("clause{at}"), "version": "1.0.0", "properties": properties})
        };
        let installed: Vec<Value> = self.clauses.iter().enumerate().map(operator).collect();
        serde_json::from_value(json!({"namespaces": ["olm"], "installed": installed})).unwrap()
    }

    /// Adds a package with versions, each with properties besides its own package.
    fn package(&mut self, name: &str, versions: usize, properties: impl Fn(usize) -> Vec<Value>) {
        let bundle_name = |at: usize| format!("{name}.v1.{at}.0");
        let entries: Vec<Value> = (0..versions)
            .map(|at| match at.checked_sub(1) {
                Some(former) => json!({"name": bundle_name(at), "replaces": bundle_name(former)}),
                None => json!({"name": bundle_name(at)}),
            })
            .collect();
        let package = json!({"schema": "olm.package", "name": name, "defaultChannel": "stable"});
        let channel =
            json!({"schema": "olm.channel", "package": name, "name": "stable", "entries": entries});
        writeln!(self.lines, "{package}\n{channel}").unwrap();
        for at in 0..versions {
            let version = format!("1.{at}.0");
            let mut all = vec![
                json!({"type": "olm.package", "value": {"packageName": name, "version": version}}),
            ];
            all.extend(properties(at));
            let bundle = json!({"schema": "olm.bundle", "package": name, "name": bundle_name(at), "image": "i",
                "properties": all});
            writeln!(self.lines, "{bundle}").unwrap();
        }
    }

    fn clause(&mut self, bundles: impl IntoIterator<Item = (String, usize)>) {
        let one = |(name, at): (String, usize)| json!({"package": {"packageName": name, "versionRange": format!("1.{at}.0")}});
        self.clauses.push(bundles.into_iter().map(one).collect());
    }

    fn pigeonhole(&mut self, holes: usize) {
        for hole in 0..holes {
            self.package(&format!("hole{hole}"), holes + 1, |_| Vec::new());
        }
        for pigeon in 0..=holes {
            self.clause((0..holes).map(|hole| (format!("hole{hole}"), pigeon)));
        }
    }

    fn parity(&mut self, vertices: usize, random: &mut fastrand::Rng) {
        // Three random rings over the vertices: each edge is in two sums.
        let mut sums: Vec<Vec<usize>> = vec![Vec::new(); vertices];
        let mut edges = 0;
        for _ in 0..2 {
            let mut ring: Vec<usize> = (0..vertices).collect();
            random.shuffle(&mut ring);
            for (at, &vertex) in ring.iter().enumerate() {
                sums[vertex].push(edges);
                sums[ring[(at + 1) % vertices]].push(edges);
                edges += 1;
            }
        }
        for edge in 0..edges {
            self.package(&format!("edge{edge}"), 2, |_| Vec::new());
        }
        for (vertex, edges) in sums.iter().enumerate() {
            let is_odd = vertex == 0;
            for values in 0..1usize << edges.len() {
                if (values.count_ones() % 2 == 1) != is_odd {
                    let other = |(at, edge): (usize, &usize)| {
                        (format!("edge{edge}"), 1 - (values >> at & 1))
                    };
                    self.clause(edges.iter().enumerate().map(other));
                }
            }
        }
    }

    fn satisfiability(&mut self, variables: usize, random: &mut fastrand::Rng) {
        for variable in 0..variables {
            self.package(&format!("variable{variable}"), 2, |_| Vec::new());
        }
        for _ in 0..variables * 426 / 100 {
            let literal = |_| {
                (
                    format!("variable{}", random.usize(..variables)),
                    random.usize(..2),
                )
            };
            let literals: Vec<_> = (0..3).map(literal).collect();
            self.clause(literals);
        }
    }

    fn colouring(&mut self, vertices: usize, random: &mut fastrand::Rng) {
        const COLOURS: usize = 3;
        let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); vertices];
        for _ in 0..vertices * 234 / 100 {
            neighbours[random.usize(..vertices)].push(random.usize(..vertices));
        }
        for (vertex, neighbours) in neighbours.iter().enumerate() {
            self.package(&format!("vertex{vertex}"), COLOURS, |colour| {
                let others = neighbours.iter().filter(|&&other| other != vertex);
                let require = |other: &usize| {
                    let value =
                        json!({"packageName": format!("vertex{other}"), "versionRange": format!("!=1.{colour}.0")});
                    json!({"type": "olm.package.required", "value": value})
                };
                others.map(require).collect()
            });
            self.clause((0..COLOURS).map(|colour| (format!("vertex{vertex}"), colour)));
        }
    }

    fn chains(&mut self, length: usize, random: &mut fastrand::Rng) {
        const VERSIONS: usize = 6;
        let jump: Vec<usize> = (0..VERSIONS).map(|_| random.usize(..VERSIONS)).collect();
        for link in 0..length {
            self.package(&format!("link{link}"), VERSIONS, |at| {
                let next = json!({"packageName": format!("link{}", link + 1), "versionRange": format!("1.{at}.0")});
                let end = json!({"packageName": "link0", "versionRange": format!("1.{}.0", jump[at])});
                let value = if link + 1 == length { end } else { next };
                vec![json!({"type": "olm.package.required", "value": value})]
            });
        }
        for _ in 0..20 {
            let link = random.usize(..length);
            let versions: Vec<_> = (0..3)
                .map(|_| (format!("link{link}"), random.usize(..VERSIONS)))
                .collect();
            self.clause(versions);
        }
    }

    fn providers(&mut self, count: usize) {
        let api = json!({"type": "olm.gvk", "value": {"group": "g", "version": "v1", "kind": "K"}});
        for at in 0..count {
            self.package(&format!("provider{at}"), 3, |_| vec![api.clone()]);
        }
        for at in 0..count.min(1_000) {
            let all = (0..count).step_by(1 + at % 7).take(40);
            self.clause(all.map(|other| (format!("provider{}", (other + at) % count), at % 3)));
        }
    }
}

#[test]
fn a_search_that_would_take_seconds_ends_with_its_budget() {
    // These took 2.4 and 3.3 seconds of an optimized build.
    for pigeons in [10, 15] {
        let puzzle = Family::Pigeonhole.puzzle(pigeons, &mut fastrand::Rng::with_seed(1));
        let catalog = catalog_of(puzzle.lines());
        let refused = in_little_time(|| refusal(&catalog, &puzzle.request(), 50_000_000));
        assert_eq!(refused.0, SolveRefusalCode::Limit, "{}", refused.1);
        assert!(
            refused.1.contains("more work than its budget"),
            "{}",
            refused.1
        );
    }
}

#[test]
fn a_search_that_is_interrupted_goes_on_where_it_was() {
    // It takes more conflicts than there are between two interruptions.
    let puzzle = Family::Pigeonhole.puzzle(7, &mut fastrand::Rng::with_seed(1));
    with_outcome(
        &catalog_of(puzzle.lines()),
        &puzzle.request(),
        u64::MAX,
        |outcome| {
            let SolveOutcome::Conflict(conflict) = outcome else {
                panic!("{outcome:?}")
            };
            // Eight pigeons that are installed, what each requires, and what each of seven holes
            // takes.
            assert_eq!(conflict.reasons.len(), 8 + 8 + 7);
        },
    );
}
