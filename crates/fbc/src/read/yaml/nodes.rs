//! Collections, anchors, aliases and merge keys of one document.
//!
//! An alias of a collection copies what was written for its anchor; a merge key copies the members. How much may come
//! from aliases is upstream's rule (yaml.v2's), which lets everything pass that is not made to explode.

use std::collections::HashMap;
use std::ops::Range;

use super::super::canonical::{KeyKind, Span, write_text};
use super::super::error::ReadErrorKind;
use super::super::meta;
use super::Reader;
use super::scalar::Scalar;

/// Up to so many nodes, 99 % of them may come from aliases.
const FEW_NODES: usize = 400_000;
/// From so many nodes on, 10 % of them may come from aliases.
const MANY_NODES: usize = 4_000_000;
/// Below so many nodes from aliases, or so many nodes, nothing is refused.
const FREE_ALIASED: usize = 100;
const FREE_NODES: usize = 1_000;

/// A collection that is open.
#[derive(Debug)]
pub(super) struct Frame {
    is_mapping: bool,
    /// Whether a key comes next, in a mapping.
    expects_key: bool,
    /// The anchor's number, 0 without one.
    anchor: usize,
    /// Where its text begins.
    from: usize,
    /// How many nodes there were before it.
    nodes: usize,
    /// While the value of a merge key is read.
    merge: Option<Merge>,
    /// Whether it is a list of mappings to merge.
    is_merge_list: bool,
}

/// The mappings that a merge key names, in their order.
#[derive(Debug, Default)]
struct Merge(Vec<Vec<Span>>);

/// What an anchor stands for, once it is complete.
#[derive(Debug)]
pub(super) enum Anchored<'t> {
    Scalar(Scalar<'t>),
    Collection {
        text: Range<usize>,
        /// Of a mapping.
        members: Option<Vec<Span>>,
        /// With all that it has by aliases.
        nodes: usize,
    },
}

/// The anchors of a document, by the parser's numbers, and how much they are used.
#[derive(Debug, Default)]
pub(super) struct Anchors<'t> {
    known: HashMap<usize, Anchored<'t>>,
    nodes: usize,
    /// How many of the nodes come from aliases.
    aliased: usize,
}

impl<'t> Anchors<'t> {
    pub(super) fn insert(&mut self, anchor: usize, anchored: Anchored<'t>) {
        self.known.insert(anchor, anchored);
    }

    /// Counts one node.
    pub(super) fn count(&mut self) {
        self.nodes += 1;
    }

    /// Counts the nodes that an alias brings.
    fn count_aliased(&mut self, nodes: usize) -> Result<(), ReadErrorKind> {
        self.nodes += nodes;
        self.aliased += nodes;
        // Hundredths of the nodes that may come from aliases, falling evenly from 99 to 10.
        let many = self.nodes.clamp(FEW_NODES, MANY_NODES) - FEW_NODES;
        let scale = MANY_NODES - FEW_NODES;
        let allowed = 99 * scale - 89 * many;
        let is_free = self.aliased <= FREE_ALIASED || self.nodes <= FREE_NODES;
        if is_free || self.aliased * 100 * scale <= self.nodes * allowed {
            return Ok(());
        }
        let text = "document contains excessive aliasing";
        Err(ReadErrorKind::Alias(text.to_owned()))
    }
}

