//! `search` and `list` (`get` of the plugin): lists of objects of one kind.

use printing::text;
use serde_json::{Value, json};

use crate::age::age_now;
use crate::args::{DeprecatedArg, ListArgs, ListKind, SearchArgs, SupportArgs};
use crate::documents::{
    BUNDLES, CATALOGS, CHANNELS, FACET_VALUES, LOAD_STATUSES, METAS, PACKAGE_NAMES, PACKAGES,
    PROBLEMS,
};
use crate::output::{ObjectList, TableColumn, column, hint, is_set, name, support_phase, wide};
use crate::session::no_catalog;
use crate::similar::{question, similar_names};
use crate::{CommandError, CommandSession, ExitStatus, GraphqlTransport};

/// Letters of the day in a moment.
const DAY: usize = "2026-11-21".len();

const CATALOG_COLUMNS: [TableColumn; 11] = [
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
    column("AGE", |item| age_now(&text(item, "/lastUnpacked"))),
    column("LOAD-FAILURE", |item| {
        text(item, "/status/lastFailure/reason")
    }),
    wide("MESSAGE", |item| text(item, "/status/lastFailure/message")),
    wide("LABELS", |item: &Value| {
        let labels = item["labels"].as_array().into_iter().flatten();
        let labels =
            labels.map(|label| format!("{}={}", text(label, "/key"), text(label, "/value")));
        labels.collect::<Vec<_>>().join(",")
    }),
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

/// Phase of support of the version that the table of packages shows.
const PACKAGE_SUPPORT: TableColumn = column("SUPPORT", |item| {
    support_phase(&item["latest"]["lifecycle"])
});

/// Phase of support of a bundle.
pub const BUNDLE_SUPPORT: TableColumn = column("SUPPORT", |item| support_phase(&item["lifecycle"]));

/// Columns of `--olm-v1`.
const PACKAGE_OLM_V1_COLUMNS: [TableColumn; 6] = [
    column("NAME", |item| text(item, "/name")),
    column("CATALOG", |item| text(item, "/catalog/name")),
    column("CHANNEL", |item| text(item, "/defaultChannel/name")),
    column("HEAD", |item| text(item, "/defaultChannel/head/name")),
    column("OLM-V1", |item| {
        let judgement = package_judgement(item);
        // A package without a single head counts as unknown, as in the filter.
        let word = text(judgement, "/installable");
        if word.is_empty() {
            "UNKNOWN".to_owned()
        } else {
            word
        }
    }),
    column("BLOCKERS", |item| blocker_codes(package_judgement(item))),
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

/// Columns of `--olm-v1`.
const BUNDLE_OLM_V1_COLUMNS: [TableColumn; 6] = [
    column("BUNDLE", |item| text(item, "/name")),
    column("VERSION", |item| text(item, "/version")),
    column("CHANNELS", |item| text(item, "/channelNames")),
    column("OLM-V1", |item| text(item, "/olmV1/installable")),
    column("BLOCKERS", |item| blocker_codes(&item["olmV1"])),
    wide("CATALOG", |item| text(item, "/catalog/name")),
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
    wide("FILE:LINE", |item| match text(item, "/file") {
        file if file.is_empty() => file,
        file => format!("{file}:{}", text(item, "/line")),
    }),
];

/// Returns the day of the moment at a JSON pointer.
pub fn day(item: &Value, pointer: &str) -> String {
    text(item, pointer).chars().take(DAY).collect()
}

/// Returns the judgement of the head of a package's default channel.
fn package_judgement(item: &Value) -> &Value {
    &item["defaultChannel"]["head"]["bundle"]["olmV1"]
}

/// Returns the distinct codes of the blockers in a judgement.
fn blocker_codes(judgement: &Value) -> String {
    let blockers = judgement["blockers"].as_array().into_iter().flatten();
    let mut codes: Vec<_> = blockers.map(|blocker| text(blocker, "/code")).collect();
    codes.dedup();
    codes.join(", ")
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

const CATALOGS_LISTED: ListedKind = ListedKind {
    kind: "Catalog",
    columns: &CATALOG_COLUMNS,
    name: |item| name("catalog", item, &["/name"]),
};

const PACKAGES_LISTED: ListedKind = ListedKind {
    kind: "Package",
    columns: &PACKAGE_COLUMNS,
    name: package_name,
};

const CHANNELS_LISTED: ListedKind = ListedKind {
    kind: "Channel",
    columns: &CHANNEL_COLUMNS,
    name: channel_name,
};

const BUNDLES_LISTED: ListedKind = ListedKind {
    kind: "Bundle",
    columns: &BUNDLE_COLUMNS,
    name: bundle_name,
};

const METAS_LISTED: ListedKind = ListedKind {
    kind: "Meta",
    columns: &META_COLUMNS,
    name: |item| {
        let pointers = ["/catalog/name", "/schema", "/packageName", "/name"];
        name("meta", item, &pointers)
    },
};

const PROBLEMS_LISTED: ListedKind = ListedKind {
    kind: "Problem",
    columns: &PROBLEM_COLUMNS,
    name: |item| name("problem", item, &["/catalog/name", "/code"]),
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
    let mut variables = json!({ "catalogs": session.catalogs, "filter": filter });
    SupportArgs::default().add_to(&mut variables);
    let items = session.walk(PACKAGES, variables, "/packages").await?;
    if items.is_empty() {
        hint_at_values(session, args).await;
    }
    session.print_list(ObjectList {
        kind: PACKAGES_LISTED.kind,
        columns: PACKAGES_LISTED.columns.to_vec(),
        name: PACKAGES_LISTED.name,
        items,
    })
}

/// Prints a hint for each value of a filter that no package has, if there is a similar one. A request
/// that fails is no error.
async fn hint_at_values<T: GraphqlTransport>(session: &CommandSession<T>, args: &SearchArgs) {
    let filters = [
        ("category", "categories", &args.category),
        ("provider", "providers", &args.provider),
        ("keyword", "keywords", &args.keyword),
    ];
    if filters.iter().all(|(_, _, values)| values.is_empty()) {
        return;
    }
    let variables = json!({ "catalogs": session.catalogs });
    let data = session.data(FACET_VALUES, &variables).await;
    let facets = data.unwrap_or_default()["packages"]["facets"].take();
    for (flag, facet, values) in filters {
        let known = facets[facet].as_array().into_iter().flatten();
        let known: Vec<_> = known.map(|value| text(value, "/value")).collect();
        for value in values.iter().filter(|value| !known.contains(value)) {
            let similar = similar_names(value, known.iter().map(String::as_str));
            if let Some(question) = question(&similar) {
                hint(&format!(
                    "hint: no package has the {flag} `{value}`: {question}"
                ));
            }
        }
    }
}

/// Prints the objects of one kind. `names` selects some of them, each as `-o name` prints it or a
/// part behind a `/` of that; every object if empty. The objects that exist are printed before the
/// error for those that do not.
pub async fn list<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ListArgs,
    names: &[String],
) -> Result<(), CommandError> {
    let listing = listing(session, args, names).await?;
    let missing = missing(session, args, names, &listing).await?;
    if missing.is_none() || !listing.list.items.is_empty() {
        session.print_list(listing.list)?;
    }
    missing.map_or(Ok(()), Err)
}

/// Returns the objects that [`list`] prints. Fails if one of the named objects does not exist.
pub async fn objects<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ListArgs,
    names: &[String],
) -> Result<ObjectList, CommandError> {
    let listing = listing(session, args, names).await?;
    let missing = missing(session, args, names, &listing).await?;
    missing.map_or(Ok(listing.list), Err)
}

/// Objects of one kind.
struct ListedObjects {
    /// Those that are selected by their names.
    list: ObjectList,
    /// Names of all that were read.
    read: Vec<String>,
}

async fn listing<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ListArgs,
    names: &[String],
) -> Result<ListedObjects, CommandError> {
    if args.provides.is_some() && !matches!(args.kind, ListKind::Packages | ListKind::Bundles) {
        let message = "--provides selects packages or bundles: list one of these";
        return Err(CommandError::new(ExitStatus::Usage, message));
    }
    if !args.channel.is_empty() && args.kind != ListKind::Bundles {
        let message = "--channel selects bundles: list these";
        return Err(CommandError::new(ExitStatus::Usage, message));
    }
    if args.olm_v1.is_some() && !matches!(args.kind, ListKind::Packages | ListKind::Bundles) {
        let message = "--olm-v1 judges packages or bundles: list one of these";
        return Err(CommandError::new(ExitStatus::Usage, message));
    }
    if args.support.is_shown() && !matches!(args.kind, ListKind::Packages | ListKind::Bundles) {
        let message = "--support-on shows the support of packages or bundles: list one of these";
        return Err(CommandError::new(ExitStatus::Usage, message));
    }
    let (mut listed, mut items) = match args.kind {
        ListKind::Catalogs => (CATALOGS_LISTED, catalogs(session).await?),
        ListKind::Packages => (PACKAGES_LISTED, packages(session, args, names).await?),
        ListKind::Channels => {
            let items = channels(session, session.catalogs.clone(), args.package.clone()).await?;
            let found = items.iter().map(|item| text(item, "/package/name"));
            session.check_packages(&args.package, found).await?;
            (CHANNELS_LISTED, items)
        }
        ListKind::Bundles => (BUNDLES_LISTED, bundles(session, args, names).await?),
        ListKind::Metas => (METAS_LISTED, metas(session, args, names).await?),
        ListKind::Problems => (PROBLEMS_LISTED, problems(session, &args.package).await?),
    };
    if args.olm_v1.is_some() {
        listed.columns = match args.kind {
            ListKind::Packages => &PACKAGE_OLM_V1_COLUMNS,
            _ => &BUNDLE_OLM_V1_COLUMNS,
        };
    }
    let columns = match args.kind {
        ListKind::Packages => args.support.columns(listed.columns, PACKAGE_SUPPORT),
        _ => args.support.columns(listed.columns, BUNDLE_SUPPORT),
    };
    let read = items.iter().map(|item| text(item, "/name")).collect();
    let is_named = |item: &Value| {
        let full = (listed.name)(item);
        let is_of_package = args.kind == ListKind::Packages
            && args.package.iter().any(|name| item["name"] == **name);
        is_of_package || names.iter().any(|name| is_name_of(name, &full))
    };
    items.retain(|item| names.is_empty() || is_named(item));
    let list = ObjectList {
        kind: listed.kind,
        columns,
        name: listed.name,
        items,
    };
    Ok(ListedObjects { list, read })
}

