//! Finds the bundles that provide or require an API.

use std::cmp::Ordering;
use std::io;

use crate::array::Array;
use crate::gvk::ApiFilter;
use crate::ids::id;
use crate::index::ContentIndex;
use crate::names::NameTable;
use crate::record::{GvkRecord, Payload};
use crate::sections::{SectionReader, SectionWriter, StoredIndexError};
use crate::tables::postings::{Postings, equal_range};

/// Index from APIs to bundles.
#[derive(Debug)]
pub(crate) struct ApiIndex {
    /// Ids of the APIs, sorted by group, kind and version.
    order: Array<u32>,
    /// Bundles that provide each API of `order`, ascending.
    provided: Postings,
    /// Bundles that require each API of `order`, ascending.
    required: Postings,
}

impl ApiIndex {
    pub(crate) fn new(index: &ContentIndex) -> Self {
        let names = &index.names;
        let gvks = &index.gvks;
        let mut order: Vec<u32> = (0..id(gvks.len())).collect();
        order.sort_unstable_by_key(|&at| parts(names, gvks[at as usize]));
        let mut rank = vec![0; gvks.len()];
        for (at, &gvk) in order.iter().enumerate() {
            rank[gvk as usize] = id(at);
        }
        let rank = &rank;
        let postings = |api: fn(Payload) -> Option<u32>| {
            let apis = bundle_payloads(index).filter_map(move |(bundle, payload)| {
                api(payload).map(|gvk| (rank[gvk as usize], bundle))
            });
            Postings::new(gvks.len(), apis)
        };
        let provided = postings(|payload| {
            if let Payload::Gvk(gvk) = payload {
                Some(gvk)
            } else {
                None
            }
        });
        let required = postings(|payload| {
            if let Payload::GvkRequired(gvk) = payload {
                Some(gvk)
            } else {
                None
            }
        });
        Self {
            order: Array::new(order),
            provided,
            required,
        }
    }

    pub(crate) fn write(&self, sections: &mut SectionWriter<'_>) -> io::Result<()> {
        sections.array(&self.order)?;
        self.provided.write(sections)?;
        self.required.write(sections)
    }

    pub(crate) fn read(
        sections: &mut SectionReader,
        index: &ContentIndex,
    ) -> Result<Self, StoredIndexError> {
        let apis = index.gvks.len();
        let bundles = index.bundles.len();
        Ok(Self {
            order: sections.ids_of(apis, apis)?,
            provided: Postings::read(sections, apis, bundles)?,
            required: Postings::read(sections, apis, bundles)?,
        })
    }

    /// Returns the bundles that provide an API, ascending.
    pub(crate) fn providing(&self, index: &ContentIndex, api: ApiFilter<'_>) -> Vec<u32> {
        self.find(&self.provided, index, api)
    }

    /// Returns the bundles that require an API, ascending.
    pub(crate) fn requiring(&self, index: &ContentIndex, api: ApiFilter<'_>) -> Vec<u32> {
        self.find(&self.required, index, api)
    }

    fn find(&self, postings: &Postings, index: &ContentIndex, api: ApiFilter<'_>) -> Vec<u32> {
        let keys = equal_range(&self.order, |&at| {
            compare(parts(&index.names, index.gvks[at as usize]), api)
        });
        // A bundle may name an API twice, or several versions of it.
        let mut bundles = postings.lists(keys).to_vec();
        bundles.sort_unstable();
        bundles.dedup();
        bundles
    }
}

/// Iterates over the decoded properties of all bundles, by bundle.
pub(crate) fn bundle_payloads(
    index: &ContentIndex,
) -> impl Iterator<Item = (u32, Payload)> + Clone {
    index.bundles.iter().enumerate().flat_map(|(at, bundle)| {
        let properties = &index.properties[bundle.properties.places()];
        properties
            .iter()
            .map(move |property| (id(at), property.payload.get()))
    })
}

/// Sort key of an API: group, kind, version, so that the versions of one kind are adjacent.
fn parts(names: &NameTable, gvk: GvkRecord) -> [&str; 3] {
    [
        names.get(gvk.group),
        names.get(gvk.kind),
        names.get(gvk.version),
    ]
}

fn compare([group, kind, version]: [&str; 3], api: ApiFilter<'_>) -> Ordering {
    let order = group.cmp(api.group).then_with(|| kind.cmp(api.kind));
    order.then_with(|| {
        api.version
            .map_or(Ordering::Equal, |wanted| version.cmp(wanted))
    })
}
