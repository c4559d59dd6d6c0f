//! `Catalog`, `SchemaCount` and `KeyValue`.

use fbc::SchemaCount;
use fbc::work::{Step, Work, WorkStopped};
use fbc_read::Severity;
use serving::Served;

use super::problem::ProblemItem;
use super::scans::ScanKey;
use super::{Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::connection::{ConnectionSource, FixedOrder, Places};
use crate::fields::{CatalogField, KeyValueField, SchemaCountField};
use crate::opaque_key::KeyTag;

/// The type `Catalog`.
#[derive(Clone, Copy)]
pub(super) struct CatalogObject<'a>(pub(super) &'a Served);

/// The type `KeyValue`.
#[derive(Clone, Copy)]
struct KeyValue<'a>(&'a str, &'a str);

impl<'a> Object<'a> for CatalogObject<'a> {
    type Field = CatalogField;

    fn write(
        self,
        name: CatalogField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self(served) = self;
        let metadata = &served.metadata;
        match name {
            CatalogField::Id => writer.opaque_key(KeyTag::CATALOG, [Some(served.name.as_str())]),
            CatalogField::Name => writer.string(&served.name),
            CatalogField::Digest => writer.string(&served.content.digest.to_string()),
            CatalogField::Image => writer.optional_string(served.content.image.as_deref()),
            CatalogField::ImageReference => {
                writer.optional_string(metadata.image_reference.as_deref());
            }
            CatalogField::Priority => writer.integer(metadata.priority),
            CatalogField::DisplayName => {
                writer.string(metadata.display_name.as_ref().unwrap_or(&served.name));
            }
            CatalogField::Publisher => writer.optional_string(metadata.publisher.as_deref()),
            CatalogField::Labels => {
                return writer.object_list(
                    metadata
                        .labels
                        .iter()
                        .map(|(key, value)| KeyValue(key, value)),
                    field,
                );
            }
            CatalogField::LastUnpacked => {
                writer.optional_string(
                    served
                        .content
                        .last_unpacked
                        .map(|at| at.to_string())
                        .as_deref(),
                );
            }
            CatalogField::Source => return writer.catalog_source(served, field),
            CatalogField::Verification => {
                return writer.verification(served.verification.as_deref(), field);
            }
            CatalogField::Status => return writer.catalog_status(served, field),
            CatalogField::Contents => return writer.catalog_contents(served, field),
            CatalogField::PackageCount => writer.count(served.content.catalog.packages().len()),
            CatalogField::BundleCount => writer.count(served.content.catalog.bundles().len()),
            CatalogField::Schemas => {
                return writer.object_list(served.content.catalog.schemas(), field);
            }
            CatalogField::ProblemCounts => {
                let problems = served.content.catalog.all_problems();
                return writer
                    .problem_counts(|severity| problems.counts.of_severity(severity), field);
            }
            CatalogField::Problems => {
                let places = writer
                    .scans
                    .places
                    .get_or_scan(ScanKey::of_catalog(field, served), || {
                        self.problems(field, writer.work)
                    })?;
                let source = ConnectionSource { served, places };
                let unlisted = self.unlisted_problems(field);
                return writer.connection_with_unlisted::<ProblemItem<'_>>(
                    &[source],
                    FixedOrder,
                    unlisted,
                    field,
                );
            }
            CatalogField::Packages => {
                return writer.packages(&[served], Vec::new(), field);
            }
            CatalogField::Package => {
                let package = writer.package_by_name(served, "name", field)?;
                return writer.optional_object(package, field);
            }
            CatalogField::Bundles => {
                return writer.bundles(&[served], packages(field), field);
            }
            CatalogField::Metas => return writer.metas(&[served], field),
            CatalogField::MirrorSet => return writer.mirror_set(served, field),
        }
        Ok(())
    }
}

impl<'a> CatalogObject<'a> {
    /// Returns how many problems match the argument `severity` of a field and are only counted. The
    /// packages of those are not known, so they match no `package`.
    fn unlisted_problems(self, field: &'a PlannedField<'a>) -> usize {
        let arguments = arguments(field);
        if arguments.string("package").is_some() {
            return 0;
        }
        let unlisted = self.0.content.catalog.all_problems().unlisted();
        let errors_only = arguments.string("severity") == Some("ERROR");
        let count = if errors_only {
            unlisted.of_severity(Severity::Error)
        } else {
            unlisted.total()
        };
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    /// Returns the problems that match the arguments `package` and `severity` of a field.
    fn problems(
        self,
        field: &'a PlannedField<'a>,
        work: &Work<'_>,
    ) -> Result<Places<'a>, WorkStopped> {
        let arguments = arguments(field);
        let package = arguments.string("package");
        let errors_only = arguments.string("severity") == Some("ERROR");
        let problems = self.0.content.catalog.problems();
        if package.is_none() && !errors_only {
            return Ok(Places::all(problems.len()));
        }
        work.draw(Step::Blob, problems.len())?;
        let matching = problems.iter().zip(0..).filter(|(problem, _)| {
            package.is_none_or(|package| problem.package.as_deref() == Some(package))
                && (!errors_only || problem.code.severity() == Severity::Error)
        });
        Ok(matching.map(|(_, place)| place).collect())
    }
}

impl<'a> Object<'a> for &SchemaCount {
    type Field = SchemaCountField;

    fn write(
        self,
        name: SchemaCountField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            SchemaCountField::Schema => writer.string(&self.schema),
            SchemaCountField::Count => writer.count(self.count as usize),
            SchemaCountField::Known => writer.boolean(self.known),
        }
        Ok(())
    }
}

impl<'a> Object<'a> for KeyValue<'a> {
    type Field = KeyValueField;

    fn write(
        self,
        name: KeyValueField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self(key, value) = self;
        match name {
            KeyValueField::Key => writer.string(key),
            KeyValueField::Value => writer.string(value),
        }
        Ok(())
    }
}

/// Returns the argument `packages` of a field; `None` selects every package.
pub(super) fn packages<'a>(field: &'a PlannedField<'a>) -> Option<Vec<&'a str>> {
    Some(arguments(field).strings("packages")?.iter().collect())
}
