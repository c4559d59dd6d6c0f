//! `/all` against a second reading of the same directory, which shares no code with the first:
//! `tests/canonical`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use testing::corpus::{catalogs, folder, part_of_community};

use crate::support::{Folders, Server};

/// Numbers in every form, and letters that are escaped and that are not.
const FORMS: &str = r#"
{"schema":"x","integers":[0,-0,7,-7,9007199254740993,18446744073709551616,-9223372036854775809,1234567890123456789012345678901234567890]}
{"fractions":[0.1,-0.1,2.0,2.50,0.30000000000000004,0.1000000000000000055511151231257827,-0.0],"schema":"x"}
{"exponents":[1e0,1E0,1e+0,1e-0,1e5,1E+5,1.5e3,1e21,1e-7,4.9e-324,1.7976931348623157e308,-1e-400,123e00012],"schema":"x"}
{"schema":"x","z":{"b":1,"a":{"d":2,"c":[3,{"f":4,"e":5}]},"":6},"B":7,"é":8,"aa":9,"a":10}
{"schema":"x","text":"<&> \u2028\u2029 \u0000\u001f\b\f\n\r\t\/\\\" \u007f é 😀 \ud83d\ude00","key\n":true,"null":null,"no":false}
"#;

/// Compares `/all` with what the script prints, as both arrive: some catalogs are large.
fn compare(directory: &Path) -> Result<u64, String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/canonical/canonical.py");
    let mut python = Command::new("python3");
    let python = python
        .arg(script)
        .arg(directory)
        .stdout(Stdio::piped())
        .spawn();
    let mut python = python.map_err(|error| {
        format!("python3 is missing (Debian: apt-get install python3): {error}")
    })?;
    let folders = Folders::new();
    let server = Server::start(&folders, &[&format!("c={}", directory.display())]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream
        .write_all(b"GET /catalogs/c/api/v1/all HTTP/1.0\r\n\r\n")
        .unwrap();
    let mut ours = BufReader::with_capacity(1 << 20, stream);
    let mut end = Vec::new();
    while !end.ends_with(b"\r\n\r\n") {
        assert!(
            ours.read_until(b'\n', &mut end).unwrap() > 0,
            "an answer has a head"
        );
    }
    let mut theirs = python.stdout.take().unwrap();
    let mut wanted = vec![0; 1 << 20];
    let mut count = 0;
    let mut got = wanted.clone();
    loop {
        let length = theirs.read(&mut wanted).unwrap();
        if length == 0 {
            break;
        }
        if ours.read_exact(&mut got[..length]).is_err() || got[..length] != wanted[..length] {
            return Err(format!(
                "{}: it differs behind byte {count}",
                directory.display()
            ));
        }
        count += length as u64;
    }
    let status = python.wait().unwrap();
    if !status.success() || ours.read(&mut got).unwrap() > 0 {
        return Err(format!("{}: {status}, {count} bytes", directory.display()));
    }
    Ok(count)
}

#[test]
fn numbers_and_letters_in_every_form_are_as_they_are_written() {
    let folders = Folders::new();
    folders.write("c/b.json", FORMS);
    folders.write("c/a/z.json", r#"{"schema":"first"}"#);
    assert_eq!(
        compare(&folders.path("c")).map(|bytes| bytes > 500),
        Ok(true)
    );
}

#[test]
fn every_corpus_is_what_a_second_reading_makes_of_it() {
    let bytes = [
        (folder().join("community"), 84_992_232),
        (folder().join("community-objects"), 441_810_428),
        (folder().join("community-v4.18-yaml"), 11_434_973),
        (part_of_community(), 1_823_626),
    ];
    for directory in catalogs() {
        let (_, bytes) = bytes
            .iter()
            .find(|(known, _)| *known == directory)
            .expect("the length of each is known");
        assert_eq!(compare(&directory), Ok(*bytes), "{}", directory.display());
    }
}
