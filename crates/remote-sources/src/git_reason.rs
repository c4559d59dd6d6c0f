//! Reasons for which a git repository cannot be read.

use std::io;

/// The reason for which a git repository cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GitReason {
    /// The server has no smart protocol.
    #[error(
        "the server offers only the dumb HTTP protocol of git: it must run git-http-backend or another server of protocol version 2"
    )]
    DumbServer,
    /// The server has no version 2 of the protocol.
    #[error(
        "the server offers only version {0} of git's protocol, and version 2 is needed: update it to git 2.18, and let it pass the header Git-Protocol on to git"
    )]
    ProtocolVersion(u8),
    /// The ids of the repository are not SHA-1.
    #[error("its object format is `{0}`, and only sha1 is supported")]
    ObjectFormat(String),
    /// A response is not what the protocol allows.
    #[error("the server does not keep to git's protocol: {0}")]
    Protocol(&'static str),
    /// The server reports an error.
    #[error("the server says: {0}")]
    Server(String),
    /// The names of the refs are too long together.
    #[error(
        "more than {0} bytes of refs begin with this name: name the one in full, such as refs/heads/main"
    )]
    TooManyRefs(u64),
    /// The ref does not exist.
    #[error("it has no {0}: it was deleted, or its name is misspelt")]
    NoRef(String),
    /// A branch and a tag have the same name.
    #[error("`{0}` is both a branch and a tag: write refs/heads/{0} or refs/tags/{0}")]
    Ambiguous(String),
    /// The ref does not lead to a commit.
    #[error("`{name}` names a {kind}, not a commit")]
    NotACommit {
        /// The ref.
        name: String,
        /// Kind of the object.
        kind: &'static str,
    },
    /// Too many tags name each other.
    #[error("it leads over more than {0} tags to a commit")]
    TooManyTags(usize),
    /// The pack has too many bytes.
    #[error("its pack exceeds the limit of {0} bytes")]
    PackTooLarge(u64),
    /// The pack has too many objects.
    #[error("its pack has {objects} objects and the limit is {limit}")]
    TooManyObjects {
        /// The actual number.
        objects: u32,
        /// The limit.
        limit: u32,
    },
    /// An object is too large to be held in memory.
    #[error(
        "an object of {bytes} bytes is stored as a delta or the base of one, and the limit is {limit}"
    )]
    ObjectTooLarge {
        /// The actual number.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A commit, tag or tree is too large.
    #[error("a {kind} has {bytes} bytes and the limit is {limit}")]
    StructureTooLarge {
        /// Kind of the object.
        kind: &'static str,
        /// The actual number.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// A chain of deltas is too long.
    #[error("its pack has a chain of more than {0} deltas")]
    DeltaTooDeep(usize),
    /// Deltas need too much memory.
    #[error("its deltas need more than {0} bytes at one time")]
    DeltaMemory(u64),
    /// The objects have too many bytes.
    #[error("the objects of its pack have more than {0} bytes")]
    TooManyBytes(u64),
    /// Reading the files takes too many bytes.
    #[error("more than {0} bytes must be decompressed to read its files")]
    TooManyBytesRead(u64),
    /// The bytes of the pack are damaged.
    #[error("the pack is damaged: {0}")]
    Damaged(&'static str),
    /// An object was made to have the hash of another one.
    #[error("an object has the form of a SHA-1 collision")]
    Collision,
    /// The server did not send an object.
    #[error("the object {0} is missing in the pack")]
    Missing(String),
    /// The path does not exist.
    #[error("the commit has no `{0}`: name another folder with #path=FOLDER")]
    NoPath(String),
    /// The path leads through something other than folders.
    #[error("`{path}` is a {kind}: name the folder itself with #path=FOLDER")]
    NotAFolder {
        /// The path.
        path: String,
        /// Kind of the entry.
        kind: &'static str,
    },
    /// The folder has a submodule.
    #[error("`{0}` is a submodule, which is not read: name a folder without one")]
    Submodule(String),
    /// The folder has a pointer of Git LFS in place of a file.
    #[error("`{0}` is a pointer of Git LFS, whose file is not read: commit the file itself")]
    LfsPointer(String),
    /// A tree has a name that git refuses.
    #[error("a folder has an entry with the name `{0}`, which no file may have")]
    BadName(String),
    /// A tree has a name twice.
    #[error("`{0}` occurs twice in its folder")]
    RepeatedName(String),
    /// Folders are nested too deeply.
    #[error("`{path}` lies in more than {limit} folders")]
    TooDeep {
        /// The path.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// A folder has too many entries.
    #[error("the folder has more than {0} files, folders and links")]
    TooManyEntries(usize),
    /// A path is too long.
    #[error("the path `{path}` has more than {limit} bytes")]
    PathTooLong {
        /// The path.
        path: String,
        /// The limit.
        limit: usize,
    },
    /// The folder has no file.
    #[error("the folder `/{0}` of the commit has no file: name another one with #path=FOLDER")]
    NoFiles(String),
    /// The file is no bundle.
    #[error("the file is not a bundle of git ({0}): make one with `git bundle create FILE BRANCH`")]
    Bundle(&'static str),
    /// A file cannot be read or written.
    #[error("cannot read the pack")]
    Io(#[from] io::Error),
}

impl GitReason {
    /// Returns whether the next attempt may succeed although nobody does anything: a ref that is
    /// moved between two requests may make an object unknown to the server.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Self::Server(_))
    }
}
