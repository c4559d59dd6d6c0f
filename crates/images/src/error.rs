//! Why an image cannot be fetched.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use fbc::Digest;

/// Why an image cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The text is no reference to an image.
    #[error("`{text}` is no reference to an image")]
    Reference {
        /// What was given.
        text: String,
        /// What is wrong with it.
        source: fbc::image::ImageReferenceError,
    },
    /// A digest of another algorithm.
    #[error("cannot verify the digest `{0}`: only sha256 is supported")]
    DigestUnsupported(String),
    /// A file of credentials cannot be understood. Nothing is quoted from it but the names of entries.
    #[error("cannot use the credentials in `{}`: {what}", path.display())]
    Credentials {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A credential helper does not help.
    #[error("the credential helper `{program}` failed: {why}; run `echo HOST | {program} get` to see more")]
    Helper {
        /// What was run.
        program: String,
        /// What happened.
        why: String,
    },
    /// A `registries.conf` is no TOML or not of its format.
    #[error("cannot use `{}`", path.display())]
    Conf {
        /// Where it is.
        path: PathBuf,
        /// Why not.
        source: toml::de::Error,
    },
    /// A `registries.conf` says what cannot be.
    #[error("cannot use `{}`: {why}", path.display())]
    ConfWrong {
        /// Where it is.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// What a `registries.conf` names as a location is no repository.
    #[error("`{0}` from registries.conf names a registry and no repository in it")]
    Location(String),
    /// The user does not want images from there.
    #[error("registries.conf blocks `{image}`: see the prefix `{prefix}`")]
    Blocked {
        /// The image.
        image: String,
        /// What blocks it.
        prefix: String,
    },
    /// The certificate of an authority cannot be read.
    #[error("cannot use a file of --registry-ca as certificates in PEM: {0}")]
    Authority(String),
    /// There is no way to make connections.
    #[error(
        "cannot set up TLS: install the certificates of your system (Debian: ca-certificates) or name some with --registry-ca"
    )]
    Tls(#[source] reqwest::Error),
    /// There is no connection, or it broke.
    #[error("cannot reach `{host}`")]
    Unreachable {
        /// Who was asked.
        host: String,
        /// Why not.
        source: reqwest::Error,
    },
    /// Nobody that is trusted signed the certificate.
    #[error(
        "the certificate of `{0}` is signed by an authority that is not trusted: name its certificate with --registry-ca"
    )]
    UntrustedAuthority(String),
    /// The certificate is not good for something else.
    #[error("the certificate of `{host}` cannot be accepted")]
    Certificate {
        /// Who was asked.
        host: String,
        /// Why not.
        source: reqwest::Error,
    },
    /// A registry without TLS.
    #[error("`{0}` does not speak TLS: write --insecure-registry {0} to go without")]
    WithoutTls(String),
    /// A registry sends us where we do not go.
    #[error("cannot follow `{host}`")]
    Redirect {
        /// Who was asked.
        host: String,
        /// Where to, and why not.
        source: reqwest::Error,
    },
    /// A registry names a token service that is no safe place for a password.
    #[error(
        "`{registry}` wants a token from `{realm}`, which is no address with https: write --insecure-registry with its host to go there"
    )]
    Realm {
        /// The registry.
        registry: String,
        /// The address of the token service.
        realm: String,
    },
    /// A token service without tokens.
    #[error("`{0}` answered without a token")]
    NoToken(String),
    /// A registry wants to know who we are.
    #[error(
        "`{place}` wants credentials and none were found: run `podman login {registry}`, or name a file that has them with --authfile (a repository that does not exist may look the same)"
    )]
    NoCredentials {
        /// The repository.
        place: String,
        /// Its registry.
        registry: String,
    },
    /// A registry does not believe who we are.
    #[error(
        "`{place}` refuses the credentials of {tried}: log in anew (a repository that does not exist may look the same)"
    )]
    Refused {
        /// The repository.
        place: String,
        /// Whose, and where they are from.
        tried: String,
    },
    /// A registry knows who we are.
    #[error("`{place}` does not give {what} to {tried}{said}")]
    Forbidden {
        /// What was asked for.
        what: String,
        /// The repository.
        place: String,
        /// Whose credentials were used.
        tried: String,
        /// What the registry says, after a colon.
        said: String,
    },
    /// It is not there.
    #[error("`{place}` does not have {what}: look at the name, or whether it was removed")]
    NotFound {
        /// What was asked for.
        what: String,
        /// Where.
        place: String,
    },
    /// The registry wants to be left alone.
    #[error("`{place}` had too many requests{}", wait.map(|wait| format!(" and wants none for {} seconds", wait.as_secs())).unwrap_or_default())]
    TooManyRequests {
        /// The repository.
        place: String,
        /// For how long.
        wait: Option<Duration>,
    },
    /// The registry answers otherwise than it should.
    #[error("`{place}` answers with status {status} instead of {what}{said}")]
    Status {
        /// What was asked for.
        what: String,
        /// The repository.
        place: String,
        /// Of HTTP.
        status: u16,
        /// What the registry says, after a colon.
        said: String,
    },
    /// A blob stopped to come.
    #[error("{what} of `{place}` broke off or came too slowly: {got} of {bytes} bytes are there")]
    Cut {
        /// What was asked for.
        what: String,
        /// The repository.
        place: String,
        /// Bytes that came.
        got: u64,
        /// Bytes that there should be.
        bytes: u64,
        /// What broke, unless it just ended.
        source: Option<reqwest::Error>,
    },
    /// Other bytes than were asked for.
    #[error("{what} of `{place}` is damaged: its digest is {actual} and should be {expected}")]
    WrongDigest {
        /// What was asked for.
        what: String,
        /// Where.
        place: String,
        /// What it should be.
        expected: Digest,
        /// What it is.
        actual: Digest,
    },
    /// More or fewer bytes than there should be.
    #[error("{what} of `{place}` is damaged: it has {actual} bytes and should have {expected}")]
    WrongSize {
        /// What was asked for.
        what: String,
        /// Where.
        place: String,
        /// How many there should be.
        expected: u64,
        /// How many there are.
        actual: String,
    },
    /// Something that must fit into memory does not.
    #[error("{what} has more than {limit} bytes")]
    LargerThan {
        /// What it is.
        what: String,
        /// How many it may have.
        limit: u64,
    },
    /// An image that says itself that it is too large.
    #[error("{what}: {bytes} bytes are too many, {limit} are allowed")]
    TooLarge {
        /// What it is.
        what: String,
        /// How many it has.
        bytes: u64,
        /// How many it may have.
        limit: u64,
    },
    /// An image with too many layers.
    #[error("{what}: {layers} layers are too many, {limit} are allowed")]
    TooManyLayers {
        /// The image.
        what: String,
        /// How many it has.
        layers: usize,
        /// How many it may have.
        limit: usize,
    },
    /// An artifact that cannot be one catalog.
    #[error(
        "{what} is no image but an artifact with {layers} layers: an artifact is a catalog when its only layer is a tar of it"
    )]
    ArtifactLayers {
        /// The artifact.
        what: String,
        /// How many it has.
        layers: usize,
    },
    /// A config that belongs to another manifest.
    #[error("the config of {what} speaks of {diff_ids} layers, and the manifest has {layers}")]
    ConfigLayers {
        /// The image.
        what: String,
        /// Layers of the manifest.
        layers: usize,
        /// Layers of the config.
        diff_ids: usize,
    },
    /// A manifest or config is no JSON or not of its form.
    #[error("cannot read {what}")]
    Manifest {
        /// What it is.
        what: String,
        /// Why not.
        source: serde_json::Error,
    },
    /// JSON that is no manifest.
    #[error("{what} is neither an image nor an index of images: it has {found}")]
    NotAManifest {
        /// What it is.
        what: String,
        /// What it has.
        found: String,
    },
    /// A size below zero.
    #[error("the blob {blob} is said to have {size} bytes")]
    NegativeSize {
        /// Its digest.
        blob: String,
        /// Its size.
        size: i64,
    },
    /// An index without anything to take.
    #[error("the index {0} names no image")]
    NoImage(String),
    /// Indexes that lead to indexes.
    #[error("`{0}` is an index of indexes of indexes: name one image in it by its digest")]
    NestedIndexes(String),
    /// Not an OCI layout.
    #[error("`{}` is no OCI layout: it has no index.json", .0.display())]
    NotALayout(PathBuf),
    /// A layout has none or several of what was asked for.
    #[error("`{layout}` names {found} images: the layout has {names}; append one of them to its path")]
    LayoutChoice {
        /// What was asked for.
        layout: String,
        /// How many fit.
        found: usize,
        /// What there is.
        names: String,
    },
    /// The operating system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The tar of a layout is larger than it may be.
    #[error("`{}` has more than {limit} entries", root.display())]
    TooManyEntries {
        /// The tar.
        root: PathBuf,
        /// How many it may have.
        limit: usize,
    },
}
