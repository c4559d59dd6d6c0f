//! `Icon`.

use fbc::{Icon, Package};
use serving::ICONS;

use super::{InCatalog, Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::IconField;
use crate::opaque_key::KeyTag;

/// The type `Icon`, with the package that it belongs to.
#[derive(Clone, Copy)]
pub(super) struct IconObject<'a> {
    icon: Icon<'a>,
    package: InCatalog<'a, Package<'a>>,
}

impl<'a> IconObject<'a> {
    /// Returns the icon of a package.
    pub(super) fn from_package(package: InCatalog<'a, Package<'a>>) -> Option<Self> {
        Some(Self {
            icon: package.item.icon()?,
            package,
        })
    }
}

impl<'a> Object<'a> for IconObject<'a> {
    type Field = IconField;

    fn write(
        self,
        name: IconField,
        _: &'a PlannedField<'a>,
        writer: &mut ResponseWriter<'a>,
    ) -> WriteResult {
        let Self { icon, package } = self;
        match name {
            IconField::Id => {
                writer.opaque_key(
                    KeyTag::ICON,
                    [&package.served.name, package.item.name()].map(Some),
                );
            }
            // Relative to the endpoint, so that it also leads there below a path prefix.
            IconField::Url => writer.string(&format!(
                "{}{}",
                ICONS.trim_start_matches('/'),
                icon.digest().hex()
            )),
            IconField::MediaType => writer.static_string(icon.media_type()),
            IconField::Data => writer.string(&icon.data()),
        }
        Ok(())
    }
}
