//! Tokens with which a list goes on where its last page ended.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde::{Deserialize, Serialize};

use crate::status::Status;

/// Where a list goes on. Clients must not look into its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Continuation {
    /// Resource version of the first page; `None` goes on in whatever state there is, which may
    /// differ from that of the pages before.
    #[serde(rename = "rv")]
    pub(crate) revision: Option<u64>,
    /// Namespace, name and catalog of the last object.
    #[serde(rename = "after")]
    pub(crate) after: (String, String, String),
}

impl Continuation {
    pub(crate) fn parse(token: &str) -> Result<Self, Status> {
        let json = BASE64_URL_SAFE_NO_PAD.decode(token).ok();
        let parsed = json.and_then(|json| serde_json::from_slice(&json).ok());
        parsed.ok_or_else(|| Status::bad_request(format!("continue key is not valid: \"{token}\"")))
    }

    pub(crate) fn token(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).expect("texts and numbers are JSON"))
    }
}
