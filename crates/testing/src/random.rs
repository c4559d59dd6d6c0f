//! Random catalogs of few names and words, and random filters with the same, so that they meet
//! often.

use fbc::{
    ApiFilter, BundleFilter, CapabilityLevel, InstallMode, MetaFilter, OlmV1Installability,
    PackageFilter, SearchQuery,
};
use fbc_read::Severity;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

const PACKAGES: [&str; 6] = [
    "alpha",
    "alpha-beta",
    "beta",
    "gamma",
    "gamadelta",
    "delta-x",
];
const VERSIONS: [&str; 4] = ["v0.1.0", "v1.0.0-rc.1", "v1.0.0", "v2.1.0"];
const CHANNELS: [&str; 3] = ["stable", "beta", "old"];
const APIS: [&str; 4] = ["a.io/v1/A", "a.io/v2/A", "a.io/v1/B", "b.io/v1/A"];
const WORDS: [&str; 7] = ["alpha", "beta", "gammas", "delta", "storage", "x", "alp"];
const SEARCHES: [&str; 12] = [
    "",
    "-",
    "alpha",
    "alhpa",
    "bet",
    "gamma",
    "alpha beta",
    "beta-alpha",
    "storge",
    "storages",
    "x",
    "delta x",
];
const FEATURES: [&str; 3] = ["cnf", "cni", "csi"];
const MODES: [(&str, InstallMode); 2] = [
    ("OwnNamespace", InstallMode::OwnNamespace),
    ("AllNamespaces", InstallMode::AllNamespaces),
];
const LEVELS: [(&str, CapabilityLevel); 2] = [
    ("Basic Install", CapabilityLevel::BasicInstall),
    ("Auto Pilot", CapabilityLevel::AutoPilot),
];
const SCHEMAS: [&str; 3] = ["olm.bundle", "olm.channel", "example.com.x"];

/// An option of a bundle: nothing, or some of these, joined.
fn option(
    name: &'static str,
    values: &'static [&'static str],
    separator: &'static str,
) -> BoxedStrategy<String> {
    let some = subsequence(values, 0..=values.len().min(3));
    some.prop_map(move |some| {
        if some.is_empty() {
            String::new()
        } else {
            format!(" {name}=\"{}\"", some.join(separator))
        }
    })
    .boxed()
}

fn bundle_options() -> impl Strategy<Value = String> {
    let apis = |name: &'static str| {
        subsequence(&APIS, 0..3).prop_map(move |apis| {
            apis.into_iter()
                .fold(String::new(), |all, api| format!("{all} {name}={api}"))
        })
    };
    let modes = [MODES[0].0, MODES[1].0];
    let levels = ["", LEVELS[0].0, LEVELS[1].0, "unheard of"];
    (
        apis("provides"),
        apis("requires"),
        prop::option::of(select(&PACKAGES)),
        [
            option("keywords", &WORDS, ","),
            option("categories", &WORDS, ","),
            option("provider", &WORDS, " "),
        ],
        [
            option("display", &WORDS, " "),
            option("describes", &WORDS, " "),
            option("features", &FEATURES, ","),
        ],
        subsequence(modes.to_vec(), 0..=2),
        select(levels.to_vec()),
    )
        .prop_map(
            |(provides, requires, needs, lists, texts, modes, level): (
                String,
                String,
                _,
                _,
                _,
                Vec<_>,
                _,
            )| {
                let mut line = provides + &requires;
                line.extend(needs.map(|name| format!(" needs={name}@>=0.0.0")));
                line.extend(lists.into_iter().chain(texts));
                line.extend((!modes.is_empty()).then(|| format!(" modes={}", modes.join(","))));
                line.extend((!level.is_empty()).then(|| format!(" level=\"{level}\"")));
                line
            },
        )
}

fn package_lines(name: &'static str) -> impl Strategy<Value = String> {
    let channel = (
        select(&CHANNELS),
        subsequence(&VERSIONS, 0..=4),
        select(vec![" <- ", " , "]),
    );
    let bundles = prop::collection::vec(bundle_options(), VERSIONS.len());
    let deprecated = subsequence(vec!["package", "bundle v1.0.0", "channel stable"], 0..=3);
    (
        select(&CHANNELS),
        option("description", &WORDS, " "),
        prop::collection::vec(channel, 0..3),
        bundles,
        deprecated,
    )
        .prop_map(
            move |(default, description, channels, bundles, deprecated)| {
                let mut lines = vec![format!("package {name} default={default}{description}")];
                for (channel, versions, joint) in channels {
                    lines.push(format!("channel {channel}: {}", versions.join(joint)));
                }
                lines.extend(
                    VERSIONS
                        .iter()
                        .zip(bundles)
                        .map(|(version, options)| format!("bundle {version}{options}")),
                );
                lines.extend(
                    deprecated
                        .iter()
                        .map(|what| format!("deprecated {what} \"why\"")),
                );
                lines.push(format!(
                    r#"{{"name":"{name}","package":"{default}","schema":"example.com.x"}}"#
                ));
                lines.push(format!(r#"{{"name":"{name}","package":"{name}"}}"#));
                lines.join("\n")
            },
        )
}

/// Generates catalogs of up to six packages, as [fixtures](crate::fixture).
pub fn catalogs() -> impl Strategy<Value = String> {
    subsequence(&PACKAGES, 0..=PACKAGES.len())
        .prop_flat_map(|names| names.into_iter().map(package_lines).collect::<Vec<_>>())
        .prop_map(|packages| packages.join("\n"))
}

/// A list for a filter, mostly empty: some of these, and what nothing has.
fn list(values: &'static [&'static str]) -> impl Strategy<Value = Vec<&'static str>> {
    let some = (subsequence(values, 1..=2), any::<bool>()).prop_map(|(mut some, with_unknown)| {
        some.extend(with_unknown.then_some("unknown"));
        some
    });
    prop_oneof![2 => Just(Vec::new()), 1 => some]
}

