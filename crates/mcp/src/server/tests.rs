//! Answers of the tools.

use serde_json::json;
use serving::Visibility;

use super::*;
use crate::answer::{MAX_ANSWER_BYTES, MAX_LIST_ITEMS};
use crate::execution::MAX_RESPONSE_BYTES;
use crate::fixture::{engine, main_catalog, of};

/// Text and structured content of an answer; the content is `null` for an error.
async fn call(catalogs: &Catalogs, tool: CatalogTool, arguments: Value) -> (String, Value) {
    let server = ToolServer::new(engine(main_catalog()));
    let caller = Caller {
        catalogs,
        peer: Peer::default(),
    };
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    let result = server.answer(tool, arguments, caller).await;
    let result = serde_json::to_value(result).unwrap();
    let content = &result["structuredContent"];
    assert_eq!(result["isError"], content.is_null());
    if content.is_object() {
        let json: Value =
            serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
        assert_eq!(json, *content, "clients that read texts see the same");
    }
    let text = result["content"][0]["text"].as_str().unwrap();
    (text.to_owned(), content.clone())
}

async fn texts(tool: CatalogTool, calls: &[Value]) -> Vec<String> {
    let catalogs = main_catalog();
    let mut texts = Vec::new();
    for arguments in calls {
        texts.push(call(&catalogs, tool, arguments.clone()).await.0);
    }
    texts
}

#[tokio::test]
async fn catalogs_are_listed_with_their_sizes() {
    let (text, json) = call(&main_catalog(), CatalogTool::ListCatalogs, json!({})).await;
    assert_eq!(text, "Served catalogs: 1.");
    let catalog = json!({
        "name": "main", "displayName": "main", "publisher": null, "imageReference": null,
        "packageCount": 2, "bundleCount": 4,
    });
    assert_eq!(json, json!({ "data": { "catalogs": [catalog] } }));
}

#[tokio::test]
async fn a_search_has_the_number_of_matches_and_a_cursor_for_the_rest() {
    let catalogs = of(
        "package a-store default=s\nchannel s: v1.0.0\npackage b-store default=s\nchannel s: v1.0.0",
    );
    let arguments = json!({ "text": "store", "first": 1 });
    let (text, json) = call(&catalogs, CatalogTool::SearchPackages, arguments).await;
    let cursor = json["data"]["packages"]["pageInfo"]["endCursor"]
        .as_str()
        .unwrap();
    assert_eq!(
        text,
        format!(
            "Packages that match: 2; 1 are shown. For the next ones, repeat the call with `after`: \"{cursor}\"."
        )
    );

    let arguments = json!({ "text": "store", "first": 1, "after": cursor });
    let (text, json) = call(&catalogs, CatalogTool::SearchPackages, arguments).await;
    assert_eq!(text, "Packages that match: 2; 1 are shown.");
    assert_eq!(json["data"]["packages"]["nodes"][0]["name"], "b-store");
    let none = texts(CatalogTool::SearchPackages, &[json!({ "text": "nothing" })]).await;
    assert_eq!(none, ["No package matches: try fewer or other words."]);
}

#[tokio::test]
async fn a_package_and_a_bundle_are_described() {
    let (text, json) = call(
        &main_catalog(),
        CatalogTool::DescribePackage,
        json!({ "package": "etcd" }),
    )
    .await;
    assert_eq!(text, "Catalogs with the package `etcd`: main.");
    let package = &json["data"]["packages"]["nodes"][0];
    assert_eq!(
        [
            &package["latest"]["version"],
            &package["channels"][0]["head"]["name"],
            &package["bundles"]["totalCount"]
        ],
        [&json!("0.9.4"), &json!("etcd.v0.9.4"), &json!(3)]
    );
    let fields: Vec<_> = json["data"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["packages"], "what is for errors only is left out");

    let (text, json) = call(
        &main_catalog(),
        CatalogTool::DescribeBundle,
        json!({ "package": "etcd", "bundle": "etcd.v0.9.4", "catalogs": ["main"] }),
    )
    .await;
    assert_eq!(text, "Catalogs with the bundle `etcd.v0.9.4`: main.");
    let bundle = &json["data"]["bundles"]["nodes"][0];
    assert_eq!(
        [&bundle["providedApis"], &bundle["version"]],
        [
            &json!([{ "group": "etcd.io", "version": "v1", "kind": "Etcd" }]),
            &json!("0.9.4")
        ]
    );
}

