//! Finds the bundles that a command line names.

use commands::{CommandError, ExitStatus};
use fbc::{Bundle, Catalog, Head, Package};

use super::super::packages::find_package;
use crate::args::PreviewArgs;

/// The bundle to preview, and the one to compare it with.
pub(super) struct ChosenBundle<'a> {
    pub(super) bundle: Bundle<'a>,
    pub(super) from: Option<Bundle<'a>>,
}

impl<'a> ChosenBundle<'a> {
    pub(super) fn find(catalog: &'a Catalog, args: &PreviewArgs) -> Result<Self, CommandError> {
        let (name, version) = match args.package.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (&*args.package, None),
        };
        let package = find_package(catalog, name)?;
        let bundle = match (&args.bundle_name, version) {
            (Some(bundle), version) => named(package, bundle, version)?,
            (None, Some(version)) => of_version(package, version)?,
            (None, None) => default_head(package)?,
        };
        let from = args.from.as_deref();
        let from = from.map(|version| of_version(package, version));
        Ok(Self {
            bundle,
            from: from.transpose()?,
        })
    }
}

fn named<'a>(
    package: Package<'a>,
    name: &str,
    version: Option<&str>,
) -> Result<Bundle<'a>, CommandError> {
    let bundle = package.bundle(name).ok_or_else(|| {
        not_found(format!(
            "package `{}` has no bundle `{name}`",
            package.name()
        ))
    })?;
    match version {
        Some(version) if bundle.version() != Some(version) => Err(not_found(format!(
            "bundle `{name}` has version {}, not {version}",
            bundle.version().unwrap_or("none")
        ))),
        _ => Ok(bundle),
    }
}

/// Finds the bundle of a version. A version that several bundles have is ambiguous.
fn of_version<'a>(package: Package<'a>, version: &str) -> Result<Bundle<'a>, CommandError> {
    let bundles = package.bundles();
    let found: Vec<_> = bundles
        .filter(|bundle| bundle.version() == Some(version))
        .collect();
    match found[..] {
        [bundle] => Ok(bundle),
        [] => Err(not_found(format!(
            "package `{}` has no version {version}",
            package.name()
        ))),
        _ => {
            let names: Vec<_> = found.iter().map(|bundle| bundle.name()).collect();
            let message = format!(
                "package `{}` has {} bundles of version {version}",
                package.name(),
                found.len()
            );
            let hint = format!("choose one with --bundle-name: {}", names.join(", "));
            Err(not_found(message).hint(hint))
        }
    }
}

fn default_head(package: Package<'_>) -> Result<Bundle<'_>, CommandError> {
    let channel = package.default_channel();
    let head = channel.and_then(|channel| match channel.head() {
        Head::One(entry) => entry.bundle(),
        Head::None | Head::Several => None,
    });
    head.ok_or_else(|| {
        not_found(format!(
            "package `{}` has no head of its default channel",
            package.name()
        ))
        .hint("name a version: PACKAGE@VERSION")
    })
}

fn not_found(message: String) -> CommandError {
    CommandError::new(ExitStatus::NotFound, message)
}
