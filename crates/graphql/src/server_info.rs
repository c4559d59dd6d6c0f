//! Version and configuration of the server, for the type `Server`.

use fbc_grammar::Digest;
use sha2::{Digest as _, Sha256};

use super::documents::DocumentPolicy;
use super::schema::SDL;

/// Facts of the program that runs the engine.
#[derive(Clone, Debug)]
pub struct ServerInfo {
    /// Version of the program.
    pub version: String,
    /// Commit that it was built from; `None` if unknown.
    pub commit: Option<String>,
    /// URL of the playground, relative to the endpoint; `None` if there is none.
    pub playground_url: Option<String>,
}

/// State of the type `Server` besides the limits.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerState {
    pub(super) info: ServerInfo,
    pub(super) policy: DocumentPolicy,
}

impl Default for ServerInfo {
    fn default() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: None,
            playground_url: None,
        }
    }
}

/// SHA-256 of the text of the schema.
pub(super) fn schema_digest() -> Digest {
    Digest::new(Sha256::digest(SDL).into())
}
