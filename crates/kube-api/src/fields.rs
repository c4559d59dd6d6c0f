//! Field selectors: comma-separated terms such as `metadata.name=etcd` or
//! `metadata.namespace!=olm`.

use crate::kind::ResourceKind;
use crate::status::Status;

/// Conditions on fields, all of which must hold.
#[derive(Debug, Default)]
pub(crate) struct FieldSelector(Vec<Term>);

#[derive(Debug)]
struct Term {
    field: String,
    value: String,
    is_equal: bool,
}

impl FieldSelector {
    pub(crate) fn parse(text: &str) -> Result<Self, Status> {
        let terms = split_terms(text)
            .into_iter()
            .filter(|term| !term.is_empty());
        let terms = terms.map(|term| {
            Term::parse(term).ok_or_else(|| {
                Status::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{term}'"
                ))
            })
        });
        Ok(Self(terms.collect::<Result<_, _>>()?))
    }

    /// Returns the number of conditions.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Checks that objects of a kind can be selected by all fields.
    ///
    /// # Errors
    /// A field is not selectable.
    pub(crate) fn validate(&self, kind: ResourceKind) -> Result<(), Status> {
        let known = kind.selectable_fields();
        let Some(unknown) = self
            .0
            .iter()
            .find(|term| !known.contains(&term.field.as_str()))
        else {
            return Ok(());
        };
        let known: Vec<_> = known.iter().map(|field| format!("\"{field}\"")).collect();
        let field = &unknown.field;
        let known = known.join(", ");
        Err(Status::bad_request(format!(
            "\"{field}\" is not a known field selector: only {known}"
        )))
    }

    /// Returns the value that a field must have.
    pub(crate) fn exact(&self, field: &str) -> Option<&str> {
        let mut terms = self
            .0
            .iter()
            .filter(|term| term.field == field && term.is_equal && !term.value.is_empty());
        terms.next().map(|term| term.value.as_str())
    }

    /// Returns whether an object with these values of fields meets all conditions. As upstream does,
    /// a condition that a field equals the empty string always holds.
    pub(crate) fn matches<'v>(&self, value_of: impl Fn(&str) -> &'v str) -> bool {
        self.0.iter().all(|term| {
            (term.is_equal && term.value.is_empty())
                || (value_of(&term.field) == term.value) == term.is_equal
        })
    }
}

impl Term {
    fn parse(text: &str) -> Option<Self> {
        let at = text.find(['=', '!'])?;
        let (field, rest) = text.split_at(at);
        let operators = [("==", true), ("!=", false), ("=", true)];
        let (value, is_equal) = operators
            .iter()
            .find_map(|(operator, is_equal)| Some((rest.strip_prefix(operator)?, *is_equal)))?;
        Some(Self {
            field: field.to_owned(),
            value: unescape(value)?,
            is_equal,
        })
    }
}

/// Splits at commas that are not escaped.
fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let mut start = 0;
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        if letter == ',' && !is_escaped {
            terms.push(&text[start..at]);
            start = at + 1;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    terms.push(&text[start..]);
    terms
}

/// Resolves `\\`, `\,` and `\=`; `None` for another escape, and for a bare `=`.
fn unescape(value: &str) -> Option<String> {
    let mut out = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.push(
                letters
                    .next()
                    .filter(|escaped| matches!(escaped, '\\' | ',' | '='))?,
            ),
            '=' => return None,
            letter => out.push(letter),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str) -> Option<Vec<(String, String, bool)>> {
        let terms = FieldSelector::parse(text).ok()?.0.into_iter();
        Some(
            terms
                .map(
                    |Term {
                         field,
                         value,
                         is_equal,
                     }| (field, value, is_equal),
                )
                .collect(),
        )
    }

    #[test]
    fn terms_have_an_operator_and_may_escape_it() {
        let term =
            |field: &str, value: &str, is_equal| (field.to_owned(), value.to_owned(), is_equal);
        assert_eq!(terms(""), Some(vec![]));
        assert_eq!(
            terms("a=b,c==d,e!=f,"),
            Some(vec![
                term("a", "b", true),
                term("c", "d", true),
                term("e", "f", false)
            ])
        );
        assert_eq!(
            terms(r"a=x\,y\=z\\"),
            Some(vec![term("a", r"x,y=z\", true)])
        );
        for malformed in ["a", "a!b", "a=b=c", r"a=\x", r"a=\"] {
            assert_eq!(terms(malformed), None, "{malformed}");
        }
    }
}
