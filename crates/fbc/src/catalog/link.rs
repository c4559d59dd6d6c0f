//! Decoded blobs → a [`Catalog`]: decides what wins, puts everything in its place and links names to objects.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use hashbrown::{HashMap, HashSet};

use super::build::{Findings, RawBlobs};
use super::decode::{Blob, Body, DeprecationEntry, Entry};
use super::derived::Derived;
use super::names::{Name, Names};
use super::record::{
    BundleRecord, ChannelRecord, DeprecationRecord, EntryRecord, FileRecord, HeadRecord, NONE, PackageRecord, Payload,
};
use super::{BundleKey, Catalog, SchemaCount, id};
use crate::problem::{Code, Problem};
use crate::quote::go_quote;
use crate::version::{Release, Version};

/// Decides what wins and links it.
pub(super) struct Linker {
    names: Names,
    catalog: Catalog,
    blobs: Vec<(u32, Blob)>,
    entries: Vec<Entry>,
    faults: Vec<(u32, Problem)>,
    misfits: Vec<(u32, String)>,
    unknown_modes: Vec<(u32, String)>,
    /// The place of each package, by name.
    packages: HashMap<Name, u32>,
    /// The place of each bundle, by package and name.
    bundles: HashMap<(u32, Name), u32>,
}

impl Linker {
    pub(super) fn new(drafts: RawBlobs<'_>) -> Self {
        let RawBlobs { decoder, metas, blobs, schemas } = drafts;
        let known: Vec<_> = schemas.iter().map(|(&schema, &count)| (schema, count, decoder.is_known(schema))).collect();
        let names = decoder.names.finish();
        let mut schemas: Vec<SchemaCount> = known
            .into_iter()
            .map(|(schema, count, known)| SchemaCount { schema: names.get(schema).into(), count, known })
            .collect();
        schemas.sort_unstable_by(|a, b| a.schema.cmp(&b.schema));
        let catalog = Catalog {
            content: Bytes::new(),
            names: Names::default(),
            files: Vec::new(),
            metas: shrunk(metas),
            packages: Vec::new(),
            channels: Vec::new(),
            entries: Vec::new(),
            skips: shrunk(decoder.skips),
            bundles: Vec::new(),
            bundles_by_name: Vec::new(),
            bundles_by_image: Vec::new(),
            placements: Vec::new(),
            properties: shrunk(decoder.properties),
            gvks: shrunk(decoder.gvks),
            requirements: shrunk(decoder.requirements),
            deprecations: Vec::new(),
            schemas,
            problems: Vec::new(),
            derived: Derived::default(),
        };
        Self {
            names,
            catalog,
            blobs,
            entries: decoder.entries,
            faults: Vec::new(),
            misfits: decoder.misfits,
            unknown_modes: decoder.unknown_modes,
            packages: HashMap::new(),
            bundles: HashMap::new(),
        }
    }

    pub(super) fn assemble(mut self, files: Vec<FileRecord>) -> (Catalog, Findings) {
        self.malformed();
        self.packages();
        let entries = self.channels();
        self.bundles();
        self.entries(&entries);
        self.placements();
        self.heads();
        self.deprecations();
        self.catalog.files = files;
        self.catalog.names = self.names;
        let findings = Findings { faults: self.faults, misfits: self.misfits, unknown_modes: self.unknown_modes };
        (self.catalog, findings)
    }

    /// Blobs of a known schema with a value of the wrong type.
    fn malformed(&mut self) {
        for (meta, blob) in &self.blobs {
            if let Body::Malformed(message) = &blob.body {
                let package = self.names.get_optional(blob.package).map(Arc::from);
                self.faults.push((*meta, Problem { package, ..Problem::new(Code::BlobMalformed, message.clone()) }));
            }
        }
    }

