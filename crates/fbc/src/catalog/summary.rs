//! Summaries: what lists, filters, facets, orders and search need of each package, decoded once for a catalog.

use std::borrow::Cow;
use std::ops::Range;

use hashbrown::HashSet;
use jiff::Timestamp;

use super::metadata::{CapabilityLevel, InstallModes};
use super::names::{Interner, Name, Names};
use super::record::NONE;
use super::{Bundle, Catalog, Head, JsonText, Package};

/// What a package says of itself in lists. It is decoded once, so that asking again costs nothing.
#[derive(Clone, Copy)]
pub struct Summary<'a> {
    catalog: &'a Catalog,
    summaries: &'a Summaries,
    record: &'a SummaryRecord,
}

/// The summaries of all packages, in their order.
pub(super) struct Summaries {
    names: Names,
    /// Keywords, categories and features.
    words: Vec<Name>,
    records: Vec<SummaryRecord>,
}

#[derive(Default)]
struct SummaryRecord {
    /// Where it was read from.
    bundle: u32,
    display_name: Option<Name>,
    provider_name: Option<Name>,
    provider_url: Option<Name>,
    keywords: Range<u32>,
    categories: Range<u32>,
    features: Range<u32>,
    capability_level: Option<CapabilityLevel>,
    install_modes: InstallModes,
    certified: Option<bool>,
    created_at: Option<Timestamp>,
}

impl<'a> Package<'a> {
    /// What it says of itself in lists.
    pub fn summary(self) -> Summary<'a> {
        let summaries = self.catalog().summaries();
        Summary { catalog: self.catalog(), summaries, record: &summaries.records[self.place()] }
    }

    /// The bundle whose metadata speaks for the package: the head of its default channel, or else, where that is
    /// missing or has no metadata, the one of the highest version that has.
    pub fn metadata_bundle(self) -> Option<Bundle<'a>> {
        self.summary().bundle()
    }
}

impl<'a> Summary<'a> {
    /// The bundle that it was read from, [`Package::metadata_bundle`]; without one, everything else is empty.
    pub fn bundle(self) -> Option<Bundle<'a>> {
        (self.record.bundle != NONE).then(|| Bundle::new(self.catalog, self.record.bundle))
    }

    /// Name to show; `None` when it is missing or empty.
    pub fn display_name(self) -> Option<&'a str> {
        self.text(self.record.display_name)
    }

    /// Who provides it; `None` when that is missing or empty.
    pub fn provider_name(self) -> Option<&'a str> {
        self.text(self.record.provider_name)
    }

    /// Where to read of the provider; `None` when that is missing or empty.
    pub fn provider_url(self) -> Option<&'a str> {
        self.text(self.record.provider_url)
    }

    /// Words to find it by, each once, in the author's order; none is blank.
    pub fn keywords(self) -> impl ExactSizeIterator<Item = &'a str> {
        self.words(&self.record.keywords)
    }

    /// Categories, as [`CsvMetadata::categories`](super::CsvMetadata::categories).
    pub fn categories(self) -> impl ExactSizeIterator<Item = &'a str> {
        self.words(&self.record.categories)
    }

    /// Platform features, as [`CsvMetadata::infrastructure_features`](super::CsvMetadata::infrastructure_features).
    pub fn infrastructure_features(self) -> impl ExactSizeIterator<Item = &'a str> {
        self.words(&self.record.features)
    }

    /// How much of the work is automated; `None` when it does not say, or not in a known word.
    pub fn capability_level(self) -> Option<CapabilityLevel> {
        self.record.capability_level
    }

    /// Which namespaces it can be installed for.
    pub fn install_modes(self) -> InstallModes {
        self.record.install_modes
    }

    /// Whether it is certified, in its author's word.
    pub fn certified(self) -> Option<bool> {
        self.record.certified
    }

    /// When the bundle was created; `None` when it does not say, or in no known form.
    pub fn created_at(self) -> Option<Timestamp> {
        self.record.created_at
    }

    fn text(self, name: Option<Name>) -> Option<&'a str> {
        name.and_then(|name| self.summaries.names.get_optional(name))
    }

    fn words(self, range: &Range<u32>) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let words = &self.summaries.words[range.start as usize..range.end as usize];
        words.iter().map(move |&word| self.summaries.names.get(word))
    }
}

impl Summaries {
    /// Reads the metadata of every package.
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut writer = Writer { names: Interner::new(), words: Vec::new() };
        let records = catalog.packages().map(|package| writer.record(package)).collect();
        writer.words.shrink_to_fit();
        Self { names: writer.names.finish(), words: writer.words, records }
    }
}

/// Makes records, one after the other, that share their names.
struct Writer {
    names: Interner<'static>,
    words: Vec<Name>,
}

impl Writer {
    fn record(&mut self, package: Package<'_>) -> SummaryRecord {
        let head = package.default_channel().and_then(|channel| match channel.head() {
            Head::One(entry) => entry.bundle(),
            Head::None | Head::Several => None,
        });
        let found = head.into_iter().chain(package.bundles()).find_map(|bundle| Some((bundle, bundle.metadata()?)));
        let Some((bundle, metadata)) = found else {
            return SummaryRecord { bundle: NONE, ..SummaryRecord::default() };
        };
        let provider = metadata.provider();
        let keywords = metadata.keywords().into_iter().map(JsonText::decode);
        SummaryRecord {
            bundle: super::id(bundle.place()),
            display_name: self.name(metadata.display_name()),
            provider_name: self.name(provider.and_then(|provider| provider.name)),
            provider_url: self.name(provider.and_then(|provider| provider.url)),
            keywords: self.words(keywords.filter(|word| !word.trim().is_empty())),
            categories: self.words(metadata.categories().into_iter().map(Cow::Owned)),
            features: self.words(metadata.infrastructure_features().into_iter().map(Cow::Owned)),
            capability_level: metadata.capability_level(),
            install_modes: metadata.install_modes(),
            certified: metadata.certified(),
            created_at: metadata.created_at(),
        }
    }

    fn name(&mut self, text: Option<JsonText<'_>>) -> Option<Name> {
        text.map(|text| self.names.intern(Cow::Owned(text.decode().into_owned())))
    }

    /// Keeps words, each once.
    fn words<'t>(&mut self, words: impl Iterator<Item = Cow<'t, str>>) -> Range<u32> {
        let start = self.words.len();
        let mut seen = HashSet::new();
        for word in words {
            let name = self.names.intern(Cow::Owned(word.into_owned()));
            if seen.insert(name) {
                self.words.push(name);
            }
        }
        super::id(start)..super::id(self.words.len())
    }
}
