//! Writes a finished tree under its own names. Names come from the tree alone, in which none leads upwards, and a folder
//! is made by nobody else.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

use super::error::{io_error, shown};
use super::links;
use super::spool::Spool;
use super::tree::{Blocked, Leaf, Node, Tree};
use super::{Root, UnpackError};

/// What is being written.
struct Writer<'a> {
    top: &'a Node,
    root: &'a Root,
    spool: Spool,
}

/// Writes what lies under the root into a folder.
pub(super) fn write(tree: &Tree, root: &Root, spool: Spool, to: &Path) -> Result<(), UnpackError> {
    let mut names: Vec<&str> = root.parts().iter().map(String::as_str).collect();
    let found = tree.find(&names).map_err(|blocked| is_link(root, blocked))?;
    let node = found.ok_or_else(|| UnpackError::RootMissing(root.clone()))?;
    match &node.leaf {
        None if node.below.is_empty() => return Err(UnpackError::RootEmpty(root.clone())),
        None => {}
        Some(Leaf::Link(target)) => {
            return Err(is_link(root, Blocked::Link { path: names.join("/"), target: target.clone() }));
        }
        Some(Leaf::File(_) | Leaf::Other) => return Err(UnpackError::RootMissing(root.clone())),
    }
    Writer { top: tree.top(), root, spool }.folder(node, &mut names, to)
}

impl<'a> Writer<'a> {
    /// Writes what is in a folder, whose path from the top of the image this is.
    fn folder(&mut self, node: &'a Node, names: &mut Vec<&'a str>, to: &Path) -> Result<(), UnpackError> {
        for (name, node) in &node.below {
            let path = to.join(name);
            match &node.leaf {
                Some(Leaf::File(content)) => self.spool.name(*content, &path)?,
                Some(Leaf::Link(target)) => {
                    let target = self.link(names, name, target)?;
                    symlink(target, &path).map_err(|source| io_error("make the link", &path, source))?;
                }
                Some(Leaf::Other) => {}
                None => {
                    let made = DirBuilder::new().mode(0o700).create(&path);
                    made.map_err(|source| io_error("make the folder", &path, source))?;
                    names.push(name);
                    self.folder(node, names, &path)?;
                    names.pop();
                }
            }
        }
        Ok(())
    }

    /// What a link must say to lead where it leads in the image: straight, and from its own folder.
    fn link(&self, folder: &[&str], name: &str, target: &str) -> Result<PathBuf, UnpackError> {
        let root = self.root.parts();
        let link =
            || shown(folder[root.len()..].iter().chain([&name]).copied().collect::<Vec<_>>().join("/").as_bytes());
        let Some(leads) = links::follow(self.top, folder, target) else {
            return Err(UnpackError::LinkLoops { link: link(), target: shown(target.as_bytes()) });
        };
        if !(leads.len() >= root.len() && leads.iter().zip(root).all(|(one, other)| one == other)) {
            let (link, target, root) = (link(), shown(target.as_bytes()), self.root.clone());
            return Err(UnpackError::LinkEscapes { link, target, root });
        }
        let common = folder.iter().zip(&leads).take_while(|(one, other)| one == other).count();
        let up = folder[common..].iter().map(|_| "..");
        Ok(Path::new(".").join(up.chain(leads[common..].iter().copied()).collect::<PathBuf>()))
    }
}

fn is_link(root: &Root, blocked: Blocked) -> UnpackError {
    match blocked {
        Blocked::Link { path, target } => {
            let (link, target) = (shown(format!("/{path}").as_bytes()), shown(target.as_bytes()));
            UnpackError::RootIsLink { root: root.clone(), link, target }
        }
        Blocked::Full => UnpackError::RootMissing(root.clone()),
    }
}
