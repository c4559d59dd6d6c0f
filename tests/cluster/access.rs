//! Who may see which catalogs: callers, catalogs and protocols on a real API server, each cell of
//! the table tried.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testing::{
    HttpResponse, TEST_TIMEOUT, WebSocketClient, WebSocketMessage, digest, eventually, exchange,
    send_request,
};

use crate::support::{Cluster, DEPLOY, Replica, catalog, package};

pub(crate) const AUTH: &str = "--auth=delegated";

/// The catalogs that are served, and one that never is.
pub(crate) const SERVED: [&str; 2] = ["openly", "secret"];
pub(crate) const ABSENT: &str = "absent";

/// What may be late by, on a busy machine.
const SLACK: Duration = Duration::from_secs(10);

/// What is the same for everybody.
const PUBLIC: [&str; 6] = [
    "/",
    "/schema.graphql",
    "/openapi.json",
    "/version",
    "/healthz",
    "/readyz",
];

/// A replica that asks who its callers are, and a token for each kind of caller.
pub(crate) struct Fixture {
    pub(crate) cluster: Cluster,
    pub(crate) replica: Replica,
    pub(crate) callers: Vec<Caller>,
}

/// A user with its token.
pub(crate) struct Caller {
    pub(crate) name: &'static str,
    pub(crate) token: String,
    /// The catalogs that it may see.
    pub(crate) sees: &'static [&'static str],
}

/// The picture of a catalog, which is the icon of its package.
fn picture(name: &str) -> String {
    format!("<svg xmlns=\"http://www.w3.org/2000/svg\"><title>{name}</title></svg>")
}

pub(crate) fn content(name: &str, version: u32) -> String {
    let icon =
        json!({ "base64data": STANDARD.encode(picture(name)), "mediatype": "image/svg+xml" });
    let line = json!({ "schema": "olm.package", "name": format!("{name}-icon"), "defaultChannel": "a", "icon": icon });
    let channel = json!({
        "schema": "olm.channel", "package": format!("{name}-icon"), "name": "a", "entries": [{ "name": "b" }],
    });
    let version = format!("0.0.{version}");
    let property = json!({ "type": "olm.package", "value": { "packageName": format!("{name}-icon"), "version": version } });
    let bundle = json!({
        "schema": "olm.bundle", "package": format!("{name}-icon"), "name": "b", "image": "example.com/b:1",
        "properties": [property],
    });
    format!("{}\n{line}\n{channel}\n{bundle}", package(name))
}

/// A role that lets read the content of these catalogs, or of each, and its binding to a subject.
fn grant(name: &str, catalogs: &[&str], subject: &Value) -> [Value; 2] {
    let mut rule = json!({
        "apiGroups": ["olm.operatorframework.io"], "resources": ["clustercatalogs/content"], "verbs": ["get"],
    });
    if !catalogs.is_empty() {
        rule["resourceNames"] = json!(catalogs);
    }
    let version = "rbac.authorization.k8s.io/v1";
    let group = "rbac.authorization.k8s.io";
    let metadata = json!({ "name": format!("reads-{name}") });
    let reference =
        json!({ "apiGroup": group, "kind": "ClusterRole", "name": format!("reads-{name}") });
    [
        json!({ "apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": [rule] }),
        json!({
            "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": metadata, "roleRef": reference,
            "subjects": [subject],
        }),
    ]
}

fn service_account(name: &str) -> Value {
    json!({ "kind": "ServiceAccount", "name": name, "namespace": "default" })
}

impl Fixture {
    /// `None` as for [`Cluster::start`].
    #[track_caller]
    pub(crate) fn start() -> Option<Self> {
        Self::start_with(content, &[])
    }

