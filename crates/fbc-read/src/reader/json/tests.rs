//! JSON texts and the lines they give, whole or in pieces; those that are none.

use super::*;

/// The line of a text, or what is wrong with it; `…` where it may go on.
fn convert(text: &[u8]) -> String {
    let mut writer = CanonicalWriter::default();
    let limits = ReadLimits {
        depth: 10,
        members: 10,
        ..ReadLimits::default()
    };
    match super::convert(text, 0, &limits, &mut writer) {
        Ok(Some(end)) => {
            writer.finish();
            let line = String::from_utf8(writer.line().to_vec()).unwrap();
            format!(
                "{}|{}",
                line.trim_end(),
                String::from_utf8_lossy(&text[end..])
            )
        }
        Ok(None) => "…".to_owned(),
        Err(fault) => format!("{}: {}", fault.line, fault.kind),
    }
}

#[test]
fn a_value_is_written_without_white_space_and_what_follows_is_left() {
    assert_eq!(
        convert(b" \n\t{ \"b\" : [ 1 , { } , [ ] , \"x\" , true,false , null ] ,\r\n\"a\":{\"c\":-1.50E+3}} {"),
        r#"{"a":{"c":-1.50E+3},"b":[1,{},[],"x",true,false,null]}| {"#
    );
}

#[test]
fn numbers_keep_their_text() {
    for number in [
        "0",
        "-0",
        "4.10",
        "1.0",
        "1E5",
        "1e-7",
        "-0.0e+0",
        "123456789012345678901234567890",
    ] {
        assert_eq!(
            convert(format!("[{number}]").as_bytes()),
            format!("[{number}]|")
        );
    }
}

#[test]
fn text_is_decoded_and_encoded_as_go_does_it() {
    let table: [(&[u8], &str); 12] = [
        (br"\/\u002f", "//"),
        (br#"\"\\\b\f\n\r\t"#, r#"\"\\\b\f\n\r\t"#),
        (br"\u0022\u005c\u0008\u000a", r#"\"\\\b\n"#),
        (br"\u0041\u00e9\u2028\u0001\u007f", "Aé\\u2028\\u0001\u{7f}"),
        (br"\ud83d\ude00", "😀"),
        (br"\ud800\udc00\ud800x\udc00", "𐀀\u{fffd}x\u{fffd}"),
        (br"\ud800\u0041\ud800\n", "\u{fffd}A\u{fffd}\\n"),
        ("é日😀".as_bytes(), "é日😀"),
        ("a\u{2029}b".as_bytes(), "a\\u2029b"),
        (b"a\xffb", "a\u{fffd}b"),
        (b"\xc3(\xe2\x80x", "\u{fffd}(\u{fffd}\u{fffd}x"),
        (b"\xed\xa0\x80", "\u{fffd}\u{fffd}\u{fffd}"),
    ];
    for (text, expected) in table {
        let text = [b"[\"", text, b"\"]"].concat();
        assert_eq!(convert(&text), format!("[\"{expected}\"]|"));
    }
}

#[test]
fn errors_are_those_of_go() {
    let table = [
        (
            "{\n\"a\":1,\n}",
            "2: invalid character '}' looking for beginning of object key string",
        ),
        (
            "{a:1}",
            "0: invalid character 'a' looking for beginning of object key string",
        ),
        (
            "[1,]",
            "0: invalid character ']' looking for beginning of value",
        ),
        ("[1 2]", "0: invalid character '2' after array element"),
        ("{\"a\" 1}", "0: invalid character '1' after object key"),
        (
            "{\"a\":1 \"b\"}",
            "0: invalid character '\"' after object key:value pair",
        ),
        ("[01]", "0: invalid character '1' after array element"),
        ("[-a]", "0: invalid character 'a' in numeric literal"),
        (
            "[1.]",
            "0: invalid character ']' after decimal point in numeric literal",
        ),
        (
            "[1e+]",
            "0: invalid character ']' in exponent of numeric literal",
        ),
        (
            "[tru]",
            "0: invalid character ']' in literal true (expecting 'e')",
        ),
        (
            "[\"\\x\"]",
            "0: invalid character 'x' in string escape code",
        ),
        (
            "[\"\\u00g0\"]",
            "0: invalid character 'g' in \\u hexadecimal character escape",
        ),
        (
            "[\"a\nb\"]",
            "0: invalid character '\\x0a' in string literal",
        ),
        (
            "[é]",
            "0: invalid character '\\xc3' looking for beginning of value",
        ),
        (
            "[1e400]",
            "0: json: cannot unmarshal number 1e400 into Go value of type float64",
        ),
        (
            "{\"name\":\n1}",
            "0: expected value for key \"name\" to be a string, got 1",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(convert(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn a_text_that_ends_anywhere_may_go_on() {
    let text = br#"{"a":[1.5e1,"x\u00e9\n",true,null,{"b":-1}]}"#;
    for end in 0..text.len() {
        assert_eq!(
            convert(&text[..end]),
            "…",
            "{}",
            String::from_utf8_lossy(&text[..end])
        );
    }
}

#[test]
fn open_objects_have_members_up_to_the_limit() {
    let object = |members: &str| format!("{{{members}}}");
    let seven = "\"a\":0,".repeat(7);
    let two = object("\"b\":0,\"c\":0");
    let fits = object(&format!("{seven}\"d\":{two},\"e\":0"));
    assert_eq!(
        convert(fits.as_bytes()),
        object(&format!("\"a\":0,\"d\":{two},\"e\":0")) + "|"
    );
    let above = object(&format!("{seven}\"d\":{two},\"e\":{two}"));
    assert_eq!(
        convert(above.as_bytes()),
        "0: the objects around one place have more than 10 members"
    );
}

#[test]
fn collections_are_nested_up_to_the_limit() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(convert(nested(10).as_bytes()), nested(10) + "|");
    assert_eq!(
        convert(nested(11).as_bytes()),
        "0: exceeded max depth of 10"
    );
}
