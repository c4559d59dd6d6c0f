//! Cache of the schemas of catalogs. A schema is inferred from a content at its first request, and
//! cached for a few contents that are served.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use admission::Peer;
use fbc::Catalog;
use fbc::work::{UNIT, Work};
use fbc_grammar::Digest;
use graphql::Engine;
use graphql::errors::{Code, Error};
use graphql::runtime_schema::RuntimeSchema;
use serving::{Content, Snapshot};
use tokio::sync::SetOnce;

use super::metrics::{AlphaMetrics, BuildResult};
use super::sdl;
use super::types::{CatalogTypes, InferenceError, OmittedType};

/// Maximum number of cached schemas.
pub const MAX_CACHED_SCHEMAS: usize = 16;

/// Maximum memory of all cached schemas, in bytes (approximate).
pub const MAX_SCHEMA_BYTES: usize = 64 << 20;

/// Maximum time of inferring a schema.
pub const BUILD_TIME: Duration = Duration::from_secs(10);

/// Work in nanoseconds between two readings of the clock.
const CHECK_WORK: u64 = 1_000 * UNIT;

/// Memory of a parsed schema in bytes, for each byte of its text (approximate).
const BYTES_PER_SDL_BYTE: usize = 12;

/// The schema of a catalog.
pub(crate) struct CatalogSchema {
    pub(crate) types: CatalogTypes,
    pub(crate) schema: RuntimeSchema,
    /// Memory in bytes (approximate).
    bytes: usize,
}

/// A schema, or the error of every request that needs it.
pub(crate) type BuiltSchema = Result<Arc<CatalogSchema>, Error>;

/// Schemas that are cached or being inferred.
pub(crate) struct SchemaCache {
    /// In the order of their last use, the most recent one last.
    ///
    /// Not a [`serving::BoundedCache`]: there are at most 16, an entry is cached before its schema
    /// exists so that concurrent requests share it, and its size is known only then.
    entries: Mutex<VecDeque<SchemaEntry>>,
    metrics: Arc<AlphaMetrics>,
}

#[derive(Clone)]
struct SchemaEntry {
    digest: Digest,
    built: Arc<SetOnce<BuiltSchema>>,
}

impl SchemaEntry {
    fn bytes(&self) -> usize {
        self.built
            .get()
            .map_or(0, |built| built.as_ref().map_or(0, |schema| schema.bytes))
    }
}

impl SchemaCache {
    pub(crate) fn new(metrics: Arc<AlphaMetrics>) -> Self {
        Self {
            entries: Mutex::default(),
            metrics,
        }
    }

    /// Returns the schema of a content, from the cache if possible. Concurrent requests share one
    /// inference.
    pub(crate) async fn get(
        self: &Arc<Self>,
        engine: &Arc<Engine>,
        peer: Peer,
        content: &Content,
    ) -> BuiltSchema {
        let (entry, is_new) = self.entry(content.digest);
        if is_new {
            let schemas = Arc::clone(self);
            let engine = Arc::clone(engine);
            let entry = entry.clone();
            let catalog = Arc::clone(&content.catalog);
            // A task of its own, because other requests wait for it when the first is cancelled.
            tokio::spawn(async move { schemas.build(&engine, peer, catalog, entry).await });
        }
        entry.built.wait().await.clone()
    }

    async fn build(&self, engine: &Engine, peer: Peer, catalog: Arc<Catalog>, entry: SchemaEntry) {
        let built = engine.run_offloaded(peer, move |_| build(&catalog)).await;
        let (result, built, is_cached) = match built {
            Ok(Ok(schema)) => (BuildResult::Ok, Ok(Arc::new(schema)), true),
            // Cached, because the same content has the same error.
            Ok(Err(error)) => (
                BuildResult::Refused,
                Err(request_error(&error)),
                error != InferenceError::Stopped,
            ),
            Err(error) => (BuildResult::Overloaded, Err(error), false),
        };
        self.metrics.builds[result].inc();
        if let Ok(schema) = &built {
            log_omitted(&schema.types.omitted);
        }
        let _ = entry.built.set(built);
        let mut entries = self.lock();
        if !is_cached {
            entries.retain(|other| !Arc::ptr_eq(&other.built, &entry.built));
        }
        while entries.len() > 1
            && entries.iter().map(SchemaEntry::bytes).sum::<usize>() > MAX_SCHEMA_BYTES
        {
            entries.pop_front();
        }
        self.count(&entries);
    }

    /// Returns the entry of a content, and whether it is new.
    fn entry(&self, digest: Digest) -> (SchemaEntry, bool) {
        let mut entries = self.lock();
        let found = entries
            .iter()
            .position(|entry| entry.digest == digest)
            .and_then(|at| entries.remove(at));
        let is_new = found.is_none();
        let entry = found.unwrap_or_else(|| SchemaEntry {
            digest,
            built: Arc::new(SetOnce::new()),
        });
        if entries.len() >= MAX_CACHED_SCHEMAS {
            entries.pop_front();
        }
        entries.push_back(entry.clone());
        self.count(&entries);
        (entry, is_new)
    }

    /// Drops the schemas of contents that are not served any more.
    pub(crate) fn evict_stale(&self, snapshot: &Snapshot) {
        let is_served = |digest: Digest| {
            snapshot
                .by_name()
                .any(|served| served.content.digest == digest)
        };
        let mut entries = self.lock();
        entries.retain(|entry| is_served(entry.digest));
        self.count(&entries);
    }

    fn count(&self, entries: &VecDeque<SchemaEntry>) {
        self.metrics.schemas.set(entries.len() as u64);
        self.metrics
            .schema_bytes
            .set(entries.iter().map(SchemaEntry::bytes).sum::<usize>() as u64);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<SchemaEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn build(catalog: &Catalog) -> Result<CatalogSchema, InferenceError> {
    let deadline = Instant::now() + BUILD_TIME;
    let check = |drawn: u64| (Instant::now() < deadline).then(|| drawn.saturating_add(CHECK_WORK));
    let types = CatalogTypes::infer(catalog, &Work::new(&check))?;
    let sdl = sdl::write(&types);
    let schema = RuntimeSchema::parse(&sdl).map_err(InferenceError::Invalid)?;
    Ok(CatalogSchema {
        bytes: types.bytes() + sdl.len() * BYTES_PER_SDL_BYTE,
        types,
        schema,
    })
}

/// Returns the error of every request about a catalog without a schema.
fn request_error(error: &InferenceError) -> Error {
    let code = match error {
        InferenceError::Stopped => Code::Timeout,
        InferenceError::Invalid(_) => Code::Internal,
        _ => Code::CostEstimated,
    };
    let message = format!(
        "cannot make a GraphQL schema of the catalog: {error}: /graphql serves every catalog"
    );
    Error::request(code, message)
}

fn log_omitted(omitted: &[OmittedType]) {
    if let Some(first) = omitted.first() {
        let count = omitted.len();
        tracing::warn!(%first, count, "GraphQL name collision, field omitted");
    }
}
