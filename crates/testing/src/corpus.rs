//! Where the real catalogs are unpacked, if they are: for the benches and the tests alike.

use std::path::PathBuf;

/// The folder that `CATALOGQL_CORPUS` names, or `catalogql/corpus` in the user's cache folder.
pub fn folder() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = || std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    std::env::var_os("CATALOGQL_CORPUS").map_or_else(|| cache().join("catalogql").join("corpus"), PathBuf::from)
}
