//! Filters bundles.
//!
//! Each indexed condition gives an ascending list of ids. The filter iterates over the shortest
//! list, keeps what is in all other lists, and tests the conditions without an index one by one.

use std::collections::BTreeSet;

use fbc_grammar::range::MastermindsRange;
use fbc_grammar::version::Version;

use crate::bundle::Bundle;
use crate::catalog::Catalog;
use crate::find::filter::BundleFilter;
use crate::ids::{NONE, id, ids};
use crate::names::Name;
use crate::record::HeadRecord;
use crate::tables::bundles::sorted;
use crate::tables::postings::equal_range;
use crate::work::{CHUNK, Step, Work, WorkStopped};

impl Catalog {
    /// Returns the indexes, in the order of [`Catalog::bundles`], of the bundles that meet the
    /// conditions, ascending.
    ///
    /// # Errors
    /// If the work was stopped.
    pub fn find_bundles(
        &self,
        filter: &BundleFilter<'_>,
        work: &Work<'_>,
    ) -> Result<Vec<u32>, WorkStopped> {
        let index = self.bundle_index();
        let packages =
            (!filter.packages.is_empty()).then(|| self.places_of_packages(&filter.packages));
        let (candidates, others) = self.candidates(filter, packages.as_deref(), work)?;
        let types = (!filter.property_types.is_empty())
            .then(|| index.types(&self.index, &filter.property_types));
        let mut versions = filter
            .version_range
            .as_ref()
            .map(|range| VersionTests::new(self, range, candidates.len()));
        let mut found = Vec::new();
        for chunk in candidates.chunks(CHUNK) {
            work.draw(Step::Bundle, chunk.len() * (1 + others.len()))?;
            for place in chunk {
                let package = &self.index.bundles[*place as usize].package;
                let meets = packages
                    .as_ref()
                    .is_none_or(|packages| packages.binary_search(package).is_ok())
                    && others.iter().all(|list| list.binary_search(place).is_ok())
                    && self.meets_unindexed(*place, filter, types.as_deref(), work)?
                    && versions
                        .as_mut()
                        .map_or(Ok(true), |versions| versions.test(*place, work))?;
                if meets {
                    found.push(*place);
                }
            }
        }
        Ok(found)
    }

    /// Returns the bundles that meet the indexed condition that fewest bundles meet, or all bundles
    /// of the packages; and those that meet each of the other indexed conditions. Every list is
    /// ascending.
    fn candidates(
        &self,
        filter: &BundleFilter<'_>,
        packages: Option<&[u32]>,
        work: &Work<'_>,
    ) -> Result<(Vec<u32>, Vec<Vec<u32>>), WorkStopped> {
        let index = self.bundle_index();
        // Each name is found by halving.
        let halvings = self.index.bundles.len().checked_ilog2().unwrap_or(0) as usize + 1;
        let looked_up = filter.packages.len() + filter.names.len() + filter.images.len();
        work.draw(
            Step::Comparison,
            halvings * looked_up + filter.channels.len(),
        )?;
        let mut lists = Vec::new();
        lists.extend(
            filter
                .provides
                .map(|api| index.apis.providing(&self.index, api)),
        );
        lists.extend(
            filter
                .requires
                .map(|api| index.apis.requiring(&self.index, api)),
        );
        lists.extend(
            filter
                .requires_package
                .map(|name| index.requiring(&self.index, name)),
        );
        lists.extend((!filter.names.is_empty()).then(|| index.named(&self.index, &filter.names)));
        lists.extend((!filter.images.is_empty()).then(|| self.with_images(&filter.images)));
        if !filter.channels.is_empty() {
            lists.push(self.in_channels(packages, &filter.channels, work)?);
        }
        if filter.channel_head == Some(true) {
            lists.push(self.heads(packages, work)?);
        }
        for list in &lists {
            work.draw(Step::Bundle, list.len())?;
        }
        // The shortest list is walked, the others are searched by halving.
        lists.sort_by_key(Vec::len);
        if lists.is_empty() {
            return Ok((self.bundles_of(packages), lists));
        }
        Ok((lists.remove(0), lists))
    }

    /// Returns whether a bundle meets the conditions without an index, but for that on its version.
    fn meets_unindexed(
        &self,
        place: u32,
        filter: &BundleFilter<'_>,
        types: Option<&[Name]>,
        work: &Work<'_>,
    ) -> Result<bool, WorkStopped> {
        let record = &self.index.bundles[place as usize];
        let bundle = Bundle::new(self, place);
        if filter
            .deprecated
            .is_some_and(|wanted| (record.deprecation != NONE) != wanted)
        {
            return Ok(false);
        }
        if let Some(platform) = &filter.platform
            && !bundle.runs_on(platform, work)?
        {
            return Ok(false);
        }
        if !filter.olm_v1.is_empty()
            && !filter.olm_v1.contains(&bundle.olm_v1_installability(work)?)
        {
            return Ok(false);
        }
        if filter.channel_head == Some(false) {
            work.draw(Step::Edge, record.placements.len())?;
            if self.is_head(place) {
                return Ok(false);
            }
        }
        if let Some(types) = types {
            work.draw(Step::Comparison, record.properties.len())?;
            let type_name = |property: u32| self.index.properties[property as usize].type_name;
            if !ids(record.properties).any(|property| has_name(types, type_name(property))) {
                return Ok(false);
            }
        }
        // The last condition, because it renders the bundle.
        match &filter.permission {
            Some(query) => bundle.grants(query, work),
            None => Ok(true),
        }
    }

