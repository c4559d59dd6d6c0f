//! Metrics of the controller, with the names and labels that controllers of Kubernetes have, so
//! that their dashboards and alerts hold.

use std::fmt;

use ::metrics::Label as _;
use controller::{ControllerMetrics, LEASE, ReconcileResult};
use http_server::{MetricsWriter, Scale};

/// The name of the controller: catalogd's.
const CONTROLLER: (&str, &str) = ("controller", "catalogd-clustercatalog-controller");

/// The label that names a queue.
const QUEUE: (&str, &str) = ("name", CONTROLLER.1);

/// Writes the metrics of a controller.
pub(super) fn controller(
    writer: &mut MetricsWriter<'_>,
    metrics: &ControllerMetrics,
) -> fmt::Result {
    let reconciles = metrics
        .reconciles
        .iter()
        .map(|(result, count)| ([CONTROLLER, ("result", result.as_str())], count.get()));
    writer.counter(
        "controller_runtime_reconcile",
        "Reconciliations of ClusterCatalogs.",
        reconciles,
    )?;
    let errors = [(
        [CONTROLLER],
        metrics.reconciles[ReconcileResult::Error].get(),
    )];
    let help = "Reconciliations of ClusterCatalogs that failed.";
    writer.counter("controller_runtime_reconcile_errors", help, errors)?;
    writer.histogram(
        "controller_runtime_reconcile_time_seconds",
        "Duration of reconciliations of ClusterCatalogs.",
        Scale::Seconds,
        [([CONTROLLER], &metrics.durations)],
    )?;
    writer.gauge(
        "workqueue_depth",
        "ClusterCatalogs that wait to be reconciled.",
        [([QUEUE], metrics.queued.get())],
    )?;
    let leader = metrics
        .competes
        .then(|| ([("name", LEASE)], metrics.is_leader.get()));
    writer.gauge(
        "leader_election_master_status",
        "Whether this replica writes status: 0 or 1.",
        leader,
    )?;
    let reads = metrics
        .image_policy_reads
        .iter()
        .map(|(result, count)| ([("result", result.as_str())], count.get()));
    writer.counter(
        "catalogql_image_policy_reads",
        "Times that ClusterImagePolicies and ImagePolicies had changed and were read.",
        reads,
    )?;
    requests(writer, metrics)
}

fn requests(writer: &mut MetricsWriter<'_>, metrics: &ControllerMetrics) -> fmt::Result {
    let counts = metrics
        .requests
        .counts()
        .into_iter()
        .map(|((method, status), count)| {
            // As the client library of Kubernetes names a request without a response.
            let code = if status == 0 {
                "<error>".to_owned()
            } else {
                status.to_string()
            };
            (method, code, count)
        });
    let counts = counts.collect::<Vec<_>>();
    let host = metrics.requests.host();
    let series = counts.iter().map(|(method, code, count)| {
        (
            [("code", &**code), ("method", &**method), ("host", host)],
            *count,
        )
    });
    writer.counter(
        "rest_client_requests",
        "Requests to the API server.",
        series,
    )
}
