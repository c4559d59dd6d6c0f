//! Responses on disk, by server and request. A file that cannot be read counts as absent, and a
//! response that cannot be written is not cached: a cache fails no request.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use http::header::{CACHE_CONTROL, ETAG};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Size of all cached responses in bytes; beyond it, those that were not used for longest are
/// removed.
pub const MAX_CACHE_BYTES: u64 = 64 << 20;

/// A folder with responses, which only its user may read. Several processes may use it at a time.
#[derive(Clone, Debug)]
pub struct ClientCache {
    folder: PathBuf,
    max_bytes: u64,
}

/// A cached response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CachedEntry {
    pub(crate) head: CachedEntryHeader,
    pub(crate) body: Vec<u8>,
}

/// Validator and lifetime of a cached response; the first line of its file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CachedEntryHeader {
    /// Entity tag to revalidate it with.
    pub(crate) etag: String,
    /// When the server last sent or confirmed it, in seconds since the epoch.
    pub(crate) validated: u64,
    /// Until when it may be used without asking, in seconds since the epoch.
    pub(crate) fresh_until: u64,
}

impl ClientCache {
    /// Uses this folder, which is created when something is first stored.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            max_bytes: MAX_CACHE_BYTES,
        }
    }

    /// Returns the response to a request, whatever its age.
    pub(crate) fn get(&self, key: &str) -> Option<CachedEntry> {
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let head = serde_json::from_slice(&bytes[..end]).ok()?;
        // The time of the file says when it was last used.
        let _ = fs::File::options()
            .append(true)
            .open(&path)
            .and_then(|file| file.set_modified(SystemTime::now()));
        Some(CachedEntry {
            head,
            body: bytes[end + 1..].to_vec(),
        })
    }

    /// Stores the response to a request, in place of an earlier one.
    pub(crate) fn put(&self, key: &str, entry: &CachedEntry) {
        if (entry.body.len() as u64) < self.max_bytes && self.try_put(key, entry).is_ok() {
            let _ = self.evict();
        }
    }

    fn try_put(&self, key: &str, entry: &CachedEntry) -> io::Result<()> {
        create_private(&self.folder)?;
        // It is created for its owner alone, on every system that knows of owners.
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        // A file has no buffer.
        let mut bytes = serde_json::to_vec(&entry.head)?;
        bytes.push(b'\n');
        file.write_all(&bytes)?;
        file.write_all(&entry.body)?;
        file.persist(self.path(key)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Removes least recently used responses until the rest is within the limit.
    fn evict(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            files.push((metadata.modified()?, metadata.len(), entry.path()));
        }
        files.sort();
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        for (_, bytes, path) in files {
            if total <= self.max_bytes {
                break;
            }
            // Another process may have removed it.
            let _ = fs::remove_file(path);
            total -= bytes;
        }
        Ok(())
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(key)
    }
}

impl CachedEntry {
    /// Makes an entry for a response with these headers; `None` for one that has no entity tag or must
    /// not be stored.
    pub(crate) fn from_response(headers: &HeaderMap, body: &[u8]) -> Option<Self> {
        let etag = headers.get(ETAG)?.to_str().ok()?.to_owned();
        let control = cache_control(headers);
        if control.contains("no-store") {
            return None;
        }
        let now = seconds(SystemTime::now());
        Some(Self {
            head: CachedEntryHeader {
                etag,
                validated: now,
                fresh_until: now + max_age(&control),
            },
            body: body.to_vec(),
        })
    }

    /// Makes an entry for data that no server sent, which is fresh for this time.
    #[cfg(feature = "kube")]
    pub(crate) fn from_data(body: Vec<u8>, max_age: Duration) -> Self {
        let now = seconds(SystemTime::now());
        Self {
            head: CachedEntryHeader {
                etag: String::new(),
                validated: now,
                fresh_until: now + max_age.as_secs(),
            },
            body,
        }
    }

    /// Notes that the server has confirmed it.
    pub(crate) fn validated(&mut self, headers: &HeaderMap) {
        self.head.validated = seconds(SystemTime::now());
        self.head.fresh_until = self.head.validated + max_age(&cache_control(headers));
    }

    /// Returns `true` while the response may be used without revalidation.
    pub(crate) fn is_fresh(&self) -> bool {
        seconds(SystemTime::now()) < self.head.fresh_until
    }

