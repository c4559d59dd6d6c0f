//! Images: what serving a catalog from an image costs against uncompressing it and serving its
//! directory.

use std::path::Path;

use testing::image::{CatalogImage, MeasuredServer};

use crate::measure::{at_most, least, report};

/// Number of times that each is measured.
const RUNS: usize = 5;

/// Measures the CPU time from the start of the server to its first answer.
pub(crate) fn bench(name: &str, folder: &Path, scratch: &Path) {
    println!("image of {name}");
    let image = CatalogImage::new(folder, scratch);
    let directory = format!("{name}={}", folder.display());
    let mut from_image = Vec::new();
    let mut from_directory = Vec::new();
    let first_answer = |source: &str| {
        let store = scratch.join("store-of-a-server");
        let took =
            MeasuredServer::start(env!("CARGO_BIN_EXE_catalogql"), source, &store).cpu_times();
        std::fs::remove_dir_all(&store).expect("the store can be removed");
        took
    };
    for _ in 0..RUNS {
        from_image.push(first_answer(&format!("{name}={}", image.source)));
        from_directory.push(first_answer(&directory));
    }
    let [from_image, from_directory] =
        [("its image", from_image), ("its directory", from_directory)].map(|(what, runs)| {
            let [user, kernel] = runs
                .into_iter()
                .min_by_key(|[user, kernel]| *user + *kernel)
                .expect("runs");
            let figure = format!("{user:.1?} + {kernel:.1?}");
            report(
                &format!("{what}, from start to first answer, user and kernel"),
                &figure,
                None,
            );
            user + kernel
        });
    let uncompressing = least(RUNS, || image.uncompress());
    report(
        "its layer, uncompressed",
        &format!("{} kB", image.uncompress() / 1000),
        None,
    );
    report(
        "uncompressing its layer",
        &format!("{uncompressing:.1?}"),
        None,
    );
    at_most(
        "start to first answer / that and uncompressing",
        from_image,
        uncompressing + from_directory,
        1.3,
    );
}
