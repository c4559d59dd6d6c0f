//! Where symbolic links of an image lead, as a process in that image would follow them. Nothing is asked of the file
//! system.

use super::tree::{Leaf, Node};

/// How many links may be passed on the way. Linux passes 40; a catalog has no reason for more than one or two.
pub const MAX_LINK_HOPS: usize = 8;

/// Follows the target of a link that is in this folder of an image, and gives the path from the top of the image that
/// it leads to, whether or not something is there. Nothing when it leads over too many links.
pub(super) fn follow<'t>(top: &'t Node, folder: &[&'t str], target: &'t str) -> Option<Vec<&'t str>> {
    let mut way: Vec<(&str, Option<&Node>)> = Vec::new();
    let mut rest: Vec<&str> = target.split('/').rev().collect();
    if !target.starts_with('/') {
        rest.extend(folder.iter().rev());
    }
    let mut hops = 0;
    while let Some(part) = rest.pop() {
        let here = way.last().map_or(Some(top), |(_, node)| *node);
        let next = here.and_then(|node| node.below.get(part));
        match (part, next.and_then(|node| node.leaf.as_ref())) {
            ("" | ".", _) => {}
            ("..", _) => drop(way.pop()),
            (_, Some(Leaf::Link(target))) => {
                hops += 1;
                if hops > MAX_LINK_HOPS {
                    return None;
                }
                if target.starts_with('/') {
                    way.clear();
                }
                rest.extend(target.split('/').rev());
            }
            _ => way.push((part, next)),
        }
    }
    Some(way.into_iter().map(|(name, _)| name).collect())
}
