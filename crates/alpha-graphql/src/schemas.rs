//! The schemas of catalogs: made of a content when it is first asked for, and kept for a few
//! contents that are served.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fbc::Catalog;
use fbc::work::{UNIT, Work};
use fbc_grammar::Digest;
use graphql::Engine;
use graphql::errors::{Code, Error};
use graphql::runtime_schema::RuntimeSchema;
use http_facts::peer::Peer;
use serving::{Content, Snapshot};
use tokio::sync::SetOnce;

use super::metrics::{AlphaMetrics, BuildResult};
use super::sdl;
use super::shape::{LeftOut, Shape, ShapeError};

/// Maximum number of contents whose schemas are kept.
pub const MAX_SCHEMAS_KEPT: usize = 16;

/// Maximum memory of the schemas that are kept, in bytes, roughly.
pub const MAX_SCHEMA_BYTES: usize = 64 << 20;

/// Maximum time in which a schema is made.
pub const BUILD_TIME: Duration = Duration::from_secs(10);

/// Nanoseconds of work between two looks at the clock.
const CHECK_WORK: u64 = 1_000 * UNIT;

/// Memory of a parsed schema in bytes, for each byte of its text, roughly.
const BYTES_PER_SDL_BYTE: usize = 12;

/// The schema of a catalog.
pub(crate) struct CatalogSchema {
    pub(crate) shape: Shape,
    pub(crate) schema: RuntimeSchema,
    /// Its memory in bytes, roughly.
    bytes: usize,
}

/// A schema, or why there is none.
pub(crate) type BuiltSchema = Result<Arc<CatalogSchema>, Error>;

/// The schemas that are kept, or being made.
pub(crate) struct Schemas {
    /// The one that was used last is the last one.
    kept: Mutex<VecDeque<Entry>>,
    metrics: Arc<AlphaMetrics>,
}

#[derive(Clone)]
struct Entry {
    digest: Digest,
    built: Arc<SetOnce<BuiltSchema>>,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.built
            .get()
            .map_or(0, |built| built.as_ref().map_or(0, |schema| schema.bytes))
    }
}

impl Schemas {
    pub(crate) fn new(metrics: Arc<AlphaMetrics>) -> Self {
        Self {
            kept: Mutex::default(),
            metrics,
        }
    }

    /// Returns the schema of a content, and makes it if it is not kept: once, however many ask at
    /// one time.
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
            // It goes on when the one that asked first has left, because others may wait.
            tokio::spawn(async move { schemas.build(&engine, peer, catalog, entry).await });
        }
        entry.built.wait().await.clone()
    }

    async fn build(&self, engine: &Engine, peer: Peer, catalog: Arc<Catalog>, entry: Entry) {
        let built = engine.run_in_turn(peer, move |_| build(&catalog)).await;
        let (result, built, is_kept) = match built {
            Ok(Ok(schema)) => (BuildResult::Ok, Ok(Arc::new(schema)), true),
            // It would be the same each time.
            Ok(Err(error)) => (
                BuildResult::Refused,
                Err(refused(&error)),
                error != ShapeError::Stopped,
            ),
            Err(error) => (BuildResult::Overloaded, Err(error), false),
        };
        self.metrics.builds[result].increment();
        if let Ok(schema) = &built {
            log(&schema.shape.left_out);
        }
        let _ = entry.built.set(built);
        let mut kept = self.lock();
        if !is_kept {
            kept.retain(|other| !Arc::ptr_eq(&other.built, &entry.built));
        }
        while kept.len() > 1 && kept.iter().map(Entry::bytes).sum::<usize>() > MAX_SCHEMA_BYTES {
            kept.pop_front();
        }
        self.count(&kept);
    }

    /// Returns the entry of a content, and whether it was not there.
    fn entry(&self, digest: Digest) -> (Entry, bool) {
        let mut kept = self.lock();
        let found = kept
            .iter()
            .position(|entry| entry.digest == digest)
            .and_then(|at| kept.remove(at));
        let is_new = found.is_none();
        let entry = found.unwrap_or_else(|| Entry {
            digest,
            built: Arc::new(SetOnce::new()),
        });
        if kept.len() >= MAX_SCHEMAS_KEPT {
            kept.pop_front();
        }
        kept.push_back(entry.clone());
        self.count(&kept);
        (entry, is_new)
    }

    /// Drops the schemas of contents that are not served any more.
    pub(crate) fn evict_stale(&self, snapshot: &Snapshot) {
        let is_served = |digest: Digest| {
            snapshot
                .by_name()
                .any(|served| served.content.digest == digest)
        };
        let mut kept = self.lock();
        kept.retain(|entry| is_served(entry.digest));
        self.count(&kept);
    }

    fn count(&self, kept: &VecDeque<Entry>) {
        self.metrics.schemas.set(kept.len() as u64);
        self.metrics
            .schema_bytes
            .set(kept.iter().map(Entry::bytes).sum::<usize>() as u64);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn build(catalog: &Catalog) -> Result<CatalogSchema, ShapeError> {
    let deadline = Instant::now() + BUILD_TIME;
    let check = |drawn: u64| (Instant::now() < deadline).then(|| drawn.saturating_add(CHECK_WORK));
    let shape = Shape::of(catalog, &Work::new(&check))?;
    let sdl = sdl::write(&shape);
    let schema = RuntimeSchema::parse(&sdl).map_err(ShapeError::Invalid)?;
    Ok(CatalogSchema {
        bytes: shape.bytes() + sdl.len() * BYTES_PER_SDL_BYTE,
        shape,
        schema,
    })
}

/// The error of every request about a catalog without a schema.
fn refused(error: &ShapeError) -> Error {
    let code = match error {
        ShapeError::Stopped => Code::Timeout,
        ShapeError::Invalid(_) => Code::Internal,
        _ => Code::CostEstimated,
    };
    let message = format!(
        "cannot make a GraphQL schema of the catalog: {error}: /graphql serves every catalog"
    );
    Error::request(code, message)
}

fn log(left_out: &[LeftOut]) {
    if let Some(first) = left_out.first() {
        let count = left_out.len();
        tracing::warn!(%first, count, "names of a catalog meet in catalogd's GraphQL dialect");
    }
}
