//! Archives written entry by entry, also such as no program would write. Shared by the tests of the room `unpack`.

use std::io::Write;

/// An archive without its end.
#[derive(Clone, Default)]
pub struct Archive(pub Vec<u8>);

impl Archive {
    pub fn file(self, path: &str, content: &str) -> Self {
        self.entry(b'0', path.as_bytes(), b"", content.as_bytes())
    }

    pub fn folder(self, path: &str) -> Self {
        self.entry(b'5', path.as_bytes(), b"", b"")
    }

    pub fn link(self, path: &str, target: &str) -> Self {
        self.entry(b'2', path.as_bytes(), target.as_bytes(), b"")
    }

    pub fn hard_link(self, path: &str, target: &str) -> Self {
        self.entry(b'1', path.as_bytes(), target.as_bytes(), b"")
    }

    /// An entry of any kind; names that no header takes get headers of their own, as GNU's are.
    pub fn entry(mut self, flag: u8, path: &[u8], target: &[u8], content: &[u8]) -> Self {
        for (flag, name) in [(b'L', path), (b'K', target)] {
            if name.len() > 100 {
                self = self.header(flag, b"././@LongLink", b"", name.len() as u64).content(name);
            }
        }
        self.header(flag, path, target, content.len() as u64).content(content)
    }

    /// Records of pax about the next entry.
    pub fn pax(self, records: &[(&str, &str)]) -> Self {
        let record = |(key, value): &(&str, &str)| {
            let rest = key.len() + value.len() + 3;
            // The length counts its own digits.
            let length = (rest + 1..rest + 9).find(|length| length.to_string().len() + rest == *length);
            format!("{} {key}={value}\n", length.expect("a record is short"))
        };
        let text: String = records.iter().map(record).collect();
        self.entry(b'x', b"pax", b"", text.as_bytes())
    }

    /// A header that says that so many bytes follow.
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

    /// Bytes up to the next header.
    pub fn content(mut self, content: &[u8]) -> Self {
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// The archive with its end.
    pub fn plain(mut self) -> Vec<u8> {
        self.0.extend_from_slice(&[0; 1024]);
        self.0
    }

    pub fn gzip(self) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&self.plain()).expect("memory takes everything");
        encoder.finish().expect("memory takes everything")
    }

    pub fn zstd(self) -> Vec<u8> {
        zstd::encode_all(&*self.plain(), 1).expect("memory takes everything")
    }
}
