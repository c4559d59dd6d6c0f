//! The place of `mcp` in builds without the feature `mcp`.

use std::process::ExitCode;

use anyhow::bail;

use crate::args::LocalMcpArgs;

/// Refuses the command.
pub(super) fn mcp(_: &LocalMcpArgs) -> anyhow::Result<ExitCode> {
    bail!(
        "cannot answer assistants: this build has no Model Context Protocol: build it with the feature mcp, or use a release"
    )
}
