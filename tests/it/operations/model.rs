//! A second, plain reading of `community`: every blob as a value, found by its names. It knows the
//! format from its specification alone and shares no code with the program, so that a mistake there
//! is not made here as well.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A catalog.
pub(super) struct Model {
    /// In the order of the files.
    pub(super) blobs: &'static [Value],
    /// By name.
    pub(super) packages: BTreeMap<&'static str, Package>,
    /// By package, then by version, the highest first.
    pub(super) bundles: Vec<Bundle>,
}

/// A package with what belongs to it, by name.
pub(super) struct Package {
    pub(super) name: &'static str,
    pub(super) blob: &'static Value,
    pub(super) channels: BTreeMap<&'static str, Channel>,
    pub(super) bundles: BTreeMap<&'static str, Bundle>,
    /// The heads of its channels.
    pub(super) heads: HashSet<&'static str>,
}

/// A channel: its entries are in the order of the file.
#[derive(Clone, Copy)]
pub(super) struct Channel {
    pub(super) name: &'static str,
    pub(super) entries: &'static [Value],
}

/// A bundle.
#[derive(Clone, Copy)]
pub(super) struct Bundle {
    pub(super) package: &'static str,
    pub(super) name: &'static str,
    pub(super) blob: &'static Value,
}

impl Model {
    /// Reads a directory of one folder a package, each with files of one blob a line.
    pub(super) fn read(directory: &Path) -> Self {
        let mut blobs = Vec::new();
        for folder in sorted(directory) {
            for file in sorted(&folder) {
                let text = fs::read_to_string(file).expect("a readable file");
                let lines = text.lines().filter(|line| !line.is_empty());
                blobs.extend(lines.map(|line| line.parse::<Value>().expect("a line is JSON")));
            }
        }
        // It lives as long as the tests.
        let blobs: &'static [Value] = blobs.leak();
        let packages = packages(blobs);
        let bundles = packages.values().flat_map(Package::latest_first).collect();
        Self {
            blobs,
            packages,
            bundles,
        }
    }
}

impl Package {
    fn new(name: &'static str, blob: &'static Value) -> Self {
        Self {
            name,
            blob,
            channels: BTreeMap::new(),
            bundles: BTreeMap::new(),
            heads: HashSet::new(),
        }
    }

    /// A text of its blob, nothing when there is none or it is empty.
    pub(super) fn text(&self, member: &str) -> Option<&'static str> {
        text(self.blob, member)
    }

    pub(super) fn default_channel(&self) -> Option<Channel> {
        self.channels.get(self.text("defaultChannel")?).copied()
    }

    /// Its channels, by name with numbers.
    pub(super) fn channels_in_order(&self) -> Vec<Channel> {
        let mut channels: Vec<_> = self.channels.values().copied().collect();
        channels.sort_by_cached_key(|channel| padded(channel.name));
        channels
    }

    /// Its bundles, the highest version first; equal ones by name.
    fn latest_first(&self) -> Vec<Bundle> {
        let mut bundles: Vec<_> = self.bundles.values().copied().collect();
        bundles.sort_by(|a, b| {
            compare_versions(b.version(), a.version()).then_with(|| a.name.cmp(b.name))
        });
        bundles
    }

    /// What its author says of it: the `olm.csv.metadata` at the head of its default channel.
    pub(super) fn metadata(&self) -> Option<&'static Value> {
        self.bundles
            .get(self.default_channel()?.head()?)?
            .values("olm.csv.metadata")
            .next()
    }

    /// The places of a bundle: each channel that has it, by name, with its entry.
    pub(super) fn places(&self, bundle: &str) -> Vec<(Channel, &'static Value)> {
        let place = |channel: &Channel| {
            let entry = channel
                .entries
                .iter()
                .find(|entry| entry["name"] == bundle)?;
            Some((*channel, entry))
        };
        self.channels.values().filter_map(place).collect()
    }
}

impl Channel {
    /// The one entry that no other replaces or skips.
    pub(super) fn head(&self) -> Option<&'static str> {
        let mut passed = HashSet::new();
        for entry in self.entries {
            passed.extend(text(entry, "replaces"));
            passed.extend(
                entry["skips"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str),
            );
        }
        let names = self.entries.iter().filter_map(|entry| text(entry, "name"));
        let heads: Vec<_> = names.filter(|name| !passed.contains(name)).collect();
        if let [head] = heads[..] {
            Some(head)
        } else {
            None
        }
    }
}

