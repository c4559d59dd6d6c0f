//! Writing: a plan and a snapshot become JSON text, in one pass and one buffer.
//!
//! Each type's code is one `match` from a field's name to how to write it ([`Object::write`]). What is the same for
//! every type is here: keys, lists, errors with their paths, `null` that propagates by cutting the text back, and the
//! limits on objects, bytes and time.

mod bundle;
mod catalog;
mod channel;
mod connection;
mod constraint;
mod manifest;
mod meta;
mod node;
mod package;
mod problem;
mod property;
mod query;

use std::time::Instant;

use super::coercion::{Arguments, Fault};
use super::document::Document;
use super::errors::{Code, Error, Segment};
use super::key::{self, Tag};
use super::limits::Limits;
use super::output;
use super::introspection::Introspection;
use super::plan::{Field, Plan, Selected};
use crate::catalogs::{Served, Snapshot};

/// Objects between two looks at the clock.
const OBJECTS_PER_LOOK: u64 = 256;

/// What a written operation is.
pub(super) struct Written {
    /// The text of the data: an object or `null`.
    pub(super) data: Vec<u8>,
    /// What went wrong in fields, in the order of the data.
    pub(super) errors: Vec<Error>,
    /// Objects that were produced.
    pub(super) objects: u64,
}

/// Writes the data of an operation into `out`, after what is there.
///
/// # Errors
/// The reason why the whole execution was abandoned.
pub(super) fn write<'a>(
    plan: &'a Plan<'a>,
    context: Context<'a>,
    out: Vec<u8>,
) -> Result<Written, Error> {
    let deadline = Instant::now() + context.limits.time;
    let start = out.len();
    let mut writer = Writer {
        context,
        deadline,
        out,
        scratch: Vec::new(),
        path: Vec::new(),
        errors: Vec::new(),
        error_bytes: 0,
        objects: 0,
        abandoned: None,
    };
    let outcome = writer.object(query::Query(context.snapshot), plan);
    if let Some(reason) = writer.abandoned {
        return Err(reason);
    }
    if outcome.is_err() {
        writer.out.truncate(start);
        writer.null();
    }
    Ok(Written { data: writer.out, errors: writer.errors, objects: writer.objects })
}

/// What a request is answered from.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) document: &'a Document,
    pub(super) limits: &'a Limits,
    /// What introspection said, by response key.
    pub(super) introspection: &'a Introspection,
}

/// Something of a catalog that is served.
#[derive(Clone, Copy)]
struct In<'a, T> {
    served: &'a Served,
    it: T,
}

/// An object of the graph.
trait Object<'a>: Copy {
    /// The name of its type.
    fn type_name(self) -> &'static str;

    /// Writes the value of a field.
    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome;
}

/// Whether a value was written.
type Outcome = Result<(), Stop>;

/// Why a value was not written.
enum Stop {
    /// It has an error and is `null`, or else what it is in.
    Null,
    /// There is no more to be written at all.
    Abandoned,
}

/// The text so far.
struct Writer<'a> {
    context: Context<'a>,
    deadline: Instant,
    out: Vec<u8>,
    scratch: Vec<u8>,
    /// The way to the object that is being written.
    path: Vec<Step<'a>>,
    errors: Vec<Error>,
    /// Bytes of the errors, roughly.
    error_bytes: usize,
    objects: u64,
    abandoned: Option<Error>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

impl<'a, T: Copy> In<'a, T> {
    /// Something else of the same catalog.
    fn with<U>(self, it: U) -> In<'a, U> {
        In { served: self.served, it }
    }
}

/// Objects and lists.
impl<'a> Writer<'a> {
    /// Writes an object as a plan asks for it.
    fn object<T: Object<'a>>(&mut self, object: T, plan: &'a Plan<'a>) -> Outcome {
        self.objects += 1;
        if self.objects.is_multiple_of(OBJECTS_PER_LOOK) || self.objects > self.context.limits.objects {
            self.look_at_limits()?;
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

    fn field<T: Object<'a>>(&mut self, object: T, field: &'a Field<'a>) -> Outcome {
        let start = self.out.len();
        let outcome = match (&field.value, &field.arguments) {
            (Selected::TypeName, _) => {
                self.word(object.type_name());
                Ok(())
            }
            (_, Err(fault)) => self.fault(field, fault),
            (Selected::Introspection(_), _) => self.introspection(field),
            _ => object.write(field, self),
        };
        self.settle(outcome, field.nullable, start)
    }

