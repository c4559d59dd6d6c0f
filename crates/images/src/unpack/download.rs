//! Files that were downloaded: an archive of a catalog, or one of its files. The first bytes decide,
//! not names or media types.

use std::path::Path;

use super::apply::LayeredImage;
use super::spool::Spool;
use super::stream::{LayerStream, StreamCounters};
use super::{
    ARCHIVE, CatalogRoot, Layer, LayerContent, UnpackError, UnpackLimits, Unpacked, UnpackedEntry,
};

/// Name of the folder of an archive that holds the catalog if there is one.
const CONFIGS: &str = "configs";

/// Number of bytes that decide what a file is.
const START_BYTES: usize = 512;

/// Position and text of the magic of tar archives.
const TAR_MAGIC: (usize, &[u8]) = (257, b"ustar");

/// First bytes of files that cannot be a part of a catalog, behind the one layer of compression.
const REFUSED: [(&[u8], &str); 7] = [
    (b"<", "an HTML or XML page, such as that of a login"),
    (&[0x1f, 0x8b], "compressed twice"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed twice"),
    (b"BZh", "compressed with bzip2 inside"),
    (
        &[0xfd, b'7', b'z', b'X', b'Z', 0],
        "compressed with xz inside",
    ),
    (b"PK\x03\x04", "a zip archive"),
    (b"SQLite format 3\0", "an SQLite database"),
];

/// UTF-8 byte order mark.
const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// A downloaded file.
#[derive(Clone, Copy, Debug)]
pub struct DownloadedFile<'a> {
    /// Path of the file.
    pub path: &'a Path,
    /// Name of the file, if it is not an archive.
    pub name: &'a str,
    /// Folder of the catalog in an archive; `None` takes `configs` if there is one, or else the top.
    pub root: Option<&'a str>,
    /// The file must consist of lines, each with its line feed.
    pub is_lines: bool,
}

/// Unpacks a downloaded file on the file system of `folder`, which may be compressed once. A file that
/// is no archive becomes the only file of the catalog. `progress` is called with the number of bytes
/// that are read.
pub fn unpack_download(
    file: DownloadedFile<'_>,
    folder: &Path,
    limits: &UnpackLimits,
    mut progress: impl FnMut(u64),
) -> Result<Unpacked, UnpackError> {
    let layer = Layer {
        blob: file.path.to_owned(),
        diff_id: None,
        content: LayerContent::FileOrArchive(file.name.to_owned()),
    };
    let start = read_start(&layer, ARCHIVE, limits)?;
    if is_archive(&start) && !file.is_lines {
        return unpack_archive(&layer, file.root, folder, limits, &mut progress);
    }
    check_start(&start)?;

    let counters = StreamCounters::default();
    let mut stream = LayerStream::open(&layer, ARCHIVE, limits, &counters, &mut progress)?;
    let mut spool = Spool::new(folder)?;
    let content = spool.add_all(&mut stream, ARCHIVE, limits.bytes)?;
    let content = content.ok_or(UnpackError::TooManyUncompressed {
        layer: ARCHIVE,
        limit: limits.bytes,
    })?;
    if file.is_lines && content.bytes > 0 {
        let mut last = [0];
        spool.read(content, content.bytes - 1, &mut last)?;
        if last != *b"\n" {
            return Err(UnpackError::NoEnd);
        }
    }
    Ok(Unpacked {
        entries: vec![(file.name.to_owned(), UnpackedEntry::File(content))],
        spool,
        max_bytes: limits.bytes,
    })
}

fn unpack_archive(
    layer: &Layer,
    root: Option<&str>,
    folder: &Path,
    limits: &UnpackLimits,
    progress: &mut impl FnMut(u64),
) -> Result<Unpacked, UnpackError> {
    let root_path = root.unwrap_or("/");
    let unpacked = unpack_below(layer, root_path, folder, limits, progress)?;
    let has_configs = unpacked
        .entries()
        .iter()
        .any(|(path, entry)| path == CONFIGS && *entry == UnpackedEntry::Folder);
    if root.is_some() || !has_configs {
        return Ok(unpacked);
    }
    drop(unpacked);
    unpack_below(layer, CONFIGS, folder, limits, progress)
}

fn unpack_below(
    layer: &Layer,
    root: &str,
    folder: &Path,
    limits: &UnpackLimits,
    progress: &mut impl FnMut(u64),
) -> Result<Unpacked, UnpackError> {
    let root = CatalogRoot::for_artifact(Some(root))?;
    let counters = StreamCounters::default();
    let mut image = LayeredImage::new(&root, limits, folder)?;
    let stream = LayerStream::open(layer, ARCHIVE, limits, &counters, progress)?;
    let mut archive = tar::Archive::new(stream);
    image.apply(ARCHIVE, &mut archive, &counters.content_end)?;
    archive.into_inner().finish_with_end()?;
    image.finish()
}

/// Returns the first uncompressed bytes of a layer.
pub(super) fn read_start(
    layer: &Layer,
    number: u32,
    limits: &UnpackLimits,
) -> Result<Vec<u8>, UnpackError> {
    let counters = StreamCounters::default();
    let mut ignored = |_| {};
    let mut stream = LayerStream::open(layer, number, limits, &counters, &mut ignored)?;
    let mut start = vec![0; START_BYTES];
    let length = stream.read_start(&mut start)?;
    start.truncate(length);
    Ok(start)
}

/// Returns whether an archive begins with these bytes.
pub(super) fn is_archive(start: &[u8]) -> bool {
    let (at, magic) = TAR_MAGIC;
    start.get(at..at + magic.len()) == Some(magic)
}

/// Refuses what cannot be a file of a catalog.
pub(super) fn check_start(start: &[u8]) -> Result<(), UnpackError> {
    let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let text = text.trim_ascii_start();
    let found = REFUSED
        .iter()
        .find(|(magic, _)| start.starts_with(magic) || text.starts_with(magic));
    match found {
        Some((_, kind)) => Err(UnpackError::UnknownFile(kind)),
        None if start.contains(&0) => Err(UnpackError::UnknownFile("neither text nor an archive")),
        None => Ok(()),
    }
}
