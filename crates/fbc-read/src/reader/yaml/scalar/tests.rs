//! Plain scalars and tags as yaml.v2 resolves them.

use super::*;

fn float(text: &str) -> String {
    let mut out = Vec::new();
    match resolve_plain(text) {
        Some(YamlScalar::Float(float)) => write_float(&mut out, float),
        other => panic!("{text}: {other:?}"),
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn words_of_yaml_1_1_have_their_values() {
    for word in [
        "y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE",
    ] {
        assert_eq!(resolve_plain(word), Some(YamlScalar::Bool(true)), "{word}");
    }
    for word in [
        "n", "N", "no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE",
    ] {
        assert_eq!(resolve_plain(word), Some(YamlScalar::Bool(false)), "{word}");
    }
    for word in ["", "~", "null", "Null", "NULL"] {
        assert_eq!(resolve_plain(word), Some(YamlScalar::Null), "{word}");
    }
    for word in [
        "yEs",
        "oN",
        "nUll",
        "inf",
        "NaN",
        "-inf",
        "<<",
        "=",
        "_1",
        "0xg",
        "0x",
        "0b",
        "0b12",
        "1.2.3",
        "2001-12-14",
        "2001-12-14 21:59:43",
        "1:30",
        "1e400",
        "-1e400",
        ".",
        ".e3",
        "._5",
        ".5__0",
        "+",
        "-",
        "1e",
        "1e+",
        "0x-1",
        "-0b-1",
        "+-1",
        "1_a",
        "e3",
        "4.18.0-rc1",
        "--1",
        "0o8",
        "0x1p4",
        "1 000",
    ] {
        assert_eq!(resolve_plain(word), None, "{word}");
    }
}

#[test]
fn integers_have_64_bits_and_any_base() {
    let table = [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("010", 8),
        ("-010", -8),
        ("0o17", 15),
        ("0O17", 15),
        ("0x1F", 31),
        ("0XfF", 255),
        ("-0x10", -16),
        ("+0x1", 1),
        ("0b101", 5),
        ("0B1", 1),
        ("-0b11", -3),
        ("1_000", 1000),
        ("1__0", 10),
        ("1_", 1),
        ("0x_1F", 31),
        ("0b1_1", 3),
        ("0_7", 7),
        ("0b-1", -1),
        ("9223372036854775807", i128::from(i64::MAX)),
        ("-9223372036854775808", i128::from(i64::MIN)),
        ("18446744073709551615", i128::from(u64::MAX)),
        ("0xFFFFFFFFFFFFFFFF", i128::from(u64::MAX)),
    ];
    for (text, expected) in table {
        assert_eq!(
            resolve_plain(text),
            Some(YamlScalar::Integer(expected)),
            "{text}"
        );
    }
}

#[test]
fn floats_are_written_as_go_writes_them() {
    let table = [
        ("4.10", "4.1"),
        ("1.0", "1"),
        ("1e3", "1000"),
        ("1E+3", "1000"),
        ("1.5e-3", "0.0015"),
        ("6.02e23", "6.02e+23"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-.5", "-0.5"),
        ("+.5", "0.5"),
        ("1.e3", "1000"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("-1e21", "-1e+21"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1e-7"),
        ("123e-9", "1.23e-7"),
        ("1e100", "1e+100"),
        ("1e-400", "0"),
        ("-0.0", "-0"),
        ("08", "8"),
        ("09.5", "9.5"),
        ("1_0.5", "10.5"),
        (".5_0", "0.5"),
        ("18446744073709551616", "18446744073709552000"),
        ("-9223372036854775809", "-9223372036854776000"),
    ];
    for (text, expected) in table {
        assert_eq!(float(text), expected, "{text}");
    }
}

#[test]
fn what_is_infinite_or_no_number_is_a_float() {
    for text in [".inf", ".Inf", ".INF", "+.inf"] {
        assert_eq!(resolve_plain(text), Some(YamlScalar::Float(f64::INFINITY)));
    }
    assert_eq!(
        resolve_plain("-.INF"),
        Some(YamlScalar::Float(f64::NEG_INFINITY))
    );
    assert!(matches!(resolve_plain(".NaN"), Some(YamlScalar::Float(float)) if float.is_nan()));
}

#[test]
fn a_tag_decides_or_refuses() {
    let text = |text: &str| YamlScalar::Text(Cow::Owned(text.to_owned()));
    let table = [
        ("str", "1", Some(text("1"))),
        ("!foo", "1", Some(text("1"))),
        ("!", "1", Some(text("1"))),
        ("int", "010", Some(YamlScalar::Integer(8))),
        ("int", "foo", None),
        ("int", "1.5", None),
        ("float", "2", Some(YamlScalar::Float(2.0))),
        ("float", "18446744073709551615", None),
        ("bool", "no", Some(YamlScalar::Bool(false))),
        ("bool", "1", None),
        ("null", "", Some(YamlScalar::Null)),
        ("null", "x", None),
        ("timestamp", "2001-1-2", Some(text("2001-1-2"))),
        (
            "timestamp",
            "2001-12-14T21:59:43Z",
            Some(text("2001-12-14T21:59:43Z")),
        ),
        ("timestamp", "20011214", None),
        ("binary", "aGk=", Some(text("hi"))),
        ("binary", "aG\nl=", Some(text("hi"))),
        (
            "binary",
            "/////w==",
            Some(text("\u{fffd}\u{fffd}\u{fffd}\u{fffd}")),
        ),
        ("binary", "aGk", None),
        ("binary", "%%%", None),
    ];
    for (tag, value, expected) in table {
        let found = resolve_tagged(tag, Cow::Borrowed(value));
        assert_eq!(found.ok(), expected, "!!{tag} {value}");
    }
}

#[test]
fn a_float_as_key_is_written_with_32_bits() {
    let table = [
        (1.0, "1"),
        (0.1, "0.1"),
        (4.1, "4.1"),
        (100_000.0, "100000"),
        (1_000_000.0, "1e+06"),
        (1_234_567.5, "1.2345675e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.123_456_789, "1.1234568"),
        (1e300, ".inf"),
        (-1e300, "-.inf"),
        (f64::NAN, ".nan"),
        (-2.5, "-2.5"),
    ];
    for (key, expected) in table {
        assert_eq!(float_key(key), expected);
    }
}
