//! The name of a Secret with its namespace, as a flag.

use std::fmt;
use std::str::FromStr;

/// The name of a Secret with its namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretName {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

impl FromStr for SecretName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((namespace, name))
                if !namespace.is_empty() && !name.is_empty() && !name.contains('/') =>
            {
                Ok(Self {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                })
            }
            _ => Err(
                "write the namespace and the name, such as openshift-config/pull-secret".to_owned(),
            ),
        }
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_named_with_its_namespace() {
        let name: SecretName = "a/b".parse().unwrap();
        assert_eq!(
            (name.to_string().as_str(), name.name.as_str()),
            ("a/b", "b")
        );
        for wrong in ["", "a", "/b", "a/", "a/b/c"] {
            assert!(wrong.parse::<SecretName>().is_err(), "{wrong}");
        }
    }
}
