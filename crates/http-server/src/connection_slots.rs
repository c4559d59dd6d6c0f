//! Connection slots: a total, a cap for each peer, and some that are reserved for probes.
//!
//! No connection waits for a slot: at a limit the connection that has been idle longest is evicted.
//! If all are busy, a new connection gets a reserved slot. This module does not know the protocol
//! of a connection or its requests.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use admission::Peer;
use tokio::sync::Notify;

use crate::limits::ConnectionLimits;

/// Slots for the connections of a listener. Clones share them.
#[derive(Clone)]
pub(crate) struct ConnectionSlots(Arc<SlotTable>);

/// Counts the connections of a listener while it serves. Clones count those of the same one.
#[derive(Clone, Default)]
pub struct ConnectionCounter(Arc<OnceLock<ConnectionSlots>>);

/// Numbers of open connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionCounts {
    /// Connections with a request, or a WebSocket.
    pub busy: usize,
    /// Connections without a request.
    pub idle: usize,
}

struct SlotTable {
    limits: ConnectionLimits,
    /// Logical clock that orders the moments at which connections became idle. Unlike a real one,
    /// it never gives two of them the same value.
    clock: AtomicU64,
    open: Mutex<OpenSlots>,
}

/// The slots that are in use.
#[derive(Default)]
struct OpenSlots {
    next_id: u64,
    by_id: HashMap<u64, Arc<TrackedConnection>>,
    /// Number of connections with an ordinary slot.
    ordinary: usize,
    /// Connections with an ordinary slot, by peer.
    by_peer: HashMap<Peer, PeerConnections>,
    /// Number of requests over HTTP/2.
    streams: usize,
    idle_ordinary: IdleQueue,
    idle_reserved: IdleQueue,
    idle: IdleQueue,
}

/// Connections of one peer with an ordinary slot.
#[derive(Default)]
struct PeerConnections {
    count: usize,
    /// Number of requests over HTTP/2.
    streams: usize,
    idle: IdleQueue,
}

/// Eviction queue: moments since which connections are idle, each with the id of its connection,
/// longest first. A connection that becomes idle later has been idle for a shorter time, so that
/// the queue is valid until it is empty, except for connections that were used meanwhile.
type IdleQueue = VecDeque<(u64, u64)>;

/// Connections among which one is evicted.
#[derive(Clone, Copy)]
enum EvictionScope {
    Peer(Peer),
    Ordinary,
    Reserved,
    All,
}

/// An open connection, as eviction sees it.
struct TrackedConnection {
    address: IpAddr,
    peer: Peer,
    kind: SlotKind,
    /// Number of [`BusyGuard`]s; the connection is idle at 0.
    busy: AtomicUsize,
    /// Moment of the logical clock at which the last request ended.
    idle_since: AtomicU64,
    /// Notified when the connection has lost its slot.
    evicted: Notify,
}

/// Requests that a slot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// Every request is answered.
    Ordinary,
    /// Only probes are answered.
    Reserved,
}

/// The slot of one connection. Dropping it frees the slot.
pub(crate) struct ConnectionSlot {
    table: Arc<SlotTable>,
    id: u64,
    connection: Arc<TrackedConnection>,
}

/// The slot of a request over HTTP/2; there are as many as connections may be. Dropping it frees
/// the slot.
pub(crate) struct StreamSlot(BusyGuard);

/// Marks a connection as busy until this and its clones are dropped.
pub(crate) struct BusyGuard(Arc<ConnectionSlot>);

impl ConnectionSlots {
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        Self(Arc::new(SlotTable {
            limits,
            clock: AtomicU64::new(0),
            open: Mutex::default(),
        }))
    }

    /// Acquires a slot for a connection of a peer; `None` if all connections of the reserved slots
    /// are busy too.
    pub(crate) fn acquire(&self, address: IpAddr) -> Option<Arc<ConnectionSlot>> {
        let peer = Peer::new(address);
        let limits = &self.0.limits;
        let mut open = self.0.open();

        // A peer at its cap evicts one of its own connections: it must not cost others theirs.
        let is_below_peer_cap = open
            .by_peer
            .get(&peer)
            .is_none_or(|own| own.count < limits.peer_connections)
            || open.evict(EvictionScope::Peer(peer));
        let has_ordinary = is_below_peer_cap
            && (open.ordinary < limits.connections || open.evict(EvictionScope::Ordinary));
        let kind = if has_ordinary {
            SlotKind::Ordinary
        } else {
            SlotKind::Reserved
        };
        let is_free = has_ordinary
            || open.by_id.len() - open.ordinary < limits.probe_connections
            || open.evict(EvictionScope::Reserved);
        if !is_free {
            return None;
        }

        let connection = Arc::new(TrackedConnection {
            address,
            peer,
            kind,
            busy: AtomicUsize::new(0),
            idle_since: AtomicU64::new(self.0.tick()),
            evicted: Notify::new(),
        });
        let id = open.insert(Arc::clone(&connection));
        Some(Arc::new(ConnectionSlot {
            table: Arc::clone(&self.0),
            id,
            connection,
        }))
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

    /// Evicts the connection that has been idle longest. Returns whether there was one.
    pub(crate) fn evict_idle(&self) -> bool {
        self.0.open().evict(EvictionScope::All)
    }
}

