//! Authentication to registries: HTTP challenges, passwords, and token services.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, InvalidHeaderValue, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use serde::Deserialize;

use super::backoff::RegistryRequestError;
use super::conf::RepositoryLocation;
use super::response::{read, retry_after};
use super::secret::RegistrySecret;
use super::transport::{RegistryTransport, Trust, continue_trace, unreachable};
use crate::ImageError;

/// Maximum length in bytes of the response of a token service.
pub const MAX_TOKEN_RESPONSE_BYTES: u64 = 1024 * 1024;

/// Client id for token services.
const CLIENT_ID: &str = "catalogql";

/// Access to a repository that a session needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RepositoryAccess {
    Pull,
    Push,
}

impl RepositoryAccess {
    /// Returns the actions of the scope of a token.
    pub(super) fn actions(self) -> &'static str {
        match self {
            Self::Pull => "pull",
            Self::Push => "pull,push",
        }
    }
}

/// The result of logging in.
pub(super) struct Login {
    /// Value of the `Authorization` header for further requests.
    pub(super) authorization: HeaderValue,
    /// Description of the credentials that were used, for errors; `None` for an anonymous token.
    pub(super) credentials: Option<String>,
}

/// A challenge of `WWW-Authenticate`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// User name and password.
    Basic,
    /// An access token from the token service at `realm`.
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

/// The response of a token service.
#[derive(Deserialize)]
struct BearerTokenResponse {
    token: Option<String>,
    access_token: Option<String>,
}

/// Logs in according to the challenge in the headers of a 401 response.
pub(super) async fn log_in(
    transport: &RegistryTransport,
    location: &RepositoryLocation,
    scopes: Vec<String>,
    headers: &HeaderMap,
) -> Result<Login, RegistryRequestError> {
    let challenge = Challenge::find(headers).ok_or_else(|| location.unauthorized(None))?;
    let found = transport
        .settings
        .credentials
        .find(&location.registry, &location.repository)
        .await?;
    let credentials = found.as_ref().map(ToString::to_string);
    let secret = found.map(|found| found.secret);
    let authorization = match (challenge, secret) {
        (Challenge::Bearer { realm, service }, secret) => {
            let token = BearerTokenRequest {
                transport,
                location,
                scopes,
                realm,
                service,
                secret,
                credentials: credentials.as_deref(),
            }
            .send()
            .await?;
            format!("Bearer {token}")
        }
        (Challenge::Basic, Some(RegistrySecret::Password { user, password })) => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
        }
        (Challenge::Basic, _) => return Err(location.unauthorized(credentials.as_deref()).into()),
    };
    let mut authorization: HeaderValue = authorization
        .parse()
        .map_err(|_: InvalidHeaderValue| location.unauthorized(credentials.as_deref()))?;
    authorization.set_sensitive(true);
    Ok(Login {
        authorization,
        credentials,
    })
}

/// A request for an access token.
struct BearerTokenRequest<'a> {
    transport: &'a RegistryTransport,
    location: &'a RepositoryLocation,
    scopes: Vec<String>,
    realm: String,
    service: Option<String>,
    secret: Option<RegistrySecret>,
    credentials: Option<&'a str>,
}

impl BearerTokenRequest<'_> {
    async fn send(self) -> Result<String, RegistryRequestError> {
        let (url, host, trust) = self.token_service()?;
        let service = self.service.iter().map(|service| ("service", &**service));
        let scopes = self.scopes.iter().map(|scope| ("scope", &**scope));
        let parameters = service.chain(scopes);
        let request = match &self.secret {
            Some(RegistrySecret::IdentityToken(token)) => {
                let grant = [
                    ("grant_type", "refresh_token"),
                    ("client_id", CLIENT_ID),
                    ("refresh_token", token),
                ];
                let body = form_urlencoded::Serializer::new(String::new())
                    .extend_pairs(parameters.chain(grant))
                    .finish();
                let client = self.transport.client_without_redirects(trust)?;
                client
                    .post(url)
                    .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                    .body(body)
            }
            Some(RegistrySecret::Password { user, password }) => self
                .transport
                .client(trust)?
                .get(with_query(url, parameters))
                .basic_auth(user, Some(password)),
            None => self
                .transport
                .client(trust)?
                .get(with_query(url, parameters)),
        };
        let retry = self.transport.settings.retry;
        let request = request.timeout(retry.request_timeout(MAX_TOKEN_RESPONSE_BYTES));
        let response = continue_trace(request)
            .send()
            .await
            .map_err(|error| unreachable(&host, error))?;
        let status = response.status();
        let wait = retry_after(response.headers());
        if !status.is_success() {
            return Err(self.error_for_status(host, status, wait));
        }
        let bytes = read(response, MAX_TOKEN_RESPONSE_BYTES)
            .await
            .map_err(|error| unreachable(&host, error))?;
        let token: Option<BearerTokenResponse> =
            bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let token = token.and_then(|token| token.token.or(token.access_token));
        Ok(token.ok_or(ImageError::NoToken(host))?)
    }

    /// Returns the URL of the token service, its host with its port, and the trust that it
    /// requires, because it receives the password.
    fn token_service(&self) -> Result<(Url, String, Trust), ImageError> {
        let wrong = || ImageError::InsecureTokenService {
            registry: self.location.registry.clone(),
            realm: self.realm.clone(),
        };
        let url = Url::parse(&self.realm).map_err(|_| wrong())?;
        let host = url.host_str().ok_or_else(wrong)?;
        let host = url
            .port()
            .map_or(host.to_owned(), |port| format!("{host}:{port}"));
        let insecure = self.transport.is_insecure(&host)
            || self.location.trust == Trust::InsecureSkipVerify && host == self.location.host;
        // oci-client would send the password to a token service without TLS.
        match url.scheme() {
            "https" if !insecure => Ok((url, host, Trust::Verified)),
            "http" | "https" if insecure => Ok((url, host, Trust::InsecureSkipVerify)),
            _ => Err(wrong()),
        }
    }

    /// Returns the error for a response other than 2xx.
    fn error_for_status(
        &self,
        host: String,
        status: StatusCode,
        wait: Option<Duration>,
    ) -> RegistryRequestError {
        let resource = "a token".to_owned();
        let error_body = String::new();
        match status {
            StatusCode::TOO_MANY_REQUESTS => RegistryRequestError::Transient(
                ImageError::TooManyRequests {
                    location: host,
                    retry_after: wait,
                },
                wait,
            ),
            _ if status.is_server_error() => {
                let status = status.as_u16();
                RegistryRequestError::Transient(
                    ImageError::Status {
                        resource,
                        location: host,
                        status,
                        error_body,
                    },
                    wait,
                )
            }
            _ => self.location.unauthorized(self.credentials).into(),
        }
    }
}

