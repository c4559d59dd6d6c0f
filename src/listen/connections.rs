//! Places for connections: a total, a cap for each peer, and some that are reserved for probes.
//!
//! Nobody waits for a place: at a limit the connection that has been idle longest is closed. If all are busy, a new
//! connection gets one of the reserved places. This module does not know what is requested on a connection.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::ConnectionLimits;

/// Places for the connections of a listener. Clones share them.
#[derive(Clone)]
pub(super) struct Connections(Arc<Shared>);

struct Shared {
    limits: ConnectionLimits,
    /// Counts the moments at which connections became idle.
    clock: AtomicU64,
    open: Mutex<Open>,
}

/// The open connections.
#[derive(Default)]
struct Open {
    next_id: u64,
    by_id: HashMap<u64, Arc<Connection>>,
    /// Number of connections with an ordinary place.
    ordinary: usize,
    /// Number of connections with an ordinary place, by peer.
    by_peer: HashMap<Peer, usize>,
}

struct Connection {
    peer: Peer,
    kind: PlaceKind,
    /// Moment from which on there was no request; [`BUSY`] while there is one.
    idle_since: AtomicU64,
    /// Notified when the connection lost its place.
    evicted: Notify,
}

/// Whom connections are counted for: an IPv4 address, or the first 64 bits of an IPv6 address, because a network of that
/// size is given to one customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Peer(IpAddr);

/// What a place is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PlaceKind {
    /// Every request is answered.
    Ordinary,
    /// Only probes are answered.
    Reserved,
}

/// The place of one connection. Dropping it frees the place.
pub(super) struct Place {
    shared: Arc<Shared>,
    id: u64,
    connection: Arc<Connection>,
}

/// A request on a connection: the connection is busy until this is dropped.
pub(super) struct Busy(Arc<Place>);

/// Value of `idle_since` while there is a request.
const BUSY: u64 = u64::MAX;

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self(Arc::new(Shared { limits, clock: AtomicU64::new(0), open: Mutex::default() }))
    }

    /// Takes a place for a connection of a peer; `None` if all connections of the reserved places are busy too.
    pub(super) fn take(&self, peer: IpAddr) -> Option<Arc<Place>> {
        let (peer, limits) = (Peer::new(peer), &self.0.limits);
        let mut open = self.0.open();
        let has_peer_room = open.by_peer.get(&peer).is_none_or(|count| *count < limits.peer_connections)
            || open.evict(|connection| connection.kind == PlaceKind::Ordinary && connection.peer == peer);
        let has_room = has_peer_room
            && (open.ordinary < limits.connections || open.evict(|connection| connection.kind == PlaceKind::Ordinary));
        let kind = if has_room { PlaceKind::Ordinary } else { PlaceKind::Reserved };
        let is_free = has_room
            || open.by_id.len() - open.ordinary < limits.probe_connections
            || open.evict(|connection| connection.kind == PlaceKind::Reserved);
        is_free.then(|| {
            let idle_since = AtomicU64::new(self.0.tick());
            let connection = Arc::new(Connection { peer, kind, idle_since, evicted: Notify::new() });
            let id = open.insert(Arc::clone(&connection));
            Arc::new(Place { shared: Arc::clone(&self.0), id, connection })
        })
    }

    /// Closes the connection that has been idle longest. Returns whether there was one.
    pub(super) fn evict(&self) -> bool {
        self.0.open().evict(|_| true)
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }
}

impl Open {
    fn insert(&mut self, connection: Arc<Connection>) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if connection.kind == PlaceKind::Ordinary {
            self.ordinary += 1;
            *self.by_peer.entry(connection.peer).or_default() += 1;
        }
        self.by_id.insert(id, connection);
        id
    }

    fn remove(&mut self, id: u64) {
        let Some(connection) = self.by_id.remove(&id) else { return };
        if connection.kind == PlaceKind::Ordinary {
            self.ordinary -= 1;
            if let Some(count) = self.by_peer.get_mut(&connection.peer) {
                *count -= 1;
                if *count == 0 {
                    self.by_peer.remove(&connection.peer);
                }
            }
        }
    }

    /// Closes the connection that has been idle longest among some. Returns whether there was one.
    fn evict(&mut self, is_candidate: impl Fn(&Connection) -> bool) -> bool {
        let candidates = self.by_id.iter().filter(|(_, connection)| is_candidate(connection));
        let idle = candidates.map(|(id, connection)| (connection.idle_since.load(Ordering::Relaxed), *id));
        let Some((_, id)) = idle.filter(|(since, _)| *since != BUSY).min() else { return false };
        if let Some(connection) = self.by_id.get(&id) {
            connection.evicted.notify_one();
        }
        self.remove(id);
        true
    }
}

