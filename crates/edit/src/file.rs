//! Files of a catalog with the places of their blobs, so that a change touches nothing else.

use std::collections::BTreeMap;
use std::ops::Range;

use fbc::Digest;
use fbc::ignore::compare_paths;
use fbc::read::{FileReader, ReadError, ReadEvent, ReadLimits};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::content::Content;
use crate::format::{Format, write_compact};
use crate::meta::Meta;
use crate::value::{MAX_DEPTH, Value};

/// A file of a catalog.
#[derive(Clone, Debug)]
pub struct SourceFile {
    path: String,
    bytes: Vec<u8>,
    format: Format,
    /// Canonical lines of its blobs.
    lines: Vec<String>,
    /// Place of each blob; `None` when they are not known, so that a change writes the whole file anew.
    spans: Option<Vec<Range<usize>>>,
}

/// A file that does not parse.
#[derive(Debug, thiserror::Error)]
#[error("{path}:{}: {}", error.line, error.kind)]
pub struct FileError {
    /// Path from the root of the catalog.
    pub path: String,
    /// What is wrong with it, and on which line.
    pub error: ReadError,
}

/// A file that changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Path from the root of the catalog, with `/` between its parts.
    pub path: String,
    /// Its bytes before; `None` for a new file.
    pub before: Option<Vec<u8>>,
    /// Its bytes afterwards; `None` for a file that is removed.
    pub after: Option<Vec<u8>>,
}

/// A package whose name cannot name the folder of its file.
#[derive(Debug, thiserror::Error)]
#[error("invalid package name {0:?}: must be a single local path element")]
pub struct InvalidPackageName(String);

impl SourceFile {
    /// Reads a file. Its path is from the root of the catalog, with `/` between its parts.
    pub fn read(path: &str, bytes: Vec<u8>) -> Result<Self, FileError> {
        let mut reader = FileReader::new(ReadLimits { depth: MAX_DEPTH, ..ReadLimits::default() });
        reader.push(&bytes);
        reader.finish();
        let (mut lines, mut begins) = (Vec::new(), Vec::new());
        loop {
            match reader.next().map_err(|error| FileError { path: path.to_owned(), error })? {
                ReadEvent::Blob(blob) => {
                    lines.push(String::from_utf8_lossy(blob.line.trim_ascii_end()).into_owned());
                    begins.push(blob.at);
                }
                ReadEvent::Notice(_) => {}
                ReadEvent::NeedInput | ReadEvent::End => break,
            }
        }
        let is_json = bytes
            .trim_ascii_start()
            .first()
            .map_or(path.to_ascii_lowercase().ends_with(".json"), |first| *first == b'{');
        let format = if is_json { Format::Json } else { Format::Yaml };
        let spans = if is_json { json_spans(&bytes) } else { yaml_spans(&bytes, &begins) };
        let spans = spans.filter(|spans| spans.len() == lines.len());
        Ok(Self { path: path.to_owned(), bytes, format, lines, spans })
    }

    /// Returns the path from the root of the catalog.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the canonical lines of its blobs, without line feeds.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// Returns the bytes of the file with blobs replaced by others, or removed (`None`), by their index in the file, and
    /// others added at its end. `None` when no blob is left.
    fn with(&self, changes: &BTreeMap<usize, Option<Value>>, added: &[Value]) -> Option<Vec<u8>> {
        let removed = changes.values().filter(|change| change.is_none()).count();
        if removed == self.lines.len() && added.is_empty() {
            return None;
        }
        let mut out = match &self.spans {
            Some(spans) => self.with_spans(spans, changes),
            None => self.anew(changes),
        };
        for blob in added {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            self.format.write(blob, &mut out);
        }
        Some(out.into_bytes())
    }

