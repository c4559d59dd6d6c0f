//! Sessions of tests, whose transports answer at once.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::output::OutputFormat;
use crate::{CommandSession, HelpCommands};

/// Creates a session over a transport, with a format of the output.
pub(crate) fn session<T>(transport: T, output: OutputFormat) -> CommandSession<T> {
    CommandSession {
        transport,
        output,
        has_headers: true,
        catalogs: Vec::new(),
        limit: usize::MAX,
        sort_by: None,
        help: HelpCommands {
            list_catalogs: "",
            list_bundles: "",
        },
    }
}

/// Runs a future that never waits.
pub(crate) fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the transport answers at once"),
    }
}
