//! Reads the files of a bundle one by one, and keeps the parts that rendering needs.

use std::collections::BTreeSet;

use base64::prelude::{BASE64_STANDARD, Engine};
use fbc_read::json::encode::write_html_escaped;
use fbc_read::{FileReader, ReadEvent, ReadLimits};

use super::apis::{self, BundleApi};
use super::{BundleError, BundleFile, MAX_FILE_BYTES, UnreadFiles, is_csv, property};
use crate::value::{BlobValue, MAX_DEPTH};

/// Number of bytes that may still be read, of the files of one bundle or several. A file counts by
/// its canonical line, in which the aliases of YAML are resolved.
#[derive(Debug)]
pub struct RenderBudget(usize);

/// A file cannot be read.
enum DocumentError {
    /// It has no object, for this reason.
    Unreadable(String),
    /// The budget is spent.
    TooLarge,
}

/// Parts of the manifests of a bundle that rendering needs. The manifests themselves are dropped
/// one by one: together they may be large.
pub(super) struct ParsedManifests {
    pub(super) csv: BlobValue,
    /// APIs of custom resource definitions.
    pub(super) defined: BTreeSet<BundleApi>,
    /// An `olm.bundle.object` for each manifest, if the caller needs them.
    pub(super) objects: Vec<BlobValue>,
}

impl DocumentError {
    fn into_text(self) -> String {
        match self {
            Self::Unreadable(reason) => reason,
            Self::TooLarge => BundleError::TooLarge.to_string(),
        }
    }
}

impl RenderBudget {
    /// Creates a budget of a number of bytes.
    pub fn new(bytes: usize) -> Self {
        Self(bytes)
    }

    /// Creates a budget without a limit.
    pub fn unlimited() -> Self {
        Self(usize::MAX)
    }

    fn spend(&mut self, bytes: usize) -> Result<(), DocumentError> {
        self.0 = self.0.checked_sub(bytes).ok_or(DocumentError::TooLarge)?;
        Ok(())
    }
}

/// Reads the first object of a file, JSON or YAML; the error is a message.
pub(crate) fn first_document(bytes: &[u8]) -> Result<BlobValue, String> {
    read_document(bytes, &mut RenderBudget::unlimited()).map_err(DocumentError::into_text)
}

/// Reads a rendered blob by the rules for files of catalogs: it can be read from the file that it
/// is written to.
pub(crate) fn rendered_blob(json: &str) -> Result<BlobValue, String> {
    // The reader takes any other text for YAML, and numbers beyond the range of a double for
    // strings.
    BlobValue::parse(json).map_err(|error| error.to_string())?;
    let limits = ReadLimits {
        depth: MAX_DEPTH,
        ..ReadLimits::default()
    };
    read_within(json.as_bytes(), limits, &mut RenderBudget::unlimited())
        .map_err(DocumentError::into_text)
}

fn read_document(bytes: &[u8], budget: &mut RenderBudget) -> Result<BlobValue, DocumentError> {
    let limits = ReadLimits {
        blob_bytes: MAX_FILE_BYTES,
        depth: MAX_DEPTH,
        ..ReadLimits::default()
    };
    read_within(bytes, limits, budget)
}

fn read_within(
    bytes: &[u8],
    limits: ReadLimits,
    budget: &mut RenderBudget,
) -> Result<BlobValue, DocumentError> {
    let unreadable = |reason: &dyn ToString| DocumentError::Unreadable(reason.to_string());
    let mut reader = FileReader::new(limits);
    reader.push(bytes);
    reader.finish();
    loop {
        match reader.next().map_err(|error| unreadable(&error))? {
            ReadEvent::Blob(blob) => {
                // Before the text is parsed, because values take several times its bytes.
                budget.spend(blob.line.len())?;
                let text = std::str::from_utf8(blob.line).map_err(|error| unreadable(&error))?;
                return BlobValue::parse(text).map_err(|error| unreadable(&error));
            }
            ReadEvent::Notice(_) => {}
            ReadEvent::NeedInput | ReadEvent::End => return Err(unreadable(&"there is no object")),
        }
    }
}

/// Reads the manifests in the order of their names: objects with a kind, and of several CSVs the
/// first.
pub(super) fn manifests(
    files: &[BundleFile],
    with_objects: bool,
    budget: &mut RenderBudget,
    warnings: &mut Vec<String>,
) -> Result<ParsedManifests, BundleError> {
    let mut csv = None;
    let mut defined = BTreeSet::new();
    let mut data = Vec::new();
    let mut is_empty = true;
    for file in sorted(files) {
        let object = match read_document(&file.bytes, budget) {
            Err(DocumentError::TooLarge) => return Err(BundleError::TooLarge),
            Err(DocumentError::Unreadable(reason)) => {
                warnings.push(format!("cannot read manifest `{}`: {reason}", file.name));
                continue;
            }
            Ok(object) if object.str("kind").is_empty() => {
                warnings.push(format!(
                    "cannot read manifest `{}`: it has no kind",
                    file.name
                ));
                continue;
            }
            // The first CSV in the order of file names counts.
            Ok(object) if is_csv(&object) && csv.is_some() => {
                warnings.push(format!(
                    "cannot use manifest `{}`: the bundle has another CSV",
                    file.name
                ));
                continue;
            }
            Ok(object) => object,
        };
        is_empty = false;
        if with_objects {
            // `opm` encodes manifests with Go's default encoder, which escapes HTML.
            let mut json = Vec::new();
            write_html_escaped(&mut json, object.to_json().as_bytes());
            data.push(BASE64_STANDARD.encode(json));
        }
        defined.extend(apis::defined(&object));
        if is_csv(&object) {
            csv = Some(object);
        }
    }
    if is_empty {
        return Err(BundleError::NoObjects(UnreadFiles(warnings.clone())));
    }
    let csv = csv.ok_or_else(|| BundleError::NoCsv(UnreadFiles(warnings.clone())))?;
    Ok(ParsedManifests {
        csv,
        defined,
        objects: bundle_objects(data),
    })
}

