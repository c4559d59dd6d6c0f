//! Places for connections: a total, a cap for each peer, and some that are reserved for probes.
//!
//! Nobody waits for a place: at a limit the connection that has been idle longest is closed. If all
//! are busy, a new connection gets one of the reserved places. This module does not know what is
//! requested on a connection.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use http_facts::peer::Peer;
use tokio::sync::Notify;

use super::ConnectionLimits;

/// Places for the connections of a listener. Clones share them.
#[derive(Clone)]
pub(super) struct Connections(Arc<Shared>);

/// Counts the connections of a listener while it serves. Clones count those of the same one.
#[derive(Clone, Default)]
pub struct OpenConnections(Arc<OnceLock<Connections>>);

/// Numbers of open connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Connections with a request, or a WebSocket.
    pub busy: usize,
    /// Connections without a request.
    pub idle: usize,
}

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
    /// Connections with an ordinary place, by peer.
    by_peer: HashMap<Peer, PeerConnections>,
    /// Number of requests over HTTP/2.
    streams: usize,
    idle_ordinary: IdleQueue,
    idle_reserved: IdleQueue,
    idle: IdleQueue,
}

/// Connections of one peer with an ordinary place.
#[derive(Default)]
struct PeerConnections {
    count: usize,
    /// Number of requests over HTTP/2.
    streams: usize,
    idle: IdleQueue,
}

/// Idle connections at some moment, each with the moment since when, longest first. What became
/// idle later has been idle for a shorter time, so that the queue is valid until it is empty,
/// except for connections that were used meanwhile.
type IdleQueue = VecDeque<(u64, u64)>;

/// Connections of which one is closed for another one.
#[derive(Clone, Copy)]
enum Group {
    Peer(Peer),
    Ordinary,
    Reserved,
    All,
}

struct Connection {
    address: IpAddr,
    peer: Peer,
    kind: PlaceKind,
    /// Number of [`Busy`]; the connection is idle at 0.
    busy: AtomicUsize,
    /// Moment from which on there was no request.
    idle_since: AtomicU64,
    /// Notified when the connection lost its place.
    evicted: Notify,
}

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

/// A request over HTTP/2, of which there are as many as connections may be. Dropping it makes room
/// for another one.
pub(super) struct StreamPlace(Busy);

/// A request on a connection: the connection is busy until this and its clones are dropped.
pub(super) struct Busy(Arc<Place>);

impl Connections {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self(Arc::new(Shared {
            limits,
            clock: AtomicU64::new(0),
            open: Mutex::default(),
        }))
    }

    /// Takes a place for a connection of a peer; `None` if all connections of the reserved places
    /// are busy too.
    pub(super) fn take(&self, address: IpAddr) -> Option<Arc<Place>> {
        let peer = Peer::new(address);
        let limits = &self.0.limits;
        let mut open = self.0.open();
        let has_peer_room = open
            .by_peer
            .get(&peer)
            .is_none_or(|own| own.count < limits.peer_connections)
            || open.evict(Group::Peer(peer));
        let has_room =
            has_peer_room && (open.ordinary < limits.connections || open.evict(Group::Ordinary));
        let kind = if has_room {
            PlaceKind::Ordinary
        } else {
            PlaceKind::Reserved
        };
        let is_free = has_room
            || open.by_id.len() - open.ordinary < limits.probe_connections
            || open.evict(Group::Reserved);
        is_free.then(|| {
            let idle_since = AtomicU64::new(self.0.tick());
            let busy = AtomicUsize::new(0);
            let evicted = Notify::new();
            let connection = Arc::new(Connection {
                address,
                peer,
                kind,
                busy,
                idle_since,
                evicted,
            });
            let id = open.insert(Arc::clone(&connection));
            Arc::new(Place {
                shared: Arc::clone(&self.0),
                id,
                connection,
            })
        })
    }

    /// Counts the open connections. It looks at each.
    fn counts(&self) -> ConnectionCounts {
        let open = self.0.open();
        let idle = open
            .by_id
            .values()
            .filter(|connection| connection.idle_since().is_some())
            .count();
        ConnectionCounts {
            busy: open.by_id.len() - idle,
            idle,
        }
    }

    /// Closes the connection that has been idle longest. Returns whether there was one.
    pub(super) fn evict(&self) -> bool {
        self.0.open().evict(Group::All)
    }
}

