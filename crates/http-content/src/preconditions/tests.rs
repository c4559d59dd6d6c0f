//! Every precondition alone, and all of them together in the order of RFC 9110 §13.2.2.

use PreconditionResult::{Failed, NotModified, Satisfied};

use super::*;

const NOW: u64 = 1_700_000_000;
const SAME: &str = "Tue, 14 Nov 2023 22:13:20 GMT";
const EARLIER: &str = "Tue, 14 Nov 2023 22:13:19 GMT";
const LATER: &str = "Tue, 14 Nov 2023 22:13:21 GMT";

fn ours() -> Validators {
    Validators::new("a", Some(NOW))
}

#[test]
fn a_weak_tag_tells_that_a_response_is_stored_and_matches_no_strong_condition() {
    let weak = ours().weak();
    assert_eq!(weak.etag, "W/\"a\"");
    let cases = [
        ("W/\"a\"", Failed, NotModified),
        ("\"a\"", Failed, NotModified),
        ("\"b\", W/\"a\"", Failed, NotModified),
        ("W/\"b\"", Failed, Satisfied),
        ("*", Satisfied, NotModified),
    ];
    for (value, if_match, if_none_match) in cases {
        let evaluate = |name: &HeaderName| weak.evaluate(&headers(&[(name, value)]));
        assert_eq!(
            [evaluate(&IF_MATCH), evaluate(&IF_NONE_MATCH)],
            [if_match, if_none_match],
            "{value}"
        );
    }
    assert!(!weak.allows_partial_response(&headers(&[(&IF_RANGE, "W/\"a\"")])));
}

