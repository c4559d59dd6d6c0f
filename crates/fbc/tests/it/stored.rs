//! Stored indexes: a catalog that is opened with one answers everything as the catalog that wrote it,
//! and bytes that are not what was written are refused.

use std::fmt::Write as _;

use bytes::Bytes;
use fbc::work::Work;
use fbc::{
    ApiFilter, Bundle, BundleFilter, BundleSort, Catalog, Channel, ChannelEntry, Deprecation,
    Facet, FacetCounts, Head, MetaFilter, PackageFilter, PackageSort, Property, SearchQuery,
    SortDirection, StoredIndexError,
};
use fbc_read::Origins;
use fbc_read::json::{JsonText, JsonValue};
use fbc_read::origin::FileOrigin;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};
use testing::SeededRandom;
use testing::{corpus, fixture, random};

const CATALOG: &str = r#"
    package etcd default=stable description="A store. For keys"
    channel stable: v0.9.0 <- v0.9.2 <- v0.9.10 skips=v0.9.1 range=">=0.9.0 <0.9.10"
    channel alpha: v0.9.10 , v1.0.0-rc.1 replaces=v0.9.10
    channel v1.9: v0.9.0
    channel v1.10: v0.9.2
    bundle v0.9.10 provides=etcd.io/v1/Etcd requires=certs.io/v1/Cert needs=vault@>=1.0.0 related=a.io/a:1,b.io/b:2 display="Etcd Störe" keywords=store,database describes="Stores keys" provider="Etcd, Inc." categories=Storage level="Full Lifecycle" modes=AllNamespaces
    deprecated channel alpha "use stable"
    deprecated bundle v0.9.0 "too old"
    package argo default=stable
    channel stable: v2.0.0
    bundle v2.0.0 provides=argo.io/v1/Argo display="Argo" keywords=store
    deprecated package "gone"
    {"schema":"example.com.extra","package":"etcd","name":"more"}
    {"icon":{"base64data":"iVBORw0KGgo=","mediatype":"image/gif"},"defaultChannel":"stable","name":"vault","schema":"olm.package"}
    {"entries":[{"name":"vault.v1.0.0"}],"name":"stable","package":"vault","schema":"olm.channel"}
    {"image":"quay.io/vault:1","name":"vault.v1.0.0","package":"vault","properties":[{"type":"olm.package","value":{"packageName":"vault","version":"1.0.0"}},{"type":"olm.maxOpenShiftVersion","value":"4.18"},{"type":"olm.constraint","value":{"failureMessage":"no","package":{"packageName":"etcd","versionRange":">=0.9.0"}}},{"type":"custom","value":[1]}],"schema":"olm.bundle"}
    {"package":"vault","schema":"io.openshift.operators.lifecycles.v1alpha1","versions":[{"name":"1.0","platformCompatibility":[{"name":"openshift","versions":["4.17","4.18"]}]}]}
"#;

/// The bytes of the index of a catalog.
fn index(catalog: &Catalog) -> Vec<u8> {
    let mut bytes = Vec::new();
    catalog.write_index(&mut bytes).unwrap();
    bytes
}

/// Opens a catalog of one file with an index.
fn open(built: &Catalog, index: &[u8]) -> Result<Catalog, StoredIndexError> {
    let origins = Origins {
        files: built
            .files()
            .map(|(path, first)| {
                let next = built
                    .files()
                    .map(|(_, other)| other)
                    .find(|other| *other > first);
                let blobs = first..next.unwrap_or(built.meta_count());
                FileOrigin {
                    path: path.to_owned(),
                    lines: blobs.map(|at| built.meta_at(at).line()).collect(),
                    ..FileOrigin::default()
                }
            })
            .collect(),
        ..Origins::default()
    };
    Catalog::open_stored(
        built.content().clone(),
        Bytes::copy_from_slice(index),
        &origins,
        built.all_problems().clone(),
    )
}

