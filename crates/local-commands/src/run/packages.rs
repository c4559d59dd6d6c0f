//! Finds packages that a command line names.

use commands::{CommandError, ExitStatus};
use fbc::similar::similar_names;
use fbc::work::Work;
use fbc::{Catalog, Package};

/// Finds a package.
///
/// # Errors
/// If it does not exist, with the packages whose names are spelled like it.
pub(super) fn find_package<'a>(
    catalog: &'a Catalog,
    name: &str,
) -> Result<Package<'a>, CommandError> {
    catalog.package(name).ok_or_else(|| {
        let names = catalog.packages().map(Package::name);
        let similar = similar_names(name, names, &Work::unlimited()).unwrap_or_default();
        let hint = (!similar.is_empty()).then(|| format!("did you mean {}?", similar.join(" or ")));
        let message = format!("package `{name}` not found");
        CommandError::new(ExitStatus::NotFound, message).hint_if(hint)
    })
}
