//! Reads an archive member by member, with what stands before a member in headers of their own: long names of GNU and
//! records of pax.
//!
//! Where two readers could take an archive for different files it is refused, so that nobody is shown another catalog
//! than the one that runs elsewhere. It does not know what the members are for.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::Read;

use super::error::reading;
use super::{EntryLocation, UnpackError, UnpackLimits};

/// Where a header of GNU says that more headers about holes of a file follow, which belong to no content.
const MORE_SPARSE: usize = 482;

/// One entry of an archive.
pub(super) struct Member {
    /// In which layer, from 1.
    pub(super) layer: u32,
    /// Its name as the archive has it.
    pub(super) path: Vec<u8>,
    pub(super) kind: Kind,
    /// How long its content is.
    pub(super) bytes: u64,
}

pub(super) enum Kind {
    File,
    Folder,
    /// Another name of the file with this name.
    HardLink(Vec<u8>),
    /// A symbolic link with this target.
    Link(Vec<u8>),
    Other(&'static str),
}

/// An archive that is being read.
pub(super) struct Members<'a, R: Read> {
    entries: tar::Entries<'a, R>,
    layer: u32,
    limits: &'a UnpackLimits,
    /// How many headers all layers had so far.
    headers: &'a mut u64,
    /// Where the contents end that headers told of so far.
    contents: &'a Cell<u64>,
}

/// What stands before a member.
#[derive(Default)]
struct Before {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    pax: Option<Pax>,
}

/// What matters of the records of pax.
#[derive(Default)]
struct Pax {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
    bytes: Option<Vec<u8>>,
    is_sparse: bool,
}

impl<'a, R: Read> Members<'a, R> {
    pub(super) fn new(
        archive: &'a mut tar::Archive<R>,
        layer: u32,
        limits: &'a UnpackLimits,
        headers: &'a mut u64,
        contents: &'a Cell<u64>,
    ) -> Result<Self, UnpackError> {
        let entries = archive.entries().map_err(|error| reading(layer, error))?.raw(true);
        Ok(Self { entries, layer, limits, headers, contents })
    }

    /// The next member, with its content to read.
    pub(super) fn next(&mut self) -> Result<Option<(Member, tar::Entry<'a, R>)>, UnpackError> {
        let mut before = Before::default();
        while let Some(entry) = self.entries.next() {
            let mut entry = entry.map_err(|error| reading(self.layer, error))?;
            self.contents.set(entry.raw_file_position().saturating_add(entry.header().entry_size().unwrap_or(0)));
            *self.headers += 1;
            if *self.headers > self.limits.headers {
                return Err(UnpackError::TooManyHeaders { layer: self.layer, limit: self.limits.headers });
            }
            let place = EntryLocation::new(self.layer, &entry.path_bytes());
            let is_second = match entry.header().as_old().linkflag[0] {
                b'L' => before.path.replace(name(self.said(&mut entry)?)).is_some(),
                b'K' => before.target.replace(name(self.said(&mut entry)?)).is_some(),
                b'x' => {
                    let pax = Pax::read(&self.said(&mut entry)?);
                    let pax =
                        pax.ok_or(UnpackError::Ambiguous { place: place.clone(), what: "a malformed pax record" })?;
                    before.pax.replace(pax).is_some()
                }
                // What holds for all members is of no interest here: times, owners, comments.
                b'g' => !before.is_empty(),
                _ => return Ok(Some((self.member(before, &entry)?, entry))),
            };
            if is_second {
                return Err(UnpackError::Ambiguous { place, what: "more than one header before it says the same" });
            }
        }
        if before.is_empty() {
            return Ok(None);
        }
        let place = EntryLocation::new(self.layer, &before.path.unwrap_or_default());
        Err(UnpackError::Ambiguous { place, what: "its header is missing" })
    }

