//! The shared store over objects in memory that fail, hang, lie and are damaged.

use std::fmt;
use std::io::Read as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use metrics::Label as _;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt as _, PutMultipartOptions, PutOptions, PutPayload, PutResult,
};

use super::*;
use crate::record::LeaseFile;
use crate::{BREAKER_BACKOFF, IDLE_TIMEOUT, LEASE_DURATION, MIN_DOWNLOAD_RATE, REQUEST_TIMEOUT};

const REVISION: &str = "sha256:0123 /configs";

/// What happens to requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Every request fails.
    Fails,
    /// Every write fails.
    WriteFails,
    /// No request is answered.
    Hangs,
    /// The second part of each response never comes.
    HangsInTheMiddle,
    /// The parts of each response come slowly.
    Slow,
    /// Contents come at the minimum rate, and never end.
    Dripping,
    /// Each response goes on after the length that it names.
    Endless,
}

/// Objects in memory, with faults.
#[derive(Debug)]
struct FaultyObjects {
    inner: InMemory,
    fault: Mutex<Fault>,
    /// Number of requests.
    requests: AtomicUsize,
}

/// Replicas that share objects.
struct Replicas {
    objects: Arc<FaultyObjects>,
}

impl Replicas {
    fn new() -> Self {
        let objects = FaultyObjects {
            inner: InMemory::new(),
            fault: Mutex::new(Fault::None),
            requests: AtomicUsize::new(0),
        };
        Self {
            objects: Arc::new(objects),
        }
    }

    fn replica(&self) -> Arc<SharedStore> {
        let location = Location {
            objects: Arc::clone(&self.objects) as _,
            url: "memory".to_owned(),
        };
        Arc::new(SharedStore::new(location, "build"))
    }

    fn set(&self, fault: Fault) {
        *self.objects.fault.lock().unwrap() = fault;
    }

    fn requests(&self) -> usize {
        self.objects.requests.load(Ordering::Relaxed)
    }

    /// Searches the revision.
    async fn find(&self, replica: &Arc<SharedStore>) -> Lookup {
        // What was downloaded is open, and need not have a name any more.
        let folder = tempfile::tempdir().unwrap();
        replica.find(REVISION, folder.path()).await
    }

    /// Searches a revision that is not there, for a ticket.
    async fn ticket(&self, replica: &Arc<SharedStore>) -> UploadTicket {
        absent(self.find(replica).await)
    }

    /// Uploads a content as the replica that pulled its image does.
    async fn share(&self) {
        let replica = self.replica();
        let ticket = self.ticket(&replica).await;
        replica.upload(ticket, async { Some(upload()) }).await;
        self.released().await;
    }

    /// Waits until no replica holds a lease.
    async fn released(&self) {
        while self.names("pulling").await != 0 {
            tokio::task::yield_now().await;
        }
    }

    /// Returns the number of objects with a prefix.
    async fn names(&self, prefix: &str) -> usize {
        self.objects.inner.list(Some(&prefix.into())).count().await
    }

    async fn put(&self, path: Path, bytes: &[u8]) {
        let payload = PutPayload::from(bytes.to_vec());
        self.objects.inner.put(&path, payload).await.unwrap();
    }
}

fn upload() -> Upload {
    Upload {
        digest: content_digest::digest(b"lines"),
        bytes: 5,
        compressed: Bytes::from_static(b"compressed"),
        analysis: Bytes::from_static(b"analysis"),
    }
}

fn record() -> RevisionRecord {
    RevisionRecord {
        content: upload().digest,
        bytes: 5,
        analysis: content_digest::digest(b"analysis"),
    }
}

fn key() -> RevisionKey {
    RevisionKey::new("build", REVISION)
}

/// Returns a ticket of a replica that holds no lease.
fn unleased(key: RevisionKey) -> UploadTicket {
    UploadTicket {
        key,
        lease: None,
        replaces: false,
    }
}

fn absent(found: Lookup) -> UploadTicket {
    match found {
        Lookup::Absent(ticket) => ticket,
        Lookup::Found(found) => panic!("{found:?}"),
    }
}

