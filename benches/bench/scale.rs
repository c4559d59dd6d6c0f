//! Scale: what requests over 1 to 1,000 catalogs take, by the number of catalogs.
//!
//! The catalogs are made of a seed: small ones, with their own packages and with packages that many
//! of them have in other versions, or copies of one content. Times are CPU time, the least of
//! several runs, of requests whose document is known and whose response is not cached.

use std::fmt::Write as _;
use std::time::Duration;

use fastrand::Rng;
use fbc::Catalog;
use fbc_grammar::Digest;
use fbc_read::origin::{FileOrigin, Origins};
use graphql::limits::Limits;
use graphql::{Engine, Request};
use serde_json::{Value, json};
use serving::{CatalogMetadata, Content, Served, catalogs};

use crate::measure::{least, report};

/// Numbers of catalogs that are measured.
const COUNTS: [usize; 5] = [1, 10, 100, 400, 1_000];

/// Packages of a catalog.
const PACKAGES: usize = 100;

/// Names that the packages of all catalogs are taken from.
const NAMES: usize = 4_000;

/// Seed of the catalogs; another one would make measurements incomparable.
const SEED: u64 = 20_260_101;

/// Most time of the first 50 items over all catalogs.
const MOST: Duration = Duration::from_millis(2);

const WORDS: [&str; 24] = [
    "cluster",
    "operator",
    "manages",
    "lifecycle",
    "database",
    "backup",
    "restore",
    "automatic",
    "failover",
    "every",
    "storage",
    "network",
    "message",
    "broker",
    "certificate",
    "monitoring",
    "logging",
    "gateway",
    "registry",
    "secret",
    "policy",
    "cache",
    "search",
    "stream",
];

const CATEGORIES: [&str; 8] = [
    "Database",
    "Storage",
    "Networking",
    "Monitoring",
    "Security",
    "Streaming & Messaging",
    "Developer Tools",
    "AI/Machine Learning",
];

/// A request that is measured.
struct Measured {
    what: &'static str,
    query: String,
    /// [`MOST`] applies to it.
    is_limited: bool,
}

/// Measures requests over many catalogs of different contents, and over copies of one.
pub(crate) fn bench() {
    let contents: Vec<Content> = (0..*COUNTS.last().expect("counts")).map(content).collect();
    measure("catalogs of different contents", &contents);
    let copies: Vec<Content> = contents.iter().map(|_| contents[0].clone()).collect();
    measure("catalogs of one content", &copies);
}

fn measure(what: &str, contents: &[Content]) {
    println!("scale: {what}, {PACKAGES} packages each");
    let engines: Vec<Engine> = COUNTS
        .iter()
        .map(|&count| engine(&contents[..count]))
        .collect();
    let header = COUNTS.map(|count| format!("{count:>10}")).concat();
    println!(
        "  {:<44}{header}  exponent  units",
        "CPU time in µs by number of catalogs"
    );
    let requests = requests(&engines[0]);
    for Measured {
        what,
        query,
        is_limited,
    } in requests
    {
        let times: Vec<_> = engines
            .iter()
            .map(|engine| least(9, || answer(engine, &query)))
            .collect();
        let units = units(engines.last().expect("counts"), &query);
        let columns: Vec<String> = times
            .iter()
            .map(|time| format!("{:>10.1}", time.as_secs_f64() * 1e6))
            .collect();
        let columns = columns.concat();
        println!("  {what:<44}{columns}{:>10.2}{units:>7}", exponent(&times));
        let most = times.last().expect("counts");
        if is_limited && *most > MOST {
            report(
                what,
                &format!("{most:.2?}"),
                Some((false, &format!("at most {MOST:?}"))),
            );
        }
        if units > Limits::default().work {
            report(
                what,
                &format!("{units} units"),
                Some((false, "within the default budget")),
            );
        }
    }
}

