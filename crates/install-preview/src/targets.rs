//! Namespaces that an operator watches, by the install modes of its bundle.

use std::collections::BTreeSet;
use std::fmt;

use crate::bundle::RegistryBundle;
use crate::error::{PreviewError, PreviewErrorCode};

/// Install modes that a bundle supports, by name.
pub(crate) struct SupportedModes<'a>(BTreeSet<&'a str>);

const ALL: &str = "AllNamespaces";
const OWN: &str = "OwnNamespace";
const SINGLE: &str = "SingleNamespace";
const MULTI: &str = "MultiNamespace";

/// Maximum length of a DNS label (RFC 1123), in bytes.
const MAX_LABEL: usize = 63;

/// Returns whether a text can be the name of a namespace: a DNS label.
pub fn is_namespace_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_LABEL).contains(&text.len())
        && text.bytes().all(is_inner)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

impl<'a> SupportedModes<'a> {
    pub(crate) fn of(bundle: &'a RegistryBundle) -> Self {
        let modes = bundle.csv.spec.install_modes.iter();
        Self(
            modes
                .filter(|mode| mode.supported)
                .map(|mode| &*mode.name)
                .collect(),
        )
    }

    pub(crate) fn supports_only_all_namespaces(&self) -> bool {
        self.0.len() == 1 && self.0.contains(ALL)
    }

    /// Returns the namespaces that a usual install watches: all, or the one of the operator, or
    /// as few of these others as the bundle supports.
    pub(crate) fn usual_targets(&self, own: &str, others: [&str; 2]) -> Vec<String> {
        let targets = if self.0.contains(ALL) {
            &[""][..]
        } else if self.0.contains(OWN) {
            &[own]
        } else if self.0.contains(SINGLE) {
            &others[..1]
        } else {
            &others
        };
        targets.iter().map(|&name| name.to_owned()).collect()
    }

    /// Returns the namespaces to watch: those that are asked for, or the default of the bundle. All
    /// namespaces are one empty name.
    pub(crate) fn targets(
        &self,
        install_namespace: &str,
        asked: &[String],
    ) -> Result<Vec<String>, PreviewError> {
        let targets = match asked {
            [] if self.0.contains(ALL) => vec![String::new()],
            _ => asked.to_vec(),
        };
        self.check(install_namespace, &targets).map_err(|reason| {
            let message = format!(
                "invalid option(s): invalid target namespaces {}: {reason}",
                GoList(&targets)
            );
            PreviewError::new(PreviewErrorCode::InvalidTargetNamespaces, message)
        })?;
        Ok(targets)
    }

    fn check(&self, install_namespace: &str, targets: &[String]) -> Result<(), String> {
        let set: BTreeSet<&str> = targets.iter().map(|name| &**name).collect();
        let own =
            || format!("supported install modes {self} do not support targeting own namespace");
        let is_supported = match set.len() {
            0 if self.0.contains(MULTI) => {
                return Err("at least one target namespace must be specified".to_owned());
            }
            0 => return Err("exactly one target namespace must be specified".to_owned()),
            1 if set.contains("") => {
                if self.0.contains(ALL) {
                    return Ok(());
                }
                return Err(format!(
                    "supported install modes {self} do not support targeting all namespaces"
                ));
            }
            1 if set.contains(install_namespace) => {
                return if self.0.contains(OWN) {
                    Ok(())
                } else {
                    Err(own())
                };
            }
            1 => self.0.contains(SINGLE),
            _ if set.contains(install_namespace) && !self.0.contains(OWN) => return Err(own()),
            _ => self.0.contains(MULTI) && !set.contains(""),
        };
        if is_supported {
            return Ok(());
        }
        Err(format!(
            "supported install modes {self} do not support target namespaces {}",
            GoList(targets)
        ))
    }
}

impl fmt::Display for SupportedModes<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().copied().collect();
        write!(formatter, "[{}]", names.join(" "))
    }
}

/// Writes a list as Go prints a slice.
struct GoList<'a>(&'a [String]);

impl fmt::Display for GoList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{}]", self.0.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(modes: &[&'static str], asked: &[&str]) -> Result<Vec<String>, String> {
        let asked: Vec<_> = asked.iter().map(|&name| name.to_owned()).collect();
        SupportedModes(modes.iter().copied().collect())
            .targets("own", &asked)
            .map_err(|error| error.message)
    }

    #[test]
    fn a_bundle_is_installed_for_the_namespaces_that_its_modes_support() {
        for (modes, asked, expected) in [
            (&[ALL][..], &[][..], &[""][..]),
            (&[ALL], &[""], &[""]),
            (&[OWN], &["own"], &["own"]),
            (&[SINGLE], &["other"], &["other"]),
            (&[MULTI], &["one", "two"], &["one", "two"]),
            (&[MULTI, OWN], &["own", "two"], &["own", "two"]),
        ] {
            let expected = expected.iter().map(|&name| name.to_owned()).collect();
            assert_eq!(targets(modes, asked), Ok(expected), "{modes:?} {asked:?}");
        }
    }

    #[test]
    fn what_the_modes_do_not_support_is_refused_in_the_words_of_the_controller() {
        for (modes, asked, reason) in [
            (
                &[OWN, SINGLE][..],
                &[][..],
                "[]: exactly one target namespace must be specified",
            ),
            (
                &[MULTI],
                &[],
                "[]: at least one target namespace must be specified",
            ),
            (
                &[OWN],
                &[""],
                "[]: supported install modes [OwnNamespace] do not support targeting all namespaces",
            ),
            (
                &[SINGLE],
                &["own"],
                "[own]: supported install modes [SingleNamespace] do not support targeting own namespace",
            ),
            (
                &[MULTI],
                &["own", "two"],
                "[own two]: supported install modes [MultiNamespace] do not support targeting own namespace",
            ),
            (
                &[SINGLE, OWN],
                &["own", "two"],
                "[own two]: supported install modes [OwnNamespace SingleNamespace] do not support target namespaces [own two]",
            ),
            (
                &[ALL],
                &["other"],
                "[other]: supported install modes [AllNamespaces] do not support target namespaces [other]",
            ),
            (
                &[MULTI],
                &["", "two"],
                "[ two]: supported install modes [MultiNamespace] do not support target namespaces [ two]",
            ),
        ] {
            let message = format!("invalid option(s): invalid target namespaces {reason}");
            assert_eq!(targets(modes, asked), Err(message), "{modes:?} {asked:?}");
        }
    }
}
