//! Which packages, bundles and blobs meet which conditions, and how facets count.

use fbc::work::Work;
use fbc::{
    ApiFilter, Bundle, BundleFilter, BundleSort, CapabilityLevel, Catalog, Facet, FacetCounts,
    FacetValue, InstallMode, MetaFilter, OlmV1Installability, PackageFilter, Platform,
    SortDirection,
};
use fbc_grammar::range::MastermindsRange;
use serde_json::json;
use testing::fixture;

const CATALOG: &str = r#"
    package argo default=stable
    channel stable: v1.0.0 <- v2.0.0
    channel beta: v2.1.0
    bundle v1.0.0 provides=argo.io/v1alpha1/App
    bundle v2.0.0 provides=argo.io/v1/App provider="Argo Team" keywords=ci,git,ci categories="Delivery" level="Deep Insights" modes=AllNamespaces,OwnNamespace features=disconnected,fips
    bundle v2.1.0 provides=argo.io/v1/App provides=argo.io/v1/Run requires=etcd.io/v1/Etcd
    deprecated bundle v1.0.0 "old"
    package etcd default=stable
    channel stable: v0.9.0 <- v0.9.2
    channel two: v0.9.0 , v0.9.2
    bundle v0.9.0 provides=etcd.io/v1/Etcd
    bundle v0.9.2 provides=etcd.io/v1/Etcd needs=vault@>=1.0.0 provider="CNCF" keywords=git,store categories="Database,Delivery" level="basic install" modes=OwnNamespace features=disconnected
    deprecated package "gone"
    package vault default=missing
    channel stable: v1.0.0-rc.1
    bundle v1.0.0-rc.1 provides=vault.io/v1/Vault requires=etcd.io/v1/Etcd needs=etcd@>=0.9.0 provider="CNCF" keywords=secret
    {"name":"argo","schema":"example.com.extra","package":"argo"}
    {"name":"argo","schema":"example.com.extra","package":""}
    {"name":"argo","package":"argo"}
"#;

fn packages<'c>(catalog: &'c Catalog, filter: &PackageFilter<'_>) -> Vec<&'c str> {
    let found = catalog.find_packages(filter, &Work::unlimited()).unwrap();
    found
        .matches()
        .map(|(place, _)| catalog.package_at(place as usize).name())
        .collect()
}

fn bundles<'c>(catalog: &'c Catalog, filter: &BundleFilter<'_>) -> Vec<&'c str> {
    catalog
        .find_bundles(filter, &Work::unlimited())
        .unwrap()
        .into_iter()
        .map(|place| catalog.bundle_at(place as usize).name())
        .collect()
}

fn facet(catalog: &Catalog, filter: &PackageFilter<'_>, facet: Facet) -> Vec<(String, u32)> {
    let mut counts = FacetCounts::default();
    catalog
        .find_packages(filter, &Work::unlimited())
        .unwrap()
        .count(facet, &mut counts, &Work::unlimited())
        .unwrap();
    counts
        .top(9)
        .into_iter()
        .map(|(value, count)| (text(value), count))
        .collect()
}

fn text(value: FacetValue<'_>) -> String {
    match value {
        FacetValue::Text(text) => text.to_owned(),
        FacetValue::CapabilityLevel(level) => format!("{level:?}"),
        FacetValue::InstallMode(mode) => format!("{mode:?}"),
        FacetValue::OlmV1(value) => format!("{value:?}"),
        FacetValue::Boolean(is) => is.to_string(),
    }
}

fn api(text: &str) -> ApiFilter<'_> {
    let (group, kind) = text.split_once('/').unwrap();
    match kind.split_once('/') {
        Some((version, kind)) => ApiFilter {
            group,
            version: Some(version),
            kind,
        },
        None => ApiFilter {
            group,
            version: None,
            kind,
        },
    }
}

