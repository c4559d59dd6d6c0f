//! Parsers for the values of flags: sizes, addresses, hosts and origins.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;

use axum::http::HeaderValue;

/// Host of a listen address that is only a port.
const LOOPBACK: &str = "127.0.0.1";

/// Suffixes of sizes with their factors, as in Kubernetes quantities. A size is displayed with the
/// largest factor that divides it.
const UNITS: [(&str, u64); 8] = [
    ("Ti", 1 << 40),
    ("Gi", 1 << 30),
    ("Mi", 1 << 20),
    ("Ki", 1 << 10),
    ("T", 1_000_000_000_000),
    ("G", 1_000_000_000),
    ("M", 1_000_000),
    ("k", 1_000),
];

/// A number of bytes, written as a Kubernetes quantity: `4096`, `64Ki` or `10G`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteSize(pub u64);

/// A catalog that clients may edit, `NAME=DIR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditableArg {
    /// Name of the catalog.
    pub name: String,
    /// Path of the directory.
    pub directory: PathBuf,
}

/// Parses `NAME=DIR`.
pub fn parse_editable(text: &str) -> Result<EditableArg, String> {
    let parts = text
        .split_once('=')
        .filter(|(name, directory)| !name.is_empty() && !directory.is_empty());
    let (name, directory) =
        parts.ok_or("write the name of a catalog and its directory, such as mine=catalog")?;
    Ok(EditableArg {
        name: name.to_owned(),
        directory: directory.into(),
    })
}

impl ByteSize {
    /// Creates a size from a number of bytes.
    pub(super) fn from_bytes(bytes: usize) -> Self {
        Self(bytes as u64)
    }

    /// Returns the size as a length in memory; saturates at `usize::MAX`.
    pub fn in_memory(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = UNITS
            .into_iter()
            .filter(|(_, factor)| self.0 > 0 && self.0.is_multiple_of(*factor));
        match units.max_by_key(|(_, factor)| *factor) {
            Some((suffix, factor)) => write!(out, "{}{suffix}", self.0 / factor),
            None => write!(out, "{}", self.0),
        }
    }
}

impl FromStr for ByteSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        // Kubernetes accepts only `k`, but users write `K` as often.
        let factor = match &text[digits.len()..] {
            "" => Some(1),
            "K" => Some(1_000),
            suffix => UNITS
                .into_iter()
                .find(|(unit, _)| *unit == suffix)
                .map(|(_, factor)| factor),
        };
        let number = digits
            .parse::<u64>()
            .ok()
            .filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let bytes = number
            .zip(factor)
            .and_then(|(number, factor)| number.checked_mul(factor));
        bytes
            .map(Self)
            .ok_or_else(|| "write a number of bytes, such as 4096, 64Ki, 10M or 10Gi".to_owned())
    }
}

/// Returns `HOST:PORT` for a listen address. `PORT` means the loopback address; `:PORT` means every
/// address, as in Go.
pub(super) fn parse_listen(text: &str) -> Result<String, String> {
    let is_port =
        |port: &str| port.parse::<u16>().is_ok() && port.bytes().all(|byte| byte.is_ascii_digit());
    match text.rsplit_once(':') {
        None if is_port(text) => Ok(format!("{LOOPBACK}:{text}")),
        Some(("", port)) if is_port(port) => Ok(format!("[::]:{port}")),
        // Brackets separate an IPv6 address from its port.
        Some((host, port)) if is_port(port) && (!host.contains(':') || host.starts_with('[')) => {
            Ok(text.to_owned())
        }
        _ => Err(
            "write HOST:PORT, :PORT for every address, or PORT for the loopback address".to_owned(),
        ),
    }
}

/// Parses a fraction from 0 to 1.
pub(super) fn parse_ratio(text: &str) -> Result<f64, String> {
    let ratio = text
        .parse()
        .ok()
        .filter(|ratio| (0.0..=1.0).contains(ratio));
    ratio.ok_or_else(|| "write a number from 0 to 1, such as 0.1".to_owned())
}

