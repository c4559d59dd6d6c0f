//! Package summaries: the metadata that lists, filters, facets, sorting and search need, decoded
//! once for a catalog.

use std::borrow::Cow;

use hashbrown::HashSet;
use jiff::Timestamp;

use fbc_read::json::JsonText;

use crate::array::Array;
use crate::bundle::Bundle;
use crate::catalog::Catalog;
use crate::csv_enums::{CapabilityLevel, InstallModes};
use crate::ids::{IdRange, NONE, id};
use crate::metadata::{first_sentence, short_name};
use crate::names::{Name, NameInterner};
use crate::package::{Head, Package};
use crate::tables::search::fold::fold_text;
use crate::tables::summaries::{Summaries, SummaryFacts, SummaryRecord};

/// Display metadata of a package, decoded once for the whole catalog.
#[derive(Clone, Copy)]
pub struct Summary<'a> {
    catalog: &'a Catalog,
    summaries: &'a Summaries,
    record: &'a SummaryRecord,
}

impl<'a> Package<'a> {
    /// Returns its display metadata. The first call on a catalog decodes that of all packages.
    pub fn summary(self) -> Summary<'a> {
        let summaries = self.catalog().summaries();
        Summary {
            catalog: self.catalog(),
            summaries,
            record: &summaries.records[self.place()],
        }
    }

    /// Returns the bundle whose metadata represents the package: the head of its default channel,
    /// or, when that is missing or has no metadata, the highest version that has.
    pub fn metadata_bundle(self) -> Option<Bundle<'a>> {
        self.summary().bundle()
    }
}

impl<'a> Summary<'a> {
    /// Returns the bundle that the metadata comes from, [`Package::metadata_bundle`]; without one,
    /// all else is empty.
    pub fn bundle(self) -> Option<Bundle<'a>> {
        (self.record.bundle != NONE).then(|| Bundle::new(self.catalog, self.record.bundle))
    }

    /// Returns the display name; `None` when missing or empty.
    pub fn display_name(self) -> Option<&'a str> {
        self.text(self.record.display_name)
    }

    /// Returns a text for tiles: that of the metadata, or else the first sentence of the
    /// description of the package, or of the metadata; `None` when there is none of these.
    pub fn summary(self) -> Option<&'a str> {
        self.text(self.record.summary)
    }

    /// Returns the name of the provider; `None` when missing or empty.
    pub fn provider_name(self) -> Option<&'a str> {
        self.text(self.record.provider_name)
    }

    /// Returns the name of the provider without its legal form, such as `Red Hat` for `Red Hat,
    /// Inc.`.
    pub fn provider_short_name(self) -> Option<&'a str> {
        self.text(self.record.provider_short_name)
    }

    /// Returns what the package is ordered by if it is ordered by display name: without letter
    /// case, accents and marks.
    pub fn sort_name(self) -> &'a str {
        self.text(self.record.sort_name).unwrap_or_default()
    }

    /// Returns the URL of the provider; `None` when missing or empty.
    pub fn provider_url(self) -> Option<&'a str> {
        self.text(self.record.provider_url)
    }

    /// Iterates over the keywords, without duplicates and blank ones, in the author's order.
    pub fn keywords(self) -> impl ExactSizeIterator<Item = &'a str> {
        self.words(self.record.keywords)
    }

    /// Iterates over the categories, as
    /// [`CsvMetadata::categories`](crate::CsvMetadata::categories).
    pub fn categories(self) -> impl ExactSizeIterator<Item = &'a str> {
        self.words(self.record.categories)
    }

    /// Iterates over the platform features, as
    /// [`CsvMetadata::infrastructure_features`](crate::CsvMetadata::infrastructure_features).
    pub fn infrastructure_features(self) -> impl ExactSizeIterator<Item = &'a str> {
        self.words(self.record.features)
    }

    /// Iterates over the CPU architectures, as
    /// [`CsvMetadata::architectures`](crate::CsvMetadata::architectures).
    pub fn architectures(self) -> impl ExactSizeIterator<Item = &'a str> {
        self.words(self.record.architectures)
    }

    /// Iterates over the operating systems, as
    /// [`CsvMetadata::operating_systems`](crate::CsvMetadata::operating_systems).
    pub fn operating_systems(self) -> impl ExactSizeIterator<Item = &'a str> {
        self.words(self.record.operating_systems)
    }

    /// Iterates over the subscriptions, as
    /// [`CsvMetadata::valid_subscriptions`](crate::CsvMetadata::valid_subscriptions), without
    /// duplicates.
    pub fn valid_subscriptions(self) -> impl ExactSizeIterator<Item = &'a str> {
        self.words(self.record.subscriptions)
    }

    /// Returns the capability level; `None` when missing or unknown.
    pub fn capability_level(self) -> Option<CapabilityLevel> {
        self.record.capability_level()
    }

    /// Returns the supported install modes.
    pub fn install_modes(self) -> InstallModes {
        self.record.install_modes
    }

    /// Returns whether the author declares it certified.
    pub fn certified(self) -> Option<bool> {
        self.record.certified()
    }

    /// Returns when the bundle was created; `None` when missing or in an unknown format.
    pub fn created_at(self) -> Option<Timestamp> {
        self.record.created_at()
    }

    fn text(self, name: Name) -> Option<&'a str> {
        self.summaries.names.get_optional(name)
    }

    fn words(self, range: IdRange) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let words = &self.summaries.words[range.places()];
        words
            .iter()
            .map(move |&word| self.summaries.names.get(word))
    }
}

