//! `resolve`: the bundle that OLM v1 would install, and the reason why it is no other.

use std::fmt::Write as _;

use console::style;
use printing::table;
use serde::Deserialize;
use serde_json::json;

use crate::args::{InstalledArg, ResolveArgs};
use crate::documents::RESOLVE;
use crate::output::{is_structured, print, print_object};
use crate::similar::question;
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport};

/// Maximum number of considered bundles in a response.
const MAX_CONSIDERED: usize = 100;

/// Member `__typename` of a response.
const TYPE_NAME: &str = "__typename";

/// Response of the API.
// Every field but the bundle has a default: an older server lacks some.
#[derive(Debug, Deserialize)]
#[serde(tag = "__typename")]
enum ResolveAnswer {
    Resolution {
        bundle: ResolvedBundle,
        #[serde(default)]
        deprecations: Vec<ResolvedDeprecation>,
        #[serde(default)]
        considered: Vec<ConsideredAnswer>,
    },
    #[serde(rename_all = "camelCase")]
    ResolutionFailure {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
        #[serde(default)]
        similar_names: Vec<String>,
        #[serde(default)]
        considered: Vec<ConsideredAnswer>,
    },
    /// Type that a newer server has.
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResolvedBundle {
    name: String,
    version: Option<String>,
    image: Option<String>,
    catalog: ResolvedCatalog,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResolvedCatalog {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResolvedDeprecation {
    schema: String,
    name: String,
    message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ConsideredAnswer {
    bundle: ResolvedBundle,
    /// Reason in the API; `None` for the chosen bundle.
    rejection: Option<String>,
}

/// Prints the bundle that would be installed. The status is negative if there is none.
pub async fn resolve<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ResolveArgs,
) -> Result<ExitStatus, CommandError> {
    let (catalogs, package) = session.split(&args.package);
    let installed = match &args.installed {
        Some(written) => Some(session.installed(&args.package, written).await?),
        None => None,
    };
    let policy = if args.self_certified {
        "SELF_CERTIFIED"
    } else {
        "CATALOG_PROVIDED"
    };
    let has_platform =
        args.kubernetes.is_some() || args.openshift.is_some() || args.architecture.is_some();
    let platform = has_platform.then(|| {
        json!({
            "kubernetes": args.kubernetes,
            "openshift": args.openshift,
            "architecture": args.architecture,
        })
    });
    let mut request = json!({
        "packageName": package,
        "version": args.version,
        "channels": args.channel,
        "catalogs": catalogs,
        "installed": installed,
        "compatibleWith": platform,
        "upgradeConstraintPolicy": policy,
    });
    // A server of an older version does not know it.
    if args.require_verified {
        request["requireVerified"] = true.into();
    }
    let mut data = session
        .data(RESOLVE, &json!({ "request": request }))
        .await?;
    let mut result = data["resolve"].take();
    let answer = ResolveAnswer::deserialize(&result).map_err(|error| {
        let message = format!("cannot read the response of the server: {error}");
        CommandError::new(ExitStatus::Refused, message)
    })?;
    // To the API, a catalog that is not served is one that lacks the package.
    if matches!(answer, ResolveAnswer::ResolutionFailure { .. }) {
        session.check_catalogs(&catalogs).await?;
        session
            .check_channels(&args.package, &args.channel, &[])
            .await?;
    }

    if is_structured(&session.output) {
        let kind = result[TYPE_NAME].as_str().unwrap_or_default().to_owned();
        if let Some(members) = result.as_object_mut() {
            members.remove(TYPE_NAME);
        }
        print_object(&kind, &result, &session.output)?;
    }
    let is_table = !is_structured(&session.output);
    let installed = installed.as_ref();
    match answer {
        ResolveAnswer::Resolution {
            bundle,
            deprecations,
            considered,
        } => {
            if is_table {
                print(&chosen(&bundle, &deprecations, installed))?;
                print(&considered_table(session, &considered, installed))?;
            }
            Ok(ExitStatus::Success)
        }
        ResolveAnswer::ResolutionFailure {
            code,
            message,
            similar_names,
            considered,
        } => {
            let status = if code == "INVALID_REQUEST" {
                ExitStatus::Usage
            } else {
                ExitStatus::Negative
            };
            if !is_table {
                return Ok(status);
            }
            print(&considered_table(session, &considered, installed))?;
            Err(CommandError::from_api(status, &message).hint_if(question(&similar_names)))
        }
        ResolveAnswer::Unknown => Err(CommandError::new(
            ExitStatus::Refused,
            "the server answers in a way that this version does not know",
        )),
    }
}

/// Describes the chosen bundle.
fn chosen(
    bundle: &ResolvedBundle,
    deprecations: &[ResolvedDeprecation],
    installed: Option<&InstalledArg>,
) -> String {
    let mut out = String::new();
    if installed.is_some_and(|installed| installed.name == bundle.name) {
        out += "no upgrade: the installed bundle is the one that would be chosen\n";
    }
    let name = style(&bundle.name).bold();
    let image = bundle.image.as_deref().unwrap_or_default();
    let _infallible = writeln!(out, "{name} of catalog {}\n{image}", bundle.catalog.name);
    for ResolvedDeprecation {
        schema,
        name,
        message,
    } in deprecations
    {
        let word = style("deprecated:").yellow().bold();
        let _infallible = writeln!(out, "{word} {schema} {name}: {message}");
    }
    out + "\n"
}

/// Returns the table of the considered bundles; empty if there are none.
fn considered_table<T>(
    session: &CommandSession<T>,
    considered: &[ConsideredAnswer],
    installed: Option<&InstalledArg>,
) -> String {
    if considered.is_empty() {
        return String::new();
    }
    let rows = considered.iter().map(|item| {
        let bundle = &item.bundle;
        let is_installed = installed.is_some_and(|installed| installed.name == bundle.name);
        let result = match item.rejection.as_deref() {
            None if is_installed => style("chosen: installed already").green(),
            None => style("chosen").green(),
            Some(_) if is_installed => style("installed now"),
            Some(rejection) => style(rejection_text(rejection)),
        };
        [
            bundle.name.clone(),
            bundle.version.clone().unwrap_or_default(),
            bundle.catalog.name.clone(),
            result.to_string(),
        ]
    });
    let header = ["BUNDLE", "VERSION", "CATALOG", "RESULT"];
    let mut out = table(header.into_iter().filter(|_| session.has_headers), rows);
    if considered.len() == MAX_CONSIDERED {
        let _infallible = writeln!(out, "These are the {MAX_CONSIDERED} best.");
    }
    out
}

/// Returns a rejection in words; one of a newer server as it is.
fn rejection_text(rejection: &str) -> &str {
    match rejection {
        "CHANNEL" => "in none of these channels",
        "VERSION" => "version out of range, or malformed",
        "NOT_A_SUCCESSOR" => "no upgrade from the installed bundle",
        "INCOMPATIBLE" => "does not run on this platform",
        "DEPRECATED" => "deprecated: one that is not is preferred",
        "LOWER_VERSION" => "lower version",
        "LOWER_PRIORITY" => "catalog of lower priority",
        "AMBIGUOUS" => "as good as one in another catalog",
        "HAS_DEPENDENCIES" => "has dependencies, which OLM v1 does not support",
        other => other,
    }
}