    /// Starts it with catalogs that are made of their names and versions, and these arguments
    /// besides.
    #[track_caller]
    pub(crate) fn start_with(
        content: fn(&str, u32) -> String,
        arguments: &[String],
    ) -> Option<Self> {
        let cluster = Cluster::start()?;
        // The roles that are shipped let the controller ask.
        cluster.plane.kubectl(&[
            "apply",
            "--server-side",
            "-f",
            &format!("{DEPLOY}/base/access.yaml"),
        ]);
        for name in SERVED {
            let reference = cluster.push(&format!("ns/{name}"), "v1", &content(name, 1));
            cluster.plane.apply(&[catalog(name, &reference)]);
        }
        let rights: [(_, Option<&[&str]>, &[_]); 5] = [
            ("everything", Some(&[]), &SERVED),
            ("both", Some(&SERVED), &SERVED),
            ("one", Some(&["openly"]), &["openly"]),
            ("none", Some(&[ABSENT]), &[]),
            ("stranger", None, &[]),
        ];
        let mut callers = Vec::new();
        for (name, named, sees) in rights {
            cluster
                .plane
                .kubectl(&["create", "serviceaccount", name, "--namespace=default"]);
            if let Some(named) = named {
                cluster
                    .plane
                    .apply(&grant(name, named, &service_account(name)));
            }
            callers.push(Caller {
                name,
                token: token(&cluster, name, &[]),
                sees,
            });
        }
        let arguments: Vec<_> = [AUTH, "--mcp"]
            .into_iter()
            .chain(arguments.iter().map(String::as_str))
            .collect();
        let replica = Replica::start(&cluster, "one", &arguments).ready();
        let fixture = Self {
            cluster,
            replica,
            callers,
        };
        for name in SERVED {
            fixture.cluster.wait_for(name, "Serving", "Available");
        }
        // The API server learns of roles by a watch.
        for Caller { token, sees, .. } in &fixture.callers {
            eventually(|| (names(&fixture.list(Some(token))) == *sees).then_some(()));
        }
        Some(fixture)
    }

    pub(crate) fn token(&self, caller: &str) -> &str {
        self.callers
            .iter()
            .find(|other| other.name == caller)
            .map(|caller| &*caller.token)
            .expect("it is a caller")
    }

    pub(crate) fn get(&self, token: Option<&str>, path: &str) -> HttpResponse {
        let header = token.map(|token| format!("bearer {token}"));
        let headers: Vec<_> = header
            .iter()
            .map(|value| ("Authorization", value.as_str()))
            .collect();
        send_request(self.replica.address, "GET", path, &headers)
    }

    /// Sends a request of a client that has seen a content of this catalog that nobody serves.
    fn get_since(&self, token: Option<&str>, path: &str, name: &str) -> HttpResponse {
        let authorization = format!("bearer {}", token.unwrap_or_default());
        let seen = format!("{name}=sha256:{:064x}", 255);
        let mut headers = vec![("Catalogql-Minimum-Revision", &*seen)];
        headers.extend(token.map(|_| ("Authorization", &*authorization)));
        send_request(self.replica.address, "GET", path, &headers)
    }

    fn post(&self, token: Option<&str>, query: &str) -> HttpResponse {
        exchange(
            self.replica.address,
            &post(token, query, "application/json", "close"),
            false,
        )
    }

    /// Sends a query to a catalog in catalogd's alpha GraphQL.
    fn alpha(&self, token: Option<&str>, name: &str, query: &str) -> HttpResponse {
        let request = String::from_utf8(post(token, query, "*/*", "close")).expect("it is text");
        let path = format!("POST /catalogs/{name}/api/v1/graphql ");
        exchange(
            self.replica.address,
            request.replacen("POST /graphql ", &path, 1).as_bytes(),
            false,
        )
    }

