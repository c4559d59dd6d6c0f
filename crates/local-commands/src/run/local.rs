//! The operations of `commands` over catalogs that are loaded for one command, without a server.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use build_info::ANSWERS_BUILD;
use commands::args::{ListKind, OutputArgs};
use commands::diff::DiffSides;
use commands::document_argument::{operation_hint, read_document};
use commands::output::hint;
use commands::{
    ChannelName, CommandError, CommandSession, ExitStatus, GraphqlTransport, HelpCommands,
    ListRequest, describe,
};
use fbc::Catalog;
use fbc_graph::graph::stranded;
use graphql::errors::Outcome;
use graphql::limits::Limits;
use graphql::{Engine, Request};
use serde_json::Value;
use serving::{CatalogMetadata, Content, Served, catalogs};
use tokio::runtime;

use super::once;
use super::output::{ignore_closed_pipe, indented, stdout};
use super::sources::{self, SourceReference, with_name};
use crate::args::{
    ImageArgs, LocalDiffArgs, LocalGraphArgs, LocalListArgs, LocalQueryArgs, LocalResolveArgs,
    LocalSearchArgs, LocalShowArgs,
};

/// Commands that hints name.
const HELP: HelpCommands = HelpCommands {
    list_catalogs: "catalogql list catalogs SOURCE",
    list_bundles: "catalogql list bundles SOURCE --package PACKAGE",
};

/// An engine in this process, with the catalogs that it serves.
pub(super) struct LocalTransport {
    engine: Engine,
    by_name: BTreeMap<String, Arc<Catalog>>,
}

impl LocalTransport {
    /// Loads catalogs into an engine.
    fn load(sources: &[String], images: &ImageArgs) -> anyhow::Result<Self> {
        Ok(Self::over(load_served(sources, images)?))
    }

    /// Creates an engine over catalogs.
    fn over(served: Vec<Served>) -> Self {
        let (mut writer, reader) = catalogs();
        let mut by_name = BTreeMap::new();
        for served in served {
            let catalog = Arc::clone(&served.content.catalog);
            by_name.insert(served.name.clone(), catalog);
            writer.publish(served);
        }

        // No other request waits for this one, so that only the machine limits it.
        let limits = Limits {
            cost: u64::MAX,
            work: u64::MAX,
            page_size: usize::MAX,
            response_bytes: usize::MAX,
            time: Duration::from_hours(1),
            ..Limits::default()
        };
        Self {
            engine: Engine::new(reader, ANSWERS_BUILD, limits),
            by_name,
        }
    }

    /// Returns a hint for a response without an answer: the operations of the document, or the names
    /// of the catalogs, which documents for other servers do not know.
    fn query_hint(&self, document: &str, body: &[u8]) -> Option<String> {
        let response: Value = serde_json::from_slice(body).ok()?;
        if let Some(message) = response.pointer("/errors/0/message") {
            return operation_hint(document, message.as_str()?);
        }
        let fields = response["data"].as_object()?;
        let names: Vec<_> = self.by_name.keys().map(String::as_str).collect();
        let is_named = names.iter().any(|name| document.contains(name));
        (!fields.is_empty() && fields.values().all(Value::is_null) && !is_named).then(|| {
            format!(
                "the catalogs of this command are called {}",
                names.join(", ")
            )
        })
    }
}

impl GraphqlTransport for LocalTransport {
    async fn execute(&self, document: &str, variables: &Value) -> Result<Value, CommandError> {
        let mut variables = variables.as_object().cloned().unwrap_or_default();
        variables.retain(|_, value| !value.is_null());
        let response = self.engine.execute(&Request {
            query: Some(document.into()),
            variables: Some(variables),
            ..Request::default()
        });
        let mut response: Value = serde_json::from_slice(&response.body).map_err(|error| {
            let message = format!("cannot read the response of the engine: {error}");
            CommandError::new(ExitStatus::Refused, message)
        })?;
        let Some(error) = response.pointer("/errors/0") else {
            return Ok(response["data"].take());
        };
        let message = error["message"].as_str().unwrap_or_default();
        Err(CommandError::from_api(ExitStatus::Refused, message))
    }

