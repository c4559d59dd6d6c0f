//! A search for bad queries: documents within the limits whose work costs more time than its price
//! says.
//!
//! Seeded documents are generated from the schema and executed over catalogs that are made to be
//! slow. CPU time of this thread is divided by the units of work drawn.
//! `CATALOGQL_BAD_QUERIES=SEED:COUNT` searches elsewhere or longer.

use std::fmt::Write as _;
use std::time::Duration;

use apollo_compiler::Schema;
use apollo_compiler::ast::{FieldDefinition, InputValueDefinition, Type};
use apollo_compiler::schema::ExtendedType;
use fbc_grammar::Digest;
use graphql::limits::Limits;
use graphql::{Engine, Request, SDL};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use serving::{CatalogMetadata, Content, Served, catalogs};
use testing::SeededRandom;
use testing::fixture::catalog_of;

/// Documents that one test executes.
const DOCUMENTS: usize = 1_500;

/// A document may cost so many times the CPU time per unit of work that the median of those that
/// take long costs. In a build without optimization, escaping a byte takes fifteen times as long as
/// its price, and copying it does not.
const TOLERANCE: f64 = if cfg!(debug_assertions) { 20.0 } else { 10.0 };

/// Shorter executions are not compared: parsing and the clock weigh too much.
const COMPARED: Duration = Duration::from_millis(2);

/// Less work than this counts as this much, so that what is constant in every request does not
/// count as work.
const LEAST_UNITS: f64 = 2_000.0;

/// Words that the packages of one catalog have in their descriptions.
const WORDS: usize = 20_000;

/// An execution of a document.
struct Execution {
    document: String,
    cpu: Duration,
    /// Work drawn, in units.
    units: f64,
}

impl Execution {
    /// Nanoseconds of CPU time per unit of work.
    fn price(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e9 / self.units.max(LEAST_UNITS)
    }
}

/// A catalog of one package whose entries have no bundles, so that its edges lead nowhere.
fn edges_without_bundles() -> String {
    let entries: Vec<_> = (0..5_000)
        .map(|at| json!({"name": format!("p.v{at}"), "skips": [format!("p.v{}", at + 9_000), format!("x{at}")], "skipRange": format!("<{at}.0.0")}))
        .collect();
    let package = json!({"defaultChannel": "c", "name": "p0", "schema": "olm.package"});
    let channel =
        json!({"entries": entries, "name": "c", "package": "p0", "schema": "olm.channel"});
    format!("{package}\n{channel}\n{}", bundles("p0", 300))
}

/// Bundles of a package, each with a version, properties and metadata.
fn bundles(package: &str, count: usize) -> String {
    let mut lines = String::new();
    for at in 0..count {
        let properties = json!([
            {"type": "olm.package", "value": {"packageName": package, "version": format!("{at}.0.0")}},
            {"type": "olm.gvk", "value": {"group": "g", "kind": "K", "version": "v1"}},
            {"type": "olm.csv.metadata", "value": {"displayName": "name", "annotations": {"description": "x".repeat(500)}, "keywords": ["a", "b"]}},
        ]);
        let bundle = json!({"image": format!("i/{package}:{at}"), "name": format!("{package}.v{at}"), "package": package, "properties": properties, "schema": "olm.bundle"});
        writeln!(lines, "{bundle}").expect("a string takes all text");
    }
    lines
}

/// A catalog of many packages, each with one channel and many words.
fn many_packages() -> String {
    let mut lines = String::new();
    for at in 0..400 {
        let name = format!("p{at}");
        let words: Vec<_> = (0..200)
            .map(|word| format!("word{}", (at * 97 + word * 31) % WORDS))
            .collect();
        let package = json!({"defaultChannel": "c", "description": words.join(" "), "name": name, "schema": "olm.package"});
        let entries: Vec<_> = (0..4)
            .map(|version| json!({"name": format!("{name}.v{version}"), "skipRange": format!("<{version}.0.0 || not a range")}))
            .collect();
        let channel =
            json!({"entries": entries, "name": "c", "package": name, "schema": "olm.channel"});
        write!(lines, "{package}\n{channel}\n{}", bundles(&name, 4))
            .expect("a string takes all text");
    }
    lines
}

