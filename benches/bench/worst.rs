//! The worst queries that are admitted: each family at the largest sizes that its cost allows.

use std::sync::Arc;
use std::time::Duration;

use graphql::limits::Limits;
use graphql::{Engine, Request};
use serde_json::{Map, Value};
use serving::Served;

use crate::execute::engine;
use crate::measure::{least, once, report, within};

/// CPU time that no request may take.
const BAR: Duration = Duration::from_millis(250);

/// Numbers of fields of the root that are tried, each with the largest pages that are admitted
/// then.
const ROOTS: [usize; 6] = [20, 10, 5, 3, 2, 1];

/// A selection of every field of metadata.
const METADATA: &str = "metadata { displayName description provider { name url } maintainers { name email } \
    links { name url } keywords categories capabilityLevel maturity minKubeVersion installModes \
    infrastructureFeatures certified createdAt containerImage repository support \
    ownedCrds { name version kind displayName description } requiredCrds { name } nativeApis { kind } examples \
    labels { key value } annotations { key value } }";

const FACETS: &str = "facets { catalogs { count } categories(first: 1000) { count } providers(first: 1000) { count } \
    keywords(first: 1000) { count } capabilityLevels { count } installModes { count } \
    infrastructureFeatures(first: 100) { count } }";

const EVERY_TYPE: &str = "fields(includeDeprecated: true) { name description args { name description \
    type { name kind ofType { name kind ofType { name ofType { name } } } } } type { name kind ofType { name } } } \
    inputFields { name type { name } } enumValues { name description } interfaces { name } possibleTypes { name }";

