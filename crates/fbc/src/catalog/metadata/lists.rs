//! Lists in metadata: objects with texts, strings, pairs. What is of the wrong type is left out.

use super::kinds::{InstallMode, InstallModes};
use crate::catalog::JsonText;
use crate::json::{Cursor, Fault, Kind, is_field};

/// The strings of an array.
pub(super) fn strings(array: &[u8]) -> Vec<JsonText<'_>> {
    let mut strings = Vec::new();
    each(array, |cursor| {
        let value = text(cursor)?;
        strings.extend(value);
        Ok(())
    });
    strings
}

/// The elements of a value that is an array of nothing but strings.
pub(super) fn only_strings(value: &[u8]) -> Option<Vec<JsonText<'_>>> {
    let mut strings = Vec::new();
    Cursor::new(value)
        .array(|cursor| {
            strings.push(JsonText(cursor.text()?.0));
            Ok::<_, Fault>(())
        })
        .ok()?;
    Some(strings)
}

/// The objects of an array, made of these texts of each; those that nothing can be made of are left out.
pub(super) fn objects<'t, T, const N: usize>(
    array: &'t [u8],
    fields: [&str; N],
    make: impl Fn([Option<JsonText<'t>>; N]) -> Option<T>,
) -> Vec<T> {
    let mut objects = Vec::new();
    each(array, |cursor| {
        if cursor.kind()? == Kind::Object {
            objects.extend(make(texts(cursor, fields)?));
            return Ok(());
        }
        cursor.value().map(drop)
    });
    objects
}

/// These texts of an object; those that are missing, empty or no strings are absent.
pub(super) fn texts<'t, const N: usize>(
    cursor: &mut Cursor<'t>,
    fields: [&str; N],
) -> Result<[Option<JsonText<'t>>; N], Fault> {
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

/// The pairs of an object whose value is a string.
pub(super) fn pairs(object: &[u8]) -> Vec<(JsonText<'_>, JsonText<'_>)> {
    let mut pairs = Vec::new();
    // A damaged line ends the list.
    let _ = Cursor::new(object).object(|cursor, key| {
        let value = text(cursor)?;
        pairs.extend(value.map(|value| (JsonText(key.0), value)));
        Ok::<_, Fault>(())
    });
    pairs
}

/// The known install modes that are supported.
pub(super) fn install_modes(array: &[u8]) -> InstallModes {
    let mut modes = InstallModes::default();
    each(array, |cursor| {
        if cursor.kind()? != Kind::Object {
            return cursor.value().map(drop);
        }
        let (mut mode, mut is_supported) = (None, false);
        cursor.object(|cursor, key| {
            if is_field(key, "type") {
                mode = text(cursor)?.and_then(|name| InstallMode::read(&name.decode()));
            } else {
                let value = cursor.value()?;
                is_supported = if is_field(key, "supported") { value.0 == b"true" } else { is_supported };
            }
            Ok::<_, Fault>(())
        })?;
        if let Some(mode) = mode.filter(|_| is_supported) {
            modes = modes.with(mode);
        }
        Ok(())
    });
    modes
}

/// Reads the elements of an array; a damaged line ends it.
fn each<'t>(array: &'t [u8], element: impl FnMut(&mut Cursor<'t>) -> Result<(), Fault>) {
    let _ = Cursor::new(array).array(element);
}

/// Reads a value that should be a string.
fn text<'t>(cursor: &mut Cursor<'t>) -> Result<Option<JsonText<'t>>, Fault> {
    if cursor.kind()? == Kind::String {
        return Ok(Some(JsonText(cursor.text()?.0)));
    }
    cursor.value()?;
    Ok(None)
}
