//! Rules of a bundle: which package and version it is, its images, its place in channels.

use super::{Place, manifest};
use crate::catalog::{Bundle, PropertyKind};
use crate::image::ImageReference;
use crate::problem::{Code, Problem};
use crate::quote::go_quote;
use crate::version::{Release, Version};

pub(super) fn check(bundle: Bundle<'_>, problems: &mut Vec<Problem>) {
    let place = Place { meta: bundle.meta(), bundle: bundle.name(), ..Place::of_package(bundle.package()) };
    check_identity(bundle, place, problems);
    check_images(bundle, place, problems);
    manifest::check(bundle, place, problems);
    if bundle.channel_entries().len() == 0 {
        let (package, name) = (go_quote(place.package), go_quote(place.bundle));
        let message = format!("package {package}, bundle {name} not found in any channel entries");
        problems.push(place.problem(Code::BundleNotInChannel, message));
    }
    for (code, message) in faults_in_channels(bundle) {
        for entry in bundle.channel_entries() {
            let place = Place { channel: entry.channel().name(), ..place };
            problems.push(place.problem(code, message.as_str()));
        }
    }
}

/// Its one `olm.package` property names its package, a version, and a release if any.
fn check_identity(bundle: Bundle<'_>, place: Place<'_>, problems: &mut Vec<Problem>) {
    let mut properties = bundle.properties().filter(|property| property.type_name() == "olm.package");
    let (package, name) = (go_quote(place.package), go_quote(place.bundle));
    let (Some(property), None) = (properties.next(), properties.next()) else {
        let found = bundle.properties().filter(|property| property.type_name() == "olm.package").count();
        let message =
            format!("package {package} bundle {name} must have exactly 1 \"olm.package\" property, found {found}");
        problems.push(place.problem(Code::BundlePackagePropertyCount, message));
        return;
    };
    // Any other kind is malformed, and was told.
    let PropertyKind::Package { package: named, version, release } = property.kind() else {
        return;
    };
    if named != place.package {
        let named = go_quote(named);
        let message = format!("package {package} does not match \"olm.package\" property {named}");
        problems.push(place.problem(Code::BundlePackageMismatch, message));
    }
    if let Err(fault) = Version::parse(version) {
        let version = go_quote(version);
        let message = format!("error parsing bundle {name} version {version}: {fault}");
        problems.push(place.problem(Code::BundleVersionInvalid, message));
    }
    if let Err(fault) = Release::parse(release.unwrap_or_default()) {
        let release = go_quote(release.unwrap_or_default());
        let message = format!("error parsing bundle {name} release version {release}: {fault}");
        problems.push(place.problem(Code::BundleReleaseInvalid, message));
    }
}

/// Images that are given are image references.
fn check_images(bundle: Bundle<'_>, place: Place<'_>, problems: &mut Vec<Problem>) {
    let mut check = |image: &str, code, what: &dyn Fn() -> String| {
        if image.is_empty() {
            return;
        }
        if let Err(fault) = ImageReference::parse(image) {
            let (package, name) = (go_quote(place.package), go_quote(place.bundle));
            let (what, image) = (what(), go_quote(image));
            let message = format!("package {package} bundle {name} {what}: invalid image pull spec {image}: {fault}");
            problems.push(place.problem(code, message));
        }
    };
    check(&bundle.image().decode(), Code::BundleImageInvalid, &|| "image".to_owned());
    for (at, related) in bundle.related_images().into_iter().enumerate() {
        let what = || format!("relatedImages[{at}].image");
        check(&related.image.decode(), Code::BundleRelatedImageInvalid, &what);
    }
}

/// What is wrong with it wherever a channel has it: upstream tells these once for each channel.
fn faults_in_channels(bundle: Bundle<'_>) -> Vec<(Code, String)> {
    let mut faults = Vec::new();
    let version = bundle.version().and_then(|version| Version::parse(version).ok());
    if let (Some(version), Some(release)) = (version, bundle.release()) {
        let (package, name) = (bundle.package().name(), bundle.name());
        let normalized = format!("{package}-v{version}-{release}");
        if name != normalized {
            let (name, normalized) = (go_quote(name), go_quote(&normalized));
            let message = format!("name {name} does not match normalized name {normalized}");
            faults.push((Code::BundleNameNotNormalized, message));
        }
        if !version.build().is_empty() {
            let message = "cannot use build metadata in version with a release version".to_owned();
            faults.push((Code::BundleBuildAndRelease, message));
        }
    }
    let has_manifests = || bundle.properties().any(|property| property.type_name() == "olm.bundle.object");
    if bundle.image().decode().is_empty() && !has_manifests() {
        faults.push((Code::BundleImageMissing, "bundle image must be set".to_owned()));
    }
    faults
}
