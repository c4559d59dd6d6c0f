//! `manifest --policy`: an admission policy that lets a cluster install reviewed versions alone.

use commands::args::SupportArgs;
use commands::documents::BUNDLES;
use commands::output::{OutputFormat, print, yaml};
use commands::{ChosenPackage, CommandError, ExitStatus, ListRequest};
use serde_json::{Value, json};

use super::manifest::NAME_LABEL;
use crate::context::ServerSession;

/// Name of the policy and of its binding.
const NAME: &str = "reviewed-cluster-extensions";

/// A version of a package that was reviewed.
struct ReviewedVersion {
    chosen: ChosenPackage,
    version: String,
}

/// Prints the policy and its binding. Packages are `[CATALOG/]PACKAGE@VERSION`.
pub(super) async fn policy(
    session: &ServerSession,
    packages: &[String],
) -> Result<(), CommandError> {
    let mut reviewed = Vec::new();
    for package in packages {
        reviewed.push(find(session, package).await?);
    }
    let objects = [admission_policy(&reviewed), binding()];
    if let OutputFormat::Json = session.output {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        print(&(serde_json::to_string_pretty(&list).expect("it is JSON") + "\n"))
    } else {
        let [policy, binding] = objects.map(|object| yaml(&object));
        print(&format!("{policy}---\n{binding}"))
    }
}

/// Finds the version, so that a misspelled one is told before somebody misses it in a cluster.
async fn find(session: &ServerSession, package: &str) -> Result<ReviewedVersion, CommandError> {
    let Some((name, version)) = package.split_once('@') else {
        let message = format!("package `{package}` has no reviewed version");
        let error = CommandError::new(ExitStatus::Usage, message);
        return Err(error.hint("name one: PACKAGE@VERSION"));
    };
    let chosen = session.choose(name).await?;
    let mut variables = json!({
        "catalogs": [chosen.catalog],
        "packages": [chosen.package],
        "filter": { "versionRange": version },
    });
    SupportArgs::default().add_to(&mut variables);
    let found = session
        .list(ListRequest {
            document: BUNDLES,
            variables,
            connection: "/bundles",
            limit: usize::MAX,
        })
        .await?;
    if !found.iter().any(|bundle| bundle["version"] == version) {
        let message = format!("package `{}` has no version {version}", chosen.package);
        return Err(CommandError::new(ExitStatus::NotFound, message));
    }
    Ok(ReviewedVersion {
        chosen,
        version: version.to_owned(),
    })
}

fn admission_policy(reviewed: &[ReviewedVersion]) -> Value {
    let entries = reviewed.iter().map(|one| {
        // A literal of JSON is one of CEL.
        let [catalog, package, version] =
            [&one.chosen.catalog, &one.chosen.package, &one.version].map(|text| json!(text));
        format!("{{\"catalog\": {catalog}, \"package\": {package}, \"version\": {version}}}")
    });
    let entries: Vec<_> = entries.collect();
    let label = json!(NAME_LABEL);
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": { "name": NAME },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": [{
                "apiGroups": ["olm.operatorframework.io"], "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"], "resources": ["clusterextensions"],
            }] },
            // Labels and finalizers of what is installed may still change.
            "matchConditions": [{
                "name": "spec-changes",
                "expression": "request.operation == \"CREATE\" || object.spec != oldObject.spec",
            }],
            "variables": [
                { "name": "reviewed", "expression": format!("[{}]", entries.join(", ")) },
                {
                    "name": "isCatalog",
                    "expression": "object.spec.source.sourceType == \"Catalog\" && has(object.spec.source.catalog)",
                },
                {
                    "name": "version",
                    "expression": "variables.isCatalog && has(object.spec.source.catalog.version) ? object.spec.source.catalog.version : \"\"",
                },
                {
                    "name": "labels",
                    "expression": "variables.isCatalog && has(object.spec.source.catalog.selector) && has(object.spec.source.catalog.selector.matchLabels) ? object.spec.source.catalog.selector.matchLabels : {}",
                },
            ],
            "validations": [{
                "expression": format!("variables.isCatalog && variables.reviewed.exists(one, one.package == object.spec.source.catalog.packageName && one.version == variables.version && {label} in variables.labels && variables.labels[{label}] == one.catalog)"),
                "messageExpression": format!("variables.isCatalog ? \"version '\" + variables.version + \"' of package '\" + object.spec.source.catalog.packageName + \"' is not a reviewed one of the catalog that the label \" + {label} + \" selects\" : \"only packages of catalogs are reviewed\""),
                "reason": "Forbidden",
            }],
        },
    })
}

fn binding() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": { "name": NAME },
        "spec": { "policyName": NAME, "validationActions": ["Deny"] },
    })
}
