//! `Icon`.

use fbc::catalog::Icon;
use serving::ICONS;

use super::{Field, Object, Outcome, Writer};

impl<'a> Object<'a> for Icon<'_> {
    fn type_name(self) -> &'static str {
        "Icon"
    }

    fn write(self, field: &'a Field<'a>, to: &mut Writer<'a>) -> Outcome {
        match field.name {
            "url" => to.text(&format!("{ICONS}{}", self.digest().hex())),
            "mediaType" => to.word(self.media_type()),
            "data" => to.text(&self.data()),
            _ => return to.unknown(field),
        }
        Ok(())
    }
}
