//! What a registry asks to know of us, and what we say: nothing, a password, or a token that somebody else gives.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, InvalidHeaderValue, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use serde::Deserialize;

use super::backoff::Failure;
use super::conf::Place;
use super::credentials::Secret;
use super::session::{read, retry_after};
use super::transport::{Transport, Trust, unreachable};
use crate::ImageError;

/// How many bytes the answer with a token may have.
pub const MAX_TOKEN_RESPONSE_BYTES: u64 = 1024 * 1024;

/// By this name a token service is told who asks.
const CLIENT: &str = "catalogql";

/// What is said to a registry from now on.
pub(super) struct Login {
    pub(super) authorization: HeaderValue,
    /// Whose credentials were used, and where they are from.
    pub(super) tried: Option<String>,
}

/// What a registry wants, from its `WWW-Authenticate`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Challenge {
    /// Name and password.
    Basic,
    /// A token from this address.
    Bearer { realm: String, service: Option<String> },
}

/// The answer of a token service.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

/// Logs in as the headers of a refusal ask for.
pub(super) async fn log_in(transport: &Transport, place: &Place, headers: &HeaderMap) -> Result<Login, Failure> {
    let challenge = Challenge::find(headers).ok_or_else(|| place.unauthorized(None))?;
    let found = transport.settings.credentials.find(&place.registry, &place.repository).await?;
    let tried = found.as_ref().map(ToString::to_string);
    let secret = found.map(|found| found.secret);
    let authorization = match (challenge, secret) {
        (Challenge::Bearer { realm, service }, secret) => {
            let token = Request { transport, place, realm, service, secret, tried: tried.as_deref() }.send().await?;
            format!("Bearer {token}")
        }
        (Challenge::Basic, Some(Secret::Password { user, password })) => {
            format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
        }
        (Challenge::Basic, _) => return Err(place.unauthorized(tried.as_deref()).into()),
    };
    let mut authorization: HeaderValue =
        authorization.parse().map_err(|_: InvalidHeaderValue| place.unauthorized(tried.as_deref()))?;
    authorization.set_sensitive(true);
    Ok(Login { authorization, tried })
}

/// A request for a token to pull from one repository.
struct Request<'a> {
    transport: &'a Transport,
    place: &'a Place,
    realm: String,
    service: Option<String>,
    secret: Option<Secret>,
    tried: Option<&'a str>,
}

impl Request<'_> {
    async fn send(self) -> Result<String, Failure> {
        let (url, host, trust) = self.target()?;
        let scope = format!("repository:{}:pull", self.place.repository);
        let service = self.service.iter().map(|service| ("service", &**service));
        let parameters = service.chain([("scope", &*scope)]);
        let request = match &self.secret {
            Some(Secret::Token(token)) => {
                let grant = [("grant_type", "refresh_token"), ("client_id", CLIENT), ("refresh_token", token)];
                let body =
                    form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters.chain(grant)).finish();
                let client = self.transport.client_without_redirects(trust)?;
                client.post(url).header(CONTENT_TYPE, "application/x-www-form-urlencoded").body(body)
            }
            Some(Secret::Password { user, password }) => {
                self.transport.client(trust)?.get(with(url, parameters)).basic_auth(user, Some(password))
            }
            None => self.transport.client(trust)?.get(with(url, parameters)),
        };
        let retry = self.transport.settings.retry;
        let request = request.timeout(retry.whole(MAX_TOKEN_RESPONSE_BYTES));
        let response = request.send().await.map_err(|error| unreachable(&host, error))?;
        let (status, wait) = (response.status(), retry_after(response.headers()));
        if !status.is_success() {
            return Err(self.refused(host, status, wait));
        }
        let bytes = read(response, MAX_TOKEN_RESPONSE_BYTES).await.map_err(|error| unreachable(&host, error))?;
        let token: Option<Token> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let token = token.and_then(|token| token.token.or(token.access_token));
        Ok(token.ok_or(ImageError::NoToken(host))?)
    }

    /// Where the token is, that host with its port, and whether it must prove who it is: it hears the password.
    fn target(&self) -> Result<(Url, String, Trust), ImageError> {
        let wrong = || ImageError::Realm { registry: self.place.registry.clone(), realm: self.realm.clone() };
        let url = Url::parse(&self.realm).map_err(|_| wrong())?;
        let host = url.host_str().ok_or_else(wrong)?;
        let host = url.port().map_or(host.to_owned(), |port| format!("{host}:{port}"));
        let insecure = self.transport.is_insecure(&host)
            || self.place.trust == Trust::InsecureSkipVerify && host == self.place.host;
        match url.scheme() {
            "https" if !insecure => Ok((url, host, Trust::Verified)),
            "http" | "https" if insecure => Ok((url, host, Trust::InsecureSkipVerify)),
            _ => Err(wrong()),
        }
    }

    fn refused(&self, host: String, status: StatusCode, wait: Option<Duration>) -> Failure {
        let (what, said) = ("a token".to_owned(), String::new());
        match status {
            StatusCode::TOO_MANY_REQUESTS => {
                Failure::Transient(ImageError::TooManyRequests { place: host, wait }, wait)
            }
            _ if status.is_server_error() => {
                let status = status.as_u16();
                Failure::Transient(ImageError::Status { what, place: host, status, said }, wait)
            }
            _ => self.place.unauthorized(self.tried).into(),
        }
    }
}

