//! What our rules do where those of oc-mirror make an invalid catalog, with the reason for each
//! bundle and image.

use fbc::Catalog;
use fbc::work::Work;
use mirror::imageset::image_set;
use mirror::output::{MirrorTarget, mapping, mirror_sets, skopeo};
use mirror::{MirrorConfiguration, MirrorPlan, MirrorRules, plan};
use testing::fixture;

/// A package with two channels, of which one has a version that the other one has not.
const ETCD: &str = "
    package etcd default=stable
    channel stable: v1.0.0 <- v1.1.0 <- v1.2.0
    channel beta: v1.1.0 <- v2.0.0-rc.1
    deprecated channel beta \"use stable\"";

/// Plans for packages of the catalog `a`, in YAML.
fn planned(catalog: &Catalog, packages: &str, rules: MirrorRules) -> MirrorPlan {
    let configuration = configuration(packages);
    plan(&configuration, &[catalog], rules, &Work::unlimited()).unwrap()
}

fn configuration(packages: &str) -> MirrorConfiguration {
    MirrorConfiguration::parse(&format!(
        "kind: ImageSetConfiguration\napiVersion: mirror.openshift.io/v2alpha1\n\
         mirror: {{operators: [{{catalog: a.io/catalog:v1, packages: {packages}}}]}}"
    ))
    .unwrap()
}

/// The channels of a plan with their entries.
fn channels(plan: &MirrorPlan) -> Vec<String> {
    let packages = plan.packages.iter();
    let channels = packages.flat_map(|package| &package.channels);
    channels
        .map(|channel| format!("{}: {}", channel.name, channel.entries.join(" ")))
        .collect()
}

/// The codes and places of the problems of a plan, without those of the images of fixtures, which
/// no related image names.
fn problems(plan: &MirrorPlan) -> Vec<String> {
    let problems = plan
        .problems
        .iter()
        .filter(|problem| problem.code != "BUNDLE_IMAGE_ADDED");
    problems
        .map(|problem| format!("{} {}", problem.code, problem.path))
        .collect()
}

const PACKAGE: &str = "mirror.operators[0].packages[0]";

#[test]
fn a_channel_without_the_single_version_is_left_out_with_its_deprecation() {
    let catalog = fixture::catalog(ETCD);
    let single = "[{name: etcd, minVersion: 1.2.0, maxVersion: 1.2.0}]";
    let ours = planned(&catalog, single, MirrorRules::Catalogql);
    assert_eq!(channels(&ours), ["stable: etcd.v1.2.0"]);
    assert_eq!(
        problems(&ours),
        [
            format!("CHANNEL_LEFT_OUT {PACKAGE}"),
            format!("DEPRECATION_LEFT_OUT {PACKAGE}")
        ]
    );
    assert!(!ours.is_refused());
    let theirs = planned(&catalog, single, MirrorRules::OcMirror);
    assert_eq!(channels(&theirs), ["beta: ", "stable: etcd.v1.2.0"]);
    assert_eq!(problems(&theirs), [""; 0]);
}

#[test]
fn a_single_version_that_the_default_channel_lacks_is_refused() {
    let catalog = fixture::catalog(ETCD);
    let plan = planned(
        &catalog,
        "[{name: etcd, minVersion: 2.0.0-rc.1, maxVersion: 2.0.0-rc.1}]",
        MirrorRules::Catalogql,
    );
    assert_eq!(plan.packages, []);
    assert_eq!(problems(&plan), [format!("EMPTY_DEFAULT {PACKAGE}")]);
}

#[test]
fn the_default_channel_that_counts_is_the_configured_one() {
    let catalog = fixture::catalog(ETCD);
    let packages = "[{name: etcd, defaultChannel: beta, channels: [{name: stable, minVersion: 3.0.0}, {name: beta}]}]";
    let ours = planned(&catalog, packages, MirrorRules::Catalogql);
    assert_eq!(channels(&ours), ["beta: etcd.v2.0.0-rc.1"]);
    assert_eq!(
        problems(&ours),
        [format!("CHANNEL_LEFT_OUT {PACKAGE}.channels[0]")]
    );
    let theirs = planned(&catalog, packages, MirrorRules::OcMirror);
    assert_eq!(
        problems(&theirs),
        [format!("EMPTY_DEFAULT {PACKAGE}.channels[0]")]
    );
}

#[test]
fn unknown_names_are_told_with_those_that_were_meant() {
    let catalog = fixture::catalog(ETCD);
    let packages = "[{name: ectd}, {name: etcd, channels: [{name: stable}, {name: betta}]}]";
    let ours = planned(&catalog, packages, MirrorRules::Catalogql);
    let messages: Vec<_> = ours
        .problems
        .iter()
        .map(|problem| &*problem.message)
        .take(2)
        .collect();
    assert_eq!(
        messages,
        [
            "the catalog has no package `ectd`: did you mean `etcd`?",
            "package `etcd` has no channel `betta`: did you mean `beta`?",
        ]
    );
    assert_eq!(channels(&ours), ["stable: etcd.v1.2.0"]);
    assert_eq!(
        problems(&planned(&catalog, packages, MirrorRules::OcMirror)),
        [""; 0]
    );
}

