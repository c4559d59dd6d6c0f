//! `catalogql resolve`: prints which bundle OLM would install, and why not the others.

use std::io::{self, Write};
use std::process::ExitCode;

use console::style;
use fbc::work::Work;
use fbc::{Deprecation, Package, Platform};
use fbc_graph::resolve::{
    Considered, FailureCode, InstalledBundle, MAX_CONSIDERED, Offer, Rejection, Resolution,
    ResolutionFailure, ResolutionRequest, resolve as pick,
};
use serde::Serialize;

use super::output::{ignore_closed_pipe, json, stdout, table};
use super::similar::similar_names;
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

/// Prints which bundle would be installed. The exit status says whether any would, also when nobody
/// reads the output to its end.
pub(super) fn resolve(args: &ResolveArgs) -> anyhow::Result<ExitCode> {
    let mut wanted = sources::catalogs(
        &args.catalogs.sources,
        None,
        args.images.configs_dir.as_deref(),
    )?;
    wanted.sort_by(|one, other| one.name.cmp(&other.name));
    let sources = wanted
        .iter()
        .map(|entry| (entry.name.as_str(), &entry.reference));
    let contents: Vec<_> = once::load(sources, &args.images)?;
    let contents: Vec<_> = contents
        .into_iter()
        .map(|content| content.map_err(|error| error.chain()))
        .collect();
    let offers: Vec<_> = wanted
        .iter()
        .zip(&contents)
        .map(|(wanted, content)| Offer {
            name: wanted.name.as_str(),
            priority: wanted.metadata.priority,
            labels: &wanted.metadata.labels,
            content: content
                .as_ref()
                .map(|content| &*content.catalog)
                .map_err(String::as_str),
        })
        .collect();
    let channels: Vec<_> = args.channel.iter().map(String::as_str).collect();
    let platform = Platform {
        kubernetes: args.kubernetes,
        openshift: args.openshift,
        architecture: args.architecture.as_deref(),
    };
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
    let found = pick(&request, &offers, &Work::unlimited())
        .expect("an account without limit stops nothing");
    let mut out = stdout();
    let printed = match args.output {
        OutputFormat::Json => json(&mut out, &json_outcome(&found, &offers)),
        OutputFormat::Table => {
            let installed = args
                .installed
                .as_ref()
                .map(|installed| installed.name.as_str());
            text(&mut out, &found, &offers, &args.package, installed)
        }
    };
    ignore_closed_pipe(printed.and_then(|()| out.flush()))?;
    Ok(if found.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn considered<'f, 'a>(
    found: &'f Result<Resolution<'a>, ResolutionFailure<'a>>,
) -> &'f [Considered<'a>] {
    match found {
        Ok(resolution) => &resolution.considered,
        Err(failure) => &failure.considered,
    }
}

fn message(deprecation: &Deprecation<'_>) -> String {
    deprecation
        .message()
        .map(|message| message.decode().into_owned())
        .unwrap_or_default()
}

fn json_outcome<'a>(
    found: &'a Result<Resolution<'a>, ResolutionFailure<'a>>,
    offers: &[Offer<'a>],
) -> JsonOutcome<'a> {
    let deprecation = |deprecation: &Deprecation<'a>| JsonDeprecation {
        schema: deprecation.schema(),
        name: deprecation.name(),
        message: message(deprecation),
    };
    let resolution = found.as_ref().ok().map(
        |Resolution {
             offer,
             bundle,
             deprecations,
             ..
         }| JsonResolution {
            catalog: offers[*offer].name,
            bundle: bundle.name(),
            version: bundle.version(),
            release: bundle.release(),
            image: bundle.image().decode().into_owned(),
            deprecations: deprecations.iter().map(deprecation).collect(),
        },
    );
    let failure = found.as_ref().err();
    let reason = |&Considered {
                      offer,
                      bundle,
                      rejection,
                  }: &Considered<'a>| JsonConsidered {
        catalog: offers[offer].name,
        bundle: bundle.name(),
        version: bundle.version(),
        rejection: rejection.map(Rejection::as_str),
    };
    JsonOutcome {
        resolution,
        failure: failure.map(|ResolutionFailure { code, message, .. }| JsonFailure {
            code: code.as_str(),
            message,
        }),
        considered: considered(found).iter().map(reason).collect(),
    }
}

/// Prints the choice, or why there is none, and then a table of the bundles that were considered.
fn text(
    out: &mut impl Write,
    found: &Result<Resolution<'_>, ResolutionFailure<'_>>,
    offers: &[Offer<'_>],
    package: &str,
    installed: Option<&str>,
) -> io::Result<()> {
    match found {
        Ok(Resolution {
            offer,
            bundle,
            deprecations,
            ..
        }) => {
            if installed == Some(bundle.name()) {
                writeln!(
                    out,
                    "no upgrade: the installed bundle is the one that would be chosen"
                )?;
            }
            writeln!(
                out,
                "{} of catalog {}",
                style(bundle.name()).bold(),
                offers[*offer].name
            )?;
            writeln!(out, "{}", bundle.image().decode())?;
            for deprecation in deprecations {
                let word = style("deprecated:").yellow().bold();
                writeln!(
                    out,
                    "{word} {} {}: {}",
                    deprecation.schema(),
                    deprecation.name(),
                    message(deprecation)
                )?;
            }
        }
        Err(failure) => {
            let similar = if failure.code == FailureCode::PackageNotFound {
                similar_packages(package, offers)
            } else {
                String::new()
            };
            writeln!(
                out,
                "{} {}{similar}",
                style("error:").red().bold(),
                failure.message
            )?;
        }
    }
    let considered = considered(found);
    if considered.is_empty() {
        return Ok(());
    }
    let rows = considered.iter().map(
        |&Considered {
             offer,
             bundle,
             rejection,
         }| {
            let is_installed = installed == Some(bundle.name());
            let result = match rejection {
                None if is_installed => style("chosen: installed already").green(),
                None => style("chosen").green(),
                Some(_) if is_installed => style("installed now"),
                Some(rejection) => style(why_not(rejection)),
            };
            let version = bundle.version().unwrap_or_default();
            [
                bundle.name(),
                version,
                offers[offer].name,
                &result.to_string(),
            ]
            .map(str::to_owned)
        },
    );
    write!(
        out,
        "\n{}",
        table(["BUNDLE", "VERSION", "CATALOG", "RESULT"], rows)
    )?;
    if considered.len() == MAX_CONSIDERED {
        writeln!(out, "These are the {MAX_CONSIDERED} best.")?;
    }
    Ok(())
}

/// Returns the question that follows the message about a package that no catalog has.
fn similar_packages(package: &str, offers: &[Offer<'_>]) -> String {
    let catalogs = offers.iter().filter_map(|offer| offer.content.ok());
    let names = catalogs.flat_map(|catalog| catalog.packages().map(Package::name));
    // It is there if another catalog cannot be read.
    similar_names(package, names.filter(|name| *name != package))
}

fn why_not(rejection: Rejection) -> &'static str {
    match rejection {
        Rejection::Channel => "in none of these channels",
        Rejection::Version => "version out of range, or malformed",
        Rejection::NotASuccessor => "no upgrade from the installed bundle",
        Rejection::Incompatible => "does not run on this platform",
        Rejection::Deprecated => "deprecated: one that is not is preferred",
        Rejection::LowerVersion => "lower version",
        Rejection::LowerPriority => "catalog of lower priority",
        Rejection::Ambiguous => "as good as one in another catalog",
        Rejection::HasDependencies => "has dependencies, which OLM v1 does not support",
    }
}
