//! Redirects: which are followed, and to which addresses.
//!
//! A server that is trusted for one file must not reach into the network of this process: a redirect
//! leads to public addresses, or to those of the scope in which the source itself is.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::header::{HeaderMap, LOCATION};
use tokio::net::lookup_host;

use crate::RemoteError;
use crate::error::RedirectReason;
use crate::validators::without_query;

/// Maximum number of redirects of one request.
pub const MAX_REDIRECTS: usize = 10;

/// Reach of an IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressScope {
    Public,
    Private,
    LinkLocal,
    Loopback,
}

/// A redirect target whose addresses are checked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CheckedTarget {
    /// Name of the host.
    pub(crate) host: String,
    /// The addresses that may be connected to.
    pub(crate) addresses: Vec<SocketAddr>,
}

impl AddressScope {
    fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::of_v4(address),
            IpAddr::V6(address) => Self::of_v6(address),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        // 100.64.0.0/10 is shared address space (RFC 6598), 0.0.0.0/8 is this host (RFC 1122).
        let [first, second, ..] = address.octets();
        if address.is_loopback() || first == 0 {
            Self::Loopback
        } else if address.is_link_local() {
            Self::LinkLocal
        } else if address.is_private()
            || address.is_broadcast()
            || address.is_multicast()
            || first == 100 && second & 0xc0 == 64
        {
            Self::Private
        } else {
            Self::Public
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        // NAT64 (RFC 6052) translates the last four bytes to an IPv4 address.
        if let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = address.segments() {
            let [a, b] = high.to_be_bytes();
            let [c, d] = low.to_be_bytes();
            return Self::of_v4(Ipv4Addr::new(a, b, c, d));
        }
        if address.is_loopback() || address.is_unspecified() {
            Self::Loopback
        } else if address.is_unicast_link_local() {
            Self::LinkLocal
        } else if address.is_unique_local() || address.is_multicast() {
            Self::Private
        } else {
            Self::Public
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Public => "a public address",
            Self::Private => "a private address",
            Self::LinkLocal => "a link-local address",
            Self::Loopback => "a loopback address",
        }
    }
}

/// Returns the target of a redirect, if its scheme may be followed.
pub(crate) fn target(from: &Url, headers: &HeaderMap) -> Result<Url, RemoteError> {
    let refused = |reason| RemoteError::Redirect {
        url: without_query(from),
        reason,
    };
    let location = headers
        .get(LOCATION)
        .and_then(|value| value.to_str().ok())
        .ok_or_else(|| refused(RedirectReason::NoTarget))?;
    let mut to = from
        .join(location)
        .map_err(|_| refused(RedirectReason::NoTarget))?;
    match (from.scheme(), to.scheme()) {
        (_, "https") | ("http", "http") => {}
        (_, "http") => return Err(refused(RedirectReason::WithoutTls(host(&to)))),
        (_, other) => return Err(refused(RedirectReason::Scheme(other.to_owned()))),
    }
    // Credentials in the URL would be sent as `Authorization`.
    if !to.username().is_empty() || to.password().is_some() {
        return Err(refused(RedirectReason::NoTarget));
    }
    to.set_fragment(None);
    Ok(to)
}

/// Checks the addresses of the target of a redirect from a source. Targets on the source's host may
/// always be followed: `None`.
pub(crate) async fn check_target(
    source: &Url,
    to: &Url,
    allow_private: &[String],
) -> Result<Option<CheckedTarget>, RemoteError> {
    let name = host(to);
    if source.host() == to.host() || allow_private.contains(&name) {
        return Ok(None);
    }
    let refused = |reason| RemoteError::Redirect {
        url: without_query(source),
        reason,
    };
    let addresses = addresses_of(to).await;
    if addresses.is_empty() {
        return Err(refused(RedirectReason::NoAddress(name)));
    }
    let own = addresses_of(source).await;
    let own: Vec<_> = own
        .iter()
        .map(|address| AddressScope::of(address.ip()))
        .collect();
    for address in &addresses {
        let scope = AddressScope::of(address.ip());
        if scope != AddressScope::Public && !own.contains(&scope) {
            return Err(refused(RedirectReason::Private(name, scope.description())));
        }
    }
    // The connection goes to these addresses: another answer of the name server a moment later must
    // not lead elsewhere.
    Ok(Some(CheckedTarget {
        host: name,
        addresses,
    }))
}

