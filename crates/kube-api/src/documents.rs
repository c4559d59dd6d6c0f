//! Documents about the API: discovery in both forms, the index of `OpenAPI` documents, the version,
//! and probes.
//!
//! kube-apiserver stops proxying a group whose discovery does not answer, for all clients. That is
//! why no document depends on catalogs.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, VARY};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::Response;
use http_content::preconditions::if_none_match_contains;
use serde_json::{Value, json};

use crate::kind::{GroupVersion, ResourceKind, groups};
use crate::negotiation::{self, NegotiationTarget};
use crate::openapi;
use crate::request::Route;
use crate::response;
use crate::status::Status;

/// Media type of the aggregated form of discovery.
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The verbs of every resource. The garbage collector and the quota controller of Kubernetes watch
/// only resources that can be deleted and created.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// The facts of the process that documents show.
pub(crate) struct ProcessFacts<'p> {
    /// The response at `/version`.
    pub(crate) version: &'p Value,
    /// `true` after the first state is published.
    pub(crate) is_ready: bool,
}

/// Responds to a request for a document.
pub(crate) fn respond(
    head: &Parts,
    route: &Route,
    facts: &ProcessFacts<'_>,
) -> Result<Response, Status> {
    if let Route::Probe(probe, check) = route {
        return Ok(probe_response(
            probe,
            check.as_deref(),
            head.uri.query(),
            facts.is_ready,
        ));
    }
    if let Some(response) = openapi_response(head, route)? {
        return Ok(response);
    }
    let document = match route {
        Route::Groups if negotiation::prefers_aggregated_discovery(&head.headers)? => {
            return Ok(aggregated(head));
        }
        Route::Groups => {
            json!({ "kind": "APIGroupList", "groups": groups().map(group).collect::<Vec<_>>() })
        }
        Route::Group(name) => match groups().find(|known| known.group == name) {
            Some(known) => {
                let mut group = group(known);
                group["kind"] = json!("APIGroup");
                group["apiVersion"] = json!("v1");
                group
            }
            None => return Ok(paths(StatusCode::NOT_FOUND)),
        },
        Route::GroupVersion(group, version) => {
            resources(group, version).ok_or_else(Status::no_resource)?
        }
        Route::Version => facts.version.clone(),
        Route::Root => return Ok(paths(StatusCode::OK)),
        _ => return Ok(paths(StatusCode::NOT_FOUND)),
    };
    if head.method != Method::GET {
        return Err(Status::method_not_allowed());
    }
    let accepted = negotiation::negotiate(&head.headers, NegotiationTarget::Document)?;
    let json = document.to_string().into_bytes();
    Ok(response::whole(json, accepted.serialization))
}

/// Returns the index of `OpenAPI` documents, or one of them; `None` for other routes.
fn openapi_response(head: &Parts, route: &Route) -> Result<Option<Response>, Status> {
    let (text, etag, hash) = match route {
        Route::OpenapiIndex => {
            let text = openapi::index().to_string();
            let etag = openapi::hash(&text);
            (text, etag, None)
        }
        Route::Openapi(path) => match openapi::document(path) {
            Some(document) => (
                document.text.clone(),
                document.hash.clone(),
                Some((path, &document.hash)),
            ),
            None => return Ok(Some(paths(StatusCode::NOT_FOUND))),
        },
        _ => return Ok(None),
    };
    negotiation::negotiate(&head.headers, NegotiationTarget::Document)?;
    let requested_hash = form_urlencoded::parse(head.uri.query().unwrap_or_default().as_bytes())
        .find(|(key, _)| key == "hash");
    let mut response = tagged(head, text, &etag);
    // A URL with a hash names one document for good. As upstream does, a former hash is redirected.
    if let Some(((_, requested), (path, hash))) = requested_hash.zip(hash) {
        if requested != hash.as_str() {
            let location = format!("/openapi/v3/{path}?hash={hash}");
            let mut moved = response::typed("", "application/json");
            *moved.status_mut() = StatusCode::MOVED_PERMANENTLY;
            if let Ok(location) = HeaderValue::from_str(&location) {
                moved
                    .headers_mut()
                    .insert(axum::http::header::LOCATION, location);
            }
            return Ok(Some(moved));
        }
        let forever = HeaderValue::from_static("public, immutable, max-age=31536000");
        response.headers_mut().insert(CACHE_CONTROL, forever);
    }
    Ok(Some(response))
}

