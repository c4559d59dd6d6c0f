//! `CsvMetadata` of a package: what lists show is known, the rest is read from its bundle when it is asked for.

use std::cell::OnceCell;

use fbc::catalog::{CsvMetadata, Package, Summary};

use super::metadata::Named;
use super::{Field, Object, Outcome, Writer};
use crate::fields::CsvMetadataField;

/// What the author of a package says of it.
#[derive(Clone, Copy)]
struct PackageMetadata<'a, 'm> {
    summary: Summary<'a>,
    /// What was read, once something asked for it.
    read: &'m OnceCell<Option<CsvMetadata<'a>>>,
}

impl<'a> Object<'a> for PackageMetadata<'a, '_> {
    type Field = CsvMetadataField;

    fn write(self, name: CsvMetadataField, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        let Self { summary, read } = self;
        match name {
            CsvMetadataField::DisplayName => to.maybe_text(summary.display_name()),
            CsvMetadataField::Provider => {
                let provider = Named { name: summary.provider_name(), url: summary.provider_url() };
                return to.maybe(Some(provider).filter(|it| it.name.is_some() || it.url.is_some()), field);
            }
            CsvMetadataField::Categories => to.texts(summary.categories()),
            CsvMetadataField::CapabilityLevel => to.capability_level(summary.capability_level()),
            CsvMetadataField::InstallModes => to.install_modes(summary.install_modes()),
            CsvMetadataField::InfrastructureFeatures => to.texts(summary.infrastructure_features()),
            CsvMetadataField::Certified => to.maybe_boolean(summary.certified()),
            CsvMetadataField::CreatedAt => to.maybe_text(summary.created_at().map(|at| at.to_string()).as_deref()),
            _ => {
                if read.get().is_none() {
                    let found = summary.bundle().and_then(|bundle| bundle.metadata_by(&mut to.manifests));
                    to.count_decoded()?;
                    read.get_or_init(|| found);
                }
                return match read.get() {
                    Some(Some(metadata)) => metadata.write(name, field, to),
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
