//! What an indexed catalog answers.

use bytes::Bytes;
use fbc::work::Work;
use fbc::{
    BundleFilter, Catalog, FREE_OBJECTS, GroupVersionKind, Head, IndexError, PackageRequirement,
    PropertyKind,
};
use fbc_read::origin::FileOrigin;
use fbc_read::{Origins, ProblemCode, Severity};
use testing::fixture;

const ETCD: &str = r#"
    package etcd default=stable description="A store"
    channel stable: v0.9.0 <- v0.9.2 <- v0.9.10 skips=v0.9.1 range=">=0.9.0 <0.9.10"
    channel alpha: v0.9.10 , v1.0.0-rc.1 replaces=v0.9.10
    bundle v0.9.10 provides=etcd.io/v1/Etcd requires=certs.io/v1/Cert needs=vault@>=1.0.0 related=a.io/a:1,b.io/b:2
    deprecated channel alpha "use stable"
    deprecated bundle v0.9.0 "too old"
    package argo default=stable
    channel stable: v2.0.0
    deprecated package "gone"
"#;

fn names<'a, T>(items: impl Iterator<Item = T>, name: impl Fn(T) -> &'a str) -> Vec<&'a str> {
    items.map(name).collect()
}

fn messages(catalog: &Catalog) -> Vec<(ProblemCode, &str)> {
    catalog
        .problems()
        .iter()
        .map(|problem| (problem.code, problem.message.as_str()))
        .collect()
}

#[test]
fn packages_and_channels_come_by_name() {
    let catalog = fixture::catalog(ETCD);
    assert_eq!(
        names(catalog.packages(), |package| package.name()),
        ["argo", "etcd"]
    );
    let etcd = catalog.package("etcd").unwrap();
    assert_eq!(
        names(etcd.channels(), |channel| channel.name()),
        ["alpha", "stable"]
    );
    assert_eq!(etcd.description().unwrap().decode(), "A store");
    assert_eq!(etcd.default_channel().unwrap().name(), "stable");
    assert!(etcd.channel("stable").unwrap().is_default());
    assert!(!etcd.channel("alpha").unwrap().is_default());
    assert!(etcd.channel("beta").is_none());
    assert!(catalog.package("etc").is_none());
}

#[test]
fn bundles_come_by_package_then_highest_version_first() {
    let catalog = fixture::catalog(ETCD);
    let expected = [
        "argo.v2.0.0",
        "etcd.v1.0.0-rc.1",
        "etcd.v0.9.10",
        "etcd.v0.9.2",
        "etcd.v0.9.0",
    ];
    assert_eq!(names(catalog.bundles(), |bundle| bundle.name()), expected);
    assert_eq!(
        names(catalog.package("etcd").unwrap().bundles(), |bundle| bundle
            .name()),
        expected[1..]
    );
}

#[test]
fn a_bundle_is_found_by_name_and_image() {
    let catalog = fixture::catalog(ETCD);
    let by_image = |images: &[&str]| {
        let filter = BundleFilter {
            images: images.to_vec(),
            ..BundleFilter::default()
        };
        let found = catalog.find_bundles(&filter, &Work::unlimited()).unwrap();
        found
            .into_iter()
            .map(|place| place as usize)
            .collect::<Vec<_>>()
    };
    for bundle in catalog.bundles() {
        assert_eq!(
            bundle.package().bundle(bundle.name()).unwrap().place(),
            bundle.place()
        );
        assert_eq!(by_image(&[&bundle.image().decode()]), [bundle.place()]);
    }
    assert!(catalog.package("etcd").unwrap().bundle("v0.9.0").is_none());
    assert_eq!(by_image(&["quay.io/example/other"]), [0; 0]);
    let all: Vec<_> = catalog
        .bundles()
        .map(|bundle| bundle.image().decode().into_owned())
        .collect();
    let images: Vec<_> = all.iter().rev().chain(&all).map(String::as_str).collect();
    assert_eq!(by_image(&images), (0..all.len()).collect::<Vec<_>>());
}

