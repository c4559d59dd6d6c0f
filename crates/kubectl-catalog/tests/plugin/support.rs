//! A server whose catalogs and failures a test decides, and the plugin as a child process.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderValue, Response};
use axum::middleware::{Next, from_fn_with_state};
use graphql::Engine;
use graphql::limits::Limits;
use graphql_http::{GraphqlHttp, GraphqlHttpSettings};
use images::{Registries, RegistrySettings};
use loading::{Source, SourceSpec, load_once};
use serde_json::{Value, json};
use serving::{
    CatalogMetadata, CatalogsWriter, Content, LoadFailure, LoadStatus, Served, catalogs,
};
use testing::{ControlPlane, Folders, eventually};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The catalog that the documentation shows.
pub(crate) const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/catalog");

/// What the next requests get instead of an answer, the first one first.
type Refusals = Arc<Mutex<Vec<Response<Body>>>>;

/// A server that ends with its test.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) folders: Folders,
    writer: Mutex<CatalogsWriter>,
    engine: Arc<Engine>,
    runtime: Option<Runtime>,
    seen: Seen,
    tls: Option<TlsAcceptor>,
}

/// A listener whose connections begin with a handshake.
struct TlsListener {
    listener: TcpListener,
    tls: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((connection, peer)) = self.listener.accept().await else {
                continue;
            };
            // A client that does not trust it ends the handshake.
            if let Ok(stream) = self.tls.accept(connection).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// The credentials of a request, and the status of its response.
type Exchange = (Option<HeaderValue>, u16);

/// What was asked and answered.
#[derive(Clone, Default)]
struct Seen {
    refusals: Refusals,
    /// Names of fields that the server does not know.
    lacking: Arc<Mutex<Vec<String>>>,
    log: Arc<Mutex<Vec<Exchange>>>,
}

/// How the plugin ended, and what it printed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Output {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Server {
    /// Serves no catalogs.
    pub(crate) fn start() -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], testing::fixed_port())))
    }

    /// As [`Self::start`], at this address.
    pub(crate) fn start_at(address: SocketAddr) -> Self {
        Self::start_with(address, None)
    }

    /// As [`Self::start_at`], with TLS if there is an acceptor.
    pub(crate) fn start_with(address: SocketAddr, tls: Option<TlsAcceptor>) -> Self {
        let (writer, readers) = catalogs();
        Self::start_engine(
            address,
            tls,
            Engine::new(readers, "test", Limits::default()),
            writer,
        )
    }

    /// Answers by this engine, whose catalogs nobody changes.
    pub(crate) fn start_of(engine: Engine) -> Self {
        let address = SocketAddr::from(([127, 0, 0, 1], testing::fixed_port()));
        Self::start_engine(address, None, engine, catalogs().0)
    }

    fn start_engine(
        address: SocketAddr,
        tls: Option<TlsAcceptor>,
        engine: Engine,
        writer: CatalogsWriter,
    ) -> Self {
        let engine = Arc::new(engine);
        let writer = Mutex::new(writer);
        let folders = Folders::new();
        let mut server = Self {
            address,
            folders,
            writer,
            engine,
            runtime: None,
            seen: Seen::default(),
            tls,
        };
        server.listen();
        server
    }

    /// Listens again at its address.
    pub(crate) fn listen(&mut self) {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        let runtime = runtime.expect("a runtime starts");
        let routes =
            GraphqlHttp::new(Arc::clone(&self.engine), GraphqlHttpSettings::default()).router();
        let routes = routes.layer(from_fn_with_state(self.seen.clone(), observe));
        let listener = std::net::TcpListener::bind(self.address).expect("the port is free");
        listener.set_nonblocking(true).expect("it is a socket");
        let tls = self.tls.clone();
        runtime.spawn(async move {
            let listener = TcpListener::from_std(listener).expect("it is a socket");
            match tls {
                Some(tls) => axum::serve(TlsListener { listener, tls }, routes).await,
                None => axum::serve(listener, routes).await,
            }
        });
        self.runtime = Some(runtime);
    }

    /// Ends all connections, and refuses new ones.
    pub(crate) fn stop(&mut self) {
        let runtime = self.runtime.take().expect("it listens");
        // Returns when the socket is closed; on a thread of its own, because the test may be in a
        // runtime.
        let end = || runtime.shutdown_timeout(testing::TEST_TIMEOUT);
        std::thread::scope(|scope| scope.spawn(end).join().expect("it ends"));
    }

    /// Serves a directory as the catalog of this name.
    pub(crate) fn serve(&self, name: &str, folder: &Path, metadata: CatalogMetadata) {
        let registries = Registries::new(RegistrySettings::default()).expect("nothing is set");
        let spec = SourceSpec::once(Source::Directory(folder.to_owned()), registries);
        let store = self.folders.path("store");
        std::fs::create_dir_all(&store).expect("folders can be made");
        // On a thread of its own, because the test may be in a runtime.
        let load = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime starts");
            runtime
                .block_on(load_once(&spec, &store, |_, _, _| ()))
                .expect("it is a catalog")
        };
        let content = std::thread::scope(|scope| scope.spawn(load).join().expect("it loads"));
        let content = Content::new(content.catalog, content.digest);
        // As the loader does: without, nobody remembers the content once another is served.
        content.catalog.prepare();
        self.writer
            .lock()
            .expect("no test panics with it")
            .publish(Served::new(name, content, metadata));
    }

    /// Serves a fixture as the catalog of this name.
    pub(crate) fn serve_fixture(&self, name: &str, fixture: &str, priority: i32) {
        self.folders.catalog(name, fixture);
        self.serve(
            name,
            &self.folders.path(name),
            CatalogMetadata {
                priority,
                ..CatalogMetadata::default()
            },
        );
    }

    /// Reports that a catalog could not be loaded.
    pub(crate) fn fail_to_load(&self, name: &str, failure: LoadFailure) {
        let status = LoadStatus {
            last_failure: Some(failure),
            ..LoadStatus::default()
        };
        let writer = self.writer.lock().expect("no test panics with it");
        writer.statuses().set(name, status);
    }

    /// Serves a catalog no longer.
    pub(crate) fn withdraw(&self, name: &str) {
        self.writer
            .lock()
            .expect("no test panics with it")
            .withdraw(name);
    }

    /// Answers the next request with this instead.
    pub(crate) fn refuse_next(&self, status: u16, headers: &[(&str, &str)], body: &str) {
        let builder = headers.iter().fold(
            Response::builder().status(status),
            |builder, (name, value)| builder.header(*name, *value),
        );
        let response = builder
            .body(Body::from(body.to_owned()))
            .expect("it is a response");
        self.seen
            .refusals
            .lock()
            .expect("no test panics with it")
            .push(response);
    }

    /// Answers from now on as a server does whose schema has no fields of these names.
    pub(crate) fn lack(&self, fields: &[&str]) {
        *self.seen.lacking.lock().expect("no test panics with it") =
            fields.iter().map(ToString::to_string).collect();
    }

    /// The statuses of all requests so far.
    pub(crate) fn statuses(&self) -> Vec<u16> {
        self.seen
            .log
            .lock()
            .expect("no test panics with it")
            .iter()
            .map(|(_, status)| *status)
            .collect()
    }

    /// What the last request had in its header `Authorization`.
    pub(crate) fn last_credentials(&self) -> Option<HeaderValue> {
        self.seen
            .log
            .lock()
            .expect("no test panics with it")
            .last()
            .and_then(|(credentials, _)| credentials.clone())
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The plugin, as one that asks this server and has a cache of this test.
    pub(crate) fn plugin(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-catalog"));
        command
            .args(arguments)
            .env("CATALOGQL_SERVER", self.url())
            .env("XDG_CACHE_HOME", self.folders.path("cache"));
        command
            .env_remove("CATALOGQL_TOKEN")
            .env_remove("KUBECONFIG")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    /// Runs the plugin to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let output = self
            .plugin(arguments)
            .output()
            .expect("the plugin can be started");
        let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
        Output {
            status: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Runs the plugin and asserts how it ends.
    #[track_caller]
    pub(crate) fn ends(&self, arguments: &[&str], status: i32, stdout: &str, stderr: &str) {
        let expected = Output {
            status: Some(status),
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        };
        assert_eq!(self.run(arguments), expected, "{arguments:?}");
    }
}

/// A server with the example.
pub(crate) fn example() -> Server {
    let server = Server::start();
    server.serve("example", Path::new(EXAMPLE), CatalogMetadata::default());
    server
}

async fn observe(State(seen): State<Seen>, request: Request, next: Next) -> Response<Body> {
    let credentials = request.headers().get(AUTHORIZATION).cloned();
    let refusal = {
        let mut refusals = seen.refusals.lock().expect("no test panics with it");
        if refusals.is_empty() {
            None
        } else {
            Some(refusals.remove(0))
        }
    };
    let response = match refusal {
        Some(refusal) => refusal,
        None => next.run(seen.without_lacking(request)).await,
    };
    seen.log
        .lock()
        .expect("no test panics with it")
        .push((credentials, response.status().as_u16()));
    response
}

/// Waits until a cluster serves the kinds of all its definitions.
pub(crate) fn wait_for_definitions(plane: &ControlPlane) {
    let wait = [
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd",
        "--all",
    ];
    // A definition that is new has no conditions yet.
    eventually(|| plane.try_kubectl(&wait, "").success.then_some(()));
}

/// Returns the definition of a kind whose objects may have any fields.
pub(crate) fn custom_resource(api_version: &str, kind: &str, scope: &str) -> Value {
    let (group, version) = api_version.split_once('/').expect("it has a group");
    let plural = kind.to_lowercase() + "s";
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "annotations": { "api-approved.kubernetes.io": "unapproved, for a test" },
        },
        "spec": {
            "group": group, "scope": scope,
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase() },
            "versions": [{
                "name": version, "served": true, "storage": true, "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}

/// Copies a file or a folder of files.
pub(crate) fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        fs::create_dir_all(to.parent().expect("a file is in a folder"))
            .expect("folders can be made");
        fs::copy(from, to).expect("files can be copied");
        return;
    }
    for entry in fs::read_dir(from).expect("it is a folder") {
        let path = entry.expect("it can be read").path();
        copy(&path, &to.join(path.file_name().expect("it has a name")));
    }
}

impl Seen {
    /// The request, with another name of the same length for each field that the server lacks,
    /// which it does not know.
    fn without_lacking(&self, mut request: Request) -> Request {
        let Some(query) = request.uri().query() else {
            return request;
        };
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut text = query.to_owned();
        for field in self.lacking.lock().expect("no test panics with it").iter() {
            let places: Vec<_> = text
                .match_indices(field.as_str())
                .map(|(at, _)| at)
                .collect();
            for at in places {
                let before = &text[..at];
                let after = &text[at + field.len()..];
                if !before.ends_with(is_letter) && !after.starts_with(is_letter) {
                    text = format!("{before}{}{after}", "x".repeat(field.len()));
                }
            }
        }
        *request.uri_mut() = format!("{}?{text}", request.uri().path())
            .parse()
            .expect("it is a URI");
        request
    }
}

/// `docs/how-to/use-a-client.md`: programs in several languages that print the same.
pub(crate) struct ProgramPage(String);

impl ProgramPage {
    pub(crate) fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/use-a-client.md");
        Self(fs::read_to_string(path).expect("the page can be read"))
    }

    /// The program of a language whose first line names its file, for a server.
    pub(crate) fn program(&self, language: &str, file: &str, server: &Server) -> String {
        let start = format!("```{language}\n{file}\n");
        let (_, program) = self.0.split_once(&start).expect("the page has the program");
        let (program, _) = program.split_once("```").expect("the program ends");
        assert!(program.contains("http://127.0.0.1:8080"), "{program}");
        program.replace("http://127.0.0.1:8080", &server.url())
    }

    /// The blocks of commands of a section.
    pub(crate) fn commands(&self, section: &str) -> Vec<&str> {
        let heading = format!("\n## {section}\n");
        let (_, section) = self.0.split_once(&heading).expect("it has the section");
        let section = section.split("\n## ").next().unwrap_or_default();
        let blocks = section.split("```sh\n").skip(1);
        blocks
            .map(|block| block.split("```").next().unwrap_or_default())
            .collect()
    }

    /// What each program prints.
    pub(crate) fn output(&self) -> &str {
        let (_, output) = self.0.split_once("```text\n").expect("it shows the output");
        output.split("```").next().unwrap_or_default()
    }
}
