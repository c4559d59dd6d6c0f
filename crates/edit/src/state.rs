//! A package while it is edited: its blobs with what operations look at.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use fbc::version::Version;

use crate::bundle::Placement;
use crate::error::EditError;
use crate::meta::Meta;
use crate::value::{Members, Value};

/// A package while it is edited.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// The `olm.package`; `None` when there is none yet.
    pub(crate) blob: Option<Blob>,
    pub(crate) channels: Vec<Channel>,
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) deprecations: Option<Blob>,
}

/// A blob whose members are edited as they are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Blob {
    /// Number in the content; `None` for a new blob.
    pub(crate) id: Option<usize>,
    pub(crate) members: Members,
}

/// An `olm.channel`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) entries: Vec<Entry>,
    /// Every member but its entries.
    pub(crate) blob: Blob,
}

/// An entry of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) replaces: String,
    pub(crate) skips: Vec<String>,
    pub(crate) skip_range: String,
    /// Members that this program does not know.
    pub(crate) others: Members,
}

/// An `olm.bundle`.
#[derive(Clone, Debug)]
pub(crate) struct Bundle {
    pub(crate) name: String,
    pub(crate) image: String,
    pub(crate) version: String,
    pub(crate) release: String,
    /// Whether the package was truncated at this bundle.
    pub(crate) is_truncated: bool,
    pub(crate) blob: Blob,
    /// Where it is to go; `None` for a bundle that was there before.
    pub(crate) placement: Option<Placement>,
}

impl Package {
    /// Collects a package from its blobs. Of several with one key the first counts.
    pub(crate) fn read<'m>(name: &str, metas: impl Iterator<Item = &'m Meta>) -> Result<Self, EditError> {
        let mut package = Self { name: name.to_owned(), ..Self::default() };
        for meta in metas {
            let blob = || Ok(Blob { id: Some(meta.id), members: meta.members()? });
            match &*meta.schema {
                "olm.package" if package.blob.is_none() => package.blob = Some(blob()?),
                "olm.channel" if package.channel(&meta.name).is_none() => package.channels.push(Channel::read(blob()?)),
                "olm.bundle" if package.bundle(&meta.name).is_none() => package.bundles.push(Bundle::read(blob()?)),
                "olm.deprecations" if package.deprecations.is_none() => package.deprecations = Some(blob()?),
                _ => {}
            }
        }
        Ok(package)
    }

    pub(crate) fn channel(&self, name: &str) -> Option<&Channel> {
        self.channels.iter().find(|channel| channel.name == name)
    }

    /// Returns the channel of a name, creating it if there is none.
    pub(crate) fn channel_mut(&mut self, name: &str) -> &mut Channel {
        let at = self.channels.iter().position(|channel| channel.name == name).unwrap_or_else(|| {
            self.channels.push(Channel::new(&self.name, name));
            self.channels.len() - 1
        });
        &mut self.channels[at]
    }

    pub(crate) fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| bundle.name == name)
    }

    pub(crate) fn default_channel(&self) -> &str {
        let found = self.blob.as_ref().and_then(|blob| blob.members.get("defaultChannel"));
        found.and_then(Value::as_str).unwrap_or_default()
    }

    /// Sets the default channel, creating the `olm.package` if there is none.
    pub(crate) fn set_default_channel(&mut self, channel: &str) {
        self.members().insert("defaultChannel".to_owned(), Value::text(channel));
    }

    /// Returns the members of the `olm.package`, which is created if there is none.
    pub(crate) fn members(&mut self) -> &mut Members {
        let name = &self.name;
        let new = || {
            let members = [("schema", Value::text("olm.package")), ("name", Value::text(name))];
            Blob { id: None, members: members.map(|(key, value)| (key.to_owned(), value)).into() }
        };
        &mut self.blob.get_or_insert_with(new).members
    }

    /// Removes bundles that no channel has, and the channels that have no entry.
    pub(crate) fn prune_stranded(&mut self) {
        self.channels.retain(|channel| !channel.entries.is_empty());
        let placed = self.placed();
        self.bundles.retain(|bundle| placed.contains(&bundle.name));
    }

    /// Finds the bundles that no channel has, sorted.
    pub(crate) fn stranded(&self) -> Vec<String> {
        let placed = self.placed();
        let names: BTreeSet<_> = self.bundles.iter().map(|bundle| &bundle.name).collect();
        names.into_iter().filter(|name| !placed.contains(*name)).cloned().collect()
    }

    fn placed(&self) -> BTreeSet<String> {
        self.channels.iter().flat_map(|channel| &channel.entries).map(|entry| entry.name.clone()).collect()
    }

    /// Returns the blobs of the package, each with its number in the content, if it has one.
    pub(crate) fn blobs(&self) -> Vec<(Option<usize>, Value)> {
        let whole = |blob: &Blob| (blob.id, Value::Object(blob.members.clone()));
        let mut blobs: Vec<_> = self.blob.iter().map(whole).collect();
        blobs.extend(self.channels.iter().map(|channel| (channel.blob.id, channel.value())));
        blobs.extend(self.bundles.iter().map(|bundle| whole(&bundle.blob)));
        blobs.extend(self.deprecations.iter().map(whole));
        blobs
    }
}

