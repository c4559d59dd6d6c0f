//! Equal tags mean equal answers, whatever is published meanwhile; and what becomes of other
//! catalogs changes no tag.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use admission::Peer;
use fastrand::Rng;
use http_content::negotiation::AcceptableCodings;
use serde_json::{Value, json};
use serving::{CatalogMetadata, Catalogs, CatalogsWriter, Served, Visibility, catalogs};

use super::*;
use crate::errors::Outcome;
use crate::tests::fixture::{ALPHA, BETA, served};
use crate::{Engine, Request};

const OPERATIONS: &str = include_str!("../../../../examples/operations.graphql");

/// Catalogs that may be served, and one that never is.
const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "never"];

/// An engine whose catalogs may be replaced.
fn replaceable() -> (CatalogsWriter, Arc<Engine>) {
    let (writer, reader) = catalogs();
    (
        writer,
        Arc::new(Engine::new(reader, "test", Limits::default())),
    )
}

fn tag(validator: &Validator) -> String {
    let mut tag = String::new();
    validator.append_to(&mut tag);
    tag
}

/// What a client asks.
struct Question {
    query: String,
    operation: Option<&'static str>,
    variables: Value,
}

impl Question {
    fn new(query: impl Into<String>, variables: Value) -> Self {
        Self {
            query: query.into(),
            operation: None,
            variables,
        }
    }

    /// The tag and whether it is to last, when there is one, and the body, when it is complete.
    fn ask(&self, engine: &Arc<Engine>) -> (Option<(String, bool)>, Option<String>) {
        let request = Request {
            query: Some(self.query.as_str().into()),
            operation_name: self.operation.map(Into::into),
            variables: self.variables.as_object().cloned(),
            ..Request::default()
        };
        let prepared = engine
            .prepare(&request, &engine.catalogs, Peer::default())
            .unwrap_or_else(|error| panic!("{}: {error:?}", self.query));
        let validator = prepared.validator().copied();
        // A URL is told what it would be told if it were read.
        let url = format!("{} {:?} {}", self.query, self.operation, self.variables);
        let recalled = engine.recall(&url, &engine.catalogs);
        assert!(recalled.is_none() || recalled == validator, "{url}");
        prepared.remember_url(&url);
        assert_eq!(engine.recall(&url, &engine.catalogs), validator, "{url}");
        let response = engine.execute(&request);
        let body = (response.outcome == Outcome::Complete)
            .then(|| String::from_utf8(response.body).unwrap());
        (
            validator.map(|validator| (tag(&validator), validator.is_immutable())),
            body,
        )
    }

    fn tag(&self, engine: &Arc<Engine>) -> String {
        self.ask(engine).0.expect("the operation is known").0
    }
}

#[test]
fn publishing_a_catalog_changes_the_tags_of_answers_about_it_and_no_others() {
    let (mut writer, engine) = replaceable();
    writer.publish(served("alpha", ALPHA, 1));
    writer.publish(served("beta", BETA, 2));
    let about = |query: &str| Question::new(query, json!({}));
    let alpha = about("{ catalog(name: \"alpha\") { priority packages { totalCount } } }");
    let missing = about("{ package(catalog: \"gamma\", name: \"etcd\") { name } }");
    let schema = about("{ __schema { description } }");
    let all = about("{ packages { totalCount } }");
    let questions = [&alpha, &missing, &schema, &all];
    let mut last = questions.map(|question| question.tag(&engine));
    let mut changed = |engine: &Arc<Engine>| {
        let now = questions.map(|question| question.tag(engine));
        let changed: Vec<_> = now
            .iter()
            .zip(&last)
            .map(|(now, last)| now != last)
            .collect();
        last = now;
        changed
    };
    writer.publish(served("beta", ALPHA, 1));
    assert_eq!(
        changed(&engine),
        [false, false, false, true],
        "another content of another catalog"
    );
    writer.publish(served("alpha", BETA, 2));
    assert_eq!(
        changed(&engine),
        [true, false, false, true],
        "another content"
    );
    writer.publish(served("alpha", BETA, 2));
    assert_eq!(changed(&engine), [false; 4], "the same again");
    let metadata = CatalogMetadata {
        priority: 1,
        ..CatalogMetadata::default()
    };
    writer.publish(Served::new(
        "alpha",
        served("alpha", BETA, 2).content,
        metadata,
    ));
    assert_eq!(
        changed(&engine),
        [true, false, false, true],
        "another priority"
    );
    writer.publish(served("gamma", BETA, 2));
    assert_eq!(
        changed(&engine),
        [false, true, false, true],
        "a catalog that was not there"
    );
    writer.withdraw("gamma");
    assert_eq!(
        changed(&engine),
        [false, true, false, true],
        "a catalog that is gone"
    );
    writer.publish(served("gama", BETA, 2));
    assert_eq!(
        changed(&engine),
        [false, true, false, true],
        "a catalog that may have been meant"
    );
}

