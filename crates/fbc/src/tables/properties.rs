//! Platforms, times of creation and verdicts of OLM v1 of all bundles, for filters and orders.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;

use hashbrown::HashMap;
use jiff::Timestamp;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::array::Array;
use crate::ids::{IdRange, id};
use crate::install_verdict::{InstallVerdict, InstallVerdicts};
use crate::names::{NameInterner, NameTable};
use crate::platform::{Platform, PlatformVersion, VersionRecord};
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};

/// Properties of all bundles that their metadata decides, by bundle id.
pub(crate) struct BundleProperties {
    times: CreationTimes,
    platforms: Platforms,
    pub(crate) verdicts: InstallVerdicts,
}

/// Times of creation in microseconds since 1970; [`UNKNOWN`] where the metadata has none.
struct CreationTimes(Array<i64>);

/// Stands for no time: the first year that is written is 0.
const UNKNOWN: i64 = i64::MIN;

/// The platforms of all bundles of a catalog: four bytes for each bundle, since most say the same
/// as others.
struct Platforms {
    statements: Box<[PlatformStatement]>,
    /// Index in `statements`, by bundle.
    of_bundles: Array<u32>,
}

/// A [`PlatformStatement`] as it is stored.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct StatementRecord {
    min_kubernetes: VersionRecord,
    max_kubernetes: VersionRecord,
    max_openshift: VersionRecord,
    /// Positions in the list of architectures.
    architectures: IdRange,
    /// Positions in the list of versions.
    openshift: IdRange,
}

/// Platforms that a catalog allows a bundle on.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct PlatformStatement {
    /// Lowest version of Kubernetes.
    pub min_kubernetes: Option<PlatformVersion>,
    /// Highest version of Kubernetes.
    pub max_kubernetes: Option<PlatformVersion>,
    /// Highest version of `OpenShift`, from the first property that says it.
    pub max_openshift: Option<PlatformVersion>,
    /// Architectures of the nodes.
    pub architectures: Box<[Box<str>]>,
    /// Versions of `OpenShift` that the life cycle of its package lists; empty when that lists
    /// none.
    pub openshift: Arc<[PlatformVersion]>,
}

/// Collects the properties of bundles, in their order.
#[derive(Default)]
pub(crate) struct BundlePropertiesBuilder {
    times: Vec<i64>,
    statements: HashMap<PlatformStatement, u32>,
    of_bundles: Vec<u32>,
    verdicts: InstallVerdicts,
}

/// Properties of one bundle.
pub(crate) struct DecodedBundle {
    pub(crate) platforms: PlatformStatement,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) verdict: InstallVerdict,
}

impl BundleProperties {
    /// Returns when a bundle was created, in microseconds since 1970.
    pub(crate) fn created_at(&self, bundle: usize) -> Option<i64> {
        self.times
            .0
            .get(bundle)
            .copied()
            .filter(|&time| time != UNKNOWN)
    }

    /// Returns the platforms of a bundle.
    pub(crate) fn platforms(&self, bundle: usize) -> &PlatformStatement {
        &self.platforms.statements[self.platforms.of_bundles[bundle] as usize]
    }
}

impl BundleProperties {
    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        sections.array(&self.times.0)?;
        self.verdicts.write(sections)?;
        self.platforms.write(sections)
    }

    /// Reads the properties of so many bundles.
    pub(crate) fn read(
        sections: &mut SectionReader,
        bundles: usize,
    ) -> Result<Self, StoredIndexError> {
        let times = CreationTimes(sections.array()?);
        sections.check(times.0.len() == bundles)?;
        Ok(Self {
            times,
            verdicts: InstallVerdicts::read(sections, bundles)?,
            platforms: Platforms::read(sections, bundles)?,
        })
    }
}