#[test]
fn entries_say_what_they_replace_and_skip() {
    let catalog = fixture::catalog(ETCD);
    let stable = catalog.package("etcd").unwrap().channel("stable").unwrap();
    let entries: Vec<_> = stable
        .entries()
        .map(|entry| {
            (
                entry.name(),
                entry.replaces(),
                entry.skips().collect::<Vec<_>>(),
                entry.skip_range(),
            )
        })
        .collect();
    assert_eq!(
        entries,
        [
            ("etcd.v0.9.0", None, vec![], None),
            ("etcd.v0.9.2", Some("etcd.v0.9.0"), vec![], None),
            (
                "etcd.v0.9.10",
                Some("etcd.v0.9.2"),
                vec!["etcd.v0.9.1"],
                Some(">=0.9.0 <0.9.10")
            ),
        ]
    );
    let bundle = stable.entries().nth(2).unwrap().bundle().unwrap();
    let places: Vec<_> = bundle
        .channel_entries()
        .map(|entry| entry.channel().name())
        .collect();
    assert_eq!(places, ["alpha", "stable"]);
}

#[test]
fn a_bundle_says_what_it_provides_and_needs() {
    let catalog = fixture::catalog(ETCD);
    let bundle = catalog
        .package("etcd")
        .unwrap()
        .bundle("etcd.v0.9.10")
        .unwrap();
    let api = |group, kind| GroupVersionKind {
        group,
        version: "v1",
        kind,
    };
    assert_eq!(
        bundle.provided_apis().collect::<Vec<_>>(),
        [api("etcd.io", "Etcd")]
    );
    assert_eq!(
        bundle.required_apis().collect::<Vec<_>>(),
        [api("certs.io", "Cert")]
    );
    let need = PackageRequirement {
        package: "vault",
        version_range: ">=1.0.0",
    };
    assert_eq!(bundle.required_packages().collect::<Vec<_>>(), [need]);
    let images: Vec<_> = bundle
        .related_images()
        .iter()
        .map(|related| related.image.decode().into_owned())
        .collect();
    assert_eq!(images, ["a.io/a:1", "b.io/b:2"]);
    assert_eq!((bundle.version(), bundle.release()), (Some("0.9.10"), None));
}

#[test]
fn deprecations_stand_where_they_point() {
    let catalog = fixture::catalog(ETCD);
    let etcd = catalog.package("etcd").unwrap();
    assert!(etcd.deprecation().is_none());
    let channel = etcd.channel("alpha").unwrap().deprecation().unwrap();
    assert_eq!((channel.schema(), channel.name()), ("olm.channel", "alpha"));
    assert_eq!(channel.message().unwrap().decode(), "use stable");
    assert_eq!(
        etcd.bundle("etcd.v0.9.0")
            .unwrap()
            .deprecation()
            .unwrap()
            .message()
            .unwrap()
            .decode(),
        "too old"
    );
    let package = catalog.package("argo").unwrap().deprecation().unwrap();
    assert_eq!((package.schema(), package.name()), ("olm.package", "argo"));
}

#[test]
fn the_head_is_the_one_entry_that_nothing_replaces_or_skips() {
    let head = |channel: &str| {
        let catalog = fixture::catalog(&format!("package p default=c\nchannel c: {channel}"));
        match catalog.package("p").unwrap().channel("c").unwrap().head() {
            Head::None => "none".to_owned(),
            Head::One(entry) => entry.name().to_owned(),
            Head::Several => "several".to_owned(),
        }
    };
    assert_eq!(
        head("v1.0.0 , v2.0.0 , v3.0.0 replaces=v1.0.0 skips=v2.0.0"),
        "p.v3.0.0"
    );
    assert_eq!(
        head("v1.0.0 replaces=v3.0.0 , v3.0.0 replaces=v1.0.0 skips=v2.0.0"),
        "none"
    );
    assert_eq!(
        head("v1.0.0 , v3.0.0 replaces=v1.0.0 , v4.0.0 replaces=v1.0.0"),
        "several"
    );
    assert_eq!(
        head("v4.0.0 replaces=v4.0.0 , v5.0.0 replaces=v4.0.0"),
        "p.v5.0.0"
    );
    assert_eq!(head(""), "none");
}

