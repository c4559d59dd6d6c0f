//! What is found in random catalogs, against looking at every package, bundle and blob by their
//! public methods.

use std::collections::{BTreeMap, BTreeSet};

use fbc::work::Work;
use fbc::{
    ApiFilter, Bundle, BundleFilter, Catalog, CsvMetadata, Facet, FacetCounts, FacetValue,
    GroupVersionKind, Head, MetaFilter, OlmV1Installability, Package, PackageFilter, SearchField,
    SearchMatch,
};
use fbc_grammar::range::MastermindsRange;
use fbc_grammar::version::Version;
use fbc_read::Severity;
use fbc_read::manifest::Manifests;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed};
use testing::fixture;
use testing::names::{name_parts, whole_name};
use testing::random;

fn config() -> Config {
    Config {
        cases: 300,
        failure_persistence: None,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(0x0f17),
        ..Config::default()
    }
}

fn is_api(found: GroupVersionKind<'_>, wanted: ApiFilter<'_>) -> bool {
    (found.group, found.kind) == (wanted.group, wanted.kind)
        && wanted
            .version
            .is_none_or(|version| version == found.version)
}

fn is_any(wanted: &[&str], mut found: impl Iterator<Item = impl AsRef<str>>) -> bool {
    wanted.is_empty() || found.any(|found| wanted.contains(&found.as_ref()))
}

/// The facets whose condition a package fails, and whether it fails another.
fn failures(
    catalog: &Catalog,
    package: Package<'_>,
    filter: &PackageFilter<'_>,
) -> (Vec<Facet>, bool) {
    let summary = package.summary();
    let head = default_head(package);
    let provides =
        |wanted| head.is_some_and(|bundle| bundle.provided_apis().any(|api| is_api(api, wanted)));
    let features: Vec<_> = summary.infrastructure_features().collect();
    let modes = &filter.install_modes;
    let levels = &filter.capability_levels;
    let conditions = [
        (
            Facet::Categories,
            is_any(&filter.categories, summary.categories()),
        ),
        (
            Facet::Providers,
            is_any(
                &filter.providers,
                summary
                    .provider_name()
                    .into_iter()
                    .chain(summary.provider_short_name()),
            ),
        ),
        (
            Facet::Keywords,
            is_any(&filter.keywords, summary.keywords()),
        ),
        (
            Facet::Architectures,
            is_any(&filter.architectures, summary.architectures()),
        ),
        (
            Facet::Certified,
            filter
                .certified
                .is_none_or(|wanted| summary.certified() == Some(wanted)),
        ),
        (
            Facet::Deprecated,
            filter
                .deprecated
                .is_none_or(|wanted| package.deprecation().is_some() == wanted),
        ),
        (
            Facet::InfrastructureFeatures,
            filter
                .infrastructure_features
                .iter()
                .all(|wanted| features.contains(wanted)),
        ),
        (
            Facet::InstallModes,
            modes.is_empty()
                || modes
                    .iter()
                    .any(|&mode| summary.install_modes().contains(mode)),
        ),
        (
            Facet::OlmV1,
            filter.olm_v1.is_empty() || filter.olm_v1.contains(&installability(head)),
        ),
        (
            Facet::CapabilityLevels,
            levels.is_empty()
                || summary
                    .capability_level()
                    .is_some_and(|level| levels.contains(&level)),
        ),
    ];
    let others = is_any(&filter.names, std::iter::once(package.name()))
        && filter.provides.is_none_or(provides)
        && filter
            .problem_severity
            .is_none_or(|severity| has_problem(catalog, package, severity))
        && filter
            .search
            .as_ref()
            .is_none_or(|query| rank(package, &query.to_text()).is_some());
    (
        conditions
            .into_iter()
            .filter(|(_, holds)| !holds)
            .map(|(facet, _)| facet)
            .collect(),
        !others,
    )
}

fn has_problem(catalog: &Catalog, package: Package<'_>, severity: Severity) -> bool {
    let own = catalog
        .problems()
        .iter()
        .filter(|problem| problem.package.as_deref() == Some(package.name()));
    own.into_iter()
        .any(|problem| severity == Severity::Warning || problem.severity() == Severity::Error)
}

fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

const FIELDS: [&str; 5] = [
    "NAME",
    "DISPLAY_NAME",
    "KEYWORDS",
    "PROVIDER",
    "DESCRIPTION",
];

/// The rank of a package by the plainest means, and the fields in which words are; of words in
/// ASCII.
fn rank(package: Package<'_>, text: &str) -> Option<(u32, Vec<&'static str>)> {
    let name = words(package.name());
    let wanted = words(text);
    if wanted.is_empty() {
        return Some((0, Vec::new()));
    }
    if wanted == name {
        return Some((0, vec!["NAME"]));
    }
    let summary = package.summary();
    let metadata = summary.bundle().and_then(Bundle::metadata);
    let long = metadata
        .as_ref()
        .and_then(CsvMetadata::description)
        .map(|text| text.decode().into_owned());
    let short = package.description().map(|text| text.decode().into_owned());
    let join = |texts: Vec<&str>| words(&texts.join(" "));
    let describing: Vec<_> = words(&format!(
        "{} {}",
        short.unwrap_or_default(),
        long.unwrap_or_default()
    ))
    .into_iter()
    .filter(|word| word.len() > 1)
    .collect();
    let title = join(Vec::from_iter(summary.display_name()));
    let fields = [
        name_parts(&name).collect(),
        name_parts(&title).collect(),
        join(summary.keywords().collect()),
        join(Vec::from_iter(summary.provider_name())),
        describing,
    ];
    let place = |matches: &dyn Fn(&str) -> bool| {
        fields
            .iter()
            .position(|words| words.iter().any(|word| matches(word)))
    };
    // Each is a distance and a field.
    let of_whole = |wanted: &str| {
        let is_name = whole_name(&name) == wanted;
        let is_title = whole_name(&title) == wanted && !title.is_empty();
        let is_in_name = is_name || name.iter().any(|word| word == wanted);
        (is_name || is_title).then_some((0, usize::from(!is_in_name)))
    };
    let literal = |wanted: &str| {
        let place = place(&|word| word.starts_with(wanted));
        place.map(|place| (place + 1, place))
    };
    let one = |wanted: &String| {
        let found = of_whole(wanted).or_else(|| literal(wanted));
        found.or_else(|| {
            let has_typo = |word: &str| {
                wanted.len() >= 5 && (0..=word.len()).any(|end| is_one_edit(&word[..end], wanted))
            };
            place(&has_typo).map(|place| (place + 6, place))
        })
    };
    let distinct: BTreeSet<_> = wanted.iter().collect();
    let each: Option<Vec<_>> = distinct.into_iter().map(one).collect();
    let each = each.map(|each| {
        let distance: usize = each.iter().map(|(distance, _)| distance).sum();
        (
            distance,
            each.into_iter().map(|(_, place)| place).collect::<Vec<_>>(),
        )
    });
    let joined = of_whole(&whole_name(&wanted)).or_else(|| literal(&wanted.concat()));
    let joined = joined
        .filter(|_| wanted.len() > 1)
        .map(|(distance, place)| (distance, vec![place]));
    let (distance, places) = match (each, joined) {
        (Some(each), Some(joined)) if joined.0 < each.0 => joined,
        (each, joined) => each.or(joined)?,
    };
    let shown = if title.is_empty() { &name } else { &title };
    let letters = whole_name(shown).len();
    let found = (0..FIELDS.len()).filter(|place| places.contains(place));
    let fields = found.map(|place| FIELDS[place]).collect();
    Some((u32::try_from(distance << 8 | letters).unwrap(), fields))
}

