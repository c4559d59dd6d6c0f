//! Views: what is served, each over its own protocol. They read snapshots and change nothing.

pub mod graphql;
