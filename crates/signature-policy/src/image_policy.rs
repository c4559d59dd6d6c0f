//! `ClusterImagePolicy` and `ImagePolicy` of `OpenShift` (config.openshift.io/v1), whose requirements
//! are added to those of a policy as `OpenShift`'s nodes have them.
//!
//! All requirements of one scope must hold, also those of several objects and of the policy itself.
//! A scope of an `ImagePolicy` that is in one of a `ClusterImagePolicy` counts for nothing.

use std::collections::BTreeMap;

use content_digest::DigestHasher;
use fbc_grammar::Digest;

use crate::document::{
    DataSource, PolicyError, Requirement, ScopeTable, SigstoreSigned, SigstoreTrust, inline,
    required_text,
};
use crate::identity::SignedIdentity;
use crate::json::JsonObject;
use crate::loaded::LoadedRequirement;
use crate::reference::DOCKER;

/// Transport of images in the registry of `OpenShift` 3, for which nodes have the same scopes.
const ATOMIC: &str = "atomic";

/// Number of slashes from which on a scope means nothing to the transport [`ATOMIC`].
const NO_ATOMIC_SLASHES: usize = 3;

/// Kinds of objects with requirements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ImagePolicyKind {
    /// An object for the whole cluster.
    Cluster,
    /// An object for the images of one namespace.
    Namespace,
}

/// The requirements of a set of objects.
#[derive(Clone, Debug, Default)]
pub struct ImagePolicies {
    pub(crate) scopes: AddedScopes<LoadedRequirement>,
    unreadable: Vec<UnreadableImagePolicy>,
    /// SHA-256 of each object, in the order in which they were added.
    digests: Vec<Digest>,
}

/// An object that cannot be read. Images of its scopes are not accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use the {} `{name}`: {error}", kind.as_str())]
pub struct UnreadableImagePolicy {
    kind: ImagePolicyKind,
    name: String,
    error: PolicyError,
}

/// Requirements by scopes of the kinds of objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AddedScopes<R> {
    cluster: BTreeMap<String, Vec<R>>,
    namespace: BTreeMap<String, Vec<R>>,
}

/// The spec of an object.
struct ParsedSpec {
    scopes: Vec<String>,
    requirement: Result<Requirement, PolicyError>,
}

impl ImagePolicyKind {
    /// Returns the kind as the API has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cluster => "ClusterImagePolicy",
            Self::Namespace => "ImagePolicy",
        }
    }
}

impl ImagePolicies {
    /// Adds an object by the text of its spec in JSON. Images of its scopes are not accepted if its
    /// policy cannot be read; an object whose scopes cannot be read is an error.
    pub fn add(
        &mut self,
        kind: ImagePolicyKind,
        name: &str,
        spec: &str,
    ) -> Result<(), UnreadableImagePolicy> {
        let unreadable = |error| UnreadableImagePolicy {
            kind,
            name: name.to_owned(),
            error,
        };
        let ParsedSpec {
            scopes,
            requirement,
        } = ParsedSpec::new(spec).map_err(unreadable)?;
        let loaded = requirement.and_then(|requirement| {
            let loaded = requirement.load_inline();
            loaded.map_err(|error| error.within("rootOfTrust").within("policy"))
        });
        let requirement = loaded.unwrap_or_else(|error| {
            let unreadable = unreadable(error);
            let reason = unreadable.to_string();
            self.unreadable.push(unreadable);
            LoadedRequirement::Unreadable(reason)
        });
        self.scopes.add(kind, &scopes, &requirement);
        let texts = [kind.as_str(), name, spec];
        let digests = texts.map(|text| *content_digest::digest(text.as_bytes()).as_bytes());
        self.digests.push(content_digest::digest(&digests.concat()));
        Ok(())
    }

    /// Returns whether there are no requirements.
    pub fn is_empty(&self) -> bool {
        self.scopes.cluster.is_empty() && self.scopes.namespace.is_empty()
    }

    /// Returns the scopes with requirements.
    pub fn scopes(&self) -> impl Iterator<Item = &str> {
        let AddedScopes { cluster, namespace } = &self.scopes;
        cluster.keys().chain(namespace.keys()).map(String::as_str)
    }

    /// Returns the objects whose policy cannot be read.
    pub fn unreadable(&self) -> &[UnreadableImagePolicy] {
        &self.unreadable
    }

    /// SHA-256 of all objects.
    pub(crate) fn digest(&self) -> Digest {
        let mut hasher = DigestHasher::new();
        for digest in &self.digests {
            hasher.update(digest.as_bytes());
        }
        hasher.finish()
    }
}

