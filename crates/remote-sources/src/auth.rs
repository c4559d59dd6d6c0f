//! Credentials by prefixes of URLs. They name files, which are read for each request, so that a
//! rotated secret counts at once.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;

/// Maximum length in bytes of a file with a secret or certificates.
pub const MAX_SECRET_BYTES: u64 = 1024 * 1024;

/// Files with the credentials for the URLs that begin with a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct AuthEntry {
    /// Prefix of URLs: scheme, host with its port, and the beginning of a path.
    pub prefix: String,
    /// User name and password (RFC 7617).
    pub basic: Option<Basic>,
    /// Bearer token (RFC 6750).
    pub bearer: Option<Bearer>,
    /// Values of other header fields, each in a file.
    #[serde(default)]
    pub headers: BTreeMap<String, PathBuf>,
    /// Client certificate for TLS.
    pub client_certificate: Option<ClientCertificate>,
    /// Certificate authorities to trust in addition, in PEM.
    pub ca: Option<PathBuf>,
}

impl AuthEntry {
    /// Resolves relative paths against a folder.
    #[must_use]
    pub fn relative_to(mut self, folder: &Path) -> Self {
        let basic = self.basic.iter_mut().map(|basic| &mut basic.password_file);
        let bearer = self.bearer.iter_mut().map(|bearer| &mut bearer.token_file);
        let certificate = self.client_certificate.iter_mut();
        let certificate = certificate.flat_map(|files| [&mut files.cert_file, &mut files.key_file]);
        let paths = basic.chain(bearer).chain(certificate);
        for path in paths.chain(self.headers.values_mut()).chain(&mut self.ca) {
            *path = folder.join(&path);
        }
        self
    }
}

/// User name and password.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Basic {
    /// The user name.
    pub username: String,
    /// File with the password.
    pub password_file: PathBuf,
}

/// A bearer token.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Bearer {
    /// File with the token.
    pub token_file: PathBuf,
}

/// A client certificate.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ClientCertificate {
    /// File with the certificate and its chain, in PEM.
    pub cert_file: PathBuf,
    /// File with the private key, in PEM.
    pub key_file: PathBuf,
}

/// An error of credentials. No message has a secret.
#[derive(Debug, thiserror::Error)]
pub enum HttpAuthError {
    /// A prefix is not a URL that can be compared.
    #[error(
        "cannot use the prefix `{0}` of --http-auth: write scheme, host and path, such as https://example.com/catalogs/"
    )]
    Prefix(String),
    /// Two entries have the same prefix.
    #[error("cannot use the prefix `{0}` of --http-auth: it occurs twice")]
    Repeated(String),
    /// An entry has two kinds of `Authorization`.
    #[error("cannot use the prefix `{0}` of --http-auth: it has both `basic` and `bearer`")]
    Both(String),
    /// A file cannot be read.
    #[error("cannot read the credentials in `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file has no usable content.
    #[error("cannot use the credentials in `{}`: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The cause.
        reason: &'static str,
    },
    /// A header field cannot be sent.
    #[error("cannot use the header `{0}` of --http-auth: it is not the name of a header field")]
    Header(String),
}

/// An entry whose prefix is parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParsedEntry {
    prefix: Url,
    files: AuthEntry,
}

/// Certificates and keys of a connection, as bytes of PEM.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct TlsFiles {
    pub(crate) ca: Option<Vec<u8>>,
    pub(crate) identity: Option<Vec<u8>>,
}