fn remember(engine: &Engine, url: &str, validator: Validator) {
    let published = engine.catalogs.published();
    engine
        .response_keys
        .remember(&published, &published, url, validator);
}

#[test]
fn variables_that_the_operation_does_not_declare_change_no_tag() {
    let (mut writer, engine) = replaceable();
    writer.publish(served("alpha", ALPHA, 1));
    let query = "query A($first: Int) { packages(first: $first) { totalCount } } query B($n: Int) { packages(first: $n) { totalCount } }";
    let tag = |operation, variables| {
        Question {
            query: query.into(),
            operation: Some(operation),
            variables,
        }
        .tag(&engine)
    };
    let expected = tag("A", json!({"first": 1}));
    assert_eq!(
        tag("A", json!({"first": 1, "n": 2, "other": {"a": [1]}})),
        expected,
        "of another operation, and of none"
    );
    assert_ne!(tag("A", json!({"first": 2})), expected, "another value");
    assert_ne!(
        tag("A", json!({"first": null})),
        tag("A", json!({})),
        "an argument that is null is not one that is absent"
    );
    assert_ne!(tag("B", json!({"n": 1})), tag("B", json!({"n": 2})));
}

#[test]
fn what_a_server_says_of_itself_changes_the_tags_of_answers_about_it_and_no_others() {
    let tags = |commit: &str| {
        let (_, catalogs) = serving::catalogs();
        let mut engine = Engine::new(catalogs, "build", Limits::default());
        engine.set_server(crate::ServerInfo {
            commit: Some(commit.to_owned()),
            ..crate::ServerInfo::default()
        });
        let engine = Arc::new(engine);
        [
            "{ server { commit } }",
            "{ catalog(name: \"a\", digest: \"d\") { name } server { version } }",
            "{ catalogs { name } }",
        ]
        .map(|query| {
            Question::new(query, json!({}))
                .ask(&engine)
                .0
                .expect("the operation is known")
        })
    };
    let one = tags("1");
    let other = tags("2");
    let changed: Vec<_> = one
        .iter()
        .zip(&other)
        .map(|((one, _), (other, _))| one != other)
        .collect();
    assert_eq!(changed, [true, true, false]);
    assert!(one.iter().all(|(_, is_immutable)| !is_immutable));
}

#[test]
fn a_url_is_remembered_until_something_else_is_served() {
    let (mut writer, engine) = replaceable();
    let validator = Validator {
        key: ResponseKey::from_hash([1; KEY_BYTES]),
        is_immutable: false,
    };
    let recall = |url: &str| engine.recall(url, &engine.catalogs);
    let long = |bytes| "x".repeat(bytes - BYTES_PER_URL);
    let largest = long(URL_BYTES);
    let larger = long(URL_BYTES + 1);
    for url in ["query=a", &largest, &larger] {
        remember(&engine, url, validator);
    }
    // The largest takes all the room there is.
    assert_eq!(
        [recall(&largest), recall(&larger), recall("query=a")],
        [Some(validator), None, None]
    );
    writer.publish(served("alpha", ALPHA, 1));
    assert_eq!(recall(&largest), None);
    remember(&engine, "query=a", validator);
    assert_eq!(recall("query=a"), Some(validator));
    writer.withdraw("alpha");
    assert_eq!(recall("query=a"), None);
}

