//! Client for catalogql: typed queries over served catalogs of the Operator Lifecycle Manager.
//!
//! ```no_run
//! # async fn example() -> Result<(), catalogql_client::ClientError> {
//! use catalogql_client::{Client, PackageQuery};
//!
//! let client = Client::builder("https://catalogql.example.com").build()?;
//! let found = client.packages(&PackageQuery { search: Some("postgres".to_owned()), ..PackageQuery::default() });
//! for package in found.all().await? {
//!     println!("{} {}", package.name, package.version.unwrap_or_default());
//! }
//! for head in client.heads("etcd", &[]).await? {
//!     println!("{} {} {}", head.catalog, head.channel, head.version.unwrap_or_default());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `kube`, `Client::from_kubeconfig` finds the server of a cluster, and reaches it
//! through the API server.
//!
//! Requests are GETs with the constant text of their document, so that caches and lists of trusted
//! documents know them. A request that fails because the server is busy or away is repeated up to
//! three times. The crate prints nothing, and knows neither commands nor tables.

mod adapt;
mod cache;
mod changes;
mod client;
#[cfg(feature = "kube")]
mod cluster;
mod documents;
mod error;
#[cfg(feature = "kube")]
mod installed;
mod operations;
#[cfg(feature = "kube")]
mod port_forward;
mod retry;
mod transport;
mod types;
mod walk;

pub use cache::{ClientCache, MAX_CACHE_BYTES};
pub use changes::MAX_SILENCE;
pub use client::{Builder, Client, ClientResponse, DEFAULT_TIMEOUT, MAX_GET_BYTES, ResponseOrigin};
#[cfg(feature = "kube")]
pub use cluster::{
    ClusterOptions, ClusterRoute, ForwardedServer, MAX_SERVICE_AGE, current_context,
};
pub use documents::{DOCUMENTS, trusted_documents};
pub use error::ClientError;
#[cfg(feature = "kube")]
pub use installed::{
    ClusterObjects, ClusterPlatform, ClusterReader, ForbiddenKind, InstalledObject,
    MAX_OBJECT_PAGES, MAX_PAGE_OBJECTS, OlmObjects, UnreadKind, installed,
};
pub use retry::{MAX_RETRIES, MAX_RETRY_WAIT};
pub use transport::MAX_RESPONSE_BYTES;
pub use types::{
    BundleQuery, BundleResolution, BundleResolutionFailure, ChangeEvent, ChannelHead,
    ContentChange, ContentDiff, ContentRef, InstalledVersion, ListedBundle, ListedPackage,
    ObjectChange, PackageQuery, ResolveRequest, ResolveResult, UpgradeStep,
};
pub use walk::{MAX_PAGE_SIZE, PageWalk};

/// The page of all clients, whose program is compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/how-to/use-a-client.md")]
struct ProgramsDoc;

/// Result of a request.
pub type Result<T> = std::result::Result<T, ClientError>;
