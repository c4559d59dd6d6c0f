//! Errors: `Status` objects of the Kubernetes API, in the representation that the request accepts.

use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use crate::kind::Kind;
use crate::negotiation::Format;
use crate::response;

/// An error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Status {
    pub(crate) code: StatusCode,
    reason: &'static str,
    pub(crate) message: String,
    details: Option<Value>,
}

impl Status {
    pub(crate) fn new(code: StatusCode, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
        }
    }

    fn with(self, details: Value) -> Self {
        Self {
            details: Some(details),
            ..self
        }
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "ServiceUnavailable",
            message,
        )
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequest", message)
    }

    /// No object of this name.
    pub(crate) fn not_found(kind: Kind, name: &str) -> Self {
        let resource = kind.plural();
        let group = kind.group();
        let message = format!("{resource}.{group} \"{name}\" not found");
        let details = json!({ "name": name, "group": group, "kind": resource });
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with(details)
    }

    /// No such resource, version or subresource.
    pub(crate) fn no_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with(json!({}))
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with(json!({}))
    }

    /// Nothing that the request accepts is known here.
    pub(crate) fn unknown_media_types() -> Self {
        let message =
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"
                .to_owned();
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message).with(json!({}))
    }

    /// What the request accepts is known, but not for this response.
    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// A parameter of a list is invalid: its name, the reason, and the message after the name.
    pub(crate) fn invalid_parameter(field: &str, reason: &str, message: &str) -> Self {
        let text = format!("ListOptions.meta.k8s.io \"\" is invalid: {field}: {message}");
        let cause = json!({ "reason": reason, "message": message, "field": field });
        let details = json!({ "group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause] });
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", text).with(details)
    }

    /// The state that the request names is not known any more.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The request names a state that is not there yet.
    pub(crate) fn too_large_version(wanted: u64, current: u64) -> Self {
        let message = format!("Too large resource version: {wanted}, current: {current}");
        let cause =
            json!({ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" });
        let details = json!({ "causes": [cause], "retryAfterSeconds": 1 });
        Self::new(StatusCode::GATEWAY_TIMEOUT, "Timeout", message).with(details)
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
    }

    pub(crate) fn forbidden(message: String, details: Value) -> Self {
        Self::new(StatusCode::FORBIDDEN, "Forbidden", message).with(details)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    /// Returns it with a token for the rest of a list.
    pub(crate) fn object(&self, resume: Option<&str>) -> Value {
        let metadata = resume.map_or(json!({}), |token| json!({ "continue": token }));
        let mut object = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code.as_u16(),
        });
        if let Some(details) = &self.details {
            object["details"] = details.clone();
        }
        object
    }

    pub(crate) fn respond(&self, format: Format) -> Response {
        self.respond_with(format, None)
    }

    pub(crate) fn respond_with(&self, format: Format, resume: Option<&str>) -> Response {
        let mut response = response::whole(self.object(resume).to_string().into_bytes(), format);
        *response.status_mut() = self.code;
        if self.code == StatusCode::FORBIDDEN {
            response::protect(&mut response);
        }
        response
    }
}
