//! Versions of Kubernetes APIs.

use std::cmp::Ordering;

/// Compares versions of one API by the priority that Kubernetes gives them: `v2` > `v1` > `v1beta2`
/// > `v1beta1` > `v1alpha1`, and others behind them, by their text backwards.
pub fn compare_api_versions(a: &str, b: &str) -> Ordering {
    // The first of several other versions in the order of their texts has the highest priority.
    priority(a).cmp(&priority(b)).then_with(|| b.cmp(a))
}

/// Stability, major version and number of the release before it; `None` for a version of another
/// form.
fn priority(version: &str) -> Option<(u8, u32, u32)> {
    let rest = version.strip_prefix('v')?;
    let (major, rest) = number(rest)?;
    if rest.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, rest) = match rest.strip_prefix("beta") {
        Some(rest) => (1, rest),
        None => (0, rest.strip_prefix("alpha")?),
    };
    let (minor, rest) = number(rest)?;
    rest.is_empty().then_some((stability, major, minor))
}

/// Splits off a number without leading zeros.
fn number(text: &str) -> Option<(u32, &str)> {
    let end = text
        .find(|letter: char| !letter.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_in_the_order_of_the_documentation_of_kubernetes() {
        let order = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10",
            "v0",
            "v1rc1",
        ];
        for (at, one) in order.iter().enumerate() {
            for (other_at, other) in order.iter().enumerate() {
                assert_eq!(
                    compare_api_versions(one, other),
                    other_at.cmp(&at),
                    "{one} {other}"
                );
            }
        }
    }
}
