//! Manifests of a move: `ClusterCatalogs` and `ClusterExtensions` with the reasons as comments, and the
//! commands of upstream's tool.

use std::fmt::Write as _;

use printing::text;
use serde_json::{Value, json};

use super::catalog_moves::{CatalogMove, CatalogOutcome};
use super::judgement::{MigrationStatus, OperatorJudgement};
use super::objects::MigrationKind;
use super::operator::supported_modes;
use crate::output::yaml;

/// Label of a `ClusterCatalog` with its name, which OLM sets.
const NAME_LABEL: &str = "olm.operatorframework.io/metadata.name";

/// Length of names in a `ClusterExtension`, which its definition has.
const MAX_NAME_BYTES: usize = 253;

/// Program of upstream that moves operators.
const OPERATORS_TOOL: &str = "migrate-operators-v0-to-v1";

/// Comment at the beginning of the manifests.
const HEAD: &str = "\
# Manifests for OLM v1 of what OLM v0 has installed. Nothing was changed.
# While a Subscription is there, OLM v1 does not take over the objects of its operator: upstream's tool, whose commands
# follow each operator, deletes the Subscription and keeps the objects.
";

/// Part of the manifests: comments around an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommentedManifest {
    /// Lines before the object.
    pub(super) before: Vec<String>,
    pub(super) object: Option<Value>,
    /// Lines after the object.
    pub(super) after: Vec<String>,
}

/// Reason for which an operator gets no `ClusterExtension`.
struct NoExtension(String);

impl CommentedManifest {
    fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.before {
            let _infallible = writeln!(text, "# {}", one_line(line));
        }
        if let Some(object) = &self.object {
            text.push_str(&yaml(object));
        }
        for line in &self.after {
            let _infallible = writeln!(text, "# {}", one_line(line));
        }
        text
    }
}

/// Returns a comment without what ends a line in some version of YAML. Names and reasons are written by
/// others, and what follows a line's end would be a manifest.
fn one_line(text: &str) -> String {
    let is_end = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    text.replace(is_end, " ")
}

/// Returns all manifests as a stream of YAML documents.
pub(super) fn stream(manifests: &[CommentedManifest]) -> String {
    let parts = manifests.iter().map(CommentedManifest::text);
    let parts: Vec<_> = parts.collect();
    format!("{HEAD}---\n{}", parts.join("---\n"))
}

/// Returns all objects as a list of Kubernetes.
pub(super) fn list(manifests: &[CommentedManifest]) -> Value {
    let objects = manifests
        .iter()
        .filter_map(|manifest| manifest.object.clone());
    json!({ "apiVersion": "v1", "kind": "List", "items": objects.collect::<Vec<_>>() })
}

/// Returns the `ClusterCatalog` of a `CatalogSource`.
pub(super) fn catalog_manifest(moved: &CatalogMove) -> CommentedManifest {
    let mut before = vec![format!(
        "CatalogSource {}: {}{}",
        moved.place(),
        moved.outcome.name(),
        if moved.reason.is_empty() {
            String::new()
        } else {
            format!(", {}", moved.reason)
        }
    )];
    before.extend(moved.notes.iter().cloned());
    CommentedManifest {
        before,
        object: moved.manifest.clone(),
        after: Vec::new(),
    }
}

/// Returns the `ClusterExtension` of an operator; only comments if it cannot be moved.
pub(super) fn extension_manifest(
    judgement: &OperatorJudgement<'_>,
    moves: &[CatalogMove],
    name: Option<&str>,
) -> CommentedManifest {
    let operator = &judgement.operator;
    let mut manifest = CommentedManifest {
        before: vec![format!(
            "Subscription {}, package {} {}: {}",
            operator.place(),
            operator.package(),
            operator.version(),
            judgement.status.name()
        )],
        ..CommentedManifest::default()
    };
    let findings = judgement.open_findings();
    manifest.before.extend(findings.map(|finding| {
        let flag = finding.acknowledgement;
        let flag = flag.map(|flag| format!(" ({flag})")).unwrap_or_default();
        format!("{}{flag}: {}", finding.code, finding.message)
    }));
    match extension(judgement, moves, name) {
        Ok((object, notes)) => {
            manifest.before.extend(notes);
            manifest.object = Some(object);
            manifest.after = commands(judgement, name);
        }
        Err(NoExtension(reason)) => manifest.before.push(format!("no manifest: {reason}")),
    }
    let warnings = judgement.warnings.iter();
    manifest
        .before
        .extend(warnings.map(|warning| format!("warning: {warning}")));
    manifest
}

