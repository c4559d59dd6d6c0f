//! The place of `assistants` in builds without the feature `mcp`.

use std::sync::Arc;

use anyhow::bail;
use axum::Router;
use axum::http::HeaderValue;
use graphql::Engine;

/// Refuses the flag.
pub(super) fn router(_: &Arc<Engine>, _: &[HeaderValue]) -> anyhow::Result<Router> {
    bail!(
        "cannot serve --mcp: this build has no Model Context Protocol: build it with the feature mcp, or use a release"
    )
}

/// Trusts nothing: [`router`] refuses the flag.
#[expect(clippy::unnecessary_wraps, reason = "trusting documents may fail")]
pub(super) fn trust_documents(_: &mut Engine) -> anyhow::Result<()> {
    Ok(())
}
