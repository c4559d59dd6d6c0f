//! Batches in JSON, with the bundles that they add.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::bundle::{
    BundleError, BundleFile, BundleFiles, Migration, Placement, RenderBudget, RenderedBundle,
    render_within, rendered_blob,
};
use crate::operation::Operation;

/// Member of an operation that has bundles.
const BUNDLES: &str = "bundles";

/// A bundle of a batch: a directory, its files, or the rendered bundle.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct BundleInput {
    /// Path of the bundle directory.
    pub directory: Option<PathBuf>,
    /// Texts of the files of the directory by their paths in it, such as `manifests/csv.yaml`.
    pub files: Option<BTreeMap<String, String>>,
    /// Image of the bundle, where it is a directory or files.
    pub image: String,
    /// The rendered `olm.bundle`. The fields below are for it alone: a directory names its own.
    pub blob: Option<Box<RawValue>>,
    /// Channels that list the bundle.
    pub channels: Vec<String>,
    /// The default channel of the package; empty if the bundle names none.
    pub default_channel: String,
    /// The bundle that it replaces; empty for none.
    pub replaces: String,
    /// Bundles that it skips.
    pub skips: Vec<String>,
    /// Range of versions that it skips; empty for none.
    pub skip_range: String,
}

/// A bundle of a batch cannot be added.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// It has neither files nor a blob, or both.
    #[error(
        "cannot add a bundle: write either `files` with an `image`, or a `blob` with `channels`"
    )]
    Kind,
    /// Its files are not a bundle.
    #[error("cannot render bundle `{image}`: {source}")]
    Files {
        /// Its image.
        image: String,
        /// Reason for which they are not.
        source: BundleError,
    },
    /// Its blob is not one that a catalog can have.
    #[error("cannot read a rendered bundle: {0}")]
    Blob(String),
}

/// A text is no batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchReadError {
    /// It has no text.
    #[error("it is empty: {FORM}")]
    Empty,
    /// It is no array of objects.
    #[error("{FORM}: {0}")]
    Form(serde_json::Error),
    /// A value of it is no operation.
    #[error("operation {number}{}: {message}", named(op))]
    Operation {
        /// Position of the operation, from 1.
        number: usize,
        /// Its member `op`; empty if it has none.
        op: String,
        /// Fault of the operation.
        message: String,
    },
}

/// Advice for a text that is no array of objects.
const FORM: &str =
    r#"write a JSON array of operations, such as [{"op": "rm", "packages": ["etcd"]}]"#;

fn named(op: &str) -> String {
    if op.is_empty() {
        String::new()
    } else {
        format!(" ({op})")
    }
}

/// Reads a batch: a JSON array of operations. Blobs keep the digits of their numbers.
pub fn read_batch(text: &[u8]) -> Result<Vec<Operation<BundleInput>>, BatchReadError> {
    if text.trim_ascii().is_empty() {
        return Err(BatchReadError::Empty);
    }
    let operations: Vec<BTreeMap<String, Box<RawValue>>> =
        serde_json::from_slice(text).map_err(BatchReadError::Form)?;
    let read = |(at, members): (usize, BTreeMap<String, Box<RawValue>>)| {
        let op = members
            .get("op")
            .map(|op| op.get().trim_matches('"').to_owned());
        read_operation(members).map_err(|error| BatchReadError::Operation {
            number: at + 1,
            op: op.unwrap_or_default(),
            message: without_position(&error),
        })
    };
    operations.into_iter().enumerate().map(read).collect()
}

/// Returns the message of an error without its position, which is not one of the batch.
fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rsplit_once(" at line ") {
        Some((message, _)) => message.to_owned(),
        None => message,
    }
}

