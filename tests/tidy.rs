//! What a reader may rely on in every file of the project: who imports whom, how long things are, and what is never
//! there. It reads the files as text, needs nothing but the standard library and takes less than a second.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The rooms of the server, each with its column: a room imports only from columns to the left of its own.
const ROOMS: [(&str, u32); 12] = [
    ("coding", 0),
    ("conditional", 0),
    ("telemetry", 0),
    ("source", 1),
    ("unpack", 1),
    ("store", 1),
    ("catalogs", 1),
    ("listen", 1),
    ("load", 2),
    ("views", 3),
    ("args", 4),
    ("run", 5),
];

/// What the crate `fbc` must not know: the world outside of the bytes that it is given.
const OUTSIDE: [&str; 13] = [
    "tokio",
    "axum",
    "hyper",
    "kube",
    "Timestamp::now",
    "Zoned",
    "memmap2",
    "std::fs",
    "std::net",
    "std::time",
    "std::env",
    "std::process",
    "std::thread",
];

/// Lines of a file: at most, and at most in nine of ten files.
const FILE_LINES: (usize, usize) = (600, 350);

/// Lines of a function: at most, and at most in nine of ten functions of more than one line.
const FUNCTION_LINES: (usize, usize) = (85, 35);

/// Folders that hold nothing written by hand, wherever they are.
const GENERATED: [&str; 4] = [".git", "target", "node_modules", "dist"];

/// A file that is read as text.
struct TextFile {
    /// Path from the root of the repository.
    path: String,
    text: String,
}

/// A Rust file.
struct RustFile {
    /// Path from the root of the repository.
    path: String,
    text: String,
    /// The text with everything in comments and literals replaced by blanks, line by line the same.
    code: String,
}

#[test]
fn a_room_imports_only_from_columns_to_its_left() {
    let mut faults = Vec::new();
    for file in rust_files().iter().filter(|file| file.path.starts_with("src/")) {
        let Some(own) = room(&file.path) else { continue };
        let Some(column) = column(own) else {
            faults.push(format!(
                "{}: the room `{own}` is not in ROOMS of tests/tidy.rs: add it with its column",
                file.path
            ));
            continue;
        };
        for other in imported_rooms(&file.code) {
            if other != own && self::column(&other).is_none_or(|other| other >= column) {
                let path = &file.path;
                faults.push(format!(
                    "{path}: `{own}` imports `{other}`, which is not to its left: move what both need to the left"
                ));
            }
        }
    }
    none(&faults);
}

#[test]
fn a_view_does_not_know_another() {
    let mut faults = Vec::new();
    for file in rust_files() {
        let Some(own) = file.path.strip_prefix("src/views/").and_then(|path| path.split(['/', '.']).next()) else {
            continue;
        };
        for other in names_after(&file.code, "views::")
            .iter()
            .filter(|other| *other != own && !other.starts_with(char::is_uppercase))
        {
            faults.push(format!("{}: the view `{own}` imports `{other}`: move what both need to the left", file.path));
        }
    }
    none(&faults);
}

#[test]
fn the_catalog_format_knows_nothing_of_the_world() {
    let mut faults = Vec::new();
    for file in rust_files().iter().filter(|file| file.path.starts_with("crates/fbc/src/")) {
        let code = &file.code;
        for outside in OUTSIDE.iter().filter(|outside| mentions(code, outside)) {
            faults.push(format!("{}: fbc must not know `{outside}`: take bytes or values instead", file.path));
        }
        if mentions(code, "async") {
            faults.push(format!("{}: nothing in fbc waits: remove `async`", file.path));
        }
    }
    let manifest = fs::read_to_string(root().join("crates/fbc/Cargo.toml")).expect("fbc has a manifest");
    for outside in OUTSIDE.iter().filter(|outside| manifest.lines().any(|line| line.starts_with(**outside))) {
        faults.push(format!("crates/fbc/Cargo.toml: fbc must not depend on `{outside}`"));
    }
    none(&faults);
}

/// What a caller of a catalog fills, and no part of it.
const FILLED: [&str; 1] = ["FacetCounts"];

#[test]
fn a_catalog_offers_nothing_that_changes_it() {
    let mut faults = Vec::new();
    for file in rust_files().iter().filter(|file| file.path.starts_with("crates/fbc/src/catalog")) {
        let mut of = "";
        for line in file.code.lines() {
            of = if line.starts_with("impl") { line } else { of };
            let changes = line.contains("pub fn ") && line.contains("&mut self");
            if changes && !FILLED.iter().any(|name| mentions(of, name)) {
                faults.push(format!("{}: `{}`: make a new catalog instead", file.path, line.trim()));
            }
        }
    }
    none(&faults);
}