/// Appends parameters to the query of a URL.
fn with_query<'a>(mut url: Url, parameters: impl Iterator<Item = (&'a str, &'a str)>) -> Url {
    url.query_pairs_mut().extend_pairs(parameters);
    url
}

impl Challenge {
    /// Selects a supported challenge: Bearer is preferred to Basic.
    pub(super) fn find(headers: &HeaderMap) -> Option<Self> {
        let texts = headers
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let challenges: Vec<_> = texts.flat_map(parse_challenges).collect();
        let bearer = challenges
            .iter()
            .position(|challenge| *challenge != Self::Basic);
        challenges.into_iter().nth(bearer.unwrap_or(0))
    }
}

/// Parses the supported challenges of one header, which may have several challenges and parameters,
/// all separated by commas.
fn parse_challenges(text: &str) -> Vec<Challenge> {
    let mut found = Vec::new();
    for part in split_outside_quotes(text) {
        let (first, rest) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        let is_scheme = !first.contains('=');
        if is_scheme {
            match first.to_ascii_lowercase().as_str() {
                "basic" => found.push(Some(Challenge::Basic)),
                "bearer" => found.push(Some(Challenge::Bearer {
                    realm: String::new(),
                    service: None,
                })),
                _ => found.push(None),
            }
        }
        let parameter = if is_scheme { rest } else { part };
        let (Some((name, value)), Some(Some(Challenge::Bearer { realm, service }))) =
            (parameter.split_once('='), found.last_mut())
        else {
            continue;
        };
        let value = unquote(value.trim());
        match name.trim().to_ascii_lowercase().as_str() {
            "realm" => *realm = value,
            "service" => *service = Some(value),
            _ => {}
        }
    }
    found.into_iter().flatten().collect()
}

/// Splits a text at commas that are not within quotes.
fn split_outside_quotes(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    let parts = text.split(move |c| {
        let ends = c == ',' && !quoted;
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// Decodes a quoted string; other text is returned as it is.
fn unquote(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"') else {
        return text.to_owned();
    };
    let mut value = String::new();
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match c {
            '"' => break,
            '\\' => value.extend(characters.next()),
            c => value.push(c),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bearer(realm: &str, service: Option<&str>) -> Challenge {
        Challenge::Bearer {
            realm: realm.to_owned(),
            service: service.map(str::to_owned),
        }
    }

    fn find(headers: &[&'static str]) -> Option<Challenge> {
        let headers = headers
            .iter()
            .map(|text| (WWW_AUTHENTICATE, HeaderValue::from_static(text)));
        Challenge::find(&headers.collect())
    }

    #[test]
    fn a_challenge_says_where_a_token_is() {
        let quay = r#"Bearer realm="https://quay.io/v2/auth",service="quay.io",scope="repository:a/b:pull,push""#;
        assert_eq!(
            find(&[quay]),
            Some(bearer("https://quay.io/v2/auth", Some("quay.io")))
        );
        assert_eq!(
            find(&["bearer REALM=https://a/b , error=\"x\""]),
            Some(bearer("https://a/b", None))
        );
        assert_eq!(
            find(&[r#"Bearer realm="https://a/\"b\",c""#]),
            Some(bearer("https://a/\"b\",c", None))
        );
    }

    #[test]
    fn whatever_is_written_is_read_to_its_end() {
        let mut random = fastrand::Rng::with_seed(7);
        let pieces = [
            "Bearer",
            "Basic",
            " ",
            ",",
            "=",
            "\"",
            "\\",
            "realm",
            "é",
            "service=\"",
            ", ,",
        ];
        for _ in 0..10_000 {
            let text: String = (0..random.usize(..12))
                .map(|_| pieces[random.usize(..pieces.len())])
                .collect();
            assert!(parse_challenges(&text).len() <= text.len(), "{text}");
        }
    }

    #[test]
    fn a_token_is_preferred_to_a_password_and_what_is_unknown_is_passed_over() {
        assert_eq!(find(&["Basic realm=\"a\""]), Some(Challenge::Basic));
        assert_eq!(
            find(&["Basic realm=\"a\"", "Bearer realm=\"b\""]),
            Some(bearer("b", None))
        );
        assert_eq!(
            find(&["Negotiate, Basic realm=\"a\", Bearer realm=\"b\",service=c"]),
            Some(bearer("b", Some("c")))
        );
        assert_eq!(find(&["Negotiate", "Digest realm=\"a\""]), None);
        assert_eq!(find(&[]), None);
    }
}
