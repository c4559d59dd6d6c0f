//! Requests for edits: heads, queues, preconditions, idempotency keys, limits and errors.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use admission::Peer;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{ALLOW, CONTENT_LENGTH, CONTENT_TYPE, ETAG, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use edit_directory::LockedFolder;
use fbc::Catalog;
use fbc_grammar::Digest;
use fbc_read::Origins;
use loading::Loader;
use serde_json::{Value, json};
use serving::{CatalogMetadata, CatalogsWriter, Content, Served, catalogs};
use store::{DEFAULT_QUOTA_BYTES, Store};
use testing::Folders;

use super::*;
use crate::request::{idempotency_key, is_dry_run};

/// Reason for which an edit is not served where no loader runs.
const NOT_LOADED: &str = "the catalog is not loaded";

/// The catalog `mine` in a directory. No loader runs.
struct Fixture {
    folders: Folders,
    catalogs: Arc<EditableCatalogs>,
    writer: CatalogsWriter,
}

/// The parts of a response.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Value,
}

impl Fixture {
    fn new() -> Self {
        let folders = Folders::new();
        fs::create_dir(folders.path("mine")).unwrap();
        let (writer, published) = catalogs();
        let (unused, _) = catalogs();
        let store = Store::open(&folders.path("store"), DEFAULT_QUOTA_BYTES, "build").unwrap();
        let (loader, _) = Loader::new(store, unused);
        let directory = EditableDirectory {
            name: "mine".to_owned(),
            path: folders.path("mine"),
        };
        let catalogs = EditableCatalogs::open([directory], published, loader.refresher()).unwrap();
        Self {
            folders,
            catalogs: Arc::new(catalogs),
            writer,
        }
    }

    /// Sends a request to `mine`.
    fn send(&self, request: Request) -> impl Future<Output = Answer> + use<> {
        let catalogs = Arc::clone(&self.catalogs);
        async move {
            let response = match catalogs.edit("mine", request).await {
                Ok(response) => response.into_response(),
                Err(error) => error.into_response(),
            };
            Answer::read(response).await
        }
    }

    fn post(&self, query: &str, batch: &Value) -> impl Future<Output = Answer> + use<> {
        self.send(request(query, &batch.to_string()))
    }

    /// The digest of the files now.
    async fn digest(&self) -> Digest {
        let preview = self.post("?dryRun=All", &json!([])).await;
        Digest::parse(preview.body["former"].as_str().unwrap()).unwrap()
    }
}

