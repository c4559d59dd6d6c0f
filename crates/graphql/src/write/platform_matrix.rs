//! `Query.platformMatrix`: packages and channels of several catalogs side by side.

use fbc::Catalog;
use platform_upgrade::{CatalogChannels, ChannelHead, MAX_STEPS, PackageMatrix, package_matrix};
use serving::{Served, Snapshot};

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult, arguments};
use crate::fields::{CatalogChannelsField, MatrixChannelField, PackageMatrixField};

/// A package in several catalogs, with the catalogs.
#[derive(Clone, Copy)]
struct MatrixObject<'r, 'a> {
    served: &'r [&'a Served],
    package: &'r PackageMatrix<'a>,
}

/// A package in one of the catalogs.
#[derive(Clone, Copy)]
struct MatrixCatalogObject<'r, 'a> {
    served: &'a Served,
    channels: Option<&'r CatalogChannels<'a>>,
}

impl<'a> ResponseWriter<'a> {
    /// `Query.platformMatrix`.
    pub(super) fn platform_matrix(
        &mut self,
        snapshot: &'a Snapshot,
        field: &'a PlannedField<'a>,
    ) -> WriteResult {
        let texts = |name| {
            let items = arguments(field).get(name).as_array();
            let items = items.into_iter().flatten();
            items.filter_map(|item| item.as_str()).collect::<Vec<_>>()
        };
        let names = texts("catalogs");
        if names.len() > MAX_STEPS {
            let message = format!(
                "`catalogs` has {} names; at most {MAX_STEPS} are allowed",
                names.len()
            );
            return self.bad_user_input(field, message);
        }
        let served: Vec<&'a Served> = names
            .iter()
            .filter_map(|name| snapshot.get(name).map(|served| &**served))
            .collect();
        let catalogs: Vec<&'a Catalog> = served
            .iter()
            .map(|served| &*served.content.catalog)
            .collect();
        let matrix = package_matrix(&catalogs, &texts("packages"), self.work)?;
        let objects = matrix.iter().map(|package| MatrixObject {
            served: &served,
            package,
        });
        self.object_list(objects, field)
    }
}

impl<'a> Object<'a> for MatrixObject<'_, 'a> {
    type Field = PackageMatrixField;

    fn write(
        self,
        name: PackageMatrixField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            PackageMatrixField::Name => writer.string(self.package.name),
            PackageMatrixField::CommonChannels => {
                writer.strings(self.package.common_channels.iter().copied());
            }
            PackageMatrixField::Catalogs => {
                let catalogs = self.served.iter().zip(&self.package.catalogs);
                let objects = catalogs.map(|(served, channels)| MatrixCatalogObject {
                    served,
                    channels: channels.as_ref(),
                });
                return writer.object_list(objects, field);
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for MatrixCatalogObject<'_, 'a> {
    type Field = CatalogChannelsField;

    fn write(
        self,
        name: CatalogChannelsField,
        field: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let package = self.channels.map(|channels| channels.package);
        match name {
            CatalogChannelsField::Catalog => writer.string(&self.served.name),
            CatalogChannelsField::Package => {
                let package = package.map(|item| InCatalog {
                    served: self.served,
                    item,
                });
                return writer.optional_object(package, field);
            }
            CatalogChannelsField::DefaultChannel => {
                writer.optional_string(package.map(fbc::Package::default_channel_name));
            }
            CatalogChannelsField::IsDefaultChannelChanged => writer.boolean(
                self.channels
                    .is_some_and(|channels| channels.is_default_channel_changed),
            ),
            CatalogChannelsField::Channels => {
                let channels = self.channels.into_iter();
                let channels = channels.flat_map(|channels| channels.channels.iter().copied());
                return writer.object_list(channels, field);
            }
            CatalogChannelsField::OtherChannels => {
                let channels = self.channels.into_iter();
                writer.strings(channels.flat_map(|channels| channels.other_channels.clone()));
            }
        }
        Ok(())
    }
}

impl<'a> Object<'a> for ChannelHead<'_> {
    type Field = MatrixChannelField;

    fn write(
        self,
        name: MatrixChannelField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        match name {
            MatrixChannelField::Name => writer.string(self.name),
            MatrixChannelField::HeadName => {
                writer.optional_string(self.head.map(fbc::Bundle::name));
            }
            MatrixChannelField::HeadVersion => {
                writer.optional_string(self.head.and_then(fbc::Bundle::version));
            }
            MatrixChannelField::MaxOpenShiftVersion => {
                writer.optional_string(self.head.and_then(fbc::Bundle::max_openshift_version));
            }
        }
        Ok(())
    }
}
