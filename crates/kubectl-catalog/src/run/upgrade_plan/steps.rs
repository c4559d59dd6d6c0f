//! Versions of a platform, and those on the way from one to another.

use std::fmt;
use std::str::FromStr;

/// Maximum number of versions of a plan, the present one included, as the server allows.
const MAX_STEPS: usize = 10;

/// Last minor version of `OpenShift` 4 that has no second name. The one after it is 4.23, or 5.0.
const LAST_PLAIN_MINOR: (u32, u32) = (4, 22);

/// A released version of `OpenShift` or of Kubernetes; what is behind its numbers does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReleaseVersion {
    pub(crate) major: u32,
    pub(crate) minor: u32,
    /// The patch; `None` for a minor version, and for a pre-release of its first patch.
    patch: Option<u32>,
}

impl ReleaseVersion {
    const fn new(major: u32, minor: u32) -> Self {
        Self {
            major,
            minor,
            patch: None,
        }
    }

    /// Returns whether it is of Kubernetes, whose major version is 1.
    pub(crate) fn is_kubernetes(self) -> bool {
        self.major == 1
    }

    /// Returns the name of the platform.
    pub(super) fn platform(self) -> &'static str {
        if self.is_kubernetes() {
            "Kubernetes"
        } else {
            "OpenShift"
        }
    }

    /// Returns the major and the minor version. 4.23 and 5.0 of `OpenShift` are one version.
    pub(super) fn minor_version(self) -> (u32, u32) {
        match (self.major, self.minor) {
            (4, 23) => (5, 0),
            numbers => numbers,
        }
    }

    /// Returns the next minor version on the way to another.
    fn next(self, to: Self) -> Self {
        let (major, minor) = self.minor_version();
        match (major, minor) {
            LAST_PLAIN_MINOR if (to.major, to.minor) == (4, 23) => Self::new(4, 23),
            LAST_PLAIN_MINOR => Self::new(5, 0),
            _ => Self::new(major, minor.saturating_add(1)),
        }
    }
}

impl FromStr for ReleaseVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("`{text}` is not a version: write MAJOR.MINOR, such as 4.18");
        let numbers = text.strip_prefix('v').unwrap_or(text);
        let is_suffix = |letter| letter == '-' || letter == '+';
        let (numbers, suffix) = match numbers.find(is_suffix) {
            Some(at) => numbers.split_at(at),
            None => (numbers, ""),
        };
        let number = |part: &str| {
            let is_number = part.bytes().all(|byte| byte.is_ascii_digit());
            part.parse()
                .ok()
                .filter(|_| is_number)
                .ok_or_else(malformed)
        };
        let mut parts = numbers.split('.');
        let mut next = || parts.next().map(number).transpose();
        let major = next()?.ok_or_else(malformed)?;
        let minor = next()?.ok_or_else(malformed)?;
        let patch = next()?;
        if parts.next().is_some() {
            return Err(malformed());
        }
        Ok(Self {
            major,
            minor,
            patch: patch.filter(|_| !suffix.starts_with('-') || patch != Some(0)),
        })
    }
}

impl fmt::Display for ReleaseVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        match self.patch {
            Some(patch) => write!(f, ".{patch}"),
            None => Ok(()),
        }
    }
}

/// Returns the versions from one to another, both included, one minor version at a time.
///
/// # Errors
/// The message says why there is no such way.
pub(super) fn versions(
    from: ReleaseVersion,
    to: ReleaseVersion,
) -> Result<Vec<ReleaseVersion>, String> {
    if from.is_kubernetes() != to.is_kubernetes() {
        return Err(format!(
            "the cluster has {} {from}, and {to} is a version of {}",
            from.platform(),
            to.platform()
        ));
    }
    let [first, last] = [from, to].map(ReleaseVersion::minor_version);
    if first == last {
        return match (from.patch, to.patch) {
            (Some(present), Some(patch)) if present < patch => Ok(vec![from, to]),
            (Some(present), Some(patch)) if present > patch => Err(backwards(from, to)),
            _ => Err(format!("the cluster has {from} already")),
        };
    }
    if last < first {
        return Err(backwards(from, to));
    }
    let mut versions = vec![from];
    let mut version = from;
    while version.minor_version() < last {
        if versions.len() == MAX_STEPS {
            return Err(format!(
                "more than {MAX_STEPS} versions are on the way from {from} to {to}: plan it in parts, with --from"
            ));
        }
        version = version.next(to);
        versions.push(version);
    }
    if version.minor_version() != last {
        return Err(format!("there is no {} {to}", to.platform()));
    }
    if let Some(end) = versions.last_mut() {
        *end = to;
    }
    Ok(versions)
}

