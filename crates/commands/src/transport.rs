//! The boundary between commands and GraphQL: a server over HTTP, or an engine in the same
//! process.

use std::future::Future;

use serde_json::Value;

use crate::CommandError;

/// Request for the items of a GraphQL connection.
#[derive(Clone, Debug)]
pub struct ListRequest {
    /// Document with the variables `$first` and `$after`, and the fields `pageInfo` and
    /// `served: catalogs { name digest }`.
    pub document: &'static str,
    /// Variables other than `$first` and `$after`.
    pub variables: Value,
    /// JSON pointer of the connection in the data, such as `/packages`.
    pub connection: &'static str,
    /// Maximum number of items.
    pub limit: usize,
}

/// Executor of GraphQL operations.
///
/// The futures need not be `Send`: a command runs on one thread.
#[expect(
    async_fn_in_trait,
    reason = "both implementations are used on one thread"
)]
pub trait GraphqlTransport {
    /// Executes a document of one operation and returns its data. An error of any field is an error
    /// of the whole. Variables that are `null` count as absent.
    async fn execute(&self, document: &str, variables: &Value) -> Result<Value, CommandError>;

    /// Returns the `nodes` of a connection, all of one content.
    async fn list(&self, request: ListRequest) -> Result<Vec<Value>, CommandError>;

    /// Executes a document on the served catalogs. Returns `None` if they are unknown because the
    /// transport is offline.
    fn served(
        &self,
        document: &'static str,
    ) -> impl Future<Output = Result<Option<Value>, CommandError>> {
        async move { self.execute(document, &Value::Null).await.map(Some) }
    }

    /// Returns the stranded bundles of a channel. The API does not have them, so only a transport
    /// with the catalogs at hand can tell.
    fn stranded(&self, _channel: ChannelName<'_>) -> Vec<String> {
        Vec::new()
    }
}

/// Qualified name of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelName<'a> {
    /// Name of the catalog.
    pub catalog: &'a str,
    /// Name of the package.
    pub package: &'a str,
    /// Name of the channel.
    pub channel: &'a str,
}
