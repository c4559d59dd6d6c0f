//! Validates bundles: their identity, their images, and their membership in channels.

use fbc_grammar::go_quote;
use fbc_grammar::image::ImageReference;
use fbc_grammar::version::{Release, Version};
use fbc_read::problem::{ProblemCode, ProblemCollector};

use super::location::ProblemLocation;
use super::manifest;
use crate::bundle::Bundle;
use crate::property::PropertyKind;

pub(super) fn check(bundle: Bundle<'_>, problems: &mut ProblemCollector) {
    let location = ProblemLocation {
        meta: bundle.meta(),
        bundle: bundle.name(),
        ..ProblemLocation::new_in_package(bundle.package())
    };
    check_identity(bundle, location, problems);
    check_images(bundle, location, problems);
    manifest::check(bundle, location, problems);
    if bundle.channel_entries().len() == 0 {
        problems.add(ProblemCode::BundleNotInChannel, || {
            let package = go_quote(location.package);
            let name = go_quote(location.bundle);
            let message =
                format!("package {package}, bundle {name} not found in any channel entries");
            location.problem(ProblemCode::BundleNotInChannel, message)
        });
    }
    for (code, message) in problems_per_channel(bundle) {
        for entry in bundle.channel_entries() {
            let location = ProblemLocation {
                channel: entry.channel().name(),
                ..location
            };
            problems.add(code, || location.problem(code, message.as_str()));
        }
    }
}

/// Checks that the bundle has exactly one `olm.package` property, and that it names the package and
/// a valid version.
fn check_identity(
    bundle: Bundle<'_>,
    location: ProblemLocation<'_>,
    problems: &mut ProblemCollector,
) {
    let mut properties = bundle
        .properties()
        .filter(|property| property.type_name() == "olm.package");
    let package = go_quote(location.package);
    let name = go_quote(location.bundle);
    let (Some(property), None) = (properties.next(), properties.next()) else {
        let found = bundle
            .properties()
            .filter(|property| property.type_name() == "olm.package")
            .count();
        problems.add(ProblemCode::BundlePackagePropertyCount, || {
            let message =
                format!("package {package} bundle {name} must have exactly 1 \"olm.package\" property, found {found}");
            location.problem(ProblemCode::BundlePackagePropertyCount, message)
        });
        return;
    };
    // Any other kind is malformed, which is reported elsewhere.
    let PropertyKind::Package {
        package: named,
        version,
        release,
    } = property.kind()
    else {
        return;
    };
    if named != location.package {
        problems.add(ProblemCode::BundlePackageMismatch, || {
            let named = go_quote(named);
            let message =
                format!("package {package} does not match \"olm.package\" property {named}");
            location.problem(ProblemCode::BundlePackageMismatch, message)
        });
    }
    if let Err(error) = Version::parse(version) {
        problems.add(ProblemCode::BundleVersionInvalid, || {
            let version = go_quote(version);
            let message = format!("error parsing bundle {name} version {version}: {error}");
            location.problem(ProblemCode::BundleVersionInvalid, message)
        });
    }
    if let Err(error) = Release::parse(release.unwrap_or_default()) {
        problems.add(ProblemCode::BundleReleaseInvalid, || {
            let release = go_quote(release.unwrap_or_default());
            let message = format!("error parsing bundle {name} release version {release}: {error}");
            location.problem(ProblemCode::BundleReleaseInvalid, message)
        });
    }
}

/// Checks that all non-empty images are valid image references.
fn check_images(
    bundle: Bundle<'_>,
    location: ProblemLocation<'_>,
    problems: &mut ProblemCollector,
) {
    let mut check = |image: &str, code, what: &dyn Fn() -> String| {
        if image.is_empty() {
            return;
        }
        if let Err(error) = ImageReference::parse(image) {
            problems.add(code, || {
                let package = go_quote(location.package);
                let name = go_quote(location.bundle);
                let what = what();
                let image = go_quote(image);
                let message =
                    format!("package {package} bundle {name} {what}: invalid image pull spec {image}: {error}");
                location.problem(code, message)
            });
        }
    };
    check(
        &bundle.image().decode(),
        ProblemCode::BundleImageInvalid,
        &|| "image".to_owned(),
    );
    for (at, related) in bundle.related_images().into_iter().enumerate() {
        let what = || format!("relatedImages[{at}].image");
        check(
            &related.image.decode(),
            ProblemCode::BundleRelatedImageInvalid,
            &what,
        );
    }
}

/// Finds the problems that upstream reports once for each channel that has the bundle.
fn problems_per_channel(bundle: Bundle<'_>) -> Vec<(ProblemCode, String)> {
    let mut found = Vec::new();
    let version = bundle
        .version()
        .and_then(|version| Version::parse(version).ok());
    if let (Some(version), Some(release)) = (version, bundle.release()) {
        let package = bundle.package().name();
        let name = bundle.name();
        let normalized = format!("{package}-v{version}-{release}");
        if name != normalized {
            let name = go_quote(name);
            let normalized = go_quote(&normalized);
            let message = format!("name {name} does not match normalized name {normalized}");
            found.push((ProblemCode::BundleNameNotNormalized, message));
        }
        if !version.build().is_empty() {
            let message = "cannot use build metadata in version with a release version".to_owned();
            found.push((ProblemCode::BundleBuildAndRelease, message));
        }
    }
    let has_manifests = || {
        bundle
            .properties()
            .any(|property| property.type_name() == "olm.bundle.object")
    };
    if bundle.image().decode().is_empty() && !has_manifests() {
        found.push((
            ProblemCode::BundleImageMissing,
            "bundle image must be set".to_owned(),
        ));
    }
    found
}
