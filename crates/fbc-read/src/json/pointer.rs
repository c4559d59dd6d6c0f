//! JSON pointers (RFC 6901) into canonical JSON.

use std::borrow::Cow;

use super::{JsonCursor, JsonError, JsonKind, JsonValue};

/// An error for a text that is not a JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonPointerError {
    /// It is not empty and does not begin with a slash.
    #[error("the pointer {0:?} does not begin with a slash")]
    NoSlash(String),
    /// A `~` in it is followed neither by `0` nor by `1`.
    #[error("in the pointer {0:?} a `~` is not followed by 0 or 1")]
    BadEscape(String),
}

impl<'a> JsonValue<'a> {
    /// Returns the part of the value at a JSON pointer (RFC 6901): the whole value for the empty
    /// pointer, `None` when the value has no such part.
    ///
    /// # Errors
    /// Fails when the text is not a JSON pointer.
    pub fn pointer(self, pointer: &str) -> Result<Option<JsonValue<'a>>, JsonPointerError> {
        Ok(resolve_pointer(self.raw(), pointer)?.map(JsonValue))
    }
}

/// Returns the part of a canonical JSON value at a JSON pointer, as [`JsonValue::pointer`] does.
///
/// # Errors
/// Fails when the text is not a JSON pointer.
pub fn resolve_pointer<'a>(
    value: &'a [u8],
    pointer: &str,
) -> Result<Option<&'a [u8]>, JsonPointerError> {
    // A damaged line has no parts.
    Ok(walk(value, &tokens(pointer)?).unwrap_or_default())
}

/// Follows the tokens. Each step continues where the previous one stopped, so no byte is visited
/// twice.
fn walk<'a>(value: &'a [u8], tokens: &[Cow<'_, str>]) -> Result<Option<&'a [u8]>, JsonError> {
    let mut cursor = JsonCursor::new(value);
    for token in tokens {
        match step(&mut cursor, token) {
            Err(StepEnd::Found(place)) => cursor = place,
            Err(StepEnd::Error(error)) => return Err(error),
            Ok(()) => return Ok(None),
        }
    }
    Ok(Some(cursor.value()?.0))
}

/// Reason that a step stops before the end of its value.
enum StepEnd<'a> {
    /// The member or element begins here.
    Found(JsonCursor<'a>),
    Error(JsonError),
}

impl From<JsonError> for StepEnd<'_> {
    fn from(error: JsonError) -> Self {
        StepEnd::Error(error)
    }
}

/// Splits a pointer into its reference tokens and resolves their escapes.
fn tokens(pointer: &str) -> Result<Vec<Cow<'_, str>>, JsonPointerError> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let rest = pointer
        .strip_prefix('/')
        .ok_or_else(|| JsonPointerError::NoSlash(pointer.to_owned()))?;
    rest.split('/')
        .map(|token| unescape(token).ok_or_else(|| JsonPointerError::BadEscape(pointer.to_owned())))
        .collect()
}

fn unescape(token: &str) -> Option<Cow<'_, str>> {
    let mut pieces = token.split('~');
    let first = pieces.next().unwrap_or_default();
    let mut text = Cow::Borrowed(first);
    for piece in pieces {
        let (letter, rest) = match piece.as_bytes().first()? {
            b'0' => ('~', &piece[1..]),
            b'1' => ('/', &piece[1..]),
            _ => return None,
        };
        text.to_mut().push(letter);
        text.to_mut().push_str(rest);
    }
    Some(text)
}

/// Steps into a value: to a member of an object by its exact key, or to an element of an array by
/// its index.
fn step<'a>(cursor: &mut JsonCursor<'a>, token: &str) -> Result<(), StepEnd<'a>> {
    match cursor.kind()? {
        JsonKind::Object => cursor.object(|cursor, key| {
            // Few keys have escapes: the bytes are compared before the key is decoded.
            if key.is(token) || key.try_decode()? == token {
                return Err(StepEnd::Found(cursor.clone()));
            }
            cursor.value()?;
            Ok(())
        }),
        JsonKind::Array => {
            let Some(mut left) = index(token) else {
                return Ok(());
            };
            cursor.array(|cursor| {
                if left == 0 {
                    return Err(StepEnd::Found(cursor.clone()));
                }
                left -= 1;
                cursor.value()?;
                Ok(())
            })
        }
        _ => Ok(()),
    }
}

/// Parses an array index: digits without leading zeros. `-`, the element after the last, does not
/// exist.
fn index(token: &str) -> Option<usize> {
    let has_leading_zero = token.len() > 1 && token.starts_with('0');
    if has_leading_zero || !token.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    token.parse().ok()
}
