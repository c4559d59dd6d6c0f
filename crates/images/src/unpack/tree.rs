//! What is where in an image, in memory: folders, links, and which content a file has.
//!
//! It knows what upper layers do to lower ones: they replace, and remove by whiteouts, which never touch what the same
//! layer has, wherever in its archive it stands. It does not read archives and writes nothing.

use std::collections::BTreeMap;

use super::FileContent;

/// Everything that matters of an image.
pub(super) struct Tree {
    top: Node,
    /// How many entries were made, and how many may be.
    made: usize,
    limit: usize,
}

/// An entry of a folder: a folder itself, unless it is a leaf.
#[derive(Default)]
pub(super) struct Node {
    /// What it is when it is no folder.
    pub(super) leaf: Option<Leaf>,
    /// What is in it; nothing in a leaf.
    pub(super) below: BTreeMap<String, Node>,
    /// The last layer that has it, or something below it.
    layer: u32,
    /// The last layer in which everything of lower layers below it was removed, so that this is not done again.
    cleared: u32,
}

#[derive(Clone)]
pub(super) enum Leaf {
    /// A file with this content.
    File(FileContent),
    /// A link with this target.
    Link(String),
    /// Something that is neither a folder nor of interest.
    Other,
}

/// Why something cannot be put into the tree.
pub(super) enum Blocked {
    /// One of its parents is a link.
    Link {
        /// The link, from the top of the image.
        path: String,
        target: String,
    },
    /// There is too much.
    Full,
}

impl Tree {
    pub(super) fn new(limit: usize) -> Self {
        Self { top: Node::default(), made: 0, limit }
    }

    /// Puts a folder there and keeps what is in it; a leaf in its place goes.
    pub(super) fn put_folder(&mut self, path: &[&str], layer: u32) -> Result<(), Blocked> {
        if let Some(node) = self.put(path, layer)? {
            node.leaf = None;
        }
        Ok(())
    }

    /// Puts a leaf there in place of anything else.
    pub(super) fn put_leaf(&mut self, path: &[&str], leaf: Leaf, layer: u32) -> Result<(), Blocked> {
        if let Some(node) = self.put(path, layer)? {
            node.leaf = Some(leaf);
            node.below.clear();
        }
        Ok(())
    }

    /// Removes what lower layers have there.
    pub(super) fn hide(&mut self, path: &[&str], layer: u32) -> Result<(), Blocked> {
        let Some((name, parents)) = path.split_last() else { return Ok(()) };
        let Some(parent) = self.find_mut(parents)? else { return Ok(()) };
        match parent.below.get_mut(*name) {
            Some(node) if node.layer == layer => node.clear(layer),
            _ => drop(parent.below.remove(*name)),
        }
        Ok(())
    }

    /// Removes what lower layers have below it.
    pub(super) fn clear(&mut self, path: &[&str], layer: u32) -> Result<(), Blocked> {
        if let Some(node) = self.find_mut(path)? {
            node.clear(layer);
        }
        Ok(())
    }

    /// What is there.
    pub(super) fn find(&self, path: &[&str]) -> Result<Option<&Node>, Blocked> {
        let mut node = &self.top;
        for (depth, name) in path.iter().enumerate() {
            node.check_folder(&path[..depth])?;
            let Some(next) = node.below.get(*name) else { return Ok(None) };
            node = next;
        }
        Ok(Some(node))
    }

    /// The top of the image.
    pub(super) fn top(&self) -> &Node {
        &self.top
    }

    fn find_mut(&mut self, path: &[&str]) -> Result<Option<&mut Node>, Blocked> {
        let mut node = &mut self.top;
        for (depth, name) in path.iter().enumerate() {
            node.check_folder(&path[..depth])?;
            let Some(next) = node.below.get_mut(*name) else { return Ok(None) };
            node = next;
        }
        node.check_folder(path)?;
        Ok(Some(node))
    }

    /// The place of an entry, whatever it is; nothing for the top. Its parents become folders, unless they are links.
    fn put(&mut self, path: &[&str], layer: u32) -> Result<Option<&mut Node>, Blocked> {
        let Self { top, made, limit } = self;
        let mut node = top;
        for (depth, name) in path.iter().enumerate() {
            node.check_folder(&path[..depth])?;
            node.leaf = None;
            node = node.below.entry((*name).to_owned()).or_insert_with(|| {
                *made += 1;
                Node { layer, cleared: layer, ..Node::default() }
            });
            if *made > *limit {
                return Err(Blocked::Full);
            }
            node.layer = layer;
        }
        Ok((!path.is_empty()).then_some(node))
    }
}

impl Node {
    fn check_folder(&self, path: &[&str]) -> Result<(), Blocked> {
        match &self.leaf {
            Some(Leaf::Link(target)) => Err(Blocked::Link { path: path.join("/"), target: target.clone() }),
            _ => Ok(()),
        }
    }

    /// Removes what lower layers have below it. Each layer looks at each node once, however many whiteouts it has.
    fn clear(&mut self, layer: u32) {
        if self.cleared == layer {
            return;
        }
        self.cleared = layer;
        self.below.retain(|_, node| node.layer == layer);
        for node in self.below.values_mut() {
            node.clear(layer);
        }
    }
}
