//! OLM's condition on upgrades of `OpenShift`: the property `olm.maxOpenShiftVersion` of what is
//! installed, and the message of `Upgradeable=False`.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use fbc::PlatformVersion;
use fbc_grammar::version::{Version, VersionError, tolerant_version};

/// Type of the property.
pub const MAX_OPENSHIFT_PROPERTY: &str = "olm.maxOpenShiftVersion";

/// A minor version of `OpenShift`. 4.23 and 5.0 are one version under two names: they are equal, and
/// each is printed as it was written.
#[derive(Clone, Copy, Debug)]
pub struct OpenshiftMinor {
    major: u64,
    minor: u64,
}

/// An error for values of `olm.maxOpenShiftVersion`, with OLM's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MaxOpenshiftError {
    /// There is more than one property.
    #[error("defining more than one \"{MAX_OPENSHIFT_PROPERTY}\" property is not allowed")]
    Several,
    /// The value is empty.
    #[error("value cannot be \"\" (an empty string)")]
    Empty,
    /// The value is not a version.
    #[error("failed to parse \"{value}\" as semver: {error}")]
    NoVersion {
        /// The value.
        value: String,
        /// The cause.
        error: VersionError,
    },
    /// The value has more than a major and a minor version.
    #[error(
        "property {MAX_OPENSHIFT_PROPERTY} must specify only <major>.<minor> version, got invalid value {0}"
    )]
    NotMinor(String),
}

/// An installed bundle, as OLM's condition sees it.
#[derive(Clone, Debug)]
pub struct ConditionSubject<'a> {
    /// Namespace of the `ClusterServiceVersion`.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its limit; `None` when it has none.
    pub max_openshift: Result<Option<OpenshiftMinor>, MaxOpenshiftError>,
}

impl OpenshiftMinor {
    /// Makes the minor version of these numbers.
    pub fn new(major: u64, minor: u64) -> Self {
        Self { major, minor }
    }

    /// Returns the numbers by which versions are compared: those of 5.0 for 4.23.
    fn ordinal(self) -> (u64, u64) {
        match (self.major, self.minor) {
            (4, 23) => (5, 0),
            numbers => numbers,
        }
    }

    /// Returns the minor version after it: after 4.22 comes 5.0.
    #[must_use]
    pub fn next(self) -> Self {
        let (major, minor) = self.ordinal();
        let (major, minor) = Self::new(major, minor.saturating_add(1)).ordinal();
        Self::new(major, minor)
    }

    /// Returns the minor version of Kubernetes in it, as `MAJOR.MINOR`; `None` for versions of
    /// `OpenShift` other than 4 and 5.
    pub fn kubernetes(self) -> Option<PlatformVersion> {
        let (major, minor) = self.ordinal();
        let minor = match major {
            4 => minor.checked_add(13)?,
            5 => minor.checked_add(36)?,
            _ => return None,
        };
        format!("1.{minor}").parse().ok()
    }
}

impl PartialEq for OpenshiftMinor {
    fn eq(&self, other: &Self) -> bool {
        self.ordinal() == other.ordinal()
    }
}

impl Eq for OpenshiftMinor {}

impl PartialOrd for OpenshiftMinor {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for OpenshiftMinor {
    fn cmp(&self, other: &Self) -> Ordering {
        self.ordinal().cmp(&other.ordinal())
    }
}

impl Hash for OpenshiftMinor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ordinal().hash(state);
    }
}

impl From<PlatformVersion> for OpenshiftMinor {
    fn from(version: PlatformVersion) -> Self {
        Self::new(version.major().into(), version.minor().into())
    }
}