    fn with_spans(&self, spans: &[Range<usize>], changes: &BTreeMap<usize, Option<Value>>) -> String {
        let text = |range: Range<usize>| String::from_utf8_lossy(&self.bytes[range]).into_owned();
        let mut out = String::with_capacity(self.bytes.len());
        let mut at = 0;
        for (index, span) in spans.iter().enumerate() {
            let Some(change) = changes.get(&index) else { continue };
            out.push_str(&text(at..span.start));
            at = span.end;
            match (change, self.format) {
                (Some(blob), Format::Yaml) => write_document(&text(span.clone()), blob, &mut out),
                (Some(blob), Format::Json) if self.bytes[span.clone()].contains(&b'\n') => {
                    self.format.write(blob, &mut out);
                    out.pop();
                }
                // Where each blob has one line, a changed one has too.
                (Some(blob), Format::Json) => write_compact(blob, &mut out),
                (None, Format::Yaml) => {}
                (None, Format::Json) => {
                    at += self.bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
                }
            }
        }
        out.push_str(&text(at..self.bytes.len()));
        out
    }

    /// Writes every blob anew.
    fn anew(&self, changes: &BTreeMap<usize, Option<Value>>) -> String {
        let mut out = String::new();
        for (index, line) in self.lines.iter().enumerate() {
            let blob = changes.get(&index).cloned().unwrap_or_else(|| Value::parse(line).ok());
            if let Some(blob) = blob {
                self.format.write(&blob, &mut out);
            }
        }
        out
    }
}

