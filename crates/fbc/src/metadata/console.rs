//! Annotations and labels that consoles read, beyond those that every list shows.

use std::borrow::Cow;

use fbc_read::json::{JsonCursor, JsonText, resolve_pointer};
use fbc_read::json_value;
use fbc_read::manifest::MAX_MANIFEST_DEPTH;

use super::annotation;
use super::csv::CsvMetadata;
use super::layout::MetadataField;

/// Maximum number of characters of a text for tiles.
const SUMMARY_CHARACTERS: usize = 300;

/// Value of the labels of architectures and operating systems that are supported.
const SUPPORTED: &str = "supported";

impl CsvMetadata<'_> {
    /// Returns the value of one annotation; `None` when missing or no string.
    pub fn annotation(&self, key: &str) -> Option<JsonText<'_>> {
        find(self.annotations(), key)
    }

    /// Size of its labels and annotations in bytes: what it takes to find one of them.
    pub fn label_bytes(&self) -> usize {
        let size = |field| self.value(field).map_or(0, <[u8]>::len);
        size(MetadataField::Annotations) + size(MetadataField::Labels)
    }

    /// Returns the value of one label; `None` when missing or no string.
    pub fn label(&self, key: &str) -> Option<JsonText<'_>> {
        find(self.labels(), key)
    }

    /// Returns the text for tiles, from an annotation: plain, in one line, of at most 300
    /// characters; `None` when missing or blank.
    pub fn summary(&self) -> Option<String> {
        shorten(&self.trimmed("description")?)
    }

    /// Returns the highest supported Kubernetes version, from an annotation; `None` when missing or
    /// blank.
    pub fn max_kube_version(&self) -> Option<Cow<'_, str>> {
        self.trimmed("operatorhub.io/ui-metadata-max-k8s-version")
    }

    /// Returns the supported CPU architectures, sorted by name, from labels; `amd64` without such a
    /// label, which is what OLM assumes.
    pub fn architectures(&self) -> Vec<String> {
        self.supported("operatorframework.io/arch.", "amd64")
    }

    /// Returns the supported operating systems of nodes, sorted by name, from labels; `linux`
    /// without such a label, which is what OLM assumes.
    pub fn operating_systems(&self) -> Vec<String> {
        self.supported("operatorframework.io/os.", "linux")
    }

    /// Returns the level of certification, from an annotation; `None` when missing or blank.
    pub fn certified_level(&self) -> Option<Cow<'_, str>> {
        self.trimmed("certifiedLevel")
    }

    /// Returns the subscriptions that cover it, from an annotation with a JSON list; another text
    /// is one item.
    pub fn valid_subscriptions(&self) -> Vec<String> {
        let Some(text) = self.trimmed("operators.openshift.io/valid-subscription") else {
            return Vec::new();
        };
        annotation::json_strings(&text).unwrap_or_else(|| vec![text.into_owned()])
    }

    /// Returns the namespace to install into: an annotation, or else the name in the template of
    /// the namespace.
    pub fn suggested_namespace(&self) -> Option<String> {
        if let Some(name) = self.trimmed("operatorframework.io/suggested-namespace") {
            return Some(name.into_owned());
        }
        let template = self.suggested_namespace_template()?;
        let name = resolve_pointer(&template, "/metadata/name").ok()??;
        let name = JsonCursor::new(name).text().ok()?.decode();
        annotation::trimmed(name).map(Cow::into_owned)
    }

    /// Returns the manifest of the namespace to create, in canonical JSON, from an annotation that
    /// holds JSON text; `None` as for [`CsvMetadata::examples`].
    pub fn suggested_namespace_template(&self) -> Option<Vec<u8>> {
        self.json("operatorframework.io/suggested-namespace-template")
    }

    /// Returns the resource to create after the installation, in canonical JSON, from an annotation
    /// that holds JSON text; `None` as for [`CsvMetadata::examples`].
    pub fn initialization_resource(&self) -> Option<Vec<u8>> {
        self.json("operatorframework.io/initialization-resource")
    }

    /// Returns whether the platform's Prometheus should monitor the namespace, from an annotation;
    /// `None` unless that is `true` or `false`.
    pub fn cluster_monitoring(&self) -> Option<bool> {
        annotation::boolean(&self.decoded("operatorframework.io/cluster-monitoring")?)
    }

    /// Returns the names of its plugins for the `OpenShift` console, from an annotation with a JSON
    /// list of strings; another text gives no names, as in the console.
    pub fn console_plugins(&self) -> Vec<String> {
        self.names("console.openshift.io/plugins")
    }

    /// Returns the names of the custom resource definitions that users should not see, from an
    /// annotation with a JSON list of strings; another text gives no names, as in the console.
    pub fn internal_objects(&self) -> Vec<String> {
        self.names("operators.operatorframework.io/internal-objects")
    }

    /// Returns whether it is of use on its own: unless an annotation says that it is not.
    pub fn is_standalone(&self) -> bool {
        self.decoded("operators.operatorframework.io/operator-type")
            .is_none_or(|text| text.trim() != "non-standalone")
    }

    /// Returns the text of the purchase button, from an annotation; `None` when missing or blank.
    pub fn action_text(&self) -> Option<Cow<'_, str>> {
        self.trimmed("marketplace.openshift.io/action-text")
    }

    /// Returns the URL of the purchase page as written, from an annotation; `None` when missing or
    /// blank.
    pub fn remote_workflow(&self) -> Option<Cow<'_, str>> {
        self.trimmed("marketplace.openshift.io/remote-workflow")
    }

    /// Returns the URL of the support page as written, from an annotation; `None` when missing or
    /// blank.
    pub fn support_workflow(&self) -> Option<Cow<'_, str>> {
        self.trimmed("marketplace.openshift.io/support-workflow")
    }

    /// Returns the message to show after uninstalling, from an annotation; `None` when missing or
    /// blank.
    pub fn uninstall_message(&self) -> Option<Cow<'_, str>> {
        self.trimmed("operator.openshift.io/uninstall-message")
    }

    fn decoded(&self, key: &str) -> Option<Cow<'_, str>> {
        self.annotation(key).map(JsonText::decode)
    }

    fn trimmed(&self, key: &str) -> Option<Cow<'_, str>> {
        annotation::trimmed(self.decoded(key)?)
    }

    fn json(&self, key: &str) -> Option<Vec<u8>> {
        json_value(&self.decoded(key)?, MAX_MANIFEST_DEPTH)
    }

    fn names(&self, key: &str) -> Vec<String> {
        self.decoded(key)
            .and_then(|text| annotation::json_strings(&text))
            .unwrap_or_default()
    }

    /// Returns what follows a prefix in the keys of labels that say so, sorted; `assumed` if no
    /// label has the prefix.
    fn supported(&self, prefix: &str, assumed: &str) -> Vec<String> {
        let labels = self.labels().into_iter().filter_map(|(key, value)| {
            let key = key.decode();
            Some((
                key.strip_prefix(prefix)?.to_owned(),
                value.decode() == SUPPORTED,
            ))
        });
        let labels: Vec<_> = labels.collect();
        if labels.is_empty() {
            return vec![assumed.to_owned()];
        }
        labels
            .into_iter()
            .filter(|(_, is_supported)| *is_supported)
            .map(|(name, _)| name)
            .collect()
    }
}

