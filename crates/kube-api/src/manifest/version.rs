//! Versions of `ClusterServiceVersion`s, which are parsed more tolerantly than those of bundles.

use fbc::version::Version;

/// Parses a version as upstream's types do and returns it in its strict form: blanks around it, a `v` before it, zeros
/// before its numbers and missing numbers are allowed. `None` if it is still not a semantic version.
pub(super) fn strict_version(text: &str) -> Option<String> {
    let text = text.trim();
    let parts: Vec<_> = text.strip_prefix('v').unwrap_or(text).splitn(3, '.').collect();
    if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
        return None;
    }
    let numbers = parts.iter().map(|part| {
        let digits = part.trim_start_matches('0');
        let needs_zero = part.len() > digits.len() && !digits.starts_with(|first: char| first.is_ascii_digit());
        if needs_zero { format!("0{digits}") } else { digits.to_owned() }
    });
    let mut numbers: Vec<_> = numbers.collect();
    numbers.resize(3, "0".to_owned());
    let version = numbers.join(".");
    Version::parse(&version).is_ok().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_parsed_tolerantly_and_written_strictly() {
        for (text, strict) in [
            ("1.2.3", Some("1.2.3")),
            (" v1.2.3-rc.1+b ", Some("1.2.3-rc.1+b")),
            ("1", Some("1.0.0")),
            ("01.002.0", Some("1.2.0")),
            ("1.2.0-0", Some("1.2.0-0")),
            ("1.2-rc", None),
            ("", None),
            ("not-a-version", None),
            ("1.2.3.4", None),
        ] {
            assert_eq!(strict_version(text).as_deref(), strict, "{text}");
        }
    }
}