#[test]
fn each_condition_on_packages_selects_what_meets_it() {
    let all = PackageFilter::default;
    let catalog = fixture::catalog(CATALOG);
    let cases = [
        (all(), ["argo", "etcd", "vault"].as_slice()),
        (
            PackageFilter {
                search: Some("vault".into()),
                ..all()
            },
            &["vault"],
        ),
        (
            PackageFilter {
                search: Some(" - ".into()),
                ..all()
            },
            &["argo", "etcd", "vault"],
        ),
        (
            PackageFilter {
                names: vec!["vault", "none", "argo", "vault"],
                ..all()
            },
            &["argo", "vault"],
        ),
        (
            PackageFilter {
                names: vec!["none", "Argo", ""],
                ..all()
            },
            &[],
        ),
        (
            PackageFilter {
                categories: vec!["Delivery"],
                ..all()
            },
            &["argo", "etcd"],
        ),
        (
            PackageFilter {
                categories: vec!["Database", "Security"],
                ..all()
            },
            &["etcd"],
        ),
        (
            PackageFilter {
                categories: vec!["delivery"],
                ..all()
            },
            &[],
        ),
        (
            PackageFilter {
                providers: vec!["CNCF"],
                ..all()
            },
            &["etcd", "vault"],
        ),
        (
            PackageFilter {
                providers: vec!["CNCF", "Argo Team"],
                ..all()
            },
            &["argo", "etcd", "vault"],
        ),
        (
            PackageFilter {
                keywords: vec!["git"],
                ..all()
            },
            &["argo", "etcd"],
        ),
        (
            PackageFilter {
                keywords: vec!["secret", "ci"],
                ..all()
            },
            &["argo", "vault"],
        ),
        (
            PackageFilter {
                capability_levels: vec![CapabilityLevel::BasicInstall],
                ..all()
            },
            &["etcd"],
        ),
        (
            PackageFilter {
                install_modes: vec![InstallMode::OwnNamespace],
                ..all()
            },
            &["argo", "etcd"],
        ),
        (
            PackageFilter {
                install_modes: vec![InstallMode::AllNamespaces, InstallMode::MultiNamespace],
                ..all()
            },
            &["argo"],
        ),
        (
            PackageFilter {
                infrastructure_features: vec!["disconnected"],
                ..all()
            },
            &["argo", "etcd"],
        ),
        (
            PackageFilter {
                infrastructure_features: vec!["disconnected", "fips-compliant", "disconnected"],
                ..all()
            },
            &["argo"],
        ),
        (
            PackageFilter {
                infrastructure_features: vec!["disconnected", "cnf"],
                ..all()
            },
            &[],
        ),
        (
            PackageFilter {
                deprecated: Some(true),
                ..all()
            },
            &["etcd"],
        ),
        (
            PackageFilter {
                deprecated: Some(false),
                ..all()
            },
            &["argo", "vault"],
        ),
    ];
    for (filter, expected) in cases {
        assert_eq!(packages(&catalog, &filter), expected, "{filter:?}");
    }
}

const PLATFORMS: &str = r#"
    package old default=stable
    channel stable: v1.0.0
    {"schema":"olm.package","name":"new","defaultChannel":"stable"}
    {"schema":"olm.channel","package":"new","name":"stable","entries":[{"name":"new.v1"},{"name":"new.v2","replaces":"new.v1"},{"name":"new.v3","replaces":"new.v2"}]}
    {"schema":"olm.bundle","package":"new","name":"new.v1","image":"a.io/new:1","properties":[{"type":"olm.package","value":{"packageName":"new","version":"1.0.0"}},{"type":"olm.maxOpenShiftVersion","value":4.12},{"type":"olm.csv.metadata","value":{"annotations":{"operatorhub.io/ui-metadata-max-k8s-version":"1.25"},"minKubeVersion":"1.20.0-0"}}]}
    {"schema":"olm.bundle","package":"new","name":"new.v2","image":"a.io/new:2","properties":[{"type":"olm.package","value":{"packageName":"new","version":"2.0.0"}},{"type":"olm.maxOpenShiftVersion","value":"4.23"},{"type":"olm.csv.metadata","value":{"labels":{"operatorframework.io/arch.arm64":"supported","operatorframework.io/arch.amd64":"no"},"minKubeVersion":"v1.24.3"}}]}
    {"schema":"olm.bundle","package":"new","name":"new.v3","image":"a.io/new:3","properties":[{"type":"olm.package","value":{"packageName":"new","version":"3.0.0"}},{"type":"olm.maxOpenShiftVersion","value":"latest"},{"type":"olm.csv.metadata","value":{"minKubeVersion":"the newest"}}]}
