//! Resolution: upstream's own table, and the reasons that are given.

mod golden;

use std::collections::BTreeMap;

use fbc::work::Work;
use fbc::{Catalog, Platform};
use fbc_grammar::selector::{MatchExpression, Selector};
use fbc_graph::resolve::{
    Considered, FailureCode, InstalledBundle, MAX_CONSIDERED, Offer, ResolutionFailure,
    ResolutionRequest, UpgradePolicy, resolve,
};
use testing::fixture;

/// The package of upstream's own test.
const PACKAGE: &str = "
    package P default=beta
    channel alpha: v0.1.0 , v1.0.0 range=<1.0.0 , v1.0.1 range=<1.0.1 , v1.0.2 range=<1.0.2 , \
        v2.0.0 range=\">=1.0.0 <2.0.0\"
    channel beta: v0.1.0 , v1.0.2 range=<1.0.2
    channel gamma: v3.0.0 range=\">=2.0.0 <3.0.0\"
    deprecated package \"p\"
    deprecated channel alpha \"a\"
    deprecated bundle v1.0.0 \"b\"
    deprecated bundle v1.0.1 \"c\"
";

/// Catalogs in the order in which they are listed: name, priority, content.
struct Offers {
    labels: Vec<BTreeMap<String, String>>,
    catalogs: Vec<(&'static str, i32, Catalog)>,
}

impl Offers {
    fn new<const N: usize>(catalogs: [(&'static str, i32, &str); N]) -> Self {
        let catalogs =
            catalogs.map(|(name, priority, fixture)| (name, priority, fixture::catalog(fixture)));
        let label = |name: &str| {
            (
                "olm.operatorframework.io/metadata.name".to_owned(),
                name.to_owned(),
            )
        };
        Self {
            labels: catalogs
                .iter()
                .map(|(name, ..)| BTreeMap::from([label(name)]))
                .collect(),
            catalogs: catalogs.into(),
        }
    }

    /// As in upstream's table: two that do not have the package, and one that does.
    fn usual() -> Self {
        Self::new([("a", 0, ""), ("b", 0, ""), ("c", 0, PACKAGE)])
    }

    fn list(&self) -> Vec<Offer<'_>> {
        let offers = self.catalogs.iter().zip(&self.labels);
        offers
            .map(|((name, priority, catalog), labels)| Offer {
                name,
                priority: *priority,
                labels,
                content: Ok(catalog),
            })
            .collect()
    }

    /// The bundle picked, with its catalog, or the message.
    fn answer(&self, request: &ResolutionRequest<'_>) -> String {
        let offers = self.list();
        match resolve(
            &ResolutionRequest {
                package: "P",
                ..*request
            },
            &offers,
            &Work::unlimited(),
        )
        .unwrap()
        {
            Ok(found) => format!("{} {}", offers[found.offer].name, found.bundle.name()),
            Err(failure) => failure.message,
        }
    }

    /// What was looked at, best first: catalog, bundle and the reason for not choosing it.
    fn reasons(&self, request: &ResolutionRequest<'_>) -> Vec<String> {
        let offers = self.list();
        let considered = match resolve(
            &ResolutionRequest {
                package: "P",
                ..*request
            },
            &offers,
            &Work::unlimited(),
        )
        .unwrap()
        {
            Ok(found) => found.considered,
            Err(failure) => failure.considered,
        };
        let reason = |considered: Considered<'_>| {
            let reason = considered
                .rejection
                .map_or("chosen".to_owned(), |rejection| format!("{rejection:?}"));
            format!(
                "{} {} {reason}",
                offers[considered.offer].name,
                considered.bundle.name()
            )
        };
        considered.into_iter().map(reason).collect()
    }
}

fn of_version(version: &str) -> ResolutionRequest<'_> {
    ResolutionRequest {
        version,
        ..ResolutionRequest::default()
    }
}

fn upgrade<'a>(name: &'a str, version: &'a str) -> ResolutionRequest<'a> {
    ResolutionRequest {
        installed: Some(InstalledBundle {
            name,
            version,
            release: None,
        }),
        ..ResolutionRequest::default()
    }
}

