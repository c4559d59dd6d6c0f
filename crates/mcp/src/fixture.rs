//! Catalogs for the tests of this crate.

use std::sync::Arc;

use fbc_grammar::Digest;
use graphql::Engine;
use graphql::limits::Limits;
use serving::{CatalogMetadata, Catalogs, Content, Served, catalogs};
use testing::fixture;

/// A package with upgrades, a dependency and a deprecation.
const CATALOG: &str = r#"
    package etcd default=stable
    channel stable: v0.9.0 <- v0.9.2 <- v0.9.4
    bundle v0.9.4 needs=vault@>=1.0.0 display="etcd" describes="A store of keys." provider="CoreOS" provides=etcd.io/v1/Etcd
    deprecated bundle v0.9.0 "it loses data"
    package vault default=stable
    channel stable: v1.0.0
    bundle v1.0.0 display="Vault"
"#;

/// Returns catalogs with one catalog `main`.
pub(crate) fn main_catalog() -> Catalogs {
    of(CATALOG)
}

/// Returns catalogs with one catalog `main` of this fixture.
pub(crate) fn of(text: &str) -> Catalogs {
    let (mut writer, catalogs) = catalogs();
    let content = Content::new(fixture::catalog(text), Digest::new([1; 32]));
    writer.publish(Served::new("main", content, CatalogMetadata::default()));
    catalogs
}

/// Returns an engine over catalogs.
pub(crate) fn engine(catalogs: Catalogs) -> Arc<Engine> {
    Arc::new(Engine::new(catalogs, "test", Limits::default()))
}
