//! Admission of work: fair shares instead of a rate limit. Bounds what requests do and hold at a
//! time, of which one requester gets at most half, so that a slow or greedy one keeps no other out.
//!
//! [`FairSemaphore`] queues requests for a permit and runs work with it on threads that serve no
//! connections; [`Permits`] never waits and bounds what is held, such as bytes. [`Peer`] is the
//! client that both count for where no user is known. [`ConnectionDrain`] ends a connection early.

mod connection_drain;
mod fair_semaphore;
mod peer;
mod permits;

pub use connection_drain::ConnectionDrain;
pub use fair_semaphore::{FairPermit, FairSemaphore};
pub use peer::Peer;
pub use permits::{PeerPermit, Permits};