"#;

#[test]
fn a_bundle_runs_on_a_platform_unless_the_catalog_says_otherwise() {
    let catalog = fixture::catalog(PLATFORMS);
    let kubernetes = |text: &str| Platform {
        kubernetes: Some(text.parse().unwrap()),
        ..Platform::default()
    };
    let openshift = |text: &str| Platform {
        openshift: Some(text.parse().unwrap()),
        ..Platform::default()
    };
    let architecture = |name| Platform {
        architecture: Some(name),
        ..Platform::default()
    };
    let cases = [
        (
            Platform::default(),
            ["new.v3", "new.v2", "new.v1", "old.v1.0.0"].as_slice(),
        ),
        (kubernetes("1.19.9"), &["new.v3", "old.v1.0.0"]),
        (kubernetes("1.20"), &["new.v3", "new.v1", "old.v1.0.0"]),
        (
            kubernetes("1.24"),
            &["new.v3", "new.v2", "new.v1", "old.v1.0.0"],
        ),
        (kubernetes("1.24.2"), &["new.v3", "new.v1", "old.v1.0.0"]),
        (
            kubernetes("v1.25.16+k3s1"),
            &["new.v3", "new.v2", "new.v1", "old.v1.0.0"],
        ),
        (kubernetes("1.26"), &["new.v3", "new.v2", "old.v1.0.0"]),
        (
            openshift("4.12.40"),
            &["new.v3", "new.v2", "new.v1", "old.v1.0.0"],
        ),
        (openshift("4.13"), &["new.v3", "new.v2", "old.v1.0.0"]),
        (openshift("5.0"), &["new.v3", "new.v2", "old.v1.0.0"]),
        (openshift("5.1"), &["new.v3", "old.v1.0.0"]),
        (architecture("amd64"), &["new.v3", "new.v1", "old.v1.0.0"]),
        (architecture("arm64"), &["new.v2"]),
        (architecture("arm"), &[]),
        (
            Platform {
                architecture: Some("arm64"),
                ..kubernetes("1.23")
            },
            &[],
        ),
    ];
    for (platform, expected) in cases {
        let filter = BundleFilter {
            platform: Some(platform),
            ..BundleFilter::default()
        };
        assert_eq!(bundles(&catalog, &filter), expected, "{platform:?}");
        let filter = PackageFilter {
            platform: Some(platform),
            ..PackageFilter::default()
        };
        let of = |name: &&str| expected.iter().any(|bundle| bundle.starts_with(name));
        let with_one: Vec<_> = ["new", "old"].into_iter().filter(of).collect();
        assert_eq!(packages(&catalog, &filter), with_one, "{platform:?}");
    }
}

#[test]
fn a_package_provides_what_the_head_of_its_default_channel_provides() {
    let catalog = fixture::catalog(CATALOG);
    let providing = |text| {
        packages(
            &catalog,
            &PackageFilter {
                provides: Some(api(text)),
                ..Default::default()
            },
        )
    };
    assert_eq!(providing("argo.io/v1/App"), ["argo"]);
    assert_eq!(providing("argo.io/App"), ["argo"]);
    assert_eq!(providing("etcd.io/v1/Etcd"), ["etcd"]);
    let nobody: [&str; 0] = [];
    assert_eq!(providing("argo.io/v1alpha1/App"), nobody, "not at the head");
    assert_eq!(
        providing("argo.io/v1/Run"),
        nobody,
        "not in the default channel"
    );
    assert_eq!(
        providing("vault.io/Vault"),
        nobody,
        "without a default channel"
    );
    assert_eq!(providing("etcd.io/v2/Etcd"), nobody);
    assert_eq!(providing("/v1/Etcd"), nobody);
}