/// Upstream's table, but for the rows in which what cannot happen here is injected; see the
/// recorded worlds for those.
#[test]
fn upstreams_own_table_holds() {
    let usual = Offers::usual();
    let table: [(&str, ResolutionRequest<'_>, &str); 17] = [
        (
            "InvalidClusterExtensionVersionRange",
            of_version("foobar"),
            "desired version range \"foobar\" is invalid: improper constraint: \"foobar\"",
        ),
        ("PackageExists", ResolutionRequest::default(), "c P.v3.0.0"),
        (
            "VersionDoesNotExist",
            of_version("4.0.0"),
            "no bundles found for package \"P\" matching version \"4.0.0\"",
        ),
        ("VersionExists", of_version(">=1.0.0 <2.0.0"), "c P.v1.0.2"),
        (
            "ChannelDoesNotExist",
            ResolutionRequest {
                channels: &["stable"],
                ..ResolutionRequest::default()
            },
            "no bundles found for package \"P\" in channels [stable]",
        ),
        (
            "ChannelExists",
            ResolutionRequest {
                channels: &["beta"],
                ..ResolutionRequest::default()
            },
            "c P.v1.0.2",
        ),
        (
            "ChannelExistsButNotVersion",
            ResolutionRequest {
                channels: &["beta"],
                ..of_version("3.0.0")
            },
            "no bundles found for package \"P\" matching version \"3.0.0\" in channels [beta]",
        ),
        (
            "VersionExistsButNotChannel",
            ResolutionRequest {
                channels: &["stable"],
                ..of_version("1.0.0")
            },
            "no bundles found for package \"P\" matching version \"1.0.0\" in channels [stable]",
        ),
        (
            "ChannelAndVersionExist",
            ResolutionRequest {
                channels: &["alpha"],
                ..of_version("0.1.0")
            },
            "c P.v0.1.0",
        ),
        (
            "PreferNonDeprecated",
            of_version(">=0.1.0 <=1.0.0"),
            "c P.v0.1.0",
        ),
        (
            "AcceptDeprecated",
            of_version(">=1.0.0 <=1.0.1"),
            "c P.v1.0.1",
        ),
        (
            "UpgradeFoundLegacy",
            upgrade("P.v0.1.0", "0.1.0"),
            "c P.v1.0.2",
        ),
        (
            "UpgradeNotFoundLegacy",
            ResolutionRequest {
                version: "<1.0.0 >=2.0.0",
                ..upgrade("P.v0.1.0", "0.1.0")
            },
            "error upgrading from currently installed version \"0.1.0\": \
             no bundles found for package \"P\" matching version \"<1.0.0 >=2.0.0\"",
        ),
        (
            "DowngradeFound",
            ResolutionRequest {
                version: "<1.0.2",
                policy: UpgradePolicy::SelfCertified,
                ..upgrade("P.v1.0.2", "1.0.2")
            },
            "c P.v0.1.0",
        ),
        (
            "DowngradeNotFound",
            ResolutionRequest {
                version: ">0.1.0 <1.0.0",
                policy: UpgradePolicy::SelfCertified,
                ..upgrade("P.v1.0.2", "1.0.2")
            },
            "error upgrading from currently installed version \"1.0.2\": \
             no bundles found for package \"P\" matching version \">0.1.0 <1.0.0\"",
        ),
        (
            "MultipleChannels",
            ResolutionRequest {
                channels: &["beta", "alpha"],
                ..ResolutionRequest::default()
            },
            "c P.v2.0.0",
        ),
        (
            "MultipleChannels, in the order of the request",
            ResolutionRequest {
                channels: &["x", "alpha"],
                ..of_version("9")
            },
            "no bundles found for package \"P\" matching version \"9\" in channels [x alpha]",
        ),
    ];
    for (name, request, expected) in table {
        assert_eq!(usual.answer(&request), expected, "{name}");
    }
    let nowhere = Offers::new([("a", 0, ""), ("b", 0, ""), ("c", 0, "")]);
    assert_eq!(
        nowhere.answer(&ResolutionRequest::default()),
        "no bundles found for package \"P\""
    );
    // All catalogs are disabled: nothing is offered.
    assert_eq!(
        Offers::new([]).answer(&of_version(">=1.0.0")),
        "no bundles found for package \"P\" matching version \">=1.0.0\""
    );
}

#[test]
fn upstreams_rows_of_several_catalogs_hold() {
    let one = |version: &str| format!("package P default=x\nbundle {version}");
    let deprecated =
        |version: &str| format!("{}\ndeprecated bundle {version} \"old\"", one(version));
    let offers = Offers::new([
        ("b", 0, &deprecated("v1.0.0")),
        ("c", 0, &deprecated("v1.0.1")),
        ("d", 0, &one("v1.0.2")),
        ("e", 0, &deprecated("v1.0.3")),
        ("f", 0, "package P default=x\nbundle v1.0.4\nbundle v1.0.5"),
    ]);
    let tied = |range: &str, names: &str| {
        format!(
            "found bundles for package \"P\" matching version \"{range}\" \
             in multiple catalogs with the same priority [{names}]"
        )
    };
    assert_eq!(offers.answer(&of_version(">=1.0.0 <=1.0.3")), "d P.v1.0.2");
    assert_eq!(
        offers.answer(&of_version(">=1.0.0 <=1.0.1")),
        tied(">=1.0.0 <=1.0.1", "b c")
    );
    assert_eq!(
        offers.answer(&of_version(">=1.0.0 <=1.0.4")),
        tied(">=1.0.0 <=1.0.4", "d f")
    );
    assert_eq!(offers.answer(&of_version(">=1.0.4 <=1.0.5")), "f P.v1.0.5");
    let unequal = Offers::new([("a", 1, &one("v1.0.0")), ("b", 0, &one("v1.1.0"))]);
    assert_eq!(unequal.answer(&ResolutionRequest::default()), "a P.v1.0.0");
    let multiple = Offers::new([("a", 1, PACKAGE), ("b", 0, PACKAGE), ("c", 1, PACKAGE)]);
    assert_eq!(
        multiple.answer(&of_version(">=1.0.0 <=1.0.1")),
        tied(">=1.0.0 <=1.0.1", "a b c")
    );
}

#[test]
fn upstreams_rows_of_selectors_hold() {
    let offers = Offers::new([("a", 0, PACKAGE), ("b", 0, PACKAGE)]);
    let read = |key: &str, value: &str| {
        Selector::from_kubernetes(&BTreeMap::from([(key.to_owned(), value.to_owned())]), &[])
    };
    let selector = read("olm.operatorframework.io/metadata.name", "b").unwrap();
    let request = ResolutionRequest {
        selector: Some(&selector),
        ..ResolutionRequest::default()
    };
    assert_eq!(offers.answer(&request), "b P.v3.0.0");
    let selector = read("olm.operatorframework.io/metadata.name", "z").unwrap();
    let request = ResolutionRequest {
        selector: Some(&selector),
        ..ResolutionRequest::default()
    };
    assert_eq!(
        offers.answer(&request),
        "no bundles found for package \"P\""
    );

    let message = |failed: Result<Selector, _>| {
        let failure = ResolutionFailure::from(failed.unwrap_err());
        assert_eq!(failure.code, FailureCode::InvalidRequest);
        failure.message
    };
    let bad = MatchExpression {
        key: "name",
        operator: "bad",
        values: &["value".to_owned()],
    };
    assert_eq!(
        message(Selector::from_kubernetes(&BTreeMap::new(), &[bad])),
        "desired catalog selector is invalid: \"bad\" is not a valid label selector operator"
    );
    let start = "desired catalog selector is invalid: key: Invalid value: \"\": name part must be non-empty; ";
    assert!(message(read("", "value")).starts_with(start));
    let start = "desired catalog selector is invalid: values[0][name]: Invalid value: \"&value\": a valid label must ";
    assert!(message(read("name", "&value")).starts_with(start));
    let start = "desired catalog selector is invalid: key: Invalid value: \"a/b/c\": a valid label key must consist of ";
    assert!(message(read("a/b/c", "value")).starts_with(start));
}

#[test]
fn a_package_property_of_another_type_is_refused_in_upstreams_words() {
    let unmarshal = "json: cannot unmarshal";
    for (property, reason) in [
        (
            r#","value":{"packageName":"P","version":1}"#,
            format!("{unmarshal} number into Go struct field Package.version of type string"),
        ),
        (
            r#","value":"1.0.0""#,
            format!("{unmarshal} string into Go value of type property.Package"),
        ),
        ("", "unexpected end of JSON input".to_owned()),
    ] {
        let catalog = fixture::catalog(&format!(
            r#"package P default=x
            {{"image":"a.io/a:1","name":"P.v1","package":"P","properties":[{{"type":"olm.package"{property}}}],"schema":"olm.bundle"}}"#
        ));
        let labels = BTreeMap::new();
        let offers = [Offer {
            name: "a",
            priority: 0,
            labels: &labels,
            content: Ok(&catalog),
        }];
        let failure = resolve(
            &ResolutionRequest {
                package: "P",
                ..ResolutionRequest::default()
            },
            &offers,
            &Work::unlimited(),
        )
        .unwrap()
        .err()
        .unwrap();
        let expected = "error getting resolved bundle version for bundle \"P.v1\": error unmarshalling package property: ";
        assert_eq!(
            (failure.code, failure.message),
            (FailureCode::NoMatchingBundle, format!("{expected}{reason}"))
        );
    }
}

#[test]
fn a_catalog_that_cannot_be_read_stops_the_resolution() {
    let usual = Offers::usual();
    let mut offers = usual.list();
    offers[0].content = Err("fake error");
    let failure = resolve(
        &ResolutionRequest {
            package: "P",
            ..ResolutionRequest::default()
        },
        &offers,
        &Work::unlimited(),
    )
    .unwrap()
    .err()
    .unwrap();
    assert_eq!(
        failure.message,
        "error walking catalogs: error getting package \"P\" from catalog \"a\": fake error"
    );
}

#[test]
fn a_choice_says_the_deprecations_of_what_was_chosen() {
    let usual = Offers::usual();
    let offers = usual.list();
    let deprecations = |request: ResolutionRequest<'_>| {
        let found = resolve(
            &ResolutionRequest {
                package: "P",
                ..request
            },
            &offers,
            &Work::unlimited(),
        )
        .unwrap()
        .ok()
        .unwrap();
        let deprecations = found.deprecations.iter();
        deprecations
            .map(|deprecation| format!("{} {}", deprecation.schema(), deprecation.name()))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        deprecations(of_version(">=1.0.0 <=1.0.1")),
        ["olm.bundle P.v1.0.1", "olm.package P", "olm.channel alpha"]
    );
    assert_eq!(
        deprecations(ResolutionRequest {
            channels: &["beta"],
            ..ResolutionRequest::default()
        }),
        ["olm.package P"]
    );
}