impl OpenConnections {
    /// Counts those of this listener from now on.
    pub(super) fn set(&self, connections: &Connections) {
        // A listener serves once.
        let _ = self.0.set(connections.clone());
    }

    /// Counts the open connections; none before the listener serves. It looks at each.
    pub fn counts(&self) -> ConnectionCounts {
        self.0.get().map(Connections::counts).unwrap_or_default()
    }
}

impl std::fmt::Debug for OpenConnections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.counts().fmt(f)
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
            self.by_peer.entry(connection.peer).or_default().count += 1;
        }
        self.by_id.insert(id, connection);
        id
    }

    fn remove(&mut self, id: u64) {
        let Some(connection) = self.by_id.remove(&id) else {
            return;
        };
        if connection.kind == PlaceKind::Ordinary {
            self.ordinary -= 1;
            self.release(connection.peer, |own| own.count -= 1);
        }
    }

    /// Changes what a peer has, and forgets the peer if it has nothing any more.
    fn release(&mut self, peer: Peer, change: impl FnOnce(&mut PeerConnections)) {
        if let Some(own) = self.by_peer.get_mut(&peer) {
            change(own);
            if own.count == 0 && own.streams == 0 {
                self.by_peer.remove(&peer);
            }
        }
    }

    /// Closes the connection of a group that has been idle longest. Returns whether there was one.
    fn evict(&mut self, group: Group) -> bool {
        let mut queue = mem::take(self.queue(group));
        let id = self.next_idle(&mut queue).or_else(|| {
            queue = self.find_idle(group);
            self.next_idle(&mut queue)
        });
        *self.queue(group) = queue;
        let Some(id) = id else { return false };
        if let Some(connection) = self.by_id.get(&id) {
            connection.evicted.notify_one();
        }
        self.remove(id);
        true
    }

    fn queue(&mut self, group: Group) -> &mut IdleQueue {
        match group {
            Group::Peer(peer) => &mut self.by_peer.entry(peer).or_default().idle,
            Group::Ordinary => &mut self.idle_ordinary,
            Group::Reserved => &mut self.idle_reserved,
            Group::All => &mut self.idle,
        }
    }

    /// Removes the first connection of a queue that was not used meanwhile.
    fn next_idle(&self, queue: &mut IdleQueue) -> Option<u64> {
        let is_idle = |since, id| {
            self.by_id
                .get(&id)
                .is_some_and(|connection| connection.idle_since() == Some(since))
        };
        std::iter::from_fn(|| queue.pop_front())
            .find(|(since, id)| is_idle(*since, *id))
            .map(|(_, id)| id)
    }

    /// Finds the idle connections of a group. It takes a while for thousands of them, and is done
    /// once for all of them.
    fn find_idle(&self, group: Group) -> IdleQueue {
        let is_member = |connection: &Connection| match group {
            Group::Peer(peer) => connection.kind == PlaceKind::Ordinary && connection.peer == peer,
            Group::Ordinary => connection.kind == PlaceKind::Ordinary,
            Group::Reserved => connection.kind == PlaceKind::Reserved,
            Group::All => true,
        };
        let members = self
            .by_id
            .iter()
            .filter(|(_, connection)| is_member(connection));
        let mut idle: Vec<_> = members
            .filter_map(|(id, connection)| Some((connection.idle_since()?, *id)))
            .collect();
        idle.sort_unstable();
        idle.into()
    }
}

impl Connection {
    /// Returns the moment since when it is idle; `None` if it is busy.
    fn idle_since(&self) -> Option<u64> {
        (self.busy.load(Ordering::Acquire) == 0).then(|| self.idle_since.load(Ordering::Relaxed))
    }
}

impl Place {
    pub(super) fn kind(&self) -> PlaceKind {
        self.connection.kind
    }

    pub(super) fn address(&self) -> IpAddr {
        self.connection.address
    }

    pub(super) fn peer(&self) -> Peer {
        self.connection.peer
    }