impl fmt::Display for OpenshiftMinor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Reads the limit from the JSON texts of all properties `olm.maxOpenShiftVersion`; `None` without
/// one.
///
/// # Errors
/// OLM blocks every minor upgrade because of the values.
pub fn max_openshift_version(values: &[&str]) -> Result<Option<OpenshiftMinor>, MaxOpenshiftError> {
    let value = match values {
        [] => return Ok(None),
        [value] => value.trim_matches('"'),
        _ => return Err(MaxOpenshiftError::Several),
    };
    if value.is_empty() {
        return Err(MaxOpenshiftError::Empty);
    }
    let error = |error| MaxOpenshiftError::NoVersion {
        value: value.to_owned(),
        error,
    };
    let text = tolerant_version(value).map_err(error)?;
    let version = Version::parse(&text).map_err(error)?;
    // Build metadata does not count in a comparison.
    if version.patch() != 0 || !version.pre().is_empty() {
        return Err(MaxOpenshiftError::NotMinor(text));
    }
    Ok(Some(OpenshiftMinor::new(version.major(), version.minor())))
}

/// Returns the message with which OLM blocks a minor upgrade of a cluster at this version; `None`
/// when it allows it.
///
/// Invalid properties come first, in order, then versions that are too low, in reverse order, as
/// OLM lists them.
pub fn upgrade_condition(
    current: OpenshiftMinor,
    installed: &[ConditionSubject<'_>],
) -> Option<String> {
    let next = current.next();
    let mut invalid = Vec::new();
    let mut low = Vec::new();
    for subject in installed {
        let ConditionSubject {
            namespace, name, ..
        } = subject;
        match &subject.max_openshift {
            Err(error) => invalid.push(format!(
                "- {namespace}/{name} has invalid {MAX_OPENSHIFT_PROPERTY} properties: {error}"
            )),
            Ok(Some(max)) if *max < next => low.push(format!(
                "- maximum supported OCP version for {namespace}/{name} is {max}"
            )),
            Ok(_) => {}
        }
    }
    if invalid.is_empty() && low.is_empty() {
        return None;
    }
    let versions = if next == OpenshiftMinor::new(5, 0) {
        "4.23 or major version upgrades to 5.0".to_owned()
    } else {
        format!("{next}.0 or higher")
    };
    let lines: Vec<_> = invalid.into_iter().chain(low.into_iter().rev()).collect();
    Some(format!(
        "ClusterServiceVersions blocking minor version upgrades to {versions}:\n{}",
        lines.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minor(text: &str) -> OpenshiftMinor {
        text.parse::<PlatformVersion>()
            .expect("it is a version")
            .into()
    }

    /// Returns what OLM says of one installed bundle with these properties at a version.
    fn said(current: &str, values: &[&str]) -> Option<String> {
        let subject = ConditionSubject {
            namespace: "ns",
            name: "beetle",
            max_openshift: max_openshift_version(values),
        };
        upgrade_condition(minor(current), &[subject]).map(|message| {
            let (_, line) = message.split_once('\n').expect("a message has lines");
            line.to_owned()
        })
    }

    fn too_low(max: &str) -> String {
        format!("- maximum supported OCP version for ns/beetle is {max}")
    }

    fn invalid(error: &str) -> String {
        format!("- ns/beetle has invalid olm.maxOpenShiftVersion properties: {error}")
    }

    #[test]
    fn the_condition_is_that_of_upstreams_table() {
        let not_minor = |value: &str| {
            invalid(&format!(
                "property olm.maxOpenShiftVersion must specify only <major>.<minor> version, got invalid value {value}"
            ))
        };
        for (current, values, message) in [
            ("1.0", &[][..], String::new()),
            ("1.0", &["\"1.0\""], too_low("1.0")),
            ("1.0", &["\"1.0.0\""], too_low("1.0")),
            ("1.0", &["\"1.1\""], String::new()),
            ("1.0.3", &["\"1.1\""], String::new()),
            ("1.0", &["\"1.1.0\""], String::new()),
            ("1.0", &["\"1.2\""], String::new()),
            ("1.0", &["\"v1.1\""], String::new()),
            ("1.0", &["\"1.01\""], String::new()),
            ("1.0", &["\"2.0\""], String::new()),
            ("1.0", &["\"2.0.0\""], String::new()),
            ("1.0", &["\"0.1.0\""], too_low("0.1")),
            ("1.0", &["1.0"], too_low("1.0")),
            ("1.0", &["1.1"], String::new()),
            ("4.8", &["4.8"], too_low("4.8")),
            ("1.0", &["\"1.1.1\""], not_minor("1.1.1")),
            ("1.0", &["\"1.1.0-pre\""], not_minor("1.1.0-pre")),
            (
                "1.0",
                &["\"1.1.0-pre+build\""],
                not_minor("1.1.0-pre+build"),
            ),
            ("1.0", &["\"1.1.0+build\""], String::new()),
            ("1.0", &["\"1.0.0+build\""], too_low("1.0")),
            (
                "1.0",
                &["\"1.1\"", "\"1.1\""],
                invalid(
                    "defining more than one \"olm.maxOpenShiftVersion\" property is not allowed",
                ),
            ),
            (
                "1.0",
                &["\"\""],
                invalid("value cannot be \"\" (an empty string)"),
            ),
            (
                "1.0",
                &["\"bad_version\""],
                invalid(
                    "failed to parse \"bad_version\" as semver: Invalid character(s) found in major number \"0bad_version\"",
                ),
            ),
            (
                "1.0",
                &["\"1.1-pre\""],
                invalid(
                    "failed to parse \"1.1-pre\" as semver: Short version cannot contain PreRelease/Build meta data",
                ),
            ),
            ("4.21", &["\"4.22\""], String::new()),
            ("4.22", &["\"4.22\""], too_low("4.22")),
            ("4.22", &["\"4.23\""], String::new()),
            ("4.22", &["\"5.0\""], String::new()),
            ("4.22", &["\"5.1\""], String::new()),
            ("4.23", &["\"4.23\""], too_low("4.23")),
            ("4.23", &["\"5.0\""], too_low("5.0")),
            ("5.0", &["\"4.23\""], too_low("4.23")),
            ("5.0", &["\"5.0\""], too_low("5.0")),
            ("4.23", &["\"5.1\""], String::new()),
            ("5.0", &["\"5.1\""], String::new()),
            ("5.1", &["\"4.23\""], too_low("4.23")),
            ("5.1", &["\"5.0\""], too_low("5.0")),
            ("5.1", &["\"5.1\""], too_low("5.1")),
        ] {
            assert_eq!(
                said(current, values).unwrap_or_default(),
                message,
                "{current} {values:?}"
            );
        }
    }

    #[test]
    fn invalid_properties_come_first_and_the_others_in_reverse_order() {
        let subject = |name, value: &'static str| ConditionSubject {
            namespace: "ns",
            name,
            max_openshift: max_openshift_version(&[value]),
        };
        let installed = [
            subject("ant", "\"4.16\""),
            subject("bee", "\"\""),
            subject("fly", "\"4.15\""),
            subject("moth", "\"4.17\""),
            subject("wasp", "\"x\""),
        ];
        assert_eq!(
            upgrade_condition(minor("4.16"), &installed).as_deref(),
            Some(concat!(
                "ClusterServiceVersions blocking minor version upgrades to 4.17.0 or higher:\n",
                "- ns/bee has invalid olm.maxOpenShiftVersion properties: value cannot be \"\" (an empty string)\n",
                "- ns/wasp has invalid olm.maxOpenShiftVersion properties: failed to parse \"x\" as semver: ",
                "Invalid character(s) found in major number \"x\"\n",
                "- maximum supported OCP version for ns/fly is 4.15\n",
                "- maximum supported OCP version for ns/ant is 4.16",
            ))
        );
        let message = upgrade_condition(minor("4.22"), &installed[..1]);
        assert!(message.is_some_and(|message| message.starts_with(
            "ClusterServiceVersions blocking minor version upgrades to 4.23 or major version upgrades to 5.0:\n"
        )));
    }

    #[test]
    fn each_version_of_openshift_has_its_version_of_kubernetes() {
        for (openshift, kubernetes) in [
            ("4.16", Some("1.29")),
            ("4.18.3", Some("1.31")),
            ("4.22", Some("1.35")),
            ("4.23", Some("1.36")),
            ("5.0", Some("1.36")),
            ("5.1", Some("1.37")),
            ("3.11", None),
        ] {
            let of = minor(openshift).kubernetes();
            assert_eq!(
                of.map(|version| version.to_string()).as_deref(),
                kubernetes,
                "{openshift}"
            );
        }
    }
}