#[test]
fn files_and_functions_are_short() {
    let mut faults = Vec::new();
    let (mut files, mut functions) = (Vec::new(), Vec::new());
    for file in rust_files() {
        files.push((file.text.lines().count(), file.path.clone()));
        let found = self::functions(&file.code);
        functions.extend(found.into_iter().map(|(line, length)| (length, format!("{}:{line}", file.path))));
    }
    functions.retain(|(length, _)| *length > 1);
    for (what, mut all, (most, usual)) in [("file", files, FILE_LINES), ("function", functions, FUNCTION_LINES)] {
        all.sort();
        let long = all.iter().filter(|(length, _)| *length > most);
        faults.extend(
            long.map(|(length, place)| format!("{place}: the {what} has {length} lines, at most {most}: split it")),
        );
        let (length, _) = &all[all.len() * 9 / 10];
        if *length > usual {
            let above = all
                .iter()
                .rev()
                .filter(|(length, _)| *length > usual)
                .map(|(length, place)| format!("\n    {place}: {length}"));
            let above: String = above.collect();
            faults.push(format!("one {what} in ten has {length} lines or more, at most {usual}: split some of{above}"));
        }
    }
    none(&faults);
}

#[test]
fn a_file_begins_by_saying_what_it_is_for() {
    let rust = rust_files();
    let silent = rust.iter().filter(|file| !file.text.starts_with("//! "));
    let faults = silent.map(|file| format!("{}: begin it with `//!` and what it is for and must not know", file.path));
    none(&faults.collect::<Vec<_>>());
}

#[test]
fn what_is_never_there_is_not_there() {
    let mut faults = Vec::new();
    for file in rust_files() {
        let code = &file.code;
        for (never, instead) in [
            ("#[ignore", "make it run everywhere or remove it"),
            ("todo!", "do it"),
            ("unimplemented!", "do it"),
            ("dbg!", "remove it"),
            ("#[allow", "write `#[expect(…, reason = …)]`"),
        ] {
            if code.contains(never) {
                faults.push(format!("{}: `{never}`: {instead}", file.path));
            }
        }
        if mentions(code, "unsafe") && file.path != "src/store/file.rs" {
            faults.push(format!("{}: `unsafe` is in src/store/file.rs only", file.path));
        }
        if file.path.ends_with("/mod.rs") {
            faults.push(format!("{}: name the file like its folder, beside it", file.path));
        }
    }
    none(&faults);
}

#[test]
fn no_file_knows_one_machine() {
    let folders = ["work", "root", "farm"].map(|folder| format!("/{folder}/"));
    let mut faults = Vec::new();
    for file in text_files(&root(), "") {
        if file.path.ends_with("package-lock.json") || file.path == "Cargo.lock" {
            continue;
        }
        for (number, line) in file.text.lines().enumerate() {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_.-".contains(letter);
            let alone = |at: usize| !line[..at].ends_with(is_name);
            if folders.iter().any(|folder| line.match_indices(folder).any(|(at, _)| alone(at))) {
                faults.push(format!(
                    "{}:{}: a path of one machine: write it relative or from the environment",
                    file.path,
                    number + 1
                ));
            }
        }
    }
    none(&faults);
}

#[test]
fn the_architecture_names_every_room_and_nothing_that_is_not_there() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md says how the parts fit");
    let mut faults = Vec::new();
    let named: BTreeSet<&str> = text.split('`').skip(1).step_by(2).collect();
    let top: BTreeSet<String> = names_in(&root());
    let is_path = |name: &str| name.split_once('/').is_some_and(|(first, _)| top.contains(first)) || top.contains(name);
    for path in named.iter().filter(|name| is_path(name) && !name.contains(['*', '<', ' '])) {
        if !root().join(path).exists() {
            faults.push(format!("ARCHITECTURE.md names `{path}`, which is not there: correct it"));
        }
    }
    let crates = names_in(&root().join("crates")).into_iter().map(|name| format!("crates/{name}"));
    let rooms = ROOMS.iter().map(|(room, _)| format!("src/{room}.rs"));
    for path in crates.chain(rooms) {
        let short = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        if !named.iter().any(|name| name.trim_end_matches('/') == path || *name == short) {
            faults.push(format!("ARCHITECTURE.md does not name `{path}`: give it a paragraph"));
        }
        if !root().join(&path).exists() {
            faults.push(format!("{path} is a room without a file: remove it from ROOMS of tests/tidy.rs"));
        }
    }
    none(&faults);
}

#[test]
fn code_is_told_from_text_and_functions_are_measured() {
    let text =
        "fn a() {\n  \"}\"; '}'; r#\"}\"#; /* } /* } */ */ b'{'\n}\nfn b<'a>(x: &'a str); // fn c() {\nfn d() {}\n";
    assert_eq!(functions(&code(text)), [(1, 3), (5, 1)]);
    let imports = code(
        "use crate::store::{A, B};\nuse crate::{load, source::Source};\nlet x = crate::listen::y(); // crate::run\n",
    );
    assert_eq!(imported_rooms(&imports), ["listen", "load", "source", "store"].map(str::to_owned).into());
}