    /// The content of a header that says something of the next one.
    fn said(&self, entry: &mut tar::Entry<'a, R>) -> Result<Vec<u8>, UnpackError> {
        let limit = self.limits.header_bytes;
        if entry.size() > limit {
            return Err(UnpackError::HeaderTooLarge { layer: self.layer, limit });
        }
        let mut said = Vec::new();
        entry.read_to_end(&mut said).map_err(|error| reading(self.layer, error))?;
        if (said.len() as u64) < entry.size() {
            return Err(UnpackError::Truncated(EntryLocation::new(self.layer, &entry.path_bytes())));
        }
        Ok(said)
    }

    fn member(&self, before: Before, entry: &tar::Entry<'a, R>) -> Result<Member, UnpackError> {
        let pax = before.pax.unwrap_or_default();
        let is_named_twice = before.path.is_some() && pax.path.is_some();
        let is_linked_twice = before.target.is_some() && pax.target.is_some();
        let path = before.path.or(pax.path).unwrap_or_else(|| entry.path_bytes().into_owned());
        let target = before.target.or(pax.target).or_else(|| entry.link_name_bytes().map(Cow::into_owned));
        let (header, bytes) = (entry.header(), entry.size());
        let flag = header.as_old().linkflag[0];
        let ambiguous = |what| Err(UnpackError::Ambiguous { place: EntryLocation::new(self.layer, &path), what });
        if is_named_twice || is_linked_twice {
            return ambiguous("GNU and pax name it differently");
        }
        if pax
            .bytes
            .is_some_and(|said| std::str::from_utf8(&said).ok().and_then(|said| said.parse().ok()) != Some(bytes))
        {
            return ambiguous("its headers say different lengths");
        }
        if flag == b'S' && header.as_bytes()[MORE_SPARSE] != 0 {
            return ambiguous("it is a sparse file with many holes");
        }
        if (b'1'..=b'6').contains(&flag) && bytes > 0 {
            return ambiguous("it has a content, which its kind has not");
        }
        let kind = match flag {
            _ if pax.is_sparse => Kind::Other("sparse file"),
            // Archives of the seventies have no folders but names that end so.
            0 if path.ends_with(b"/") => Kind::Folder,
            0 | b'0' => Kind::File,
            b'1' => Kind::HardLink(target.unwrap_or_default()),
            b'2' => Kind::Link(target.unwrap_or_default()),
            b'3' | b'4' => Kind::Other("device"),
            b'5' => Kind::Folder,
            b'6' => Kind::Other("pipe"),
            b'S' => Kind::Other("sparse file"),
            _ => Kind::Other("special file"),
        };
        Ok(Member { layer: self.layer, path, kind, bytes })
    }
}

impl Member {
    pub(super) fn place(&self) -> EntryLocation {
        EntryLocation::new(self.layer, &self.path)
    }
}

impl Before {
    fn is_empty(&self) -> bool {
        self.path.is_none() && self.target.is_none() && self.pax.is_none()
    }
}

impl Pax {
    /// Reads records, each `LENGTH KEY=VALUE` with a line feed that its length counts. The last of a key holds, and an
    /// empty one takes the key back.
    fn read(mut rest: &[u8]) -> Option<Self> {
        let mut pax = Self::default();
        while !rest.is_empty() {
            let digits = rest.iter().position(|byte| *byte == b' ')?;
            let is_number = rest[..digits].iter().all(u8::is_ascii_digit);
            let length: usize = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok().filter(|_| is_number)?;
            let record = rest.get(digits + 1..length)?.strip_suffix(b"\n")?;
            let equals = record.iter().position(|byte| *byte == b'=')?;
            let value = Some(record[equals + 1..].to_vec()).filter(|value| !value.is_empty());
            match &record[..equals] {
                // The name of a sparse file; its `path` is one that only its reader needs.
                b"GNU.sparse.name" => (pax.path, pax.is_sparse) = (value, true),
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

/// A name of GNU ends with a NUL.
fn name(mut said: Vec<u8>) -> Vec<u8> {
    said.pop_if(|last| *last == 0);
    said
}
