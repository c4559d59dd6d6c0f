//! Writes JSON into a buffer: texts of a content are copied as they are, and commas find their
//! places.

use crate::texts::KeptText;

/// A buffer of JSON text, of which a part may be elsewhere.
#[derive(Debug, Default)]
pub(crate) struct JsonWriter(Vec<u8>, Option<(usize, KeptText)>);

/// JSON text, of which a part may be kept elsewhere.
#[derive(Debug)]
pub(crate) struct JsonText {
    /// The text without the part.
    pub(crate) bytes: Vec<u8>,
    /// The part, and where it belongs.
    pub(crate) kept: Option<(usize, KeptText)>,
}

impl JsonWriter {
    /// Opens an object or array.
    pub(crate) fn open(&mut self, bracket: u8) {
        self.separate();
        self.0.push(bracket);
    }

    /// Closes an object or array.
    pub(crate) fn close(&mut self, bracket: u8) {
        self.0.push(bracket);
    }

    /// Writes the key of the next value.
    pub(crate) fn key(&mut self, key: &str) {
        self.text(key);
        self.0.push(b':');
    }

    /// Writes the key of the next value, given as JSON text with quotes.
    pub(crate) fn raw_key(&mut self, key: &[u8]) {
        self.raw(key);
        self.0.push(b':');
    }

    /// Writes a value that is JSON text already.
    pub(crate) fn raw(&mut self, json: &[u8]) {
        self.separate();
        self.0.extend_from_slice(json);
    }

    /// Writes what follows as it is, without a comma before it.
    pub(crate) fn rest(&mut self, json: &[u8]) {
        self.0.extend_from_slice(json);
    }

    /// Writes what follows as it is, without copying it. There can be one such part.
    pub(crate) fn kept(&mut self, text: KeptText) {
        match self.1 {
            None => self.1 = Some((self.0.len(), text)),
            Some(_) => self.rest(&text.plain),
        }
    }

    /// Writes a string.
    pub(crate) fn text(&mut self, text: &str) {
        self.separate();
        serde_json::to_writer(&mut self.0, text).expect("a string is JSON");
    }

    /// Writes a member that is a string.
    pub(crate) fn text_member(&mut self, key: &str, text: &str) {
        self.key(key);
        self.text(text);
    }

    /// Writes a member whose value is an object of strings.
    pub(crate) fn map_member<'t>(
        &mut self,
        key: &str,
        pairs: impl Iterator<Item = (&'t str, &'t str)>,
    ) {
        self.key(key);
        self.open(b'{');
        pairs.for_each(|(key, value)| self.text_member(key, value));
        self.close(b'}');
    }

    /// Returns the number of bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Removes everything beyond so many bytes.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    /// Returns the text in one piece.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.into_text().into_bytes()
    }

    pub(crate) fn into_text(self) -> JsonText {
        JsonText {
            bytes: self.0,
            kept: self.1,
        }
    }

    /// Writes a comma unless what follows is the first of its object or array, or the value of a
    /// key.
    fn separate(&mut self) {
        if self
            .0
            .last()
            .is_some_and(|last| !matches!(last, b'{' | b'[' | b':'))
        {
            self.0.push(b',');
        }
    }
}

impl JsonText {
    /// Returns the number of bytes of the text.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() + self.kept.as_ref().map_or(0, |(_, kept)| kept.plain.len())
    }

    /// Returns the text in one piece.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let Self { bytes, kept } = self;
        let Some((at, kept)) = kept else { return bytes };
        [&bytes[..at], &kept.plain, &bytes[at..]].concat()
    }
}