#[test]
fn a_name_that_is_replaced_in_one_channel_may_head_another() {
    let catalog =
        fixture::catalog("package p default=b\nchannel a: v1.0.0 <- v2.0.0\nchannel b: v1.0.0");
    let Head::One(head) = catalog.package("p").unwrap().channel("b").unwrap().head() else {
        panic!("no head")
    };
    assert_eq!(head.name(), "p.v1.0.0");
}

#[test]
fn of_two_objects_with_one_key_the_first_in_catalog_order_wins() {
    let catalog = fixture::catalog_of(concat!(
        r#"{"defaultChannel":"a","name":"p","schema":"olm.package"}"#,
        "\n",
        r#"{"defaultChannel":"b","name":"p","schema":"olm.package"}"#,
        "\n",
        r#"{"entries":[{"name":"x"}],"name":"a","package":"p","schema":"olm.channel"}"#,
        "\n",
        r#"{"entries":[],"name":"a","package":"p","schema":"olm.channel"}"#,
        "\n",
        r#"{"image":"one.io/x:1","name":"x","package":"p","properties":[{"type":"olm.package","value":{"packageName":"p","version":"1.0.0"}}],"schema":"olm.bundle"}"#,
        "\n",
        r#"{"image":"two.io/x:1","name":"x","package":"p","schema":"olm.bundle"}"#,
        "\n",
    ));
    let package = catalog.package("p").unwrap();
    assert_eq!(package.default_channel_name(), "a");
    assert_eq!(package.channel("a").unwrap().entries().len(), 1);
    assert_eq!(package.bundle("x").unwrap().image().decode(), "one.io/x:1");
    assert_eq!(catalog.meta_count(), 6);
    assert_eq!(
        messages(&catalog),
        [
            (ProblemCode::PackageDuplicate, "duplicate package \"p\""),
            (
                ProblemCode::ChannelDuplicate,
                "package \"p\" has duplicate channel \"a\""
            ),
            (
                ProblemCode::BundleDuplicate,
                "package \"p\" has duplicate bundle \"x\""
            ),
        ]
    );
    let places: Vec<_> = catalog
        .problems()
        .iter()
        .map(|problem| problem.line)
        .collect();
    assert_eq!(places, [Some(2), Some(4), Some(6)]);
}

#[test]
fn what_belongs_to_no_package_stays_a_blob() {
    let catalog = fixture::catalog_of(concat!(
        r#"{"entries":[],"name":"a","package":"p","schema":"olm.channel"}"#,
        "\n",
        r#"{"image":"","name":"x","package":"p","schema":"olm.bundle"}"#,
        "\n",
        r#"{"name":"y","schema":"olm.bundle"}"#,
        "\n",
        r#"{"entries":[],"package":"p","schema":"olm.deprecations"}"#,
        "\n",
    ));
    assert_eq!(
        (
            catalog.packages().len(),
            catalog.bundles().len(),
            catalog.meta_count()
        ),
        (0, 0, 4)
    );
    assert_eq!(
        messages(&catalog),
        [
            (
                ProblemCode::ChannelPackageUnknown,
                "unknown package \"p\" for channel \"a\""
            ),
            (
                ProblemCode::BundlePackageUnknown,
                "unknown package \"p\" for bundle \"x\""
            ),
            (
                ProblemCode::BundlePackageMissing,
                "package name must be set for bundle \"y\""
            ),
            (
                ProblemCode::DeprecationPackageUnknown,
                "cannot apply deprecations to an unknown package \"p\""
            ),
        ]
    );
}

