//! Catalogs of each version on the way: those that the command line names, or those whose image
//! references differ from that of the present version in the tag `vMAJOR.MINOR` alone.

use commands::upgrade_plan::PlannedStep;

use super::steps::ReleaseVersion;
use crate::args::StepCatalogsArg;
use crate::context::ServedCatalog;

impl ServedCatalog {
    /// Returns the repository and the version of a reference with a tag such as `v4.18`; `None` for
    /// others, and for those with a digest.
    fn release(&self) -> Option<(&str, ReleaseVersion)> {
        let (repository, tag) = self.reference.rsplit_once(':')?;
        let version = tag.strip_prefix('v')?;
        let is_minor = version.split_once('.').is_some_and(|(major, minor)| {
            [major, minor]
                .iter()
                .all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
        });
        let version = version.parse().ok().filter(|_| is_minor)?;
        (!repository.contains('@')).then_some((repository, version))
    }

    /// Returns whether its reference has the tag of a minor version.
    fn is_of(&self, version: ReleaseVersion) -> bool {
        self.release()
            .is_some_and(|(_, own)| own.minor_version() == version.minor_version())
    }
}

/// Returns the steps with their catalogs. On Kubernetes, every version reads the same catalogs.
///
/// # Errors
/// The message names the version whose catalogs are unknown.
pub(super) fn planned_steps(
    versions: &[ReleaseVersion],
    named: &[StepCatalogsArg],
    served: &[ServedCatalog],
) -> Result<Vec<PlannedStep>, String> {
    let is_step = |named: &StepCatalogsArg| {
        let minor = named.version.minor_version();
        versions
            .iter()
            .any(|version| version.minor_version() == minor)
    };
    if let Some(other) = named.iter().find(|named| !is_step(named)) {
        let steps: Vec<_> = versions.iter().map(ToString::to_string).collect();
        return Err(format!(
            "--catalogs names the version {}, and the way is {}",
            other.version,
            steps.join(", ")
        ));
    }
    let mut steps: Vec<PlannedStep> = Vec::with_capacity(versions.len());
    for &version in versions {
        let given: Vec<_> = named
            .iter()
            .filter(|named| named.version.minor_version() == version.minor_version())
            .flat_map(|named| named.catalogs.iter().cloned())
            .collect();
        let catalogs = if !given.is_empty() {
            given
        } else if let Some(first) = steps.first() {
            following(first, version, served)?
        } else {
            present(version, served)?
        };
        steps.push(PlannedStep {
            version: version.to_string(),
            catalogs,
        });
    }
    Ok(steps)
}

/// Returns the catalogs of the version of the cluster.
fn present(version: ReleaseVersion, served: &[ServedCatalog]) -> Result<Vec<String>, String> {
    let is_present = |catalog: &&ServedCatalog| version.is_kubernetes() || catalog.is_of(version);
    let present: Vec<_> = served
        .iter()
        .filter(is_present)
        .map(|catalog| catalog.name.clone())
        .collect();
    if present.is_empty() {
        return Err(format!(
            "no catalog that is served has an image with the tag v{}.{}",
            version.major, version.minor
        ));
    }
    Ok(present)
}

