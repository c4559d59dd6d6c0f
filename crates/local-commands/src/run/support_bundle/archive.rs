//! An archive for those who help with a fault: what a server says of itself, its metrics, its last
//! log lines and its configuration, without secrets.
//!
//! This module removes secrets from the texts that are collected, and writes them.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::Timestamp;

use super::redaction::redact;

/// Maximum length in bytes of one file of the archive. The end of a longer one is kept.
pub(super) const MAX_FILE_BYTES: usize = 8 << 20;

/// GraphQL document of the state of a server.
pub(super) const STATUS_DOCUMENT: &str = "query SupportBundle { \
     server { version commit schemaDigest introspection trustedDocumentsOnly limits { name value unit } } \
     catalogs { name digest priority packages(first: 0) { totalCount } bundles(first: 0) { totalCount } \
     problemCounts { severity count } source { kind } } \
     catalogStatuses { name lastSuccess nextCheck lastFailure { at reason message } \
     verification { state reason { code message } } } }";

/// Words in names of metrics that count what was refused or given up.
const LIMIT_WORDS: [&str; 6] = [
    "refused",
    "rejected",
    "evictions",
    "dropped",
    "limited",
    "shed",
];

/// Text at the beginning of the archive.
const README: &str = "\
This archive describes a catalogql server for those who help with a fault.

Secrets were removed: passwords, tokens, keys, credentials in URLs, values of
environment variables that are no flags of catalogql. Names of catalogs, hosts,
images and paths are in it. Read it before you send it.
";

/// A file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BundleFile {
    name: String,
    text: String,
}

/// An archive in the making.
#[derive(Clone, Debug, Default)]
pub(super) struct SupportBundle {
    files: Vec<BundleFile>,
    /// Files that could not be collected with the reason, one line each.
    missing: Vec<String>,
}

impl SupportBundle {
    /// Adds a file without the secrets in its text. Of a text longer than [`MAX_FILE_BYTES`], the
    /// last lines are kept.
    pub(super) fn add(&mut self, name: impl Into<String>, text: &str) {
        let text = redact(text);
        self.files.push(BundleFile {
            name: name.into(),
            text: last_lines(&text, MAX_FILE_BYTES).to_owned(),
        });
    }

    /// Records that something could not be collected, and why.
    pub(super) fn add_missing(&mut self, name: &str, reason: &str) {
        self.missing.push(redact(&format!("{name}: {reason}")));
    }

    /// Adds the metrics of a server and, in a file of their own, those that show that a limit was
    /// reached.
    pub(super) fn add_metrics(&mut self, prefix: &str, metrics: &str) {
        self.add(format!("{prefix}metrics.txt"), metrics);
        self.add(
            format!("{prefix}limits-reached.txt"),
            &limits_reached(metrics),
        );
    }

    /// Returns what could not be collected, one line each.
    pub(super) fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Returns the name and the length in bytes of each file.
    pub(super) fn contents(&self) -> impl Iterator<Item = (&str, usize)> {
        self.files
            .iter()
            .map(|file| (file.name.as_str(), file.text.len()))
    }

    /// Writes the archive (`tar.gz`). All files are in one folder of this name.
    pub(super) fn write(&self, out: impl Write, folder: &str, at: Timestamp) -> io::Result<()> {
        let mut archive = tar::Builder::new(GzEncoder::new(out, Compression::default()));
        let mut append = |name: &str, text: &str| {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o600);
            header.set_mtime(at.as_second().try_into().unwrap_or_default());
            archive.append_data(&mut header, format!("{folder}/{name}"), text.as_bytes())
        };
        append("README.txt", README)?;
        for file in &self.files {
            append(&file.name, &file.text)?;
        }
        if !self.missing.is_empty() {
            append("missing.txt", &(self.missing.join("\n") + "\n"))?;
        }
        archive.into_inner()?.finish()?.flush()
    }
}

/// Reads the last [`MAX_FILE_BYTES`] of a text, such as a log, from the beginning of a line on.
/// Bytes that are no UTF-8 are replaced.
pub(super) fn read_last_lines(mut reader: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        let chunk = MAX_FILE_BYTES as u64;
        if reader.by_ref().take(chunk).read_to_end(&mut bytes)? == 0 {
            break;
        }
        // One byte more tells that the first line is not whole.
        let surplus = bytes.len().saturating_sub(MAX_FILE_BYTES + 1);
        bytes.drain(..surplus);
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(last_lines(&text, MAX_FILE_BYTES).to_owned())
}

/// Returns the end of a text with at most this many bytes, from the beginning of a line on.
fn last_lines(text: &str, max_bytes: usize) -> &str {
    if text.len() <= max_bytes {
        return text;
    }
    let from = text.ceil_char_boundary(text.len() - max_bytes);
    let end = &text[from..];
    end.split_once('\n').map_or(end, |(_, lines)| lines)
}

/// Returns the samples of metrics that count what was refused or given up, except those that are 0.
fn limits_reached(metrics: &str) -> String {
    let samples = metrics.lines().filter(|line| {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let value = line.rsplit(' ').next().unwrap_or_default();
        !line.starts_with('#')
            && LIMIT_WORDS.iter().any(|word| name.contains(word))
            && value.parse::<f64>().is_ok_and(|value| value > 0.0)
    });
    let mut text = String::new();
    for sample in samples {
        text.push_str(sample);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn an_archive_has_one_folder_with_the_files_and_what_is_missing() {
        let mut bundle = SupportBundle::default();
        bundle.add("log.txt", "password=hunter2 user=x\n");
        bundle.add_missing("metrics.txt", "http://me:secret@host/ does not answer");
        bundle.add_metrics("", "# HELP a_refused_total …\na_refused_total{code=\"X\"} 2\nb_refused_total 0\na_total 5\n");
        let mut bytes = Vec::new();
        bundle
            .write(&mut bytes, "support", Timestamp::UNIX_EPOCH)
            .expect("memory takes everything");

        let mut archive = tar::Archive::new(GzDecoder::new(&bytes[..]));
        let mut files = BTreeMap::new();
        for entry in archive.entries().expect("an archive") {
            let mut entry = entry.expect("an entry");
            let name = entry.path().expect("a path").display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).expect("a text");
            files.insert(name, text);
        }
        assert_eq!(files.remove("support/README.txt").as_deref(), Some(README));
        let expected = [
            (
                "support/limits-reached.txt",
                "a_refused_total{code=\"X\"} 2\n",
            ),
            ("support/log.txt", "password=REDACTED user=x\n"),
            (
                "support/metrics.txt",
                "# HELP a_refused_total …\na_refused_total{code=\"X\"} 2\nb_refused_total 0\na_total 5\n",
            ),
            (
                "support/missing.txt",
                "metrics.txt: http://REDACTED@host/ does not answer\n",
            ),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(files, expected.into());
    }

    #[test]
    fn the_end_of_a_long_log_is_kept_from_the_beginning_of_a_line_on() {
        let line = "x".repeat(1023) + "\n";
        let log = line.repeat(MAX_FILE_BYTES / 1024 + 3) + "the last line\n";
        let kept = read_last_lines(log.as_bytes()).expect("memory can be read");

        assert!(kept.len() <= MAX_FILE_BYTES && kept.len() > MAX_FILE_BYTES - 2048);
        assert!(kept.starts_with(&line) && kept.ends_with("\nthe last line\n"));
        assert_eq!(last_lines("äöü", 3), "ü");
        assert_eq!(last_lines("short\n", 6), "short\n");
    }
}