impl Peer {
    fn new(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            address @ IpAddr::V4(_) => address,
        })
    }
}

impl Place {
    pub(super) fn kind(&self) -> PlaceKind {
        self.connection.kind
    }

    /// Completes when the connection is to be closed for another one.
    pub(super) async fn evicted(&self) {
        self.connection.evicted.notified().await;
    }

    /// Marks the connection as busy.
    pub(super) fn begin(self: &Arc<Self>) -> Arc<Busy> {
        self.connection.idle_since.store(BUSY, Ordering::Relaxed);
        Arc::new(Busy(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.open().remove(self.id);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.connection.idle_since.store(self.0.shared.tick(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(connections: usize, peer_connections: usize, probe_connections: usize) -> Connections {
        let limits = ConnectionLimits { connections, peer_connections, probe_connections, ..Default::default() };
        Connections::new(limits)
    }

    fn take(connections: &Connections, peer: &str) -> Option<Arc<Place>> {
        connections.take(peer.parse().unwrap())
    }

    fn is_evicted(place: &Place) -> bool {
        !place.shared.open().by_id.contains_key(&place.id)
    }

    #[test]
    fn at_the_limit_the_connection_that_is_idle_longest_is_closed() {
        let connections = connections(3, 3, 1);
        let places: Vec<_> = (1..4).map(|peer| take(&connections, &format!("10.0.0.{peer}")).unwrap()).collect();
        // The first is busy, the second was until now.
        let _busy = places[0].begin();
        drop(places[1].begin());
        let fourth = take(&connections, "10.0.0.4").unwrap();
        assert_eq!(fourth.kind(), PlaceKind::Ordinary);
        assert_eq!([0, 1, 2].map(|at: usize| is_evicted(&places[at])), [false, false, true]);
    }

    #[test]
    fn a_peer_at_its_cap_closes_its_own_connections_only() {
        let connections = connections(4, 2, 1);
        let other = take(&connections, "10.0.0.1").unwrap();
        let own: Vec<_> = (0..3).map(|_| take(&connections, "10.0.0.2").unwrap()).collect();
        assert_eq!([&other, &own[0], &own[1], &own[2]].map(|place| is_evicted(place)), [false, true, false, false]);
        let _busy = [own[1].begin(), own[2].begin()];
        assert_eq!(take(&connections, "10.0.0.2").unwrap().kind(), PlaceKind::Reserved);
        assert_eq!(take(&connections, "10.0.0.1").unwrap().kind(), PlaceKind::Ordinary);
    }

    #[test]
    fn if_all_connections_are_busy_a_few_are_answered_probes() {
        let connections = connections(1, 1, 2);
        let only = take(&connections, "::1").unwrap();
        let _busy = only.begin();
        let reserved: Vec<_> = (0..3).map(|_| take(&connections, "::2").unwrap()).collect();
        assert_eq!(reserved.iter().map(|place| is_evicted(place)).collect::<Vec<_>>(), [true, false, false]);
        let _all_busy: Vec<_> = reserved[1..].iter().map(Place::begin).collect();
        assert!(take(&connections, "::3").is_none());
    }

    #[test]
    fn a_dropped_place_is_free_and_an_evicted_one_is_freed_once() {
        let connections = connections(1, 1, 1);
        let first = take(&connections, "10.0.0.1").unwrap();
        let second = take(&connections, "10.0.0.1").unwrap();
        drop(first);
        assert!(!is_evicted(&second));
        drop(second);
        let open = connections.0.open();
        assert_eq!((open.ordinary, open.by_id.len(), open.by_peer.len()), (0, 0, 0));
    }

    #[test]
    fn addresses_of_one_network_are_one_peer() {
        let peer = |address: &str| Peer::new(address.parse().unwrap());
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::ffff:2"));
        assert_ne!(peer("2001:db8::1"), peer("2001:db8:0:1::1"));
        assert_eq!(peer("::ffff:10.0.0.1"), peer("10.0.0.1"));
        assert_ne!(peer("10.0.0.1"), peer("10.0.0.2"));
    }
}