#[test]
fn conditions_on_packages_must_all_hold_and_each_facet_ignores_its_own() {
    let catalog = fixture::catalog(CATALOG);
    let filter = PackageFilter {
        search: Some("git".into()),
        names: vec!["argo", "etcd"],
        categories: vec!["Delivery"],
        providers: vec!["CNCF"],
        keywords: vec!["git"],
        capability_levels: vec![CapabilityLevel::BasicInstall],
        install_modes: vec![InstallMode::OwnNamespace],
        infrastructure_features: vec!["disconnected"],
        architectures: vec!["amd64"],
        operating_systems: vec!["linux"],
        valid_subscriptions: Vec::new(),
        certified: None,
        problem_severity: None,
        provides: Some(api("etcd.io/Etcd")),
        platform: Some(Platform {
            architecture: Some("amd64"),
            ..Platform::default()
        }),
        olm_v1: vec![OlmV1Installability::No],
        deprecated: Some(true),
    };
    assert_eq!(packages(&catalog, &filter), ["etcd"]);
    for broken in [
        PackageFilter {
            search: Some("argo".into()),
            ..filter.clone()
        },
        PackageFilter {
            names: vec!["argo"],
            ..filter.clone()
        },
        PackageFilter {
            platform: Some(Platform {
                architecture: Some("arm64"),
                ..Platform::default()
            }),
            ..filter.clone()
        },
        PackageFilter {
            categories: vec!["x"],
            ..filter.clone()
        },
        PackageFilter {
            providers: vec!["x"],
            ..filter.clone()
        },
        PackageFilter {
            keywords: vec!["x"],
            ..filter.clone()
        },
        PackageFilter {
            capability_levels: vec![CapabilityLevel::AutoPilot],
            ..filter.clone()
        },
        PackageFilter {
            install_modes: vec![InstallMode::MultiNamespace],
            ..filter.clone()
        },
        PackageFilter {
            infrastructure_features: vec!["x"],
            ..filter.clone()
        },
        PackageFilter {
            provides: Some(api("argo.io/App")),
            ..filter.clone()
        },
        PackageFilter {
            olm_v1: vec![OlmV1Installability::Yes, OlmV1Installability::Unknown],
            ..filter.clone()
        },
        PackageFilter {
            deprecated: Some(false),
            ..filter.clone()
        },
    ] {
        assert!(packages(&catalog, &broken).is_empty(), "{broken:?}");
    }
    let own = PackageFilter {
        keywords: vec!["secret"],
        ..Default::default()
    };
    let pairs = |facet_of| facet(&catalog, &own, facet_of);
    let pair = |value: &str, count| (value.to_owned(), count);
    let expected = [
        pair("git", 2),
        pair("ci", 1),
        pair("secret", 1),
        pair("store", 1),
    ];
    assert_eq!(
        pairs(Facet::Keywords),
        expected,
        "its own condition does not count"
    );
    assert_eq!(pairs(Facet::Providers), [pair("CNCF", 1)], "the others' do");
    assert_eq!(pairs(Facet::Categories), []);
}

#[test]
fn facets_count_packages_by_each_of_their_values() {
    let catalog = fixture::catalog(CATALOG);
    let all = |of| facet(&catalog, &PackageFilter::default(), of);
    let pair = |value: &str, count| (value.to_owned(), count);
    assert_eq!(
        all(Facet::Categories),
        [pair("Delivery", 2), pair("Database", 1)]
    );
    assert_eq!(
        all(Facet::Providers),
        [pair("CNCF", 2), pair("Argo Team", 1)]
    );
    assert_eq!(
        all(Facet::Keywords),
        [
            pair("git", 2),
            pair("ci", 1),
            pair("secret", 1),
            pair("store", 1)
        ]
    );
    assert_eq!(
        all(Facet::CapabilityLevels),
        [pair("BasicInstall", 1), pair("DeepInsights", 1)]
    );
    assert_eq!(
        all(Facet::InstallModes),
        [pair("OwnNamespace", 2), pair("AllNamespaces", 1)]
    );
    assert_eq!(
        all(Facet::InfrastructureFeatures),
        [pair("disconnected", 2), pair("fips-compliant", 1)]
    );
}

#[test]
fn facets_add_up_over_catalogs_and_show_the_most_frequent() {
    let one = fixture::catalog(CATALOG);
    let two = fixture::catalog(CATALOG);
    let mut counts = FacetCounts::default();
    for catalog in [&one, &two] {
        catalog
            .find_packages(&PackageFilter::default(), &Work::unlimited())
            .unwrap()
            .count(Facet::Keywords, &mut counts, &Work::unlimited())
            .unwrap();
    }
    let expected = [("git", 4), ("ci", 2), ("secret", 2), ("store", 2)]
        .map(|(key, at)| (FacetValue::Text(key), at));
    for first in 0..6 {
        assert_eq!(counts.top(first), expected[..first.min(4)]);
    }
}