/// Whether one edit makes one text of the other: tries them all.
fn is_one_edit(from: &str, to: &str) -> bool {
    let letters: Vec<char> = ('a'..='z').collect();
    let without = |at: usize| [&from[..at], &from[at + 1..]].concat();
    let with =
        |at: usize, letter: char, end: usize| format!("{}{letter}{}", &from[..at], &from[end..]);
    let swapped = |at: usize| {
        let mut bytes = from.as_bytes().to_vec();
        bytes.swap(at, at + 1);
        String::from_utf8(bytes).unwrap()
    };
    (0..from.len())
        .any(|at| without(at) == to || letters.iter().any(|&letter| with(at, letter, at + 1) == to))
        || (0..=from.len()).any(|at| letters.iter().any(|&letter| with(at, letter, at) == to))
        || (1..from.len()).any(|at| swapped(at - 1) == to)
}

fn is_found(bundle: Bundle<'_>, filter: &BundleFilter<'_>) -> bool {
    let is_head = bundle
        .channel_entries()
        .any(|entry| match entry.channel().head() {
            Head::One(head) => head.name() == entry.name(),
            Head::None | Head::Several => false,
        });
    let version = bundle.version().map(|text| Version::parse(text).unwrap());
    is_any(&filter.packages, std::iter::once(bundle.package().name()))
        && is_any(&filter.names, std::iter::once(bundle.name()))
        && is_any(
            &filter.property_types,
            bundle.properties().map(fbc::Property::type_name),
        )
        && is_any(
            &filter.channels,
            bundle.channel_entries().map(|entry| entry.channel().name()),
        )
        && filter
            .version_range
            .as_ref()
            .is_none_or(|range| version.is_some_and(|version| range.contains(&version)))
        && filter
            .provides
            .is_none_or(|wanted| bundle.provided_apis().any(|api| is_api(api, wanted)))
        && filter
            .requires
            .is_none_or(|wanted| bundle.required_apis().any(|api| is_api(api, wanted)))
        && filter.requires_package.is_none_or(|wanted| {
            bundle
                .required_packages()
                .any(|need| need.package == wanted)
        })
        && filter.channel_head.is_none_or(|wanted| is_head == wanted)
        && (filter.olm_v1.is_empty() || filter.olm_v1.contains(&installability(Some(bundle))))
        && filter
            .deprecated
            .is_none_or(|wanted| bundle.deprecation().is_some() == wanted)
}

/// Whether OLM v1 can install a bundle, by the whole judgement.
fn installability(bundle: Option<Bundle<'_>>) -> OlmV1Installability {
    bundle.map_or(OlmV1Installability::Unknown, |bundle| {
        let judgement = bundle.olm_v1(&mut Manifests::default(), &Work::unlimited());
        judgement.unwrap().installability
    })
}

