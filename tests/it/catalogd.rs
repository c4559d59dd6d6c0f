//! The answers that catalogd gave to requests, recorded from its own code, against ours.
//!
//! Where ours differ on purpose stands here by name, with what differs and why.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::net::SocketAddr;

use fbc_grammar::Digest;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

mod differences;

use differences::DIFFERENT;

use crate::support::{Folders, HttpResponse, Server, eventually, exchange, get, send_request};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/golden/http");

/// What catalogd makes of the catalog, but for numbers, which are as they are written.
const EXACT: &str = include_str!("../testdata/golden/http/golden-main.exact.jsonl");

/// The digest of what catalogd makes of it.
const INEXACT: &str = "1ccb0d8a60d6e78eae5ba5eb3c10eabfb1b98b4072c8f0ded9631ebd9380537f";

/// Exact numbers make the catalog five bytes shorter: lengths and places that are counted from its
/// end, as they were recorded and as they are.
const LENGTHS: [(&str, &str); 4] = [
    ("10641", "10636"),
    ("10640", "10635"),
    ("10591", "10586"),
    ("\"459\"", "\"454\""),
];

struct Client {
    address: SocketAddr,
    /// When each catalog was last modified.
    modified: BTreeMap<&'static str, Timestamp>,
}

const NAMES: [(&str, &str); 4] = [
    ("{{CATALOG}}", "golden-main"),
    ("{{CATALOG_ONE}}", "golden-one"),
    ("{{CATALOG_EMPTY}}", "golden-empty"),
    ("{{CATALOG_MISSING}}", "golden-missing"),
];

impl Client {
    fn new(address: SocketAddr) -> Self {
        let modified = |name| {
            let text = send_request(
                address,
                "HEAD",
                &format!("/catalogs/{name}/api/v1/all"),
                &[],
            )
            .header("last-modified")?;
            Some(
                httpdate::parse_http_date(&text)
                    .expect("it is a date")
                    .try_into()
                    .expect("it is in range"),
            )
        };
        let modified = NAMES
            .iter()
            .filter_map(|(token, name)| Some((*token, modified(name)?)))
            .collect();
        Self { address, modified }
    }

    /// A case with its tokens replaced.
    fn expand(&self, line: &str) -> Value {
        let case: Value = serde_json::from_str(line).expect("a case is JSON");
        let target = case["raw"].as_str().or(case["target"].as_str()).unwrap();
        let token = NAMES
            .iter()
            .find(|(token, _)| target.contains(token))
            .map_or("{{CATALOG}}", |(token, _)| token);
        let at = *self
            .modified
            .get(token)
            .unwrap_or(&self.modified["{{CATALOG}}"]);
        let mut line = line.replace("{{HOST}}", &self.address.to_string());
        for (token, seconds, form) in [
            ("{{LAST_MODIFIED}}", 0, "%a, %d %b %Y %H:%M:%S GMT"),
            ("{{EARLIER}}", -3600, "%a, %d %b %Y %H:%M:%S GMT"),
            ("{{LATER}}", 3600, "%a, %d %b %Y %H:%M:%S GMT"),
            ("{{EARLIER_1S}}", -1, "%a, %d %b %Y %H:%M:%S GMT"),
            ("{{LATER_1S}}", 1, "%a, %d %b %Y %H:%M:%S GMT"),
            ("{{LAST_MODIFIED_RFC850}}", 0, "%A, %d-%b-%y %H:%M:%S GMT"),
            ("{{EARLIER_RFC850}}", -3600, "%A, %d-%b-%y %H:%M:%S GMT"),
            ("{{LAST_MODIFIED_ASCTIME}}", 0, "%a %b %e %H:%M:%S %Y"),
            ("{{EARLIER_ASCTIME}}", -3600, "%a %b %e %H:%M:%S %Y"),
            ("{{LAST_MODIFIED_ISO}}", 0, "%Y-%m-%dT%H:%M:%SZ"),
            ("{{LAST_MODIFIED_UTC}}", 0, "%a, %d %b %Y %H:%M:%S UTC"),
        ] {
            let at = (at + SignedDuration::from_secs(seconds)).to_zoned(TimeZone::UTC);
            line = line.replace(token, &at.strftime(form).to_string());
        }
        let lower = at
            .to_zoned(TimeZone::UTC)
            .strftime("%a, %d %b %Y %H:%M:%S GMT")
            .to_string()
            .to_lowercase();
        line = line.replace("{{LAST_MODIFIED_LOWER}}", &lower);
        for (token, name) in NAMES {
            line = line.replace(token, name);
        }
        for (recorded, exact) in LENGTHS {
            line = line.replace(recorded, exact);
        }
        while let Some((before, rest)) = line.split_once("{{REPEAT:") {
            let (repeat, after) = rest.split_once("}}").unwrap();
            let (text, times) = repeat.split_once(':').unwrap();
            line = format!("{before}{}{after}", text.repeat(times.parse().unwrap()));
        }
        serde_json::from_str(&line).expect("a case is JSON")
    }

