//! Links decoded blobs to a [`ContentIndex`]: decides which of several equal keys wins, sorts the
//! records, and resolves names.

use std::ops::Range;

use bytes::Bytes;
use hashbrown::{HashMap, HashSet};

use fbc_grammar::go_quote;
use fbc_grammar::version::{Release, Version};
use fbc_read::problem::{Problem, ProblemCode, ProblemCollector, optional_name};

use crate::array::Array;
use crate::blobs::{BlobLocations, Findings, RawBlobs};
use crate::decode::{BlobBody, DecodedBlob, DecodedDeprecation, DecodedEntry};
use crate::ids::{IdRange, NONE, id};
use crate::index::{ContentIndex, count_schemas};
use crate::key::BundleKey;
use crate::names::{Name, NameTable};
use crate::record::{
    BundleRecord, ChannelRecord, DeprecationRecord, EntryRecord, GvkRecord, HeadRecord, MetaRecord,
    PackageRecord, Payload, PropertyRecord, RequirementRecord,
};

/// Records of an index that is being built, as [`ContentIndex`] has them.
#[derive(Default)]
struct LinkedRecords {
    metas: Vec<MetaRecord>,
    packages: Vec<PackageRecord>,
    channels: Vec<ChannelRecord>,
    entries: Vec<EntryRecord>,
    skips: Vec<Name>,
    bundles: Vec<BundleRecord>,
    bundles_by_name: Vec<u32>,
    placements: Vec<u32>,
    properties: Vec<PropertyRecord>,
    gvks: Vec<GvkRecord>,
    requirements: Vec<RequirementRecord>,
    deprecations: Vec<DeprecationRecord>,
}

/// Builds the index from decoded blobs.
pub(crate) struct Linker<'l> {
    names: NameTable,
    index: LinkedRecords,
    blobs: Vec<(u32, DecodedBlob)>,
    entries: Vec<DecodedEntry>,
    problems: &'l mut ProblemCollector,
    locations: &'l BlobLocations,
    findings: Findings,
    /// Index of each package by name.
    packages: HashMap<Name, u32>,
    /// Index of each bundle by package and name.
    bundles: HashMap<(u32, Name), u32>,
}

impl LinkedRecords {
    /// Completes the index, without its text and the order of images.
    fn finish(self, names: NameTable) -> ContentIndex {
        ContentIndex {
            content: Bytes::new(),
            is_stored: false,
            schemas: count_schemas(&self.metas, &names),
            names,
            metas: Array::new(self.metas),
            packages: Array::new(self.packages),
            channels: Array::new(self.channels),
            entries: Array::new(self.entries),
            skips: Array::new(self.skips),
            bundles: Array::new(self.bundles),
            bundles_by_name: Array::new(self.bundles_by_name),
            bundles_by_image: Array::default(),
            placements: Array::new(self.placements),
            properties: Array::new(self.properties),
            gvks: Array::new(self.gvks),
            requirements: Array::new(self.requirements),
            deprecations: Array::new(self.deprecations),
        }
    }
}

impl<'l> Linker<'l> {
    pub(crate) fn new(
        decoded: RawBlobs<'_>,
        locations: &'l BlobLocations,
        problems: &'l mut ProblemCollector,
    ) -> Self {
        let RawBlobs {
            decoder,
            metas,
            blobs,
            ..
        } = decoded;
        let index = LinkedRecords {
            metas,
            skips: decoder.skips,
            properties: decoder.properties,
            gvks: decoder.gvks,
            requirements: decoder.requirements,
            ..LinkedRecords::default()
        };
        Self {
            names: decoder.names.finish(),
            index,
            blobs,
            entries: decoder.entries,
            problems,
            locations,
            findings: Findings {
                type_mismatches: decoder.type_mismatches,
                unknown_modes: decoder.unknown_modes,
            },
            packages: HashMap::new(),
            bundles: HashMap::new(),
        }
    }

