//! Errors during execution: field errors with their paths, and limits that abandon the execution.

use apollo_compiler::parser::SourceSpan;

use super::{PathStep, PlannedField, ResponseWriter, WriteError, WriteResult};
use crate::coercion::CoercionError;
use crate::errors::{Code, Error, Segment};

impl<'a> ResponseWriter<'a> {
    /// Records an error of a field.
    pub(super) fn field_error(
        &mut self,
        field: &'a PlannedField<'a>,
        code: Code,
        message: String,
    ) -> WriteResult {
        self.add_error(Some(field), Error::request(code, message), field.span)
    }

    /// Records an error of an argument that coercion cannot find.
    pub(super) fn bad_user_input(
        &mut self,
        field: &'a PlannedField<'a>,
        message: String,
    ) -> WriteResult {
        self.field_error(field, Code::BadUserInput, message)
    }

    /// Records a coercion error of a field, found by the plan.
    pub(super) fn coercion_error(
        &mut self,
        field: &'a PlannedField<'a>,
        error: &CoercionError,
    ) -> WriteResult {
        let span = error.span.or(field.span);
        self.add_error(
            Some(field),
            Error::request(Code::BadUserInput, error.message.clone()),
            span,
        )
    }

    /// Records a coercion error of the selection set that is being written, found by the plan.
    pub(super) fn object_error(&mut self, error: &CoercionError) -> WriteResult {
        self.add_error(
            None,
            Error::request(Code::BadUserInput, error.message.clone()),
            error.span,
        )
    }

    /// Records that the code for a field is missing.
    pub(super) fn unwritten_field(&mut self, field: &'a PlannedField<'a>) -> WriteResult {
        self.internal_error(field, "this object")
    }

    /// Records that the code for a field of an object is missing, and logs it.
    pub(super) fn internal_error(
        &mut self,
        field: &'a PlannedField<'a>,
        object: &str,
    ) -> WriteResult {
        tracing::error!(
            field = field.name,
            object,
            "a field of the schema is not written"
        );
        self.field_error(field, Code::Internal, "internal server error".to_owned())
    }

    /// Records an error of a field, or of the object that is being written.
    fn add_error(
        &mut self,
        field: Option<&'a PlannedField<'a>>,
        error: Error,
        span: Option<SourceSpan>,
    ) -> WriteResult {
        let document = self.context.document;
        let location = span.and_then(|span| {
            *self
                .errors
                .locations
                .entry(span)
                .or_insert_with(|| document.location(Some(span)))
        });
        let path = self.path_of(field);
        self.errors.bytes += error.message.len() + path.len() * 16 + 128;
        self.errors.list.push(Error {
            location,
            path,
            ..error
        });
        self.check_size()?;
        Err(WriteError::Null)
    }

    /// Returns the path of a field of the object that is being written, or of the object itself.
    pub(super) fn path_of(&self, field: Option<&'a PlannedField<'a>>) -> Vec<Segment> {
        let steps = self.path.iter().map(|step| match step {
            PathStep::Key(key) => Segment::Key((*key).into()),
            PathStep::Index(at) => Segment::Index(*at),
        });
        steps
            .chain(field.map(|field| Segment::Key(field.key.into())))
            .collect()
    }

    /// Advises how to narrow a request whose work was stopped while a field searched so many
    /// catalogs; `further` are other arguments that narrow it.
    pub(super) fn stopped_search(
        &mut self,
        field: &'a PlannedField<'a>,
        catalogs: usize,
        further: Option<&str>,
    ) -> WriteError {
        let fewer = (catalogs > 1).then_some("fewer of them in `catalogs`");
        let names: Vec<_> = fewer.into_iter().chain(further).collect();
        if !names.is_empty() {
            let catalogs = if catalogs == 1 {
                "a catalog".to_owned()
            } else {
                format!("{catalogs} catalogs")
            };
            self.abandonment.advice = Some(format!(
                "`{}` searches {catalogs}; name {}",
                field.name,
                names.join(" or ")
            ));
        }
        WriteError::Abandoned
    }

    /// Checks the size of the response.
    pub(super) fn check_size(&mut self) -> WriteResult {
        let is_too_large = self.out.len() + self.errors.bytes > self.context.limits.response_bytes;
        if is_too_large {
            self.too_large()
        } else {
            Ok(())
        }
    }

    /// Abandons the execution because the response is larger than the limit.
    pub(super) fn too_large(&mut self) -> WriteResult {
        let maximum = self.context.limits.response_bytes;
        self.abandon(
            Code::ResponseTooLarge,
            format!("the response has more than {maximum} bytes"),
        )
    }

    fn abandon(&mut self, code: Code, message: String) -> WriteResult {
        self.abandonment.limit = Some(Error::request(code, message));
        Err(WriteError::Abandoned)
    }
}
