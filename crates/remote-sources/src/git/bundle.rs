//! Bundles: files with refs and a pack, which `git bundle create` makes.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};

use super::object::ObjectId;
use super::transport::ListedRef;
use crate::{GitReason, MAX_REFS_BYTES};

/// The head of a bundle.
#[derive(Debug)]
pub(super) struct BundleHead {
    pub(super) refs: Vec<ListedRef>,
    /// Offset of the pack in the file.
    pub(super) pack: u64,
}

/// Reads the head of a bundle: its version, and lines up to an empty one.
pub(super) fn read_head(file: &File) -> Result<BundleHead, GitReason> {
    let mut reader = BufReader::new(file).take(MAX_REFS_BYTES);
    let mut pack = 0;
    let mut refs = Vec::new();
    let mut line = Vec::new();
    for number in 0.. {
        line.clear();
        pack += reader.read_until(b'\n', &mut line)? as u64;
        let Some(text) = line.strip_suffix(b"\n") else {
            return Err(GitReason::Bundle("its head has no end"));
        };
        match text {
            b"# v2 git bundle" | b"# v3 git bundle" if number == 0 => {}
            _ if number == 0 => return Err(GitReason::Bundle("it begins otherwise")),
            b"" => break,
            [b'@', capability @ ..] => {
                if capability != b"object-format=sha1" {
                    return Err(GitReason::Bundle(
                        "it needs more than SHA-1 and all objects",
                    ));
                }
            }
            [b'-', ..] => {
                return Err(GitReason::Bundle(
                    "it needs commits that are not in it: name branches alone, without a range",
                ));
            }
            text => refs.push(parse_ref(text).ok_or(GitReason::Bundle("a ref cannot be parsed"))?),
        }
    }
    Ok(BundleHead { refs, pack })
}

fn parse_ref(line: &[u8]) -> Option<ListedRef> {
    let (id, name) = std::str::from_utf8(line).ok()?.split_once(' ')?;
    Some(ListedRef {
        id: ObjectId::parse(id.as_bytes())?,
        name: name.to_owned(),
    })
}