    /// Links all blobs of a content and returns the catalog, without its text.
    pub(crate) fn link(mut self) -> (ContentIndex, Findings) {
        self.report_malformed_blobs();
        self.link_packages();
        let entries = self.link_channels();
        self.link_bundles();
        self.link_entries(&entries);
        self.link_placements();
        self.find_heads();
        self.link_deprecations();
        (self.index.finish(self.names), self.findings)
    }

    /// Reports blobs of a known schema with a value of the wrong type.
    fn report_malformed_blobs(&mut self) {
        for (meta, blob) in &self.blobs {
            if let BlobBody::Malformed(message) = &blob.body {
                let package = || optional_name(self.names.get(blob.package));
                report(
                    self.problems,
                    self.locations,
                    *meta,
                    ProblemCode::BlobMalformed,
                    || Problem {
                        package: package(),
                        ..Problem::new(ProblemCode::BlobMalformed, message.clone())
                    },
                );
            }
        }
    }

    /// Indexes the packages; of several with one name the first wins, so that the result depends on
    /// the content alone. (Upstream reads files in parallel, so which one it keeps may vary.)
    fn link_packages(&mut self) {
        for (meta, blob) in &self.blobs {
            let BlobBody::Package {
                default_channel,
                description,
                properties,
            } = &blob.body
            else {
                continue;
            };
            let name = self.names.get(blob.name);
            if name.is_empty() {
                report(
                    self.problems,
                    self.locations,
                    *meta,
                    ProblemCode::PackageNameMissing,
                    || {
                        let message = "config contains package with no name".to_owned();
                        Problem::new(ProblemCode::PackageNameMissing, message)
                    },
                );
            } else if self.packages.insert(blob.name, 0).is_some() {
                report(
                    self.problems,
                    self.locations,
                    *meta,
                    ProblemCode::PackageDuplicate,
                    || {
                        let message = format!("duplicate package {}", go_quote(name));
                        let problem = Problem::new(ProblemCode::PackageDuplicate, message);
                        Problem {
                            package: optional_name(name),
                            ..problem
                        }
                    },
                );
            } else {
                self.index.packages.push(PackageRecord {
                    meta: *meta,
                    name: blob.name,
                    default_channel_name: *default_channel,
                    default_channel: NONE,
                    description: *description,
                    deprecation: NONE,
                    channels: IdRange::default(),
                    bundles: IdRange::default(),
                    properties: properties.clone().into(),
                });
            }
        }
        let names = &self.names;
        self.index
            .packages
            .sort_unstable_by(|a, b| names.get(a.name).cmp(names.get(b.name)));
        for (at, package) in self.index.packages.iter().enumerate() {
            self.packages.insert(package.name, id(at));
        }
    }

