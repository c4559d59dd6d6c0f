//! `catalogql verify`: decides about an image by the signature policy, and says why.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::bail;
use commands::{CommandError, ExitStatus};
use images::{Judgement, RefusalCode, Verdict, VerdictState, VerifiedManifest};
use loading::Source;
use serde::Serialize;

use super::once;
use super::output::ignore_closed_pipe;
use super::registries::RegistryAccess;
use super::sources::SourceReference;
use crate::args::{VerifyArgs, VerifyOutput};

/// The decision as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct VerificationReport {
    image: String,
    state: &'static str,
    scope: String,
    requirements: Vec<String>,
    signers: Vec<String>,
    verified: Option<&'static str>,
    reasons: Vec<ReportedReason>,
}

#[derive(Serialize)]
struct ReportedReason {
    code: &'static str,
    message: String,
}

/// Prints the decision. The exit status is 1 if the image is refused.
pub(super) fn verify(args: &VerifyArgs) -> anyhow::Result<ExitCode> {
    let (report, code) =
        judge(args).map_err(|error| super::command_error(&error, ExitStatus::Usage))?;
    let mut out = printing::stdout();
    let printed = match args.output {
        VerifyOutput::Table => print_table(&mut out, &report),
        VerifyOutput::Json => printing::json(&mut out, &report),
    };
    ignore_closed_pipe(printed)?;
    match code {
        None => Ok(ExitCode::SUCCESS),
        Some(
            RefusalCode::SignatureUnreachable
            | RefusalCode::RequirementUnsupported
            | RefusalCode::PolicyUnreadable,
        ) => Ok(ExitStatus::Usage.into()),
        Some(_) => Ok(ExitStatus::Negative.into()),
    }
}

fn judge(args: &VerifyArgs) -> anyhow::Result<(VerificationReport, Option<RefusalCode>)> {
    let source = SourceReference::parse(&args.source, None)?.source;
    let Source::Image(image) = source else {
        bail!(
            "`{}` is not an image: only images have signatures",
            args.source
        );
    };
    let registries = RegistryAccess::default().update(&args.registries, true)?;
    let (resolved, judgement) = once::runtime()?.block_on(registries.judge(&image))?;
    let Some(Judgement { verdict, .. }) = judgement else {
        return Err(CommandError::new(
            ExitStatus::Usage,
            "there is no signature policy: name one with --signature-policy".to_owned(),
        )
        .into());
    };
    let code = verdict.code().filter(|_| verdict.is_refused());
    Ok((report(resolved.pinned_reference, verdict), code))
}

fn report(image: String, verdict: Verdict) -> VerificationReport {
    VerificationReport {
        image,
        state: match verdict.state {
            VerdictState::Accepted => "ACCEPTED",
            VerdictState::Verified => "VERIFIED",
            VerdictState::Refused => "REFUSED",
        },
        scope: verdict.scope,
        requirements: verdict.requirements,
        signers: verdict.signers,
        verified: verdict.verified.map(|verified| match verified {
            VerifiedManifest::Manifest => "MANIFEST",
            VerifiedManifest::Index => "INDEX",
        }),
        reasons: verdict
            .refusals
            .into_iter()
            .map(|refusal| ReportedReason {
                code: refusal.code.as_str(),
                message: refusal.message,
            })
            .collect(),
    }
}

fn print_table(out: &mut impl Write, report: &VerificationReport) -> io::Result<()> {
    let mut rows = vec![
        ("Image", report.image.clone()),
        ("State", report.state.to_owned()),
        ("Scope", report.scope.clone()),
        ("Requirements", report.requirements.join(", ")),
        ("Signed", report.verified.unwrap_or_default().to_owned()),
        ("Signers", report.signers.join(", ")),
    ];
    let reasons = report.reasons.iter();
    rows.extend(reasons.map(|reason| {
        let text = format!("{}: {}", reason.code, reason.message);
        ("Reason", text)
    }));
    rows.retain(|(_, value)| !value.is_empty());
    for (name, value) in rows {
        writeln!(out, "{name:<14}{value}")?;
    }
    Ok(())
}
