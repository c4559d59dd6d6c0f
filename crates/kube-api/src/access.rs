//! Authorization: the attributes of a request, in the terms of Kubernetes, and the errors of callers
//! that are denied.

use std::pin::Pin;
use std::sync::Arc;

use axum::http::Method;
use axum::http::request::Parts;
use serde_json::json;
use serving::Catalogs;

use crate::options::ListOptions;
use crate::request::{ObjectPath, Route};
use crate::status::Status;

/// Decides what callers may do. It identifies the caller by the head of the request, to whose
/// extensions listeners add what they know of the connection.
pub type Authorize =
    Arc<dyn Fn(&Parts, Attributes) -> Pin<Box<dyn Future<Output = Decision> + Send>> + Send + Sync>;

/// The attributes of a request by which it is authorized.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; for
    /// paths the method.
    pub verb: String,
    /// The path, which counts where there is no resource.
    pub path: String,
    /// The objects of the request; `None` for documents.
    pub resource: Option<ResourceAttributes>,
}

/// The objects of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceAttributes {
    /// API group.
    pub group: String,
    /// Version of the API group.
    pub version: String,
    /// Namespace; `None` for all.
    pub namespace: Option<String>,
    /// Resource, such as `packagemanifests`.
    pub resource: String,
    /// Subresource, such as `icon`.
    pub subresource: Option<String>,
    /// Name of the object; `None` for all.
    pub name: Option<String>,
}

/// The decision on a request.
#[derive(Clone, Debug)]
pub enum Decision {
    /// The caller may do it.
    Allow {
        /// Reader of the catalogs whose objects the caller sees; `None` for the API's own reader.
        reader: Option<Catalogs>,
        /// Name of the caller, whose requests share a bound; without one, those of its address do.
        user: Option<String>,
    },
    /// The credentials are invalid.
    Unauthenticated,
    /// The caller may not do it.
    Deny {
        /// Name of the caller.
        user: String,
        /// Reason, if the authorizer gives one.
        reason: Option<String>,
    },
    /// No caller may send such a request, for this reason.
    Refuse(String),
    /// The decision failed, for this reason.
    Unknown(String),
}

impl Attributes {
    pub(crate) fn new(method: &Method, path: &str, route: &Route, options: &ListOptions) -> Self {
        let path = path.to_owned();
        let Route::Object(object) = route else {
            return Self {
                verb: method.as_str().to_ascii_lowercase(),
                path,
                resource: None,
            };
        };
        let ObjectPath {
            group,
            version,
            namespace,
            resource,
            subresource,
            name,
        } = object.clone();
        // The verbs that kube-apiserver derives from methods, by which roles are written.
        let verb = match (method.as_str(), &name) {
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", Some(_)) => "delete",
            ("DELETE", None) => "deletecollection",
            (_, Some(_)) => "get",
            _ if options.is_watch() => "watch",
            _ => "list",
        };
        // As upstream does: a role for one object by name allows lists that select it by name.
        let name = name.or_else(|| options.selected_name());
        let resource = ResourceAttributes {
            group,
            version,
            namespace,
            resource,
            subresource,
            name,
        };
        Self {
            verb: verb.to_owned(),
            path,
            resource: Some(resource),
        }
    }
}

/// The authorization of a request, which can be evaluated again while a watch lasts.
pub(crate) struct AccessCheck {
    pub(crate) authorize: Authorize,
    pub(crate) head: Arc<Parts>,
    /// Reader of the catalogs that an allowed caller sees if the decision names no reader.
    pub(crate) default_reader: Catalogs,
    pub(crate) attributes: Attributes,
}

/// The rights of a caller that is allowed.
pub(crate) struct GrantedAccess {
    /// Reader of the catalogs that the caller may see.
    pub(crate) reader: Catalogs,
    pub(crate) user: Option<String>,
}

impl AccessCheck {
    /// Evaluates the authorization now.
    ///
    /// # Errors
    /// The caller is denied, or the decision failed.
    pub(crate) async fn evaluate(&self) -> Result<GrantedAccess, Status> {
        match (self.authorize)(&self.head, self.attributes.clone()).await {
            Decision::Allow { reader, user } => Ok(GrantedAccess {
                reader: reader.unwrap_or_else(|| self.default_reader.clone()),
                user,
            }),
            Decision::Unauthenticated => Err(Status::unauthorized()),
            Decision::Deny { user, reason } => {
                Err(forbidden(&user, reason.as_deref(), &self.attributes))
            }
            Decision::Refuse(reason) => Err(Status::forbidden(reason, json!({}))),
            Decision::Unknown(error) => Err(Status::internal(error)),
        }
    }
}

/// Returns the error of a caller that is denied, with upstream's message.
fn forbidden(user: &str, reason: Option<&str>, attributes: &Attributes) -> Status {
    let reason = reason
        .filter(|reason| !reason.is_empty())
        .map(|reason| format!(": {reason}"))
        .unwrap_or_default();
    let Attributes {
        verb,
        path,
        resource,
    } = attributes;
    let Some(ResourceAttributes {
        group,
        namespace,
        resource,
        subresource,
        name,
        ..
    }) = resource
    else {
        return Status::forbidden(
            format!("forbidden: User \"{user}\" cannot {verb} path \"{path}\"{reason}"),
            json!({}),
        );
    };
    let named = name
        .as_ref()
        .map(|name| format!("\"{name}\" "))
        .unwrap_or_default();
    let part = subresource
        .as_ref()
        .map(|part| format!("/{part}"))
        .unwrap_or_default();
    let scope = namespace
        .as_ref()
        .map(|namespace| format!("in the namespace \"{namespace}\""));
    let scope = scope.unwrap_or_else(|| "at the cluster scope".to_owned());
    let message = format!(
        "{resource}.{group} {named}is forbidden: User \"{user}\" cannot {verb} resource \"{resource}{part}\" in API group \
         \"{group}\" {scope}{reason}"
    );
    let mut details = json!({ "group": group, "kind": resource });
    if let Some(name) = name {
        details["name"] = json!(name);
    }
    Status::forbidden(message, details)
}
