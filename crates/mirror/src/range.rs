//! The versions that an item of a configuration selects.

use fbc_grammar::range::MastermindsRange;
use fbc_grammar::version::{Version, coerced_version};

/// Versions between `minVersion` and `maxVersion`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorRange {
    minimum: Option<String>,
    maximum: Option<String>,
    /// The constraint that oc-mirror makes of them.
    constraint: MastermindsRange,
    /// The version that both name, in its strict form.
    single: Option<String>,
}

/// Fault of a bound of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangeError {
    /// `minVersion` or `maxVersion`.
    pub(crate) member: &'static str,
    /// Message that describes the fault.
    pub(crate) message: String,
}

impl MirrorRange {
    /// Creates the range between two bounds; `None` if both are absent or empty.
    pub(crate) fn new(
        minimum: Option<&str>,
        maximum: Option<&str>,
    ) -> Result<Option<Self>, RangeError> {
        let minimum = minimum.filter(|text| !text.is_empty());
        let maximum = maximum.filter(|text| !text.is_empty());
        for (member, text) in [("minVersion", minimum), ("maxVersion", maximum)] {
            if let Some(text) = text
                && coerced_version(text).is_none()
            {
                let message = format!("`{text}` is not a semantic version, such as `1.2.3`");
                return Err(RangeError { member, message });
            }
        }
        if minimum.is_none() && maximum.is_none() {
            return Ok(None);
        }

        // The text of oc-mirror: a range of one bound has one part, and one of two has two.
        let lower = minimum.map(|text| format!(">={text}"));
        let upper = maximum.map(|text| format!(" <={text}"));
        let text = lower.unwrap_or_default() + &upper.unwrap_or_default();
        let constraint = MastermindsRange::parse(&text).map_err(|error| RangeError {
            member: if minimum.is_some() {
                "minVersion"
            } else {
                "maxVersion"
            },
            message: format!("`{text}` is not a range of versions: {error}"),
        })?;
        let single = minimum
            .filter(|_| minimum == maximum)
            .and_then(coerced_version);
        Ok(Some(Self {
            minimum: minimum.map(str::to_owned),
            maximum: maximum.map(str::to_owned),
            constraint,
            single,
        }))
    }

    /// Returns the lower bound as it was written.
    pub fn minimum(&self) -> Option<&str> {
        self.minimum.as_deref()
    }

    /// Returns the upper bound as it was written.
    pub fn maximum(&self) -> Option<&str> {
        self.maximum.as_deref()
    }

    /// Returns the version that both bounds name, if they are the same text.
    pub(crate) fn single(&self) -> Option<Version<'_>> {
        Version::parse(self.single.as_deref()?).ok()
    }

    /// Tells whether a version is in the range; one that is absent or malformed is not.
    pub(crate) fn contains(&self, version: Option<&str>) -> bool {
        version
            .and_then(|text| Version::parse(text).ok())
            .is_some_and(|version| self.constraint.contains(&version))
    }

    /// Describes the range for people.
    pub(crate) fn describe(&self) -> String {
        match (&self.minimum, &self.maximum) {
            (Some(minimum), Some(maximum)) if minimum == maximum => minimum.clone(),
            (Some(minimum), Some(maximum)) => format!("{minimum} to {maximum}"),
            (Some(minimum), None) => format!("{minimum} or later"),
            (None, Some(maximum)) => format!("up to {maximum}"),
            (None, None) => String::new(),
        }
    }
}
