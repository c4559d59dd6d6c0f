//! Tar archives written entry by entry, including malformed ones that no program would write.

use std::io::Write;

/// A tar archive under construction: its bytes so far, without the two empty blocks at its end.
#[derive(Clone, Default)]
#[must_use]
pub struct Archive(pub Vec<u8>);

impl Archive {
    /// Appends a regular file.
    pub fn file(self, path: &str, content: &str) -> Self {
        self.entry(b'0', path.as_bytes(), b"", content.as_bytes())
    }

    /// Appends a directory.
    pub fn folder(self, path: &str) -> Self {
        self.entry(b'5', path.as_bytes(), b"", b"")
    }

    /// Appends a symbolic link.
    pub fn link(self, path: &str, target: &str) -> Self {
        self.entry(b'2', path.as_bytes(), target.as_bytes(), b"")
    }

    /// Appends a hard link.
    pub fn hard_link(self, path: &str, target: &str) -> Self {
        self.entry(b'1', path.as_bytes(), target.as_bytes(), b"")
    }

    /// Appends an entry of any type flag. Names that do not fit into the header get GNU's long-name
    /// entries before it.
    pub fn entry(mut self, flag: u8, path: &[u8], target: &[u8], content: &[u8]) -> Self {
        for (flag, name) in [(b'L', path), (b'K', target)] {
            if name.len() > 100 {
                self = self
                    .header(flag, b"././@LongLink", b"", name.len() as u64)
                    .content(name);
            }
        }
        self.header(flag, path, target, content.len() as u64)
            .content(content)
    }

    /// Appends a pax extended header for the next entry, with these keys and values.
    pub fn pax(self, records: &[(&str, &str)]) -> Self {
        let record = |(key, value): &(&str, &str)| {
            let rest = key.len() + value.len() + 3;
            // The length counts its own digits.
            let length =
                (rest + 1..rest + 9).find(|length| length.to_string().len() + rest == *length);
            format!("{} {key}={value}\n", length.expect("a record is short"))
        };
        let text: String = records.iter().map(record).collect();
        self.entry(b'x', b"pax", b"", text.as_bytes())
    }

    /// Appends a header alone, which claims that `bytes` bytes follow.
    pub fn header(mut self, flag: u8, path: &[u8], target: &[u8], bytes: u64) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(bytes);
        let old = header.as_old_mut();
        old.linkflag[0] = flag;
        for (field, name) in [(&mut old.name, path), (&mut old.linkname, target)] {
            let length = name.len().min(field.len());
            field[..length].copy_from_slice(&name[..length]);
        }
        header.set_cksum();
        self.0.extend_from_slice(header.as_bytes());
        self
    }

    /// Appends content, padded to a whole number of blocks.
    pub fn content(mut self, content: &[u8]) -> Self {
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// Returns the finished archive, uncompressed.
    pub fn plain(mut self) -> Vec<u8> {
        self.0.extend_from_slice(&[0; 1024]);
        self.0
    }

    /// Returns the finished archive, compressed with gzip.
    pub fn gzip(self) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder
            .write_all(&self.plain())
            .expect("memory takes everything");
        encoder.finish().expect("memory takes everything")
    }

    /// Returns the finished archive, compressed with Zstandard.
    pub fn zstd(self) -> Vec<u8> {
        zstd::encode_all(&*self.plain(), 1).expect("memory takes everything")
    }
}
