//! Selects the files of a directory tree that belong to its catalog, by `.indexignore` files, and
//! orders them.
//!
//! The dialect is upstream's (go-git 5), not git's: only files are tested, so a file can be
//! included again although its directory is ignored.

mod glob;

use std::cmp::Ordering;

use glob::Glob;

/// Name of the files with ignore rules. A file of this name is never part of a catalog.
pub const IGNORE_FILE: &str = ".indexignore";

/// Maximum size of an ignore file, in bytes: it is held in memory.
pub const IGNORE_FILE_BYTES: u64 = 1024 * 1024;

/// Name of the symbolic link by which a mounted `ConfigMap` or `Secret` replaces all its files
/// atomically. Other entries beside it whose names begin with `..` are the directories that the
/// links of the mount lead to.
pub const ATOMIC_LINK: &str = "..data";

/// Maximum length of a line of an ignore file, in bytes without its line feed: the limit of
/// upstream's scanner.
pub const MAX_LINE: usize = 64 * 1024 - 1;

/// Maximum number of rules of all ignore files of a tree together: each is tested on each file
/// below it.
pub const MAX_RULES: usize = 1_000;

/// Maximum number of bytes of all rules of a tree together, without comments: a parsed rule takes
/// up to 40 times as many.
pub const MAX_RULE_BYTES: usize = 1024 * 1024;

/// Maximum number of steps in which the rules of a tree are matched against all its files, about a
/// second: a step compares one character of a name with one element of a pattern. A thousand files
/// below ten ordinary patterns take 100,000.
pub const MAX_MATCH_STEPS: u64 = 100_000_000;

/// An error in an ignore file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IgnoreError {
    /// A line is longer than [`MAX_LINE`].
    #[error("line {line} of the {IGNORE_FILE} file in {dir:?} is longer than {MAX_LINE} bytes")]
    LineTooLong {
        /// Directory of the ignore file, as given.
        dir: String,
        /// Line of the ignore file, counted from 1.
        line: usize,
    },
    /// The files have more than [`MAX_RULES`] rules together.
    #[error(
        "the {IGNORE_FILE} files have more than {MAX_RULES} patterns together, counted up to the one in {dir:?}"
    )]
    TooManyRules {
        /// Directory of the ignore file, as given.
        dir: String,
    },
    /// The files have more than [`MAX_RULE_BYTES`] of rules together.
    #[error(
        "the {IGNORE_FILE} files have more than {MAX_RULE_BYTES} bytes of patterns together, counted up to the one in {dir:?}"
    )]
    RulesTooLong {
        /// Directory of the ignore file, as given.
        dir: String,
    },
    /// Matching the rules takes more than [`MAX_MATCH_STEPS`].
    #[error(
        "matching the patterns of the {IGNORE_FILE} files against {files} files takes more than {MAX_MATCH_STEPS} steps: \
         use fewer patterns, or patterns with fewer `*`"
    )]
    TooMuchWork {
        /// Number of files that the rules are matched against.
        files: usize,
    },
}

/// The rules of all ignore files of a directory tree.
///
/// ```
/// use fbc_grammar::ignore::IgnoreRules;
///
/// let mut rules = IgnoreRules::new();
/// rules.add("", b"*.md\n!README.md\n")?;
/// assert!(rules.is_ignored("etcd/notes.md"));
/// assert!(!rules.is_ignored("etcd/README.md"));
/// # Ok::<(), fbc_grammar::ignore::IgnoreError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct IgnoreRules {
    /// Rules of each file, in catalog order; a later rule takes precedence.
    files: Vec<IgnoreFile>,
    /// Bytes of all rules.
    bytes: usize,
}

/// Counts the steps of matching.
#[derive(Debug, Default)]
struct MatchSteps(u64);

impl MatchSteps {
    fn add(&mut self, steps: usize) {
        self.0 += steps as u64;
    }
}

#[derive(Clone, Debug)]
struct IgnoreFile {
    /// Directory that the rules apply to; empty for the root.
    dir: String,
    rules: Vec<IgnoreRule>,
}

#[derive(Clone, Debug)]
struct IgnoreRule {
    /// Begins with `!`: files that it matches are included.
    is_negated: bool,
    /// Ends with `/`: it matches directories above a file, never the file itself.
    directories_only: bool,
    matcher: RuleMatcher,
}

#[derive(Clone, Debug)]
enum RuleMatcher {
    /// A pattern without a slash: matches any component of the path.
    Name(Glob),
    /// A pattern with a slash: matches the path from the rule's directory, component by component.
    Path(Vec<PathSegment>),
    /// A malformed pattern, which matches nothing.
    Malformed,
}

#[derive(Clone, Debug)]
enum PathSegment {
    /// The empty component at a leading, trailing or doubled slash.
    Empty,
    /// `**`.
    AnyDirectories,
    Name(Glob),
}

