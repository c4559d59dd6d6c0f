//! Cache of rendered `PackageManifest`s, outside the heap.
//!
//! The `status` of a manifest depends on the content of its catalog alone, neither on the request
//! nor on the object that the catalog comes from. It is written once, when the manifests of a
//! content are listed, to an unlinked temporary file that is mapped into memory; lists and
//! responses send it from there. For lists that are compressed, each manifest is compressed once.
//!
//! A cache lives as long as a published state has its content. All caches share a budget; a
//! manifest that is not cached is made from the canonical lines for each response.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http_content::coding::CompressionLevel;
use http_content::joined_gzip::{Checksum, PieceEncoder};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of bytes of cached manifests, compressed forms included.
pub const MANIFEST_CACHE_BYTES: usize = 256 * 1024 * 1024;

/// Number of bytes of a unit of the budget: the permits of a semaphore are 32-bit numbers.
const UNIT_BYTES: usize = 1024;

/// A file of cached manifests.
pub trait ManifestFile: Write + Send {
    /// Returns the bytes that were written, mapped into memory.
    ///
    /// # Errors
    /// The file cannot be mapped.
    fn map(self: Box<Self>) -> io::Result<Bytes>;
}

/// Creates a file for cached manifests.
pub type CreateManifestFile = Arc<dyn Fn() -> io::Result<Box<dyn ManifestFile>> + Send + Sync>;

/// The bytes that all caches may hold, and the source of their files.
#[derive(Clone)]
pub(crate) struct ManifestCacheBudget {
    create: Option<CreateManifestFile>,
    units: Arc<Semaphore>,
}

/// The cached manifests of one content.
#[derive(Debug)]
pub(crate) struct ManifestCache {
    budget: ManifestCacheBudget,
    /// Contains `None` if the manifests did not fit into the budget or could not be written.
    plain: OnceLock<Option<CachedTexts<()>>>,
    deflated: OnceLock<Option<CachedTexts<Checksum>>>,
}

/// Texts in one file, each with a value.
#[derive(Debug)]
struct CachedTexts<T> {
    bytes: Bytes,
    /// Sorted by the index of the package.
    texts: Vec<CachedText<T>>,
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug)]
struct CachedText<T> {
    /// Index of the package in its catalog.
    package: usize,
    range: Range<usize>,
    value: T,
}

/// Writes the texts of a cache to a file.
pub(crate) struct ManifestCacheWriter<T> {
    budget: ManifestCacheBudget,
    /// `None` after a text that did not fit or could not be written.
    file: Option<BudgetedFile>,
    length: usize,
    texts: Vec<CachedText<T>>,
}

/// A file with the part of the budget that its bytes take.
struct BudgetedFile {
    file: Box<dyn ManifestFile>,
    permit: OwnedSemaphorePermit,
}

/// A cached manifest. Clones are cheap.
#[derive(Clone, Debug)]
pub(crate) struct CachedManifest {
    cache: Arc<ManifestCache>,
    /// Index of the package in its catalog.
    package: usize,
    /// The JSON text, uncompressed.
    pub(crate) plain: Bytes,
}

impl ManifestCacheBudget {
    /// Creates a budget of this many bytes.
    pub(crate) fn new(create: Option<CreateManifestFile>, bytes: usize) -> Self {
        Self {
            create,
            units: Arc::new(Semaphore::new(bytes / UNIT_BYTES)),
        }
    }

    fn acquire(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).ok()?;
        Arc::clone(&self.units).try_acquire_many_owned(units).ok()
    }

    fn create_file(&self) -> Option<BudgetedFile> {
        let create = self.create.as_ref()?;
        Some(BudgetedFile {
            file: create().ok()?,
            permit: self.acquire(0)?,
        })
    }

    fn writer<T>(&self) -> ManifestCacheWriter<T> {
        ManifestCacheWriter {
            budget: self.clone(),
            file: self.create_file(),
            length: 0,
            texts: Vec::new(),
        }
    }
}

impl<T> ManifestCacheWriter<T> {
    /// Adds the text of a package, whose index is higher than those before it.
    pub(crate) fn push(&mut self, package: usize, text: &[u8], value: T) {
        let Some(mut file) = self.file.take() else {
            return;
        };
        let end = self.length + text.len();
        // A unit that has begun is already acquired.
        let more = end.next_multiple_of(UNIT_BYTES) - self.length.next_multiple_of(UNIT_BYTES);
        let Some(permit) = self.budget.acquire(more) else {
            return;
        };
        if file.file.write_all(text).is_err() {
            return;
        }

        file.permit.merge(permit);
        self.file = Some(file);
        self.texts.push(CachedText {
            package,
            range: self.length..end,
            value,
        });
        self.length = end;
    }

    /// Returns the texts; `None` unless all were written.
    fn finish(self) -> Option<CachedTexts<T>> {
        let file = self.file?;
        Some(CachedTexts {
            bytes: file.file.map().ok()?,
            texts: self.texts,
            _permit: file.permit,
        })
    }
}

