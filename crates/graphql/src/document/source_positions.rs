//! Positions in the source text of a document: the next token, and the position that graphql-js
//! reports for a validation error. All positions are byte offsets.
//!
//! This module reads text, not syntax trees, and expects text that was parsed.

/// Returns the offset of the next token at or after `from`: skips white space, commas and comments.
pub(super) fn next_token(text: &str, from: usize) -> usize {
    let mut at = from;
    while let Some(char) = text.get(at..).and_then(|rest| rest.chars().next()) {
        match char {
            ' ' | '\t' | '\n' | '\r' | ',' | '\u{feff}' => at += char.len_utf8(),
            '#' => at += text[at..].find(['\n', '\r']).unwrap_or(text.len() - at),
            _ => break,
        }
    }
    at
}

/// Returns whether the text at an offset starts with this character.
pub(super) fn token_starts_with(text: &str, at: usize, with: char) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(with))
}

/// Returns the end of the name that starts at an offset.
pub(super) fn end_of_name(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest
        .find(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .unwrap_or(rest.len())
}

/// Returns the offset of the node that a validation error is about. The validator reports the
/// enclosing node; its message names the node itself. Returns `offset` if the message names none.
pub(super) fn refine_offset(message: &str, text: &str, offset: usize) -> usize {
    let name = message.split('`').nth(1).unwrap_or_default();
    let place = if message.contains(" cannot be used for argument ")
        || message.starts_with("cannot find type ")
    {
        find_name(text, offset, name).or_else(|| find_variable(text, offset, name))
    } else if message.starts_with("the variable ") || message.starts_with("cannot find fragment ") {
        // Without the `$`, and without the dots.
        find_name(text, offset, name.trim_start_matches('$'))
    } else if message.ends_with(" variable must be of an input type") {
        let name = next_token(text, offset + 1);
        Some(next_token(
            text,
            next_token(text, end_of_name(text, name)) + 1,
        ))
    } else if message.contains(" must not have subselections") {
        find_selection_set(text, offset)
    } else if message.starts_with("field `") || message.contains(" does not have a field ") {
        // The key of a value, or the alias of a field.
        find_name_before_colon(text, offset)
    } else {
        None
    };
    place.unwrap_or(offset)
}

/// Finds the next occurrence of a name as a whole word.
fn find_name(text: &str, from: usize, name: &str) -> Option<usize> {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let rest = text.get(from..)?;
    let found = rest.match_indices(name).find(|(at, _)| {
        !rest[..*at].ends_with(is_part) && !rest[at + name.len()..].starts_with(is_part)
    });
    found.map(|(at, _)| from + at)
}

/// Finds the next use of a variable (`$name`) whose `$` may be separated from its name.
fn find_variable(text: &str, from: usize, name: &str) -> Option<usize> {
    let name = name.strip_prefix('$')?;
    let mut at = from;
    loop {
        // Token by token, so that no comment is scanned twice.
        at = next_token(text, at);
        let char = text.get(at..)?.chars().next()?;
        if char == '"' {
            at = end_of_string(text, at)?;
            continue;
        }
        let start = next_token(text, at + char.len_utf8());
        if char == '$' && text.get(start..end_of_name(text, start)) == Some(name) {
            return Some(at);
        }
        at = start;
    }
}

/// Finds the selection set of the field that starts at an offset.
fn find_selection_set(text: &str, field: usize) -> Option<usize> {
    let mut depth = 0;
    let mut at = field;
    loop {
        let char = text.get(at..)?.chars().next()?;
        match char {
            '(' => depth += 1,
            ')' => depth -= 1,
            '{' if depth == 0 => return Some(at),
            _ => {}
        }
        at = next_token(
            text,
            if char == '"' {
                end_of_string(text, at)?
            } else {
                at + char.len_utf8()
            },
        );
    }
}

/// Returns the end of the string that starts at an offset; `None` if it is unterminated.
pub(super) fn end_of_string(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let quotes = if rest.starts_with("\"\"\"") {
        "\"\"\""
    } else {
        "\""
    };
    let mut end = quotes.len();
    loop {
        let left = rest.get(end..)?;
        if left.starts_with(quotes) {
            return Some(at + end + quotes.len());
        }
        let mut chars = left.chars();
        end += chars.next()?.len_utf8();
        // A block string escapes nothing but its quotes.
        if left.starts_with('\\') && (quotes.len() == 1 || chars.as_str().starts_with(quotes)) {
            end += quotes.len();
        }
    }
}

/// Finds the name that is followed by a colon and then by the value at an offset: `name: value`.
fn find_name_before_colon(text: &str, value: usize) -> Option<usize> {
    let is_nothing = |char: char| matches!(char, ' ' | '\t' | '\n' | '\r' | ',' | '\u{feff}');
    let before = text
        .get(..value)?
        .trim_end_matches(is_nothing)
        .strip_suffix(':')?
        .trim_end_matches(is_nothing);
    let key = before
        .rfind(|char: char| !char.is_ascii_alphanumeric() && char != '_')
        .map_or(0, |at| at + 1);
    (key < before.len()).then_some(key)
}