fn find<'t>(pairs: Vec<(JsonText<'t>, JsonText<'t>)>, key: &str) -> Option<JsonText<'t>> {
    pairs
        .into_iter()
        .find(|(other, _)| other.decode() == key)
        .map(|(_, value)| value)
}

/// Legal forms that a name may end with, without full stops.
const LEGAL_FORMS: [&str; 10] = [
    "inc",
    "llc",
    "ltd",
    "limited",
    "gmbh",
    "corp",
    "corporation",
    "co",
    "ag",
    "sa",
];

/// Returns the name of an organization without its legal form: `Red Hat` for `Red Hat, Inc.`. A
/// name that is nothing but a legal form stays as it is.
pub fn short_name(name: &str) -> &str {
    let mut short = name.trim();
    while let Some((rest, form)) = short.rsplit_once([' ', ',', '\u{a0}']) {
        let form = form.replace('.', "");
        let rest = rest.trim_end_matches([' ', ',', '\u{a0}']);
        if rest.is_empty()
            || rest.ends_with('&')
            || !LEGAL_FORMS
                .iter()
                .any(|known| known.eq_ignore_ascii_case(&form))
        {
            break;
        }
        short = rest;
    }
    short
}

/// Returns the first sentence of a Markdown text as plain text, in one line and of at most 300
/// characters; `None` if it has none.
pub fn first_sentence(markdown: &str) -> Option<String> {
    let paragraph = markdown
        .lines()
        .map(str::trim)
        .skip_while(|line| !is_prose(line))
        .take_while(|line| is_prose(line));
    let text = without_markup(&paragraph.collect::<Vec<_>>().join(" "));
    let mut ends = text.match_indices(['.', '!', '?']).map(|(at, _)| at + 1);
    let end =
        ends.find(|&end| text[end..].is_empty() || text[end..].starts_with(char::is_whitespace));
    shorten(&text[..end.unwrap_or(text.len())])
}