#[test]
fn each_bundle_is_told_why_it_was_not_chosen() {
    let usual = Offers::usual();
    assert_eq!(
        usual.reasons(&ResolutionRequest {
            channels: &["alpha"],
            version: "<2",
            ..upgrade("P.v0.1.0", "0.1.0")
        }),
        [
            "c P.v1.0.2 chosen",
            "c P.v0.1.0 LowerVersion",
            "c P.v1.0.1 Deprecated",
            "c P.v1.0.0 Deprecated",
            "c P.v3.0.0 Channel",
            "c P.v2.0.0 Version",
        ]
    );
    assert_eq!(
        usual.reasons(&upgrade("P.v2.0.0", "2.0.0"))[..3],
        [
            "c P.v3.0.0 chosen",
            "c P.v2.0.0 LowerVersion",
            "c P.v1.0.2 NotASuccessor"
        ]
    );
    let several = Offers::new([
        ("a", 1, "package P default=x\nbundle v1.0.0"),
        (
            "b",
            1,
            "package P default=x\nbundle v1.5.0\nbundle vlatest version=latest",
        ),
        ("c", 0, "package P default=x\nbundle v2.0.0"),
        (
            "d",
            9,
            "package P default=x\nbundle v3.0.0\ndeprecated bundle v3.0.0 \"old\"",
        ),
    ]);
    assert_eq!(
        several.reasons(&ResolutionRequest::default()),
        [
            "b P.v1.5.0 Ambiguous",
            "a P.v1.0.0 Ambiguous",
            "c P.v2.0.0 LowerPriority",
            "d P.v3.0.0 Deprecated",
            "b P.vlatest Version",
        ]
    );
    let needy = Offers::new([(
        "a",
        0,
        "package P default=x\nbundle v1.0.0\nbundle v2.0.0 needs=q@>=1.0.0",
    )]);
    assert_eq!(
        needy.reasons(&ResolutionRequest::default()),
        ["a P.v2.0.0 HasDependencies", "a P.v1.0.0 LowerVersion"]
    );
}

