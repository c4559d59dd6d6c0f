//! `Icon`.

use fbc::catalog::Icon;
use serving::ICONS;

use super::{Field, Object, Outcome, Writer};
use crate::fields::IconField;

impl<'a> Object<'a> for Icon<'_> {
    type Field = IconField;

    fn write(self, name: IconField, _: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match name {
            IconField::Url => to.text(&format!("{ICONS}{}", self.digest().hex())),
            IconField::MediaType => to.word(self.media_type()),
            IconField::Data => to.text(&self.data()),
        }
        Ok(())
    }
}
