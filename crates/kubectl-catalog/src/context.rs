//! Commands over a server: the route to it, its client, and the selected catalogs.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use catalogql_client::{Builder, Client, ClientCache, ClientError, ClusterOptions, ClusterRoute};
use commands::args::parse_installed;
use commands::documents::SERVED;
use commands::output::hint;
use commands::similar::{question, similar_names};
use commands::{
    ChosenPackage, CommandError, CommandSession, ExitStatus, GraphqlTransport, HelpCommands,
    ListRequest,
};
use console::Term;
use printing::text;
use serde_json::{Value, json};

use crate::args::{CommonArgs, SERVER_VARIABLE, Via};
use crate::documents::{BUNDLE_NAMES, CATALOG_IMAGES};
use crate::error::{api_server_error, server_error};
use crate::selector::LabelSelector;

/// Number of items that are printed on a terminal, unless `--limit` says otherwise.
const TERMINAL_LIMIT: usize = 50;

/// Beginning of a certificate in PEM.
const CERTIFICATE_HEADER: &[u8] = b"-----BEGIN CERTIFICATE-----";

/// Commands that hints name.
const HELP: HelpCommands = HelpCommands {
    list_catalogs: "kubectl catalog get catalogs -o wide",
    list_bundles: "kubectl catalog versions PACKAGE",
};

/// Variables of the environment that name the folder of caches, and where it is below each.
const CACHE_FOLDERS: [(&str, &str); 3] = [
    ("XDG_CACHE_HOME", "catalogql/client"),
    ("HOME", ".cache/catalogql/client"),
    ("LOCALAPPDATA", "catalogql/client"),
];

/// Session over a server.
pub(crate) type ServerSession = CommandSession<ServerTransport>;

/// A server over HTTP, directly or through the API server of a cluster.
#[derive(Debug)]
pub(crate) struct ServerTransport {
    pub(crate) client: Client,
}

/// A served catalog with its image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServedCatalog {
    pub(crate) name: String,
    /// Reference of its image by digest; empty for a directory.
    pub(crate) image: String,
    /// Reference of its image with the tag; empty for a directory.
    pub(crate) reference: String,
}

/// Command over a server, with the content that the command line pins.
pub(crate) struct ServerCommand {
    pub(crate) session: ServerSession,
    digest: Option<String>,
    is_offline: bool,
}

impl GraphqlTransport for ServerTransport {
    async fn execute(&self, document: &str, variables: &Value) -> Result<Value, CommandError> {
        let response = self.client.execute(document, variables).await;
        Ok(response.map_err(server_error)?.data)
    }

    async fn list(&self, request: ListRequest) -> Result<Vec<Value>, CommandError> {
        let walk = self
            .client
            .walk(request.document, request.variables, request.connection)
            .limit(request.limit);
        walk.all().await.map_err(server_error)
    }

    async fn served(&self, document: &'static str) -> Result<Option<Value>, CommandError> {
        match self.client.execute(document, &Value::Null).await {
            // Offline, the served catalogs may be unknown.
            Err(ClientError::NotCached) => Ok(None),
            response => Ok(Some(response.map_err(server_error)?.data)),
        }
    }
}

/// Route to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerRoute {
    /// By the URL on the command line.
    Direct,
    /// Through the API server's proxy of the Service, which may be one that was found earlier.
    Service,
    /// As [`Self::Service`], of the Service that is there now.
    FoundService,
    /// Through a forwarded port.
    PortForward,
}

impl ServerRoute {
    /// Returns the routes to try, one after the other while none leads to a server.
    pub(crate) fn from_args(args: &CommonArgs) -> &'static [Self] {
        match args.via {
            Via::Auto if args.server.is_some() => &[Self::Direct],
            Via::Direct => &[Self::Direct],
            // The proxy passes no token on.
            Via::Auto if args.token.is_some() => &[Self::PortForward],
            Via::Auto if args.offline => &[Self::Service],
            Via::Auto => &[Self::Service, Self::FoundService, Self::PortForward],
            Via::Service => &[Self::Service, Self::FoundService],
            Via::PortForward => &[Self::PortForward],
        }
    }
}

