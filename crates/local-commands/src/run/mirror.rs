//! `catalogql mirror`: what a configuration of oc-mirror selects of catalogs.

mod catalog;

use std::borrow::Borrow;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use fbc::Catalog;
use fbc::work::Work;
use fbc_grammar::image::ImageReference;
use mirror::output::{MirrorTarget, mapping, mirror_sets, skopeo};
use mirror::plan::{PlannedProblem, PlannedReason};
use mirror::{
    CatalogSelection, MirrorConfiguration, MirrorPlan, MirrorProblem, MirrorProblemCode,
    MirrorRules, plan,
};
use serving::Content;

use super::once;
use super::output::{self, ignore_closed_pipe, json, stdout, table};
use super::sources::{self, SourceReference, with_name};
use crate::args::{MirrorCommand, MirrorOutput, MirrorPlanArgs, MirrorSelectionArgs};

/// Schemes that oc-mirror allows before the reference of a catalog.
const SCHEMES: [&str; 3] = ["docker://", "oci://", "oci:"];

/// Runs a subcommand of `mirror`.
pub(super) fn mirror(command: &MirrorCommand) -> anyhow::Result<ExitCode> {
    match command {
        MirrorCommand::Plan(args) => print_plan(args),
        MirrorCommand::Catalog(args) => catalog::write(args),
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

/// A configuration with the source of each of its items.
struct Selection {
    configuration: MirrorConfiguration,
    sources: Vec<LoadedSource>,
    /// Indexes of the sources, by item.
    by_item: Vec<usize>,
}

impl Selection {
    /// Reads the configuration, and loads the sources if it is not refused.
    fn load(args: &MirrorSelectionArgs) -> anyhow::Result<Result<Self, Vec<MirrorProblem>>> {
        let configuration = match MirrorConfiguration::parse(&read_configuration(&args.config)?) {
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
            sources,
            by_item,
        }))
    }

    /// Returns the catalog of each item of the configuration.
    fn catalogs(&self) -> Vec<&Catalog> {
        self.by_item
            .iter()
            .map(|&at| &*self.sources[at].content.catalog)
            .collect()
    }
}

fn read_configuration(path: &Path) -> anyhow::Result<String> {
    let reading = || format!("cannot read the configuration `{}`", path.display());
    if path == Path::new("-") {
        return io::read_to_string(io::stdin()).with_context(reading);
    }
    fs::read_to_string(path).with_context(reading)
}

