//! Who may do what: the question, in the words of Kubernetes' authorization, and what a refusal
//! looks like.

use std::pin::Pin;
use std::sync::Arc;

use axum::http::Method;
use axum::http::request::Parts;
use serde_json::json;
use serving::Catalogs;

use crate::options::Options;
use crate::request::{Object, Route};
use crate::status::Status;

/// Decides what callers may do. It reads who the caller is from the head of the request, and what
/// of it listeners have added to its extensions.
pub type Authorize =
    Arc<dyn Fn(&Parts, Attributes) -> Pin<Box<dyn Future<Output = Decision> + Send>> + Send + Sync>;

/// What a request wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete` or `deletecollection`; for
    /// paths the method.
    pub verb: String,
    /// The path, which counts where there is no resource.
    pub path: String,
    /// The objects that it is about; `None` for documents.
    pub resource: Option<ResourceAttributes>,
}

/// The objects that a request is about.
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

/// Whether a caller may do something.
#[derive(Clone, Debug)]
pub enum Decision {
    /// It may.
    Allow {
        /// It sees the objects of the catalogs that this reader sees; without one, those that the
        /// API's own reader sees.
        reader: Option<Catalogs>,
        /// Name of the caller, whose requests are counted together; without one, those of its
        /// address are.
        user: Option<String>,
    },
    /// Its credentials are not valid.
    Unauthenticated,
    /// It may not.
    Deny {
        /// Name of the caller.
        user: String,
        /// Why, if whoever decided says so.
        reason: Option<String>,
    },
    /// Nobody may ask like that, for this reason.
    Refuse(String),
    /// Nobody could decide, for this reason.
    Unknown(String),
}

impl Attributes {
    pub(crate) fn new(method: &Method, path: &str, route: &Route, options: &Options) -> Self {
        let path = path.to_owned();
        let Route::Object(object) = route else {
            return Self {
                verb: method.as_str().to_ascii_lowercase(),
                path,
                resource: None,
            };
        };
        let Object {
            group,
            version,
            namespace,
            resource,
            subresource,
            name,
        } = object.clone();
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

/// Whether the sender of a request may do what it asks for, which can be decided again while a
/// watch lasts.
pub(crate) struct Question {
    authorize: Authorize,
    head: Arc<Parts>,
    /// The API's own reader.
    own: Catalogs,
    attributes: Attributes,
}

impl Question {
    pub(crate) fn new(
        authorize: &Authorize,
        (head, own): (&Arc<Parts>, Catalogs),
        attributes: Attributes,
    ) -> Self {
        Self {
            authorize: Arc::clone(authorize),
            head: Arc::clone(head),
            own,
            attributes,
        }
    }

    /// Returns a reader of what a caller may see who may do this, and the caller's name.
    pub(crate) async fn ask(&self) -> Result<(Catalogs, Option<String>), Status> {
        match (self.authorize)(&self.head, self.attributes.clone()).await {
            Decision::Allow { reader, user } => {
                Ok((reader.unwrap_or_else(|| self.own.clone()), user))
            }
            Decision::Unauthenticated => Err(Status::unauthorized()),
            Decision::Deny { user, reason } => {
                Err(forbidden(&user, reason.as_deref(), &self.attributes))
            }
            Decision::Refuse(reason) => Err(Status::forbidden(reason, json!({}))),
            Decision::Unknown(error) => Err(Status::internal(error)),
        }
    }
}

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