fn engine() -> Engine {
    let (mut writer, reader) = catalogs();
    for (at, (name, lines)) in [
        ("edges", edges_without_bundles()),
        ("packages", many_packages()),
    ]
    .into_iter()
    .enumerate()
    {
        let catalog = catalog_of(&lines);
        catalog.prepare();
        let digest = Digest::new([u8::try_from(at).expect("there are few"); 32]);
        writer.publish(Served::new(
            name,
            Content::new(catalog, digest),
            CatalogMetadata::default(),
        ));
    }
    // The time is not what is tested.
    Engine::new(
        reader,
        "test",
        Limits {
            time: Duration::from_mins(10),
            ..Limits::default()
        },
    )
}

/// Generates documents from the schema.
struct Generator<'s> {
    schema: &'s Schema,
    random: SeededRandom,
    fields_left: usize,
}

impl Generator<'_> {
    fn document(&mut self) -> String {
        self.fields_left = 60;
        format!("query {}", self.selection("Query", 7))
    }

    /// A selection of some fields of a type, with arguments.
    fn selection(&mut self, type_name: &str, depth: usize) -> String {
        let mut text = "{ __typename".to_owned();
        let ExtendedType::Object(object) = &self.schema.types[type_name] else {
            return text + " }";
        };
        let mut fields: Vec<_> = object.fields.values().collect();
        for at in 0..=self.random.below(4) {
            let is_leaf =
                |field: &FieldDefinition| self.schema.types[field.ty.inner_named_type()].is_leaf();
            // The first one leads on, where there is any.
            let inner: Vec<_> = (0..fields.len())
                .filter(|&field| !is_leaf(fields[field]))
                .collect();
            let chosen = if at > 0 || inner.is_empty() {
                self.random.below(fields.len())
            } else {
                *self.random.choose(&inner)
            };
            let is_leaf = is_leaf(fields[chosen]);
            let field = fields.swap_remove(chosen);
            if self.fields_left == 0 || fields.is_empty() || (!is_leaf && depth == 0) {
                break;
            }
            self.fields_left -= 1;
            write!(text, " {}{}", field.name, self.arguments(field))
                .expect("a string takes all text");
            if !is_leaf {
                write!(
                    text,
                    " {}",
                    self.selection(field.ty.inner_named_type(), depth - 1)
                )
                .expect("a string takes all text");
            }
        }
        text + " }"
    }

    fn arguments(&mut self, field: &FieldDefinition) -> String {
        let mut arguments = Vec::new();
        for argument in &field.arguments {
            // They exclude `first` and `after`.
            let is_left_out = matches!(argument.name.as_str(), "last" | "before" | "after");
            if argument.is_required() || (!is_left_out && self.random.below(2) == 0) {
                arguments.push(self.member(argument));
            }
        }
        if arguments.is_empty() {
            String::new()
        } else {
            format!("({})", arguments.join(", "))
        }
    }

    /// An argument, or a field of an input object, with a value.
    fn member(&mut self, definition: &InputValueDefinition) -> String {
        format!(
            "{}: {}",
            definition.name,
            self.value(&definition.name, &definition.ty)
        )
    }

    fn value(&mut self, name: &str, ty: &Type) -> String {
        if ty.is_list() {
            let items: Vec<_> = (0..*self.random.choose(&[1, 3, 100]))
                .map(|_| self.value(name, ty.item_type()))
                .collect();
            return format!("[{}]", items.join(", "));
        }
        match &self.schema.types[ty.inner_named_type()] {
            ExtendedType::Enum(values) => {
                let values: Vec<_> = values.values.keys().map(ToString::to_string).collect();
                self.random.choose(&values).clone()
            }
            ExtendedType::InputObject(input) => {
                let is_one_of = input.directives.get("oneOf").is_some();
                let fields: Vec<_> = input.fields.values().collect();
                let members: Vec<_> = if is_one_of {
                    let field = *self.random.choose(&fields);
                    vec![format!(
                        "{}: {}",
                        field.name,
                        self.value(&field.name, &field.ty)
                    )]
                } else {
                    let mut members = Vec::new();
                    for field in fields {
                        if field.is_required() || self.random.below(3) == 0 {
                            members.push(self.member(field));
                        }
                    }
                    members
                };
                format!("{{{}}}", members.join(", "))
            }
            _ if ty.inner_named_type() == "Int" => {
                (*self.random.choose(&[0, 10, 50, 100, 500])).to_string()
            }
            _ if ty.inner_named_type() == "Boolean" => {
                (*self.random.choose(&["true", "false"])).to_owned()
            }
            _ => format!("{:?}", self.text(name)),
        }
    }

    fn text(&mut self, name: &str) -> String {
        let at = self.random.below(400);
        let long_range = || {
            (0..200)
                .map(|at| format!("!={at}.0.0"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        match name {
            "catalog" | "catalogs" => (*self.random.choose(&["edges", "packages"])).to_owned(),
            "search" => format!("wrod{at} word{} wodr1{at}", at * 3),
            "versionRange" | "version" if self.random.below(3) == 0 => long_range(),
            "versionRange" => {
                (*self.random.choose(&[">=0.0.0-0", ">1.0.0 <9.0.0 || 3.x"])).to_owned()
            }
            "version" => format!("{at}.0.0"),
            "pointer" => (*self.random.choose(&["/a/b/c", "", "/entries/4999"])).to_owned(),
            "channels" | "channel" => (*self.random.choose(&["c", "d"])).to_owned(),
            "group" => "g".to_owned(),
            "kind" => "K".to_owned(),
            "to" => format!("p{at}.v3"),
            "schema" => (*self.random.choose(&["olm.bundle", "olm.channel"])).to_owned(),
            "propertyTypes" | "types" | "type" => "olm.gvk".to_owned(),
            _ => (*self
                .random
                .choose(&["p0", "p1", "p0.v1", "packages", "edges"]))
            .to_owned(),
        }
    }
}

fn thread_cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        now.tv_sec.try_into().expect("it counts up"),
        now.tv_nsec.try_into().expect("below a second"),
    )
}

