//! `manifest`: objects for a cluster, for `kubectl apply -f -`. The plugin itself changes nothing.

use commands::args::SupportArgs;
use commands::documents::{BUNDLES, RESOLVE};
use commands::output::{OutputFormat, hint, print, yaml};
use commands::{ChosenPackage, CommandError, ExitStatus, ListRequest};
use printing::text;
use serde_json::{Value, json};

use crate::args::{ManifestKind, OlmV1Release};
use crate::context::ServerSession;
use crate::documents::MANIFEST;

/// Label of a `ClusterCatalog` with its name, which OLM sets.
pub(super) const NAME_LABEL: &str = "olm.operatorframework.io/metadata.name";

/// The manifest that is wanted.
#[derive(Clone, Copy)]
pub(super) struct WantedManifest<'a> {
    pub(super) kind: ManifestKind,
    pub(super) channel: Option<&'a str>,
    pub(super) range: Option<&'a str>,
    pub(super) release: OlmV1Release,
}

/// Prints a manifest.
pub(super) async fn manifest(
    session: &ServerSession,
    package: &str,
    wanted: WantedManifest<'_>,
) -> Result<(), CommandError> {
    let chosen = session.choose(package).await?;
    check(session, &chosen, wanted).await?;
    let data = session
        .data(
            MANIFEST,
            &json!({ "catalog": chosen.catalog, "package": chosen.package }),
        )
        .await?;
    let package = &data["package"];
    let object = match wanted.kind {
        ManifestKind::ClusterExtension => cluster_extension(package, wanted),
        ManifestKind::Subscription => subscription(package, wanted.channel),
        ManifestKind::ClusterCatalog => cluster_catalog(package)?,
    };
    match &session.output {
        OutputFormat::Json => {
            print(&(serde_json::to_string_pretty(&object).expect("it is JSON") + "\n"))
        }
        _ => print(&yaml(&object)),
    }
}

/// Fails on a channel that the package does not have, and says what the manifest will not do.
async fn check(
    session: &ServerSession,
    chosen: &ChosenPackage,
    wanted: WantedManifest<'_>,
) -> Result<(), CommandError> {
    let WantedManifest {
        kind,
        channel,
        range,
        ..
    } = wanted;
    let channels: Vec<_> = channel.map(str::to_owned).into_iter().collect();
    let mut found = Vec::new();
    if let Some(range) = range.filter(|_| kind == ManifestKind::ClusterExtension) {
        let filter = json!({ "channels": channels, "versionRange": range });
        let mut variables =
            json!({ "catalogs": [chosen.catalog], "packages": [chosen.package], "filter": filter });
        SupportArgs::default().add_to(&mut variables);
        found = session
            .list(ListRequest {
                document: BUNDLES,
                variables,
                connection: "/bundles",
                limit: 1,
            })
            .await?;
    }
    session
        .check_channels(&chosen.full_name(), &channels, &found)
        .await?;
    match (kind, range) {
        (ManifestKind::ClusterExtension, Some(range)) if found.is_empty() => {
            let place = channel
                .map(|channel| format!(" in channel `{channel}`"))
                .unwrap_or_default();
            let message = format!(
                "package `{}` has no bundle{place} with a version in `{range}`",
                chosen.package
            );
            return Err(CommandError::new(ExitStatus::NotFound, message));
        }
        (ManifestKind::Subscription, Some(_)) => {
            hint("a Subscription has no range of versions: --version is left out");
        }
        (ManifestKind::ClusterCatalog, _) if channel.is_some() || range.is_some() => {
            hint("a ClusterCatalog installs no package: --channel and --version are left out");
        }
        (ManifestKind::ClusterExtension, _) => {
            warn_of_refusal(session, chosen, &channels, range).await?;
        }
        _ => {}
    }
    Ok(())
}

/// Warns if OLM v1 finds no bundle to install for the manifest.
async fn warn_of_refusal(
    session: &ServerSession,
    chosen: &ChosenPackage,
    channels: &[String],
    range: Option<&str>,
) -> Result<(), CommandError> {
    let request = json!({
        "packageName": chosen.package,
        "version": range,
        "channels": channels,
        "catalogs": [chosen.catalog],
    });
    let data = session
        .data(RESOLVE, &json!({ "request": request }))
        .await?;
    let answer = &data["resolve"];
    if answer["__typename"] != "ResolutionFailure" {
        return Ok(());
    }
    let message = text(answer, "/message");
    hint(&format!(
        "{} OLM v1 would not install it: {message}",
        printing::warning()
    ));
    if answer["code"] == "HAS_DEPENDENCIES" {
        hint("OLM v0 installs dependencies: `--kind subscription` prints a manifest for it");
    }
    Ok(())
}

fn namespace(package: &Value) -> String {
    let suggested = text(package, "/metadata/suggestedNamespace");
    if suggested.is_empty() {
        text(package, "/name")
    } else {
        suggested
    }
}

fn cluster_extension(package: &Value, wanted: WantedManifest<'_>) -> Value {
    let name = text(package, "/name");
    let labels = json!({ NAME_LABEL: package["catalog"]["name"] });
    let mut catalog = json!({ "packageName": name, "selector": { "matchLabels": labels } });
    if let Some(channel) = wanted.channel {
        catalog["channels"] = json!([channel]);
    }
    if let Some(range) = wanted.range {
        catalog["version"] = json!(range);
    }
    let mut spec = json!({ "namespace": namespace(package) });
    if wanted.release.needs_service_account() {
        hint(&format!(
            "the ServiceAccount `{name}-installer` needs the rights to install the package"
        ));
        spec["serviceAccount"] = json!({ "name": format!("{name}-installer") });
    }
    spec["source"] = json!({ "sourceType": "Catalog", "catalog": catalog });
    json!({
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
        "metadata": { "name": name },
        "spec": spec,
    })
}

fn subscription(package: &Value, channel: Option<&str>) -> Value {
    let channel = channel.map_or_else(|| text(package, "/defaultChannel/name"), str::to_owned);
    // The controller names catalogs of OLM v0 NAMESPACE.NAME.
    let catalog = text(package, "/catalog/name");
    let (source_namespace, source) = catalog.split_once('.').unwrap_or(("olm", &catalog));
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
        "metadata": { "name": package["name"], "namespace": namespace(package) },
        "spec": { "channel": channel, "name": package["name"], "source": source, "sourceNamespace": source_namespace },
    })
}

fn cluster_catalog(package: &Value) -> Result<Value, CommandError> {
    let image = text(package, "/catalog/image");
    if image.is_empty() {
        let message = format!(
            "catalog `{}` did not come from an image",
            text(package, "/catalog/name")
        );
        return Err(CommandError::new(ExitStatus::NotFound, message));
    }
    Ok(json!({
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterCatalog",
        "metadata": { "name": package["catalog"]["name"] },
        "spec": { "source": { "type": "Image", "image": { "ref": image } } },
    }))
}
