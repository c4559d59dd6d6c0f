//! Contents of images in a shared store: found before an image is pulled, and uploaded afterwards.
//!
//! A content is used only for the digest that the registry named and the signature policy accepted.
//! Whatever is wrong with the shared store, the image is pulled as without it.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytes::Bytes;
use fbc_grammar::Digest;
use http_content::coding::{Coding, CompressionLevel};
use images::install_crypto_provider;
use serving::Content;
use shared_store::{Lookup, SharedContent, SharedStore, SharedStoreError, Upload, UploadTicket};
use store::{ContentWriter, SourceState, StoreError, UnnamedFile};

use crate::LoadError;
use crate::low_priority::{COMPRESSING_NICENESS, panic_message, spawn_low_priority};
use crate::metrics::Stage;
use crate::pipeline::LoadPipeline;

/// The result of a search for the content of an image.
pub(crate) enum SharedSearch {
    Found(Content),
    /// The image must be pulled; the ticket lets its content be uploaded.
    Absent(UploadTicket),
    NoStore,
}

/// Reasons for which a downloaded content is not used.
#[derive(Debug, thiserror::Error)]
enum SharedContentError {
    #[error("its lines cannot be decompressed: {0}")]
    Compression(io::Error),
    #[error("its lines have another length than its record says")]
    Length,
    #[error("its lines do not have the digest `{0}`")]
    Digest(Digest),
    #[error("its analysis is damaged, or of another build")]
    Analysis,
    #[error("reading it panicked: {0}")]
    Panicked(String),
    #[error("{}", .0.chain())]
    Load(LoadError),
}

/// Writes decompressed lines to the store, up to a length.
struct BoundedLines<'w, 'a> {
    to: &'w mut ContentWriter<'a>,
    left: u64,
    /// The error of the store, which `io::Error` cannot carry.
    failed: Option<StoreError>,
}

/// Opens the shared store that a URL names. `build` identifies the code that reads contents. It sends
/// no request.
pub fn open_shared_store(url: &str, build: &str) -> Result<Arc<SharedStore>, SharedStoreError> {
    install_crypto_provider();
    SharedStore::open(url, build)
}

impl LoadPipeline {
    /// Finds the content of a state of an image in the shared store, and adds it to the store.
    pub(crate) async fn find_shared(
        self: &Arc<Self>,
        key: &str,
        state: &SourceState,
    ) -> Result<SharedSearch, LoadError> {
        let (Some(shared), Some(revision)) = (&self.shared, &state.revision) else {
            return Ok(SharedSearch::NoStore);
        };
        let scratch = self.contents.store.create_scratch_folder()?;
        let found = match shared.find(revision, scratch.path()).await {
            Lookup::Found(found) => found,
            Lookup::Absent(ticket) => return Ok(SharedSearch::Absent(ticket)),
        };
        let key = key.to_owned();
        let state = state.clone();
        self.run_serialized(move |pipeline| {
            // A bucket is not trusted more than an image is, whose panics fail a load: here they must not.
            let add = AssertUnwindSafe(|| pipeline.add_shared(&key, &state, &found));
            let added = catch_unwind(add)
                .unwrap_or_else(|panic| Err(SharedContentError::Panicked(panic_message(&*panic))));
            // The download is removed once it was read.
            drop(scratch);
            Ok(match added {
                Ok(content) => {
                    found.accept();
                    SharedSearch::Found(content)
                }
                // A full disk or quota of this replica.
                Err(error @ SharedContentError::Load(LoadError::Store(_))) => {
                    SharedSearch::Absent(found.give_up(&error))
                }
                Err(error) => SharedSearch::Absent(found.reject(&error)),
            })
        })
        .await
    }

    /// Uploads the content of an image that was just pulled, in the background.
    pub(crate) fn share(&self, ticket: UploadTicket, key: &str, content: &Content) {
        let Some(shared) = self.shared.clone() else {
            return;
        };
        let Some(analysis) = self.contents.store.analysis_file(key) else {
            return;
        };
        let folder = self.contents.store.folder().to_owned();
        let content = content.clone();
        // The task outlives the loader, and does not hold the store.
        tokio::spawn(async move {
            let compress = async {
                let compressed = spawn_low_priority(COMPRESSING_NICENESS, move || {
                    let lines = content.catalog.content();
                    let mut file = UnnamedFile::create_in(&folder)?;
                    Coding::Zstd
                        .compress(lines, CompressionLevel::Fast, &mut file)
                        .map_err(|source| StoreError::Io {
                            action: "write a file in",
                            path: folder,
                            source,
                        })?;
                    Ok::<_, StoreError>(Upload {
                        digest: content.digest,
                        bytes: lines.len() as u64,
                        compressed: file.map()?,
                        analysis: Bytes::from(analysis),
                    })
                });
                let compressed = match compressed.await {
                    Ok(compressed) => compressed.map_err(LoadError::Store),
                    Err(error) => Err(error),
                };
                let log = |error: &LoadError| {
                    tracing::warn!(
                        error = error.chain(),
                        "cannot compress a content for the shared store"
                    );
                };
                compressed.inspect_err(log).ok()
            };
            shared.upload(ticket, compress).await;
        });
    }

    /// Adds a downloaded content to the store, after its digest was verified.
    fn add_shared(
        &self,
        key: &str,
        state: &SourceState,
        found: &SharedContent,
    ) -> Result<Content, SharedContentError> {
        let store = &self.contents.store;
        let analysis = store
            .parse_analysis(found.analysis())
            .ok_or(SharedContentError::Analysis)?;
        let mut writer = store.writer().map_err(SharedContentError::store)?;
        let left = write_lines(found.compressed(), found.bytes(), &mut writer)?;
        if left != 0 {
            return Err(SharedContentError::Length);
        }
        let digest = found.digest();
        let written = writer
            .finish_as(&digest)
            .map_err(SharedContentError::store)?
            .ok_or(SharedContentError::Digest(digest))?;
        let indexed = self.time(Stage::Index, || {
            self.contents.add_analyzed(key, state, written, &analysis)
        });
        indexed.map_err(SharedContentError::Load)
    }
}

impl SharedContentError {
    fn store(error: StoreError) -> Self {
        Self::Load(LoadError::Store(error))
    }
}

/// Decompresses lines into the store. Returns the number of bytes that are missing.
fn write_lines(
    compressed: &File,
    bytes: u64,
    writer: &mut ContentWriter<'_>,
) -> Result<u64, SharedContentError> {
    let mut lines = BoundedLines {
        to: writer,
        left: bytes,
        failed: None,
    };
    let decompressed = Coding::Zstd.decompress(BufReader::new(compressed), &mut lines);
    if let Some(error) = lines.failed {
        return Err(SharedContentError::store(error));
    }
    decompressed.map_err(SharedContentError::Compression)?;
    Ok(lines.left)
}

impl Write for BoundedLines<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left =
            left.ok_or_else(|| io::Error::other("they are longer than their record says"))?;
        if let Err(error) = self.to.write(bytes) {
            self.failed = Some(error);
            return Err(io::Error::other("the store is full"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
