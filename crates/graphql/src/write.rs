//! Execution: writes the response of a plan over a snapshot as JSON text, in one pass and into one
//! buffer.
//!
//! Each type's code is one exhaustive `match` over its fields ([`Object::write`]). This module has
//! the code that all types share: response keys, lists, errors with their paths, propagation of
//! `null` by truncating the buffer, and the limits on objects, bytes and time.

mod bundle;
mod bundles;
mod catalog;
mod channel;
mod connection;
mod constraint;
mod descriptions;
mod diff;
pub(super) mod facets;
mod failure;
mod graph;
mod history;
mod icon;
mod install;
mod installation;
mod lifecycle;
mod meta;
mod metadata;
mod mirror_set;
mod node;
mod olm_v1;
mod package;
mod packages;
mod platform_matrix;
mod platform_upgrade;
mod problem;
mod property;
mod query;
mod requirement;
mod resolve;
mod scans;
mod server;
mod solve;
mod status;
pub(super) mod suggest;
mod summary;
mod upgrades;
mod verification;

use std::collections::{BTreeSet, HashMap};

use apollo_compiler::parser::SourceSpan;
use fbc::Bundle;
use fbc::similar::similar_names;
use fbc::work::{Step, Work, WorkStopped};
use fbc_read::json::resolve_pointer;
use fbc_read::manifest::Manifests;
use serving::{Served, Snapshot};

use super::budget::Budget;
use super::bundle_manifests::RequestImages;
use super::coercion::Arguments;
use super::connection::checked_size;
use super::document::Document;
use super::errors::{Code, Error, Location};
use super::fields::ObjectField;
use super::introspection::IntrospectionData;
use super::limits::Limits;
use super::opaque_key::{self, KeyTag};
use super::output;
use super::plan::{Plan, PlannedField, ValuePlan};
use super::search_index::SharedSearchIndex;
use super::server_info::ServerState;
use super::suggestion::{MAX_COMPARED_NAMES, MAX_SUGGESTED_FIELDS, Suggestion};
use metadata::MetadataId;
use scans::Scans;

pub(super) use diff::CatalogChange;

/// Bytes of an object that its price includes. Bytes beyond them are charged separately.
const OBJECT_BYTES: usize = 512;

/// Result of executing an operation.
pub(super) struct ExecutionResult {
    /// The buffer that was passed to [`write()`], followed by the JSON text of `data`: an object or
    /// `null`.
    pub(super) data: Vec<u8>,
    /// Field errors, in the order of the data.
    pub(super) errors: Vec<Error>,
    /// Names that may have been meant where a field is `null`.
    pub(super) suggestions: Vec<Suggestion>,
    /// Images whose manifests would replace errors.
    pub(super) wanted_images: Vec<String>,
    /// Work that it took, in units.
    pub(super) work: u64,
}

/// Executes an operation within a budget and appends its `data` to `out`.
///
/// # Errors
/// The limit because of which the execution was abandoned.
pub(super) fn write(
    plan: &Plan<'_>,
    context: WriteContext<'_>,
    budget: &Budget,
    out: Vec<u8>,
) -> Result<ExecutionResult, Error> {
    let check = |drawn| budget.check(drawn);
    let work = Work::new(&check);
    write_within(plan, context, &work, out).map_err(|abandonment| {
        let Abandonment { limit, advice } = *abandonment;
        if let Some(limit) = limit {
            return limit;
        }
        let Some(stopped) = budget.error() else {
            return Error::request(Code::Internal, "internal server error".to_owned());
        };
        let advice = advice
            .as_deref()
            .unwrap_or("ask for smaller pages or fewer fields");
        Error {
            message: format!("{}: {advice}", stopped.message),
            ..stopped
        }
    })
}

/// The reason of an abandoned execution.
#[derive(Default)]
struct Abandonment {
    /// The limit of the writer that was exceeded; `None` if the budget of work stopped it.
    limit: Option<Error>,
    /// Text that suggests a narrower request.
    advice: Option<String>,
}