#[track_caller]
fn none(faults: &[String]) {
    assert!(faults.is_empty(), "\n  {}\n", faults.join("\n  "));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The room of a file below `src`; nothing for those that belong to none.
fn room(path: &str) -> Option<&str> {
    let room = path.strip_prefix("src/")?.split(['/', '.']).next()?;
    (!matches!(room, "main" | "lib")).then_some(room)
}

fn column(room: &str) -> Option<u32> {
    ROOMS.iter().find(|(name, _)| *name == room).map(|(_, column)| *column)
}

/// The rooms that a code names by their paths.
fn imported_rooms(code: &str) -> BTreeSet<String> {
    names_after(code, "crate::")
}

/// The names that follow a path, also those in braces.
fn names_after(code: &str, path: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices(path) {
        let rest = &code[at + path.len()..];
        let Some(list) = rest.strip_prefix('{') else {
            names.extend(identifier(rest));
            continue;
        };
        let mut depth = 0;
        let mut begins = true;
        for (at, letter) in list.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                letter if begins && !letter.is_whitespace() => {
                    names.extend(identifier(&list[at..]));
                    begins = false;
                }
                _ => {}
            }
        }
    }
    names
}

fn identifier(text: &str) -> Option<String> {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len());
    // A type or a constant at the root of the crate is no room.
    text[..end].starts_with(|letter: char| letter.is_lowercase()).then(|| text[..end].to_owned())
}

/// Whether a code has this word, or path of words.
fn mentions(code: &str, word: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    code.match_indices(word)
        .any(|(at, _)| !code[..at].ends_with(is_part) && !code[at + word.len()..].starts_with(is_part))
}

/// Where each function with a body begins, as a line from 1, and how many lines it has.
fn functions(code: &str) -> Vec<(usize, usize)> {
    let newlines = |text: &str| text.matches('\n').count();
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let is_word = !code[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let rest = &code[at..];
        let named = rest[3..].starts_with(|letter: char| letter.is_alphabetic() || letter == '_');
        let body = rest.find(['{', ';']).filter(|body| rest[*body..].starts_with('{'));
        let (true, true, Some(body)) = (is_word, named, body) else { continue };
        let mut depth = 0;
        let end = rest[body..].char_indices().find(|(_, letter)| {
            depth += i32::from(*letter == '{') - i32::from(*letter == '}');
            depth == 0
        });
        let end = end.map_or(rest.len(), |(end, _)| body + end);
        found.push((newlines(&code[..at]) + 1, newlines(&rest[..end]) + 1));
    }
    found
}

/// A Rust text with everything in comments and literals replaced by blanks, line by line the same.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = skipped(rest, code.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_'));
        if length == 0 {
            code.push(letter);
            rest = &rest[letter.len_utf8()..];
        } else {
            code.extend(rest[..length].chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }));
            rest = &rest[length..];
        }
    }
    code
}

/// How long the comment or literal is with which a text begins; 0 when it begins with neither.
fn skipped(text: &str, after_name: bool) -> usize {
    if text.starts_with("//") {
        return text.find('\n').unwrap_or(text.len());
    }
    if text.starts_with("/*") {
        return block_comment(text);
    }
    if !after_name && let Some(raw) = text.strip_prefix("br").or_else(|| text.strip_prefix('r')) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let from = text.len() - raw.len() + hashes + 1;
            return text[from..].find(&end).map_or(text.len(), |at| from + at + end.len());
        }
    }
    if text.starts_with('"') {
        return quoted(text, '"').unwrap_or(text.len());
    }
    // A lifetime has no second quote after its first letter.
    let is_letter = text.starts_with("'\\") || text.chars().nth(2) == Some('\'');
    if text.starts_with('\'') && is_letter { quoted(text, '\'').unwrap_or(0) } else { 0 }
}

/// The length of a literal between quotes, with them.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        if letter == quote {
            return Some(at + 1);
        }
        if letter == '\\' {
            letters.next();
        }
    }
    None
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
        } else {
            at += 1;
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Every Rust file, read once for all tests.
fn rust_files() -> &'static [RustFile] {
    static FILES: LazyLock<Vec<RustFile>> = LazyLock::new(|| {
        let is_rust = |file: &TextFile| Path::new(&file.path).extension().is_some_and(|end| end == "rs");
        let files = text_files(&root(), "").into_iter().filter(is_rust);
        files.map(|TextFile { path, text }| RustFile { path, code: code(&text), text }).collect()
    });
    assert!(FILES.len() > 30, "the files of the project were not found");
    &FILES
}

/// Every file below a folder that is text, in the order of paths.
fn text_files(folder: &Path, prefix: &str) -> Vec<TextFile> {
    let mut files = Vec::new();
    for name in names_in(folder) {
        let (path, full) = (format!("{prefix}{name}"), folder.join(&name));
        if GENERATED.contains(&name.as_str()) || full.is_symlink() {
            continue;
        }
        if full.is_dir() {
            files.extend(text_files(&full, &format!("{path}/")));
        } else if let Ok(text) = fs::read_to_string(&full) {
            files.push(TextFile { path, text });
        }
    }
    files
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}