fn load_sources(args: &MirrorSelectionArgs) -> anyhow::Result<Vec<LoadedSource>> {
    let arguments = &args.catalogs.sources;
    let named: Vec<_> = arguments.iter().map(|source| with_name(source)).collect();
    let entries = sources::catalogs(&named, None, args.images.configs_dir.as_deref())?;
    let references: Vec<_> = entries
        .iter()
        .map(|entry| (entry.name.as_str(), &entry.reference))
        .collect();
    let contents = once::load(references, &args.images)?;
    let mut loaded = Vec::new();
    for ((entry, content), argument) in entries.into_iter().zip(contents).zip(arguments) {
        let name = entry.name.as_str().to_owned();
        let prefix = format!("{name}=");
        let source = argument
            .strip_prefix(&prefix)
            .unwrap_or(argument)
            .to_owned();
        let content = content.map_err(|error| {
            anyhow!("cannot load catalog {name} (`{source}`): {}", error.chain())
        })?;
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

fn without_scheme(reference: &str) -> &str {
    let stripped = SCHEMES
        .iter()
        .find_map(|scheme| reference.strip_prefix(scheme));
    stripped.unwrap_or(reference)
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

/// Prints the plan of a configuration. The exit status is 1 if it is refused.
fn print_plan(args: &MirrorPlanArgs) -> anyhow::Result<ExitCode> {
    let target = args
        .to
        .as_deref()
        .map(|to| MirrorTarget::parse(to, args.max_nested_paths));
    let target = target.transpose()?;
    let loaded = Selection::load(&args.selection)?;
    let plan = match &loaded {
        Err(problems) => MirrorPlan::refused(problems.clone()),
        Ok(selection) => {
            let catalogs = selection.catalogs();
            plan(
                &selection.configuration,
                &catalogs,
                args.rules(),
                &Work::unlimited(),
            )
            .expect("an account without limit stops nothing")
        }
    };
    if args.output == MirrorOutput::Json {
        ignore_closed_pipe(json(&mut stdout(), &plan))?;
        return Ok(status(&plan));
    }
    print_problems(&plan.problems);
    if plan.is_refused() {
        return Ok(ExitCode::FAILURE);
    }

    let targeted = |write: fn(&[mirror::PlannedImage], &MirrorTarget) -> Result<String, _>| {
        let target = target.as_ref().context("--to is missing")?;
        Ok::<_, anyhow::Error>(write(&plan.images, target)?)
    };
    let text = match args.output {
        MirrorOutput::Json | MirrorOutput::Table => bundle_table(&plan),
        MirrorOutput::Lines => plan
            .images
            .iter()
            .flat_map(|image| [image.reference.as_str(), "\n"])
            .collect(),
        MirrorOutput::Mapping => targeted(mapping)?,
        MirrorOutput::Skopeo => targeted(skopeo)?,
        MirrorOutput::Idms => targeted(mirror_sets)?,
        MirrorOutput::Imageset => {
            let Ok(selection) = &loaded else {
                return Ok(ExitCode::FAILURE);
            };
            image_set(selection, args.rules())?
        }
    };
    ignore_closed_pipe(stdout().write_all(text.as_bytes()))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the configuration with which oc-mirror selects the same, of catalogs by digest.
fn image_set(selection: &Selection, rules: MirrorRules) -> anyhow::Result<String> {
    let items = selection
        .configuration
        .operators
        .iter()
        .zip(&selection.by_item);
    let items: Vec<_> = items
        .map(|(item, &at)| {
            let content = &selection.sources[at].content;
            let reference = match (
                &content.image,
                ImageReference::parse(without_scheme(&item.catalog)),
            ) {
                (Some(image), _) => image.to_string(),
                (None, _) => item.catalog.clone(),
            };
            (item, &*content.catalog, reference)
        })
        .collect();
    let work = Work::unlimited();
    let text = mirror::imageset::image_set(&selection.configuration, &items, rules, &work)
        .expect("an account without limit stops nothing");
    Ok(text?)
}

fn status(plan: &MirrorPlan) -> ExitCode {
    if plan.is_refused() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Prints problems to standard error, each with what oc-mirror does instead.
fn print_problems(problems: impl IntoIterator<Item = impl Borrow<PlannedProblem>>) {
    let mut err = output::stderr();
    for problem in problems {
        let problem = problem.borrow();
        let label = match problem.severity {
            "ERROR" => output::error(),
            _ => output::warning(),
        };
        let line = problem
            .line
            .map(|line| format!("line {line}: "))
            .unwrap_or_default();
        // Nothing is left to do when standard error cannot be written to.
        let _ = writeln!(
            err,
            "{label} {line}{}: {} [{}]",
            problem.path, problem.message, problem.code
        );
        if let Some(difference) = problem.like_oc_mirror {
            let _ = writeln!(err, "  oc-mirror {difference}");
        }
    }
}

fn bundle_table(plan: &MirrorPlan) -> String {
    let rows = plan.bundles.iter().map(|bundle| {
        let reasons: Vec<_> = bundle.reasons.iter().map(reason).collect();
        [
            bundle.package.clone(),
            bundle.name.clone(),
            bundle.version.clone().unwrap_or_default(),
            reasons.join(", "),
        ]
    });
    format!(
        "{}{} packages, {} bundles, {} images\n",
        table(["PACKAGE", "BUNDLE", "VERSION", "REASONS"], rows),
        plan.packages.len(),
        plan.bundles.len(),
        plan.images.len()
    )
}

fn reason(reason: &PlannedReason) -> String {
    match &reason.channel {
        Some(channel) => format!("{} of {channel}", reason.kind),
        None => reason.kind.to_owned(),
    }
}
