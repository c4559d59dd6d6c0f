//! Problems as a SARIF log (OASIS, 2.1.0), which code scanning reads.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use build_info::VERSION;
use serde_json::{Value, json};

use super::Finding;
use crate::run::output;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Prints a log of one run. Rules are the codes of problems.
pub(in crate::run) fn print(out: &mut impl Write, findings: &[Finding<'_>]) -> io::Result<()> {
    let rules: BTreeMap<_, _> = findings
        .iter()
        .map(|finding| (finding.code, finding.level()))
        .collect();
    let rules = rules
        .iter()
        .map(|(code, level)| json!({ "id": code, "defaultConfiguration": { "level": level } }));
    let driver =
        json!({ "name": "catalogql", "version": VERSION, "rules": rules.collect::<Vec<_>>() });
    let results: Vec<_> = findings.iter().map(result).collect();
    let run = json!({ "tool": { "driver": driver }, "results": results });
    output::json(
        out,
        &json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run] }),
    )
}

fn result(finding: &Finding<'_>) -> Value {
    let mut location = json!({});
    if let Some(file) = &finding.file {
        location["physicalLocation"] = json!({ "artifactLocation": { "uri": uri(file) } });
        if let Some(line) = finding.line {
            location["physicalLocation"]["region"] = json!({ "startLine": line });
        }
    }
    let logical: Vec<_> = finding
        .owners()
        .map(|(kind, name)| json!({ "name": name, "kind": kind }))
        .collect();
    if !logical.is_empty() {
        location["logicalLocations"] = json!(logical);
    }
    let mut result = json!({ "ruleId": finding.code, "level": finding.level(), "message": { "text": finding.text() } });
    if location != json!({}) {
        result["locations"] = json!([location]);
    }
    result
}

/// Returns a path as a relative reference (RFC 3986 §4.2).
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