impl<R> Default for AddedScopes<R> {
    fn default() -> Self {
        Self {
            cluster: BTreeMap::new(),
            namespace: BTreeMap::new(),
        }
    }
}

impl<R: Clone> AddedScopes<R> {
    fn add(&mut self, kind: ImagePolicyKind, scopes: &[String], requirement: &R) {
        let table = match kind {
            ImagePolicyKind::Cluster => &mut self.cluster,
            ImagePolicyKind::Namespace => &mut self.namespace,
        };
        for scope in scopes {
            let requirements = table.entry(scope.clone()).or_default();
            requirements.push(requirement.clone());
        }
    }

    /// Adds the requirements to those of a policy. `is_void` tells requirements that say nothing
    /// beside others.
    pub(crate) fn add_to(&self, table: &mut ScopeTable<R>, is_void: impl Fn(&R) -> bool) {
        let is_in_cluster = |scope: &String| {
            let mut outer = self.cluster.keys();
            outer.any(|outer| is_in_scope(scope, outer))
        };
        let namespace = self.namespace.iter();
        let namespace = namespace.filter(|(scope, _)| !is_in_cluster(scope));
        for (scope, added) in self.cluster.iter().chain(namespace) {
            let slashes = scope.matches('/').count();
            let transports = [
                Some(DOCKER),
                (slashes < NO_ATOMIC_SLASHES).then_some(ATOMIC),
            ];
            for transport in transports.into_iter().flatten() {
                let scopes = table.transports.entry(transport.to_owned()).or_default();
                let requirements = scopes.entry(scope.clone()).or_default();
                requirements.retain(|requirement| !is_void(requirement));
                requirements.extend(added.iter().cloned());
            }
        }
    }
}

