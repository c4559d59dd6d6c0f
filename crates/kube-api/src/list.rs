//! Responses with one object, or with the objects of a collection: all, or a page of them.

use std::sync::Arc;

use axum::http::HeaderMap;
use axum::response::Response;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::collection::{Collection, ObjectIndex, write_table};
use crate::continue_token::{ContinueToken, ListPosition};
use crate::item::{Item, RowOptions};
use crate::json::{JsonWriter, SplicedJson};
use crate::list_body::{self, ListHead, ListPermits};
use crate::negotiation::{ObjectRepresentation, Projection, Serialization};
use crate::options::ListOptions;
use crate::published::PublishedState;
use crate::response;
use crate::status::Status;

/// A list request whose objects are known.
pub(crate) struct ListQuery<'r> {
    pub(crate) collection: Collection,
    pub(crate) state: Arc<PublishedState>,
    pub(crate) options: &'r ListOptions,
    pub(crate) representation: ObjectRepresentation,
    pub(crate) headers: &'r HeaderMap,
}

/// A page of a list.
struct ListPage {
    objects: Vec<ObjectIndex>,
    rest: Option<RestOfList>,
}

/// The objects behind a page.
struct RestOfList {
    token: ContinueToken,
    count: usize,
}

/// Responds with one object.
pub(crate) fn respond_with_object(
    item: &Item<'_>,
    collection: &Collection,
    representation: ObjectRepresentation,
    options: &ListOptions,
) -> Result<Response, Status> {
    let row = RowOptions {
        include: options.include_object()?,
        now: Timestamp::now(),
    };
    let mut out = JsonWriter::default();
    item.write(representation.projection, true, row, &mut out);
    if let Projection::Table(version) = representation.projection {
        let row = std::mem::take(&mut out).into_bytes();
        let head = collection.table_head(version, true);
        write_table(head, item.version, Some(&row), &mut out);
    }
    let json = out.into_bytes();
    response::check_convertible(json.len(), representation.serialization)?;
    Ok(response::whole(json, representation.serialization))
}