impl IgnoreRules {
    /// Creates an empty set of rules, which only ignores the ignore files themselves.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the rules of the ignore file in directory `dir` (`""` is the root). Files can be added
    /// in any order.
    pub fn add(&mut self, dir: &str, text: &[u8]) -> Result<(), IgnoreError> {
        let others: usize = self.files.iter().map(|file| file.rules.len()).sum();
        let mut rules = Vec::new();
        for (number, line) in text.split(|&byte| byte == b'\n').enumerate() {
            if line.len() > MAX_LINE {
                return Err(IgnoreError::LineTooLong {
                    dir: dir.to_owned(),
                    line: number + 1,
                });
            }
            let line = String::from_utf8_lossy(line);
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                self.bytes += line.len();
                if self.bytes > MAX_RULE_BYTES {
                    return Err(IgnoreError::RulesTooLong {
                        dir: dir.to_owned(),
                    });
                }
                rules.push(IgnoreRule::parse(line));
                if others + rules.len() > MAX_RULES {
                    return Err(IgnoreError::TooManyRules {
                        dir: dir.to_owned(),
                    });
                }
            }
        }
        if rules.is_empty() {
            return Ok(());
        }
        let path = ignore_file_in(dir);
        let place = self
            .files
            .partition_point(|file| compare_paths(&ignore_file_in(&file.dir), &path).is_lt());
        let dir = dir.to_owned();
        self.files.insert(place, IgnoreFile { dir, rules });
        Ok(())
    }

    /// Tells whether the file at a path (from the root, components joined with `/`) is excluded
    /// from the catalog.
    pub fn is_ignored(&self, path: &str) -> bool {
        self.matches(path, &mut MatchSteps::default())
    }

    /// Removes the items whose files are excluded from the catalog, as [`IgnoreRules::is_ignored`]
    /// tells; `path` returns the path of an item.
    ///
    /// # Errors
    /// Fails when this takes more than [`MAX_MATCH_STEPS`].
    pub fn remove_ignored<T>(
        &self,
        items: &mut Vec<T>,
        path: impl Fn(&T) -> &str,
    ) -> Result<(), IgnoreError> {
        let files = items.len();
        let mut steps = MatchSteps::default();
        // Beyond the limit nothing is matched any more.
        items.retain(|item| steps.0 > MAX_MATCH_STEPS || !self.matches(path(item), &mut steps));
        if steps.0 > MAX_MATCH_STEPS {
            Err(IgnoreError::TooMuchWork { files })
        } else {
            Ok(())
        }
    }

    fn matches(&self, path: &str, steps: &mut MatchSteps) -> bool {
        steps.add(1 + self.files.len());
        if path.rsplit('/').next() == Some(IGNORE_FILE) {
            return true;
        }
        self.files
            .iter()
            .rev()
            .filter_map(|file| Some((file, below(path, &file.dir)?)))
            .find_map(|(file, rest)| {
                let parts: Vec<&str> = rest.split('/').collect();
                let last = file
                    .rules
                    .iter()
                    .rev()
                    .find(|rule| rule.matches(&parts, steps));
                last.map(|rule| !rule.is_negated)
            })
            .unwrap_or(false)
    }
}

/// Compares paths in catalog order: the order of a walk that visits the entries of each directory
/// sorted by name.
pub fn compare_paths(a: &str, b: &str) -> Ordering {
    a.split('/').cmp(b.split('/'))
}

impl IgnoreRule {
    fn parse(line: &str) -> Self {
        let (is_negated, pattern) = match line.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let pattern = if pattern.ends_with("\\ ") {
            pattern
        } else {
            pattern.trim_end_matches(' ')
        };
        let (directories_only, pattern) = match pattern.strip_suffix('/') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        let matcher = if pattern.contains('/') {
            let segments: Option<Vec<_>> = pattern.split('/').map(PathSegment::parse).collect();
            segments.map_or(RuleMatcher::Malformed, RuleMatcher::Path)
        } else {
            Glob::parse(pattern).map_or(RuleMatcher::Malformed, RuleMatcher::Name)
        };
        Self {
            is_negated,
            directories_only,
            matcher,
        }
    }

    /// Tells whether the rule matches the file with these path components below the rule's
    /// directory.
    fn matches(&self, parts: &[&str], steps: &mut MatchSteps) -> bool {
        steps.add(1);
        match &self.matcher {
            RuleMatcher::Malformed => false,
            RuleMatcher::Name(glob) => {
                let found = parts.iter().position(|part| glob.matches(part, steps));
                found.is_some_and(|at| !self.directories_only || at + 1 < parts.len())
            }
            RuleMatcher::Path(segments) => {
                let rest = match_path(segments, parts, steps);
                rest.is_some_and(|rest| !self.directories_only || !rest.is_empty())
            }
        }
    }
}

impl PathSegment {
    fn parse(text: &str) -> Option<Self> {
        match text {
            "" => Some(Self::Empty),
            "**" => Some(Self::AnyDirectories),
            _ if text.contains("**") => None,
            _ => Glob::parse(text).map(Self::Name),
        }
    }
}

/// Matches the segments against the first components and returns the remaining ones: a pattern that
/// names a directory matches everything below it. The corner cases at the end of the components are
/// upstream's.
fn match_path<'p, 's>(
    segments: &[PathSegment],
    mut parts: &'p [&'s str],
    steps: &mut MatchSteps,
) -> Option<&'p [&'s str]> {
    let mut matched = false;
    let mut any_directories = false;
    for (i, segment) in segments.iter().enumerate() {
        let is_last = i + 1 == segments.len();
        steps.add(1);
        match segment {
            PathSegment::Empty => any_directories = false,
            PathSegment::AnyDirectories if is_last => break,
            PathSegment::AnyDirectories => any_directories = true,
            PathSegment::Name(_) if parts.is_empty() => return None,
            PathSegment::Name(glob) if any_directories => {
                any_directories = false;
                let found = parts.iter().position(|part| glob.matches(part, steps));
                matched = found.is_some();
                parts = found.map_or(&[], |at| &parts[at + 1..]);
            }
            PathSegment::Name(glob) => {
                if !glob.matches(parts[0], steps) {
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

/// Returns the path relative to `dir` (`""` is the root); `None` when it is not below it.
pub fn below<'p>(path: &'p str, dir: &str) -> Option<&'p str> {
    match dir {
        "" => Some(path),
        _ => path.strip_prefix(dir)?.strip_prefix('/'),
    }
}

#[cfg(test)]
mod tests;
