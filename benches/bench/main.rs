//! How long things take: loading, looking up, executing. `make bench` runs it.
//!
//! Each figure is a ratio to a yardstick that is measured in the same run, or a time that the design sets a bar for.
//! CPU time, mimalloc for every side, the least of several runs. Catalogs: a generated one, and real ones where the
//! folder that `CATALOGQL_CORPUS` names (or `~/.cache/catalogql/corpus`) holds them.

mod corpus;
mod derive;
mod execute;
mod generate;
mod load;
mod look_up;
mod measure;

use std::path::PathBuf;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let scratch = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{}", std::process::id()));
    let generated = scratch.join("generated");
    generate::generate(&generated).expect("the target folder can be written to");
    load::bench("generated", &generated, &scratch);
    let corpus = corpus::folder();
    for name in ["community", "community-v4.18-yaml", "community-objects"] {
        if corpus.join(name).is_dir() {
            load::bench(name, &corpus.join(name), &scratch);
        }
    }
    let served = load::serve("generated", &generated, &scratch);
    execute::bench(&served);
    let community = corpus.join("community");
    look_up::bench(&if community.is_dir() { load::serve("community", &community, &scratch) } else { served });
    std::fs::remove_dir_all(&scratch).expect("the scratch folder can be removed");
}
