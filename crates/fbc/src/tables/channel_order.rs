//! The order of channels: by names in which runs of digits are numbers.

use std::cmp::Ordering;

use crate::array::Array;
use crate::ids::id;
use crate::index::ContentIndex;

/// Returns the ids of all channels, by package, then in the order of their names.
pub(crate) fn channel_order(index: &ContentIndex) -> Array<u32> {
    let mut order: Vec<u32> = (0..id(index.channels.len())).collect();
    for package in &index.packages {
        let name = |id: u32| index.names.get(index.channels[id as usize].name);
        order[package.channels.places()].sort_unstable_by(|&a, &b| compare_names(name(a), name(b)));
    }
    Array::new(order)
}

/// Part of a name. A number comes before other text.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Run<'n> {
    /// Digits without zeros in front, after their number: the longer number is the greater one.
    Number(usize, &'n [u8]),
    Text(&'n [u8]),
}

/// Compares names such that `v1.9` comes before `v1.10`.
fn compare_names(a: &str, b: &str) -> Ordering {
    runs(a).cmp(runs(b)).then_with(|| a.cmp(b))
}

/// Splits a name where digits begin and end.
fn runs(name: &str) -> impl Iterator<Item = Run<'_>> {
    let runs = name
        .as_bytes()
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit());
    runs.map(|run| {
        if !run[0].is_ascii_digit() {
            return Run::Text(run);
        }
        let zeros = run.iter().take_while(|digit| **digit == b'0').count();
        Run::Number(run.len() - zeros, &run[zeros..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_in_names_are_numbers() {
        let sorted = [
            "",
            "1.9",
            "01.10",
            "1.10",
            "2",
            "10",
            "alpha",
            "stable",
            "stable-v1",
            "v1.9",
            "v1.9-rc",
            "v1.10",
        ];
        for (at, a) in sorted.iter().enumerate() {
            for (place, b) in sorted.iter().enumerate() {
                assert_eq!(compare_names(a, b), at.cmp(&place), "{a} {b}");
            }
        }
        let large = "9".repeat(40);
        assert_eq!(
            compare_names(&format!("v{large}"), &format!("v1{large}")),
            Ordering::Less
        );
    }
}
