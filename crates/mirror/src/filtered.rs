//! The blobs of the catalog that has only the selected part.
//!
//! A blob that is selected as a whole stays as it is. Of a channel and of deprecations, the entries
//! that are not selected are cut out, and nothing else changes.

use fbc::Catalog;
use fbc_read::json::{JsonText, JsonValue};
use hashbrown::{HashMap, HashSet};

use crate::mirror_set::{MirroredChannel, MirroredPackage};

/// A blob of the selected part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilteredBlob {
    /// Index of the blob in the catalog.
    pub meta: usize,
    /// Its canonical line, without a line feed; `None` if it stays as it is.
    pub line: Option<String>,
}

/// Returns the blobs of the selected part, in catalog order.
pub fn filtered_blobs(catalog: &Catalog, packages: &[MirroredPackage<'_>]) -> Vec<FilteredBlob> {
    let parts = Parts::new(packages);
    let metas = (0..catalog.meta_count()).filter_map(|at| {
        let meta = catalog.meta_at(at);
        let name = meta.name().unwrap_or_default();
        let owner = match meta.schema() {
            "olm.package" => name,
            _ => meta.package_name().unwrap_or_default(),
        };
        let start = meta.line_span().start;
        let part = match meta.schema() {
            "olm.package" => parts.package(owner, start, meta.blob()),
            "olm.channel" => parts.channel(start, meta.blob()),
            "olm.bundle" => BlobPart::all_if(parts.bundles.contains(&start)),
            "olm.deprecations" => parts.deprecations(at, meta.blob()),
            _ => BlobPart::all_if(owner.is_empty() || parts.packages.contains_key(owner)),
        };
        match part {
            BlobPart::None => None,
            BlobPart::All => Some(FilteredBlob {
                meta: at,
                line: None,
            }),
            BlobPart::Line(line) => Some(FilteredBlob {
                meta: at,
                line: Some(line),
            }),
        }
    });
    metas.collect()
}

/// Selected part of a blob.
enum BlobPart {
    None,
    All,
    /// The canonical line of the selected part.
    Line(String),
}

impl BlobPart {
    fn all_if(is_selected: bool) -> Self {
        if is_selected { Self::All } else { Self::None }
    }
}

/// Selected parts by the place of their blobs.
struct Parts<'p, 'a> {
    packages: HashMap<&'a str, &'p MirroredPackage<'a>>,
    channels: HashMap<usize, &'p MirroredChannel<'a>>,
    bundles: HashSet<usize>,
    /// Indexes of the entries that stay of each blob with deprecations.
    deprecations: HashMap<usize, HashSet<usize>>,
}

impl<'p, 'a> Parts<'p, 'a> {
    fn new(packages: &'p [MirroredPackage<'a>]) -> Self {
        let mut parts = Self {
            packages: HashMap::new(),
            channels: HashMap::new(),
            bundles: HashSet::new(),
            deprecations: HashMap::new(),
        };
        for package in packages {
            parts.packages.insert(package.package.name(), package);
            for channel in &package.channels {
                parts
                    .channels
                    .insert(channel.channel.meta().line_span().start, channel);
            }
            let starts = package
                .bundles
                .iter()
                .filter(|one| one.is_listed)
                .map(|one| one.bundle.meta().line_span().start);
            parts.bundles.extend(starts);
            for deprecation in &package.deprecations {
                parts
                    .deprecations
                    .entry(deprecation.meta)
                    .or_default()
                    .insert(deprecation.index);
            }
        }
        parts
    }

    fn package(&self, name: &str, start: usize, blob: JsonValue<'_>) -> BlobPart {
        let package = self.packages.get(name);
        let is_own =
            |package: &&&MirroredPackage<'_>| package.package.meta().line_span().start == start;
        match package.filter(is_own) {
            None => BlobPart::None,
            Some(package) if package.default_channel == package.package.default_channel_name() => {
                BlobPart::All
            }
            Some(package) => {
                let default = serde_json::Value::from(&*package.default_channel).to_string();
                BlobPart::Line(with_member(blob, "defaultChannel", &default))
            }
        }
    }

    fn channel(&self, start: usize, blob: JsonValue<'_>) -> BlobPart {
        let Some(channel) = self.channels.get(&start) else {
            return BlobPart::None;
        };
        if channel.entries.len() == channel.channel.entries().len() {
            return BlobPart::All;
        }
        let places: HashSet<usize> = channel.entries.iter().map(|entry| entry.place()).collect();
        let stays: HashSet<usize> = channel
            .channel
            .entries()
            .enumerate()
            .filter(|(_, entry)| places.contains(&entry.place()))
            .map(|(at, _)| at)
            .collect();
        BlobPart::Line(with_entries(blob, &stays))
    }

    fn deprecations(&self, meta: usize, blob: JsonValue<'_>) -> BlobPart {
        let Some(stays) = self.deprecations.get(&meta) else {
            return BlobPart::None;
        };
        let [entries] = blob.fields(["entries"]).unwrap_or_default();
        let all = entries.and_then(|entries| entries.elements().ok());
        if all.is_none_or(|all| all.len() == stays.len()) {
            return BlobPart::All;
        }
        BlobPart::Line(with_entries(blob, stays))
    }
}

/// Returns the text of an object with only these elements of its member `entries`.
fn with_entries(blob: JsonValue<'_>, stays: &HashSet<usize>) -> String {
    let [entries] = blob.fields(["entries"]).unwrap_or_default();
    let elements = entries
        .and_then(|entries| entries.elements().ok())
        .unwrap_or_default();
    let texts = elements
        .iter()
        .enumerate()
        .filter(|(at, _)| stays.contains(at));
    let texts: Vec<_> = texts
        .map(|(_, element)| String::from_utf8_lossy(element.raw()))
        .collect();
    with_member(blob, "entries", &format!("[{}]", texts.join(",")))
}

/// Returns the text of an object with another value of a member, which is added if it is missing.
fn with_member(blob: JsonValue<'_>, name: &str, value: &str) -> String {
    let mut text = String::from("{");
    let mut is_there = false;
    for (key, old) in blob.members().unwrap_or_default() {
        let is_wanted = key.decode() == name;
        is_there |= is_wanted;
        let value = if is_wanted {
            value.into()
        } else {
            String::from_utf8_lossy(old.raw())
        };
        add_member(&mut text, key, &value);
    }
    if !is_there {
        let key = serde_json::Value::from(name).to_string();
        add_member(&mut text, JsonText::new(key.as_bytes()), value);
    }
    text.push('}');
    text
}

fn add_member(text: &mut String, key: JsonText<'_>, value: &str) {
    if text.len() > 1 {
        text.push(',');
    }
    text.push_str(&String::from_utf8_lossy(key.raw()));
    text.push(':');
    text.push_str(value);
}
