//! Tools for assistants on the standard streams, over catalogs that are loaded once.

use std::process::ExitCode;
use std::sync::Arc;

use build_info::ANSWERS_BUILD;
use graphql::Engine;
use graphql::limits::Limits;
use serving::catalogs;
use tokio::runtime;

use super::local;
use crate::args::LocalMcpArgs;

/// Loads catalogs, and answers until the standard input ends.
pub(super) fn mcp(args: &LocalMcpArgs) -> anyhow::Result<ExitCode> {
    let (mut writer, reader) = catalogs();
    for served in local::load_served(&args.catalogs.sources, &args.images)? {
        writer.publish(served);
    }
    // The limits of a server: an assistant cannot wait for minutes, and asks again.
    let engine = Arc::new(Engine::new(reader, ANSWERS_BUILD, Limits::default()));

    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(mcp::serve_stdio(engine));
    // A thread may still be reading the standard input.
    runtime.shutdown_background();
    ended?;
    Ok(ExitCode::SUCCESS)
}