    async fn list(&self, request: ListRequest) -> Result<Vec<Value>, CommandError> {
        let mut variables = request.variables;
        // One page holds every item: the engine was made without a maximum page size, and nothing
        // replaces its content between two pages.
        variables["first"] = i32::try_from(request.limit).unwrap_or(i32::MAX).into();
        let mut data = self.execute(request.document, &variables).await?;
        let nodes = data
            .pointer_mut(request.connection)
            .map(|connection| connection["nodes"].take());
        match nodes {
            Some(Value::Array(items)) => Ok(items),
            _ => Ok(Vec::new()),
        }
    }

    fn stranded(&self, channel: ChannelName<'_>) -> Vec<String> {
        let catalog = self.by_name.get(channel.catalog);
        let package = catalog.and_then(|catalog| catalog.package(channel.package));
        let channel = package.and_then(|package| package.channel(channel.channel));
        let names = channel.map(stranded).unwrap_or_default();
        names.into_iter().map(str::to_owned).collect()
    }
}

/// Executes a GraphQL request and prints its response.
///
/// Unlike the plugin's, it prints the whole response with its errors, because it is a way to try a
/// document.
pub(super) fn query(args: &LocalQueryArgs) -> ExitCode {
    let ended = print_response(args);
    ended.unwrap_or_else(|error| error.report()).into()
}

fn print_response(args: &LocalQueryArgs) -> Result<ExitStatus, CommandError> {
    let document = read_document(&args.document)?;
    let variables = args.operation.variables()?;
    let transport = load(&args.catalogs.sources, &args.images)?;
    let response = transport.engine.execute(&Request {
        query: Some(document.as_str().into()),
        operation_name: args.operation.operation.as_deref().map(Into::into),
        variables: Some(variables),
        ..Request::default()
    });
    ignore_closed_pipe(stdout().write_all(&indented(&response.body)))?;
    if let Some(text) = transport.query_hint(&document, &response.body) {
        hint(&format!("hint: {text}"));
    }
    let has_errors = response.outcome != Outcome::Complete;
    Ok(ExitStatus::negative_if(has_errors))
}

/// Lists objects of one kind. Words behind the first source that are no sources are names of
/// packages, as `opm` takes them.
pub(super) fn list(args: &LocalListArgs) -> anyhow::Result<ExitCode> {
    let (sources, packages) = match args.list.kind {
        ListKind::Catalogs => (args.sources.as_slice(), <&[String]>::default()),
        _ => split_packages(&args.sources),
    };
    let mut list = args.list.clone();
    list.package.extend_from_slice(packages);
    let session = session(sources, &args.output, &args.images);
    end(session, async |mut session| {
        session.sort_by.clone_from(&args.sort.sort_by);
        let listed = commands::list::list(&session, &list, &[]).await;
        listed.map_err(|error| match packages {
            [] => error,
            [package, ..] => no_source_either(error, package),
        })?;
        Ok(ExitStatus::Success)
    })
}

/// Splits words into sources and the names of packages behind them; all are sources if one is behind
/// a name.
pub(super) fn split_packages(words: &[String]) -> (&[String], &[String]) {
    let is_source = |word: &String| sources::is_source(word);
    let end = words.iter().skip(1).position(|word| !is_source(word));
    match end.map(|end| end + 1) {
        Some(end) if !words[end..].iter().any(is_source) => words.split_at(end),
        _ => (words, &[]),
    }
}

/// Says of a word that was taken for a package that it is no source either.
fn no_source_either(error: CommandError, word: &str) -> CommandError {
    if error.message != format!("package `{word}` not found") {
        return error;
    }
    let hint = match &error.hint {
        Some(hint) => format!("{hint} `{word}` is no source either: no directory, and no image"),
        None => format!("`{word}` is no source either: no directory, and no image"),
    };
    error.hint(hint)
}

/// Finds packages by words. Words behind the sources that are no sources belong to them.
pub(super) fn search(args: &LocalSearchArgs) -> anyhow::Result<ExitCode> {
    let (sources, words) = split_packages(&args.sources);
    let words = words.iter().chain([&args.text]).map(String::as_str);
    let text = words.collect::<Vec<_>>().join(" ");
    let session = session(sources, &args.output, &args.images);
    end(session, async |mut session| {
        session.sort_by.clone_from(&args.sort.sort_by);
        commands::list::search(&session, &text, &args.filter).await?;
        Ok(ExitStatus::Success)
    })
}