#[test]
fn each_condition_on_bundles_selects_what_meets_it() {
    let all = BundleFilter::default;
    let catalog = fixture::catalog(CATALOG);
    let range = MastermindsRange::parse(">=0.9.1 <2.0.1").unwrap();
    let prereleases = MastermindsRange::parse(">=1.0.0-0").unwrap();
    let cases = [
        (
            all(),
            [
                "argo.v2.1.0",
                "argo.v2.0.0",
                "argo.v1.0.0",
                "etcd.v0.9.2",
                "etcd.v0.9.0",
                "vault.v1.0.0-rc.1",
            ]
            .as_slice(),
        ),
        (
            BundleFilter {
                packages: vec!["vault", "none", "etcd"],
                ..all()
            },
            &["etcd.v0.9.2", "etcd.v0.9.0", "vault.v1.0.0-rc.1"],
        ),
        (
            BundleFilter {
                packages: vec!["none"],
                ..all()
            },
            &[],
        ),
        (
            BundleFilter {
                names: vec!["etcd.v0.9.0", "argo.v2.0.0", "x"],
                ..all()
            },
            &["argo.v2.0.0", "etcd.v0.9.0"],
        ),
        (
            BundleFilter {
                names: vec!["etcd.v0.9"],
                ..all()
            },
            &[],
        ),
        (
            BundleFilter {
                property_types: vec!["olm.package.required", "x"],
                ..all()
            },
            &["etcd.v0.9.2", "vault.v1.0.0-rc.1"],
        ),
        (
            BundleFilter {
                property_types: vec!["x"],
                ..all()
            },
            &[],
        ),
        (
            BundleFilter {
                channels: vec!["beta", "two", "x"],
                ..all()
            },
            &["argo.v2.1.0", "etcd.v0.9.2", "etcd.v0.9.0"],
        ),
        (
            BundleFilter {
                channels: vec!["missing"],
                ..all()
            },
            &[],
        ),
        (
            BundleFilter {
                version_range: Some(range.clone()),
                ..all()
            },
            &["argo.v2.0.0", "argo.v1.0.0", "etcd.v0.9.2"],
        ),
        (
            BundleFilter {
                version_range: Some(prereleases.clone()),
                ..all()
            },
            &[
                "argo.v2.1.0",
                "argo.v2.0.0",
                "argo.v1.0.0",
                "vault.v1.0.0-rc.1",
            ],
        ),
        (
            BundleFilter {
                provides: Some(api("argo.io/v1/App")),
                ..all()
            },
            &["argo.v2.1.0", "argo.v2.0.0"],
        ),
        (
            BundleFilter {
                provides: Some(api("argo.io/App")),
                ..all()
            },
            &["argo.v2.1.0", "argo.v2.0.0", "argo.v1.0.0"],
        ),
        (
            BundleFilter {
                provides: Some(api("argo.io/v1/Ap")),
                ..all()
            },
            &[],
        ),
        (
            BundleFilter {
                requires: Some(api("etcd.io/v1/Etcd")),
                ..all()
            },
            &["argo.v2.1.0", "vault.v1.0.0-rc.1"],
        ),
        (
            BundleFilter {
                requires: Some(api("argo.io/App")),
                ..all()
            },
            &[],
        ),
        (
            BundleFilter {
                requires_package: Some("vault"),
                ..all()
            },
            &["etcd.v0.9.2"],
        ),
        (
            BundleFilter {
                requires_package: Some("argo"),
                ..all()
            },
            &[],
        ),
        (
            BundleFilter {
                channel_head: Some(true),
                ..all()
            },
            &[
                "argo.v2.1.0",
                "argo.v2.0.0",
                "etcd.v0.9.2",
                "vault.v1.0.0-rc.1",
            ],
        ),
        (
            BundleFilter {
                channel_head: Some(false),
                ..all()
            },
            &["argo.v1.0.0", "etcd.v0.9.0"],
        ),
        (
            BundleFilter {
                deprecated: Some(true),
                ..all()
            },
            &["argo.v1.0.0"],
        ),
        (
            BundleFilter {
                deprecated: Some(false),
                packages: vec!["argo"],
                ..all()
            },
            &["argo.v2.1.0", "argo.v2.0.0"],
        ),
    ];
    for (filter, expected) in cases {
        assert_eq!(bundles(&catalog, &filter), expected, "{filter:?}");
    }
}

