//! `grpc.health.v1.Health`: a catalog is `SERVING` as soon as it is served.

use serving::Snapshot;

use crate::message::ResponseMessage;
use crate::proto::{HealthCheckRequest, HealthCheckResponse, ServingStatus};
use crate::requested_catalog::RequestedCatalog;

/// Answers `Check`. If the service is the name of a catalog, the status is that catalog's;
/// otherwise it is that of the requested catalog, or of all.
pub(crate) fn check(
    request: &HealthCheckRequest,
    requested: &RequestedCatalog,
    snapshot: &Snapshot,
) -> ResponseMessage {
    let name = request.service.as_str();
    let is_serving = if snapshot.statuses().contains_key(name) {
        snapshot.get(name).is_some()
    } else {
        requested.find(snapshot).is_ok()
            || !requested.is_named() && snapshot.by_name().next().is_some()
    };
    let status = if is_serving {
        ServingStatus::Serving
    } else {
        ServingStatus::NotServing
    };
    ResponseMessage::new(&HealthCheckResponse {
        status: status.into(),
    })
}
