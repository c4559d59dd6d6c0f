//! Whole files: format, pieces, limits, and the place that an error names.

use super::*;

const LIMITS: ReadLimits = ReadLimits {
    blob_bytes: 100,
    depth: 10,
    members: 10,
    indicators: 1_000_000,
};

/// What a file gives: each blob as `line number: line`, each notice as `line number code`, and at
/// last an error.
fn read_with(limits: ReadLimits, file: &[u8]) -> Vec<String> {
    let mut reader = FileReader::new(limits);
    reader.push(file);
    reader.finish();
    let mut found = Vec::new();
    loop {
        found.push(match reader.next() {
            Ok(ReadEvent::Blob(blob)) => {
                format!(
                    "{}: {}",
                    blob.at,
                    String::from_utf8_lossy(blob.line).trim_end()
                )
            }
            Ok(ReadEvent::Notice(notice)) => format!("{} {}", notice.line, notice.code.as_str()),
            Ok(ReadEvent::End) => return found,
            Ok(ReadEvent::NeedInput) => panic!("the file is finished"),
            Err(error) => error.to_string(),
        });
    }
}

fn read(file: &str) -> Vec<String> {
    read_with(LIMITS, file.as_bytes())
}

#[test]
fn each_json_object_is_a_blob_with_the_line_it_begins_on() {
    assert_eq!(
        read("\n{\"a\":1}{\"b\":\n2}\n\n  {\"c\":3}\n"),
        ["2: {\"a\":1}", "2: {\"b\":2}", "5: {\"c\":3}"]
    );
}

#[test]
fn white_space_before_yaml_counts_as_a_whole_in_whatever_pieces_it_comes() {
    let file = "\n{}\t\t\u{b}\t\t?s: null\r\nt: 1\n";
    let whole = read(file);
    assert_eq!(whole.first().map(String::as_str), Some("2: {}"));
    for size in 1..file.len() {
        let mut reader = FileReader::new(LIMITS);
        let mut found = Vec::new();
        let mut pieces = file.as_bytes().chunks(size);
        loop {
            found.push(match reader.next() {
                Ok(ReadEvent::NeedInput) => {
                    match pieces.next() {
                        Some(piece) => reader.push(piece),
                        None => reader.finish(),
                    }
                    continue;
                }
                Ok(ReadEvent::Blob(blob)) => format!(
                    "{}: {}",
                    blob.at,
                    String::from_utf8_lossy(blob.line).trim_end()
                ),
                Ok(ReadEvent::Notice(notice)) => {
                    format!("{} {}", notice.line, notice.code.as_str())
                }
                Ok(ReadEvent::End) => break,
                Err(error) => {
                    found.push(error.to_string());
                    break;
                }
            });
        }
        assert_eq!(found, whole, "{size}");
    }
}

#[test]
fn each_yaml_document_is_a_blob_with_the_line_its_first_key_stands_on() {
    assert_eq!(
        read("---\n# c\na: 1\n---\nb: 2\n---\n\n\nc: 3\n"),
        ["3: {\"a\":1}", "5: {\"b\":2}", "9: {\"c\":3}"]
    );
}

#[test]
fn empty_documents_and_unread_text_are_noticed_in_order() {
    assert_eq!(
        read("---\n---\na: 1\n...\nb: 2\n---\n# c\n"),
        [
            "1 DOCUMENT_EMPTY",
            "3: {\"a\":1}",
            "5 TEXT_NOT_READ",
            "7 DOCUMENT_EMPTY"
        ]
    );
    assert_eq!(
        read("{\"a\":1}\nnull\n{\"b\":2}"),
        ["1: {\"a\":1}", "2 DOCUMENT_EMPTY", "3: {\"b\":2}"]
    );
    assert_eq!(
        read("1: a\n'1': b\n"),
        ["1: {\"1\":\"b\"}", "1 KEYS_COLLIDE"]
    );
}

#[test]
fn json_that_fails_early_is_read_as_yaml_and_the_rest_is_not_lost_silently() {
    assert_eq!(read("{a: yes}"), ["1: {\"a\":true}"]);
    assert_eq!(
        read("{\"a\":1} \n\n{\"b\":2,}\n---\nc: 3\n"),
        ["1: {\"a\":1}", "3: {\"b\":2}", "5: {\"c\":3}"]
    );
    assert_eq!(
        read("{\"a\":1}\n{\"b\":2,}\n{\"c\":3}\n"),
        ["1: {\"a\":1}", "2: {\"b\":2}", "3 TEXT_NOT_READ"]
    );
    assert_eq!(
        read("{\"a\":1}\n{\"b\":2}\n{\"c\":3,}\n"),
        [
            "1: {\"a\":1}",
            "2: {\"b\":2}",
            "line 3: invalid character '}' looking for beginning of object key string"
        ]
    );
    assert_eq!(read("\u{a0}{\"a\":1}"), ["1: {\"a\":1}"]);
}

#[test]
fn when_a_text_is_neither_the_fault_it_has_as_json_is_told() {
    assert_eq!(
        read("{\"a\":1} x"),
        [
            "1: {\"a\":1}",
            "line 1: invalid character 'x' looking for beginning of value"
        ]
    );
    assert_eq!(
        read("{\"a\":[1}"),
        ["line 1: invalid character '}' after array element"]
    );
    assert_eq!(read("{\"a\":1"), ["line 1: unexpected EOF"]);
    assert_eq!(
        read("\n{\"name\":\n1}"),
        ["line 2: expected value for key \"name\" to be a string, got 1"]
    );
}