/// Returns whether a line is text: not blank, a heading, an image, a rule, a table or a fence.
fn is_prose(line: &str) -> bool {
    !line.is_empty() && !line.starts_with(['#', '!', '|', '<', '`', '=', '-', '*'])
}

/// Removes emphasis, code marks and the targets of links.
fn without_markup(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut rest = markdown;
    while let Some(at) = rest.find(['*', '`', '[', ']']) {
        text.push_str(&rest[..at]);
        let target = rest[at..]
            .strip_prefix("](")
            .and_then(|target| target.find(')').map(|end| &target[end + 1..]));
        rest = target.unwrap_or(&rest[at + 1..]);
    }
    text + rest
}

/// Returns a text in one line, cut at a word if it is longer than 300 characters; `None` if it is
/// blank.
fn shorten(text: &str) -> Option<String> {
    let mut line = String::new();
    let mut characters = 0;
    for word in text.split_whitespace() {
        characters += word.chars().count() + 1;
        // One is for the ellipsis.
        if characters > SUMMARY_CHARACTERS {
            if line.is_empty() {
                line.extend(word.chars().take(SUMMARY_CHARACTERS - 1));
            }
            line.push('…');
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sentence_is_plain_text() {
        for (markdown, sentence) in [
            (
                "# Etcd\n\nThe **etcd** operator\nmanages `etcd`. It is old.",
                Some("The etcd operator manages etcd."),
            ),
            (
                "Runs [v1.2](https://a.io/b_(c)) of it! More.",
                Some("Runs v1.2) of it!"),
            ),
            (
                "![logo](a.png)\n---\n- a list\n\nText without an end",
                Some("Text without an end"),
            ),
            (
                "[not a link] 1.5 of them? Yes",
                Some("not a link 1.5 of them?"),
            ),
            ("# Only a heading", None),
            (" \n ", None),
            ("", None),
        ] {
            assert_eq!(first_sentence(markdown).as_deref(), sentence, "{markdown}");
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_word() {
        let text = shorten(&"word ".repeat(100)).unwrap();
        assert_eq!(text.chars().count(), 300);
        assert!(text.ends_with("word…"));
        assert_eq!(shorten(&"x".repeat(400)).unwrap().chars().count(), 300);
        assert_eq!(shorten(" a\n\tb "), Some("a b".to_owned()));
        let exact = format!("{} {}", "x".repeat(200), "y".repeat(98));
        assert_eq!(shorten(&exact), Some(exact));
    }
}