/// Families of fields of the root; `SIZE` stands for the size of a page, and `PACKAGE` and
/// `LARGEST` for the largest package. The variables are as long as a body allows.
const FAMILIES: &[(&str, &str)] = &[
    (
        "one text of the metadata of bundles",
        "bundles(first: SIZE) { nodes { metadata { displayName } } }",
    ),
    (
        "the metadata of bundles",
        "bundles(first: SIZE) { nodes { METADATA } }",
    ),
    (
        "the metadata of packages",
        "packages(first: SIZE) { nodes { METADATA } }",
    ),
    (
        "the metadata of every entry",
        "package(PACKAGE) { channels { entries { bundle { metadata { displayName } } } } }",
    ),
    (
        "decoded manifests",
        "bundles(first: SIZE) { nodes { properties { ... on BundleObjectProperty { object } } } }",
    ),
    (
        "parts of decoded manifests",
        "bundles(first: SIZE) { nodes { properties { ... on BundleObjectProperty { object(pointer: \"/x\") } } } }",
    ),
    (
        "values of properties",
        "bundles(first: SIZE) { nodes { properties { type value } } }",
    ),
    (
        "parts of values of properties",
        "bundles(first: SIZE) { nodes { properties { value(pointer: \"/x\") } } }",
    ),
    ("blobs", "metas(first: SIZE) { nodes { blob } }"),
    (
        "parts of blobs",
        "metas(first: SIZE) { nodes { blob(pointer: \"/x\") b: blob(pointer: \"/y\") } }",
    ),
    (
        "searches with facets",
        "packages(first: SIZE, filter: {search: \"operator database cluster a\"}) { FACETS }",
    ),
    (
        "searches for words with typos",
        "packages(first: SIZE, filter: {search: \"oprator databse clster kubernets manger srvice contrller applcation\"}) \
         { totalCount nodes { name } }",
    ),
    (
        "filters on packages",
        "packages(first: SIZE, orderBy: {field: CREATED_AT}, filter: {categories: [\"Database\", \"Monitoring\"], \
         keywords: [\"a\"], provides: {group: \"x\", kind: \"Y\"}, deprecated: false}) { FACETS nodes { name } }",
    ),
    (
        "filters on bundles",
        "bundles(first: SIZE, orderBy: {field: VERSION}, filter: {versionRange: \">=0.0.1 <99.0.0 || >=1.2.3\", \
         propertyTypes: [\"olm.gvk\"], channels: [\"stable\", \"alpha\", \"beta\"], deprecated: false}) \
         { totalCount nodes { name } }",
    ),
    (
        "ordered bundles",
        "bundles(first: SIZE, orderBy: {field: NAME}) { totalCount nodes { name version } }",
    ),
    (
        "what bundles need",
        "bundles(first: SIZE) { nodes { providedApis { kind } requiredApis { kind } requiredPackages { packageName } \
         relatedImages { image } channelEntries { name } } }",
    ),
    (
        "properties with their meaning",
        "bundles(first: SIZE) { nodes { properties { type \
         ... on GvkProperty { gvk { kind } } ... on ConstraintProperty { constraint { cel all { cel } } } \
         ... on CsvMetadataProperty { metadata { displayName annotations { key } } } } } }",
    ),
    (
        "every entry of every package",
        "packages(first: SIZE) { nodes { channels { entries { name skips bundle { version } } } } }",
    ),
    (
        "every entry of the largest package",
        "package(PACKAGE) { channels { entries { bundle { channelEntries { name channel { name } } } } } }",
    ),
    (
        "icons",
        "packages(first: SIZE) { nodes { icon { data url } } }",
    ),
    (
        "upgrade paths",
        "bundles(first: SIZE) { nodes { upgradePath { toName } } }",
    ),
    (
        "upgrade paths in the largest package",
        "package(PACKAGE) { bundles(first: SIZE) { nodes { upgradePath { toName } } } }",
    ),
    (
        "successors",
        "bundles(first: SIZE) { nodes { successors { toName } } }",
    ),
    (
        "successors in the largest package",
        "package(PACKAGE) { bundles(first: SIZE) { nodes { successors { toName } } } }",
    ),
    (
        "successors of an old bundle",
        "packages(first: SIZE) { nodes { successors(of: {name: \"x.v0.0.1\", version: \"0.0.1\"}) { toName } } }",
    ),
    (
        "update graphs",
        "packages(first: SIZE) { nodes { updateGraph { nodes { name } replaces { from { name } to { name } } skips { from { name } to { name } } skipRanges { range to { name } spans { count } } } } }",
    ),
    (
        "update graphs without edges",
        "packages(first: SIZE) { nodes { updateGraph { __typename } } }",
    ),
    (
        "the largest update graph",
        "package(PACKAGE) { updateGraph { nodes { name } replaces { from { name } to { name } } skips { from { name } to { name } } skipRanges { range to { name } spans { count } } } }",
    ),
    (
        "resolutions",
        "resolve(request: {packageName: LARGEST, version: \">=0.0.0\"}) { ... on Resolution { considered { rejection \
         bundle { name } } } ... on ResolutionFailure { message considered { rejection bundle { name } } } }",
    ),
    (
        "resolutions that say little",
        "resolve(request: {packageName: LARGEST, version: \">=0.0.0\"}) { __typename }",
    ),
    (
        "problems",
        "catalogs { problems(first: SIZE) { nodes { message file line } } }",
    ),
    ("the schema", "__schema { types { EVERY_TYPE } }"),
    ("a type", "__type(name: \"Bundle\") { EVERY_TYPE }"),
    (
        "parts at long pointers",
        "bundles(first: SIZE) { nodes { properties { value(pointer: $pointer) } } }",
    ),
    (
        "properties of many types",
        "bundles(first: SIZE) { nodes { properties(types: $list) { type } } }",
    ),
    (
        "filters by long lists",
        "bundles(first: SIZE, catalogs: $list, packages: $list, filter: {names: $list, channels: $list, \
         propertyTypes: $list}) { totalCount }",
    ),
    (
        "packages by long lists",
        "packages(first: SIZE, filter: {names: $list, categories: $list, providers: $list, keywords: $list, \
         infrastructureFeatures: $list}) { FACETS }",
    ),
    (
        "long searches",
        "packages(first: SIZE, filter: {search: $text}) { FACETS }",
    ),
    (
        "successors by many channels",
        "bundles(first: SIZE) { nodes { successors(channels: $list) { toName } } }",
    ),
    (
        "upgrade paths by many channels",
        "bundles(first: SIZE) { nodes { upgradePath(channels: $list) { toName } } }",
    ),
    (
        "successors of a long version",
        "packages(first: SIZE) { nodes { successors(of: {name: \"x\", version: $version}) { toName } } }",
    ),
    (
        "resolutions by many channels",
        "resolve(request: {packageName: LARGEST, channels: $list, installed: {name: \"x\", version: $version}}) \
         { __typename }",
    ),
    (
        "nodes",
        "nodes(ids: $ids) { id ... on Bundle { METADATA } }",
    ),
    (
        "ids of bundles",
        "bundles(first: SIZE) { nodes { id package { id catalog { id } } } edges { cursor } }",
    ),
];

