//! Loads catalogs for a command that answers and ends: nothing of them is stored.

use std::io;
use std::sync::Arc;

use loading::{LoadError, RefreshPolicy, VerifiedContent, load_verified_once};
use serving::Content;
use tokio::runtime::{Builder, Runtime};

use super::registries::{HttpAccess, RegistryAccess, SourceClients, needs_http, needs_registry};
use super::sources::SourceReference;
use super::terminal::Terminal;
use crate::args::ImageArgs;

/// Creates the runtime of a command, which needs one thread.
pub(super) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Loads each of these sources, one after another, under the names that progress is shown by.
pub(super) fn load(
    sources: &[(&str, &SourceReference)],
    images: &ImageArgs,
) -> anyhow::Result<Vec<Result<VerifiedContent, LoadError>>> {
    let named = || sources.iter().map(|(_, reference)| &reference.source);
    let clients = SourceClients {
        registries: RegistryAccess::default()
            .update(&images.registries, needs_registry(named()))?,
        http: HttpAccess::default().update(images, needs_http(named()))?,
    };
    let terminal = Arc::new(Terminal::default());
    let folder = std::env::temp_dir();
    let runtime = runtime()?;
    let load = |&(name, reference): &(&str, &SourceReference)| {
        let shown = Arc::clone(&terminal);
        let shown_as = name.to_owned();
        let progress = move |step, done, total| shown.progress(&shown_as, step, done, total);
        let spec = reference.spec(RefreshPolicy::ONCE, &clients);
        let content = runtime.block_on(load_verified_once(&spec, &folder, progress));
        terminal.done(name);
        content
    };
    Ok(sources.iter().map(load).collect())
}

/// Loads one source.
pub(super) fn load_one(
    reference: &SourceReference,
    images: &ImageArgs,
) -> anyhow::Result<Result<Content, LoadError>> {
    let name = reference.source.last_path_segment().unwrap_or_default();
    let loaded = load(&[(&*name, reference)], images)?.remove(0);
    Ok(loaded.map(|loaded| loaded.content))
}
