//! Positions of blobs in the bytes of a file.

use std::ops::Range;

use serde_json::value::RawValue;

use super::{BlobChanges, SourceFile};
use crate::format::{FileFormat, write_compact};
use crate::value::BlobValue;

/// The bytes of a file, and the positions of its blobs in them.
#[derive(Debug)]
pub(super) struct FileLayout<'f> {
    file: &'f SourceFile,
    bytes: &'f [u8],
    format: FileFormat,
    /// Bytes of each blob; `None` where they are not known, so that a change writes the whole file.
    spans: Option<Vec<Range<usize>>>,
}

impl<'f> FileLayout<'f> {
    /// Finds the blobs of a file, given the lines on which they begin.
    pub(super) fn new(file: &'f SourceFile, bytes: &'f [u8], begins: &[u32]) -> Self {
        let first = bytes.trim_ascii_start().first();
        let is_json = first.map_or_else(|| file.has_json_path(), |first| *first == b'{');
        let format = if is_json {
            FileFormat::Json
        } else {
            FileFormat::Yaml
        };
        let spans = if is_json {
            json_spans(bytes)
        } else {
            yaml_spans(bytes, begins)
        };
        let spans = spans.filter(|spans| spans.len() == file.lines.len());
        Self {
            file,
            bytes,
            format,
            spans,
        }
    }

    /// Returns the text of the file with changes.
    pub(super) fn with(&self, changes: &BlobChanges) -> String {
        let mut out = match &self.spans {
            Some(spans) => self.with_spans(spans, changes),
            None => self.write_all(changes),
        };
        for blob in &changes.added {
            // The last line of a file by hand may lack its line feed.
            if !out.is_empty() && !out.ends_with('\n') {
                out.push('\n');
            }
            self.format.write(blob, &mut out);
        }
        out
    }

    fn with_spans(&self, spans: &[Range<usize>], changes: &BlobChanges) -> String {
        let text = |range: Range<usize>| String::from_utf8_lossy(&self.bytes[range]);
        let mut out = String::with_capacity(self.bytes.len());
        let mut at = 0;
        for (index, change) in &changes.changed {
            let span = spans[*index].clone();
            out.push_str(&text(at..span.start));
            at = span.end;
            match (change, self.format) {
                (Some(blob), FileFormat::Yaml) => write_document(&text(span), blob, &mut out),
                (Some(blob), FileFormat::Json) if self.bytes[span].contains(&b'\n') => {
                    self.format.write(blob, &mut out);
                    out.pop();
                }
                // A blob on one line stays on one line.
                (Some(blob), FileFormat::Json) => write_compact(blob, &mut out),
                (None, FileFormat::Yaml) => {}
                // The white space behind a removed blob goes with it, so that no empty line is
                // left.
                (None, FileFormat::Json) => {
                    at += self.bytes[at..]
                        .iter()
                        .take_while(|byte| byte.is_ascii_whitespace())
                        .count();
                }
            }
        }
        out.push_str(&text(at..self.bytes.len()));
        out
    }

    /// Writes every blob.
    fn write_all(&self, changes: &BlobChanges) -> String {
        let mut out = String::new();
        for (index, line) in self.file.lines.iter().enumerate() {
            let blob = changes
                .changed
                .get(&index)
                .cloned()
                .unwrap_or_else(|| BlobValue::parse(line).ok());
            if let Some(blob) = blob {
                self.format.write(&blob, &mut out);
            }
        }
        out
    }
}

/// Writes a changed document. Its separator, and the comments before and after it, stay.
fn write_document(former: &str, blob: &BlobValue, out: &mut String) {
    let lines: Vec<&str> = former.split_inclusive('\n').collect();
    let is_content = |line: &str| {
        let text = line.trim();
        !(text.is_empty() || text.starts_with('#') || line.starts_with("---"))
    };
    let first = lines
        .iter()
        .position(|line| is_content(line))
        .unwrap_or(lines.len());
    let end = lines
        .iter()
        .rposition(|line| is_content(line))
        .map_or(lines.len(), |last| last + 1);
    lines[..first].iter().for_each(|line| out.push_str(line));
    let mut text = String::new();
    FileFormat::Yaml.write(blob, &mut text);
    out.push_str(text.strip_prefix("---\n").unwrap_or(&text));
    lines[end..].iter().for_each(|line| out.push_str(line));
}

/// Beginning of a YAML document.
struct DocumentStart {
    /// Offset in bytes.
    offset: usize,
    /// Line, counted from 1.
    line: u32,
}

/// Finds the documents of a YAML file by the lines on which their blobs begin; `None` where they
/// cannot be told apart for sure.
fn yaml_spans(bytes: &[u8], begins: &[u32]) -> Option<Vec<Range<usize>>> {
    let text = std::str::from_utf8(bytes).ok()?;
    // The reader skips a byte order mark, so that positions would be shifted.
    if text.starts_with('\u{feff}') {
        return None;
    }

    let mut documents = vec![DocumentStart { offset: 0, line: 1 }];
    let mut offset = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        if line.starts_with("---") {
            documents.push(DocumentStart {
                offset,
                line: number,
            });
        }
        offset += line.len();
    }

    let mut spans: Vec<Range<usize>> = Vec::new();
    for begin in begins {
        let next = documents.partition_point(|document| document.line <= *begin);
        let start = documents[next.checked_sub(1)?].offset;
        let end = documents
            .get(next)
            .map_or(bytes.len(), |document| document.offset);
        // A separator was missed, so that the blobs cannot be told apart.
        if spans.last().is_some_and(|last| last.start == start) {
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
        // `byte_offset` is the end of the value; its text has no white space around it.
        spans.push(end - value.ok()?.get().len()..end);
    }
    Some(spans)
}
