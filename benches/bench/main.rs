//! How long things take: loading, images, executing, looking up, finding, planning, the worst
//! queries, requests over many catalogs. `make bench` runs it all, and `cargo bench --bench bench -- find look-up` some parts.
//!
//! Each figure is a ratio to a yardstick that is measured in the same run, or a time that the
//! design sets a bar for. CPU time, jemalloc for every side, the least of several runs. Catalogs: a
//! generated one, and real ones where the folder that `CATALOGQL_CORPUS` names (or
//! `~/.cache/catalogql/corpus`) holds them.

mod derive;
mod execute;
mod find;
mod load;
mod look_up;
mod measure;
mod plan;
mod preview;
mod pull;
mod scale;
mod worst;

use std::path::PathBuf;

use testing::{corpus, generate};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let scratch =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{}", std::process::id()));
    let generated = scratch.join("generated");
    generate::generate(&generated).expect("the target folder can be written to");
    let parts: Vec<String> = std::env::args()
        .skip(1)
        .filter(|part| !part.starts_with('-'))
        .collect();
    let is_requested =
        |part: &str| parts.is_empty() || parts.iter().any(|requested| requested == part);
    let corpus = corpus::folder();
    if is_requested("load") {
        load::bench("generated", &generated, &scratch);
    }
    for name in ["community", "community-v4.18-yaml", "community-objects"] {
        if is_requested("load") && corpus.join(name).is_dir() {
            load::bench(name, &corpus.join(name), &scratch);
        }
    }
    if is_requested("image") {
        let community = corpus.join("community");
        let (name, folder) = if community.is_dir() {
            ("community", &community)
        } else {
            ("generated", &generated)
        };
        pull::bench(name, folder, &scratch);
    }
    if is_requested("preview") && corpus.join("community-objects").is_dir() {
        preview::bench(&corpus.join("community-objects"));
    }
    if is_requested("scale") {
        scale::bench();
    }
    let served = load::serve("generated", &generated, &scratch);
    if is_requested("execute") {
        execute::bench(&served);
    }
    let community = corpus.join("community");
    let served = if community.is_dir() {
        load::serve("community", &community, &scratch)
    } else {
        served
    };
    if is_requested("look-up") {
        look_up::bench(&served);
    }
    if is_requested("find") {
        find::bench(&served);
    }
    if is_requested("plan") {
        plan::bench(&served);
    }
    if is_requested("worst") {
        for name in ["community", "community-objects"] {
            if corpus.join(name).is_dir() {
                worst::bench(&load::serve(name, &corpus.join(name), &scratch));
            }
        }
    }
    std::fs::remove_dir_all(&scratch).expect("the scratch folder can be removed");
}
