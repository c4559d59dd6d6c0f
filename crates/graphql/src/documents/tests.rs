//! Documents by their digests and by the ids of their clients.

use ::metrics::Label as _;
use serde_json::json;

use super::*;

const TILES: &str = "query Tiles { packages { nodes { name } } }";
const NAMES: &str = "query Names { catalogs { name } }";

/// Documents over which the caller has made some trusted, and the schema that they are of.
struct Library {
    schema: Schema,
    documents: Documents,
}

impl Library {
    fn new(trusted: &serde_json::Value, policy: DocumentPolicy) -> Self {
        let schema = Schema::load();
        let limits = Limits::default();
        let mut documents = Documents::new(&limits);
        documents
            .trust(&trusted.to_string(), &schema, &limits)
            .expect("the documents are valid");
        documents.set_policy(policy);
        Self { schema, documents }
    }

    /// The text of the document of a request, or the code of the error.
    fn find(&self, request: &serde_json::Value) -> Result<String, &'static str> {
        let text = request.to_string();
        let request: Request<'_> = serde_json::from_str(&text).unwrap();
        let known = self
            .documents
            .resolve(&request, &self.schema, &Limits::default(), None);
        known
            .map(|known| known.document.text().to_owned())
            .map_err(|error| error.code.as_str())
    }
}

fn persisted(hash: &str) -> serde_json::Value {
    json!({"extensions": {"persistedQuery": {"version": 1, "sha256Hash": hash}}})
}

#[test]
fn a_trusted_document_is_found_by_the_id_that_its_clients_have() {
    let sha256 = digest(NAMES).hex();
    // As relay-compiler names documents, as codegen does, and by a name of somebody's own.
    let md5 = "5d41402abc4b2a76b9719d911017c592";
    let sha1 = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d";
    let trusted = json!({ md5: TILES, sha1: TILES, "tiles/1": TILES, &sha256: NAMES });
    for policy in [DocumentPolicy::Any, DocumentPolicy::TrustedOnly] {
        let library = Library::new(&trusted, policy);
        for id in [md5, sha1, "tiles/1", &digest(TILES).to_string()] {
            assert_eq!(
                library.find(&json!({ "documentId": id })),
                Ok(TILES.to_owned()),
                "{id}"
            );
        }
        for request in [
            json!({ "documentId": sha256 }),
            json!({ "documentId": format!("sha256:{sha256}") }),
            persisted(&sha256),
            json!({ "query": NAMES }),
            json!({ "query": NAMES, "documentId": sha256 }),
        ] {
            assert_eq!(library.find(&request), Ok(NAMES.to_owned()), "{request}");
        }
        assert_eq!(library.find(&persisted(sha1)), Ok(TILES.to_owned()));
        let mismatch = Err("PERSISTED_QUERY_HASH_MISMATCH");
        assert_eq!(
            library.find(&json!({ "query": NAMES, "documentId": md5 })),
            mismatch
        );
    }
}

#[test]
fn where_only_trusted_documents_are_executed_every_other_is_refused_in_one_way() {
    let library = Library::new(&json!({ "1": TILES }), DocumentPolicy::TrustedOnly);
    for request in [
        json!({ "query": NAMES }),
        json!({ "query": "{ __schema { types { name } } }" }),
        json!({ "query": "{ __typename }" }),
        json!({ "query": "{ nothing }" }),
        json!({ "query": "{" }),
        json!({ "documentId": "2" }),
        json!({ "documentId": digest(NAMES).to_string() }),
        persisted(&digest(NAMES).hex()),
        persisted("2"),
        json!({ "query": NAMES, "extensions": {"persistedQuery": 1} }),
    ] {
        assert_eq!(
            library.find(&request),
            Err("QUERY_NOT_IN_SAFELIST"),
            "{request}"
        );
    }
}

#[test]
fn where_every_document_is_executed_an_unknown_one_is_asked_for() {
    let library = Library::new(&json!({ "1": TILES }), DocumentPolicy::Any);
    assert_eq!(
        library.find(&json!({ "documentId": digest(NAMES).to_string() })),
        Err("PERSISTED_QUERY_NOT_FOUND")
    );
    assert_eq!(
        library.find(&json!({ "documentId": "2" })),
        Err("BAD_USER_INPUT")
    );
    assert_eq!(
        library.find(&json!({ "query": NAMES })),
        Ok(NAMES.to_owned())
    );
    assert_eq!(
        library.find(&json!({ "documentId": digest(NAMES).to_string() })),
        Ok(NAMES.to_owned())
    );
}

#[test]
fn what_cannot_be_trusted_is_told_with_its_id_and_place() {
    let schema = Schema::load();
    let limits = Limits::default();
    let refusal = |json: &str| {
        let mut documents = Documents::new(&limits);
        documents
            .trust(r#"{"1": "{ __typename }"}"#, &schema, &limits)
            .unwrap();
        documents
            .trust(json, &schema, &limits)
            .expect_err("it is refused")
            .to_string()
    };
    let form = "expected a JSON object of documents by their ids";
    for json in ["", "[]", r#"{"1": {}}"#] {
        assert_eq!(refusal(json), form, "{json}");
    }
    assert_eq!(
        refusal("{\"a\": \"{\\n nothing }\"}"),
        "the document \"a\" is refused at 2:2: type `Query` does not have a field `nothing`"
    );
    assert_eq!(
        refusal(r#"{"1": "{ catalogs { name } }"}"#),
        "two documents have the id \"1\": change one of them"
    );
    let mut documents = Documents::new(&limits);
    assert_eq!(
        documents
            .trust(
                r#"{"1": "{ __typename }", "2": "{ __typename }"}"#,
                &schema,
                &limits
            )
            .unwrap(),
        1
    );
}

#[test]
fn documents_that_were_sent_are_bounded_by_their_texts() {
    let schema = Schema::load();
    let text = "{ __typename }";
    for (document_bytes, kept) in [
        (size(text), Ok(())),
        (size(text) - 1, Err(Code::PersistedQueryNotFound)),
    ] {
        let limits = Limits {
            document_bytes,
            ..Limits::default()
        };
        let documents = Documents::new(&limits);
        let sent = Request {
            query: Some(text.into()),
            ..Request::default()
        };
        assert!(documents.resolve(&sent, &schema, &limits, None).is_ok());
        let named = Request {
            document_id: Some(digest(text).to_string().into()),
            ..Request::default()
        };
        let found = documents
            .resolve(&named, &schema, &limits, None)
            .map(drop)
            .map_err(|error| error.code);
        assert_eq!(found, kept, "{document_bytes}");
    }
}
