//! Two small catalogs, and an engine over them.

use fbc_grammar::Digest;
use graphql::Engine;
use graphql::limits::Limits;
use serving::{CatalogMetadata, Content, Served, catalogs};

/// A catalog with two packages.
pub(crate) const ALPHA: &str = "
    package etcd default=stable description=store
    channel stable: v1.0.0 <- v1.1.0 <- v1.2.0
    bundle v1.2.0 provides=etcd.io/v1/Etcd display=etcd keywords=store,database
    package zoo default=stable
    channel stable: v1.0.0
";

/// A catalog with another `etcd`.
pub(crate) const BETA: &str = "
    package etcd default=stable
    channel stable: v1.1.0
";

/// Digest of the content of the catalog `alpha`.
pub(crate) const ALPHA_DIGEST: &str =
    "sha256:0101010101010101010101010101010101010101010101010101010101010101";

/// An engine over both catalogs.
pub(crate) fn engine(limits: Limits) -> Engine {
    let (mut writer, reader) = catalogs();
    writer.publish(served("alpha", ALPHA, 1));
    writer.publish(served("beta", BETA, 2));
    Engine::new(reader, "test", limits)
}

/// A catalog whose content has a digest of equal bytes.
pub(crate) fn served(name: &str, fixture: &str, digest: u8) -> Served {
    Served::new(
        name,
        Content::new(
            testing::fixture::catalog(fixture),
            Digest::new([digest; 32]),
        ),
        CatalogMetadata::default(),
    )
}