    /// Lets a `null` take the place of a value that was not written, if it may.
    fn settle(&mut self, outcome: Outcome, nullable: bool, start: usize) -> Outcome {
        match outcome {
            Err(Stop::Null) if nullable => {
                self.out.truncate(start);
                self.null();
                Ok(())
            }
            outcome => outcome,
        }
    }

    /// Writes an object that is the value of a field.
    fn one<T: Object<'a>>(&mut self, object: T, field: &'a Field<'a>) -> Outcome {
        self.path.push(Step::Key(field.key));
        let outcome = self.of_type(object, field);
        self.path.pop();
        outcome
    }

    /// Writes an object that is the value of a field, or `null`.
    fn maybe<T: Object<'a>>(&mut self, object: Option<T>, field: &'a Field<'a>) -> Outcome {
        match object {
            Some(object) => self.one(object, field),
            None => {
                self.null();
                Ok(())
            }
        }
    }

    /// Writes a list of objects that is the value of a field.
    fn many<T: Object<'a>>(&mut self, objects: impl IntoIterator<Item = T>, field: &'a Field<'a>) -> Outcome {
        self.each(objects, field, |to, object| to.of_type(object, field))
    }

    /// Writes a list that is the value of a field.
    fn each<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        field: &'a Field<'a>,
        mut item: impl FnMut(&mut Self, T) -> Outcome,
    ) -> Outcome {
        self.path.push(Step::Key(field.key));
        self.out.push(b'[');
        let mut outcome = Ok(());
        for (at, value) in items.into_iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.path.push(Step::Index(at));
            let start = self.out.len();
            outcome = item(self, value);
            outcome = self.settle(outcome, field.nullable_items, start);
            self.path.pop();
            if outcome.is_err() {
                break;
            }
        }
        self.out.push(b']');
        self.path.pop();
        outcome
    }

    /// Writes a list of strings.
    fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) {
        self.out.push(b'[');
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                self.out.push(b',');
            }
            self.text(text);
        }
        self.out.push(b']');
    }

    fn of_type<T: Object<'a>>(&mut self, object: T, field: &'a Field<'a>) -> Outcome {
        match field.plan(object.type_name()) {
            Some(plan) => self.object(object, plan),
            None => self.bug(field, object.type_name()),
        }
    }

    fn introspection(&mut self, field: &'a Field<'a>) -> Outcome {
        match self.context.introspection.iter().find(|(key, _)| **key == *field.key) {
            Some((_, json)) => self.raw(json),
            None => self.bug(field, "the schema"),
        }
    }
}

/// Scalars.
impl Writer<'_> {
    fn null(&mut self) {
        self.out.extend_from_slice(b"null");
    }

    fn boolean(&mut self, value: bool) {
        self.out.extend_from_slice(if value { b"true" } else { b"false" });
    }

    fn integer(&mut self, value: impl Into<i64>) {
        output::integer(&mut self.out, value.into());
    }

    /// A count as an `Int`.
    fn count(&mut self, value: usize) {
        self.integer(i32::try_from(value).unwrap_or(i32::MAX));
    }

    fn text(&mut self, text: &str) {
        output::string(&mut self.out, text);
    }

    fn maybe_text(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.text(text),
            None => self.null(),
        }
    }

    /// A string of ours, which needs no escapes.
    fn word(&mut self, word: &'static str) {
        self.out.push(b'"');
        self.out.extend_from_slice(word.as_bytes());
        self.out.push(b'"');
    }

    /// An id or a cursor.
    fn key<'p>(&mut self, tag: Tag, parts: impl IntoIterator<Item = Option<&'p str>>) {
        self.out.push(b'"');
        key::write(&mut self.out, &mut self.scratch, tag, parts);
        self.out.push(b'"');
    }

    /// JSON text as it is. It may be large, so the limit is looked at before it is copied.
    fn raw(&mut self, json: &[u8]) -> Outcome {
        let maximum = self.context.limits.answer_bytes;
        if self.out.len() + json.len() > maximum {
            return self.too_large();
        }
        if self.out.capacity() - self.out.len() < json.len() {
            // Doubling, but not beyond what an answer may have.
            let wanted = (self.out.capacity() * 2).max(self.out.len() + json.len()).min(maximum);
            self.out.reserve_exact(wanted - self.out.len());
        }
        self.out.extend_from_slice(json);
        Ok(())
    }

    fn maybe_raw(&mut self, json: Option<&[u8]>) -> Outcome {
        match json {
            Some(json) => self.raw(json),
            None => {
                self.null();
                Ok(())
            }
        }
    }
}

