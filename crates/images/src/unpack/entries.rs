//! Lists the entries below the root of a finished tree, and resolves their links, without the file
//! system.

use super::error::shown;
use super::links;
use super::tree::{ImageTree, Leaf, TreeError, TreeNode};
use super::{CatalogRoot, UnpackError, UnpackedEntry};

/// A depth-first walk over the tree below the root.
struct TreeWalk<'a> {
    top: &'a TreeNode,
    root: &'a CatalogRoot,
    /// Maximum length of a path in bytes.
    path_bytes: usize,
    found: Vec<(String, UnpackedEntry)>,
}

/// Lists the entries below the root with their paths from there, in catalog order. `path_bytes` is
/// the maximum length of paths in the tree.
pub(super) fn list(
    tree: &ImageTree,
    root: &CatalogRoot,
    path_bytes: usize,
) -> Result<Vec<(String, UnpackedEntry)>, UnpackError> {
    let mut names: Vec<&str> = root.parts().iter().map(String::as_str).collect();
    let found = tree.find(&names).map_err(|error| root_error(root, error))?;
    let node = found.ok_or_else(|| UnpackError::RootMissing(root.clone()))?;
    match &node.leaf {
        None if node.children.is_empty() => return Err(UnpackError::RootEmpty(root.clone())),
        None => {}
        Some(Leaf::Link(target)) => {
            return Err(root_error(
                root,
                TreeError::Link {
                    path: names.join("/"),
                    target: target.clone(),
                },
            ));
        }
        Some(Leaf::File(_) | Leaf::Other) => return Err(UnpackError::RootMissing(root.clone())),
    }
    let mut walk = TreeWalk {
        top: tree.top(),
        root,
        path_bytes,
        found: Vec::new(),
    };
    walk.list_folder(node, &mut names)?;
    Ok(walk.found)
}

impl<'a> TreeWalk<'a> {
    /// Lists a folder, given its path from the top of the image.
    fn list_folder(
        &mut self,
        node: &'a TreeNode,
        names: &mut Vec<&'a str>,
    ) -> Result<(), UnpackError> {
        for (name, node) in &node.children {
            names.push(name);
            let path = names[self.root.parts().len()..].join("/");
            match &node.leaf {
                Some(Leaf::File(content)) => self.found.push((path, UnpackedEntry::File(*content))),
                Some(Leaf::Link(target)) => {
                    let resolved = self.resolve_link(&path, names, target)?;
                    self.found.push((path, UnpackedEntry::Link(resolved)));
                }
                Some(Leaf::Other) => {}
                None => {
                    self.found.push((path, UnpackedEntry::Folder));
                    self.list_folder(node, names)?;
                }
            }
            names.pop();
        }
        Ok(())
    }

    /// Resolves a link to a path from the root. `path` is its own path from the root, `names` that
    /// from the top of the image.
    fn resolve_link(
        &self,
        path: &str,
        names: &[&str],
        target: &str,
    ) -> Result<String, UnpackError> {
        let root = self.root.parts();
        let link = || shown(path.as_bytes());
        let folder = &names[..names.len() - 1];
        let Some(resolved) = links::follow(self.top, folder, target) else {
            return Err(UnpackError::LinkLoops {
                link: link(),
                target: shown(target.as_bytes()),
            });
        };
        if !(resolved.len() >= root.len()
            && resolved.iter().zip(root).all(|(one, other)| one == other))
        {
            let link = link();
            let target = shown(target.as_bytes());
            let root = self.root.clone();
            return Err(UnpackError::LinkEscapes { link, target, root });
        }
        let mut resolved = resolved[root.len()..].join("/");
        // No entry has a path longer than this, so that a longer one can be cut: it names nothing
        // either way.
        resolved.truncate(resolved.ceil_char_boundary(self.path_bytes + 1));
        Ok(resolved)
    }
}

fn root_error(root: &CatalogRoot, error: TreeError) -> UnpackError {
    match error {
        TreeError::Link { path, target } => {
            let link = shown(format!("/{path}").as_bytes());
            let target = shown(target.as_bytes());
            UnpackError::RootIsLink {
                root: root.clone(),
                link,
                target,
            }
        }
        TreeError::Full => UnpackError::RootMissing(root.clone()),
    }
}