/// Returns `true` if this is the name of an object, or what is behind a `/` of it.
fn is_name_of(name: &str, full_name: &str) -> bool {
    full_name
        .strip_suffix(name)
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Returns the names without the catalogs and packages before them.
fn last_parts(names: &[String]) -> Vec<String> {
    let last = |name: &String| name.rsplit('/').next().unwrap_or_default().to_owned();
    names.iter().map(last).collect()
}

/// Returns the error for the named objects that do not exist. All but the last are reported.
async fn missing<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ListArgs,
    names: &[String],
    listing: &ListedObjects,
) -> Result<Option<CommandError>, CommandError> {
    let found: Vec<_> = listing.list.items.iter().map(listing.list.name).collect();
    let is_found = |name: &&String| found.iter().any(|full| is_name_of(name, full));
    let mut last: Option<CommandError> = None;
    for name in names.iter().filter(|name| !is_found(name)) {
        session.check_catalogs(&session.catalogs).await?;
        let error = no_object(session, args, name, &listing.read).await;
        if let Some(before) = last.replace(error.status(ExitStatus::Negative)) {
            before.report();
        }
    }
    Ok(last)
}

/// Returns the error for an object that does not exist, with names that may be meant. `read` are
/// the names of the objects that were read.
async fn no_object<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ListArgs,
    name: &str,
    read: &[String],
) -> CommandError {
    let kind = args.kind.singular();
    let error = CommandError::new(ExitStatus::NotFound, format!("{kind} `{name}` not found"));
    let similar = |names: &[String]| {
        let last = name.rsplit('/').next().unwrap_or_default();
        question(&similar_names(last, names.iter().map(String::as_str)))
    };
    match args.kind {
        ListKind::Packages => session.no_package(name).await,
        ListKind::Catalogs => no_catalog(name, read),
        ListKind::Channels => error.hint_if(similar(read)),
        ListKind::Bundles => bundle_hint(session, &args.package, name, error).await,
        ListKind::Metas | ListKind::Problems => error,
    }
}

