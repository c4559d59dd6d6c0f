//! `search`, `get`, `heads`, `versions`, `images` and `providers`: lists of objects.

use printing::text;
use serde_json::{Value, json};

use crate::args::{ApiArg, Deprecated, GetArgs, GetKind, ImagesArgs, SearchArgs, VersionsArgs};
use crate::context::CommandContext;
use crate::documents::{BUNDLES, CATALOGS, CHANNELS, IMAGES, METAS, PACKAGES, PROBLEMS, PROVIDERS};
use crate::error::{CommandError, ExitStatus};
use crate::output::{
    NOTHING_FOUND, ObjectList, OutputFormat, TableColumn, column, hint, is_set, lines, name, print,
    wide,
};

/// Letters of a moment that say its day.
const DAY: usize = "2026-11-21".len();

const CATALOG_COLUMNS: [TableColumn; 8] = [
    column("NAME", |item| text(item, "/name")),
    column("PRIORITY", |item| text(item, "/priority")),
    column("PACKAGES", |item| text(item, "/packageCount")),
    column("BUNDLES", |item| text(item, "/bundleCount")),
    column("ERRORS", |item| {
        let counts = item["problemCounts"].as_array().into_iter().flatten();
        counts
            .filter(|count| count["severity"] == "ERROR")
            .map(|count| text(count, "/count"))
            .collect()
    }),
    column("UNPACKED", |item| text(item, "/lastUnpacked")),
    wide("DIGEST", |item| text(item, "/digest")),
    wide("IMAGE", |item| text(item, "/image")),
];

const PACKAGE_COLUMNS: [TableColumn; 10] = [
    column("NAME", |item| text(item, "/name")),
    column("DISPLAY-NAME", |item| text(item, "/displayName")),
    column("CATALOG", |item| text(item, "/catalog/name")),
    column("CHANNEL", |item| text(item, "/defaultChannel/name")),
    column("VERSION", |item| text(item, "/latest/version")),
    column("DEPRECATED", |item| is_set(item, "/deprecation")),
    wide("PROVIDER", |item| {
        text(item, "/metadata/provider/shortName")
    }),
    wide("LEVEL", |item| text(item, "/metadata/capabilityLevel")),
    wide("CATEGORIES", |item| text(item, "/metadata/categories")),
    wide("CREATED", |item| day(item, "/metadata/createdAt")),
];

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

const CHANNEL_COLUMNS: [TableColumn; 8] = [
    column("PACKAGE", |item| text(item, "/package/name")),
    column("CHANNEL", |item| text(item, "/name")),
    column("DEFAULT", |item| text(item, "/isDefault")),
    column("HEAD", |item| text(item, "/head/name")),
    column("VERSION", |item| text(item, "/head/bundle/version")),
    column("ENTRIES", |item| text(item, "/entryCount")),
    column("DEPRECATED", |item| is_set(item, "/deprecation")),
    wide("CATALOG", |item| text(item, "/package/catalog/name")),
];