    fn packages(&mut self) {
        for (meta, blob) in &self.blobs {
            let Body::Package { default_channel, description, properties } = &blob.body else {
                continue;
            };
            let name = self.names.get(blob.name);
            if name.is_empty() {
                let message = "config contains package with no name".to_owned();
                self.faults.push((*meta, Problem::new(Code::PackageNameMissing, message)));
            } else if self.packages.insert(blob.name, 0).is_some() {
                let message = format!("duplicate package {}", go_quote(name));
                let problem = Problem::new(Code::PackageDuplicate, message);
                self.faults.push((*meta, Problem { package: Some(name.into()), ..problem }));
            } else {
                self.catalog.packages.push(PackageRecord {
                    meta: *meta,
                    name: blob.name,
                    default_channel_name: *default_channel,
                    default_channel: NONE,
                    description: *description,
                    deprecation: NONE,
                    channels: 0..0,
                    bundles: 0..0,
                    properties: properties.clone(),
                });
            }
        }
        let names = &self.names;
        self.catalog.packages.sort_unstable_by(|a, b| names.get(a.name).cmp(names.get(b.name)));
        self.catalog.packages.shrink_to_fit();
        for (at, package) in self.catalog.packages.iter().enumerate() {
            self.packages.insert(package.name, id(at));
        }
    }

    /// Places channels; what it answers are the draft entries of each.
    fn channels(&mut self) -> Vec<Range<u32>> {
        let mut seen = HashSet::new();
        let mut drafts = Vec::new();
        for (meta, blob) in &self.blobs {
            let Body::Channel { entries, properties } = &blob.body else {
                continue;
            };
            let (package_name, name) = (self.names.get(blob.package), self.names.get(blob.name));
            let (quoted_package, quoted) = (go_quote(package_name), go_quote(name));
            let fault = match self.packages.get(&blob.package) {
                None => Some((
                    Code::ChannelPackageUnknown,
                    format!("unknown package {quoted_package} for channel {quoted}"),
                )),
                Some(_) if name.is_empty() => {
                    Some((Code::ChannelNameMissing, format!("package {quoted_package} contains channel with no name")))
                }
                Some(package) if !seen.insert((*package, blob.name)) => {
                    Some((Code::ChannelDuplicate, format!("package {quoted_package} has duplicate channel {quoted}")))
                }
                Some(&package) => {
                    let record = ChannelRecord {
                        meta: *meta,
                        package,
                        name: blob.name,
                        deprecation: NONE,
                        head: HeadRecord::None,
                        entries: 0..0,
                        properties: properties.clone(),
                    };
                    drafts.push((record, entries.clone()));
                    None
                }
            };
            if let Some((code, message)) = fault {
                let (package, channel) = (optional(package_name), optional(name));
                self.faults.push((*meta, Problem { package, channel, ..Problem::new(code, message) }));
            }
        }
        let names = &self.names;
        drafts.sort_unstable_by(|(a, _), (b, _)| {
            a.package.cmp(&b.package).then_with(|| names.get(a.name).cmp(names.get(b.name)))
        });
        for (at, (channel, _)) in drafts.iter().enumerate() {
            let package = &mut self.catalog.packages[channel.package as usize];
            extend(&mut package.channels, id(at));
            if package.default_channel_name == channel.name {
                package.default_channel = id(at);
            }
        }
        let (channels, entries) = drafts.into_iter().unzip();
        self.catalog.channels = channels;
        entries
    }

    fn bundles(&mut self) {
        let mut seen = HashSet::new();
        let mut drafts = Vec::new();
        for (meta, blob) in &self.blobs {
            let Body::Bundle { image, related_images, properties } = &blob.body else {
                continue;
            };
            let (package_name, name) = (self.names.get(blob.package), self.names.get(blob.name));
            let (quoted_package, quoted) = (go_quote(package_name), go_quote(name));
            let fault = match self.packages.get(&blob.package) {
                None if package_name.is_empty() => {
                    Some((Code::BundlePackageMissing, format!("package name must be set for bundle {quoted}")))
                }
                None => {
                    Some((Code::BundlePackageUnknown, format!("unknown package {quoted_package} for bundle {quoted}")))
                }
                Some(package) if !seen.insert((*package, blob.name)) => {
                    Some((Code::BundleDuplicate, format!("package {quoted_package} has duplicate bundle {quoted}")))
                }
                Some(&package) => {
                    let (version, release) = self.version(properties);
                    drafts.push(BundleRecord {
                        meta: *meta,
                        package,
                        // An absent name is served as an empty one.
                        name: blob.name,
                        version,
                        release,
                        image: *image,
                        related_images: *related_images,
                        deprecation: NONE,
                        placements: 0..0,
                        properties: properties.clone(),
                    });
                    None
                }
            };
            if let Some((code, message)) = fault {
                let (package, bundle) = (optional(package_name), optional(name));
                self.faults.push((*meta, Problem { package, bundle, ..Problem::new(code, message) }));
            }
        }
        self.place_bundles(drafts);
    }

