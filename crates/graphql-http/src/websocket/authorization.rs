//! Who the client of a WebSocket is, where callers are told apart. Browsers cannot send a token
//! with the handshake, so that it comes with the first message.

use std::sync::Arc;

use axum::http::HeaderValue;
use futures_util::future::BoxFuture;
use serving::Catalogs;

use super::{Close, close};

/// Finds out what the client of a WebSocket may see, by the `Authorization` in the payload of its
/// `connection_init`, if there is one. A layer that tells callers apart adds it to the request of
/// the handshake; clones share everything.
#[derive(Clone)]
pub struct ConnectionAuthorizer(Arc<dyn Fn(Option<HeaderValue>) -> Authorizing + Send + Sync>);

/// What a client may see, once that is known.
pub type Authorizing = BoxFuture<'static, Result<Catalogs, InitRefusal>>;

/// Why a client may see nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitRefusal {
    /// It has no credentials, and not everybody may see something. The connection is closed with
    /// 4401.
    Unauthenticated,
    /// Its credentials are not valid. The connection is closed with 4403.
    Forbidden,
    /// It cannot be found out what it may see. The connection is closed with 1013.
    Undecided,
}

impl ConnectionAuthorizer {
    /// Creates it of a function that is called with the `Authorization` of a client.
    pub fn new(
        authorize: impl Fn(Option<HeaderValue>) -> Authorizing + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(authorize))
    }

    /// Returns what the client may see, or closes its connection.
    pub(super) async fn authorize(
        &self,
        authorization: Option<HeaderValue>,
    ) -> Result<Catalogs, Close> {
        match (self.0)(authorization).await {
            Ok(catalogs) => Ok(catalogs),
            Err(InitRefusal::Unauthenticated) => close(4401, "Unauthorized"),
            Err(InitRefusal::Forbidden) => close(4403, "Forbidden"),
            Err(InitRefusal::Undecided) => close(1013, "Try again later"),
        }
    }
}
