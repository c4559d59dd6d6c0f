//! `catalogql preview`: the objects that an install of a bundle creates, and what they may do.

mod choose;
mod installer;
mod print;

use std::collections::BTreeSet;
use std::fs;
use std::process::ExitCode;

use anyhow::Context as _;
use commands::ExitStatus;
use commands::output::hint;
use fbc::{Bundle, Catalog};
use install_preview::summary::{InstallDifference, InstallSummary};
use install_preview::{
    BundleManifestFile, DeploymentConfig, PreviewError, PreviewErrorCode, RegistryBundle,
    RenderOptions, RenderedObject, RightsFlag, render,
};
use serde::Serialize;

use self::choose::ChosenBundle;
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
        certificates: args.certificates.map(Into::into),
        deployment_config: deployment_config(args)?,
    };
    let chosen = match ChosenBundle::find(&content.catalog, args) {
        Ok(chosen) => chosen,
        Err(error) => return Ok(error.report().into()),
    };
    let status = match report(&chosen, args, &options) {
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
    args: &'a PreviewArgs,
    options: &RenderOptions,
) -> Result<PreviewReport<'a>, Vec<PreviewError>> {
    let preview = BundlePreview::of(chosen.bundle, options)?;
    let mut flags = preview.summary.flags.clone();
    let mut difference = None;
    if let Some(from) = chosen.from {
        let old = BundlePreview::of(from, options)?;
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
    fn of(bundle: Bundle<'a>, options: &RenderOptions) -> Result<Self, Vec<PreviewError>> {
        let files = inline_manifests(bundle).map_err(|error| vec![error])?;
        let read = RegistryBundle::read(bundle.package().name(), &files);
        let manifests = read.map_err(|error| vec![error])?;
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

/// Decodes the manifests that the catalog has of a bundle; fails if it has none.
fn inline_manifests(bundle: Bundle<'_>) -> Result<Vec<BundleManifestFile<'static>>, PreviewError> {
    let files = bundle.inline_manifests()?;
    if files.is_empty() {
        let message = format!(
            "the catalog has no manifests of bundle `{}`: they are in its image {}",
            bundle.name(),
            bundle.image().decode()
        );
        return Err(PreviewError::new(PreviewErrorCode::NoManifests, message));
    }
    Ok(files)
}

/// Lists the packages of a catalog that are spelled like a name.
fn similar_packages<'a>(catalog: &'a Catalog, name: &str) -> Vec<&'a str> {
    let names = catalog.packages().map(fbc::Package::name);
    fbc::similar::similar_names(name, names, &fbc::work::Work::unlimited()).unwrap_or_default()
}
