//! What goes wrong while writing: errors of fields with their paths, and the limits that end everything.

use std::time::Instant;

use apollo_compiler::parser::SourceSpan;

use super::{Field, OBJECTS_PER_LOOK, Outcome, PathStep, Stop, Writer};
use crate::coercion::CoercionError;
use crate::errors::{Code, Error, Segment};
use crate::limits::Limits;

impl<'a> Writer<'a> {
    /// Notes an error of a field.
    pub(super) fn fail(&mut self, field: &'a Field<'a>, code: Code, message: String) -> Outcome {
        self.note(Some(field), Error::request(code, message), field.place)
    }

    /// Notes an error of an argument that only its field can find.
    pub(super) fn bad_input(&mut self, field: &'a Field<'a>, message: String) -> Outcome {
        self.fail(field, Code::BadUserInput, message)
    }

    /// Notes an error that was found while planning.
    pub(super) fn fault(&mut self, field: &'a Field<'a>, fault: &CoercionError) -> Outcome {
        let error = Error::request(Code::BadUserInput, fault.message.clone());
        self.note(Some(field), error, fault.place.or(field.place))
    }

    /// Notes an error of the object that is being written, which was found while planning.
    pub(super) fn unplanned(&mut self, fault: &CoercionError) -> Outcome {
        self.note(None, Error::request(Code::BadUserInput, fault.message.clone()), fault.place)
    }

    /// Notes that a field has no code.
    pub(super) fn unknown(&mut self, field: &'a Field<'a>) -> Outcome {
        self.bug(field, "this object")
    }

    pub(super) fn bug(&mut self, field: &'a Field<'a>, of: &str) -> Outcome {
        tracing::error!(field = field.name, of, "a field of the schema is not written");
        self.fail(field, Code::Internal, "internal server error".to_owned())
    }

    /// Notes an error of a field, or of the object itself.
    fn note(&mut self, field: Option<&'a Field<'a>>, error: Error, place: Option<SourceSpan>) -> Outcome {
        let document = self.context.document;
        let location =
            place.and_then(|span| *self.locations.entry(span).or_insert_with(|| document.location(Some(span))));
        let mut path: Vec<Segment> = self
            .path
            .iter()
            .map(|step| match step {
                PathStep::Key(key) => Segment::Key((*key).into()),
                PathStep::Index(at) => Segment::Index(*at),
            })
            .collect();
        path.extend(field.map(|field| Segment::Key(field.key.into())));
        self.error_bytes += error.message.len() + path.len() * 16 + 128;
        self.errors.push(Error { location, path, ..error });
        if self.out.len() + self.error_bytes > self.context.limits.answer_bytes {
            return self.too_large();
        }
        Err(Stop::Null)
    }

    #[cold]
    pub(super) fn look_at_limits(&mut self) -> Outcome {
        self.next_look = self.objects + OBJECTS_PER_LOOK;
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

    pub(super) fn too_large(&mut self) -> Outcome {
        let maximum = self.context.limits.answer_bytes;
        self.abandon(Code::ResponseTooLarge, format!("the answer has more than {maximum} bytes"))
    }

    fn abandon(&mut self, code: Code, message: String) -> Outcome {
        self.abandoned = Some(Error::request(code, message));
        Err(Stop::Abandoned)
    }
}