/// Checks that the text is a host without scheme and port.
pub(super) fn parse_host(text: &str) -> Result<String, String> {
    let is_address = text.parse::<IpAddr>().is_ok();
    let is_bracketed = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .is_some();
    let is_name = !text.is_empty() && !text.contains(['/', ':', ' ', '[', ']']);
    let is_host = is_address || is_bracketed || is_name;
    if is_host {
        Ok(text.to_owned())
    } else {
        Err("write a host without scheme and port".to_owned())
    }
}

/// Parses an origin as browsers send it: a scheme and a host, without a path; or `*`.
pub(super) fn parse_origin(text: &str) -> Result<HeaderValue, String> {
    let host = text
        .split_once("://")
        .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
        .map(|(_, host)| host);
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', '?', '#', '@', ' ', ',']);
    let value = HeaderValue::from_str(text)
        .ok()
        .filter(|_| text == "*" || host.is_some_and(is_host));
    value.ok_or_else(|| {
        "write a scheme and a host without a path, such as https://console.example.com, or `*`"
            .to_owned()
    })
}

/// Checks an external address: an optional scheme and a host, without a path.
pub fn parse_external_address(text: &str) -> Result<String, String> {
    let (scheme, address) = text.split_once("://").unwrap_or(("https", text));
    let is_address = !address.is_empty() && !address.contains(['/', ' ', '?', '#']);
    if matches!(scheme, "http" | "https") && is_address {
        return Ok(text.to_owned());
    }
    Err(
        "write a host with its port, such as catalogql.olm.svc:8080 or https://catalogql.olm.svc"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_quantity_of_kubernetes() {
        for (text, bytes, shown) in [
            ("0", 0, "0"),
            ("1", 1, "1"),
            ("4097", 4097, "4097"),
            ("100000", 100_000, "100k"),
            ("64Ki", 65_536, "64Ki"),
            ("65536", 65_536, "64Ki"),
            ("10G", 10_000_000_000, "10G"),
            ("10Gi", 10 << 30, "10Gi"),
            ("2K", 2_000, "2k"),
            ("1T", 1_000_000_000_000, "1T"),
            ("1024Gi", 1 << 40, "1Ti"),
        ] {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!(
                (size.0, size.to_string().as_str()),
                (bytes, shown),
                "{text}"
            );
        }
        for text in [
            "",
            "G",
            "-1",
            "+1",
            "1.5G",
            "10 G",
            "10GB",
            "10g",
            "99999999999Ti",
            "18446744073709551616",
            "1é",
        ] {
            let expected =
                Err("write a number of bytes, such as 4096, 64Ki, 10M or 10Gi".to_owned());
            assert_eq!(text.parse::<ByteSize>(), expected, "{text}");
        }
    }

    #[test]
    fn a_port_is_one_of_the_loopback_address_and_a_colon_stands_for_every_address() {
        for (text, expected) in [
            ("8080", "127.0.0.1:8080"),
            (":8080", "[::]:8080"),
            ("0", "127.0.0.1:0"),
            ("localhost:80", "localhost:80"),
            ("0.0.0.0:8080", "0.0.0.0:8080"),
            ("[::1]:8080", "[::1]:8080"),
        ] {
            assert_eq!(parse_listen(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "",
            ":",
            "localhost",
            "65536",
            "a:b",
            "::1:8080",
            "a:+1",
            "http://a:80/",
        ] {
            assert!(parse_listen(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_external_address_is_a_url_without_a_path() {
        for text in [
            "catalogd-service.olmv1-system.svc",
            "10.0.0.1:8080",
            "https://catalogs.example.com",
        ] {
            assert_eq!(parse_external_address(text).as_deref(), Ok(text));
        }
        for text in ["", "https://", "ftp://a", "a/b", "https://a/", "a b"] {
            assert!(parse_external_address(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_allowed_host_has_neither_scheme_nor_port() {
        for host in [
            "catalogs.example.com",
            "localhost",
            "10.0.0.1",
            "::1",
            "[::1]",
            "*",
        ] {
            assert_eq!(parse_host(host), Ok(host.to_owned()));
        }
        for text in [
            "",
            "http://catalogs.example.com",
            "catalogs.example.com:80",
            "[::1]:80",
            "a b",
        ] {
            assert!(parse_host(text).is_err(), "{text}");
        }
    }
}