/// An engine over these of the catalogs, and nothing else.
fn engine_over(names: &[&str]) -> (CatalogsWriter, Arc<Engine>) {
    let (mut writer, engine) = replaceable();
    for (name, fixture, digest) in [("alpha", ALPHA, 1), ("beta", BETA, 2)] {
        if names.contains(&name) {
            writer.publish(served(name, fixture, digest));
        }
    }
    (writer, engine)
}

/// Tag and body of the answer to a query for a caller; its URL is remembered.
async fn answer(engine: &Arc<Engine>, catalogs: &Catalogs, query: &str) -> (Validator, String) {
    let request = Request {
        query: Some(query.into()),
        ..Request::default()
    };
    let prepared = engine.prepare(&request, catalogs, Peer::default()).unwrap();
    prepared.remember_url(query);
    let response = prepared
        .respond(&AcceptableCodings::default())
        .await
        .unwrap();
    (
        *prepared.validator().unwrap(),
        String::from_utf8(response.bytes.to_vec()).unwrap(),
    )
}

#[tokio::test]
async fn a_caller_gets_what_it_would_get_if_only_what_it_may_see_were_served_whoever_asks_meanwhile()
 {
    let sets = [
        &["alpha", "beta"][..],
        &["alpha"],
        &["beta"],
        &["alpha", "never"],
        &[],
    ];
    let (_writer, engine) = engine_over(&["alpha", "beta"]);
    let only = |names: &[&str]| {
        engine
            .catalogs
            .visible(Visibility::only(names.iter().map(|&name| name.to_owned())))
    };
    let mut callers: Vec<_> = sets
        .iter()
        .map(|names| (only(names), engine_over(names)))
        .collect();
    callers.push((engine.catalogs.clone(), engine_over(&["alpha", "beta"])));
    for query in [
        "{ catalogs { name packages { totalCount } } }",
        "{ packages(filter: { search: \"etcd\" }) { totalCount nodes { id } } }",
        "{ catalog(name: \"alpha\") { digest packages { nodes { name } } } }",
        "{ package(catalog: \"beta\", name: \"etcd\") { channels { name } } }",
        "{ nothing: catalog(name: \"never\") { name } }",
    ] {
        // From the second time on answers are cached.
        for _ in 0..4 {
            for (catalogs, (_, alone)) in &callers {
                let expected = answer(alone, &alone.catalogs, query).await;
                let (validator, body) = answer(&engine, catalogs, query).await;
                assert_eq!(
                    (tag(&validator), body),
                    (tag(&expected.0), expected.1),
                    "{query}"
                );
            }
            for (catalogs, (_, alone)) in &callers {
                let recalled = engine
                    .recall(query, catalogs)
                    .expect("no other caller has made it forget");
                assert_eq!(
                    tag(&recalled),
                    tag(&alone.recall(query, &alone.catalogs).unwrap()),
                    "{query}"
                );
            }
        }
    }
}

#[tokio::test]
async fn answers_of_callers_with_equal_sets_are_cached_once() {
    let (mut writer, engine) = engine_over(&["alpha", "beta"]);
    let hits = || engine.metrics().cache_hits.get();
    let query = "{ packages { totalCount } }";
    let caller = || {
        engine
            .catalogs
            .visible(Visibility::only(["alpha".to_owned()]))
    };
    for expected in [0, 0, 1, 2] {
        answer(&engine, &caller(), query).await;
        assert_eq!(hits(), expected);
    }
    answer(&engine, &engine.catalogs, query).await;
    assert_eq!(hits(), 2, "who sees more gets another answer");
    writer.publish(served("beta", ALPHA, 3));
    answer(&engine, &caller(), query).await;
    assert_eq!(hits(), 3, "what is hidden may change");
}

