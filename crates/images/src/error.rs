//! Errors of resolving and fetching images.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fbc_grammar::Digest;
use signature_policy::{RefusalCode, Verdict};

/// An error of resolving or fetching an image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// A text is not a valid reference.
    #[error("`{text}` is not an image such as quay.io/operatorhubio/catalog:latest")]
    InvalidReference {
        /// The text.
        text: String,
        /// The cause.
        source: fbc_grammar::image::ImageReferenceError,
    },
    /// A digest has another algorithm than SHA-256.
    #[error("cannot verify the digest `{0}`: only sha256 is supported")]
    UnsupportedDigest(String),
    /// A file of credentials cannot be parsed. The message quotes nothing of it but keys of
    /// entries.
    #[error("cannot use the credentials in `{}`: {reason}", path.display())]
    InvalidCredentials {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// A credential helper failed.
    #[error(
        "the credential helper `{program}` failed: {reason}; run `echo HOST | {program} get` to see more"
    )]
    CredentialHelper {
        /// Name of the program.
        program: String,
        /// The cause.
        reason: String,
    },
    /// A `registries.conf` is not valid TOML or has fields of other types.
    #[error("cannot use `{}`", path.display())]
    ConfSyntax {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        source: toml::de::Error,
    },
    /// The settings of a `registries.conf` are contradictory or incomplete.
    #[error("cannot use `{}`: {reason}", path.display())]
    InvalidConf {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
    /// A location of a `registries.conf` is a registry without a repository.
    #[error("cannot use `{0}` from registries.conf: it names a registry without a repository")]
    InvalidLocation(String),
    /// A `registries.conf` blocks the image.
    #[error("cannot pull `{image}`: registries.conf blocks the prefix `{prefix}`")]
    Blocked {
        /// The image.
        image: String,
        /// The prefix that blocks it.
        prefix: String,
    },
    /// The certificate of an authority cannot be parsed.
    #[error("cannot use a file of --registry-ca: it does not contain valid PEM certificates: {0}")]
    InvalidAuthority(String),
    /// The HTTP client cannot be created.
    #[error(
        "cannot set up TLS: install the certificates of your system (Debian: ca-certificates) or name some with --registry-ca"
    )]
    TlsSetup(#[source] reqwest::Error),
    /// A connection cannot be established, or it broke.
    #[error("cannot reach `{host}`")]
    Unreachable {
        /// The host.
        host: String,
        /// The cause.
        source: reqwest::Error,
    },
    /// The issuer of a certificate is not trusted.
    #[error(
        "cannot verify the certificate of `{0}`: its issuer is unknown; name the issuer's certificate with --registry-ca"
    )]
    UntrustedIssuer(String),
    /// A certificate is invalid for another reason.
    #[error("cannot verify the certificate of `{host}`")]
    InvalidCertificate {
        /// The host.
        host: String,
        /// The cause.
        source: reqwest::Error,
    },
    /// A registry does not use TLS.
    #[error(
        "cannot connect to `{0}` with TLS: it does not support it; write --insecure-registry {0} to connect without"
    )]
    WithoutTls(String),
    /// A redirect is not followed.
    #[error("cannot follow the redirect of `{host}`")]
    Redirect {
        /// The host.
        host: String,
        /// The target, and the cause.
        source: reqwest::Error,
    },
    /// The token service of a registry is not safe for credentials.
    #[error(
        "cannot log in to `{registry}`: its token service `{realm}` does not have an https URL; write --insecure-registry with the host of the service to allow it"
    )]
    InsecureTokenService {
        /// The registry.
        registry: String,
        /// The URL of the token service.
        realm: String,
    },
    /// A token service responded without a token.
    #[error("cannot log in: the token service `{0}` sent no token")]
    NoToken(String),
    /// A registry requires credentials.
    #[error(
        "cannot access `{location}`: it requires credentials and none were found; run `podman login {registry}`, or name a file that has them with --authfile (a repository that does not exist may look the same)"
    )]
    NoCredentials {
        /// The repository.
        location: String,
        /// The registry.
        registry: String,
    },
    /// A registry rejects the credentials.
    #[error(
        "cannot access `{location}`: it rejects the credentials of {credentials}; log in again (a repository that does not exist may look the same)"
    )]
    CredentialsRejected {
        /// The repository.
        location: String,
        /// The user, and the origin of the credentials.
        credentials: String,
    },
    /// A registry denies access.
    #[error("cannot get {resource} from `{location}`: access denied for {credentials}{error_body}")]
    Forbidden {
        /// The manifest or blob.
        resource: String,
        /// The repository.
        location: String,
        /// The user, and the origin of the credentials.
        credentials: String,
        /// Message of the registry after a colon, or empty.
        error_body: String,
    },
    /// The manifest or blob does not exist.
    #[error("cannot find {resource} in `{location}`: check the name, or whether it was removed")]
    NotFound {
        /// The manifest or blob.
        resource: String,
        /// The repository or layout.
        location: String,
    },
    /// A registry limits the rate of requests.
    #[error(
        "cannot access `{location}`: too many requests{}",
        retry_after.map(|delay| format!("; it asks to retry after {} seconds", delay.as_secs())).unwrap_or_default()
    )]
    TooManyRequests {
        /// The repository or token service.
        location: String,
        /// Delay after which the registry allows further requests.
        retry_after: Option<Duration>,
    },
    /// A registry responds with an unexpected status.
    #[error("cannot get {resource} from `{location}`: HTTP status {status}{error_body}")]
    Status {
        /// The manifest, blob or token.
        resource: String,
        /// The repository or token service.
        location: String,
        /// The HTTP status.
        status: u16,
        /// Message of the registry after a colon, or empty.
        error_body: String,
    },
    /// The signature policy refuses the image.
    #[error(
        "the signature policy refuses `{image}` ({}): {}",
        verdict.code().map(RefusalCode::as_str).unwrap_or_default(),
        verdict.reason().unwrap_or_default()
    )]
    SignatureRefused {
        /// The image by digest.
        image: String,
        /// The decision with its reasons.
        verdict: Box<Verdict>,
    },
    /// A registry refuses to store something.
    #[error("cannot push {resource} to `{location}`: {reason}")]
    Push {
        /// The blob, manifest or tag.
        resource: String,
        /// The repository.
        location: String,
        /// The cause.
        reason: String,
    },
    /// An image is to be pushed by its digest, which is not known before.
    #[error("cannot push to `{0}`: write a tag instead of the digest")]
    PushByDigest(String),
    /// A download ended early.
    #[error(
        "cannot download {resource} from `{location}`: the connection ended or was too slow after {downloaded} of {bytes} bytes"
    )]
    Interrupted {
        /// The blob.
        resource: String,
        /// The repository.
        location: String,
        /// Number of bytes that were downloaded.
        downloaded: u64,
        /// Length of the blob in bytes.
        bytes: u64,
        /// The cause, if the connection did not just end.
        source: Option<reqwest::Error>,
    },
    /// A manifest or blob has another digest.
    #[error(
        "cannot verify {resource} of `{location}`: its digest is {actual} instead of {expected}"
    )]
    WrongDigest {
        /// The manifest or blob.
        resource: String,
        /// The repository or layout.
        location: String,
        /// The expected digest.
        expected: Digest,
        /// The digest of the bytes.
        actual: Digest,
    },
    /// A blob has another length.
    #[error(
        "cannot verify {resource} of `{location}`: it has {actual} bytes instead of {expected}"
    )]
    WrongSize {
        /// The blob.
        resource: String,
        /// The repository or layout.
        location: String,
        /// The expected number of bytes.
        expected: u64,
        /// The number of bytes, or `more`.
        actual: String,
    },
    /// A resource that is held in memory is too long.
    #[error("cannot read {resource}: it has more than {limit} bytes")]
    LargerThan {
        /// The resource.
        resource: String,
        /// Maximum number of bytes.
        limit: u64,
    },
    /// The layers or the config of an image are too long according to its manifest.
    #[error("cannot pull {resource}: {bytes} bytes exceed the limit of {limit}")]
    TooLarge {
        /// The part of the image.
        resource: String,
        /// Number of bytes.
        bytes: u64,
        /// Maximum number of bytes.
        limit: u64,
    },
    /// An image has too many layers.
    #[error("cannot pull {resource}: {layers} layers exceed the limit of {limit}")]
    TooManyLayers {
        /// The image.
        resource: String,
        /// Number of layers.
        layers: usize,
        /// Maximum number of layers.
        limit: usize,
    },
    /// An artifact is of a kind that holds no catalog.
    #[error(
        "cannot use {resource} as a catalog: it is {kind} of the type `{artifact_type}`; a catalog is an image, or an artifact whose only layer is a tar or whose layers have file names as titles, as `oras push` makes it"
    )]
    UnsupportedArtifact {
        /// The artifact.
        resource: String,
        /// Its type.
        artifact_type: String,
        /// Kind of artifact that has the type.
        kind: &'static str,
    },
    /// A layer of an artifact has a title that cannot be the path of its file.
    #[error("cannot use {resource} as a catalog: the title `{title}` of a layer {problem}")]
    BadTitle {
        /// The artifact.
        resource: String,
        /// The title.
        title: String,
        /// Problem of the title.
        problem: &'static str,
    },
    /// An index has several artifacts and no image.
    #[error(
        "cannot select a catalog in {resource}: it has {artifacts} artifacts and no image; name one of them by digest"
    )]
    AmbiguousArtifacts {
        /// The index.
        resource: String,
        /// Number of artifacts.
        artifacts: usize,
    },
    /// An image config does not belong to the manifest.
    #[error("cannot use {resource}: its config lists {diff_ids} layers and its manifest {layers}")]
    ConfigLayers {
        /// The image.
        resource: String,
        /// Number of layers in the manifest.
        layers: usize,
        /// Number of layers in the config.
        diff_ids: usize,
    },
    /// A manifest, index or config is not valid JSON or has fields of other types.
    #[error("cannot read {resource}")]
    Manifest {
        /// The manifest, index or config.
        resource: String,
        /// The cause.
        source: serde_json::Error,
    },
    /// A document is not a supported manifest or index.
    #[error(
        "cannot use {resource}: it is neither an image manifest nor an image index: it has {found}"
    )]
    NotAManifest {
        /// The document.
        resource: String,
        /// The property that distinguishes it from a manifest.
        found: String,
    },
    /// The size in a descriptor is negative.
    #[error("cannot use the descriptor of the blob {blob}: its size is {size}")]
    NegativeSize {
        /// Digest of the blob.
        blob: String,
        /// The size.
        size: i64,
    },
    /// An index has no images.
    #[error("cannot use the index {0}: it lists no image")]
    NoImage(String),
    /// Indexes are nested too deeply.
    #[error(
        "cannot use `{0}`: its indexes are nested too deeply; name one of its images by digest"
    )]
    NestedIndexes(String),
    /// A directory or file is not an OCI layout.
    #[error("cannot use `{}` as an OCI layout: it has no index.json", .0.display())]
    NotALayout(PathBuf),
    /// A reference does not select exactly one image of a layout.
    #[error(
        "cannot select an image: `{layout}` matches {found} images; append one of these to its path: {names}"
    )]
    LayoutChoice {
        /// The reference.
        layout: String,
        /// Number of images that match.
        found: usize,
        /// Names and digests of the images of the layout.
        names: String,
    },
    /// Too many images are to be copied together.
    #[error("cannot copy {images} images at a time: the limit is {limit}")]
    TooManyImages {
        /// Number of images.
        images: usize,
        /// Maximum number of images.
        limit: usize,
    },
    /// An image has too many manifests, with those of its signatures and other referrers.
    #[error(
        "cannot copy `{image}`: it has more than {limit} manifests with those that refer to it"
    )]
    TooManyManifests {
        /// The image.
        image: String,
        /// Maximum number of manifests.
        limit: usize,
    },
    /// The manifests of all images that are copied together are too long.
    #[error(
        "cannot copy `{image}`: the manifests of all images have more than {limit} bytes; copy fewer images at a time"
    )]
    TooManyManifestBytes {
        /// The image that exceeds the limit.
        image: String,
        /// Maximum number of bytes.
        limit: u64,
    },
    /// A list of a registry is not valid.
    #[error("cannot read {resource} of `{location}`: {reason}")]
    InvalidList {
        /// The list.
        resource: String,
        /// The repository.
        location: String,
        /// The cause.
        reason: &'static str,
    },
    /// Another process writes to the layout.
    #[error("cannot write to the layout `{}`: another process writes to it", .0.display())]
    LayoutInUse(PathBuf),
    /// An operation on a file failed.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The operation, as in "cannot write".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The tar archive of a layout has too many entries.
    #[error("cannot read the layout `{}`: it has more than {limit} entries", path.display())]
    TooManyEntries {
        /// Path of the archive.
        path: PathBuf,
        /// Maximum number of entries.
        limit: usize,
    },
}
