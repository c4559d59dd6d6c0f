//! Classifies failures to load a catalog, and formats them for the status of its object.

use images::unpack::UnpackError;
use images::{ImageError, RefusalCode};
use loading::{FailureReason, LoadError, Source};
use olm_api::PULL_SECRET_ANNOTATION;

/// Returns whether retries fail until the object, the image, or the cluster changes. Such a failure
/// is reported as `Blocked`, any other as `Retrying`.
pub(crate) fn is_terminal(error: &LoadError, source: &Source) -> bool {
    let is_missing =
        matches!(error, LoadError::Image(ImageError::NotFound { .. })) && source.is_pinned();
    let is_no_catalog = matches!(
        error,
        LoadError::Unpack(UnpackError::SqliteIndex { .. } | UnpackError::Bundle { .. })
    );
    let is_refused = matches!(
        error,
        LoadError::Image(ImageError::SignatureRefused { verdict, .. })
            if !verdict.code().is_some_and(RefusalCode::is_transient)
    );
    is_missing || is_no_catalog || is_refused || error.reason() == FailureReason::NoCatalog
}

/// Formats a failure, with the prefix that catalogd writes for the stage that failed.
pub(crate) fn message(error: &LoadError) -> String {
    let stage = match error {
        LoadError::Image(_)
        | LoadError::Directory(_)
        | LoadError::Unpack(_)
        | LoadError::Withdrawn { .. }
        | LoadError::NoFiles { .. } => "source catalog content",
        _ => "error storing fbc",
    };
    let chain = error.chain();
    let (chain, advice) = match error {
        LoadError::Image(ImageError::NoCredentials { .. }) => {
            let advice =
                format!("; name a pull secret with the annotation {PULL_SECRET_ANNOTATION}");
            (without_advice(&chain, "; ", "podman login"), advice)
        }
        _ => (without_advice(&chain, ": ", "--configs-dir"), String::new()),
    };
    format!("{stage}: {chain}{advice}")
}

/// Removes the clause that contains `advice`, which is addressed to users of the command line and
/// cannot be followed in a cluster.
fn without_advice<'a>(message: &'a str, begin: &str, advice: &str) -> &'a str {
    let clause = message
        .find(advice)
        .and_then(|at| message[..at].rfind(begin));
    &message[..clause.unwrap_or(message.len())]
}

/// Returns whether two messages differ in decimal numbers alone.
pub(crate) fn is_same_message(one: &str, other: &str) -> bool {
    // Bytes, seconds and ports differ with each attempt. Comparing them would write the status of a
    // failing catalog with every retry.
    fn words(text: &str) -> impl Iterator<Item = &str> {
        let parts = text.split(|letter: char| !letter.is_ascii_alphanumeric());
        parts.map(|part| {
            if part.bytes().all(|byte| byte.is_ascii_digit()) {
                ""
            } else {
                part
            }
        })
    }
    words(one).eq(words(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_advise_what_can_be_done_in_a_cluster() {
        let registry = "quay.io".to_owned();
        let location = "quay.io/a/b".to_owned();
        let refused = ImageError::NoCredentials { registry, location };
        let root = "/configs".to_owned();
        let empty = LoadError::NoFiles {
            image: "quay.io/a/b@sha256:1".to_owned(),
            root,
        };
        let cases = [
            (
                refused.into(),
                "source catalog content: cannot read the source: cannot access `quay.io/a/b`: it requires credentials and \
                 none were found; name a pull secret with the annotation catalogql.io/pull-secret",
            ),
            (
                UnpackError::NoRoot.into(),
                "source catalog content: cannot unpack the image: the image has no label \
                 `operators.operatorframework.io.index.configs.v1`",
            ),
            (
                empty,
                "source catalog content: `quay.io/a/b@sha256:1` has no file to read below `/configs`",
            ),
        ];
        for (error, expected) in cases {
            assert_eq!(message(&error), expected);
        }
    }

    #[test]
    fn messages_that_differ_in_numbers_alone_are_the_same() {
        let same = [
            ("", ""),
            (
                "the connection ended after 12 of 900 bytes",
                "the connection ended after 800 of 900 bytes",
            ),
            (
                "read tcp 10.0.0.1:41234->10.0.0.2:443: reset",
                "read tcp 10.0.0.1:51234->10.0.0.2:443: reset",
            ),
        ];
        let different = [
            ("not found", "forbidden"),
            ("cannot verify sha256:12ab", "cannot verify sha256:12ac"),
            ("after 12 bytes", "after 12 bytes: gone"),
        ];
        for (cases, expected) in [(&same[..], true), (&different[..], false)] {
            for (one, other) in cases {
                assert_eq!(is_same_message(one, other), expected, "{one} | {other}");
            }
        }
    }
}
