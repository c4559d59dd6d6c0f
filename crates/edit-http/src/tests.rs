//! When batches are read, how much of them is rendered, and what is a dry run.

use std::sync::Mutex;

use axum::body::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use super::*;

/// Says that an edit began, and lets it end when it is told so.
struct Gate {
    began: UnboundedSender<usize>,
    end: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl Editor for Gate {
    fn catalogs(&self) -> Vec<String> {
        vec!["mine".to_owned()]
    }

    fn edit(&self, _: &str, request: &EditRequest) -> Result<Edited, EditFailure> {
        self.began.send(request.batch.len()).unwrap();
        self.end.lock().unwrap().recv().unwrap();
        Ok(Edited {
            digest: None,
            body: "{}".to_owned(),
            unserved: None,
        })
    }

    fn publish<'e>(&'e self, _: &'e str, _: Digest) -> Publication<'e> {
        unreachable!("a dry run is not served")
    }
}

fn edits(editor: impl Editor) -> Edits {
    Edits::new(Arc::new(editor))
}

fn post(edits: &Edits, body: String) -> impl Future<Output = Result<Edited, EditFailure>> + use<> {
    post_from(Peer::default(), edits, body)
}

fn post_from(
    peer: Peer,
    edits: &Edits,
    body: String,
) -> impl Future<Output = Result<Edited, EditFailure>> + use<> {
    let request = Request::post("/catalogs/mine/edits")
        .extension(peer)
        .header(CONTENT_TYPE, "application/json")
        .header(CONTENT_LENGTH, body.len())
        .body(Body::from(body));
    let edits = edits.clone();
    async move { edits.respond("mine", request.unwrap()).await }
}

/// A batch that adds one bundle, with manifests of four megabytes each of which only a small part
/// is posted.
fn repeated(manifests: usize) -> String {
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
    let files: Value = json!(files);
    json!([{ "op": "add", "bundles": [{ "image": "quay.io/a/a:1", "files": files }] }]).to_string()
}

#[tokio::test]
async fn a_batch_is_read_when_it_is_its_turn() {
    let (began, mut received) = unbounded_channel();
    let (ended, end) = std::sync::mpsc::channel();
    let edits = edits(Gate {
        began,
        end: Mutex::new(end),
    });
    let first = tokio::spawn(post(&edits, "[]".to_owned()));
    assert_eq!(received.recv().await, Some(0));
    let second = tokio::spawn(post(&edits, "[".to_owned()));
    // Whatever can be done before its turn is done by then.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert!(!second.is_finished());
    ended.send(()).unwrap();
    assert_eq!(
        first.await.unwrap(),
        Ok(Edited {
            digest: None,
            body: "{}".to_owned(),
            unserved: None
        })
    );
    assert!(matches!(
        second.await.unwrap(),
        Err(EditFailure::Malformed(_))
    ));
}

#[tokio::test]
async fn a_peer_with_many_batches_does_not_keep_another_one_waiting_for_all_of_them() {
    let (began, mut received) = unbounded_channel();
    let (ended, end) = std::sync::mpsc::channel();
    let edits = edits(Gate {
        began,
        end: Mutex::new(end),
    });
    let many: Vec<_> = (0..5)
        .map(|_| tokio::spawn(post(&edits, "[]".to_owned())))
        .collect();
    assert_eq!(received.recv().await, Some(0));
    let other = Peer::new([192, 0, 2, 1].into());
    let other = tokio::spawn(post_from(other, &edits, "[]".to_owned()));
    // Whatever can begin to wait waits by then.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }

    // The one that is done, one that waits for the catalog, and the other peer's.
    for _ in 0..3 {
        ended.send(()).unwrap();
    }
    assert!(other.await.unwrap().is_ok());
    assert!(many.iter().filter(|batch| batch.is_finished()).count() <= 3);
}

#[tokio::test]
async fn bundles_are_rendered_up_to_a_number_of_bytes_whatever_was_posted() {
    let (began, mut received) = unbounded_channel();
    let (ended, end) = std::sync::mpsc::channel();
    let edits = edits(Gate {
        began,
        end: Mutex::new(end),
    });
    ended.send(()).unwrap();
    let within = repeated(MAX_RENDERED_BYTES / (4 << 20));
    assert!(within.len() < 200 << 10, "{}", within.len());
    assert_eq!(
        post(&edits, within).await.map(|edited| edited.body),
        Ok("{}".to_owned())
    );
    assert_eq!(received.recv().await, Some(1));
    let what = "bytes of manifests once their aliases are resolved";
    let too_many = EditFailure::TooMany {
        what,
        limit: MAX_RENDERED_BYTES,
    };
    assert_eq!(
        post(&edits, repeated(MAX_RENDERED_BYTES / (4 << 20) + 1)).await,
        Err(too_many)
    );
    assert!(received.try_recv().is_err());
}

#[test]
fn a_dry_run_is_asked_for_in_one_way_and_no_other_is_taken_for_an_edit() {
    let unknown = |name: &str| Err(EditFailure::Parameter(name.to_owned()));
    for (query, expected) in [
        ("", Ok(false)),
        ("?", Ok(false)),
        ("?&", Ok(false)),
        ("?dryRun=All", Ok(true)),
        ("?dryRun=All&dryRun=All", Ok(true)),
        ("?dry%52un=All", Ok(true)),
        ("?%64%72%79%52%75%6E=%41%6c%6C&", Ok(true)),
        ("?dryRun", Err(EditFailure::DryRun)),
        ("?dryRun=", Err(EditFailure::DryRun)),
        ("?dryRun=true", Err(EditFailure::DryRun)),
        ("?dryRun=all", Err(EditFailure::DryRun)),
        ("?dryRun=All&dryRun", Err(EditFailure::DryRun)),
        ("?dryRun=All%", Err(EditFailure::DryRun)),
        ("?dryRun=All;x", Err(EditFailure::DryRun)),
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
        let uri = format!("/catalogs/mine/edits{query}").parse().unwrap();
        assert_eq!(is_dry_run(&uri), expected, "{query}");
    }
}
