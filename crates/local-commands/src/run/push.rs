//! `catalogql push`: packs the files of a catalog into an image, and pushes that to a registry.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use commands::{CommandError, ExitStatus};
use fbc_read::Severity;
use images::{PackedImage, Packer, RegistryReference};
use loading::Source;
use loading::directory::{self, Listing, OpenFile};

use super::once;
use super::output::{count, ignore_closed_pipe};
use super::registries::RegistryAccess;
use super::sources::SourceReference;
use crate::args::{HttpArgs, ImageArgs, PushArgs, RegistryArgs};

/// A file of a listing as a reader.
struct ListedReader(OpenFile);

/// Pushes a directory that is a valid catalog, and prints the reference of the image by digest.
pub(super) fn push(args: &PushArgs) -> anyhow::Result<ExitCode> {
    let to = args.image.strip_prefix("docker://").unwrap_or(&args.image);
    let to = RegistryReference::parse(to)?;
    let scratch = tempfile::tempdir().context("cannot create a temporary folder")?;
    let pushing = || format!("cannot push the catalog in `{}`", args.directory.display());
    let image = pack(args, scratch.path()).with_context(pushing)?;
    let pinned = push_image(&to, &image, &args.registries)?;
    ignore_closed_pipe(writeln!(io::stdout(), "{pinned}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Pushes an image, and returns its reference by digest.
pub(super) fn push_image(
    to: &RegistryReference,
    image: &PackedImage,
    registries: &RegistryArgs,
) -> anyhow::Result<String> {
    let registries = RegistryAccess::default().update(registries, true)?;
    Ok(once::runtime()?.block_on(registries.push(to, image))?)
}

/// Packs the files that `.indexignore` leaves in, if they are a valid catalog.
fn pack(args: &PushArgs, scratch: &Path) -> anyhow::Result<PackedImage> {
    let directory = &args.directory;
    let listing = directory::list(directory)?;
    if listing.files().is_empty() {
        bail!("it has no file: it is empty or .indexignore leaves out every file");
    }
    validate(args)?;
    let mut packer = Packer::new(scratch)?;
    for file in listing.files() {
        packer.add(&file.path, file.bytes, ListedReader(listing.open(file)?))?;
    }
    // What is packed is what was validated.
    if directory::list(directory)
        .as_ref()
        .map(Listing::revision)
        .ok()
        != Some(listing.revision())
    {
        bail!("its files changed while they were read; push again");
    }
    Ok(packer.finish()?)
}

fn validate(
    PushArgs {
        directory,
        skip_validation,
        registries,
        ..
    }: &PushArgs,
) -> anyhow::Result<()> {
    let source = Source::Directory(std::path::absolute(directory)?);
    let images = ImageArgs {
        registries: registries.clone(),
        http: HttpArgs::default(),
        configs_dir: None,
    };
    let content = once::load_one(
        &SourceReference {
            source,
            configs_dir: None,
        },
        &images,
    )?;
    let content = content.map_err(|error| anyhow::anyhow!("{}", error.chain()))?;
    match count(&content.catalog, Severity::Error) {
        0 => Ok(()),
        _ if *skip_validation => Ok(()),
        errors => {
            let message = format!(
                "it has {errors} errors, which `catalogql validate {}` lists; --skip-validation pushes it all the same",
                directory.display()
            );
            Err(CommandError::new(ExitStatus::Negative, message).into())
        }
    }
}

impl Read for ListedReader {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.0.read(room).map_err(io::Error::other)
    }
}