    /// Completes when the connection is to be closed for another one.
    pub(super) async fn evicted(&self) {
        self.connection.evicted.notified().await;
    }

    /// Marks the connection as busy.
    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.connection.busy.fetch_add(1, Ordering::AcqRel);
        Busy(Arc::clone(self))
    }

    /// Begins a request over HTTP/2 and marks the connection as busy; `None` if there are as many
    /// requests as connections may be, of this peer or of all. Probes have the room of those
    /// connections that are for them.
    pub(super) fn begin_stream(self: &Arc<Self>, is_probe: bool) -> Option<StreamPlace> {
        let ConnectionLimits {
            connections,
            peer_connections,
            probe_connections,
            ..
        } = self.shared.limits;
        let more = if is_probe { probe_connections } else { 0 };
        let mut open = self.shared.open();
        let total = open.streams;
        let own = open.by_peer.entry(self.connection.peer).or_default();
        if total >= connections + more || own.streams >= peer_connections + more {
            return None;
        }
        own.streams += 1;
        open.streams += 1;
        drop(open);
        Some(StreamPlace(self.begin()))
    }
}

impl Drop for StreamPlace {
    fn drop(&mut self) {
        let Place {
            shared, connection, ..
        } = &*self.0.0;
        let mut open = shared.open();
        open.streams -= 1;
        open.release(connection.peer, |own| own.streams -= 1);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.open().remove(self.id);
    }
}

impl Clone for Busy {
    fn clone(&self) -> Self {
        self.0.begin()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0
            .connection
            .idle_since
            .store(self.0.shared.tick(), Ordering::Relaxed);
        self.0.connection.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(
        connections: usize,
        peer_connections: usize,
        probe_connections: usize,
    ) -> Connections {
        let limits = ConnectionLimits {
            connections,
            peer_connections,
            probe_connections,
            ..Default::default()
        };
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
        let places: Vec<_> = (1..4)
            .map(|peer| take(&connections, &format!("10.0.0.{peer}")).unwrap())
            .collect();
        // The first is busy, the second was until now.
        let _busy = places[0].begin();
        drop(places[1].begin());
        let fourth = take(&connections, "10.0.0.4").unwrap();
        assert_eq!(fourth.kind(), PlaceKind::Ordinary);
        assert_eq!(
            [0, 1, 2].map(|at: usize| is_evicted(&places[at])),
            [false, false, true]
        );
        // The second would be next, but is used once more.
        drop(places[1].begin());
        let _fifth = take(&connections, "10.0.0.5").unwrap();
        assert_eq!(
            [&places[0], &places[1], &fourth].map(|place| is_evicted(place)),
            [false, false, true]
        );
    }

    #[test]
    fn a_peer_at_its_cap_closes_its_own_connections_only() {
        let connections = connections(4, 2, 1);
        let other = take(&connections, "10.0.0.1").unwrap();
        let own: Vec<_> = (0..3)
            .map(|_| take(&connections, "10.0.0.2").unwrap())
            .collect();
        assert_eq!(
            [&other, &own[0], &own[1], &own[2]].map(|place| is_evicted(place)),
            [false, true, false, false]
        );
        let _busy = [own[1].begin(), own[2].begin()];
        assert_eq!(
            take(&connections, "10.0.0.2").unwrap().kind(),
            PlaceKind::Reserved
        );
        assert_eq!(
            take(&connections, "10.0.0.1").unwrap().kind(),
            PlaceKind::Ordinary
        );
    }

    #[test]
    fn if_all_connections_are_busy_a_few_are_answered_probes() {
        let connections = connections(1, 1, 2);
        let only = take(&connections, "::1").unwrap();
        let _busy = only.begin();
        let reserved: Vec<_> = (0..3).map(|_| take(&connections, "::2").unwrap()).collect();
        assert_eq!(
            reserved
                .iter()
                .map(|place| is_evicted(place))
                .collect::<Vec<_>>(),
            [true, false, false]
        );
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
        assert_eq!(
            (open.ordinary, open.by_id.len(), open.by_peer.len()),
            (0, 0, 0)
        );
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
