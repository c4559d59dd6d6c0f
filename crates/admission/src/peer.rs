//! The client that connections and work are counted for, so that no client takes them from others.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Extensions;

/// A client, as far as its address tells clients apart: an IPv4 address, or the first 64 bits of an
/// IPv6 address, because a network of that size is given to one customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Peer(IpAddr);

impl Peer {
    /// Returns the peer with this address.
    pub fn new(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            address @ IpAddr::V4(_) => address,
        })
    }

    /// Returns the peer that the listener added to the extensions of a request, or else the
    /// default.
    pub fn from_extensions(extensions: &Extensions) -> Self {
        extensions.get().copied().unwrap_or_default()
    }
}

impl fmt::Display for Peer {
    /// Writes the address, or the first one of the network.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Default for Peer {
    /// Returns the peer of requests whose address is not known.
    fn default() -> Self {
        Self(IpAddr::V4(Ipv4Addr::UNSPECIFIED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(address: &str) -> Peer {
        Peer::new(address.parse().unwrap())
    }

    #[test]
    fn a_network_of_one_customer_is_one_peer() {
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff:1:2"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        assert_eq!(
            peer("::ffff:192.0.2.1"),
            peer("192.0.2.1"),
            "however an IPv4 address is written"
        );
        assert_ne!(peer("192.0.2.1"), peer("192.0.2.2"));
    }
}
