//! Previews of installs: reading and rendering bundles with inline manifests.

use std::path::Path;
use std::time::Duration;

use install_preview::summary::InstallSummary;
use install_preview::{BundleManifestFile, RegistryBundle, RenderOptions, render};
use testing::corpus::inline_bundles;

use crate::measure::{least, percentile, within};

/// Most CPU time of one rendering.
const MOST: Duration = Duration::from_millis(5);

/// Runs of each bundle, of which the least counts.
const RUNS: usize = 3;

/// Measures all bundles of a catalog with inline manifests.
pub(crate) fn bench(catalog: &Path) {
    let mut reading = Vec::new();
    let mut rendering = Vec::new();
    let mut summarizing = Vec::new();
    for bundle in inline_bundles(catalog, |_, _| true).flatten() {
        let files: Vec<_> = bundle
            .files
            .iter()
            .map(|bytes| BundleManifestFile {
                name: "file.yaml".into(),
                bytes: bytes.into(),
            })
            .collect();
        let read = || RegistryBundle::read(&bundle.package, &files).expect("it can be read");
        let manifests = read();
        let choices = [Vec::new(), vec!["own".to_owned()], vec!["other".to_owned()]];
        let options = choices.map(|watch_namespaces| RenderOptions {
            install_namespace: "own".to_owned(),
            watch_namespaces,
            ..RenderOptions::default()
        });
        let found = options.iter().find_map(|options| {
            let rendering = render(&manifests, options).ok()?;
            Some((options, rendering))
        });
        // Some bundles are refused, whatever they watch.
        let Some((options, rendered)) = found else {
            continue;
        };
        reading.push(least(RUNS, read));
        rendering.push(least(RUNS, || render(&manifests, options)));
        summarizing.push(least(RUNS, || InstallSummary::of(&rendered, "own")));
    }
    println!("previews of {} bundles", rendering.len());
    let p99 = |times: &[Duration]| percentile(99, times.iter().copied());
    within("render a bundle, p99", p99(&rendering), MOST);
    within(
        "render a bundle, the slowest",
        percentile(100, rendering),
        MOST,
    );
    within("summarize an install, p99", p99(&summarizing), MOST);
    // The manifests are decoded, converted to JSON, and passed through the Go structs.
    within(
        "read the manifests, median",
        percentile(50, reading),
        4 * MOST,
    );
}