impl ListQuery<'_> {
    /// Responds with the objects that are selected, or a page of them.
    pub(crate) fn respond(self, permits: ListPermits<'_>) -> Result<Response, Status> {
        let ObjectRepresentation {
            serialization,
            projection,
        } = self.representation;
        self.check_exact_version()?;
        let token = self.options.continue_token()?;
        if let Some(token) = &token
            && let Err((error, resume)) = self.check_token(token)
        {
            return Ok(response::error(&error, serialization, Some(&resume)));
        }

        let version = self.collection.list_version(&self.state);
        let page = self.page(token.as_ref())?;
        let mut metadata = json!({ "resourceVersion": version.to_string() });
        if let Some(rest) = &page.rest {
            metadata["continue"] = json!(rest.token.encode());
            // As upstream does: with selectors, counting would mean reading everything.
            if !self.collection.selection.has_selectors {
                metadata["remainingItemCount"] = json!(rest.count);
            }
        }
        let mut head = self.head();
        head.members["metadata"] = metadata;

        let row = RowOptions {
            include: self.options.include_object()?,
            now: Timestamp::now(),
        };
        let Self {
            collection, state, ..
        } = self;
        let text = move |index| text(&collection, &state, index, projection, row);
        if serialization != Serialization::Json {
            let mut length = 0;
            for index in &page.objects {
                length += text(*index).len();
                response::check_convertible(length, serialization)?;
            }
        }
        let items = page.objects.into_iter().map(text);
        list_body::respond(&head, items, serialization, self.headers, permits)
    }

    /// Checks that the state has the resource version, if the request wants exactly that one.
    fn check_exact_version(&self) -> Result<(), Status> {
        let Some(version) = self.options.resource_version()? else {
            return if self.options.is_exact() {
                Err(too_old(0))
            } else {
                Ok(())
            };
        };
        if self.options.is_exact() && version != self.collection.list_version(&self.state) {
            return Err(too_old(version.number()));
        }
        Ok(())
    }

    /// Checks that the list has not changed since its first page. The error comes with a token that
    /// continues in the current state.
    fn check_token(&self, token: &ContinueToken) -> Result<(), (Status, String)> {
        // By contents, not by version: kube-apiserver may send the request for the next page to
        // another replica, and kubectl fails at the first error.
        let current = self.collection.contents_hash(&self.state);
        if token.contents.is_none_or(|contents| contents == current) {
            return Ok(());
        }
        let resume = ContinueToken {
            contents: None,
            after: token.after.clone(),
        };
        let error = Status::expired(
            "the list has changed since its first page: start again, or continue with the token of this response, \
             with which objects may be missing or appear twice",
        );
        Err((error, resume.encode()))
    }

    /// Returns the page behind the token.
    fn page(&self, token: Option<&ContinueToken>) -> Result<ListPage, Status> {
        let mut objects = self.collection.select(&self.state);
        if let Some(token) = token {
            objects.drain(..self.end_of_page(&objects, &token.after));
        }
        let limit = self.options.limit()?.unwrap_or(usize::MAX);
        let count = objects.len().saturating_sub(limit);
        if count == 0 {
            return Ok(ListPage {
                objects,
                rest: None,
            });
        }

        objects.truncate(limit);
        let last = self.collection.key(&self.state, objects[limit - 1]);
        let after = ListPosition {
            namespace: last.namespace.to_owned(),
            name: last.name.to_owned(),
            catalog: last.catalog.to_owned(),
        };
        // A list that was continued in another state stays inconsistent.
        let is_consistent = token.is_none_or(|token| token.contents.is_some());
        let token = ContinueToken {
            contents: is_consistent.then(|| self.collection.contents_hash(&self.state)),
            after,
        };
        Ok(ListPage {
            objects,
            rest: Some(RestOfList { token, count }),
        })
    }

    /// Returns how many of the objects are not behind a position.
    fn end_of_page(&self, objects: &[ObjectIndex], after: &ListPosition) -> usize {
        let key = |index: &ObjectIndex| self.collection.key(&self.state, *index);
        let is_last = |index: &ObjectIndex| {
            let key = key(index);
            key.namespace == after.namespace
                && key.name == after.name
                && key.catalog == after.catalog
        };
        // If the last object is gone, the list continues at the next name.
        let is_before = |index: &ObjectIndex| {
            let key = key(index);
            (key.namespace, key.name) <= (after.namespace.as_str(), after.name.as_str())
        };
        match objects.iter().position(is_last) {
            Some(at) => at + 1,
            None => objects.partition_point(is_before),
        }
    }

    /// Returns the list without its objects.
    fn head(&self) -> ListHead {
        let kind = self.collection.kind;
        let list = |name: &str, api_version: &str| -> Value {
            json!({ "kind": name, "apiVersion": api_version })
        };
        match self.representation.projection {
            Projection::Table(version) => ListHead {
                members: self.collection.table_head(version, true),
                array: "rows",
            },
            Projection::Metadata(version) => ListHead {
                members: list(
                    "PartialObjectMetadataList",
                    &format!("meta.k8s.io/{version}"),
                ),
                array: "items",
            },
            Projection::Whole => ListHead {
                members: list(&format!("{}List", kind.name()), &kind.api_version()),
                array: "items",
            },
        }
    }
}

fn too_old(version: u64) -> Status {
    Status::expired(format!(
        "The resourceVersion for the provided list is too old: {version}"
    ))
}

/// Returns the text of an object in a list.
fn text(
    collection: &Collection,
    state: &PublishedState,
    index: ObjectIndex,
    projection: Projection,
    row: RowOptions,
) -> SplicedJson {
    let mut out = JsonWriter::default();
    collection
        .item(state, index)
        .write(projection, false, row, &mut out);
    out.into_text()
}