#[tokio::test]
async fn upgrades_from_an_installed_bundle_are_listed() {
    let installed = |bundle: &str, version: &str| json!({ "package": "etcd", "bundle": bundle, "version": version });
    assert_eq!(
        texts(
            CatalogTool::AvailableUpgrades,
            &[
                installed("etcd.v0.9.2", "0.9.2"),
                installed("etcd.v0.9.4", "0.9.4")
            ]
        )
        .await,
        [
            "Upgrades in catalog `main`: 1, the highest to `etcd.v0.9.4`.",
            "Catalog `main` has no upgrade from this bundle.",
        ]
    );
}

#[tokio::test]
async fn a_package_is_resolved_as_olm_v1_does_or_the_reason_given() {
    assert_eq!(
        texts(
            CatalogTool::ResolvePackage,
            &[
                json!({ "package": "vault" }),
                json!({ "package": "vault", "version": ">2.0.0" }),
                json!({ "package": "vault", "installed": { "name": "vault.v1.0.0", "version": "x" } }),
            ]
        )
        .await,
        [
            "OLM v1 selects the bundle `vault.v1.0.0` of catalog `main`.",
            "OLM v1 selects no bundle: no bundles found for package \"vault\" matching version \">2.0.0\".",
            "OLM v1 selects no bundle: error walking catalogs: error finding upgrade edges: failed to get version and release of installed bundle: No Major.Minor.Patch elements found.",
        ]
    );
}

#[tokio::test]
async fn dependencies_are_solved_or_the_contradiction_explained() {
    assert_eq!(
        texts(
            CatalogTool::SolveDependencies,
            &[
                json!({ "wanted": [{ "packageName": "etcd" }] }),
                json!({ "wanted": [{ "packageName": "etcd", "channels": ["none"] }] }),
                json!({ "wanted": [{ "packageName": "etcd" }], "policy": "OLM_V2" }),
            ]
        )
        .await,
        [
            "There is a solution; steps: 2.",
            "There is no solution: constraints not satisfiable: no operators found in channel none of package etcd in the catalog referenced by subscription etcd, subscription etcd exists.",
            "the arguments are invalid: unknown variant `OLM_V2`, expected `OLM_V0` or `OLM_V1`; the input schema of the tool has their names and types",
        ]
    );
}

#[tokio::test]
async fn a_mirror_and_a_platform_upgrade_are_planned() {
    assert_eq!(
        texts(
            CatalogTool::PlanMirror,
            &[
                json!({ "catalog": "main", "packages": [{ "name": "etcd", "channels": [{ "name": "stable" }] }] }),
                json!({ "catalog": "main", "packages": [{ "name": "none" }] }),
                json!({ "catalog": "main", "packages": [{ "name": "etcd", "minVersion": "x" }] }),
            ]
        )
        .await,
        [
            "Selected: 1 packages, 1 bundles, 1 images. Problems: 1, the first: images of bundles are mirrored although the related images of these do not name them: `etcd.v0.9.4`.",
            "Selected: 0 packages, 0 bundles, 0 images. Problems: 1, the first: the catalog has no package `none`.",
            "The selection is refused: `x` is not a semantic version, such as `1.2.3`.",
        ]
    );
    let step = |version: &str, catalog: &str| json!({ "platform": { "openshift": version }, "catalogs": [catalog] });
    let installed = json!([{ "packageName": "etcd", "version": "0.9.2" }]);
    assert_eq!(
        texts(
            CatalogTool::PlanPlatformUpgrade,
            &[
                json!({ "steps": [step("4.18", "main"), step("4.19", "main")], "installed": installed }),
                json!({ "steps": [step("4.18", "main"), step("4.19", "other")], "installed": installed }),
            ]
        )
        .await,
        [
            "Verdict: STAYS. The cluster can be upgraded up to OpenShift 4.19.",
            "no catalog `other` is served; the served catalogs are main",
        ]
    );
}

#[tokio::test]
async fn an_unknown_name_is_an_error_with_the_names_that_there_are() {
    let package = "no catalog has a package `etdc`; similar names are etcd; search_packages finds packages by words";
    for tool in [CatalogTool::DescribePackage, CatalogTool::ResolvePackage] {
        let answers = texts(tool, &[json!({ "package": "etdc" })]).await;
        assert_eq!(answers, [package]);
    }
    assert_eq!(
        texts(
            CatalogTool::DescribeBundle,
            &[
                json!({ "package": "etdc", "bundle": "etcd.v0.9.4" }),
                json!({ "package": "etcd", "bundle": "etcd.v0.9.5" }),
                json!({ "package": "etcd", "bundle": "etcd.v0.9.4", "catalogs": ["man"] }),
            ]
        )
        .await,
        [
            package,
            "package `etcd` has no bundle `etcd.v0.9.5`; its newest bundles are etcd.v0.9.4, etcd.v0.9.2, etcd.v0.9.0",
            "no catalog `man` is served; the served catalogs are main",
        ]
    );
}

