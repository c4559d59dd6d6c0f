//! A server over catalogs: its flags, its sockets, its views with access control, its metrics, and
//! its end. It does not know where catalogs come from: its caller sets what the loader loads.

pub mod args;

mod access;
mod background;
mod edits;
mod grpc;
mod handlers;
mod kube_api;
mod listeners;
mod minimum_revisions;
mod scrapes;
mod server;
mod shared_caches;

pub use access::AccessControl;
pub use background::BackgroundTasks;
pub use minimum_revisions::{
    CHECK_INTERVAL, CHECK_TIMEOUT, NAMED_CONTENTS, REVISION_WAIT, WAITING_REQUESTS,
};
pub use server::{
    CatalogLoader, EditParts, MetricsAccess, Server, ServerParts, ServerSockets, StoreFolder,
    block_on,
};