/// Reads what was downloaded.
fn read(found: Lookup) -> (Digest, u64, Vec<u8>, Bytes) {
    let Lookup::Found(found) = found else {
        panic!("{found:?}");
    };
    let mut compressed = Vec::new();
    found.compressed().read_to_end(&mut compressed).unwrap();
    let read = (
        found.digest(),
        found.bytes(),
        compressed,
        found.analysis().clone(),
    );
    found.accept();
    read
}

/// The lookups that a replica counted, by result.
fn lookups(replica: &SharedStore) -> Vec<(&'static str, u64)> {
    let counts = replica.metrics().lookups.iter();
    counts
        .map(|(result, count)| (result.as_str(), count.get()))
        .filter(|(_, count)| *count > 0)
        .collect()
}

/// The uploads that a replica counted, by result.
fn uploads(replica: &SharedStore) -> Vec<(&'static str, u64)> {
    let counts = replica.metrics().uploads.iter();
    counts
        .map(|(result, count)| (result.as_str(), count.get()))
        .filter(|(_, count)| *count > 0)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_content_that_one_replica_uploaded_is_downloaded_by_another() {
    let replicas = Replicas::new();
    let first = replicas.replica();
    let ticket = replicas.ticket(&first).await;
    first.upload(ticket, async { Some(upload()) }).await;
    replicas.released().await;

    let second = replicas.replica();
    let found = read(replicas.find(&second).await);
    let Upload {
        digest,
        bytes,
        compressed,
        analysis,
    } = upload();
    assert_eq!(found, (digest, bytes, compressed.to_vec(), analysis));
    assert_eq!(
        [lookups(&first), lookups(&second), uploads(&first)],
        [vec![("miss", 1)], vec![("hit", 1)], vec![("stored", 1)]]
    );
    let prefixes = ["contents", "notes", "revisions", "pulling"];
    let mut counts = Vec::new();
    for prefix in prefixes {
        counts.push(replicas.names(prefix).await);
    }
    assert_eq!(counts, [1, 1, 1, 0]);
}

#[tokio::test(start_paused = true)]
async fn another_build_does_not_use_what_this_one_read() {
    let replicas = Replicas::new();
    replicas.share().await;
    let location = Location {
        objects: Arc::clone(&replicas.objects) as _,
        url: String::new(),
    };
    let other = Arc::new(SharedStore::new(location, "other build"));
    absent(replicas.find(&other).await);
}

#[tokio::test(start_paused = true)]
async fn the_others_wait_while_one_pulls_and_get_its_content() {
    let replicas = Replicas::new();
    let first = replicas.replica();
    let ticket = replicas.ticket(&first).await;
    let others: Vec<_> = (0..4).map(|_| replicas.replica()).collect();
    let finding = others.iter().map(|other| replicas.find(other));
    let finding = futures_util::future::join_all(finding);
    let pulling = async {
        sleep(Duration::from_mins(1)).await;
        first.upload(ticket, async { Some(upload()) }).await;
    };
    let (found, ()) = tokio::join!(finding, pulling);
    for found in found {
        assert_eq!(read(found).0, upload().digest);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_while_it_is_held() {
    let replicas = Replicas::new();
    let ticket = replicas.ticket(&replicas.replica()).await;
    let lease = async || {
        let got = replicas.objects.inner.get(&key().lease_path()).await;
        let text = got.unwrap().bytes().await.unwrap();
        serde_json::from_slice::<LeaseFile>(&text).unwrap()
    };
    let first = lease().await;
    // The times in leases are those of the wall clock, which goes on in tests.
    sleep(LEASE_DURATION / 2).await;
    let second = lease().await;
    assert_eq!(first.holder, second.holder);
    assert!(first.expires < second.expires, "{first:?} {second:?}");
    drop(ticket);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_expired_is_taken_and_one_that_is_held_is_waited_for() {
    let replicas = Replicas::new();
    let expired = br#"{"holder":"dead","expires":"2020-01-01T00:00:00Z"}"#;
    replicas.put(key().lease_path(), expired).await;
    let replica = replicas.replica();
    assert!(replicas.ticket(&replica).await.lease.is_some());
    replicas.released().await;

    // No replica writes such a time.
    let eternal = br#"{"holder":"hostile","expires":"9999-01-01T00:00:00Z"}"#;
    replicas.put(key().lease_path(), eternal).await;
    assert!(replicas.ticket(&replica).await.lease.is_some());
    replicas.released().await;

    replicas.put(key().lease_path(), b"{").await;
    assert!(replicas.ticket(&replica).await.lease.is_some());
    replicas.released().await;

    let held = replicas.ticket(&replicas.replica()).await;
    let begun = Instant::now();
    assert!(replicas.ticket(&replica).await.lease.is_none());
    let waited = begun.elapsed();
    assert!(
        (WAIT_FOR_REPLICA..WAIT_FOR_REPLICA + MAX_WAIT_INTERVAL * 2).contains(&waited),
        "{waited:?}"
    );
    drop(held);
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_failed_to_pull_leaves_the_lease_to_the_next() {
    let replicas = Replicas::new();
    let first = replicas.replica();
    drop(replicas.ticket(&first).await);
    replicas.released().await;
    assert!(replicas.ticket(&replicas.replica()).await.lease.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_or_hangs_costs_one_short_wait_and_is_not_asked_for_a_while() {
    for (fault, longest) in [
        (Fault::Fails, Duration::ZERO),
        (Fault::Hangs, REQUEST_TIMEOUT),
        (Fault::HangsInTheMiddle, IDLE_TIMEOUT),
    ] {
        let replicas = Replicas::new();
        replicas.share().await;
        replicas.set(fault);
        let replica = replicas.replica();
        let begun = Instant::now();
        absent(replicas.find(&replica).await);
        assert!(begun.elapsed() <= longest, "{fault:?}");

        let before = (begun.elapsed(), replicas.requests());
        absent(replicas.find(&replica).await);
        assert_eq!((begun.elapsed(), replicas.requests()), before, "{fault:?}");
        assert_eq!(lookups(&replica), [("error", 1), ("skipped", 1)]);

        replicas.set(Fault::None);
        sleep(BREAKER_BACKOFF).await;
        read(replicas.find(&replica).await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_download_that_is_slower_than_a_pull_is_given_up() {
    let replicas = Replicas::new();
    replicas.share().await;
    replicas.set(Fault::Slow);
    let replica = replicas.replica();
    let longest = (REQUEST_TIMEOUT + IDLE_TIMEOUT) * 2;
    let found = timeout(longest, replicas.find(&replica)).await;
    absent(found.unwrap());
    assert_eq!(lookups(&replica), [("error", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_download_that_does_not_end_is_given_up() {
    let replicas = Replicas::new();
    replicas.share().await;
    replicas.set(Fault::Dripping);
    let replica = replicas.replica();
    let begun = Instant::now();
    absent(replicas.find(&replica).await);
    assert_eq!(begun.elapsed().as_secs(), DOWNLOAD_TIMEOUT.as_secs());
    assert_eq!(lookups(&replica), [("error", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_bounded_number_of_contents_wait_until_they_are_verified() {
    let replicas = Replicas::new();
    replicas.share().await;
    let replica = replicas.replica();
    let mut waiting = Vec::new();
    for _ in 0..MAX_CONCURRENT_DOWNLOADS {
        waiting.push(replicas.find(&replica).await);
    }
    let next = replicas.find(&replica);
    let mut next = std::pin::pin!(next);
    assert!(timeout(DOWNLOAD_TIMEOUT, &mut next).await.is_err());
    read(waiting.pop().unwrap());
    read(next.await);
}

#[tokio::test(start_paused = true)]
async fn damaged_objects_are_refused_and_replaced_after_the_pull() {
    let other = RevisionRecord {
        analysis: content_digest::digest(b"other"),
        ..record()
    };
    let expanding = RevisionRecord {
        bytes: 10 * MAX_COMPRESSION + 1,
        ..record()
    };
    let eternal = vec![b' '; usize::try_from(MAX_RECORD_BYTES).unwrap() + 1];
    for (path, bytes) in [
        (record().analysis_path(), b"analysis of others".to_vec()),
        (record().analysis_path(), b"analysi".to_vec()),
        (key().record_path(), b"{".to_vec()),
        (key().record_path(), eternal),
        (key().record_path(), expanding.to_json()),
    ] {
        let replicas = Replicas::new();
        replicas.share().await;
        replicas.put(path.clone(), &bytes).await;
        let replica = replicas.replica();
        let ticket = replicas.ticket(&replica).await;
        assert_eq!(lookups(&replica), [("corrupt", 1)], "{path}");

        replica.upload(ticket, async { Some(upload()) }).await;
        read(replicas.find(&replicas.replica()).await);
    }

    // Objects that a record names may have been removed.
    let replicas = Replicas::new();
    replicas.share().await;
    replicas.put(key().record_path(), &other.to_json()).await;
    let replica = replicas.replica();
    absent(replicas.find(&replica).await);
    assert_eq!(lookups(&replica), [("miss", 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_content_that_its_reader_rejects_is_replaced_after_the_pull() {
    let replicas = Replicas::new();
    replicas.share().await;
    replicas.put(record().content_path(), b"others").await;
    let replica = replicas.replica();
    let Lookup::Found(found) = replicas.find(&replica).await else {
        panic!("the crate does not decompress");
    };
    let ticket = found.reject(&"its lines do not have the digest");
    replica.upload(ticket, async { Some(upload()) }).await;
    assert_eq!(
        (lookups(&replica), uploads(&replica)),
        (vec![("corrupt", 1)], vec![("stored", 1)])
    );
    assert_eq!(
        read(replicas.find(&replicas.replica()).await).2,
        b"compressed"
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_longer_than_its_length_says_is_read_up_to_the_limit() {
    let replicas = Replicas::new();
    replicas.share().await;
    replicas.set(Fault::Endless);
    let replica = replicas.replica();
    absent(replicas.find(&replica).await);
    assert_eq!(lookups(&replica), [("corrupt", 1)]);
}

#[tokio::test(start_paused = true)]
async fn an_upload_is_tried_again_a_few_times_and_then_given_up() {
    let replicas = Replicas::new();
    let replica = replicas.replica();
    replicas.set(Fault::WriteFails);
    let upload_content = || replica.upload(unleased(key()), async { Some(upload()) });
    upload_content().await;
    assert_eq!(uploads(&replica), [("failed", 1)]);
    assert_eq!(replicas.requests(), UPLOAD_ATTEMPTS as usize);

    let recovering = async {
        sleep(UPLOAD_BACKOFF / 4).await;
        replicas.set(Fault::None);
    };
    tokio::join!(upload_content(), recovering);
    assert_eq!(uploads(&replica), [("stored", 1), ("failed", 1)]);
}

#[tokio::test(start_paused = true)]
async fn the_others_do_not_wait_for_the_second_attempt_of_an_upload() {
    let replicas = Replicas::new();
    let [first, other] = [replicas.replica(), replicas.replica()];
    let ticket = replicas.ticket(&first).await;
    replicas.set(Fault::WriteFails);
    let uploading = first.upload(ticket, async { Some(upload()) });
    let finding = async {
        replicas.released().await;
        replicas.set(Fault::None);
        // Before the second attempt, which would give it the content.
        assert!(replicas.ticket(&other).await.lease.is_some());
    };
    tokio::join!(uploading, finding);
    assert_eq!(uploads(&first), [("stored", 1)]);
}

#[tokio::test(start_paused = true)]
async fn uploads_run_one_at_a_time_and_few_wait() {
    let replicas = Replicas::new();
    let replica = replicas.replica();
    let running = AtomicUsize::new(0);
    let upload = |number: usize| {
        let ticket = unleased(RevisionKey::new("build", &number.to_string()));
        let compress = async {
            assert_eq!(running.fetch_add(1, Ordering::Relaxed), 0);
            sleep(Duration::from_secs(1)).await;
            running.fetch_sub(1, Ordering::Relaxed);
            Some(upload())
        };
        replica.upload(ticket, compress)
    };
    futures_util::future::join_all((0..MAX_PENDING_UPLOADS + 2).map(upload)).await;
    let stored = MAX_PENDING_UPLOADS as u64;
    assert_eq!(uploads(&replica), [("stored", stored), ("dropped", 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_content_that_no_replica_would_load_is_not_uploaded() {
    let replicas = Replicas::new();
    let replica = replicas.replica();
    let compressed = upload().compressed.len() as u64;
    let repetitive = Upload {
        bytes: compressed * MAX_COMPRESSION + 1,
        ..upload()
    };
    let too_long = Upload {
        bytes: MAX_CONTENT_BYTES + 1,
        ..upload()
    };
    let analysis = vec![0; usize::try_from(MAX_ANALYSIS_BYTES).unwrap() + 1];
    let long_analysis = Upload {
        analysis: analysis.into(),
        ..upload()
    };
    for content in [repetitive, too_long, long_analysis] {
        let ticket = unleased(RevisionKey::new("build", "sha256:a"));
        replica.upload(ticket, async { Some(content) }).await;
    }
    assert_eq!(uploads(&replica), [("dropped", 3)]);

    let longest = Upload {
        bytes: compressed * MAX_COMPRESSION,
        ..upload()
    };
    let ticket = unleased(RevisionKey::new("build", "sha256:a"));
    replica.upload(ticket, async { Some(longest) }).await;
    assert_eq!(uploads(&replica), [("stored", 1), ("dropped", 3)]);
}

#[tokio::test(start_paused = true)]
async fn a_second_upload_of_a_revision_changes_nothing() {
    let replicas = Replicas::new();
    replicas.share().await;
    let replica = replicas.replica();
    let ticket = unleased(key());
    let other = Upload {
        compressed: Bytes::from_static(b"other"),
        ..upload()
    };
    replica.upload(ticket, async { Some(other) }).await;
    assert_eq!(uploads(&replica), [("exists", 1)]);
    assert_eq!(
        read(replicas.find(&replicas.replica()).await).2,
        b"compressed"
    );
}

impl FaultyObjects {
    /// Applies the fault to a request.
    async fn apply(&self, is_write: bool) -> object_store::Result<()> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let fault = *self.fault.lock().unwrap();
        match fault {
            Fault::Hangs => std::future::pending().await,
            Fault::Fails => Err(failed()),
            Fault::WriteFails if is_write => Err(failed()),
            _ => Ok(()),
        }
    }
}

fn failed() -> object_store::Error {
    object_store::Error::Generic {
        store: "test",
        source: "no connection".into(),
    }
}

impl fmt::Display for FaultyObjects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("objects with faults")
    }
}

#[async_trait]
impl ObjectStore for FaultyObjects {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> object_store::Result<PutResult> {
        self.apply(true).await?;
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> object_store::Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(
        &self,
        location: &Path,
        options: GetOptions,
    ) -> object_store::Result<GetResult> {
        self.apply(false).await?;
        let got = self.inner.get_opts(location, options).await?;
        let fault = *self.fault.lock().unwrap();
        let (meta, range, attributes, extensions) = (
            got.meta.clone(),
            got.range.clone(),
            got.attributes.clone(),
            got.extensions.clone(),
        );
        let bytes = got.bytes().await?;
        let body: BoxStream<'static, object_store::Result<Bytes>> = match fault {
            Fault::HangsInTheMiddle => futures_util::stream::iter([Ok(bytes.slice(..1))])
                .chain(futures_util::stream::pending())
                .boxed(),
            Fault::Slow => futures_util::stream::unfold(bytes, |mut left| async move {
                sleep(IDLE_TIMEOUT / 2).await;
                (!left.is_empty()).then(|| (Ok(left.split_to(1)), left))
            })
            .boxed(),
            Fault::Dripping if location.as_ref().starts_with("contents/") => {
                let second = vec![0; usize::try_from(MIN_DOWNLOAD_RATE).unwrap()];
                let second = Bytes::from(second);
                futures_util::stream::repeat(second)
                    .then(async |part| {
                        sleep(Duration::from_secs(1)).await;
                        Ok(part)
                    })
                    .boxed()
            }
            Fault::Endless => {
                futures_util::stream::repeat_with(|| Ok(Bytes::from_static(&[b' '; 1 << 10])))
                    .boxed()
            }
            _ => futures_util::stream::iter([Ok(bytes)]).boxed(),
        };
        Ok(GetResult {
            payload: GetResultPayload::Stream(body),
            meta,
            range,
            attributes,
            extensions,
        })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, object_store::Result<Path>>,
    ) -> BoxStream<'static, object_store::Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(
        &self,
        from: &Path,
        to: &Path,
        options: CopyOptions,
    ) -> object_store::Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