#[test]
fn a_known_schema_with_a_wrong_type_stays_a_blob() {
    let catalog = fixture::catalog_of(concat!(
        r#"{"defaultChannel":1,"name":"p","schema":"olm.package"}"#,
        "\n",
        r#"{"defaultChannel":"a","name":"q","schema":"olm.package"}"#,
        "\n",
        r#"{"entries":{"name":"x"},"name":"a","package":"q","schema":"olm.channel"}"#,
        "\n",
        r#"{"image":"","name":"x","package":"q","properties":[{"type":1}],"schema":"olm.bundle"}"#,
        "\n",
    ));
    assert_eq!(names(catalog.packages(), |package| package.name()), ["q"]);
    let malformed: Vec<_> = messages(&catalog)
        .into_iter()
        .filter(|(code, _)| *code == ProblemCode::BlobMalformed)
        .map(|(_, text)| text)
        .collect();
    assert_eq!(
        malformed,
        [
            "parse package: json: cannot unmarshal number into Go struct field Package.defaultChannel of type string",
            "parse channel: json: cannot unmarshal object into Go struct field Channel.entries of type []declcfg.ChannelEntry",
            "parse bundle: json: cannot unmarshal number into Go struct field Property.properties.type of type string",
        ]
    );
}

#[test]
fn properties_are_typed_where_they_are_well_formed() {
    let catalog = fixture::catalog(
        r#"
        package p default=c
        channel c: v1.0.0
        {"image":"a.io/a:1","name":"p.v1","package":"p","properties":[{"type":"olm.package","value":{"packageName":"p","version":"1.0","release":"2"}},{"type":"olm.gvk","value":"x"},{"type":"olm.maxOpenShiftVersion","value":4.10},{"type":"olm.maxOpenShiftVersion","value":"4.11"},{"type":"olm.maxOpenShiftVersion","value":"4.11.1"},{"type":"olm.constraint","value":{"cel":{"rule":"true"}}},{"type":"olm.constraint","value":{"future":{}}},{"type":"olm.csv.metadata","value":{}},{"type":"example.com","value":[1]},{"type":"olm.package.required"}],"schema":"olm.bundle"}
        "#,
    );
    let bundle = catalog.package("p").unwrap().bundle("p.v1").unwrap();
    let kinds: Vec<_> = bundle.properties().map(fbc::Property::kind).collect();
    assert_eq!(
        kinds,
        [
            PropertyKind::Package {
                package: "p",
                version: "1.0",
                release: Some("2")
            },
            PropertyKind::Opaque,
            PropertyKind::MaxOpenShiftVersion("4.10"),
            PropertyKind::MaxOpenShiftVersion("4.11"),
            PropertyKind::Opaque,
            PropertyKind::Constraint,
            PropertyKind::Opaque,
            PropertyKind::CsvMetadata,
            PropertyKind::Opaque,
            PropertyKind::Opaque,
        ]
    );
    assert_eq!(bundle.version(), None, "1.0 is no strict version");
    let values: Vec<_> = bundle
        .properties()
        .map(|property| property.value().map(fbc_read::json::JsonValue::raw))
        .collect();
    assert_eq!(values[8..], [Some(b"[1]".as_slice()), None]);
}