fn with<'a>(mut url: Url, parameters: impl Iterator<Item = (&'a str, &'a str)>) -> Url {
    url.query_pairs_mut().extend_pairs(parameters);
    url
}

impl Challenge {
    /// The challenge that can be met best: a token before a password.
    pub(super) fn find(headers: &HeaderMap) -> Option<Self> {
        let texts = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let challenges: Vec<_> = texts.flat_map(challenges).collect();
        let bearer = challenges.iter().position(|challenge| *challenge != Self::Basic);
        challenges.into_iter().nth(bearer.unwrap_or(0))
    }
}

/// The challenges in one header, of those kinds that are known. A header may hold several with their parameters, all
/// with commas between them.
fn challenges(text: &str) -> Vec<Challenge> {
    let mut found = Vec::new();
    for part in split_outside_quotes(text) {
        let (first, rest) = part.split_once(char::is_whitespace).unwrap_or((part, ""));
        let is_scheme = !first.contains('=');
        if is_scheme {
            match first.to_ascii_lowercase().as_str() {
                "basic" => found.push(Some(Challenge::Basic)),
                "bearer" => found.push(Some(Challenge::Bearer { realm: String::new(), service: None })),
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

/// The parts between commas, without those in quotes.
fn split_outside_quotes(text: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    let parts = text.split(move |c| {
        let ends = c == ',' && !quoted;
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    parts.map(str::trim).filter(|part| !part.is_empty())
}

fn unquote(text: &str) -> String {
    let Some(inner) = text.strip_prefix('"') else { return text.to_owned() };
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
        Challenge::Bearer { realm: realm.to_owned(), service: service.map(str::to_owned) }
    }

    fn find(headers: &[&'static str]) -> Option<Challenge> {
        let headers = headers.iter().map(|text| (WWW_AUTHENTICATE, HeaderValue::from_static(text)));
        Challenge::find(&headers.collect())
    }

    #[test]
    fn a_challenge_says_where_a_token_is() {
        let quay = r#"Bearer realm="https://quay.io/v2/auth",service="quay.io",scope="repository:a/b:pull,push""#;
        assert_eq!(find(&[quay]), Some(bearer("https://quay.io/v2/auth", Some("quay.io"))));
        assert_eq!(find(&["bearer REALM=https://a/b , error=\"x\""]), Some(bearer("https://a/b", None)));
        assert_eq!(find(&[r#"Bearer realm="https://a/\"b\",c""#]), Some(bearer("https://a/\"b\",c", None)));
    }

    #[test]
    fn whatever_is_written_is_read_to_its_end() {
        let mut random = fastrand::Rng::with_seed(7);
        let pieces = ["Bearer", "Basic", " ", ",", "=", "\"", "\\", "realm", "é", "service=\"", ", ,"];
        for _ in 0..10_000 {
            let text: String = (0..random.usize(..12)).map(|_| pieces[random.usize(..pieces.len())]).collect();
            assert!(challenges(&text).len() <= text.len(), "{text}");
        }
    }

    #[test]
    fn a_token_is_preferred_to_a_password_and_what_is_unknown_is_passed_over() {
        assert_eq!(find(&["Basic realm=\"a\""]), Some(Challenge::Basic));
        assert_eq!(find(&["Basic realm=\"a\"", "Bearer realm=\"b\""]), Some(bearer("b", None)));
        assert_eq!(find(&["Negotiate, Basic realm=\"a\", Bearer realm=\"b\",service=c"]), Some(bearer("b", Some("c"))));
        assert_eq!(find(&["Negotiate", "Digest realm=\"a\""]), None);
        assert_eq!(find(&[]), None);
    }
}
