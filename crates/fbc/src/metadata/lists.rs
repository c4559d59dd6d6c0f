//! Reads lists in metadata: strings, objects with strings, pairs. Elements of the wrong type are
//! skipped.

use fbc_read::json::{JsonCursor, JsonError, JsonKind, JsonText, is_field};

use crate::csv_enums::{InstallMode, InstallModes};

/// Returns the strings of an array.
pub(crate) fn strings(array: &[u8]) -> Vec<JsonText<'_>> {
    let mut strings = Vec::new();
    each(array, |cursor| {
        let value = text(cursor)?;
        strings.extend(value);
        Ok(())
    });
    strings
}

/// Returns the elements of an array of strings; `None` for any other value.
pub(crate) fn only_strings(value: &[u8]) -> Option<Vec<JsonText<'_>>> {
    let mut strings = Vec::new();
    JsonCursor::new(value)
        .array(|cursor| {
            strings.push(cursor.text()?);
            Ok::<_, JsonError>(())
        })
        .ok()?;
    Some(strings)
}

/// Reads string fields of each object of an array and passes them to `make`; skips objects for
/// which it returns `None`.
pub(crate) fn objects<'t, T, const N: usize>(
    array: &'t [u8],
    fields: [&str; N],
    make: impl Fn([Option<JsonText<'t>>; N]) -> Option<T>,
) -> Vec<T> {
    objects_with_text(array, fields, |_, texts| make(texts))
}

/// Reads string fields of each object of an array as [`objects`] does, and passes the text of the
/// object, too.
pub(crate) fn objects_with_text<'t, T, const N: usize>(
    array: &'t [u8],
    fields: [&str; N],
    make: impl Fn(&'t [u8], [Option<JsonText<'t>>; N]) -> Option<T>,
) -> Vec<T> {
    let mut objects = Vec::new();
    each(array, |cursor| {
        if cursor.kind()? == JsonKind::Object {
            let start = cursor.clone();
            let texts = texts(cursor, fields)?;
            objects.extend(make(start.until(cursor).raw(), texts));
            return Ok(());
        }
        cursor.value().map(drop)
    });
    objects
}

/// Returns the array that is a field of an object; `None` when it is missing or another value.
pub(crate) fn array_member<'t>(object: &'t [u8], field: &str) -> Option<&'t [u8]> {
    let mut array = None;
    // A damaged line ends the search.
    let _ = JsonCursor::new(object).object(|cursor, key| {
        let is_array = cursor.kind()? == JsonKind::Array && is_field(key, field);
        let value = cursor.value()?;
        array = if is_array { Some(value.raw()) } else { array };
        Ok::<_, JsonError>(())
    });
    array
}

/// Reads string fields of an object; missing, empty and other values give `None`.
pub(crate) fn texts<'t, const N: usize>(
    cursor: &mut JsonCursor<'t>,
    fields: [&str; N],
) -> Result<[Option<JsonText<'t>>; N], JsonError> {
    let mut texts = [None; N];
    cursor.object(|cursor, key| {
        let Some(at) = fields.iter().position(|field| is_field(key, field)) else {
            return cursor.value().map(drop);
        };
        texts[at] = text(cursor)?.or(texts[at]);
        Ok(())
    })?;
    Ok(texts.map(|text| text.filter(|text| !text.is_empty())))
}

/// Returns the pairs of an object with string values.
pub(crate) fn pairs(object: &[u8]) -> Vec<(JsonText<'_>, JsonText<'_>)> {
    let mut pairs = Vec::new();
    // A damaged line ends the list.
    let _ = JsonCursor::new(object).object(|cursor, key| {
        let value = text(cursor)?;
        pairs.extend(value.map(|value| (key, value)));
        Ok::<_, JsonError>(())
    });
    pairs
}

/// Returns the known install modes that are marked as supported.
pub(crate) fn install_modes(array: &[u8]) -> InstallModes {
    let mut modes = InstallModes::default();
    each(array, |cursor| {
        if cursor.kind()? != JsonKind::Object {
            return cursor.value().map(drop);
        }
        let mut mode = None;
        let mut is_supported = false;
        cursor.object(|cursor, key| {
            if is_field(key, "type") {
                mode = text(cursor)?.and_then(|name| InstallMode::parse(&name.decode()));
            } else {
                let value = cursor.value()?;
                is_supported = if is_field(key, "supported") {
                    value.raw() == b"true"
                } else {
                    is_supported
                };
            }
            Ok::<_, JsonError>(())
        })?;
        if let Some(mode) = mode.filter(|_| is_supported) {
            modes = modes.with(mode);
        }
        Ok(())
    });
    modes
}

/// Reads the elements of an array, up to an error.
fn each<'t>(array: &'t [u8], element: impl FnMut(&mut JsonCursor<'t>) -> Result<(), JsonError>) {
    let _ = JsonCursor::new(array).array(element);
}

/// Reads a value that should be a string.
fn text<'t>(cursor: &mut JsonCursor<'t>) -> Result<Option<JsonText<'t>>, JsonError> {
    if cursor.kind()? == JsonKind::String {
        return Ok(Some(cursor.text()?));
    }
    cursor.value()?;
    Ok(None)
}