/// All that a catalog answers, as text.
fn answers(catalog: &Catalog) -> String {
    let work = &Work::unlimited();
    let mut text = String::new();
    for package in catalog.packages() {
        let summary = package.summary();
        let _ = writeln!(
            text,
            "package {} {:?} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            package.name(),
            package.description().map(JsonText::decode),
            package.default_channel_name(),
            package.default_channel().map(Channel::name),
            package
                .channels_in_order()
                .map(Channel::name)
                .collect::<Vec<_>>(),
            package
                .deprecation()
                .map(|it| (it.schema(), it.name(), it.message())),
            package
                .properties()
                .map(|it| (it.type_name(), it.value().map(JsonValue::raw), it.kind()))
                .collect::<Vec<_>>(),
            package
                .icon()
                .map(|it| (it.media_type(), it.digest(), it.data().into_owned())),
            package.lifecycle(work).unwrap(),
            package.problem_counts(),
            package.metadata_bundle().map(Bundle::name),
            summary.display_name(),
            summary.sort_name(),
            summary.summary(),
            (
                summary.provider_name(),
                summary.provider_short_name(),
                summary.provider_url()
            ),
            summary.keywords().collect::<Vec<_>>(),
            summary.categories().collect::<Vec<_>>(),
            summary.infrastructure_features().collect::<Vec<_>>(),
            summary.architectures().collect::<Vec<_>>(),
            (
                summary.operating_systems().collect::<Vec<_>>(),
                summary.valid_subscriptions().collect::<Vec<_>>()
            ),
            (
                summary.capability_level(),
                summary.certified(),
                summary.created_at()
            ),
            summary.install_modes(),
            package
                .bundles()
                .map(|it| package.bundle(it.name()).map(Bundle::place))
                .collect::<Vec<_>>(),
        );
        for channel in package.channels() {
            let head = match channel.head() {
                Head::None => "none",
                Head::One(entry) => entry.name(),
                Head::Several => "several",
            };
            let _ = writeln!(
                text,
                "channel {} {} {:?} {:?} {:?}",
                channel.name(),
                head,
                package.channel(channel.name()).map(Channel::is_default),
                channel.deprecation().map(Deprecation::message),
                channel.properties().map(Property::kind).collect::<Vec<_>>(),
            );
            for entry in channel.entries() {
                let _ = writeln!(
                    text,
                    "entry {} {:?} {:?} {:?} {:?} {}",
                    entry.name(),
                    entry.bundle().map(Bundle::place),
                    entry.replaces(),
                    entry.skips().collect::<Vec<_>>(),
                    entry.skip_range(),
                    entry.channel().name(),
                );
            }
        }
    }
    for bundle in catalog.bundles() {
        let _ = writeln!(
            text,
            "bundle {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            bundle.package().name(),
            bundle.name(),
            bundle.version(),
            bundle.release(),
            bundle.image(),
            bundle.related_images(),
            bundle.deprecation().map(Deprecation::message),
            bundle
                .properties()
                .map(|it| (it.type_name(), it.kind(), it.constraint()))
                .collect::<Vec<_>>(),
            bundle
                .channel_entries()
                .map(ChannelEntry::place)
                .collect::<Vec<_>>(),
            bundle.platforms(),
            bundle.olm_v1_installability(work),
            catalog.bundle_created_at(bundle.place()),
            bundle
                .metadata()
                .map(|it| it.display_name().map(|name| name.decode().into_owned())),
            bundle.required_by(work),
            bundle.meta().index(),
        );
        let found = catalog.find_bundles(
            &BundleFilter {
                names: vec![bundle.name()],
                ..BundleFilter::default()
            },
            work,
        );
        let image = bundle.image().decode();
        let of_image = catalog.find_bundles(
            &BundleFilter {
                images: vec![&image],
                ..BundleFilter::default()
            },
            work,
        );
        let _ = writeln!(text, "found {found:?} {of_image:?}");
        for api in bundle.provided_apis().chain(bundle.required_apis()) {
            let api = Some(ApiFilter {
                group: api.group,
                kind: api.kind,
                version: Some(api.version),
            });
            let provided = BundleFilter {
                provides: api,
                ..BundleFilter::default()
            };
            let required = BundleFilter {
                requires: api,
                ..BundleFilter::default()
            };
            let found = [provided, required].map(|filter| catalog.find_bundles(&filter, work));
            let _ = writeln!(text, "api {found:?}");
        }
        for required in bundle.required_packages() {
            let filter = BundleFilter {
                requires_package: Some(required.package),
                property_types: vec!["olm.package.required"],
                ..BundleFilter::default()
            };
            let _ = writeln!(text, "requires {:?}", catalog.find_bundles(&filter, work));
        }
    }
    for at in 0..catalog.meta_count() {
        let meta = catalog.meta_at(at);
        let filter = MetaFilter {
            schema: Some(meta.schema()).filter(|it| !it.is_empty()),
            package: meta.package_name(),
            name: meta.name(),
        };
        let _ = writeln!(
            text,
            "blob {} {:?} {:?} {:?} {} {} {} {:?}",
            meta.schema(),
            meta.package_name(),
            meta.name(),
            meta.line_span(),
            meta.file(),
            meta.index(),
            meta.line(),
            catalog.find_metas(&filter, work),
        );
    }
    for search in [
        "etcd",
        "stor",
        "stroe",
        "argo operator",
        "e",
        "vault",
        "package",
    ] {
        let filter = PackageFilter {
            search: Some(SearchQuery::new(search)),
            ..PackageFilter::default()
        };
        let found = catalog.find_packages(&filter, work).unwrap();
        let _ = writeln!(
            text,
            "search {search} {:?} {:?}",
            found.matches().collect::<Vec<_>>(),
            catalog.complete(search, &[], work),
        );
    }
    let all = catalog
        .find_packages(&PackageFilter::default(), work)
        .unwrap();
    for facet in [
        Facet::Categories,
        Facet::Providers,
        Facet::Keywords,
        Facet::OlmV1,
        Facet::Certified,
    ] {
        let mut counts = FacetCounts::default();
        all.count(facet, &mut counts, work).unwrap();
        let mut all_counts = FacetCounts::default();
        catalog
            .count_packages(facet, &mut all_counts, work)
            .unwrap();
        let _ = writeln!(
            text,
            "facet {:?} {:?}",
            counts.in_order(),
            all_counts.in_order()
        );
    }
    for sort in [BundleSort::Version, BundleSort::Name, BundleSort::CreatedAt] {
        for direction in [SortDirection::Ascending, SortDirection::Descending] {
            let _ = writeln!(text, "order {:?}", catalog.sorted_bundles(sort, direction));
        }
    }
    for sort in [
        PackageSort::DisplayName,
        PackageSort::CreatedAt,
        PackageSort::CapabilityLevel,
    ] {
        for direction in [SortDirection::Ascending, SortDirection::Descending] {
            let _ = writeln!(text, "order {:?}", catalog.sorted_packages(sort, direction));
        }
    }
    let _ = writeln!(
        text,
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        catalog.version_ranks(),
        catalog.name_ranks(),
        catalog.schemas(),
        catalog.files().collect::<Vec<_>>(),
        catalog.all_problems(),
        catalog.outline().as_bytes(),
    );
    text
}