/// Requests over all catalogs, and the look-up of one package.
fn requests(one: &Engine) -> Vec<Measured> {
    let mut all = Vec::new();
    let mut add = |what, is_limited, query: String| {
        all.push(Measured {
            what,
            query,
            is_limited,
        });
    };
    add(
        "look-up of a package",
        true,
        r#"{ package(catalog: "c-0000", name: "p-0000") { name } }"#.to_owned(),
    );
    for (what, arguments) in [
        ("packages by name", ""),
        (
            "packages by name, descending",
            ", orderBy: {field: NAME, direction: DESC}",
        ),
        (
            "packages by display name",
            ", orderBy: {field: DISPLAY_NAME}",
        ),
        (
            "packages by date, latest first",
            ", orderBy: {field: CREATED_AT, direction: DESC}",
        ),
        (
            "packages by capability level",
            ", orderBy: {field: CAPABILITY_LEVEL}",
        ),
    ] {
        add(
            what,
            true,
            format!("{{ packages(first: 50{arguments}) {{ nodes {{ name }} }} }}"),
        );
    }
    for (what, arguments) in [
        ("bundles by package", ""),
        (
            "bundles by version, highest first",
            ", orderBy: {field: VERSION, direction: DESC}",
        ),
        ("bundles by name", ", orderBy: {field: NAME}"),
        (
            "bundles by date, latest first",
            ", orderBy: {field: CREATED_AT, direction: DESC}",
        ),
    ] {
        add(
            what,
            true,
            format!("{{ bundles(first: 50{arguments}) {{ nodes {{ name }} }} }}"),
        );
    }
    add(
        "blobs",
        true,
        "{ metas(first: 50) { nodes { name } } }".to_owned(),
    );
    for (what, connection, arguments) in [
        ("a page in the middle: packages by name", "packages", ""),
        (
            "  packages by date",
            "packages",
            ", orderBy: {field: CREATED_AT}",
        ),
        (
            "  bundles by version",
            "bundles",
            ", orderBy: {field: VERSION}",
        ),
        (
            "  bundles by date",
            "bundles",
            ", orderBy: {field: CREATED_AT}",
        ),
    ] {
        let query = format!(
            r#"{{ catalog(name: "c-0000") {{ {connection}(first: {}{arguments}) {{ pageInfo {{ endCursor }} }} }} }}"#,
            PACKAGES / 2
        );
        let found = answer(one, &query);
        let found: Value = serde_json::from_slice(&found).expect("a response is JSON");
        let cursor = &found["data"]["catalog"][connection]["pageInfo"]["endCursor"];
        add(
            what,
            true,
            format!(
                "{{ {connection}(first: 50, after: {cursor}{arguments}) {{ nodes {{ name }} }} }}"
            ),
        );
    }
    for (what, words) in [
        ("search: a word of most packages", "database"),
        ("  the name of a package", "alpha-0123"),
        ("  a word with a typo", "databse"),
        ("  a beginning", "da"),
        ("  two words", "backup certificate"),
        ("  no match", "zzzzzz"),
    ] {
        add(
            what,
            true,
            format!(
                r#"{{ packages(first: 50, filter: {{search: "{words}"}}) {{ totalCount nodes {{ name }} }} }}"#
            ),
        );
    }
    add(
        "suggestions",
        false,
        r#"{ suggest(text: "data", kinds: [PACKAGE, KEYWORD]) { text } }"#.to_owned(),
    );
    add("totals", true, "{ packages(first: 1) { totalCount } bundles(first: 1) { totalCount } metas(first: 1) { totalCount } }".to_owned());
    for (what, arguments, facets) in [
        ("facets: categories", "", "categories { value count }"),
        (
            "  providers, levels, catalogs",
            "",
            "providers { value count } capabilityLevels { value count } catalogs { value count }",
        ),
        ("  keywords", "", "keywords { value count }"),
        ("  OLM v1", "", "olmV1 { value count }"),
        (
            "  categories of a category",
            r#", filter: {categories: ["Database"]}"#,
            "categories { value count }",
        ),
    ] {
        add(
            what,
            false,
            format!("{{ packages(first: 1{arguments}) {{ facets {{ {facets} }} }} }}"),
        );
    }
    add("filter: packages of a category", false, r#"{ packages(first: 50, filter: {categories: ["Database"]}) { totalCount nodes { name } } }"#.to_owned());
    add("  bundles that provide an API", false, r#"{ bundles(first: 50, filter: {provides: {group: "p0.example.com", kind: "Kind0"}}) { totalCount nodes { name } } }"#.to_owned());
    add(
        "  bundles of a package",
        false,
        r#"{ bundles(first: 50, packages: ["p-0000"]) { totalCount nodes { name } } }"#.to_owned(),
    );
    all
}

/// Returns the slope of the logarithm of the time over that of the number of catalogs, from 10 on.
fn exponent(times: &[Duration]) -> f64 {
    let points: Vec<[f64; 2]> = COUNTS
        .iter()
        .zip(times)
        .skip(1)
        .map(|(&count, time)| {
            [
                f64::from(u32::try_from(count).expect("a small number")).ln(),
                time.as_secs_f64().ln(),
            ]
        })
        .collect();
    let mean = |at: usize| points.iter().map(|point| point[at]).sum::<f64>() / 4.0;
    let [x, y] = [mean(0), mean(1)];
    let covariance: f64 = points
        .iter()
        .map(|point| (point[0] - x) * (point[1] - y))
        .sum();
    let variance: f64 = points.iter().map(|point| (point[0] - x).powi(2)).sum();
    covariance / variance
}

/// Returns the work that a request takes, in units.
fn units(engine: &Engine, query: &str) -> u64 {
    let extensions = json!({"cost": true});
    let request = Request {
        query: Some(query.into()),
        extensions: extensions.as_object().cloned(),
        ..Request::default()
    };
    let body: Value =
        serde_json::from_slice(&engine.execute(&request).body).expect("a response is JSON");
    body["extensions"]["cost"]["actualQueryCost"]
        .as_u64()
        .expect("the cost was asked for")
}

/// Limits that refuse no request of this bench.
fn roomy() -> Limits {
    Limits {
        work: 100_000_000,
        time: Duration::from_mins(10),
        ..Limits::default()
    }
}

fn answer(engine: &Engine, query: &str) -> Vec<u8> {
    let body = respond(engine, query);
    assert!(
        !body.starts_with(b"{\"errors\""),
        "{query}: {}",
        String::from_utf8_lossy(&body)
    );
    body
}

fn respond(engine: &Engine, query: &str) -> Vec<u8> {
    let request = Request {
        query: Some(query.into()),
        ..Request::default()
    };
    engine.execute(&request).body
}

/// An engine over catalogs of these contents.
fn engine(contents: &[Content]) -> Engine {
    let (mut writer, catalogs) = catalogs();
    for (at, content) in contents.iter().enumerate() {
        writer.publish(Served::new(
            format!("c-{at:04}"),
            content.clone(),
            CatalogMetadata::default(),
        ));
    }
    let engine = Engine::new(catalogs, "test", roomy());
    engine.merge_search_indexes();
    engine
}

/// A prepared content that is made of a number.
fn content(number: usize) -> Content {
    let mut random =
        Rng::with_seed(SEED + u64::try_from(number).expect("a small number") * 0x9E37_79B9);
    let mut lines = String::new();
    let mut count = 0;
    let mut names = vec![0];
    names.extend((1..PACKAGES).map(|_| 1 + random.usize(..NAMES - 1)));
    names.sort_unstable();
    names.dedup();
    for name in names {
        count += package(&mut lines, name, &mut random);
    }
    let file = FileOrigin {
        path: "catalog.json".into(),
        lines: (1..).take(count).collect(),
        ..FileOrigin::default()
    };
    let origins = Origins {
        files: vec![file],
        ..Origins::default()
    };
    let digest = Digest::new(std::array::from_fn(|at| number.to_le_bytes()[at % 8]));
    let catalog = Catalog::build(lines.into(), &origins).expect("the lines are canonical");
    catalog.prepare();
    Content::new(catalog, digest)
}

/// Writes the lines of a package with one to five bundles and returns their number.
fn package(lines: &mut String, number: usize, random: &mut Rng) -> usize {
    let name = format!("p-{number:04}");
    // Packages of one name have one shape in all catalogs; versions and dates differ.
    let mut shape =
        Rng::with_seed(SEED ^ ((u64::try_from(number).expect("a small number") + 1) * 0x9E37_79B9));
    let word = |random: &mut Rng| WORDS[random.usize(..WORDS.len())];
    let description: Vec<&str> = (0..40).map(|_| word(&mut shape)).collect();
    let description = description.join(" ");
    let category = CATEGORIES[shape.usize(..CATEGORIES.len())];
    let keywords = [word(&mut shape), word(&mut shape)];
    let provider = shape.usize(..50);
    let level = [
        "Basic Install",
        "Seamless Upgrades",
        "Full Lifecycle",
        "Deep Insights",
        "Auto Pilot",
    ][shape.usize(..5)];
    let [one, other] = keywords;
    let minor = random.usize(..20);
    let versions: Vec<String> = (0..=random.usize(..5))
        .map(|patch| format!("{}.{minor}.{patch}", number % 4))
        .collect();
    writeln!(lines, r#"{{"defaultChannel":"stable","description":"{description}","name":"{name}","schema":"olm.package"}}"#).expect("a string takes all");
    let entries: Vec<_> = versions
        .iter()
        .enumerate()
        .map(|(at, version)| match at {
            0 => format!(r#"{{"name":"{name}.v{version}"}}"#),
            at => format!(
                r#"{{"name":"{name}.v{version}","replaces":"{name}.v{}"}}"#,
                versions[at - 1]
            ),
        })
        .collect();
    writeln!(
        lines,
        r#"{{"entries":[{}],"name":"stable","package":"{name}","schema":"olm.channel"}}"#,
        entries.join(",")
    )
    .expect("a string takes all");
    for version in &versions {
        let created = format!(
            "20{:02}-{:02}-{:02}T00:00:{:02}Z",
            20 + random.usize(..7),
            1 + random.usize(..12),
            1 + random.usize(..28),
            random.usize(..60)
        );
        let metadata = format!(
            concat!(
                r#"{{"annotations":{{"capabilities":"{level}","categories":"{category}","createdAt":"{created}"}},"#,
                r#""description":"{description}","displayName":"Alpha-{number:04} {one}","installModes":[{{"supported":true,"type":"AllNamespaces"}}],"#,
                r#""keywords":["{one}","{other}","k{keyword}"],"provider":{{"name":"Provider {provider}"}}}}"#
            ),
            level = level,
            category = category,
            created = created,
            description = description,
            number = number,
            one = one,
            other = other,
            keyword = number % 500,
            provider = provider,
        );
        writeln!(
            lines,
            concat!(
                r#"{{"image":"quay.io/example/{name}:v{version}","name":"{name}.v{version}","package":"{name}","properties":["#,
                r#"{{"type":"olm.package","value":{{"packageName":"{name}","version":"{version}"}}}},"#,
                r#"{{"type":"olm.gvk","value":{{"group":"p{number}.example.com","kind":"Kind0","version":"v1"}}}},"#,
                r#"{{"type":"olm.csv.metadata","value":{metadata}}}],"schema":"olm.bundle"}}"#
            ),
            name = name, version = version, number = number, metadata = metadata,
        )
        .expect("a string takes all");
    }
    2 + versions.len()
}
