//! Completion of `kubectl catalog …` by kubectl, which runs `kubectl_complete-catalog` with the
//! words of the line, the last one unfinished, and takes candidates as cobra prints them: one a
//! line with its description after a tab, then a directive.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use clap::{Arg, ArgAction, Command, FromArgMatches as _};
use commands::args::SupportArgs;
use commands::documents::{CHANNELS, PACKAGES, SERVED};
use commands::{CommandError, GraphqlTransport as _, ListRequest};
use printing::text;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::args::{CommonArgs, PluginArgs};
use crate::context::{ServerCommand, ServerRoute, ServerSession};
use crate::documents::{BUNDLE_NAMES, SUGGEST};

/// Name by which kubectl runs it.
const PROGRAM: &str = "kubectl_complete-catalog";

/// Directive of cobra: no names of files.
const NO_FILES: &str = ":4";

/// Time that a shell waits for candidates; then the cache answers.
const TIME: Duration = Duration::from_millis(300);

/// Number of packages that are offered for an empty word.
const MAX_PACKAGES: usize = 200;

/// Text of a completion with its description, which may be empty.
type ShellCompletion = (String, String);

/// Returns `true` if kubectl started the program to complete a line.
pub(crate) fn is_completion(program: Option<&OsStr>) -> bool {
    program
        .map(Path::new)
        .and_then(Path::file_stem)
        .is_some_and(|name| name == PROGRAM)
}

/// The candidates for the last of these words, as cobra prints them.
pub(crate) async fn complete(words: &[String]) -> String {
    let (last, before) = words
        .split_last()
        .map_or(("", words), |(last, before)| (last.as_str(), before));
    let candidates = candidates(before, last).await;
    let mut out = String::new();
    for (text, description) in candidates.iter().filter(|(text, _)| text.starts_with(last)) {
        let separator = if description.is_empty() { "" } else { "\t" };
        let _ = writeln!(
            out,
            "{text}{separator}{}",
            description.lines().next().unwrap_or_default()
        );
    }
    out + NO_FILES + "\n"
}

async fn candidates(before: &[String], last: &str) -> Vec<ShellCompletion> {
    let mut program = PluginArgs::program().ignore_errors(true);
    program.build();
    let (command, positionals, flag) = position(&program, before);
    if let Some(flag) = flag {
        return values(&flag, before, last, &positionals).await;
    }
    if last.starts_with('-') {
        let flags = command.get_arguments().filter(|arg| !arg.is_hide_set());
        return flags
            .filter_map(|arg| Some((format!("--{}", arg.get_long()?), help(arg))))
            .collect();
    }
    if command.has_subcommands() {
        let about = |command: &Command| {
            command
                .get_about()
                .map(ToString::to_string)
                .unwrap_or_default()
        };
        return command
            .get_subcommands()
            .map(|command| (command.get_name().to_owned(), about(command)))
            .collect();
    }
    // The last positional takes all further words.
    let arg = command
        .get_positionals()
        .nth(positionals.len())
        .or_else(|| command.get_positionals().last());
    match arg {
        Some(arg) => values(arg, before, last, &positionals).await,
        None => Vec::new(),
    }
}

/// The command that the words name, its positional words, and the flag that waits for its value.
fn position<'c>(program: &'c Command, words: &[String]) -> (&'c Command, Vec<String>, Option<Arg>) {
    let mut command = program;
    let mut positionals = Vec::new();
    let mut flag = None::<Arg>;
    for word in words {
        if flag.take().is_some() {
            continue;
        }
        if let Some(name) = word.strip_prefix('-') {
            let short =
                |arg: &Arg| name.chars().count() == 1 && arg.get_short() == name.chars().next();
            let long = |arg: &Arg| {
                name.strip_prefix('-')
                    .is_some_and(|long| arg.get_long() == Some(long))
            };
            let found = command.get_arguments().find(|arg| short(arg) || long(arg));
            flag = found
                .filter(|arg| matches!(arg.get_action(), ArgAction::Set | ArgAction::Append))
                .cloned();
        } else if let Some(found) = command.find_subcommand(word) {
            command = found;
        } else {
            positionals.push(word.clone());
        }
    }
    (command, positionals, flag)
}

fn help(arg: &Arg) -> String {
    arg.get_help().map(ToString::to_string).unwrap_or_default()
}

/// The values that an argument may have.
async fn values(
    arg: &Arg,
    before: &[String],
    last: &str,
    positionals: &[String],
) -> Vec<ShellCompletion> {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let help = |value: &clap::builder::PossibleValue| {
            value
                .get_help()
                .map(ToString::to_string)
                .unwrap_or_default()
        };
        return possible
            .iter()
            .map(|value| (value.get_name().to_owned(), help(value)))
            .collect();
    }
    let fixed = |names: &[&str]| {
        names
            .iter()
            .map(|name| ((*name).to_owned(), String::new()))
            .collect()
    };
    match arg.get_id().as_str() {
        "output" => fixed(&[
            "table",
            "wide",
            "json",
            "yaml",
            "name",
            "jsonpath=",
            "custom-columns=",
        ]),
        id => match timeout(TIME, server_values(id, before, last, positionals, false)).await {
            Ok(Ok(found)) => found,
            _ => server_values(id, before, last, positionals, true)
                .await
                .unwrap_or_default(),
        },
    }
}