/// Prints all that catalogs say of a package, or of one of its bundles.
pub(super) fn show(args: &LocalShowArgs) -> anyhow::Result<ExitCode> {
    let session = session(&args.catalogs.sources, &args.output, &args.images);
    end(session, async |session| {
        match &args.bundle {
            Some(bundle) => {
                describe::bundle(&session, bundle, Some(&args.package), &args.support).await?;
            }
            None => describe::package(&session, &args.package, &args.support).await?,
        }
        Ok(ExitStatus::Success)
    })
}

/// Prints the differences between two catalogs.
pub(super) fn diff(args: &LocalDiffArgs) -> anyhow::Result<ExitCode> {
    let sides = DiffSides {
        from: "from",
        to: "to",
    };
    let sources = [
        format!("{}={}", sides.from, args.from),
        format!("{}={}", sides.to, args.to),
    ];
    let session = session(&sources, &args.output, &args.images);
    end(session, async |session| {
        commands::diff::diff(&session, sides, &args.diff).await
    })
}

/// Prints the update graph of a package.
pub(super) fn graph(args: &LocalGraphArgs) -> anyhow::Result<ExitCode> {
    let session = session(&args.catalogs.sources, &args.output, &args.images);
    end(session, async |session| {
        commands::graph::graph(&session, &args.graph).await?;
        Ok(ExitStatus::Success)
    })
}

/// Prints which bundle would be installed.
pub(super) fn resolve(args: &LocalResolveArgs) -> anyhow::Result<ExitCode> {
    let session = session(&args.catalogs.sources, &args.output, &args.images);
    end(session, async |session| {
        commands::resolve::resolve(&session, &args.resolve).await
    })
}

/// Loads the catalogs of a command.
pub(super) fn session(
    sources: &[String],
    output: &OutputArgs,
    images: &ImageArgs,
) -> Result<CommandSession<LocalTransport>, CommandError> {
    Ok(with_output(load(sources, images)?, output))
}

/// Creates a session over catalogs that are loaded.
pub(super) fn session_over(
    catalogs: Vec<(String, Content)>,
    output: &OutputArgs,
) -> CommandSession<LocalTransport> {
    let served = catalogs
        .into_iter()
        .map(|(name, content)| Served::new(&name, content, CatalogMetadata::default()));
    with_output(LocalTransport::over(served.collect()), output)
}

fn with_output(transport: LocalTransport, output: &OutputArgs) -> CommandSession<LocalTransport> {
    CommandSession {
        transport,
        output: output.format(),
        has_headers: !output.no_headers,
        catalogs: Vec::new(),
        limit: usize::MAX,
        sort_by: None,
        help: HELP,
    }
}

/// Loads catalogs with their names.
pub(super) fn load_served(sources: &[String], images: &ImageArgs) -> anyhow::Result<Vec<Served>> {
    let named: Vec<String> = sources.iter().map(|source| with_name(source)).collect();
    let entries = sources::catalogs(&named, None, images.configs_dir.as_deref())?;
    let references: Vec<(&str, &SourceReference)> = entries
        .iter()
        .map(|entry| (entry.name.as_str(), &entry.reference))
        .collect();
    let contents = once::load(&references, images)?;

    let mut served = Vec::new();
    for ((entry, loaded), source) in entries.iter().zip(contents).zip(sources) {
        let name = entry.name.as_str();
        let source = source
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix('='))
            .unwrap_or(source);
        let loaded = loaded
            .map_err(|error| anyhow!("cannot load the catalog `{source}`: {}", error.chain()))?;
        let catalog = Served::new(name, loaded.content, entry.metadata.clone());
        served.push(catalog.with_verification(loaded.verification));
    }
    Ok(served)
}

/// Loads catalogs into an engine.
fn load(sources: &[String], images: &ImageArgs) -> Result<LocalTransport, CommandError> {
    LocalTransport::load(sources, images)
        .map_err(|error| super::command_error(&error, ExitStatus::Usage))
}

/// Runs an operation over a session to its end; prints the error of either.
pub(super) fn end(
    session: Result<CommandSession<LocalTransport>, CommandError>,
    operation: impl AsyncFnOnce(CommandSession<LocalTransport>) -> Result<ExitStatus, CommandError>,
) -> anyhow::Result<ExitCode> {
    let runtime = runtime::Builder::new_current_thread().build()?;
    let ended = session.and_then(|session| runtime.block_on(operation(session)));
    Ok(ended.unwrap_or_else(|error| error.report()).into())
}
