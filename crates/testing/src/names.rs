//! Words of names as a search compares them, by the plainest means: the models of tests.

/// Words that tell no package from another.
const GENERIC_WORDS: [&str; 3] = ["operator", "operators", "community"];

/// Returns the words but for generic ones, unless each is generic, as one word.
pub fn whole_name(words: &[String]) -> String {
    let is_distinct = |word: &&String| !GENERIC_WORDS.contains(&word.as_str());
    let distinct: String = words
        .iter()
        .filter(is_distinct)
        .map(String::as_str)
        .collect();
    if distinct.is_empty() {
        words.concat()
    } else {
        distinct
    }
}

/// Iterates over the words of a name, all of them from each to the last as one, and the whole name.
pub fn name_parts(words: &[String]) -> impl Iterator<Item = String> {
    let ends = (0..words.len()).map(|start| words[start..].concat());
    words.iter().cloned().chain(ends).chain([whole_name(words)])
}