impl ParsedEntry {
    /// Parses the prefixes of all entries.
    pub(crate) fn parse_all(entries: &[AuthEntry]) -> Result<Vec<Self>, HttpAuthError> {
        let mut parsed: Vec<Self> = Vec::new();
        for files in entries {
            let text = &files.prefix;
            let invalid = || {
                HttpAuthError::Prefix(text.split('@').next_back().unwrap_or_default().to_owned())
            };
            let prefix = Url::parse(text).map_err(|_| invalid())?;
            let is_plain = prefix.username().is_empty()
                && prefix.password().is_none()
                && prefix.query().is_none()
                && prefix.fragment().is_none();
            if !matches!(prefix.scheme(), "https" | "http") || !prefix.has_host() || !is_plain {
                return Err(invalid());
            }
            if parsed.iter().any(|other| other.prefix == prefix) {
                return Err(HttpAuthError::Repeated(text.clone()));
            }
            if files.basic.is_some() && files.bearer.is_some() {
                return Err(HttpAuthError::Both(text.clone()));
            }
            for name in files.headers.keys() {
                HeaderName::from_bytes(name.as_bytes())
                    .map_err(|_| HttpAuthError::Header(name.clone()))?;
            }
            parsed.push(Self {
                prefix,
                files: files.clone(),
            });
        }
        Ok(parsed)
    }

    /// Returns the entry with the longest prefix of a URL.
    pub(crate) fn find<'e>(entries: &'e [Self], url: &Url) -> Option<&'e Self> {
        let matching = entries.iter().filter(|entry| entry.covers(url));
        matching.max_by_key(|entry| entry.prefix.path().len())
    }

    /// Returns whether the prefix covers a URL: the origin is the same, and the path is the same or
    /// lies below.
    //
    // A comparison of texts would let `https://host` cover `https://host.example.com`, and `/a` cover
    // `/ab`.
    fn covers(&self, url: &Url) -> bool {
        let folder = self.prefix.path();
        let rest = url.path().strip_prefix(folder);
        self.prefix.origin() == url.origin()
            && rest.is_some_and(|rest| {
                rest.is_empty() || folder.ends_with('/') || rest.starts_with('/')
            })
    }

    /// Reads the header fields of a request.
    pub(crate) fn headers(&self) -> Result<HeaderMap, HttpAuthError> {
        let mut headers = HeaderMap::new();
        let AuthEntry {
            basic,
            bearer,
            headers: others,
            ..
        } = &self.files;
        if let Some(Basic {
            username,
            password_file,
        }) = basic
        {
            let password = read_line(password_file)?;
            let text = format!("{username}:{password}");
            let text = format!("Basic {}", base64(text.as_bytes()));
            headers.insert(AUTHORIZATION, sensitive(&text, password_file)?);
        }
        if let Some(Bearer { token_file }) = bearer {
            let text = format!("Bearer {}", read_line(token_file)?);
            headers.insert(AUTHORIZATION, sensitive(&text, token_file)?);
        }
        for (name, path) in others {
            let name = HeaderName::from_bytes(name.as_bytes())
                .map_err(|_| HttpAuthError::Header(name.clone()))?;
            headers.insert(name, sensitive(&read_line(path)?, path)?);
        }
        Ok(headers)
    }

    /// Reads the certificates of a connection.
    pub(crate) fn tls_files(&self) -> Result<TlsFiles, HttpAuthError> {
        let AuthEntry {
            client_certificate,
            ca,
            ..
        } = &self.files;
        let identity = client_certificate.as_ref().map(
            |ClientCertificate {
                 cert_file,
                 key_file,
             }| {
                let mut pem = read(cert_file)?;
                pem.push(b'\n');
                pem.extend(read(key_file)?);
                Ok(pem)
            },
        );
        Ok(TlsFiles {
            ca: ca.as_deref().map(read).transpose()?,
            identity: identity.transpose()?,
        })
    }

    /// Returns the file with the client certificate, for errors.
    pub(crate) fn certificate_file(&self) -> PathBuf {
        let certificate = self.files.client_certificate.as_ref();
        certificate
            .map(|certificate| certificate.cert_file.clone())
            .unwrap_or_default()
    }
}

/// Encodes bytes with base64 (RFC 4648 §4).
fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

