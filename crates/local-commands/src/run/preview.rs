//! `catalogql preview`: the objects that an install of a bundle creates, and what they may do.

mod choose;
mod installer;
mod manifests;
mod print;

use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;

use anyhow::Context as _;
use commands::ExitStatus;
use commands::args::CertificateProviderArg;
use commands::output::hint;
use fbc::Bundle;
use install_preview::summary::{InstallDifference, InstallSummary};
use install_preview::{
    CertificateProvider, DeploymentConfig, PreviewError, RegistryBundle, RenderOptions,
    RenderedObject, RightsFlag, render,
};
use serde::Serialize;

use self::choose::ChosenBundle;
use self::manifests::ManifestReader;
use super::once;
use super::output::{ignore_closed_pipe, stdout, warning};
use super::sources::{SourceReference, check_configs_dir};
use crate::args::PreviewArgs;

/// The preview of one bundle.
struct BundlePreview<'a> {
    bundle: Bundle<'a>,
    target_namespaces: Vec<String>,
    objects: Vec<RenderedObject<'static>>,
    summary: InstallSummary,
}

/// Differences from another bundle of the package.
#[derive(Serialize)]
struct PreviewDifference<'a> {
    /// The other bundle.
    from: &'a str,
    #[serde(flatten)]
    difference: InstallDifference,
}

/// Output for an install that is not refused.
struct PreviewReport<'a> {
    preview: BundlePreview<'a>,
    namespace: &'a str,
    difference: Option<PreviewDifference<'a>>,
    /// Flags of `--fail-on` that the install has.
    failures: BTreeSet<RightsFlag>,
}

/// Prints the preview. The exit status does not depend on the reader of the output.
pub(super) fn preview(args: &PreviewArgs) -> anyhow::Result<ExitCode> {
    check_configs_dir(
        std::slice::from_ref(&args.source),
        args.images.configs_dir.as_deref(),
    )?;
    let source = SourceReference::parse(&args.source, args.images.configs_dir.as_deref())?;
    let content = once::load_one(&source, &args.images)?;
    let content = content.map_err(|error| {
        anyhow::anyhow!(
            "cannot load the catalog `{}`: {}",
            args.source,
            error.chain()
        )
    })?;
    let options = RenderOptions {
        install_namespace: args.namespace.clone(),
        watch_namespaces: args.watch_namespaces.clone(),
        certificates: args.certificates.map(certificate_provider),
        deployment_config: deployment_config(args)?,
    };
    let chosen = match ChosenBundle::find(&content.catalog, args) {
        Ok(chosen) => chosen,
        Err(error) => return Ok(error.report().into()),
    };
    let mut reader = ManifestReader::new(args)?;
    let bundles = PreviewedBundles {
        manifests: reader.read(chosen.bundle)?,
        from: match chosen.from {
            None => None,
            Some(from) => Some(reader.read(from)?),
        },
    };
    let status = match report(&chosen, bundles, args, &options) {
        Ok(report) if args.installer_rbac.is_some() => {
            installer::print(&report.preview, args)?;
            ExitStatus::Success
        }
        Ok(report) => {
            ignore_closed_pipe(print::report(&mut stdout(), &report, args.output))?;
            ExitStatus::negative_if(!report.failures.is_empty())
        }
        Err(errors) => {
            ignore_closed_pipe(print::refusal(&mut stdout(), &errors, args.output))?;
            ExitStatus::Negative
        }
    };
    Ok(status.into())
}

/// Manifests of the bundles of a preview, or why they cannot be read.
struct PreviewedBundles {
    manifests: Result<RegistryBundle, PreviewError>,
    from: Option<Result<RegistryBundle, PreviewError>>,
}

fn certificate_provider(written: CertificateProviderArg) -> CertificateProvider {
    match written {
        CertificateProviderArg::CertManager => CertificateProvider::CertManager,
        CertificateProviderArg::ServiceCa => CertificateProvider::ServiceCa,
    }
}

fn deployment_config(args: &PreviewArgs) -> anyhow::Result<Option<DeploymentConfig>> {
    let Some(path) = &args.deployment_config else {
        return Ok(None);
    };
    let failed = || format!("cannot read the deployment config `{}`", path.display());
    let text = fs::read(path).with_context(failed)?;
    let config = DeploymentConfig::read(&text).with_context(failed)?;
    for field in config.unknown_fields() {
        hint(&format!(
            "{} the deployment config `{}` has the field `{field}`, which the controller does not know: it has no effect",
            warning(),
            path.display()
        ));
    }
    Ok(Some(config))
}

/// Renders the chosen bundle, and the one that it is compared with.
fn report<'a>(
    chosen: &ChosenBundle<'a>,
    bundles: PreviewedBundles,
    args: &'a PreviewArgs,
    options: &RenderOptions,
) -> Result<PreviewReport<'a>, Vec<PreviewError>> {
    let preview = BundlePreview::of(chosen.bundle, bundles.manifests, options)?;
    let mut flags = preview.summary.flags.clone();
    let mut difference = None;
    if let (Some(from), Some(manifests)) = (chosen.from, bundles.from) {
        let old = BundlePreview::of(from, manifests, options)?;
        let changes = preview.summary.difference_from(&old.summary);
        flags.clone_from(&changes.flags_gained);
        difference = Some(PreviewDifference {
            from: from.name(),
            difference: changes,
        });
    }
    flags.retain(|flag| args.fail_on.contains(flag));
    Ok(PreviewReport {
        preview,
        namespace: &args.namespace,
        difference,
        failures: flags,
    })
}

impl<'a> BundlePreview<'a> {
    fn of(
        bundle: Bundle<'a>,
        manifests: Result<RegistryBundle, PreviewError>,
        options: &RenderOptions,
    ) -> Result<Self, Vec<PreviewError>> {
        let manifests = manifests.map_err(|error| vec![error])?;
        let rendering = render(&manifests, options)?;
        let summary = InstallSummary::of(&rendering, &options.install_namespace)
            .map_err(|error| vec![error])?;
        let objects = rendering.objects.into_iter();
        Ok(Self {
            bundle,
            target_namespaces: rendering.target_namespaces,
            objects: objects.map(RenderedObject::into_owned).collect(),
            summary,
        })
    }
}