/// Returns a JSON document with its entity tag, or 304 if the client has it.
fn tagged(head: &Parts, text: String, hash: &str) -> Response {
    let etag = format!("\"{hash}\"");
    let is_known = if_none_match_contains(&head.headers, &etag) == Some(true);
    let mut response = response::typed(
        if is_known { String::new() } else { text },
        "application/json",
    );
    if is_known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    response
}

fn group(group_version: GroupVersion) -> Value {
    let GroupVersion {
        group: name,
        version,
    } = group_version;
    let version = json!({ "groupVersion": format!("{name}/{version}"), "version": version });
    json!({ "name": name, "versions": [version], "preferredVersion": version })
}

/// Returns the `APIResourceList` of a version of a group.
fn resources(group: &str, version: &str) -> Option<Value> {
    let group_version = groups().find(|known| known.group == group && known.version == version)?;
    let mut resources = Vec::new();
    for kind in group_version.kinds() {
        let resource = |name: String, singular: &str, verbs: &[&str]| {
            json!({
                "name": name, "singularName": singular, "namespaced": kind.is_namespaced(), "kind": kind.name(),
                "verbs": verbs,
            })
        };
        resources.push(resource(kind.plural().to_owned(), kind.singular(), &VERBS));
        let parts = kind.subresources().iter();
        resources
            .extend(parts.map(|part| resource(format!("{}/{part}", kind.plural()), "", &["get"])));
    }
    let group_version = format!("{group}/{version}");
    let list = json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources });
    Some(list)
}

/// Returns all groups with their resources in one document.
fn aggregated(head: &Parts) -> Response {
    let items = groups().map(|group_version| {
        let GroupVersion { group, version } = group_version;
        let resources: Vec<_> = group_version.kinds().map(aggregated_resource).collect();
        let version = json!({ "version": version, "resources": resources, "freshness": "Current" });
        json!({ "metadata": { "name": group }, "versions": [version] })
    });
    let items: Vec<_> = items.collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    let text = list.to_string();
    let hash = openapi::hash(&text);
    let mut response = tagged(head, text, &hash);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(AGGREGATED));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    // The same path has the older form of discovery, for clients that accept no other.
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    response
}

fn aggregated_resource(kind: ResourceKind) -> Value {
    let response_kind = json!({ "group": "", "version": "", "kind": kind.name() });
    let parts = kind.subresources().iter();
    let parts = parts.map(
        |part| json!({ "subresource": part, "responseKind": response_kind, "verbs": ["get"] }),
    );
    let parts: Vec<_> = parts.collect();
    let scope = if kind.is_namespaced() {
        "Namespaced"
    } else {
        "Cluster"
    };
    let mut resource = json!({
        "resource": kind.plural(), "responseKind": response_kind, "scope": scope, "singularResource": kind.singular(),
        "verbs": VERBS,
    });
    if !parts.is_empty() {
        resource["subresources"] = json!(parts);
    }
    resource
}

/// Responds with the list of paths.
fn paths(status: StatusCode) -> Response {
    let mut paths = vec!["/apis".to_owned()];
    for GroupVersion { group, version } in groups() {
        paths.extend([format!("/apis/{group}"), format!("/apis/{group}/{version}")]);
    }
    paths.extend(["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"].map(str::to_owned));
    paths.sort();
    let mut response = response::typed(json!({ "paths": paths }).to_string(), "application/json");
    *response.status_mut() = status;
    response
}

/// Responds to a probe. The process is live if it answers, and ready when the first state is
/// published.
fn probe_response(
    probe: &str,
    check: Option<&str>,
    query: Option<&str>,
    has_state: bool,
) -> Response {
    let is_ready = has_state || probe != "readyz";
    match check {
        Some("ping") => return response::text(StatusCode::OK, "ok"),
        Some(_) => return paths(StatusCode::NOT_FOUND),
        None => {}
    }
    // kube-apiserver sends requests to a replica that is ready: before the first state, it would only
    // get errors.
    let status = if is_ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    let is_verbose = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .any(|(key, _)| key == "verbose");
    let text = match (is_verbose, is_ready) {
        (false, true) => "ok".to_owned(),
        (false, false) => "loading".to_owned(),
        (true, true) => format!("[+]ping ok\n{probe} check passed\n"),
        (true, false) => format!("[+]ping ok\n[-]catalogs failed: loading\n{probe} check failed\n"),
    };
    response::text(status, text)
}
