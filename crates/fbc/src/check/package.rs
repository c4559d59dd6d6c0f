//! Rules of a package: its name, its default channel, its versions.

use std::borrow::Cow;

use fbc_grammar::go_quote;
use fbc_grammar::version::Version;
use fbc_read::problem::{ProblemCode, ProblemCollector};

use super::location::ProblemLocation;
use crate::bundle::Bundle;
use crate::package::Package;

/// The longest package name, in bytes: that of an RFC 1123 label.
const MAX_NAME_BYTES: usize = 63;

/// Kubernetes' error for a name that is not an RFC 1123 label.
const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
    and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', \
    regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

pub(super) fn check(package: Package<'_>, problems: &mut ProblemCollector) {
    let location = ProblemLocation::new_in_package(package);
    let reasons = label_errors(location.package);
    if !reasons.is_empty() {
        problems.add(ProblemCode::PackageNameInvalid, || {
            let name = go_quote(location.package);
            let message = format!("invalid package name {name}: [{}]", reasons.join(" "));
            location.problem(ProblemCode::PackageNameInvalid, message)
        });
    }
    check_default_channel(package, location, problems);
    if let Some(message) = duplicate_versions(package) {
        problems.add(ProblemCode::PackageVersionsDuplicate, || {
            location.problem(ProblemCode::PackageVersionsDuplicate, message)
        });
    }
}

fn check_default_channel(
    package: Package<'_>,
    location: ProblemLocation<'_>,
    problems: &mut ProblemCollector,
) {
    let name = package.default_channel_name();
    let mut report = |location: ProblemLocation<'_>, code, message: &str| {
        problems.add(code, || location.problem(code, message));
    };
    if name.is_empty() {
        report(
            location,
            ProblemCode::PackageDefaultChannelMissing,
            "default channel must be set",
        );
        if package.channels().len() == 0 {
            report(
                location,
                ProblemCode::PackageWithoutChannels,
                "package must contain at least one channel",
            );
        }
    } else if package.default_channel().is_none() {
        // Upstream makes up an empty channel of that name and finds it empty.
        let channel = ProblemLocation {
            channel: name,
            ..location
        };
        report(
            channel,
            ProblemCode::PackageDefaultChannelUnknown,
            "channel must contain at least one bundle",
        );
    }
}

/// Returns the reasons of Kubernetes to reject a name as an RFC 1123 label; empty when it is one.
fn label_errors(name: &str) -> Vec<&'static str> {
    let mut errors = Vec::new();
    if name.len() > MAX_NAME_BYTES {
        errors.push("must be no more than 63 characters");
    }
    if !is_label(name) {
        let is_subdomain = name.split('.').all(is_label);
        errors.push(if is_subdomain {
            "must not contain dots"
        } else {
            LABEL_RULE
        });
    }
    errors
}

fn is_label(text: &str) -> bool {
    let is_end = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    let bytes = text.as_bytes();
    is_end(bytes.first())
        && is_end(bytes.last())
        && bytes
            .iter()
            .all(|&byte| byte == b'-' || is_end(Some(&byte)))
}

/// Formats the versions that several bundles in channels share, each with the names of these
/// bundles.
///
/// Versions are equal here when they read the same, build metadata and release included.
fn duplicate_versions(package: Package<'_>) -> Option<String> {
    let mut versions: Vec<(Cow<'_, str>, &str)> = package
        .bundles()
        .filter(|bundle| bundle.channel_entries().len() > 0)
        .filter_map(|bundle| Some((full_version(bundle)?, bundle.name())))
        .collect();
    versions.sort_unstable();
    let mut duplicates: Vec<&[(Cow<'_, str>, &str)]> = versions
        .chunk_by(|(a, _), (b, _)| a == b)
        .filter(|bundles| bundles.len() > 1)
        .collect();
    if duplicates.is_empty() {
        return None;
    }
    duplicates.sort_by(|a, b| {
        match (Version::parse(&a[0].0), Version::parse(&b[0].0)) {
            (Ok(a), Ok(b)) => a.precedence(&b),
            // A release after build metadata may read as no version.
            (a, b) => a.is_ok().cmp(&b.is_ok()),
        }
    });
    let groups: Vec<String> = duplicates
        .into_iter()
        .map(|bundles| {
            let names: Vec<&str> = bundles.iter().map(|(_, name)| *name).collect();
            format!("{{{}: [{}]}}", bundles[0].0, names.join(", "))
        })
        .collect();
    Some(format!(
        "duplicate versions found in bundles: [{}]",
        groups.join(" ")
    ))
}

/// Formats version and release as upstream does: `VERSION-RELEASE`.
fn full_version(bundle: Bundle<'_>) -> Option<Cow<'_, str>> {
    let version = bundle.version()?;
    Some(match bundle.release() {
        Some(release) => format!("{version}-{release}").into(),
        None => version.into(),
    })
}