#[test]
fn a_catalog_that_would_not_be_valid_is_refused_before_anything_is_copied() {
    let catalog = fixture::catalog(
        "package etcd default=stable
         channel stable: v1.0.0? <- v1.1.0",
    );
    let packages = "[{name: etcd, minVersion: 0.1.0}]";
    let ours = planned(&catalog, packages, MirrorRules::Catalogql);
    assert_eq!((channels(&ours).len(), ours.is_refused()), (1, false));

    let missing = fixture::catalog(
        "package etcd default=stable
         channel stable: v1.0.0 <- v1.1.0?",
    );
    let ours = planned(&missing, "[{name: etcd}]", MirrorRules::Catalogql);
    assert_eq!(problems(&ours), [format!("INVALID_CATALOG {PACKAGE}")]);
    let theirs = planned(&missing, "[{name: etcd}]", MirrorRules::OcMirror);
    assert_eq!(channels(&theirs), ["stable: etcd.v1.1.0"]);
}

#[test]
fn each_bundle_has_its_reasons() {
    let catalog = fixture::catalog(
        "package etcd default=stable
         channel stable: v1.0.0 <- v2.0.0-rc.1 <- v1.2.0
         channel beta: v1.2.0",
    );
    let packages = "[{name: etcd, channels: [{name: stable, minVersion: 1.0.0}, {name: beta}]}]";
    let plan = planned(&catalog, packages, MirrorRules::Catalogql);
    let reasons: Vec<_> = plan
        .bundles
        .iter()
        .map(|bundle| {
            let reasons = bundle.reasons.iter();
            let reasons: Vec<_> = reasons
                .map(|reason| {
                    format!(
                        "{} of {}",
                        reason.kind,
                        reason.channel.as_deref().unwrap_or("all")
                    )
                })
                .collect();
            format!("{}: {}", bundle.name, reasons.join(", "))
        })
        .collect();
    assert_eq!(
        reasons,
        [
            "etcd.v1.0.0: IN_RANGE of stable",
            "etcd.v1.2.0: IN_RANGE of stable, HEAD of beta",
            "etcd.v2.0.0-rc.1: OUTSIDE_RANGE of stable",
        ]
    );
}

/// A catalog with one bundle and these related images.
fn with_images(images: &str) -> Catalog {
    fixture::catalog(&format!(
        r#"{{"defaultChannel":"s","name":"p","schema":"olm.package"}}
        {{"entries":[{{"name":"p.v1"}}],"name":"s","package":"p","schema":"olm.channel"}}
        {{"image":"a.io/x/p:v1","name":"p.v1","package":"p","properties":[{{"type":"olm.package","value":{{"packageName":"p","version":"1.0.0"}}}}],"relatedImages":[{images}],"schema":"olm.bundle"}}"#
    ))
}

/// Digest of the tests.
const HEX: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

#[test]
fn the_image_of_a_bundle_is_mirrored_also_if_no_related_image_is() {
    let catalog = with_images(&format!(
        r#"{{"image":"","name":""}},{{"image":"b.io/run@sha256:{HEX}","name":"run"}}"#
    ));
    let ours = planned(&catalog, "[{name: p}]", MirrorRules::Catalogql);
    let images: Vec<_> = ours
        .images
        .iter()
        .map(|image| {
            (
                &*image.reference,
                image.kind,
                image.by_tag,
                image.used_by.join(" "),
            )
        })
        .collect();
    let run = format!("b.io/run@sha256:{HEX}");
    assert_eq!(
        images,
        [
            ("a.io/x/p:v1", "BUNDLE", true, "p.v1".to_owned()),
            (&*run, "RELATED", false, "p.v1".to_owned()),
        ]
    );
    let added: Vec<_> = ours
        .problems
        .iter()
        .map(|problem| (problem.code, &*problem.path))
        .collect();
    assert_eq!(added, [("BUNDLE_IMAGE_ADDED", PACKAGE)]);
    let theirs = planned(&catalog, "[{name: p}]", MirrorRules::OcMirror);
    assert_eq!(theirs.images.len(), 1);
}