/// Reads an operation.
// serde buffers a tagged enum before it knows the variant, and numbers lose their digits in that
// buffer. So bundles are read by themselves, and the operation with their indexes in their place.
fn read_operation(
    mut members: BTreeMap<String, Box<RawValue>>,
) -> Result<Operation<BundleInput>, serde_json::Error> {
    let mut bundles: Vec<Option<BundleInput>> = Vec::new();
    if let Some(raw) = members.get_mut(BUNDLES) {
        bundles = serde_json::from_str::<Vec<BundleInput>>(raw.get())?
            .into_iter()
            .map(Some)
            .collect();
        *raw = serde_json::value::to_raw_value(&(0..bundles.len()).collect::<Vec<_>>())?;
    }
    let operation: Operation<usize> = serde_json::from_str(&serde_json::to_string(&members)?)?;
    operation.try_map(|number| {
        Ok(bundles
            .get_mut(number)
            .and_then(Option::take)
            .unwrap_or_default())
    })
}

impl BundleInput {
    /// Renders a bundle of files, or takes the rendered one.
    pub fn render(self, budget: &mut RenderBudget) -> Result<RenderedBundle, InputError> {
        let Self {
            directory,
            files,
            image,
            blob,
            channels,
            default_channel,
            replaces,
            skips,
            skip_range,
        } = self;
        match (directory, files, blob) {
            (None, Some(files), None) => {
                render_within(&bundle_files(files), &image, Migration::CsvMetadata, budget)
                    .map_err(|source| InputError::Files { image, source })
            }
            (None, None, Some(blob)) => Ok(RenderedBundle {
                blob: rendered_blob(blob.get()).map_err(InputError::Blob)?,
                placement: Placement {
                    channels,
                    default_channel,
                    replaces,
                    skips,
                    skip_range,
                    ..Placement::default()
                },
                warnings: Vec::new(),
            }),
            _ => Err(InputError::Kind),
        }
    }
}