impl ConnectionCounter {
    /// Counts the connections of this listener from now on.
    pub(crate) fn set(&self, slots: &ConnectionSlots) {
        // A listener serves once.
        let _ = self.0.set(slots.clone());
    }

    /// Counts the open connections; none before the listener serves. It looks at each.
    pub fn counts(&self) -> ConnectionCounts {
        self.0
            .get()
            .map(ConnectionSlots::counts)
            .unwrap_or_default()
    }
}

impl std::fmt::Debug for ConnectionCounter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.counts().fmt(f)
    }
}

impl SlotTable {
    fn open(&self) -> MutexGuard<'_, OpenSlots> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }
}

impl OpenSlots {
    fn insert(&mut self, connection: Arc<TrackedConnection>) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        if connection.kind == SlotKind::Ordinary {
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
        if connection.kind == SlotKind::Ordinary {
            self.ordinary -= 1;
            self.release(connection.peer, |own| own.count -= 1);
        }
    }

    /// Changes the counts of a peer, and removes a peer without connections and requests: the map
    /// would otherwise grow with each address that ever connected.
    fn release(&mut self, peer: Peer, change: impl FnOnce(&mut PeerConnections)) {
        if let Some(own) = self.by_peer.get_mut(&peer) {
            change(own);
            if own.count == 0 && own.streams == 0 {
                self.by_peer.remove(&peer);
            }
        }
    }

    /// Evicts the connection that has been idle longest. Returns whether one was idle.
    fn evict(&mut self, scope: EvictionScope) -> bool {
        let mut queue = mem::take(self.queue(scope));
        let id = self.next_idle(&mut queue).or_else(|| {
            queue = self.find_idle(scope);
            self.next_idle(&mut queue)
        });
        *self.queue(scope) = queue;
        let Some(id) = id else { return false };
        if let Some(connection) = self.by_id.get(&id) {
            // The slot is freed before the socket is closed, so that the new connection has not to
            // wait for the old one's task.
            connection.evicted.notify_one();
        }
        self.remove(id);
        true
    }