    /// The version and release of the first `olm.package` property, as far as they are well-formed.
    fn version(&self, properties: &Range<u32>) -> (Name, Name) {
        let properties = &self.catalog.properties[properties.start as usize..properties.end as usize];
        let found = properties.iter().find_map(|property| match property.payload {
            Payload::Package(requirement) => Some(self.catalog.requirements[requirement as usize]),
            _ => None,
        });
        let Some(found) = found else {
            return (Name::NONE, Name::NONE);
        };
        let valid = |name: Name, is_valid: bool| if is_valid { name } else { Name::NONE };
        let version = valid(found.range, Version::parse(self.names.get(found.range)).is_ok());
        let release = self.names.get_optional(found.release).filter(|release| !release.is_empty());
        (version, valid(found.release, release.is_some_and(|release| Release::parse(release).is_ok())))
    }

    fn place_bundles(&mut self, drafts: Vec<BundleRecord>) {
        let (names, catalog) = (&self.names, &mut self.catalog);
        let mut keyed: Vec<(BundleKey<'_>, BundleRecord)> = drafts
            .into_iter()
            .map(|bundle| {
                let package = names.get(catalog.packages[bundle.package as usize].name);
                let [version, release] = [bundle.version, bundle.release].map(|name| names.get_optional(name));
                (BundleKey::new(package, version, release, names.get(bundle.name)), bundle)
            })
            .collect();
        keyed.sort_unstable_by(|(a, _), (b, _)| a.order(b));
        catalog.bundles = keyed.into_iter().map(|(_, bundle)| bundle).collect();
        for (at, bundle) in catalog.bundles.iter().enumerate() {
            extend(&mut catalog.packages[bundle.package as usize].bundles, id(at));
            self.bundles.insert((bundle.package, bundle.name), id(at));
        }
        let mut by_name: Vec<u32> = (0..id(catalog.bundles.len())).collect();
        by_name.sort_unstable_by(|&a, &b| {
            let (a, b) = (&catalog.bundles[a as usize], &catalog.bundles[b as usize]);
            a.package.cmp(&b.package).then_with(|| names.get(a.name).cmp(names.get(b.name)))
        });
        catalog.bundles_by_name = by_name;
    }

    /// Puts the entries of each channel in their places and links them to bundles.
    fn entries(&mut self, drafts: &[Range<u32>]) {
        let catalog = &mut self.catalog;
        catalog.entries.reserve_exact(drafts.iter().map(Range::len).sum());
        for (at, (channel, draft)) in catalog.channels.iter_mut().zip(drafts).enumerate() {
            let start = id(catalog.entries.len());
            for entry in &self.entries[draft.start as usize..draft.end as usize] {
                catalog.entries.push(EntryRecord {
                    channel: id(at),
                    name: entry.name,
                    bundle: self.bundles.get(&(channel.package, entry.name)).copied().unwrap_or(NONE),
                    replaces: entry.replaces,
                    skip_range: entry.skip_range,
                    skips: entry.skips.clone(),
                });
            }
            channel.entries = start..id(catalog.entries.len());
        }
    }

    /// Lists for each bundle the entries that name it.
    fn placements(&mut self) {
        let catalog = &mut self.catalog;
        let mut counts = vec![0_u32; catalog.bundles.len()];
        for entry in catalog.entries.iter().filter(|entry| entry.bundle != NONE) {
            counts[entry.bundle as usize] += 1;
        }
        let mut start = 0;
        for (bundle, count) in catalog.bundles.iter_mut().zip(&counts) {
            bundle.placements = start..start;
            start += count;
        }
        catalog.placements = vec![0; start as usize];
        for (at, entry) in catalog.entries.iter().enumerate().filter(|(_, entry)| entry.bundle != NONE) {
            let placements = &mut catalog.bundles[entry.bundle as usize].placements;
            catalog.placements[placements.end as usize] = id(at);
            placements.end += 1;
        }
    }

    /// Finds the entries that no entry of their channel replaces or skips.
    fn heads(&mut self) {
        let catalog = &mut self.catalog;
        // The channel that last replaced or skipped each name.
        let mut passed = vec![NONE; self.names.len()];
        for (at, channel) in catalog.channels.iter_mut().enumerate() {
            let entries = channel.entries.start as usize..channel.entries.end as usize;
            for entry in &catalog.entries[entries.clone()] {
                let skips = &catalog.skips[entry.skips.start as usize..entry.skips.end as usize];
                let replaces = Some(entry.replaces).filter(|&name| !self.names.get(name).is_empty());
                for name in skips.iter().copied().chain(replaces) {
                    passed[name.index()] = id(at);
                }
            }
            let mut heads = entries.filter(|&entry| passed[catalog.entries[entry].name.index()] != id(at));
            channel.head = match (heads.next(), heads.next()) {
                (None, _) => HeadRecord::None,
                (Some(head), None) => HeadRecord::One(id(head)),
                (Some(_), Some(_)) => HeadRecord::Several,
            };
        }
    }

    fn deprecations(&mut self) {
        let blobs = std::mem::take(&mut self.blobs);
        let mut seen = HashSet::new();
        let mut count = 0;
        for (meta, blob) in &blobs {
            let Body::Deprecations(entries) = &blob.body else {
                continue;
            };
            match self.deprecated_package(blob.package, count, &mut seen) {
                Ok(package) => entries.iter().for_each(|entry| self.deprecate(*meta, package, entry)),
                Err(problem) => self.faults.push((*meta, problem)),
            }
            count += 1;
        }
    }

    /// The package that the deprecations of a name are for, unless it is unknown or had some before.
    fn deprecated_package(&self, name: Name, count: usize, seen: &mut HashSet<u32>) -> Result<u32, Problem> {
        let package_name = self.names.get(name);
        let quoted = go_quote(package_name);
        let (code, message) = match self.packages.get(&name) {
            None if package_name.is_empty() => {
                (Code::DeprecationPackageMissing, format!("package name must be set for deprecation item {count}"))
            }
            None => {
                (Code::DeprecationPackageUnknown, format!("cannot apply deprecations to an unknown package {quoted}"))
            }
            Some(&package) if seen.insert(package) => return Ok(package),
            Some(_) => {
                (Code::DeprecationDuplicate, format!("expected a maximum of one deprecation per package: {quoted}"))
            }
        };
        Err(Problem { package: optional(package_name), ..Problem::new(code, message) })
    }

    /// Links a deprecation to what it names; of several the first counts, and one that names nothing is left.
    fn deprecate(&mut self, meta: u32, package: u32, entry: &DeprecationEntry) {
        let catalog = &mut self.catalog;
        let package_record = &mut catalog.packages[package as usize];
        let (target, name) = match self.names.get(entry.schema) {
            "olm.package" if self.names.get(entry.name).is_empty() => {
                (&mut package_record.deprecation, package_record.name)
            }
            "olm.channel" => {
                let range = package_record.channels.start as usize..package_record.channels.end as usize;
                let Some(channel) = catalog.channels[range].iter_mut().find(|channel| channel.name == entry.name)
                else {
                    return;
                };
                (&mut channel.deprecation, entry.name)
            }
            "olm.bundle" => {
                let Some(&bundle) = self.bundles.get(&(package, entry.name)) else {
                    return;
                };
                (&mut catalog.bundles[bundle as usize].deprecation, entry.name)
            }
            _ => return,
        };
        if *target == NONE {
            *target = id(catalog.deprecations.len());
            catalog.deprecations.push(DeprecationRecord { meta, schema: entry.schema, name, message: entry.message });
        }
    }
}

/// Adds the next place to a range of places that follow each other.
fn extend(range: &mut Range<u32>, at: u32) {
    if range.start == range.end {
        *range = at..at;
    }
    range.end = at + 1;
}

fn optional(name: &str) -> Option<Arc<str>> {
    (!name.is_empty()).then(|| name.into())
}

fn shrunk<T>(mut list: Vec<T>) -> Vec<T> {
    list.shrink_to_fit();
    list
}