impl Reader<'_, '_> {
    pub(super) fn expects_key(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.expects_key)
    }

    pub(super) fn key_is_complete(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.expects_key = false;
        }
    }

    /// Whether what comes next is to be merged.
    pub(super) fn is_merging(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.is_merge_list || frame.merge.is_some())
    }

    /// Takes a merge key. What stands after it is written as a member that will be left out.
    pub(super) fn begin_merge(&mut self) {
        write_text(self.writer.begin_key(KeyKind::Merge), "<<");
        self.writer.end_key(false);
        if let Some(frame) = self.frames.last_mut() {
            frame.expects_key = false;
            frame.merge = Some(Merge::default());
        }
    }

    pub(super) fn open(&mut self, is_mapping: bool, anchor: usize) -> Result<(), ReadErrorKind> {
        if self.expects_key() {
            let text = "a mapping or a sequence".to_owned();
            return Err(ReadErrorKind::Key(text));
        }
        if self.frames.len() >= self.limits.depth {
            return Err(ReadErrorKind::Depth(self.limits.depth));
        }
        let is_merging = self.is_merging();
        let in_merge_list = self.frames.last().is_some_and(|frame| frame.is_merge_list);
        if in_merge_list && !is_mapping {
            return Err(ReadErrorKind::Merge);
        }
        let nodes = self.anchors.nodes;
        self.anchors.count();
        self.writer.open(is_mapping);
        self.frames.push(Frame {
            is_mapping,
            expects_key: is_mapping,
            anchor,
            from: self.writer.written().len() - 1,
            nodes,
            merge: None,
            is_merge_list: is_merging && !is_mapping,
        });
        Ok(())
    }

    pub(super) fn close(&mut self) -> Result<(), ReadErrorKind> {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        if frame.is_mapping && self.frames.is_empty() {
            meta::check(self.writer).inspect_err(|_| self.at = self.begin.unwrap_or(self.at))?;
        }
        let is_merged = self.is_merging() && frame.is_mapping;
        let members = (frame.is_mapping && (is_merged || frame.anchor != 0))
            .then(|| self.writer.innermost_members().collect::<Vec<_>>());
        self.writer.close();
        if is_merged {
            self.merge_from(members.clone())?;
        }
        if frame.anchor != 0 {
            let anchored = Anchored::Collection {
                text: frame.from..self.writer.written().len(),
                members,
                nodes: self.anchors.nodes - frame.nodes,
            };
            self.anchors.insert(frame.anchor, anchored);
        }
        self.value_is_complete()
    }

    pub(super) fn alias(&mut self, anchor: usize) -> Result<(), ReadErrorKind> {
        self.anchors.count();
        let Some(anchored) = self.anchors.known.remove(&anchor) else {
            let text = "anchor value contains itself".to_owned();
            return Err(ReadErrorKind::Alias(text));
        };
        let written = self.alias_of(&anchored);
        self.anchors.known.insert(anchor, anchored);
        written
    }

    fn alias_of(&mut self, anchored: &Anchored<'_>) -> Result<(), ReadErrorKind> {
        match anchored {
            Anchored::Scalar(scalar) => {
                self.anchors.count_aliased(1)?;
                self.write(scalar)
            }
            Anchored::Collection { .. } if self.expects_key() => {
                let text = "a mapping or a sequence".to_owned();
                Err(ReadErrorKind::Key(text))
            }
            Anchored::Collection { text, members, nodes } => {
                self.anchors.count_aliased(*nodes)?;
                if self.is_merging() {
                    self.merge_from(members.clone())?;
                } else {
                    self.check_size(text.len())?;
                    self.writer.repeat(text.clone());
                }
                self.value_is_complete()
            }
        }
    }

    /// Notes the members of a mapping that is to be merged.
    fn merge_from(&mut self, members: Option<Vec<Span>>) -> Result<(), ReadErrorKind> {
        let members = members.ok_or(ReadErrorKind::Merge)?;
        let merge = self.frames.iter_mut().rev().find_map(|frame| frame.merge.as_mut());
        if let Some(Merge(sources)) = merge {
            sources.push(members);
        }
        Ok(())
    }

    /// Goes on after a value. After that of a merge key, its members are written: later ones win over earlier ones, so
    /// that of a list the first mapping must come last.
    pub(super) fn value_is_complete(&mut self) -> Result<(), ReadErrorKind> {
        let Some(frame) = self.frames.last_mut() else {
            return Ok(());
        };
        frame.expects_key = frame.is_mapping;
        let Some(Merge(sources)) = frame.merge.take() else {
            return Ok(());
        };
        for members in sources.iter().rev() {
            for member in members {
                self.check_size(member.len())?;
                self.writer.repeat_member(member);
            }
        }
        Ok(())
    }

    fn check_size(&self, more: usize) -> Result<(), ReadErrorKind> {
        let limit = self.limits.blob_bytes;
        if self.writer.written().len() + more > limit {
            return Err(ReadErrorKind::TooLarge(limit));
        }
        Ok(())
    }
}