impl Channel {
    pub(crate) fn new(package: &str, name: &str) -> Self {
        let members = [("schema", "olm.channel"), ("package", package), ("name", name)];
        let members = members.map(|(key, text)| (key.to_owned(), Value::text(text))).into();
        Self { name: name.to_owned(), entries: Vec::new(), blob: Blob { id: None, members } }
    }

    pub(crate) fn read(mut blob: Blob) -> Self {
        let entries = blob.members.remove("entries");
        let entries = if let Some(Value::Array(items)) = &entries { &items[..] } else { &[] };
        let name = text_of(&blob.members, "name");
        Self { name, entries: entries.iter().map(Entry::read).collect(), blob }
    }

    pub(crate) fn value(&self) -> Value {
        let mut members = self.blob.members.clone();
        members.insert("entries".to_owned(), Value::Array(self.entries.iter().map(Entry::value).collect()));
        Value::Object(members)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Replaces the entry of the same name in its place, or adds it at the end.
    pub(crate) fn put(&mut self, entry: Entry) {
        match self.entries.iter_mut().find(|other| other.name == entry.name) {
            Some(other) => *other = entry,
            None => self.entries.push(entry),
        }
    }

    /// Finds the entries that no other entry replaces or skips.
    pub(crate) fn heads(&self) -> Vec<&Entry> {
        let is_covered = |entry: &&Entry| {
            let covers = |other: &Entry| other.replaces == entry.name || other.skips.contains(&entry.name);
            self.entries.iter().any(covers)
        };
        self.entries.iter().filter(|entry| !is_covered(entry)).collect()
    }
}

impl Entry {
    /// Reads an entry as channels have them.
    pub(crate) fn read(value: &Value) -> Self {
        let mut others = value.as_object().cloned().unwrap_or_default();
        let skips = value.list(&["skips"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
        for key in ["name", "replaces", "skips", "skipRange"] {
            others.remove(key);
        }
        let [name, replaces, skip_range] = ["name", "replaces", "skipRange"].map(|key| value.str(key).to_owned());
        Self { name, replaces, skips, skip_range, others }
    }

    /// Returns whether both lead to the same bundles.
    pub(crate) fn has_edges_of(&self, other: &Self) -> bool {
        (&self.replaces, &self.skips, &self.skip_range) == (&other.replaces, &other.skips, &other.skip_range)
    }

    fn value(&self) -> Value {
        let mut members = self.others.clone();
        members.insert("name".to_owned(), Value::text(&*self.name));
        for (key, text) in [("replaces", &self.replaces), ("skipRange", &self.skip_range)] {
            if !text.is_empty() {
                members.insert(key.to_owned(), Value::text(&**text));
            }
        }
        if !self.skips.is_empty() {
            members
                .insert("skips".to_owned(), Value::Array(self.skips.iter().map(|name| Value::text(&**name)).collect()));
        }
        Value::Object(members)
    }
}

impl Bundle {
    /// Reads an `olm.bundle`.
    pub(crate) fn read(blob: Blob) -> Self {
        let empty = Vec::new();
        let properties = if let Some(Value::Array(items)) = blob.members.get("properties") { items } else { &empty };
        let package = properties.iter().find(|property| property.str("type") == "olm.package");
        let of_package =
            |key: &str| package.and_then(|property| property.get("value")).map(|value| value.str(key).to_owned());
        let is_truncated = properties.iter().any(|property| property.str("type") == "olm.deprecated");
        Self {
            name: text_of(&blob.members, "name"),
            image: text_of(&blob.members, "image"),
            version: of_package("version").unwrap_or_default(),
            release: of_package("release").unwrap_or_default(),
            is_truncated,
            blob,
            placement: None,
        }
    }

    /// Orders bundles by version, build metadata and release.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        let versions = (Version::parse(&self.version), Version::parse(&other.version));
        let (Ok(version), Ok(other_version)) = versions else { return versions.0.is_ok().cmp(&versions.1.is_ok()) };
        let builds = || compare_identifiers(version.build(), other_version.build());
        let releases = || compare_identifiers(&self.release, &other.release);
        version.precedence(&other_version).then_with(builds).then_with(releases)
    }
}

/// Orders lists of identifiers as prereleases are ordered; no list comes first.
fn compare_identifiers(a: &str, b: &str) -> Ordering {
    let (x, y) = (format!("0.0.0-{a}"), format!("0.0.0-{b}"));
    match (Version::parse(&x), Version::parse(&y)) {
        (Ok(x), Ok(y)) => x.precedence(&y),
        _ => a.cmp(b),
    }
}

/// Returns the text of a member; empty if there is none.
pub(crate) fn text_of(members: &Members, key: &str) -> String {
    members.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
