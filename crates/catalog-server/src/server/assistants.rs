//! Tools for assistants at `/mcp`, over the GraphQL engine of the server.

use std::sync::Arc;

use anyhow::Context;
use axum::Router;
use axum::http::HeaderValue;
use graphql::Engine;
use mcp::ToolServer;

/// Returns the route. Pages may ask from these origins.
#[expect(
    clippy::unnecessary_wraps,
    reason = "a build without the feature refuses the flag"
)]
pub(super) fn router(engine: &Arc<Engine>, origins: &[HeaderValue]) -> anyhow::Result<Router> {
    Ok(mcp::router(ToolServer::new(Arc::clone(engine)), origins))
}

/// Adds the documents of the tools to those that the engine trusts.
pub(super) fn trust_documents(engine: &mut Engine) -> anyhow::Result<()> {
    let trusted = engine.trust(&mcp::trusted_documents());
    trusted.context("cannot trust the documents of --mcp")?;
    Ok(())
}
