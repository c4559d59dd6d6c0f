//! The targets of `fuzz`, run for a moment over seeded mutations of what is well-formed.
//! docs/fuzzing.md says how to run them for longer, and how with coverage.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use fuzzing::{layers, packs, signatures, targets};
use serde_json::Value;

use crate::support::{Archive, SeededRandom, digest};

/// Number of inputs of each target, unless `CATALOGQL_FUZZ` is another number.
const INPUTS: u64 = 1_000;

/// Time that no input may take.
const TOO_LONG: Duration = Duration::from_secs(10);

/// Runs a target over its seeds and mutations of them. Panics with the input that panics or takes
/// too long.
fn run(seed: u64, target: impl Fn(&[u8]), seeds: &[&[u8]], words: &[&[u8]]) {
    let inputs = std::env::var("CATALOGQL_FUZZ")
        .map_or(INPUTS, |count| count.parse().expect("a number of inputs"));
    let mut seeded = SeededRandom::new(seed);
    for seed in seeds {
        target(seed);
    }
    for _ in 0..inputs {
        let input = seeded.mutate(seeds, words);
        let start = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(|| target(&input)));
        assert!(
            ended.is_ok(),
            "panicked at the input {:?}",
            String::from_utf8_lossy(&input)
        );
        assert!(
            start.elapsed() < TOO_LONG,
            "took too long over {:?}",
            String::from_utf8_lossy(&input)
        );
    }
}

const RANGE_SEEDS: [&[u8]; 6] = [
    b">=1.0.0 <2.0.0",
    b"1.2.x || >3.0.0 !=3.1.0",
    b"~1.2.3 || ^2",
    b"1.0.0 - 2.3",
    b">=1.2.x, <2",
    b"!1.0.0-rc.1+b",
];
const RANGE_WORDS: [&[u8]; 16] = [
    b"||",
    b" ",
    b">=",
    b"<",
    b"~",
    b"^",
    b"!=",
    b"x",
    b"*",
    b".",
    b"1",
    b"0",
    b"-rc.1",
    b" - ",
    b"v",
    b"18446744073709551616",
];

#[test]
fn ranges_of_both_grammars_hold_for_any_text() {
    run(1, targets::blang, &RANGE_SEEDS, &RANGE_WORDS);
    run(2, targets::masterminds, &RANGE_SEEDS, &RANGE_WORDS);
}

const RULE_SEEDS: [&[u8]; 6] = [
    b"properties.exists(p, p.type == 'olm.package' && semver_compare(p.value.version, '1.0.0') > 0)",
    b"properties.filter(p, has(p.value.kind)).map(p, p.value.kind) == ['K']",
    b"{'a': [1, 2u, 3.5, b'x']}.a.size() == 4 ? true : !false",
    b"properties.all(p, p.type.matches('^(olm|x)')) || 1 in [1, 2]",
    b"timestamp('2020-01-01T00:00:00Z').getFullYear() + int('1') == -2 * (3 % 2)",
    b"duration('1h') < duration('59m')",
];
const RULE_WORDS: [&[u8]; 16] = [
    b"properties",
    b".exists(p, ",
    b".map(p, ",
    b".value",
    b"[0]",
    b"(",
    b")",
    b"{",
    b"}",
    b"!",
    b"-",
    b" in ",
    b" == ",
    b" && ",
    b"'\\u0041'",
    b"9223372036854775807",
];
const CONSTRAINT_SEEDS: [&[u8]; 3] = [
    br#"{"failureMessage":"m","any":{"constraints":[{"gvk":{"group":"g","version":"v","kind":"K"}},{"cel":{"rule":"true"}}]}}"#,
    br#"{"all":{"constraints":[{"package":{"packageName":"p","versionRange":">=1.0.0"}},{"not":{"constraints":[]}}]}}"#,
    br#"{"package":{"packageName":"p","versionRange":"1.x"}}"#,
];
const CONSTRAINT_WORDS: [&[u8]; 8] = [
    b"null",
    b"{",
    b"}",
    br#""not":{"constraints":["#,
    b"]}",
    br#""cel":"#,
    br#""GVK":"#,
    b"1",
];

#[test]
fn constraints_and_their_rules_hold_for_any_text() {
    run(7, targets::rules, &RULE_SEEDS, &RULE_WORDS);
    run(
        8,
        targets::constraints,
        &CONSTRAINT_SEEDS,
        &CONSTRAINT_WORDS,
    );
}

