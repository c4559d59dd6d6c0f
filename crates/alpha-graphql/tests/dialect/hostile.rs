//! Requests that are made to cost much: each is refused or bounded.

use std::time::{Duration, Instant};

use graphql::limits::Limits;
use serde_json::{Value, json};

use crate::server::Server;

/// Time for a request that is refused or bounded, on a busy machine, in a build that is not
/// optimized.
const SHORT: Duration = Duration::from_secs(10);

const DEPTH: &str = "MAX_DEPTH_LIMIT";
const TOKENS: &str = "MAX_TOKENS_LIMIT";
const SIZE: &str = "RESPONSE_TOO_LARGE";
const WORK: &str = "COST_ACTUAL_TOO_EXPENSIVE";

/// A catalog with 100 blobs of 20 kB, 400 objects in a list of each.
fn server(limits: Limits) -> Server {
    let mut server = Server::with(limits);
    let list: Vec<_> = (0..400)
        .map(|number| json!({ "type": "t", "value": { "<number>": [number] } }))
        .collect();
    let blob = |number: usize| json!({ "schema": "olm.bundle", "name": format!("b{number}"), "properties": list });
    let blobs: String = (0..100)
        .map(|number| blob(number).to_string() + "\n")
        .collect();
    server.publish_text("c", &blobs);
    server
}

