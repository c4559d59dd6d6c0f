//! Limits of git repositories.

/// Maximum length in bytes of a pack, or of a bundle.
pub const MAX_PACK_BYTES: u64 = 1 << 30;

/// Maximum number of objects of a pack.
pub const MAX_PACK_OBJECTS: u32 = 1_000_000;

/// Maximum length of a chain of deltas. git makes chains of 50.
pub const MAX_DELTA_DEPTH: usize = 50;

/// Maximum length in bytes of an object that is stored as a delta, or is the base of one: both are
/// held in memory.
pub const MAX_DELTA_OBJECT_BYTES: u64 = 128 * 1024 * 1024;

/// Maximum number of bytes of objects that are held in memory at one time while the chains of a pack
/// are followed.
pub const MAX_DELTA_MEMORY_BYTES: u64 = 384 * 1024 * 1024;

/// Maximum number of bytes of all objects of a pack.
pub const MAX_OBJECTS_BYTES: u64 = 16 * 1024 * 1024 * 1024;

/// Maximum number of bytes that are decompressed, or made of deltas, while deltas are resolved and files
/// are read. A small file may be a delta of a large base, and many entries may name it.
pub const MAX_READ_BYTES: u64 = 32 * 1024 * 1024 * 1024;

/// Maximum length in bytes of a commit, a tag or a tree.
pub const MAX_STRUCTURE_BYTES: u64 = 16 * 1024 * 1024;

/// Maximum number of bytes of the refs that a server lists.
pub const MAX_REFS_BYTES: u64 = 1024 * 1024;

/// Maximum length in bytes of the name of a ref.
pub const MAX_REF_BYTES: usize = 1024;

/// Maximum number of tags between a ref and its commit.
pub const MAX_TAG_HOPS: usize = 8;

/// Maximum depth of the folders of a catalog in a repository.
pub const MAX_TREE_DEPTH: usize = 64;

/// Maximum length in bytes of a name in a tree.
pub const MAX_TREE_NAME_BYTES: usize = 255;