    fn send(&self, case: &Value) -> HttpResponse {
        let is_head = case["method"] == "HEAD";
        if let Some(raw) = case["raw"].as_str() {
            return exchange(self.address, raw.as_bytes(), is_head);
        }
        let headers = case["headers"].as_object().unwrap();
        let has = |name: &str| headers.keys().any(|key| key.eq_ignore_ascii_case(name));
        let mut request = format!(
            "{} {} HTTP/{}\r\n",
            case["method"].as_str().unwrap(),
            case["target"].as_str().unwrap(),
            case["version"].as_str().unwrap_or("1.1")
        );
        let mut add = |name: &str, value: &str| request.extend([name, ": ", value, "\r\n"]);
        if !has("host") {
            add("Host", &self.address.to_string());
        }
        for (name, value) in headers {
            for value in texts(value) {
                add(name, value);
            }
        }
        let body = case["body"].as_str();
        if let Some(body) = body.filter(|_| !has("content-length") && !has("transfer-encoding")) {
            add("Content-Length", &body.len().to_string());
        }
        exchange(
            self.address,
            format!("{request}\r\n{}", body.unwrap_or_default()).as_bytes(),
            is_head,
        )
    }
}

/// The values of a header: none, one or several.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(values) => values.iter().filter_map(Value::as_str).collect(),
        value => value.as_str().into_iter().collect(),
    }
}

fn decoded(answer: &HttpResponse) -> Vec<u8> {
    let mut body = Vec::new();
    match answer.header("content-encoding").as_deref() {
        Some("gzip") => flate2::read::GzDecoder::new(&*answer.body)
            .read_to_end(&mut body)
            .expect("it is gzip"),
        Some("zstd") => zstd::Decoder::new(&*answer.body)
            .unwrap()
            .read_to_end(&mut body)
            .expect("it is zstd"),
        _ => return answer.body.clone(),
    };
    body
}

/// What differs between a recorded answer and ours: `status`, `body` and names of headers.
fn differences(recorded: &Value, answer: &HttpResponse) -> BTreeSet<String> {
    let mut different = BTreeSet::new();
    let status = recorded["status"].as_u64().unwrap();
    if status != u64::from(answer.status) {
        different.insert("status".to_owned());
    }
    let boundary = answer
        .header("content-type")
        .and_then(|value| Some(value.split_once("boundary=")?.1.to_owned()));
    let with_token = |text: &str| {
        boundary
            .as_ref()
            .map_or(text.to_owned(), |one| text.replace(one, "{{BOUNDARY}}"))
    };
    let headers: &Map<String, Value> = recorded["headers"].as_object().unwrap();
    let wanted: BTreeMap<_, _> = headers
        .iter()
        .map(|(name, value)| (name.to_lowercase(), texts(value).join(", ")))
        .collect();
    // How long a compressed body is, and whether its length is told before or after, says nothing
    // of what it is.
    let is_coded = wanted.contains_key("content-encoding");
    let names: BTreeSet<_> = wanted
        .keys()
        .chain(answer.headers.iter().map(|(name, _)| name))
        .collect();
    for name in names {
        let skipped = match name.as_str() {
            "date" | "connection" | "transfer-encoding" => true,
            "content-length" => {
                is_coded
                    || boundary.is_some()
                    || status == 307
                    || !wanted.contains_key(name) && status < 300
            }
            _ => false,
        };
        if !skipped
            && wanted.get(name).cloned() != answer.header(name).map(|value| with_token(&value))
        {
            different.insert(name.clone());
        }
    }
    let body = decoded(answer);
    let same = match recorded["body"]["text"].as_str() {
        Some(text) => with_token(&String::from_utf8_lossy(&body)) == exact(text),
        None if recorded["body"]["sha256"] == INEXACT => body == EXACT.as_bytes(),
        None => {
            Digest::new(Sha256::digest(&body).into()).hex()
                == recorded["body"]["sha256"].as_str().unwrap()
        }
    };
    if !same {
        different.insert("body".to_owned());
    }
    different
}