    /// Indexes the channels and returns the range of decoded entries of each.
    fn link_channels(&mut self) -> Vec<Range<u32>> {
        let mut seen = HashSet::new();
        let mut decoded = Vec::new();
        for (meta, blob) in &self.blobs {
            let BlobBody::Channel {
                entries,
                properties,
            } = &blob.body
            else {
                continue;
            };
            let package_name = self.names.get(blob.package);
            let name = self.names.get(blob.name);
            let quoted_package = go_quote(package_name);
            let quoted = go_quote(name);
            let fault = match self.packages.get(&blob.package) {
                None => Some((
                    ProblemCode::ChannelPackageUnknown,
                    format!("unknown package {quoted_package} for channel {quoted}"),
                )),
                Some(_) if name.is_empty() => Some((
                    ProblemCode::ChannelNameMissing,
                    format!("package {quoted_package} contains channel with no name"),
                )),
                Some(package) if !seen.insert((*package, blob.name)) => Some((
                    ProblemCode::ChannelDuplicate,
                    format!("package {quoted_package} has duplicate channel {quoted}"),
                )),
                Some(&package) => {
                    let record = ChannelRecord {
                        meta: *meta,
                        package,
                        name: blob.name,
                        deprecation: NONE,
                        head: HeadRecord::None.into(),
                        entries: IdRange::default(),
                        properties: properties.clone().into(),
                    };
                    decoded.push((record, entries.clone()));
                    None
                }
            };
            if let Some((code, message)) = fault {
                report(self.problems, self.locations, *meta, code, || {
                    let package = optional_name(package_name);
                    let channel = optional_name(name);
                    Problem {
                        package,
                        channel,
                        ..Problem::new(code, message)
                    }
                });
            }
        }
        let names = &self.names;
        decoded.sort_unstable_by(|(a, _), (b, _)| {
            a.package
                .cmp(&b.package)
                .then_with(|| names.get(a.name).cmp(names.get(b.name)))
        });
        for (at, (channel, _)) in decoded.iter().enumerate() {
            let package = &mut self.index.packages[channel.package as usize];
            extend(&mut package.channels, id(at));
            if package.default_channel_name == channel.name {
                package.default_channel = id(at);
            }
        }
        let (channels, entries) = decoded.into_iter().unzip();
        self.index.channels = channels;
        entries
    }

    /// Collects the bundles of known packages; of several with one key the first wins.
    fn link_bundles(&mut self) {
        let mut seen = HashSet::new();
        let mut decoded = Vec::new();
        for (meta, blob) in &self.blobs {
            let BlobBody::Bundle {
                image,
                related_images,
                properties,
            } = &blob.body
            else {
                continue;
            };
            let package_name = self.names.get(blob.package);
            let name = self.names.get(blob.name);
            let quoted_package = go_quote(package_name);
            let quoted = go_quote(name);
            let fault = match self.packages.get(&blob.package) {
                None if package_name.is_empty() => Some((
                    ProblemCode::BundlePackageMissing,
                    format!("package name must be set for bundle {quoted}"),
                )),
                None => Some((
                    ProblemCode::BundlePackageUnknown,
                    format!("unknown package {quoted_package} for bundle {quoted}"),
                )),
                Some(package) if !seen.insert((*package, blob.name)) => Some((
                    ProblemCode::BundleDuplicate,
                    format!("package {quoted_package} has duplicate bundle {quoted}"),
                )),
                Some(&package) => {
                    let (version, release) = self.version(properties);
                    decoded.push(BundleRecord {
                        meta: *meta,
                        package,
                        // An absent name is served as an empty one.
                        name: blob.name,
                        version,
                        release,
                        image: *image,
                        related_images: *related_images,
                        deprecation: NONE,
                        placements: IdRange::default(),
                        properties: properties.clone().into(),
                    });
                    None
                }
            };
            if let Some((code, message)) = fault {
                report(self.problems, self.locations, *meta, code, || {
                    let package = optional_name(package_name);
                    let bundle = optional_name(name);
                    Problem {
                        package,
                        bundle,
                        ..Problem::new(code, message)
                    }
                });
            }
        }
        self.sort_bundles(decoded);
    }

    /// Returns version and release of the first `olm.package` property, each as far as it is
    /// well-formed.
    fn version(&self, properties: &Range<u32>) -> (Name, Name) {
        let properties = &self.index.properties[properties.start as usize..properties.end as usize];
        let found = properties
            .iter()
            .find_map(|property| match property.payload.get() {
                Payload::Package(requirement) => {
                    Some(self.index.requirements[requirement as usize])
                }
                _ => None,
            });
        let Some(found) = found else {
            return (Name::NONE, Name::NONE);
        };
        let valid = |name: Name, is_valid: bool| if is_valid { name } else { Name::NONE };
        let version = valid(
            found.range,
            Version::parse(self.names.get(found.range)).is_ok(),
        );
        let release = self
            .names
            .get_optional(found.release)
            .filter(|release| !release.is_empty());
        (
            version,
            valid(
                found.release,
                release.is_some_and(|release| Release::parse(release).is_ok()),
            ),
        )
    }

