//! References to files on HTTP servers, and to catalogs of other servers.

use std::fmt;
use std::hash::{Hash, Hasher};

use fbc_grammar::Digest;
use reqwest::Url;

use crate::git_ref::GitRef;
use crate::{MAX_REF_BYTES, RemoteKind};

/// Endings of file names that are no part of the name of a catalog.
const ENDINGS: [&str; 10] = [
    ".gz", ".zst", ".tgz", ".tar", ".json", ".jsonl", ".yaml", ".yml", ".git", ".bundle",
];

/// Path of all blobs, below the URL of a catalog.
const ALL: &str = "/api/v1/all";

/// Path below which servers have their catalogs.
const CATALOGS: &str = "/catalogs/";

/// Path of the API by which a server is followed.
const GRAPHQL: &str = "/graphql";

/// Schemes of git repositories that are read, and of those that are not.
const GIT_SCHEMES: [&str; 3] = ["git+https", "git+http", "git+file"];
const OTHER_GIT_SCHEMES: [&str; 4] = ["git+ssh", "git+git", "ssh", "git"];

/// A reference to a file on an HTTP server, to a catalog of another server, or to a folder of a git
/// repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteReference {
    kind: RemoteKind,
    /// URL that is downloaded, or of a repository, without a fragment.
    url: Url,
    /// Folder of the catalog in an archive or a repository; `None` selects it by its contents.
    path: Option<String>,
    /// Digest of the bytes, if the reference pins them.
    sha256: Option<Digest>,
    /// The ref of a git repository; `None` if the source is none.
    git_ref: Option<GitRef>,
}

/// An error of [`RemoteReference::parse`].
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// The text is no URL.
    #[error("cannot use `{0}` as a source: it is not a valid URL")]
    Url(String),
    /// The URL has a user or a password.
    #[error(
        "cannot use the URL of `{0}` as a source: it contains credentials, which logs would show: name them in the file of --http-auth"
    )]
    UserInfo(String),
    /// The URL looks like the reference of an image.
    #[error("cannot use `{0}` as a source: it looks like an image: write it without `{1}`")]
    Image(String, &'static str),
    /// The fragment has an unknown or a repeated member.
    #[error(
        "cannot use `{0}` as a source: write #path=FOLDER, #sha256=HEX or #path=FOLDER&sha256=HEX behind the URL"
    )]
    Fragment(String),
    /// The reference does not name a catalog.
    #[error(
        "cannot use `{0}` as a source: it names no catalog: append /catalogs/NAME, as in `status.urls.base` of a ClusterCatalog"
    )]
    NoCatalog(String),
    /// This build cannot read git repositories.
    #[error(
        "cannot use `{0}` as a source: this build has no git: build it with the feature source-git, or use a release"
    )]
    NoGit(String),
    /// The repository would be read over SSH, or over git's own protocol.
    #[error(
        "cannot use `{text}` as a source: `{scheme}` is not supported: write git+https://HOST/PATH.git@REF#path=FOLDER"
    )]
    GitTransport {
        /// The reference.
        text: String,
        /// Its scheme.
        scheme: String,
    },
    /// No ref of git has such a name.
    #[error(
        "cannot use `{0}` as a source: what follows `@` is no name of a ref, with at most {MAX_REF_BYTES} bytes: write a branch, a tag, refs/… or a commit"
    )]
    GitRef(String),
    /// The reference to a repository has a query, or another member of a fragment.
    #[error("cannot use `{0}` as a source: write git+https://HOST/PATH.git@REF#path=FOLDER")]
    Git(String),
}

impl RemoteReference {
    /// Parses `https://HOST/PATH[#path=FOLDER][&sha256=HEX]`, `catalogd+https://HOST/catalogs/NAME`,
    /// `catalogql+https://HOST/catalogs/NAME`, `catalogql+https://HOST` (a server) or
    /// `git+https://HOST/PATH.git[@REF][#path=FOLDER]`; `None` if the text has no scheme of these.
    pub fn parse(text: &str) -> Option<Result<Self, ReferenceError>> {
        let (scheme, _) = text.split_once("://")?;
        if OTHER_GIT_SCHEMES.contains(&scheme) {
            return Some(Err(ReferenceError::GitTransport {
                text: without_secrets(text),
                scheme: scheme.to_owned(),
            }));
        }
        if GIT_SCHEMES.contains(&scheme) {
            return Some(Self::parse_git(text));
        }
        let (kind, url) = match scheme {
            "https" | "http" => (RemoteKind::Http, text),
            "catalogd+https" | "catalogd+http" => {
                (RemoteKind::Catalogd, &text["catalogd+".len()..])
            }
            "catalogql+https" | "catalogql+http" => {
                (RemoteKind::Catalogql, &text["catalogql+".len()..])
            }
            _ => return None,
        };
        Some(Self::parse_url(kind, url, text))
    }

