//! `policy.json`: its grammar, without the keys that it names.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use fbc_grammar::Digest;

use crate::PolicyReference;
use crate::identity::SignedIdentity;
use crate::json::{JsonError, JsonObject, elements};

/// A policy as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub(crate) table: ScopeTable<Requirement>,
    /// SHA-256 of the text.
    pub(crate) digest: Digest,
}

/// An error in a policy, with its position in the document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{reason}", if position.is_empty() { String::new() } else { format!("{position}: ") })]
pub struct PolicyError {
    position: String,
    reason: String,
}

/// One of the requirements of a scope, all of which must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requirement {
    InsecureAcceptAnything,
    Reject,
    SignedBy(SignedBy),
    SigstoreSigned(SigstoreSigned),
    SignedBaseLayer,
}

/// A requirement of simple signing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SignedBy {
    pub(crate) key_type: String,
    pub(crate) keys: Vec<DataSource>,
    pub(crate) identity: SignedIdentity,
}

/// A requirement of sigstore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SigstoreSigned {
    pub(crate) trust: SigstoreTrust,
    pub(crate) rekor: Option<Vec<DataSource>>,
    pub(crate) identity: SignedIdentity,
}

/// Keys or certificate authorities that verify sigstore signatures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SigstoreTrust {
    Keys(Vec<DataSource>),
    Fulcio {
        authorities: DataSource,
        issuer: String,
        email: String,
    },
    Pki {
        roots: DataSource,
        intermediates: Option<DataSource>,
        email: Option<String>,
        host: Option<String>,
    },
}

/// Bytes that a policy contains, or the path of a file with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DataSource {
    File(PathBuf),
    Inline(Vec<u8>),
}

/// The requirements that count for an image.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApplicableScope<'a, R> {
    pub(crate) requirements: &'a [R],
    /// Transport and scope; `None` for the default.
    pub(crate) scope: Option<(&'a str, &'a str)>,
}

impl PolicyError {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self {
            position: String::new(),
            reason: reason.into(),
        }
    }

    pub(crate) fn from_display(error: impl fmt::Display) -> Self {
        Self::new(error.to_string())
    }

    /// Adds a member to the front of the position.
    pub(crate) fn within(self, member: &str) -> Self {
        let position = if self.position.is_empty() {
            member.to_owned()
        } else {
            format!("{member}.{}", self.position)
        };
        Self { position, ..self }
    }
}

impl From<JsonError> for PolicyError {
    fn from(error: JsonError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<serde_json::Error> for PolicyError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl Policy {
    /// Parses a policy. The keys that it names are not read.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let document = JsonObject::with_members(text, &["default", "transports"])?;
        let Some(default) = document.get("default") else {
            return Err(PolicyError::new("`default` is missing"));
        };
        let default = requirements(default).map_err(|error| error.within("default"))?;
        let mut transports = BTreeMap::new();
        if let Some(text) = document.get("transports") {
            let object = JsonObject::parse(text);
            let object = object.map_err(|error| PolicyError::from(error).within("transports"))?;
            for (transport, scopes) in object.members() {
                let scopes = parse_scopes(transport, scopes)
                    .map_err(|error| error.within(transport).within("transports"))?;
                transports.insert(transport.to_owned(), scopes);
            }
        }
        Ok(Self {
            table: ScopeTable {
                default,
                transports,
            },
            digest: content_digest::digest(text.as_bytes()),
        })
    }

    /// Replaces each requirement by another value, with its position.
    pub(crate) fn map<R>(
        &self,
        mut convert: impl FnMut(&Requirement) -> Result<R, PolicyError>,
    ) -> Result<ScopeTable<R>, PolicyError> {
        let mut all = |list: &[Requirement]| -> Result<Vec<R>, PolicyError> {
            let mut converted = Vec::new();
            for (at, requirement) in list.iter().enumerate() {
                converted
                    .push(convert(requirement).map_err(|error| error.within(&at.to_string()))?);
            }
            Ok(converted)
        };
        let default = all(&self.table.default).map_err(|error| error.within("default"))?;
        let mut transports = BTreeMap::new();
        for (transport, scopes) in &self.table.transports {
            let mut converted = BTreeMap::new();
            for (scope, list) in scopes {
                let list = all(list)
                    .map_err(|error| error.within(scope).within(transport).within("transports"))?;
                converted.insert(scope.clone(), list);
            }
            transports.insert(transport.clone(), converted);
        }
        Ok(ScopeTable {
            default,
            transports,
        })
    }
}

/// Requirements by transports and scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ScopeTable<R> {
    pub(crate) default: Vec<R>,
    pub(crate) transports: BTreeMap<String, BTreeMap<String, Vec<R>>>,
}

