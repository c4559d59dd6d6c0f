//! `heads`, `versions`, `images` and `providers`: lists of objects.

use commands::args::{ApiArg, parse_api};
use commands::documents::BUNDLES;
use commands::list::{BUNDLE_SUPPORT, bundle_name, channel_name, channels, day};
use commands::output::{
    NOTHING_FOUND, ObjectList, OutputFormat, TableColumn, column, hint, is_set, lines, print, wide,
};
use commands::similar::question;
use commands::{CommandError, ExitStatus};
use printing::text;
use serde_json::{Value, json};

use crate::args::{ImagesArgs, VersionsArgs};
use crate::context::ServerSession;
use crate::documents::{IMAGES, PROVIDERS, SUGGEST};

/// Number of APIs in a hint.
const MAX_SIMILAR_APIS: usize = 3;

const HEAD_COLUMNS: [TableColumn; 9] = [
    column("PACKAGE", |item| text(item, "/package/name")),
    column("CATALOG", |item| text(item, "/package/catalog/name")),
    column("CHANNEL", |item| text(item, "/name")),
    column("DEFAULT", |item| text(item, "/isDefault")),
    column("HEAD", |item| text(item, "/head/name")),
    column("VERSION", |item| text(item, "/head/bundle/version")),
    column("DEPRECATED", |item| is_set(item, "/deprecation")),
    wide("CREATED", |item| {
        day(item, "/head/bundle/metadata/createdAt")
    }),
    wide("IMAGE", |item| text(item, "/head/bundle/image")),
];

const VERSION_COLUMNS: [TableColumn; 7] = [
    column("VERSION", |item| text(item, "/version")),
    column("BUNDLE", |item| text(item, "/name")),
    column("CHANNELS", |item| text(item, "/channelNames")),
    column("CREATED", |item| day(item, "/metadata/createdAt")),
    column("DEPRECATED", |item| is_set(item, "/deprecation")),
    wide("CATALOG", |item| text(item, "/catalog/name")),
    wide("IMAGE", |item| text(item, "/image")),
];

const PROVIDER_COLUMNS: [TableColumn; 6] = [
    column("KIND", |item| text(item, "/api/kind")),
    column("VERSION", |item| text(item, "/api/version")),
    column("PACKAGE", |item| text(item, "/package/name")),
    column("CHANNEL", |item| text(item, "/channelNames")),
    column("BUNDLE", |item| text(item, "/name")),
    column("CATALOG", |item| text(item, "/catalog/name")),
];

const IMAGE_COLUMNS: [TableColumn; 2] = [
    column("IMAGE", |item| text(item, "/image")),
    column("BUNDLES", |item| text(item, "/bundles")),
];

fn show(
    session: &ServerSession,
    kind: &'static str,
    columns: &[TableColumn],
    name: fn(&Value) -> String,
    items: Vec<Value>,
) -> Result<(), CommandError> {
    session.print_list(ObjectList {
        kind,
        columns: columns.to_vec(),
        name,
        items,
    })
}

/// Lists the channels of packages with their heads.
pub(super) async fn heads(
    session: &ServerSession,
    packages: &[String],
) -> Result<(), CommandError> {
    let mut items = Vec::new();
    for package in packages {
        let (catalogs, name) = session.split(package);
        let found = channels(session, catalogs, vec![name.to_owned()]).await?;
        if found.is_empty() {
            return Err(session.no_package(package).await);
        }
        items.extend(found);
    }
    show(session, "Channel", &HEAD_COLUMNS, channel_name, items)
}

/// Lists the bundles of a package.
pub(super) async fn versions(
    session: &ServerSession,
    args: &VersionsArgs,
) -> Result<(), CommandError> {
    let (catalogs, package) = session.split(&args.package);
    let filter = json!({ "channels": args.channel, "versionRange": args.range });
    let mut variables = json!({ "catalogs": catalogs, "packages": [package], "filter": filter });
    args.support.add_to(&mut variables);
    let items = session.walk(BUNDLES, variables, "/bundles").await?;
    if items.is_empty() && args.channel.is_empty() && args.range.is_none() {
        return Err(session.no_package(&args.package).await);
    }
    session
        .check_channels(&args.package, &args.channel, &items)
        .await?;
    let columns = args.support.columns(&VERSION_COLUMNS, BUNDLE_SUPPORT);
    show(session, "Bundle", &columns, bundle_name, items)
}

