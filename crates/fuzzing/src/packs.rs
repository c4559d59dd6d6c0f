//! The fuzz target of packs of git, the only one that writes them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use remote_sources::read_pack;
use testing::GitPack;

/// Flag of a written object whose head claims one byte more than it has.
const TOO_LONG: u8 = 8;

/// Reads the bytes as a pack with a valid hash at its end, and again as the description of one.
/// Whatever a pack holds, each object that is found in it has the id under which it is found, and a
/// second reading finds the same ones.
pub fn packs(data: &[u8]) {
    for pack in [GitPack::seal(data.to_vec()), written(data)] {
        let found = objects(&pack);
        assert_eq!(found, objects(&pack));
        for (id, (kind, data)) in found.into_iter().flatten() {
            let mut expected = String::new();
            for byte in GitPack::id(&kind, &data) {
                write!(expected, "{byte:02x}").expect("memory can be written");
            }
            assert_eq!(id, expected);
        }
    }
}

/// Returns the number of objects of a pack that is described; `None` when it is refused.
pub fn number_of_objects(data: &[u8]) -> Option<usize> {
    objects(&written(data)).map(|found| found.len())
}

/// Writes the pack that bytes describe. An object is a byte with its code and flags, one that chooses
/// the base of a delta, one with the length of its data, and the data.
fn written(mut rest: &[u8]) -> Vec<u8> {
    let mut pack = GitPack::default();
    let mut starts = Vec::new();
    let mut ids = Vec::new();
    while let [head, base, length, after @ ..] = rest {
        let (data, after) = after.split_at(after.len().min(usize::from(*length)));
        rest = after;
        let code = head & 7;
        let base = usize::from(*base);
        let claimed = data.len() as u64 + u64::from(*head & TOO_LONG != 0);
        if code == 6 && !starts.is_empty() {
            let base = starts[base % starts.len()];
            starts.push(pack.delta(base, data));
            continue;
        }
        let between = match code {
            7 if ids.is_empty() => vec![0; 20],
            7 => Vec::from(ids[base % ids.len()]),
            6 => vec![0],
            _ => Vec::new(),
        };
        starts.push(pack.object(code, claimed, &between, data));
        let kind = ["", "commit", "tree", "blob", "tag"].get(usize::from(code));
        ids.extend(kind.map(|kind| GitPack::id(kind, data)));
    }
    pack.finish()
}

/// Returns the kinds and the data of all objects of a pack by their ids; `None` when it is refused.
fn objects(pack: &[u8]) -> Option<BTreeMap<String, (String, Vec<u8>)>> {
    let mut file = tempfile::tempfile().expect("the temporary folder can be written");
    file.write_all(pack).expect("files can be written");
    let mut found = BTreeMap::new();
    let read = read_pack(file, |id, kind, data| {
        found.insert(id.to_owned(), (kind.to_owned(), data.to_owned()));
    });
    read.ok().map(|()| found)
}
