//! `CsvMetadata` of a package: the fields that lists show come from its summary, the others are
//! decoded from its bundle when a field needs them.

use std::cell::OnceCell;

use fbc::{CsvMetadata, Package, Summary};

use super::metadata::{DecodedProvider, MetadataId};
use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::CsvMetadataField;

/// The type `CsvMetadata`, for a package.
#[derive(Clone, Copy)]
struct PackageMetadata<'a, 'm> {
    package: InCatalog<'a, Summary<'a>>,
    id: MetadataId<'a>,
    /// Metadata of the bundle, once a field needed it.
    decoded: &'m OnceCell<Option<CsvMetadata<'a>>>,
}

impl<'a> Object<'a> for PackageMetadata<'a, '_> {
    type Field = CsvMetadataField;

    fn write(
        self,
        name: CsvMetadataField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self {
            package,
            id,
            decoded,
        } = self;
        let summary = package.item;
        match name {
            CsvMetadataField::Id => id.write(package.served, writer),
            CsvMetadataField::DisplayName => writer.optional_string(summary.display_name()),
            CsvMetadataField::Provider => {
                let provider = DecodedProvider {
                    name: summary.provider_name(),
                    short_name: summary.provider_short_name(),
                    url: summary.provider_url(),
                };
                return writer.optional_object(
                    Some(provider).filter(|link| link.name.is_some() || link.url.is_some()),
                    field,
                );
            }
            CsvMetadataField::Categories => writer.strings(summary.categories()),
            CsvMetadataField::CapabilityLevel => {
                writer.capability_level(summary.capability_level());
            }
            CsvMetadataField::InstallModes => writer.install_modes(summary.install_modes()),
            CsvMetadataField::InfrastructureFeatures => {
                writer.strings(summary.infrastructure_features());
            }
            CsvMetadataField::Certified => writer.optional_boolean(summary.certified()),
            CsvMetadataField::CreatedAt => {
                writer.optional_string(summary.created_at().map(|at| at.to_string()).as_deref());
            }
            _ => {
                if decoded.get().is_none() {
                    let found = summary
                        .bundle()
                        .and_then(|bundle| bundle.metadata_by(&mut writer.manifests));
                    writer.draw_decoded()?;
                    decoded.get_or_init(|| found);
                }
                return match decoded.get() {
                    Some(Some(metadata)) => package.with((metadata, id)).write(name, field, writer),
                    _ => writer.unwritten_field(field),
                };
            }
        }
        Ok(())
    }
}

impl<'a> ResponseWriter<'a> {
    /// Writes the metadata of a package, or `null` if it has none.
    pub(super) fn package_metadata(
        &mut self,
        package: InCatalog<'a, Package<'a>>,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let summary = package.item.summary();
        let decoded = OnceCell::new();
        let metadata = summary.bundle().map(|bundle| PackageMetadata {
            package: package.with(summary),
            id: MetadataId::from_bundle(bundle),
            decoded: &decoded,
        });
        self.optional_object(metadata, field)
    }
}
