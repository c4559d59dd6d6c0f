//! Tools over the standard streams of a process, which an assistant has started.

use std::sync::Arc;

use graphql::Engine;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio_pipes;

use crate::server::ToolServer;

/// Maximum length in bytes of a message on the standard input. A longer one is skipped.
pub const MAX_LINE_BYTES: usize = 1 << 20;

/// Serving on the standard streams failed.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client did not begin as the protocol says.
    #[error(
        "cannot serve on the standard streams: the client sent no valid request for initialization"
    )]
    Initialize,
    /// The task that reads messages ended early.
    #[error("cannot serve on the standard streams: the task ended early")]
    Task(#[source] tokio::task::JoinError),
}

/// Answers calls on the standard streams until the input ends.
///
/// # Errors
/// The first message is no request for initialization.
pub async fn serve_stdio(engine: Arc<Engine>) -> Result<(), StdioError> {
    let (input, output) = stdio_pipes();
    let transport =
        AsyncRwTransport::new_server(input, output).with_max_line_length(MAX_LINE_BYTES);
    let service = match rmcp::serve_server(ToolServer::new(engine), transport).await {
        Ok(service) => service,
        // A client that leaves at once is no failure.
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(_) => return Err(StdioError::Initialize),
    };
    service.waiting().await.map_err(StdioError::Task)?;
    Ok(())
}