impl<R> ScopeTable<R> {
    /// Creates a table in which one list counts for every image.
    pub(crate) fn uniform(default: Vec<R>) -> Self {
        Self {
            default,
            transports: BTreeMap::new(),
        }
    }

    /// Finds the requirements for an image: those of the first scope that is in the policy.
    pub(crate) fn find(&self, image: &PolicyReference) -> ApplicableScope<'_, R> {
        if let Some((transport, scopes)) = self.transports.get_key_value(image.transport()) {
            let names = std::iter::once(image.identity())
                .chain(image.namespaces().iter().map(String::as_str))
                .chain(std::iter::once(""));
            for name in names {
                if let Some((scope, requirements)) = scopes.get_key_value(name) {
                    return ApplicableScope {
                        requirements,
                        scope: Some((transport, scope)),
                    };
                }
            }
        }
        ApplicableScope {
            requirements: &self.default,
            scope: None,
        }
    }
}

impl<R> ApplicableScope<'_, R> {
    /// Formats the scope as `TRANSPORT:SCOPE`, or `default`.
    pub(crate) fn name(&self) -> String {
        match self.scope {
            Some((transport, scope)) => format!("{transport}:{scope}"),
            None => "default".to_owned(),
        }
    }
}

fn parse_scopes(
    transport: &str,
    text: &str,
) -> Result<BTreeMap<String, Vec<Requirement>>, PolicyError> {
    let object = JsonObject::parse(text)?;
    let mut scopes = BTreeMap::new();
    for (scope, list) in object.members() {
        if !scope.is_empty() {
            check_scope(transport, scope).map_err(|error| error.within(scope))?;
        }
        let list = requirements(list).map_err(|error| error.within(scope))?;
        scopes.insert(scope.to_owned(), list);
    }
    Ok(scopes)
}

/// Checks a scope of a known transport. Scopes of the docker transport may be any text.
fn check_scope(transport: &str, scope: &str) -> Result<(), PolicyError> {
    match transport {
        "oci" | "oci-archive" | "dir" | "sif" => {
            let path = scope.split_once(':').map_or(scope, |(path, _)| path);
            let is_clean = path.len() > 1
                && path.starts_with('/')
                && !path.ends_with('/')
                && path[1..]
                    .split('/')
                    .all(|part| !part.is_empty() && part != "." && part != "..");
            if !is_clean {
                return Err(PolicyError::new(format!(
                    "`{scope}` is no scope of {transport}: write an absolute path without `.`, `..` and double slashes"
                )));
            }
        }
        "docker-archive" | "tarball" => {
            return Err(PolicyError::new(format!(
                "{transport} has no other scope than the empty one"
            )));
        }
        _ => {}
    }
    Ok(())
}

fn requirements(text: &str) -> Result<Vec<Requirement>, PolicyError> {
    let elements = elements(text)?;
    if elements.is_empty() {
        return Err(PolicyError::new("the list of requirements is empty"));
    }
    let mut list = Vec::new();
    for (at, element) in elements.into_iter().enumerate() {
        list.push(requirement(element).map_err(|error| error.within(&at.to_string()))?);
    }
    Ok(list)
}

