//! What all commands share: the client, which catalogs are meant, and how names become objects.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use catalogql_client::{Builder, Cache, Client, ClusterOptions, ClusterRoute};
use console::Term;
use printing::text;
use serde_json::{Value, json};

use crate::args::{CommonArgs, Via};
use crate::documents::{BUNDLE_NAMES, PACKAGE_NAMES, SERVED, SIMILAR_PACKAGES};
use crate::error::{CommandError, ExitStatus};
use crate::output::{OutputFormat, hint};
use crate::selector::LabelSelector;

/// Number of items that are printed on a terminal, unless `--limit` says otherwise.
const TERMINAL_LIMIT: usize = 50;

/// Variables of the environment that name the folder of caches, and where it is below each.
const CACHE_FOLDERS: [(&str, &str); 3] = [
    ("XDG_CACHE_HOME", "catalogql/client"),
    ("HOME", ".cache/catalogql/client"),
    ("LOCALAPPDATA", "catalogql/client"),
];

/// What a command works with: a client of the server, and what the command line says of catalogs
/// and output.
pub(crate) struct CommandContext {
    pub(crate) client: Client,
    pub(crate) output: OutputFormat,
    pub(crate) has_headers: bool,
    /// Names of the catalogs that are meant; every catalog when empty.
    pub(crate) catalogs: Vec<String>,
    limit: usize,
    digest: Option<String>,
    is_offline: bool,
}

/// A package of one catalog.
pub(crate) struct ChosenPackage {
    pub(crate) catalog: String,
    pub(crate) package: String,
}

impl ChosenPackage {
    /// CATALOG/PACKAGE.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.catalog, self.package)
    }
}

/// A way to the server.
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
    /// The ways that are tried, one after the other while none leads to a server.
    pub(crate) fn of(args: &CommonArgs) -> &'static [Self] {
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

impl CommandContext {
    /// Makes a client, and finds out which catalogs are meant.
    pub(crate) async fn begin(args: &CommonArgs, route: ServerRoute) -> Result<Self, CommandError> {
        let mut builder = builder(args, route)
            .await?
            .timeout(args.request_timeout)
            .insecure_skip_tls_verify(args.insecure_skip_tls_verify)
            .leave_out_unknown_fields(true)
            .offline(args.offline);
        if let Some(folder) = cache_folder() {
            builder = builder.cache(Cache::at(folder));
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
        let mut context = Self {
            client: builder.build()?,
            output: args.output.clone(),
            has_headers: !args.no_headers,
            catalogs: args.catalog.clone(),
            limit,
            digest: args.digest.clone(),
            is_offline: args.offline,
        };
        context.select_catalogs(args.selector.as_deref()).await?;
        Ok(context)
    }

    /// Narrows the catalogs to those with these labels and with the pinned digest.
    async fn select_catalogs(&mut self, selector: Option<&str>) -> Result<(), CommandError> {
        if selector.is_none() && self.digest.is_none() {
            // An empty answer is checked when it comes; the answer of one catalog does not show
            // that another is missing.
            return if self.catalogs.len() > 1 {
                self.check_catalogs(&self.catalogs).await
            } else {
                Ok(())
            };
        }
        let selector = selector.map(LabelSelector::parse).transpose();
        let selector = selector.map_err(|message| {
            CommandError::new(ExitStatus::Usage, format!("cannot use -l: {message}"))
        })?;
        let served = self.client.execute(SERVED, &Value::Null).await?.data;
        let is_meant = |catalog: &&Value| {
            let name = text(catalog, "/name");
            let labels = catalog["labels"].as_array().into_iter().flatten();
            let labels: BTreeMap<_, _> = labels
                .map(|label| (text(label, "/key"), text(label, "/value")))
                .collect();
            (self.catalogs.is_empty() || self.catalogs.contains(&name))
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
            return Err(failure.hint("`kubectl catalog get catalogs` lists them"));
        }
        let pinned = meant.iter().filter(|catalog| {
            self.digest
                .as_ref()
                .is_none_or(|digest| catalog["digest"] == **digest)
        });
        let catalogs: Vec<_> = pinned.map(|catalog| text(catalog, "/name")).collect();
        self.catalogs = catalogs;
        if self.catalogs.is_empty() {
            Err(self.changed())
        } else {
            Ok(())
        }
    }

    /// Says what the server does not know. Fails if a catalog has not the pinned content any more:
    /// what was printed might be of another.
    pub(crate) async fn end(&self) -> Result<(), CommandError> {
        let left_out = self.client.left_out();
        if !left_out.is_empty() {
            hint(&format!(
                "the server does not know these fields, which are left out: {}",
                left_out.join(", ")
            ));
        }
        let Some(digest) = &self.digest else {
            return Ok(());
        };
        let served = self.client.execute(SERVED, &Value::Null).await?.data;
        let catalogs = served["catalogs"].as_array().into_iter().flatten();
        let is_same = catalogs
            .filter(|catalog| self.catalogs.iter().any(|name| catalog["name"] == **name))
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
        let age = self.client.cached_age().map(|age| age.as_secs());
        if let Some(age) = age.filter(|age| self.is_offline || *age > 0) {
            hint(&format!("from the cache, {age} s old"));
        }
    }

    /// Executes a document.
    pub(crate) async fn data(
        &self,
        document: &str,
        variables: &Value,
    ) -> Result<Value, CommandError> {
        Ok(self.client.execute(document, variables).await?.data)
    }

    /// Reads a list to its end, or to the limit of the command line; then says so.
    pub(crate) async fn walk(
        &self,
        document: &'static str,
        variables: Value,
        connection: &'static str,
    ) -> Result<Vec<Value>, CommandError> {
        // One more tells whether there are more.
        let mut items = self
            .walk_up_to(
                document,
                variables,
                connection,
                self.limit.saturating_add(1),
            )
            .await?;
        if items.len() > self.limit {
            items.truncate(self.limit);
            hint(&format!(
                "these are the first {}: --limit 0 prints all",
                self.limit
            ));
        }
        Ok(items)
    }

    /// As [`Self::walk`], without a limit.
    pub(crate) async fn walk_all(
        &self,
        document: &'static str,
        variables: Value,
        connection: &'static str,
    ) -> Result<Vec<Value>, CommandError> {
        self.walk_up_to(document, variables, connection, usize::MAX)
            .await
    }

    /// As [`Self::walk`], up to this number of items, and silently. Fails on an empty list if one
    /// of its catalogs is not served.
    pub(crate) async fn walk_up_to(
        &self,
        document: &'static str,
        variables: Value,
        connection: &'static str,
        limit: usize,
    ) -> Result<Vec<Value>, CommandError> {
        let catalogs = variables["catalogs"].as_array().into_iter().flatten();
        let catalogs: Vec<_> = catalogs
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let items = self
            .client
            .walk(document, variables, connection)
            .limit(limit)
            .all()
            .await?;
        if items.is_empty() {
            self.check_catalogs(&catalogs).await?;
        }
        Ok(items)
    }

    /// Splits CATALOG/PACKAGE, and returns the catalogs to look into with the name of the package.
    pub(crate) fn split<'a>(&self, package: &'a str) -> (Vec<String>, &'a str) {
        match package.split_once('/') {
            Some((catalog, package)) => (vec![catalog.to_owned()], package),
            None => (self.catalogs.clone(), package),
        }
    }