/// Returns the host of a URL without its port.
pub(crate) fn host(url: &Url) -> String {
    url.host_str().unwrap_or_default().to_owned()
}

async fn addresses_of(url: &Url) -> Vec<SocketAddr> {
    let host = host(url);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let port = url.port_or_known_default().unwrap_or_default();
    match lookup_host((host, port)).await {
        Ok(addresses) => addresses.collect(),
        Err(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn an_address_is_public_or_of_a_narrower_scope() {
        use AddressScope::{LinkLocal, Loopback, Private, Public};
        for (address, scope) in [
            ("8.8.8.8", Public),
            ("2606:4700::1", Public),
            ("10.1.2.3", Private),
            ("172.31.0.1", Private),
            ("192.168.0.1", Private),
            ("100.64.0.1", Private),
            ("fd00::1", Private),
            ("169.254.169.254", LinkLocal),
            ("fe80::1", LinkLocal),
            ("::ffff:169.254.169.254", LinkLocal),
            ("64:ff9b::a9fe:a9fe", LinkLocal),
            ("127.0.0.1", Loopback),
            ("0.0.0.0", Loopback),
            ("::1", Loopback),
            ("::", Loopback),
        ] {
            assert_eq!(
                AddressScope::of(address.parse().unwrap()),
                scope,
                "{address}"
            );
        }
    }

    #[test]
    fn a_redirect_keeps_to_http_and_never_leaves_tls() {
        let to = |from: &str, location: &str| {
            let headers = [(LOCATION, HeaderValue::from_str(location).unwrap())];
            target(&Url::parse(from).unwrap(), &headers.into_iter().collect())
                .map(|url| url.to_string())
                .map_err(|error| error.to_string())
        };
        assert_eq!(
            to("https://h/a/b", "../c?d#e"),
            Ok("https://h/c?d".to_owned())
        );
        assert_eq!(to("http://h/a", "https://g/"), Ok("https://g/".to_owned()));
        let refused = |reason: &str| {
            Err(format!(
                "cannot follow the redirect from `https://h/`: {reason}"
            ))
        };
        assert_eq!(to("https://h/", "http://h/"), refused("`h` has no TLS"));
        assert_eq!(
            to("https://h/", "file:///etc/passwd"),
            refused("its target is no HTTP URL (`file:`)")
        );
        assert_eq!(
            to("https://h/", "https://u:p@g/"),
            refused("it has no valid target")
        );
    }

    async fn check(from: &str, to: &str, allowed: &[&str]) -> Result<(), String> {
        let url = |text| Url::parse(text).unwrap();
        let allowed: Vec<_> = allowed.iter().map(|host| (*host).to_owned()).collect();
        let checked = check_target(&url(from), &url(to), &allowed).await;
        checked.map(|_| ()).map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn a_redirect_reaches_only_addresses_of_its_own_scope() {
        let metadata = "http://169.254.169.254/latest";
        let refused = "cannot follow the redirect from `http://127.0.0.1/`: `169.254.169.254` is at a link-local address, \
                       which the source is not: write --allow-private 169.254.169.254 to allow it";
        assert_eq!(
            check("http://127.0.0.1/", metadata, &[]).await,
            Err(refused.to_owned())
        );
        assert_eq!(
            check("http://127.0.0.1/", metadata, &["169.254.169.254"]).await,
            Ok(())
        );
        assert_eq!(
            check("http://127.0.0.1/", "http://127.0.0.2/", &[]).await,
            Ok(())
        );
        assert_eq!(
            check("http://10.0.0.1/", "http://8.8.8.8/", &[]).await,
            Ok(())
        );
        assert!(
            check("http://8.8.8.8/", "http://[::1]/", &[])
                .await
                .is_err()
        );
        assert!(
            check("http://8.8.8.8/", "http://10.0.0.1/", &[])
                .await
                .is_err()
        );
    }
}