impl ServerCommand {
    /// Makes a client and selects the catalogs of the command line.
    pub(crate) async fn begin(args: &CommonArgs, route: ServerRoute) -> Result<Self, CommandError> {
        let mut builder = builder(args, route)
            .await?
            .timeout(args.request_timeout)
            .insecure_skip_tls_verify(args.insecure_skip_tls_verify)
            .leave_out_unknown_fields(true)
            .offline(args.offline);
        if let Some(folder) = cache_folder() {
            builder = builder.cache(ClientCache::at(folder));
        }
        if let Some(token) = &args.token {
            builder = builder.bearer_token(token);
        }
        if let Some(path) = &args.certificate_authority {
            let pem = fs::read(path).map_err(|error| {
                CommandError::new(
                    ExitStatus::Usage,
                    format!(
                        "cannot read the certificate authorities in {}: {error}",
                        path.display()
                    ),
                )
            })?;
            if !pem
                .windows(CERTIFICATE_HEADER.len())
                .any(|window| window == CERTIFICATE_HEADER)
            {
                let message = format!(
                    "no certificate is in {}: --certificate-authority names a PEM file with certificates",
                    path.display()
                );
                return Err(CommandError::new(ExitStatus::Usage, message));
            }
            builder = builder.certificate_authorities(pem);
        }
        let default_limit = if Term::stdout().is_term() {
            TERMINAL_LIMIT
        } else {
            0
        };
        let limit = match args.limit.unwrap_or(default_limit) {
            0 => usize::MAX,
            limit => limit,
        };
        let client = builder.build().map_err(|error| {
            let failure = server_error(error);
            let origin = (route == ServerRoute::Direct && failure.hint.is_none())
                .then(|| format!("the URL of the server is from {}", server_origin()));
            match origin {
                Some(origin) => failure.hint(origin),
                None => failure,
            }
        })?;
        let mut command = Self {
            session: CommandSession {
                transport: ServerTransport { client },
                output: args.output.format(),
                has_headers: !args.output.no_headers,
                catalogs: args.catalog.clone(),
                limit,
                sort_by: None,
                help: HELP,
            },
            digest: args.digest.clone(),
            is_offline: args.offline,
        };
        command.select_catalogs(args.selector.as_deref()).await?;
        Ok(command)
    }

    /// Narrows the catalogs to those with these labels and with the pinned digest.
    async fn select_catalogs(&mut self, selector: Option<&str>) -> Result<(), CommandError> {
        if selector.is_none() && self.digest.is_none() {
            // An empty answer is checked when it comes; the answer of one catalog does not show
            // that another is missing.
            let session = &self.session;
            return if session.catalogs.len() > 1 {
                session.check_catalogs(&session.catalogs).await
            } else {
                Ok(())
            };
        }
        let selector = selector.map(LabelSelector::parse).transpose();
        let selector = selector.map_err(|message| {
            CommandError::new(ExitStatus::Usage, format!("cannot use -l: {message}"))
        })?;
        let served = self.session.data(SERVED, &Value::Null).await?;
        let is_meant = |catalog: &&Value| {
            let name = text(catalog, "/name");
            let labels = catalog["labels"].as_array().into_iter().flatten();
            let labels: BTreeMap<_, _> = labels
                .map(|label| (text(label, "/key"), text(label, "/value")))
                .collect();
            let named = &self.session.catalogs;
            (named.is_empty() || named.contains(&name))
                && selector
                    .as_ref()
                    .is_none_or(|selector| selector.matches(&labels))
        };
        let meant: Vec<_> = served["catalogs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(is_meant)
            .collect();
        if meant.is_empty() {
            let failure = CommandError::new(
                ExitStatus::NotFound,
                "no catalog that is served meets --catalog and --selector",
            );
            return Err(
                failure.hint("`kubectl catalog get catalogs -o wide` lists them with their labels")
            );
        }
        let pinned = meant.iter().filter(|catalog| {
            self.digest
                .as_ref()
                .is_none_or(|digest| catalog["digest"] == **digest)
        });
        let catalogs: Vec<_> = pinned.map(|catalog| text(catalog, "/name")).collect();
        self.session.catalogs = catalogs;
        if self.session.catalogs.is_empty() {
            Err(self.changed())
        } else {
            Ok(())
        }
    }

    /// Says what the server does not know. Fails if a catalog has not the pinned content any more:
    /// what was printed might be of another.
    pub(crate) async fn end(&self) -> Result<(), CommandError> {
        let left_out = self.session.transport.client.left_out();
        if !left_out.is_empty() {
            hint(&format!(
                "the server does not know these fields, which are left out: {}",
                left_out.join(", ")
            ));
        }
        let Some(digest) = &self.digest else {
            return Ok(());
        };
        let served = self.session.data(SERVED, &Value::Null).await?;
        let catalogs = served["catalogs"].as_array().into_iter().flatten();
        let is_same = catalogs
            .filter(|catalog| {
                let mut names = self.session.catalogs.iter();
                names.any(|name| catalog["name"] == **name)
            })
            .all(|catalog| catalog["digest"] == **digest);
        if is_same { Ok(()) } else { Err(self.changed()) }
    }

    fn changed(&self) -> CommandError {
        let digest = self.digest.as_deref().unwrap_or_default();
        CommandError::new(
            ExitStatus::Changed,
            format!("no catalog serves the content `{digest}`"),
        )
        .hint("`kubectl catalog get catalogs -o wide` lists the digests that are served")
    }

    /// Says how old the data of the command is, if some of it came from the cache without a
    /// request.
    pub(crate) fn print_age(&self) {
        let age = self
            .session
            .transport
            .client
            .cached_age()
            .map(|age| age.as_secs());
        if let Some(age) = age.filter(|age| self.is_offline || *age > 0) {
            hint(&format!("from the cache, {age} s old"));
        }
    }
}

/// Returns the name of a bundle that is given by its name, its version, or both as NAME@VERSION.
pub(crate) async fn bundle_name(
    session: &ServerSession,
    chosen: &ChosenPackage,
    wanted: &str,
) -> Result<String, CommandError> {
    let variables = json!({ "catalogs": [chosen.catalog], "packages": [chosen.package] });
    let bundles = session
        .walk_all(BUNDLE_NAMES, variables, "/bundles")
        .await?;
    let is_named = |bundle: &&Value| match parse_installed(wanted) {
        Some(both) => bundle["name"] == both.name && bundle["version"] == both.version,
        None => bundle["name"] == *wanted,
    };
    let version = wanted.strip_prefix('v').unwrap_or(wanted);
    let by_name = bundles.iter().find(is_named);
    let found = by_name.or_else(|| bundles.iter().find(|bundle| bundle["version"] == *version));
    if let Some(bundle) = found {
        return Ok(text(bundle, "/name"));
    }

    let message = format!("package `{}` has no bundle `{wanted}`", chosen.package);
    let list = format!(
        "`kubectl catalog versions {}/{}` lists its bundles",
        chosen.catalog, chosen.package
    );
    let names = bundles.iter().flat_map(|bundle| {
        let name = text(bundle, "/name");
        let version = text(bundle, "/version");
        if wanted.contains('@') {
            vec![format!("{name}@{version}")]
        } else {
            vec![name, version]
        }
    });
    let names: Vec<_> = names.collect();
    let similar = similar_names(wanted, names.iter().map(String::as_str));
    Err(
        CommandError::new(ExitStatus::NotFound, message).hint(match question(&similar) {
            Some(question) => format!("{question} {list}"),
            None => list,
        }),
    )
}

/// Returns the served catalogs that the command line allows.
pub(crate) async fn served_catalogs(
    session: &ServerSession,
) -> Result<Vec<ServedCatalog>, CommandError> {
    let data = session.data(CATALOG_IMAGES, &Value::Null).await?;
    let catalogs = data["catalogs"].as_array().into_iter().flatten();
    let catalogs = catalogs.map(|catalog| ServedCatalog {
        name: text(catalog, "/name"),
        image: text(catalog, "/image"),
        reference: text(catalog, "/imageReference"),
    });
    let is_selected = |catalog: &ServedCatalog| {
        session.catalogs.is_empty() || session.catalogs.contains(&catalog.name)
    };
    Ok(catalogs.filter(is_selected).collect())
}

/// Returns where the URL of the server is from.
fn server_origin() -> &'static str {
    let is_flag = |word: String| word == "--server" || word.starts_with("--server=");
    if std::env::args_os().any(|word| is_flag(word.to_string_lossy().into_owned())) {
        "--server"
    } else if std::env::var_os(SERVER_VARIABLE).is_some_and(|value| !value.is_empty()) {
        "the variable CATALOGQL_SERVER"
    } else {
        "the configuration file"
    }
}

