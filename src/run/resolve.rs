//! `catalogql resolve`: prints which bundle OLM would install, and why not the others.

use std::io::{self, Write};
use std::process::ExitCode;

use console::style;
use fbc::catalog::{Deprecation, Platform};
use fbc::resolve::{
    Considered, InstalledBundle, MAX_CONSIDERED, Offer, Rejection, Resolution, ResolutionFailure, ResolutionRequest,
    resolve as pick,
};
use fbc::work::Work;
use serde::Serialize;

use super::output::{ignore_closed_pipe, json, table};
use super::{once, sources};
use crate::args::{OutputFormat, ResolveArgs};

/// The output for programs.
#[derive(Serialize)]
struct JsonOutcome<'a> {
    /// The bundle that would be installed.
    resolution: Option<JsonResolution<'a>>,
    /// The reason why no bundle would be installed.
    failure: Option<JsonFailure<'a>>,
    /// The bundles that were considered, best first.
    considered: Vec<JsonConsidered<'a>>,
}

#[derive(Serialize)]
struct JsonResolution<'a> {
    catalog: &'a str,
    bundle: &'a str,
    version: Option<&'a str>,
    release: Option<&'a str>,
    image: String,
    deprecations: Vec<JsonDeprecation<'a>>,
}

#[derive(Serialize)]
struct JsonDeprecation<'a> {
    schema: &'a str,
    name: &'a str,
    message: String,
}

#[derive(Serialize)]
struct JsonFailure<'a> {
    code: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct JsonConsidered<'a> {
    catalog: &'a str,
    bundle: &'a str,
    version: Option<&'a str>,
    /// The reason why it was not chosen.
    rejection: Option<&'a str>,
}

/// Prints which bundle would be installed. The exit status says whether any would, also when nobody reads the output to
/// its end.
pub(super) fn resolve(args: &ResolveArgs) -> anyhow::Result<ExitCode> {
    let mut wanted = sources::catalogs(&args.catalogs.sources, None, args.images.configs_dir.as_deref())?;
    wanted.sort_by(|one, other| one.name.cmp(&other.name));
    let sources = wanted.iter().map(|entry| (entry.name.as_str(), &entry.reference));
    let contents: Vec<_> = once::load(sources, &args.images)?;
    let contents: Vec<_> = contents.into_iter().map(|content| content.map_err(|error| error.chain())).collect();
    let offers: Vec<_> = wanted
        .iter()
        .zip(&contents)
        .map(|(wanted, content)| Offer {
            name: wanted.name.as_str(),
            priority: wanted.metadata.priority,
            labels: &wanted.metadata.labels,
            content: content.as_ref().map(|content| &*content.catalog).map_err(String::as_str),
        })
        .collect();
    let channels: Vec<_> = args.channel.iter().map(String::as_str).collect();
    let platform =
        Platform { kubernetes: args.kubernetes, openshift: args.openshift, architecture: args.architecture.as_deref() };
    let request = ResolutionRequest {
        package: &args.package,
        version: args.version.as_deref().unwrap_or_default(),
        channels: &channels,
        installed: args.installed.as_ref().map(|installed| InstalledBundle {
            name: &installed.name,
            version: &installed.version,
            release: None,
        }),
        platform: Some(platform).filter(|platform| !platform.is_any()),
        ..ResolutionRequest::default()
    };
    let found = pick(&request, &offers, &Work::unlimited()).expect("an account without limit stops nothing");
    let stdout = io::stdout();
    let mut out = stdout.lock();
    let printed = match args.output {
        OutputFormat::Json => json(&mut out, &json_outcome(&found, &offers)),
        OutputFormat::Table => text(&mut out, &found, &offers),
    };
    ignore_closed_pipe(printed.and_then(|()| out.flush()))?;
    Ok(if found.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn considered<'f, 'a>(found: &'f Result<Resolution<'a>, ResolutionFailure<'a>>) -> &'f [Considered<'a>] {
    match found {
        Ok(resolution) => &resolution.considered,
        Err(failure) => &failure.considered,
    }
}

fn message(deprecation: &Deprecation<'_>) -> String {
    deprecation.message().map(|message| message.decode().into_owned()).unwrap_or_default()
}

fn json_outcome<'a>(found: &'a Result<Resolution<'a>, ResolutionFailure<'a>>, offers: &[Offer<'a>]) -> JsonOutcome<'a> {
    let deprecation = |deprecation: &Deprecation<'a>| JsonDeprecation {
        schema: deprecation.schema(),
        name: deprecation.name(),
        message: message(deprecation),
    };
    let resolution = found.as_ref().ok().map(|Resolution { offer, bundle, deprecations, .. }| JsonResolution {
        catalog: offers[*offer].name,
        bundle: bundle.name(),
        version: bundle.version(),
        release: bundle.release(),
        image: bundle.image().decode().into_owned(),
        deprecations: deprecations.iter().map(deprecation).collect(),
    });
    let failure = found.as_ref().err();
    let reason = |&Considered { offer, bundle, rejection }: &Considered<'a>| JsonConsidered {
        catalog: offers[offer].name,
        bundle: bundle.name(),
        version: bundle.version(),
        rejection: rejection.map(Rejection::as_str),
    };
    JsonOutcome {
        resolution,
        failure: failure.map(|ResolutionFailure { code, message, .. }| JsonFailure { code: code.as_str(), message }),
        considered: considered(found).iter().map(reason).collect(),
    }
}

/// Prints the choice, or why there is none, and then a table of the bundles that were considered.
fn text(
    out: &mut impl Write,
    found: &Result<Resolution<'_>, ResolutionFailure<'_>>,
    offers: &[Offer<'_>],
) -> io::Result<()> {
    match found {
        Ok(Resolution { offer, bundle, deprecations, .. }) => {
            writeln!(out, "{} of catalog {}", style(bundle.name()).bold(), offers[*offer].name)?;
            writeln!(out, "{}", bundle.image().decode())?;
            for deprecation in deprecations {
                let word = style("deprecated:").yellow().bold();
                writeln!(out, "{word} {} {}: {}", deprecation.schema(), deprecation.name(), message(deprecation))?;
            }
        }
        Err(failure) => writeln!(out, "{} {}", style("error:").red().bold(), failure.message)?,
    }
    let considered = considered(found);
    if considered.is_empty() {
        return Ok(());
    }
    let rows = considered.iter().map(|&Considered { offer, bundle, rejection }| {
        let why = rejection.map_or(style("chosen").green(), |rejection| style(why_not(rejection)));
        let version = bundle.version().unwrap_or_default();
        [offers[offer].name, bundle.name(), version, &why.to_string()].map(str::to_owned)
    });
    writeln!(out, "\n{}", table(["CATALOG", "BUNDLE", "VERSION", "WHY NOT"], rows).trim_fmt())?;
    if considered.len() == MAX_CONSIDERED {
        writeln!(out, "These are the {MAX_CONSIDERED} best.")?;
    }
    Ok(())
}

fn why_not(rejection: Rejection) -> &'static str {
    match rejection {
        Rejection::Channel => "in none of the channels asked for",
        Rejection::Version => "version not in the range asked for, or malformed",
        Rejection::NotASuccessor => "nothing lets the installed bundle be upgraded to it",
        Rejection::Incompatible => "does not run on the platform asked for",
        Rejection::Deprecated => "deprecated, and another is not",
        Rejection::LowerVersion => "the catalog has a higher version",
        Rejection::LowerPriority => "another catalog has a higher priority",
        Rejection::Ambiguous => "another catalog of the same priority has one that is equally good",
        Rejection::HasDependencies => "needs other bundles, which cannot be installed with it",
    }
}