#[test]
fn nothing_unsigned_and_nothing_signed_for_another_image_is_accepted() {
    let digest = digest(signatures::MANIFEST);
    let payload = format!(
        r#"{{"critical":{{"type":"cosign container image signature","image":{{"docker-manifest-digest":"{digest}"}},"identity":{{"docker-reference":"quay.io/example/catalog"}}}},"optional":{{"timestamp":1,"creator":"x"}}}}"#
    );
    let hex = digest.trim_start_matches("sha256:");
    let statement = format!(
        r#"{{"_type":"https://in-toto.io/Statement/v1","subject":[{{"digest":{{"sha256":"{hex}"}}}}],"predicateType":"https://sigstore.dev/cosign/sign/v1","predicate":{{}}}}"#
    );
    let seeds: [&[u8]; 6] = [
        payload.as_bytes(),
        statement.as_bytes(),
        br#"{"SignedEntryTimestamp":"MEUC","Payload":{"body":"e30=","integratedTime":1,"logIndex":2,"logID":"00"}}"#,
        br#"{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{"certificate":{"rawBytes":"MIIB"},"tlogEntries":[{"logIndex":"1","logId":{"keyId":"AA=="},"integratedTime":"1","inclusionPromise":{"signedEntryTimestamp":"MEUC"},"inclusionProof":{"logIndex":"0","treeSize":"1","hashes":["AA=="],"checkpoint":{"envelope":"a\n1\nAA==\n\n"}},"canonicalizedBody":"e30="}]},"dsseEnvelope":{"payload":"e30=","payloadType":"application/vnd.in-toto+json","signatures":[{"sig":"MEUC"}]}}"#,
        b"-----BEGIN CERTIFICATE-----\nMIIBAjCB\n-----END CERTIFICATE-----\n",
        b"\xa3\x01\x90\x0d\x03\x00\x00\x0b\x01\xc2\xc0\x5c\x04\x00\x01",
    ];
    let words: [&[u8]; 12] = [
        b"{",
        b"}",
        b"[]",
        b"null",
        br#""sha256":"#,
        br#""type":"#,
        b"\"x\":1,",
        b"MEUCIQ==",
        b"\x30\x82",
        b"\xa3",
        b"-----BEGIN CERTIFICATE-----\n",
        b"99999999999999999999",
    ];
    run(9, signatures::signatures, &seeds, &words);
    for signed in [&payload, &statement] {
        assert!(signatures::is_signed(signed.as_bytes()), "{signed}");
    }
}

#[test]
fn selectors_hold_for_any_text() {
    let seeds: [&[u8]; 4] = [
        b"a=b,c!=d",
        b"a in (b,c),!d",
        b"a.io/b notin (1)",
        b"x>5,y<6,z",
    ];
    run(
        3,
        targets::selectors,
        &seeds,
        &[
            b",", b"(", b")", b"in", b"notin", b"!", b"=", b"==", b" ", b"a", b"\0", b"/",
        ],
    );
}

const JSON: &[u8] = br#"{"schema":"olm.bundle","name":"p.v1","package":"p","image":"i","relatedImages":[{"name":"n","image":"m"}],
"properties":[{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}},{"type":"x","value":[1.50,-0,1e400,null]}]}"#;
const YAML: &[u8] = b"---\nschema: olm.channel\nname: a\npackage: p\nentries:\n- name: p.v1\n  skips: [p.v0, \"p\\u00e9\"]\n\
- &x {name: p.v2, replaces: p.v1, skipRange: '<1.0.0'}\n- *x\ntext: |\n  line\n  ---\n...\n---\n# none\n---\nschema: olm.package\nname: p\n";

#[test]
fn files_hold_for_any_bytes() {
    let words: [&[u8]; 20] = [
        b"\n",
        b": ",
        b"- ",
        b"---\n",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b"\"",
        b"'",
        b"&a ",
        b"*a",
        b"<<: ",
        b"!!str ",
        b"|\n",
        b"#",
        b"\xef\xbb\xbf",
        b"\xff",
        b"\\ud800",
    ];
    run(4, targets::files, &[JSON, YAML], &words);
}

