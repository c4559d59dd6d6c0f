//! `CsvMetadata` of a package: what lists show is known, the rest is read from its bundle when it is asked for.

use std::cell::OnceCell;

use fbc::catalog::{CsvMetadata, Package, Summary};

use super::metadata::Named;
use super::{Field, Object, Outcome, Writer};

/// What the author of a package says of it.
#[derive(Clone, Copy)]
struct PackageMetadata<'a, 'm> {
    summary: Summary<'a>,
    /// What was read, once something asked for it.
    read: &'m OnceCell<Option<CsvMetadata<'a>>>,
}

impl<'a> Object<'a> for PackageMetadata<'a, '_> {
    fn type_name(self) -> &'static str {
        "CsvMetadata"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self { summary, read } = self;
        match field.name {
            "displayName" => to.maybe_text(summary.display_name()),
            "provider" => {
                let provider = Named { name: summary.provider_name(), url: summary.provider_url() };
                return to.maybe(Some(provider).filter(|it| it.name.is_some() || it.url.is_some()), field);
            }
            "categories" => to.texts(summary.categories()),
            "capabilityLevel" => to.capability_level(summary.capability_level()),
            "installModes" => to.install_modes(summary.install_modes()),
            "infrastructureFeatures" => to.texts(summary.infrastructure_features()),
            "certified" => to.maybe_boolean(summary.certified()),
            "createdAt" => to.maybe_text(summary.created_at().map(|at| at.to_string()).as_deref()),
            _ => {
                if read.get().is_none() {
                    let found = summary.bundle().and_then(|bundle| bundle.metadata_by(&mut to.manifests));
                    to.count_decoded()?;
                    read.get_or_init(|| found);
                }
                return match read.get() {
                    Some(Some(metadata)) => metadata.write(field, to),
                    _ => to.unknown(field),
                };
            }
        }
        Ok(())
    }
}

impl<'a> Writer<'a> {
    /// Writes what the author of a package says of it.
    pub(super) fn package_metadata(&mut self, package: Package<'a>, field: &'a Field<'a>) -> Outcome {
        let (summary, read) = (package.summary(), OnceCell::new());
        let metadata = summary.bundle().map(|_| PackageMetadata { summary, read: &read });
        self.maybe(metadata, field)
    }
}