#[test]
fn a_tag_tells_all_of_a_request_and_not_how_it_is_written() {
    let (mut writer, engine) = replaceable();
    writer.publish(served("alpha", ALPHA, 1));
    let query = "query($a: Int, $b: Int) { packages(first: $a) { totalCount } bundles(first: $b) { totalCount } }";
    let tag = |variables| Question::new(query, variables).tag(&engine);
    assert_eq!(tag(json!({"a": 1, "b": 2})), tag(json!({"b": 2, "a": 1})));
    assert_eq!(tag(json!({})), tag(json!(null)));
    assert_ne!(tag(json!({"a": 1})), tag(json!({"b": 1})));
    assert_ne!(
        tag(json!({})),
        Question::new(format!("{query} "), json!({})).tag(&engine)
    );
    let zero = Validator {
        key: ResponseKey::from_hash([0; 16]),
        is_immutable: false,
    };
    assert_eq!(super::tests::tag(&zero), "A".repeat(22));
}

#[test]
fn only_responses_about_contents_named_by_digest_are_immutable() {
    let (mut writer, engine) = replaceable();
    writer.publish(served("alpha", ALPHA, 1));
    let digest = Digest::new([1; 32]).to_string();
    let lasts = |query: &str, variables: Value| {
        let question = Question::new(query.replace("DIGEST", &format!("\"{digest}\"")), variables);
        question.ask(&engine).0.expect("there is a tag").1
    };
    for (expected, query) in [
        (
            true,
            "{ catalog(name: \"alpha\", digest: DIGEST) { id name digest packages { nodes { name } } } }",
        ),
        (
            true,
            "{ __typename catalog(name: \"alpha\", digest: DIGEST) { schemas { count } } }",
        ),
        (false, "{ catalog(name: \"alpha\") { name } }"),
        (false, "{ catalog(name: \"alpha\", digest: null) { name } }"),
        (
            false,
            "{ catalog(name: \"never\", digest: DIGEST) { name } }",
        ),
        (
            false,
            "{ catalog(name: \"alpha\", digest: DIGEST) { name } catalogs { name } }",
        ),
        (
            false,
            "{ catalog(name: \"alpha\", digest: DIGEST) { name } __schema { description } }",
        ),
        (
            false,
            "{ catalog(name: \"alpha\", digest: DIGEST) { priority } }",
        ),
        (
            false,
            "{ catalog(name: \"alpha\", digest: DIGEST) { problems { totalCount } } }",
        ),
        // Their cursors name files.
        (
            true,
            "{ catalog(name: \"alpha\", digest: DIGEST) { metas { totalCount nodes { blob } edges { node { schema } } } } }",
        ),
        (
            false,
            "{ catalog(name: \"alpha\", digest: DIGEST) { metas { edges { cursor } } } }",
        ),
        (
            false,
            "{ catalog(name: \"alpha\", digest: DIGEST) { metas { pageInfo { hasNextPage } } } }",
        ),
        (
            false,
            "{ catalog(name: \"alpha\", digest: DIGEST) { packages { nodes { catalog { labels { key } } } } } }",
        ),
        (false, "{ __typename }"),
    ] {
        assert_eq!(lasts(query, json!({})), expected, "{query}");
    }
    let given = "query($d: String) { catalog(name: \"alpha\", digest: $d) { name } }";
    for (expected, variables) in [
        (true, json!({ "d": digest })),
        (false, json!({ "d": null })),
        (false, json!({})),
    ] {
        assert_eq!(lasts(given, variables.clone()), expected, "{variables}");
    }
}

/// One state of the published set after another, each a small step from the one before.
fn step(writer: &mut CatalogsWriter, chance: &mut Rng) {
    let name = NAMES[chance.usize(..3)];
    if chance.u8(..5) == 0 {
        return writer.withdraw(name);
    }
    let (lines, digest) = [(ALPHA, 1), (BETA, 2), (&ALPHA[..6], 3)][chance.usize(..3)];
    let labels = chance
        .bool()
        .then(|| ("tier".to_owned(), "one".to_owned()))
        .into_iter()
        .collect();
    let metadata = CatalogMetadata {
        priority: chance.i32(0..3),
        labels,
        ..CatalogMetadata::default()
    };
    writer.publish(Served::new(
        name,
        served(name, lines, digest).content,
        metadata,
    ));
}

/// Makes random operations, with what they name written out or given in variables.
struct Maker<'c> {
    chance: &'c mut Rng,
    definitions: String,
    variables: serde_json::Map<String, Value>,
}

