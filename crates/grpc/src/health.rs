//! `grpc.health.v1.Health`: a catalog is `SERVING` as soon as it is served.

use serving::Snapshot;

use crate::choice::Choice;
use crate::message::Message;
use crate::wire::{Request, write_number};

const SERVING: u64 = 1;
const NOT_SERVING: u64 = 2;

/// Answers `Check`. The name of a catalog asks for that; any other name for the catalog that the
/// call is about, or for all.
pub(crate) fn check(request: &Request, choice: &Choice, snapshot: &Snapshot) -> Message {
    let name = request.text(1);
    let is_serving = if snapshot.statuses().contains_key(name) {
        snapshot.get(name).is_some()
    } else {
        choice.find(snapshot).is_ok() || choice.is_open() && snapshot.by_name().next().is_some()
    };
    let mut message = Vec::new();
    write_number(
        1,
        if is_serving { SERVING } else { NOT_SERVING },
        &mut message,
    );
    Message::Encoded(message)
}
