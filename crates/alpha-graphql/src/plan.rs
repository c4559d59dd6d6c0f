//! The selected fields of a request against the types of a catalog: what is written of each blob,
//! and in which order.

use graphql::runtime_schema::{SelectedField, SelectedValue};

use super::shape::{FieldKind, Fields, Scalar, SchemaType, Shape};

/// Maximum number of items of a page, and their number where a request asks for none, for less than
/// one, or for more.
pub const PAGE_SIZE: usize = 100;

/// A field of the root.
pub(crate) struct RootField<'p> {
    pub(crate) key: &'p str,
    pub(crate) value: RootValue<'p>,
}

pub(crate) enum RootValue<'p> {
    TypeName(&'p str),
    /// JSON text.
    Introspection(&'p [u8]),
    /// `summary`, with the fields that are selected of it.
    Summary(&'p [SelectedField]),
    /// Blobs of a schema.
    Page {
        blobs: &'p [u32],
        plan: ObjectPlan<'p>,
    },
}

/// What is written of an object of a line.
pub(crate) struct ObjectPlan<'p> {
    /// In the order of their response keys.
    pub(crate) members: Vec<Member<'p>>,
    /// Number of fields that are read of the object.
    pub(crate) slots: usize,
    /// JSON texts of the keys that are read, in their order, with the slot of each.
    keys: Vec<(&'p [u8], usize)>,
}

pub(crate) struct Member<'p> {
    pub(crate) key: &'p str,
    pub(crate) value: MemberValue<'p>,
}

/// What is written of a member: a field has the slot that its value is in.
pub(crate) enum MemberValue<'p> {
    TypeName(&'p str),
    Scalar(usize, Scalar),
    List(usize, Scalar),
    Objects(usize, ObjectPlan<'p>),
}

/// Plans the fields of the root, in the order of their response keys as upstream writes them.
pub(crate) fn plan<'p>(shape: &'p Shape, selected: &'p [SelectedField]) -> Vec<RootField<'p>> {
    let field = |field: &'p SelectedField| {
        let value = match &field.value {
            SelectedValue::TypeName(name) => RootValue::TypeName(name),
            SelectedValue::Introspection(text) => RootValue::Introspection(text),
            SelectedValue::Object(fields) => match shape.types.get(&*field.name) {
                Some(ty) => page(ty, field, fields),
                None => RootValue::Summary(fields),
            },
            // All others are objects.
            SelectedValue::Leaf => return None,
        };
        Some(RootField {
            key: &field.key,
            value,
        })
    };
    let mut fields: Vec<_> = selected.iter().filter_map(field).collect();
    fields.sort_unstable_by_key(|field| field.key);
    fields
}

fn page<'p>(
    ty: &'p SchemaType,
    field: &SelectedField,
    selected: &'p [SelectedField],
) -> RootValue<'p> {
    let count = |argument| {
        field
            .integer(argument)
            .and_then(|count| usize::try_from(count).ok())
    };
    let limit = count("limit")
        .filter(|limit| (1..=PAGE_SIZE).contains(limit))
        .unwrap_or(PAGE_SIZE);
    let after = ty
        .blobs
        .get(count("offset").unwrap_or(0)..)
        .unwrap_or_default();
    RootValue::Page {
        blobs: &after[..limit.min(after.len())],
        plan: ObjectPlan::new(&ty.fields, selected),
    }
}

impl<'p> ObjectPlan<'p> {
    fn new(fields: &'p Fields, selected: &'p [SelectedField]) -> Self {
        let mut plan = Self {
            members: Vec::with_capacity(selected.len()),
            slots: 0,
            keys: Vec::new(),
        };
        let mut slots: Vec<(&str, usize)> = Vec::new();
        for SelectedField {
            key, name, value, ..
        } in selected
        {
            let value = match (value, fields.get(&**name)) {
                (SelectedValue::TypeName(name), _) => MemberValue::TypeName(name),
                (value, Some(field)) => {
                    // Fields that differ by their response keys alone are read once.
                    let known = slots
                        .iter()
                        .find(|(other, _)| **other == **name)
                        .map(|(_, slot)| *slot);
                    let slot = known.unwrap_or_else(|| {
                        slots.push((name, plan.slots));
                        plan.keys
                            .extend(field.keys.iter().map(|key| (&**key, plan.slots)));
                        plan.slots += 1;
                        plan.slots - 1
                    });
                    match (&field.kind, value) {
                        (FieldKind::Scalar(scalar), _) => MemberValue::Scalar(slot, *scalar),
                        (FieldKind::List(scalar), _) => MemberValue::List(slot, *scalar),
                        (FieldKind::Objects { fields, .. }, SelectedValue::Object(selected)) => {
                            MemberValue::Objects(slot, ObjectPlan::new(fields, selected))
                        }
                        (FieldKind::Objects { .. }, _) => continue,
                    }
                }
                // Validation ensures that every field is defined.
                (_, None) => continue,
            };
            plan.members.push(Member { key, value });
        }
        plan.members.sort_unstable_by_key(|member| member.key);
        plan.keys.sort_unstable();
        plan
    }

    /// Returns the slot of a key, by its JSON text.
    pub(crate) fn slot(&self, key: &[u8]) -> Option<usize> {
        let found = self.keys.binary_search_by(|(own, _)| (*own).cmp(key));
        found.ok().map(|at| self.keys[at].1)
    }
}