/// Executes an operation.
fn write_within<'a>(
    plan: &'a Plan<'a>,
    context: WriteContext<'a>,
    work: &'a Work<'a>,
    out: Vec<u8>,
) -> Result<ExecutionResult, Box<Abandonment>> {
    let start = out.len();
    let mut writer = ResponseWriter {
        context,
        work,
        scans: Scans::default(),
        out,
        scratch: Vec::new(),
        manifests: Manifests::default(),
        path: Vec::new(),
        errors: FieldErrors::default(),
        suggestions: NameSuggestions::default(),
        wanted_images: BTreeSet::new(),
        drawn_bytes: 0,
        abandonment: Abandonment::default(),
    };
    let outcome = match context.change {
        Some(change) => writer.selection_set(diff::SubscriptionObject(change), plan),
        None => writer.selection_set(query::QueryObject(context.snapshot), plan),
    };
    match outcome {
        Ok(()) => {}
        Err(WriteError::Null) => {
            writer.out.truncate(start);
            writer.null();
        }
        Err(WriteError::Abandoned) => {
            return Err(Box::new(writer.abandonment));
        }
    }
    let ResponseWriter {
        out: data,
        errors,
        suggestions,
        wanted_images,
        ..
    } = writer;
    Ok(ExecutionResult {
        data,
        errors: errors.list,
        suggestions: suggestions.list,
        wanted_images: wanted_images.into_iter().collect(),
        work: work.units(),
    })
}

/// Everything that an execution reads besides its plan.
#[derive(Clone, Copy)]
pub(super) struct WriteContext<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The event of a subscription; `None` for a query.
    pub(super) change: Option<CatalogChange<'a>>,
    pub(super) document: &'a Document,
    pub(super) server: &'a ServerState,
    pub(super) limits: &'a Limits,
    /// Result of the introspection fields, by response key.
    pub(super) introspection: &'a IntrospectionData,
    /// Images of bundles that were fetched for the request.
    pub(super) images: &'a RequestImages,
    /// True if other images can be fetched, for another execution.
    pub(super) fetches_images: bool,
    /// Search index of all catalogs, for searches over many of them.
    pub(super) search_index: &'a SharedSearchIndex,
}

/// An item of the content of a catalog, with the catalog.
#[derive(Clone, Copy)]
struct InCatalog<'a, T> {
    served: &'a Served,
    item: T,
}

/// A value of an object type of the schema.
trait Object<'a>: Copy {
    /// Fields of the object type.
    type Field: ObjectField;

    /// Writes the value of one field of the object.
    fn write(
        self,
        name: Self::Field,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult;
}

/// Result of writing a value.
type WriteResult = Result<(), WriteError>;

/// Reason why a value was not written.
enum WriteError {
    /// The value has an error: it becomes `null`, or, if it is non-null, its parent does.
    Null,
    /// A limit was exceeded and the execution was abandoned.
    Abandoned,
}

impl From<WorkStopped> for WriteError {
    fn from(_: WorkStopped) -> Self {
        Self::Abandoned
    }
}

/// Writes a response: the text so far, the current path, errors, and counters for the limits.
struct ResponseWriter<'a> {
    context: WriteContext<'a>,
    work: &'a Work<'a>,
    scans: Scans<'a>,
    out: Vec<u8>,
    scratch: Vec<u8>,
    manifests: Manifests,
    /// Path of the object that is being written.
    path: Vec<PathStep<'a>>,
    errors: FieldErrors,
    suggestions: NameSuggestions,
    /// Images whose manifests would replace errors.
    wanted_images: BTreeSet<String>,
    /// Length of `out` when an object was last charged.
    drawn_bytes: usize,
    /// Set before [`WriteError::Abandoned`] is returned.
    abandonment: Abandonment,
}