    /// Sorts the bundles and indexes them by name.
    fn sort_bundles(&mut self, decoded: Vec<BundleRecord>) {
        let names = &self.names;
        let index = &mut self.index;
        let mut keyed: Vec<(BundleKey<'_>, BundleRecord)> = decoded
            .into_iter()
            .map(|bundle| {
                let package = names.get(index.packages[bundle.package as usize].name);
                let [version, release] =
                    [bundle.version, bundle.release].map(|name| names.get_optional(name));
                (
                    BundleKey::new(package, version, release, names.get(bundle.name)),
                    bundle,
                )
            })
            .collect();
        keyed.sort_unstable_by(|(a, _), (b, _)| a.order(b));
        index.bundles = keyed.into_iter().map(|(_, bundle)| bundle).collect();
        for (at, bundle) in index.bundles.iter().enumerate() {
            extend(&mut index.packages[bundle.package as usize].bundles, id(at));
            self.bundles.insert((bundle.package, bundle.name), id(at));
        }
        let mut by_name: Vec<u32> = (0..id(index.bundles.len())).collect();
        by_name.sort_unstable_by(|&a, &b| {
            let a = &index.bundles[a as usize];
            let b = &index.bundles[b as usize];
            a.package
                .cmp(&b.package)
                .then_with(|| names.get(a.name).cmp(names.get(b.name)))
        });
        index.bundles_by_name = by_name;
    }

    /// Copies the entries of each channel in channel order and resolves their bundles.
    fn link_entries(&mut self, decoded: &[Range<u32>]) {
        let index = &mut self.index;
        index
            .entries
            .reserve_exact(decoded.iter().map(Range::len).sum());
        for (at, (channel, range)) in index.channels.iter_mut().zip(decoded).enumerate() {
            let start = id(index.entries.len());
            for entry in &self.entries[range.start as usize..range.end as usize] {
                index.entries.push(EntryRecord {
                    channel: id(at),
                    name: entry.name,
                    bundle: self
                        .bundles
                        .get(&(channel.package, entry.name))
                        .copied()
                        .unwrap_or(NONE),
                    replaces: entry.replaces,
                    skip_range: entry.skip_range,
                    skips: entry.skips.clone().into(),
                });
            }
            channel.entries = (start..id(index.entries.len())).into();
        }
    }

    /// Lists the entries of each bundle.
    fn link_placements(&mut self) {
        let index = &mut self.index;
        let mut counts = vec![0_u32; index.bundles.len()];
        for entry in index.entries.iter().filter(|entry| entry.bundle != NONE) {
            counts[entry.bundle as usize] += 1;
        }
        let mut start = 0;
        for (bundle, count) in index.bundles.iter_mut().zip(&counts) {
            bundle.placements = IdRange { start, end: start };
            start += count;
        }
        // Counted first and then filled, so that all bundles share one list without gaps.
        index.placements = vec![0; start as usize];
        for (at, entry) in index
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.bundle != NONE)
        {
            let placements = &mut index.bundles[entry.bundle as usize].placements;
            index.placements[placements.end as usize] = id(at);
            placements.end += 1;
        }
    }

    /// Finds the head of each channel: the entry that no entry of the channel replaces or skips.
    fn find_heads(&mut self) {
        let index = &mut self.index;
        // For each name the last channel that replaces or skips it: one table for all channels, which
        // needs no clearing between them, because each channel has another id.
        let mut superseded_in = vec![NONE; self.names.len()];
        for (at, channel) in index.channels.iter_mut().enumerate() {
            let entries = channel.entries.places();
            for entry in &index.entries[entries.clone()] {
                let skips = &index.skips[entry.skips.places()];
                let replaces =
                    Some(entry.replaces).filter(|&name| !self.names.get(name).is_empty());
                for name in skips.iter().copied().chain(replaces) {
                    superseded_in[name.index()] = id(at);
                }
            }
            let mut heads =
                entries.filter(|&entry| superseded_in[index.entries[entry].name.index()] != id(at));
            let head = match (heads.next(), heads.next()) {
                (None, _) => HeadRecord::None,
                (Some(head), None) => HeadRecord::One(id(head)),
                (Some(_), Some(_)) => HeadRecord::Several,
            };
            channel.head = head.into();
        }
    }