impl Platforms {
    fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        let mut names = NameInterner::new();
        let mut architectures = Vec::new();
        let mut versions = Vec::new();
        let statements = self.statements.iter().map(|statement| {
            let first_architecture = id(architectures.len());
            let first_version = id(versions.len());
            let own = statement.architectures.iter();
            architectures.extend(own.map(|name| names.intern(Cow::Borrowed(&**name))));
            let listed = statement.openshift.iter();
            versions.extend(listed.map(|&version| VersionRecord::from(Some(version))));
            StatementRecord {
                min_kubernetes: statement.min_kubernetes.into(),
                max_kubernetes: statement.max_kubernetes.into(),
                max_openshift: statement.max_openshift.into(),
                architectures: (first_architecture..id(architectures.len())).into(),
                openshift: (first_version..id(versions.len())).into(),
            }
        });
        let statements: Vec<_> = statements.collect();
        names.finish().write(sections)?;
        sections.array(&architectures)?;
        sections.array(&versions)?;
        sections.array(&statements)?;
        sections.array(&self.of_bundles)
    }

    /// Reads the platforms of so many bundles. The statements, of which there are few, are copied.
    fn read(sections: &mut SectionReader, bundles: usize) -> Result<Self, StoredIndexError> {
        let names = NameTable::read(sections)?;
        let architectures = names.read_names(sections)?;
        let versions: Array<VersionRecord> = sections.array()?;
        let records: Array<StatementRecord> = sections.array()?;
        let is_whole = |record: &StatementRecord| {
            record.architectures.is_within(architectures.len())
                && record.openshift.is_within(versions.len())
        };
        sections.check(records.iter().all(is_whole))?;
        let statement = |record: &StatementRecord| {
            let own = architectures[record.architectures.places()].iter();
            let listed = versions[record.openshift.places()].iter();
            PlatformStatement {
                min_kubernetes: record.min_kubernetes.into(),
                max_kubernetes: record.max_kubernetes.into(),
                max_openshift: record.max_openshift.into(),
                architectures: own.map(|&name| names.get(name).into()).collect(),
                openshift: listed.filter_map(|&version| version.into()).collect(),
            }
        };
        Ok(Self {
            statements: records.iter().map(statement).collect(),
            of_bundles: sections.ids_of(bundles, records.len())?,
        })
    }
}

impl BundlePropertiesBuilder {
    /// Adds the next bundle.
    pub(crate) fn add(&mut self, bundle: DecodedBundle) {
        let next = id(self.statements.len());
        self.of_bundles
            .push(*self.statements.entry(bundle.platforms).or_insert(next));
        let time = bundle.created_at.map(Timestamp::as_microsecond);
        self.times.push(time.unwrap_or(UNKNOWN));
        self.verdicts.push(bundle.verdict);
    }

    pub(crate) fn finish(self) -> BundleProperties {
        let mut statements: Vec<_> = self.statements.into_iter().collect();
        statements.sort_unstable_by_key(|(_, at)| *at);
        BundleProperties {
            times: CreationTimes(Array::new(self.times)),
            verdicts: self.verdicts,
            platforms: Platforms {
                statements: statements
                    .into_iter()
                    .map(|(statement, _)| statement)
                    .collect(),
                of_bundles: Array::new(self.of_bundles),
            },
        }
    }
}

impl PlatformStatement {
    /// Returns whether the bundle is allowed on a platform.
    pub(crate) fn allows(&self, platform: &Platform<'_>) -> bool {
        let is_at_most = |version: PlatformVersion, max: Option<PlatformVersion>| {
            max.is_none_or(|max| version.compare(max).is_le())
        };
        platform.kubernetes.is_none_or(|version| {
            self.min_kubernetes
                .is_none_or(|min| version.compare(min).is_ge())
                && is_at_most(version, self.max_kubernetes)
        }) && platform
            .openshift
            .map(PlatformVersion::of_openshift)
            .is_none_or(|version| {
                is_at_most(
                    version,
                    self.max_openshift.map(PlatformVersion::of_openshift),
                ) && (self.openshift.is_empty()
                    || self
                        .openshift
                        .iter()
                        .any(|listed| version.compare(*listed).is_eq()))
            })
            && platform
                .architecture
                .is_none_or(|name| self.architectures.iter().any(|own| **own == *name))
    }
}