/// The only head of the default channel.
fn default_head(package: Package<'_>) -> Option<Bundle<'_>> {
    package
        .default_channel()
        .and_then(|channel| match channel.head() {
            Head::One(entry) => entry.bundle(),
            Head::None | Head::Several => None,
        })
}

fn values(package: Package<'_>, facet: Facet) -> BTreeSet<FacetValue<'_>> {
    let summary = package.summary();
    match facet {
        Facet::Categories => summary.categories().map(FacetValue::Text).collect(),
        Facet::Providers => summary
            .provider_short_name()
            .map(FacetValue::Text)
            .into_iter()
            .collect(),
        Facet::Keywords => summary.keywords().map(FacetValue::Text).collect(),
        Facet::InfrastructureFeatures => summary
            .infrastructure_features()
            .map(FacetValue::Text)
            .collect(),
        Facet::CapabilityLevels => summary
            .capability_level()
            .map(FacetValue::CapabilityLevel)
            .into_iter()
            .collect(),
        Facet::InstallModes => summary
            .install_modes()
            .iter()
            .map(FacetValue::InstallMode)
            .collect(),
        Facet::Architectures => summary.architectures().map(FacetValue::Text).collect(),
        Facet::OperatingSystems => summary.operating_systems().map(FacetValue::Text).collect(),
        Facet::ValidSubscriptions => summary
            .valid_subscriptions()
            .map(FacetValue::Text)
            .collect(),
        Facet::Certified => summary
            .certified()
            .map(FacetValue::Boolean)
            .into_iter()
            .collect(),
        Facet::Deprecated => [FacetValue::Boolean(package.deprecation().is_some())].into(),
        Facet::OlmV1 => [FacetValue::OlmV1(installability(default_head(package)))].into(),
    }
}

/// The places that match, of this many.
fn places(count: usize, matches: impl Fn(usize) -> bool) -> Vec<u32> {
    (0..count)
        .filter(|&at| matches(at))
        .map(|at| u32::try_from(at).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn packages_and_facets_are_those_of_looking_at_every_package(
        fixture in random::catalogs(),
        filters in prop::collection::vec(random::package_filters(), 12),
    ) {
        let catalog = fixture::catalog(&fixture);
        for filter in filters {
            let found = catalog.find_packages(&filter, &Work::unlimited()).unwrap();
            let expected: Vec<_> = catalog
                .packages()
                .enumerate()
                .filter(|&(_, package)| failures(&catalog, package, &filter) == (Vec::new(), false))
                .map(|(at, package)| (u32::try_from(at).unwrap(), filter.search.as_ref().map_or_else(Default::default, |query| rank(package, &query.to_text()).unwrap())))
                .collect();
            let fields = |found: SearchMatch| found.fields().map(SearchField::as_str).collect::<Vec<_>>();
            let matches = found.matches().map(|(place, found)| (place, (found.rank(), fields(found))));
            prop_assert_eq!(matches.collect::<Vec<_>>(), expected, "{:?}", filter);
            for facet in [
                Facet::Categories, Facet::Providers, Facet::Keywords, Facet::CapabilityLevels, Facet::InstallModes,
                Facet::InfrastructureFeatures, Facet::Architectures, Facet::OperatingSystems, Facet::ValidSubscriptions,
                Facet::Certified, Facet::Deprecated, Facet::OlmV1,
            ] {
                let mut counts = FacetCounts::default();
                found.count(facet, &mut counts, &Work::unlimited()).unwrap();
                let mut expected: BTreeMap<FacetValue<'_>, u32> = BTreeMap::new();
                for package in catalog.packages() {
                    let (failed, fails_another) = failures(&catalog, package, &filter);
                    if !fails_another && failed.iter().all(|failed| *failed == facet) {
                        for value in values(package, facet) {
                            *expected.entry(value).or_default() += 1;
                        }
                    }
                }
                let mut expected: Vec<_> = expected.into_iter().collect();
                expected.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
                prop_assert_eq!(counts.top(usize::MAX), expected, "{:?} of {:?}", facet, filter);
            }
        }
    }

    #[test]
    fn bundles_are_those_of_looking_at_every_bundle(
        fixture in random::catalogs(),
        filters in prop::collection::vec(random::bundle_filters(), 12),
    ) {
        let catalog = fixture::catalog(&fixture);
        for (filter, range) in filters {
            let range = range.map(|text| MastermindsRange::parse(text).unwrap());
            let filter = BundleFilter { version_range: range.clone(), ..filter };
            let expected = places(catalog.bundles().len(), |at| is_found(catalog.bundle_at(at), &filter));
            prop_assert_eq!(catalog.find_bundles(&filter, &Work::unlimited()).unwrap(), expected, "{:?}", filter);
        }
    }

    #[test]
    fn blobs_are_those_of_looking_at_every_blob(
        fixture in random::catalogs(),
        filters in prop::collection::vec(random::meta_filters(), 12),
    ) {
        let catalog = fixture::catalog(&fixture);
        for filter in filters {
            let is_found = |at: usize| {
                let meta = catalog.meta_at(at);
                let meets = |wanted: Option<&str>, found: Option<&str>| wanted.is_none_or(|wanted| found == Some(wanted));
                filter == MetaFilter::default()
                    || !meta.schema().is_empty()
                        && meets(filter.schema, Some(meta.schema()))
                        && meets(filter.package, meta.package_name())
                        && meets(filter.name, meta.name())
            };
            prop_assert_eq!(catalog.find_metas(&filter, &Work::unlimited()).unwrap(), places(catalog.meta_count(), is_found), "{:?}", filter);
        }
    }
}
