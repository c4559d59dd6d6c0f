//! Handles collections, anchors, aliases and merge keys of one document.
//!
//! An alias of a collection copies the output of its anchor; a merge key copies the members. The
//! limit for aliases is that of upstream (yaml.v2), which only rejects documents that are designed
//! to explode.

use std::collections::HashMap;
use std::ops::Range;

use super::super::canonical::{KeyKind, MemberSpan};
use super::super::error::ReadErrorKind;
use super::super::meta;
use super::YamlReader;
use super::scalar::YamlScalar;
use crate::json::encode::write_text;

/// Number of nodes up to which 99 % of them may come from aliases.
const FEW_NODES: usize = 400_000;
/// Number of nodes from which on 10 % of them may come from aliases.
const MANY_NODES: usize = 4_000_000;
/// Numbers of nodes from aliases, and of all nodes, up to which nothing is rejected.
const FREE_ALIASED: usize = 100;
const FREE_NODES: usize = 1_000;

/// An open collection.
#[derive(Debug)]
pub(super) struct CollectionFrame {
    is_mapping: bool,
    /// `true` when a mapping expects a key next.
    expects_key: bool,
    /// Number of its anchor; 0 without one.
    anchor: usize,
    /// Offset of its output.
    from: usize,
    /// Number of nodes before it.
    nodes: usize,
    /// Sources of the current merge key, while its value is read.
    merge: Option<MergeSources>,
    /// `true` for the list of mappings of a merge key.
    is_merge_list: bool,
}

/// Members of the mappings of a merge key, in input order.
#[derive(Debug, Default)]
struct MergeSources(Vec<Vec<MemberSpan>>);

/// The value of a complete anchor.
#[derive(Debug)]
pub(super) enum AnchorValue<'t> {
    Scalar(YamlScalar<'t>),
    Collection {
        text: Range<usize>,
        /// Members, if it is a mapping.
        members: Option<Vec<MemberSpan>>,
        /// Number of its nodes, including those from aliases.
        nodes: usize,
    },
}

/// Anchors of a document, by the parser's numbers, and the use of aliases.
#[derive(Debug, Default)]
pub(super) struct Anchors<'t> {
    known: HashMap<usize, AnchorValue<'t>>,
    nodes: usize,
    /// Number of nodes that come from aliases.
    aliased: usize,
}

impl<'t> Anchors<'t> {
    pub(super) fn insert(&mut self, anchor: usize, anchored: AnchorValue<'t>) {
        self.known.insert(anchor, anchored);
    }

    /// Counts one node.
    pub(super) fn count(&mut self) {
        self.nodes += 1;
    }

    /// Counts the nodes of an alias; fails if too many nodes come from aliases.
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

impl YamlReader<'_, '_> {
    pub(super) fn expects_key(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.expects_key)
    }

    pub(super) fn key_is_complete(&mut self) {
        if let Some(frame) = self.frames.last_mut() {
            frame.expects_key = false;
        }
    }

    /// Tells whether the next value is to be merged.
    pub(super) fn is_merging(&self) -> bool {
        self.frames
            .last()
            .is_some_and(|frame| frame.is_merge_list || frame.merge.is_some())
    }

    /// Begins a merge key. Its value is written as a member that is omitted later.
    pub(super) fn begin_merge(&mut self) {
        write_text(self.writer.begin_key(KeyKind::Merge), "<<");
        self.writer.end_key(false);
        if let Some(frame) = self.frames.last_mut() {
            frame.expects_key = false;
            frame.merge = Some(MergeSources::default());
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
        self.frames.push(CollectionFrame {
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
            let anchored = AnchorValue::Collection {
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
        let written = self.write_alias(&anchored);
        self.anchors.known.insert(anchor, anchored);
        written
    }

    fn write_alias(&mut self, anchored: &AnchorValue<'_>) -> Result<(), ReadErrorKind> {
        match anchored {
            AnchorValue::Scalar(scalar) => {
                self.anchors.count_aliased(1)?;
                self.write(scalar)
            }
            AnchorValue::Collection { .. } if self.expects_key() => {
                let text = "a mapping or a sequence".to_owned();
                Err(ReadErrorKind::Key(text))
            }
            AnchorValue::Collection {
                text,
                members,
                nodes,
            } => {
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

    /// Adds the members of a mapping to the current merge.
    fn merge_from(&mut self, members: Option<Vec<MemberSpan>>) -> Result<(), ReadErrorKind> {
        let members = members.ok_or(ReadErrorKind::Merge)?;
        let merge = self
            .frames
            .iter_mut()
            .rev()
            .find_map(|frame| frame.merge.as_mut());
        if let Some(MergeSources(sources)) = merge {
            sources.push(members);
        }
        Ok(())
    }

    /// Continues after a value. After the value of a merge key, the merged members are written:
    /// later members win, so the first mapping of a list is written last.
    pub(super) fn value_is_complete(&mut self) -> Result<(), ReadErrorKind> {
        let Some(frame) = self.frames.last_mut() else {
            return Ok(());
        };
        frame.expects_key = frame.is_mapping;
        let Some(MergeSources(sources)) = frame.merge.take() else {
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