fn headers(all: &[(&HeaderName, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in all {
        headers.append((*name).clone(), value.parse().unwrap());
    }
    headers
}

fn evaluate(all: &[(&HeaderName, &str)]) -> PreconditionResult {
    ours().evaluate(&headers(all))
}

#[test]
fn tags_are_compared_as_each_header_demands() {
    // The value; what `If-Match` makes of it, which compares strongly, and `If-None-Match`, which
    // compares weakly.
    let cases = [
        ("\"a\"", Satisfied, NotModified),
        ("W/\"a\"", Failed, NotModified),
        ("\"b\"", Failed, Satisfied),
        ("*", Satisfied, NotModified),
        ("\"b\", \"a\"", Satisfied, NotModified),
        ("\"b\",\"a\"", Satisfied, NotModified),
        (" , ,\"b\" ,\t\"a\"", Satisfied, NotModified),
        ("\"b\", *", Satisfied, NotModified),
        ("\"b\", W/\"a\"", Failed, NotModified),
        ("a", Failed, Satisfied),
        ("a, \"a\"", Failed, Satisfied),
        ("\"b\" x, \"a\"", Failed, Satisfied),
        ("\"a", Failed, Satisfied),
        ("w/\"a\"", Failed, Satisfied),
        ("\"a b\", \"a\"", Failed, Satisfied),
        ("\"A\"", Failed, Satisfied),
        (",", Failed, Satisfied),
        ("", Satisfied, Satisfied),
    ];
    for (value, match_, none_match) in cases {
        assert_eq!(evaluate(&[(&IF_MATCH, value)]), match_, "If-Match: {value}");
        assert_eq!(
            evaluate(&[(&IF_NONE_MATCH, value)]),
            none_match,
            "If-None-Match: {value}"
        );
    }
}

#[test]
fn a_header_on_several_lines_is_one_list() {
    assert_eq!(
        evaluate(&[(&IF_MATCH, "\"b\""), (&IF_MATCH, "\"a\"")]),
        Satisfied
    );
    assert_eq!(
        evaluate(&[(&IF_NONE_MATCH, "\"b\""), (&IF_NONE_MATCH, "\"a\"")]),
        NotModified
    );
}

#[test]
fn dates_count_in_seconds_and_in_three_forms() {
    // The value; what `If-Unmodified-Since` and `If-Modified-Since` make of it.
    let cases = [
        (SAME, Satisfied, NotModified),
        (LATER, Satisfied, NotModified),
        (EARLIER, Failed, Satisfied),
        ("Tuesday, 14-Nov-23 22:13:20 GMT", Satisfied, NotModified),
        ("Tuesday, 14-Nov-23 22:13:19 GMT", Failed, Satisfied),
        ("Tue Nov 14 22:13:20 2023", Satisfied, NotModified),
        ("Tue Nov 14 22:13:19 2023", Failed, Satisfied),
        ("Thu, 01 Jan 1970 00:00:00 GMT", Failed, Satisfied),
        ("Fri, 01 Jan 2100 00:00:00 GMT", Satisfied, NotModified),
        ("Tue, 14 Nov 2023 22:13:20 UTC", Satisfied, Satisfied),
        ("tue, 14 nov 2023 22:13:20 gmt", Satisfied, Satisfied),
        ("2023-11-14T22:13:20Z", Satisfied, Satisfied),
        ("yesterday", Satisfied, Satisfied),
        ("", Satisfied, Satisfied),
    ];
    for (value, unmodified, modified) in cases {
        assert_eq!(
            evaluate(&[(&IF_UNMODIFIED_SINCE, value)]),
            unmodified,
            "If-Unmodified-Since: {value}"
        );
        assert_eq!(
            evaluate(&[(&IF_MODIFIED_SINCE, value)]),
            modified,
            "If-Modified-Since: {value}"
        );
    }
    let undated = Validators::new("a", None);
    for name in [IF_UNMODIFIED_SINCE, IF_MODIFIED_SINCE] {
        assert_eq!(
            undated.evaluate(&headers(&[(&name, EARLIER)])),
            Satisfied,
            "{name} without a date to compare"
        );
    }
}

/// A precondition: absent, true or false.
const STATES: [Option<bool>; 3] = [None, Some(true), Some(false)];

#[test]
fn all_together_are_judged_in_the_order_of_the_rfc() {
    for matches in STATES {
        for unmodified in STATES {
            for none_match in STATES {
                for modified in STATES {
                    let tag = |state: bool| if state { "\"a\"" } else { "\"b\"" };
                    let mut all = Vec::new();
                    all.extend(matches.map(|state| (&IF_MATCH, tag(state))));
                    all.extend(
                        unmodified.map(|state| {
                            (&IF_UNMODIFIED_SINCE, if state { SAME } else { EARLIER })
                        }),
                    );
                    all.extend(none_match.map(|state| (&IF_NONE_MATCH, tag(!state))));
                    all.extend(
                        modified
                            .map(|state| (&IF_MODIFIED_SINCE, if state { EARLIER } else { SAME })),
                    );
                    // Steps 1 and 2, then 3 and 4: a tag keeps the date beside it from being looked
                    // at.
                    let expected = match (matches, unmodified, none_match, modified) {
                        (Some(false), ..) | (None, Some(false), ..) => Failed,
                        (_, _, Some(false), _) | (_, _, None, Some(false)) => NotModified,
                        _ => Satisfied,
                    };
                    assert_eq!(evaluate(&all), expected, "{all:?}");
                }
            }
        }
    }
}

#[test]
fn a_range_is_served_of_just_the_state_that_the_client_has() {
    let cases = [
        ("\"a\"", true),
        ("W/\"a\"", false),
        ("\"b\"", false),
        ("a", false),
        (SAME, true),
        (EARLIER, false),
        (LATER, false),
        ("Tue Nov 14 22:13:20 2023", true),
        ("yesterday", false),
        ("", true),
    ];
    for (value, allowed) in cases {
        assert_eq!(
            ours().allows_partial_response(&headers(&[(&IF_RANGE, value)])),
            allowed,
            "If-Range: {value}"
        );
    }
    assert!(ours().allows_partial_response(&HeaderMap::new()));
    assert!(!Validators::new("a", None).allows_partial_response(&headers(&[(&IF_RANGE, SAME)])));
}

#[test]
fn validators_are_written_as_http_writes_them() {
    let written = (
        ours().etag_header().unwrap(),
        ours().last_modified_header().unwrap(),
    );
    assert_eq!(
        written,
        (
            HeaderValue::from_static("\"a\""),
            HeaderValue::from_static(SAME)
        )
    );
    assert_eq!(Validators::new("a", None).last_modified_header(), None);
}

#[test]
fn an_answer_without_a_body_says_nothing_of_its_length() {
    assert_eq!(
        (EmptyBody.size_hint().exact(), EmptyBody.is_end_stream()),
        (None, true)
    );
    let frame =
        Pin::new(&mut EmptyBody).poll_frame(&mut Context::from_waker(std::task::Waker::noop()));
    assert!(matches!(frame, Poll::Ready(None)));
}
