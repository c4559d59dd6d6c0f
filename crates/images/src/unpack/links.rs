//! Resolves symbolic links of an image like a process in that image would, without the file system.

use super::tree::{Leaf, TreeNode};

/// Maximum number of links that resolving one may pass. Linux allows 40; catalogs need one or two.
pub const MAX_LINK_HOPS: usize = 8;

/// Resolves the target of a link in a folder of the image to a path from the top of the image,
/// which need not exist. `None` if it passes too many links.
pub(super) fn follow<'t>(
    top: &'t TreeNode,
    folder: &[&'t str],
    target: &'t str,
) -> Option<Vec<&'t str>> {
    let mut resolved: Vec<(&str, Option<&TreeNode>)> = Vec::new();
    let mut rest: Vec<&str> = target.split('/').rev().collect();
    if !target.starts_with('/') {
        rest.extend(folder.iter().rev());
    }
    let mut hops = 0;
    while let Some(part) = rest.pop() {
        let here = resolved.last().map_or(Some(top), |(_, node)| *node);
        let next = here.and_then(|node| node.children.get(part));
        match (part, next.and_then(|node| node.leaf.as_ref())) {
            ("" | ".", _) => {}
            ("..", _) => drop(resolved.pop()),
            (_, Some(Leaf::Link(target))) => {
                hops += 1;
                if hops > MAX_LINK_HOPS {
                    return None;
                }
                if target.starts_with('/') {
                    resolved.clear();
                }
                rest.extend(target.split('/').rev());
            }
            _ => resolved.push((part, next)),
        }
    }
    Some(resolved.into_iter().map(|(name, _)| name).collect())
}