/// Executes a document; `None` if it is refused before it is executed.
fn execute(engine: &Engine, document: &str) -> Option<Execution> {
    let extensions = json!({"cost": true}).as_object().cloned();
    let request = Request {
        query: Some(document.into()),
        extensions,
        ..Request::default()
    };
    // The first execution has parsed the document.
    engine.execute(&request);
    let start = thread_cpu();
    let response = engine.execute(&request);
    let cpu = thread_cpu().saturating_sub(start);
    let body: Value = serde_json::from_slice(&response.body).expect("a response is JSON");
    let drawn = body["extensions"]["cost"]["actualQueryCost"].as_f64();
    let is_stopped = body["errors"][0]["extensions"]["code"] == "COST_ACTUAL_TOO_EXPENSIVE";
    #[expect(clippy::cast_precision_loss, reason = "a limit is small")]
    let units = drawn.or(is_stopped.then_some(engine.limits().work as f64))?;
    Some(Execution {
        document: document.to_owned(),
        cpu,
        units,
    })
}

#[test]
fn no_document_costs_ten_times_the_time_that_its_work_is_worth() {
    let searched =
        std::env::var("CATALOGQL_BAD_QUERIES").unwrap_or_else(|_| format!("14:{DOCUMENTS}"));
    let (seed, count) = searched.split_once(':').expect("SEED:COUNT");
    let (seed, count): (u64, usize) = (
        seed.parse().expect("a seed"),
        count.parse().expect("a count"),
    );
    let schema = Schema::parse_and_validate(SDL, "schema.graphql").expect("the schema is valid");
    let mut generator = Generator {
        schema: &schema,
        random: SeededRandom::new(seed),
        fields_left: 0,
    };
    let engine = engine();
    let mut executions: Vec<_> = (0..count)
        .filter_map(|_| execute(&engine, &generator.document()))
        .collect();
    assert!(
        executions.len() > count / 4,
        "only {} of {count} documents were executed",
        executions.len()
    );
    executions.sort_by(|a, b| a.price().total_cmp(&b.price()));
    let long: Vec<_> = executions
        .iter()
        .filter(|execution| execution.cpu > COMPARED)
        .collect();
    assert!(
        long.len() > count / 200,
        "only {} of {count} documents took long enough to compare",
        long.len()
    );
    let reference = long[long.len() / 2].price();
    println!(
        "{} executed, {} of them long; a unit takes {reference:.0} ns",
        executions.len(),
        long.len()
    );
    for Execution {
        document,
        cpu,
        units,
    } in long.iter().rev().take(5)
    {
        println!("{cpu:?} for {units} units: {document:.400}");
    }
    let is_bad = |execution: &Execution| execution.price() > TOLERANCE * reference;
    // Once may be the machine; three times is the document.
    let is_again = |bad: &Execution| {
        (0..2).all(|_| execute(&engine, &bad.document).is_some_and(|again| is_bad(&again)))
    };
    let bad: Vec<_> = long
        .iter()
        .filter(|execution| is_bad(execution) && is_again(execution))
        .collect();
    let shown: Vec<_> = bad
        .iter()
        .map(|bad| format!("{:?}, {} units: {}", bad.cpu, bad.units, bad.document))
        .collect();
    assert!(
        bad.is_empty(),
        "a unit takes {reference:.0} ns, and these more than ten times that:\n{}",
        shown.join("\n")
    );
}

