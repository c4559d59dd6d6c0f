//! A client that asks the same again and again, and notes what goes wrong.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use testing::eventually;

use super::replica::try_graphql;

/// A thread that sends queries, one after the other, each on a connection of its own.
pub(crate) struct Load {
    state: Arc<State>,
    thread: JoinHandle<Vec<String>>,
}

#[derive(Default)]
struct State {
    is_over: AtomicBool,
    answered: AtomicUsize,
}

impl Load {
    /// Sends this query to this address until [`Self::finish`]. `is_right` judges the answers.
    pub(crate) fn start(
        address: SocketAddr,
        query: &'static str,
        is_right: impl Fn(&str) -> bool + Send + 'static,
    ) -> Self {
        let state = Arc::new(State::default());
        let shared = state.clone();
        let thread = thread::spawn(move || {
            let mut failures = Vec::new();
            while !shared.is_over.load(Ordering::SeqCst) {
                match try_graphql(address, query) {
                    (200, answer) if is_right(&answer) => {
                        shared.answered.fetch_add(1, Ordering::SeqCst);
                    }
                    (status, answer) => failures.push(format!("{status} {answer}")),
                }
            }
            failures
        });
        Self { state, thread }
    }

    /// Waits until this many more queries were answered.
    pub(crate) fn answers(&self, more: usize) {
        let answered = || self.state.answered.load(Ordering::SeqCst);
        let before = answered();
        eventually(|| (answered() >= before + more || self.thread.is_finished()).then_some(()));
    }

    /// Stops, and panics if a query failed. Returns how many were answered.
    pub(crate) fn finish(self) -> usize {
        self.state.is_over.store(true, Ordering::SeqCst);
        let failures = self.thread.join().expect("the client does not panic");
        let answered = self.state.answered.load(Ordering::SeqCst);
        assert!(
            failures.is_empty(),
            "{} failed, {answered} did not: {:?}",
            failures.len(),
            failures.first()
        );
        answered
    }
}