    /// Links the deprecations; of several blobs for one package the first wins.
    fn link_deprecations(&mut self) {
        let blobs = std::mem::take(&mut self.blobs);
        let mut seen = HashSet::new();
        let mut count = 0;
        for (meta, blob) in &blobs {
            let BlobBody::Deprecations(entries) = &blob.body else {
                continue;
            };
            match self.deprecated_package(blob.package, count, &mut seen) {
                Ok(package) => entries
                    .iter()
                    .for_each(|entry| self.deprecate(*meta, package, entry)),
                Err(problem) => report(self.problems, self.locations, *meta, problem.code, || {
                    problem
                }),
            }
            count += 1;
        }
    }

    /// Returns the package that a deprecations blob is for, or the problem if it is unknown or has
    /// one already.
    fn deprecated_package(
        &self,
        name: Name,
        count: usize,
        seen: &mut HashSet<u32>,
    ) -> Result<u32, Problem> {
        let package_name = self.names.get(name);
        let quoted = go_quote(package_name);
        let (code, message) = match self.packages.get(&name) {
            None if package_name.is_empty() => (
                ProblemCode::DeprecationPackageMissing,
                format!("package name must be set for deprecation item {count}"),
            ),
            None => (
                ProblemCode::DeprecationPackageUnknown,
                format!("cannot apply deprecations to an unknown package {quoted}"),
            ),
            Some(&package) if seen.insert(package) => return Ok(package),
            Some(_) => (
                ProblemCode::DeprecationDuplicate,
                format!("expected a maximum of one deprecation per package: {quoted}"),
            ),
        };
        Err(Problem {
            package: optional_name(package_name),
            ..Problem::new(code, message)
        })
    }

    /// Links a deprecation to the object that it names. The first of several wins; one of an
    /// unknown object is ignored.
    fn deprecate(&mut self, meta: u32, package: u32, entry: &DecodedDeprecation) {
        let index = &mut self.index;
        let package_record = &mut index.packages[package as usize];
        let (target, name) = match self.names.get(entry.schema) {
            "olm.package" if self.names.get(entry.name).is_empty() => {
                (&mut package_record.deprecation, package_record.name)
            }
            "olm.channel" => {
                let channels = &mut index.channels[package_record.channels.places()];
                let name = self.names.get(entry.name);
                let Ok(at) =
                    channels.binary_search_by(|channel| self.names.get(channel.name).cmp(name))
                else {
                    return;
                };
                (&mut channels[at].deprecation, entry.name)
            }
            "olm.bundle" => {
                let Some(&bundle) = self.bundles.get(&(package, entry.name)) else {
                    return;
                };
                (&mut index.bundles[bundle as usize].deprecation, entry.name)
            }
            _ => return,
        };
        if *target == NONE {
            *target = id(index.deprecations.len());
            index.deprecations.push(DeprecationRecord {
                meta,
                schema: entry.schema,
                name,
                message: entry.message,
            });
        }
    }
}

/// Extends a range of consecutive ids by the next one.
fn extend(range: &mut IdRange, at: u32) {
    if range.len() == 0 {
        range.start = at;
    }
    range.end = at + 1;
}

/// Adds a problem of a blob.
fn report(
    problems: &mut ProblemCollector,
    locations: &BlobLocations,
    meta: u32,
    code: ProblemCode,
    make: impl FnOnce() -> Problem,
) {
    problems.add(code, || locations.locate(make(), meta));
}