/// Returns whether a scope is another one, or a part of it.
fn is_in_scope(inner: &str, outer: &str) -> bool {
    if let Some(domain) = outer.strip_prefix('*') {
        let host = inner.split(['/', ':']).next().unwrap_or(inner);
        return inner == outer || host.ends_with(domain);
    }
    match inner.strip_prefix(outer) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

impl ParsedSpec {
    fn new(text: &str) -> Result<Self, PolicyError> {
        let object = JsonObject::parse(text)?;
        let scopes: Vec<String> = object.require("scopes")?;
        // The empty scope of a policy has all images.
        if scopes.iter().any(String::is_empty) {
            return Err(PolicyError::new("a scope is empty").within("scopes"));
        }
        Ok(Self {
            scopes,
            requirement: requirement(text),
        })
    }
}

/// Reads the requirement in a spec.
fn requirement(text: &str) -> Result<Requirement, PolicyError> {
    let object = JsonObject::with_exactly(text, &["scopes", "policy"])?;
    let policy = object.get("policy").unwrap_or_default();
    verification_policy(policy).map_err(|error| error.within("policy"))
}

fn verification_policy(text: &str) -> Result<Requirement, PolicyError> {
    let object = JsonObject::with_members(text, &["rootOfTrust", "signedIdentity"])?;
    let Some(root) = object.get("rootOfTrust") else {
        return Err(PolicyError::new("the member `rootOfTrust` is missing"));
    };
    let RootOfTrust { trust, rekor } =
        RootOfTrust::parse(root).map_err(|error| error.within("rootOfTrust"))?;
    let identity = match object.get("signedIdentity") {
        None => SignedIdentity::MatchRepoDigestOrExact,
        Some(text) => signed_identity(text).map_err(|error| error.within("signedIdentity"))?,
    };
    Ok(Requirement::SigstoreSigned(SigstoreSigned {
        trust,
        rekor,
        identity,
    }))
}

/// Keys and authorities of a policy.
struct RootOfTrust {
    trust: SigstoreTrust,
    rekor: Option<Vec<DataSource>>,
}

impl RootOfTrust {
    fn parse(text: &str) -> Result<Self, PolicyError> {
        let kind: String = JsonObject::parse(text)?.require("policyType")?;
        let member = match kind.as_str() {
            "PublicKey" => "publicKey",
            "FulcioCAWithRekor" => "fulcioCAWithRekor",
            "PKI" => "pki",
            _ => return Err(PolicyError::new(format!("`{kind}` is no policyType"))),
        };
        let object = JsonObject::with_exactly(text, &["policyType", member])?;
        let text = object.get(member).unwrap_or_default();
        let parsed = match member {
            "publicKey" => public_key(text),
            "fulcioCAWithRekor" => fulcio(text),
            _ => pki(text),
        };
        parsed.map_err(|error| error.within(member))
    }
}

fn public_key(text: &str) -> Result<RootOfTrust, PolicyError> {
    let object = JsonObject::with_members(text, &["keyData", "rekorKeyData"])?;
    Ok(RootOfTrust {
        trust: SigstoreTrust::Keys(vec![data(&object, "keyData")?]),
        rekor: optional_data(&object, "rekorKeyData")?.map(|key| vec![key]),
    })
}

fn fulcio(text: &str) -> Result<RootOfTrust, PolicyError> {
    let members = ["fulcioCAData", "rekorKeyData", "fulcioSubject"];
    let object = JsonObject::with_exactly(text, &members)?;
    let subject = object.get("fulcioSubject").unwrap_or_default();
    let subject = JsonObject::with_members(subject, &["oidcIssuer", "signedEmail"]);
    let subject = subject.map_err(|error| PolicyError::from(error).within("fulcioSubject"))?;
    let text = |name| required_text(&subject, name).map_err(|error| error.within("fulcioSubject"));
    Ok(RootOfTrust {
        trust: SigstoreTrust::Fulcio {
            authorities: data(&object, "fulcioCAData")?,
            issuer: text("oidcIssuer")?,
            email: text("signedEmail")?,
        },
        rekor: Some(vec![data(&object, "rekorKeyData")?]),
    })
}

fn pki(text: &str) -> Result<RootOfTrust, PolicyError> {
    let members = [
        "caRootsData",
        "caIntermediatesData",
        "pkiCertificateSubject",
    ];
    let object = JsonObject::with_members(text, &members)?;
    let subject = object.get("pkiCertificateSubject").unwrap_or("{}");
    let subject = JsonObject::with_members(subject, &["email", "hostname"]);
    let in_subject = |error: PolicyError| error.within("pkiCertificateSubject");
    let subject = subject.map_err(|error| in_subject(error.into()))?;
    let text = |name| {
        let text = subject.read::<String>(name);
        let text = text.map_err(|error| in_subject(error.into()))?;
        Ok::<_, PolicyError>(text.filter(|text| !text.is_empty()))
    };
    let email = text("email")?;
    let host = text("hostname")?;
    if email.is_none() && host.is_none() {
        let error = PolicyError::new("one of `email` and `hostname` is required");
        return Err(in_subject(error));
    }
    Ok(RootOfTrust {
        trust: SigstoreTrust::Pki {
            roots: data(&object, "caRootsData")?,
            intermediates: optional_data(&object, "caIntermediatesData")?,
            email,
            host,
        },
        rekor: None,
    })
}

/// Reads bytes that must be there.
fn data(object: &JsonObject<'_>, name: &'static str) -> Result<DataSource, PolicyError> {
    required_text(object, name)?;
    let found = optional_data(object, name)?;
    found.ok_or_else(|| PolicyError::new(format!("the member `{name}` is missing")))
}

/// Reads bytes in base64; empty ones are none.
fn optional_data(object: &JsonObject<'_>, name: &str) -> Result<Option<DataSource>, PolicyError> {
    let text = object.read::<String>(name)?;
    let text = text.filter(|text| !text.is_empty());
    let found = text.map(|text| inline(&text)).transpose();
    found.map_err(|error| error.within(name))
}

fn signed_identity(text: &str) -> Result<SignedIdentity, PolicyError> {
    let kind: String = JsonObject::parse(text)?.require("matchPolicy")?;
    let member = |name: &'static str, members: &[&'static str]| {
        let object = JsonObject::with_exactly(text, &["matchPolicy", name])?;
        let found = object.get(name).unwrap_or_default();
        let found = JsonObject::with_exactly(found, members);
        found.map_err(|error| PolicyError::from(error).within(name))
    };
    match kind.as_str() {
        "MatchRepoDigestOrExact" | "MatchRepository" => {
            JsonObject::with_exactly(text, &["matchPolicy"])?;
            Ok(if kind == "MatchRepository" {
                SignedIdentity::MatchRepository
            } else {
                SignedIdentity::MatchRepoDigestOrExact
            })
        }
        "ExactRepository" => {
            let exact = member("exactRepository", &["repository"])?;
            SignedIdentity::exact_repository(exact.require("repository")?)
        }
        "RemapIdentity" => {
            let remap = member("remapIdentity", &["prefix", "signedPrefix"])?;
            SignedIdentity::remap_identity(remap.require("prefix")?, remap.require("signedPrefix")?)
        }
        _ => Err(PolicyError::new(format!("`{kind}` is no matchPolicy"))),
    }
}

#[cfg(test)]
mod tests;
