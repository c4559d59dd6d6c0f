//! JSON pointers (RFC 6901) into canonical JSON.

use std::borrow::Cow;

use super::JsonValue;
use crate::json::{Cursor, Fault, Kind};

/// A text that is no JSON pointer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPointer {
    /// It is not empty and does not begin with a slash.
    #[error("the pointer {0:?} does not begin with a slash")]
    NoSlash(String),
    /// A `~` in it is followed neither by `0` nor by `1`.
    #[error("in the pointer {0:?} a `~` is not followed by 0 or 1")]
    BadEscape(String),
}

impl<'a> JsonValue<'a> {
    /// The part of the value at a JSON pointer (RFC 6901): the whole for the empty one, `None` where it leads nowhere.
    ///
    /// # Errors
    /// When the text is no pointer, wherever it would lead.
    pub fn pointer(self, pointer: &str) -> Result<Option<JsonValue<'a>>, BadPointer> {
        Ok(part_at(self.raw(), pointer)?.map(JsonValue))
    }
}

/// The part of a value in canonical JSON at a JSON pointer, as [`JsonValue::pointer`].
///
/// # Errors
/// When the text is no pointer, wherever it would lead.
pub fn part_at<'a>(value: &'a [u8], pointer: &str) -> Result<Option<&'a [u8]>, BadPointer> {
    // A damaged line leads nowhere.
    Ok(walk(value, &tokens(pointer)?).unwrap_or_default())
}

/// Goes on from each place that was found, so that no byte is visited twice, however deep it leads.
fn walk<'a>(value: &'a [u8], tokens: &[Cow<'_, str>]) -> Result<Option<&'a [u8]>, Fault> {
    let mut cursor = Cursor::new(value);
    for token in tokens {
        match step(&mut cursor, token) {
            Err(Halt::Found(place)) => cursor = place,
            Err(Halt::Fault(fault)) => return Err(fault),
            Ok(()) => return Ok(None),
        }
    }
    Ok(Some(cursor.value()?.0))
}

/// Why a step ends before its value does.
enum Halt<'a> {
    /// What it looks for begins here.
    Found(Cursor<'a>),
    Fault(Fault),
}

impl From<Fault> for Halt<'_> {
    fn from(fault: Fault) -> Self {
        Halt::Fault(fault)
    }
}

/// The reference tokens of a pointer, without escapes.
fn tokens(pointer: &str) -> Result<Vec<Cow<'_, str>>, BadPointer> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let rest = pointer.strip_prefix('/').ok_or_else(|| BadPointer::NoSlash(pointer.to_owned()))?;
    rest.split('/').map(|token| unescape(token).ok_or_else(|| BadPointer::BadEscape(pointer.to_owned()))).collect()
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

/// One step into a value: to a member of an object by its exact key, or to an element of an array by its index.
fn step<'a>(cursor: &mut Cursor<'a>, token: &str) -> Result<(), Halt<'a>> {
    match cursor.kind()? {
        Kind::Object => cursor.object(|cursor, key| {
            if key.is(token) || key.decode()? == token {
                return Err(Halt::Found(cursor.clone()));
            }
            cursor.value()?;
            Ok(())
        }),
        Kind::Array => {
            let Some(mut left) = index(token) else { return Ok(()) };
            cursor.array(|cursor| {
                if left == 0 {
                    return Err(Halt::Found(cursor.clone()));
                }
                left -= 1;
                cursor.value()?;
                Ok(())
            })
        }
        _ => Ok(()),
    }
}

/// The index that a token is: digits without leading zeros. `-`, the element after the last, is nowhere.
fn index(token: &str) -> Option<usize> {
    let has_leading_zero = token.len() > 1 && token.starts_with('0');
    if has_leading_zero || !token.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    token.parse().ok()
}