/// Expects that a catalog with its index answers everything as without.
#[track_caller]
fn expect_same(built: &Catalog) {
    let bytes = index(built);
    let stored = open(built, &bytes).unwrap();
    assert_eq!(answers(&stored), answers(built));
    assert!(stored.has_stored_index() && !built.has_stored_index());
    let replaced = built.with_stored_index(Bytes::from(bytes.clone())).unwrap();
    assert_eq!(answers(&replaced), answers(built));
    assert!(index(&stored) == bytes, "what was read is what was written");
}

#[test]
fn a_stored_catalog_is_the_one_that_was_built() {
    for catalog in ["", CATALOG, fixture::OLDER] {
        expect_same(&fixture::catalog(catalog));
    }
    let part = corpus::load(&corpus::part_of_community(), &[]).unwrap();
    expect_same(&part);
}

proptest! {
    #![proptest_config(Config {
        cases: 200,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..Config::default()
    })]

    #[test]
    fn a_stored_made_catalog_is_the_one_that_was_built(catalog in random::catalogs()) {
        expect_same(&fixture::catalog(&catalog));
    }
}

#[test]
fn an_index_that_is_cut_off_anywhere_is_refused() {
    let built = fixture::catalog(CATALOG);
    let whole = index(&built);
    for length in 0..whole.len() {
        assert!(
            open(&built, &whole[..length]).is_err(),
            "{length} of {}",
            whole.len()
        );
    }
    let longer = [&whole[..], &[0; 8]].concat();
    assert_eq!(
        open(&built, &longer).err(),
        Some(StoredIndexError::TooLong { bytes: 8 })
    );
    assert_eq!(open(&built, b"").err(), Some(StoredIndexError::Foreign));
}

#[test]
fn an_index_of_another_content_is_refused_or_harms_no_answer() {
    let built = fixture::catalog(CATALOG);
    for other in ["", fixture::OLDER, fixture::NEWER] {
        assert!(
            open(&built, &index(&fixture::catalog(other))).is_err(),
            "{other}"
        );
    }
}

#[test]
fn an_index_with_any_changed_byte_is_refused_or_opened_without_a_panic() {
    let built = fixture::catalog(CATALOG);
    let whole = index(&built);
    let mut random = SeededRandom::new(7);
    let mut opened = 0;
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] = changed[at].wrapping_add(u8::try_from(1 + random.below(255)).unwrap());
        opened += usize::from(open(&built, &changed).is_ok());
    }
    // The store verifies the checksum before: what is opened here has other texts or numbers.
    assert!(opened > 0 && opened < whole.len());
}