/// Field errors so far.
#[derive(Default)]
struct FieldErrors {
    list: Vec<Error>,
    /// Locations by span. A field may fail for each item of a list, and computing a location scans
    /// the source text.
    locations: HashMap<SourceSpan, Option<Location>>,
    /// Size of the errors in bytes (approximate).
    bytes: usize,
}

/// Suggestions so far.
struct NameSuggestions {
    list: Vec<Suggestion>,
    /// Number of names that may still be compared.
    uncompared_names: usize,
}

impl Default for NameSuggestions {
    fn default() -> Self {
        Self {
            list: Vec::new(),
            uncompared_names: MAX_COMPARED_NAMES,
        }
    }
}

#[derive(Clone, Copy)]
enum PathStep<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a, T: Copy> InCatalog<'a, T> {
    /// Returns another item of the same catalog.
    fn with<U>(self, item: U) -> InCatalog<'a, U> {
        InCatalog {
            served: self.served,
            item,
        }
    }
}

/// Objects and lists.
impl<'a> ResponseWriter<'a> {
    /// Writes an object with the fields of a plan (`ExecuteSelectionSet` of the specification).
    fn selection_set<T: Object<'a>>(&mut self, object: T, plan: &'a Plan<'a>) -> WriteResult {
        self.draw_object()?;
        if let Some(error) = &plan.error {
            return self.object_error(error);
        }
        if plan.fields.is_empty() {
            self.out.push(b'{');
        }
        for field in &plan.fields {
            self.out.extend_from_slice(&field.prefix);
            self.field(object, field)?;
        }
        self.out.push(b'}');
        Ok(())
    }

    /// Charges an object, and the bytes of the last one beyond [`OBJECT_BYTES`].
    fn draw_object(&mut self) -> WriteResult {
        let written = self.out.len().saturating_sub(self.drawn_bytes);
        self.drawn_bytes = self.out.len();
        self.work
            .draw(Step::WrittenByte, written.saturating_sub(OBJECT_BYTES))?;
        self.work.draw(Step::Object, 1)?;
        self.check_size()
    }

    /// Writes the metadata of a bundle, and draws the work of decoding it.
    fn metadata(
        &mut self,
        bundle: InCatalog<'a, Bundle<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let metadata = bundle.item.metadata_by(&mut self.manifests);
        self.draw_decoded()?;
        let id = MetadataId::from_bundle(bundle.item);
        self.optional_object(
            metadata
                .as_ref()
                .map(|metadata| bundle.with((metadata, id))),
            field,
        )
    }

    /// Draws the bytes of manifests that were decoded since the last call.
    fn draw_decoded(&mut self) -> WriteResult {
        Ok(self
            .work
            .draw(Step::DecodedByte, self.manifests.take_work())?)
    }

    fn field<T: Object<'a>>(&mut self, object: T, field: &'a PlannedField<'a>) -> WriteResult {
        let start = self.out.len();
        let outcome = match (T::Field::from_id(field.id), &field.value, &field.arguments) {
            (_, ValuePlan::TypeName, _) => {
                self.static_string(T::Field::TYPE_NAME);
                Ok(())
            }
            (_, _, Err(error)) => self.coercion_error(field, error),
            (_, ValuePlan::Introspection(_), _) => self.introspection(field),
            (Some(name), ..) => object.write(name, field, self),
            (None, ..) => self.internal_error(field, T::Field::TYPE_NAME),
        };
        self.propagate_null(outcome, field.nullable, start)
    }

    /// Replaces a value that has an error by `null` if its type is nullable; otherwise the error
    /// propagates.
    fn propagate_null(
        &mut self,
        outcome: WriteResult,
        nullable: bool,
        start: usize,
    ) -> WriteResult {
        if nullable && matches!(outcome, Err(WriteError::Null)) {
            self.out.truncate(start);
            self.null();
            return Ok(());
        }
        outcome
    }

    /// Writes an object that is the value of a field.
    fn object<T: Object<'a>>(&mut self, object: T, field: &'a PlannedField<'a>) -> WriteResult {
        self.with_path(field, |writer| writer.complete_object(object, field))
    }

    /// Calls `write` with the response key of a field appended to the path.
    fn with_path(
        &mut self,
        field: &'a PlannedField<'a>,
        write: impl FnOnce(&mut Self) -> WriteResult,
    ) -> WriteResult {
        self.path.push(PathStep::Key(field.key));
        let outcome = write(self);
        self.path.pop();
        outcome
    }

    /// Writes an object that is the value of a field, or `null` for `None`.
    fn optional_object<T: Object<'a>>(
        &mut self,
        object: Option<T>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let Some(object) = object else {
            self.null();
            return Ok(());
        };
        self.object(object, field)
    }

    /// Writes a list of objects that is the value of a field.
    fn object_list<T: Object<'a>>(
        &mut self,
        objects: impl IntoIterator<Item = T>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        self.list(objects, field, |writer, object| {
            writer.complete_object(object, field)
        })
    }

    /// Writes a list that is the value of a field.
    fn list<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        field: &'a PlannedField<'a>,
        mut item: impl FnMut(&mut Self, T) -> WriteResult,
    ) -> WriteResult {
        self.path.push(PathStep::Key(field.key));
        self.out.push(b'[');
        let outcome = items.into_iter().enumerate().try_for_each(|(at, value)| {
            if at > 0 {
                self.out.push(b',');
            }
            self.path.push(PathStep::Index(at));
            let start = self.out.len();
            let outcome = item(self, value);
            self.path.pop();
            self.propagate_null(outcome, field.nullable_items, start)
        });
        self.out.push(b']');
        self.path.pop();
        outcome
    }

    /// Writes a list of strings.
    fn strings<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) {
        self.out.push(b'[');
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.string(text);
        }
        self.out.push(b']');
    }

    /// Writes an object with the plan of a field for its type (`CompleteValue` of the
    /// specification).
    fn complete_object<T: Object<'a>>(
        &mut self,
        object: T,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        match field.plan(T::Field::TYPE_NAME) {
            Some(plan) => self.selection_set(object, plan),
            None => self.internal_error(field, T::Field::TYPE_NAME),
        }
    }

    /// Suggests names that are similar to the value of an argument, within the limits of a
    /// response.
    fn suggest_names<'n>(
        &mut self,
        field: &'a PlannedField<'a>,
        argument: &'static str,
        names: impl Iterator<Item = &'n str>,
    ) -> WriteResult {
        let value = arguments(field).string(argument).unwrap_or_default();
        self.suggest_similar(field, argument, value, names)
    }

    /// As [`Self::suggest_names`], for a value that is a part of the argument.
    fn suggest_similar<'n>(
        &mut self,
        field: &'a PlannedField<'a>,
        argument: &'static str,
        value: &str,
        names: impl Iterator<Item = &'n str>,
    ) -> WriteResult {
        if self.suggestions.list.len() >= MAX_SUGGESTED_FIELDS {
            return Ok(());
        }
        let uncompared = &mut self.suggestions.uncompared_names;
        let names = names.take(*uncompared).inspect(|_| *uncompared -= 1);
        let similar: Vec<_> = similar_names(value, names, self.work)?
            .into_iter()
            .map(ToOwned::to_owned)
            .collect();
        if !similar.is_empty() {
            let path = self.path_of(Some(field));
            self.suggestions.list.push(Suggestion {
                path,
                argument,
                value: value.to_owned(),
                similar,
            });
        }
        Ok(())
    }

    fn introspection(&mut self, field: &'a PlannedField<'a>) -> WriteResult {
        match self
            .context
            .introspection
            .iter()
            .find(|(key, _)| **key == *field.key)
        {
            Some((_, json)) => self.json(json),
            None => self.internal_error(field, "the schema"),
        }
    }
}