/// Adds what may be meant by the name of a bundle: a package, or a bundle of the package with which
/// the name begins. A request that fails is no error.
pub(crate) async fn bundle_hint<T: GraphqlTransport>(
    session: &CommandSession<T>,
    packages: &[String],
    name: &str,
    error: CommandError,
) -> CommandError {
    let bundle = name.rsplit('/').next().unwrap_or_default();
    let begins = bundle
        .split_once(".v")
        .map(|(package, _)| package.to_owned());
    let candidates = [packages.to_vec(), begins.into_iter().collect()].concat();
    let both = [vec![bundle.to_owned()], candidates.clone()].concat();
    let variables = json!({ "catalogs": session.catalogs, "names": both });
    let data = session.data(PACKAGE_NAMES, &variables).await;
    let data = data.unwrap_or_default();
    let packages: Vec<_> = data["packages"]["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|package| text(package, "/name"))
        .collect();
    let list = session.help.list_bundles;
    if packages.iter().any(|package| package == bundle) {
        let list = list.replace("PACKAGE", bundle);
        return error.hint(format!(
            "`{bundle}` is a package: `{list}` lists its bundles"
        ));
    }
    let packages: Vec<_> = candidates
        .into_iter()
        .filter(|name| packages.contains(name))
        .collect();
    if packages.is_empty() {
        return error.hint(format!("`{list}` lists the bundles of a package"));
    }
    let mut variables = json!({ "catalogs": session.catalogs, "packages": packages });
    SupportArgs::default().add_to(&mut variables);
    let listed = session.walk_all(BUNDLES, variables, "/bundles").await;
    let names: Vec<_> = listed
        .unwrap_or_default()
        .iter()
        .map(|found| text(found, "/name"))
        .collect();
    let similar = similar_names(bundle, names.iter().map(String::as_str));
    let list = list.replace("PACKAGE", &packages[0]);
    error
        .hint(format!("`{list}` lists the bundles of the package"))
        .hint_if(question(&similar))
}

/// Returns the condition of `--olm-v1`; `None` if it only shows a column.
fn olm_v1_filter(args: &ListArgs) -> Option<Vec<&'static str>> {
    let values = args.olm_v1.as_ref().filter(|values| !values.is_empty())?;
    Some(values.iter().map(|value| value.name()).collect())
}