/// Reads the metadata in the order of the names of its files. Files without an object are skipped,
/// with the reason in `unread`.
pub(super) fn metadata(
    files: &[BundleFile],
    budget: &mut RenderBudget,
    unread: &mut Vec<String>,
) -> Result<Vec<BlobValue>, BundleError> {
    let mut all = Vec::new();
    for file in sorted(files) {
        match read_document(&file.bytes, budget) {
            Ok(object) => all.push(object),
            Err(DocumentError::Unreadable(reason)) => {
                unread.push(format!("cannot read metadata `{}`: {reason}", file.name));
            }
            Err(DocumentError::TooLarge) => return Err(BundleError::TooLarge),
        }
    }
    Ok(all)
}

/// Returns the files in the order of their names, without hidden ones, which `opm` skips.
fn sorted(files: &[BundleFile]) -> impl Iterator<Item = &BundleFile> {
    let mut files: Vec<_> = files
        .iter()
        .filter(|file| !file.name.starts_with('.'))
        .collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files.into_iter()
}

/// Makes an `olm.bundle.object` of the base64 of each manifest, sorted.
fn bundle_objects(mut data: Vec<String>) -> Vec<BlobValue> {
    // `opm` sorts properties by their text.
    data.sort();
    data.into_iter()
        .map(|data| {
            property(
                "olm.bundle.object",
                BlobValue::object([("data", BlobValue::text(data))]),
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::{BundleFiles, Migration, render, render_within};
    use super::*;

    fn file(name: &str, text: &str) -> BundleFile {
        BundleFile {
            name: name.to_owned(),
            bytes: text.as_bytes().to_vec(),
        }
    }

    #[test]
    fn an_error_about_what_is_missing_names_the_files_that_were_not_read() {
        let annotations = "annotations: {operators.operatorframework.io.bundle.package.v1: a}\n";
        let csv = "kind: ClusterServiceVersion\nmetadata: {name: a.v1}\n";
        let render = |manifests: &[(&str, &str)], metadata: &str| {
            let manifests = manifests
                .iter()
                .map(|(name, text)| file(name, text))
                .collect();
            let files = BundleFiles {
                manifests,
                metadata: vec![file("annotations.yaml", metadata)],
            };
            render(&files, "image", Migration::CsvMetadata)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(render(&[], annotations), "no bundle objects found");
        let unread = "error converting YAML to JSON: yaml: unknown anchor referenced";
        assert_eq!(
            render(&[("csv.yaml", "kind: *a\n")], annotations),
            format!("no bundle objects found: cannot read manifest `csv.yaml`: line 1: {unread}")
        );
        assert_eq!(
            render(
                &[("a.yaml", "kind: X\n"), ("csv.yaml", "kind: *a\n")],
                annotations
            ),
            format!("no csv in bundle: cannot read manifest `csv.yaml`: line 1: {unread}")
        );
        assert_eq!(
            render(&[("csv.yaml", csv)], "annotations: *a\n"),
            format!(
                "Could not find annotations file: cannot read metadata `annotations.yaml`: line 1: {unread}"
            )
        );
        let many = [
            ("a", "*a"),
            ("b", ""),
            ("c", "[]"),
            ("d", "1"),
            ("e", "x: y"),
        ];
        let told = render(&many, annotations);
        assert!(
            told.contains("`c`") && !told.contains("`d`") && told.ends_with("; and 2 more"),
            "{told}"
        );
    }

    #[test]
    fn a_budget_counts_what_aliases_repeat() {
        let csv = "kind: ClusterServiceVersion\nmetadata: {name: a.v1}\n";
        let notes = "kind: Notes\ntext: &text aaaaaaaaaaaaaaaaaaaa\nagain: [*text, *text, *text]\n";
        let annotations = "annotations: {operators.operatorframework.io.bundle.package.v1: a}\n";
        let files = BundleFiles {
            manifests: vec![file("csv.yaml", csv), file("notes.yaml", notes)],
            metadata: vec![file("annotations.yaml", annotations)],
        };
        let lines = [
            r#"{"kind":"ClusterServiceVersion","metadata":{"name":"a.v1"}}"#,
            r#"{"again":["aaaaaaaaaaaaaaaaaaaa","aaaaaaaaaaaaaaaaaaaa","aaaaaaaaaaaaaaaaaaaa"],"kind":"Notes","text":"aaaaaaaaaaaaaaaaaaaa"}"#,
            r#"{"annotations":{"operators.operatorframework.io.bundle.package.v1":"a"}}"#,
        ];
        let bytes = lines.iter().map(|line| line.len() + 1).sum();
        let within = |bytes| {
            render_within(
                &files,
                "image",
                Migration::CsvMetadata,
                &mut RenderBudget::new(bytes),
            )
        };
        assert_eq!(
            within(bytes),
            render(&files, "image", Migration::CsvMetadata)
        );
        assert_eq!(within(bytes - 1), Err(BundleError::TooLarge));
        assert_eq!(within(lines[0].len()), Err(BundleError::TooLarge));
    }
}
