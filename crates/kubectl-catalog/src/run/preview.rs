//! `preview`: what an install of a bundle creates in a cluster, and what it may do there.

use commands::args::CertificateProviderArg;
use commands::output::{OutputFormat, hint, is_structured, print, print_value, yaml};
use commands::preview::tables;
use commands::{ChosenPackage, CommandError, ExitStatus};
use printing::text;
use serde_json::{Value, json};

use crate::args::PreviewArgs;
use crate::context::{ServerSession, bundle_name};
use crate::documents::{DEFAULT_HEAD, INSTALLATION};

/// Prints the objects of an install, with what they may do.
///
/// The status is negative if the install would be refused, or has a risk that the arguments name.
pub(super) async fn preview(
    session: &ServerSession,
    args: &PreviewArgs,
) -> Result<ExitStatus, CommandError> {
    let (package, version) = match args.package.split_once('@') {
        Some((package, version)) => (package, Some(version)),
        None => (&*args.package, None),
    };
    let chosen = session.choose(package).await?;
    let head = default_head(session, &chosen).await?;
    let bundle = match version {
        Some(version) => bundle_name(session, &chosen, version).await?,
        None => head.bundle(&chosen)?,
    };
    let from = match &args.from {
        Some(from) => bundle_name(session, &chosen, from).await?,
        None => String::new(),
    };
    let namespace = args.install_namespace.clone().unwrap_or(head.namespace);
    let variables = json!({
        "catalog": chosen.catalog,
        "package": chosen.package,
        "bundle": bundle,
        "input": {
            "namespace": namespace,
            "watchNamespaces": args.watch_namespaces,
            "certificates": args.certificates.map(CertificateProviderArg::in_schema),
        },
        "from": from,
        "compares": args.from.is_some(),
    });
    let mut data = session.data(INSTALLATION, &variables).await?;
    let found = &mut data["bundle"];
    let installation = found["installation"].take();
    if installation.is_null() {
        let message =
            "the server cannot say what an install creates: it is older than this program";
        return Err(CommandError::new(ExitStatus::Usage, message.to_owned()));
    }
    if installation["errors"] != json!([]) {
        return refusal(session, &installation["errors"]);
    }
    let mut install = json!({
        "package": chosen.package,
        "bundle": found["name"],
        "version": found["version"],
        "namespace": namespace,
    });
    for member in [
        "targetNamespaces",
        "objects",
        "flags",
        "permissions",
        "workloads",
        "webhooks",
        "crds",
        "difference",
    ] {
        install[member] = installation[member].clone();
    }
    let objects = install["objects"].as_array_mut().into_iter().flatten();
    for object in objects {
        *object = object["manifest"].take();
    }
    print_install(session, &install)?;

    let flags = match &args.from {
        Some(_) => &install["difference"]["flagsGained"],
        None => &install["flags"],
    };
    let flags = flags.as_array().into_iter().flatten();
    let failures: Vec<_> = flags
        .filter_map(Value::as_str)
        .filter(|flag| args.fail_on.iter().any(|unwanted| unwanted == flag))
        .collect();
    if failures.is_empty() {
        return Ok(ExitStatus::Success);
    }
    hint(&format!(
        "the install has flags of --fail-on: {}",
        failures.join(" ")
    ));
    Ok(ExitStatus::Negative)
}

/// The head of the default channel of a package, and the namespace that it suggests.
struct DefaultHead {
    bundle: Option<String>,
    namespace: String,
}

impl DefaultHead {
    fn bundle(&self, chosen: &ChosenPackage) -> Result<String, CommandError> {
        self.bundle.clone().ok_or_else(|| {
            let message = format!(
                "package `{}` has no head of its default channel",
                chosen.package
            );
            CommandError::new(ExitStatus::NotFound, message)
                .hint("name a version: PACKAGE@VERSION".to_owned())
        })
    }
}

async fn default_head(
    session: &ServerSession,
    chosen: &ChosenPackage,
) -> Result<DefaultHead, CommandError> {
    let variables = json!({ "catalog": chosen.catalog, "package": chosen.package });
    let data = session.data(DEFAULT_HEAD, &variables).await?;
    let package = &data["package"];
    let bundle = package["defaultChannel"]["head"]["name"].as_str();
    let suggested = text(package, "/metadata/suggestedNamespace");
    let namespace = if suggested.is_empty() {
        chosen.package.clone()
    } else {
        suggested
    };
    Ok(DefaultHead {
        bundle: bundle.map(str::to_owned),
        namespace,
    })
}

/// Prints why an install would be refused.
fn refusal(session: &ServerSession, errors: &Value) -> Result<ExitStatus, CommandError> {
    if is_structured(&session.output) {
        print_value(&json!({ "errors": errors }), &session.output)?;
    } else {
        for error in errors.as_array().into_iter().flatten() {
            hint(&format!("refused: {}", text(error, "/message")));
        }
    }
    Ok(ExitStatus::Negative)
}

fn print_install(session: &ServerSession, install: &Value) -> Result<(), CommandError> {
    match &session.output {
        OutputFormat::Table | OutputFormat::Wide => print(&tables(install)),
        // The objects alone, as `kubectl apply` takes them.
        OutputFormat::Yaml => {
            let objects = install["objects"].as_array().into_iter().flatten();
            let documents = objects.map(|object| format!("---\n{}", yaml(object)));
            print(&documents.collect::<String>())
        }
        format => print_value(install, format),
    }
}