#[test]
fn the_line_of_a_fault_is_counted_in_the_file() {
    assert_eq!(
        read("a: 1\n---\nb: 2\nc: d: e\n"),
        [
            "1: {\"a\":1}",
            "line 4: error converting YAML to JSON: yaml: mapping values are not allowed in this context"
        ]
    );
    assert_eq!(
        read("a: 1\n--- b\n"),
        ["line 2: invalid Yaml document separator: b"]
    );
}

#[test]
fn after_an_error_there_is_nothing_more() {
    let mut reader = FileReader::new(LIMITS);
    reader.push(b"- 1\n---\na: 1\n");
    reader.finish();
    assert_eq!(
        reader.next(),
        Err(ReadError {
            line: 1,
            kind: ReadErrorKind::NotAMapping("array")
        })
    );
    assert_eq!(reader.next(), Ok(ReadEvent::End));
}

#[test]
fn only_what_begins_with_a_brace_in_its_first_4096_bytes_is_json() {
    let file = |blanks: usize| " ".repeat(blanks) + "{\"a\":1}\n{\"b\":2}";
    let limits = ReadLimits::default();
    assert_eq!(
        read_with(limits, file(4095).as_bytes()),
        ["1: {\"a\":1}", "2: {\"b\":2}"]
    );
    assert_eq!(
        read_with(limits, file(4096).as_bytes()),
        ["1: {\"a\":1}", "2 TEXT_NOT_READ"]
    );
    assert_eq!(
        read("\u{feff}{\"a\":1}\n{\"b\":2}"),
        ["1: {\"a\":1}", "2 TEXT_NOT_READ"]
    );
}

#[test]
fn a_blob_has_bytes_up_to_the_limit() {
    let too_large = "a blob is larger than 100 bytes";
    let json = |len: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(len - 8));
    assert_eq!(read(&json(100)).len(), 1);
    assert_eq!(read(&json(100))[0].len(), 3 + 100);
    assert_eq!(read(&json(101)), [format!("line 1: {too_large}")]);
    let yaml = |len: usize| format!("a: 1\n---\nb: {}\n", "x".repeat(len - 4));
    assert_eq!(read(&yaml(100)).len(), 2);
    assert_eq!(
        read(&yaml(101))[1],
        format!("line 2: {too_large}").replace("line 2", "line 3")
    );
    // The line may be larger than the text.
    let controls = |count: usize| format!("{{\"a\":\"{}\"}}", "\u{2028}".repeat(count));
    assert_eq!(read(&controls(15)).len(), 1);
    assert_eq!(read(&controls(16)), [format!("line 1: {too_large}")]);
}

#[test]
fn a_blob_without_end_is_refused_with_bounded_memory() {
    let limits = ReadLimits {
        blob_bytes: 1024 * 1024,
        ..ReadLimits::default()
    };
    for (begin, piece) in [
        ("{\"a\":\"", "x"),
        ("a: ", "x"),
        ("{\"a\":1}\n", "\n"),
        ("---", " "),
    ] {
        let mut reader = FileReader::new(limits);
        reader.push(begin.as_bytes());
        let piece = piece.repeat(64 * 1024);
        let mut error = None;
        for _ in 0..40 {
            reader.push(piece.as_bytes());
            loop {
                match reader.next() {
                    Ok(ReadEvent::Blob(_)) => {}
                    Ok(ReadEvent::NeedInput | ReadEvent::End) => break,
                    Ok(ReadEvent::Notice(notice)) => panic!("{notice:?}"),
                    Err(found) => error = Some(found.kind),
                }
            }
            if error.is_some() {
                break;
            }
        }
        assert_eq!(
            error,
            Some(ReadErrorKind::TooLarge(limits.blob_bytes)),
            "{begin}"
        );
        assert!(
            reader.buffer.len() <= 4 * limits.blob_bytes,
            "{}",
            reader.buffer.len()
        );
    }
}

#[test]
fn a_reader_reads_another_file_after_a_file() {
    let mut reader = FileReader::new(LIMITS);
    reader.push(b"a: 1\n---\nb: [");
    reader.finish();
    while !matches!(reader.next(), Ok(ReadEvent::End)) {}
    reader.restart();
    assert_eq!(reader.next(), Ok(ReadEvent::NeedInput));
    let room = reader.room();
    assert!(room.len() >= MIN_ROOM);
    room[..7].copy_from_slice(b"{\"b\":2}");
    reader.filled(7);
    let line = b"{\"b\":2}\n".as_slice();
    assert_eq!(
        reader.next(),
        Ok(ReadEvent::Blob(CanonicalBlob { line, at: 1 }))
    );
    assert_eq!(reader.next(), Ok(ReadEvent::NeedInput));
    reader.filled(0);
    assert_eq!(reader.next(), Ok(ReadEvent::End));
}

#[test]
fn documents_are_counted_also_where_nothing_is_in_them() {
    for (text, documents) in [
        ("", 0),
        ("a: 1\n---\n# none\n---\n---\nb: 2\n", 3),
        ("{\"a\":1} null {\"b\":2}", 3),
        ("{\"a\":1}\n{\"b\":2,}\n", 2),
    ] {
        let mut reader = FileReader::new(ReadLimits::default());
        reader.push(text.as_bytes());
        reader.finish();
        while !matches!(reader.next().unwrap(), ReadEvent::End) {}
        assert_eq!(reader.documents(), documents, "{text}");
    }
}