    fn queue(&mut self, scope: EvictionScope) -> &mut IdleQueue {
        match scope {
            EvictionScope::Peer(peer) => &mut self.by_peer.entry(peer).or_default().idle,
            EvictionScope::Ordinary => &mut self.idle_ordinary,
            EvictionScope::Reserved => &mut self.idle_reserved,
            EvictionScope::All => &mut self.idle,
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

    /// Finds the idle connections. It scans all connections, which takes a while for thousands of
    /// them; the queue that it fills serves as many evictions.
    fn find_idle(&self, scope: EvictionScope) -> IdleQueue {
        let is_member = |connection: &TrackedConnection| match scope {
            EvictionScope::Peer(peer) => {
                connection.kind == SlotKind::Ordinary && connection.peer == peer
            }
            EvictionScope::Ordinary => connection.kind == SlotKind::Ordinary,
            EvictionScope::Reserved => connection.kind == SlotKind::Reserved,
            EvictionScope::All => true,
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

impl TrackedConnection {
    /// Returns the moment since which it is idle; `None` if it is busy.
    fn idle_since(&self) -> Option<u64> {
        (self.busy.load(Ordering::Acquire) == 0).then(|| self.idle_since.load(Ordering::Relaxed))
    }
}

impl ConnectionSlot {
    pub(crate) fn kind(&self) -> SlotKind {
        self.connection.kind
    }

    pub(crate) fn address(&self) -> IpAddr {
        self.connection.address
    }

    pub(crate) fn peer(&self) -> Peer {
        self.connection.peer
    }

    /// Completes when the connection has lost its slot and must be closed.
    pub(crate) async fn evicted(&self) {
        self.connection.evicted.notified().await;
    }

    /// Marks the connection as busy.
    pub(crate) fn mark_busy(self: &Arc<Self>) -> BusyGuard {
        self.connection.busy.fetch_add(1, Ordering::AcqRel);
        BusyGuard(Arc::clone(self))
    }

    /// Acquires a slot for a request over HTTP/2 and marks the connection as busy; `None` if there
    /// are as many requests as connections may be, of this peer or of all. Probes may use as many
    /// further slots as connections are reserved for them.
    pub(crate) fn acquire_stream(self: &Arc<Self>, is_probe: bool) -> Option<StreamSlot> {
        let ConnectionLimits {
            connections,
            peer_connections,
            probe_connections,
            ..
        } = self.table.limits;
        let reserved = if is_probe { probe_connections } else { 0 };
        let mut open = self.table.open();
        let total = open.streams;
        let own = open.by_peer.entry(self.connection.peer).or_default();
        if total >= connections + reserved || own.streams >= peer_connections + reserved {
            return None;
        }
        own.streams += 1;
        open.streams += 1;
        drop(open);
        Some(StreamSlot(self.mark_busy()))
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let ConnectionSlot {
            table, connection, ..
        } = &*self.0.0;
        let mut open = table.open();
        open.streams -= 1;
        open.release(connection.peer, |own| own.streams -= 1);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.table.open().remove(self.id);
    }
}

impl Clone for BusyGuard {
    fn clone(&self) -> Self {
        self.0.mark_busy()
    }
}

impl Drop for BusyGuard {
    fn drop(&mut self) {
        // Before the count falls: eviction must not see an idle connection with an older moment,
        // or it would evict one that was just used.
        self.0
            .connection
            .idle_since
            .store(self.0.table.tick(), Ordering::Relaxed);
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
    ) -> ConnectionSlots {
        let limits = ConnectionLimits {
            connections,
            peer_connections,
            probe_connections,
            ..Default::default()
        };
        ConnectionSlots::new(limits)
    }

    fn acquire(connections: &ConnectionSlots, peer: &str) -> Option<Arc<ConnectionSlot>> {
        connections.acquire(peer.parse().unwrap())
    }

    fn is_evicted(slot: &ConnectionSlot) -> bool {
        !slot.table.open().by_id.contains_key(&slot.id)
    }

    #[test]
    fn at_the_limit_the_connection_that_is_idle_longest_is_evicted() {
        let connections = connections(3, 3, 1);
        let slots: Vec<_> = (1..4)
            .map(|peer| acquire(&connections, &format!("10.0.0.{peer}")).unwrap())
            .collect();
        // The first is busy, the second was until now.
        let _busy = slots[0].mark_busy();
        drop(slots[1].mark_busy());
        let fourth = acquire(&connections, "10.0.0.4").unwrap();
        assert_eq!(fourth.kind(), SlotKind::Ordinary);
        assert_eq!(
            [0, 1, 2].map(|at: usize| is_evicted(&slots[at])),
            [false, false, true]
        );
        // The second would be next, but is used once more.
        drop(slots[1].mark_busy());
        let _fifth = acquire(&connections, "10.0.0.5").unwrap();
        assert_eq!(
            [&slots[0], &slots[1], &fourth].map(|slot| is_evicted(slot)),
            [false, false, true]
        );
    }

    #[test]
    fn a_peer_at_its_cap_evicts_its_own_connections_only() {
        let connections = connections(4, 2, 1);
        let other = acquire(&connections, "10.0.0.1").unwrap();
        let own: Vec<_> = (0..3)
            .map(|_| acquire(&connections, "10.0.0.2").unwrap())
            .collect();
        assert_eq!(
            [&other, &own[0], &own[1], &own[2]].map(|slot| is_evicted(slot)),
            [false, true, false, false]
        );
        let _busy = [own[1].mark_busy(), own[2].mark_busy()];
        assert_eq!(
            acquire(&connections, "10.0.0.2").unwrap().kind(),
            SlotKind::Reserved
        );
        assert_eq!(
            acquire(&connections, "10.0.0.1").unwrap().kind(),
            SlotKind::Ordinary
        );
    }

    #[test]
    fn if_all_connections_are_busy_a_few_are_answered_probes() {
        let connections = connections(1, 1, 2);
        let only = acquire(&connections, "::1").unwrap();
        let _busy = only.mark_busy();
        let reserved: Vec<_> = (0..3)
            .map(|_| acquire(&connections, "::2").unwrap())
            .collect();
        assert_eq!(
            reserved
                .iter()
                .map(|slot| is_evicted(slot))
                .collect::<Vec<_>>(),
            [true, false, false]
        );
        let _all_busy: Vec<_> = reserved[1..]
            .iter()
            .map(ConnectionSlot::mark_busy)
            .collect();
        assert!(acquire(&connections, "::3").is_none());
    }

    #[test]
    fn a_dropped_slot_is_free_and_an_evicted_one_is_freed_once() {
        let connections = connections(1, 1, 1);
        let first = acquire(&connections, "10.0.0.1").unwrap();
        let second = acquire(&connections, "10.0.0.1").unwrap();
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