/// Measures every family over one catalog.
pub(crate) fn bench(served: &Arc<Served>) {
    println!("the worst admitted queries over {}", served.name);
    served.content.catalog.prepare();
    let engine = engine(served, Limits::default());
    let cold = document(
        "bundles(first: SIZE) { nodes { metadata { displayName } } }",
        20,
        500,
    );
    let (time, _) = once(|| execute(&engine, &cold));
    within(
        "the metadata of bundles that were never asked for",
        time,
        BAR,
    );
    let largest = served
        .content
        .catalog
        .packages()
        .max_by_key(|package| package.bundles().len())
        .expect("there are packages");
    for (what, fields) in FAMILIES {
        let fields = fields
            .replace("METADATA", METADATA)
            .replace("FACETS", FACETS)
            .replace("EVERY_TYPE", EVERY_TYPE);
        let package = format!("catalog: \"{}\", name: \"{}\"", served.name, largest.name());
        let fields = fields
            .replace("PACKAGE", &package)
            .replace("LARGEST", &format!("\"{}\"", largest.name()));
        let worst = ROOTS.into_iter().filter_map(|roots| {
            let size = largest_admitted(&engine, |size| document(&fields, roots, size))?;
            let query = document(&fields, roots, size);
            let mut answer = (0, "");
            // A document that was not seen before, so that reading it counts.
            let mut number = 0;
            let time = least(2, || {
                number += 1;
                answer = execute(&engine, &format!("{query} # {number}"));
            });
            Some((time, roots, size, answer))
        });
        let Some((time, roots, size, (bytes, code))) = worst.max_by_key(|(time, ..)| *time) else {
            report(what, "refused", None);
            continue;
        };
        let bar = format!("{roots} × {size}, {} kB {code}", bytes / 1000);
        report(
            what,
            &format!("{:.1} ms", time.as_secs_f64() * 1000.0),
            Some((time <= BAR, &bar)),
        );
    }
}

/// A query with so many fields at the root.
fn document(fields: &str, roots: usize, size: usize) -> String {
    let fields = fields.replace("SIZE", &size.to_string());
    let roots: Vec<_> = (0..roots).map(|at| format!("r{at}: {fields}")).collect();
    let types = [
        ("list", "[String!]"),
        ("ids", "[ID!]!"),
        ("pointer", "String"),
        ("text", "String"),
        ("version", "String!"),
    ];
    let used = types
        .iter()
        .filter(|(name, _)| fields.contains(&format!("${name}")));
    let variables: Vec<_> = used.map(|(name, ty)| format!("${name}: {ty}")).collect();
    let variables = if variables.is_empty() {
        String::new()
    } else {
        format!("({})", variables.join(" "))
    };
    format!("query {variables} {{ {} }}", roots.join(" "))
}

/// The largest pages with which a query is admitted; nothing when it is not with the smallest.
fn largest_admitted(engine: &Engine, document: impl Fn(usize) -> String) -> Option<usize> {
    let is_admitted = |size: usize| {
        let (_, code) = execute(engine, &document(size));
        !matches!(
            code,
            "COST_ESTIMATED_TOO_EXPENSIVE" | "MAX_ALIASES_LIMIT" | "MAX_TOKENS_LIMIT"
        )
    };
    let mut sizes = [
        500, 400, 300, 200, 150, 100, 70, 50, 35, 25, 15, 10, 7, 5, 3, 2, 1,
    ]
    .into_iter();
    sizes.find(|size| is_admitted(*size))
}

/// Values as long as a body allows.
fn variables() -> Map<String, Value> {
    let long = |at: usize| format!("{}{at}", "a".repeat(90));
    let list: Value = (0..1000).map(long).collect();
    let ids: Value = (0..100).map(long).collect();
    let words: Vec<_> = (0..200).map(|at| format!("oprator{at}")).collect();
    let version = format!("1.0.0-{}1", "a.".repeat(45_000));
    let pointer = "/a".repeat(45_000);
    [
        ("list", list),
        ("ids", ids),
        ("text", words.join(" ").into()),
        ("version", version.into()),
        ("pointer", pointer.into()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into_iter()
    .collect()
}

/// Codes that are told apart.
const CODES: [&str; 10] = [
    "COST_ESTIMATED_TOO_EXPENSIVE",
    "COST_ACTUAL_TOO_EXPENSIVE",
    "RESPONSE_TOO_LARGE",
    "TIMEOUT",
    "MAX_ALIASES_LIMIT",
    "MAX_TOKENS_LIMIT",
    "MAX_DEPTH_LIMIT",
    "BAD_USER_INPUT",
    "GRAPHQL_VALIDATION_FAILED",
    "GRAPHQL_PARSE_FAILED",
];

/// Executes a query, and returns the length of the response and the code of its first error.
fn execute(engine: &Engine, query: &str) -> (usize, &'static str) {
    let variables = Some(variables());
    let answer = engine.execute(&Request {
        query: Some(query.into()),
        variables,
        ..Request::default()
    });
    let has_errors = answer.body.starts_with(b"{\"errors\"");
    let text = if has_errors {
        String::from_utf8_lossy(&answer.body)
    } else {
        "".into()
    };
    let code = CODES
        .into_iter()
        .find(|code| text.contains(code))
        .unwrap_or_default();
    assert!(!has_errors || !code.is_empty(), "{text}");
    (answer.body.len(), code)
}
