//! Reads values of canonical JSON as Go reads them: keys of structs match in any letter case, and
//! `null` is the same as nothing.

use super::{JsonCursor, JsonError, JsonText, JsonValue, is_field};

/// A JSON value has another type than its reader expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a JSON value has an unexpected type")]
pub struct WrongType;

impl From<JsonError> for WrongType {
    fn from(_: JsonError) -> Self {
        Self
    }
}

impl<'a> JsonValue<'a> {
    /// Reads fields of an object in one pass; `None` for those that are missing or `null`.
    ///
    /// # Errors
    /// If the value is neither an object nor `null`.
    pub fn fields<const N: usize>(self, names: [&str; N]) -> Result<[Option<Self>; N], WrongType> {
        let mut fields = [None; N];
        self.each_member(|key, value| {
            if let Some(at) = names.iter().position(|name| is_field(key, name)) {
                fields[at] = Some(value).filter(|value| !value.is_null()).or(fields[at]);
            }
        })?;
        Ok(fields)
    }

    /// Reads fields of an object in one pass, those that are `null` too, and passes each with the
    /// index of its name.
    ///
    /// # Errors
    /// If the value is neither an object nor `null`.
    pub fn each_field(
        self,
        names: &[&str],
        mut field: impl FnMut(usize, Self),
    ) -> Result<(), WrongType> {
        self.each_member(|key, value| {
            if let Some(at) = names.iter().position(|name| is_field(key, name)) {
                field(at, value);
            }
        })
    }

    /// Reads the members of an object, in the order of the text.
    ///
    /// # Errors
    /// If the value is neither an object nor `null`.
    pub fn members(self) -> Result<Vec<(JsonText<'a>, Self)>, WrongType> {
        let mut members = Vec::new();
        self.each_member(|key, value| members.push((key, value)))?;
        Ok(members)
    }

    /// Reads the members of an object in one pass, in the order of the text.
    ///
    /// # Errors
    /// If the value is neither an object nor `null`.
    pub fn each_member(self, mut member: impl FnMut(JsonText<'a>, Self)) -> Result<(), WrongType> {
        if self.is_null() {
            return Ok(());
        }
        JsonCursor::new(self.0).object(|cursor, key| {
            let value = cursor.value()?;
            member(key, value);
            Ok(())
        })
    }

    /// Reads the elements of an array in one pass.
    ///
    /// # Errors
    /// If the value is neither an array nor `null`.
    pub fn each_element(self, mut element: impl FnMut(Self)) -> Result<(), WrongType> {
        if self.is_null() {
            return Ok(());
        }
        JsonCursor::new(self.0).array(|cursor| {
            element(cursor.value()?);
            Ok(())
        })
    }

    /// Reads the elements of an array.
    ///
    /// # Errors
    /// If the value is neither an array nor `null`.
    pub fn elements(self) -> Result<Vec<Self>, WrongType> {
        let mut elements = Vec::new();
        self.each_element(|element| elements.push(element))?;
        Ok(elements)
    }

    /// Reads a string.
    ///
    /// # Errors
    /// If the value is neither a string nor `null`.
    pub fn text(self) -> Result<JsonText<'a>, WrongType> {
        if self.is_null() {
            return Ok(JsonText::EMPTY);
        }
        Ok(self.cursor().text()?)
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// If the value is neither of them nor `null`.
    pub fn boolean(self) -> Result<bool, WrongType> {
        match self.0 {
            b"true" => Ok(true),
            b"false" | b"null" => Ok(false),
            _ => Err(WrongType),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> JsonValue<'_> {
        JsonValue::new(text.as_bytes())
    }

    #[test]
    fn a_value_is_read_as_go_reads_it() {
        let object = value(r#"{"A":1,"NAME":"x","list":["a",null],"name":null,"on":true}"#);
        let [name, list, on, missing] = object.fields(["name", "list", "on", "missing"]).unwrap();
        assert_eq!(name.unwrap().text().unwrap().decode(), "x");
        let texts: Vec<_> = list
            .unwrap()
            .elements()
            .unwrap()
            .iter()
            .map(|text| text.text().unwrap().decode())
            .collect();
        assert_eq!(
            (texts, on.unwrap().boolean(), missing),
            (vec!["a".into(), "".into()], Ok(true), None)
        );
        let keys: Vec<_> = object
            .members()
            .unwrap()
            .iter()
            .map(|(key, _)| key.decode())
            .collect();
        assert_eq!(keys, ["A", "NAME", "list", "name", "on"]);
    }

    #[test]
    fn null_is_nothing_of_any_type_and_another_type_is_an_error() {
        let null = value("null");
        assert_eq!(null.fields(["a"]), Ok([None]));
        assert_eq!(
            (null.elements(), null.text(), null.boolean()),
            (Ok(vec![]), Ok(JsonText::EMPTY), Ok(false))
        );
        for text in ["1", "\"a\"", "[]", "{}", "true"] {
            let value = value(text);
            let readings = [
                value.fields(["a"]).is_ok(),
                value.elements().is_ok(),
                value.text().is_ok(),
                value.boolean().is_ok(),
            ];
            assert_eq!(
                readings,
                [text == "{}", text == "[]", text == "\"a\"", text == "true"],
                "{text}"
            );
        }
    }
}
