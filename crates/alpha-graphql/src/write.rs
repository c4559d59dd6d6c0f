//! Writes the data of a response: the planned members of each blob, cut from its line.

mod value;

use fbc::Catalog;
use fbc::work::{Step, Work, WorkStopped};
use fbc_read::json::JsonValue;
use graphql::runtime_schema::{SelectedField, SelectedValue};

use super::plan::{Member, MemberValue, ObjectPlan, RootField, RootValue};
use super::types::{CatalogTypes, JsonType, SchemaSummary, kind_of};

/// Error that ends the writing of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AlphaWriteError {
    /// The work is exhausted.
    Work,
    /// The response would exceed the limit of its size.
    TooLarge,
}

impl From<WorkStopped> for AlphaWriteError {
    fn from(WorkStopped: WorkStopped) -> Self {
        Self::Work
    }
}

/// The text of a response while it is written.
pub(crate) struct DataWriter<'w, 'c> {
    catalog: &'c Catalog,
    types: &'w CatalogTypes,
    work: &'w Work<'w>,
    max_bytes: usize,
    out: Vec<u8>,
    /// Values of the objects that are being written, the innermost last.
    slots: Vec<Option<JsonValue<'c>>>,
}

/// Returns an estimate, in nanoseconds, of the work of writing these fields.
pub(crate) fn estimate(catalog: &Catalog, fields: &[RootField<'_>]) -> u64 {
    let of_blob = |blob: &u32| {
        Step::Object.price()
            + 2 * Step::JsonByte.price_of(catalog.meta_at(*blob as usize).line_span().len())
    };
    let of_field = |field: &RootField<'_>| match &field.value {
        RootValue::Page { blobs, .. } => blobs.iter().map(of_blob).sum(),
        _ => Step::Object.price(),
    };
    fields.iter().map(of_field).sum()
}

impl<'w, 'c> DataWriter<'w, 'c> {
    /// Begins a response of up to `max_bytes`.
    pub(crate) fn new(
        catalog: &'c Catalog,
        types: &'w CatalogTypes,
        work: &'w Work<'w>,
        max_bytes: usize,
    ) -> Self {
        Self {
            catalog,
            types,
            work,
            max_bytes,
            out: Vec::with_capacity(4 << 10),
            slots: Vec::new(),
        }
    }