    /// The time since the server last sent or confirmed it.
    pub(crate) fn age(&self) -> Duration {
        Duration::from_secs(seconds(SystemTime::now()).saturating_sub(self.head.validated))
    }
}

/// Returns the name of the file for a request: a hash of the caller with the server, and of the
/// request.
pub(crate) fn key(identity: &str, request: &str) -> String {
    // With the caller, because a server may show each caller other catalogs.
    let digest = Sha256::new()
        .chain_update(identity)
        .chain_update([0])
        .chain_update(request)
        .finalize();
    digest
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

fn cache_control(headers: &HeaderMap) -> String {
    headers
        .get(CACHE_CONTROL)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_lowercase()
}

/// Seconds for which a response may be used without asking.
fn max_age(control: &str) -> u64 {
    let directives = || control.split(',').map(str::trim);
    if directives().any(|directive| directive == "no-cache") {
        return 0;
    }
    directives()
        .find_map(|directive| directive.strip_prefix("max-age=")?.parse().ok())
        .unwrap_or(0)
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs()
}

/// Creates a folder that only its owner may enter, with those above it.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use testing::Folders;

    use super::*;

    fn entry(bytes: usize) -> CachedEntry {
        CachedEntry {
            head: CachedEntryHeader {
                etag: "\"a\"".to_owned(),
                validated: 7,
                fresh_until: 9,
            },
            body: vec![b'x'; bytes],
        }
    }

    #[test]
    fn a_response_is_found_again_and_only_by_its_owner() {
        let folders = Folders::new();
        let cache = ClientCache::at(folders.path("a/client"));
        assert_eq!(cache.get("key"), None);
        cache.put("key", &entry(3));
        assert_eq!(cache.get("key"), Some(entry(3)));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &str| {
                fs::metadata(folders.path(path))
                    .expect("it is there")
                    .permissions()
                    .mode()
                    & 0o777
            };
            assert_eq!((mode("a/client"), mode("a/client/key")), (0o700, 0o600));
        }
    }

    #[test]
    fn what_was_not_used_for_longest_is_removed_beyond_the_limit() {
        let folders = Folders::new();
        let cache = ClientCache {
            max_bytes: 3_500,
            ..ClientCache::at(folders.path("client"))
        };
        for (at, key) in ["one", "two", "three"].into_iter().enumerate() {
            cache.put(key, &entry(1_000));
            let used = SystemTime::now() - Duration::from_secs(100 - at as u64);
            let file = fs::File::options()
                .append(true)
                .open(folders.path("client").join(key))
                .expect("it is there");
            file.set_modified(used).expect("it is ours");
        }
        // Used again, so that the second is the oldest.
        assert!(cache.get("one").is_some());
        cache.put("four", &entry(1_000));
        assert_eq!(
            ["one", "two", "three", "four"].map(|key| cache.get(key).is_some()),
            [true, false, true, true]
        );
        cache.put("huge", &entry(4_000));
        assert!(cache.get("huge").is_none());
    }

    #[test]
    fn a_damaged_file_is_as_if_it_were_not_there() {
        let folders = Folders::new();
        let cache = ClientCache::at(folders.path("client"));
        folders.write("client/key", "nothing");
        assert_eq!(cache.get("key"), None);
        folders.write("client/key", "{}\nbody");
        assert_eq!(cache.get("key"), None);
    }

    #[test]
    fn headers_say_what_is_stored_and_for_how_long_it_is_used_without_asking() {
        let stored = |control: &'static str| {
            let headers = [
                (ETAG, HeaderValue::from_static("\"a\"")),
                (CACHE_CONTROL, HeaderValue::from_static(control)),
            ];
            let entry = CachedEntry::from_response(&HeaderMap::from_iter(headers), b"{}")?;
            Some(entry.head.fresh_until - entry.head.validated)
        };
        assert_eq!(stored("public, no-cache"), Some(0));
        assert_eq!(stored("public, max-age=86400, immutable"), Some(86_400));
        assert_eq!(stored("no-store"), None);
        assert_eq!(CachedEntry::from_response(&HeaderMap::new(), b"{}"), None);
    }

    #[test]
    fn nobody_finds_the_responses_of_another() {
        assert_eq!(key("a", "b"), key("a", "b"));
        assert_ne!(key("a", "b"), key("ab", ""));
        assert_ne!(key("a", "b"), key("c", "b"));
    }
}
