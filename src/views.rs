//! Views: what is served, each over its own protocol. They read snapshots and change nothing.

pub mod graphql;
pub mod http;
pub mod playground;

/// Where icons are served, each by the digest of its image.
pub const ICONS: &str = "/icons/";