    /// Parses `git+SCHEME://HOST/PATH[@REF][#path=FOLDER]`.
    fn parse_git(text: &str) -> Result<Self, ReferenceError> {
        let shown = || without_secrets(text);
        if !cfg!(feature = "source-git") {
            return Err(ReferenceError::NoGit(shown()));
        }
        let url = &text["git+".len()..];
        let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
        let host = url.find("://").map_or(0, |at| at + "://".len());
        let path = url[host..].find('/').map_or(url.len(), |at| host + at);
        // An `@` before the path belongs to credentials, which are refused below.
        let (url, git_ref) = match url[path..].find('@') {
            Some(at) => (&url[..path + at], Some(&url[path + at + 1..])),
            None => (url, None),
        };
        let git_ref = git_ref.map_or(Some(GitRef::Head), GitRef::parse);
        let git_ref = git_ref.ok_or_else(|| ReferenceError::GitRef(shown()))?;
        let fragment = Fragment::parse(fragment).filter(|fragment| fragment.sha256.is_none());
        let fragment = fragment.ok_or_else(|| ReferenceError::Git(shown()))?;
        let url = Url::parse(url).map_err(|_| ReferenceError::Url(shown()))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ReferenceError::UserInfo(shown()));
        }
        let needs_host = url.scheme() != "file";
        if url.query().is_some() || url.path().len() < 2 || url.has_host() != needs_host {
            return Err(ReferenceError::Git(shown()));
        }
        let path = fragment.path.as_deref().map(|path| path.trim_matches('/'));
        let path = path.filter(|path| !path.is_empty()).map(str::to_owned);
        Ok(Self {
            kind: RemoteKind::Git,
            url,
            path,
            sha256: None,
            git_ref: Some(git_ref),
        })
    }

    fn parse_url(kind: RemoteKind, url: &str, text: &str) -> Result<Self, ReferenceError> {
        let mut url = Url::parse(url).map_err(|_| ReferenceError::Url(without_secrets(text)))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ReferenceError::UserInfo(without_secrets(text)));
        }
        let fragment = url.fragment().map(str::to_owned);
        url.set_fragment(None);
        match kind {
            // Parsed above.
            RemoteKind::Git => Err(ReferenceError::Git(without_secrets(text))),
            RemoteKind::Http => {
                let last = url.path().rsplit('/').next().unwrap_or_default();
                if last.contains([':', '@']) {
                    let scheme = if url.scheme() == "https" {
                        "https://"
                    } else {
                        "http://"
                    };
                    return Err(ReferenceError::Image(without_secrets(text), scheme));
                }
                let invalid = || ReferenceError::Fragment(without_secrets(text));
                let Fragment { path, sha256 } =
                    Fragment::parse(fragment.as_deref().unwrap_or_default()).ok_or_else(invalid)?;
                Ok(Self {
                    kind,
                    url,
                    path,
                    sha256,
                    git_ref: None,
                })
            }
            RemoteKind::Catalogd | RemoteKind::Catalogql => {
                let no_catalog = || ReferenceError::NoCatalog(without_secrets(text));
                let base = url
                    .path()
                    .trim_end_matches('/')
                    .trim_end_matches(ALL)
                    .to_owned();
                let is_plain = fragment.is_none() && url.query().is_none();
                if kind == RemoteKind::Catalogql
                    && is_plain
                    && !format!("{base}/").contains(CATALOGS)
                {
                    url.set_path(&format!("{base}{GRAPHQL}"));
                    return Ok(Self {
                        kind,
                        url,
                        path: None,
                        sha256: None,
                        git_ref: None,
                    });
                }
                let (_, name) = base.rsplit_once(CATALOGS).ok_or_else(no_catalog)?;
                if name.is_empty() || name.contains('/') || !is_plain {
                    return Err(no_catalog());
                }
                url.set_path(&format!("{base}{ALL}"));
                Ok(Self {
                    kind,
                    url,
                    path: None,
                    sha256: None,
                    git_ref: None,
                })
            }
        }
    }

    /// Returns the kind of the source.
    pub fn kind(&self) -> RemoteKind {
        self.kind
    }

    /// Returns the URL that is downloaded.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Returns whether it names a server with all its catalogs, and not one of them.
    pub fn is_server(&self) -> bool {
        self.kind == RemoteKind::Catalogql && !self.url.path().ends_with(ALL)
    }

    /// Returns the reference to a catalog of the server that this one names.
    #[must_use]
    pub fn catalog(&self, name: &str) -> Self {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{CATALOGS}{name}{ALL}", self.base()));
        Self {
            url,
            ..self.clone()
        }
    }

    /// Returns the URL of the GraphQL API of the server, if it is a catalogql.
    pub(crate) fn graphql_url(&self) -> Url {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{GRAPHQL}", self.base()));
        url
    }

    /// Returns the path of the server.
    fn base(&self) -> &str {
        let path = self.url.path();
        if self.is_server() {
            return path.trim_end_matches(GRAPHQL);
        }
        path.rsplit_once(CATALOGS).map_or("", |(base, _)| base)
    }

    /// Returns the ref of a git repository.
    #[cfg(feature = "source-git")]
    pub(crate) fn git_ref(&self) -> &GitRef {
        self.git_ref.as_ref().unwrap_or(&GitRef::Head)
    }

    /// Returns whether it names bytes by their digest, or a commit, whose content never changes.
    pub fn is_pinned(&self) -> bool {
        self.sha256.is_some() || matches!(self.git_ref, Some(GitRef::Commit(_)))
    }

    /// Returns the folder of the catalog in an archive or a repository, if the reference names one.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Returns the digest of the bytes, if the reference pins them.
    pub fn sha256(&self) -> Option<Digest> {
        self.sha256
    }

    /// Returns the key of the source in the store, with the query of its URL as a digest: a query may
    /// be a secret.
    pub fn key(&self) -> String {
        let query = self
            .url
            .query()
            .map(|query| format!(" query {}", content_digest::digest(query.as_bytes()).hex()));
        format!("{self}{}", query.unwrap_or_default())
    }

    /// Returns the default name of the catalog: the last part of the path, without the endings of
    /// files.
    pub fn name(&self) -> Option<String> {
        if self.is_server() {
            return None;
        }
        let path = self
            .path
            .as_deref()
            .filter(|_| self.kind == RemoteKind::Git);
        let path = path.unwrap_or(self.url.path());
        let path = path.trim_end_matches(ALL).trim_end_matches('/');
        let mut name = path.rsplit('/').next()?;
        while let Some(shorter) = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)) {
            name = shorter;
        }
        (!name.is_empty()).then(|| name.to_owned())
    }

    /// Returns the name of the downloaded file: the last part of the path.
    pub fn file_name(&self) -> &str {
        let last = self.url.path().rsplit('/').next().unwrap_or_default();
        if last.is_empty() { "catalog" } else { last }
    }
}

