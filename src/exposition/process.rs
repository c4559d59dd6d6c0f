//! Metrics of the process, as every Prometheus client library names them, and of its build.

use std::fmt;
use std::fs;
use std::time::SystemTime;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::Sources;
use super::page::Page;
use crate::args::VERSION;

/// What the kernel tells of the memory of this process (`proc_pid_status(5)`), in lines of `NAME:
/// COUNT kB`.
const STATUS: &str = "/proc/self/status";

/// A folder with an entry for each open file.
const OPEN_FILES: &str = "/proc/self/fd";

/// Writes the metrics of the process.
pub(super) fn process(
    page: &mut Page<'_>,
    Sources {
        started,
        reloads,
        ready,
        ..
    }: &Sources,
) -> fmt::Result {
    let (version, revision) = VERSION.split_once(' ').unwrap_or((VERSION, ""));
    let revision = revision.trim_matches(['(', ')']);
    let build = [([("version", version), ("revision", revision)], 1_u64)];
    page.gauge(
        "catalogql_build_info",
        "Version and commit of the program: always 1.",
        build,
    )?;
    let help = "Whether the server is ready for requests: 0 or 1.";
    page.gauge("catalogql_ready", help, [([], u64::from(ready.is_ready()))])?;
    let reloads = [
        ([("result", "success")], reloads.ok.get()),
        ([("result", "failure")], reloads.failed.get()),
    ];
    let help =
        "Times that configuration files had changed, or were to be read again, and were read.";
    page.counter("catalogql_config_reloads", help, reloads)?;
    memory(page)?;
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let cpu = std::time::Duration::try_from(cpu)
        .unwrap_or_default()
        .as_secs_f64();
    page.counter(
        "process_cpu_seconds",
        "CPU time of the process, in seconds.",
        [([], cpu)],
    )?;
    let help = "When the process started.";
    page.gauge(
        "process_start_time_seconds",
        help,
        [([], started.as_duration().as_secs_f64())],
    )?;
    page.gauge(
        "process_open_fds",
        "Open file descriptors.",
        open_files().map(|count| ([], count)),
    )?;
    let most = getrlimit(Resource::Nofile).current.map(|count| ([], count));
    page.gauge(
        "process_max_fds",
        "Maximum number of open file descriptors.",
        most,
    )
}

/// Writes when the certificate of the server expires, if it has one that says so.
pub(super) fn certificate(page: &mut Page<'_>, Sources { tls, .. }: &Sources) -> fmt::Result {
    let Some(tls) = tls else { return Ok(()) };
    let file = tls.files().certificate.display().to_string();
    let expires = tls
        .not_after()
        .and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let expires = expires.map(|time| ([("file", file.as_str())], time.as_secs_f64()));
    let help = "When the certificate expires that new connections get.";
    page.gauge(
        "catalogql_tls_certificate_not_after_timestamp_seconds",
        help,
        expires,
    )
}

fn memory(page: &mut Page<'_>) -> fmt::Result {
    let status = fs::read_to_string(STATUS).unwrap_or_default();
    let bytes = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim()
            .strip_suffix(" kB")?
            .parse::<u64>()
            .ok()
            .map(|count| count * 1024)
    };
    let kinds = [("anon", bytes("RssAnon")), ("file", bytes("RssFile"))];
    let resident = kinds
        .iter()
        .filter_map(|(kind, bytes)| Some(([("kind", *kind)], (*bytes)?)));
    let help = "Resident memory: of the program (anon), and of files that are mapped, which the kernel takes back (file).";
    page.gauge("catalogql_memory_bytes", help, resident)?;
    let all = bytes("VmRSS").map(|bytes| ([], bytes));
    page.gauge("process_resident_memory_bytes", "Resident memory.", all)?;
    let virtual_size = bytes("VmSize").map(|bytes| ([], bytes));
    page.gauge(
        "process_virtual_memory_bytes",
        "Virtual memory.",
        virtual_size,
    )
}

/// Returns the number of open files. Since Linux 6.2 it is the size of the folder, which costs
/// nothing to ask.
fn open_files() -> Option<u64> {
    let size = fs::metadata(OPEN_FILES).ok()?.len();
    if size > 0 {
        Some(size)
    } else {
        Some(fs::read_dir(OPEN_FILES).ok()?.count() as u64)
    }
}
