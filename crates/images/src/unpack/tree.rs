//! The file tree of an image in memory: folders, links, and the contents of files.
//!
//! Entries of upper layers replace those of lower ones, and whiteouts remove them. A whiteout never
//! affects entries of its own layer, wherever in the archive they are. This module does not read
//! archives.

use std::collections::BTreeMap;

use super::FileContent;

/// The entries of an image that are at, above or below its root.
pub(super) struct ImageTree {
    top: TreeNode,
    /// Number of entries that were created, and its maximum.
    created: usize,
    max_entries: usize,
}

/// An entry of the tree: a folder, unless it has a leaf.
#[derive(Default)]
pub(super) struct TreeNode {
    /// The leaf; `None` for a folder.
    pub(super) leaf: Option<Leaf>,
    /// Entries of the folder; empty for a leaf.
    pub(super) children: BTreeMap<String, TreeNode>,
    /// Last layer that has this entry or one below it.
    layer: u32,
    /// Last layer that removed the entries of lower layers below this one, so that it does so only
    /// once.
    cleared: u32,
}

/// An entry other than a folder.
#[derive(Clone)]
pub(super) enum Leaf {
    /// A file with its content.
    File(FileContent),
    /// A symbolic link with its target.
    Link(String),
    /// Any other entry.
    Other,
}

/// Error of adding an entry to the tree.
pub(super) enum TreeError {
    /// One of its parents is a symbolic link.
    Link {
        /// Path of the link from the top of the image.
        path: String,
        target: String,
    },
    /// The maximum number of entries is reached.
    Full,
}

impl ImageTree {
    /// Creates an empty tree.
    pub(super) fn new(max_entries: usize) -> Self {
        Self {
            top: TreeNode::default(),
            created: 0,
            max_entries,
        }
    }

    /// Adds a folder. The entries of an existing one are kept, and a leaf is replaced.
    pub(super) fn put_folder(&mut self, path: &[&str], layer: u32) -> Result<(), TreeError> {
        if let Some(node) = self.find_or_create(path, layer)? {
            node.leaf = None;
        }
        Ok(())
    }

    /// Adds a leaf, replacing any other entry.
    pub(super) fn put_leaf(
        &mut self,
        path: &[&str],
        leaf: Leaf,
        layer: u32,
    ) -> Result<(), TreeError> {
        if let Some(node) = self.find_or_create(path, layer)? {
            node.leaf = Some(leaf);
            node.children.clear();
        }
        Ok(())
    }

    /// Removes the entry of lower layers at a path.
    pub(super) fn hide(&mut self, path: &[&str], layer: u32) -> Result<(), TreeError> {
        let Some((name, parents)) = path.split_last() else {
            return Ok(());
        };
        let Some(parent) = self.find_mut(parents)? else {
            return Ok(());
        };
        match parent.children.get_mut(*name) {
            Some(node) if node.layer == layer => node.clear(layer),
            _ => drop(parent.children.remove(*name)),
        }
        Ok(())
    }

    /// Removes the entries of lower layers below a path.
    pub(super) fn clear(&mut self, path: &[&str], layer: u32) -> Result<(), TreeError> {
        if let Some(node) = self.find_mut(path)? {
            node.clear(layer);
        }
        Ok(())
    }

    /// Returns the entry at a path.
    pub(super) fn find(&self, path: &[&str]) -> Result<Option<&TreeNode>, TreeError> {
        let mut node = &self.top;
        for (depth, name) in path.iter().enumerate() {
            node.check_folder(&path[..depth])?;
            let Some(next) = node.children.get(*name) else {
                return Ok(None);
            };
            node = next;
        }
        Ok(Some(node))
    }

    /// Returns the top of the image.
    pub(super) fn top(&self) -> &TreeNode {
        &self.top
    }

    /// Returns the folder at a path.
    fn find_mut(&mut self, path: &[&str]) -> Result<Option<&mut TreeNode>, TreeError> {
        let mut node = &mut self.top;
        for (depth, name) in path.iter().enumerate() {
            node.check_folder(&path[..depth])?;
            let Some(next) = node.children.get_mut(*name) else {
                return Ok(None);
            };
            node = next;
        }
        node.check_folder(path)?;
        Ok(Some(node))
    }

    /// Returns the entry at a path, created if necessary; `None` for the top. Parents become
    /// folders, unless they are links.
    fn find_or_create(
        &mut self,
        path: &[&str],
        layer: u32,
    ) -> Result<Option<&mut TreeNode>, TreeError> {
        let Self {
            top,
            created,
            max_entries,
        } = self;
        let mut node = top;
        for (depth, name) in path.iter().enumerate() {
            node.check_folder(&path[..depth])?;
            // A folder below a file of a lower layer replaces the file, as an overlay shows it.
            node.leaf = None;
            node = node.children.entry((*name).to_owned()).or_insert_with(|| {
                *created += 1;
                TreeNode {
                    layer,
                    cleared: layer,
                    ..TreeNode::default()
                }
            });
            if *created > *max_entries {
                return Err(TreeError::Full);
            }
            node.layer = layer;
        }
        Ok((!path.is_empty()).then_some(node))
    }
}

impl TreeNode {
    /// Returns an error if the entry is a symbolic link.
    fn check_folder(&self, path: &[&str]) -> Result<(), TreeError> {
        match &self.leaf {
            Some(Leaf::Link(target)) => Err(TreeError::Link {
                path: path.join("/"),
                target: target.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Removes the entries of lower layers below this one. Each layer visits each node once,
    /// however many whiteouts it has.
    fn clear(&mut self, layer: u32) {
        if self.cleared == layer {
            return;
        }
        self.cleared = layer;
        self.children.retain(|_, node| node.layer == layer);
        for node in self.children.values_mut() {
            node.clear(layer);
        }
    }
}
