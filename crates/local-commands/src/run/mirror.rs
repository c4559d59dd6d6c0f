//! `catalogql mirror`: the part of catalogs that a disconnected cluster needs.

mod catalog;
mod run;
mod set;
mod verify;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use commands::args::{MirrorNeedArgs, parse_installed};
use commands::file_argument::read_text;
use commands::mirror::{MirrorItem, MirrorRequest, check_output, mirror as print, without_scheme};
use commands::similar::{question, similar_names};
use commands::{CommandError, ExitStatus};
use fbc::Catalog;
use fbc_grammar::image::ImageReference;
use mirror::plan::PlannedProblem;
use mirror::{CatalogSelection, MirrorConfiguration, MirrorProblem, MirrorProblemCode};
use serde_json::{Value, json};
use serving::Content;

use super::local;
use super::once;
use super::sources::{self, SourceReference, with_name};
use crate::args::{MirrorCommand, MirrorPlanArgs, MirrorSelectionArgs};

/// Runs a subcommand of `mirror`.
pub(super) fn mirror(command: &MirrorCommand) -> anyhow::Result<ExitCode> {
    match command {
        MirrorCommand::Plan(args) => print_plan(args),
        MirrorCommand::Catalog(args) => catalog::write(args),
        MirrorCommand::Run(args) => run::run(args),
        MirrorCommand::Load(args) => run::load(args),
        MirrorCommand::Verify(args) => verify::verify(args),
    }
}

/// A source of the command line.
struct LoadedSource {
    name: String,
    /// As on the command line, without its name.
    source: String,
    reference: SourceReference,
    content: Content,
}

/// Selection of a command, with the source of each of its items.
struct Selection {
    configuration: MirrorConfiguration,
    /// Text of the configuration, or the input of packages.
    origin: SelectionOrigin,
    sources: Vec<LoadedSource>,
    /// Indexes of the sources, by item.
    by_item: Vec<usize>,
}

/// Origin of a selection.
enum SelectionOrigin {
    Configuration(String),
    /// The input `MirrorSetInput`.
    Packages(Value),
}

impl Selection {
    /// Reads what is selected, and loads the sources if it is not refused.
    fn load(args: &MirrorSelectionArgs) -> anyhow::Result<Result<Self, Vec<MirrorProblem>>> {
        let input = args.need.input().map_err(|error| anyhow!(error.message))?;
        let (origin, read) = match (&args.config, input) {
            (Some(path), None) => {
                let text = read_configuration(path)?;
                let read = MirrorConfiguration::parse(&text);
                (SelectionOrigin::Configuration(text), read)
            }
            (_, input) => {
                let input = input.unwrap_or_default();
                let name = args.catalogs.sources.first().map_or("", String::as_str);
                let read = MirrorConfiguration::from_request(name, &input);
                (SelectionOrigin::Packages(input), read)
            }
        };
        let configuration = match read {
            Ok(configuration) => configuration,
            Err(problems) => return Ok(Err(problems)),
        };
        let sources = load_sources(args)?;
        for alias in &args.catalog {
            if !sources.iter().any(|source| source.name == alias.name) {
                let names: Vec<_> = sources.iter().map(|source| &*source.name).collect();
                bail!(
                    "--catalog names no source: `{}`; the sources are {}",
                    alias.name,
                    names.join(", ")
                );
            }
        }
        if matches!(origin, SelectionOrigin::Packages(_)) {
            let [source] = &*sources else {
                bail!(
                    "--package selects of one source, and there are {}: write a configuration",
                    sources.len()
                );
            };
            check_names(&source.content.catalog, &args.need)?;
            return Ok(Ok(Self {
                configuration,
                origin,
                sources,
                by_item: vec![0],
            }));
        }

        let mut by_item = Vec::new();
        let mut problems = Vec::new();
        for item in &configuration.operators {
            match find(item, &sources, args) {
                Some(at) => by_item.push(at),
                None => problems.push(unknown_catalog(item, &sources)),
            }
        }
        if !problems.is_empty() {
            return Ok(Err(problems));
        }
        Ok(Ok(Self {
            configuration,
            origin,
            sources,
            by_item,
        }))
    }

    /// Returns the selections as inputs of the API.
    fn items(&self, rules: &str) -> Vec<MirrorItem> {
        let items = self.by_item.iter().enumerate();
        let items = items.map(|(operator, &at)| MirrorItem {
            catalog: self.sources[at].name.clone(),
            input: match &self.origin {
                SelectionOrigin::Configuration(text) => {
                    json!({ "configuration": text, "operator": operator, "rules": rules })
                }
                SelectionOrigin::Packages(input) => {
                    let mut input = input.clone();
                    input["rules"] = rules.into();
                    input
                }
            },
        });
        items.collect()
    }
}

