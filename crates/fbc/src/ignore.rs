//! Which files of a tree belong to its catalog: the rules of its `.indexignore` files, and the order of the rest.
//!
//! The dialect is upstream's (go-git 5), not git's: only files are tested, so a file can be brought back although its
//! directory is ignored. Pure: paths and texts come in, nothing here touches a file system.

mod glob;

use std::cmp::Ordering;

use glob::Glob;

/// The name of the files that hold ignore rules. A file with this name is never part of a catalog.
pub const IGNORE_FILE: &str = ".indexignore";

/// How many bytes one ignore file may have: it is held in memory.
pub const IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// The link by which a mounted `ConfigMap` or `Secret` changes all its files at once. What else begins with `..` beside
/// it are the places of the files that the other entries are links to.
pub const ATOMIC_LINK: &str = "..data";

/// The longest line of an ignore file, in bytes without its line feed: upstream's scanner takes no longer one.
pub const MAX_LINE: usize = 64 * 1024 - 1;

/// How many rules the ignore files of a tree may have together: each is tried on each file below it.
pub const MAX_RULES: usize = 1_000;

/// Why an ignore file was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreError {
    /// A line longer than [`MAX_LINE`].
    #[error("line {line} of the {IGNORE_FILE} file in {dir:?} is longer than {MAX_LINE} bytes")]
    LineTooLong {
        /// The directory that the file is in, as given.
        dir: String,
        /// The line, from 1.
        line: usize,
    },
    /// More than [`MAX_RULES`].
    #[error("the {IGNORE_FILE} files have more than {MAX_RULES} patterns together, counted up to the one in {dir:?}")]
    TooManyRules {
        /// The directory that the file is in, as given.
        dir: String,
    },
}

/// The rules of all ignore files of one tree.
#[derive(Clone, Debug, Default)]
pub struct IgnoreRules {
    /// By the place of their file in catalog order; a later rule wins over an earlier one.
    files: Vec<RuleFile>,
}

#[derive(Clone, Debug)]
struct RuleFile {
    /// The directory that the rules are for: empty for the root.
    dir: String,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    /// Begins with `!`: what it matches is not ignored.
    brings_back: bool,
    /// Ends with `/`: it matches directories above a file, never the file.
    directories_only: bool,
    matcher: Matcher,
}

#[derive(Clone, Debug)]
enum Matcher {
    /// Without a slash: any part of the path.
    Name(Glob),
    /// With a slash: the path from the rule's directory, part by part.
    Path(Vec<Segment>),
    /// A pattern that upstream finds malformed when it uses it.
    Nothing,
}

#[derive(Clone, Debug)]
enum Segment {
    /// What is left of a leading, trailing or doubled slash.
    Empty,
    /// `**`.
    AnyDirectories,
    One(Glob),
}

impl IgnoreRules {
    /// No rules: only the ignore files themselves are left out.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the text of the ignore file in directory `dir` (`""` is the root), in any order of directories.
    pub fn add(&mut self, dir: &str, text: &[u8]) -> Result<(), IgnoreError> {
        let others: usize = self.files.iter().map(|file| file.rules.len()).sum();
        let mut rules = Vec::new();
        for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
            if line.len() > MAX_LINE {
                return Err(IgnoreError::LineTooLong { dir: dir.to_owned(), line: number + 1 });
            }
            let line = String::from_utf8_lossy(line);
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                rules.push(Rule::parse(line));
                if others + rules.len() > MAX_RULES {
                    return Err(IgnoreError::TooManyRules { dir: dir.to_owned() });
                }
            }
        }
        if rules.is_empty() {
            return Ok(());
        }
        let path = ignore_file_in(dir);
        let place = self.files.partition_point(|file| compare_paths(&ignore_file_in(&file.dir), &path).is_lt());
        let dir = dir.to_owned();
        self.files.insert(place, RuleFile { dir, rules });
        Ok(())
    }

    /// Whether the file at this path (from the root, parts joined with `/`) is left out of the catalog.
    pub fn is_ignored(&self, path: &str) -> bool {
        if path.rsplit('/').next() == Some(IGNORE_FILE) {
            return true;
        }
        self.files
            .iter()
            .rev()
            .filter_map(|file| Some((file, below(path, &file.dir)?)))
            .find_map(|(file, rest)| {
                let parts: Vec<&str> = rest.split('/').collect();
                let last = file.rules.iter().rev().find(|rule| rule.matches(&parts));
                last.map(|rule| !rule.brings_back)
            })
            .unwrap_or(false)
    }
}

/// The order of a catalog's files: the lexical order of each directory's entries, as a walk meets them.
pub fn compare_paths(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

impl Rule {
    fn parse(line: &str) -> Self {
        let (brings_back, pattern) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let pattern = if pattern.ends_with("\\ ") { pattern } else { pattern.trim_end_matches(' ') };
        let (directories_only, pattern) = match pattern.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let matcher = if pattern.contains('/') {
            let segments: Option<Vec<_>> = pattern.split('/').map(Segment::parse).collect();
            segments.map_or(Matcher::Nothing, Matcher::Path)
        } else {
            Glob::parse(pattern).map_or(Matcher::Nothing, Matcher::Name)
        };
        Self { brings_back, directories_only, matcher }
    }

    /// Whether it says something about the file with these parts below the rule's directory.
    fn matches(&self, parts: &[&str]) -> bool {
        match &self.matcher {
            Matcher::Nothing => false,
            Matcher::Name(glob) => {
                let found = parts.iter().position(|part| glob.matches(part));
                found.is_some_and(|at| !self.directories_only || at + 1 < parts.len())
            }
            Matcher::Path(segments) => {
                let rest = match_path(segments, parts);
                rest.is_some_and(|rest| !self.directories_only || !rest.is_empty())
            }
        }
    }
}

impl Segment {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "" => Some(Self::Empty),
            "**" => Some(Self::AnyDirectories),
            _ if text.contains("**") => None,
            _ => Glob::parse(text).map(Self::One),
        }
    }
}

/// Matches the segments against the first parts, and says which parts are left: a pattern that names a directory
/// matches all below it. The odd cases (what counts as matched at the end of the parts) are upstream's.
fn match_path<'p, 's>(segments: &[Segment], mut parts: &'p [&'s str]) -> Option<&'p [&'s str]> {
    let mut matched = false;
    let mut any_directories = false;
    for (i, segment) in segments.iter().enumerate() {
        let is_last = i + 1 == segments.len();
        match segment {
            Segment::Empty => any_directories = false,
            Segment::AnyDirectories if is_last => break,
            Segment::AnyDirectories => any_directories = true,
            Segment::One(_) if parts.is_empty() => return None,
            Segment::One(glob) if any_directories => {
                any_directories = false;
                let found = parts.iter().position(|part| glob.matches(part));
                matched = found.is_some();
                parts = found.map_or(&[], |at| &parts[at + 1..]);
            }
            Segment::One(glob) => {
                if !glob.matches(parts[0]) {
                    return None;
                }
                parts = &parts[1..];
                matched = is_last || !parts.is_empty();
            }
        }
    }
    matched.then_some(parts)
}

fn ignore_file_in(dir: &str) -> String {
    match dir {
        "" => IGNORE_FILE.to_owned(),
        _ => format!("{dir}/{IGNORE_FILE}"),
    }
}

/// The path from `dir` on, when it is below it; `""` is the root.
pub fn below<'p>(path: &'p str, dir: &str) -> Option<&'p str> {
    match dir {
        "" => Some(path),
        _ => path.strip_prefix(dir)?.strip_prefix('/'),
    }
}

#[cfg(test)]
mod tests;
