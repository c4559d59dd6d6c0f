//! Embeds the collected licences in the program, and links the settings of its allocator.

use std::fs;
use std::path::Path;

/// Where `make licenses` collects the licences of others: always there, so that this program runs
/// again when they change.
const LICENSES: &str = "release/dist";

/// Settings of the allocator.
const ALLOCATOR_SETTINGS: &str = "src/malloc_conf.c";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={LICENSES}");
    copy_licenses();
    link_allocator_settings();
}

/// Links the variable that the allocator reads its settings from. It is written in C, where that is
/// not unsafe; as an object and not a library, which nothing would take it from.
fn link_allocator_settings() {
    println!("cargo::rerun-if-changed={ALLOCATOR_SETTINGS}");
    for object in cc::Build::new()
        .file(ALLOCATOR_SETTINGS)
        .compile_intermediates()
    {
        println!("cargo::rustc-link-arg-bins={}", object.display());
        println!("cargo::rustc-link-arg-benches={}", object.display());
    }
}

/// Copies the collected licences to where the program embeds them from: nothing where they were not
/// collected.
fn copy_licenses() {
    let out = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    let licenses = fs::read(Path::new(LICENSES).join("third-party.txt.gz")).unwrap_or_default();
    fs::write(Path::new(&out).join("third-party.txt.gz"), licenses)
        .expect("the folder of cargo can be written to");
}
