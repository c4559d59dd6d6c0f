//! Refused edits in words of this program: [`EditError`] has those of `opm`, some of which speak of
//! its database and of its flags.

use std::collections::BTreeSet;

use fbc::similar::similar_names;
use fbc::work::Work;

use crate::error::{EditError, MAX_REASONS};

/// Returns the reasons of a refusal, with names of packages that may be meant.
pub fn message(errors: &[EditError], packages: &BTreeSet<String>) -> String {
    let mut reasons: Vec<_> = errors
        .iter()
        .take(MAX_REASONS)
        .map(|error| reason(error, packages))
        .collect();
    if errors.len() > MAX_REASONS {
        reasons.push(format!("and {} more", errors.len() - MAX_REASONS));
    }
    reasons.join("; ")
}

fn reason(error: &EditError, packages: &BTreeSet<String>) -> String {
    match error {
        EditError::NothingToRemove(package) | EditError::UnknownPackage(package) => {
            let names = packages.iter().map(String::as_str);
            let similar = similar_names(package, names, &Work::unlimited()).unwrap_or_default();
            let question = if similar.is_empty() {
                String::new()
            } else {
                format!(": did you mean {}?", similar.join(" or "))
            };
            format!("package `{package}` not found{question}")
        }
        EditError::ForeignEdge {
            bundle,
            owner,
            package,
        } => format!(
            "cannot replace or skip bundle {bundle} in package {package}: it belongs to package {owner}"
        ),
        EditError::DefaultChannelUnknown {
            bundle,
            channel,
            package,
        } => format!(
            "cannot add bundle {bundle} to package {package}: its default channel {channel} does not exist"
        ),
        EditError::InvalidExistingVersion { bundle, version } => format!(
            "cannot order the bundles of the channel: bundle {bundle} has the version `{version}`, which is not semantic"
        ),
        EditError::VersionExists(version) => {
            format!("cannot add version {version}: the channel has it already")
        }
        EditError::UnknownImages(images) => {
            format!("no bundle has the image {}", images.join(", "))
        }
        EditError::NameExists => "the package has a bundle of this name already".to_owned(),
        EditError::ImageExists(image) => format!("a bundle has the image {image} already"),
        EditError::SubstitutesFor => {
            "a bundle substitutes another one (olm.substitutesFor): allow that with --enable-alpha"
                .to_owned()
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_does_not_exist_comes_with_similar_names() {
        let packages = ["quillstore", "lampglow"].map(str::to_owned).into();
        let missing = |name: &str| EditError::NothingToRemove(name.to_owned());
        assert_eq!(
            message(&[missing("quilstore"), missing("argo")], &packages),
            "package `quilstore` not found: did you mean quillstore?; package `argo` not found"
        );
    }

    #[test]
    fn no_reason_speaks_of_a_database() {
        let errors = [
            EditError::NothingToRemove("a".to_owned()),
            EditError::UnknownPackage("a".to_owned()),
            EditError::ForeignEdge {
                bundle: "a".to_owned(),
                owner: "b".to_owned(),
                package: "c".to_owned(),
            },
            EditError::DefaultChannelUnknown {
                bundle: "a".to_owned(),
                channel: "b".to_owned(),
                package: "c".to_owned(),
            },
            EditError::InvalidExistingVersion {
                bundle: "a".to_owned(),
                version: "b".to_owned(),
            },
            EditError::VersionExists("1.0.0".to_owned()),
            EditError::UnknownImages(vec!["a".to_owned()]),
        ];
        for error in &errors {
            let shown = reason(error, &BTreeSet::new());
            for word in ["database", " db", "registry", "index", "FOREIGN KEY"] {
                assert!(!shown.contains(word), "{shown}");
                assert_ne!(shown, error.to_string());
            }
        }
    }
}