    /// Calls the tool for assistants that lists catalogs.
    fn tool(&self, token: Option<&str>) -> HttpResponse {
        let request = post(token, "", "application/json, text/event-stream", "close");
        let request = String::from_utf8(request).expect("it is text");
        let (head, body) = request.split_once("\r\n\r\n").expect("it has a body");
        let call = json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "list_catalogs" },
        });
        let call = call.to_string();
        let lengths = [body, &call].map(|body| format!("content-length: {}", body.len()));
        let head = head
            .replacen("POST /graphql ", "POST /mcp ", 1)
            .replace(&lengths[0], &lengths[1]);
        let request = format!("{head}\r\n\r\n{call}");
        exchange(self.replica.address, request.as_bytes(), false)
    }

    fn list(&self, token: Option<&str>) -> HttpResponse {
        self.post(token, "{ catalogs { name } }")
    }

    /// Opens a WebSocket as pages do, which cannot send a token with the handshake.
    fn handshake(&self) -> WebSocketClient {
        WebSocketClient::open(self.replica.address, "Host: localhost\r\n").expect("it opens")
    }

    /// Opens a WebSocket and says who asks, or returns the code that it is closed with.
    fn socket(&self, token: Option<&str>) -> Result<WebSocketClient, u16> {
        init(self.handshake(), token)
    }

    /// The response to a query over a WebSocket.
    fn asks_by_socket(&self, token: Option<&str>, query: &str) -> Result<String, u16> {
        let mut client = self.socket(token)?;
        client.subscribe("1", query);
        Ok(client.text())
    }

    /// Whether a caller sees a catalog, by each protocol that tells of one.
    fn sees(&self, token: Option<&str>, name: &str) -> Vec<(&'static str, bool)> {
        let query = format!("query={{catalog(name:\"{name}\"){{name}}}}").replace('"', "%22");
        let query = query.replace('{', "%7B").replace('}', "%7D");
        let of_url = || {
            has(
                &self.get(token, &format!("/graphql?{query}")),
                &format!("\"{name}\""),
            )
        };
        let of_post = |query: &str| has(&self.post(token, query), name);
        let of_path = |path: &str| has(&self.get(token, &format!("/catalogs/{name}/{path}")), name);
        let icon = digest(picture(name).as_bytes()).replace("sha256:", "/icons/");
        vec![
            ("GET", of_url()),
            // Cached from the second request on, and by its URL.
            ("GET again", of_url() && of_url()),
            ("catalogs", of_post("{ catalogs { name } }")),
            ("packages", of_post("{ packages { nodes { name } } }")),
            (
                "search",
                of_post("{ packages(filter: { search: \"icon\" }) { nodes { name } } }"),
            ),
            (
                "facets",
                of_post("{ packages { facets { catalogs { value } } } }"),
            ),
            ("statuses", of_post("{ catalogStatuses { name } }")),
            (
                "resolve",
                has(
                    &self.post(token, &resolve(name, "")),
                    &format!("{name}.v1.0.0"),
                ),
            ),
            (
                "socket",
                self.asks_by_socket(token, "{ catalogs { name } }")
                    .is_ok_and(|answer| answer.contains(name)),
            ),
            ("all", of_path("api/v1/all")),
            ("all.json", of_path("all.json")),
            ("metas", of_path("api/v1/metas?schema=olm.package")),
            (
                "alpha GraphQL",
                has(&self.alpha(token, name, "{ olmpackages { name } }"), name),
            ),
            ("tool", has(&self.tool(token), name)),
            ("icon", has(&self.get(token, &icon), name)),
        ]
    }
}

/// Says who asks on a new WebSocket, or returns the code that it is closed with.
fn init(mut client: WebSocketClient, token: Option<&str>) -> Result<WebSocketClient, u16> {
    let payload = token.map_or_else(
        || json!({}),
        |token| json!({ "Authorization": format!("Bearer {token}") }),
    );
    client.send(&json!({ "type": "connection_init", "payload": payload }).to_string());
    match client.receive() {
        WebSocketMessage::Text(text) => {
            assert_eq!(text, r#"{"type":"connection_ack"}"#);
            Ok(client)
        }
        WebSocketMessage::Close(code) => Err(code),
    }
}

/// A token of a service account, which may be bound to an object.
pub(crate) fn token(cluster: &Cluster, name: &str, more: &[&str]) -> String {
    let arguments = [&["create", "token", name, "--namespace=default"], more].concat();
    cluster.plane.kubectl(&arguments).trim().to_owned()
}

/// The request with this query.
fn post(token: Option<&str>, query: &str, accept: &str, connection: &str) -> Vec<u8> {
    let body = json!({ "query": query }).to_string();
    let authorization = token
        .map(|token| format!("authorization: Bearer {token}\r\n"))
        .unwrap_or_default();
    let head = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\nconnection: {connection}\r\naccept: {accept}\r\n\
         content-type: application/json\r\n{authorization}content-length: {}\r\n\r\n",
        body.len()
    );
    (head + &body).into_bytes()
}

