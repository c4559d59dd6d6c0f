//! Which names in signatures are accepted for an image.

use crate::PolicyReference;
use crate::document::PolicyError;
use crate::json::JsonObject;
use crate::reference::NamedImage;

/// The rule of a requirement for the name in a signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum SignedIdentity {
    MatchExact,
    #[default]
    MatchRepoDigestOrExact,
    MatchRepository,
    ExactReference(String),
    ExactRepository(String),
    RemapIdentity {
        prefix: String,
        signed_prefix: String,
    },
}

impl SignedIdentity {
    /// Parses the member `signedIdentity`.
    pub(crate) fn parse(text: &str) -> Result<Self, PolicyError> {
        let kind: String = JsonObject::parse(text)?.require("type")?;
        let members: &[&str] = match kind.as_str() {
            "matchExact" | "matchRepoDigestOrExact" | "matchRepository" => &["type"],
            "exactReference" => &["type", "dockerReference"],
            "exactRepository" => &["type", "dockerRepository"],
            "remapIdentity" => &["type", "prefix", "signedPrefix"],
            _ => {
                return Err(PolicyError::new(format!(
                    "`{kind}` is no type of signedIdentity"
                )));
            }
        };
        let object = JsonObject::with_members(text, members)?;
        Ok(match kind.as_str() {
            "matchExact" => Self::MatchExact,
            "matchRepoDigestOrExact" => Self::MatchRepoDigestOrExact,
            "matchRepository" => Self::MatchRepository,
            "exactReference" => {
                let reference: String = object.require("dockerReference")?;
                let named = NamedImage::parse(&reference).map_err(PolicyError::from_display)?;
                if named.is_name_only() {
                    return Err(PolicyError::new(format!(
                        "the dockerReference `{reference}` has neither a tag nor a digest"
                    )));
                }
                Self::ExactReference(reference)
            }
            "exactRepository" => Self::exact_repository(object.require("dockerRepository")?)?,
            _ => Self::remap_identity(object.require("prefix")?, object.require("signedPrefix")?)?,
        })
    }

    /// Accepts signatures for one repository.
    pub(crate) fn exact_repository(repository: String) -> Result<Self, PolicyError> {
        NamedImage::parse(&repository).map_err(PolicyError::from_display)?;
        Ok(Self::ExactRepository(repository))
    }

    /// Accepts signatures for the image with a prefix of its name replaced.
    pub(crate) fn remap_identity(
        prefix: String,
        signed_prefix: String,
    ) -> Result<Self, PolicyError> {
        for prefix in [&prefix, &signed_prefix] {
            if !is_prefix(prefix) {
                return Err(PolicyError::new(format!(
                    "the prefix `{prefix}` is neither a host nor a repository with its host"
                )));
            }
        }
        Ok(Self::RemapIdentity {
            prefix,
            signed_prefix,
        })
    }

    /// Name of the rule in policies.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::MatchExact => "matchExact",
            Self::MatchRepoDigestOrExact => "matchRepoDigestOrExact",
            Self::MatchRepository => "matchRepository",
            Self::ExactReference(_) => "exactReference",
            Self::ExactRepository(_) => "exactRepository",
            Self::RemapIdentity { .. } => "remapIdentity",
        }
    }

    /// Returns whether a signature with this name is accepted for the image.
    pub(crate) fn accepts(&self, image: &PolicyReference, signed: &str) -> bool {
        let Ok(signed) = NamedImage::parse(signed) else {
            return false;
        };
        let intended = image.named.as_ref();
        match self {
            Self::MatchExact => intended.is_some_and(|intended| {
                !intended.is_name_only() && !signed.is_name_only() && *intended == signed
            }),
            Self::MatchRepoDigestOrExact => {
                intended.is_some_and(|intended| is_repo_digest_or_exact(intended, &signed))
            }
            Self::MatchRepository => intended.is_some_and(|intended| intended.name == signed.name),
            Self::ExactReference(reference) => NamedImage::parse(reference)
                .is_ok_and(|reference| !signed.is_name_only() && reference == signed),
            Self::ExactRepository(repository) => {
                NamedImage::parse(repository).is_ok_and(|repository| repository.name == signed.name)
            }
            Self::RemapIdentity {
                prefix,
                signed_prefix,
            } => intended
                .and_then(|intended| remap(intended, prefix, signed_prefix))
                .is_some_and(|intended| is_repo_digest_or_exact(&intended, &signed)),
        }
    }

    /// Returns whether the rule asks for no more of the image than its repository: a signature
    /// without a name is accepted if it is in that repository.
    pub(crate) fn accepts_location(&self, image: &PolicyReference) -> bool {
        let Some(intended) = &image.named else {
            return false;
        };
        match self {
            Self::MatchRepository => true,
            Self::MatchRepoDigestOrExact => intended.tag.is_none() && intended.digest.is_some(),
            Self::ExactRepository(repository) => NamedImage::parse(repository)
                .is_ok_and(|repository| repository.name == intended.name),
            Self::MatchExact | Self::ExactReference(_) | Self::RemapIdentity { .. } => false,
        }
    }
}

fn is_repo_digest_or_exact(intended: &NamedImage, signed: &NamedImage) -> bool {
    if signed.is_name_only() {
        return false;
    }
    // The digest of a signature is compared with that of the manifest, whatever its name has.
    if intended.tag.is_some() {
        intended == signed
    } else {
        intended.digest.is_some() && intended.name == signed.name
    }
}

/// Replaces a prefix of whole segments; the image as it is if it does not have the prefix.
fn remap(intended: &NamedImage, prefix: &str, signed_prefix: &str) -> Option<NamedImage> {
    match intended.name.strip_prefix(prefix) {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let replaced = NamedImage {
                name: format!("{signed_prefix}{rest}"),
                ..intended.clone()
            };
            // A prefix that makes no name accepts nothing.
            let parsed = NamedImage::parse(&replaced.to_string()).ok()?;
            (parsed == replaced).then_some(parsed)
        }
        _ => Some(intended.clone()),
    }
}

/// Returns whether a text is a host, or a normalized repository.
fn is_prefix(text: &str) -> bool {
    let is_host = !text.contains('/')
        && NamedImage::parse(&format!("{text}/x/y"))
            .is_ok_and(|named| named.name == format!("{text}/x/y"));
    let is_repository =
        NamedImage::parse(text).is_ok_and(|named| named.is_name_only() && named.name == text);
    is_host || is_repository
}
