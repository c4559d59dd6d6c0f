//! Loads catalogs for a command that answers and ends: nothing of them is kept.

use std::sync::Arc;

use loading::{Content, LoadError, SourceSpec, load_once};

use super::registries::registries;
use super::terminal::Terminal;
use crate::args::ImageArgs;

/// Loads each of these places, one after another, under the names that progress is shown by.
pub(super) fn load<'a>(
    places: impl IntoIterator<Item = (&'a str, &'a SourceSpec)> + Clone,
    images: &ImageArgs,
) -> anyhow::Result<Vec<Result<Content, LoadError>>> {
    let registries = registries(images, places.clone().into_iter().map(|(_, place)| place))?;
    let terminal = Arc::new(Terminal::new());
    let folder = std::env::temp_dir();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let load = |(name, place): (&str, &SourceSpec)| {
        let (shown, shown_as) = (Arc::clone(&terminal), name.to_owned());
        let progress = move |step, done, total| shown.progress(&shown_as, step, done, total);
        let content = runtime.block_on(load_once(place, &registries, &folder, progress));
        terminal.done(name);
        content
    };
    Ok(places.into_iter().map(load).collect())
}

/// Loads one place.
pub(super) fn load_one(place: &SourceSpec, images: &ImageArgs) -> anyhow::Result<Result<Content, LoadError>> {
    let name = place.source.last_path_segment().unwrap_or_default();
    Ok(load([(&*name, place)], images)?.remove(0))
}