#[test]
fn a_failure_has_the_code_of_its_cause() {
    let usual = Offers::usual();
    let offers = usual.list();
    let code = |request: ResolutionRequest<'_>| {
        resolve(&request, &offers, &Work::unlimited())
            .unwrap()
            .err()
            .map(|failure| failure.code)
    };
    let of_p = |request: ResolutionRequest<'static>| {
        code(ResolutionRequest {
            package: "P",
            ..request
        })
    };
    assert_eq!(of_p(ResolutionRequest::default()), None);
    assert_eq!(of_p(of_version("~~")), Some(FailureCode::InvalidRequest));
    assert_eq!(
        of_p(upgrade("P.v1", "1")),
        Some(FailureCode::InvalidRequest)
    );
    assert_eq!(of_p(of_version("9")), Some(FailureCode::NoMatchingBundle));
    assert_eq!(
        code(ResolutionRequest {
            package: "Q",
            ..ResolutionRequest::default()
        }),
        Some(FailureCode::PackageNotFound)
    );
    // As upstream has it, what is installed is only read where the package is found.
    assert_eq!(
        code(ResolutionRequest {
            package: "Q",
            ..upgrade("Q.v1", "1")
        }),
        Some(FailureCode::PackageNotFound)
    );
}

#[test]
fn at_most_a_hundred_reasons_are_given() {
    let bundles: Vec<_> = (0..=MAX_CONSIDERED)
        .map(|at| format!("bundle v1.{at}.0"))
        .collect();
    let offers = Offers::new([(
        "a",
        0,
        format!("package P default=x\n{}", bundles.join("\n")).as_str(),
    )]);
    let reasons = offers.reasons(&of_version("1.0.0"));
    assert_eq!(
        (reasons.len(), reasons[0].as_str()),
        (MAX_CONSIDERED, "a P.v1.0.0 chosen")
    );
}

