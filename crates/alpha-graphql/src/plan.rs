//! Plans of responses: the members to write of each blob, and their order, from the selected fields
//! of a request and the types of a catalog.

use graphql::runtime_schema::{SelectedField, SelectedValue};

use super::types::{CatalogTypes, FieldKind, Fields, ScalarType, SchemaType};

/// Maximum number of items of a page, and the number where `limit` is absent or out of range.
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

/// Members to write of an object in a line.
pub(crate) struct ObjectPlan<'p> {
    /// Sorted by response key.
    pub(crate) members: Vec<Member<'p>>,
    /// Number of slots: of different fields that are read from the object.
    pub(crate) slots: usize,
    /// JSON texts of the keys to read, sorted, with the slot of each.
    keys: Vec<(&'p [u8], usize)>,
}

pub(crate) struct Member<'p> {
    pub(crate) key: &'p str,
    pub(crate) value: MemberValue<'p>,
}

/// Value of a member. The number is the slot in which [`ObjectPlan::slot`] puts the value.
pub(crate) enum MemberValue<'p> {
    TypeName(&'p str),
    Scalar(usize, ScalarType),
    List(usize, ScalarType),
    Objects(usize, ObjectPlan<'p>),
}

/// Plans the root fields. They are sorted by response key, as upstream's encoder of maps sorts
/// them.
pub(crate) fn plan<'p>(
    types: &'p CatalogTypes,
    selected: &'p [SelectedField],
) -> Vec<RootField<'p>> {
    let field = |field: &'p SelectedField| {
        let value = match &field.value {
            SelectedValue::TypeName(name) => RootValue::TypeName(name),
            SelectedValue::Introspection(text) => RootValue::Introspection(text),
            SelectedValue::Object(fields) => match types.types.get(&*field.name) {
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