/// Fields of the root; `NAME`, `LIST` and `DIGEST` stand for values.
const ROOTS: [&str; 20] = [
    "catalogs { name priority digest }",
    "catalog(name: NAME) { displayName priority problems { totalCount } schemas { count } }",
    "catalog(name: NAME, digest: DIGEST) { id digest packages { totalCount nodes { name } } }",
    "catalog(name: NAME, digest: DIGEST) { packages { facets { catalogs { value count } } } }",
    "catalog(name: NAME, digest: DIGEST) { packages { nodes { catalog { priority labels { key } } } } }",
    "packages(catalogs: LIST) { totalCount nodes { name catalog { name priority } } }",
    "packages(catalogs: LIST) { facets { catalogs { value count } categories { value count } } }",
    "packages(catalogs: LIST) { facets { ...F } }",
    "packages { totalCount }",
    "package(catalog: NAME, name: \"etcd\") { bundles { nodes { name } } catalog { labels { key value } } }",
    "bundles(catalogs: LIST) { totalCount nodes { name package { catalog { name } } } }",
    "bundle(catalog: NAME, package: \"etcd\", name: \"etcd.v1.1.0\") { image }",
    "bundles(filter: {images: [\"quay.io/etcd@sha256:2\"]}) { nodes { name package { catalog { name } } } }",
    "channel(catalog: NAME, package: \"etcd\", name: \"stable\") { entries { id name } }",
    "metas(catalogs: LIST) { totalCount }",
    "resolve(request: {packageName: \"etcd\", catalogs: LIST, selector: \"tier=one\"}) { ...R }",
    "resolve(request: {packageName: \"minio\"}) { ...R }",
    "node(id: \"QwZhbHBoYQ\") { ... on Catalog { name priority } }",
    "__typename",
    "__type(name: \"Query\") { name }",
];

/// Their fragments.
const FRAGMENTS: &str = "fragment F on PackageFacets { catalogs { value count } }
    fragment R on ResolveResult {
        ... on Resolution { bundle { name package { catalog { name } } } }
        ... on ResolutionFailure { code message }
    }";

impl Maker<'_> {
    fn question(mut self) -> Question {
        let mut body = String::new();
        for at in 0..self.chance.usize(1..4) {
            let root = ROOTS[self.chance.usize(..ROOTS.len())];
            let name = self.value(|chance| json!(NAMES[chance.usize(..4)]), "String!");
            let list = self.value(list, "[String!]");
            let digest = |chance: &mut Rng| json!(Digest::new([chance.u8(1..4); 32]).to_string());
            let digest = self.value(digest, "String");
            let root = root
                .replace("NAME", &name)
                .replace("LIST", &list)
                .replace("DIGEST", &digest);
            writeln!(body, "r{at}: {root}").unwrap();
        }
        let uses = |fragment: &str| body.contains(&format!("...{fragment} "));
        let (facets, result) = FRAGMENTS.split_once('\n').expect("two fragments");
        let fragments =
            [("F", facets), ("R", result)].map(|(name, text)| if uses(name) { text } else { "" });
        // Variables that are not used would be refused.
        let mut definitions = String::new();
        for definition in self
            .definitions
            .lines()
            .filter(|line| body.contains(line.split(':').next().unwrap_or("-")))
        {
            definitions.push_str(definition);
        }
        let definitions = if definitions.is_empty() {
            definitions
        } else {
            format!("({definitions})")
        };
        Question::new(
            format!("query{definitions} {{ {body} }} {}", fragments.concat()),
            Value::Object(self.variables),
        )
    }

    /// A value as it stands in the document: a literal, or a variable that may have a default.
    fn value(&mut self, make: impl Fn(&mut Rng) -> Value, ty: &str) -> String {
        let value = make(self.chance);
        let way = self.chance.u8(..4);
        if way < 2 {
            return value.to_string();
        }
        let name = format!("v{}x", self.definitions.lines().count());
        let default = if way == 3 && !ty.ends_with('!') {
            format!(" = {}", make(self.chance))
        } else {
            String::new()
        };
        writeln!(self.definitions, "${name}: {ty}{default} ").unwrap();
        // A variable with a default may be left out.
        if default.is_empty() || self.chance.bool() {
            self.variables.insert(name.clone(), value);
        }
        format!("${name}")
    }
}