#[tokio::test]
async fn a_caller_without_rights_sees_nothing_of_a_catalog() {
    let hidden = main_catalog().visible(Visibility::none());
    let package = json!({ "package": "etcd" });
    let near = json!({ "package": "etdc" });
    let bundle = json!({ "package": "etcd", "bundle": "etcd.v0.9.4", "version": "0.9.4" });
    let step = json!({ "platform": { "openshift": "4.18" }, "catalogs": ["main"] });
    let mut answers = Vec::new();
    for (tool, arguments) in [
        (CatalogTool::ListCatalogs, json!({})),
        (CatalogTool::SearchPackages, json!({ "text": "etcd" })),
        (CatalogTool::DescribePackage, package.clone()),
        (CatalogTool::DescribePackage, near),
        (
            CatalogTool::DescribeBundle,
            json!({ "package": "etcd", "bundle": "etcd.v0.9.4" }),
        ),
        (CatalogTool::AvailableUpgrades, bundle),
        (CatalogTool::ResolvePackage, package),
        (
            CatalogTool::SolveDependencies,
            json!({ "wanted": [{ "packageName": "etcd" }] }),
        ),
        (
            CatalogTool::PlanMirror,
            json!({ "catalog": "main", "packages": [{ "name": "etcd" }] }),
        ),
        (
            CatalogTool::PlanPlatformUpgrade,
            json!({ "steps": [step.clone(), step], "installed": [] }),
        ),
    ] {
        answers.push(call(&hidden, tool, arguments).await);
    }
    let absent = "no catalog has a package `etcd`; search_packages finds packages by words";
    let unserved = "no catalog `main` is served; no catalog is served";
    assert_eq!(
        answers
            .iter()
            .map(|(text, _)| text.as_str())
            .collect::<Vec<_>>(),
        [
            "No catalog is served.",
            "No package matches: try fewer or other words.",
            absent,
            "no catalog has a package `etdc`; search_packages finds packages by words",
            absent,
            absent,
            absent,
            "There is no solution: constraints not satisfiable: no operators found from catalog  in namespace  referenced by subscription etcd, subscription etcd exists.",
            unserved,
            unserved,
        ]
    );
    let shown = json!(answers).to_string();
    assert!(
        !shown.contains("0.9.4") && !shown.contains("vault"),
        "{shown}"
    );
}

#[tokio::test]
async fn an_answer_about_a_large_catalog_is_small_and_says_so() {
    let long = "describes a package at length ".repeat(10);
    let channels: Vec<_> = (0..200)
        .map(|index| format!("channel c{index}: v1.0.{index}\n"))
        .collect();
    let channels = channels.concat();
    let text = format!("package etcd default=c0\n{channels}bundle v1.0.0 describes=\"{long}\"");
    let catalogs = of(&text);
    let (text, json) = call(
        &catalogs,
        CatalogTool::DescribePackage,
        json!({ "package": "etcd" }),
    )
    .await;
    assert_eq!(
        text,
        "Catalogs with the package `etcd`: main. Shown are 25 of 200 `packages.nodes.channels`; for the rest, name one catalog in `catalogs`, or see `catalogql show`."
    );
    assert_eq!(
        json["omitted"],
        json!({ "packages.nodes.channels": { "shown": MAX_LIST_ITEMS, "total": 200 } })
    );
    assert!(json.to_string().len() <= MAX_ANSWER_BYTES);
}

#[tokio::test]
async fn an_error_about_a_long_name_is_short() {
    let answers = texts(
        CatalogTool::DescribePackage,
        &[json!({ "package": "x".repeat(60_000) })],
    )
    .await;
    assert_eq!(answers[0].len(), MAX_TEXT_BYTES);
}

#[tokio::test]
async fn a_response_that_is_too_large_is_an_error_and_a_smaller_one_is_cut() {
    let answer = async |bytes: usize| {
        let message = "x".repeat(bytes);
        let text = format!(
            "package etcd default=s\nchannel s: v1.0.0\ndeprecated package etcd \"{message}\""
        );
        let package = json!({ "package": "etcd" });
        call(&of(&text), CatalogTool::DescribePackage, package).await
    };
    let (text, json) = answer(MAX_RESPONSE_BYTES - 4_096).await;
    assert_eq!(text, "Catalogs with the package `etcd`: main.");
    let message = &json["data"]["packages"]["nodes"][0]["deprecation"]["message"];
    assert_eq!(message.as_str().map(str::len), Some(MAX_TEXT_BYTES));
    let (text, _) = answer(MAX_RESPONSE_BYTES).await;
    assert_eq!(
        text,
        "the answer is too large: ask for fewer packages, channels or versions (a search returns at most 20 packages)"
    );
}
