//! The conditions of a request for blobs: `schema`, `package` and `name`, as Go reads a query.
//!
//! It differs in one thing: a pair that cannot be read is refused, where Go leaves it out, so that whoever mistypes a
//! condition gets the whole catalog.

use fbc::catalog::MetaFilter;

/// Every parameter there is.
const PARAMETERS: [&str; 3] = ["schema", "package", "name"];

/// What blobs are asked for. What a parameter says first counts, and an empty one says nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    schema: Option<Vec<u8>>,
    package: Option<Vec<u8>>,
    name: Option<Vec<u8>>,
}

impl Parameters {
    /// The parameters of a query; nothing when it cannot be read or has others.
    pub(super) fn parse(query: &str) -> Option<Self> {
        let mut values = [None, None, None];
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if pair.contains(';') {
                return None;
            }
            let (key, value) = (decode(key.as_bytes(), true)?, decode(value.as_bytes(), true)?);
            let at = PARAMETERS.iter().position(|name| name.as_bytes() == key)?;
            values[at].get_or_insert(value);
        }
        let [schema, package, name] = values.map(|value| value.filter(|value| !value.is_empty()));
        Some(Self { schema, package, name })
    }

    /// Whether every blob is asked for.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Each parameter, in an order that stays.
    pub(super) fn texts(&self) -> [Option<&[u8]>; 3] {
        [self.schema.as_deref(), self.package.as_deref(), self.name.as_deref()]
    }

    /// The conditions; nothing when no blob can meet them, because a text of theirs is not Unicode.
    pub(super) fn filter(&self) -> Option<MetaFilter<'_>> {
        let [schema, package, name] = self.texts().map(|text| text.map(std::str::from_utf8).transpose().ok());
        Some(MetaFilter { schema: schema?, package: package?, name: name? })
    }
}

/// A text without its percent signs, as Go takes them away; nothing where one is not followed by two digits.
pub(super) fn decode(text: &[u8], plus_is_space: bool) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        decoded.push(match byte {
            b'%' => {
                let digits = std::str::from_utf8(rest.get(..2)?).ok().filter(|digits| !digits.starts_with('+'))?;
                rest = &rest[2..];
                u8::from_str_radix(digits, 16).ok()?
            }
            b'+' if plus_is_space => b' ',
            byte => byte,
        });
    }
    Some(decoded)
}

#[cfg(test)]
mod tests;