/// Fails if the catalog does not have a package that the command line names, or a bundle to upgrade
/// from.
fn check_names(catalog: &Catalog, need: &MirrorNeedArgs) -> Result<(), CommandError> {
    for name in &need.package {
        if catalog.package(name).is_none() {
            let error =
                CommandError::new(ExitStatus::NotFound, format!("package `{name}` not found"));
            let names = catalog.packages().map(fbc::Package::name);
            return Err(error.hint_if(question(&similar_names(name, names))));
        }
    }
    for from in need
        .from
        .iter()
        .filter(|from| parse_installed(from).is_none())
    {
        let version = from.strip_prefix('v').unwrap_or(from);
        let mut bundles = need
            .package
            .iter()
            .filter_map(|name| catalog.package(name))
            .flat_map(fbc::Package::bundles);
        let is_known =
            bundles.any(|bundle| bundle.name() == *from || bundle.version() == Some(version));
        if !is_known {
            let package = need.package.join(", ");
            let message = format!("package `{package}` has no bundle `{from}`");
            return Err(CommandError::new(ExitStatus::NotFound, message)
                .hint("write NAME@VERSION for a bundle that the catalog does not have"));
        }
    }
    Ok(())
}

fn read_configuration(path: &Path) -> anyhow::Result<String> {
    read_text(path).with_context(|| format!("cannot read the configuration `{}`", path.display()))
}

fn load_sources(args: &MirrorSelectionArgs) -> anyhow::Result<Vec<LoadedSource>> {
    let arguments = &args.catalogs.sources;
    let named: Vec<_> = arguments.iter().map(|source| with_name(source)).collect();
    let entries = sources::catalogs(&named, None, args.images.configs_dir.as_deref())?;
    let references: Vec<_> = entries
        .iter()
        .map(|entry| (entry.name.as_str(), &entry.reference))
        .collect();
    let contents = once::load(&references, &args.images)?;
    let mut loaded = Vec::new();
    for ((entry, content), argument) in entries.into_iter().zip(contents).zip(arguments) {
        let name = entry.name.as_str().to_owned();
        let prefix = format!("{name}=");
        let source = argument
            .strip_prefix(&prefix)
            .unwrap_or(argument)
            .to_owned();
        let content = content
            .map_err(|error| anyhow!("cannot load the catalog `{source}`: {}", error.chain()))?
            .content;
        loaded.push(LoadedSource {
            name,
            source,
            reference: entry.reference,
            content,
        });
    }
    Ok(loaded)
}

/// Finds the source that an item of a configuration names.
fn find(
    item: &CatalogSelection,
    sources: &[LoadedSource],
    args: &MirrorSelectionArgs,
) -> Option<usize> {
    let wanted = without_scheme(&item.catalog);
    let alias = args
        .catalog
        .iter()
        .find(|alias| is_same(&alias.reference, wanted));
    sources.iter().position(|source| {
        if let Some(alias) = alias {
            return source.name == alias.name;
        }

        let image = source.content.image.as_deref();
        source.name == wanted
            || is_same(&source.source, wanted)
            || image.is_some_and(|image| is_same(image, wanted))
    })
}

/// Tells whether two texts name the same image or path.
fn is_same(a: &str, b: &str) -> bool {
    let a = without_scheme(a);
    let b = without_scheme(b);
    let normalized = |text| ImageReference::parse(text).map(|reference| reference.to_string());
    a == b || normalized(a).is_ok_and(|a| normalized(b).is_ok_and(|b| a == b))
}

fn unknown_catalog(item: &CatalogSelection, sources: &[LoadedSource]) -> MirrorProblem {
    let names: Vec<_> = sources
        .iter()
        .map(|source| format!("{} (`{}`)", source.name, source.source))
        .collect();
    let message = format!(
        "no source is the catalog `{}`: the sources are {}; name one with --catalog {}={}",
        item.catalog,
        names.join(", "),
        sources.first().map_or("NAME", |source| &*source.name),
        item.catalog,
    );
    let path = format!("{}.catalog", item.path);
    MirrorProblem::new(MirrorProblemCode::UnknownCatalog, path, message).on_line(item.line)
}

/// Returns problems in the form of the API.
fn as_values(problems: Vec<MirrorProblem>) -> Vec<Value> {
    let problems = problems.into_iter().map(PlannedProblem::from);
    let problems = problems.map(serde_json::to_value);
    problems.filter_map(Result::ok).collect()
}

/// Prints what is selected. The exit status is 1 if it is refused.
fn print_plan(args: &MirrorPlanArgs) -> anyhow::Result<ExitCode> {
    let output = args.output.format();
    if let Err(error) = check_output(&output, &args.target) {
        return Ok(error.report().into());
    }
    let mut request = MirrorRequest::default();
    let mut catalogs = Vec::new();
    match Selection::load(&args.selection)? {
        Err(problems) => request.problems = as_values(problems),
        Ok(selection) => {
            request.items = selection.items(args.rules.as_str());
            let sources = selection.sources.into_iter();
            catalogs.extend(sources.map(|source| (source.name, source.content)));
        }
    }
    let session = local::session_over(catalogs, &args.output);
    local::end(Ok(session), async |session| {
        print(&session, request, &args.target).await
    })
}