#[test]
fn conditions_on_bundles_must_all_hold() {
    let catalog = fixture::catalog(CATALOG);
    let range = MastermindsRange::parse("0.9.2").unwrap();
    let other = MastermindsRange::parse("1").unwrap();
    let filter = BundleFilter {
        packages: vec!["etcd"],
        names: vec!["etcd.v0.9.2"],
        images: Vec::new(),
        property_types: vec!["olm.gvk"],
        channels: vec!["stable"],
        version_range: Some(range.clone()),
        provides: Some(api("etcd.io/Etcd")),
        requires: None,
        requires_package: Some("vault"),
        platform: Some(Platform {
            architecture: Some("amd64"),
            ..Platform::default()
        }),
        olm_v1: vec![OlmV1Installability::No],
        permission: None,
        channel_head: Some(true),
        deprecated: Some(false),
    };
    assert_eq!(bundles(&catalog, &filter), ["etcd.v0.9.2"]);
    for broken in [
        BundleFilter {
            packages: vec!["argo"],
            ..filter.clone()
        },
        BundleFilter {
            platform: Some(Platform {
                architecture: Some("arm64"),
                ..Platform::default()
            }),
            ..filter.clone()
        },
        BundleFilter {
            olm_v1: vec![OlmV1Installability::Yes, OlmV1Installability::Unknown],
            ..filter.clone()
        },
        BundleFilter {
            names: vec!["etcd.v0.9.0"],
            ..filter.clone()
        },
        BundleFilter {
            property_types: vec!["olm.gvk.required"],
            ..filter.clone()
        },
        BundleFilter {
            channels: vec!["beta"],
            ..filter.clone()
        },
        BundleFilter {
            version_range: Some(other.clone()),
            ..filter.clone()
        },
        BundleFilter {
            provides: Some(api("argo.io/App")),
            ..filter.clone()
        },
        BundleFilter {
            requires: Some(api("etcd.io/Etcd")),
            ..filter.clone()
        },
        BundleFilter {
            requires_package: Some("etcd"),
            ..filter.clone()
        },
        BundleFilter {
            channel_head: Some(false),
            ..filter.clone()
        },
        BundleFilter {
            deprecated: Some(true),
            ..filter.clone()
        },
    ] {
        assert!(bundles(&catalog, &broken).is_empty(), "{broken:?}");
    }
}

#[test]
fn blobs_are_found_as_catalogd_finds_them() {
    let catalog = fixture::catalog(CATALOG);
    let count = u32::try_from(catalog.meta_count()).unwrap();
    assert_eq!(
        catalog
            .find_metas(&MetaFilter::default(), &Work::unlimited())
            .unwrap(),
        (0..count).collect::<Vec<_>>()
    );
    let found = |schema, package, name| {
        let places = catalog
            .find_metas(
                &MetaFilter {
                    schema,
                    package,
                    name,
                },
                &Work::unlimited(),
            )
            .unwrap();
        let metas = places.iter().map(|&place| catalog.meta_at(place as usize));
        metas
            .map(|meta| format!("{} {}", meta.schema(), meta.name().unwrap_or("-")))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found(Some("olm.package"), None, None),
        ["olm.package argo", "olm.package etcd", "olm.package vault"]
    );
    assert_eq!(
        found(None, Some("vault"), None),
        ["olm.channel stable", "olm.bundle vault.v1.0.0-rc.1"],
        "the blob of the package itself names none"
    );
    assert_eq!(
        found(None, None, Some("argo")),
        [
            "olm.package argo",
            "example.com.extra argo",
            "example.com.extra argo"
        ],
        "one without a schema meets no condition"
    );
    assert_eq!(
        found(None, Some("argo"), Some("argo")),
        ["example.com.extra argo"]
    );
    assert_eq!(
        found(Some("olm.channel"), Some("etcd"), Some("two")),
        ["olm.channel two"]
    );
    let nothing: [&str; 0] = [];
    assert_eq!(
        found(Some("olm.channel"), Some("vault"), Some("two")),
        nothing
    );
    assert_eq!(
        found(Some(""), None, None),
        nothing,
        "what is empty is absent"
    );
    assert_eq!(found(None, Some(""), None), nothing);
    assert_eq!(found(Some("OLM.package"), None, None), nothing);
}

