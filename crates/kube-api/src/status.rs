//! Errors, as `Status` objects of the Kubernetes API.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::kind::ResourceKind;

/// An error of a request.
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

    /// The error for an object that does not exist.
    pub(crate) fn not_found(kind: ResourceKind, name: &str) -> Self {
        let resource = kind.plural();
        let group = kind.group();
        let message = format!("{resource}.{group} \"{name}\" not found");
        let details = json!({ "name": name, "group": group, "kind": resource });
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with(details)
    }

    /// The error for a resource, version or subresource that does not exist.
    pub(crate) fn no_resource() -> Self {
        let message = "the server could not find the requested resource";
        Self::new(StatusCode::NOT_FOUND, "NotFound", message).with(json!({}))
    }

    pub(crate) fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with(json!({}))
    }

    /// The error for a request that accepts no known media type.
    pub(crate) fn unknown_media_types() -> Self {
        let message =
            "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"
                .to_owned();
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message).with(json!({}))
    }

    /// The error for a request that accepts known media types, of which none fits the response.
    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// The error for an invalid parameter of a list: its name, the reason, and the message after the
    /// name.
    pub(crate) fn invalid_parameter(field: &str, reason: &str, message: &str) -> Self {
        let text = format!("ListOptions.meta.k8s.io \"\" is invalid: {field}: {message}");
        let cause = json!({ "reason": reason, "message": message, "field": field });
        let details = json!({ "group": "meta.k8s.io", "kind": "ListOptions", "causes": [cause] });
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "Invalid", text).with(details)
    }

    /// 410 Gone, for a state that is no longer kept. Clients list again.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "Expired", message)
    }

    /// The error for a state that this replica has not reached.
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

    /// The error for a request beyond a bound. Clients repeat it.
    pub(crate) fn too_many_requests() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "TooManyRequests",
            "too many requests at a time: try again later",
        )
    }

    /// Returns the `Status` object, with a continue token for the rest of a list if there is one.
    pub(crate) fn object(&self, token: Option<&str>) -> Value {
        let metadata = token.map_or(json!({}), |token| json!({ "continue": token }));
        let mut object = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": metadata, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code.as_u16(),
        });
        if let Some(details) = &self.details {
            object["details"] = details.clone();
        }
        object
    }
}
