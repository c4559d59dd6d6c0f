//! Downloads files and catalogs from HTTP servers, and folders of git repositories.
//!
//! A download is one conditional request: an unchanged file costs a small response. Bytes arrive in a
//! file of the caller, hashed on the fly, and an interrupted download is resumed. Credentials belong
//! to prefixes of URLs and are sent to nobody else; redirects, sizes and times are bounded. The crate
//! does not interpret what it downloads, and reads no configuration except for the files that its
//! settings name.

mod auth;
mod client;
mod error;
mod fetch;
mod follow;
#[cfg_attr(not(feature = "source-git"), path = "no_git.rs")]
mod git;
mod git_fetch;
mod git_limits;
mod git_reason;
mod git_ref;
mod limits;
mod metrics;
mod redirect;
mod reference;
mod validators;
mod via;

pub use auth::{AuthEntry, Basic, Bearer, ClientCertificate, HttpAuthError, MAX_SECRET_BYTES};
pub use client::{HttpClient, HttpSettings, MAX_CONNECTIONS_PER_HOST, MAX_DOWNLOADS};
pub use error::RemoteError;
pub use fetch::{Download, Fetch, Fetched};
pub use follow::{
    FollowedServer, FollowedState, ListedCatalog, ListedCatalogs, MAX_ANNOUNCEMENT_BYTES,
    MAX_FOLLOWED_CATALOGS, MAX_LIST_BYTES, MAX_RECONNECT, REMOVED_AFTER,
};
pub use git::GitDownload;
#[cfg(feature = "source-git")]
pub use git::read_pack;
pub use git_fetch::{GitFetch, GitFetched};
pub use git_limits::{
    MAX_DELTA_DEPTH, MAX_DELTA_MEMORY_BYTES, MAX_DELTA_OBJECT_BYTES, MAX_OBJECTS_BYTES,
    MAX_PACK_BYTES, MAX_PACK_OBJECTS, MAX_READ_BYTES, MAX_REF_BYTES, MAX_REFS_BYTES,
    MAX_STRUCTURE_BYTES, MAX_TAG_HOPS, MAX_TREE_DEPTH, MAX_TREE_NAME_BYTES,
};
pub use git_reason::GitReason;
pub use limits::FetchLimits;
pub use metrics::{RemoteKind, RequestResult, remote_requests};
pub use redirect::MAX_REDIRECTS;
pub use reference::{ReferenceError, RemoteReference};
pub use validators::{MAX_FRESH, MAX_VALIDATOR_BYTES, Validators};
pub use via::{MAX_HOPS, VIA};