    /// Writes the whole response.
    pub(crate) fn response(mut self, fields: &[RootField<'_>]) -> Result<Vec<u8>, AlphaWriteError> {
        self.out.extend_from_slice(b"{\"data\":");
        for (at, field) in fields.iter().enumerate() {
            self.key(at, field.key);
            match &field.value {
                RootValue::TypeName(name) => value::name(&mut self.out, name),
                RootValue::Introspection(text) => {
                    self.check_size(text)?;
                    self.out.extend_from_slice(text);
                }
                RootValue::Summary(fields) => self.summary(fields)?,
                RootValue::Page { blobs, plan } => self.page(blobs, plan)?,
            }
        }
        self.close(fields.is_empty());
        self.out.extend_from_slice(b"}\n");
        Ok(self.out)
    }

    /// Begins a member of an object, and the object with its first.
    fn key(&mut self, at: usize, key: &str) {
        self.out
            .extend_from_slice(if at == 0 { b"{\"" } else { b",\"" });
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    /// Ends an object.
    fn close(&mut self, is_empty: bool) {
        self.out
            .extend_from_slice(if is_empty { b"{}" } else { b"}" });
    }

    fn page(&mut self, blobs: &[u32], plan: &ObjectPlan<'_>) -> Result<(), AlphaWriteError> {
        let catalog = self.catalog;
        self.out.push(b'[');
        for (at, blob) in blobs.iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            let blob = catalog.meta_at(*blob as usize).blob();
            self.work.draw(Step::Object, 1)?;
            self.object(plan, blob)?;
        }
        self.out.push(b']');
        Ok(())
    }

    /// Writes an object; of a value that is no object, one whose fields are `null`.
    fn object(
        &mut self,
        plan: &ObjectPlan<'_>,
        object: JsonValue<'c>,
    ) -> Result<(), AlphaWriteError> {
        self.work.draw(Step::JsonByte, object.raw().len())?;
        let begin = self.slots.len();
        let written = self.out.len();
        self.slots.resize(begin + plan.slots, None);
        if plan.slots > 0 {
            let slots = &mut self.slots[begin..];
            // Of a damaged line, what comes before the damage.
            let _ = object.each_member(|key, value| {
                // Of several keys of one field, the first counts.
                if let Some(slot) = plan.slot(key.raw()) {
                    slots[slot].get_or_insert(value);
                }
            });
        }
        for (at, member) in plan.members.iter().enumerate() {
            self.key(at, member.key);
            self.member(member, begin)?;
        }
        self.close(plan.members.is_empty());
        self.slots.truncate(begin);
        self.work
            .draw(Step::WrittenByte, self.out.len() - written)?;
        Ok(())
    }

    fn member(&mut self, member: &Member<'_>, begin: usize) -> Result<(), AlphaWriteError> {
        let raw = |slot: &usize| self.slots[begin + slot].map_or(&b"null"[..], JsonValue::raw);
        match &member.value {
            MemberValue::TypeName(name) => value::name(&mut self.out, name),
            MemberValue::Scalar(slot, scalar) => {
                let raw = raw(slot);
                self.check_size(raw)?;
                value::scalar(&mut self.out, *scalar, raw);
            }
            MemberValue::List(slot, scalar) => {
                let raw = raw(slot);
                self.check_size(raw)?;
                value::list(&mut self.out, *scalar, raw);
            }
            MemberValue::Objects(slot, plan) => {
                let list = JsonValue::new(raw(slot));
                self.objects(plan, list)?;
            }
        }
        Ok(())
    }

    fn objects(
        &mut self,
        plan: &ObjectPlan<'_>,
        list: JsonValue<'c>,
    ) -> Result<(), AlphaWriteError> {
        if kind_of(list.raw()) != JsonType::List {
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        let mut at = 0;
        let mut result = Ok(());
        self.out.push(b'[');
        let _ = list.each_element(|element| {
            if result.is_err() {
                return;
            }
            if at > 0 {
                self.out.push(b',');
            }
            at += 1;
            match kind_of(element.raw()) {
                JsonType::Null => self.out.extend_from_slice(b"null"),
                JsonType::Object => result = self.object(plan, element),
                _ => result = self.object(plan, JsonValue::new(b"{}")),
            }
        });
        self.out.push(b']');
        result
    }

    fn summary(&mut self, fields: &[SelectedField]) -> Result<(), AlphaWriteError> {
        let schemas = &self.types.summaries;
        for (at, field) in sorted(fields).into_iter().enumerate() {
            self.key(at, &field.key);
            match &field.value {
                SelectedValue::TypeName(name) => value::name(&mut self.out, name),
                SelectedValue::Object(fields) => {
                    self.out.push(b'[');
                    for (at, schema) in schemas.iter().enumerate() {
                        self.out.extend_from_slice(if at == 0 { b"" } else { b"," });
                        self.schema_summary(fields, schema)?;
                    }
                    self.out.push(b']');
                }
                _ => value::count(&mut self.out, schemas.len()),
            }
        }
        self.close(fields.is_empty());
        Ok(())
    }

    fn schema_summary(
        &mut self,
        fields: &[SelectedField],
        schema: &SchemaSummary,
    ) -> Result<(), AlphaWriteError> {
        self.work.draw(Step::Object, 1)?;
        for (at, field) in sorted(fields).into_iter().enumerate() {
            self.key(at, &field.key);
            match (&field.value, &*field.name) {
                (SelectedValue::TypeName(name), _) => value::name(&mut self.out, name),
                (_, "name") => {
                    self.check_size(schema.name.as_bytes())?;
                    value::text(&mut self.out, &schema.name);
                }
                (_, "totalObjects") => value::count(&mut self.out, schema.objects),
                _ => value::count(&mut self.out, schema.fields),
            }
        }
        self.close(fields.is_empty());
        Ok(())
    }

    /// Returns an error if a value is too long for the response. Called before it is written,
    /// because a document can select a long value many times.
    fn check_size(&self, raw: &[u8]) -> Result<(), AlphaWriteError> {
        if self.out.len() + raw.len() > self.max_bytes {
            Err(AlphaWriteError::TooLarge)
        } else {
            Ok(())
        }
    }
}

/// Fields in the order in which upstream writes them.
fn sorted(fields: &[SelectedField]) -> Vec<&SelectedField> {
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    fields
}
