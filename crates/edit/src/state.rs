//! A package while it is edited: its blobs with what operations look at.

mod bundle;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::error::EditError;
use crate::meta::Meta;
use crate::value::{Members, Value};

pub(crate) use bundle::{Bundle, BundleBlob};

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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Blob {
    /// Number in the content; `None` for a new blob.
    pub(crate) id: Option<usize>,
    pub(crate) members: Arc<Members>,
}

/// A blob of a package.
#[derive(PartialEq, Eq)]
pub(crate) enum Part<'p> {
    Blob(&'p Blob),
    Channel(&'p Channel),
    Bundle(&'p BundleBlob),
}

/// An `olm.channel`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

impl Package {
    /// Collects a package from its blobs. Of several with one key the first counts.
    pub(crate) fn read<'m>(
        name: &str,
        metas: impl Iterator<Item = &'m Meta>,
    ) -> Result<Self, EditError> {
        let mut package = Self {
            name: name.to_owned(),
            ..Self::default()
        };
        let mut known: HashSet<(&str, &str)> = HashSet::new();
        for meta in metas {
            let blob = || Ok(Blob::of(meta.id, meta.members()?));
            match &*meta.schema {
                "olm.package" if package.blob.is_none() => package.blob = Some(blob()?),
                "olm.channel" if known.insert(("channel", &meta.name)) => {
                    package.channels.push(Channel::read(blob()?));
                }
                "olm.bundle" if known.insert(("bundle", &meta.name)) => {
                    package.bundles.push(Bundle::of(meta)?);
                }
                "olm.deprecations" if package.deprecations.is_none() => {
                    package.deprecations = Some(blob()?);
                }
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
        let at = self
            .channels
            .iter()
            .position(|channel| channel.name == name)
            .unwrap_or_else(|| {
                self.channels.push(Channel::new(&self.name, name));
                self.channels.len() - 1
            });
        &mut self.channels[at]
    }

    pub(crate) fn bundle(&self, name: &str) -> Option<&Bundle> {
        self.bundles.iter().find(|bundle| bundle.name == name)
    }

    pub(crate) fn channel_names(&self) -> Vec<&str> {
        self.channels.iter().map(|channel| &*channel.name).collect()
    }

    pub(crate) fn bundle_names(&self) -> Vec<&str> {
        self.bundles.iter().map(|bundle| &*bundle.name).collect()
    }

    pub(crate) fn default_channel(&self) -> &str {
        let found = self
            .blob
            .as_ref()
            .and_then(|blob| blob.members.get("defaultChannel"));
        found.and_then(Value::as_str).unwrap_or_default()
    }

    /// Sets the default channel, creating the `olm.package` if there is none.
    pub(crate) fn set_default_channel(&mut self, channel: &str) {
        self.members()
            .insert("defaultChannel".to_owned(), Value::text(channel));
    }

    /// Returns the members of the `olm.package`, which is created if there is none.
    pub(crate) fn members(&mut self) -> &mut Members {
        let name = &self.name;
        let new = || {
            let members = [
                ("schema", Value::text("olm.package")),
                ("name", Value::text(name)),
            ];
            Blob::new(members.map(|(key, value)| (key.to_owned(), value)).into())
        };
        self.blob.get_or_insert_with(new).members_mut()
    }

    /// Removes bundles that no channel has, and the channels that have no entry.
    pub(crate) fn prune_stranded(&mut self) {
        self.channels.retain(|channel| !channel.entries.is_empty());
        let placed: HashSet<&str> = placed(&self.channels).collect();
        self.bundles.retain(|bundle| placed.contains(&*bundle.name));
    }

    /// Finds the bundles that no channel has.
    pub(crate) fn stranded(&self) -> BTreeSet<&str> {
        let placed: HashSet<&str> = placed(&self.channels).collect();
        self.bundles
            .iter()
            .map(|bundle| &*bundle.name)
            .filter(|name| !placed.contains(name))
            .collect()
    }

    /// Returns the blobs of the package.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let channels = self.channels.iter().map(Part::Channel);
        let bundles = self.bundles.iter().map(|bundle| Part::Bundle(&bundle.blob));
        self.blob
            .iter()
            .map(Part::Blob)
            .chain(channels)
            .chain(bundles)
            .chain(self.deprecations.iter().map(Part::Blob))
    }

    /// Counts the entries of its channels and what these skip.
    pub(crate) fn edges(&self) -> usize {
        self.channels.iter().map(Channel::edges).sum()
    }

    /// Ends an operation: new blobs get numbers, and new bundles are bundles like others.
    pub(crate) fn settle(&mut self, next: &mut usize) {
        let mut number = |id: &mut Option<usize>| {
            id.get_or_insert_with(|| {
                *next += 1;
                *next - 1
            });
        };
        self.blob.iter_mut().for_each(|blob| number(&mut blob.id));
        self.channels
            .iter_mut()
            .for_each(|channel| number(&mut channel.blob.id));
        for bundle in &mut self.bundles {
            if let BundleBlob::Parsed(blob) = &mut bundle.blob {
                number(&mut blob.id);
            }
            bundle.placement = None;
        }
        self.deprecations
            .iter_mut()
            .for_each(|blob| number(&mut blob.id));
    }
}

impl Blob {
    /// Creates a new blob.
    pub(crate) fn new(members: Members) -> Self {
        Self {
            id: None,
            members: Arc::new(members),
        }
    }

    pub(super) fn of(id: usize, members: Members) -> Self {
        Self {
            id: Some(id),
            members: Arc::new(members),
        }
    }

    pub(crate) fn members_mut(&mut self) -> &mut Members {
        Arc::make_mut(&mut self.members)
    }

    fn value(&self) -> Value {
        Value::Object(Members::clone(&self.members))
    }
}

impl Part<'_> {
    /// Returns the number in the content.
    pub(crate) fn id(&self) -> Option<usize> {
        match *self {
            Self::Blob(blob) | Self::Bundle(BundleBlob::Parsed(blob)) => blob.id,
            Self::Channel(channel) => channel.blob.id,
            Self::Bundle(BundleBlob::Unparsed(meta)) => Some(meta.id),
        }
    }

    pub(crate) fn value(&self) -> Value {
        match *self {
            Self::Blob(blob) | Self::Bundle(BundleBlob::Parsed(blob)) => blob.value(),
            Self::Channel(channel) => channel.value(),
            // It was not parsed, so that it did not change.
            Self::Bundle(BundleBlob::Unparsed(meta)) => meta.value().unwrap_or(Value::Null),
        }
    }
}

impl Channel {
    pub(crate) fn new(package: &str, name: &str) -> Self {
        let members = [
            ("schema", "olm.channel"),
            ("package", package),
            ("name", name),
        ];
        let members = members
            .map(|(key, text)| (key.to_owned(), Value::text(text)))
            .into();
        Self {
            name: name.to_owned(),
            entries: Vec::new(),
            blob: Blob::new(members),
        }
    }

    pub(crate) fn read(mut blob: Blob) -> Self {
        let entries = blob.members_mut().remove("entries");
        let entries = if let Some(Value::Array(items)) = &entries {
            &items[..]
        } else {
            &[]
        };
        let name = text_of(&blob.members, "name");
        Self {
            name,
            entries: entries.iter().map(Entry::read).collect(),
            blob,
        }
    }

    pub(crate) fn value(&self) -> Value {
        let mut members = Members::clone(&self.blob.members);
        members.insert(
            "entries".to_owned(),
            Value::Array(self.entries.iter().map(Entry::value).collect()),
        );
        Value::Object(members)
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Counts its entries and what they skip.
    pub(crate) fn edges(&self) -> usize {
        self.entries.iter().map(|entry| 1 + entry.skips.len()).sum()
    }

    /// Replaces entries of the same names in their places, or adds them at the end.
    pub(crate) fn put(&mut self, entries: impl IntoIterator<Item = Entry>) {
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, entry) in self.entries.iter().enumerate() {
            places.entry(entry.name.clone()).or_insert(at);
        }
        for entry in entries {
            let at = *places
                .entry(entry.name.clone())
                .or_insert(self.entries.len());
            match self.entries.get_mut(at) {
                Some(other) => *other = entry,
                None => self.entries.push(entry),
            }
        }
    }

    /// Finds the entries that no other entry replaces or skips.
    pub(crate) fn heads(&self) -> Vec<&Entry> {
        let covered = self
            .entries
            .iter()
            .flat_map(|entry| entry.skips.iter().chain([&entry.replaces]));
        let covered: HashSet<&String> = covered.collect();
        self.entries
            .iter()
            .filter(|entry| !covered.contains(&entry.name))
            .collect()
    }
}

impl Entry {
    /// Reads an entry as channels have them.
    pub(crate) fn read(value: &Value) -> Self {
        let mut others = value.as_object().cloned().unwrap_or_default();
        let skips = value
            .list(&["skips"])
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        for key in ["name", "replaces", "skips", "skipRange"] {
            others.remove(key);
        }
        let [name, replaces, skip_range] =
            ["name", "replaces", "skipRange"].map(|key| value.str(key).to_owned());
        Self {
            name,
            replaces,
            skips,
            skip_range,
            others,
        }
    }

    /// Returns whether both lead to the same bundles.
    pub(crate) fn has_edges_of(&self, other: &Self) -> bool {
        (&self.replaces, &self.skips, &self.skip_range)
            == (&other.replaces, &other.skips, &other.skip_range)
    }

    fn value(&self) -> Value {
        let mut members = self.others.clone();
        members.insert("name".to_owned(), Value::text(&*self.name));
        for (key, text) in [
            ("replaces", &self.replaces),
            ("skipRange", &self.skip_range),
        ] {
            if !text.is_empty() {
                members.insert(key.to_owned(), Value::text(&**text));
            }
        }
        if !self.skips.is_empty() {
            members.insert(
                "skips".to_owned(),
                Value::Array(self.skips.iter().map(|name| Value::text(&**name)).collect()),
            );
        }
        Value::Object(members)
    }
}

/// Returns the names of the entries of channels.
fn placed(channels: &[Channel]) -> impl Iterator<Item = &str> {
    channels
        .iter()
        .flat_map(|channel| &channel.entries)
        .map(|entry| &*entry.name)
}

/// Returns the text of a member; empty if there is none.
pub(crate) fn text_of(members: &Members, key: &str) -> String {
    members
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}
