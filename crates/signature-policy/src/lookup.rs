//! registries.d: where the signatures of images are.

use std::collections::{BTreeMap, BTreeSet};

use content_digest::DigestHasher;
use fbc_grammar::Digest;
use serde::Deserialize;

use crate::PolicyReference;

/// The merged files of registries.d.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LookupConfig {
    /// SHA-256 of the texts of the files; `None` without files.
    digest: Option<Digest>,
    default_docker: LookupNamespace,
    docker: BTreeMap<String, LookupNamespace>,
    /// Base URL where no file names one.
    default_lookaside: Option<String>,
    /// Scopes whose images have sigstore attachments, whatever the files say.
    attachment_scopes: BTreeSet<String>,
}

/// An error in a file of registries.d.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LookupError {
    /// The file is not valid YAML, or has unknown members.
    #[error("cannot use `{file}`: {reason}")]
    Syntax {
        /// Name of the file.
        file: String,
        /// The cause.
        reason: String,
    },
    /// Two files have the same namespace.
    #[error("cannot use `{file}`: `{other}` has the namespace `{namespace}` too")]
    Repeated {
        /// Name of the second file.
        file: String,
        /// Name of the first file.
        other: String,
        /// The namespace.
        namespace: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LookupFile {
    #[serde(default, rename = "default-docker")]
    default_docker: Option<LookupNamespace>,
    #[serde(default)]
    docker: Option<BTreeMap<String, LookupNamespace>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct LookupNamespace {
    #[serde(default)]
    lookaside: Option<String>,
    #[serde(default, rename = "lookaside-staging")]
    _lookaside_staging: Option<String>,
    /// The former name of `lookaside`.
    #[serde(default)]
    sigstore: Option<String>,
    #[serde(default, rename = "sigstore-staging")]
    _sigstore_staging: Option<String>,
    #[serde(default)]
    use_sigstore_attachments: Option<bool>,
}

impl LookupConfig {
    /// Merges files, each with its name and text.
    pub fn parse<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, LookupError> {
        let mut config = Self::default();
        let mut owners: BTreeMap<String, &str> = BTreeMap::new();
        let mut hasher = DigestHasher::new();
        let mut has_files = false;
        for (file, text) in files {
            has_files = true;
            hasher.update(content_digest::digest(text.as_bytes()).as_bytes());
            if is_blank(text) {
                continue;
            }
            let parsed: LookupFile =
                serde_saphyr::from_str(text).map_err(|error| LookupError::Syntax {
                    file: file.to_owned(),
                    reason: error.without_snippet().to_string(),
                })?;
            let mut claim = |namespace: &str| match owners.insert(namespace.to_owned(), file) {
                Some(other) => Err(LookupError::Repeated {
                    file: file.to_owned(),
                    other: other.to_owned(),
                    namespace: namespace.to_owned(),
                }),
                None => Ok(()),
            };
            if let Some(default) = parsed.default_docker {
                claim("default-docker")?;
                config.default_docker = default;
            }
            for (namespace, values) in parsed.docker.unwrap_or_default() {
                claim(&format!("docker.{namespace}"))?;
                config.docker.insert(namespace, values);
            }
        }
        config.digest = has_files.then(|| hasher.finish());
        Ok(config)
    }

    /// SHA-256 of the texts of the files; `None` without files.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// Returns whether sigstore attachments are to be read for an image; `None` if nothing says it.
    pub fn sigstore_attachments(&self, image: &PolicyReference) -> Option<bool> {
        self.find(image, |namespace| namespace.use_sigstore_attachments)
    }

    /// Sets the base URL of the signatures of images for which no file names one.
    #[must_use]
    pub fn with_default_lookaside(self, url: String) -> Self {
        Self {
            default_lookaside: Some(url),
            ..self
        }
    }

    /// Turns sigstore attachments on for the images of these scopes, from wherever they are pulled.
    #[must_use]
    pub fn with_attachments<'a>(self, scopes: impl IntoIterator<Item = &'a str>) -> Self {
        let mut attachment_scopes = self.attachment_scopes;
        attachment_scopes.extend(scopes.into_iter().map(str::to_owned));
        Self {
            attachment_scopes,
            ..self
        }
    }

    /// Returns whether sigstore attachments are to be read for an image even where a file turns them
    /// off for the location that has it.
    pub fn has_attachments(&self, image: &PolicyReference) -> bool {
        let identity = std::iter::once(image.identity());
        let mut names = identity.chain(image.namespaces().iter().map(String::as_str));
        names.any(|name| self.attachment_scopes.contains(name))
    }

    /// Returns the base URL of the signatures of an image that are not in its registry.
    pub fn lookaside(&self, image: &PolicyReference) -> Option<&str> {
        let named = self.find(image, |namespace| {
            let url = namespace.lookaside.as_deref();
            url.or(namespace.sigstore.as_deref())
        });
        named.or(self.default_lookaside.as_deref())
    }

    /// Finds a value: the namespaces of the image are looked up value by value.
    fn find<'a, T>(
        &'a self,
        image: &PolicyReference,
        value: impl Fn(&'a LookupNamespace) -> Option<T>,
    ) -> Option<T> {
        let identity = std::iter::once(image.identity());
        let names = identity.chain(image.namespaces().iter().map(String::as_str));
        names
            .filter_map(|name| self.docker.get(name))
            .chain(std::iter::once(&self.default_docker))
            .find_map(value)
    }
}

/// Returns whether a file has nothing but comments, as those that packages install.
fn is_blank(text: &str) -> bool {
    text.lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line == "---"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(text: &str) -> PolicyReference {
        PolicyReference::docker(text).unwrap()
    }

    #[test]
    fn values_are_looked_up_one_by_one_from_the_image_to_the_default() {
        let config = LookupConfig::parse([
            ("a.yaml", "# nothing\n"),
            (
                "b.yaml",
                "default-docker:\n  lookaside: https://default\n  use-sigstore-attachments: false\n",
            ),
            (
                "c.yaml",
                "docker:\n  quay.io:\n    sigstore: https://old\n  quay.io/a:\n    use-sigstore-attachments: true\n  '*.example.com':\n    lookaside: file:///x\n    lookaside-staging: file:///y\n",
            ),
        ])
        .unwrap();
        let found = |text| {
            let image = image(text);
            (
                config.lookaside(&image),
                config.sigstore_attachments(&image),
            )
        };
        assert_eq!(found("quay.io/a/b:1"), (Some("https://old"), Some(true)));
        assert_eq!(found("quay.io/b:1"), (Some("https://old"), Some(false)));
        assert_eq!(
            found("a.example.com:5000/b"),
            (Some("file:///x"), Some(false))
        );
        assert_eq!(
            LookupConfig::default().sigstore_attachments(&image("quay.io/b")),
            None
        );
        let with_scopes = config
            .clone()
            .with_attachments(["quay.io/b", "*.example.com"]);
        for (text, expected) in [
            ("quay.io/b:1", true),
            ("a.example.com:5000/b", true),
            ("quay.io/c:1", false),
        ] {
            assert_eq!(
                with_scopes.has_attachments(&image(text)),
                expected,
                "{text}"
            );
            assert!(!config.has_attachments(&image(text)), "{text}");
        }
    }

    #[test]
    fn a_namespace_in_two_files_and_an_unknown_member_are_errors() {
        let text = "docker:\n  quay.io:\n    lookaside: https://x\n";
        let error = LookupConfig::parse([("a.yaml", text), ("b.yaml", text)]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot use `b.yaml`: `a.yaml` has the namespace `docker.quay.io` too"
        );
        let error = LookupConfig::parse([("a.yaml", "docker:\n  quay.io:\n    lookasde: x\n")]);
        assert!(
            matches!(error, Err(LookupError::Syntax { .. })),
            "{error:?}"
        );
    }
}