    /// Returns the ids of the packages of these names, ascending.
    fn places_of_packages(&self, names: &[&str]) -> Vec<u32> {
        sorted(
            names
                .iter()
                .filter_map(|name| self.package_position(name).ok())
                .map(id)
                .collect(),
        )
    }

    /// Returns the bundles with one of these images, ascending.
    fn with_images(&self, images: &[&str]) -> Vec<u32> {
        let by_image = &self.index.bundles_by_image;
        // What needs escapes in JSON is no image reference, so the quoted text is what stands in
        // the line.
        let quoted: BTreeSet<_> = images.iter().map(|image| format!("\"{image}\"")).collect();
        let of_image = |image: &String| {
            &by_image[equal_range(by_image, |&at| {
                Bundle::new(self, at).image().raw().cmp(image.as_bytes())
            })]
        };
        sorted(quoted.iter().flat_map(of_image).copied().collect())
    }

    /// Returns the bundles of the packages, or all bundles.
    fn bundles_of(&self, packages: Option<&[u32]>) -> Vec<u32> {
        match packages {
            None => (0..id(self.index.bundles.len())).collect(),
            Some(packages) => packages
                .iter()
                .flat_map(|&at| ids(self.index.packages[at as usize].bundles))
                .collect(),
        }
    }

    /// Returns the channels of the packages, or all channels.
    fn channels_of(&self, packages: Option<&[u32]>) -> Vec<u32> {
        match packages {
            None => (0..id(self.index.channels.len())).collect(),
            Some(packages) => packages
                .iter()
                .flat_map(|&at| ids(self.index.packages[at as usize].channels))
                .collect(),
        }
    }

    /// Returns the bundles that are in a channel of one of these names.
    fn in_channels(
        &self,
        packages: Option<&[u32]>,
        names: &[&str],
        work: &Work<'_>,
    ) -> Result<Vec<u32>, WorkStopped> {
        let mut names = names.to_vec();
        names.sort_unstable();
        let mut bundles = Vec::new();
        for at in self.channels_of(packages) {
            work.draw(Step::Edge, 1)?;
            let channel = &self.index.channels[at as usize];
            if names
                .binary_search(&self.index.names.get(channel.name))
                .is_ok()
            {
                work.draw(Step::Edge, channel.entries.len())?;
                let entries = &self.index.entries[channel.entries.places()];
                bundles.extend(
                    entries
                        .iter()
                        .map(|entry| entry.bundle)
                        .filter(|&bundle| bundle != NONE),
                );
            }
        }
        Ok(sorted(bundles))
    }

    /// Returns the bundles that are the only head of a channel of the packages, or of any channel.
    fn heads(&self, packages: Option<&[u32]>, work: &Work<'_>) -> Result<Vec<u32>, WorkStopped> {
        let channels = self.channels_of(packages);
        work.draw(Step::Edge, channels.len())?;
        let heads = channels.into_iter().filter_map(|at| {
            match self.index.channels[at as usize].head.get() {
                HeadRecord::One(entry) => Some(self.index.entries[entry as usize].bundle),
                HeadRecord::None | HeadRecord::Several => None,
            }
        });
        Ok(sorted(heads.filter(|&bundle| bundle != NONE).collect()))
    }

    fn is_head(&self, bundle: u32) -> bool {
        ids(self.index.bundles[bundle as usize].placements).any(|at| {
            let entry = self.index.placements[at as usize];
            let channel = self.index.entries[entry as usize].channel;
            self.index.channels[channel as usize].head.get() == HeadRecord::One(entry)
        })
    }
}

/// Tests of the versions of bundles of one catalog.
struct VersionTests<'f, 'c> {
    catalog: &'c Catalog,
    range: &'f MastermindsRange,
    /// Results by the rank of the version: many bundles of a catalog have one version. Empty where
    /// few bundles are tested.
    known: Vec<Option<bool>>,
}

impl<'f, 'c> VersionTests<'f, 'c> {
    /// Prepares the tests of so many bundles.
    fn new(catalog: &'c Catalog, range: &'f MastermindsRange, bundles: usize) -> Self {
        let all = catalog.index.bundles.len();
        // The table has a place for each version of the catalog: it pays off only where a good part of
        // the bundles is tested.
        let known = if bundles > all / 8 {
            vec![None; all]
        } else {
            Vec::new()
        };
        Self {
            catalog,
            range,
            known,
        }
    }

    /// Returns whether the version of a bundle is in the range.
    fn test(&mut self, place: u32, work: &Work<'_>) -> Result<bool, WorkStopped> {
        let rank = self.catalog.version_ranks()[place as usize];
        if let Some(known) = rank.and_then(|rank| *self.known.get(rank as usize)?) {
            return Ok(known);
        }
        work.draw(Step::Comparison, 1 + self.range.constraints())?;
        let version = Bundle::new(self.catalog, place)
            .version()
            .and_then(|text| Version::parse(text).ok());
        let is_in_range = version.is_some_and(|version| self.range.contains(&version));
        if let Some(known) = rank.and_then(|rank| self.known.get_mut(rank as usize)) {
            *known = Some(is_in_range);
        }
        Ok(is_in_range)
    }
}

/// Returns whether a list, sorted by number, has a name.
fn has_name(names: &[Name], name: Name) -> bool {
    names
        .binary_search_by_key(&name.index(), |name| name.index())
        .is_ok()
}