impl Hash for RemoteReference {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// Formats the reference without its query.
impl fmt::Display for RemoteReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = self.url.clone();
        url.set_query(None);
        let prefix = match self.kind {
            RemoteKind::Http => "",
            RemoteKind::Catalogd => "catalogd+",
            RemoteKind::Catalogql => "catalogql+",
            RemoteKind::Git => "git+",
        };
        let text = url.as_str();
        let text = match self.kind {
            RemoteKind::Http | RemoteKind::Git => text,
            RemoteKind::Catalogd | RemoteKind::Catalogql if self.is_server() => {
                text.trim_end_matches(GRAPHQL)
            }
            RemoteKind::Catalogd | RemoteKind::Catalogql => text.trim_end_matches(ALL),
        };
        write!(f, "{prefix}{text}")?;
        let git_ref = self.git_ref.as_ref().map_or("", GitRef::text);
        if !git_ref.is_empty() {
            write!(f, "@{git_ref}")?;
        }
        let path = self.path.as_ref().map(|path| format!("path={path}"));
        let sha256 = self.sha256.map(|digest| format!("sha256={}", digest.hex()));
        let members: Vec<_> = path.into_iter().chain(sha256).collect();
        if members.is_empty() {
            Ok(())
        } else {
            write!(f, "#{}", members.join("&"))
        }
    }
}

