//! Continue tokens: the position at which the next page of a list begins.

use base64::prelude::{BASE64_URL_SAFE_NO_PAD, Engine as _};
use serde::{Deserialize, Serialize};

use crate::status::Status;

/// The position after a page. Its text is opaque to clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContinueToken {
    /// Hash of the contents that the list shows. `None` continues in the current state, which may
    /// differ from that of the pages before.
    pub(crate) contents: Option<u64>,
    /// The last object of the page.
    #[serde(rename = "after")]
    pub(crate) after: ListPosition,
}

/// The position of an object in the order of lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListPosition {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) catalog: String,
}

impl ContinueToken {
    pub(crate) fn parse(token: &str) -> Result<Self, Status> {
        let json = BASE64_URL_SAFE_NO_PAD.decode(token).ok();
        let parsed = json.and_then(|json| serde_json::from_slice(&json).ok());
        parsed.ok_or_else(|| Status::bad_request(format!("continue key is not valid: \"{token}\"")))
    }

    pub(crate) fn encode(&self) -> String {
        BASE64_URL_SAFE_NO_PAD
            .encode(serde_json::to_vec(self).expect("strings and numbers are JSON"))
    }
}