#[test]
fn layers_hold_for_any_bytes() {
    // A line is an entry: its kind, its name, its target, its content.
    let entries = b"5configs\n0configs/a\t\tone\n0configs/b/c\t\ttwo\n1configs/d\tconfigs/a\n2configs/l\tb/c\n\
        0configs/.wh.a\n0configs/b/.wh..wh..opq\n3dev/null\n0etc/passwd\t\troot\nx\t\t19 path=configs/e\n\n0f\t\tthree";
    let links = b"5configs/b\n2configs/l\t/configs/b\n2configs/m\tl/../../x\n1configs/n\tconfigs/m\n2configs\t/etc\n0.wh.configs\n\
        0configs/b\t\t1\n0configs/b/c\t\t2\n5configs/l\n0configs/l/x";
    let archive = Archive::default()
        .folder("configs")
        .file("configs/a", "one")
        .link("configs/l", "a");
    let coded = [
        archive.clone().plain(),
        archive.clone().gzip(),
        archive.zstd(),
    ];
    let words: [&[u8]; 20] = [
        b"configs/",
        b"\n",
        b"\t",
        b"/",
        b"..",
        b".",
        b".wh.",
        b".wh..wh..opq",
        b"\0",
        b"\xff",
        b"0configs/a\t\tx\n",
        b"L",
        b"K",
        b"x",
        b"g",
        b"S",
        b"1",
        b"2",
        b"5",
        b"configs/l/x",
    ];
    let seeds = [&entries[..], links, &coded[0], &coded[1], &coded[2]];
    run(7, layers::layers, &seeds, &words);
}

#[test]
fn packs_hold_for_any_bytes() {
    // Two blobs, deltas of the first one by its offset and by its id, and one of a delta.
    let deltas = b"\x03\0\x05hello\x03\0\x01x\x06\0\x06\x05\x06\x90\x05\x01!\x07\0\x06\x05\x06\x90\x05\x01?\x06\x02\x06\x06\x07\x90\x06\x01!";
    let kinds = b"\x01\0\x2etree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n\x02\0\0\x04\0\x0fobject 4b825dc6\x03\0\0";
    assert_eq!(packs::number_of_objects(deltas), Some(5));
    assert_eq!(packs::number_of_objects(kinds), Some(4));
    // A pack of one blob, without its hash.
    let whole = b"PACK\0\0\0\x02\0\0\0\x01\x31\x78\x01\x01\x01\0\xfe\xffa\0\x62\0\x62";
    let words: [&[u8]; 12] = [
        b"\x03\0\x01a",
        b"\x06\0\x06\x05\x06\x90\x05\x01!",
        b"\x07\0\x06\x05\x06\x90\x05\x01!",
        b"\x06",
        b"\x07",
        b"\x0e",
        b"\x80",
        b"\xff\xff\xff\xff",
        b"\xff\xff\xff\x7f",
        b"\x90\x01",
        b"\xb0\0\x01",
        b"\0",
    ];
    run(10, packs::packs, &[deltas, kinds, whole], &words);
}

#[test]
fn stored_lines_hold_for_any_bytes() {
    let package = br#"{"defaultChannel":"a","name":"p","schema":"olm.package"}
{"entries":[{"name":"p.v1","replaces":"p.v0","skipRange":"<1.0.0","skips":["p.v2"]}],"name":"a","package":"p","schema":"olm.channel"}
{"entries":[{"message":"m","reference":{"name":"p.v1","schema":"olm.bundle"}}],"package":"p","schema":"olm.deprecations"}
"#;
    let bundle = br#"{"image":"i","name":"p.v1","package":"p","properties":[{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}},{"type":"olm.constraint","value":{"all":{"constraints":[]},"failureMessage":"f"}}],"relatedImages":[{"image":"m","name":"n"}],"schema":"olm.bundle"}
"#;
    let words: [&[u8]; 12] = [
        b"\n", b"{", b"}", b"[", b"]", b",", b":", b"\"", b"null", b"1", b"\\u0000", b"{}",
    ];
    run(5, targets::lines, &[package, bundle], &words);
}

#[test]
fn ids_and_cursors_hold_for_any_text() {
    let page = "{ nodes { id } pageInfo { startCursor endCursor } }";
    let answer = targets::execute(
        &format!("{{ catalogs {{ id }} packages {page} bundles {page} }}"),
        "",
    );
    let mut texts = Vec::new();
    let mut gather = vec![&answer["data"]];
    while let Some(value) = gather.pop() {
        match value {
            Value::String(text) => texts.push(text.clone()),
            Value::Array(items) => gather.extend(items),
            Value::Object(fields) => gather.extend(fields.values()),
            _ => {}
        }
    }
    assert_eq!(texts.len(), 2 + (4 + 2) + (4 + 2), "{answer}");
    let decoded: Vec<_> = texts
        .iter()
        .map(|text| BASE64_URL_SAFE_NO_PAD.decode(text).expect("ids are base64"))
        .collect();
    let seeds: Vec<&[u8]> = texts
        .iter()
        .map(String::as_bytes)
        .chain(decoded.iter().map(Vec::as_slice))
        .collect();
    run(
        6,
        targets::ids,
        &seeds,
        &[
            b"A", b"_", b"-", b"=", b"/", b"\0", b"\x01", b"\xff", b"one", b"p.v1", b"2.0.0",
        ],
    );
}
