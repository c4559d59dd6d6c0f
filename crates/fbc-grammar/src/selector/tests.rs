//! Selectors against labels, and upstream's messages.

use super::*;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|&(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn labels_are_selected_as_kubectl_selects_them() {
    let prod = labels(&[
        ("env", "prod"),
        ("tier", "2"),
        ("empty", ""),
        ("a.io/x", "y"),
    ]);
    let table = [
        ("", true),
        (" \t", true),
        ("env=prod", true),
        ("env == prod", true),
        ("env=dev", false),
        ("env!=dev", true),
        ("env!=prod", false),
        ("none!=prod", true),
        ("env", true),
        ("none", false),
        ("!none", true),
        ("! env", false),
        ("env in (dev, prod)", true),
        ("env in (dev)", false),
        ("env notin (dev)", true),
        ("none notin (dev)", true),
        ("none in (dev)", false),
        ("empty=", true),
        ("empty in ()", true),
        ("empty in (a,)", true),
        ("empty in (,a)", true),
        ("empty in (a,,b)", true),
        ("env in (,)", false),
        ("tier>1", true),
        ("tier>2", false),
        ("tier<3", true),
        ("env>1", false),
        ("none<1", false),
        ("a.io/x=y,env=prod", true),
        ("env=prod,tier=1", false),
        ("in=in", false),
        ("in in (in,notin)", false),
    ];
    for (text, expected) in table {
        assert_eq!(
            Selector::parse(text).map(|selector| selector.matches(&prod)),
            Ok(expected),
            "{text:?}"
        );
    }
}

#[test]
fn what_is_no_selector_is_refused_in_upstreams_words() {
    let table = [
        (
            ",",
            "found ',', expected: !, identifier, or 'end of string'",
        ),
        ("a,", "found '', expected: identifier after ','"),
        ("a,,b", "found ',', expected: identifier after ','"),
        (
            "a b",
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
        ),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        (
            "!",
            "unable to parse requirement: found '', expected: identifier",
        ),
        (
            "a==(",
            "unable to parse requirement: found '(', expected: identifier",
        ),
        (
            "a in b",
            "unable to parse requirement: found 'b' expected: '('",
        ),
        (
            "a in (=",
            "unable to parse requirement: found '=', expected: ',', ')' or identifier",
        ),
        (
            "a in (b c)",
            "unable to parse requirement: found 'c', expected: ',' or ')'",
        ),
        (
            "a in (b",
            "unable to parse requirement: found '', expected: ',' or ')'",
        ),
        (
            "a in (b,",
            "unable to parse requirement: found '', expected: ',', or identifier",
        ),
        (
            "a in (b,,)",
            "unable to parse requirement: found ')', expected: ',', or identifier",
        ),
        (
            "a>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": \
             for 'Gt', 'Lt' operators, the value must be an integer",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(
            Selector::parse(text).map_err(|error| error.to_string()),
            Err(expected.to_owned()),
            "{text:?}"
        );
    }
}

#[test]
fn keys_and_values_are_those_of_kubernetes() {
    let good = ["a", "a.io/b", "A-b_c.d", "0"];
    let long = "a".repeat(63);
    for key in good.iter().copied().chain([long.as_str()]) {
        assert_eq!(key_errors(key), [""; 0], "{key}");
    }
    let count = |key: &str| key_errors(key).len();
    for bad in [
        "-a",
        "a-",
        "a/b/c",
        "/a",
        "A.io/b",
        "a..b/c",
        "é",
        &"a".repeat(64),
        &format!("{}/a", "a".repeat(254)),
    ] {
        assert_eq!(count(bad), 1, "{bad}");
    }
    assert_eq!((count(""), count("a/")), (2, 2));
    let key = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
               alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
               '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' \
               (e.g. 'example.com/MyName')";
    let message = Selector::parse("a/b/c").unwrap_err().to_string();
    assert_eq!(
        message,
        format!("unable to parse requirement: <nil>: Invalid value: \"a/b/c\": {key}")
    );
    let message = Selector::parse("-a").unwrap_err().to_string();
    let start = "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric";
    assert!(message.starts_with(start), "{message}");
    let message = Selector::parse("a=-b,c").unwrap_err().to_string();
    let start = "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be an empty";
    assert!(message.starts_with(start), "{message}");
}

#[test]
fn a_label_selector_is_read_with_all_its_faults() {
    let expression = |key, operator, values| MatchExpression {
        key,
        operator,
        values,
    };
    let some = ["x".to_owned()];
    let none = BTreeMap::new();
    let read = |labels: &_, expression| {
        Selector::from_kubernetes(labels, &[expression]).map_err(|error| error.to_string())
    };
    let selector = read(&labels(&[("a", "b")]), expression("c", "NotIn", &some)).unwrap();
    assert!(selector.matches(&labels(&[("a", "b"), ("c", "d")])));
    assert!(!selector.matches(&labels(&[("a", "b"), ("c", "x")])));
    assert!(!selector.matches(&labels(&[("c", "d")])));
    let several = ["x", "b", "y", "a"].map(str::to_owned);
    let selector = read(&labels(&[("z", "")]), expression("c", "In", &several)).unwrap();
    let chosen = ["a", "b", "c", "x", "y", "z"]
        .map(|value| selector.matches(&labels(&[("z", ""), ("c", value)])));
    assert_eq!(
        (chosen, selector.len()),
        ([true, true, false, true, true, false], 2),
        "in any order"
    );
    let rule = "values set must be empty for exists and does not exist";
    assert_eq!(
        read(&none, expression("a", "Exists", &some)),
        Err(format!("values: Invalid value: [\"x\"]: {rule}"))
    );
    let message = read(&none, expression("", "In", &[])).unwrap_err();
    assert!(
        message.starts_with("[key: Invalid value: \"\": name part"),
        "{message}"
    );
    assert!(
        message.ends_with("for 'in', 'notin' operators, values set can't be empty]"),
        "{message}"
    );
}
