//! Prints a preview, for people and for programs.

use std::collections::BTreeSet;
use std::io::{self, Write};

use commands::output::yaml;
use fbc_read::Severity;
use install_preview::summary::{InstallSummary, RightGroup};
use install_preview::{PreviewError, PreviewErrorCode, RenderedObject, RightsFlag};
use serde::Serialize;
use serde_json::Value;

use super::{PreviewDifference, PreviewReport};
use crate::args::PreviewOutput;
use crate::run::output::{error, json, stderr, table};
use crate::run::validate::{Finding, sarif};

/// The output for programs.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonPreview<'a> {
    package: &'a str,
    bundle: &'a str,
    version: Option<&'a str>,
    namespace: &'a str,
    target_namespaces: &'a [String],
    objects: Vec<Value>,
    #[serde(flatten)]
    summary: &'a InstallSummary,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<&'a PreviewDifference<'a>>,
}

/// The output for programs when the install is refused.
#[derive(Serialize)]
struct JsonRefusal<'a> {
    errors: &'a [PreviewError],
}

/// Prints the objects with what they mean.
pub(super) fn report(
    out: &mut impl Write,
    report: &PreviewReport<'_>,
    format: PreviewOutput,
) -> io::Result<()> {
    let preview = &report.preview;
    match format {
        PreviewOutput::Json => json(
            out,
            &JsonPreview {
                package: preview.bundle.package().name(),
                bundle: preview.bundle.name(),
                version: preview.bundle.version(),
                namespace: report.namespace,
                target_namespaces: &preview.target_namespaces,
                objects: preview.objects.iter().map(RenderedObject::value).collect(),
                summary: &preview.summary,
                difference: report.difference.as_ref(),
            },
        )?,
        PreviewOutput::Yaml => {
            for object in &preview.objects {
                write!(out, "---\n{}", yaml(&object.value()))?;
            }
        }
        PreviewOutput::Sarif => sarif::print(out, &findings(report))?,
        PreviewOutput::Table => tables(out, report)?,
    }
    out.flush()?;
    if !report.failures.is_empty() {
        writeln!(
            stderr(),
            "{} the install has flags of --fail-on: {}",
            error(),
            joined(&report.failures)
        )?;
    }
    Ok(())
}

/// Prints why the install is refused.
pub(super) fn refusal(
    out: &mut impl Write,
    errors: &[PreviewError],
    format: PreviewOutput,
) -> io::Result<()> {
    match format {
        PreviewOutput::Json => json(out, &JsonRefusal { errors })?,
        PreviewOutput::Sarif => {
            let findings: Vec<_> = errors
                .iter()
                .map(|error| Finding::new("REFUSED", Severity::Error, error.message.clone()))
                .collect();
            sarif::print(out, &findings)?;
        }
        PreviewOutput::Table | PreviewOutput::Yaml => {
            for refusal in errors {
                writeln!(stderr(), "{} {refusal}", error())?;
                if let Some(advice) = advice(refusal) {
                    writeln!(stderr(), "hint: {advice}")?;
                }
            }
        }
    }
    out.flush()
}

/// Returns what the user can do about a reason.
fn advice(refusal: &PreviewError) -> Option<&'static str> {
    match refusal.code {
        PreviewErrorCode::InvalidTargetNamespaces if refusal.message.contains("[]") => {
            Some("--watch-namespaces names the namespaces that the operator watches")
        }
        _ => None,
    }
}

fn tables(out: &mut impl Write, report: &PreviewReport<'_>) -> io::Result<()> {
    let preview = &report.preview;
    let objects = preview.objects.iter().map(|object| {
        [
            object.kind.to_string(),
            object.namespace.clone().unwrap_or_default(),
            object.name.to_string(),
        ]
    });
    write!(out, "{}", table(["KIND", "NAMESPACE", "NAME"], objects))?;

    let summary = &preview.summary;
    if !summary.permissions.is_empty() {
        let rows = summary.permissions.iter().map(|permission| {
            let scope = if permission.namespaces.is_empty() {
                "all".to_owned()
            } else {
                permission.namespaces.join(",")
            };
            [
                permission.service_account.clone(),
                scope,
                permission.rules.len().to_string(),
                joined(&permission.flags),
            ]
        });
        let header = ["SERVICE ACCOUNT", "NAMESPACES", "RULES", "FLAGS"];
        write!(out, "\n{}", table(header, rows))?;
    }
    if let Some(difference) = &report.difference {
        write_difference(out, difference)?;
    }
    Ok(())
}

fn write_difference(out: &mut impl Write, changes: &PreviewDifference<'_>) -> io::Result<()> {
    let difference = &changes.difference;
    let mut rows: Vec<[String; 3]> = Vec::new();
    let mut add = |change: &str, what: &str, text: String| {
        rows.push([change.to_owned(), what.to_owned(), text]);
    };
    for (change, flags) in [
        ("added", &difference.flags_gained),
        ("removed", &difference.flags_lost),
    ] {
        for flag in flags {
            add(change, "flag", flag.as_str().to_owned());
        }
    }
    for (change, rights) in [
        ("added", &difference.rights_gained),
        ("removed", &difference.rights_lost),
    ] {
        for right in rights {
            add(change, "right", right_text(right));
        }
    }
    for (change, images) in [
        ("added", &difference.images_added),
        ("removed", &difference.images_removed),
    ] {
        for image in images {
            add(change, "image", image.clone());
        }
    }
    for (change, webhooks) in [
        ("added", &difference.webhooks_added),
        ("removed", &difference.webhooks_removed),
    ] {
        for webhook in webhooks {
            add(change, "webhook", webhook.name.clone());
        }
    }
    for crd in &difference.crd_changes {
        add(
            "changed",
            "definition",
            format!("{}: {}", crd.name, crd.message),
        );
    }
    if rows.is_empty() {
        return writeln!(out, "\nno difference from {}", changes.from);
    }
    writeln!(out, "\nfrom {}:", changes.from)?;
    write!(out, "{}", table(["CHANGE", "WHAT", "VALUE"], rows))
}

/// Writes a right as `VERBS RESOURCE.GROUP/NAME in NAMESPACE`.
fn right_text(right: &RightGroup) -> String {
    let verbs: Vec<_> = right.verbs.iter().map(String::as_str).collect();
    let mut text = format!("{} {}", verbs.join(","), right.resource);
    if let Some(group) = right.api_group.as_deref().filter(|group| !group.is_empty()) {
        text.push('.');
        text.push_str(group);
    }
    if let Some(name) = &right.resource_name {
        text.push_str(" named ");
        text.push_str(name);
    }
    if let Some(namespace) = &right.namespace {
        text.push_str(" in ");
        text.push_str(namespace);
    }
    text
}

/// The risks as findings: those of `--fail-on` are errors.
fn findings<'a>(report: &'a PreviewReport<'_>) -> Vec<Finding<'a>> {
    let bundle = report.preview.bundle;
    let flags = match &report.difference {
        None => &report.preview.summary.flags,
        Some(changes) => &changes.difference.flags_gained,
    };
    let findings = flags.iter().map(|flag| {
        let severity = if report.failures.contains(flag) {
            Severity::Error
        } else {
            Severity::Warning
        };
        Finding {
            package: Some(bundle.package().name()),
            bundle: Some(bundle.name()),
            ..Finding::new(flag.as_str(), severity, flag.describe().to_owned())
        }
    });
    findings.collect()
}

fn joined(flags: &BTreeSet<RightsFlag>) -> String {
    let names: Vec<_> = flags.iter().map(|flag| flag.as_str()).collect();
    names.join(" ")
}
