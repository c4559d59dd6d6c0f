//! Every request that was recorded, with the answers that are other than upstream's on purpose.

use std::sync::Arc;

use axum::http::request::Parts;
use kube_api::{Attributes, Authorize, Decision};
use serde_json::{Value, json};

use super::manifests::{hex, upstreams};
use super::{Answer, Api, golden, lines, runtime, source};

/// Header by which the test says which client certificate a request has.
const CERTIFICATE: &str = "x-test-certificate";

/// The user of a request and its groups, by what the stand-in for an API server knew.
fn user(head: &Parts, authority: &Value) -> Result<(String, Vec<String>), Decision> {
    let header = |name: &str| {
        head.headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let authenticated = |group: Option<String>| {
        group
            .into_iter()
            .chain(["system:authenticated".to_owned()])
            .collect()
    };
    match header(CERTIFICATE).as_deref() {
        Some("front") => {
            let user = header("x-remote-user")
                .filter(|user| !user.is_empty())
                .ok_or(Decision::Unauthenticated)?;
            return Ok((user, authenticated(header("x-remote-group"))));
        }
        Some("alice") => return Ok(("alice".to_owned(), authenticated(Some("devs".to_owned())))),
        Some(_) => return Err(Decision::Unauthenticated),
        None => {}
    }
    let token = header("authorization").unwrap_or_default();
    match token.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => {
            let user = authority["tokens"]
                .get(token)
                .ok_or(Decision::Unauthenticated)?;
            let groups = user["groups"]
                .as_array()
                .unwrap()
                .iter()
                .map(|group| group.as_str().unwrap().to_owned());
            Ok((
                user["username"].as_str().unwrap().to_owned(),
                groups.collect(),
            ))
        }
        _ => Ok((
            "system:anonymous".to_owned(),
            vec!["system:unauthenticated".to_owned()],
        )),
    }
}

/// Decides as the stand-in for an API server did.
fn authorize() -> Authorize {
    let authority: Value = serde_json::from_slice(&golden("authority.json")).unwrap();
    Arc::new(move |head, attributes| {
        let decision = user(head, &authority).map_or_else(
            |refused| refused,
            |(user, groups)| {
                if groups.iter().any(|group| group == "system:masters")
                    || allows(&authority, &user, &groups, &attributes)
                {
                    return Decision::Allow {
                        reader: None,
                        user: Some(user),
                    };
                }
                Decision::Deny {
                    user,
                    reason: Some("no rule grants it".to_owned()),
                }
            },
        );
        Box::pin(async { decision })
    })
}

fn allows(authority: &Value, user: &str, groups: &[String], attributes: &Attributes) -> bool {
    let has = |list: &Value, wanted: &str| {
        list.as_array()
            .is_some_and(|list| list.iter().any(|text| text == wanted))
    };
    authority["rules"].as_array().unwrap().iter().any(|rule| {
        let subjects = groups
            .iter()
            .map(|group| format!("group:{group}"))
            .chain([format!("user:{user}")]);
        let is_for = subjects
            .into_iter()
            .any(|subject| has(&rule["subjects"], &subject));
        let covers = match &attributes.resource {
            Some(resource) => {
                let part = resource
                    .subresource
                    .as_ref()
                    .map(|part| format!("/{part}"))
                    .unwrap_or_default();
                let namespace = resource.namespace.as_deref().unwrap_or_default();
                let is_there = rule["namespaces"].is_null() || has(&rule["namespaces"], namespace);
                is_there && has(&rule["resources"], &format!("{}{part}", resource.resource))
            }
            None => rule["paths"].as_array().is_some_and(|paths| {
                let matches = |path: &str| match path.strip_suffix('*') {
                    Some(prefix) => attributes.path.starts_with(prefix),
                    None => attributes.path == path,
                };
                paths.iter().any(|path| matches(path.as_str().unwrap()))
            }),
        };
        is_for && covers && has(&rule["verbs"], &attributes.verb)
    })
}

