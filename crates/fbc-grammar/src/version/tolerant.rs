//! Versions that are parsed more tolerantly than those of bundles: of `ClusterServiceVersion`s, in
//! CEL rules, and in configurations of oc-mirror.

use super::{Version, VersionError};

/// Parses a version as [`tolerant_version`] does; `None` if it is not a semantic version.
pub fn strict_version(text: &str) -> Option<String> {
    tolerant_version(text).ok()
}

/// Parses a version as blang's `ParseTolerant` does and returns it in its strict form: blanks
/// around it, a `v` before it, zeros before its numbers and missing numbers are allowed.
///
/// # Errors
/// It is still not a semantic version; the message is blang's.
pub fn tolerant_version(text: &str) -> Result<String, VersionError> {
    let text = text.trim();
    let parts: Vec<_> = text
        .strip_prefix('v')
        .unwrap_or(text)
        .splitn(3, '.')
        .collect();
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return Err(VersionError::ShortWithMetadata);
    }
    let mut numbers: Vec<_> = parts.into_iter().map(strip_zeros).collect();
    numbers.resize(3, "0".to_owned());
    let version = numbers.join(".");
    Version::parse(&version)?;
    Ok(version)
}

/// Parses a version as the `NewVersion` of Masterminds/semver does and returns it in its strict
/// form: a `v` before it, zeros before its numbers and missing numbers are allowed, also before a
/// prerelease. `None` if it is still not a semantic version.
pub fn coerced_version(text: &str) -> Option<String> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (numbers, rest) = text.split_at(end);
    let mut numbers: Vec<_> = numbers
        .split('.')
        .map(|number| match number.trim_start_matches('0') {
            "" if !number.is_empty() => "0",
            digits => digits,
        })
        .collect();
    if numbers.len() > 3 || numbers.contains(&"") {
        return None;
    }
    numbers.resize(3, "0");
    let version = format!("{}{rest}", numbers.join("."));
    Version::parse(&version).is_ok().then_some(version)
}

/// Strips the zeros before a number. A longer part without a number counts as zero.
fn strip_zeros(part: &str) -> String {
    let digits = part.trim_start_matches('0');
    match part.len() {
        0 | 1 => part.to_owned(),
        _ if digits.starts_with(|first: char| first.is_ascii_digit()) => digits.to_owned(),
        _ => format!("0{digits}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_a_configuration_is_completed_to_three_numbers() {
        for (text, strict) in [
            ("1.2.3", Some("1.2.3")),
            ("v1.2", Some("1.2.0")),
            ("1", Some("1.0.0")),
            ("01.002", Some("1.2.0")),
            ("0", Some("0.0.0")),
            ("1.2-rc.1+b", Some("1.2.0-rc.1+b")),
            ("1+b-c", Some("1.0.0+b-c")),
            ("", None),
            ("v", None),
            ("1.", None),
            ("1.x", None),
            ("1.2.3.4", None),
            (" 1.2.3", None),
            ("1.2.3-01", None),
            ("not a version", None),
        ] {
            assert_eq!(coerced_version(text).as_deref(), strict, "{text}");
        }
    }

    #[test]
    fn a_version_is_parsed_tolerantly_and_written_strictly() {
        for (text, strict) in [
            ("1.2.3", Some("1.2.3")),
            (" v1.2.3-rc.1+b ", Some("1.2.3-rc.1+b")),
            ("1", Some("1.0.0")),
            ("01.002.0", Some("1.2.0")),
            ("1.2.0-0", Some("1.2.0-0")),
            ("1.2.-rc", Some("1.2.0-rc")),
            ("1.2-rc", None),
            ("", None),
            ("not-a-version", None),
            ("1.2.3.4", None),
        ] {
            assert_eq!(strict_version(text).as_deref(), strict, "{text}");
        }
    }
}