/// The status is one that the `OpenAPI` document has for this request, when it has the request.
fn documented(document: &Value, case: &Value, status: u16) {
    let target = case["target"].as_str().unwrap();
    let method = case["method"].as_str().unwrap().to_lowercase();
    let path = target.split('?').next().unwrap();
    let is_like = |route: &&String| {
        let mut path = path.split('/');
        let mut route = route.split('/');
        path.by_ref()
            .zip(route.by_ref())
            .all(|(own, other)| own == other || other.starts_with('{') && !own.is_empty())
            && path.next().is_none()
            && route.next().is_none()
    };
    let paths = document["paths"].as_object().unwrap();
    if let Some(operation) = paths
        .keys()
        .find(is_like)
        .and_then(|route| paths[route].get(&method))
    {
        assert!(
            operation["responses"].get(status.to_string()).is_some(),
            "{}: {status} is not documented",
            case["name"]
        );
    }
}

/// A recorded body with numbers as they are written.
fn exact(text: &str) -> String {
    let number_lines = EXACT.lines().filter(|line| line.contains("acme.numbers"));
    let mut lines: Vec<_> = text.split('\n').map(str::to_owned).collect();
    for exact in number_lines {
        let name = if exact.contains("\"ints\"") {
            "\"ints\""
        } else {
            "\"floats\""
        };
        if let Some(line) = lines
            .iter_mut()
            .find(|line| line.contains("acme.numbers") && line.contains(name))
        {
            exact.clone_into(line);
        }
    }
    lines.join("\n")
}

#[test]
fn a_large_catalog_is_compressed_in_the_background_and_stays_so() {
    let folders = Folders::new();
    let blob = |number| {
        format!(
            "{{\"name\":\"{number}\",\"schema\":\"x\",\"text\":\"{}\"}}\n",
            "y".repeat(1000)
        )
    };
    let lines: String = (0..1000).map(blob).collect();
    folders.write("c/catalog.json", &lines);
    let gzip = [("Accept-Encoding", "gzip")];
    let mut first = None;
    for delay in ["0", "1h"] {
        let server = Server::start(&folders, &[&folders.text("c"), "--compress-after", delay]);
        let plain = send_request(server.address, "GET", "/catalogs/c/api/v1/all", &[]);
        let answer = eventually(|| {
            let answer = send_request(server.address, "GET", "/catalogs/c/api/v1/all", &gzip);
            answer
                .header("content-encoding")
                .is_some()
                .then_some(answer)
        });
        assert_eq!(
            (
                decoded(&answer) == lines.as_bytes(),
                plain.body == lines.as_bytes()
            ),
            (true, true)
        );
        let tag = plain.header("etag").unwrap();
        assert_eq!(
            answer.header("etag"),
            Some(format!("{}-gzip\"", tag.trim_end_matches('"')))
        );
        // Tags, times and bytes are the same after a restart.
        let seen = (
            answer.header("etag"),
            answer.header("last-modified"),
            answer.body,
        );
        assert_eq!(first.get_or_insert_with(|| seen.clone()), &seen);
    }
}

/// The case of `/`, where catalogd has nothing and we have the explorer, or say how to build it.
const ROOT: &str = "paths/root";

