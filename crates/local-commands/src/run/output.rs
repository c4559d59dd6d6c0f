//! Output for people: JSON on several lines, and numbers of problems.

use fbc::Catalog;
use fbc_read::Severity;
pub(super) use printing::{error, ignore_closed_pipe, json, stderr, stdout, table, warning};

/// Returns JSON text on several lines, its members in the order in which they are.
pub(super) fn indented(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    let mut depth = 0;
    let mut in_text = false;
    let mut is_escaped = false;
    let mut rest = json
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_control())
        .peekable();
    while let Some(byte) = rest.next() {
        if in_text {
            in_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            out.push(byte);
            continue;
        }
        if matches!(byte, b'}' | b']') {
            depth -= 1;
            new_line(&mut out, depth);
        }
        out.push(byte);
        match byte {
            b'"' => in_text = true,
            b'{' | b'[' => {
                if let Some(end) = rest.next_if(|next| matches!(next, b'}' | b']')) {
                    out.push(end);
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            b',' => new_line(&mut out, depth),
            b':' => out.push(b' '),
            _ => {}
        }
    }
    out.push(b'\n');
    out
}

fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * depth));
}

/// Counts the problems of one severity in a catalog, listed or not.
pub(super) fn count(catalog: &Catalog, severity: Severity) -> u64 {
    catalog.all_problems().counts.of_severity(severity)
}