fn requirement(text: &str) -> Result<Requirement, PolicyError> {
    let kind: String = JsonObject::parse(text)?.require("type")?;
    match kind.as_str() {
        "insecureAcceptAnything" => {
            JsonObject::with_members(text, &["type"])?;
            Ok(Requirement::InsecureAcceptAnything)
        }
        "reject" => {
            JsonObject::with_members(text, &["type"])?;
            Ok(Requirement::Reject)
        }
        "signedBy" => Ok(Requirement::SignedBy(signed_by(text)?)),
        "sigstoreSigned" => Ok(Requirement::SigstoreSigned(sigstore_signed(text)?)),
        "signedBaseLayer" => {
            let object = JsonObject::with_members(text, &["type", "baseLayerIdentity"])?;
            let Some(identity) = object.get("baseLayerIdentity") else {
                return Err(PolicyError::new("`baseLayerIdentity` is missing"));
            };
            SignedIdentity::parse(identity)?;
            Ok(Requirement::SignedBaseLayer)
        }
        _ => Err(PolicyError::new(format!(
            "`{kind}` is no type of requirements"
        ))),
    }
}

fn signed_by(text: &str) -> Result<SignedBy, PolicyError> {
    let object = JsonObject::with_members(
        text,
        &[
            "type",
            "keyType",
            "keyPath",
            "keyPaths",
            "keyData",
            "signedIdentity",
        ],
    )?;
    let key_type: String = object.require("keyType")?;
    let known = [
        "GPGKeys",
        "signedByGPGKeys",
        "X509Certificates",
        "signedByX509CAs",
    ];
    if !known.contains(&key_type.as_str()) {
        return Err(PolicyError::new(format!("`{key_type}` is no keyType")));
    }
    let keys = key_sources(&object, "key")?.ok_or_else(|| {
        PolicyError::new("one of `keyPath`, `keyPaths` and `keyData` is required")
    })?;
    Ok(SignedBy {
        key_type,
        keys,
        identity: signed_identity(&object)?,
    })
}

fn sigstore_signed(text: &str) -> Result<SigstoreSigned, PolicyError> {
    let object = JsonObject::with_members(
        text,
        &[
            "type",
            "keyPath",
            "keyPaths",
            "keyData",
            "keyDatas",
            "fulcio",
            "pki",
            "rekorPublicKeyPath",
            "rekorPublicKeyPaths",
            "rekorPublicKeyData",
            "rekorPublicKeyDatas",
            "signedIdentity",
        ],
    )?;
    let keys = key_sources(&object, "key")?.map(non_empty).transpose()?;
    let mut trusts: Vec<_> = keys.map(SigstoreTrust::Keys).into_iter().collect();
    if let Some(fulcio) = object.get("fulcio") {
        trusts.push(parse_fulcio(fulcio).map_err(|error| error.within("fulcio"))?);
    }
    if let Some(pki) = object.get("pki") {
        trusts.push(parse_pki(pki).map_err(|error| error.within("pki"))?);
    }
    let [trust] = <[_; 1]>::try_from(trusts).map_err(|_| {
        PolicyError::new(
            "exactly one of `keyPath`, `keyPaths`, `keyData`, `keyDatas`, `fulcio` and `pki` is required",
        )
    })?;
    let rekor = key_sources(&object, "rekorPublicKey")?;
    let rekor = rekor.map(non_empty).transpose()?;
    match (&trust, &rekor) {
        (SigstoreTrust::Fulcio { .. }, None) => Err(PolicyError::new(
            "`fulcio` requires the public keys of Rekor: write `rekorPublicKeyPath`",
        )),
        (SigstoreTrust::Pki { .. }, Some(_)) => Err(PolicyError::new(
            "`pki` cannot be used with public keys of Rekor",
        )),
        _ => Ok(SigstoreSigned {
            trust,
            rekor,
            identity: signed_identity(&object)?,
        }),
    }
}

/// Reads the members `PREFIXPath`, `PREFIXPaths`, `PREFIXData` and `PREFIXDatas`, one of which may be
/// given.
fn key_sources(
    object: &JsonObject<'_>,
    prefix: &str,
) -> Result<Option<Vec<DataSource>>, PolicyError> {
    let kinds: [(&str, ParseSource); 2] = [("Path", file), ("Data", inline)];
    let mut lists = Vec::new();
    for (kind, parse) in kinds {
        if let Some(one) = object.read::<String>(&format!("{prefix}{kind}"))? {
            lists.push(vec![parse(&one)?]);
        }
        if let Some(several) = object.read::<Vec<String>>(&format!("{prefix}{kind}s"))? {
            let list: Result<Vec<_>, _> = several.iter().map(|one| parse(one)).collect();
            lists.push(list?);
        }
    }
    if lists.len() > 1 {
        return Err(PolicyError::new(format!(
            "`{prefix}Path`, `{prefix}Paths`, `{prefix}Data` and `{prefix}Datas` cannot be used together"
        )));
    }
    Ok(lists.pop())
}

