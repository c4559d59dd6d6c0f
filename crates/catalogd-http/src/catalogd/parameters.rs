//! The filter of a request for blobs: the query parameters `schema`, `package` and `name`, parsed
//! as Go does.
//!
//! One thing differs: a pair that cannot be parsed is an error. Go ignores it, so that a client
//! with a typing error in a filter receives the whole catalog.

use fbc::MetaFilter;

/// Names of all parameters.
const PARAMETERS: [&str; 3] = ["schema", "package", "name"];

/// The parameters of a query, decoded. The first of equal names counts, and an empty value is like
/// an absent one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parameters {
    schema: Option<Vec<u8>>,
    package: Option<Vec<u8>>,
    name: Option<Vec<u8>>,
}

impl Parameters {
    /// Parses a query; `None` if it cannot be parsed or has other parameters.
    pub(super) fn parse(query: &str) -> Option<Self> {
        let mut values = [None, None, None];
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            if pair.contains(';') {
                return None;
            }
            let key = decode(key.as_bytes(), true)?;
            let value = decode(value.as_bytes(), true)?;
            let at = PARAMETERS.iter().position(|name| name.as_bytes() == key)?;
            values[at].get_or_insert(value);
        }
        let [schema, package, name] = values.map(|value| value.filter(|value| !value.is_empty()));
        Some(Self {
            schema,
            package,
            name,
        })
    }

    /// Returns whether every blob matches.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the value of each parameter, always in the same order.
    pub(super) fn texts(&self) -> [Option<&[u8]>; 3] {
        [
            self.schema.as_deref(),
            self.package.as_deref(),
            self.name.as_deref(),
        ]
    }

    /// Returns the filter; `None` if no blob can match, because a value is not valid UTF-8.
    pub(super) fn filter(&self) -> Option<MetaFilter<'_>> {
        let [schema, package, name] = self
            .texts()
            .map(|text| text.map(std::str::from_utf8).transpose().ok());
        Some(MetaFilter {
            schema: schema?,
            package: package?,
            name: name?,
        })
    }
}

/// Decodes percent escapes as Go does; `None` if one is not followed by two hexadecimal digits.
pub(super) fn decode(text: &[u8], plus_is_space: bool) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        decoded.push(match byte {
            b'%' => {
                let digits = std::str::from_utf8(rest.get(..2)?)
                    .ok()
                    .filter(|digits| !digits.starts_with('+'))?;
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
