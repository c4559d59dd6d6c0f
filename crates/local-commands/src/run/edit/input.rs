//! The operations of the command line and of files.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use commands::file_argument::read_text;
use edit::Operation;
use edit::bundle::{Migration, RenderBudget, RenderedBundle};
use edit::input::{BundleInput, read_batch};
use edit::operation::{
    Add, AddMode, ChannelEntries, Deprecate, DeprecateTruncate, DeprecationMessage, EntryFields,
    MAX_OPERATIONS, PackageFields, Packages, Reference, Undeprecate,
};

use crate::args::{DeprecationTarget, EditArgs, EditOperation, EntryArgs};
use crate::run::render::{self, BundleImageRenderer};

/// Reads the operations, and renders the bundles that they add.
pub(super) fn operations(args: &EditArgs) -> anyhow::Result<Vec<Operation<RenderedBundle>>> {
    // Directories of bundles are relative to the file that names them.
    let (operations, folder) = match (&args.operation, &args.ops) {
        (Some(operation), None) => (vec![operation_from_arguments(operation)?], PathBuf::new()),
        (None, Some(path)) => (
            read_file(path)?,
            path.parent().map(Path::to_owned).unwrap_or_default(),
        ),
        _ => bail!("cannot edit: name one operation, or a file of operations with --ops"),
    };
    if operations.len() > MAX_OPERATIONS {
        bail!(
            "batch has {} operations, the limit is {MAX_OPERATIONS}",
            operations.len()
        );
    }
    let mut images = BundleImageRenderer::new(&args.registries)?;
    let mut render = |bundle| render_bundle(bundle, &folder, &mut images);
    operations
        .into_iter()
        .map(|operation| operation.try_map(&mut render))
        .collect()
}

fn read_file(path: &Path) -> anyhow::Result<Vec<Operation<BundleInput>>> {
    let reading = || format!("cannot read the operations in `{}`", path.display());
    read_batch(read_text(path).with_context(reading)?.as_bytes()).with_context(reading)
}

fn render_bundle(
    bundle: BundleInput,
    folder: &Path,
    images: &mut BundleImageRenderer<'_>,
) -> anyhow::Result<RenderedBundle> {
    if bundle.files.is_some() || bundle.blob.is_some() {
        return Ok(bundle.render(&mut RenderBudget::unlimited())?);
    }
    match &bundle.directory {
        Some(directory) => {
            let directory = folder.join(directory);
            render::bundle(&directory, &bundle.image, Migration::CsvMetadata)
        }
        None if !bundle.image.is_empty() => images.bundle(&bundle.image, Migration::CsvMetadata),
        None => Ok(bundle.render(&mut RenderBudget::unlimited())?),
    }
}

/// Parses `IMAGE` or `IMAGE=DIR`.
fn parse_bundle(text: &str) -> anyhow::Result<BundleInput> {
    if let Some((directory, image)) = text.split_once('=')
        && Path::new(directory).is_dir()
        && !Path::new(image).exists()
    {
        bail!("cannot add `{text}`: write the image first: {image}={directory}");
    }
    let (image, directory) = match text.split_once('=') {
        Some((image, directory)) => (image, Some(directory.into())),
        None if Path::new(text).is_dir() => {
            bail!(
                "cannot add `{text}`: write IMAGE=DIR, such as quay.io/ns/etcd-bundle:v0.9.2=bundle"
            )
        }
        None => (text, None),
    };
    Ok(BundleInput {
        directory,
        image: image.to_owned(),
        ..BundleInput::default()
    })
}

fn operation_from_arguments(operation: &EditOperation) -> anyhow::Result<Operation<BundleInput>> {
    Ok(match operation {
        EditOperation::Add {
            bundles,
            mode,
            overwrite_latest,
            enable_alpha,
            prune_stranded,
        } => Operation::Add(Add {
            bundles: bundles
                .iter()
                .map(|text| parse_bundle(text))
                .collect::<anyhow::Result<_>>()?,
            mode: mode.parse::<AddMode>()?,
            overwrite_latest: *overwrite_latest,
            enable_alpha: *enable_alpha,
            prune_stranded: *prune_stranded,
        }),
        EditOperation::Rm {
            packages,
            permissive,
        } => Operation::Rm(Packages {
            packages: packages.clone(),
            permissive: *permissive,
            allow_empty: true,
        }),
        EditOperation::Prune {
            packages,
            allow_empty,
        } => Operation::Prune(Packages {
            packages: packages.clone(),
            permissive: false,
            allow_empty: *allow_empty,
        }),
        EditOperation::PruneStranded => Operation::PruneStranded {},
        EditOperation::DeprecateTruncate {
            images,
            allow_package_removal,
            permissive,
        } => Operation::DeprecateTruncate(DeprecateTruncate {
            images: images.clone(),
            allow_package_removal: *allow_package_removal,
            permissive: *permissive,
            drop_truncated: false,
        }),
        EditOperation::RemoveChannel {
            package,
            channel,
            prune_stranded,
        } => Operation::RemoveChannel {
            package: package.clone(),
            channel: channel.clone(),
            prune_stranded: *prune_stranded,
        },
        EditOperation::DeleteLatest {
            package,
            drop_empty_channels,
        } => Operation::DeleteLatest {
            package: package.clone(),
            drop_empty_channels: *drop_empty_channels,
        },
        EditOperation::DeleteBundle {
            package,
            bundle,
            policy,
        } => Operation::DeleteBundle {
            package: package.clone(),
            bundle: bundle.clone(),
            policy: (*policy).into(),
        },
        EditOperation::Promote {
            package,
            bundle,
            channel,
        } => Operation::Promote {
            package: package.clone(),
            bundle: bundle.clone(),
            channel: channel.clone(),
        },
        EditOperation::SetPackage {
            package,
            default_channel,
            description,
        } => Operation::SetPackage(PackageFields {
            package: package.clone(),
            default_channel: default_channel.clone(),
            description: description.clone(),
            icon: None,
        }),
        EditOperation::AddChannel(entry) => Operation::AddChannel(channel_entries(entry)),
        EditOperation::SetEntry(entry) => Operation::SetEntry(channel_entries(entry)),
        EditOperation::Deprecate { target, message } if message.is_empty() => undeprecate(target),
        EditOperation::Deprecate { target, message } => Operation::Deprecate(Deprecate {
            package: target.package.clone(),
            entries: vec![DeprecationMessage {
                reference: reference(target),
                message: message.clone(),
            }],
        }),
        EditOperation::Undeprecate(target) => undeprecate(target),
    })
}

fn channel_entries(args: &EntryArgs) -> ChannelEntries {
    ChannelEntries {
        package: args.package.clone(),
        channel: args.channel.clone(),
        entries: vec![EntryFields {
            name: args.bundle.clone(),
            replaces: args.replaces.clone(),
            skips: args.skips.clone(),
            skip_range: args.skip_range.clone(),
        }],
    }
}

fn undeprecate(target: &DeprecationTarget) -> Operation<BundleInput> {
    Operation::Undeprecate(Undeprecate {
        package: target.package.clone(),
        references: vec![reference(target)],
    })
}

fn reference(target: &DeprecationTarget) -> Reference {
    let (schema, name) = match (&target.channel, &target.bundle) {
        (Some(name), _) => ("olm.channel", name.clone()),
        (None, Some(name)) => ("olm.bundle", name.clone()),
        (None, None) => ("olm.package", String::new()),
    };
    Reference {
        schema: schema.to_owned(),
        name,
    }
}
