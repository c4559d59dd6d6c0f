//! `search` and `list` (`get` of the plugin): lists of objects of one kind.

use printing::text;
use serde_json::{Value, json};

use crate::args::{DeprecatedArg, ListArgs, ListKind, SearchArgs};
use crate::documents::{BUNDLES, CATALOGS, CHANNELS, METAS, PACKAGES, PROBLEMS};
use crate::output::{ObjectList, TableColumn, column, is_set, name, wide};
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport};

/// Letters of the day in a moment.
const DAY: usize = "2026-11-21".len();

const CATALOG_COLUMNS: [TableColumn; 8] = [
    column("NAME", |item| text(item, "/name")),
    column("PRIORITY", |item| text(item, "/priority")),
    column("PACKAGES", |item| text(item, "/packageCount")),
    column("BUNDLES", |item| text(item, "/bundleCount")),
    column("ERRORS", |item: &Value| {
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

/// Returns the day of the moment at a JSON pointer.
pub fn day(item: &Value, pointer: &str) -> String {
    text(item, pointer).chars().take(DAY).collect()
}

/// Returns the name of a channel for `-o name`.
pub fn channel_name(item: &Value) -> String {
    name(
        "channel",
        item,
        &["/package/catalog/name", "/package/name", "/name"],
    )
}

/// Returns the name of a bundle for `-o name`.
pub fn bundle_name(item: &Value) -> String {
    name("bundle", item, &["/catalog/name", "/package/name", "/name"])
}

fn package_name(item: &Value) -> String {
    name("package", item, &["/catalog/name", "/name"])
}

/// Objects of one kind without the items.
struct ListedKind {
    kind: &'static str,
    columns: &'static [TableColumn],
    name: fn(&Value) -> String,
}

const PACKAGES_LISTED: ListedKind = ListedKind {
    kind: "Package",
    columns: &PACKAGE_COLUMNS,
    name: package_name,
};

/// Finds packages by words and by other conditions.
pub async fn search<T: GraphqlTransport>(
    session: &CommandSession<T>,
    words: &str,
    args: &SearchArgs,
) -> Result<(), CommandError> {
    let deprecated = match args.deprecated {
        DeprecatedArg::Include => None,
        DeprecatedArg::Only => Some(true),
        DeprecatedArg::Exclude => Some(false),
    };
    let levels: Vec<_> = args.level.iter().map(|level| level.name()).collect();
    let filter = json!({
        "search": Some(words).filter(|words| !words.is_empty()),
        "categories": args.category,
        "providers": args.provider,
        "keywords": args.keyword,
        "capabilityLevels": levels,
        "provides": args.provides,
        "deprecated": deprecated,
    });
    let items = packages(session, filter).await?;
    print(session, &PACKAGES_LISTED, items)
}

/// Lists objects of one kind. `names` selects some of them; every object if empty.
pub async fn list<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ListArgs,
    names: &[String],
) -> Result<(), CommandError> {
    if args.provides.is_some() && !matches!(args.kind, ListKind::Packages | ListKind::Bundles) {
        let message = "--provides selects packages or bundles: list one of these";
        return Err(CommandError::new(ExitStatus::Usage, message));
    }
    match args.kind {
        ListKind::Catalogs => catalogs(session, names).await,
        ListKind::Packages => {
            let names = [names, &args.package].concat();
            let filter = json!({ "names": names, "provides": args.provides });
            let items = packages(session, filter).await?;
            let found = items.iter().map(|item| text(item, "/name"));
            session.check_packages(&args.package, found).await?;
            print(session, &PACKAGES_LISTED, items)
        }
        ListKind::Channels => {
            let mut items =
                channels(session, session.catalogs.clone(), args.package.clone()).await?;
            let found = items.iter().map(|item| text(item, "/package/name"));
            session.check_packages(&args.package, found).await?;
            items.retain(|channel| {
                names.is_empty() || names.iter().any(|name| channel["name"] == **name)
            });
            let listed = ListedKind {
                kind: "Channel",
                columns: &CHANNEL_COLUMNS,
                name: channel_name,
            };
            print(session, &listed, items)
        }
        ListKind::Bundles => bundles(session, args, names).await,
        ListKind::Metas => metas(session, args, names).await,
        ListKind::Problems => problems(session, &args.package).await,
    }
}

fn print<T>(
    session: &CommandSession<T>,
    listed: &ListedKind,
    items: Vec<Value>,
) -> Result<(), CommandError> {
    let list = ObjectList {
        kind: listed.kind,
        columns: listed.columns,
        name: listed.name,
        items,
    };
    list.print(&session.output, session.has_headers)
}

async fn packages<T: GraphqlTransport>(
    session: &CommandSession<T>,
    filter: Value,
) -> Result<Vec<Value>, CommandError> {
    let variables = json!({ "catalogs": session.catalogs, "filter": filter });
    session.walk(PACKAGES, variables, "/packages").await
}

async fn catalogs<T: GraphqlTransport>(
    session: &CommandSession<T>,
    names: &[String],
) -> Result<(), CommandError> {
    let mut data = session.data(CATALOGS, &Value::Null).await?;
    let mut items = data["catalogs"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    let is_selected = |names: &[String], item: &Value| {
        names.is_empty() || names.iter().any(|name| item["name"] == **name)
    };
    items.retain(|item| is_selected(names, item) && is_selected(&session.catalogs, item));
    if items.is_empty() {
        session.check_catalogs(&session.catalogs).await?;
    }

    let listed = ListedKind {
        kind: "Catalog",
        columns: &CATALOG_COLUMNS,
        name: |item| name("catalog", item, &["/name"]),
    };
    print(session, &listed, items)
}

/// Returns the channels of packages, each with its package.
pub async fn channels<T: GraphqlTransport>(
    session: &CommandSession<T>,
    catalogs: Vec<String>,
    packages: Vec<String>,
) -> Result<Vec<Value>, CommandError> {
    let variables = json!({ "catalogs": catalogs, "names": packages });
    let packages = session.walk_all(CHANNELS, variables, "/packages").await?;
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

async fn bundles<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ListArgs,
    names: &[String],
) -> Result<(), CommandError> {
    let filter = json!({ "names": names, "provides": args.provides });
    let variables =
        json!({ "catalogs": session.catalogs, "packages": args.package, "filter": filter });
    let items = session.walk(BUNDLES, variables, "/bundles").await?;
    let found = items.iter().map(|item| text(item, "/package/name"));
    session.check_packages(&args.package, found).await?;

    let listed = ListedKind {
        kind: "Bundle",
        columns: &BUNDLE_COLUMNS,
        name: bundle_name,
    };
    print(session, &listed, items)
}

async fn metas<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ListArgs,
    names: &[String],
) -> Result<(), CommandError> {
    let one = |all: &[String], flag: &str| match all {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        _ => {
            let message = format!("a list of metas takes one {flag}");
            Err(CommandError::new(ExitStatus::Usage, message))
        }
    };
    let package = one(&args.package, "--package")?;
    let meta = one(names, "name")?;
    let filter = json!({ "schema": args.schema, "package": package, "name": meta });
    let variables = json!({ "catalogs": session.catalogs, "filter": filter });
    let items = session.walk(METAS, variables, "/metas").await?;

    let listed = ListedKind {
        kind: "Meta",
        columns: &META_COLUMNS,
        name: |item| {
            let pointers = ["/catalog/name", "/schema", "/packageName", "/name"];
            name("meta", item, &pointers)
        },
    };
    print(session, &listed, items)
}

async fn problems<T: GraphqlTransport>(
    session: &CommandSession<T>,
    packages: &[String],
) -> Result<(), CommandError> {
    let data = session.data(CATALOGS, &Value::Null).await?;
    let catalogs = data["catalogs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|catalog| text(catalog, "/name"))
        .filter(|name| session.catalogs.is_empty() || session.catalogs.contains(name));

    // The connection of problems takes one package; without one it has the problems of all.
    let packages = if packages.is_empty() {
        vec![None]
    } else {
        packages.iter().map(Some).collect()
    };
    let mut items = Vec::new();
    for catalog in catalogs {
        for package in &packages {
            let variables = json!({ "name": catalog, "package": package });
            let found = session
                .walk(PROBLEMS, variables, "/catalog/problems")
                .await?;
            items.extend(found.into_iter().map(|mut problem| {
                problem["catalog"] = json!({ "name": catalog });
                problem
            }));
        }
    }
    if items.is_empty() {
        session.check_catalogs(&session.catalogs).await?;
    }

    let listed = ListedKind {
        kind: "Problem",
        columns: &PROBLEM_COLUMNS,
        name: |item| name("problem", item, &["/catalog/name", "/code"]),
    };
    print(session, &listed, items)
}
