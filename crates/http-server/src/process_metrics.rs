//! Metrics of the process, as every Prometheus client library names them.

use std::fmt;
use std::fs;

use jiff::Timestamp;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::metrics_text::MetricsWriter;

/// Memory of this process as the kernel reports it (`proc_pid_status(5)`), in lines of `NAME: COUNT
/// kB`.
const STATUS: &str = "/proc/self/status";

/// A folder with an entry for each open file.
const OPEN_FILES: &str = "/proc/self/fd";

/// Writes the memory, CPU time and open files of the process, and when it started.
pub fn write_process_metrics(writer: &mut MetricsWriter<'_>, started: Timestamp) -> fmt::Result {
    memory(writer)?;
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let cpu = std::time::Duration::try_from(cpu)
        .unwrap_or_default()
        .as_secs_f64();
    writer.counter(
        "process_cpu_seconds",
        "CPU time of the process, in seconds.",
        [([], cpu)],
    )?;
    let help = "When the process started.";
    writer.gauge(
        "process_start_time_seconds",
        help,
        [([], started.as_duration().as_secs_f64())],
    )?;
    writer.gauge(
        "process_open_fds",
        "Open file descriptors.",
        open_files().map(|count| ([], count)),
    )?;
    let most = getrlimit(Resource::Nofile).current.map(|count| ([], count));
    writer.gauge(
        "process_max_fds",
        "Maximum number of open file descriptors.",
        most,
    )
}

fn memory(writer: &mut MetricsWriter<'_>) -> fmt::Result {
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
    writer.gauge("catalogql_memory_bytes", help, resident)?;
    let all = bytes("VmRSS").map(|bytes| ([], bytes));
    writer.gauge("process_resident_memory_bytes", "Resident memory.", all)?;
    let virtual_size = bytes("VmSize").map(|bytes| ([], bytes));
    writer.gauge(
        "process_virtual_memory_bytes",
        "Virtual memory.",
        virtual_size,
    )
}

/// Returns the number of open files. Since Linux 6.2 it is the size of the folder, which is read
/// without listing thousands of connections.
fn open_files() -> Option<u64> {
    let size = fs::metadata(OPEN_FILES).ok()?.len();
    if size > 0 {
        Some(size)
    } else {
        Some(fs::read_dir(OPEN_FILES).ok()?.count() as u64)
    }
}