async fn packages<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ListArgs,
    names: &[String],
) -> Result<Vec<Value>, CommandError> {
    let names = [last_parts(names), args.package.clone()].concat();
    let filter = json!({
        "names": names, "provides": args.provides, "olmV1": olm_v1_filter(args),
    });
    let mut variables = json!({
        "catalogs": session.catalogs, "filter": filter, "withOlmV1": args.olm_v1.is_some(),
    });
    args.support.add_to(&mut variables);
    let items = session.walk(PACKAGES, variables, "/packages").await?;
    let found = items.iter().map(|item| text(item, "/name"));
    session.check_packages(&args.package, found).await?;
    Ok(items)
}

async fn catalogs<T: GraphqlTransport>(
    session: &CommandSession<T>,
) -> Result<Vec<Value>, CommandError> {
    let mut data = session.data(CATALOGS, &Value::Null).await?;
    let mut items = data["catalogs"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    for status in load_statuses(session).await? {
        match items.iter_mut().find(|item| item["name"] == status["name"]) {
            Some(item) => item["status"] = status,
            None => items.push(json!({ "name": status["name"], "status": status })),
        }
    }
    items.retain(|item| {
        session.catalogs.is_empty() || session.catalogs.iter().any(|name| item["name"] == **name)
    });
    if items.is_empty() {
        session.check_catalogs(&session.catalogs).await?;
    }
    Ok(items)
}

/// Returns the results of the last loads of the selected catalogs; none if they are unknown because
/// the session is offline.
async fn load_statuses<T: GraphqlTransport>(
    session: &CommandSession<T>,
) -> Result<Vec<Value>, CommandError> {
    let data = session.transport.served(LOAD_STATUSES).await?;
    let mut data = data.unwrap_or_default();
    let statuses = data["catalogStatuses"].as_array_mut();
    let mut statuses = statuses.map(std::mem::take).unwrap_or_default();
    statuses.retain(|status| {
        session.catalogs.is_empty() || session.catalogs.iter().any(|name| status["name"] == **name)
    });
    Ok(statuses)
}

/// Returns the failure of the last load of a catalog as a problem of it.
fn load_failure(status: &Value) -> Option<Value> {
    let failure = status["lastFailure"].as_object()?;
    Some(json!({
        "severity": "ERROR",
        "code": failure.get("reason"),
        "message": failure.get("message"),
        "catalog": { "name": status["name"] },
    }))
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
) -> Result<Vec<Value>, CommandError> {
    let filter = json!({
        "names": last_parts(names), "channels": args.channel, "provides": args.provides,
        "olmV1": olm_v1_filter(args),
    });
    let mut variables = json!({
        "catalogs": session.catalogs, "packages": args.package, "filter": filter,
        "withOlmV1": args.olm_v1.is_some(),
    });
    args.support.add_to(&mut variables);
    let items = read(session, names, BUNDLES, variables, "/bundles").await?;
    let found = items.iter().map(|item| text(item, "/package/name"));
    session.check_packages(&args.package, found).await?;
    if let [package] = &args.package[..] {
        session
            .check_channels(package, &args.channel, &items)
            .await?;
    }
    Ok(items)
}

async fn metas<T: GraphqlTransport>(
    session: &CommandSession<T>,
    args: &ListArgs,
    names: &[String],
) -> Result<Vec<Value>, CommandError> {
    let one = |all: &[String], flag: &str| match all {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        _ => {
            let message = format!("a list of metas takes one {flag}");
            Err(CommandError::new(ExitStatus::Usage, message))
        }
    };
    let package = one(&args.package, "--package")?;
    let meta = one(&last_parts(names), "name")?;
    let filter = json!({ "schema": args.schema, "package": package, "name": meta });
    let variables = json!({ "catalogs": session.catalogs, "filter": filter });
    session.walk(METAS, variables, "/metas").await
}

async fn problems<T: GraphqlTransport>(
    session: &CommandSession<T>,
    packages: &[String],
) -> Result<Vec<Value>, CommandError> {
    let data = session.data(CATALOGS, &Value::Null).await?;
    let catalogs = data["catalogs"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|catalog| text(catalog, "/name"))
        .filter(|name| session.catalogs.is_empty() || session.catalogs.contains(name));

    let mut items = Vec::new();
    if packages.is_empty() {
        let statuses = load_statuses(session).await?;
        items.extend(statuses.iter().filter_map(load_failure));
    }
    // The connection of problems takes one package; without one it has the problems of all.
    let packages = if packages.is_empty() {
        vec![None]
    } else {
        packages.iter().map(Some).collect()
    };
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
    Ok(items)
}

/// Reads a list; without a limit if its objects are named, so that each is found.
async fn read<T: GraphqlTransport>(
    session: &CommandSession<T>,
    names: &[String],
    document: &'static str,
    variables: Value,
    connection: &'static str,
) -> Result<Vec<Value>, CommandError> {
    if names.is_empty() {
        session.walk(document, variables, connection).await
    } else {
        session.walk_all(document, variables, connection).await
    }
}