/// The values that the server knows.
async fn server_values(
    id: &str,
    before: &[String],
    last: &str,
    positionals: &[String],
    is_offline: bool,
) -> Result<Vec<ShellCompletion>, CommandError> {
    let line = std::iter::once("kubectl-catalog").chain(before.iter().map(String::as_str));
    let matches = PluginArgs::program()
        .ignore_errors(true)
        .get_matches_from(line);
    let Ok(mut common) = CommonArgs::from_arg_matches(&matches) else {
        return Ok(Vec::new());
    };
    crate::config::complete(&mut common)?;
    common.offline |= is_offline;
    let command = ServerCommand::begin(&common, ServerRoute::from_args(&common)[0]).await?;
    let session = &command.session;
    let package = positionals.first().map(String::as_str).unwrap_or_default();
    match id {
        "object"
            if positionals
                .first()
                .is_some_and(|kind| kind.starts_with("bundle")) =>
        {
            Ok(Vec::new())
        }
        "package" | "packages" | "object" => packages(session, last).await,
        "catalog" => catalogs(session).await,
        "from" | "to"
            if package.is_empty() || id == "to" && positionals.len() == 1 && !is_path(before) =>
        {
            catalogs(session).await
        }
        "from" | "to" | "a" | "b" | "version" | "range" => versions(session, package).await,
        "channel" => channels(session, package).await,
        "api" | "provides" => apis(session, last).await,
        _ => Ok(Vec::new()),
    }
}

/// Returns `true` for a line of `path`, whose FROM and TO are bundles; those of `diff` are catalogs.
fn is_path(before: &[String]) -> bool {
    before.iter().any(|word| word == "path")
}

async fn catalogs(session: &ServerSession) -> Result<Vec<ShellCompletion>, CommandError> {
    let data = session.data(SERVED, &Value::Null).await?;
    let catalogs = data["catalogs"].as_array().into_iter().flatten();
    Ok(catalogs
        .map(|catalog| (text(catalog, "/name"), String::new()))
        .collect())
}

async fn packages(
    session: &ServerSession,
    last: &str,
) -> Result<Vec<ShellCompletion>, CommandError> {
    let (catalogs, word) = session.split(last);
    let prefix = &last[..last.len() - word.len()];
    if word.is_empty() {
        let mut variables = json!({ "catalogs": catalogs });
        SupportArgs::default().add_to(&mut variables);
        let found = session
            .transport
            .list(ListRequest {
                document: PACKAGES,
                variables,
                connection: "/packages",
                limit: MAX_PACKAGES,
            })
            .await?;
        return Ok(found
            .iter()
            .map(|item| {
                (
                    prefix.to_owned() + &text(item, "/name"),
                    text(item, "/displayName"),
                )
            })
            .collect());
    }
    let variables = json!({ "text": word, "catalogs": catalogs, "kinds": ["PACKAGE"] });
    let data = session.data(SUGGEST, &variables).await?;
    let found = data["suggest"].as_array().into_iter().flatten();
    Ok(found
        .map(|item| {
            (
                prefix.to_owned() + &text(item, "/text"),
                text(item, "/displayName"),
            )
        })
        .collect())
}

async fn versions(
    session: &ServerSession,
    package: &str,
) -> Result<Vec<ShellCompletion>, CommandError> {
    let (catalogs, package) = session.split(package);
    let variables = json!({ "catalogs": catalogs, "packages": [package] });
    let bundles = session
        .walk_all(BUNDLE_NAMES, variables, "/bundles")
        .await?;
    Ok(bundles
        .iter()
        .map(|bundle| (text(bundle, "/version"), text(bundle, "/name")))
        .collect())
}

async fn channels(
    session: &ServerSession,
    package: &str,
) -> Result<Vec<ShellCompletion>, CommandError> {
    let (catalogs, package) = session.split(package);
    let variables = json!({ "catalogs": catalogs, "names": [package] });
    let packages = session.walk_all(CHANNELS, variables, "/packages").await?;
    let channels = packages
        .iter()
        .flat_map(|package| package["channels"].as_array().into_iter().flatten());
    Ok(channels
        .map(|channel| {
            (
                text(channel, "/name"),
                text(channel, "/head/bundle/version"),
            )
        })
        .collect())
}

async fn apis(session: &ServerSession, last: &str) -> Result<Vec<ShellCompletion>, CommandError> {
    let word = last.rsplit('/').next().unwrap_or_default();
    let variables = json!({ "text": word, "catalogs": session.catalogs, "kinds": ["API"] });
    let data = session.data(SUGGEST, &variables).await?;
    let found = data["suggest"].as_array().into_iter().flatten();
    // A shell keeps what begins with the word: a kind is completed once its group is written.
    Ok(found
        .map(|item| {
            (
                format!("{}/{}", text(item, "/api/group"), text(item, "/api/kind")),
                String::new(),
            )
        })
        .collect())
}
