//! Embeds the pages, where they were built.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the table of each page, with the folder that it is built to. The folders always exist,
/// so that this program runs again when something in them changes and only then.
const PAGES: [(&str, &str); 2] = [
    ("EXPLORER", "../../explorer/dist"),
    ("PLAYGROUND", "../../playground/dist"),
];

/// The documents that the explorer sends, by their digests.
const DOCUMENTS: &str = "../../explorer/dist/documents.json";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = std::env::var_os("OUT_DIR").expect("cargo names a folder");
    let out = Path::new(&out);
    let mut text = String::new();
    for (table, folder) in PAGES {
        println!("cargo::rerun-if-changed={folder}");
        text += &files_table(table, &Path::new(folder).join("site"), out);
    }
    let documents = fs::read_to_string(DOCUMENTS).unwrap_or_else(|_| "{}".to_owned());
    writeln!(text, "const EXPLORER_DOCUMENTS: &str = {documents:?};")
        .expect("a string takes all text");
    let path = out.join("pages.rs");
    fs::write(&path, text)
        .unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
}

/// The table of a page's files, as `src/lib.rs` takes it. They are copied to the folder that cargo
/// names: another clone with the same target folder may compile the table, and has its pages
/// elsewhere.
fn files_table(table: &str, site: &Path, out: &Path) -> String {
    let mut text = format!("const {table}: Files = &[\n");
    for (index, path) in if site.is_dir() {
        files(site)
    } else {
        Vec::new()
    }
    .iter()
    .enumerate()
    {
        let copy = out.join(format!("{table}-{index}"));
        fs::copy(path, &copy)
            .unwrap_or_else(|error| panic!("cannot copy {}: {error}", path.display()));
        let name = path
            .strip_prefix(site)
            .expect("it is below the folder")
            .with_extension("");
        let [name, copy] =
            [&name, &copy].map(|path| path.to_str().expect("paths of the project are UTF-8"));
        writeln!(text, "({name:?}, include_bytes!({copy:?})),").expect("a string takes all text");
    }
    text + "];\n"
}

/// Every file below a folder, in the order of names.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
        .into_iter()
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
