//! Prints a preview, for people and for programs.

use std::collections::BTreeSet;
use std::io::{self, Write};

use commands::output::yaml;
use commands::preview::tables as preview_tables;
use fbc_read::Severity;
use install_preview::summary::InstallSummary;
use install_preview::{PreviewError, PreviewErrorCode, RenderedObject, RightsFlag};
use serde::Serialize;
use serde_json::Value;

use super::{PreviewDifference, PreviewReport};
use crate::args::PreviewOutput;
use crate::run::output::{error, json, stderr};
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
    let document = JsonPreview {
        package: preview.bundle.package().name(),
        bundle: preview.bundle.name(),
        version: preview.bundle.version(),
        namespace: report.namespace,
        target_namespaces: &preview.target_namespaces,
        objects: preview.objects.iter().map(RenderedObject::value).collect(),
        summary: &preview.summary,
        difference: report.difference.as_ref(),
    };
    match format {
        PreviewOutput::Json => json(out, &document)?,
        PreviewOutput::Yaml => {
            for object in &preview.objects {
                write!(out, "---\n{}", yaml(&object.value()))?;
            }
        }
        PreviewOutput::Sarif => sarif::print(out, &findings(report))?,
        PreviewOutput::Table => {
            let install = serde_json::to_value(&document)?;
            write!(out, "{}", preview_tables(&install))?;
        }
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