impl<T> CachedTexts<T> {
    fn get(&self, package: usize) -> Option<(Bytes, &T)> {
        let at = self
            .texts
            .binary_search_by_key(&package, |text| text.package)
            .ok()?;
        let text = &self.texts[at];
        Some((self.bytes.slice(text.range.clone()), &text.value))
    }
}

impl ManifestCache {
    pub(crate) fn new(budget: &ManifestCacheBudget) -> Arc<Self> {
        Arc::new(Self {
            budget: budget.clone(),
            plain: OnceLock::new(),
            deflated: OnceLock::new(),
        })
    }

    /// Returns a writer for the manifests; `None` if the cache is filled.
    pub(crate) fn writer(&self) -> Option<ManifestCacheWriter<()>> {
        self.plain.get().is_none().then(|| self.budget.writer())
    }

    /// Fills the cache, unless it is filled.
    pub(crate) fn fill(&self, writer: ManifestCacheWriter<()>) {
        let _ = self.plain.set(writer.finish());
    }

    /// Returns the manifest of the package at an index, if it is cached.
    pub(crate) fn get(self: &Arc<Self>, package: usize) -> Option<CachedManifest> {
        let (plain, ()) = self.plain.get()?.as_ref()?.get(package)?;
        Some(CachedManifest {
            cache: Arc::clone(self),
            package,
            plain,
        })
    }

    /// Returns whether the manifests are compressed, or have fewer than `min_bytes` bytes together.
    pub(crate) fn is_deflated(&self, min_bytes: usize) -> bool {
        let plain = self.plain.get().and_then(Option::as_ref);
        self.deflated.get().is_some() || plain.is_none_or(|plain| plain.bytes.len() < min_bytes)
    }

    /// Compresses the manifests, unless they are compressed. It takes a second for 25 MB.
    pub(crate) fn deflate(&self) {
        let Some(plain) = self.plain.get().and_then(Option::as_ref) else {
            return;
        };
        self.deflated.get_or_init(|| {
            let mut encoder = PieceEncoder::new(CompressionLevel::Compact);
            let mut writer = self.budget.writer();
            for text in &plain.texts {
                let (piece, checksum) = encoder.compress(&plain.bytes[text.range.clone()]).ok()?;
                writer.push(text.package, &piece, checksum);
            }
            writer.finish()
        });
    }
}

impl CachedManifest {
    /// Returns the compressed manifest with the checksum of its plain bytes, if there is one.
    pub(crate) fn deflated(&self) -> Option<(Bytes, &Checksum)> {
        self.cache.deflated.get()?.as_ref()?.get(self.package)
    }
}

impl fmt::Debug for ManifestCacheBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManifestCacheBudget")
            .field("units", &self.units.available_permits())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file in memory.
    struct Memory(Vec<u8>);

    impl Write for Memory {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl ManifestFile for Memory {
        fn map(self: Box<Self>) -> io::Result<Bytes> {
            Ok(self.0.into())
        }
    }

    fn fill(budget: &ManifestCacheBudget, texts: &[(usize, &[u8])]) -> Arc<ManifestCache> {
        let cache = ManifestCache::new(budget);
        let mut writer = cache.writer().unwrap();
        for (package, text) in texts {
            writer.push(*package, text, ());
        }
        cache.fill(writer);
        cache
    }

    #[test]
    fn manifests_are_found_by_their_packages_until_the_budget_is_used_up() {
        let budget = ManifestCacheBudget::new(
            Some(Arc::new(|| Ok(Box::new(Memory(Vec::new()))))),
            4 * UNIT_BYTES,
        );
        let long = vec![b'x'; 2 * UNIT_BYTES];
        let first = fill(&budget, &[(1, b"one"), (4, &long)]);
        assert_eq!(first.get(1).unwrap().plain, b"one"[..]);
        assert_eq!(first.get(4).unwrap().plain, long);
        assert!(first.get(2).is_none() && first.writer().is_none());
        assert!(
            fill(&budget, &[(0, b"two"), (1, &long)]).get(0).is_none(),
            "of manifests beyond the budget none is cached"
        );
        assert_eq!(
            fill(&budget, &[(0, b"two")]).get(0).unwrap().plain,
            b"two"[..]
        );
        first.deflate();
        assert!(first.get(4).unwrap().deflated().unwrap().0.len() < 100);
        assert_eq!(budget.units.available_permits(), 0);
        drop(first);
        assert_eq!(budget.units.available_permits(), 4);
    }

    #[test]
    fn without_a_file_nothing_is_cached() {
        let nowhere = ManifestCacheBudget::new(None, MANIFEST_CACHE_BYTES);
        let full: CreateManifestFile = Arc::new(|| Err(io::ErrorKind::StorageFull.into()));
        for budget in [
            nowhere,
            ManifestCacheBudget::new(Some(full), MANIFEST_CACHE_BYTES),
        ] {
            let cache = fill(&budget, &[(0, b"one")]);
            cache.deflate();
            assert!(cache.get(0).is_none() && cache.writer().is_none());
        }
    }
}
