//! Embeds the playground, where it was built.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the playground is built to: always there, so that this program runs again when it changes and only then.
const PLAYGROUND: &str = "../../playground/dist";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={PLAYGROUND}");
    let out = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    let (out, table) = (Path::new(&out), Path::new(&out).join("playground.rs"));
    fs::write(&table, playground(out)).unwrap_or_else(|error| panic!("cannot write {}: {error}", table.display()));
}

/// The table of the playground's files, as `src/lib.rs` takes it. They are copied to the folder that cargo names: another
/// clone with the same target folder may compile the table, and has its playground elsewhere.
fn playground(out: &Path) -> String {
    let site = Path::new(PLAYGROUND).join("site");
    let mut text = String::from("const FILES: Files = &[\n");
    for (index, path) in if site.is_dir() { files(&site) } else { Vec::new() }.iter().enumerate() {
        let copy = out.join(index.to_string());
        fs::copy(path, &copy).unwrap_or_else(|error| panic!("cannot copy {}: {error}", path.display()));
        let name = path.strip_prefix(&site).expect("it is below the folder").with_extension("");
        let [name, copy] = [&name, &copy].map(|path| path.to_str().expect("paths of the project are UTF-8"));
        writeln!(text, "({name:?}, include_bytes!({copy:?})),").expect("a string takes all text");
    }
    text + "];\n"
}

/// Every file below a folder, in the order of names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
