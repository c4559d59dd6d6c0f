//! One YAML document → canonical line: the events of the parser are written as they come, without a tree.
//!
//! The parser is of YAML 1.2; what its scalars mean, and what a document may hold, are upstream's rules (Go's yaml.v2
//! and the conversion to JSON around it). Only the first node of a document counts. This file knows nothing of files.
//!
//! Known to be refused here and read upstream: UTF-16; a byte order mark inside a document, but for text in quotes;
//! collections in brackets or braces nested in more than 255 others; `[-]`; a comment right behind a quote; more than a
//! hundred places of one document further left than YAML 1.2 allows. U+0085 is a blank here, wherever it stands.

use std::borrow::Cow;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::ReadLimits;
use super::canonical::{Canonical, KeyKind, write_text};
use super::error::{Fault, ReadErrorKind};
use check::EscapedSlashes;
use nodes::{Anchored, Anchors, Frame};
use scalar::Scalar;

mod check;
mod nodes;
mod relax;
mod scalar;

/// What was read of a document, with lines of its text counted from 0.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document {
    /// Where the first node begins.
    pub(super) line: usize,
    /// Where text begins that is no part of the first node.
    pub(super) unread: Option<usize>,
}

/// Writes the first node of a document; `null` for a document without any.
pub(super) fn convert(text: &[u8], limits: &ReadLimits, writer: &mut Canonical) -> Result<Document, Fault> {
    let mut text = check::check(text, limits)?;
    let mut tries = relax::Tries::default();
    loop {
        writer.clear();
        let mut reader = Reader {
            events: Parser::new_from_str(&text),
            slashes: EscapedSlashes::of(&text),
            limits,
            writer,
            frames: Vec::new(),
            anchors: Anchors::default(),
            begin: None,
            at: 0,
            refusal: None,
        };
        let read = reader.document();
        let (line, refusal) = (reader.at, reader.refusal.take());
        let Some(relaxed) = refusal.and_then(|refusal| tries.relax(&text, &refusal)) else {
            return read.map_err(|kind| Fault { line, kind });
        };
        text = Cow::Owned(relaxed);
    }
}

struct Reader<'t, 'w> {
    events: Parser<'t, StrInput<'t>>,
    slashes: Option<EscapedSlashes<'t>>,
    limits: &'w ReadLimits,
    writer: &'w mut Canonical,
    /// The collections that are open.
    frames: Vec<Frame>,
    anchors: Anchors<'t>,
    /// The line on which the first node begins, from 0.
    begin: Option<usize>,
    /// The line of what is read, from 0.
    at: usize,
    /// Why the parser went no further.
    refusal: Option<ScanError>,
}

impl<'t> Reader<'t, '_> {
    fn document(&mut self) -> Result<Document, ReadErrorKind> {
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
                    let (line, unread) = (0, None);
                    return Ok(Document { line, unread });
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
                return Ok(Document { line, unread });
            }
        }
    }

    /// Where text begins that is not read, once the first node is complete.
    fn rest(&mut self) -> Result<Option<usize>, ReadErrorKind> {
        // The end of the document: a fault right behind the node is one of the document, but for directives.
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

    /// Takes a fault that the parser found, in upstream's words where they are alike.
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
                scalar::resolve_plain(&text).unwrap_or(Scalar::Text(text))
            }
            None => Scalar::Text(text),
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
            self.anchors.insert(anchor, Anchored::Scalar(scalar));
        }
        Ok(())
    }

    /// Writes a scalar as what is expected here: a key, or a value.
    fn write(&mut self, scalar: &Scalar<'_>) -> Result<(), ReadErrorKind> {
        if self.expects_key() {
            return self.key(scalar);
        }
        if self.is_merging() {
            return Err(ReadErrorKind::Merge);
        }
        let out = self.writer.value();
        match scalar {
            Scalar::Null => out.extend_from_slice(b"null"),
            Scalar::Bool(true) => out.extend_from_slice(b"true"),
            Scalar::Bool(false) => out.extend_from_slice(b"false"),
            Scalar::Integer(integer) => out.extend_from_slice(integer.to_string().as_bytes()),
            Scalar::Float(float) if float.is_finite() => scalar::write_float(out, *float),
            Scalar::Float(float) => {
                return Err(ReadErrorKind::NonFinite(go_name(*float).to_owned()));
            }
            Scalar::Text(text) => write_text(out, text),
        }
        self.value_is_complete()
    }

    fn key(&mut self, scalar: &Scalar<'_>) -> Result<(), ReadErrorKind> {
        let (kind, text): (_, Cow<'_, str>) = match scalar {
            Scalar::Text(text) => (KeyKind::String, Cow::Borrowed(text)),
            Scalar::Bool(bool) => (KeyKind::Bool, bool.to_string().into()),
            Scalar::Integer(integer) if i64::try_from(*integer).is_err() => {
                return Err(ReadErrorKind::Key(integer.to_string()));
            }
            Scalar::Integer(integer) => (KeyKind::Integer, integer.to_string().into()),
            Scalar::Float(float) => (KeyKind::Float, scalar::float_key(*float).into()),
            Scalar::Null => return Err(ReadErrorKind::Key("null".to_owned())),
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

/// From 0.
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
