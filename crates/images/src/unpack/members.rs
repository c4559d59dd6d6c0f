//! Reads the entries of a tar archive, including extended headers: GNU long names and pax records.
//!
//! An archive that two readers could understand differently is refused, so that the catalog shown
//! here is the one that other tools read. This module does not interpret the entries.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::Read;

use super::error::read_error;
use super::{EntryLocation, UnpackError, UnpackLimits};

/// Offset in a GNU header of the flag that further sparse headers follow.
const SPARSE_EXTENSION_FLAG: usize = 482;

/// An entry of an archive, with its extended headers applied.
pub(super) struct ArchiveEntry {
    /// Number of the layer, from 1.
    pub(super) layer: u32,
    /// Path as the archive has it.
    pub(super) path: Vec<u8>,
    pub(super) kind: ArchiveEntryKind,
    /// Length of the content in bytes.
    pub(super) bytes: u64,
}

/// The kind of an archive entry.
pub(super) enum ArchiveEntryKind {
    File,
    Folder,
    /// A hard link to the file with this path.
    HardLink(Vec<u8>),
    /// A symbolic link with this target.
    Link(Vec<u8>),
    Other(&'static str),
}

/// Reads the entries of one archive.
pub(super) struct ArchiveReader<'a, R: Read> {
    entries: tar::Entries<'a, R>,
    layer: u32,
    limits: &'a UnpackLimits,
    /// Number of headers of all layers so far.
    headers: &'a mut u64,
    /// Offset at which the content of the last entry ends.
    content_end: &'a Cell<u64>,
}

/// The extended headers before an entry.
#[derive(Default)]
struct ExtendedHeaders {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    pax: Option<PaxRecords>,
}

/// The pax records that are used.
#[derive(Default)]
struct PaxRecords {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    bytes: Option<Vec<u8>>,
    is_sparse: bool,
}

impl<'a, R: Read> ArchiveReader<'a, R> {
    pub(super) fn new(
        archive: &'a mut tar::Archive<R>,
        layer: u32,
        limits: &'a UnpackLimits,
        headers: &'a mut u64,
        content_end: &'a Cell<u64>,
    ) -> Result<Self, UnpackError> {
        let entries = archive
            .entries()
            .map_err(|error| read_error(layer, error))?
            .raw(true);
        Ok(Self {
            entries,
            layer,
            limits,
            headers,
            content_end,
        })
    }

    /// Returns the next entry with a reader of its content; `None` at the end of the archive.
    pub(super) fn next(
        &mut self,
    ) -> Result<Option<(ArchiveEntry, tar::Entry<'a, R>)>, UnpackError> {
        let mut extended = ExtendedHeaders::default();
        while let Some(entry) = self.entries.next() {
            let mut entry = entry.map_err(|error| read_error(self.layer, error))?;
            self.content_end.set(
                entry
                    .raw_file_position()
                    .saturating_add(entry.header().entry_size().unwrap_or(0)),
            );
            *self.headers += 1;
            if *self.headers > self.limits.headers {
                return Err(UnpackError::TooManyHeaders {
                    layer: self.layer,
                    limit: self.limits.headers,
                });
            }
            let location = EntryLocation::new(self.layer, &entry.path_bytes());
            let is_repeated = match entry.header().as_old().linkflag[0] {
                b'L' => extended
                    .path
                    .replace(trim_nul(self.read_header(&mut entry)?))
                    .is_some(),
                b'K' => extended
                    .target
                    .replace(trim_nul(self.read_header(&mut entry)?))
                    .is_some(),
                b'x' => {
                    let pax = PaxRecords::parse(&self.read_header(&mut entry)?);
                    let pax = pax.ok_or(UnpackError::Ambiguous {
                        location: location.clone(),
                        reason: "a malformed pax record",
                    })?;
                    extended.pax.replace(pax).is_some()
                }
                // Global pax headers are ignored: they set times, owners and comments.
                b'g' => !extended.is_empty(),
                _ => return Ok(Some((self.apply_headers(extended, &entry)?, entry))),
            };
            if is_repeated {
                return Err(UnpackError::Ambiguous {
                    location,
                    reason: "an extended header is repeated",
                });
            }
        }
        if extended.is_empty() {
            return Ok(None);
        }
        let location = EntryLocation::new(self.layer, &extended.path.unwrap_or_default());
        Err(UnpackError::Ambiguous {
            location,
            reason: "its header is missing",
        })
    }

    /// Reads the content of an extended header.
    fn read_header(&self, entry: &mut tar::Entry<'a, R>) -> Result<Vec<u8>, UnpackError> {
        let limit = self.limits.header_bytes;
        if entry.size() > limit {
            return Err(UnpackError::HeaderTooLarge {
                layer: self.layer,
                limit,
            });
        }
        let mut content = Vec::new();
        entry
            .read_to_end(&mut content)
            .map_err(|error| read_error(self.layer, error))?;
        if (content.len() as u64) < entry.size() {
            return Err(UnpackError::Truncated(EntryLocation::new(
                self.layer,
                &entry.path_bytes(),
            )));
        }
        Ok(content)
    }