/// Queries that once took seconds, some without an end.
const CASES: [&str; 8] = [
    // Many names, each looked up for each package.
    "query($names: [String!]) { packages(first: 400) { nodes { bundles(first: 0, filter: {names: $names}) { totalCount } } } }",
    r#"{ packages(first: 100) { nodes { catalog { packages(first: 100) { nodes { catalog { bundles(first: 0, orderBy: {field: VERSION}, filter: {versionRange: ">=0.0.0-0"}) { totalCount } } } } } } } }"#,
    r#"{ packages(first: 100) { nodes { catalog { packages(first: 0, filter: {search: "wrod1 wodr12 word13 wrod14"}) { totalCount } } } } }"#,
    r#"{ metas(first: 100) { nodes { catalog { metas(first: 0, filter: {schema: "olm.bundle"}) { totalCount } } } } }"#,
    "{ packages(first: 100) { nodes { catalog { packages(first: 0) { facets { keywords(first: 1) { count } providers(first: 1) { count } } } } } } }",
    r#"{ package(catalog: "edges", name: "p0") { updateGraph { replaces { reasons } skipRanges { fromCount } } } }"#,
    r#"{ package(catalog: "edges", name: "p0") { bundles(first: 100) { nodes { successors { toName } upgradePath { toName } } } } }"#,
    r#"query($names: [String!]) { packages(first: 400) { nodes { successors(of: {name: "x", version: "1.0.0"}, channels: $names) { toName } } } }"#,
];

#[test]
fn what_once_took_seconds_is_worked_out_once_or_ends_at_the_limit() {
    let engine = engine();
    let names: Vec<_> = (0..1_000).map(|at| format!("c{at}")).collect();
    let variables = json!({ "names": names }).as_object().cloned();
    for query in CASES {
        let variables = variables.clone().filter(|_| query.contains("$names"));
        let request = Request {
            query: Some(query.into()),
            variables,
            ..Request::default()
        };
        let start = thread_cpu();
        let response = engine.execute(&request);
        let cpu = thread_cpu().saturating_sub(start);
        let body: Value = serde_json::from_slice(&response.body).expect("a response is JSON");
        let code = body["errors"][0]["extensions"]["code"]
            .as_str()
            .unwrap_or("complete");
        println!("{cpu:?}, {code}: {query:.120}");
        assert!(
            ["complete", "COST_ACTUAL_TOO_EXPENSIVE"].contains(&code),
            "{code}: {query}"
        );
        assert!(cpu < Duration::from_secs(1), "{cpu:?}: {query}");
    }
}