/// Returns the commands of upstream's tool for an operator that it moves; what to do first for others.
pub(super) fn commands(judgement: &OperatorJudgement<'_>, name: Option<&str>) -> Vec<String> {
    let operator = &judgement.operator;
    let hard: Vec<_> = judgement
        .hard_failures()
        .map(|finding| finding.code)
        .filter(|code| *code != "NAME" || name.is_none())
        .collect();
    let mut target = format!("{} -n {}", operator.name(), operator.namespace());
    let mut lines = Vec::new();
    if !hard.is_empty() {
        lines.push(format!(
            "{OPERATORS_TOOL} refuses it as long as it fails {}",
            hard.join(", ")
        ));
        if hard != ["C7"] {
            return lines;
        }
        lines.push("after the ClusterCatalog serves its content:".to_owned());
    }
    lines.push(format!("{OPERATORS_TOOL} check {target}"));
    if let Some(name) = name {
        let _infallible = write!(target, " --ce-name {name}");
    }
    for flag in judgement.acknowledgements() {
        let _infallible = write!(target, " {flag}");
    }
    lines.push(format!("{OPERATORS_TOOL} convert {target} --dry-run"));
    lines.push(format!("{OPERATORS_TOOL} convert {target}"));
    lines
}

/// Returns the `ClusterExtension` with notes on what was decided.
fn extension(
    judgement: &OperatorJudgement<'_>,
    moves: &[CatalogMove],
    name: Option<&str>,
) -> Result<(Value, Vec<String>), NoExtension> {
    match judgement.status {
        MigrationStatus::Eligible | MigrationStatus::Ineligible => {}
        MigrationStatus::Unknown => {
            return Err(NoExtension("not everything could be read".to_owned()));
        }
        MigrationStatus::Conflict | MigrationStatus::AlreadyMigrated => {
            return Err(NoExtension("it has a ClusterExtension".to_owned()));
        }
    }
    let operator = &judgement.operator;
    let mut notes = Vec::new();
    let mut hard: Vec<_> = judgement
        .hard_failures()
        .map(|finding| finding.code)
        .collect();
    let watched = watched_namespace(judgement);
    if watched.is_some() {
        hard.retain(|code| *code != "C1a");
    }
    let catalog = match judgement.target() {
        Some(target) => Some(target.cluster_catalog.clone()),
        None => planned_catalog(judgement, moves),
    };
    if judgement.target().is_none() && catalog.is_some() {
        hard.retain(|code| *code != "C7");
    }
    if name.is_some() {
        hard.retain(|code| *code != "NAME");
    }
    if !hard.is_empty() {
        return Err(NoExtension(format!(
            "no flag overrides {}",
            hard.join(", ")
        )));
    }
    let catalog = catalog.ok_or_else(|| NoExtension("no ClusterCatalog has it".to_owned()))?;
    if judgement.target().is_none() {
        notes.push(format!(
            "catalog: `{catalog}`, which is to be made first from the CatalogSource"
        ));
    }
    let mut source = json!({ "packageName": operator.package() });
    check_name("package", operator.package())?;
    if !judgement.channel.is_empty() {
        check_name("channel", &judgement.channel)?;
        source["channels"] = json!([judgement.channel]);
        if operator.channel().is_empty() {
            notes.push(format!(
                "channel: the default channel `{}`, which OLM v0 follows because the Subscription names none",
                judgement.channel
            ));
        }
    }
    if operator.subscription()["spec"]["installPlanApproval"] == "Manual" {
        source["version"] = json!(operator.version());
        notes.push(format!(
            "version: pinned to {}, because the Subscription has manual approval",
            operator.version()
        ));
    }
    source["selector"] = json!({ "matchLabels": { NAME_LABEL: catalog } });
    let mut spec = json!({
        "namespace": operator.namespace(),
        "source": { "sourceType": "Catalog", "catalog": source },
    });
    let config = inline_config(judgement, watched, &mut notes);
    if config.as_object().is_some_and(|config| !config.is_empty()) {
        spec["config"] = json!({ "configType": "Inline", "inline": config });
    }
    if let Some(next) = &judgement.next {
        notes.push(format!("then {}", next.sentence()));
    }
    let object = json!({
        "apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
        "metadata": { "name": name.unwrap_or_else(|| operator.name()) },
        "spec": spec,
    });
    Ok((object, notes))
}

