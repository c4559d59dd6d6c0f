//! Hosts that requests may name, against DNS rebinding: a page of another site can make a browser
//! send requests to an address of its choice, by changing the address that its own name resolves
//! to. Such requests name the host of that site.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::HOST;
use axum::http::uri::Authority;

/// Names of loopback addresses.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Hosts that requests may name. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct AllowedHosts {
    /// Names without ports; `None` allows every host.
    names: Option<Arc<[String]>>,
}

impl AllowedHosts {
    /// Returns the hosts for a server that listens on `address`, which was written as `listen`:
    /// those of `allowed`, and on a loopback address also its names. `*` allows every host. So does
    /// an empty list on any other address, because the server does not know the names of that.
    pub fn new(allowed: &[String], listen: &str, address: SocketAddr) -> Self {
        let is_loopback = address.ip().to_canonical().is_loopback();
        if allowed.iter().any(|name| name == "*") || allowed.is_empty() && !is_loopback {
            return Self::default();
        }
        let mut names: Vec<_> = allowed.iter().map(|name| normalize(name)).collect();
        if is_loopback {
            names.extend(LOOPBACK.map(str::to_owned));
            names.extend([normalize(listen), normalize(&address.to_string())]);
        }
        Self {
            names: Some(names.into()),
        }
    }

    /// Returns the host of a request that it may not name, if there is one.
    pub(crate) fn disallowed_host<'r, B>(&self, request: &'r Request<B>) -> Option<&'r str> {
        let names = self.names.as_deref()?;
        let header = request
            .headers()
            .get(HOST)
            .and_then(|host| host.to_str().ok());
        let target = request.uri().authority().map(Authority::as_str);
        let is_allowed = |host: &str| {
            let host = without_port(host);
            names.iter().any(|name| name.eq_ignore_ascii_case(host))
        };
        // No browser sends an empty host.
        [target, header]
            .into_iter()
            .flatten()
            .find(|host| !host.is_empty() && !is_allowed(host))
    }
}

/// Returns a host without its port and the dot of the root.
fn without_port(host: &str) -> &str {
    let end = if host.starts_with('[') {
        host.find(']').map(|at| at + 1)
    } else {
        host.find(':')
    };
    let host = &host[..end.unwrap_or(host.len())];
    host.strip_suffix('.').unwrap_or(host)
}

/// Returns a host without its port, and an IPv6 address in brackets.
fn normalize(host: &str) -> String {
    match host.parse() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => without_port(host).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(hosts: &AllowedHosts, host: &str) -> bool {
        hosts
            .disallowed_host(
                &Request::builder()
                    .header(HOST, host)
                    .body(axum::body::Body::empty())
                    .unwrap(),
            )
            .is_none()
    }

    fn hosts(named: &[&str], listen: &str, address: &str) -> AllowedHosts {
        let named: Vec<_> = named.iter().map(|name| (*name).to_owned()).collect();
        AllowedHosts::new(&named, listen, address.parse().unwrap())
    }

    #[test]
    fn on_loopback_only_its_names_and_those_that_are_given_are_allowed() {
        let hosts = hosts(
            &["catalogs.Example.com"],
            "me.localdomain:8080",
            "127.0.0.2:8080",
        );
        for allowed in [
            "localhost",
            "LocalHost.:8080",
            "127.0.0.1:1",
            "[::1]:8080",
            "127.0.0.2",
            "me.localdomain",
            "Catalogs.example.com:443",
            "",
        ] {
            assert!(allows(&hosts, allowed), "{allowed}");
        }
        for refused in [
            "evil.example.com",
            "localhost.evil.example.com",
            "127.0.0.1.nip.io",
            "[::2]",
            ":80",
        ] {
            assert!(!allows(&hosts, refused), "{refused}");
        }
    }

    #[test]
    fn elsewhere_every_host_is_allowed_unless_some_are_given() {
        assert!(allows(
            &hosts(&[], "0.0.0.0:8080", "0.0.0.0:8080"),
            "any.example.com"
        ));
        let given = hosts(&["fd00::1", "a.example.com"], "[::]:8080", "[::]:8080");
        assert!(allows(&given, "[fd00::1]:8080") && allows(&given, "a.example.com"));
        assert!(!allows(&given, "localhost") && !allows(&given, "any.example.com"));
        assert!(allows(
            &hosts(&["*"], "127.0.0.1:8080", "127.0.0.1:8080"),
            "any.example.com"
        ));
    }

    #[test]
    fn the_host_of_an_absolute_target_counts_too() {
        let request = Request::builder()
            .uri("http://evil.example.com/graphql")
            .header(HOST, "localhost");
        let request = request.body(axum::body::Body::empty()).unwrap();
        let hosts = hosts(&[], "127.0.0.1:0", "127.0.0.1:80");
        assert_eq!(hosts.disallowed_host(&request), Some("evil.example.com"));
    }
}