/// Groups files by the directories of a bundle. Files of directories in these are ignored, as
/// `opm` does.
fn bundle_files(files: BTreeMap<String, String>) -> BundleFiles {
    let mut all = BundleFiles::default();
    for (path, text) in files {
        let Some((folder, name)) = path.split_once('/') else {
            continue;
        };
        let file = BundleFile {
            name: name.to_owned(),
            bytes: text.into_bytes(),
        };
        match folder {
            // Names come from a request and are never opened: only these two directories are part
            // of a bundle.
            "manifests" if !name.contains('/') => all.manifests.push(file),
            "metadata" if !name.contains('/') => all.metadata.push(file),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::operation::AddMode;

    #[test]
    fn a_rendered_bundle_keeps_its_digits() {
        let text = r#"[{"op":"add","bundles":[{"blob":{"x":1.0,"y":1e3},"channels":["a"],"replaces":"b"}],"mode":"semver"}]"#;
        let [Operation::Add(add)] = &mut read_batch(text.as_bytes()).unwrap()[..] else {
            panic!("one addition")
        };
        assert_eq!(
            add.mode,
            AddMode::Semver {
                skips_patches: false
            }
        );
        let rendered = std::mem::take(&mut add.bundles[0])
            .render(&mut RenderBudget::unlimited())
            .unwrap();
        assert_eq!(rendered.blob.to_json(), r#"{"x":1.0,"y":1e3}"#);
        assert_eq!(
            (
                &*rendered.placement.replaces,
                &rendered.placement.channels[..]
            ),
            ("b", &["a".to_owned()][..])
        );
    }

    #[test]
    fn a_rendered_bundle_that_no_catalog_could_have_is_refused() {
        let deep = format!(r#"{{"x":{}}}"#, "[".repeat(200) + &"]".repeat(200));
        let large = format!(r#"{{"x":{}}}"#, "1".repeat(1_000_000));
        let invalid =
            "not a JSON value of at most 200 levels, with numbers in the range of a double";
        for (blob, expected) in [
            (&*large, invalid),
            (&*deep, invalid),
            (
                r#"{"name":"a","Name":"b"}"#,
                "line 1: duplicate keys for key \"name\": [Name name]",
            ),
            (
                r#"{"schema":1}"#,
                "line 1: expected value for key \"schema\" to be a string, got 1",
            ),
            ("[]", "line 1: cannot unmarshal array into a mapping"),
        ] {
            let input: BundleInput =
                serde_json::from_str(&format!(r#"{{"blob":{blob},"channels":["a"]}}"#)).unwrap();
            let error = input
                .render(&mut RenderBudget::unlimited())
                .unwrap_err()
                .to_string();
            assert_eq!(error, format!("cannot read a rendered bundle: {expected}"));
        }
    }

    #[test]
    fn no_operation_has_members_that_it_does_not_know() {
        for operation in [
            json!({ "op": "create-package", "package": "a" }),
            json!({ "op": "set-package", "package": "a" }),
            json!({ "op": "add", "bundles": [] }),
            json!({ "op": "rm", "packages": [] }),
            json!({ "op": "prune", "packages": [] }),
            json!({ "op": "prune-stranded" }),
            json!({ "op": "deprecate-truncate", "images": [] }),
            json!({ "op": "deprecatetruncate", "images": [] }),
            json!({ "op": "deprecate", "package": "a", "entries": [] }),
            json!({ "op": "undeprecate", "package": "a", "references": [] }),
            json!({ "op": "add-channel", "package": "a", "channel": "b", "entries": [] }),
            json!({ "op": "remove-channel", "package": "a", "channel": "b" }),
            json!({ "op": "set-entry", "package": "a", "channel": "b", "entries": [] }),
            json!({ "op": "promote", "package": "a", "bundle": "b", "channel": "c" }),
            json!({ "op": "delete-latest", "package": "a" }),
            json!({ "op": "delete-bundle", "package": "a", "bundle": "b" }),
        ] {
            let read = |operation: &serde_json::Value| {
                read_batch(json!([operation]).to_string().as_bytes())
            };
            assert!(read(&operation).is_ok(), "{operation}");
            let mut stray = operation;
            stray["dryRun"] = json!(true);
            let message = read(&stray).unwrap_err().to_string();
            let op = stray["op"].as_str().unwrap();
            assert!(
                message.starts_with(&format!("operation 1 ({op}): unknown field `dryRun`")),
                "{stray}: {message}"
            );
        }
    }

    #[test]
    fn a_text_that_is_no_batch_is_answered_with_the_form_or_the_operation() {
        let form =
            r#"write a JSON array of operations, such as [{"op": "rm", "packages": ["etcd"]}]"#;
        for (text, expected) in [
            (" \n", format!("it is empty: {form}")),
            (
                r#"{"op":"rm"}"#,
                format!("{form}: invalid type: map, expected a sequence at line 1 column 0"),
            ),
            (
                r#"[{"op":"prune-stranded"},{"op":"rm","package":"a"}]"#,
                "operation 2 (rm): unknown field `package`, expected one of `packages`, `permissive`, `allowEmpty`".to_owned(),
            ),
            (
                r#"[{"packages":["a"]}]"#,
                "operation 1: missing field `op`".to_owned(),
            ),
        ] {
            let error = read_batch(text.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn what_is_no_batch_is_refused() {
        for text in [
            "{}",
            r#"[{"op":"fly"}]"#,
            r#"[{"op":"add"}]"#,
            r#"[{"op":"add","bundles":{}}]"#,
            r#"[{"op":"add","bundles":[],"mode":"newest"}]"#,
            r#"[{"op":"add","bundles":[1]}]"#,
            r#"[{"op":"add","bundles":[{"image":"i","path":"p"}]}]"#,
        ] {
            assert!(read_batch(text.as_bytes()).is_err(), "{text}");
        }
        for text in [
            "{}",
            r#"{"directory":"d","image":"i"}"#,
            r#"{"files":{},"blob":{},"image":"i"}"#,
        ] {
            let input: BundleInput = serde_json::from_str(text).unwrap();
            assert!(
                matches!(
                    input.render(&mut RenderBudget::unlimited()),
                    Err(InputError::Kind)
                ),
                "{text}"
            );
        }
    }
}