#[test]
fn ranks_are_the_order_of_versions_and_of_names() {
    let catalog = fixture::catalog(CATALOG);
    let mut ranked: Vec<_> = catalog
        .bundles()
        .zip(catalog.version_ranks())
        .map(|(bundle, rank)| (rank, bundle.name()))
        .collect();
    ranked.sort();
    let expected = [
        (Some(0), "etcd.v0.9.0"),
        (Some(1), "etcd.v0.9.2"),
        (Some(2), "vault.v1.0.0-rc.1"),
        (Some(3), "argo.v1.0.0"),
        (Some(4), "argo.v2.0.0"),
        (Some(5), "argo.v2.1.0"),
    ];
    assert_eq!(
        ranked,
        expected.each_ref().map(|(rank, name)| (rank, *name))
    );
    let mut names: Vec<_> = catalog
        .name_ranks()
        .iter()
        .zip(catalog.bundles().map(Bundle::name))
        .collect();
    names.sort();
    assert!(names.is_sorted_by_key(|(_, name)| *name), "{names:?}");
    let twins = fixture::catalog(
        "package a default=c\nchannel c: v1.0.0\nbundle v1.0.0\npackage b default=c\nchannel c: v1.0.0 <- v1.1.0\nbundle v1.0.0\nbundle v1.1.0",
    );
    assert_eq!(twins.version_ranks(), [Some(0), Some(2), Some(0)]);
}

#[test]
fn all_bundles_are_sorted_both_ways_with_those_without_a_value_last() {
    let bundle = |package: &str, name: &str, version: Option<&str>, created_at: Option<&str>| {
        let mut properties = Vec::new();
        properties.extend(
            version
                .map(|version| json!({"type": "olm.package", "value": {"packageName": package, "version": version}})),
        );
        properties.extend(created_at.map(
            |created_at| json!({"type": "olm.csv.metadata", "value": {"annotations": {"createdAt": created_at}}}),
        ));
        json!({"image": "i", "name": name, "package": package, "properties": properties, "schema": "olm.bundle"})
    };
    let lines = [
        json!({"name": "a", "schema": "olm.package"}),
        bundle("a", "a.x", Some("1.0.0"), Some("2024-02-01")),
        bundle("a", "a.y", Some("2.0.0"), Some("2024-01-01")),
        bundle("a", "a.z", None, Some("2024-02-01")),
        json!({"name": "b", "schema": "olm.package"}),
        bundle("b", "a.x", Some("2.0.0"), None),
        bundle("b", "b.x", Some("1.0.0"), Some("2024-02-01")),
    ];
    let catalog = fixture::catalog_of(&lines.map(|line| format!("{line}\n")).concat());
    let sorted = |sort, direction| {
        let places = catalog.sorted_bundles(sort, direction).iter();
        let bundles = places.map(|&at| catalog.bundle_at(at as usize));
        bundles
            .map(|bundle| format!("{}/{}", bundle.package().name(), bundle.name()))
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (sort, ascending, descending) in [
        (
            BundleSort::Version,
            "a/a.x b/b.x a/a.y b/a.x a/a.z",
            "a/a.y b/a.x a/a.x b/b.x a/a.z",
        ),
        (
            BundleSort::Name,
            "a/a.x b/a.x a/a.y a/a.z b/b.x",
            "b/b.x a/a.z a/a.y a/a.x b/a.x",
        ),
        (
            BundleSort::CreatedAt,
            "a/a.y a/a.x a/a.z b/b.x b/a.x",
            "a/a.x a/a.z b/b.x a/a.y b/a.x",
        ),
    ] {
        assert_eq!(
            sorted(sort, SortDirection::Ascending),
            ascending,
            "{sort:?}"
        );
        assert_eq!(
            sorted(sort, SortDirection::Descending),
            descending,
            "{sort:?}"
        );
    }
}
