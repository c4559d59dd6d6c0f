//! How much memory loading takes and what remains of it: counted on the heap, and as the kernel
//! counts the server. `make bench` runs it.
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cap::Cap;
use images::{Registries, RegistrySettings};
use loading::{CatalogSpec, Loader, Source, SourceSpec};
use serving::{CatalogMetadata, CatalogName, catalogs};
use store::Store;
use testing::{corpus, generate, image};
use tikv_jemallocator::Jemalloc;

#[global_allocator]
static HEAP: Cap<Jemalloc> = Cap::new(Jemalloc, usize::MAX);

const MIB: usize = 1024 * 1024;

fn main() {
    let scratch =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("heap-{}", std::process::id()));
    let generated = scratch.join("generated");
    generate::generate(&generated).expect("the target folder can be written to");
    let corpus = corpus::folder();
    bench(
        "generated",
        &generated.display().to_string(),
        &scratch,
        24 * MIB,
    );
    for (name, live) in [
        ("community", 24 * MIB),
        ("community-v4.18-yaml", 24 * MIB),
        ("community-objects", 4 * MIB),
    ] {
        let folder = corpus.join(name);
        if folder.is_dir() {
            bench(name, &folder.display().to_string(), &scratch, live);
        }
    }
    let community = corpus.join("community");
    let image = image::CatalogImage::new(
        if community.is_dir() {
            &community
        } else {
            &generated
        },
        &scratch,
    );
    bench("image", &image.source, &scratch, 24 * MIB);
    std::fs::remove_dir_all(&scratch).expect("the scratch folder can be removed");
}

/// Loads a source cold and says what is live afterwards, what was live at most, and what the
/// server's `RssAnon` is.
fn bench(name: &str, source: &str, scratch: &Path, most_live: usize) {
    println!("memory of {name}");
    let before = HEAP.allocated();
    let peak_before = HEAP.max_allocated();
    let (writer, catalogs) = catalogs();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let runtime = runtime.expect("a runtime starts");
    let registries = Registries::new(RegistrySettings::default()).expect("nothing is set");
    let spec = CatalogSpec {
        name: CatalogName::new(name).expect("a valid name"),
        source: SourceSpec::once(
            Source::parse(source, Path::new("")).expect("a source"),
            registries,
        ),
        metadata: CatalogMetadata::default(),
        policy_withdraws: false,
    };
    let store = Store::open(&scratch.join("store"), u64::MAX, "bench").expect("the store opens");
    let (loader, task) = Loader::new(store, writer);
    loader.set(vec![spec]);
    drop(loader);
    runtime.block_on(task.compress_after(Duration::ZERO).run(|_| ()));
    drop(runtime);
    let served = Arc::clone(catalogs.snapshot().get(name).expect("it is served"));
    line("live on the heap", HEAP.allocated() - before, most_live);
    let peak = HEAP.max_allocated();
    if peak > peak_before {
        line("at most live while loading", peak - before, 96 * MIB);
    }
    drop(served);
    line(
        "RssAnon of the server",
        rss_anon(name, source, scratch),
        40 * MIB,
    );
}

fn line(what: &str, bytes: usize, most: usize) {
    let verdict = if bytes <= most { "ok:" } else { "MISSED:" };
    println!(
        "  {what:<30} {:>8} KiB   {verdict} at most {} MiB",
        bytes / 1024,
        most / MIB
    );
}

/// Starts the server on the source and asks the kernel once it answered.
fn rss_anon(name: &str, source: &str, scratch: &Path) -> usize {
    let server = image::MeasuredServer::start(
        env!("CARGO_BIN_EXE_catalogql"),
        &format!("{name}={source}"),
        &scratch.join(format!("server-{name}")),
    );
    let status = server.proc_file("status");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))
        .expect("Linux says it");
    let kilobytes: usize = line
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .expect("a number");
    kilobytes * 1024
}