impl Bundle {
    pub(super) fn image(&self) -> &'static str {
        text(self.blob, "image").expect("bundles of the corpus have an image")
    }

    pub(super) fn version(&self) -> &'static str {
        let identity = self
            .values("olm.package")
            .next()
            .expect("bundles of the corpus have an identity");
        text(identity, "version").expect("bundles of the corpus have a version")
    }

    pub(super) fn properties(&self) -> &'static [Value] {
        self.blob["properties"]
            .as_array()
            .expect("bundles of the corpus have properties")
    }

    /// The values of its properties of one type.
    pub(super) fn values(&self, of: &str) -> impl Iterator<Item = &'static Value> {
        self.properties()
            .iter()
            .filter(move |property| property["type"] == of)
            .map(|property| &property["value"])
    }

    /// The group, the version and the kind of each API that it provides.
    pub(super) fn provided(
        &self,
    ) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
        let part = |value, member| text(value, member).unwrap_or_default();
        self.values("olm.gvk").map(move |value| {
            (
                part(value, "group"),
                part(value, "version"),
                part(value, "kind"),
            )
        })
    }
}

/// A text of an object, nothing when there is none or it is empty.
pub(super) fn text(object: &'static Value, member: &str) -> Option<&'static str> {
    object[member].as_str().filter(|text| !text.is_empty())
}

fn packages(blobs: &'static [Value]) -> BTreeMap<&'static str, Package> {
    let of = |schema: &'static str| blobs.iter().filter(move |blob| blob["schema"] == schema);
    let named = |blob, member| {
        text(blob, member).expect("blobs of the corpus name themselves and their package")
    };
    let mut packages = BTreeMap::new();
    for blob in of("olm.package") {
        let name = named(blob, "name");
        packages.insert(name, Package::new(name, blob));
    }
    for blob in of("olm.channel") {
        let entries = blob["entries"].as_array().expect("a channel has entries");
        let package = named(blob, "package");
        let name = named(blob, "name");
        let channel = Channel { name, entries };
        let package = packages.get_mut(package).expect("its package is there");
        package.heads.extend(channel.head());
        package.channels.insert(name, channel);
    }
    for blob in of("olm.bundle") {
        let package = named(blob, "package");
        let name = named(blob, "name");
        let bundle = Bundle {
            package,
            name,
            blob,
        };
        packages
            .get_mut(package)
            .expect("its package is there")
            .bundles
            .insert(name, bundle);
    }
    packages
}

/// A name in which every number has twenty digits.
fn padded(name: &str) -> String {
    let mut padded = String::new();
    for run in name
        .as_bytes()
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
    {
        let run = std::str::from_utf8(run).expect("names of the corpus are ASCII");
        if run.as_bytes()[0].is_ascii_digit() {
            write!(padded, "{run:0>20}").expect("a string takes all text");
        } else {
            padded.push_str(run);
        }
    }
    padded
}

/// The precedence of Semantic Versioning: numbers first, then what is before a release, part by
/// part.
pub(super) fn compare_versions(a: &str, b: &str) -> Ordering {
    let [a, b] = [a, b].map(|text| {
        let text = text.split_once('+').map_or(text, |(text, _build)| text);
        let (numbers, before) = text
            .split_once('-')
            .map_or((text, None), |(numbers, before)| (numbers, Some(before)));
        let numbers: Vec<u64> = numbers
            .split('.')
            .map(|number| number.parse().expect("a version"))
            .collect();
        (numbers, before)
    });
    a.0.cmp(&b.0).then_with(|| match (a.1, b.1) {
        (None, None) => Ordering::Equal,
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (Some(a), Some(b)) => a.split('.').map(part).cmp(b.split('.').map(part)),
    })
}

/// A part of what is before a release: numbers are below words.
fn part(text: &str) -> (bool, u64, &str) {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        (false, text.parse().expect("a number"), "")
    } else {
        (true, 0, text)
    }
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}