impl Catalog {
    /// Returns the summaries of all packages, decoded on first use.
    pub(crate) fn summaries(&self) -> &Summaries {
        self.tables.summaries.get_or_init(|| decode_summaries(self))
    }
}

/// Decodes the metadata of every package.
fn decode_summaries(catalog: &Catalog) -> Summaries {
    let mut builder = SummaryBuilder {
        names: NameInterner::new(),
        words: Vec::new(),
    };
    let records = catalog
        .packages()
        .map(|package| builder.record(package))
        .collect();
    Summaries {
        names: builder.names.finish(),
        words: Array::new(builder.words),
        records,
    }
}

/// Builds records that share one table of names.
struct SummaryBuilder {
    names: NameInterner<'static>,
    words: Vec<Name>,
}

impl SummaryBuilder {
    fn record(&mut self, package: Package<'_>) -> SummaryRecord {
        let head = package
            .default_channel()
            .and_then(|channel| match channel.head() {
                Head::One(entry) => entry.bundle(),
                Head::None | Head::Several => None,
            });
        let found = head
            .into_iter()
            .chain(package.bundles())
            .find_map(|bundle| Some((bundle, bundle.metadata()?)));
        let Some((bundle, metadata)) = found else {
            let summary = package
                .description()
                .and_then(|text| first_sentence(&text.decode()));
            return SummaryRecord {
                summary: self.text(summary),
                sort_name: self.text(Some(fold_text(package.name()))),
                ..SummaryRecord::new(NONE, SummaryFacts::default())
            };
        };
        let provider = metadata.provider();
        let keywords = metadata.keywords().into_iter().map(JsonText::decode);
        let mut descriptions = package
            .description()
            .into_iter()
            .chain(metadata.description());
        let summary = metadata
            .summary()
            .or_else(|| descriptions.find_map(|text| first_sentence(&text.decode())));
        let provider_name = provider.and_then(|provider| provider.name);
        let short_name = provider_name.map(|name| short_name(&name.decode()).to_owned());
        let shown = metadata
            .display_name()
            .map_or(Cow::Borrowed(package.name()), JsonText::decode);
        let facts = SummaryFacts {
            capability_level: metadata.capability_level(),
            install_modes: metadata.install_modes(),
            certified: metadata.certified(),
            created_at: metadata.created_at(),
        };
        SummaryRecord {
            provider_short_name: self.text(short_name),
            sort_name: self.text(Some(fold_text(&shown))),
            architectures: self.words(metadata.architectures().into_iter().map(Cow::Owned)),
            operating_systems: self.words(metadata.operating_systems().into_iter().map(Cow::Owned)),
            subscriptions: self.words(metadata.valid_subscriptions().into_iter().map(Cow::Owned)),
            display_name: self.name(metadata.display_name()),
            summary: self.text(summary),
            provider_name: self.name(provider_name),
            provider_url: self.name(provider.and_then(|provider| provider.url)),
            keywords: self.words(keywords.filter(|word| !word.trim().is_empty())),
            categories: self.words(metadata.categories().into_iter().map(Cow::Owned)),
            features: self.words(
                metadata
                    .infrastructure_features()
                    .into_iter()
                    .map(Cow::Owned),
            ),
            ..SummaryRecord::new(id(bundle.place()), facts)
        }
    }

    fn name(&mut self, text: Option<JsonText<'_>>) -> Name {
        self.text(text.map(|text| text.decode().into_owned()))
    }

    fn text(&mut self, text: Option<String>) -> Name {
        text.map_or(Name::NONE, |text| self.names.intern(Cow::Owned(text)))
    }

    /// Adds the distinct words and returns their range.
    fn words<'t>(&mut self, words: impl Iterator<Item = Cow<'t, str>>) -> IdRange {
        let start = self.words.len();
        let mut seen = HashSet::new();
        for word in words {
            let name = self.names.intern(Cow::Owned(word.into_owned()));
            if seen.insert(name) {
                self.words.push(name);
            }
        }
        (id(start)..id(self.words.len())).into()
    }
}
