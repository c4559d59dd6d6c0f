//! Display metadata of all packages, in package order.

use std::io;

use jiff::Timestamp;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::array::Array;
use crate::csv_enums::{CapabilityLevel, InstallModes};
use crate::ids::{IdRange, NONE};
use crate::index::ContentIndex;
use crate::names::{Name, NameTable};
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};

/// Summaries of all packages, in package order.
pub(crate) struct Summaries {
    pub(crate) names: NameTable,
    /// Keywords, categories and features.
    pub(crate) words: Array<Name>,
    pub(crate) records: Array<SummaryRecord>,
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub(crate) struct SummaryRecord {
    /// Id of the bundle that the metadata comes from, or [`NONE`].
    pub(crate) bundle: u32,
    pub(crate) display_name: Name,
    pub(crate) summary: Name,
    pub(crate) provider_name: Name,
    pub(crate) provider_url: Name,
    pub(crate) provider_short_name: Name,
    /// Folded display name, or else name of the package.
    pub(crate) sort_name: Name,
    pub(crate) keywords: IdRange,
    pub(crate) categories: IdRange,
    pub(crate) features: IdRange,
    pub(crate) architectures: IdRange,
    pub(crate) operating_systems: IdRange,
    pub(crate) subscriptions: IdRange,
    /// One more than the level; 0 without one.
    pub(crate) capability_level: u8,
    pub(crate) install_modes: InstallModes,
    /// One more than whether it is; 0 if that is not declared.
    pub(crate) certified: u8,
    pub(crate) has_created_at: u8,
    pub(crate) created_at_second: i64,
    pub(crate) created_at_nanosecond: i32,
    /// Keeps the record without padding.
    pub(crate) reserved: u32,
}

/// Members of a record that are kept in another form.
#[derive(Clone, Copy, Default)]
pub(crate) struct SummaryFacts {
    pub(crate) capability_level: Option<CapabilityLevel>,
    pub(crate) install_modes: InstallModes,
    pub(crate) certified: Option<bool>,
    pub(crate) created_at: Option<Timestamp>,
}

impl SummaryRecord {
    /// Creates the record of a package without texts.
    pub(crate) fn new(bundle: u32, facts: SummaryFacts) -> Self {
        let created_at = facts.created_at.unwrap_or_default();
        Self {
            bundle,
            display_name: Name::NONE,
            summary: Name::NONE,
            provider_name: Name::NONE,
            provider_url: Name::NONE,
            provider_short_name: Name::NONE,
            sort_name: Name::NONE,
            keywords: IdRange::default(),
            categories: IdRange::default(),
            features: IdRange::default(),
            architectures: IdRange::default(),
            operating_systems: IdRange::default(),
            subscriptions: IdRange::default(),
            capability_level: facts.capability_level.map_or(0, |level| level as u8 + 1),
            install_modes: facts.install_modes,
            certified: facts
                .certified
                .map_or(0, |certified| u8::from(certified) + 1),
            has_created_at: u8::from(facts.created_at.is_some()),
            created_at_second: created_at.as_second(),
            created_at_nanosecond: created_at.subsec_nanosecond(),
            reserved: 0,
        }
    }

    pub(crate) fn capability_level(&self) -> Option<CapabilityLevel> {
        let level = usize::from(self.capability_level).checked_sub(1)?;
        CapabilityLevel::ALL.get(level).copied()
    }

    pub(crate) fn certified(&self) -> Option<bool> {
        let certified = self.certified.checked_sub(1)?;
        Some(certified == 1)
    }

    pub(crate) fn created_at(&self) -> Option<Timestamp> {
        if self.has_created_at == 0 {
            return None;
        }
        Timestamp::new(self.created_at_second, self.created_at_nanosecond).ok()
    }

    fn texts(&self) -> [Name; 6] {
        [
            self.display_name,
            self.summary,
            self.provider_name,
            self.provider_url,
            self.provider_short_name,
            self.sort_name,
        ]
    }

    fn lists(&self) -> [IdRange; 6] {
        [
            self.keywords,
            self.categories,
            self.features,
            self.architectures,
            self.operating_systems,
            self.subscriptions,
        ]
    }
}

impl Summaries {
    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        self.names.write(sections)?;
        sections.array(&self.words)?;
        sections.array(&self.records)
    }

    pub(crate) fn read(
        sections: &mut SectionReader,
        index: &ContentIndex,
    ) -> Result<Self, StoredIndexError> {
        let names = NameTable::read(sections)?;
        let words = names.read_names(sections)?;
        let records: Array<SummaryRecord> = sections.array()?;
        let bundles = index.bundles.len();
        let is_whole = |record: &SummaryRecord| {
            (record.bundle == NONE || (record.bundle as usize) < bundles)
                && record.texts().iter().all(|&name| names.has(name))
                && record
                    .lists()
                    .iter()
                    .all(|list| list.is_within(words.len()))
        };
        let are_all = records.len() == index.packages.len();
        sections.check(are_all && records.iter().all(is_whole))?;
        Ok(Self {
            names,
            words,
            records,
        })
    }
}
