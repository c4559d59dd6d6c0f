//! Authorization of WebSocket clients. Browsers cannot send a token with the handshake, so it comes
//! with the first message.

use std::sync::Arc;

use axum::http::HeaderValue;
use futures_util::future::BoxFuture;
use serving::Catalogs;

use super::{Close, close};

/// Function that authorizes the client of a WebSocket by the `Authorization` in the payload of its
/// `connection_init`. An authorizing layer inserts it into the extensions of the handshake's
/// request.
#[derive(Clone)]
pub struct ConnectionAuthorizer(Arc<dyn Fn(Option<HeaderValue>) -> Authorizing + Send + Sync>);

/// The catalogs that a client may see, in the future.
pub type Authorizing = BoxFuture<'static, Result<Catalogs, ConnectionInitError>>;

/// Error of authorizing a WebSocket client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionInitError {
    /// The client has no credentials, and anonymous callers see nothing. The connection is closed
    /// with 4401.
    Unauthenticated,
    /// The credentials are not valid. The connection is closed with 4403.
    Forbidden,
    /// The authorizer does not answer. The connection is closed with 1013.
    Undecided,
}

impl ConnectionAuthorizer {
    /// Creates an authorizer from a function of the client's `Authorization`.
    pub fn new(
        authorize: impl Fn(Option<HeaderValue>) -> Authorizing + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(authorize))
    }

    /// Returns the catalogs that the client may see, or closes its connection.
    pub(super) async fn authorize(
        &self,
        authorization: Option<HeaderValue>,
    ) -> Result<Catalogs, Close> {
        match (self.0)(authorization).await {
            Ok(catalogs) => Ok(catalogs),
            Err(ConnectionInitError::Unauthenticated) => close(4401, "Unauthorized"),
            Err(ConnectionInitError::Forbidden) => close(4403, "Forbidden"),
            Err(ConnectionInitError::Undecided) => close(1013, "Try again later"),
        }
    }
}