#[test]
fn an_image_in_a_layout_on_a_disk_refuses_the_bundle() {
    let catalog = with_images(r#"{"image":"oci:///home/me/x","name":"x"}"#);
    for (rules, code) in [
        (MirrorRules::Catalogql, "INVALID_CATALOG"),
        (MirrorRules::OcMirror, "INVALID_IMAGE"),
    ] {
        let plan = planned(&catalog, "[{name: p}]", rules);
        assert_eq!(
            (plan.packages.len(), problems(&plan)),
            (0, vec![format!("{code} {PACKAGE}")])
        );
    }
}

#[test]
fn the_set_is_written_as_files_of_other_tools() {
    let catalog = with_images(&format!(
        r#"{{"image":"a.io/x/p:v1","name":"p"}},{{"image":"b.io/y/z/run@sha256:{HEX}","name":"run"}},{{"image":"c.io/both:v2@sha256:{HEX}","name":"both"}}"#
    ));
    let plan = planned(&catalog, "[{name: p}]", MirrorRules::Catalogql);
    let target = MirrorTarget::parse("docker://m.io:5000/olm", None).unwrap();
    assert_eq!(
        mapping(&plan.images, &target).unwrap(),
        format!(
            "docker://a.io/x/p:v1=docker://m.io:5000/olm/x/p:v1\n\
             docker://b.io/y/z/run@sha256:{HEX}=docker://m.io:5000/olm/y/z/run:sha256-{HEX}\n\
             docker://c.io/both@sha256:{HEX}=docker://m.io:5000/olm/both:v2\n"
        )
    );
    assert_eq!(
        skopeo(&plan.images, &target).unwrap().lines().next(),
        Some("skopeo copy --all docker://a.io/x/p:v1 docker://m.io:5000/olm/x/p:v1")
    );
    assert_eq!(
        mirror_sets(&plan.images, &target).unwrap(),
        "---
apiVersion: config.openshift.io/v1
kind: ImageDigestMirrorSet
metadata:
  name: idms-operator-0
spec:
  imageDigestMirrors:
  - mirrors:
    - m.io:5000/olm/y/z
    source: b.io/y/z
  - mirrors:
    - m.io:5000/olm
    source: c.io
---
apiVersion: config.openshift.io/v1
kind: ImageTagMirrorSet
metadata:
  name: itms-operator-0
spec:
  imageTagMirrors:
  - mirrors:
    - m.io:5000/olm/x
    source: a.io/x
"
    );

    let folded = MirrorTarget::parse("m.io:5000/olm", Some(2)).unwrap();
    let line = mapping(&plan.images, &folded).unwrap();
    let line = line.lines().nth(1).unwrap_or_default();
    assert!(
        line.ends_with(&format!("=docker://m.io:5000/olm/y-z-run:sha256-{HEX}")),
        "{line}"
    );
    let sets = mirror_sets(&plan.images, &folded).unwrap();
    assert!(
        sets.contains("    - m.io:5000/olm/y-z-run\n    source: b.io/y/z/run\n"),
        "{sets}"
    );
    assert!(MirrorTarget::parse("olm", None).is_err());
}

#[test]
fn the_smallest_configuration_of_oc_mirror_selects_the_same() {
    let catalog = fixture::catalog(ETCD);
    let configuration =
        configuration("[{name: etcd, minVersion: 1.2.0, maxVersion: 1.2.0}, {name: ectd}]");
    let items = [(
        &configuration.operators[0],
        &catalog,
        "a.io/catalog@sha256:0".to_owned(),
    )];
    let text = image_set(
        &configuration,
        &items,
        MirrorRules::Catalogql,
        &Work::unlimited(),
    )
    .unwrap();
    assert_eq!(
        text.as_deref(),
        Ok("apiVersion: mirror.openshift.io/v2alpha1
kind: ImageSetConfiguration
mirror:
  operators:
  - catalog: \"a.io/catalog@sha256:0\"
    packages:
    - name: \"etcd\"
      channels:
      - name: \"stable\"
        minVersion: \"1.2.0\"
        maxVersion: \"1.2.0\"
")
    );
}

#[test]
fn a_channel_whose_entries_skip_each_other_takes_work_in_proportion_to_its_skips() {
    let count = 600;
    let entries: Vec<_> = (0..count)
        .map(|at| {
            let skips: Vec<_> = (0..at).map(|to| format!("\"p.v0.0.{to}\"")).collect();
            format!(r#"{{"name":"p.v0.0.{at}","skips":[{}]}}"#, skips.join(","))
        })
        .collect();
    let bundles: Vec<_> = (0..count)
        .map(|at| {
            format!(
                "{{\"image\":\"a.io/p:{at}\",\"name\":\"p.v0.0.{at}\",\"package\":\"p\",\"properties\":[{{\"type\":\"olm.package\",\"value\":{{\"packageName\":\"p\",\"version\":\"0.0.{at}\"}}}}],\"schema\":\"olm.bundle\"}}\n"
            )
        })
        .collect();
    let bundles = bundles.concat();
    let catalog = fixture::catalog_of(&format!(
        "{{\"defaultChannel\":\"s\",\"name\":\"p\",\"schema\":\"olm.package\"}}\n{{\"entries\":[{}],\"name\":\"s\",\"package\":\"p\",\"schema\":\"olm.channel\"}}\n{bundles}",
        entries.join(",")
    ));
    let work = Work::unlimited();
    let configuration = configuration("[{name: p, minVersion: 0.0.0}]");
    let plan = plan(&configuration, &[&catalog], MirrorRules::Catalogql, &work).unwrap();
    assert_eq!(plan.bundles.len(), count);
    // The skips, half of the pairs, are looked at four times, at 60 nanoseconds each. One of these
    // is the check of the set, which costs three times as much.
    let skips = u64::try_from(count * count / 2).unwrap_or_default();
    assert!(
        work.units() < 6 * 60 * skips / 1_000 + 10_000,
        "{}",
        work.units()
    );
}