impl Answer {
    async fn read(response: Response) -> Self {
        let (head, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        Self {
            status: head.status,
            headers: head.headers,
            body: serde_json::from_slice(&body).unwrap(),
        }
    }

    fn detail(&self) -> &str {
        self.body["detail"].as_str().unwrap()
    }

    fn header(&self, name: impl axum::http::header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

fn request(query: &str, body: &str) -> Request {
    Request::post(format!("/catalogs/mine/edits{query}"))
        .header(CONTENT_TYPE, "application/json")
        .header(CONTENT_LENGTH, body.len())
        .body(Body::from(body.to_owned()))
        .unwrap()
}

/// A request with a header.
fn with_header(mut request: Request, name: &'static str, value: &str) -> Request {
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

/// A request that comes from another peer.
fn from_peer(mut request: Request, peer: Peer) -> Request {
    request.extensions_mut().insert(peer);
    request
}

/// A batch that adds the bundle `NAME.v1` and its package.
fn add(package: &str) -> Value {
    let properties = json!([{
        "type": "olm.package",
        "value": { "packageName": package, "version": "1.0.0" },
    }]);
    let blob = json!({
        "schema": "olm.bundle",
        "package": package,
        "name": format!("{package}.v1"),
        "image": format!("quay.io/ns/{package}:v1"),
        "properties": properties,
    });
    json!([{
        "op": "add",
        "bundles": [{ "blob": blob, "channels": ["stable"], "defaultChannel": "stable" }],
    }])
}

/// Lets tasks run until all that can be done is done.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_queued_batch_is_parsed_when_it_is_its_turn() {
    let fixture = Fixture::new();
    let queue = fixture.catalogs.queue("mine");
    let turn = queue.acquire(&Peer::default()).await;
    let queued = tokio::spawn(fixture.send(request("", "[")));
    settle().await;
    assert!(!queued.is_finished());
    drop(turn);
    let answer = queued.await.unwrap();
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    assert!(
        answer
            .detail()
            .starts_with("cannot read the batch: write a JSON array of operations"),
        "{answer:?}"
    );
}

#[tokio::test]
async fn a_peer_with_many_batches_does_not_keep_another_one_waiting_for_all_of_them() {
    let fixture = Fixture::new();
    let turn = fixture
        .catalogs
        .queue("mine")
        .acquire(&Peer::default())
        .await;
    let ended = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for peer in [Peer::default(); 5]
        .into_iter()
        .chain([Peer::new([192, 0, 2, 1].into())])
    {
        let answer = fixture.send(from_peer(request("?dryRun=All", "[]"), peer));
        let ended = Arc::clone(&ended);
        tasks.push(tokio::spawn(async move {
            assert_eq!(answer.await.status, StatusCode::OK);
            ended.lock().unwrap().push(peer);
        }));
        settle().await;
    }
    drop(turn);
    for task in tasks {
        task.await.unwrap();
    }
    let other = Peer::new([192, 0, 2, 1].into());
    let place = ended.lock().unwrap().iter().position(|peer| *peer == other);
    assert!(place.unwrap() <= 2, "{ended:?}");
}

/// A batch that adds one bundle, with manifests of four megabytes each of which only a small part
/// is posted.
fn with_aliases(manifests: usize) -> Value {
    let text = "a".repeat(32 << 10);
    let aliases = vec!["*text"; 126].join(", ");
    let notes = format!("kind: Notes\ntext: &text {text}\nagain: [{aliases}]\n");
    let csv = "kind: ClusterServiceVersion\nmetadata: {name: a.v1}\n";
    let mut files: BTreeMap<String, &str> = (0..manifests)
        .map(|number| (format!("manifests/{number}.yaml"), &*notes))
        .collect();
    files.insert("manifests/csv.yaml".to_owned(), csv);
    files.insert(
        "metadata/annotations.yaml".to_owned(),
        "annotations: {a: b}",
    );
    json!([{ "op": "add", "bundles": [{ "image": "quay.io/a/a:1", "files": files }] }])
}

#[tokio::test]
async fn bundles_are_rendered_up_to_a_number_of_bytes_whatever_was_posted() {
    let fixture = Fixture::new();
    let within = with_aliases(MAX_RENDERED_BYTES / (4 << 20));
    assert!(within.to_string().len() < 200 << 10);
    // It is rendered, and then refused because it names no channel.
    let refused = fixture.post("", &within).await;
    assert_eq!(refused.status, StatusCode::CONFLICT, "{refused:?}");
    let beyond = fixture
        .post("", &with_aliases(MAX_RENDERED_BYTES / (4 << 20) + 1))
        .await;
    assert_eq!(
        (beyond.status, beyond.detail()),
        (
            StatusCode::UNPROCESSABLE_ENTITY,
            "the batch has more than 16777216 bytes of manifests once their aliases are resolved"
        )
    );
}

#[tokio::test]
async fn pending_batches_are_bounded_for_each_peer() {
    let fixture = Fixture::new();
    let pending = fixture.catalogs.pending();
    let peer = Peer::default();
    // Half is for one peer.
    let held = pending.try_acquire(peer, PENDING_BYTES / 2).unwrap();
    let busy = fixture.post("", &json!([])).await;
    assert_eq!(
        (busy.status, busy.header(RETRY_AFTER), busy.detail()),
        (
            StatusCode::SERVICE_UNAVAILABLE,
            Some("1"),
            "too many edits wait, or another process edits the catalog: try again"
        )
    );
    let other = from_peer(request("", "[]"), Peer::new([192, 0, 2, 1].into()));
    assert_eq!(fixture.send(other).await.status, StatusCode::ACCEPTED);
    drop(held);
    // An empty batch counts too.
    let held = pending
        .try_acquire(peer, PENDING_BYTES / 2 - PENDING_OVERHEAD_BYTES - 1)
        .unwrap();
    let busy = fixture.post("", &json!([])).await;
    assert_eq!(busy.status, StatusCode::SERVICE_UNAVAILABLE);
    drop(held);
    let within = PENDING_BYTES / 2 - PENDING_OVERHEAD_BYTES - "[]".len();
    let _held = pending.try_acquire(peer, within).unwrap();
    let done = fixture.post("", &json!([])).await;
    assert_eq!(done.status, StatusCode::ACCEPTED);
}

#[tokio::test]
async fn if_match_names_the_content_that_a_batch_is_for() {
    let fixture = Fixture::new();
    let empty = fixture.digest().await;
    let added = fixture
        .send(with_header(
            request("", &add("a").to_string()),
            "if-match",
            &format!("\"sha256:00\", \"{empty}\""),
        ))
        .await;
    assert_eq!(added.status, StatusCode::ACCEPTED, "{added:?}");
    let current = fixture.digest().await;
    assert_eq!(added.header(ETAG), Some(&*format!("\"{current}\"")));
    assert_eq!(added.body["former"], json!(empty.to_string()));

    for (condition, status) in [
        (format!("\"{empty}\""), StatusCode::PRECONDITION_FAILED),
        // A strong comparison is asked for.
        (format!("W/\"{current}\""), StatusCode::PRECONDITION_FAILED),
        (format!("\"{current}\""), StatusCode::ACCEPTED),
        ("*".to_owned(), StatusCode::ACCEPTED),
    ] {
        for query in ["?dryRun=All", ""] {
            let answer = fixture
                .send(with_header(request(query, "[]"), "if-match", &condition))
                .await;
            let expected = if query.is_empty() || status.is_client_error() {
                status
            } else {
                StatusCode::OK
            };
            assert_eq!(answer.status, expected, "{condition} {query}: {answer:?}");
            if status.is_client_error() {
                assert_eq!(answer.header(ETAG), Some(&*format!("\"{current}\"")));
                assert_eq!(
                    answer.detail(),
                    format!("the catalog has the content {current} now")
                );
            }
        }
    }
}

#[tokio::test]
async fn a_batch_with_a_key_is_applied_once() {
    let fixture = Fixture::new();
    let with_key = |query: &str, batch: &Value, key: &str| {
        fixture.send(with_header(
            request(query, &batch.to_string()),
            "idempotency-key",
            key,
        ))
    };
    // A dry run uses up no key.
    let preview = with_key("?dryRun=All", &add("a"), "\"one\"").await;
    assert_eq!(preview.status, StatusCode::OK, "{preview:?}");
    let done = with_key("", &add("a"), "\"one\"").await;
    assert_eq!(done.status, StatusCode::ACCEPTED, "{done:?}");
    assert_eq!(with_key("", &add("b"), "two").await.status, done.status);
    let current = fixture.digest().await;

    // Quotes do not count.
    for key in ["\"one\"", "one"] {
        let again = with_key("", &add("a"), key).await;
        assert_eq!(
            (again.status, &again.body, again.header(ETAG)),
            (done.status, &done.body, done.header(ETAG))
        );
    }
    let other = with_key("", &add("c"), "one").await;
    assert_eq!(
        (other.status, other.detail()),
        (
            StatusCode::UNPROCESSABLE_ENTITY,
            "another request had this idempotency key"
        )
    );
    assert_eq!(fixture.digest().await, current);
}

#[tokio::test]
async fn the_journal_has_long_responses_without_their_changes() {
    let fixture = Fixture::new();
    let names = (0..100).map(|number| format!("package-{number}"));
    let batch: Value = names
        .flat_map(|name| add(&name).as_array().unwrap().clone())
        .collect();
    let send = || {
        fixture.send(with_header(
            request("", &batch.to_string()),
            "idempotency-key",
            "long",
        ))
    };
    let done = send().await;
    assert_eq!(
        done.body["changes"].as_array().unwrap().len(),
        300,
        "{done:?}"
    );
    let again = send().await;
    assert_eq!(
        again.body,
        json!({
            "digest": done.body["digest"],
            "former": done.body["former"],
            "unserved": NOT_LOADED,
        })
    );
}

#[tokio::test]
async fn an_edit_that_is_not_served_yet_is_accepted_with_the_reason() {
    let mut fixture = Fixture::new();
    let unserved = fixture.post("", &json!([])).await;
    assert_eq!(
        (unserved.status, &unserved.body["unserved"]),
        (StatusCode::ACCEPTED, &json!(NOT_LOADED))
    );

    // The content of the files is served already.
    let catalog = Catalog::build(Vec::new().into(), &Origins::default()).unwrap();
    let content = Content::new(catalog, fixture.digest().await);
    fixture
        .writer
        .publish(Served::new("mine", content, CatalogMetadata::default()));
    let served = fixture.post("", &json!([])).await;
    assert_eq!(
        (served.status, served.body.get("unserved")),
        (StatusCode::OK, None)
    );
}

#[tokio::test]
async fn errors_of_the_directory_have_the_status_of_their_cause() {
    let fixture = Fixture::new();
    let conflict = fixture
        .post("", &json!([{ "op": "rm", "packages": ["a"] }]))
        .await;
    assert_eq!(conflict.status, StatusCode::CONFLICT);
    assert_eq!(conflict.detail(), "package `a` not found");

    let lock = LockedFolder::lock(&fixture.folders.path("mine")).unwrap();
    let busy = fixture.post("", &json!([])).await;
    assert_eq!(busy.status, StatusCode::SERVICE_UNAVAILABLE);
    drop(lock);

    fixture.folders.write("mine/broken.yaml", "a: [");
    let broken = fixture.post("", &json!([])).await;
    assert_eq!(broken.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(broken.detail().starts_with("broken.yaml:2: "), "{broken:?}");
    fs::remove_file(fixture.folders.path("mine/broken.yaml")).unwrap();

    fixture.folders.write(".mine.edits", "{");
    let journal = fixture.post("", &json!([])).await;
    assert_eq!(journal.status, StatusCode::INTERNAL_SERVER_ERROR);
    let expected = "cannot read `@/mine/../.mine.edits`: EOF while parsing";
    assert!(
        fixture
            .folders
            .shown(journal.detail())
            .starts_with(expected),
        "{journal:?}"
    );
    fs::remove_file(fixture.folders.path(".mine.edits")).unwrap();

    fixture.folders.write("mine/.indexignore", "*\n");
    let ignored = fixture.post("", &add("a")).await;
    assert_eq!(
        (ignored.status, ignored.detail()),
        (
            StatusCode::CONFLICT,
            "cannot create `a/catalog.yaml`: an .indexignore file leaves it out of the catalog"
        )
    );
}

#[tokio::test]
async fn a_request_is_refused_by_its_head_before_its_body_is_read() {
    let fixture = Fixture::new();
    let plain = with_header(request("", "[]"), "content-type", "text/plain");
    let long = with_header(
        request("", "[]"),
        "content-length",
        &(MAX_BATCH_BYTES + 1).to_string(),
    );
    let mut unknown_length = request("", "[]");
    unknown_length.headers_mut().remove(CONTENT_LENGTH);
    for (request, status, detail) in [
        (plain, 415, "the body must be application/json"),
        (
            request("?x=1", "[]"),
            400,
            "cannot use the query parameter \"x\": the only one is `dryRun=All`",
        ),
        (
            with_header(request("", "[]"), "idempotency-key", "\"\""),
            400,
            "the idempotency key must be a string of 1 to 255 characters",
        ),
        (
            unknown_length,
            411,
            "the request must have a Content-Length",
        ),
        (long, 413, "the batch has more than 4194304 bytes"),
    ] {
        let answer = fixture.send(request).await;
        assert_eq!((answer.status.as_u16(), answer.detail()), (status, detail));
        assert_eq!(
            answer.header(CONTENT_TYPE),
            Some("application/problem+json")
        );
    }
    let with_parameter = with_header(
        request("", "[]"),
        "content-type",
        "application/json; charset=utf-8",
    );
    assert_eq!(
        fixture.send(with_parameter).await.status,
        StatusCode::ACCEPTED
    );

    let missing = Arc::clone(&fixture.catalogs);
    let missing = missing.edit("other", request("", "[]")).await.unwrap_err();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    let method = Answer::read(EditRequestError::MethodNotAllowed.into_response()).await;
    assert_eq!(
        (method.status, method.header(ALLOW)),
        (StatusCode::METHOD_NOT_ALLOWED, Some("POST"))
    );
    let problem =
        json!({ "title": "Method Not Allowed", "status": 405, "detail": "edits are posted" });
    assert_eq!(method.body, problem);
}

#[tokio::test]
async fn a_batch_has_as_many_parts_as_its_limits() {
    let fixture = Fixture::new();
    let operations = |count| json!(vec![json!({ "op": "prune-stranded" }); count]);
    let bundles = |count| {
        let bundle = add("a")[0]["bundles"][0].clone();
        json!([{ "op": "add", "bundles": vec![bundle; count] }])
    };
    let names = |count| json!([{ "op": "rm", "packages": vec!["a"; count], "permissive": true }]);
    for (within, beyond, what) in [
        (
            operations(MAX_OPERATIONS),
            operations(MAX_OPERATIONS + 1),
            "100 operations",
        ),
        (
            bundles(MAX_BUNDLES),
            bundles(MAX_BUNDLES + 1),
            "100 bundles",
        ),
        (
            names(MAX_NAMES),
            names(MAX_NAMES + 1),
            "10000 names of packages, channels, bundles and images",
        ),
    ] {
        let answer = fixture.post("?dryRun=All", &within).await;
        assert_eq!(answer.status, StatusCode::OK, "{what}: {answer:?}");
        let answer = fixture.post("?dryRun=All", &beyond).await;
        assert_eq!(
            (answer.status, answer.detail()),
            (
                StatusCode::UNPROCESSABLE_ENTITY,
                &*format!("the batch has more than {what}")
            )
        );
    }
}

#[test]
fn an_idempotency_key_is_a_string_of_limited_length() {
    let longest = "k".repeat(MAX_KEY_BYTES);
    let quoted = format!("\"{longest}\"");
    let too_long = "k".repeat(MAX_KEY_BYTES + 1);
    for (value, expected) in [
        ("one", Some("one")),
        ("\"one\"", Some("one")),
        (" one ", Some("one")),
        ("\"", None),
        ("", None),
        ("a\"b", None),
        ("a\\b", None),
        (&quoted, Some(&*longest)),
        (&too_long, None),
    ] {
        let headers = [("idempotency-key".parse().unwrap(), value.parse().unwrap())];
        let key = idempotency_key(&headers.into_iter().collect());
        assert_eq!(key.ok().flatten().as_deref(), expected, "{value}");
    }
    assert!(matches!(idempotency_key(&HeaderMap::new()), Ok(None)));
}

#[test]
fn only_the_parameter_of_a_dry_run_is_accepted() {
    let unknown = |name: &str| Err(EditRequestError::Parameter(name.to_owned()).to_string());
    let invalid = || Err(EditRequestError::DryRun.to_string());
    for (query, expected) in [
        ("", Ok(false)),
        ("?", Ok(false)),
        ("?&", Ok(false)),
        ("?dryRun=All", Ok(true)),
        ("?dryRun=All&dryRun=All", Ok(true)),
        ("?dry%52un=All", Ok(true)),
        ("?%64%72%79%52%75%6E=%41%6c%6C&", Ok(true)),
        ("?dryRun", invalid()),
        ("?dryRun=", invalid()),
        ("?dryRun=true", invalid()),
        ("?dryRun=all", invalid()),
        ("?dryRun=All&dryRun", invalid()),
        ("?dryRun=All%", invalid()),
        ("?dryRun=All;x", invalid()),
        ("?DRYRUN=All", unknown("DRYRUN")),
        ("?x=1", unknown("x")),
        ("?=All", unknown("")),
        ("?+dryRun=All", unknown(" dryRun")),
        ("?dry%5=All", unknown("dry%5")),
        ("?dry%2552un=All", unknown("dry%52un")),
        ("?dryRun%00=All", unknown("dryRun\0")),
        ("?dryRun[]=All", unknown("dryRun[]")),
        ("?%ff=All", unknown("\u{fffd}")),
        ("?pretty&dryRun=All", unknown("pretty")),
        ("?dryRun=All&x=y", unknown("x")),
    ] {
        let uri: Uri = format!("/catalogs/mine/edits{query}").parse().unwrap();
        let found = is_dry_run(&uri).map_err(|error| error.to_string());
        assert_eq!(found, expected, "{query}");
    }
}