/// Where an answer differs from upstream's, by the name of the recorded request: what ours is, and
/// why.
const DIFFERENCES: [(&str, &str, &str); 48] = [
    (
        "discovery/root",
        r#""/openapi/v3","/readyz""#,
        "our own paths",
    ),
    (
        "discovery/apis",
        r#"{"groups":[{"name":"packages.operators.coreos.com","preferredVersion""#,
        "no address: it is that of the connection",
    ),
    (
        "discovery/legacy-api",
        r#"404 application/json {"paths":"#,
        "our own paths",
    ),
    (
        "discovery/other-group",
        r#"404 application/json {"paths":"#,
        "our own paths",
    ),
    (
        "discovery/unknown-path",
        r#"404 application/json {"paths":"#,
        "our own paths",
    ),
    (
        "discovery/livez-verbose",
        r#""[+]ping ok\nlivez check passed\n""#,
        "our own checks",
    ),
    (
        "discovery/openapi-v3",
        r#""/openapi/v3/apis/packages.operators.coreos.com/v1?hash="#,
        "our own documents; the group has none",
    ),
    (
        "discovery/apis-v2",
        r#""verbs":["get","list","watch"]"#,
        "there is watch",
    ),
    (
        "discovery/apis-v2-nopeer",
        r#""verbs":["get","list","watch"]"#,
        "there is watch",
    ),
    (
        "discovery/group-version-yaml",
        r#""verbs":["get","list","watch"]"#,
        "there is watch",
    ),
    (
        "discovery/apis-v2beta1",
        "406 application/json",
        "the message names no protobuf",
    ),
    (
        "discovery/group-version-protobuf",
        "406 application/json",
        "no protobuf: every client also reads JSON",
    ),
    (
        "discovery/group-version-protobuf-or-json",
        "200 application/json",
        "no protobuf",
    ),
    (
        "discovery/openapi-v2-json",
        "404 application/json",
        "only old clients read it, and the API server takes version 3",
    ),
    (
        "discovery/openapi-v2-protobuf",
        "404 application/json",
        "as for JSON",
    ),
    (
        "discovery/openapi-v2-html",
        "404 application/json",
        "as for JSON",
    ),
    (
        "discovery/openapi-v3-gv-protobuf",
        "406 application/json",
        "no protobuf",
    ),
    (
        "discovery/openapi-v3-other",
        "404 application/json",
        "there is no such document",
    ),
    ("list/limit", r#""remainingItemCount":29"#, "pages"),
    ("list/watch-false", r#""remainingItemCount":30"#, "pages"),
    (
        "list/continue",
        "400 application/json",
        "pages: it is not a token",
    ),
    (
        "list/limit-continue",
        "400 application/json",
        "pages: it is not a token",
    ),
    (
        "list/rv-nonsense",
        "400 application/json",
        "resource versions are honoured",
    ),
    (
        "labels/catalog-not",
        r#""catalog":"second""#,
        "a package cannot say that it is from another catalog",
    ),
    (
        "labels/in",
        r#"["default","label-thief","olm","crafted"]"#,
        "a package cannot say that it is from another catalog",
    ),
    (
        "labels/stolen-catalog",
        r#""items":[]"#,
        "a package cannot say that it is from another catalog",
    ),
    (
        "labels/stolen-namespace",
        r#""items":[]"#,
        "a package cannot say that it is from another catalog",
    ),
    (
        "fields/name-not",
        "200 application/json",
        "all operators work",
    ),
    (
        "fields/name-and-namespace",
        r#""items":[]"#,
        "all terms count",
    ),
    (
        "watch/list-watch",
        r#"200 application/json ["ADDED","#,
        "there is watch",
    ),
    (
        "watch/all",
        r#"200 application/json ["ADDED","#,
        "there is watch",
    ),
    (
        "watch/one",
        r#"200 application/json ["ADDED"]"#,
        "there is watch",
    ),
    (
        "watch/watchlist",
        "422 application/json",
        "clients fall back to a list and a watch",
    ),
    (
        "table/protobuf",
        "406 application/json",
        "the message names no protobuf",
    ),
    (
        "table/v2",
        "406 application/json",
        "the message names no protobuf",
    ),
    (
        "shape/partial-list-on-get",
        "406 application/json",
        "the message names no type of Go",
    ),
    (
        "shape/get-protobuf",
        "406 application/json",
        "the error is JSON",
    ),
    (
        "shape/get-protobuf-or-json",
        "200 application/json",
        "JSON is accepted too",
    ),
    (
        "shape/get-html",
        "406 application/json",
        "the message names no protobuf",
    ),
    (
        "shape/get-app-any",
        "200 application/json",
        "JSON is accepted",
    ),
    (
        "get/duplicate",
        r#""catalogSource":"crafted""#,
        "of several catalogs always the same one",
    ),
    (
        "icon/objects-and-metadata",
        "200 image/svg+xml",
        "our own picture for packages without one",
    ),
    (
        "icon/default-elided",
        "200 image/svg+xml",
        "our own picture for packages without one",
    ),
    (
        "icon/icon-bad-base64",
        r#"200 application/octet-stream "9ac2197d9258257b1ae8463e4214e4cd0a578bc1517f2415928b91be4283fc48""#,
        "the author's media type is not believed",
    ),
    (
        "icon/icon-empty",
        r#"200 application/octet-stream """#,
        "a response has a media type",
    ),
    (
        "icon/if-none-match-rv-missing",
        "404 ",
        "there is no such package",
    ),
    (
        "auth/anonymous-version",
        r#""gitVersion":"v1""#,
        "our own version",
    ),
    (
        "auth/front-proxy-impersonate",
        "200 application/json",
        "the API server has removed such headers; who reads them is authentication's matter",
    ),
];

/// An answer as it is compared: status, media type, and the body as far as upstream promises it.
fn normalized(status: u16, media_type: &str, mut body: Value) -> Value {
    // Upstream's lists have no order.
    for list in ["items", "rows"] {
        if let Some(list) = body.get_mut(list).and_then(Value::as_array_mut) {
            list.sort_by_key(Value::to_string);
        }
    }
    json!({ "status": status, "type": media_type, "body": body })
}

/// Our answer, without what all answers have that upstream's have not.
fn ours(answer: &Answer, is_abridged: bool) -> Value {
    let media_type = answer.header("content-type").unwrap_or_default();
    let body = match media_type.split(';').next().unwrap_or_default() {
        _ if answer.body.is_empty() => json!(""),
        "application/json" if answer.body.starts_with(b"{\"type\"") => json!(watched(answer)),
        "application/json" => json_body(answer.json(), is_abridged),
        "application/yaml" => {
            let value: Value =
                serde_saphyr::from_str(std::str::from_utf8(&answer.body).unwrap()).unwrap();
            json_body(value, is_abridged)
        }
        "text/plain" => json!(String::from_utf8_lossy(&answer.body)),
        _ => json!(hex(&answer.body)),
    };
    normalized(answer.status.as_u16(), media_type, body)
}

/// The types of the events of a watch.
fn watched(answer: &Answer) -> Vec<Value> {
    let lines = answer
        .body
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_slice::<Value>(line).unwrap()["type"].take())
        .collect()
}

fn json_body(mut body: Value, is_abridged: bool) -> Value {
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        let is_object = metadata.contains_key("uid");
        if is_object {
            return upstreams(body);
        }
        metadata.remove("resourceVersion");
    }
    for item in body
        .get_mut("items")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if is_abridged {
            let status = &item["status"];
            *item = json!([
                item["metadata"]["namespace"],
                item["metadata"]["name"],
                status["catalogSourceNamespace"],
                status["catalogSource"]
            ]);
        } else if item["metadata"].get("uid").is_some() {
            *item = upstreams(item.take());
        }
    }
    for row in body
        .get_mut("rows")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if is_abridged {
            *row = row["cells"].take();
        } else if row["object"]["metadata"].get("uid").is_some() {
            row["object"] = upstreams(row["object"].take());
        }
        without_age(row);
    }
    body
}

