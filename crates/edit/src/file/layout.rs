//! The bytes of a file with the places of its blobs.

use std::ops::Range;

use serde_json::value::RawValue;

use super::{BlobChanges, SourceFile};
use crate::format::{Format, write_compact};
use crate::value::Value;

/// The bytes of a file with the places of its blobs.
#[derive(Debug)]
pub(super) struct Layout<'f> {
    file: &'f SourceFile,
    bytes: &'f [u8],
    format: Format,
    /// Place of each blob; `None` when they are not known, so that a change writes the whole file
    /// anew.
    spans: Option<Vec<Range<usize>>>,
}

impl<'f> Layout<'f> {
    /// Finds the blobs of a file, given the lines of it on which they begin.
    pub(super) fn new(file: &'f SourceFile, bytes: &'f [u8], begins: &[u32]) -> Self {
        let first = bytes.trim_ascii_start().first();
        let is_json = first.map_or_else(|| file.has_json_path(), |first| *first == b'{');
        let format = if is_json { Format::Json } else { Format::Yaml };
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
            None => self.anew(changes),
        };
        for blob in &changes.added {
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
                (Some(blob), Format::Yaml) => write_document(&text(span), blob, &mut out),
                (Some(blob), Format::Json) if self.bytes[span].contains(&b'\n') => {
                    self.format.write(blob, &mut out);
                    out.pop();
                }
                // Where each blob has one line, a changed one has too.
                (Some(blob), Format::Json) => write_compact(blob, &mut out),
                (None, Format::Yaml) => {}
                (None, Format::Json) => {
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

    /// Writes every blob anew.
    fn anew(&self, changes: &BlobChanges) -> String {
        let mut out = String::new();
        for (index, line) in self.file.lines.iter().enumerate() {
            let blob = changes
                .changed
                .get(&index)
                .cloned()
                .unwrap_or_else(|| Value::parse(line).ok());
            if let Some(blob) = blob {
                self.format.write(&blob, &mut out);
            }
        }
        out
    }
}

/// Writes a changed document: its separator and the comments before and behind it stay.
fn write_document(former: &str, blob: &Value, out: &mut String) {
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
        let end = documents
            .get(next)
            .map_or(bytes.len(), |(offset, _)| *offset);
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
