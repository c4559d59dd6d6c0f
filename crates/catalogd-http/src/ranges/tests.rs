//! Ranges as Go reads them, and the two that it misreads.

use RangeError::{Malformed, Unsatisfiable};
use Ranges::{Many, One, Whole};

use super::*;

#[test]
fn ranges_of_ten_bytes() {
    let cases = [
        ("bytes=0-4", Ok(One(0..5))),
        ("bytes=5-5", Ok(One(5..6))),
        ("bytes=0-", Ok(One(0..10))),
        ("bytes=9-", Ok(One(9..10))),
        ("bytes=2-99", Ok(One(2..10))),
        ("bytes=-3", Ok(One(7..10))),
        ("bytes=-99", Ok(One(0..10))),
        ("bytes= 1 - 2 ", Ok(One(1..3))),
        ("bytes=+0-4", Ok(One(0..5))),
        ("bytes=0-0,,2-2", Ok(Many(vec![0..1, 2..3]))),
        ("bytes=2-3,0-1", Ok(Many(vec![2..4, 0..2]))),
        ("bytes=0-4,3-7", Ok(Many(vec![0..5, 3..8]))),
        ("bytes=0-1,99-", Ok(One(0..2))),
        ("bytes=0-1,-0", Ok(One(0..2))),
        ("bytes=0-9,0-9", Ok(Whole)),
        ("bytes=", Ok(Whole)),
        ("bytes=,", Ok(Whole)),
        ("bytes=10-", Err(Unsatisfiable)),
        ("bytes=98-,99-", Err(Unsatisfiable)),
        ("bytes=-0", Err(Unsatisfiable)),
        ("bytes=4-3", Err(Malformed)),
        ("bytes=-", Err(Malformed)),
        ("bytes=--5", Err(Malformed)),
        ("bytes=1--5", Err(Malformed)),
        ("bytes=5", Err(Malformed)),
        ("bytes=a-b", Err(Malformed)),
        ("bytes=0-9223372036854775808", Err(Malformed)),
        ("bytes=99-,a", Err(Malformed)),
        ("bytes 0-4", Err(Malformed)),
        ("Bytes=0-4", Err(Malformed)),
        ("items=0-4", Err(Malformed)),
        ("0-4", Err(Malformed)),
    ];
    for (text, expected) in cases {
        assert_eq!(Ranges::parse(text.as_bytes(), 10), expected, "{text}");
    }
}

#[test]
fn of_nothing_there_is_all_or_no_end() {
    assert_eq!(Ranges::parse(b"bytes=0-9", 0), Ok(Whole));
    assert_eq!(Ranges::parse(b"bytes=-5", 0), Err(Unsatisfiable));
}

#[test]
fn a_request_for_too_many_ranges_gets_the_whole() {
    let text = |count: usize| format!("bytes={}", vec!["1-1"; count].join(","));
    assert_eq!(
        Ranges::parse(text(MAX_RANGES).as_bytes(), 1000),
        Ok(Many(vec![1..2; MAX_RANGES]))
    );
    assert_eq!(
        Ranges::parse(text(MAX_RANGES + 1).as_bytes(), 1000),
        Ok(Whole)
    );
}