/// Ages are counted from now, and from the time of the recording; `age` has tests of its own.
fn without_age(row: &mut Value) {
    let cells = if row.is_array() {
        row
    } else {
        &mut row["cells"]
    };
    if let Some(cells) = cells.as_array_mut() {
        cells.pop();
    }
}

fn recorded(answer: &Value) -> Value {
    let header = |name: &str| {
        let headers = answer["headers"].as_array().unwrap();
        headers
            .iter()
            .find(|header| header[0] == name)
            .map(|header| header[1].as_str().unwrap())
            .unwrap_or_default()
    };
    let media_type = header("Content-Type");
    let mut body = match (answer.get("body"), answer.get("text"), answer.get("sha256")) {
        (Some(body), ..) => body.clone(),
        (_, Some(text), _) if media_type == "application/yaml" => {
            serde_saphyr::from_str(text.as_str().unwrap()).unwrap()
        }
        (_, Some(text), _) => text.clone(),
        (.., Some(hash)) => hash.clone(),
        _ => answer.get("bodyIn").cloned().unwrap_or(json!("")),
    };
    for row in body
        .get_mut("rows")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        without_age(row);
    }
    normalized(
        u16::try_from(answer["status"].as_u64().unwrap()).unwrap(),
        media_type,
        body,
    )
}