fn non_empty(keys: Vec<DataSource>) -> Result<Vec<DataSource>, PolicyError> {
    if keys.is_empty() {
        Err(PolicyError::new("a list of keys is empty"))
    } else {
        Ok(keys)
    }
}

fn parse_fulcio(text: &str) -> Result<SigstoreTrust, PolicyError> {
    let object =
        JsonObject::with_members(text, &["caPath", "caData", "oidcIssuer", "subjectEmail"])?;
    let authorities = one_source(&object, "caPath", "caData")?
        .ok_or_else(|| PolicyError::new("one of `caPath` and `caData` is required"))?;
    Ok(SigstoreTrust::Fulcio {
        authorities,
        issuer: required_text(&object, "oidcIssuer")?,
        email: required_text(&object, "subjectEmail")?,
    })
}

fn parse_pki(text: &str) -> Result<SigstoreTrust, PolicyError> {
    let object = JsonObject::with_members(
        text,
        &[
            "caRootsPath",
            "caRootsData",
            "caIntermediatesPath",
            "caIntermediatesData",
            "subjectEmail",
            "subjectHostname",
        ],
    )?;
    let roots = one_source(&object, "caRootsPath", "caRootsData")?
        .ok_or_else(|| PolicyError::new("one of `caRootsPath` and `caRootsData` is required"))?;
    let intermediates = one_source(&object, "caIntermediatesPath", "caIntermediatesData")?;
    let non_empty = |text: &String| !text.is_empty();
    let email = object.read::<String>("subjectEmail")?.filter(non_empty);
    let host = object.read::<String>("subjectHostname")?.filter(non_empty);
    if email.is_none() && host.is_none() {
        return Err(PolicyError::new(
            "one of `subjectEmail` and `subjectHostname` is required",
        ));
    }
    Ok(SigstoreTrust::Pki {
        roots,
        intermediates,
        email,
        host,
    })
}

fn one_source(
    object: &JsonObject<'_>,
    path: &str,
    data: &str,
) -> Result<Option<DataSource>, PolicyError> {
    match (object.read::<String>(path)?, object.read::<String>(data)?) {
        (Some(_), Some(_)) => Err(PolicyError::new(format!(
            "`{path}` and `{data}` cannot be used together"
        ))),
        (Some(path), None) => Ok(Some(file(&path)?)),
        (None, Some(data)) => Ok(Some(inline(&data)?)),
        (None, None) => Ok(None),
    }
}

pub(crate) fn required_text(
    object: &JsonObject<'_>,
    name: &'static str,
) -> Result<String, PolicyError> {
    let text: String = object.require(name)?;
    if text.is_empty() {
        Err(PolicyError::new(format!("`{name}` is empty")))
    } else {
        Ok(text)
    }
}

fn signed_identity(object: &JsonObject<'_>) -> Result<SignedIdentity, PolicyError> {
    match object.get("signedIdentity") {
        None => Ok(SignedIdentity::default()),
        Some(text) => SignedIdentity::parse(text).map_err(|error| error.within("signedIdentity")),
    }
}

/// Parses the value of a member that names bytes.
type ParseSource = fn(&str) -> Result<DataSource, PolicyError>;

fn file(path: &str) -> Result<DataSource, PolicyError> {
    if path.is_empty() {
        Err(PolicyError::new("the path of a file is empty"))
    } else {
        Ok(DataSource::File(PathBuf::from(path)))
    }
}

pub(crate) fn inline(data: &str) -> Result<DataSource, PolicyError> {
    let bytes = BASE64_STANDARD
        .decode(data)
        .map_err(|error| PolicyError::new(format!("cannot decode base64: {error}")))?;
    Ok(DataSource::Inline(bytes))
}

impl DataSource {
    /// Describes the source in errors.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::File(path) => format!("`{}`", Path::display(path)),
            Self::Inline(_) => "the inline data".to_owned(),
        }
    }
}