/// Returns the catalogs that follow those of the first step.
fn following(
    first: &PlannedStep,
    version: ReleaseVersion,
    served: &[ServedCatalog],
) -> Result<Vec<String>, String> {
    if version.is_kubernetes() {
        return Ok(first.catalogs.clone());
    }
    let following = first.catalogs.iter().map(|name| {
        let present = served.iter().find(|catalog| catalog.name == *name);
        let Some((repository, _)) = present.and_then(ServedCatalog::release) else {
            return Err(format!(
                "catalog `{name}` of {} has no image with the tag of a version, which would name its successor on {version}",
                first.version
            ));
        };
        let mut successors = served.iter().filter(|catalog| catalog.is_of(version));
        let successor = successors.find(|catalog| {
            let release = catalog.release();
            release.is_some_and(|(own, _)| own == repository)
        });
        successor.map(|catalog| catalog.name.clone()).ok_or_else(|| {
            format!(
                "no catalog that is served has the image {repository}:v{}.{}",
                version.major, version.minor
            )
        })
    });
    following.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(catalogs: &[(&str, &str)]) -> Vec<ServedCatalog> {
        let served = catalogs.iter().map(|(name, reference)| ServedCatalog {
            name: (*name).to_owned(),
            image: String::new(),
            reference: (*reference).to_owned(),
        });
        served.collect()
    }

    /// Returns the steps as `VERSION=NAME,NAME`.
    fn steps(versions: &str, named: &[&str], served: &[ServedCatalog]) -> String {
        let versions: Vec<_> = versions
            .split(' ')
            .map(|version| version.parse().expect("it is a version"))
            .collect();
        let named: Vec<_> = named
            .iter()
            .map(|text| crate::args::parse_step_catalogs(text).expect("it has the form"))
            .collect();
        let steps = planned_steps(&versions, &named, served).map(|steps| {
            let texts = steps
                .iter()
                .map(|step| format!("{}={}", step.version, step.catalogs.join(",")));
            texts.collect::<Vec<_>>().join(" ")
        });
        steps.unwrap_or_else(|error| error)
    }

    #[test]
    fn catalogs_whose_references_differ_in_the_tag_of_the_version_alone_follow_one_another() {
        let all = served(&[
            ("old", "quay.io/r/index:v4.15"),
            ("red-16", "quay.io/r/index:v4.16"),
            ("cert-16", "quay.io:5000/c/index:v4.16"),
            // Neither another repository nor another kind of tag is a version of it.
            ("other-17", "quay.io/other/index:v4.17"),
            ("patch-17", "quay.io/r/index:v4.17.1"),
            ("pinned-17", "quay.io/r/index:v4.17@sha256:00"),
            ("latest", "quay.io/r/index:latest"),
            ("folder", ""),
            ("cert-17", "quay.io:5000/c/index:v4.17"),
            ("red-17", "quay.io/r/index:v4.17"),
        ]);
        assert_eq!(
            steps("4.16.3 4.17", &[], &all),
            "4.16.3=red-16,cert-16 4.17=red-17,cert-17"
        );
        assert_eq!(
            steps("4.16 4.17 4.18", &[], &all),
            "no catalog that is served has the image quay.io/r/index:v4.18"
        );
        assert_eq!(
            steps("4.14 4.15", &[], &all),
            "no catalog that is served has an image with the tag v4.14"
        );
        let both_names = served(&[("a", "q.io/i:v4.22"), ("b", "q.io/i:v4.23")]);
        assert_eq!(steps("4.22 5.0", &[], &both_names), "4.22=a 5.0=b");
    }

    #[test]
    fn catalogs_that_the_command_line_names_are_not_guessed() {
        let all = served(&[("a", "q.io/i:v4.16"), ("b", "q.io/i:v4.17"), ("folder", "")]);
        assert_eq!(
            steps("4.16 4.17", &["4.16=a", "4.17=x,y", "v4.17=z"], &all),
            "4.16=a 4.17=x,y,z"
        );
        assert_eq!(
            steps("4.16 4.17", &["4.16=folder"], &all),
            "catalog `folder` of 4.16 has no image with the tag of a version, which would name its successor on 4.17"
        );
        assert_eq!(
            steps("4.16 4.17", &["4.18=a"], &all),
            "--catalogs names the version 4.18, and the way is 4.16, 4.17"
        );
    }

    #[test]
    fn on_kubernetes_every_version_reads_the_same_catalogs() {
        let all = served(&[("a", "q.io/i:latest"), ("folder", "")]);
        assert_eq!(
            steps("1.29.4 1.30 1.31", &["1.31=a"], &all),
            "1.29.4=a,folder 1.30=a,folder 1.31=a"
        );
    }
}