fn backwards(from: ReleaseVersion, to: ReleaseVersion) -> String {
    format!("it goes backwards from {from} to {to}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn way(from: &str, to: &str) -> String {
        let versions = from
            .parse()
            .and_then(|from| versions(from, to.parse()?))
            .map(|versions| {
                let texts: Vec<_> = versions.iter().map(ToString::to_string).collect();
                texts.join(" ")
            });
        versions.unwrap_or_else(|error| error)
    }

    #[test]
    fn a_way_takes_one_minor_version_at_a_time() {
        for (from, to, expected) in [
            ("4.16.23", "4.18", "4.16.23 4.17 4.18"),
            ("4.16", "v4.17.3", "4.16 4.17.3"),
            ("4.16.3", "4.16.9", "4.16.3 4.16.9"),
            ("4.21", "4.23", "4.21 4.22 4.23"),
            ("4.21", "5.1", "4.21 4.22 5.0 5.1"),
            ("4.23", "5.1", "4.23 5.1"),
            ("v1.29.4+k3s1", "1.31", "1.29.4 1.30 1.31"),
            (
                "4.9",
                "4.18",
                "4.9 4.10 4.11 4.12 4.13 4.14 4.15 4.16 4.17 4.18",
            ),
        ] {
            assert_eq!(way(from, to), expected);
        }
    }

    #[test]
    fn a_way_that_does_not_lead_forwards_is_refused_by_name() {
        for (from, to, expected) in [
            ("4.18", "4.16", "it goes backwards from 4.18 to 4.16"),
            (
                "4.16.9",
                "4.16.3",
                "it goes backwards from 4.16.9 to 4.16.3",
            ),
            ("4.16.3", "4.16", "the cluster has 4.16.3 already"),
            ("4.23", "5.0", "the cluster has 4.23 already"),
            (
                "4.16",
                "1.31",
                "the cluster has OpenShift 4.16, and 1.31 is a version of Kubernetes",
            ),
            ("4.20", "4.25", "there is no OpenShift 4.25"),
            (
                "4.8",
                "4.18",
                "more than 10 versions are on the way from 4.8 to 4.18: plan it in parts, with --from",
            ),
            (
                "4.8",
                "4294967295.1",
                "more than 10 versions are on the way from 4.8 to 4294967295.1: plan it in parts, with --from",
            ),
        ] {
            assert_eq!(way(from, to), expected);
        }
    }

    #[test]
    fn a_version_has_numbers_and_what_is_behind_them_does_not_count() {
        let read = |text: &str| {
            text.parse::<ReleaseVersion>()
                .map(|version| version.to_string())
        };
        for (text, expected) in [
            ("4.18", "4.18"),
            ("v4.18.3", "4.18.3"),
            // A pre-release is before the version of its numbers.
            ("4.18.0-rc.1", "4.18"),
            ("4.18.3-0.nightly-2026", "4.18.3"),
            ("v1.29.4+k3s1", "1.29.4"),
            ("1.29.4-gke.1043002", "1.29.4"),
            ("1.29+", "1.29"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            "4",
            "4.",
            "x.1",
            "4.+1",
            "4.18.3.1",
            "4.4294967296",
            "stable-4.18",
        ] {
            assert_eq!(
                read(text),
                Err(format!(
                    "`{text}` is not a version: write MAJOR.MINOR, such as 4.18"
                ))
            );
        }
    }
}