fn api() -> impl Strategy<Value = Option<ApiFilter<'static>>> {
    let api = (
        select(&["a.io", "b.io", ""][..]),
        prop::option::of(select(&["v1", "v2"][..])),
        select(&["A", "B"][..]),
    );
    prop::option::weighted(
        0.3,
        api.prop_map(|(group, version, kind)| ApiFilter {
            group,
            version,
            kind,
        }),
    )
}

fn rarely<T: Clone + std::fmt::Debug + 'static>(
    values: Vec<T>,
) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.3, select(values))
}

fn olm_v1() -> impl Strategy<Value = Vec<OlmV1Installability>> {
    rarely(OlmV1Installability::ALL.to_vec()).prop_map(Vec::from_iter)
}

/// Generates filters of packages, most of whose conditions are absent.
pub fn package_filters() -> impl Strategy<Value = PackageFilter<'static>> {
    let levels = rarely(LEVELS.map(|(_, level)| level).to_vec()).prop_map(Vec::from_iter);
    let modes = rarely(MODES.map(|(_, mode)| mode).to_vec()).prop_map(Vec::from_iter);
    (
        rarely(SEARCHES.to_vec()),
        [
            list(&PACKAGES).boxed(),
            list(&WORDS).boxed(),
            list(&WORDS).boxed(),
            list(&WORDS).boxed(),
        ],
        list(&FEATURES),
        (levels, modes, olm_v1()),
        api(),
        (
            rarely(vec![true, false]),
            rarely(vec![true, false]),
            rarely(vec![Severity::Error, Severity::Warning]),
        ),
        rarely(vec!["amd64", "arm64"]).prop_map(Vec::from_iter),
    )
        .prop_map(
            |(
                search,
                [names, categories, providers, keywords],
                features,
                (levels, modes, olm_v1),
                provides,
                (deprecated, certified, problem_severity),
                architectures,
            )| {
                PackageFilter {
                    search: search.map(SearchQuery::new),
                    names,
                    categories,
                    providers,
                    keywords,
                    capability_levels: levels,
                    install_modes: modes,
                    infrastructure_features: features,
                    provides,
                    deprecated,
                    architectures,
                    operating_systems: Vec::new(),
                    valid_subscriptions: Vec::new(),
                    certified,
                    problem_severity,
                    platform: None,
                    olm_v1,
                }
            },
        )
}

/// Generates filters of bundles, most of whose conditions are absent, each with a version range,
/// which is apart because a filter borrows it.
pub fn bundle_filters() -> impl Strategy<Value = (BundleFilter<'static>, Option<&'static str>)> {
    let names = vec!["alpha.v1.0.0", "beta.v0.1.0", "alpha"];
    (
        [
            list(&PACKAGES).boxed(),
            list(&CHANNELS).boxed(),
            rarely(names).prop_map(Vec::from_iter).boxed(),
        ],
        rarely(vec!["olm.gvk", "olm.package.required", "unknown"]).prop_map(Vec::from_iter),
        rarely(vec![">=1.0.0", "<2", "*", ">=0.1.0-0"]),
        (api(), api()),
        rarely(PACKAGES.to_vec()),
        (
            rarely(vec![true, false]),
            rarely(vec![true, false]),
            olm_v1(),
        ),
    )
        .prop_map(
            |(
                [packages, channels, names],
                property_types,
                range,
                (provides, requires),
                needs,
                (head, deprecated, olm_v1),
            )| {
                let filter = BundleFilter {
                    permission: None,
                    packages,
                    names,
                    images: Vec::new(),
                    property_types,
                    channels,
                    version_range: None,
                    provides,
                    requires,
                    requires_package: needs,
                    channel_head: head,
                    deprecated,
                    platform: None,
                    olm_v1,
                };
                (filter, range)
            },
        )
}

/// Generates filters of blobs, most of whose conditions are absent.
pub fn meta_filters() -> impl Strategy<Value = MetaFilter<'static>> {
    (
        rarely(SCHEMAS.to_vec()),
        rarely(PACKAGES.to_vec()),
        rarely(PACKAGES.to_vec()),
    )
        .prop_map(|(schema, package, name)| MetaFilter {
            schema,
            package,
            name,
        })
}