/// The members of a fragment.
#[derive(Default)]
struct Fragment {
    path: Option<String>,
    sha256: Option<Digest>,
}

impl Fragment {
    fn parse(text: &str) -> Option<Self> {
        let mut found = Self::default();
        for member in text.split('&').filter(|member| !member.is_empty()) {
            match member.split_once('=')? {
                ("path", path) if found.path.is_none() && !path.is_empty() => {
                    found.path = Some(path.to_owned());
                }
                ("sha256", hex) if found.sha256.is_none() => {
                    found.sha256 = Some(Digest::parse(&format!("sha256:{hex}"))?);
                }
                _ => return None,
            }
        }
        Some(found)
    }
}

/// Returns a reference without its user, password and query, which may be secrets.
fn without_secrets(text: &str) -> String {
    let text = text.split(['?']).next().unwrap_or_default();
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let authority = rest.find('/').unwrap_or(rest.len());
    match rest[..authority].rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://{host}{}", &rest[authority..]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(String, String, String), String> {
        let reference = RemoteReference::parse(text)
            .expect("it has a scheme")
            .map_err(|error| error.to_string())?;
        Ok((
            reference.to_string(),
            reference.url().to_string(),
            reference.name().unwrap_or_default(),
        ))
    }

    #[test]
    fn a_reference_names_a_url_and_a_catalog() {
        let hex = "0f".repeat(32);
        for (text, shown, url, name) in [
            (
                "https://h/a/c.tar.gz",
                "https://h/a/c.tar.gz",
                "https://h/a/c.tar.gz",
                "c",
            ),
            (
                "https://h:8443/all.jsonl",
                "https://h:8443/all.jsonl",
                "https://h:8443/all.jsonl",
                "all",
            ),
            (
                "https://h/c.json?sig=secret",
                "https://h/c.json",
                "https://h/c.json?sig=secret",
                "c",
            ),
            (
                "https://h/c.tgz#path=configs/prod",
                "https://h/c.tgz#path=configs/prod",
                "https://h/c.tgz",
                "c",
            ),
            (
                &format!("https://h/c.tgz#sha256={hex}&path=a"),
                &format!("https://h/c.tgz#path=a&sha256={hex}"),
                "https://h/c.tgz",
                "c",
            ),
            (
                "catalogd+https://h/catalogs/operatorhubio/",
                "catalogd+https://h/catalogs/operatorhubio",
                "https://h/catalogs/operatorhubio/api/v1/all",
                "operatorhubio",
            ),
            (
                "catalogql+https://h/catalogs/a",
                "catalogql+https://h/catalogs/a",
                "https://h/catalogs/a/api/v1/all",
                "a",
            ),
            (
                "catalogql+https://h:8443/below/",
                "catalogql+https://h:8443/below",
                "https://h:8443/below/graphql",
                "",
            ),
            (
                "catalogd+http://h:8080/below/catalogs/a.b/api/v1/all",
                "catalogd+http://h:8080/below/catalogs/a.b",
                "http://h:8080/below/catalogs/a.b/api/v1/all",
                "a.b",
            ),
        ] {
            let expected = (shown.to_owned(), url.to_owned(), name.to_owned());
            assert_eq!(parsed(text), Ok(expected), "{text}");
        }
        for other in [
            "quay.io/a/b",
            "docker://a",
            "dir:a",
            "ftp://h/a",
            "catalogd+ftp://h",
        ] {
            assert!(RemoteReference::parse(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_server_and_its_catalogs_have_one_api() {
        for server in ["catalogql+https://h", "catalogql+https://h/below"] {
            let server = RemoteReference::parse(server).unwrap().unwrap();
            let catalog = server.catalog("a");
            assert!(server.is_server() && !catalog.is_server());
            assert_eq!(
                catalog.to_string(),
                format!("{server}/catalogs/a").replace("h//", "h/")
            );
            assert_eq!(catalog.graphql_url(), *server.url());
        }
    }

    #[test]
    fn the_key_of_a_source_tells_queries_apart_and_shows_none() {
        let key = |text: &str| RemoteReference::parse(text).unwrap().unwrap().key();
        assert_ne!(key("https://h/c?a=1"), key("https://h/c?a=2"));
        assert!(!key("https://h/c?a=secret").contains("secret"));
    }

    #[test]
    fn what_is_no_reference_is_refused_without_its_secrets() {
        for (text, error) in [
            ("https://", "it is not a valid URL"),
            (
                "https://me:secret@h/c.json?secret",
                "it contains credentials",
            ),
            ("https://quay.io/a/b:latest", "write it without `https://`"),
            ("https://h/c.tgz#folder=a", "write #path=FOLDER"),
            ("https://h/c.tgz#sha256=abc", "write #path=FOLDER"),
            ("https://h/c.tgz#path=a&path=b", "write #path=FOLDER"),
            ("catalogd+https://h", "append /catalogs/NAME"),
            ("catalogd+https://h/catalogs/", "append /catalogs/NAME"),
            ("catalogql+https://h/catalogs/", "append /catalogs/NAME"),
            ("catalogql+https://h?a", "append /catalogs/NAME"),
            (
                "catalogd+https://h/catalogs/a#path=b",
                "append /catalogs/NAME",
            ),
        ] {
            let refused = parsed(text).unwrap_err();
            assert!(refused.contains(error), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[cfg(not(feature = "source-git"))]
    #[test]
    fn a_build_without_git_says_what_it_lacks() {
        assert_eq!(
            parsed("git+https://h/a.git@main#path=b").unwrap_err(),
            "cannot use `git+https://h/a.git@main#path=b` as a source: this build has no git: build it with the feature source-git, or use a release"
        );
    }

    #[cfg(feature = "source-git")]
    #[test]
    fn a_repository_has_a_ref_and_a_folder() {
        let hex = "0f".repeat(20);
        for (text, shown, url, name) in [
            (
                "git+https://h/a/b.git",
                "git+https://h/a/b.git",
                "https://h/a/b.git",
                "b",
            ),
            (
                "git+https://h/b.git@HEAD",
                "git+https://h/b.git",
                "https://h/b.git",
                "b",
            ),
            (
                "git+https://h:8443/b.git@feature/x@2#path=/catalogs/prod/",
                "git+https://h:8443/b.git@feature/x@2#path=catalogs/prod",
                "https://h:8443/b.git",
                "prod",
            ),
            (
                &format!("git+http://h/b@{hex}#path=c.yaml"),
                &format!("git+http://h/b@{hex}#path=c.yaml"),
                "http://h/b",
                "c",
            ),
            (
                "git+file:///srv/b.bundle@main",
                "git+file:///srv/b.bundle@main",
                "file:///srv/b.bundle",
                "b",
            ),
        ] {
            let expected = (shown.to_owned(), url.to_owned(), name.to_owned());
            assert_eq!(parsed(text), Ok(expected), "{text}");
        }
        let is_pinned = |text: &str| RemoteReference::parse(text).unwrap().unwrap().is_pinned();
        assert!(is_pinned(&format!("git+https://h/b@{hex}")));
        assert!(!is_pinned("git+https://h/b@main"));
    }

    #[cfg(feature = "source-git")]
    #[test]
    fn what_is_no_reference_to_a_repository_is_refused_without_its_secrets() {
        for (text, error) in [
            ("git+https://me:secret@h/b.git", "it contains credentials"),
            ("git+https://h/b.git@a..b", "is no name of a ref"),
            ("git+https://h/b.git@", "is no name of a ref"),
            (
                "git+https://h/b.git?secret",
                "write git+https://HOST/PATH.git@REF",
            ),
            ("git+https://h", "write git+https://HOST/PATH.git@REF"),
            (
                "git+https://h/b.git#folder=a",
                "write git+https://HOST/PATH.git@REF",
            ),
            (
                &format!("git+https://h/b.git#sha256={}", "0".repeat(64)),
                "write git+https://HOST/PATH.git@REF",
            ),
            ("git+file://h/b.git", "write git+https://HOST/PATH.git@REF"),
        ] {
            let refused = parsed(text).unwrap_err();
            assert!(refused.contains(error), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
    }

    #[test]
    fn other_transports_of_git_are_refused_by_name() {
        for scheme in OTHER_GIT_SCHEMES {
            let refused = parsed(&format!("{scheme}://git@h/b.git")).unwrap_err();
            let expected = format!("`{scheme}` is not supported: write git+https://");
            assert!(refused.contains(&expected), "{refused}");
        }
    }
}
