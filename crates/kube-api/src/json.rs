//! A writer of JSON text that copies values of a content unchanged and sets the commas.

use crate::manifest_cache::CachedManifest;

/// A buffer of JSON text.
#[derive(Debug, Default)]
pub(crate) struct JsonWriter {
    bytes: Vec<u8>,
    splice: Option<Splice>,
}

/// JSON text with at most one part that is not copied.
#[derive(Debug)]
pub(crate) struct SplicedJson {
    /// The text without that part.
    pub(crate) bytes: Vec<u8>,
    pub(crate) splice: Option<Splice>,
}

/// A cached manifest within a text.
#[derive(Debug)]
pub(crate) struct Splice {
    /// Position of the manifest among the bytes of the text.
    pub(crate) position: usize,
    pub(crate) manifest: CachedManifest,
}

impl JsonWriter {
    /// Opens an object or array.
    pub(crate) fn open(&mut self, bracket: u8) {
        self.separate();
        self.bytes.push(bracket);
    }

    /// Closes an object or array.
    pub(crate) fn close(&mut self, bracket: u8) {
        self.bytes.push(bracket);
    }

    /// Writes the key of the next value.
    pub(crate) fn key(&mut self, key: &str) {
        self.text(key);
        self.bytes.push(b':');
    }

    /// Writes the key of the next value, given as JSON text with quotes.
    pub(crate) fn raw_key(&mut self, key: &[u8]) {
        self.raw(key);
        self.bytes.push(b':');
    }

    /// Writes a value that is JSON text already.
    pub(crate) fn raw(&mut self, json: &[u8]) {
        self.separate();
        self.bytes.extend_from_slice(json);
    }

    /// Writes bytes unchanged, without a comma before them.
    pub(crate) fn rest(&mut self, json: &[u8]) {
        self.bytes.extend_from_slice(json);
    }

    /// Writes a manifest without copying it. A second one is copied.
    pub(crate) fn splice(&mut self, manifest: CachedManifest) {
        match self.splice {
            None => {
                self.splice = Some(Splice {
                    position: self.bytes.len(),
                    manifest,
                });
            }
            Some(_) => self.rest(&manifest.plain),
        }
    }

    /// Writes a string.
    pub(crate) fn text(&mut self, text: &str) {
        self.separate();
        serde_json::to_writer(&mut self.bytes, text).expect("a string is JSON");
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

    /// Removes the bracket that closes an object, so that further members can be written.
    pub(crate) fn reopen(&mut self) {
        self.bytes.pop();
    }

    /// Returns the text in one piece.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.into_text().into_bytes()
    }

    /// Returns the text, with the manifest that was not copied.
    pub(crate) fn into_text(self) -> SplicedJson {
        SplicedJson {
            bytes: self.bytes,
            splice: self.splice,
        }
    }

    /// Writes a comma, unless the next value is the first of its object or array, or follows a key.
    fn separate(&mut self) {
        let is_value = |last: &u8| !matches!(last, b'{' | b'[' | b':');
        if self.bytes.last().is_some_and(is_value) {
            self.bytes.push(b',');
        }
    }
}

impl SplicedJson {
    /// Returns the number of bytes of the text.
    pub(crate) fn len(&self) -> usize {
        let spliced = |splice: &Splice| splice.manifest.plain.len();
        self.bytes.len() + self.splice.as_ref().map_or(0, spliced)
    }

    /// Returns the text in one piece.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let Some(Splice { position, manifest }) = self.splice else {
            return self.bytes;
        };
        let (before, after) = self.bytes.split_at(position);
        [before, &manifest.plain, after].concat()
    }
}
