//! What a finished tree has under the root, as a list, and where its links lead. Nothing is asked of the file system.

use super::error::shown;
use super::links;
use super::tree::{Blocked, Leaf, Node, Tree};
use super::{CatalogRoot, UnpackError, UnpackedEntry};

/// A walk over what is under the root.
struct Walk<'a> {
    top: &'a Node,
    root: &'a CatalogRoot,
    /// Bytes that the path of an entry may have.
    path_bytes: usize,
    found: Vec<(String, UnpackedEntry)>,
}

/// Lists what lies under the root, by paths from there and in catalog order. No path in the tree has more bytes than
/// these.
pub(super) fn of(
    tree: &Tree,
    root: &CatalogRoot,
    path_bytes: usize,
) -> Result<Vec<(String, UnpackedEntry)>, UnpackError> {
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
    let mut walk = Walk { top: tree.top(), root, path_bytes, found: Vec::new() };
    walk.folder(node, &mut names)?;
    Ok(walk.found)
}

impl<'a> Walk<'a> {
    /// Lists what is in a folder, whose path from the top of the image this is.
    fn folder(&mut self, node: &'a Node, names: &mut Vec<&'a str>) -> Result<(), UnpackError> {
        for (name, node) in &node.below {
            names.push(name);
            let path = names[self.root.parts().len()..].join("/");
            match &node.leaf {
                Some(Leaf::File(content)) => self.found.push((path, UnpackedEntry::File(*content))),
                Some(Leaf::Link(target)) => {
                    let leads = self.link(&path, names, target)?;
                    self.found.push((path, UnpackedEntry::Link(leads)));
                }
                Some(Leaf::Other) => {}
                None => {
                    self.found.push((path, UnpackedEntry::Folder));
                    self.folder(node, names)?;
                }
            }
            names.pop();
        }
        Ok(())
    }

    /// Where a link leads, from the root. Its own path is given from there, and by names from the top of the image.
    fn link(&self, path: &str, names: &[&str], target: &str) -> Result<String, UnpackError> {
        let root = self.root.parts();
        let (link, folder) = (|| shown(path.as_bytes()), &names[..names.len() - 1]);
        let Some(leads) = links::follow(self.top, folder, target) else {
            return Err(UnpackError::LinkLoops { link: link(), target: shown(target.as_bytes()) });
        };
        if !(leads.len() >= root.len() && leads.iter().zip(root).all(|(one, other)| one == other)) {
            let (link, target, root) = (link(), shown(target.as_bytes()), self.root.clone());
            return Err(UnpackError::LinkEscapes { link, target, root });
        }
        let mut leads = leads[root.len()..].join("/");
        // Nothing is at the end of a longer path than entries have, wherever it is cut. Memory would hold all of it.
        leads.truncate(leads.ceil_char_boundary(self.path_bytes + 1));
        Ok(leads)
    }
}

fn is_link(root: &CatalogRoot, blocked: Blocked) -> UnpackError {
    match blocked {
        Blocked::Link { path, target } => {
            let (link, target) = (shown(format!("/{path}").as_bytes()), shown(target.as_bytes()));
            UnpackError::RootIsLink { root: root.clone(), link, target }
        }
        Blocked::Full => UnpackError::RootMissing(root.clone()),
    }
}
