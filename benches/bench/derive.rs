//! The yardstick of execution: the same fields written with async-graphql's derive macros over the
//! same index.

use std::sync::Arc;

use async_graphql::{EmptyMutation, EmptySubscription, ID, Object, Schema};
use fbc::Catalog;

/// A schema of one query that answers a page of bundles.
pub(crate) type Yardstick = Schema<Query, EmptyMutation, EmptySubscription>;

/// Builds it over a catalog.
pub(crate) fn yardstick(catalog: Arc<Catalog>) -> Yardstick {
    Schema::build(Query(catalog), EmptyMutation, EmptySubscription).finish()
}

pub(crate) struct Query(Arc<Catalog>);

struct Page {
    catalog: Arc<Catalog>,
    first: usize,
}

struct Bundle {
    catalog: Arc<Catalog>,
    place: usize,
}

#[Object]
impl Query {
    async fn bundles(&self, first: Option<i32>) -> Page {
        let first = usize::try_from(first.unwrap_or(50)).unwrap_or_default();
        Page {
            catalog: Arc::clone(&self.0),
            first,
        }
    }
}

#[Object]
impl Page {
    async fn nodes(&self) -> Vec<Bundle> {
        let count = self.first.min(self.catalog.bundles().len());
        (0..count)
            .map(|place| Bundle {
                catalog: Arc::clone(&self.catalog),
                place,
            })
            .collect()
    }
}

#[Object]
impl Bundle {
    async fn id(&self) -> ID {
        let bundle = self.catalog.bundle_at(self.place);
        ID(format!(
            "Bundle/{}/{}",
            bundle.package().name(),
            bundle.name()
        ))
    }

    async fn name(&self) -> &str {
        self.catalog.bundle_at(self.place).name()
    }

    async fn version(&self) -> Option<&str> {
        self.catalog.bundle_at(self.place).version()
    }

    async fn release(&self) -> Option<&str> {
        self.catalog.bundle_at(self.place).release()
    }

    async fn image(&self) -> String {
        self.catalog
            .bundle_at(self.place)
            .image()
            .decode()
            .into_owned()
    }
}