/// Returns the canonical lines of a file, each with its line feed.
pub fn canonical(path: &str, bytes: &[u8]) -> Result<String, FileError> {
    let mut reader = FileReader::new(ReadLimits { depth: MAX_DEPTH, ..ReadLimits::default() });
    reader.push(bytes);
    reader.finish();
    let mut lines = Vec::with_capacity(bytes.len());
    loop {
        match reader.next().map_err(|error| FileError { path: path.to_owned(), error })? {
            ReadEvent::Blob(blob) => {
                lines.extend_from_slice(blob.line.trim_ascii_end());
                lines.push(b'\n');
            }
            ReadEvent::Notice(_) => {}
            ReadEvent::NeedInput | ReadEvent::End => break,
        }
    }
    // The reader writes valid text.
    Ok(String::from_utf8(lines).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Returns the digest of the content that files have: that of their canonical lines, in the order of the files.
pub fn digest(files: &[SourceFile]) -> Digest {
    let mut hash = Sha256::new();
    for line in files.iter().flat_map(SourceFile::lines) {
        hash.update(line);
        hash.update("\n");
    }
    Digest::new(hash.finalize().into())
}

/// Returns files as they are after changes, in catalog order.
pub fn changed(files: &[SourceFile], changes: &[FileChange]) -> Result<Vec<SourceFile>, FileError> {
    let is_changed = |file: &&SourceFile| changes.iter().any(|change| change.path == file.path);
    let mut all: Vec<_> = files.iter().filter(|file| !is_changed(file)).cloned().collect();
    for change in changes {
        if let Some(after) = &change.after {
            all.push(SourceFile::read(&change.path, after.clone())?);
        }
    }
    all.sort_by(|a, b| compare_paths(&a.path, &b.path));
    Ok(all)
}

/// Makes a content of the blobs of files, in their order.
pub fn content(files: &[SourceFile]) -> Content {
    Content::of_lines(files.iter().flat_map(|file| file.lines.iter().map(String::as_str)))
}

/// Finds how files change when a content that was read from them becomes another one. New blobs go to the file that has
/// their package, or to `PACKAGE/catalog.yaml` (or `.json`, if most files are JSON).
pub fn changes(files: &[SourceFile], from: &Content, to: &Content) -> Result<Vec<FileChange>, InvalidPackageName> {
    let mut places = Vec::new();
    for (at, file) in files.iter().enumerate() {
        places.extend((0..file.lines.len()).map(|index| (at, index)));
    }
    let mut changed: BTreeMap<usize, BTreeMap<usize, Option<Value>>> = BTreeMap::new();
    let mut added: BTreeMap<usize, Vec<Value>> = BTreeMap::new();
    let mut new_files: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for change in from.changes(to) {
        let value = change.after.as_ref().map(parsed);
        match (change.before, value) {
            (Some(before), value) => {
                let (file, index) = places[before.id];
                changed.entry(file).or_default().insert(index, value);
            }
            (None, Some(value)) => {
                let package = change.after.map(|meta| meta.package.to_string()).unwrap_or_default();
                match home(&package, from, &places) {
                    Some(file) => added.entry(file).or_default().push(value),
                    None => new_files.entry(package).or_default().push(value),
                }
            }
            (None, None) => {}
        }
    }
    let mut all = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let (changed, added) = (changed.remove(&at).unwrap_or_default(), added.remove(&at).unwrap_or_default());
        if !changed.is_empty() || !added.is_empty() {
            let after = file.with(&changed, &added);
            all.push(FileChange { path: file.path.clone(), before: Some(file.bytes.clone()), after });
        }
    }
    let json = files.iter().filter(|file| file.format == Format::Json).count();
    let format = if 2 * json > files.len() { Format::Json } else { Format::Yaml };
    for (package, blobs) in new_files {
        let mut text = String::new();
        for blob in &blobs {
            format.write(blob, &mut text);
        }
        all.push(FileChange { path: file_of(&package, format)?, before: None, after: Some(text.into_bytes()) });
    }
    Ok(all)
}

/// Returns the path of the file of a package in a catalog with a folder for each; that of blobs without one if it is empty.
pub fn file_of(package: &str, format: Format) -> Result<String, InvalidPackageName> {
    let is_invalid = package.contains(['/', '\\', '\0']) || matches!(package, "." | "..");
    match package {
        _ if is_invalid => Err(InvalidPackageName(package.to_owned())),
        "" => Ok(format!("catalog.{}", format.extension())),
        _ => Ok(format!("{package}/catalog.{}", format.extension())),
    }
}

/// Finds the file that has the `olm.package`, or else the last blob of a package.
fn home(package: &str, content: &Content, places: &[(usize, usize)]) -> Option<usize> {
    let of_package = || content.metas().iter().filter(|meta| &*meta.package == package);
    let found = of_package().find(|meta| &*meta.schema == "olm.package").or_else(|| of_package().next_back());
    found.filter(|_| !package.is_empty()).map(|meta| places[meta.id].0)
}

/// Parses a line that an operation wrote, which is no deeper than what it was made of.
fn parsed(meta: &Meta) -> Value {
    Value::parse(&meta.line).unwrap_or(Value::Null)
}

/// Writes a changed document: its separator and the comments before and behind it stay.
fn write_document(former: &str, blob: &Value, out: &mut String) {
    let lines: Vec<&str> = former.split_inclusive('\n').collect();
    let is_content = |line: &str| {
        let text = line.trim();
        !(text.is_empty() || text.starts_with('#') || line.starts_with("---"))
    };
    let first = lines.iter().position(|line| is_content(line)).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| is_content(line)).map_or(lines.len(), |last| last + 1);
    lines[..first].iter().for_each(|line| out.push_str(line));
    let mut text = String::new();
    Format::Yaml.write(blob, &mut text);
    out.push_str(text.strip_prefix("---\n").unwrap_or(&text));
    lines[end..].iter().for_each(|line| out.push_str(line));
}

/// Finds the documents of a YAML file by the lines on which their blobs begin.
fn yaml_spans(bytes: &[u8], begins: &[u32]) -> Option<Vec<Range<usize>>> {
    let text = std::str::from_utf8(bytes).ok()?;
    // Where each document begins: its offset and its line, counted from 1.
    let mut documents = vec![(0, 1_usize)];
    let mut at = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.starts_with("---") {
            documents.push((at, number + 1));
        }
        at += line.len();
    }
    let mut spans: Vec<Range<usize>> = Vec::new();
    for begin in begins {
        let next = documents.partition_point(|(_, line)| *line <= *begin as usize);
        let (start, _) = documents[next.checked_sub(1)?];
        let end = documents.get(next).map_or(bytes.len(), |(offset, _)| *offset);
        if spans.last().is_some_and(|last| last.start == start) || text.starts_with('\u{feff}') {
            return None;
        }
        spans.push(start..end);
    }
    Some(spans)
}