/// Scalars.
impl ResponseWriter<'_> {
    fn null(&mut self) {
        self.out.extend_from_slice(b"null");
    }

    fn boolean(&mut self, value: bool) {
        self.out
            .extend_from_slice(if value { b"true" } else { b"false" });
    }

    fn integer(&mut self, value: impl Into<i64>) {
        output::integer(&mut self.out, value.into());
    }

    /// Writes a count as an `Int`, which has 32 bits.
    fn count(&mut self, value: usize) {
        self.integer(i32::try_from(value).unwrap_or(i32::MAX));
    }

    fn string(&mut self, text: &str) {
        output::string(&mut self.out, text);
    }

    fn optional_string(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.string(text),
            None => self.null(),
        }
    }

    /// Writes a string of the program, such as an enum value, that needs no escapes.
    fn static_string(&mut self, text: &'static str) {
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
    }

    /// Writes an id or a cursor.
    fn opaque_key<'p>(&mut self, tag: KeyTag, parts: impl IntoIterator<Item = Option<&'p str>>) {
        self.out.push(b'"');
        opaque_key::encode(&mut self.out, &mut self.scratch, tag, parts);
        self.out.push(b'"');
    }

    /// Copies JSON text, which may be large: the limit is checked before.
    fn json(&mut self, json: &[u8]) -> WriteResult {
        let maximum = self.context.limits.response_bytes;
        if self.out.len() + json.len() > maximum {
            return self.too_large();
        }
        if self.out.capacity() - self.out.len() < json.len() {
            // Grows by a factor of four, so that the copied buffers add up to a third of the
            // response instead of its size; untouched capacity takes no memory. Never grows beyond
            // the limit.
            let capacity = (self.out.capacity() * 4)
                .max(self.out.len() + json.len())
                .min(maximum);
            self.out.reserve_exact(capacity - self.out.len());
        }
        self.out.extend_from_slice(json);
        Ok(())
    }

    fn optional_json(&mut self, json: Option<&[u8]>) -> WriteResult {
        self.json(json.unwrap_or(b"null"))
    }
}