/// Checks that a `ClusterExtension` may have a name in its spec; catalogs and Subscriptions may have
/// others.
fn check_name(kind: &str, name: &str) -> Result<(), NoExtension> {
    let is_plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter().all(|end| end.is_some_and(|end| is_plain(*end)))
            && bytes.iter().all(|byte| is_plain(*byte) || *byte == b'-')
    };
    if name.len() <= MAX_NAME_BYTES && name.split('.').all(is_label) {
        return Ok(());
    }
    Err(NoExtension(format!(
        "a ClusterExtension cannot name the {kind} `{name}`: only lower-case letters, digits, `-` and `.` are possible"
    )))
}

/// Returns the configuration of the bundle, with notes on the feature gates that it needs.
fn inline_config(
    judgement: &OperatorJudgement<'_>,
    watched: Option<String>,
    notes: &mut Vec<String>,
) -> Value {
    let mut config = json!({});
    if let Some(namespace) = watched {
        notes.push(format!(
            "config: watches `{namespace}` alone, which needs the feature gate SingleOwnNamespaceInstallSupport (alpha) and the experimental definition of ClusterExtension"
        ));
        config["watchNamespace"] = json!(namespace);
    }
    let mut deployment = judgement.operator.subscription()["spec"]["config"].clone();
    if let Some(members) = deployment.as_object_mut() {
        members.remove("selector");
        if !members.is_empty() {
            let note = "config: `spec.config` of the Subscription, which needs the feature gate DeploymentConfig (alpha) and the experimental definition of ClusterExtension";
            notes.push(note.to_owned());
            config["deploymentConfig"] = deployment;
        }
    }
    config
}

/// Returns the namespace that an operator without support of all namespaces watches, if that is one
/// and it supports this.
fn watched_namespace(judgement: &OperatorJudgement<'_>) -> Option<String> {
    let operator = &judgement.operator;
    judgement
        .hard_failures()
        .find(|finding| finding.code == "C1a")?;
    let [group] = operator.groups()[..] else {
        return None;
    };
    let targets = [
        &group["spec"]["targetNamespaces"],
        &group["status"]["namespaces"],
    ];
    let targets = targets.iter().find_map(|targets| targets.as_array());
    let [Value::String(watched)] = &targets?[..] else {
        return None;
    };
    let mode = if watched == operator.namespace() {
        "OwnNamespace"
    } else {
        "SingleNamespace"
    };
    let modes = supported_modes(operator.csv()?);
    (!watched.is_empty() && modes.iter().any(|own| own == mode)).then(|| watched.clone())
}

/// Returns the `ClusterCatalog` that is to be made from the `CatalogSource` of an operator, or that has
/// its image and serves nothing yet.
fn planned_catalog(judgement: &OperatorJudgement<'_>, moves: &[CatalogMove]) -> Option<String> {
    let operator = &judgement.operator;
    // Another catalog that lacks the version is no reason to wait for this one.
    let place = operator.source().join("/");
    let planned = moves.iter().find(|planned| planned.place() == place)?;
    let is_made = matches!(
        planned.outcome,
        CatalogOutcome::Create | CatalogOutcome::Shared
    );
    let is_read = operator
        .objects()
        .read(MigrationKind::ClusterCatalog)
        .is_ok();
    (is_made && is_read).then(|| planned.cluster_catalog.clone())
}

/// Returns whether an operator follows a `CatalogSource`.
pub(super) fn follows(judgement: &OperatorJudgement<'_>, moved: &CatalogMove) -> bool {
    let subscription = judgement.operator.subscription();
    text(subscription, "/spec/sourceNamespace") == moved.namespace
        && text(subscription, "/spec/source") == moved.name
}