#[test]
fn blobs_of_unknown_schemas_are_counted_and_kept() {
    let catalog = fixture::catalog_of(concat!(
        r#"{"name":"n","package":"p","schema":"example.com.x","v":1.10}"#,
        "\n",
        r#"{"schema":"olm.template.basic"}"#,
        "\n",
        r#"{"schema":"olm.package.v2"}"#,
        "\n",
        r#"{"schema":"olm.package.v2"}"#,
        "\n",
        r#"{"name":""}"#,
        "\n",
    ));
    let schemas: Vec<_> = catalog
        .schemas()
        .iter()
        .map(|schema| (&*schema.schema, schema.count, schema.known))
        .collect();
    assert_eq!(
        schemas,
        [
            ("", 1, false),
            ("example.com.x", 1, false),
            ("olm.package.v2", 2, false),
            ("olm.template.basic", 1, false),
        ]
    );
    let meta = catalog.meta_at(0);
    assert_eq!(
        (meta.schema(), meta.package_name(), meta.name()),
        ("example.com.x", Some("p"), Some("n"))
    );
    assert_eq!(
        meta.blob().raw(),
        br#"{"name":"n","package":"p","schema":"example.com.x","v":1.10}"#
    );
    assert_eq!(catalog.meta_at(4).name(), Some(""));
    assert_eq!(
        messages(&catalog),
        [
            (
                ProblemCode::SchemaTemplate,
                "schema \"olm.template.basic\" is a template for opm, not a catalog's blob"
            ),
            (
                ProblemCode::SchemaReserved,
                "schema \"olm.package.v2\" is not known here, and names that begin with \"olm.\" are reserved"
            ),
            (
                ProblemCode::SchemaMissing,
                "object '{\"name\":\"\"}\n' is missing root schema field"
            ),
        ]
    );
}