fn sensitive(text: &str, path: &Path) -> Result<HeaderValue, HttpAuthError> {
    let mut value = HeaderValue::from_str(text).map_err(|_| HttpAuthError::Content {
        path: path.to_owned(),
        reason: "it has characters that no header field has",
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// Reads a secret of one line.
fn read_line(path: &Path) -> Result<String, HttpAuthError> {
    let content = |reason| HttpAuthError::Content {
        path: path.to_owned(),
        reason,
    };
    let text = String::from_utf8(read(path)?).map_err(|_| content("it is not UTF-8"))?;
    let line = text.trim_end_matches(['\n', '\r']);
    if line.is_empty() {
        return Err(content("it is empty"));
    }
    Ok(line.to_owned())
}

fn read(path: &Path) -> Result<Vec<u8>, HttpAuthError> {
    let io = |source| HttpAuthError::Io {
        path: path.to_owned(),
        source,
    };
    if fs::metadata(path).map_err(io)?.len() > MAX_SECRET_BYTES {
        return Err(HttpAuthError::Content {
            path: path.to_owned(),
            reason: "it is too long",
        });
    }
    fs::read(path).map_err(io)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(prefixes: &[&str]) -> Result<Vec<ParsedEntry>, String> {
        let entry = |prefix: &&str| AuthEntry {
            prefix: (*prefix).to_owned(),
            ..AuthEntry::default()
        };
        let entries: Vec<_> = prefixes.iter().map(entry).collect();
        ParsedEntry::parse_all(&entries).map_err(|error| error.to_string())
    }

    #[test]
    fn the_longest_prefix_counts_and_no_other_host_and_no_similar_path_is_covered() {
        let entries =
            entries(&["https://h", "https://h/a", "https://h/a/b/", "http://h:81"]).unwrap();
        let found = |url: &str| {
            let found = ParsedEntry::find(&entries, &Url::parse(url).unwrap());
            found.map(|entry| entry.prefix.to_string())
        };
        for (url, expected) in [
            ("https://h/", Some("https://h/")),
            ("https://h:443/x", Some("https://h/")),
            ("https://h/a", Some("https://h/a")),
            ("https://h/a/x", Some("https://h/a")),
            ("https://h/ab", Some("https://h/")),
            ("https://h/a/b/c", Some("https://h/a/b/")),
            ("https://h/a/b", Some("https://h/a")),
            ("http://h:81/x", Some("http://h:81/")),
            ("http://h/x", None),
            ("https://h:444/x", None),
            ("https://h.example.com/", None),
            ("https://example.com/https://h/", None),
        ] {
            assert_eq!(found(url).as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_prefix_that_cannot_be_compared_is_refused() {
        for prefix in [
            "h",
            "ftp://h",
            "https://",
            "https://me:secret@h",
            "https://h?a",
            "https://h#a",
        ] {
            let refused = entries(&[prefix]).unwrap_err();
            assert!(refused.starts_with("cannot use the prefix"), "{refused}");
            assert!(!refused.contains("secret"), "{refused}");
        }
        assert!(
            entries(&["https://h", "https://h/"])
                .unwrap_err()
                .ends_with("it occurs twice")
        );
    }

    #[test]
    fn secrets_are_read_for_each_request() {
        let folder = tempfile::tempdir().unwrap();
        let token_file = folder.path().join("token");
        let entry = AuthEntry {
            prefix: "https://h".to_owned(),
            bearer: Some(Bearer {
                token_file: token_file.clone(),
            }),
            headers: BTreeMap::from([("x-key".to_owned(), token_file.clone())]),
            ..AuthEntry::default()
        };
        let entry = ParsedEntry::parse_all(&[entry]).unwrap().remove(0);
        let sent = || {
            entry
                .headers()
                .map(|headers| {
                    ["authorization", "x-key"]
                        .map(|name| headers[name].to_str().unwrap().to_owned())
                })
                .map_err(|error| error.to_string())
        };
        assert!(
            sent()
                .unwrap_err()
                .starts_with("cannot read the credentials in")
        );
        for token in ["one", "two"] {
            fs::write(&token_file, format!("{token}\n")).unwrap();
            assert_eq!(sent(), Ok([format!("Bearer {token}"), token.to_owned()]));
        }
        fs::write(&token_file, "\n").unwrap();
        assert!(sent().unwrap_err().ends_with("it is empty"));
    }
}