#[test]
fn every_recorded_answer_of_catalogd_is_ours_but_for_those_named_here() {
    let folders = Folders::new();
    folders.write("empty/catalog.json", "");
    let empty = folders.text("empty");
    let sources = [
        format!("golden-main={GOLDEN}/catalog"),
        format!("golden-one={GOLDEN}/catalog-one"),
        format!("golden-empty={empty}"),
        // As where catalogd runs: not on a loopback address.
        "--allowed-host=*".to_owned(),
    ];
    let server = Server::start(
        &folders,
        &sources.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let client = Client::new(server.address);
    let (status, document) = get(server.address, "/openapi.json");
    assert_eq!(status, 200);
    let document: Value = serde_json::from_str(&document).expect("the document is JSON");
    let cases =
        std::fs::read_to_string(format!("{GOLDEN}/requests.jsonl")).expect("the cases are there");
    let expected_differences: BTreeMap<_, _> = DIFFERENT
        .iter()
        .flat_map(|(_, cases)| cases.iter().copied())
        .collect();
    let mut unseen: BTreeSet<_> = expected_differences.keys().copied().collect();
    let mut faults = Vec::new();
    let mut equal = 0;
    for line in cases.lines() {
        let case = client.expand(line);
        let name = case["name"].as_str().unwrap();
        let answer = client.send(&case);
        if name == ROOT {
            assert_eq!(answer.status, 200, "{name}");
            continue;
        }
        let mut different = differences(&case["response"], &answer);
        // Ours alone has tags; and a refused method is told which are not.
        if let Some(tag) = answer.header("etag") {
            assert!(
                different.remove("etag")
                    && tag.len() >= 66
                    && tag.trim_start_matches("W/").starts_with('"'),
                "{name}: {tag}"
            );
        }
        if answer.status == 405 {
            let allowed = if name.contains("graphql") {
                "POST"
            } else {
                "GET, HEAD"
            };
            assert!(
                different.remove("allow") && answer.header("allow").as_deref() == Some(allowed),
                "{name}"
            );
        }
        // And clients of its GraphQL are told what follows it.
        if different.remove("deprecation") {
            assert!(
                different.remove("link")
                    && case["target"].as_str().unwrap().contains("/api/v1/graphql"),
                "{name}"
            );
        }
        let expected = expected_differences.get(name).copied().unwrap_or_default();
        unseen.remove(name);
        equal += usize::from(different.is_empty());
        documented(&document, &case, answer.status);
        let different = different.into_iter().collect::<Vec<_>>().join(" ");
        if different != expected {
            let body = String::from_utf8_lossy(&answer.body)
                .chars()
                .take(100)
                .collect::<String>();
            faults.push(format!(
                "{name}: {different:?}, expected {expected:?}: {} {body:?}",
                answer.status
            ));
        }
    }
    assert!(
        faults.is_empty(),
        "{}\n{} of {}",
        faults.join("\n"),
        faults.len(),
        cases.lines().count()
    );
    assert!(unseen.is_empty(), "there are no such cases: {unseen:?}");
    println!("{equal} of {} answers are the same", cases.lines().count());
}

/// catalogd's routes are those of Go's `ServeMux`, which compares decoded segments.
#[test]
fn a_route_is_found_however_the_letters_of_its_path_are_encoded() {
    let folders = Folders::new();
    folders.write("c/catalog.json", "{\"name\":\"a\",\"schema\":\"x\"}\n");
    let server = Server::start(&folders, &[&format!("a.b={}", folders.text("c"))]);
    let all = get(server.address, "/catalogs/a.b/api/v1/all");
    assert_eq!(all, (200, "{\"name\":\"a\",\"schema\":\"x\"}\n".to_owned()));
    for path in [
        "/catalogs/a.b/api/v1/%61ll",
        "/%63atalogs/%61%2eb/%61%70%69/v%31/all",
        "/catalogs/a.b/api/v1/met%61s?schema=%78",
        "/catalogs/a.b/api/v1/%6Detas",
    ] {
        assert_eq!(get(server.address, path), all, "{path}");
    }
    for path in [
        "/catalogs/a.b%2fapi/v1/all",
        "/catalogs/a.b/api%2Fv1/all",
        "/catalogs/a.b/api/v1/%2561ll",
    ] {
        assert_ne!(get(server.address, path).0, 200, "{path}");
    }
    // The alpha dialect, which answers `POST` alone.
    assert_eq!(get(server.address, "/catalogs/a.b/api/v1/%67raphql").0, 405);
}
