//! Writes JSON into a buffer: texts of a content are copied as they are, and commas find their places.

/// A buffer of JSON text.
#[derive(Debug, Default)]
pub(crate) struct JsonWriter(Vec<u8>);

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
    pub(crate) fn map_member<'t>(&mut self, key: &str, pairs: impl Iterator<Item = (&'t str, &'t str)>) {
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

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Writes a comma unless what follows is the first of its object or array, or the value of a key.
    fn separate(&mut self) {
        if self.0.last().is_some_and(|last| !matches!(last, b'{' | b'[' | b':')) {
            self.0.push(b',');
        }
    }
}