/// A list of names, or what is taken for one.
fn list(chance: &mut Rng) -> Value {
    let name = |chance: &mut Rng| NAMES[chance.usize(..4)];
    match chance.u8(..6) {
        0 => json!(null),
        1 => json!([]),
        2 => json!(name(chance)),
        _ => (0..chance.usize(1..3)).map(|_| name(chance)).collect(),
    }
}

/// Each of the sample operations that can have a tag, with values for its variables.
fn samples(chance: &mut Rng) -> Vec<Question> {
    let mut samples = Vec::new();
    let queries = OPERATIONS
        .lines()
        .filter_map(|line| line.strip_prefix("query "));
    // What was served before has its part in a difference.
    for line in queries.filter(|line| !line.starts_with("Compare(")) {
        let (name, rest) = line.split_once('(').expect("every sample has variables");
        let mut variables = serde_json::Map::new();
        for definition in rest.split(')').next().unwrap_or_default().split(", ") {
            let (variable, ty) = definition.split_once(": ").expect("a variable has a type");
            let catalog = NAMES[chance.usize(..4)];
            let value = match (variable, ty.trim_end_matches('!')) {
                ("$catalog", _) => json!(catalog),
                ("$catalogs", _) => list(chance),
                ("$package" | "$name", _) => json!("etcd"),
                ("$digest", _) => json!(Digest::new([chance.u8(1..4); 32]).to_string()),
                ("$schema", _) => json!("example.com/custom"),
                ("$id", _) => json!("QwZhbHBoYQ"),
                ("$bundle", _) => json!("etcd.v1.0.0"),
                (_, "GroupVersionKindInput") => json!({"group": "etcd.io", "kind": "Etcd"}),
                (_, "ResolveRequest") => json!({"packageName": "etcd", "catalogs": list(chance)}),
                _ => continue,
            };
            variables.insert(variable[1..].to_owned(), value);
        }
        let operation = Some(name);
        samples.push(Question {
            query: OPERATIONS.to_owned(),
            operation,
            variables: Value::Object(variables),
        });
    }
    assert_eq!(samples.len(), 14);
    samples
}

#[test]
fn equal_tags_mean_equal_answers_whatever_is_published() {
    let mut chance = Rng::with_seed(4);
    let mut questions: Vec<_> = (0..3).flat_map(|_| samples(&mut chance)).collect();
    questions.extend((0..150).map(|_| {
        let definitions = String::new();
        let variables = serde_json::Map::new();
        Maker {
            chance: &mut chance,
            definitions,
            variables,
        }
        .question()
    }));
    let (mut writer, engine) = replaceable();
    let mut bodies: HashMap<String, String> = HashMap::new();
    let mut lasting: BTreeMap<usize, String> = BTreeMap::new();
    let mut same = 0;
    let mut others = 0;
    let mut last = vec![None; questions.len()];
    for _ in 0..60 {
        step(&mut writer, &mut chance);
        for (at, question) in questions.iter().enumerate() {
            let (validator, body) = question.ask(&engine);
            let ((tag, lasts), Some(body)) = (validator.expect("each operation is known"), body)
            else {
                continue;
            };
            let known = bodies.entry(tag.clone()).or_insert_with(|| body.clone());
            assert_eq!(*known, body, "{} {}", question.query, question.variables);
            if lasts {
                let known = lasting.entry(at).or_insert_with(|| body.clone());
                assert_eq!(
                    *known, body,
                    "{} {} is lasting",
                    question.query, question.variables
                );
            }
            let count = if last[at].as_ref() == Some(&tag) {
                &mut same
            } else {
                &mut others
            };
            *count += 1;
            last[at] = Some(tag);
        }
    }
    // It would mean nothing if tags never stayed, or always did.
    assert!(
        same > 1000 && others > 1000 && lasting.len() > 3,
        "{same} {others} {}",
        lasting.len()
    );
}
