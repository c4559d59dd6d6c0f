//! Loading: files → queryable, and stored lines → queryable.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fbc::Catalog;
use fbc_read::origin::{FileOrigin, Origins};
use fbc_read::{FileReader, ReadEvent, ReadLimits};
use images::{Registries, RegistrySettings};
use loading::directory::list;
use loading::{CatalogSpec, Loader, LoaderEvent, Source, SourceSpec};
use serving::{CatalogMetadata, CatalogName, Catalogs, Served, catalogs};
use store::Store;

use crate::measure::{at_most, least, once, process_cpu, report};

/// Number of times that the whole load is measured.
const RUNS: usize = 5;

/// A folder loaded and served, as `catalogql serve` does it, with its CPU time on all threads until
/// it is served.
pub(crate) fn load(name: &str, folder: &Path, store: &Path) -> (Duration, Arc<Served>) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime starts");
    let (writer, catalogs): (_, Catalogs) = catalogs();
    let start = process_cpu();
    let store = Store::open(store, u64::MAX, "bench").expect("the store opens");
    let registries = Registries::new(RegistrySettings::default()).expect("nothing is set");
    let spec = CatalogSpec {
        name: CatalogName::new(name).expect("a valid name"),
        source: SourceSpec::once(Source::Directory(folder.to_owned()), registries),
        metadata: CatalogMetadata::default(),
        policy_withdraws: false,
    };
    let served_at = Arc::new(OnceLock::new());
    let seen = Arc::clone(&served_at);
    let observe = move |event| match event {
        LoaderEvent::Attempted(report) => assert!(report.error().is_none(), "{:?}", report.error()),
        LoaderEvent::AllAttempted => drop(seen.set(process_cpu())),
        LoaderEvent::Progress { .. }
        | LoaderEvent::Indexed(..)
        | LoaderEvent::Withdrawn(_)
        | LoaderEvent::Waiting(_)
        | LoaderEvent::FirstAttemptsLate(_) => {}
    };
    let (loader, task) = Loader::new(store, writer);
    loader.set(vec![spec]);
    drop(loader);
    runtime.block_on(task.compress_after(Duration::ZERO).run(observe));
    let took = served_at.get().expect("it is served").saturating_sub(start);
    (
        took,
        Arc::clone(catalogs.snapshot().get(name).expect("it is served")),
    )
}

/// Files → a catalog that can be queried, on one thread, with the lines written to a file that is
/// never synced: what syncing costs is the disk's matter.
fn load_on_one_thread(folder: &Path, scratch: &Path) -> Catalog {
    let listing = list(folder).expect("the folder can be listed");
    let store = Store::ephemeral(scratch).expect("the store opens");
    let mut writer = store.writer().expect("the store is writable");
    let mut reader = FileReader::new(ReadLimits::default());
    let mut origins = Origins::default();
    for file in listing.files() {
        reader.restart();
        let mut open = listing.open(file).expect("the file opens");
        let mut origin = FileOrigin {
            path: file.path.clone(),
            bytes: file.bytes,
            ..FileOrigin::default()
        };
        loop {
            match reader.next().expect("the file parses") {
                ReadEvent::NeedInput => {
                    let read = open.read(reader.room()).expect("the file can be read");
                    reader.filled(read);
                }
                ReadEvent::Blob(blob) => {
                    writer.write(blob.line).expect("the line is written");
                    origin.lines.push(blob.at);
                }
                ReadEvent::Notice(notice) => origin.notices.push(notice),
                ReadEvent::End => break,
            }
        }
        origins.files.push(origin);
    }
    let written = writer.finish().expect("the content is complete");
    Catalog::build(written.content, &origins).expect("lines are indexed")
}

/// A folder loaded for the benches that query it.
pub(crate) fn serve(name: &str, folder: &Path, scratch: &Path) -> Arc<Served> {
    load(name, folder, &scratch.join("store")).1
}

/// Measures the cold and the warm load of a folder.
pub(crate) fn bench(name: &str, folder: &Path, scratch: &Path) {
    println!("load {name}");
    let mut cold = Vec::new();
    let mut prepared = Vec::new();
    let mut all_threads = Vec::new();
    let mut warm = Vec::new();
    let mut last = None;
    for run in 0..RUNS {
        let (took, catalog) = once(|| load_on_one_thread(folder, scratch));
        cold.push(took);
        prepared.push(once(|| catalog.prepare()).0);
        let store = scratch.join(format!("store-{name}-{run}"));
        all_threads.push(load(name, folder, &store).0);
        let (took, served) = load(name, folder, &store);
        warm.push(took);
        last = Some(served);
        std::fs::remove_dir_all(&store).expect("the store can be removed");
    }
    let served = last.expect("at least one run");
    let [cold, prepared, all_threads, warm] =
        [cold, prepared, all_threads, warm].map(|runs| runs.into_iter().min().expect("runs"));
    let content = served.content.catalog.content();
    let value = least(RUNS, || {
        for line in content
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
        {
            drop(serde_json::from_slice::<serde_json::Value>(line).expect("lines are JSON"));
        }
    });
    report(
        "canonical lines",
        &format!("{} kB", content.len() / 1000),
        None,
    );
    match yaml_events(folder) {
        Some(events) => at_most("cold load / bare YAML events", cold, events, 1.7),
        None => at_most(
            "cold load / serde_json::Value of the same lines",
            cold,
            value,
            1.5,
        ),
    }
    report(
        "  as the server does it, all threads, synced",
        &format!("{all_threads:.1?}"),
        None,
    );
    report(
        "  what finding needs, made when it is served",
        &format!("{prepared:.1?}"),
        None,
    );
    at_most(
        "warm load / serde_json::Value of the same lines",
        warm,
        value,
        0.4,
    );
}

/// Measures the bare event stream of saphyr-parser over the same files; `None` when they are not
/// YAML.
fn yaml_events(folder: &Path) -> Option<Duration> {
    let mut texts = Vec::new();
    for package in std::fs::read_dir(folder).expect("a folder") {
        let file = package.expect("an entry").path().join("catalog.yaml");
        texts.extend(std::fs::read_to_string(file).ok());
    }
    let parse = || {
        texts
            .iter()
            .flat_map(|text| saphyr_parser::Parser::new_from_str(text))
            .flatten()
            .count()
    };
    (!texts.is_empty()).then(|| least(RUNS, parse))
}
