//! Splits text into words and folds them: removes letter case, accents and other marks, by
//! Unicode's compatibility decomposition.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// Maximum number of words of a query; further words are ignored. Each word costs a lookup in the
/// index.
pub const MAX_SEARCH_WORDS: usize = 16;

/// Maximum number of letters of a query; further letters are ignored.
pub const MAX_SEARCH_LETTERS: usize = 1_024;

/// Maximum number of significant letters of a word, in queries and in the index, and maximum length
/// of an indexed word of a description. In real catalogs a word of a name or a keyword has up to 24
/// letters and one of a description up to 31; longer ones there are digests and parts of URLs.
pub const MAX_WORD_LETTERS: usize = 40;

/// Splits a query into folded words, within the limits.
pub(super) fn fold(text: &str) -> Vec<String> {
    let text = text
        .char_indices()
        .nth(MAX_SEARCH_LETTERS)
        .map_or(text, |(end, _)| &text[..end]);
    let mut words = Vec::new();
    for_each_word(text, |word| {
        if words.len() < MAX_SEARCH_WORDS {
            words.push(truncate_word(word).to_owned());
        }
    });
    words
}

/// Returns the folded words of a text, with a space between them.
pub(crate) fn fold_text(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for_each_word(text, |word| {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    });
    folded
}

/// Calls `each` with each folded word. Words consist of letters and digits; marks between them are
/// removed.
pub(super) fn for_each_word(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            word.push(letter.to_ascii_lowercase());
        } else if !letter.is_ascii() && (letter.is_alphanumeric() || is_combining_mark(letter)) {
            decompose_compatible(letter, |part| fold_part(part, &mut word));
        } else if !word.is_empty() {
            each(&word);
            word.clear();
        }
    }
    if !word.is_empty() {
        each(&word);
    }
}

/// Appends the folded form of a decomposed character.
fn fold_part(part: char, word: &mut String) {
    if is_combining_mark(part) || !part.is_alphanumeric() {
        return;
    }
    // By way of upper case as full case folding has it: ß is ss, and a final sigma is a sigma.
    for letter in part.to_uppercase().flat_map(char::to_lowercase) {
        match plain(letter) {
            Some(plain) => word.push_str(plain),
            None => word.push(letter),
        }
    }
}

/// Returns the ASCII spelling of letters that Unicode does not decompose: those with a stroke, and
/// ligatures.
fn plain(letter: char) -> Option<&'static str> {
    Some(match letter {
        'æ' => "ae",
        'ð' | 'đ' => "d",
        'ħ' => "h",
        'ł' => "l",
        'ø' => "o",
        'œ' => "oe",
        'þ' => "th",
        'ŧ' => "t",
        _ => return None,
    })
}

/// Truncates a word to its significant letters.
pub(super) fn truncate_word(word: &str) -> &str {
    word.char_indices()
        .nth(MAX_WORD_LETTERS)
        .map_or(word, |(end, _)| &word[..end])
}

#[cfg(test)]
mod tests;