/// Raw values.
impl<'a> ResponseWriter<'a> {
    /// Writes the part of a JSON value that the argument `pointer` selects, or `null` if there is
    /// none.
    fn json_at_pointer(&mut self, json: Option<&[u8]>, field: &'a PlannedField<'a>) -> WriteResult {
        let Some(pointer) = arguments(field).string("pointer") else {
            return self.optional_json(json);
        };
        self.work.draw(Step::ParsedByte, pointer.len())?;
        self.work
            .draw(Step::JsonByte, json.map_or(0, <[u8]>::len))?;
        match json.map(|json| resolve_pointer(json, pointer)).transpose() {
            Ok(part) => self.optional_json(part.flatten()),
            Err(error) => self.bad_user_input(field, format!("`pointer` is malformed: {error}")),
        }
    }
}

impl<'a> ResponseWriter<'a> {
    /// Reads the argument `first`, absent as 0; records an error and returns `None` if it is out of
    /// range.
    fn read_first(
        &mut self,
        field: &'a PlannedField<'a>,
        maximum: usize,
    ) -> Result<Option<usize>, WriteError> {
        match checked_size(
            "first",
            arguments(field).integer("first").unwrap_or_default(),
            maximum,
        ) {
            Ok(first) => Ok(Some(first)),
            Err(message) => self.bad_user_input(field, message).map(|()| None),
        }
    }
}

/// Returns the arguments of a field that is being written; a field with a coercion error is never
/// written.
fn arguments<'a>(field: &'a PlannedField<'a>) -> &'a Arguments {
    static NONE: Arguments = Arguments::NONE;
    field.arguments.as_ref().unwrap_or(&NONE)
}
