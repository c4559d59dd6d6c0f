//! The first sentence of an answer, for people and for clients that show texts only.

use std::fmt::Write as _;

use serde_json::Value;

use crate::tool::CatalogTool;

/// Summarizes the data of an answer.
pub(crate) fn summarize(tool: CatalogTool, data: &Value) -> String {
    match tool {
        CatalogTool::ListCatalogs => match length(&data["catalogs"]) {
            0 => "No catalog is served.".to_owned(),
            count => format!("Served catalogs: {count}."),
        },
        CatalogTool::SearchPackages => search(&data["packages"]),
        CatalogTool::DescribePackage => found("package", &data["packages"]),
        CatalogTool::DescribeBundle => found("bundle", &data["bundles"]),
        CatalogTool::AvailableUpgrades => upgrades(&data["availableUpgrades"]),
        CatalogTool::ResolvePackage => resolution(&data["resolve"]),
        CatalogTool::SolveDependencies => solution(&data["solve"]),
        CatalogTool::PlanMirror => mirror(&data["catalog"]["mirrorSet"]),
        CatalogTool::PlanPlatformUpgrade => platform_upgrade(&data["platformUpgrade"]),
    }
}

fn search(packages: &Value) -> String {
    let total = &packages["totalCount"];
    let shown = length(&packages["nodes"]);
    if total == 0 {
        return "No package matches: try fewer or other words.".to_owned();
    }
    let cursor = packages.pointer("/pageInfo/endCursor");
    match cursor.and_then(Value::as_str) {
        Some(cursor) if packages["pageInfo"]["hasNextPage"] == true => format!(
            "Packages that match: {total}; {shown} are shown. For the next ones, repeat the call with `after`: \"{cursor}\"."
        ),
        _ => format!("Packages that match: {total}; {shown} are shown."),
    }
}

/// Says in which catalogs an object is.
fn found(kind: &str, connection: &Value) -> String {
    let nodes = connection["nodes"].as_array().into_iter().flatten();
    let catalogs: Vec<_> = nodes
        .clone()
        .filter_map(|node| node["catalog"]["name"].as_str())
        .collect();
    let name = connection["nodes"][0]["name"].as_str().unwrap_or_default();
    format!(
        "Catalogs with the {kind} `{name}`: {}.",
        catalogs.join(", ")
    )
}

fn upgrades(items: &Value) -> String {
    let items = items.as_array().into_iter().flatten();
    let sentences = items.map(|item| {
        let catalog = text(&item["package"]["catalog"]["name"]);
        match item["successors"][0]["toName"].as_str() {
            Some(highest) => format!(
                "Upgrades in catalog `{catalog}`: {}, the highest to `{highest}`.",
                length(&item["successors"])
            ),
            None => format!("Catalog `{catalog}` has no upgrade from this bundle."),
        }
    });
    sentences.collect::<Vec<_>>().join(" ")
}

fn resolution(result: &Value) -> String {
    match result["bundle"]["name"].as_str() {
        Some(name) => format!(
            "OLM v1 selects the bundle `{name}` of catalog `{}`.",
            text(&result["bundle"]["catalog"]["name"])
        ),
        None => format!("OLM v1 selects no bundle: {}.", text(&result["message"])),
    }
}

fn solution(result: &Value) -> String {
    match result["__typename"].as_str() {
        Some("Solution") => format!("There is a solution; steps: {}.", length(&result["steps"])),
        Some("SolveConflict") => format!("There is no solution: {}.", text(&result["message"])),
        _ => format!("The request is rejected: {}.", text(&result["message"])),
    }
}

fn mirror(set: &Value) -> String {
    if set["isRefused"] == true {
        let problem = text(&set["problems"][0]["message"]);
        return format!("The selection is refused: {problem}.");
    }
    let counts = &set["counts"];
    let mut text = format!(
        "Selected: {} packages, {} bundles, {} images.",
        counts["packages"], counts["bundles"], counts["images"]
    );
    if let Some(problem) = set["problems"][0]["message"].as_str() {
        let count = length(&set["problems"]);
        let _ = write!(text, " Problems: {count}, the first: {problem}.");
    }
    text
}

fn platform_upgrade(plan: &Value) -> String {
    let reachable = plan["reachableStep"].as_u64().unwrap_or_default();
    let step = usize::try_from(reachable).map_or(&Value::Null, |index| &plan["steps"][index]);
    format!(
        "Verdict: {}. The cluster can be upgraded up to {}.",
        text(&plan["verdict"]),
        text(&step["platform"])
    )
}

fn length(list: &Value) -> usize {
    list.as_array().map_or(0, Vec::len)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default().trim_end_matches('.')
}
