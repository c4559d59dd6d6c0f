//! `Icon`.

use fbc::catalog::Icon;
use serving::ICONS;

use super::{Object, PlannedField, ResponseWriter, WriteResult};
use crate::fields::IconField;

impl<'a> Object<'a> for Icon<'_> {
    type Field = IconField;

    fn write(self, name: IconField, _: &'a PlannedField<'a>, writer: &mut ResponseWriter<'a>) -> WriteResult {
        match name {
            IconField::Url => writer.string(&format!("{ICONS}{}", self.digest().hex())),
            IconField::MediaType => writer.static_string(self.media_type()),
            IconField::Data => writer.string(&self.data()),
        }
        Ok(())
    }
}