/// Waits until the manifests of what is served are made, in the background.
async fn become_ready(api: &Api) {
    let is_ready = async || while api.get("/readyz").await.status != 200 {};
    tokio::time::timeout(testing::TEST_TIMEOUT, is_ready())
        .await
        .expect("the first state is made");
}

#[test]
fn every_recorded_request_is_answered_as_upstream_answers_it_but_for_the_named_differences() {
    runtime().block_on(async {
        let served = ["crafted", "second", "team-catalog"].map(|name| source(name).served());
        let api = Api::new(served, Some(authorize()));
        become_ready(&api).await;
        let mut faults = Vec::new();
        let requests = lines("requests.jsonl.gz");
        assert_eq!(requests.len(), 162);
        for request in &requests {
            let answer = answer(&api, request).await;
            let id = request["id"].as_str().unwrap();
            let is_abridged = request["answer"].get("abridged").is_some();
            let ours = ours(&answer, is_abridged);
            let theirs = recorded(&request["answer"]);
            let difference = DIFFERENCES.iter().find(|(name, ..)| *name == id);
            match difference {
                None if ours != theirs => {
                    faults.push(format!(
                        "{id}\n  ours:   {}\n  theirs: {}",
                        short(&ours),
                        short(&theirs)
                    ));
                }
                Some((_, expected, _)) if !short_body(&ours).contains(expected) => {
                    faults.push(format!(
                        "{id}\n  ours:     {}\n  expected: {expected}",
                        short(&ours)
                    ));
                }
                Some(_) if ours == theirs => faults.push(format!("{id} is no difference any more")),
                _ => {}
            }
        }
        assert!(
            faults.is_empty(),
            "{} of {}\n{}",
            faults.len(),
            requests.len(),
            faults.join("\n")
        );
    });
}

async fn answer(api: &Api, request: &Value) -> Answer {
    let mut headers: Vec<(&str, &str)> = Vec::new();
    for (name, value) in request["identity"]
        .as_object()
        .unwrap()
        .iter()
        .chain(request["headers"].as_object().unwrap())
    {
        headers.push((
            if name == "cert" { CERTIFICATE } else { name },
            value.as_str().unwrap(),
        ));
    }
    api.ask(
        request["method"].as_str().unwrap(),
        request["path"].as_str().unwrap(),
        &headers,
    )
    .await
}

fn short(value: &Value) -> String {
    value.to_string().chars().take(700).collect()
}

fn short_body(value: &Value) -> String {
    format!(
        "{} {} {}",
        value["status"],
        value["type"].as_str().unwrap(),
        value["body"]
    )
}

#[test]
fn a_probe_with_invalid_credentials_is_refused_and_any_other_is_answered() {
    runtime().block_on(async {
        let api = Api::new([source("crafted").served()], Some(authorize()));
        become_ready(&api).await;
        for path in ["/healthz", "/livez", "/readyz?verbose"] {
            for (headers, expected) in [
                (&[][..], 200),
                (&[("authorization", "Bearer good-nobody")], 200),
                (&[("authorization", "Bearer unknown")], 401),
                (
                    &[
                        (CERTIFICATE, "frontwrong"),
                        ("x-remote-user", "viewer-user"),
                    ],
                    401,
                ),
                (&[(CERTIFICATE, "front")], 401),
            ] {
                let answer = api.ask("GET", path, headers).await;
                assert_eq!(answer.status.as_u16(), expected, "{path} {headers:?}");
            }
        }
        for decision in [
            Decision::Deny {
                user: "jane".to_owned(),
                reason: None,
            },
            Decision::Unknown("no answer".to_owned()),
        ] {
            let authorize: Authorize = Arc::new(move |_, _| {
                let decision = decision.clone();
                Box::pin(async { decision })
            });
            let api = Api::new([source("crafted").served()], Some(authorize));
            let answer = api.get("/livez").await;
            assert_eq!(
                (answer.status.as_u16(), &answer.body[..]),
                (200, &b"ok"[..]),
                "it depends on nobody's answer"
            );
        }
    });
}
