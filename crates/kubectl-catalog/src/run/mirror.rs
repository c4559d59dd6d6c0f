//! `mirror`: what a disconnected cluster needs of the served catalogs: by a configuration of
//! oc-mirror, by packages, or by what is installed in a cluster.

use std::collections::BTreeMap;
use std::path::Path;

use catalogql_client::{InstalledObject, installed};
use commands::args::CatalogAlias;
use commands::file_argument::read_text;
use commands::mirror::{MirrorItem, MirrorRequest, check_output, mirror as print, without_scheme};
use commands::output::hint;
use commands::{CommandError, ExitStatus};
use printing::text;
use serde_json::{Value, json};

use crate::args::{CommonArgs, MirrorArgs};
use crate::context::{ServedCatalog, ServerSession, cluster_options, served_catalogs};
use crate::error::api_server_error;

/// Prints what is selected.
pub(super) async fn mirror(
    session: &ServerSession,
    common: &CommonArgs,
    args: &MirrorArgs,
) -> Result<ExitStatus, CommandError> {
    check_output(&session.output, &args.target)?;
    let mut request = if let Some(path) = &args.config {
        of_configuration(session, path, args).await?
    } else if args.from_cluster {
        of_cluster(session, common, args).await?
    } else {
        of_packages(session, args).await?
    };
    for item in &mut request.items {
        item.input["rules"] = args.rules.as_str().into();
    }
    print(session, request, &args.target).await
}

/// Returns the selections of a configuration.
async fn of_configuration(
    session: &ServerSession,
    path: &Path,
    args: &MirrorArgs,
) -> Result<MirrorRequest, CommandError> {
    let text = read_text(path).map_err(|error| {
        let message = format!(
            "cannot read the configuration `{}`: {error}",
            path.display()
        );
        CommandError::new(ExitStatus::Usage, message)
    })?;
    let catalogs = served_catalogs(session).await?;
    let Some(first) = catalogs.first() else {
        session.check_catalogs(&session.catalogs).await?;
        return Err(no_catalogs());
    };
    let item = |operator: usize, catalog: &str| MirrorItem {
        catalog: catalog.to_owned(),
        input: json!({ "configuration": text, "operator": operator }),
    };
    let names = catalog_references(&text);
    // The server says what is wrong with a configuration that names no catalog.
    if names.is_empty() {
        return Ok(MirrorRequest {
            items: vec![item(0, &first.name)],
            problems: Vec::new(),
        });
    }
    let mut request = MirrorRequest::default();
    for (at, name) in names.iter().enumerate() {
        match find(name, &catalogs, &args.reference) {
            Some(catalog) => request.items.push(item(at, &catalog.name)),
            None => request.problems.push(unknown_catalog(at, name, &catalogs)),
        }
    }
    if !request.problems.is_empty() {
        request.items.clear();
    }
    Ok(request)
}

/// Returns the selections of packages.
async fn of_packages(
    session: &ServerSession,
    args: &MirrorArgs,
) -> Result<MirrorRequest, CommandError> {
    let input = args.need.input()?.unwrap_or_default();
    let mut by_catalog: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for package in input["packages"].as_array().into_iter().flatten() {
        let chosen = session.choose(&text(package, "/name")).await?;
        let mut package = package.clone();
        package["name"] = chosen.package.into();
        by_catalog.entry(chosen.catalog).or_default().push(package);
    }
    Ok(request_of(by_catalog))
}

/// Returns the selections of what is installed in a cluster: upgrades of each package, in the
/// channels that its objects name.
async fn of_cluster(
    session: &ServerSession,
    common: &CommonArgs,
    args: &MirrorArgs,
) -> Result<MirrorRequest, CommandError> {
    let objects = installed(&cluster_options(common))
        .await
        .map_err(api_server_error)?;
    if objects.is_empty() {
        let message = "cannot mirror what is installed: the cluster has neither Subscriptions nor ClusterExtensions that have installed anything";
        return Err(CommandError::new(ExitStatus::NotFound, message));
    }
    let mut by_package: BTreeMap<&str, Vec<&InstalledObject>> = BTreeMap::new();
    for object in &objects {
        by_package.entry(&object.package).or_default().push(object);
    }
    let mut by_catalog: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut left_out = Vec::new();
    for (name, objects) in by_package {
        match session.choose(name).await {
            Ok(chosen) => {
                let package = package_of(&objects, args);
                by_catalog.entry(chosen.catalog).or_default().push(package);
            }
            // One package that nobody serves does not hide the others.
            Err(error) if error.status == ExitStatus::NotFound => left_out.push(error.message),
            Err(error) => return Err(error),
        }
    }
    for message in left_out {
        hint(&format!("left out: {message}"));
    }
    if by_catalog.is_empty() {
        session.check_catalogs(&session.catalogs).await?;
        let message = "cannot mirror what is installed: no served catalog has any of the packages";
        return Err(CommandError::new(ExitStatus::NotFound, message));
    }
    Ok(request_of(by_catalog))
}