#[test]
fn a_platform_rejects_what_does_not_run_on_it_and_is_named_when_nothing_does() {
    let offers = Offers::new([(
        "c",
        0,
        r#"
        {"schema":"olm.package","name":"P","defaultChannel":"stable"}
        {"schema":"olm.channel","package":"P","name":"stable","entries":[{"name":"P.v1"},{"name":"P.v2","replaces":"P.v1"}]}
        {"schema":"olm.bundle","package":"P","name":"P.v1","image":"a.io/p:1","properties":[{"type":"olm.package","value":{"packageName":"P","version":"1.0.0"}}]}
        {"schema":"olm.bundle","package":"P","name":"P.v2","image":"a.io/p:2","properties":[{"type":"olm.package","value":{"packageName":"P","version":"2.0.0"}},{"type":"olm.csv.metadata","value":{"minKubeVersion":"1.30.0"}}]}
        "#,
    )]);
    let on = |kubernetes: &str, architecture| {
        let kubernetes = Some(kubernetes.parse().unwrap());
        let platform = Platform {
            kubernetes,
            architecture,
            ..Platform::default()
        };
        ResolutionRequest {
            platform: Some(platform),
            ..ResolutionRequest::default()
        }
    };
    assert_eq!(offers.answer(&ResolutionRequest::default()), "c P.v2");
    assert_eq!(offers.answer(&on("1.30", None)), "c P.v2");
    assert_eq!(offers.answer(&on("1.29", None)), "c P.v1");
    assert_eq!(
        offers.reasons(&on("1.29", None)),
        ["c P.v1 chosen", "c P.v2 Incompatible"]
    );
    assert_eq!(
        offers.answer(&on("1.29", Some("arm64"))),
        "no bundles found for package \"P\" compatible with Kubernetes 1.29, architecture arm64"
    );
}