#[test]
fn custom_schemas_and_their_packages_with_names_that_opm_serve_refuses_are_reported_once() {
    let catalog = fixture::catalog_of(concat!(
        r#"{"package":"p","schema":"example.com/x"}"#,
        "\n",
        r#"{"package":"p","schema":"example.com/x"}"#,
        "\n",
        r#"{"package":"x/y","schema":"a"}"#,
        "\n",
        r#"{"package":"x/y","schema":"b"}"#,
        "\n",
        r#"{"package":"","schema":"0a._-Z"}"#,
        "\n",
        r#"{"schema":".a"}"#,
        "\n",
        r#"{"defaultChannel":"","name":"p/q","schema":"olm.package"}"#,
        "\n",
    ));
    let invalid = catalog
        .problems()
        .iter()
        .filter(|problem| problem.code == ProblemCode::SchemaNameInvalid)
        .collect::<Vec<_>>();
    let told = invalid.iter().map(|problem| {
        (
            problem.line,
            problem.message.split_once(" does not").unwrap().0,
        )
    });
    let expected = [
        (Some(1), r#"custom schema "example.com/x""#),
        (Some(3), r#"package "x/y" of a blob of schema "a""#),
        (Some(6), r#"custom schema ".a""#),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let rest = " does not match ^[a-zA-Z0-9][a-zA-Z0-9._-]*$: `opm serve` does not serve the catalog, and clients of OLM v0 \
                cannot ask for the blob over gRPC";
    assert!(
        invalid
            .iter()
            .all(|problem| problem.message.ends_with(rest)
                && problem.severity() == Severity::Warning)
    );
}

#[test]
fn a_catalog_without_blobs_is_accepted_with_a_warning() {
    let catalog = Catalog::build(Bytes::new(), &Origins::default()).unwrap();
    let problems: Vec<_> = catalog
        .problems()
        .iter()
        .map(|problem| (problem.code, problem.severity()))
        .collect();
    assert_eq!(problems, [(ProblemCode::CatalogEmpty, Severity::Warning)]);
}

#[test]
fn a_blob_knows_its_file_and_its_place_there() {
    let lines = "{\"schema\":\"a\"}\n{\"schema\":\"b\"}\n{\"schema\":\"c\"}\n";
    let file = |path: &str, lines: &[u32]| FileOrigin {
        path: path.to_owned(),
        lines: lines.to_vec(),
        ..FileOrigin::default()
    };
    let origins = Origins {
        files: vec![
            file("a/x.json", &[1, 7]),
            file("a.json", &[]),
            file("b.json", &[3]),
        ],
        ..Origins::default()
    };
    let catalog = Catalog::build(Bytes::from(lines), &origins).unwrap();
    let places: Vec<_> = (0..3)
        .map(|at| catalog.meta_at(at))
        .map(|meta| (&**meta.file(), meta.index(), meta.line()))
        .collect();
    assert_eq!(
        places,
        [("a/x.json", 0, 1), ("a/x.json", 1, 7), ("b.json", 0, 3)]
    );
}

#[test]
fn damaged_lines_are_refused_by_their_number() {
    for (lines, count, line) in [
        ("{\"a\":1}\n{\"a\"\n", 2, 2),
        ("{}\n", 2, 2),
        ("{}\n{}\n", 1, 2),
        ("{}", 1, 1),
        ("[]\n", 1, 1),
        ("{}x\n", 1, 1),
    ] {
        let file = FileOrigin {
            path: "f".to_owned(),
            lines: vec![1; count],
            ..FileOrigin::default()
        };
        let built = Catalog::build(
            Bytes::from(lines),
            &Origins {
                files: vec![file],
                ..Origins::default()
            },
        );
        assert_eq!(built.err(), Some(IndexError::Damaged { line }), "{lines:?}");
    }
}

#[test]
fn a_catalog_has_as_many_objects_as_its_files_justify() {
    let build = |blobs: usize, bytes: u64| {
        let file = FileOrigin {
            path: "f".to_owned(),
            lines: vec![1; blobs],
            bytes,
            ..FileOrigin::default()
        };
        let origins = Origins {
            files: vec![file],
            ..Origins::default()
        };
        Catalog::build(Bytes::from("{}\n".repeat(blobs)), &origins)
            .map(|catalog| catalog.meta_count())
    };
    assert_eq!(build(FREE_OBJECTS, 7), Ok(FREE_OBJECTS));
    assert_eq!(build(FREE_OBJECTS + 1, 8), Ok(FREE_OBJECTS + 1));
    let error = IndexError::TooManyObjects {
        line: FREE_OBJECTS + 1,
        max: FREE_OBJECTS,
    };
    assert_eq!(build(FREE_OBJECTS + 1, 7), Err(error));
}

#[test]
fn every_kind_of_object_counts() {
    let list = |item: &str| vec![item; FREE_OBJECTS].join(",");
    for line in [
        format!(r#"{{"entries":[{}],"schema":"olm.channel"}}"#, list("{}")),
        format!(
            r#"{{"entries":[{{"skips":[{}]}}],"schema":"olm.channel"}}"#,
            list("\"\"")
        ),
        format!(r#"{{"properties":[{}],"schema":"olm.bundle"}}"#, list("{}")),
        format!(
            r#"{{"entries":[{}],"schema":"olm.deprecations"}}"#,
            list("{}")
        ),
    ] {
        let file = FileOrigin {
            path: "f".to_owned(),
            lines: vec![1],
            ..FileOrigin::default()
        };
        let built = Catalog::build(
            Bytes::from(line + "\n"),
            &Origins {
                files: vec![file],
                ..Origins::default()
            },
        );
        assert_eq!(
            built.err(),
            Some(IndexError::TooManyObjects {
                line: 1,
                max: FREE_OBJECTS
            })
        );
    }
}

#[test]
fn a_reopened_catalog_is_the_one_that_was_built() {
    let lines = fixture::lines(ETCD);
    let built = fixture::catalog_of(&lines);
    let count = u32::try_from(lines.lines().count()).unwrap();
    let file = FileOrigin {
        path: "catalog.json".to_owned(),
        lines: (1..=count).collect(),
        ..FileOrigin::default()
    };
    let reopened = Catalog::reopen(
        Bytes::from(lines),
        &Origins {
            files: vec![file],
            ..Origins::default()
        },
        built.all_problems().clone(),
    )
    .unwrap();
    assert_eq!(reopened.problems(), built.problems());
    assert_eq!(
        names(reopened.bundles(), |bundle| bundle.name()),
        names(built.bundles(), |bundle| bundle.name())
    );
}