/// Returns the `MirrorPackageInput` for objects that install one package.
fn package_of(objects: &[&InstalledObject], args: &MirrorArgs) -> Value {
    let from = objects.iter().map(|object| match &*object.version {
        "" => object.bundle.clone(),
        version => format!("{}@{version}", object.bundle),
    });
    let mut from: Vec<_> = from.collect();
    let mut channels: Vec<_> = objects.iter().flat_map(|object| &object.channels).collect();
    from.sort();
    from.dedup();
    channels.sort();
    channels.dedup();
    let channels: Vec<_> = channels
        .iter()
        .map(|name| json!({ "name": name }))
        .collect();
    let mut package = json!({
        "name": objects[0].package, "from": from, "channels": channels,
        "dependencies": args.need.dependencies,
    });
    args.need.add_platform(&mut package);
    package
}

fn request_of(by_catalog: BTreeMap<String, Vec<Value>>) -> MirrorRequest {
    let items = by_catalog
        .into_iter()
        .map(|(catalog, packages)| MirrorItem {
            catalog,
            input: json!({ "packages": packages }),
        });
    MirrorRequest {
        items: items.collect(),
        problems: Vec::new(),
    }
}

/// Returns the references of the catalogs that a configuration names; empty if it is malformed.
fn catalog_references(text: &str) -> Vec<String> {
    let value: Value = serde_saphyr::from_str(text).unwrap_or_default();
    let items = value.pointer("/mirror/operators").and_then(Value::as_array);
    let names = items.into_iter().flatten();
    let names: Option<Vec<_>> = names
        .map(|item| item["catalog"].as_str().map(str::to_owned))
        .collect();
    names.unwrap_or_default()
}

/// Finds the served catalog that a configuration names: by its name, by the reference of its image
/// with tag or digest, or by the repository of that if no other one is served from it.
fn find<'c>(
    wanted: &str,
    catalogs: &'c [ServedCatalog],
    aliases: &[CatalogAlias],
) -> Option<&'c ServedCatalog> {
    let wanted = without_scheme(wanted);
    let alias = aliases
        .iter()
        .find(|alias| without_scheme(&alias.reference) == wanted);
    if let Some(alias) = alias {
        return catalogs.iter().find(|catalog| catalog.name == alias.name);
    }
    let exact = catalogs
        .iter()
        .find(|catalog| [&*catalog.name, &catalog.image, &catalog.reference].contains(&wanted));
    exact.or_else(|| {
        let is_same = |catalog: &&ServedCatalog| {
            !catalog.image.is_empty() && repository(&catalog.image) == repository(wanted)
        };
        let mut same = catalogs.iter().filter(is_same);
        same.next().filter(|_| same.next().is_none())
    })
}

/// Returns a reference without its tag and digest.
fn repository(reference: &str) -> &str {
    let named = reference
        .split_once('@')
        .map_or(reference, |(named, _)| named);
    match named.rsplit_once(':') {
        // The port of a registry is followed by a path.
        Some((before, tag)) if !tag.contains('/') => before,
        _ => named,
    }
}

/// Returns the problem of an item whose catalog is not served.
fn unknown_catalog(at: usize, name: &str, catalogs: &[ServedCatalog]) -> Value {
    let known: Vec<_> = catalogs
        .iter()
        .map(|catalog| match &*catalog.image {
            "" => catalog.name.clone(),
            image => format!("{} (`{image}`)", catalog.name),
        })
        .collect();
    let message = format!(
        "no served catalog is `{name}`: the served catalogs are {}; name one with --reference {}={name}",
        known.join(", "),
        catalogs.first().map_or("NAME", |catalog| &*catalog.name),
    );
    json!({
        "code": "UNKNOWN_CATALOG", "severity": "ERROR",
        "path": format!("mirror.operators[{at}].catalog"), "message": message,
    })
}

fn no_catalogs() -> CommandError {
    CommandError::new(ExitStatus::NotFound, "no catalog is served")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_a_catalog_by_its_name_its_tag_its_digest_or_its_repository() {
        let served = |name: &str, tagged: &str, digest: &str| ServedCatalog {
            name: name.to_owned(),
            image: format!("{}@sha256:{digest}", repository(tagged)),
            reference: tagged.to_owned(),
        };
        let catalogs = [
            served("old", "quay.io/r/index:v4.17", "17"),
            served("new", "quay.io/r/index:v4.18", "18"),
            served("other", "quay.io:5000/c/index:latest", "00"),
        ];
        let aliases = [CatalogAlias {
            name: "old".to_owned(),
            reference: "registry.example.com/mirrored:v1".to_owned(),
        }];
        for (wanted, expected) in [
            ("new", Some("new")),
            ("quay.io/r/index:v4.17", Some("old")),
            ("docker://quay.io/r/index:v4.18", Some("new")),
            ("quay.io/r/index@sha256:17", Some("old")),
            // Two catalogs are of this repository, and one is of the other.
            ("quay.io/r/index:v4.19", None),
            ("quay.io:5000/c/index:v4.18", Some("other")),
            ("registry.example.com/mirrored:v1", Some("old")),
            ("registry.example.com/mirrored:v2", None),
        ] {
            let found = find(wanted, &catalogs, &aliases);
            let name = found.map(|catalog| &*catalog.name);
            assert_eq!(name, expected, "{wanted}");
        }
    }
}