/// Finds the objects of a JSON file.
fn json_spans(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    let mut spans = Vec::new();
    while let Some(value) = values.next() {
        let end = values.byte_offset();
        spans.push(end - value.ok()?.get().len()..end);
    }
    Some(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Operation, PackageFields, apply};

    fn set_default(package: &str, channel: &str) -> Operation<crate::bundle::RenderedBundle> {
        let (package, default_channel) = (package.to_owned(), Some(channel.to_owned()));
        Operation::SetPackage(PackageFields { package, default_channel, ..PackageFields::default() })
    }

    const YAML: &str = "# Header.\n---\n# About a.\nschema: olm.package\nname: a   # Name.\ndefaultChannel: x\n\n# End.\n---\n\
        package: a\nname: 'y'\nschema: olm.channel\nentries: [{name: a.v1}]\n---\nschema: olm.channel\npackage: a\nname: x\n\
        entries:\n- name: a.v1\n---\n{schema: olm.bundle, package: a, name: a.v1, image: i, properties: [{type: olm.package, \
        value: {packageName: a, version: 1.0.0}}]}\n";

    #[test]
    fn what_is_not_changed_keeps_its_bytes() {
        let files = [SourceFile::read("a.yaml", YAML.as_bytes().to_vec()).unwrap()];
        let from = content(&files);
        let to = apply(&from, &[set_default("a", "y")]).unwrap();
        let [change] = &changes(&files, &from, &to).unwrap()[..] else { panic!("one file") };
        let after = String::from_utf8(change.after.clone().unwrap()).unwrap();
        let former = "schema: olm.package\nname: a   # Name.\ndefaultChannel: x\n";
        assert_eq!(after, YAML.replace(former, "defaultChannel: \"y\"\nname: a\nschema: olm.package\n"));
        assert_eq!(changes(&files, &from, &from).unwrap(), []);
    }

    #[test]
    fn a_blob_that_is_one_line_of_json_stays_one() {
        let text =
            "{\"schema\":\"olm.package\",\"name\":\"a\"} {\n \"schema\": \"x\", \"package\":\"a\"}\n{\"schema\":\"y\"}";
        let file = SourceFile::read("a.json", text.as_bytes().to_vec()).unwrap();
        let blob = Value::object([("schema", Value::text("z"))]);
        let with = |index: usize, blob: Option<&Value>| {
            String::from_utf8(file.with(&[(index, blob.cloned())].into(), &[]).unwrap()).unwrap()
        };
        assert_eq!(with(2, Some(&blob)), text.replace("{\"schema\":\"y\"}", "{\"schema\":\"z\"}"));
        let package = Value::object([("name", Value::text("b")), ("schema", Value::text("olm.package"))]);
        assert_eq!(with(0, Some(&package)), text.replace("\"a\"} {", "\"b\"} {"), "in the order of opm");
        assert_eq!(with(1, Some(&blob)).matches("{\n    \"schema\": \"z\"\n}\n").count(), 1);
        assert_eq!(with(1, None), "{\"schema\":\"olm.package\",\"name\":\"a\"} {\"schema\":\"y\"}");
    }

    #[test]
    fn a_file_without_blobs_is_removed_and_a_new_package_gets_its_own() {
        let files = [SourceFile::read("a.yaml", YAML.as_bytes().to_vec()).unwrap()];
        let from = content(&files);
        let remove = Operation::Rm(crate::operation::Packages { packages: vec!["a".to_owned()], ..Default::default() });
        let to = apply(&from, &[remove]).unwrap();
        let removed = FileChange { path: "a.yaml".to_owned(), before: Some(YAML.into()), after: None };
        assert_eq!(changes(&files, &from, &to).unwrap(), [removed]);
        assert!(file_of("../a", Format::Yaml).is_err());
        assert_eq!(file_of("b", Format::Json).unwrap(), "b/catalog.json");
    }
}
