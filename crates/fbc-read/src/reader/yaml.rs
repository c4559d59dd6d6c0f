//! Converts one YAML document to a canonical line, writing the events of the parser without
//! building a tree.
//!
//! The parser is one of YAML 1.2; the meaning of scalars and the validity of documents follow
//! upstream (Go's yaml.v2 and its conversion to JSON). Only the first node of a document counts.
//!
//! Known differences, which upstream reads and this module rejects: UTF-16; a byte order mark
//! inside a document, but for text in quotes; collections in brackets or braces nested in more than
//! 255 others; `[-]`; a comment right behind a quote; more than a hundred places of one document
//! further left than YAML 1.2 allows. U+0085 is a blank here, wherever it stands.

use std::borrow::Cow;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::canonical::{CanonicalWriter, KeyKind};
use super::error::{ReadErrorKind, TextError};
use super::limits::ReadLimits;
use crate::json::encode::write_text;
pub use check::BYTES_PER_INDICATOR;

use check::EscapedSlashes;
use nodes::{AnchorValue, Anchors, CollectionFrame};
use scalar::YamlScalar;

mod check;
mod nodes;
mod relax;
mod scalar;

/// A converted document. Lines of its text are counted from 0.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct YamlDocument {
    /// Line of the first node.
    pub(super) line: usize,
    /// Line of the first text after the first node, if any.
    pub(super) unread: Option<usize>,
}

/// Converts the first node of a document; an empty document becomes `null`.
pub(super) fn convert(
    text: &[u8],
    limits: &ReadLimits,
    writer: &mut CanonicalWriter,
) -> Result<YamlDocument, TextError> {
    let mut text = check::check(text, limits)?;
    let mut tries = relax::RelaxAttempts::new(&text);
    loop {
        writer.clear();
        let mut reader = YamlReader {
            events: Parser::new_from_str(&text),
            slashes: EscapedSlashes::find_in(&text),
            limits,
            writer,
            frames: Vec::new(),
            anchors: Anchors::default(),
            begin: None,
            at: 0,
            refusal: None,
        };
        let read = reader.document();
        let line = reader.at;
        let refusal = reader.refusal.take();
        let Some(relaxed) = refusal.and_then(|refusal| tries.relax(&text, &refusal)) else {
            return read.map_err(|kind| TextError { line, kind });
        };
        text = Cow::Owned(relaxed);
    }
}

struct YamlReader<'t, 'w> {
    events: Parser<'t, StrInput<'t>>,
    slashes: Option<EscapedSlashes<'t>>,
    limits: &'w ReadLimits,
    writer: &'w mut CanonicalWriter,
    /// Open collections.
    frames: Vec<CollectionFrame>,
    anchors: Anchors<'t>,
    /// Line of the first node, counted from 0.
    begin: Option<usize>,
    /// Line of the current event, counted from 0.
    at: usize,
    /// Error of the parser, if it failed.
    refusal: Option<ScanError>,
}

