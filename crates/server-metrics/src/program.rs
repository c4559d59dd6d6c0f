//! Metrics of the program: its build, its readiness, and reloads of its configuration.

use std::fmt;

use build_info::VERSION;
use http_server::MetricsWriter;

use super::ServerMetrics;

/// Writes the metrics of the program.
pub(super) fn program(writer: &mut MetricsWriter<'_>, metrics: &ServerMetrics) -> fmt::Result {
    let (version, revision) = VERSION.split_once(' ').unwrap_or((VERSION, ""));
    let revision = revision.trim_matches(['(', ')']);
    let build = [([("version", version), ("revision", revision)], 1_u64)];
    writer.gauge(
        "catalogql_build_info",
        "Version and commit of the program: always 1.",
        build,
    )?;
    let help = "Whether the server is ready for requests: 0 or 1.";
    let is_ready = u64::from(metrics.ready.is_ready());
    writer.gauge("catalogql_ready", help, [([], is_ready)])?;
    let reloads = [
        ([("result", "success")], metrics.reloads.ok.get()),
        ([("result", "failure")], metrics.reloads.failed.get()),
    ];
    let help =
        "Times that configuration files had changed, or were to be read again, and were read.";
    writer.counter("catalogql_config_reloads", help, reloads)
}