/// What goes wrong.
impl<'a> Writer<'a> {
    /// Notes an error of a field.
    fn fail(&mut self, field: &'a Field<'a>, code: Code, message: String) -> Outcome {
        let error = Error::request(code, message).at(self.context.document.location(field.place));
        self.note(field, error)
    }

    /// Notes an error of an argument that only its field can find.
    fn bad_input(&mut self, field: &'a Field<'a>, message: String) -> Outcome {
        self.fail(field, Code::BadUserInput, message)
    }

    /// Notes an error that was found while planning.
    fn fault(&mut self, field: &'a Field<'a>, fault: &Fault) -> Outcome {
        let error = Error::request(Code::BadUserInput, fault.message.clone());
        self.note(field, error.at(self.context.document.location(fault.place.or(field.place))))
    }

    /// Notes that a field has no code.
    fn unknown(&mut self, field: &'a Field<'a>) -> Outcome {
        self.bug(field, "this object")
    }

    fn bug(&mut self, field: &'a Field<'a>, of: &str) -> Outcome {
        tracing::error!(field = field.name, of, "a field of the schema is not written");
        self.fail(field, Code::Internal, "internal server error".to_owned())
    }

    fn note(&mut self, field: &'a Field<'a>, error: Error) -> Outcome {
        let mut path: Vec<Segment> = self
            .path
            .iter()
            .map(|step| match step {
                Step::Key(key) => Segment::Key((*key).into()),
                Step::Index(at) => Segment::Index(*at),
            })
            .collect();
        path.push(Segment::Key(field.key.into()));
        self.error_bytes += error.message.len() + path.len() * 16 + 128;
        self.errors.push(Error { path, ..error });
        if self.out.len() + self.error_bytes > self.context.limits.answer_bytes {
            return self.too_large();
        }
        Err(Stop::Null)
    }

    #[cold]
    fn look_at_limits(&mut self) -> Outcome {
        let Limits { objects, answer_bytes, time, .. } = *self.context.limits;
        if self.objects > objects {
            let message = format!("the request produces more than {objects} objects");
            return self.abandon(Code::CostActual, message);
        }
        if self.out.len() + self.error_bytes > answer_bytes {
            return self.too_large();
        }
        if Instant::now() > self.deadline {
            return self.abandon(Code::Timeout, format!("the request takes more than {} s", time.as_secs_f32()));
        }
        Ok(())
    }

    fn too_large(&mut self) -> Outcome {
        let maximum = self.context.limits.answer_bytes;
        self.abandon(Code::ResponseTooLarge, format!("the answer has more than {maximum} bytes"))
    }

    fn abandon(&mut self, code: Code, message: String) -> Outcome {
        self.abandoned = Some(Error::request(code, message));
        Err(Stop::Abandoned)
    }
}

/// The arguments of a field that is being written; those with faults never are.
fn arguments<'a>(field: &'a Field<'a>) -> &'a Arguments {
    static NONE: Arguments = Arguments::NONE;
    field.arguments.as_ref().unwrap_or(&NONE)
}