    /// Finds the one package that is meant: that of the catalog with the highest priority.
    pub(crate) async fn choose(&self, package: &str) -> Result<ChosenPackage, CommandError> {
        let (catalogs, name) = self.split(package);
        let data = self
            .data(
                PACKAGE_NAMES,
                &json!({ "catalogs": catalogs, "names": [name] }),
            )
            .await?;
        let mut found: Vec<_> = data["packages"]["nodes"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let priority =
            |package: &Value| package["catalog"]["priority"].as_i64().unwrap_or_default();
        found.sort_by_key(|package| std::cmp::Reverse(priority(package)));
        let names: Vec<_> = found
            .iter()
            .map(|package| text(package, "/catalog/name"))
            .collect();
        let Some(first) = found.first() else {
            return Err(self.no_package(package).await);
        };
        if found
            .get(1)
            .is_some_and(|second| priority(second) == priority(first))
        {
            let message = format!(
                "package `{name}` is in several catalogs of one priority: {}",
                names.join(", ")
            );
            return Err(CommandError::new(ExitStatus::NotFound, message)
                .hint(format!("write {}/{name}", names[0])));
        }
        if let [chosen, others @ ..] = &names[..]
            && !others.is_empty()
        {
            hint(&format!(
                "package `{name}` of catalog {chosen}, which has the highest priority; also in {}",
                others.join(", ")
            ));
        }
        Ok(ChosenPackage {
            catalog: names[0].clone(),
            package: name.to_owned(),
        })
    }

    /// The name of a bundle that is given by its name or version.
    pub(crate) async fn bundle_name(
        &self,
        chosen: &ChosenPackage,
        named: &str,
    ) -> Result<String, CommandError> {
        let variables = json!({ "catalogs": [chosen.catalog], "packages": [chosen.package] });
        let bundles = self.walk_all(BUNDLE_NAMES, variables, "/bundles").await?;
        let version = named.strip_prefix('v').unwrap_or(named);
        let by_name = bundles.iter().find(|bundle| bundle["name"] == *named);
        let found = by_name.or_else(|| bundles.iter().find(|bundle| bundle["version"] == *version));
        found.map(|bundle| text(bundle, "/name")).ok_or_else(|| {
            let message = format!("package `{}` has no bundle `{named}`", chosen.package);
            CommandError::new(ExitStatus::NotFound, message).hint(format!(
                "`kubectl catalog versions {}/{}` lists its bundles",
                chosen.catalog, chosen.package
            ))
        })
    }

    /// The failure of a package, as NAME or CATALOG/NAME, that no catalog has, with names that are
    /// spelled similarly; that of the catalog if it is not served.
    pub(crate) async fn no_package(&self, package: &str) -> CommandError {
        let (catalogs, name) = self.split(package);
        if let Err(failure) = self.check_catalogs(&catalogs).await {
            return failure;
        }
        let request = json!({ "packageName": name, "catalogs": catalogs });
        let data = self
            .client
            .execute(SIMILAR_PACKAGES, &json!({ "request": request }))
            .await;
        let similar = data
            .map(|response| response.data["resolve"]["similarNames"].clone())
            .unwrap_or_default();
        let names: Vec<_> = similar
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let failure =
            CommandError::new(ExitStatus::NotFound, format!("package `{name}` not found"));
        if names.is_empty() {
            failure
        } else {
            failure.hint(format!("did you mean {}?", names.join(" or ")))
        }
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
        cache: cache_folder().map(Cache::at),
        refresh: route == ServerRoute::FoundService,
        offline: args.offline,
        ..cluster_options(args)
    };
    let found = Client::from_kubeconfig(&options);
    found.await.map_err(|error| {
        let failure = CommandError::from(error);
        if failure.hint.is_some() {
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