impl<'t> YamlReader<'t, '_> {
    fn document(&mut self) -> Result<YamlDocument, ReadErrorKind> {
        loop {
            let (event, span) = match self.events.next_event() {
                Some(Ok(found)) => found,
                Some(Err(error)) => return Err(self.refused(error)),
                None => (Event::StreamEnd, Span::default()),
            };
            self.at = line_of(&span.start);
            match event {
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => continue,
                Event::StreamEnd | Event::DocumentEnd => {
                    self.writer.value().extend_from_slice(b"null");
                    let line = 0;
                    let unread = None;
                    return Ok(YamlDocument { line, unread });
                }
                _ => {}
            }
            let line = *self.begin.get_or_insert(self.at);
            self.node(event, span)?;
            if self.writer.written().len() > self.limits.blob_bytes {
                return Err(ReadErrorKind::TooLarge(self.limits.blob_bytes));
            }
            if self.frames.is_empty() {
                let unread = self.rest()?;
                return Ok(YamlDocument { line, unread });
            }
        }
    }

    /// Returns the line of the first text after the first node, if any.
    fn rest(&mut self) -> Result<Option<usize>, ReadErrorKind> {
        // The end of the document: an error right after the node rejects the document, except for
        // directives.
        match self.events.next_event() {
            Some(Err(error)) if error.info().ends_with("before directive") => {
                return Ok(Some(line_of(error.marker())));
            }
            Some(Err(error)) => return Err(self.refused(error)),
            _ => {}
        }
        Ok(match self.events.next_event() {
            None | Some(Ok((Event::StreamEnd, _))) => None,
            Some(Ok((_, span))) => Some(line_of(&span.start)),
            Some(Err(error)) => Some(line_of(error.marker())),
        })
    }

    /// Converts an error of the parser, with upstream's text where they agree.
    fn refused(&mut self, error: ScanError) -> ReadErrorKind {
        self.at = line_of(error.marker());
        let info = error.info();
        let text = match info.split_once(", ") {
            Some((place, text)) if place.starts_with("while ") => text,
            _ => info,
        };
        let kind = if text.ends_with("unknown anchor") {
            ReadErrorKind::Alias("unknown anchor referenced".to_owned())
        } else {
            ReadErrorKind::Yaml(text.to_owned())
        };
        self.refusal = Some(error);
        kind
    }

    fn node(&mut self, event: Event<'t>, span: Span) -> Result<(), ReadErrorKind> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.anchors.count();
                if style == ScalarStyle::DoubleQuoted
                    && let Some(slashes) = &mut self.slashes
                {
                    slashes.check(span)?;
                }
                self.scalar(text, style, anchor, tag.as_deref())
            }
            Event::MappingStart(anchor, _) => self.open(true, anchor),
            Event::SequenceStart(anchor, _) => self.open(false, anchor),
            Event::MappingEnd | Event::SequenceEnd => self.close(),
            Event::Alias(anchor) => self.alias(anchor),
            _ => Ok(()),
        }
    }

    fn scalar(
        &mut self,
        text: Cow<'t, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
    ) -> Result<(), ReadErrorKind> {
        let scalar = match tag {
            None if style == ScalarStyle::Plain => {
                if text == "<<" && self.expects_key() {
                    self.begin_merge();
                    return Ok(());
                }
                scalar::resolve_plain(&text).unwrap_or(YamlScalar::Text(text))
            }
            None => YamlScalar::Text(text),
            Some(tag) => {
                let tag = format!("{}{}", tag.handle, tag.suffix);
                let tag = tag.strip_prefix("tag:yaml.org,2002:").unwrap_or(&tag);
                if tag == "merge" && text == "<<" && self.expects_key() {
                    self.begin_merge();
                    return Ok(());
                }
                scalar::resolve_tagged(tag, text)?
            }
        };
        self.write(&scalar)?;
        if anchor != 0 {
            self.anchors.insert(anchor, AnchorValue::Scalar(scalar));
        }
        Ok(())
    }

    /// Writes a scalar as key or as value, as the position requires.
    fn write(&mut self, scalar: &YamlScalar<'_>) -> Result<(), ReadErrorKind> {
        if self.expects_key() {
            return self.key(scalar);
        }
        if self.is_merging() {
            return Err(ReadErrorKind::Merge);
        }
        let out = self.writer.value();
        match scalar {
            YamlScalar::Null => out.extend_from_slice(b"null"),
            YamlScalar::Bool(true) => out.extend_from_slice(b"true"),
            YamlScalar::Bool(false) => out.extend_from_slice(b"false"),
            YamlScalar::Integer(integer) => out.extend_from_slice(integer.to_string().as_bytes()),
            YamlScalar::Float(float) if float.is_finite() => scalar::write_float(out, *float),
            YamlScalar::Float(float) => {
                return Err(ReadErrorKind::NonFinite(go_name(*float).to_owned()));
            }
            YamlScalar::Text(text) => write_text(out, text),
        }
        self.value_is_complete()
    }

    fn key(&mut self, scalar: &YamlScalar<'_>) -> Result<(), ReadErrorKind> {
        let (kind, text): (_, Cow<'_, str>) = match scalar {
            YamlScalar::Text(text) => (KeyKind::String, Cow::Borrowed(text)),
            YamlScalar::Bool(bool) => (KeyKind::Bool, bool.to_string().into()),
            YamlScalar::Integer(integer) if i64::try_from(*integer).is_err() => {
                return Err(ReadErrorKind::Key(integer.to_string()));
            }
            YamlScalar::Integer(integer) => (KeyKind::Integer, integer.to_string().into()),
            YamlScalar::Float(float) => (KeyKind::Float, scalar::float_key(*float).into()),
            YamlScalar::Null => return Err(ReadErrorKind::Key("null".to_owned())),
        };
        let limit = self.limits.members;
        if self.writer.open_members() >= limit {
            return Err(ReadErrorKind::TooManyMembers(limit));
        }
        let out = self.writer.begin_key(kind);
        let from = out.len();
        write_text(out, &text);
        let is_escaped = out.len() - from != text.len() + 2;
        self.writer.end_key(is_escaped);
        self.key_is_complete();
        Ok(())
    }
}

/// Returns the line of a marker, counted from 0.
fn line_of(marker: &Marker) -> usize {
    marker.line().saturating_sub(1)
}

fn go_name(float: f64) -> &'static str {
    match float {
        f64::INFINITY => "+Inf",
        f64::NEG_INFINITY => "-Inf",
        _ => "NaN",
    }
}

#[cfg(test)]
mod tests;