fn text(response: &HttpResponse) -> String {
    String::from_utf8_lossy(&response.body).into_owned()
}

fn has(response: &HttpResponse, name: &str) -> bool {
    response.status == 200 && text(response).contains(name)
}

/// The names in the answer to a query for catalogs.
fn names(response: &HttpResponse) -> Vec<String> {
    let answer: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let catalogs = answer["data"]["catalogs"].as_array().into_iter().flatten();
    catalogs
        .map(|catalog| catalog["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// A query that resolves a package, with more conditions.
fn resolve(package: &str, more: &str) -> String {
    let request = format!("{{ packageName: \"{package}\"{more} }}");
    let found = "... on Resolution { bundle { name } }";
    let failed = "... on ResolutionFailure { message }";
    format!("{{ resolve(request: {request}) {{ {found} {failed} }} }}")
}

/// An event stream on a connection of its own.
struct Events {
    stream: TcpStream,
    read: String,
}

impl Events {
    /// Returns once the server listens too.
    fn start(address: SocketAddr, token: &str) -> Self {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream
            .set_read_timeout(Some(TEST_TIMEOUT))
            .expect("a time-out can be set");
        let query = "subscription { catalogChanged { name change } }";
        stream
            .write_all(&post(Some(token), query, "text/event-stream", "keep-alive"))
            .expect("it reads");
        let mut events = Self {
            stream,
            read: String::new(),
        };
        events.until(":\n\n");
        events
    }

    /// Reads until this was said, and returns all that was.
    fn until(&mut self, text: &str) -> &str {
        self.until_often(text, 1)
    }

    /// Reads until this was said so often.
    fn until_often(&mut self, text: &str, times: usize) -> &str {
        let mut buffer = [0; 4096];
        while self.read.matches(text).count() < times {
            let length = self.stream.read(&mut buffer).expect("it goes on");
            assert!(length > 0, "the stream ended after {}", self.read);
            self.read
                .push_str(std::str::from_utf8(&buffer[..length]).expect("it is UTF-8"));
        }
        &self.read
    }
}

#[test]
fn each_caller_sees_its_catalogs_by_each_protocol_and_no_other() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    for Caller {
        name: caller,
        token,
        sees,
    } in &fixture.callers
    {
        for name in SERVED {
            for (protocol, seen) in fixture.sees(Some(token), name) {
                assert_eq!(seen, sees.contains(&name), "{caller} {name} {protocol}");
            }
        }
    }
    for name in SERVED {
        for (protocol, seen) in fixture
            .sees(None, name)
            .into_iter()
            .chain(fixture.sees(Some("invented"), name))
        {
            assert!(!seen, "{name} {protocol}");
        }
    }
    let sockets = [None, Some("invented")].map(|token| fixture.socket(token).err());
    assert_eq!(sockets, [Some(4401), Some(4403)]);
    let changes = "subscription { catalogChanged { name } }";
    let mut sockets = ["both", "one"].map(|caller| {
        let mut socket = fixture
            .socket(Some(fixture.token(caller)))
            .expect("it has a token");
        socket.subscribe("1", changes);
        // The reply to a later message says that the subscription has begun.
        socket.send(r#"{"type":"ping"}"#);
        assert_eq!(socket.text(), r#"{"type":"pong"}"#);
        socket
    });
    let mut streams: Vec<_> = ["everything", "both", "one"]
        .map(|caller| Events::start(fixture.replica.address, fixture.token(caller)))
        .into();
    let mut blind = Events::start(fixture.replica.address, fixture.token("none"));
    // In this order, so that who was told of the second would have been told of the first.
    for name in ["secret", "openly"] {
        let reference = fixture
            .cluster
            .push(&format!("ns/{name}"), "v2", &content(name, 2));
        fixture.cluster.plane.apply(&[catalog(name, &reference)]);
        streams[0].until(&format!("\"name\":\"{name}\",\"change\":\"CHANGED\""));
    }
    let told = streams
        .iter_mut()
        .map(|stream| stream.until("\"openly\"").contains("\"secret\""));
    assert_eq!(told.collect::<Vec<_>>(), [true, true, false]);
    for (socket, told) in sockets
        .iter_mut()
        .zip([["secret", "openly"].as_slice(), &["openly"]])
    {
        for name in told {
            assert!(
                socket.text().contains(&format!("\"name\":\"{name}\"")),
                "{name}"
            );
        }
    }
    // A comment comes after some seconds in which there was no event.
    let told = blind.until_often(":\n\n", 2);
    assert!(!told.contains("event: next"), "{told}");
    fixture.replica.end();
}

#[test]
fn nothing_tells_a_hidden_catalog_from_one_that_is_not_there() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    let [hidden, absent] = ["secret", ABSENT];
    let same =
        |token: Option<&str>, ask: &dyn Fn(Option<&str>, &str) -> HttpResponse, what: &str| {
            let plain = |name: &str| {
                let mut response = ask(token, name);
                response.headers.retain(|(header, _)| header != "date");
                // What the caller wrote may be repeated. Both names have the same length.
                (
                    response.status,
                    response.headers.clone(),
                    text(&response).replace(name, "NAME"),
                )
            };
            assert_eq!(plain(hidden), plain(absent), "{what}");
        };
    let callers = [
        Some(fixture.token("one")),
        Some(fixture.token("stranger")),
        Some("invented"),
        None,
    ];
    for token in callers {
        for path in [
            "api/v1/all",
            "all.json",
            "api/v1/metas?package=x",
            "api/v1/metas?unknown=x",
            "other",
            "",
        ] {
            same(
                token,
                &|token, name| fixture.get(token, &format!("/catalogs/{name}/{path}")),
                path,
            );
        }
        for path in [
            "/catalogs/NAME/api/v1/all",
            "/graphql?query=%7Bcatalogs%7Bname%7D%7D",
            "/feeds",
        ] {
            same(
                token,
                &|token, name| fixture.get_since(token, &path.replace("NAME", name), name),
                path,
            );
        }
        for query in ["{ olmpackages { name } }", "{ x }", "{", ""] {
            same(
                token,
                &|token, name| fixture.alpha(token, name, query),
                query,
            );
        }
        for query in [
            "{ catalog(name: \"NAME\") { name } }",
            "{ package(catalog: \"NAME\", name: \"x\") { name } }",
            "{ bundle(catalog: \"NAME\", package: \"x\", name: \"x\") { name } }",
            "{ packages(catalogs: [\"NAME\"]) { totalCount } }",
            "{ metas(catalogs: [\"NAME\"]) { totalCount } }",
            "{ diff(from: { name: \"NAME\" }, to: { name: \"openly\" }) { __typename } }",
            &resolve("x", ", catalogs: [\"NAME\"]"),
        ] {
            same(
                token,
                &|token, name| fixture.post(token, &query.replace("NAME", name)),
                query,
            );
            let by_socket = |name: &str| {
                fixture
                    .asks_by_socket(token, &query.replace("NAME", name))
                    .map(|text| text.replace(name, "NAME"))
            };
            assert_eq!(by_socket(hidden), by_socket(absent), "{query}");
        }
    }
    let refused = |token: Option<&str>, path: &str| {
        let response = fixture.get(token, path);
        (
            response.status,
            response.header("www-authenticate"),
            text(&response),
        )
    };
    let path = "/catalogs/secret/api/v1/all";
    let challenge = Some("Bearer".to_owned());
    assert_eq!(
        refused(None, path),
        (401, challenge.clone(), "Unauthorized".to_owned())
    );
    assert_eq!(
        refused(Some("invented"), path),
        (401, challenge.clone(), "Unauthorized".to_owned())
    );
    assert_eq!(refused(None, "/icons/00").0, 401);
    let denied = "Authorization denied for user system:serviceaccount:default:one";
    assert_eq!(
        refused(Some(fixture.token("one")), path),
        (403, None, denied.to_owned())
    );
    let errors = json!({ "errors": [{ "message": "Unauthorized", "extensions": { "code": "UNAUTHENTICATED" } }] });
    assert_eq!(fixture.list(None).status, 401);
    assert_eq!(
        serde_json::from_slice::<Value>(&fixture.list(Some("invented")).body).unwrap(),
        errors
    );
    let token = format!("Bearer {}", fixture.token("everything"));
    let headers = [
        ("Authorization", token.as_str()),
        ("Impersonate-User", "system:admin"),
    ];
    assert_eq!(
        send_request(fixture.replica.address, "GET", path, &headers).status,
        403
    );
}

#[test]
fn responses_to_callers_are_for_them_alone_and_what_is_public_is_for_everybody() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    let caching = |token: Option<&str>, path: &str| {
        let response = fixture.get(token, path);
        assert_eq!(response.status, 200, "{path}: {}", text(&response));
        (
            response.header("cache-control"),
            response
                .header("vary")
                .is_some_and(|vary| vary.contains("authorization")),
        )
    };
    let icon = digest(picture("openly").as_bytes()).replace("sha256:", "/icons/");
    let token = Some(fixture.token("one"));
    for (path, expected) in [
        (
            "/graphql?query=%7Bcatalogs%7Bname%7D%7D",
            "private, no-cache",
        ),
        ("/catalogs/openly/api/v1/all", "private"),
        (&icon, "private, max-age=31536000, immutable"),
    ] {
        assert_eq!(
            caching(token, path),
            (Some(expected.to_owned()), true),
            "{path}"
        );
    }
    for path in PUBLIC {
        let (control, varies) = caching(None, path);
        assert!(
            !varies && control.is_none_or(|control| !control.contains("private")),
            "{path}"
        );
    }
}

#[test]
fn what_is_granted_and_taken_takes_effect_in_the_documented_time() {
    let Some(mut fixture) = Fixture::start() else {
        return;
    };
    let plane = &fixture.cluster.plane;
    // A token that dies with an object is one that can be revoked.
    plane.kubectl(&[
        "create",
        "secret",
        "generic",
        "lives",
        "--namespace=default",
    ]);
    let bound = ["--bound-object-kind=Secret", "--bound-object-name=lives"];
    let revocable = token(&fixture.cluster, "both", &bound);
    let mut stream = Events::start(fixture.replica.address, &revocable);
    let mut socket = fixture.socket(Some(&revocable)).expect("it has a token");
    assert_eq!(names(&fixture.list(Some(&revocable))), SERVED);
    let within = |limit: Duration, what: &str, is_so: &dyn Fn() -> bool| {
        let begun = Instant::now();
        eventually(|| is_so().then_some(()));
        assert!(
            begun.elapsed() < limit + SLACK,
            "{what} after {:?}",
            begun.elapsed()
        );
    };
    plane.kubectl(&["delete", "secret", "lives", "--namespace=default"]);
    within(auth::CACHE_TIME, "revoked", &|| {
        fixture.list(Some(&revocable)).status == 401
    });
    socket.send(r#"{"type":"ping"}"#);
    assert_eq!(socket.receive(), WebSocketMessage::Close(4403));
    let begun = Instant::now();
    plane.apply(&grant("one", &["secret"], &service_account("one")));
    let one = Some(fixture.token("one"));
    within(auth::CACHE_TIME, "role changed", &|| {
        names(&fixture.list(one)) == ["secret"]
    });
    within(auth::CACHE_TIME, "path", &|| {
        fixture.get(one, "/catalogs/openly/api/v1/all").status == 403
    });
    assert_eq!(fixture.get(one, "/catalogs/secret/api/v1/all").status, 200);
    plane.kubectl(&["delete", "clusterrolebinding", "reads-one"]);
    within(auth::CACHE_TIME, "right taken", &|| {
        names(&fixture.list(one)).is_empty()
    });
    let everybody = json!({ "kind": "Group", "name": "system:unauthenticated", "apiGroup": "rbac.authorization.k8s.io" });
    plane.apply(&grant("anonymous", &["openly"], &everybody));
    within(auth::CACHE_TIME, "anonymous", &|| {
        names(&fixture.list(None)) == ["openly"]
    });
    assert_eq!(fixture.get(None, "/catalogs/secret/api/v1/all").status, 401);
    // A catalog that is new is seen at once by who may see each, and in time by who may see it by
    // its name.
    plane.apply(&grant("none", &[ABSENT], &service_account("none")));
    let reference = fixture.cluster.push("ns/absent", "v1", &content(ABSENT, 1));
    plane.apply(&[catalog(ABSENT, &reference)]);
    fixture.cluster.wait_for(ABSENT, "Serving", "Available");
    within(auth::CACHE_TIME, "new", &|| {
        names(&fixture.list(Some(fixture.token("none")))) == [ABSENT]
    });
    assert_eq!(names(&fixture.list(Some(fixture.token("both")))), SERVED);
    let told = stream.until("event: complete");
    assert!(
        told.contains("\"code\":\"FORBIDDEN\"") && !told.contains(ABSENT),
        "{told}"
    );
    let renewal = graphql::StreamLimits::default().renewal;
    assert!(
        begun.elapsed() < renewal + auth::CACHE_TIME + SLACK,
        "{:?}",
        begun.elapsed()
    );
    // What was asked lately is known for a few seconds; what was not is not let in.
    let new = token(&fixture.cluster, "everything", &[]);
    let opened = fixture.handshake();
    let known = fixture.token("everything").to_owned();
    let mut socket = fixture.socket(Some(&known)).expect("it has a token");
    fixture.cluster.plane.stop_api_server();
    for response in [
        fixture.list(Some(&new)),
        fixture.get(Some(&new), "/catalogs/openly/api/v1/all"),
    ] {
        assert_eq!(
            (response.status, response.header("retry-after").as_deref()),
            (503, Some("1"))
        );
    }
    assert_eq!(init(opened, Some(&new)).err(), Some(1013));
    within(auth::CACHE_TIME, "without an API server", &|| {
        fixture.list(Some(&known)).status == 503
    });
    socket.send(r#"{"type":"ping"}"#);
    assert_eq!(socket.receive(), WebSocketMessage::Close(1013));
    assert_eq!(PUBLIC.map(|path| fixture.get(None, path).status), [200; 6]);
    for path in PUBLIC {
        assert_eq!(fixture.get(None, path).status, 200, "{path}");
    }
    for Caller { token, .. } in &fixture.callers {
        within(auth::CACHE_TIME, "nothing is known any more", &|| {
            fixture.list(Some(token)).status == 503
        });
        assert_eq!(
            fixture
                .get(Some(token), "/catalogs/openly/api/v1/all")
                .status,
            503
        );
    }
    fixture.cluster.plane.start_api_server();
    eventually(|| (names(&fixture.list(Some(&new))).len() == 3).then_some(()));
}

#[test]
fn tokens_are_for_the_audience_that_is_named() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    cluster.plane.kubectl(&[
        "apply",
        "--server-side",
        "-f",
        &format!("{DEPLOY}/base/access.yaml"),
    ]);
    cluster
        .plane
        .kubectl(&["create", "serviceaccount", "reader", "--namespace=default"]);
    cluster
        .plane
        .apply(&grant("reader", &[], &service_account("reader")));
    let replica = Replica::start(&cluster, "one", &[AUTH, "--token-audience=catalogql"]).ready();
    let status = |more: &[&str]| {
        let request = post(
            Some(&token(&cluster, "reader", more)),
            "{ __typename }",
            "application/json",
            "close",
        );
        exchange(replica.address, &request, false).status
    };
    eventually(|| (status(&["--audience=catalogql"]) == 200).then_some(()));
    assert_eq!([status(&[]), status(&["--audience=other"])], [401, 401]);
}