/// The code of the error of a query that is refused.
async fn code(server: &Server, query: &str) -> String {
    let begun = Instant::now();
    let answer = server.ask("c", query).await;
    assert!(
        begun.elapsed() < SHORT,
        "{query:.200} takes {:?}",
        begun.elapsed()
    );
    assert_eq!(answer["data"], Value::Null, "{query:.200} {answer:.500}");
    answer["errors"][0]["extensions"]["code"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn repeat(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_that_are_made_to_cost_much_are_refused() {
    let server = server(Limits::default());
    let invalid = "GRAPHQL_VALIDATION_FAILED";
    for (query, expected) in [
        ("{ ...A } fragment A on Query { ...A }".to_owned(), invalid),
        ("{ ...A } fragment A on Query { ...B } fragment B on Query { ... { ...A } }".to_owned(), invalid),
        ("{ olmbundles { ...A } } fragment A on OlmBundle { properties { ...B } } fragment B on OlmBundleProperties \
          { type ...C } fragment C on OlmBundleProperties { ...B }".to_owned(), invalid),
        (repeat(30_000, |_| "{".to_owned()), TOKENS),
        (repeat(10_000, |_| "{ a ".to_owned()) + &"}".repeat(10_000), TOKENS),
        (repeat(300, |_| "{ a ".to_owned()) + &"}".repeat(300), DEPTH),
        (format!("{{ a(b: {}{}) }}", "[".repeat(20_000), "]".repeat(20_000)), TOKENS),
        (format!("{{ a(b: {}{}) }}", "[".repeat(500), "]".repeat(500)), DEPTH),
        (format!("query($a: {}Int{}) {{ a }}", "[".repeat(500), "]".repeat(500)), DEPTH),
        (format!("{{ {} }}", repeat(5_000, |at| format!("a{at}:summary{{a}} "))), TOKENS),
        (format!("{{ {} }}", repeat(51, |at| format!("a{at}:__typename "))), "MAX_ALIASES_LIMIT"),
        (format!("{{ {} }}", "__typename ".repeat(501)), "COST_ESTIMATED_TOO_EXPENSIVE"),
        (format!("{{ __typename {} }}", "@skip(if: false) ".repeat(100)), "MAX_DIRECTIVES_LIMIT"),
        (format!("{{ __schema {{ types {{ {}name{} }} }} }}", "fields { type { ".repeat(3), "} }".repeat(3)), DEPTH),
        (format!("{{ __schema {{ types {{ {}name{} }} }} }}", "ofType { ".repeat(30), "}".repeat(30)), DEPTH),
        (repeat(150, |at| format!("query A{at} {{ __typename }} ")), "OPERATION_RESOLUTION_FAILURE"),
        (format!("{{ a }} {}", repeat(60, |at| format!("fragment F{at} on Query {{ a }} "))), invalid),
        ("\"".to_owned() + &"a".repeat(90_000), "GRAPHQL_PARSE_FAILED"),
        ("#".to_owned() + &"a".repeat(90_000), "GRAPHQL_PARSE_FAILED"),
    ] {
        let found = code(&server, &query).await;
        assert_eq!(found, expected, "{query:.200}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fragments_that_multiply_cost_no_more_than_what_is_selected() {
    let server = server(Limits::default());
    // Each level doubles the fields of the one below.
    let fragments = repeat(8, |at| {
        format!(
            "fragment F{at} on Query {{ ...F{} ...F{} }} ",
            at + 1,
            at + 1
        )
    });
    let query = format!("{{ ...F0 }} {fragments} fragment F8 on Query {{ __typename }}");
    assert_eq!(
        server.ask("c", &query).await,
        json!({ "data": { "__typename": "Query" } })
    );
    // Spreads of one another in every order.
    let spreads = repeat(40, |at| format!("...F{at} "));
    let fragments = repeat(40, |at| {
        format!(
            "fragment F{at} on Query {{ {} __typename }} ",
            repeat(at, |other| format!("...F{other} "))
        )
    });
    let begun = Instant::now();
    server
        .ask("c", &format!("{{ {spreads} }} {fragments}"))
        .await;
    assert!(begun.elapsed() < SHORT);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_is_bounded_in_bytes_and_in_work() {
    let all = |aliases: usize| {
        let page = |at| format!("a{at}: olmbundles {{ name properties {{ type value }} }} ");
        format!("{{ {} }}", repeat(aliases, page))
    };
    let one = server(Limits::default())
        .ask("c", &all(1))
        .await
        .to_string()
        .len();
    let small = server(Limits {
        response_bytes: one,
        ..Limits::default()
    });
    assert_eq!(small.ask("c", &all(1)).await["errors"], Value::Null);
    assert_eq!(code(&small, &all(2)).await, SIZE);
    assert_eq!(
        code(
            &server(Limits {
                work: 1_000,
                ..Limits::default()
            }),
            &all(1)
        )
        .await,
        WORK
    );
    assert_eq!(
        code(
            &server(Limits {
                time: Duration::ZERO,
                ..Limits::default()
            }),
            &all(1)
        )
        .await,
        "TIMEOUT"
    );
    assert_eq!(code(&server(Limits::default()), &all(50)).await, WORK);
}

#[tokio::test(flavor = "multi_thread")]
async fn introspection_is_bounded_and_may_be_turned_off() {
    let query = "{ __schema { types { name } } }";
    let off = graphql::limits::IntrospectionPolicy::Disabled;
    let server = server(Limits {
        introspection: off,
        ..Limits::default()
    });
    assert_eq!(code(&server, query).await, "GRAPHQL_VALIDATION_FAILED");
    let mut server = Server::new();
    let blob = |number: usize| {
        json!({ "schema": format!("s{number}"), "a": 1, "b": 2, "c": 3 }).to_string() + "\n"
    };
    server.publish_text("c", &repeat(4_000, blob));
    let fields = repeat(40, |at| {
        format!("a{at}: fields {{ name type {{ name kind }} }} ")
    });
    assert_eq!(
        code(
            &server,
            &format!("{{ __schema {{ types {{ {fields} }} }} }}")
        )
        .await,
        "COST_ESTIMATED_TOO_EXPENSIVE"
    );
    let mut small = Server::with(Limits {
        response_bytes: 10_000,
        ..Limits::default()
    });
    small.publish_text("c", &repeat(4_000, blob));
    assert_eq!(code(&small, query).await, SIZE);
    let types = server.ask("c", query).await;
    assert!(types["data"]["__schema"]["types"].as_array().unwrap().len() > 4_000);
}
