//! Flags of the tools for assistants.

/// Flags of the tools for assistants.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Assistants")]
pub struct AssistantArgs {
    /// Answer questions of assistants at `/mcp`, as tools of the Model Context Protocol (MCP). Pages
    /// may ask from the origins of `--cors-origin` only
    #[arg(long)]
    pub mcp: bool,
}
