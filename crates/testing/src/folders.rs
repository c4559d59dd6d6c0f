//! Temporary folders of a test, for its catalogs and its store.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::fixture::lines;

/// A temporary folder that is removed when it is dropped.
pub struct Folders(TempDir);

impl Default for Folders {
    fn default() -> Self {
        Self::new()
    }
}

impl Folders {
    /// Creates an empty folder.
    #[must_use]
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("the temporary folder can be written"))
    }

    /// Returns the path of something in the folder, whether it exists or not.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the same path as text.
    pub fn text(&self, name: &str) -> String {
        self.path(name)
            .to_str()
            .expect("temporary paths are UTF-8")
            .to_owned()
    }

    /// Writes a file, and creates the folders above it.
    pub fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder"))
            .expect("folders can be made");
        fs::write(path, bytes).expect("files can be written");
    }

    /// Writes version `number` of a Secret with a certificate as the kubelet mounts it: `tls.crt`
    /// and `tls.key` are links through `..data`, which is replaced atomically. Both are in PEM.
    pub fn write_tls_secret(&self, name: &str, number: usize, certificate: &str, key: &str) {
        self.write(&format!("{name}/..{number}/tls.crt"), certificate);
        self.write(&format!("{name}/..{number}/tls.key"), key);
        let next = self.path(&format!("{name}/..data_tmp"));
        symlink(format!("..{number}"), &next).expect("links can be made");
        fs::rename(next, self.path(&format!("{name}/..data"))).expect("links can be renamed");

        for file in ["tls.crt", "tls.key"] {
            let link = self.path(&format!("{name}/{file}"));
            if !link.is_symlink() {
                symlink(format!("..data/{file}"), link).expect("links can be made");
            }
        }
    }

    /// Writes a catalog of one file, `catalog.json`, given as a [fixture](crate::fixture). The file
    /// is replaced atomically.
    pub fn catalog(&self, name: &str, fixture: &str) {
        self.write("new.json", lines(fixture));
        fs::create_dir_all(self.path(name)).expect("folders can be made");
        fs::rename(self.path("new.json"), self.path(name).join("catalog.json"))
            .expect("files can be renamed");
    }

    /// Replaces the path of this folder in a text by `@`, also where the symbolic links in that
    /// path are resolved.
    pub fn shown(&self, text: &str) -> String {
        let real = self.0.path().canonicalize().expect("the folder is there");
        text.replace(real.to_str().expect("temporary paths are UTF-8"), "@")
            .replace(&self.text(""), "@/")
    }
}