const BUNDLE_COLUMNS: [TableColumn; 7] = [
    column("BUNDLE", |item| text(item, "/name")),
    column("VERSION", |item| text(item, "/version")),
    column("CHANNELS", |item| text(item, "/channelNames")),
    column("DEPRECATED", |item| is_set(item, "/deprecation")),
    column("CREATED", |item| day(item, "/metadata/createdAt")),
    wide("CATALOG", |item| text(item, "/catalog/name")),
    wide("IMAGE", |item| text(item, "/image")),
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

const META_COLUMNS: [TableColumn; 4] = [
    column("SCHEMA", |item| text(item, "/schema")),
    column("PACKAGE", |item| text(item, "/packageName")),
    column("NAME", |item| text(item, "/name")),
    wide("CATALOG", |item| text(item, "/catalog/name")),
];

const PROBLEM_COLUMNS: [TableColumn; 6] = [
    column("SEVERITY", |item| text(item, "/severity")),
    column("CODE", |item| text(item, "/code")),
    column("PACKAGE", |item| text(item, "/packageName")),
    column("MESSAGE", |item| text(item, "/message")),
    wide("CATALOG", |item| text(item, "/catalog/name")),
    wide("FILE:LINE", |item| {
        format!("{}:{}", text(item, "/file"), text(item, "/line"))
    }),
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

/// The day of a moment.
fn day(item: &Value, pointer: &str) -> String {
    text(item, pointer).chars().take(DAY).collect()
}

fn package_name(item: &Value) -> String {
    name("package", item, &["/catalog/name", "/name"])
}

fn channel_name(item: &Value) -> String {
    name(
        "channel",
        item,
        &["/package/catalog/name", "/package/name", "/name"],
    )
}

fn bundle_name(item: &Value) -> String {
    name("bundle", item, &["/catalog/name", "/package/name", "/name"])
}

fn show(
    context: &CommandContext,
    kind: &'static str,
    columns: &'static [TableColumn],
    name: fn(&Value) -> String,
    items: Vec<Value>,
) -> Result<(), CommandError> {
    ObjectList {
        kind,
        columns,
        name,
        items,
    }
    .print(&context.output, context.has_headers)
}

/// Finds packages by words and by what they are.
pub(super) async fn search(
    context: &CommandContext,
    args: &SearchArgs,
) -> Result<(), CommandError> {
    let words = args.text.join(" ");
    let deprecated = match args.deprecated {
        Deprecated::Include => None,
        Deprecated::Only => Some(true),
        Deprecated::Exclude => Some(false),
    };
    let filter = json!({
        "search": Some(words).filter(|words| !words.is_empty()),
        "categories": args.category,
        "providers": args.provider,
        "keywords": args.keyword,
        "capabilityLevels": args.level.iter().map(|level| level.name()).collect::<Vec<_>>(),
        "provides": args.provides.as_ref().map(|api| json!({ "group": api.group, "kind": api.kind })),
        "deprecated": deprecated,
    });
    packages(context, filter).await
}

async fn packages(context: &CommandContext, filter: Value) -> Result<(), CommandError> {
    let variables = json!({ "catalogs": context.catalogs, "filter": filter });
    let items = context.walk(PACKAGES, variables, "/packages").await?;
    show(context, "Package", &PACKAGE_COLUMNS, package_name, items)
}

/// Lists objects of one kind.
pub(super) async fn get(context: &CommandContext, args: &GetArgs) -> Result<(), CommandError> {
    match args.kind {
        GetKind::Catalogs => catalogs(context, &args.names).await,
        GetKind::Packages => {
            let names = [&args.names[..], &args.package].concat();
            packages(context, json!({ "names": names })).await
        }
        GetKind::Channels => {
            let mut items = channels(context, context.catalogs.clone(), &args.package).await?;
            items.retain(|channel| {
                args.names.is_empty() || args.names.iter().any(|name| channel["name"] == **name)
            });
            show(context, "Channel", &CHANNEL_COLUMNS, channel_name, items)
        }
        GetKind::Bundles => {
            let filter = json!({ "names": args.names });
            let variables =
                json!({ "catalogs": context.catalogs, "packages": args.package, "filter": filter });
            let items = context.walk(BUNDLES, variables, "/bundles").await?;
            show(context, "Bundle", &BUNDLE_COLUMNS, bundle_name, items)
        }
        GetKind::Metas => metas(context, args).await,
        GetKind::Problems => problems(context, &args.package).await,
    }
}

async fn catalogs(context: &CommandContext, names: &[String]) -> Result<(), CommandError> {
    let mut data = context.data(CATALOGS, &Value::Null).await?;
    let mut items = data["catalogs"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    let is_meant = |names: &[String], item: &Value| {
        names.is_empty() || names.iter().any(|name| item["name"] == **name)
    };
    items.retain(|item| is_meant(names, item) && is_meant(&context.catalogs, item));
    if items.is_empty() {
        context.check_catalogs(&context.catalogs).await?;
    }
    show(
        context,
        "Catalog",
        &CATALOG_COLUMNS,
        |item| name("catalog", item, &["/name"]),
        items,
    )
}

/// The channels of packages, each with its package.
async fn channels(
    context: &CommandContext,
    catalogs: Vec<String>,
    packages: &[String],
) -> Result<Vec<Value>, CommandError> {
    let variables = json!({ "catalogs": catalogs, "names": packages });
    let packages = context.walk_all(CHANNELS, variables, "/packages").await?;
    let channels = packages.into_iter().flat_map(|mut package| {
        let channels = package["channels"]
            .as_array_mut()
            .map(std::mem::take)
            .unwrap_or_default();
        let parent = json!({ "name": package["name"], "catalog": package["catalog"] });
        channels.into_iter().map(move |mut channel| {
            channel["package"] = parent.clone();
            channel
        })
    });
    Ok(channels.collect())
}

async fn metas(context: &CommandContext, args: &GetArgs) -> Result<(), CommandError> {
    let one = |all: &[String], flag: &str| match all {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        _ => Err(CommandError::new(
            ExitStatus::Usage,
            format!("`get metas` takes one {flag}"),
        )),
    };
    let package = one(&args.package, "--package")?;
    let name = one(&args.names, "name")?;
    let filter = json!({ "schema": args.schema, "package": package, "name": name });
    let variables = json!({ "catalogs": context.catalogs, "filter": filter });
    let items = context.walk(METAS, variables, "/metas").await?;
    let shown = |item: &Value| {
        crate::output::name(
            "meta",
            item,
            &["/catalog/name", "/schema", "/packageName", "/name"],
        )
    };
    show(context, "Meta", &META_COLUMNS, shown, items)
}

async fn problems(context: &CommandContext, packages: &[String]) -> Result<(), CommandError> {
    let data = context.data(CATALOGS, &Value::Null).await?;
    let names = data["catalogs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|catalog| text(catalog, "/name"));
    let mut items = Vec::new();
    for catalog in
        names.filter(|name| context.catalogs.is_empty() || context.catalogs.contains(name))
    {
        let each = if packages.is_empty() {
            vec![None]
        } else {
            packages.iter().map(Some).collect()
        };
        for package in each {
            let variables = json!({ "name": catalog, "package": package });
            let found = context
                .walk(PROBLEMS, variables, "/catalog/problems")
                .await?;
            items.extend(found.into_iter().map(|mut problem| {
                problem["catalog"] = json!({ "name": catalog });
                problem
            }));
        }
    }
    if items.is_empty() {
        context.check_catalogs(&context.catalogs).await?;
    }
    show(
        context,
        "Problem",
        &PROBLEM_COLUMNS,
        |item| name("problem", item, &["/catalog/name", "/code"]),
        items,
    )
}

/// Lists the channels of packages with their heads.
pub(super) async fn heads(
    context: &CommandContext,
    packages: &[String],
) -> Result<(), CommandError> {
    let mut items = Vec::new();
    for package in packages {
        let (catalogs, name) = context.split(package);
        let found = channels(context, catalogs, &[name.to_owned()]).await?;
        if found.is_empty() {
            return Err(context.no_package(package).await);
        }
        items.extend(found);
    }
    show(context, "Channel", &HEAD_COLUMNS, channel_name, items)
}

/// Lists the bundles of a package.
pub(super) async fn versions(
    context: &CommandContext,
    args: &VersionsArgs,
) -> Result<(), CommandError> {
    let (catalogs, package) = context.split(&args.package);
    let filter = json!({ "channels": args.channel, "versionRange": args.range });
    let variables = json!({ "catalogs": catalogs, "packages": [package], "filter": filter });
    let items = context.walk(BUNDLES, variables, "/bundles").await?;
    if items.is_empty() && args.channel.is_empty() && args.range.is_none() {
        return Err(context.no_package(&args.package).await);
    }
    context
        .check_channels(&args.package, &args.channel, &items)
        .await?;
    show(context, "Bundle", &VERSION_COLUMNS, bundle_name, items)
}

/// Lists the images of a package.
pub(super) async fn images(
    context: &CommandContext,
    args: &ImagesArgs,
) -> Result<(), CommandError> {
    let (catalogs, package) = context.split(&args.package);
    let is_narrowed = args.all || args.version.is_some();
    let channel_head = if is_narrowed { None } else { Some(true) };
    let filter = json!({ "channels": args.channel, "versionRange": args.version, "channelHead": channel_head });
    let variables = json!({ "catalogs": catalogs, "packages": [package], "filter": filter });
    let bundles = context.walk_all(IMAGES, variables, "/bundles").await?;
    context
        .check_channels(&args.package, &args.channel, &bundles)
        .await?;
    if bundles.is_empty() {
        context.choose(&args.package).await?;
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
    if matches!(context.output, OutputFormat::Lines | OutputFormat::Name) {
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
        context,
        "Image",
        &IMAGE_COLUMNS,
        |item| text(item, "/image"),
        items,
    )
}

/// Lists who provides an API.
pub(super) async fn providers(context: &CommandContext, api: &ApiArg) -> Result<(), CommandError> {
    let provides = json!({ "group": api.group, "kind": api.kind });
    let variables = json!({ "catalogs": context.catalogs, "filter": { "provides": provides, "channelHead": true } });
    let bundles = context.walk(PROVIDERS, variables, "/bundles").await?;
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
        context,
        "Provider",
        &PROVIDER_COLUMNS,
        bundle_name,
        items.collect(),
    )
}