/// Lists the images of a package.
pub(super) async fn images(session: &ServerSession, args: &ImagesArgs) -> Result<(), CommandError> {
    let (catalogs, package) = session.split(&args.package);
    let is_narrowed = args.all || args.version.is_some();
    let channel_head = if is_narrowed { None } else { Some(true) };
    let filter = json!({ "channels": args.channel, "versionRange": args.version, "channelHead": channel_head });
    let variables = json!({ "catalogs": catalogs, "packages": [package], "filter": filter });
    let bundles = session.walk_all(IMAGES, variables, "/bundles").await?;
    session
        .check_channels(&args.package, &args.channel, &bundles)
        .await?;
    if bundles.is_empty() {
        session.choose(&args.package).await?;
    }
    let mut by_image = std::collections::BTreeMap::<String, Vec<String>>::new();
    for bundle in &bundles {
        let related = bundle["relatedImages"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|image| text(image, "/image"));
        for image in related
            .chain([text(bundle, "/image")])
            .filter(|image| !image.is_empty())
        {
            let bundles = by_image.entry(image).or_default();
            let name = text(bundle, "/name");
            if !bundles.contains(&name) {
                bundles.push(name);
            }
        }
    }
    if matches!(session.output, OutputFormat::Lines | OutputFormat::Name) {
        if by_image.is_empty() {
            hint(NOTHING_FOUND);
        }
        return print(&lines(by_image.keys()));
    }
    let items = by_image
        .into_iter()
        .map(|(image, bundles)| json!({ "image": image, "bundles": bundles }))
        .collect();
    show(
        session,
        "Image",
        &IMAGE_COLUMNS,
        |item| text(item, "/image"),
        items,
    )
}

/// Returns the API that a text names: GROUP/KIND, KIND.GROUP, or the kind alone if only one group
/// has it.
async fn find_api(session: &ServerSession, written: &str) -> Result<ApiArg, CommandError> {
    if written.contains('/') {
        return parse_api(written).map_err(|form| {
            CommandError::new(ExitStatus::Usage, format!("`{written}` is no API: {form}"))
        });
    }
    if let Some((kind, group)) = written.split_once('.') {
        return Ok(ApiArg {
            group: group.to_owned(),
            kind: kind.to_owned(),
        });
    }
    let variables = json!({ "text": written, "catalogs": session.catalogs, "kinds": ["API"] });
    let data = session.data(SUGGEST, &variables).await?;
    let suggested: Vec<_> = data["suggest"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|item| ApiArg {
            group: text(item, "/api/group"),
            kind: text(item, "/api/kind"),
        })
        .collect();
    let full_name = |api: &ApiArg| format!("{}/{}", api.group, api.kind);
    let mut found: Vec<_> = suggested
        .iter()
        .filter(|api| api.kind.eq_ignore_ascii_case(written))
        .collect();
    found.sort_by_key(|api| full_name(api));
    found.dedup();
    match &found[..] {
        [api] => Ok((*api).clone()),
        [] => {
            let message = format!("no package provides an API of kind `{written}`");
            let mut similar: Vec<_> = suggested.iter().map(full_name).collect();
            similar.sort();
            similar.dedup();
            similar.truncate(MAX_SIMILAR_APIS);
            Err(CommandError::new(ExitStatus::NotFound, message).hint_if(question(&similar)))
        }
        several => {
            let message = format!("several groups have an API of kind `{written}`");
            let names: Vec<_> = several.iter().map(|api| full_name(api)).collect();
            Err(CommandError::new(ExitStatus::NotFound, message)
                .hint(format!("write one of {}", names.join(", "))))
        }
    }
}

/// Lists who provides an API.
pub(super) async fn providers(session: &ServerSession, written: &str) -> Result<(), CommandError> {
    let api = find_api(session, written).await?;
    let provides = json!({ "group": api.group, "kind": api.kind });
    let variables = json!({ "catalogs": session.catalogs, "filter": { "provides": provides, "channelHead": true } });
    let bundles = session.walk(PROVIDERS, variables, "/bundles").await?;
    let items = bundles.into_iter().flat_map(|mut bundle| {
        let apis = bundle["providedApis"].take();
        let apis = apis.as_array().into_iter().flatten();
        let apis = apis
            .filter(|found| found["group"] == *api.group && found["kind"] == *api.kind)
            .cloned();
        let items: Vec<_> = apis
            .map(|found| {
                let mut item = bundle.clone();
                item["api"] = found;
                item
            })
            .collect();
        items
    });
    show(
        session,
        "Provider",
        &PROVIDER_COLUMNS,
        bundle_name,
        items.collect(),
    )
}