/// Begins the client of the server that is meant.
async fn builder(args: &CommonArgs, route: ServerRoute) -> Result<Builder, CommandError> {
    let hint = "name the server with --server or CATALOGQL_SERVER";
    if route == ServerRoute::Direct {
        let missing = || {
            CommandError::new(
                ExitStatus::Usage,
                "--via direct needs the URL of the server",
            )
            .hint(hint)
        };
        return args
            .server
            .as_ref()
            .map(Client::builder)
            .ok_or_else(missing);
    }
    let options = ClusterOptions {
        route: if route == ServerRoute::PortForward {
            ClusterRoute::PortForward
        } else {
            ClusterRoute::ServiceProxy
        },
        cache: cache_folder().map(ClientCache::at),
        refresh: route == ServerRoute::FoundService,
        offline: args.offline,
        ..cluster_options(args)
    };
    let found = Client::from_kubeconfig(&options);
    found.await.map_err(|error| {
        let failure = api_server_error(error);
        // Who names a kubeconfig file does not mean a server by its URL.
        if failure.hint.is_some() || args.cluster.kubeconfig.is_some() {
            failure
        } else {
            failure.hint(hint)
        }
    })
}

/// The cluster that is meant.
pub(crate) fn cluster_options(args: &CommonArgs) -> ClusterOptions {
    let timeout = Some(args.request_timeout);
    let args = args.cluster.clone();
    ClusterOptions {
        timeout,
        kubeconfig: args.kubeconfig,
        context: args.context,
        cluster: args.cluster,
        user: args.user,
        namespace: args.namespace,
        impersonate: args.impersonate,
        impersonate_groups: args.impersonate_groups,
        ..ClusterOptions::default()
    }
}

/// The folder of cached responses; `None` where the environment names none.
pub(crate) fn cache_folder() -> Option<PathBuf> {
    folder(&CACHE_FOLDERS)
}

/// The first of these places below a variable of the environment that names a folder; `None` where
/// none does.
pub(crate) fn folder(places: &[(&str, &str)]) -> Option<PathBuf> {
    let named = places.iter().find_map(|(variable, below)| {
        let folder = std::env::var_os(variable).filter(|folder| !folder.is_empty())?;
        Some(PathBuf::from(folder).join(below))
    });
    named.filter(|folder| folder.is_absolute())
}