    /// Combines the header of an entry with its extended headers.
    fn apply_headers(
        &self,
        extended: ExtendedHeaders,
        entry: &tar::Entry<'a, R>,
    ) -> Result<ArchiveEntry, UnpackError> {
        let pax = extended.pax.unwrap_or_default();
        let is_named_twice = extended.path.is_some() && pax.path.is_some();
        let is_linked_twice = extended.target.is_some() && pax.target.is_some();
        let path = extended
            .path
            .or(pax.path)
            .unwrap_or_else(|| entry.path_bytes().into_owned());
        let target = extended
            .target
            .or(pax.target)
            .or_else(|| entry.link_name_bytes().map(Cow::into_owned));
        let header = entry.header();
        let bytes = entry.size();
        let flag = header.as_old().linkflag[0];
        let ambiguous = |reason| {
            Err(UnpackError::Ambiguous {
                location: EntryLocation::new(self.layer, &path),
                reason,
            })
        };
        if is_named_twice || is_linked_twice {
            return ambiguous("its GNU and pax headers both name it");
        }
        if pax.bytes.is_some_and(|text| {
            std::str::from_utf8(&text)
                .ok()
                .and_then(|text| text.parse().ok())
                != Some(bytes)
        }) {
            return ambiguous("its headers have different lengths");
        }
        if flag == b'S' && header.as_bytes()[SPARSE_EXTENSION_FLAG] != 0 {
            return ambiguous("it is a sparse file with many holes");
        }
        if (b'1'..=b'6').contains(&flag) && bytes > 0 {
            return ambiguous("it has a content, which entries of its type do not have");
        }
        let kind = match flag {
            _ if pax.is_sparse => ArchiveEntryKind::Other("sparse file"),
            // Version 7 archives have no type for folders: their names end with a slash.
            0 if path.ends_with(b"/") => ArchiveEntryKind::Folder,
            0 | b'0' => ArchiveEntryKind::File,
            b'1' => ArchiveEntryKind::HardLink(target.unwrap_or_default()),
            b'2' => ArchiveEntryKind::Link(target.unwrap_or_default()),
            b'3' | b'4' => ArchiveEntryKind::Other("device"),
            b'5' => ArchiveEntryKind::Folder,
            b'6' => ArchiveEntryKind::Other("pipe"),
            b'S' => ArchiveEntryKind::Other("sparse file"),
            _ => ArchiveEntryKind::Other("special file"),
        };
        Ok(ArchiveEntry {
            layer: self.layer,
            path,
            kind,
            bytes,
        })
    }
}

impl ArchiveEntry {
    /// Returns the location of the entry for errors.
    pub(super) fn location(&self) -> EntryLocation {
        EntryLocation::new(self.layer, &self.path)
    }
}

impl ExtendedHeaders {
    fn is_empty(&self) -> bool {
        self.path.is_none() && self.target.is_none() && self.pax.is_none()
    }
}

impl PaxRecords {
    /// Parses records of the form `LENGTH KEY=VALUE` and a line feed, which the length includes.
    /// The last value of a key counts, and an empty one removes the key. `None` if a record is
    /// malformed.
    fn parse(mut rest: &[u8]) -> Option<Self> {
        let mut pax = Self::default();
        while !rest.is_empty() {
            let digits = rest.iter().position(|byte| *byte == b' ')?;
            let is_number = rest[..digits].iter().all(u8::is_ascii_digit);
            let length: usize = std::str::from_utf8(&rest[..digits])
                .ok()?
                .parse()
                .ok()
                .filter(|_| is_number)?;
            let record = rest.get(digits + 1..length)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|byte| *byte == b'=')?;
            let value = Some(record[equals + 1..].to_vec()).filter(|value| !value.is_empty());
            match &record[..equals] {
                // The path of a sparse file; its `path` record is internal to the format.
                b"GNU.sparse.name" => {
                    pax.path = value;
                    pax.is_sparse = true;
                }
                b"path" if !pax.is_sparse => pax.path = value,
                b"linkpath" => pax.target = value,
                b"size" => pax.bytes = value,
                key if key.starts_with(b"GNU.sparse.") => pax.is_sparse = true,
                _ => {}
            }
            rest = &rest[length..];
        }
        Some(pax)
    }
}

/// Removes the NUL at the end of a GNU long name.
fn trim_nul(mut name: Vec<u8>) -> Vec<u8> {
    name.pop_if(|last| *last == 0);
    name
}
